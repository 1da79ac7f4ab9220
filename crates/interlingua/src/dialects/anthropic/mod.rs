//! Anthropic Messages.

pub(crate) mod blocks;
