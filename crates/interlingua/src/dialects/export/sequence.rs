//! The events of a source in sequence: complete items, one after the other, and the events between them. A live source
//! interleaves items; an item that begins while another item is open waits for the end of that item, with all events
//! after its start.

use std::collections::{HashMap, VecDeque};
use std::hash::BuildHasherDefault;

use crate::json::Raw;
use crate::ledger::Identity;
use crate::log::{GatheredItem, GatheredItems};
use crate::model::{Event, ItemId};

/// A complete item, or an event that is not an item.
#[derive(Clone, Copy)]
pub(super) enum Unit<'u> {
    /// A complete item, and the source's clock at its start.
    Item(GatheredItem<'u>, Option<&'u Raw<'static>>),
    /// An event that is not an item.
    Event(&'u Event<'u>),
}

/// The units that wait for the end of an open item.
#[derive(Default)]
pub(super) struct Sequence {
    waiting: VecDeque<Waiting>,
    /// The number of units that have left the queue.
    gone: usize,
    /// The number of the unit that holds each open item.
    places: HashMap<ItemId, usize, BuildHasherDefault<Identity>>,
    /// The last clock of the source that no unit has shown.
    clock: Option<Raw<'static>>,
}

#[expect(clippy::large_enum_variant, reason = "the queue is short")]
enum Waiting {
    Item { items: GatheredItems, root: ItemId, clock: Option<Raw<'static>>, complete: bool },
    Event(Event<'static>),
}

impl Sequence {
    /// Takes the next event, and passes every unit that is complete to `write`.
    pub(super) fn event(&mut self, event: &Event<'_>, write: &mut impl FnMut(Unit<'_>)) {
        match event {
            Event::Clock(time) => {
                // No item took the clock before.
                let unused = self.clock.replace(time.clone().into_owned());
                if let Some(unused) = unused.filter(|unused| unused.as_str() != time.as_str()) {
                    self.add(&Event::Clock(unused), write);
                }
            }
            Event::ItemStarted(head) => {
                let around = head.within.and_then(|around| self.places.get(&around).copied());
                let clock = self.clock.take();
                let place = around.unwrap_or(self.gone + self.waiting.len());
                self.places.insert(head.id, place);
                if let Some(items) = self.items_at(place) {
                    items.start(head, None);
                } else {
                    let mut items = GatheredItems::default();
                    items.start(head, None);
                    self.waiting.push_back(Waiting::Item { items, root: head.id, clock, complete: false });
                    return;
                }
                // The clock of an inner item is the clock of the next unit.
                self.clock = clock;
            }
            Event::ItemDelta(delta) => {
                if let Some(items) = self.places.get(&delta.item).copied().and_then(|at| self.items_at(at)) {
                    items.delta(delta);
                }
            }
            Event::ItemCompleted(tail) => {
                let Some(place) = self.places.remove(&tail.id) else { return };
                if let Some(items) = self.items_at(place) {
                    items.complete(tail);
                }
                if let Some(Waiting::Item { root, complete, .. }) = self.waiting.get_mut(place - self.gone)
                    && *root == tail.id
                {
                    *complete = true;
                }
                self.release(write);
            }
            Event::SessionStarted(_)
            | Event::SessionUpdated(_)
            | Event::SessionEnded(_)
            | Event::Request(_)
            | Event::TurnStarted(_)
            | Event::TurnEnded(_)
            | Event::Usage(_)
            | Event::Model(_)
            | Event::Rewound(_)
            | Event::Compacted(_)
            | Event::PermissionRequested(_)
            | Event::PermissionResolved(_)
            | Event::QuestionRequested(_)
            | Event::QuestionResolved(_)
            | Event::Error(_) => {
                if let Some(clock) = self.clock.take() {
                    self.add(&Event::Clock(clock), write);
                }
                self.add(event, write);
            }
        }
    }

    /// Ends the source: every unit is passed on, also items without an end.
    pub(super) fn finish(&mut self, write: &mut impl FnMut(Unit<'_>)) {
        for waiting in &mut self.waiting {
            if let Waiting::Item { complete, .. } = waiting {
                *complete = true;
            }
        }
        self.release(write);
        if let Some(clock) = self.clock.take() {
            write(Unit::Event(&Event::Clock(clock)));
        }
    }

    fn items_at(&mut self, place: usize) -> Option<&mut GatheredItems> {
        match self.waiting.get_mut(place.checked_sub(self.gone)?) {
            Some(Waiting::Item { items, .. }) => Some(items),
            Some(Waiting::Event(_)) | None => None,
        }
    }

    fn add(&mut self, event: &Event<'_>, write: &mut impl FnMut(Unit<'_>)) {
        if self.waiting.is_empty() {
            write(Unit::Event(event));
        } else {
            self.waiting.push_back(Waiting::Event(event.clone().into_owned()));
        }
    }

    fn release(&mut self, write: &mut impl FnMut(Unit<'_>)) {
        let is_ready = |waiting: &Waiting| match waiting {
            Waiting::Item { complete, .. } => *complete,
            Waiting::Event(_) => true,
        };
        while self.waiting.front().is_some_and(is_ready) {
            let Some(ready) = self.waiting.pop_front() else { return };
            self.gone += 1;
            match &ready {
                Waiting::Event(event) => write(Unit::Event(event)),
                Waiting::Item { items, clock, .. } => {
                    if let Some(item) = items.root() {
                        write(Unit::Item(item, clock.as_ref()));
                    }
                }
            }
        }
    }
}
