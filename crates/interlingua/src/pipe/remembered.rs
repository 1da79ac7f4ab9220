//! What must be remembered until an answer comes that may never come.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

/// Things that wait for their answer, by name. Bounded: a source that asks and never answers must not fill the memory, and
/// so the one that has waited longest is forgotten.
#[derive(Debug)]
pub(crate) struct Remembered<T> {
    /// Each with its number.
    by_name: HashMap<Arc<str>, (u64, T)>,
    /// In the order they came. Those that were answered, or came again under another number, may still stand here.
    order: VecDeque<(u64, Arc<str>)>,
    count: u64,
}

impl<T> Default for Remembered<T> {
    fn default() -> Self {
        Self { by_name: HashMap::default(), order: VecDeque::new(), count: 0 }
    }
}

impl<T> Remembered<T> {
    /// So many may wait at once.
    const MOST: usize = 1 << 16;

    /// Remembers one; returns one that is forgotten for it.
    pub(crate) fn insert(&mut self, name: &str, value: T) -> Option<T> {
        self.count += 1;
        let (name, number) = (Arc::<str>::from(name), self.count);
        self.order.push_back((number, Arc::clone(&name)));
        self.by_name.insert(name, (number, value));
        if self.order.len() > 2 * Self::MOST {
            self.order.retain(|(number, name)| waits(&self.by_name, *number, name));
        }
        if self.by_name.len() <= Self::MOST {
            return None;
        }
        let oldest = std::iter::from_fn(|| self.order.pop_front());
        let oldest = oldest.into_iter().find(|(number, name)| waits(&self.by_name, *number, name))?;
        self.remove(&oldest.1)
    }

    pub(crate) fn get(&self, name: &str) -> Option<&T> {
        self.by_name.get(name).map(|(_, value)| value)
    }

    /// The answer has come.
    pub(crate) fn remove(&mut self, name: &str) -> Option<T> {
        self.by_name.remove(name).map(|(_, value)| value)
    }

    /// Nothing more comes: all that still wait, in the order they came.
    pub(crate) fn take_all(&mut self) -> impl Iterator<Item = T> {
        let Self { mut by_name, order, .. } = std::mem::take(self);
        order.into_iter().filter_map(move |(number, name)| {
            let (_, value) = waits(&by_name, number, &name).then(|| by_name.remove(&name))??;
            Some(value)
        })
    }
}

/// Whether the one of that number is still there.
fn waits<T>(by_name: &HashMap<Arc<str>, (u64, T)>, number: u64, name: &str) -> bool {
    by_name.get(name).is_some_and(|(known, _)| *known == number)
}

#[cfg(test)]
mod tests {
    use super::Remembered;

    #[test]
    fn the_one_that_waited_longest_is_forgotten() {
        let mut waiting = Remembered::default();
        let most = Remembered::<usize>::MOST;
        for number in 0..most {
            assert_eq!(waiting.insert(&number.to_string(), number), None);
        }
        assert_eq!(waiting.remove("0"), Some(0));
        assert_eq!(waiting.insert("a", 1), None, "an answer makes room");
        assert_eq!(waiting.insert("b", 2), Some(1), "1 is the oldest now");
        assert_eq!(waiting.get("1"), None);
        assert_eq!(waiting.get("2"), Some(&2));
        // What comes and is answered leaves nothing behind.
        for number in 0..10 * most {
            waiting.insert("c", number);
            waiting.remove("c");
        }
        assert!(waiting.order.len() <= 2 * most);
        assert_eq!(waiting.get("b"), Some(&2));
        waiting.insert("2", 0);
        let all: Vec<usize> = waiting.take_all().collect();
        assert_eq!((all.len(), all.first(), all.last()), (most, Some(&3), Some(&0)));
        assert_eq!(waiting.get("b"), None);
    }
}
