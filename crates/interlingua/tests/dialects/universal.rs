//! The conformance list of universal events, one test per fact, over every fixture that is converted to universal
//! events and, if `INTERLINGUA_CORPUS` names a folder of captures, over these captures. Numbers in comments are those
//! of the list.

#![allow(clippy::disallowed_methods, reason = "fixtures are files, and a test may hash as it likes")]
#![allow(clippy::expect_used, clippy::unwrap_used, reason = "a test may fail")]

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::{Path, PathBuf};

use interlingua::dialects::{Dialect, Options, Role};
use interlingua::ledger::{Fate, Leftover, Reason, Report};
use interlingua::model::{Event, Field, ItemId, ItemKindTag};
use interlingua::pipe::{Pipe, Writer, WriterOutput};
use serde_json::Value;

/// One input.
struct Source {
    name: String,
    dialect: &'static str,
    bytes: Vec<u8>,
}

fn dialect(name: &str) -> (&'static Dialect, Role) {
    let dialect = Dialect::named(name).expect("registered");
    (dialect, dialect.roles[0].role)
}

fn sources() -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    let mut sources = Vec::new();
    for dialect in ["claude-stream", "claude-code"] {
        for path in files(&root.join(Dialect::named(dialect).unwrap().folder())) {
            let name = path.strip_prefix(&root).unwrap().display().to_string();
            sources.push(Source { name, dialect, bytes: std::fs::read(&path).unwrap() });
        }
    }
    assert!(sources.len() >= 16, "fixtures are missing");
    sources.extend(corpus());
    sources
}

/// Captures of the real program: raw stdout, and transcripts of both directions.
fn corpus() -> Vec<Source> {
    let Some(root) = std::env::var_os("INTERLINGUA_CORPUS") else { return Vec::new() };
    let mut sources = Vec::new();
    for path in files(&PathBuf::from(root).join("agents/claude")) {
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let bytes = std::fs::read(&path).unwrap();
        if name.starts_with("stdout-") {
            sources.push(Source { name, dialect: "claude-stream", bytes });
        } else if name.starts_with("control-") {
            let lines = |also_in: bool| {
                let text = std::str::from_utf8(&bytes).unwrap();
                let docs = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
                let docs = docs.filter(|doc| also_in || doc["dir"] == "out");
                docs.flat_map(|doc| [doc["msg"].to_string(), "\n".to_owned()])
                    .collect::<String>()
                    .into_bytes()
            };
            sources.push(Source {
                name: format!("{name} out"),
                dialect: "claude-stream",
                bytes: lines(false),
            });
            sources.push(Source {
                name: format!("{name} both"),
                dialect: "claude-stream",
                bytes: lines(true),
            });
        }
    }
    sources
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else if path.extension().is_some_and(|extension| extension == "jsonl") {
            found.push(path);
        }
    }
    found.sort();
    found
}

fn convert_in(chunks: &[&[u8]], from: &str, to: &str, options: &Options) -> (Vec<u8>, Report) {
    let mut out = Vec::new();
    let target = Dialect::named(to).unwrap();
    let target = (target, target.role_for(dialect(from).1).unwrap());
    let writer = target.0.role(target.1).unwrap().write.as_ref().unwrap();
    // The pipe is assembled manually, because between equal dialects it would copy the bytes.
    let writer = ((writer.make)(options), writer.support);
    let mut pipe = Pipe::with_writer_and_support(dialect(from), writer, options).unwrap();
    for chunk in chunks {
        pipe.push(chunk, &mut out);
    }
    let report = pipe.finish(&mut out);
    assert!(report.adds_up(), "{report:?}");
    (out, report)
}

fn universal(source: &Source) -> Vec<u8> {
    convert_in(&[&source.bytes], source.dialect, "universal", &Options::default()).0
}

fn with_raw() -> Options {
    Options::default().with_include_raw(true)
}

fn parse(bytes: &[u8]) -> Vec<Value> {
    let text = std::str::from_utf8(bytes).unwrap();
    text.lines().map(|line| serde_json::from_str(line).expect(line)).collect()
}

/// Runs a check on each source.
fn each(check: impl Fn(&[Value])) {
    for source in sources() {
        let events = parse(&universal(&source));
        let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| check(&events)));
        assert!(caught.is_ok(), "in {}", source.name);
    }
}

fn stream(lines: &str) -> Vec<Value> {
    parse(&convert_in(&[lines.as_bytes()], "claude-stream", "universal", &Options::default()).0)
}

fn of<'e>(events: &'e [Value], kind: &str) -> Vec<&'e Value> {
    events.iter().filter(|event| event["type"] == kind).collect()
}

fn item(event: &Value) -> &Value {
    &event["data"]["item"]
}

fn fixture(path: &str) -> Vec<Value> {
    let source = sources().into_iter().find(|source| source.name.ends_with(path)).expect(path);
    parse(&universal(&source))
}

/// The text of a completed item's parts of one type.
fn text_of(item: &Value, kind: &str) -> String {
    let member = match kind {
        "tool_call" => "arguments",
        _ => "text",
    };
    let parts = item["content"].as_array().unwrap().iter().filter(|part| part["type"] == kind);
    parts.map(|part| part[member].as_str().unwrap()).collect()
}

#[test] // 1
fn every_event_has_exactly_the_ten_envelope_keys() {
    let keys = "event_id sequence time session_id native_session_id synthetic source type data raw";
    each(|events| {
        for event in events {
            let found: Vec<&str> = event.as_object().unwrap().keys().map(String::as_str).collect();
            assert_eq!(found.join(" "), keys);
        }
    });
}

#[test] // 2
fn the_first_event_is_session_started_by_us() {
    each(|events| {
        let first = &events[0];
        assert_eq!(first["sequence"], 1);
        assert_eq!(first["type"], "session.started");
        assert_eq!(first["synthetic"], true);
        assert_eq!(first["source"], "daemon");
    });
}

#[test] // 3, 4, 5
fn sequences_are_contiguous_and_event_ids_name_session_and_sequence() {
    each(|events| {
        for (at, event) in events.iter().enumerate() {
            assert_eq!(event["sequence"], at + 1);
            let id = format!("evt_{}_{}", event["session_id"].as_str().unwrap(), at + 1);
            assert_eq!(event["event_id"], id);
            assert_eq!(event["session_id"], events[0]["session_id"]);
        }
    });
}

#[test] // 6
fn what_is_synthetic_comes_from_us_and_nothing_else_does() {
    each(|events| {
        for event in events {
            assert_eq!(event["synthetic"] == true, event["source"] == "daemon");
        }
    });
}

#[test] // 7
fn types_and_data_follow_the_schema() {
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

#[test] // 8
fn events_that_are_read_and_written_again_are_byte_equal() {
    for source in sources() {
        for options in [Options::default(), with_raw()] {
            let (once, _) = convert_in(&[&source.bytes], source.dialect, "universal", &options);
            let (again, report) = convert_in(&[&once], "universal", "universal", &options);
            let (once, again) = (String::from_utf8(once).unwrap(), String::from_utf8(again).unwrap());
            for (line, other) in once.lines().zip(again.lines()) {
                assert_eq!(line, other, "{}", source.name);
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

#[test] // 9
fn time_is_utc_and_never_goes_back() {
    each(|events| {
        let mut last = String::new();
        for event in events {
            let time = event["time"].as_str().unwrap().strip_suffix('Z').expect("UTC").to_owned();
            assert!(time >= last, "{time} after {last}");
            last = time;
        }
    });
}

#[test] // 10, 11
fn raw_is_the_agents_line_and_every_line_is_the_raw_of_one_event() {
    for source in sources() {
        let (out, report) = convert_in(&[&source.bytes], source.dialect, "universal", &with_raw());
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
        assert_eq!(report.lost, 0, "{} {:?}", source.name, report.lost_paths);
    }
}

#[test] // 12, 13, 14
fn items_start_once_grow_and_complete_once() {
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

#[test] // 15
fn deltas_joined_are_the_text_of_the_completed_item() {
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
            for (delta, part) in [("text", "text"), ("reasoning", "reasoning"), ("arguments", "tool_call")] {
                if let Some(said) = said.get(&(id, delta)) {
                    assert_eq!(*said, text_of(item(event), part), "{id}");
                }
            }
        }
    });
}

#[test] // 16, 17
fn whole_assistant_messages_get_one_synthetic_delta_and_streamed_ones_none() {
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

#[test] // 18
fn reasoning_deltas_are_told_from_text() {
    let events = fixture("claude_stream/2026-11/partial.jsonl");
    let deltas = of(&events, "item.delta");
    let kinds: BTreeSet<&str> =
        deltas.iter().map(|delta| delta["data"]["content_type"].as_str().unwrap()).collect();
    assert_eq!(kinds.into_iter().collect::<Vec<_>>(), ["arguments", "reasoning", "text"]);
}

#[test] // 19
fn item_ids_are_ours_and_count_up() {
    each(|events| {
        for (at, event) in of(events, "item.started").into_iter().enumerate() {
            assert_eq!(item(event)["item_id"], format!("itm_{}", at + 1));
        }
    });
}

#[test] // 20
fn parents_have_started() {
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

#[test] // 21, 22
fn every_tool_result_has_an_earlier_call() {
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

#[test] // 23, 24
fn a_failed_tool_is_failed_and_its_plain_output_stays_plain() {
    let events = fixture("claude_stream/2026-11/plain.jsonl");
    let completed = of(&events, "item.completed");
    let results: Vec<_> =
        completed.iter().map(|event| item(event)).filter(|item| item["kind"] == "tool_result").collect();
    assert_eq!(results[0]["status"], "failed");
    assert_eq!(results[0]["content"][0]["output"], "Exit code 3\nhello\nworld\noops");
    assert_eq!(results[1]["status"], "completed");
    assert_eq!(results[1]["content"][0]["output"], "1\thello\n2\tworld\n3\t");
}

#[test] // 26
fn an_echoed_prompt_appears_once() {
    let prompt = r#"{"type":"user","message":{"role":"user","content":"do it"},"session_id":""}"#;
    let echo = r#"{"type":"user","message":{"role":"user","content":[{"type":"text","text":"do it"}]},"session_id":"s","uuid":"u","isReplay":true}"#;
    for lines in [format!("{prompt}\n{echo}\n"), format!("{echo}\n")] {
        let events = stream(&lines);
        let completed = of(&events, "item.completed");
        let said: Vec<_> =
            completed.iter().map(|event| item(event)).filter(|item| item["role"] == "user").collect();
        assert_eq!(said.len(), 1);
        assert_eq!(text_of(said[0], "text"), "do it");
    }
}

#[test] // 28
fn plain_and_partial_output_have_the_same_skeleton() {
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

#[test] // 29, 30
fn turns_start_and_end_in_pairs() {
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

#[test] // 32, 79
fn turn_ended_tells_why_and_what_it_cost() {
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

#[test] // 33
fn session_ended_is_the_last_event() {
    each(|events| {
        assert_eq!(of(events, "session.ended").len(), 1);
        assert_eq!(events.last().unwrap()["type"], "session.ended");
    });
}

#[test] // 43, 47
fn every_permission_is_requested_and_resolved_once() {
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

const ASK: &str = r#"{"type":"control_request","request_id":"r1","request":{"subtype":"can_use_tool","tool_name":"AskUserQuestion","tool_use_id":"t1","input":{"questions":[{"question":"Which?","header":"H","options":[{"label":"A","description":"first"},{"label":"B"}],"multiSelect":false},{"question":"What else?","header":"E","options":[{"label":"C"},{"label":"D"}],"multiSelect":true}]}}}"#;

#[test] // 48
fn what_nobody_answered_is_rejected_when_the_turn_or_the_input_ends() {
    let edit = r#"{"type":"control_request","request_id":"r2","request":{"subtype":"can_use_tool","tool_name":"Edit","input":{}}}"#;
    let result = r#"{"type":"result","subtype":"error_during_execution","is_error":true,"terminal_reason":"aborted_tools"}"#;
    for end in ["", result] {
        let events = stream(&format!("{ASK}\n{edit}\n{end}\n"));
        let question = of(&events, "question.resolved");
        let permission = of(&events, "permission.resolved");
        assert_eq!(question[0]["data"]["status"], "rejected");
        assert_eq!(permission[0]["data"]["status"], "reject");
        assert_eq!(permission[0]["source"], "daemon");
    }
}

#[test] // 49, 50
fn ask_user_question_is_a_question_with_all_its_parts() {
    let answer = r#"{"type":"control_response","response":{"subtype":"success","request_id":"r1","response":{"behavior":"allow","updatedInput":{"answers":{"Which?":"B","What else?":"C, D"}}}}}"#;
    let events = stream(&format!("{ASK}\n{answer}\n"));
    assert!(of(&events, "permission.requested").is_empty());
    let asked = &of(&events, "question.requested")[0]["data"];
    assert_eq!(asked["prompt"], "Which?");
    assert_eq!(asked["options"], serde_json::json!(["A", "B"]));
    assert_eq!(asked["prompts"][0]["options"][0][1], "first");
    assert_eq!(asked["prompts"][1]["multiple"], true);
    let answered = &of(&events, "question.resolved")[0]["data"];
    assert_eq!(answered["status"], "answered");
    assert_eq!(answered["answers"], serde_json::json!([["B"], ["C", "D"]]));
}

#[test] // 50, 51: the same values, printed as what the agent reads
fn answers_are_printed_for_the_agent() {
    let answer = r#"{"type":"control_response","response":{"subtype":"success","request_id":"r1","response":{"behavior":"allow","updatedInput":{"answers":{"Which?":"B","What else?":"C, D"}}}}}"#;
    let denied = r#"{"type":"control_response","response":{"subtype":"success","request_id":"r1","response":{"behavior":"deny","message":"no"}}}"#;
    for (given, behavior) in [(answer, "allow"), (denied, "deny")] {
        let lines = format!("{ASK}\n{given}\n");
        let (out, _) = convert_in(&[lines.as_bytes()], "claude-stream", "claude-stream", &Options::default());
        let told: Value = serde_json::from_slice(&out).unwrap();
        assert_eq!(told["response"]["request_id"], "r1");
        assert_eq!(told["response"]["response"]["behavior"], behavior);
        if behavior == "allow" {
            let answers = &told["response"]["response"]["updatedInput"]["answers"];
            assert_eq!(*answers, serde_json::json!({"Which?": "B", "What else?": "C, D"}));
        }
    }
}

#[test] // 51
fn a_plan_is_a_question_and_its_refusal_a_rejection() {
    let plan = r#"{"type":"control_request","request_id":"r","request":{"subtype":"can_use_tool","tool_name":"ExitPlanMode","input":{"plan":"do"},"tool_use_id":"t"}}"#;
    let cancel = r#"{"type":"control_cancel_request","request_id":"r"}"#;
    let events = stream(&format!("{plan}\n{cancel}\n"));
    assert_eq!(
        of(&events, "question.requested")[0]["data"]["options"],
        serde_json::json!(["approve", "reject"])
    );
    assert_eq!(of(&events, "question.resolved")[0]["data"]["status"], "rejected");
}

#[test] // 77
fn unknown_lines_are_shown_and_end_nothing() {
    let lines = concat!(
        r#"{"type":"system","subtype":"init","session_id":"s"}"#,
        "\n",
        r#"{"type":"rate_limit_event","x":1}"#,
        "\n",
        r#"{"type":"never_seen"}"#,
        "\n",
        r#"{"no":"type"}"#,
        "\n[1]\nnot json\n",
        r#"{"type":"result","subtype":"success","is_error":false,"result":"bye"}"#,
        "\n"
    );
    let events = stream(lines);
    let started = of(&events, "item.started");
    let labels: Vec<_> =
        started.iter().filter_map(|event| item(event)["content"][0]["label"].as_str()).collect();
    assert_eq!(labels, ["rate_limit_event", "never_seen", "unknown"]);
    // A line that is not an object is treated like a line that is not JSON.
    let unparsed = of(&events, "agent.unparsed");
    let said: Vec<&Value> = unparsed.iter().map(|event| &event["data"]["location"]).collect();
    assert_eq!(said, ["line 5", "line 6"]);
    assert_eq!(of(&events, "turn.ended").len(), 1);
    // Only the result has the text.
    let said = of(&events, "item.completed").into_iter().find(|event| item(event)["kind"] == "message");
    assert_eq!(text_of(item(said.unwrap()), "text"), "bye");
}

#[test] // 78
fn nothing_recorded_is_unparsed() {
    each(|events| assert!(of(events, "agent.unparsed").is_empty()));
}

#[test] // 79
fn subagent_messages_hang_on_the_call_that_made_them() {
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

#[test] // 83
fn any_cut_gives_the_same_events() {
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

#[test] // 13, 29, 33 wherever the agent dies
fn a_source_that_breaks_off_anywhere_is_closed_in_order() {
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

#[test] // 84
fn a_line_of_sixteen_megabytes_is_read_and_a_longer_one_is_one_event() {
    let text = "x".repeat(16 << 20);
    let line = format!(
        r#"{{"type":"assistant","message":{{"id":"m","content":[{{"type":"text","text":"{text}"}}]}}}}"#
    );
    let mut options = Options::default();
    let (out, _) = convert_in(&[line.as_bytes()], "claude-stream", "universal", &options);
    assert_eq!(text_of(item(of(&parse(&out), "item.completed")[0]), "text").len(), text.len());
    options.limits.bytes = 1 << 20;
    let (out, report) = convert_in(&[line.as_bytes(), b"\n"], "claude-stream", "universal", &options);
    assert_eq!(of(&parse(&out), "agent.unparsed").len(), 1);
    assert!(report.is_damaged());
}

#[test] // 87
fn converting_twice_gives_the_same_bytes() {
    for source in sources() {
        assert!(universal(&source) == universal(&source), "{}", source.name);
    }
}

/// All texts of a record's entries and children.
fn texts(entry: &Value, found: &mut Vec<String>) {
    for name in ["content", "output"] {
        found.extend(entry[name].as_str().map(str::to_owned));
        let parts = entry[name].as_array().into_iter().flatten();
        found.extend(parts.filter_map(|part| part["text"].as_str()).map(str::to_owned));
    }
    entry["children"].as_array().into_iter().flatten().for_each(|child| texts(child, found));
}

#[test]
fn a_record_made_directly_or_from_universal_events_says_the_same() {
    for source in sources() {
        let said = |bytes: &[u8], from: &str| {
            let (record, _) = convert_in(&[bytes], from, "record", &Options::default());
            let record: Value = serde_json::from_slice(&record).expect(&source.name);
            let mut found = Vec::new();
            let entries = record["session"]["entries"].as_array().unwrap();
            for entry in entries {
                texts(entry, &mut found);
            }
            found.retain(|text| !text.is_empty());
            found.sort();
            found
        };
        let direct = said(&source.bytes, source.dialect);
        assert_eq!(direct, said(&universal(&source), "universal"), "{}", source.name);
        // No text that was streamed between other lines is missing.
        for event in of(&parse(&universal(&source)), "item.completed") {
            for part in item(event)["content"].as_array().unwrap() {
                let text = part["text"].as_str().or(part["output"].as_str()).unwrap_or_default();
                assert!(
                    text.is_empty() || part["encoding"].is_string() || direct.iter().any(|said| said == text),
                    "{} {text}",
                    source.name
                );
            }
        }
    }
}

#[test]
fn live_output_logs_and_events_are_told_apart() {
    let guess = |bytes: &[u8]| interlingua::sniff::sniff(bytes, true).map(|guess| guess.dialect.name);
    for source in sources() {
        assert_eq!(guess(&source.bytes), Some(source.dialect), "{}", source.name);
        assert_eq!(guess(&universal(&source)), Some("universal"), "{}", source.name);
    }
}

#[test]
fn the_usage_of_a_records_entries_adds_up_to_the_turns() {
    for (name, output) in [("plain", 63), ("partial", 63), ("control", 96)] {
        let path = format!("anthropic/claude_stream/2026-11/{name}.jsonl");
        let source = sources().into_iter().find(|source| source.name == path).unwrap();
        let (record, _) = convert_in(&[&source.bytes], "claude-stream", "record", &Options::default());
        let record: Value = serde_json::from_slice(&record).unwrap();
        let entries = record["session"]["entries"].as_array().unwrap();
        let sum: u64 = entries.iter().filter_map(|entry| entry["token-usage"]["output"].as_u64()).sum();
        assert_eq!(sum, output, "{name}");
    }
}

#[test]
fn records_made_from_live_events_keep_the_schema() {
    for source in sources() {
        let (record, _) = convert_in(&[&source.bytes], source.dialect, "record", &Options::default());
        let (_, report) = convert_in(&[&record], "record", "universal", &Options::default());
        assert!(report.problems.is_empty(), "{} {:?}", source.name, report.problems);
    }
}

#[test]
fn an_unparsed_event_while_two_items_are_open_leaves_the_record_well_formed() {
    let event = |kind: &str, data: &str| {
        format!(
            r#"{{"event_id":"e","sequence":1,"time":"2026-11-15T10:00:00Z","session_id":"s","native_session_id":null,"synthetic":false,"source":"agent","type":"{kind}","data":{data},"raw":null}}"#
        )
    };
    let item = |kind: &str, id: &str, status: &str, content: &str| {
        let item = format!(
            r#"{{"item":{{"item_id":"{id}","native_item_id":null,"parent_id":null,"kind":"message","role":"assistant","content":[{content}],"status":"{status}"}}}}"#
        );
        event(kind, &item)
    };
    let delta = |id: &str, text: &str, kind: &str| {
        let delta = format!(
            r#"{{"item_id":"{id}","native_item_id":null,"delta":"{text}","part":0,"content_type":"{kind}"}}"#
        );
        event("item.delta", &delta)
    };
    let thought =
        r#"{"type":"reasoning","text":"one","visibility":"public","signature":"s","issuer":"anthropic"}"#;
    let lines = [
        item("item.started", "itm_1", "in_progress", ""),
        delta("itm_1", "one", "reasoning"),
        item("item.started", "itm_2", "in_progress", ""),
        delta("itm_2", "tw", "text"),
        // Unparsed bytes end the entry; later events of the first item come too late.
        event("agent.unparsed", r#"{"error":"torn","location":"line 5"}"#),
        item("item.completed", "itm_1", "completed", thought),
        delta("itm_2", "o", "text"),
        item("item.completed", "itm_2", "completed", r#"{"type":"text","text":"two"}"#),
    ];
    let (record, report) =
        convert_in(&[lines.join("\n").as_bytes()], "universal", "record", &Options::default());
    let record: Value = serde_json::from_slice(&record).unwrap();
    let entries = record["session"]["entries"].as_array().unwrap();
    assert!(entries.iter().any(|entry| entry["content"] == "two"), "{entries:?}");
    assert!(report.adds_up());
}

// ---- Values that are written and values that are lost ----------------------------------------------------------------

/// One universal event.
fn event(kind: &str, data: &str) -> String {
    format!(
        r#"{{"event_id":"e","sequence":1,"time":"1970-01-01T00:00:00Z","session_id":"s","native_session_id":null,"synthetic":false,"source":"agent","type":"{kind}","data":{data},"raw":null}}"#
    ) + "\n"
}

fn completed(item: &str) -> String {
    event("item.completed", &format!(r#"{{"item":{{"item_id":"itm_1",{item},"status":"completed"}}}}"#))
}

fn books(lines: &str, from: &str, to: &str) -> (String, Report) {
    let options = Options::default().with_trace(true);
    let (out, report) = convert_in(&[lines.as_bytes()], from, to, &options);
    (String::from_utf8(out).unwrap(), report)
}

fn lost(report: &Report) -> Vec<(&str, Field)> {
    let rows = report.lost_paths.iter().filter_map(|row| Some((&*row.path, row.field?)));
    let mut rows: Vec<_> = rows.collect();
    rows.sort_unstable();
    rows
}

#[test]
fn what_an_agent_says_is_lost_where_only_an_agent_listens() {
    for source in sources() {
        for (bytes, from) in [(source.bytes.clone(), source.dialect), (universal(&source), "universal")] {
            let text = String::from_utf8(bytes).unwrap();
            let (out, report) = books(&text, from, "claude-stream");
            assert!(!out.is_empty() || report.mapped + report.kept == 0, "{} {report:?}", source.name);
            // The writer emits only prompts, decisions and the interrupt.
            let said = report.trace.iter().filter(|leaf| leaf.fate == Fate::Mapped);
            for field in said.filter_map(|leaf| leaf.field) {
                let told = matches!(
                    field,
                    Field::ItemAuthor
                        | Field::ItemOrigin
                        | Field::MessageText
                        | Field::MessageMedia
                        | Field::MediaType
                        | Field::MediaName
                        | Field::StopReason
                        | Field::PermissionId
                        | Field::PermissionAnswer
                        | Field::PermissionMessage
                        | Field::PermissionInput
                );
                assert!(told || field == Field::Structure, "{}: {field:?} is not told", source.name);
            }
        }
    }
    let call = completed(
        r#""kind":"tool_call","role":"assistant","content":[{"type":"tool_call","name":"n","arguments":"{}","call_id":"c"}]"#,
    );
    let (out, report) = books(&call, "universal", "claude-stream");
    assert_eq!((out.as_str(), report.mapped, report.lost), ("", 0, report.leaves));
}

#[test]
fn arguments_that_the_agent_spells_anew_are_the_same_and_others_are_not() {
    let event = |event: &str| {
        format!(r#"{{"type":"stream_event","session_id":"s","parent_tool_use_id":null,"event":{event}}}"#)
            + "\n"
    };
    let spelled = |input: &str| {
        let block = r#""type":"tool_use","id":"t","name":"Run""#;
        [
            event(r#"{"type":"message_start","message":{"id":"m","role":"assistant","content":[]}}"#),
            event(&format!(r#"{{"type":"content_block_start","index":0,"content_block":{{{block},"input":{{}}}}}}"#)),
            event(
                r#"{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{ \"a\": [1, [true, null], \"\\u00fc\"] }"}}"#,
            ),
            format!(
                r#"{{"type":"assistant","session_id":"s","parent_tool_use_id":null,"message":{{"id":"m","role":"assistant","content":[{{{block},"input":{input}}}]}}}}"#
            ) + "\n",
        ]
        .concat()
    };
    let lost_of = |input: &str| {
        let (_, report) = books(&spelled(input), "claude-stream", "universal");
        let rows = report.lost_paths.iter().filter(|row| row.path.starts_with("/message/content[]/input"));
        rows.map(|row| row.count).sum::<u64>()
    };
    assert_eq!(lost_of(r#"{"a":[1,[true,null],"ü"]}"#), 0);
    assert_eq!(lost_of(r#"{"a":[1,[true,null]]}"#), 3);
    assert_eq!(lost_of(r#"{"a":[1,[true,null],"ü","x"]}"#), 5);
    assert_eq!(lost_of(r#"{"a":[1,[false,null],"ü"]}"#), 4);
    assert_eq!(lost_of(r#"{"b":[1,[true,null],"ü"]}"#), 4);
}

#[test]
fn deltas_continue_the_content_of_a_block_start() {
    let event = |event: &str| {
        format!(r#"{{"type":"stream_event","session_id":"s","parent_tool_use_id":null,"event":{event}}}"#)
            + "\n"
    };
    let block = |index: u32, start: &str, sort: &str, member: &str, delta: &str| {
        let start = format!(r#"{{"type":"content_block_start","index":{index},"content_block":{start}}}"#);
        let delta = format!(
            r#"{{"type":"content_block_delta","index":{index},"delta":{{"type":"{sort}","{member}":"{delta}"}}}}"#
        );
        event(&start) + &event(&delta)
    };
    let thinking = r#"{"type":"thinking","thinking":"Th","signature":"c2"}"#;
    let call = r#"{"type":"tool_use","id":"t","name":"Run","input":"{\"a\":"}"#;
    let whole = |block: &str| {
        format!(
            r#"{{"type":"assistant","session_id":"s","parent_tool_use_id":null,"message":{{"id":"m","role":"assistant","content":[{block}]}}}}"#
        ) + "\n"
    };
    let log = [
        event(r#"{"type":"message_start","message":{"id":"m","role":"assistant"}}"#),
        block(0, thinking, "thinking_delta", "thinking", "ink"),
        event(
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"ln"}}"#,
        ),
        whole(r#"{"type":"thinking","thinking":"Think","signature":"c2ln"}"#),
        block(1, r#"{"type":"text","text":"Hel"}"#, "text_delta", "text", "lo"),
        whole(r#"{"type":"text","text":"Hello"}"#),
        block(2, call, "input_json_delta", "partial_json", "1}"),
        whole(r#"{"type":"tool_use","id":"t","name":"Run","input":{"a":1}}"#),
    ]
    .concat();
    let (out, report) = books(&log, "claude-stream", "universal");
    let told: Vec<String> = of(&parse(out.as_bytes()), "item.completed")
        .iter()
        .map(|event| event["data"]["item"]["content"].to_string())
        .collect();
    for content in
        [r#""text":"Think""#, r#""signature":"c2ln""#, r#""text":"Hello""#, r#""arguments":"{\"a\":1}""#]
    {
        assert!(told.iter().any(|told| told.contains(content)), "{content} in {told:?}");
    }
    assert!(report.lost_paths.iter().all(|row| !row.path.contains("content")), "{:?}", report.lost_paths);
}

#[test]
fn a_summary_that_arrives_in_pieces_is_a_summary() {
    let item =
        r#""item_id":"itm_1","native_item_id":null,"parent_id":null,"kind":"message","role":"assistant""#;
    let started =
        event("item.started", &format!(r#"{{"item":{{{item},"content":[],"status":"in_progress"}}}}"#));
    let piece = |text: &str, more: &str| {
        let delta = r#""item_id":"itm_1","native_item_id":null,"content_type":"reasoning""#;
        event("item.delta", &format!(r#"{{{delta},"delta":"{text}"{more}}}"#))
    };
    for (more, flag) in [(r#","summary":true"#, Value::Bool(true)), ("", Value::Null)] {
        let lines = started.clone() + &piece("a", more) + &piece("b", more);
        let (out, _) = books(&lines, "universal", "universal");
        let events = parse(out.as_bytes());
        let told = of(&events, "item.delta");
        assert_eq!(told.len(), 2, "{out}");
        assert!(told.iter().all(|event| event["data"]["summary"] == flag), "{out}");
    }
}

#[test]
fn how_a_session_ended_comes_back() {
    for reason in ["completed", "error", "terminated"] {
        let (out, report) =
            books(&event("session.ended", &format!(r#"{{"reason":"{reason}"}}"#)), "universal", "universal");
        let events = parse(out.as_bytes());
        assert_eq!(of(&events, "session.ended")[0]["data"]["reason"], reason);
        assert!(!lost(&report).iter().any(|(path, _)| *path == "/data/reason"), "{report:?}");
    }
}

#[test]
fn state_that_hides_all_of_the_reasoning_says_no_empty_text() {
    let hidden = completed(
        r#""kind":"message","role":"assistant","content":[{"type":"reasoning","text":"","encrypted":"xyz","issuer":"openai"}]"#,
    );
    let (record, _) = books(&hidden, "universal", "record");
    let record: Value = serde_json::from_str(&record).unwrap();
    let mut entry = &record["session"]["entries"][0];
    while let Some(child) = entry["children"].get(0) {
        entry = child;
    }
    assert_eq!((&entry["encrypted"], &entry["content"]), (&"xyz".into(), &Value::Null), "{record}");
}

#[test]
fn a_user_message_that_only_holds_results_is_no_prompt() {
    let prompt = r#"{"type":"user","message":{"role":"user","content":"go"}}"#;
    let result = r#"{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"x"}]}}"#;
    let (out, report) = books(&format!("{prompt}\n{result}\n"), "claude-stream", "claude-stream");
    assert_eq!(out.lines().count(), 1);
    let said = report.trace.iter().filter(|leaf| leaf.fate == Fate::Mapped);
    let said: Vec<_> = said.collect();
    assert!(said.iter().all(|leaf| leaf.frame == 1), "{said:?}");
}

#[test]
fn the_interrupt_says_that_the_turn_was_cancelled_and_nothing_else() {
    let ended = event(
        "turn.ended",
        r#"{"turn_id":"t","metadata":{"stop":{"class":"cancelled","raw":"aborted_tools"},"usage":{"input":1}}}"#,
    );
    let (out, report) = books(&ended, "universal", "claude-stream");
    assert_eq!(
        out,
        "{\"type\":\"control_request\",\"request_id\":\"interrupt-1\",\"request\":{\"subtype\":\"interrupt\"}}\n"
    );
    assert_eq!(
        lost(&report),
        [
            ("/data/metadata/stop/raw", Field::StopReason),
            ("/data/metadata/usage/input", Field::UsageInput),
            ("/data/turn_id", Field::TurnId)
        ]
    );
}

#[test]
fn an_allowance_repeats_what_was_asked_and_a_refusal_does_not() {
    let asked = event(
        "permission.requested",
        r#"{"permission_id":"p","action":"Bash","status":"requested","metadata":{"input":{"command":"ls"}}}"#,
    );
    let answer = |status: &str| {
        event(
            "permission.resolved",
            &format!(r#"{{"permission_id":"p","action":"Bash","status":"{status}","metadata":{{}}}}"#),
        )
    };
    let asked_and = |status: &str| books(&(asked.clone() + &answer(status)), "universal", "claude-stream");
    let request = [("/data/action", Field::PermissionAction), ("/data/permission_id", Field::PermissionId)];
    let (out, report) = asked_and("accept");
    assert!(out.contains(r#""updatedInput":{"command":"ls"}"#), "{out}");
    assert_eq!(lost(&report), request);
    assert_eq!(report.lost_paths.iter().find(|row| row.path == "/data/action").unwrap().count, 2);
    let (out, report) = asked_and("accept_for_session");
    assert!(out.contains(r#""toolName":"Bash","ruleContent":"ls""#), "{out}");
    assert_eq!(report.lost_paths.iter().find(|row| row.path == "/data/action").unwrap().count, 1);
    let (out, report) = asked_and("reject");
    assert!(!out.contains("ls"), "{out}");
    assert_eq!(lost(&report), [request[0], request[1], ("permission/input", Field::PermissionInput)]);
}

#[test]
fn an_answer_to_nothing_is_lost() {
    let answer = event(
        "permission.resolved",
        r#"{"permission_id":"p","action":"Bash","status":"reject","metadata":{"answer":{"reject":"no"}}}"#,
    );
    let (out, report) = books(&answer, "universal", "universal");
    assert!(!out.contains("permission.resolved"));
    let fields: Vec<Field> = lost(&report).into_iter().map(|(_, field)| field).collect();
    for field in
        [Field::PermissionId, Field::PermissionAction, Field::PermissionAnswer, Field::PermissionMessage]
    {
        assert!(fields.contains(&field), "{field:?} {fields:?}");
    }
}

#[test]
fn the_settings_of_a_request_are_said_and_come_back() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    for path in ["anthropic/messages/request/full.json", "openai/chat/request/full.json"] {
        let bytes = std::fs::read(root.join(path)).unwrap();
        let name = if path.starts_with("anthropic") { "anthropic" } else { "openai-chat" };
        let from = (Dialect::named(name).unwrap(), Role::Request);
        let options = Options::default();
        let pipe = Pipe::new(from, dialect("universal"), &options).unwrap();
        let mut once = Vec::new();
        let report = pipe.finish_with(&bytes, &mut once);
        assert!(report.adds_up());
        let events = parse(&once);
        let done = of(&events, "item.completed");
        let settings = &item(
            done.iter().find(|event| item(event)["content"][0]["label"] == "request").unwrap(),
        )["content"][1]["json"];
        for member in ["model", "max_tokens", "tools", "tool_choice"] {
            assert!(settings.get(member).is_some(), "{path}: {member} in {settings}");
        }
        let (again, _) = convert_in(&[&once], "universal", "universal", &options);
        assert!(again == once, "{path}");
        // Back in the original dialect.
        let mut back = Vec::new();
        Pipe::new(dialect("universal"), from, &options).unwrap().finish_with(&once, &mut back);
        let (first, back): (Value, Value) =
            (serde_json::from_slice(&bytes).unwrap(), serde_json::from_slice(&back).unwrap());
        for member in ["model", "temperature", "stop", "stop_sequences"] {
            assert_eq!(first.get(member), back.get(member), "{path}: {member}");
        }
    }
}

#[test]
fn a_parent_that_is_not_here_is_named() {
    let line = r#"{"type":"assistant","uuid":"u","parent_tool_use_id":"toolu_elsewhere","message":{"id":"m","role":"assistant","content":[{"type":"text","text":"hi"},{"type":"tool_use","id":"c","name":"n","input":{}}]}}"#;
    let (out, report) = books(line, "claude-stream", "universal");
    let events = parse(out.as_bytes());
    let done = of(&events, "item.completed");
    let said = done.iter().map(|event| item(event)).find(|item| item["kind"] == "message").unwrap();
    assert_eq!((&said["parent_id"], &said["native_parent_id"]), (&Value::Null, &"toolu_elsewhere".into()));
    assert!(!lost(&report).iter().any(|(_, field)| *field == Field::ItemParent));
    let (again, _) = books(&out, "universal", "universal");
    assert_eq!(again, out);
}

#[test]
fn hidden_state_beside_a_call_is_said() {
    let line = r#"{"type":"assistant","uuid":"u","message":{"id":"m","role":"assistant","content":[{"type":"redacted_thinking","data":"opaque"},{"type":"tool_use","id":"c","name":"n","input":{}}]}}"#;
    let (out, _) = books(line, "claude-stream", "universal");
    assert!(out.contains(r#""encrypted":"opaque","issuer":"anthropic""#), "{out}");
}

#[test]
fn words_that_the_model_cannot_hold_are_left_alone() {
    let failure = event("error", r#"{"message":"m","details":{"class":"strange","status":70000}}"#);
    let (_, report) = books(&failure, "universal", "universal");
    let free: BTreeSet<&str> =
        report.lost_paths.iter().filter(|row| row.field.is_none()).map(|row| &*row.path).collect();
    for path in ["/data/details/class", "/data/details/status"] {
        assert!(free.contains(path), "{path} {free:?}");
    }
}

#[test]
fn the_end_of_an_item_repeats_and_what_differs_is_lost() {
    let started = |item: &str| {
        event("item.started", &format!(r#"{{"item":{{"item_id":"itm_1",{item},"status":"in_progress"}}}}"#))
    };
    let delta = event(
        "item.delta",
        r#"{"item_id":"itm_1","native_item_id":"n","delta":"hi","part":0,"content_type":"text"}"#,
    );
    let head = r#""native_item_id":"n","parent_id":null,"kind":"message","role":"assistant","content":"#;
    let end = |text: &str| completed(&format!(r#"{head}[{{"type":"text","text":"{text}"}}]"#));
    let lines = |text: &str| started(&format!("{head}[]")) + &delta + &end(text);
    let (_, same) = books(&lines("hi"), "universal", "universal");
    let (_, other) = books(&lines("ho"), "universal", "universal");
    let lost_text = |report: &Report| {
        report.lost_paths.iter().any(|row| row.path == "/data/item/content[]/text" && row.field.is_none())
    };
    assert!(!lost_text(&same) && lost_text(&other));
}

#[test]
fn a_time_that_the_envelope_cannot_say_is_lost() {
    let told = |time: &str| {
        let usage = format!(
            r#"{{"item":{{"item_id":"itm_1","native_item_id":null,"parent_id":null,"kind":"status","role":"system","content":[{{"type":"status","label":"usage"}},{{"type":"json","json":{{"time":"{time}"}}}}],"status":"completed"}}}}"#
        );
        let (_, report) = books(&event("item.completed", &usage), "universal", "universal");
        lost(&report).contains(&("/data/item/content[]/json/time", Field::TurnTime))
    };
    assert!(!told("2026-11-15T10:00:00Z"));
    assert!(told("2026-11-15T10:00:00+01:00"));
    assert!(told("1969-11-15T10:00:00Z"), "time does not go back");
}

#[test]
fn statuses_mean_the_same_everywhere() {
    for (status, class) in [(503, "overloaded"), (412, "conflict"), (500, "server"), (403, "permission")] {
        let line = format!(
            r#"{{"type":"result","subtype":"success","is_error":true,"api_error_status":{status},"result":"no"}}"#
        );
        assert_eq!(of(&stream(&line), "error")[0]["data"]["details"]["class"], class);
    }
}

#[test]
fn with_raw_lines_nothing_is_lost_and_without_them_what_no_event_says_is() {
    for source in sources() {
        let (_, raw) = convert_in(&[&source.bytes], source.dialect, "universal", &with_raw());
        let (_, bare) = convert_in(&[&source.bytes], source.dialect, "universal", &Options::default());
        assert_eq!((raw.mapped, raw.kept, raw.lost), (bare.mapped, bare.lost, 0), "{}", source.name);
        assert!(bare.lost_paths.iter().all(|row| row.reason.is_some_and(|why| why != Reason::Invalid)));
    }
}

proptest::proptest! {
    // Fixed cases, so that a run depends only on the code. `cargo xtask fuzz` looks for new cases.
    #![proptest_config(proptest::prelude::ProptestConfig {
        cases: 200,
        rng_seed: proptest::test_runner::RngSeed::Fixed(12),
        failure_persistence: None,
        ..Default::default()
    })]

    /// Lines dropped, doubled, swapped and damaged: the order of events stays sound, and the ledger adds up.
    #[test]
    fn damaged_streams_still_give_events_in_order(
        file in 0usize..8,
        moves in proptest::collection::vec((0usize..40, 0usize..40, 0u8..4, 0usize..4000), 0..6),
    ) {
        let source = &sources()[file];
        let text = String::from_utf8(source.bytes.clone()).unwrap();
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        for (at, other, act, byte) in moves {
            let (at, other) = (at % lines.len(), other % lines.len());
            match act {
                0 if lines.len() > 1 => drop(lines.remove(at)),
                1 => lines.insert(other, lines[at].clone()),
                2 => lines.swap(at, other),
                _ => {
                    let cut = byte % lines[at].len().max(1);
                    let cut = (0..=cut).rev().find(|cut| lines[at].is_char_boundary(*cut)).unwrap();
                    lines[at].truncate(cut);
                }
            }
        }
        let bytes = lines.join("\n").into_bytes();
        for options in [Options::default(), with_raw()] {
            let (once, _) = convert_in(&[&bytes], "claude-stream", "universal", &options);
            let events = parse(&once);
            proptest::prop_assert_eq!(events.last().unwrap()["sequence"].as_u64(), Some(events.len() as u64));
            for (open, close) in [("item.started", "item.completed"), ("turn.started", "turn.ended")] {
                proptest::prop_assert_eq!(of(&events, open).len(), of(&events, close).len());
            }
            let (asked, answered) = (of(&events, "permission.requested"), of(&events, "permission.resolved"));
            proptest::prop_assert_eq!(asked.len(), answered.len());
            if of(&events, "agent.unparsed").is_empty() {
                let (again, _) = convert_in(&[&once], "universal", "universal", &options);
                proptest::prop_assert_eq!(String::from_utf8(once.clone()).unwrap(), String::from_utf8(again).unwrap());
            }
            let (record, _) = convert_in(&[&once], "universal", "record", &options);
            serde_json::from_slice::<Value>(&record).unwrap();
        }
    }

    /// Events with swapped words: read without panic, every leaf booked.
    #[test]
    fn events_that_lie_are_read_and_booked(
        file in 0usize..8,
        changes in proptest::collection::vec((0usize..200, 0usize..60, 0usize..60), 1..8),
    ) {
        let source = &sources()[file];
        for (bytes, from) in [(universal(source), "universal"), (source.bytes.clone(), source.dialect)] {
            let text = String::from_utf8(bytes).unwrap();
            let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
            for &(line, one, two) in &changes {
                let line = line % lines.len();
                // Names, values and punctuation are separated by quotes: any of them may be swapped.
                let mut words: Vec<&str> = lines[line].split('"').collect();
                let (one, two) = (one % words.len(), two % words.len());
                words.swap(one, two);
                lines[line] = words.join("\"");
            }
            let bytes = lines.join("\n").into_bytes();
            for to in ["universal", "record", "claude-code", "claude-stream"] {
                convert_in(&[&bytes], from, to, &with_raw());
            }
        }
    }
}

#[test]
fn a_line_that_only_calls_itself_system_is_nobodys() {
    let guess = interlingua::sniff::sniff(b"{\"type\":\"system\",\"subtype\":\"init\"}\n", true);
    assert!(guess.is_none(), "{guess:?}");
}

/// Collects the fields of the events.
struct Fields(std::sync::Arc<std::sync::Mutex<BTreeSet<Field>>>, BTreeMap<ItemId, ItemKindTag>);

impl Writer for Fields {
    fn event(&mut self, event: &Event<'_>, _: &mut WriterOutput<'_>) {
        let of = match event {
            Event::ItemStarted(head) => {
                self.1.insert(head.id, ItemKindTag::item(&head.kind));
                ItemKindTag::item(&head.kind)
            }
            Event::ItemDelta(delta) => self.1.get(&delta.item).copied().unwrap_or(ItemKindTag::Message),
            _ => ItemKindTag::Message,
        };
        event.clone().each_field(of, &mut |field, _| _ = self.0.lock().unwrap().insert(field));
    }

    fn leftover(&mut self, leftover: Leftover<'_>, out: &mut WriterOutput<'_>) {
        leftover.mark_kept(out.ledger);
    }

    fn finish(&mut self, _: &mut WriterOutput<'_>) {}
}

fn of_ours(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/ours/universal/2026-11");
    std::fs::read(path.join(name)).unwrap()
}

#[test]
fn the_fixtures_by_hand_say_every_field_of_the_model() {
    let said = std::sync::Arc::<std::sync::Mutex<BTreeSet<Field>>>::default();
    for name in ["session.jsonl", "items.jsonl"] {
        let writer = Box::new(Fields(std::sync::Arc::clone(&said), BTreeMap::new()));
        let pipe = Pipe::with_writer(dialect("universal"), writer, &Options::default()).unwrap();
        pipe.finish_with(&of_ours(name), &mut Vec::new());
    }
    let said = said.lock().unwrap();
    let structural = [Field::Structure, Field::Padding];
    let missing: Vec<&Field> =
        Field::ALL.iter().filter(|field| !said.contains(field) && !structural.contains(field)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn what_the_fixtures_by_hand_say_is_written_again() {
    for name in ["session.jsonl", "items.jsonl"] {
        let (once, report) = convert_in(&[&of_ours(name)], "universal", "universal", &Options::default());
        // A message is written when it has content, so its time is later.
        let said = |field: Option<Field>| field.is_some_and(|field| field != Field::EventTime);
        let unsaid: Vec<_> = report.lost_paths.iter().filter(|row| said(row.field)).collect();
        assert!(unsaid.is_empty(), "{name}: {unsaid:?}");
        let (again, _) = convert_in(&[&once], "universal", "universal", &Options::default());
        let (once, again) = (String::from_utf8(once).unwrap(), String::from_utf8(again).unwrap());
        for (line, other) in once.lines().zip(again.lines()) {
            assert_eq!(line, other, "{name}");
        }
        assert_eq!(once.len(), again.len(), "{name}");
    }
}

#[test]
fn lines_that_cannot_be_read_are_two_events_and_lines_again() {
    let said = r#"{"type":"user","sessionId":"s","uuid":"a","parentUuid":null,"message":{"role":"user","content":"hi"}}"#;
    let source = format!("{said}\nx\n1\n\n{{}}\n{said}\ny\n{said}\n\u{fffd}\n[1]\n");
    let side = |name, role| (Dialect::named(name).unwrap(), role);
    let options = Options::default().with_include_raw(true);
    let run = |from, to, input: &[u8]| {
        let mut pipe = Pipe::new(from, to, &options).unwrap();
        let mut out = Vec::new();
        // The lines do not depend on the chunk boundaries.
        input.chunks(7).for_each(|piece| pipe.push(piece, &mut out));
        let report = pipe.finish(&mut out);
        assert_eq!(report.leaves, report.mapped + report.kept + report.lost, "{report:?}");
        out
    };
    let (log, universal) = (side("claude-code", Role::Log), side("universal", Role::Live));
    let events = run(log, universal, source.as_bytes());
    let unparsed: Vec<Value> =
        of(&parse(&events), "agent.unparsed").into_iter().map(|event| event["data"].clone()).collect();
    let expected = [
        // The first unparsed line at once, the following lines together.
        serde_json::json!({"error": "invalid-json", "location": "line 2", "text": "x"}),
        serde_json::json!({"error": "unknown-shape", "location": "line 3", "lines": 2, "text": "1\n{}"}),
        serde_json::json!({"error": "invalid-json", "location": "line 7", "text": "y"}),
        serde_json::json!({"error": "invalid-json", "location": "line 9", "text": "\u{fffd}"}),
        serde_json::json!({"error": "unknown-shape", "location": "line 10", "text": "[1]"}),
    ];
    assert_eq!(unparsed, expected);
    // In a record they have their original bytes.
    let record = run(universal, side("record", Role::Log), &events);
    let record: Value = serde_json::from_slice(&record).unwrap();
    let kept: Vec<&str> = record["session"]["entries"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|entry| entry["data"]["raw"].as_str())
        .collect();
    assert_eq!(kept, ["x", "1\n{}", "y", "\u{fffd}", "[1]"]);
}
