//! The stdout of a running OpenCode (`opencode run --format json`): one finished part of an answer a line. Parts are those
//! of the log; see [`super::opencode`].

mod read;

use crate::dialects::{Dialect, Lineage, Plane, Role, RoleSpec};
use crate::framing::Framing;
use crate::sniff::Head;
use crate::tape::{Kind, Val};

/// OpenCode, printed.
pub static DIALECT: Dialect = Dialect {
    name: "opencode-stream",
    module: module_path!(),
    plane: Plane::Live,
    about: "OpenCode printed output (opencode run --format json)",
    detected_by: "lines with `sessionID`, a number `timestamp`, and a `part` or an `error`",
    flavour_of: None,
    // The metadata of a reasoning part names the provider.
    issuer: None,
    lineage: Lineage::Written,
    roles: &[RoleSpec {
        role: Role::Live,
        framing: Framing::Lines,
        read: Some(|_| Box::new(read::OpencodeStreamReader::default())),
        write: None,
    }],
    reads_more: &[],
    sniff,
};

fn sniff(head: &Head<'_>) -> Option<(Role, u32)> {
    is_printed(head.doc).then_some((Role::Live, 10))
}

/// Whether a run prints this line: a part or an error with the time of printing.
pub(super) fn is_printed(line: Val<'_>) -> bool {
    let is_object = |name| line.has_kind(name, Kind::Object);
    line.has_str("sessionID")
        && line.has_str("type")
        && line.has_kind("timestamp", Kind::Number)
        && (is_object("part") || is_object("error"))
}
