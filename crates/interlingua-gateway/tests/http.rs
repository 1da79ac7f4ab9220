//! The gateway over HTTP on loopback: every client dialect against a script in every backend dialect.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops at the first surprise")]
#![allow(clippy::format_push_string, reason = "short texts")]
#![allow(missing_docs, reason = "not published")]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use interlingua::dialects::{Options, Role};
use interlingua::pipe::EventReader;
use interlingua_gateway::{Config, Server};
use serde_json::{Value, json};

const DIALECTS: [&str; 6] = ["anthropic", "openai-chat", "openai-responses", "gemini", "kimi", "copilot"];

const SCRIPT: &str = r#"
[[turn]]
reasoning = "Two files are to be read."
text = "I read both."
calls = [
    { name = "read", arguments = '{"path":"a\nb"}' },
    { name = "read", arguments = '{"path":"c"}' },
]
usage = { input = 100, cache-read = 20, output = 9, reasoning = 4 }

[[turn]]
text = "Done: {user}"

[[turn]]
error = { class = "rate_limit", message = "slow down", retry-after-ms = 1500 }
"#;

/// A gateway with a route for each dialect of a script (`to-DIALECT`), and one in the client's own (`any`).
struct TestGateway {
    address: SocketAddr,
    _stop: tokio::sync::oneshot::Sender<()>,
    _runtime: tokio::runtime::Runtime,
}

impl TestGateway {
    fn start(more: &str) -> Self {
        let mut text = format!("listen = \"127.0.0.1:0\"\n{more}\n");
        for dialect in DIALECTS {
            text += &format!(
                "[backend.to-{dialect}]\ndialect = \"{dialect}\"\nscript = \"s\"\n[[route]]\nmodel = \"to-{dialect}\"\nbackend = \"to-{dialect}\"\n"
            );
        }
        text += "[backend.any]\nscript = \"s\"\n[[route]]\nmodel = \"any\"\nbackend = \"any\"\n";
        text += "[backend.gone]\ndialect = \"openai-chat\"\nurl = \"http://127.0.0.1:9\"\n[[route]]\nmodel = \"gone\"\nbackend = \"gone\"\n";
        Self::with(&text, SCRIPT)
    }

    fn with(config: &str, script: &'static str) -> Self {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let config = Config::parse(config).unwrap();
        let read = move |_: &str| Ok(script.to_owned());
        let server = runtime.block_on(Server::start(config, &|_| None, &read)).unwrap();
        let address = server.address();
        let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
        runtime.spawn(server.serve(async move { drop(stopped.await) }));
        Self { address, _stop: stop, _runtime: runtime }
    }

    fn request(&self, head: &str, body: &str) -> HttpAnswer {
        let mut stream = TcpStream::connect(self.address).unwrap();
        let host =
            if head.contains("\nhost:") { String::new() } else { format!("host: {}\r\n", self.address) };
        let length = body.len();
        write!(stream, "{head}\r\n{host}content-length: {length}\r\nconnection: close\r\n\r\n{body}")
            .unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        HttpAnswer::parse(&answer)
    }

    fn post(&self, path: &str, body: &Value) -> HttpAnswer {
        self.request(&format!("POST {path} HTTP/1.1"), &body.to_string())
    }

    fn get(&self, path: &str) -> HttpAnswer {
        self.request(&format!("GET {path} HTTP/1.1"), "")
    }
}

struct HttpAnswer {
    status: u16,
    head: String,
    body: String,
}

impl HttpAnswer {
    fn parse(bytes: &[u8]) -> Self {
        let text = String::from_utf8(bytes.to_vec()).unwrap();
        let (head, mut rest) = text.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        let head = head.to_lowercase();
        if !head.contains("transfer-encoding: chunked") {
            return Self { status, body: rest.to_owned(), head };
        }
        let mut body = String::new();
        while let Some((size, more)) = rest.split_once("\r\n") {
            let size = usize::from_str_radix(size, 16).unwrap();
            body.push_str(&more[..size]);
            rest = &more[size + 2..];
        }
        Self { status, head, body }
    }

    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }
}

/// The path and the body of a request by a client, with `turns` earlier turns of the assistant.
fn request(client: &str, model: &str, stream: bool, turns: usize) -> (String, Value) {
    let history = |user: &str, assistant: &str, content: &dyn Fn(&str) -> Value, member: &str| {
        let mut all = Vec::new();
        for turn in 0..=turns {
            all.push(json!({"role": user, member: content(&format!("question {turn}"))}));
            if turn < turns {
                all.push(json!({"role": assistant, member: content(&format!("answer {turn}"))}));
            }
        }
        all
    };
    let plain = |text: &str| json!(text);
    match client {
        "anthropic" => (
            "/v1/messages".to_owned(),
            json!({"model": model, "max_tokens": 99, "stream": stream, "messages": history("user", "assistant", &plain, "content")}),
        ),
        "openai-chat" | "kimi" | "copilot" => {
            let path = match client {
                "kimi" => "/kimi/v1/chat/completions",
                "copilot" => "/copilot/chat/completions",
                _ => "/v1/chat/completions",
            };
            let messages = history("user", "assistant", &plain, "content");
            (path.to_owned(), json!({"model": model, "stream": stream, "messages": messages}))
        }
        "openai-responses" => (
            "/v1/responses".to_owned(),
            json!({"model": model, "stream": stream, "input": history("user", "assistant", &plain, "content")}),
        ),
        "gemini" => {
            let method = if stream { "streamGenerateContent?alt=sse" } else { "generateContent" };
            let contents = history("user", "model", &|text| json!([{"text": text}]), "parts");
            (format!("/v1beta/models/{model}:{method}"), json!({"contents": contents}))
        }
        other => panic!("{other}"),
    }
}

/// Reads an answer with the core, which other tests compare with the official clients.
fn told(client: &str, answer: &HttpAnswer) -> String {
    let dialect = interlingua::dialects::Dialect::named(client).unwrap();
    let role = if answer.head.contains("text/event-stream") { Role::Stream } else { Role::Response };
    let mut told = String::new();
    let mut each = |event: &interlingua::model::Event<'_>| {
        use interlingua::model::{Args, Event, ItemKind, Part};
        match event {
            Event::ItemStarted(head) => {
                if let ItemKind::ToolCall(call) = &head.kind {
                    told.push_str(&format!("[{}]", call.name.decode()));
                }
            }
            Event::ItemDelta(delta) => match &delta.value {
                Part::Text(text) | Part::Summary(text) => told.push_str(&text.decode()),
                Part::Args(Args::Text(text)) => told.push_str(&text.decode()),
                Part::Args(Args::Json(json)) => told.push_str(json.as_str()),
                _ => {}
            },
            Event::TurnEnded(turn) => {
                if let Some(stop) = &turn.stop {
                    told.push_str(&format!("[{}]", stop.class.word()));
                }
            }
            Event::Error(failure) => told.push_str(&format!("[error {}]", failure.message.decode())),
            _ => {}
        }
    };
    let mut reader = EventReader::new((dialect, role), &Options::default()).unwrap();
    reader.push(answer.body.as_bytes(), &mut each);
    reader.finish(&mut each);
    told.retain(|letter| !letter.is_whitespace());
    told
}

#[test]
fn every_client_gets_the_answer_of_every_backend() {
    let gateway = TestGateway::start("");
    for client in DIALECTS {
        for backend in DIALECTS.map(|name| format!("to-{name}")).iter().chain([&"any".to_owned()]) {
            for stream in [false, true] {
                let (path, body) = request(client, backend, stream, 0);
                let answer = gateway.post(&path, &body);
                let case = format!("{client} {backend} stream {stream}: {}", answer.body);
                assert_eq!(answer.status, 200, "{case}");
                let content_type =
                    if stream { "content-type: text/event-stream" } else { "content-type: application/json" };
                assert!(answer.head.contains(content_type), "{case}");
                let told = told(client, &answer);
                assert!(told.contains("Ireadboth."), "{case}: {told}");
                assert!(told.contains(r#"[read]{"path":"a\nb"}"#), "{case}: {told}");
                assert!(told.contains(r#"[read]{"path":"c"}"#), "{case}: {told}");
                assert!(told.contains("[tool_use]"), "{case}: {told}");
                let (path, body) = request(client, backend, stream, 1);
                let second = self::told(client, &gateway.post(&path, &body));
                assert!(second.contains("Done:question1"), "{case}: {second}");
            }
        }
    }
}

#[test]
fn an_error_has_the_dialect_of_the_client_and_the_status_of_the_backend() {
    let gateway = TestGateway::start("");
    for client in DIALECTS {
        for backend in DIALECTS {
            for stream in [false, true] {
                let (path, body) = request(client, &format!("to-{backend}"), stream, 2);
                let answer = gateway.post(&path, &body);
                let case = format!("{client} {backend} stream {stream}: {} {}", answer.head, answer.body);
                assert_eq!(answer.status, 429, "{case}");
                assert!(answer.head.contains("retry-after: 2"), "{case}");
                assert!(told(client, &answer).contains("[errorslowdown]"), "{case}");
            }
        }
    }
}

#[test]
fn the_gateways_own_errors_have_the_dialect_of_the_client() {
    let gateway = TestGateway::start("max-body = 2000");
    for client in DIALECTS {
        for (model, status, message) in [
            ("nobody", 404, "no route for the model `nobody`"),
            ("gone", 529, "the backend `gone` cannot be reached"),
        ] {
            let (path, body) = request(client, model, false, 0);
            let answer = gateway.post(&path, &body);
            assert_eq!(answer.status, status, "{client}: {}", answer.body);
            assert!(answer.body.contains(message), "{client}: {}", answer.body);
            assert!(told(client, &answer).contains("[error"), "{client}: {}", answer.body);
        }
        let (path, mut body) = request(client, "any", false, 0);
        body["padding"] = json!("x".repeat(3000));
        let answer = gateway.post(&path, &body);
        assert_eq!(answer.status, 413, "{client}: {}", answer.body);
        let answer = gateway.request(&format!("POST {path} HTTP/1.1"), "{\"model\":\"any\",");
        assert_eq!(answer.status, 400, "{client}: {}", answer.body);
    }
}

#[test]
fn a_client_needs_the_token_in_the_place_of_its_api() {
    let gateway = TestGateway::start("token = \"secret\"");
    for client in DIALECTS {
        let (path, body) = request(client, "any", false, 0);
        let with = |header: &str| {
            gateway.request(&format!("POST {path} HTTP/1.1\r\n{header}"), &body.to_string()).status
        };
        assert_eq!(with("x-none: 1"), 401, "{client}");
        assert_eq!(with("authorization: Bearer secreT"), 401, "{client}");
        assert_eq!(with("authorization: Bearer secret"), 200, "{client}");
        match client {
            "anthropic" => assert_eq!(with("x-api-key: secret"), 200),
            "gemini" => assert_eq!(with("x-goog-api-key: secret"), 200),
            _ => {}
        }
    }
}

#[test]
fn web_pages_and_foreign_names_are_refused() {
    let gateway = TestGateway::start("");
    let (path, body) = request("openai-chat", "any", false, 0);
    let with = |header: &str| {
        gateway.request(&format!("POST {path} HTTP/1.1\r\n{header}"), &body.to_string()).status
    };
    assert_eq!(with("origin: https://example.org"), 403);
    assert_eq!(with("origin: http://localhost:3000"), 200);
    assert_eq!(with("host: example.org"), 403);
    assert_eq!(with("host: localhost"), 200);
}

#[test]
fn models_and_counts_have_the_form_of_each_client() {
    let gateway = TestGateway::start("");
    let names = |answer: &HttpAnswer, list: &str, name: &str| -> Vec<String> {
        let all = answer.json()[list].as_array().unwrap().clone();
        all.iter()
            .map(|model| model[name].as_str().unwrap().trim_start_matches("models/").to_owned())
            .collect()
    };
    let any = "any".to_owned();
    assert!(names(&gateway.get("/v1/models"), "data", "id").contains(&any));
    assert!(names(&gateway.get("/anthropic/v1/models"), "data", "id").contains(&any));
    assert!(names(&gateway.get("/v1beta/models"), "models", "name").contains(&any));
    let messages = json!({"model": "any", "messages": [{"role": "user", "content": "hi"}]});
    let counted = gateway.post("/v1/messages/count_tokens", &messages);
    assert!(counted.json()["input_tokens"].as_u64().unwrap() > 3, "{}", counted.body);
    assert!(counted.head.contains("x-interlingua-estimate: true"));
    let contents = json!({"contents": [{"parts": [{"text": "hi"}]}]});
    let counted = gateway.post("/v1beta/models/any:countTokens", &contents);
    assert!(counted.json()["totalTokens"].as_u64().unwrap() > 3, "{}", counted.body);
    assert_eq!(gateway.get("/health").json()["status"], "ok");
    assert_eq!(gateway.get("/v1/nothing").status, 404);
}

#[test]
fn a_gemini_client_without_events_gets_an_array() {
    let gateway = TestGateway::start("");
    for backend in DIALECTS {
        let (_, body) = request("gemini", "", true, 1);
        let answer = gateway.post(&format!("/v1beta/models/to-{backend}:streamGenerateContent"), &body);
        assert!(answer.head.contains("content-type: application/json"), "{}", answer.head);
        let chunks = answer.json();
        let text: String = chunks
            .as_array()
            .unwrap()
            .iter()
            .filter_map(|chunk| chunk["candidates"][0]["content"]["parts"][0]["text"].as_str())
            .collect();
        assert_eq!(text, "Done: question 1", "{backend}");
    }
}

#[test]
fn a_stream_without_its_end_is_an_error_for_the_client() {
    let script = "[[turn]]\ntext = \"half of it\"\ncut = true";
    let mut config = "listen = \"127.0.0.1:0\"\n".to_owned();
    for dialect in DIALECTS {
        config += &format!(
            "[backend.to-{dialect}]\ndialect = \"{dialect}\"\nscript = \"s\"\n[[route]]\nmodel = \"to-{dialect}\"\nbackend = \"to-{dialect}\"\n"
        );
    }
    let gateway = TestGateway::with(&config, script);
    for client in DIALECTS {
        for backend in DIALECTS.into_iter().filter(|backend| *backend != client) {
            let (path, body) = request(client, &format!("to-{backend}"), true, 0);
            let answer = gateway.post(&path, &body);
            let told = told(client, &answer);
            assert!(told.contains("halfofit"), "{client} {backend}: {}", answer.body);
            assert!(told.contains("[error"), "{client} {backend}: {told}: {}", answer.body);
            assert!(!told.contains("[end_turn]"), "{client} {backend}: {told}");
        }
    }
}
