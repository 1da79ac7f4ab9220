//! Token counts, also those of failed responses.

use interlingua::dialects::Role;
use interlingua::model::Field;
use serde_json::{Value, json};

use super::{WIRE, answer_with_usage, convert, exchange, request_with_tools, text_stream};

/// The input and output counts of a response, read without our code.
fn tokens(dialect: &str, answer: &Value) -> (u64, u64) {
    let sum = |at: &Value, names: &[&str]| names.iter().filter_map(|name| at[*name].as_u64()).sum::<u64>();
    match dialect {
        "anthropic" => (
            sum(
                &answer["usage"],
                &["input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"],
            ),
            sum(&answer["usage"], &["output_tokens"]),
        ),
        "gemini" => (
            sum(&answer["usageMetadata"], &["promptTokenCount", "toolUsePromptTokenCount"]),
            sum(&answer["usageMetadata"], &["candidatesTokenCount", "thoughtsTokenCount"]),
        ),
        "openai-responses" => {
            (sum(&answer["usage"], &["input_tokens"]), sum(&answer["usage"], &["output_tokens"]))
        }
        _ => (sum(&answer["usage"], &["prompt_tokens"]), sum(&answer["usage"], &["completion_tokens"])),
    }
}

/// The counts of a stream: later counts replace earlier ones.
fn streamed_tokens(dialect: &str, stream: &str) -> (u64, u64) {
    let mut last = json!({"usage": {}, "usageMetadata": {}});
    for data in stream.lines().filter_map(|line| line.strip_prefix("data: ")) {
        let Ok(data) = serde_json::from_str::<Value>(data) else { continue };
        for (name, counts) in [
            ("usage", &data["usage"]),
            ("usage", &data["message"]["usage"]),
            ("usage", &data["response"]["usage"]),
            ("usageMetadata", &data["usageMetadata"]),
        ] {
            for (member, count) in counts.as_object().into_iter().flatten() {
                last[name][member] = count.clone();
            }
        }
    }
    tokens(dialect, &last)
}

#[test]
fn tokens_in_are_tokens_out() {
    let chat = |prompt: u64, cached: u64, completion: u64, reasoning: u64, total: u64| {
        json!({"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": total,
            "prompt_tokens_details": {"cached_tokens": cached}, "completion_tokens_details": {"reasoning_tokens": reasoning}})
    };
    let responses = |input: u64, cached: u64, output: u64, reasoning: u64, total: u64| {
        json!({"input_tokens": input, "output_tokens": output, "total_tokens": total,
            "input_tokens_details": {"cached_tokens": cached}, "output_tokens_details": {"reasoning_tokens": reasoning}})
    };
    let gemini = |prompt: u64, cached: u64, said: u64, thoughts: u64, total: u64| {
        json!({"promptTokenCount": prompt, "cachedContentTokenCount": cached, "candidatesTokenCount": said,
            "thoughtsTokenCount": thoughts, "totalTokenCount": total})
    };
    let anthropic = |input: u64, cached: u64, output: u64, thinking: u64| {
        json!({"input_tokens": input, "cache_read_input_tokens": cached, "output_tokens": output,
            "output_tokens_details": {"thinking_tokens": thinking}})
    };
    // The meaning of the counts for each server: total input, and total output including reasoning.
    let mut cases = vec![
        ("anthropic", anthropic(5, 7, 20, 3), (12, 20)),
        ("anthropic", anthropic(5, 7, 3, 20), (12, 23)),
    ];
    for dialect in ["openai-chat", "kimi", "copilot"] {
        cases.extend([
            (dialect, chat(12, 7, 20, 3, 32), (12, 20)),
            (dialect, chat(12, 7, 9, 320, 341), (12, 329)),
            (dialect, chat(12, 7, 20, 3, 35), (12, 23)),
            (dialect, chat(12, 7, 3, 20, 15), (12, 23)),
            (dialect, chat(12, 20, 3, 0, 15), (12, 3)),
            (dialect, chat(0, 0, 0, 7, 7), (0, 7)),
            (
                dialect,
                json!({"prompt_tokens": 4, "completion_tokens_details": {"reasoning_tokens": 9}}),
                (4, 9),
            ),
        ]);
    }
    cases.extend([
        ("openai-responses", responses(12, 7, 20, 3, 32), (12, 20)),
        ("openai-responses", responses(12, 7, 9, 320, 341), (12, 329)),
        ("openai-responses", responses(12, 20, 3, 1, 15), (12, 3)),
        ("gemini", gemini(12, 7, 20, 3, 35), (12, 23)),
        ("gemini", gemini(12, 7, 20, 3, 32), (12, 20)),
        ("gemini", gemini(12, 7, 3, 20, 15), (12, 23)),
        ("gemini", gemini(12, 20, 3, 1, 16), (12, 4)),
        ("gemini", json!({"promptTokenCount": 4, "toolUsePromptTokenCount": 5, "candidatesTokenCount": 1, "totalTokenCount": 10}), (9, 1)),
    ]);
    for (from, usage, expected) in cases {
        for to in WIRE.into_iter().filter(|to| *to != from) {
            let whole = answer_with_usage(from, &usage);
            let (out, _) = convert(from, to, Role::Response, &whole.to_string());
            let got: Value = serde_json::from_str(&out).unwrap();
            assert_eq!(tokens(to, &got), expected, "{from} to {to}: {usage}\n{out}");
            let (out, _) = convert(from, to, Role::Stream, &text_stream(from, &whole));
            assert_eq!(streamed_tokens(to, &out), expected, "{from} to {to}, streamed: {usage}\n{out}");
            // The caller of an exchange gets the same counts.
            let mut exchange = exchange(to, from);
            exchange.request(request_with_tools(to, &[]).to_string().as_bytes(), &mut Vec::new()).unwrap();
            let outcome = exchange
                .answer(Role::Response)
                .unwrap()
                .finish_with(whole.to_string().as_bytes(), &mut Vec::new());
            let usage = outcome.usage.unwrap();
            assert_eq!(
                (usage.all_input().unwrap_or(0), usage.output.unwrap_or(0)),
                expected,
                "{from} to {to}"
            );
        }
    }
}

/// A stream that fails after a stop reason and usage, and a stream that fails in the chunk with its usage.
fn failing_streams(dialect: &str) -> Vec<String> {
    let data = |data: Value| format!("data: {data}\n\n");
    let event = |data: Value| format!("event: {}\ndata: {data}\n\n", data["type"].as_str().unwrap());
    match dialect {
        "anthropic" => {
            let start = event(
                json!({"type": "message_start", "message": {"id": "m", "type": "message", "role": "assistant", "model": "b",
                "content": [], "stop_reason": null, "usage": {"input_tokens": 11, "output_tokens": 1}}}),
            );
            let delta = event(
                json!({"type": "message_delta", "delta": {"stop_reason": "max_tokens", "stop_sequence": null}, "usage": {"output_tokens": 22}}),
            );
            let error =
                event(json!({"type": "error", "error": {"type": "overloaded_error", "message": "sink"}}));
            vec![start + &delta + &error]
        }
        "gemini" => {
            let said = json!({"candidates": [{"index": 0, "content": {"role": "model", "parts": [{"text": "x"}]}, "finishReason": "MAX_TOKENS"}],
                "responseId": "r", "usageMetadata": {"promptTokenCount": 11, "candidatesTokenCount": 22, "totalTokenCount": 33}});
            let begun = json!({"candidates": [{"index": 0, "content": {"role": "model", "parts": [{"text": "x"}]}, "finishReason": "MAX_TOKENS"}], "responseId": "r"});
            let error = json!({"code": 503, "status": "UNAVAILABLE", "message": "sink"});
            vec![
                data(said) + &data(json!({"error": error})),
                data(begun)
                    + &data(
                        json!({"error": error, "usageMetadata": {"promptTokenCount": 11, "candidatesTokenCount": 22, "totalTokenCount": 33}}),
                    ),
            ]
        }
        "openai-responses" => {
            let usage = json!({"input_tokens": 11, "output_tokens": 22, "total_tokens": 33});
            let start = event(
                json!({"type": "response.created", "sequence_number": 0, "response": {"id": "r", "object": "response", "status": "in_progress", "output": []}}),
            );
            let failed = event(
                json!({"type": "response.failed", "sequence_number": 1, "response": {"id": "r", "object": "response", "status": "failed",
                "output": [], "usage": usage, "error": {"code": "server_error", "message": "sink"}}}),
            );
            let error = event(
                json!({"type": "error", "sequence_number": 1, "code": "server_error", "message": "sink", "usage": usage}),
            );
            vec![start.clone() + &failed, start + &error]
        }
        _ => {
            let chunk = |choices: Value, more: Value| {
                let mut chunk = json!({"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "b", "choices": choices});
                chunk.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
                data(chunk)
            };
            let said = json!([{"index": 0, "delta": {"role": "assistant", "content": "x"}, "finish_reason": "length"}]);
            let usage = json!({"prompt_tokens": 11, "completion_tokens": 22, "total_tokens": 33});
            let error = json!({"code": "server_error", "message": "sink"});
            vec![
                chunk(said.clone(), json!({}))
                    + &chunk(json!([]), json!({"usage": usage}))
                    + &data(json!({"error": error})),
                chunk(said.clone(), json!({})) + &data(json!({"error": error, "usage": usage})),
                chunk(said, json!({"error": error, "usage": usage})),
            ]
        }
    }
}

#[test]
fn stop_reasons_and_counts_before_a_failure_are_written_or_reported() {
    for from in WIRE {
        for source in failing_streams(from) {
            for to in WIRE.into_iter().filter(|to| *to != from) {
                let mut exchange = exchange(to, from);
                let mut request = request_with_tools(to, &[]);
                request["stream"] = json!(true);
                exchange.request(request.to_string().as_bytes(), &mut Vec::new()).unwrap();
                let mut out = Vec::new();
                let outcome = exchange.answer(Role::Stream).unwrap().finish_with(source.as_bytes(), &mut out);
                let out = String::from_utf8(out).unwrap();
                let way = format!("{from} to {to}: {source}\n{out}\n{:?}", outcome.report.lost_paths);
                assert_eq!(
                    outcome.failure.as_ref().map(|failure| failure.message.as_str()),
                    Some("sink"),
                    "{way}"
                );
                let usage = outcome.usage.unwrap_or_default();
                assert_eq!((usage.all_input(), usage.output), (Some(11), Some(22)), "{way}");
                let lost =
                    |field: Field| outcome.report.lost_paths.iter().any(|row| row.field == Some(field));
                assert!(out.contains("22") || lost(Field::UsageOutput), "{way}");
                if source.contains("MAX_TOKENS") || source.contains("max_tokens") || source.contains("length")
                {
                    let words = ["max_tokens", "MAX_TOKENS", "length", "max_output_tokens"];
                    assert!(words.iter().any(|word| out.contains(word)) || lost(Field::StopReason), "{way}");
                }
            }
        }
    }
}
