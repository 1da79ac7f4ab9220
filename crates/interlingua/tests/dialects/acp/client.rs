//! A client drives an agent through [`AgentLink`].

use interlingua::dialects::Options;
use interlingua::json::Str;
use interlingua::model::{
    Author, Decision, Delta, Event, ItemHead, ItemId, ItemKind, ItemTail, Part, Permission, Question,
    Session, Status, Stop, StopClass, Turn,
};
use interlingua::pipe::AgentLink;
use serde_json::{Value, json};

use super::{acp, fixture, sent, summary};

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
