//! Registration with a transparency service over HTTP (SCRAPI): a statement is sent, the service is asked until it has a
//! receipt, and the receipt is returned. The answers of a service are not trusted: sizes, times and the number of
//! questions are bounded, and an address on another server is not asked.

use std::fmt;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{HeaderMap, Method, Request, StatusCode, Uri, header};
use interlingua_gateway::{Fetched, fetch};
use interlingua_record::signed;

/// The largest answer of a service in bytes.
const MOST_ANSWER: usize = 1 << 20;
/// The time for one answer.
const ONE_ANSWER: Duration = Duration::from_secs(30);
/// The time until a registration must be complete.
const MOST_TIME: Duration = Duration::from_secs(300);
/// The number of questions until a registration must be complete.
const MOST_QUESTIONS: usize = 100;
/// The longest pause that a service may ask for.
const LONGEST_PAUSE: u64 = 60;
/// The media type of a statement and of a receipt.
const COSE: &str = "application/cose";

/// The reason for which a service gave no receipt.
#[derive(Debug)]
pub(super) enum ScrapiFault {
    /// The address is not that of an HTTP service.
    BadAddress,
    /// The service could not be asked.
    Http(String),
    /// The service refused the statement.
    Refused(StatusCode),
    /// The service answered without the address of the registration.
    NoAddress(StatusCode),
    /// The service named an address on another server.
    OtherServer(String),
    /// The registration was not complete in time.
    TooSlow,
    /// The answer is not a COSE receipt.
    NotAReceipt,
}

impl fmt::Display for ScrapiFault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ScrapiFault::BadAddress => {
                write!(out, "the address of a service begins with http:// or https://")
            }
            ScrapiFault::Http(reason) => write!(out, "the service cannot be asked: {reason}"),
            ScrapiFault::Refused(status) => {
                write!(out, "the service refused the statement with the status {status}")
            }
            ScrapiFault::NoAddress(status) => {
                write!(out, "the service answered {status} without the address of the registration")
            }
            ScrapiFault::OtherServer(address) => {
                write!(out, "the service named an address on another server: {address}")
            }
            ScrapiFault::TooSlow => write!(out, "the service did not complete the registration in time"),
            ScrapiFault::NotAReceipt => write!(out, "the answer of the service is not a COSE receipt"),
        }
    }
}

/// Whether the name of a log is the address of a service.
pub(super) fn is_address(log: &str) -> bool {
    log.starts_with("http://") || log.starts_with("https://")
}

/// Registers a statement, and returns the receipt of the service.
pub(super) fn register(service: &str, statement: Vec<u8>) -> Result<Vec<u8>, ScrapiFault> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| ScrapiFault::Http(error.to_string()))?;
    runtime.block_on(registered(service, statement.into()))
}

async fn registered(service: &str, statement: Bytes) -> Result<Vec<u8>, ScrapiFault> {
    let service: Uri = service.trim_end_matches('/').parse().map_err(|_| ScrapiFault::BadAddress)?;
    let entries: Uri = format!("{}/entries", service.to_string().trim_end_matches('/'))
        .parse()
        .map_err(|_| ScrapiFault::BadAddress)?;
    let begun = Instant::now();
    let (mut address, mut is_sent) = (entries, false);
    for _ in 0..MOST_QUESTIONS {
        let answer = ask(&address, (!is_sent).then(|| statement.clone())).await?;
        let pause = pause_of(&answer.headers);
        match answer.status {
            StatusCode::OK | StatusCode::CREATED if !answer.body.is_empty() => {
                let receipt = answer.body.to_vec();
                return if signed::is_receipt(&receipt) {
                    Ok(receipt)
                } else {
                    Err(ScrapiFault::NotAReceipt)
                };
            }
            // The statement is registered, or will be: the receipt is elsewhere.
            StatusCode::CREATED | StatusCode::ACCEPTED | StatusCode::SEE_OTHER | StatusCode::FOUND => {
                address = next_address(&address, &answer)?;
                is_sent = true;
            }
            // The service is busy: the same question again.
            StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE if pause.is_some() => {}
            StatusCode::OK => return Err(ScrapiFault::NotAReceipt),
            status => return Err(ScrapiFault::Refused(status)),
        }
        let pause = pause.unwrap_or(Duration::from_secs(1));
        if begun.elapsed() + pause > MOST_TIME {
            return Err(ScrapiFault::TooSlow);
        }
        tokio::time::sleep(pause).await;
    }
    Err(ScrapiFault::TooSlow)
}

/// Sends the statement, or asks for the receipt.
async fn ask(address: &Uri, statement: Option<Bytes>) -> Result<Fetched, ScrapiFault> {
    let method = if statement.is_some() { Method::POST } else { Method::GET };
    let mut request = Request::builder().method(method).uri(address).header(header::ACCEPT, COSE);
    if statement.is_some() {
        request = request.header(header::CONTENT_TYPE, COSE);
    }
    let request = request.body(statement.unwrap_or_default()).map_err(|_| ScrapiFault::BadAddress)?;
    fetch(request, MOST_ANSWER, ONE_ANSWER).await.map_err(ScrapiFault::Http)
}

/// The pause that the service asks for.
fn pause_of(headers: &HeaderMap) -> Option<Duration> {
    let seconds: u64 = headers.get(header::RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds.min(LONGEST_PAUSE)))
}

/// The address of the registration: absolute, or a path on the same server.
fn next_address(asked: &Uri, answer: &Fetched) -> Result<Uri, ScrapiFault> {
    let place = answer.headers.get(header::LOCATION).and_then(|place| place.to_str().ok());
    let place = place.ok_or(ScrapiFault::NoAddress(answer.status))?;
    let other =
        || ScrapiFault::OtherServer(place.chars().filter(|letter| !letter.is_control()).take(200).collect());
    let next: Uri = place.parse().map_err(|_| other())?;
    let mut parts = next.into_parts();
    if parts.scheme.is_none() && parts.authority.is_none() {
        let path = parts.path_and_query.as_ref().map_or("", http::uri::PathAndQuery::as_str);
        if !path.starts_with('/') {
            return Err(other());
        }
        (parts.scheme, parts.authority) = (asked.scheme().cloned(), asked.authority().cloned());
    }
    if parts.scheme.as_ref() != asked.scheme() || parts.authority.as_ref() != asked.authority() {
        return Err(other());
    }
    Uri::from_parts(parts).map_err(|_| other())
}
