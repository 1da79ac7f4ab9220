//! A contract for one model call: the work order holds the request and the fields that must not be lost, the receipt
//! holds the outcome and the losses.
//!
//! ```text
//! work order (JSON) -> WorkOrder -> Translation -> the backend's request
//!                                        \-> Receipt (JSON), chained by hashes
//! ```
//!
//! Both are JSON with schemas in `schema/`. Tables in this module list all member names for reading and writing, and a
//! test compares the tables with the schemas.

mod order;
mod receipt;
mod translate;

pub use order::{Budget, Fidelity, MEMBERS as WORK_ORDER_MEMBERS, OrderError, Requirement, WorkOrder};
pub use receipt::{
    CallProof, Digest, Finding, MEMBERS as RECEIPT_MEMBERS, Outcome, Receipt, ReceiptChange, Route, diff,
    verify,
};
pub use translate::{Refusal, Translation};

/// The schema of work orders, version 1, as JSON Schema.
pub const WORK_ORDER_SCHEMA: &str = include_str!("../../schema/work-order-1.schema.json");
/// The schema of receipts, version 1, as JSON Schema.
pub const RECEIPT_SCHEMA: &str = include_str!("../../schema/receipt-1.schema.json");

/// The `schema` value of a work order.
pub const WORK_ORDER: &str = "interlingua.work-order/1";
/// The `schema` value of a receipt.
pub const RECEIPT: &str = "interlingua.receipt/1";
