//! Universal events.

use std::fmt::Write as _;

use super::joined;

/// This many messages start, then grow alternately, then end in the order they started.
pub fn open_messages(count: usize) -> Vec<u8> {
    open(count, MESSAGE, |number| number)
}

/// This many messages that end in the reverse order of their start.
pub fn nested_messages(count: usize) -> Vec<u8> {
    open(count, MESSAGE, |number| count - 1 - number)
}

/// As [`open_messages`], but with user messages.
pub fn open_prompts(count: usize) -> Vec<u8> {
    open(count, ("message", "user"), |number| number)
}

/// As [`open_messages`], but with calls.
pub fn open_calls(count: usize) -> Vec<u8> {
    open(count, CALL, |number| number)
}

fn open(count: usize, (kind, role): (&str, &str), ends: impl Fn(usize) -> usize) -> Vec<u8> {
    let mut events = UniversalLines::default();
    let call = kind == "tool_call";
    let content = |number: usize, said: &str| {
        if call {
            format!(r#"{{"type":"tool_call","name":"f","arguments":"{said}","call_id":"call_{number}"}}"#)
        } else if said.is_empty() {
            String::new()
        } else {
            format!(r#"{{"type":"text","text":"{said}"}}"#)
        }
    };
    for number in 0..count {
        events.item("started", number, None, (kind, role), &content(number, ""));
    }
    let (pieces, sort) = if call { ([r#"{\"a\":"#, "1}"], "arguments") } else { (["one ", "two"], "text") };
    for piece in pieces {
        for number in 0..count {
            events.push(
                "item.delta",
                &format!(
                    r#"{{"item_id":"itm_{number}","native_item_id":null,"delta":"{piece}","part":0,"content_type":"{sort}"}}"#
                ),
            );
        }
    }
    for number in (0..count).map(ends) {
        events.item("completed", number, None, (kind, role), &content(number, &pieces.concat()));
    }
    events.out.into_bytes()
}

/// One message with this many nested calls in sequence.
pub fn children(count: usize) -> Vec<u8> {
    let mut events = UniversalLines::default();
    events.item("started", 0, None, MESSAGE, "");
    for number in 1..=count {
        let call =
            format!(r#"{{"type":"tool_call","name":"f","arguments":"{{}}","call_id":"call_{number}"}}"#);
        for act in ["started", "completed"] {
            events.item(act, number, Some(0), CALL, &call);
        }
    }
    events.item("completed", 0, None, MESSAGE, r#"{"type":"text","text":"now"}"#);
    events.out.into_bytes()
}

/// One message with this many nested calls, all open at once.
pub fn open_children(count: usize) -> Vec<u8> {
    let mut events = UniversalLines::default();
    events.item("started", 0, None, MESSAGE, "");
    for act in ["started", "completed"] {
        for number in 1..=count {
            let call =
                format!(r#"{{"type":"tool_call","name":"f","arguments":"{{}}","call_id":"call_{number}"}}"#);
            events.item(act, number, Some(0), CALL, &call);
        }
    }
    events.item("completed", 0, None, MESSAGE, r#"{"type":"text","text":"now"}"#);
    events.out.into_bytes()
}

/// Two open messages that alternately start and end a nested call.
pub fn interleaved_children(count: usize) -> Vec<u8> {
    let mut events = UniversalLines::default();
    for message in 0..2 {
        events.item("started", message, None, MESSAGE, "");
    }
    for number in 2..count + 2 {
        let call =
            format!(r#"{{"type":"tool_call","name":"f","arguments":"{{}}","call_id":"call_{number}"}}"#);
        for act in ["started", "completed"] {
            events.item(act, number, Some(number % 2), CALL, &call);
        }
    }
    for message in 0..2 {
        events.item("completed", message, None, MESSAGE, r#"{"type":"text","text":"now"}"#);
    }
    events.out.into_bytes()
}

/// One message with this many parts, which grow alternately.
pub fn parts(count: usize) -> Vec<u8> {
    let mut events = UniversalLines::default();
    events.item("started", 0, None, MESSAGE, "");
    for piece in ["one ", "two"] {
        for part in 0..count {
            events.push(
                "item.delta",
                &format!(
                    r#"{{"item_id":"itm_0","native_item_id":null,"delta":"{piece}","part":{part},"content_type":"text"}}"#
                ),
            );
        }
    }
    let parts = joined(count, |_| r#"{"type":"text","text":"one two"}"#.to_owned());
    events.item("completed", 0, None, MESSAGE, &parts);
    events.out.into_bytes()
}

/// This many permission requests, answered in reverse order.
pub fn permissions(count: usize) -> Vec<u8> {
    let mut events = UniversalLines::default();
    for number in 0..count {
        events.push(
            "permission.requested",
            &format!(r#"{{"permission_id":"p_{number}","action":"Bash","status":"requested"}}"#),
        );
    }
    for number in (0..count).rev() {
        events.push(
            "permission.resolved",
            &format!(r#"{{"permission_id":"p_{number}","action":"Bash","status":"accept"}}"#),
        );
    }
    events.out.into_bytes()
}

const MESSAGE: (&str, &str) = ("message", "assistant");
const CALL: (&str, &str) = ("tool_call", "assistant");

/// Numbered universal events.
#[derive(Default)]
struct UniversalLines {
    out: String,
    count: usize,
}

impl UniversalLines {
    fn push(&mut self, kind: &str, data: &str) {
        self.count += 1;
        let _ = writeln!(
            self.out,
            r#"{{"event_id":"evt_s_{number}","sequence":{number},"time":"1970-01-01T00:00:00Z","session_id":"s","native_session_id":null,"synthetic":false,"source":"agent","type":"{kind}","data":{data},"raw":null}}"#,
            number = self.count,
        );
    }

    /// An event of an item: the item's number, the number of its parent message, its kind and author, its content.
    fn item(
        &mut self,
        act: &str,
        number: usize,
        parent: Option<usize>,
        (kind, role): (&str, &str),
        content: &str,
    ) {
        let parent = parent.map_or("null".to_owned(), |parent| format!("\"itm_{parent}\""));
        let status = if act == "started" { "in_progress" } else { "completed" };
        self.push(
            &format!("item.{act}"),
            &format!(
                r#"{{"item":{{"item_id":"itm_{number}","native_item_id":null,"parent_id":{parent},"kind":"{kind}","role":"{role}","content":[{content}],"status":"{status}"}}}}"#
            ),
        );
    }
}
