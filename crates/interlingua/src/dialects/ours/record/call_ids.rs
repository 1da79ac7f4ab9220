//! Call ids for a source that has none: Gemini CLI's and Codex's API-like forms, Cursor.
//!
//! A call without an id gets one of ours, and the result that answers the call gets the same. An entry with such an id
//! has the member [`SYNTHETIC`]. The ids are numbered in the order of the entries, so a record stays a function of its
//! source. The reader of a record recognises these ids and drops them: no event has an id that the source did not have.

use std::collections::VecDeque;

use crate::json::Str;
use crate::log::{Answered, CallPairs, link_key};
use crate::model::ItemId;

/// The member of an entry whose `call-id` is ours.
pub(super) const SYNTHETIC: &str = "synthetic-call-id";

const PREFIX: &str = "interlingua-call-";

/// The calls of one session that wait for their result. The writer and the reader of a record both keep these books.
#[derive(Debug, Default)]
pub(super) struct CallIds {
    /// Calls without an id. Each is known by its number.
    pairs: CallPairs,
    /// The number of the last id of ours.
    last: u64,
    /// The ids of calls that have one: a result without an id may answer the only one of these.
    named: VecDeque<String>,
    /// The memory of ids that are answered, to be used again: a call costs no allocation.
    spare: Vec<String>,
}

impl CallIds {
    /// The number of open calls with an id that are remembered.
    const MOST_NAMED: usize = 64;

    /// The user speaks, and earlier calls are not the ones that are answered next.
    pub(super) fn prompt(&mut self) {
        self.pairs.prompt();
    }

    /// A call with an id of the source begins.
    pub(super) fn named_call(&mut self, id: &Str<'_>) {
        // No later id of ours is the same.
        self.last = self.last.max(number_of(id).unwrap_or(0));
        if self.named.len() == Self::MOST_NAMED {
            self.spare.extend(self.named.pop_front());
        }
        let mut named = self.spare.pop().unwrap_or_default();
        id.as_escaped().clone_into(&mut named);
        self.named.push_back(named);
    }

    /// A result with an id of the source begins.
    pub(super) fn named_result(&mut self, id: &Str<'_>) {
        if let Some(at) = self.named.iter().position(|known| known == id.as_escaped()) {
            self.spare.extend(self.named.remove(at));
        }
    }

    /// A call of that tool begins, without an id. Returns the id that its entry gets.
    pub(super) fn unnamed_call(&mut self, tool: &Str<'_>) -> Str<'static> {
        self.last += 1;
        self.pairs.call(link_key(None, Some(tool)), ItemId(self.last));
        id_of(self.last)
    }

    /// A result begins, without an id. Returns the id of the call that it answers, if there is one.
    pub(super) fn unnamed_result(&mut self, tool: Option<&Str<'_>>) -> Option<Str<'static>> {
        match self.pairs.result(link_key(None, tool)) {
            Answered::Call(ItemId(number)) => Some(id_of(number)),
            Answered::Again | Answered::Nothing if self.named.len() == 1 => {
                self.named.pop_front().map(Str::from_escaped)
            }
            Answered::Again | Answered::Nothing => None,
        }
    }

    /// Whether a call that is marked as synthetic has an id of ours: a later one than those before it. An entry between
    /// the two may have been taken out of the record.
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

/// The number in an id that looks like ours.
fn number_of(id: &Str<'_>) -> Option<u64> {
    let digits = id.as_escaped().strip_prefix(PREFIX)?;
    let is_number = digits.len() < 16 && digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.parse().ok().filter(|number| is_number && *number > 0 && !digits.starts_with('0'))
}
