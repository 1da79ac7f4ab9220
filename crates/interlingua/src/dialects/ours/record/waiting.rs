//! The queue of waiting events. A live source interleaves items, but entries and children are written in sequence: an
//! event that arrives while an unrelated item is open waits until that item ends.
//!
//! Each event is looked up by its item, and waits at most once on each level, so the time is linear in the input.

use std::collections::{HashMap, VecDeque};
use std::hash::BuildHasherDefault;

use crate::ledger::Identity;
use crate::model::{Event, ItemId};

type ById<T> = HashMap<ItemId, T, BuildHasherDefault<Identity>>;

/// The waiting units, and the state of each open item.
pub(super) struct PendingEntries {
    places: ById<Whereabouts>,
    /// The units waiting on each level: first those that wait for the entry, then those that wait for a child of each
    /// open node.
    levels: Vec<VecDeque<u64>>,
    units: HashMap<u64, PendingUnit, BuildHasherDefault<Identity>>,
    /// The number of the next unit, in order of arrival.
    next: u64,
}

/// The state of an open item.
#[derive(Clone, Copy)]
enum Whereabouts {
    /// Being written, on this level: 1 for the entry.
    Open(usize),
    /// Waiting in this unit.
    PendingEntries(u64),
}

/// Events that are written together.
pub(super) enum PendingUnit {
    /// The start of an item and its events so far, or a piece of an item that has an open child.
    Item(Vec<Event<'static>>),
    /// An event that is an entry of its own.
    Apart(Box<Event<'static>>),
    /// Unreadable bytes.
    Unreadable { owner: String, bytes: Vec<u8>, why: &'static str, more: bool },
}

/// The reason an event must wait.
#[derive(Clone, Copy)]
pub(super) enum WaitsFor {
    /// The item of the event waits in this unit.
    Its(u64),
    /// An item is open on this level.
    Level(usize),
}

impl Default for PendingEntries {
    fn default() -> Self {
        Self { places: ById::default(), levels: vec![VecDeque::new()], units: HashMap::default(), next: 0 }
    }
}

impl PendingEntries {
    /// The number of open items, each nested in the one before.
    pub(super) fn depth(&self) -> usize {
        self.levels.len() - 1
    }

    /// An item starts within the innermost item.
    pub(super) fn opened(&mut self, item: ItemId) {
        self.levels.push(VecDeque::new());
        self.places.insert(item, Whereabouts::Open(self.depth()));
    }

    /// The innermost item ends. If its entry ended early, units that wait for its child now wait for the next entry.
    pub(super) fn closed(&mut self, item: ItemId) {
        self.places.remove(&item);
        let orphans = if self.depth() > 0 { self.levels.pop() } else { None };
        if let (Some(orphans), Some(entries)) =
            (orphans.filter(|orphans| !orphans.is_empty()), self.levels.first_mut())
        {
            entries.extend(orphans);
            entries.make_contiguous().sort_unstable();
        }
    }

    /// The reason an item that starts in `within` must wait, if any.
    pub(super) fn start_waits_for(&self, within: Option<ItemId>) -> Option<WaitsFor> {
        match within.filter(|message| self.places.contains_key(message)) {
            Some(message) => self.piece_waits_for(message),
            None => (self.depth() > 0).then_some(WaitsFor::Level(0)),
        }
    }

    /// The reason a delta or the end of an item must wait, if any.
    pub(super) fn piece_waits_for(&self, item: ItemId) -> Option<WaitsFor> {
        match *self.places.get(&item)? {
            Whereabouts::PendingEntries(unit) => Some(WaitsFor::Its(unit)),
            Whereabouts::Open(level) => {
                let free = level == self.depth() && self.levels.get(level).is_none_or(VecDeque::is_empty);
                (!free).then_some(WaitsFor::Level(level))
            }
        }
    }

    /// Queues an event of an item.
    pub(super) fn wait(&mut self, event: &Event<'_>, reason: WaitsFor) {
        let event = event.clone().into_owned();
        let (unit, level) = match reason {
            WaitsFor::Its(unit) => (unit, 0),
            WaitsFor::Level(level) => (self.next, level),
        };
        if let Event::ItemStarted(head) = &event {
            self.places.insert(head.id, Whereabouts::PendingEntries(unit));
        }
        match self.units.get_mut(&unit) {
            Some(PendingUnit::Item(events)) => events.push(event),
            _ => self.push(level, PendingUnit::Item(vec![event])),
        }
    }

    /// Queues a unit that is an entry of its own.
    pub(super) fn wait_apart(&mut self, unit: PendingUnit) {
        self.push(0, unit);
    }

    fn push(&mut self, level: usize, unit: PendingUnit) {
        self.units.insert(self.next, unit);
        if let Some(level) = self.levels.get_mut(level) {
            level.push_back(self.next);
        }
        self.next += 1;
    }

    /// The next unit within the innermost open item; if no item is open, the next entry.
    pub(super) fn next(&mut self) -> Option<PendingUnit> {
        let unit = self.levels.last_mut()?.pop_front()?;
        self.units.remove(&unit)
    }

    /// Whether the queue is empty.
    pub(super) fn is_empty(&self) -> bool {
        self.units.is_empty()
    }
}
