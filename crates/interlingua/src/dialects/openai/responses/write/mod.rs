//! Events to items: of a request, of a whole response, and as events of a stream.

pub(super) mod answer;
mod items;
pub(super) mod request;
