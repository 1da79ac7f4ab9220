//! `acp` with the mock agent: the Agent Client Protocol on stdin and stdout, as an editor sees it. The numbers in the names are
//! those of the conformance list.

#![expect(clippy::unwrap_used, reason = "a test that cannot run has failed")]

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::Dir;

/// An editor.
struct Editor {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<Value>,
    calls: u64,
}

impl Editor {
    fn start(dir: &Dir) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_interlingua"))
            .args(["acp", "mock", "--sessions", "sessions"])
            .current_dir(dir.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the command starts");
        let stdout = BufReader::new(child.stdout.take().expect("piped"));
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in stdout.lines() {
                let line = serde_json::from_str(&line.expect("text")).expect("stdout holds only messages");
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        let input = child.stdin.take();
        let mut editor = Self { child, input, lines, calls: 0 };
        let begun = editor.call("initialize", &json!({ "protocolVersion": 1 }));
        assert_eq!(begun["result"]["protocolVersion"], 1);
        editor
    }

    fn write(&mut self, bytes: &[u8]) {
        self.input.as_mut().expect("open").write_all(bytes).expect("the command reads");
    }

    fn send(&mut self, message: &Value) {
        self.write(format!("{message}\n").as_bytes());
    }

    fn next(&self) -> Value {
        self.lines.recv_timeout(Duration::from_secs(30)).expect("a message")
    }

    /// Sends a request. Returns its id.
    fn ask(&mut self, method: &str, params: &Value) -> u64 {
        self.calls += 1;
        self.send(&json!({ "jsonrpc": "2.0", "id": self.calls, "method": method, "params": params }));
        self.calls
    }

    /// The messages up to the one that matches.
    fn until(&self, matches: impl Fn(&Value) -> bool) -> (Vec<Value>, Value) {
        let mut before = Vec::new();
        loop {
            let message = self.next();
            if matches(&message) {
                return (before, message);
            }
            before.push(message);
        }
    }

    fn response(&self, id: u64) -> (Vec<Value>, Value) {
        self.until(|message| message["id"] == id && message["method"].is_null())
    }

    fn call(&mut self, method: &str, params: &Value) -> Value {
        let id = self.ask(method, params);
        self.response(id).1
    }

    fn new_session(&mut self) -> String {
        let opened = self.call("session/new", &json!({ "cwd": "/", "mcpServers": [] }));
        opened["result"]["sessionId"].as_str().unwrap_or_else(|| panic!("{opened}")).to_owned()
    }

    fn prompt(&mut self, session: &str, text: &str) -> u64 {
        self.ask("session/prompt", &prompt(session, text))
    }

    /// Waits for a request of the agent. Returns its id.
    fn asked(&self, method: &str) -> Value {
        self.until(|message| message["method"] == method).1["id"].clone()
    }

    fn end(mut self) -> Option<i32> {
        drop(self.input.take());
        self.child.wait().expect("the command ends").code()
    }
}

fn prompt(session: &str, text: &str) -> Value {
    json!({ "sessionId": session, "prompt": [{ "type": "text", "text": text }] })
}

fn updates<'m>(messages: &'m [Value], kind: &str) -> Vec<&'m Value> {
    let all = messages.iter().map(|message| &message["params"]["update"]);
    all.filter(|update| update["sessionUpdate"] == kind).collect()
}

fn text(messages: &[Value], kind: &str) -> String {
    updates(messages, kind).iter().map(|update| update["content"]["text"].as_str().unwrap()).collect()
}

fn selected(id: &Value, option: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "result": { "outcome": { "outcome": "selected", "optionId": option } } })
}

#[test]
fn list_95_a_prompt_streams_texts_and_tools_and_ends() {
    let dir = Dir::new("editor-prompt");
    let mut editor = Editor::start(&dir);
    let session = editor.new_session();
    let id = editor.prompt(&session, "demo");
    let (messages, ended) = editor.response(id);
    assert_eq!(ended["result"]["stopReason"], "end_turn");
    assert_eq!(text(&messages, "agent_message_chunk"), "First a tool.That was all.");
    assert!(updates(&messages, "agent_message_chunk").len() > 3);
    assert_eq!(text(&messages, "agent_thought_chunk"), "I show what I can do.");
    assert_eq!(updates(&messages, "tool_call")[0]["title"], "mock.search");
    assert_eq!(updates(&messages, "tool_call_update")[0]["status"], "completed");
    assert!(updates(&messages, "user_message_chunk").is_empty());
    assert!(messages.iter().all(|message| message["params"]["sessionId"] == session.as_str()));
    let failed = editor.call("session/prompt", &prompt(&session, "error"));
    assert_eq!(failed["error"]["code"], -32603);
    let unknown = editor.call("session/fork", &json!({ "sessionId": session }));
    assert_eq!(unknown["error"]["code"], -32601);
    assert_eq!(editor.end(), Some(0));
}

#[test]
fn list_95_a_cancelled_prompt_answers_cancelled_and_the_session_goes_on() {
    let mut editor = Editor::start(&Dir::new("editor-cancel"));
    let session = editor.new_session();
    let cancel = json!({ "jsonrpc": "2.0", "method": "session/cancel", "params": { "sessionId": session } });
    let id = editor.prompt(&session, "slow 20000");
    editor.until(|message| message["params"]["update"]["content"]["text"] == "wait.");
    editor.send(&cancel);
    assert_eq!(editor.response(id).1["result"]["stopReason"], "cancelled");
    let id = editor.prompt(&session, "permission x");
    let asked = editor.asked("session/request_permission");
    editor.send(&cancel);
    assert_eq!(editor.response(id).1["result"]["stopReason"], "cancelled");
    // The answer is too late.
    editor
        .send(&json!({ "jsonrpc": "2.0", "id": asked, "result": { "outcome": { "outcome": "cancelled" } } }));
    let id = editor.prompt(&session, "slow 20000");
    editor.until(|message| message["params"]["update"]["content"]["text"] == "wait.");
    editor.send(&json!({ "jsonrpc": "2.0", "method": "$/cancel_request", "params": { "requestId": id } }));
    assert_eq!(editor.response(id).1["result"]["stopReason"], "cancelled");
    let id = editor.prompt(&session, "hello");
    assert_eq!(text(&editor.response(id).0, "agent_message_chunk"), "hello");
}

#[test]
fn list_96_permissions_and_questions_are_asked_one_to_one() {
    let mut editor = Editor::start(&Dir::new("editor-requests"));
    let session = editor.new_session();
    for (option, status) in [
        ("allow_once", "completed"),
        ("allow_always", "completed"),
        ("reject_once", "failed"),
        ("invented", "failed"),
    ] {
        let id = editor.prompt(&session, "permission x");
        let asked = editor.asked("session/request_permission");
        editor.send(&selected(&asked, option));
        let (messages, ended) = editor.response(id);
        assert_eq!(ended["result"]["stopReason"], "end_turn");
        assert_eq!(updates(&messages, "tool_call_update")[0]["status"], status, "{option}");
        assert!(messages.iter().all(|message| message["method"] == "session/update"), "{messages:?}");
    }
    // An answer without a meaning rejects.
    let id = editor.prompt(&session, "permission x");
    let asked = editor.asked("session/request_permission");
    editor.send(&json!({ "jsonrpc": "2.0", "id": asked, "result": { "outcome": [] } }));
    assert_eq!(updates(&editor.response(id).0, "tool_call_update")[0]["status"], "failed");
    for (content, answer) in [
        (
            json!({ "q0": "Blue", "q1": "Green" }),
            Some(r#"{"And the other one?":"Green","Which color?":"Blue"}"#),
        ),
        (json!({ "q1": "Green" }), Some(r#""And the other one?":"Green""#)),
        (json!({}), None),
    ] {
        let id = editor.prompt(&session, "questions");
        let asked = editor.asked("elicitation/create");
        let result = json!({ "action": "accept", "content": content });
        editor.send(&json!({ "jsonrpc": "2.0", "id": asked, "result": result }));
        let (messages, _) = editor.response(id);
        let result = updates(&messages, "tool_call_update")[0];
        let told = result["content"][0]["content"]["text"].as_str().unwrap();
        let told = told.replace(
            r#"{"Which color?":"Blue","And the other one?":"Green"}"#,
            r#"{"And the other one?":"Green","Which color?":"Blue"}"#,
        );
        assert_eq!(result["status"] == "completed", answer.is_some(), "{result}");
        assert!(told.contains(answer.unwrap_or("")), "{told}");
    }
    let id = editor.prompt(&session, "question");
    let asked = editor.asked("elicitation/create");
    let refused = json!({ "code": -32601, "message": "no forms here" });
    editor.send(&json!({ "jsonrpc": "2.0", "id": asked, "error": refused }));
    assert_eq!(updates(&editor.response(id).0, "tool_call_update")[0]["status"], "failed");
}

#[test]
fn sessions_run_at_the_same_time_and_their_requests_are_apart() {
    let mut editor = Editor::start(&Dir::new("editor-several"));
    let (one, two) = (editor.new_session(), editor.new_session());
    let (first, second) = (editor.prompt(&one, "permission x"), editor.prompt(&two, "permission x"));
    let asked = [editor.asked("session/request_permission"), editor.asked("session/request_permission")];
    assert_ne!(asked[0], asked[1]);
    let of_two = asked.iter().find(|id| id.as_str().unwrap().starts_with(&two)).unwrap();
    editor.send(&selected(of_two, "allow_once"));
    let (messages, _) = editor.response(second);
    assert_eq!(updates(&messages, "tool_call_update")[0]["status"], "completed");
    let busy = editor.call("session/prompt", &prompt(&one, "meanwhile"));
    assert_eq!(busy["error"]["code"], -32600);
    let of_one = asked.iter().find(|id| id.as_str().unwrap().starts_with(&one)).unwrap();
    editor.send(&selected(of_one, "reject_once"));
    let (messages, _) = editor.response(first);
    assert_eq!(updates(&messages, "tool_call_update")[0]["status"], "failed");
    editor.call("session/close", &json!({ "sessionId": one }));
    assert_eq!(editor.call("session/prompt", &prompt(&one, "gone"))["error"]["code"], -32002);
    // An agent that crashes starts again.
    assert_eq!(editor.call("session/prompt", &prompt(&two, "exit 3"))["error"]["code"], -32603);
    assert_eq!(editor.call("session/prompt", &prompt(&two, "hello"))["result"]["stopReason"], "end_turn");
}

#[test]
fn a_session_is_loaded_with_its_messages_and_its_mode() {
    let dir = Dir::new("editor-load");
    let mut editor = Editor::start(&dir);
    let (session, unused) = (editor.new_session(), editor.new_session());
    let set_mode = |mode: &str| json!({ "sessionId": session, "modeId": mode });
    assert_eq!(editor.call("session/set_mode", &set_mode("never"))["error"]["code"], -32602);
    assert_eq!(editor.call("session/set_mode", &set_mode("plan"))["result"], json!({}));
    editor.call("session/prompt", &prompt(&session, "echo hello there"));
    assert_eq!(editor.end(), Some(0));
    assert_eq!(dir.files(), [format!("sessions/{session}.db")]);

    let mut editor = Editor::start(&dir);
    let place = |id: &str| json!({ "sessionId": id, "cwd": "/", "mcpServers": [] });
    for unknown in [unused.as_str(), "../editor-load", "", "none"] {
        assert_eq!(editor.call("session/load", &place(unknown))["error"]["code"], -32002, "{unknown}");
    }
    let id = editor.ask("session/load", &place(&session));
    let (messages, loaded) = editor.response(id);
    assert_eq!(text(&messages, "user_message_chunk"), "echo hello there");
    assert_eq!(text(&messages, "agent_message_chunk"), "hello there");
    assert_eq!(loaded["result"]["modes"]["currentModeId"], "plan");
    let id = editor.prompt(&session, "again");
    let (messages, _) = editor.response(id);
    assert_eq!(text(&messages, "agent_message_chunk"), "again");
    assert!(updates(&messages, "current_mode_update").is_empty());
    let id = editor.ask("session/resume", &place(&session));
    assert!(editor.response(id).0.is_empty());
}

#[test]
fn hostile_messages_are_refused_and_the_connection_goes_on() {
    let mut editor = Editor::start(&Dir::new("editor-hostile"));
    let session = editor.new_session();
    let deep = format!("{}{}\n", "[".repeat(100_000), "]".repeat(100_000));
    for (line, code) in [
        ("not JSON\n", -32700),
        ("{\"jsonrpc\":\"2.0\"\n", -32700),
        ("\u{fffd}\u{0}\n", -32700),
        (deep.as_str(), -32700),
        ("[]\n", -32600),
        ("null\n", -32600),
        ("{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"initialize\"}\n", -32600),
        ("{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"initialize\"}\n", -32600),
        ("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":7}\n", -32600),
        ("{\"jsonrpc\":\"2.0\",\"id\":1}\n", -32600),
        ("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"session/new\",\"params\":[]}\n", -32602),
        ("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\"}\n", -32601),
    ] {
        editor.write(line.as_bytes());
        assert_eq!(editor.next()["error"]["code"], code, "{}", line.chars().take(80).collect::<String>());
    }
    editor.write(b"\xff\xfe\n");
    assert_eq!(editor.next()["error"]["code"], -32700);
    // Lines without an answer.
    editor.write(b"\n  \n{\"jsonrpc\":\"2.0\",\"method\":\"_unknown\"}\n{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"result\":1}\n");
    editor
        .write(b"{\"jsonrpc\":\"2.0\",\"method\":\"session/cancel\",\"params\":{\"sessionId\":\"none\"}}\n");
    let blocks = |blocks: Value| json!({ "sessionId": session, "prompt": blocks });
    for (method, params) in [
        ("initialize", json!({ "protocolVersion": "2026" })),
        ("session/new", json!({ "cwd": 1 })),
        ("session/new", json!({ "cwd": "relative" })),
        ("session/new", json!({ "cwd": "/no/such/folder" })),
        ("session/new", json!({ "cwd": "/", "mcpServers": [{ "name": "x" }] })),
        ("session/new", json!({ "cwd": "/", "mcpServers": {} })),
        ("session/prompt", json!({ "sessionId": session })),
        ("session/prompt", blocks(json!([]))),
        ("session/prompt", blocks(json!([{ "type": "text", "text": "  " }]))),
        ("session/prompt", blocks(json!([{ "type": "text" }]))),
        ("session/prompt", blocks(json!([{ "type": "audio", "data": "", "mimeType": "audio/wav" }]))),
        ("session/prompt", blocks(json!(["text"]))),
        ("session/set_mode", json!({ "sessionId": session })),
    ] {
        let answer = editor.call(method, &params);
        assert_eq!(answer["error"]["code"], -32602, "{method} {params}: {answer}");
    }
    let context = json!([
        { "type": "text", "text": "echo see " },
        { "type": "resource_link", "name": "a.rs", "uri": "file:///a.rs" },
        { "type": "resource", "resource": { "uri": "file:///b.rs", "text": "fn b() {}" } },
    ]);
    let id = editor.ask("session/prompt", &blocks(context));
    let said = text(&editor.response(id).0, "agent_message_chunk");
    assert!(said.starts_with("see [a.rs](file:///a.rs)") && said.contains("fn b() {}"), "{said}");
    // Input that ends within a turn and within a line ends the command.
    editor.prompt(&session, "slow 20000");
    editor.write(b"{\"jsonrpc\":");
    assert_eq!(editor.end(), Some(0));
}
