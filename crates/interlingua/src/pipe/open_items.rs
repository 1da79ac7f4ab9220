//! State of each open item.

use std::collections::VecDeque;

use crate::model::ItemId;

/// The state of each open item, in the order the items began, which is the order of their numbers. Items end at either
/// end of the list: most events belong to the last item, and of many parallel calls the first ends first.
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

    /// Adds an open item.
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

    /// Removes an item that ended.
    #[inline]
    pub(crate) fn remove(&mut self, item: ItemId) -> Option<T> {
        match self.0.back() {
            Some((last, _)) if *last == item => self.0.pop_back(),
            _ => self.0.remove(self.find(item).ok()?),
        }
        .map(|(_, known)| known)
    }

    /// All open items, innermost first.
    pub(crate) fn into_ids(self) -> impl Iterator<Item = ItemId> {
        self.0.into_iter().rev().map(|(item, _)| item)
    }

    /// The position of an item, or its insertion point.
    #[inline]
    fn find(&self, item: ItemId) -> Result<usize, usize> {
        match self.0.back() {
            Some((last, _)) if *last >= item => self.0.binary_search_by_key(&item, |(known, _)| *known),
            _ => Err(self.0.len()),
        }
    }
}
