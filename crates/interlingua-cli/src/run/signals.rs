//! The signals that end a turn or the command.

use std::io;

/// A signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StopSignal {
    /// Ctrl-C.
    Interrupt,
    /// The command must end with this exit code.
    End(u8),
}

/// The signals from now on.
#[cfg(unix)]
pub(crate) struct StopSignals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
    hangup: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl StopSignals {
    pub(crate) fn new() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: signal(SignalKind::hangup())?,
        })
    }

    pub(super) async fn next(&mut self) -> StopSignal {
        tokio::select! {
            _ = self.interrupt.recv() => StopSignal::Interrupt,
            _ = self.terminate.recv() => StopSignal::End(143),
            _ = self.hangup.recv() => StopSignal::End(129),
        }
    }
}

/// The signals from now on.
#[cfg(not(unix))]
pub(crate) struct StopSignals;

#[cfg(not(unix))]
impl StopSignals {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self)
    }

    pub(super) async fn next(&mut self) -> StopSignal {
        match tokio::signal::ctrl_c().await {
            Ok(()) => StopSignal::Interrupt,
            // Without a handler, Ctrl-C has its default effect.
            Err(_) => std::future::pending().await,
        }
    }
}

impl StopSignals {
    /// Waits for any signal. Returns the exit code.
    pub(crate) async fn any(&mut self) -> u8 {
        match self.next().await {
            StopSignal::Interrupt => 130,
            StopSignal::End(code) => code,
        }
    }
}
