//! What the agents family speaks.

pub mod amp;
pub mod copilot_cli;
pub mod cursor;
pub mod pi;
