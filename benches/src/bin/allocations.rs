//! `cargo xtask bench`, second part: how often each contestant asks for memory.
//!
//! The figures do not depend on the machine. Of what goes on (a log, a stream) the middle is counted: the first pieces
//! fill buffers that are used again.

use interlingua::dialects::{Dialect, Role};
use interlingua::pipe::Buffers;
use interlingua_bench::baseline::{SERDE, serde_bytes};
use interlingua_bench::corpus::{LOGS, Log};
use interlingua_bench::run::{Discard, Side, convert, convert_body, pipe, side};
use interlingua_bench::wire::{Call, Stream, answers, requests, streams};
use interlingua_limits::{Counting, counts};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn main() {
    println!("### Allocations\n\n| | ours | {SERDE} |\n|---|---:|---:|");
    let record = side("record", Role::Log);
    for dialect in LOGS.into_iter().filter_map(Dialect::named) {
        let log = Log::generated(dialect, 3_000);
        let mut as_record = Vec::new();
        convert((dialect, Role::Log), record, log.text.as_bytes(), &mut as_record);
        let lines = log.lines();
        let documents = &lines[lines.len() / 3..lines.len() * 2 / 3];
        let theirs = serde_allocations(documents);
        let native = (dialect, Role::Log);
        for (from, to, bytes) in [(native, record, log.text.as_bytes()), (record, native, &as_record)] {
            let ours = middle_third(from, to, bytes) as f64 / documents.len() as f64;
            row(&format!("a line of {}, {} to {}", dialect.name, from.0.name, to.0.name), ours, theirs);
        }
    }
    for call in streams() {
        // A thought comes first, then the text, then the call; each is long enough to be cut at both ends.
        let count = call.input.events.len();
        for (what, first, last) in [
            ("a piece of a thought", 100, 400),
            ("a piece of text", count / 2, count / 2 + 500),
            ("a piece of arguments", count - 200, count - 50),
        ] {
            // Gemini's calls come whole.
            if what == "a piece of arguments" && call.from.0.name == "gemini" {
                continue;
            }
            let ours = events(&call, first, last);
            let stream = Stream { events: call.input.events[first..last].to_vec() };
            let theirs = serde_allocations(&stream.documents());
            row(&format!("{what}, {}", call.name()), ours, theirs);
        }
    }
    for (what, calls) in [("a short answer", answers()), ("a request of 55 KB", requests())] {
        for call in calls {
            let mut buffers = Buffers::default();
            convert_body(call.from, call.to, &call.input, &mut buffers);
            let ours = allocations(|| drop(convert_body(call.from, call.to, &call.input, &mut buffers)));
            let theirs = allocations(|| _ = serde_bytes(&call.input));
            row(&format!("{what}, {}", call.name()), ours as f64, theirs as f64);
        }
    }
    println!();
}

fn row(what: &str, ours: f64, theirs: f64) {
    println!("| {what} | {ours:.1} | {theirs:.1} |");
}

/// Allocations per event between two events.
fn events(call: &Call<Stream>, first: usize, last: usize) -> f64 {
    let mut pipe = pipe(call.from, call.to);
    let mut out = Vec::new();
    let mut push = |event: &String| {
        out.clear();
        pipe.push(event.as_bytes(), &mut out);
    };
    call.input.events[..first].iter().for_each(&mut push);
    let asked = allocations(|| call.input.events[first..last].iter().for_each(&mut push));
    asked as f64 / (last - first) as f64
}

/// Allocations in the middle third of an input.
fn middle_third(from: Side, to: Side, bytes: &[u8]) -> u64 {
    let (first, last) = (bytes.len() / 3, bytes.len() * 2 / 3);
    let mut pipe = pipe(from, to);
    pipe.push(&bytes[..first], &mut Discard);
    allocations(|| pipe.push(&bytes[first..last], &mut Discard))
}

/// Allocations per document.
fn serde_allocations(documents: &[&str]) -> f64 {
    let asked = allocations(|| documents.iter().for_each(|document| _ = serde_bytes(document.as_bytes())));
    asked as f64 / documents.len() as f64
}

fn allocations(work: impl FnOnce()) -> u64 {
    let before = counts().calls;
    work();
    counts().calls - before
}
