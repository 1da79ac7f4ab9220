//! `cargo xtask instructions`: the instructions per unit of four conversions, counted by callgrind, compared with
//! `benches/instructions.txt`. Counts do not depend on the load of the machine, so that CI can compare them.
//!
//! The task fails if a count exceeds its figure by more than [`TOLERANCE`]. `--bless` writes the figures anew. Without
//! valgrind the task says so and passes.

use std::fmt::Write as _;
use std::fs;
use std::process::{Command, Stdio};

use crate::{TaskResult, command, output, root, run, say};

/// The accepted increase in percent. Another compiler may need a new figure.
const TOLERANCE: f64 = 3.0;

/// The units of one conversion.
const UNITS: u64 = 400;

/// The walks, with the unit that is counted.
const WALKS: [(&str, &str); 4] = [
    ("claude-line-to-record", "line"),
    ("codex-line-to-claude", "line"),
    ("stream-delta-to-chat", "delta"),
    ("chat-messages-to-gemini", "three messages"),
];

pub(crate) fn compare(arguments: &[String]) -> TaskResult<()> {
    let bless = match arguments {
        [] => false,
        [flag] if flag == "--bless" => true,
        _ => return Err("usage: cargo xtask instructions [--bless]".into()),
    };
    let there =
        Command::new("valgrind").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    if !there.is_ok_and(|status| status.success()) {
        say("not counted: valgrind is not installed");
        return Ok(());
    }
    let target = root().join("target/bench");
    let build = ["build", "--release", "--manifest-path", "benches/Cargo.toml", "--bin", "instructions"];
    run(command("cargo", build).arg("--target-dir").arg(&target))?;
    let program = target.join("release/instructions").display().to_string();
    let path = root().join("benches/instructions.txt");
    let known = fs::read_to_string(&path).unwrap_or_default();
    let (mut table, mut slower) = (String::new(), Vec::new());
    for (walk, unit) in WALKS {
        let count = |times: u64| count(&program, walk, times);
        let counted = u32::try_from(count(2)?.saturating_sub(count(1)?) / UNITS)?;
        writeln!(table, "{walk:<24} {counted:>6} per {unit}")?;
        let Some(figure) = figure_of(&known, walk) else {
            slower.push(format!("{walk}: no figure in benches/instructions.txt"));
            continue;
        };
        let change = (f64::from(counted) / f64::from(figure) - 1.0) * 100.0;
        say(&format!("{walk:<24} {counted:>6} per {unit}, {change:+.1} % of {figure}"));
        if change > TOLERANCE {
            slower.push(format!("{walk}: {counted} instructions per {unit}, {change:+.1} % of {figure}"));
        }
    }
    if bless {
        return Ok(fs::write(path, table)?);
    }
    if slower.is_empty() {
        return Ok(());
    }
    Err(format!("{}\nhint: if that is meant, `cargo xtask instructions --bless`", slower.join("\n")).into())
}

/// The figure of a walk in the table.
fn figure_of(table: &str, walk: &str) -> Option<u32> {
    let line = table.lines().find(|line| line.split_whitespace().next() == Some(walk))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

/// The instructions of a run with so many conversions.
fn count(program: &str, walk: &str, times: u64) -> TaskResult<u64> {
    let file = root().join("target/bench/callgrind.out");
    let mut valgrind = command("valgrind", ["--quiet", "--tool=callgrind"]);
    valgrind.arg(format!("--callgrind-out-file={}", file.display()));
    output(valgrind.args([program, walk, &UNITS.to_string(), &times.to_string()]))?;
    let profile = fs::read_to_string(&file)?;
    let total =
        profile.lines().find_map(|line| line.strip_prefix("totals: ").or(line.strip_prefix("summary: ")));
    let total = total.and_then(|total| total.trim().parse().ok());
    total.ok_or_else(|| "callgrind wrote no total".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_is_found_by_its_walk() {
        let table = "one-walk      12 per line\nother-walk 3456 per delta\n";
        assert_eq!(figure_of(table, "other-walk"), Some(3456));
        assert_eq!(figure_of(table, "walk"), None);
    }
}
