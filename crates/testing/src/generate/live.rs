//! Long sessions of running agents, from their fixtures: each round repeats a fixture with new ids, so that a reader sees
//! new items in the same session.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// A session of a running agent, without an end.
#[derive(Debug)]
pub struct LiveSession {
    /// The name of the fixture.
    pub name: String,
    /// The frames of the fixture, each with the bytes that end it: lines, or server-sent events.
    frames: Vec<String>,
}

/// The sessions of a dialect, one for each fixture in its folder, such as `openai/codex_exec`.
pub fn sessions(folder: &str) -> Vec<LiveSession> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../interlingua/fixtures").join(folder);
    let mut files = Vec::new();
    find(&root, &mut files);
    files.sort();
    files.iter().map(|path| LiveSession::of(path)).collect()
}

fn find(folder: &Path, files: &mut Vec<PathBuf>) {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    for path in entries.map(|entry| entry.expect("an entry").path()) {
        if path.is_dir() {
            find(&path, files);
        } else if path.extension().is_some_and(|end| end == "jsonl" || end == "sse") {
            files.push(path);
        }
    }
}

impl LiveSession {
    fn of(path: &Path) -> Self {
        let text =
            std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let end = if path.extension().is_some_and(|end| end == "sse") { "\n\n" } else { "\n" };
        let frames = text.split_inclusive(end).map(str::to_owned).collect();
        let name = path.file_stem().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        Self { name, frames }
    }

    /// The frames of a round, as the fixture has them except for their ids.
    pub fn round(&self, number: u64) -> Vec<String> {
        self.frames.iter().map(|frame| with_new_ids(frame, number)).collect()
    }
}

/// The members that name a thing within a session. The ids of sessions stay.
const IDS: [&str; 24] = [
    "id",
    "uuid",
    "parentId",
    "parent_id",
    "callID",
    "call_id",
    "callId",
    "tool_use_id",
    "toolUseId",
    "tool_id",
    "toolCallId",
    "tool_call_id",
    "messageID",
    "message_id",
    "messageId",
    "itemId",
    "item_id",
    "turnId",
    "turn_id",
    "request_id",
    "requestID",
    "partID",
    "parent_tool_use_id",
    "interactionId",
];

/// Adds the number to every id that is a text.
fn with_new_ids(frame: &str, number: u64) -> String {
    let mut out = String::with_capacity(frame.len() + 64);
    let mut rest = frame;
    while let Some(at) = rest.find("\":") {
        let (before, after) = rest.split_at(at + 2);
        out.push_str(before);
        rest = after;
        let name = before[..at].rsplit('"').next().unwrap_or_default();
        let value = after.trim_start().strip_prefix('"').filter(|_| IDS.contains(&name));
        // The id of a session begins with its own word, or is the only id of its line.
        let Some(value) =
            value.filter(|value| !value.starts_with("ses") && !frame.contains("thread.started"))
        else {
            continue;
        };
        let start = rest.len() - value.len();
        let end = start + value.find('"').unwrap_or(value.len());
        out.push_str(&rest[..end]);
        let _ = write!(out, "~{number}");
        rest = &rest[end..];
    }
    out.push_str(rest);
    out
}
