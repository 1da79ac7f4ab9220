//! Bounded memory of calls: the tool of each call, and the call that started each subagent.

use std::collections::HashSet;
use std::hash::BuildHasherDefault;

use crate::json::Str;
use crate::ledger::{Identity, TextKey};
use crate::tape::Val;

/// The tools of the latest calls. A result holds only the id of its call.
#[derive(Default)]
pub(super) struct CalledTools {
    calls: Vec<(String, String)>,
    next: usize,
}

impl CalledTools {
    const MOST: usize = 64;

    /// Remembers the `tool_use` blocks in `content`.
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

    /// The tool of the call with this id.
    pub(super) fn name_of(&self, call: &Str<'_>) -> Option<&str> {
        let found = self.calls.iter().find(|(known, _)| known == call.as_escaped());
        found.map(|(_, name)| name.as_str()).filter(|name| !name.is_empty())
    }
}

/// The subagents seen so far.
#[derive(Default)]
pub(super) struct Agents {
    /// Agent id and id of the call that started the agent.
    calls: Vec<(String, String)>,
    next: usize,
    /// The call that started the subagent whose log follows.
    announced: Option<String>,
    /// Keys of the subagents' messages already emitted: a progress report may repeat a message.
    told: HashSet<u128, BuildHasherDefault<Identity>>,
}

impl Agents {
    const MOST: usize = 256;
    const MOST_TOLD: usize = 1 << 16;

    /// Stores the call that started a subagent.
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

    /// The log of a subagent follows; `call` started that subagent.
    pub(super) fn announce(&mut self, call: &Str<'_>) {
        self.announced = Some(call.as_escaped().to_owned());
    }

    /// A line of this subagent was read. Returns the call that started the subagent, if known.
    pub(super) fn heard_of(&mut self, agent: &Str<'_>) -> Option<&str> {
        if self.call_of(agent).is_none()
            && let Some(call) = self.announced.take()
        {
            self.started(agent, &Str::escaped(&call));
        }
        self.call_of(agent)
    }

    /// The call that started the subagent, if known.
    fn call_of(&self, agent: &Str<'_>) -> Option<&str> {
        let found = self.calls.iter().rev().find(|(known, _)| known == agent.as_escaped());
        found.map(|(_, call)| call.as_str())
    }

    /// Records a subagent's message. Returns whether the message was seen before, by the id of its line or by its
    /// response and content.
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
