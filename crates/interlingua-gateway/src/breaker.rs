//! The circuit breaker of a backend: after failures in a row the backend gets no calls for a while, then a single one.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Failures in a row that open the circuit.
const FAILURES: u32 = 10;

/// The first pause. Each failed trial doubles it.
const FIRST_PAUSE: Duration = Duration::from_secs(2);

/// The longest pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// The circuit breaker of a backend.
#[derive(Debug, Default)]
pub(crate) struct Breaker(Mutex<Circuit>);

#[derive(Debug, Default)]
struct Circuit {
    /// Failures since the last success.
    failures: u32,
    /// The pause, while the circuit is open.
    open: Option<Pause>,
}

#[derive(Clone, Copy, Debug)]
struct Pause {
    until: Instant,
    length: Duration,
    /// Whether a trial is under way. Other failures are those of calls from before the pause, which must not extend it: a
    /// short fault would otherwise end in the longest pause if many calls were open.
    has_trial: bool,
}

impl Breaker {
    /// Admits a call, or tells how long the pause still takes. After a pause a single call is admitted as a trial, and
    /// another one each pause until a trial succeeds.
    pub(crate) fn admit(&self, now: Instant) -> Result<(), Duration> {
        let mut circuit = self.circuit();
        let Some(pause) = &mut circuit.open else { return Ok(()) };
        if now < pause.until {
            return Err(pause.until - now);
        }
        *pause = Pause { until: now + pause.length, has_trial: true, ..*pause };
        Ok(())
    }

    /// The backend answered.
    pub(crate) fn succeeded(&self) {
        let mut circuit = self.circuit();
        if circuit.failures > 0 || circuit.open.is_some() {
            *circuit = Circuit::default();
        }
    }

    /// The backend failed.
    pub(crate) fn failed(&self, now: Instant) {
        let mut circuit = self.circuit();
        circuit.failures = circuit.failures.saturating_add(1);
        circuit.open = match circuit.open {
            Some(pause) if pause.has_trial => {
                let length = (pause.length * 2).min(LONGEST_PAUSE);
                Some(Pause { until: now + length, length, has_trial: false })
            }
            Some(pause) => Some(pause),
            None if circuit.failures >= FAILURES => {
                Some(Pause { until: now + FIRST_PAUSE, length: FIRST_PAUSE, has_trial: false })
            }
            None => None,
        };
    }

    /// Whether the circuit is open.
    pub(crate) fn is_open(&self) -> bool {
        self.circuit().open.is_some()
    }

    fn circuit(&self) -> MutexGuard<'_, Circuit> {
        // No holder of the lock panics.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_in_a_row_open_the_circuit_and_a_trial_closes_it() {
        let (breaker, now) = (Breaker::default(), Instant::now());
        for _ in 1..FAILURES {
            breaker.failed(now);
            assert_eq!(breaker.admit(now), Ok(()));
        }
        breaker.failed(now);
        assert_eq!(breaker.admit(now), Err(FIRST_PAUSE));
        let after = now + FIRST_PAUSE;
        assert_eq!(breaker.admit(after), Ok(()), "a trial");
        assert!(breaker.admit(after).is_err(), "one trial at a time");
        breaker.succeeded();
        assert_eq!((breaker.admit(after), breaker.is_open()), (Ok(()), false));
    }

    #[test]
    fn a_failed_trial_doubles_the_pause_up_to_the_longest() {
        let (breaker, mut now) = (Breaker::default(), Instant::now());
        (0..FAILURES).for_each(|_| breaker.failed(now));
        let mut pauses = Vec::new();
        for _ in 0..8 {
            let pause = breaker.admit(now).expect_err("a pause");
            pauses.push(pause.as_secs());
            now += pause;
            assert_eq!(breaker.admit(now), Ok(()));
            breaker.failed(now);
        }
        assert_eq!(pauses, [2, 4, 8, 16, 32, 60, 60, 60]);
    }

    #[test]
    fn failures_of_calls_from_before_the_pause_do_not_extend_it() {
        let (breaker, now) = (Breaker::default(), Instant::now());
        (0..FAILURES + 20).for_each(|_| breaker.failed(now));
        assert_eq!(breaker.admit(now), Err(FIRST_PAUSE));
    }

    #[test]
    fn a_success_between_failures_keeps_the_circuit_closed() {
        let (breaker, now) = (Breaker::default(), Instant::now());
        for _ in 0..3 {
            (1..FAILURES).for_each(|_| breaker.failed(now));
            breaker.succeeded();
        }
        assert_eq!(breaker.admit(now), Ok(()));
    }
}
