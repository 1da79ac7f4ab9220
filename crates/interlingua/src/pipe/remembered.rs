//! Values that are remembered until an answer arrives, if ever.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

/// Values that wait for their answer, by name. Bounded: a source whose requests are never answered must not exhaust
/// the memory, so the oldest value is dropped.
#[derive(Debug)]
pub(crate) struct Remembered<T> {
    /// Each value with its number.
    by_name: HashMap<Arc<str>, (u64, T)>,
    /// The values in order. Answered values, and values inserted again under a later number, may still be listed.
    order: VecDeque<(u64, Arc<str>)>,
    count: u64,
}

impl<T> Default for Remembered<T> {
    fn default() -> Self {
        Self { by_name: HashMap::default(), order: VecDeque::new(), count: 0 }
    }
}

impl<T> Remembered<T> {
    /// The maximum number of waiting values.
    const MOST: usize = 1 << 16;
    /// The number of waiting values below which stale numbers are not searched for.
    const FEW: usize = 32;

    /// Remembers a value; returns the value that was dropped for it, if any.
    pub(crate) fn insert(&mut self, name: &str, value: T) -> Option<T> {
        self.count += 1;
        let (name, number) = (Arc::<str>::from(name), self.count);
        self.order.push_back((number, Arc::clone(&name)));
        self.by_name.insert(name, (number, value));
        // Values that come and go leave numbers behind.
        if self.order.len() > 2 * self.by_name.len().max(Self::FEW) {
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

    pub(crate) fn get_mut(&mut self, name: &str) -> Option<&mut T> {
        self.by_name.get_mut(name).map(|(_, value)| value)
    }

    /// Removes and returns a value whose answer has arrived.
    pub(crate) fn remove(&mut self, name: &str) -> Option<T> {
        self.by_name.remove(name).map(|(_, value)| value)
    }

    /// Removes and returns all waiting values, in order.
    pub(crate) fn take_all(&mut self) -> impl Iterator<Item = T> {
        self.take_all_named().map(|(_, value)| value)
    }

    /// Removes and returns all waiting values with their names, in order.
    pub(crate) fn take_all_named(&mut self) -> impl Iterator<Item = (Arc<str>, T)> {
        let Self { mut by_name, order, .. } = std::mem::take(self);
        order.into_iter().filter_map(move |(number, name)| {
            let (_, value) = waits(&by_name, number, &name).then(|| by_name.remove(&name))??;
            Some((name, value))
        })
    }
}

/// Whether the value with the given number is still waiting.
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
        // A value that is inserted and answered leaves no entry behind.
        for number in 0..10 * most {
            waiting.insert("c", number);
            waiting.remove("c");
        }
        assert!(waiting.order.len() <= 2 * most);
        let mut few = Remembered::default();
        for number in 0..1000 {
            few.insert(&number.to_string(), number);
            few.remove(&number.to_string());
        }
        assert!(few.order.len() <= 64, "the memory follows the waiting values: {}", few.order.len());
        assert_eq!(waiting.get("b"), Some(&2));
        waiting.insert("2", 0);
        let all: Vec<usize> = waiting.take_all().collect();
        assert_eq!((all.len(), all.first(), all.last()), (most, Some(&3), Some(&0)));
        assert_eq!(waiting.get("b"), None);
    }
}
