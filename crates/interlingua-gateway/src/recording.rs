//! Calls in the store, with their receipts.

use interlingua_models::prices::Picodollars;
use interlingua_record::contract::{CallProof, Digest, Receipt, Route};
use interlingua_store::{
    ExchangeRecorder, RecorderSettings, Reply, Retention, StoreError, StorePlace, StoreTrouble,
    StoredAttempt, StoredExchange, StoredFailure,
};

use crate::clients::Client;
use crate::config::StoreSettings;
use crate::finished::{CallBodies, FinishedCall};

/// The store of a gateway.
#[derive(Clone, Debug)]
pub(crate) struct CallStore {
    recorder: ExchangeRecorder,
    /// Whether an answer ends only after its call is stored.
    is_durable: bool,
}

impl CallStore {
    /// Opens the store. `report` gets events for the operator.
    pub(crate) fn open(
        settings: &StoreSettings,
        report: impl Fn(&StoreTrouble<'_>) + Send + 'static,
    ) -> Result<Self, StoreError> {
        const DAY_MS: u64 = 86_400_000;
        let Ok(place) = settings.place.parse::<StorePlace>();
        let age = settings.max_age_days.map(|days| days.saturating_mul(DAY_MS));
        let recorder = RecorderSettings::new(place).with_retention(Retention::new(age, settings.max_bytes));
        Ok(Self { recorder: ExchangeRecorder::open(recorder, report)?, is_durable: settings.durable })
    }

    /// Whether an answer ends only after its call is stored.
    pub(crate) fn is_durable(&self) -> bool {
        self.is_durable
    }

    /// Records a call. The reply arrives when the call is stored; `None` if nobody has to wait for that.
    pub(crate) fn record(&self, call: FinishedCall) -> Option<Reply<()>> {
        let exchange = stored(call);
        if self.is_durable {
            return Some(self.recorder.record_and_flush(exchange));
        }
        self.recorder.record(exchange);
        None
    }

    /// The receipt of a call, for the client that made the call. A call without a client has a receipt for the operator.
    pub(crate) async fn receipt(&self, id: &str, client: &Client) -> Result<Option<String>, StoreError> {
        let id = id.to_owned();
        let found = self.recorder.read(move |store| store.get(&id)).await?;
        let is_theirs = |of: &str| of == client.name || (of.is_empty() && client.is_operator);
        Ok(found.filter(|found| is_theirs(&found.facts.client)).map(|found| found.receipt))
    }

    /// The computed cost of a client's calls from a time on, in milliseconds since 1970.
    pub(crate) async fn spent(&self, client: &str, since: u64) -> Result<Picodollars, StoreError> {
        let name = client.to_owned();
        let sums = self.recorder.read(move |store| store.sums(since, Some(&name))).await?;
        Ok(sums.iter().map(|sums| Picodollars::from(sums.cost)).sum())
    }

    /// Stores the calls that wait.
    pub(crate) fn close(&self) {
        self.recorder.close();
    }
}

/// The row of a call.
fn stored(mut call: FinishedCall) -> StoredExchange {
    let receipt = receipt(&mut call).to_json();
    let bodies = call.bodies.unwrap_or_default();
    let mut row = StoredExchange::default();
    row.receipt = receipt;
    row.request = bodies.request;
    row.response = bodies.returned.into();
    let facts = &mut row.facts;
    facts.id = call.id;
    facts.started_ms = call.started;
    facts.duration_ms = u64::try_from(call.duration.as_millis()).unwrap_or(u64::MAX);
    call.client_dialect.clone_into(&mut facts.client_dialect);
    facts.path = call.path;
    facts.client = call.client;
    facts.backend = call.backend;
    call.backend_dialect.clone_into(&mut facts.backend_dialect);
    facts.model_asked = call.model_asked;
    facts.model_sent = call.model_sent;
    facts.status = call.status;
    facts.streamed = call.is_stream;
    facts.cancelled = call.is_cancelled;
    facts.failure = call
        .failure
        .map(|failure| StoredFailure { class: failure.class.word().to_owned(), message: failure.message });
    facts.stop = call.stop.map(|stop| stop.word().to_owned());
    facts.usage = call.usage.unwrap_or_default();
    facts.cost = call.cost.and_then(|cost| u64::try_from(cost).ok());
    facts.losses = call.losses;
    facts.attempts = call
        .attempts
        .into_iter()
        .map(|attempt| StoredAttempt {
            backend: attempt.backend,
            status: (attempt.status != 0).then_some(attempt.status),
            reason: attempt.failure,
            duration_ms: u64::try_from(attempt.duration.as_millis()).unwrap_or(u64::MAX),
        })
        .collect();
    row
}

/// The receipt of a call. The reports of the call move to the receipt.
fn receipt(call: &mut FinishedCall) -> Receipt {
    let named = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    let none = CallBodies::default();
    let bodies = call.bodies.as_ref().unwrap_or(&none);
    let digest = |bytes: &[u8]| (!bytes.is_empty()).then(|| Digest::of(bytes));
    // A copied body has the digest of its source. To compare bytes takes much less time than to digest them.
    let copied = |bytes: &[u8], source: &[u8], known: Option<&Digest>| {
        if bytes == source { known.cloned() } else { digest(bytes) }
    };
    let (asked, received) = (Digest::of(&bodies.request), digest(&bodies.received));
    let sent = copied(&bodies.sent, &bodies.request, Some(&asked).filter(|digest| digest.bytes > 0));
    let returned = copied(&bodies.returned, &bodies.received, received.as_ref());
    let mut reports = std::mem::take(&mut call.reports).into_iter();
    let (request, answer) = (reports.next().unwrap_or_default(), reports.next());
    let mut outcome = interlingua::pipe::CallOutcome::default();
    outcome.failure.clone_from(&call.failure);
    outcome.stop = call.stop;
    outcome.usage = call.usage;
    outcome.report = answer.unwrap_or_default();
    Receipt::of_call(CallProof {
        task: Some(call.id.clone()),
        route: Route {
            from: call.client_dialect.to_owned(),
            to: call.backend_dialect.to_owned(),
            backend: named(&call.backend),
            model: named(&call.model_sent),
        },
        request: asked,
        sent,
        response: received,
        returned,
        report: &request,
        outcome: Some(&outcome),
        previous: None,
    })
}
