//! Order: the only file that knows which event may follow which.
//!
//! Start before delta before completed; every started item is completed; a turn that began ends. What a source leaves
//! open when it stops is closed here as interrupted, so no writer has to wonder. Writers whose target cannot
//! interleave items (Anthropic) put [`Sequential`] before themselves.

use std::collections::VecDeque;

use crate::model::{Delta, Event, Failure, FailureClass, ItemHead, ItemId, ItemTail, Status};
use crate::text::Str;

/// What is open.
#[derive(Debug, Default)]
pub struct Lifecycle {
    items: Vec<ItemId>,
    turn: Option<()>,
}

/// What to do with an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is in order.
    Pass,
    /// It is out of order; the words say how.
    Refuse(&'static str),
}

impl Lifecycle {
    /// Judges an event and remembers what it opens and closes.
    pub fn observe(&mut self, event: &Event<'_>) -> Verdict {
        match event {
            Event::ItemStarted(head) => {
                if self.items.contains(&head.id) {
                    return Verdict::Refuse("item started twice");
                }
                if head.within.is_some_and(|message| !self.items.contains(&message)) {
                    return Verdict::Refuse("item started within a message that is not open");
                }
                self.items.push(head.id);
            }
            Event::ItemDelta(delta) if !self.items.contains(&delta.item) => {
                return Verdict::Refuse("delta for an item that is not open");
            }
            Event::ItemCompleted(tail) => match self.items.iter().position(|&id| id == tail.id) {
                Some(at) => {
                    self.items.remove(at);
                }
                None => return Verdict::Refuse("completed an item that is not open"),
            },
            Event::TurnStarted(_) => self.turn = Some(()),
            Event::TurnEnded(_) | Event::Error(_) => self.turn = None,
            Event::ItemDelta(_)
            | Event::SessionStarted(_)
            | Event::SessionUpdated(_)
            | Event::SessionEnded(_)
            | Event::Request(_)
            | Event::Usage(_)
            | Event::PermissionRequested(_)
            | Event::PermissionResolved(_)
            | Event::QuestionRequested(_)
            | Event::QuestionResolved(_) => {}
        }
        Verdict::Pass
    }

    /// What must still be said when the source stops: innermost items first, then the turn.
    pub fn closing(&mut self) -> impl Iterator<Item = Event<'static>> + use<> {
        let mut items = std::mem::take(&mut self.items);
        items.reverse();
        let cut = self.turn.take().map(|()| {
            Event::Error(Failure {
                class: FailureClass::Server,
                status: None,
                code: Some(Str::escaped("incomplete_stream")),
                message: Str::escaped("the stream ended before the response was complete"),
                request_id: None,
            })
        });
        items
            .into_iter()
            .map(|id| {
                Event::ItemCompleted(ItemTail {
                    id,
                    status: Status::Interrupted,
                    native_status: None,
                    is_error: None,
                })
            })
            .chain(cut)
    }
}

/// Holds back what may not interleave: blocks of one message go out one after the other, in the order they began.
#[derive(Debug, Default)]
pub struct Sequential {
    /// The block whose events pass through.
    current: Option<ItemId>,
    held: VecDeque<Held>,
}

#[derive(Debug)]
struct Held {
    head: ItemHead<'static>,
    deltas: Vec<Delta<'static>>,
    tail: Option<ItemTail<'static>>,
}

impl Sequential {
    /// Passes `event` on now or later. Only items that lie within a message are ordered.
    pub fn event(&mut self, event: &Event<'_>, write: &mut dyn FnMut(&Event<'_>)) {
        match event {
            Event::ItemStarted(head) if head.within.is_some() => {
                if self.current.is_none() {
                    self.current = Some(head.id);
                    write(event);
                } else {
                    self.held.push_back(Held {
                        head: head.clone().into_owned(),
                        deltas: Vec::new(),
                        tail: None,
                    });
                }
            }
            Event::ItemDelta(delta) => match self.held.iter_mut().find(|held| held.head.id == delta.item) {
                Some(held) => held.deltas.push(delta.clone().into_owned()),
                None => write(event),
            },
            Event::ItemCompleted(tail) => {
                if let Some(held) = self.held.iter_mut().find(|held| held.head.id == tail.id) {
                    held.tail = Some(tail.clone().into_owned());
                } else {
                    write(event);
                    if self.current == Some(tail.id) {
                        self.current = None;
                        self.release(write);
                    }
                }
            }
            other => write(other),
        }
    }

    /// Whether a block is open, so that text of the message itself would interleave with it.
    pub fn is_busy(&self) -> bool {
        self.current.is_some()
    }

    fn release(&mut self, write: &mut dyn FnMut(&Event<'_>)) {
        while self.current.is_none() {
            let Some(Held { head, deltas, tail }) = self.held.pop_front() else { return };
            self.current = Some(head.id);
            write(&Event::ItemStarted(head));
            for delta in deltas {
                write(&Event::ItemDelta(delta));
            }
            if let Some(tail) = tail {
                write(&Event::ItemCompleted(tail));
                self.current = None;
            }
        }
    }
}
