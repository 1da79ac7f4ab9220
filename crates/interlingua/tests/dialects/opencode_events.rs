//! The events of an OpenCode server: messages, tools, requests and turns; and the requests that drive the server. Numbers in
//! names are those of the list of converters' faults.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may fail")]
#![allow(clippy::disallowed_methods, reason = "captures are files of a folder that a variable names")]

use interlingua::dialects::{Dialect, Options, Role};
use interlingua::json::Str;
use interlingua::model::{
    Author, Decision, Event, ItemHead, ItemId, ItemKind, ItemTail, Part, Permission, Prompt, Question,
    Session, Status, Stop, StopClass, Turn,
};
use interlingua::pipe::{AgentLink, EventReader};
use serde_json::{Value, json};

use crate::support::{convert, convert_pieces};

const TOOLS: &str = include_str!("../../fixtures/agents/opencode_events/2026-11/tools.sse");
const PERMISSIONS: &str = include_str!("../../fixtures/agents/opencode_events/2026-11/permissions.sse");
const QUESTIONS: &str = include_str!("../../fixtures/agents/opencode_events/2026-11/questions.sse");
const SUBAGENT: &str = include_str!("../../fixtures/agents/opencode_events/2026-11/subagent.sse");
const INTERRUPTED: &str = include_str!("../../fixtures/agents/opencode_events/2026-11/interrupted.sse");
const FAILED: &str = include_str!("../../fixtures/agents/opencode_events/2026-11/failed.sse");
const SHAPES: &str = include_str!("../../fixtures/agents/opencode_events/2026-11/shapes.sse");

fn server() -> &'static Dialect {
    Dialect::named("opencode-events").unwrap()
}

fn universal(stream: &str) -> Vec<Value> {
    let ours = (Dialect::named("universal").unwrap(), Role::Live);
    lines(&convert((server(), Role::Live), ours, stream.as_bytes()).bytes)
}

fn lines(bytes: &[u8]) -> Vec<Value> {
    let text = std::str::from_utf8(bytes).unwrap();
    text.lines().map(|line| serde_json::from_str(line).expect(line)).collect()
}

fn of<'e>(events: &'e [Value], kind: &str) -> Vec<&'e Value> {
    events.iter().filter(|event| event["type"] == kind).map(|event| &event["data"]).collect()
}

fn items<'e>(events: &'e [Value], kind: &str) -> Vec<&'e Value> {
    let items = of(events, "item.completed").into_iter().map(|data| &data["item"]);
    items.filter(|item| item["kind"] == kind).collect()
}

/// The texts of a message; the universal item of a message also holds its reasoning.
fn text_of(item: &Value) -> String {
    let parts = item["content"].as_array().unwrap().iter();
    parts.filter(|part| part["type"] == "text").map(|part| part["text"].as_str().unwrap()).collect()
}

fn sse(events: &[Value]) -> String {
    events.iter().map(|event| format!("data: {event}\n\n")).collect()
}

fn event(kind: &str, properties: Value) -> Value {
    json!({"id": "evt_1", "type": kind, "properties": properties})
}

#[test]
fn list_27_a_part_before_its_message_is_the_users() {
    let mut frames: Vec<&str> = SHAPES.trim_end().split("\n\n").collect();
    frames[2..5].rotate_left(1);
    assert!(frames[4].contains("message.updated"), "the message follows its parts");
    let events = universal(&(frames.join("\n\n") + "\n\n"));
    let texts: Vec<_> =
        items(&events, "message").iter().map(|item| json!([item["role"], text_of(item)])).collect();
    assert_eq!(
        texts,
        [
            json!(["user", "Called the Read tool."]),
            json!(["user", "Please look at this picture."]),
            json!(["assistant", "It is a dot. "]),
            json!(["assistant", "A summary in one piece."]),
        ]
    );
    let picture = &items(&events, "message")[1]["content"][1];
    assert_eq!(picture["mime"], "image/png", "{picture}");
}

#[test]
fn list_81_pieces_make_the_whole_text_and_a_turn_ends_once() {
    for (name, stream) in [("tools", TOOLS), ("questions", QUESTIONS), ("subagent", SUBAGENT)] {
        let events = universal(stream);
        let turns = if name == "questions" { 2 } else { 1 };
        assert_eq!(of(&events, "turn.started").len(), turns, "{name}");
        assert_eq!(of(&events, "turn.ended").len(), turns, "{name}");
        for item in items(&events, "message").into_iter().filter(|item| item["role"] == "assistant") {
            let pieces = of(&events, "item.delta").into_iter();
            let pieces =
                pieces.filter(|delta| delta["item_id"] == item["item_id"] && delta["content_type"] == "text");
            let pieces: String = pieces.map(|delta| delta["delta"].as_str().unwrap()).collect();
            assert_eq!(pieces, text_of(item), "{name}");
        }
    }
}

#[test]
fn a_failed_command_and_a_missing_file_are_failed_tools() {
    let events = universal(TOOLS);
    let results = items(&events, "tool_result");
    let said: Vec<_> =
        results.iter().map(|item| json!([item["status"], item["content"][0]["call_id"]])).collect();
    assert_eq!(said.len(), 2);
    assert!(said.iter().all(|said| said[0] == "failed"), "{said:?}");
    for result in results {
        let call = &result["content"][0]["call_id"];
        let calls = items(&events, "tool_call");
        let before = calls.iter().position(|item| item["content"][0]["call_id"] == *call);
        assert!(before.is_some(), "no call {call}");
    }
}

#[test]
fn a_result_after_the_end_of_its_message_is_told_once() {
    let results: Vec<_> = universal(SHAPES);
    let results = items(&results, "tool_result");
    let slept: Vec<_> = results.iter().filter(|item| item["content"][0]["call_id"] == "call_2").collect();
    assert_eq!(slept.len(), 1);
    assert_eq!((&slept[0]["status"], &slept[0]["content"][0]["output"]), (&json!("failed"), &json!("slept")));
}

#[test]
fn list_53_requests_are_resolved_once_by_whoever_answers() {
    let events = universal(PERMISSIONS);
    let statuses: Vec<_> =
        of(&events, "permission.resolved").iter().map(|data| data["status"].clone()).collect();
    assert_eq!(statuses, ["accept", "reject"]);
    let asked: Vec<_> =
        of(&events, "permission.requested").iter().map(|data| data["permission_id"].clone()).collect();
    let resolved: Vec<_> =
        of(&events, "permission.resolved").iter().map(|data| data["permission_id"].clone()).collect();
    assert_eq!(asked, resolved);

    let events = universal(QUESTIONS);
    let resolved = of(&events, "question.resolved");
    assert_eq!(resolved.len(), 2);
    assert_eq!(resolved[0]["answers"], json!([["Blue"], ["S", "L"]]));
    assert_eq!(resolved[0]["prompts"][1]["multiple"], true);
    assert_eq!(resolved[1]["status"], "rejected");
}

#[test]
fn an_abort_cancels_the_turn_and_a_failure_is_one_error() {
    let events = universal(INTERRUPTED);
    assert_eq!(of(&events, "turn.ended")[0]["metadata"]["stop"]["class"], "cancelled");
    assert!(of(&events, "error").is_empty());
    let events = universal(FAILED);
    assert_eq!(of(&events, "error").len(), 1);
    assert_eq!(of(&events, "turn.ended").len(), 1);
    assert_eq!(of(&events, "turn.ended")[0]["metadata"]["stop"]["class"], "error");
}

#[test]
fn the_items_of_a_subagent_name_their_call() {
    let events = universal(SUBAGENT);
    let call =
        items(&events, "tool_call").into_iter().find(|item| item["content"][0]["name"] == "task").unwrap();
    let call = &call["content"][0]["call_id"];
    let mut reader = EventReader::new((server(), Role::Live), &Options::default()).unwrap();
    let mut found = Vec::new();
    reader.push(SUBAGENT.as_bytes(), |event| {
        if let Event::ItemStarted(head) = event
            && let (Some(agent), Some(call)) = (&head.agent, &head.parent_call)
            && head.kind == ItemKind::Message
        {
            found.push((agent.decode().into_owned(), call.decode().into_owned(), head.author));
        }
    });
    assert_eq!(found.len(), 2, "the prompt and the answer");
    assert!(found.iter().all(|(agent, of, _)| agent.starts_with("ses_") && call == of), "{found:?}");
    assert_eq!((found[0].2, found[1].2), (Author::User, Author::Assistant));
    // The end of the subagent's work is not the end of the turn.
    assert_eq!(of(&events, "turn.ended").len(), 1);
}

#[test]
fn another_clients_session_is_not_read() {
    let events = universal(SHAPES);
    assert_eq!(of(&events, "session.started").len(), 1);
    let foreign: Vec<_> = items(&events, "status")
        .into_iter()
        .filter(|item| item["content"][0]["label"] == "message.updated")
        .collect();
    assert_eq!(foreign.len(), 1);
}

#[test]
fn any_cut_gives_the_same_events() {
    let ours = (Dialect::named("universal").unwrap(), Role::Live);
    let whole = convert((server(), Role::Live), ours, SHAPES.as_bytes()).bytes;
    for size in [1, 7, 64, 1000] {
        let cut = convert_pieces((server(), Role::Live), ours, SHAPES.as_bytes().chunks(size)).bytes;
        assert!(cut == whole, "cut into {size} bytes");
    }
}

/// A connection to a server, with the requests that it sends.
struct Client(AgentLink);

impl Client {
    fn new() -> Self {
        Self(AgentLink::new(server(), &Options::default()).unwrap())
    }

    fn hear(&mut self, event: &Value) -> Vec<Value> {
        lines(&self.0.receive(format!("data: {event}\n\n").as_bytes(), |_| ()))
    }

    fn response(&mut self, request: &str, status: u16, body: &Value) -> Vec<Value> {
        let response = json!({"request": request, "status": status, "body": body});
        lines(&self.0.receive(format!("event: response\ndata: {response}\n\n").as_bytes(), |_| ()))
    }

    fn say(&mut self, event: &Event<'_>) -> Vec<Value> {
        lines(&self.0.send(event))
    }

    fn prompt(&mut self, text: &'static str) -> Vec<Value> {
        let id = ItemId(1);
        let mut sent = self.say(&Event::ItemStarted(ItemHead::new(id, ItemKind::Message, Author::User)));
        let delta = interlingua::model::Delta {
            item: id,
            part: 0,
            value: Part::Text(Str::escaped(text)),
            arrival: interlingua::model::Arrival::Whole,
        };
        sent.extend(self.say(&Event::ItemDelta(delta)));
        sent.extend(self.say(&Event::ItemCompleted(ItemTail::new(id, Status::Completed))));
        sent
    }

    /// A client with an open session.
    fn opened() -> Self {
        let mut client = Self::new();
        client.prompt("hi");
        client.response("POST /session", 200, &json!({"id": "ses_1"}));
        client
    }
}

fn decision(id: &'static str, answer: Decision<'static>) -> Event<'static> {
    Event::PermissionResolved(Permission {
        id: Str::escaped(id),
        action: Str::escaped("bash"),
        call_id: None,
        input: None,
        answer: Some(answer),
        by: None,
    })
}

fn interrupt() -> Event<'static> {
    let stop = Stop { class: StopClass::Cancelled, raw: None, sequence: None, detail: None };
    Event::TurnEnded(Turn { stop: Some(stop), ..Turn::default() })
}

#[test]
fn prompts_wait_for_the_session() {
    let mut client = Client::new();
    let settings = Session {
        cwd: Some(Str::escaped("/my project")),
        model: Some(Str::escaped("fake/m/1")),
        permission_mode: Some(Str::escaped("plan")),
        effort: Some(Str::escaped("high")),
        ..Session::default()
    };
    let sent = client.say(&Event::SessionStarted(settings));
    assert_eq!(
        sent,
        [json!({"method": "POST", "path": "/session?directory=%2Fmy%20project", "body": {
        "agent": "plan", "model": {"id": "m/1", "providerID": "fake", "variant": "high"}}})]
    );
    assert!(client.prompt("one").is_empty());
    assert!(client.say(&interrupt()).is_empty());
    let sent = client.response("POST /session?directory=%2Fmy%20project", 200, &json!({"id": "ses_1"}));
    assert_eq!(
        sent,
        [
            json!({"method": "POST", "path": "/session/ses_1/prompt_async?directory=%2Fmy%20project", "body": {
                "model": {"providerID": "fake", "modelID": "m/1"}, "agent": "plan", "variant": "high",
                "parts": [{"type": "text", "text": "one"}]}}),
            json!({"method": "POST", "path": "/session/ses_1/abort?directory=%2Fmy%20project"}),
        ]
    );
    assert_eq!(client.prompt("two").len(), 1);
    // A second response opens nothing.
    assert!(client.response("POST /session", 200, &json!({"id": "ses_2"})).is_empty());
}

#[test]
fn a_session_is_resumed_by_its_id_and_a_refusal_is_an_error() {
    let mut client = Client::new();
    let settings = Session { id: Some(Str::escaped("ses_7")), ..Session::default() };
    let sent = client.say(&Event::SessionStarted(settings));
    assert_eq!(sent, [json!({"method": "GET", "path": "/session/ses_7"})]);
    assert!(client.prompt("one").is_empty());
    let mut failures = Vec::new();
    let response = json!({"request": "GET /session/ses_7", "status": 404, "body": {"name": "NotFoundError", "data": {"message": "Session not found"}}});
    let sent = client.0.receive(format!("event: response\ndata: {response}\n\n").as_bytes(), |event| {
        if let Event::Error(failure) = event {
            failures.push((failure.status, failure.message.decode().into_owned()));
        }
    });
    assert!(sent.is_empty());
    assert_eq!(failures, [(Some(404), "Session not found".to_owned())]);
    // The next prompt asks again, and both prompts are sent.
    assert_eq!(client.prompt("two"), [json!({"method": "GET", "path": "/session/ses_7"})]);
    assert_eq!(client.response("GET /session/ses_7", 200, &json!({"id": "ses_7"})).len(), 2);
}

#[test]
fn only_an_open_request_is_answered_and_only_once() {
    let mut client = Client::opened();
    let asked = |id: &str| {
        event(
            "permission.asked",
            json!({"id": id, "sessionID": "ses_1", "permission": "bash", "patterns": [], "metadata": {}, "always": []}),
        )
    };
    assert!(client.say(&decision("per_1", Decision::Accept)).is_empty(), "not asked");
    for id in ["per_1", "per_2", "per_3", "per/../4"] {
        assert!(client.hear(&asked(id)).is_empty());
    }
    let reply = |id: &str, body: Value| {
        [json!({"method": "POST", "path": format!("/permission/{id}/reply"), "body": body})]
    };
    assert_eq!(client.say(&decision("per_1", Decision::Accept)), reply("per_1", json!({"reply": "once"})));
    assert!(client.say(&decision("per_1", Decision::Reject(None))).is_empty(), "answered twice");
    assert_eq!(
        client.say(&decision("per_2", Decision::AcceptForSession)),
        reply("per_2", json!({"reply": "always"}))
    );
    let reason = Decision::Reject(Some(Str::escaped("no")));
    assert_eq!(
        client.say(&decision("per/../4", reason)),
        reply("per%2F..%2F4", json!({"reply": "reject", "message": "no"}))
    );
    // Another client was faster.
    client.hear(&event(
        "permission.replied",
        json!({"sessionID": "ses_1", "requestID": "per_3", "reply": "once"}),
    ));
    assert!(client.say(&decision("per_3", Decision::Reject(None))).is_empty());
    // Ids of other types, and a question that has the id of a permission.
    client.hear(&event("permission.asked", json!({"id": 5, "sessionID": "ses_1", "permission": "bash"})));
    assert!(client.say(&decision("5", Decision::Accept)).is_empty());
    client.hear(&event("question.asked", json!({"id": "que_1", "sessionID": "ses_1", "questions": []})));
    assert!(client.say(&decision("que_1", Decision::Accept)).is_empty());
}

#[test]
fn a_question_is_answered_prompt_by_prompt() {
    let mut client = Client::opened();
    let asked = |id: &str| {
        event(
            "question.asked",
            json!({"id": id, "sessionID": "ses_1", "questions": [{"question": "Which?", "header": "", "options": []}]}),
        )
    };
    client.hear(&asked("que_1"));
    client.hear(&asked("que_2"));
    let prompt = Prompt { text: Str::escaped("Which?"), options: Vec::new(), multiple: true };
    let question = |id: &'static str, answers: Option<Vec<Vec<Str<'static>>>>| {
        let declined = answers.is_none();
        Event::QuestionResolved(Question {
            id: Str::escaped(id),
            call_id: None,
            prompts: vec![prompt.clone()],
            answers,
            declined,
        })
    };
    let labels = vec![vec![Str::escaped("a"), Str::escaped("b")]];
    let sent = client.say(&question("que_1", Some(labels.clone())));
    assert_eq!(
        sent,
        [json!({"method": "POST", "path": "/question/que_1/reply", "body": {"answers": [["a", "b"]]}})]
    );
    assert!(client.say(&question("que_1", Some(labels))).is_empty());
    assert_eq!(
        client.say(&question("que_2", None)),
        [json!({"method": "POST", "path": "/question/que_2/reject"})]
    );
}

#[test]
fn odd_events_are_never_a_panic_and_never_a_request() {
    let mut client = Client::opened();
    let odd = [
        json!({"type": "message.updated"}),
        json!({"type": "message.updated", "properties": {"info": {"id": 3}}}),
        json!({"type": "message.updated", "properties": {"sessionID": "ses_1", "info": {"id": "m", "role": "ghost"}}}),
        json!({"type": "message.part.updated", "properties": {"sessionID": "ses_1", "part": {"id": "p", "messageID": "m"}}}),
        json!({"type": "message.part.delta", "properties": {"sessionID": "ses_1", "messageID": 1, "partID": [], "field": "text", "delta": "x"}}),
        json!({"type": "session.status", "properties": {"sessionID": "ses_1", "status": "busy"}}),
        json!({"type": "session.error", "properties": {"sessionID": "ses_1"}}),
        json!({"type": "question.replied", "properties": {"sessionID": "ses_1", "requestID": {}, "answers": 1}}),
        json!({"request": "POST /session", "status": -1, "body": []}),
        json!({"request": "POST /session", "status": 200, "body": {"id": 9}}),
        json!([]),
        json!("x"),
    ];
    for event in odd {
        assert!(client.hear(&event).is_empty(), "{event}");
    }
}

#[test]
fn a_message_that_never_comes_does_not_lose_its_parts() {
    let part =
        json!({"id": "prt_1", "messageID": "msg_1", "sessionID": "ses_1", "type": "text", "text": "orphan"});
    let events =
        universal(&sse(&[event("message.part.updated", json!({"sessionID": "ses_1", "part": part}))]));
    let said: Vec<_> =
        items(&events, "message").iter().map(|item| item["content"][0]["text"].clone()).collect();
    assert_eq!(said, ["orphan"]);
}

/// The captured events of a real server against the messages that the server stored.
#[test]
fn the_capture_has_every_text_call_and_result() {
    let Some(root) = std::env::var_os("INTERLINGUA_CORPUS") else { return };
    let folder = std::path::Path::new(&root).join("agents/opencode");
    let capture = std::fs::read_to_string(folder.join("serve-events.jsonl")).unwrap();
    let stream: String = capture.lines().map(|line| format!("data: {line}\n\n")).collect();
    let events = universal(&stream);
    assert!(of(&events, "agent.unparsed").is_empty());
    let (mut reader, mut sessions) =
        (EventReader::new((server(), Role::Live), &Options::default()).unwrap(), 0);
    reader
        .push(stream.as_bytes(), |event| sessions += usize::from(matches!(event, Event::SessionStarted(_))));
    assert_eq!(sessions, 10, "eleven sessions, one of a subagent");
    assert_eq!(of(&events, "turn.started").len(), of(&events, "turn.ended").len());

    // What the server's events hold, counted without the dialect: the last state of each part.
    let mut parts: std::collections::BTreeMap<String, Value> = std::collections::BTreeMap::new();
    let mut roles: std::collections::BTreeMap<String, Value> = std::collections::BTreeMap::new();
    for line in capture.lines() {
        let event: Value = serde_json::from_str(line).unwrap();
        let properties = &event["properties"];
        if event["type"] == "message.part.updated" {
            let part = &properties["part"];
            parts.insert(part["id"].as_str().unwrap().to_owned(), part.clone());
        } else if event["type"] == "message.updated" {
            let info = &properties["info"];
            roles.insert(info["id"].as_str().unwrap().to_owned(), info["role"].clone());
        }
    }
    let mut stored = Vec::new();
    for part in parts.values() {
        let state = &part["state"];
        match part["type"].as_str().unwrap() {
            "text" => stored.push(json!([roles[part["messageID"].as_str().unwrap()], part["text"]])),
            "reasoning" => stored.push(json!(["reasoning", part["text"]])),
            "tool" => {
                stored.push(json!(["call", part["callID"], state["input"]]));
                match state["status"].as_str().unwrap() {
                    "completed" => stored.push(json!(["result", part["callID"], state["output"]])),
                    "error" => stored.push(json!(["result", part["callID"], state["error"]])),
                    _ => {}
                }
            }
            _ => {}
        }
    }
    let mut told = Vec::new();
    for item in of(&events, "item.completed").into_iter().map(|data| &data["item"]) {
        for part in item["content"].as_array().unwrap() {
            match (item["kind"].as_str().unwrap(), part["type"].as_str().unwrap()) {
                ("message", "text") => told.push(json!([item["role"], part["text"]])),
                (_, "reasoning") => told.push(json!(["reasoning", part["text"]])),
                (_, "tool_call") => {
                    let arguments: Value = serde_json::from_str(part["arguments"].as_str().unwrap()).unwrap();
                    told.push(json!(["call", part["call_id"], arguments]));
                }
                (_, "tool_result") => told.push(json!(["result", part["call_id"], part["output"]])),
                _ => {}
            }
        }
    }
    let sorted = |mut list: Vec<Value>| {
        list.sort_by_key(Value::to_string);
        list
    };
    assert_eq!(sorted(told), sorted(stored));
}
