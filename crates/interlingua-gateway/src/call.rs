//! One model call: the request of a client to a backend, and the answer back. A backend that fails is tried again, then
//! the next backend of the route.

use std::cell::Cell;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Response, header};
use http_body_util::BodyExt;
use interlingua::dialects::{Dialect, Options, Role};
use interlingua::json::Str;
use interlingua::ledger::{Reason, Report, Row};
use interlingua::model::{FailureClass, Field};
use interlingua::pipe::{
    AnswerPipe, AnswerWriter, Buffers, CallFailure, CallOutcome, Exchange, FailedResponse,
};
use interlingua::wire::endpoints::Endpoint;
use tokio::time::timeout;

use crate::answer_body::{AnswerBody, StreamedAnswer};
use crate::backend::{BackendBody, BackendRequest, BackendResponse, ReadyBackend};
use crate::backend_answer::{begins_stream, json_text, whole};
use crate::clients::Client;
use crate::compaction::Compaction;
use crate::connections::Connections;
use crate::finished::{Attempt, CallTracker, FinishedCall};
use crate::key_pool::PickedKey;
use crate::model_name::{has_model, with_model};
use crate::routes::{ReadyRoute, RouteTarget};

/// The request of a client.
#[derive(Debug)]
pub(crate) struct ClientCall<'g> {
    pub(crate) dialect: &'static Dialect,
    pub(crate) client: &'g Client,
    /// The requested model.
    pub(crate) model: String,
    /// Whether the answer is a stream, if the path says so.
    pub(crate) stream: Option<bool>,
    /// Whether the stream is a JSON array.
    pub(crate) is_array: bool,
    pub(crate) body: Bytes,
    /// Headers that the backend gets if it has the client's dialect.
    pub(crate) own_headers: HeaderMap,
    pub(crate) task: CallTask,
    /// The id of the answer, for answers that the gateway stores. Servers repeat ids, or have none.
    pub(crate) answer_id: Option<String>,
}

/// The task of a call beside an answer of the model.
#[derive(Debug)]
pub(crate) enum CallTask {
    Answer,
    /// A request that only backends with the client's dialect understand, for their endpoint.
    Forward(&'static Endpoint),
    /// A summary in place of the conversation.
    Compact(Compaction),
}

/// The parts of a gateway that a call needs.
#[derive(Clone, Copy)]
pub(crate) struct CallContext<'g> {
    pub(crate) backends: &'g [ReadyBackend],
    pub(crate) connections: &'g std::sync::Arc<Connections>,
    pub(crate) idle_timeout: Duration,
}

/// A call that the gateway itself refuses or fails.
#[derive(Debug)]
pub(crate) struct FailedCall {
    pub(crate) class: FailureClass,
    pub(crate) message: String,
    pub(crate) retry_after: Option<u64>,
    /// The id of the call, once the call is counted.
    pub(crate) call: Option<String>,
}

impl FailedCall {
    pub(crate) fn new(class: FailureClass, message: impl Into<String>) -> Self {
        Self { class, message: message.into(), retry_after: None, call: None }
    }

    /// The failure in the client's dialect.
    pub(crate) fn body(&self, dialect: &'static Dialect) -> Vec<u8> {
        let mut out = Vec::new();
        if let Ok(mut answer) = AnswerWriter::new((dialect, Role::Response), &Options::default()) {
            answer.fail(self.class, &self.message, self.retry_after, &mut out);
            answer.finish(&mut out);
        }
        out
    }

    /// The failure as a response in the client's dialect.
    pub(crate) fn response(&self, dialect: &'static Dialect) -> Response<AnswerBody> {
        let mut response = json_response(self.class.status(), self.body(dialect), self.retry_after);
        let id = self.call.as_ref().and_then(|id| HeaderValue::from_str(id).ok());
        response.headers_mut().extend(id.map(|id| (CALL, id)));
        response
    }
}

/// A response with a JSON body.
pub(crate) fn json_response(
    status: u16,
    body: impl Into<Bytes>,
    retry_after: Option<u64>,
) -> Response<AnswerBody> {
    let mut response = Response::new(AnswerBody::whole(body));
    *response.status_mut() = http::StatusCode::from_u16(status).unwrap_or(http::StatusCode::BAD_GATEWAY);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if let Some(milliseconds) = retry_after {
        headers.insert(header::RETRY_AFTER, milliseconds.div_ceil(1000).into());
    }
    response
}

/// The header with the number of values of the request that did not reach the backend.
const LOSSES: HeaderName = HeaderName::from_static("x-interlingua-losses");

/// The header with the paths of these values, as far as they fit.
const LOST: HeaderName = HeaderName::from_static("x-interlingua-lost");

/// The largest size of the header with paths in bytes.
const MOST_PATHS: usize = 1000;

/// The header with the feature of an API that the gateway performs for a backend without the feature.
const EMULATED: HeaderName = HeaderName::from_static("x-interlingua-emulated");

/// The header with the name of the backend.
const BACKEND: HeaderName = HeaderName::from_static("x-interlingua-backend");

/// The header with the id of the call.
const CALL: HeaderName = HeaderName::from_static("x-interlingua-call");

/// The time that a stream without content is held back, while another attempt is still possible.
const HOLD: Duration = Duration::from_secs(10);

/// The pause before the first repetition. Each repetition doubles it.
const FIRST_PAUSE: Duration = Duration::from_millis(200);

/// An answer of a backend, translated for the client.
enum Answered {
    Whole(Box<WholeAnswer>),
    Streamed(Box<HeldStream>),
}

/// A whole answer, or an error.
struct WholeAnswer {
    status: u16,
    body: Vec<u8>,
    retry_after: Option<u64>,
    outcome: CallOutcome,
}

/// The answer that a call expects of a backend.
struct ExpectedAnswer<'c> {
    role: Role,
    /// Whether no further attempt is possible.
    is_last: bool,
    /// Whether the backend has another dialect than the client.
    is_translated: bool,
    idle_timeout: Duration,
    /// The key of the call, which the answer may repeat.
    key: Option<PickedKey<'c>>,
}

/// A stream up to its first content.
struct HeldStream {
    backend: BackendBody,
    /// The pipe, or the outcome of an answer that has ended already.
    pipe: Result<AnswerPipe, CallOutcome>,
    /// The output so far.
    out: Vec<u8>,
}

/// An attempt without an answer for the client.
struct FailedAttempt {
    class: FailureClass,
    /// The HTTP status of the backend; 0 without an answer.
    status: u16,
    message: String,
    repetition: Repetition,
    /// The answer for the client if this attempt is the last.
    answer: Answered,
}

/// Whether the same backend is tried again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Repetition {
    No,
    /// At once: the backend has another key.
    AtOnce,
    AfterPause,
}

impl ClientCall<'_> {
    /// Sends the call to the backends of a route until one answers.
    pub(crate) async fn run(
        &self,
        route: &ReadyRoute,
        context: CallContext<'_>,
        mut tracker: CallTracker,
    ) -> Result<Response<AnswerBody>, FailedCall> {
        let mut failed: Option<FailedAttempt> = None;
        for (position, target) in route.targets.iter().enumerate() {
            if failed.as_ref().is_some_and(|failed| !target.follows(failed.class)) {
                continue;
            }
            let backend = &context.backends[target.backend];
            if matches!(self.task, CallTask::Forward(_)) && !backend.serves(self.dialect) {
                continue;
            }
            let is_last_target = position + 1 == route.targets.len();
            let mut pause = FIRST_PAUSE;
            let mut repetitions = 0;
            loop {
                let is_last = is_last_target && repetitions >= backend.retries;
                let start = Instant::now();
                let attempt = self.attempt(route, target, context, is_last, &mut tracker).await;
                let duration = start.elapsed();
                let attempt = match attempt {
                    Ok(answered) => {
                        let (backend, failure) = (backend.name.clone(), String::new());
                        tracker.call.attempts.push(Attempt { backend, status: 200, failure, duration });
                        return Ok(self.respond(answered, context.idle_timeout, tracker).await);
                    }
                    Err(attempt) => attempt,
                };
                tracker.call.attempts.push(Attempt {
                    backend: backend.name.clone(),
                    status: attempt.status,
                    failure: attempt.message.clone(),
                    duration,
                });
                let repetition = attempt.repetition;
                // A pause or a limit of the gateway is no news after a failure of the backend itself.
                if attempt.status != 0 || failed.as_ref().is_none_or(|before| before.status == 0) {
                    failed = Some(attempt);
                }
                if repetition == Repetition::No || repetitions >= backend.retries {
                    break;
                }
                repetitions += 1;
                if repetition == Repetition::AfterPause {
                    tokio::time::sleep(pause).await;
                    pause *= 2;
                }
            }
        }
        match failed {
            Some(failed) => Ok(self.respond(failed.answer, context.idle_timeout, tracker).await),
            None => Err(FailedCall::new(FailureClass::NotFound, "the route has no backend")),
        }
    }

    /// Sends the call to a backend once. The first attempt that answers is the last.
    async fn attempt(
        &self,
        route: &ReadyRoute,
        target: &RouteTarget,
        context: CallContext<'_>,
        is_last: bool,
        tracker: &mut CallTracker,
    ) -> Result<Answered, FailedAttempt> {
        let backend = &context.backends[target.backend];
        let (api, dialect) = backend.api_for(self.dialect);
        let model = target.send.as_deref().unwrap_or(&self.model);
        tracker.call.backend.clone_from(&backend.name);
        tracker.call.backend_dialect = dialect.name;
        model.clone_into(&mut tracker.call.model_sent);
        tracker.attempted(backend);

        if let Err(pause) = backend.breaker.admit(Instant::now()) {
            let message = format!("the backend `{}` is paused after failures", backend.name);
            let retry_after = u64::try_from(pause.as_millis()).ok();
            let failure = FailedCall { retry_after, ..FailedCall::new(FailureClass::Overloaded, message) };
            return Err(self.own_failure(&failure, Repetition::No));
        }
        let key = backend.keys.pick().map_err(|resting| {
            let name = &backend.name;
            let (class, message) = if resting.is_refused {
                (FailureClass::Authentication, format!("the backend `{name}` refused its keys"))
            } else {
                (FailureClass::RateLimit, format!("the keys of the backend `{name}` rest after rate limits"))
            };
            let retry_after = Some(resting.left).filter(|_| !resting.is_refused);
            let failure = FailedCall { retry_after, ..FailedCall::new(class, message) };
            self.own_failure(&failure, Repetition::No)
        })?;
        if let Some(permits) = &backend.concurrent {
            let permit = std::sync::Arc::clone(permits).try_acquire_owned().map_err(|_| {
                let message = format!("the backend `{}` has its limit of open calls", backend.name);
                let failure = FailedCall {
                    retry_after: Some(1000),
                    ..FailedCall::new(FailureClass::Overloaded, message)
                };
                self.own_failure(&failure, Repetition::No)
            })?;
            tracker.permits.push(permit);
        }

        let (mut exchange, sent, role) = self
            .translated(route, target, backend, tracker)
            .map_err(|failure| self.own_failure(&failure, Repetition::No))?;
        let usual = || api.endpoint(Role::Request, role);
        let own = if let CallTask::Forward(endpoint) = self.task { Some(endpoint) } else { None };
        let endpoint = own.or_else(usual).ok_or_else(|| {
            let message = format!("`{}` has no such endpoint", dialect.name);
            self.own_failure(&FailedCall::new(FailureClass::InvalidRequest, message), Repetition::No)
        })?;
        tracker.sent(&sent);
        let own_headers = (dialect.name == self.dialect.name).then_some(&self.own_headers);
        let request = BackendRequest { dialect, endpoint, model, body: sent, key, own_headers };
        let limit = backend.timeout.unwrap_or(context.idle_timeout);
        let reply = match timeout(limit, backend.send(context.connections, request)).await {
            Ok(Ok(reply)) => reply,
            Ok(Err(unreachable)) => {
                backend.breaker.failed(Instant::now());
                let message = format!("the backend `{}` cannot be reached: {}", backend.name, unreachable.0);
                let failure = FailedCall::new(FailureClass::Overloaded, message);
                return Err(self.own_failure(&failure, Repetition::AfterPause));
            }
            Err(_) => {
                backend.breaker.failed(Instant::now());
                let message =
                    format!("the backend `{}` did not answer within {} s", backend.name, limit.as_secs());
                return Err(
                    self.own_failure(&FailedCall::new(FailureClass::Timeout, message), Repetition::No)
                );
            }
        };
        let status = reply.status;
        let is_translated = dialect.name != self.dialect.name;
        let expected =
            ExpectedAnswer { role, is_last, is_translated, idle_timeout: context.idle_timeout, key };
        let answered = self.answered(&mut exchange, reply, expected, tracker).await;
        let answered = answered.map_err(|failure| self.own_failure(&failure, Repetition::AfterPause));
        let failure = match &answered {
            Ok(Answered::Whole(answer)) => answer.outcome.failure.as_ref(),
            Ok(Answered::Streamed(held)) => {
                held.pipe.as_ref().err().and_then(|outcome| outcome.failure.as_ref())
            }
            Err(_) => {
                backend.breaker.failed(Instant::now());
                return answered;
            }
        };
        let Some(failure) = failure else {
            backend.breaker.succeeded();
            return answered;
        };
        let (class, message) = (failure.class, failure.message.clone());
        let other_key = key.is_some_and(|key| backend.keys.failed(key, class, failure.retry_after));
        if is_fault_of_backend(class) {
            backend.breaker.failed(Instant::now());
        } else {
            backend.breaker.succeeded();
        }
        let repetition = match class {
            _ if other_key => Repetition::AtOnce,
            // The client decides whether to wait for a rate limit: its SDK has the delay.
            FailureClass::RateLimit => Repetition::No,
            _ if class.is_retryable() => Repetition::AfterPause,
            _ => Repetition::No,
        };
        let answer = answered?;
        Err(FailedAttempt { class, status, message, repetition, answer })
    }

    /// The request for a backend, with the exchange that translates its answer and the role of the answer.
    fn translated(
        &self,
        route: &ReadyRoute,
        target: &RouteTarget,
        backend: &ReadyBackend,
        tracker: &mut CallTracker,
    ) -> Result<(Exchange, Bytes, Role), FailedCall> {
        let (_, dialect) = backend.api_for(self.dialect);
        let model = target.send.as_deref().unwrap_or(&self.model);
        let is_same = dialect.name == self.dialect.name;
        let mut options = Options::default().with_stream(self.stream).with_max_tokens(route.max_tokens);
        if is_same && holds_state_of_another(&self.body, backend, model) {
            options = options.with_backend(backend.capabilities.clone());
        }
        if !is_same {
            options =
                options.with_backend(backend.capabilities.clone()).with_answer_id(self.answer_id.clone());
            if target.send.is_some() || !has_model(self.dialect) {
                options = options.with_model(model.to_owned());
            }
        }
        // Between equal dialects the bytes stay, except for the model's name.
        let renamed = if is_same && target.send.is_some() { with_model(&self.body, model) } else { None };
        let body = renamed.map_or_else(|| self.body.clone(), Bytes::from);
        let mut exchange = Exchange::new(self.dialect, dialect, &options);
        exchange.use_buffers(BUFFERS.take());
        let mut sent = Vec::with_capacity(body.len() + body.len() / 8);
        let summary = exchange
            .request(&body, &mut sent)
            .map_err(|error| FailedCall::new(FailureClass::InvalidRequest, error.to_string()))?;
        keep_buffers(exchange.take_buffers(), body.len());
        let mut report = summary.report;
        place_stream(&mut report);
        if let CallTask::Compact(_) = self.task {
            report.add_loss("/input", Reason::Narrowed, "conversation compacted to a summary of the model");
        }
        if let Some(problem) = report.problems.first().filter(|_| report.read == 0) {
            let message = format!("the request is not JSON: {}", problem.detail);
            return Err(FailedCall::new(FailureClass::InvalidRequest, message));
        }
        if let Some(row) = route.losses.as_ref().and_then(|policy| policy.failures(&report).first().copied())
        {
            let message = format!(
                "`{}` would be lost in `{}` ({}), and the route refuses this loss",
                row.path,
                dialect.name,
                row.reason.map_or("no reason is known", Reason::phrase)
            );
            return Err(FailedCall::new(FailureClass::InvalidRequest, message));
        }
        // A call that is sent again needs no further share of the budget.
        if self.client.budget.is_some() && tracker.reservation.is_none() {
            let usual = || backend.usual_limit(dialect, model).filter(|_| !is_same);
            let limits = summary.max_tokens.into_iter().chain(route.max_tokens);
            let expected = tracker.expected_cost(model, limits.min().or_else(usual));
            tracker.reservation = self.client.reserve(model, expected)?;
        }
        tracker.call.losses = losses(&report);
        let role = if summary.stream { Role::Stream } else { Role::Response };
        tracker.call.reports = vec![report];
        Ok((exchange, Bytes::from(sent), role))
    }

    /// Translates an answer. Unless the attempt is the last, a stream is held back until its first content.
    async fn answered(
        &self,
        exchange: &mut Exchange,
        mut reply: BackendResponse,
        ExpectedAnswer { role, mut is_last, is_translated, idle_timeout, key }: ExpectedAnswer<'_>,
        tracker: &mut CallTracker,
    ) -> Result<Answered, FailedCall> {
        tracker.call.is_stream = role == Role::Stream;
        let failed = FailedResponse::new(reply.status, reply.retry_after);
        if reply.status >= 400 {
            let taping = reply.body.take_taping();
            let received = whole(reply.body, idle_timeout).await?;
            let bytes = key.map_or_else(|| received.clone(), |key| key.removed_from(received.clone()));
            if let Some(taping) = taping {
                taping.replace(bytes.clone());
            }
            tracker.received(&bytes);
            return failed_answer(exchange, failed, &bytes);
        }
        if (300..400).contains(&reply.status) {
            let message = format!(
                "the backend answered with HTTP status {}: the gateway follows no redirects, so the `url` of the backend must be the last one",
                reply.status
            );
            return Err(FailedCall::new(FailureClass::Server, message));
        }
        let mut begin = Bytes::new();
        if role == Role::Stream && !reply.is_stream {
            // Some servers and proxies send a stream with another content type, or without one.
            (reply.is_stream, begin) = begins_stream(&mut reply.body, idle_timeout).await?;
        }
        if role != Role::Stream || !reply.is_stream {
            let rest = whole(reply.body, idle_timeout).await?;
            let bytes = if begin.is_empty() { rest } else { [begin, rest].concat().into() };
            if role != Role::Stream || !is_translated || json_text(&bytes).is_none() {
                tracker.received(&bytes);
                return whole_answer(exchange, &bytes);
            }
            // No event is sent yet, so an error keeps its status.
            (begin, is_last) = (bytes, false);
            reply.body = BackendBody::empty();
        }
        let broken =
            |error: interlingua::error::Error| FailedCall::new(FailureClass::Server, error.to_string());
        let pipe = if reply.is_stream { exchange.answer(Role::Stream) } else { exchange.whole_as_stream() };
        let (mut pipe, mut out) = (pipe.map_err(broken)?, Vec::new());
        tracker.received(&begin);
        pipe.push(&begin, &mut out);
        let held = HeldStream { backend: reply.body, pipe: Ok(pipe), out };
        if is_last {
            return Ok(Answered::Streamed(Box::new(held)));
        }
        let held = held.until_content(HOLD.min(idle_timeout), tracker).await;
        // The status of an error before the content is that of the error: the client has seen nothing yet.
        let progress = match &held.pipe {
            Ok(pipe) => pipe.progress(),
            Err(outcome) => outcome.clone(),
        };
        let Some(failure) = progress.failure.filter(|_| !progress.has_content) else {
            return Ok(Answered::Streamed(Box::new(held)));
        };
        let CallFailure { class, status, retry_after, message, .. } = &failure;
        let call = FailedCall { retry_after: *retry_after, ..FailedCall::new(*class, message) };
        let mut outcome = match held.pipe {
            Ok(pipe) => pipe.finish(&mut Vec::new()),
            Err(outcome) => outcome,
        };
        let (status, retry_after, body) = (*status, *retry_after, call.body(self.dialect));
        outcome.failure = Some(failure);
        Ok(Answered::Whole(Box::new(WholeAnswer { status, body, retry_after, outcome })))
    }

    /// A failure of the gateway as an attempt.
    fn own_failure(&self, failure: &FailedCall, repetition: Repetition) -> FailedAttempt {
        let FailedCall { class, message, retry_after, call: _ } = failure;
        let (class, message, retry_after) = (*class, message.clone(), *retry_after);
        let body = failure.body(self.dialect);
        let outcome = CallOutcome::failed(CallFailure::of(class, &message, retry_after));
        let answer = WholeAnswer { status: class.status(), body, retry_after, outcome };
        FailedAttempt { class, status: 0, message, repetition, answer: Answered::Whole(Box::new(answer)) }
    }

    /// The response to the client.
    async fn respond(
        &self,
        answered: Answered,
        idle_timeout: Duration,
        mut tracker: CallTracker,
    ) -> Response<AnswerBody> {
        let lost = tracker.call.reports.first().and_then(lost_paths);
        let (losses, backend) = (tracker.call.losses, HeaderValue::from_str(&tracker.call.backend));
        let id = HeaderValue::from_str(&tracker.call.id);
        let mut response = match answered {
            Answered::Whole(answer) => {
                let WholeAnswer { status, body, retry_after, outcome } =
                    self.compacted(*answer, &tracker.call);
                tracker.call.status = status;
                tracker.returned(&body);
                if let Some(stored) = tracker.finish(outcome) {
                    // The recorder reports its own errors; the answer is right without it.
                    let _ = stored.await;
                }
                json_response(status, body, retry_after)
            }
            Answered::Streamed(held) => {
                let HeldStream { backend, pipe, out } = *held;
                tracker.call.status = 200;
                let answer = StreamedAnswer::new(backend, pipe, out, self.is_array, idle_timeout, tracker);
                let mut response = Response::new(AnswerBody::Streamed(Box::new(answer)));
                let content_type = if self.is_array { "application/json" } else { "text/event-stream" };
                response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
                response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
                response
            }
        };
        let headers = response.headers_mut();
        headers.insert(LOSSES, losses.into());
        headers.extend(lost.map(|lost| (LOST, lost)));
        headers.extend(backend.map(|name| (BACKEND, name)));
        headers.extend(id.map(|id| (CALL, id)));
        if let CallTask::Compact(_) = self.task {
            headers.insert(EMULATED, HeaderValue::from_static("compaction"));
        }
        response
    }

    /// The answer with a summary as the response to a compaction.
    fn compacted(&self, answer: WholeAnswer, call: &FinishedCall) -> WholeAnswer {
        let CallTask::Compact(compaction) = &self.task else { return answer };
        if answer.outcome.failure.is_some() {
            return answer;
        }
        match compaction.response(&answer.body, &call.id, call.started / 1000) {
            Ok(body) => WholeAnswer { body, ..answer },
            Err(failure) => {
                let (status, body) = (failure.class.status(), failure.body(self.dialect));
                let mut outcome = answer.outcome;
                outcome.failure = Some(CallFailure::of(failure.class, &failure.message, None));
                WholeAnswer { status, body, retry_after: None, outcome }
            }
        }
    }
}

/// The lost paths of a report as the value of a header.
fn lost_paths(report: &Report) -> Option<HeaderValue> {
    let mut paths = String::new();
    for row in report.lost_paths.iter().filter(|row| row.reason != Some(Reason::Redundant)) {
        if paths.len() + row.path.len() > MOST_PATHS {
            paths.push_str(", …");
            break;
        }
        if !paths.is_empty() {
            paths.push_str(", ");
        }
        paths.push_str(&row.path);
    }
    // A name in a path may hold a character that a header may not.
    let visible =
        paths.bytes().map(|byte| if byte.is_ascii_control() { b'?' } else { byte }).collect::<Vec<_>>();
    HeaderValue::from_bytes(&visible).ok().filter(|_| !paths.is_empty())
}

impl HeldStream {
    /// Reads until the first content, the end, or the end of the given time.
    async fn until_content(mut self, limit: Duration, tracker: &mut CallTracker) -> Self {
        let deadline = tokio::time::Instant::now() + limit;
        while let Ok(mut pipe) = self.pipe {
            match tokio::time::timeout_at(deadline, self.backend.frame()).await {
                Ok(Some(Ok(frame))) => {
                    if let Ok(data) = frame.into_data() {
                        tracker.received(&data);
                        pipe.push(&data, &mut self.out);
                    }
                    let has_begun = pipe.has_begun();
                    self.pipe = Ok(pipe);
                    if has_begun {
                        break;
                    }
                }
                Ok(Some(Err(_))) => self.pipe = Err(pipe.break_off(&mut self.out)),
                Ok(None) => self.pipe = Err(pipe.finish(&mut self.out)),
                Err(_) => {
                    self.pipe = Ok(pipe);
                    break;
                }
            }
        }
        self
    }
}

/// Whether a failure counts against the backend, and not against the request or the key.
const fn is_fault_of_backend(class: FailureClass) -> bool {
    matches!(
        class,
        FailureClass::Server | FailureClass::Overloaded | FailureClass::Timeout | FailureClass::Incomplete
    )
}

/// Whether a request in the dialect of its backend must be translated instead of copied, because its
/// `reasoning_details` hold state that the backend never issues. Only servers that forward calls to other vendors issue
/// such state; the client got the state from an earlier backend. Requests to a server that is not built in are copied.
fn holds_state_of_another(body: &[u8], backend: &ReadyBackend, model: &str) -> bool {
    let Some(known) = backend.capabilities.as_ref().filter(|_| backend.dialect.name == "openai-chat") else {
        return false;
    };
    let accepts_none = || known.takes_of(Some(&Str::from_plain(model))).state_of.is_empty();
    memchr::memmem::find(body, REASONING_DETAILS).is_some() && accepts_none()
}

const REASONING_DETAILS: &[u8] = b"\"reasoning_details\"";

/// Removes the request for a stream from the losses of a body without a member for the request: the path of the endpoint
/// holds the request, and the streams of such an API always hold the usage.
fn place_stream(report: &mut Report) {
    let is_placed = |row: &Row| matches!(row.field, Some(Field::StreamAnswer | Field::StreamUsage));
    let placed: u64 = report.lost_paths.iter().filter(|row| is_placed(row)).map(|row| row.count).sum();
    report.lost_paths.retain(|row| !is_placed(row));
    report.lost -= placed;
    report.mapped += placed;
}

/// The number of values without a place in the converted body. A redundant value has another place there.
pub(crate) fn losses(report: &Report) -> u64 {
    let lost = report.lost_paths.iter().filter(|row| row.reason != Some(Reason::Redundant));
    lost.map(|row| row.count).sum()
}

thread_local! {
    /// The buffers of an earlier conversion. A call holds none while it waits for its backend.
    static BUFFERS: Cell<Buffers> = Cell::default();
}

/// The largest body in bytes after which a thread keeps the buffers for the next conversion.
const SMALL: usize = 128 << 10;

/// Keeps the buffers of a conversion for the next one on this thread, unless the body was large.
fn keep_buffers(buffers: Buffers, body: usize) {
    if body <= SMALL {
        BUFFERS.set(buffers);
    }
}

/// A whole answer.
fn whole_answer(exchange: &mut Exchange, bytes: &[u8]) -> Result<Answered, FailedCall> {
    let broken = |error: interlingua::error::Error| FailedCall::new(FailureClass::Server, error.to_string());
    let mut out = Vec::with_capacity(bytes.len() + bytes.len() / 8);
    exchange.use_buffers(BUFFERS.take());
    let (outcome, buffers) =
        exchange.answer(Role::Response).map_err(broken)?.finish_and_reuse(bytes, &mut out);
    keep_buffers(buffers, bytes.len());
    let (status, retry_after) = match &outcome.failure {
        Some(failure) => (failure.status, failure.retry_after),
        None => (200, None),
    };
    // Between equal dialects a page of HTML would be copied.
    if bytes.trim_ascii().is_empty() {
        return Err(FailedCall::new(FailureClass::Server, "the answer of the backend has no body"));
    }
    if out.is_empty() || json_text(bytes).is_none() || (outcome.failure.is_none() && outcome.report.read == 0)
    {
        return failed_answer(exchange, FailedResponse::new(502, None), bytes);
    }
    Ok(Answered::Whole(Box::new(WholeAnswer { status, body: out, retry_after, outcome })))
}

/// An error of the backend.
fn failed_answer(
    exchange: &mut Exchange,
    failed: FailedResponse,
    bytes: &[u8],
) -> Result<Answered, FailedCall> {
    let broken = |error: interlingua::error::Error| FailedCall::new(FailureClass::Server, error.to_string());
    let mut body = Vec::new();
    let outcome = exchange.failed(failed, bytes, &mut body).map_err(broken)?;
    let failure = outcome.failure.as_ref();
    let status = failure.map_or(failed.status, |failure| failure.status);
    let retry_after = failure.and_then(|failure| failure.retry_after).or(failed.retry_after);
    Ok(Answered::Whole(Box::new(WholeAnswer { status, body, retry_after, outcome })))
}
