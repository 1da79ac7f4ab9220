//! Puts items one after the other, in every log: a live source interleaves items, while frames are sequential. An item
//! that begins while another item is open waits until that item ends. Inner items stay with their outer item.

use std::collections::{BTreeMap, HashMap};
use std::hash::BuildHasherDefault;

use super::LogStage;
use crate::ledger::Identity;
use crate::model::{Event, ItemId};

/// Holds back the events of items that begin while another item is open.
#[derive(Debug, Default)]
pub(super) struct ItemSerializer {
    /// The item whose events pass.
    current: Option<ItemId>,
    /// The outermost item of each open item.
    roots: HashMap<ItemId, ItemId, BuildHasherDefault<Identity>>,
    /// Events of the waiting items, in the order the items began.
    waiting: BTreeMap<ItemId, Vec<Event<'static>>>,
}

impl LogStage for ItemSerializer {
    fn holds(&mut self, event: &Event<'_>) -> bool {
        let Some(id) = event.item() else { return false };
        let root = match event {
            Event::ItemStarted(head) => {
                let root = head.within.and_then(|message| self.roots.get(&message)).copied();
                let root = root.unwrap_or(id);
                self.roots.insert(id, root);
                if root == id && self.current.is_none() {
                    self.current = Some(root);
                }
                root
            }
            _ => self.roots.get(&id).copied().unwrap_or(id),
        };
        if let Event::ItemCompleted(_) = event {
            self.roots.remove(&id);
        }
        if self.current != Some(root) {
            self.waiting.entry(root).or_default().push(event.clone().into_owned());
            return true;
        }
        if let Event::ItemCompleted(_) = event
            && id == root
        {
            self.current = None;
        }
        false
    }

    /// The events of the next waiting item, if no item is current. The item becomes current, unless it is complete.
    fn release(&mut self) -> Option<Vec<Event<'static>>> {
        if self.current.is_some() {
            return None;
        }
        let (root, events) = self.waiting.pop_first()?;
        let complete = |event: &Event<'_>| matches!(event, Event::ItemCompleted(tail) if tail.id == root);
        if !events.iter().any(complete) {
            self.current = Some(root);
        }
        Some(events)
    }
}
