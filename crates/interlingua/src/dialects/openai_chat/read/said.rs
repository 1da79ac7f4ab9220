//! One message as it comes: a `message` and a `delta` are read by the same code.

use super::content::read_content;
use crate::dialects::anthropic::blocks::ISSUER as ANTHROPIC;
use crate::dialects::wire::{is_blank, note_blanks};
use crate::model::{
    Args, Author, CallKind, Event, Field, ItemId, ItemKind, ItemTail, Opaque, OpaqueKind, Part, Status,
    ToolCall,
};
use crate::pipe::Sink;
use crate::tape::{Claim, Kind, Val};
use crate::text::Str;

/// One message as it comes, whole or in pieces.
#[derive(Default)]
pub(super) struct Said {
    pub(super) message: Option<ItemId>,
    /// There are no fragments: each entry is a call.
    whole: bool,
    thought: Option<Thought>,
    pub(super) calls: Vec<Call>,
    pub(super) refused: bool,
}

/// The reasoning that is open.
struct Thought {
    item: ItemId,
    /// What it said so far, escaped.
    text: String,
    /// The number of its entry in `reasoning_details`.
    entry: Option<u64>,
    signed: bool,
}

pub(super) struct Call {
    index: Option<u64>,
    id: String,
    name: String,
    kind: CallKind,
    /// `None` until id and name are known; then `arguments` is empty.
    item: Option<ItemId>,
    arguments: String,
    ended: bool,
}

/// What an entry of `tool_calls` says.
struct Fragment<'a> {
    index: Option<u64>,
    id: Option<Str<'a>>,
    /// The name and the arguments.
    inner: Option<Val<'a>>,
    kind: CallKind,
}

impl Fragment<'_> {
    const NEW: Self = Self { index: None, id: None, inner: None, kind: CallKind::Function };
}

/// The part a refusal is: no list of content parts gets that long.
const REFUSAL: u32 = u32::MAX;

impl Said {
    pub(super) fn whole() -> Self {
        Self { whole: true, ..Self::default() }
    }

    /// Reads a `message` or a `delta`: one pass to see what it has, then reasoning, content and calls in this order.
    pub(super) fn say(&mut self, delta: Val<'_>, out: &mut Sink<'_>) {
        let Some(message) = self.message else { return };
        let (mut shown, mut entries, mut content, mut refusal) = (None, None, None, None);
        let (mut calls, mut lone) = (None, None);
        for (name, value) in delta.members() {
            match name.as_escaped() {
                _ if is_blank(value) => _ = value.note(Field::Unnamed),
                "role" => _ = value.note(Field::Unnamed),
                "content" => content = Some(value),
                "refusal" => refusal = Some(value),
                "tool_calls" => calls = Some(value),
                // The one call of 2023, without an id.
                "function_call" => lone = Some(value),
                "reasoning_details" => entries = Some(value),
                // Vendors' places for the text of reasoning; the API itself has none. Some say it under two names.
                "reasoning_content" | "reasoning" | "reasoning_text"
                    if value.kind() == Kind::String
                        && shown.is_none_or(|shown: Val<'_>| shown.text() == value.text()) =>
                {
                    value.claim(Claim::Taken(Field::Unnamed));
                    shown = Some(value);
                }
                // Anything else stays where it is.
                _ => {}
            }
        }
        if shown.is_some() || entries.is_some() {
            self.reason(shown, entries, message, out);
        }
        if let Some(content) = content {
            read_content(content, out, &mut |number, part, out| match part {
                Part::Text(text) if text.is_empty() => {}
                part => {
                    self.end_thought(out);
                    self.refused |= matches!(part, Part::Refusal(_));
                    out.delta(message, number, part);
                }
            });
        }
        if let Some(text) =
            refusal.and_then(|refusal| refusal.take_text(Field::Unnamed)).filter(|text| !text.is_empty())
        {
            self.end_thought(out);
            self.refused = true;
            out.delta(message, REFUSAL, Part::Refusal(text));
        }
        for entry in calls.into_iter().flat_map(|calls| calls.elements()) {
            self.call(entry, message, out);
        }
        if let Some(lone) = lone {
            self.fragment(Fragment { inner: Some(lone), ..Fragment::NEW }, message, out);
        }
    }

    fn reason(
        &mut self,
        shown: Option<Val<'_>>,
        entries: Option<Val<'_>>,
        message: ItemId,
        out: &mut Sink<'_>,
    ) {
        let mut shown = shown.map_or("", |shown| &shown.text()[1..shown.text().len() - 1]);
        // Texts that the entries repeat are theirs: they know which signature belongs to which.
        let mut told = String::new();
        for text in entries.into_iter().flat_map(|list| list.elements()).filter_map(|entry| entry.get("text"))
        {
            told.push_str(text.str().unwrap_or_default().as_escaped());
        }
        shown = shown.strip_suffix(&told).unwrap_or(shown);
        if !shown.is_empty() {
            self.think(shown, |thought| !thought.signed, None, message, out);
        }
        for entry in entries.into_iter().flat_map(|entries| entries.elements()) {
            self.entry(entry, message, out);
        }
    }

    /// An entry of `reasoning_details`.
    fn entry(&mut self, entry: Val<'_>, message: ItemId, out: &mut Sink<'_>) {
        let index = entry.get("index").and_then(|index| index.u64());
        let Some(kind) = entry.get("type").and_then(|kind| kind.str()) else { return };
        note_blanks(entry);
        match kind.as_escaped() {
            "reasoning.text" => {
                let text = entry.take_str("text", Field::Unnamed).filter(|text| !text.is_empty());
                if let Some(text) = text {
                    let text = text.as_escaped();
                    let known = self.thought.as_ref().is_some_and(|thought| thought.text == text);
                    if !known {
                        let joins = |thought: &Thought| {
                            !thought.signed
                                && (thought.text.is_empty() || thought.entry == index && index.is_some())
                        };
                        self.think(text, joins, index, message, out);
                    }
                }
                if let Some(value) =
                    entry.take_str("signature", Field::Unnamed).filter(|value| !value.is_empty())
                {
                    let thought =
                        self.thought(|thought| !thought.signed || thought.entry == index, message, out);
                    (thought.signed, thought.entry) = (true, index);
                    let opaque = Opaque { kind: OpaqueKind::Signature, issuer: issuer(entry), value };
                    out.delta(thought.item, 1, Part::Opaque(opaque));
                }
            }
            "reasoning.encrypted" => {
                let Some(value) = entry.take_str("data", Field::Unnamed) else { return };
                let item = self.thought(|_| false, message, out).item;
                let opaque = Opaque { kind: OpaqueKind::Encrypted, issuer: issuer(entry), value };
                out.delta(item, 1, Part::Opaque(opaque));
                self.end_thought(out);
            }
            // A summary, or a kind to come: what it shows also stands in the text beside it.
            _ => return,
        }
        entry.note_str("type", Field::Unnamed);
        entry.note_u64("index", Field::Unnamed);
    }

    fn think(
        &mut self,
        text: &str,
        joins: impl Fn(&Thought) -> bool,
        entry: Option<u64>,
        message: ItemId,
        out: &mut Sink<'_>,
    ) {
        let thought = self.thought(joins, message, out);
        thought.text.push_str(text);
        thought.entry = entry.or(thought.entry);
        out.delta(thought.item, 0, Part::Text(Str::escaped(text)));
    }

    /// The open thought if it `joins`, else a new one.
    fn thought(
        &mut self,
        joins: impl Fn(&Thought) -> bool,
        message: ItemId,
        out: &mut Sink<'_>,
    ) -> &mut Thought {
        if !self.thought.as_ref().is_some_and(joins) {
            self.end_thought(out);
        }
        self.thought.get_or_insert_with(|| {
            let mut head = out.head(ItemKind::Reasoning, Author::Assistant);
            head.within = Some(message);
            Thought { item: out.start(head), text: String::new(), entry: None, signed: false }
        })
    }

    fn end_thought(&mut self, out: &mut Sink<'_>) {
        if let Some(thought) = self.thought.take() {
            out.complete(thought.item);
        }
    }

    /// An entry of `tool_calls`.
    fn call(&mut self, entry: Val<'_>, message: ItemId, out: &mut Sink<'_>) {
        let mut found = Fragment::NEW;
        for (name, value) in entry.members() {
            match name.as_escaped() {
                _ if is_blank(value) => _ = value.note(Field::Unnamed),
                "index" if value.u64().is_some() => {
                    value.note(Field::Unnamed);
                    found.index = value.u64();
                }
                "type" if value.is("function") || value.is("custom") => _ = value.note(Field::Unnamed),
                "id" => found.id = value.take_text(Field::Unnamed).filter(|id| !id.is_empty()),
                "function" => found.inner = Some(value),
                "custom" => (found.inner, found.kind) = (Some(value), CallKind::FreeText),
                // Anything else stays where it is.
                _ => {}
            }
        }
        self.fragment(found, message, out);
    }

    /// A call or a fragment of one. Fragments belong together by `index`; servers that leave it out, give every call
    /// the same one, or send id and name late are understood too.
    fn fragment(&mut self, fragment: Fragment<'_>, message: ItemId, out: &mut Sink<'_>) {
        self.end_thought(out);
        let Fragment { index, id, inner, kind } = fragment;
        let same_id = |call: &Call| id.as_ref().is_some_and(|id| call.id == id.as_escaped());
        let known = match index {
            _ if self.whole => None,
            Some(_) => self.calls.iter().rposition(|call| {
                call.index == index && (id.is_none() || call.id.is_empty() || same_id(call))
            }),
            None if id.is_some() => self.calls.iter().position(same_id),
            None => self.calls.len().checked_sub(1),
        };
        let at = known.unwrap_or_else(|| {
            if let Some(last) = self.calls.last_mut().filter(|_| self.whole)
                && let Some(item) = last.end(message, out)
            {
                out.complete(item);
            }
            let (id, name, arguments) = (String::new(), String::new(), String::new());
            self.calls.push(Call { index, id, name, kind, item: None, arguments, ended: false });
            self.calls.len() - 1
        });
        let Some(call) = self.calls.get_mut(at) else { return };
        if let Some(id) = id.filter(|_| call.id.is_empty()) {
            id.as_escaped().clone_into(&mut call.id);
        }
        let mut arguments = None;
        for (name, value) in inner.into_iter().flat_map(|inner| inner.members()) {
            match name.as_escaped() {
                _ if is_blank(value) => _ = value.note(Field::Unnamed),
                // It comes once; servers that repeat it in each fragment mean the same call.
                "name" => {
                    if let Some(name) = value.take_text(Field::Unnamed).filter(|_| call.name.is_empty()) {
                        name.as_escaped().clone_into(&mut call.name);
                    }
                }
                "arguments" | "input" => arguments = Some(value),
                _ => {}
            }
        }
        if !call.id.is_empty() && !call.name.is_empty() {
            call.start(message, out);
        }
        match (call.item, arguments) {
            (Some(item), Some(arguments)) => {
                let value = match arguments.take_text(Field::Unnamed) {
                    Some(text) if text.is_empty() => return,
                    Some(text) => Args::Text(text),
                    // Against the rules, but some servers send the object itself.
                    None if arguments.kind() == Kind::Object => Args::Json(arguments.take(Field::Unnamed)),
                    None => return,
                };
                // A function's arguments are JSON, but a piece of them is not; free text is what it is.
                if self.whole || call.kind != CallKind::Function {
                    out.delta(item, 0, Part::Args(value));
                } else {
                    out.piece(item, 0, Part::Args(value));
                }
            }
            (None, Some(arguments)) => {
                if let Some(text) = arguments.take_text(Field::Unnamed) {
                    call.arguments.push_str(text.as_escaped());
                } else if arguments.kind() == Kind::Object {
                    call.arguments.push_str(Str::plain(arguments.take(Field::Unnamed).as_str()).as_escaped());
                }
            }
            (_, None) => {}
        }
    }

    /// Completes everything; `last` is how the last call ended.
    pub(super) fn end(&mut self, last: Status, out: &mut Sink<'_>) {
        self.end_thought(out);
        let Some(message) = self.message.take() else { return };
        let count = self.calls.len();
        for (number, call) in self.calls.iter_mut().enumerate() {
            let Some(id) = call.end(message, out) else { continue };
            let status = if number + 1 == count { last } else { Status::Completed };
            out.event(&Event::ItemCompleted(ItemTail { id, status, native_status: None, is_error: None }));
        }
        out.complete(message);
    }
}

impl Call {
    /// The item to complete, once.
    fn end(&mut self, message: ItemId, out: &mut Sink<'_>) -> Option<ItemId> {
        self.start(message, out);
        self.item.filter(|_| !std::mem::replace(&mut self.ended, true))
    }

    fn start(&mut self, message: ItemId, out: &mut Sink<'_>) {
        if self.item.is_some() {
            return;
        }
        let call = ToolCall {
            call_id: Some(Str::escaped(&self.id)).filter(|id| !id.is_empty()),
            kind: self.kind,
            namespace: None,
            name: Str::escaped(&self.name),
        };
        let mut head = out.head(ItemKind::ToolCall(call), Author::Assistant);
        head.within = Some(message);
        let item = out.start(head);
        self.item = Some(item);
        if !self.arguments.is_empty() {
            out.delta(item, 0, Part::Args(Args::Text(Str::escaped(&self.arguments))));
            self.arguments.clear();
        }
    }
}

/// Whose state an entry of `reasoning_details` holds. We write Anthropic's without a format, others with their name.
fn issuer(entry: Val<'_>) -> &'static str {
    let Some(format) = entry.note_str("format", Field::Unnamed) else { return ANTHROPIC };
    let known = [ANTHROPIC, "openai", "google", "xai"];
    known.into_iter().find(|name| format.as_escaped().starts_with(name)).unwrap_or("unknown")
}
