//! The baseline for large requests: one parse into a `Value` and one write of the value, with serde_json.

use std::fs;
use std::hint::black_box;
use std::time::{Duration, Instant};

use crate::BenchResult;

/// The CPU time of a parse and a write.
pub(crate) fn parse_and_write(body: &str, time: Duration) -> BenchResult<Duration> {
    let (begin, mut rounds) = (Instant::now(), 0);
    let before = cpu();
    while rounds < 10 || begin.elapsed() < time.mul_f64(0.2) {
        let value: serde_json::Value = serde_json::from_str(black_box(body))?;
        // The value is freed in the same time, as a server must do.
        black_box(serde_json::to_vec(&value)?);
        rounds += 1;
    }
    let wall = begin.elapsed();
    let used = before.and_then(|before| Some(cpu()? - before)).filter(|used| !used.is_zero());
    Ok(used.unwrap_or(wall) / rounds)
}

/// The CPU time of this thread; `None` on a system without it in `/proc`.
fn cpu() -> Option<Duration> {
    let text = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_whitespace().next()?.parse().ok().map(Duration::from_nanos)
}
