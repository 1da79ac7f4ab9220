//! The result of a job of the store, delivered by the thread of the store: a program waits for it with `await` in any runtime, or blocks.

use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use crate::error::StoreError;

/// The result of an operation on a thread of [`crate::ExchangeRecorder`].
#[derive(Debug)]
#[must_use = "the result of the operation is in the reply"]
pub struct Reply<T>(Arc<Slot<T>>);

/// The other end of a [`Reply`]. Dropped without a result, it delivers [`StoreError::Closed`].
#[derive(Debug)]
pub(crate) struct ReplySender<T> {
    slot: Arc<Slot<T>>,
    sent: bool,
}

#[derive(Debug)]
struct Slot<T> {
    state: Mutex<SlotState<T>>,
    delivered: Condvar,
}

#[derive(Debug)]
struct SlotState<T> {
    result: Option<Result<T, StoreError>>,
    waker: Option<Waker>,
    /// Whether a thread waits in [`Reply::wait`]. A notification is a system call, also if nobody waits.
    is_blocking: bool,
}

impl<T> Slot<T> {
    fn lock(&self) -> MutexGuard<'_, SlotState<T>> {
        // No holder of the lock panics, and the state stays valid.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn deliver(&self, result: Result<T, StoreError>) {
        let mut state = self.lock();
        state.result = Some(result);
        let (waker, is_blocking) = (state.waker.take(), state.is_blocking);
        drop(state);
        if is_blocking {
            self.delivered.notify_all();
        }
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl<T> Reply<T> {
    pub(crate) fn pair() -> (ReplySender<T>, Self) {
        let state = Mutex::new(SlotState { result: None, waker: None, is_blocking: false });
        let slot = Arc::new(Slot { state, delivered: Condvar::new() });
        (ReplySender { slot: Arc::clone(&slot), sent: false }, Self(slot))
    }

    /// A result that is known at once.
    pub(crate) fn ready(result: Result<T, StoreError>) -> Self {
        let state = Mutex::new(SlotState { result: Some(result), waker: None, is_blocking: false });
        Self(Arc::new(Slot { state, delivered: Condvar::new() }))
    }

    /// Blocks until the result is there. Asynchronous code uses `await` instead.
    pub fn wait(self) -> Result<T, StoreError> {
        let mut state = self.0.lock();
        loop {
            if let Some(result) = state.result.take() {
                return result;
            }
            state.is_blocking = true;
            state = self.0.delivered.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl<T> Future for Reply<T> {
    type Output = Result<T, StoreError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut state = self.0.lock();
        if let Some(result) = state.result.take() {
            return Poll::Ready(result);
        }
        state.waker = Some(context.waker().clone());
        Poll::Pending
    }
}

impl<T> ReplySender<T> {
    pub(crate) fn send(mut self, result: Result<T, StoreError>) {
        self.sent = true;
        self.slot.deliver(result);
    }
}

impl<T> Drop for ReplySender<T> {
    fn drop(&mut self) {
        if !self.sent {
            self.slot.deliver(Err(StoreError::Closed));
        }
    }
}
