//! The bytes of HTTP/1.1 on a connection to a backend: the head of a request, the head of a response, and the pieces of a
//! body. This module does no IO.

use std::time::SystemTime;

use bytes::{Buf, Bytes, BytesMut};
use http::{HeaderName, HeaderValue, Uri};

/// The most bytes of the head of a response.
pub(crate) const MOST_HEAD: usize = 64 << 10;

/// The most headers of a response.
const MOST_HEADERS: usize = 100;

/// The most bytes of a chunk's size line, and of all trailers together.
const MOST_LINES: usize = 16 << 10;

/// Writes the head of a request with a body. `headers` may not hold the length of the body.
pub(crate) fn write_head<'h>(
    out: &mut Vec<u8>,
    method: &str,
    path: &Uri,
    headers: impl Iterator<Item = (&'h HeaderName, &'h HeaderValue)>,
    length: usize,
) {
    out.extend_from_slice(method.as_bytes());
    out.push(b' ');
    out.extend_from_slice(path.path_and_query().map_or("/", |path| path.as_str()).as_bytes());
    out.extend_from_slice(b" HTTP/1.1\r\n");
    for (name, value) in headers {
        out.extend_from_slice(name.as_str().as_bytes());
        out.extend_from_slice(b": ");
        out.extend_from_slice(value.as_bytes());
        out.extend_from_slice(b"\r\n");
    }
    out.extend_from_slice(b"content-length: ");
    push_decimal(out, length);
    out.extend_from_slice(b"\r\n\r\n");
}

/// Appends a number. Formatting traits take several times as long.
pub(crate) fn push_decimal(out: &mut Vec<u8>, number: usize) {
    let (mut digits, mut at, mut rest) = ([0_u8; 20], 20, number);
    loop {
        at -= 1;
        // The remainder is a digit, and 20 digits hold every number of 64 bits.
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            return out.extend_from_slice(&digits[at..]);
        }
    }
}

/// The head of a response: the facts that the gateway uses.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct HttpResponseHead {
    pub(crate) status: u16,
    /// Whether the body is a stream of server-sent events.
    pub(crate) is_stream: bool,
    /// Milliseconds until the client may try again.
    pub(crate) retry_after: Option<u64>,
    /// Whether the connection can take another request after the body.
    pub(crate) keeps_open: bool,
    pub(crate) framing: BodyFraming,
}

/// The end of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BodyFraming {
    /// After this many further bytes.
    Length(u64),
    /// After the chunk of size zero.
    Chunked(ChunkState),
    /// With the connection.
    UntilClose,
}

/// The position in a body of chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChunkState {
    /// Before the size of a chunk.
    Size,
    /// Inside a chunk with this many bytes left.
    Data(u64),
    /// Before the line end after the data of a chunk.
    DataEnd,
    /// After the last chunk, with this many bytes of trailers so far.
    Trailers(usize),
    End,
}

/// Takes the head of a response from the received bytes; `None` if the head is not complete. Interim responses (1xx) are
/// skipped.
pub(crate) fn take_head(buffer: &mut BytesMut) -> Result<Option<HttpResponseHead>, String> {
    loop {
        if buffer.is_empty() {
            return Ok(None);
        }
        let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
        let mut response = httparse::Response::new(&mut headers);
        let length = match response.parse(buffer) {
            Ok(httparse::Status::Complete(length)) => length,
            Ok(httparse::Status::Partial) if buffer.len() < MOST_HEAD => return Ok(None),
            Ok(httparse::Status::Partial) => return Err("the head of the response is too large".to_owned()),
            Err(error) => return Err(format!("the response is not HTTP: {error}")),
        };
        let status = response.code.unwrap_or_default();
        if status == 101 {
            return Err("the server changed the protocol".to_owned());
        }
        let head = if status < 200 { None } else { Some(read_head(status, &response)?) };
        buffer.advance(length);
        if head.is_some() {
            return Ok(head);
        }
    }
}

fn read_head(status: u16, response: &httparse::Response<'_, '_>) -> Result<HttpResponseHead, String> {
    let mut keeps_open = response.version == Some(1);
    let (mut is_stream, mut delay, mut exact_delay) = (false, None, None);
    let (mut length, mut is_chunked, mut has_encoding): (Option<u64>, _, _) = (None, false, false);
    for header in response.headers.iter() {
        let value = header.value.trim_ascii();
        let is = |name: &str| header.name.eq_ignore_ascii_case(name);
        // The length of the name excludes most headers.
        match header.name.len() {
            12 if is("content-type") => {
                is_stream =
                    value.get(..17).is_some_and(|kind| kind.eq_ignore_ascii_case(b"text/event-stream"));
            }
            14 if is("content-length") => {
                let given = decimal(value).ok_or("the length of the response is not valid")?;
                if length.is_some_and(|length| length != given) {
                    return Err("the response has two lengths".to_owned());
                }
                length = Some(given);
            }
            14 if is("retry-after-ms") => exact_delay = number(value),
            11 if is("retry-after") => {
                delay = number(value).or_else(|| delay_until(value, SystemTime::now()));
            }
            // A request refuses every compression, because a stream is read as it arrives.
            16 if is("content-encoding") && !value.eq_ignore_ascii_case(b"identity") => {
                let coding = String::from_utf8_lossy(value);
                return Err(format!("the response is compressed (`content-encoding: {coding}`)"));
            }
            17 if is("transfer-encoding") => {
                has_encoding = true;
                let last = value.rsplit(|byte| *byte == b',').next().unwrap_or_default();
                is_chunked = last.trim_ascii().eq_ignore_ascii_case(b"chunked");
                if !is_chunked || value.contains(&b',') {
                    return Err("the response has an unknown transfer encoding".to_owned());
                }
            }
            10 if is("connection") => {
                for option in value.split(|byte| *byte == b',') {
                    if option.trim_ascii().eq_ignore_ascii_case(b"close") {
                        keeps_open = false;
                    } else if option.trim_ascii().eq_ignore_ascii_case(b"keep-alive") {
                        keeps_open = true;
                    }
                }
            }
            _ => {}
        }
    }
    let framing = match (length, is_chunked) {
        _ if status == 204 || status == 304 => BodyFraming::Length(0),
        (_, true) => BodyFraming::Chunked(ChunkState::Size),
        (Some(length), false) => BodyFraming::Length(length),
        (None, false) => BodyFraming::UntilClose,
    };
    // Two framings at once come from a server or a proxy that disagrees with this reader about the end of the body.
    keeps_open &= framing != BodyFraming::UntilClose && !(has_encoding && length.is_some());
    let retry_after = milliseconds(exact_delay.or_else(|| Some(delay? * 1000.0)));
    Ok(HttpResponseHead { status, is_stream, retry_after, keeps_open, framing })
}

fn decimal(value: &[u8]) -> Option<u64> {
    let is_number = !value.is_empty() && value.iter().all(u8::is_ascii_digit);
    std::str::from_utf8(value).ok().filter(|_| is_number)?.parse().ok()
}

fn number(value: &[u8]) -> Option<f64> {
    std::str::from_utf8(value).ok()?.parse().ok()
}

/// The seconds until a date of HTTP; zero for a date in the past.
fn delay_until(date: &[u8], now: SystemTime) -> Option<f64> {
    let date = httpdate::parse_http_date(std::str::from_utf8(date).ok()?).ok()?;
    Some(date.duration_since(now).map_or(0.0, |delay| delay.as_secs_f64()))
}

/// A delay of at least zero and less than three decades.
fn milliseconds(delay: Option<f64>) -> Option<u64> {
    #[expect(clippy::cast_sign_loss, reason = "negative and huge numbers are filtered out")]
    delay.filter(|delay| (0.0..1e12).contains(delay)).map(|delay| delay as u64)
}

impl BodyFraming {
    pub(crate) fn has_ended(&self) -> bool {
        matches!(self, BodyFraming::Length(0) | BodyFraming::Chunked(ChunkState::End))
    }

    /// Takes the next piece of the body from the received bytes; `None` if there is none.
    pub(crate) fn take_piece(&mut self, buffer: &mut BytesMut) -> Result<Option<Bytes>, &'static str> {
        match self {
            BodyFraming::UntilClose => Ok((!buffer.is_empty()).then(|| buffer.split().freeze())),
            BodyFraming::Length(left) => Ok(take_up_to(left, buffer)),
            BodyFraming::Chunked(state) => state.take_piece(buffer),
        }
    }
}

/// Takes at most `left` bytes.
fn take_up_to(left: &mut u64, buffer: &mut BytesMut) -> Option<Bytes> {
    let length = usize::try_from(*left).unwrap_or(usize::MAX).min(buffer.len());
    *left -= length as u64;
    (length > 0).then(|| buffer.split_to(length).freeze())
}

impl ChunkState {
    fn take_piece(&mut self, buffer: &mut BytesMut) -> Result<Option<Bytes>, &'static str> {
        loop {
            match self {
                ChunkState::Size => {
                    let Some(line) = memchr::memchr(b'\n', buffer) else {
                        return if buffer.len() > MOST_LINES { Err("a chunk has no size") } else { Ok(None) };
                    };
                    let size = chunk_size(&buffer[..line])?;
                    buffer.advance(line + 1);
                    *self = if size == 0 { ChunkState::Trailers(0) } else { ChunkState::Data(size) };
                }
                ChunkState::Data(0) => *self = ChunkState::DataEnd,
                ChunkState::Data(left) => return Ok(take_up_to(left, buffer)),
                ChunkState::DataEnd => {
                    let end: &[u8] = b"\r\n";
                    if !buffer.starts_with(end) {
                        return if end.starts_with(buffer) { Ok(None) } else { Err("a chunk is too long") };
                    }
                    buffer.advance(end.len());
                    *self = ChunkState::Size;
                }
                ChunkState::Trailers(taken) => {
                    let end = memchr::memchr(b'\n', buffer);
                    if *taken + end.unwrap_or(buffer.len()) > MOST_LINES {
                        return Err("the trailers are too large");
                    }
                    let Some(end) = end else { return Ok(None) };
                    let is_last = buffer[..end].trim_ascii().is_empty();
                    *taken += end + 1;
                    buffer.advance(end + 1);
                    if is_last {
                        *self = ChunkState::End;
                    }
                }
                ChunkState::End => return Ok(None),
            }
        }
    }
}

/// The size in a line before a chunk. An extension after the size has no meaning.
fn chunk_size(line: &[u8]) -> Result<u64, &'static str> {
    let line = line.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii();
    if line.is_empty() || line.len() > 16 {
        return Err("the size of a chunk is not valid");
    }
    line.iter().try_fold(0, |size: u64, byte| {
        let digit = char::from(*byte).to_digit(16).ok_or("the size of a chunk is not valid")?;
        Ok(size << 4 | u64::from(digit))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(text: &str) -> Result<Option<HttpResponseHead>, String> {
        take_head(&mut BytesMut::from(text))
    }

    /// The whole body and whether it has ended, from bytes that arrive in pieces of this length.
    fn body(mut framing: BodyFraming, bytes: &[u8], step: usize) -> Result<(Vec<u8>, bool), &'static str> {
        let (mut buffer, mut out) = (BytesMut::new(), Vec::new());
        for piece in bytes.chunks(step) {
            buffer.extend_from_slice(piece);
            while let Some(piece) = framing.take_piece(&mut buffer)? {
                assert!(!piece.is_empty(), "a piece without bytes");
                out.extend_from_slice(&piece);
            }
        }
        Ok((out, framing.has_ended() && buffer.is_empty()))
    }

    #[test]
    fn a_request_has_its_headers_and_its_length() {
        let mut out = Vec::new();
        let headers = [
            (http::header::HOST, HeaderValue::from_static("h:1")),
            (HeaderName::from_static("x-api-key"), HeaderValue::from_static("k")),
        ];
        let path = Uri::from_static("/v1/messages?beta=true");
        write_head(&mut out, "POST", &path, headers.iter().map(|(name, value)| (name, value)), 1_024);
        assert_eq!(
            out,
            b"POST /v1/messages?beta=true HTTP/1.1\r\nhost: h:1\r\nx-api-key: k\r\ncontent-length: 1024\r\n\r\n"
        );
        for number in [0, 9, 10, usize::MAX] {
            let mut out = Vec::new();
            push_decimal(&mut out, number);
            assert_eq!(out, number.to_string().as_bytes());
        }
    }

    #[test]
    fn a_head_is_complete_at_its_empty_line_only() {
        let text = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n";
        for cut in 0..text.len() {
            assert_eq!(head(&text[..cut]), Ok(None), "{cut}");
        }
        let whole = head(text).expect("valid").expect("complete");
        assert_eq!((whole.status, whole.is_stream, whole.keeps_open), (200, false, true));
        assert_eq!(whole.framing, BodyFraming::Length(2));
    }

    #[test]
    fn interim_responses_are_skipped() {
        let text = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n";
        assert_eq!(head(text), Ok(None));
        let whole = head(&format!("{text}HTTP/1.1 429 Too Many\r\nretry-after: 2\r\n\r\n"));
        assert_eq!(
            whole.expect("valid").map(|head| (head.status, head.retry_after)),
            Some((429, Some(2000)))
        );
        assert!(head("HTTP/1.1 101 Switching\r\n\r\n").is_err());
    }

    #[test]
    fn the_framing_of_a_body_comes_from_its_headers() {
        let of = |headers: &str| {
            let head = head(&format!("HTTP/1.1 200 OK\r\n{headers}\r\n"))?.expect("complete");
            Ok::<_, String>((head.framing, head.keeps_open))
        };
        assert_eq!(of("content-length: 5\r\n"), Ok((BodyFraming::Length(5), true)));
        assert_eq!(of("content-length: 5\r\ncontent-length: 5\r\n"), Ok((BodyFraming::Length(5), true)));
        assert_eq!(of("content-length: 5\r\nconnection: x, Close\r\n"), Ok((BodyFraming::Length(5), false)));
        assert_eq!(of(""), Ok((BodyFraming::UntilClose, false)));
        let chunked = BodyFraming::Chunked(ChunkState::Size);
        assert_eq!(of("Transfer-Encoding: Chunked\r\n"), Ok((chunked, true)));
        // The chunks decide, and no further request may follow.
        let chunked = BodyFraming::Chunked(ChunkState::Size);
        assert_eq!(of("transfer-encoding: chunked\r\ncontent-length: 5\r\n"), Ok((chunked, false)));
        for wrong in [
            "content-length: 5\r\ncontent-length: 6\r\n",
            "content-length: +5\r\n",
            "content-length:\r\n",
            "content-length: 99999999999999999999\r\n",
            "transfer-encoding: gzip\r\n",
            "transfer-encoding: gzip, chunked\r\n",
        ] {
            assert!(of(wrong).is_err(), "{wrong}");
        }
        let old = take_head(&mut BytesMut::from("HTTP/1.0 200 OK\r\ncontent-length: 1\r\n\r\n"));
        assert_eq!(old.expect("valid").map(|head| head.keeps_open), Some(false));
        let empty = take_head(&mut BytesMut::from("HTTP/1.1 204 No Content\r\n\r\n"));
        assert_eq!(empty.expect("valid").map(|head| head.framing), Some(BodyFraming::Length(0)));
    }

    #[test]
    fn a_head_without_an_end_is_an_error() {
        let endless = format!("HTTP/1.1 200 OK\r\nx: {}", "a".repeat(MOST_HEAD));
        assert!(head(&endless).is_err());
        assert!(head("SSH-2.0-x\r\n\r\n").is_err());
    }

    #[test]
    fn a_delay_is_read_from_either_header() {
        let of = |headers: &str| {
            let head = head(&format!("HTTP/1.1 429 No\r\n{headers}\r\n\r\n")).expect("valid");
            head.expect("complete").retry_after
        };
        assert_eq!(of("retry-after: 2"), Some(2000));
        assert_eq!(of("retry-after: 0.5"), Some(500));
        assert_eq!(of("retry-after-ms: 70"), Some(70));
        assert_eq!(of("retry-after: 2\r\nretry-after-ms: 70"), Some(70));
        assert_eq!(of("retry-after: -1"), None);
        assert_eq!(of("retry-after: Wed, 21 Oct 2020 07:28:00 GMT"), Some(0));
        assert_eq!(of("retry-after: soon"), None);
        let date = b"Wed, 21 Oct 2026 07:28:00 GMT";
        let before = SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_792_567_650);
        assert_eq!(delay_until(date, before), Some(30.0));
    }

    #[test]
    fn a_compressed_response_is_an_error() {
        let error = head("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n").expect_err("not readable");
        assert!(error.contains("`content-encoding: gzip`"), "{error}");
        assert!(head("HTTP/1.1 200 OK\r\nContent-Encoding: Identity\r\n\r\n").is_ok());
    }

    #[test]
    fn chunks_are_joined_at_any_cut() {
        let bytes = b"5;name=value\r\nhello\r\n1\r\n \r\nA\r\n0123456789\r\n0\r\ntrailer: x\r\n\r\n";
        for step in 1..=bytes.len() {
            let joined = body(BodyFraming::Chunked(ChunkState::Size), bytes, step);
            assert_eq!(joined, Ok((b"hello 0123456789".to_vec(), true)), "{step}");
            let cut = body(BodyFraming::Chunked(ChunkState::Size), &bytes[..bytes.len() - 1], step);
            assert_eq!(cut, Ok((b"hello 0123456789".to_vec(), false)), "{step}");
        }
    }

    #[test]
    fn a_body_of_known_length_leaves_the_bytes_after_it() {
        let (mut framing, mut buffer) = (BodyFraming::Length(3), BytesMut::from("abcd"));
        assert_eq!(framing.take_piece(&mut buffer), Ok(Some(Bytes::from_static(b"abc"))));
        assert!(framing.has_ended());
        assert_eq!(framing.take_piece(&mut buffer), Ok(None));
        assert_eq!(buffer, "d");
        assert_eq!(body(BodyFraming::UntilClose, b"abc", 2), Ok((b"abc".to_vec(), false)));
    }

    #[test]
    fn wrong_chunks_are_errors() {
        for wrong in ["x\r\n", "\r\n", "-1\r\n", "11111111111111111\r\n", "1\r\nab\r\n", "1\r\na0\r\n"] {
            assert!(body(BodyFraming::Chunked(ChunkState::Size), wrong.as_bytes(), 64).is_err(), "{wrong}");
        }
        let long = vec![b'0'; MOST_LINES + 2];
        assert!(body(BodyFraming::Chunked(ChunkState::Size), &long, 1024).is_err());
        let trailers = format!("0\r\n{}", "a: b\r\n".repeat(MOST_LINES / 4));
        assert!(body(BodyFraming::Chunked(ChunkState::Size), trailers.as_bytes(), 1024).is_err());
    }
}
