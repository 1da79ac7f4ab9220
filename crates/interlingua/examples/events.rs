//! Counts the tool calls of a session, by name:
//! `cargo run -p interlingua --example events -- examples/claude-code.jsonl claude-code`

#![allow(clippy::disallowed_methods, reason = "a program opens files; the library does not")]

use std::collections::BTreeMap;
use std::io::Write;

use interlingua::model::{Event, ItemKind};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [file, dialect] = &arguments[..] else { return Err("usage: events FILE DIALECT".into()) };
    let mut calls = BTreeMap::<String, u64>::new();
    for event in interlingua::events(std::fs::File::open(file)?, dialect.parse()?)? {
        if let Event::ItemStarted(head) = event?
            && let ItemKind::ToolCall(call) = &head.kind
        {
            *calls.entry(call.name.decode().into_owned()).or_default() += 1;
        }
    }
    calls.iter().try_for_each(|(name, count)| writeln!(std::io::stdout(), "{count:>6} {name}"))?;
    Ok(())
}
