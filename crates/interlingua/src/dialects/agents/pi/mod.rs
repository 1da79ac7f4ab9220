//! Pi's session logs: one JSON document a line, a tree by `parentId`.

mod read;
mod says;
mod write;

use crate::dialects::{Dialect, Plane, Role, RoleSpec, WriteSpec};
use crate::framing::Framing;
use crate::log::LogWriter;
use crate::sniff::Head;
use crate::tape::Kind;

/// Session logs of Pi.
pub static DIALECT: Dialect = Dialect {
    name: "pi",
    module: module_path!(),
    plane: Plane::Log,
    about: "Pi session logs (~/.pi/agent/sessions/…/*.jsonl)",
    detected_by: "a `session` line with `cwd`, and lines with `parentId` or a `message` beside their `type`",
    flavour_of: None,
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
    let is_timed = line.has_str("id") && line.has_str("timestamp");
    let is_linked = line.has_str("id") && (line.has_str("parentId") || line.has_kind("parentId", Kind::Null));
    let score = match line.str_or_empty("type") {
        "session" if is_timed && line.has_str("cwd") => 10,
        "model_change" | "thinking_level_change" | "branch_summary" | "custom_message" | "session_info"
            if is_linked =>
        {
            10
        }
        // Other trees have such words.
        "compaction" | "custom" | "label" if is_linked => 4,
        "message" if line.get("message").is_some_and(|message| message.has_str("role")) => {
            // Files of the first versions are no trees.
            if is_linked { 10 } else { 3 }
        }
        _ => return None,
    };
    Some((Role::Log, score))
}
