//! Edge cases of responses: empty responses, two choices with one index, arguments before their deltas, errors.

use interlingua::dialects::Role;
use interlingua::model::{FailureClass, StopClass};
use serde_json::{Value, json};

use super::{WIRE, answer_with_usage, convert, exchange, noted, request_with_tools, text_stream};

#[test]
fn an_empty_answer_stays_an_empty_answer() {
    let empty: &[(&str, Value)] = &[
        ("anthropic", json!([])),
        ("gemini", json!({"role": "model", "parts": []})),
        ("gemini", json!({"role": "model", "parts": [{"text": ""}]})),
        ("gemini", json!({"role": "model"})),
        ("gemini", Value::Null),
        ("openai-responses", json!([])),
        (
            "openai-responses",
            json!([{"type": "message", "id": "m", "role": "assistant", "status": "completed", "content": []}]),
        ),
        ("openai-chat", Value::Null),
        ("openai-chat", json!("")),
        ("kimi", json!("")),
        ("copilot", Value::Null),
    ];
    for (from, nothing) in empty {
        let usage = match *from {
            "gemini" => json!({"promptTokenCount": 4, "totalTokenCount": 4}),
            "anthropic" | "openai-responses" => {
                json!({"input_tokens": 4, "output_tokens": 0, "total_tokens": 4})
            }
            _ => json!({"prompt_tokens": 4, "completion_tokens": 0, "total_tokens": 4}),
        };
        let mut whole = answer_with_usage(from, &usage);
        match *from {
            "anthropic" => whole["content"] = nothing.clone(),
            "gemini" if nothing.is_null() => {
                _ = whole["candidates"][0].as_object_mut().unwrap().remove("content");
            }
            "gemini" => whole["candidates"][0]["content"] = nothing.clone(),
            "openai-responses" => whole["output"] = nothing.clone(),
            _ => whole["choices"][0]["message"]["content"] = nothing.clone(),
        }
        for to in WIRE.into_iter().filter(|to| to != from) {
            for streamed in [false, true] {
                let source = if streamed { text_stream(from, &whole) } else { whole.to_string() };
                let role = if streamed { Role::Stream } else { Role::Response };
                let mut exchange = exchange(to, from);
                exchange
                    .request(request_with_tools(to, &[]).to_string().as_bytes(), &mut Vec::new())
                    .unwrap();
                let mut out = Vec::new();
                let outcome = exchange.answer(role).unwrap().finish_with(source.as_bytes(), &mut out);
                let out = String::from_utf8(out).unwrap();
                assert_eq!(outcome.failure, None, "{from} to {to}: {source}\n{out}");
                assert_eq!(outcome.stop, Some(StopClass::End), "{from} to {to}: {source}\n{out}");
                assert!(!out.contains("\"error\":{"), "{from} to {to}: {source}\n{out}");
            }
        }
    }
}

#[test]
fn two_answers_of_one_number_are_two() {
    let mut chat = answer_with_usage(
        "openai-chat",
        &json!({"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}),
    );
    chat["choices"] = json!([{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "one"}},
        {"index": 0, "finish_reason": "length", "message": {"role": "assistant", "content": "two"}}]);
    let mut gemini = answer_with_usage("gemini", &json!({"promptTokenCount": 1}));
    gemini["candidates"] = json!([{"index": 0, "finishReason": "STOP", "content": {"role": "model", "parts": [{"text": "one"}]}},
        {"index": 0, "finishReason": "MAX_TOKENS", "content": {"role": "model", "parts": [{"text": "two"}]}}]);
    for (from, source) in [("openai-chat", chat), ("gemini", gemini)] {
        for to in WIRE.into_iter().filter(|to| *to != from) {
            let (out, report) = convert(from, to, Role::Response, &source.to_string());
            let lost = report
                .lost_paths
                .iter()
                .any(|row| row.path.ends_with("/content") || row.path.ends_with("/text"));
            assert!(out.contains("\"one\"") && !out.contains("onetwo"), "{from} to {to}: {out}");
            assert!(out.contains("\"two\"") || lost, "{from} to {to}: {out}\n{:?}", report.lost_paths);
            assert!(noted(&report, "number of an earlier one"), "{from} to {to}");
        }
    }
}

#[test]
fn arguments_before_their_pieces_are_written() {
    let event = |data: Value| format!("event: {}\ndata: {data}\n\n", data["type"].as_str().unwrap());
    let anthropic = |input: Value| {
        event(
            json!({"type": "message_start", "message": {"id": "m", "type": "message", "role": "assistant", "model": "b", "content": [],
            "stop_reason": null, "usage": {"input_tokens": 1, "output_tokens": 1}}}),
        ) + &event(
            json!({"type": "content_block_start", "index": 0, "content_block": {"type": "tool_use", "id": "t", "name": "haul", "input": input}}),
        ) + &event(
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": "1}"}}),
        ) + &event(json!({"type": "content_block_stop", "index": 0}))
            + &event(
                json!({"type": "message_delta", "delta": {"stop_reason": "tool_use", "stop_sequence": null}, "usage": {"output_tokens": 2}}),
            )
            + &event(json!({"type": "message_stop"}))
    };
    let responses = |member: &str, kind: &str, piece: &str, text: &str| {
        let item = |status: &str| json!({"type": kind, "id": "i", "call_id": "c", "name": "haul", "status": status, member: text});
        event(
            json!({"type": "response.created", "sequence_number": 0, "response": {"id": "r", "object": "response", "status": "in_progress", "output": []}}),
        ) + &event(
            json!({"type": "response.output_item.added", "sequence_number": 1, "output_index": 0, "item": item("in_progress")}),
        ) + &event(
            json!({"type": piece, "sequence_number": 2, "output_index": 0, "item_id": "i", "delta": "1}"}),
        ) + &event(
            json!({"type": "response.completed", "sequence_number": 3, "response": {"id": "r", "object": "response", "status": "completed",
                "usage": {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}}}),
        )
    };
    let sources = [
        ("anthropic", anthropic(json!("{\"kelp\":"))),
        (
            "openai-responses",
            responses("arguments", "function_call", "response.function_call_arguments.delta", "{\"kelp\":"),
        ),
        (
            "openai-responses",
            responses("input", "custom_tool_call", "response.custom_tool_call_input.delta", "{\"kelp\":"),
        ),
    ];
    for (from, source) in sources {
        for to in WIRE.into_iter().filter(|to| *to != from) {
            let (out, report) = convert(from, to, Role::Stream, &source);
            let lost = report
                .lost_paths
                .iter()
                .any(|row| row.path.contains("input") || row.path.contains("arguments"));
            assert!(out.contains("kelp") || lost, "{from} to {to}: {source}\n{out}\n{:?}", report.lost_paths);
        }
    }
}

#[test]
fn every_error_word_has_its_class() {
    use FailureClass as F;
    // A second list, independent of the code: types and codes in the vendors' references and in recorded responses.
    let words: &[(F, &[&str], &[&str])] = &[
        (
            F::InvalidRequest,
            &["invalid_request_error", "BadRequestError"],
            &[
                "invalid_prompt",
                "content_filter",
                "unsupported_value",
                "model_not_supported",
                "invalid_image",
                "tool_use_failed",
                "off_topic",
            ],
        ),
        (F::ContextTooLong, &[], &["context_length_exceeded", "model_max_prompt_tokens_exceeded"]),
        (
            F::Authentication,
            &["authentication_error", "invalid_authentication_error"],
            &["invalid_api_key", "unauthorized", "token_expired"],
        ),
        (
            F::Billing,
            &["billing_error", "exceeded_current_quota_error", "insufficient_quota"],
            &[
                "insufficient_quota",
                "quota_exceeded",
                "billing_not_configured",
                "overage_limit_reached",
                "weekly_quota_reached",
            ],
        ),
        (
            F::Permission,
            &["permission_error", "permission_denied_error"],
            &["forbidden", "access_terminated", "extension_blocked"],
        ),
        (
            F::NotFound,
            &["not_found_error", "resource_not_found_error"],
            &["model_not_found", "previous_response_not_found", "agent_not_found"],
        ),
        (F::Conflict, &["conflict_error"], &[]),
        (F::TooLarge, &["request_too_large"], &[]),
        (
            F::RateLimit,
            &["rate_limit_error", "rate_limit_reached_error"],
            &[
                "rate_limit_exceeded",
                "rate_limited",
                "user_model_rate_limited",
                "user_global_rate_limited",
                "integration_rate_limited",
                "user_weekly_rate_limited",
            ],
        ),
        (F::Server, &["api_error", "server_error", "internal_server_error"], &["server_error"]),
        (
            F::Overloaded,
            &["overloaded_error", "engine_overloaded_error"],
            &["server_is_overloaded", "model_overloaded", "slow_down"],
        ),
        (F::Timeout, &["timeout_error"], &["request_timeout", "vector_store_timeout"]),
    ];
    let mut errors = Vec::new();
    for (class, types, codes) in words {
        let types = types.iter().map(|word| json!({"type": word, "message": "sink"}));
        let codes = codes.iter().map(|word| json!({"type": "error", "code": word, "message": "sink"}));
        errors.extend(types.chain(codes).map(|error| (*class, error)));
    }
    let statuses = [
        ("INVALID_ARGUMENT", F::InvalidRequest),
        ("FAILED_PRECONDITION", F::InvalidRequest),
        ("OUT_OF_RANGE", F::InvalidRequest),
        ("UNAUTHENTICATED", F::Authentication),
        ("PERMISSION_DENIED", F::Permission),
        ("NOT_FOUND", F::NotFound),
        ("ABORTED", F::Conflict),
        ("ALREADY_EXISTS", F::Conflict),
        ("RESOURCE_EXHAUSTED", F::RateLimit),
        ("INTERNAL", F::Server),
        ("DATA_LOSS", F::Server),
        ("UNAVAILABLE", F::Overloaded),
        ("DEADLINE_EXCEEDED", F::Timeout),
        ("UNIMPLEMENTED", F::InvalidRequest),
    ];
    let statuses = statuses.map(|(word, class)| (class, json!({"status": word, "message": "sink"})));
    for backend in WIRE {
        for (class, error) in if backend == "gemini" { &statuses[..] } else { &errors } {
            let client = if backend == "anthropic" { "gemini" } else { "anthropic" };
            let body = json!({"type": "error", "error": error});
            let stream = match backend {
                "anthropic" => format!("event: error\ndata: {body}\n\n"),
                "openai-responses" => format!("event: error\ndata: {body}\n\n"),
                _ => format!("data: {}\n\n", json!({ "error": error })),
            };
            let failed = json!({"type": "response.failed", "response": {"id": "r", "object": "response", "status": "failed", "error": error}});
            let mut ways = vec![(Role::Response, body.to_string()), (Role::Stream, stream)];
            if backend == "openai-responses" {
                ways.push((Role::Stream, format!("event: response.failed\ndata: {failed}\n\n")));
            }
            for (role, body) in ways {
                let mut exchange = exchange(client, backend);
                exchange
                    .request(request_with_tools(client, &[]).to_string().as_bytes(), &mut Vec::new())
                    .unwrap();
                let outcome = exchange.answer(role).unwrap().finish_with(body.as_bytes(), &mut Vec::new());
                assert_eq!(outcome.failure.map(|failure| failure.class), Some(*class), "{backend}: {body}");
            }
        }
    }
}
