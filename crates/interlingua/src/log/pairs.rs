//! Pairs of calls and results, including reused ids.

use std::collections::{HashMap, HashSet, VecDeque};

use super::outline::key as id_key;
use crate::json::Str;
use crate::model::ItemId;

/// The waiting calls of one session: calls without a result so far. A call is identified by its [`link_key`].
#[derive(Debug, Default)]
pub(crate) struct CallPairs {
    waiting: HashMap<u128, VecDeque<WaitingCall>>,
    /// Open calls whose id was reused after a later prompt: they are answered last.
    stale: HashMap<u128, Vec<ItemId>>,
    answered: HashSet<u128>,
    /// The number of prompts so far.
    prompts: u64,
}

#[derive(Debug)]
struct WaitingCall {
    item: ItemId,
    /// The key of the tool, for a call without an id.
    tool: u128,
    prompt: u64,
}

/// The call that a result answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answered {
    /// The result answers this call.
    Call(ItemId),
    /// The result answers a call that already has a result.
    Again,
    /// The result answers no call so far.
    Nothing,
}

impl CallPairs {
    /// Records a prompt of the user: an earlier call with the same id is not the next to be answered.
    pub(crate) fn prompt(&mut self) {
        self.prompts += 1;
    }

    pub(crate) fn call(&mut self, key: u128, item: ItemId) {
        let (id, tool) = parts_of(key);
        let (calls, prompt) = (self.waiting.entry(id).or_default(), self.prompts);
        if calls.back().is_some_and(|call| call.prompt != prompt) {
            self.stale.entry(id).or_default().extend(calls.drain(..).map(|call| call.item));
        }
        calls.push_back(WaitingCall { item, tool, prompt });
    }

    /// Records an early result: the result of a call that has not been read yet.
    pub(crate) fn has_answer(&mut self, key: u128) {
        self.answered.insert(parts_of(key).0);
    }

    /// Finds the call of a result. Calls with the same id are answered in order, and so are calls of the same tool
    /// without an id.
    pub(crate) fn result(&mut self, key: u128) -> Answered {
        let (id, tool) = parts_of(key);
        let id =
            if id == 0 && !self.waiting.contains_key(&0) { self.only_waiting().unwrap_or(0) } else { id };
        let Some(calls) = self.waiting.get_mut(&id) else {
            return match self.stale.get_mut(&id).and_then(Vec::pop) {
                Some(call) => Answered::Call(call),
                None if id != 0 && self.answered.contains(&id) => Answered::Again,
                None => Answered::Nothing,
            };
        };
        let same_tool = calls.iter().position(|call| tool != 0 && call.tool == tool);
        let call = calls.remove(same_tool.unwrap_or(0));
        if calls.is_empty() {
            self.waiting.remove(&id);
        }
        self.answered.insert(id);
        call.map_or(Answered::Nothing, |call| Answered::Call(call.item))
    }

    /// The id of the only waiting call.
    fn only_waiting(&self) -> Option<u128> {
        let mut waiting = self.waiting.iter();
        let (id, calls) = waiting.next()?;
        (calls.len() == 1 && waiting.next().is_none()).then_some(*id)
    }

    /// Closes a call answered by a placeholder or an early result. Returns whether the call was waiting.
    pub(crate) fn close(&mut self, key: u128, item: ItemId) -> bool {
        let (id, _) = parts_of(key);
        if let Some(calls) = self.stale.get_mut(&id)
            && let Some(at) = calls.iter().position(|call| *call == item)
        {
            calls.remove(at);
            return true;
        }
        let Some(calls) = self.waiting.get_mut(&id) else { return false };
        let Some(at) = calls.iter().position(|call| call.item == item) else { return false };
        calls.remove(at);
        if calls.is_empty() {
            self.waiting.remove(&id);
        }
        self.answered.insert(id);
        true
    }

    /// The waiting calls, in no order.
    pub(crate) fn open(&self) -> impl Iterator<Item = ItemId> + '_ {
        self.waiting.values().flatten().map(|call| call.item).chain(self.stale.values().flatten().copied())
    }
}

/// The key of a call or a result: the id of the call, or the name of the tool if the id is missing.
pub(crate) fn link_key(call_id: Option<&Str<'_>>, tool: Option<&Str<'_>>) -> u128 {
    match call_id {
        Some(id) => id_key(id),
        None => tool.map_or(0, |tool| id_key(tool) & u128::from(u64::MAX)),
    }
}

/// Whether the key belongs to a call or a result without an id.
pub(crate) const fn has_no_id(key: u128) -> bool {
    key >> 64 == 0
}

/// The id, zero if missing, and the tool of a call without an id.
const fn parts_of(key: u128) -> (u128, u128) {
    if has_no_id(key) { (0, key) } else { (key, 0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(call_id: Option<&'static str>, tool: &'static str) -> u128 {
        link_key(call_id.map(Str::escaped).as_ref(), Some(&Str::escaped(tool)))
    }

    #[test]
    fn a_result_without_an_id_answers_the_first_open_call_of_its_tool() {
        let mut pairs = CallPairs::default();
        for (number, tool) in [(1, "read"), (2, "list"), (3, "read")] {
            pairs.call(key(None, tool), ItemId(number));
        }
        let answers = ["list", "read", "read"].map(|tool| pairs.result(key(None, tool)));
        assert_eq!(answers, [2, 1, 3].map(|number| Answered::Call(ItemId(number))));
        assert_eq!(pairs.result(key(None, "read")), Answered::Nothing);
    }

    #[test]
    fn a_result_of_another_name_answers_the_first_open_call() {
        let mut pairs = CallPairs::default();
        pairs.call(key(None, "read"), ItemId(1));
        pairs.call(key(None, "list"), ItemId(2));
        let answers = [pairs.result(key(None, "write")), pairs.result(link_key(None, None))];
        assert_eq!(answers, [1, 2].map(|number| Answered::Call(ItemId(number))));
        // With an id, the tool's name does not matter.
        pairs.call(key(Some("a"), "read"), ItemId(3));
        pairs.call(key(Some("b"), "read"), ItemId(4));
        assert_eq!(pairs.result(key(Some("b"), "x")), Answered::Call(ItemId(4)));
    }
}
