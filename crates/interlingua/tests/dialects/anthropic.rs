//! Members of recorded Messages API traffic that its published types do not have.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use interlingua::check::CheckWriter;
use interlingua::dialects::{Dialect, Options, Role};
use interlingua::error::Code;
use interlingua::ledger::Report;
use interlingua::pipe::Pipe;
use serde_json::{Value, json};

fn convert(role: Role, body: &str) -> (String, Report) {
    let side = |name| (Dialect::named(name).unwrap(), role);
    let pipe = Pipe::new(side("anthropic"), side("openai-chat"), &Options::default()).unwrap();
    let mut out = Vec::new();
    let report = pipe.finish_with(body.as_bytes(), &mut out);
    assert!(report.adds_up());
    (String::from_utf8(out).unwrap(), report)
}

fn sse(events: &[Value]) -> String {
    let event = |event: &Value| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap());
    events.iter().map(event).collect()
}

fn start(content: &Value) -> Value {
    json!({"type": "message_start", "message": {"id": "m", "type": "message", "role": "assistant", "model": "m",
        "content": content, "stop_reason": null, "usage": {"input_tokens": 3, "output_tokens": 1}}})
}

fn stop(reason: &str) -> Value {
    json!({"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": null}, "usage": {"output_tokens": 7}})
}

#[test]
fn a_message_may_start_with_content_and_a_call_with_its_input() {
    let stream = sse(&[
        start(&json!([{"type": "text", "text": "Hello"}])),
        json!({"type": "content_block_start", "index": 1, "content_block": {"type": "tool_use", "id": "t", "name": "n", "input": {"a": 1}}}),
        json!({"type": "content_block_stop", "index": 1}),
        stop("tool_use"),
        json!({"type": "message_stop"}),
    ]);
    let (out, report) = convert(Role::Stream, &stream);
    assert!(out.contains(r#""content":"Hello""#) && out.contains(r#""arguments":"{\"a\":1}""#), "{out}");
    assert!(out.contains(r#""finish_reason":"tool_calls""#) && out.ends_with("data: [DONE]\n\n"));
    assert!(report.lost_paths.iter().all(|row| !row.path.contains("content")), "{:?}", report.lost_paths);
}

#[test]
fn a_stream_that_ends_after_its_stop_reason_is_complete() {
    let (out, report) = convert(Role::Stream, &sse(&[start(&json!([])), stop("end_turn")]));
    assert!(out.contains(r#""finish_reason":"stop""#) && out.contains(r#""completion_tokens":7"#), "{out}");
    assert!(out.ends_with("data: [DONE]\n\n"));
    assert!(report.notes.iter().any(|(note, _)| note.starts_with("no message_stop")));
}

#[test]
fn a_result_of_the_providers_own_may_stand_without_its_call() {
    let request = json!({"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "a"},
        {"role": "assistant", "content": [{"type": "web_search_tool_result", "tool_use_id": "s1", "content": []}, {"type": "text", "text": "x"}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t9", "content": "r"}]}]});
    let anthropic = Dialect::named("anthropic").unwrap();
    let checker = Box::new(CheckWriter::default());
    let pipe = Pipe::with_writer((anthropic, Role::Request), checker, &Options::default()).unwrap();
    let report = pipe.finish_with(request.to_string().as_bytes(), &mut Vec::new());
    let found: Vec<_> = report.problems.iter().map(|found| (found.code, found.detail.as_str())).collect();
    assert_eq!(found, [(Code::ResultWithoutCall, "`t9`")]);
}

#[test]
fn p21_p22_what_stands_before_a_result_moves_after_it_and_the_report_says_so() {
    let request = json!({"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "a"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "n", "input": {}}]},
        {"role": "user", "content": [{"type": "text", "text": "before"}, {"type": "tool_result", "tool_use_id": "t1", "content": "r"}]}]});
    let (out, report) = convert(Role::Request, &request.to_string());
    let out: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(
        (&out["messages"][2]["content"], &out["messages"][3]["content"]),
        (&json!("r"), &json!("before"))
    );
    assert!(
        report.notes.iter().any(|(note, _)| note.contains("before the results of calls moved after them")),
        "{:?}",
        report.notes
    );
}

#[test]
fn the_form_of_the_answer_may_stand_where_it_was_in_trial() {
    let schema = json!({"type": "object", "properties": {"town": {"type": "string"}}, "required": ["town"]});
    let request = json!({"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "Where?"}],
        "output_format": {"type": "json_schema", "schema": schema}});
    let (out, report) = convert(Role::Request, &request.to_string());
    let out: Value = serde_json::from_str(&out).unwrap();
    assert!(out["response_format"]["json_schema"]["schema"]["properties"]["town"].is_object(), "{out}");
    assert!(report.lost_paths.is_empty(), "{:?}", report.lost_paths);
}
