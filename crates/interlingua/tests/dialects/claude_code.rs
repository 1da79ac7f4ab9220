//! Claude Code's logs: odd blocks, and their restoration.
#![expect(clippy::expect_used, reason = "tests fail by panicking")]

use interlingua::dialects::{Dialect, Options, Role};
use interlingua::model::Field;
use interlingua::pipe::Pipe;
use serde_json::Value;

use crate::support::convert_log;

/// The first entry of a log's record, after asserting that the record restores the log without a problem.
fn entry(log: &str) -> Value {
    let (record, report) = convert_log("claude-code", "record", log.as_bytes());
    assert_eq!(report.lost, 0, "{:?}", report.lost_paths);
    let (back, report) = convert_log("record", "claude-code", &record);
    let record: Value = serde_json::from_slice(&record).expect("a document");
    assert_eq!(String::from_utf8(back).expect("text"), log, "from {record}");
    assert_eq!((report.lost, &report.problems[..]), (0, &[][..]), "from {record}");
    record["session"]["entries"][0].clone()
}

/// A line with these blocks.
fn line(blocks: &str) -> String {
    format!(
        r#"{{"type":"assistant","uuid":"u","parentUuid":null,"sessionId":"s","message":{{"role":"assistant","content":[{blocks}]}}}}"#
    ) + "\n"
}

#[test]
fn blocks_without_anything_to_take_do_not_shift_the_others() {
    for odd in [
        r#"{"type":"thinking","signature":"s"}"#,
        r#"{"type":"thinking","thinking":null,"signature":"s"}"#,
        r#"{"type":"tool_use","input":null}"#,
        r#"{"type":"tool_result","content":[ ]}"#,
        r#"{"type":"tool_result","content":null}"#,
    ] {
        let log = line(&format!(r#"{odd},{{"type":"thinking","thinking":"t","signature":"q"}}"#));
        let entry = entry(&log);
        assert_eq!(entry["children"].as_array().map(Vec::len), Some(1), "{log}");
        assert_eq!(entry["children"][0]["content"], "t");
    }
}

#[test]
fn a_line_whose_message_is_no_object_says_nothing() {
    for message in [r#""hi""#, r#"["hi"]"#, "7", "null"] {
        let log = format!(r#"{{"type":"user","uuid":"u","sessionId":"s","message":{message}}}"#) + "\n";
        let entry = entry(&log);
        assert_eq!((&entry["type"], &entry["content"]), (&"system-event".into(), &Value::Null), "{log}");
    }
}

#[test]
fn the_last_title_is_the_records_and_each_of_several_has_its_entry() {
    let named =
        |title: &str| format!(r#"{{"type":"custom-title","customTitle":"{title}","sessionId":"s"}}"#) + "\n";
    let titles = |log: String| {
        let (record, report) = convert_log("claude-code", "record", log.as_bytes());
        assert_eq!(report.lost, 0, "{:?}", report.lost_paths);
        assert_eq!(String::from_utf8(convert_log("record", "claude-code", &record).0).expect("text"), log);
        let record: Value = serde_json::from_slice(&record).expect("a document");
        let entries = record["session"]["entries"].as_array().expect("entries").clone();
        let changes = entries.iter().filter_map(|entry| entry["data"]["title"].as_str());
        let changes: Vec<String> = changes.map(str::to_owned).collect();
        (record["session"]["vendor-ext"]["data"]["title"].clone(), changes)
    };
    assert_eq!(titles(named("a")), ("a".into(), vec![]));
    assert_eq!(titles(named("a") + &named("a")), ("a".into(), vec![]));
    assert_eq!(titles(named("a") + &named("b")), ("b".into(), vec!["a".to_owned(), "b".to_owned()]));
}

#[test]
fn a_null_is_not_a_value_that_went_missing() {
    entry(&line(r#"{"type":"tool_use","id":"i","name":"n","input":null}"#));
    entry(&line(r#"{"type":"tool_result","tool_use_id":"i","content":null}"#));
}

#[test]
fn a_result_that_looks_like_our_parts_is_one_value_all_the_same() {
    for list in [
        r#"[{"type":"json","json":1}]"#,
        r#"[{"type":"media","data":"x"},{"type":"summary","text":"y"}]"#,
        r#"[{"type":"file","path":"p","action":"read"}]"#,
        r#"[{"type":"arguments","json":1},{"type":"arguments","text":"y"}]"#,
        r#"[{"type":"refusal","text":"y"},{"type":"citation","citation":{}}]"#,
    ] {
        let log = line(&format!(r#"{{"type":"tool_result","tool_use_id":"i","content":{list}}}"#));
        assert_eq!(entry(&log)["children"][0]["output"][0]["json"].to_string(), list);
    }
    let input = r#"[{"type":"media","data":"x"}]"#;
    let log = line(&format!(r#"{{"type":"tool_use","id":"i","name":"n","input":{input}}}"#));
    assert_eq!(entry(&log)["children"][0]["input"][0]["data"], "x");
    let plain = r#"[{"tool_name":"x","type":"tool_reference"}]"#;
    let log = line(&format!(r#"{{"type":"tool_result","tool_use_id":"i","content":{plain}}}"#));
    assert_eq!(entry(&log)["children"][0]["output"].to_string(), plain);
}

/// The sorted paths lost when a session of one agent becomes a session of another.
fn lost(from: &str, to: &str, log: &str) -> (String, Vec<String>) {
    let (out, report) = convert_log(from, to, log.as_bytes());
    let mut paths: Vec<String> = report.lost_paths.into_iter().map(|row| row.path).collect();
    paths.sort();
    (String::from_utf8(out).expect("text"), paths)
}

#[test]
fn usage_and_settings_that_another_log_has_no_place_for_are_lost_aloud() {
    let claude = r#"{"type":"assistant","uuid":"u","parentUuid":null,"sessionId":"s","cwd":"/","version":"2","message":{"role":"assistant","id":"m","model":"claude","usage":{"input_tokens":1,"output_tokens":2},"content":"hi"}}"#;
    let (_, paths) = lost("claude-code", "codex", claude);
    let usage = ["/message/id", "/message/usage/input_tokens", "/message/usage/output_tokens"];
    for path in usage.into_iter().chain(["/version", "/message/model", "/uuid"]) {
        assert!(paths.iter().any(|known| known == path), "{path} in {paths:?}");
    }
    let codex = r#"{"timestamp":"2026-02-01T00:00:00Z","type":"session_meta","payload":{"id":"s","cwd":"/","cli_version":"1","git":{"commit_hash":"c"}}}
{"timestamp":"2026-02-01T00:00:00Z","type":"turn_context","payload":{"model":"gpt"}}
{"timestamp":"2026-02-01T00:00:00Z","type":"event_msg","payload":{"type":"user_message","message":"hi"}}
{"timestamp":"2026-02-01T00:00:00Z","type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{"input_tokens":3},"last_token_usage":{"input_tokens":3,"output_tokens":4}}}}
"#;
    let (_, paths) = lost("codex", "claude-code", codex);
    // Without a response, no line can name the model.
    let usage =
        ["input_tokens", "output_tokens"].map(|name| format!("/payload/info/last_token_usage/{name}"));
    let session = ["/payload/git/commit_hash", "/payload/cli_version", "session/model"].map(str::to_owned);
    for path in usage.into_iter().chain(session) {
        assert!(paths.contains(&path), "{path} in {paths:?}");
    }
}

#[test]
fn what_was_damaged_in_one_log_does_not_damage_another() {
    let log = line(r#"{"type":"text","text":"x"}"#) + "{\"torn\n";
    let (out, paths) = lost("claude-code", "codex", &log);
    assert!(out.lines().all(|line| serde_json::from_str::<Value>(line).is_ok()), "{out}");
    assert!(paths.iter().any(|path| path == "(unparsed)"), "{paths:?}");
}

#[test]
fn a_time_that_is_none_stays_where_it_is_and_the_record_is_sound() {
    let log = r#"{"type":"user","uuid":"u","sessionId":"s","timestamp":"yesterday","message":{"role":"user","content":"x"}}"#;
    let log = log.to_owned() + "\n";
    assert_eq!(entry(&log).get("timestamp"), None);
    let record = convert_log("claude-code", "record", log.as_bytes()).0;
    let (_, report) = convert_log("record", "codex", &record);
    assert_eq!(report.problems, []);
}

#[test]
fn what_a_person_typed_while_the_agent_was_busy_is_the_users() {
    for prompt in [r#""and the bell""#, r#"[{"type":"text","text":"and the bell"}]"#] {
        let log = format!(
            r#"{{"type":"attachment","uuid":"u","parentUuid":null,"sessionId":"s","attachment":{{"type":"queued_command","prompt":{prompt},"commandMode":"prompt","origin":{{"kind":"human"}}}}}}"#
        ) + "\n";
        let entry = entry(&log);
        assert_eq!((&entry["type"], &entry["content"]), (&"user".into(), &"and the bell".into()));
    }
    let own = r#"{"type":"attachment","uuid":"u","sessionId":"s","attachment":{"type":"queued_command","prompt":"x","origin":{"kind":"task"}}}"#;
    let entry = entry(&(own.to_owned() + "\n"));
    assert_eq!((&entry["content"], &entry["origin"]), (&"x".into(), &"harness".into()));
}

/// The lines made from a Codex rollout with these items.
fn carried(items: &[&str]) -> Vec<Value> {
    let line = |item: &&str| {
        format!(r#"{{"timestamp":"2026-02-01T00:00:00Z","type":"response_item","payload":{item}}}"#) + "\n"
    };
    let (out, _) = convert_log("codex", "claude-code", items.iter().map(line).collect::<String>().as_bytes());
    let out = String::from_utf8(out).expect("text");
    out.lines().map(|line| serde_json::from_str(line).expect("a line")).collect()
}

#[test]
fn every_part_of_another_agents_result_arrives() {
    let call = r#"{"type":"function_call","name":"f","call_id":"c","arguments":"{\"a\":1}"}"#;
    let output = r#"{"type":"function_call_output","call_id":"c","output":[{"type":"input_text","text":"one"},{"type":"input_image","image_url":"data:image/png;base64,AA=="},{"type":"input_text","text":"two"}]}"#;
    let lines = carried(&[call, output]);
    let content = &lines[1]["message"]["content"][0]["content"];
    assert_eq!((&content[0]["text"], &content[2]["text"]), (&"one".into(), &"two".into()));
    assert_eq!(content[1]["source"]["data"], "AA==");
    assert_eq!(content[1]["source"]["media_type"], "image/png");
}

#[test]
fn a_line_of_the_assistant_has_all_that_claude_code_waits_for() {
    let lines =
        carried(&[r#"{"type":"message","role":"assistant","content":[{"type":"output_text","text":"t"}]}"#]);
    for name in ["id", "type", "model", "role"] {
        assert!(lines[0]["message"][name].is_string(), "{name} in {}", lines[0]);
    }
    assert!(lines[0]["version"].is_string() && lines[0]["timestamp"].is_string());
}

#[test]
fn reasoning_that_nobody_signed_leaves_no_block() {
    let hidden = r#"{"type":"reasoning","summary":[],"encrypted_content":"xyz"}"#;
    assert_eq!(carried(&[hidden]), [] as [Value; 0]);
    let shown = r#"{"type":"reasoning","summary":[{"type":"summary_text","text":"a"},{"type":"summary_text","text":"b"}],"encrypted_content":"xyz"}"#;
    assert_eq!(carried(&[shown]), [] as [Value; 0], "the API refuses thinking that nobody signed");
}

#[test]
fn calls_without_ids_get_one_that_their_results_share() {
    let lines = carried(&[
        r#"{"type":"function_call","name":"f","arguments":"{}"}"#,
        r#"{"type":"function_call_output","output":"done"}"#,
    ]);
    let id = &lines[0]["message"]["content"][0]["id"];
    assert!(id.is_string(), "{}", lines[0]);
    assert_eq!(lines[1]["message"]["content"][0]["tool_use_id"], *id);
}

#[test]
fn no_line_hangs_on_one_that_was_not_written() {
    let event = |id: &str, item: &str| {
        format!(
            r#"{{"event_id":"{id}","sequence":1,"time":"2026-02-01T00:00:00Z","session_id":"s","native_session_id":"s","synthetic":false,"source":"agent","type":"item.completed","data":{{"item":{item}}},"raw":null}}"#
        ) + "\n"
    };
    let log = event(
        "e1",
        r#"{"item_id":"itm_1","native_item_id":"n1","parent_id":null,"kind":"status","role":"system","content":[{"type":"status","label":"x"}],"status":"completed"}"#,
    ) + &event(
        "e2",
        r#"{"item_id":"itm_2","native_item_id":"n2","parent_id":"itm_1","kind":"message","role":"user","content":[{"type":"text","text":"hi"}],"status":"completed"}"#,
    );
    let named = |name| Dialect::named(name).expect("registered");
    let (from, to) = ((named("universal"), Role::Live), (named("claude-code"), Role::Log));
    let mut out = Vec::new();
    let report =
        Pipe::new(from, to, &Options::default()).expect("both").finish_with(log.as_bytes(), &mut out);
    let line: Value = serde_json::from_slice(&out).expect("one line");
    assert_eq!(line["parentUuid"], Value::Null, "the notice has no line");
    assert!(report.lost_paths.iter().any(|row| row.field == Some(Field::ItemParent)), "{report:?}");
}

#[test]
fn what_a_block_has_under_another_blocks_name_stays_where_it_is() {
    for block in [
        r#"{"type":"thinking","thinking":"W","input":"V"}"#,
        r#"{"type":"thinking","thinking":"W","signature":"S","data":"D"}"#,
        r#"{"type":"redacted_thinking","data":"D","input":{"a":1}}"#,
    ] {
        entry(&line(block));
    }
}

/// A record of one entry, with a kept line.
fn record(entry: &str, data: &str) -> String {
    format!(
        r#"{{"version":"3.0.0","id":"s","session":{{"session-id":"s","agent-meta":{{"model-id":"m","model-provider":"p"}},"entries":[{{{entry},"vendor-ext":{{"vendor":"claude-code","data":{data}}}}}]}}}}"#
    )
}

#[test]
fn what_an_entry_says_and_its_kept_line_does_not_is_lost() {
    let kept = r#"{"type":"user","uuid":"~","sessionId":"s","message":{"role":"user","content":"old"}}"#;
    for (entry, data, fields) in [
        (r#""type":"user","id":"u","content":"edited""#, kept, vec![Field::MessageText]),
        (r#""type":"user","id":"u","content":"x""#, "null", vec![Field::ItemId, Field::MessageText]),
        (r#""type":"user","id":"u","model-id":"m2""#, kept, vec![Field::ItemModel]),
    ] {
        let (_, report) = convert_log("record", "claude-code", record(entry, data).as_bytes());
        let mut lost: Vec<_> = report.lost_paths.iter().filter_map(|row| row.field).collect();
        lost.sort_unstable();
        assert_eq!(lost, fields, "{entry}: {:?}", report.lost_paths);
    }
}

#[test]
fn messages_within_an_entry_arrive() {
    let record = r#"{"version":"3.0.0","id":"s","session":{"session-id":"s","agent-meta":{"model-id":"m","model-provider":"p"},"entries":[{"type":"assistant","content":"A","children":[{"type":"user","content":"INNER","id":"i"},{"type":"tool-call","name":"n","input":{}}]}]}}"#;
    let (out, report) = convert_log("record", "claude-code", record.as_bytes());
    assert!(String::from_utf8(out).expect("text").contains("INNER"));
    assert!(report.lost_paths.iter().any(|row| row.field == Some(Field::ItemAuthor)), "{report:?}");
}

#[test]
fn a_fact_that_every_line_repeats_is_lost_every_time() {
    let line = r#"{"type":"user","uuid":"u","sessionId":"s","version":"2.1.1","message":{"role":"user","content":"hi"}}"#;
    let log = format!("{line}\n{line}\n{line}\n");
    let (_, report) = convert_log("claude-code", "codex", log.as_bytes());
    let version = report.lost_paths.iter().find(|row| row.path == "/version");
    assert_eq!(version.map(|row| row.count), Some(3), "{report:?}");
}

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../fixtures/anthropic/claude_code");

/// A fixture log, and its record after asserting that the way back loses nothing.
fn recorded(name: &str) -> (String, Value) {
    let log = std::fs::read_to_string(format!("{FIXTURES}/{name}")).expect("a fixture");
    let record = record_of(&log);
    (log, record)
}

fn record_of(log: &str) -> Value {
    let (record, report) = convert_log("claude-code", "record", log.as_bytes());
    assert_eq!((report.lost, &report.problems[..]), (0, &[][..]), "{:?}", report.lost_paths);
    let (back, report) = convert_log("record", "claude-code", &record);
    assert_eq!(String::from_utf8(back).expect("text"), log);
    assert_eq!((report.lost, &report.problems[..]), (0, &[][..]), "{:?}", report.lost_paths);
    serde_json::from_slice(&record).expect("a document")
}

fn entries(record: &Value) -> &Vec<Value> {
    record["session"]["entries"].as_array().expect("entries")
}

/// The entries with that event type.
fn events<'r>(record: &'r Value, kind: &str) -> Vec<&'r Value> {
    entries(record).iter().filter(|entry| entry["event-type"] == kind).collect()
}

/// The sum of one count over all entries.
fn used(record: &Value, count: &str) -> u64 {
    entries(record).iter().filter_map(|entry| entry["token-usage"][count].as_u64()).sum()
}

/// The only child of the entry for the result of that call.
fn result_of<'r>(record: &'r Value, call: &str) -> &'r Value {
    let children = entries(record).iter().filter_map(|entry| entry["children"].get(0));
    children
        .into_iter()
        .find(|child| child["type"] == "tool-result" && child["call-id"] == call)
        .expect("a result")
}

#[test]
fn what_a_subagent_reports_on_its_way_is_its_message() {
    let (_, record) = recorded("2026-02/agents.jsonl");
    let said: Vec<&Value> = entries(&record).iter().filter(|entry| entry["agent"] == "a5f01c2").collect();
    assert!(said.iter().all(|entry| entry["parent-call"] == "toolu_p01"), "{said:?}");
    let shown: Vec<&str> = said
        .iter()
        .map(|entry| entry["children"][0]["type"].as_str().or(entry["content"].as_str()).unwrap_or_default())
        .collect();
    let report = "There is no `data` folder.";
    assert_eq!(shown, ["how many shops are in data/?", "reasoning", "tool-call", "tool-result", report]);
    assert_eq!(said[0]["origin"], "agent");
    assert_eq!(result_of(&record, "toolu_h01")["exit-code"], 2);
    // Three responses: one of the session, two of the subagent, each over several lines.
    assert_eq!((used(&record, "output"), used(&record, "cached")), (41 + 30 + 12, 3 * 900));
    let result = result_of(&record, "toolu_p01");
    assert_eq!((&result["agent"], &result["duration"]), (&"a5f01c2".into(), &2150.into()));
    for (kind, member) in
        [("hook_progress", "hookName"), ("mcp_progress", "serverName"), ("waiting_for_task", "taskType")]
    {
        assert!(events(&record, kind)[0]["data"]["content"][member].is_string(), "{kind}");
    }
    assert_eq!(events(&record, "later_progress")[0].get("data"), None);
}

#[test]
fn a_sidechain_line_and_the_report_of_it_are_one_message() {
    let (log, record) = recorded("2026-02/session.jsonl");
    assert_eq!(log.matches("Only `index.html` does.").count(), 4);
    let texts = entries(&record).iter().filter(|entry| entry["content"] == "Only `index.html` does.");
    assert_eq!(texts.count(), 1);
    assert_eq!(used(&record, "output"), 57 + 25 + 40 + 12 + 21);
}

#[test]
fn results_say_how_they_ended_and_what_they_changed() {
    let (_, record) = recorded("2026-02/changes.jsonl");
    let file = |call: &str| result_of(&record, call)["files"][0].clone();
    assert_eq!(file("toolu_p02"), serde_json::json!({"path": "/tmp/demo/shop/n.txt", "action": "write"}));
    let diff = "@@ -1,1 +1,1 @@\n-shops: 0\n+shops: \"none\"\n@@ -8,1 +8,2 @@\n end\n+\ttab\n";
    let patched = serde_json::json!({"path": "/tmp/demo/shop/n.txt", "action": "patch", "diff": diff});
    assert_eq!(file("toolu_p03"), patched);
    assert_eq!(file("toolu_p04")["path"], "/tmp/demo/shop/n.ipynb");
    assert_eq!(result_of(&record, "toolu_p06")["outcome"], "interrupted");
    assert_eq!(result_of(&record, "toolu_p07")["duration"], 1250);
    let refused = &events(&record, "permission-resolved")[0]["data"];
    assert_eq!((&refused["action"], &refused["answer"]), (&"Bash".into(), &"reject".into()));
    let stopped = entries(&record).iter().find(|entry| entry["origin"] == "harness").expect("an interrupt");
    assert_eq!(stopped["outcome"], "interrupted");
}

#[test]
fn who_allowed_and_who_refused_a_call_is_said() {
    let (_, record) = recorded("2026-11/denied.jsonl");
    let answers: Vec<(&Value, &Value, &Value)> = events(&record, "permission-resolved")
        .iter()
        .map(|event| (&event["data"]["action"], &event["data"]["answer"], &event["data"]["by"]))
        .collect();
    let allowed = (&"Write".into(), &"accept".into(), &"user_temporary".into());
    assert_eq!(answers, [allowed, (&"Bash".into(), &"reject".into(), &"user_reject".into())]);
}

#[test]
fn oversight_compactions_and_failures_are_events() {
    let (_, record) = recorded("2026-02/oversight.jsonl");
    let compacted = events(&record, "compacted");
    assert_eq!(
        (&compacted[0]["data"]["before"], &compacted[0]["data"]["after"]),
        (&47000.into(), &26000.into())
    );
    assert_eq!(
        (&compacted[1]["data"]["trigger"], &compacted[1]["data"]["before"]),
        (&"auto".into(), &167_000.into())
    );
    let errors: Vec<&Value> = events(&record, "error").iter().map(|event| &event["data"]).collect();
    let classes: Vec<&Value> = errors.iter().map(|error| &error["class"]).collect();
    assert_eq!(classes, ["overloaded", "other", "rate_limit"]);
    assert_eq!((&errors[0]["request-id"], &errors[0]["retry-after"]), (&"req_over".into(), &512.into()));
    assert_eq!(events(&record, "api_error")[1]["data"]["content"]["retryAttempt"], 2);
    assert_eq!(events(&record, "stop_hook_summary")[0]["data"]["content"]["hookErrors"][0], "check failed");
    assert_eq!(events(&record, "hook_success")[0]["data"]["content"]["exitCode"], 0);
    assert_eq!(events(&record, "later_attachment")[0].get("data"), None);
    let origins: Vec<&Value> = entries(&record)
        .iter()
        .filter(|entry| entry["type"] == "user")
        .map(|entry| &entry["origin"])
        .collect();
    assert_eq!(origins, ["summary", "own", "harness"]);
    // The usage of an advisor counts, that of a synthetic message does not.
    assert_eq!((used(&record, "output"), used(&record, "input")), (70 + 9, 800 + 953));
    assert_eq!(record["session"]["agent-meta"]["model-id"], "claude-opus-4-6");
    let session = &record["session"]["vendor-ext"]["data"];
    assert_eq!(
        (&session["title"], &session["leaf"]),
        (
            &"shops".into(),
            &entries(&record).iter().rev().find(|entry| entry["type"] == "assistant").expect("one")["id"]
        )
    );
}

#[test]
fn what_a_fork_copied_is_marked_and_not_counted_again() {
    let (_, record) = recorded("2026-02/fork.jsonl");
    let copied = |entry: &&Value| entry["copied-from"] == "33333333-4444-4555-8666-777777777777";
    assert_eq!(entries(&record).iter().filter(copied).count(), 2);
    assert_eq!(record["session"]["vendor-ext"]["data"]["parent"], "33333333-4444-4555-8666-777777777777");
    assert_eq!((used(&record, "output"), used(&record, "cache-write-long")), (6, 50));
}

#[test]
fn the_document_beside_a_subagents_log_names_its_call() {
    let read = |name: &str| std::fs::read_to_string(format!("{FIXTURES}/2026-11/{name}")).expect("a fixture");
    let log = read("subagent-child.meta.json").trim_end().to_owned() + "\n" + &read("subagent-child.jsonl");
    let record = record_of(&log);
    let said = entries(&record).iter().filter(|entry| entry["agent"].is_string());
    assert!(said.clone().count() > 3 && said.into_iter().all(|entry| entry["parent-call"] == "toolu_demo10"));
    assert_eq!(events(&record, "agent-meta")[0]["data"]["content"]["description"], "Count lines");
    assert_eq!(events(&record, "session-updated").len(), 1);
}

/// Lines of every kind, in any order, are restored; two lines that are combined must not hide each other.
#[test]
fn shuffled_lines_come_back() {
    let names = [
        "2026-02/agents.jsonl",
        "2026-02/changes.jsonl",
        "2026-02/oversight.jsonl",
        "2026-02/session.jsonl",
        "2026-02/fork.jsonl",
    ];
    let logs: String = names
        .iter()
        .map(|name| std::fs::read_to_string(format!("{FIXTURES}/{name}")).expect("a fixture"))
        .collect();
    let pool: Vec<&str> = logs
        .lines()
        .chain([
            "",
            "{\"torn",
            "7",
            "null",
            "{\"type\":\"progress\",\"data\":{\"message\":{\"type\":\"user\"}}}",
        ])
        .collect();
    let mut state = 7_u64;
    for _ in 0..150 {
        let mut log = String::new();
        for _ in 0..12 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            log.push_str(pool[(state >> 33) as usize % pool.len()]);
            log.push('\n');
        }
        let (record, report) = convert_log("claude-code", "record", log.as_bytes());
        assert_eq!(report.lost, 0, "{log}");
        let (back, report) = convert_log("record", "claude-code", &record);
        assert_eq!(String::from_utf8(back).expect("text"), log);
        assert_eq!(report.lost, 0, "{:?} of {log}", report.lost_paths);
    }
}

const README: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../src/dialects/anthropic/claude_code/README.md");

/// The table rows below that heading of the dialect's README, cell by cell.
fn rows(heading: &str) -> Vec<Vec<String>> {
    let readme = std::fs::read_to_string(README).expect("a file");
    let (_, rest) = readme.split_once(heading).expect("the heading");
    let table = rest.lines().skip_while(|line| !line.starts_with("|--")).skip(1);
    let cells = |line: &str| line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect();
    table.take_while(|line| line.starts_with('|')).map(cells).collect()
}

/// The texts between backticks.
fn words(cell: &str) -> Vec<&str> {
    cell.split('`').skip(1).step_by(2).collect()
}

#[test]
fn the_table_of_notices_with_data_is_true() {
    let mut tried = 0;
    for row in rows("\nNotices with data:") {
        for word in words(&row[1]).into_iter().filter(|word| *word != "hook_") {
            let line = match words(&row[0]).first() {
                Some(&"progress") => {
                    format!(r#"{{"type":"progress","sessionId":"s","data":{{"type":"{word}","x":1}}}}"#)
                }
                Some(&"attachment") => format!(
                    r#"{{"type":"attachment","sessionId":"s","attachment":{{"type":"{word}","x":1}}}}"#
                ),
                Some(&"system") => format!(r#"{{"type":"system","subtype":"{word}","sessionId":"s","x":1}}"#),
                _ => format!(r#"{{"type":"{word}","sessionId":"s","x":1,"operation":"enqueue"}}"#),
            };
            let entry = entry(&(line + "\n"));
            assert_eq!(entry["event-type"], word);
            let data = &entry["data"]["content"];
            assert!(data["x"] == 1 || data["operation"] == "enqueue", "{word}: {entry}");
            tried += 1;
        }
    }
    assert!(tried > 70, "{tried}");
}

#[test]
fn the_table_of_the_published_mapping_is_true() {
    let lines = [
        (
            "user",
            r#"{"type":"user","uuid":"u1","parentUuid":"u0","sessionId":"s","timestamp":"2026-02-01T00:00:00Z","message":{"role":"user","content":"hi"}}"#,
        ),
        (
            "assistant",
            r#"{"type":"assistant","uuid":"u2","parentUuid":"u1","sessionId":"s","requestId":"r1","message":{"id":"m1","role":"assistant","model":"claude","stop_reason":"tool_use","usage":{"input_tokens":1,"output_tokens":2,"cache_read_input_tokens":3},"content":[{"type":"text","text":"So."},{"type":"thinking","thinking":"Hm.","signature":"c2ln"},{"type":"tool_use","id":"t1","name":"Grep","input":{"pattern":"x"}}]}}"#,
        ),
        (
            "result",
            r#"{"type":"user","uuid":"u3","parentUuid":"u2","sessionId":"s","toolUseResult":{"durationMs":12},"message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"none","is_error":true}]}}"#,
        ),
        (
            "queue",
            r#"{"type":"queue-operation","operation":"dequeue","timestamp":"2026-02-01T00:00:00Z","sessionId":"s"}"#,
        ),
        (
            "system",
            r#"{"type":"system","subtype":"informational","content":"x","uuid":"u4","parentUuid":"u3","sessionId":"s"}"#,
        ),
    ];
    let at = |value: &Value, path: &str| value.pointer(&format!("/{}", path.replace('.', "/"))).cloned();
    let table = rows("## Against the mapping");
    assert_eq!(table.len(), 20);
    for row in table {
        let (native, ours) = (words(&row[0])[0], words(&row[1])[0]);
        let (kind, path) = native.split_once('/').expect("a line and a path");
        let (_, line) = lines.iter().find(|(known, _)| *known == kind).expect("a line");
        let (native, entry): (Value, Value) =
            (serde_json::from_str(line).expect("a line"), entry(&format!("{line}\n")));
        assert!(at(&native, path).is_some(), "{path}");
        assert_eq!(at(&entry, ours), at(&native, path), "{ours} of {entry}");
    }
}
