//! Conversations: the key, the record and the stored size of a conversation.

#![expect(clippy::expect_used, reason = "a test that cannot run has failed")]

mod support;

use bytes::Bytes;
use interlingua::dialects::{Dialect, Options, Role};
use interlingua::error::Severity;
use interlingua::pipe::Pipe;
use interlingua_store::{
    ExchangeRecorder, RecordError, RecorderSettings, StorePlace, StoreTrouble, StoredExchange,
    conversation_key, record,
};
use support::{NOON, exchange, noise};

/// Three turns of a conversation with calls, as Anthropic requests and responses. Claude Code counts its requests in the
/// first block of the system text.
fn turns() -> Vec<(String, String)> {
    let assistant = [
        r#"[{"type":"text","text":"I will look."},{"type":"tool_use","id":"t1","name":"read","input":{"path":"a.txt"}},{"type":"tool_use","id":"t2","name":"read","input":{"path":"b.txt"}}]"#,
        r#"[{"type":"text","text":"One is missing."},{"type":"tool_use","id":"t3","name":"write","input":{"path":"b.txt","text":"new"}}]"#,
        r#"[{"type":"text","text":"Both are there now."}]"#,
    ];
    let user = [
        r#""Compare the files.""#,
        r#"[{"type":"tool_result","tool_use_id":"t1","content":"text of a"},{"type":"tool_result","tool_use_id":"t2","content":"no such file","is_error":true}]"#,
        r#"[{"type":"tool_result","tool_use_id":"t3","content":"written"}]"#,
    ];
    let mut messages = String::new();
    let mut turns = Vec::new();
    for (turn, (user, assistant)) in user.into_iter().zip(assistant).enumerate() {
        if turn > 0 {
            messages.push(',');
        }
        messages += r#"{"role":"user","content":"#;
        messages += user;
        messages.push('}');
        let request = format!(
            r#"{{"model":"claude-opus-5-5","max_tokens":1000,"system":[{{"type":"text","text":"x-anthropic-billing-header: cch={turn};"}},{{"type":"text","text":"You are careful."}}],"tools":[{{"name":"read","input_schema":{{"type":"object"}}}},{{"name":"write","input_schema":{{"type":"object"}}}}],"messages":[{messages}]}}"#
        );
        let stop = if turn < 2 { "tool_use" } else { "end_turn" };
        let response = format!(
            r#"{{"id":"msg_{turn}","type":"message","role":"assistant","model":"claude-opus-5-5","content":{assistant},"stop_reason":"{stop}","stop_sequence":null,"usage":{{"input_tokens":10,"output_tokens":{}}}}}"#,
            5 + turn
        );
        messages += r#",{"role":"assistant","content":"#;
        messages += assistant;
        messages.push('}');
        turns.push((request, response));
    }
    turns
}

fn converted(body: &str, dialect: &'static Dialect, from: Role, to: Role) -> Bytes {
    let anthropic = "anthropic".parse().expect("a dialect");
    let mut out = Vec::new();
    let pipe = Pipe::new((anthropic, from), (dialect, to), &Options::default()).expect("a pair");
    pipe.finish_with(body.as_bytes(), &mut out);
    out.into()
}

/// The three turns in a dialect.
fn exchanges(name: &str, streamed: bool) -> Vec<StoredExchange> {
    let dialect: &Dialect = name.parse().expect("a dialect");
    let mut all = Vec::new();
    for (number, (request, response)) in turns().into_iter().enumerate() {
        let mut exchange = exchange(&format!("x{number}"), number as u64 * 1000);
        exchange.facts.client_dialect = name.into();
        exchange.facts.streamed = streamed;
        exchange.request = converted(&request, dialect, Role::Request, Role::Request);
        let role = if streamed { Role::Stream } else { Role::Response };
        exchange.response = converted(&response, dialect, Role::Response, role);
        all.push(exchange);
    }
    all
}

/// Checks a record, and that each text, call and result is in it once.
fn assert_whole(record: &[u8], of: &str) {
    let problems = interlingua_record::check(record);
    let errors: Vec<_> =
        problems.iter().filter(|problem| problem.code.severity() == Severity::Error).collect();
    assert!(errors.is_empty(), "{of}: {errors:?}");
    let json: serde_json::Value = serde_json::from_slice(record).expect("JSON");
    let text = json.to_string();
    for once in [
        "Compare the files.",
        "I will look.",
        "One is missing.",
        "Both are there now.",
        "You are careful.",
        "text of a",
        "no such file",
        "written",
    ] {
        assert_eq!(text.matches(once).count(), 1, "{of}: {once}: {text}");
    }
    let mut calls = Vec::new();
    let mut results = 0;
    let mut output = 0;
    each_object(&json, &mut |object| match object.get("type").and_then(|kind| kind.as_str()) {
        Some("tool-call") => calls.push(format!("{} {}", object["name"], object["input"])),
        Some("tool-result") => results += 1,
        _ => output += object.get("token-usage").map_or(0, |usage| usage["output"].as_u64().unwrap_or(0)),
    });
    let expected = [
        r#""read" {"path":"a.txt"}"#,
        r#""read" {"path":"b.txt"}"#,
        r#""write" {"path":"b.txt","text":"new"}"#,
    ];
    assert_eq!(calls, expected, "{of}");
    assert_eq!(results, 3, "{of}");
    assert!(output >= 7, "{of}: the usage of the last response is in the record: {text}");
}

fn each_object(json: &serde_json::Value, each: &mut dyn FnMut(&serde_json::Map<String, serde_json::Value>)) {
    match json {
        serde_json::Value::Object(object) => {
            each(object);
            object.values().for_each(|value| each_object(value, each));
        }
        serde_json::Value::Array(values) => values.iter().for_each(|value| each_object(value, each)),
        _ => {}
    }
}

const WIRE: [&str; 4] = ["anthropic", "openai-chat", "openai-responses", "gemini"];

#[test]
fn a_conversation_of_each_dialect_is_a_record() {
    for name in WIRE {
        for streamed in [false, true] {
            let made = record(&exchanges(name, streamed)).expect("a record");
            assert!(made.problems.is_empty(), "{name}: {:?}", made.problems);
            assert_whole(&made.record, &format!("{name}, streamed: {streamed}"));
        }
    }
}

#[test]
fn failed_exchanges_are_not_the_end_of_a_record() {
    let mut all = exchanges("anthropic", false);
    let mut failed = all[2].clone();
    failed.facts.status = 529;
    failed.response = r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#.into();
    all.push(failed);
    assert_whole(&record(&all).expect("a record").record, "with a failure at its end");
    for exchange in &mut all {
        exchange.facts.status = 500;
    }
    assert!(matches!(record(&all), Err(RecordError::NoResponse)));
    all[0].facts.status = 200;
    all[0].facts.client_dialect = "klingon".into();
    assert!(matches!(record(&all), Err(RecordError::UnknownDialect(_))));
}

/// Requests that continue a stored response hold only the new messages.
#[test]
fn continued_responses_are_one_record() {
    let request = |input: &str, more: &str| {
        format!(r#"{{"model":"m","instructions":"You are careful.","input":{input}{more}}}"#)
    };
    let call = |id: &str, name: &str, arguments: &str| {
        let arguments = serde_json::Value::from(arguments);
        format!(
            r#"{{"type":"function_call","id":"fc_{id}","call_id":"{id}","name":"{name}","arguments":{arguments},"status":"completed"}}"#
        )
    };
    let text = |id: &str, text: &str| {
        format!(
            r#"{{"type":"message","id":"{id}","role":"assistant","status":"completed","content":[{{"type":"output_text","text":"{text}","annotations":[]}}]}}"#
        )
    };
    let response = |id: &str, output: &[String]| {
        format!(
            r#"{{"id":"{id}","object":"response","model":"m","status":"completed","output":[{}],"usage":{{"input_tokens":10,"output_tokens":7,"total_tokens":17}}}}"#,
            output.join(",")
        )
    };
    let result = |id: &str, text: &str| {
        format!(r#"{{"type":"function_call_output","call_id":"{id}","output":"{text}"}}"#)
    };
    let continued = |id: &str| format!(r#","previous_response_id":"{id}""#);
    let bodies = [
        (
            request(r#""Compare the files.""#, ""),
            response(
                "resp_0",
                &[
                    text("m0", "I will look."),
                    call("t1", "read", r#"{"path":"a.txt"}"#),
                    call("t2", "read", r#"{"path":"b.txt"}"#),
                ],
            ),
        ),
        (
            // Without the instructions, which are in the first request.
            format!(
                r#"{{"model":"m","input":[{},{}]{}}}"#,
                result("t1", "text of a"),
                result("t2", "no such file"),
                continued("resp_0")
            ),
            response(
                "resp_1",
                &[text("m1", "One is missing."), call("t3", "write", r#"{"path":"b.txt","text":"new"}"#)],
            ),
        ),
        (
            format!(r#"{{"model":"m","input":[{}]{}}}"#, result("t3", "written"), continued("resp_1")),
            response("resp_2", &[text("m2", "Both are there now.")]),
        ),
    ];
    let folder = tempfile::tempdir().expect("a folder");
    let settings = RecorderSettings::new(StorePlace::Sqlite(folder.path().join("store.db")));
    let recorder = ExchangeRecorder::open(settings, |trouble| panic!("{trouble}")).expect("opens");
    for (number, (request, response)) in bodies.into_iter().enumerate() {
        let mut exchange = exchange(&format!("x{number}"), number as u64);
        exchange.facts.conversation = String::new();
        exchange.facts.client_dialect = "openai-responses".into();
        (exchange.request, exchange.response) = (request.into(), response.into());
        assert!(recorder.record(exchange));
    }
    recorder.flush().wait().expect("flushed");
    let chain = recorder.read(|store| store.response_chain("ann", "resp_2")).wait().expect("read");
    assert_eq!(chain.len(), 3);
    assert_whole(&record(&chain).expect("a record").record, "a chain");
    let id = chain[0].facts.conversation.clone();
    let conversation = recorder.read(move |store| store.conversation(&id)).wait().expect("read");
    assert_whole(&record(&conversation).expect("a record").record, "a conversation");
}

#[test]
fn requests_of_one_conversation_have_one_key() {
    for name in WIRE {
        let dialect: &Dialect = name.parse().expect("a dialect");
        let all = exchanges(name, false);
        let keys: Vec<_> =
            all.iter().map(|exchange| conversation_key("ann", dialect, &exchange.request)).collect();
        assert!(keys[0].is_some(), "{name}");
        // Only Anthropic's dialect has Claude Code's counter as a block of its own.
        if name == "anthropic" {
            assert!(keys.iter().all(|key| *key == keys[0]), "{name}: {keys:?}");
        }
        assert_ne!(conversation_key("bob", dialect, &all[0].request), keys[0], "{name}");
    }
    let chat = "openai-chat".parse().expect("a dialect");
    let key = |body: &str| conversation_key("ann", chat, body.as_bytes());
    let hi = key(r#"{"messages":[{"role":"system","content":"s"},{"role":"user","content":"hi"}]}"#);
    assert!(hi.is_some());
    // The spelling of the JSON, other settings and later messages do not count.
    let same = r#"{"model":"m", "temperature":1,"messages":[{"content":"s","role":"system"},{"role":"user","content":[{"type":"text","text":"\u0068i"}]},{"role":"assistant","content":"Hello."}]}"#;
    assert_eq!(key(same), hi);
    for other in [
        r#"{"messages":[{"role":"system","content":"s"},{"role":"user","content":"ho"}]}"#,
        r#"{"messages":[{"role":"system","content":"t"},{"role":"user","content":"hi"}]}"#,
        r#"{"messages":[{"role":"user","content":"hi"}]}"#,
        r#"{"messages":[{"role":"system","content":"shi"},{"role":"user","content":""}]}"#,
        r#"{"prompt_cache_key":"k","messages":[{"role":"system","content":"s"},{"role":"user","content":"hi"}]}"#,
    ] {
        assert_ne!(key(other), hi, "{other}");
    }
    assert_eq!(key(r#"{"messages":[]}"#), None);
    assert_eq!(key("no JSON"), None);
}

/// Each request of a long conversation repeats the requests before it, and the store holds each part once.
#[test]
fn a_long_conversation_needs_little_more_than_its_last_request() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("store.db");
    let settings = RecorderSettings::new(StorePlace::Sqlite(path));
    let recorder = ExchangeRecorder::open(settings, |trouble| panic!("{trouble}")).expect("opens");
    let (tools, system) = (noise(60_000, 1), noise(20_000, 2));
    let mut messages = r#"{"role":"user","content":"start"}"#.to_owned();
    let (mut sent, mut last) = (0, 0);
    for turn in 0..50 {
        let mut exchange = exchange(&format!("x{turn:02}"), turn * 20_000);
        let request =
            format!(r#"{{"model":"m","messages":[{messages}],"system":"{system}{turn}","tools":"{tools}"}}"#);
        exchange.facts.client_dialect = "anthropic".into();
        (sent, last) = (sent + request.len(), request.len());
        exchange.request = request.into();
        assert!(recorder.record(exchange));
        for (number, role) in ["assistant", "user"].into_iter().enumerate() {
            let text = noise(2_000, 10 + turn * 2 + number as u64);
            for part in [r#",{"role":""#, role, r#"","content":""#, &text, r#""}"#] {
                messages += part;
            }
        }
    }
    recorder.flush().wait().expect("flushed");
    let stored = recorder.read(|store| store.size()).wait().expect("counted").bytes;
    println!("50 requests with {sent} bytes, the last with {last}: {stored} bytes in the store");
    assert!(stored < sent as u64 / 10, "{stored} of {sent}");
}

#[test]
fn a_full_queue_drops_with_a_report() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("store.db");
    let mut settings = RecorderSettings::new(StorePlace::Sqlite(path.clone()));
    settings.most_waiting = 5;
    let (reports, reported) = std::sync::mpsc::channel();
    let report = move |trouble: &StoreTrouble<'_>| {
        if let StoreTrouble::Dropped(count) = trouble {
            reports.send(*count).expect("the test listens");
        }
    };
    let recorder = ExchangeRecorder::open(settings, report).expect("opens");
    // Another process holds the lock, so nothing is stored.
    let other = rusqlite::Connection::open(&path).expect("opens");
    other.execute_batch("BEGIN IMMEDIATE").expect("locked");
    let accepted = (0..20).filter(|number| recorder.record(exchange(&format!("x{number}"), *number))).count();
    assert_eq!(accepted, 5);
    assert_eq!(recorder.counts().dropped, 15);
    other.execute_batch("ROLLBACK").expect("unlocked");
    recorder.flush().wait().expect("the accepted exchanges are stored");
    recorder.close();
    assert_eq!(recorder.counts().stored, 5);
    assert_eq!(reported.try_iter().sum::<u64>(), 15);
    assert_eq!(recorder.counts().failed, 0);
}

#[test]
fn bytes_that_wait_are_bounded() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("store.db");
    let mut settings = RecorderSettings::new(StorePlace::Sqlite(path.clone()));
    settings.most_waiting_bytes = 1000;
    let recorder = ExchangeRecorder::open(settings, |_| {}).expect("opens");
    let other = rusqlite::Connection::open(&path).expect("opens");
    other.execute_batch("BEGIN IMMEDIATE").expect("locked");
    // One exchange is accepted at any size.
    let mut large = exchange("large", 0);
    large.request = noise(5000, 1).into();
    assert!(recorder.record(large));
    assert!(!recorder.record(exchange("small", 0)));
    other.execute_batch("ROLLBACK").expect("unlocked");
    recorder.flush().wait().expect("stored");
    assert!(recorder.record(exchange("small", 0)));
}

#[test]
fn the_last_owner_stores_everything() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("store.db");
    let place = StorePlace::Sqlite(path.clone());
    let recorder =
        ExchangeRecorder::open(RecorderSettings::new(place.clone()), |trouble| panic!("{trouble}"));
    let recorder = recorder.expect("opens");
    for number in 0..500 {
        assert!(recorder.record(exchange(&format!("x{number}"), number)));
    }
    drop(recorder.clone());
    drop(recorder);
    let mut store = interlingua_store::open(&place).expect("opens");
    assert_eq!(store.size().expect("counted").exchanges, 500);
    assert_eq!(store.get("x499").expect("read").expect("stored").facts.started_ms, NOON + 499);
}

/// Retention runs on its own.
#[test]
fn a_recorder_deletes_old_exchanges() {
    let folder = tempfile::tempdir().expect("a folder");
    let place = StorePlace::Sqlite(folder.path().join("store.db"));
    let mut store = interlingua_store::open(&place).expect("opens");
    let mut old: Vec<_> = (0..1200).map(|number| exchange(&format!("x{number}"), 0)).collect();
    for exchange in &mut old {
        exchange.facts.started_ms = 1;
    }
    store.append(&old).expect("stored");
    let day = 86_400_000;
    let retention = interlingua_store::Retention::new(Some(day), None);
    let settings = RecorderSettings::new(place).with_retention(retention);
    let recorder = ExchangeRecorder::open(settings, |trouble| panic!("{trouble}")).expect("opens");
    for number in 0..8 {
        // Each flush is a turn of the writer, and each turn deletes some.
        let mut new = StoredExchange::begin();
        new.facts.client = number.to_string();
        recorder.record(new);
        recorder.flush().wait().expect("stored");
    }
    assert_eq!(store.size().expect("counted").exchanges, 8);
    assert_eq!(recorder.counts().deleted, 1200);
}
