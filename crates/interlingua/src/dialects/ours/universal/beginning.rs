//! The beginning of a session, while neither its id nor a time is known: every event has both. A line that holds neither,
//! such as the answer to a control request, may come first; it waits for a line that does.
//!
//! A live source shows each event at once, so little may wait there: lines that are no part of the conversation wait for
//! the id of the session, and nothing waits for a time beyond its own line.

use super::EPOCH;
use crate::model::{Event, ItemKind, Session, Time, time};

/// Input that waits.
#[derive(Default)]
pub(super) struct Beginning {
    inputs: Vec<EarlyInput>,
    bytes: usize,
    has_session: bool,
    time: Option<String>,
    /// The source is complete: nobody waits for its events.
    whole: bool,
}

/// Something that came before the first event.
#[expect(clippy::large_enum_variant, reason = "few are held, and only before the first event")]
pub(super) enum EarlyInput {
    Event(Event<'static>),
    /// A frame ends; its line, and what to call it if it told nothing.
    FrameEnd(Option<(String, String)>),
    /// Bytes that cannot be read, and where they stand.
    Unreadable {
        owner: String,
        bytes: Vec<u8>,
        why: &'static str,
        more: bool,
        place: String,
    },
}

/// What is known when the first event is written.
pub(super) struct Begun {
    pub(super) inputs: Vec<EarlyInput>,
    /// What the source tells of the session, with its id.
    pub(super) session: Option<Session<'static>>,
    /// The first time that the source tells, in UTC.
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

    /// Takes an event. Returns whether it waits no longer.
    pub(super) fn event(&mut self, event: &Event<'_>) -> bool {
        self.has_session |= session_of(event).is_some_and(|session| session.id.is_some());
        if self.time.is_none() {
            self.time = time_of(event).and_then(time::utc).filter(|time| time.as_str() >= EPOCH);
        }
        let is_urgent = !self.whole && !may_wait(event);
        self.inputs.push(EarlyInput::Event(event.clone().into_owned()));
        is_urgent || (self.has_session && self.time.is_some()) || self.is_full()
    }

    /// Takes the end of a frame, or bytes that cannot be read. Returns whether they wait no longer.
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

    /// Ends the wait. The event that names the session is no input any more.
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

/// Whether nobody needs to see the event at once.
fn may_wait(event: &Event<'_>) -> bool {
    match event {
        Event::ItemStarted(head) => matches!(head.kind, ItemKind::Notice(_)),
        // Of an item that waits: any other has ended the wait.
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
