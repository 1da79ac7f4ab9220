//! The stdout of a running Copilot CLI (`-p … --output-format json`): the events of the log, and events that are only
//! printed. The reader of the log reads the former; see [`super::copilot_cli`].

mod read;

use crate::dialects::{Dialect, Lineage, Plane, Role, RoleSpec};
use crate::framing::Framing;
use crate::model::issuers;
use crate::sniff::Head;
use crate::tape::Kind;

/// Copilot CLI, printed.
pub static DIALECT: Dialect = Dialect {
    name: "copilot-stream",
    module: module_path!(),
    plane: Plane::Live,
    about: "Copilot CLI printed output (copilot -p … --output-format json)",
    detected_by: "lines of the Copilot CLI with `ephemeral`, which its log never holds",
    flavour_of: None,
    issuer: Some(issuers::COPILOT),
    lineage: Lineage::Written,
    roles: &[RoleSpec {
        role: Role::Live,
        framing: Framing::Lines,
        read: Some(|_| Box::new(read::CopilotStreamReader::default())),
        write: None,
    }],
    reads_more: &[],
    sniff,
};

fn sniff(head: &Head<'_>) -> Option<(Role, u32)> {
    let line = head.doc;
    let is_event = line.has_kind("data", Kind::Object)
        && line.has_str("timestamp")
        && line.has_str("id")
        && line.get("parentId").is_some()
        && line.str_or_empty("type").contains('.');
    let is_ephemeral = line.get("ephemeral").is_some_and(|mark| mark.bool() == Some(true));
    let is_result = line.str_or_empty("type") == "result" && line.has_kind("exitCode", Kind::Number);
    match (is_event, is_ephemeral) {
        (true, true) => Some((Role::Live, 10)),
        // The log holds the same line.
        (true, false) => Some((Role::Live, 1)),
        (false, _) => is_result.then_some((Role::Live, 1)),
    }
}
