//! Requests of the agent, permissions and questions: each is requested once and resolved once.

use std::collections::{BTreeMap, HashMap};

use super::{Made, UniversalWriter};
use crate::dialects::ours::universal::data::{put_permission, put_question};
use crate::dialects::ours::universal::seed::Members;
use crate::json::{JsonWriter, Str};
use crate::model::{Decision, Permission, Question};
use crate::pipe::{Remembered, WriterOutput};

/// A request of the agent.
pub(super) enum AgentRequest<'a> {
    Permission(Permission<'a>),
    Question(Question<'a>),
}

impl<'a> AgentRequest<'a> {
    const fn is_permission(&self) -> bool {
        matches!(self, AgentRequest::Permission(_))
    }

    fn id(&self) -> &Str<'a> {
        match self {
            AgentRequest::Permission(permission) => &permission.id,
            AgentRequest::Question(question) => &question.id,
        }
    }

    /// The type of the event that requests it.
    pub(super) const fn requested(&self) -> &'static str {
        if self.is_permission() { "permission.requested" } else { "question.requested" }
    }

    /// The type of the event that resolves it.
    pub(super) const fn resolved(&self) -> &'static str {
        if self.is_permission() { "permission.resolved" } else { "question.resolved" }
    }

    /// The same request before its resolution.
    pub(super) fn unanswered(&self) -> Self {
        match self {
            AgentRequest::Permission(permission) => {
                AgentRequest::Permission(Permission { answer: None, by: None, ..permission.clone() })
            }
            AgentRequest::Question(question) => {
                AgentRequest::Question(Question { answers: None, declined: false, ..question.clone() })
            }
        }
    }

    /// The rejection of the request.
    pub(super) fn rejected(self) -> Self {
        match self {
            AgentRequest::Permission(Permission { id, action, .. }) => AgentRequest::Permission(Permission {
                id,
                action,
                call_id: None,
                input: None,
                answer: Some(Decision::Reject(None)),
                by: None,
            }),
            AgentRequest::Question(Question { id, .. }) => AgentRequest::Question(Question {
                id,
                call_id: None,
                prompts: Vec::new(),
                answers: None,
                declined: true,
            }),
        }
    }

    /// Writes the data of an event.
    pub(super) fn write(&self, is_open: bool, members: Members, json: &mut JsonWriter<'_>) {
        match self {
            AgentRequest::Permission(permission) => put_permission(permission, json),
            AgentRequest::Question(question) => put_question(question, is_open, members, json),
        }
    }

    /// The values that the rejection repeats.
    fn to_remember(&self) -> AgentRequest<'static> {
        match self {
            AgentRequest::Permission(permission) => AgentRequest::Permission(Permission {
                id: permission.id.clone().into_owned(),
                action: permission.action.clone().into_owned(),
                call_id: None,
                input: None,
                answer: None,
                by: None,
            }),
            AgentRequest::Question(question) => AgentRequest::Question(Question {
                id: question.id.clone().into_owned(),
                call_id: None,
                prompts: Vec::new(),
                answers: None,
                declined: false,
            }),
        }
    }
}

/// The open requests, and the ids of the requests that were resolved.
#[derive(Default)]
pub(super) struct PendingRequests {
    /// By the number of the event before the request.
    open: BTreeMap<u64, AgentRequest<'static>>,
    /// The number of each open request, by sort (permission or question) and id.
    numbers: HashMap<(bool, String), u64>,
    resolved: [Remembered<()>; 2],
}

impl PendingRequests {
    pub(super) fn ask(&mut self, request: &AgentRequest<'_>, number: u64) {
        let name = (request.is_permission(), request.id().as_escaped().to_owned());
        self.resolved[usize::from(name.0)].remove(&name.1);
        self.numbers.insert(name, number);
        self.open.insert(number, request.to_remember());
    }

    /// Removes an open request. Returns whether the request was open.
    pub(super) fn resolve(&mut self, request: &AgentRequest<'_>) -> bool {
        let name = (request.is_permission(), request.id().as_escaped().to_owned());
        self.resolved[usize::from(name.0)].insert(&name.1, ());
        self.numbers.remove(&name).and_then(|number| self.open.remove(&number)).is_some()
    }

    pub(super) fn is_open(&self, is_permission: bool, id: &Str<'_>) -> bool {
        self.numbers.contains_key(&(is_permission, id.as_escaped().to_owned()))
    }

    /// Whether the request was resolved and not asked again.
    pub(super) fn was_resolved(&self, is_permission: bool, id: &Str<'_>) -> bool {
        self.resolved[usize::from(is_permission)].get(id.as_escaped()).is_some()
    }

    /// The open requests, in order.
    pub(super) fn all(&self) -> Vec<AgentRequest<'static>> {
        self.open.values().map(AgentRequest::to_remember).collect()
    }
}

impl UniversalWriter {
    /// Rejects all open requests at the end of a turn or of the session.
    pub(super) fn settle(&mut self, out: &mut WriterOutput<'_>) {
        for request in self.requests.all() {
            self.resolve(Made::ByUs, &request.rejected(), out);
        }
    }

    pub(super) fn ask(&mut self, made: Made, request: &AgentRequest<'_>, out: &mut WriterOutput<'_>) {
        self.requests.ask(request, self.sequence);
        let members = self.members;
        self.lose_of_request(request, out);
        self.say(made, request.requested(), out, |json| request.write(true, members, json));
    }

    /// Writes the resolution of a request. A resolution without a request gets a request before it: an agent may only tell
    /// what a rule has decided.
    pub(super) fn resolve(&mut self, made: Made, request: &AgentRequest<'_>, out: &mut WriterOutput<'_>) {
        if !self.requests.resolve(request) {
            self.ask(Made::ByUs, &request.unanswered(), out);
            self.requests.resolve(request);
        }
        let members = self.members;
        self.lose_of_request(request, out);
        self.say(made, request.resolved(), out, |json| request.write(false, members, json));
    }

    fn lose_of_request(&self, request: &AgentRequest<'_>, out: &mut WriterOutput<'_>) {
        match request {
            AgentRequest::Question(question) => self.lose_of_question(question, out),
            AgentRequest::Permission(_) => {}
        }
    }
}
