//! Shared parts of the dialects of running agents: the input of an agent, JSON-RPC, and printed streams.

pub(crate) mod input;
pub(crate) mod input_support;
pub(crate) mod json_rpc;
pub(crate) mod printed;
pub(crate) mod streamed;
