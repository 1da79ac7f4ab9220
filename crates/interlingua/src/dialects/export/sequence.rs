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
    /// `open` counts the item and its inner items without an end: an inner item may end after the item around it.
    Item {
        items: GatheredItems,
        open: usize,
        clock: Option<Raw<'static>>,
    },
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
                if let Some((items, open)) = self.items_at(place) {
                    items.start(head, None);
                    *open += 1;
                } else {
                    let mut items = GatheredItems::default();
                    items.start(head, None);
                    self.waiting.push_back(Waiting::Item { items, open: 1, clock });
                    return;
                }
                // The clock of an inner item is the clock of the next unit.
                self.clock = clock;
            }
            Event::ItemDelta(delta) => {
                let place = self.places.get(&delta.item).copied();
                if let Some((items, _)) = place.and_then(|place| self.items_at(place)) {
                    items.delta(delta);
                }
            }
            Event::ItemCompleted(tail) => {
                let Some(place) = self.places.remove(&tail.id) else { return };
                if let Some((items, open)) = self.items_at(place) {
                    items.complete(tail);
                    *open -= 1;
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
            if let Waiting::Item { open, .. } = waiting {
                *open = 0;
            }
        }
        self.release(write);
        if let Some(clock) = self.clock.take() {
            write(Unit::Event(&Event::Clock(clock)));
        }
    }

    /// The unit of an open item, and the number of its items without an end.
    fn items_at(&mut self, place: usize) -> Option<(&mut GatheredItems, &mut usize)> {
        match self.waiting.get_mut(place.checked_sub(self.gone)?) {
            Some(Waiting::Item { items, open, .. }) => Some((items, open)),
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
            Waiting::Item { open, .. } => *open == 0,
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
