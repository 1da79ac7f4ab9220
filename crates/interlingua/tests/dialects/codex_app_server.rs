//! The app server of Codex: the meaning of its messages, and a link that is driven with its transcripts.
#![expect(clippy::expect_used, reason = "tests fail by panicking")]

use interlingua::check::CheckWriter;
use interlingua::dialects::{Dialect, Options, Role};
use interlingua::json::{Raw, Str};
use interlingua::model::{
    Author, Decision, Event, FailureClass, ItemHead, ItemId, ItemKind, ItemTail, Part, Permission, Question,
    Session, Status, Stop, StopClass, Turn,
};
use interlingua::pipe::{AgentLink, Pipe};
use serde_json::{Value, json};

use crate::support::fixture_root;

fn dialect() -> &'static Dialect {
    Dialect::named("codex-app-server").expect("registered")
}

fn fixture(name: &str) -> String {
    let path = fixture_root(dialect()).join("2026-11").join(name);
    std::fs::read_to_string(path).expect("a fixture")
}

/// The events of lines.
fn read(lines: &str) -> Vec<Event<'static>> {
    let mut events = Vec::new();
    let mut link = AgentLink::new(dialect(), &Options::default()).expect("a live dialect");
    link.receive(lines.as_bytes(), |event| events.push(event.clone().into_owned()));
    link.finish(|event| events.push(event.clone().into_owned()));
    events
}

fn texts(events: &[Event<'_>], author: Author) -> Vec<String> {
    let mut found: Vec<(ItemId, String)> = Vec::new();
    for event in events {
        match event {
            Event::ItemStarted(ItemHead { id, kind: ItemKind::Message, author: by, .. }) if *by == author => {
                found.push((*id, String::new()));
            }
            Event::ItemDelta(delta) => {
                if let (Part::Text(text), Some((_, said))) =
                    (&delta.value, found.iter_mut().find(|(id, _)| *id == delta.item))
                {
                    said.push_str(&text.decode());
                }
            }
            _ => {}
        }
    }
    found.into_iter().map(|(_, text)| text).collect()
}

/// A client and its link.
struct Client {
    link: AgentLink,
    events: Vec<Event<'static>>,
    items: u64,
}

impl Client {
    fn new() -> Self {
        let link = AgentLink::new(dialect(), &Options::default()).expect("a live dialect");
        Self { link, events: Vec::new(), items: 0 }
    }

    /// A client whose thread `t` is open.
    fn opened() -> Self {
        let mut client = Self::new();
        client.open(Session::default());
        client.says(&json!({"id": "initialize#1", "result": {"codexHome": "/h"}}));
        let sent = client.says(
            &json!({"id": "thread/start#2", "result": {"thread": {"id": "t"}, "approvalPolicy": "never"}}),
        );
        assert_eq!(sent, [] as [Value; 0]);
        client
    }

    /// The server prints a message; returns the messages of the client.
    fn says(&mut self, message: &Value) -> Vec<Value> {
        let line = format!("{message}\n");
        let events = &mut self.events;
        parse(&self.link.receive(line.as_bytes(), |event| events.push(event.clone().into_owned())))
    }

    fn send(&mut self, event: &Event<'_>) -> Vec<Value> {
        parse(&self.link.send(event))
    }

    fn open(&mut self, session: Session<'_>) -> Vec<Value> {
        self.send(&Event::SessionStarted(session))
    }

    fn prompt(&mut self, text: &str) -> Vec<Value> {
        self.items += 1;
        let id = ItemId(self.items);
        let mut sent = self.send(&Event::ItemStarted(ItemHead::new(id, ItemKind::Message, Author::User)));
        let arrival = interlingua::model::Arrival::Whole;
        let value = Part::Text(Str::from_plain(text));
        sent.extend(self.send(&Event::ItemDelta(interlingua::model::Delta {
            item: id,
            part: 0,
            value,
            arrival,
        })));
        sent.extend(self.send(&Event::ItemCompleted(ItemTail::new(id, Status::Completed))));
        sent
    }

    fn decide(&mut self, id: &str, answer: Decision<'_>) -> Vec<Value> {
        let (id, action) = (Str::from_plain(id), Str::escaped("commandExecution"));
        let answer = Some(answer);
        self.send(&Event::PermissionResolved(Permission {
            id,
            action,
            call_id: None,
            input: None,
            answer,
            by: None,
        }))
    }

    fn answer(&mut self, id: &str, answers: Option<Vec<Vec<Str<'static>>>>) -> Vec<Value> {
        let declined = answers.is_none();
        let id = Str::from_plain(id);
        self.send(&Event::QuestionResolved(Question {
            id,
            call_id: None,
            prompts: Vec::new(),
            answers,
            declined,
        }))
    }

    fn interrupt(&mut self) -> Vec<Value> {
        let stop = Some(Stop { class: StopClass::Cancelled, raw: None, sequence: None, detail: None });
        self.send(&Event::TurnEnded(Turn { stop, ..Turn::default() }))
    }
}

fn parse(bytes: &[u8]) -> Vec<Value> {
    let text = std::str::from_utf8(bytes).expect("UTF-8");
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

fn approval(id: &Value) -> Value {
    json!({"method": "item/commandExecution/requestApproval", "id": id,
        "params": {"threadId": "t", "turnId": "u", "itemId": "c", "command": "ls", "cwd": "/w"}})
}

fn turn(method: &str, turn: &str, status: &str) -> Value {
    json!({"method": method, "params": {"threadId": "t", "turn": {"id": turn, "status": status}}})
}

#[test]
fn the_handshake_carries_the_settings_and_prompts_wait_for_it() {
    let mut client = Client::new();
    let session = Session {
        cwd: Some(Str::escaped("/w")),
        model: Some(Str::escaped("m")),
        effort: Some(Str::escaped("low")),
        permission_mode: Some(Str::escaped("untrusted")),
        sandbox_policy: Some(Raw::new(r#"{"type":"workspaceWrite"}"#)),
        ..Session::default()
    };
    let sent = client.open(session);
    assert_eq!((sent.len(), &sent[0]["method"]), (1, &json!("initialize")));
    assert_eq!(sent[0].get("jsonrpc"), None);
    assert_eq!(client.prompt("one"), [] as [Value; 0]);
    assert_eq!(client.prompt("two"), [] as [Value; 0]);
    let sent = client.says(&json!({"id": "initialize#1", "result": {"codexHome": "/h"}}));
    assert_eq!(sent[0], json!({"method": "initialized", "params": {}}));
    let params = json!({"cwd": "/w", "model": "m", "approvalPolicy": "untrusted", "sandbox": "workspace-write",
        "config": {"model_reasoning_effort": "low"}});
    assert_eq!(sent[1], json!({"id": "thread/start#2", "method": "thread/start", "params": params}));
    let opened =
        json!({"id": "thread/start#2", "result": {"thread": {"id": "t"}, "approvalPolicy": "untrusted"}});
    let sent = client.says(&opened);
    let input = |text: &str| json!({"threadId": "t", "input": [{"type": "text", "text": text}]});
    assert_eq!(sent, [json!({"id": "turn/start#3", "method": "turn/start", "params": input("one")})]);
    // A repeated response opens nothing twice.
    assert_eq!(client.says(&opened), [] as [Value; 0]);
    client.says(&turn("turn/started", "u", "inProgress"));
    // The turn of a subagent ends: the own turn goes on.
    let child = json!({"method": "turn/completed", "params": {"threadId": "other", "turn": {"id": "u", "status": "completed"}}});
    assert_eq!(client.says(&child), [] as [Value; 0]);
    let sent = client.says(&turn("turn/completed", "u", "completed"));
    assert_eq!(sent, [json!({"id": "turn/start#4", "method": "turn/start", "params": input("two")})]);
}

#[test]
fn a_session_with_an_id_is_resumed() {
    let mut client = Client::new();
    client.open(Session { id: Some(Str::escaped("t")), ..Session::default() });
    let sent = client.says(&json!({"id": "initialize#1", "result": {}}));
    assert_eq!(
        sent[1],
        json!({"id": "thread/resume#2", "method": "thread/resume", "params": {"threadId": "t"}})
    );
}

#[test]
fn a_refused_handshake_is_an_error_and_sends_no_prompt() {
    let mut client = Client::new();
    client.prompt("one");
    client.says(&json!({"id": "initialize#1", "result": {}}));
    let error = json!({"code": -32600, "message": "no such folder"});
    assert_eq!(client.says(&json!({"id": "thread/start#2", "error": error})), [] as [Value; 0]);
    assert_eq!(client.prompt("two"), [] as [Value; 0]);
    let is_error =
        |event: &&Event<'_>| matches!(event, Event::Error(failure) if failure.message.is("no such folder"));
    assert_eq!(client.events.iter().filter(is_error).count(), 1);
}

#[test]
fn each_decision_is_the_servers_word_and_is_sent_once() {
    let words = [
        (Decision::Accept, json!("accept")),
        (Decision::AcceptForSession, json!("acceptForSession")),
        (Decision::Reject(Some(Str::escaped("no"))), json!("decline")),
    ];
    for (decision, word) in words {
        let mut client = Client::opened();
        assert_eq!(client.says(&approval(&json!(7))), [] as [Value; 0]);
        let requested = client.events.iter().find_map(|event| match event {
            Event::PermissionRequested(permission) => Some(permission.clone()),
            _ => None,
        });
        let requested = requested.expect("requested");
        assert!(requested.id.is("7") && requested.call_id.is_some_and(|call| call.is("c")));
        assert_eq!(requested.input.expect("input").as_str(), r#"{"command":"ls","cwd":"/w"}"#);
        assert_eq!(client.decide("7", decision.clone()), [json!({"id": 7, "result": {"decision": word}})]);
        assert_eq!(client.decide("7", decision), [] as [Value; 0], "answered twice");
    }
    let old =
        json!({"method": "execCommandApproval", "id": "x", "params": {"callId": "c", "command": ["ls"]}});
    let mut client = Client::opened();
    client.says(&old);
    let denied = json!({"denied": {"rejection": "no"}});
    assert_eq!(
        client.decide("x", Decision::Reject(Some(Str::escaped("no")))),
        [json!({"id": "x", "result": {"decision": denied}})]
    );
}

#[test]
fn hostile_ids_never_get_a_wrong_answer() {
    let mut client = Client::opened();
    for id in ["", "8", "null", "\"", "\\", "999999999999999999999"] {
        assert_eq!(client.decide(id, Decision::Accept), [] as [Value; 0], "unknown: {id}");
        assert_eq!(client.answer(id, None), [] as [Value; 0], "unknown: {id}");
    }
    // A decision does not answer a question, and answers do not answer an approval; both stay open.
    let questions = json!([{"id": "q", "header": "", "question": "Why?", "options": null}]);
    let ask = json!({"method": "item/tool/requestUserInput", "id": 1, "params": {"threadId": "t", "itemId": "c", "questions": questions}});
    client.says(&ask);
    client.says(&approval(&json!(2)));
    assert_eq!(client.decide("1", Decision::Accept), [] as [Value; 0]);
    assert_eq!(client.answer("2", Some(vec![vec![Str::escaped("x")]])), [] as [Value; 0]);
    assert_eq!(
        client.answer("1", Some(vec![vec![Str::escaped("x")]])),
        [json!({"id": 1, "result": {"answers": {"q": {"answers": ["x"]}}}})]
    );
    assert_eq!(client.decide("2", Decision::Accept), [json!({"id": 2, "result": {"decision": "accept"}})]);
    // Ids of other types are no requests; a number and a text of the same digits are two requests.
    for id in [json!(null), json!({}), json!([1]), json!(true)] {
        assert_eq!(client.says(&approval(&id)), [] as [Value; 0]);
    }
    client.says(&approval(&json!(3)));
    let sent = client.says(&approval(&json!("3")));
    assert_eq!((sent.len(), &sent[0]["id"]), (1, &json!(3)), "the number can no longer be named: refused");
    assert_eq!(client.decide("3", Decision::Accept), [json!({"id": "3", "result": {"decision": "accept"}})]);
    // Responses to requests that were never sent.
    for id in [json!("turn/start#x"), json!("thread/start#99"), json!("initialize#1"), json!(-1), json!("#")]
    {
        assert_eq!(client.says(&json!({"id": id, "result": {"thread": {"id": "evil"}}})), [] as [Value; 0]);
    }
    assert_eq!(client.prompt("one")[0]["params"]["threadId"], "t");
}

#[test]
fn a_request_that_was_resolved_elsewhere_is_not_answered() {
    let mut client = Client::opened();
    client.says(&approval(&json!(4)));
    client.says(&json!({"method": "serverRequest/resolved", "params": {"threadId": "t", "requestId": 4}}));
    assert_eq!(client.decide("4", Decision::Accept), [] as [Value; 0]);
    client.says(&json!({"method": "item/completed", "params": {"threadId": "t", "item": {"type": "commandExecution", "id": "c", "command": "ls", "status": "declined"}}}));
    let resolved = client.events.iter().filter(|event| match event {
        Event::PermissionResolved(permission) => permission.answer == Some(Decision::Reject(None)),
        _ => false,
    });
    assert_eq!(resolved.count(), 1);
}

/// List item 52: every request of the server is answered or refused; none is dropped.
#[test]
fn list_52_every_other_request_is_refused_at_once() {
    let mut client = Client::opened();
    let methods = [
        "mcpServer/elicitation/request",
        "item/permissions/requestApproval",
        "item/tool/call",
        "account/chatgptAuthTokens/refresh",
        "attestation/generate",
        "currentTime/read",
        "no/such/method",
    ];
    for (number, method) in methods.iter().enumerate() {
        let sent = client.says(&json!({"method": method, "id": number, "params": {"threadId": "t"}}));
        assert_eq!((sent.len(), &sent[0]["id"]), (1, &json!(number)), "{method}");
        assert_eq!(sent[0]["error"]["code"], -32601, "{method}");
        let named = client.events.iter().any(|event| {
            matches!(event, Event::ItemStarted(ItemHead { kind: ItemKind::Notice(notice), .. })
                if notice.event_type.as_ref().is_some_and(|name| name.is(method)))
        });
        assert!(named, "{method} is shown");
    }
    // Approvals and questions without the members that an event needs.
    let ask = json!({"method": "item/tool/requestUserInput", "id": 50, "params": {"questions": []}});
    assert_eq!(client.says(&ask)[0]["error"]["code"], -32601);
    let bare = json!({"method": "item/fileChange/requestApproval", "id": 51});
    assert_eq!(client.says(&bare)[0]["error"]["code"], -32601);
}

/// List item 50: all questions of a request, with descriptions; the answers belong to the questions by their order.
#[test]
fn list_50_all_prompts_of_a_question_are_answered() {
    let mut client = Client::opened();
    let option = |label: &str| json!({"label": label, "description": format!("about {label}")});
    let questions = json!([
        {"id": "a", "header": "A", "question": "First?", "options": [option("x"), option("y")]},
        {"id": "b", "header": "B", "question": "Second?", "options": [option("z")]},
    ]);
    let ask = json!({"method": "item/tool/requestUserInput", "id": 0, "params": {"threadId": "t", "itemId": "c", "questions": questions}});
    assert_eq!(client.says(&ask), [] as [Value; 0]);
    let asked = client.events.iter().find_map(|event| match event {
        Event::QuestionRequested(question) => Some(question.clone()),
        _ => None,
    });
    let asked = asked.expect("requested");
    let prompts: Vec<_> = asked.prompts.iter().map(|prompt| prompt.text.decode().into_owned()).collect();
    assert_eq!(prompts, ["First?", "Second?"]);
    assert!(asked.prompts[0].options[1].1.as_ref().is_some_and(|about| about.is("about y")));
    let answers = vec![vec![Str::escaped("y")], vec![Str::escaped("own words")]];
    let sent = client.answer("0", Some(answers));
    let given = json!({"a": {"answers": ["y"]}, "b": {"answers": ["own words"]}});
    assert_eq!(sent, [json!({"id": 0, "result": {"answers": given}})]);
    // A declined question is refused, once.
    let again = json!({"method": "item/tool/requestUserInput", "id": 1, "params": {"threadId": "t", "itemId": "c", "questions": questions}});
    client.says(&again);
    assert_eq!(client.answer("1", None)[0]["error"]["message"], "the user declined to answer");
    assert_eq!(client.answer("1", None), [] as [Value; 0]);
}

#[test]
fn an_interrupt_names_the_running_turn() {
    let mut client = Client::opened();
    assert_eq!(client.interrupt(), [] as [Value; 0], "no turn runs");
    client.prompt("one");
    assert_eq!(client.interrupt(), [] as [Value; 0], "the turn has no id yet");
    let sent = client.says(&json!({"id": "turn/start#3", "result": {"turn": {"id": "u"}}}));
    let interrupt = |number: u64| json!({"id": format!("turn/interrupt#{number}"), "method": "turn/interrupt", "params": {"threadId": "t", "turnId": "u"}});
    assert_eq!(sent, [interrupt(4)]);
    assert_eq!(client.interrupt(), [interrupt(5)]);
    client.says(&turn("turn/completed", "u", "interrupted"));
    assert_eq!(client.interrupt(), [] as [Value; 0], "the turn has ended");
}

/// List item 22: every result has an earlier call. List item 23: failed and declined tools failed.
#[test]
fn list_22_23_tools_are_calls_with_results() {
    let events = read(&fixture("approvals-output.jsonl"));
    let mut calls = Vec::new();
    let mut results = Vec::new();
    let mut open = None;
    for event in &events {
        match event {
            Event::ItemStarted(head) => match &head.kind {
                ItemKind::ToolCall(call) => calls.push(call.call_id.clone()),
                ItemKind::ToolResult(result) => {
                    assert!(calls.contains(&result.call_id), "{:?}", result.call_id);
                    open = Some(head.id);
                }
                ItemKind::Message | ItemKind::Reasoning | ItemKind::Notice(_) => {}
            },
            Event::ItemCompleted(tail) if Some(tail.id) == open => {
                results.push((tail.status, tail.exit_code));
            }
            _ => {}
        }
    }
    assert_eq!(
        results,
        [(Status::Completed, Some(0)), (Status::Failed, None), (Status::Completed, None)],
        "accepted, declined, a patch"
    );
    // The output alone shows the decisions.
    let decisions: Vec<_> = events
        .iter()
        .filter_map(|event| match event {
            Event::PermissionResolved(permission) => permission.answer.clone(),
            _ => None,
        })
        .collect();
    assert_eq!(decisions, [Decision::Accept, Decision::Reject(None), Decision::Accept]);
}

#[test]
fn a_transcript_shows_each_prompt_and_each_decision_once() {
    let events = read(&fixture("approvals.jsonl"));
    assert_eq!(texts(&events, Author::User), ["touch two files, patch a third"]);
    let decisions: Vec<_> = events
        .iter()
        .filter_map(|event| match event {
            Event::PermissionResolved(permission) => permission.answer.clone(),
            _ => None,
        })
        .collect();
    assert_eq!(decisions, [Decision::Accept, Decision::Reject(None), Decision::AcceptForSession]);
    let events = read(&fixture("question.jsonl"));
    let answers: Vec<_> = events
        .iter()
        .filter_map(|event| match event {
            Event::QuestionResolved(question) => question.answers.clone(),
            _ => None,
        })
        .collect();
    assert_eq!(answers, [[[Str::escaped("Egret")], [Str::escaped("Size")]]]);
}

/// List item 80: error notifications reach the session, and an error that the server retries does not end the turn.
#[test]
fn list_80_a_retried_error_does_not_end_the_turn() {
    let events = read(&fixture("error.jsonl"));
    let steps: Vec<_> = events
        .iter()
        .filter_map(|event| match event {
            Event::TurnStarted(_) => Some("started".to_owned()),
            Event::Error(failure) => Some(failure.message.decode().chars().take(24).collect()),
            Event::TurnEnded(turn) => Some(format!("{:?}", turn.stop.as_ref().map(|stop| stop.class))),
            _ => None,
        })
        .collect();
    assert_eq!(
        steps,
        [
            "started",
            "Reconnecting... 1/5",
            r#"{"error":{"type":"invali"#,
            "Some(Error)",
            "thread not found: 111111"
        ]
    );
}

/// Codex reports a broken connection to its provider, tries again, and its own stream is whole.
#[test]
fn a_broken_connection_to_the_provider_is_no_torn_stream() {
    let source = fixture("error.jsonl");
    let classes: Vec<_> = read(&source)
        .iter()
        .filter_map(|event| match event {
            Event::Error(failure) => Some(failure.class),
            _ => None,
        })
        .collect();
    assert_eq!(classes, [FailureClass::Server, FailureClass::Other, FailureClass::InvalidRequest]);
    let universal = Dialect::named("universal").expect("registered");
    let pipe =
        Pipe::new((dialect(), Role::Live), (universal, Role::Live), &Options::default()).expect("a pipe");
    let mut out = Vec::new();
    pipe.finish_with(source.as_bytes(), &mut out);
    let errors: Vec<_> = parse(&out).into_iter().filter(|event| event["type"] == "error").collect();
    assert!(errors.iter().all(|event| event["source"] == "agent"), "{errors:?}");
    assert_eq!(errors.len(), 3);
    let checker = Box::new(CheckWriter::new(dialect().lineage));
    let pipe = Pipe::with_writer((dialect(), Role::Live), checker, &Options::default()).expect("a pipe");
    assert_eq!(pipe.finish_with(source.as_bytes(), &mut Vec::new()).problems, []);
}

#[test]
fn an_interrupted_turn_completes_its_items_as_interrupted() {
    let events = read(&fixture("interrupted.jsonl"));
    assert_eq!(texts(&events, Author::Assistant), ["Once upon a time there was a"]);
    let cut = events
        .iter()
        .filter(|event| matches!(event, Event::ItemCompleted(tail) if tail.status == Status::Interrupted));
    assert_eq!(cut.count(), 1);
    let stop = events.iter().find_map(|event| match event {
        Event::TurnEnded(turn) => turn.stop.as_ref().map(|stop| stop.class),
        _ => None,
    });
    assert_eq!(stop, Some(StopClass::Cancelled));
}

#[test]
fn items_of_a_subagent_name_the_agent_and_its_call() {
    let events = read(&fixture("subagent.jsonl"));
    let heads = events.iter().filter_map(|event| match event {
        Event::ItemStarted(head) if head.kind == ItemKind::Message && head.agent.is_some() => Some(head),
        _ => None,
    });
    let calls: Vec<_> = heads.map(|head| head.parent_call.clone().expect("a call")).collect();
    assert_eq!(calls, [Str::escaped("call_demo60")]);
    let turns = events.iter().filter(|event| matches!(event, Event::TurnStarted(_) | Event::TurnEnded(_)));
    assert_eq!(turns.count(), 2, "the turn of the subagent is a notice");
}

#[test]
fn repeated_totals_add_no_usage() {
    let events = read(&fixture("compacted.jsonl"));
    let outputs = |wanted: fn(&Event<'static>) -> Option<Turn<'static>>| {
        let usages = events.iter().filter_map(wanted).filter_map(|turn| turn.usage?.output);
        usages.collect::<Vec<_>>()
    };
    let reported = outputs(|event| if let Event::Usage(turn) = event { Some(turn.clone()) } else { None });
    let ended = outputs(|event| if let Event::TurnEnded(turn) = event { Some(turn.clone()) } else { None });
    assert_eq!(reported, [51, 52, 53]);
    assert_eq!(ended, reported);
    assert_eq!(events.iter().filter(|event| matches!(event, Event::Compacted(_))).count(), 1);
}

#[test]
fn a_whole_text_that_continues_its_pieces_adds_the_rest() {
    let item = |text: &str| json!({"type": "agentMessage", "id": "m", "text": text});
    let of =
        |method: &str, text: &str| json!({"method": method, "params": {"threadId": "t", "item": item(text)}});
    let delta = json!({"method": "item/agentMessage/delta", "params": {"threadId": "t", "itemId": "m", "delta": "a\nb"}});
    for (whole, expected) in [("a\nb", "a\nb"), ("a\nbc", "a\nbc"), ("other", "a\nb")] {
        let lines = format!("{}\n{delta}\n{}\n", of("item/started", ""), of("item/completed", whole));
        assert_eq!(texts(&read(&lines), Author::Assistant), [expected]);
    }
    // An item without a start or pieces is whole at its end.
    let lines = format!("{}\n", of("item/completed", "all"));
    assert_eq!(texts(&read(&lines), Author::Assistant), ["all"]);
}
