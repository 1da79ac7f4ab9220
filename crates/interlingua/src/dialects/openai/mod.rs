//! OpenAI's two APIs, Codex rollouts, and flavours of the chat API by other vendors.

pub mod chat;
pub mod codex;
pub mod codex_app_server;
pub mod codex_exec;
pub mod copilot;
mod items;
pub mod kimi;
mod live_items;
pub mod responses;

use crate::wire::settings::PairLimits;

/// The limits of `metadata`, from the reference of both APIs.
const METADATA: PairLimits = PairLimits { count: 16, name: 64, value: 512 };
