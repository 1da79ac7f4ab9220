//! `cargo xtask bench`: single thread, best of many rounds, every contestant on the same bytes in the same run.
//!
//! Prints a Markdown table. `INTERLINGUA_CORPUS` names a folder with real logs; without it they are generated.
//! `--smoke` runs each contestant once, to see that the bench itself stages.

use std::fmt::Write as _;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use interlingua::dialects::{Dialect, Options, Plane, Role};
use interlingua::json::Output;
use interlingua::pipe::Pipe;
use interlingua::tape::{Limits, TapeBuf};
use interlingua_limits::generate;

fn main() {
    let rounds = if std::env::args().any(|argument| argument == "--smoke") { 1 } else { 40 };
    println!("{}\n", machine());
    for dialect in ["claude-code", "codex"].into_iter().filter_map(Dialect::named) {
        log(dialect, rounds);
    }
    request(rounds);
}

// ---- what is measured ------------------------------------------------------------------------------------------------

fn log(dialect: &'static Dialect, rounds: u32) {
    let Some(source) = logs(dialect) else { return };
    let record = Dialect::named("record").expect("registered");
    let (log, record) = ((dialect, Role::Log), (record, Role::Log));
    let mut as_record = Vec::new();
    convert(log, record, &source.bytes, &mut as_record);
    let lines: Vec<&str> = std::str::from_utf8(&source.bytes).expect("text").lines().collect();
    println!("### `{}`: {}, {} lines\n", dialect.name, source.name, lines.len());
    let mut buf = TapeBuf::default();
    let mut table = Table::new(source.bytes.len(), rounds, "log to record");
    table.contest(&mut [
        ("log to record", &mut || convert(log, record, &source.bytes, &mut Discard)),
        ("sonic-rs `Value`, parse + serialise", &mut || {
            for line in &lines {
                let value: sonic_rs::Value = sonic_rs::from_str(line).expect("JSON");
                black_box(sonic_rs::to_vec(&value).expect("JSON"));
            }
        }),
        ("serde_json `Value`, parse + serialise", &mut || {
            for line in &lines {
                let value: serde_json::Value = serde_json::from_str(line).expect("JSON");
                black_box(serde_json::to_vec(&value).expect("JSON"));
            }
        }),
        ("the tape alone", &mut || {
            for line in &lines {
                black_box(buf.parse(line, &Limits::default()).expect("JSON").leaves());
            }
        }),
        ("record to log (counted in bytes of the log)", &mut || {
            convert(record, log, &as_record, &mut Discard);
        }),
    ]);
    table.print_throughput();
}

fn request(rounds: u32) {
    let (Some(anthropic), Some(openai)) = (Dialect::named("anthropic"), Dialect::named("openai-chat")) else {
        return;
    };
    let (anthropic, openai) = ((anthropic, Role::Request), (openai, Role::Request));
    let ours = generate::anthropic_request(55_000);
    let mut theirs = Vec::new();
    convert(anthropic, openai, &ours, &mut theirs);
    for (name, from, to, bytes) in [
        ("anthropic to openai-chat", anthropic, openai, &ours),
        ("openai-chat to anthropic", openai, anthropic, &theirs),
    ] {
        println!("### A request of {} KB, {name}\n", bytes.len() / 1000);
        let mut table = Table::new(bytes.len(), rounds * 10, name);
        table.contest(&mut [
            (name, &mut || convert(from, to, bytes, &mut Discard)),
            ("serde_json `Value`, parse + serialise", &mut || {
                let value: serde_json::Value = serde_json::from_slice(bytes).expect("JSON");
                black_box(serde_json::to_vec(&value).expect("JSON"));
            }),
        ]);
        table.print_time();
    }
}

fn convert(from: (&Dialect, Role), to: (&Dialect, Role), bytes: &[u8], out: &mut dyn Output) {
    let mut pipe = Pipe::new(from, to, &Options::default()).expect("registered");
    let mut chunks = bytes.chunks(64 << 10);
    let last = chunks.next_back().unwrap_or_default();
    for chunk in chunks {
        pipe.push(chunk, out);
    }
    black_box(pipe.finish_with(last, out).leaves);
}

struct Discard;

impl Output for Discard {
    fn write(&mut self, bytes: &[u8]) {
        black_box(bytes.len());
    }
}

// ---- tables ----------------------------------------------------------------------------------------------------------

type Contestant<'c> = (&'c str, &'c mut dyn FnMut());

struct Table {
    bytes: usize,
    rounds: u32,
    /// The row that the others are compared with.
    us: &'static str,
    rows: Vec<(String, Duration)>,
}

impl Table {
    fn new(bytes: usize, rounds: u32, us: &'static str) -> Self {
        Self { bytes, rounds, us, rows: Vec::new() }
    }

    /// Runs all of them in turn, round after round, so that a busy moment hits everyone.
    fn contest(&mut self, contestants: &mut [Contestant<'_>]) {
        self.rows = contestants.iter().map(|(name, _)| ((*name).to_owned(), Duration::MAX)).collect();
        for _ in 0..self.rounds {
            for ((_, run), (_, best)) in contestants.iter_mut().zip(&mut self.rows) {
                let start = Instant::now();
                run();
                *best = start.elapsed().min(*best);
            }
        }
    }

    fn own(&self) -> f64 {
        self.rows.iter().find(|(name, _)| name == self.us).map_or(f64::NAN, |(_, best)| best.as_secs_f64())
    }

    fn print_throughput(&self) {
        let mut text = String::from("| | MB/s | ours is |\n|---|---:|---:|\n");
        for (name, best) in &self.rows {
            let seconds = best.as_secs_f64();
            let speed = self.bytes as f64 / seconds / 1e6;
            let _ = writeln!(text, "| {name} | {speed:.0} | {:.2}x as fast |", seconds / self.own());
        }
        println!("{text}");
    }

    fn print_time(&self) {
        let mut text = String::from("| | µs | ours takes |\n|---|---:|---:|\n");
        for (name, best) in &self.rows {
            let seconds = best.as_secs_f64();
            let _ =
                writeln!(text, "| {name} | {:.1} | {:.2}x the time |", seconds * 1e6, self.own() / seconds);
        }
        println!("{text}");
    }
}

// ---- input and machine -----------------------------------------------------------------------------------------------

struct Source {
    name: String,
    bytes: Vec<u8>,
}

/// Real logs of that dialect, or generated ones where we know how.
fn logs(dialect: &'static Dialect) -> Option<Source> {
    let mut source = Source { name: String::new(), bytes: Vec::new() };
    let mut files = 0;
    if let Some(corpus) = std::env::var_os("INTERLINGUA_CORPUS") {
        // Whole sessions if the corpus keeps them apart from captures of single calls.
        let logs = Path::new(&corpus).join("logs");
        for path in jsonl(if logs.is_dir() { &logs } else { Path::new(&corpus) }) {
            let bytes = std::fs::read(&path).expect("readable");
            let head = &bytes[..bytes.len().min(interlingua::sniff::HEAD)];
            let guess = interlingua::sniff::sniff(head, head.len() == bytes.len());
            if guess.is_some_and(|guess| guess.dialect.name == dialect.name && dialect.plane == Plane::Log) {
                files += 1;
                source.bytes.extend_from_slice(&bytes);
            }
        }
    }
    if files > 0 {
        source.name = format!("{files} real logs, {:.1} MB", source.bytes.len() as f64 / 1e6);
        return Some(source);
    }
    if dialect.name != "claude-code" {
        return None;
    }
    (0..3_000).for_each(|number| generate::claude_line(number, &mut source.bytes));
    source.name = format!("a generated log, {:.1} MB", source.bytes.len() as f64 / 1e6);
    Some(source)
}

fn jsonl(root: &Path) -> Vec<PathBuf> {
    let (mut folders, mut files) = (vec![root.to_owned()], Vec::new());
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

fn machine() -> String {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let cpu = read("/proc/cpuinfo")
        .lines()
        .find_map(|line| {
            line.strip_prefix("model name").map(|name| name.trim_matches([' ', '\t', ':']).to_owned())
        })
        .unwrap_or_else(|| "an unknown processor".to_owned());
    let load = read("/proc/loadavg").split(' ').next().unwrap_or("unknown").to_owned();
    format!("One thread on {cpu}; load average {load} when it began; best of many rounds, all rows in turn.")
}
