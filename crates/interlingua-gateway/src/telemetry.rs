//! Spans of calls for OpenTelemetry, with the attributes of the conventions for generative AI: OTLP over HTTP as JSON. A
//! span holds no body, no message and no key.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Request, Uri, header};
use http_body_util::{BodyExt, Full, Limited};
use interlingua::json::{JsonBuffer, JsonWriter};
use interlingua::tape::{Limits, TapeBuf};
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

use crate::config::{ConfigError, Lookup, TelemetrySettings};
use crate::connections::{HttpClient, cause, http_client};
use crate::feed::cut;
use crate::finished::FinishedCall;
use crate::service::TroubleReport;

/// The most spans that wait. Further spans are dropped and counted.
const MOST_WAITING: usize = 2048;

/// The most spans of a request to the receiver.
const MOST_IN_BATCH: usize = 256;

/// The time that a span waits for others.
const BATCH_TIME: Duration = Duration::from_secs(1);

/// The time in which the receiver must answer.
const RECEIVER_TIMEOUT: Duration = Duration::from_secs(10);

/// The time between two messages about dropped spans.
const REPORT_TIME: Duration = Duration::from_secs(30);

/// The time that the last spans have after the gateway was stopped.
const LAST_SPANS: Duration = Duration::from_secs(5);

/// Sends spans in a background task.
pub(crate) struct Telemetry {
    messages: mpsc::Sender<ExportMessage>,
    dropped: Arc<AtomicU64>,
}

enum ExportMessage {
    /// A span as JSON.
    Span(String),
    /// Send the waiting spans, then reply.
    Flush(oneshot::Sender<()>),
}

/// The address of a receiver and the headers for it.
pub(crate) struct Receiver {
    uri: Uri,
    headers: HeaderMap,
}

impl Receiver {
    /// The receiver of the configuration, else that of `OTEL_EXPORTER_OTLP_ENDPOINT`; `None` without either.
    pub(crate) fn new(
        settings: Option<&TelemetrySettings>,
        lookup: &dyn Lookup,
    ) -> Result<Option<Self>, ConfigError> {
        let endpoint = settings.map(|settings| settings.endpoint.clone());
        let Some(endpoint) = endpoint.or_else(|| lookup.variable("OTEL_EXPORTER_OTLP_ENDPOINT")) else {
            return Ok(None);
        };
        let invalid = || ConfigError::Telemetry(format!("`{endpoint}` is no URL of a receiver of spans"));
        let uri = format!("{}/v1/traces", endpoint.trim_end_matches('/'));
        let uri: Uri = uri.parse().map_err(|_| invalid())?;
        if !matches!(uri.scheme_str(), Some("http" | "https")) || uri.host().is_none() {
            return Err(invalid());
        }
        let mut headers = HeaderMap::new();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let listed = lookup.variable("OTEL_EXPORTER_OTLP_HEADERS").unwrap_or_default();
        for pair in listed.split(',').map(str::trim).filter(|pair| !pair.is_empty()) {
            // The message must not hold the value, which may be a key.
            let wrong =
                || ConfigError::Telemetry("`OTEL_EXPORTER_OTLP_HEADERS` is no list of headers".to_owned());
            let (name, value) = pair.split_once('=').ok_or_else(wrong)?;
            let name: HeaderName = name.trim().parse().map_err(|_| wrong())?;
            let mut value = HeaderValue::from_str(&percent_decoded(value.trim())).map_err(|_| wrong())?;
            value.set_sensitive(true);
            headers.insert(name, value);
        }
        Ok(Some(Self { uri, headers }))
    }
}

/// The text with its escape sequences such as `%20` decoded.
pub(crate) fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, more)) = rest.split_first() {
        let digits = more.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        let decoded =
            digits.filter(|_| *first == b'%').and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(decoded.unwrap_or(*first));
        rest = if decoded.is_some() { &more[2..] } else { more };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

impl Telemetry {
    /// Starts the task, inside a runtime of `tokio`.
    pub(crate) fn start(receiver: Receiver, report: Option<TroubleReport>) -> Self {
        let (messages, waiting) = mpsc::channel(MOST_WAITING);
        let dropped = Arc::new(AtomicU64::new(0));
        let exporter = Exporter {
            http: http_client(),
            receiver,
            dropped: Arc::clone(&dropped),
            report,
            reported: 0,
            last_report: None,
            cause: None,
        };
        tokio::spawn(exporter.run(waiting));
        Self { messages, dropped }
    }

    /// Queues the span of a call. A call whose client does not sample its trace has no span.
    pub(crate) fn record(&self, call: &FinishedCall) {
        let parent = call.traceparent.as_deref().and_then(TraceParent::parse);
        if parent.as_ref().is_some_and(|parent| !parent.is_sampled) {
            return;
        }
        if self.messages.try_send(ExportMessage::Span(span(call, parent.as_ref()))).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// The number of spans that the receiver did not get.
    pub(crate) fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    /// Sends the waiting spans.
    pub(crate) async fn close(&self) {
        let (reply, sent) = oneshot::channel();
        let flush = async {
            if self.messages.send(ExportMessage::Flush(reply)).await.is_ok() {
                let _ = sent.await;
            }
        };
        // The exporter reports the spans that the receiver refuses.
        let _ = timeout(LAST_SPANS, flush).await;
    }
}

struct Exporter {
    http: HttpClient,
    receiver: Receiver,
    dropped: Arc<AtomicU64>,
    report: Option<TroubleReport>,
    /// The dropped spans of earlier messages.
    reported: u64,
    last_report: Option<Instant>,
    /// The cause of the last failure since the last message.
    cause: Option<String>,
}

impl Exporter {
    async fn run(mut self, mut messages: mpsc::Receiver<ExportMessage>) {
        while let Some(first) = messages.recv().await {
            let mut spans = Vec::new();
            let mut flush = None;
            let deadline = tokio::time::Instant::now() + BATCH_TIME;
            let mut next = Some(first);
            loop {
                match next {
                    Some(ExportMessage::Span(span)) => spans.push(span),
                    Some(ExportMessage::Flush(reply)) => flush = Some(reply),
                    None => break,
                }
                if flush.is_some() || spans.len() >= MOST_IN_BATCH {
                    break;
                }
                next = tokio::time::timeout_at(deadline, messages.recv()).await.unwrap_or(None);
            }
            if !spans.is_empty() {
                self.send(&spans).await;
            }
            self.report_drops(flush.is_some());
            if let Some(reply) = flush {
                let _ = reply.send(());
            }
        }
    }

    /// Sends a batch. The spans of a batch that fails are dropped.
    async fn send(&mut self, spans: &[String]) {
        let count = spans.len() as u64;
        let mut request = Request::new(Full::new(Bytes::from(batch(spans))));
        *request.method_mut() = http::Method::POST;
        *request.uri_mut() = self.receiver.uri.clone();
        *request.headers_mut() = self.receiver.headers.clone();
        let exchange = async {
            let response = self.http.request(request).await.map_err(|error| cause(&error))?;
            let status = response.status();
            let body = Limited::new(response.into_body(), 1 << 20).collect().await;
            let body = body.map_err(|error| error.to_string())?.to_bytes();
            if status.is_success() { Ok(rejected(&body)) } else { Err(format!("status {}", status.as_u16())) }
        };
        let late = |_| Err(format!("no answer within {} s", RECEIVER_TIMEOUT.as_secs()));
        let (dropped, cause) = match timeout(RECEIVER_TIMEOUT, exchange).await.unwrap_or_else(late) {
            Ok(0) => return,
            Ok(rejected) => (rejected.min(count), "the receiver rejected them".to_owned()),
            Err(cause) => (count, cause),
        };
        self.dropped.fetch_add(dropped, Ordering::Relaxed);
        self.cause = Some(cause);
    }

    /// Reports dropped spans, at most once in a while.
    fn report_drops(&mut self, is_last: bool) {
        let dropped = self.dropped.load(Ordering::Relaxed);
        let is_early = self.last_report.is_some_and(|last| last.elapsed() < REPORT_TIME);
        if dropped == self.reported || (is_early && !is_last) {
            return;
        }
        if let Some(report) = &self.report {
            let cause = self.cause.take().unwrap_or_else(|| "too many spans wait".to_owned());
            let count = dropped - self.reported;
            let spans = if count == 1 { "span" } else { "spans" };
            let uri = &self.receiver.uri;
            report(&format!("telemetry: {count} {spans} did not reach {uri}: {cause}"));
        }
        (self.reported, self.last_report) = (dropped, Some(Instant::now()));
    }
}

/// The number of rejected spans in the answer of a receiver.
fn rejected(body: &[u8]) -> u64 {
    let mut tape = TapeBuf::default();
    let parsed = std::str::from_utf8(body).ok().and_then(|text| tape.parse(text, &Limits::default()).ok());
    let count = parsed.and_then(|tape| {
        let count = tape.root().get("partialSuccess")?.get("rejectedSpans")?;
        // JSON of Protocol Buffers has 64-bit numbers as strings.
        count.u64().or_else(|| count.str()?.decode().parse().ok())
    });
    count.unwrap_or(0)
}

/// The parent of a span, from the header `traceparent` of W3C.
struct TraceParent {
    trace: String,
    span: String,
    is_sampled: bool,
}

impl TraceParent {
    fn parse(text: &str) -> Option<Self> {
        let mut parts = text.trim().split('-');
        let (version, trace, span, flags) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        let is_hex = |text: &str, length: usize| {
            text.len() == length && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
        };
        let is_zero = |text: &str| text.bytes().all(|byte| byte == b'0');
        // Version 00 has four parts; a later version may have more.
        let is_valid = is_hex(version, 2)
            && version != "ff"
            && (version != "00" || parts.next().is_none())
            && is_hex(trace, 32)
            && is_hex(span, 16)
            && is_hex(flags, 2)
            && !is_zero(trace)
            && !is_zero(span);
        let flags = u8::from_str_radix(flags, 16).ok()?;
        is_valid.then(|| Self { trace: trace.to_owned(), span: span.to_owned(), is_sampled: flags & 1 == 1 })
    }
}

/// Random bits that are not all zero.
fn random() -> u64 {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    RandomState::new().hash_one(NUMBER.fetch_add(1, Ordering::Relaxed)).max(1)
}

/// A batch as the body of a request.
fn batch(spans: &[String]) -> String {
    let version = env!("CARGO_PKG_VERSION");
    let head = r#"{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"interlingua"}}]},"scopeSpans":[{"scope":{"name":"interlingua-gateway","version":""#;
    format!("{head}{version}\"}},\"spans\":[{}]}}]}}]}}", spans.join(","))
}

/// The span of a call.
fn span(call: &FinishedCall, parent: Option<&TraceParent>) -> String {
    let trace =
        parent.map_or_else(|| format!("{:016x}{:016x}", random(), random()), |parent| parent.trace.clone());
    let start = u128::from(call.started) * 1_000_000;
    let end = start + call.duration.as_nanos();
    let dialect = if call.backend_dialect.is_empty() { call.client_dialect } else { call.backend_dialect };
    let operation = if dialect == "gemini" { "generate_content" } else { "chat" };
    let model = cut(if call.model_sent.is_empty() { &call.model_asked } else { &call.model_sent });
    let error = match &call.failure {
        Some(failure) => Some(failure.class.word()),
        None => call.is_cancelled.then_some("cancelled"),
    };
    let mut buffer = JsonBuffer::default();
    let mut json = buffer.hold();
    json.object().key("traceId").plain(&trace).key("spanId").plain(&format!("{:016x}", random()));
    if let Some(parent) = parent {
        json.key("parentSpanId").plain(&parent.span);
    }
    // The kind 3 is a client.
    json.key("name").plain(&format!("{operation} {model}")).key("kind").u64(3);
    json.key("startTimeUnixNano").plain(&start.to_string()).key("endTimeUnixNano").plain(&end.to_string());
    json.key("attributes").array();
    let mut attributes = Attributes(json.reborrow());
    attributes.text("gen_ai.operation.name", operation);
    attributes.text("gen_ai.provider.name", provider(&call.backend, dialect));
    attributes.text("gen_ai.request.model", model);
    if let Some(model) = &call.model_answered {
        attributes.text("gen_ai.response.model", cut(model));
    }
    if let Some(usage) = &call.usage {
        // The conventions count cached tokens as input.
        let input = [usage.input, usage.cache_read, usage.cache_write];
        let input = input.into_iter().flatten().reduce(u64::saturating_add);
        attributes.number("gen_ai.usage.input_tokens", input);
        attributes.number("gen_ai.usage.cache_read.input_tokens", usage.cache_read);
        attributes.number("gen_ai.usage.cache_creation.input_tokens", usage.cache_write);
        attributes.number("gen_ai.usage.output_tokens", usage.output);
    }
    if let Some(stop) = call.stop {
        let json = attributes.start("gen_ai.response.finish_reasons");
        json.key("arrayValue").object().key("values").array();
        json.object().key("stringValue").plain(stop.word()).end_object();
        json.end_array().end_object().end_object().end_object();
    }
    if let Some(error) = error {
        attributes.text("error.type", error);
    }
    if let Some(server) = &call.server_address {
        attributes.text("server.address", server);
    }
    attributes.number("http.response.status_code", (call.status != 0).then_some(call.status.into()));
    attributes.text("interlingua.call.id", &call.id);
    attributes.text("interlingua.client", cut(&call.client));
    attributes.text("interlingua.backend", cut(&call.backend));
    attributes.text("interlingua.model.asked", cut(&call.model_asked));
    attributes.number("interlingua.losses", Some(call.losses));
    attributes.number("interlingua.attempts", Some(call.attempts.len() as u64));
    json.end_array().key("status").object();
    if error.is_some() {
        json.key("code").u64(2);
    }
    json.end_object().end_object();
    buffer.held().to_owned()
}

/// Writes attributes.
struct Attributes<'o>(JsonWriter<'o>);

impl<'o> Attributes<'o> {
    /// Writes the key, and leaves the object of the attribute and that of its value open.
    fn start(&mut self, key: &str) -> &mut JsonWriter<'o> {
        self.0.object().key("key").plain(key).key("value").object()
    }

    fn text(&mut self, key: &str, value: &str) {
        self.start(key).key("stringValue").plain(value).end_object().end_object();
    }

    fn number(&mut self, key: &str, value: Option<u64>) {
        if let Some(value) = value {
            // JSON of Protocol Buffers has 64-bit numbers as strings.
            self.start(key).key("intValue").plain(&value.to_string()).end_object().end_object();
        }
    }
}

/// The provider in the words of the conventions: that of a built-in backend, else that of the dialect.
fn provider<'t>(backend: &'t str, dialect: &'t str) -> &'t str {
    match (backend, dialect) {
        ("bedrock", _) => "aws.bedrock",
        ("vertex", _) => "gcp.vertex_ai",
        ("azure", _) => "azure.ai.openai",
        ("mistral", _) => "mistral_ai",
        ("xai", _) => "x_ai",
        ("deepseek" | "groq" | "perplexity" | "openrouter" | "ollama" | "vllm" | "moonshot", _) => backend,
        (_, "gemini") => "gcp.gemini",
        (_, "openai-chat" | "openai-responses") => "openai",
        (_, dialect) => dialect,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_valid_parent_is_used() {
        let (trace, span) = ("0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331");
        let parent = TraceParent::parse(&format!("00-{trace}-{span}-01")).expect("valid");
        assert_eq!((&*parent.trace, &*parent.span, parent.is_sampled), (trace, span, true));
        assert!(!TraceParent::parse(&format!("00-{trace}-{span}-00")).expect("valid").is_sampled);
        assert!(TraceParent::parse(&format!("01-{trace}-{span}-01-more")).is_some());
        for wrong in [
            String::new(),
            format!("00-{trace}-{span}"),
            format!("00-{trace}-{span}-01-more"),
            format!("ff-{trace}-{span}-01"),
            format!("00-{}-{span}-01", "0".repeat(32)),
            format!("00-{trace}-{}-01", "0".repeat(16)),
            format!("00-{}-{span}-01", trace.to_uppercase()),
            format!("00-{trace}x-{span}-01"),
        ] {
            assert!(TraceParent::parse(&wrong).is_none(), "{wrong}");
        }
    }

    /// Environment variables.
    struct Variables([(&'static str, &'static str); 2]);

    impl Lookup for Variables {
        fn variable(&self, name: &str) -> Option<String> {
            let found = self.0.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        }

        fn read(&self, path: &str) -> Result<String, String> {
            Err(path.to_owned())
        }
    }

    #[test]
    fn the_receiver_comes_from_the_environment_unless_the_configuration_has_one() {
        let of = |endpoint, headers, settings: Option<&TelemetrySettings>| {
            let variables =
                [("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint), ("OTEL_EXPORTER_OTLP_HEADERS", headers)];
            Receiver::new(settings, &Variables(variables))
        };
        let receiver = of("http://h:4318/", "authorization=Bearer%20a%3Db%, x-team = blue", None);
        let receiver = receiver.expect("valid").expect("a receiver");
        assert_eq!(receiver.uri, "http://h:4318/v1/traces");
        assert_eq!(receiver.headers["authorization"], "Bearer a=b%");
        assert_eq!(receiver.headers["x-team"], "blue");
        let settings = TelemetrySettings { endpoint: "https://other/otlp".to_owned() };
        let receiver = of("http://h:4318", "", Some(&settings)).expect("valid").expect("a receiver");
        assert_eq!(receiver.uri, "https://other/otlp/v1/traces");
        for (endpoint, headers) in
            [("h:4318", ""), ("ftp://h", ""), ("http://h", "a"), ("http://h", "a b=secret")]
        {
            let error = of(endpoint, headers, None).err().expect("not valid").to_string();
            assert!(error.starts_with("telemetry: ") && !error.contains("secret"), "{error}");
        }
    }

    #[test]
    fn rejected_spans_are_counted() {
        assert_eq!(rejected(b"{}"), 0);
        assert_eq!(rejected(br#"{"partialSuccess":{"rejectedSpans":"3"}}"#), 3);
        assert_eq!(rejected(br#"{"partialSuccess":{"rejectedSpans":2}}"#), 2);
    }
}
