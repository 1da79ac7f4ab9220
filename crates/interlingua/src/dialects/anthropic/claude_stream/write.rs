//! Events to Claude Code's stdin (`--input-format stream-json`): prompts, decisions and the interrupt.

use crate::json::{JsonWriter, Raw, Str};
use crate::ledger::Reason;
use crate::live::input::AgentInput;
use crate::model::{
    Decision, Event, Field, ItemKindTag, Media, MediaSource, Part, Permission, Prompt, Question,
};
use crate::pipe::{Remembered, WriterOutput};
use crate::tape::{Limits, TapeBuf, Val};

/// The state of Claude Code's stdin.
#[derive(Default)]
pub(super) struct StdinInput {
    /// The tool input of each open permission request; a decision to allow must repeat the input.
    inputs: Remembered<Raw<'static>>,
    interrupts: u64,
}

impl AgentInput for StdinInput {
    fn prompt(&mut self, parts: &[Part<'_>], out: &mut WriterOutput<'_>) {
        prompt(parts, out);
    }

    fn asked(&mut self, request: &Permission<'_>, out: &mut WriterOutput<'_>) {
        let Permission { id, action: _, call_id: _, input, answer: _, by: _ } = request;
        out.lose_str(Field::PermissionId, id, Reason::NoSlot);
        for field in [Field::PermissionAction, Field::PermissionAnswer, Field::PermissionMessage] {
            out.lose(field, Reason::NoSlot);
        }
        if let Some(input) = input {
            self.remember(id.as_escaped(), input.clone().into_owned(), out);
        }
    }

    fn decide(&mut self, permission: &Permission<'_>, out: &mut WriterOutput<'_>) {
        let Permission { id, action, call_id: _, input, answer, by: _ } = permission;
        let asked = self.inputs.remove(id.as_escaped());
        if !matches!(answer, Some(Decision::AcceptForSession)) {
            out.lose(Field::PermissionAction, Reason::NoSlot);
        }
        let allowed = match answer {
            Some(Decision::Accept | Decision::AcceptForSession) => true,
            Some(Decision::Reject(_)) => false,
            None => {
                return out.lose_event(
                    ItemKindTag::Message,
                    &Event::PermissionResolved(permission.clone()),
                    Reason::NoSlot,
                );
            }
        };
        if let (Some(input), false) = (input, allowed) {
            out.lose_raw(Field::PermissionInput, input, Reason::NoSlot);
        }
        // A refusal, or a decision with its own input, does not repeat the requested input.
        if let Some(asked) =
            asked.as_ref().filter(|asked| !allowed || input.as_ref().is_some_and(|own| own != *asked))
        {
            lose_input(asked, out);
        }
        begin_response(id, &mut out.json);
        let input = input.as_ref().or(asked.as_ref());
        match answer {
            Some(answer @ (Decision::Accept | Decision::AcceptForSession)) => {
                if input.is_none() {
                    out.ledger.note("an allowance without what it allows: an empty input was made up");
                }
                let json = out.json.up_to_value(r#""behavior":"allow","updatedInput":"#);
                json.raw(input.unwrap_or(&Raw::new("{}")));
                if *answer == Decision::AcceptForSession {
                    allow_again(action, input, json);
                }
            }
            Some(Decision::Reject(message)) => deny(message.as_ref(), &mut out.json),
            None => {}
        }
        end_response(&mut out.json);
    }

    fn answer(&mut self, question: &Question<'_>, out: &mut WriterOutput<'_>) {
        answer_question(question, out);
    }

    fn interrupt(&mut self, out: &mut WriterOutput<'_>) {
        self.interrupts += 1;
        let id = format!("interrupt-{}", self.interrupts);
        out.json.begin_frame("").up_to_value(r#"{"type":"control_request","request_id":"#).literal(&id);
        out.json.with_value(r#""request":{"subtype":"interrupt"}}"#).end_frame("\n");
    }

    fn received(&mut self, frame: Val<'_>, out: &mut WriterOutput<'_>) {
        let Some(request) =
            frame.get("request").filter(|_| frame.get("type").is_some_and(|it| it.is("control_request")))
        else {
            return;
        };
        let Some(id) = frame.get("request_id").filter(|id| id.str().is_some()) else { return };
        if !request.get("subtype").is_some_and(|subtype| subtype.is("can_use_tool")) {
            return refuse(id, &mut out.json);
        }
        if let Some(input) = request.get("input") {
            self.remember(id.str().unwrap_or_default().as_escaped(), input.raw().into_owned(), out);
        }
    }

    fn finish(&mut self, out: &mut WriterOutput<'_>) {
        for input in self.inputs.take_all() {
            lose_input(&input, out);
        }
    }
}

impl StdinInput {
    fn remember(&mut self, id: &str, input: Raw<'static>, out: &mut WriterOutput<'_>) {
        let asked_before = self.inputs.remove(id);
        let forgotten = self.inputs.insert(id, input);
        for input in asked_before.iter().chain(&forgotten) {
            lose_input(input, out);
        }
    }
}

/// Refuses a request of the agent that no event represents: the agent waits for an answer.
fn refuse(id: Val<'_>, json: &mut JsonWriter<'_>) {
    json.begin_frame("")
        .up_to_value(r#"{"type":"control_response","response":{"subtype":"error","request_id":"#);
    json.raw(&id.raw()).with_value(r#""error":"this client does not support the request"}}"#).end_frame("\n");
}

/// The requested input was counted as mapped in its own frame; now no line repeats it.
fn lose_input(input: &Raw<'_>, out: &mut WriterOutput<'_>) {
    let (leaves, bytes) = (input.leaves(), input.as_str().len() as u64);
    out.ledger.lose_late(Field::PermissionInput, Reason::NoSlot, leaves, bytes);
}

fn prompt(parts: &[Part<'_>], out: &mut WriterOutput<'_>) {
    let json = out.json.begin_frame("").up_to_value(r#"{"type":"user","message":{"role":"user","content":"#);
    if let [Part::Text(text)] = parts {
        json.str(text);
    } else {
        json.array();
        for part in parts {
            if let Part::Text(text) = part {
                json.up_to_value(r#"{"type":"text","text":"#).str(text).end_object();
            } else if let Part::Media(media) = part {
                put_media(media, json);
            }
        }
        json.end_array();
    }
    json.end_object().with_value(r#""parent_tool_use_id":null,"session_id":""}"#).end_frame("\n");
}

fn put_media(media: &Media<'_>, json: &mut JsonWriter<'_>) {
    let Media { media_type, source, name, .. } = media;
    let image = media_type.as_ref().is_none_or(|kind| kind.as_escaped().starts_with("image/"));
    json.object().key("type").literal(if image { "image" } else { "document" }).key("source").object();
    let (kind, member, value) = match source {
        MediaSource::Base64(data) => ("base64", "data", data),
        MediaSource::Url(url) => ("url", "url", url),
        MediaSource::File(id) => ("file", "file_id", id),
        MediaSource::Text(text) => ("text", "data", text),
    };
    json.key("type").literal(kind).opt_str("media_type", media_type.as_ref()).key(member).str(value);
    json.end_object().opt_str("title", name.as_ref()).end_object();
}

fn answer_question(question: &Question<'_>, out: &mut WriterOutput<'_>) {
    let Question { id, call_id: _, prompts, answers, declined } = question;
    let answers = answers.as_ref().filter(|_| !declined);
    let Some(answers) = answers else {
        // A refusal holds the request's id only.
        lose_question(question, out);
        if !declined {
            out.lose(Field::QuestionDeclined, Reason::NoSlot);
        }
        begin_response(id, &mut out.json);
        deny(None, &mut out.json);
        return end_response(&mut out.json);
    };
    for label in answers.iter().skip(prompts.len()).flatten() {
        out.lose_str(Field::QuestionAnswer, label, Reason::NoSlot);
    }
    let json = &mut out.json;
    begin_response(id, json);
    json.up_to_value(r#""behavior":"allow","updatedInput":{"questions":["#);
    for Prompt { text, options, multiple } in prompts {
        json.up_to_value(r#"{"question":"#).str(text).up_to_value(r#""header":"","options":["#);
        for (label, about) in options {
            json.object().key("label").str(label).opt_str("description", about.as_ref()).end_object();
        }
        json.end_array().key("multiSelect").bool(*multiple).end_object();
    }
    json.end_array().key("answers").object();
    for (prompt, chosen) in prompts.iter().zip(answers) {
        json.key(prompt.text.as_escaped()).open_string();
        for (number, label) in chosen.iter().enumerate() {
            if number > 0 {
                json.piece(&Str::escaped(", "));
            }
            json.piece(label);
        }
        json.close_string();
    }
    json.end_object().end_object();
    end_response(json);
}

/// Books the prompts and answers of a question as lost.
fn lose_question(question: &Question<'_>, out: &mut WriterOutput<'_>) {
    let Question { id: _, call_id: _, prompts, answers, declined: _ } = question;
    for prompt in prompts {
        out.lose_all(prompt, Reason::NoSlot);
    }
    for label in answers.iter().flatten().flatten() {
        out.lose_str(Field::QuestionAnswer, label, Reason::NoSlot);
    }
}

fn begin_response(id: &Str<'_>, json: &mut JsonWriter<'_>) {
    json.begin_frame("");
    json.up_to_value(r#"{"type":"control_response","response":{"subtype":"success","request_id":"#).str(id);
    json.up_to_value(r#""response":{"#);
}

fn end_response(json: &mut JsonWriter<'_>) {
    json.end_object().end_object().end_object();
    json.end_frame("\n");
}

/// A permission rule for this session. Allowing one command does not allow every command.
fn allow_again(action: &Str<'_>, input: Option<&Raw<'_>>, json: &mut JsonWriter<'_>) {
    let mut buf = TapeBuf::default();
    let tape = input.and_then(|input| buf.parse(input.as_str(), &Limits::default()).ok());
    let command = tape.as_ref().and_then(|tape| tape.root().get("command")?.str());
    json.up_to_value(r#""updatedPermissions":[{"type":"addRules","rules":[{"toolName":"#).str(action);
    json.opt_str("ruleContent", command.as_ref());
    json.end_object().end_array().with_value(r#""behavior":"allow","destination":"session"}]"#);
}

fn deny(message: Option<&Str<'_>>, json: &mut JsonWriter<'_>) {
    json.up_to_value(r#""behavior":"deny","message":"#)
        .str(message.unwrap_or(&Str::escaped("Permission denied.")));
}
