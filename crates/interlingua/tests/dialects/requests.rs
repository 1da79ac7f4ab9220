//! Values that servers reject are repaired in a request or reported as lost, whatever the source dialect.

#![allow(clippy::unwrap_used, clippy::needless_pass_by_value, reason = "a test stops at the first surprise")]

use interlingua::dialects::{Dialect, Options, Role};
use interlingua::ledger::{Reason, Report};
use interlingua::pipe::{Exchange, Pipe};
use interlingua::wire::backends::{Backend, RuleValue, SharedBackend};
use serde_json::{Value, json};

const A: &str = "anthropic";
const C: &str = "openai-chat";

fn convert(from: &str, to: &str, request: &Value) -> (Value, Report) {
    convert_for(from, to, None, request)
}

fn convert_for(from: &str, to: &str, backend: Option<&str>, request: &Value) -> (Value, Report) {
    let side = |name| (Dialect::named(name).unwrap(), Role::Request);
    let backend = backend.map(|name| SharedBackend::from(Backend::named(name, to).unwrap()));
    let pipe = Pipe::new(side(from), side(to), &Options::default().with_backend(backend)).unwrap();
    let mut out = Vec::new();
    let report = pipe.finish_with(request.to_string().as_bytes(), &mut out);
    assert!(report.adds_up(), "{report:?}");
    (serde_json::from_slice(&out).unwrap(), report)
}

fn noted(report: &Report, what: &str) -> bool {
    report.notes.iter().any(|(note, _)| note.contains(what))
}

fn lost(report: &Report, path: &str, reason: Reason) -> bool {
    report.lost_paths.iter().any(|row| row.path == path && row.reason == Some(reason))
}

fn ask(content: Value) -> Value {
    json!({"model": "m", "messages": content})
}

#[test]
fn a_conversation_in_which_nobody_speaks_gets_a_message() {
    for messages in [
        json!([]),
        json!([{"role": "system", "content": "Be brief."}]),
        json!([{"role": "user", "content": " "}]),
    ] {
        let (out, report) = convert(C, A, &ask(messages));
        assert_eq!(out["messages"], json!([{"role": "user", "content": "(no message)"}]));
        assert!(noted(&report, "conversation without a message got one"));
    }
    let (out, _) = convert(A, C, &json!({"model": "m", "max_tokens": 1, "messages": []}));
    assert_eq!(out["messages"], json!([{"role": "user", "content": "(no message)"}]));
    let (out, report) =
        convert(A, C, &json!({"model": "m", "max_tokens": 1, "system": "Be brief.", "messages": []}));
    assert_eq!(out["messages"], json!([{"role": "system", "content": "Be brief."}]));
    assert!(!noted(&report, "conversation without a message"));
}

#[test]
fn p58_a_model_that_does_not_go_on_with_an_answer_is_asked_to() {
    let request = |model: &str| json!({"model": model, "messages": [{"role": "user", "content": "x"}, {"role": "assistant", "content": "So \n"}]});
    let (out, report) = convert(C, A, &request("claude-opus-5-5"));
    assert_eq!(out["messages"][2], json!({"role": "user", "content": "Continue."}));
    assert!(noted(&report, "does not go on"));
    // With prefill support, the API still rejects trailing whitespace.
    let (out, report) = convert(C, A, &request("claude-3-5-haiku"));
    assert_eq!(out["messages"][1], json!({"role": "assistant", "content": "So"}));
    assert!(noted(&report, "space at the end") && out["messages"].as_array().unwrap().len() == 2);
}

#[test]
fn a_call_has_an_id_of_its_own_and_its_result_knows_it() {
    let call = |name: &str| json!({"role": "assistant", "content": null, "tool_calls": [{"id": "same", "type": "function", "function": {"name": name, "arguments": "{}"}}]});
    let result = |content: &str| json!({"role": "tool", "tool_call_id": "same", "content": content});
    let both = json!({"role": "assistant", "content": null, "tool_calls": [
        {"id": "same", "type": "function", "function": {"name": "c", "arguments": "{}"}},
        {"id": "same", "type": "function", "function": {"name": "d", "arguments": "{}"}}]});
    let messages = json!([{"role": "user", "content": "x"}, call("a"), result("of a"), call("b"), result("of b"), both, result("of c"), result("of d")]);
    let (out, report) = convert(C, A, &ask(messages));
    assert!(noted(&report, "id of an earlier one"));
    let blocks: Vec<&Value> = out["messages"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|turn| turn["content"].as_array().into_iter().flatten())
        .collect();
    let mut ids = Vec::new();
    for name in ["a", "b", "c", "d"] {
        let call = blocks.iter().find(|block| block["name"] == name).unwrap();
        let result = blocks.iter().find(|block| block["content"] == format!("of {name}")).unwrap();
        assert_eq!(call["id"], result["tool_use_id"], "{name}");
        ids.push(call["id"].as_str().unwrap());
    }
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 4, "{ids:?}");
    assert!(ids.contains(&"same"));
}

#[test]
fn p36_tools_of_one_name_get_several_and_answers_find_them() {
    let tool = |name: &str, description: &str| json!({"name": name, "description": description, "input_schema": {"type": "object"}});
    let request = json!({"model": "m", "max_tokens": 1, "messages": [{"role": "user", "content": "x"}],
        "tools": [tool("look", "first"), tool("look", "second"), tool(&"long".repeat(20), "third"), tool(&("long".repeat(20) + "er"), "fourth")]});
    let (out, report) = convert(A, C, &request);
    let names: Vec<&str> = out["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["function"]["name"].as_str().unwrap())
        .collect();
    assert_eq!(names[..2], ["look", "look_2"]);
    assert!(names[2..].iter().all(|name| name.len() <= 64) && names[2] != names[3]);
    assert!(noted(&report, "tool called by another name"));
}

#[test]
fn schemas_that_the_target_refuses_are_rewritten_and_noted() {
    let offer = |schema: Value, strict: bool| {
        json!({"model": "m", "max_tokens": 1, "messages": [{"role": "user", "content": "x"}],
            "tools": [{"name": "tide", "input_schema": schema, "strict": strict}]})
    };
    let sent = |out: &Value| out["tools"][0]["function"]["parameters"].clone();
    // A choice at the root becomes one object with all properties, of which the common required properties are
    // required.
    let choice = json!({"description": "d", "anyOf": [
        {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "integer"}}, "required": ["a", "b"]},
        {"type": "object", "properties": {"a": {"type": "number"}}, "required": ["a"]}]});
    let (out, report) = convert(A, C, &offer(choice, false));
    assert_eq!(
        sent(&out),
        json!({"type": "object", "description": "d", "properties": {
            "a": {"anyOf": [{"type": "string"}, {"type": "number"}]}, "b": {"type": "integer"}}, "required": ["a"]})
    );
    assert!(noted(&report, "joined into one object"));
    let (out, _) = convert(A, C, &offer(json!({"type": ["object", "null"], "properties": {"a": {}}}), false));
    assert_eq!(sent(&out), json!({"type": "object", "properties": {"a": {}}}));
    let (out, report) = convert(A, C, &offer(json!({"type": "string"}), false));
    assert_eq!(sent(&out), json!({"type": "object", "properties": {}}));
    assert!(lost(&report, "/tools[]/input_schema", Reason::Refused), "{:?}", report.lost_paths);
    // A property may have the name of a keyword.
    let odd = json!({"type": "object", "properties": {"anyOf": {"type": "string"}, "required": {"type": "string"}}});
    let (out, _) = convert(A, C, &offer(odd.clone(), false));
    assert_eq!(sent(&out), odd);
}

#[test]
fn p53_optional_properties_of_a_strict_tool_are_null_for_the_backend_and_absent_for_the_client() {
    let schema = json!({"type": "object", "properties": {
        "harbour": {"type": "string"}, "day": {"type": "string"}, "unit": {"type": ["string", "null"]},
        "place": {"type": "object", "properties": {"lat": {"type": "number"}, "note": {"type": "string"}}, "required": ["lat"]}},
        "required": ["harbour"]});
    let request = json!({"model": "m", "max_tokens": 1, "messages": [{"role": "user", "content": "x"}],
        "tools": [{"name": "tide", "input_schema": schema, "strict": true}]});
    let named = |name| Dialect::named(name).unwrap();
    let mut exchange = Exchange::new(named(A), named(C), &Options::default());
    let mut out = Vec::new();
    exchange.request(request.to_string().as_bytes(), &mut out).unwrap();
    let sent: Value = serde_json::from_slice(&out).unwrap();
    let parameters = &sent["tools"][0]["function"]["parameters"];
    assert_eq!(parameters["required"], json!(["harbour", "day", "unit", "place"]));
    assert_eq!(parameters["additionalProperties"], false);
    assert_eq!(parameters["properties"]["day"], json!({"anyOf": [{"type": "string"}, {"type": "null"}]}));
    let arguments = json!({"harbour": "h", "day": null, "unit": null, "place": {"lat": 1, "note": null}});
    let answer = json!({"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [{"index": 0, "finish_reason": "tool_calls",
        "message": {"role": "assistant", "content": null, "tool_calls": [{"id": "c", "type": "function", "function": {"name": "tide", "arguments": arguments.to_string()}}]}}]});
    let mut out = Vec::new();
    exchange.answer(Role::Response).unwrap().finish_with(answer.to_string().as_bytes(), &mut out);
    let answer: Value = serde_json::from_slice(&out).unwrap();
    assert_eq!(answer["content"][0]["input"], json!({"harbour": "h", "unit": null, "place": {"lat": 1}}));
}

#[test]
fn p52_an_answer_schema_for_anthropic_is_closed_and_promises_what_can_be_promised() {
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer", "minimum": 3, "description": "count"},
        "pick": {"oneOf": [{"type": "string"}, {"type": "object", "properties": {"minimum": {"type": "string"}}}]}}, "required": ["n"]});
    let request = json!({"model": "m", "messages": [{"role": "user", "content": "x"}],
        "response_format": {"type": "json_schema", "json_schema": {"name": "r", "schema": schema}}});
    let (out, report) = convert(C, A, &request);
    assert_eq!(
        out["output_config"]["format"]["schema"],
        json!({"type": "object", "properties": {"n": {"type": "integer", "description": "count {minimum: 3}"},
            "pick": {"anyOf": [{"type": "string"}, {"type": "object", "properties": {"minimum": {"type": "string"}}, "additionalProperties": false}]}},
            "required": ["n"], "additionalProperties": false})
    );
    assert!(noted(&report, "moved into its description") && noted(&report, "`anyOf`"));
}

#[test]
fn media_types_are_spelled_as_every_api_knows_them() {
    let picture =
        |url: &str| json!([{"role": "user", "content": [{"type": "image_url", "image_url": {"url": url}}]}]);
    for (url, want) in [
        ("data:image/jpg;base64,/9j/4AAQ", "image/jpeg"),
        ("data:IMAGE/PNG;base64,iVBORw0KGgo=", "image/png"),
        ("data:image/gif;charset=utf-8;base64,R0lGODlh", "image/gif"),
    ] {
        let (out, report) = convert(C, A, &ask(picture(url)));
        assert_eq!(out["messages"][0]["content"][0]["source"]["media_type"], want);
        assert!(noted(&report, "media type written as every API knows it"));
    }
    let (out, report) = convert(C, A, &ask(picture("data:image/tiff;base64,SUkq")));
    assert_eq!(out["messages"][0]["content"], "(no message)");
    assert!(lost(&report, "/messages[]/content[]/image_url/url", Reason::Refused));
    let (out, _) = convert(
        C,
        A,
        &ask(
            json!([{"role": "user", "content": [{"type": "image_url", "image_url": "https://example.test/a.png"}]}]),
        ),
    );
    assert_eq!(
        out["messages"][0]["content"][0]["source"],
        json!({"type": "url", "url": "https://example.test/a.png"})
    );
}

#[test]
fn settings_out_of_range_are_repaired_or_given_up_aloud() {
    let request = json!({"model": "m", "stop": ["a", " ", "b"], "max_tokens": 0, "messages": [{"role": "user", "content": "x"}]});
    let (out, report) = convert(C, A, &request);
    assert_eq!(out["stop_sequences"], json!(["a", "b"]));
    assert!(lost(&report, "/stop[]", Reason::Refused), "{:?}", report.lost_paths);
    assert_eq!(out["max_tokens"], 0);
    let (out, report) = convert(
        A,
        C,
        &json!({"model": "m", "max_tokens": 0, "messages": [{"role": "user", "content": "x"}]}),
    );
    assert!(out.get("max_completion_tokens").is_none() && lost(&report, "/max_tokens", Reason::Refused));
}

#[test]
fn p60_the_limit_on_tokens_has_the_name_that_the_server_knows() {
    let request = json!({"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "x"}]});
    for (backend, name) in
        [(None, "max_completion_tokens"), (Some("deepseek"), "max_tokens"), (Some("vllm"), "max_tokens")]
    {
        let (out, _) = convert_for(A, C, backend, &request);
        assert_eq!(out[name], 9, "{backend:?}");
    }
}

#[test]
fn p15_p16_thinking_is_asked_for_in_the_form_that_the_model_takes() {
    let request = |model: &str, thinking: Value| {
        json!({"model": model, "reasoning_effort": thinking, "max_completion_tokens": 40000,
        "messages": [{"role": "user", "content": "x"}], "tool_choice": "required", "tools": [{"type": "function", "function": {"name": "look"}}]})
    };
    // An effort becomes a budget where only budgets are supported; neither is compatible with a required call.
    let (out, report) = convert(C, A, &request("claude-sonnet-4-5", json!("medium")));
    assert_eq!(out["thinking"], json!({"type": "enabled", "budget_tokens": 8192}));
    assert_eq!(out["tool_choice"], json!({"type": "auto"}));
    assert!(noted(&report, "effort written as a budget") && lost(&report, "/tool_choice", Reason::Refused));
    let (out, _) = convert(C, A, &request("claude-opus-5-5", json!("minimal")));
    assert_eq!(out["output_config"], json!({"effort": "low"}));
    let (out, _) = convert(C, A, &request("claude-opus-5", json!("none")));
    assert_eq!(
        (&out["thinking"], &out["tool_choice"]),
        (&json!({"type": "disabled"}), &json!({"type": "any"}))
    );
    // A budget becomes an effort where only efforts are supported.
    let budget = json!({"model": "m", "max_tokens": 40000, "thinking": {"type": "enabled", "budget_tokens": 20000}, "messages": [{"role": "user", "content": "x"}]});
    let (out, report) = convert(A, C, &budget);
    assert_eq!(out["reasoning_effort"], "high");
    assert!(noted(&report, "budget for thinking written as an effort"));
    assert!(lost(&report, "/thinking/budget_tokens", Reason::Narrowed));
}

#[test]
fn p56_a_system_message_between_others_stands_where_the_model_takes_it() {
    let request = |model: &str| json!({"model": model, "messages": [{"role": "user", "content": "x"}, {"role": "system", "content": "Now in Polish."}]});
    let (out, _) = convert(C, A, &request("claude-opus-5-5"));
    assert_eq!(out["messages"][1], json!({"role": "system", "content": "Now in Polish."}));
    let (out, report) = convert(C, A, &request("claude-3-5-haiku"));
    assert_eq!(out["messages"][1]["role"], "user");
    assert!(noted(&report, "system message written as marked user text"));
}

/// A system message is a message of its own only after the user and before the assistant or the end.
#[test]
fn p56_the_neighbours_of_a_system_message_decide_its_place() {
    let said = |role: &str| json!({"role": role, "content": "x"});
    for before in ["user", "assistant"] {
        for after in [None, Some("user"), Some("assistant")] {
            let mut messages = vec![said("user"), said("assistant")];
            if before == "user" {
                messages.push(said("user"));
            }
            messages.push(json!({"role": "system", "content": "Now in Polish."}));
            messages.extend(after.map(said));
            let (out, report) = convert(C, A, &json!({"model": "claude-opus-5-5", "messages": messages}));
            let roles: Vec<_> = out["messages"].as_array().unwrap().iter().map(|it| &it["role"]).collect();
            let stands = before == "user" && after != Some("user");
            assert_eq!(roles.iter().any(|role| *role == "system"), stands, "{before}, {after:?}: {roles:?}");
            assert_eq!(
                noted(&report, "system message written as marked user text"),
                !stands,
                "{before}, {after:?}"
            );
            assert!(out.to_string().contains("Now in Polish."), "{out}");
        }
    }
}

#[test]
fn json_mode_is_an_instruction_where_there_is_no_setting() {
    let request = json!({"model": "m", "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "x"}], "response_format": {"type": "json_object"}});
    let (out, report) = convert(C, A, &request);
    assert_eq!(out["system"].as_array().unwrap().len(), 2);
    assert_eq!(out["system"][0]["text"], "Answer with one JSON object and nothing else.");
    assert!(noted(&report, "by an instruction"));
}

#[test]
fn documents_of_several_texts_and_search_results_are_text_elsewhere() {
    let document = json!({"type": "document", "title": "T", "source": {"type": "content", "content": [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]}});
    let found = json!({"type": "search_result", "source": "https://example.test", "title": "Found", "content": [{"type": "text", "text": "three"}], "citations": {"enabled": true}});
    let (out, report) = convert(
        A,
        C,
        &json!({"model": "m", "max_tokens": 1, "messages": [{"role": "user", "content": [document, found]}]}),
    );
    let content = &out["messages"][0]["content"];
    assert_eq!(content[0]["text"], "[document: T]\none\n\ntwo");
    assert_eq!(content[1]["text"], "[document: Found]\n[about it: https://example.test]\nthree");
    assert!(noted(&report, "text document written as text"));
}

#[test]
fn only_allowed_tools_are_offered_where_nothing_else_can_say_so() {
    let tool = |name: &str| json!({"type": "function", "function": {"name": name, "parameters": {"type": "object"}}});
    let named = |name: &str| json!({"type": "function", "function": {"name": name}});
    let request = json!({"model": "m", "messages": [{"role": "user", "content": "x"}], "tools": [tool("a"), tool("b")],
        "tool_choice": {"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": [named("b")]}}});
    let (out, report) = convert(C, A, &request);
    assert_eq!(out["tools"].as_array().unwrap().len(), 1);
    assert_eq!((&out["tools"][0]["name"], &out["tool_choice"]), (&json!("b"), &json!({"type": "any"})));
    assert!(noted(&report, "tools that may not be used are not offered"));
}

#[test]
fn p40_a_vendors_own_tool_is_replaced_by_the_targets_for_the_same_or_given_up() {
    let request = json!({"model": "m", "max_tokens": 1, "messages": [{"role": "user", "content": "x"}], "tool_choice": {"type": "any"},
        "tools": [{"type": "advisor_20260301", "name": "advisor"}]});
    let (out, report) = convert(A, C, &request);
    assert!(out.get("tools").is_none() && out.get("tool_choice").is_none());
    assert!(
        lost(&report, "/tools[]/type", Reason::NoSlot) && lost(&report, "/tool_choice/type", Reason::Refused),
        "{:?}",
        report.lost_paths
    );
}

#[test]
fn p77_error_words_of_real_servers_have_their_class() {
    use interlingua::model::FailureClass as F;
    use interlingua::pipe::FailedResponse;
    let named = |name| Dialect::named(name).unwrap();
    for (error, class, status) in [
        (json!({"message": "m", "type": "request_forbidden"}), F::Permission, 403),
        (json!({"message": "m", "code": "401"}), F::Authentication, 401),
        (json!({"message": "m", "code": 429}), F::RateLimit, 429),
        (json!({"message": "m", "code": "content_filter"}), F::InvalidRequest, 400),
        (json!({"message": "m", "code": "DeploymentNotFound"}), F::NotFound, 404),
        (json!({"message": "m", "code": "insufficient_permissions"}), F::Permission, 403),
        (
            json!({"message": "input length and `max_tokens` exceed context limit: 9 > 8", "type": "invalid_request_error"}),
            F::ContextTooLong,
            400,
        ),
    ] {
        let body = json!({ "error": error }).to_string();
        let mut exchange = Exchange::new(named(A), named(C), &Options::default());
        let mut out = Vec::new();
        let outcome = exchange.failed(FailedResponse::default(), body.as_bytes(), &mut out).unwrap();
        let failure = outcome.failure.unwrap();
        assert_eq!((failure.class, failure.status), (class, status), "{body}");
        assert_eq!(failure.is_retryable(), matches!(class, F::RateLimit));
    }
    let body = json!({"error": {"message": "Rate limit reached. Please try again in 1.5s.", "code": "rate_limit_exceeded"}}).to_string();
    let mut exchange = Exchange::new(named(A), named(C), &Options::default());
    let outcome = exchange.failed(FailedResponse::default(), body.as_bytes(), &mut Vec::new()).unwrap();
    assert_eq!(outcome.failure.unwrap().retry_after, Some(1500));
}

#[test]
fn p63_no_more_marks_for_the_cache_than_the_target_takes() {
    let part =
        |text: &str| json!({"type": "text", "text": text, "prompt_cache_breakpoint": {"mode": "explicit"}});
    let parts: Vec<Value> = ["a", "b", "c", "d", "e", "f"].into_iter().map(part).collect();
    let (out, report) = convert(C, A, &ask(json!([{"role": "user", "content": parts}])));
    let marks = out.to_string().matches("cache_control").count();
    assert_eq!(marks, 4);
    assert!(
        lost(&report, "/messages[]/content[]/prompt_cache_breakpoint/mode", Reason::Refused),
        "{:?}",
        report.lost_paths
    );
    let (out, _) = convert_for(
        A,
        C,
        Some("vllm"),
        &json!({"model": "m", "max_tokens": 1, "messages": [
        {"role": "user", "content": [{"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}}]}]}),
    );
    assert!(!out.to_string().contains("prompt_cache_breakpoint"));
}

#[test]
fn p24_media_of_results_stay_out_where_the_user_may_not_follow_them() {
    let picture = json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}});
    let request = json!({"model": "m", "max_tokens": 1, "messages": [{"role": "user", "content": "x"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "look", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": "seen"}, picture]}]}]});
    let vllm = Backend::named("vllm", C).unwrap();
    let strict = ("user-after-results".to_owned(), RuleValue::Flag(false));
    let backend = Backend::derived("strict", "", vllm, &[strict], &[]).unwrap();
    let side = |name| (Dialect::named(name).unwrap(), Role::Request);
    let pipe = Pipe::new(side(A), side(C), &Options::default().with_backend(backend)).unwrap();
    let mut out = Vec::new();
    let report = pipe.finish_with(request.to_string().as_bytes(), &mut out);
    let out: Value = serde_json::from_slice(&out).unwrap();
    assert_eq!(out["messages"].as_array().unwrap().len(), 3);
    assert_eq!(out["messages"][2]["content"], "seen");
    assert!(
        lost(&report, "/messages[]/content[]/content[]/source/data", Reason::Refused),
        "{:?}",
        report.lost_paths
    );
}

#[test]
fn a_request_without_a_model_gets_one_where_it_must_name_one() {
    let request = json!({"messages": [{"role": "user", "content": "x"}]});
    let (out, report) = convert(C, A, &request);
    assert_eq!(out["model"], "unknown");
    assert!(noted(&report, "no model named"));
    let (out, _) = convert_for(
        A,
        C,
        Some("azure"),
        &json!({"max_tokens": 1, "messages": [{"role": "user", "content": "x"}]}),
    );
    assert!(out.get("model").is_none());
}

#[test]
fn p33_p34_ids_of_odd_letters_are_given_back_as_they_were_issued() {
    let id = "functions.haul:0 ż";
    let answer = json!({"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [{"index": 0, "finish_reason": "tool_calls",
        "message": {"role": "assistant", "content": null, "tool_calls": [{"id": id, "type": "function", "function": {"name": "haul", "arguments": "{}"}}]}}]});
    let named = |name| Dialect::named(name).unwrap();
    let mut out = Vec::new();
    let mut exchange = Exchange::new(named(A), named("kimi"), &Options::default());
    exchange.answer(Role::Response).unwrap().finish_with(answer.to_string().as_bytes(), &mut out);
    let got: Value = serde_json::from_slice(&out).unwrap();
    let given = got["content"][0]["id"].as_str().unwrap();
    assert!(given.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_'), "{given}");
    let next = json!({"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "x"},
        {"role": "assistant", "content": got["content"]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": given, "content": "done"}]}]});
    // Another process, which has only the request.
    let (sent, _) = convert(A, "kimi", &next);
    assert_eq!(
        (&sent["messages"][1]["tool_calls"][0]["id"], &sent["messages"][2]["tool_call_id"]),
        (&json!(id), &json!(id))
    );
}

#[test]
fn a_server_that_is_named_is_obeyed_between_two_of_one_dialect_too() {
    let request =
        json!({"model": "m", "temperature": 0.5, "seed": 4, "messages": [{"role": "user", "content": "x"}]});
    let (out, report) = convert_for(C, C, Some("deepseek"), &request);
    assert!(out.get("seed").is_none() && lost(&report, "/seed", Reason::Refused), "{out}");
    assert_eq!(out["temperature"], 0.5);
    // Without a backend every byte is copied.
    let (out, report) = convert(C, C, &request);
    assert_eq!((out, report.read), (request, 0));
}

/// System and developer messages at the start, in the middle and at the end.
fn instructed() -> Value {
    ask(json!([
        {"role": "system", "content": "Be brief."}, {"role": "developer", "content": "Metres."},
        {"role": "user", "content": "How deep?"}, {"role": "system", "content": "Fog."},
        {"role": "assistant", "content": "Nine."}, {"role": "developer", "content": "Now feet."},
        {"role": "user", "content": "And now?"}, {"role": "system", "content": "Haste."}]))
}

fn told(out: &Value) -> Vec<(String, Value)> {
    let messages = out["messages"].as_array().unwrap().iter();
    messages.map(|said| (said["role"].as_str().unwrap().to_owned(), said["content"].clone())).collect()
}

fn part(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

fn marked(text: &str) -> Value {
    json!([part("<system>"), part(text), part("</system>")])
}

#[test]
fn p57_developers_are_told_where_the_server_knows_them() {
    let (out, report) = convert_for(C, C, Some("openai"), &instructed());
    let roles: Vec<String> = told(&out).into_iter().map(|(role, _)| role).collect();
    assert_eq!(roles, ["system", "developer", "user", "system", "assistant", "developer", "user", "system"]);
    assert!(report.lost_paths.is_empty(), "{report:?}");
    for (server, model) in [("deepseek", "deepseek-chat"), ("groq", "m"), ("vllm", "m")] {
        let mut request = instructed();
        request["model"] = json!(model);
        let (out, report) = convert_for(C, C, Some(server), &request);
        assert!(told(&out).iter().all(|(role, _)| role != "developer"), "{server}: {out}");
        assert!(lost(&report, "/messages[]/role", Reason::Narrowed), "{server}: {report:?}");
    }
}

#[test]
fn p56_a_system_message_stands_where_the_server_takes_it() {
    let mut request = instructed();
    request["model"] = json!("Qwen/Qwen3.6-27B");
    let user = |content: Value| ("user".to_owned(), content);
    let (out, report) = convert_for(C, C, Some("vllm"), &request);
    let expected = [
        ("system".to_owned(), json!([part("Be brief."), part("Metres.")])),
        user(json!("How deep?")),
        user(marked("Fog.")),
        ("assistant".to_owned(), json!("Nine.")),
        user(marked("Now feet.")),
        user(json!("And now?")),
        user(marked("Haste.")),
    ];
    assert_eq!(told(&out), expected);
    assert!(noted(&report, "what the system says first joined"));
    assert!(noted(&report, "system message written as marked user text"));
    let of = |reason| {
        report.lost_paths.iter().find(|row| row.path == "/messages[]/role" && row.reason == Some(reason))
    };
    // Each role is reported once: two developer messages, two system messages.
    assert_eq!(
        (of(Reason::Narrowed).unwrap().count, of(Reason::Refused).unwrap().count),
        (2, 2),
        "{report:?}"
    );
    assert!(of(Reason::Merged).is_none(), "{report:?}");
    // Another model of the same server accepts system messages anywhere.
    request["model"] = json!("mistral");
    let (out, _) = convert_for(C, C, Some("vllm"), &request);
    assert_eq!(told(&out).iter().filter(|(role, _)| role == "system").count(), 5);
    // Mistral accepts system messages after the user.
    let (out, _) = convert_for(C, C, Some("mistral"), &request);
    let roles: Vec<String> = told(&out).into_iter().map(|(role, _)| role).collect();
    assert_eq!(roles, ["system", "system", "user", "system", "assistant", "user", "user", "system"]);
}

#[test]
fn mistral_gets_a_word_of_the_assistant_between_results_and_the_user() {
    let call = json!({"role": "assistant", "content": null, "tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}]});
    let result = json!({"role": "tool", "tool_call_id": "c", "content": "one"});
    for (before, after) in [
        (vec![], vec![json!({"role": "user", "content": "and?"})]),
        (vec![], vec![json!({"role": "system", "content": "Metres."})]),
        (vec![json!({"role": "user", "content": "wait"})], vec![]),
    ] {
        let mut messages = vec![json!({"role": "user", "content": "x"}), call.clone()];
        messages.extend(before);
        messages.push(result.clone());
        messages.extend(after);
        let (out, report) = convert_for(C, C, Some("mistral"), &ask(json!(messages)));
        let roles: Vec<String> = told(&out).into_iter().map(|(role, _)| role).collect();
        assert_eq!(roles, ["user", "assistant", "tool", "assistant", "user"], "{out}");
        assert!(noted(&report, "this server wants the assistant between"), "{report:?}");
        let (out, _) = convert_for(C, C, Some("vllm"), &ask(json!(messages)));
        assert_eq!(told(&out).len(), 4);
    }
    let (out, _) =
        convert_for(C, C, Some("mistral"), &ask(json!([{"role": "user", "content": "x"}, call, result])));
    assert_eq!(told(&out).len(), 3, "nothing follows the results");
}

#[test]
fn a_model_without_a_system_is_told_by_the_user() {
    let request = |model: &str| json!({"model": model, "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "hi"}]});
    let (out, _) = convert(C, "gemini", &request("gemma-3-27b-it"));
    assert!(out.get("systemInstruction").is_none(), "{out}");
    assert_eq!(
        out["contents"],
        json!([{"role": "user", "parts": [{"text": "<system>"}, {"text": "Be brief."}, {"text": "</system>"}, {"text": "hi"}]}])
    );
    let (out, _) = convert(C, "gemini", &request("gemini-2.5-pro"));
    assert!(out.get("systemInstruction").is_some());
    let nowhere = [("system".to_owned(), RuleValue::Word("nowhere".to_owned()))];
    for (dialect, list, kind) in
        [(A, "messages", "text"), (C, "messages", "text"), ("openai-responses", "input", "input_text")]
    {
        let base = Backend::of_dialect(dialect).unwrap();
        let backend = Backend::derived("mine", "", base, &nowhere, &[]).unwrap();
        let side = |name| (Dialect::named(name).unwrap(), Role::Request);
        let options = Options::default().with_backend(backend);
        let mut out = Vec::new();
        Pipe::new(side("kimi"), side(dialect), &options)
            .unwrap()
            .finish_with(request("m").to_string().as_bytes(), &mut out);
        let out: Value = serde_json::from_slice(&out).unwrap();
        let text = |text: &str| json!({"type": kind, "text": text});
        assert_eq!(out[list][0]["role"], "user", "{out}");
        assert_eq!(
            out[list][0]["content"],
            json!([text("<system>"), text("Be brief."), text("</system>")]),
            "{out}"
        );
        assert!(out.get("system").is_none() && out.get("instructions").is_none(), "{out}");
    }
}

#[test]
fn a_developer_in_the_middle_costs_nobody_else_his_name() {
    let (out, report) = convert(C, "gemini", &instructed());
    assert!(out.to_string().contains("Now feet."));
    let row = report.lost_paths.iter().find(|row| row.reason == Some(Reason::Narrowed)).unwrap();
    // Two developer messages, and two system messages in the middle.
    assert_eq!((row.path.as_str(), row.count), ("/messages[]/role", 4), "{report:?}");
}

#[test]
fn mistrals_words_are_read_and_written() {
    let request = json!({"model": "m", "random_seed": 7, "messages": [{"role": "user", "content": "x"}, {"role": "assistant", "content": "{", "prefix": true}]});
    let (out, report) = convert(C, "gemini", &request);
    assert_eq!(out["generationConfig"]["seed"], 7);
    assert_eq!(out["contents"][1], json!({"role": "model", "parts": [{"text": "{"}]}));
    assert!(report.lost_paths.is_empty() && report.kept == 0, "{report:?}");
    for (server, seed, member) in [
        ("mistral", Some("random_seed"), Some("prefix")),
        ("deepseek", None, Some("prefix")),
        ("moonshot", None, Some("partial")),
        ("openai", Some("seed"), None),
    ] {
        let (out, report) = convert_for(C, C, Some(server), &request);
        let sent = ["seed", "random_seed"].into_iter().find(|name| out.get(name).is_some());
        assert_eq!(sent, seed, "{server}: {out}");
        assert_eq!(lost(&report, "/random_seed", Reason::Refused), seed.is_none(), "{server}: {report:?}");
        let last = &out["messages"][1];
        let marked = ["prefix", "partial"].into_iter().find(|name| last[name] == true);
        assert_eq!(marked, member, "{server}: {out}");
    }
    // An assistant message that is not the last message is not a prefill.
    let request = ask(
        json!([{"role": "user", "content": "x"}, {"role": "assistant", "content": "y"}, {"role": "user", "content": "z"}]),
    );
    let (out, _) = convert_for(C, C, Some("mistral"), &request);
    assert!(out["messages"][1].get("prefix").is_none());
}

#[test]
fn openrouter_gets_marks_for_the_cache_and_the_state_of_whom_it_asks() {
    let request = |model: &str| {
        json!({"model": model, "max_tokens": 99, "system": [{"type": "text", "text": "Long.", "cache_control": {"type": "ephemeral", "ttl": "1h"}}],
        "messages": [{"role": "user", "content": "x"},
            {"role": "assistant", "content": [{"type": "text", "text": "Well."}, {"type": "thinking", "thinking": "deep", "signature": "c2ln"}, {"type": "redacted_thinking", "data": "cmVk"},
                {"type": "tool_use", "id": "c", "name": "f", "input": {}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": "one"}]}]})
    };
    let (out, report) = convert_for(A, C, Some("openrouter"), &request("anthropic/claude-sonnet-4.5"));
    assert_eq!(
        out["messages"][0]["content"],
        json!([{"type": "text", "text": "Long.", "cache_control": {"type": "ephemeral", "ttl": "1h"}}])
    );
    assert_eq!(
        out["messages"][2]["reasoning_details"],
        json!([{"index": 0, "type": "reasoning.text", "text": "deep", "signature": "c2ln"}, {"index": 1, "type": "reasoning.encrypted", "data": "cmVk"}])
    );
    assert!(!report.lost_paths.iter().any(|row| row.reason == Some(Reason::Foreign)), "{report:?}");
    // Opaque state goes to no other vendor, and cache marks go only to servers that support them.
    for (server, model) in [
        ("openrouter", "google/gemini-3-pro"),
        ("openrouter", "some/model"),
        ("groq", "anthropic/claude"),
        ("openai", "m"),
    ] {
        let (out, report) = convert_for(A, C, Some(server), &request(model));
        assert!(out["messages"][2].get("reasoning_details").is_none(), "{server}: {out}");
        assert!(lost(&report, "/messages[]/content[]/signature", Reason::Foreign), "{server}: {report:?}");
        assert!(lost(&report, "/messages[]/content[]/data", Reason::Foreign), "{server}: {report:?}");
        let mark = &out["messages"][0]["content"][0];
        assert_eq!(mark.get("cache_control").is_some(), server == "openrouter", "{server}: {out}");
        assert_eq!(mark.get("prompt_cache_breakpoint").is_some(), server == "openai", "{server}: {out}");
        assert_eq!(
            lost(&report, "/system[]/cache_control/type", Reason::Refused),
            server == "groq",
            "{server}: {report:?}"
        );
    }
    // The state of other vendors is under the member name of the server.
    let request = json!({"model": "openai/gpt-5.2", "input": [{"role": "user", "content": "x"}, {"type": "reasoning", "id": "r", "summary": [], "encrypted_content": "ZW5j"},
        {"type": "message", "role": "assistant", "content": "y"}, {"role": "user", "content": "z"}]});
    let (out, _) = convert_for("openai-responses", C, Some("openrouter"), &request);
    assert_eq!(
        out["messages"][1]["reasoning_details"],
        json!([{"index": 0, "type": "reasoning.encrypted", "data": "ZW5j", "format": "openai-responses-v1"}])
    );
}

#[test]
fn copilot_is_one_server_with_three_dialects() {
    let speaks: Vec<&str> = Backend::built_in()
        .iter()
        .filter(|backend| backend.name == "github")
        .map(|backend| backend.dialect)
        .collect();
    assert_eq!(speaks, ["copilot", "openai-responses", "anthropic"]);
    let request = |model: &str| {
        json!({"model": model, "max_completion_tokens": 99, "temperature": 0.3, "user": "u", "messages": [
        {"role": "developer", "content": "Be brief."}, {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://a.example/b.png"}}, {"type": "text", "text": "x"}]},
        {"role": "assistant", "content": "{"}]})
    };
    let elsewhere = "this server takes the model in another dialect";
    for (dialect, model, is_elsewhere) in [
        ("copilot", "gpt-5.3-codex", true),
        ("copilot", "gpt-5.4", true),
        ("copilot", "gpt-5.2", false),
        ("copilot", "gemini-3-pro", false),
        ("openai-responses", "gpt-5.4", false),
        ("openai-responses", "claude-sonnet-4.5", true),
        ("openai-responses", "gemini-3-pro", true),
        ("anthropic", "claude-opus-4.5", false),
        ("anthropic", "gpt-5.4", true),
        ("anthropic", "grok-code", true),
    ] {
        let (_, report) = convert_for(C, dialect, Some("github"), &request(model));
        assert_eq!(noted(&report, elsewhere), is_elsewhere, "{dialect} {model}");
    }
    let (out, report) = convert_for(C, "openai-responses", Some("github"), &request("gpt-5.4"));
    assert_eq!((&out["max_output_tokens"], &out["store"]), (&json!(99), &json!(false)));
    assert_eq!(out["instructions"], "Be brief.");
    assert!(
        lost(&report, "/temperature", Reason::Refused) && lost(&report, "/user", Reason::Refused),
        "{report:?}"
    );
    assert!(lost(&report, "/messages[]/content[]/image_url/url", Reason::Refused), "{report:?}");
    let (out, report) = convert_for(C, A, Some("github"), &request("claude-opus-4.5"));
    assert_eq!((&out["max_tokens"], &out["system"]), (&json!(99), &json!("Be brief.")));
    assert!(
        lost(&report, "/temperature", Reason::Refused) && lost(&report, "/user", Reason::Refused),
        "{report:?}"
    );
    assert_eq!(
        out["messages"].as_array().unwrap().last().unwrap()["role"],
        "user",
        "no answer goes on there: {out}"
    );
    for (model, name) in [("gpt-5.2", "max_completion_tokens"), ("gemini-3-pro", "max_tokens")] {
        let (out, _) = convert_for(C, "copilot", Some("github"), &request(model));
        assert_eq!(out[name], 99, "{out}");
    }
}

#[test]
fn models_think_and_sample_as_their_documents_say() {
    let ask = |model: &str, effort: &str| json!({"model": model, "temperature": 0.2, "reasoning_effort": effort, "messages": [{"role": "user", "content": "x"}]});
    // The model, the requested effort, the sent effort, and whether sampling settings are sent.
    for (model, asked, sent, samples) in [
        ("gpt-5-mini", "none", "minimal", false),
        ("gpt-5-pro", "low", "high", false),
        ("gpt-5.1", "minimal", "low", false),
        ("gpt-5.1", "none", "none", true),
        ("gpt-5.2", "max", "xhigh", false),
        ("gpt-5.6-terra", "max", "max", false),
        ("o3", "xhigh", "high", false),
        ("gpt-4.1", "low", "low", true),
    ] {
        let (out, report) = convert_for(C, C, Some("openai"), &ask(model, asked));
        assert_eq!(
            (&out["reasoning_effort"], out.get("temperature").is_some()),
            (&json!(sent), samples),
            "{model}: {out}"
        );
        assert_eq!(lost(&report, "/temperature", Reason::Refused), !samples, "{model}: {report:?}");
        let (out, _) = convert(C, "openai-responses", &ask(model, asked));
        assert_eq!(
            (&out["reasoning"]["effort"], out.get("temperature").is_some()),
            (&json!(sent), samples),
            "{model}: {out}"
        );
    }
    for (model, asked, config) in [
        ("gemini-3-pro-preview", "medium", json!({"thinkingLevel": "LOW"})),
        ("gemini-3.1-pro-preview", "minimal", json!({"thinkingLevel": "LOW"})),
        ("gemini-3-flash", "minimal", json!({"thinkingLevel": "MINIMAL"})),
        ("gemini-2.5-flash", "max", json!({"thinkingBudget": 24576})),
        ("gemini-2.5-pro", "max", json!({"thinkingBudget": 32768})),
    ] {
        let (out, _) = convert(C, "gemini", &ask(model, asked));
        let mut thinking = out["generationConfig"]["thinkingConfig"].clone();
        thinking.as_object_mut().unwrap().remove("includeThoughts");
        assert_eq!(thinking, config, "{model}");
    }
    let budget = json!({"model": "gemini-2.5-flash", "max_tokens": 99000, "thinking": {"type": "enabled", "budget_tokens": 60000}, "messages": [{"role": "user", "content": "x"}]});
    let (out, report) = convert(A, "gemini", &budget);
    assert_eq!(out["generationConfig"]["thinkingConfig"]["thinkingBudget"], 24576);
    assert!(lost(&report, "/thinking/budget_tokens", Reason::Narrowed), "{report:?}");
    // Claude: an effort that becomes a budget turns thinking on; an effort alone does not.
    for (model, sampled, off) in [
        ("claude-sonnet-4-5", false, true),
        ("claude-opus-4-5", true, true),
        ("claude-opus-5", false, true),
        ("claude-opus-5-5", false, false),
    ] {
        let (out, _) = convert(C, A, &ask(model, "high"));
        assert_eq!(out.get("temperature").is_some(), sampled, "{model}: {out}");
        let (out, _) = convert(C, A, &ask(model, "none"));
        assert_eq!(out["thinking"] == json!({"type": "disabled"}), off, "{model}: {out}");
    }
}

#[test]
fn gemini_fetches_what_its_documents_say() {
    let request = |model: &str, kind: &str| {
        json!({"model": model, "max_tokens": 9, "messages": [{"role": "user", "content": [
        {"type": kind, "source": {"type": "url", "url": "https://a.example/b"}}, {"type": "text", "text": "x"}]}]})
    };
    for (backend, model, kind, fetched) in [
        (None, "gemini-3-flash", "image", true),
        (None, "gemini-2.5-pro", "document", true),
        (None, "gemini-2.0-flash", "image", false),
        (Some("vertex"), "gemini-2.0-flash", "image", true),
    ] {
        let (out, _) = convert_for(A, "gemini", backend, &request(model, kind));
        assert_eq!(out.to_string().contains("https://a.example/b"), fetched, "{backend:?} {model}: {out}");
    }
    let film = |backend| {
        let request = json!({"model": "gemini-2.5-pro", "messages": [{"role": "user", "content": [{"type": "video_url", "video_url": {"url": "https://a.example/b.mp4"}}, {"type": "text", "text": "x"}]}]});
        convert_for("kimi", "gemini", backend, &request).0.to_string().contains("b.mp4")
    };
    assert!(film(None) && film(Some("vertex")));
    let sound = |name| Backend::named(name, "gemini").unwrap().takes.media.takes_address("audio/wav");
    assert!(!sound("gemini") && sound("vertex"));
}

#[test]
fn responses_gets_thoughts_as_summaries_from_its_own_clients_too() {
    let request = json!({"model": "m", "input": [{"role": "user", "content": "x"},
        {"type": "reasoning", "id": "r", "summary": [], "content": [{"type": "reasoning_text", "text": "deep"}], "encrypted_content": "ZW5j"},
        {"type": "message", "role": "assistant", "content": "y"}, {"role": "user", "content": "z"}]});
    let (out, report) = convert_for("openai-responses", "openai-responses", Some("openai"), &request);
    let item = &out["input"][1];
    assert!(item.get("content").is_none(), "{out}");
    assert_eq!((&item["summary"][0]["text"], &item["encrypted_content"]), (&json!("deep"), &json!("ZW5j")));
    assert!(noted(&report, "thoughts written as summaries"), "{report:?}");
}
