//! Exports: the order of texts, calls and results, the place of results, and the values without a place of their own.

#![expect(clippy::expect_used, reason = "tests fail by panicking")]

use interlingua::dialects::{DIALECTS, Dialect, Options, Plane, Role};
use interlingua::ledger::Report;
use interlingua::pipe::Pipe;
use interlingua::sniff::sniff;
use serde_json::Value;

fn line(kind: &str, id: &str, content: &str) -> String {
    format!(
        r#"{{"type":"{kind}","uuid":"{id}","sessionId":"s1","timestamp":"2026-02-10T17:27:14Z","cwd":"/p","version":"2.0.0","message":{{"role":"{kind}","model":"claude-x","content":{content}}}}}"#
    )
}

fn text(words: &str) -> String {
    format!(r#"{{"type":"text","text":"{words}"}}"#)
}

fn call(id: &str) -> String {
    format!(r#"{{"type":"tool_use","id":"{id}","name":"Bash","input":{{"command":"ls"}}}}"#)
}

fn result(id: &str) -> String {
    format!(r#"{{"type":"tool_result","tool_use_id":"{id}","content":"of {id}","is_error":true}}"#)
}

fn list(blocks: &[String]) -> String {
    format!("[{}]", blocks.join(","))
}

fn export(log: &str, to: &str) -> (Vec<Value>, Report) {
    let side = |name| (Dialect::named(name).expect("registered"), Role::Log);
    let pipe = Pipe::new(side("claude-code"), side(to), &Options::default()).expect("both are known");
    let mut out = Vec::new();
    let report = pipe.finish_with(log.as_bytes(), &mut out);
    let documents = serde_json::Deserializer::from_slice(&out).into_iter::<Value>();
    (documents.map(|document| document.expect("JSON")).collect(), report)
}

/// The texts, calls and results of a trajectory in the order in which its steps hold them.
fn in_steps(trajectory: &Value) -> Vec<String> {
    let mut found = Vec::new();
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    for step in list(&trajectory["steps"]) {
        found.extend(step["reasoning_content"].as_str().map(|text| format!("thought {text}")));
        match &step["message"] {
            Value::String(text) if text.is_empty() => {}
            Value::String(text) => found.push(text.clone()),
            parts => {
                found.extend(list(parts).iter().filter_map(|part| part["text"].as_str()).map(str::to_owned));
            }
        }
        let calls = list(&step["tool_calls"]);
        found.extend(
            calls.iter().filter_map(|call| call["tool_call_id"].as_str()).map(|id| format!("call {id}")),
        );
        for result in list(&step["observation"]["results"]) {
            let place = if result["source_call_id"].is_null() { "apart" } else { "at its call" };
            found.push(format!("{} {place}", result["content"].as_str().unwrap_or_default()));
        }
    }
    found
}

/// The parts of all responses and the results of all tools, in the order of their numbers.
fn in_spans(export: &Value) -> Vec<String> {
    let spans = export["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().expect("spans");
    let attribute = |span: &Value, name: &str| {
        let attributes = span["attributes"].as_array().expect("a list").clone();
        attributes.into_iter().find(|each| each["key"] == name).map(|each| each["value"].clone())
    };
    let text = |span: &Value, name: &str| {
        attribute(span, name).and_then(|value| value["stringValue"].as_str().map(str::to_owned))
    };
    let number = |span: &Value| {
        let value = attribute(span, "interlingua.sequence").expect("every span has its number");
        value["intValue"].as_str().and_then(|digits| digits.parse::<u64>().ok()).expect("a number")
    };
    let mut found = Vec::new();
    for span in spans {
        for name in ["gen_ai.input.messages", "gen_ai.output.messages"] {
            let messages =
                text(span, name).map_or(Value::Null, |text| serde_json::from_str(&text).expect("JSON"));
            for message in messages.as_array().into_iter().flatten() {
                // Messages for the model have numbers of their own; the model's message has that of its span.
                let number = message["sequence"].as_u64().unwrap_or_else(|| number(span));
                for part in message["parts"].as_array().expect("parts") {
                    match part["type"].as_str() {
                        Some("text") => {
                            found.push((number, part["content"].as_str().expect("text").to_owned()));
                        }
                        Some("tool_call") => {
                            found.push((number, format!("call {}", part["id"].as_str().expect("an id"))));
                        }
                        _ => {}
                    }
                }
            }
        }
        found.extend(text(span, "gen_ai.tool.call.result").map(|result| (number(span), result)));
    }
    found.sort_by_key(|(number, _)| *number);
    found.into_iter().map(|(_, text)| text).collect()
}

#[test]
fn texts_and_calls_keep_their_order() {
    let blocks = [text("one"), call("t1"), text("two"), call("t2")];
    let log = [
        line("user", "u1", "\"go\""),
        line("assistant", "a1", &list(&blocks)),
        line("user", "u2", &list(&[result("t2"), text("and now"), result("t1")])),
        line("assistant", "a2", &list(&[text("three")])),
    ]
    .join("\n");
    let (trajectories, report) = export(&log, "atif");
    let expected =
        ["go", "one", "call t1", "two", "call t2", "of t2 at its call", "and now", "of t1 apart", "three"];
    assert_eq!(in_steps(&trajectories[0]), expected);
    let is_about_results = |note: &&(&str, u64)| note.0.starts_with("result in a step of its own");
    assert_eq!(report.notes.iter().filter(is_about_results).count(), 1, "{:?}", report.notes);
    let expected = ["go", "one", "call t1", "two", "call t2", "of t2", "and now", "of t1", "three"];
    assert_eq!(in_spans(&export(&log, "otel").0[0]), expected);
}

#[test]
fn parallel_results_are_at_their_calls() {
    let log = [
        line("assistant", "a1", &list(&[text("both"), call("t1"), call("t2")])),
        line("user", "u1", &list(&[result("t2")])),
        line("user", "u2", &list(&[result("t1")])),
    ]
    .join("\n");
    let trajectory = export(&log, "atif").0.remove(0);
    assert_eq!(
        in_steps(&trajectory),
        ["both", "call t1", "call t2", "of t2 at its call", "of t1 at its call"]
    );
    let step = &trajectory["steps"][0];
    assert_eq!(step["observation"]["results"][0]["source_call_id"], "t2");
    assert_eq!(step["observation"]["results"][1]["extra"]["is_error"], true);
    assert_eq!(step["tool_calls"][0]["arguments"]["command"], "ls");
    let export = export(&log, "otel").0.remove(0);
    let spans = export["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().expect("spans");
    let names: Vec<_> = spans.iter().filter_map(|span| span["name"].as_str()).collect();
    // The last `chat` holds the messages around the results.
    assert_eq!(
        names,
        ["chat claude-x", "execute_tool Bash", "execute_tool Bash", "chat", "invoke_agent claude-code"]
    );
    assert_eq!(spans[1]["status"]["code"], 2);
}

#[test]
fn the_facts_of_the_session_are_in_the_trajectory() {
    let trajectory = export(&line("user", "u1", "\"hi\""), "atif").0.remove(0);
    assert_eq!(trajectory["schema_version"], "ATIF-v1.8");
    assert_eq!(trajectory["session_id"], "s1");
    assert_eq!(trajectory["agent"]["name"], "claude-code");
    assert_eq!(trajectory["agent"]["version"], "2.0.0");
    assert_eq!(trajectory["extra"]["session"]["cwd"], "/p");
    assert_eq!(trajectory["steps"][0]["timestamp"], "2026-02-10T17:27:14.000Z");
    assert_eq!(trajectory["steps"][0]["extra"]["items"][0]["id"], "u1");
}

#[test]
fn a_log_without_items_is_a_trajectory_with_one_step() {
    let (trajectories, report) = export("", "atif");
    assert_eq!(trajectories[0]["steps"].as_array().map(Vec::len), Some(1));
    assert!(report.notes.iter().any(|(note, _)| note.starts_with("made up a step")), "{:?}", report.notes);
}

#[test]
fn a_session_with_a_million_events_has_steps_of_bounded_size() {
    let notice = r#"{"type":"queue-operation","operation":"dequeue","timestamp":"2026-02-10T17:27:14Z","sessionId":"s1"}"#;
    let log = vec![notice; 2000].join("\n");
    let trajectory = export(&log, "atif").0.remove(0);
    let steps = trajectory["steps"].as_array().expect("steps");
    assert!(steps.len() > 3, "{} steps", steps.len());
    let events = steps.iter().filter_map(|step| step["extra"]["events"].as_array()).map(Vec::len);
    assert!(events.sum::<usize>() >= 2000);
}

#[test]
fn an_export_is_written_and_never_read() {
    let exports: Vec<_> = DIALECTS.iter().filter(|dialect| dialect.plane == Plane::Export).collect();
    assert_eq!(exports.len(), 2);
    for dialect in exports {
        let side = (*dialect, Role::Log);
        assert!(
            Pipe::new(side, (Dialect::named("record").expect("registered"), Role::Log), &Options::default())
                .is_err()
        );
        let (documents, _) = export(&line("user", "u1", "\"hi\""), dialect.name);
        let bytes = serde_json::to_vec(&documents[0]).expect("JSON");
        assert!(sniff(&bytes, true).is_none_or(|guess| guess.dialect.plane != Plane::Export));
    }
}
