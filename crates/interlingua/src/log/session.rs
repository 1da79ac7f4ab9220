//! Session events of a reader.

use crate::json::{Raw, Str};
use crate::model::{Event, Session, time};
use crate::pipe::EventSink;
use crate::tape::Val;

/// The facts of the session emitted so far. Lines repeat these facts; only changes are emitted.
#[derive(Debug, Default)]
pub struct SessionTracker {
    known: Session<'static>,
    has_begun: bool,
    /// The time of the last write to the log, from the session's head.
    updated: Option<Raw<'static>>,
}

impl SessionTracker {
    /// The facts emitted so far.
    pub fn known(&self) -> &Session<'static> {
        &self.known
    }

    /// Whether the head of a log has the id of another session than the one so far: an input may hold several logs.
    pub fn is_another(&self, id: Option<Val<'_>>) -> bool {
        let id = id.and_then(|id| id.str());
        self.known.id.as_ref().zip(id.as_ref()).is_some_and(|(known, id)| known.decode() != id.decode())
    }

    /// Starts a session without facts: a line marks a new session without naming it.
    pub fn begin(&mut self, agent: &'static str, out: &mut EventSink<'_>) {
        self.has_begun = true;
        let agent = Some(Str::escaped(agent));
        out.event(&Event::SessionStarted(Session { agent, ..Session::default() }));
    }

    /// Stores the time of the log's last write, from the session's head or a line of its own. The items after the head
    /// are earlier, and the latest time of several lines counts, so the time is emitted at the end of the session. The
    /// values stay in their frames.
    pub fn updated(&mut self, time: &Raw<'_>) {
        let latest = self.updated.as_ref().and_then(time::epoch_millis);
        if time::epoch_millis(time) >= latest {
            self.updated = Some(time.clone().into_owned());
        }
    }

    /// Ends the session.
    pub fn end(&mut self, out: &mut EventSink<'_>) {
        if let Some(time) = self.updated.take() {
            out.event_unclaimed(&Event::Clock(time));
        }
    }

    /// Emits the new facts in a line of the agent. The first facts start the session.
    pub fn tell(&mut self, agent: &'static str, told: Session<'_>, out: &mut EventSink<'_>) {
        if told.is_old_news(&self.known) {
            return;
        }
        let mut news = told.news_to(&self.known);
        self.known.update(news.clone().into_owned());
        if std::mem::replace(&mut self.has_begun, true) {
            out.event(&Event::SessionUpdated(news));
        } else {
            news.agent = Some(Str::escaped(agent));
            out.event(&Event::SessionStarted(news));
        }
    }
}
