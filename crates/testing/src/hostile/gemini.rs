//! Requests, responses and streams of Gemini.

use std::fmt::Write as _;

use super::joined;

/// A request with this many contents.
pub fn contents(count: usize) -> Vec<u8> {
    request(
        "",
        &joined(count, |number| {
            let role = if number % 2 == 0 { "user" } else { "model" };
            format!(r#"{{"role":"{role}","parts":[{{"text":"go on"}}]}}"#)
        }),
    )
}

/// A request with one content of this many parts, each with a signature.
pub fn parts(count: usize) -> Vec<u8> {
    let parts = joined(count, |_| r#"{"text":"go on","thoughtSignature":"c3RhdGU="}"#.to_owned());
    request("", &format!(r#"{},{{"role":"model","parts":[{parts}]}},{}"#, user("go"), user("on")))
}

/// A request with this many tools.
pub fn tools(count: usize) -> Vec<u8> {
    let tools = joined(count, |number| {
        format!(
            r#"{{"name":"tool_{number}","description":"a tool","parameters":{{"type":"OBJECT","properties":{{"a":{{"type":"STRING"}}}}}}}}"#
        )
    });
    request(&format!(r#""tools":[{{"functionDeclarations":[{tools}]}}],"#), &user("go"))
}

/// A request with this many calls in one turn, whose results come in reverse order.
pub fn late_results(count: usize) -> Vec<u8> {
    calls_and_results(
        &joined(count, |number| {
            format!(r#"{{"functionCall":{{"id":"call_{number}","name":"f","args":{{}}}}}}"#)
        }),
        &joined(count, |number| {
            let number = count - 1 - number;
            format!(
                r#"{{"functionResponse":{{"id":"call_{number}","name":"f","response":{{"output":"ok"}}}}}}"#
            )
        }),
    )
}

/// A request with this many calls without ids: only names match results to calls.
pub fn unnamed_results(count: usize) -> Vec<u8> {
    calls_and_results(
        &joined(count, |number| format!(r#"{{"functionCall":{{"name":"f{number}","args":{{}}}}}}"#)),
        &joined(count, |number| {
            let number = count - 1 - number;
            format!(r#"{{"functionResponse":{{"name":"f{number}","response":{{"output":"ok"}}}}}}"#)
        }),
    )
}

fn calls_and_results(calls: &str, results: &str) -> Vec<u8> {
    let go = user("go");
    request(
        "",
        &format!(r#"{go},{{"role":"model","parts":[{calls}]}},{{"role":"user","parts":[{results}]}}"#),
    )
}

fn user(text: &str) -> String {
    format!(r#"{{"role":"user","parts":[{{"text":"{text}"}}]}}"#)
}

fn request(settings: &str, contents: &str) -> Vec<u8> {
    format!(r#"{{"model":"m",{settings}"contents":[{contents}]}}"#).into_bytes()
}

/// A response with this many calls.
pub fn answer(count: usize) -> Vec<u8> {
    let calls = joined(count, |number| {
        format!(r#"{{"functionCall":{{"id":"call_{number}","name":"f","args":{{}}}}}}"#)
    });
    response(&calls, "").into_bytes()
}

/// A response of this many texts and as many citations, each of a different text.
pub fn citations(count: usize) -> Vec<u8> {
    let texts = joined(count, |_| r#"{"text":"wörd "}"#.to_owned());
    response(
        &texts,
        &grounding(count, |number| format!(r#""partIndex":{number},"startIndex":0,"endIndex":5"#)),
    )
    .into_bytes()
}

/// A response of one long text and this many citations of it.
pub fn citations_of_one_text(count: usize) -> Vec<u8> {
    let text = format!(r#"{{"text":"{}"}}"#, "wörd ".repeat(count));
    let place = |number| format!(r#""startIndex":{},"endIndex":{}"#, number * 6, number * 6 + 5);
    response(&text, &grounding(count, place)).into_bytes()
}

fn grounding(count: usize, place: impl Fn(usize) -> String) -> String {
    let chunks = joined(count, |number| {
        format!(r#"{{"web":{{"uri":"https://example.org/{number}","title":"a page"}}}}"#)
    });
    let supports = joined(count, |number| {
        format!(r#"{{"segment":{{{}}},"groundingChunkIndices":[{number}]}}"#, place(number))
    });
    format!(r#","groundingMetadata":{{"groundingChunks":[{chunks}],"groundingSupports":[{supports}]}}"#)
}

fn response(parts: &str, rest: &str) -> String {
    format!(
        r#"{{"candidates":[{{"content":{{"role":"model","parts":[{parts}]}},"index":0,"finishReason":"STOP"{rest}}}],"usageMetadata":{{"promptTokenCount":1,"candidatesTokenCount":1,"totalTokenCount":2}},"modelVersion":"m","responseId":"r1"}}"#
    )
}

/// A stream with one text in this many chunks.
pub fn pieces(count: usize) -> Vec<u8> {
    stream(count, |_| (r#"{"text":"and "}"#.to_owned(), String::new()))
}

/// A stream of this many calls.
pub fn calls(count: usize) -> Vec<u8> {
    stream(count, |number| {
        (format!(r#"{{"functionCall":{{"id":"call_{number}","name":"f","args":{{"a":1}}}}}}"#), String::new())
    })
}

/// A stream with one text in this many chunks, each with a citation.
pub fn cited_pieces(count: usize) -> Vec<u8> {
    stream(count, |number| {
        let (from, to) = (number * 6, number * 6 + 5);
        let grounding = format!(
            r#","groundingMetadata":{{"groundingChunks":[{{"web":{{"uri":"https://example.org/{number}","title":"a page"}}}}],"groundingSupports":[{{"segment":{{"startIndex":{from},"endIndex":{to}}},"groundingChunkIndices":[0]}}]}}"#
        );
        (r#"{"text":"wörd "}"#.to_owned(), grounding)
    })
}

/// A stream with one call whose arguments come in this many chunks.
pub fn arguments(count: usize) -> Vec<u8> {
    stream(count, |number| {
        let name = if number == 0 { r#""id":"call_1","name":"f","# } else { "" };
        let more = number + 1 < count;
        let part = format!(
            r#"{{"functionCall":{{{name}"partialArgs":[{{"jsonPath":"$.a","stringValue":"b","willContinue":{more}}}],"willContinue":{more}}}}}"#
        );
        (part, String::new())
    })
}

fn stream(count: usize, piece: impl Fn(usize) -> (String, String)) -> Vec<u8> {
    let mut out = String::new();
    for number in 0..count {
        let (part, rest) = piece(number);
        let _ = write!(
            out,
            "data: {{\"candidates\":[{{\"content\":{{\"role\":\"model\",\"parts\":[{part}]}},\"index\":0{rest}}}],\"modelVersion\":\"m\",\"responseId\":\"r1\"}}\n\n"
        );
    }
    let _ = write!(out, "data: {}\n\n", response(r#"{"text":"."}"#, ""));
    out.into_bytes()
}
