//! The mock agent: no key, no network, the same lines for the same prompts. It speaks the dialect of Claude Code, so that a
//! session with it takes the same way as a session with a real agent.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::process::{AgentEnd, AgentOutput};
use crate::settings::SessionSettings;

/// Runs the agent until its input ends.
pub(crate) async fn run(
    settings: SessionSettings,
    native_id: Option<String>,
    input: mpsc::UnboundedReceiver<Vec<u8>>,
    output: mpsc::Sender<AgentOutput>,
) {
    let mut agent = MockAgent {
        input,
        rest: Vec::new(),
        session: native_id.unwrap_or_else(|| "mock-session".to_owned()),
        pace: Duration::from_millis(settings.mock_pace_ms.unwrap_or(0)),
        settings,
        output,
        messages: 0,
        calls: 0,
        waiting: Vec::new(),
    };
    while let Some(line) = agent.next_line().await {
        if agent.received(&line).await.is_none() {
            return;
        }
    }
    let _ = agent.output.send(AgentOutput::Ended(AgentEnd { code: Some(0), ..AgentEnd::default() })).await;
}

struct MockAgent {
    input: mpsc::UnboundedReceiver<Vec<u8>>,
    /// Input after the last line.
    rest: Vec<u8>,
    session: String,
    pace: Duration,
    settings: SessionSettings,
    output: mpsc::Sender<AgentOutput>,
    messages: u64,
    calls: u64,
    /// The steps of the turn after the open requests.
    waiting: Vec<Step>,
}

/// A step of a turn.
#[derive(Clone, Debug)]
enum Step {
    Say(String),
    Think(String),
    /// A tool call with its result, and whether it failed.
    Call {
        name: &'static str,
        input: Value,
        output: String,
        failed: bool,
    },
    /// A tool call that needs permission.
    Ask {
        name: &'static str,
        input: Value,
    },
    /// A tool call that needs permission, from an agent that does not read its input any more.
    AskDeaf {
        name: &'static str,
        input: Value,
    },
    /// Questions of one request.
    Question(Value),
    /// A line of a type that no version of the agent writes.
    Unknown,
    /// A line that is not JSON.
    Garbage,
    Fail(String),
    /// The agent ends with this code.
    Exit(i32),
    Wait(u64),
}

impl MockAgent {
    /// Handles a line of the client. Returns `None` when nobody reads the output any more.
    async fn received(&mut self, line: &Value) -> Option<()> {
        match line["type"].as_str() {
            Some("user") => {
                let content = &line["message"]["content"];
                let parts = || content.as_array().into_iter().flatten();
                let texts =
                    || parts().filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join("\n");
                let text = content.as_str().map_or_else(texts, str::to_owned);
                self.begin(&text).await
            }
            Some("control_response") => self.answered(&line["response"]).await,
            Some("control_request") if is_interrupt(line) => self.interrupted().await,
            _ => Some(()),
        }
    }

    /// The next line of the client; `None` at the end. Lines that are not JSON are skipped.
    async fn next_line(&mut self) -> Option<Value> {
        loop {
            while let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.rest.drain(..=end).collect();
                if let Ok(line) = serde_json::from_slice(&line) {
                    return Some(line);
                }
            }
            let bytes = self.input.recv().await?;
            self.rest.extend_from_slice(&bytes);
        }
    }

    /// Waits. Returns whether the client interrupted the wait.
    async fn wait(&mut self, time: Duration) -> bool {
        let sleep = tokio::time::sleep(time);
        tokio::pin!(sleep);
        loop {
            tokio::select! {
                () = &mut sleep => return false,
                line = self.next_line() => match line {
                    Some(line) if is_interrupt(&line) => return true,
                    Some(_) => {}
                    None => return false,
                },
            }
        }
    }

    async fn interrupted(&mut self) -> Option<()> {
        self.waiting.clear();
        self.line(json!({
            "type": "result", "subtype": "error_during_execution", "is_error": true,
            "terminal_reason": "aborted_streaming", "result": "",
        }))
        .await
    }

    async fn begin(&mut self, text: &str) -> Option<()> {
        self.line(json!({
            "type": "system", "subtype": "init", "cwd": self.settings.directory, "model": "mock-model",
            "permissionMode": self.settings.permission(), "claude_code_version": "mock",
        }))
        .await?;
        self.waiting = script(text);
        self.go_on().await
    }

    /// Runs the steps up to the next request, or to the end of the turn.
    async fn go_on(&mut self) -> Option<()> {
        while !self.waiting.is_empty() {
            let step = self.waiting.remove(0);
            match step {
                Step::Say(text) => self.say(&text).await?,
                Step::Think(text) => {
                    let block = json!({ "type": "thinking", "thinking": text, "signature": "" });
                    self.assistant(&block).await?;
                }
                Step::Call { name, input, output, failed } => {
                    let id = self.call(name, &input).await?;
                    self.result(&id, &output, failed).await?;
                }
                Step::Ask { name, input } => {
                    let id = self.call(name, &input).await?;
                    return self.request(name, &input, &id).await;
                }
                Step::AskDeaf { name, input } => {
                    let id = self.call(name, &input).await?;
                    self.input.close();
                    self.request(name, &input, &id).await?;
                    // The session ends the agent.
                    std::future::pending::<()>().await;
                }
                Step::Question(questions) => {
                    let input = json!({ "questions": questions });
                    let id = self.call("AskUserQuestion", &input).await?;
                    return self.request("AskUserQuestion", &input, &id).await;
                }
                Step::Unknown => {
                    self.line(json!({ "type": "mock_news", "message": "something new" })).await?;
                }
                Step::Garbage => self.bytes(b"this is not JSON\n".to_vec()).await?,
                Step::Fail(message) => {
                    return self
                        .line(json!({
                            "type": "result", "subtype": "error_during_execution", "is_error": true,
                            "errors": [message], "result": message,
                        }))
                        .await;
                }
                Step::Exit(code) => {
                    let end = AgentEnd { code: Some(code), ..AgentEnd::default() };
                    let _ = self.output.send(AgentOutput::Ended(end)).await;
                    return None;
                }
                Step::Wait(ms) => {
                    if self.wait(Duration::from_millis(ms)).await {
                        return self.interrupted().await;
                    }
                }
            }
        }
        self.line(json!({
            "type": "result", "subtype": "success", "is_error": false, "stop_reason": "end_turn", "result": "",
            "total_cost_usd": 0.0, "usage": { "input_tokens": 1, "output_tokens": 1 },
        }))
        .await
    }

    /// Handles the answer to a request.
    async fn answered(&mut self, response: &Value) -> Option<()> {
        let Some(id) = response["request_id"].as_str().and_then(|id| id.strip_prefix("ask_")) else {
            return Some(());
        };
        let answer = &response["response"];
        let (output, failed) = match answer["behavior"].as_str() {
            Some("allow") => match &answer["updatedInput"]["answers"] {
                Value::Object(answers) => {
                    (format!("User answered: {}", Value::Object(answers.clone())), false)
                }
                _ => ("done".to_owned(), false),
            },
            _ => (answer["message"].as_str().unwrap_or("Permission denied.").to_owned(), true),
        };
        self.result(id, &output, failed).await?;
        self.go_on().await
    }

    async fn request(&mut self, name: &str, input: &Value, call: &str) -> Option<()> {
        self.line(json!({
            "type": "control_request", "request_id": format!("ask_{call}"),
            "request": { "subtype": "can_use_tool", "tool_name": name, "input": input, "tool_use_id": call },
        }))
        .await
    }

    async fn call(&mut self, name: &str, input: &Value) -> Option<String> {
        self.calls += 1;
        let id = format!("call_{}", self.calls);
        self.assistant(&json!({ "type": "tool_use", "id": id, "name": name, "input": input })).await?;
        Some(id)
    }

    async fn result(&mut self, call: &str, output: &str, failed: bool) -> Option<()> {
        let block =
            json!({ "type": "tool_result", "tool_use_id": call, "content": output, "is_error": failed });
        self.line(json!({ "type": "user", "message": { "role": "user", "content": [block] } })).await
    }

    /// Streams a text word by word.
    async fn say(&mut self, text: &str) -> Option<()> {
        self.messages += 1;
        let id = format!("msg_{}", self.messages);
        let event = |event: Value| json!({ "type": "stream_event", "event": event });
        let message =
            json!({ "id": id, "type": "message", "role": "assistant", "model": "mock-model", "content": [] });
        self.line(event(json!({ "type": "message_start", "message": message }))).await?;
        let block = json!({ "type": "text", "text": "" });
        self.line(event(json!({ "type": "content_block_start", "index": 0, "content_block": block })))
            .await?;
        for word in text.split_inclusive(' ') {
            let delta = json!({ "type": "text_delta", "text": word });
            self.line(event(json!({ "type": "content_block_delta", "index": 0, "delta": delta }))).await?;
        }
        let message = json!({
            "id": id, "type": "message", "role": "assistant", "model": "mock-model",
            "content": [{ "type": "text", "text": text }],
        });
        self.line(json!({ "type": "assistant", "message": message })).await?;
        self.line(event(json!({ "type": "content_block_stop", "index": 0 }))).await?;
        self.line(event(json!({ "type": "message_stop" }))).await
    }

    async fn assistant(&mut self, block: &Value) -> Option<()> {
        self.messages += 1;
        let message = json!({
            "id": format!("msg_{}", self.messages), "type": "message", "role": "assistant", "model": "mock-model",
            "content": [block],
        });
        self.line(json!({ "type": "assistant", "message": message })).await
    }

    async fn line(&mut self, mut line: Value) -> Option<()> {
        line["session_id"] = self.session.clone().into();
        let mut bytes = line.to_string().into_bytes();
        bytes.push(b'\n');
        self.bytes(bytes).await
    }

    async fn bytes(&mut self, bytes: Vec<u8>) -> Option<()> {
        if !self.pace.is_zero() {
            tokio::time::sleep(self.pace).await;
        }
        self.output.send(AgentOutput::Bytes(bytes)).await.ok()
    }
}

fn is_interrupt(line: &Value) -> bool {
    line["request"]["subtype"] == "interrupt"
}

/// The steps for a prompt: the first word is a command, and any other text is repeated.
fn script(prompt: &str) -> Vec<Step> {
    let (command, rest) = prompt.trim().split_once(char::is_whitespace).unwrap_or((prompt.trim(), ""));
    let say = |text: &str| Step::Say(text.to_owned());
    let color = |question: &str| {
        json!({
            "question": question, "header": "Color", "multiSelect": false,
            "options": [
                { "label": "Blue", "description": "like the sky" },
                { "label": "Green", "description": "like grass" },
            ],
        })
    };
    let search = || Step::Call {
        name: "mock.search",
        input: json!({ "query": "interlingua" }),
        output: "3 files".to_owned(),
        failed: false,
    };
    match command {
        "help" => vec![say(
            "Commands: demo, markdown, tool, fail, think, permission, deaf, question, questions, error, unknown, \
             garbage, slow, exit, echo TEXT. Any other text is repeated.",
        )],
        "demo" => vec![
            Step::Think("I show what I can do.".to_owned()),
            say("First a tool."),
            search(),
            say("That was all."),
        ],
        "markdown" => vec![say("# Title\n\nA *list*:\n\n- one\n- two\n\n```rust\nfn main() {}\n```\n")],
        "tool" => vec![search(), say("Found them.")],
        "fail" => vec![
            Step::Call {
                name: "Bash",
                input: json!({ "command": "exit 3" }),
                output: "Exit code 3".to_owned(),
                failed: true,
            },
            say("It failed."),
        ],
        "think" => vec![Step::Think("Let me think.".to_owned()), say("I thought.")],
        "permission" => vec![
            Step::Ask { name: "Bash", input: json!({ "command": format!("touch {}", rest.trim()) }) },
            say("After the permission."),
        ],
        "deaf" => {
            vec![Step::AskDeaf {
                name: "Bash",
                input: json!({ "command": format!("touch {}", rest.trim()) }),
            }]
        }
        "question" => vec![Step::Question(json!([color("Which color?")])), say("After the question.")],
        "questions" => vec![
            Step::Question(json!([color("Which color?"), color("And the other one?")])),
            say("After the questions."),
        ],
        "error" => vec![Step::Fail("the mock agent fails on request".to_owned())],
        "unknown" => vec![Step::Unknown, say("After the unknown line.")],
        "garbage" => vec![Step::Garbage, say("After the garbage.")],
        "slow" => {
            let ms = rest.trim().parse().unwrap_or(1000);
            vec![say("I wait."), Step::Wait(ms), say("I waited.")]
        }
        "exit" => vec![say("Goodbye."), Step::Exit(rest.trim().parse().unwrap_or(1))],
        "echo" | "say" => vec![say(rest)],
        _ => vec![say(prompt)],
    }
}
