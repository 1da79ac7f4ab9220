//! Items that are being written: messages grow chunk by chunk; calls and results are written when they are complete.

use super::content::{holds, put_file, put_media, put_text, unsaid_name};
use crate::json::{JsonWriter, Raw, Str};
use crate::ledger::Reason;
use crate::live::json_rpc::{begin_notification, end};
use crate::model::{Args, Author, Field, ItemHead, ItemKind, ItemKindTag, ItemTail, Part, Status};
use crate::pipe::WriterOutput;
use crate::tape::{Limits, TapeBuf};

/// An item that is being written.
pub(super) struct OpenItem {
    pub(super) tag: ItemKindTag,
    pub(super) author: Author,
    /// The number of the frame that has the author, if any.
    pub(super) author_frame: Option<u64>,
    /// The native id of a message, or the id of a call.
    pub(super) id: Option<Str<'static>>,
    /// The name of the tool.
    name: Str<'static>,
    parent_call: Option<Str<'static>>,
    pub(super) has_chunks: bool,
    /// The parts of a call or a result, with their numbers.
    parts: Vec<(u32, Part<'static>)>,
}

impl OpenItem {
    pub(super) fn new(head: &ItemHead<'_>) -> Self {
        let (id, name) = match &head.kind {
            ItemKind::Message | ItemKind::Reasoning | ItemKind::Notice(_) => (&head.native_id, None),
            ItemKind::ToolCall(call) => (&call.call_id, Some(&call.name)),
            ItemKind::ToolResult(result) => (&result.call_id, None),
        };
        let made_up = || Str::from_escaped(format!("call-{}", head.id.0));
        let is_call = matches!(head.kind, ItemKind::ToolCall(_));
        Self {
            tag: ItemKindTag::item(&head.kind),
            author: head.author,
            author_frame: None,
            id: id.clone().map(Str::into_owned).or_else(|| is_call.then(made_up)),
            name: name.cloned().unwrap_or_default().into_owned(),
            parent_call: head.parent_call.clone().map(Str::into_owned),
            has_chunks: false,
            parts: Vec::new(),
        }
    }

    /// Whether the item is written chunk by chunk.
    pub(super) const fn is_message(&self) -> bool {
        matches!(self.tag, ItemKindTag::Message | ItemKindTag::Reasoning)
    }

    /// Whether a chunk of the item can hold the part.
    pub(super) fn is_chunk(&self, part: &Part<'_>) -> bool {
        match (self.tag, part) {
            (ItemKindTag::Message, Part::Text(_) | Part::Refusal(_)) => true,
            (ItemKindTag::Message, Part::Media(media)) => holds(media),
            (ItemKindTag::Reasoning, Part::Text(_) | Part::Summary(_)) => true,
            _ => false,
        }
    }

    /// Gathers a part of a call or a result, or books the part as lost.
    pub(super) fn gather(&mut self, number: u32, part: &Part<'_>, out: &mut WriterOutput<'_>) {
        let is_held = match (self.tag, part) {
            (ItemKindTag::Call, Part::Args(_)) => true,
            (ItemKindTag::Result, Part::Text(_) | Part::Json(_)) => true,
            (ItemKindTag::Result, Part::File(file)) => file.diff.as_ref().is_some_and(has_hunk),
            (ItemKindTag::Result, Part::Media(media)) => holds(media),
            _ => false,
        };
        if !is_held {
            return out.lose_part(self.tag, part, Reason::NoSlot);
        }
        match part {
            Part::Media(media) => out.lose_some(Field::MediaName, unsaid_name(media), Reason::NoSlot),
            // The old and the new lines are written, without the heads of the diff and of its hunks.
            Part::File(file) => out.lose_some(Field::FileDiff, file.diff.as_ref(), Reason::Narrowed),
            _ => {}
        }
        match (self.parts.last_mut(), part) {
            (Some((known, Part::Text(said))), Part::Text(more)) if *known == number => said.push(more),
            (Some((_, Part::Args(Args::Text(said)))), Part::Args(Args::Text(more))) => said.push(more),
            _ => self.parts.push((number, part.clone().into_owned())),
        }
    }

    /// Writes a call, which runs from now on.
    pub(super) fn put_call(&self, session: &Str<'_>, json: &mut JsonWriter<'_>) {
        let update = begin_update(session, "tool_call", json);
        update.opt_str("toolCallId", self.id.as_ref()).key("title").str(&self.name);
        update.key("kind").literal(call_kind(&self.name.decode())).with_value(r#""status":"in_progress""#);
        update.key("rawInput");
        match self.parts.last().map(|(_, part)| part) {
            Some(Part::Args(Args::Json(json))) => update.raw(json),
            Some(Part::Args(Args::Text(text))) => put_arguments(text, update),
            _ => update.with_value("{}"),
        };
        update.key("_meta").object().key("toolName").str(&self.name);
        update.opt_str("parentToolCallId", self.parent_call.as_ref()).end_object();
        end_update(json);
    }

    /// Writes a result.
    pub(super) fn put_result(&self, session: &Str<'_>, tail: &ItemTail<'_>, out: &mut WriterOutput<'_>) {
        let ItemTail { id: _, status, native_status, is_error, exit_code, duration: _ } = tail;
        // The flag and the status of a result are one word here: the flag counts, if there is one.
        let is_failed = is_error.unwrap_or(*status != Status::Completed);
        let update = begin_update(session, "tool_call_update", &mut out.json);
        update.opt_str("toolCallId", self.id.as_ref());
        update.key("status").literal(if is_failed { "failed" } else { "completed" }).key("content").array();
        let mut output = None;
        for (_, part) in &self.parts {
            match part {
                Part::Text(text) => {
                    put_text(text, update.up_to_value(r#"{"type":"content","content":"#));
                    update.end_object();
                }
                Part::Media(media) => {
                    put_media(media, update.up_to_value(r#"{"type":"content","content":"#));
                    update.end_object();
                }
                Part::File(file) => put_file(file, update),
                Part::Json(json) if output.is_none() => output = Some(json),
                Part::Json(json) => {
                    update.up_to_value(r#"{"type":"content","content":{"type":"text","text":"#);
                    update.json_in_string(json).end_object().end_object();
                }
                // No other part is gathered.
                _ => {}
            }
        }
        update.end_array();
        match (output, exit_code) {
            (Some(json), _) => _ = update.key("rawOutput").raw(json),
            (None, Some(code)) => {
                update.key("rawOutput").object().key("exitCode").i64(*code).end_object();
            }
            (None, None) => {}
        }
        end_update(&mut out.json);
        if output.is_some() && exit_code.is_some() {
            out.lose(Field::ResultExitCode, Reason::NoSlot);
        }
        if is_error.is_some() {
            out.lose(Field::ItemStatus, Reason::NoSlot);
        }
        if native_status.as_ref().is_some_and(|word| !["completed", "failed"].iter().any(|own| word.is(own)))
        {
            out.lose_some(Field::ItemStatus, native_status.as_ref(), Reason::NoSlot);
        }
    }
}

/// Writes a chunk of a message.
pub(super) fn put_chunk(session: &Str<'_>, open: &OpenItem, part: &Part<'_>, json: &mut JsonWriter<'_>) {
    let kind = match (open.tag, open.author) {
        (ItemKindTag::Reasoning, _) => "agent_thought_chunk",
        (_, Author::User) => "user_message_chunk",
        _ => "agent_message_chunk",
    };
    let update = begin_update(session, kind, json);
    update.opt_str("messageId", open.id.as_ref()).key("content");
    match part {
        Part::Text(text) | Part::Refusal(text) | Part::Summary(text) => put_text(text, update),
        Part::Media(media) => put_media(media, update),
        // No other part is a chunk.
        _ => _ = update.with_value(r#"{"type":"text","text":""}"#),
    }
    end_update(json);
}

/// Begins an update; the caller writes the members and calls [`end_update`].
pub(super) fn begin_update<'j, 'o>(
    session: &Str<'_>,
    kind: &str,
    json: &'j mut JsonWriter<'o>,
) -> &'j mut JsonWriter<'o> {
    let params = begin_notification(true, super::method::UPDATE, json).object().key("sessionId").str(session);
    params.key("update").object().key("sessionUpdate").literal(kind)
}

pub(super) fn end_update(json: &mut JsonWriter<'_>) {
    json.end_object().end_object();
    end(json);
}

/// Whether a diff has lines to tell.
fn has_hunk(diff: &Str<'_>) -> bool {
    diff.decode().lines().any(|line| line.starts_with("@@"))
}

/// Writes arguments that the source has as text: as JSON if the text is JSON.
fn put_arguments<'j, 'o>(text: &Str<'_>, json: &'j mut JsonWriter<'o>) -> &'j mut JsonWriter<'o> {
    let decoded = text.decode();
    let is_json = TapeBuf::default().parse(&decoded, &Limits::default()).is_ok();
    if is_json { json.raw(&Raw::new(&decoded)) } else { json.str(text) }
}

/// The kind of a tool, by its name.
pub(super) fn call_kind(name: &str) -> &'static str {
    const KINDS: &[(&str, &[&str])] = &[
        ("execute", &["bash", "shell", "exec", "command", "terminal"]),
        ("edit", &["edit", "write", "patch", "replace", "str_replace", "create"]),
        ("search", &["grep", "glob", "search", "find", "list", "ls"]),
        ("fetch", &["fetch", "web"]),
        ("read", &["read", "view", "cat"]),
        ("delete", &["delete", "remove"]),
        ("move", &["move", "rename"]),
        ("think", &["think", "todo", "plan"]),
    ];
    let name = name.to_ascii_lowercase();
    let kind = KINDS.iter().find(|(_, words)| words.iter().any(|word| name.contains(word)));
    kind.map_or("other", |(kind, _)| kind)
}
