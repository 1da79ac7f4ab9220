//! Permissions and questions.

use http::Method;
use serde_json::{Value, json};

use crate::support::{Host, check, last_stop, of, texts};

/// Sends a message that asks for a permission, and returns the path of its reply.
async fn ask(host: &Host, session: &str, text: &str) -> String {
    let before = of(&host.events(session).await, "permission.requested").len();
    assert_eq!(host.say(session, text).await, 204);
    let events = host.wait(session, "permission.requested", before + 1).await;
    let id = &of(&events, "permission.requested")[before]["data"]["permission_id"];
    format!("/v1/sessions/{session}/permissions/{}/reply", id.as_str().unwrap())
}

async fn pending(host: &Host, session: &str) -> Vec<Value> {
    let (status, pending) = host.get(&format!("/v1/sessions/{session}/pending")).await;
    assert_eq!(status, 200);
    pending["events"].as_array().unwrap().clone()
}

#[tokio::test]
async fn list_43_a_permission_is_resolved_once_with_the_status_of_the_reply() {
    let host = Host::new().await;
    host.create("s").await;
    for (number, (reply, status, failed)) in
        [("once", "accept", false), ("always", "accept_for_session", false), ("reject", "reject", true)]
            .into_iter()
            .enumerate()
    {
        let path = ask(&host, "s", "permission file").await;
        assert_eq!(host.post(&path, json!({ "reply": reply })).await.0, 204);
        let events = host.wait("s", "turn.ended", number + 1).await;
        check(&events);
        assert_eq!(of(&events, "permission.resolved")[number]["data"]["status"], status);
        let results = of(&events, "item.completed");
        let result =
            results.iter().rev().find(|event| event["data"]["item"]["kind"] == "tool_result").unwrap();
        assert_eq!(result["data"]["item"]["status"] == "failed", failed);
        assert!(texts(&events).last().unwrap().contains("After the permission"));
    }
}

#[tokio::test]
async fn list_44_an_unknown_request_is_404_and_a_resolved_one_409() {
    let host = Host::new().await;
    host.create("s").await;
    let path = ask(&host, "s", "permission file").await;
    assert_eq!(host.post(&path, json!({ "reply": "maybe" })).await.0, 400);
    assert_eq!(host.post(&path, json!({ "reply": "once" })).await.0, 204);
    assert_eq!(host.post(&path, json!({ "reply": "once" })).await.0, 409);
    for (kind, body) in
        [("permissions", json!({ "reply": "once" })), ("questions", json!({ "answers": [["x"]] }))]
    {
        let unknown = format!("/v1/sessions/s/{kind}/none/reply");
        assert_eq!(host.post(&unknown, body).await.0, 404, "{kind}");
    }
    assert_eq!(host.tell("s", "questions/none/reject").await, 404);
    // A permission is no question.
    let question = path.replace("permissions", "questions");
    assert!(matches!(host.post(&question, json!({ "answers": [["x"]] })).await.0, 404 | 409));
    host.wait("s", "turn.ended", 1).await;
    let (host, _killed) = host.killed().await;
    assert_eq!(host.post(&path, json!({ "reply": "once" })).await.0, 409, "a restart remembers the answer");
}

#[tokio::test]
async fn list_45_a_request_whose_answer_cannot_be_delivered_stays_pending() {
    let host = Host::new().await;
    host.create("s").await;
    let path = ask(&host, "s", "deaf file").await;
    for _ in 0..2 {
        let (status, problem) = host.post(&path, json!({ "reply": "once" })).await;
        assert_eq!((status, &problem["type"]), (500, &json!("urn:interlingua:error:agent_process_exited")));
        assert_eq!(pending(&host, "s").await.len(), 1);
    }
    assert!(of(&host.events("s").await, "permission.resolved").is_empty());
    assert_eq!(host.tell("s", "terminate").await, 204);
    check(&host.events("s").await);
}

#[tokio::test]
async fn list_46_always_does_not_cover_another_command() {
    let host = Host::new().await;
    host.create("s").await;
    for (number, text) in ["permission one", "permission two"].into_iter().enumerate() {
        let path = ask(&host, "s", text).await;
        assert_eq!(pending(&host, "s").await.len(), 1, "{text} waits for a reply");
        assert_eq!(host.post(&path, json!({ "reply": "always" })).await.0, 204);
        check(&host.wait("s", "turn.ended", number + 1).await);
    }
}

#[tokio::test]
async fn list_48_an_end_of_any_kind_rejects_the_requests_that_wait() {
    for request in ["permission file", "question"] {
        for end in ["interrupt", "terminate", "stop", "kill"] {
            let mut host = Host::new().await;
            host.create("s").await;
            assert_eq!(host.say("s", request).await, 204);
            let sort = request.split(' ').next().unwrap();
            host.wait("s", &format!("{sort}.requested"), 1).await;
            let mut killed = None;
            match end {
                "stop" => host.daemon.stop().await,
                "kill" => {
                    let (next, before) = host.killed().await;
                    (host, killed) = (next, Some(before));
                }
                end => assert_eq!(host.tell("s", end).await, 204),
            }
            let events = host.wait("s", "turn.ended", 1).await;
            check(&events);
            let rejected = if sort == "question" { "rejected" } else { "reject" };
            let resolved = &of(&events, &format!("{sort}.resolved"))[0]["data"];
            assert_eq!(resolved["status"], rejected, "{request} {end}: {resolved}");
            let class = if matches!(end, "interrupt" | "terminate") { "cancelled" } else { "error" };
            assert_eq!(last_stop(&events), class, "{request} {end}");
            let last = if end == "terminate" { "session.ended" } else { "turn.ended" };
            assert_eq!(events.last().unwrap()["type"], last, "{request} {end}");
            assert!(pending(&host, "s").await.is_empty());
            drop(killed);
        }
    }
}

#[tokio::test]
async fn list_49_50_51_all_questions_are_answered_or_rejected() {
    let host = Host::new().await;
    host.create("s").await;
    assert_eq!(host.say("s", "questions").await, 204);
    let events = host.wait("s", "question.requested", 1).await;
    assert!(of(&events, "permission.requested").is_empty());
    let data = &of(&events, "question.requested")[0]["data"];
    assert_eq!(data["prompts"].as_array().unwrap().len(), 2);
    let path = format!("/v1/sessions/s/questions/{}", data["question_id"].as_str().unwrap());
    let reply = format!("{path}/reply");
    assert_eq!(host.post(&reply, json!({ "answers": [["Blue"]] })).await.0, 400);
    assert_eq!(host.post(&reply, json!({ "answers": [["Blue"], ["Green"]] })).await.0, 204);
    let events = host.wait("s", "turn.ended", 1).await;
    check(&events);
    assert_eq!(of(&events, "question.resolved")[0]["data"]["answers"], json!([["Blue"], ["Green"]]));
    assert_eq!(host.say("s", "question").await, 204);
    let events = host.wait("s", "question.requested", 2).await;
    let id = of(&events, "question.requested")[1]["data"]["question_id"].as_str().unwrap().to_owned();
    let reject = format!("/v1/sessions/s/questions/{id}/reject");
    assert_eq!(host.call(Method::POST, &reject, None).await.0, 204);
    let events = host.wait("s", "turn.ended", 2).await;
    check(&events);
    assert_eq!(of(&events, "question.resolved")[1]["data"]["status"], "rejected");
}

#[tokio::test]
async fn list_54_the_requests_that_wait_are_listed() {
    let host = Host::new().await;
    host.create("s").await;
    assert!(pending(&host, "s").await.is_empty());
    let path = ask(&host, "s", "permission file").await;
    let waiting = pending(&host, "s").await;
    assert_eq!(waiting.len(), 1);
    assert_eq!(Some(&waiting[0]), host.events("s").await.last());
    assert_eq!(host.post(&path, json!({ "reply": "once" })).await.0, 204);
    assert!(pending(&host, "s").await.is_empty());
    assert_eq!(host.get("/v1/sessions/none/pending").await.0, 404);
}
