//! The Agent Client Protocol: the meaning of transcripts and captures.

#![allow(clippy::disallowed_methods, reason = "fixtures are files")]
#![allow(clippy::expect_used, clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may fail")]

mod client;
mod editor;

use std::path::{Path, PathBuf};

use interlingua::dialects::{Dialect, Options, Role};
use interlingua::json::Str;
use interlingua::model::{
    Author, Decision, Delta, Event, ItemHead, ItemKind, ItemTail, Part, Question, Status, StopClass,
    ToolResult,
};
use interlingua::pipe::{EventReader, Pipe};
use serde_json::{Value, json};

fn acp() -> &'static Dialect {
    Dialect::named("acp").expect("registered")
}

fn read_as(role: Role, text: &str) -> Vec<Event<'static>> {
    let mut events = Vec::new();
    let mut reader = EventReader::new((acp(), role), &Options::default()).unwrap();
    reader.push(text.as_bytes(), |event| events.push(event.clone().into_owned()));
    reader.finish(|event| events.push(event.clone().into_owned()));
    events
}

fn read(text: &str) -> Vec<Event<'static>> {
    read_as(Role::Live, text)
}

fn fixture(name: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/agents/acp/2026-11");
    std::fs::read_to_string(root.join(name)).unwrap()
}

fn lines(messages: &[Value]) -> String {
    messages.iter().map(|message| format!("{message}\n")).collect()
}

/// The messages in the bytes that a link wrote.
fn sent(bytes: &[u8]) -> Vec<Value> {
    let text = std::str::from_utf8(bytes).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// A summary of the conversation: the items with their texts and their ends.
#[derive(Debug, Default)]
struct Summary {
    texts: Vec<(String, String)>,
    calls: Vec<(String, String)>,
    results: Vec<(String, String, Status)>,
    turns: (usize, usize),
    stops: Vec<StopClass>,
    notices: Vec<String>,
    permissions: (usize, usize),
    questions: (usize, usize),
    errors: usize,
}

fn summary(events: &[Event<'_>]) -> Summary {
    let mut said = Summary::default();
    let mut open: Vec<(ItemHead<'_>, String)> = Vec::new();
    for event in events {
        match event {
            Event::ItemStarted(head) => open.push((head.clone(), String::new())),
            Event::ItemDelta(Delta { item, value, .. }) => {
                let (_, text) = open.iter_mut().find(|(head, _)| head.id == *item).unwrap();
                match value {
                    Part::Text(more) => text.push_str(&more.decode()),
                    Part::Args(interlingua::model::Args::Json(json)) => text.push_str(json.as_str()),
                    Part::Args(interlingua::model::Args::Text(more)) => text.push_str(&more.decode()),
                    Part::File(file) => text.push_str(&file.diff.as_ref().unwrap().decode()),
                    _ => {}
                }
            }
            Event::ItemCompleted(ItemTail { id, status, .. }) => {
                let at = open.iter().position(|(head, _)| head.id == *id).unwrap();
                let (head, text) = open.remove(at);
                match &head.kind {
                    ItemKind::Message => said.texts.push((head.author_word(), text)),
                    ItemKind::Reasoning => said.texts.push(("reasoning".to_owned(), text)),
                    ItemKind::ToolCall(call) => said.calls.push((call.name.decode().into_owned(), text)),
                    ItemKind::ToolResult(ToolResult { call_id, .. }) => {
                        let call = call_id.as_ref().unwrap().decode().into_owned();
                        said.results.push((call, text, *status));
                    }
                    ItemKind::Notice(notice) => {
                        said.notices.push(notice.event_type.as_ref().unwrap().decode().into_owned());
                    }
                }
            }
            Event::TurnStarted(_) => said.turns.0 += 1,
            Event::TurnEnded(turn) => {
                said.turns.1 += 1;
                said.stops.push(turn.stop.as_ref().unwrap().class);
            }
            Event::PermissionRequested(_) => said.permissions.0 += 1,
            Event::PermissionResolved(_) => said.permissions.1 += 1,
            Event::QuestionRequested(_) => said.questions.0 += 1,
            Event::QuestionResolved(_) => said.questions.1 += 1,
            Event::Error(_) => said.errors += 1,
            _ => {}
        }
    }
    said
}

trait AuthorWord {
    fn author_word(&self) -> String;
}

impl AuthorWord for ItemHead<'_> {
    fn author_word(&self) -> String {
        if self.author == Author::User { "user".to_owned() } else { "assistant".to_owned() }
    }
}

/// The five recorded agents did the same: two commands, one denied command, a story that was interrupted.
#[test]
fn recorded_agents_mean_the_same() {
    for name in ["gemini-cli", "qwen-code", "opencode", "copilot-cli", "kimi-code"] {
        let said = summary(&read(&fixture(&format!("{name}.jsonl"))));
        let of = |author: &str| -> String {
            said.texts.iter().filter(|(who, _)| who == author).map(|(_, text)| format!("{text}|")).collect()
        };
        assert!(of("user").starts_with("Run both commands.|Touch a file.|"), "{name}: {}", of("user"));
        assert!(
            of("assistant").starts_with("I run two commands.|Both ended.|"),
            "{name}: {}",
            of("assistant")
        );
        // Copilot CLI tells the refusal in a message of its own.
        assert!(
            of("assistant").contains("|It was denied.|") && of("assistant").contains("|Once "),
            "{name}: {}",
            of("assistant")
        );
        // Gemini CLI writes the heading of a thought, here an empty heading, before its text.
        assert!(of("reasoning").ends_with("Two commands, in parallel.|"), "{name}: {}", of("reasoning"));
        let asks = usize::from(name == "kimi-code");
        assert_eq!((said.calls.len(), said.results.len()), (3 + asks, 3 + asks), "{name}: {said:?}");
        assert!(said.calls.iter().all(|(_, input)| input.len() > 2), "{name}: {:?}", said.calls);
        let denied = &said.results[2];
        assert_eq!(denied.2, Status::Failed, "{name}: {denied:?}");
        assert_eq!(said.permissions.0, said.permissions.1, "{name}");
        assert_eq!(said.questions, (asks, asks), "{name}");
        assert_eq!(said.turns.0, said.turns.1, "{name}");
        assert_eq!(said.stops.last(), Some(&StopClass::Cancelled), "{name}");
        assert_eq!(said.errors, 0, "{name}");
    }
}

/// List items 22 and 23: a command that failed is a failed result, where the agent reports the exit code.
#[test]
fn list_23_an_exit_code_fails_the_result() {
    for name in ["qwen-code", "opencode", "copilot-cli", "kimi-code"] {
        let said = summary(&read(&fixture(&format!("{name}.jsonl"))));
        let failed = said.results.iter().filter(|(.., status)| *status == Status::Failed).count();
        assert_eq!(failed, 2, "{name}: {:?}", said.results);
    }
}

#[test]
fn a_result_after_its_turn_belongs_to_its_call() {
    let update = |kind: &str, status: &str, rest: Value| {
        let mut update = json!({"sessionUpdate": kind, "toolCallId": "call-1", "status": status});
        update.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
        json!({"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s", "update": update}})
    };
    let call =
        || update("tool_call", "in_progress", json!({"title": "bash", "rawInput": {"command": "sleep"}}));
    let end = json!({"jsonrpc": "2.0", "id": "session/prompt#1", "result": {"stopReason": "cancelled"}});
    let late = update("tool_call_update", "completed", json!({"rawOutput": {"exitCode": 0}}));
    let said = summary(&read(&lines(&[call(), end.clone(), late])));
    assert_eq!(said.calls.len(), 1, "{said:?}");
    let results: Vec<_> = said.results.iter().map(|(_, text, status)| (text.as_str(), *status)).collect();
    assert_eq!(results, [("", Status::Interrupted), ("", Status::Completed)]);
    assert_eq!(said.turns, (1, 1), "a late result starts no turn");
    // An agent may use the id again.
    let said = summary(&read(&lines(&[call(), end, call()])));
    assert_eq!((said.calls.len(), said.turns.0), (2, 2), "{said:?}");
}

#[test]
fn questions_are_read_in_all_their_forms() {
    let events = read(&fixture("requests.jsonl"));
    let asked: Vec<&Question<'_>> = events
        .iter()
        .filter_map(
            |event| if let Event::QuestionRequested(question) = event { Some(question) } else { None },
        )
        .collect();
    let answered: Vec<&Question<'_>> = events
        .iter()
        .filter_map(|event| if let Event::QuestionResolved(question) = event { Some(question) } else { None })
        .collect();
    let texts = |question: &Question<'_>| -> Vec<String> {
        question.prompts.iter().map(|prompt| prompt.text.decode().into_owned()).collect()
    };
    assert_eq!(texts(asked[0]), ["Which colour?"], "Kimi asks with a permission request");
    assert_eq!(answered[0].answers, Some(vec![vec![Str::plain("Blue")]]));
    assert_eq!(texts(asked[1]), ["Which size?", "Which birds?", "Sure?"]);
    assert_eq!(asked[1].prompts[0].options[0], (Str::plain("Small"), Some(Str::plain("It fits."))));
    assert!(asked[1].prompts[1].multiple && !asked[1].prompts[0].multiple);
    assert_eq!(asked[1].prompts[2].options.len(), 2, "a truth value is a choice");
    let birds = vec![Str::plain("Heron"), Str::plain("Egret")];
    assert_eq!(answered[1].answers.as_ref().unwrap()[1], birds);
    assert_eq!(asked[2].prompts[0].options[0].1, Some(Str::plain("https://example.com/login")));
    assert!(answered[2].declined);
    assert_eq!((asked.len(), answered.len()), (3, 3));
}

#[test]
fn requests_that_are_withdrawn_or_refused_are_told() {
    let events = read(&fixture("requests.jsonl"));
    let said = summary(&events);
    assert_eq!(said.permissions, (1, 1));
    let decided = events.iter().find_map(|event| match event {
        Event::PermissionResolved(permission) => permission.answer.clone(),
        _ => None,
    });
    assert_eq!(decided, Some(Decision::Reject(None)), "the agent withdrew the request");
    assert!(said.notices.contains(&"fs/read_text_file".to_owned()), "{:?}", said.notices);
    assert!(said.notices.contains(&"plan".to_owned()), "{:?}", said.notices);
    assert_eq!(said.errors, 1, "the refusal of a file is no failure of the agent");
    assert_eq!(said.stops, [StopClass::End, StopClass::Error]);
    // The call whose permission was withdrawn has a failed result; the prompt is not told twice.
    assert!(
        said.results.iter().any(|(call, _, status)| call == "c3" && *status == Status::Failed),
        "{said:?}"
    );
    assert_eq!(said.texts.iter().filter(|(who, _)| who == "user").count(), 2);
    assert!(
        said.results.iter().any(|(call, text, _)| call == "c4" && text == "Edited.@@ -2,1 +2,1 @@\n-b\n+B\n"),
        "{said:?}"
    );
}

#[test]
fn a_loaded_session_starts_no_turn() {
    let events = read(&fixture("loaded.jsonl"));
    let said = summary(&events);
    assert_eq!(said.turns, (1, 1));
    let first_turn = events.iter().position(|event| matches!(event, Event::TurnStarted(_))).unwrap();
    let before = summary(&events[..first_turn]);
    let words: Vec<&str> = before.texts.iter().map(|(_, text)| text.as_str()).collect();
    assert_eq!(words, ["List the files.", "A list is wanted.", "I list them.", "One file."]);
    assert_eq!(before.results, [("c1".to_owned(), "a.txt\n".to_owned(), Status::Completed)]);
    for name in ["something_new", "vendor/notify", "compaction_update"] {
        assert!(said.notices.iter().any(|notice| notice == name), "{name}: {:?}", said.notices);
    }
    assert_eq!(said.stops, [StopClass::Other]);
}

#[test]
fn usage_is_counted_once_in_both_conventions() {
    let end = |usage: Value| {
        let events = read(&lines(&[
            json!({"jsonrpc": "2.0", "id": 1, "result": {"stopReason": "end_turn", "usage": usage}}),
        ]));
        events
            .iter()
            .find_map(|event| if let Event::TurnEnded(turn) = event { turn.usage } else { None })
            .unwrap()
    };
    let within = end(
        json!({"inputTokens": 5000, "outputTokens": 250, "totalTokens": 5250, "thoughtTokens": 100, "cachedReadTokens": 3000}),
    );
    assert_eq!((within.input, within.output, within.cache_read), (Some(2000), Some(250), Some(3000)));
    let beside = end(
        json!({"inputTokens": 400, "outputTokens": 30, "totalTokens": 1050, "thoughtTokens": 20, "cachedReadTokens": 600}),
    );
    assert_eq!((beside.input, beside.output, beside.cache_read), (Some(400), Some(50), Some(600)));
}

// ---- captures --------------------------------------------------------------------------------------------------------

fn captures() -> Vec<(String, String)> {
    let Some(root) = std::env::var_os("INTERLINGUA_CORPUS") else { return Vec::new() };
    let mut found = Vec::new();
    for agent in ["gemini", "qwen", "opencode", "copilot", "kimi-code", "kimi-cli"] {
        let folder = PathBuf::from(&root).join("agents").join(agent);
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if !name.starts_with("acp-") {
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap();
            let unwrap = |line: &str| format!("{}\n", serde_json::from_str::<Value>(line).unwrap()["msg"]);
            found.push((format!("{agent}/{name}"), text.lines().map(unwrap).collect()));
        }
    }
    assert!(found.len() >= 11, "captures are missing: {found:?}");
    found
}

/// List item 78: the captures have no unparsed line, and the events hold what the agents sent, counted in the lines.
#[test]
fn list_78_captures_are_read_completely() {
    for (name, text) in captures() {
        let said = summary(&read(&text));
        let messages: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let of = |kind: &str| -> String {
            let updates = messages.iter().map(|message| &message["params"]["update"]);
            let chunks = updates.filter(|update| update["sessionUpdate"] == kind);
            chunks.map(|update| update["content"]["text"].as_str().unwrap()).collect()
        };
        let texts = |who: &str| -> String {
            said.texts.iter().filter(|(author, _)| author == who).map(|(_, text)| text.as_str()).collect()
        };
        assert_eq!(texts("assistant"), of("agent_message_chunk"), "{name}");
        assert_eq!(texts("reasoning"), of("agent_thought_chunk"), "{name}");
        let ids: std::collections::BTreeSet<&str> = messages
            .iter()
            .flat_map(|message| [&message["params"]["update"], &message["params"]["toolCall"]])
            .filter_map(|call| call["toolCallId"].as_str())
            .collect();
        assert_eq!(said.calls.len(), ids.len(), "{name}: {:?}", said.calls);
        assert_eq!(said.results.len(), ids.len(), "{name}: every call has one result");
        let prompts = messages.iter().filter(|message| message["method"] == "session/prompt").count();
        assert_eq!(said.turns, (prompts, prompts), "{name}");
        let asked =
            messages.iter().filter(|message| message["method"] == "session/request_permission").count();
        assert_eq!(said.permissions.0 + said.questions.0, asked, "{name}");
        assert_eq!((said.permissions.0, said.questions.0), (said.permissions.1, said.questions.1), "{name}");
        let universal = Dialect::named("universal").unwrap();
        let mut pipe = Pipe::new((acp(), Role::Live), (universal, Role::Live), &Options::default()).unwrap();
        let mut events = Vec::new();
        pipe.push(text.as_bytes(), &mut events);
        let report = pipe.finish(&mut events);
        assert_eq!(report.problems.len(), 0, "{name}: {:?}", report.problems);
        assert!(!String::from_utf8(events).unwrap().contains("agent.unparsed"), "{name}");
    }
}
