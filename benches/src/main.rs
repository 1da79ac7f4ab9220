//! `cargo xtask bench`: single thread, best of many rounds, every contestant on the same bytes in the same run.
//!
//! Prints Markdown tables. `INTERLINGUA_CORPUS` names a folder with real logs, which are measured beside the generated
//! ones. `--smoke` runs each contestant once, to see that the bench itself works. Allocations are counted by the other
//! program of this package, `allocations`.

use std::hint::black_box;

use interlingua::dialects::{Dialect, Role};
use interlingua::pipe::Buffers;
use interlingua::tape::{Limits, TapeBuf};
use interlingua_bench::baseline::{SERDE, SONIC, serde, serde_bytes, sonic};
use interlingua_bench::corpus::{Corpus, LOGS, Log};
use interlingua_bench::run::{Discard, convert, convert_body, convert_events, side};
use interlingua_bench::table::{Times, pair_head};
use interlingua_bench::wire::{Call, answers, requests, streams};

fn main() {
    let smoke = std::env::args().any(|argument| argument == "--smoke");
    // Short rounds: on a busy machine only those are never interrupted.
    let (rounds, lines) = if smoke { (1, 300) } else { (100, 1_000) };
    println!("{}\n", machine());
    let mut corpus = Corpus::find();
    if let Some(left_out) = corpus.left_out() {
        println!("{left_out}\n");
    }
    for dialect in LOGS.into_iter().filter_map(Dialect::named) {
        if let Some(log) = corpus.take(dialect) {
            measure_log(dialect, &log, rounds);
        }
        measure_log(dialect, &Log::generated(dialect, lines), rounds);
    }
    measure_streams(rounds);
    measure_answers(rounds);
    measure_requests(rounds);
}

const OURS: &str = "ours";
const TO_RECORD: &str = "log to record";
const FROM_RECORD: &str = "record to log";
const TAPE: &str = "the tape alone";

fn measure_log(dialect: &'static Dialect, log: &Log, rounds: u32) {
    let (native, record) = ((dialect, Role::Log), side("record", Role::Log));
    let bytes = log.text.as_bytes();
    let mut as_record = Vec::new();
    convert(native, record, bytes, &mut as_record);
    let mut again = Vec::new();
    convert(record, native, &as_record, &mut again);
    println!("### `{}`: {}\n", dialect.name, log.name);
    if again != bytes {
        println!(
            "It did not come back from its record as it was, so the way back is not what it should be.\n"
        );
    }
    let lines = log.lines();
    let mut tape = TapeBuf::default();
    let times = Times::contest(
        rounds,
        &mut [
            (TO_RECORD, &mut || convert(native, record, bytes, &mut Discard)),
            (SONIC, &mut || lines.iter().for_each(|line| _ = sonic(line))),
            (SERDE, &mut || lines.iter().for_each(|line| _ = serde(line))),
            (TAPE, &mut || {
                for line in &lines {
                    black_box(tape.parse(line, &Limits::default()).map_or(0, |tape| tape.leaves()));
                }
            }),
            (FROM_RECORD, &mut || convert(record, native, &as_record, &mut Discard)),
        ],
    );
    println!("{}", times.throughput(bytes.len(), &[TO_RECORD, SONIC, SERDE, TAPE]));
    println!("The way back, counted in bytes of the log; the baselines read and write the log.\n");
    println!("{}", times.throughput(bytes.len(), &[FROM_RECORD, SONIC, SERDE]));
}

/// Streams are pushed event by event, as a gateway does.
fn measure_streams(rounds: u32) {
    println!("### Streams: a thought, 2,000 pieces of text and a call\n\n{}", pair_head("an event", SERDE));
    for call in streams() {
        let (events, documents) = (&call.input.events, call.input.documents());
        let mut out = Vec::new();
        let times = Times::contest(
            rounds,
            &mut [
                (OURS, &mut || convert_events(call.from, call.to, events, &mut out)),
                (SERDE, &mut || documents.iter().for_each(|document| _ = serde_bytes(document.as_bytes()))),
            ],
        );
        println!("{}", times.pair_row(&call.name(), events.len()));
    }
    println!();
}

/// Each answer has a conversion of its own. One is over too soon to be timed.
fn measure_answers(rounds: u32) {
    println!("### Short answers of about 600 bytes\n\n{}", pair_head("an answer", SERDE));
    measure_bodies(&answers(), rounds, 100);
}

/// Some in a row: what ran before has filled the caches with its own.
fn measure_requests(rounds: u32) {
    println!("### Requests of about 55 KB: 12 tools, calls and results\n\n{}", pair_head("a request", SERDE));
    measure_bodies(&requests(), rounds * 2, 8);
}

/// Each body is converted `count` times a round.
fn measure_bodies(calls: &[Call<Vec<u8>>], rounds: u32, count: usize) {
    for call in calls {
        let mut buffers = Buffers::default();
        let times = Times::contest(
            rounds,
            &mut [
                (OURS, &mut || {
                    for _ in 0..count {
                        black_box(convert_body(call.from, call.to, &call.input, &mut buffers).len());
                    }
                }),
                (SERDE, &mut || (0..count).for_each(|_| _ = serde_bytes(&call.input))),
            ],
        );
        println!("{}", times.pair_row(&call.name(), count));
    }
    println!();
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
