//! The conformance list of universal events, one test per fact. The numbers in the names are those of the list.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use interlingua::dialects::Options;
use interlingua::ledger::Fate;
use serde_json::Value;

use super::{
    Source, convert_in, each, fixture, is_lines, item, of, parse, sources, stream, text_of, universal,
    with_raw,
};

#[test]
fn list_1_every_event_has_exactly_the_ten_envelope_keys() {
    let keys = "event_id sequence time session_id native_session_id synthetic source type data raw";
    each(|events| {
        for event in events {
            let found: Vec<&str> = event.as_object().unwrap().keys().map(String::as_str).collect();
            assert_eq!(found.join(" "), keys);
        }
    });
}

#[test]
fn list_2_the_first_event_is_session_started_by_us() {
    each(|events| {
        let first = &events[0];
        assert_eq!(first["sequence"], 1);
        assert_eq!(first["type"], "session.started");
        assert_eq!(first["synthetic"], true);
        assert_eq!(first["source"], "daemon");
    });
}

#[test]
fn list_3_4_5_sequences_are_contiguous_and_event_ids_name_session_and_sequence() {
    each(|events| {
        for (at, event) in events.iter().enumerate() {
            assert_eq!(event["sequence"], at + 1);
            let id = format!("evt_{}_{}", event["session_id"].as_str().unwrap(), at + 1);
            assert_eq!(event["event_id"], id);
            assert_eq!(event["session_id"], events[0]["session_id"]);
        }
    });
}

#[test]
fn list_6_what_is_synthetic_comes_from_us_and_nothing_else_does() {
    each(|events| {
        for event in events {
            assert_eq!(event["synthetic"] == true, event["source"] == "daemon");
        }
    });
}

#[test]
fn list_7_types_and_data_follow_the_schema() {
    each(|events| {
        for event in events {
            let needed: &[&str] = match event["type"].as_str().unwrap() {
                "session.started" => &["metadata"],
                "session.ended" => &["reason", "terminated_by"],
                "turn.started" | "turn.ended" => &["phase", "turn_id"],
                "item.started" | "item.completed" => &["item"],
                "item.delta" => &["item_id", "native_item_id", "delta", "part", "content_type"],
                "permission.requested" | "permission.resolved" => {
                    &["permission_id", "action", "status", "metadata"]
                }
                "question.requested" | "question.resolved" => {
                    &["question_id", "prompt", "options", "response", "status"]
                }
                "error" => &["message"],
                "agent.unparsed" => &["error", "location"],
                other => panic!("unknown type {other}"),
            };
            for name in needed {
                assert!(event["data"].get(name).is_some(), "{name} in {event}");
            }
            if let Some(item) = event["data"].get("item") {
                check_item(item);
            }
        }
    });
}

fn check_item(item: &Value) {
    for name in ["item_id", "native_item_id", "parent_id", "kind", "role", "content", "status"] {
        assert!(item.get(name).is_some(), "{name} in {item}");
    }
    assert!(
        ["message", "tool_call", "tool_result", "system", "status"].contains(&item["kind"].as_str().unwrap())
    );
    assert!(["in_progress", "completed", "failed"].contains(&item["status"].as_str().unwrap()));
    for part in item["content"].as_array().unwrap() {
        let needed: &[&str] = match part["type"].as_str().unwrap() {
            "text" => &["text"],
            "json" => &["json"],
            "tool_call" => &["name", "arguments", "call_id"],
            "tool_result" => &["call_id", "output"],
            "file_ref" => &["path", "action"],
            "reasoning" => &["text", "visibility"],
            "image" => &["path"],
            "status" => &["label"],
            other => panic!("unknown part {other}"),
        };
        for name in needed {
            assert!(part.get(name).is_some(), "{name} in {part}");
        }
    }
}

#[test]
fn list_8_events_that_are_read_and_written_again_are_byte_equal() {
    for source in sources() {
        for options in [Options::default(), with_raw()] {
            let (once, _) = convert_in(&[&source.bytes], source.dialect, "universal", &options);
            let (again, report) = convert_in(&[&once], "universal", "universal", &options);
            let (once, again) = (String::from_utf8(once).unwrap(), String::from_utf8(again).unwrap());
            let is_reordered = is_reordered(&once);
            for (line, other) in once.lines().zip(again.lines()) {
                if is_reordered {
                    assert_eq!(sorted(line), sorted(other), "{}", source.name);
                } else {
                    assert_eq!(line, other, "{}", source.name);
                }
            }
            assert_eq!(once.len(), again.len(), "{}", source.name);
            assert!(options.include_raw || report.kept == 0, "nothing is kept beside the events");
            let options = options.with_trace(true);
            let (_, report) = convert_in(&[once.as_bytes()], "universal", "universal", &options);
            for leaf in report.trace.iter().filter(|leaf| leaf.fate != Fate::Mapped) {
                let line = once.lines().nth(leaf.frame as usize - 1).unwrap();
                let span = leaf.span.clone().expect("nothing is lost later");
                assert!(is_made_anew(line, span.start), "{} {}", source.name, &line[span]);
            }
        }
    }
}

/// Whether a message has a part without a delta, such as redacted reasoning or a picture, before a part with text. The part is
/// known only from the completed item, so it comes after the text when the events are read.
fn is_reordered(events: &str) -> bool {
    of(&parse(events.as_bytes()), "item.completed").into_iter().any(|event| {
        let parts = item(event)["content"].as_array().unwrap();
        let has_text = |part: &Value| part["text"].as_str().is_some_and(|text| !text.is_empty());
        item(event)["role"] == "assistant" && parts.iter().skip_while(|part| has_text(part)).any(has_text)
    })
}

/// The bytes of an event in any order, without digits: the index of a part depends on the order.
fn sorted(line: &str) -> Vec<u8> {
    let mut bytes: Vec<u8> = line.bytes().filter(|byte| !byte.is_ascii_digit()).collect();
    bytes.sort_unstable();
    bytes
}

/// Whether a writer generates this leaf itself: numbers and names of events, whole generated events, values derived
/// from adjacent values, and the agent's line in `raw`.
fn is_made_anew(line: &str, at: usize) -> bool {
    let event: Value = serde_json::from_str(line).unwrap();
    let name = line[..at].trim_end_matches(':').rsplit('"').nth(1).unwrap();
    let label = item(&event)["content"][0]["label"].as_str().unwrap_or_default();
    let of_ours = ["session.updated", "usage", "request", "rewound", "compacted"].contains(&label);
    ["event_id", "sequence", "session_id", "source", "synthetic", "phase", "visibility"].contains(&name)
        || event["synthetic"] == true
        || (of_ours && (event["type"] == "item.started" || name == "item_id"))
        || line.find(",\"raw\":").is_some_and(|raw| at > raw)
}

#[test]
fn list_9_time_is_utc_and_never_goes_back() {
    each(|events| {
        let mut last = String::new();
        for event in events {
            let time = event["time"].as_str().unwrap().strip_suffix('Z').expect("UTC").to_owned();
            assert!(time >= last, "{time} after {last}");
            last = time;
        }
    });
}

#[test]
fn list_10_11_raw_is_the_agents_line_and_every_line_is_the_raw_of_one_event() {
    for source in sources() {
        let (out, report) = convert_in(&[&source.bytes], source.dialect, "universal", &with_raw());
        assert_eq!(report.lost, 0, "{} {:?}", source.name, report.lost_paths);
        if !is_lines(&source) {
            continue;
        }
        let text = std::str::from_utf8(&out).unwrap();
        let lines = std::str::from_utf8(&source.bytes).unwrap().lines();
        let mut lines = lines.filter(|line| serde_json::from_str::<Value>(line).is_ok());
        for event in text.lines() {
            let parsed: Value = serde_json::from_str(event).unwrap();
            if !parsed["raw"].is_null() {
                assert_eq!(parsed["source"], "agent");
                let line = lines.next().unwrap();
                assert!(event.ends_with(&format!(",\"raw\":{}}}", line.trim())), "{} {event}", source.name);
            }
        }
        assert_eq!(lines.next(), None, "{}", source.name);
    }
}

#[test]
fn list_12_13_14_items_start_once_grow_and_complete_once() {
    each(|events| {
        let (mut open, mut done) = (HashSet::new(), HashSet::new());
        for event in events {
            let id = event["data"].get("item_id").or(item(event).get("item_id"));
            let Some(id) = id.and_then(Value::as_str) else { continue };
            match event["type"].as_str().unwrap() {
                "item.started" => assert!(!done.contains(id) && open.insert(id), "{id} started twice"),
                "item.delta" => assert!(open.contains(id), "{id} is not open"),
                _ => assert!(open.remove(id) && done.insert(id), "{id} completed without start"),
            }
        }
        assert!(open.is_empty(), "{open:?} never completed");
    });
}

#[test]
fn list_15_deltas_joined_are_the_text_of_the_completed_item() {
    each(|events| {
        let mut said: BTreeMap<(&str, &str), String> = BTreeMap::new();
        for delta in of(events, "item.delta") {
            let data = &delta["data"];
            let kind = data["content_type"].as_str().unwrap();
            let key = (data["item_id"].as_str().unwrap(), kind);
            said.entry(key).or_default().push_str(data["delta"].as_str().unwrap());
        }
        for event in of(events, "item.completed") {
            let id = item(event)["item_id"].as_str().unwrap();
            // The deltas of a running command are the text of its result.
            let text = if item(event)["kind"] == "tool_result" { "tool_result" } else { "text" };
            for (delta, part) in [("text", text), ("reasoning", "reasoning"), ("arguments", "tool_call")] {
                if let Some(said) = said.get(&(id, delta)) {
                    assert_eq!(*said, text_of(item(event), part), "{id}");
                }
            }
        }
    });
}

#[test]
fn list_16_17_whole_assistant_messages_get_one_synthetic_delta_and_streamed_ones_none() {
    each(|events| {
        for event in of(events, "item.completed") {
            let item = item(event);
            if item["kind"] != "message" || item["role"] != "assistant" {
                continue;
            }
            let deltas = of(events, "item.delta");
            let deltas = deltas.iter().filter(|delta| delta["data"]["item_id"] == item["item_id"]);
            let (ours, native): (Vec<&&Value>, Vec<&&Value>) =
                deltas.partition(|delta| delta["synthetic"] == true);
            assert!(ours.is_empty() || native.is_empty());
            // One for each part with text.
            let parts = item["content"].as_array().unwrap().iter().filter_map(|part| part["text"].as_str());
            let parts = parts.filter(|text| !text.is_empty()).count();
            assert!(if native.is_empty() { ours.len() == parts } else { parts > 0 }, "{item}");
        }
    });
    let partial = fixture("claude_stream/2026-11/partial.jsonl");
    assert!(of(&partial, "item.delta").iter().all(|delta| delta["synthetic"] == false));
    let plain = fixture("claude_stream/2026-11/plain.jsonl");
    assert!(of(&plain, "item.delta").iter().all(|delta| delta["synthetic"] == true));
}

#[test]
fn list_18_reasoning_deltas_are_told_from_text() {
    let events = fixture("claude_stream/2026-11/partial.jsonl");
    let deltas = of(&events, "item.delta");
    let kinds: BTreeSet<&str> =
        deltas.iter().map(|delta| delta["data"]["content_type"].as_str().unwrap()).collect();
    assert_eq!(kinds.into_iter().collect::<Vec<_>>(), ["arguments", "reasoning", "text"]);
}

#[test]
fn list_19_item_ids_are_ours_and_count_up() {
    each(|events| {
        for (at, event) in of(events, "item.started").into_iter().enumerate() {
            assert_eq!(item(event)["item_id"], format!("itm_{}", at + 1));
        }
    });
}

#[test]
fn list_20_parents_have_started() {
    each(|events| {
        let mut started = HashSet::new();
        for event in of(events, "item.started") {
            if let Some(parent) = item(event)["parent_id"].as_str() {
                assert!(started.contains(parent), "{parent}");
            }
            started.insert(item(event)["item_id"].as_str().unwrap());
        }
    });
}

#[test]
fn list_21_22_every_tool_result_has_an_earlier_call() {
    each(|events| {
        let mut calls = HashSet::new();
        for event in events {
            let content = item(event).get("content").and_then(|content| content.get(0));
            let Some(part) = content.filter(|part| part.get("call_id").is_some()) else { continue };
            match (event["type"].as_str().unwrap(), item(event)["kind"].as_str().unwrap()) {
                ("item.completed", "tool_call") => drop(calls.insert(part["call_id"].clone())),
                ("item.started", "tool_result") => assert!(calls.contains(&part["call_id"]), "{part}"),
                _ => {}
            }
        }
    });
    let line = r#"{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"x"}]}}"#;
    let events = stream(line);
    let items: Vec<_> = of(&events, "item.started").iter().map(|event| item(event)["kind"].clone()).collect();
    assert_eq!(items, ["tool_call", "tool_result"]);
}

#[test]
fn list_23_24_a_failed_tool_is_failed_and_its_plain_output_stays_plain() {
    let events = fixture("claude_stream/2026-11/plain.jsonl");
    let completed = of(&events, "item.completed");
    let results: Vec<_> =
        completed.iter().map(|event| item(event)).filter(|item| item["kind"] == "tool_result").collect();
    assert_eq!(results[0]["status"], "failed");
    assert_eq!(results[0]["content"][0]["output"], "Exit code 3\nhello\nworld\noops");
    assert_eq!(results[1]["status"], "completed");
    assert_eq!(results[1]["content"][0]["output"], "1\thello\n2\tworld\n3\t");
}

#[test]
fn list_28_plain_and_partial_output_have_the_same_skeleton() {
    // The deltas differ in number only.
    let skeleton = |name: &str| {
        let events = fixture(name);
        let mut said: Vec<String> = Vec::new();
        for event in of(&events, "item.completed") {
            let kind = item(event)["kind"].as_str().unwrap();
            if kind != "status" {
                let kinds =
                    item(event)["content"].as_array().unwrap().iter().map(|part| part["type"].to_string());
                said.push(format!("{kind} {}", kinds.collect::<String>()));
            }
        }
        said
    };
    let partial = skeleton("claude_stream/2026-11/partial.jsonl");
    let expected = [
        "message \"reasoning\"",
        "message \"text\"",
        "tool_call \"tool_call\"",
        "tool_result \"tool_result\"",
        "message \"text\"",
    ];
    assert_eq!(partial, expected);
    let plain = skeleton("claude_stream/2026-11/plain.jsonl");
    assert!(expected.iter().all(|kind| plain.iter().any(|found| found == kind)), "{plain:?}");
}

#[test]
fn list_29_30_turns_start_and_end_in_pairs() {
    each(|events| {
        let mut open: Option<&Value> = None;
        let mut seen = HashSet::new();
        for event in events {
            let id = &event["data"]["turn_id"];
            match event["type"].as_str().unwrap() {
                "turn.started" => {
                    assert!(open.replace(id).is_none());
                    assert!(seen.insert(id.clone()), "{id} twice");
                }
                "turn.ended" => assert_eq!(open.take(), Some(id)),
                _ => {}
            }
        }
        assert_eq!(open, None);
    });
    let three = fixture("claude_stream/2026-11/compacted.jsonl");
    assert_eq!(of(&three, "turn.ended").len(), 3);
}

#[test]
fn list_32_79_turn_ended_tells_why_and_what_it_cost() {
    for (name, stop, errors) in [
        ("plain", "end_turn", 0),
        ("partial", "end_turn", 0),
        ("interrupted", "cancelled", 0),
        ("max-turns", "error", 1),
        ("api-error", "error", 1),
    ] {
        let events = fixture(&format!("anthropic/claude_stream/2026-11/{name}.jsonl"));
        let ended = of(&events, "turn.ended");
        assert_eq!(ended.len(), 1, "{name}");
        assert_eq!(ended[0]["data"]["metadata"]["stop"]["class"], stop, "{name}");
        assert!(ended[0]["data"]["metadata"]["usage"]["output"].is_number(), "{name}");
        assert!(ended[0]["data"]["metadata"]["cost"].is_number(), "{name}");
        assert_eq!(of(&events, "error").len(), errors, "{name}");
    }
    let events = fixture("claude_stream/2026-11/api-error.jsonl");
    let error = &of(&events, "error")[0]["data"];
    assert_eq!(error["code"], "permission_error");
    assert_eq!(error["details"]["status"], 403);
}

#[test]
fn list_33_session_ended_is_the_last_event() {
    each(|events| {
        assert_eq!(of(events, "session.ended").len(), 1);
        assert_eq!(events.last().unwrap()["type"], "session.ended");
    });
}

#[test]
fn list_43_47_every_permission_is_requested_and_resolved_once() {
    each(|events| {
        for request in of(events, "permission.requested") {
            let id = &request["data"]["permission_id"];
            let resolved = of(events, "permission.resolved");
            let resolved: Vec<_> =
                resolved.iter().filter(|event| event["data"]["permission_id"] == *id).collect();
            assert_eq!(resolved.len(), 1);
            assert!(resolved[0]["sequence"].as_u64() > request["sequence"].as_u64());
        }
        assert_eq!(of(events, "permission.requested").len(), of(events, "permission.resolved").len());
    });
    // stdout alone: the tool results show how the permission was answered.
    let events = fixture("claude_stream/2026-11/control.jsonl");
    let resolved = of(&events, "permission.resolved");
    assert_eq!(resolved[0]["data"]["status"], "accept");
    assert_eq!(resolved[1]["data"]["status"], "reject");
    assert_eq!(resolved[1]["data"]["metadata"]["answer"]["reject"], "not this one");
}

#[test]
fn list_78_nothing_recorded_is_unparsed() {
    each(|events| assert!(of(events, "agent.unparsed").is_empty()));
}

#[test]
fn list_79_subagent_messages_hang_on_the_call_that_made_them() {
    let events = fixture("claude_stream/2026-11/subagent.jsonl");
    let started = of(&events, "item.started");
    let call = started.iter().find(|event| item(event)["native_item_id"] == "toolu_demo10").unwrap();
    let children = started.iter().filter(|event| item(event)["parent_id"] == item(call)["item_id"]);
    let kinds: Vec<_> = children
        .map(|event| item(event)["kind"].as_str().unwrap())
        .filter(|kind| *kind != "status")
        .collect();
    assert_eq!(kinds, ["message", "tool_call", "tool_result"]);
}

#[test]
fn list_83_any_cut_gives_the_same_events() {
    for source in sources() {
        let whole = universal(&source);
        // Each position is covered in a few passes, with steps that share no divisor with line lengths.
        for step in [1, 7, 61] {
            let chunks: Vec<&[u8]> = source.bytes.chunks(step).collect();
            let (cut, _) = convert_in(&chunks, source.dialect, "universal", &Options::default());
            assert!(cut == whole, "{} in pieces of {step}", source.name);
        }
    }
}

#[test]
fn list_13_29_33_a_source_that_breaks_off_anywhere_is_closed_in_order() {
    for name in ["partial.jsonl", "control.jsonl", "interrupted.jsonl"] {
        let source =
            sources().into_iter().find(|source| source.name.ends_with(&format!("2026-11/{name}"))).unwrap();
        let ends: Vec<usize> = source
            .bytes
            .iter()
            .enumerate()
            .filter(|(_, byte)| **byte == b'\n')
            .map(|(at, _)| at + 1)
            .collect();
        for end in ends {
            let cut =
                Source { name: String::new(), dialect: source.dialect, bytes: source.bytes[..end].to_vec() };
            let events = parse(&universal(&cut));
            assert_eq!(
                of(&events, "item.started").len(),
                of(&events, "item.completed").len(),
                "{name} {end}"
            );
            assert_eq!(of(&events, "turn.started").len(), of(&events, "turn.ended").len(), "{name} {end}");
            assert_eq!(events.last().unwrap()["type"], "session.ended");
        }
    }
}

#[test]
fn list_84_a_line_of_sixteen_megabytes_is_read_and_a_longer_one_is_one_event() {
    let text = "x".repeat(16 << 20);
    let info = r#"{"id":"m","sessionID":"s","role":"assistant","time":{"created":1}}"#;
    let part = format!(r#"{{"id":"p","messageID":"m","sessionID":"s","type":"text","text":"{text}"}}"#);
    let message =
        format!(r#"data: {{"type":"message.updated","properties":{{"sessionID":"s","info":{info}}}}}"#);
    // The frames before the long frame, and the long frame.
    let cases = [
        (
            "claude-stream",
            String::new(),
            format!(
                r#"{{"type":"assistant","message":{{"id":"m","content":[{{"type":"text","text":"{text}"}}]}}}}"#
            ),
        ),
        (
            "acp",
            String::new(),
            format!(
                r#"{{"jsonrpc":"2.0","method":"session/update","params":{{"sessionId":"s","update":{{"sessionUpdate":"agent_message_chunk","content":{{"type":"text","text":"{text}"}}}}}}}}"#
            ),
        ),
        (
            "codex-app-server",
            String::new(),
            format!(
                r#"{{"method":"item/completed","params":{{"threadId":"t","item":{{"type":"agentMessage","id":"i","text":"{text}"}}}}}}"#
            ),
        ),
        (
            "opencode-events",
            message + "\n\n",
            format!(
                r#"data: {{"type":"message.part.updated","properties":{{"sessionID":"s","part":{part}}}}}"#
            ),
        ),
    ];
    for (dialect, before, frame) in cases {
        let input: [&[u8]; 3] = [before.as_bytes(), frame.as_bytes(), b"\n\n"];
        let mut options = Options::default();
        let (out, _) = convert_in(&input, dialect, "universal", &options);
        let events = parse(&out);
        let completed = of(&events, "item.completed");
        assert_eq!(completed.len(), 1, "{dialect}");
        assert_eq!(text_of(item(completed[0]), "text").len(), text.len(), "{dialect}");
        options.limits.bytes = 1 << 20;
        let (out, report) = convert_in(&input, dialect, "universal", &options);
        assert_eq!(of(&parse(&out), "agent.unparsed").len(), 1, "{dialect}");
        assert!(report.is_damaged(), "{dialect}");
    }
}

#[test]
fn list_87_converting_twice_gives_the_same_bytes() {
    for source in sources() {
        assert!(universal(&source) == universal(&source), "{}", source.name);
    }
}
