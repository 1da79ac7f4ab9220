//! Chat sessions of GitHub Copilot in VS Code: one document with all requests. A request holds the prompt, the parts of the
//! answer as VS Code shows them, and the rounds of the model as Copilot sends them.
//!
//! VS Code also writes a session as a log of changes, with one change in each line. `interlingua-sessions` applies the
//! changes and passes the resulting document on.

mod parts;
mod read;
mod rounds;

use crate::dialects::{Dialect, Lineage, Plane, Role, RoleSpec};
use crate::framing::Framing;
use crate::sniff::Head;
use crate::tape::{Kind, Val};

/// Chat sessions of GitHub Copilot in VS Code.
pub static DIALECT: Dialect = Dialect {
    name: "copilot-chat",
    module: module_path!(),
    plane: Plane::Log,
    about: "GitHub Copilot Chat sessions of VS Code (workspaceStorage/…/chatSessions/*.json, *.jsonl)",
    detected_by: "a document with a list `requests` beside `responderUsername` or `creationDate`",
    flavour_of: None,
    // Copilot has models of several providers, and no member names the provider.
    issuer: None,
    lineage: Lineage::Written,
    roles: &[RoleSpec {
        role: Role::Log,
        framing: Framing::Documents(REQUESTS),
        read: Some(|_| Box::new(read::CopilotChatReader::default())),
        write: None,
    }],
    reads_more: &[],
    sniff,
};

/// The path of the requests.
const REQUESTS: &[&str] = &["requests"];

fn sniff(head: &Head<'_>) -> Option<(Role, u32)> {
    let session = head.doc;
    let is_session = session.has_kind("requests", Kind::Array)
        && (session.has_str("responderUsername") || session.has_kind("creationDate", Kind::Number));
    is_session.then_some((Role::Log, 10))
}

/// A text, or an object of VS Code's Markdown with the text as its `value`.
fn markdown(value: Option<Val<'_>>) -> Option<Val<'_>> {
    let value = value?;
    match value.kind() {
        Kind::String => Some(value),
        Kind::Object => value.get("value").filter(|text| text.kind() == Kind::String),
        _ => None,
    }
}

/// A time of VS Code: milliseconds since 1970.
fn moment(time: Option<Val<'_>>) -> Option<Val<'_>> {
    time.filter(|time| time.u64().is_some_and(|millis| millis > 0 && millis < 253_402_300_800_000))
}
