//! Call ids for a source that has none: Gemini CLI's and Codex's API-like forms, Cursor.
//!
//! A call without an id gets a synthetic id, and its result gets the same id. An entry with a synthetic id has the
//! member [`SYNTHETIC`]. The ids are numbered in the order of the entries, so a record stays a function of its source.
//! The reader of a record recognises these ids and drops them: events have only ids of the source.

use std::collections::VecDeque;

use crate::json::Str;
use crate::log::{Answered, CallPairs, link_key};
use crate::model::ItemId;

/// The member that marks an entry's `call-id` as synthetic.
pub(super) const SYNTHETIC: &str = "synthetic-call-id";

const PREFIX: &str = "interlingua-call-";

/// The open calls of one session. The writer and the reader of a record track the same state.
#[derive(Debug, Default)]
pub(super) struct CallIds {
    /// Calls without an id, by number.
    pairs: CallPairs,
    /// The number of the last synthetic id.
    last: u64,
    /// Ids of the open calls with an id: a result without an id belongs to the only open call.
    named: VecDeque<String>,
    /// Strings of completed ids, reused to avoid an allocation per call.
    spare: Vec<String>,
}

impl CallIds {
    /// The most open calls with an id that are remembered.
    const MOST_NAMED: usize = 64;

    /// The user sends a prompt: the next results do not belong to earlier calls.
    pub(super) fn prompt(&mut self) {
        self.pairs.prompt();
    }

    /// A call with an id of the source starts.
    pub(super) fn named_call(&mut self, id: &Str<'_>) {
        // Later synthetic ids get higher numbers.
        self.last = self.last.max(number_of(id).unwrap_or(0));
        if self.named.len() == Self::MOST_NAMED {
            self.spare.extend(self.named.pop_front());
        }
        let mut named = self.spare.pop().unwrap_or_default();
        id.as_escaped().clone_into(&mut named);
        self.named.push_back(named);
    }

    /// A result with an id of the source starts.
    pub(super) fn named_result(&mut self, id: &Str<'_>) {
        if let Some(at) = self.named.iter().position(|known| known == id.as_escaped()) {
            self.spare.extend(self.named.remove(at));
        }
    }

    /// A call of `tool` without an id starts. Returns the synthetic id for its entry.
    pub(super) fn unnamed_call(&mut self, tool: &Str<'_>) -> Str<'static> {
        self.last += 1;
        self.pairs.call(link_key(None, Some(tool)), ItemId(self.last));
        id_of(self.last)
    }

    /// A result without an id starts. Returns the id of its call, if found.
    pub(super) fn unnamed_result(&mut self, tool: Option<&Str<'_>>) -> Option<Str<'static>> {
        match self.pairs.result(link_key(None, tool)) {
            Answered::Call(ItemId(number)) => Some(id_of(number)),
            Answered::Again | Answered::Nothing if self.named.len() == 1 => {
                self.named.pop_front().map(Str::from_escaped)
            }
            Answered::Again | Answered::Nothing => None,
        }
    }

    /// Whether the id of a call marked as synthetic has the form and order of a synthetic id. Numbers may be skipped:
    /// an entry may have been removed from the record.
    pub(super) fn is_made_up(&mut self, id: &Str<'_>, tool: &Str<'_>) -> bool {
        let Some(number) = number_of(id).filter(|number| *number > self.last) else { return false };
        self.last = number - 1;
        self.unnamed_call(tool);
        true
    }
}

fn id_of(number: u64) -> Str<'static> {
    Str::from_escaped(format!("{PREFIX}{number}"))
}

/// The number in a synthetic id.
fn number_of(id: &Str<'_>) -> Option<u64> {
    let digits = id.as_escaped().strip_prefix(PREFIX)?;
    let is_number = digits.len() < 16 && digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.parse().ok().filter(|number| is_number && *number > 0 && !digits.starts_with('0'))
}
