//! Words of a dialect for the model's own: one table each, read and written by.

use super::note_blanks;
use crate::json::Str;
use crate::ledger::Reason;
use crate::model::{Failure, FailureClass, Field, Stop, StopClass, Words};
use crate::pipe::Target;
use crate::tape::{Kind, Val};

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
    /// What a message says when the conversation is too long, where the words beside it call it an invalid request.
    pub(crate) too_long: &'static [&'static str],
}

impl ErrorWords {
    /// The type and the code of a class.
    pub(crate) fn of_class(&self, class: FailureClass) -> Option<(&'static str, Option<&'static str>)> {
        self.rows.iter().find(|(known, ..)| *known == class).map(|(_, kind, code)| (*kind, *code))
    }

    /// Reads the object that says what failed; some servers say a bare string. Its `code` may be a status, and without a
    /// code the type stands for it.
    pub(crate) fn read<'t>(&self, error: Val<'t>) -> Failure<'t> {
        note_blanks(error);
        let message = error.take_text(Field::ErrorMessage);
        let message = message.or_else(|| error.take_str("message", Field::ErrorMessage)).unwrap_or_default();
        let status = error.get("code").and_then(|code| u16::try_from(code.u64()?).ok());
        if status.is_some() {
            error.take_u64("code", Field::ErrorStatus);
        }
        let word = |name| error.get(name).filter(|word: &Val<'_>| word.kind() == Kind::String);
        let (kind, code) = (word("type"), word("code"));
        let class_of = |word: Option<Val<'_>>| word.and_then(|word| self.class(&word.str()?));
        let class = class_of(code).or(class_of(kind)).or(status.map(FailureClass::of_status));
        // A word that says its class and no more needs no place beside it.
        let only_class = |word: &Val<'_>| word.str().is_some_and(|word| self.only_says(&word, class));
        if let Some(kind) = kind.filter(|kind| code.is_some() && only_class(kind)) {
            kind.note(Field::ErrorClass);
        }
        let code = code.or(kind).and_then(|word| {
            if only_class(&word) {
                word.note(Field::ErrorClass);
                return None;
            }
            word.take_text(Field::ErrorCode)
        });
        let too_long = || self.too_long.iter().any(|words| message.decode().contains(words));
        let class = match class {
            Some(FailureClass::InvalidRequest) | None if too_long() => FailureClass::ContextTooLong,
            class => class.unwrap_or(FailureClass::Other),
        };
        Failure { class, status, code, message, request_id: None, retry_after: None }
    }

    /// The class that a type or code says.
    fn class(&self, word: &Str<'_>) -> Option<FailureClass> {
        let says = |(_, kind, code): &&(FailureClass, &str, Option<&str>)| {
            code.is_some_and(|code| word.is(code)) || word.is(kind)
        };
        // A code says more than a type that several classes share.
        let by_code = self.rows.iter().find(|(_, _, code)| code.is_some_and(|code| word.is(code)));
        let row = by_code.or_else(|| self.rows.iter().find(says));
        row.map(|(class, ..)| *class).or_else(|| self.more.value(word))
    }

    /// Whether a type or code says that class and nothing more.
    fn only_says(&self, word: &Str<'_>, class: Option<FailureClass>) -> bool {
        let mut of_class = self.rows.iter().filter(|(known, ..)| Some(*known) == class);
        of_class.any(|(_, kind, code)| word.is(kind) || code.is_some_and(|code| word.is(code)))
    }
}
