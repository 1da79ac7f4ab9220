//! A record to events. Reading it is checking it: every breach of the schema is reported with its place.

use super::check::{Checker, check_entry};
use crate::dialects::Dialect;
use crate::dialects::anthropic::blocks;
use crate::error::Code;
use crate::framing::FrameKind;
use crate::model::{
    Args, Author, CallKind, Event, Field, FileRef, ItemId, ItemKind, ItemTail, Media, MediaSource, Notice,
    Opaque, OpaqueKind, Part, Session, Shape, Status, ToolCall, ToolResult, Turn, Usage,
};
use crate::pipe::{Doc, Reader, Sink};
use crate::tape::{Claim, Kind, Val};
use crate::text::{Str, from_base64};

#[derive(Default)]
pub(super) struct RecordReader {
    /// Entries read so far, for pointers.
    entries: usize,
    started: bool,
    complete: bool,
    checker: Checker,
}

impl Reader for RecordReader {
    fn document(&mut self, doc: Doc<'_>, out: &mut Sink<'_>) {
        match doc.kind {
            FrameKind::Head => {
                if doc.root.get("version").is_none() && doc.root.get("session").is_none() {
                    out.problem(Code::UnknownShape, None, "expected a document with `version` and `session`");
                }
                self.checker.outer(doc.root, out);
                // A record without entries is its own tail.
                self.complete = doc.root.get("session").and_then(|session| session.get("entries")).is_none();
                self.session(doc.root, out);
            }
            FrameKind::Tail => {
                self.checker.outer(doc.root, out);
                self.complete = true;
                self.session(doc.root, out);
            }
            _ => {
                let pointer = format!("/session/entries/{}", self.entries);
                self.entries += 1;
                check_entry(doc.root, &pointer, out);
                entry(doc.root, out);
            }
        }
    }

    fn finish(&mut self, out: &mut Sink<'_>) {
        if self.complete {
            self.checker.finish(out);
        } else if self.entries > 0 || self.started {
            out.problem(Code::Torn, None, "the record ends before its `entries` do");
        }
    }
}

impl RecordReader {
    fn session(&mut self, record: Val<'_>, out: &mut Sink<'_>) {
        record.take_str("version", Field::Unnamed);
        record.take_str("id", Field::Unnamed);
        let Some(session) = record.get("session") else { return };
        let meta = session.get("agent-meta");
        let environment = session.get("environment");
        let vcs = environment.and_then(|environment| environment.get("vcs"));
        let ours = session
            .get("vendor-ext")
            .filter(|ext| ext.get("vendor").is_some_and(|vendor| vendor.is("interlingua")));
        let data = ours.and_then(|ext| ext.get("data"));
        if let Some(ext) = ours {
            ext.take_str("vendor", Field::Unnamed);
        }
        let take = |val: Option<Val<'_>>, name: &str| {
            val.and_then(|val| val.get(name)).inspect(|val| val.claim(Claim::Taken(Field::Unnamed)));
        };
        let vcs_text = |name| vcs.and_then(|vcs| vcs.take_str(name, Field::Unnamed));
        let facts = Session {
            id: session.take_str("session-id", Field::Unnamed),
            parent: data.and_then(|data| data.take_str("parent-session-id", Field::Unnamed)),
            cwd: environment.and_then(|environment| environment.take_str("working-dir", Field::Unnamed)),
            cli_version: meta.and_then(|meta| meta.take_str("cli-version", Field::Unnamed)),
            model: meta.and_then(|meta| meta.take_str("model-id", Field::Unnamed)),
            provider: meta.and_then(|meta| meta.take_str("model-provider", Field::Unnamed)),
            branch: vcs_text("branch"),
            commit: vcs_text("revision"),
            repository: vcs_text("repository"),
            title: data.and_then(|data| data.take_str("title", Field::Unnamed)),
            start: session.get("session-start").map(|time| time.take(Field::Unnamed)),
            agent: None,
        };
        // Said again from the entries, or about the record itself.
        take(vcs, "type");
        take(meta, "cli-name");
        take(meta, "models");
        take(Some(session), "session-end");
        if let Some(entries) = session.get("entries").filter(|entries| entries.leaves() == 1) {
            entries.note(Field::Unnamed);
        }
        // Nothing of the session after its entries: the framer's own doing.
        if session.kind() == Kind::Object && session.members().next().is_none() {
            session.note(Field::Unnamed);
        }
        if data.and_then(|data| data.take_bool("final-newline", Field::Unnamed)) == Some(false) {
            out.kept_no_final_newline("interlingua");
        }
        if facts != Session::default() {
            if std::mem::replace(&mut self.started, true) {
                out.event(&Event::SessionUpdated(facts));
            } else {
                out.event(&Event::SessionStarted(facts));
            }
        }
    }
}

/// Reads an entry, its children, and hands on the lines it was made from.
fn entry(entry: Val<'_>, out: &mut Sink<'_>) {
    let ext = entry.get("vendor-ext");
    let vendor = ext.and_then(|ext| ext.get("vendor")).and_then(|vendor| vendor.str());
    let vendor = vendor.as_ref().map_or("", Str::as_escaped);
    if entry.get("event-type").is_some_and(|kind| kind.is("unparsed")) && unparsed(entry, vendor, out) {
        return;
    }
    item(entry, None, vendor, out);
    if let Some(usage) = entry.get("token-usage") {
        out.event(&Event::Usage(Turn { usage: Some(read_usage(usage)), ..Turn::default() }));
    }
    if let Some(ext) = ext.filter(|ext| ext.kind() == Kind::Object) {
        ext.take_str("vendor", Field::Unnamed);
        let spaces = ext.get("space");
        let more = ext.get("more").into_iter().flat_map(|more| more.elements());
        for (number, line) in ext.get("data").into_iter().chain(more).enumerate() {
            let space = spaces.and_then(|spaces| spaces.elements().nth(number));
            let mut around = space
                .into_iter()
                .flat_map(|pair| pair.elements())
                .filter_map(|side| side.take_text(Field::Unnamed));
            let (before, after) = (around.next().unwrap_or_default(), around.next().unwrap_or_default());
            out.kept_line(vendor, line, (&before.decode(), &after.decode()));
        }
    }
}

/// Gives back bytes that could not be read when the record was made, to the dialect they stood in.
fn unparsed(entry: Val<'_>, vendor: &str, out: &mut Sink<'_>) -> bool {
    let Some(data) = entry.get("data") else { return false };
    let more = data.take_bool("more", Field::Unnamed).unwrap_or(false);
    let bytes = match (data.take_str("raw", Field::Unnamed), data.take_str("base64", Field::Unnamed)) {
        (Some(raw), _) => raw.decode().into_owned().into_bytes(),
        (None, Some(text)) => match from_base64(text.as_escaped()) {
            Some(bytes) => bytes,
            None => return false,
        },
        (None, None) => return false,
    };
    for name in ["type", "event-type"] {
        entry.take_str(name, Field::Unnamed);
    }
    data.take_str("reason", Field::Unnamed);
    if let Some(ext) = entry.get("vendor-ext") {
        ext.take_str("vendor", Field::Unnamed);
    }
    out.kept_bytes(vendor, &bytes, "unparsed", more);
    true
}

/// Reads an entry or a child as an item with its children.
fn item(entry: Val<'_>, within: Option<ItemId>, vendor: &str, out: &mut Sink<'_>) {
    let Some(kind) = entry.take_str("type", Field::Unnamed) else { return };
    let event_type = entry.get("event-type").and_then(|kind| kind.str());
    let speaker = event_type.as_ref().and_then(|kind| match kind.as_escaped() {
        "system" => Some(Author::System),
        "developer" => Some(Author::Developer),
        _ => None,
    });
    let speaker = speaker.filter(|_| entry.get("data").is_some_and(|data| data.get("content").is_some()));
    let (kind, author, content) = match kind.as_escaped() {
        "user" => (ItemKind::Message, Author::User, entry.get("content")),
        "assistant" => (ItemKind::Message, Author::Assistant, entry.get("content")),
        "reasoning" => (ItemKind::Reasoning, Author::Assistant, entry.get("content")),
        "tool-call" => {
            let input = entry.get("input");
            let call = ToolCall {
                // Seed documents of the draft call it `tool-id`.
                call_id: entry
                    .take_str("call-id", Field::Unnamed)
                    .or_else(|| entry.take_str("tool-id", Field::Unnamed)),
                kind: if input.is_some_and(|input| input.kind() == Kind::String) {
                    CallKind::FreeText
                } else {
                    CallKind::Function
                },
                namespace: entry.take_str("namespace", Field::Unnamed),
                name: entry.take_str("name", Field::Unnamed).unwrap_or_default(),
            };
            (ItemKind::ToolCall(call), Author::Assistant, input)
        }
        "tool-result" => {
            let result = ToolResult {
                call_id: entry.take_str("call-id", Field::Unnamed),
                name: entry.take_str("name", Field::Unnamed),
            };
            (ItemKind::ToolResult(result), Author::Tool, entry.get("output"))
        }
        _ if speaker.is_some() => {
            entry.take_str("event-type", Field::Unnamed);
            let content = entry.get("data").and_then(|data| data.get("content"));
            (ItemKind::Message, speaker.unwrap_or(Author::System), content)
        }
        _ => {
            entry.take_str("event-type", Field::Unnamed);
            let content = entry.get("data").and_then(|data| data.get("content"));
            let content = content.filter(|content| content.str().is_some());
            (ItemKind::Notice(Notice { event_type }), Author::System, content)
        }
    };
    let reasoning = kind == ItemKind::Reasoning;
    let mut head = out.head(kind, author);
    head.within = within;
    head.native_id = entry.take_str("id", Field::Unnamed);
    head.parent = entry.take_str("parent-id", Field::Unnamed);
    head.time = entry.get("timestamp").map(|time| time.take(Field::Unnamed));
    head.model = entry.take_str("model-id", Field::Unnamed);
    head.shape = match content {
        Some(list) if is_parts(list) => Shape::List,
        _ => Shape::One,
    };
    let is_call = matches!(head.kind, ItemKind::ToolCall(_));
    let id = out.start(head);
    let mut parts = 0;
    if let Some(content) = content {
        parts = read_parts(content, id, 0, is_call, out);
    }
    if let Some(value) = entry.take_str("encrypted", Field::Unnamed) {
        let issuer = Dialect::named(vendor).and_then(|dialect| dialect.issuer).unwrap_or("unknown");
        // Anthropic signs thinking that it shows; others encrypt what they hide.
        let signed =
            issuer == blocks::ISSUER && reasoning && content.is_some_and(|content| content.str().is_some());
        let kind = if signed { OpaqueKind::Signature } else { OpaqueKind::Encrypted };
        out.delta(id, parts, Part::Opaque(Opaque { kind, issuer, value }));
    }
    for child in entry.get("children").into_iter().flat_map(|children| children.elements()) {
        // A nameless message inside a message is a later part of it.
        let same =
            child.get("type").and_then(|kind| kind.str()) == entry.get("type").and_then(|kind| kind.str());
        if same && child.get("id").is_none() {
            child.take_str("type", Field::Unnamed);
            if let Some(content) = child.get("content") {
                parts = read_parts(content, id, parts + 1, false, out);
            }
        } else {
            item(child, Some(id), vendor, out);
        }
    }
    let is_error = entry.take_bool("is-error", Field::Unnamed);
    let status = if is_error == Some(true) { Status::Failed } else { Status::Completed };
    let native_status = entry.take_str("status", Field::Unnamed);
    out.event(&Event::ItemCompleted(ItemTail { id, status, native_status, is_error }));
}

/// Whether a value is a content list in our form.
pub(super) fn is_parts(list: Val<'_>) -> bool {
    list.kind() == Kind::Array
        && list.elements().next().is_some()
        && list.elements().all(|part| {
            let kind = part.get("type").and_then(|kind| kind.str());
            match kind.as_ref().map(Str::as_escaped) {
                Some("text" | "summary" | "refusal") => {
                    part.get("text").is_some_and(|text| text.str().is_some())
                }
                Some("media") => ["data", "url", "file"].iter().any(|name| part.get(name).is_some()),
                Some("json") => part.get("json").is_some(),
                Some("citation") => part.get("citation").is_some(),
                Some("file") => part.get("path").is_some() && part.get("action").is_some(),
                _ => false,
            }
        })
}

/// Says the parts of a content value, numbered from `first`; returns the last number.
fn read_parts(content: Val<'_>, item: ItemId, first: u32, arguments: bool, out: &mut Sink<'_>) -> u32 {
    if let Some(text) = content.take_text(Field::Unnamed) {
        out.delta(item, first, if arguments { Part::Args(Args::Text(text)) } else { Part::Text(text) });
    } else if is_parts(content) && !arguments {
        let mut number = first;
        for part in content.elements() {
            if let Some(value) = read_part(part) {
                out.delta(item, number, value);
                number += 1;
            }
        }
        return number.saturating_sub(1);
    } else if content.is_null() {
        content.take(Field::Unnamed);
    } else {
        let json = content.take(Field::Unnamed);
        out.delta(item, first, if arguments { Part::Args(Args::Json(json)) } else { Part::Json(json) });
    }
    first
}

fn read_part(part: Val<'_>) -> Option<Part<'_>> {
    let kind = part.take_str("type", Field::Unnamed)?;
    Some(match kind.as_escaped() {
        "text" => Part::Text(part.take_str("text", Field::Unnamed)?),
        "summary" => Part::Summary(part.take_str("text", Field::Unnamed)?),
        "refusal" => Part::Refusal(part.take_str("text", Field::Unnamed)?),
        "json" => Part::Json(part.get("json")?.take(Field::Unnamed)),
        "citation" => Part::Citation(part.get("citation")?.take(Field::Unnamed)),
        "file" => Part::File(FileRef {
            path: part.take_str("path", Field::Unnamed)?,
            action: part.take_str("action", Field::Unnamed)?,
            diff: part.take_str("diff", Field::Unnamed),
        }),
        _ => Part::Media(Media {
            source: match (part.take_str("data", Field::Unnamed), part.take_str("url", Field::Unnamed)) {
                (Some(data), _) => MediaSource::Base64(data),
                (None, Some(url)) => MediaSource::Url(url),
                (None, None) => MediaSource::File(part.take_str("file", Field::Unnamed)?),
            },
            media_type: part.take_str("media-type", Field::Unnamed),
            name: part.take_str("name", Field::Unnamed),
        }),
    })
}

fn read_usage(usage: Val<'_>) -> Usage {
    let (input, cached) = (usage.take_u64("input", Field::Unnamed), usage.take_u64("cached", Field::Unnamed));
    usage.take_u64("total", Field::Unnamed);
    Usage {
        input: input.map(|input| input.saturating_sub(cached.unwrap_or(0))),
        cache_read: cached,
        output: usage.take_u64("output", Field::Unnamed),
        reasoning: usage.take_u64("reasoning", Field::Unnamed),
        ..Usage::default()
    }
}
