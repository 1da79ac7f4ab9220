//! The Agent Client Protocol: the meaning of transcripts, an agent driven by a client, and an agent offered to an editor.

#![allow(clippy::disallowed_methods, reason = "fixtures are files")]
#![allow(clippy::expect_used, clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may fail")]

use std::path::{Path, PathBuf};

use interlingua::dialects::{Dialect, Options, Role};
use interlingua::json::Str;
use interlingua::model::{
    Author, Decision, Delta, Event, ItemHead, ItemId, ItemKind, ItemTail, Part, Permission, Question,
    Session, Status, Stop, StopClass, ToolResult, Turn,
};
use interlingua::pipe::{AgentLink, EditorLink, EventReader, Pipe};
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

// ---- the meaning of transcripts --------------------------------------------------------------------------------------

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

// ---- a client drives an agent ----------------------------------------------------------------------------------------

fn prompt(text: &str) -> [Event<'static>; 3] {
    let id = ItemId(1);
    let head = ItemHead::new(id, ItemKind::Message, Author::User);
    let value = Part::Text(Str::from_plain(text));
    [
        Event::ItemStarted(head),
        Event::ItemDelta(Delta { item: id, part: 0, value, arrival: interlingua::model::Arrival::Whole }),
        Event::ItemCompleted(ItemTail::new(id, Status::Completed)),
    ]
}

fn interrupt() -> Event<'static> {
    let stop = Stop { class: StopClass::Cancelled, raw: None, sequence: None, detail: None };
    Event::TurnEnded(Turn { stop: Some(stop), ..Turn::default() })
}

/// A client of one agent.
struct Client {
    link: AgentLink,
    events: Vec<Event<'static>>,
}

impl Client {
    /// A client whose session is open.
    fn opened() -> Self {
        let mut client = Self::new(Session::default());
        client.receive(&json!({"jsonrpc": "2.0", "id": "initialize#1", "result": {"protocolVersion": 1}}));
        client.receive(&json!({"jsonrpc": "2.0", "id": "session/new#2", "result": {"sessionId": "s"}}));
        client
    }

    fn new(settings: Session<'static>) -> Self {
        let mut client =
            Self { link: AgentLink::new(acp(), &Options::default()).unwrap(), events: Vec::new() };
        let sent = client.send(&Event::SessionStarted(settings));
        assert_eq!(sent[0]["method"], "initialize");
        client
    }

    fn receive(&mut self, message: &Value) -> Vec<Value> {
        let Self { link, events } = self;
        sent(
            &link.receive(format!("{message}\n").as_bytes(), |event| events.push(event.clone().into_owned())),
        )
    }

    fn send(&mut self, event: &Event<'_>) -> Vec<Value> {
        sent(&self.link.send(event))
    }

    fn prompt(&mut self, text: &str) -> Vec<Value> {
        prompt(text).iter().flat_map(|event| self.send(event)).collect()
    }

    /// The last request of the agent, answered.
    fn decide(&mut self, answer: Decision<'static>) -> Vec<Value> {
        let asked = self.events.iter().rev().find_map(|event| match event {
            Event::PermissionRequested(permission) => Some(permission.clone()),
            _ => None,
        });
        self.send(&Event::PermissionResolved(Permission { answer: Some(answer), ..asked.unwrap() }))
    }

    fn answer(&mut self, answers: Option<Vec<Vec<Str<'static>>>>) -> Vec<Value> {
        let asked = self.events.iter().rev().find_map(|event| match event {
            Event::QuestionRequested(question) => Some(question.clone()),
            _ => None,
        });
        let declined = answers.is_none();
        self.send(&Event::QuestionResolved(Question { answers, declined, ..asked.unwrap() }))
    }
}

fn ask(id: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "session/request_permission", "params": {"sessionId": "s",
        "options": [{"optionId": "a", "name": "Always", "kind": "allow_always"}, {"optionId": "o", "name": "Once", "kind": "allow_once"},
            {"optionId": "n", "name": "No", "kind": "reject_once"}],
        "toolCall": {"toolCallId": "c", "title": "ls", "kind": "execute"}}})
}

#[test]
fn the_handshake_negotiates_and_prompts_wait_for_it() {
    let mut client = Client::new(Session {
        cwd: Some(Str::plain("/project")),
        permission_mode: Some(Str::plain("yolo")),
        model: Some(Str::plain("large")),
        ..Session::default()
    });
    assert!(client.prompt("One").is_empty() && client.prompt("Two").is_empty(), "the session is not open");
    let opened = client.receive(&json!({"jsonrpc": "2.0", "id": "initialize#1", "result": {"protocolVersion": 1, "agentInfo": {"name": "demo", "version": "1"}}}));
    assert_eq!(opened[0]["method"], "session/new");
    assert_eq!(opened[0]["params"], json!({"cwd": "/project", "mcpServers": []}));
    let set = client.receive(&json!({"jsonrpc": "2.0", "id": opened[0]["id"], "result": {"sessionId": "s",
        "modes": {"currentModeId": "default", "availableModes": []},
        "configOptions": [{"id": "the-model", "category": "model", "type": "select", "currentValue": "small", "options": []}]}}));
    assert_eq!(set[0]["params"], json!({"sessionId": "s", "modeId": "yolo"}));
    assert_eq!(set[1]["params"], json!({"sessionId": "s", "configId": "the-model", "value": "large"}));
    assert_eq!(set.len(), 2, "prompts wait for the settings");
    assert!(client.receive(&json!({"jsonrpc": "2.0", "id": set[0]["id"], "result": {}})).is_empty());
    let first = client.receive(
        &json!({"jsonrpc": "2.0", "id": set[1]["id"], "error": {"code": -32602, "message": "no such model"}}),
    );
    assert_eq!(first[0]["params"]["prompt"][0]["text"], "One");
    assert_eq!(first.len(), 1, "one prompt at a time");
    assert!(client.events.iter().any(|event| matches!(event, Event::Error(_))), "a refused setting is told");
    let second = client
        .receive(&json!({"jsonrpc": "2.0", "id": first[0]["id"], "result": {"stopReason": "end_turn"}}));
    assert_eq!(second[0]["params"]["prompt"][0]["text"], "Two");
    let started = client
        .events
        .iter()
        .find_map(|event| if let Event::SessionStarted(session) = event { Some(session) } else { None });
    assert_eq!(started.unwrap().agent, Some(Str::plain("demo")));
}

#[test]
fn a_session_is_resumed_or_loaded() {
    for (abilities, method) in [(json!({"resume": {}}), "session/resume"), (json!({}), "session/load")] {
        let mut client = Client::new(Session { id: Some(Str::plain("old")), ..Session::default() });
        let opened = client.receive(&json!({"jsonrpc": "2.0", "id": "initialize#1", "result": {"protocolVersion": 1, "agentCapabilities": {"sessionCapabilities": abilities}}}));
        assert_eq!(
            (&opened[0]["method"], &opened[0]["params"]["sessionId"]),
            (&json!(method), &json!("old"))
        );
        client.receive(&json!({"jsonrpc": "2.0", "id": opened[0]["id"], "result": {}}));
        assert_eq!(client.prompt("Go on")[0]["params"]["sessionId"], "old");
    }
}

/// List item 43: a decision selects the option of its kind, once.
#[test]
fn list_43_a_permission_is_answered_by_the_kind_of_its_option() {
    let cases = [(Decision::Accept, "o"), (Decision::AcceptForSession, "a"), (Decision::Reject(None), "n")];
    for (number, (decision, option)) in cases.into_iter().enumerate() {
        let mut client = Client::opened();
        client.prompt("Go");
        assert!(client.receive(&ask(json!(number))).is_empty());
        let answer = client.decide(decision.clone());
        assert_eq!(
            answer,
            [
                json!({"jsonrpc": "2.0", "id": number, "result": {"outcome": {"outcome": "selected", "optionId": option}}})
            ]
        );
        assert!(client.decide(decision).is_empty(), "no second answer");
    }
}

#[test]
fn permission_once_never_becomes_permission_for_the_session() {
    let mut client = Client::opened();
    let mut request = ask(json!(1));
    request["params"]["options"] = json!([{"optionId": "a", "name": "Always", "kind": "allow_always"}]);
    client.receive(&request);
    assert_eq!(client.decide(Decision::Accept)[0]["result"]["outcome"]["outcome"], "cancelled");
}

#[test]
fn questions_are_answered_in_their_own_form() {
    let mut client = Client::opened();
    let fixture = fixture("requests.jsonl");
    let requests = |method: &str| -> Vec<Value> {
        let messages = fixture.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        messages.filter(|message| message["method"] == method).collect()
    };
    let label = Str::plain;
    client.receive(&requests("session/request_permission")[0]);
    assert_eq!(
        client.answer(Some(vec![vec![label("Blue")]]))[0]["result"]["outcome"]["optionId"],
        "q0_opt_1"
    );
    client.receive(&requests("session/request_permission")[0]);
    assert_eq!(client.answer(None)[0]["result"]["outcome"]["optionId"], "q0_skip");
    let forms = requests("elicitation/create");
    client.receive(&forms[0]);
    let answers = vec![vec![label("Large")], vec![label("Egret"), label("Heron")], vec![label("true")]];
    let answer = client.answer(Some(answers));
    assert_eq!(
        answer[0]["result"],
        json!({"action": "accept", "content": {"q0": "l", "q1": ["Egret", "Heron"], "q2": true}})
    );
    client.receive(&forms[0]);
    assert_eq!(client.answer(None)[0]["result"], json!({"action": "decline"}));
    client.receive(&forms[1]);
    assert_eq!(client.answer(Some(vec![vec![label("open")]]))[0]["result"], json!({"action": "accept"}));
}

#[test]
fn an_interrupt_cancels_the_turn_and_its_requests() {
    let mut client = Client::opened();
    assert!(client.send(&interrupt()).is_empty(), "no turn is running");
    let prompt = client.prompt("Go");
    client.receive(&ask(json!("p")));
    client.receive(
        &serde_json::from_str(
            fixture("requests.jsonl").lines().find(|line| line.contains("elicitation/create")).unwrap(),
        )
        .unwrap(),
    );
    let stopped = client.send(&interrupt());
    assert_eq!(stopped[0]["method"], "session/cancel");
    assert_eq!(stopped[1]["result"]["outcome"]["outcome"], "cancelled");
    assert_eq!(stopped[2]["result"]["action"], "cancel");
    assert!(client.decide(Decision::Accept).is_empty(), "the request has its answer");
    client.receive(&json!({"jsonrpc": "2.0", "id": prompt[0]["id"], "result": {"stopReason": "cancelled"}}));
    assert_eq!(summary(&client.events).stops, [StopClass::Cancelled]);
    // A prompt that waits is interrupted as soon as the agent has it.
    let mut waiting = Client::new(Session::default());
    waiting.prompt("Go");
    waiting.send(&interrupt());
    waiting.receive(&json!({"jsonrpc": "2.0", "id": "initialize#1", "result": {"protocolVersion": 1}}));
    let sent =
        waiting.receive(&json!({"jsonrpc": "2.0", "id": "session/new#2", "result": {"sessionId": "s"}}));
    assert_eq!(
        (&sent[0]["method"], &sent[1]["method"]),
        (&json!("session/prompt"), &json!("session/cancel"))
    );
}

/// List item 52 for this protocol: every request is answered or refused.
#[test]
fn list_52_requests_that_no_person_can_answer_are_refused() {
    let mut client = Client::opened();
    for (method, params, code) in [
        ("fs/read_text_file", json!({"sessionId": "s", "path": "/a"}), -32601),
        ("fs/write_text_file", json!({"sessionId": "s", "path": "/a", "content": ""}), -32601),
        ("terminal/create", json!({"sessionId": "s", "command": "ls"}), -32601),
        ("vendor/anything", json!([]), -32601),
        ("session/request_permission", json!({"sessionId": "s", "options": [], "toolCall": {}}), -32602),
        ("session/request_permission", json!("params"), -32602),
        ("elicitation/create", json!({"sessionId": "s", "mode": "dance"}), -32602),
    ] {
        let refused = client.receive(&json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params}));
        assert_eq!(
            (refused.len(), &refused[0]["id"], &refused[0]["error"]["code"]),
            (1, &json!(7), &json!(code)),
            "{method}"
        );
    }
    assert_eq!(summary(&client.events).permissions.0 + summary(&client.events).questions.0, 0);
    assert_eq!(summary(&client.events).notices.len(), 8, "each is told, after the response to `initialize`");
}

/// Unknown ids, answers twice and ids of other types never panic, and are never answered wrongly.
#[test]
fn hostile_ids_get_no_wrong_answer() {
    let mut client = Client::opened();
    client.prompt("Go");
    let unknown = Permission {
        id: Str::plain("99"),
        action: Str::plain("ls"),
        call_id: None,
        input: None,
        answer: Some(Decision::Accept),
        by: None,
    };
    assert!(client.send(&Event::PermissionResolved(unknown)).is_empty(), "no such request");
    // A number and a text with the same digits are two requests: one of them is refused at once.
    assert!(client.receive(&ask(json!(1))).is_empty());
    let refused = client.receive(&ask(json!("1")));
    assert_eq!((refused.len(), &refused[0]["id"]), (1, &json!(1)));
    assert_eq!(client.decide(Decision::Accept)[0]["id"], "1");
    assert!(client.decide(Decision::Accept).is_empty());
    // The same request twice has one answer.
    assert!(client.receive(&ask(json!(2))).is_empty() && client.receive(&ask(json!(2))).is_empty());
    assert_eq!(client.decide(Decision::Accept).len(), 1);
    assert!(client.decide(Decision::Accept).is_empty());
    // The handshake happens once, whatever is answered again.
    for id in [
        json!("initialize#1"),
        json!("session/new#2"),
        json!("session/prompt#9"),
        json!(null),
        json!(true),
        json!([1]),
        json!({}),
        json!(1e99),
    ] {
        for outcome in ["result", "error"] {
            let message = json!({"jsonrpc": "2.0", "id": id, outcome: {"sessionId": "other", "stopReason": "end_turn", "outcome": 1, "action": []}});
            assert!(client.receive(&message).is_empty(), "{message}");
        }
    }
    for id in [json!(null), json!(true), json!([1]), json!({})] {
        assert!(
            client.receive(&ask(id.clone())).is_empty(),
            "{id}: without an id there is nothing to answer"
        );
    }
}

#[test]
fn a_withdrawn_request_is_closed_once() {
    let mut client = Client::opened();
    client.prompt("Go");
    client.receive(&ask(json!(5)));
    let closed =
        client.receive(&json!({"jsonrpc": "2.0", "method": "$/cancel_request", "params": {"requestId": 5}}));
    assert_eq!((closed.len(), &closed[0]["error"]["code"]), (1, &json!(-32800)));
    assert!(client.decide(Decision::Accept).is_empty());
    assert_eq!(summary(&client.events).permissions, (1, 1));
}

// ---- an agent is offered to an editor --------------------------------------------------------------------------------

struct Editor {
    link: EditorLink,
    events: Vec<Event<'static>>,
}

impl Editor {
    fn new() -> Self {
        Self { link: EditorLink::new(acp(), &Options::default()).unwrap(), events: Vec::new() }
    }

    fn receive(&mut self, message: &Value) -> Vec<Value> {
        let Self { link, events } = self;
        sent(
            &link.receive(format!("{message}\n").as_bytes(), |event| events.push(event.clone().into_owned())),
        )
    }

    fn send(&mut self, event: &Event<'_>) -> Vec<Value> {
        sent(&self.link.send(event))
    }

    /// An editor with an open session and a running prompt.
    fn prompted() -> Self {
        let mut editor = Self::new();
        editor.receive(
            &json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": 1}}),
        );
        editor.receive(&json!({"jsonrpc": "2.0", "id": 1, "method": "session/new", "params": {"cwd": "/project", "mcpServers": []}}));
        let prompt = json!({"sessionId": "session-1", "prompt": [{"type": "text", "text": "Go"}]});
        assert!(
            editor
                .receive(&json!({"jsonrpc": "2.0", "id": 2, "method": "session/prompt", "params": prompt}))
                .is_empty()
        );
        editor
    }
}

fn ended(class: StopClass) -> Event<'static> {
    let stop = Stop { class, raw: None, sequence: None, detail: None };
    Event::TurnEnded(Turn { stop: Some(stop), ..Turn::default() })
}

#[test]
fn list_95_an_editor_negotiates_version_1_and_a_cancelled_prompt_says_so() {
    let mut editor = Editor::new();
    let began = editor.receive(
        &json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": 2}}),
    );
    assert_eq!((&began[0]["id"], &began[0]["result"]["protocolVersion"]), (&json!(0), &json!(1)));
    for method in ["session/list", "session/set_mode", "vendor/unknown"] {
        let refused = editor.receive(&json!({"jsonrpc": "2.0", "id": "x", "method": method, "params": {"sessionId": "s", "modeId": "m"}}));
        assert_eq!(
            (refused.len(), &refused[0]["id"], &refused[0]["error"]["code"]),
            (1, &json!("x"), &json!(-32601)),
            "{method}"
        );
    }
    let opened = editor.receive(&json!({"jsonrpc": "2.0", "id": 1, "method": "session/new", "params": {"cwd": "/project", "mcpServers": []}}));
    let session = opened[0]["result"]["sessionId"].clone();
    assert!(session.is_string());
    let asked = editor.events.iter().find_map(|event| {
        if let Event::SessionStarted(session) = event { session.cwd.clone() } else { None }
    });
    assert_eq!(asked, Some(Str::plain("/project")));
    let prompt = json!({"sessionId": session, "prompt": [{"type": "text", "text": "Go"}]});
    assert!(
        editor
            .receive(&json!({"jsonrpc": "2.0", "id": 2, "method": "session/prompt", "params": prompt}))
            .is_empty()
    );
    assert_eq!(summary(&editor.events).texts, [("user".to_owned(), "Go".to_owned())]);
    assert!(
        editor
            .receive(&json!({"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": session}}))
            .is_empty()
    );
    assert_eq!(summary(&editor.events).stops, [StopClass::Cancelled], "the agent is interrupted");
    // Agents report an interrupt in different ways; the editor gets one.
    let stopped = editor.send(&ended(StopClass::Error));
    assert_eq!(stopped, [json!({"jsonrpc": "2.0", "id": 2, "result": {"stopReason": "cancelled"}})]);
    assert!(editor.send(&ended(StopClass::End)).is_empty(), "one response to one prompt");
}

fn permission() -> Permission<'static> {
    Permission {
        id: Str::plain("p1"),
        action: Str::plain("Bash"),
        call_id: Some(Str::plain("c1")),
        input: None,
        answer: None,
        by: None,
    }
}

#[test]
fn list_96_permissions_map_one_to_one_both_ways() {
    for (option, decision) in [
        ("allow_once", Decision::Accept),
        ("allow_always", Decision::AcceptForSession),
        ("reject_once", Decision::Reject(None)),
    ] {
        let mut editor = Editor::prompted();
        let asked = editor.send(&Event::PermissionRequested(permission()));
        assert_eq!((asked.len(), &asked[0]["method"]), (1, &json!("session/request_permission")));
        assert_eq!(asked[0]["params"]["toolCall"]["toolCallId"], "c1");
        let kinds: Vec<&Value> =
            asked[0]["params"]["options"].as_array().unwrap().iter().map(|option| &option["kind"]).collect();
        assert_eq!(kinds, ["allow_once", "allow_always", "reject_once"]);
        let answer = json!({"jsonrpc": "2.0", "id": asked[0]["id"], "result": {"outcome": {"outcome": "selected", "optionId": option}}});
        assert!(editor.receive(&answer).is_empty() && editor.receive(&answer).is_empty());
        let answers: Vec<&Event<'_>> =
            editor.events.iter().filter(|event| matches!(event, Event::PermissionResolved(_))).collect();
        assert_eq!(
            answers,
            [&Event::PermissionResolved(Permission { answer: Some(decision), ..permission() })],
            "once, with the request's values"
        );
    }
}

#[test]
fn list_96_questions_map_one_to_one_both_ways() {
    let asked = read(&fixture("requests.jsonl")).into_iter().filter_map(|event| match event {
        Event::QuestionRequested(question) => Some(question),
        _ => None,
    });
    let question = asked.into_iter().find(|question| question.prompts.len() == 3).unwrap();
    let mut editor = Editor::prompted();
    let form = editor.send(&Event::QuestionRequested(question.clone()));
    assert_eq!(
        (form.len(), &form[0]["method"], &form[0]["params"]["mode"]),
        (1, &json!("elicitation/create"), &json!("form"))
    );
    let fields = &form[0]["params"]["requestedSchema"]["properties"];
    assert_eq!(
        fields["q0"]["oneOf"][0],
        json!({"const": "Small", "title": "Small", "description": "It fits."})
    );
    assert_eq!(fields["q1"]["items"]["anyOf"][1]["const"], "Egret");
    // The form is read as the same question.
    let again = read(&lines(&form))
        .into_iter()
        .find_map(|event| if let Event::QuestionRequested(it) = event { Some(it) } else { None });
    assert_eq!(again.unwrap().prompts, question.prompts);
    let answer = json!({"jsonrpc": "2.0", "id": form[0]["id"], "result": {"action": "accept", "content": {"q0": "Small", "q1": ["Heron"], "q2": "true"}}});
    editor.receive(&answer);
    editor.receive(&answer);
    let expected = Some(vec![vec![Str::plain("Small")], vec![Str::plain("Heron")], vec![Str::plain("true")]]);
    let answered: Vec<&Event<'_>> =
        editor.events.iter().filter(|event| matches!(event, Event::QuestionResolved(_))).collect();
    assert_eq!(answered, [&Event::QuestionResolved(Question { answers: expected, ..question.clone() })]);
    // An editor without forms refuses the method: the question is declined.
    let mut plain = Editor::prompted();
    let form = plain.send(&Event::QuestionRequested(question));
    plain.receive(
        &json!({"jsonrpc": "2.0", "id": form[0]["id"], "error": {"code": -32601, "message": "no forms"}}),
    );
    assert!(
        plain
            .events
            .iter()
            .any(|event| matches!(event, Event::QuestionResolved(question) if question.declined))
    );
}

#[test]
fn a_request_that_was_answered_elsewhere_is_withdrawn_from_the_editor() {
    let mut editor = Editor::prompted();
    editor.send(&Event::PermissionRequested(permission()));
    let withdrawn = editor
        .send(&Event::PermissionResolved(Permission { answer: Some(Decision::Accept), ..permission() }));
    assert_eq!(
        (&withdrawn[0]["method"], &withdrawn[0]["params"]["requestId"]),
        (&json!("$/cancel_request"), &json!("p1"))
    );
    editor.receive(&json!({"jsonrpc": "2.0", "id": "p1", "error": {"code": -32800, "message": "cancelled"}}));
    assert!(
        !editor.events.iter().any(|event| matches!(event, Event::PermissionResolved(_))),
        "the agent has its answer"
    );
}

/// Any agent's events become the messages of an agent, which mean the same.
#[test]
fn another_agents_session_is_told_in_this_protocol() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/anthropic/claude_stream/2026-11");
    for name in ["plain.jsonl", "partial.jsonl", "control.jsonl", "interrupted.jsonl"] {
        let bytes = std::fs::read(root.join(name)).unwrap();
        let claude = Dialect::named("claude-stream").unwrap();
        let mut pipe = Pipe::new((claude, Role::Live), (acp(), Role::Live), &Options::default()).unwrap();
        let mut told = Vec::new();
        pipe.push(&bytes, &mut told);
        pipe.finish(&mut told);
        let mut events = Vec::new();
        let mut reader = EventReader::new((claude, Role::Live), &Options::default()).unwrap();
        reader.push(&bytes, |event| events.push(event.clone().into_owned()));
        reader.finish(|event| events.push(event.clone().into_owned()));
        let (theirs, ours) = (summary(&events), summary(&read(std::str::from_utf8(&told).unwrap())));
        let texts = |said: &Summary, who: &str| -> String {
            said.texts.iter().filter(|(author, _)| author == who).map(|(_, text)| text.as_str()).collect()
        };
        for who in ["assistant", "reasoning", "user"] {
            assert_eq!(texts(&ours, who), texts(&theirs, who), "{name}: {who}");
        }
        let ids = |said: &Summary| -> Vec<(String, String)> {
            said.results.iter().map(|(call, text, _)| (call.clone(), text.clone())).collect()
        };
        assert_eq!(ids(&ours), ids(&theirs), "{name}");
        assert_eq!(ours.calls.len(), theirs.calls.len(), "{name}");
        assert_eq!(ours.turns, theirs.turns, "{name}");
        assert_eq!(ours.permissions.0, theirs.permissions.0, "{name}");
    }
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
