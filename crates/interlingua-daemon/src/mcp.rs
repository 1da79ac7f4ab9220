//! The servers of the Model Context Protocol of a session, in the terms of each agent. Clients name them as Claude Code does:
//! `{"NAME":{"command":"…","args":[…],"env":{…}}}`, or with `type`, `url` and `headers`.

use serde_json::{Map, Value, json};

use crate::problem::ApiProblem;

/// How the servers reach an agent over its protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum McpPlace {
    /// `config.mcp_servers` of the thread.
    CodexThread,
    /// `mcpServers` of the session, a list.
    AcpSession,
}

/// Refuses servers without a command and without an address.
pub(crate) fn check(servers: &Value) -> Result<(), ApiProblem> {
    let wrong = |detail: String| Err(ApiProblem::invalid_request(detail));
    let Some(servers) = servers.as_object() else {
        return wrong("`mcp` is not an object of servers by name".to_owned());
    };
    for (name, server) in servers {
        if !server["command"].is_string() && !server["url"].is_string() {
            return wrong(format!("the MCP server `{name}` has neither a `command` nor a `url`"));
        }
    }
    Ok(())
}

/// Adds the servers to the lines that open the agent's own session. All other lines of the input are unchanged.
pub(crate) fn add(place: McpPlace, servers: &Value, lines: Vec<u8>) -> Vec<u8> {
    let text = String::from_utf8_lossy(&lines);
    if !text.split_inclusive('\n').any(|line| opening(place, line).is_some()) {
        return lines;
    }
    let added = text.split_inclusive('\n').map(|line| match opening(place, line) {
        Some(mut request) => {
            match place {
                McpPlace::CodexThread => request["params"]["config"]["mcp_servers"] = servers.clone(),
                McpPlace::AcpSession => request["params"]["mcpServers"] = listed(servers),
            }
            format!("{request}\n")
        }
        None => line.to_owned(),
    });
    added.collect::<String>().into_bytes()
}

/// The request of a line, if it opens a session.
fn opening(place: McpPlace, line: &str) -> Option<Value> {
    let methods: &[&str] = match place {
        McpPlace::CodexThread => &["thread/start", "thread/resume"],
        McpPlace::AcpSession => &["session/new", "session/load", "session/resume"],
    };
    let request: Value = serde_json::from_str(line).ok()?;
    methods.contains(&request["method"].as_str()?).then_some(request)
}

/// The servers as the Agent Client Protocol lists them.
fn listed(servers: &Value) -> Value {
    let pairs = |of: &Value| -> Value {
        let members = of.as_object().into_iter().flatten();
        members.map(|(name, value)| json!({ "name": name, "value": value })).collect()
    };
    let none = Map::new();
    let servers = servers.as_object().unwrap_or(&none).iter().map(|(name, server)| {
        if server["command"].is_string() {
            let args = server["args"].as_array().cloned().unwrap_or_default();
            return json!({
                "name": name, "command": server["command"], "args": args, "env": pairs(&server["env"]),
            });
        }
        let kind = server["type"].as_str().unwrap_or("http");
        json!({ "type": kind, "name": name, "url": server["url"], "headers": pairs(&server["headers"]) })
    });
    servers.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn servers() -> Value {
        json!({
            "birds": { "command": "birds", "args": ["-v"], "env": { "A": "1" } },
            "far": { "type": "sse", "url": "http://127.0.0.1/", "headers": { "x-key": "k" } },
        })
    }

    fn added(place: McpPlace, line: &str) -> Value {
        let bytes = add(place, &servers(), format!("{line}\n").into_bytes());
        serde_json::from_slice(&bytes).unwrap_or_default()
    }

    #[test]
    fn codex_gets_the_servers_beside_its_other_settings() {
        let line = r#"{"id":"thread/start#2","method":"thread/start","params":{"config":{"model_reasoning_effort":"low"}}}"#;
        let config = &added(McpPlace::CodexThread, line)["params"]["config"];
        assert_eq!((&config["model_reasoning_effort"], &config["mcp_servers"]), (&json!("low"), &servers()));
        let line = r#"{"id":"thread/resume#2","method":"thread/resume","params":{"threadId":"t"}}"#;
        assert_eq!(added(McpPlace::CodexThread, line)["params"]["config"]["mcp_servers"], servers());
    }

    #[test]
    fn agents_over_acp_get_a_list() {
        let line = r#"{"jsonrpc":"2.0","id":"session/new#2","method":"session/new","params":{"cwd":"/","mcpServers":[]}}"#;
        let list = json!([
            { "name": "birds", "command": "birds", "args": ["-v"], "env": [{ "name": "A", "value": "1" }] },
            { "type": "sse", "name": "far", "url": "http://127.0.0.1/", "headers": [{ "name": "x-key", "value": "k" }] },
        ]);
        assert_eq!(added(McpPlace::AcpSession, line)["params"]["mcpServers"], list);
    }

    #[test]
    fn other_lines_keep_their_bytes() {
        let lines = b"{\"method\": \"initialized\", \"params\":{\"n\":1.0}}\nno line".to_vec();
        assert_eq!(add(McpPlace::CodexThread, &servers(), lines.clone()), lines);
        assert_eq!(add(McpPlace::AcpSession, &servers(), lines.clone()), lines);
    }

    #[test]
    fn a_server_without_a_command_and_an_address_is_refused() {
        assert!(check(&servers()).is_ok());
        for wrong in [json!([]), json!({ "a": {} }), json!({ "a": { "command": 1 } }), json!("a")] {
            assert!(check(&wrong).is_err(), "{wrong}");
        }
    }
}
