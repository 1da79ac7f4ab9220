//! Laws of histories: a log that is written for another agent can be continued by that agent, whatever the source.
//!
//! The checker here shares no code with the stage that repairs histories. It reads ids and parents with serde_json, and
//! calls and results through our readers.

#![allow(clippy::expect_used, reason = "a test stops at the first surprise")]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use crate::support::{Law, Way, can_write, fixtures};
use interlingua::dialects::{DIALECTS, Dialect, Options, Plane, Role};
use interlingua::fold::{Content, Item, Transcript};
use interlingua::ledger::{Leftover, Report};
use interlingua::log::OutlineReader;
use interlingua::model::{Args, Author, Event, ItemId, ItemKind, Part};
use interlingua::pipe::{Pipe, Writer, WriterOutput};
use proptest::prelude::*;
use serde_json::{Value, json};

use sessions::{
    Act, SPELLINGS, TIME, active, acts, acts_of_gemini_cli, claude_code, lines, pi, qwen_code,
    rewritten_gemini_cli, truth, uuid, word,
};

mod sessions;

/// Log dialects with the members for a line's id and parent id.
const CHAINED: [(&str, &str, &str); 4] = [
    ("claude-code", "uuid", "parentUuid"),
    ("pi", "id", "parentId"),
    ("qwen-code", "uuid", "parentUuid"),
    ("copilot-cli", "id", "parentId"),
];

/// Logs of ours: they keep a history as it is.
const RECORDS: [&str; 2] = ["record", "record-v2"];

fn log(name: &str) -> Way {
    (Dialect::named(name).expect("registered"), Role::Log)
}

fn log_targets(from: Way) -> impl Iterator<Item = Way> {
    let is_log = |dialect: &&&Dialect| dialect.plane == Plane::Log;
    DIALECTS
        .iter()
        .filter(is_log)
        .map(|dialect| (*dialect, Role::Log))
        .filter(move |to| to.0.name != from.0.name && can_write(*to))
}

/// Converts as the command does: the source is read twice.
fn convert(from: Way, to: Way, bytes: &[u8]) -> (Vec<u8>, Report) {
    let mut first = OutlineReader::new(from, &Options::default()).expect("readable");
    first.push(bytes);
    let options = Options::default().with_outline(Arc::new(first.finish()));
    let pipe = Pipe::new(from, to, &options).expect("both sides were found in the registry");
    let mut out = Vec::new();
    let report = pipe.finish_with(bytes, &mut out);
    (out, report)
}

/// The contents of a log, in order.
#[derive(Default)]
struct Told {
    sessions: Vec<Vec<Step>>,
    /// The parent of each item that has one, by session and id.
    parents: BTreeMap<(usize, String), String>,
    starts: usize,
    calls: usize,
    /// The calls, results and prompts of the main conversation, by session.
    turns: Vec<(usize, Turn)>,
    pictures: usize,
    of_subagents: BTreeSet<ItemId>,
    /// The last message of a user, until its text comes.
    prompt: Option<ItemId>,
}

#[derive(Debug)]
enum Turn {
    Call(String),
    Result(String),
    Prompt,
}

#[derive(Debug)]
enum Step {
    Call(Option<String>),
    Result(Option<String>),
}

struct Gather(Arc<Mutex<Told>>);

impl Writer for Gather {
    fn event(&mut self, event: &Event<'_>, _: &mut WriterOutput<'_>) {
        let told = &mut *self.0.lock().expect("no panic while held");
        let id = |id: &Option<interlingua::json::Str<'_>>| id.as_ref().map(|id| id.decode().into_owned());
        match event {
            Event::SessionStarted(_) => {
                told.starts += 1;
                told.sessions.push(Vec::new());
            }
            Event::ItemStarted(head) => {
                if told.sessions.is_empty() {
                    told.sessions.push(Vec::new());
                }
                if let (Some(own), Some(parent)) = (id(&head.native_id), id(&head.parent)) {
                    told.parents.insert((told.sessions.len(), own), parent);
                }
                let around = head.within.is_some_and(|around| told.of_subagents.contains(&around));
                if head.agent.is_some() || head.parent_call.is_some() || around {
                    told.of_subagents.insert(head.id);
                } else {
                    let turn = match &head.kind {
                        ItemKind::ToolCall(call) => id(&call.call_id).map(Turn::Call),
                        ItemKind::ToolResult(result) => id(&result.call_id).map(Turn::Result),
                        _ => None,
                    };
                    told.turns.extend(turn.map(|turn| (told.sessions.len(), turn)));
                    if head.kind == ItemKind::Message {
                        told.prompt = (head.author == Author::User).then_some(head.id);
                    }
                }
                let steps = told.sessions.last_mut().expect("just added");
                match &head.kind {
                    ItemKind::ToolCall(call) => {
                        steps.push(Step::Call(id(&call.call_id)));
                        told.calls += 1;
                    }
                    ItemKind::ToolResult(result) => steps.push(Step::Result(id(&result.call_id))),
                    _ => {}
                }
            }
            Event::ItemDelta(delta) if matches!(delta.value, Part::Media(_)) => told.pictures += 1,
            Event::ItemDelta(delta) if told.prompt == Some(delta.item) => {
                if let Part::Text(_) = delta.value {
                    told.prompt = None;
                    told.turns.push((told.sessions.len(), Turn::Prompt));
                }
            }
            _ => {}
        }
    }

    fn leftover(&mut self, leftover: Leftover<'_>, out: &mut WriterOutput<'_>) {
        leftover.mark_kept(out.ledger);
    }

    fn finish(&mut self, _: &mut WriterOutput<'_>) {}
}

fn read(from: Way, bytes: &[u8]) -> Told {
    let told = Arc::new(Mutex::new(Told::default()));
    let writer = Box::new(Gather(Arc::clone(&told)));
    let pipe = Pipe::with_writer(from, writer, &Options::default()).expect("readable");
    pipe.finish_with(bytes, &mut Vec::new());
    std::mem::take(&mut *told.lock().expect("no panic while held"))
}

/// The violations in a log that was written for an agent.
fn breaches(to: Way, out: &[u8], sessions: usize) -> Vec<String> {
    let mut found = Vec::new();
    let name = to.0.name;
    let lines = values(out);
    if let Some((_, id, parent)) = CHAINED.iter().find(|(chained, ..)| *chained == name) {
        let mut ids = BTreeSet::new();
        let mut before: BTreeMap<String, Value> = BTreeMap::new();
        let mut roots: BTreeMap<String, usize> = BTreeMap::new();
        for line in lines.iter().filter(|line| line["type"] != "session") {
            let own = line[id].clone();
            if !ids.insert(own.to_string()) {
                found.push(format!("the id {own} stands twice"));
            }
            let agent = line["agentId"].to_string();
            let last = before.insert(agent.clone(), own).unwrap_or_default();
            if line[parent].is_null() {
                *roots.entry(agent).or_default() += 1;
            } else if line[parent] != last
                && !(name == "copilot-cli" && ids.contains(&line[parent].to_string()))
            {
                found.push(format!("{} hangs on {}, not on the line before, {last}", line[id], line[parent]));
            }
        }
        for (agent, roots) in roots {
            if roots > sessions {
                found.push(format!("{roots} lines of {agent} hang on none, in {sessions} sessions"));
            }
        }
    }
    if name == "gemini-cli" {
        let mut ids = BTreeSet::new();
        for id in lines.iter().filter_map(|line| line["id"].as_str()) {
            if !ids.insert(id) {
                found.push(format!("the id {id} stands twice"));
            }
        }
    }
    let told = read(to, out);
    for (session, own) in told.parents.keys() {
        let mut at = own;
        for _ in 0..=told.parents.len() {
            match told.parents.get(&(*session, at.clone())) {
                Some(parent) => at = parent,
                None => break,
            }
            if at == own {
                found.push(format!("the parents of {own} lead back to it"));
                break;
            }
        }
    }
    if name == "cursor" {
        // Logs of this dialect have no results.
        return found;
    }
    for steps in told.sessions {
        let mut answered: BTreeMap<String, bool> = BTreeMap::new();
        for step in steps {
            match step {
                Step::Call(None) => found.push("a call has no id".to_owned()),
                Step::Call(Some(id)) => {
                    if answered.insert(id.clone(), false).is_some() {
                        found.push(format!("two calls are `{id}`"));
                    }
                }
                Step::Result(None) => found.push("a result has no id".to_owned()),
                Step::Result(Some(id)) => match answered.insert(id.clone(), true) {
                    Some(false) => {}
                    Some(true) => found.push(format!("two results of `{id}`")),
                    None => found.push(format!("the result of `{id}` comes before its call")),
                },
            }
        }
        found.extend(
            answered.iter().filter(|(_, done)| !**done).map(|(id, _)| format!("`{id}` has no result")),
        );
    }
    found
}

/// The prompts between a call and its result. The APIs that continue a session refuse such a history.
fn prompts_within_calls(to: Way, out: &[u8]) -> Vec<String> {
    let mut open = BTreeSet::new();
    let mut found = Vec::new();
    let mut has_result = false;
    if to.0.name == "cursor" {
        // Logs of this dialect have no results.
        return found;
    }
    for (session, turn) in read(to, out).turns {
        match turn {
            Turn::Call(id) => {
                if has_result {
                    found.push(format!("the call `{id}` comes between the results of others"));
                }
                open.insert((session, id));
            }
            Turn::Result(id) => {
                open.remove(&(session, id));
                has_result = open.iter().any(|(of, _)| *of == session);
            }
            Turn::Prompt => {
                let of_session = open.iter().filter(|(of, _)| *of == session);
                found.extend(of_session.map(|(_, id)| format!("a prompt comes before the result of `{id}`")));
            }
        }
    }
    found
}

/// For each message in a log with subagent messages: whether a subagent wrote it.
fn lines_of_subagents(to: Way, out: &[u8]) -> Vec<bool> {
    let is_subagents = match to.0.name {
        "claude-code" => |line: &Value| line["isSidechain"] == true,
        "copilot-cli" => |line: &Value| line["agentId"].is_string(),
        _ => return Vec::new(),
    };
    let is_message = |line: &Value| {
        ["user", "assistant", "user.message", "assistant.message"].iter().any(|kind| line["type"] == *kind)
    };
    values(out).iter().filter(|line| is_message(line)).map(is_subagents).collect()
}

fn values(out: &[u8]) -> Vec<Value> {
    out.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect()
}

fn sound(law: &mut Law, name: &str, from: Way, bytes: &[u8]) {
    let Told { starts, pictures, .. } = read(from, bytes);
    let sessions = starts.max(1);
    for to in log_targets(from) {
        let (out, report) = convert(from, to, bytes);
        law.holds(report.adds_up(), || format!("{name} to {}: the report does not add up", to.0.name));
        let found = breaches(to, &out, sessions);
        law.holds(found.is_empty(), || format!("{name} to {}: {}", to.0.name, found[0]));
        let found = prompts_within_calls(to, &out);
        law.holds(found.is_empty(), || format!("{name} to {}: {}", to.0.name, found[0]));
        let written = read(to, &out).pictures;
        law.holds(written <= pictures, || {
            format!("{name} to {}: {written} pictures of {pictures}", to.0.name)
        });
        let of_subagents = lines_of_subagents(to, &out);
        law.holds(of_subagents.is_empty() || of_subagents.contains(&false), || {
            format!("{name} to {}: every line is a subagent's, and the session has none", to.0.name)
        });
        // Without an outline the history is equally sound, but rewound turns are still in it.
        let alone = crate::support::convert(from, to, bytes);
        let found = breaches(to, &alone.bytes, sessions);
        law.holds(found.is_empty(), || format!("{name} to {} in one pass: {}", to.0.name, found[0]));
    }
}

#[test]
fn every_log_that_is_written_can_be_continued() {
    let mut law = Law::new("every log that is written can be continued");
    for case in fixtures() {
        if case.way.1.is_session() && case.way.1 != Role::Input {
            sound(&mut law, &case.to_string(), case.way, &case.bytes);
        }
    }
    law.end();
}

/// A Codex rollout holds one thread: the response of a helper agent is input to it.
#[test]
fn a_message_of_another_agent_reaches_the_conversation() {
    let line = |kind: &str, payload: Value| json!({"timestamp": TIME, "type": kind, "payload": payload});
    let said = |role: &str, kind: &str, text: &str| {
        line(
            "response_item",
            json!({"type": "message", "role": role, "content": [{"type": kind, "text": text}]}),
        )
    };
    let answer = json!({"type": "agent_message", "id": "amsg_1", "author": "/root/helper", "recipient": "/root",
        "content": [{"type": "input_text", "text": "the helper counted two"}]});
    let bytes = lines(&[
        line(
            "session_meta",
            json!({"id": "0199e8a0-1111-7222-8333-444455556666", "timestamp": TIME, "cwd": "/r"}),
        ),
        said("user", "input_text", "ask a helper"),
        line("response_item", answer),
        said("assistant", "output_text", "There are two."),
    ]);
    let from = log("codex");
    for to in log_targets(from) {
        let (out, report) = convert(from, to, &bytes);
        assert!(report.adds_up(), "{}", to.0.name);
        assert!(String::from_utf8_lossy(&out).contains("the helper counted two"), "{}", to.0.name);
        assert!(!lines_of_subagents(to, &out).contains(&true), "{}", to.0.name);
        assert!(report.lost_paths.iter().any(|lost| lost.path.contains("author")), "{}", to.0.name);
    }
}

/// Agents write an empty text next to a call; a program that resumes the log may drop the message with its calls.
#[test]
fn an_empty_text_beside_a_call_is_not_written() {
    let call = json!([{"type": "function", "id": "c1", "function": {"name": "f", "arguments": "{}"}}]);
    let kimi_cli = lines(&[
        json!({"role": "_checkpoint", "id": 0}),
        json!({"role": "user", "content": "go"}),
        json!({"role": "assistant", "content": "", "tool_calls": call}),
        json!({"role": "tool", "content": "came", "tool_call_id": "c1"}),
    ]);
    let sessions = [
        ("kimi-cli", kimi_cli),
        ("claude-code", claude_code(&[Act::User, Act::Call(1), Act::Result(1)])),
        ("pi", pi(&[Act::User, Act::Call(1), Act::Result(1)])),
        ("qwen-code", qwen_code(&[Act::User, Act::Call(1), Act::Result(1)])),
    ];
    for (name, bytes) in sessions {
        let text = String::from_utf8(bytes).expect("made of texts");
        let text = text
            .replace(r#"[{"type":"tool_use""#, r#"[{"type":"text","text":""},{"type":"tool_use""#)
            .replace(r#"[{"type":"toolCall""#, r#"[{"type":"text","text":""},{"type":"toolCall""#)
            .replace(r#"[{"functionCall""#, r#"[{"text":""},{"functionCall""#);
        assert!(text.contains(r#""text":"""#) || text.contains(r#""content":"""#), "{name}: {text}");
        let from = log(name);
        for to in log_targets(from) {
            let (out, report) = convert(from, to, text.as_bytes());
            let out = String::from_utf8_lossy(&out);
            assert!(report.adds_up(), "{name} to {}", to.0.name);
            assert!(!out.contains(r#""text":"""#), "{name} to {}: {out}", to.0.name);
        }
    }
}

/// People type while a tool runs. APIs refuse a message between a call and its result.
#[test]
fn a_message_typed_while_a_tool_runs_comes_after_its_result() {
    let sessions = [
        vec![Act::User, Act::Call(1), Act::User, Act::Result(1), Act::User],
        vec![Act::User, Act::Call(1), Act::Call(2), Act::Result(2), Act::User, Act::User, Act::Result(1)],
        vec![Act::User, Act::Call(1), Act::User, Act::Call(2), Act::User, Act::Result(2), Act::Result(1)],
        vec![Act::User, Act::Call(1), Act::User, Act::Call(2), Act::Result(1), Act::Result(2), Act::User],
        vec![Act::User, Act::Call(1), Act::User, Act::Call(2), Act::Result(2), Act::User],
        vec![
            Act::Call(1),
            Act::Call(2),
            Act::Result(1),
            Act::Call(3),
            Act::Result(3),
            Act::Result(2),
            Act::User,
        ],
    ];
    let mut law = Law::new("a message typed while a tool runs comes after its result");
    for acts in &sessions {
        for (name, bytes) in
            [("claude-code", claude_code(acts)), ("pi", pi(acts)), ("qwen-code", qwen_code(acts))]
        {
            sound(&mut law, &format!("{name} {acts:?}"), log(name), &bytes);
            for to in log_targets(log(name)) {
                let (out, _) = convert(log(name), to, &bytes);
                let out = String::from_utf8_lossy(&out);
                let is_prompt = |at: &usize| matches!(acts[*at], Act::User);
                let all = (0..acts.len()).filter(is_prompt).all(|at| out.contains(&word(at)));
                law.holds(all, || format!("{name} {acts:?} to {}: a prompt is lost", to.0.name));
            }
        }
    }
    law.end();
}

/// Gemini CLI writes a message again for each result of its calls. Droid takes results in several messages for cancelled calls.
#[test]
fn results_that_come_with_their_message_again_are_in_one_message() {
    let from = log("gemini-cli");
    let head = json!({"sessionId": uuid(9), "projectHash": "5f", "startTime": TIME, "lastUpdated": TIME, "kind": "main"});
    let told = |at: usize, kind: &str, text: &str, calls: Value| json!({"id": uuid(at), "timestamp": TIME, "type": kind, "content": text, "toolCalls": calls});
    let call = |id: &str, result: Option<&str>| {
        let mut call = json!({"id": id, "name": "read_file", "args": {}, "status": "executing"});
        if let Some(output) = result {
            let response = json!({"id": id, "name": "read_file", "response": {"output": output}});
            call["status"] = json!("success");
            call["result"] = json!([{"functionResponse": response}]);
        }
        call
    };
    let apart = [
        told(2, "gemini", "", json!([call("c1", None)])),
        told(3, "gemini", "", json!([call("c2", None)])),
        told(3, "gemini", "", json!([call("c2", Some("second"))])),
        told(2, "gemini", "", json!([call("c1", Some("first"))])),
    ];
    let together = [
        told(2, "gemini", "", json!([call("c1", None), call("c2", None)])),
        told(2, "gemini", "", json!([call("c1", Some("first")), call("c2", None)])),
        told(2, "gemini", "", json!([call("c1", Some("first")), call("c2", Some("second"))])),
    ];
    for calls in [&apart[..], &together] {
        let mut session = vec![head.clone(), told(1, "user", "go", json!([]))];
        session.extend_from_slice(calls);
        session.push(told(4, "gemini", "done", json!([])));
        let bytes = lines(&session);
        let to = log("droid");
        let (out, report) = convert(from, to, &bytes);
        assert!(report.adds_up());
        let (read, _) = Transcript::read(to, &out, &Options::default()).expect("readable");
        let results: Vec<usize> = read.items.iter().map(results_in).filter(|count| *count > 0).collect();
        let out = String::from_utf8_lossy(&out);
        assert_eq!(results, [2], "{out}");
        assert!(out.contains(&uuid(4)), "the last answer has another id: {out}");
    }
}

/// The number of results in an item.
fn results_in(item: &Item) -> usize {
    let inner = |content: &Content| if let Content::Item(inner) = content { results_in(inner) } else { 0 };
    usize::from(matches!(item.kind, ItemKind::ToolResult(_))) + item.content.iter().map(inner).sum::<usize>()
}

/// APIs refuse a call whose arguments are no object.
#[test]
fn arguments_of_a_written_call_are_an_object() {
    let from = log("cursor");
    for input in ["true", "7", "[1,2]", r#""text""#, r#"{"a":1}"#] {
        let input: Value = serde_json::from_str(input).expect("JSON");
        let call = json!([{"type": "tool_use", "name": "f", "input": input}]);
        let bytes = lines(&[
            json!({"role": "user", "message": {"content": [{"type": "text", "text": "go"}]}}),
            json!({"role": "assistant", "message": {"content": call}}),
        ]);
        for to in log_targets(from) {
            let (out, report) = convert(from, to, &bytes);
            assert!(report.adds_up(), "{input} to {}", to.0.name);
            let (read, _) = Transcript::read(to, &out, &Options::default()).expect("readable");
            let written: Vec<_> = read.items.iter().flat_map(arguments_in).collect();
            let wanted = if input.is_object() { input.clone() } else { json!({"input": input}) };
            let wanted = [if to.0.name == "codex" { input.clone() } else { wanted }];
            assert!(RECORDS.contains(&to.0.name) || written == wanted, "to {}: {written:?}", to.0.name);
        }
    }
}

/// The arguments of all calls within an item, as JSON.
fn arguments_in(item: &Item) -> Vec<Value> {
    let of_content = |content: &Content| match content {
        Content::Item(inner) => arguments_in(inner),
        Content::Part(_, Part::Args(Args::Json(json))) => {
            vec![serde_json::from_str(json.as_str()).expect("JSON")]
        }
        Content::Part(_, Part::Args(Args::Text(text))) => {
            let text = text.decode();
            vec![serde_json::from_str(&text).unwrap_or_else(|_| json!(text))]
        }
        Content::Part(..) => Vec::new(),
    };
    item.content.iter().flat_map(of_content).collect()
}

/// A subagent message before the first message of the session does not make the log the subagent's.
#[test]
fn a_subagent_that_speaks_first_is_not_the_session() {
    let line = |at: usize, parent: Option<usize>, is_sidechain: bool, kind: &str, text: &str| {
        json!({"parentUuid": parent.map(uuid), "isSidechain": is_sidechain, "sessionId": "11111111-2222-4333-8444-555555555555", "cwd": "/r",
            "version": "2.1.0", "agentId": if is_sidechain { json!("a1") } else { Value::Null }, "type": kind,
            "message": {"role": kind, "content": [{"type": "text", "text": text}]}, "uuid": uuid(at), "timestamp": TIME})
    };
    let bytes = lines(&[
        line(1, None, true, "user", "asked of the helper"),
        line(2, Some(1), true, "assistant", "said by the helper"),
        line(3, None, false, "user", "asked of the agent"),
        line(4, Some(3), false, "assistant", "said by the agent"),
    ]);
    let from = log("claude-code");
    for to in log_targets(from).filter(|to| to.0.name != "copilot-cli") {
        let (out, report) = convert(from, to, &bytes);
        let out = String::from_utf8_lossy(&out);
        assert!(report.adds_up(), "{}", to.0.name);
        assert!(out.contains("asked of the agent") && out.contains("said by the agent"), "{}", to.0.name);
        assert!(!out.contains("the helper"), "{}: {out}", to.0.name);
    }
}

/// A message of Claude Code.
fn message(at: usize, parent: Option<usize>, kind: &str, content: &Value) -> Value {
    json!({"parentUuid": parent.map(uuid), "isSidechain": false, "sessionId": "11111111-2222-4333-8444-555555555555",
        "cwd": "/r", "version": "2.1.0", "type": kind, "message": {"role": kind, "content": content},
        "uuid": uuid(at), "timestamp": TIME})
}

/// A summary without a parent stands for the messages before it, and another message without a parent replaces them.
#[test]
fn a_summary_without_a_parent_begins_no_branch() {
    let from = log("claude-code");
    for is_summary in [true, false] {
        let mut second = message(3, None, "user", &json!("the second root"));
        if is_summary {
            second["isCompactSummary"] = json!(true);
        }
        let bytes = lines(&[
            message(1, None, "user", &json!("an early question")),
            message(2, Some(1), "assistant", &json!([{"type": "text", "text": "an early answer"}])),
            second,
            message(4, Some(3), "assistant", &json!([{"type": "text", "text": "a late answer"}])),
        ]);
        for to in log_targets(from).filter(|to| !RECORDS.contains(&to.0.name)) {
            let (out, report) = convert(from, to, &bytes);
            let out = String::from_utf8_lossy(&out);
            assert!(report.adds_up(), "{}", to.0.name);
            assert!(out.contains("the second root") && out.contains("a late answer"), "{}: {out}", to.0.name);
            for text in ["an early question", "an early answer"] {
                assert_eq!(out.contains(text), is_summary, "{}, {text}, {is_summary}: {out}", to.0.name);
            }
        }
    }
}

/// The notes of a log, and its messages by author.
type RepairRow = (&'static [&'static str], Vec<(&'static str, Value)>);

/// Each repair of a history has its note, and a sound history has none.
#[test]
fn each_repair_of_a_history_has_its_note() {
    const MOVED: &str = "a result was moved behind its call";
    const NO_RESULT: &str = "made up the result of a call that has none";
    const NO_CALL: &str = "made up the call of a result that has none";
    const USED_AGAIN: &str = "a call id used again was replaced";
    let call = |id: &str| json!([{"type": "tool_use", "id": id, "name": "f", "input": {"q": "x"}}]);
    let result = |id: &str| json!([{"type": "tool_result", "tool_use_id": id, "content": "y"}]);
    let text = json!([{"type": "text", "text": "z"}]);
    let rows: [RepairRow; 5] = [
        (&[], vec![("user", text.clone()), ("assistant", call("a")), ("user", result("a"))]),
        (
            &[MOVED],
            vec![
                ("user", text.clone()),
                ("user", result("a")),
                ("assistant", call("a")),
                ("user", text.clone()),
            ],
        ),
        (&[NO_RESULT], vec![("user", text.clone()), ("assistant", call("a")), ("user", text.clone())]),
        (
            // The made-up call stands before its result.
            &[MOVED, NO_CALL],
            vec![("user", text.clone()), ("user", result("a")), ("assistant", text.clone())],
        ),
        (
            &[USED_AGAIN],
            vec![
                ("user", text.clone()),
                ("assistant", call("a")),
                ("user", result("a")),
                ("assistant", call("a")),
                ("user", result("a")),
            ],
        ),
    ];
    let from = log("claude-code");
    let mut law = Law::new("each repair of a history has its note");
    for (wanted, messages) in &rows {
        let messages = messages.iter().enumerate();
        let log = messages
            .map(|(at, (kind, content))| message(at + 1, Some(at).filter(|at| *at > 0), kind, content));
        let bytes = lines(&log.collect::<Vec<_>>());
        // Cursor writes no results.
        for to in log_targets(from).filter(|to| !RECORDS.contains(&to.0.name) && to.0.name != "cursor") {
            let (_, report) = convert(from, to, &bytes);
            let found: Vec<&str> = [MOVED, NO_RESULT, NO_CALL, USED_AGAIN]
                .into_iter()
                .filter(|note| report.notes.iter().any(|(it, _)| it == note))
                .collect();
            law.holds(found == *wanted, || format!("{}: {found:?}, not {wanted:?}", to.0.name));
        }
    }
    law.end();
}

fn holds_truth(from: Way, to: Way, acts: &[Act], bytes: &[u8]) -> Result<(), String> {
    let (out, report) = convert(from, to, bytes);
    let said = |what: String| {
        format!(
            "{} to {}: {what}\n{acts:?}\n{}\n--\n{}",
            from.0.name,
            to.0.name,
            String::from_utf8_lossy(bytes),
            String::from_utf8_lossy(&out)
        )
    };
    if !report.adds_up() {
        return Err(said("the report does not add up".to_owned()));
    }
    if let Some(breach) = breaches(to, &out, 1).first() {
        return Err(said(breach.clone()));
    }
    let text = String::from_utf8_lossy(&out);
    let truth = truth(acts);
    let is_result =
        |word: &str| (0..acts.len()).any(|at| matches!(acts[at], Act::Result(_)) && self::word(at) == word);
    if let Some(gone) = truth.gone.iter().find(|word| text.contains(&format!("{word}\""))) {
        return Err(said(format!("`{gone}` is there, though it does not count")));
    }
    let has_results = to.0.name != "cursor";
    let missing = |word: &&String| !text.contains(word.as_str()) && (has_results || !is_result(word));
    if let Some(missing) = truth.there.iter().find(missing) {
        return Err(said(format!("`{missing}` is missing")));
    }
    let calls = read(to, &out).calls;
    // A log without results needs no generated calls for orphaned results.
    if calls != truth.calls && (has_results || calls + truth.made_up != truth.calls) {
        return Err(said(format!("{calls} calls, not {}", truth.calls)));
    }
    if !truth.gone.is_empty() && report.lost_paths.is_empty() {
        return Err(said("nothing is reported as lost".to_owned()));
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn odd_sessions_become_sound_histories(acts in acts(), which in 0..SPELLINGS.len()) {
        let (name, spell, can) = SPELLINGS[which];
        let mut acts: Vec<Act> = acts.into_iter().filter(can).collect();
        // A summary replaces the turns before it: if all of them were rewound, there is no summary.
        while let Some(at) = (0..acts.len()).find(|&at| matches!(acts[at], Act::Compact) && active(&acts[..at]).is_empty()) {
            acts.remove(at);
        }
        // A tree does not show that its last branch was abandoned until a line follows.
        while !["codex", "kimi-code"].contains(&name) && matches!(acts.last(), Some(Act::Back(_))) {
            acts.pop();
        }
        let (from, bytes) = (log(name), spell(&acts));
        // Lines without any parent are not a tree: they form a sequence.
        let links = CHAINED.iter().filter(|(chained, ..)| *chained == name);
        let mut links = links.map(|(.., parent)| format!("\"{parent}\":\""));
        let goes_back = acts.iter().any(|act| matches!(act, Act::Back(_)));
        let text = String::from_utf8_lossy(&bytes);
        prop_assume!(!goes_back || links.all(|link| text.contains(&link)));
        // A log without prompts is not a session.
        prop_assume!(acts.iter().any(|act| matches!(act, Act::User)));
        for to in log_targets(from) {
            if let Err(how) = holds_truth(from, to, &acts, &bytes) {
                prop_assert!(false, "{}", how);
            }
        }
    }

    #[test]
    fn a_message_that_is_written_again_keeps_its_place(acts in acts()) {
        let acts = acts_of_gemini_cli(acts);
        prop_assume!(acts.iter().any(|act| matches!(act, Act::User)));
        let (from, bytes) = (log("gemini-cli"), rewritten_gemini_cli(&acts));
        for to in log_targets(from) {
            if let Err(how) = holds_truth(from, to, &acts, &bytes) {
                prop_assert!(false, "{}", how);
            }
        }
    }
}
