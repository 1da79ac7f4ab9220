//! A small HTTP client: whole answers, and streams of events.

use std::net::SocketAddr;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::BenchResult;

/// A connection that stays open for further requests.
pub(crate) struct Connection {
    stream: TcpStream,
    address: SocketAddr,
}

impl Connection {
    pub(crate) async fn open(address: SocketAddr) -> BenchResult<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, address })
    }

    async fn send(&mut self, method: &str, path: &str, body: &str) -> BenchResult<()> {
        let (host, length) = (self.address, body.len());
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
        );
        Ok(self.stream.write_all(head.as_bytes()).await?)
    }

    /// Sends a request, and returns the body of its answer. An answer that is no success is an error.
    pub(crate) async fn call(&mut self, method: &str, path: &str, body: &str) -> BenchResult<Vec<u8>> {
        self.send(method, path, body).await?;
        let mut answer = Vec::new();
        let head = loop {
            if let Some(end) = find(&answer, b"\r\n\r\n") {
                break end + 4;
            }
            if self.stream.read_buf(&mut answer).await? == 0 {
                return Err("the server closed the connection".into());
            }
        };
        let text = String::from_utf8_lossy(&answer[..head]).to_ascii_lowercase();
        let length = text.lines().find_map(|line| line.strip_prefix("content-length:"));
        let length: usize = length.map_or(Ok(0), |length| length.trim().parse())?;
        while answer.len() < head + length {
            if self.stream.read_buf(&mut answer).await? == 0 {
                return Err("the server closed the connection".into());
            }
        }
        if !text.starts_with("http/1.1 2") {
            return Err(format!("{method} {path}: {}", String::from_utf8_lossy(&answer)).into());
        }
        Ok(answer.split_off(head))
    }
}

/// One request on a connection of its own.
pub(crate) async fn call(address: SocketAddr, method: &str, path: &str, body: &str) -> BenchResult<Vec<u8>> {
    Connection::open(address).await?.call(method, path, body).await
}

/// A reader of events.
pub(crate) struct Reader {
    connection: Connection,
    /// Bytes after the last whole frame.
    rest: Vec<u8>,
    /// The number of events so far.
    pub(crate) events: u64,
    /// The number of ended turns so far.
    pub(crate) turns: u64,
}

impl Reader {
    /// Reads the events of a session after an offset.
    pub(crate) async fn open(address: SocketAddr, session: &str, offset: u64) -> BenchResult<Self> {
        let mut connection = Connection::open(address).await?;
        let path = format!("/v1/sessions/{session}/events/sse?offset={offset}");
        connection.send("GET", &path, "").await?;
        Ok(Self { connection, rest: Vec::new(), events: 0, turns: 0 })
    }

    /// Waits for the next bytes, and counts the events in them.
    pub(crate) async fn more(&mut self) -> BenchResult<()> {
        if self.connection.stream.read_buf(&mut self.rest).await? == 0 {
            return Err("the stream of events ended".into());
        }
        let mut start = 0;
        while let Some(end) = find(&self.rest[start..], b"\n\n") {
            let frame = &self.rest[start..start + end];
            start += end + 2;
            let Some(data) = find(frame, b"data: {") else { continue };
            self.events += 1;
            // The type is in the first members of an event.
            let head = &frame[data..frame.len().min(data + 400)];
            self.turns += u64::from(find(head, br#""type":"turn.ended""#).is_some());
        }
        self.rest.drain(..start);
        Ok(())
    }

    /// Reads until this many events.
    pub(crate) async fn until_events(&mut self, events: u64) -> BenchResult<()> {
        while self.events < events {
            self.more().await?;
        }
        Ok(())
    }

    /// Reads until the end of this many turns.
    pub(crate) async fn until_turns(&mut self, turns: u64) -> BenchResult<()> {
        while self.turns < turns {
            self.more().await?;
        }
        Ok(())
    }
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    // Most bytes differ from the first wanted byte, which is rare in events.
    let first = *wanted.first()?;
    let mut start = 0;
    while let Some(at) = bytes[start..].iter().position(|byte| *byte == first) {
        if bytes[start + at..].starts_with(wanted) {
            return Some(start + at);
        }
        start += at + 1;
    }
    None
}
