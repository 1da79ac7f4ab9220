//! Calls and the results that answer them, also where ids are used again.

use std::collections::{HashMap, HashSet, VecDeque};

use crate::model::ItemId;

/// The calls of one session that wait for their result. An id is a number here; zero stands for none.
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

    pub(crate) fn call(&mut self, id: u128, item: ItemId) {
        let (calls, prompt) = (self.waiting.entry(id).or_default(), self.prompts);
        if calls.back().is_some_and(|call| call.prompt != prompt) {
            self.stale.entry(id).or_default().extend(calls.drain(..).map(|call| call.item));
        }
        calls.push_back(WaitingCall { item, prompt });
    }

    /// A result of that call came before it.
    pub(crate) fn has_answer(&mut self, id: u128) {
        self.answered.insert(id);
    }

    /// Calls of one id are answered in their order.
    pub(crate) fn result(&mut self, id: u128) -> Answered {
        let id =
            if id == 0 && !self.waiting.contains_key(&0) { self.only_waiting().unwrap_or(0) } else { id };
        let Some(calls) = self.waiting.get_mut(&id) else {
            return match self.stale.get_mut(&id).and_then(Vec::pop) {
                Some(call) => Answered::Call(call),
                None if id != 0 && self.answered.contains(&id) => Answered::Again,
                None => Answered::Nothing,
            };
        };
        let call = calls.pop_front();
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
    pub(crate) fn close(&mut self, id: u128, item: ItemId) -> bool {
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
