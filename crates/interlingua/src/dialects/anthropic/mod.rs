//! What Anthropic's API and Claude Code speak. All of them say what they say in the same content blocks.

pub(crate) mod blocks;
pub mod claude_code;
pub mod claude_stream;
pub mod messages;
mod stream;
