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

#[test]
fn the_input_items_of_a_stored_response_are_those_that_its_backend_got() {
    let gateway = gateway();
    for dialect in DIALECTS {
        let model = format!("to-{dialect}");
        let first = gateway.post("/v1/responses", &json!({"model": model, "input": "a"})).json();
        let next = json!({"model": model, "previous_response_id": first["id"], "input": [
            {"role": "user", "content": [{"type": "input_text", "text": "b"}]},
        ]});
        let second = gateway.post("/v1/responses", &next).json();
        let path =
            |query: &str| format!("/v1/responses/{}/input_items{query}", second["id"].as_str().unwrap());
        let list = gateway.get(&path("?order=asc")).json();
        let data = list["data"].as_array().unwrap();
        let texts: Vec<&str> = data.iter().filter_map(|item| item["content"][0]["text"].as_str()).collect();
        assert_eq!(texts.first(), Some(&"a"), "{dialect}: {list}");
        assert!(texts.contains(&"First: a") && texts.last() == Some(&"b"), "{dialect}: {list}");
        assert_eq!((&list["object"], &list["has_more"]), (&json!("list"), &json!(false)));
        assert_eq!((&list["first_id"], &list["last_id"]), (&data[0]["id"], &data[data.len() - 1]["id"]));
        let newest = gateway.get(&path("?limit=1")).json();
        assert_eq!((&newest["data"][0], &newest["has_more"]), (&data[data.len() - 1], &json!(true)));
        let after = format!("?limit=1&after={}", newest["last_id"].as_str().unwrap());
        assert_eq!(gateway.get(&path(&after)).json()["data"][0], data[data.len() - 2]);
        assert_eq!(gateway.get(&path("?limit=0")).status, 400);
    }
    assert_eq!(gateway.get("/v1/responses/resp_gone/input_items").status, 404);
}

#[test]
fn the_prefixes_of_openai_and_copilot_serve_responses() {
    let gateway = gateway();
    for base in ["/openai", "/openai/v1", "/copilot", "/copilot/v1", "/v1/v1", ""] {
        let answer = gateway.post(&format!("{base}/responses"), &json!({"model": "to-gemini", "input": "a"}));
        assert_eq!(answer.status, 200, "{base}: {}", answer.body);
        let stored = gateway.get(&format!("{base}/responses/{}", answer.json()["id"].as_str().unwrap()));
        assert_eq!(text(&stored.json()), "First: a", "{base}");
    }
    assert_eq!(
        gateway.post("/anthropic/responses", &json!({"model": "to-gemini", "input": "a"})).status,
        404
    );
}

/// A response in the background, once it has ended.
fn polled(gateway: &TestGateway, id: &Value) -> Value {
    let path = format!("/v1/responses/{}", id.as_str().unwrap());
    loop {
        let response = gateway.get(&path).json();
        if !["queued", "in_progress"].contains(&response["status"].as_str().unwrap()) {
            return response;
        }
        std::thread::yield_now();
    }
}

#[test]
fn a_response_in_the_background_is_polled_and_continued_on_every_backend() {
    let gateway = gateway();
    for dialect in DIALECTS {
        let model = format!("to-{dialect}");
        let request = json!({"model": model, "input": "a", "background": true});
        let queued = gateway.post("/v1/responses", &request);
        assert_eq!(queued.status, 200, "{dialect}: {}", queued.body);
        let queued = queued.json();
        assert_eq!((&queued["status"], &queued["background"]), (&json!("queued"), &json!(true)));
        assert!(queued["created_at"].as_u64() > Some(1_700_000_000), "{queued}");
        let done = polled(&gateway, &queued["id"]);
        assert_eq!((&done["id"], &done["status"]), (&queued["id"], &json!("completed")), "{dialect}");
        assert_eq!((text(&done).as_str(), &done["background"]), ("First: a", &json!(true)), "{dialect}");
        let next =
            json!({"model": model, "previous_response_id": done["id"], "input": "b", "background": true});
        let second = gateway.post("/v1/responses", &next).json();
        assert_eq!(text(&polled(&gateway, &second["id"])), "Second: b", "{dialect}");
        let path = format!("/v1/responses/{}", done["id"].as_str().unwrap());
        let cancelled = gateway.post(&format!("{path}/cancel"), &json!({}));
        assert_eq!(cancelled.json()["status"], "completed", "a response that has ended stays as it is");
        assert_eq!(gateway.request(&format!("DELETE {path} HTTP/1.1"), "").json()["deleted"], true);
        assert_eq!(gateway.get(&path).status, 404);
    }
}

#[test]
fn a_response_in_the_background_is_cancelled() {
    let config = "[backend.b]\nscript = \"s\"\n[[route]]\nmodel = \"*\"\nbackend = \"b\"\n";
    let gateway = TestGateway::with(config, "[[turn]]\ntext = \"late\"\ndelay-ms = 600000\n");
    let begun =
        gateway.post("/v1/responses", &json!({"model": "m", "input": "a", "background": true})).json();
    let path = format!("/v1/responses/{}", begun["id"].as_str().unwrap());
    let next = json!({"model": "m", "previous_response_id": begun["id"], "input": "b"});
    let early = gateway.post("/v1/responses", &next);
    assert_eq!(early.status, 400);
    assert!(early.body.contains("not complete"), "{}", early.body);
    for _ in 0..2 {
        assert_eq!(gateway.post(&format!("{path}/cancel"), &json!({})).json()["status"], "cancelled");
    }
    assert_eq!(gateway.get(&path).json()["status"], "cancelled");
    assert_eq!(gateway.post("/v1/responses/resp_gone/cancel", &json!({})).status, 404);
}

#[test]
fn a_response_in_the_background_that_fails_has_the_error() {
    let upstream =
        Upstream::start([Act::Answer(400, "", r#"{"error":{"message":"no \"such\" tool"}}"#.to_owned())]);
    let url = &upstream.url;
    let gateway = TestGateway::with(
        &format!(
            "[backend.b]\ndialect = \"openai-chat\"\nurl = \"{url}\"\nretries = 0\n[[route]]\nmodel = \"*\"\nbackend = \"b\""
        ),
        SCRIPT,
    );
    let begun =
        gateway.post("/v1/responses", &json!({"model": "m", "input": "a", "background": true})).json();
    let failed = polled(&gateway, &begun["id"]);
    assert_eq!(failed["status"], "failed", "{failed}");
    assert!(failed["error"]["message"].as_str().unwrap().contains("no \"such\" tool"), "{failed}");
    assert_eq!(failed["error"]["code"], "invalid_prompt", "{failed}");
}

#[test]
fn a_background_that_is_not_served_is_refused() {
    let native = "[backend.native]\ndialect = \"openai-responses\"\nurl = \"http://127.0.0.1:1\"\n[[route]]\nmodel = \"native\"\nbackend = \"native\"\n";
    let script = "[backend.b]\nscript = \"s\"\n[[route]]\nmodel = \"*\"\nbackend = \"b\"\n";
    let gateway = TestGateway::with(&format!("{native}{script}"), SCRIPT);
    for (request, said) in [
        (json!({"model": "native", "input": "a", "background": true}), "cannot poll"),
        (
            json!({"model": "m", "input": "a", "background": true, "stream": true}),
            "`background` with `stream`",
        ),
        (json!({"model": "m", "input": "a", "background": true, "store": false}), "must be stored"),
    ] {
        let answer = gateway.post("/v1/responses", &request);
        assert_eq!(answer.status, 400, "{request}: {}", answer.body);
        let message = answer.json()["error"]["message"].as_str().unwrap().to_owned();
        assert!(message.contains("`background`") && message.contains(said), "{message}");
    }
    let plain =
        gateway.post("/v1/responses", &json!({"model": "m", "input": "a", "background": false})).json();
    assert_eq!(text(&plain), "First: a");
    let path = format!("/v1/responses/{}", plain["id"].as_str().unwrap());
    assert_eq!(gateway.post(&format!("{path}/cancel"), &json!({})).status, 400);
    assert_eq!(gateway.get(&format!("{path}?stream=true")).status, 400);
    block_on(async {
        let mut socket = connect(&gateway).await;
        let create = r#"{"type":"response.create","model":"m","input":"a","background":true}"#;
        let events = ask(&mut socket, create).await;
        assert_eq!(events[0]["type"], "error", "{events:?}");
        assert!(events[0]["error"]["message"].as_str().unwrap().contains("`background`"), "{events:?}");
    });
}

#[test]
fn a_cancelled_or_removed_response_ends_the_call_of_the_backend() {
    let upstream = Upstream::start([Act::Stall(String::new())]);
    let url = &upstream.url;
    let config = format!(
        "[backend.b]\ndialect = \"openai-chat\"\nurl = \"{url}\"\n[[route]]\nmodel = \"*\"\nbackend = \"b\""
    );
    let gateway = TestGateway::with(&config, SCRIPT);
    for (number, method) in ["POST", "DELETE"].into_iter().enumerate() {
        let request = json!({"model": "m", "input": "a", "background": true});
        let begun = gateway.post("/v1/responses", &request).json();
        drop(upstream.requests.wait_for(number + 1));
        let path = format!("/v1/responses/{}", begun["id"].as_str().unwrap());
        assert_eq!(gateway.get(&path).json()["status"], "in_progress");
        let end = if method == "POST" { format!("{path}/cancel") } else { path };
        assert_eq!(gateway.request(&format!("{method} {end} HTTP/1.1"), "").status, 200);
        drop(upstream.left.wait_for(number + 1));
    }
}
