//! The printed stream of `codex exec --json`.
#![expect(clippy::expect_used, reason = "tests fail by panicking")]

use interlingua::dialects::{Dialect, Options, Role};
use interlingua::model::{Event, ItemKind, Status, StopClass};
use interlingua::pipe::EventReader;

use crate::support::fixture_root;

fn read(lines: &str) -> Vec<Event<'static>> {
    let exec = Dialect::named("codex-exec").expect("registered");
    let mut events = Vec::new();
    let mut reader = EventReader::new((exec, Role::Live), &Options::default()).expect("readable");
    reader.push(lines.as_bytes(), |event| events.push(event.clone().into_owned()));
    reader.finish(|event| events.push(event.clone().into_owned()));
    events
}

fn fixture(name: &str) -> Vec<Event<'static>> {
    let exec = Dialect::named("codex-exec").expect("registered");
    read(&std::fs::read_to_string(fixture_root(exec).join("2026-11").join(name)).expect("a fixture"))
}

#[test]
fn each_tool_is_one_call_and_one_result() {
    let events = fixture("functions.jsonl");
    let (mut calls, mut results) = (Vec::new(), Vec::new());
    for event in &events {
        if let Event::ItemStarted(head) = event {
            match &head.kind {
                ItemKind::ToolCall(call) => {
                    calls.push((call.call_id.clone(), call.name.decode().into_owned()));
                }
                ItemKind::ToolResult(result) => results.push(result.call_id.clone()),
                ItemKind::Message | ItemKind::Reasoning | ItemKind::Notice(_) => {}
            }
        }
    }
    let names: Vec<_> = calls.iter().map(|(_, name)| name.as_str()).collect();
    assert_eq!(names, ["command_execution", "command_execution", "file_change"]);
    assert_eq!(calls.iter().map(|(id, _)| id.clone()).collect::<Vec<_>>(), results);
    let failed = events
        .iter()
        .filter(|event| matches!(event, Event::ItemCompleted(tail) if tail.status == Status::Failed));
    assert_eq!(failed.count(), 1);
}

/// Codex prints two members `id` for a search: the id of the item, and the id of the model's call.
#[test]
fn a_search_with_two_ids_is_one_call_with_its_result() {
    let line = |kind: &str| {
        format!(
            r#"{{"type":"{kind}","item":{{"id":"item_5","type":"web_search","id":"ws_1","query":"heron","action":{{"type":"search"}}}}}}"#
        )
    };
    let events = read(&format!("{}\n{}\n", line("item.started"), line("item.completed")));
    let ids: Vec<_> = events
        .iter()
        .filter_map(|event| match event {
            Event::ItemStarted(head) => match &head.kind {
                ItemKind::ToolCall(call) => call.call_id.clone(),
                ItemKind::ToolResult(result) => result.call_id.clone(),
                ItemKind::Message | ItemKind::Reasoning | ItemKind::Notice(_) => None,
            },
            _ => None,
        })
        .collect();
    assert_eq!(ids.len(), 2);
    assert_eq!(ids[0], ids[1]);
}

#[test]
fn usage_is_the_increase_of_the_sum_over_the_thread() {
    let turn = |input: u64| {
        format!(
            "{{\"type\":\"turn.started\"}}\n{{\"type\":\"turn.completed\",\"usage\":{{\"input_tokens\":{input},\"output_tokens\":{input}}}}}\n"
        )
    };
    let events = read(&(turn(100) + &turn(150)));
    let outputs: Vec<_> = events
        .iter()
        .filter_map(|event| match event {
            Event::TurnEnded(turn) => turn.usage.and_then(|usage| usage.output),
            _ => None,
        })
        .collect();
    assert_eq!(outputs, [100, 50]);
}

#[test]
fn a_failed_turn_ends_once_and_its_error_is_told_once() {
    let events = fixture("error.jsonl");
    let errors = events.iter().filter(|event| matches!(event, Event::Error(_))).count();
    assert_eq!(errors, 2, "the retried error and the last error");
    let stops: Vec<_> = events
        .iter()
        .filter_map(|event| match event {
            Event::TurnEnded(turn) => turn.stop.as_ref().map(|stop| stop.class),
            _ => None,
        })
        .collect();
    assert_eq!(stops, [StopClass::Error]);
}

#[test]
fn a_tool_that_never_ended_is_interrupted() {
    let lines = concat!(
        "{\"type\":\"turn.started\"}\n",
        "{\"type\":\"item.started\",\"item\":{\"id\":\"i\",\"type\":\"command_execution\",\"command\":\"ls\",\"status\":\"in_progress\"}}\n",
        "{\"type\":\"turn.failed\",\"error\":{\"message\":\"x\"}}\n",
    );
    let tails: Vec<_> = read(lines)
        .iter()
        .filter_map(|event| if let Event::ItemCompleted(tail) = event { Some(tail.status) } else { None })
        .collect();
    assert_eq!(tails, [Status::Completed, Status::Interrupted]);
}
