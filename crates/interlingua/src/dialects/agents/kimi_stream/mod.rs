//! The stdout of a running Kimi Code or Kimi CLI (`--output-format stream-json`): messages in the form of Kimi CLI's context;
//! see [`super::kimi_cli`].

mod read;

use super::kimi_cli::context_score;
use crate::dialects::{Dialect, Lineage, Plane, Role, RoleSpec};
use crate::framing::Framing;
use crate::sniff::{Head, RULED_OUT};

/// Kimi Code and Kimi CLI, printed.
pub static DIALECT: Dialect = Dialect {
    name: "kimi-stream",
    module: module_path!(),
    plane: Plane::Live,
    about: "Kimi Code and Kimi CLI printed output (kimi -p … --output-format stream-json)",
    detected_by: "a `role` that is `meta`; messages that begin with the assistant",
    flavour_of: None,
    // Neither program records the provider.
    issuer: None,
    lineage: Lineage::Written,
    roles: &[RoleSpec {
        role: Role::Live,
        framing: Framing::Lines,
        read: Some(|_| Box::new(read::KimiStreamReader::default())),
        write: None,
    }],
    reads_more: &[],
    sniff,
};

fn sniff(head: &Head<'_>) -> Option<(Role, u32)> {
    let line = head.doc;
    let score = match line.str_or_empty("role") {
        "meta" if line.has_str("type") => 10,
        // The context of the model begins with these lines; only the last of them is a message.
        "_system_prompt" | "_checkpoint" | "_usage" | "user" | "system" => RULED_OUT,
        "assistant" | "tool" => context_score(line)?,
        _ => return None,
    };
    Some((Role::Live, score))
}
