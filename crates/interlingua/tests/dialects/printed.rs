//! Helpers for printed streams: universal events of a stream, their content in short, and captures of the real programs.
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::collections::BTreeMap;
use std::path::PathBuf;

use interlingua::dialects::{Dialect, Role};
use interlingua::sniff::sniff;
use serde_json::Value;

use crate::support::convert;

/// The universal events of a stream, in which every line is readable.
pub(crate) fn universal(name: &str, text: &str) -> Vec<Value> {
    let from = (Dialect::named(name).unwrap(), Role::Live);
    let to = (Dialect::named("universal").unwrap(), Role::Live);
    let out = convert(from, to, text.as_bytes());
    assert_eq!(out.report.problems, [], "{name}");
    let text = String::from_utf8(out.bytes).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The token counts of all reports, of messages and of turns.
pub(crate) fn tokens(events: &[Value], count: &str) -> u64 {
    let ended = events.iter().filter(|event| event["type"] == "turn.ended");
    let turns = ended.filter_map(|event| event["data"]["metadata"]["usage"][count].as_u64());
    let items = events.iter().filter(|event| event["type"] == "item.completed");
    let parts = items.flat_map(|event| event["data"]["item"]["content"].as_array().into_iter().flatten());
    turns.chain(parts.filter_map(|part| part["json"]["usage"][count].as_u64())).sum()
}

/// A fixture of a stream.
pub(crate) fn fixture(name: &str, file: &str) -> String {
    let folder = Dialect::named(name).unwrap().folder();
    let path =
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../fixtures").join(folder).join("2026-11").join(file);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The events in short, one line for each item and each event that is not about an item: kind, status and text.
pub(crate) fn short(events: &[Value]) -> Vec<String> {
    let mut lines = Vec::new();
    for event in events {
        let data = &event["data"];
        match event["type"].as_str().unwrap() {
            "item.started" | "item.delta" => {}
            "item.completed" => lines.push(short_item(&data["item"])),
            "turn.ended" => lines
                .push(format!("turn ended: {}", data["metadata"]["stop"]["class"].as_str().unwrap_or("?"))),
            "error" => lines.push(format!("error: {}", data["message"].as_str().unwrap())),
            "session.ended" => {}
            other => lines.push(other.replace('.', " ")),
        }
    }
    lines
}

fn short_item(item: &Value) -> String {
    let kind = item["kind"].as_str().unwrap();
    let author = item["role"].as_str().unwrap_or_default();
    let status = match item["status"].as_str().unwrap() {
        "completed" => String::new(),
        other => format!(" ({other})"),
    };
    let parts: Vec<String> = item["content"].as_array().unwrap().iter().map(short_part).collect();
    format!("{kind} {author}{status}: {}", parts.join(" | "))
}

fn short_part(part: &Value) -> String {
    let text = |name: &str| part[name].as_str().unwrap_or_default().to_owned();
    match part["type"].as_str().unwrap() {
        "text" => text("text"),
        "reasoning" => format!("thought: {}", text("text")),
        "tool_call" => format!("{} {} {}", text("call_id"), text("name"), text("arguments")),
        "tool_result" => format!("{} = {}", text("call_id"), text("output")),
        "file_ref" => format!("{} {}", text("action"), text("path")),
        "status" => text("label"),
        other => other.to_owned(),
    }
}

/// The number of items of each kind, of thoughts, and of the other events of each type.
pub(crate) fn counts(events: &[Value]) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for event in events {
        let item = &event["data"]["item"];
        let name = match event["type"].as_str().unwrap() {
            "item.started" | "item.delta" => continue,
            "item.completed" => item["kind"].as_str().unwrap(),
            other => other,
        };
        *counts.entry(name.to_owned()).or_default() += 1;
        let parts = item["content"].as_array().into_iter().flatten();
        let thoughts = parts.filter(|part| part["type"] == "reasoning").count();
        if event["type"] == "item.completed" && thoughts > 0 {
            *counts.entry("thought".to_owned()).or_default() += thoughts;
        }
    }
    counts
}

/// Captures of a real program, if `INTERLINGUA_CORPUS` names a folder: the files whose names begin with one of `starts`.
pub(crate) fn captures(agent: &str, starts: &[&str]) -> Vec<(String, String)> {
    let Some(root) = std::env::var_os("INTERLINGUA_CORPUS") else { return Vec::new() };
    let folder = PathBuf::from(root).join("agents").join(agent);
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if starts.iter().any(|start| name.starts_with(start))
            && path.extension().is_some_and(|end| end == "jsonl")
        {
            found.push((name, std::fs::read_to_string(&path).unwrap()));
        }
    }
    assert!(!found.is_empty(), "no capture of {agent}");
    found
}

/// Checks a capture: the dialect is detected, every turn that began ends once, every result has an earlier call, deltas add
/// up to the text, and no line is unparsed.
pub(crate) fn check(dialect: &str, name: &str, text: &str) -> Vec<Value> {
    let guess = sniff(text.as_bytes(), true);
    assert_eq!(guess.map(|guess| guess.dialect.name), Some(dialect), "{name}");
    let events = universal(dialect, text);
    let of = |kind: &str| events.iter().filter(|event| event["type"] == kind).count();
    assert_eq!(of("agent.unparsed"), 0, "{name}");
    assert_eq!((of("turn.started"), of("turn.ended")), (1, 1), "{name}");
    let mut calls = Vec::new();
    let mut streamed: BTreeMap<String, String> = BTreeMap::new();
    for event in &events {
        let item = &event["data"]["item"];
        if event["type"] == "item.delta" {
            let id = event["data"]["item_id"].as_str().unwrap().to_owned();
            *streamed.entry(id).or_default() += event["data"]["delta"].as_str().unwrap_or_default();
        }
        if event["type"] != "item.completed" {
            continue;
        }
        for part in item["content"].as_array().unwrap() {
            match part["type"].as_str().unwrap() {
                "tool_call" => calls.push(part["call_id"].clone()),
                "tool_result" => assert!(calls.contains(&part["call_id"]), "{name}: {part}"),
                "text" if item["role"] == "assistant" => {
                    let whole = streamed.get(item["item_id"].as_str().unwrap());
                    let text = part["text"].as_str().unwrap();
                    assert!(whole.is_some_and(|whole| whole.contains(text)), "{name}: {text}");
                }
                _ => {}
            }
        }
    }
    events
}
