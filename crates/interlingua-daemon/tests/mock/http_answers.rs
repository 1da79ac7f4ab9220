//! Statuses, problems and the paths for sessions and agents.

use bytes::Bytes;
use http::Method;
use interlingua_daemon::ApiRequest;
use serde_json::{Value, json};

use crate::support::Host;

/// Checks that the answer is a problem of this kind.
fn is_problem((status, problem): &(u16, Value), expected: u16, kind: &str) {
    assert_eq!((*status, &problem["status"]), (expected, &json!(expected)), "{problem}");
    assert_eq!(problem["type"], format!("urn:interlingua:error:{kind}"));
    for member in ["title", "detail", "instance"] {
        assert!(!problem[member].as_str().unwrap().is_empty(), "{member} of {problem}");
    }
}

#[tokio::test]
async fn list_66_every_error_is_a_problem() {
    let host = Host::new().await;
    host.create("s").await;
    let messages = "/v1/sessions/s/messages";
    let text = |kind: Option<&str>, body: &'static str| {
        let mut request = ApiRequest::new(Method::POST, messages);
        request.content_type = kind.map(str::to_owned);
        request.body = Bytes::from_static(body.as_bytes());
        request
    };
    for (request, status, kind) in [
        (text(Some("application/json"), r#"{"message":"#), 400, "invalid_request"),
        (text(Some("application/json"), ""), 400, "invalid_request"),
        (text(None, "[]"), 400, "invalid_request"),
        (text(Some("application/json; charset=utf-8"), "{}"), 400, "invalid_request"),
        (text(Some("application/json"), r#"{"message":5}"#), 400, "invalid_request"),
        (text(Some("application/json"), r#"{"message":"x","extra":1}"#), 400, "invalid_request"),
        (text(Some("text/plain"), "hello"), 415, "unsupported_media_type"),
        (ApiRequest::new(Method::GET, "/v1/sessions/s/events?limit=x"), 400, "invalid_request"),
        (ApiRequest::new(Method::GET, "/v1/sessions/s/events/sse?until=x"), 400, "invalid_request"),
        (ApiRequest::new(Method::GET, "/v1/sessions/s/nothing"), 404, "not_found"),
        (ApiRequest::new(Method::GET, "/v1/health/more"), 404, "not_found"),
        (ApiRequest::new(Method::PUT, "/v1/sessions/s"), 405, "method_not_allowed"),
        (ApiRequest::new(Method::GET, messages), 405, "method_not_allowed"),
        (ApiRequest::new(Method::DELETE, "/v1/health"), 405, "method_not_allowed"),
    ] {
        let asked = format!("{request:?}");
        let answer = host.ask(request).await;
        assert_eq!(answer.0, status, "{asked}: {}", answer.1);
        is_problem(&answer, status, kind);
    }
    assert_eq!(host.events("s").await.len(), 1);
}

#[tokio::test]
async fn list_67_68_wrong_settings_are_refused_by_kind() {
    let host = Host::new().await;
    host.create("s").await;
    let create = |id: &str, settings: Value| {
        let path = format!("/v1/sessions/{id}");
        let host = &host;
        async move { host.post(&path, settings).await }
    };
    is_problem(&create("s", json!({ "agent": "mock" })).await, 409, "session_already_exists");
    is_problem(&create("t", json!({ "agent": "nobody" })).await, 400, "unsupported_agent");
    is_problem(&create("t", json!({ "agentt": "mock" })).await, 400, "invalid_request");
    is_problem(&create("t", json!({})).await, 400, "invalid_request");
    let mode = json!({ "agent": "mock", "agentMode": "x" });
    is_problem(&create("t", mode).await, 400, "mode_not_supported");
    let mode = json!({ "agent": "mock", "permissionMode": "x" });
    is_problem(&create("t", mode).await, 400, "mode_not_supported");
    let directory = json!({ "agent": "mock", "directory": "/nowhere" });
    is_problem(&create("t", directory).await, 400, "invalid_request");
    is_problem(&create("a b", json!({ "agent": "mock" })).await, 400, "invalid_request");
    is_problem(&create(&"x".repeat(129), json!({ "agent": "mock" })).await, 400, "invalid_request");
    is_problem(&host.get("/v1/agents/nobody/modes").await, 400, "unsupported_agent");
    is_problem(&host.call(Method::POST, "/v1/agents/nobody/install", None).await, 400, "unsupported_agent");
    assert_eq!(host.call(Method::POST, "/v1/agents/mock/install", None).await.0, 204);
}

#[tokio::test]
async fn list_69_health_and_agents_answer() {
    let host = Host::new().await;
    assert_eq!(host.get("/v1/health").await, (200, json!({ "status": "ok" })));
    let (_, agents) = host.get("/v1/agents").await;
    let mock = agents["agents"].as_array().unwrap().iter().find(|agent| agent["id"] == "mock").unwrap();
    assert_eq!(mock["installed"], true);
    assert_eq!(mock["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(mock["capabilities"].as_object().unwrap().len(), 19);
    let (_, modes) = host.get("/v1/agents/mock/modes").await;
    assert_eq!(modes["modes"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn list_70_a_session_can_be_read_and_deleted_with_its_data() {
    let host = Host::new().await;
    host.create_with("s", json!({ "title": "A title" })).await;
    host.say("s", "hello").await;
    let events = host.wait("s", "turn.ended", 1).await;
    let (status, info) = host.get("/v1/sessions/s").await;
    assert_eq!((status, &info["title"], &info["agent"]), (200, &json!("A title"), &json!("mock")));
    assert_eq!(info["eventCount"], events.len());
    let (_, all) = host.get("/v1/sessions").await;
    assert_eq!(all["sessions"], json!([info]));
    assert_eq!(host.call(Method::DELETE, "/v1/sessions/s", None).await.0, 204);
    assert_eq!(host.get("/v1/sessions").await.1["sessions"], json!([]));
    let (host, _killed) = host.killed().await;
    assert_eq!(host.get("/v1/sessions/s").await.0, 404);
    host.create("s").await;
    assert_eq!(host.events("s").await.len(), 1, "no event of the deleted session is left");
}

#[tokio::test]
async fn list_71_unknown_names_are_404() {
    let host = Host::new().await;
    host.create("s").await;
    for path in ["", "/events", "/events/sse", "/pending", "/record"] {
        is_problem(&host.get(&format!("/v1/sessions/none{path}")).await, 404, "session_not_found");
    }
    for (path, body) in [
        ("messages", json!({ "message": "x" })),
        ("messages/stream", json!({ "message": "x" })),
        ("permissions/p/reply", json!({ "reply": "once" })),
        ("questions/q/reply", json!({ "answers": [] })),
    ] {
        is_problem(&host.post(&format!("/v1/sessions/none/{path}"), body).await, 404, "session_not_found");
    }
    for path in ["terminate", "interrupt", "questions/q/reject"] {
        assert_eq!(host.tell("none", path).await, 404, "{path}");
    }
    is_problem(&host.call(Method::DELETE, "/v1/sessions/none", None).await, 404, "session_not_found");
    let reply = json!({ "reply": "once" });
    is_problem(&host.post("/v1/sessions/s/permissions/p/reply", reply).await, 404, "not_found");
}

#[tokio::test]
async fn the_document_lists_every_route_and_each_route_answers() {
    let host = Host::new().await;
    let (status, document) = host.get("/openapi.json").await;
    assert_eq!((status, &document["openapi"]), (200, &json!("3.1.0")));
    assert_eq!(host.get("/v1/openapi.json").await.1, document);
    let (mut operations, mut names) = (0, std::collections::HashSet::new());
    for (path, methods) in document["paths"].as_object().unwrap() {
        for method in [Method::GET, Method::POST, Method::PUT, Method::DELETE, Method::PATCH] {
            let asked = path.replace(['{', '}'], "");
            let answer = host.daemon.answer(ApiRequest::new(method.clone(), asked)).await;
            let operation = &methods[method.as_str().to_ascii_lowercase()];
            assert_eq!(answer.status == 405, operation.is_null(), "{method} {path}");
            if !operation.is_null() {
                operations += 1;
                assert!(names.insert(operation["operationId"].to_string()), "{operation}");
                assert!(operation["responses"]["default"].is_object());
            }
        }
    }
    assert!(operations >= 21, "{operations} operations");
    // Every reference leads to a schema.
    let text = document.to_string();
    for reference in text.split(r#""$ref":""#).skip(1) {
        let pointer = reference.split('"').next().unwrap().trim_start_matches('#');
        assert!(document.pointer(pointer).is_some(), "{pointer}");
    }
}

#[tokio::test]
async fn paths_and_queries_are_percent_decoded() {
    let host = Host::new().await;
    host.create("a:b").await;
    assert_eq!(host.get("/v1/sessions/a%3Ab").await.0, 200);
    assert_eq!(
        host.get("/v1/sessions/a%3ab/events?limit=%31").await.1["events"].as_array().unwrap().len(),
        1
    );
    for wrong in ["/v1/sessions/%", "/v1/sessions/%4", "/v1/sessions/%+1", "/v1/sessions/%ff"] {
        is_problem(&host.get(wrong).await, 400, "invalid_request");
    }
    assert_eq!(host.get("/v1/sessions/a%2Fevents").await.0, 404, "an encoded slash is part of the id");
}
