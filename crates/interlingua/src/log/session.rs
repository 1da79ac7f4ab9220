//! What a reader says of the session.

use crate::json::{Raw, Str};
use crate::model::{Event, Session, time};
use crate::pipe::Events;

/// What has been said of the session. Line after line repeats it; only what changed is an event.
#[derive(Debug, Default)]
pub struct SessionNews {
    known: Session<'static>,
    has_begun: bool,
    /// When the session was written last, as its head holds it.
    updated: Option<Raw<'static>>,
}

impl SessionNews {
    /// What is known so far.
    pub fn known(&self) -> &Session<'static> {
        &self.known
    }

    /// Begins a session of which nothing is known yet: a line tells that another one follows, but not which.
    pub fn begin(&mut self, agent: &'static str, out: &mut Events<'_>) {
        self.has_begun = true;
        let agent = Some(Str::escaped(agent));
        out.event(&Event::SessionStarted(Session { agent, ..Session::default() }));
    }

    /// The head of a session, or a line of its own, holds when the log was written last. What follows the head is earlier,
    /// and of several lines the latest counts, so that one is told when the session ends. The values stay where they are.
    pub fn updated(&mut self, time: &Raw<'_>) {
        let latest = self.updated.as_ref().and_then(time::epoch_millis);
        if time::epoch_millis(time) >= latest {
            self.updated = Some(time.clone().into_owned());
        }
    }

    /// Nothing more comes of the session.
    pub fn end(&mut self, out: &mut Events<'_>) {
        if let Some(time) = self.updated.take() {
            out.event_unclaimed(&Event::Clock(time));
        }
    }

    /// Says what a line of the agent tells of the session, as far as it is new. With the first of it the session begins.
    pub fn tell(&mut self, agent: &'static str, told: Session<'_>, out: &mut Events<'_>) {
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
