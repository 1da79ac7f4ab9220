//! A value that two stages of one call share.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A value shared between the writer of the request and the writer of the answer, or the writer of the answer and the
/// caller. They run in sequence.
#[derive(Debug, Default)]
pub(super) struct SharedCell<T>(Arc<Mutex<T>>);

impl<T> Clone for SharedCell<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> SharedCell<T> {
    pub(super) fn look(&self) -> MutexGuard<'_, T> {
        // No holder of the lock panics, and the value stays valid.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
