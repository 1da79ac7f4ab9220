//! Words of a dialect for the model's own: one table each, read and written by.

use crate::json::Str;
use crate::ledger::Reason;
use crate::model::{FailureClass, Field, Stop, StopClass, Words};
use crate::pipe::Target;

/// A dialect's words for why an answer stopped.
pub(crate) struct StopWords {
    /// Reasons with a word of their own; those of a natural end and of calls must be among them.
    pub(crate) words: Words<StopClass>,
    /// What is written for reasons that have none; other reasons are written as a natural end.
    pub(crate) nearest: Words<StopClass>,
}

/// What an answer turned out to hold, where its stop reason depends on it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct AnswerFacts {
    /// It made calls.
    pub(crate) calls: bool,
    /// It says in a place of its own that the model declines.
    pub(crate) refused: bool,
}

impl StopWords {
    /// Our word for theirs.
    pub(crate) fn class(&self, word: &Str<'_>) -> StopClass {
        self.words.value(word).unwrap_or(StopClass::Other)
    }

    /// Why it stopped, read from their word.
    pub(crate) fn stop<'t>(&self, raw: Str<'t>, sequence: Option<Str<'t>>) -> Stop<'t> {
        Stop { class: self.class(&raw), raw: Some(raw), sequence, detail: None }
    }

    /// Their word for why it stopped; a word that says less is booked.
    pub(crate) fn word(
        &self,
        stop: Option<&Stop<'_>>,
        facts: AnswerFacts,
        out: &mut Target<'_>,
    ) -> &'static str {
        // Whoever made calls waits for their results, whatever the source called it.
        let natural = if facts.calls { StopClass::ToolUse } else { StopClass::End };
        let natural = self.words.word(natural).unwrap_or_default();
        let Some(stop) = stop else { return natural };
        let exact = match stop.class {
            StopClass::End => Some(natural),
            StopClass::ToolUse => Some(natural).filter(|_| facts.calls),
            class => self.words.word(class),
        };
        // A refusal that stands apart says so itself.
        let exact =
            exact.or_else(|| Some(natural).filter(|_| stop.class == StopClass::Refusal && facts.refused));
        if exact.is_none() {
            out.lose_some(Field::StopReason, stop.raw.as_ref(), Reason::Narrowed);
        }
        exact.or_else(|| self.nearest.word(stop.class)).unwrap_or(natural)
    }
}

/// A dialect's words for what failed.
pub(crate) struct ErrorWords {
    /// For each class its type and, where the dialect has codes, its code. The first row of a class is written.
    pub(crate) rows: &'static [(FailureClass, &'static str, Option<&'static str>)],
    /// More words that say a class, and something beside it.
    pub(crate) more: Words<FailureClass>,
}

impl ErrorWords {
    /// The type and the code of a class.
    pub(crate) fn of_class(&self, class: FailureClass) -> Option<(&'static str, Option<&'static str>)> {
        self.rows.iter().find(|(known, ..)| *known == class).map(|(_, kind, code)| (*kind, *code))
    }

    /// The class that a type or code says.
    pub(crate) fn class(&self, word: &Str<'_>) -> Option<FailureClass> {
        let says = |(_, kind, code): &&(FailureClass, &str, Option<&str>)| {
            code.is_some_and(|code| word.is(code)) || word.is(kind)
        };
        // A code says more than a type that several classes share.
        let by_code = self.rows.iter().find(|(_, _, code)| code.is_some_and(|code| word.is(code)));
        let row = by_code.or_else(|| self.rows.iter().find(says));
        row.map(|(class, ..)| *class).or_else(|| self.more.value(word))
    }

    /// Whether a type or code says that class and nothing more.
    pub(crate) fn only_says(&self, word: &Str<'_>, class: Option<FailureClass>) -> bool {
        let mut of_class = self.rows.iter().filter(|(known, ..)| Some(*known) == class);
        of_class.any(|(_, kind, code)| word.is(kind) || code.is_some_and(|code| word.is(code)))
    }
}
