//! The app server of Codex (`codex app-server`): JSON-RPC without the member `jsonrpc`, one message a line. A thread has
//! turns, and a turn has items, which arrive in pieces.

mod items;
mod messages;
mod read;
mod requests;
mod session;
mod support;
mod tools;
mod write;

use crate::dialects::{Dialect, Lineage, Plane, Role, RoleSpec, WriteSpec};
use crate::framing::Framing;
use crate::live::input::InputWriter;
use crate::live::json_rpc::OwnRequests;
use crate::model::issuers;
use crate::sniff::Head;
use crate::tape::{Kind, Val};

/// Codex, live.
pub static DIALECT: Dialect = Dialect {
    name: "codex-app-server",
    module: module_path!(),
    plane: Plane::Live,
    about: "Codex app server (codex app-server, JSON-RPC lines)",
    detected_by: "JSON-RPC without `jsonrpc`, with methods such as `item/started` and `thread/start`, or with a thread as the result",
    flavour_of: None,
    issuer: Some(issuers::OPENAI),
    lineage: Lineage::Written,
    roles: &[
        RoleSpec {
            role: Role::Live,
            framing: Framing::Lines,
            read: Some(|_| Box::new(read::AppServerReader::default())),
            write: None,
        },
        RoleSpec {
            role: Role::Input,
            framing: Framing::Lines,
            // A transcript may hold both directions; the methods differ, so one reader handles both.
            read: Some(|_| Box::new(read::AppServerReader::default())),
            write: Some(WriteSpec {
                make: |options| Box::new(InputWriter::new(write::AppServerInput::new(options), options)),
                support: support::support,
            }),
        },
    ],
    reads_more: &[],
    sniff,
};

/// The methods that open a thread.
const OPENING: [&str; 3] = ["thread/start", "thread/resume", "thread/fork"];

fn sniff(head: &Head<'_>) -> Option<(Role, u32)> {
    let line = head.doc;
    if line.get("jsonrpc").is_some() || line.get("type").is_some() {
        return None;
    }
    let groups = ["thread/", "turn/", "item/", "account/", "serverRequest/", "remoteControl/", "mcpServer/"];
    let words = ["execCommandApproval", "applyPatchApproval", "configWarning", "deprecationNotice"];
    let is_id = |id: Val<'_>| matches!(id.kind(), Kind::Number | Kind::String);
    let score = match line.get("method").and_then(|method| method.str()) {
        Some(method) if groups.iter().any(|group| method.as_escaped().starts_with(group)) => 9,
        Some(method) if words.contains(&method.as_escaped()) => 9,
        Some(method) if method.is("initialize") && line.has_kind("params", Kind::Object) => {
            if line.get("params")?.has_kind("clientInfo", Kind::Object) { 5 } else { 1 }
        }
        Some(_) if line.has_kind("emittedAtMs", Kind::Number) => 9,
        Some(_) => 1,
        None => {
            let id = line.get("id").filter(|id| is_id(*id))?;
            let result = line.get("result").filter(|result| result.kind() == Kind::Object);
            if result
                .is_some_and(|result| result.has_str("codexHome") || result.has_kind("thread", Kind::Object))
            {
                9
            } else if result.is_some() || line.has_kind("error", Kind::Object) {
                if OwnRequests::method_of(id).is_some() { 4 } else { 1 }
            } else {
                return None;
            }
        }
    };
    Some((Role::Live, score))
}
