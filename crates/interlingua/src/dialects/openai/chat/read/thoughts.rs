//! Reasoning: a text under one of three names, entries of `reasoning_details`, and thinking among the parts of content.

use super::super::places::{PackedState, PackedThought, unpack};
use super::message::Holder;
use crate::json::Str;
use crate::model::{Field, ItemId, ItemKind, Opaque, OpaqueKind, Part, issuers};
use crate::pipe::Events;
use crate::tape::{Kind, Val};
use crate::wire::note_blanks;

/// The reasoning of one message.
#[derive(Default)]
pub(super) struct ThoughtReader {
    open: Option<Thought>,
    /// The number of the last entry of `reasoning_details`.
    last_entry: Option<u64>,
    /// States of `reasoning_opaque` so far.
    states: usize,
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

impl ThoughtReader {
    /// Says the text that the message shows of its reasoning, unless its entries say the same. It may stand under two
    /// names.
    pub(super) fn shown(
        &mut self,
        shown: [Option<Val<'_>>; 2],
        entries: Option<Val<'_>>,
        holder: Holder,
        out: &mut Events<'_>,
    ) {
        let Some(text) = shown[0].and_then(|shown| shown.str()) else { return };
        // Texts that the entries repeat are theirs: they know which signature belongs to which.
        let (mut told, mut is_bare) = (String::new(), false);
        for entry in entries.into_iter().flat_map(|list| list.elements()) {
            let text = entry.get("text").or_else(|| entry.get("summary")).and_then(|text| text.str());
            is_bare |= text.is_none() && entry.has_str("signature");
            told.push_str(text.as_ref().map_or("", |text| text.as_escaped()));
        }
        let escaped = text.as_escaped();
        // A text that is neither theirs nor signed apart stays where it is.
        let all = Some(escaped).filter(|_| is_bare);
        let Some(rest) = escaped.strip_suffix(&told).or(all) else { return };
        for shown in shown.into_iter().flatten() {
            shown.take(Field::ReasoningText);
        }
        if !rest.is_empty() {
            self.think(rest, |thought| !thought.signed, None, holder, out);
        }
    }

    /// An entry of `reasoning_details`, at that place of its list.
    pub(super) fn entry(&mut self, entry: Val<'_>, place: u64, holder: Holder, out: &mut Events<'_>) {
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
                // An entry without a text signs what was shown; an empty text is one of its own.
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
            // The state of a summary that stands beside it under the same number is of the same thought.
            let item = self.thought(|thought| !thought.signed && of_entry(thought), entry, holder, out).item;
            state(OpaqueKind::Encrypted, data, entry, item, holder, out);
            self.end(out);
        } else {
            // A kind to come stays where it is.
            return;
        }
        kind.note(Field::Structure);
        note_blanks(entry);
        if let Some(empty) = text("text").filter(|text| text.is("")) {
            empty.note(Field::Structure);
        }
        // A number says which entry a piece belongs to; one that we do not expect stays where it is.
        let expected = match self.last_entry.filter(|_| !holder.whole) {
            Some(last) => index == Some(last) || index == last.checked_add(1),
            None => index == Some(place),
        };
        if let Some(number) = number.filter(|_| expected) {
            number.note(Field::Structure);
        }
        self.last_entry = index;
    }

    /// The text of an entry.
    fn own_text(
        &mut self,
        shown: Val<'_>,
        escaped: &str,
        index: Option<u64>,
        holder: Holder,
        out: &mut Events<'_>,
    ) {
        // A stream shows the text in pieces first.
        let is_shown = |thought: &&mut Thought| {
            !holder.whole && !thought.signed && thought.entry.is_none() && thought.text == escaped
        };
        if let Some(thought) = self.open.as_mut().filter(is_shown) {
            shown.take(Field::ReasoningText);
            thought.entry = index;
            return;
        }
        let joins = |thought: &Thought| !thought.signed && index.is_some() && thought.entry == index;
        // The thought before it ends before this one is read, so that each is booked as itself.
        if !self.open.as_ref().is_some_and(joins) {
            self.end(out);
        }
        shown.take(Field::ReasoningText);
        self.think(escaped, joins, index, holder, out);
    }

    /// Thinking among the parts of content, as Mistral has it: a text, or a list of texts.
    pub(super) fn part(&mut self, thinking: Val<'_>, holder: Holder, out: &mut Events<'_>) -> bool {
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
        out: &mut Events<'_>,
    ) {
        if !self.open.as_ref().is_some_and(joins) {
            self.end(out);
        }
        let thought = self.open.get_or_insert_with(|| Thought::new(None, holder, out));
        // Only a stream shows a text before its entry repeats it.
        if !holder.whole {
            thought.text.push_str(text);
        }
        thought.entry = entry.or(thought.entry);
        holder.grow(thought.item, 0, Part::Text(Str::escaped(text)), out);
    }

    /// The open thought if it `joins`, else a new one, which has the id of the entry.
    fn thought(
        &mut self,
        joins: impl Fn(&Thought) -> bool,
        entry: Val<'_>,
        holder: Holder,
        out: &mut Events<'_>,
    ) -> &mut Thought {
        if !self.open.as_ref().is_some_and(joins) {
            self.end(out);
        }
        self.open.get_or_insert_with(|| Thought::new(Some(entry), holder, out))
    }

    pub(super) fn end(&mut self, out: &mut Events<'_>) {
        if let Some(thought) = self.open.take() {
            out.complete(thought.item);
        }
    }

    /// A new message begins.
    pub(super) fn reset(&mut self) {
        (self.last_entry, self.states) = (None, 0);
    }

    /// State that Copilot puts beside the text of the whole message; it signs what was shown, or stands for it. Of a list,
    /// what is new: each place in a stream says again what those before it said.
    pub(super) fn beside(&mut self, state: Val<'_>, holder: Holder, out: &mut Events<'_>) {
        let Some(escaped) = state.str() else { return };
        match unpack(escaped.as_escaped()) {
            // It does not fit the text of the message, or is none: it stays where it is.
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

    fn sign(&mut self, opaque: Opaque<'_>, holder: Holder, out: &mut Events<'_>) {
        if self.open.as_ref().is_some_and(|thought| thought.signed) {
            self.end(out);
        }
        let thought = self.open.get_or_insert_with(|| Thought::new(None, holder, out));
        thought.signed = true;
        holder.grow(thought.item, 1, Part::Opaque(opaque), out);
    }

    /// A thought of a whole message with its text.
    pub(super) fn packed(
        &mut self,
        text: &str,
        state: Option<Opaque<'_>>,
        holder: Holder,
        out: &mut Events<'_>,
    ) {
        // State without a text is that of the summary before it.
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

/// A list of thoughts is claimed for the first state in it.
pub(super) fn claim_list(list: Val<'_>, thoughts: &[PackedThought<'_>]) {
    match thoughts.iter().find_map(|thought| thought.state.as_ref()) {
        Some(state) => list.take(state.kind.field()),
        None => list.note(Field::Structure),
    };
}

impl Thought {
    fn new(entry: Option<Val<'_>>, holder: Holder, out: &mut Events<'_>) -> Self {
        let mut head = holder.head(ItemKind::Reasoning, out);
        head.native_id = entry
            .filter(|entry| entry.get("id").is_some_and(|id| !id.is("")))
            .and_then(|entry| entry.take_str("id", Field::ItemId));
        Self { item: out.start(head), text: String::new(), entry: None, signed: false }
    }
}

/// State that only its issuer can read.
fn state(
    kind: OpaqueKind,
    value: Val<'_>,
    entry: Val<'_>,
    item: ItemId,
    holder: Holder,
    out: &mut Events<'_>,
) {
    let Some(value) = value.take_text(kind.field()) else { return };
    let issuer = issuer(entry);
    holder.grow(item, 1, Part::Opaque(Opaque { kind, issuer, value }), out);
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
