//! Turns of a request: calls paired with their results, and the destination of each item's pieces.

use std::collections::{HashMap, VecDeque};

use crate::json::Str;
use crate::ledger::Ledger;
use crate::model::{Author, ItemKindTag};

/// The destination of an open item's pieces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Destination {
    /// A message of the user.
    User {
        /// Calls waited for their results when the message began.
        waited: bool,
    },
    /// A message of the system, or of a developer.
    System {
        /// The author: system or developer.
        author: Author,
        /// A developer's message became a system message.
        narrowed: bool,
    },
    /// The assistant's turn.
    Assistant,
    /// A result of a call.
    Result,
}

impl Destination {
    /// The kind of item that the pieces belong to.
    pub(crate) const fn of(self) -> ItemKindTag {
        match self {
            Destination::User { .. } | Destination::System { .. } | Destination::Assistant => {
                ItemKindTag::Message
            }
            Destination::Result => ItemKindTag::Result,
        }
    }

    /// The destination of a message, and whether its author's role is lost. Most servers do not distinguish developer
    /// and system messages, and some refuse the developer role.
    pub(crate) const fn of_message(author: Author, waited: bool, tells_developers: bool) -> (Self, bool) {
        match author {
            Author::Developer if !tells_developers => {
                (Destination::System { author: Author::System, narrowed: true }, true)
            }
            Author::System | Author::Developer => (Destination::System { author, narrowed: false }, false),
            Author::User => (Destination::User { waited }, false),
            Author::Tool => (Destination::User { waited }, true),
            Author::Assistant => (Destination::Assistant, false),
        }
    }
}

/// The speaker of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Speaker {
    Nobody,
    User,
    Assistant,
}

/// Calls that wait for their results, by their id in the target, still escaped.
#[derive(Debug, Default)]
pub(crate) struct Pairing {
    /// The calls in order; calls answered out of order are still listed.
    order: VecDeque<String>,
    /// The number of waiting calls of each id. Empty until a result comes out of order: nearly all results come in the
    /// order of the calls.
    waiting: HashMap<String, u32>,
    /// The number of waiting calls.
    count: usize,
}

/// The text of a placeholder result.
pub(crate) const NO_RESULT: &str = "No result was recorded for this call.";

impl Pairing {
    pub(crate) fn called(&mut self, id: &Str<'_>) {
        let id = id.as_escaped().to_owned();
        if !self.waiting.is_empty() {
            *self.waiting.entry(id.clone()).or_default() += 1;
        }
        self.order.push_back(id);
        self.count += 1;
    }

    /// The id of the call that a result answers: the call with the given id, or without an id the first waiting call.
    pub(crate) fn answered(&mut self, id: Option<&Str<'_>>, ledger: &mut Ledger) -> Option<String> {
        let Some(id) = id else {
            ledger.note("result without an id taken for that of the first open call");
            return self.next();
        };
        if self.waiting.is_empty() && self.is_first(id) {
            self.count -= 1;
            return self.order.pop_front();
        }
        self.takes(id.as_escaped()).then(|| id.as_escaped().to_owned())
    }

    /// Whether a call waits for a result with the given id.
    pub(crate) fn expects(&mut self, id: Option<&Str<'_>>) -> bool {
        match id {
            Some(id) if self.waiting.is_empty() && self.is_first(id) => true,
            Some(id) => self.waiting_of(id.as_escaped()).is_some(),
            None => self.is_waiting(),
        }
    }

    pub(crate) fn is_waiting(&self) -> bool {
        self.count > 0
    }

    /// Removes and returns the next call without a result.
    pub(crate) fn next(&mut self) -> Option<String> {
        while let Some(id) = self.order.pop_front() {
            if self.waiting.is_empty() {
                self.count -= 1;
                return Some(id);
            }
            if self.takes(&id) {
                return Some(id);
            }
        }
        self.waiting.clear();
        None
    }

    /// Whether the call with the given id is the first in the list.
    pub(crate) fn is_first(&self, id: &Str<'_>) -> bool {
        self.order.front().is_some_and(|first| first == id.as_escaped())
    }

    /// Removes one waiting call with the given id, if any.
    fn takes(&mut self, id: &str) -> bool {
        let Some(count) = self.waiting_of(id) else { return false };
        *count -= 1;
        self.count -= 1;
        true
    }

    /// The number of waiting calls with the given id, if any.
    fn waiting_of(&mut self, id: &str) -> Option<&mut u32> {
        if self.waiting.is_empty() {
            for id in &self.order {
                *self.waiting.entry(id.clone()).or_default() += 1;
            }
        }
        self.waiting.get_mut(id).filter(|count| **count > 0)
    }
}
