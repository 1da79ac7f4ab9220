//! Parallel work on many inputs: a fixed number of threads, results in the order of the inputs.

use std::any::Any;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Mutex, PoisonError, mpsc};

use crate::flags::BulkFlags;

/// How many later inputs may be finished before the next result in order; their results wait in memory.
const AHEAD: usize = 256;

/// Runs `work` for each input on several threads and hands over the results in input order, as early as possible.
/// Threads share no state, so the results do not depend on timing.
pub(crate) fn each<T: Sync, R: Send>(
    inputs: &[T],
    flags: &BulkFlags,
    work: impl Fn(&T) -> R + Sync,
    mut take: impl FnMut(&T, R),
) {
    let processors = || std::thread::available_parallelism().map_or(1, usize::from);
    let jobs = flags.jobs.unwrap_or_else(processors).min(inputs.len());
    if jobs <= 1 {
        return inputs.iter().for_each(|input| take(input, work(input)));
    }
    let (orders, ordered) = mpsc::channel();
    let (done, finished) = mpsc::channel();
    let ordered = Mutex::new(ordered);
    let panicked = std::thread::scope(|scope| {
        for _ in 0..jobs {
            let (ordered, work, done) = (&ordered, &work, done.clone());
            scope.spawn(move || {
                let next = || ordered.lock().unwrap_or_else(PoisonError::into_inner).recv();
                while let Ok((number, input)) = next() {
                    // A panic is sent on as a result, because the receiver waits for this number.
                    let result = catch_unwind(AssertUnwindSafe(|| work(input)));
                    if done.send((number, result)).is_err() {
                        return;
                    }
                }
            });
        }
        // Both channels close with this closure, so the threads stop.
        let (orders, finished) = (orders, finished);
        drop(done);
        let mut waiting = BTreeMap::new();
        let mut inputs_left = inputs.iter().enumerate();
        // Start with `AHEAD` inputs, then queue one more for each result.
        inputs_left.by_ref().take(AHEAD).for_each(|order| _ = orders.send(order));
        for (taken, input) in inputs.iter().enumerate() {
            let result = loop {
                match waiting.remove(&taken) {
                    Some(result) => break result,
                    None => match finished.recv() {
                        Ok((number, Ok(result))) => _ = waiting.insert(number, result),
                        Ok((_, Err(panicked))) => return Err(panicked),
                        Err(gone @ mpsc::RecvError) => return Err(Box::new(gone)),
                    },
                }
            };
            take(input, result);
            if let Some(order) = inputs_left.next() {
                // The threads live as long as the channel, so sending succeeds.
                _ = orders.send(order);
            }
        }
        Ok::<(), Box<dyn Any + Send>>(())
    });
    if let Err(panicked) = panicked {
        resume_unwind(panicked);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_order_whoever_is_fast() {
        let inputs: Vec<u64> = (0..3000).collect();
        for jobs in [1, 2, 7] {
            let mut taken = Vec::new();
            let slow_first = |input: &u64| {
                let rounds = if input.is_multiple_of(1000) { 1_000_000 } else { 1 };
                (0..rounds).for_each(|round| _ = std::hint::black_box(round));
                input * 2
            };
            each(&inputs, &BulkFlags { jobs: Some(jobs) }, slow_first, |input, result| {
                taken.push((*input, result));
            });
            assert!(taken.iter().copied().eq((0..3000).map(|input| (input, input * 2))));
        }
    }

    #[test]
    fn a_panic_is_passed_on_and_nobody_waits_for_ever() {
        let inputs: Vec<u64> = (0..1000).collect();
        let work = |input: &u64| assert_ne!(*input, 50, "no such input");
        let mut taken = 0;
        let run = || each(&inputs, &BulkFlags { jobs: Some(3) }, work, |_, ()| taken += 1);
        assert!(catch_unwind(AssertUnwindSafe(run)).is_err());
        assert!(taken <= 50, "{taken}");
    }
}
