//! Reads reasoning: a text under any of three names, entries of `reasoning_details`, and thinking parts of content.

use super::super::positions::{PackedState, PackedThought, unpack};
use super::message::Holder;
use crate::json::Str;
use crate::model::{Field, ItemId, ItemKind, Opaque, OpaqueKind, Part, issuers};
use crate::pipe::EventSink;
use crate::tape::{Kind, Val};
use crate::wire::note_blanks;

/// The reasoning of one message.
#[derive(Default)]
pub(super) struct ThoughtReader {
    open: Option<Thought>,
    /// The index of the last `reasoning_details` entry.
    last_entry: Option<u64>,
    /// The number of `reasoning_opaque` states so far.
    states: usize,
}

/// An open reasoning item.
struct Thought {
    item: ItemId,
    /// Its escaped text so far.
    text: String,
    /// The index of its `reasoning_details` entry.
    entry: Option<u64>,
    signed: bool,
}

impl ThoughtReader {
    /// Emits the message's reasoning text, unless the entries repeat the text. The text may be under two names.
    pub(super) fn shown(
        &mut self,
        shown: [Option<Val<'_>>; 2],
        entries: Option<Val<'_>>,
        holder: Holder,
        out: &mut EventSink<'_>,
    ) {
        let Some(text) = shown[0].and_then(|shown| shown.str()) else { return };
        // Texts that the entries repeat are read from the entries, which also hold the matching signatures.
        let (mut told, mut is_bare) = (String::new(), false);
        for entry in entries.into_iter().flat_map(|list| list.elements()) {
            let text = entry.get("text").or_else(|| entry.get("summary")).and_then(|text| text.str());
            is_bare |= text.is_none() && entry.has_str("signature");
            told.push_str(text.as_ref().map_or("", |text| text.as_escaped()));
        }
        let escaped = text.as_escaped();
        // A text that neither ends with the entries' texts nor belongs to a bare signature stays unclaimed.
        let all = Some(escaped).filter(|_| is_bare);
        let Some(rest) = escaped.strip_suffix(&told).or(all) else { return };
        for shown in shown.into_iter().flatten() {
            shown.take(Field::ReasoningText);
        }
        if !rest.is_empty() {
            self.think(rest, |thought| !thought.signed, None, holder, out);
        }
    }

    /// Reads the entry at index `place` of `reasoning_details`.
    pub(super) fn entry(&mut self, entry: Val<'_>, place: u64, holder: Holder, out: &mut EventSink<'_>) {
        let number = entry.get("index");
        let index = number.and_then(|index| index.u64());
        let Some(kind) = entry.get("type").filter(|kind| kind.kind() == Kind::String) else { return };
        let text = |name| entry.get(name).filter(|val: &Val<'_>| val.kind() == Kind::String);
        let full = |name| text(name).filter(|val| !val.is(""));
        let of_entry = |thought: &Thought| index.is_some() && thought.entry == index;
        if kind.is("reasoning.text") {
            let signature = full("signature");
            if let Some((shown, escaped)) = full("text").and_then(|shown| Some((shown, shown.str()?))) {
                self.own_text(shown, escaped.as_escaped(), index, holder, out);
            } else if signature.is_none() {
                return;
            }
            if let Some(signature) = signature {
                // An entry without a text signs the reasoning text before it; an entry with an empty text is a separate
                // thought.
                let is_bare = text("text").is_none();
                let joins = |thought: &Thought| {
                    if full("text").is_some() || of_entry(thought) {
                        true
                    } else {
                        is_bare && !thought.signed
                    }
                };
                let thought = self.thought(joins, entry, holder, out);
                (thought.signed, thought.entry) = (true, index);
                let item = thought.item;
                state(OpaqueKind::Signature, signature, entry, item, holder, out);
            }
        } else if let Some(summary) = full("summary").filter(|_| kind.is("reasoning.summary")) {
            let joins = |thought: &Thought| !thought.signed && of_entry(thought);
            let thought = self.thought(joins, entry, holder, out);
            thought.entry = index;
            let item = thought.item;
            if let Some(summary) = summary.take_text(Field::ReasoningSummary) {
                holder.grow(item, 0, Part::Summary(summary), out);
            }
        } else if let Some(data) = full("data").filter(|_| kind.is("reasoning.encrypted")) {
            // Encrypted state with the index of a summary belongs to the summary's thought.
            let item = self.thought(|thought| !thought.signed && of_entry(thought), entry, holder, out).item;
            state(OpaqueKind::Encrypted, data, entry, item, holder, out);
            self.end(out);
        } else {
            // An unknown entry type stays unclaimed.
            return;
        }
        kind.note(Field::Structure);
        note_blanks(entry);
        if let Some(empty) = text("text").filter(|text| text.is("")) {
            empty.note(Field::Structure);
        }
        // The index assigns a piece to its entry; an unexpected index stays unclaimed.
        let expected = match self.last_entry.filter(|_| !holder.whole) {
            Some(last) => index == Some(last) || index == last.checked_add(1),
            None => index == Some(place),
        };
        if let Some(number) = number.filter(|_| expected) {
            number.note(Field::Structure);
        }
        self.last_entry = index;
    }

    /// Reads the text of an entry.
    fn own_text(
        &mut self,
        shown: Val<'_>,
        escaped: &str,
        index: Option<u64>,
        holder: Holder,
        out: &mut EventSink<'_>,
    ) {
        // A stream sends the text in pieces before the entry repeats it.
        let is_shown = |thought: &&mut Thought| {
            !holder.whole && !thought.signed && thought.entry.is_none() && thought.text == escaped
        };
        if let Some(thought) = self.open.as_mut().filter(is_shown) {
            shown.take(Field::ReasoningText);
            thought.entry = index;
            return;
        }
        let joins = |thought: &Thought| !thought.signed && index.is_some() && thought.entry == index;
        // The previous thought ends before this text is claimed, so that the ledger books each value for its own item.
        if !self.open.as_ref().is_some_and(joins) {
            self.end(out);
        }
        shown.take(Field::ReasoningText);
        self.think(escaped, joins, index, holder, out);
    }

    /// Reads a thinking part of content, as in Mistral's API: a text, or a list of texts.
    pub(super) fn part(&mut self, thinking: Val<'_>, holder: Holder, out: &mut EventSink<'_>) -> bool {
        let texts = || thinking.elements().filter(|text| text.has_str("text"));
        if thinking.kind() != Kind::String && texts().next().is_none() {
            return false;
        }
        let joins = |thought: &Thought| !holder.whole && !thought.signed;
        if let Some(text) = thinking.take_text(Field::ReasoningText) {
            self.think(text.as_escaped(), joins, None, holder, out);
        }
        for (number, part) in texts().enumerate() {
            let Some(text) = part.take_str("text", Field::ReasoningText) else { continue };
            crate::wire::note_tag(part, "type", &["text"]);
            self.think(text.as_escaped(), |thought| number > 0 || joins(thought), None, holder, out);
        }
        true
    }

    fn think(
        &mut self,
        text: &str,
        joins: impl Fn(&Thought) -> bool,
        entry: Option<u64>,
        holder: Holder,
        out: &mut EventSink<'_>,
    ) {
        if !self.open.as_ref().is_some_and(joins) {
            self.end(out);
        }
        let thought = self.open.get_or_insert_with(|| Thought::new(None, holder, out));
        // The text is stored in streams only, where the entry repeats it later.
        if !holder.whole {
            thought.text.push_str(text);
        }
        thought.entry = entry.or(thought.entry);
        holder.grow(thought.item, 0, Part::Text(Str::escaped(text)), out);
    }

    /// The open thought if it `joins`, otherwise a new thought with the entry's id.
    fn thought(
        &mut self,
        joins: impl Fn(&Thought) -> bool,
        entry: Val<'_>,
        holder: Holder,
        out: &mut EventSink<'_>,
    ) -> &mut Thought {
        if !self.open.as_ref().is_some_and(joins) {
            self.end(out);
        }
        self.open.get_or_insert_with(|| Thought::new(Some(entry), holder, out))
    }

    pub(super) fn end(&mut self, out: &mut EventSink<'_>) {
        if let Some(thought) = self.open.take() {
            out.complete(thought.item);
        }
    }

    /// Resets the counters for a new message.
    pub(super) fn reset(&mut self) {
        (self.last_entry, self.states) = (None, 0);
    }

    /// Reads Copilot's state for the whole message: the signature of the reasoning text, or encrypted state without a
    /// text. In a stream each list repeats the earlier states, so only the new states are emitted.
    pub(super) fn beside(&mut self, state: Val<'_>, holder: Holder, out: &mut EventSink<'_>) {
        let Some(escaped) = state.str() else { return };
        match unpack(escaped.as_escaped()) {
            // A value that is not a list of ours, or that does not match the reasoning text, stays unclaimed.
            None => {}
            Some(PackedState::List(_)) if holder.whole => {}
            Some(PackedState::One { kind, issuer, value }) => {
                let otherwise =
                    if self.open.is_some() { OpaqueKind::Signature } else { OpaqueKind::Encrypted };
                let kind = kind.unwrap_or(otherwise);
                state.take(kind.field());
                self.states += 1;
                self.sign(
                    Opaque { kind, issuer: Str::escaped(issuer), value: Str::escaped(value) },
                    holder,
                    out,
                );
            }
            Some(PackedState::List(thoughts)) => {
                claim_list(state, &thoughts);
                let states: Vec<_> = thoughts.into_iter().filter_map(|thought| thought.state).collect();
                let told = std::mem::replace(&mut self.states, states.len());
                for opaque in states.into_iter().skip(told) {
                    self.sign(opaque, holder, out);
                }
            }
        }
    }

    fn sign(&mut self, opaque: Opaque<'_>, holder: Holder, out: &mut EventSink<'_>) {
        if self.open.as_ref().is_some_and(|thought| thought.signed) {
            self.end(out);
        }
        let thought = self.open.get_or_insert_with(|| Thought::new(None, holder, out));
        thought.signed = true;
        holder.grow(thought.item, 1, Part::Opaque(opaque), out);
    }

    /// Emits a thought of a `reasoning_opaque` list with its text.
    pub(super) fn packed(
        &mut self,
        text: &str,
        state: Option<Opaque<'_>>,
        holder: Holder,
        out: &mut EventSink<'_>,
    ) {
        // Encrypted state without a text belongs to the summary before it.
        let goes_on =
            text.is_empty() && state.as_ref().is_some_and(|state| state.kind == OpaqueKind::Encrypted);
        if !goes_on {
            self.end(out);
        }
        if !text.is_empty() {
            self.think(text, |_| false, None, holder, out);
        }
        if let Some(opaque) = state {
            self.sign(opaque, holder, out);
        }
    }
}

/// Claims a list of thoughts under the field of its first state.
pub(super) fn claim_list(list: Val<'_>, thoughts: &[PackedThought<'_>]) {
    match thoughts.iter().find_map(|thought| thought.state.as_ref()) {
        Some(state) => list.take(state.kind.field()),
        None => list.note(Field::Structure),
    };
}

impl Thought {
    fn new(entry: Option<Val<'_>>, holder: Holder, out: &mut EventSink<'_>) -> Self {
        let mut head = holder.head(ItemKind::Reasoning, out);
        head.native_id = entry
            .filter(|entry| entry.get("id").is_some_and(|id| !id.is("")))
            .and_then(|entry| entry.take_str("id", Field::ItemId));
        Self { item: out.start(head), text: String::new(), entry: None, signed: false }
    }
}

/// Emits opaque state.
fn state(
    kind: OpaqueKind,
    value: Val<'_>,
    entry: Val<'_>,
    item: ItemId,
    holder: Holder,
    out: &mut EventSink<'_>,
) {
    let Some(value) = value.take_text(kind.field()) else { return };
    let issuer = issuer(entry);
    holder.grow(item, 1, Part::Opaque(Opaque { kind, issuer, value }), out);
}

/// The issuer of the state in a `reasoning_details` entry. We write Anthropic's state without `format` and other state
/// with the issuer's name. Gateways append a version to known names; such a `format` stays unclaimed.
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
