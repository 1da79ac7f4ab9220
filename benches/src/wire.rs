//! What goes between clients and model APIs: requests, answers in one piece, answers as they come.

use interlingua::dialects::Role;
use interlingua::pipe::Buffers;
use interlingua_limits::generate;

use crate::run::{Side, convert, convert_body, side};

/// A conversion between two APIs with its input.
#[derive(Debug)]
pub struct Call<T> {
    pub name: &'static str,
    pub from: Side,
    pub to: Side,
    pub input: T,
}

/// A stream, event by event.
#[derive(Debug)]
pub struct Stream {
    /// The events, each with the empty line that ends it.
    pub events: Vec<String>,
}

impl Stream {
    /// The documents in the events: what a baseline reads.
    pub fn documents(&self) -> Vec<&str> {
        let data =
            self.events.iter().filter_map(|event| event.lines().find_map(|line| line.strip_prefix("data: ")));
        data.filter(|data| data.starts_with('{')).collect()
    }
}

/// Requests of 55 KB, both ways.
pub fn requests() -> [Call<Vec<u8>>; 2] {
    let ours = generate::anthropic_request(55_000);
    both_ways(Role::Request, ours)
}

/// Answers of about 600 bytes, both ways.
pub fn answers() -> [Call<Vec<u8>>; 2] {
    both_ways(Role::Response, generate::anthropic_answer())
}

/// Streams with a thought, 2,000 pieces of text and a call, both ways.
pub fn streams() -> [Call<Stream>; 2] {
    let (anthropic, openai) = (side("anthropic", Role::Stream), side("openai-chat", Role::Stream));
    let ours = generate::anthropic_stream(2_000);
    let mut theirs = Vec::new();
    convert(anthropic, openai, ours.concat().as_bytes(), &mut theirs);
    let theirs = String::from_utf8_lossy(&theirs);
    let theirs = theirs.split_inclusive("\n\n").map(str::to_owned).collect();
    [
        Call { name: TO_CHAT, from: anthropic, to: openai, input: Stream { events: ours } },
        Call { name: TO_ANTHROPIC, from: openai, to: anthropic, input: Stream { events: theirs } },
    ]
}

const TO_CHAT: &str = "anthropic to openai-chat";
const TO_ANTHROPIC: &str = "openai-chat to anthropic";

fn both_ways(role: Role, ours: Vec<u8>) -> [Call<Vec<u8>>; 2] {
    let (anthropic, openai) = (side("anthropic", role), side("openai-chat", role));
    let theirs = convert_body(anthropic, openai, &ours, &mut Buffers::default());
    [
        Call { name: TO_CHAT, from: anthropic, to: openai, input: ours },
        Call { name: TO_ANTHROPIC, from: openai, to: anthropic, input: theirs },
    ]
}
