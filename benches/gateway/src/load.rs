//! The clients: connections that send a request as soon as the answer before is whole.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::BenchResult;
use crate::backend::{CHUNKS, find};

/// The system text of a request is this text, forty times.
const SYSTEM: &str = "Answer briefly. ";

/// The schema of the tool of a request.
const SCHEMA: &str = r#"{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}"#;

/// The longest time of one call.
const PATIENCE: Duration = Duration::from_secs(20);

/// The API of the clients.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum ClientApi {
    Chat,
    Messages,
}

/// The end of a measurement.
#[derive(Clone, Copy)]
pub(crate) enum LoadEnd {
    After(Duration),
    /// After this many calls of each connection.
    Calls(usize),
}

/// The load of one measurement.
#[derive(Clone, Copy)]
pub(crate) struct Load {
    pub(crate) api: ClientApi,
    pub(crate) address: SocketAddr,
    pub(crate) model: &'static str,
    pub(crate) is_stream: bool,
    pub(crate) connections: usize,
    /// The least size of a request in bytes.
    pub(crate) size: usize,
}

/// The calls of a measurement.
pub(crate) struct Figures {
    /// The times from the request to the end of the answer, in order of length.
    whole: Vec<Duration>,
    /// The times from the request to the first byte of the body, in order of length.
    first: Vec<Duration>,
    time: Duration,
}

impl Figures {
    pub(crate) fn calls(&self) -> f64 {
        self.whole.len() as f64
    }

    pub(crate) fn calls_per_second(&self) -> f64 {
        self.calls() / self.time.as_secs_f64()
    }

    /// The time that this share of the calls did not exceed.
    pub(crate) fn quantile(&self, share: f64) -> Duration {
        at(&self.whole, share)
    }

    /// The median time to the first byte.
    pub(crate) fn first_byte(&self) -> Duration {
        at(&self.first, 0.5)
    }
}

#[expect(clippy::cast_sign_loss, clippy::cast_possible_truncation, reason = "a position in the list")]
fn at(sorted: &[Duration], share: f64) -> Duration {
    let last = sorted.len().saturating_sub(1);
    sorted.get((last as f64 * share).round() as usize).copied().unwrap_or_default()
}

impl Load {
    /// Calls until the end. An answer that is wrong ends the measurement.
    pub(crate) fn run(self, end: LoadEnd) -> BenchResult<Figures> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let start = Instant::now();
        let results = runtime.block_on(async {
            let mut clients = JoinSet::new();
            for _ in 0..self.connections {
                clients.spawn(self.client(start, end));
            }
            clients.join_all().await
        });
        let (mut whole, mut first) = (Vec::new(), Vec::new());
        for result in results {
            for (first_byte, end) in result? {
                first.push(first_byte);
                whole.push(end);
            }
        }
        let time = start.elapsed();
        whole.sort();
        first.sort();
        Ok(Figures { whole, first, time })
    }

    /// The calls of one connection: the times of the first byte and of the end.
    async fn client(self, start: Instant, end: LoadEnd) -> Result<Vec<(Duration, Duration)>, String> {
        let failed = |error: std::io::Error| format!("{}: {error}", self.address);
        let mut stream = TcpStream::connect(self.address).await.map_err(failed)?;
        stream.set_nodelay(true).map_err(failed)?;
        let request = self.request();
        let (mut times, mut answer) = (Vec::new(), Vec::with_capacity(64 << 10));
        let goes_on = |calls: usize| match end {
            LoadEnd::After(time) => calls == 0 || start.elapsed() < time,
            LoadEnd::Calls(most) => calls < most,
        };
        while goes_on(times.len()) {
            answer.clear();
            let start = Instant::now();
            stream.write_all(&request).await.map_err(failed)?;
            let (mut first, mut head) = (None, None);
            loop {
                let read = tokio::time::timeout(PATIENCE, stream.read_buf(&mut answer)).await;
                let length = read.map_err(|_| format!("{}: no answer in time", self.address))?;
                if length.map_err(failed)? == 0 {
                    return Err(format!("{}: the connection was closed", self.address));
                }
                head = head.or_else(|| Head::parse(&answer));
                let Some(head) = &head else { continue };
                if answer.len() > head.length {
                    first.get_or_insert_with(|| start.elapsed());
                }
                if head.is_whole(&answer) {
                    break;
                }
            }
            let whole = start.elapsed();
            // Each connection checks its first answer.
            if times.is_empty() {
                self.check(&answer)?;
            }
            times.push((first.unwrap_or(whole), whole));
        }
        Ok(times)
    }

    fn request(self) -> Vec<u8> {
        let (address, body) = (self.address, self.body());
        let length = body.len();
        let path = match self.api {
            ClientApi::Chat => "/v1/chat/completions",
            ClientApi::Messages => "/v1/messages",
        };
        format!("POST {path} HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}")
            .into_bytes()
    }

    /// The body of the request: about a kilobyte. A large request is a conversation with calls of a tool and their results.
    pub(crate) fn body(self) -> String {
        let Self { api, model, is_stream, size, .. } = self;
        if api == ClientApi::Messages {
            return format!(
                r#"{{"model":"{model}","system":"{}","messages":[{{"role":"user","content":"Count to one hundred, one word for each number, please."}}],"tools":[{{"name":"read_file","description":"Reads a file.","input_schema":{SCHEMA}}}],"max_tokens":400,"stream":{is_stream}}}"#,
                SYSTEM.repeat(40)
            );
        }
        let mut turns = String::new();
        if size > 0 {
            turns += r#"{"role":"user","content":"Read the files."},"#;
        }
        for number in 0.. {
            if turns.len() >= size {
                break;
            }
            let line = format!("let value{number} = \\\"text of line {number}\\\";\\n");
            turns += &format!(
                r#"{{"role":"assistant","content":null,"tool_calls":[{{"id":"call_{number}","type":"function","function":{{"name":"read_file","arguments":"{{\"path\":\"src/file{number}.rs\"}}"}}}}]}},{{"role":"tool","tool_call_id":"call_{number}","content":"{}"}},"#,
                line.repeat(40)
            );
        }
        format!(
            r#"{{"model":"{model}","messages":[{{"role":"system","content":"{}"}},{turns}{{"role":"user","content":"Count to one hundred, one word for each number, please."}}],"tools":[{{"type":"function","function":{{"name":"read_file","description":"Reads a file.","parameters":{SCHEMA}}}}}],"max_tokens":400,"stream":{is_stream}}}"#,
            SYSTEM.repeat(40)
        )
    }

    /// Checks that an answer is the whole answer of the backend in the dialect of the client.
    fn check(self, answer: &[u8]) -> Result<(), String> {
        let text = String::from_utf8_lossy(answer);
        let last = format!("word{} ", CHUNKS - 1);
        let [stop, kind, end] = match self.api {
            ClientApi::Chat => [r#""finish_reason":"stop""#, r#""object":"chat.completion""#, "data: [DONE]"],
            ClientApi::Messages => {
                [r#""stop_reason":"end_turn""#, r#""type":"message""#, "event: message_stop"]
            }
        };
        let has_end = text.contains(stop) && text.contains(&last);
        let is_right = if self.is_stream {
            has_end && text.contains(end) && text.matches("data: {").count() > CHUNKS
        } else {
            has_end && text.contains(kind)
        };
        let is_right = is_right && text.starts_with("HTTP/1.1 200");
        is_right.then_some(()).ok_or_else(|| format!("{}: a wrong answer: {text}", self.address))
    }
}

/// The head of an answer.
struct Head {
    length: usize,
    /// The length of the body; `None` for chunks.
    body: Option<usize>,
}

impl Head {
    fn parse(answer: &[u8]) -> Option<Self> {
        let length = find(answer, b"\r\n\r\n")? + 4;
        let text = std::str::from_utf8(&answer[..length]).ok()?.to_ascii_lowercase();
        let body = text.lines().find_map(|line| line.strip_prefix("content-length:")?.trim().parse().ok());
        Some(Self { length, body })
    }

    fn is_whole(&self, answer: &[u8]) -> bool {
        match self.body {
            Some(body) => answer.len() >= self.length + body,
            // The events hold no carriage return.
            None => answer.ends_with(b"\r\n0\r\n\r\n"),
        }
    }
}
