//! The Responses API beyond one request: stored responses, and the WebSocket.

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;

use crate::support::{Act, DIALECTS, TestGateway, Upstream};

/// The second turn shows that the request holds the first one.
const SCRIPT: &str = r#"
[[turn]]
reasoning = "I think."
text = "First: {user}"

[[turn]]
text = "Second: {user}"

[[turn]]
text = "Third: {user}"
"#;

fn gateway() -> TestGateway {
    let mut config = String::new();
    for dialect in DIALECTS {
        config += &format!(
            "[backend.to-{dialect}]\ndialect = \"{dialect}\"\nscript = \"s\"\n[[route]]\nmodel = \"to-{dialect}\"\nbackend = \"to-{dialect}\"\n"
        );
    }
    TestGateway::with(&config, SCRIPT)
}

/// The text of a response.
fn text(response: &Value) -> String {
    let items = response["output"].as_array().unwrap();
    let parts = items.iter().filter_map(|item| item["content"].as_array()).flatten();
    parts.filter_map(|part| part["text"].as_str().filter(|_| part["type"] == "output_text")).collect()
}

#[test]
fn a_request_continues_a_stored_response_on_every_backend() {
    let gateway = gateway();
    for dialect in DIALECTS {
        let model = format!("to-{dialect}");
        let first = gateway.post("/v1/responses", &json!({"model": model, "input": "a"})).json();
        assert_eq!(text(&first), "First: a", "{dialect}");
        let id = first["id"].as_str().unwrap();
        let next = json!({"model": model, "previous_response_id": id, "input": "b", "stream": true});
        let streamed = gateway.post("/v1/responses", &next).body;
        let last = streamed.trim().rsplit("data: ").next().unwrap();
        let second = serde_json::from_str::<Value>(last).unwrap()["response"].clone();
        assert_eq!(text(&second), "Second: b", "{dialect}: {streamed}");
        let next =
            json!({"model": model, "previous_response_id": second["id"], "input": "c", "store": false});
        let third = gateway.post("/v1/responses", &next).json();
        assert_eq!(text(&third), "Third: c", "{dialect}");
        let path = format!("/v1/responses/{}", second["id"].as_str().unwrap());
        assert_eq!(gateway.get(&path).json()["id"], second["id"]);
        assert_eq!(gateway.request(&format!("DELETE {path} HTTP/1.1"), "").json()["deleted"], true);
        for gone in [&second["id"], &third["id"]] {
            let next = json!({"model": model, "previous_response_id": gone, "input": "d"});
            let answer = gateway.post("/v1/responses", &next);
            assert_eq!(answer.status, 400, "{dialect}: {}", answer.body);
            assert!(answer.body.contains("not found"), "{}", answer.body);
        }
    }
}

#[test]
fn a_backend_that_stores_responses_gets_the_id() {
    let body = json!({"id": "r", "object": "response", "status": "completed", "output": []}).to_string();
    let upstream = Upstream::start([Act::Answer(200, "", body)]);
    let url = &upstream.url;
    let gateway = TestGateway::with(
        &format!(
            "[backend.b]\ndialect = \"openai-responses\"\nurl = \"{url}\"\n[[route]]\nmodel = \"*\"\nbackend = \"b\""
        ),
        SCRIPT,
    );
    let request = json!({"model": "m", "previous_response_id": "theirs", "input": "b"});
    assert_eq!(gateway.post("/v1/responses", &request).status, 200);
    assert!(upstream.requests.look()[0].ends_with(&request.to_string()));
}

#[test]
fn a_compacted_conversation_continues_on_every_backend() {
    let gateway = gateway();
    for (number, dialect) in DIALECTS.iter().enumerate() {
        let model = format!("to-{dialect}");
        let call = json!({"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"});
        let result = json!({"type": "function_call_output", "call_id": "c", "output": "secret result"});
        let user = json!({"role": "user", "content": "a"});
        let tools =
            json!([{"type": "function", "name": "f", "parameters": {"type": "object", "properties": {}}}]);
        let request = json!({"model": model, "instructions": "be brief", "tools": tools, "input": [user, call, result]});
        let compacted = gateway.post("/v1/responses/compact", &request);
        let (head, body) = (&compacted.head, compacted.json());
        assert_eq!(compacted.status, 200, "{dialect}: {body}");
        assert!(head.contains("x-interlingua-emulated: compaction"), "{head}");
        assert!(head.contains("x-interlingua-lost: ") && head.contains("/input"), "{head}");
        assert!(!head.contains("x-interlingua-losses: 0"), "{head}");
        assert_eq!(body["object"], "response.compaction");
        assert_eq!(body["usage"]["output_tokens"].as_u64().map(|tokens| tokens > 0), Some(true), "{body}");
        let output = body["output"].as_array().unwrap();
        let kept =
            json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": "a"}]});
        assert_eq!(
            (output.len(), &output[0], &output[1]["type"]),
            (2, &kept, &json!("compaction")),
            "{body}"
        );
        let summary = output[1]["encrypted_content"].as_str().unwrap();
        assert!(summary.contains("Second: Summarize the conversation"), "{dialect}: {summary}");

        let calls = gateway.calls.wait_for(2 * number + 1);
        let call = &calls[2 * number];
        assert_eq!((&*call.path, call.losses > 0), ("/v1/responses/compact", true));
        let bodies = call.bodies.as_ref().unwrap();
        assert_eq!(String::from_utf8(bodies.returned.clone()).unwrap(), compacted.body);
        let sent = String::from_utf8(bodies.sent.to_vec()).unwrap();
        assert!(sent.contains("secret result") && sent.contains("be brief"), "{dialect}: {sent}");
        drop(calls);

        let mut input = output.clone();
        input.push(json!({"role": "user", "content": "go on"}));
        let next = gateway.post("/v1/responses", &json!({"model": model, "input": input}));
        assert_eq!(next.status, 200, "{dialect}: {}", next.body);
        let calls = gateway.calls.wait_for(2 * number + 2);
        let sent = &calls[2 * number + 1].bodies.as_ref().unwrap().sent;
        let sent = String::from_utf8(sent.to_vec()).unwrap();
        assert!(sent.contains("Summary of the conversation up to this message"), "{dialect}: {sent}");
        assert!(sent.contains("Second: Summarize the conversation") && sent.contains("go on"), "{sent}");
        assert!(!sent.contains("interlingua-compaction") && !sent.contains("secret result"), "{sent}");
    }
    let answer = gateway.post("/v1/responses/compact", &json!({"model": "to-gemini"}));
    assert_eq!(answer.status, 400, "{}", answer.body);
}

#[test]
fn a_server_with_the_responses_api_compacts_itself() {
    let compacted = json!({"id": "resp_1", "object": "response.compaction", "created_at": 5, "output": [{"type": "message", "id": "m", "role": "user", "status": "completed", "content": [{"type": "input_text", "text": "a"}]}, {"type": "compaction", "id": "cmp_1", "encrypted_content": "gAAAA"}], "usage": {"input_tokens": 139, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 438, "output_tokens_details": {"reasoning_tokens": 64}, "total_tokens": 577}}).to_string();
    let upstream = Upstream::start([Act::Answer(200, "", compacted.clone())]);
    let url = &upstream.url;
    let gateway = TestGateway::with(
        &format!(
            "[backend.b]\ndialect = \"openai-responses\"\nurl = \"{url}/v1\"\n[backend.c]\nscript = \"s\"\n[[route]]\nmodel = \"*\"\nbackend = \"b\"\n[[route.fallback]]\nbackend = \"c\""
        ),
        SCRIPT,
    );
    let request = json!({"model": "m", "previous_response_id": "theirs", "input": [{"type": "compaction", "encrypted_content": "gAAAA"}]});
    let answer = gateway.post("/openai/v1/responses/compact", &request);
    assert_eq!((answer.status, &*answer.body), (200, &*compacted));
    assert!(!answer.head.contains("x-interlingua-emulated"), "{}", answer.head);
    let seen = upstream.requests.look()[0].clone();
    assert!(seen.starts_with("POST /v1/responses/compact HTTP/1.1"), "{seen}");
    assert!(seen.ends_with(&request.to_string()), "{seen}");
    let usage = gateway.calls.wait_for(1)[0].usage.unwrap();
    assert_eq!((usage.input, usage.output), (Some(139), Some(438)));

    // A fallback without the API cannot answer the request of the client.
    let upstream = Upstream::start([Act::Answer(500, "", "{}".to_owned())]);
    let url = &upstream.url;
    let gateway = TestGateway::with(
        &format!(
            "[backend.b]\ndialect = \"openai-responses\"\nurl = \"{url}\"\nretries = 0\n[backend.c]\nscript = \"s\"\n[[route]]\nmodel = \"*\"\nbackend = \"b\"\n[[route.fallback]]\nbackend = \"c\""
        ),
        SCRIPT,
    );
    assert_eq!(gateway.post("/v1/responses/compact", &request).status, 500);
}

type Socket = WebSocketStream<tokio::net::TcpStream>;

async fn connect(gateway: &TestGateway) -> Socket {
    let stream = tokio::net::TcpStream::connect(gateway.address).await.unwrap();
    let request = format!("ws://{}/v1/responses", gateway.address).into_client_request().unwrap();
    tokio_tungstenite::client_async(request, stream).await.unwrap().0
}

/// Sends a message and receives the events up to the end or an error.
async fn ask(socket: &mut Socket, message: &str) -> Vec<Value> {
    socket.send(Message::text(message)).await.unwrap();
    let mut events = Vec::new();
    while let Some(Ok(Message::Text(text))) = socket.next().await {
        let event: Value = serde_json::from_str(&text).unwrap();
        let kind = event["type"].as_str().unwrap().to_owned();
        events.push(event);
        if ["response.completed", "response.failed", "error"].contains(&&*kind) {
            break;
        }
    }
    events
}

fn block_on(future: impl Future<Output = ()>) {
    tokio::runtime::Runtime::new().unwrap().block_on(future);
}

#[test]
fn a_socket_answers_and_remembers_on_every_backend() {
    let gateway = gateway();
    block_on(async {
        for dialect in DIALECTS {
            let mut socket = connect(&gateway).await;
            let model = format!("to-{dialect}");
            let create = json!({"type": "response.create", "model": model, "store": false, "input": "a"});
            let events = ask(&mut socket, &create.to_string()).await;
            assert_eq!(events[0]["type"], "response.created", "{dialect}");
            assert!(events.iter().any(|event| event["type"] == "response.output_text.delta"), "{dialect}");
            let first = &events.last().unwrap()["response"];
            assert_eq!(text(first), "First: a", "{dialect}");
            let next = json!({"type": "response.create", "model": model, "store": false, "input": [{"role": "user", "content": "b"}], "previous_response_id": first["id"]});
            let events = ask(&mut socket, &next.to_string()).await;
            assert_eq!(text(&events.last().unwrap()["response"]), "Second: b", "{dialect}: {events:?}");
        }
    });
}

#[test]
fn a_socket_survives_mistakes() {
    let gateway = gateway();
    block_on(async {
        let mut socket = connect(&gateway).await;
        for (message, hint) in [
            ("{", "not JSON"),
            (r#"{"type":"response.steer"}"#, "no `response.create`"),
            (r#"{"type":"response.create","input":"a"}"#, "names no `model`"),
            (r#"{"type":"response.create","model":"nobody","input":"a"}"#, "no route"),
            (
                r#"{"type":"response.create","model":"to-gemini","input":"a","previous_response_id":"x"}"#,
                "not found",
            ),
        ] {
            let events = ask(&mut socket, message).await;
            assert_eq!(events.len(), 1, "{events:?}");
            assert_eq!(events[0]["type"], "error", "{events:?}");
            assert!(events[0]["status"].as_u64().unwrap() >= 400, "{events:?}");
            assert!(events[0]["error"]["message"].as_str().unwrap().contains(hint), "{events:?}");
        }
        let warm = r#"{"type":"response.create","model":"to-gemini","generate":false,"input":"a"}"#;
        let events = ask(&mut socket, warm).await;
        let id = &events.last().unwrap()["response"]["id"];
        let next = json!({"type": "response.create", "model": "to-gemini", "input": "b", "previous_response_id": id});
        let events = ask(&mut socket, &next.to_string()).await;
        assert_eq!(
            text(&events.last().unwrap()["response"]),
            "First: ab",
            "Gemini joins messages of one author"
        );
    });
}

#[test]
fn messages_during_an_answer_are_answered_in_turn() {
    let gateway = gateway();
    block_on(async {
        let mut socket = connect(&gateway).await;
        for input in ["a", "b", "c"] {
            let create = json!({"type": "response.create", "model": "to-gemini", "input": input});
            socket.send(Message::text(create.to_string())).await.unwrap();
        }
        let mut answers = Vec::new();
        while answers.len() < 3 {
            let Some(Ok(Message::Text(message))) = socket.next().await else { panic!("{answers:?}") };
            let event: Value = serde_json::from_str(&message).unwrap();
            assert_ne!(event["type"], "error", "{event}");
            if event["type"] == "response.completed" {
                answers.push(text(&event["response"]));
            }
        }
        assert_eq!(answers, ["First: a", "First: b", "First: c"]);
    });
}

#[test]
fn a_socket_that_closes_ends_the_call_of_the_backend() {
    let chunk = "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"half\"},\"finish_reason\":null}]}\n\n";
    for begin in ["", chunk] {
        let upstream = Upstream::start([Act::Stall(begin.to_owned())]);
        let url = &upstream.url;
        let gateway = TestGateway::with(
            &format!(
                "[backend.b]\ndialect = \"openai-chat\"\nurl = \"{url}\"\n[[route]]\nmodel = \"*\"\nbackend = \"b\""
            ),
            SCRIPT,
        );
        block_on(async {
            let mut socket = connect(&gateway).await;
            socket
                .send(Message::text(r#"{"type":"response.create","model":"m","input":"a"}"#))
                .await
                .unwrap();
            if begin.is_empty() {
                drop(upstream.requests.wait_for(1));
            } else {
                assert!(socket.next().await.is_some());
            }
        });
        drop(upstream.left.wait_for(1));
    }
}

#[test]
fn answers_of_a_server_that_repeats_its_ids_are_told_apart() {
    let body = |text: &str, id: &str| {
        json!({"id": id, "object": "chat.completion", "created": 1, "model": "m",
            "choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}]})
        .to_string()
    };
    let upstream = Upstream::start([
        Act::Answer(200, "", body("one", "chatcmpl-1")),
        Act::Answer(200, "", body("two", "chatcmpl-1")),
        Act::Answer(200, "", body("three", "chatcmpl-1")),
    ]);
    let url = &upstream.url;
    let gateway = TestGateway::with(
        &format!(
            "[backend.b]\ndialect = \"openai-chat\"\nurl = \"{url}\"\n[[route]]\nmodel = \"*\"\nbackend = \"b\""
        ),
        "",
    );
    let ask = |body: Value| gateway.post("/v1/responses", &body).json();
    let first = ask(json!({"model": "m", "input": "a"}));
    let second = ask(json!({"model": "m", "input": "b"}));
    assert!(first["id"].as_str().unwrap().starts_with("resp_"), "{first}");
    assert_ne!(first["id"], second["id"]);
    ask(json!({"model": "m", "input": "c", "previous_response_id": first["id"]}));
    let sent = upstream.requests.look()[2].clone();
    assert!(sent.contains("one") && !sent.contains("two"), "{sent}");
}
