//! Broken streams over every pair of wire dialects.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use crate::support::{convert, fixtures, on_two_threads, other_law_targets};
use interlingua::dialects::{Plane, Role};
use serde_json::Value;

/// The end of a stream for its client.
#[derive(Debug, PartialEq)]
enum End {
    /// The end of a complete response.
    Clean,
    Failed,
    /// The stream stops without an end: the client waits or guesses.
    Open,
}

/// The events of a stream.
fn events(stream: &str) -> Vec<Value> {
    let data = stream.lines().filter_map(|line| line.strip_prefix("data: "));
    data.filter_map(|event| serde_json::from_str(event).ok()).collect()
}

/// How a client of that dialect sees the end of a stream; fails if there is more than one end.
fn end_of(dialect: &str, stream: &str) -> End {
    let events = events(stream);
    let kind = |event: &Value| event["type"].as_str().unwrap_or_default().to_owned();
    let is_error = |event: &Value| !event["error"].is_null() || kind(event) == "response.failed";
    let is_clean = |event: &Value| match dialect {
        "anthropic" => kind(event) == "message_stop",
        "openai-responses" => ["response.completed", "response.incomplete"].contains(&kind(event).as_str()),
        "gemini" => event["candidates"][0]["finishReason"].is_string(),
        _ => false,
    };
    let done = matches!(dialect, "openai-chat" | "kimi" | "copilot") && stream.ends_with("data: [DONE]\n\n");
    let clean = events.iter().filter(|event| is_clean(event)).count() + usize::from(done);
    let failed = events.iter().filter(|event| is_error(event)).count();
    match (clean, failed) {
        (1, 0) => End::Clean,
        (0, 1) => End::Failed,
        (0, 0) => End::Open,
        ends => panic!("{dialect} ends more than once: {ends:?}\n{stream}"),
    }
}

/// Whether a source has sent its stop reason, after which the response is complete.
fn has_stopped(dialect: &str, stream: &str) -> bool {
    let words: &[&str] = match dialect {
        "anthropic" => &["\"stop_reason\":\""],
        "openai-responses" => &["\"type\":\"response.completed\"", "\"type\":\"response.incomplete\""],
        "gemini" => &["\"finishReason\":\"", "\"blockReason\":\"", "\"finishReason\": \""],
        _ => &["\"finish_reason\":\"", "\"finish_reason\": \""],
    };
    words.iter().any(|word| stream.contains(word))
}

/// P67, P68: the source breaks off after any byte. The client gets one end, and a clean end only if the source had sent
/// its stop reason.
#[test]
fn p67_p68_a_stream_cut_anywhere_is_well_formed_and_never_a_clean_end() {
    let streams: Vec<_> = fixtures()
        .into_iter()
        .filter(|case| {
            case.way.0.plane == Plane::Wire
                && case.way.1 == Role::Stream
                && case.path.extension().is_some_and(|kind| kind == "sse")
        })
        .collect();
    let wrong = on_two_threads(&streams, |case| {
        let mut wrong = Vec::new();
        for to in other_law_targets(case).into_iter().filter(|to| to.0.plane == Plane::Wire) {
            for cut in 0..case.bytes.len() {
                let heard = &case.bytes[..cut];
                let out = String::from_utf8(convert(case.way, to, heard).bytes).unwrap();
                let end = end_of(to.0.name, &out);
                let may_end = has_stopped(case.way.0.name, &String::from_utf8_lossy(heard));
                if end == End::Open || end == End::Clean && !may_end {
                    wrong.push(format!("{case} cut at {cut} -> {}: {end:?}\n{out}", to.0.name));
                    break;
                }
            }
        }
        wrong
    });
    let wrong = wrong.concat();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
