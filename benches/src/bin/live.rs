//! `cargo xtask bench`, between the other two: measures the readers of running agents, frame by frame as an agent prints.
//!
//! The sessions repeat the fixtures with new ids. The baseline parses and drops the same documents. `live --count DIALECT
//! TIMES [BYTES]` reads the frames of one dialect so often and prints the numbers of frames and events; the difference of the
//! instructions of two such runs is the cost of one reading. A session of more bytes has a smaller share of frames with a
//! new shape.

use std::hint::black_box;

use interlingua::dialects::{DIALECTS, Dialect, Options, Plane, Role};
use interlingua::pipe::EventReader;
use interlingua_bench::baseline::{SERDE, serde_bytes};
use interlingua_bench::table::Times;
use interlingua_testing::generate::live::sessions;

const READ: &str = "read";
const UNIVERSAL: &str = "to universal events";

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, flag, name, times, size @ ..] = &arguments[..]
        && flag == "--count"
    {
        let size = size.first().map_or(200_000, |size| size.parse().expect("a number"));
        return count(name, times.parse().expect("a number"), size);
    }
    let smoke = arguments.iter().any(|argument| argument == "--smoke");
    let (rounds, size) = if smoke { (1, 20_000) } else { (40, 400_000) };
    println!("### Running agents\n");
    println!(
        "Microseconds for each frame that the agent prints, and for each event of the model that the reader emits; the \
         baseline reads the frame into a value and writes the value.\n"
    );
    println!("| | bytes of a frame | read: a frame | an event | to universal: a frame | {SERDE}: a frame |");
    println!("|---|---:|---:|---:|---:|---:|");
    for dialect in DIALECTS.iter().filter(|dialect| dialect.plane == Plane::Live) {
        measure(dialect, rounds, size);
    }
    println!();
}

/// Reads the frames of one dialect so many times, for a program that counts instructions.
fn count(name: &str, times: u32, size: usize) {
    let dialect = Dialect::named(name).expect("a dialect");
    let frames = frames(dialect, size);
    let mut events = 0;
    for _ in 0..times {
        read(dialect, &frames, &mut events);
    }
    println!("{} {events}", frames.len());
}

fn measure(dialect: &'static Dialect, rounds: u32, size: usize) {
    let frames = frames(dialect, size);
    let bytes: usize = frames.iter().map(String::len).sum();
    let mut events = 0;
    read(dialect, &frames, &mut events);
    let documents: Vec<&str> = frames.iter().map(|frame| document(frame)).collect();
    let universal = (Dialect::named("universal").expect("registered"), Role::Live);
    let mut out = Vec::new();
    let times = Times::contest(
        rounds,
        &mut [
            (READ, &mut || read(dialect, &frames, &mut 0)),
            (UNIVERSAL, &mut || {
                interlingua_bench::run::convert_events((dialect, Role::Live), universal, &frames, &mut out);
            }),
            (SERDE, &mut || documents.iter().for_each(|document| _ = serde_bytes(document.as_bytes()))),
        ],
    );
    // MB/s are bytes per microsecond.
    let each = |who, count: usize| bytes as f64 / times.speed(who, bytes) / count as f64;
    println!(
        "| `{}` | {} | {:.2} | {:.2} | {:.2} | {:.2} |",
        dialect.name,
        bytes / frames.len(),
        each(READ, frames.len()),
        each(READ, events),
        each(UNIVERSAL, frames.len()),
        each(SERDE, frames.len()),
    );
}

/// The frames of all sessions of a dialect, in rounds.
fn frames(dialect: &Dialect, size: usize) -> Vec<String> {
    let sessions = sessions(&dialect.folder());
    let (mut frames, mut bytes) = (Vec::new(), 0);
    for number in 0.. {
        for session in &sessions {
            for frame in session.round(number) {
                bytes += frame.len();
                frames.push(frame);
            }
        }
        if bytes >= size {
            break;
        }
    }
    frames
}

fn read(dialect: &'static Dialect, frames: &[String], events: &mut usize) {
    let mut reader = EventReader::new((dialect, Role::Live), &Options::default()).expect("a live reader");
    for frame in frames {
        reader.push(frame.as_bytes(), |event| {
            black_box(event);
            *events += 1;
        });
    }
    black_box(reader.finish(|_| {}).leaves);
}

/// The JSON of a frame; the frame of a server-sent event has names around it.
fn document(frame: &str) -> &str {
    frame.split_once("data: ").map_or(frame, |(_, data)| data.trim())
}
