//! Runs contests and formats their results as tables.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

/// The name of a contestant, and its work in one round.
pub type Contestant<'c> = (&'static str, &'c mut dyn FnMut());

/// The result of a contest: the best round of each contestant.
#[derive(Debug)]
pub struct Times(Vec<(&'static str, Duration)>);

impl Times {
    /// Runs all contestants alternately, round after round, so that a busy moment affects all of them.
    pub fn contest(rounds: u32, contestants: &mut [Contestant<'_>]) -> Self {
        let mut rows: Vec<_> = contestants.iter().map(|(name, _)| (*name, Duration::MAX)).collect();
        for _ in 0..rounds {
            for ((_, run), (_, best)) in contestants.iter_mut().zip(&mut rows) {
                let start = Instant::now();
                run();
                *best = start.elapsed().min(*best);
            }
        }
        Self(rows)
    }

    fn seconds(&self, name: &str) -> f64 {
        self.0.iter().find(|(known, _)| *known == name).map_or(f64::NAN, |(_, best)| best.as_secs_f64())
    }

    /// Megabytes per second.
    pub fn speed(&self, name: &str, bytes: usize) -> f64 {
        bytes as f64 / self.seconds(name) / 1e6
    }

    /// A table of speeds: the first row is ours, and is compared with each of the others.
    pub fn throughput(&self, bytes: usize, rows: &[&str]) -> String {
        let mut text = String::from("| | MB/s | ours is |\n|---|---:|---:|\n");
        let own = rows.first().map_or(f64::NAN, |own| self.seconds(own));
        for (at, name) in rows.iter().enumerate() {
            let (seconds, speed) = (self.seconds(name), self.speed(name, bytes));
            let ratio = if at == 0 { String::new() } else { format!("{:.2}x as fast", seconds / own) };
            let _ = writeln!(text, "| {name} | {speed:.0} | {ratio} |");
        }
        text
    }

    /// A table row of times for one of `count` items: ours, the baseline's, and their ratio.
    pub fn pair_row(&self, name: &str, count: usize) -> String {
        let (own, other) = match &*self.0 {
            [(_, own), (_, other), ..] => (own.as_secs_f64(), other.as_secs_f64()),
            _ => (f64::NAN, f64::NAN),
        };
        let each = |seconds: f64| {
            let each = seconds * 1e6 / count as f64;
            let digits = if each < 10.0 { 2 } else { 1 };
            format!("{each:.digits$}")
        };
        format!("| {name} | {} | {} | {:.2}x the time |", each(own), each(other), own / other)
    }
}

/// The head of a table of [`Times::pair_row`]s.
pub fn pair_head(what: &str, other: &str) -> String {
    format!("| {what} | µs | {other} | ours takes |\n|---|---:|---:|---:|")
}
