//! The scripted model: a server on loopback that sends the replies of its script.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use super::cases::{Act, Reply};
use super::tidy::at_path;
use super::voice::ScriptedVoice;
use super::{PATIENCE, TaskResult};

/// A model on loopback that sends the replies of its script: `POST /v1/messages` as Anthropic, `POST /v1/responses` as
/// OpenAI, 404 for all other requests.
pub(super) struct Model {
    pub(super) port: u16,
    stage: Arc<Mutex<Stage>>,
}

struct Stage {
    left: VecDeque<&'static Reply>,
    repo: String,
    served: usize,
    /// Requests without a reply in the script.
    surprises: Vec<String>,
}

impl Model {
    pub(super) fn start(script: &'static [Reply], repo: &str) -> TaskResult<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        let port = listener.local_addr()?.port();
        let stage =
            Stage { left: script.iter().collect(), repo: repo.to_owned(), served: 0, surprises: Vec::new() };
        let stage = Arc::new(Mutex::new(stage));
        let shared = Arc::clone(&stage);
        let open = Arc::new(AtomicUsize::new(0));
        // The thread lives as long as xtask: a case costs one idle listener, and xtask ends soon.
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if open.load(Ordering::SeqCst) >= MAX_CONNECTIONS {
                    continue;
                }
                open.fetch_add(1, Ordering::SeqCst);
                let (stage, open) = (Arc::clone(&shared), Arc::clone(&open));
                thread::spawn(move || {
                    // A client that hangs up early is part of some cases.
                    let _ = serve(stream, &stage);
                    open.fetch_sub(1, Ordering::SeqCst);
                });
            }
        });
        Ok(Self { port, stage })
    }

    /// Fails if the program sent more or fewer requests than the script expects.
    pub(super) fn finished(&self) -> TaskResult<()> {
        let stage = self.stage.lock().unwrap_or_else(PoisonError::into_inner);
        if stage.left.is_empty() && stage.surprises.is_empty() {
            return Ok(());
        }
        Err(format!("{} replies unused, unexpected requests: {:?}", stage.left.len(), stage.surprises).into())
    }
}

fn serve(mut stream: TcpStream, stage: &Mutex<Stage>) -> TaskResult<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut head = Vec::new();
    let mut length = 0;
    loop {
        let mut line = String::new();
        (&mut reader).take(MAX_LINE).read_line(&mut line)?;
        let line = line.trim_end();
        if line.is_empty() || head.len() == MAX_HEADERS {
            break;
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse()?;
        }
        head.push(line.to_owned());
    }
    let mut body = String::new();
    reader.take(MAX_BODY.min(length)).read_to_string(&mut body)?;

    let request = head.first().map_or("", String::as_str);
    let anthropic = request.starts_with("POST /v1/messages");
    if !anthropic && !request.starts_with("POST /v1/responses") {
        return answer(&mut stream, "404 Not Found", "application/json", "{}");
    }
    let (reply, voice) = {
        let mut stage = stage.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(at) = stage.left.iter().position(|reply| body.contains(reply.when)) else {
            let tail = body.chars().rev().take(300).collect::<Vec<_>>().into_iter().rev();
            stage.surprises.push(format!("{request} … {}", tail.collect::<String>()));
            let refusal =
                r#"{"type":"error","error":{"type":"invalid_request_error","message":"not in the script"}}"#;
            return answer(&mut stream, "400 Bad Request", "application/json", refusal);
        };
        let reply = stage.left.remove(at).ok_or("the reply was just seen")?;
        stage.served += 1;
        let model = at_path(&body, "model").unwrap_or("\"demo-model\"").to_owned();
        (
            reply,
            ScriptedVoice { n: stage.served, model, repo: stage.repo.clone(), out: String::new(), events: 0 },
        )
    };
    match &reply.act {
        Act::Refuse(status, body) => answer(&mut stream, status, "application/json", body),
        Act::Say(blocks) => {
            let text = if anthropic { voice.messages(blocks, false) } else { voice.responses(blocks, false) };
            answer(&mut stream, "200 OK", "text/event-stream", &text)
        }
        Act::Stall(blocks) => {
            let text = if anthropic { voice.messages(blocks, true) } else { voice.responses(blocks, true) };
            answer(&mut stream, "200 OK", "text/event-stream", &text)?;
            // The client sends nothing more; wait until it hangs up.
            while stream.read(&mut [0])? > 0 {}
            Ok(())
        }
    }
}

/// Writes a response without a length: the body ends with the connection.
fn answer(stream: &mut TcpStream, status: &str, kind: &str, body: &str) -> TaskResult<()> {
    write!(
        stream,
        "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\nrequest-id: req_demo\r\nconnection: close\r\n\r\n{body}"
    )?;
    Ok(stream.flush()?)
}

const MAX_CONNECTIONS: usize = 16;
const MAX_HEADERS: usize = 100;
const MAX_LINE: u64 = 64 << 10;
const MAX_BODY: u64 = 16 << 20;
