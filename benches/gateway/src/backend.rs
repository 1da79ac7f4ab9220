//! The backend: an HTTP server with fixed answers in two dialects, whole or as a stream of 100 chunks.

use std::net::SocketAddr;
use std::sync::Arc;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::BenchResult;

/// The chunks of a stream.
pub(crate) const CHUNKS: usize = 100;

/// The answers in one dialect.
struct Answers {
    path: &'static str,
    /// A whole response with its head.
    whole: Vec<u8>,
    /// The head and the events of a stream, each for a write of its own.
    stream: Vec<Vec<u8>>,
}

/// Starts the backend on a thread of its own and a free port.
pub(crate) fn start() -> BenchResult<SocketAddr> {
    let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
    listener.set_nonblocking(true)?;
    let address = listener.local_addr()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    std::thread::spawn(move || {
        runtime.block_on(async move {
            let Ok(listener) = TcpListener::from_std(listener) else { return };
            let answers = Arc::new([chat(), messages()]);
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, Arc::clone(&answers)));
            }
        });
    });
    Ok(address)
}

/// Answers the requests of a connection until the client leaves.
async fn serve(mut stream: TcpStream, all: Arc<[Answers; 2]>) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut received = Vec::with_capacity(16 << 10);
    loop {
        let length = loop {
            if let Some(length) = request_length(&received) {
                break length;
            }
            if stream.read_buf(&mut received).await? == 0 {
                return Ok(());
            }
        };
        let request: Vec<u8> = received.drain(..length).collect();
        let is_at = |answers: &&Answers| find(&request, answers.path.as_bytes()).is_some_and(|at| at < 64);
        let Some(answers) = all.iter().find(is_at) else {
            stream.write_all(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n").await?;
            continue;
        };
        if find(&request, b"\"stream\":true").is_none() {
            stream.write_all(&answers.whole).await?;
            continue;
        }
        for piece in &answers.stream {
            stream.write_all(piece).await?;
        }
    }
}

/// The length of a request that has arrived whole.
fn request_length(bytes: &[u8]) -> Option<usize> {
    let head = find(bytes, b"\r\n\r\n")? + 4;
    let text = std::str::from_utf8(&bytes[..head]).ok()?;
    let length = text.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
    });
    Some(head + length.unwrap_or(0)).filter(|length| bytes.len() >= *length)
}

pub(crate) fn find(bytes: &[u8], part: &[u8]) -> Option<usize> {
    bytes.windows(part.len()).position(|window| window == part)
}

/// The text of an answer: a word for each chunk.
fn word(number: usize) -> String {
    format!("word{number} ")
}

fn text() -> String {
    (0..CHUNKS).map(word).collect()
}

fn chat() -> Answers {
    let head = r#""id":"chatcmpl-1","created":1700000000,"model":"m""#;
    let usage = r#""usage":{"prompt_tokens":20,"completion_tokens":100,"total_tokens":120}"#;
    let body = format!(
        r#"{{{head},"object":"chat.completion","choices":[{{"index":0,"message":{{"role":"assistant","content":"{}"}},"finish_reason":"stop"}}],{usage}}}"#,
        text()
    );
    let chunk = |delta: &str, finish: &str| {
        format!(
            "data: {{{head},\"object\":\"chat.completion.chunk\",\"choices\":[{{\"index\":0,\"delta\":{delta},\"finish_reason\":{finish}}}]}}\n\n"
        )
    };
    let mut events = vec![chunk(r#"{"role":"assistant","content":""}"#, "null")];
    events.extend((0..CHUNKS).map(|number| chunk(&format!(r#"{{"content":"{}"}}"#, word(number)), "null")));
    events.push(chunk("{}", "\"stop\""));
    events.push(format!("data: {{{head},\"object\":\"chat.completion.chunk\",\"choices\":[],{usage}}}\n\n"));
    events.push("data: [DONE]\n\n".to_owned());
    Answers { path: "/v1/chat/completions", whole: whole(&body), stream: stream(&events) }
}

fn messages() -> Answers {
    let message = |content: &str, stop: &str, output: usize| {
        format!(
            r#"{{"id":"msg_1","type":"message","role":"assistant","model":"m","content":{content},"stop_reason":{stop},"stop_sequence":null,"usage":{{"input_tokens":20,"output_tokens":{output}}}}}"#
        )
    };
    let body = message(&format!(r#"[{{"type":"text","text":"{}"}}]"#, text()), "\"end_turn\"", CHUNKS);
    let event = |kind: &str, rest: &str| format!("event: {kind}\ndata: {{\"type\":\"{kind}\"{rest}}}\n\n");
    let mut events = vec![
        event("message_start", &format!(r#","message":{}"#, message("[]", "null", 1))),
        event("content_block_start", r#","index":0,"content_block":{"type":"text","text":""}"#),
    ];
    events.extend((0..CHUNKS).map(|number| {
        let delta = format!(r#","index":0,"delta":{{"type":"text_delta","text":"{}"}}"#, word(number));
        event("content_block_delta", &delta)
    }));
    events.push(event("content_block_stop", r#","index":0"#));
    events.push(event(
        "message_delta",
        r#","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":100}"#,
    ));
    events.push(event("message_stop", ""));
    Answers { path: "/v1/messages", whole: whole(&body), stream: stream(&events) }
}

fn whole(body: &str) -> Vec<u8> {
    let length = body.len();
    format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}")
        .into_bytes()
}

fn stream(events: &[String]) -> Vec<Vec<u8>> {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
    let chunks = events.iter().map(|event| format!("{:x}\r\n{event}\r\n", event.len()));
    let mut pieces: Vec<Vec<u8>> = chunks.map(String::into_bytes).collect();
    // The head is part of the first write, the end part of the last.
    if let Some(first) = pieces.first_mut() {
        first.splice(..0, head.bytes());
    }
    if let Some(last) = pieces.last_mut() {
        last.extend_from_slice(b"0\r\n\r\n");
    }
    pieces
}
