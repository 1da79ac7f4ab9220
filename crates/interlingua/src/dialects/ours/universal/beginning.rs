//! The start of a session, before its id and a time are known: every event has both. Lines without either, such as the
//! response to a control request, may come first; they wait until both are known.
//!
//! Events of a live source appear at once, so little may wait: only lines outside the conversation wait for the
//! session's id, and no event waits for a time beyond its own line.

use super::EPOCH;
use crate::model::{Event, ItemKind, Session, Time, time};

/// Input that waits for the first event.
#[derive(Default)]
pub(super) struct Beginning {
    inputs: Vec<EarlyInput>,
    bytes: usize,
    has_session: bool,
    time: Option<String>,
    /// Set if the source is complete: no consumer waits for its events.
    whole: bool,
}

/// Input before the first event.
#[expect(clippy::large_enum_variant, reason = "few are held, and only before the first event")]
pub(super) enum EarlyInput {
    Event(Event<'static>),
    /// The end of a frame: its line, and a name for the line if the frame had no event.
    FrameEnd(Option<(String, String)>),
    /// Unreadable bytes and their position.
    Unreadable {
        owner: String,
        bytes: Vec<u8>,
        why: &'static str,
        more: bool,
        place: String,
    },
}

/// The state when the first event is written.
pub(super) struct Begun {
    pub(super) inputs: Vec<EarlyInput>,
    /// The session values of the source, with the id.
    pub(super) session: Option<Session<'static>>,
    /// The first time in the source, in UTC.
    pub(super) time: Option<String>,
}

impl Beginning {
    const MOST: usize = 256;
    const MOST_BYTES: usize = 1 << 20;

    pub(super) fn new(whole: bool) -> Self {
        Self { whole, ..Self::default() }
    }

    pub(super) const fn is_whole(&self) -> bool {
        self.whole
    }

    /// Adds an event. Returns whether the wait is over.
    pub(super) fn event(&mut self, event: &Event<'_>) -> bool {
        self.has_session |= session_of(event).is_some_and(|session| session.id.is_some());
        if self.time.is_none() {
            self.time = time_of(event).and_then(time::utc).filter(|time| time.as_str() >= EPOCH);
        }
        let is_urgent = !self.whole && !may_wait(event);
        self.inputs.push(EarlyInput::Event(event.clone().into_owned()));
        is_urgent || (self.has_session && self.time.is_some()) || self.is_full()
    }

    /// Adds the end of a frame, or unreadable bytes. Returns whether the wait is over.
    pub(super) fn frame(&mut self, input: EarlyInput) -> bool {
        self.bytes += match &input {
            EarlyInput::Event(_) | EarlyInput::FrameEnd(None) => 0,
            EarlyInput::FrameEnd(Some((line, _))) => line.len(),
            EarlyInput::Unreadable { bytes, .. } => bytes.len(),
        };
        self.inputs.push(input);
        (self.has_session && !self.whole) || self.is_full()
    }

    fn is_full(&self) -> bool {
        self.inputs.len() >= Self::MOST || self.bytes >= Self::MOST_BYTES
    }

    /// Ends the wait. The event with the session's id is removed from the inputs.
    pub(super) fn end(self) -> Begun {
        let Self { mut inputs, time, .. } = self;
        let has_id = |input: &EarlyInput| matches!(input, EarlyInput::Event(event) if session_of(event).is_some_and(|it| it.id.is_some()));
        let named = inputs.iter().position(has_id).map(|at| inputs.remove(at));
        let session = match named {
            Some(EarlyInput::Event(Event::SessionStarted(session) | Event::SessionUpdated(session))) => {
                Some(session)
            }
            _ => None,
        };
        Begun { inputs, session, time }
    }
}

fn session_of<'e, 'a>(event: &'e Event<'a>) -> Option<&'e Session<'a>> {
    match event {
        Event::SessionStarted(session) | Event::SessionUpdated(session) => Some(session),
        _ => None,
    }
}

fn time_of<'e, 'a>(event: &'e Event<'a>) -> Option<&'e Time<'a>> {
    match event {
        Event::SessionStarted(session) | Event::SessionUpdated(session) => session.start.as_ref(),
        Event::ItemStarted(head) => head.time.as_ref(),
        Event::TurnStarted(turn) | Event::TurnEnded(turn) | Event::Usage(turn) => turn.time.as_ref(),
        Event::Clock(time) => Some(time),
        Event::SessionEnded(_)
        | Event::Request(_)
        | Event::ItemDelta(_)
        | Event::ItemCompleted(_)
        | Event::Model(_)
        | Event::Rewound(_)
        | Event::Compacted(_)
        | Event::PermissionRequested(_)
        | Event::PermissionResolved(_)
        | Event::QuestionRequested(_)
        | Event::QuestionResolved(_)
        | Event::Error(_) => None,
    }
}

/// Whether the event may be delayed.
fn may_wait(event: &Event<'_>) -> bool {
    match event {
        Event::ItemStarted(head) => matches!(head.kind, ItemKind::Notice(_)),
        // The item of the event waits; any other item would have ended the wait.
        Event::ItemDelta(_) | Event::ItemCompleted(_) => true,
        Event::SessionStarted(_)
        | Event::SessionUpdated(_)
        | Event::Clock(_)
        | Event::Request(_)
        | Event::Model(_) => true,
        Event::Usage(_)
        | Event::TurnStarted(_)
        | Event::TurnEnded(_)
        | Event::SessionEnded(_)
        | Event::Rewound(_)
        | Event::Compacted(_)
        | Event::PermissionRequested(_)
        | Event::PermissionResolved(_)
        | Event::QuestionRequested(_)
        | Event::QuestionResolved(_)
        | Event::Error(_) => false,
    }
}
