//! Collects an assistant message as a list of parts. State is attached to its part when all parts are known.

use std::collections::HashMap;

use super::super::parts::carried;
use super::citations::{AnswerSoFar, Grounding};
use crate::json::{JsonBuffer, JsonWriter, Str};
use crate::ledger::Ledger;
use crate::model::{Args, Citation, Opaque, issuers};
use crate::pipe::WriterOutput;
use crate::wire::arguments::ArgumentObject;
use crate::wire::assistant::{AssistantForm, CallOpening, Growth, Opening};

/// A list of whole parts.
#[derive(Default)]
pub(super) struct PartList {
    /// The list of parts, without their state.
    bytes: JsonBuffer,
    parts: Vec<WrittenPart>,
    states: Vec<HeldState>,
    open: OpenPart,
    arguments: ArgumentObject,
    /// Ids and names of the calls.
    pub(super) calls: CallNames,
    /// Whether citations are written: only responses hold citations.
    pub(super) cites: bool,
    said: AnswerSoFar,
    grounding: Grounding,
}

/// The names of calls, by id.
#[derive(Default)]
pub(super) struct CallNames {
    /// The concatenated ids and names of all calls.
    text: String,
    /// The end of each call's id and of its name in the text.
    ends: Vec<(usize, usize)>,
    /// The index of the next expected call, if results are in the order of their calls.
    next: usize,
    /// The index of calls that were looked up out of order.
    by_id: HashMap<String, usize>,
    /// The number of calls in `by_id`.
    listed: usize,
}

impl CallNames {
    fn add(&mut self, id: &Str<'_>, name: &Str<'_>) {
        self.text.push_str(id.as_escaped());
        let id_ends = self.text.len();
        self.text.push_str(name.as_escaped());
        self.ends.push((id_ends, self.text.len()));
    }

    /// The id and name of the call at this index.
    fn call(&self, at: usize) -> Option<(&str, &str)> {
        let (id_ends, ends) = *self.ends.get(at)?;
        let begins = at.checked_sub(1).and_then(|before| self.ends.get(before)).map_or(0, |(_, end)| *end);
        Some((self.text.get(begins..id_ends)?, self.text.get(id_ends..ends)?))
    }

    /// The name of the first call with this id.
    pub(super) fn of(&mut self, id: &str) -> &str {
        let at = if self.call(self.next).is_some_and(|(known, _)| known == id) {
            Some(self.next)
        } else {
            for at in self.listed..self.ends.len() {
                let id = self.call(at).map_or("", |(id, _)| id).to_owned();
                self.by_id.entry(id).or_insert(at);
            }
            self.listed = self.ends.len();
            self.by_id.get(id).copied()
        };
        self.next = at.map_or(self.next, |at| at + 1);
        at.and_then(|at| self.call(at)).map_or("", |(_, name)| name)
    }

    pub(super) fn clear(&mut self) {
        self.text.clear();
        self.ends.clear();
        self.by_id.clear();
        (self.next, self.listed) = (0, 0);
    }
}

/// A part that is written without its state.
struct WrittenPart {
    /// The byte offset of the closing brace.
    end: usize,
    sort: PartSort,
    state: Option<String>,
}

/// Opaque state, to be attached to the following part.
struct HeldState {
    /// The number of parts written before the state.
    place: usize,
    state: String,
    /// Whether the state is another issuer's. Its order must be preserved; Google's own state may already have lost its
    /// order at a client without ordered parts.
    foreign: bool,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum PartSort {
    #[default]
    Text,
    Call,
    Thought,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum OpenPart {
    #[default]
    Nothing,
    /// A text with an open string.
    Text(PartSort),
    Call,
}

impl AssistantForm for PartList {
    fn cites(&self, citation: &Citation<'_>) -> bool {
        self.cites && citation.source.is_some()
    }

    fn open(&mut self, opening: Opening<'_>, _: &mut WriterOutput<'_>) {
        self.open = match opening {
            Opening::Text(..) => {
                self.said.open();
                self.bytes.hold().up_to_value(r#"{"text":"#).open_string();
                OpenPart::Text(PartSort::Text)
            }
            Opening::Thinking => {
                self.bytes.hold().up_to_value(r#"{"thought":true,"text":"#).open_string();
                OpenPart::Text(PartSort::Thought)
            }
            Opening::Encrypted(opaque) => {
                let foreign = !opaque.is_of(issuers::GOOGLE);
                let state = carried(opaque).as_escaped().to_owned();
                self.states.push(HeldState { place: self.parts.len(), state, foreign });
                OpenPart::Nothing
            }
            Opening::Call(CallOpening { id, name, .. }) => {
                self.bytes.hold().up_to_value(r#"{"functionCall":{"id":"#).str(id).key("name").str(name);
                self.calls.add(id, name);
                OpenPart::Call
            }
        };
    }

    fn grow(&mut self, growth: Growth<'_>, out: &mut WriterOutput<'_>) {
        match growth {
            // The API has no separate refusals.
            Growth::Text(text) | Growth::Refusal(text) => {
                if self.cites {
                    self.said.add(text);
                }
                self.bytes.hold().piece(text);
            }
            Growth::Thinking(text) => _ = self.bytes.hold().piece(text),
            Growth::Signature(opaque) => {
                self.end_part(PartSort::Thought, Some(opaque));
                self.open = OpenPart::Nothing;
            }
            Growth::Arguments(args) => self.arguments.add(args),
            Growth::Citation(citation) => {
                self.grounding.add(citation, &mut self.said, out);
            }
            // The API has no cache marks (see the profile).
            Growth::Cache(_) => {}
        }
    }

    fn close(&mut self, out: &mut WriterOutput<'_>) {
        match std::mem::take(&mut self.open) {
            OpenPart::Nothing => {}
            OpenPart::Text(sort) => self.end_part(sort, None),
            OpenPart::Call => {
                let mut json = self.bytes.hold();
                json.key("args");
                self.arguments.write(&mut json, out.ledger);
                json.end_object();
                self.push_part(PartSort::Call, None);
            }
        }
    }
}

impl PartList {
    pub(super) fn answer() -> Self {
        Self { cites: true, ..Self::default() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.parts.is_empty() && self.states.is_empty()
    }

    /// The index of the first call; [`PartList::write`] returns the position of its missing state.
    fn first_call(&self) -> Option<usize> {
        self.parts.iter().position(|part| part.sort == PartSort::Call)
    }

    /// Ends a part with an open string.
    fn end_part(&mut self, sort: PartSort, state: Option<&Opaque<'_>>) {
        self.bytes.hold().close_string();
        self.push_part(sort, state.map(|opaque| carried(opaque).as_escaped().to_owned()));
    }

    fn push_part(&mut self, sort: PartSort, state: Option<String>) {
        self.parts.push(WrittenPart { end: self.bytes.bytes().len(), sort, state });
        self.bytes.hold().end_object();
    }

    /// Attaches state to its parts: each state to the following text or call, and several adjacent states to
    /// consecutive parts. A state without a part, or with a thought before its part, gets an empty text part.
    ///
    /// A client that stores a message's state apart from its parts returns the state first. If calls require state, the
    /// last state before the first call moves to that call.
    fn place_states(&mut self, calls_need: bool, ledger: &mut Ledger) -> Vec<(usize, String)> {
        let mut lone = Vec::new();
        if self.states.is_empty() {
            return lone;
        }
        let mut waiting = std::collections::VecDeque::new();
        let mut states = std::mem::take(&mut self.states).into_iter().peekable();
        for (at, part) in self.parts.iter_mut().enumerate() {
            let mut direct: Vec<HeldState> = Vec::new();
            while let Some(state) = states.next_if(|state| state.place <= at) {
                direct.push(state);
            }
            if part.sort == PartSort::Thought {
                lone.extend(
                    waiting.drain(..).chain(direct.into_iter().map(|held| held.state)).map(|held| (at, held)),
                );
                continue;
            }
            if direct.iter().any(|held| held.foreign) {
                // The last state belongs to this part; earlier states keep their order.
                let own = direct.pop();
                lone.extend(
                    waiting.drain(..).chain(direct.into_iter().map(|held| held.state)).map(|held| (at, held)),
                );
                part.state = own.map(|held| held.state);
                continue;
            }
            let mut direct = direct.into_iter().map(|held| held.state);
            part.state = direct.next().or_else(|| waiting.pop_front());
            waiting.extend(direct);
        }
        let behind = self.parts.len();
        lone.extend(waiting.into_iter().chain(states.map(|held| held.state)).map(|state| (behind, state)));
        if let Some(call) = self.first_call().filter(|_| calls_need)
            && self.parts.get(call).is_some_and(|part| part.state.is_none())
            && let Some(before) = (0..call).rev().find(|at| {
                self.parts.get(*at).is_some_and(|part| part.sort == PartSort::Text && part.state.is_some())
            })
        {
            ledger.note("state of a turn put on its first call, which needs it");
            let state = self.parts.get_mut(before).and_then(|part| part.state.take());
            if let Some(call) = self.parts.get_mut(call) {
                call.state = state;
            }
        }
        lone
    }

    /// Writes the parts into an open list and clears them. If calls require state and the first call has none, returns
    /// the byte offset at which the state must be inserted.
    pub(super) fn write(
        &mut self,
        calls_need: bool,
        json: &mut JsonWriter<'_>,
        ledger: &mut Ledger,
    ) -> Option<u64> {
        let lone = self.place_states(calls_need, ledger);
        let bytes = self.bytes.bytes();
        let gap = if !calls_need && lone.is_empty() && self.parts.iter().all(|part| part.state.is_none()) {
            if !bytes.is_empty() {
                json.values(bytes);
            }
            None
        } else {
            self.write_with_states(lone, calls_need, json)
        };
        self.bytes.clear();
        self.parts.clear();
        gap
    }

    /// Writes every part separately, with its state.
    fn write_with_states(
        &self,
        lone: Vec<(usize, String)>,
        calls_need: bool,
        json: &mut JsonWriter<'_>,
    ) -> Option<u64> {
        let first_call = self.first_call().filter(|_| calls_need);
        let (mut lone, mut begins, mut gap) = (lone.into_iter().peekable(), 0, None);
        let bytes = self.bytes.bytes();
        for (at, part) in self.parts.iter().enumerate() {
            while let Some((_, state)) = lone.next_if(|(place, _)| *place <= at) {
                write_lone(&state, json);
            }
            json.begin_raw();
            let own = bytes.get(begins..part.end).unwrap_or_default();
            json.bytes(own.strip_prefix(b",").unwrap_or(own));
            match &part.state {
                Some(state) => _ = json.key(STATE).literal(state),
                None if first_call == Some(at) => gap = Some(json.total()),
                None => {}
            }
            json.end_object();
            // The closing brace has been written.
            begins = part.end + 1;
        }
        for (_, state) in lone {
            write_lone(&state, json);
        }
        gap
    }

    /// `"groundingMetadata":{…}`, if there are citations.
    pub(super) fn write_grounding(&mut self, json: &mut JsonWriter<'_>) {
        self.grounding.write(json);
    }
}

/// The member that holds state.
pub(super) const STATE: &str = "thoughtSignature";

fn write_lone(state: &str, json: &mut JsonWriter<'_>) {
    json.up_to_value(r#"{"text":"","thoughtSignature":"#).literal(state).end_object();
}

/// A call whose arguments are collected until it is complete.
#[derive(Default)]
pub(super) struct GatheredCall {
    id: String,
    name: String,
    arguments: ArgumentObject,
}

impl GatheredCall {
    pub(super) fn begin(&mut self, call: &CallOpening<'_>) {
        call.id.as_escaped().clone_into(&mut self.id);
        call.name.as_escaped().clone_into(&mut self.name);
    }

    pub(super) fn add(&mut self, args: &Args<'_>) {
        self.arguments.add(args);
    }

    /// `"functionCall":{…}`
    pub(super) fn write(&mut self, json: &mut JsonWriter<'_>, ledger: &mut Ledger) {
        json.key("functionCall").object().key("id").str(&Str::escaped(&self.id));
        json.key("name").str(&Str::escaped(&self.name)).key("args");
        self.arguments.write(json, ledger);
        json.end_object();
    }
}
