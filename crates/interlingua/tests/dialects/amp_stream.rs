//! The lines that Amp prints. Numbers in names are those of the list of converters' faults.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may fail")]
#![allow(clippy::disallowed_methods, reason = "captures are files of a folder that a variable names")]

use interlingua::dialects::{Dialect, Options, Role};
use interlingua::json::Str;
use interlingua::model::{
    Arrival, Author, Delta, Event, ItemHead, ItemId, ItemKind, ItemTail, Media, MediaSource, Part, Status,
    Stop, StopClass, Turn,
};
use interlingua::pipe::AgentLink;
use serde_json::{Value, json};

use crate::support::convert;

const TOOLS: &str = include_str!("../../fixtures/anthropic/amp_stream/2026-11/tools.jsonl");
const FAILED: &str = include_str!("../../fixtures/anthropic/amp_stream/2026-11/failed.jsonl");

fn universal(lines: &str) -> Vec<Value> {
    let live = |name| (Dialect::named(name).unwrap(), Role::Live);
    let bytes = convert(live("amp-stream"), live("universal"), lines.as_bytes()).bytes;
    String::from_utf8(bytes).unwrap().lines().map(|line| serde_json::from_str(line).expect(line)).collect()
}

fn of<'e>(events: &'e [Value], kind: &str) -> Vec<&'e Value> {
    events.iter().filter(|event| event["type"] == kind).map(|event| &event["data"]).collect()
}

/// The texts, calls, results and reasoning of the completed items.
fn told(events: &[Value]) -> Vec<Value> {
    let mut told = Vec::new();
    for item in of(events, "item.completed").into_iter().map(|data| &data["item"]) {
        for part in item["content"].as_array().unwrap() {
            match part["type"].as_str().unwrap() {
                "text" if item["kind"] == "message" => told.push(json!([item["role"], part["text"]])),
                "reasoning" => told.push(json!(["reasoning", part["text"]])),
                "tool_call" => {
                    let input: Value = serde_json::from_str(part["arguments"].as_str().unwrap()).unwrap();
                    told.push(json!(["call", part["call_id"], input]));
                }
                "tool_result" => told.push(json!(["result", part["call_id"], part["output"]])),
                _ => {}
            }
        }
    }
    told
}

/// The same, counted in the lines without the dialect.
fn printed(lines: &str) -> Vec<Value> {
    let mut printed = Vec::new();
    for line in lines.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        for block in line["message"]["content"].as_array().into_iter().flatten() {
            printed.push(match block["type"].as_str().unwrap() {
                "text" => json!([line["type"], block["text"]]),
                "thinking" => json!(["reasoning", block["thinking"]]),
                "tool_use" => json!(["call", block["id"], block["input"]]),
                "tool_result" => json!(["result", block["tool_use_id"], block["content"]]),
                other => panic!("{other}"),
            });
        }
    }
    printed
}

fn sorted(mut list: Vec<Value>) -> Vec<Value> {
    list.sort_by_key(Value::to_string);
    list
}

#[test]
fn list_82_every_block_of_a_list_is_read() {
    let events = universal(TOOLS);
    assert_eq!(sorted(told(&events)), sorted(printed(TOOLS)));
    let statuses: Vec<_> = of(&events, "item.completed")
        .into_iter()
        .map(|data| &data["item"])
        .filter(|item| item["kind"] == "tool_result")
        .map(|item| json!([item["content"][0]["call_id"], item["status"]]))
        .collect();
    assert_eq!(
        statuses,
        [
            json!(["toolu_1", "completed"]),
            json!(["toolu_2", "failed"]),
            json!(["toolu_3", "completed"]),
            json!(["toolu_4", "failed"])
        ]
    );
    assert_eq!((of(&events, "turn.started").len(), of(&events, "turn.ended").len()), (1, 1));
    assert_eq!(of(&events, "turn.ended")[0]["metadata"]["stop"]["class"], "end_turn");
}

#[test]
fn a_failure_has_its_text_and_ends_the_turn() {
    let events = universal(FAILED);
    assert_eq!(of(&events, "error").len(), 1);
    assert!(of(&events, "error")[0]["message"].as_str().unwrap().contains("a scripted failure"));
    assert_eq!(of(&events, "turn.ended")[0]["metadata"]["stop"]["class"], "error");
}

#[test]
fn the_captures_have_every_block() {
    let Some(root) = std::env::var_os("INTERLINGUA_CORPUS") else { return };
    let mut count = 0;
    for entry in std::fs::read_dir(std::path::Path::new(&root).join("agents/amp")).unwrap() {
        let path = entry.unwrap().path();
        if !path.to_string_lossy().contains("-stream-") {
            continue;
        }
        let lines = std::fs::read_to_string(&path).unwrap();
        let events = universal(&lines);
        assert!(of(&events, "agent.unparsed").is_empty(), "{}", path.display());
        assert_eq!(sorted(told(&events)), sorted(printed(&lines)), "{}", path.display());
        assert_eq!((of(&events, "turn.started").len(), of(&events, "turn.ended").len()), (1, 1));
        count += 1;
    }
    assert_eq!(count, 6);
}

/// Responses have no ids: equal counts are those of two responses.
#[test]
fn equal_counts_of_two_responses_are_both_told() {
    let tokens = crate::printed::tokens(&universal(TOOLS), "output");
    assert_eq!(tokens, 3 * 13);
}

fn image(media_type: &'static str) -> Part<'static> {
    Part::Media(Media {
        media_type: Some(Str::plain(media_type)),
        source: MediaSource::Base64(Str::plain("aGk=")),
        name: None,
        context: None,
        citable: None,
        detail: None,
    })
}

fn prompt(link: &mut AgentLink, parts: Vec<Part<'_>>) -> String {
    let item = ItemId(7);
    let mut sent = link.send(&Event::ItemStarted(ItemHead::new(item, ItemKind::Message, Author::User)));
    for (part, value) in parts.into_iter().enumerate() {
        let part = u32::try_from(part).unwrap();
        sent.extend(link.send(&Event::ItemDelta(Delta { item, part, value, arrival: Arrival::Whole })));
    }
    sent.extend(link.send(&Event::ItemCompleted(ItemTail::new(item, Status::Completed))));
    String::from_utf8(sent).unwrap()
}

/// Amp refuses a text in place of the list, and has no message for an interrupt.
#[test]
fn prompts_are_lists_of_blocks_and_an_interrupt_has_no_line() {
    let mut link = AgentLink::new(Dialect::named("amp-stream").unwrap(), &Options::default()).unwrap();
    let text = || Part::Text(Str::plain("Look."));
    let block = r#"{"type":"text","text":"Look."}"#;
    let user_line = |blocks: &str| {
        format!("{{\"type\":\"user\",\"message\":{{\"role\":\"user\",\"content\":[{blocks}]}}}}\n")
    };
    assert_eq!(prompt(&mut link, vec![text()]), user_line(block));
    let picture = r#"{"type":"image","source":{"type":"base64","media_type":"image/png","data":"aGk="}}"#;
    assert_eq!(prompt(&mut link, vec![text(), image("image/png")]), user_line(&format!("{block},{picture}")));
    // A sound has no place on stdin, and a prompt without anything else is no prompt.
    assert_eq!(prompt(&mut link, vec![text(), image("audio/wav")]), user_line(block));
    assert_eq!(prompt(&mut link, vec![image("audio/wav")]), "");
    let stop = Stop { class: StopClass::Cancelled, raw: None, sequence: None, detail: None };
    let sent = link.send(&Event::TurnEnded(Turn { stop: Some(stop), ..Turn::default() }));
    assert!(sent.is_empty(), "{}", String::from_utf8_lossy(&sent));
}
