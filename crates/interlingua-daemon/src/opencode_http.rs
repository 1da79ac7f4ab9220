//! HTTP requests to an OpenCode server on this machine.

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, Response, header};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use ring::rand::{SecureRandom as _, SystemRandom};
use serde_json::{Value, json};
use tokio::net::TcpStream;

use crate::problem::ApiProblem;

/// The time for one request; a prompt is answered at once.
const REQUEST: Duration = Duration::from_secs(120);
/// The time for the abort of a session that has left.
const ABORT: Duration = Duration::from_secs(3);

/// A client of one server.
#[derive(Clone)]
pub(crate) struct ServerClient {
    address: SocketAddr,
    authorization: String,
}

/// The body of a stream of events.
pub(crate) struct EventBody(Incoming);

impl EventBody {
    /// The next bytes; `None` at the end.
    pub(crate) async fn next(&mut self) -> Option<Bytes> {
        loop {
            let frame = self.0.frame().await?.ok()?;
            if let Ok(bytes) = frame.into_data() {
                return Some(bytes);
            }
        }
    }
}

/// A random password of 128 bits. Fails if the operating system gives no random bytes.
pub(crate) fn random_word() -> Result<String, ApiProblem> {
    let mut bytes = [0; 16];
    let no_bytes = |_| ApiProblem::stream_error("the operating system gave no random bytes for a password");
    SystemRandom::new().fill(&mut bytes).map_err(no_bytes)?;
    Ok(bytes.iter().fold(String::new(), |word, byte| format!("{word}{byte:02x}")))
}

fn query(directory: Option<&str>) -> String {
    let Some(directory) = directory else { return String::new() };
    let mut query = "?directory=".to_owned();
    for byte in directory.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~/".contains(&byte) {
            query.push(char::from(byte));
        } else {
            // A text takes every write.
            let _ = write!(query, "%{byte:02X}");
        }
    }
    query
}

impl ServerClient {
    pub(crate) fn new(address: SocketAddr, password: &str) -> Self {
        let mut json = interlingua::json::JsonBuffer::default();
        json.hold().base64(format!("opencode:{password}").as_bytes());
        let authorization = format!("Basic {}", json.held().trim_matches('"'));
        Self { address, authorization }
    }

    async fn call(
        &self,
        method: Method,
        path: &str,
        body: Option<String>,
    ) -> Result<Response<Incoming>, String> {
        let failed = |error: &dyn std::fmt::Display| format!("the server cannot be reached: {error}");
        let stream = TcpStream::connect(self.address).await.map_err(|error| failed(&error))?;
        let handshake = hyper::client::conn::http1::handshake(TokioIo::new(stream));
        let (mut sender, connection) = handshake.await.map_err(|error| failed(&error))?;
        tokio::spawn(connection);
        let mut request =
            Request::builder().method(method).uri(path).header(header::HOST, self.address.to_string());
        request = request.header(header::AUTHORIZATION, &self.authorization);
        if body.is_some() {
            request = request.header(header::CONTENT_TYPE, "application/json");
        }
        let body = Full::new(Bytes::from(body.unwrap_or_default()));
        let request = request.body(body).map_err(|error| failed(&error))?;
        sender.send_request(request).await.map_err(|error| failed(&error))
    }

    /// Opens the stream of the events of a directory.
    pub(crate) async fn events(&self, directory: Option<&str>) -> Result<EventBody, String> {
        let response = self.call(Method::GET, &format!("/event{}", query(directory)), None).await?;
        if !response.status().is_success() {
            return Err(format!("the server refuses its events: {}", response.status()));
        }
        Ok(EventBody(response.into_body()))
    }

    /// Sends a request line: method, path and body as JSON. Returns the response as JSON if the session needs it: an object,
    /// or a failure.
    pub(crate) async fn send(&self, line: &str) -> Option<String> {
        let request: Value = serde_json::from_str(line).unwrap_or_default();
        let (method, path) =
            (request["method"].as_str().unwrap_or_default(), request["path"].as_str().unwrap_or_default());
        let answer = match method.parse() {
            Ok(method) => {
                tokio::time::timeout(REQUEST, self.exchange(method, path, request.get("body"))).await
            }
            Err(_) => Ok(Err(format!("`{method}` is no method"))),
        };
        let (status, body) = match answer {
            Ok(Ok(answer)) => answer,
            Ok(Err(problem)) => (502, Value::String(problem)),
            Err(_) => (504, Value::String("the server did not answer in time".to_owned())),
        };
        let is_needed = status >= 400 || body.is_object();
        is_needed.then(|| {
            json!({ "request": format!("{method} {path}"), "status": status, "body": body }).to_string()
        })
    }

    async fn exchange(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<(u16, Value), String> {
        let response = self.call(method, path, body.map(Value::to_string)).await?;
        let status = response.status().as_u16();
        let body = response.into_body().collect().await.map_err(|error| error.to_string())?.to_bytes();
        let text = || Value::String(String::from_utf8_lossy(&body).into_owned());
        let body = if body.is_empty() {
            Value::Null
        } else {
            serde_json::from_slice(&body).unwrap_or_else(|_| text())
        };
        Ok((status, body))
    }

    /// Stops the turn of a session. A server that has ended needs no abort.
    pub(crate) async fn abort(&self, session: &str, directory: Option<&str>) {
        let path = format!("/session/{session}/abort{}", query(directory));
        let _ = tokio::time::timeout(ABORT, self.exchange(Method::POST, &path, None)).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_cannot_leave_its_place_in_the_query() {
        assert_eq!(query(Some("/a b/é&x=1#")), "?directory=/a%20b/%C3%A9%26x%3D1%23");
        assert_eq!(query(None), "");
    }

    #[test]
    fn two_words_differ() {
        assert_ne!(random_word(), random_word());
        let is_word = |word: &String| word.len() == 32 && word.chars().all(|c| c.is_ascii_hexdigit());
        assert!(random_word().is_ok_and(|word| is_word(&word)));
    }
}
