//! Spans of OpenTelemetry with the attributes for generative AI, in the JSON form of OTLP. One trace for each session: a
//! span for the session, one for each response of the model, and one for each tool call.

mod span;
mod write;

use crate::dialects::{Dialect, Lineage, Plane, Role, RoleSpec, WriteSpec};
use crate::framing::Framing;

/// Spans of OpenTelemetry.
pub static DIALECT: Dialect = Dialect {
    name: "otel",
    module: module_path!(),
    plane: Plane::Export,
    about: "OpenTelemetry GenAI spans (OTLP JSON), as an export",
    detected_by: "nothing: the dialect is only written",
    flavour_of: None,
    issuer: None,
    lineage: Lineage::Written,
    roles: &[RoleSpec {
        role: Role::Log,
        framing: Framing::Documents(&["resourceSpans"]),
        read: None,
        write: Some(WriteSpec {
            make: |options| Box::new(write::OtelWriter::new(options)),
            support: super::support::support,
        }),
    }],
    reads_more: &[],
    sniff: |_| None,
};
