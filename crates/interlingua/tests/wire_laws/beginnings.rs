//! Streams whose start events already hold content: a text, a thought or arguments, which deltas continue or repeat.

use interlingua::dialects::{Dialect, Options, Role};
use interlingua::pipe::Pipe;
use serde_json::{Value, json};

use super::WIRE;
use super::sdk_user::folded;

/// The thought, the text and the arguments of a response.
const CONTENT: [&str; 3] = [" Think\nhard", " Hello", "{\"a\":\"x\\\"y\",\"b\":[1,{}]}"];

/// A value in a stream: the part in the start event, then the deltas.
type Pieces<'a> = (&'a str, Vec<&'a str>);

/// A stream of a dialect that has start events.
fn stream(dialect: &str, [thought, text, arguments]: &[Pieces<'_>; 3]) -> String {
    match dialect {
        "anthropic" => anthropic(thought, text, arguments),
        "openai-responses" => responses(thought, text, arguments),
        _ => chat(thought, text, arguments),
    }
}

fn events(events: impl IntoIterator<Item = Value>) -> String {
    let event = |event: Value| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap());
    events.into_iter().map(event).collect()
}

fn anthropic(thought: &Pieces<'_>, text: &Pieces<'_>, arguments: &Pieces<'_>) -> String {
    let block = |index: u64, start: Value, sort: &str, member: &str, deltas: &[&str]| {
        let mut block = vec![json!({"type": "content_block_start", "index": index, "content_block": start})];
        block.extend(deltas.iter().map(|delta| {
            json!({"type": "content_block_delta", "index": index, "delta": {"type": sort, member: delta}})
        }));
        block.push(json!({"type": "content_block_stop", "index": index}));
        block
    };
    let thinking = json!({"type": "thinking", "thinking": thought.0, "signature": ""});
    // Complete arguments are an object; the beginning of arguments can only be a text.
    let input = match arguments.0 {
        "" => json!({}),
        text => serde_json::from_str(text).unwrap_or(json!(text)),
    };
    let call = json!({"type": "tool_use", "id": "t1", "name": "ls", "input": input});
    let message = json!({"id": "m1", "type": "message", "role": "assistant", "model": "m", "content": [],
        "stop_reason": null, "stop_sequence": null, "usage": {"input_tokens": 1, "output_tokens": 1}});
    let mut all = vec![json!({"type": "message_start", "message": message})];
    all.extend(block(0, thinking, "thinking_delta", "thinking", &thought.1));
    all.extend(block(1, json!({"type": "text", "text": text.0}), "text_delta", "text", &text.1));
    all.extend(block(2, call, "input_json_delta", "partial_json", &arguments.1));
    let stop = json!({"stop_reason": "tool_use", "stop_sequence": null});
    all.push(json!({"type": "message_delta", "delta": stop, "usage": {"output_tokens": 2}}));
    all.push(json!({"type": "message_stop"}));
    events(all)
}

fn responses(thought: &Pieces<'_>, text: &Pieces<'_>, arguments: &Pieces<'_>) -> String {
    let part = |sort: &str, text: &str| json!({"type": sort, "text": text});
    let whole = |index: usize, status: &str, texts: [&str; 3]| match index {
        0 => json!({"id": "i0", "type": "reasoning", "summary": [part("summary_text", texts[0])]}),
        1 => json!({"id": "i1", "type": "message", "role": "assistant", "status": status,
            "content": [part("output_text", texts[1])]}),
        _ => json!({"id": "i2", "type": "function_call", "status": status, "call_id": "t1", "name": "ls",
            "arguments": texts[2]}),
    };
    let response = |status: &str, output: Vec<Value>| json!({"id": "r1", "object": "response", "created_at": 1, "model": "m", "status": status, "output": output});
    let starts = [thought.0, text.0, arguments.0];
    let deltas = [&thought.1, &text.1, &arguments.1];
    let words = ["reasoning_summary_text.delta", "output_text.delta", "function_call_arguments.delta"];
    let mut all = vec![json!({"type": "response.created", "response": response("in_progress", vec![])})];
    for index in 0..3 {
        let item = whole(index, "in_progress", starts);
        all.push(json!({"type": "response.output_item.added", "output_index": index, "item": item}));
        let places = json!({"output_index": index, "item_id": format!("i{index}"), "content_index": 0});
        for delta in deltas[index] {
            let mut event = places.clone();
            event["type"] = json!(format!("response.{}", words[index]));
            event["delta"] = json!(delta);
            all.push(event);
        }
        let item = whole(index, "completed", CONTENT);
        all.push(json!({"type": "response.output_item.done", "output_index": index, "item": item}));
    }
    let output = (0..3).map(|index| whole(index, "completed", CONTENT)).collect();
    all.push(json!({"type": "response.completed", "response": response("completed", output)}));
    events(all)
}

fn chat(thought: &Pieces<'_>, text: &Pieces<'_>, arguments: &Pieces<'_>) -> String {
    let chunk = |delta: Value, stop: Value| {
        let choices = json!([{"index": 0, "delta": delta, "finish_reason": stop}]);
        let chunk = json!({"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m",
            "choices": choices});
        format!("data: {chunk}\n\n")
    };
    let first = json!({"role": "assistant", "content": "", "reasoning_content": thought.0});
    let mut deltas = vec![first];
    deltas.extend(thought.1.iter().map(|delta| json!({"reasoning_content": delta})));
    deltas.push(json!({"content": text.0}));
    deltas.extend(text.1.iter().map(|delta| json!({"content": delta})));
    let call = json!({"index": 0, "id": "t1", "type": "function",
        "function": {"name": "ls", "arguments": arguments.0}});
    deltas.push(json!({"tool_calls": [call]}));
    let more = |delta: &&str| json!({"tool_calls": [{"index": 0, "function": {"arguments": delta}}]});
    deltas.extend(arguments.1.iter().map(more));
    let chunks: String = deltas.into_iter().map(|delta| chunk(delta, Value::Null)).collect();
    chunks + &chunk(json!({}), json!("tool_calls")) + "data: [DONE]\n\n"
}

/// The response that a client reads, and the number of lost leaves.
fn read(from: &str, to: &str, stream: &str) -> (Value, u64) {
    let side = |name| (Dialect::named(name).unwrap(), Role::Stream);
    let pipe = Pipe::new(side(from), side(to), &Options::default()).unwrap();
    let mut out = Vec::new();
    let report = pipe.finish_with(stream.as_bytes(), &mut out);
    assert!(report.adds_up(), "{from} to {to}");
    (folded(to, &String::from_utf8(out).unwrap()), report.lost)
}

#[test]
fn deltas_continue_the_content_of_a_start_event() {
    let sources = WIRE.iter().filter(|name| **name != "gemini");
    for (from, to) in sources.flat_map(|from| WIRE.map(|to| (*from, to))).filter(|(from, to)| from != to) {
        for cut in 1..=CONTENT[2].len() {
            let pieces = CONTENT.map(|text| {
                let (start, rest) = text.split_at(cut.min(text.len()));
                (start, if rest.is_empty() { vec![] } else { vec![rest] })
            });
            let in_deltas = pieces.clone().map(|(start, rest)| ("", [vec![start], rest].concat()));
            let (expected, most_lost) = read(from, to, &stream(from, &in_deltas));
            let stream = stream(from, &pieces);
            let (response, lost) = read(from, to, &stream);
            assert_eq!(response, expected, "{from} to {to}: {stream}");
            assert!(lost <= most_lost, "{from} to {to}: {stream}");
        }
    }
}

#[test]
fn deltas_that_repeat_complete_arguments_are_written_once() {
    for (from, to) in ["anthropic", "openai-responses"]
        .into_iter()
        .flat_map(|from| WIRE.map(|to| (from, to)))
        .filter(|(from, to)| from != to)
    {
        let [thought, text, arguments] = CONTENT;
        let content = |arguments| [("", vec![thought]), ("", vec![text]), arguments];
        let (expected, _) = read(from, to, &stream(from, &content(("", vec![arguments]))));
        for cut in 1..arguments.len() {
            let (one, two) = arguments.split_at(cut);
            let stream = stream(from, &content((arguments, vec![one, two])));
            assert_eq!(read(from, to, &stream).0, expected, "{from} to {to}: {stream}");
        }
    }
}
