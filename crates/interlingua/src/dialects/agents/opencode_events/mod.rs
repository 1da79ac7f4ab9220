//! The events of a running OpenCode server (`opencode serve`, `GET /event`), and the HTTP requests that drive it.
//! Messages and parts are those of OpenCode's log; see [`super::opencode`].

mod http;
mod message;
mod part;
mod read;
mod requests;
mod support;
mod write;

use crate::dialects::{Dialect, Lineage, Plane, Role, RoleSpec, WriteSpec};
use crate::framing::{FrameKind, Framing};
use crate::live::input::InputWriter;
use crate::sniff::Head;
use crate::tape::Kind;

/// OpenCode's server, live.
pub static DIALECT: Dialect = Dialect {
    name: "opencode-events",
    module: module_path!(),
    plane: Plane::Live,
    about: "OpenCode server events (opencode serve, GET /event)",
    detected_by: "events with an `id` that begins with `evt_`, a `type` and `properties`",
    flavour_of: None,
    // Each message names its provider.
    issuer: None,
    lineage: Lineage::Written,
    roles: &[
        RoleSpec {
            role: Role::Live,
            framing: Framing::Sse,
            read: Some(|_| Box::new(read::EventsReader::default())),
            write: None,
        },
        RoleSpec {
            role: Role::Input,
            framing: Framing::Lines,
            read: Some(|_| Box::new(read::EventsReader::default())),
            write: Some(WriteSpec {
                make: |options| Box::new(InputWriter::new(write::HttpInput::default(), options)),
                support: support::support,
            }),
        },
    ],
    reads_more: &[],
    sniff,
};

/// The agent of a session, as in a log.
const AGENT: &str = "opencode";

fn sniff(head: &Head<'_>) -> Option<(Role, u32)> {
    let doc = head.doc;
    if matches!(head.kind, FrameKind::Line | FrameKind::LastLine) {
        let path = doc.str_or_empty("path");
        let known = ["/session", "/permission/", "/question/"].iter().any(|start| path.starts_with(start));
        let is_request = matches!(doc.str_or_empty("method"), "GET" | "POST") && known;
        return is_request.then_some((Role::Input, 6));
    }
    if doc.has_str("type") && doc.has_kind("properties", Kind::Object) {
        return Some((Role::Live, if doc.str_or_empty("id").starts_with("evt_") { 10 } else { 4 }));
    }
    let is_response =
        doc.has_str("request") && doc.has_kind("status", Kind::Number) && doc.get("body").is_some();
    is_response.then_some((Role::Live, 4))
}
