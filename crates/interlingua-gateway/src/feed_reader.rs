//! Reads the feed of another gateway over HTTP.

use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Uri, header};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use interlingua::model::Usage;
use interlingua::tape::{Limits, TapeBuf, Val};
use tokio::time::timeout;

use crate::answer_body::KEEP_ALIVE;
use crate::connections::{cause, http_client};
use crate::feed::PATH;

/// The time until the gateway must begin its answer.
const FIRST_ANSWER: Duration = Duration::from_secs(10);

/// The silence after which the connection counts as broken: three comments are missing.
const SILENCE: Duration = KEEP_ALIVE.saturating_mul(3);

/// The largest event in bytes.
const MOST_EVENT: usize = 16 << 20;

/// An event of the feed.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum FeedEvent {
    /// A backend gets a call. The calls that were open before the subscription come first.
    Started(FeedCall),
    /// Another backend gets a call.
    Moved(FeedCall),
    /// A call has ended.
    Ended(FeedCall),
    /// All calls that were open before the subscription were sent.
    Ready,
    /// The reader was too slow.
    Lagged {
        /// The number of missed events.
        missed: u64,
        /// The ids of the open calls; the reader may have missed the end of each other call.
        open: Vec<String>,
    },
}

/// The facts of a call in the feed. An open call has no facts of its end.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct FeedCall {
    /// The id, which sorts by time.
    pub id: String,
    /// The start in milliseconds since 1970.
    pub started: u64,
    /// The name of the client.
    pub client: String,
    /// The dialect of the client.
    pub client_dialect: String,
    /// The name of the backend; empty if no backend got the call.
    pub backend: String,
    /// The model that the client asked for.
    pub model_asked: String,
    /// The model that the backend was asked for.
    pub model_sent: String,
    /// The HTTP status that the client got; 0 without an answer.
    pub status: u16,
    /// The milliseconds from the request to the end of the answer.
    pub duration_ms: u64,
    /// Whether the client left before the end.
    pub is_cancelled: bool,
    /// The usage, as the backend reported it.
    pub usage: Option<Usage>,
    /// The computed cost in dollars, if the price of the model is known.
    pub cost: Option<f64>,
    /// The number of values that were lost on the way there and back.
    pub losses: u64,
    /// The number of attempts.
    pub attempts: u64,
    /// The class of the failure and its message.
    pub failure: Option<(String, String)>,
}

/// A feed that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FeedError {
    /// A text that is no URL of a server.
    Url(String),
    /// A token that HTTP does not allow in a header.
    Token,
    /// No answer.
    Unreachable {
        /// The URL.
        url: String,
        /// The cause.
        cause: String,
    },
    /// An answer without a feed.
    Refused {
        /// The URL.
        url: String,
        /// The HTTP status.
        status: u16,
    },
    /// The connection broke, or the feed is no feed of calls.
    Broken(String),
}

impl fmt::Display for FeedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FeedError::Url(url) => write!(f, "`{url}` is no URL of a gateway"),
            FeedError::Token => f.write_str("HTTP does not allow the characters of the token"),
            FeedError::Unreachable { url, cause } => {
                write!(f, "the gateway at {url} cannot be reached: {cause}")
            }
            FeedError::Refused { url, status: 401 } => write!(f, "the gateway at {url} needs a key"),
            FeedError::Refused { url, status } => {
                write!(f, "the server at {url} has no feed of calls: status {status}")
            }
            FeedError::Broken(cause) => write!(f, "the feed broke off: {cause}"),
        }
    }
}

impl std::error::Error for FeedError {}

/// A feed that is being read. Must be used inside a runtime of `tokio`.
#[derive(Debug)]
pub struct FeedReader {
    body: Incoming,
    /// Bytes after the last complete event.
    rest: Vec<u8>,
}

impl FeedReader {
    /// Subscribes to the feed of the gateway at a URL such as `http://127.0.0.1:8787`, with a key of the gateway.
    pub async fn connect(url: &str, token: Option<&str>) -> Result<Self, FeedError> {
        let url = url.trim_end_matches('/');
        let invalid = || FeedError::Url(url.to_owned());
        let uri: Uri = format!("{url}{PATH}").parse().map_err(|_| invalid())?;
        if !matches!(uri.scheme_str(), Some("http" | "https")) || uri.host().is_none() {
            return Err(invalid());
        }
        let mut request = Request::get(uri).header(header::ACCEPT, "text/event-stream");
        if let Some(token) = token {
            request = request.header(header::AUTHORIZATION, format!("Bearer {token}"));
        }
        let request = request.body(Full::new(Bytes::new())).map_err(|_| FeedError::Token)?;
        let unreachable = |cause: String| FeedError::Unreachable { url: url.to_owned(), cause };
        let response = timeout(FIRST_ANSWER, http_client().request(request)).await;
        let response = response
            .map_err(|_| unreachable(format!("no answer within {} s", FIRST_ANSWER.as_secs())))?
            .map_err(|error| unreachable(cause(&error)))?;
        let is_feed = response
            .headers()
            .get(header::CONTENT_TYPE)
            .is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"));
        let status = response.status().as_u16();
        if status != 200 || !is_feed {
            return Err(FeedError::Refused { url: url.to_owned(), status });
        }
        Ok(Self { body: response.into_body(), rest: Vec::new() })
    }

    /// The next event; `None` after the gateway has ended the feed. A future that is dropped loses no event.
    pub async fn next(&mut self) -> Result<Option<FeedEvent>, FeedError> {
        loop {
            while let Some(end) = self.rest.windows(2).position(|end| end == b"\n\n") {
                let event: Vec<u8> = self.rest.drain(..end + 2).collect();
                let text = std::str::from_utf8(&event).map_err(|_| not_a_feed("an event is not UTF-8"))?;
                if let Some(event) = parsed(text)? {
                    return Ok(Some(event));
                }
            }
            if self.rest.len() > MOST_EVENT {
                return Err(not_a_feed("an event is too large"));
            }
            let silence = |_| FeedError::Broken(format!("silence for {} s", SILENCE.as_secs()));
            match timeout(SILENCE, self.body.frame()).await.map_err(silence)? {
                Some(Ok(frame)) => self.rest.extend_from_slice(frame.data_ref().map_or(&[], |data| data)),
                Some(Err(error)) => return Err(FeedError::Broken(cause(&error))),
                None => return Ok(None),
            }
        }
    }
}

fn not_a_feed(problem: &str) -> FeedError {
    FeedError::Broken(problem.to_owned())
}

/// An event; `None` for a comment, and for an event of a later version.
fn parsed(text: &str) -> Result<Option<FeedEvent>, FeedError> {
    let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
    let (Some(name), Some(data)) = (field("event"), field("data")) else { return Ok(None) };
    let mut tape = TapeBuf::default();
    let tape = tape.parse(data, &Limits::default()).map_err(|_| not_a_feed("an event is not JSON"))?;
    let data = tape.root();
    Ok(match name {
        "call-started" => Some(FeedEvent::Started(call(&data))),
        "call-moved" => Some(FeedEvent::Moved(call(&data))),
        "call-ended" => Some(FeedEvent::Ended(call(&data))),
        "ready" => Some(FeedEvent::Ready),
        "lagged" => {
            let open = data.get("open").into_iter().flat_map(|ids| ids.elements());
            let open = open.filter_map(|id| Some(id.str()?.decode().into_owned())).collect();
            Some(FeedEvent::Lagged { missed: number(&data, "missed").unwrap_or(0), open })
        }
        _ => None,
    })
}

fn text(data: &Val<'_>, name: &str) -> String {
    data.get(name).and_then(|value| Some(value.str()?.decode().into_owned())).unwrap_or_default()
}

fn number(data: &Val<'_>, name: &str) -> Option<u64> {
    data.get(name)?.u64()
}

fn call(data: &Val<'_>) -> FeedCall {
    let status = number(data, "status").and_then(|status| u16::try_from(status).ok());
    let usage = data.get("usage").filter(|usage| !usage.is_null()).map(|counts| {
        let mut usage = Usage::default();
        let Usage { input, cache_read, cache_write, output, reasoning, .. } = &mut usage;
        *input = number(&counts, "input");
        *cache_read = number(&counts, "cache_read");
        *cache_write = number(&counts, "cache_write");
        *output = number(&counts, "output");
        *reasoning = number(&counts, "reasoning");
        usage
    });
    let failure = data.get("failure").filter(|failure| !failure.is_null());
    FeedCall {
        id: text(data, "id"),
        started: number(data, "started").unwrap_or(0),
        client: text(data, "client"),
        client_dialect: text(data, "client_dialect"),
        backend: text(data, "backend"),
        model_asked: text(data, "model_asked"),
        model_sent: text(data, "model_sent"),
        status: status.unwrap_or(0),
        duration_ms: number(data, "duration_ms").unwrap_or(0),
        is_cancelled: data.get("cancelled").and_then(|value| value.bool()).unwrap_or(false),
        usage,
        cost: data.get("cost").and_then(|cost| cost.text().parse().ok()),
        losses: number(data, "losses").unwrap_or(0),
        attempts: data.get("attempts").map_or(0, |attempts| attempts.elements().count() as u64),
        failure: failure.map(|failure| (text(&failure, "class"), text(&failure, "message"))),
    }
}
