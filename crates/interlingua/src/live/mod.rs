//! Shared parts of the dialects of running agents: the input of an agent, and JSON-RPC.

pub(crate) mod input;
pub(crate) mod json_rpc;
