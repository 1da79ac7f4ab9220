//! Order: the only file that defines the valid order of events.
//!
//! Start before delta before completed; every started item is completed; a turn that began ends. Items left open at
//! the end of a source are closed here as interrupted, so that no writer needs to handle this case.

use super::OpenItems;
use crate::json::Str;
use crate::model::{Event, Failure, FailureClass, ItemTail, Status};
use crate::tape::TapePlace;

/// The open items and the open turn.
#[derive(Debug)]
pub struct Lifecycle {
    items: OpenItems<ReadPlace>,
    turn: Option<()>,
    /// The maximum number of open items.
    most: usize,
}

/// The place that an event was read from, and the number of its frame.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReadPlace {
    pub(super) frame: u64,
    pub(super) place: TapePlace,
}

impl ReadPlace {
    /// The place of a later event of the item: the item itself if the reader is around it, or else where the reader is. An
    /// item may go on in the next element of a list.
    #[inline]
    fn of_later(self, frame: u64, here: TapePlace) -> TapePlace {
        if self.frame == frame && here.contains(self.place) { self.place } else { here }
    }
}

/// The decision about an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(feature = "_exhaustive"), non_exhaustive)]
pub enum Verdict {
    /// The event is in order.
    Pass,
    /// The event is out of order; the text describes the error.
    Refuse(&'static str),
}

impl Lifecycle {
    /// A state without open items, with a limit on their number.
    pub fn new(most: usize) -> Self {
        Self { items: OpenItems::default(), turn: None, most }
    }

    /// Checks an event and records the items it opens and closes.
    pub fn observe(&mut self, event: &Event<'_>) -> Verdict {
        let mut place = TapePlace::FRAME;
        self.observe_at(event, 0, &mut place)
    }

    /// The same for an event that the reader of a frame says at a place. The place becomes that of the event's item.
    #[inline]
    pub(crate) fn observe_at(&mut self, event: &Event<'_>, frame: u64, place: &mut TapePlace) -> Verdict {
        match event {
            Event::ItemStarted(head) => {
                if self.items.get(head.id).is_some() {
                    return Verdict::Refuse("item started twice");
                }
                if head.within.is_some_and(|message| self.items.get(message).is_none()) {
                    return Verdict::Refuse("item started within a message that is not open");
                }
                if self.items.len() >= self.most {
                    return Verdict::Refuse("too many items open at once");
                }
                self.items.insert(head.id, ReadPlace { frame, place: *place });
            }
            Event::ItemDelta(delta) => match self.items.get(delta.item) {
                Some(item) => *place = item.of_later(frame, *place),
                None => return Verdict::Refuse("delta for an item that is not open"),
            },
            Event::ItemCompleted(tail) => match self.items.remove(tail.id) {
                Some(item) if item.frame == frame => *place = item.place,
                Some(_) => {}
                None => return Verdict::Refuse("completed an item that is not open"),
            },
            Event::TurnStarted(_) => self.turn = Some(()),
            Event::TurnEnded(_) | Event::Error(_) => self.turn = None,
            Event::SessionStarted(_)
            | Event::SessionUpdated(_)
            | Event::SessionEnded(_)
            | Event::Clock(_)
            | Event::Rewound(_)
            | Event::Compacted(_)
            | Event::Model(_)
            | Event::Request(_)
            | Event::Usage(_)
            | Event::PermissionRequested(_)
            | Event::PermissionResolved(_)
            | Event::QuestionRequested(_)
            | Event::QuestionResolved(_) => {}
        }
        Verdict::Pass
    }

    /// The events that close the open items and the turn at the end of a source: innermost items first, then the turn.
    pub fn closing(&mut self) -> impl Iterator<Item = Event<'static>> + use<> {
        let items = std::mem::take(&mut self.items);
        let cut = self.turn.take().map(|()| {
            Event::Error(Failure {
                class: FailureClass::Incomplete,
                status: None,
                code: None,
                message: Str::escaped("the stream ended before the response was complete"),
                request_id: None,
                retry_after: None,
            })
        });
        items
            .into_ids()
            .map(|id| {
                Event::ItemCompleted(ItemTail {
                    id,
                    status: Status::Interrupted,
                    native_status: None,
                    is_error: None,
                    exit_code: None,
                    duration: None,
                })
            })
            .chain(cut)
    }
}
