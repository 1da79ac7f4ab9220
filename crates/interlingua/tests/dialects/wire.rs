//! Translation between `anthropic` and `openai-chat`: facts that hold for every fixture, and tables of words. Each pitfall
//! of the specification of the wire dialects is a case in `tests/cases/wire_*.txt`. The interpretation of the output by
//! clients is tested with the official packages in `tests/sdk`.

#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test reads its fixtures, and fails if it cannot"
)]

use interlingua::dialects::{Dialect, Options, Role};
use interlingua::ledger::Report;
use interlingua::pipe::Pipe;
use serde_json::{Value, json};

const A: &str = "anthropic";
const C: &str = "openai-chat";

#[test]
fn p28_interleaved_calls_become_blocks_one_after_the_other() {
    let stream = text(C, A, Role::Stream, &fixture(C, "stream/tools.sse"));
    let mut open = None;
    let mut next = 0;
    for event in data(&stream) {
        match event["type"].as_str().unwrap() {
            "content_block_start" => {
                assert_eq!((open, event["index"].as_u64()), (None, Some(next)));
                open = Some(next);
                next += 1;
            }
            "content_block_delta" => assert_eq!(event["index"].as_u64(), open),
            "content_block_stop" => assert_eq!(event["index"].as_u64(), open.take()),
            _ => {}
        }
    }
    assert_eq!((open, next), (None, 4));
}

#[test]
fn p75_any_chunking_gives_the_same_bytes() {
    for (dialect, other) in [(A, C), (C, A)] {
        for name in names(dialect, "stream") {
            let stream = fixture(dialect, &name);
            let whole = bytes(dialect, other, Role::Stream, &stream).0;
            for size in [1, 2, 3, 7, 64] {
                assert_eq!(pieces(dialect, other, Role::Stream, &stream, size), whole, "{name} by {size}");
            }
            // The other kind of line ends, and data over several lines.
            let text = String::from_utf8(stream).unwrap();
            assert_eq!(
                bytes(dialect, other, Role::Stream, text.replace('\n', "\r\n").as_bytes()).0,
                whole,
                "{name}"
            );
        }
    }
}

/// Every failure class: Anthropic's `error.type`; the `type` and `code` of chat.
#[test]
fn failures_keep_their_class_both_ways() {
    for (theirs, kind, code) in [
        ("invalid_request_error", "invalid_request_error", Value::Null),
        ("authentication_error", "authentication_error", json!("invalid_api_key")),
        ("billing_error", "insufficient_quota", json!("insufficient_quota")),
        ("permission_error", "permission_error", json!("permission_denied")),
        ("not_found_error", "not_found_error", json!("not_found")),
        ("conflict_error", "conflict_error", json!("conflict")),
        ("request_too_large", "request_too_large", json!("request_too_large")),
        ("rate_limit_error", "rate_limit_error", json!("rate_limit_exceeded")),
        ("api_error", "server_error", Value::Null),
        ("overloaded_error", "overloaded_error", json!("server_is_overloaded")),
        ("timeout_error", "timeout_error", json!("timeout")),
    ] {
        let error = json!({"type": "error", "error": {"type": theirs, "message": "m"}});
        let (chat, _) = convert(A, C, Role::Response, error.to_string().as_bytes());
        assert_eq!(chat, json!({"error": {"message": "m", "type": kind, "param": null, "code": code}}));
        assert_eq!(convert(C, A, Role::Response, chat.to_string().as_bytes()).0, error);
    }
    for (status, kind) in [
        (400, "invalid_request_error"),
        (401, "authentication_error"),
        (402, "billing_error"),
        (403, "permission_error"),
        (404, "not_found_error"),
        (409, "conflict_error"),
        (413, "request_too_large"),
        (429, "rate_limit_error"),
        (502, "api_error"),
        (503, "overloaded_error"),
        (504, "timeout_error"),
    ] {
        let error = json!({"error": {"message": "m", "code": status}});
        assert_eq!(convert(C, A, Role::Response, error.to_string().as_bytes()).0["error"]["type"], kind);
    }
}

#[test]
fn interleaved_pieces_of_a_stream_all_reach_a_record() {
    let children = |stream: &[u8], from: &str| {
        let (record, report) = to_role(from, Role::Stream, "record", Role::Log, stream);
        assert_eq!(report.lost, 0, "{report:?}");
        assert!(!noted(&report, "already written"), "{report:?}");
        let entries = record["session"]["entries"].as_array().unwrap();
        entries.iter().find_map(|entry| entry.get("children")).unwrap().clone()
    };
    // The fragments of the two calls alternate.
    let calls = children(&fixture(C, "stream/tools.sse"), C);
    assert_eq!(calls[0]["input"], json!({"word": "café", "limit": 3}));
    assert_eq!(calls[1]["input"], json!({"sheet": 7, "inset": ["a"]}));
    // A thinking block begins with an empty signature; text and the real signature follow.
    let thought = children(&fixture(A, "stream/tools.sse"), A);
    assert_eq!(thought[0]["type"], "reasoning");
    assert_ne!(thought[0]["content"], "");
    assert!(thought[0]["signature"].as_str().is_some_and(|signature| !signature.is_empty()));
}

#[test]
fn a_whole_response_says_the_same_as_its_stream() {
    for (dialect, other) in [(A, C), (C, A)] {
        // A whole chat message does not show whether its text came before or after its calls.
        for name in names(dialect, "stream").into_iter().filter(|name| !name.contains("loose")) {
            let stream = fixture(dialect, &name);
            let whole = fold(dialect, &stream);
            if whole.get("error").is_none_or(Value::is_null) {
                let (crossed, _) = convert(dialect, other, Role::Response, whole.to_string().as_bytes());
                let streamed = fold(other, &bytes(dialect, other, Role::Stream, &stream).0);
                assert_eq!(differences(&crossed, &streamed), [""; 0], "{name}: {crossed:#}\n{streamed:#}");
            }
        }
    }
}

/// The changes of a round trip over the other family, for every fixture; each line is in the report or in a note.
const CHANGES: &[(&str, &str, &[&str])] = &[
    // A picture in a result is replaced by a label and moved to a separate message.
    (A, "request/full.json", &["/messages", "/thinking"]),
    (A, "request/orphans.json", &["/messages/0/content", "/messages/2/content"]),
    (
        A,
        "request/server-tools.json",
        &["/messages/1/content", "/messages/2/content", "/tools", "/tool_choice"],
    ),
    (A, "response/error-auth.json", &["/request_id"]),
    (A, "response/error-context.json", &["/request_id"]),
    (A, "response/error-invalid.json", &["/request_id"]),
    (A, "response/error-notfound.json", &["/request_id"]),
    (A, "response/error-overloaded.json", &["/request_id"]),
    (A, "response/error-rate.json", &["/request_id"]),
    (A, "response/stopseq.json", &["/stop_reason", "/stop_sequence"]),
    (A, "response/tools.json", &["/usage/cache_creation", "/usage/service_tier"]),
    (C, "request/choice.json", &["/messages/0/role", "/stop", "/max_completion_tokens"]),
    (
        C,
        "request/full.json",
        &[
            "/messages/1/content/2/image_url/detail",
            "/messages/6/role",
            "/tools/1/function/parameters",
            "/response_format/json_schema/name",
            "/response_format/json_schema/strict",
        ],
    ),
    (
        C,
        "request/media.json",
        &[
            "/messages/0/name",
            "/messages/0/content",
            "/messages/1/tool_calls/0/type",
            "/messages/1/tool_calls/0/custom",
            "/messages/1/tool_calls/0/function",
            "/tools/0/type",
            "/tools/0/custom",
            "/tools/0/function",
            "/seed",
            "/n",
            "/max_completion_tokens",
        ],
    ),
    (C, "request/replay.json", &["/messages/1/content", "/messages/1/reasoning_details"]),
    (C, "response/error-auth.json", &["/error/type"]),
    (C, "response/error-context.json", &["/error/message", "/error/param"]),
    (C, "response/error-invalid.json", &["/error/param", "/error/code"]),
    (C, "response/error-rate.json", &["/error/type"]),
    (
        C,
        "response/oddids.json",
        &["/created", "/choices/0/message/tool_calls/0/id", "/choices/0/message/tool_calls/1/id"],
    ),
    (C, "response/reasoning.json", &["/created"]),
    (
        C,
        "response/refusal.json",
        &["/created", "/choices/0/message/content", "/choices/0/message/refusal", "/choices/0/finish_reason"],
    ),
    (C, "response/tools.json", &["/created"]),
];

#[test]
fn what_crosses_and_comes_back_is_equal_but_for_reported_losses() {
    for (dialect, other) in [(A, C), (C, A)] {
        for (word, role) in [("request", Role::Request), ("response", Role::Response)] {
            for name in names(dialect, word) {
                let origin = fixture(dialect, &name);
                let (back, reports) = there_and_back(dialect, other, role, &origin);
                let changed = differences(&parse(&origin), &parse(&back));
                let known = CHANGES.iter().find(|(d, n, _)| (*d, *n) == (dialect, &name));
                assert_eq!(changed, known.map_or(&[][..], |(_, _, paths)| paths), "{dialect} {name}");
                let booked: usize =
                    reports.iter().map(|report| report.lost_paths.len() + report.notes.len()).sum();
                assert!(booked > 0 || changed.is_empty(), "{dialect} {name}: {changed:?} not reported");
            }
        }
    }
}

#[test]
fn every_fixture_adds_up_to_every_wire_target_and_role() {
    for dialect in [A, C] {
        for (word, role) in
            [("request", Role::Request), ("response", Role::Response), ("stream", Role::Stream)]
        {
            for name in names(dialect, word) {
                for (target, to) in [A, C].into_iter().flat_map(|target| {
                    [Role::Request, Role::Response, Role::Stream].into_iter().map(move |role| (target, role))
                }) {
                    let mut out = Vec::new();
                    let mut pipe = pipe(dialect, role, target, to);
                    pipe.push(&fixture(dialect, &name), &mut out);
                    let report = pipe.finish(&mut out);
                    assert!(report.adds_up(), "{name} to {target} {}: {report:?}", to.word());
                }
            }
        }
    }
}

#[test]
fn a_request_cut_or_damaged_anywhere_does_no_harm() {
    for (dialect, other) in [(A, C), (C, A)] {
        for role in ["request", "response"] {
            for name in names(dialect, role) {
                let role = if role == "request" { Role::Request } else { Role::Response };
                let origin = fixture(dialect, &name);
                for at in 0..origin.len() {
                    let (out, report) = bytes(dialect, other, role, &origin[..at]);
                    assert!(
                        report.adds_up() && (out.is_empty() || serde_json::from_slice::<Value>(&out).is_ok())
                    );
                    // A value of another type in every place.
                    let mut damaged = origin.clone();
                    if let b'0'..=b'9' | b'"' | b't' = damaged[at] {
                        damaged[at] = b'[';
                        bytes(dialect, other, role, &damaged);
                    }
                }
                for text in [
                    "0",
                    "\"\"",
                    "[]",
                    "{}",
                    "null",
                    "[{}]",
                    "{\"messages\":{}}",
                    "{\"messages\":[0,[],{}]}",
                    "{\"choices\":[0]}",
                    "{\"content\":0}",
                    "{\"error\":0}",
                    "{\"error\":\"no\"}",
                    "{\"content\":[{\"type\":0}]}",
                ] {
                    let (out, report) = bytes(dialect, other, role, text.as_bytes());
                    assert!(report.adds_up(), "{text}");
                    assert!(out.is_empty() || serde_json::from_slice::<Value>(&out).is_ok(), "{text}");
                }
            }
        }
    }
}

#[test]
fn detection_knows_its_own_fixtures() {
    for (dialect, role) in [A, C].into_iter().flat_map(|d| ["request", "response", "stream"].map(|r| (d, r)))
    {
        for name in names(dialect, role) {
            let guess = interlingua::sniff::sniff(&fixture(dialect, &name), true).expect("recognised");
            assert_eq!((guess.dialect.name, guess.role.word()), (dialect, role), "{name}");
        }
    }
}

#[test]
fn one_sign_of_its_family_is_enough_to_know_a_request() {
    let asked = json!([{"role": "user", "content": "hi"}]);
    let of_chat = [
        json!({"max_completion_tokens": 9}),
        json!({"tools": [{"type": "function", "function": {"name": "f"}}]}),
        json!({"messages": [{"role": "developer", "content": "be brief"}]}),
        json!({"messages": [{"role": "tool", "tool_call_id": "1", "content": "done"}]}),
        json!({"messages": [{"role": "assistant", "tool_calls": []}]}),
    ];
    let of_anthropic = [
        json!({"system": "be brief"}),
        json!({"tools": [{"name": "f", "input_schema": {}}]}),
        json!({"messages": [{"role": "user", "content": [{"type": "image"}]}]}),
    ];
    for (dialect, signs) in [(C, &of_chat[..]), (A, &of_anthropic[..])] {
        for sign in signs {
            // Both families have this limit; alone it would indicate the other family.
            let mut request = json!({"model": "m", "messages": asked, "max_tokens": 9});
            if dialect == A {
                request.as_object_mut().unwrap().remove("max_tokens");
            }
            request.as_object_mut().unwrap().extend(sign.as_object().unwrap().clone());
            let guess = interlingua::sniff::sniff(request.to_string().as_bytes(), true).unwrap();
            assert_eq!((guess.dialect.name, guess.role), (dialect, Role::Request), "{request}");
        }
    }
}

// ---- Helpers ----

fn pipe(from: &str, role: Role, to: &str, to_role: Role) -> Pipe {
    let (from, to) = (Dialect::named(from).unwrap(), Dialect::named(to).unwrap());
    Pipe::new((from, role), (to, to_role), &Options::default()).unwrap()
}

fn bytes(from: &str, to: &str, role: Role, input: &[u8]) -> (Vec<u8>, Report) {
    let mut out = Vec::new();
    let mut pipe = pipe(from, role, to, role);
    pipe.push(input, &mut out);
    let report = pipe.finish(&mut out);
    assert!(report.adds_up(), "{report:?}");
    (out, report)
}

fn pieces(from: &str, to: &str, role: Role, input: &[u8], size: usize) -> Vec<u8> {
    let mut out = Vec::new();
    let mut pipe = pipe(from, role, to, role);
    for piece in input.chunks(size) {
        pipe.push(piece, &mut out);
    }
    pipe.finish(&mut out);
    out
}

fn text(from: &str, to: &str, role: Role, input: &[u8]) -> String {
    String::from_utf8(bytes(from, to, role, input).0).unwrap()
}

fn convert(from: &str, to: &str, role: Role, input: &[u8]) -> (Value, Report) {
    let (out, report) = bytes(from, to, role, input);
    (parse(&out), report)
}

fn to_role(from: &str, role: Role, to: &str, to_role: Role, input: &[u8]) -> (Value, Report) {
    let mut out = Vec::new();
    let mut pipe = pipe(from, role, to, to_role);
    pipe.push(input, &mut out);
    let report = pipe.finish(&mut out);
    (parse(&out), report)
}

fn there_and_back(from: &str, via: &str, role: Role, input: &[u8]) -> (Vec<u8>, [Report; 2]) {
    let (middle, there) = bytes(from, via, role, input);
    let (back, again) = bytes(via, from, role, &middle);
    (back, [there, again])
}

/// The whole response that a stream folds into.
fn fold(dialect: &str, stream: &[u8]) -> Value {
    to_role(dialect, Role::Stream, dialect, Role::Response, stream).0
}

fn parse(json: &[u8]) -> Value {
    serde_json::from_slice(json).unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(json)))
}

/// The documents of a stream. Each must be one line of JSON.
fn data(stream: &str) -> Vec<Value> {
    let lines =
        stream.lines().filter_map(|line| line.strip_prefix("data: ")).filter(|line| *line != "[DONE]");
    lines.map(|line| parse(line.as_bytes())).collect()
}

fn noted(report: &Report, what: &str) -> bool {
    report.notes.iter().any(|(note, _)| note.starts_with(what))
}

fn folder(dialect: &str) -> std::path::PathBuf {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures");
    root.join(Dialect::named(dialect).unwrap().folder())
}

fn names(dialect: &str, role: &str) -> Vec<String> {
    let files = std::fs::read_dir(folder(dialect).join(role)).unwrap();
    let files = files.map(Result::unwrap).filter(|file| file.path().is_file());
    let mut names: Vec<String> =
        files.map(|file| format!("{role}/{}", file.file_name().to_string_lossy())).collect();
    names.sort();
    names
}

fn fixture(dialect: &str, name: &str) -> Vec<u8> {
    std::fs::read(folder(dialect).join(name)).unwrap()
}

/// The paths where two values differ. A text equals a list of one text, and arguments are compared as JSON.
fn differences(a: &Value, b: &Value) -> Vec<String> {
    let mut found = Vec::new();
    differ(a, b, String::new(), &mut found);
    found
}

fn differ(a: &Value, b: &Value, path: String, found: &mut Vec<String>) {
    let alone = |value: &Value| match value.as_array().map(Vec::as_slice) {
        Some([part]) if part["type"] == "text" => part["text"].clone(),
        _ => value.clone(),
    };
    match (a, b) {
        (Value::Object(left), Value::Object(right)) => {
            for key in left.keys().chain(right.keys().filter(|key| !left.contains_key(*key))) {
                let (left, right) =
                    (left.get(key).unwrap_or(&Value::Null), right.get(key).unwrap_or(&Value::Null));
                differ(left, right, format!("{path}/{key}"), found);
            }
        }
        (Value::Array(left), Value::Array(right)) if left.len() == right.len() => {
            for (number, (left, right)) in left.iter().zip(right).enumerate() {
                differ(left, right, format!("{path}/{number}"), found);
            }
        }
        (Value::String(left), Value::String(right)) if path.ends_with("/arguments") => {
            let object =
                |text: &str| serde_json::from_str::<Value>(if text.is_empty() { "{}" } else { text }).ok();
            if object(left) != object(right) {
                found.push(path);
            }
        }
        _ if alone(a) == alone(b) => {}
        _ => found.push(path),
    }
}
