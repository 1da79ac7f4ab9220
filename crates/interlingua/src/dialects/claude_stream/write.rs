//! Events to what Claude Code reads on stdin (`--input-format stream-json`): prompts, answers and the interrupt. What
//! only an agent can say has no line here and is given up.

use crate::dialects::universal::one_line;
use crate::emit::Emit;
use crate::ledger::{Reason, Rest};
use crate::model::{
    Answer, Args, Author, Delta, Event, Field, ItemHead, ItemId, ItemKind, ItemTail, Media, MediaSource, Of,
    Part, Permission, Prompt, Question, Stop, StopClass, Turn,
};
use crate::pipe::{Out, Writer};
use crate::tape::{Limits, TapeBuf};
use crate::text::{Raw, Str};

#[derive(Default)]
pub(super) struct StdinWriter {
    prompts: Vec<(ItemId, Vec<(u32, Part<'static>)>)>,
    /// What each open permission request would be done with: an allowance must repeat it.
    inputs: Vec<(Str<'static>, Raw<'static>)>,
    interrupts: u64,
}

impl Writer for StdinWriter {
    fn takes(&mut self, head: &ItemHead<'_>) -> Result<(), Reason> {
        match head.kind {
            ItemKind::Message if head.author == Author::User => Ok(()),
            ItemKind::Message
            | ItemKind::Reasoning
            | ItemKind::ToolCall(_)
            | ItemKind::ToolResult(_)
            | ItemKind::Notice(_) => Err(Reason::NoSlot),
        }
    }

    fn event(&mut self, event: &Event<'_>, out: &mut Out<'_>) {
        match event {
            Event::ItemStarted(head) => self.prompts.push((head.id, Vec::new())),
            Event::ItemDelta(delta) => self.grow(delta, out),
            Event::ItemCompleted(ItemTail { id, status: _, native_status: _, is_error: _ }) => {
                if let Some(at) = self.prompts.iter().position(|(known, _)| known == id) {
                    let (_, parts) = self.prompts.remove(at);
                    prompt(&parts, out);
                }
            }
            Event::PermissionRequested(Permission { id, action: _, call_id: _, input, answer: _ }) => {
                out.lose_str(Field::PermissionId, id, Reason::NoSlot);
                for field in [Field::PermissionAction, Field::PermissionAnswer, Field::PermissionMessage] {
                    out.lose(field, Reason::NoSlot);
                }
                if let Some(input) = input {
                    self.inputs.push((id.clone().into_owned(), input.clone().into_owned()));
                }
            }
            Event::PermissionResolved(permission) => self.permission(permission, out),
            Event::QuestionRequested(_) => out.lose_event(Of::Message, event, Reason::NoSlot),
            Event::QuestionResolved(question) => answer_question(question, out),
            Event::TurnStarted(Turn { id: _, model: _, time: _, stop, usage: _, cost: _ })
            | Event::TurnEnded(Turn { id: _, model: _, time: _, stop, usage: _, cost: _ })
            | Event::Usage(Turn { id: _, model: _, time: _, stop, usage: _, cost: _ }) => {
                if let Some(Stop { class, raw, sequence: _ }) = stop {
                    out.lose_some(Field::StopReason, raw.as_ref(), Reason::NoSlot);
                    match (event, class) {
                        // The turn ends because we say so: that is the interrupt.
                        (Event::TurnEnded(_), StopClass::Cancelled) => self.interrupt(out),
                        _ => out.lose(Field::StopReason, Reason::NoSlot),
                    }
                }
            }
            // The table says that nothing of these is said.
            Event::SessionStarted(_)
            | Event::SessionUpdated(_)
            | Event::SessionEnded(_)
            | Event::Request(_)
            | Event::Error(_) => {}
        }
    }

    fn rest(&mut self, rest: Rest<'_>, out: &mut Out<'_>) {
        rest.lose(out.ledger, Reason::NoSlot);
    }

    fn finish(&mut self, out: &mut Out<'_>) {
        for (_, input) in std::mem::take(&mut self.inputs) {
            lose_input(&input, out);
        }
    }
}

impl StdinWriter {
    /// Gathers a part of a prompt. Only text and media can be told.
    fn grow(&mut self, delta: &Delta<'_>, out: &mut Out<'_>) {
        let Delta { item, part, value, arrival: _ } = delta;
        let Some((_, parts)) = self.prompts.iter_mut().find(|(id, _)| id == item) else { return };
        match (value, parts.last_mut()) {
            (Part::Text(text), Some((known, Part::Text(said)))) if known == part => said.push(text),
            (Part::Text(_) | Part::Media(_), _) => parts.push((*part, value.clone().into_owned())),
            (
                Part::Summary(_)
                | Part::Refusal(_)
                | Part::Json(_)
                | Part::Args(Args::Text(_) | Args::Json(_))
                | Part::File(_)
                | Part::Citation(_)
                | Part::Opaque(_),
                _,
            ) => out.lose_part(Of::Message, value, Reason::NoSlot),
        }
    }

    fn permission(&mut self, permission: &Permission<'_>, out: &mut Out<'_>) {
        let Permission { id, action, call_id: _, input, answer } = permission;
        let asked = self.inputs.iter().position(|(known, _)| known == id);
        let asked = asked.map(|at| self.inputs.swap_remove(at).1);
        if !matches!(answer, Some(Answer::AcceptForSession)) {
            out.lose(Field::PermissionAction, Reason::NoSlot);
        }
        let allowed = match answer {
            Some(Answer::Accept | Answer::AcceptForSession) => true,
            Some(Answer::Reject(_)) => false,
            None => {
                return out.lose_event(
                    Of::Message,
                    &Event::PermissionResolved(permission.clone()),
                    Reason::NoSlot,
                );
            }
        };
        if let (Some(input), false) = (input, allowed) {
            out.lose_raw(Field::PermissionInput, input, Reason::NoSlot);
        }
        // An answer with an input of its own, or a refusal, does not repeat what was asked.
        if let Some(asked) =
            asked.as_ref().filter(|asked| !allowed || input.as_ref().is_some_and(|own| own != *asked))
        {
            lose_input(asked, out);
        }
        begin_response(id, &mut out.json);
        let input = input.as_ref().or(asked.as_ref());
        match answer {
            Some(answer @ (Answer::Accept | Answer::AcceptForSession)) => {
                if input.is_none() {
                    out.ledger.note("an allowance without what it allows: an empty input was made up");
                }
                let json = &mut out.json;
                json.key("behavior")
                    .word("allow")
                    .key("updatedInput")
                    .raw(&one_line(input.unwrap_or(&Raw::new("{}"))));
                if *answer == Answer::AcceptForSession {
                    allow_again(action, input, json);
                }
            }
            Some(Answer::Reject(message)) => deny(message.as_ref(), &mut out.json),
            None => {}
        }
        end_response(&mut out.json);
    }

    fn interrupt(&mut self, out: &mut Out<'_>) {
        self.interrupts += 1;
        let id = format!("interrupt-{}", self.interrupts);
        out.json.object().key("type").word("control_request").key("request_id").word(&id);
        out.json.key("request").object().key("subtype").word("interrupt").end_object().end_object();
        out.json.frame("\n");
    }
}

/// What a request asked to do has been mapped in its own frame; now nobody repeats it.
fn lose_input(input: &Raw<'_>, out: &mut Out<'_>) {
    let (leaves, bytes) = (input.leaves(), input.as_str().len() as u64);
    out.ledger.lose_late(Field::PermissionInput, Reason::NoSlot, leaves, bytes);
}

fn prompt(parts: &[(u32, Part<'_>)], out: &mut Out<'_>) {
    // Tool results are the agent's own; a message that holds nothing else is not a prompt.
    if parts.is_empty() {
        return out.lose(Field::ItemAuthor, Reason::NoSlot);
    }
    let json = &mut out.json;
    json.object().key("type").word("user").key("message").object().key("role").word("user").key("content");
    if let [(_, Part::Text(text))] = parts {
        json.str(text);
    } else {
        json.array();
        for (_, part) in parts {
            if let Part::Text(text) = part {
                json.object().key("type").word("text").key("text").str(text).end_object();
            } else if let Part::Media(media) = part {
                put_media(media, json);
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

fn answer_question(question: &Question<'_>, out: &mut Out<'_>) {
    let Question { id, call_id: _, prompts, answers, declined } = question;
    let answers = answers.as_ref().filter(|_| !declined);
    let Some(answers) = answers else {
        // A refusal names the request, and nothing else of it.
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
    end_response(json);
}

/// Gives up what a question asks and what was chosen.
fn lose_question(question: &Question<'_>, out: &mut Out<'_>) {
    let Question { id: _, call_id: _, prompts, answers, declined: _ } = question;
    for Prompt { text, options, multiple: _ } in prompts {
        out.lose_str(Field::QuestionText, text, Reason::NoSlot);
        for (label, about) in options {
            out.lose_str(Field::QuestionOption, label, Reason::NoSlot);
            out.lose_some(Field::QuestionOptionAbout, about.as_ref(), Reason::NoSlot);
        }
        out.lose(Field::QuestionMultiple, Reason::NoSlot);
    }
    for label in answers.iter().flatten().flatten() {
        out.lose_str(Field::QuestionAnswer, label, Reason::NoSlot);
    }
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
