//! Events to Claude Code's stdin (`--input-format stream-json`): prompts, decisions and the interrupt. Events that only
//! an agent emits have no line on stdin and are booked as lost.

use std::collections::HashMap;

use crate::dialects::{Dialect, Options, Plane};
use crate::json::{JsonWriter, Raw, Str};
use crate::ledger::{Leftover, Reason};
use crate::model::{
    Args, Author, Decision, Delta, Event, Field, ItemHead, ItemId, ItemKind, ItemKindTag, ItemTail, Media,
    MediaSource, Origin, Part, Permission, Prompt, Question, Stop, StopClass, Turn,
};
use crate::pipe::{Remembered, Writer, WriterOutput};
use crate::tape::{Limits, TapeBuf};

#[derive(Default)]
pub(super) struct StdinWriter {
    /// Parts of the open prompts.
    prompts: HashMap<ItemId, Vec<(u32, Part<'static>)>>,
    /// The tool input of each open permission request; a decision to allow must repeat the input.
    inputs: Remembered<Raw<'static>>,
    interrupts: u64,
    /// Set for a log: its permission requests and questions were resolved long ago.
    from_log: bool,
}

impl Writer for StdinWriter {
    fn takes(&mut self, head: &ItemHead<'_>) -> Result<(), Reason> {
        match head.kind {
            // Text injected by the harness, another agent or a command was never a prompt.
            ItemKind::Message if head.author == Author::User && is_typed(head.origin) => Ok(()),
            ItemKind::Message
            | ItemKind::Reasoning
            | ItemKind::ToolCall(_)
            | ItemKind::ToolResult(_)
            | ItemKind::Notice(_) => Err(Reason::NoSlot),
        }
    }

    fn event(&mut self, event: &Event<'_>, out: &mut WriterOutput<'_>) {
        match event {
            Event::ItemStarted(head) => _ = self.prompts.insert(head.id, Vec::new()),
            Event::ItemDelta(delta) => self.grow(delta, out),
            Event::ItemCompleted(ItemTail { id, .. }) => {
                if let Some(parts) = self.prompts.remove(id) {
                    prompt(&parts, out);
                }
            }
            Event::PermissionRequested(Permission { id, action: _, call_id: _, input, answer: _, by: _ }) => {
                out.lose_str(Field::PermissionId, id, Reason::NoSlot);
                for field in [Field::PermissionAction, Field::PermissionAnswer, Field::PermissionMessage] {
                    out.lose(field, Reason::NoSlot);
                }
                if let Some(input) = input {
                    let asked_before = self.inputs.remove(id.as_escaped());
                    let forgotten = self.inputs.insert(id.as_escaped(), input.clone().into_owned());
                    for input in asked_before.iter().chain(&forgotten) {
                        lose_input(input, out);
                    }
                }
            }
            // A permission in a log was resolved long ago; no running agent waits for it.
            Event::PermissionResolved(_) if self.from_log => {
                out.lose_event(ItemKindTag::Message, event, Reason::NoSlot);
            }
            Event::PermissionResolved(permission) => self.permission(permission, out),
            Event::QuestionRequested(_) => out.lose_event(ItemKindTag::Message, event, Reason::NoSlot),
            Event::QuestionResolved(question) => answer_question(question, out),
            Event::TurnStarted(Turn { stop, .. })
            | Event::TurnEnded(Turn { stop, .. })
            | Event::Usage(Turn { stop, .. }) => {
                if let Some(Stop { class, raw, .. }) = stop {
                    out.lose_some(Field::StopReason, raw.as_ref(), Reason::NoSlot);
                    match (event, class) {
                        // Ending the turn as cancelled is the interrupt.
                        (Event::TurnEnded(_), StopClass::Cancelled) => self.interrupt(out),
                        _ => out.lose(Field::StopReason, Reason::NoSlot),
                    }
                }
            }
            // The table marks every field of these events as unsupported.
            Event::SessionStarted(_)
            | Event::SessionUpdated(_)
            | Event::SessionEnded(_)
            | Event::Clock(_)
            | Event::Rewound(_)
            | Event::Compacted(_)
            | Event::Model(_)
            | Event::Request(_)
            | Event::Error(_) => {}
        }
    }

    fn leftover(&mut self, leftover: Leftover<'_>, out: &mut WriterOutput<'_>) {
        leftover.lose(out.ledger, Reason::NoSlot);
    }

    fn finish(&mut self, out: &mut WriterOutput<'_>) {
        for input in self.inputs.take_all() {
            lose_input(&input, out);
        }
    }
}

impl StdinWriter {
    pub(super) fn new(options: &Options) -> Self {
        let source = options.source.and_then(Dialect::named);
        let from_log = source.is_some_and(|source| source.plane == Plane::Log);
        Self { from_log, ..Self::default() }
    }

    /// Adds a part to a prompt. Stdin supports only text and media.
    fn grow(&mut self, delta: &Delta<'_>, out: &mut WriterOutput<'_>) {
        let Delta { item, part, value, arrival: _ } = delta;
        let Some(parts) = self.prompts.get_mut(item) else { return };
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
                | Part::Cache(_)
                | Part::Opaque(_),
                _,
            ) => out.lose_part(ItemKindTag::Message, value, Reason::NoSlot),
        }
    }

    fn permission(&mut self, permission: &Permission<'_>, out: &mut WriterOutput<'_>) {
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

    fn interrupt(&mut self, out: &mut WriterOutput<'_>) {
        self.interrupts += 1;
        let id = format!("interrupt-{}", self.interrupts);
        out.json.begin_frame("").up_to_value(r#"{"type":"control_request","request_id":"#).literal(&id);
        out.json.with_value(r#""request":{"subtype":"interrupt"}}"#).end_frame("\n");
    }
}

/// Whether a user message was typed by the user, as far as the source records the origin.
const fn is_typed(origin: Option<Origin>) -> bool {
    match origin {
        None | Some(Origin::Own) => true,
        Some(Origin::Harness | Origin::Agent | Origin::Summary | Origin::Command) => false,
    }
}

/// The requested input was counted as mapped in its own frame; now no line repeats it.
fn lose_input(input: &Raw<'_>, out: &mut WriterOutput<'_>) {
    let (leaves, bytes) = (input.leaves(), input.as_str().len() as u64);
    out.ledger.lose_late(Field::PermissionInput, Reason::NoSlot, leaves, bytes);
}

fn prompt(parts: &[(u32, Part<'_>)], out: &mut WriterOutput<'_>) {
    // Tool results come from the agent itself; a message of only tool results is not a prompt.
    if parts.is_empty() {
        return out.lose(Field::ItemAuthor, Reason::NoSlot);
    }
    let json = out.json.begin_frame("").up_to_value(r#"{"type":"user","message":{"role":"user","content":"#);
    if let [(_, Part::Text(text))] = parts {
        json.str(text);
    } else {
        json.array();
        for (_, part) in parts {
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
