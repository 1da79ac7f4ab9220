//! Messages between clients and model APIs: requests, whole responses, streams.
//!
//! The generated messages are in Anthropic's dialect; the input of the other dialects is translated from them.

use interlingua::dialects::Role;
use interlingua::pipe::Buffers;
use interlingua_testing::generate;

use crate::run::{Side, convert, convert_body, side};

/// The dialects with their own reader and writer code: each is measured to and from each other.
const WIRES: [&str; 4] = ["anthropic", "openai-chat", "openai-responses", "gemini"];
/// The dialect of the generated messages.
const GENERATED: &str = "anthropic";
/// Flavours of Chat, measured in a single direction because they cost as much as Chat.
const FLAVOURS: [&str; 2] = ["kimi", "copilot"];

/// A conversion between two APIs with its input.
#[derive(Debug)]
pub struct Call<T> {
    pub from: Side,
    pub to: Side,
    pub input: T,
}

impl<T> Call<T> {
    /// The names of both dialects.
    pub fn name(&self) -> String {
        format!("{} to {}", self.from.0.name, self.to.0.name)
    }
}

/// A stream as a list of events.
#[derive(Clone, Debug)]
pub struct Stream {
    /// The events, each with the empty line that ends it.
    pub events: Vec<String>,
}

impl Stream {
    /// The documents in the events, as input for a baseline.
    pub fn documents(&self) -> Vec<&str> {
        let data =
            self.events.iter().filter_map(|event| event.lines().find_map(|line| line.strip_prefix("data: ")));
        data.filter(|data| data.starts_with('{')).collect()
    }
}

/// Requests of 55 KB.
pub fn requests() -> Vec<Call<Vec<u8>>> {
    pairs(Role::Request, |side| body(side, &generate::anthropic_request(55_000)))
}

/// Responses of about 600 bytes.
pub fn answers() -> Vec<Call<Vec<u8>>> {
    pairs(Role::Response, |side| body(side, &generate::anthropic_answer()))
}

/// Streams with reasoning, 2,000 deltas of text and a call.
pub fn streams() -> Vec<Call<Stream>> {
    pairs(Role::Stream, |side| {
        let events = generate::anthropic_stream(2_000);
        if side.0.name == GENERATED {
            return Stream { events };
        }
        let mut translated = Vec::new();
        convert(generated(Role::Stream), side, events.concat().as_bytes(), &mut translated);
        let translated = String::from_utf8_lossy(&translated);
        Stream { events: translated.split_inclusive("\n\n").map(str::to_owned).collect() }
    })
}

/// Every pair, grouped by source dialect, with the result of `input` for the source.
fn pairs<T: Clone>(role: Role, input: impl Fn(Side) -> T) -> Vec<Call<T>> {
    let mut calls = Vec::new();
    for name in WIRES {
        let from = side(name, role);
        let input = input(from);
        let flavours = FLAVOURS.iter().filter(|_| name == GENERATED);
        for to in WIRES.iter().filter(|&&to| to != name).chain(flavours) {
            calls.push(Call { from, to: side(to, role), input: input.clone() });
        }
    }
    calls
}

fn generated(role: Role) -> Side {
    side(GENERATED, role)
}

/// The body translated to the side's dialect.
fn body(side: Side, ours: &[u8]) -> Vec<u8> {
    if side.0.name == GENERATED {
        return ours.to_vec();
    }
    convert_body(generated(side.1), side, ours, &mut Buffers::default())
}
