//! The turn of `run`: its requests, its texts and its end, from universal events.

use std::collections::HashMap;

use interlingua::dialects::{Dialect, Options, Role};
use interlingua::error::Error;
use interlingua::model::{
    Author, Delta, Event, ItemId, ItemKind, Part, Permission, Prompt, Question, StopClass, Turn, Usage,
};
use interlingua::pipe::EventReader;
use interlingua_view::TurnUsage;
use serde_json::{Value, json};

use crate::error::CommandError;

/// A request of the agent, or its end.
#[derive(Debug)]
pub(super) enum TurnRequest {
    Permission {
        id: String,
        action: String,
        input: Option<String>,
    },
    Question {
        id: String,
        prompts: Vec<Prompt<'static>>,
    },
    /// The request with this id needs no answer any more.
    Resolved(String),
}

/// Reads the events of a turn.
#[derive(Debug)]
pub(super) struct TurnTracker {
    reader: EventReader,
    facts: TurnFacts,
}

#[derive(Debug, Default)]
struct TurnFacts {
    /// The texts of open messages of the assistant.
    open: HashMap<ItemId, String>,
    /// The last text of the assistant.
    text: String,
    usage: TurnUsage,
    cost: Option<f64>,
    stop: Option<StopClass>,
    error: Option<String>,
    has_ended: bool,
}

impl TurnTracker {
    pub(super) fn new() -> Result<Self, CommandError> {
        let failed = |error: Error| CommandError::Usage(error.to_string(), None);
        let universal: &Dialect = "universal".parse().map_err(failed)?;
        let reader = EventReader::new((universal, Role::Live), &Options::default()).map_err(failed)?;
        Ok(Self { reader, facts: TurnFacts::default() })
    }

    /// Reads events. Returns the requests among them, in order.
    pub(super) fn push(&mut self, lines: &[u8]) -> Vec<TurnRequest> {
        let (facts, mut requests) = (&mut self.facts, Vec::new());
        self.reader.push(lines, |event| requests.extend(facts.event(event)));
        requests
    }

    pub(super) const fn has_ended(&self) -> bool {
        self.facts.has_ended
    }

    pub(super) fn is_cancelled(&self) -> bool {
        self.facts.stop == Some(StopClass::Cancelled)
    }

    pub(super) fn has_failed(&self) -> bool {
        self.facts.stop == Some(StopClass::Error)
    }

    /// The result as a line of JSON.
    pub(super) fn result(&self, agent: &str, session: Option<&str>) -> Vec<u8> {
        let TurnFacts { text, usage, cost, stop, error, .. } = &self.facts;
        let result = json!({
            "agent": agent,
            "session_id": session,
            "text": text,
            "stop": stop.map(StopClass::word),
            "error": error,
            "usage": tokens(usage.total()),
            "cost_usd": cost,
        });
        format!("{result}\n").into_bytes()
    }
}

impl TurnFacts {
    fn event(&mut self, event: &Event<'_>) -> Option<TurnRequest> {
        match event {
            Event::ItemStarted(head) => {
                // The texts of subagents are for the agent that started them.
                let is_own = head.author == Author::Assistant && head.parent_call.is_none();
                if is_own && matches!(head.kind, ItemKind::Message) {
                    self.open.insert(head.id, String::new());
                }
            }
            Event::ItemDelta(Delta { item, value: Part::Text(text) | Part::Refusal(text), .. }) => {
                if let Some(open) = self.open.get_mut(item) {
                    open.push_str(&text.decode());
                }
            }
            Event::ItemCompleted(tail) => {
                if let Some(text) = self.open.remove(&tail.id).filter(|text| !text.is_empty()) {
                    self.text = text;
                }
            }
            Event::Usage(turn) => _ = self.usage.report(turn),
            Event::TurnEnded(turn) => self.ended(turn),
            Event::Error(failure) => self.error = Some(failure.message.decode().into_owned()),
            Event::SessionEnded(end) => {
                self.has_ended = true;
                if let Some(message) = &end.message {
                    self.error.get_or_insert_with(|| message.decode().into_owned());
                }
                self.stop.get_or_insert(StopClass::Error);
            }
            Event::PermissionRequested(Permission { id, action, input, .. }) => {
                let (id, action) = (id.decode().into_owned(), action.decode().into_owned());
                let input = input.as_ref().map(|input| input.as_str().to_owned());
                return Some(TurnRequest::Permission { id, action, input });
            }
            Event::QuestionRequested(Question { id, prompts, .. }) => {
                let prompts = prompts.iter().cloned().map(Prompt::into_owned).collect();
                return Some(TurnRequest::Question { id: id.decode().into_owned(), prompts });
            }
            Event::PermissionResolved(Permission { id, .. })
            | Event::QuestionResolved(Question { id, .. }) => {
                return Some(TurnRequest::Resolved(id.decode().into_owned()));
            }
            Event::ItemDelta(_)
            | Event::SessionStarted(_)
            | Event::SessionUpdated(_)
            | Event::TurnStarted(_)
            | Event::Clock(_)
            | Event::Rewound(_)
            | Event::Compacted(_)
            | Event::Model(_)
            | Event::Request(_) => {}
        }
        None
    }

    fn ended(&mut self, turn: &Turn<'_>) {
        self.usage.end(turn);
        self.cost = turn.cost.as_ref().and_then(|cost| cost.as_str().parse().ok());
        self.stop = turn.stop.as_ref().map(|stop| stop.class);
        self.has_ended = true;
    }
}

/// The token counts that the agent told.
fn tokens(usage: &Usage) -> Value {
    let counts = [
        ("input_tokens", usage.input),
        ("cache_read_tokens", usage.cache_read),
        ("cache_write_tokens", usage.cache_write),
        ("output_tokens", usage.output),
        ("reasoning_tokens", usage.reasoning),
    ];
    let told = counts.into_iter().filter_map(|(name, count)| Some((name.to_owned(), Value::from(count?))));
    Value::Object(told.collect())
}
