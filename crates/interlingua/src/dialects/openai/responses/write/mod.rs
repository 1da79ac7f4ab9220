//! Writes events as items: of a request, of a whole response, and of a stream.

pub(super) mod answer;
mod items;
mod open;
pub(super) mod request;
