//! Events to Pi's stdin (`--mode rpc`): prompts, answers to dialogs, and the interrupt. Pi asks for no permissions.

use super::questions::{CONFIRMED, is_dialog, is_shown};
use crate::json::{JsonWriter, Str};
use crate::ledger::Reason;
use crate::live::input::{self, AgentInput};
use crate::model::{Field, Part, Permission, Question, Session};
use crate::pipe::{Remembered, WriterOutput};
use crate::tape::Val;

/// The state of Pi's stdin.
#[derive(Default)]
pub(super) struct RpcInput {
    /// Whether an agent is connected, so that every request of the agent is known.
    is_connected: bool,
    /// Whether a run is active: a prompt during a run must say when it is delivered.
    is_running: bool,
    /// Open dialogs, by their id.
    dialogs: Remembered<Dialog>,
}

#[derive(Clone, Copy)]
enum Dialog {
    /// The answer is a text.
    Text,
    /// The answer is yes or no.
    Confirmation,
}

impl AgentInput for RpcInput {
    fn open(&mut self, _: &Session<'_>, out: &mut WriterOutput<'_>) {
        // The settings are arguments of the command. The response has the id and the model of the session.
        out.json.begin_frame("").with_value(r#"{"id":"get_state","type":"get_state"}"#).end_frame("\n");
    }

    fn prompt(&mut self, parts: &[Part<'_>], out: &mut WriterOutput<'_>) {
        let json = out.json.begin_frame("").up_to_value(r#"{"type":"prompt","message":"#).open_string();
        let mut is_first = true;
        for part in parts {
            if let Part::Text(text) = part {
                if !std::mem::take(&mut is_first) {
                    json.piece(&Str::escaped(r"\n"));
                }
                json.piece(text);
            }
        }
        json.close_string();
        let images: Vec<_> = parts.iter().filter_map(input::image).collect();
        if !images.is_empty() {
            out.json.key("images").array();
            for (media_type, data) in images {
                put_image(media_type, data, &mut out.json);
            }
            out.json.end_array();
        }
        if self.is_running {
            out.json.with_value(r#""streamingBehavior":"steer""#);
        }
        out.json.end_object().end_frame("\n");
        input::lose_other_media(parts, out);
    }

    fn asked(&mut self, _: &Permission<'_>, _: &mut WriterOutput<'_>) {
        // The table refuses every field of a permission.
    }

    fn decide(&mut self, _: &Permission<'_>, _: &mut WriterOutput<'_>) {
        // The table refuses every field of a permission.
    }

    fn answer(&mut self, question: &Question<'_>, out: &mut WriterOutput<'_>) {
        let Question { id, call_id: _, prompts: _, answers, declined } = question;
        let dialog = match self.dialogs.remove(id.as_escaped()) {
            Some(dialog) => dialog,
            // No open dialog has this id, or the dialog was answered before.
            None if self.is_connected => {
                out.lose_str(Field::QuestionId, id, Reason::NoSlot);
                return lose_answers(question, 0, out);
            }
            None => Dialog::Text,
        };
        let first = answers.iter().flatten().flatten().next().filter(|_| !declined);
        let json = &mut out.json;
        json.begin_frame("").up_to_value(r#"{"type":"extension_ui_response","id":"#).str(id);
        match (first, dialog) {
            (Some(answer), Dialog::Text) => json.key("value").str(answer),
            (Some(answer), Dialog::Confirmation) => json.key("confirmed").bool(answer.is(CONFIRMED[0])),
            (None, Dialog::Text | Dialog::Confirmation) => json.key("cancelled").bool(true),
        };
        json.end_object().end_frame("\n");
        lose_answers(question, usize::from(first.is_some()), out);
    }

    fn interrupt(&mut self, out: &mut WriterOutput<'_>) {
        out.json.begin_frame("").with_value(r#"{"type":"abort"}"#).end_frame("\n");
    }

    fn received(&mut self, frame: Val<'_>, out: &mut WriterOutput<'_>) {
        self.is_connected = true;
        match frame.str_or_empty("type") {
            "agent_start" => self.is_running = true,
            "agent_end" => {
                let retries = frame.get("willRetry").and_then(|retries| retries.bool());
                self.is_running = retries == Some(true);
            }
            "agent_settled" => self.is_running = false,
            "extension_ui_request" if frame.has_str("id") => self.requested(frame, out),
            // Only the lines above change the state of the input.
            _ => {}
        }
    }
}

impl RpcInput {
    /// Remembers a dialog that an event represents. A request of an unknown method is cancelled: the agent may wait.
    fn requested(&mut self, frame: Val<'_>, out: &mut WriterOutput<'_>) {
        let (id, method) = (frame.str_or_empty("id"), frame.str_or_empty("method"));
        if is_shown(method) {
            return;
        }
        if !is_dialog(method) || !frame.has_str("title") {
            out.json
                .begin_frame("")
                .up_to_value(r#"{"type":"extension_ui_response","id":"#)
                .str(&Str::escaped(id));
            out.json.with_value(r#""cancelled":true}"#).end_frame("\n");
            return;
        }
        let dialog = if method == "confirm" { Dialog::Confirmation } else { Dialog::Text };
        // An agent with this many open dialogs does not wait for the oldest.
        let _ = self.dialogs.insert(id, dialog);
    }
}

fn put_image(media_type: &Str<'_>, data: &Str<'_>, json: &mut JsonWriter<'_>) {
    json.up_to_value(r#"{"type":"image","data":"#).str(data).key("mimeType").str(media_type).end_object();
}

/// Books all answers after the first `told`.
fn lose_answers(question: &Question<'_>, told: usize, out: &mut WriterOutput<'_>) {
    for answer in question.answers.iter().flatten().flatten().skip(told) {
        out.lose_str(Field::QuestionAnswer, answer, Reason::NoSlot);
    }
    if told > 0 || !question.declined {
        out.lose(Field::QuestionDeclined, Reason::NoSlot);
    }
}
