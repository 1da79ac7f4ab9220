//! The verifiable agent record, profile v2, as JSON: an earlier form of the draft, with closed maps. Reader and writer
//! are those of [`super::record`].

use super::record;
use crate::dialects::{Dialect, Lineage, Plane, Role, RoleSpec, WriteSpec};
use crate::framing::Framing;
use crate::sniff::Head;

/// The verifiable agent record, profile v2.
pub static DIALECT: Dialect = Dialect {
    name: "record-v2",
    module: module_path!(),
    plane: Plane::Ours,
    about: "verifiable agent record, profile v2 (JSON, closed maps)",
    detected_by: "`version` 2.0.0 and `session` in one document",
    flavour_of: None,
    issuer: None,
    lineage: Lineage::Written,
    roles: &[RoleSpec {
        role: Role::Log,
        framing: Framing::Documents(&["session", "entries"]),
        read: Some(|_| record::closed_reader()),
        write: Some(WriteSpec { make: |options| record::closed_writer(options), support: record::support }),
    }],
    reads_more: &[],
    sniff,
};

fn sniff(head: &Head<'_>) -> Option<(Role, u32)> {
    record::is_v2(head.doc).then_some((Role::Log, 10))
}
