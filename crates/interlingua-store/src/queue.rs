//! The exchanges between callers and the writer thread of a recorder, bounded in number and bytes.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::exchange::StoredExchange;
use crate::reply::{Reply, ReplySender};

/// The exchanges between callers and the writer thread.
pub(crate) struct Queue {
    state: Mutex<QueueState>,
    changed: Condvar,
    most_waiting: usize,
    most_bytes: usize,
    pub(crate) counts: Counts,
}

#[derive(Default)]
struct QueueState {
    waiting: VecDeque<StoredExchange>,
    flushes: Vec<ReplySender<()>>,
    /// Readers that wait for a transfer of the journal.
    transfers: Vec<ReplySender<()>>,
    /// The time of the next transfer of the journal; `None` while the journal is empty.
    transfer_at: Option<Instant>,
    /// The number and bytes of all exchanges that are not stored yet, with the batch at hand.
    unstored: usize,
    unstored_bytes: usize,
    closed: bool,
    /// Whether the writer waits for work. A notification is a system call, also if nobody waits.
    is_writer_idle: bool,
}

#[derive(Default)]
pub(crate) struct Counts {
    pub(crate) stored: AtomicU64,
    pub(crate) dropped: AtomicU64,
    pub(crate) failed: AtomicU64,
    pub(crate) deleted: AtomicU64,
}

/// The work for one turn of the writer.
pub(crate) struct Batch {
    pub(crate) exchanges: VecDeque<StoredExchange>,
    pub(crate) flushes: Vec<ReplySender<()>>,
    pub(crate) transfers: Vec<ReplySender<()>>,
    pub(crate) is_transfer_due: bool,
    pub(crate) closed: bool,
}

impl Queue {
    pub(crate) fn new(most_waiting: usize, most_bytes: usize) -> Self {
        let (state, changed) = (Mutex::default(), Condvar::new());
        Self { state, changed, most_waiting, most_bytes, counts: Counts::default() }
    }

    pub(crate) fn push(&self, exchange: StoredExchange) -> bool {
        let mut state = lock(&self.state);
        let is_accepted = self.accept(&mut state, exchange);
        self.changed(state);
        is_accepted
    }

    /// Adds an exchange, and a flush after it.
    pub(crate) fn push_and_flush(&self, exchange: StoredExchange) -> Reply<()> {
        let (sender, reply) = Reply::pair();
        let mut state = lock(&self.state);
        self.accept(&mut state, exchange);
        if !state.closed {
            state.flushes.push(sender);
        }
        self.changed(state);
        reply
    }

    pub(crate) fn flush(&self) -> Reply<()> {
        let (sender, reply) = Reply::pair();
        let mut state = lock(&self.state);
        if !state.closed {
            state.flushes.push(sender);
        }
        self.changed(state);
        reply
    }

    /// Asks for a transfer of the journal. The reply comes after it.
    pub(crate) fn transfer(&self) -> Reply<()> {
        let (sender, reply) = Reply::pair();
        let mut state = lock(&self.state);
        if !state.closed {
            state.transfers.push(sender);
        }
        self.changed(state);
        reply
    }

    /// The readers that wait for a transfer of the journal.
    pub(crate) fn take_transfers(&self) -> Vec<ReplySender<()>> {
        std::mem::take(&mut lock(&self.state).transfers)
    }

    /// Asks for a transfer of the journal at this time or earlier.
    pub(crate) fn transfer_by(&self, time: Instant) {
        let mut state = lock(&self.state);
        if state.transfer_at.is_none_or(|at| time < at) {
            state.transfer_at = Some(time);
            self.changed(state);
        }
    }

    /// Takes an exchange, unless too many wait.
    fn accept(&self, state: &mut QueueState, exchange: StoredExchange) -> bool {
        let weight = exchange.weight();
        let is_full = state.unstored >= self.most_waiting
            || state.unstored > 0 && state.unstored_bytes + weight > self.most_bytes;
        if state.closed || is_full {
            self.counts.dropped.fetch_add(1, Ordering::Relaxed);
            return false;
        }
        state.unstored += 1;
        state.unstored_bytes += weight;
        state.waiting.push_back(exchange);
        true
    }

    /// Wakes the writer, if it waits.
    fn changed(&self, mut state: MutexGuard<'_, QueueState>) {
        let is_idle = std::mem::take(&mut state.is_writer_idle);
        drop(state);
        if is_idle {
            self.changed.notify_one();
        }
    }

    pub(crate) fn close(&self) {
        lock(&self.state).closed = true;
        self.changed.notify_one();
    }

    pub(crate) fn is_closed(&self) -> bool {
        lock(&self.state).closed
    }

    /// Waits until there is work, or until the time is over.
    pub(crate) fn next(&self, longest: Duration) -> Batch {
        let end = Instant::now() + longest;
        let mut state = lock(&self.state);
        while !state.has_work() {
            let until = state.transfer_at.map_or(end, |at| at.min(end));
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            state.is_writer_idle = true;
            state = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
            state.is_writer_idle = false;
        }
        let QueueState { waiting, flushes, transfers, transfer_at, closed, .. } = &mut *state;
        Batch {
            exchanges: std::mem::take(waiting),
            flushes: std::mem::take(flushes),
            transfers: std::mem::take(transfers),
            is_transfer_due: transfer_at.take_if(|at| *at <= Instant::now()).is_some(),
            closed: *closed,
        }
    }

    /// Waits for a time; a close ends the pause.
    pub(crate) fn pause(&self, time: Duration) {
        let state = lock(&self.state);
        let was_closed = state.closed;
        drop(self.changed.wait_timeout_while(state, time, |state| state.closed == was_closed));
    }

    /// Ends the queue without its writer: waiting exchanges are dropped, and flushes deliver an error.
    pub(crate) fn abandon(&self) {
        let mut state = lock(&self.state);
        state.closed = true;
        state.flushes.clear();
        state.transfers.clear();
        let dropped = std::mem::take(&mut state.waiting).len();
        self.counts.dropped.fetch_add(dropped as u64, Ordering::Relaxed);
    }

    /// Frees the places of exchanges that were stored or given up.
    pub(crate) fn done(&self, exchanges: &[StoredExchange]) {
        let mut state = lock(&self.state);
        state.unstored -= exchanges.len();
        state.unstored_bytes -= exchanges.iter().map(StoredExchange::weight).sum::<usize>();
    }
}

impl QueueState {
    fn has_work(&self) -> bool {
        !self.waiting.is_empty() || !self.flushes.is_empty() || !self.transfers.is_empty() || self.closed
    }
}

/// Locks a mutex.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // The values behind the locks stay valid at every point.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
