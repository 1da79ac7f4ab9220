//! Codex's rollouts: one JSON document a line, an envelope around what was sent to and came from the model
//! (`response_item`), what the screen showed (`event_msg`) and the settings in force.

mod commands;
mod echo;
mod read;
mod says;
mod write;

use crate::dialects::{Dialect, Plane, Role, RoleSpec, WriteSpec};
use crate::framing::Framing;
use crate::log::LogWriter;
use crate::model::issuers;
use crate::sniff::Head;

/// Codex rollouts.
pub static DIALECT: Dialect = Dialect {
    name: "codex",
    module: module_path!(),
    plane: Plane::Log,
    about: "Codex CLI rollouts (~/.codex/sessions/…/rollout-*.jsonl)",
    detected_by: "lines with `timestamp`, `type` and a `payload`",
    issuer: Some(issuers::OPENAI),
    roles: &[RoleSpec {
        role: Role::Log,
        framing: Framing::Lines,
        read: Some(|_| Box::new(read::CodexReader::default())),
        write: Some(WriteSpec {
            make: |options| Box::new(LogWriter::new(write::CodexForm::default(), options)),
            says: says::says,
        }),
    }],
    sniff,
};

fn sniff(head: &Head<'_>) -> Option<(Role, u32)> {
    let kind = head.doc.get("type")?.str()?;
    let known = matches!(
        kind.as_escaped(),
        "session_meta" | "response_item" | "event_msg" | "turn_context" | "compacted" | "world_state"
    );
    head.doc.get("payload")?;
    Some((Role::Log, if known { 10 } else { 1 }))
}
