//! A gateway, requests of every client, and a server that plays a backend.

use std::collections::VecDeque;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Duration;

use interlingua::dialects::{Options, Role};
use interlingua::pipe::EventReader;
use interlingua_gateway::{Config, FinishedCall, Lookup, Recorder, Server, ServerHandle, ServerParts};
use serde_json::{Value, json};

pub(crate) const DIALECTS: [&str; 6] =
    ["anthropic", "openai-chat", "openai-responses", "gemini", "kimi", "copilot"];

/// A list that grows on another thread.
pub(crate) struct Growing<T>(Arc<(Mutex<Vec<T>>, Condvar)>);

impl<T> Default for Growing<T> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<T> Clone for Growing<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> Growing<T> {
    pub(crate) fn push(&self, value: T) {
        self.0.0.lock().unwrap().push(value);
        self.0.1.notify_all();
    }

    pub(crate) fn look(&self) -> MutexGuard<'_, Vec<T>> {
        self.0.0.lock().unwrap()
    }

    /// Waits until the list has this many elements.
    pub(crate) fn wait_for(&self, count: usize) -> MutexGuard<'_, Vec<T>> {
        let patience = Duration::from_secs(10);
        let (list, waited) =
            self.0.1.wait_timeout_while(self.look(), patience, |list| list.len() < count).unwrap();
        assert!(!waited.timed_out(), "{} of {count} elements", list.len());
        list
    }
}

/// A gateway that listens on a free port.
pub(crate) struct TestGateway {
    pub(crate) address: SocketAddr,
    pub(crate) handle: ServerHandle,
    pub(crate) calls: Growing<FinishedCall>,
    _stop: tokio::sync::oneshot::Sender<()>,
    _runtime: tokio::runtime::Runtime,
}

/// Values outside a configuration: one script, and variables that hold their own name, except those of OpenTelemetry.
pub(crate) struct TestLookup(pub(crate) &'static str);

impl Lookup for TestLookup {
    fn variable(&self, name: &str) -> Option<String> {
        (!name.starts_with("NO_") && !name.starts_with("OTEL_")).then(|| name.to_owned())
    }

    fn read(&self, path: &str) -> Result<String, String> {
        if path == "missing" { Err("cannot read `missing`".to_owned()) } else { Ok(self.0.to_owned()) }
    }
}

struct Memory(Growing<FinishedCall>);

impl Recorder for Memory {
    fn record(&self, call: FinishedCall) {
        self.0.push(call);
    }
}

impl TestGateway {
    pub(crate) fn with(config: &str, script: &'static str) -> Self {
        Self::with_parts(config, script, ServerParts::default())
    }

    pub(crate) fn with_parts(config: &str, script: &'static str, parts: ServerParts) -> Self {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let config = Config::parse(&format!("listen = \"127.0.0.1:0\"\n{config}")).unwrap();
        let calls = Growing::default();
        let parts = parts.with_recorder(Arc::new(Memory(calls.clone())));
        let server = runtime.block_on(Server::start(config, &TestLookup(script), parts)).unwrap();
        let (address, handle) = (server.address(), server.handle());
        let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
        runtime.spawn(server.serve(async move { drop(stopped.await) }));
        Self { address, handle, calls, _stop: stop, _runtime: runtime }
    }

    pub(crate) fn request(&self, head: &str, body: &str) -> HttpAnswer {
        let mut stream = TcpStream::connect(self.address).unwrap();
        let host =
            if head.contains("\nhost:") { String::new() } else { format!("host: {}\r\n", self.address) };
        let length = body.len();
        write!(stream, "{head}\r\n{host}content-length: {length}\r\nconnection: close\r\n\r\n{body}")
            .unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        HttpAnswer::parse(&answer)
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> HttpAnswer {
        self.request(&format!("POST {path} HTTP/1.1"), &body.to_string())
    }

    pub(crate) fn get(&self, path: &str) -> HttpAnswer {
        self.request(&format!("GET {path} HTTP/1.1"), "")
    }
}

/// An answer over HTTP.
pub(crate) struct HttpAnswer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl HttpAnswer {
    pub(crate) fn parse(bytes: &[u8]) -> Self {
        let text = String::from_utf8(bytes.to_vec()).unwrap();
        let (head, mut rest) = text.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        let head = head.to_lowercase();
        if !head.contains("transfer-encoding: chunked") {
            return Self { status, body: rest.to_owned(), head };
        }
        let mut body = String::new();
        while let Some((size, more)) = rest.split_once("\r\n") {
            let size = usize::from_str_radix(size, 16).unwrap();
            body.push_str(&more[..size]);
            rest = &more[size + 2..];
        }
        Self { status, head, body }
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }
}

/// The path and the body of a request by a client, with `turns` earlier turns of the assistant.
pub(crate) fn request(client: &str, model: &str, stream: bool, turns: usize) -> (String, Value) {
    let history = |user: &str, assistant: &str, content: &dyn Fn(&str) -> Value, member: &str| {
        let mut all = Vec::new();
        for turn in 0..=turns {
            all.push(json!({"role": user, member: content(&format!("question {turn}"))}));
            if turn < turns {
                all.push(json!({"role": assistant, member: content(&format!("answer {turn}"))}));
            }
        }
        all
    };
    let plain = |text: &str| json!(text);
    match client {
        "anthropic" => (
            "/v1/messages".to_owned(),
            json!({"model": model, "max_tokens": 99, "stream": stream, "messages": history("user", "assistant", &plain, "content")}),
        ),
        "openai-chat" | "kimi" | "copilot" => {
            let path = match client {
                "kimi" => "/kimi/v1/chat/completions",
                "copilot" => "/copilot/chat/completions",
                _ => "/v1/chat/completions",
            };
            let messages = history("user", "assistant", &plain, "content");
            (path.to_owned(), json!({"model": model, "stream": stream, "messages": messages}))
        }
        "openai-responses" => (
            "/v1/responses".to_owned(),
            json!({"model": model, "stream": stream, "input": history("user", "assistant", &plain, "content")}),
        ),
        "gemini" => {
            let method = if stream { "streamGenerateContent?alt=sse" } else { "generateContent" };
            let contents = history("user", "model", &|text| json!([{"text": text}]), "parts");
            (format!("/v1beta/models/{model}:{method}"), json!({"contents": contents}))
        }
        other => panic!("{other}"),
    }
}

/// Reads an answer with the core, which other tests compare with the official clients.
pub(crate) fn told(client: &str, answer: &HttpAnswer) -> String {
    let dialect = interlingua::dialects::Dialect::named(client).unwrap();
    let role = if answer.head.contains("text/event-stream") { Role::Stream } else { Role::Response };
    let mut told = String::new();
    let mut each = |event: &interlingua::model::Event<'_>| {
        use interlingua::model::{Args, Event, ItemKind, Part};
        match event {
            Event::ItemStarted(head) => {
                if let ItemKind::ToolCall(call) = &head.kind {
                    told.push_str(&format!("[{}]", call.name.decode()));
                }
            }
            Event::ItemDelta(delta) => match &delta.value {
                Part::Text(text) | Part::Summary(text) => told.push_str(&text.decode()),
                Part::Args(Args::Text(text)) => told.push_str(&text.decode()),
                Part::Args(Args::Json(json)) => told.push_str(json.as_str()),
                _ => {}
            },
            Event::TurnEnded(turn) => {
                if let Some(stop) = &turn.stop {
                    told.push_str(&format!("[{}]", stop.class.word()));
                }
            }
            Event::Error(failure) => told.push_str(&format!("[error {}]", failure.message.decode())),
            _ => {}
        }
    };
    let mut reader = EventReader::new((dialect, role), &Options::default()).unwrap();
    reader.push(answer.body.as_bytes(), &mut each);
    reader.finish(&mut each);
    told.retain(|letter| !letter.is_whitespace());
    told
}

/// The next act of the server that plays a backend.
#[derive(Clone, Debug)]
pub(crate) enum Act {
    /// A response with a status, further headers and a body.
    Answer(u16, &'static str, String),
    /// The beginning of a stream, then silence.
    Stall(String),
    /// A stream whose connection breaks inside the body.
    Break(String),
    /// No answer: the connection is closed.
    Close,
}

/// A server that plays a backend: it performs one act per request, and the last act for all further requests.
pub(crate) struct Upstream {
    pub(crate) url: String,
    pub(crate) requests: Growing<String>,
    /// An element for each connection that the gateway has closed while an answer was open.
    pub(crate) left: Growing<()>,
}

impl Upstream {
    pub(crate) fn start(acts: impl IntoIterator<Item = Act>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let acts = Arc::new(Mutex::new(acts.into_iter().collect::<VecDeque<Act>>()));
        let (requests, left) = (Growing::default(), Growing::default());
        let (seen, gone) = (requests.clone(), left.clone());
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (acts, seen, gone) = (Arc::clone(&acts), seen.clone(), gone.clone());
                std::thread::spawn(move || play(&mut stream.unwrap(), &acts, &seen, &gone));
            }
        });
        Self { url, requests, left }
    }

    pub(crate) fn count(&self) -> usize {
        self.requests.look().len()
    }
}

fn play(stream: &mut TcpStream, acts: &Mutex<VecDeque<Act>>, seen: &Growing<String>, gone: &Growing<()>) {
    while let Some(request) = read_request(stream) {
        seen.push(request);
        let mut acts = acts.lock().unwrap();
        let act = if acts.len() > 1 { acts.pop_front() } else { acts.front().cloned() };
        drop(acts);
        let stream_head =
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
        match act.unwrap() {
            Act::Answer(status, headers, body) => {
                let length = body.len();
                let kind =
                    if headers.contains("content-type") { "" } else { "content-type: application/json\r\n" };
                let head =
                    format!("HTTP/1.1 {status} Any\r\n{kind}{headers}content-length: {length}\r\n\r\n");
                let _ = stream.write_all(format!("{head}{body}").as_bytes());
            }
            Act::Stall(begin) => {
                // An empty chunk would be the end.
                if begin.is_empty() {
                    let _ = stream.write_all(stream_head.as_bytes());
                } else {
                    let chunk = format!("{stream_head}{:x}\r\n{begin}\r\n", begin.len());
                    let _ = stream.write_all(chunk.as_bytes());
                }
                // A read ends when the other side closes the connection.
                stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
                // A side that closes with unread bytes resets the connection.
                let end = stream.read(&mut [0; 1]).map_err(|error| error.kind());
                if matches!(end, Ok(0) | Err(std::io::ErrorKind::ConnectionReset)) {
                    gone.push(());
                }
                return;
            }
            Act::Break(begin) => {
                let chunk = format!("{stream_head}{:x}\r\n{begin}\r\n", begin.len());
                let _ = stream.write_all(chunk.as_bytes());
                return;
            }
            Act::Close => return,
        }
    }
}

/// A request with its body; `None` at the end of the connection.
fn read_request(stream: &mut TcpStream) -> Option<String> {
    let mut bytes = Vec::new();
    loop {
        let mut buffer = vec![0; 65536];
        let length = stream.read(&mut buffer).ok().filter(|length| *length > 0)?;
        bytes.extend_from_slice(&buffer[..length]);
        let text = String::from_utf8(bytes.clone()).unwrap();
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let wanted = head.lines().find_map(|line| {
            line.to_lowercase()
                .strip_prefix("content-length: ")
                .and_then(|length| length.parse::<usize>().ok())
        });
        if body.len() >= wanted.unwrap_or(0) {
            return Some(text);
        }
    }
}
