//! The facts of a thread, and which thread a message belongs to.

use crate::json::{Raw, Str};
use crate::log::SessionTracker;
use crate::model::{Field, ItemHead, Session};
use crate::pipe::{EventSink, Remembered};
use crate::tape::{Kind, Val};

const AGENT: &str = "codex";

/// The threads of a connection. The first thread is the session; other threads belong to its subagents.
#[derive(Default)]
pub(super) struct Threads {
    tracker: SessionTracker,
    /// The escaped id of the session's thread; empty until known.
    main: String,
    /// The call that started the agent of a thread, by the id of the thread.
    calls: Remembered<Str<'static>>,
}

impl Threads {
    /// Whether the message belongs to the thread of the session. The first thread becomes the session.
    pub(super) fn is_main(&mut self, params: Val<'_>, out: &mut EventSink<'_>) -> bool {
        let Some(id) = params.get("threadId").filter(|id| id.str().is_some()) else { return true };
        let text = id.str().unwrap_or_default();
        if self.main.is_empty() {
            self.main.push_str(text.as_escaped());
            let id = id.note_text(Field::SessionId);
            self.tracker.tell(AGENT, Session { id, ..Session::default() }, out);
            return true;
        }
        let is_main = text.as_escaped() == self.main;
        if is_main {
            id.note(Field::SessionId);
        }
        is_main
    }

    /// Whether the session has begun.
    pub(super) const fn has_begun(&self) -> bool {
        !self.main.is_empty()
    }

    /// Completes the head of an item: items of other threads name the agent and the call that started it.
    pub(super) fn place<'t>(&self, head: &mut ItemHead<'t>, params: Val<'t>) {
        let Some(thread) = params.get("threadId").filter(|id| id.str().is_some()) else { return };
        let id = thread.str().unwrap_or_default();
        if id.as_escaped() != self.main {
            head.parent_call = self.calls.get(id.as_escaped()).cloned();
            head.agent = thread.note_text(Field::ItemAgent);
        }
    }

    /// Remembers the call that started the agent of a thread.
    pub(super) fn started_by(&mut self, thread: &Str<'_>, call: &Str<'_>) {
        if self.calls.get(thread.as_escaped()).is_none() {
            self.calls.insert(thread.as_escaped(), call.clone().into_owned());
        }
    }

    /// Reads the facts of a thread. `beside` is the object around the thread, with the settings in use. Returns whether the
    /// thread is the session.
    pub(super) fn opened(&mut self, thread: Val<'_>, beside: Val<'_>, out: &mut EventSink<'_>) -> bool {
        let Some(id) = thread.get("id").and_then(|id| id.str()) else { return false };
        if self.main.is_empty() {
            self.main.push_str(id.as_escaped());
        } else if id.as_escaped() != self.main {
            return false;
        }
        let text =
            |holder: Val<'_>, name: &str, field| holder.get(name)?.note_text(field).map(Str::into_owned);
        let git = thread.get("gitInfo").filter(|git| git.kind() == Kind::Object);
        let git_fact = |name, field| git.and_then(|git| text(git, name, field));
        // The response repeats the settings of the thread beside it.
        let session = Session {
            id: text(thread, "id", Field::SessionId),
            parent: text(thread, "parentThreadId", Field::SessionParent)
                .or_else(|| text(thread, "forkedFromId", Field::SessionParent)),
            cli_version: text(thread, "cliVersion", Field::SessionVersion),
            title: text(thread, "name", Field::SessionTitle),
            branch: git_fact("branch", Field::SessionBranch),
            commit: git_fact("sha", Field::SessionCommit),
            repository: git_fact("originUrl", Field::SessionRepository),
            start: number(thread, "createdAt", Field::SessionStart),
            ..settings(beside, "reasoningEffort", "sandbox")
        };
        self.tracker.tell(AGENT, session, out);
        true
    }

    /// Reads changed facts of the session.
    pub(super) fn tell(&mut self, session: Session<'_>, out: &mut EventSink<'_>) {
        self.tracker.tell(AGENT, session, out);
    }
}

/// The settings in use, beside a thread or in a message of their own.
pub(super) fn settings<'t>(holder: Val<'t>, effort: &str, sandbox: &str) -> Session<'t> {
    let raw = |name: &str, field| -> Option<Raw<'t>> {
        Some(holder.get(name).filter(|value| !value.is_null())?.note(field))
    };
    Session {
        cwd: holder.get("cwd").and_then(|cwd| cwd.note_text(Field::SessionCwd)),
        model: holder.get("model").and_then(|model| model.note_text(Field::SessionModel)),
        provider: holder.get("modelProvider").and_then(|name| name.note_text(Field::SessionProvider)),
        effort: holder.get(effort).and_then(|effort| effort.note_text(Field::SessionEffort)),
        approval_policy: raw("approvalPolicy", Field::ApprovalPolicy),
        sandbox_policy: raw(sandbox, Field::SandboxPolicy),
        ..Session::default()
    }
}

/// A time as a number.
pub(super) fn number<'t>(holder: Val<'t>, name: &str, field: Field) -> Option<Raw<'t>> {
    Some(holder.get(name).filter(|value| value.kind() == Kind::Number)?.note(field))
}
