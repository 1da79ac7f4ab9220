//! Calls and the results that answer them, also where ids are used again.

use std::collections::{HashMap, HashSet, VecDeque};

use super::outline::key as id_key;
use crate::json::Str;
use crate::model::ItemId;

/// The calls of one session that wait for their result. A call is known by its [`link_key`].
#[derive(Debug, Default)]
pub(crate) struct CallPairs {
    waiting: HashMap<u128, VecDeque<WaitingCall>>,
    /// Calls whose id was used again after another prompt: they are answered last.
    stale: HashMap<u128, Vec<ItemId>>,
    answered: HashSet<u128>,
    /// How many prompts have come.
    prompts: u64,
}

#[derive(Debug)]
struct WaitingCall {
    item: ItemId,
    /// The tool of a call without an id.
    tool: u128,
    prompt: u64,
}

/// What a result answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answered {
    /// That call.
    Call(ItemId),
    /// A call that has its result.
    Again,
    /// No call that has come.
    Nothing,
}

impl CallPairs {
    /// The user says something: a call of that id from before is not the one that is answered next.
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

    /// A result of that call came before it.
    pub(crate) fn has_answer(&mut self, key: u128) {
        self.answered.insert(parts_of(key).0);
    }

    /// Calls of one id are answered in their order, and so are calls of one tool that have none.
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

    /// The id of the only call that waits.
    fn only_waiting(&self) -> Option<u128> {
        let mut waiting = self.waiting.iter();
        let (id, calls) = waiting.next()?;
        (calls.len() == 1 && waiting.next().is_none()).then_some(*id)
    }

    /// The call is answered otherwise. Returns whether it was waiting.
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

    /// The calls that still wait, in no order.
    pub(crate) fn open(&self) -> impl Iterator<Item = ItemId> + '_ {
        self.waiting.values().flatten().map(|call| call.item).chain(self.stale.values().flatten().copied())
    }
}

/// What a call or a result is known by: the id of the call, or the name of the tool where there is no id.
pub(crate) fn link_key(call_id: Option<&Str<'_>>, tool: Option<&Str<'_>>) -> u128 {
    match call_id {
        Some(id) => id_key(id),
        None => tool.map_or(0, |tool| id_key(tool) & u128::from(u64::MAX)),
    }
}

/// Whether that is the key of a call or a result without an id.
pub(crate) const fn has_no_id(key: u128) -> bool {
    key >> 64 == 0
}

/// The id, which is zero for none, and the tool of a call without an id.
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
        // An id says it, whatever the tool is called.
        pairs.call(key(Some("a"), "read"), ItemId(3));
        pairs.call(key(Some("b"), "read"), ItemId(4));
        assert_eq!(pairs.result(key(Some("b"), "x")), Answered::Call(ItemId(4)));
    }
}
