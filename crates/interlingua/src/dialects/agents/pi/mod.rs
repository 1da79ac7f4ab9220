//! Pi's session logs: one JSON document a line, a tree by `parentId`.

mod read;
mod says;
mod write;

use crate::dialects::{Dialect, Plane, Role, RoleSpec, WriteSpec};
use crate::framing::Framing;
use crate::log::LogWriter;
use crate::sniff::Head;

/// Session logs of Pi.
pub static DIALECT: Dialect = Dialect {
    name: "pi",
    module: module_path!(),
    plane: Plane::Log,
    about: "Pi session logs (~/.pi/agent/sessions/…/*.jsonl)",
    detected_by: "a `session` line with `cwd`, and lines with `parentId` or a `message` beside their `type`",
    // Each message names its provider.
    issuer: None,
    roles: &[RoleSpec {
        role: Role::Log,
        framing: Framing::Lines,
        read: Some(|_| Box::new(read::PiReader::default())),
        write: Some(WriteSpec {
            make: |options| Box::new(LogWriter::new(write::PiForm, options)),
            says: says::says,
        }),
    }],
    sniff,
};

fn sniff(head: &Head<'_>) -> Option<(Role, u32)> {
    let line = head.doc;
    let has = |name| line.get(name).is_some();
    let score = match line.str_or_empty("type") {
        "session" if has("id") && has("timestamp") && has("cwd") => 10,
        "model_change"
        | "thinking_level_change"
        | "compaction"
        | "branch_summary"
        | "custom"
        | "custom_message"
        | "label"
        | "session_info"
        | "message"
            if has("id") && has("parentId") =>
        {
            10
        }
        // Files of the first versions are no trees.
        "message" if line.get("message").is_some_and(|message| message.get("role").is_some()) => 4,
        _ => return None,
    };
    Some((Role::Log, score))
}
