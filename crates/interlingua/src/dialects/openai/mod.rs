//! What OpenAI's APIs and Codex speak, and the flavours of other vendors.

pub mod chat;
pub mod codex;
pub mod copilot;
mod items;
pub mod kimi;
pub mod responses;
