//! `cargo xtask record-fixtures`: runs the real agent programs against a scripted model on loopback and keeps their
//! output as fixtures.
//!
//! Each [`Case`] is a short script of model replies, the command lines to run, and which outputs to keep.
//! The program gets an empty HOME and a fresh git repository, so that no data of the machine leaks in. Its output is
//! then edited *in the text* ([`Tidy`](tidy::Tidy)): long strings that are not ours and long vendor lists are cut,
//! paths and versions of this machine become neutral. Every other byte (key order, number spelling, spacing, escapes)
//! stays as the program wrote it, because readers are tested against those bytes. Hashes and byte offsets inside the
//! logs therefore no longer match the text around them.
//!
//! This task never contacts a real model and installs nothing; before it, run `npm i --prefix /tmp/agents
//! @anthropic-ai/claude-code@latest @openai/codex@latest @github/copilot`. To be sure that the programs stay offline,
//! run it where only loopback is up: `unshare -n sh -c 'ip link set lo up; cargo xtask record-fixtures'`.

mod agents;
mod cases;
mod codex_cases;
mod server;
mod tidy;
mod voice;

use std::error::Error;
use std::fs;
use std::io::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use crate::TaskResult;
use agents::Bench;
use cases::Case;

/// Records all cases, or only those named in `args`.
///
/// Options: `--agents DIR` (npm prefix holding the programs), `--scratch DIR` (created and removed), `--out DIR` (the
/// folder of the fixtures).
pub(crate) fn run(args: &[String]) -> Result<(), Box<dyn Error>> {
    let mut agents = PathBuf::from("/tmp/agents");
    let mut scratch = PathBuf::from(NEUTRAL);
    let mut out = PathBuf::from("crates/interlingua/fixtures");
    let mut wanted = Vec::new();
    let mut rest = args.iter();
    while let Some(arg) = rest.next() {
        let mut value = || rest.next().ok_or_else(|| format!("`{arg}` needs a folder"));
        match arg.as_str() {
            "--agents" => agents = value()?.into(),
            "--scratch" => scratch = value()?.into(),
            "--out" => out = value()?.into(),
            name if cases().any(|case| case.name == name) => wanted.push(name),
            other => return Err(format!("`{other}` is neither an option nor a case").into()),
        }
    }
    if !out.is_dir() {
        return Err(format!("no folder `{}`\nhint: run from the repository root", out.display()).into());
    }
    let mut talk = std::io::stderr();
    let mut failed = 0;
    for case in cases().filter(|case| wanted.is_empty() || wanted.contains(&case.name)) {
        let bench = Bench::set_up(&scratch, &agents, case)?;
        match bench.record(&out) {
            Ok(files) => {
                for (path, size) in files {
                    writeln!(talk, "{size:>7}  {}", path.display())?;
                }
            }
            Err(error) => {
                failed += 1;
                writeln!(talk, "case `{}` failed: {error}", case.name)?;
            }
        }
        fs::remove_dir_all(&scratch)?;
    }
    if failed > 0 { Err(format!("{failed} cases failed").into()) } else { Ok(()) }
}

/// The folder of the fixtures: the month in which the programs were current.
const SET: &str = "2026-11";
/// The path that replaces the scratch folder in fixtures.
const NEUTRAL: &str = "/tmp/demo";
const SESSION: &str = "11111111-2222-4333-8444-555555555555";
const PATIENCE: Duration = Duration::from_secs(60);

/// The runs of every agent.
fn cases() -> impl Iterator<Item = &'static Case> {
    cases::CASES.iter().chain(codex_cases::CASES)
}
