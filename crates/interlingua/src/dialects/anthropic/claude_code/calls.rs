//! What is remembered of calls: which tool was called, and which call started which subagent. All of it is bounded.

use std::collections::HashSet;
use std::hash::BuildHasherDefault;

use crate::json::Str;
use crate::ledger::{Identity, TextKey};
use crate::tape::Val;

/// The tools that were called last: an answer names only its call.
#[derive(Default)]
pub(super) struct CalledTools {
    calls: Vec<(String, String)>,
    next: usize,
}

impl CalledTools {
    const MOST: usize = 64;

    /// Remembers the calls in that content.
    pub(super) fn remember(&mut self, content: Val<'_>) {
        for block in content.elements() {
            if block.str_or_empty("type") != "tool_use" {
                continue;
            }
            if self.calls.len() < Self::MOST {
                self.calls.push(Default::default());
            }
            if let Some((known, name)) = self.calls.get_mut(self.next) {
                known.clear();
                known.push_str(block.str_or_empty("id"));
                name.clear();
                name.push_str(block.str_or_empty("name"));
            }
            self.next = (self.next + 1) % Self::MOST;
        }
    }

    /// The tool that the call of that id asked for.
    pub(super) fn name_of(&self, call: &Str<'_>) -> Option<&str> {
        let found = self.calls.iter().find(|(known, _)| known == call.as_escaped());
        found.map(|(_, name)| name.as_str()).filter(|name| !name.is_empty())
    }
}

/// The subagents that were heard of.
#[derive(Default)]
pub(super) struct Agents {
    /// Each with the call that started it.
    calls: Vec<(String, String)>,
    next: usize,
    /// The call that started the subagent whose log follows.
    announced: Option<String>,
    /// Keys of the messages of subagents: a progress report may repeat a message.
    told: HashSet<u128, BuildHasherDefault<Identity>>,
}

impl Agents {
    const MOST: usize = 256;
    const MOST_TOLD: usize = 1 << 16;

    /// A line tells which call started a subagent.
    pub(super) fn started(&mut self, agent: &Str<'_>, call: &Str<'_>) {
        if self.call_of(agent) == Some(call.as_escaped()) {
            return;
        }
        let pair = (agent.as_escaped().to_owned(), call.as_escaped().to_owned());
        match self.calls.get_mut(self.next) {
            Some(slot) => *slot = pair,
            None => self.calls.push(pair),
        }
        self.next = (self.next + 1) % Self::MOST;
    }

    /// The log of a subagent follows that was started by this call.
    pub(super) fn announce(&mut self, call: &Str<'_>) {
        self.announced = Some(call.as_escaped().to_owned());
    }

    /// A subagent speaks. Returns the call that started it, if that is known.
    pub(super) fn heard_of(&mut self, agent: &Str<'_>) -> Option<&str> {
        if self.call_of(agent).is_none()
            && let Some(call) = self.announced.take()
        {
            self.started(agent, &Str::escaped(&call));
        }
        self.call_of(agent)
    }

    /// The call that started it, if that is known.
    fn call_of(&self, agent: &Str<'_>) -> Option<&str> {
        let found = self.calls.iter().rev().find(|(known, _)| known == agent.as_escaped());
        found.map(|(_, call)| call.as_str())
    }

    /// A subagent said that. Returns whether it was told before: by the id of its line, or by its response and content.
    pub(super) fn told(&mut self, id: Option<Val<'_>>, response: Option<Val<'_>>, content: Val<'_>) -> bool {
        let key = |tag, texts: [Option<Val<'_>>; 2]| {
            let mut key = TextKey::default();
            key.byte(tag);
            for text in texts {
                key.bytes(text.map_or("", |text| text.text()).as_bytes());
            }
            key.end()
        };
        let by_line = id.map(|id| key(1, [Some(id), None]));
        let by_content = key(2, [response, Some(content)]);
        if self.told.len() >= Self::MOST_TOLD {
            self.told.clear();
        }
        let known = self.told.contains(&by_line.unwrap_or(by_content));
        self.told.extend(by_line);
        self.told.insert(by_content);
        known
    }
}
