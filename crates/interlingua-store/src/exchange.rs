//! The row of the store: one finished model call.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use interlingua::json::Str;
use interlingua::model::Usage;
use interlingua::tape::{Limits, TapeBuf};

/// A finished model call with its bodies.
///
/// Credentials are in headers, and no header is stored.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct StoredExchange {
    /// Every value except the bodies.
    pub facts: ExchangeFacts,
    /// The report of the translation as JSON.
    pub receipt: String,
    /// The request body as the client sent it.
    pub request: Bytes,
    /// The response body as the client received it.
    pub response: Bytes,
}

impl StoredExchange {
    /// A call that starts now, with a new id. The caller fills the other members.
    pub fn begin() -> Self {
        let started_ms = now_ms();
        let facts = ExchangeFacts { id: new_id(started_ms), started_ms, ..ExchangeFacts::default() };
        Self { facts, ..Self::default() }
    }

    /// The bytes that the exchange needs in memory.
    pub(crate) fn weight(&self) -> usize {
        ROW_OVERHEAD + self.receipt.len() + self.request.len() + self.response.len()
    }
}

/// The bytes that the facts of a row need, as an estimate.
pub(crate) const ROW_OVERHEAD: usize = 400;

/// The values of a finished model call, without its bodies.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ExchangeFacts {
    /// The id of the exchange. Ids from [`StoredExchange::begin`] are in the order of their creation.
    pub id: String,
    /// The start, in milliseconds since 1970.
    pub started_ms: u64,
    /// The time from the start to the last byte of the response.
    pub duration_ms: u64,
    /// The dialect of the client.
    pub client_dialect: String,
    /// The path of the HTTP request. A query is not stored, because it may hold a key.
    pub path: String,
    /// The name of the client, as the configuration names the client's key.
    pub client: String,
    /// The id of the conversation. [`crate::ExchangeRecorder`] fills an empty id.
    pub conversation: String,
    /// The id in the response, if a later request may continue the response. [`crate::ExchangeRecorder`] fills the id.
    pub response_id: Option<String>,
    /// The id of the response that the request continues (`previous_response_id`). [`crate::ExchangeRecorder`] fills the id.
    pub previous_response: Option<String>,
    /// The name of the backend that answered.
    pub backend: String,
    /// The dialect of the backend.
    pub backend_dialect: String,
    /// The model in the client's request.
    pub model_asked: String,
    /// The model in the request to the backend.
    pub model_sent: String,
    /// The HTTP status of the response to the client.
    pub status: u16,
    /// Whether the response is a stream.
    pub streamed: bool,
    /// Whether the client left before the end of the response.
    pub cancelled: bool,
    /// The failure, if the call failed.
    pub failure: Option<StoredFailure>,
    /// The stop reason: a word of [`interlingua::model::StopClass`].
    pub stop: Option<String>,
    /// The token counts. The store holds input, cache reads, cache writes, output and reasoning.
    pub usage: Usage,
    /// The cost in picodollars (a dollar is 10^12), if the prices are known.
    pub cost: Option<u64>,
    /// The number of values that did not reach the other side.
    pub losses: u64,
    /// The attempts, in order, if there were several backends or retries.
    pub attempts: Vec<StoredAttempt>,
}

/// The failure of a model call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoredFailure {
    /// The class: a word of [`interlingua::model::FailureClass`].
    pub class: String,
    /// The message for people.
    pub message: String,
}

/// One attempt to get an answer from a backend.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoredAttempt {
    /// The name of the backend.
    pub backend: String,
    /// The HTTP status; `None` if there was no response.
    pub status: Option<u16>,
    /// The reason of the failure; empty for a success.
    pub reason: String,
    /// The duration in milliseconds.
    pub duration_ms: u64,
}

/// The attempts as JSON; empty without attempts.
pub(crate) fn attempts_to_json(attempts: &[StoredAttempt]) -> String {
    if attempts.is_empty() {
        return String::new();
    }
    let rows = attempts.iter().map(|StoredAttempt { backend, status, reason, duration_ms }| {
        let status = status.map_or("null".to_owned(), |status| status.to_string());
        let (backend, reason) = (Str::from_plain(backend), Str::from_plain(reason));
        let (backend, reason) = (backend.as_escaped(), reason.as_escaped());
        format!(r#"{{"backend":"{backend}","status":{status},"reason":"{reason}","ms":{duration_ms}}}"#)
    });
    format!("[{}]", rows.collect::<Vec<_>>().join(","))
}

/// The inverse of [`attempts_to_json`]; `None` if the text is damaged.
pub(crate) fn attempts_from_json(json: &str) -> Option<Vec<StoredAttempt>> {
    if json.is_empty() {
        return Some(Vec::new());
    }
    let mut tape = TapeBuf::default();
    let tape = tape.parse(json, &Limits::default()).ok()?;
    let attempt = |row: interlingua::tape::Val<'_>| {
        Some(StoredAttempt {
            backend: row.get("backend")?.str()?.decode().into_owned(),
            status: row.get("status")?.u64().and_then(|status| u16::try_from(status).ok()),
            reason: row.get("reason")?.str()?.decode().into_owned(),
            duration_ms: row.get("ms")?.u64()?,
        })
    };
    tape.root().elements().map(attempt).collect()
}

/// The current time in milliseconds since 1970.
pub(crate) fn now_ms() -> u64 {
    // A clock before 1970 is a clock that was never set.
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
}

/// A new id: `ex_` and 26 characters, of which the first 13 are the time and a counter, so that ids of one process sort
/// by their creation. The other 13 characters are random, so that ids of two processes differ.
fn new_id(now_ms: u64) -> String {
    static LAST: AtomicU64 = AtomicU64::new(0);
    let floor = now_ms << 16;
    let last = LAST.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |last| Some(floor.max(last + 1)));
    // The closure always returns a value, so `fetch_update` returns the value before the update.
    let order = floor.max(last.unwrap_or(0) + 1);
    let mut id = String::with_capacity(29);
    id.push_str("ex_");
    push_digits(&mut id, order);
    push_digits(&mut id, random(order));
    id
}

/// A random name of 13 characters.
pub(crate) fn random_name() -> String {
    let mut name = String::with_capacity(13);
    push_digits(&mut name, random(now_ms()));
    name
}

fn random(seed: u64) -> u64 {
    let mut hasher = RandomState::new().build_hasher();
    hasher.write_u64(seed);
    hasher.finish()
}

/// Appends a number as 13 digits.
fn push_digits(text: &mut String, number: u64) {
    for place in (0..13).rev() {
        let digit = (number >> (place * 5)) & 31;
        text.push(char::from(DIGITS[digit as usize]));
    }
}

/// The digits of base 32 in ascending order, without letters that look like digits.
const DIGITS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_ascend_and_differ() {
        let ids: Vec<String> = (0..100_000).map(|_| StoredExchange::begin().facts.id).collect();
        assert!(ids.windows(2).all(|pair| pair[0] < pair[1]));
        assert!(ids.iter().all(|id| id.len() == 29));
        assert!(new_id(now_ms()) < new_id(now_ms() + 10_000));
    }

    #[test]
    fn attempts_come_back() {
        let one = StoredAttempt {
            backend: "a\"b".into(),
            status: Some(529),
            reason: "over\nloaded".into(),
            duration_ms: 7,
        };
        let two = StoredAttempt { backend: "c".into(), status: None, ..StoredAttempt::default() };
        let all = vec![one, two];
        assert_eq!(attempts_from_json(&attempts_to_json(&all)), Some(all));
        assert_eq!(attempts_from_json(""), Some(Vec::new()));
        assert_eq!(attempts_from_json("[{}]"), None);
    }
}
