//! What a conversion costs, and how the cost of a byte grows with the input.

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
/// How long the short input takes at least, unless its shape has a limit.
const SHORT: Duration = Duration::from_millis(8);
/// How much running one figure is made of: the clock of a thread may be four milliseconds late.
const FIGURE: Duration = Duration::from_millis(40);

/// By how much each cost of a byte grows when the input is sixteen times as long.
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
    /// Measures the shape on its way to that target. If it grows by more than `enough`, the long input need not be read to
    /// its end.
    pub(super) fn growth(&self, to: Side, enough: f64) -> Growth {
        let (elements, short) = self.short(to);
        let long = self.input(elements * LONGER);
        let times = long.len() as f64 / short.len() as f64;
        let before = self.cost(&short, to, None);
        let enough = Duration::from_secs_f64(before.seconds * times * enough).max(FIGURE);
        let after = self.cost(&long, to, (!full()).then_some(enough));
        // The first kilobytes are buffers and heads, and a little of nothing is nothing.
        let growth = |before: f64, after: f64| after / before.max(4096.0) / times;
        Growth {
            elements,
            time: after.seconds / before.seconds / times,
            asked: growth(before.asked, after.asked),
            written: growth(before.written, after.written),
            stopped: after.stopped,
        }
    }

    /// An input that takes long enough to be measured, and how many elements it has.
    fn short(&self, to: Side) -> (usize, Vec<u8>) {
        let mut elements = 16;
        loop {
            let input = self.input(elements);
            let time = || {
                let start = Instant::now();
                self.check(&convert(&input, self, to, None), to);
                start.elapsed()
            };
            // Three times: each may have been interrupted.
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

    /// The shape must be one that the dialect allows, or something else is measured.
    fn check(&self, run: &Run, to: Side) {
        let report = run.report.as_ref().expect("it was not stopped");
        assert!(report.adds_up(), "{}: the books do not add up", self.title(to));
        let sound = report.problems.is_empty() || [DAMAGED, DEEP].contains(&self.shape);
        assert!(sound, "{}: {:?}", self.title(to), report.problems);
    }

    /// Converts the input as often as it takes to have a figure, or until it is clear that it takes too long.
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

/// What a conversion costs, on average.
struct Cost {
    seconds: f64,
    asked: f64,
    written: f64,
    stopped: bool,
}

/// One conversion.
pub(super) struct Run {
    /// Bytes asked of the allocator.
    asked: u64,
    pub(super) written: u64,
    /// `None` if it was stopped.
    report: Option<Report>,
}

/// Converts the input once; gives up when the thread has run for longer than `enough`.
pub(super) fn convert(input: &[u8], case: &Case, to: Side, enough: Option<Duration>) -> Run {
    let before = counts().asked;
    let (wall, clock) = (Instant::now(), Clock::start());
    let mut out = Discard(0);
    let mut pipe = pipe(case.source(), to);
    let mut stopped = false;
    for piece in input.chunks(if case.way == Way::InPieces { 16 } else { 16 << 10 }) {
        pipe.push(piece, &mut out);
        // The clock on the wall is cheap to read, and never behind that of the thread.
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

/// How long this thread has run. Others may run beside it, and the clock on the wall counts them in; where the system
/// does not tell, it must do.
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

/// Counts what is written and drops it.
struct Discard(u64);

impl Output for Discard {
    fn write(&mut self, bytes: &[u8]) {
        self.0 += bytes.len() as u64;
    }
}

fn full() -> bool {
    std::env::var_os("INTERLINGUA_FULL").is_some()
}
