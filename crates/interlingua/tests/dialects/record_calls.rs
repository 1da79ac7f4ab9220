//! Call ids in records: each call has an id, a generated id is marked, and a result has the id of its call.
#![expect(clippy::expect_used, reason = "tests fail by panicking")]

use std::collections::BTreeSet;

use crate::support::{Law, Way, convert, fixtures, record, restorable, same};
use interlingua::dialects::{Dialect, Plane, Role};
use interlingua::error::Severity;
use serde_json::Value;

fn log(name: &str) -> Way {
    (Dialect::named(name).expect("registered"), Role::Log)
}

/// A call or a result of a record: its type, its tool, its call id, and whether the id is marked as synthetic.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Link {
    kind: String,
    name: Value,
    id: Option<String>,
    is_marked: bool,
}

/// The calls and results of each record in the output, in order.
fn links(records: &[u8]) -> Vec<Vec<Link>> {
    let records = serde_json::Deserializer::from_slice(records).into_iter::<Value>();
    records
        .map(|record| {
            let mut links = Vec::new();
            gather(&record.expect("JSON")["session"]["entries"], &mut links);
            links
        })
        .collect()
}

fn gather(entries: &Value, links: &mut Vec<Link>) {
    for entry in entries.as_array().into_iter().flatten() {
        let kind = entry["type"].as_str().unwrap_or_default();
        let said = &entry["vendor-ext"]["data"]["said"];
        // A later part of a call has no head of its own.
        let is_part = [entry, said].iter().any(|map| map.get("part").is_some());
        if matches!(kind, "tool-call" | "tool-result") && !is_part {
            let is_marked = [entry, said].iter().any(|map| map["synthetic-call-id"] == true);
            let id = entry["call-id"].as_str().map(str::to_owned);
            let name = [entry, said].map(|map| map["name"].clone()).into_iter().find(|name| !name.is_null());
            links.push(Link { kind: kind.to_owned(), name: name.unwrap_or_default(), id, is_marked });
        }
        gather(&entry["children"], links);
    }
}

fn profiles() -> [Way; 2] {
    [record(), log("record-v2")]
}

#[test]
fn every_call_has_an_id_and_every_id_of_ours_is_marked() {
    let mut law =
        Law::new("calls of a record have ids; those of ours are marked, unique, and lead to a call");
    // Readers of API bodies generate ids themselves.
    for case in fixtures().iter().filter(|case| case.way.0.plane == Plane::Log) {
        let source = String::from_utf8_lossy(&case.bytes).into_owned();
        for to in profiles() {
            let out = convert(case.way, to, &case.bytes);
            for links in links(&out.bytes) {
                let (mut calls, mut ours) = (BTreeSet::new(), BTreeSet::new());
                for link in &links {
                    let is_call = link.kind == "tool-call";
                    law.holds(!is_call || link.id.is_some(), || format!("{case}: no id: {link:?}"));
                    let Some(id) = &link.id else { continue };
                    let in_source =
                        source.contains(serde_json::to_string(id).expect("text").trim_matches('"'));
                    law.holds(link.is_marked != in_source || !is_call, || {
                        format!("{case}: mark of {link:?}")
                    });
                    if is_call && link.is_marked {
                        law.holds(ours.insert(id), || format!("{case}: {id} is there twice"));
                    }
                    law.holds(is_call || !link.is_marked || calls.contains(id), || {
                        format!("{case}: {link:?} answers no call before it")
                    });
                    if is_call {
                        calls.insert(id);
                    }
                }
            }
        }
    }
    law.end();
}

#[test]
fn ids_of_ours_are_in_no_log_and_in_no_event() {
    let mut law =
        Law::new("log -> record of either profile -> log: the same bytes, and no id of ours elsewhere");
    for case in fixtures().iter().filter(|case| restorable(case)) {
        for to in profiles() {
            let records = convert(case.way, to, &case.bytes).bytes;
            let back = convert(to, case.way, &records);
            law.holds(back.bytes == case.bytes, || format!("{case}: another log comes back"));
            for other in profiles().into_iter().filter(|other| !same(*other, to)) {
                let again = convert(to, other, &records);
                let (before, after) = (links(&records), links(&again.bytes));
                law.holds(before == after, || format!("{case} -> {}: other ids", other.0.name));
                let errors = again.report.problems.iter().filter(|it| it.code.severity() == Severity::Error);
                law.holds(errors.count() == 0, || format!("{case}: {:?}", again.report.problems));
            }
            let universal = (Dialect::named("universal").expect("registered"), Role::Live);
            let events = convert(to, universal, &records).bytes;
            let is_free = !String::from_utf8_lossy(&events).contains("interlingua-call-");
            law.holds(is_free, || format!("{case}: an event has an id of ours"));
        }
    }
    law.end();
}

fn ids(name: &str, text: &str) -> Vec<(String, Option<String>, bool)> {
    let out = convert(log(name), record(), text.as_bytes());
    assert_eq!(out.report.lost, 0, "{:?}", out.report.lost_paths);
    let back = convert(record(), log(name), &out.bytes);
    assert_eq!(String::from_utf8_lossy(&back.bytes), text, "the log comes back");
    assert_eq!(back.report.lost, 0, "{:?}", back.report.lost_paths);
    let links = links(&out.bytes).into_iter().flatten();
    links.map(|link| (link.kind, link.id, link.is_marked)).collect()
}

fn expected(links: &[(&str, Option<&str>, bool)]) -> Vec<(String, Option<String>, bool)> {
    links.iter().map(|(kind, id, mark)| ((*kind).to_owned(), id.map(str::to_owned), *mark)).collect()
}

fn gemini(role: &str, parts: &[String]) -> String {
    format!(
        "{{\"role\":\"{role}\",\"parts\":[{}],\"timestamp\":\"2026-02-07T11:22:16.345Z\"}}\n",
        parts.join(",")
    )
}

fn call(name: &str, more: &str) -> String {
    format!(r#"{{"function_call":{{"name":"{name}","args":{{}}{more}}}}}"#)
}

fn response(name: &str) -> String {
    format!(r#"{{"function_response":{{"name":"{name}","response":{{"output":"x"}}}}}}"#)
}

#[test]
fn results_of_gemini_find_their_call_by_the_name_of_the_tool() {
    let log = gemini("model", &[call("read", ""), call("list", ""), call("read", "")])
        + &gemini("user", &["list", "read", "read", "read"].map(response));
    let found = ids("gemini-cli", &log);
    let number = |number: u8| format!("interlingua-call-{number}");
    let names = [1, 2, 3].map(number);
    let [one, two, three] = [&names[0], &names[1], &names[2]].map(|name| Some(name.as_str()));
    let links = [
        ("tool-call", one, true),
        ("tool-call", two, true),
        ("tool-call", three, true),
        ("tool-result", two, true),
        ("tool-result", one, true),
        ("tool-result", three, true),
        // No call is left for this result.
        ("tool-result", None, false),
    ];
    assert_eq!(found, expected(&links));
}

#[test]
fn an_id_of_ours_is_no_id_of_the_source() {
    let named = r#","id":"interlingua-call-1""#;
    let log =
        gemini("model", &[call("read", named), call("list", "")]) + &gemini("user", &[response("list")]);
    let links = [
        ("tool-call", Some("interlingua-call-1"), false),
        ("tool-call", Some("interlingua-call-2"), true),
        ("tool-result", Some("interlingua-call-2"), true),
    ];
    assert_eq!(ids("gemini-cli", &log), expected(&links));
}

fn codex(content: &str) -> String {
    format!("{{\"role\":\"assistant\",\"content\":[{content}]}}\n")
}

#[test]
fn calls_of_codex_in_the_form_of_the_api_get_ids() {
    let meta = "{\"type\":\"session_meta\",\"payload\":{\"id\":\"019c37d6-0000-7000-8000-000000000001\"}}\n";
    let call = |id: &str| format!(r#"{{"type":"function_call","name":"shell","arguments":{{"a":1}}{id}}}"#);
    let result = |id: &str| format!(r#"{{"type":"function_result","result":"x"{id}}}"#);
    let log = [
        meta.to_owned(),
        codex(&call("")),
        codex(&result("")),
        // The only pending call has an id.
        codex(&call(r#","call_id":"c1""#)),
        codex(&result("")),
        codex(&call(r#","call_id":"c2""#)),
        codex(&result(r#","call_id":"c2""#)),
    ]
    .concat();
    let links = [
        ("tool-call", Some("interlingua-call-1"), true),
        ("tool-result", Some("interlingua-call-1"), true),
        ("tool-call", Some("c1"), false),
        ("tool-result", Some("c1"), true),
        ("tool-call", Some("c2"), false),
        ("tool-result", Some("c2"), false),
    ];
    assert_eq!(ids("codex", &log), expected(&links));
}

#[test]
fn a_changed_id_of_ours_is_an_id_like_any_other() {
    let log_text = gemini("model", &[call("read", "")]) + &gemini("user", &[response("read")]);
    let bytes = convert(log("gemini-cli"), record(), log_text.as_bytes()).bytes;
    let text = String::from_utf8(bytes).expect("text");
    let universal = (Dialect::named("universal").expect("registered"), Role::Live);
    let said =
        |text: &str| String::from_utf8(convert(record(), universal, text.as_bytes()).bytes).expect("text");
    assert!(!said(&text).contains("interlingua-call-"), "dropped where it follows from the entries");
    let edited = said(&text.replace(r#""call-id":"interlingua-call-1""#, r#""call-id":"mine""#));
    assert!(edited.contains(r#""call_id":"mine""#), "{edited}");
    let unmarked = text.replace(r#","synthetic-call-id":true"#, "");
    assert!(said(&unmarked).contains(r#""call_id":"interlingua-call-1""#), "{}", said(&unmarked));
}
