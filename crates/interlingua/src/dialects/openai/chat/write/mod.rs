//! Events to messages: whole ones, gathered, and chunks of a stream.

mod answer;
mod message;
mod request;
mod tally;

pub(super) use answer::{Chunks, Completion};
pub(super) use request::ChatRequest;
