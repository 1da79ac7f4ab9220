//! Cassettes: recorded exchanges with a backend, which answer the same requests again without a network.
//!
//! A cassette is a file of JSON lines, one per exchange. No header is recorded except the content type and the delay of a
//! rate limit, so a cassette holds no key.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use interlingua::json::Str;
use interlingua::tape::{Limits, TapeBuf, Val};
use serde::Deserialize;

/// The rule by which a recorded exchange answers a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum CassetteMatch {
    /// The path and the body are the same. The same request again gets the next recorded answer to it, at last the last.
    #[default]
    Exact,
    /// The first request gets the first answer, the second the second, whatever they ask.
    Order,
}

/// A recorded answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TapedAnswer {
    pub(crate) status: u16,
    pub(crate) is_stream: bool,
    /// Milliseconds until the client may try again.
    pub(crate) retry_after: Option<u64>,
    /// Whether the connection broke off.
    pub(crate) is_cut: bool,
    /// The body in the pieces in which it arrived.
    pub(crate) pieces: Vec<Bytes>,
}

/// A cassette to answer from.
#[derive(Debug)]
pub(crate) struct Cassette {
    answers: Vec<TapedAnswer>,
    /// The numbers of the answers to each path and body.
    by_request: HashMap<(String, String), Vec<usize>>,
    rule: CassetteMatch,
    /// How often each request came; with [`CassetteMatch::Order`], how many requests came.
    asked: Mutex<HashMap<(String, String), usize>>,
}

impl Cassette {
    /// Reads a cassette. The error names the line.
    pub(crate) fn parse(text: &str, rule: CassetteMatch) -> Result<Self, String> {
        let mut cassette =
            Self { answers: Vec::new(), by_request: HashMap::new(), rule, asked: Mutex::default() };
        for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let mut tape = TapeBuf::default();
            let entry = tape.parse(line, &Limits::default()).ok().and_then(|tape| taped(tape.root()));
            let (request, answer) =
                entry.ok_or_else(|| format!("line {} of the cassette is no exchange", number + 1))?;
            cassette.by_request.entry(request).or_default().push(cassette.answers.len());
            cassette.answers.push(answer);
        }
        Ok(cassette)
    }

    /// The answer to a request.
    pub(crate) fn answer(&self, path: &str, body: &[u8]) -> Option<&TapedAnswer> {
        let request = match self.rule {
            CassetteMatch::Exact => (path.to_owned(), String::from_utf8_lossy(body).into_owned()),
            CassetteMatch::Order => (String::new(), String::new()),
        };
        let known = self.by_request.get(&request);
        if self.rule == CassetteMatch::Exact && known.is_none() {
            return None;
        }
        // No holder of the lock panics.
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        let count = asked.entry(request.clone()).or_default();
        let turn = *count;
        *count += 1;
        match known {
            Some(numbers) => self.answers.get(*numbers.get(turn).or(numbers.last())?),
            None => self.answers.get(turn),
        }
    }
}

/// The request and the answer of a line.
fn taped(entry: Val<'_>) -> Option<((String, String), TapedAnswer)> {
    let (request, response) = (entry.get("request")?, entry.get("response")?);
    let text = |value: Val<'_>| Some(value.str()?.decode().into_owned());
    let flag = |name: &str| response.get(name).and_then(|value| value.bool()) == Some(true);
    let pieces = response.get("pieces")?.elements().map(|piece| text(piece).map(Bytes::from));
    let answer = TapedAnswer {
        status: u16::try_from(response.get("status")?.u64()?).ok()?,
        is_stream: flag("stream"),
        retry_after: response.get("retry_after_ms").and_then(|delay| delay.u64()),
        is_cut: flag("cut"),
        pieces: pieces.collect::<Option<_>>()?,
    };
    Some(((text(request.get("path")?)?, text(request.get("body")?)?), answer))
}

/// A cassette that is being recorded.
#[derive(Debug)]
pub(crate) struct CassetteRecorder(Mutex<File>);

impl CassetteRecorder {
    /// Appends to a file.
    pub(crate) fn open(path: &str) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.create(true).append(true);
        // A cassette holds the conversations of clients.
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        Ok(Self(Mutex::new(options.open(path)?)))
    }

    fn write(&self, path: &str, body: &[u8], answer: &TapedAnswer) {
        let quoted = |bytes: &[u8]| {
            let text = String::from_utf8_lossy(bytes);
            format!("\"{}\"", Str::plain(&text).as_escaped())
        };
        let pieces: Vec<String> = answer.pieces.iter().map(|piece| quoted(piece)).collect();
        let delay =
            answer.retry_after.map(|delay| format!(",\"retry_after_ms\":{delay}")).unwrap_or_default();
        let line = format!(
            "{{\"request\":{{\"path\":{},\"body\":{}}},\"response\":{{\"status\":{},\"stream\":{},\"cut\":{}{delay},\"pieces\":[{}]}}}}\n",
            quoted(path.as_bytes()),
            quoted(body),
            answer.status,
            answer.is_stream,
            answer.is_cut,
            pieces.join(","),
        );
        let mut file = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // A full disk must not end the call. The cassette then lacks the exchange, and a replay says so.
        let _ = file.write_all(line.as_bytes());
    }
}

/// An exchange that is being recorded. It is written when its answer ends, or when the client leaves.
#[derive(Debug)]
pub(crate) struct Taping {
    pub(crate) recorder: Arc<CassetteRecorder>,
    pub(crate) path: String,
    pub(crate) body: Bytes,
    pub(crate) answer: TapedAnswer,
    pub(crate) is_complete: bool,
}

impl Taping {
    /// Replaces the pieces of an answer that has ended.
    pub(crate) fn replace(mut self, whole: Bytes) {
        self.answer.pieces = vec![whole];
        self.is_complete = true;
    }
}

impl Drop for Taping {
    fn drop(&mut self) {
        self.answer.is_cut = !self.is_complete;
        self.recorder.write(&self.path, &self.body, &self.answer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recorded_exchange_answers_again() {
        let folder = std::env::temp_dir().join(format!("interlingua-cassette-{}", std::process::id()));
        let path = folder.to_str().expect("a path in UTF-8");
        let recorder = Arc::new(CassetteRecorder::open(path).expect("a file"));
        let pieces = vec![Bytes::from("data: \"é\"\n\n"), Bytes::from("data: 2\n\n")];
        let answer =
            TapedAnswer { status: 200, is_stream: true, retry_after: Some(7), is_cut: false, pieces };
        for (body, is_complete) in [("{\"a\":\"\\n\"}", true), ("b", false)] {
            let (recorder, body, answer) = (Arc::clone(&recorder), Bytes::from(body), answer.clone());
            drop(Taping { recorder, path: "/p".to_owned(), body, answer, is_complete });
        }
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = std::fs::metadata(path).expect("a file").permissions().mode();
            assert_eq!(mode & 0o777, 0o600, "only the user may read it");
        }
        let text = std::fs::read_to_string(path).expect("written");
        std::fs::remove_file(path).expect("removed");
        let cassette = Cassette::parse(&text, CassetteMatch::Exact).expect("sound");
        assert_eq!(cassette.answer("/p", b"{\"a\":\"\\n\"}"), Some(&answer));
        assert!(cassette.answer("/p", b"b").expect("recorded").is_cut);
        assert_eq!(cassette.answer("/other", b"b"), None);
        let error = Cassette::parse("\n{}", CassetteMatch::Exact).expect_err("no exchange");
        assert!(error.contains("line 2"), "{error}");
    }

    #[test]
    fn answers_come_in_turn() {
        let line = |body: &str, status: u16| {
            format!(
                "{{\"request\":{{\"path\":\"/\",\"body\":\"{body}\"}},\"response\":{{\"status\":{status},\"pieces\":[]}}}}\n"
            )
        };
        let text = [line("a", 200), line("b", 201), line("a", 202)].concat();
        let statuses = |rule, bodies: &[&str]| {
            let cassette = Cassette::parse(&text, rule).expect("sound");
            let status = |body: &&str| cassette.answer("/", body.as_bytes()).map(|answer| answer.status);
            bodies.iter().map(status).collect::<Vec<_>>()
        };
        let exact = statuses(CassetteMatch::Exact, &["a", "b", "a", "a", "c"]);
        assert_eq!(exact, [Some(200), Some(201), Some(202), Some(202), None]);
        let in_order = statuses(CassetteMatch::Order, &["x", "a", "y", "z"]);
        assert_eq!(in_order, [Some(200), Some(201), Some(202), None]);
    }
}
