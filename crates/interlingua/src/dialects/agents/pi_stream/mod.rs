//! The stdout of a running Pi (`--mode json`, `--mode rpc`): the events of the run, one a line. Messages have the form of
//! Pi's log; see [`super::pi`].

mod answer;
mod questions;
mod read;
mod support;
mod write;

use crate::dialects::{Dialect, Lineage, Plane, Role, RoleSpec, WriteSpec};
use crate::framing::Framing;
use crate::live::input::InputWriter;
use crate::sniff::{Head, RULED_OUT};
use crate::tape::Kind;

/// Pi, live.
pub static DIALECT: Dialect = Dialect {
    name: "pi-stream",
    module: module_path!(),
    plane: Plane::Live,
    about: "Pi live output (pi --mode json, pi --mode rpc)",
    detected_by: "`agent_start`, `message_update` and `tool_execution_…` lines; `response` lines with a `command`",
    flavour_of: None,
    // Each message names its provider.
    issuer: None,
    lineage: Lineage::Written,
    roles: &[
        RoleSpec {
            role: Role::Live,
            framing: Framing::Lines,
            read: Some(|_| Box::new(read::PiStreamReader::default())),
            write: None,
        },
        RoleSpec {
            role: Role::Input,
            framing: Framing::Lines,
            // A transcript may hold both directions; the line types differ, so one reader handles both.
            read: Some(|_| Box::new(read::PiStreamReader::default())),
            write: Some(WriteSpec {
                make: |options| Box::new(InputWriter::new(write::RpcInput::default(), options)),
                support: support::support,
            }),
        },
    ],
    reads_more: &[],
    sniff,
};

fn sniff(head: &Head<'_>) -> Option<(Role, u32)> {
    let line = head.doc;
    let has_message = || line.get("message").is_some_and(|message| message.has_str("role"));
    let is_call = || line.has_str("toolCallId") && line.has_str("toolName");
    let score = match line.str_or_empty("type") {
        // The head of the stream is also the head of a log, so the line after it decides.
        "session" if line.has_str("cwd") && line.has_str("id") && line.has_kind("version", Kind::Number) => {
            10
        }
        "message" | "model_change" | "thinking_level_change" if line.has_str("id") => RULED_OUT,
        "agent_start" | "agent_end" | "agent_settled" | "turn_start" => 4,
        "turn_end" if line.has_kind("toolResults", Kind::Array) => 10,
        "message_start" | "message_end" if has_message() => 8,
        "message_update" if line.has_kind("assistantMessageEvent", Kind::Object) => 10,
        "tool_execution_start" | "tool_execution_update" | "tool_execution_end" if is_call() => 10,
        "response" if line.has_str("command") && line.has_kind("success", Kind::Bool) => 8,
        "extension_ui_request" if line.has_str("method") => 8,
        _ => return None,
    };
    Some((Role::Live, score))
}
