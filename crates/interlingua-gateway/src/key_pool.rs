//! The keys of a backend. Calls take turns with them, and a key that the backend refuses rests for a while.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{HeaderName, HeaderValue};
use interlingua::model::FailureClass;
use memchr::memmem;

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
    /// Whether the backend refused the key, and did not only limit it.
    is_refused: AtomicBool,
}

/// All keys rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RestingKeys {
    /// Milliseconds until the first key is ready.
    pub(crate) left: u64,
    /// Whether the backend refused this key, and did not only limit it.
    pub(crate) is_refused: bool,
}

/// A key for a call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PickedKey<'p> {
    number: usize,
    pub(crate) header: &'p HeaderName,
    pub(crate) value: &'p HeaderValue,
}

impl PickedKey<'_> {
    /// The key without the words before it.
    fn secret(&self) -> &[u8] {
        let value = self.value.as_bytes();
        value.rsplit(|byte| *byte == b' ').next().unwrap_or(value)
    }

    /// A text of the backend without the key: servers repeat a key that they refuse, and the text reaches clients.
    pub(crate) fn removed_from(&self, text: Bytes) -> Bytes {
        let secret = self.secret();
        if secret.is_empty() || memmem::find(&text, secret).is_none() {
            return text;
        }
        let mut out = Vec::with_capacity(text.len());
        let mut rest = &text[..];
        while let Some(at) = memmem::find(rest, secret) {
            out.extend_from_slice(&rest[..at]);
            out.extend_from_slice(b"[key]");
            rest = &rest[at + secret.len()..];
        }
        out.extend_from_slice(rest);
        out.into()
    }
}

impl KeyPool {
    pub(crate) fn new(keys: impl IntoIterator<Item = (HeaderName, HeaderValue)>) -> Self {
        let pooled = |(header, mut value): (HeaderName, HeaderValue)| {
            value.set_sensitive(true);
            PooledKey { header, value, rests_until: AtomicU64::new(0), is_refused: AtomicBool::new(false) }
        };
        let keys = keys.into_iter().map(pooled).collect();
        Self { keys, turn: AtomicUsize::new(0), start: Instant::now() }
    }

    fn now(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// The next key that does not rest; `None` without keys. If all keys rest, the error is about the first that is ready
    /// again.
    pub(crate) fn pick(&self) -> Result<Option<PickedKey<'_>>, RestingKeys> {
        if self.keys.is_empty() {
            return Ok(None);
        }
        let (now, first) = (self.now(), self.turn.fetch_add(1, Ordering::Relaxed));
        let mut earliest = (u64::MAX, false);
        for offset in 0..self.keys.len() {
            let number = first.wrapping_add(offset) % self.keys.len();
            let key = &self.keys[number];
            let until = key.rests_until.load(Ordering::Relaxed);
            if until <= now {
                return Ok(Some(PickedKey { number, header: &key.header, value: &key.value }));
            }
            earliest = earliest.min((until, key.is_refused.load(Ordering::Relaxed)));
        }
        let (until, is_refused) = earliest;
        Err(RestingKeys { left: until.saturating_sub(now), is_refused })
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
            let key = &self.keys[key.number];
            key.is_refused.store(class != FailureClass::RateLimit, Ordering::Relaxed);
            key.rests_until.store(self.now().saturating_add(rest), Ordering::Relaxed);
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
        let resting = pool.pick().expect_err("it rests");
        assert!((50_000..=60_000).contains(&resting.left) && !resting.is_refused, "{resting:?}");
    }

    #[test]
    fn keys_that_are_all_refused_do_not_look_like_a_rate_limit() {
        let pool = pool(&["a", "b"]);
        for _ in 0..2 {
            let key = pool.pick().expect("ready").expect("a key");
            pool.failed(key, FailureClass::Authentication, None);
        }
        assert!(pool.pick().expect_err("both rest").is_refused);
    }

    #[test]
    fn a_text_loses_the_key_that_it_repeats() {
        let pool = pool(&["Bearer sk-one"]);
        let key = pool.pick().expect("ready").expect("a key");
        let of = |text: &'static str| key.removed_from(Bytes::from_static(text.as_bytes()));
        assert_eq!(of("wrong: sk-one, \"sk-one\""), "wrong: [key], \"[key]\"");
        assert_eq!(of("Bearer of news"), "Bearer of news");
    }

    #[test]
    fn a_failure_of_the_server_is_none_of_the_key() {
        let pool = pool(&["a", "b"]);
        let first = pool.pick().expect("ready").expect("a key");
        assert!(!pool.failed(first, FailureClass::Server, None));
        assert_eq!([picked(&pool), picked(&pool)], ["b", "a"]);
    }
}
