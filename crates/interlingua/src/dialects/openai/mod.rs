//! What OpenAI's APIs and Codex speak.

pub mod chat;
pub mod codex;
