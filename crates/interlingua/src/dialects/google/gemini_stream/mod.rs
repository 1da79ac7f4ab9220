//! The stdout of a running Gemini CLI (`-o stream-json`): one event a line. The stream has no thoughts.

mod read;

use crate::dialects::{Dialect, Lineage, Plane, Role, RoleSpec};
use crate::framing::Framing;
use crate::model::issuers;
use crate::sniff::Head;
use crate::tape::Kind;

/// Gemini CLI, printed.
pub static DIALECT: Dialect = Dialect {
    name: "gemini-stream",
    module: module_path!(),
    plane: Plane::Live,
    about: "Gemini CLI printed output (gemini -p … -o stream-json)",
    detected_by: "an `init` line with `session_id` and `timestamp`; `tool_use` and `tool_result` lines with `tool_id`",
    flavour_of: None,
    issuer: Some(issuers::GOOGLE),
    lineage: Lineage::Written,
    roles: &[RoleSpec {
        role: Role::Live,
        framing: Framing::Lines,
        read: Some(|_| Box::new(read::PrintedReader::default())),
        write: None,
    }],
    reads_more: &[],
    sniff,
};

fn sniff(head: &Head<'_>) -> Option<(Role, u32)> {
    let line = head.doc;
    if !line.has_str("timestamp") {
        return None;
    }
    let score = match line.str_or_empty("type") {
        "init" if line.has_str("session_id") => 10,
        "tool_use" if line.has_str("tool_id") && line.has_str("tool_name") => 10,
        "tool_result" if line.has_str("tool_id") && line.has_str("status") => 10,
        "result" if line.has_str("status") && line.has_kind("stats", Kind::Object) => 10,
        "error" if line.has_str("severity") && line.has_str("message") => 4,
        // Other agents have a message object instead of its members.
        "message" if line.has_str("role") && line.has_str("content") && line.get("id").is_none() => 5,
        _ => return None,
    };
    Some((Role::Live, score))
}
