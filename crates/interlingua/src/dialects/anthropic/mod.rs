//! The dialects of Anthropic's API and of Claude Code. All of them use the same content blocks.

pub(crate) mod blocks;
pub mod claude_code;
pub mod claude_stream;
pub mod messages;
mod stream;
