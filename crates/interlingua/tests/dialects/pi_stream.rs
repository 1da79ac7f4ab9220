//! Pi's live output: pieces and whole messages, results, runs that end or are tried again, and the input of RPC mode.
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use interlingua::dialects::{Dialect, Options};
use interlingua::json::Str;
use interlingua::model::{
    Author, Event, ItemHead, ItemId, ItemKind, ItemTail, Part, Question, Session, Status, Stop, StopClass,
    Turn,
};
use interlingua::pipe::AgentLink;
use serde_json::{Value, json};

use crate::printed::{captures, check, counts, fixture, short, tokens, universal};

const NAME: &str = "pi-stream";

fn without_notices(events: &[Value]) -> Vec<String> {
    short(events).into_iter().filter(|line| !line.starts_with("status ")).collect()
}

#[test]
fn both_versions_tell_the_same() {
    let expected = [
        "session started",
        "turn started",
        "message user: Look at the notes.",
        r#"tool_call assistant: call_1_1 read {"path": "/home/demo/repo/missing.txt"}"#,
        "tool_result tool (failed): call_1_1 = ENOENT: no such file or directory, access '/home/demo/repo/missing.txt'",
        "message assistant: Done.",
        "turn ended: end_turn",
    ];
    for file in ["tools.jsonl", "tools-0.73.jsonl"] {
        let events = check(NAME, file, &fixture(NAME, file));
        let told = without_notices(&events);
        for line in expected {
            assert!(told.iter().any(|told| told == line), "{file}: {line} in {told:#?}");
        }
        assert!(told.iter().any(|line| line.contains("thought: The notes.")), "{told:#?}");
        let counted = counts(&events);
        assert_eq!((counted["tool_call"], counted["tool_result"], counted["thought"]), (2, 2, 1), "{file}");
        let sums = ["input", "cache_read", "output"].map(|count| tokens(&events, count));
        assert_eq!(sums, [2000, 1200, 100], "{file}");
        let edited = told.iter().find(|line| line.starts_with("tool_result tool: call_1_2")).unwrap();
        assert!(edited.ends_with("| patch /home/demo/repo/notes.txt"), "{edited}");
    }
}

#[test]
fn two_prompts_are_two_turns_and_an_abort_is_no_error() {
    let events = universal(NAME, &fixture(NAME, "rpc.jsonl"));
    let ends: Vec<String> =
        short(&events).into_iter().filter(|line| line.starts_with("turn ended")).collect();
    assert_eq!(ends, ["turn ended: end_turn", "turn ended: cancelled"]);
    let counted = counts(&events);
    assert_eq!((counted["turn.started"], counted.get("error")), (2, None));
    assert_eq!(events[0]["data"]["metadata"]["model"], "scripted", "from the state");
}

#[test]
fn an_error_that_is_tried_again_does_not_end_the_turn() {
    let answer = json!({"role": "assistant", "content": [], "model": "m", "stopReason": "error", "errorMessage": "overloaded"});
    let line = |value: Value| value.to_string() + "\n";
    let run = |will_retry: bool| {
        [
            line(json!({"type": "agent_start"})),
            line(json!({"type": "message_start", "message": answer})),
            line(json!({"type": "message_end", "message": answer})),
            line(json!({"type": "agent_end", "messages": [answer], "willRetry": will_retry})),
        ]
        .concat()
    };
    let told = short(&universal(NAME, &(run(true) + &run(false))));
    let count = |start: &str| told.iter().filter(|line| line.starts_with(start)).count();
    assert_eq!(
        (count("turn started"), count("turn ended"), count("error: overloaded")),
        (1, 1, 1),
        "{told:?}"
    );
    let told = short(&universal(NAME, &fixture(NAME, "api-error.jsonl")));
    assert_eq!(told[told.len() - 2..], ["error: 400 scripted bad request", "turn ended: error"]);
}

/// The whole message is the final text: a continuation is emitted, and a repeated result only once.
#[test]
fn whole_messages_add_what_no_piece_held() {
    let line = |value: Value| value.to_string() + "\n";
    let start = json!({"role": "assistant", "content": [], "model": "m"});
    let piece = |kind: &str, more: Value| {
        let mut event = json!({"type": kind, "contentIndex": 0});
        event.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        line(json!({"type": "message_update", "assistantMessageEvent": event}))
    };
    let whole = json!({"role": "assistant", "model": "m", "stopReason": "stop", "content": [
        {"type": "text", "text": "One two."}, {"type": "text", "text": "Three."}]});
    let text = [
        line(json!({"type": "message_start", "message": start})),
        piece("text_start", json!({})),
        piece("text_delta", json!({"delta": "One "})),
        line(json!({"type": "message_end", "message": whole})),
    ]
    .concat();
    let told = short(&universal(NAME, &text));
    assert!(told.contains(&"message assistant: One two. | Three.".to_owned()), "{told:?}");
}

/// A transcript of both directions has a prompt twice; the message is emitted once.
#[test]
fn a_prompt_and_its_repetition_are_one_message() {
    let line = |value: Value| value.to_string() + "\n";
    let prompt = |text: &str| line(json!({"type": "prompt", "message": text}));
    let user = json!({"role": "user", "content": [{"type": "text", "text": "Look."}], "timestamp": 1_794_945_082_695_u64});
    let repeated = [
        line(json!({"type": "message_start", "message": user})),
        line(json!({"type": "message_end", "message": user})),
    ]
    .concat();
    let said = |text: String| {
        let told = short(&universal(NAME, &text));
        told.iter().filter(|line| *line == "message user: Look.").count()
    };
    assert_eq!(said(prompt("Look.")), 1);
    assert_eq!(said(prompt("Look.") + &repeated), 1);
    assert_eq!(said(prompt("Look.") + &repeated + &repeated), 2, "the second was never prompted");
    assert_eq!(said(prompt("Go.") + &repeated), 1);
}

fn prompt(link: &mut AgentLink, text: &str) -> String {
    let id = ItemId(7);
    let mut sent = link.send(&Event::ItemStarted(ItemHead::new(id, ItemKind::Message, Author::User)));
    let value = Part::Text(Str::plain(text));
    let arrival = interlingua::model::Arrival::Whole;
    sent.extend(link.send(&Event::ItemDelta(interlingua::model::Delta {
        item: id,
        part: 0,
        value,
        arrival,
    })));
    sent.extend(link.send(&Event::ItemCompleted(ItemTail::new(id, Status::Completed))));
    String::from_utf8(sent).unwrap()
}

fn link() -> AgentLink {
    AgentLink::new(Dialect::named(NAME).unwrap(), &Options::default()).unwrap()
}

#[test]
fn a_client_prompts_steers_and_interrupts() {
    let mut link = link();
    let opened = link.send(&Event::SessionStarted(Session::default()));
    assert_eq!(opened, b"{\"id\":\"get_state\",\"type\":\"get_state\"}\n");
    assert_eq!(prompt(&mut link, "Look."), "{\"type\":\"prompt\",\"message\":\"Look.\"}\n");
    assert!(link.receive(b"{\"type\":\"agent_start\"}\n", |_| ()).is_empty());
    let steered = "{\"type\":\"prompt\",\"message\":\"Stop.\",\"streamingBehavior\":\"steer\"}\n";
    assert_eq!(prompt(&mut link, "Stop."), steered);
    let stop = Stop { class: StopClass::Cancelled, raw: None, sequence: None, detail: None };
    let sent = link.send(&Event::TurnEnded(Turn { stop: Some(stop), ..Turn::default() }));
    assert_eq!(sent, b"{\"type\":\"abort\"}\n");
    link.receive(b"{\"type\":\"agent_settled\"}\n", |_| ());
    assert_eq!(prompt(&mut link, "Go."), "{\"type\":\"prompt\",\"message\":\"Go.\"}\n");
}

/// Every dialog is a question with one answer; a request of an unknown method is cancelled at once.
#[test]
fn dialogs_are_questions_and_are_answered_once() {
    let mut link = link();
    let mut asked = Vec::new();
    let request = |method: &str, id: Value| {
        let request = json!({"type": "extension_ui_request", "id": id, "method": method, "title": "Which?",
            "message": "Think.", "options": ["a", "b"]});
        request.to_string() + "\n"
    };
    for (method, id) in [("select", "1"), ("confirm", "2"), ("input", "3")] {
        let reply = link.receive(request(method, json!(id)).as_bytes(), |event| {
            if let Event::QuestionRequested(question) = event {
                asked.push(question.clone().into_owned());
            }
        });
        assert!(reply.is_empty(), "{method}");
    }
    assert_eq!(asked.len(), 3);
    assert_eq!(asked[1].prompts[0].options.len(), 2);
    let answer = |id: &'static str, answer: Option<&'static str>| {
        Event::QuestionResolved(Question {
            id: Str::plain(id),
            call_id: None,
            prompts: Vec::new(),
            answers: answer.map(|answer| vec![vec![Str::plain(answer)]]),
            declined: answer.is_none(),
        })
    };
    let mut send = |event: Event<'_>| String::from_utf8(link.send(&event)).unwrap();
    assert_eq!(
        send(answer("1", Some("b"))),
        "{\"type\":\"extension_ui_response\",\"id\":\"1\",\"value\":\"b\"}\n"
    );
    assert_eq!(send(answer("1", Some("b"))), "", "answered before");
    assert_eq!(send(answer("9", Some("b"))), "", "never asked");
    assert_eq!(
        send(answer("2", Some("No"))),
        "{\"type\":\"extension_ui_response\",\"id\":\"2\",\"confirmed\":false}\n"
    );
    assert_eq!(
        send(answer("3", None)),
        "{\"type\":\"extension_ui_response\",\"id\":\"3\",\"cancelled\":true}\n"
    );
    let refused = link.receive(request("levitate", json!("4")).as_bytes(), |_| ());
    assert_eq!(refused, b"{\"type\":\"extension_ui_response\",\"id\":\"4\",\"cancelled\":true}\n");
    for (method, id) in [("notify", json!("5")), ("select", json!(6)), ("select", json!(null))] {
        assert!(link.receive(request(method, id).as_bytes(), |_| ()).is_empty());
    }
}

#[test]
fn captures_agree_with_their_calls() {
    for (name, text) in captures("pi", &["json-", "v0.73.1-json-", "rpc-"]) {
        let events = check(NAME, &name, &text);
        let counted = counts(&events);
        let count = |kind: &str| counted.get(kind).copied().unwrap_or_default();
        assert_eq!(count("tool_call"), text.matches(r#""type":"tool_execution_start""#).count(), "{name}");
        assert_eq!(count("tool_result"), count("tool_call"), "{name}");
        assert_eq!(count("thought"), text.matches(r#""type":"thinking_end""#).count(), "{name}");
    }
}
