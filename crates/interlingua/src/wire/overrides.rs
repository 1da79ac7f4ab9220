//! Settings of the caller that replace those of a request: model, limit on tokens, stream.

use crate::dialects::Options;
use crate::json::{Raw, Str};
use crate::model::Request;
use crate::pipe::WriterOutput;

/// Settings of the caller that replace those of a request.
pub(crate) struct Overrides {
    pub(crate) model: Option<String>,
    max_tokens: Option<u64>,
    stream: Option<bool>,
}

impl Overrides {
    /// The overrides in the options.
    pub(crate) fn new(options: &Options) -> Self {
        Self { model: options.model.clone(), max_tokens: options.max_tokens, stream: options.stream }
    }

    /// The changed request, if there are changes.
    pub(crate) fn apply<'a>(&self, request: &Request<'a>, out: &mut WriterOutput<'_>) -> Option<Request<'a>> {
        let asked = request.max_tokens.as_ref().and_then(|limit| limit.as_str().parse::<u64>().ok());
        let limit = self.max_tokens.filter(|most| asked.is_none_or(|asked| asked > *most));
        let stream = self.stream.filter(|stream| request.stream != Some(*stream));
        if self.model.is_none() && limit.is_none() && stream.is_none() {
            return None;
        }
        let mut changed = request.clone();
        changed.stream = stream.or(changed.stream);
        if let Some(model) = &self.model {
            // The caller asked for the override: the value is replaced, and no loss is booked.
            out.ledger.note("another model is asked for than the source names, as the caller wants");
            changed.model = Some(Str::from_plain(model));
        }
        if let Some(limit) = limit {
            out.ledger.note("the limit on tokens is that of the budget, as the caller wants");
            changed.max_tokens = Some(Raw::owned(limit.to_string()));
        }
        Some(changed)
    }
}
