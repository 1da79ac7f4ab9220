//! `cargo xtask nightly`: the suites that take too long for CI, one after the other, with a summary at the end.
//!
//! A suite that fails does not stop the next one. `--list` prints the suites, `--only NAME,…` selects some of them, and
//! `--traffic PATH` names recordings of API traffic, which are not in this repository.

use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::{TaskResult, command, root, run, say};

/// Every n-th mutant is tried per night, so the whole list is tried in as many nights.
const MUTANT_SHARDS: u64 = 7;

/// The seconds that each fuzz target runs.
const FUZZ_SECONDS: &str = "300";

/// A suite of tests that runs as one or more commands.
struct Suite {
    name: &'static str,
    about: &'static str,
    commands: Vec<Command>,
}

pub(crate) fn run_suites(arguments: &[String]) -> TaskResult<()> {
    let mut only: Vec<String> = Vec::new();
    let mut traffic: Vec<PathBuf> = Vec::new();
    let mut list = false;
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let mut value = || rest.next().ok_or_else(|| format!("`{argument}` needs a value"));
        match argument.as_str() {
            "--list" => list = true,
            "--only" => only.extend(value()?.split(',').map(str::to_owned)),
            "--traffic" => traffic.push(value()?.into()),
            other => return Err(format!("unknown argument `{other}`").into()),
        }
    }
    let suites = suites(&traffic);
    if let Some(name) = only.iter().find(|name| suites.iter().all(|suite| suite.name != **name)) {
        return Err(format!("no suite is called `{name}`; `--list` prints the names").into());
    }
    let chosen =
        suites.into_iter().filter(|suite| only.is_empty() || only.iter().any(|name| suite.name == name));
    if list {
        chosen.for_each(|suite| say(&format!("{:<10} {}", suite.name, suite.about)));
        return Ok(());
    }
    let mut results: Vec<(&str, Option<String>, Duration)> = Vec::new();
    for suite in chosen {
        say(&format!("\n## {}: {}", suite.name, suite.about));
        let start = Instant::now();
        // Each command of a suite needs the ones before it.
        let failure = suite.commands.into_iter().find_map(|mut command| run(&mut command).err());
        results.push((suite.name, failure.map(|error| error.to_string()), start.elapsed()));
    }
    say("");
    for (name, failure, time) in &results {
        let outcome = failure.as_deref().unwrap_or("passed");
        say(&format!("{name:<10} {:>6} s  {outcome}", time.as_secs()));
    }
    if traffic.is_empty() {
        say("traffic    not run: no recordings were named (`--traffic PATH`)");
    }
    let failed = results.iter().filter(|(_, failure, _)| failure.is_some()).count();
    if failed == 0 { Ok(()) } else { Err(format!("{failed} of {} suites failed", results.len()).into()) }
}

fn suites(traffic: &[PathBuf]) -> Vec<Suite> {
    let build = || command("cargo", ["build", "--release", "--package", "interlingua-cli"]);
    let venv = root().join(".venv");
    let python = venv.join("bin/python").display().to_string();
    let mut laws = command("cargo", ["test", "--workspace", "--no-fail-fast"]);
    laws.env("INTERLINGUA_FULL", "1");
    let shard = (days_since_1970() % MUTANT_SHARDS).to_string();
    let shards = MUTANT_SHARDS.to_string();
    let mut suites = vec![
        Suite {
            name: "laws",
            about: "every cut, every leaf and a million restructured lines",
            commands: vec![laws],
        },
        Suite {
            name: "agents",
            about: "sessions of nine agents resumed in nine real programs, which the suite installs",
            commands: vec![build(), command("python3", ["tests/agents/resume.py"])],
        },
        Suite {
            name: "gateway",
            about: "eight real agents through the gateway to a scripted model with another dialect",
            commands: vec![build(), command("python3", ["tests/gateway/agents.py", "--self-check"])],
        },
        Suite {
            name: "live",
            about: "Codex, OpenCode and five agents over ACP, driven with universal events alone",
            commands: vec![command("python3", ["tests/live/run.py"])],
        },
        Suite {
            name: "daemon",
            about: "eight real agents behind the daemon, with crashes of agents and of the daemon",
            commands: vec![build(), command("python3", ["tests/daemon/agents.py"])],
        },
        Suite {
            name: "soak",
            about: "ten minutes of load on the gateway with upstream faults and a kill",
            commands: vec![
                build(),
                command("python3", ["tests/gateway/soak.py", "--self-check"]),
                command("python3", ["tests/gateway/soak.py"]),
            ],
        },
        Suite {
            name: "mutants",
            about: "a seventh of the mistakes of meaning, another one each day",
            commands: vec![xtask(&["mutants", "--every", &shards, "--from", &shard])],
        },
        Suite {
            name: "fuzz",
            about: "each fuzz target for five minutes",
            commands: vec![xtask(&["fuzz", FUZZ_SECONDS])],
        },
    ];
    if !traffic.is_empty() {
        let install =
            ["-m", "pip", "install", "--quiet", "--requirement", "tests/sdk/requirements.txt", "pyyaml"];
        let mut recorded = command(&python, ["tests/sdk/recorded.py"]);
        recorded.args(traffic);
        let make = command("python3", ["-m", "venv", ".venv"]);
        let commands = vec![build(), make, command(&python, install), recorded];
        suites.push(Suite {
            name: "traffic",
            about: "recorded API traffic to every other model API",
            commands,
        });
    }
    suites
}

/// Another task, as a command of its own.
fn xtask(arguments: &[&str]) -> Command {
    command("cargo", ["run", "--quiet", "--package", "xtask", "--"].iter().chain(arguments))
}

fn days_since_1970() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs() / 86_400)
}
