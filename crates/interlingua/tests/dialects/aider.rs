//! Sessions of Aider: prompts, commands, answers and what Aider printed.
#![expect(clippy::expect_used, reason = "tests fail by panicking")]

use serde_json::{Value, json};

use crate::support::convert_log_text;

fn document(entries: &Value) -> String {
    let heading = json!({"started": "2026-11-18 20:00:49", "start": "2026-11-18T19:00:49Z", "folder": "/w"});
    json!({"aider": heading, "entries": entries}).to_string()
}

/// The entries of a session with these entries.
fn entries(given: &Value) -> Vec<Value> {
    let (record, report) = convert_log_text("aider", "record", &document(given));
    assert_eq!((report.lost, &report.problems[..]), (0, &[][..]), "{:?}", report.lost_paths);
    let record: Value = serde_json::from_str(&record).expect("a document");
    assert_eq!(record["session"]["environment"]["working-dir"], "/w", "{record}");
    record["session"]["entries"].as_array().expect("entries").clone()
}

fn with(given: &Value, holds: impl Fn(&Value) -> bool) -> Value {
    let found = entries(given);
    found.iter().find(|entry| holds(entry)).unwrap_or_else(|| panic!("{found:?}")).clone()
}

#[test]
fn a_command_is_no_prompt() {
    let of = |kind: &str| {
        with(&json!([{"kind": kind, "text": "words"}]), |entry| entry["content"] == "words")["origin"].clone()
    };
    assert_eq!(of("user"), Value::Null);
    assert_eq!(of("command"), "command");
}

#[test]
fn reasoning_is_within_its_answer() {
    let found = with(&json!([{"kind": "assistant", "reasoning": "hm", "text": "done"}]), |entry| {
        entry["type"] == "assistant"
    });
    assert_eq!(found["children"][0]["type"], "reasoning", "{found}");
    assert!(found.to_string().contains("\"hm\""), "{found}");
}

#[test]
fn sent_tokens_include_cached_tokens() {
    let tokens = json!({"kind": "tokens", "text": "Tokens: …", "sent": 2000, "cacheWrite": 900, "cacheHit": 100,
        "received": 6, "cost": 0.01});
    let found =
        with(&json!([{"kind": "assistant", "text": "x"}, tokens]), |entry| entry["token-usage"].is_object());
    let usage = &found["token-usage"];
    // A record counts cached tokens as input, too.
    let counts = ["input", "output", "cached", "cache-write"].map(|name| usage[name].as_u64());
    assert_eq!(counts, [Some(2000), Some(6), Some(100), Some(900)], "{found}");
    assert!(found.to_string().contains("0.01"), "{found}");
}

#[test]
fn an_applied_edit_names_its_file() {
    let edit =
        json!({"kind": "edit", "text": "Applied edit to a.py", "path": "a.py", "diff": "@@\n-a\n+b\n"});
    let found = with(&json!([edit]), |entry| entry.to_string().contains("Applied edit"));
    let file = json!({"type": "file", "path": "a.py", "action": "patch", "diff": "@@\n-a\n+b\n"});
    assert_eq!(found["data"]["content"][1], file, "{found}");
}

#[test]
fn the_classes_of_errors_are_those_of_litellm() {
    for (name, class) in [
        ("BadRequestError", "invalid_request"),
        ("ContextWindowExceededError", "context_too_long"),
        ("AuthenticationError", "authentication"),
        ("RateLimitError", "rate_limit"),
        ("ServiceUnavailableError", "overloaded"),
        ("Timeout", "timeout"),
        ("Unheard", "other"),
    ] {
        let text = format!("litellm.{name}: why");
        let given = json!([{"kind": "error", "text": text, "error": name}]);
        let found = with(&given, |entry| entry.to_string().contains("why"));
        assert!(found.to_string().contains(&format!("\"{class}\"")), "{found}");
    }
}

#[test]
fn guesses_are_in_the_report() {
    let tokens =
        json!({"kind": "tokens", "text": "Tokens: 1.2k sent, 6 received.", "sent": 1200, "received": 6});
    let (_, report) = convert_log_text("aider", "record", &document(&json!([tokens])));
    let notes = format!("{:?}", report.notes);
    assert!(notes.contains("rounds numbers") && notes.contains("no time zone"), "{notes}");
}
