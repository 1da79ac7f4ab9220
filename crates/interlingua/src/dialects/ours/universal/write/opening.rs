//! The start and the end of a session's events: input before the session was known, unreadable lines, and failures.

use super::super::beginning::{Beginning, Begun, EarlyInput};
use super::super::data::put_unreadable;
use super::super::seed::Members;
use super::super::{EPOCH, SESSION_UPDATED};
use super::{Made, RawState, UniversalWriter};
use crate::dialects::ours::unreadable_run::UnreadableLines;
use crate::json::{Raw, Str};
use crate::model::{Author, Event, ItemTail, Neutral as _, Session, Spelling, Status, StopClass, Turn, time};
use crate::pipe::WriterOutput;

impl UniversalWriter {
    /// Writes the first event and the waiting input.
    pub(super) fn begin(&mut self, beginning: Beginning, out: &mut WriterOutput<'_>) {
        let is_whole = beginning.is_whole();
        let Begun { inputs, session, time } = beginning.end();
        self.time_is_made_up = time.is_none();
        if let Some(time) = time {
            self.time = time;
        } else {
            out.ledger.note("made up the time of events: the source holds none so far");
            // Converting a file twice must give the same output, so the caller's clock applies only to live sources.
            let now = self.now.filter(|_| !is_whole).map(|now| Raw::owned(now.to_string()));
            self.time = now.and_then(|now| time::utc(&now)).unwrap_or_else(|| EPOCH.to_owned());
        }
        if let Some(session) = &session {
            self.first(session, out);
        }
        let ends_frame = |input: &EarlyInput| !matches!(input, EarlyInput::Event(_));
        let here = inputs.iter().rposition(ends_frame).map_or(0, |at| at + 1);
        for (number, input) in inputs.into_iter().enumerate() {
            let mut out = if number < here { out.of_earlier_frames() } else { out.reborrow() };
            let out = &mut out;
            match input {
                EarlyInput::Event(event) => self.tell(&event, out),
                EarlyInput::FrameEnd(line) => {
                    self.end_unreadable(out);
                    let (line, label) = line.unzip();
                    if let Some(label) = label.filter(|_| self.raw == RawState::Unsaid) {
                        self.status(Made::ByAgent, &label, out, |json| _ = json.null());
                    }
                    self.release(line.as_deref(), out);
                }
                EarlyInput::Unreadable { owner, bytes, why, more, place } => {
                    let lines = UnreadableLines { owner: &owner, why, bytes: &bytes, lines: 1 };
                    self.unreadable(&lines, more, &place, out);
                }
            }
        }
    }

    /// Ends the wait, if input waits.
    pub(super) fn begin_now(&mut self, out: &mut WriterOutput<'_>) {
        if let Some(beginning) = self.beginning.take() {
            self.begin(beginning, out);
        }
    }

    /// Handles unreadable lines: the first is written at once, the others together.
    pub(super) fn unreadable(
        &mut self,
        lines: &UnreadableLines<'_>,
        more: bool,
        place: &str,
        out: &mut WriterOutput<'_>,
    ) {
        let UnreadableLines { owner, why, bytes, .. } = *lines;
        if self.unreadable.joins(owner, bytes, why, more) {
            return;
        }
        let follows = self.was_unreadable;
        self.end_unreadable(out);
        self.was_unreadable = true;
        place.clone_into(&mut self.unreadable_at);
        if !follows || !self.unreadable.begins(owner, bytes, why, more) {
            let said = (self.holds_unreadable() && !more, self.members);
            self.unreadable_at.clear();
            self.say(Made::ByUs, "agent.unparsed", out, |json| put_unreadable(lines, place, said, json));
        }
    }

    /// Writes the remaining unreadable lines, if any.
    #[inline]
    pub(super) fn end_unreadable(&mut self, out: &mut WriterOutput<'_>) {
        self.was_unreadable = false;
        if !self.unreadable.is_empty() {
            let (mut run, place) =
                (std::mem::take(&mut self.unreadable), std::mem::take(&mut self.unreadable_at));
            if let Some(lines) = run.end() {
                let said = (self.holds_unreadable(), self.members);
                self.say(Made::ByUs, "agent.unparsed", out, |json| {
                    put_unreadable(&lines, &place, said, json);
                });
            }
        }
    }

    /// Adds the raw line to the waiting event and writes the output after it.
    pub(super) fn release(&mut self, raw: Option<&str>, out: &mut WriterOutput<'_>) {
        if std::mem::take(&mut self.raw) == RawState::Unsaid {
            self.early_raw = raw.map(str::to_owned).or_else(|| self.early_raw.take());
            return;
        }
        let early = self.early_raw.take();
        match raw.or(early.as_deref()) {
            Some(raw) => drop(out.json.raw(&Raw::new(raw.trim()))),
            None => drop(out.json.null()),
        }
        out.json.end_object().end_frame("\n");
        out.json.bytes(self.held.bytes());
        self.held.clear();
    }

    /// Writes the first event, which holds the known session values.
    pub(super) fn first(&mut self, session: &Session<'_>, out: &mut WriterOutput<'_>) {
        let own = |text: &Str<'_>| text.as_escaped().to_owned();
        let named = || self.source_name.as_ref().map(|name| own(&Str::plain(name)));
        self.native_session = session.id.as_ref().map(own);
        let native = || self.native_session.clone();
        let id = self.session_id.clone().or_else(native).or_else(named);
        self.session = Some(id.unwrap_or_else(|| "unknown".to_owned()));
        if let Some(start) = &session.start {
            self.tick(start);
        }
        let members = self.members;
        self.write(Made::ByUs, "session.started", out, |json| {
            json.object();
            if members == Members::All {
                json.key("metadata");
                session.write(Spelling::Snake, json);
            }
            json.end_object();
        });
    }

    pub(super) fn session(&mut self, session: &Session<'_>, out: &mut WriterOutput<'_>) {
        if self.session.is_none() {
            return self.first(session, out);
        }
        // A stream has one session, so a further session without facts adds nothing.
        if *session == Session::default() {
            return;
        }
        if let Some(id) = &session.id {
            self.native_session = Some(id.as_escaped().to_owned());
        }
        self.status_of(SESSION_UPDATED, session, out);
    }

    /// Tracks whether the model's last output was a failure.
    pub(super) fn watch_failure(&mut self, event: &Event<'_>) {
        match event {
            Event::Error(_) => self.failed = true,
            Event::TurnEnded(Turn { stop: Some(stop), .. }) | Event::Usage(Turn { stop: Some(stop), .. }) => {
                self.failed = stop.class == StopClass::Error;
            }
            Event::ItemCompleted(ItemTail { id, status: Status::Completed, .. }) => {
                self.failed &= self.open.get(id).is_some_and(|item| {
                    // Claude Code repeats the failure as a synthetic message.
                    let model = item.circumstances.model.as_ref();
                    let is_synthetic = model.is_some_and(|model| model.is("<synthetic>"));
                    item.author != Author::Assistant || is_synthetic || item.is_unseen()
                });
            }
            _ => {}
        }
    }
}
