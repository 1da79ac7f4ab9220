//! Google's model APIs and the agents built on them. All share the same content parts.

pub mod gemini;
pub mod gemini_cli;
pub mod gemini_stream;
mod logged;
mod parts;
pub mod qwen_code;
