//! The pitfalls of translating between `anthropic` and `openai-chat`, one test each; the number is that of the list in
//! the specification of the wire dialects. The interpretation of the output by clients is tested with the official
//! packages in `tests/sdk`.

#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test reads its fixtures, and fails if it cannot"
)]

use interlingua::dialects::{Dialect, Options, Role};
use interlingua::ledger::{Reason, Report};
use interlingua::model::Field;
use interlingua::pipe::Pipe;
use serde_json::{Value, json};

const A: &str = "anthropic";
const C: &str = "openai-chat";

// ---- P01..P18: reasoning ----

#[test]
fn p01_signed_thinking_of_a_chat_history_stands_before_its_calls() {
    let request = fixture(C, "request/replay.json");
    let (out, _) = convert(C, A, Role::Request, &request);
    let turn = &out["messages"][1]["content"];
    assert_eq!(turn[0]["type"], "thinking");
    assert_eq!(turn[0]["thinking"], "Count the masts.");
    assert_eq!(turn[0]["signature"], "c2lnLXRocmVlLW1hc3Rz");
    assert_eq!(turn[1], json!({"type": "redacted_thinking", "data": "Ym94LTI="}));
    assert_eq!(turn[2]["type"], "tool_use");
}

#[test]
fn p01_several_signed_thoughts_come_back_with_their_own_texts() {
    let response = fixture(A, "response/two-thoughts.json");
    let (chat, report) = convert(A, C, Role::Response, &response);
    assert_eq!(report.lost, 0, "{report:?}");
    assert_eq!(chat["choices"][0]["message"]["reasoning_content"], "First the rope.Then the sail.");
    let (back, _) = convert(C, A, Role::Response, chat.to_string().as_bytes());
    assert_eq!(back["content"], parse(&response)["content"]);
}

#[test]
fn p02_a_signature_without_text_is_kept() {
    let stream = fixture(A, "stream/omitted.sse");
    let (back, _) = there_and_back(A, C, Role::Stream, &stream);
    let whole = fold(A, &back);
    assert_eq!(
        whole["content"][0],
        json!({"type": "thinking", "thinking": "", "signature": "c2lnLWVtcHR5LXRleHQ="})
    );
}

#[test]
fn p03_redacted_thinking_keeps_its_place() {
    let (back, _) = there_and_back(A, C, Role::Stream, &fixture(A, "stream/redacted.sse"));
    assert_eq!(
        fold(A, &back)["content"][1],
        json!({"type": "redacted_thinking", "data": "b3BhcXVlLWJveC0x"})
    );
}

#[test]
fn p04_opaque_state_is_not_sent_to_a_backend_that_did_not_issue_it() {
    let (out, report) = convert(A, C, Role::Request, &fixture(A, "request/full.json"));
    assert!(!out.to_string().contains("c2lnLXJlcXVlc3Q="));
    assert!(lost(&report, "/messages[]/content[]/signature", Reason::Foreign), "{:?}", report.lost_paths);
    let foreign = json!({"model": "m", "messages": [{"role": "user", "content": "x"}, {"role": "assistant",
        "content": "y", "reasoning_details": [{"type": "reasoning.encrypted", "data": "Zg==", "format": "openai-responses-v1", "index": 0}]}]});
    let (out, report) = convert(C, A, Role::Request, foreign.to_string().as_bytes());
    assert!(!out.to_string().contains("Zg=="));
    assert!(
        lost(&report, "/messages[]/reasoning_details[]/data", Reason::Foreign),
        "{:?}",
        report.lost_paths
    );
    assert!(
        lost(&report, "/messages[]/reasoning_details[]/format", Reason::NoSlot),
        "{:?}",
        report.lost_paths
    );
}

#[test]
fn p05_the_same_dialect_passes_byte_for_byte() {
    let odd = b"{ \"model\":\"m\" ,\"max_tokens\" : 1e1,\"messages\":[]}\n";
    assert_eq!(bytes(A, A, Role::Request, odd).0, odd);
}

#[test]
fn p13_what_the_client_was_shown_comes_back_as_it_was() {
    let (chat, _) = convert(A, C, Role::Response, &fixture(A, "response/two-thoughts.json"));
    let mut turn = chat["choices"][0]["message"].clone();
    turn["role"] = json!("assistant");
    let request = json!({"model": "m", "messages": [{"role": "user", "content": "Go."}, turn]});
    let (out, _) = convert(C, A, Role::Request, request.to_string().as_bytes());
    assert_eq!(out["messages"][1]["content"], parse(&fixture(A, "response/two-thoughts.json"))["content"]);
}

#[test]
fn p13_reasoning_that_nobody_signed_is_dropped_from_a_request_and_reported() {
    let request = json!({"model": "m", "messages": [{"role": "user", "content": "x"},
        {"role": "assistant", "content": "y", "reasoning_content": "because"}, {"role": "user", "content": "z"}]});
    let (out, report) = convert(C, A, Role::Request, request.to_string().as_bytes());
    assert_eq!(out["messages"][1]["content"], "y");
    assert!(lost(&report, "/messages[]/reasoning_content", Reason::Refused), "{:?}", report.lost_paths);
    assert_eq!(report.lost, 1, "{:?}", report.lost_paths);
}

#[test]
fn p14_blocks_nobody_knows_are_reported_with_their_place() {
    let (_, report) = convert(A, C, Role::Request, &fixture(A, "request/server-tools.json"));
    assert!(lost(&report, "/messages[]/content[]/source", Reason::NoSlot), "{:?}", report.lost_paths);
}

#[test]
fn p18_a_second_signature_replaces_the_first() {
    let stream = String::from_utf8(fixture(A, "stream/omitted.sse")).unwrap();
    let one = "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"signature_delta\",\"signature\":\"Zmlyc3Q=\"}}\n\n";
    let at = stream.find("event: content_block_delta").unwrap();
    let stream = format!("{}{one}{}", &stream[..at], &stream[at..]);
    let chat = text(A, C, Role::Stream, stream.as_bytes());
    assert!(!chat.contains("Zmlyc3Q=") && chat.contains("c2lnLWVtcHR5LXRleHQ="), "{chat}");
    assert_eq!(fold(A, stream.as_bytes())["content"][0]["signature"], "c2lnLWVtcHR5LXRleHQ=");
}

#[test]
fn state_of_another_issuer_goes_to_a_client_and_comes_back_as_it_was() {
    let answer = json!({"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": [{"index": 0,
        "finish_reason": "stop", "message": {"role": "assistant", "content": "y", "reasoning_details": [
            {"type": "reasoning.encrypted", "data": "Zg==", "format": "openai", "index": 0}]}}]});
    let (out, report) = convert(C, A, Role::Response, answer.to_string().as_bytes());
    assert_eq!(out["content"][0], json!({"type": "redacted_thinking", "data": "interlingua:openai:Zg=="}));
    assert!(!report.lost_paths.iter().any(|row| row.path.contains("reasoning_details")), "{report:?}");
    let history = json!({"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "x"},
        {"role": "assistant", "content": out["content"]}]});
    // No backend of the other family issued the state, and none gets it.
    let (request, report) = convert(A, C, Role::Request, history.to_string().as_bytes());
    assert!(!request.to_string().contains("Zg=="), "{request}");
    assert!(lost(&report, "/messages[]/content[]/data", Reason::Foreign), "{:?}", report.lost_paths);
    // The model holds the issuer of the state.
    let (universal, _) = bytes_to(A, Role::Request, "universal", Role::Live, history.to_string().as_bytes());
    let text = String::from_utf8(universal).unwrap();
    assert!(text.contains("Zg==") && !text.contains("interlingua:openai:"), "{text}");
}

// ---- P19..P46: tool calls and results ----

#[test]
fn p19_calls_and_results_are_paired_in_every_request() {
    let (chat, report) = convert(A, C, Role::Request, &fixture(A, "request/orphans.json"));
    let roles: Vec<&str> =
        chat["messages"].as_array().unwrap().iter().map(|m| m["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["user", "assistant", "tool", "tool", "user"]);
    assert_eq!(chat["messages"][3]["tool_call_id"], "toolu_1");
    for member in ["tool_use_id", "content"] {
        let path = format!("/messages[]/content[]/{member}");
        assert!(lost(&report, &path, Reason::Refused), "{path}: {:?}", report.lost_paths);
    }
    let (back, _) = convert(C, A, Role::Request, &fixture(C, "request/replay.json"));
    assert_eq!(back["messages"][2]["content"][0]["type"], "tool_result");
    let unanswered = json!({"model": "m", "messages": [{"role": "user", "content": "x"},
        call(&[("c1", "a", "{}"), ("c2", "b", "{}")]), {"role": "tool", "tool_call_id": "c2", "content": "two"}]});
    let (out, report) = convert(C, A, Role::Request, unanswered.to_string().as_bytes());
    let results = &out["messages"][2]["content"];
    assert_eq!((&results[0]["tool_use_id"], &results[1]["tool_use_id"]), (&json!("c2"), &json!("c1")));
    assert_eq!(results[1]["is_error"], true);
    assert!(noted(&report, "call without a result"));
}

#[test]
fn p21_p22_results_come_first_and_what_stood_beside_them_stays() {
    let request = json!({"model": "m", "messages": [{"role": "user", "content": "x"}, call(&[("c1", "a", "{}"), ("c2", "b", "{}")]),
        {"role": "tool", "tool_call_id": "c1", "content": "one"}, {"role": "tool", "tool_call_id": "c2", "content": "two"},
        {"role": "user", "content": "and?"}]});
    let (out, _) = convert(C, A, Role::Request, request.to_string().as_bytes());
    assert_eq!(out["messages"].as_array().unwrap().len(), 3);
    assert_eq!(
        out["messages"][2]["content"],
        json!([{"type": "tool_result", "tool_use_id": "c1", "content": "one"},
            {"type": "tool_result", "tool_use_id": "c2", "content": "two"}, {"type": "text", "text": "and?"}])
    );
    let (chat, _) = convert(A, C, Role::Request, out.to_string().as_bytes());
    assert_eq!(chat["messages"], request["messages"]);
}

#[test]
fn p23_pictures_of_results_follow_all_results_in_one_labelled_user_message() {
    let (out, report) = convert(A, C, Role::Request, &fixture(A, "request/full.json"));
    let messages = out["messages"].as_array().unwrap();
    let last_tool = messages.iter().rposition(|m| m["role"] == "tool").unwrap();
    let media = &messages[last_tool + 1];
    assert_eq!(media["role"], "user");
    assert!(media["content"][0]["text"].as_str().unwrap().contains("toolu_a2"));
    assert_eq!(media["content"][1]["image_url"]["url"], "data:image/jpeg;base64,/9j/4AAQSkY=");
    assert!(messages[last_tool - 1]["content"].to_string().contains("attachment 1"));
    assert!(noted(&report, "media of a tool result"));
}

#[test]
fn p25_the_error_flag_comes_back_exactly() {
    for (flag, said) in
        [(true, "broken"), (false, "[tool error] as the log says"), (false, "[tool ok] fine"), (true, "")]
    {
        let mut result = json!({"type": "tool_result", "tool_use_id": "t", "content": said});
        if flag {
            result["is_error"] = json!(true);
        }
        if said.is_empty() {
            result.as_object_mut().unwrap().remove("content");
        }
        let request = json!({"model": "m", "max_tokens": 1, "messages": [{"role": "user", "content": "x"},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "a", "input": {}}]},
            {"role": "user", "content": [result]}]});
        let (back, _) = there_and_back(A, C, Role::Request, request.to_string().as_bytes());
        assert_eq!(parse(&back)["messages"], request["messages"], "{flag} {said}");
    }
}

#[test]
fn p26_p27_no_arguments_are_an_empty_object_on_both_sides() {
    let (chat, _) = convert(A, C, Role::Response, &fixture(A, "response/tools.json"));
    assert_eq!(chat["choices"][0]["message"]["tool_calls"][1]["function"]["arguments"], "{}");
    let (whole, _) = convert(C, A, Role::Response, &fixture(C, "response/tools.json"));
    assert_eq!(whole["content"][1]["input"], json!({}));
    let chat = fold(C, &bytes(A, C, Role::Stream, &fixture(A, "stream/tools.sse")).0);
    let calls = &chat["choices"][0]["message"]["tool_calls"];
    assert_eq!(calls[1]["function"]["arguments"], "{}");
    assert!(calls[0]["function"]["arguments"].as_str().unwrap().starts_with("{\"harbour\""));
}

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
fn p29_p31_fragments_find_their_call_whatever_the_server_leaves_out() {
    let whole = fold(A, &bytes(C, A, Role::Stream, &fixture(C, "stream/loose.sse")).0);
    assert_eq!(
        whole["content"],
        json!([{"type": "tool_use", "id": "call_1", "name": "haul", "input": {"rope": 1}},
            {"type": "text", "text": "Hauling."},
            {"type": "tool_use", "id": "call_2", "name": "haul", "input": {"rope": 2}}])
    );
}

#[test]
fn p33_ids_with_other_letters_are_rewritten_alike_for_call_and_result() {
    let (out, report) = convert(C, A, Role::Request, &fixture(C, "request/replay.json"));
    let id = out["messages"][1]["content"][2]["id"].as_str().unwrap();
    assert!(id.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-'), "{id}");
    assert_eq!(out["messages"][2]["content"][0]["tool_use_id"], id);
    assert!(noted(&report, "tool call id replaced"));
    let (out, _) = convert(C, A, Role::Response, &fixture(C, "response/oddids.json"));
    assert_ne!(out["content"][1]["id"], out["content"][2]["id"]);
}

#[test]
fn p33_calls_without_ids_get_ones_that_no_other_answer_has() {
    let ids = |answer: &str| {
        let stream = chunks(&[
            json!({"id": answer, "choices": [{"index": 0, "finish_reason": "tool_calls", "delta": {"tool_calls": [
            {"index": 0, "function": {"name": "f", "arguments": "{}"}}, {"index": 1, "function": {"name": "f", "arguments": "{}"}}]}}]}),
        ]);
        let whole = fold(A, &bytes(C, A, Role::Stream, stream.as_bytes()).0);
        [0, 1].map(|block: usize| whole["content"][block]["id"].as_str().unwrap().to_owned())
    };
    let (one, two) = (ids("answer-1"), ids("answer-2"));
    assert!(one[0] != one[1] && one.iter().all(|id| !two.contains(id)), "{one:?} {two:?}");
    assert_eq!(one, ids("answer-1"));
}

#[test]
fn p34_p36_long_ids_and_odd_names_fit_and_stay_different() {
    let (first, second) = ("t".repeat(70) + "1", "t".repeat(70) + "2");
    let request = json!({"model": "m", "max_tokens": 1, "messages": [{"role": "user", "content": "x"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": first, "name": "a.b", "input": {}},
            {"type": "tool_use", "id": second, "name": "a:b", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": first, "content": "1"},
            {"type": "tool_result", "tool_use_id": second, "content": "2"}]}],
        "tools": [{"name": "a.b", "input_schema": {"type": "object"}}, {"name": "a:b", "input_schema": {"type": "object"}}],
        "tool_choice": {"type": "tool", "name": "a:b"}});
    let (out, _) = convert(A, C, Role::Request, request.to_string().as_bytes());
    let calls = &out["messages"][1]["tool_calls"];
    for number in 0..2 {
        let id = calls[number]["id"].as_str().unwrap();
        assert!(id.len() <= 64);
        assert_eq!(out["messages"][2 + number]["tool_call_id"], id);
        assert_eq!(calls[number]["function"]["name"], out["tools"][number]["function"]["name"]);
    }
    assert_ne!(calls[0]["id"], calls[1]["id"]);
    assert_ne!(calls[0]["function"]["name"], calls[1]["function"]["name"]);
    assert_eq!(out["tool_choice"]["function"]["name"], calls[1]["function"]["name"]);
}

#[test]
fn p37_free_text_tools_become_functions_with_one_member() {
    let (out, report) = convert(C, A, Role::Request, &fixture(C, "request/media.json"));
    assert_eq!(out["messages"][1]["content"][0]["input"], json!({"input": "*** Begin\n+\"x\"\n"}));
    assert_eq!(out["tools"][0]["input_schema"]["required"], json!(["input"]));
    assert_eq!(out["messages"][2]["content"][0]["is_error"], true);
    assert!(noted(&report, "free-text tool"));
}

#[test]
fn p40_p41_server_tools_are_reported_and_the_choice_goes_with_them() {
    let (out, report) = convert(A, C, Role::Request, &fixture(A, "request/server-tools.json"));
    assert!(out.get("tools").is_none() && out.get("tool_choice").is_none());
    assert_eq!(out["messages"][1], json!({"role": "assistant", "content": "At six."}));
    for (path, reason) in [
        ("/tools[]/type", Reason::NoSlot),
        ("/tool_choice/name", Reason::Refused),
        ("/messages[]/content[]/type", Reason::NoSlot),
        ("/messages[]/content[]/id", Reason::NoSlot),
        ("/messages[]/content[]/name", Reason::NoSlot),
    ] {
        assert!(lost(&report, path, reason), "{path}: {:?}", report.lost_paths);
    }
}

#[test]
fn p42_a_tool_without_a_type_is_a_function() {
    let request = json!({"model": "m", "messages": [{"role": "user", "content": "x"}], "tools": [{"function": {"name": "a"}}]});
    let (out, _) = convert(C, A, Role::Request, request.to_string().as_bytes());
    assert_eq!(out["tools"], json!([{"name": "a", "input_schema": {"type": "object", "properties": {}}}]));
}

#[test]
fn p43_parallel_settings_are_left_out_without_tools_or_with_choice_none() {
    let request =
        json!({"model": "m", "messages": [{"role": "user", "content": "x"}], "parallel_tool_calls": false});
    let (out, report) = convert(C, A, Role::Request, request.to_string().as_bytes());
    assert!(out.get("tool_choice").is_none());
    assert!(lost(&report, "/parallel_tool_calls", Reason::NoSlot), "{:?}", report.lost_paths);
    let request = json!({"model": "m", "messages": [{"role": "user", "content": "x"}], "parallel_tool_calls": false,
        "tools": [{"type": "function", "function": {"name": "a"}}], "tool_choice": "none"});
    let (out, report) = convert(C, A, Role::Request, request.to_string().as_bytes());
    assert_eq!(out["tool_choice"], json!({"type": "none"}));
    assert!(lost(&report, "/parallel_tool_calls", Reason::NoSlot), "{:?}", report.lost_paths);
}

#[test]
fn p43_a_choice_without_tools_is_lost_and_not_only_noted() {
    for (choice, path) in [
        (json!({"type": "any"}), "/tool_choice/type"),
        (json!({"type": "auto"}), "/tool_choice/type"),
        (json!({"type": "tool", "name": "gone"}), "/tool_choice/name"),
    ] {
        let mut choice = choice;
        choice["disable_parallel_tool_use"] = json!(true);
        let request = json!({"model": "m", "max_tokens": 1, "messages": [{"role": "user", "content": "x"}], "tool_choice": choice});
        let (out, report) = convert(A, C, Role::Request, request.to_string().as_bytes());
        assert!(out.get("tool_choice").is_none() && out.get("parallel_tool_calls").is_none());
        assert!(lost(&report, path, Reason::NoSlot), "{:?}", report.lost_paths);
        assert!(lost(&report, "/tool_choice/disable_parallel_tool_use", Reason::NoSlot));
        assert_eq!(report.lost, request["tool_choice"].as_object().unwrap().len() as u64);
    }
}

#[test]
fn p44_a_call_cut_by_the_limit_stays_a_limit() {
    let stream = fixture(C, "stream/length-call.sse");
    let whole = fold(A, &bytes(C, A, Role::Stream, &stream).0);
    assert_eq!(whole["stop_reason"], "max_tokens");
    let (whole, report) = to_role(C, Role::Stream, A, Role::Response, &stream);
    assert_eq!(whole["content"][0]["input"]["_raw_arguments"], "{\"page\":4,\"line\":\"wind from the nor");
    assert!(noted(&report, "arguments that are no JSON object"));
    let (chat, _) = convert(A, C, Role::Response, whole.to_string().as_bytes());
    let call = &chat["choices"][0]["message"]["tool_calls"][0];
    assert_eq!(call["function"]["arguments"], "{\"page\":4,\"line\":\"wind from the nor");
    assert_eq!(chat["choices"][0]["finish_reason"], "length");
}

// ---- P47..P65: schemas, messages, parameters ----

#[test]
fn p51_every_tool_has_an_object_schema() {
    for (given, want) in [
        (json!(null), json!({"type": "object", "properties": {}})),
        (json!({}), json!({"type": "object", "properties": {}})),
        (json!({"properties": {"a": {}}}), json!({"type": "object", "properties": {"a": {}}})),
        (json!({"properties": {}, "type": "object"}), json!({"properties": {}, "type": "object"})),
    ] {
        let request = json!({"model": "m", "messages": [{"role": "user", "content": "x"}],
            "tools": [{"type": "function", "function": {"name": "a", "parameters": given}}]});
        let (out, _) = convert(C, A, Role::Request, request.to_string().as_bytes());
        assert_eq!(out["tools"][0]["input_schema"], want);
    }
}

#[test]
fn p52_the_answer_schema_crosses_without_extra_members() {
    let (out, report) = convert(C, A, Role::Request, &fixture(C, "request/full.json"));
    assert_eq!(out["output_config"]["format"].as_object().unwrap().len(), 2);
    assert!(lost(&report, "/response_format/json_schema/name", Reason::NoSlot));
    let object = json!({"model": "m", "messages": [{"role": "user", "content": "x"}], "response_format": {"type": "json_object"}});
    let (out, report) = convert(C, A, Role::Request, object.to_string().as_bytes());
    assert!(
        out.get("output_config").is_none() && noted(&report, "any JSON object asked for by an instruction")
    );
}

#[test]
fn p55_blank_text_is_dropped_and_an_empty_turn_with_it() {
    let request = json!({"model": "m", "messages": [{"role": "user", "content": "x"},
        {"role": "assistant", "content": " \n"}, {"role": "user", "content": [{"type": "text", "text": ""}, {"type": "text", "text": "\n y"}]}]});
    let (out, report) = convert(C, A, Role::Request, request.to_string().as_bytes());
    assert_eq!(
        out["messages"],
        json!([{"role": "user", "content": "x"}, {"role": "user", "content": "\n y"}])
    );
    // The role of the empty turn, the whitespace-only text, and the empty text next to it.
    assert!(lost(&report, "/messages[]/role", Reason::Refused), "{:?}", report.lost_paths);
    assert!(lost(&report, "/messages[]/content", Reason::Refused), "{:?}", report.lost_paths);
    assert!(lost(&report, "/messages[]/content[]/text", Reason::Refused), "{:?}", report.lost_paths);
    assert_eq!(report.lost, 3, "{:?}", report.lost_paths);
    let (chat, _) = convert(A, C, Role::Request, &fixture(A, "request/orphans.json"));
    assert_eq!(chat["messages"][1]["content"], Value::Null);
}

#[test]
fn p55_a_blank_text_is_lost_as_what_it_was() {
    let call = json!({"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}});
    let request = json!({"model": "m", "messages": [{"role": "user", "content": "x"},
        {"role": "assistant", "content": "y", "refusal": " ", "tool_calls": [call]}, {"role": "tool", "tool_call_id": "c", "content": "\n"}]});
    let (_, report) = convert(C, A, Role::Request, request.to_string().as_bytes());
    let fields: Vec<_> =
        report.lost_paths.iter().map(|row| (row.path.as_str(), row.field, row.reason)).collect();
    let refused = Some(Reason::Refused);
    assert!(fields.contains(&("/messages[]/content", Some(Field::ResultText), refused)), "{fields:?}");
    assert!(fields.contains(&("/messages[]/refusal", Some(Field::Refusal), refused)), "{fields:?}");
}

#[test]
fn p56_system_messages_stay_where_they_stood() {
    let (out, _) = convert(C, A, Role::Request, &fixture(C, "request/full.json"));
    let roles: Vec<&str> =
        out["messages"].as_array().unwrap().iter().map(|m| m["role"].as_str().unwrap()).collect();
    assert_eq!(out["system"], "You keep the harbour log.");
    assert_eq!(roles, ["user", "assistant", "user", "system", "assistant", "user"]);
    let misplaced = json!({"model": "m", "messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"},
        {"role": "system", "content": "metres"}, {"role": "user", "content": "c"}]});
    let (out, report) = convert(C, A, Role::Request, misplaced.to_string().as_bytes());
    assert_eq!(out.get("system"), None);
    assert_eq!(out["messages"][2]["role"], "user");
    assert!(
        out["messages"][2].to_string().contains("<system>")
            && out["messages"][2].to_string().contains("metres")
    );
    assert_eq!(out["messages"][3]["content"], "c");
    assert!(noted(&report, "system message written as marked user text"));
}

#[test]
fn p56_a_system_message_between_calls_and_results_waits_for_them() {
    let request = json!({"model": "m", "messages": [{"role": "user", "content": "x"}, call(&[("c1", "a", "{}")]),
        {"role": "system", "content": "metres"}, {"role": "tool", "tool_call_id": "c1", "content": "one"}, {"role": "assistant", "content": "y"}]});
    let (out, _) = convert(C, A, Role::Request, request.to_string().as_bytes());
    assert_eq!(out["messages"][2]["content"][0]["type"], "tool_result");
    assert_eq!(out["messages"][3], json!({"role": "system", "content": "metres"}));
}

#[test]
fn p57_developer_is_written_as_system_and_the_difference_reported() {
    let (out, report) = convert(C, A, Role::Request, &fixture(C, "request/choice.json"));
    assert_eq!(out["system"], "Be brief.");
    assert!(lost(&report, "/messages[]/role", Reason::Narrowed));
}

#[test]
fn p58_an_ending_with_the_assistant_is_noted() {
    let request = json!({"model": "m", "messages": [{"role": "user", "content": "x"}, {"role": "assistant", "content": "{"}]});
    let (_, report) = convert(C, A, Role::Request, request.to_string().as_bytes());
    assert!(noted(&report, "the conversation ends with the assistant"));
}

#[test]
fn p59_sampling_is_not_sent_where_it_is_refused() {
    for (model, sent) in
        [("claude-opus-5-5", None), ("claude-3-5-haiku", Some(0.2)), ("one-of-tomorrow", Some(0.2))]
    {
        let request = json!({"model": model, "temperature": 0.2, "seed": 1, "messages": [{"role": "user", "content": "x"}]});
        let (out, report) = convert(C, A, Role::Request, request.to_string().as_bytes());
        assert_eq!(out.get("temperature").and_then(Value::as_f64), sent, "{model}");
        assert_eq!(lost(&report, "/temperature", Reason::Refused), sent.is_none(), "{model}");
        assert!(lost(&report, "/seed", Reason::NoSlot));
        assert_eq!(out["max_tokens"], 4096);
    }
    // A value outside the target's range is clamped instead of rejected.
    let request = json!({"model": "m", "temperature": 1.7, "messages": [{"role": "user", "content": "x"}]});
    let (out, report) = convert(C, A, Role::Request, request.to_string().as_bytes());
    assert_eq!(out["temperature"], json!(1));
    assert!(
        lost(&report, "/temperature", Reason::Refused) && noted(&report, "number brought into the range")
    );
}

#[test]
fn p60_limits_have_the_name_each_target_takes() {
    let (out, _) = convert(A, C, Role::Request, &fixture(A, "request/choice.json"));
    assert_eq!((&out["max_completion_tokens"], out.get("max_tokens")), (&json!(64), None));
    let old = json!({"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "x"}]});
    assert_eq!(convert(C, A, Role::Request, old.to_string().as_bytes()).0["max_tokens"], 9);
}

#[test]
fn p62_an_end_users_id_that_is_too_long_becomes_a_hash() {
    let long = format!("user_{}_account__session_{}", "a".repeat(64), "b".repeat(36));
    let request = json!({"model": "m", "max_tokens": 1, "metadata": {"user_id": long}, "messages": [{"role": "user", "content": "x"}]});
    let (chat, report) = convert(A, C, Role::Request, request.to_string().as_bytes());
    let user = chat["user"].as_str().unwrap();
    assert!(user.len() <= 64 && !user.contains("aaa"), "{user}");
    assert!(lost(&report, "/metadata/user_id", Reason::Refused) && noted(&report, "end user's id too long"));
    assert_eq!(chat["user"], convert(A, C, Role::Request, request.to_string().as_bytes()).0["user"]);
    let short = json!({"model": "m", "user": "u".repeat(65), "messages": [{"role": "user", "content": "x"}]});
    let (out, _) = convert(C, A, Role::Request, short.to_string().as_bytes());
    assert_eq!(out["metadata"]["user_id"], "u".repeat(65), "the other API takes 256");
}

#[test]
fn media_cross_where_both_sides_have_a_place() {
    let (out, report) = convert(C, A, Role::Request, &fixture(C, "request/media.json"));
    assert_eq!(
        out["messages"][0]["content"],
        json!([{"type": "text", "text": "Read this."}, {"type": "document",
            "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0="}, "title": "chart.pdf"}])
    );
    assert!(lost(&report, "/messages[]/content[]/file/file_id", Reason::Foreign), "{:?}", report.lost_paths);
    for member in ["data", "format"] {
        let path = format!("/messages[]/content[]/input_audio/{member}");
        assert!(lost(&report, &path, Reason::Refused), "{path}: {:?}", report.lost_paths);
    }
    let (chat, _) = convert(A, C, Role::Request, out.to_string().as_bytes());
    assert_eq!(
        chat["messages"][0]["content"][1],
        parse(&fixture(C, "request/media.json"))["messages"][0]["content"][1]
    );
}

#[test]
fn effort_and_its_absence_cross() {
    for (chat, effort, thinking) in
        [("none", None, Some("disabled")), ("minimal", Some("low"), None), ("xhigh", Some("xhigh"), None)]
    {
        let request =
            json!({"model": "m", "reasoning_effort": chat, "messages": [{"role": "user", "content": "x"}]});
        let (out, _) = convert(C, A, Role::Request, request.to_string().as_bytes());
        assert_eq!(out["output_config"]["effort"].as_str(), effort);
        assert_eq!(out["thinking"]["type"].as_str(), thinking);
    }
}

// ---- P66..P80: streams, usage, errors ----

#[test]
fn p68_failures_inside_a_stream_keep_their_class() {
    let chat = text(A, C, Role::Stream, &fixture(A, "stream/error.sse"));
    let error = &data(&chat).pop().unwrap()["error"];
    assert_eq!(
        (&error["type"], &error["code"]),
        (&json!("overloaded_error"), &json!("server_is_overloaded"))
    );
    assert!(!chat.contains("[DONE]") && !chat.contains("finish_reason\":\""));
    let back = text(C, A, Role::Stream, chat.as_bytes());
    assert!(back.ends_with("{\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Too many ships in the harbour\"}}\n\n"), "{back}");
}

#[test]
fn p70_the_usage_chunk_has_no_choices_and_comes_last() {
    let chat = text(A, C, Role::Stream, &fixture(A, "stream/tools.sse"));
    let last = data(&chat).pop().unwrap();
    assert_eq!(last["choices"], json!([]));
    assert_eq!(last["usage"]["prompt_tokens"], 3161);
    assert!(chat.ends_with("data: [DONE]\n\n"));
}

#[test]
fn p71_late_counts_go_into_message_delta_and_are_not_summed() {
    let events = data(&text(C, A, Role::Stream, &fixture(C, "stream/text.sse")));
    assert_eq!(events[0]["message"]["usage"], json!({"input_tokens": 0, "output_tokens": 0}));
    let delta = events.iter().find(|event| event["type"] == "message_delta").unwrap();
    assert_eq!(
        delta["usage"],
        json!({"input_tokens": 30, "cache_creation_input_tokens": 10, "cache_read_input_tokens": 80, "output_tokens": 17,
            "output_tokens_details": {"thinking_tokens": 5}})
    );
}

#[test]
fn p72_cache_counts_convert_exactly() {
    let (chat, _) = convert(A, C, Role::Response, &fixture(A, "response/tools.json"));
    assert_eq!(chat["usage"]["prompt_tokens"], 1250);
    assert_eq!(
        chat["usage"]["prompt_tokens_details"],
        json!({"cached_tokens": 1000, "cache_write_tokens": 200})
    );
    let (back, _) = convert(C, A, Role::Response, chat.to_string().as_bytes());
    assert_eq!(back["usage"]["input_tokens"], 50);
}

#[test]
fn p74_calls_with_reason_stop_are_calls() {
    let whole = fold(A, &bytes(C, A, Role::Stream, &fixture(C, "stream/loose.sse")).0);
    assert_eq!(whole["stop_reason"], "tool_use");
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

#[test]
fn p77_a_conversation_that_is_too_long_is_recognised_by_clients_of_both() {
    let (chat, _) = convert(A, C, Role::Response, &fixture(A, "response/error-context.json"));
    assert_eq!(chat["error"]["code"], "context_length_exceeded");
    let (back, _) = convert(C, A, Role::Response, &fixture(C, "response/error-context.json"));
    assert!(back["error"]["message"].as_str().unwrap().starts_with("prompt is too long"));
}

#[test]
fn p78_counts_inside_a_choice_and_cached_tokens_beside_the_sums_are_read() {
    let response = json!({"id": "x", "object": "chat.completion", "created": 1, "model": "kimi-k3", "choices": [{"index": 0,
        "message": {"role": "assistant", "content": "y"}, "finish_reason": "stop",
        "usage": {"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11, "cached_tokens": 4}}]});
    let (out, _) = convert(C, A, Role::Response, response.to_string().as_bytes());
    assert_eq!(out["usage"], json!({"input_tokens": 5, "cache_read_input_tokens": 4, "output_tokens": 2}));
}

#[test]
fn p79_pings_and_padding_are_no_losses() {
    let paths = |report: &Report| report.lost_paths.iter().map(|row| row.path.clone()).collect::<Vec<_>>();
    let (_, report) = bytes(C, A, Role::Stream, &fixture(C, "stream/text.sse"));
    assert_eq!(paths(&report), ["/created"]);
    let (_, report) = bytes(A, C, Role::Stream, &fixture(A, "stream/tools.sse"));
    assert_eq!(
        paths(&report),
        [
            "/message/usage/cache_creation/ephemeral_1h_input_tokens",
            "/message/usage/service_tier",
            "usage/output",
        ]
    );
    assert_eq!(report.lost, 3, "{:?}", report.lost_paths);
}

#[test]
fn what_later_chunks_say_differently_is_not_taken_for_the_same() {
    let stream = chunks(&[
        json!({"id": "i", "model": "m", "created": 1, "choices": [{"index": 0, "delta": {"content": "a"}}]}),
        json!({"id": "i", "model": "m", "created": 1, "choices": [{"index": 0, "delta": {"content": "b"}, "finish_reason": "length"}]}),
        json!({"id": "j", "model": "n", "created": 2, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}),
    ]);
    let (out, report) = bytes(C, A, Role::Stream, stream.as_bytes());
    assert_eq!(fold(A, &out)["stop_reason"], "max_tokens");
    for path in ["/id", "/model", "/choices[]/finish_reason"] {
        let row = report.lost_paths.iter().find(|row| row.path == path && row.field.is_none());
        assert!(
            row.is_some_and(|row| row.count == 1 && row.first.number == 3),
            "{path}: {:?}",
            report.lost_paths
        );
    }
}

#[test]
fn counts_that_later_ones_replace_are_booked() {
    let chunk = |output: u64, reason: Value| {
        json!({"id": "i", "choices": [{"index": 0, "delta": {"content": "a"}, "finish_reason": reason}],
        "usage": {"prompt_tokens": 9, "completion_tokens": output, "total_tokens": 9 + output}})
    };
    let stream = chunks(&[chunk(1, Value::Null), chunk(2, Value::Null), chunk(3, json!("stop"))]);
    let (out, report) = to_role(C, Role::Stream, A, Role::Response, stream.as_bytes());
    assert_eq!(out["usage"], json!({"input_tokens": 9, "output_tokens": 3}));
    let row = report.lost_paths.iter().find(|row| row.path == "usage/output").unwrap();
    assert_eq!((row.count, row.reason), (2, Some(Reason::Redundant)), "{:?}", report.lost_paths);
}

#[test]
fn an_answer_that_failed_says_nothing_of_what_came_before() {
    let response = json!({"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": [{"index": 0,
        "message": {"role": "assistant", "content": "half"}, "finish_reason": "error"}]});
    let (out, report) = convert(C, A, Role::Response, response.to_string().as_bytes());
    assert_eq!(out["type"], "error");
    assert_eq!((report.mapped, report.lost), (0, 8), "{report:?}");
    let (out, report) = to_role(A, Role::Stream, C, Role::Response, &fixture(A, "stream/error.sse"));
    assert_eq!(out["error"]["message"], "Too many ships in the harbour");
    assert!(!out.to_string().contains("Half"));
    // Only the failure itself is mapped.
    assert_eq!(report.mapped, 3, "{report:?}");
}

#[test]
fn p70_counts_in_a_chunk_without_choices_are_read() {
    let stream = chunks(&[
        json!({"choices": [{"index": 0, "delta": {"content": "a"}, "finish_reason": "stop"}]}),
        json!({"usage": {"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11}}),
    ]);
    let whole = fold(A, &bytes(C, A, Role::Stream, stream.as_bytes()).0);
    assert_eq!(whole["usage"], json!({"input_tokens": 9, "output_tokens": 2}));
}

#[test]
fn p74_the_reason_says_calls_if_and_only_if_there_are_calls() {
    let reason = |delta: Value, word: &str| {
        let stream = chunks(&[json!({"choices": [{"index": 0, "delta": delta, "finish_reason": word}]})]);
        fold(A, &bytes(C, A, Role::Stream, stream.as_bytes()).0)["stop_reason"].clone()
    };
    let call = json!({"tool_calls": [{"index": 0, "id": "c", "function": {"name": "f", "arguments": "{}"}}]});
    assert_eq!(reason(call.clone(), "stop"), "tool_use");
    assert_eq!(reason(call, "length"), "max_tokens");
    assert_eq!(reason(json!({"content": "a"}), "tool_calls"), "end_turn", "a client would wait for ever");
    let ended = json!({"id": "m", "type": "message", "role": "assistant", "model": "m", "stop_reason": "end_turn",
        "stop_sequence": null, "content": [{"type": "tool_use", "id": "t", "name": "f", "input": {}}], "usage": {}});
    let (chat, _) = convert(A, C, Role::Response, ended.to_string().as_bytes());
    assert_eq!(chat["choices"][0]["finish_reason"], "tool_calls");
}

#[test]
fn the_function_call_of_2023_is_a_call() {
    let request = json!({"model": "m", "functions": [{"name": "f", "parameters": {"type": "object"}}],
        "function_call": {"name": "f"}, "messages": [{"role": "user", "content": "x"},
        {"role": "assistant", "content": null, "function_call": {"name": "f", "arguments": "{\"a\":1}"}},
        {"role": "function", "name": "f", "content": "done"}]});
    let (out, report) = convert(C, A, Role::Request, request.to_string().as_bytes());
    assert_eq!(out["tools"][0]["name"], "f");
    assert_eq!(out["tool_choice"], json!({"type": "tool", "name": "f"}));
    assert_eq!(out["messages"][1]["content"][0]["input"], json!({"a": 1}));
    assert_eq!(out["messages"][2]["content"][0]["tool_use_id"], out["messages"][1]["content"][0]["id"]);
    assert!(noted(&report, "result without an id"));
    let stream = chunks(&[
        json!({"choices": [{"index": 0, "delta": {"function_call": {"name": "f", "arguments": "{\"a\""}}}]}),
        json!({"choices": [{"index": 0, "delta": {"function_call": {"arguments": ":1}"}}}]}),
        json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "function_call"}]}),
    ]);
    let whole = fold(A, &bytes(C, A, Role::Stream, stream.as_bytes()).0);
    assert_eq!(
        (&whole["content"][0]["input"], &whole["stop_reason"]),
        (&json!({"a": 1}), &json!("tool_use"))
    );
}

#[test]
fn p31_arguments_sent_as_an_object_before_the_id_are_kept() {
    let stream = chunks(&[
        json!({"choices": [{"index": 0, "delta": {"tool_calls": [{"index": 0, "function": {"name": "f", "arguments": {"x": "ü\n"}}}]}}]}),
        json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}),
    ]);
    let whole = fold(A, &bytes(C, A, Role::Stream, stream.as_bytes()).0);
    assert_eq!(whole["content"][0]["input"], json!({"x": "ü\n"}));
}

#[test]
fn p31_arguments_that_are_neither_text_nor_an_object_are_lost() {
    for odd in [json!(5), json!([1]), json!(true)] {
        let call = json!({"id": "c", "type": "function", "function": {"name": "f", "arguments": odd}});
        let message = json!({"role": "assistant", "content": null, "tool_calls": [call]});
        let answer = json!({"object": "chat.completion", "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]});
        let (whole, report) = convert(C, A, Role::Response, answer.to_string().as_bytes());
        assert_eq!(whole["content"][0]["input"], json!({}), "{odd}");
        let rows = report.lost_paths.iter().filter(|row| row.path.contains("/function/arguments"));
        assert_eq!(rows.count(), 1, "{report:?}");
    }
}

#[test]
fn calls_without_an_id_have_another_in_every_answer() {
    let id = |answer: &str| {
        let message =
            json!({"role": "assistant", "content": null, "function_call": {"name": "f", "arguments": "{}"}});
        let answer = json!({"id": answer, "object": "chat.completion", "choices": [{"index": 0, "message": message, "finish_reason": "function_call"}]});
        convert(C, A, Role::Response, answer.to_string().as_bytes()).0["content"][0]["id"].clone()
    };
    assert_eq!(id("a"), id("a"));
    assert_ne!(id("a"), id("b"));
}

#[test]
fn no_arguments_sent_as_an_object_are_no_piece_of_a_stream() {
    let call = json!({"index": 0, "id": "c", "type": "function", "function": {"name": "f", "arguments": {}}});
    let stream = chunks(&[
        json!({"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]}),
        json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}),
    ]);
    let out = text(C, A, Role::Stream, stream.as_bytes());
    assert!(out.contains("tool_use") && !out.contains("input_json_delta"), "{out}");
}

#[test]
fn p41_a_tool_of_an_unknown_kind_is_reported_and_not_offered_as_a_function() {
    let request = json!({"model": "m", "messages": [{"role": "user", "content": "x"}],
        "tools": [{"type": "builtin_function", "function": {"name": "$web_search"}}]});
    let (out, report) = convert(C, A, Role::Request, request.to_string().as_bytes());
    assert!(out.get("tools").is_none(), "{out}");
    assert!(lost(&report, "/tools[]/function/name", Reason::NoSlot), "{:?}", report.lost_paths);
}

#[test]
fn what_is_said_after_a_failure_is_booked() {
    let stream = chunks(&[
        json!({"choices": [{"index": 0, "delta": {"content": "a"}}]}),
        json!({"error": {"message": "boom", "code": 429}}),
        json!({"choices": [{"index": 0, "delta": {"content": "late"}, "finish_reason": "stop"}]}),
    ]);
    let (out, report) = bytes(C, A, Role::Stream, stream.as_bytes());
    let out = String::from_utf8(out).unwrap();
    assert!(
        out.ends_with(
            "{\"type\":\"error\",\"error\":{\"type\":\"rate_limit_error\",\"message\":\"boom\"}}\n\n"
        ),
        "{out}"
    );
    assert!(lost(&report, "/choices[]/delta/content", Reason::Refused), "{:?}", report.lost_paths);
    assert!(lost(&report, "turn/stop", Reason::Refused), "{:?}", report.lost_paths);
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
fn choices_without_an_index_are_told_apart_by_their_place() {
    let response = json!({"choices": [{"message": {"content": "a"}, "finish_reason": "stop"}, {"message": {"content": "b"}}]});
    let (out, report) = convert(C, A, Role::Response, response.to_string().as_bytes());
    assert_eq!(out["content"], json!([{"type": "text", "text": "a"}]));
    assert!(lost(&report, "/choices[]/message/content", Reason::NoSlot));
}

#[test]
fn only_the_first_of_several_choices_is_told() {
    let choice = |index, text| json!({"index": index, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"});
    let response = json!({"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice(1, "b"), choice(0, "a")]});
    let (out, report) = convert(C, A, Role::Response, response.to_string().as_bytes());
    assert_eq!(out["content"], json!([{"type": "text", "text": "a"}]));
    assert!(lost(&report, "/choices[]/message/content", Reason::NoSlot));
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
fn a_call_that_a_cut_stream_never_named_is_told_all_the_same() {
    let stream = chunks(&[
        json!({"id": "i", "model": "m", "created": 1, "choices": [{"index": 0, "delta": {"content": "a"}}]}),
        json!({"id": "i", "model": "m", "created": 1, "choices": [{"index": 0, "delta": {"tool_calls":
            [{"index": 0, "id": "call_1", "type": "function", "function": {"arguments": "{\"a\":\"SECRET\"}"}}]}}]}),
    ]);
    let stream = stream.replace("data: [DONE]\n\n", "");
    let (record, _) = to_role(C, Role::Stream, "record", Role::Log, stream.as_bytes());
    assert!(record.to_string().contains("SECRET"), "{record}");
}

#[test]
fn a_delta_that_is_a_list_is_not_understood() {
    let stream = chunks(&[
        json!({"id": "i", "model": "m", "created": 1, "choices": [{"index": 0, "delta": {"content": "a"}}]}),
        json!({"id": "i", "model": "m", "created": 1, "choices": [{"index": 0, "delta": ["LISTED"], "finish_reason": "stop"}]}),
    ]);
    let (_, report) = bytes(C, A, Role::Stream, stream.as_bytes());
    assert!(report.lost_paths.iter().any(|row| row.path == "/choices[]/delta[]"), "{report:?}");
}

// ---- both ways ----

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

// ---- settings, marks, documents, citations, several choices ----

#[test]
fn settings_that_only_one_side_has_are_lost_and_told() {
    let request = json!({"model": "m", "messages": [{"role": "user", "content": "x"}], "n": 2, "seed": 3, "verbosity": "low",
        "frequency_penalty": 0.1, "presence_penalty": 0.2, "logprobs": true, "top_logprobs": 4, "modalities": ["text"],
        "metadata": {"a": "b"}, "prompt_cache_key": "k"});
    let (out, report) = convert(C, A, Role::Request, request.to_string().as_bytes());
    assert_eq!(
        out,
        json!({"model": "m", "max_tokens": 4096, "messages": [{"role": "user", "content": "x"}]})
    );
    for field in [
        Field::AnswerCount,
        Field::Seed,
        Field::Verbosity,
        Field::FrequencyPenalty,
        Field::Metadata,
        Field::CacheKey,
    ] {
        assert!(report.lost_paths.iter().any(|row| row.field == Some(field)), "{field:?}: {report:?}");
    }
    let sampling =
        json!({"model": "m", "max_tokens": 9, "top_k": 5, "messages": [{"role": "user", "content": "x"}]});
    let (_, report) = convert(A, C, Role::Request, sampling.to_string().as_bytes());
    assert!(lost(&report, "/top_k", Reason::Refused), "{:?}", report.lost_paths);
}

#[test]
fn how_to_think_is_read_and_written() {
    let thinking = |thinking: Value| json!({"model": "m", "max_tokens": 9000, "thinking": thinking, "messages": [{"role": "user", "content": "x"}]});
    for value in [
        json!({"type": "enabled", "budget_tokens": 2000, "display": "omitted"}),
        json!({"type": "adaptive", "display": "summarized"}),
    ] {
        let request = thinking(value.clone());
        let (universal, _) =
            bytes_to(A, Role::Request, "universal", Role::Live, request.to_string().as_bytes());
        let (back, _) = to_role("universal", Role::Live, A, Role::Request, &universal);
        // Our own form carries the value; chat has no field for it.
        if back.get("thinking").is_some() {
            assert_eq!(back["thinking"], value);
        }
        let (chat, report) = convert(A, C, Role::Request, request.to_string().as_bytes());
        assert!(!chat.to_string().contains("display"), "{chat}");
        assert!(lost(&report, "/thinking/type", Reason::NoSlot), "{:?}", report.lost_paths);
    }
}

#[test]
fn marks_for_the_cache_cross_and_their_lifetimes_do_not() {
    let mark = json!({"type": "ephemeral", "ttl": "1h"});
    let request = json!({"model": "m", "max_tokens": 9, "cache_control": mark,
        "tools": [{"name": "t", "input_schema": {"type": "object"}, "cache_control": mark}],
        "system": [{"type": "text", "text": "s", "cache_control": mark}],
        "messages": [{"role": "user", "content": [{"type": "text", "text": "x", "cache_control": mark}]}]});
    let (chat, report) = convert(A, C, Role::Request, request.to_string().as_bytes());
    let marked = json!([{"type": "text", "text": "s", "prompt_cache_breakpoint": {"mode": "explicit"}}]);
    assert_eq!(chat["messages"][0]["content"], marked);
    assert_eq!(chat["messages"][1]["content"][0]["prompt_cache_breakpoint"], json!({"mode": "explicit"}));
    assert!(lost(&report, "/system[]/cache_control/ttl", Reason::Narrowed), "{:?}", report.lost_paths);
    assert!(lost(&report, "/tools[]/cache_control/type", Reason::NoSlot), "{:?}", report.lost_paths);
    assert!(lost(&report, "/cache_control/type", Reason::NoSlot), "{:?}", report.lost_paths);
    let (back, _) = convert(C, A, Role::Request, chat.to_string().as_bytes());
    assert_eq!(
        back["system"],
        json!([{"type": "text", "text": "s", "cache_control": {"type": "ephemeral"}}])
    );
}

#[test]
fn a_text_document_is_text_elsewhere_and_what_is_said_about_it_stands_before_it() {
    let document = json!({"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "plain"},
        "title": "T", "context": "c", "citations": {"enabled": true}});
    let request =
        json!({"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": [document]}]});
    let (chat, report) = convert(A, C, Role::Request, request.to_string().as_bytes());
    assert_eq!(chat["messages"][0]["content"], "[document: T]\n[about it: c]\nplain");
    assert!(noted(&report, "text document written as text"));
    let path = "/messages[]/content[]/citations/enabled";
    assert!(lost(&report, path, Reason::NoSlot), "{:?}", report.lost_paths);
}

#[test]
fn citations_of_the_web_cross_with_the_place_of_their_text() {
    let answer = json!({"id": "m1", "type": "message", "role": "assistant", "model": "m", "content": [
        {"type": "text", "text": "Zażółć. "},
        {"type": "text", "text": "Tide at six.", "citations": [{"type": "web_search_result_location", "url": "http://t",
            "title": "Tides", "encrypted_index": "e", "cited_text": "six"}]}],
        "stop_reason": "end_turn", "stop_sequence": null, "usage": {"input_tokens": 1, "output_tokens": 2}});
    let (chat, report) = convert(A, C, Role::Response, answer.to_string().as_bytes());
    assert_eq!(
        chat["choices"][0]["message"]["annotations"],
        json!([{"type": "url_citation", "url_citation": {"start_index": 8, "end_index": 19, "title": "Tides", "url": "http://t"}}])
    );
    assert!(lost(&report, "/content[]/citations[]/cited_text", Reason::NoSlot), "{:?}", report.lost_paths);
    let (back, _) = convert(C, A, Role::Response, chat.to_string().as_bytes());
    let citation = &back["content"][0]["citations"][0];
    assert_eq!(
        (&citation["type"], &citation["url"]),
        (&json!("web_search_result_location"), &json!("http://t"))
    );
}

#[test]
fn several_answers_are_choices_and_elsewhere_the_first_is_told() {
    let chunk = |index: u64, delta: Value, reason: Value| {
        json!({"id": "x", "object": "chat.completion.chunk", "created": 1,
        "model": "m", "choices": [{"index": index, "delta": delta, "finish_reason": reason}]})
    };
    let stream = chunks(&[
        chunk(0, json!({"role": "assistant", "content": "a"}), Value::Null),
        chunk(1, json!({"role": "assistant", "content": "b"}), Value::Null),
        chunk(0, json!({"content": "a"}), json!("stop")),
        chunk(1, json!({"content": "b"}), json!("length")),
    ]);
    let (whole, _) = bytes_to(C, Role::Stream, C, Role::Response, stream.as_bytes());
    let choices = parse(&whole)["choices"].clone();
    let told = |at: usize| {
        (
            choices[at]["index"].clone(),
            choices[at]["message"]["content"].clone(),
            choices[at]["finish_reason"].clone(),
        )
    };
    assert_eq!(told(0), (json!(0), json!("aa"), json!("stop")));
    assert_eq!(told(1), (json!(1), json!("bb"), json!("length")));
    let (anthropic, report) = bytes_to(C, Role::Stream, A, Role::Stream, stream.as_bytes());
    assert!(!String::from_utf8(anthropic).unwrap().contains('b'.to_string().repeat(2).as_str()));
    assert!(lost(&report, "/choices[]/delta/content", Reason::NoSlot), "{:?}", report.lost_paths);
}

#[test]
fn sound_is_counted_apart() {
    let usage = json!({"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15,
        "prompt_tokens_details": {"audio_tokens": 4}, "completion_tokens_details": {"audio_tokens": 2}});
    let answer = json!({"id": "x", "object": "chat.completion", "created": 1, "model": "m", "usage": usage,
        "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "y"}}]});
    let (stream, _) = bytes_to(C, Role::Response, C, Role::Stream, answer.to_string().as_bytes());
    assert!(data(&String::from_utf8(stream).unwrap()).iter().any(|chunk| chunk["usage"] == usage));
    let (_, report) = convert(C, A, Role::Response, answer.to_string().as_bytes());
    assert!(
        lost(&report, "/usage/prompt_tokens_details/audio_tokens", Reason::NoSlot),
        "{:?}",
        report.lost_paths
    );
}

#[test]
fn what_a_stop_reason_adds_stays_with_its_family() {
    let detail = json!({"type": "refusal", "category": "cyber", "explanation": "e"});
    let answer = json!({"id": "m1", "type": "message", "role": "assistant", "model": "m", "content": [{"type": "text", "text": "no"}],
        "stop_reason": "refusal", "stop_sequence": null, "stop_details": detail, "usage": {"input_tokens": 1, "output_tokens": 2}});
    let (stream, _) = bytes_to(A, Role::Response, A, Role::Stream, answer.to_string().as_bytes());
    assert!(
        data(&String::from_utf8(stream).unwrap())
            .iter()
            .any(|event| event["delta"]["stop_details"] == detail)
    );
    let (_, report) = convert(A, C, Role::Response, answer.to_string().as_bytes());
    assert!(lost(&report, "/stop_details", Reason::NoSlot), "{:?}", report.lost_paths);
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

// ---- tools ----

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

fn bytes_to(from: &str, role: Role, to: &str, to_role: Role, input: &[u8]) -> (Vec<u8>, Report) {
    let pipe = pipe(from, role, to, to_role);
    let mut out = Vec::new();
    let report = pipe.finish_with(input, &mut out);
    assert!(report.adds_up(), "{report:?}");
    (out, report)
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

/// A stream of these chunks.
fn chunks(chunks: &[Value]) -> String {
    let lines: Vec<String> = chunks.iter().map(Value::to_string).collect();
    format!("data: {}\n\ndata: [DONE]\n\n", lines.join("\n\ndata: "))
}

/// The documents of a stream. Each must be one line of JSON.
fn data(stream: &str) -> Vec<Value> {
    let lines =
        stream.lines().filter_map(|line| line.strip_prefix("data: ")).filter(|line| *line != "[DONE]");
    lines.map(|line| parse(line.as_bytes())).collect()
}

fn call(calls: &[(&str, &str, &str)]) -> Value {
    let calls: Vec<Value> = calls
        .iter()
        .map(|(id, name, arguments)| json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}))
        .collect();
    json!({"role": "assistant", "content": null, "tool_calls": calls})
}

fn lost(report: &Report, path: &str, reason: Reason) -> bool {
    report.lost_paths.iter().any(|row| row.path == path && row.reason == Some(reason))
}

fn noted(report: &Report, what: &str) -> bool {
    report.notes.iter().any(|(note, _)| note.starts_with(what))
}

fn folder(dialect: &str) -> std::path::PathBuf {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
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
