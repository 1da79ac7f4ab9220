//! Connections to the servers of backends, which stay open between requests.
//!
//! The task of a request drives its connection itself: a task of its own for each connection would have to be woken, and
//! would have to wake the request, for every piece of an answer. An idle connection is driven by no task, so the next
//! request on the connection finds out whether the server has closed it, and then uses another connection.

use std::collections::HashMap;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{HeaderValue, Request, Response, Uri};
use http_body::{Body, Frame};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::client::conn::TrySendError;
use hyper::client::conn::http1::{self, SendRequest};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder, MaybeHttpsStream};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::net::TcpStream;
use tokio::task::unconstrained;
use tokio_rustls::rustls::RootCertStore;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tower_service::Service;

/// The time after which an idle connection is closed.
const MOST_IDLE: Duration = Duration::from_secs(60);

/// The connections of a thread.
pub(crate) struct Connections {
    connector: HttpsConnector<HttpConnector>,
    idle: Mutex<HashMap<Arc<str>, Vec<IdleConnection>>>,
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
    /// The server of a URL; `None` if the URL has no scheme or no host.
    pub(crate) fn of(url: &Uri) -> Option<Self> {
        let (scheme, authority) = (url.scheme()?, url.authority()?);
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

/// A connection, with the future that reads and writes.
struct ServerConnection {
    sender: SendRequest<Full<Bytes>>,
    /// `None` after the end of the connection: a request that waits in a driver is returned when the driver is dropped.
    driver: Option<http1::Connection<MaybeHttpsStream<TokioIo<TcpStream>>, Full<Bytes>>>,
}

impl Connections {
    pub(crate) fn new() -> Self {
        Self { connector: connector(), idle: Mutex::default() }
    }

    /// Sends a request, whose URI is a path. A request that a reused connection did not accept is sent on another one.
    pub(crate) async fn send(
        self: &Arc<Self>,
        origin: &Origin,
        mut request: Request<Full<Bytes>>,
    ) -> Result<Response<ServerBody>, String> {
        loop {
            let idle = self.take(origin);
            let is_reused = idle.is_some();
            let mut connection = match idle {
                Some(connection) => connection,
                None => self.connect(origin).await?,
            };
            match connection.send(request).await {
                Ok(response) => {
                    return Ok(response.map(|body| ServerBody {
                        body,
                        connection: Some(connection),
                        home: (Arc::clone(self), Arc::clone(&origin.name)),
                    }));
                }
                Err(mut error) => match error.take_message() {
                    Some(unsent) if is_reused => request = unsent,
                    _ => return Err(cause(error.error())),
                },
            }
        }
    }

    async fn connect(&self, origin: &Origin) -> Result<Box<ServerConnection>, String> {
        let stream = self.connector.clone().call(origin.uri.clone()).await;
        let stream = stream.map_err(|error| cause(&*error))?;
        let (sender, driver) = http1::handshake(stream).await.map_err(|error| cause(&error))?;
        Ok(Box::new(ServerConnection { sender, driver: Some(driver) }))
    }

    /// An idle connection to a server. The last one is the likeliest to be open.
    fn take(&self, origin: &Origin) -> Option<Box<ServerConnection>> {
        let mut idle = self.idle();
        let connections = idle.get_mut(&origin.name)?;
        while let Some(IdleConnection { connection, since }) = connections.pop() {
            if connection.sender.is_ready() && since.elapsed() < MOST_IDLE {
                return Some(connection);
            }
        }
        None
    }

    /// Keeps a connection whose answer has ended for the next request.
    fn keep(&self, server: &Arc<str>, mut connection: Box<ServerConnection>) {
        if !connection.is_idle() {
            return;
        }
        let kept = IdleConnection { connection, since: Instant::now() };
        let mut idle = self.idle();
        match idle.get_mut(server) {
            Some(connections) => connections.push(kept),
            None => drop(idle.insert(Arc::clone(server), vec![kept])),
        }
    }

    /// Closes the connections that have been idle for too long.
    pub(crate) fn close_idle(&self) {
        self.idle().retain(|_, connections| {
            connections.retain(|connection| connection.since.elapsed() < MOST_IDLE);
            !connections.is_empty()
        });
    }

    fn idle(&self) -> MutexGuard<'_, HashMap<Arc<str>, Vec<IdleConnection>>> {
        // No holder of the lock panics.
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ServerConnection {
    /// Sends a request and drives the connection until the answer begins.
    async fn send(
        &mut self,
        request: Request<Full<Bytes>>,
    ) -> Result<Response<Incoming>, TrySendError<Request<Full<Bytes>>>> {
        // Only the driver completes the answer, and the driver wakes the task.
        let mut answer = pin!(unconstrained(self.sender.try_send_request(request)));
        std::future::poll_fn(|context| {
            if self.drive(context).is_ready() {
                return answer.as_mut().poll(context);
            }
            answer.as_mut().poll(&mut Context::from_waker(Waker::noop()))
        })
        .await
    }

    /// Whether the connection can take another request.
    fn is_idle(&mut self) -> bool {
        // The task of the last answer must not be woken for an idle connection.
        let mut driven = pin!(unconstrained(std::future::poll_fn(|context| self.drive(context))));
        let has_ended = driven.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready();
        !has_ended && self.sender.is_ready()
    }

    /// Reads and writes as far as possible. Ready after the end of the connection.
    fn drive(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if let Some(driver) = &mut self.driver {
            // The request or the body gets the error.
            let _ = std::task::ready!(Pin::new(driver).poll(context));
            self.driver = None;
        }
        Poll::Ready(())
    }
}

/// The body of an answer. Dropping the body before its end closes the connection.
pub(crate) struct ServerBody {
    body: Incoming,
    /// The connection, until the body or the connection ends.
    connection: Option<Box<ServerConnection>>,
    home: (Arc<Connections>, Arc<str>),
}

impl Body for ServerBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let Self { body, connection, home } = &mut *self;
        let Some(open) = connection else { return Pin::new(body).poll_frame(context) };
        // Only the driver completes the body, and the driver wakes the task.
        let mut silent = Context::from_waker(Waker::noop());
        let mut frame = Pin::new(&mut *body).poll_frame(&mut silent);
        if frame.is_pending() {
            if open.drive(context).is_ready() {
                *connection = None;
                return Pin::new(body).poll_frame(context);
            }
            frame = Pin::new(&mut *body).poll_frame(&mut silent);
        }
        if let Poll::Ready(None) = &frame
            && let Some(connection) = connection.take()
        {
            home.0.keep(&home.1, connection);
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        // The end must be polled for: it keeps the connection for the next request.
        false
    }

    fn size_hint(&self) -> http_body::SizeHint {
        self.body.size_hint()
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
