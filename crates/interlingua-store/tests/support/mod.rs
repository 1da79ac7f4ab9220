//! Exchanges for tests.

#![allow(dead_code, reason = "each test file uses some of these functions")]

pub(crate) mod session_suite;
pub(crate) mod suite;

use interlingua_store::{StoredAttempt, StoredExchange, StoredFailure};

/// A time on a full hour.
pub(crate) const NOON: u64 = 1_794_744_000_000;

/// Text that does not repeat.
pub(crate) fn noise(length: usize, seed: u64) -> String {
    let mut state = seed.wrapping_mul(2_862_933_555_777_941_757).wrapping_add(3_037_000_493);
    let mut letter = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        char::from(b"abcdefghijklmnopqrstuvwxyz     ."[(state >> 59) as usize])
    };
    (0..length).map(|_| letter()).collect()
}

/// A small exchange that started `offset` milliseconds after [`NOON`].
pub(crate) fn exchange(id: &str, offset: u64) -> StoredExchange {
    let mut exchange = StoredExchange::default();
    exchange.facts.id = id.into();
    exchange.facts.started_ms = NOON + offset;
    exchange.facts.duration_ms = 40;
    exchange.facts.client_dialect = "openai-chat".into();
    exchange.facts.path = "/v1/chat/completions".into();
    exchange.facts.client = "ann".into();
    exchange.facts.conversation = "c1".into();
    exchange.facts.backend = "claude".into();
    exchange.facts.backend_dialect = "anthropic".into();
    exchange.facts.model_asked = "gpt-5.5".into();
    exchange.facts.model_sent = "claude-opus-5-5".into();
    exchange.facts.status = 200;
    exchange.receipt = r#"{"lost":0}"#.into();
    exchange.request = format!(r#"{{"model":"gpt-5.5","id":"{id}"}}"#).into();
    exchange.response = "{}".into();
    exchange
}

/// An exchange with a value in every member.
pub(crate) fn full_exchange(id: &str) -> StoredExchange {
    let mut exchange = exchange(id, 7);
    let facts = &mut exchange.facts;
    facts.response_id = Some("resp_1".to_owned());
    facts.previous_response = Some("resp_0".to_owned());
    facts.status = 529;
    facts.streamed = true;
    facts.cancelled = true;
    let message = "the server says \"no\"\n\u{1f980}".to_owned();
    facts.failure = Some(StoredFailure { class: "overloaded".to_owned(), message });
    facts.stop = Some("error".to_owned());
    facts.usage.input = Some(1);
    facts.usage.cache_read = Some(2);
    facts.usage.cache_write = Some(3);
    facts.usage.output = Some(4);
    facts.usage.reasoning = Some(0);
    facts.cost = Some(123_456_789_012);
    facts.losses = 5;
    let failed =
        StoredAttempt { backend: "a".to_owned(), status: None, reason: "refused".to_owned(), duration_ms: 3 };
    let second = StoredAttempt { backend: "b".to_owned(), status: Some(529), ..StoredAttempt::default() };
    facts.attempts = vec![failed, second];
    exchange.receipt = format!(r#"{{"notes":"{}"}}"#, noise(3000, 1));
    exchange.request = noise(200_000, 2).into();
    exchange.response = [noise(50_000, 3).as_bytes(), &[0, 255, 254]].concat().into();
    exchange
}
