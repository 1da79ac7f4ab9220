//! One message as it comes: a `message` and a `delta` are read by the same code.

use std::collections::HashMap;

use super::content::read_content;
use crate::json::Str;
use crate::model::{
    Args, Author, CallKind, Citation, Event, Field, ItemHead, ItemId, ItemKind, ItemTail, Of, Opaque,
    OpaqueKind, Part, Status, ToolCall, issuers,
};
use crate::pipe::Events;
use crate::tape::{Claim, Kind, Member, Val};
use crate::wire::words::AnswerFacts;
use crate::wire::{is_blank, note_blanks};

/// One message as it comes, whole or in pieces.
#[derive(Default)]
pub(super) struct MessageReader {
    message: Option<ItemId>,
    /// Which of several answers it is; `None` is the first.
    answer: Option<u64>,
    /// There are no fragments: each entry is a call.
    whole: bool,
    thought: Option<Thought>,
    /// The number of the last entry of `reasoning_details`.
    last_entry: Option<u64>,
    /// The last call of a whole message: only its end may be missing.
    last_call: Option<ItemId>,
    /// Calls that come in fragments.
    calls: Vec<Call>,
    /// The last call with each index, and the call with each id.
    by_index: HashMap<u64, usize>,
    by_id: HashMap<String, usize>,
    facts: AnswerFacts,
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

struct Call {
    index: Option<u64>,
    id: String,
    name: String,
    kind: CallKind,
    /// `None` until id and name are known; then `arguments` is empty.
    item: Option<ItemId>,
    arguments: String,
}

/// The part a refusal is: no list of content parts gets that long.
const REFUSAL: u32 = u32::MAX;

impl MessageReader {
    pub(super) fn whole() -> Self {
        Self { whole: true, ..Self::default() }
    }

    /// What there is to read of another answer to the same request.
    pub(super) fn another(&self, answer: u64) -> Self {
        Self { whole: self.whole, answer: Some(answer), ..Self::default() }
    }

    /// Starts the assistant's message, if it has not begun.
    pub(super) fn begin(&mut self, out: &mut Events<'_>) {
        if self.message.is_none() {
            let head = out.head(ItemKind::Message, Author::Assistant);
            self.begin_with(head, out);
        }
    }

    /// Starts the message.
    pub(super) fn begin_with(&mut self, mut head: ItemHead<'_>, out: &mut Events<'_>) {
        head.answer = self.answer;
        self.message = Some(out.start(head));
        (self.last_entry, self.facts) = (None, AnswerFacts::default());
    }

    /// What its stop reason depends on.
    pub(super) fn facts(&self) -> AnswerFacts {
        self.facts
    }

    /// Reads a `message` or a `delta`: one pass to see what it has, then reasoning, content and calls in this order.
    pub(super) fn read(&mut self, delta: Val<'_>, out: &mut Events<'_>) {
        let Some(message) = self.message else { return };
        let (mut shown, mut entries, mut content, mut refusal) = (None, None, None, None);
        let (mut calls, mut lone, mut annotations) = (None, None, None);
        for (name, value) in delta.members() {
            let place = match name.as_escaped() {
                _ if is_blank(value) => {
                    value.note(Field::Structure);
                    continue;
                }
                // A request's role is the author's; an answer is always the assistant's.
                "role" if value.claimed() == Claim::Free && value.is("assistant") => {
                    value.note(Field::Structure);
                    continue;
                }
                "content" | "refusal" if value.text() == "\"\"" => {
                    value.note(Field::Structure);
                    continue;
                }
                "content" => &mut content,
                "refusal" => &mut refusal,
                "tool_calls" => &mut calls,
                // The one call of 2023, without an id.
                "function_call" => &mut lone,
                "reasoning_details" => &mut entries,
                "annotations" => &mut annotations,
                // Vendors' places for the text of reasoning; the API itself has none. Some say it under two names.
                "reasoning_content" | "reasoning" | "reasoning_text"
                    if value.kind() == Kind::String
                        && shown.is_none_or(|shown: Val<'_>| shown.text() == value.text()) =>
                {
                    value.claim(Claim::Taken(Field::ReasoningText));
                    &mut shown
                }
                // Anything else stays where it is.
                _ => continue,
            };
            place.get_or_insert(value);
        }
        if shown.is_some() || entries.is_some() {
            self.reason(shown, entries, message, out);
        }
        if let Some(content) = content {
            self.end_thought(out);
            read_content(content, Of::Message, out, &mut |number, part, out| {
                self.facts.refused |= matches!(part, Part::Refusal(_));
                self.grow(message, number, part, out);
            });
        }
        for note in annotations.into_iter().flat_map(|list| list.elements()) {
            if let Some(citation) = citation(note) {
                self.end_thought(out);
                self.grow(message, 0, Part::Citation(citation), out);
            }
        }
        if let Some(text) = refusal.and_then(|refusal| refusal.take_text(Field::Refusal)) {
            self.end_thought(out);
            self.facts.refused = true;
            self.grow(message, REFUSAL, Part::Refusal(text), out);
        }
        for (place, entry) in calls.into_iter().flat_map(|calls| calls.elements()).enumerate() {
            self.call(entry, place as u64, message, out);
        }
        if let Some(lone) = lone {
            self.call_or_fragment((None, None), CallKind::Function, Some(lone), message, out);
        }
    }

    /// Adds a part, or a piece of one if there are more to come.
    fn grow(&self, item: ItemId, part: u32, value: Part<'_>, out: &mut Events<'_>) {
        if self.whole {
            out.delta(item, part, value);
        } else {
            out.piece(item, part, value);
        }
    }

    fn reason(
        &mut self,
        shown: Option<Val<'_>>,
        entries: Option<Val<'_>>,
        message: ItemId,
        out: &mut Events<'_>,
    ) {
        let mut shown = shown.map_or("", |shown| &shown.text()[1..shown.text().len() - 1]);
        let entries = || entries.into_iter().flat_map(|list| list.elements());
        // Texts that the entries repeat are theirs: they know which signature belongs to which.
        let mut told = String::new();
        for text in entries().filter_map(|entry| entry.get("text")?.str()) {
            told.push_str(text.as_escaped());
        }
        shown = shown.strip_suffix(&told).unwrap_or(shown);
        if !shown.is_empty() {
            self.think(shown, |thought| !thought.signed, None, message, out);
        }
        for (place, entry) in entries().enumerate() {
            self.entry(entry, place as u64, message, out);
        }
    }

    /// An entry of `reasoning_details`, at that place of its list.
    fn entry(&mut self, entry: Val<'_>, place: u64, message: ItemId, out: &mut Events<'_>) {
        let number = entry.get("index");
        let index = number.and_then(|index| index.u64());
        let Some(kind) = entry.get("type").filter(|kind| kind.kind() == Kind::String) else { return };
        let text = |name| entry.get(name).filter(|val: &Val<'_>| val.kind() == Kind::String && !val.is(""));
        if kind.is("reasoning.text") {
            let (shown, signature) = (text("text"), text("signature"));
            if let Some((shown, escaped)) = shown.and_then(|shown| Some((shown, shown.str()?))) {
                let escaped = escaped.as_escaped();
                if self.thought.as_ref().is_some_and(|thought| thought.text == escaped) {
                    shown.take(Field::ReasoningText);
                } else {
                    let joins = |thought: &Thought| {
                        !thought.signed
                            && (thought.text.is_empty() || thought.entry == index && index.is_some())
                    };
                    // The thought before it ends before this one is read, so that each is booked as itself.
                    self.thought(joins, message, out);
                    shown.take(Field::ReasoningText);
                    self.think(escaped, |_| true, index, message, out);
                }
            }
            if let Some(signature) = signature {
                let thought = self.thought(|thought| !thought.signed || thought.entry == index, message, out);
                (thought.signed, thought.entry) = (true, index);
                let item = thought.item;
                self.state(OpaqueKind::Signature, signature, entry, item, out);
            }
            if shown.is_none() && signature.is_none() {
                return;
            }
        } else if let Some(data) = text("data").filter(|_| kind.is("reasoning.encrypted")) {
            let item = self.thought(|_| false, message, out).item;
            self.state(OpaqueKind::Encrypted, data, entry, item, out);
            self.end_thought(out);
        } else {
            // A summary, or a kind to come: what it shows also stands in the text beside it.
            return;
        }
        kind.note(Field::Structure);
        note_blanks(entry);
        // A number says which entry a piece belongs to; one that we do not expect stays where it is.
        let expected = match self.last_entry.filter(|_| !self.whole) {
            Some(last) => index == Some(last) || index == last.checked_add(1),
            None => index == Some(place),
        };
        if let Some(number) = number.filter(|_| expected) {
            number.note(Field::Structure);
        }
        self.last_entry = index;
    }

    /// State that only its issuer can read.
    fn state(&self, kind: OpaqueKind, value: Val<'_>, entry: Val<'_>, item: ItemId, out: &mut Events<'_>) {
        let Some(value) = value.take_text(kind.field()) else { return };
        let issuer = issuer(entry);
        self.grow(item, 1, Part::Opaque(Opaque { kind, issuer, value }), out);
    }

    fn think(
        &mut self,
        text: &str,
        joins: impl Fn(&Thought) -> bool,
        entry: Option<u64>,
        message: ItemId,
        out: &mut Events<'_>,
    ) {
        let thought = self.thought(joins, message, out);
        thought.text.push_str(text);
        thought.entry = entry.or(thought.entry);
        let item = thought.item;
        self.grow(item, 0, Part::Text(Str::escaped(text)), out);
    }

    /// The open thought if it `joins`, else a new one.
    fn thought(
        &mut self,
        joins: impl Fn(&Thought) -> bool,
        message: ItemId,
        out: &mut Events<'_>,
    ) -> &mut Thought {
        if !self.thought.as_ref().is_some_and(joins) {
            self.end_thought(out);
        }
        self.thought.get_or_insert_with(|| {
            let mut head = out.head(ItemKind::Reasoning, Author::Assistant);
            (head.within, head.answer) = (Some(message), self.answer);
            Thought { item: out.start(head), text: String::new(), entry: None, signed: false }
        })
    }

    fn end_thought(&mut self, out: &mut Events<'_>) {
        if let Some(thought) = self.thought.take() {
            out.complete(thought.item);
        }
    }

    /// An entry of `tool_calls`, at that place of its list.
    fn call(&mut self, entry: Val<'_>, place: u64, message: ItemId, out: &mut Events<'_>) {
        let (mut index, mut id, mut inner, mut kind) = (None, None, None, CallKind::Function);
        for (name, value) in entry.members() {
            match name.as_escaped() {
                _ if is_blank(value) => _ = value.note(Field::Structure),
                "index" => index = index.or(value.u64().map(|number| (value, number))),
                "type" if value.is("function") || value.is("custom") => _ = value.note(Field::CallKind),
                "id" if value.kind() == Kind::String && !value.is("") => id = id.or(Some(value)),
                "function" => inner = Some(value),
                "custom" => (inner, kind) = (Some(value), CallKind::FreeText),
                // Anything else stays where it is.
                _ => {}
            }
        }
        if let Some((value, number)) = index {
            // It only tells pieces apart: one that tells nothing stays where it is.
            let next = if self.whole { place } else { self.calls.len() as u64 };
            if number == next || self.by_index.contains_key(&number) {
                value.note(Field::Structure);
            }
        }
        self.call_or_fragment((index.map(|(_, number)| number), id), kind, inner, message, out);
    }

    /// `inner` holds the name and the arguments.
    fn call_or_fragment(
        &mut self,
        place: (Option<u64>, Option<Val<'_>>),
        kind: CallKind,
        inner: Option<Val<'_>>,
        message: ItemId,
        out: &mut Events<'_>,
    ) {
        self.end_thought(out);
        self.facts.calls = true;
        let (mut name, mut arguments) = (None, None);
        for (member, value) in inner.into_iter().flat_map(|inner| inner.members()) {
            match member.as_escaped() {
                _ if is_blank(value) => _ = value.note(Field::Structure),
                "name" => name = name.or(Some(value)),
                "arguments" | "input" => arguments = arguments.or(Some(value)),
                // Anything else stays where it is.
                _ => {}
            }
        }
        if self.whole {
            self.whole_call(place.1, kind, name, arguments, message, out);
        } else {
            self.fragment(place, kind, name, arguments, message, out);
        }
    }

    fn whole_call(
        &mut self,
        id: Option<Val<'_>>,
        kind: CallKind,
        name: Option<Val<'_>>,
        arguments: Option<Val<'_>>,
        message: ItemId,
        out: &mut Events<'_>,
    ) {
        self.end_calls(Status::Completed, message, out);
        let call_id = id.take_text(Field::CallId);
        let name = name.take_text(Field::CallName).unwrap_or_default();
        let item = start_call(ToolCall { call_id, kind, namespace: None, name }, message, self.answer, out);
        if let Some(args) = arguments.and_then(take_arguments) {
            out.delta(item, 0, Part::Args(args));
        }
        self.last_call = Some(item);
    }

    /// A fragment of a call. Fragments belong together by index; servers that leave it out, give every call the same
    /// one, or send id and name late are understood too.
    fn fragment(
        &mut self,
        (index, id): (Option<u64>, Option<Val<'_>>),
        kind: CallKind,
        name: Option<Val<'_>>,
        arguments: Option<Val<'_>>,
        message: ItemId,
        out: &mut Events<'_>,
    ) {
        let at = self.known_call(index, id).unwrap_or_else(|| {
            let (id, name, arguments) = (String::new(), String::new(), String::new());
            self.calls.push(Call { index, id, name, kind, item: None, arguments });
            self.calls.len() - 1
        });
        let Some(call) = self.calls.get_mut(at) else { return };
        // Id and name come once; servers that repeat them in each fragment mean the same call.
        let is_new = learn(id, Field::CallId, &mut call.id);
        index.map(|index| self.by_index.insert(index, at));
        is_new.then(|| self.by_id.insert(call.id.clone(), at));
        learn(name, Field::CallName, &mut call.name);
        if !call.id.is_empty() && !call.name.is_empty() {
            call.start(message, self.answer, out);
        }
        match (call.item, arguments.and_then(take_arguments)) {
            // A function's arguments are JSON, but a piece of them is not; free text is what it is.
            (Some(item), Some(args)) if call.kind != CallKind::Function => {
                out.delta(item, 0, Part::Args(args));
            }
            (Some(item), Some(args)) => out.piece(item, 0, Part::Args(args)),
            (None, Some(Args::Text(text))) => call.arguments.push_str(text.as_escaped()),
            (None, Some(Args::Json(json))) => {
                call.arguments.push_str(Str::plain(json.as_str()).as_escaped());
            }
            (_, None) => {}
        }
    }

    /// The call that a fragment belongs to, if it has begun.
    fn known_call(&self, index: Option<u64>, id: Option<Val<'_>>) -> Option<usize> {
        let named = id.and_then(|id| id.str()).and_then(|id| self.by_id.get(id.as_escaped())).copied();
        let Some(index) = index else {
            return if id.is_some() { named } else { self.calls.len().checked_sub(1) };
        };
        let call = |at: &usize| self.calls.get(*at);
        let same = named.filter(|at| call(at).is_some_and(|call| call.index == Some(index)));
        let last = self.by_index.get(&index).copied();
        same.or(last.filter(|at| id.is_none() || call(at).is_some_and(|call| call.id.is_empty())))
    }

    /// The source stops here: says the calls that waited for their id or name.
    pub(super) fn cut_off(&mut self, out: &mut Events<'_>) {
        let Some(message) = self.message else { return };
        self.end_thought(out);
        for call in &mut self.calls {
            call.start(message, self.answer, out);
        }
    }

    /// Completes everything; `last` is how the last call ended.
    pub(super) fn end(&mut self, last: Status, out: &mut Events<'_>) {
        self.end_thought(out);
        let Some(message) = self.message.take() else { return };
        self.end_calls(last, message, out);
        out.complete(message);
    }

    fn end_calls(&mut self, last: Status, message: ItemId, out: &mut Events<'_>) {
        if let Some(call) = self.last_call.take() {
            out.event(&Event::ItemCompleted(ItemTail::new(call, last)));
        }
        let count = self.calls.len();
        for (number, mut call) in self.calls.drain(..).enumerate() {
            let id = call.start(message, self.answer, out);
            let status = if number + 1 == count { last } else { Status::Completed };
            out.event(&Event::ItemCompleted(ItemTail::new(id, status)));
        }
        self.by_index.clear();
        self.by_id.clear();
    }
}

impl Call {
    /// Starts the item, if it has not begun.
    fn start(&mut self, message: ItemId, answer: Option<u64>, out: &mut Events<'_>) -> ItemId {
        if let Some(item) = self.item {
            return item;
        }
        let call = ToolCall {
            call_id: Some(Str::escaped(&self.id)).filter(|id| !id.is_empty()),
            kind: self.kind,
            namespace: None,
            name: Str::escaped(&self.name),
        };
        let item = start_call(call, message, answer, out);
        self.item = Some(item);
        if !self.arguments.is_empty() {
            // They came in pieces, and more may follow.
            out.piece(item, 0, Part::Args(Args::Text(Str::escaped(&self.arguments))));
            self.arguments.clear();
        }
        item
    }
}

fn start_call(call: ToolCall<'_>, message: ItemId, answer: Option<u64>, out: &mut Events<'_>) -> ItemId {
    let mut head = out.head(ItemKind::ToolCall(call), Author::Assistant);
    (head.within, head.answer) = (Some(message), answer);
    out.start(head)
}

/// (A piece of) arguments, if it says anything. An object is against the rules, but some servers send one.
fn take_arguments(val: Val<'_>) -> Option<Args<'_>> {
    match val.kind() {
        Kind::String => val.take_text(Field::CallArgs).filter(|text| !text.is_empty()).map(Args::Text),
        Kind::Object => Some(Args::Json(val.take(Field::CallArgs))),
        Kind::Null | Kind::Bool | Kind::Number | Kind::Array => None,
    }
}

/// Learns what a call is called, once; returns whether it was news. The same again is understood; anything else stays
/// where it is.
fn learn(val: Option<Val<'_>>, field: Field, known: &mut String) -> bool {
    let Some((val, text)) = val.and_then(|val| Some((val, val.str()?))) else { return false };
    let is_news = known.is_empty();
    if is_news {
        text.as_escaped().clone_into(known);
    }
    if *known == text.as_escaped() {
        val.take(field);
    }
    is_news
}

/// Where a statement comes from: an entry of `annotations`.
fn citation(note: Val<'_>) -> Option<Citation<'_>> {
    let kind = note.get("type").filter(|kind| kind.is("url_citation"))?;
    let inner = note.get("url_citation")?;
    Some(Citation {
        kind: kind.take_text(Field::CitationKind),
        title: inner.take_str("title", Field::CitationTitle),
        source: Some(inner.take_str("url", Field::CitationSource)?),
        from: inner.take_raw("start_index", Field::CitationFrom),
        to: inner.take_raw("end_index", Field::CitationTo),
        ..Citation::default()
    })
}

/// Whose state an entry of `reasoning_details` holds. We write Anthropic's without a format, others with their name.
/// Gateways add a version to a name that they know; it stays where it is.
fn issuer(entry: Val<'_>) -> Str<'_> {
    let Some(format) = entry.get("format").and_then(|format| format.str()) else {
        return Str::escaped(issuers::ANTHROPIC);
    };
    let known = [issuers::ANTHROPIC, issuers::OPENAI, issuers::GOOGLE, issuers::XAI];
    match known.into_iter().find(|name| format.as_escaped().starts_with(name)) {
        Some(issuer) if !format.is(issuer) => Str::escaped(issuer),
        _ => entry.note_str("format", Field::Issuer).unwrap_or_default(),
    }
}
