//! The promises of `docs/cli.md` about files, exit codes and costs: each promise has a test that fails without it.

#![cfg(unix)]
#![allow(clippy::cast_possible_truncation, clippy::format_collect, reason = "short helpers of a test")]

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::process::{Command, Stdio};

use crate::support::{Dir, log, stoppable, wait_until};
use serde_json::Value;

fn mode(dir: &Dir, name: &str) -> u32 {
    fs::metadata(dir.path().join(name)).expect("it is there").permissions().mode() & 0o777
}

fn set_mode(dir: &Dir, name: &str, mode: u32) {
    fs::set_permissions(dir.path().join(name), fs::Permissions::from_mode(mode)).expect("it is ours");
}

/// An output edited by a user is not replaced, wherever the edit is: at its end, after its end, or by truncation.
#[test]
fn an_output_that_was_edited_late_is_not_replaced() {
    // Longer than any buffer.
    let long = log(2_000);
    for (number, edit) in [
        (0, (|bytes: &mut Vec<u8>| *bytes.last_mut().expect("some") ^= 1) as fn(&mut Vec<u8>)),
        (1, |bytes| bytes.extend_from_slice(b" ")),
        (2, |bytes| bytes.truncate(bytes.len() - 1)),
        (3, |bytes| bytes[100_000] ^= 1),
        (4, Vec::clear),
    ] {
        let dir = Dir::new(&format!("promises_edited_{number}"));
        dir.write("a.jsonl", &long);
        dir.run("convert . --to record -o . -q").expect(0, "");
        let mut edited = dir.read("a.record.json");
        assert!(edited.len() > 200_000);
        edit(&mut edited);
        dir.write("a.record.json", &edited);
        let ran = dir.run("convert . --to record -o .");
        // An edited file may no longer be a record; then it is not recognised as an output.
        assert!(dir.read("a.record.json") == edited, "{number}: {}", ran.stderr);
        if number != 4 {
            assert_ne!(ran.code, Some(0), "{number}: {}", ran.stderr);
        }
    }
}

/// Links in a folder and in a store are not followed, and their targets are not read.
#[test]
fn links_in_folders_and_stores_lead_nowhere() {
    let dir = Dir::new("promises_links");
    dir.write("outside/secret.jsonl", log(3)).write("in/own.jsonl", log(1));
    symlink(dir.path().join("outside/secret.jsonl"), dir.path().join("in/link.jsonl")).expect("a link");
    symlink(dir.path().join("outside"), dir.path().join("in/folder")).expect("a link");
    symlink(dir.path().join("in"), dir.path().join("in/circle")).expect("a link");
    let ran = dir.run("convert in --to record -o out/");
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(ran.stderr.contains("link.jsonl"), "it is listed as skipped: {}", ran.stderr);
    let out: Vec<String> = dir.files().into_iter().filter(|file| file.starts_with("out/")).collect();
    assert_eq!(out, ["out/own.record.json"]);

    let dir = Dir::new("promises_store_links");
    let session = r#"{"id":"ses_1","slug":"s","version":"1.1.53","projectID":"p","directory":"/w","title":"own","time":{"created":1,"updated":2}}"#;
    let message = |id: &str| {
        format!(
            r#"{{"id":"{id}","sessionID":"ses_1","role":"user","time":{{"created":1}},"agent":"build","model":{{"providerID":"p","modelID":"m"}}}}"#
        )
    };
    let part = |id: &str, text: &str| {
        format!(r#"{{"id":"prt_{id}","sessionID":"ses_1","messageID":"{id}","type":"text","text":"{text}"}}"#)
    };
    dir.write("storage/session/p/ses_1.json", session)
        .write("storage/message/ses_1/msg_1.json", message("msg_1"))
        .write("storage/part/msg_1/prt_msg_1.json", part("msg_1", "own words"))
        .write("outside/msg_2.json", message("msg_2"))
        .write("outside/parts/prt_msg_2.json", part("msg_2", "words from outside"))
        .write("outside/ses_9.json", session.replace("ses_1", "ses_9"));
    let link = |from: &str, to: &str| symlink(dir.path().join(from), dir.path().join(to)).expect("a link");
    link("outside/msg_2.json", "storage/message/ses_1/msg_2.json");
    link("outside/parts", "storage/part/msg_2");
    link("outside/parts/prt_msg_2.json", "storage/part/msg_1/prt_msg_2.json");
    link("outside/ses_9.json", "storage/session/p/ses_9.json");
    let ran = dir.run("convert storage --to record -o out/");
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let out: Vec<String> = dir.files().into_iter().filter(|file| file.starts_with("out/")).collect();
    assert_eq!(out.len(), 1, "{out:?} {}", ran.stderr);
    let text = String::from_utf8(dir.read(&out[0])).expect("text");
    assert!(text.contains("own words") && !text.contains("words from outside"), "{text}");
}

/// A stopped `--join` leaves neither an output nor temporary files, and the temporary files were private.
#[test]
fn a_stopped_join_leaves_nothing_behind() {
    for (name, code) in [("INT", 130), ("TERM", 143)] {
        let dir = Dir::new(&format!("promises_join_{name}"));
        dir.write("in/a.jsonl", log(5)).write("tmp/keep", "");
        let pipe = dir.path().join("in/b.jsonl");
        assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo runs").success());
        let stoppable = stoppable();
        let mut command = Command::new(&stoppable[0]);
        command.args(&stoppable[1..]);
        command.args([
            "convert",
            "in/a.jsonl",
            "in/b.jsonl",
            "--from",
            "claude-code",
            "--to",
            "record",
            "--join",
            "-o",
            "out/all.json",
        ]);
        command.current_dir(dir.path()).env("TMPDIR", dir.path().join("tmp"));
        let child = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it runs");
        // Endless input.
        let mut writer = fs::OpenOptions::new().write(true).open(&pipe).expect("it reads");
        std::io::Write::write_all(&mut writer, log(2_000).as_bytes()).expect("it reads");
        let between = || {
            fs::read_dir(dir.path().join("tmp"))
                .expect("a folder")
                .flatten()
                .find(|entry| entry.path().is_dir())
        };
        wait_until(|| between().is_some());
        let folder = between().expect("there").path();
        let private = fs::metadata(&folder).expect("there").permissions().mode() & 0o077;
        assert_eq!(private, 0, "only the user can look into it");
        assert!(
            Command::new("kill")
                .args(["-s", name, &child.id().to_string()])
                .status()
                .expect("kill runs")
                .success()
        );
        let ended = child.wait_with_output().expect("it ends");
        drop(writer);
        assert_eq!(ended.status.code(), Some(code), "{}", String::from_utf8_lossy(&ended.stderr));
        let left: Vec<String> = dir.files().into_iter().filter(|file| !file.starts_with("in/")).collect();
        assert_eq!(left, ["tmp/keep"]);
        assert!(!folder.exists(), "the folder itself is gone, too");
    }
}

/// Users who cannot reach the source cannot read the output, and all other users keep their access.
#[test]
fn an_output_is_open_to_those_who_could_come_to_its_source() {
    let dir = Dir::new("promises_modes");
    for (folder, closed, expected) in
        [("all", 0o755, 0o664), ("group", 0o710, 0o660), ("others", 0o701, 0o604), ("nobody", 0o700, 0o600)]
    {
        dir.write(&format!("{folder}/x.jsonl"), log(1));
        set_mode(&dir, &format!("{folder}/x.jsonl"), 0o664);
        set_mode(&dir, folder, closed);
        dir.run(&format!("convert {folder}/x.jsonl --to record -o {folder}.json -q")).expect(0, "");
        assert_eq!(mode(&dir, &format!("{folder}.json")), expected, "{folder}");
        dir.run(&format!("convert {folder}/x.jsonl --to record --join -o {folder}-joined.json -q"))
            .expect(0, "");
        assert_eq!(mode(&dir, &format!("{folder}-joined.json")), expected, "{folder}, joined");
    }
    // A new report is private to its owner, but a replaced file keeps its permissions.
    dir.run("convert all/x.jsonl --to record -o y.json --report report.json -q").expect(0, "");
    assert_eq!(mode(&dir, "report.json"), 0o600);
    set_mode(&dir, "report.json", 0o644);
    dir.run("convert all/x.jsonl --to record -o y.json --report report.json -q").expect(0, "");
    assert_eq!(mode(&dir, "report.json"), 0o644);
}

#[test]
fn links_in_a_circle_are_no_place_to_write_to() {
    let dir = Dir::new("promises_circle");
    dir.write("x.jsonl", log(1)).write("real/keep", "");
    symlink(dir.path().join("b.json"), dir.path().join("a.json")).expect("a link");
    symlink(dir.path().join("a.json"), dir.path().join("b.json")).expect("a link");
    assert_eq!(dir.run("convert x.jsonl --to record -o a.json").code, Some(1));
    // Two links in a chain, the second relative: their final target is written, and both links stay.
    symlink(dir.path().join("real/two.json"), dir.path().join("one.json")).expect("a link");
    symlink("three.json", dir.path().join("real/two.json")).expect("a link");
    dir.run("convert x.jsonl --to record -o one.json -q").expect(0, "");
    let is_link = |name: &str| fs::symlink_metadata(dir.path().join(name)).expect("there").is_symlink();
    assert!(is_link("one.json") && is_link("real/two.json") && !is_link("real/three.json"));
    assert_eq!(dir.read("real/three.json"), dir.read("one.json"));
}

#[test]
fn each_end_has_its_exit_code() {
    let dir = Dir::new("promises_codes");
    dir.write("x.jsonl", log(2))
        .write("torn.jsonl", format!("{}{{\"type\":\n", log(1)))
        .write("empty.jsonl", "")
        .write("unclear.jsonl", "{\"role\":\"user\",\"content\":\"hi\"}\n");
    dir.write("lossy.jsonl", r#"{"type":"user","sessionId":"s","uuid":"u","parentUuid":null,"of_tomorrow":{"x":1},"message":{"role":"user","content":"hi"}}"#);
    for (args, code) in [
        ("convert x.jsonl --to record -o a.json -q", 0),
        ("convert x.jsonl --to record -o a.json -q --strict", 0),
        ("convert torn.jsonl --to record -o b.json -q", 0),
        ("convert torn.jsonl --to record -o b.json -q --strict", 3),
        ("convert lossy.jsonl --to codex -o c.jsonl -q", 0),
        ("convert lossy.jsonl --to codex -o c.jsonl -q --strict", 3),
        ("convert lossy.jsonl missing.jsonl --to codex -o d/ -q --strict", 1),
        ("convert lossy.jsonl empty.jsonl --to codex -o d/ -q --strict", 1),
        ("convert x.jsonl missing.jsonl --to codex -o d/ -q", 1),
        ("convert missing.jsonl --to record", 1),
        ("convert x.jsonl --to nonsense", 2),
        ("convert x.jsonl x.jsonl lossy.jsonl --to record", 2),
        ("check x.jsonl -q", 0),
        ("check torn.jsonl -q", 3),
        ("check x.jsonl torn.jsonl -q", 3),
        ("check torn.jsonl x.jsonl -q", 3),
        ("check missing.jsonl -q", 1),
        ("check torn.jsonl missing.jsonl -q", 1),
        // The first unreadable file decides.
        ("check unclear.jsonl -q", 2),
        ("check missing.jsonl unclear.jsonl -q", 1),
        ("check unclear.jsonl missing.jsonl -q", 2),
        ("check x.jsonl unclear.jsonl missing.jsonl missing.jsonl -q", 2),
        ("stats x.jsonl --json", 0),
        ("stats missing.jsonl", 1),
    ] {
        let ran = dir.run(args);
        assert_eq!(ran.code, Some(code), "{args}: {}", ran.stderr);
    }
    // `--strict` still writes the output.
    assert!(!dir.read("c.jsonl").is_empty() && !dir.read("b.json").is_empty());
}

#[test]
fn what_is_there_is_left_out_and_stays_as_it_is() {
    let dir = Dir::new("promises_skip");
    dir.write("in/a.jsonl", log(1)).write("in/b.jsonl", log(2)).write("out/a.record.json", "mine");
    dir.run("convert in --to record -o out/ --skip-existing -q").expect(0, "");
    assert_eq!(dir.read("out/a.record.json"), b"mine");
    assert!(dir.read("out/b.record.json").len() > 10);
    dir.write("in/c.jsonl", log(3));
    dir.run("convert in --to record -o out/ --skip-existing -q").expect(0, "");
    assert!(dir.read("out/c.record.json").len() > 10);
}

// ---- costs and sums --------------------------------------------------------------------------------------------------

/// A model response as Claude Code logs it.
fn response(session: &str, id: &str, model: &str, usage: &str) -> String {
    format!(
        r#"{{"type":"assistant","uuid":"{session}-{id}","parentUuid":null,"sessionId":"{session}","timestamp":"2026-02-10T10:00:00.000Z","message":{{"id":"{id}","role":"assistant","model":"{model}","content":[{{"type":"text","text":"x"}}],"usage":{{{usage}}}}}}}"#
    ) + "\n"
}

const PRICES: &str = r#"
date = "2026-11-16"
source = "test"
[models]
"m-1" = { input = 1, output = 10, cache-read = 100, cache-write = 1000, cache-write-long = 10000, above = [{ tokens = 50, input = 2, output = 20, cache-read = 200, cache-write = 2000, cache-write-long = 20000 }, { tokens = 90, input = 3, output = 30, cache-read = 300, cache-write = 3000, cache-write-long = 30000 }] }
"m-2" = { input = 5, output = 0 }
"#;

fn stats(dir: &Dir, args: &str) -> Value {
    let ran = dir.run(&format!("stats {args} --json --prices prices.toml"));
    serde_json::from_slice(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {}", ran.stderr))
}

/// The cost in millionths of a dollar.
fn micros(value: &Value) -> i64 {
    (value["cost"]["usd"].as_f64().expect("a number") * 1e6).round() as i64
}

#[test]
fn each_sort_of_tokens_has_its_own_price() {
    let dir = Dir::new("promises_prices");
    dir.write("prices.toml", PRICES);
    for (number, (usage, cost)) in [
        (r#""input_tokens":2,"output_tokens":0"#, 2),
        (r#""input_tokens":0,"output_tokens":2"#, 20),
        (r#""input_tokens":0,"output_tokens":0,"cache_read_input_tokens":2"#, 200),
        (r#""input_tokens":0,"output_tokens":0,"cache_creation_input_tokens":2"#, 2000),
        (
            r#""input_tokens":0,"output_tokens":0,"cache_creation_input_tokens":5,"cache_creation":{"ephemeral_5m_input_tokens":3,"ephemeral_1h_input_tokens":2}"#,
            23_000,
        ),
        // The total input decides the price tier, including cache reads and writes: at the limit, and above it.
        (r#""input_tokens":50,"output_tokens":1"#, 60),
        (r#""input_tokens":51,"output_tokens":1"#, 122),
        (r#""input_tokens":1,"output_tokens":1,"cache_read_input_tokens":50"#, 10_022),
        (r#""input_tokens":1,"output_tokens":1,"cache_creation_input_tokens":49"#, 49_011),
        (r#""input_tokens":90,"output_tokens":0"#, 180),
        (r#""input_tokens":91,"output_tokens":0"#, 273),
    ]
    .into_iter()
    .enumerate()
    {
        let name = format!("{number}.jsonl");
        dir.write(&name, response("s", "msg_0123456789abcdef", "m-1", usage));
        assert_eq!(micros(&stats(&dir, &name)["usage"]["total"]), cost, "{usage}");
    }
}

#[test]
fn a_model_is_found_by_each_form_of_its_name_and_by_no_other() {
    let dir = Dir::new("promises_names");
    dir.write("prices.toml", PRICES);
    for (model, known) in [
        ("m-1", true),
        ("anthropic/m-1", true),
        ("a/b/m-1", true),
        ("m-1[1m]", true),
        ("m-1-20251101", true),
        ("m-1@20251101", true),
        ("m-1-2025-11-01", true),
        ("anthropic/m-1-20251101[1m]", true),
        ("m-1-2025110", false),
        ("m-1-202511011", false),
        ("m-11", false),
        // Vendors, proxies and price tables spell one name in different cases (`GLM-4.6`, `glm-4.6`).
        ("M-1", true),
    ] {
        dir.write(
            "x.jsonl",
            response("s", "msg_0123456789abcdef", model, r#""input_tokens":2,"output_tokens":3"#),
        );
        let total = &stats(&dir, "x.jsonl")["usage"]["total"];
        assert_eq!(micros(total), if known { 32 } else { 0 }, "{model}");
        assert_eq!(total["cost"]["unknown_responses"], u64::from(!known), "{model}");
        assert_eq!(total["cost"]["unknown_tokens"], if known { 0 } else { 5 }, "{model}");
    }
}

#[test]
fn a_price_that_is_missing_matters_only_where_it_is_needed() {
    let dir = Dir::new("promises_missing");
    dir.write("prices.toml", PRICES);
    let cost = |usage: &str| {
        dir.write("x.jsonl", response("s", "msg_0123456789abcdef", "m-2", usage));
        let total = stats(&dir, "x.jsonl")["usage"]["total"].clone();
        (micros(&total), total["cost"]["unknown_responses"].as_u64().expect("a number"))
    };
    assert_eq!(cost(r#""input_tokens":2,"output_tokens":9,"cache_read_input_tokens":0"#), (10, 0));
    assert_eq!(cost(r#""input_tokens":2,"output_tokens":9,"cache_read_input_tokens":1"#), (0, 1));
}

/// A response in two files counts once if its id is long enough to be unique, and so does its usage.
#[test]
fn two_files_add_up_and_what_they_share_counts_once() {
    let dir = Dir::new("promises_two");
    dir.write("prices.toml", PRICES);
    let (long, short) = ("msg_0123456789ab", "msg_0123456789a");
    assert_eq!((long.len(), short.len()), (16, 15));
    let usage = |input: u64| format!(r#""input_tokens":{input},"output_tokens":1"#);
    for (id, sessions, responses, input) in
        [(long, ["s", "t"], 1, 7), (short, ["s", "t"], 2, 10), (short, ["s", "s"], 1, 7)]
    {
        dir.write("a.jsonl", response(sessions[0], id, "m-1", &usage(3)));
        dir.write("b.jsonl", response(sessions[1], id, "m-1", &usage(7)));
        for args in ["a.jsonl b.jsonl", "b.jsonl a.jsonl"] {
            let all = stats(&dir, args);
            assert_eq!(all["usage"]["total"]["responses"], responses, "{id} {sessions:?} {args}");
            assert_eq!(all["usage"]["total"]["input"], input, "{id} {sessions:?} {args}");
            assert_eq!(all["usage"]["repeated_responses"], 2 - responses, "{id} {sessions:?} {args}");
            assert_eq!(all["sessions"], if sessions[0] == sessions[1] { 1 } else { 2 });
        }
    }
    // Two unrelated sessions, separately and together.
    dir.write("a.jsonl", tools("s", "toolu_a", true, "2026-02-10T10:00:00.000Z", "2026-02-10T10:00:04.000Z"));
    dir.write(
        "b.jsonl",
        tools("t", "toolu_b", false, "2026-02-11T10:00:00.000Z", "2026-02-11T10:00:03.000Z"),
    );
    let [one, two, both] = ["a.jsonl", "b.jsonl", "a.jsonl b.jsonl"].map(|args| stats(&dir, args));
    for path in [
        &["sessions"][..],
        &["turns"],
        &["messages", "user"],
        &["messages", "assistant"],
        &["milliseconds", "sessions"],
        &["milliseconds", "tools"],
        &["tools", "total", "calls"],
        &["tools", "total", "ok"],
        &["tools", "total", "failed"],
        &["tools", "total", "failed_by_error"],
        &["usage", "total", "tokens"],
    ] {
        let at = |value: &Value| path.iter().fold(value.clone(), |value, name| value[name].clone()).as_u64();
        let (a, b) = (at(&one).expect("a number"), at(&two).expect("a number"));
        assert_eq!(at(&both), Some(a + b), "{path:?}: {a} and {b}");
    }
    assert_eq!((&both["first"], &both["last"]), (&one["first"], &two["last"]));
    assert_eq!((&one["tools"]["total"]["failed"], &two["tools"]["total"]["failed"]), (&1.into(), &0.into()));
    assert_eq!((&one["milliseconds"]["tools"], &two["milliseconds"]["tools"]), (&4000.into(), &3000.into()));
}

/// A call and its result.
fn tools(session: &str, call: &str, fails: bool, begins: &str, ends: &str) -> String {
    let line = |kind: &str, number: usize, time: &str, content: &str| {
        format!(
            r#"{{"type":"{kind}","uuid":"{session}-{number}","parentUuid":null,"sessionId":"{session}","timestamp":"{time}","message":{{"role":"{kind}","id":"msg_{session}_{number}_0123456789","model":"m-1","content":{content},"usage":{{"input_tokens":{number},"output_tokens":1}}}}}}"#
        ) + "\n"
    };
    let result =
        format!(r#"[{{"type":"tool_result","tool_use_id":"{call}","content":"r","is_error":{fails}}}]"#);
    let called = format!(
        r#"[{{"type":"text","text":"y"}},{{"type":"tool_use","id":"{call}","name":"Bash","input":{{}}}}]"#
    );
    line("user", 1, begins, "\"hi\"")
        + &line("assistant", 2, begins, &called)
        + &line("user", 3, ends, &result)
}

/// Changed lines that look like a diff header are still changed lines.
#[test]
fn lines_that_begin_like_a_head_are_counted_and_shown() {
    let dir = Dir::new("promises_diff");
    let hunk =
        r#"{"oldStart":1,"oldLines":2,"newStart":1,"newLines":2,"lines":[" keep","--- old","+++ new"]}"#;
    dir.write("x.jsonl", format!(
        r#"{{"type":"assistant","uuid":"a","parentUuid":null,"sessionId":"s","timestamp":"2026-02-10T10:00:00.000Z","message":{{"id":"m","role":"assistant","content":[{{"type":"tool_use","id":"t","name":"Edit","input":{{"file_path":"/w/f"}}}}]}}}}
{{"type":"user","uuid":"b","parentUuid":"a","sessionId":"s","timestamp":"2026-02-10T10:00:01.000Z","toolUseResult":{{"filePath":"/w/f","oldString":"-- old","newString":"++ new","structuredPatch":[{hunk}]}},"message":{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"t","content":"ok"}}]}}}}
"#
    ));
    dir.write("prices.toml", PRICES);
    let changed = stats(&dir, "x.jsonl")["files_changed"][0].clone();
    assert_eq!((&changed["added"], &changed["removed"]), (&1.into(), &1.into()), "{changed}");
    let shown = dir.run("show x.jsonl --full --no-pager");
    assert!(shown.stdout().contains("-- old") && shown.stdout().contains("++ new"), "{}", shown.stdout());
}

/// Long content is folded after the documented number of lines, and the fold is announced.
#[test]
fn views_fold_after_as_many_lines_as_they_say() {
    let dir = Dir::new("promises_folds");
    let lines = |count: usize| (0..count).map(|number| format!("line{number}.")).collect::<Vec<_>>();
    let line = |kind: &str, number: usize, content: &Value, result: &Value| {
        let message = serde_json::json!({"role": kind, "id": format!("m{number}"), "content": content});
        serde_json::json!({"type": kind, "uuid": format!("u{number}"), "parentUuid": null, "sessionId": "s",
            "timestamp": "2026-02-10T10:00:00.000Z", "message": message, "toolUseResult": result})
        .to_string()
            + "\n"
    };
    let called =
        serde_json::json!([{"type": "tool_use", "id": "t", "name": "Edit", "input": {"file_path": "/w/f"}}]);
    let prompt = |count: usize| {
        line("user", 0, &"short".into(), &Value::Null)
            + &line("user", 1, &lines(count).join("\n").into(), &Value::Null)
    };
    let answer = |count: usize| {
        let text = serde_json::json!([{"type": "text", "text": lines(count).join("\n")}]);
        line("user", 1, &"hi".into(), &Value::Null) + &line("assistant", 2, &text, &Value::Null)
    };
    let failure = |count: usize| {
        let text = lines(count).join("\n");
        let result = serde_json::json!([{"type": "tool_result", "tool_use_id": "t", "content": text, "is_error": true}]);
        line("assistant", 2, &called, &Value::Null) + &line("user", 3, &result, &Value::Null)
    };
    let change = |count: usize| {
        let added: Vec<String> = lines(count).iter().map(|line| format!("+{line}")).collect();
        let hunk = serde_json::json!({"oldStart": 1, "oldLines": 0, "newStart": 1, "newLines": count, "lines": added});
        let result = serde_json::json!([{"type": "tool_result", "tool_use_id": "t", "content": "ok"}]);
        let told = serde_json::json!({"filePath": "/w/f", "structuredPatch": [hunk]});
        line("assistant", 2, &called, &Value::Null) + &line("user", 3, &result, &told)
    };
    let shown = |log: String, args: &str| {
        dir.write("x.jsonl", log);
        let ran = dir.run(&format!("show x.jsonl {args}"));
        (ran.stdout().matches("line").count(), ran.stdout().contains("1 more line"))
    };
    let whole = |count: usize, shown: (usize, bool), what: &str| {
        assert!(shown.0 >= count && !shown.1, "{what}: {count} lines are shown: {shown:?}");
    };
    let folded = |shown: (usize, bool), what: &str| assert!(shown.1, "{what}: {shown:?}");
    for (what, most, log) in [
        ("prompt", 60, &prompt as &dyn Fn(usize) -> String),
        ("answer", 200, &answer),
        ("failure", 8, &failure),
        // The position line of the change counts as a line.
        ("change", 15, &change),
    ] {
        whole(most, shown(log(most), "--no-pager"), what);
        folded(shown(log(most + 1), "--no-pager"), what);
        whole(most + 1, shown(log(most + 1), "--no-pager --full"), what);
    }
    whole(59, shown(change(59), "--markdown"), "change");
    folded(shown(change(60), "--markdown"), "change");
    whole(20, shown(failure(20), "--markdown"), "failure");
    folded(shown(failure(21), "--markdown"), "failure");
    // A table prints twenty rows.
    let tools = |count: usize| -> String {
        let call = |number: usize| serde_json::json!([{"type": "tool_use", "id": format!("t{number}"), "name": format!("Tool{number:02}"), "input": {}}]);
        (0..count).map(|number| line("assistant", number, &call(number), &Value::Null)).collect()
    };
    for (count, rows, more) in [(20, 20, false), (21, 20, true)] {
        dir.write("x.jsonl", tools(count));
        let ran = dir.run("stats x.jsonl");
        assert_eq!(
            (ran.stdout().matches("  Tool").count(), ran.stdout().contains("and 1 more")),
            (rows, more)
        );
        assert_eq!(dir.run("stats x.jsonl -v").stdout().matches("  Tool").count(), count);
    }
}

/// A sort of problem counts its files once each, however often a file has it.
#[test]
fn a_sort_of_problem_counts_each_file_once() {
    for files in 2..=4 {
        let dir = Dir::new(&format!("promises_problem_files_{files}"));
        let mut times = 0;
        for file in 0..files {
            // The first file has one torn line, the second two.
            let torn = format!("{}{{\"type\":\n", log(1)).repeat(file + 1);
            times += file + 1;
            dir.write(&format!("in/{file}.jsonl"), torn);
        }
        dir.write("in/sound.jsonl", log(1));
        let ran = dir.run("convert in --to record -o out/");
        let said = format!("(torn): {times} times in {files} files");
        assert!(ran.stderr.contains(&said), "`{said}` is not in {}", ran.stderr);
    }
}

/// A result of the second session in a file has nothing to do with a call of the first, whatever its id.
#[test]
fn a_result_is_shown_with_a_call_of_its_own_session() {
    let message = |session: &str, uuid: &str, role: &str, content: &str| {
        format!(
            r#"{{"type":"{role}","sessionId":"{session}","uuid":"{uuid}","parentUuid":null,"cwd":"/w","message":{{"role":"{role}","content":[{content}]}}}}"#
        ) + "\n"
    };
    let dir = Dir::new("promises_show_sessions");
    let call = |name: &str| format!(r#"{{"type":"tool_use","id":"t","name":"{name}","input":{{"q":1}}}}"#);
    let result = |text: &str| format!(r#"{{"type":"tool_result","tool_use_id":"t","content":"{text}"}}"#);
    dir.write("a.jsonl", message("s1", "a", "assistant", &call("Alpha")));
    dir.write("b.jsonl", message("s2", "b", "user", &result("late")));
    dir.write(
        "c.jsonl",
        message("s3", "c", "assistant", &call("Gamma")) + &message("s3", "d", "user", &result("soon")),
    );
    let mut all = Vec::new();
    for name in ["a", "b", "c"] {
        dir.run(&format!("convert {name}.jsonl --to record -o {name}.json -q")).expect(0, "");
        all.extend(dir.read(&format!("{name}.json")));
    }
    dir.write("all.json", &all);
    let ran = dir.run("show all.json");
    let shown = ran.stdout();
    let line = |word: &str| shown.lines().find(|line| line.contains(word)).unwrap_or_default().to_owned();
    assert!(line("Alpha").contains("no result"), "{shown}");
    assert!(line("late").contains("no call"), "{shown}");
    assert!(line("Gamma").contains("soon"), "{shown}");
}
