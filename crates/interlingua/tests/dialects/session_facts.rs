//! Facts of a session that no single line holds: the time and status of its end, its id, its total usage, and the
//! picture that a name refers to.

#![allow(clippy::expect_used, reason = "a test stops at the first surprise")]

use crate::support::{Law, Way, convert, fixtures, record, restorable};
use interlingua::dialects::{DIALECTS, Dialect, Options, Plane, Role};
use interlingua::json::Raw;
use interlingua::ledger::Report;
use interlingua::model::Field;
use interlingua::model::time::epoch_millis;
use interlingua::pipe::Pipe;
use serde_json::{Value, json};

fn log_of(name: &str) -> Way {
    (Dialect::named(name).expect("registered"), Role::Log)
}

fn lines(lines: &[Value]) -> String {
    let mut text: Vec<String> = lines.iter().map(Value::to_string).collect();
    text.push(String::new());
    text.join("\n")
}

// ---- The end of a session -------------------------------------------------------------------------------------------

/// The record of a log, after asserting that the record restores the log.
fn record_of(dialect: &str, log: &str) -> Value {
    let made = convert(log_of(dialect), record(), log.as_bytes());
    assert_eq!(made.report.lost, 0, "{:?}", made.report.lost_paths);
    let back = convert(record(), log_of(dialect), &made.bytes);
    assert_eq!(String::from_utf8_lossy(&back.bytes), log);
    assert_eq!(back.report.lost, 0, "{:?}", back.report.lost_paths);
    serde_json::from_slice(&made.bytes).expect("a record is JSON")
}

fn millis(time: &Value) -> Option<u64> {
    epoch_millis(&Raw::owned(time.to_string()))
}

/// The times of all entries at any depth, without the times in kept lines.
fn times(entry: &Value, found: &mut Vec<u64>) {
    match entry {
        Value::Object(members) => {
            for (name, value) in members.iter().filter(|(name, _)| *name != "vendor-ext") {
                match name.as_str() {
                    "timestamp" => found.extend(millis(value)),
                    "children" | "entries" => times(value, found),
                    _ => {}
                }
            }
        }
        Value::Array(entries) => entries.iter().for_each(|entry| times(entry, found)),
        _ => {}
    }
}

#[test]
fn a_session_ends_at_the_latest_time_of_every_log() {
    let mut law = Law::new("`session-end` is no earlier than any entry, also if lines change places");
    for case in fixtures().iter().filter(|case| restorable(case)) {
        let text = String::from_utf8_lossy(&case.bytes).into_owned();
        let mut turned: Vec<&str> = text.lines().collect();
        turned.reverse();
        // Lines are written when an action ends, and not always in the order of their start.
        for log in [text.clone(), turned.join("\n") + "\n"] {
            let made = convert(case.way, record(), log.as_bytes()).bytes;
            let Ok(made) = serde_json::from_slice::<Value>(&made) else { continue };
            let mut all = Vec::new();
            times(&made["session"]["entries"], &mut all);
            let (end, latest) = (millis(&made["session"]["session-end"]), all.into_iter().max());
            law.holds(end >= latest, || format!("{case}: ends at {end:?}, and an entry has {latest:?}"));
        }
    }
    law.end();
}

/// An export of OpenCode with these times for its session and its two messages.
fn export(session: &Value, asked: Value, mut answered: Value) -> String {
    answered["role"] = "assistant".into();
    let message = |number: u32, role: &str, mut info: Value| {
        info["id"] = format!("msg_{number}").into();
        info["sessionID"] = "ses_1".into();
        info["role"] = role.into();
        let part = json!({"id": format!("prt_{number}"), "sessionID": "ses_1", "messageID": format!("msg_{number}"), "type": "text", "text": "hi"});
        json!({"info": info, "parts": [part]})
    };
    let info = json!({"id": "ses_1", "slug": "s", "projectID": "p", "directory": "/d", "title": "t", "version": "1", "time": session});
    let asked = message(1, "user", asked);
    let answered = message(2, "assistant", answered);
    json!({"info": info, "messages": [asked, answered]}).to_string()
}

#[test]
fn a_session_of_opencode_ends_when_its_last_message_was_complete() {
    let begun = 1_794_826_876_000_u64;
    let created = |millis: u64| json!({"created": begun + millis});
    let tokens = json!({"input": 1, "output": 2, "reasoning": 0, "cache": {"read": 0, "write": 0}});
    let end = |session: Value, answered: Value| {
        let log = export(&session, json!({"time": created(1)}), answered);
        millis(&record_of("opencode", &log)["session"]["session-end"]).expect("a time") - begun
    };
    let complete = json!({"created": begun + 2, "completed": begun + 900});
    assert_eq!(end(created(0), json!({"time": complete, "tokens": tokens})), 900, "with what it used");
    assert_eq!(end(created(0), json!({"time": complete})), 900, "without it");
    let updated = json!({"created": begun, "updated": begun + 5_000});
    assert_eq!(end(updated, json!({"time": complete, "tokens": tokens})), 5_000, "written later");
    let updated = json!({"created": begun, "updated": begun + 1});
    assert_eq!(end(updated, json!({"time": complete, "tokens": tokens})), 900, "written earlier");
}

#[test]
fn a_session_of_gemini_ends_when_it_was_written_last() {
    let time = |second: u32| format!("2026-02-10T17:28:{second:02}.000Z");
    let head = |updated: u32| json!({"sessionId": "5b6f8a3e-0000-4000-8000-000000000001", "projectHash": "x", "startTime": time(0), "lastUpdated": time(updated), "kind": "main"});
    let asked = json!({"id": "m1", "timestamp": time(1), "type": "user", "content": [{"text": "Well?"}]});
    let answered = json!({"id": "m2", "timestamp": time(2), "type": "gemini", "content": "Yes.", "thoughts": [], "model": "g"});
    let set = |updated: u32| json!({"$set": {"lastUpdated": time(updated)}});
    let end = |log: &str| record_of("gemini-cli", log)["session"]["session-end"].clone();
    assert_eq!(
        end(&lines(&[head(0), asked.clone(), answered.clone(), set(7)])),
        time(7),
        "a line of its own"
    );
    assert_eq!(end(&lines(&[head(9), asked.clone(), answered.clone()])), time(9), "the head");
    assert_eq!(end(&lines(&[head(0), asked.clone(), answered.clone()])), time(2), "neither");
    let mut document = head(8);
    document["messages"] = json!([asked, answered]);
    assert_eq!(end(&document.to_string()), time(8), "the head of a document");
    // The head's times are later than all following times, and move no event to the end.
    let events = convert(log_of("gemini-cli"), live("universal"), document.to_string().as_bytes()).bytes;
    let events = String::from_utf8(events).expect("text");
    let of =
        |kind: &str| events.lines().find(|line| line.contains(kind)).expect("an event").contains(&time(8));
    assert!(!of("Yes.") && of("session.ended"), "{events}");
}

fn live(name: &str) -> Way {
    (Dialect::named(name).expect("registered"), Role::Live)
}

// ---- Usage -----------------------------------------------------------------------------------------------------------

/// The output tokens of each response in a rollout with these counts.
fn output_of(infos: &[Value]) -> Vec<u64> {
    let mut log = vec![
        json!({"timestamp": "2026-02-01T00:00:00.000Z", "type": "session_meta", "payload": {"id": "s", "cwd": "/d"}}),
        json!({"timestamp": "2026-02-01T00:00:00.000Z", "type": "response_item", "payload": {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]}}),
    ];
    for info in infos {
        log.push(json!({"timestamp": "2026-02-01T00:00:01.000Z", "type": "response_item", "payload": {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "ho"}]}}));
        log.push(json!({"timestamp": "2026-02-01T00:00:02.000Z", "type": "event_msg", "payload": {"type": "token_count", "info": info}}));
    }
    let record = record_of("codex", &lines(&log));
    let entries = record["session"]["entries"].as_array().expect("entries").iter();
    entries.filter_map(|entry| entry["token-usage"]["output"].as_u64()).collect()
}

#[test]
fn counts_of_codex_need_no_total() {
    let used = |input: u64, output: u64| json!({"input_tokens": input, "cached_input_tokens": 0, "output_tokens": output, "total_tokens": input + output});
    let last = |input, output| json!({"last_token_usage": used(input, output), "model_context_window": 9});
    let total = |input, output| json!({"total_token_usage": used(input, output)});
    let both = |all: Value, last: Value| json!({"total_token_usage": all, "last_token_usage": last});
    assert_eq!(output_of(&[last(10, 5), last(20, 7)]), [5, 7]);
    assert_eq!(output_of(&[last(10, 5), last(10, 5), last(20, 7)]), [5, 7], "a line that is repeated");
    assert_eq!(output_of(&[total(10, 5), total(30, 12), total(30, 12)]), [5, 7], "the total alone");
    assert_eq!(output_of(&[both(used(10, 5), used(10, 5)), last(20, 7)]), [5, 7], "a total that stays away");
    assert_eq!(output_of(&[both(used(10, 5), used(10, 5)), total(30, 12)]), [5, 7], "then a total alone");
    let null = json!({"total_token_usage": null, "last_token_usage": used(10, 5)});
    assert_eq!(output_of(&[null]), [5], "no total in so many words");
}

// ---- Named pictures -------------------------------------------------------------------------------------------------

const PIXEL: &str = "iVBORw0KGgo=";

fn copilot_line(number: usize, kind: &str, data: &Value) -> Value {
    let parent = number.checked_sub(1).map(|before| format!("00000000-0000-4000-8000-{before:012}"));
    json!({"type": kind, "data": data, "id": format!("00000000-0000-4000-8000-{number:012}"),
        "timestamp": format!("2026-02-01T00:00:{number:02}.000Z"), "parentId": parent})
}

/// A session with pictures in separate lines: one shown by a tool, one by the user and one not shown at all.
fn with_pictures() -> String {
    let asset = |id: &str, data: &str| json!({"assetId": id, "type": "image", "mimeType": "image/png", "byteLength": 8, "data": data});
    let events = [
        (
            "session.start",
            json!({"sessionId": "0a1b2c3d-0000-4000-8000-000000000001", "version": 1, "producer": "copilot-agent", "copilotVersion": "1.0.0", "startTime": "2026-02-01T00:00:00.000Z"}),
        ),
        ("session.binary_asset", asset("sha256:asked", "YXNrZWQ=")),
        (
            "user.message",
            json!({"content": "what is it?", "attachments": [{"type": "blob", "assetId": "sha256:asked", "mimeType": "image/png", "displayName": "a.png"}]}),
        ),
        (
            "assistant.message",
            json!({"messageId": "m", "content": "", "toolRequests": [{"toolCallId": "c", "name": "view", "arguments": {"path": "/p.png"}, "type": "function"}]}),
        ),
        ("session.binary_asset", asset("sha256:shown", PIXEL)),
        ("session.binary_asset", asset("sha256:unused", "dW51c2Vk")),
        (
            "tool.execution_complete",
            json!({"toolCallId": "c", "success": true, "result": {"content": "seen", "binaryResultsForLlm": [{"type": "image", "assetId": "sha256:shown", "mimeType": "image/png"}]}}),
        ),
        ("assistant.message", json!({"messageId": "n", "content": "a pixel"})),
    ];
    let all: Vec<Value> =
        events.iter().enumerate().map(|(number, (kind, data))| copilot_line(number, kind, data)).collect();
    lines(&all)
}

/// Whether that picture, or one of several, was reported as lost.
fn lost_media(report: &Report, of: &str) -> bool {
    let is_media = |field: Field| field.word().starts_with(of) && field.word().ends_with("media");
    report.lost_paths.iter().any(|row| row.field.is_some_and(is_media))
}

#[test]
fn a_picture_is_shown_where_its_name_stands_in_every_log() {
    let log = with_pictures();
    let made = convert(log_of("copilot-cli"), record(), log.as_bytes()).bytes;
    let text = String::from_utf8_lossy(&made).into_owned();
    assert_eq!(text.matches(PIXEL).count(), 1, "a record holds the bytes once: {text}");
    let others = DIALECTS.iter().filter(|it| it.plane == Plane::Log && it.name != "copilot-cli");
    let mut shown = 0;
    for to in others.filter(|it| it.roles.iter().any(|role| role.role == Role::Log && role.write.is_some())) {
        for (from, bytes) in [(log_of("copilot-cli"), log.as_bytes()), (record(), &made[..])] {
            let out = convert(from, (to, Role::Log), bytes);
            let text = String::from_utf8_lossy(&out.bytes);
            assert!(out.report.adds_up(), "{}", to.name);
            for (data, field) in [(PIXEL, "result"), ("YXNrZWQ=", "message")] {
                // A target without a place for pictures reports the names as lost.
                let is_lost = || lost_media(&out.report, field);
                assert!(
                    text.contains(data) || is_lost(),
                    "{} -> {}: {data} is gone: {text}",
                    from.0.name,
                    to.name
                );
                shown += usize::from(text.contains(data));
            }
            assert!(!text.contains("dW51c2Vk") && !text.contains("sha256:shown"), "{}: {text}", to.name);
            assert!(
                lost_media(&out.report, "message"),
                "{}: what nobody shows is lost: {:?}",
                to.name,
                out.report.lost_paths
            );
        }
    }
    assert!(shown >= 16, "only {shown} pictures are shown");
}

// ---- The first event, and the last -------------------------------------------------------------------------------------

const SESSION: &str = "11111111-2222-4333-8444-555555555555";

fn control_response() -> Value {
    json!({"type": "control_response", "response": {"subtype": "success", "request_id": "r1", "response": {"commands": [], "models": []}}})
}

fn init() -> Value {
    json!({"type": "system", "subtype": "init", "session_id": SESSION, "cwd": "/w", "model": "m", "tools": [], "permissionMode": "default"})
}

fn answer() -> Value {
    json!({"type": "assistant", "session_id": SESSION, "uuid": "u1", "parent_tool_use_id": null, "timestamp": "2026-02-01T00:00:05.000Z",
        "message": {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [{"type": "text", "text": "hello"}], "usage": {"input_tokens": 1, "output_tokens": 2}}})
}

fn result(is_error: bool, status: Option<u16>) -> Value {
    json!({"type": "result", "subtype": "success", "is_error": is_error, "api_error_status": status, "duration_ms": 5, "num_turns": 1,
        "result": if is_error { "API Error: 529 overloaded" } else { "hello" }, "session_id": SESSION, "total_cost_usd": 0, "usage": {"input_tokens": 1, "output_tokens": 2}})
}

fn universal(pieces: &[&str], options: &Options) -> (Vec<Vec<Value>>, Report) {
    let mut pipe =
        Pipe::new(live("claude-stream"), live("universal"), options).expect("readable and writable");
    let parse = |bytes: Vec<u8>| -> Vec<Value> {
        let text = String::from_utf8(bytes).expect("text");
        text.lines().map(|line| serde_json::from_str(line).expect(line)).collect()
    };
    let mut events = Vec::new();
    for piece in pieces {
        let mut out = Vec::new();
        pipe.push(piece.as_bytes(), &mut out);
        events.push(parse(out));
    }
    let mut out = Vec::new();
    let report = pipe.finish(&mut out);
    assert!(report.adds_up(), "{report:?}");
    events.push(parse(out));
    (events, report)
}

#[test]
fn every_event_has_the_id_of_the_session_whatever_line_comes_first() {
    let first_lines = [
        format!("{}\n", control_response()),
        "a word on stdout that is no event\n".to_owned(),
        format!("{}\n", json!({"type": "keep_alive"})),
        format!("{}\nnoise\n{}\n", json!({"type": "keep_alive"}), control_response()),
    ];
    let rest = lines(&[init(), answer(), result(false, None)]);
    for first in &first_lines {
        for include_raw in [false, true] {
            let options = Options::default().with_include_raw(include_raw);
            let (events, _) = universal(&[first, &rest], &options);
            let events = events.concat();
            assert_eq!(events[0]["type"], "session.started");
            assert_eq!(events[0]["data"]["metadata"]["cwd"], "/w", "{first}");
            for (number, event) in events.iter().enumerate() {
                assert_eq!(event["session_id"], SESSION, "{first}: {event}");
                assert_eq!(event["sequence"], number as u64 + 1);
                assert_eq!(event["event_id"], format!("evt_{SESSION}_{}", number + 1));
            }
            let raws = events.iter().filter(|event| !event["raw"].is_null()).count();
            assert_eq!(raws > 0, include_raw);
            if include_raw && first.contains("control_response") {
                let is_it = |event: &&Value| event["raw"]["type"] == "control_response";
                assert_eq!(events.iter().filter(is_it).count(), 1, "{first}");
            }
        }
    }
}

#[test]
fn what_someone_waits_for_does_not_wait_for_the_id_of_the_session() {
    let asked = json!({"type": "control_request", "request_id": "p1", "request": {"subtype": "can_use_tool", "tool_name": "Bash", "input": {"command": "ls"}}});
    let pieces = [lines(&[control_response()]), lines(&[asked]), lines(&[init()])];
    let (events, _) = universal(&pieces.each_ref().map(String::as_str), &Options::default());
    assert_eq!(events[0], [] as [Value; 0], "nobody waits for the answer to a control request");
    assert!(events[1].iter().any(|event| event["type"] == "permission.requested"), "{:?}", events[1]);
    let pieces = [lines(&[init()]), lines(&[answer()])];
    let (events, _) = universal(&pieces.each_ref().map(String::as_str), &Options::default());
    assert_eq!(events[0][0]["type"], "session.started", "a session is shown as soon as it begins");
}

#[test]
fn events_have_the_time_of_the_source_or_of_the_caller_and_not_1970() {
    let log = lines(&[control_response(), init(), answer(), result(false, None)]);
    let times = |options: &Options| {
        let (events, report) = universal(&[&log], options);
        let events = events.concat();
        let times: Vec<String> =
            events.iter().map(|event| event["time"].as_str().expect("a time").to_owned()).collect();
        (times, report.notes.iter().any(|(note, _)| note.contains("made up the time")))
    };
    // A file is completely available: its first events get the first time in it.
    let (times_of_file, is_noted) = times(&Options::default().with_whole(true).with_now(1_900_000_000_000));
    assert!(times_of_file.iter().all(|time| time == "2026-02-01T00:00:05.000Z"), "{times_of_file:?}");
    assert!(!is_noted);
    // The later times of a live source are unknown.
    let (times_of_pipe, is_noted) = times(&Options::default().with_now(1_769_904_000_000));
    assert_eq!(times_of_pipe[0], "2026-02-01T00:00:00.000Z");
    assert_eq!(times_of_pipe.last().expect("events"), "2026-02-01T00:00:05.000Z");
    assert!(is_noted && times_of_pipe.is_sorted());
}

#[test]
fn a_session_whose_last_word_was_a_failure_ended_in_an_error() {
    let reason = |log: &[Value]| {
        let (events, _) = universal(&[&lines(log)], &Options::default());
        let events = events.concat();
        let ended = events.last().expect("events").clone();
        assert_eq!(ended["type"], "session.ended");
        ended["data"]["reason"].clone()
    };
    assert_eq!(reason(&[init(), answer(), result(false, None)]), "completed");
    assert_eq!(reason(&[init(), answer(), result(true, Some(529))]), "error");
    assert_eq!(reason(&[init(), result(true, Some(500))]), "error");
    let again = [init(), result(true, Some(529)), init(), answer(), result(false, None)];
    assert_eq!(reason(&again), "completed", "it went on after the failure");
    // A log of Claude Code holds the failure as an assistant message.
    let said = |error: bool, text: &str| {
        json!({"type": "assistant", "sessionId": SESSION, "uuid": text, "parentUuid": null, "timestamp": "2026-02-01T00:00:05.000Z", "isApiErrorMessage": error, "error": error.then_some("overloaded"),
            "message": {"id": text, "type": "message", "role": "assistant", "model": if error { "<synthetic>" } else { "m" }, "content": [{"type": "text", "text": text}], "stop_reason": "end_turn", "usage": {"input_tokens": 0, "output_tokens": 0}}})
    };
    let ended = |log: &[Value]| {
        let out = convert(log_of("claude-code"), live("universal"), lines(log).as_bytes()).bytes;
        let text = String::from_utf8(out).expect("text");
        let last: Value = serde_json::from_str(text.lines().last().expect("events")).expect("an event");
        last["data"]["reason"].clone()
    };
    assert_eq!(ended(&[said(false, "yes"), said(true, "API Error: 529 overloaded")]), "error");
    assert_eq!(ended(&[said(true, "API Error: 529 overloaded"), said(false, "yes")]), "completed");
}
