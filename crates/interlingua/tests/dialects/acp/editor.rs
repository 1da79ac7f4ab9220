//! An agent is offered to an editor through [`EditorLink`].

use std::path::Path;

use interlingua::dialects::{Dialect, Options, Role};
use interlingua::json::Str;
use interlingua::model::{Decision, Event, Permission, Question, Stop, StopClass, Turn};
use interlingua::pipe::{EditorLink, EventReader, Pipe};
use serde_json::{Value, json};

use super::{Summary, acp, fixture, lines, read, sent, summary};

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
