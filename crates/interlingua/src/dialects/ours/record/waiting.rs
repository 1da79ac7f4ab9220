//! What must wait. A live source says several things at once, and entries and children stand one after the other: what
//! comes while an item is open, and does not belong to it or to what it holds, waits behind it.
//!
//! Each event is looked up by its item, and waits at most once on each level, so time is linear however much is open.

use std::collections::{HashMap, VecDeque};
use std::hash::BuildHasherDefault;

use crate::ledger::Identity;
use crate::model::{Event, ItemId};

type ById<T> = HashMap<ItemId, T, BuildHasherDefault<Identity>>;

/// What waits, and where each item is that has not ended.
pub(super) struct Waiting {
    places: ById<Whereabouts>,
    /// What waits on each level: first what waits for the entry, then what waits for a child of each open node.
    levels: Vec<VecDeque<u64>>,
    units: HashMap<u64, WaitingUnit, BuildHasherDefault<Identity>>,
    /// The number of the next unit; they are numbered as they come.
    next: u64,
}

/// Where an item is that has not ended.
#[derive(Clone, Copy)]
enum Whereabouts {
    /// It is written, on that level: 1 for the entry.
    Open(usize),
    /// It waits in that unit.
    Waiting(u64),
}

/// What goes on together.
pub(super) enum WaitingUnit {
    /// The beginning of an item and what has come of it since, or a piece of an item that has an open child.
    Item(Vec<Event<'static>>),
    /// An event that is an entry of its own.
    Apart(Box<Event<'static>>),
    /// Bytes that could not be read.
    Unreadable { owner: String, bytes: Vec<u8>, why: &'static str, more: bool },
}

/// What an event must wait for.
#[derive(Clone, Copy)]
pub(super) enum WaitsFor {
    /// Its item, which waits itself.
    Its(u64),
    /// What is open on that level.
    Level(usize),
}

impl Default for Waiting {
    fn default() -> Self {
        Self { places: ById::default(), levels: vec![VecDeque::new()], units: HashMap::default(), next: 0 }
    }
}

impl Waiting {
    /// How many items are open, each within the one before.
    pub(super) fn depth(&self) -> usize {
        self.levels.len() - 1
    }

    /// An item begins to be written, within the innermost one.
    pub(super) fn opened(&mut self, item: ItemId) {
        self.levels.push(VecDeque::new());
        self.places.insert(item, Whereabouts::Open(self.depth()));
    }

    /// The innermost item is written. What waits for a child of it (its entry had to end before it did) waits for the
    /// next entry now.
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

    /// What an item that begins within that one must wait for, if for anything.
    pub(super) fn start_waits_for(&self, within: Option<ItemId>) -> Option<WaitsFor> {
        match within.filter(|message| self.places.contains_key(message)) {
            Some(message) => self.piece_waits_for(message),
            None => (self.depth() > 0).then_some(WaitsFor::Level(0)),
        }
    }

    /// What a piece, or the end, of that item must wait for, if for anything.
    pub(super) fn piece_waits_for(&self, item: ItemId) -> Option<WaitsFor> {
        match *self.places.get(&item)? {
            Whereabouts::Waiting(unit) => Some(WaitsFor::Its(unit)),
            Whereabouts::Open(level) => {
                let free = level == self.depth() && self.levels.get(level).is_none_or(VecDeque::is_empty);
                (!free).then_some(WaitsFor::Level(level))
            }
        }
    }

    /// An event of an item waits.
    pub(super) fn wait(&mut self, event: &Event<'_>, reason: WaitsFor) {
        let event = event.clone().into_owned();
        let (unit, level) = match reason {
            WaitsFor::Its(unit) => (unit, 0),
            WaitsFor::Level(level) => (self.next, level),
        };
        if let Event::ItemStarted(head) = &event {
            self.places.insert(head.id, Whereabouts::Waiting(unit));
        }
        match self.units.get_mut(&unit) {
            Some(WaitingUnit::Item(events)) => events.push(event),
            _ => self.push(level, WaitingUnit::Item(vec![event])),
        }
    }

    /// Something that is an entry of its own waits.
    pub(super) fn wait_apart(&mut self, unit: WaitingUnit) {
        self.push(0, unit);
    }

    fn push(&mut self, level: usize, unit: WaitingUnit) {
        self.units.insert(self.next, unit);
        if let Some(level) = self.levels.get_mut(level) {
            level.push_back(self.next);
        }
        self.next += 1;
    }

    /// What goes on within the innermost open item; or, if none is open, as the next entry.
    pub(super) fn next(&mut self) -> Option<WaitingUnit> {
        let unit = self.levels.last_mut()?.pop_front()?;
        self.units.remove(&unit)
    }

    /// Whether nothing waits for the entry to end.
    pub(super) fn is_empty(&self) -> bool {
        self.units.is_empty()
    }
}
