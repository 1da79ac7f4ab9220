//! Turns of a request: calls paired with their results, and where the pieces of an item go.

use std::collections::{HashMap, VecDeque};

use crate::json::Str;
use crate::ledger::Ledger;
use crate::model::{Author, Of};

/// Where the pieces of an open item go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Destination {
    /// A message of the user.
    User {
        /// Calls waited for their results when it began.
        waited: bool,
    },
    /// A message of the system, or of a developer.
    System {
        /// Which of the two.
        author: Author,
        /// It is not told which of the two it was.
        narrowed: bool,
    },
    /// The assistant's turn.
    Assistant,
    /// A result of a call.
    Result,
}

impl Destination {
    /// The kind of item that its pieces are of.
    pub(crate) const fn of(self) -> Of {
        match self {
            Destination::User { .. } | Destination::System { .. } | Destination::Assistant => Of::Message,
            Destination::Result => Of::Result,
        }
    }

    /// Where a message goes, and whether its author's name is lost there. Most servers do not tell developers from the
    /// system, and some refuse the word.
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

/// Who speaks next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Speaker {
    Nobody,
    User,
    Assistant,
}

/// Calls that wait for their results. Ids are those of the target, still escaped.
#[derive(Debug, Default)]
pub(crate) struct Pairing {
    /// In the order they were made; those that were answered out of turn are still here.
    order: VecDeque<String>,
    /// How many calls of each id wait. Empty until a result comes out of turn: nearly all come in the order of the calls.
    waiting: HashMap<String, u32>,
    /// How many wait.
    count: usize,
}

/// What a result says that we make up.
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

    /// The id of the call that a result answers: the one it names, or without a name the first that waits.
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

    /// Whether there is a call for a result with that id.
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

    /// The next call that nobody answered; it waits no longer.
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

    /// Whether the call of that id was made first of those in the list.
    pub(crate) fn is_first(&self, id: &Str<'_>) -> bool {
        self.order.front().is_some_and(|first| first == id.as_escaped())
    }

    /// Takes one call of that id off the list, if one waits.
    fn takes(&mut self, id: &str) -> bool {
        let Some(count) = self.waiting_of(id) else { return false };
        *count -= 1;
        self.count -= 1;
        true
    }

    /// How many calls of that id wait, if any.
    fn waiting_of(&mut self, id: &str) -> Option<&mut u32> {
        if self.waiting.is_empty() {
            for id in &self.order {
                *self.waiting.entry(id.clone()).or_default() += 1;
            }
        }
        self.waiting.get_mut(id).filter(|count| **count > 0)
    }
}
