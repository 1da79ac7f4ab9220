//! The connections of clients, over HTTP/1.1.
//!
//! Nearly all requests are a `POST` with a body of known length. This module reads and answers them itself: a server for
//! every form of HTTP needs a channel, a timer and several allocations for each request, which cost as much as a
//! translation. The first request of any other form hands its connection over to hyper, with all bytes that were
//! received.

use std::cell::Cell;
use std::io::{self, IoSlice};
use std::pin::{Pin, pin};
use std::sync::{Arc, LazyLock};
use std::task::{Context, Poll, ready};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::{Buf as _, Bytes, BytesMut};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, Uri};
use http_body::Body as _;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use memchr::memmem::Finder;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep};

use crate::answer_body::AnswerBody;
use crate::http_message::push_decimal;
use crate::service::{ClientBody, Gateway};

/// The time in which a client must send the head of its request.
const HEAD_TIMEOUT: Duration = Duration::from_secs(30);

/// The largest body of a request that is read here. Larger requests are not read before their key is checked, and the
/// work for their connection is a small part of the work for their bodies.
const MOST_BODY: usize = 64 << 10;

/// The largest head of a request that is read here, and its most headers.
const MOST_HEAD: usize = 16 << 10;
const MOST_HEADERS: usize = 64;

/// The end of a head.
static HEAD_END: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"\r\n\r\n"));

/// The size of a read in bytes.
const READ: usize = 8 << 10;

/// The most bytes that wait while an answer is open.
const MOST_WAITING: usize = READ;

/// The size in bytes from which the output of a stream is sent, although more output is there.
const MOST_UNSENT: usize = 16 << 10;

/// Serves a connection until the client leaves or, after the open answer, the gateway closes.
pub(crate) async fn serve(stream: TcpStream, gateway: Arc<Gateway>) {
    let _open = gateway.open_connection();
    let mut connection = ClientConnection::new(stream, gateway.idle_timeout());
    let mut closed = pin!(gateway.closed());
    loop {
        match connection.next(closed.as_mut()).await {
            NextRequest::Usual(request) => {
                let answer = pin!(gateway.answer(request));
                let Some(response) = connection.unless_left(answer).await else { return };
                let is_last = connection.is_last || gateway.is_closing();
                if connection.send(response, is_last).await.is_err() || is_last {
                    return;
                }
            }
            NextRequest::Unusual => break,
            NextRequest::None => return,
        }
    }
    serve_with_hyper(connection.into_stream(), &gateway, closed).await;
}

/// Serves the rest of a connection.
async fn serve_with_hyper(
    stream: BegunStream,
    gateway: &Arc<Gateway>,
    closed: Pin<&mut impl Future<Output = ()>>,
) {
    let service = service_fn(|request: Request<hyper::body::Incoming>| {
        let gateway = Arc::clone(gateway);
        async move { Ok::<_, std::convert::Infallible>(gateway.answer(request.map(ClientBody::Incoming)).await) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .serve_connection(TokioIo::new(stream), service)
        .with_upgrades();
    let mut connection = pin!(connection);
    // A client that goes away is no error of the gateway.
    tokio::select! {
        _ = connection.as_mut() => {}
        () = closed => {
            connection.as_mut().graceful_shutdown();
            let _ = connection.await;
        }
    }
}

/// The next request of a connection.
#[expect(clippy::large_enum_variant, reason = "nearly all values have the largest variant")]
enum NextRequest {
    Usual(Request<ClientBody>),
    /// A request that only hyper can read.
    Unusual,
    /// The client has left, or the gateway closes.
    None,
}

/// A connection whose requests are read here.
struct ClientConnection {
    stream: TcpStream,
    /// Bytes that were received and not yet used.
    buffer: BytesMut,
    /// The head of a request whose body is not complete.
    head: Option<UsualHead>,
    /// Whether the client ends the connection after the answer.
    is_last: bool,
    /// The bytes of the head of an unusual request.
    unusual: Bytes,
    /// The output that is not yet sent.
    out: Vec<u8>,
    /// The timer for the next head. The timer is set again only when it ends, because each change of a timer costs time.
    timer: Pin<Box<Sleep>>,
    head_deadline: Instant,
    stall: Stall,
}

impl ClientConnection {
    fn new(stream: TcpStream, silence: Duration) -> Self {
        let head_deadline = Instant::now() + HEAD_TIMEOUT;
        Self {
            stream,
            buffer: BytesMut::new(),
            head: None,
            is_last: false,
            unusual: Bytes::new(),
            out: Vec::new(),
            timer: Box::pin(tokio::time::sleep_until(head_deadline)),
            head_deadline,
            stall: Stall { longest: silence, timer: None },
        }
    }

    /// The stream with the bytes that were received.
    fn into_stream(self) -> BegunStream {
        let Self { stream, buffer, unusual, stall, .. } = self;
        BegunStream { begin: unusual, rest: buffer.freeze(), stream, stall }
    }

    /// Reads the next request.
    async fn next(&mut self, mut closed: Pin<&mut impl Future<Output = ()>>) -> NextRequest {
        self.head_deadline = Instant::now() + HEAD_TIMEOUT;
        std::future::poll_fn(|context| {
            loop {
                if let Some(request) = self.take_request() {
                    return Poll::Ready(request);
                }
                let is_idle = self.head.is_none() && self.buffer.is_empty();
                if is_idle && closed.as_mut().poll(context).is_ready() {
                    return Poll::Ready(NextRequest::None);
                }
                match self.poll_read(context) {
                    Poll::Ready(Ok(0) | Err(_)) => return Poll::Ready(NextRequest::None),
                    Poll::Ready(Ok(_)) => self.stall.end(),
                    Poll::Pending if self.head.is_some() => {
                        return self.stall.poll_end(context).map(|()| NextRequest::None);
                    }
                    Poll::Pending => {
                        ready!(self.timer.as_mut().poll(context));
                        if Instant::now() >= self.head_deadline {
                            return Poll::Ready(NextRequest::None);
                        }
                        self.timer.as_mut().reset(self.head_deadline);
                    }
                }
            }
        })
        .await
    }

    fn poll_read(&mut self, context: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let missing = self.head.as_ref().map_or(0, |head| head.length.saturating_sub(self.buffer.len()));
        if self.buffer.capacity() - self.buffer.len() < READ / 2 {
            self.buffer.reserve(READ.max(missing));
        }
        // The future holds no state between two polls.
        pin!(self.stream.read_buf(&mut self.buffer)).poll(context)
    }

    /// Takes a request from the received bytes; `None` if the request is not complete.
    fn take_request(&mut self) -> Option<NextRequest> {
        if self.head.is_none() {
            let Some(end) = HEAD_END.find(&self.buffer) else {
                // Some clients end lines without a carriage return.
                let is_unusual =
                    self.buffer.len() > MOST_HEAD || memchr::memmem::find(&self.buffer, b"\n\n").is_some();
                return is_unusual.then_some(NextRequest::Unusual);
            };
            let head = self.buffer.split_to(end + 4).freeze();
            self.head = usual_head(&head);
            if self.head.is_none() {
                self.unusual = head;
                return Some(NextRequest::Unusual);
            }
        }
        let head = self.head.take_if(|head| head.length <= self.buffer.len())?;
        let UsualHead { request, length, is_last } = head;
        let body = self.buffer.split_to(length).freeze();
        self.is_last = is_last;
        Some(NextRequest::Usual(request.map(|()| ClientBody::Whole(body))))
    }

    /// The result of `answer`; `None` if the client leaves before.
    async fn unless_left<T>(&mut self, mut answer: Pin<&mut impl Future<Output = T>>) -> Option<T> {
        std::future::poll_fn(|context| match answer.as_mut().poll(context) {
            Poll::Ready(answer) => Poll::Ready(Some(answer)),
            Poll::Pending => self.poll_left(context).map(|()| None),
        })
        .await
    }

    /// Ready when the client has left. The bytes of a next request wait in the buffer, and a client with more of them is
    /// no longer observed.
    fn poll_left(&mut self, context: &mut Context<'_>) -> Poll<()> {
        while self.buffer.len() < MOST_WAITING {
            // Nearly always nothing has arrived, and a read would first look for space.
            if ready!(self.stream.poll_read_ready(context)).is_err() {
                return Poll::Ready(());
            }
            if let Ok(0) | Err(_) = ready!(self.poll_read(context)) {
                return Poll::Ready(());
            }
        }
        Poll::Pending
    }

    /// Sends a response.
    async fn send(&mut self, response: Response<AnswerBody>, is_last: bool) -> io::Result<()> {
        let (parts, mut body) = response.into_parts();
        self.out.clear();
        let out = &mut self.out;
        out.extend_from_slice(b"HTTP/1.1 ");
        out.extend_from_slice(parts.status.as_str().as_bytes());
        out.push(b' ');
        out.extend_from_slice(parts.status.canonical_reason().unwrap_or_default().as_bytes());
        out.extend_from_slice(b"\r\n");
        for (name, value) in &parts.headers {
            out.extend_from_slice(name.as_str().as_bytes());
            out.extend_from_slice(b": ");
            out.extend_from_slice(value.as_bytes());
            out.extend_from_slice(b"\r\n");
        }
        if is_last {
            out.extend_from_slice(b"connection: close\r\n");
        }
        out.extend_from_slice(b"date: ");
        push_date(out);
        if let AnswerBody::Whole(bytes) = &mut body {
            let bytes = bytes.take().unwrap_or_default();
            out.extend_from_slice(b"\r\ncontent-length: ");
            push_decimal(out, bytes.len());
            out.extend_from_slice(b"\r\n\r\n");
            return self.write(&bytes).await;
        }
        out.extend_from_slice(b"\r\ntransfer-encoding: chunked\r\n\r\n");
        self.send_stream(body).await
    }

    /// Sends a body in chunks. Pieces that are there are sent together.
    async fn send_stream(&mut self, mut body: AnswerBody) -> io::Result<()> {
        // The first piece is sent at once, because people wait for it; later pieces that are there together are joined.
        let mut has_begun = false;
        loop {
            let next = std::future::poll_fn(|context| match Pin::new(&mut body).poll_frame(context) {
                Poll::Ready(frame) => Poll::Ready(Ok(Some(frame))),
                Poll::Pending if !self.out.is_empty() => Poll::Ready(Ok(None)),
                Poll::Pending => self.poll_left(context).map(|()| Err(io::ErrorKind::ConnectionReset)),
            });
            match next.await? {
                Some(Some(Ok(frame))) => {
                    // An empty chunk would end the body.
                    let Some(data) = frame.into_data().ok().filter(|data| !data.is_empty()) else { continue };
                    push_chunk(&mut self.out, &data);
                    if std::mem::replace(&mut has_begun, true) && self.out.len() < MOST_UNSENT {
                        continue;
                    }
                }
                Some(None) => {
                    self.out.extend_from_slice(b"0\r\n\r\n");
                    return self.write(&[]).await;
                }
                // The body has to wait, so the output is sent.
                None => {}
            }
            self.write(&[]).await?;
            self.out.clear();
        }
    }

    /// Writes the output and some bytes after it.
    async fn write(&mut self, after: &[u8]) -> io::Result<()> {
        let Self { stream, out, stall, .. } = self;
        let mut sent = 0;
        std::future::poll_fn(|context| {
            while sent < out.len() + after.len() {
                let rest = [
                    IoSlice::new(out.get(sent..).unwrap_or_default()),
                    IoSlice::new(&after[sent.saturating_sub(out.len())..]),
                ];
                let written = Pin::new(&mut *stream).poll_write_vectored(context, &rest);
                match ready!(stall.unless_ended(written, context))? {
                    0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                    length => sent += length,
                }
            }
            Poll::Ready(Ok(()))
        })
        .await
    }
}

fn push_chunk(out: &mut Vec<u8>, data: &[u8]) {
    let digits = (usize::BITS - data.len().leading_zeros()).div_ceil(4).max(1);
    let digit = |place: u32| b"0123456789abcdef"[data.len() >> (4 * place) & 15];
    out.extend((0..digits).rev().map(digit));
    out.extend_from_slice(b"\r\n");
    out.extend_from_slice(data);
    out.extend_from_slice(b"\r\n");
}

/// A request without its body.
struct UsualHead {
    request: Request<()>,
    /// The length of the body.
    length: usize,
    /// Whether the client ends the connection after the answer.
    is_last: bool,
}

/// The head of a request; `None` for a request that only hyper can read.
fn usual_head(head: &Bytes) -> Option<UsualHead> {
    let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
    let mut parsed = httparse::Request::new(&mut headers);
    let is_whole = parsed.parse(head) == Ok(httparse::Status::Complete(head.len()));
    let path = parsed.path.filter(|path| path.starts_with('/'))?;
    if !is_whole || parsed.method != Some("POST") || parsed.version != Some(1) {
        return None;
    }
    let (mut length, mut is_last) = (None, false);
    let mut map = HeaderMap::with_capacity(parsed.headers.len());
    for header in parsed.headers.iter() {
        let name = HeaderName::from_bytes(header.name.as_bytes()).ok()?;
        match name {
            http::header::CONTENT_LENGTH if length.is_none() => length = Some(decimal(header.value)?),
            http::header::CONNECTION if header.value.eq_ignore_ascii_case(b"keep-alive") => {}
            http::header::CONNECTION if header.value.eq_ignore_ascii_case(b"close") => is_last = true,
            http::header::CONTENT_LENGTH
            | http::header::CONNECTION
            | http::header::EXPECT
            | http::header::TRANSFER_ENCODING
            | http::header::UPGRADE => return None,
            // All other headers are in the map of the request, and do not change its framing.
            _ => {}
        }
        map.append(name, HeaderValue::from_maybe_shared(head.slice_ref(header.value)).ok()?);
    }
    let length = length.filter(|length| *length <= MOST_BODY)?;
    let mut request = Request::new(());
    *request.method_mut() = Method::POST;
    *request.uri_mut() = Uri::from_maybe_shared(head.slice_ref(path.as_bytes())).ok()?;
    *request.headers_mut() = map;
    Some(UsualHead { request, length, is_last })
}

/// A length of at most nine digits.
fn decimal(digits: &[u8]) -> Option<usize> {
    let is_number = (1..10).contains(&digits.len()) && digits.iter().all(u8::is_ascii_digit);
    is_number.then(|| digits.iter().fold(0, |number, digit| number * 10 + usize::from(digit - b'0')))
}

/// Appends the current time as HTTP writes it, which is formatted once in a second.
fn push_date(out: &mut Vec<u8>) {
    const LENGTH: usize = "Sun, 06 Nov 1994 08:49:37 GMT".len();
    thread_local! {
        static LAST: Cell<(u64, [u8; LENGTH])> = const { Cell::new((0, [b' '; LENGTH])) };
    }
    let now = SystemTime::now();
    let second = now.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let (known, mut text) = LAST.get();
    if known != second
        && let Ok(formatted) = httpdate::fmt_http_date(now).as_bytes().try_into()
    {
        text = formatted;
        LAST.set((second, text));
    }
    out.extend_from_slice(&text);
}

/// A client that sends no byte of a body, or takes no byte of an answer: it would hold its buffers, and the connection to a
/// backend.
struct Stall {
    longest: Duration,
    /// The end of the open stall. Most reads and writes do not stall, and need no timer.
    timer: Option<Pin<Box<Sleep>>>,
}

impl Stall {
    fn end(&mut self) {
        self.timer = None;
    }

    /// Ready when the stall is too long.
    fn poll_end(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let longest = self.longest;
        self.timer.get_or_insert_with(|| Box::pin(tokio::time::sleep(longest))).as_mut().poll(context)
    }

    /// The result of a write; an error if the client takes no byte for too long.
    fn unless_ended<T>(
        &mut self,
        result: Poll<io::Result<T>>,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<T>> {
        if result.is_ready() {
            self.end();
            return result;
        }
        self.poll_end(context).map(|()| Err(io::ErrorKind::TimedOut.into()))
    }
}

/// A stream whose first bytes were received before.
struct BegunStream {
    begin: Bytes,
    rest: Bytes,
    stream: TcpStream,
    stall: Stall,
}

impl AsyncRead for BegunStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let Self { begin, rest, stream, .. } = &mut *self;
        let received = if begin.is_empty() { rest } else { begin };
        if received.is_empty() {
            return Pin::new(stream).poll_read(context, buffer);
        }
        let length = received.len().min(buffer.remaining());
        buffer.put_slice(&received[..length]);
        received.advance(length);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for BegunStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let Self { stream, stall, .. } = &mut *self;
        stall.unless_ended(Pin::new(stream).poll_write(context, bytes), context)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let Self { stream, stall, .. } = &mut *self;
        stall.unless_ended(Pin::new(stream).poll_write_vectored(context, pieces), context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}
