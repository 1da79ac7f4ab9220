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
