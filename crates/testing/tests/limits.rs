//! Memory is bounded by the largest frame plus a constant, never by the session; a line in steady state allocates
//! nothing.
//!
//! `INTERLINGUA_FULL=1` streams 2 GB instead of 64 MB. A log dialect is measured as soon as it is registered and has
//! fixtures; a dialect with a line in [`LINES`] is also tested with a line of 70 MB.

#![allow(missing_docs, reason = "not published")]

use std::path::{Path, PathBuf};

use interlingua::dialects::{DIALECTS, Dialect, Options, Plane, Role};
use interlingua::json::Output;
use interlingua::ledger::Report;
use interlingua::pipe::Pipe;
use interlingua_testing::generate::logs::LOGS;
use interlingua_testing::generate::{self, claude_line};
use interlingua_testing::{Counting, counts, restart};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The memory that a conversion may use beside its largest line.
const CEILING: i64 = 64 << 20;
const CHUNK: usize = 64 << 10;
const LONG_LINE: usize = 70 << 20;

/// A line of a dialect, split where a long JSON string can be inserted, and where any JSON value can be inserted.
const LINES: &[(&str, [&str; 2], [&str; 2])] = &[
    (
        "claude-code",
        [r#"{"type":"user","uuid":"u","message":{"role":"user","content":"#, "}}\n"],
        [r#"{"type":"user","uuid":"u","toolUseResult":"#, "}\n"],
    ),
    (
        "codex",
        [
            r#"{"timestamp":"2026-11-15T00:00:00.000Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"#,
            "}]}}\n",
        ],
        [
            r#"{"timestamp":"2026-11-15T00:00:00.000Z","type":"event_msg","payload":{"type":"other","value":"#,
            "}}\n",
        ],
    ),
];

#[test]
fn a_long_generated_log_needs_little_memory_and_no_allocation_per_line() {
    let size: u64 = if full() { 2 << 30 } else { 64 << 20 };
    let mut measure = Measure::new(log("claude-code"), record());
    let mut lines = Vec::with_capacity(CHUNK * 2);
    let mut number = 0u64;
    while measure.bytes_in < size {
        while lines.len() < CHUNK {
            claude_line(number, &mut lines);
            number += 1;
            measure.lines += 1;
        }
        measure.push(&lines[..CHUNK]);
        lines.drain(..CHUNK);
    }
    measure.push(&lines);
    let report = measure.finish();
    assert!(report.adds_up() && report.lost == 0 && report.problems.is_empty(), "{:?}", report.problems);
}

/// The memory of a conversion of ordinary pieces, however many: the largest piece, and the call and item ids that may
/// be referenced again. An id is stored as a key of 16 bytes, because a shorter key could be made to collide.
const ORDINARY: i64 = 3 << 20;

/// Dialects that remember eight bytes of a hash for each text, and the ids of messages: such a log may write its
/// history again.
const REMEMBERS: &[&str] = &["gemini-cli"];

#[test]
fn a_long_log_of_any_agent_needs_little_memory_there_and_back() {
    let size: u64 = if full() { 256 << 20 } else { 8 << 20 };
    for shape in LOGS {
        let mut there = Measure::new(log(shape.dialect), record());
        let mut back = Measure::new(record(), log(shape.dialect));
        let (mut text, mut between) = (Vec::new(), Vec::with_capacity(4 << 20));
        let (mut number, mut own) = (0, Own::default());
        while there.bytes_in < size {
            text.clear();
            while text.len() < CHUNK {
                shape.piece(number, &mut text);
                number += 1;
            }
            there.bytes_in += text.len() as u64;
            between.clear();
            own.run(|| there.pipe.push(&text, &mut between));
            own.run(|| back.pipe.push(&between, &mut back.out));
        }
        let allowed = if REMEMBERS.contains(&shape.dialect) { 8 * ORDINARY } else { ORDINARY };
        assert!(own.most < allowed, "{}: {} KB held", shape.name(), own.most >> 10);
        println!("{}: {} MB there and back, {} KB held", shape.name(), there.bytes_in >> 20, own.most >> 10);
    }
}

/// The memory held between runs, and the peak.
#[derive(Default)]
struct Own {
    live: i64,
    most: i64,
}

impl Own {
    fn run(&mut self, work: impl FnOnce()) {
        restart();
        let before = counts().live;
        work();
        self.most = self.most.max(self.live + counts().peak - before);
        self.live += counts().live - before;
    }
}

/// The tables of known responses grow: two tables double once or twice within a thousand lines. Apart from that, a
/// plain line allocates nothing.
const GROWTH: u64 = 4;

/// Every few lines of a fixture, but only one in hundreds of a real log, change the session or hold a call that is
/// remembered until its result. These lines allocate; a thousand lines of fixtures make at most this many allocations.
/// Plain lines allocate nothing, as the test of the long log above shows. Calls without an id are the most expensive:
/// each gets a generated id and is parsed again when its entry is rebuilt.
const MOST_CALLS: u64 = 4_000;

/// The first line of an older file of Goose begins a session without an id, so each repetition of this fixture is a session
/// with a record of its own. A new record makes this many allocations.
const ONE_SESSION_EACH: (&str, u64) = ("goose `lines.jsonl`", 250);

#[test]
fn every_log_dialect_allocates_little_in_steady_state() {
    for &dialect in DIALECTS.iter().filter(|dialect| dialect.plane == Plane::Log) {
        for fixture in fixtures(dialect) {
            let text = std::fs::read(&fixture).expect("readable");
            let mut measure = Measure::new((dialect, Role::Log), record());
            let file = fixture.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let lines = text.split(|&byte| byte == b'\n').count();
            for _ in 0..=3_000 / lines {
                for piece in text.chunks(CHUNK) {
                    measure.push(piece);
                }
                measure.lines += lines;
            }
            (measure.repeats, measure.name) = (true, format!("{} `{file}`", dialect.name));
            let calls = measure.steady_calls;
            let (name, of_session) = ONE_SESSION_EACH;
            let sessions = if measure.name == name { 1000 / lines as u64 } else { 0 };
            let most = MOST_CALLS + of_session * sessions;
            assert!(calls <= most, "{}: {calls} while lines 1000 to 2000 passed", measure.name);
            let report = measure.finish();
            assert!(report.adds_up() && report.lost == 0, "{}", fixture.display());
        }
    }
}

/// The APIs with their own reader and writer code.
const WIRES: [&str; 4] = ["anthropic", "openai-chat", "openai-responses", "gemini"];

/// Reasoning, text and arguments in deltas, from each API to each other API. Buffers of remembered content double once
/// or twice during the measurement; apart from that, a delta allocates nothing.
#[test]
fn a_stream_allocates_nothing_per_event_in_steady_state() {
    let side = |name| (Dialect::named(name).expect("registered"), Role::Stream);
    let generated = generate::anthropic_stream(2_000);
    for from in WIRES.map(side) {
        let mut events = generated.clone();
        if from.0.name != WIRES[0] {
            let mut translated = Vec::new();
            let mut pipe = Pipe::new(side(WIRES[0]), from, &Options::default()).expect("both registered");
            pipe.push(generated.concat().as_bytes(), &mut translated);
            let translated = String::from_utf8(translated).expect("text");
            events = translated.split_inclusive("\n\n").map(str::to_owned).collect();
        }
        for to in WIRES.map(side).into_iter().filter(|to| to.0.name != from.0.name) {
            let mut pipe = Pipe::new(from, to, &Options::default()).expect("both registered");
            let mut out = Vec::new();
            let mut asked = Vec::new();
            for event in &events {
                out.clear();
                let before = counts().calls;
                pipe.push(event.as_bytes(), &mut out);
                asked.push(counts().calls - before);
            }
            let count = events.len();
            // Gemini's calls arrive complete.
            let arguments = if from.0.name == "gemini" { 0..0 } else { count - 200..count - 50 };
            let windows =
                [("a thought", 100..400), ("a text", count / 2..count / 2 + 500), ("arguments", arguments)];
            for (what, window) in windows {
                let asked: u64 = asked[window].iter().sum();
                // The Responses API repeats all content at the end, and Gemini's citations refer to positions in the
                // whole text; all APIs remember reasoning.
                let remembering = [from, to].iter().filter(|side| WIRES[2..].contains(&side.0.name)).count();
                let buffers = remembering as u64 + u64::from(what == "a thought");
                assert!(
                    asked <= 2 * buffers,
                    "{} to {}: {asked} allocations in pieces of {what}",
                    from.0.name,
                    to.0.name
                );
            }
        }
    }
}

#[test]
fn one_long_string_needs_itself_and_little_more() {
    each_line(|dialect, [open, close], _| {
        long_line(dialect, &format!("{open}\""), b"0123456789abcdef", &format!("\"{close}"));
    });
}

#[test]
fn one_long_string_of_escapes_needs_itself_and_little_more() {
    each_line(|dialect, [open, close], _| {
        long_line(dialect, &format!("{open}\""), br#"\n\"\u00e9\\\ud83e\udd80\t"#, &format!("\"{close}"));
    });
}

#[test]
fn one_line_of_very_many_values_needs_itself_and_little_more() {
    each_line(|dialect, _, [open, close]| {
        long_line(dialect, &format!("{open}["), br#"0,{"a":1},"b","#, &format!("0]{close}"));
    });
}

#[test]
fn one_line_of_very_deep_nesting_needs_itself_and_little_more() {
    each_line(|dialect, _, [open, close]| long_line(dialect, open, b"[", &format!("0]{close}")));
}

#[test]
fn one_line_that_is_not_text_needs_itself_and_little_more() {
    each_line(|dialect, [open, _], _| long_line(dialect, open, b"\xff\xfe\x00\x01", "\n"));
}

/// Restoring a long line from its record needs more memory: the entry, its kept line and the value for the hole are in
/// memory together.
#[test]
fn the_record_of_a_long_string_goes_back_in_a_few_times_its_size() {
    each_line(|dialect, [open, close], _| {
        let text =
            [open.as_bytes(), b"\"", "0123456789abcdef".repeat(1 << 20).as_bytes(), b"\"", close.as_bytes()]
                .concat();
        let mut pipe =
            Pipe::new((dialect, Role::Log), record(), &Options::default()).expect("both registered");
        let mut out = Vec::new();
        pipe.push(&text, &mut out);
        pipe.finish(&mut out);
        let mut measure = Measure::new(record(), (dialect, Role::Log));
        measure.largest = text.len() * 3;
        for piece in out.chunks(CHUNK) {
            measure.push(piece);
        }
        measure.finish();
    });
}

// ---- measuring -------------------------------------------------------------------------------------------------------

/// One measured conversion.
struct Measure {
    name: String,
    pipe: Pipe,
    out: Discard,
    bytes_in: u64,
    lines: usize,
    /// The largest line so far, which may be in memory once.
    largest: usize,
    before: i64,
    /// The peak memory of `push` and `finish`.
    peak: i64,
    /// Allocations during lines 1000 to 2000.
    steady_calls: u64,
    /// The same file is converted repeatedly.
    repeats: bool,
}

impl Measure {
    fn new(from: (&'static Dialect, Role), to: (&'static Dialect, Role)) -> Self {
        let before = counts().live;
        let pipe = Pipe::new(from, to, &Options::default()).expect("both registered");
        Self {
            name: format!("{} -> {}", from.0.name, to.0.name),
            pipe,
            out: Discard(0),
            bytes_in: 0,
            lines: 0,
            largest: 0,
            before,
            peak: 0,
            steady_calls: 0,
            repeats: false,
        }
    }

    fn push(&mut self, bytes: &[u8]) {
        self.bytes_in += bytes.len() as u64;
        restart();
        let start = counts();
        self.pipe.push(bytes, &mut self.out);
        let end = counts();
        self.peak = self.peak.max(end.peak);
        if (1_000..2_000).contains(&self.lines) {
            self.steady_calls += end.calls - start.calls;
        }
    }

    fn finish(mut self) -> Report {
        restart();
        let report = self.pipe.finish(&mut self.out);
        self.peak = self.peak.max(counts().peak);
        let held = self.peak - self.before;
        let allowed = i64::try_from(self.largest).expect("fits") + CEILING;
        assert!(held < allowed, "{}: held {} MB, allowed {} MB", self.name, held >> 20, allowed >> 20);
        if !self.repeats {
            let calls = self.steady_calls;
            assert!(calls <= GROWTH, "{}: {calls} allocations while lines 1000 to 2000 passed", self.name);
        }
        println!(
            "{}: {} MB in, {} MB out, {} KB held",
            self.name,
            self.bytes_in >> 20,
            self.out.0 >> 20,
            held >> 10
        );
        report
    }
}

/// Counts the written bytes and drops them.
struct Discard(u64);

impl Output for Discard {
    fn write(&mut self, bytes: &[u8]) {
        self.0 += bytes.len() as u64;
    }
}

/// Streams one line of 70 MB with `unit` repeated between `open` and `close`, and a few ordinary lines around it.
fn long_line(dialect: &'static Dialect, open: &str, unit: &[u8], close: &str) {
    let mut measure = Measure::new((dialect, Role::Log), record());
    let chunk = unit.repeat(CHUNK / unit.len());
    let usual =
        fixtures(dialect).first().map(|path| std::fs::read(path).expect("readable")).unwrap_or_default();
    measure.before = counts().live;
    measure.push(&usual);
    measure.push(open.as_bytes());
    while measure.bytes_in < LONG_LINE as u64 {
        measure.push(&chunk);
    }
    measure.push(close.as_bytes());
    measure.largest = usize::try_from(measure.bytes_in).expect("fits") - usual.len();
    measure.push(&usual);
    let report = measure.finish();
    assert!(report.adds_up() && report.lost == 0, "{:?}", report.lost_paths);
}

fn each_line(work: impl Fn(&'static Dialect, [&str; 2], [&str; 2])) {
    for (name, string, value) in LINES {
        if let Some(dialect) = Dialect::named(name) {
            work(dialect, *string, *value);
        }
    }
}

fn log(name: &str) -> (&'static Dialect, Role) {
    (Dialect::named(name).expect("registered"), Role::Log)
}

fn record() -> (&'static Dialect, Role) {
    log("record")
}

fn full() -> bool {
    std::env::var_os("INTERLINGUA_FULL").is_some()
}

/// The lines of a log dialect's fixtures.
fn fixtures(dialect: &Dialect) -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../interlingua/fixtures");
    let mut folders = vec![root.join(dialect.folder())];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for path in std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "jsonl") {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}
