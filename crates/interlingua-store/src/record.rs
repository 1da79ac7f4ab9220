//! A stored conversation as a record.

use std::fmt;

use interlingua::dialects::{Dialect, Role};
use interlingua_record::calls::{CallsRecord, ModelCall, record_of_calls};

use crate::exchange::StoredExchange;

/// A conversation without a record.
#[derive(Debug)]
#[non_exhaustive]
pub enum RecordError {
    /// No exchange has a response.
    NoResponse,
    /// The dialect of an exchange is unknown.
    UnknownDialect(String),
    /// The core cannot read the dialect.
    Core(interlingua::error::Error),
}

impl fmt::Display for RecordError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RecordError::NoResponse => f.write_str("no exchange of the conversation has a response"),
            RecordError::UnknownDialect(name) => write!(f, "the dialect `{name}` is unknown"),
            RecordError::Core(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for RecordError {}

/// The record of a conversation.
///
/// `exchanges` are in the order of [`crate::Store::conversation`]. The request of the last successful exchange holds the
/// history, and its response is the last turn. Where that request continues an earlier response by its id, the
/// earlier exchange comes first, and so on back to a request that holds its whole history.
pub fn record(exchanges: &[StoredExchange]) -> Result<CallsRecord, RecordError> {
    let mut at = exchanges.iter().rposition(|exchange| (200..300).contains(&exchange.facts.status));
    let mut chain = Vec::new();
    while let Some(last) = at {
        let (earlier, rest) = exchanges.split_at(last);
        let Some(exchange) = rest.first() else { break };
        chain.push(exchange);
        at = exchange.facts.previous_response.as_ref().and_then(|previous| {
            earlier.iter().rposition(|earlier| earlier.facts.response_id.as_ref() == Some(previous))
        });
    }
    chain.reverse();
    let first = chain.first().ok_or(RecordError::NoResponse)?;
    let calls = chain
        .iter()
        .map(|exchange| call_of(exchange))
        .collect::<Result<Vec<ModelCall<'_>>, RecordError>>()?;
    let id = if first.facts.conversation.is_empty() { &first.facts.id } else { &first.facts.conversation };
    record_of_calls(id, &calls).map_err(RecordError::Core)
}

fn call_of(exchange: &StoredExchange) -> Result<ModelCall<'_>, RecordError> {
    let StoredExchange { facts, request, response, .. } = exchange;
    let unknown = || RecordError::UnknownDialect(facts.client_dialect.clone());
    let dialect = Dialect::named(&facts.client_dialect).ok_or_else(unknown)?;
    let role = if facts.streamed { Role::Stream } else { Role::Response };
    Ok(ModelCall::new(dialect, request, (response, role)).at(facts.started_ms, facts.duration_ms))
}
