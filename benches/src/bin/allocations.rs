//! `cargo xtask bench`, second part: counts the allocations of each contestant.
//!
//! The figures do not depend on the machine. Of a log or a stream only the middle is counted, because the first pieces
//! fill buffers that are reused.

use std::sync::LazyLock;
use std::time::Instant;

use interlingua::dialects::Role;
use interlingua::json::Output;
use interlingua::pipe::{Buffers, Pipe};
use interlingua_bench::baseline::{SERDE, serde_bytes};
use interlingua_bench::corpus::Log;
use interlingua_bench::run::{Discard, Side, convert, convert_body, pipe, side};
use interlingua_bench::wire::{Call, Stream, answers, requests, streams};
use interlingua_testing::generate::logs::{LOGS, LogShape};
use interlingua_testing::{Counting, counts, restart};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn main() {
    println!("### Allocations\n\n| | ours | {SERDE} |\n|---|---:|---:|");
    let record = side("record", Role::Log);
    for shape in LOGS {
        let native = side(shape.dialect, Role::Log);
        let log = Log::generated(shape, 3_000);
        let mut as_record = Vec::new();
        convert(native, record, log.text.as_bytes(), &mut as_record);
        let documents = log.documents();
        let theirs = serde_allocations(&documents) * documents.len() as f64 / 3_000.0;
        for (from, to, bytes) in [(native, record, log.text.as_bytes()), (record, native, &as_record)] {
            let ours = middle_third(from, to, bytes) as f64 / 1_000.0;
            row(&format!("a piece of {}, {} to {}", shape.name(), from.0.name, to.0.name), ours, theirs);
        }
    }
    for call in streams() {
        // Reasoning comes first, then the text, then the call; each is long enough to be cut at both ends.
        let count = call.input.events.len();
        for (what, first, last) in [
            ("a piece of a thought", 100, 400),
            ("a piece of text", count / 2, count / 2 + 500),
            ("a piece of arguments", count - 200, count - 50),
        ] {
            // Gemini's calls arrive complete.
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
    memory(std::env::args().any(|argument| argument == "--smoke"));
}

/// The peak memory while logs of several lengths are converted to a record and back, and the time per megabyte.
fn memory(smoke: bool) {
    let sizes: [u64; 4] = if smoke { [1, 1, 2, 2] } else { [25, 50, 100, 200] };
    println!("### Memory and length\n");
    println!(
        "Kilobytes held at most while a generated log of so many MB goes to a record and back, piece by piece, and \
         milliseconds for each MB of it.\n"
    );
    let head = sizes.map(|size| format!(" {size} MB: there | back | ms |")).concat();
    println!("| |{head}\n|---|{}", "---:|".repeat(12));
    for shape in LOGS {
        let mut row = format!("| {} |", shape.name());
        for size in sizes {
            let [there, back] = stream(shape, size << 20);
            let each = |leg: &Leg| leg.seconds * 1e3 / size as f64;
            row += &format!(
                " {} | {} | {:.1} + {:.1} |",
                there.held >> 10,
                back.held >> 10,
                each(&there),
                each(&back)
            );
        }
        println!("{row}");
    }
    println!();
}

/// One of two conversions that run alternately.
struct Leg {
    /// `None` after the end.
    pipe: Option<Pipe>,
    /// The memory held now, and the peak.
    own: i64,
    held: i64,
    seconds: f64,
}

impl Leg {
    fn new(from: Side, to: Side) -> Self {
        let before = counts().live;
        let pipe = Some(pipe(from, to));
        Self { pipe, own: counts().live - before, held: 0, seconds: 0.0 }
    }

    fn push(&mut self, bytes: &[u8], out: &mut dyn Output) {
        self.run(|pipe| pipe.iter_mut().for_each(|pipe| pipe.push(bytes, out)));
    }

    fn finish(&mut self, last: &[u8], out: &mut dyn Output) {
        self.run(|pipe| drop(pipe.take().map(|pipe| pipe.finish_with(last, out))));
    }

    fn run(&mut self, work: impl FnOnce(&mut Option<Pipe>)) {
        restart();
        let (before, start) = (counts().live, ran());
        work(&mut self.pipe);
        self.seconds += ran() - start;
        self.held = self.held.max(self.own + counts().peak - before);
        self.own += counts().live - before;
    }
}

/// The CPU time of this thread in seconds, which excludes other threads.
fn ran() -> f64 {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanoseconds = told.and_then(|text| text.split(' ').next()?.parse::<f64>().ok());
    nanoseconds.map_or_else(|| START.elapsed().as_secs_f64(), |nanoseconds| nanoseconds / 1e9)
}

/// Converts a log of this many bytes to a record, and the record back to a log.
fn stream(shape: &LogShape, size: u64) -> [Leg; 2] {
    let (native, record) = (side(shape.dialect, Role::Log), side("record", Role::Log));
    let (mut there, mut back) = (Leg::new(native, record), Leg::new(record, native));
    // The output buffer of the first conversion is not counted as memory of either.
    let (mut text, mut out) = (Vec::new(), Vec::with_capacity(4 << 20));
    let (mut number, mut done) = (0, 0);
    while done < size {
        text.clear();
        while text.len() < 64 << 10 {
            shape.piece(number, &mut text);
            number += 1;
        }
        done += text.len() as u64;
        out.clear();
        there.push(&text, &mut out);
        back.push(&out, &mut Discard);
    }
    text.clear();
    shape.tail(&mut text);
    out.clear();
    there.finish(&text, &mut out);
    back.finish(&out, &mut Discard);
    [there, back]
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
