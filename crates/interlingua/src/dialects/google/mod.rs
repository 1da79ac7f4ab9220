//! What Google's model APIs and the agents around them speak. All of them say what they say in the same parts.

pub mod gemini;
pub mod gemini_cli;
mod logged;
mod parts;
pub mod qwen_code;
