//! Conversions, as a program would call them.

use std::hint::black_box;

use interlingua::dialects::{Dialect, Options, Role};
use interlingua::json::Output;
use interlingua::pipe::{Buffers, Pipe};

/// A dialect in one of its roles.
pub type Side = (&'static Dialect, Role);

/// The dialect of that name. The benches name only registered dialects.
pub fn side(name: &str, role: Role) -> Side {
    (Dialect::named(name).expect("registered"), role)
}

/// A new conversion. The benches use only supported pairs.
pub fn pipe(from: Side, to: Side) -> Pipe {
    Pipe::new(from, to, &Options::default()).expect("registered")
}

/// Converts a whole input, in chunks as a file is read.
pub fn convert(from: Side, to: Side, bytes: &[u8], out: &mut dyn Output) {
    convert_by(pipe(from, to), bytes, out);
}

/// Converts a whole input, without the digest of the source.
pub fn convert_without_digest(from: Side, to: Side, bytes: &[u8], out: &mut dyn Output) {
    let options = Options::default().without_digest(true);
    convert_by(Pipe::new(from, to, &options).expect("registered"), bytes, out);
}

fn convert_by(mut pipe: Pipe, bytes: &[u8], out: &mut dyn Output) {
    let mut chunks = bytes.chunks(64 << 10);
    let last = chunks.next_back().unwrap_or_default();
    for chunk in chunks {
        pipe.push(chunk, out);
    }
    black_box(pipe.finish_with(last, out).leaves);
}

/// Converts a whole body in memory to a body, with reused buffers as in a server.
pub fn convert_body(from: Side, to: Side, bytes: &[u8], buffers: &mut Buffers) -> Vec<u8> {
    let mut out = Vec::new();
    let mut pipe = pipe(from, to);
    pipe.use_buffers(std::mem::take(buffers));
    let report;
    (report, *buffers) = pipe.finish_and_reuse(bytes, &mut out);
    black_box(report.leaves);
    out
}

/// Converts a stream event by event, as a gateway that forwards each event at once.
pub fn convert_events(from: Side, to: Side, events: &[String], out: &mut Vec<u8>) {
    let mut pipe = pipe(from, to);
    for event in events {
        out.clear();
        pipe.push(event.as_bytes(), out);
        black_box(out.len());
    }
    out.clear();
    black_box(pipe.finish(out).leaves);
}

/// Drops all output.
#[derive(Debug)]
pub struct Discard;

impl Output for Discard {
    fn write(&mut self, bytes: &[u8]) {
        black_box(bytes.len());
    }
}
