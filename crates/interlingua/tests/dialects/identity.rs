//! Laws for a log written from another agent's session: ids that the program and its API accept, no system prompt, no
//! reasoning that the API rejects.
#![expect(clippy::expect_used, reason = "tests fail by panicking")]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use interlingua::dialects::{Dialect, Options, Plane, Role};
use interlingua::json::Str;
use interlingua::ledger::{Leftover, Reason};
use interlingua::model::{Author, Event, Field, ItemId, ItemKind, Part};
use interlingua::pipe::{Pipe, Writer, WriterOutput};
use serde_json::Value;

use crate::support::{Case, Way, convert, convert_with, fixtures};

/// Whether a program accepts a session id, according to the programs' code.
fn is_session_id(dialect: &str, id: &str) -> bool {
    let uuid = |id: &str| {
        let parts: Vec<usize> = id.split('-').map(str::len).collect();
        parts == [8, 4, 4, 4, 12] && id.chars().all(|c| c == '-' || c.is_ascii_hexdigit())
    };
    let word = |id: &str| id.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    match dialect {
        "qwen-code" => uuid(id) && ('1'..='5').contains(&id.chars().nth(14).expect("a UUID")),
        "amp" => id.strip_prefix("T-").is_some_and(uuid),
        "opencode" => id.starts_with("ses_") && id.len() > 4 && word(id),
        // Cline names the folder of a session by its id. Goose assigns another id at the import.
        "cline" | "goose" => !id.is_empty() && word(id),
        _ => uuid(id),
    }
}

/// The path of the session id in a log, empty for a log without session ids. `None` for a dialect that is not listed: its
/// own reader finds the id.
fn place_of_session_id(dialect: &str) -> Option<&'static [&'static str]> {
    match dialect {
        "claude-code" | "qwen-code" | "gemini-cli" => Some(&["sessionId"]),
        "codex" => Some(&["payload", "id"]),
        "opencode" => Some(&["info", "id"]),
        "pi" | "amp" => Some(&["id"]),
        "copilot-cli" => Some(&["data", "sessionId"]),
        "kimi-cli" | "kimi-code" | "cursor" => Some(&[]),
        _ => None,
    }
}

fn is_call_id(dialect: &str, id: &str) -> bool {
    let word = id.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    let length = id.chars().count();
    match dialect {
        "claude-code" | "amp" => length > 0 && word,
        "opencode" | "pi" | "copilot-cli" => (1..=64).contains(&length) && word,
        _ => (1..=64).contains(&length),
    }
}

/// The log dialects with writers.
fn log_targets() -> Vec<Way> {
    let all = interlingua::dialects::DIALECTS.iter().copied();
    all.filter(|dialect| dialect.plane == Plane::Log)
        .map(|dialect| (dialect, Role::Log))
        .filter(|way| crate::support::can_write(*way))
        .collect()
}

/// Every log fixture paired with each log dialect of another agent.
fn pairs() -> Vec<(Case, Way)> {
    let logs =
        fixtures().into_iter().filter(|case| case.way.0.plane == Plane::Log && case.way.1 == Role::Log);
    let pairs: Vec<_> = logs
        .flat_map(|case| {
            let others =
                log_targets().into_iter().filter(|to| to.0.name != case.way.0.name).collect::<Vec<_>>();
            others.into_iter().map(move |to| (case.clone(), to))
        })
        .collect();
    assert!(pairs.len() > 400, "only {} pairs", pairs.len());
    pairs
}

/// The JSON values of a log: a document, or lines.
fn values(bytes: &[u8]) -> Vec<Value> {
    serde_json::Deserializer::from_slice(bytes).into_iter().map(|value| value.expect("JSON")).collect()
}

fn session_ids(dialect: &str, bytes: &[u8]) -> Vec<String> {
    let Some(place) = place_of_session_id(dialect) else {
        let dialect = Dialect::named(dialect).expect("registered");
        return told((dialect, Role::Log), bytes).sessions;
    };
    if place.is_empty() {
        return Vec::new();
    }
    let all = values(bytes);
    let lines = if matches!(dialect, "claude-code" | "qwen-code") {
        &all[..]
    } else {
        all.get(..1).unwrap_or_default()
    };
    let id = |line: &Value| {
        let found = place.iter().try_fold(line, |value, name| value.get(name));
        found.and_then(Value::as_str).expect("an id").to_owned()
    };
    lines.iter().map(id).collect()
}

/// The ids of calls and results in a log, by member name. Arguments are skipped because they may hold any member.
fn call_ids(value: &Value, found: &mut Vec<String>) {
    const IDS: [&str; 6] = ["call_id", "callID", "toolCallId", "tool_call_id", "toolUseID", "tool_use_id"];
    const CONTENT: [&str; 5] = ["arguments", "args", "input", "output", "result"];
    match value {
        Value::Array(elements) => elements.iter().for_each(|element| call_ids(element, found)),
        Value::Object(members) => {
            let is_call = members
                .get("type")
                .and_then(Value::as_str)
                .is_some_and(|kind| matches!(kind, "tool_use" | "toolCall" | "function"));
            for (name, value) in members {
                let is_id = IDS.contains(&name.as_str()) || (name == "id" && is_call);
                match value {
                    Value::String(id) if is_id => found.push(id.clone()),
                    _ if CONTENT.contains(&name.as_str()) => {}
                    value => call_ids(value, found),
                }
            }
        }
        _ => {}
    }
}

/// The contents of a source: system texts, other texts, and whether it has reasoning.
#[derive(Default)]
struct Told {
    items: BTreeMap<ItemId, (Author, bool)>,
    system: BTreeSet<String>,
    others: String,
    first: String,
    sessions: Vec<String>,
    /// The tool names of calls, each with the names in its results.
    tools: Vec<(String, Vec<String>)>,
}

struct Listener(Arc<Mutex<Told>>);

impl Writer for Listener {
    fn event(&mut self, event: &Event<'_>, _: &mut WriterOutput<'_>) {
        let mut told = self.0.lock().expect("no panic while held");
        match event {
            Event::SessionStarted(session) | Event::SessionUpdated(session) => {
                told.sessions.extend(session.id.as_ref().map(|id| id.decode().into_owned()));
            }
            Event::ItemStarted(head) => {
                let is_message = head.kind == ItemKind::Message;
                told.items.insert(head.id, (head.author, is_message));
                match &head.kind {
                    ItemKind::ToolCall(call) => {
                        let group = call.namespace.iter().map(|group| format!("{}/", group.decode()));
                        let name = group.collect::<String>() + &call.name.decode();
                        told.tools.push((name, Vec::new()));
                    }
                    ItemKind::ToolResult(result) => {
                        let name = result.name.as_ref().map(|name| name.decode().into_owned());
                        let (_, names) = told.tools.last_mut().expect("a result follows its call");
                        names.extend(name);
                    }
                    ItemKind::Message | ItemKind::Reasoning | ItemKind::Notice(_) => {}
                }
            }
            Event::ItemDelta(delta) => {
                let Some(&(author, is_message)) = told.items.get(&delta.item) else { return };
                let text = match &delta.value {
                    Part::Text(text) | Part::Summary(text) => text.as_escaped().to_owned(),
                    Part::Json(json) => json.as_str().to_owned(),
                    _ => return,
                };
                if told.first.is_empty() {
                    told.first.clone_from(&text);
                }
                if is_message && matches!(author, Author::System | Author::Developer) {
                    told.system.insert(text);
                } else {
                    told.others.push_str(&text);
                }
            }
            _ => {}
        }
    }

    fn leftover(&mut self, _: Leftover<'_>, _: &mut WriterOutput<'_>) {}

    fn finish(&mut self, _: &mut WriterOutput<'_>) {}
}

fn told(way: Way, bytes: &[u8]) -> Told {
    let told = Arc::default();
    let listener = Box::new(Listener(Arc::clone(&told)));
    let pipe = Pipe::with_writer(way, listener, &Options::default()).expect("readable");
    pipe.finish_with(bytes, &mut Vec::new());
    std::mem::take(&mut *told.lock().expect("no panic while held"))
}

#[test]
fn a_system_prompt_is_in_no_log_of_another_agent_and_is_reported() {
    let mut seen = 0;
    for (case, to) in pairs() {
        let Told { system, others, .. } = told(case.way, &case.bytes);
        let alone: Vec<_> = system.iter().filter(|text| text.len() > 8 && !others.contains(*text)).collect();
        if alone.is_empty() {
            continue;
        }
        let outcome = convert(case.way, to, &case.bytes);
        let written = String::from_utf8_lossy(&outcome.bytes);
        for text in alone {
            assert!(!written.contains(text.as_str()), "{case} to {}: {text}", to.0.name);
            seen += 1;
        }
        let reported = outcome.report.lost_paths.iter().any(|loss| loss.reason == Some(Reason::Foreign));
        assert!(reported, "{case} to {}: not reported", to.0.name);
    }
    assert!(seen > 50, "only {seen} system prompts");
}

#[test]
fn ids_are_those_that_the_program_and_its_api_take() {
    let mut calls_seen = 0;
    for (case, to) in pairs() {
        let outcome = convert(case.way, to, &case.bytes);
        for id in session_ids(to.0.name, &outcome.bytes) {
            assert!(is_session_id(to.0.name, &id), "{case} to {}: session {id:?}", to.0.name);
        }
        let mut ids = Vec::new();
        for value in &values(&outcome.bytes) {
            call_ids(value, &mut ids);
        }
        for id in ids {
            assert!(is_call_id(to.0.name, &id), "{case} to {}: call {id:?}", to.0.name);
            calls_seen += 1;
        }
    }
    assert!(calls_seen > 1000, "only {calls_seen} ids of calls");
}

/// A Codex session with that session id and call id.
fn codex_session(id: &str, call: &str) -> String {
    let [id, call] = [id, call].map(|text| Str::from_plain(text).as_escaped().to_owned());
    let line = |kind: &str, payload: &str| {
        format!(r#"{{"timestamp":"2026-11-01T00:00:00.000Z","type":"{kind}","payload":{payload}}}"#) + "\n"
    };
    let head = format!(
        r#"{{"id":"{id}","timestamp":"2026-11-01T00:00:00.000Z","cwd":"/w","originator":"o","cli_version":"1"}}"#
    );
    let asked = r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"List."}]}"#;
    let called = format!(r#"{{"type":"function_call","name":"ls","arguments":"{{}}","call_id":"{call}"}}"#);
    let answered = format!(r#"{{"type":"function_call_output","call_id":"{call}","output":"a"}}"#);
    line("session_meta", &head)
        + &line("response_item", asked)
        + &line("response_item", &called)
        + &line("response_item", &answered)
}

#[test]
fn an_id_of_any_form_becomes_one_that_is_taken_and_stays_with_its_call() {
    let codex = (Dialect::named("codex").expect("registered"), Role::Log);
    let long = "c".repeat(83);
    let odd =
        ["wire", "ses_1", "T-1", "01a1de00-0000-7000-8000-0000000c0de0", "a b", "é", "\"", "../x", "", &long];
    let calls =
        ["call_1", "functions.ls:0", "call|fc", "a b", "é", "x\"y", "\u{2028}", &"c".repeat(64), &long];
    for to in log_targets().into_iter().filter(|to| to.0.name != "codex") {
        let mut sessions = BTreeMap::new();
        for id in odd {
            let outcome = convert(codex, to, codex_session(id, "call_1").as_bytes());
            let said: BTreeSet<_> = session_ids(to.0.name, &outcome.bytes).into_iter().collect();
            assert!(said.len() <= 1, "{} from {id:?}: {said:?}", to.0.name);
            for said in said {
                assert!(is_session_id(to.0.name, &said), "{}: {id:?} became {said:?}", to.0.name);
                let before = sessions.insert(said.clone(), id);
                assert!(before.is_none(), "{}: {before:?} and {id:?} became {said:?}", to.0.name);
            }
        }
        let mut known = BTreeMap::new();
        for id in calls {
            let outcome =
                convert(codex, to, codex_session("01a1de00-0000-4000-8000-0000000c0de0", id).as_bytes());
            let mut ids = Vec::new();
            for value in &values(&outcome.bytes) {
                call_ids(value, &mut ids);
            }
            ids.dedup();
            for said in &ids {
                assert!(is_call_id(to.0.name, said), "{}: {id:?} became {said:?}", to.0.name);
                assert_eq!(ids.first(), Some(said), "{}: a call and its result differ", to.0.name);
                let before = known.insert(said.clone(), id);
                assert!(before.is_none_or(|before| before == id), "{}: {before:?} and {id:?}", to.0.name);
            }
        }
    }
}

/// Whether the API of a program accepts the name of a tool.
fn is_tool_name(dialect: &str, name: &str) -> bool {
    let word =
        |also: &str| name.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c) || also.contains(c));
    let begins = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    match dialect {
        // The file is never sent to an API.
        "cursor" => !name.is_empty(),
        "gemini-cli" => (1..=128).contains(&name.len()) && word(".:") && begins,
        // A group of tools has a member of its own.
        "codex" => name.split('/').all(|name| (1..=64).contains(&name.len())) && word("/"),
        _ => (1..=64).contains(&name.len()) && word(""),
    }
}

#[test]
fn a_tool_name_that_the_api_refuses_has_one_alias_in_calls_and_results_and_is_reported() {
    let record = (Dialect::named("record").expect("registered"), Role::Log);
    let long = "n".repeat(65);
    let fitting = "n".repeat(64);
    let names = ["Bash", &fitting, "functions.exec", "a b", "é", "x\"y", "1st", "", "mcp:say", &long];
    for to in log_targets().into_iter().filter(|to| to.0.name != "record") {
        let mut known = BTreeMap::new();
        for name in names {
            let [called, answered] = ["tool-call", "tool-result"].map(|kind| {
                let at = if kind == "tool-call" { "input" } else { "output" };
                serde_json::json!({"type": kind, "call-id": "call_1", "name": name, at: {"a": 1}})
            });
            let entries = [serde_json::json!({"type": "user", "content": "Go."}), called, answered];
            let source = serde_json::json!({"version": "3.0.0", "id": "u", "session": {"entries": entries,
                "session-id": "u", "agent-meta": {"model-id": "unknown", "model-provider": "unknown"}}});
            let outcome = convert(record, to, source.to_string().as_bytes());
            let Told { tools, .. } = told(to, &outcome.bytes);
            let [(written, results)] = &tools[..] else { panic!("{}: {name:?} became {tools:?}", to.0.name) };
            let both = |fits: &dyn Fn(&str) -> bool| fits(written) && results.iter().all(|name| fits(name));
            assert!(both(&|name| is_tool_name(to.0.name, name)), "{}: {name:?} became {tools:?}", to.0.name);
            assert!(both(&|name| name == written), "{}: a result names another tool: {tools:?}", to.0.name);
            let other = known.insert(written.clone(), name);
            assert!(other.is_none(), "{}: {other:?} and {name:?} became {written:?}", to.0.name);
            let is_lost = outcome.report.lost_paths.iter().any(|loss| loss.field == Some(Field::CallName));
            assert_eq!(is_lost, written != name, "{}: {name:?} became {written:?}", to.0.name);
            assert_eq!(written == name, is_tool_name(to.0.name, name), "{}: {name:?}", to.0.name);
        }
    }
}

#[test]
fn sessions_without_an_id_have_the_same_one_again_and_never_that_of_another() {
    let nameless: Vec<_> = fixtures()
        .into_iter()
        .filter(|case| ["kimi-cli", "kimi-code", "cursor"].contains(&case.way.0.name))
        .collect();
    assert!(nameless.len() > 7, "only {} fixtures", nameless.len());
    // All files of these sessions have the name `wire`, and some callers give no place.
    for place in [None, Some("/somewhere/wire.jsonl".to_owned())] {
        let options = Options::default().with_source_name("wire".to_owned()).with_source_place(place.clone());
        for to in log_targets() {
            let mut known: BTreeMap<String, &str> = BTreeMap::new();
            for case in nameless.iter().filter(|case| case.way.0.name != to.0.name) {
                let Told { first, .. } = told(case.way, &case.bytes);
                let id = |options: &Options| {
                    let outcome = convert_with(case.way, to, [&case.bytes[..]], options);
                    session_ids(to.0.name, &outcome.bytes).first().cloned()
                };
                let Some(one) = id(&options) else { continue };
                assert!(is_session_id(to.0.name, &one), "{case} to {}: {one}", to.0.name);
                assert_eq!(id(&options).as_ref(), Some(&one), "{case} to {}", to.0.name);
                let other = options.clone().with_source_place("/elsewhere/wire.jsonl".to_owned());
                assert_ne!(id(&other), Some(one.clone()), "{case} to {} from another place", to.0.name);
                let before = known.insert(one, &case.name);
                assert!(before.is_none(), "{case} to {}: the id of {before:?}; begins {first}", to.0.name);
            }
        }
    }
}

/// Each printable character of ASCII in the id of a session: the target gets an id that its program takes.
#[test]
fn no_character_of_a_session_id_reaches_a_program_that_refuses_it() {
    let uuid = "11111111-2222-4333-8444-555555555555";
    let from = (Dialect::named("claude-code").expect("registered"), Role::Log);
    for character in (' '..='~').map(String::from) {
        for stem in ["word", uuid, "ses_word", "T-11111111-2222-4333-8444-555555555555"] {
            let (begin, end) = stem.split_at(stem.len() - 2);
            let id = format!("{begin}{character}{end}");
            let line = serde_json::json!({"type": "user", "uuid": uuid, "parentUuid": null, "sessionId": id, "cwd": "/w",
                "message": {"role": "user", "content": "hello"}});
            for to in log_targets().into_iter().filter(|to| to.0.name != from.0.name) {
                let written = convert(from, to, line.to_string().as_bytes()).bytes;
                let ids = session_ids(to.0.name, &written);
                let is_nowhere = place_of_session_id(to.0.name).is_some_and(<[_]>::is_empty);
                assert_eq!(ids.is_empty(), is_nowhere, "{}", to.0.name);
                for written in ids {
                    assert!(is_session_id(to.0.name, &written), "`{id}` to {}: `{written}`", to.0.name);
                }
            }
        }
    }
}

#[test]
fn reasoning_that_nobody_signed_is_in_no_log_whose_api_refuses_it() {
    let mut refused = 0;
    for (case, to) in pairs().into_iter().filter(|(_, to)| ["claude-code", "amp"].contains(&to.0.name)) {
        let outcome = convert(case.way, to, &case.bytes);
        let mut unsigned = 0;
        for value in &values(&outcome.bytes) {
            count_unsigned(value, &mut unsigned);
        }
        assert_eq!(unsigned, 0, "{case} to {}", to.0.name);
        refused +=
            outcome.report.lost_paths.iter().filter(|loss| loss.reason == Some(Reason::Refused)).count();
    }
    assert!(refused > 20, "only {refused} reported");
}

fn count_unsigned(value: &Value, count: &mut usize) {
    match value {
        Value::Array(elements) => elements.iter().for_each(|element| count_unsigned(element, count)),
        Value::Object(members) => {
            let is = |name: &str, text: &str| members.get(name).and_then(Value::as_str) == Some(text);
            *count += usize::from(
                is("type", "thinking") && (is("signature", "") || !members.contains_key("signature")),
            );
            members.values().for_each(|value| count_unsigned(value, count));
        }
        _ => {}
    }
}
