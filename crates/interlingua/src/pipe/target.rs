//! A writer's output: the JSON buffer, and the ledger it reports losses to.

use super::ReadPlace;
use crate::json::{JsonWriter, Raw, Str};
use crate::ledger::{Ledger, Reason};
use crate::model::{EachField, Event, Field, Fields, ItemKindTag, Part, Show, Value};
use crate::tape::{ListElement, Tape, TapePlace, Val};

/// A writer's output buffer and the ledger it reports losses to.
#[derive(Debug)]
#[cfg_attr(not(feature = "_exhaustive"), non_exhaustive)]
pub struct WriterOutput<'o> {
    /// The JSON output.
    pub json: JsonWriter<'o>,
    /// The ledger.
    pub ledger: &'o mut Ledger,
    /// The frame whose events are being written.
    pub(super) frame: Option<&'o Tape<'o>>,
    /// Where in the frame the current event was read.
    pub(super) place: TapePlace,
    /// The events were held back, and their frames are gone.
    pub(super) late: bool,
    /// The events were synthesized by us: no leaf of the source holds their values.
    pub(super) made_up: bool,
    /// The events are those of a client, not of the agent that is read.
    pub(super) from_client: bool,
}

impl<'o> WriterOutput<'o> {
    pub(super) const fn new(json: JsonWriter<'o>, ledger: &'o mut Ledger) -> Self {
        Self {
            json,
            ledger,
            frame: None,
            place: TapePlace::FRAME,
            late: false,
            made_up: false,
            from_client: false,
        }
    }
}

impl WriterOutput<'_> {
    /// The length of the frame whose events are being written.
    pub(crate) fn frame_length(&self) -> usize {
        self.frame.map_or(0, |frame| frame.text().len())
    }

    pub(crate) fn reborrow(&mut self) -> WriterOutput<'_> {
        let Self { frame, place, late, made_up, from_client, .. } = *self;
        WriterOutput {
            json: self.json.reborrow(),
            ledger: self.ledger,
            frame,
            place,
            late,
            made_up,
            from_client,
        }
    }

    /// The same ledger with another JSON output.
    pub(crate) fn redirected<'s>(&'s mut self, json: JsonWriter<'s>) -> WriterOutput<'s> {
        let Self { frame, place, late, made_up, from_client, .. } = *self;
        WriterOutput { json, ledger: self.ledger, frame, place, late, made_up, from_client }
    }

    /// The same output for events that were held back. Their frames are gone, so their losses have no leaf.
    pub(crate) fn of_earlier_frames(&mut self) -> WriterOutput<'_> {
        WriterOutput { frame: None, late: true, ..self.reborrow() }
    }

    /// The same output for events that no frame of the source holds. Their values cannot be lost.
    pub(crate) fn of_no_frame(&mut self) -> WriterOutput<'_> {
        WriterOutput { frame: None, late: false, made_up: true, ..self.reborrow() }
    }

    /// Ends the output of a session: the next bytes are a log or a document of their own.
    pub(crate) fn end_session(&mut self, remark: &'static str) {
        self.ledger.note(remark);
        let position = self.json.total();
        self.ledger.further_session(position);
    }

    /// Where the current event was read.
    pub(crate) fn read_place(&self) -> ReadPlace {
        ReadPlace { frame: self.ledger.frame_number(), place: self.place }
    }

    /// The same output for a value read at `read`; `None` if the frame of the value is gone.
    pub(crate) fn at(&mut self, read: ReadPlace) -> Option<WriterOutput<'_>> {
        let is_here = read.frame == self.ledger.frame_number();
        is_here.then(|| WriterOutput { place: read.place, ..self.reborrow() })
    }

    /// The same output for events of a client.
    pub(super) fn of_client(&mut self) -> WriterOutput<'_> {
        WriterOutput { from_client: true, ..self.of_no_frame() }
    }

    /// Whether the events are those of a client, not of the agent that is read.
    pub(crate) const fn is_from_client(&self) -> bool {
        self.from_client
    }

    /// Whether no leaf of the source is claimed for the events at hand.
    pub(crate) const fn is_made_up(&self) -> bool {
        self.made_up
    }

    /// Books the loss of a value without a text in the source (a flag, a number, a word of the model). A value that no leaf
    /// holds is not a loss.
    pub fn lose(&mut self, field: Field, reason: Reason) {
        if let Some(leaf) = self.frame.and_then(|frame| frame.claimed_for(field, self.place).next()) {
            leaf.unsaid(reason);
        } else if self.late {
            self.ledger.lose_late(field, reason, 1, 0);
        }
    }

    /// Books the loss of a number that a leaf holds, in this frame or in an earlier one.
    pub(crate) fn lose_number(&mut self, field: Field, number: u64, reason: Reason) {
        match self.frame.and_then(|frame| frame.claimed_for(field, self.place).next()) {
            Some(leaf) => leaf.unsaid(reason),
            None if self.made_up => {}
            None => self.ledger.lose_late(field, reason, 1, digits(number)),
        }
    }

    /// Whether a leaf of this frame is claimed for a field.
    pub(crate) fn has_leaf(&self, field: Field) -> bool {
        self.frame.is_some_and(|frame| frame.claimed_for(field, self.place).next().is_some())
    }

    /// Books the loss of every leaf of this frame that is claimed for a field.
    pub(crate) fn lose_leaves(&mut self, field: Field, reason: Reason) {
        if let Some(frame) = self.frame {
            frame.claimed_for(field, self.place).for_each(|leaf| leaf.unsaid(reason));
        }
    }

    /// Books the loss of a text.
    pub fn lose_str(&mut self, field: Field, text: &Str<'_>, reason: Reason) {
        self.lose_source(field, text, reason);
    }

    /// Books the loss of a text, if there is a text.
    pub fn lose_some(&mut self, field: Field, text: Option<&Str<'_>>, reason: Reason) {
        if let Some(text) = text {
            self.lose_str(field, text, reason);
        }
    }

    /// Books the loss of a reasoning text: the reasoning itself, or a summary.
    pub(crate) fn lose_thought(&mut self, text: &Str<'_>, reason: Reason) {
        let is_it = |leaf: Val<'_>| leaf.str().is_some_and(|own| own.as_escaped() == text.as_escaped());
        let is_summary = |frame: &Tape<'_>| frame.claimed_for(Field::ReasoningSummary, self.place).any(is_it);
        let summed_up = self.frame.is_some_and(is_summary);
        let field = if summed_up { Field::ReasoningSummary } else { Field::ReasoningText };
        self.lose_str(field, text, reason);
    }

    /// Books the loss of a JSON value.
    pub fn lose_raw(&mut self, field: Field, json: &Raw<'_>, reason: Reason) {
        self.lose_source(field, json, reason);
    }

    /// Books the loss of a part of an item.
    pub fn lose_part(&mut self, of: ItemKindTag, part: &Part<'_>, reason: Reason) {
        self.lose_fields(&mut |show| part.clone().each_field(of, show), reason);
    }

    /// Books the loss of all fields of an object of a list, such as a tool. The leaves are searched in the list element that
    /// the object was read from, never in its neighbours. A value that no leaf of the element holds is not a loss.
    pub(crate) fn lose_all<T: EachField + Clone>(&mut self, said: &T, reason: Reason) {
        let Some(element) = self.element_of(said) else {
            return self.lose_fields(&mut |show| said.clone().each_field(show), reason);
        };
        let mut sourced = Fields::NONE;
        said.clone().each_field(&mut |field, value| {
            let text = value.source();
            let own = text.and_then(|text| self.frame?.value_at(text));
            if let Some(leaf) = own.filter(|leaf| leaf.claimed().field() == Some(field)) {
                sourced.add(field);
                leaf.unsaid(reason);
            } else if !sourced.has(field) {
                element.claimed_for(field).for_each(|leaf| leaf.unsaid(reason));
            }
        });
    }

    /// Books the loss of a value without a text in the source (a flag, a word of the model) of an object of a list, such as
    /// a tool.
    pub(crate) fn lose_of<T: EachField + Clone>(&mut self, object: &T, field: Field, reason: Reason) {
        match self.element_of(object) {
            Some(element) => element.claimed_for(field).for_each(|leaf| leaf.unsaid(reason)),
            None => self.lose(field, reason),
        }
    }

    /// The element of a list that an object was read from, if any of its texts is a leaf of the frame.
    fn element_of<T: EachField + Clone>(&self, object: &T) -> Option<ListElement<'_>> {
        let frame = self.frame?;
        let mut found = None;
        object.clone().each_field(&mut |_, value| {
            let text = value.source().filter(|_| found.is_none());
            found = text.and_then(|text| frame.value_at(text)).or(found);
        });
        found.map(Val::element)
    }

    /// Books the loss of all fields of an event. `of` is the kind of the item that a delta belongs to.
    pub fn lose_event(&mut self, of: ItemKindTag, event: &Event<'_>, reason: Reason) {
        self.lose_fields(&mut |show| event.clone().each_field(of, show), reason);
    }

    fn lose_fields(&mut self, each: &mut dyn FnMut(&mut Show<'_>), reason: Reason) {
        let mut sourced = Fields::NONE;
        each(&mut |field, value| {
            if value.source().is_some() {
                sourced.add(field);
            }
        });
        // A class and the vendor's word it was parsed from are the same leaf.
        each(&mut |field, value| match value.source() {
            Some(_) => self.lose_source(field, value, reason),
            None if sourced.has(field) => {}
            None => self.lose(field, reason),
        });
    }

    /// Marks the leaf that a value was read from as lost. If the frame of the value is gone, the loss is booked under the name
    /// of the field.
    fn lose_source(&mut self, field: Field, value: &dyn Value, reason: Reason) {
        let text = value.source().unwrap_or_default();
        let found = self.frame.and_then(|frame| {
            // A copied text has another address than its leaf, so the leaf is found by an equal text.
            let same = |leaf: &Val<'_>| {
                leaf.text() == text
                    || leaf.str().is_some_and(|own| own.as_escaped() == text || own.decode() == text)
            };
            let alike = || frame.claimed_for(field, self.place).find(same);
            // A borrowed value is from this frame even if its leaf has another spelling: a schema `format` becomes a type.
            let last = || frame.claimed_for(field, self.place).next().filter(|_| !value.is_copy());
            // A class and a copy of its word are the same leaf, which may be marked as lost already.
            let again = || frame.given_up_for(field, self.place).find(same);
            frame.value_at(text).or_else(alike).or_else(again).or_else(last)
        });
        match found {
            Some(leaf) if leaf.claimed().field() == Some(field) => leaf.unsaid(reason),
            // The leaf is unclaimed or claimed for another field, so the ledger books it without our mark.
            Some(_) => {}
            // A word of the model, such as the issuer of opaque state, has no leaf.
            None if self.made_up || self.frame.is_some() && !value.is_copy() => {}
            None => self.ledger.lose_late(field, reason, value.leaves(), text.len() as u64),
        }
    }
}

/// The number of digits of a number.
pub(crate) const fn digits(number: u64) -> u64 {
    match number.checked_ilog10() {
        Some(log) => log as u64 + 1,
        None => 1,
    }
}
