//! What a writer writes to: the bytes, and the books in which it gives up what it cannot say.

use crate::json::{JsonWriter, Raw, Str};
use crate::ledger::{Ledger, Reason};
use crate::model::{EachField, Event, Field, Of, Part, Show, Value};
use crate::tape::{Tape, Val};

/// What a writer writes to.
#[derive(Debug)]
pub struct Target<'o> {
    /// The bytes.
    pub json: JsonWriter<'o>,
    /// The books.
    pub ledger: &'o mut Ledger,
    /// The frame whose events are being written.
    pub(super) frame: Option<&'o Tape<'o>>,
    /// They had to wait, and their frames are gone.
    pub(super) late: bool,
}

impl<'o> Target<'o> {
    pub(super) const fn new(json: JsonWriter<'o>, ledger: &'o mut Ledger) -> Self {
        Self { json, ledger, frame: None, late: false }
    }
}

impl Target<'_> {
    pub(super) fn reborrow(&mut self) -> Target<'_> {
        Target { json: self.json.reborrow(), ledger: self.ledger, frame: self.frame, late: self.late }
    }

    /// The same books, but the bytes go elsewhere.
    pub(crate) fn redirected<'s>(&'s mut self, json: JsonWriter<'s>) -> Target<'s> {
        Target { json, ledger: self.ledger, frame: self.frame, late: self.late }
    }

    /// The same output for events that had to wait: what is lost of them stood in frames that are gone.
    pub(crate) fn of_earlier_frames(&mut self) -> Target<'_> {
        Target { frame: None, late: true, ..self.reborrow() }
    }

    /// Gives up a value that has no text of its own (a flag, a number, one of our words). One that no leaf said is no
    /// loss.
    pub fn lose(&mut self, field: Field, reason: Reason) {
        if let Some(leaf) = self.frame.and_then(|frame| frame.claimed_for(field).next()) {
            leaf.unsaid(reason);
        } else if self.late {
            self.ledger.lose_late(field, reason, 1, 0);
        }
    }

    /// Gives up a number that a leaf said, of this frame or of an earlier one.
    pub(crate) fn lose_number(&mut self, field: Field, number: u64, reason: Reason) {
        match self.frame.and_then(|frame| frame.claimed_for(field).next()) {
            Some(leaf) => leaf.unsaid(reason),
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
        let summed_up = self.frame.is_some_and(|frame| frame.claimed_for(Field::ReasoningSummary).any(is_it));
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

    /// Gives up all that a value of the model says.
    pub(crate) fn lose_all<T: EachField + Clone>(&mut self, said: &T, reason: Reason) {
        self.lose_fields(&mut |show| said.clone().each_field(show), reason);
    }

    /// Gives up an event with all it says. `of` is the kind of the item that a piece belongs to.
    pub fn lose_event(&mut self, of: Of, event: &Event<'_>, reason: Reason) {
        self.lose_fields(&mut |show| event.clone().each_field(of, show), reason);
    }

    fn lose_fields(&mut self, each: &mut dyn FnMut(&mut Show<'_>), reason: Reason) {
        each(&mut |field, value| match value.source() {
            Some(_) => self.lose_source(field, value, reason),
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
            let alike = || frame.claimed_for(field).find(same);
            // What was not copied is of this frame even if it reads otherwise there, as a format that we call a type.
            let last = || frame.claimed_for(field).next().filter(|_| !value.is_copy());
            frame.value_at(text).or_else(alike).or_else(last)
        });
        match found {
            Some(leaf) if leaf.claimed().field() == Some(field) => leaf.unsaid(reason),
            // Nobody claimed it, or for another field, and so it is booked.
            Some(_) => {}
            // One of our own words, such as the issuer of a dialect's state: nobody's leaf.
            None if self.frame.is_some() && !value.is_copy() => {}
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
