//! What a writer writes to: the bytes, and the books in which it gives up what it cannot say.

use super::ReadPlace;
use crate::json::{JsonWriter, Raw, Str};
use crate::ledger::{Ledger, Reason};
use crate::model::{EachField, Event, Field, Fields, Of, Part, Show, Value};
use crate::tape::{ListElement, Tape, TapePlace, Val};

/// What a writer writes to.
#[derive(Debug)]
pub struct Target<'o> {
    /// The bytes.
    pub json: JsonWriter<'o>,
    /// The books.
    pub ledger: &'o mut Ledger,
    /// The frame whose events are being written.
    pub(super) frame: Option<&'o Tape<'o>>,
    /// Where in the frame the current event was read.
    pub(super) place: TapePlace,
    /// They had to wait, and their frames are gone.
    pub(super) late: bool,
    /// They are ours: no leaf of the source holds what is lost of them.
    pub(super) made_up: bool,
}

impl<'o> Target<'o> {
    pub(super) const fn new(json: JsonWriter<'o>, ledger: &'o mut Ledger) -> Self {
        Self { json, ledger, frame: None, place: TapePlace::FRAME, late: false, made_up: false }
    }
}

impl Target<'_> {
    /// The length of the frame whose events are being written.
    pub(crate) fn frame_length(&self) -> usize {
        self.frame.map_or(0, |frame| frame.text().len())
    }

    pub(crate) fn reborrow(&mut self) -> Target<'_> {
        let Self { frame, place, late, made_up, .. } = *self;
        Target { json: self.json.reborrow(), ledger: self.ledger, frame, place, late, made_up }
    }

    /// The same books, but the bytes go elsewhere.
    pub(crate) fn redirected<'s>(&'s mut self, json: JsonWriter<'s>) -> Target<'s> {
        let Self { frame, place, late, made_up, .. } = *self;
        Target { json, ledger: self.ledger, frame, place, late, made_up }
    }

    /// The same output, which passes no bytes on: see [`JsonWriter::without_spilling`].
    pub(crate) fn without_spilling(&mut self) -> Target<'_> {
        let Self { frame, place, late, made_up, .. } = *self;
        Target { json: self.json.without_spilling(), ledger: self.ledger, frame, place, late, made_up }
    }

    /// The same output for events that had to wait: what is lost of them stood in frames that are gone.
    pub(crate) fn of_earlier_frames(&mut self) -> Target<'_> {
        Target { frame: None, late: true, ..self.reborrow() }
    }

    /// The same output for events that no frame of the source holds: nothing is lost of them.
    pub(crate) fn of_no_frame(&mut self) -> Target<'_> {
        Target { frame: None, late: false, made_up: true, ..self.reborrow() }
    }

    /// Where the current event was read.
    pub(crate) fn read_place(&self) -> ReadPlace {
        ReadPlace { frame: self.ledger.frame_number(), place: self.place }
    }

    /// The same output for a value that was read at that place. There is none if its frame is gone.
    pub(crate) fn at(&mut self, read: ReadPlace) -> Option<Target<'_>> {
        let is_here = read.frame == self.ledger.frame_number();
        is_here.then(|| Target { place: read.place, ..self.reborrow() })
    }

    /// Whether no leaf of the source is claimed for the events at hand.
    pub(crate) const fn is_made_up(&self) -> bool {
        self.made_up
    }

    /// Gives up a value that has no text of its own (a flag, a number, one of our words). One that no leaf said is no
    /// loss.
    pub fn lose(&mut self, field: Field, reason: Reason) {
        if let Some(leaf) = self.frame.and_then(|frame| frame.claimed_for(field, self.place).next()) {
            leaf.unsaid(reason);
        } else if self.late {
            self.ledger.lose_late(field, reason, 1, 0);
        }
    }

    /// Gives up a number that a leaf said, of this frame or of an earlier one.
    pub(crate) fn lose_number(&mut self, field: Field, number: u64, reason: Reason) {
        match self.frame.and_then(|frame| frame.claimed_for(field, self.place).next()) {
            Some(leaf) => leaf.unsaid(reason),
            None if self.made_up => {}
            None => self.ledger.lose_late(field, reason, 1, digits(number)),
        }
    }

    /// Gives up a text.
    pub fn lose_str(&mut self, field: Field, text: &Str<'_>, reason: Reason) {
        self.lose_source(field, text, reason);
    }

    /// Gives up a text, if there is one.
    pub fn lose_some(&mut self, field: Field, text: Option<&Str<'_>>, reason: Reason) {
        if let Some(text) = text {
            self.lose_str(field, text, reason);
        }
    }

    /// Gives up a text of reasoning: what was thought, or a summary of it.
    pub(crate) fn lose_thought(&mut self, text: &Str<'_>, reason: Reason) {
        let is_it = |leaf: Val<'_>| leaf.str().is_some_and(|own| own.as_escaped() == text.as_escaped());
        let is_summary = |frame: &Tape<'_>| frame.claimed_for(Field::ReasoningSummary, self.place).any(is_it);
        let summed_up = self.frame.is_some_and(is_summary);
        let field = if summed_up { Field::ReasoningSummary } else { Field::ReasoningText };
        self.lose_str(field, text, reason);
    }

    /// Gives up a JSON value.
    pub fn lose_raw(&mut self, field: Field, json: &Raw<'_>, reason: Reason) {
        self.lose_source(field, json, reason);
    }

    /// Gives up a part of an item.
    pub fn lose_part(&mut self, of: Of, part: &Part<'_>, reason: Reason) {
        self.lose_fields(&mut |show| part.clone().each_field(of, show), reason);
    }

    /// Gives up all that an object of a list says, such as a tool. Its values are looked up in the element of the list that
    /// it was read from: a value that no leaf of the element says is no loss, whatever its neighbours say.
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

    /// Gives up a value without a text of its own (a flag, one of our words) of an object of a list, such as a tool.
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

    /// Gives up an event with all it says. `of` is the kind of the item that a piece belongs to.
    pub fn lose_event(&mut self, of: Of, event: &Event<'_>, reason: Reason) {
        self.lose_fields(&mut |show| event.clone().each_field(of, show), reason);
    }

    fn lose_fields(&mut self, each: &mut dyn FnMut(&mut Show<'_>), reason: Reason) {
        let mut sourced = Fields::NONE;
        each(&mut |field, value| {
            if value.source().is_some() {
                sourced.add(field);
            }
        });
        // A class and the word that it was read from are one leaf.
        each(&mut |field, value| match value.source() {
            Some(_) => self.lose_source(field, value, reason),
            None if sourced.has(field) => {}
            None => self.lose(field, reason),
        });
    }

    /// Marks the leaf that a value was read from; if its frame is gone, its leaves are lost in the field's name.
    fn lose_source(&mut self, field: Field, value: &dyn Value, reason: Reason) {
        let text = value.source().unwrap_or_default();
        let found = self.frame.and_then(|frame| {
            // A copy of a leaf's text has no address; it is known by what it says.
            let same = |leaf: &Val<'_>| {
                leaf.text() == text
                    || leaf.str().is_some_and(|own| own.as_escaped() == text || own.decode() == text)
            };
            let alike = || frame.claimed_for(field, self.place).find(same);
            // What was not copied is of this frame even if it reads otherwise there, as a format that we call a type.
            let last = || frame.claimed_for(field, self.place).next().filter(|_| !value.is_copy());
            // A class and a copy of its word are one leaf, which may be given up already.
            let again = || frame.given_up_for(field, self.place).find(same);
            frame.value_at(text).or_else(alike).or_else(again).or_else(last)
        });
        match found {
            Some(leaf) if leaf.claimed().field() == Some(field) => leaf.unsaid(reason),
            // Nobody claimed it, or for another field, and so it is booked.
            Some(_) => {}
            // One of our own words, such as the issuer of a dialect's state: nobody's leaf.
            None if self.made_up || self.frame.is_some() && !value.is_copy() => {}
            None => self.ledger.lose_late(field, reason, value.leaves(), text.len() as u64),
        }
    }
}

/// How many digits a number has.
pub(crate) const fn digits(number: u64) -> u64 {
    match number.checked_ilog10() {
        Some(log) => log as u64 + 1,
        None => 1,
    }
}
