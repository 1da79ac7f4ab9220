//! Messages of JSON-RPC 2.0, one a line.

use serde_json::{Map, Value, json};

use crate::problem::ApiProblem;

/// Error codes of JSON-RPC and of the protocol.
pub(super) mod code {
    pub(in crate::editor) const PARSE: i64 = -32700;
    pub(in crate::editor) const INVALID_REQUEST: i64 = -32600;
    pub(in crate::editor) const METHOD_NOT_FOUND: i64 = -32601;
    pub(in crate::editor) const INVALID_PARAMS: i64 = -32602;
    pub(in crate::editor) const INTERNAL: i64 = -32603;
    pub(in crate::editor) const NOT_FOUND: i64 = -32002;
}

/// A message of the editor. `whole` is the message itself.
pub(super) enum EditorMessage {
    Request { id: Value, method: String, params: Map<String, Value>, whole: Value },
    Notification { method: String, params: Map<String, Value>, whole: Value },
    Response { id: Value, whole: Value },
}

/// The error that answers a request.
#[derive(Debug)]
pub(super) struct RpcError {
    code: i64,
    pub(super) message: String,
}

impl RpcError {
    pub(super) const fn new(code: i64, message: String) -> Self {
        Self { code, message }
    }

    pub(super) const fn params(message: String) -> Self {
        Self::new(code::INVALID_PARAMS, message)
    }

    pub(super) fn response(&self, id: &Value) -> Vec<u8> {
        let Self { code, message } = self;
        line(&json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } }))
    }
}

impl From<ApiProblem> for RpcError {
    fn from(problem: ApiProblem) -> Self {
        let code = match problem.status {
            400 | 403 => code::INVALID_PARAMS,
            404 if problem.kind == "session_not_found" => code::NOT_FOUND,
            _ => code::INTERNAL,
        };
        Self::new(code, problem.detail)
    }
}

/// The line of a result.
pub(super) fn result(id: &Value, result: &Value) -> Vec<u8> {
    line(&json!({ "jsonrpc": "2.0", "id": id, "result": result }))
}

/// A message as a line.
pub(super) fn line(message: &Value) -> Vec<u8> {
    let mut line = message.to_string().into_bytes();
    line.push(b'\n');
    line
}

/// Parses a line. The error comes with the id of the request, null if the id cannot be read.
pub(super) fn parse(bytes: &[u8]) -> Result<EditorMessage, (Value, RpcError)> {
    let whole: Value = serde_json::from_slice(bytes).map_err(|error| {
        (Value::Null, RpcError::new(code::PARSE, format!("the line is not JSON: {error}")))
    })?;
    let id = whole.get("id").cloned();
    let is_id = |id: &Value| id.is_string() || id.is_number() || id.is_null();
    let known = id.clone().filter(is_id).unwrap_or_default();
    let wrong =
        |message: &str| Err((known.clone(), RpcError::new(code::INVALID_REQUEST, message.to_owned())));
    if !whole.is_object() {
        return wrong("the line is not an object; batches are not part of the protocol");
    }
    if whole["jsonrpc"] != "2.0" {
        return wrong("`jsonrpc` is not `2.0`");
    }
    if id.as_ref().is_some_and(|id| !is_id(id)) {
        return wrong("`id` is not a text or a number");
    }
    let params = match &whole["params"] {
        Value::Object(params) => Ok(params.clone()),
        Value::Null => Ok(Map::new()),
        _ => Err(RpcError::params("`params` is not an object".to_owned())),
    };
    match (&whole["method"], id) {
        (Value::String(method), Some(id)) => {
            let params = params.map_err(|error| (id.clone(), error))?;
            Ok(EditorMessage::Request { id, method: method.clone(), params, whole })
        }
        (Value::String(method), None) => {
            let params = params.map_err(|error| (Value::Null, error))?;
            Ok(EditorMessage::Notification { method: method.clone(), params, whole })
        }
        (Value::Null, Some(id)) if whole.get("result").is_some() || whole.get("error").is_some() => {
            Ok(EditorMessage::Response { id, whole })
        }
        (Value::Null, _) => wrong("the message has no method, no result and no error"),
        _ => wrong("`method` is not a text"),
    }
}
