//! A contract around one call of a model: the work order says what is to be done and what must not be lost, the receipt
//! says what was done.
//!
//! ```text
//! work order (JSON) -> WorkOrder -> Translation -> the backend's request
//!                                        \-> Receipt (JSON), chained by hashes
//! ```
//!
//! Both are JSON with a schema of their own in `schema/`; the names of all members stand in the tables here, from which
//! they are read and written, and a test compares tables and schemas.

mod order;
mod receipt;
mod translate;

pub use order::{Budget, Fidelity, MEMBERS as WORK_ORDER_MEMBERS, OrderError, Requirement, WorkOrder};
pub use receipt::{
    Digest, Finding, MEMBERS as RECEIPT_MEMBERS, Outcome, Receipt, ReceiptChange, Route, diff, verify,
};
pub use translate::{Refusal, Translation};

/// The schema of work orders, version 1, as JSON Schema.
pub const WORK_ORDER_SCHEMA: &str = include_str!("../../schema/work-order-1.schema.json");
/// The schema of receipts, version 1, as JSON Schema.
pub const RECEIPT_SCHEMA: &str = include_str!("../../schema/receipt-1.schema.json");

/// What a work order calls itself.
pub const WORK_ORDER: &str = "interlingua.work-order/1";
/// What a receipt calls itself.
pub const RECEIPT: &str = "interlingua.receipt/1";
