//! Sessions between agents: there and back, with other tools, within a budget, after a kill, and opened at a hit.

mod flags;
mod killed;
mod odd_homes;
mod there_and_back;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

/// A session of each agent: its dialect, the fixture, and its place in a home folder.
const SESSIONS: [(&str, &str, &str); 9] = [
    (
        "claude-code",
        "anthropic/claude_code/2026-11/tools.jsonl",
        ".claude/projects/-w/11111111-0000-4000-8000-000000000001.jsonl",
    ),
    (
        "codex",
        "openai/codex/2026-11/functions.jsonl",
        ".codex/sessions/2026/11/01/rollout-2026-11-01T00-00-00-1.jsonl",
    ),
    ("gemini-cli", "google/gemini_cli/2026-11/shapes.jsonl", ".gemini/tmp/w/chats/session-1.jsonl"),
    ("qwen-code", "google/qwen_code/2026-11/shapes.jsonl", ".qwen/projects/-w/chats/1.jsonl"),
    ("opencode", "agents/opencode/2026-11/export.json", "exported/export.json"),
    ("copilot-cli", "agents/copilot_cli/2026-11/tools.jsonl", ".copilot/session-state/1/events.jsonl"),
    (
        "kimi-cli",
        "agents/kimi_cli/2026-11/context.jsonl",
        ".kimi/sessions/a/22222222-0000-4000-8000-000000000001/context.jsonl",
    ),
    (
        "kimi-code",
        "agents/kimi_code/2026-11/main.jsonl",
        ".kimi-code/sessions/w/session_1/agents/main/wire.jsonl",
    ),
    ("pi", "agents/pi/2026-11/shapes.jsonl", ".pi/agent/sessions/--w--/s.jsonl"),
];

/// A home folder with these sessions.
struct Home(tempfile::TempDir);

impl Home {
    fn new(dialects: &[&str]) -> Self {
        let home = Self(tempfile::tempdir().expect("a folder"));
        fs::create_dir(home.path("work")).expect("a folder");
        for (dialect, source, place) in SESSIONS {
            if dialects.contains(&dialect) {
                home.put(&fs::read(fixture(source)).expect("a fixture"), place);
            }
        }
        home
    }

    fn put(&self, bytes: &[u8], place: &str) {
        let place = self.path(place);
        fs::create_dir_all(place.parent().expect("a parent")).expect("a folder");
        fs::write(place, bytes).expect("a session");
    }

    fn path(&self, place: &str) -> PathBuf {
        self.0.path().join(place)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_interlingua"));
        command.args(arguments).current_dir(self.path("work")).env_clear().env("HOME", self.0.path());
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().expect("it runs")
    }

    /// The output of a command that succeeds.
    fn done(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert!(output.status.success(), "{arguments:?}: {}", told(&output));
        String::from_utf8(output.stdout).expect("UTF-8")
    }

    fn json(&self, arguments: &[&str]) -> Value {
        serde_json::from_str(&self.done(arguments)).expect("JSON")
    }

    /// The result of `continue` as JSON.
    fn carried(&self, session: &str, agent: &str, more: &[&str]) -> Value {
        self.json(&[&["continue", session, "--in", agent, "--dir", ".", "-q", "--json"], more].concat())
    }
}

fn fixture(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../interlingua/fixtures").join(path)
}

fn told(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn file_of(carried: &Value) -> String {
    carried["file"].as_str().expect("a path").to_owned()
}

/// The counts of a comparison: of the source, and of the copy.
fn counts(carried: &Value, sort: &str) -> (u64, u64) {
    let count = |name: &str| carried["compared"][sort][name].as_u64().expect("a count");
    (count("all"), count("kept"))
}
