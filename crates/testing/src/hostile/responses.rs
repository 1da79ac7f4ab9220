//! Requests, responses and streams of the Responses API.

use std::fmt::Write as _;

use super::joined;

/// A request with this many messages.
pub fn messages(count: usize) -> Vec<u8> {
    request(
        "",
        &joined(count, |number| {
            let role = if number % 2 == 0 { "user" } else { "assistant" };
            format!(r#"{{"type":"message","id":"msg_{number}","role":"{role}","content":"go on"}}"#)
        }),
    )
}

/// A request with one message of this many parts.
pub fn parts(count: usize) -> Vec<u8> {
    let parts = joined(count, |_| r#"{"type":"output_text","text":"go on","annotations":[]}"#.to_owned());
    let message = format!(r#"{{"type":"message","id":"msg_1","role":"assistant","content":[{parts}]}}"#);
    request("", &format!(r#"{message},{{"role":"user","content":"go"}}"#))
}

/// A request with this many tools.
pub fn tools(count: usize) -> Vec<u8> {
    request(&tools_called(count, |number| format!("tool_{number}")), r#"{"role":"user","content":"go"}"#)
}

/// A request with this many tools, of which two are allowed.
pub fn allowed_tools(count: usize) -> Vec<u8> {
    let tools = tools_called(count, |number| format!("tool_{number}"));
    let allowed = joined(count, |number| format!(r#"{{"type":"function","name":"tool_{number}"}}"#));
    let choice = format!(r#""tool_choice":{{"type":"allowed_tools","mode":"auto","tools":[{allowed}]}},"#);
    request(&(tools + &choice), r#"{"role":"user","content":"go"}"#)
}

/// A request with this many tools of the same name.
pub fn tools_of_one_name(count: usize) -> Vec<u8> {
    request(&tools_called(count, |_| "f".to_owned()), r#"{"role":"user","content":"go"}"#)
}

fn tools_called(count: usize, name: impl Fn(usize) -> String) -> String {
    let tools = joined(count, |number| {
        let name = name(number);
        format!(r#"{{"type":"function","name":"{name}","parameters":{{"type":"object","properties":{{}}}}}}"#)
    });
    format!(r#""tools":[{tools}],"#)
}

/// A request with this many calls, whose results come in reverse order.
pub fn late_results(count: usize) -> Vec<u8> {
    let results = joined(count, |number| output(&format!("call_{}", count - 1 - number)));
    request("", &format!("{},{results}", joined(count, |number| call(number, &format!("call_{number}")))))
}

/// A request with this many calls of the same id.
pub fn calls_of_one_id(count: usize) -> Vec<u8> {
    let results = joined(count, |_| output("call_1"));
    request("", &format!("{},{results}", joined(count, |number| call(number, "call_1"))))
}

/// A request with this many reasoning items, each with a summary and encrypted state.
pub fn thoughts(count: usize) -> Vec<u8> {
    let items = joined(count, |number| {
        format!(
            r#"{{"type":"reasoning","id":"rs_{number}","summary":[{{"type":"summary_text","text":"hm"}}],"encrypted_content":"c3RhdGU="}}"#
        )
    });
    request("", &format!(r#"{items},{{"role":"assistant","content":"so"}},{{"role":"user","content":"go"}}"#))
}

fn request(settings: &str, items: &str) -> Vec<u8> {
    format!(r#"{{"model":"m",{settings}"input":[{items}]}}"#).into_bytes()
}

fn call(number: usize, id: &str) -> String {
    format!(
        r#"{{"type":"function_call","id":"fc_{number}","call_id":"{id}","name":"f","arguments":"{{}}","status":"completed"}}"#
    )
}

fn output(id: &str) -> String {
    format!(r#"{{"type":"function_call_output","call_id":"{id}","output":"ok"}}"#)
}

/// A response with this many calls.
pub fn answer(count: usize) -> Vec<u8> {
    answer_of(&joined(count, |number| call(number, &format!("call_{number}"))))
}

/// A response with one text of this many annotations.
pub fn annotations(count: usize) -> Vec<u8> {
    let notes = joined(count, annotation);
    answer_of(&format!(
        r#"{{"type":"message","id":"msg_1","status":"completed","role":"assistant","content":[{{"type":"output_text","text":"{}","annotations":[{notes}]}}]}}"#,
        "word ".repeat(count),
    ))
}

fn annotation(number: usize) -> String {
    format!(
        r#"{{"type":"url_citation","url":"https://example.org/{number}","title":"a page","start_index":{},"end_index":{}}}"#,
        number * 5,
        number * 5 + 3,
    )
}

fn answer_of(items: &str) -> Vec<u8> {
    response("completed", items).into_bytes()
}

fn response(status: &str, items: &str) -> String {
    format!(
        r#"{{"id":"resp_1","object":"response","created_at":1,"status":"{status}","error":null,"incomplete_details":null,"model":"m","output":[{items}],"usage":{{"input_tokens":1,"output_tokens":1,"total_tokens":2}}}}"#
    )
}

/// Events of a stream.
struct ResponseStream(String);

impl ResponseStream {
    fn begin() -> Self {
        let mut events = Self(String::new());
        events.push("response.created", &format!(r#""response":{}"#, response("in_progress", "")));
        events
    }

    fn push(&mut self, kind: &str, rest: &str) {
        let _ = write!(self.0, "event: {kind}\ndata: {{\"type\":\"{kind}\",{rest}}}\n\n");
    }

    fn item(&mut self, kind: &str, index: usize, item: &str) {
        self.push(
            &format!("response.output_item.{kind}"),
            &format!(r#""output_index":{index},"item":{item}"#),
        );
    }

    fn end(mut self, items: &str) -> Vec<u8> {
        self.push("response.completed", &format!(r#""response":{}"#, response("completed", items)));
        self.0.into_bytes()
    }
}

/// A stream with one text in this many deltas.
pub fn pieces(count: usize) -> Vec<u8> {
    let mut events = ResponseStream::begin();
    events.item("added", 0, &message("in_progress", ""));
    for _ in 0..count {
        events.push(
            "response.output_text.delta",
            r#""item_id":"msg_1","output_index":0,"content_index":0,"delta":"and ""#,
        );
    }
    let whole = message("completed", &text(&"and ".repeat(count)));
    events.item("done", 0, &whole);
    events.end(&whole)
}

/// A stream with one message of this many texts.
pub fn open_parts(count: usize) -> Vec<u8> {
    let mut events = ResponseStream::begin();
    events.item("added", 0, &message("in_progress", ""));
    for number in 0..count {
        let place = format!(r#""item_id":"msg_1","output_index":0,"content_index":{number}"#);
        events.push("response.content_part.added", &format!(r#"{place},"part":{}"#, text("")));
        events.push("response.output_text.delta", &format!(r#"{place},"delta":"one""#));
        events.push("response.output_text.done", &format!(r#"{place},"text":"one""#));
        events.push("response.content_part.done", &format!(r#"{place},"part":{}"#, text("one")));
    }
    let whole = message("completed", &joined(count, |_| text("one")));
    events.item("done", 0, &whole);
    events.end(&whole)
}

/// A stream with one text and this many annotations.
pub fn open_annotations(count: usize) -> Vec<u8> {
    let mut events = ResponseStream::begin();
    events.item("added", 0, &message("in_progress", ""));
    let place = r#""item_id":"msg_1","output_index":0,"content_index":0"#;
    for number in 0..count {
        events.push("response.output_text.delta", &format!(r#"{place},"delta":"word ""#));
        let note = annotation(number);
        events.push(
            "response.output_text.annotation.added",
            &format!(r#"{place},"annotation_index":{number},"annotation":{note}"#),
        );
    }
    events.end("")
}

/// A stream with this many calls open at once, whose deltas alternate.
pub fn open_calls(count: usize) -> Vec<u8> {
    let mut events = ResponseStream::begin();
    let item = |number: usize, status: &str, arguments: &str| {
        format!(
            r#"{{"type":"function_call","id":"fc_{number}","call_id":"call_{number}","name":"f","arguments":"{arguments}","status":"{status}"}}"#
        )
    };
    for number in 0..count {
        events.item("added", number, &item(number, "in_progress", ""));
    }
    for piece in [r#"{\"a\":"#, "1}"] {
        for number in 0..count {
            events.push(
                "response.function_call_arguments.delta",
                &format!(r#""item_id":"fc_{number}","output_index":{number},"delta":"{piece}""#),
            );
        }
    }
    let whole = |number: usize| item(number, "completed", r#"{\"a\":1}"#);
    for number in 0..count {
        events.item("done", number, &whole(number));
    }
    events.end(&joined(count, whole))
}

/// A stream with one call whose arguments come in this many deltas.
pub fn arguments(count: usize) -> Vec<u8> {
    let mut events = ResponseStream::begin();
    let item = r#"{"type":"function_call","id":"fc_1","call_id":"call_1","name":"f","arguments":"","status":"in_progress"}"#;
    events.item("added", 0, item);
    for number in 0..count {
        let piece = match number {
            0 => r#"{\"a\":\""#,
            last if last + 1 == count => r#"\"}"#,
            _ => "b",
        };
        events.push(
            "response.function_call_arguments.delta",
            &format!(r#""item_id":"fc_1","output_index":0,"delta":"{piece}""#),
        );
    }
    events.end("")
}

fn message(status: &str, parts: &str) -> String {
    format!(r#"{{"type":"message","id":"msg_1","status":"{status}","role":"assistant","content":[{parts}]}}"#)
}

fn text(text: &str) -> String {
    format!(r#"{{"type":"output_text","text":"{text}","annotations":[]}}"#)
}
