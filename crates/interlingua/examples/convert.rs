//! Converts a file: `cargo run -p interlingua --example convert -- examples/claude-code.jsonl claude-code record`

#![allow(clippy::disallowed_methods, reason = "a program opens files; the library does not")]

use std::io::Write;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [file, from, to] = &arguments[..] else { return Err("usage: convert FILE FROM TO".into()) };
    let (output, report) = interlingua::convert(&std::fs::read(file)?, from.parse()?, to.parse()?)?;
    std::io::stdout().write_all(&output)?;
    writeln!(std::io::stderr(), "{} leaves, {} lost", report.leaves, report.lost)?;
    Ok(())
}
