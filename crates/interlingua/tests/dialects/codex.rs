//! Codex rollouts: items, restored logs, and sessions of other agents written as rollouts.
#![expect(clippy::expect_used, reason = "tests fail by panicking")]

use interlingua::dialects::{Dialect, Options, Role};
use interlingua::pipe::Pipe;
use serde_json::Value;

use crate::support::{convert_log_text, convert_pieces, record};

/// The entries of a rollout's record, after asserting that the record restores the rollout.
fn entries(rollout: &str) -> Vec<Value> {
    let (record, report) = convert_log_text("codex", "record", rollout);
    assert_eq!((report.lost, report.verbatim), (0, 0), "{:?}", report.lost_paths);
    let (back, report) = convert_log_text("record", "codex", &record);
    assert_eq!(back, rollout, "from {record}");
    assert_eq!((report.lost, &report.problems[..]), (0, &[][..]), "{:?} from {record}", report.lost_paths);
    let record: Value = serde_json::from_str(&record).expect("a document");
    record["session"]["entries"].as_array().expect("entries").clone()
}

/// Lines of (type, payload), with times one second apart.
fn rollout(lines: &[(&str, &str)]) -> String {
    let line = |(second, (kind, payload)): (usize, &(&str, &str))| {
        let time = format!("2026-02-01T00:00:{second:02}.000Z");
        format!("{{\"timestamp\":\"{time}\",\"type\":\"{kind}\",\"payload\":{payload}}}\n")
    };
    lines.iter().enumerate().map(line).collect::<Vec<_>>().concat()
}

/// The type of each entry.
fn types(entries: &[Value]) -> Vec<&str> {
    entries.iter().filter_map(|entry| entry["event-type"].as_str().or(entry["type"].as_str())).collect()
}

const USER: (&str, &str) =
    ("response_item", r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"hi"}]}"#);
const USER_ECHO: (&str, &str) = ("event_msg", r#"{"type":"user_message","message":"hi","images":[]}"#);
const USER_DONE: (&str, &str) = (
    "event_msg",
    r#"{"type":"item_completed","item":{"type":"UserMessage","id":"u","content":[{"type":"text","text":"hi"}]}}"#,
);
const SAID: (&str, &str) = (
    "response_item",
    r#"{"type":"message","id":"m1","status":"completed","role":"assistant","content":[{"type":"output_text","text":"ho","annotations":[]}]}"#,
);
const SAID_ECHO: (&str, &str) = ("event_msg", r#"{"type":"agent_message","message":"ho"}"#);
const SAID_DONE: (&str, &str) = (
    "event_msg",
    r#"{"type":"item_completed","item":{"type":"AgentMessage","id":"m1","content":[{"type":"Text","text":"ho"}]}}"#,
);
const THOUGHT: (&str, &str) = (
    "response_item",
    r#"{"type":"reasoning","summary":[{"type":"summary_text","text":"a"},{"type":"summary_text","text":"b"}],"content":null,"encrypted_content":"xyz"}"#,
);
const THOUGHT_A: (&str, &str) = ("event_msg", r#"{"type":"agent_reasoning","text":"a"}"#);
const THOUGHT_B: (&str, &str) = ("event_msg", r#"{"type":"agent_reasoning","text":"b"}"#);
const THOUGHT_DONE: (&str, &str) = (
    "event_msg",
    r#"{"type":"item_completed","item":{"type":"Reasoning","id":"r","summary_text":["a","b"],"raw_content":[]}}"#,
);
const OTHER: (&str, &str) = ("event_msg", r#"{"type":"task_started","model_context_window":null}"#);

#[test]
fn an_echo_beside_its_item_is_the_same_entry_in_either_order() {
    for pair in [[USER, USER_ECHO], [USER_ECHO, USER], [USER, USER_DONE], [USER_DONE, USER]] {
        let entries = entries(&rollout(&pair));
        assert_eq!(types(&entries), ["user"]);
        assert_eq!(entries[0].to_string().matches("\"hi\"").count(), 1);
    }
    for pair in [[SAID, SAID_ECHO], [SAID_ECHO, SAID], [SAID, SAID_DONE], [SAID_DONE, SAID]] {
        let entries = entries(&rollout(&pair));
        assert_eq!(types(&entries), ["assistant"]);
        assert_eq!(entries[0].to_string().matches("\"ho\"").count(), 1);
    }
}

#[test]
fn an_item_carries_its_id_and_status_when_the_echo_came_first() {
    let entries = entries(&rollout(&[SAID_DONE, SAID]));
    assert_eq!((&entries[0]["id"], &entries[0]["status"]), (&"m1".into(), &"completed".into()));
}

#[test]
fn an_echo_with_a_picture_before_its_text_gets_its_own_text_back() {
    let sent = r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"<image name=[Image #1]>"},{"type":"input_image","image_url":"data:image/png;base64,AAAA"},{"type":"input_text","text":"</image>"},{"type":"input_text","text":"look"}]}"#;
    let echo = r#"{"type":"item_completed","item":{"type":"UserMessage","id":"u","content":[{"type":"local_image","path":"/a.png"},{"type":"text","text":"look"}]}}"#;
    entries(&rollout(&[("response_item", sent), ("event_msg", echo)]));
    entries(&rollout(&[("event_msg", echo), ("response_item", sent)]));
}

#[test]
fn reasoning_shown_part_by_part_is_one_entry_with_its_encrypted_form() {
    for lines in [&[THOUGHT_A, THOUGHT_B, THOUGHT][..], &[THOUGHT_DONE, THOUGHT], &[THOUGHT_A, THOUGHT]] {
        let entries = entries(&rollout(lines));
        assert_eq!(types(&entries), ["reasoning"]);
        let parts = entries[0]["content"].as_array().expect("parts");
        assert_eq!(parts.iter().map(|part| &part["text"]).collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(entries[0]["encrypted"], "xyz");
    }
}

#[test]
fn an_echo_further_away_is_a_notice() {
    assert_eq!(
        types(&entries(&rollout(&[USER, OTHER, USER_ECHO]))),
        ["user", "task_started", "user_message"]
    );
    assert_eq!(
        types(&entries(&rollout(&[SAID_ECHO, OTHER, SAID]))),
        ["assistant", "task_started", "message"]
    );
    let apart = rollout(&[SAID_ECHO, SAID]).replacen('\n', "\n\n", 1);
    assert_eq!(types(&entries(&apart)), ["assistant", "unparsed", "message"]);
}

#[test]
fn an_echo_of_something_else_or_of_nothing_is_a_message_of_its_own() {
    assert_eq!(types(&entries(&rollout(&[SAID_ECHO]))), ["assistant"]);
    assert_eq!(types(&entries(&rollout(&[SAID_ECHO, OTHER]))), ["assistant", "task_started"]);
    assert_eq!(types(&entries(&rollout(&[SAID_ECHO, USER]))), ["assistant", "user"]);
    // The second echo has no item left to pair with.
    assert_eq!(types(&entries(&rollout(&[USER, USER_ECHO, USER_ECHO]))), ["user", "user"]);
    assert_eq!(types(&entries(&rollout(&[USER, USER]))), ["user", "user"]);
    // Only reasoning is echoed part by part.
    assert_eq!(types(&entries(&rollout(&[SAID_ECHO, SAID_ECHO]))), ["assistant", "assistant"]);
    assert_eq!(types(&entries(&rollout(&[THOUGHT_A, THOUGHT_B]))), ["reasoning"]);
    assert_eq!(types(&entries(&rollout(&[THOUGHT_DONE, THOUGHT_B]))), ["reasoning", "reasoning"]);
    assert_eq!(
        types(&entries(&rollout(&[THOUGHT_A, OTHER, THOUGHT_B]))),
        ["reasoning", "task_started", "reasoning"]
    );
}

#[test]
fn a_string_is_content_only_where_codex_writes_one() {
    let said = |kind, payload| entries(&rollout(&[(kind, payload)]))[0]["content"].clone();
    assert_eq!(said("response_item", r#"{"type":"message","role":"user","content":"hi"}"#), "hi");
    assert_eq!(said("event_msg", r#"{"type":"agent_message","message":"hi"}"#), "hi");
    for (kind, payload) in [
        ("response_item", r#"{"type":"reasoning","summary":"hi"}"#),
        ("response_item", r#"{"type":"reasoning","summary":[],"content":"hi"}"#),
        ("event_msg", r#"{"type":"item_completed","item":{"type":"AgentMessage","id":"m","content":"hi"}}"#),
        (
            "event_msg",
            r#"{"type":"item_completed","item":{"type":"Reasoning","id":"r","summary_text":"hi"}}"#,
        ),
    ] {
        assert_eq!(said(kind, payload), Value::Null, "{payload}");
    }
}

#[test]
fn any_order_of_lines_comes_back() {
    let pool = [
        USER,
        USER_ECHO,
        USER_DONE,
        SAID,
        SAID_ECHO,
        SAID_DONE,
        THOUGHT,
        THOUGHT_A,
        THOUGHT_B,
        THOUGHT_DONE,
        OTHER,
        ("event_msg", r#"{"type":"agent_reasoning_raw_content","text":"a"}"#),
        (
            "response_item",
            r#"{"type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"a"}]}"#,
        ),
        (
            "response_item",
            r#"{"type":"message","role":"user","content":[{"type":"input_image","image_url":"data:image/png;base64,AA=="},{"type":"input_text","text":"h"},{"type":"x"},{"type":"input_text","text":"i"}]}"#,
        ),
        ("response_item", r#"{"type":"message","role":"user","content":"hi"}"#),
        (
            "response_item",
            r#"{"type":"message","role":"assistant","content":[{"type":"refusal","refusal":"no"}]}"#,
        ),
        (
            "event_msg",
            r#"{"type":"item_completed","item":{"type":"UserMessage","content":[{"type":"image"},{"type":"text","text":"h"},{"type":"text","text":"i"}]}}"#,
        ),
        ("event_msg", r#"{"type":"item_completed","item":{"type":"UserMessage","content":[]}}"#),
        ("event_msg", r#"{"type":"user_message","message":"~"}"#),
        ("response_item", r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"~"}]}"#),
        ("event_msg", r#"{"type":"user_message","message":""}"#),
        ("event_msg", r#"{"type":"agent_message","message":7}"#),
        ("response_item", "[]"),
    ];
    let mut seed = 1u64;
    for _ in 0..3000 {
        let mut lines = Vec::new();
        for _ in 0..6 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            lines.push(pool[(seed >> 33) as usize % pool.len()]);
        }
        let mut text = rollout(&lines);
        match seed >> 61 {
            0 => text = text.replace("T00:00:01", "T00:00:00").replace("T00:00:03", "T00:00:02"),
            1 => text = text.replacen('\n', "\n\n", 2),
            2 => text.truncate(text.len() - 1),
            _ => {}
        }
        entries(&text);
    }
}

#[test]
fn arguments_are_a_value_and_come_back_in_their_own_spelling() {
    let call = |arguments: &str| {
        let payload =
            format!(r#"{{"type":"function_call","name":"f","arguments":{arguments},"call_id":"c"}}"#);
        let mut entries = entries(&rollout(&[("response_item", &payload)]));
        (entries[0]["input"].take(), entries[0]["vendor-ext"]["data"]["payload"]["arguments"].take())
    };
    let value: Value = serde_json::from_str(r#"{"cmd":"ls \"a\"","n":1.0}"#).expect("a document");
    let hole = Value::from("~");
    assert_eq!(call(r#""{\"cmd\":\"ls \\\"a\\\"\",\"n\":1.0}""#), (value.clone(), hole.clone()));
    assert_eq!(call(r#""{\n \"cmd\":\"ls \\\"a\\\"\",\"n\":1.0}""#), (value.clone(), hole.clone()));
    // `\u0022` is a quote too, but not in our spelling.
    assert_eq!(call(r#""{\u0022cmd\":\"ls \\\"a\\\"\",\"n\":1.0}""#).0, value);
    for text in ["ls -l", "{", "\\\"text\\\"", "[1]", "null", ""] {
        let (input, data) = call(&format!("\"{text}\""));
        assert_eq!((input.is_string(), data), (true, hole.clone()), "{text}");
    }
    assert_eq!(call(r#"{"a":1}"#).0["a"], 1);
    call("null");
}

#[test]
fn arguments_that_decoding_would_change_stay_text() {
    let call = r#"{"type":"function_call","name":"f","arguments":"{\"a\":\"\ud800\"}","call_id":"c"}"#;
    let rollout = rollout(&[("response_item", call)]);
    let (record, _) = convert_log_text("codex", "record", &rollout);
    assert!(record.contains(r#""input":"{\"a\":\"\ud800\"}""#), "{record}");
    assert_eq!(convert_log_text("record", "codex", &record).0, rollout);
}

#[test]
fn outputs_of_any_shape_come_back() {
    for output in [
        r#""text""#,
        r#"[{"type":"input_text","text":"a"},{"type":"input_image","image_url":"https://e.org/i.png","detail":"low"}]"#,
        r#"[{"type":"input_image","image_url":"data:image/png;base64,AA=="}]"#,
        r#"[{"type":"text","text":"a"},{"type":"json","json":1}]"#,
        r#"{"content":"no","success":false}"#,
        "[]",
        "null",
        "7",
        r#""~""#,
    ] {
        let payload = format!(r#"{{"type":"function_call_output","call_id":"c","output":{output}}}"#);
        let entries = entries(&rollout(&[("response_item", &payload)]));
        assert_eq!(entries[0]["type"], "tool-result");
        assert_eq!(entries[0].get("is-error").is_some(), output.contains("success"));
    }
}

#[test]
fn calls_without_a_name_are_named_after_their_type() {
    let lines = [
        (
            "response_item",
            r#"{"type":"web_search_call","status":"completed","action":{"type":"search","query":"q"}}"#,
        ),
        (
            "response_item",
            r#"{"type":"local_shell_call","call_id":"c","action":{"type":"exec","command":["ls"]}}"#,
        ),
        ("response_item", r#"{"type":"tool_search_call","call_id":"d","arguments":{"query":"q"}}"#),
        ("response_item", r#"{"type":"tool_search_output","call_id":"d","tools":[{"name":"t"}]}"#),
        (
            "response_item",
            r#"{"type":"custom_tool_call","call_id":"e","name":"apply_patch","input":"*** Begin"}"#,
        ),
    ];
    let entries = entries(&rollout(&lines));
    let names: Vec<&str> = entries.iter().map(|entry| entry["name"].as_str().unwrap_or("-")).collect();
    assert_eq!(names, ["web_search", "local_shell", "tool_search", "-", "apply_patch"]);
    assert_eq!(entries[4]["input"], "*** Begin");
}

#[test]
fn calls_inside_a_message_are_its_children() {
    let lines = [(
        "response_item",
        r#"{"type":"message","role":"assistant","content":[{"type":"text","text":"t"},{"type":"function_call","name":"shell","arguments":{"command":["ls"]}},{"type":"function_result","call_id":"c","result":"none"}]}"#,
    )];
    let entries = entries(&rollout(&lines));
    assert_eq!(entries[0]["children"][0]["name"], "shell");
    assert_eq!(entries[0]["children"][1]["output"], "none");
}

#[test]
fn usage_is_what_each_call_added_even_in_a_fork() {
    let count = |total: u32| {
        format!(
            r#"{{"type":"token_count","info":{{"total_token_usage":{{"total_tokens":{total}}},"last_token_usage":{{"input_tokens":10,"cached_input_tokens":1,"output_tokens":2,"reasoning_output_tokens":1}}}}}}"#
        )
    };
    let (first, second) = (count(1012), count(1024));
    let lines = [("event_msg", &*first), ("event_msg", &*first), ("event_msg", &*second)];
    let entries = entries(&rollout(&lines));
    let total: u64 = entries.iter().filter_map(|entry| entry["token-usage"]["total"].as_u64()).sum();
    assert_eq!(total, 24);
}

#[test]
fn the_head_of_a_parent_thread_does_not_rename_the_session() {
    let lines = [
        ("session_meta", r#"{"id":"child","forked_from_id":"parent","cwd":"/a","cli_version":"1"}"#),
        ("session_meta", r#"{"id":"parent","cwd":"/b","cli_version":"0"}"#),
    ];
    let (record, _) = convert_log_text("codex", "record", &rollout(&lines));
    let record: Value = serde_json::from_str(&record).expect("a document");
    assert_eq!(record["session"]["session-id"], "child");
    assert_eq!(record["session"]["environment"]["working-dir"], "/a");
    assert_eq!(record["session"]["vendor-ext"]["data"]["parent"], "parent");
}

#[test]
fn fixtures_are_recognised_and_come_back_in_any_pieces() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../fixtures/openai/codex");
    let codex = (Dialect::named("codex").expect("registered"), Role::Log);
    let mut seen = 0;
    for month in ["2025-09", "2026-02", "2026-04", "2026-11"] {
        for file in std::fs::read_dir(format!("{folder}/{month}")).expect("fixtures") {
            let path = file.expect("an entry").path();
            if path.is_dir() {
                continue;
            }
            let text = std::fs::read_to_string(path).expect("a fixture");
            entries(&text);
            let guess = interlingua::sniff::sniff(text.as_bytes(), true).expect("a guess");
            assert_eq!(guess.dialect.name, "codex");
            let whole = convert_log_text("codex", "record", &text).0;
            for chunk in [1, 13] {
                let pieces = text.as_bytes().chunks(chunk);
                assert_eq!(convert_pieces(codex, record(), pieces).bytes, whole.as_bytes());
            }
            seen += 1;
        }
    }
    assert!(seen > 5);
}

#[test]
fn a_claude_session_becomes_a_rollout_that_codex_resumes() {
    let log = concat!(
        r#"{"type":"user","uuid":"u1","parentUuid":null,"sessionId":"00000000-0000-4000-8000-000000000001","cwd":"/w","timestamp":"2026-01-01T00:00:00.000Z","message":{"role":"user","content":"fix it"}}"#,
        "\n",
        r#"{"type":"assistant","uuid":"u2","timestamp":"2026-01-01T00:00:01.000Z","message":{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"text","text":"I look"},{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"ls \"x\""}}]}}"#,
        "\n",
        r#"{"type":"user","uuid":"u3","timestamp":"2026-01-01T00:00:02.000Z","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","is_error":true,"content":[{"type":"text","text":"no"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AA=="}}]}]}}"#,
        "\n",
    );
    let (rollout, report) = convert_log_text("claude-code", "codex", log);
    let lines: Vec<Value> = rollout.lines().map(|line| serde_json::from_str(line).expect("a line")).collect();
    let words = lines.iter().filter_map(|line| line["payload"]["type"].as_str().or(line["type"].as_str()));
    assert_eq!(
        words.collect::<Vec<_>>(),
        [
            "session_meta",
            "message",
            "user_message",
            "reasoning",
            "agent_message",
            "message",
            "function_call",
            "function_call_output"
        ]
    );
    for name in ["id", "timestamp", "cwd", "originator", "cli_version"] {
        assert!(lines[0]["payload"][name].is_string(), "{name}");
    }
    assert!(lines.iter().all(|line| line["timestamp"].is_string()));
    assert_eq!(lines[3]["payload"]["summary"][0]["text"], "hm");
    assert_eq!(lines[6]["payload"]["arguments"], r#"{"command":"ls \"x\""}"#);
    assert_eq!(lines[7]["payload"]["output"][1]["image_url"], "data:image/png;base64,AA==");
    let lost: Vec<&str> = report.lost_paths.iter().map(|row| row.path.as_str()).collect();
    for path in ["/message/content[]/is_error", "/message/content[]/signature", "/uuid", "/parentUuid"] {
        assert!(lost.contains(&path), "{path} in {lost:?}");
    }
    // The rollout reads back as the same conversation.
    let again = entries(&rollout);
    let expected = ["session_meta", "user", "reasoning", "assistant", "tool-call", "tool-result"];
    assert_eq!(types(&again), expected);
}

#[test]
fn a_line_of_another_dialect_is_reported_and_kept() {
    let foreign = r#"{"type":"user","uuid":"u","parentUuid":null,"sessionId":"s","message":{"role":"user","content":"x"}}"#;
    let old = r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"x"}]}"#;
    let log = rollout(&[USER]) + old + "\n" + foreign + "\n";
    let (record, report) = convert_log_text("codex", "record", &log);
    let found: Vec<_> =
        report.problems.iter().map(|found| (found.code.name(), found.place.frame.number)).collect();
    assert_eq!(found, [("unknown-shape", 3)]);
    assert_eq!(report.lost, 0);
    assert_eq!(convert_log_text("record", "codex", &record).0, log);
}

#[test]
fn echoes_with_a_time_that_is_none_come_back() {
    let log = rollout(&[SAID_ECHO, SAID]);
    let log = log.replace("2026-02-01T00:00:00.000Z", "now").replace("2026-02-01T00:00:01.000Z", "now");
    assert_eq!(entries(&log).len(), 1);
}

#[test]
fn state_that_only_its_issuer_reads_comes_back_from_wherever_it_stood() {
    let agent = ("response_item", r#"{"type":"agent_message","content":[],"encrypted_content":"x"}"#);
    let odd =
        r#"{"type":"reasoning","summary":[{"type":"function_call","name":"n"}],"encrypted_content":"y"}"#;
    assert_eq!(entries(&rollout(&[agent, ("response_item", odd)]))[1]["encrypted"], "y");
}

#[test]
fn tildes_in_arguments_that_also_stay_are_no_holes() {
    let call = r#"{"type":"function_call","name":"n","call_id":"c","arguments":{"a":["~",{"b":"~~"}]}}"#;
    assert_eq!(entries(&rollout(&[("response_item", call)]))[0]["input"]["a"][0], "~");
}

#[test]
fn a_prompt_with_a_picture_is_told_once() {
    let item = r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"<image name=[Image #1]>"},{"type":"input_image","image_url":"data:image/png;base64,AA=="},{"type":"input_text","text":"</image>"},{"type":"input_text","text":"look"}]}"#;
    let echo = r#"{"type":"user_message","message":"look","images":["data:image/png;base64,AA=="]}"#;
    let entries = entries(&rollout(&[("response_item", item), ("event_msg", echo)]));
    assert_eq!(types(&entries), ["user"]);
}

#[test]
fn values_under_unusual_names_come_back() {
    for payload in [
        r#"{"type":"function_call_output","call_id":"c","result":"text"}"#,
        r#"{"type":"function_call_output","call_id":"c","tools":"text"}"#,
        r#"{"type":"tool_search_output","call_id":"c","tools":[{"name":"n"}]}"#,
        r#"{"type":"function_result","call_id":"c","result":{"a":[1]}}"#,
    ] {
        entries(&rollout(&[("response_item", payload)]));
    }
    entries(&rollout(&[("event_msg", r#"{"type":"user_message","message":"hi","":"odd"}"#)]));
    entries(&rollout(&[("event_msg", r#"{"type":"agent_reasoning","text":"t","":["odd"]}"#)]));
}

#[test]
fn an_id_that_codex_does_not_take_is_lost_not_only_noted() {
    let record = r#"{"version":"3.0.0","id":"ses_42","session":{"session-id":"ses_42","agent-meta":{"model-id":"m","model-provider":"p"},"entries":[{"type":"user","content":"hi"}]}}"#;
    let (_, report) = convert_log_text("record", "codex", record);
    assert!(report.lost_paths.iter().any(|row| row.path == "session/id"), "{report:?}");
}

#[test]
fn what_an_entry_says_and_its_kept_line_does_not_is_lost() {
    let record = r#"{"version":"3.0.0","id":"s","session":{"session-id":"s","agent-meta":{"model-id":"m","model-provider":"p"},"entries":[{"type":"user","content":"edited","vendor-ext":{"vendor":"codex","data":{"timestamp":"2026-02-01T00:00:00Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"old"}]}}}}]}}"#;
    let (out, report) = convert_log_text("record", "codex", record);
    assert!(out.contains("old"));
    assert!(report.lost_paths.iter().any(|row| row.path == "message/text"), "{report:?}");
}

#[test]
fn an_echo_has_the_fate_of_what_it_repeats() {
    let named = |name| Dialect::named(name).expect("registered");
    let (from, to) = ((named("codex"), Role::Log), (named("claude-stream"), Role::Input));
    let log = rollout(&[SAID_ECHO, SAID, USER, USER_ECHO]);
    let mut out = Vec::new();
    let report =
        Pipe::new(from, to, &Options::default()).expect("both").finish_with(log.as_bytes(), &mut out);
    let text = report.lost_paths.iter().find(|row| row.path == "/payload/content[]/text");
    assert_eq!(text.map(|row| row.count), Some(1), "{report:?}");
}

fn fixture(name: &str) -> Vec<Value> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../fixtures/openai/codex");
    entries(&std::fs::read_to_string(format!("{folder}/{name}.jsonl")).expect("a fixture"))
}

/// The results of a fixture, by call id.
fn results(entries: &[Value]) -> std::collections::BTreeMap<&str, &Value> {
    let results = entries.iter().filter(|entry| entry["type"] == "tool-result");
    results.filter_map(|entry| Some((entry["call-id"].as_str()?, entry))).collect()
}

#[test]
fn every_result_says_whether_it_failed_and_what_its_command_returned() {
    let entries = fixture("2026-04/events");
    let results = results(&entries);
    let outcome = |call: &str| {
        let result = &results[call];
        (result["is-error"].as_bool(), result["exit-code"].as_i64(), result["duration"].as_u64())
    };
    // The outcome comes from the event before the result, from the result's text, or from both.
    assert_eq!(outcome("call_a1"), (Some(true), Some(1), Some(41)));
    assert_eq!(outcome("call_a2"), (Some(false), Some(0), Some(1000)));
    assert_eq!(outcome("call_p1"), (Some(false), Some(0), Some(0)));
    assert_eq!(outcome("call_p2"), (Some(false), Some(0), Some(200)));
    assert_eq!(outcome("call_p3"), (Some(true), None, None));
    assert_eq!(outcome("call_m1"), (Some(true), None, Some(9)));
    assert_eq!(outcome("call_d1"), (Some(true), None, Some(2000)));
    assert_eq!(outcome("call_v1"), (None, None, None));
    let new = fixture("2026-11/functions");
    let new = self::results(&new);
    assert_eq!(
        (&new["call_demo11"]["is-error"], &new["call_demo11"]["exit-code"]),
        (&true.into(), &3.into())
    );
    assert_eq!(new["call_demo12"]["is-error"], false);
    assert_eq!(new["call_demo13"]["is-error"], true);
    let script = fixture("2026-11/code-mode");
    let script = self::results(&script);
    assert_eq!(
        (&script["call_demo01"]["is-error"], &script["call_demo01"]["duration"]),
        (&false.into(), &100.into())
    );
    assert_eq!(script["call_demo03"]["is-error"], true);
}

#[test]
fn a_result_says_which_files_its_call_changed() {
    let entries = fixture("2026-04/events");
    let results = results(&entries);
    let files = |call: &str| {
        let files = results[call]["files"].as_array().cloned().unwrap_or_default();
        let file = |file: &Value| {
            let text = |name: &str| file[name].as_str().unwrap_or("-").to_owned();
            [text("path"), text("action"), text("diff")].join(" ")
        };
        files.iter().map(file).collect::<Vec<_>>()
    };
    assert_eq!(
        files("call_p1"),
        [
            "/tmp/demo/repo/heron.txt delete -",
            "/tmp/demo/repo/birds/heron.txt move @@ -1 +1 @@\n-grey\n+white\n",
            "/tmp/demo/repo/birds/list.txt write -",
            "/tmp/demo/repo/old.txt delete -",
        ]
    );
    // No event lists the files, so the arguments of the call name them.
    assert_eq!(files("call_p2"), ["birds/list.txt patch -"]);
    // The call failed and changed nothing.
    assert!(files("call_p3").is_empty());
    // A patch inside a script belongs to the script.
    let script = fixture("2026-11/code-mode");
    let script = self::results(&script);
    assert_eq!(script["call_demo02"]["files"][0]["path"], "/tmp/demo/repo/notes.txt");
    assert!(
        script["call_demo02"]["files"][0]["diff"].as_str().is_some_and(|diff| diff.starts_with("@@ -1,2"))
    );
}

#[test]
fn agents_are_known_by_their_thread_and_the_call_that_started_them() {
    let old = fixture("2026-04/events");
    let agent = |entries: &[Value], kind: &str| {
        let is_it = |entry: &&Value| entry["event-type"] == kind || entry["id"] == kind;
        let entry = entries.iter().find(is_it).expect("an entry");
        [entry["agent"].clone(), entry["parent-call"].clone(), entry["origin"].clone()]
    };
    let thread = Value::from("019d1000-0001-7000-8000-00000000000c");
    for event in ["collab_agent_spawn_end", "collab_close_end"] {
        assert_eq!(agent(&old, event), [thread.clone(), "call_s1".into(), Value::Null], "{event}");
    }
    assert_eq!(agent(&old, "amsg_1"), [thread, "call_s1".into(), "agent".into()]);
    // An agent started elsewhere is identified by the current call.
    let close =
        r#"{"type":"collab_close_end","call_id":"c9","sender_thread_id":"s","receiver_thread_id":"t9"}"#;
    let close = entries(&rollout(&[("event_msg", close)]));
    assert_eq!((&close[0]["agent"], &close[0]["parent-call"]), (&"t9".into(), &"c9".into()));
    let new = fixture("2026-11/subagent");
    let said = new.iter().find(|entry| entry["origin"] == "agent").expect("its report");
    let started = new.iter().find(|entry| entry["event-type"] == "SubAgentActivity").expect("its start");
    assert_eq!((&said["agent"], &said["parent-call"]), (&started["agent"], &"call_demo20".into()));
    assert_eq!(started["data"]["content"]["agent_path"], "/root/counter");
}

#[test]
fn whose_words_a_message_holds_is_told() {
    let origins = |name| {
        let entries = fixture(name);
        let told =
            |entry: &Value| entry["origin"].as_str().map(|origin| (entry["type"].clone(), origin.to_owned()));
        entries
            .iter()
            .filter(|entry| entry["type"] == "user")
            .filter_map(told)
            .map(|(_, origin)| origin)
            .collect::<Vec<_>>()
    };
    assert_eq!(origins("2026-04/events"), ["harness", "command", "agent", "agent", "harness", "summary"]);
    assert_eq!(origins("2026-11/resumed"), ["harness", "own", "own"]);
    assert_eq!(origins("2026-11/subagent-child"), ["harness", "agent"]);
    // A harness message without a mark is recognised by its metadata.
    let told = r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"x"}],"internal_chat_message_metadata_passthrough":{"content_item_metadata":[{"provenance":{"type":"harness","hook":true}}]}}"#;
    assert_eq!(entries(&rollout(&[("response_item", told)]))[0]["origin"], "harness");
    // In the session of an agent started by another agent, the prompt was not written by a person.
    let meta = r#"{"id":"c","parent_thread_id":"p","source":{"subagent":{"thread_spawn":{"parent_thread_id":"p"}}}}"#;
    assert_eq!(entries(&rollout(&[("session_meta", meta), USER]))[1]["origin"], "agent");
}

#[test]
fn what_happened_is_an_event_with_what_it_tells() {
    let entries = fixture("2026-04/events");
    let data =
        |kind: &str| &entries.iter().find(|entry| entry["event-type"] == kind).expect("an event")["data"];
    assert_eq!(data("turn-ended")["stop"]["class"], "cancelled");
    assert_eq!(data("turn-ended")["stop"]["raw"], "interrupted");
    assert_eq!(data("rewound")["turns"], 1);
    assert_eq!(data("compacted")["summary"], "The heron was renamed.");
    assert_eq!(data("compacted")["history"][0]["role"], "user");
    assert_eq!(types(&entries).iter().filter(|kind| **kind == "compacted").count(), 1);
    assert_eq!(data("guardian_assessment")["content"]["status"], "denied");
    assert_eq!(data("web_search_end")["content"]["query"], "heron");
    // A shell command of the user has no result item.
    let shell =
        entries.iter().find(|entry| entry["data"]["content"]["source"] == "user_shell").expect("a command");
    assert_eq!(shell["data"]["content"]["aggregated_output"], "clean\n");
    let errors: Vec<_> = entries.iter().filter(|entry| entry["event-type"] == "error").collect();
    assert_eq!((&errors[0]["data"]["class"], &errors[0]["data"]["status"]), (&"server".into(), &502.into()));
    assert_eq!(
        (&errors[1]["data"]["class"], &errors[1]["data"]["code"]),
        (&"rate_limit".into(), &"usage_limit_exceeded".into())
    );
    // Each entry has the time of its line.
    assert!(
        entries
            .iter()
            .filter(|entry| entry.get("vendor-ext").is_some())
            .all(|entry| entry["timestamp"].is_string())
    );
    let changed: Vec<_> = entries.iter().filter(|entry| entry["event-type"] == "session-updated").collect();
    assert!(
        changed
            .iter()
            .any(|entry| entry["data"]["approval-policy"] == "never" && entry["data"]["effort"] == "low")
    );
    // Settings appear only when they change.
    let turns = entries.iter().filter(|entry| entry["event-type"] == "turn_context");
    assert_eq!(turns.filter(|entry| entry.get("data").is_some()).count(), 1);
}

#[test]
fn state_of_reasoning_is_found_though_a_line_stands_between() {
    let entries = entries(&rollout(&[THOUGHT_A, THOUGHT_B, OTHER, THOUGHT]));
    assert_eq!(types(&entries), ["reasoning", "task_started", "reasoning"]);
    assert_eq!((&entries[2]["content"], &entries[2]["encrypted"]), (&Value::Null, &"xyz".into()));
}

#[test]
fn usage_stands_on_the_item_of_its_response_and_is_counted_once() {
    let sum = |entries: &[Value]| {
        let total = |entry: &Value| entry["token-usage"]["total"].as_u64().unwrap_or(0);
        (entries.iter().map(total).sum::<u64>(), entries.iter().filter(|entry| total(entry) > 0).count())
    };
    let old = fixture("2026-04/events");
    assert_eq!(sum(&old), (3140, 3));
    let spent: Vec<_> = old.iter().filter(|entry| entry["token-usage"].is_object()).collect();
    assert_eq!(
        types(&spent.iter().map(|entry| (*entry).clone()).collect::<Vec<_>>()),
        ["tool-call", "tool-call", "assistant"]
    );
    assert_eq!(
        (&spent[0]["token-usage"]["model-id"], &spent[0]["token-usage"]["effort"]),
        (&"gpt-5.3-codex".into(), &"high".into())
    );
    assert_eq!(
        (&spent[2]["model-id"], &spent[2]["phase"]),
        (&"gpt-5.3-codex".into(), &"final_answer".into())
    );
    // Newer logs hold usage twice, once with the response.
    let new = fixture("2026-11/functions");
    assert_eq!(sum(&new), (3162, 3));
    let spent: Vec<_> = new.iter().filter(|entry| entry["token-usage"].is_object()).collect();
    assert!(spent.iter().all(|entry| entry["token-usage"]["response-id"].is_string()));
    assert_eq!(spent.last().expect("an answer")["type"], "assistant");
}

#[test]
fn what_a_fork_copied_is_marked_and_not_counted() {
    let entries = fixture("2026-04/forked");
    let copied: Vec<bool> = entries.iter().map(|entry| entry.get("copied-from").is_some()).collect();
    let first_own = entries
        .iter()
        .position(|entry| entry["data"]["content"]["turn_id"] == "019d2000-0500-7000-8000-000000000001");
    assert_eq!(first_own, Some(7));
    assert_eq!(copied.iter().filter(|copied| **copied).count(), 5);
    assert!(!copied[0] && !copied[7..].iter().any(|copied| *copied), "{copied:?}");
    let total: u64 = entries.iter().filter_map(|entry| entry["token-usage"]["total"].as_u64()).sum();
    assert_eq!(total, 1110);
}

#[test]
fn the_system_prompt_is_a_message_said_once() {
    let meta = r#"{"id":"a","cwd":"/w","base_instructions":{"text":"Be brief."},"originator":"o"}"#;
    let entries = entries(&rollout(&[("session_meta", meta), USER, ("session_meta", meta)]));
    assert_eq!(types(&entries), ["system", "user", "session_meta"]);
    assert_eq!(entries[0]["data"]["content"], "Be brief.");
    assert_eq!(entries[0]["children"][0]["data"]["content"]["originator"], "o");
}

#[test]
fn messages_as_the_api_has_them_are_read_with_and_without_a_line_around_them() {
    let entries = fixture("2026-02/described");
    let whole = entries[3]["children"].as_array().expect("blocks");
    let children: Vec<_> = whole.iter().filter_map(|child| child["type"].as_str()).collect();
    // Text after a block is a later part of the message.
    assert_eq!(children, ["reasoning", "assistant", "tool-call", "tool-result"]);
    assert_eq!(
        (&whole[0]["content"], &whole[1]["content"]),
        (&"It must be in a file.".into(), &"I look.".into())
    );
    let inner: Vec<_> = entries[4..7]
        .iter()
        .map(|entry| (entry["type"].as_str(), entry["children"][0]["type"].as_str()))
        .collect();
    let expected = [("assistant", "reasoning"), ("assistant", "tool-call"), ("user", "tool-result")];
    assert_eq!(inner, expected.map(|(outer, inner)| (Some(outer), Some(inner))));
}

#[test]
fn any_order_of_events_comes_back() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../fixtures/openai/codex");
    let mut pool = Vec::new();
    for name in ["2026-04/events", "2026-04/forked", "2025-09/bare", "2026-02/described", "2026-11/subagent"]
    {
        let text = std::fs::read_to_string(format!("{folder}/{name}.jsonl")).expect("a fixture");
        // Lines without a time would take the time of an earlier event.
        pool.extend(text.lines().filter(|line| line.contains("\"timestamp\"")).map(str::to_owned));
    }
    let mut seed = 7u64;
    for _ in 0..600 {
        let mut text = String::new();
        for _ in 0..12 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            text.push_str(&pool[(seed >> 33) as usize % pool.len()]);
            text.push_str(if seed >> 60 == 0 { "\n\n" } else { "\n" });
        }
        entries(&text);
    }
}

#[test]
fn a_result_that_begins_with_its_command_has_an_exit_code() {
    for (output, code) in [
        (
            "Command: ls -la\\nChunk ID: a1\\nWall time: 0.5 seconds\\nProcess exited with code 3\\nOutput:\\nx",
            3,
        ),
        (
            "Command: bash -lc \\\"a\\nb\\\"\\nWall time: 0.5 seconds\\nProcess exited with code 0\\nOutput:\\nExit code: 9",
            0,
        ),
        ("Command: ls\\nExit code: 2\\nWall time: 0.5 seconds\\nOutput:\\nx", 2),
    ] {
        let log = format!(
            r#"{{"timestamp":"2026-02-10T17:28:01.000Z","type":"response_item","payload":{{"type":"function_call","name":"exec_command","arguments":"{{}}","call_id":"c1"}}}}
{{"timestamp":"2026-02-10T17:28:02.000Z","type":"response_item","payload":{{"type":"function_call_output","call_id":"c1","output":"{output}"}}}}
"#
        );
        let named = |name| interlingua::dialects::Dialect::named(name).expect("registered");
        let log_role = interlingua::dialects::Role::Log;
        let ways = ["codex", "universal"].map(named);
        let ways = ways.map(|dialect| (dialect, dialect.role_for(log_role).expect("reached by logs")));
        let options = interlingua::dialects::Options::default();
        let pipe = interlingua::pipe::Pipe::new(ways[0], ways[1], &options).expect("both have logs");
        let mut out = Vec::new();
        pipe.finish_with(log.as_bytes(), &mut out);
        let out = String::from_utf8(out).expect("text");
        assert!(out.contains(&format!("\"exit_code\":{code}")), "{out}");
    }
}
