//! The HTTP server: accepts connections until it is stopped, and lets open answers finish.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::TcpListener;

use crate::backend::{ReadyBackend, http_client};
use crate::config::{Config, ConfigError};
use crate::service::Gateway;

/// The time in which a client must send the head of its request.
const HEAD_TIMEOUT: Duration = Duration::from_secs(30);

/// The time that open answers have after the server was stopped.
const LAST_ANSWERS: Duration = Duration::from_secs(30);

/// A gateway that listens.
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    gateway: Arc<Gateway>,
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("address", &self.address).finish_non_exhaustive()
    }
}

/// A gateway that cannot start.
#[derive(Debug)]
#[non_exhaustive]
pub enum StartError {
    /// An error in the configuration.
    Config(ConfigError),
    /// The address cannot be used.
    Listen(SocketAddr, io::Error),
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StartError::Config(error) => error.fmt(f),
            StartError::Listen(address, error) => write!(f, "cannot listen on {address}: {error}"),
        }
    }
}

impl std::error::Error for StartError {}

impl From<ConfigError> for StartError {
    fn from(error: ConfigError) -> Self {
        StartError::Config(error)
    }
}

impl Server {
    /// Checks a configuration: each backend can be built, each route has a backend.
    ///
    /// `variable` looks up the environment, and `read` reads a script by its path.
    pub fn check(
        config: &Config,
        variable: &dyn Fn(&str) -> Option<String>,
        read: &dyn Fn(&str) -> Result<String, String>,
    ) -> Result<(), ConfigError> {
        ready(config, variable, read).map(|_| ())
    }

    /// Listens on the address of the configuration.
    pub async fn start(
        config: Config,
        variable: &dyn Fn(&str) -> Option<String>,
        read: &dyn Fn(&str) -> Result<String, String>,
    ) -> Result<Self, StartError> {
        let backends = ready(&config, variable, read)?;
        let failed = |error| StartError::Listen(config.listen, error);
        let listener = TcpListener::bind(config.listen).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        Ok(Self { listener, address, gateway: Arc::new(Gateway { config, backends, http: http_client() }) })
    }

    /// The address, with the port that the system chose if the configuration has port 0.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until `stop` is ready. Open answers then have half a minute to finish.
    pub async fn serve(self, stop: impl Future<Output = ()>) {
        let Self { listener, gateway, .. } = self;
        let mut stop = std::pin::pin!(stop);
        let graceful = GracefulShutdown::new();
        loop {
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                () = &mut stop => break,
            };
            let Ok((stream, _)) = accepted else {
                // Too many open files: connections that end free some.
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            };
            // Without it each piece of a stream waits for the acknowledgement of the one before.
            let _ = stream.set_nodelay(true);
            let gateway = Arc::clone(&gateway);
            let service = service_fn(move |request| {
                let gateway = Arc::clone(&gateway);
                async move { Ok::<_, std::convert::Infallible>(gateway.answer(request).await) }
            });
            let connection = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(HEAD_TIMEOUT)
                .serve_connection(TokioIo::new(stream), service);
            let connection = graceful.watch(connection);
            // A client that goes away is no error of the gateway.
            tokio::spawn(async move { drop(connection.await) });
        }
        drop(listener);
        let _ = tokio::time::timeout(LAST_ANSWERS, graceful.shutdown()).await;
    }
}

/// The backends of a configuration.
fn ready(
    config: &Config,
    variable: &dyn Fn(&str) -> Option<String>,
    read: &dyn Fn(&str) -> Result<String, String>,
) -> Result<Vec<ReadyBackend>, ConfigError> {
    if !config.listen.ip().is_loopback() && config.token.is_none() {
        return Err(ConfigError::NoToken(config.listen));
    }
    let named = config.backends.iter();
    let backends: Vec<ReadyBackend> = named
        .map(|(name, settings)| ReadyBackend::new(name, settings, variable, read))
        .collect::<Result<_, _>>()?;
    for route in &config.routes {
        if !config.backends.contains_key(&route.backend) {
            let (model, backend) = (route.model.clone(), route.backend.clone());
            return Err(ConfigError::NoBackend { model, backend });
        }
    }
    Ok(backends)
}
