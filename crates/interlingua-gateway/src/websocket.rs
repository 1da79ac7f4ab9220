//! The Responses API over a WebSocket, which Codex tries first: each `response.create` message is a request, and each
//! event of the answer is a message.
//!
//! The connection stores its own responses, also those with `"store":false`, so that a client sends only its new items.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::{SinkExt, StreamExt};
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode, header};
use http_body_util::BodyExt;
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use interlingua::dialects::Dialect;
use interlingua::json::Str;
use interlingua::model::FailureClass;
use interlingua::tape::{Limits, TapeBuf};
use interlingua::wire::endpoints::{Api, Endpoint};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::{Role as SocketRole, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Message, Utf8Bytes};

use crate::answer_body::AnswerBody;
use crate::call::FailedCall;
use crate::service::{ClientBody, Gateway, ModelRequest, own_headers};
use crate::stored_responses::{self, StoredResponses};

/// The path of the WebSocket.
const PATH: &str = "/v1/responses";

/// The largest size of the stored responses of a connection in bytes.
const CONNECTION_STORE: usize = 64 << 20;

/// Whether a request asks for a WebSocket.
pub(crate) fn is_upgrade(headers: &HeaderMap) -> bool {
    let has = |name, word: &str| {
        headers
            .get(name)
            .and_then(|value: &HeaderValue| value.to_str().ok())
            .is_some_and(|value| value.split(',').any(|part| part.trim().eq_ignore_ascii_case(word)))
    };
    has(header::CONNECTION, "upgrade") && has(header::UPGRADE, "websocket")
}

/// Accepts a WebSocket of a client. `None` if the request is no valid handshake.
pub(crate) fn accept(
    gateway: &Arc<Gateway>,
    mut request: Request<ClientBody>,
    client: String,
    most_bytes: usize,
) -> Option<Response<AnswerBody>> {
    let key = request.headers().get(header::SEC_WEBSOCKET_KEY)?;
    let version = request.headers().get(header::SEC_WEBSOCKET_VERSION)?;
    if version.as_bytes() != b"13" {
        return None;
    }
    let accept = HeaderValue::from_str(&derive_accept_key(key.as_bytes())).ok()?;
    let upgrade = hyper::upgrade::on(&mut request);
    let connection = Connection {
        gateway: Arc::clone(gateway),
        client,
        headers: own_headers(request.headers()),
        stored: StoredResponses::new(CONNECTION_STORE),
    };
    tokio::spawn(connection.serve(upgrade, most_bytes));
    let mut response = Response::new(AnswerBody::whole(Bytes::new()));
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    let headers = response.headers_mut();
    headers.insert(header::CONNECTION, HeaderValue::from_static("Upgrade"));
    headers.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
    headers.insert(header::SEC_WEBSOCKET_ACCEPT, accept);
    Some(response)
}

/// An open WebSocket.
struct Connection {
    gateway: Arc<Gateway>,
    /// The name of the client.
    client: String,
    headers: HeaderMap,
    stored: StoredResponses,
}

type Socket = WebSocketStream<TokioIo<hyper::upgrade::Upgraded>>;

/// The client has left.
struct Left;

impl Connection {
    async fn serve(self, upgrade: OnUpgrade, most_bytes: usize) {
        let _open = self.gateway.open_connection();
        let Ok(upgraded) = upgrade.await else { return };
        let config =
            WebSocketConfig::default().max_message_size(Some(most_bytes)).max_frame_size(Some(most_bytes));
        let mut socket =
            WebSocketStream::from_raw_socket(TokioIo::new(upgraded), SocketRole::Server, Some(config)).await;
        let closed = self.gateway.closed();
        let mut closed = std::pin::pin!(closed);
        let mut waiting = WaitingMessages::default();
        loop {
            if let Some(text) = waiting.pop_front() {
                if self.answer(text, &mut socket, &mut waiting).await.is_err() {
                    break;
                }
                continue;
            }
            let message = tokio::select! {
                message = socket.next() => message,
                () = &mut closed => break,
            };
            let text = match message {
                Some(Ok(Message::Text(text))) => Bytes::from(text),
                Some(Ok(Message::Binary(bytes))) => bytes,
                Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => continue,
                Some(Ok(Message::Close(_)) | Err(_)) | None => break,
            };
            waiting.push_back(text);
        }
        let _ = socket.close(None).await;
    }

    /// Answers one message.
    async fn answer(
        &self,
        message: Bytes,
        socket: &mut Socket,
        waiting: &mut WaitingMessages,
    ) -> Result<(), Left> {
        let request = match self.request(&message) {
            Ok(request) => request,
            Err(failure) => return send(socket, error_event(failure.class.status(), &failure)).await,
        };
        let body = Bytes::from(request.body);
        if request.is_warm_up {
            return self.warm_up(&body, socket).await;
        }
        let state = self.gateway.state();
        let Some(client) = state.client(&self.client) else {
            let gone = FailedCall::new(FailureClass::Authentication, "the key of this client was removed");
            return send(socket, error_event(401, &gone)).await;
        };
        let Some((dialect, endpoint)) = endpoint() else { return Err(Left) };
        let (headers, body_sent) = (self.headers.clone(), body.clone());
        let (query, traceparent) = (String::new(), None);
        let request =
            ModelRequest { dialect, endpoint, headers, query, model: None, body: body_sent, traceparent };
        // A client that leaves before the first event ends the call, too.
        let answered = tokio::select! {
            answered = self.gateway.respond(&state, client, request) => answered,
            left = until_left(socket, waiting) => return Err(left),
        };
        let response = match answered {
            Ok(response) => response,
            Err(failure) => return send(socket, error_event(failure.class.status(), &failure)).await,
        };
        let status = response.status().as_u16();
        let is_stream = matches!(response.body(), AnswerBody::Streamed(_));
        let mut answer = response.into_body();
        let mut returned: Vec<u8> = Vec::new();
        let mut sent = 0;
        loop {
            let frame = tokio::select! {
                frame = answer.frame() => frame,
                left = until_left(socket, waiting) => return Err(left),
            };
            let Some(Ok(frame)) = frame else { break };
            let Ok(data) = frame.into_data() else { continue };
            returned.extend_from_slice(&data);
            while is_stream && let Some(length) = memchr::memmem::find(&returned[sent..], b"\n\n") {
                let event = &returned[sent..sent + length];
                sent += length + 2;
                if let Some(data) = data_of(event) {
                    send(socket, data).await?;
                }
            }
        }
        if !is_stream {
            return send(socket, error_of_body(status, &returned)).await;
        }
        self.stored.store(&self.client, &body, &returned);
        Ok(())
    }

    /// The request in a message.
    fn request(&self, message: &[u8]) -> Result<SocketRequest, FailedCall> {
        let wrong = |detail: &str| FailedCall::new(FailureClass::InvalidRequest, detail);
        let text = std::str::from_utf8(message).map_err(|_| wrong("the message is not UTF-8"))?;
        let mut tape = TapeBuf::default();
        let tape = tape.parse(text, &Limits::default()).map_err(|_| wrong("the message is not JSON"))?;
        let root = tape.root();
        if !root.get("type").is_some_and(|kind| kind.is("response.create")) {
            return Err(wrong("the message is no `response.create`"));
        }
        if root.get("background").and_then(|background| background.bool()) == Some(true) {
            return Err(wrong("`background` is not served on a WebSocket; send the request with POST"));
        }
        let is_warm_up = root.get("generate").and_then(|generate| generate.bool()) == Some(false);
        let without = ["type", "generate", "stream", "background", "stream_id"];
        let mut body = stored_responses::rewritten(message, &without, &[("stream", "true")])?;
        if let Some(id) = stored_responses::continued(&body) {
            // Responses that other connections or requests stored are found by the gateway.
            if let Some(before) = self.stored.get(&id, &self.client) {
                body = stored_responses::with_history(&body, &before)?;
            }
        }
        Ok(SocketRequest { body, is_warm_up })
    }

    /// Answers a request that only prepares the next one.
    async fn warm_up(&self, body: &[u8], socket: &mut Socket) -> Result<(), Left> {
        let id = format!("resp_{}", crate::finished::new_id().1);
        let model = crate::model_name::model_of(body).unwrap_or_default();
        let model = Str::plain(&model);
        let response = |status: &str| {
            format!(
                r#"{{"id":"{id}","object":"response","created_at":0,"status":"{status}","model":"{}","output":[]}}"#,
                model.as_escaped()
            )
        };
        let (begun, done) = (response("in_progress"), response("completed"));
        send(socket, format!(r#"{{"type":"response.created","sequence_number":0,"response":{begun}}}"#))
            .await?;
        send(socket, format!(r#"{{"type":"response.completed","sequence_number":1,"response":{done}}}"#))
            .await?;
        self.stored.store(&self.client, body, done.as_bytes());
        Ok(())
    }
}

/// A request of a message.
struct SocketRequest {
    body: Vec<u8>,
    /// Whether no answer is wanted.
    is_warm_up: bool,
}

/// The endpoint whose requests the messages hold.
pub(crate) fn endpoint() -> Option<(&'static Dialect, &'static Endpoint)> {
    let api = Api::of("openai-responses")?;
    let (endpoint, _) = api.find_endpoint("POST", PATH)?;
    Some((Dialect::named(api.dialect)?, endpoint))
}

/// Messages that came while an answer was open. They are answered in turn.
type WaitingMessages = VecDeque<Bytes>;

/// The most messages that wait.
const MOST_WAITING: usize = 16;

/// Keeps messages for later; ends when the client leaves.
async fn until_left(socket: &mut Socket, waiting: &mut WaitingMessages) -> Left {
    loop {
        let message = match socket.next().await {
            Some(Ok(Message::Text(text))) => Bytes::from(text),
            Some(Ok(Message::Binary(bytes))) => bytes,
            Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => continue,
            Some(Ok(Message::Close(_)) | Err(_)) | None => return Left,
        };
        if waiting.len() < MOST_WAITING {
            waiting.push_back(message);
            continue;
        }
        let full = format!("{MOST_WAITING} messages wait for the open answer of this connection");
        let full = FailedCall::new(FailureClass::RateLimit, full);
        if let Err(left) = send(socket, error_event(full.class.status(), &full)).await {
            return left;
        }
    }
}

async fn send(socket: &mut Socket, text: String) -> Result<(), Left> {
    socket.send(Message::Text(Utf8Bytes::from(text))).await.map_err(|_| Left)
}

/// The data of a server-sent event.
fn data_of(event: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(event).ok()?;
    let data = text.lines().find_map(|line| line.strip_prefix("data: "))?;
    (data != "[DONE]").then(|| data.to_owned())
}

/// The event for an error of the gateway.
fn error_event(status: u16, failure: &FailedCall) -> String {
    let dialect = Dialect::named("openai-responses");
    error_of_body(status, &dialect.map(|dialect| failure.body(dialect)).unwrap_or_default())
}

/// The event for the body of an error.
fn error_of_body(status: u16, body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    let mut tape = TapeBuf::default();
    let error = tape.parse(&text, &Limits::default()).ok().and_then(|tape| {
        let error = tape.root().get("error")?;
        Some(error.text().to_owned())
    });
    let error = error.unwrap_or_else(|| format!(r#"{{"message":"{}"}}"#, Str::plain(&text).as_escaped()));
    format!(r#"{{"type":"error","status":{status},"error":{error}}}"#)
}
