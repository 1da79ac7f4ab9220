//! Spans of calls, sent to a small receiver.

use std::collections::BTreeMap;

use interlingua_gateway::ServerParts;
use serde_json::{Value, json};

use crate::support::{Act, Growing, TestGateway, Upstream, request};

/// The spans of the first request to a receiver.
fn spans(receiver: &Upstream) -> Vec<Value> {
    let requests = receiver.requests.wait_for(1);
    let (head, body) = requests[0].split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("POST /v1/traces HTTP/1.1"), "{head}");
    assert!(head.contains("content-type: application/json"), "{head}");
    let body: Value = serde_json::from_str(body).unwrap();
    let resource = &body["resourceSpans"][0];
    let service = json!([{"key": "service.name", "value": {"stringValue": "interlingua"}}]);
    assert_eq!(resource["resource"]["attributes"], service);
    let scope = &resource["scopeSpans"][0];
    assert_eq!(scope["scope"]["name"], json!("interlingua-gateway"));
    scope["spans"].as_array().unwrap().clone()
}

/// The attributes of a span.
fn attributes(span: &Value) -> BTreeMap<String, Value> {
    let attributes = span["attributes"].as_array().unwrap().iter();
    attributes
        .map(|attribute| {
            let value = attribute["value"].as_object().unwrap().values().next().unwrap();
            (attribute["key"].as_str().unwrap().to_owned(), value.clone())
        })
        .collect()
}

const ANSWER: &str = r#"{"id":"x","object":"chat.completion","created":1,"model":"gpt-5.2-2026-01-01","choices":[{"index":0,"message":{"role":"assistant","content":"the secret answer"},"finish_reason":"stop"}],"usage":{"prompt_tokens":120,"completion_tokens":9,"total_tokens":129,"prompt_tokens_details":{"cached_tokens":20}}}"#;

#[test]
fn a_call_is_a_span_with_the_attributes_of_the_conventions() {
    let receiver = Upstream::start([Act::Answer(200, "", "{}".to_owned())]);
    let refusal = r#"{"error":{"message":"the secret answer is slow","type":"rate_limit_error"}}"#;
    let backend = Upstream::start([
        Act::Answer(200, "", ANSWER.to_owned()),
        Act::Answer(200, "", ANSWER.to_owned()),
        Act::Answer(429, "", refusal.to_owned()),
    ]);
    let config = format!(
        "[telemetry]\nendpoint = \"{}/\"\n[backend.b]\ndialect = \"openai-chat\"\nurl = \"{}\"\nkey = \"secret-key\"\nretries = 0\n[[route]]\nmodel = \"*\"\nbackend = \"b\"\nsend = \"gpt-5.2\"\n",
        receiver.url, backend.url
    );
    let gateway = TestGateway::with(&config, "");
    let (path, body) = request("anthropic", "claude", false, 0);
    let trace = "0af7651916cd43dd8448eb211c80319c";
    for (flags, status) in [("00", 200), ("01", 200), ("01", 429)] {
        let head = format!(
            "POST {path} HTTP/1.1\r\nx-api-key: client-key\r\ntraceparent: 00-{trace}-b7ad6b7169203331-{flags}"
        );
        assert_eq!(gateway.request(&head, &body.to_string()).status, status);
    }
    let spans = spans(&receiver);
    let [answered, failed] = &spans[..] else { panic!("the call without the flag has a span: {spans:#?}") };
    for span in [answered, failed] {
        assert_eq!((&span["traceId"], &span["parentSpanId"]), (&json!(trace), &json!("b7ad6b7169203331")));
        assert_eq!((&span["name"], &span["kind"]), (&json!("chat gpt-5.2"), &json!(3)));
        let nanos = |name: &str| span[name].as_str().unwrap().parse::<u64>().unwrap();
        assert!(nanos("startTimeUnixNano") < nanos("endTimeUnixNano"), "{span:#?}");
        assert_eq!(span["spanId"].as_str().map(str::len), Some(16));
    }
    assert_ne!(answered["spanId"], failed["spanId"]);
    let found = attributes(answered);
    for (name, value) in [
        ("gen_ai.operation.name", json!("chat")),
        ("gen_ai.provider.name", json!("openai")),
        ("gen_ai.request.model", json!("gpt-5.2")),
        ("gen_ai.response.model", json!("gpt-5.2-2026-01-01")),
        ("gen_ai.usage.input_tokens", json!("120")),
        ("gen_ai.usage.cache_read.input_tokens", json!("20")),
        ("gen_ai.usage.output_tokens", json!("9")),
        ("gen_ai.response.finish_reasons", json!({"values": [{"stringValue": "end_turn"}]})),
        ("server.address", json!("127.0.0.1")),
        ("http.response.status_code", json!("200")),
        ("interlingua.model.asked", json!("claude")),
    ] {
        assert_eq!(found.get(name), Some(&value), "{name}: {found:#?}");
    }
    assert_eq!((answered["status"].clone(), found.get("error.type")), (json!({}), None));
    assert_eq!(failed["status"], json!({"code": 2}));
    assert_eq!(attributes(failed)["error.type"], json!("rate_limit"));
    // Neither a body nor a key is in a span.
    let sent = receiver.requests.look().join("");
    for secret in ["secret", "question 0", "client-key"] {
        assert!(!sent.contains(secret), "{sent}");
    }
}

#[test]
fn spans_that_the_receiver_does_not_get_are_counted_and_reported() {
    let said = Growing::default();
    let heard = said.clone();
    let parts = ServerParts::default().with_troubles(move |text: &str| heard.push(text.to_owned()));
    let config = "[telemetry]\nendpoint = \"http://127.0.0.1:9\"\n[backend.s]\nscript = \"s\"\n[[route]]\nmodel = \"*\"\nbackend = \"s\"\n";
    let gateway = TestGateway::with_parts(config, "[[turn]]\ntext = \"answered\"", parts);
    let (path, body) = request("gemini", "m", true, 0);
    assert_eq!(gateway.post(&path, &body).status, 200, "the call does not depend on the receiver");
    let message = said.wait_for(1)[0].clone();
    assert!(
        message.starts_with("telemetry: 1 span did not reach http://127.0.0.1:9/v1/traces: "),
        "{message}"
    );
    assert!(gateway.get("/metrics").body.contains("\ninterlingua_spans_dropped_total 1\n"));
}
