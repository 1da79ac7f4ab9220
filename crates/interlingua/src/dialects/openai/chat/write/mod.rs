//! Writes events as whole messages and as chunks of a stream.

mod answer;
mod message;
mod request;
mod tally;

pub(super) use answer::{Chunks, Completion};
pub(super) use request::ChatRequest;
