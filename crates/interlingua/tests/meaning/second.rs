//! Second occurrences: a second result in a line, a second fork, a second session, a subagent message while a call of
//! the main agent is open. Each has the same meaning as alone.

use interlingua::dialects::{DIALECTS, Dialect, Options, Plane, Role};
use interlingua::fold::{Content, Item, Transcript};
use interlingua::model::{Author, ItemKind, Status};

use crate::support::{Case, Law, Way, can_write, convert, fixtures, record};

pub(crate) fn read(dialect: &str, role: Role, text: &str) -> Transcript {
    let dialect = Dialect::named(dialect).expect("registered");
    Transcript::read((dialect, role), text.trim().as_bytes(), &Options::default()).expect("readable").0
}

/// All items, including nested items.
pub(crate) fn items(transcript: &Transcript) -> Vec<&Item> {
    fn within<'i>(item: &'i Item, all: &mut Vec<&'i Item>) {
        all.push(item);
        for content in &item.content {
            if let Content::Item(inner) = content {
                within(inner, all);
            }
        }
    }
    let mut all = Vec::new();
    transcript.items.iter().for_each(|item| within(item, &mut all));
    all
}

/// Each result: call id, status and error flag.
fn results(transcript: &Transcript) -> Vec<(String, Option<Status>, Option<bool>)> {
    let results = items(transcript).into_iter().filter_map(|item| match &item.kind {
        ItemKind::ToolResult(result) => {
            let call = result.call_id.as_ref().map(|id| id.decode().into_owned()).unwrap_or_default();
            Some((call, item.status, item.is_error))
        }
        _ => None,
    });
    results.collect()
}

#[test]
fn two_results_in_a_line_each_have_their_own_outcome() {
    // `{1}` and `{2}` are the outcomes of the two results.
    let lines: [(&str, Role, &str, [&str; 2]); 6] = [
        (
            "claude-code",
            Role::Log,
            r#"{"type":"user","uuid":"u","parentUuid":null,"sessionId":"s","cwd":"/w","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"x","is_error":{1}},{"type":"tool_result","tool_use_id":"b","content":"y","is_error":{2}}]}}"#,
            ["false", "true"],
        ),
        (
            "claude-stream",
            Role::Live,
            r#"{"type":"user","session_id":"s","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"x","is_error":{1}},{"type":"tool_result","tool_use_id":"b","content":"y","is_error":{2}}]}}"#,
            ["false", "true"],
        ),
        (
            "anthropic",
            Role::Request,
            r#"{"model":"m","max_tokens":9,"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"x","is_error":{1}},{"type":"tool_result","tool_use_id":"b","content":"y","is_error":{2}}]}]}"#,
            ["false", "true"],
        ),
        (
            "amp",
            Role::Log,
            r#"{"v":1,"id":"T-1","created":1,"messages":[{"role":"user","messageId":0,"content":[{"type":"tool_result","toolUseID":"a","run":{"status":"{1}","result":"x"}},{"type":"tool_result","toolUseID":"b","run":{"status":"{2}","result":"y"}}]}]}"#,
            ["done", "error"],
        ),
        (
            "gemini",
            Role::Request,
            r#"{"contents":[{"role":"user","parts":[{"functionResponse":{"id":"a","name":"f","response":{"{1}":"x"}}},{"functionResponse":{"id":"b","name":"f","response":{"{2}":"y"}}}]}]}"#,
            ["output", "error"],
        ),
        (
            "gemini-cli",
            Role::Log,
            r#"{"sessionId":"s","projectHash":"h","startTime":"2026-01-01T00:00:00.000Z","lastUpdated":"2026-01-01T00:00:01.000Z","messages":[{"id":"m","timestamp":"2026-01-01T00:00:00.000Z","type":"gemini","content":"","toolCalls":[{"id":"a","name":"f","args":{},"result":[{"functionResponse":{"id":"a","name":"f","response":{"output":"x"}}}],"status":"{1}","timestamp":"2026-01-01T00:00:00.000Z"},{"id":"b","name":"f","args":{},"result":[{"functionResponse":{"id":"b","name":"f","response":{"output":"y"}}}],"status":"{2}","timestamp":"2026-01-01T00:00:00.000Z"}]}]}"#,
            ["success", "error"],
        ),
    ];
    for (dialect, role, line, [well, badly]) in lines {
        for (first, second) in [(well, badly), (badly, well), (well, well), (badly, badly)] {
            let told = results(&read(dialect, role, &line.replace("{1}", first).replace("{2}", second)));
            let calls: Vec<&str> = told.iter().map(|(call, ..)| call.as_str()).collect();
            assert_eq!(calls, ["a", "b"], "{dialect}");
            for ((call, status, is_error), outcome) in told.iter().zip([first, second]) {
                let failed = outcome == badly;
                let wanted = if failed { Status::Failed } else { Status::Completed };
                assert_eq!(*status, Some(wanted), "{dialect}: {call} after {first}, {second}");
                assert_eq!(is_error.unwrap_or(false), failed, "{dialect}: {call} after {first}, {second}");
            }
        }
    }
}

#[test]
fn two_forks_hang_on_the_same_message() {
    let line = |uuid: &str, parent: &str, kind: &str| {
        format!(
            r#"{{"type":"{kind}","uuid":"{uuid}","parentUuid":{parent},"sessionId":"s","cwd":"/w","message":{{"role":"{kind}","content":"{uuid}"}}}}"#
        )
    };
    let log = [
        line("q", "null", "user"),
        line("a1", "\"q\"", "assistant"),
        line("f1", "\"a1\"", "user"),
        line("g1", "\"f1\"", "assistant"),
        line("f2", "\"a1\"", "user"),
        line("g2", "\"f2\"", "assistant"),
        line("f3", "\"a1\"", "user"),
    ]
    .join("\n");
    let told = read("claude-code", Role::Log, &log);
    let text =
        |text: &Option<interlingua::json::Str<'static>>| text.as_ref().map(|id| id.decode().into_owned());
    let parents: Vec<_> = told.items.iter().map(|item| (text(&item.native_id), text(&item.parent))).collect();
    let wanted = [
        ("q", None),
        ("a1", Some("q")),
        ("f1", Some("a1")),
        ("g1", Some("f1")),
        ("f2", Some("a1")),
        ("g2", Some("f2")),
        ("f3", Some("a1")),
    ];
    let wanted: Vec<_> =
        wanted.iter().map(|(id, parent)| (Some((*id).to_owned()), parent.map(str::to_owned))).collect();
    assert_eq!(parents, wanted);
    // The record holds them in the same way.
    let (claude, to) = (Dialect::named("claude-code").expect("registered"), record());
    let out = convert((claude, Role::Log), to, log.as_bytes()).bytes;
    let again = Transcript::read(to, &out, &Options::default()).expect("readable").0;
    let parents: Vec<_> =
        again.items.iter().map(|item| (text(&item.native_id), text(&item.parent))).collect();
    assert_eq!(parents, wanted);
}

#[test]
fn a_subagent_that_speaks_while_a_call_is_open_is_not_the_main_agent() {
    let claude = r#"
{"type":"assistant","uuid":"a1","parentUuid":null,"sessionId":"s","cwd":"/w","isSidechain":false,"message":{"role":"assistant","id":"m1","content":[{"type":"tool_use","id":"t1","name":"Task","input":{}}]}}
{"type":"user","uuid":"b1","parentUuid":null,"sessionId":"s","cwd":"/w","isSidechain":true,"agentId":"g","message":{"role":"user","content":"do it"}}
{"type":"assistant","uuid":"b2","parentUuid":"b1","sessionId":"s","cwd":"/w","isSidechain":true,"agentId":"g","message":{"role":"assistant","id":"m2","content":[{"type":"text","text":"inner"},{"type":"tool_use","id":"t2","name":"Bash","input":{}}]}}
{"type":"user","uuid":"b3","parentUuid":"b2","sessionId":"s","cwd":"/w","isSidechain":true,"agentId":"g","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t2","content":"r2"}]}}
{"type":"user","uuid":"a2","parentUuid":"a1","sessionId":"s","cwd":"/w","isSidechain":false,"message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"r1"}]}}
{"type":"assistant","uuid":"a3","parentUuid":"a2","sessionId":"s","cwd":"/w","isSidechain":false,"message":{"role":"assistant","id":"m3","content":[{"type":"text","text":"outer"}]}}
"#;
    let stream = r#"
{"type":"system","subtype":"init","session_id":"s","cwd":"/w","model":"m","tools":[]}
{"type":"assistant","session_id":"s","parent_tool_use_id":null,"message":{"role":"assistant","id":"m1","content":[{"type":"tool_use","id":"t1","name":"Task","input":{}}]}}
{"type":"user","session_id":"s","parent_tool_use_id":"t1","message":{"role":"user","content":"do it"}}
{"type":"assistant","session_id":"s","parent_tool_use_id":"t1","message":{"role":"assistant","id":"m2","content":[{"type":"text","text":"inner"},{"type":"tool_use","id":"t2","name":"Bash","input":{}}]}}
{"type":"user","session_id":"s","parent_tool_use_id":"t1","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t2","content":"r2"}]}}
{"type":"user","session_id":"s","parent_tool_use_id":null,"message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"r1"}]}}
{"type":"assistant","session_id":"s","parent_tool_use_id":null,"message":{"role":"assistant","id":"m3","content":[{"type":"text","text":"outer"}]}}
"#;
    for (dialect, role, log) in [("claude-code", Role::Log, claude), ("claude-stream", Role::Live, stream)] {
        let told = read(dialect, role, log);
        let mut seen = Vec::new();
        for item in &told.items {
            let circumstances = &item.circumstances;
            // The live output names the call instead of a parent.
            let is_inner = circumstances.agent.is_some()
                || circumstances.parent_call.is_some()
                || item.parent.as_ref().is_some_and(|parent| parent.is("t1"));
            let mut all = Vec::new();
            let within = Transcript { items: vec![item.clone()], ..Transcript::default() };
            for item in items(&within) {
                all.push(match &item.kind {
                    ItemKind::ToolCall(call) => {
                        call.call_id.as_ref().map_or_else(String::new, |id| id.decode().into_owned())
                    }
                    ItemKind::ToolResult(result) => {
                        format!(
                            "r:{}",
                            result.call_id.as_ref().map_or_else(String::new, |id| id.decode().into_owned())
                        )
                    }
                    ItemKind::Message if item.author == Author::Assistant => "assistant".to_owned(),
                    ItemKind::Message => "user".to_owned(),
                    _ => continue,
                });
            }
            seen.extend(all.into_iter().map(|what| (what, is_inner)));
        }
        // Ignore messages that only hold a result.
        seen.retain(|(what, _)| what != "user" && what != "assistant");
        let wanted = [("t1", false), ("t2", true), ("r:t2", true), ("r:t1", false)];
        let wanted: Vec<(String, bool)> =
            wanted.iter().map(|(what, inner)| ((*what).to_owned(), *inner)).collect();
        assert_eq!(seen, wanted, "{dialect}");
    }
}

/// A record of two sessions is converted to every target like the two separate records.
#[test]
fn two_sessions_in_an_input_are_each_alone() {
    let cases = fixtures();
    let mut law = Law::new("two sessions in an input equal each alone");
    for dialect in DIALECTS.iter().filter(|dialect| dialect.plane == Plane::Log) {
        let mut of: Vec<&Case> = cases.iter().filter(|case| case.way.0.name == dialect.name).collect();
        of.sort_by_key(|case| case.bytes.len());
        let records: Vec<Vec<u8>> =
            of.iter().take(2).map(|case| convert(case.way, record(), &case.bytes).bytes).collect();
        let [one, two] = &records[..] else { continue };
        let both = [&one[..], b"\n", &two[..]].concat();
        let mut targets: Vec<Way> =
            vec![record(), (Dialect::named("universal").expect("registered"), Role::Live)];
        let logs = DIALECTS.iter().filter(|to| to.plane == Plane::Log).map(|to| (*to, Role::Log));
        targets.extend(logs.filter(|to| can_write(*to)));
        for to in targets {
            let [first, second, together] = [one, two, &both].map(|bytes| convert(record(), to, bytes));
            // Programs read one session from a log, so the report has the place where the second log begins.
            if to.0.plane == Plane::Log && to.0.name != dialect.name {
                let positions = &together.report.further_sessions;
                let place = positions.last().map_or(0, |place| usize::try_from(*place).expect("short"));
                let (before, after) = together.bytes.split_at(place.min(together.bytes.len()));
                let texts = |bytes: &[u8]| {
                    let text = String::from_utf8_lossy(bytes).into_owned();
                    let mut words: Vec<String> = text.split(['"', '\n']).map(str::to_owned).collect();
                    words.retain(|word| {
                        word.len() > 12 && word.contains(' ') && !word.contains(['[', '{', '}'])
                    });
                    words
                };
                let same = [(before, &first), (after, &second)].map(|(part, alone)| {
                    let is_document = serde_json::from_slice::<serde_json::Value>(&alone.bytes).is_ok();
                    texts(part) == texts(&alone.bytes)
                        && is_document == serde_json::from_slice::<serde_json::Value>(part).is_ok()
                });
                law.holds(same == [true; 2], || {
                    format!("{} to {}: apart at {positions:?}, {same:?}", dialect.name, to.0.name)
                });
            }
            let [first, second, together] = [first, second, together].map(|converted| converted.bytes);
            let same = |whole: &[u8]| {
                let mut words: Vec<String> =
                    String::from_utf8_lossy(whole).split(['"', '\n']).map(str::to_owned).collect();
                words.retain(|word| word.len() > 12 && word.contains(' ') && !word.contains(['[', '{', '}']));
                words.sort();
                words
            };
            // In an export of OpenCode, two sessions without id and title share one placeholder.
            let same = |whole: &[u8]| {
                let mut words = same(whole);
                words.retain(|word| word != "Session of another agent");
                words
            };
            let mut apart = same(&first);
            apart.extend(same(&second));
            apart.sort();
            law.holds(same(&together) == apart, || {
                format!(
                    "{} to {}: {} and {} texts",
                    dialect.name,
                    to.0.name,
                    same(&together).len(),
                    apart.len()
                )
            });
        }
    }
    law.end();
}

/// Dialects whose logs may name the session that they were copied from in their head or in any line, or name none.
const NAMES_OTHERS: [&str; 10] = [
    "claude-code",
    "qwen-code",
    "codex",
    "cursor",
    "kimi-cli",
    "kimi-code",
    "opencode",
    "aider",
    "record",
    "record-v2",
];

/// Two logs one after the other, such as `cat` makes them, are two sessions: each record is that of its log alone, and both
/// logs come back.
#[test]
fn two_logs_one_after_the_other_are_each_alone() {
    let cases = fixtures();
    let parsed = |bytes: &[u8]| -> Vec<serde_json::Value> {
        serde_json::Deserializer::from_slice(bytes).into_iter().map(|value| value.expect("JSON")).collect()
    };
    let mut law = Law::new("two logs one after the other are each alone");
    let mut tried = 0;
    let has_head = |dialect: &&&Dialect| dialect.plane == Plane::Log && !NAMES_OTHERS.contains(&dialect.name);
    for dialect in DIALECTS.iter().filter(has_head) {
        let mut of: Vec<(&Case, serde_json::Value)> = Vec::new();
        // After a list, the line break at its end belongs to the next log.
        let is_chosen = |case: &&Case| {
            case.way.0.name == dialect.name && case.bytes.starts_with(b"{") && case.bytes.ends_with(b"\n")
        };
        for case in cases.iter().filter(is_chosen) {
            let [record] = &parsed(&convert(case.way, record(), &case.bytes).bytes)[..] else { continue };
            let id = |record: &serde_json::Value| record["session"]["session-id"].clone();
            if id(record) != "unknown" && of.iter().all(|(_, other)| id(other) != id(record)) {
                of.push((case, record.clone()));
            }
        }
        for pair in of.windows(2) {
            let [(first, one), (second, two)] = pair else { continue };
            let both = [&first.bytes[..], &second.bytes].concat();
            let together = convert(first.way, record(), &both).bytes;
            let entries = |record: &serde_json::Value| record["session"]["entries"].clone();
            let found: Vec<_> = parsed(&together).iter().map(entries).collect();
            let is_same = found == [entries(one), entries(two)];
            law.holds(is_same, || format!("{first} and {second}: {} records", found.len()));
            if can_write(first.way) {
                let restored = convert(record(), first.way, &together).bytes;
                law.holds(restored == both, || format!("{first} and {second} do not come back"));
            }
            tried += 1;
        }
    }
    assert!(tried > 10, "only {tried} pairs");
    law.end();
}

/// Two records whose sessions have no id are two records, and so are two whose ids differ.
#[test]
fn two_sessions_without_an_id_are_two() {
    let cases = fixtures();
    // The same writer in another version: a record that becomes a record of its own version stays as it is.
    let older = (Dialect::named("record-v2").expect("registered"), Role::Log);
    let mut law = Law::new("two sessions without an id are two");
    for dialect in DIALECTS.iter().filter(|dialect| dialect.plane == Plane::Log) {
        let mut of: Vec<&Case> = cases.iter().filter(|case| case.way.0.name == dialect.name).collect();
        of.sort_by_key(|case| case.bytes.len());
        let documents = |bytes: &[u8]| -> Vec<serde_json::Value> {
            serde_json::Deserializer::from_slice(bytes)
                .into_iter()
                .map(|value| value.expect("JSON"))
                .collect()
        };
        let records: Vec<_> = of
            .iter()
            .map(|case| documents(&convert(case.way, record(), &case.bytes).bytes))
            .filter(|records| records.len() == 1)
            .take(2)
            .flatten()
            .collect();
        let [one, two] = &records[..] else { continue };
        for ids in [[None, None], [Some("a"), Some("b")], [None, Some("b")], [Some("a"), None]] {
            let both: Vec<String> = [one, two]
                .into_iter()
                .zip(ids)
                .map(|(record, id)| {
                    let mut record = record.clone();
                    let session = record["session"].as_object_mut().expect("a session");
                    session.insert("environment".to_owned(), serde_json::json!({"working-dir": "/w"}));
                    session.remove("session-id");
                    session.extend(id.map(|id| ("session-id".to_owned(), id.into())));
                    let record = record.as_object_mut().expect("a record");
                    record.remove("id");
                    record.extend(id.map(|id| ("id".to_owned(), id.into())));
                    let record = serde_json::Value::from(record.clone());
                    record.to_string()
                })
                .collect();
            let found = documents(&convert(record(), older, both.join("\n").as_bytes()).bytes).len();
            law.holds(found == 2, || format!("{}, {ids:?}: {found} records", dialect.name));
        }
    }
    law.end();
}
