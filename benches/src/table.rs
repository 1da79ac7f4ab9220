//! Contests and the tables they make.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

/// Who runs, and what it does in one round.
pub type Contestant<'c> = (&'static str, &'c mut dyn FnMut());

/// What came of a contest: the best round of each.
#[derive(Debug)]
pub struct Times(Vec<(&'static str, Duration)>);

impl Times {
    /// Runs all of them in turn, round after round, so that a busy moment hits everyone.
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

    /// A table of speeds: the first row is ours, and is compared with each of the others.
    pub fn throughput(&self, bytes: usize, rows: &[&str]) -> String {
        let mut text = String::from("| | MB/s | ours is |\n|---|---:|---:|\n");
        let own = rows.first().map_or(f64::NAN, |own| self.seconds(own));
        for (at, name) in rows.iter().enumerate() {
            let seconds = self.seconds(name);
            let speed = bytes as f64 / seconds / 1e6;
            let ratio = if at == 0 { String::new() } else { format!("{:.2}x as fast", seconds / own) };
            let _ = writeln!(text, "| {name} | {speed:.0} | {ratio} |");
        }
        text
    }

    /// A table of times for one of `count` things: the first row is ours, and is compared with each of the others.
    pub fn each(&self, count: usize, what: &str) -> String {
        let mut text = format!("| | µs {what} | ours takes |\n|---|---:|---:|\n");
        let own = self.0.first().map_or(f64::NAN, |(own, _)| self.seconds(own));
        for (at, (name, best)) in self.0.iter().enumerate() {
            let each = best.as_secs_f64() * 1e6 / count as f64;
            let digits = if each < 10.0 { 2 } else { 1 };
            let ratio =
                if at == 0 { String::new() } else { format!("{:.2}x the time", own / best.as_secs_f64()) };
            let _ = writeln!(text, "| {name} | {each:.digits$} | {ratio} |");
        }
        text
    }
}
