//! The content of messages keeps its order through universal events: source -> universal -> the same content.

use std::collections::HashMap;

use interlingua::dialects::{Options, Plane};
use interlingua::model::{Event, ItemId, ItemKind, Part};
use interlingua::pipe::EventReader;
use serde_json::{Value, json};

use super::{Source, convert_in, dialect, of, parse, sources, universal};

/// The content of each message in order: texts, media, reasoning with its state, and the calls and results within.
#[derive(Default)]
struct Contents {
    messages: Vec<Vec<String>>,
    /// The message of each open message item, and the place of each part and of each reasoning item.
    number: HashMap<ItemId, usize>,
    parts: HashMap<(ItemId, u32), (usize, usize)>,
    reasoning: HashMap<ItemId, (usize, usize)>,
}

impl Contents {
    fn of(from: &str, bytes: &[u8]) -> Vec<Vec<String>> {
        let mut contents = Self::default();
        let mut reader = EventReader::new(dialect(from), &Options::default()).expect("a reader");
        reader.push(bytes, |event| contents.add(event));
        reader.finish(|event| contents.add(event));
        // A message without content has no event of its own.
        contents.messages.retain(|message| message.iter().any(|entry| !entry.starts_with("item ")));
        // A part of reasoning with several parts is an item of its own when universal events are read.
        for message in &mut contents.messages {
            let entries = std::mem::take(message);
            for entry in entries {
                match (message.last_mut(), entry.strip_prefix("reasoning ")) {
                    (Some(last), Some(more)) if last.starts_with("reasoning ") => *last += more,
                    (_, _) => message.push(entry),
                }
            }
        }
        contents.messages
    }

    fn add(&mut self, event: &Event<'_>) {
        match event {
            Event::ItemStarted(head) => {
                let around = head.within.and_then(|message| self.number.get(&message).copied());
                match (&head.kind, around) {
                    (ItemKind::Message, None) => {
                        self.number.insert(head.id, self.messages.len());
                        self.messages.push(Vec::new());
                    }
                    (ItemKind::Reasoning, None) if head.within.is_none() => {
                        self.reasoning.insert(head.id, (self.messages.len(), 0));
                        self.messages.push(vec!["reasoning ".to_owned()]);
                    }
                    (ItemKind::Reasoning, Some(message)) => {
                        self.reasoning.insert(head.id, (message, self.messages[message].len()));
                        self.messages[message].push("reasoning ".to_owned());
                    }
                    (ItemKind::ToolCall(call), Some(message)) => {
                        self.messages[message].push(format!("item call {:?}", call.call_id));
                    }
                    (ItemKind::ToolResult(result), Some(message)) => {
                        self.messages[message].push(format!("item result {:?}", result.call_id));
                    }
                    (_, _) => {}
                }
            }
            Event::ItemDelta(delta) => {
                let said = match &delta.value {
                    Part::Text(text) | Part::Summary(text) | Part::Refusal(text) => {
                        text.decode().into_owned()
                    }
                    Part::Opaque(opaque) => format!("[{:?} {}]", opaque.kind, opaque.value.decode()),
                    Part::Media(_) => "[a medium]".to_owned(),
                    Part::File(_) => "[a file]".to_owned(),
                    Part::Json(value) => format!("[{}]", value.as_str()),
                    Part::Args(_) | Part::Citation(_) | Part::Cache(_) => return,
                };
                if let Some((message, at)) = self.reasoning.get(&delta.item) {
                    self.messages[*message][*at] += &said;
                } else if let Some(message) = self.number.get(&delta.item).copied() {
                    let messages = &mut self.messages;
                    let (message, at) = self.parts.entry((delta.item, delta.part)).or_insert_with(|| {
                        // State of a message is reasoning in universal events.
                        let is_state = matches!(delta.value, Part::Opaque(_));
                        messages[message].push(if is_state { "reasoning " } else { "part " }.to_owned());
                        (message, messages[message].len() - 1)
                    });
                    self.messages[*message][*at] += &said;
                }
            }
            _ => {}
        }
    }
}

/// Every fixture and capture of a live dialect: the order of the content is the same after universal events.
#[test]
fn the_content_of_messages_keeps_its_order() {
    for source in sources().into_iter().filter(|source| dialect(source.dialect).0.plane == Plane::Live) {
        let before = Contents::of(source.dialect, &source.bytes);
        let after = Contents::of("universal", &universal(&source));
        assert_eq!(after, before, "{}", source.name);
    }
}

fn claude(blocks: &[Value]) -> Source {
    let message = json!({"type": "assistant", "session_id": "s", "message": {"id": "m", "role": "assistant",
        "model": "claude-x", "content": blocks}});
    Source {
        name: "a message".to_owned(),
        dialect: "claude-stream",
        bytes: format!("{message}\n").into_bytes(),
    }
}

fn redacted(data: &str) -> Value {
    json!({"type": "redacted_thinking", "data": data})
}

#[test]
fn redacted_reasoning_keeps_its_place_before_text_and_before_calls() {
    let text = json!({"type": "text", "text": "hello"});
    let call = json!({"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}});
    for blocks in [
        vec![redacted("one"), text.clone()],
        vec![redacted("one"), redacted("two"), text.clone()],
        vec![redacted("one"), call.clone()],
        vec![text.clone(), redacted("one"), text.clone(), call.clone()],
        vec![redacted("one"), call.clone(), redacted("two"), text.clone()],
        vec![text.clone(), redacted("one"), call.clone(), redacted("two"), text.clone()],
    ] {
        let source = claude(&blocks);
        let before = Contents::of(source.dialect, &source.bytes);
        let events = universal(&source);
        assert_eq!(Contents::of("universal", &events), before, "{blocks:?}");
        // The events that are written again are the same bytes.
        let (again, _) = convert_in(&[&events], "universal", "universal", &Options::default());
        assert_eq!(parse(&again), parse(&events), "{blocks:?}");
    }
}

/// The next delta, or the start of the next item within the answer, holds a part that has no delta of its own.
#[test]
fn a_part_without_text_is_placed_by_the_next_event() {
    let text = json!({"type": "text", "text": "hello"});
    let events = parse(&universal(&claude(&[redacted("one"), text.clone(), redacted("two"), text])));
    let deltas = of(&events, "item.delta");
    assert_eq!(deltas.len(), 2);
    for (delta, number, state) in [(deltas[0], 0, "one"), (deltas[1], 2, "two")] {
        let preceding = &delta["data"]["preceding"];
        assert_eq!(
            (&preceding[0]["part"], &preceding[0]["content"]["encrypted"]),
            (&json!(number), &json!(state))
        );
    }
    let call = json!({"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}});
    let events = parse(&universal(&claude(&[redacted("one"), call])));
    let started = of(&events, "item.started");
    assert_eq!(started[1]["data"]["preceding"][0]["content"]["encrypted"], "one");
}

/// Deltas of other writers may lack the number of their part.
#[test]
fn deltas_without_numbers_are_read_once() {
    let event = |kind: &str, data: Value| {
        json!({"event_id": "e", "sequence": 1, "time": "2026-11-17T10:00:00Z", "session_id": "s",
            "native_session_id": null, "synthetic": false, "source": "agent", "type": kind, "data": data,
            "raw": null})
        .to_string()
            + "\n"
    };
    let item = |content: Value, status: &str| {
        json!({"item": {"item_id": "i", "native_item_id": null, "parent_id": null, "kind": "message",
            "role": "assistant", "content": content, "status": status}})
    };
    let delta = |text: &str| json!({"item_id": "i", "native_item_id": null, "delta": text});
    let done = json!([{"type": "reasoning", "text": "hm", "visibility": "public"}, {"type": "text", "text": "hello"}]);
    let lines = [
        event("item.started", item(json!([]), "in_progress")),
        event("item.delta", delta("hel")),
        event("item.delta", delta("lo")),
        event("item.completed", item(done, "completed")),
    ];
    assert_eq!(Contents::of("universal", lines.concat().as_bytes()), [["part hello", "reasoning hm"]]);
}
