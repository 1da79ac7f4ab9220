//! What is known of each open item.

use std::collections::VecDeque;

use crate::model::ItemId;

/// What is known of each open item, in the order they began, which is that of their numbers. Items end at either end of
/// it: most events are about the one that began last, and of many calls at once the first ends first.
#[derive(Debug)]
pub(crate) struct OpenItems<T>(VecDeque<(ItemId, T)>);

impl<T> Default for OpenItems<T> {
    fn default() -> Self {
        Self(VecDeque::new())
    }
}

impl<T> OpenItems<T> {
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Adds an item that began.
    #[inline]
    pub(crate) fn insert(&mut self, item: ItemId, known: T) {
        match self.find(item) {
            Err(at) if at == self.0.len() => self.0.push_back((item, known)),
            Err(at) => self.0.insert(at, (item, known)),
            Ok(at) => self.0[at].1 = known,
        }
    }

    #[inline]
    pub(crate) fn get(&self, item: ItemId) -> Option<&T> {
        match self.0.back() {
            Some((last, known)) if *last == item => Some(known),
            _ => self.0.get(self.find(item).ok()?).map(|(_, known)| known),
        }
    }

    /// Forgets an item that ended.
    #[inline]
    pub(crate) fn remove(&mut self, item: ItemId) -> Option<T> {
        match self.0.back() {
            Some((last, _)) if *last == item => self.0.pop_back(),
            _ => self.0.remove(self.find(item).ok()?),
        }
        .map(|(_, known)| known)
    }

    /// All of them, innermost first.
    pub(crate) fn into_ids(self) -> impl Iterator<Item = ItemId> {
        self.0.into_iter().rev().map(|(item, _)| item)
    }

    /// Where an item stands, or would stand.
    #[inline]
    fn find(&self, item: ItemId) -> Result<usize, usize> {
        match self.0.back() {
            Some((last, _)) if *last >= item => self.0.binary_search_by_key(&item, |(known, _)| *known),
            _ => Err(self.0.len()),
        }
    }
}
