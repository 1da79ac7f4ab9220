//! Values that servers reject are repaired in a request or reported as lost, whatever the source dialect: exchanges,
//! backends of a user, and tables of models. One request for one server is a case in `tests/cases/requests.txt`.

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
