//! Reads one message; `message` and `delta` share the same code.

use super::super::positions::{PackedState, ThoughtPlace, byte_of, characters, unpack};
use super::calls::{CallReader, is_placeholder};
use super::content::parts_of;
use super::thoughts::{ThoughtReader, claim_list};
use crate::json::Str;
use crate::ledger::TextKey;
use crate::model::{
    Author, Citation, Field, ItemHead, ItemId, ItemKind, ItemKindTag, Opaque, Part, Shape, Status,
};
use crate::pipe::EventSink;
use crate::tape::{Claim, Kind, Val};
use crate::wire::words::AnswerFacts;
use crate::wire::{is_blank, note_blanks};

/// The state of one message, whole or streamed.
#[derive(Default)]
pub(super) struct MessageReader {
    message: Option<ItemId>,
    /// The number of the choice; `None` is the first.
    answer: Option<u64>,
    /// Whether the message is whole, so that each entry of `tool_calls` is a complete call.
    whole: bool,
    thoughts: ThoughtReader,
    calls: CallReader,
    facts: AnswerFacts,
    said: SaidText,
    /// Whether the text of the message may be repeated in another member.
    repeats: bool,
}

/// The message that holds an item.
#[derive(Clone, Copy)]
pub(super) struct Holder {
    pub(super) message: ItemId,
    pub(super) answer: Option<u64>,
    pub(super) whole: bool,
}

impl Holder {
    /// The head of an item within the message.
    #[inline]
    pub(super) fn head<'a>(self, kind: ItemKind<'a>, out: &mut EventSink<'_>) -> ItemHead<'a> {
        let head = out.head(kind, Author::Assistant);
        ItemHead { within: Some(self.message), answer: self.answer, ..head }
    }

    /// Emits a part of a whole message, or a piece of a part of a stream.
    #[inline]
    pub(super) fn grow(self, item: ItemId, part: u32, value: Part<'_>, out: &mut EventSink<'_>) {
        if self.whole {
            out.delta(item, part, value);
        } else {
            out.piece(item, part, value);
        }
    }
}

/// The length and hash of a message's text so far, to recognise a repetition.
#[derive(Default)]
struct SaidText {
    bytes: usize,
    key: TextKey,
    characters: u64,
}

impl SaidText {
    fn add(&mut self, escaped: &str) {
        self.bytes += escaped.len();
        self.key.piece(escaped.as_bytes());
        self.characters += characters(escaped);
    }

    /// The rest of a longer text that begins with this text.
    fn rest_of<'t>(&self, escaped: &'t str) -> Option<&'t str> {
        let (begin, rest) = escaped.split_at_checked(self.bytes)?;
        let mut key = TextKey::default();
        key.piece(begin.as_bytes());
        (key.end() == self.key.end()).then_some(rest)
    }
}

/// The part number of a refusal; no content list is that long.
const REFUSAL: u32 = u32::MAX;

/// A thought of a whole message, to be emitted at its position.
enum WaitingThought<'t> {
    /// An entry of `reasoning_details`, with its index.
    Entry(u64, Val<'t>),
    /// A thought of a `reasoning_opaque` list, with its text.
    Packed(&'t str, Option<Opaque<'t>>),
}

/// Thoughts with their positions.
type PlacedThoughts<'t> = Box<dyn Iterator<Item = (ThoughtPlace, WaitingThought<'t>)> + 't>;

/// Thoughts of a whole message, to be emitted at their positions.
struct WaitingThoughts<'t>(Option<std::iter::Peekable<PlacedThoughts<'t>>>);

impl<'t> WaitingThoughts<'t> {
    fn of_entries(list: Option<Val<'t>>) -> Self {
        let thoughts = list.map(|list| {
            let entries = list.elements().enumerate();
            let placed = entries.map(|(number, entry)| {
                (ThoughtPlace::of(entry), WaitingThought::Entry(number as u64, entry))
            });
            let placed: PlacedThoughts<'t> = Box::new(placed);
            placed.peekable()
        });
        Self(thoughts)
    }

    /// The thoughts of a `reasoning_opaque` list. `None` if the value is not a list or does not match the message's
    /// reasoning text.
    fn of_list(opaque: Val<'t>, shown: [Option<Val<'t>>; 2]) -> Option<Self> {
        let PackedState::List(thoughts) = unpack(inside(opaque)?)? else { return None };
        let mut text = match shown[0] {
            Some(shown) => inside(shown)?,
            None => "",
        };
        let mut placed = Vec::with_capacity(thoughts.len());
        for thought in &thoughts {
            let (own, rest) = text.split_at_checked(byte_of(text, thought.characters)?)?;
            placed.push((thought.place, WaitingThought::Packed(own, thought.state.clone())));
            text = rest;
        }
        if !text.is_empty() {
            return None;
        }
        claim_list(opaque, &thoughts);
        for shown in shown.into_iter().flatten() {
            shown.take(Field::ReasoningText);
        }
        let placed: PlacedThoughts<'t> = Box::new(placed.into_iter());
        Some(Self(Some(placed.peekable())))
    }

    /// The position of the next thought.
    fn next_place(&mut self) -> Option<ThoughtPlace> {
        self.0.as_mut()?.peek().map(|(place, _)| *place)
    }
}

/// The escaped content of a string, without its quotes.
fn inside(string: Val<'_>) -> Option<&str> {
    Val::text(&string).strip_prefix('"')?.strip_suffix('"')
}

impl MessageReader {
    pub(super) fn whole() -> Self {
        Self { whole: true, ..Self::default() }
    }

    /// A reader for a further choice of the same response.
    pub(super) fn another(&self, answer: u64) -> Self {
        Self { whole: self.whole, answer: Some(answer), ..Self::default() }
    }

    /// Starts the assistant's message, unless it has started.
    pub(super) fn begin(&mut self, out: &mut EventSink<'_>) {
        if self.message.is_none() {
            self.begin_with(Author::Assistant, Shape::One, out);
        }
    }

    /// Starts a message.
    pub(super) fn begin_with(&mut self, author: Author, shape: Shape, out: &mut EventSink<'_>) -> ItemId {
        let head = out.head(ItemKind::Message, author);
        let id = out.start(ItemHead { answer: self.answer, shape, ..head });
        self.message = Some(id);
        (self.facts, self.said) = (AnswerFacts::default(), SaidText::default());
        self.thoughts.reset();
        self.calls.reset();
        id
    }

    /// Facts that determine the stop reason.
    pub(super) fn facts(&self) -> AnswerFacts {
        self.facts
    }

    /// Reads the `delta` and the `message` of a choice. Some servers send both: either is empty, or `message` repeats
    /// the deltas so far.
    pub(super) fn read_choice(
        &mut self,
        delta: Option<Val<'_>>,
        message: Option<Val<'_>>,
        out: &mut EventSink<'_>,
    ) {
        let (said, beside) = match (delta, message) {
            (Some(delta), Some(message)) => {
                let first = self.said.bytes == 0 && !self.facts.calls;
                let in_message = if self.whole { !is_silent(message) } else { first && is_silent(delta) };
                if in_message { (message, Some(delta)) } else { (delta, Some(message)) }
            }
            (Some(said), None) | (None, Some(said)) => (said, None),
            (None, None) => return,
        };
        if said.kind() == Kind::Object && said.members().next().is_none() {
            said.note(Field::Structure);
        }
        self.begin(out);
        // A stream may repeat the text later.
        self.repeats = !self.whole || beside.is_some();
        self.read(said, out);
        if let Some(beside) = beside {
            self.read_beside(beside, out);
        }
    }

    /// Reads a `message` or a `delta`: one pass finds the members, then reasoning, content and calls are read in this
    /// order.
    pub(super) fn read(&mut self, delta: Val<'_>, out: &mut EventSink<'_>) {
        let Some(holder) = self.holder() else { return };
        let (mut shown, mut also_shown, mut entries, mut content, mut refusal) =
            (None, None, None, None, None);
        let (mut calls, mut lone, mut annotations, mut opaque) = (None, None, None, None);
        for (name, value) in delta.members() {
            let place = match name.as_escaped() {
                _ if is_blank(value) => {
                    value.note(Field::Structure);
                    continue;
                }
                // In a request the role is the author; in a response the role is always `assistant`.
                "role" if value.claimed() == Claim::Free && value.is("assistant") => {
                    value.note(Field::Structure);
                    continue;
                }
                "content" | "refusal" | "reasoning_content" | "reasoning" | "reasoning_text"
                    if value.is("") =>
                {
                    value.note(Field::Structure);
                    continue;
                }
                "content" => &mut content,
                "refusal" => &mut refusal,
                "tool_calls" => &mut calls,
                // The single call of the 2023 API, without an id.
                "function_call" if is_placeholder(value) => {
                    value.note(Field::Structure);
                    continue;
                }
                "function_call" => &mut lone,
                "reasoning_details" => &mut entries,
                "annotations" => &mut annotations,
                // Copilot's member for state.
                "reasoning_opaque" if value.kind() == Kind::String => &mut opaque,
                // Vendors' members for the reasoning text; OpenAI's API has none. Some vendors repeat the text under a
                // second name.
                "reasoning_content" | "reasoning" | "reasoning_text" if value.kind() == Kind::String => {
                    match shown {
                        None => &mut shown,
                        Some(first) if Val::text(&first) == value.text() => &mut also_shown,
                        Some(_) => continue,
                    }
                }
                // Other members stay unclaimed.
                _ => continue,
            };
            place.get_or_insert(value);
        }
        let shown = [shown, also_shown];
        let listed = opaque.filter(|_| self.whole).and_then(|opaque| WaitingThoughts::of_list(opaque, shown));
        let mut waiting = listed.unwrap_or_else(|| {
            if shown[0].is_some() {
                self.calls.interrupt(holder, out);
                self.thoughts.shown(shown, entries, holder, out);
            }
            if let Some(opaque) = opaque {
                self.thoughts.beside(opaque, holder, out);
            }
            WaitingThoughts::of_entries(entries)
        });
        self.waiting(&mut waiting, self.whole.then(ThoughtPlace::default), out);
        if let Some(content) = content {
            self.content(content, &mut waiting, holder, out);
        }
        for note in annotations.into_iter().flat_map(|list| list.elements()) {
            if let Some(citation) = citation(note) {
                self.thoughts.end(out);
                out.within(note, |out| holder.grow(holder.message, 0, Part::Citation(citation), out));
            }
        }
        if let Some(text) = refusal.and_then(|refusal| refusal.take_text(Field::Refusal)) {
            self.thoughts.end(out);
            self.facts.refused = true;
            holder.grow(holder.message, REFUSAL, Part::Refusal(text), out);
        }
        for (place, entry) in calls.into_iter().flat_map(|calls| calls.elements()).enumerate() {
            let before = ThoughtPlace { characters: u64::MAX, calls: self.calls.count() };
            self.waiting(&mut waiting, Some(before), out);
            out.within(entry, |out| {
                self.call(|calls, out| calls.entry(entry, place as u64, holder, out), out);
            });
        }
        if let Some(lone) = lone {
            self.call(|calls, out| calls.lone(lone, holder, out), out);
        }
        self.waiting(&mut waiting, None, out);
    }

    fn call(
        &mut self,
        read: impl FnOnce(&mut CallReader, &mut EventSink<'_>) -> bool,
        out: &mut EventSink<'_>,
    ) {
        self.thoughts.end(out);
        self.facts.calls |= read(&mut self.calls, out);
    }

    /// Emits the thoughts before a position, or all remaining thoughts.
    #[inline]
    fn waiting(
        &mut self,
        waiting: &mut WaitingThoughts<'_>,
        before: Option<ThoughtPlace>,
        out: &mut EventSink<'_>,
    ) {
        // Fast path: few messages have waiting thoughts.
        if waiting.0.is_some() {
            self.say_thoughts(waiting, before, out);
        }
    }

    #[cold]
    fn say_thoughts(
        &mut self,
        waiting: &mut WaitingThoughts<'_>,
        before: Option<ThoughtPlace>,
        out: &mut EventSink<'_>,
    ) {
        let Some(holder) = self.holder() else { return };
        while let Some(place) = waiting.next_place() {
            let is_due = before.is_none_or(|before| {
                place.calls < before.calls
                    || place.calls == before.calls && place.characters <= before.characters
            });
            let due = waiting.0.as_mut().and_then(|thoughts| thoughts.next_if(|_| is_due));
            let Some((_, thought)) = due else { return };
            self.calls.interrupt(holder, out);
            match thought {
                WaitingThought::Entry(number, entry) => {
                    // In a stream, the position of an entry is where it arrives.
                    let here = ThoughtPlace { characters: self.said.characters, calls: self.calls.count() };
                    if self.whole || place == here {
                        ThoughtPlace::note(entry);
                    }
                    out.within(entry, |out| self.thoughts.entry(entry, number, holder, out));
                }
                WaitingThought::Packed(text, state) => self.thoughts.packed(text, state, holder, out),
            }
        }
    }

    /// Reads content: a string, an object, or a list of parts.
    fn content(
        &mut self,
        content: Val<'_>,
        waiting: &mut WaitingThoughts<'_>,
        holder: Holder,
        out: &mut EventSink<'_>,
    ) {
        self.calls.interrupt(holder, out);
        // A thought inside a text splits the text into two parts.
        let mut more_parts = 0;
        if let Some(text) = content.take_text(Field::MessageText) {
            return self.say(0, Part::Text(text), &mut more_parts, waiting, holder, out);
        }
        for (number, part) in parts_of(content).enumerate() {
            if part.is_thinking() {
                if part.val.get("thinking").is_some_and(|text| self.thoughts.part(text, holder, out)) {
                    part.note_tag();
                }
                continue;
            }
            let mut say = |part: u32, value: Part<'_>, out: &mut EventSink<'_>| {
                self.say(part, value, &mut more_parts, waiting, holder, out);
            };
            part.read(number as u32, ItemKindTag::Message, out, &mut say);
        }
    }

    /// Emits a part of the content. `more_parts` counts the extra parts that splitting earlier texts has added.
    fn say(
        &mut self,
        part: u32,
        value: Part<'_>,
        more_parts: &mut u32,
        waiting: &mut WaitingThoughts<'_>,
        holder: Holder,
        out: &mut EventSink<'_>,
    ) {
        self.thoughts.end(out);
        let Part::Text(text) = &value else {
            self.facts.refused |= matches!(value, Part::Refusal(_));
            return holder.grow(holder.message, part, value, out);
        };
        let mut text = text.as_escaped();
        while let Some(inside) = self.place_inside(text, waiting) {
            let (before, after) = text.split_at(inside);
            self.said.add(before);
            holder.grow(holder.message, part + *more_parts, Part::Text(Str::escaped(before)), out);
            let here = ThoughtPlace { characters: self.said.characters, calls: 0 };
            self.waiting(waiting, Some(here), out);
            self.thoughts.end(out);
            text = after;
            *more_parts += 1;
        }
        // The text is tracked only if a repetition or a waiting thought needs it.
        if self.repeats || waiting.0.is_some() {
            self.said.add(text);
        }
        holder.grow(holder.message, part + *more_parts, Part::Text(Str::escaped(text)), out);
    }

    /// The byte offset of the next thought inside a text.
    fn place_inside(&self, escaped: &str, waiting: &mut WaitingThoughts<'_>) -> Option<usize> {
        let place = waiting.next_place().filter(|place| place.calls == 0)?;
        let after = place.characters.checked_sub(self.said.characters)?;
        byte_of(escaped, after).filter(|byte| *byte < escaped.len())
    }

    /// Reads the second of `delta` and `message`, whose text may continue the first.
    fn read_beside(&mut self, beside: Val<'_>, out: &mut EventSink<'_>) {
        let Some(holder) = self.holder() else { return };
        note_blanks(beside);
        crate::wire::note_tag(beside, "role", &["assistant"]);
        let Some((val, text)) = beside.get("content").and_then(|val| Some((val, val.str()?))) else { return };
        match self.said.rest_of(text.as_escaped()) {
            _ if text.is_empty() => _ = val.note(Field::Structure),
            Some("") => _ = val.note(Field::MessageText),
            Some(rest) => {
                val.take(Field::MessageText);
                self.thoughts.end(out);
                self.said.add(rest);
                holder.grow(holder.message, 0, Part::Text(Str::escaped(rest)), out);
            }
            // A different text stays unclaimed.
            None => {}
        }
    }

    fn holder(&self) -> Option<Holder> {
        Some(Holder { message: self.message?, answer: self.answer, whole: self.whole })
    }

    /// Handles the end of a truncated source: emits the calls that waited for their id or name.
    pub(super) fn cut_off(&mut self, out: &mut EventSink<'_>) {
        let Some(holder) = self.holder() else { return };
        self.thoughts.end(out);
        self.calls.cut_off(holder, out);
    }

    /// Whether the arguments of the last call are incomplete.
    pub(super) fn breaks_off(&self) -> bool {
        self.calls.breaks_off()
    }

    /// Completes the message and its items; `last` is the status of the last call.
    pub(super) fn end(&mut self, last: Status, out: &mut EventSink<'_>) {
        self.thoughts.end(out);
        let Some(holder) = self.holder() else { return };
        self.calls.end(last, holder, out);
        self.message = None;
        out.complete(holder.message);
    }
}

/// Whether a `message` or `delta` has no content beside its role.
fn is_silent(said: Val<'_>) -> bool {
    const SPOKEN: [&str; 8] = [
        "content",
        "tool_calls",
        "function_call",
        "refusal",
        "reasoning",
        "reasoning_content",
        "reasoning_text",
        "reasoning_details",
    ];
    let support = |value: Val<'_>| !is_blank(value) && !value.is("") && !is_placeholder(value);
    !SPOKEN.iter().any(|name| said.get(name).is_some_and(support))
}

/// Reads an entry of `annotations` as a citation.
fn citation(note: Val<'_>) -> Option<Citation<'_>> {
    let kind = note.get("type").filter(|kind| kind.is("url_citation"))?;
    let inner = note.get("url_citation")?;
    // The entry's index in a stream, whose entries arrive in order anyway.
    note.note_u64("index", Field::Structure);
    Some(Citation {
        kind: kind.take_text(Field::CitationKind),
        title: inner.take_str("title", Field::CitationTitle),
        source: Some(inner.take_str("url", Field::CitationSource)?),
        from: inner.take_raw("start_index", Field::CitationFrom),
        to: inner.take_raw("end_index", Field::CitationTo),
        ..Citation::default()
    })
}
