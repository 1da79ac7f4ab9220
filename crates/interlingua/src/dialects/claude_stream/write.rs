//! Events to what Claude Code reads on stdin (`--input-format stream-json`): prompts, answers and the interrupt. What
//! only an agent can say has no line here and is given up, with the reason in the report.

use crate::emit::Emit;
use crate::ledger::{Reason, Rest};
use crate::model::{
    Answer, Author, Event, ItemId, ItemKind, Media, MediaSource, Part, Permission, Prompt, Question, Stop,
    StopClass,
};
use crate::pipe::{Out, Writer};
use crate::tape::{Limits, TapeBuf};
use crate::text::{Raw, Str};

#[derive(Default)]
pub(super) struct StdinWriter {
    prompts: Vec<(ItemId, Vec<Part<'static>>)>,
    /// What each open permission request would be done with: an allowance must repeat it.
    inputs: Vec<(Str<'static>, Raw<'static>)>,
    interrupts: u64,
}

impl Writer for StdinWriter {
    fn event(&mut self, event: &Event<'_>, out: &mut Out<'_>) {
        match event {
            Event::ItemStarted(head) if head.kind == ItemKind::Message && head.author == Author::User => {
                self.prompts.push((head.id, Vec::new()));
            }
            Event::ItemDelta(delta) => match self.prompts.iter_mut().find(|(id, _)| *id == delta.item) {
                Some((_, parts)) => parts.push(delta.value.clone().into_owned()),
                None => out.ledger.lose("item/content", Reason::NoSlot, "\"\""),
            },
            Event::ItemCompleted(tail) => {
                if let Some(at) = self.prompts.iter().position(|(id, _)| *id == tail.id) {
                    let (_, parts) = self.prompts.remove(at);
                    prompt(&parts, out);
                }
            }
            Event::PermissionRequested(Permission {
                id,
                action: _,
                call_id: _,
                input: Some(input),
                answer: _,
            }) => {
                self.inputs.push((id.clone().into_owned(), input.clone().into_owned()));
            }
            Event::PermissionResolved(Permission { id, action, call_id: _, input, answer: Some(answer) }) => {
                let asked = self.inputs.iter().position(|(known, _)| known == id);
                let asked = asked.map(|at| self.inputs.swap_remove(at).1);
                permission(id, action, input.as_ref().or(asked.as_ref()), answer, &mut out.json);
            }
            Event::QuestionResolved(question) => answer_question(question, &mut out.json),
            // The turn ends because we say so: that is the interrupt.
            Event::TurnEnded(turn) if matches!(turn.stop, Some(Stop { class: StopClass::Cancelled, .. })) => {
                self.interrupts += 1;
                let id = format!("interrupt-{}", self.interrupts);
                out.json.object().key("type").word("control_request").key("request_id").word(&id);
                out.json.key("request").object().key("subtype").word("interrupt").end_object().end_object();
                out.json.frame("\n");
            }
            Event::SessionStarted(_)
            | Event::SessionUpdated(_)
            | Event::SessionEnded(_)
            | Event::Request(_)
            | Event::TurnStarted(_)
            | Event::TurnEnded(_)
            | Event::Usage(_)
            | Event::ItemStarted(_)
            | Event::PermissionRequested(_)
            | Event::PermissionResolved(_)
            | Event::QuestionRequested(_)
            | Event::Error(_) => out.ledger.note("what an agent says is not said to it"),
        }
    }

    fn rest(&mut self, rest: Rest<'_>, out: &mut Out<'_>) {
        rest.lose(out.ledger, Reason::NoSlot);
    }

    fn finish(&mut self, _: &mut Out<'_>) {}
}

fn prompt(parts: &[Part<'_>], out: &mut Out<'_>) {
    // Tool results are the agent's own; a message that holds nothing else is not a prompt.
    if parts.is_empty() {
        return;
    }
    let json = &mut out.json;
    json.object().key("type").word("user").key("message").object().key("role").word("user").key("content");
    if let [Part::Text(text)] = parts {
        json.str(text);
    } else {
        json.array();
        for part in parts {
            match part {
                Part::Text(text) | Part::Summary(text) | Part::Refusal(text) => {
                    json.object().key("type").word("text").key("text").str(text).end_object();
                }
                Part::Media(media) => put_media(media, json),
                Part::Json(_) | Part::Args(_) | Part::File(_) | Part::Citation(_) | Part::Opaque(_) => {
                    out.ledger.lose("message/content", Reason::NoSlot, "\"\"");
                }
            }
        }
        json.end_array();
    }
    json.end_object().key("parent_tool_use_id").null().key("session_id").word("").end_object();
    json.frame("\n");
}

fn put_media(media: &Media<'_>, json: &mut Emit<'_>) {
    let Media { media_type, source, name } = media;
    let image = media_type.as_ref().is_none_or(|kind| kind.as_escaped().starts_with("image/"));
    json.object().key("type").word(if image { "image" } else { "document" }).key("source").object();
    let (kind, member, value) = match source {
        MediaSource::Base64(data) => ("base64", "data", data),
        MediaSource::Url(url) => ("url", "url", url),
        MediaSource::File(id) => ("file", "file_id", id),
    };
    json.key("type").word(kind).opt_str("media_type", media_type.as_ref()).key(member).str(value);
    json.end_object().opt_str("title", name.as_ref()).end_object();
}

fn permission(
    id: &Str<'_>,
    action: &Str<'_>,
    input: Option<&Raw<'_>>,
    answer: &Answer<'_>,
    json: &mut Emit<'_>,
) {
    begin_response(id, json);
    match answer {
        Answer::Accept | Answer::AcceptForSession => {
            json.key("behavior").word("allow").key("updatedInput").raw(input.unwrap_or(&Raw::new("{}")));
            if *answer == Answer::AcceptForSession {
                allow_again(action, input, json);
            }
        }
        Answer::Reject(message) => deny(message.as_ref(), json),
    }
    end_response(json);
}

fn answer_question(question: &Question<'_>, json: &mut Emit<'_>) {
    let Question { id, call_id: _, prompts, answers, declined } = question;
    begin_response(id, json);
    match answers {
        Some(answers) if !declined => {
            json.key("behavior").word("allow").key("updatedInput").object().key("questions").array();
            for Prompt { text, options, multiple } in prompts {
                json.object().key("question").str(text).key("header").word("").key("options").array();
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
        }
        Some(_) | None => deny(None, json),
    }
    end_response(json);
}

fn begin_response(id: &Str<'_>, json: &mut Emit<'_>) {
    json.object().key("type").word("control_response").key("response").object();
    json.key("subtype").word("success").key("request_id").str(id).key("response").object();
}

fn end_response(json: &mut Emit<'_>) {
    json.end_object().end_object().end_object();
    json.frame("\n");
}

/// A rule for this session. One command that was allowed does not allow every command.
fn allow_again(action: &Str<'_>, input: Option<&Raw<'_>>, json: &mut Emit<'_>) {
    let mut buf = TapeBuf::default();
    let tape = input.and_then(|input| buf.parse(input.as_str(), &Limits::default()).ok());
    let command = tape.as_ref().and_then(|tape| tape.root().get("command")?.str());
    json.key("updatedPermissions")
        .array()
        .object()
        .key("type")
        .word("addRules")
        .key("rules")
        .array()
        .object();
    json.key("toolName").str(action).opt_str("ruleContent", command.as_ref()).end_object().end_array();
    json.key("behavior").word("allow").key("destination").word("session").end_object().end_array();
}

fn deny(message: Option<&Str<'_>>, json: &mut Emit<'_>) {
    json.key("behavior").word("deny").key("message");
    json.str(message.unwrap_or(&Str::escaped("Permission denied.")));
}
