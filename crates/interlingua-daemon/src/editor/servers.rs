//! Servers of the Model Context Protocol: the editor's list as the map by name that agents read.

use serde_json::{Map, Value, json};

use super::messages::RpcError;

/// The servers of a session; `None` for an empty list.
pub(super) fn of(params: &Map<String, Value>) -> Result<Option<Value>, RpcError> {
    let servers = match params.get("mcpServers") {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::Array(servers)) => servers,
        Some(_) => return Err(RpcError::params("`mcpServers` is not a list".to_owned())),
    };
    let mut named = Map::new();
    for server in servers {
        let text = |name: &str| {
            let found = server[name].as_str();
            found.ok_or_else(|| RpcError::params(format!("a server in `mcpServers` has no text `{name}`")))
        };
        let own = match server["type"].as_str() {
            Some(kind @ ("http" | "sse")) => {
                json!({ "type": kind, "url": text("url")?, "headers": pairs(&server["headers"])? })
            }
            None | Some("stdio") => {
                let arguments = match &server["args"] {
                    Value::Null => json!([]),
                    arguments => arguments.clone(),
                };
                json!({ "command": text("command")?, "args": arguments, "env": pairs(&server["env"])? })
            }
            Some(kind) => {
                return Err(RpcError::params(format!(
                    "a server in `mcpServers` has the unknown type `{kind}`"
                )));
            }
        };
        named.insert(text("name")?.to_owned(), own);
    }
    Ok((!named.is_empty()).then_some(Value::Object(named)))
}

/// A list of names and values as an object.
fn pairs(list: &Value) -> Result<Value, RpcError> {
    let wrong = || RpcError::params("a variable or header has no texts `name` and `value`".to_owned());
    let list = match list {
        Value::Null => return Ok(json!({})),
        list => list.as_array().ok_or_else(wrong)?,
    };
    let pair = |pair: &Value| Some((pair["name"].as_str()?.to_owned(), Value::from(pair["value"].as_str()?)));
    let pairs: Option<Map<String, Value>> = list.iter().map(pair).collect();
    pairs.map(Value::Object).ok_or_else(wrong)
}
