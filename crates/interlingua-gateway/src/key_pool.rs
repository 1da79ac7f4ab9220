//! The keys of a backend. Calls take turns with them, and a key that the backend refuses rests for a while.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use http::{HeaderName, HeaderValue};
use interlingua::model::FailureClass;

/// The rest of a key after a rate limit without a delay.
const LIMITED: Duration = Duration::from_secs(10);

/// The rest of a key that the backend does not accept.
const REFUSED: Duration = Duration::from_secs(300);

/// The keys of a backend.
#[derive(Debug)]
pub(crate) struct KeyPool {
    keys: Vec<PooledKey>,
    turn: AtomicUsize,
    /// The start of the clock of [`PooledKey::rests_until`].
    start: Instant,
}

#[derive(Debug)]
struct PooledKey {
    header: HeaderName,
    value: HeaderValue,
    /// Milliseconds after the start of the pool.
    rests_until: AtomicU64,
}

/// A key for a call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PickedKey<'p> {
    number: usize,
    pub(crate) header: &'p HeaderName,
    pub(crate) value: &'p HeaderValue,
}

impl KeyPool {
    pub(crate) fn new(keys: impl IntoIterator<Item = (HeaderName, HeaderValue)>) -> Self {
        let pooled = |(header, mut value): (HeaderName, HeaderValue)| {
            value.set_sensitive(true);
            PooledKey { header, value, rests_until: AtomicU64::new(0) }
        };
        let keys = keys.into_iter().map(pooled).collect();
        Self { keys, turn: AtomicUsize::new(0), start: Instant::now() }
    }

    fn now(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// The next key that does not rest; `None` without keys. If all keys rest, the error has the milliseconds until the
    /// first of them is ready.
    pub(crate) fn pick(&self) -> Result<Option<PickedKey<'_>>, u64> {
        if self.keys.is_empty() {
            return Ok(None);
        }
        let (now, first) = (self.now(), self.turn.fetch_add(1, Ordering::Relaxed));
        let mut earliest = u64::MAX;
        for offset in 0..self.keys.len() {
            let number = first.wrapping_add(offset) % self.keys.len();
            let key = &self.keys[number];
            let until = key.rests_until.load(Ordering::Relaxed);
            if until <= now {
                return Ok(Some(PickedKey { number, header: &key.header, value: &key.value }));
            }
            earliest = earliest.min(until);
        }
        Err(earliest.saturating_sub(now))
    }

    /// Lets a key rest after a failure that belongs to the key; returns whether another key is ready. The only key of a
    /// backend rests only as long as the backend asks for: there is no other.
    pub(crate) fn failed(&self, key: PickedKey<'_>, class: FailureClass, retry_after: Option<u64>) -> bool {
        let asked = retry_after.map(Duration::from_millis);
        let rest = match class {
            FailureClass::RateLimit => asked.or_else(|| (self.keys.len() > 1).then_some(LIMITED)),
            FailureClass::Authentication | FailureClass::Billing | FailureClass::Permission => {
                (self.keys.len() > 1).then_some(REFUSED)
            }
            _ => return false,
        };
        if let Some(rest) = rest {
            let rest = u64::try_from(rest.as_millis()).unwrap_or(u64::MAX);
            self.keys[key.number].rests_until.store(self.now().saturating_add(rest), Ordering::Relaxed);
        }
        let now = self.now();
        let others = self.keys.iter().enumerate().filter(|(number, _)| *number != key.number);
        others.into_iter().any(|(_, other)| other.rests_until.load(Ordering::Relaxed) <= now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pool(keys: &[&'static str]) -> KeyPool {
        let header = HeaderName::from_static("x-api-key");
        KeyPool::new(keys.iter().map(|key| (header.clone(), HeaderValue::from_static(key))))
    }

    fn picked(pool: &KeyPool) -> &str {
        pool.pick().expect("a ready key").expect("a key").value.to_str().expect("text")
    }

    #[test]
    fn keys_take_turns() {
        let pool = pool(&["a", "b"]);
        assert_eq!([picked(&pool), picked(&pool), picked(&pool)], ["a", "b", "a"]);
        assert!(KeyPool::new([]).pick().expect("ready").is_none());
    }

    #[test]
    fn a_refused_key_rests_and_the_other_answers() {
        for (class, delay) in [(FailureClass::RateLimit, None), (FailureClass::Authentication, None)] {
            let pool = pool(&["a", "b"]);
            let first = pool.pick().expect("ready").expect("a key");
            assert!(pool.failed(first, class, delay), "another key is ready");
            assert_eq!([picked(&pool), picked(&pool)], ["b", "b"], "{class:?}");
        }
    }

    #[test]
    fn a_pool_whose_keys_all_rest_tells_for_how_long() {
        let pool = pool(&["a"]);
        let only = pool.pick().expect("ready").expect("a key");
        assert!(!pool.failed(only, FailureClass::RateLimit, Some(60_000)));
        let left = pool.pick().expect_err("it rests");
        assert!((50_000..=60_000).contains(&left), "{left}");
    }

    #[test]
    fn a_failure_of_the_server_is_none_of_the_key() {
        let pool = pool(&["a", "b"]);
        let first = pool.pick().expect("ready").expect("a key");
        assert!(!pool.failed(first, FailureClass::Server, None));
        assert_eq!([picked(&pool), picked(&pool)], ["b", "a"]);
    }
}
