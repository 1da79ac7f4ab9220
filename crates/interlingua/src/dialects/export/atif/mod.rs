//! Trajectories: ATIF, the format of Harbor for the runs of agents. One document for each session.

mod metrics;
mod step;
mod write;

use crate::dialects::{Dialect, Lineage, Plane, Role, RoleSpec, WriteSpec};
use crate::framing::Framing;

/// Trajectories in ATIF.
pub static DIALECT: Dialect = Dialect {
    name: "atif",
    module: module_path!(),
    plane: Plane::Export,
    about: "ATIF trajectories (Harbor), version 1.8, as an export",
    detected_by: "nothing: the dialect is only written",
    flavour_of: None,
    issuer: None,
    lineage: Lineage::Written,
    roles: &[RoleSpec {
        role: Role::Log,
        framing: Framing::Documents(&["steps"]),
        read: None,
        write: Some(WriteSpec {
            make: |options| Box::new(write::AtifWriter::new(options)),
            support: super::support::support,
        }),
    }],
    reads_more: &[],
    sniff: |_| None,
};
