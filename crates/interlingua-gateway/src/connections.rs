//! Connections to the servers of backends, which stay open between requests.
//!
//! The task of a request reads and writes its connection itself: a task of its own for each connection would have to be
//! woken, and would have to wake the request, for every piece of an answer. An idle connection belongs to no task, so the
//! next request on the connection finds out whether the server has closed it, and then uses another connection.

use std::io::{self, IoSlice};
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use http::{HeaderValue, Uri};
use http_body::{Body, Frame};
use http_body_util::Full;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder, MaybeHttpsStream};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::io::{AsyncReadExt, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::RootCertStore;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tower_service::Service;

use crate::http_message::{BodyFraming, HttpResponseHead, take_head};

/// The time after which an idle connection is closed.
const MOST_IDLE: Duration = Duration::from_secs(60);

/// The connections of a thread.
pub(crate) struct Connections {
    connector: HttpsConnector<HttpConnector>,
    idle: Mutex<Vec<IdleServer>>,
}

/// A client for the requests beside model calls: telemetry, and the feed of another gateway.
pub(crate) type HttpClient = Client<HttpsConnector<HttpConnector>, Full<Bytes>>;

/// A client whose connections have tasks of their own.
pub(crate) fn http_client() -> HttpClient {
    Client::builder(TokioExecutor::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(MOST_IDLE)
        .build(connector())
}

fn connector() -> HttpsConnector<HttpConnector> {
    let mut connector = HttpConnector::new();
    connector.enforce_http(false);
    // Without it each small piece of a request waits for the acknowledgement of the one before.
    connector.set_nodelay(true);
    connector.set_connect_timeout(Some(Duration::from_secs(10)));
    let tls =
        tokio_rustls::rustls::ClientConfig::builder().with_root_certificates(roots()).with_no_client_auth();
    HttpsConnectorBuilder::new().with_tls_config(tls).https_or_http().enable_http1().wrap_connector(connector)
}

/// The authorities that sign certificates of backends: those of the web, and those in the file that `SSL_CERT_FILE` names,
/// which networks with an authority of their own set for all programs. A file that cannot be read adds none, and the first
/// call then names the unknown issuer.
fn roots() -> RootCertStore {
    let mut roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    if let Some(path) = std::env::var_os("SSL_CERT_FILE")
        && let Ok(certificates) = CertificateDer::pem_file_iter(path)
    {
        roots.add_parsable_certificates(certificates.flatten());
    }
    roots
}

/// A server: scheme, host and port.
#[derive(Clone, Debug)]
pub(crate) struct Origin {
    uri: Uri,
    name: Arc<str>,
    /// The value of the header `host`.
    pub(crate) host: HeaderValue,
}

impl Origin {
    /// The server of a URL; `None` if the URL is not HTTP, or has a part that no request would use: a user, or a query.
    pub(crate) fn of(url: &Uri) -> Option<Self> {
        let (scheme, authority) = (url.scheme()?, url.authority()?);
        let is_http = [http::uri::Scheme::HTTP, http::uri::Scheme::HTTPS].contains(scheme);
        if !is_http || authority.as_str().contains('@') || url.query().is_some() {
            return None;
        }
        let uri =
            Uri::builder().scheme(scheme.clone()).authority(authority.clone()).path_and_query("/").build();
        let usual_port = if scheme == &http::uri::Scheme::HTTPS { 443 } else { 80 };
        let host = match authority.port_u16().filter(|port| *port != usual_port) {
            Some(port) => format!("{}:{port}", authority.host()),
            None => authority.host().to_owned(),
        };
        let name = format!("{scheme}://{authority}").into();
        Some(Self { uri: uri.ok()?, name, host: HeaderValue::try_from(host).ok()? })
    }
}

struct IdleConnection {
    connection: Box<ServerConnection>,
    since: Instant,
}

/// The idle connections to a server.
struct IdleServer {
    name: Arc<str>,
    connections: Vec<IdleConnection>,
}

/// A connection, with the bytes that were received and not yet used.
struct ServerConnection {
    stream: ServerStream,
    buffer: BytesMut,
    is_reused: bool,
}

/// The stream of a connection.
enum ServerStream {
    Plain(TcpStream),
    Tls(Box<TlsStream<TokioIo<TokioIo<TcpStream>>>>),
}

/// A request that got no answer.
#[derive(Debug)]
enum SendError {
    /// The server had closed an idle connection: the request can use another connection.
    Unsent,
    Failed(String),
}

impl Connections {
    pub(crate) fn new() -> Self {
        Self { connector: connector(), idle: Mutex::default() }
    }

    /// Sends the head and the body of a request. A request that finds its connection closed uses another connection.
    pub(crate) async fn send(
        self: &Arc<Self>,
        origin: &Origin,
        head: &[u8],
        body: &Bytes,
    ) -> Result<(HttpResponseHead, ServerBody), String> {
        loop {
            let mut connection = match self.take(origin) {
                Some(connection) => connection,
                None => self.connect(origin).await?,
            };
            match connection.send(head, body).await {
                Ok(head) => {
                    let home = (Arc::clone(self), Arc::clone(&origin.name));
                    let (framing, keeps_open) = (head.framing, head.keeps_open);
                    let connection = Some(connection);
                    let body = ServerBody { connection, framing, keeps_open, is_large: false, home };
                    return Ok((head, body));
                }
                Err(SendError::Unsent) => {}
                Err(SendError::Failed(error)) => return Err(error),
            }
        }
    }

    async fn connect(&self, origin: &Origin) -> Result<Box<ServerConnection>, String> {
        let stream = self.connector.clone().call(origin.uri.clone()).await;
        let stream = match stream.map_err(|error| cause(&*error))? {
            MaybeHttpsStream::Http(stream) => ServerStream::Plain(stream.into_inner()),
            MaybeHttpsStream::Https(stream) => ServerStream::Tls(Box::new(stream.into_inner())),
        };
        Ok(Box::new(ServerConnection { stream, buffer: BytesMut::new(), is_reused: false }))
    }

    /// An idle connection to a server. The last one is the likeliest to be open.
    fn take(&self, origin: &Origin) -> Option<Box<ServerConnection>> {
        let mut idle = self.idle();
        let server = idle.iter_mut().find(|server| server.is(&origin.name))?;
        while let Some(IdleConnection { connection, since }) = server.connections.pop() {
            if since.elapsed() < MOST_IDLE {
                return Some(connection);
            }
        }
        None
    }

    /// Keeps a connection whose answer has ended for the next request.
    fn keep(&self, name: &Arc<str>, mut connection: Box<ServerConnection>) {
        // Bytes after the end of an answer belong to no request.
        if !connection.buffer.is_empty() {
            return;
        }
        connection.is_reused = true;
        let kept = IdleConnection { connection, since: Instant::now() };
        let mut idle = self.idle();
        match idle.iter_mut().find(|server| server.is(name)) {
            Some(server) => server.connections.push(kept),
            None => idle.push(IdleServer { name: Arc::clone(name), connections: vec![kept] }),
        }
    }

    /// Closes the connections that have been idle for too long.
    pub(crate) fn close_idle(&self) {
        self.idle().retain_mut(|server| {
            server.connections.retain(|connection| connection.since.elapsed() < MOST_IDLE);
            !server.connections.is_empty()
        });
    }

    fn idle(&self) -> MutexGuard<'_, Vec<IdleServer>> {
        // No holder of the lock panics.
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl IdleServer {
    fn is(&self, name: &Arc<str>) -> bool {
        Arc::ptr_eq(&self.name, name) || self.name == *name
    }
}

/// The usual size of a read in bytes.
const READ: usize = 8 << 10;

/// The largest size of a read of a large body in bytes.
const LARGE_READ: usize = 64 << 10;

/// The most bytes that are reserved for a body before its bytes arrive.
const MOST_RESERVED: usize = 1 << 20;

impl ServerConnection {
    /// Sends a request and reads the head of the answer, which may come before the whole request is sent.
    async fn send(&mut self, head: &[u8], body: &[u8]) -> Result<HttpResponseHead, SendError> {
        let (mut sent, mut is_flushed, mut broken) = (0, false, None);
        let is_reused = self.is_reused;
        let is_unsent = |sent: usize| sent == 0 && is_reused;
        std::future::poll_fn(|context| {
            loop {
                while let Poll::Ready(read) = self.stream.poll_read(&mut self.buffer, READ, context) {
                    let failure = match read {
                        Ok(0) => "the connection was closed before the answer".to_owned(),
                        // An idle connection with bytes of its own has lost its place between requests.
                        Ok(_) if is_unsent(sent) => return Poll::Ready(Err(SendError::Unsent)),
                        Ok(_) => match take_head(&mut self.buffer) {
                            Ok(Some(mut head)) => {
                                head.keeps_open &= is_flushed;
                                return Poll::Ready(Ok(head));
                            }
                            Ok(None) => continue,
                            Err(error) => error,
                        },
                        Err(error) => error.to_string(),
                    };
                    let unsent = is_unsent(sent).then_some(SendError::Unsent);
                    return Poll::Ready(Err(unsent.unwrap_or(SendError::Failed(failure))));
                }
                // A server can answer a large request and then close the connection before the request is complete.
                if let Some(error) = broken.take() {
                    return Poll::Ready(Err(SendError::Failed(error)));
                }
                match self.stream.poll_send(head, body, &mut sent, &mut is_flushed, context) {
                    Poll::Ready(Err(_)) if is_unsent(sent) => return Poll::Ready(Err(SendError::Unsent)),
                    Poll::Ready(Err(error)) => broken = Some(error.to_string()),
                    // The read above has registered the task for the answer.
                    Poll::Ready(Ok(())) | Poll::Pending => return Poll::Pending,
                }
            }
        })
        .await
    }
}

impl ServerStream {
    /// Reads into the buffer; 0 at the end of the stream.
    fn poll_read(
        &mut self,
        buffer: &mut BytesMut,
        size: usize,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<usize>> {
        if buffer.capacity() - buffer.len() < size / 2 {
            buffer.reserve(size);
        }
        // These futures hold no state between two polls.
        match self {
            ServerStream::Plain(stream) => pin!(stream.read_buf(buffer)).poll(context),
            ServerStream::Tls(stream) => pin!(stream.read_buf(buffer)).poll(context),
        }
    }

    /// Writes the rest of a request. `sent` counts the bytes of both parts.
    fn poll_send(
        &mut self,
        head: &[u8],
        body: &[u8],
        sent: &mut usize,
        is_flushed: &mut bool,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        while *sent < head.len() + body.len() {
            let rest = [
                IoSlice::new(head.get(*sent..).unwrap_or_default()),
                IoSlice::new(&body[sent.saturating_sub(head.len())..]),
            ];
            let written = match self {
                ServerStream::Plain(stream) => Pin::new(stream).poll_write_vectored(context, &rest),
                ServerStream::Tls(stream) => Pin::new(&mut **stream).poll_write_vectored(context, &rest),
            };
            match std::task::ready!(written)? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                length => *sent += length,
            }
        }
        if let (ServerStream::Tls(stream), false) = (self, *is_flushed) {
            std::task::ready!(Pin::new(&mut **stream).poll_flush(context))?;
        }
        *is_flushed = true;
        Poll::Ready(Ok(()))
    }
}

/// The body of an answer. Dropping the body before its end closes the connection.
pub(crate) struct ServerBody {
    /// The connection, until the body ends.
    connection: Option<Box<ServerConnection>>,
    framing: BodyFraming,
    /// Whether the connection can take another request after the body.
    keeps_open: bool,
    /// Whether the buffer of the connection was enlarged.
    is_large: bool,
    home: (Arc<Connections>, Arc<str>),
}

/// A body that is not complete.
#[derive(Debug)]
pub(crate) struct BrokenBody(String);

impl std::fmt::Display for BrokenBody {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for BrokenBody {}

impl ServerBody {
    /// The whole body, if all of its bytes have arrived.
    pub(crate) fn take_ready(&mut self) -> Option<Bytes> {
        let BodyFraming::Length(length) = self.framing else { return None };
        let buffer = &mut self.connection.as_mut()?.buffer;
        let length = usize::try_from(length).ok().filter(|length| *length <= buffer.len())?;
        let bytes = buffer.split_to(length).freeze();
        self.framing = BodyFraming::Length(0);
        self.end();
        Some(bytes)
    }

    /// Reads the whole body, up to a limit. A body of known length is read into one buffer.
    pub(crate) async fn whole(mut self, most: usize) -> Result<Bytes, BrokenBody> {
        let too_large = || BrokenBody(format!("it is larger than {most} bytes"));
        let mut joined = BytesMut::new();
        loop {
            // A body that has ended has no connection.
            if let BodyFraming::Length(length) = self.framing
                && joined.is_empty()
                && self.connection.is_some()
            {
                let length =
                    usize::try_from(length).ok().filter(|length| *length <= most).ok_or_else(too_large)?;
                if let Some(connection) = &mut self.connection {
                    let arrived = connection.buffer.len();
                    self.is_large |= length > READ;
                    // The length alone must not make the gateway reserve much memory.
                    connection.buffer.reserve(length.saturating_sub(arrived).min(MOST_RESERVED.max(arrived)));
                }
                if let Some(bytes) = self.take_ready() {
                    return Ok(bytes);
                }
                std::future::poll_fn(|context| self.poll_read(LARGE_READ, context)).await?;
                continue;
            }
            match std::future::poll_fn(|context| Pin::new(&mut self).poll_frame(context)).await {
                Some(frame) => joined.extend_from_slice(&frame?.into_data().unwrap_or_default()),
                None => return Ok(joined.freeze()),
            }
            if joined.len() > most {
                return Err(too_large());
            }
        }
    }

    /// Reads further bytes. Ready without bytes after the end of a connection that ends the body.
    fn poll_read(&mut self, size: usize, context: &mut Context<'_>) -> Poll<Result<(), BrokenBody>> {
        let Some(connection) = &mut self.connection else { return Poll::Ready(Ok(())) };
        let read = std::task::ready!(connection.stream.poll_read(&mut connection.buffer, size, context));
        let failure = match read {
            Ok(0) if self.framing == BodyFraming::UntilClose => {
                self.connection = None;
                return Poll::Ready(Ok(()));
            }
            Ok(0) => "the connection was closed before the end".to_owned(),
            Ok(_) => return Poll::Ready(Ok(())),
            Err(error) => error.to_string(),
        };
        self.connection = None;
        Poll::Ready(Err(BrokenBody(failure)))
    }

    /// The body has ended.
    fn end(&mut self) {
        if let Some(mut connection) = self.connection.take().filter(|_| self.keeps_open) {
            if self.is_large {
                // The rest of a buffer keeps the memory of the whole buffer.
                connection.buffer = BytesMut::from(&*connection.buffer);
            }
            self.home.0.keep(&self.home.1, connection);
        }
    }
}

impl Body for ServerBody {
    type Data = Bytes;
    type Error = BrokenBody;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BrokenBody>>> {
        loop {
            let Self { connection, framing, .. } = &mut *self;
            let Some(open) = connection else { return Poll::Ready(None) };
            let piece = framing.take_piece(&mut open.buffer);
            match piece {
                Ok(Some(bytes)) => {
                    if self.framing.has_ended() {
                        self.end();
                    }
                    return Poll::Ready(Some(Ok(Frame::data(bytes))));
                }
                Ok(None) if self.framing.has_ended() => {
                    self.end();
                    return Poll::Ready(None);
                }
                Ok(None) => {}
                Err(error) => {
                    self.connection = None;
                    return Poll::Ready(Some(Err(BrokenBody(error.to_owned()))));
                }
            }
            if let Err(error) = std::task::ready!(self.poll_read(READ, context)) {
                return Poll::Ready(Some(Err(error)));
            }
        }
    }
}

/// The innermost cause of an error, which names the fault ("connection refused").
pub(crate) fn cause(error: &(dyn std::error::Error + 'static)) -> String {
    let mut inner = error;
    while let Some(source) = inner.source() {
        inner = source;
    }
    inner.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_of_a_server_has_its_port_unless_it_is_the_usual_one() {
        let host = |url: &'static str| Origin::of(&Uri::from_static(url)).map(|origin| origin.host);
        for (url, expected) in [
            ("http://127.0.0.1:9100/v1", "127.0.0.1:9100"),
            ("https://api.example.com/v1", "api.example.com"),
            ("https://api.example.com:443", "api.example.com"),
            ("http://api.example.com:443", "api.example.com:443"),
            ("http://[::1]:80", "[::1]"),
        ] {
            assert_eq!(host(url).as_ref().map(HeaderValue::as_bytes), Some(expected.as_bytes()), "{url}");
        }
        assert!(host("/v1").is_none());
    }
}
