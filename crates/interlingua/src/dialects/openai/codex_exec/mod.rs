//! The printed stream of `codex exec --json`: one event a line, without pieces. Only read.

mod read;

use crate::dialects::{Dialect, Lineage, Plane, Role, RoleSpec};
use crate::framing::Framing;
use crate::model::issuers;
use crate::sniff::Head;
use crate::tape::Kind;

/// Codex, printed.
pub static DIALECT: Dialect = Dialect {
    name: "codex-exec",
    module: module_path!(),
    plane: Plane::Live,
    about: "Codex printed events (codex exec --json)",
    detected_by: "lines of the type `thread.started`, `turn.started`, `item.completed` and the like",
    flavour_of: None,
    issuer: Some(issuers::OPENAI),
    lineage: Lineage::Written,
    roles: &[RoleSpec {
        role: Role::Live,
        framing: Framing::Lines,
        read: Some(|_| Box::new(read::ExecReader::default())),
        write: None,
    }],
    reads_more: &[],
    sniff,
};

fn sniff(head: &Head<'_>) -> Option<(Role, u32)> {
    let line = head.doc;
    let score = match line.get("type")?.str()?.as_escaped() {
        "thread.started" if line.has_str("thread_id") => 10,
        "item.started" | "item.updated" | "item.completed" if line.has_kind("item", Kind::Object) => {
            // The universal schema has the same words; its lines have more members.
            let item = line.get("item")?;
            if item.has_str("type") && item.has_str("id") && line.get("data").is_none() {
                9
            } else {
                return None;
            }
        }
        "turn.completed" if line.has_kind("usage", Kind::Object) => 8,
        "turn.failed" if line.has_kind("error", Kind::Object) => 6,
        "turn.started" if line.members().count() == 1 => 4,
        _ => return None,
    };
    Some((Role::Live, score))
}
