//! Dialects of the agents family.

pub mod acp;
pub mod amp;
pub mod copilot_cli;
pub mod cursor;
pub mod kimi_cli;
pub mod kimi_code;
mod kimi_parts;
pub mod opencode;
pub mod pi;
