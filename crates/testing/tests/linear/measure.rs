//! Measures the cost of a conversion, and the growth of the cost per byte with the input size.

use std::sync::LazyLock;
use std::time::{Duration, Instant};

use interlingua::dialects::{Dialect, Options};
use interlingua::json::Output;
use interlingua::ledger::Report;
use interlingua::pipe::Pipe;
use interlingua_testing::counts;

use super::cases::{Case, DAMAGED, DEEP, RECORD, Side, Way};

/// How many times longer the long input is.
pub(super) const LONGER: usize = 16;
/// The minimum time for the short input, unless its shape has a limit.
const SHORT: Duration = Duration::from_millis(8);
/// The minimum CPU time of a measurement: the clock of a thread may lag by four milliseconds.
const FIGURE: Duration = Duration::from_millis(40);

/// The growth of each cost per byte when the input is sixteen times as long.
pub(super) struct Growth {
    elements: usize,
    time: f64,
    asked: f64,
    written: f64,
    /// The long input was not read to its end.
    stopped: bool,
}

impl Growth {
    pub(super) fn worst(&self) -> f64 {
        self.time.max(self.asked).max(self.written)
    }
}

impl std::fmt::Display for Growth {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Growth { elements, time, asked, written, stopped } = self;
        let (most, least) = (elements * LONGER, if *stopped { "at least " } else { "" });
        write!(f, "from {elements} to {most} elements a byte takes {least}{time:.1} times as long")?;
        write!(f, ", asks for {asked:.1} times the memory and becomes {written:.1} times the bytes")
    }
}

impl Case {
    /// Measures the shape with a target. If the growth exceeds `enough`, the long input need not be read to its end.
    pub(super) fn growth(&self, to: Side, enough: f64) -> Growth {
        let (elements, short) = self.short(to);
        let long = self.input(elements * LONGER);
        let times = long.len() as f64 / short.len() as f64;
        let before = self.cost(&short, to, None);
        let enough = Duration::from_secs_f64(before.seconds * times * enough).max(FIGURE);
        let after = self.cost(&long, to, (!full()).then_some(enough));
        // The first kilobytes are buffers and heads, so smaller values are rounded up.
        let growth = |before: f64, after: f64| after / before.max(4096.0) / times;
        Growth {
            elements,
            time: after.seconds / before.seconds / times,
            asked: growth(before.asked, after.asked),
            written: growth(before.written, after.written),
            stopped: after.stopped,
        }
    }

    /// An input that takes long enough to be measured, and its number of elements.
    fn short(&self, to: Side) -> (usize, Vec<u8>) {
        let mut elements = 16;
        loop {
            let input = self.input(elements);
            let time = || {
                let start = Instant::now();
                self.check(&convert(&input, self, to, None), to);
                start.elapsed()
            };
            // Three times, because a single run may have been interrupted.
            if elements * 2 > self.most || (0..3).all(|_| time() > SHORT) {
                return (elements, input);
            }
            elements *= 2;
        }
    }

    fn input(&self, elements: usize) -> Vec<u8> {
        let input = (self.make)(elements);
        if self.way != Way::ThroughRecord {
            return input;
        }
        let mut record = Vec::new();
        let mut pipe = pipe(self.from, RECORD);
        pipe.push(&input, &mut record);
        pipe.finish(&mut record);
        record
    }

    /// The input must be valid in its dialect, otherwise the measurement is meaningless.
    fn check(&self, run: &Run, to: Side) {
        let report = run.report.as_ref().expect("it was not stopped");
        assert!(report.adds_up(), "{}: the books do not add up", self.title(to));
        let sound = report.problems.is_empty() || [DAMAGED, DEEP].contains(&self.shape);
        assert!(sound, "{}: {:?}", self.title(to), report.problems);
    }

    /// Converts the input repeatedly until the measurement is precise enough, or until it clearly takes too long.
    fn cost(&self, input: &[u8], to: Side, enough: Option<Duration>) -> Cost {
        let clock = Clock::start();
        let (mut runs, mut asked, mut written, mut stopped) = (0, 0, 0, false);
        while runs == 0 || (!stopped && clock.elapsed() < FIGURE) {
            let run = convert(input, self, to, enough);
            runs += 1;
            asked += run.asked;
            written += run.written;
            stopped = run.report.is_none();
        }
        let each = 1.0 / f64::from(runs);
        Cost {
            seconds: clock.elapsed().as_secs_f64() * each,
            asked: asked as f64 * each,
            written: written as f64 * each,
            stopped,
        }
    }
}

/// The average cost of a conversion.
struct Cost {
    seconds: f64,
    asked: f64,
    written: f64,
    stopped: bool,
}

/// One conversion.
pub(super) struct Run {
    /// Bytes allocated.
    asked: u64,
    pub(super) written: u64,
    /// `None` if the run was stopped.
    report: Option<Report>,
}

/// Converts the input once; stops when the thread has run for longer than `enough`.
pub(super) fn convert(input: &[u8], case: &Case, to: Side, enough: Option<Duration>) -> Run {
    let before = counts().asked;
    let (wall, clock) = (Instant::now(), Clock::start());
    let mut out = Discard(0);
    let mut pipe = pipe(case.source(), to);
    let mut stopped = false;
    for piece in input.chunks(if case.way == Way::InPieces { 16 } else { 16 << 10 }) {
        pipe.push(piece, &mut out);
        // The wall clock is cheap to read and never behind the thread clock.
        stopped = enough.is_some_and(|enough| wall.elapsed() > enough && clock.elapsed() > enough);
        if stopped {
            break;
        }
    }
    let report = (!stopped).then(|| pipe.finish(&mut out));
    Run { asked: counts().asked - before, written: out.0, report }
}

fn pipe(from: Side, to: Side) -> Pipe {
    let dialect = |name| Dialect::named(name).expect("registered");
    Pipe::new((dialect(from.0), from.1), (dialect(to.0), to.1), &Options::default()).expect("both registered")
}

/// The CPU time of this thread. The wall clock would include other threads; it is used only where the system offers no
/// thread clock.
struct Clock(Duration);

impl Clock {
    fn start() -> Self {
        Self(Self::now())
    }

    fn elapsed(&self) -> Duration {
        Self::now().saturating_sub(self.0)
    }

    fn now() -> Duration {
        static START: LazyLock<Instant> = LazyLock::new(Instant::now);
        let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
        let nanoseconds = told.and_then(|text| text.split(' ').next()?.parse().ok());
        nanoseconds.map_or_else(|| START.elapsed(), Duration::from_nanos)
    }
}

/// Counts the written bytes and drops them.
struct Discard(u64);

impl Output for Discard {
    fn write(&mut self, bytes: &[u8]) {
        self.0 += bytes.len() as u64;
    }
}

pub(super) fn full() -> bool {
    std::env::var_os("INTERLINGUA_FULL").is_some()
}
