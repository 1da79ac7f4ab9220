//! `cargo xtask bench`: single thread, best of many rounds, every contestant on the same bytes in the same run.
//!
//! Prints Markdown tables. `INTERLINGUA_CORPUS` names a folder with real logs, which are measured in addition to
//! generated logs. `--smoke` runs each contestant once, to check that the bench itself works. Allocations are counted
//! by the other program of this package, `allocations`.

use std::hint::black_box;

use interlingua::dialects::{Dialect, Role};
use interlingua::pipe::Buffers;
use interlingua::tape::{Limits, TapeBuf};
use interlingua_bench::baseline::{SERDE, SONIC, serde, serde_bytes, sonic};
use interlingua_bench::corpus::{Corpus, Log, REAL_LOGS};
use interlingua_bench::run::{Discard, convert, convert_body, convert_events, side};
use interlingua_bench::table::{Times, pair_head};
use interlingua_bench::wire::{Call, answers, requests, streams};
use interlingua_testing::generate::logs::LOGS;

fn main() {
    let smoke = std::env::args().any(|argument| argument == "--smoke");
    // Short rounds, because on a busy machine long rounds are always interrupted.
    let (rounds, lines) = if smoke { (1, 300) } else { (100, 1_000) };
    println!("{}\n", machine());
    let mut corpus = Corpus::find();
    if let Some(left_out) = corpus.left_out() {
        println!("{left_out}\n");
    }
    for dialect in REAL_LOGS.into_iter().filter_map(Dialect::named) {
        if let Some(log) = corpus.take(dialect) {
            measure_real(dialect, &log, rounds);
        }
    }
    measure_logs(lines, rounds);
    measure_streams(rounds);
    measure_answers(rounds);
    measure_requests(rounds);
}

const OURS: &str = "ours";
const TO_RECORD: &str = "log to record";
const FROM_RECORD: &str = "record to log";
const TAPE: &str = "the tape alone";

/// Measures every log dialect, in each of its forms.
fn measure_logs(pieces: u64, rounds: u32) {
    println!("### Logs of about 1 MB, generated\n");
    println!(
        "In MB/s of the log; the baselines read and write its documents, and `x` is how many times as fast as \
         sonic-rs ours is.\n"
    );
    println!("| | log to record | x | record to log | x | sonic-rs | serde_json | the tape alone |");
    println!("|---|---:|---:|---:|---:|---:|---:|---:|");
    for shape in LOGS {
        let dialect = Dialect::named(shape.dialect).expect("registered");
        let log = Log::generated(shape, pieces);
        let (times, comes_back) = contest(dialect, &log, rounds);
        let name = if comes_back { shape.name() } else { format!("{}: does not come back!", shape.name()) };
        let speed = |who| times.speed(who, log.text.len());
        let ratio = |who| speed(who) / speed(SONIC);
        println!(
            "| {name} | {:.0} | {:.2} | {:.0} | {:.2} | {:.0} | {:.0} | {:.0} |",
            speed(TO_RECORD),
            ratio(TO_RECORD),
            speed(FROM_RECORD),
            ratio(FROM_RECORD),
            speed(SONIC),
            speed(SERDE),
            speed(TAPE),
        );
    }
    println!();
}

fn measure_real(dialect: &'static Dialect, log: &Log, rounds: u32) {
    let (times, comes_back) = contest(dialect, log, rounds);
    println!("### `{}`: {}\n", dialect.name, log.name);
    if !comes_back {
        println!(
            "It did not come back from its record as it was, so the way back is not what it should be.\n"
        );
    }
    println!("{}", times.throughput(log.text.len(), &[TO_RECORD, SONIC, SERDE, TAPE]));
    println!("The way back, counted in bytes of the log; the baselines read and write the log.\n");
    println!("{}", times.throughput(log.text.len(), &[FROM_RECORD, SONIC, SERDE]));
}

/// Measures a log against the baselines, and checks that it is restored from its record.
fn contest(dialect: &'static Dialect, log: &Log, rounds: u32) -> (Times, bool) {
    let (native, record) = ((dialect, Role::Log), side("record", Role::Log));
    let bytes = log.text.as_bytes();
    let mut as_record = Vec::new();
    convert(native, record, bytes, &mut as_record);
    let mut again = Vec::new();
    convert(record, native, &as_record, &mut again);
    let documents = log.documents();
    let mut tape = TapeBuf::default();
    let times = Times::contest(
        rounds,
        &mut [
            (TO_RECORD, &mut || convert(native, record, bytes, &mut Discard)),
            (SONIC, &mut || documents.iter().for_each(|document| _ = sonic(document))),
            (SERDE, &mut || documents.iter().for_each(|document| _ = serde(document))),
            (TAPE, &mut || {
                for document in &documents {
                    black_box(tape.parse(document, &Limits::default()).map_or(0, |tape| tape.leaves()));
                }
            }),
            (FROM_RECORD, &mut || convert(record, native, &as_record, &mut Discard)),
        ],
    );
    (times, again == bytes)
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

/// Each response has a separate conversion. A single response is too short to be timed.
fn measure_answers(rounds: u32) {
    println!("### Short answers of about 600 bytes\n\n{}", pair_head("an answer", SERDE));
    measure_bodies(&answers(), rounds, 100);
}

/// Several requests in a row, because the work before has filled the caches with its own data.
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
