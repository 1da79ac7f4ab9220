//! Dialects of the agents family.

pub mod acp;
pub mod aider;
pub mod amp;
pub mod cline;
pub mod copilot_chat;
pub mod copilot_cli;
pub mod copilot_stream;
pub mod crush;
pub mod cursor;
pub mod cursor_db;
pub mod cursor_stream;
pub mod droid;
pub mod goose;
pub mod kimi_cli;
pub mod kimi_code;
mod kimi_parts;
pub mod kimi_stream;
pub mod opencode;
pub mod opencode_events;
pub mod opencode_stream;
pub mod pi;
pub mod pi_stream;
mod signed_thinking;
