//! Every client dialect against a script in every backend dialect.

use interlingua::model::FailureClass;
use interlingua_gateway::{HandlerAnswer, HandlerCall, ServerParts};
use serde_json::json;

use crate::support::{DIALECTS, HttpAnswer, TestGateway, request, told};

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
fn start(more: &str) -> TestGateway {
    let mut text = format!("{more}\n");
    for dialect in DIALECTS {
        text += &format!(
            "[backend.to-{dialect}]\ndialect = \"{dialect}\"\nscript = \"s\"\n[[route]]\nmodel = \"to-{dialect}\"\nbackend = \"to-{dialect}\"\n"
        );
    }
    text += "[backend.any]\nscript = \"s\"\n[[route]]\nmodel = \"any\"\nbackend = \"any\"\n";
    text += "[backend.gone]\ndialect = \"openai-chat\"\nurl = \"http://127.0.0.1:9\"\n[[route]]\nmodel = \"gone\"\nbackend = \"gone\"\n";
    TestGateway::with(&text, SCRIPT)
}

#[test]
fn every_client_gets_the_answer_of_every_backend() {
    let gateway = start("");
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
                let second = crate::support::told(client, &gateway.post(&path, &body));
                assert!(second.contains("Done:question1"), "{case}: {second}");
            }
        }
    }
}

#[test]
fn an_error_has_the_dialect_of_the_client_and_the_status_of_the_backend() {
    let gateway = start("");
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
    for client in DIALECTS {
        let gateway = start("max-body = 2000");
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
    let gateway = start("token = \"secret\"");
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
    let gateway = start("");
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
fn a_value_in_another_place_is_no_loss() {
    let gateway = start("");
    let losses = |path: &str, body: &serde_json::Value| {
        let answer = gateway.post(path, body);
        assert_eq!(answer.status, 200, "{}", answer.body);
        let (_, rest) = answer.head.split_once("x-interlingua-losses: ").unwrap();
        rest.split_whitespace().next().unwrap().parse::<u64>().unwrap()
    };
    // The path of Gemini's endpoint holds `stream`, and the result of a call is a message of its own in OpenAI's API.
    let streamed = json!({"model": "to-gemini", "stream": true, "stream_options": {"include_usage": true},
        "messages": [{"role": "user", "content": "hi"}]});
    assert_eq!(losses("/v1/chat/completions", &streamed), 0);
    let mut result = json!({"model": "to-openai-chat", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "look", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "seen"}]}]});
    assert_eq!(losses("/v1/messages", &result), 0);
    result["top_k"] = json!(3);
    assert_eq!(losses("/v1/messages", &result), 1);
}

#[test]
fn models_and_counts_have_the_form_of_each_client() {
    let gateway = start("");
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
    let of_google = gateway.request("GET /v1/models HTTP/1.1\r\nx-goog-api-key: k", "");
    assert!(names(&of_google, "models", "name").contains(&any));
    let messages = json!({"model": "any", "messages": [{"role": "user", "content": "hi"}]});
    let counted = gateway.post("/v1/messages/count_tokens", &messages);
    assert!(counted.json()["input_tokens"].as_u64().unwrap() > 3, "{}", counted.body);
    assert!(counted.head.contains("x-interlingua-estimate: true"));
    let contents = json!({"contents": [{"parts": [{"text": "hi"}]}]});
    let generated = gateway.post("/v1/models/any:generateContent", &contents);
    assert_eq!(generated.status, 200, "{}", generated.body);
    let counted = gateway.post("/v1beta/models/any:countTokens", &contents);
    assert!(counted.json()["totalTokens"].as_u64().unwrap() > 3, "{}", counted.body);
    assert_eq!(gateway.get("/health").json()["status"], "ok");
    assert_eq!(gateway.get("/v1/nothing").status, 404);
}

#[test]
fn a_gemini_client_without_events_gets_an_array() {
    let gateway = start("");
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
    let mut config = String::new();
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

#[test]
fn a_program_answers_every_client() {
    let parts =
        ServerParts::default().with_handler("mine", |call: &HandlerCall, answer: &mut HandlerAnswer| {
            assert!(call.events().len() > 1, "{call:?}");
            if call.user_text().contains("question 1") {
                return answer.fail(FailureClass::RateLimit, "enough");
            }
            answer.reasoning("thinking");
            answer.text(&format!("heard: {}", call.user_text()));
            answer.call("call_1", "read", r#"{"path":"a"}"#);
        });
    let config = "[[route]]\nmodel = \"*\"\nbackend = \"mine\"";
    let gateway = TestGateway::with_parts(config, SCRIPT, parts);
    for client in DIALECTS {
        for stream in [false, true] {
            let (path, body) = request(client, "m", stream, 0);
            let said = told(client, &gateway.post(&path, &body));
            for part in ["heard:question0", r#"[read]{"path":"a"}"#, "[tool_use]"] {
                assert!(said.contains(part), "{client} {stream}: {said}");
            }
            let (path, body) = request(client, "m", stream, 1);
            let failed = told(client, &gateway.post(&path, &body));
            assert!(failed.contains("[errorenough]"), "{client} {stream}: {failed}");
        }
    }
}

#[test]
fn a_key_counts_in_every_place_at_every_endpoint() {
    let config = "[backend.b]\nscript = \"s\"\n[[route]]\nmodel = \"*\"\nbackend = \"b\"\n[[client]]\nname = \"ci\"\nkey = { value = \"k/1\" }";
    let gateway = TestGateway::with(config, "[[turn]]\ntext = \"yes\"");
    let places = [
        "authorization: Bearer k/1",
        "AUTHORIZATION: bearer  k/1",
        "x-api-key: k/1",
        "x-goog-api-key: k/1",
        "api-key: k/1",
        "authorization: Bearer dummy\r\nx-api-key: k/1",
    ];
    for client in DIALECTS {
        let (path, body) = request(client, "m", false, 0);
        for place in places {
            let answer = gateway.request(&format!("POST {path} HTTP/1.1\r\n{place}"), &body.to_string());
            assert_eq!(answer.status, 200, "{client} {place}: {}", answer.body);
        }
        assert_eq!(gateway.post(&format!("{path}?key=k%2F1"), &body).status, 200, "{client}");
        assert_eq!(gateway.post(&format!("{path}?key=k"), &body).status, 401, "{client}");
        assert_eq!(gateway.post(&path, &body).status, 401, "{client}");
    }
    for page in ["/metrics", "/v1/models", "/v1beta/models", "/anthropic/v1/models"] {
        for place in places {
            assert_eq!(
                gateway.request(&format!("GET {page} HTTP/1.1\r\n{place}"), "").status,
                200,
                "{page} {place}"
            );
        }
        assert_eq!(gateway.get(page).status, 401, "{page}");
    }
}

#[test]
fn a_client_can_ask_for_the_entry_of_one_model() {
    let config = "[backend.b]\nscript = \"s\"\n[[route]]\nmodel = \"vendor/*\"\nbackend = \"b\"\n[[route]]\nmodel = \"m:8b\"\nbackend = \"b\"";
    let gateway = TestGateway::with(config, "[[turn]]\ntext = \"yes\"");
    for (path, member, name) in [
        ("/v1/models/vendor/one", "id", "vendor/one"),
        ("/openai/v1/models/vendor%2Fone", "id", "vendor/one"),
        ("/v1/models/m:8b", "id", "m:8b"),
        ("/anthropic/v1/models/vendor/one", "id", "vendor/one"),
        ("/v1beta/models/vendor/one", "name", "models/vendor/one"),
        ("/copilot/models/vendor/one", "id", "vendor/one"),
    ] {
        let answer = gateway.get(path);
        assert_eq!(answer.status, 200, "{path}: {}", answer.body);
        assert_eq!(answer.json()[member], name, "{path}: {}", answer.body);
    }
    for path in ["/v1/models/other", "/anthropic/v1/models/other", "/v1beta/models/other"] {
        let missing = gateway.get(path);
        assert!(missing.status == 404 && missing.json()["error"].is_object(), "{path}: {}", missing.body);
    }
    assert_eq!(gateway.get("/v1beta/models/vendor/one:generateContent").status, 404);
}
