//! Deviations of real Chat Completions servers and clients from the published types, one test for each recorded case. A
//! number is that of the pitfall in the specification of the wire dialects.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::fmt::Write as _;

use interlingua::dialects::{Dialect, Options, Role};
use interlingua::ledger::{Reason, Report};
use interlingua::model::Field;
use interlingua::pipe::Pipe;
use interlingua::sniff::sniff;
use interlingua::wire::backends::Backend;
use serde_json::{Value, json};

const A: &str = "anthropic";
const C: &str = "openai-chat";

// ---- Responses that servers write ----

#[test]
fn a_placeholder_call_beside_content_is_none() {
    for extra in [
        json!({"function_call": {"name": "", "arguments": ""}}),
        json!({"tool_calls": [{"id": "", "type": "function", "function": {"name": "", "arguments": ""}}]}),
        json!({"tool_calls": [{"function": {"name": "", "arguments": ""}}], "function_call": {"name": "", "arguments": ""}}),
    ] {
        let mut message = json!({"role": "assistant", "content": "Aye."});
        merge(&mut message, &extra);
        let (out, report) = convert(C, A, Role::Response, &answer(&message, "stop"));
        assert_eq!(out["content"], json!([{"type": "text", "text": "Aye."}]), "{extra}");
        assert_eq!(out["stop_reason"], "end_turn");
        assert_eq!(report.lost, 1, "only `created`: {:?}", report.lost_paths);
        let (out, _) =
            stream(C, A, &[json!({"delta": message}), json!({"delta": {}, "finish_reason": "stop"})]);
        assert_eq!(out["content"], json!([{"type": "text", "text": "Aye."}]), "{extra}");
    }
}

#[test]
fn an_empty_custom_beside_a_function_is_none() {
    let call = json!({"id": "c1", "type": "function", "function": {"name": "haul", "arguments": "{}"}, "custom": {"name": "", "input": ""}});
    let message = json!({"role": "assistant", "content": null, "tool_calls": [call]});
    let (out, _) = convert(C, A, Role::Response, &answer(&message, "tool_calls"));
    assert_eq!(out["content"], json!([{"type": "tool_use", "id": "c1", "name": "haul", "input": {}}]));
}

#[test]
fn an_answer_in_message_beside_delta_is_said_once() {
    let cumulative = [
        json!({"delta": {"role": "assistant", "content": "Two "}, "message": {"role": "assistant", "content": "Two "}}),
        json!({"delta": {"content": "b\u{e9}lls"}, "message": {"role": "assistant", "content": "Two b\u{e9}lls"}}),
        json!({"delta": {"content": ""}, "message": {"role": "assistant", "content": "Two b\u{e9}lls."}, "finish_reason": "stop"}),
    ];
    let only_message = [
        json!({"delta": {"role": "assistant", "content": ""}, "message": {"role": "assistant", "content": "Two b\u{e9}lls."}, "finish_reason": "stop"}),
    ];
    for chunks in [&cumulative[..], &only_message] {
        let (out, report) = stream(C, A, chunks);
        assert_eq!(out["content"], json!([{"type": "text", "text": "Two b\u{e9}lls."}]));
        assert!(!report.lost_paths.iter().any(|row| row.path.contains("content")), "{report:?}");
    }
    let choice = json!({"index": 0, "finish_reason": "stop", "delta": {"role": "assistant", "content": ""}, "message": {"role": "assistant", "content": "Whole."}});
    let (out, _) = convert(C, A, Role::Response, response(&json!([choice])).as_bytes());
    assert_eq!(out["content"][0]["text"], "Whole.");
}

#[test]
fn content_may_be_a_list_or_an_object() {
    let list = json!([{"type": "text", "text": "One "}, "two", {"type": "reference", "reference_ids": [1]}]);
    for (content, texts) in [(list, vec!["One ", "two"]), (json!({"bells": 2}), vec!["{\"bells\":2}"])] {
        let message = json!({"role": "assistant", "content": content});
        let (out, _) = convert(C, A, Role::Response, &answer(&message, "stop"));
        let said: Vec<_> =
            out["content"].as_array().unwrap().iter().map(|block| block["text"].clone()).collect();
        assert_eq!(said, texts);
        let (out, _) =
            stream(C, A, &[json!({"delta": message}), json!({"delta": {}, "finish_reason": "stop"})]);
        let said: String =
            out["content"].as_array().unwrap().iter().map(|block| block["text"].as_str().unwrap()).collect();
        assert_eq!(said, texts.concat());
    }
}

#[test]
fn the_reason_may_be_empty_twice_or_an_object() {
    let message = json!({"role": "assistant", "content": "x"});
    let (out, report) = convert(C, A, Role::Response, &answer(&message, ""));
    assert_eq!(out["stop_reason"], "end_turn");
    assert!(noted(&report, "no finish_reason"), "{report:?}");
    let details = json!([{"index": 0, "message": message, "finish_details": {"type": "max_tokens"}}]);
    let (out, _) = convert(C, A, Role::Response, response(&details).as_bytes());
    assert_eq!(out["stop_reason"], "max_tokens");
    let twice = [
        json!({"delta": {"content": "x"}}),
        json!({"delta": {}, "finish_reason": "length"}),
        json!({"delta": {}, "finish_reason": "length"}),
    ];
    assert_eq!(stream(C, A, &twice).0["stop_reason"], "max_tokens");
}

#[test]
fn p78_usage_is_read_wherever_a_server_puts_it() {
    let usage = json!({"prompt_tokens": 12, "completion_tokens": 3, "total_tokens": 15});
    let end = json!({"index": 0, "delta": {}, "finish_reason": "stop"});
    let text = json!({"index": 0, "delta": {"content": "x"}});
    let mut inside = end.clone();
    inside["usage"] = usage.clone();
    let places = [
        vec![json!({"choices": [text]}), json!({"choices": [end]}), json!({"choices": [], "usage": usage})],
        vec![json!({"choices": [text]}), json!({"choices": [end], "usage": usage})],
        vec![json!({"choices": [text], "usage": usage}), json!({"choices": [end], "usage": usage})],
        vec![json!({"choices": [text]}), json!({"choices": [end], "x_groq": {"id": "req", "usage": usage}})],
        vec![json!({"choices": [text]}), json!({"choices": [inside]})],
        vec![json!({"choices": [text]}), json!({"choices": [end], "usage": null}), json!({"usage": usage})],
    ];
    for chunks in places {
        let (out, _) = convert_stream(C, A, &sse(&chunks, true));
        let counts = (&out["usage"]["input_tokens"], &out["usage"]["output_tokens"]);
        assert_eq!(counts, (&json!(12), &json!(3)), "{chunks:?}");
    }
}

#[test]
fn p72_p78_parts_of_usage_are_never_more_than_the_whole() {
    for (usage, uncached, read, written) in [
        (json!({"prompt_tokens": 10, "prompt_cache_hit_tokens": 4, "prompt_cache_miss_tokens": 6}), 6, 4, 0),
        (json!({"prompt_tokens": 10, "cached_tokens": 4}), 6, 4, 0),
        (
            json!({"prompt_tokens": 10, "cached_tokens": 4, "prompt_tokens_details": {"cached_tokens": 4}}),
            6,
            4,
            0,
        ),
        (json!({"prompt_tokens": 10, "prompt_tokens_details": {"cached_tokens": 30}}), 0, 10, 0),
        (
            json!({"prompt_tokens": 10, "prompt_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 9}}),
            0,
            4,
            6,
        ),
        (json!({"prompt_tokens": 10, "total_tokens": 99}), 10, 0, 0),
    ] {
        let mut usage = usage;
        usage["completion_tokens"] = json!(3);
        let mut whole: Value =
            serde_json::from_slice(&answer(&json!({"role": "assistant", "content": "x"}), "stop")).unwrap();
        whole["usage"] = usage.clone();
        let (out, _) = convert(C, A, Role::Response, whole.to_string().as_bytes());
        let count = |name: &str| out["usage"][name].as_u64().unwrap_or(0);
        let counts =
            [count("input_tokens"), count("cache_read_input_tokens"), count("cache_creation_input_tokens")];
        assert_eq!(counts, [uncached, read, written], "{usage}");
        assert_eq!(counts.iter().sum::<u64>(), 10);
        assert_eq!(count("output_tokens"), 3);
    }
}

#[test]
fn a_stream_may_keep_few_rules() {
    let chunks = [
        json!({"id": "", "object": "", "created": 0, "model": "", "choices": [], "prompt_filter_results": []}),
        json!({"id": "a", "choices": [{"index": 0, "delta": {"role": "assistant", "content": "One"}}]}),
        json!({"id": "b", "choices": [{"index": 0, "delta": {"role": "assistant", "content": " two"}}]}),
        json!({"id": "stub", "choices": null, "copilot_references": [{"type": "x"}]}),
        json!({"id": "stub", "choices": [{"index": 0, "delta": {"role": "assistant"}, "finish_reason": "stop"}]}),
    ];
    let text = format!(": OPENROUTER PROCESSING\n\n{}", sse(&chunks, false).replace('\n', "\r\n"));
    let (out, report) = convert_stream(C, A, &text);
    assert_eq!(out["content"], json!([{"type": "text", "text": "One two"}]));
    assert_eq!((&out["id"], &out["stop_reason"]), (&json!("a"), &json!("end_turn")));
    assert!(report.lost_paths.iter().any(|row| row.path == "/copilot_references[]/type"), "{report:?}");
}

#[test]
fn usage_of_a_failed_stream_survives() {
    let usage = json!({"prompt_tokens": 12, "completion_tokens": 3, "total_tokens": 15});
    let chunks = [
        json!({"id": "a", "choices": [{"index": 0, "delta": {"role": "assistant", "content": "One"}}]}),
        json!({"id": "a", "choices": [{"index": 0, "delta": {"content": " two"}, "finish_reason": "error"}], "usage": usage,
            "error": {"code": 502, "message": "upstream went away"}}),
    ];
    let events = text_of(C, "universal", Role::Stream, Role::Live, &sse(&chunks, false));
    assert!(events.contains(" two") && events.contains("upstream went away"), "{events}");
    assert!(events.contains("\"input\":12") || events.contains("\"input_tokens\":12"), "{events}");
    // An Anthropic stream that fails after its usage.
    let failed = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m1\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"m\",\"content\":[],\"usage\":{\"input_tokens\":9,\"output_tokens\":1}}}\n\nevent: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"busy\"}}\n\n";
    let (bytes, report) = bytes((A, Role::Stream), (C, Role::Stream), failed.as_bytes());
    let text = String::from_utf8(bytes).unwrap();
    assert!(
        text.contains("\"prompt_tokens\":9") && text.contains("busy") && !text.contains("[DONE]"),
        "{text}"
    );
    assert!(!report.lost_paths.iter().any(|row| row.field == Some(Field::UsageInput)), "{report:?}");
}

#[test]
fn what_is_made_up_is_noted() {
    let body = json!({"type": "message", "role": "assistant", "content": [{"type": "text", "text": "x"}], "usage": {"output_tokens": 2}});
    let (out, report) = convert(A, C, Role::Response, body.to_string().as_bytes());
    assert_eq!(out["choices"][0]["finish_reason"], "stop");
    for note in [
        "id of the answer",
        "model of the answer",
        "time of the answer",
        "why the answer stopped",
        "counts that the source does not tell",
    ] {
        assert!(noted(&report, note), "{note}: {report:?}");
    }
}

// ---- Calls in fragments ----

#[test]
fn p30_p31_calls_are_told_apart_whatever_a_server_repeats() {
    let calls = |deltas: &[Value]| {
        let mut chunks: Vec<Value> =
            deltas.iter().map(|calls| json!({"delta": {"tool_calls": calls}})).collect();
        chunks.push(json!({"delta": {}, "finish_reason": "tool_calls"}));
        let (out, _) = stream(C, A, &chunks);
        let blocks = out["content"].as_array().unwrap().clone();
        blocks
            .iter()
            .map(|block| (block["name"].as_str().unwrap().to_owned(), block["input"].clone()))
            .collect::<Vec<_>>()
    };
    let part = |id: Option<&str>, index: Option<u64>, name: Option<&str>, args: &str| {
        let mut call = json!({"function": {"arguments": args}});
        if let Some(id) = id {
            call["id"] = json!(id);
        }
        if let Some(index) = index {
            call["index"] = json!(index);
        }
        if let Some(name) = name {
            call["function"]["name"] = json!(name);
        }
        call
    };
    let two = vec![("haul".to_owned(), json!({"n": 1})), ("reef".to_owned(), json!({"n": 2}))];
    let one = vec![("haul".to_owned(), json!({"n": 1}))];
    // The same index for all calls, with or without ids.
    assert_eq!(
        calls(&[
            json!([part(Some("a"), Some(0), Some("haul"), "{\"n\":")]),
            json!([part(None, Some(0), None, "1}")]),
            json!([part(Some("b"), Some(0), Some("reef"), "{\"n\":2}")])
        ]),
        two
    );
    assert_eq!(
        calls(&[
            json!([part(None, Some(0), Some("haul"), "{\"n\":1}")]),
            json!([part(None, Some(0), Some("reef"), "{\"n\":2}")])
        ]),
        two
    );
    // No index at all.
    assert_eq!(
        calls(&[
            json!([part(None, None, Some("haul"), "{\"n\":")]),
            json!([part(None, None, None, "1}")]),
            json!([part(None, None, Some("reef"), "{\"n\":2}")])
        ]),
        two
    );
    assert_eq!(
        calls(&[json!([
            part(Some("a"), None, Some("haul"), "{\"n\":1}"),
            part(Some("b"), None, Some("reef"), "{\"n\":2}")
        ])]),
        two
    );
    // A new id in every chunk.
    assert_eq!(
        calls(&[
            json!([part(Some("a"), Some(0), Some("haul"), "")]),
            json!([part(Some("b"), Some(0), None, "{\"n\"")]),
            json!([part(Some("c"), Some(0), None, ":1}")]),
            json!([part(Some("d"), Some(0), None, "")])
        ]),
        one
    );
    // A name in two parts.
    assert_eq!(
        calls(&[
            json!([part(Some("a"), Some(0), Some("ha"), "")]),
            json!([part(None, Some(0), Some("ul"), "")]),
            json!([part(None, Some(0), None, "{\"n\":1}")])
        ]),
        one
    );
    // Id and name repeated in each fragment, and at the end without arguments.
    assert_eq!(
        calls(&[
            json!([part(Some("a"), Some(0), Some("haul"), "{\"n\"")]),
            json!([part(Some("a"), Some(0), Some("haul"), ":1}")]),
            json!([part(Some("a"), Some(0), Some("haul"), "")])
        ]),
        one
    );
    // The same function twice, with its name as id.
    let twice = vec![("haul".to_owned(), json!({"n": 1})), ("haul".to_owned(), json!({"n": 2}))];
    assert_eq!(
        calls(&[
            json!([part(Some("haul"), Some(0), Some("haul"), "{\"n\":1}")]),
            json!([part(Some("haul"), Some(1), Some("haul"), "{\"n\":2}")])
        ]),
        twice
    );
    assert_eq!(
        calls(&[
            json!([part(Some("haul"), None, Some("haul"), "{\"n\":1}")]),
            json!([part(Some("haul"), None, Some("haul"), "{\"n\":2}")])
        ]),
        twice
    );
    // Interleaved by index, with braces in strings.
    assert_eq!(
        calls(&[
            json!([part(Some("a"), Some(0), Some("haul"), "{\"s\":\"}")]),
            json!([part(Some("b"), Some(1), Some("reef"), "{")]),
            json!([part(None, Some(0), None, "{\\\"\"}")]),
            json!([part(None, Some(1), None, "}")])
        ]),
        vec![("haul".to_owned(), json!({"s": "}{\""})), ("reef".to_owned(), json!({}))]
    );
}

#[test]
fn p26_p28_calls_without_arguments_stay_apart() {
    let call = |id: &str, index: u64, name: &str| json!([{"index": index, "id": id, "type": "function", "function": {"name": name, "arguments": ""}}]);
    for second in [0, 1] {
        let chunks = [
            json!({"delta": {"tool_calls": call("a", 0, "haul")}}),
            json!({"delta": {"tool_calls": call("b", second, "reef")}}),
            json!({"delta": {}, "finish_reason": "stop"}),
        ];
        let (out, _) = stream(C, A, &chunks);
        assert_eq!(
            out["content"],
            json!([{"type": "tool_use", "id": "a", "name": "haul", "input": {}}, {"type": "tool_use", "id": "b", "name": "reef", "input": {}}])
        );
        assert_eq!(out["stop_reason"], "tool_use");
    }
}

#[test]
fn p44_a_call_cut_by_the_limit_is_no_call_to_run() {
    let chunks = [
        json!({"delta": {"tool_calls": [{"index": 0, "id": "a", "function": {"name": "haul", "arguments": "{\"n\":"}}]}}),
        json!({"delta": {}, "finish_reason": "length"}),
    ];
    let (out, _) = stream(C, A, &chunks);
    assert_eq!(out["stop_reason"], "max_tokens");
}

// ---- Reasoning ----

#[test]
fn reasoning_has_three_names_and_a_part() {
    for message in [
        json!({"reasoning": "Think.", "content": "Say."}),
        json!({"reasoning_content": "Think.", "reasoning": "Think.", "content": "Say."}),
        json!({"reasoning_text": "Think.", "content": "Say."}),
        json!({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "Think."}]}, {"type": "text", "text": "Say."}]}),
        json!({"reasoning": "Think.", "reasoning_details": [{"type": "reasoning.text", "text": "Think.", "format": "unknown", "index": 0}], "content": "Say."}),
    ] {
        let (out, _) = convert(C, A, Role::Response, &answer(&message, "stop"));
        let said: Vec<_> =
            out["content"].as_array().unwrap().iter().map(|block| block["type"].as_str().unwrap()).collect();
        assert_eq!(said, ["thinking", "text"], "{message}");
        assert_eq!(
            (&out["content"][0]["thinking"], &out["content"][1]["text"]),
            (&json!("Think."), &json!("Say."))
        );
        let (out, _) =
            stream(C, A, &[json!({"delta": message}), json!({"delta": {}, "finish_reason": "stop"})]);
        assert_eq!(out["content"][0]["thinking"], "Think.", "{message}");
    }
}

#[test]
fn p01_p13_thoughts_come_back_at_their_place() {
    let signed = |text: &str, sign: &str| json!({"type": "thinking", "thinking": text, "signature": sign});
    let call = |id: &str| json!({"type": "tool_use", "id": id, "name": "haul", "input": {"n": 1}});
    let text = |text: &str| json!({"type": "text", "text": text});
    let sealed = |data: &str| json!({"type": "redacted_thinking", "data": data});
    let open = |text: &str| json!({"type": "thinking", "thinking": text, "signature": ""});
    for content in [
        json!([text("First \u{1f9ed} \"so\"."), signed("Then.", "S1"), call("a")]),
        json!([signed("One.", "S1"), call("a"), signed("Two.", "S2"), call("b")]),
        json!([signed("Same.", "S1"), signed("Same.", "S2"), call("a")]),
        json!([
            sealed("E1"),
            text("Mid."),
            sealed("E2"),
            text("End."),
            call("a"),
            signed("", "S3"),
            call("b")
        ]),
        json!([signed("", "S1"), signed("Shown.", "S2"), text("x")]),
    ] {
        let body = json!({"id": "m1", "type": "message", "role": "assistant", "model": "m", "content": content, "stop_reason": "tool_use", "usage": {"input_tokens": 1, "output_tokens": 1}});
        // A whole response, and the same response as a stream joined by a client.
        let (whole, _) = convert(A, C, Role::Response, body.to_string().as_bytes());
        let joined = join(&text_of(A, C, Role::Stream, Role::Stream, &anthropic_stream(&body)));
        for message in [&whole["choices"][0]["message"], &joined] {
            let request = json!({"model": "m", "messages": [{"role": "user", "content": "Go."}, message,
                {"role": "tool", "tool_call_id": "a", "content": "ok"}, {"role": "tool", "tool_call_id": "b", "content": "ok"}]});
            let (back, _) = convert(C, A, Role::Request, request.to_string().as_bytes());
            assert_eq!(back["messages"][1]["content"], content, "{message}");
        }
    }
    // Without a signature a request cannot repeat reasoning, but its position is noted.
    let body = json!({"type": "message", "role": "assistant", "content": [text("First."), open("Then."), call("a")], "stop_reason": "tool_use"});
    let (whole, _) = convert(A, C, Role::Response, body.to_string().as_bytes());
    let (again, _) = convert(C, A, Role::Response, whole.to_string().as_bytes());
    let kinds: Vec<_> =
        again["content"].as_array().unwrap().iter().map(|block| block["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["text", "thinking", "tool_use"]);
}

#[test]
fn thoughts_that_move_in_a_request_are_noted() {
    let turn = json!([{"type": "text", "text": "First."}, {"type": "thinking", "thinking": "Then.", "signature": "S"}, {"type": "tool_use", "id": "a", "name": "haul", "input": {}}]);
    let request = json!({"model": "m", "max_tokens": 5, "messages": [{"role": "user", "content": "x"}, {"role": "assistant", "content": turn}]});
    let (out, report) = convert(A, C, Role::Request, request.to_string().as_bytes());
    assert_eq!(out["messages"][1]["reasoning_content"], "Then.");
    assert!(noted(&report, "thoughts between texts and calls"), "{report:?}");
}

#[test]
fn entries_of_gateways_are_read_as_they_mean() {
    let message = json!({"role": "assistant", "content": "Say.", "reasoning": "Sum up.", "reasoning_details": [
        {"type": "reasoning.summary", "summary": "Sum up.", "id": "rs_1", "format": "openai-responses-v1", "index": 0},
        {"type": "reasoning.encrypted", "data": "ENC", "id": "rs_1", "format": "openai-responses-v1", "index": 0}]});
    let events = text_of(
        C,
        "universal",
        Role::Response,
        Role::Live,
        &String::from_utf8(answer(&message, "stop")).unwrap(),
    );
    // Once as a delta, once in the whole item.
    assert_eq!(events.matches("Sum up.").count(), 2, "{events}");
    assert!(events.contains("ENC") && events.contains("\"openai\""), "{events}");
    let claude = json!({"role": "assistant", "content": "Say.", "reasoning": "Why.", "reasoning_details": [
        {"type": "reasoning.text", "text": "Wh", "format": "anthropic-claude-v1", "index": 0},
        {"type": "reasoning.text", "text": "y.", "format": "anthropic-claude-v1", "index": 0},
        {"type": "reasoning.text", "signature": "SIG", "format": "anthropic-claude-v1", "index": 0}]});
    let (out, _) = convert(C, A, Role::Response, &answer(&claude, "stop"));
    assert_eq!(
        out["content"],
        json!([{"type": "thinking", "thinking": "Why.", "signature": "SIG"}, {"type": "text", "text": "Say."}])
    );
}

#[test]
fn p08_reasoning_goes_by_the_name_that_the_backend_reads() {
    let turn = |thinks: bool| {
        let mut blocks = vec![json!({"type": "tool_use", "id": "a", "name": "haul", "input": {}})];
        if thinks {
            blocks.insert(0, json!({"type": "thinking", "thinking": "Why.", "signature": "S"}));
        }
        json!({"model": "m", "max_tokens": 5, "messages": [{"role": "user", "content": "x"}, {"role": "assistant", "content": blocks}]}).to_string()
    };
    let sent = |backend: &str, thinks: bool| {
        let options = Options::default().with_backend(Backend::named(backend, C).unwrap());
        let (out, report) = convert_with(A, C, Role::Request, turn(thinks).as_bytes(), &options);
        (out["messages"][1].clone(), report)
    };
    assert_eq!(sent("deepseek", true).0["reasoning_content"], "Why.");
    assert_eq!(sent("deepseek", false).0["reasoning_content"], "");
    assert_eq!(sent("groq", true).0["reasoning"], "Why.");
    assert!(sent("groq", false).0.get("reasoning").is_none());
    assert_eq!(
        sent("mistral", true).0["content"],
        json!([{"type": "thinking", "thinking": [{"type": "text", "text": "Why."}]}])
    );
}

// ---- Requests that clients write ----

#[test]
fn requests_of_real_clients_are_read() {
    let request = json!({"stop": [], "tools": [], "max_tokens": 7, "messages": [
        {"role": "user", "content": [{"type": "image_url", "image_url": "https://i.example/a.png"},
            {"type": "text", "text": "What?", "cache_control": {"type": "ephemeral", "ttl": "1h"}}]},
        {"role": "assistant", "tool_calls": [{"id": "a", "type": "function", "function": {"name": "haul", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "a", "content": [{"type": "text", "text": "ok"}]},
        {"role": "assistant", "content": "The", "prefix": true}]});
    let (out, report) = convert(C, A, Role::Request, request.to_string().as_bytes());
    assert!(out.get("model").is_none_or(Value::is_string));
    let first = &out["messages"][0]["content"];
    assert_eq!(first[0]["source"], json!({"type": "url", "url": "https://i.example/a.png"}));
    assert_eq!(first[1]["cache_control"], json!({"type": "ephemeral", "ttl": "1h"}));
    assert!(
        !report.lost_paths.iter().any(|row| row.path.contains("prefix") || row.path.contains("stop")),
        "{report:?}"
    );
}

#[test]
fn choices_and_seeds_have_other_words() {
    let tools = json!([{"type": "function", "function": {"name": "haul", "parameters": {"type": "object"}}}]);
    let request = json!({"model": "m", "tool_choice": "any", "tools": tools, "random_seed": 7, "messages": [{"role": "user", "content": "x"}]});
    let (out, _) = convert(C, A, Role::Request, request.to_string().as_bytes());
    assert_eq!(out["tool_choice"]["type"], "any");
    let events = text_of(C, "universal", Role::Request, Role::Live, &request.to_string());
    assert!(events.contains("\"seed\":7"), "{events}");
}

#[test]
fn p15_thinking_is_asked_for_in_many_ways() {
    let ask = |members: Value| {
        let mut request = json!({"model": "claude-sonnet-4-5", "max_tokens": 9000, "messages": [{"role": "user", "content": "x"}]});
        merge(&mut request, &members);
        convert(C, A, Role::Request, request.to_string().as_bytes()).0["thinking"].clone()
    };
    let budget = json!({"type": "enabled", "budget_tokens": 2000});
    assert_eq!(ask(json!({"reasoning": {"max_tokens": 2000}})), budget);
    assert_eq!(ask(json!({"thinking": {"type": "enabled", "budget_tokens": 2000}})), budget);
    assert_eq!(ask(json!({"enable_thinking": true, "thinking_budget": 2000})), budget);
    assert_eq!(ask(json!({"reasoning": {"enabled": false}})), json!({"type": "disabled"}));
    assert_eq!(ask(json!({"enable_thinking": false})), json!({"type": "disabled"}));
    assert_eq!(ask(json!({"thinking": {"type": "disabled"}})), json!({"type": "disabled"}));
    assert_eq!(
        ask(json!({"reasoning": {"effort": "low"}})),
        json!({"type": "enabled", "budget_tokens": 2048})
    );
}

#[test]
fn documents_films_and_searches_are_read() {
    let request = json!({"model": "m", "web_search_options": {"search_context_size": "low"}, "messages": [{"role": "user", "content": [
        {"type": "document_url", "document_url": "https://d.example/a.pdf", "document_name": "Log"},
        {"type": "file_url", "file_url": {"url": "https://d.example/b.pdf"}},
        {"type": "image_url", "image_url": {"url": "data:IMAGE/JPG;name=x;base64,/9j/4AAQ"}},
        {"type": "video_url", "video_url": {"url": "https://d.example/c.mp4"}}]}]});
    let (out, report) = convert(C, A, Role::Request, request.to_string().as_bytes());
    let content = &out["messages"][0]["content"];
    assert_eq!(
        (&content[0]["source"]["url"], &content[0]["title"]),
        (&json!("https://d.example/a.pdf"), &json!("Log"))
    );
    assert_eq!(content[1]["type"], "document");
    assert_eq!(content[2]["source"]["media_type"], "image/jpeg");
    assert!(report.lost_paths.iter().any(|row| row.path.contains("video_url")), "{report:?}");
    assert_eq!(out["tools"][0]["name"], "web_search");
    let search = json!({"model": "gpt-5-search-api", "max_tokens": 5, "tools": [{"type": "web_search_20250305", "name": "web_search"}], "messages": [{"role": "user", "content": "x"}]});
    let (out, _) = convert(A, C, Role::Request, search.to_string().as_bytes());
    assert_eq!(out["web_search_options"], json!({}));
    assert!(out.get("tools").is_none());
}

#[test]
fn p25_words_of_another_system_are_no_flag() {
    let request = |text: &str| {
        json!({"model": "m", "messages": [{"role": "user", "content": "x"},
        {"role": "assistant", "content": null, "tool_calls": [{"id": "a", "type": "function", "function": {"name": "haul", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "a", "content": text}]}).to_string()
    };
    let result = |text: &str| {
        convert(C, A, Role::Request, request(text).as_bytes()).0["messages"][2]["content"][0].clone()
    };
    let foreign = result("[tool error] no such rope");
    assert!(
        foreign.get("is_error").is_none() && foreign["content"] == "[tool error] no such rope",
        "{foreign}"
    );
    // Our own error mark, also after a program that escapes non-ASCII characters.
    let body = json!({"model": "m", "max_tokens": 5, "messages": [{"role": "user", "content": "x"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "haul", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "is_error": true, "content": "gone"}]}]});
    let chat = text_of(A, C, Role::Request, Role::Request, &body.to_string());
    for again in [chat.clone(), chat.replace('\u{2063}', "\\u2063")] {
        let (out, _) = convert(C, A, Role::Request, again.as_bytes());
        assert_eq!(out["messages"][2]["content"][0]["is_error"], true, "{again}");
        assert_eq!(out["messages"][2]["content"][0]["content"], "gone");
    }
}

// ---- Errors ----

#[test]
fn p77_errors_of_every_form_carry_their_message() {
    for (body, kind, message) in [
        (r#"{"error":"model is loading"}"#, "api_error", "model is loading"),
        (r#"{"error":"slow down","user_id":"u"}"#, "api_error", "slow down"),
        (r#"{"detail":"Not Found"}"#, "api_error", "Not Found"),
        (
            r#"{"detail":[{"loc":["body"],"msg":"field required","type":"value_error"}]}"#,
            "api_error",
            "field required",
        ),
        (
            r#"{"object":"error","message":"bad","type":"BadRequestError","code":400}"#,
            "invalid_request_error",
            "bad",
        ),
        (r#"{"message":"no key"}"#, "api_error", "no key"),
        (
            r#"[{"error":{"code":429,"message":"quota","status":"RESOURCE_EXHAUSTED"}}]"#,
            "rate_limit_error",
            "quota",
        ),
        (r#"{"error":{"message":"denied","code":"401"}}"#, "authentication_error", "denied"),
        (r#"{"error":{"message":"no","code":"DeploymentNotFound"}}"#, "not_found_error", "no"),
        (r#"{"error":{"message":"no","type":"request_forbidden"}}"#, "permission_error", "no"),
        (r#"{"error":{"message":"no","code":"insufficient_permissions"}}"#, "permission_error", "no"),
        (
            r#"{"error":{"message":"filtered","code":"content_filter","innererror":{"code":"ResponsibleAIPolicyViolation"}}}"#,
            "invalid_request_error",
            "filtered",
        ),
        (
            r#"{"error":{"message":"input length and `max_tokens` exceed context limit: 9","type":"invalid_request_error"}}"#,
            "invalid_request_error",
            "exceed context limit",
        ),
        ("<html><head><title>502 Bad Gateway</title></head></html>", "api_error", "502 Bad Gateway"),
        ("upstream connect error", "api_error", "upstream connect error"),
        (r#"{"success":false,"errors":[{"code":7003,"message":"no route"}]}"#, "api_error", "no route"),
    ] {
        let (out, _) = convert(C, A, Role::Response, body.as_bytes());
        assert_eq!(out["type"], "error", "{body} {out}");
        assert!(out["error"]["message"].as_str().unwrap().contains(message), "{body} {out}");
        assert_eq!(out["error"]["type"], kind, "{body} {out}");
    }
}

#[test]
fn an_error_event_of_a_stream_is_a_failure() {
    for data in [
        r#"{"error":{"message":"gone","code":503}}"#,
        r#"{"message":"gone","code":503}"#,
        r#"{"error":"gone"}"#,
    ] {
        let text = format!(
            "data: {{\"id\":\"a\",\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"x\"}}}}]}}\n\nevent: error\ndata: {data}\n\n"
        );
        let out = text_of(C, A, Role::Stream, Role::Stream, &text);
        assert!(
            out.contains("event: error") && out.contains("gone") && !out.contains("message_stop"),
            "{out}"
        );
    }
}

#[test]
fn an_error_where_a_stream_was_asked_for_carries_its_message() {
    for body in [
        "\n {\"error\":{\"message\":\"no such model\",\"code\":404}}\n",
        "<html><title>404 no such model</title></html>",
        "[{\"error\":{\"code\":404,\"message\":\"no such model\"}}]",
    ] {
        let out = text_of(C, A, Role::Stream, Role::Stream, body);
        assert!(out.contains("no such model") && out.contains("not_found_error"), "{body}: {out}");
    }
    // A whole response in a stream is a stream, too.
    let whole = answer(&json!({"role": "assistant", "content": "All of it."}), "stop");
    let (out, _) = convert_stream(C, A, &String::from_utf8(whole).unwrap());
    assert_eq!(out["content"][0]["text"], "All of it.");
}

// ---- Flavours ----

const K: &str = "kimi";
const G: &str = "copilot";

/// A request of Anthropic's with that model and those members, as it is sent.
fn sent_as(to: &str, model: &str, members: &Value) -> (Value, Report) {
    let mut request =
        json!({"model": model, "max_tokens": 9, "messages": [{"role": "user", "content": "x"}]});
    merge(&mut request, members);
    convert(A, to, Role::Request, request.to_string().as_bytes())
}

#[test]
fn p08_kimi_gets_reasoning_on_every_turn_with_calls() {
    let turn = |blocks: Value| json!({"messages": [{"role": "user", "content": "x"}, {"role": "assistant", "content": blocks}]});
    let call = json!({"type": "tool_use", "id": "a", "name": "haul", "input": {}});
    let (out, report) = sent_as(K, "kimi-k2.6", &turn(json!([call])));
    let message = &out["messages"][1];
    assert_eq!(message["reasoning_content"], "");
    assert!(message.get("content").is_none(), "an empty text beside calls is refused: {message}");
    assert!(noted(&report, "calls without thoughts"), "{report:?}");
    let thinks = json!([{"type": "thinking", "thinking": "Why.", "signature": "S"}, call]);
    let (out, _) = sent_as(K, "kimi-k2.6", &turn(thinks));
    assert_eq!(out["messages"][1]["reasoning_content"], "Why.");
    // An empty reasoning text stays empty.
    let empty = json!({"model": "kimi-k2.6", "messages": [{"role": "user", "content": "x"}, {"role": "assistant", "content": null,
        "reasoning_content": "", "tool_calls": [{"id": "a", "type": "function", "function": {"name": "haul", "arguments": "{}"}}]}]});
    let (out, report) = convert(C, K, Role::Request, empty.to_string().as_bytes());
    assert_eq!(out["messages"][1]["reasoning_content"], "");
    assert_eq!(report.lost, 0, "{report:?}");
}

#[test]
fn p54_kimi_has_rules_of_its_own_for_names_and_schemas() {
    let tools = json!({"tools": [{"name": "ls", "input_schema": {"type": "object", "properties": {"path": {"description": "where"}}}}]});
    let (out, report) = sent_as(K, "kimi-k2.6", &tools);
    let function = &out["tools"][0]["function"];
    assert!(function["name"].as_str().unwrap().len() >= 3 && function["name"] != "ls", "{function}");
    assert!(function["parameters"]["properties"]["path"].get("type").is_some(), "{function} {report:?}");
}

#[test]
fn kimi_is_asked_for_thinking_as_its_models_take_it() {
    let thinking = |model: &str, members: Value| sent_as(K, model, &members).0;
    let enabled = json!({"thinking": {"type": "enabled", "budget_tokens": 2048}, "max_tokens": 4000});
    assert_eq!(thinking("kimi-k2.6", enabled.clone())["thinking"], json!({"type": "enabled"}));
    assert_eq!(
        thinking("kimi-k2.6", json!({"thinking": {"type": "disabled"}}))["thinking"],
        json!({"type": "disabled"})
    );
    let k3 = thinking("kimi-k3", json!({"output_config": {"effort": "medium"}}));
    assert_eq!((&k3["reasoning_effort"], k3.get("thinking")), (&json!("low"), None));
    let (out, report) = sent_as(
        K,
        "kimi-k3",
        &json!({"temperature": 0.2, "stop_sequences": ["A", "a stop text that is far longer than it may be"]}),
    );
    assert!(out.get("temperature").is_none() && out["stop"] == json!(["A"]), "{out}");
    assert_eq!(report.lost, 2, "{report:?}");
    assert_eq!(sent_as(K, "moonshot-v1-8k", &json!({"temperature": 0.2})).0["temperature"], 0.2);
}

#[test]
fn kimi_searches_and_goes_on_by_its_own_words() {
    let members = json!({"tools": [{"type": "web_search_20250305", "name": "web_search", "max_uses": 2}],
        "messages": [{"role": "user", "content": "x"}, {"role": "assistant", "content": "The"}]});
    let (out, _) = sent_as(K, "kimi-k2.6", &members);
    assert_eq!(out["tools"], json!([{"type": "builtin_function", "function": {"name": "$web_search"}}]));
    assert_eq!(out["messages"][1], json!({"role": "assistant", "content": "The", "partial": true}));
    let film = json!({"model": "m", "messages": [{"role": "user", "content": [{"type": "video_url", "video_url": {"url": "ms://f1"}}, {"type": "image_url", "image_url": "ms://f2"}]}]});
    let (out, _) = convert(C, K, Role::Request, film.to_string().as_bytes());
    let urls = |name: &str, at: usize| out["messages"][0]["content"][at][name]["url"].clone();
    assert_eq!((urls("video_url", 0), urls("image_url", 1)), (json!("ms://f1"), json!("ms://f2")));
}

#[test]
fn p12_copilot_gets_its_own_state_back() {
    let message = json!({"role": "assistant", "content": "Say.", "reasoning_text": "Why.", "reasoning_opaque": "OPQ",
        "tool_calls": [{"id": "a", "type": "function", "function": {"name": "haul", "arguments": "{}"}}]});
    for client in [A, C] {
        let (shown, _) = convert(G, client, Role::Response, &answer(&message, "tool_calls"));
        let history = match client {
            A => {
                json!({"model": "m", "max_tokens": 5, "messages": [{"role": "user", "content": "x"}, {"role": "assistant", "content": shown["content"]}]})
            }
            _ => {
                json!({"model": "m", "messages": [{"role": "user", "content": "x"}, shown["choices"][0]["message"]]})
            }
        };
        let (back, _) = convert(client, G, Role::Request, history.to_string().as_bytes());
        let turn = &back["messages"][1];
        assert_eq!(
            (&turn["reasoning_text"], &turn["reasoning_opaque"]),
            (&json!("Why."), &json!("OPQ")),
            "{client}: {turn}"
        );
        // No other vendor gets the opaque state.
        let other = if client == A { C } else { A };
        let (out, report) = convert(client, other, Role::Request, history.to_string().as_bytes());
        assert!(!out.to_string().contains("OPQ"), "{out}");
        assert!(report.lost_paths.iter().any(|row| row.reason == Some(Reason::Foreign)), "{report:?}");
    }
    // Opaque state of other vendors passes through a client of Copilot.
    let body = json!({"type": "message", "role": "assistant", "content": [{"type": "thinking", "thinking": "Why.", "signature": "SIG"}, {"type": "text", "text": "x"}], "stop_reason": "end_turn"});
    let (shown, _) = convert(A, G, Role::Response, body.to_string().as_bytes());
    let history =
        json!({"model": "m", "messages": [{"role": "user", "content": "x"}, shown["choices"][0]["message"]]});
    let (back, _) = convert(G, A, Role::Request, history.to_string().as_bytes());
    assert_eq!(back["messages"][1]["content"], body["content"]);
}

#[test]
fn copilot_marks_messages_and_demands_calls_by_name() {
    let members = json!({"system": [{"type": "text", "text": "s", "cache_control": {"type": "ephemeral"}}],
        "max_tokens": 9000, "thinking": {"type": "enabled", "budget_tokens": 2048}, "tool_choice": {"type": "any"},
        "tools": [{"name": "haul", "input_schema": {"type": "object"}}]});
    let (out, report) = sent_as(G, "claude-sonnet-4.5", &members);
    assert_eq!(out["messages"][0]["copilot_cache_control"], json!({"type": "ephemeral"}));
    assert!(!out["messages"][0]["content"].to_string().contains("cache"), "{out}");
    let named = json!({"type": "function", "function": {"name": "haul"}});
    assert_eq!((&out["thinking_budget"], &out["tool_choice"]), (&json!(2048), &named));
    assert!(!noted(&report, "a call cannot be demanded"), "{report:?}");
    assert!(noted(&report, "call of the only tool demanded by its name"), "{report:?}");
    // Copilot has no tool choice for any of several tools.
    let several = json!({"tool_choice": {"type": "any"},
        "tools": [{"name": "haul", "input_schema": {"type": "object"}}, {"name": "mend", "input_schema": {"type": "object"}}]});
    let (out, report) = sent_as(G, "claude-sonnet-4.5", &several);
    assert_eq!(out["tool_choice"], "auto");
    assert!(noted(&report, "a call cannot be demanded"), "{report:?}");
}

// ---- Detection of flavours ----

#[test]
fn flavours_are_told_by_their_own_members_only() {
    for (body, name) in [
        (r#"{"model":"kimi-k3","messages":[{"role":"user","content":"x"}],"max_completion_tokens":5}"#, C),
        (
            r#"{"model":"kimi-k3","messages":[{"role":"user","content":"x"},{"role":"assistant","content":"y","partial":true}]}"#,
            K,
        ),
        (r#"{"messages":[{"role":"user","content":"x","copilot_references":[]}]}"#, G),
        (
            r#"{"id":"a","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"x","reasoning_opaque":"o"}}]}"#,
            G,
        ),
    ] {
        assert_eq!(sniff(body.as_bytes(), true).unwrap().dialect.name, name, "{body}");
    }
}

#[test]
fn answers_and_requests_are_known_without_being_named() {
    for (body, role) in [
        (
            r#"{"id":"a","choices":[{"index":0,"message":{"role":"assistant","content":"x"},"finish_reason":"stop"}]}"#,
            Role::Response,
        ),
        (
            r#"{"messages":[{"role":"system","content":"s"},{"role":"user","content":"x"}],"max_tokens":5}"#,
            Role::Request,
        ),
        (
            r#"{"model":"m","thinking":{"type":"enabled"},"messages":[{"role":"user","content":"x"},{"role":"tool","tool_call_id":"a","content":"y"}]}"#,
            Role::Request,
        ),
        (
            "data: {\"id\":\"\",\"object\":\"\",\"choices\":[]}\n\ndata: {\"id\":\"a\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"x\"}}]}\n\n",
            Role::Stream,
        ),
    ] {
        let guess = sniff(body.as_bytes(), true).unwrap();
        assert_eq!((guess.dialect.name, guess.role), (C, role), "{body}");
    }
}

// ---- Helpers ----

fn bytes(from: (&str, Role), to: (&str, Role), input: &[u8]) -> (Vec<u8>, Report) {
    run(from, to, input, &Options::default())
}

fn run(from: (&str, Role), to: (&str, Role), input: &[u8], options: &Options) -> (Vec<u8>, Report) {
    let side = |(name, role)| (Dialect::named(name).unwrap(), role);
    let mut out = Vec::new();
    let mut pipe = Pipe::new(side(from), side(to), options).unwrap();
    for piece in input.chunks(11) {
        pipe.push(piece, &mut out);
    }
    let report = pipe.finish(&mut out);
    assert!(report.adds_up());
    (out, report)
}

fn convert(from: &str, to: &str, role: Role, input: &[u8]) -> (Value, Report) {
    convert_with(from, to, role, input, &Options::default())
}

fn convert_with(from: &str, to: &str, role: Role, input: &[u8], options: &Options) -> (Value, Report) {
    let (bytes, report) = run((from, role), (to, role), input, options);
    (
        serde_json::from_slice(&bytes).unwrap_or_else(|e| panic!("{e}: {}", String::from_utf8_lossy(&bytes))),
        report,
    )
}

fn text_of(from: &str, to: &str, from_role: Role, to_role: Role, input: &str) -> String {
    String::from_utf8(bytes((from, from_role), (to, to_role), input.as_bytes()).0).unwrap()
}

/// A whole response with one choice.
fn answer(message: &Value, reason: &str) -> Vec<u8> {
    response(&json!([{"index": 0, "message": message, "finish_reason": reason}])).into_bytes()
}

fn response(choices: &Value) -> String {
    json!({"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "m", "choices": choices})
        .to_string()
}

/// A stream of choices, folded as a client does it.
fn stream(from: &str, to: &str, choices: &[Value]) -> (Value, Report) {
    let chunks: Vec<Value> = choices
        .iter()
        .map(|choice| {
            let mut choice = choice.clone();
            choice["index"] = json!(0);
            json!({"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]})
        })
        .collect();
    convert_stream(from, to, &sse(&chunks, true))
}

fn sse(chunks: &[Value], done: bool) -> String {
    let mut text = String::new();
    for chunk in chunks {
        write!(text, "data: {chunk}\n\n").unwrap();
    }
    if done {
        text.push_str("data: [DONE]\n\n");
    }
    text
}

/// An Anthropic stream, folded.
fn convert_stream(from: &str, to: &str, text: &str) -> (Value, Report) {
    let (bytes, report) = bytes((from, Role::Stream), (to, Role::Stream), text.as_bytes());
    let text = String::from_utf8(bytes).unwrap();
    let mut message = Value::Null;
    let mut partial = Vec::new();
    for event in text.lines().filter_map(|line| line.strip_prefix("data: ")) {
        let event: Value = serde_json::from_str(event).unwrap();
        let index = event["index"].as_u64().unwrap_or(0) as usize;
        match event["type"].as_str().unwrap() {
            "message_start" => message = event["message"].clone(),
            "content_block_start" => {
                message["content"].as_array_mut().unwrap().push(event["content_block"].clone());
                partial.push(String::new());
            }
            "content_block_delta" => {
                let block = &mut message["content"][index];
                for (kind, member) in [("text", "text"), ("thinking", "thinking"), ("signature", "signature")]
                {
                    if let Some(more) = event["delta"][kind].as_str() {
                        block[member] = json!(format!("{}{more}", block[member].as_str().unwrap_or("")));
                    }
                }
                partial[index].push_str(event["delta"]["partial_json"].as_str().unwrap_or(""));
            }
            "content_block_stop" if !partial[index].is_empty() => {
                message["content"][index]["input"] =
                    serde_json::from_str(&partial[index]).unwrap_or(Value::Null);
            }
            "message_delta" => {
                message["stop_reason"] = event["delta"]["stop_reason"].clone();
                merge(&mut message["usage"], &event["usage"]);
            }
            _ => {}
        }
    }
    (message, report)
}

/// The stream that Anthropic would have sent for a message.
fn anthropic_stream(body: &Value) -> String {
    let mut start = body.clone();
    start["content"] = json!([]);
    start["stop_reason"] = Value::Null;
    let mut events = vec![json!({"type": "message_start", "message": start})];
    for (index, block) in body["content"].as_array().unwrap().iter().enumerate() {
        let mut empty = block.clone();
        let deltas = match block["type"].as_str().unwrap() {
            "text" => {
                empty["text"] = json!("");
                vec![json!({"type": "text_delta", "text": block["text"]})]
            }
            "thinking" => {
                (empty["thinking"], empty["signature"]) = (json!(""), json!(""));
                let mut deltas = vec![json!({"type": "signature_delta", "signature": block["signature"]})];
                if block["thinking"] != "" {
                    deltas.insert(0, json!({"type": "thinking_delta", "thinking": block["thinking"]}));
                }
                deltas
            }
            "tool_use" => {
                empty["input"] = json!({});
                vec![json!({"type": "input_json_delta", "partial_json": block["input"].to_string()})]
            }
            _ => Vec::new(),
        };
        events.push(json!({"type": "content_block_start", "index": index, "content_block": empty}));
        events.extend(
            deltas
                .into_iter()
                .map(|delta| json!({"type": "content_block_delta", "index": index, "delta": delta})),
        );
        events.push(json!({"type": "content_block_stop", "index": index}));
    }
    events.push(json!({"type": "message_delta", "delta": {"stop_reason": body["stop_reason"]}, "usage": {"output_tokens": 1}}));
    events.push(json!({"type": "message_stop"}));
    let mut text = String::new();
    for event in events {
        write!(text, "event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap()).unwrap();
    }
    text
}

/// Folds a chat stream as a client does: strings are appended, entries with the same index are joined.
fn join(text: &str) -> Value {
    let mut message = json!({});
    for chunk in text.lines().filter_map(|line| line.strip_prefix("data: ")).filter(|data| *data != "[DONE]")
    {
        let chunk: Value = serde_json::from_str(chunk).unwrap();
        if let Some(delta) = chunk["choices"].get(0).map(|choice| &choice["delta"]) {
            accumulate(&mut message, delta);
        }
    }
    message
}

fn accumulate(known: &mut Value, delta: &Value) {
    match (known, delta) {
        (Value::Object(known), Value::Object(delta)) => {
            for (name, value) in delta {
                match known.get_mut(name) {
                    Some(_) if name == "index" || name == "type" => {}
                    Some(known) => accumulate(known, value),
                    None => _ = known.insert(name.clone(), value.clone()),
                }
            }
        }
        (Value::Array(known), Value::Array(delta)) => {
            for entry in delta {
                match known.iter_mut().find(|known| known["index"] == entry["index"]) {
                    Some(known) => accumulate(known, entry),
                    None => known.push(entry.clone()),
                }
            }
        }
        (Value::String(known), Value::String(delta)) => known.push_str(delta),
        (known, delta) => *known = delta.clone(),
    }
}

fn merge(into: &mut Value, more: &Value) {
    for (name, value) in more.as_object().unwrap() {
        into[name] = value.clone();
    }
}

fn noted(report: &Report, words: &str) -> bool {
    report.notes.iter().any(|(note, _)| note.contains(words))
}
