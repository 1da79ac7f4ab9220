//! Many inputs at once: as many threads as asked for, results in the order of the inputs.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::flags::BulkFlags;

/// Does the work for each input, so many at a time. What one thread has done is never seen by another, so nothing
/// depends on which of them was faster.
pub(crate) fn each<T: Sync, R: Send>(
    inputs: &[T],
    flags: &BulkFlags,
    work: impl Fn(&T) -> R + Sync,
) -> Vec<R> {
    let processors = || std::thread::available_parallelism().map_or(1, usize::from);
    let jobs = flags.jobs.unwrap_or_else(processors).min(inputs.len());
    if jobs <= 1 {
        return inputs.iter().map(work).collect();
    }
    let next = AtomicUsize::new(0);
    let results: Mutex<Vec<(usize, R)>> = Mutex::new(Vec::with_capacity(inputs.len()));
    std::thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(|| {
                while let number = next.fetch_add(1, Ordering::Relaxed)
                    && let Some(input) = inputs.get(number)
                {
                    let result = work(input);
                    results.lock().unwrap_or_else(PoisonError::into_inner).push((number, result));
                }
            });
        }
    });
    let mut results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
    results.sort_by_key(|(number, _)| *number);
    results.into_iter().map(|(_, result)| result).collect()
}
