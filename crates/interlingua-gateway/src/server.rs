//! The HTTP server: accepts connections until it is stopped, and lets open answers finish.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::num::NonZero;
use std::sync::{Arc, Weak};
use std::time::Duration;

use interlingua_store::{StoreError, StoreTrouble};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

use crate::client_connection;
use crate::config::{Config, ConfigError, Lookup};
use crate::recording::CallStore;
use crate::service::{Gateway, GatewayState, Handlers, ServerParts};
use crate::telemetry::{Receiver, Telemetry};

/// The time that open answers have after the server was stopped.
const LAST_ANSWERS: Duration = Duration::from_secs(30);

/// The time between two rounds of housekeeping, shorter than the usual timers of a request.
const HOUSEKEEPING: Duration = Duration::from_secs(5);

/// A gateway that listens.
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    gateway: Arc<Gateway>,
    threads: usize,
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("address", &self.address).finish_non_exhaustive()
    }
}

/// Changes a running server.
#[derive(Clone)]
pub struct ServerHandle(Arc<Gateway>);

impl fmt::Debug for ServerHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerHandle").finish_non_exhaustive()
    }
}

impl ServerHandle {
    /// Replaces the configuration for new calls; open calls end with the one that they began with. The address stays.
    pub fn reload(&self, config: Config, lookup: &dyn Lookup) -> Result<(), ConfigError> {
        self.0.reload(config, lookup)
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
    /// The store cannot be opened.
    Store(StoreError),
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StartError::Config(error) => error.fmt(f),
            StartError::Listen(address, error) => write!(f, "cannot listen on {address}: {error}"),
            StartError::Store(error) => error.fmt(f),
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
    pub fn check(config: &Config, lookup: &dyn Lookup) -> Result<(), ConfigError> {
        Receiver::new(config.telemetry.as_ref(), lookup).map_err(|error| config.placed(error))?;
        GatewayState::new(config, lookup, &Handlers::new(), None).map(|_| ())
    }

    /// Listens on the address of the configuration.
    pub async fn start(config: Config, lookup: &dyn Lookup, parts: ServerParts) -> Result<Self, StartError> {
        let address = config.listen;
        let processors = || std::thread::available_parallelism().map_or(1, NonZero::get);
        let threads = config.threads.unwrap_or_else(processors);
        let settings = config.store.clone();
        let receiver =
            Receiver::new(config.telemetry.as_ref(), lookup).map_err(|error| config.placed(error))?;
        let state = GatewayState::new(&config, lookup, &parts.handlers, None)?;
        let say = parts.troubles.clone();
        let report = move |trouble: &StoreTrouble<'_>| {
            if let Some(say) = &say {
                say(&trouble.to_string());
            }
        };
        let store = settings.map(|settings| CallStore::open(&settings, report));
        let store = store.transpose().map_err(StartError::Store)?;
        if let Some(store) = &store {
            state.restore_spending(store).await.map_err(StartError::Store)?;
        }
        let failed = |error| StartError::Listen(address, error);
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let telemetry = receiver.map(|receiver| Telemetry::start(receiver, parts.troubles.clone()));
        let gateway = Arc::new(Gateway::new(state, parts, store, telemetry));
        Ok(Self { listener, address, gateway, threads })
    }

    /// A handle that replaces the configuration of the running server.
    pub fn handle(&self) -> ServerHandle {
        ServerHandle(Arc::clone(&self.gateway))
    }

    /// The address, with the port that the system chose if the configuration has port 0.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until `stop` is ready. Open answers then have half a minute to finish.
    pub async fn serve(self, stop: impl Future<Output = ()>) {
        let Self { listener, gateway, threads, .. } = self;
        let threads: Vec<_> = (1..threads).filter_map(|_| ConnectionThread::start(&gateway)).collect();
        tokio::spawn(housekeeping(Arc::downgrade(&gateway)));
        let mut turns = (0..=threads.len()).cycle();
        let mut stop = std::pin::pin!(stop);
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
            // Connections take turns with the threads and with this one.
            let thread = turns.next().and_then(|turn| threads.get(turn));
            match thread {
                Some(thread) => thread.serve(stream),
                None => drop(tokio::spawn(client_connection::serve(stream, Arc::clone(&gateway)))),
            }
        }
        drop(listener);
        gateway.close();
        drop(threads);
        let _ = tokio::time::timeout(LAST_ANSWERS, gateway.all_ended()).await;
        if let Some(store) = &gateway.log.store {
            store.close();
        }
        if let Some(telemetry) = &gateway.log.telemetry {
            telemetry.close().await;
        }
    }
}

/// A thread that serves connections with an executor of its own: no connection wakes another thread.
struct ConnectionThread(mpsc::UnboundedSender<std::net::TcpStream>);

impl ConnectionThread {
    /// Starts a thread; `None` if the system has none left.
    fn start(gateway: &Gateway) -> Option<Self> {
        let (sender, mut streams) = mpsc::unbounded_channel::<std::net::TcpStream>();
        let gateway = Arc::new(gateway.for_thread());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().ok()?;
        let serve = async move {
            tokio::spawn(housekeeping(Arc::downgrade(&gateway)));
            while let Some(stream) = streams.recv().await {
                if let Ok(stream) = TcpStream::from_std(stream) {
                    tokio::spawn(client_connection::serve(stream, Arc::clone(&gateway)));
                }
            }
            let _ = tokio::time::timeout(LAST_ANSWERS, gateway.all_ended()).await;
        };
        let name = std::thread::Builder::new().name("connections".to_owned());
        name.spawn(move || runtime.block_on(serve)).ok()?;
        Some(Self(sender))
    }

    fn serve(&self, stream: TcpStream) {
        if let Ok(stream) = stream.into_std() {
            // The thread lives as long as its sender.
            let _ = self.0.send(stream);
        }
    }
}

/// Closes idle connections to backends now and then, while the gateway lives. A timer that
/// is due before all other timers interrupts the executor. The timer of this task is always due before the timers of a
/// request, so that requests interrupt nothing.
async fn housekeeping(gateway: Weak<Gateway>) {
    loop {
        tokio::time::sleep(HOUSEKEEPING).await;
        let Some(gateway) = gateway.upgrade() else { return };
        gateway.backend_connections.close_idle();
    }
}
