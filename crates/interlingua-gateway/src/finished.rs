//! The end of a call: its facts go to the counters, to the client's budget, and to the recorder.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use interlingua::dialects::Dialect;
use interlingua::ledger::Report;
use interlingua::model::{StopClass, Usage};
use interlingua::pipe::{CallFailure, CallOutcome};
use interlingua_models::Prices;
use interlingua_models::prices::Picodollars;
use interlingua_store::Reply;
use tokio::sync::OwnedSemaphorePermit;

use crate::backend::ReadyBackend;
use crate::call::{FailedCall, losses};
use crate::clients::Reservation;
use crate::feed::CallFeed;
use crate::metrics::Metrics;
use crate::recording::CallStore;
use crate::stored_responses::StoredResponses;
use crate::telemetry::Telemetry;

/// A model call that has ended.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct FinishedCall {
    /// The id, which sorts by time.
    pub id: String,
    /// The start in milliseconds since 1970.
    pub started: u64,
    /// The time from the request to the end of the answer.
    pub duration: Duration,
    /// The name of the client; empty if no client has the key of the call.
    pub client: String,
    /// The dialect of the client.
    pub client_dialect: &'static str,
    /// The path of the endpoint, without a query.
    pub path: String,
    /// Whether the answer is a stream.
    pub is_stream: bool,
    /// The name of the backend; empty if the gateway itself refused the call.
    pub backend: String,
    /// The dialect of the backend.
    pub backend_dialect: &'static str,
    /// The model that the client asked for.
    pub model_asked: String,
    /// The model that the backend was asked for.
    pub model_sent: String,
    /// The model that answered, as the backend named it.
    pub model_answered: Option<String>,
    /// The host of the backend, if spans are sent and the backend is a server.
    pub server_address: Option<String>,
    /// The trace that the call is a part of, as the client sent it, if spans are sent.
    pub traceparent: Option<String>,
    /// The HTTP status that the client got.
    pub status: u16,
    /// The failure, if any.
    pub failure: Option<CallFailure>,
    /// The stop reason.
    pub stop: Option<StopClass>,
    /// The usage, as the backend reported it.
    pub usage: Option<Usage>,
    /// The computed cost, if the price of the model is known.
    pub cost: Option<Picodollars>,
    /// The number of values that were lost on the way there and back.
    pub losses: u64,
    /// The reports of the request and of the answer.
    pub reports: Vec<Report>,
    /// The attempts, the last of which answered.
    pub attempts: Vec<Attempt>,
    /// Whether the client left before the end.
    pub is_cancelled: bool,
    /// The bodies, if calls are recorded.
    pub bodies: Option<CallBodies>,
}

/// An attempt to answer a call.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Attempt {
    /// The name of the backend.
    pub backend: String,
    /// The HTTP status of the backend; 0 without an answer.
    pub status: u16,
    /// The message of its failure; empty after a success.
    pub failure: String,
    /// The time until its answer began or failed.
    pub duration: Duration,
}

/// The bodies of a call.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct CallBodies {
    /// The request of the client.
    pub request: Bytes,
    /// The request to the backend.
    pub sent: Bytes,
    /// The answer of the backend.
    pub received: Vec<u8>,
    /// The answer for the client.
    pub returned: Vec<u8>,
}

/// Takes the calls that have ended.
pub trait Recorder: Send + Sync {
    /// Records a call. This method must not wait.
    fn record(&self, call: FinishedCall);
}

/// The parts of a gateway that outlive its configuration.
pub(crate) struct CallLog {
    pub(crate) metrics: Metrics,
    prices: KnownPrices,
    pub(crate) recorder: Option<Arc<dyn Recorder>>,
    pub(crate) store: Option<CallStore>,
    pub(crate) responses: Arc<StoredResponses>,
    pub(crate) feed: Arc<CallFeed>,
    pub(crate) telemetry: Option<Telemetry>,
    pub(crate) start: Instant,
}

/// The largest size of the stored responses in bytes.
const RESPONSE_STORE: usize = 256 << 20;

impl CallLog {
    pub(crate) fn new(
        recorder: Option<Arc<dyn Recorder>>,
        store: Option<CallStore>,
        telemetry: Option<Telemetry>,
    ) -> Self {
        Self {
            metrics: Metrics::default(),
            prices: KnownPrices { prices: Prices::built_in(), names: Mutex::default() },
            recorder,
            store,
            responses: Arc::new(StoredResponses::new(RESPONSE_STORE)),
            feed: Arc::default(),
            telemetry,
            start: Instant::now(),
        }
    }
}

/// The prices of models, with the results of earlier searches for a model.
struct KnownPrices {
    prices: Prices,
    /// The models whose prices are used for a model, often the model itself; `None` for a model without prices.
    names: Mutex<HashMap<String, Option<String>>>,
}

/// The most models whose searches are remembered.
const MOST_NAMES: usize = 1000;

impl KnownPrices {
    /// The cost of a call; `None` if the price of the model is not known.
    fn cost(&self, model: &str, usage: &Usage) -> Option<Picodollars> {
        // No holder of the lock panics.
        let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(name) = names.get(model) {
            return Some(self.prices.cost(name.as_deref()?, usage)?.cost);
        }
        let own = || self.prices.cost(model, &Usage::default()).map(|_| model);
        let name = self.prices.stand_in_for(model).or_else(own);
        if names.len() < MOST_NAMES {
            names.insert(model.to_owned(), name.map(str::to_owned));
        }
        drop(names);
        Some(self.prices.cost(name?, usage)?.cost)
    }
}

/// A call in progress. A tracker that is dropped before [`CallTracker::finish`] is a call that the client left.
pub(crate) struct CallTracker {
    log: Arc<CallLog>,
    pub(crate) call: FinishedCall,
    start: Instant,
    /// The bytes that the client got.
    returned: u64,
    request_size: u64,
    pub(crate) reservation: Option<Reservation>,
    /// The answer, if later requests can continue it.
    pub(crate) kept: Option<KeptAnswer>,
    /// Limits of the client, of the gateway and of the backend.
    pub(crate) permits: Vec<OwnedSemaphorePermit>,
    is_finished: bool,
}

impl std::fmt::Debug for CallTracker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CallTracker").field("call", &self.call).finish_non_exhaustive()
    }
}

/// Distinguishes gateways that share a store.
static INSTANCE: LazyLock<u32> = LazyLock::new(|| {
    #[expect(clippy::cast_possible_truncation, reason = "random bits")]
    let bits = RandomState::new().hash_one(0) as u32;
    bits
});

static CALLS: AtomicU64 = AtomicU64::new(0);

/// The time in milliseconds since 1970, and a new id that sorts by time.
pub(crate) fn new_id() -> (u64, String) {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_millis());
    let now = u64::try_from(now).unwrap_or(u64::MAX);
    let number = CALLS.fetch_add(1, Ordering::Relaxed);
    let mut id = String::with_capacity(32);
    push_hex(&mut id, now, 11);
    id.push('-');
    push_hex(&mut id, u64::from(*INSTANCE), 8);
    id.push('-');
    push_hex(&mut id, number, 6);
    (now, id)
}

/// Appends a number in hexadecimal, with leading zeros up to this many digits. Formatting traits take ten times as long.
fn push_hex(text: &mut String, number: u64, least: u32) {
    let digits = (u64::BITS - number.leading_zeros()).div_ceil(4).max(least);
    for place in (0..digits).rev() {
        text.push(char::from(b"0123456789abcdef"[(number >> (4 * place)) as usize & 15]));
    }
}

/// An answer that later requests can continue.
pub(crate) struct KeptAnswer {
    pub(crate) stored: Arc<StoredResponses>,
    pub(crate) request: Bytes,
    pub(crate) returned: Vec<u8>,
}

impl CallTracker {
    pub(crate) fn new(log: Arc<CallLog>, client_dialect: &'static str, request: &Bytes) -> Self {
        log.metrics.opened();
        let (started, id) = new_id();
        let is_recorded = log.recorder.is_some() || log.store.is_some();
        let bodies = is_recorded.then(|| CallBodies { request: request.clone(), ..CallBodies::default() });
        let call = FinishedCall { id, started, client_dialect, bodies, ..FinishedCall::default() };
        Self {
            log,
            call,
            start: Instant::now(),
            returned: 0,
            request_size: request.len() as u64,
            reservation: None,
            kept: None,
            permits: Vec::new(),
            is_finished: false,
        }
    }

    /// The expected highest cost of a call with this limit on output tokens.
    pub(crate) fn expected_cost(&self, model: &str, max_tokens: Option<u64>) -> Option<Picodollars> {
        let usage = estimate(self.request_size, max_tokens.unwrap_or(USUAL_OUTPUT));
        self.log.prices.cost(model, &usage)
    }

    /// The backend and the model of the next attempt are set.
    pub(crate) fn attempted(&mut self, backend: &ReadyBackend) {
        self.log.feed.attempted(&self.call);
        if self.log.telemetry.is_some() {
            self.call.server_address = backend.host();
        }
    }

    /// The bytes sent to the backend.
    pub(crate) fn sent(&mut self, sent: &Bytes) {
        if let Some(bodies) = &mut self.call.bodies {
            bodies.sent = sent.clone();
        }
    }

    /// Bytes of the backend.
    pub(crate) fn received(&mut self, bytes: &[u8]) {
        if let Some(bodies) = &mut self.call.bodies {
            bodies.received.extend_from_slice(bytes);
        }
    }

    /// Bytes for the client.
    pub(crate) fn returned(&mut self, bytes: &[u8]) {
        self.returned += bytes.len() as u64;
        if let Some(kept) = &mut self.kept {
            kept.returned.extend_from_slice(bytes);
        }
        if let Some(bodies) = &mut self.call.bodies {
            bodies.returned.extend_from_slice(bytes);
        }
    }

    /// Whether the end of the answer waits until the call is stored.
    pub(crate) fn waits_for_store(&self) -> bool {
        self.log.store.as_ref().is_some_and(CallStore::is_durable)
    }

    /// The call has ended. The end of the answer waits for the reply of a durable store.
    pub(crate) fn finish(mut self, outcome: CallOutcome) -> Option<Reply<()>> {
        self.end(outcome, false)
    }

    /// The client has left, after this much of the answer.
    pub(crate) fn cancel(mut self, progress: CallOutcome) {
        self.end(progress, true);
    }

    /// The gateway has refused the call. The failure gets the id of the call.
    pub(crate) async fn refuse(mut self, failure: FailedCall) -> FailedCall {
        let FailedCall { class, message, retry_after, .. } = &failure;
        self.call.status = class.status();
        if let Some(dialect) = Dialect::named(self.call.client_dialect).filter(|_| self.call.bodies.is_some())
        {
            self.returned(&failure.body(dialect));
        }
        let outcome = CallOutcome::failed(CallFailure::of(*class, message, *retry_after));
        let id = self.call.id.clone();
        if let Some(stored) = self.end(outcome, false) {
            // The recorder reports its own errors; the refusal is right without it.
            let _ = stored.await;
        }
        FailedCall { call: Some(id), ..failure }
    }

    /// The request turned out to be no model call.
    pub(crate) fn forget(mut self) {
        self.is_finished = true;
        self.log.metrics.closed();
    }

    fn end(&mut self, outcome: CallOutcome, is_cancelled: bool) -> Option<Reply<()>> {
        self.is_finished = true;
        self.log.metrics.closed();
        self.permits.clear();
        let CallOutcome { failure, stop, usage, model, report, .. } = outcome;
        let call = &mut self.call;
        call.duration = self.start.elapsed();
        call.is_cancelled = is_cancelled;
        call.losses += losses(&report);
        (call.failure, call.stop, call.usage, call.model_answered) = (failure, stop, usage, model);
        let price = |usage: &Usage| self.log.prices.cost(&call.model_sent, usage);
        call.cost = call.usage.as_ref().and_then(price);
        if let Some(reservation) = self.reservation.take() {
            // An answer without counts costs an estimate: a client that leaves early must not get answers for nothing.
            let estimated = || price(&estimate(self.request_size, self.returned / BYTES_PER_TOKEN));
            match call.cost.or_else(|| if call.status >= 400 { Some(0) } else { estimated() }) {
                Some(cost) => reservation.settle(cost),
                None => reservation.settle_in_full(),
            }
        }
        if let Some(kept) = self.kept.take().filter(|_| !is_cancelled && call.status == 200) {
            kept.stored.store(&call.client, &kept.request, &kept.returned);
        }
        self.log.metrics.count(call);
        self.log.feed.ended(call);
        if let Some(telemetry) = &self.log.telemetry {
            telemetry.record(call);
        }
        // Without a recorder there are no bodies.
        call.bodies.as_ref()?;
        call.reports.push(report);
        let call = std::mem::take(call);
        if let Some(recorder) = &self.log.recorder {
            recorder.record(call.clone());
        }
        self.log.store.as_ref().and_then(|store| store.record(call))
    }
}

impl Drop for CallTracker {
    fn drop(&mut self) {
        if !self.is_finished {
            self.end(CallOutcome::default(), true);
        }
    }
}

/// The expected output of a request without a limit, in tokens.
const USUAL_OUTPUT: u64 = 4096;

const BYTES_PER_TOKEN: u64 = 4;

/// The usage of a request of this many bytes with this much output.
fn estimate(request_size: u64, output: u64) -> Usage {
    let mut usage = Usage::default();
    let Usage { input, output: written, .. } = &mut usage;
    (*input, *written) = (Some(request_size.div_ceil(BYTES_PER_TOKEN)), Some(output));
    usage
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_ids_have_leading_zeros() {
        for (number, least) in [(0, 6), (0x1a, 6), (0x0123_4567, 6), (u64::MAX, 11), (0, 1)] {
            let mut text = String::new();
            push_hex(&mut text, number, least);
            assert_eq!(text, format!("{number:0width$x}", width = least as usize));
        }
    }
}
