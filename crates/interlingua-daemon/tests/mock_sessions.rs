//! Sessions with the mock agent, over the API. The numbers in the names are those of the conformance list.

#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic, reason = "a test may fail")]

use std::time::Duration;

use http::Method;
use interlingua_daemon::{ApiBody, ApiRequest, Daemon, DaemonSettings};
use interlingua_store::StorePlace;
use serde_json::{Value, json};

/// A daemon with its store.
struct Host {
    daemon: Daemon,
    folder: tempfile::TempDir,
}

impl Host {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let daemon = open(&folder).await;
        Self { daemon, folder }
    }

    async fn call(&self, method: Method, path: &str, body: Option<Value>) -> (u16, Value) {
        let mut request = ApiRequest::new(method, path);
        if let Some(body) = body {
            request = request.with_json(body.to_string());
        }
        let response = self.daemon.answer(request).await;
        let ApiBody::Whole(body) = response.body else { panic!("a stream") };
        let is_problem = response.content_type == Some("application/problem+json");
        assert_eq!(is_problem, response.status >= 400, "{}", response.status);
        (response.status, serde_json::from_slice(&body).unwrap_or(Value::Null))
    }

    async fn create(&self, id: &str) {
        let (status, _) =
            self.call(Method::POST, &format!("/v1/sessions/{id}"), Some(json!({ "agent": "mock" }))).await;
        assert_eq!(status, 200);
    }

    async fn say(&self, id: &str, text: &str) -> u16 {
        let body = json!({ "message": text });
        self.call(Method::POST, &format!("/v1/sessions/{id}/messages"), Some(body)).await.0
    }

    async fn events(&self, id: &str) -> Vec<Value> {
        let (status, body) = self.call(Method::GET, &format!("/v1/sessions/{id}/events"), None).await;
        assert_eq!(status, 200);
        body["events"].as_array().unwrap().clone()
    }

    /// Waits until the session has an event of this type, `count` times.
    async fn wait(&self, id: &str, kind: &str, count: usize) -> Vec<Value> {
        for _ in 0..500 {
            let events = self.events(id).await;
            if of(&events, kind).len() >= count {
                return events;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("no {kind}: {:#?}", self.events(id).await);
    }
}

async fn open(folder: &tempfile::TempDir) -> Daemon {
    let place = StorePlace::Sqlite(folder.path().join("store.db"));
    Daemon::open(DaemonSettings::new(place)).await.expect("the store opens")
}

fn of<'e>(events: &'e [Value], kind: &str) -> Vec<&'e Value> {
    events.iter().filter(|event| event["type"] == kind).collect()
}

/// The facts that hold for every stream.
fn check(events: &[Value]) {
    for (at, event) in events.iter().enumerate() {
        assert_eq!(event["sequence"], at + 1, "{event}");
        assert_eq!(event.as_object().unwrap().len(), 10);
        if event["synthetic"] == true {
            assert_eq!(event["source"], "daemon");
        }
    }
    for (start, end) in [("item.started", "item.completed"), ("turn.started", "turn.ended")] {
        assert_eq!(of(events, start).len(), of(events, end).len(), "{start}");
    }
    assert_eq!(events[0]["type"], "session.started");
}

fn texts(events: &[Value]) -> Vec<String> {
    let completed = of(events, "item.completed").into_iter().map(|event| &event["data"]["item"]);
    let messages = completed.filter(|item| item["kind"] == "message");
    let parts = messages.flat_map(|item| item["content"].as_array().unwrap());
    parts.filter_map(|part| part["text"].as_str().map(str::to_owned)).collect()
}

#[tokio::test]
async fn list_2_29_a_message_is_one_turn_with_the_prompt_and_the_answer() {
    let host = Host::new().await;
    host.create("s").await;
    assert_eq!(host.say("s", "echo hello there").await, 204);
    let events = host.wait("s", "turn.ended", 1).await;
    check(&events);
    assert_eq!(texts(&events), ["echo hello there", "hello there"]);
    assert_eq!(
        of(&events, "turn.started")[0]["data"]["turn_id"],
        of(&events, "turn.ended")[0]["data"]["turn_id"]
    );
    assert_eq!(host.say("s", "again").await, 204);
    let events = host.wait("s", "turn.ended", 2).await;
    check(&events);
    assert_eq!(texts(&events)[2..], ["again", "again"]);
    let (_, info) = host.call(Method::GET, "/v1/sessions/s", None).await;
    assert_eq!(
        (info["nativeSessionId"].clone(), info["ended"].clone()),
        (json!("mock-session"), json!(false))
    );
}

#[tokio::test]
async fn list_30_31_35_wrong_messages_are_refused() {
    let host = Host::new().await;
    host.create("s").await;
    assert_eq!(host.say("s", "  \n").await, 400);
    assert_eq!(host.say("s", "slow 300").await, 204);
    assert_eq!(host.say("s", "meanwhile").await, 409);
    host.wait("s", "turn.ended", 1).await;
    assert_eq!(host.call(Method::POST, "/v1/sessions/s/terminate", None).await.0, 204);
    assert_eq!(host.call(Method::POST, "/v1/sessions/s/terminate", None).await.0, 204);
    assert_eq!(host.say("s", "too late").await, 409);
    let events = host.events("s").await;
    check(&events);
    let last = events.last().unwrap();
    assert_eq!(
        (last["type"].clone(), last["data"]["reason"].clone()),
        (json!("session.ended"), json!("terminated"))
    );
    assert_eq!(last["data"]["terminated_by"], "daemon");
    assert_eq!(of(&events, "session.ended").len(), 1);
}

#[tokio::test]
async fn list_43_44_45_permissions_are_answered_once() {
    let host = Host::new().await;
    host.create("s").await;
    for (reply, status, failed) in
        [("once", "accept", false), ("always", "accept_for_session", false), ("reject", "reject", true)]
    {
        let before = host.events("s").await;
        assert_eq!(host.say("s", "permission file").await, 204);
        let events =
            host.wait("s", "permission.requested", of(&before, "permission.requested").len() + 1).await;
        let id = of(&events, "permission.requested").last().unwrap()["data"]["permission_id"].clone();
        let path = format!("/v1/sessions/s/permissions/{}/reply", id.as_str().unwrap());
        let (_, pending) = host.call(Method::GET, "/v1/sessions/s/pending", None).await;
        assert_eq!(pending["events"].as_array().unwrap().len(), 1);
        assert_eq!(host.call(Method::POST, &path, Some(json!({ "reply": reply }))).await.0, 204);
        assert_eq!(host.call(Method::POST, &path, Some(json!({ "reply": reply }))).await.0, 409);
        let events = host.wait("s", "turn.ended", of(&before, "turn.ended").len() + 1).await;
        check(&events);
        let resolved = of(&events, "permission.resolved");
        let resolved: Vec<_> = resolved.iter().filter(|event| event["data"]["permission_id"] == id).collect();
        assert_eq!(resolved.len(), 1);
        assert_eq!(resolved[0]["data"]["status"], status);
        let results = of(&events, "item.completed");
        let result =
            results.iter().rev().find(|event| event["data"]["item"]["kind"] == "tool_result").unwrap();
        assert_eq!(result["data"]["item"]["status"] == "failed", failed);
        assert!(texts(&events).last().unwrap().contains("After the permission"));
    }
    let unknown = "/v1/sessions/s/permissions/none/reply";
    assert_eq!(host.call(Method::POST, unknown, Some(json!({ "reply": "once" }))).await.0, 404);
    assert_eq!(host.call(Method::POST, unknown, Some(json!({ "reply": "maybe" }))).await.0, 400);
}

#[tokio::test]
async fn list_50_51_all_questions_are_answered_or_rejected() {
    let host = Host::new().await;
    host.create("s").await;
    assert_eq!(host.say("s", "questions").await, 204);
    let events = host.wait("s", "question.requested", 1).await;
    assert!(of(&events, "permission.requested").is_empty());
    let data = &of(&events, "question.requested")[0]["data"];
    assert_eq!(data["prompts"].as_array().unwrap().len(), 2);
    let path = format!("/v1/sessions/s/questions/{}", data["question_id"].as_str().unwrap());
    let answers = |answers: Value| Some(json!({ "answers": answers }));
    assert_eq!(host.call(Method::POST, &format!("{path}/reply"), answers(json!([["Blue"]]))).await.0, 400);
    let both = answers(json!([["Blue"], ["Green"]]));
    assert_eq!(host.call(Method::POST, &format!("{path}/reply"), both).await.0, 204);
    let events = host.wait("s", "turn.ended", 1).await;
    check(&events);
    assert_eq!(of(&events, "question.resolved")[0]["data"]["answers"], json!([["Blue"], ["Green"]]));
    assert_eq!(host.say("s", "question").await, 204);
    let events = host.wait("s", "question.requested", 2).await;
    let id = of(&events, "question.requested")[1]["data"]["question_id"].as_str().unwrap().to_owned();
    assert_eq!(host.call(Method::POST, &format!("/v1/sessions/s/questions/{id}/reject"), None).await.0, 204);
    let events = host.wait("s", "turn.ended", 2).await;
    check(&events);
    assert_eq!(of(&events, "question.resolved")[1]["data"]["status"], "rejected");
}

#[tokio::test]
async fn list_39_48_an_interrupt_ends_the_turn_as_cancelled() {
    let host = Host::new().await;
    host.create("s").await;
    assert_eq!(host.say("s", "slow 60000").await, 204);
    host.wait("s", "item.completed", 2).await;
    assert_eq!(host.call(Method::POST, "/v1/sessions/s/interrupt", None).await.0, 204);
    let events = host.wait("s", "turn.ended", 1).await;
    check(&events);
    assert_eq!(of(&events, "turn.ended")[0]["data"]["metadata"]["stop"]["class"], "cancelled");
    assert_eq!(host.say("s", "still here").await, 204);
    host.wait("s", "turn.ended", 2).await;
}

#[tokio::test]
async fn list_36_37_77_80_failures_and_unknown_lines_do_not_end_a_session() {
    let host = Host::new().await;
    host.create("s").await;
    for (number, text) in ["error", "unknown", "garbage", "exit 3", "hello"].into_iter().enumerate() {
        assert_eq!(host.say("s", text).await, 204, "{text}");
        let events = host.wait("s", "turn.ended", number + 1).await;
        check(&events);
    }
    let events = host.events("s").await;
    assert_eq!(of(&events, "agent.unparsed").len(), 1);
    let errors = of(&events, "error");
    assert_eq!(errors.len(), 2, "{errors:#?}");
    assert_eq!(errors[1]["data"]["code"], "process_exit");
    assert!(errors[1]["data"]["message"].as_str().unwrap().contains("exit code 3"));
    assert_eq!(texts(&events).last().unwrap(), "hello");
}

#[tokio::test]
async fn list_56_64_offsets_and_limits_select_events() {
    let host = Host::new().await;
    host.create("s").await;
    host.say("s", "hello").await;
    let all = host.wait("s", "turn.ended", 1).await;
    let (_, page) = host.call(Method::GET, "/v1/sessions/s/events?offset=2&limit=3", None).await;
    assert_eq!(page["events"].as_array().unwrap()[..], all[2..5]);
    assert_eq!(page["hasMore"], true);
    let (_, none) = host.call(Method::GET, "/v1/sessions/s/events?limit=0", None).await;
    assert_eq!((none["events"].clone(), none["hasMore"].clone()), (json!([]), json!(true)));
    let (_, raw) = host.call(Method::GET, "/v1/sessions/s/events?include_raw=true", None).await;
    let raw = raw["events"].as_array().unwrap().iter().filter(|event| !event["raw"].is_null()).count();
    assert!(raw >= 4 && all.iter().all(|event| event["raw"].is_null()));
    assert_eq!(host.call(Method::GET, "/v1/sessions/s/events?offset=x", None).await.0, 400);
}

#[tokio::test]
async fn list_55_61_62_a_turn_stream_begins_and_ends_with_its_turn() {
    let host = Host::new().await;
    host.create("s").await;
    let request = ApiRequest::new(Method::POST, "/v1/sessions/s/messages/stream");
    let response = host.daemon.answer(request.with_json(r#"{"message":"garbage"}"#)).await;
    let ApiBody::Stream(mut pieces) = response.body else { panic!("no stream") };
    let mut text = String::new();
    while let Some(piece) = pieces.recv().await {
        text.push_str(std::str::from_utf8(&piece).unwrap());
    }
    let frames: Vec<&str> = text.split_terminator("\n\n").collect();
    let events: Vec<Value> = frames
        .iter()
        .map(|frame| {
            let (id, data) = frame.split_once('\n').unwrap();
            let event: Value = serde_json::from_str(data.strip_prefix("data: ").unwrap()).unwrap();
            assert_eq!(id, format!("id: {}", event["sequence"]));
            event
        })
        .collect();
    assert_eq!(events[0]["type"], "turn.started");
    assert_eq!(events.last().unwrap()["type"], "turn.ended");
    assert_eq!(of(&events, "agent.unparsed").len(), 1);
}

#[tokio::test]
async fn list_88_89_a_restart_keeps_sessions_and_closes_open_turns() {
    let host = Host::new().await;
    host.create("s").await;
    host.say("s", "hello").await;
    host.wait("s", "turn.ended", 1).await;
    host.say("s", "permission file").await;
    let before = host.wait("s", "permission.requested", 1).await;
    // The first daemon is not told to stop, as if it was killed.
    let Host { daemon, folder } = host;
    let next = Host { daemon: open(&folder).await, folder };
    let events = next.events("s").await;
    check(&events);
    assert_eq!(events[..before.len()], before[..]);
    assert_eq!(of(&events, "permission.resolved")[0]["data"]["status"], "reject");
    assert_eq!(of(&events, "turn.ended")[1]["data"]["metadata"]["stop"]["class"], "error");
    assert_eq!(next.say("s", "after").await, 204);
    let events = next.wait("s", "turn.ended", 3).await;
    check(&events);
    assert_eq!(texts(&events).last().unwrap(), "after");
    drop(daemon);
}

#[tokio::test]
async fn list_66_68_70_71_errors_are_problems() {
    let host = Host::new().await;
    host.create("s").await;
    let post = |path: &'static str, body: Value| host.call(Method::POST, path, Some(body));
    for (status, kind, answer) in [
        (409, "session_already_exists", post("/v1/sessions/s", json!({ "agent": "mock" })).await),
        (400, "unsupported_agent", post("/v1/sessions/t", json!({ "agent": "nobody" })).await),
        (400, "invalid_request", post("/v1/sessions/t", json!({ "agentt": "mock" })).await),
        (
            400,
            "mode_not_supported",
            post("/v1/sessions/t", json!({ "agent": "mock", "permissionMode": "x" })).await,
        ),
        (
            400,
            "invalid_request",
            post("/v1/sessions/t", json!({ "agent": "mock", "directory": "/nowhere" })).await,
        ),
        (404, "session_not_found", host.call(Method::GET, "/v1/sessions/none/events", None).await),
        (404, "not_found", host.call(Method::GET, "/v1/sessions/s/nothing", None).await),
        (405, "method_not_allowed", host.call(Method::PUT, "/v1/sessions/s", None).await),
    ] {
        assert_eq!(answer.0, status, "{}", answer.1);
        assert_eq!(answer.1["type"], format!("urn:interlingua:error:{kind}"));
        assert!(!answer.1["detail"].as_str().unwrap().is_empty());
    }
    assert_eq!(host.call(Method::DELETE, "/v1/sessions/s", None).await.0, 204);
    assert_eq!(host.call(Method::GET, "/v1/sessions/s", None).await.0, 404);
}

#[tokio::test]
async fn a_session_is_a_record() {
    let host = Host::new().await;
    host.create("s").await;
    host.say("s", "demo").await;
    host.wait("s", "turn.ended", 1).await;
    let (status, record) = host.call(Method::GET, "/v1/sessions/s/record", None).await;
    assert_eq!(status, 200);
    let entries = record["session"]["entries"].to_string();
    for text in ["First a tool.", "That was all.", "I show what I can do.", "mock.search"] {
        assert!(entries.contains(text), "{text}");
    }
}

#[tokio::test]
async fn list_4_many_sessions_do_not_mix() {
    let host = Host::new().await;
    let ids: Vec<String> = (0..100).map(|number| format!("s{number}")).collect();
    for id in &ids {
        host.create(id).await;
        assert_eq!(host.say(id, &format!("echo I am {id}")).await, 204);
    }
    for id in &ids {
        let events = host.wait(id, "turn.ended", 1).await;
        check(&events);
        assert_eq!(texts(&events).last().unwrap(), &format!("I am {id}"));
    }
    let (_, all) = host.call(Method::GET, "/v1/sessions", None).await;
    assert_eq!(all["sessions"].as_array().unwrap().len(), 100);
}
