//! Session logs of Kimi CLI: what its screen was told (`wire.jsonl`) and what its model was sent (`context.jsonl`).

mod calls;
mod files;
mod read;
mod says;
mod wire;
mod write;

use crate::dialects::{Dialect, Plane, Role, RoleSpec, WriteSpec};
use crate::framing::Framing;
use crate::log::LogWriter;
use crate::sniff::Head;
use crate::tape::Kind;

/// Session logs of Kimi CLI.
pub static DIALECT: Dialect = Dialect {
    name: "kimi-cli",
    module: module_path!(),
    plane: Plane::Log,
    about: "Kimi CLI session logs (~/.kimi/sessions/…/wire.jsonl and context.jsonl)",
    detected_by: "`message` with `type` and `payload` beside a number as `timestamp`, or a `role` that begins with `_`",
    // It speaks with several providers and names none.
    issuer: None,
    roles: &[RoleSpec {
        role: Role::Log,
        framing: Framing::Lines,
        read: Some(|_| Box::new(read::KimiReader::default())),
        write: Some(WriteSpec {
            make: |options| Box::new(LogWriter::new(write::KimiForm::default(), options)),
            says: says::says,
        }),
    }],
    sniff,
};

fn sniff(head: &Head<'_>) -> Option<(Role, u32)> {
    let line = head.doc;
    let [kind, version, created] = line.get_all(["type", "protocol_version", "created_at"]);
    let is_wire = read::envelope(line.get("message")).is_some()
        && line.get("timestamp").is_some_and(|time| time.kind() == Kind::Number);
    let is_head = kind.is_some_and(|kind| kind.is("metadata")) && version.is_some() && created.is_none();
    let score = match line.str_or_empty("role") {
        _ if is_wire || is_head => 10,
        "_system_prompt" | "_checkpoint" | "_usage" => 10,
        _ => return None,
    };
    Some((Role::Log, score))
}
