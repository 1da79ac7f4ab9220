//! The dialects of Anthropic's API and of Claude Code. All of them use the same content blocks (`blocks`).

pub mod amp_stream;
mod citations;
pub mod claude_code;
pub mod claude_stream;
pub mod messages;
pub mod qwen_stream;
mod stream;
mod usage;
