//! `--verify`, `--map-tools` and `--budget`, names of sessions in every command, hits that open at their place, and backups of
//! sessions of several files.

use std::fmt::Write as _;
use std::fs;

use super::{Home, SESSIONS, counts, file_of, fixture, told};

const CLAUDE: &str = SESSIONS[0].2;

#[test]
fn a_verified_conversion_is_compared_with_its_source() {
    let home = Home::new(&["claude-code"]);
    let source = home.path(CLAUDE);
    let source = source.to_str().expect("UTF-8");
    let output = home.run(&["convert", source, "--to", "codex", "-o", "out.jsonl", "--verify"]);
    assert!(output.status.success(), "{}", told(&output));
    assert!(told(&output).contains("read back: "), "{}", told(&output));
    home.done(&["convert", source, "--to", "record", "-o", "out.json", "--verify", "-q"]);
    home.done(&[
        "convert",
        home.path(".claude").to_str().expect("UTF-8"),
        "--to",
        "pi",
        "-o",
        "many",
        "--verify",
        "-q",
    ]);
    // Cursor's transcripts hold no results.
    let output = home.run(&["convert", source, "--to", "cursor", "-o", "cursor.jsonl", "--verify", "-q"]);
    assert_eq!(output.status.code(), Some(3), "{}", told(&output));
    assert!(told(&output).contains("lacks parts of its source; read back: "), "{}", told(&output));
    let output = home.run(&[
        "convert",
        home.path(".claude").to_str().expect("UTF-8"),
        "--to",
        "cursor",
        "-o",
        "some",
        "--verify",
        "-q",
    ]);
    assert_eq!(output.status.code(), Some(3), "{}", told(&output));
    for arguments in [
        &["convert", source, "--to", "codex", "--verify"][..],
        &["convert", source, "--to", "record", "-o", "x.json", "--map-tools"],
        &["convert", source, "--to", "universal", "-o", "x.jsonl", "--budget", "100"],
        &["convert", source, "--to", "claude-code", "-o", "x.jsonl", "--map-tools"],
    ] {
        assert_eq!(home.run(arguments).status.code(), Some(2), "{arguments:?}");
    }
}

#[test]
fn common_tools_have_the_names_of_the_target() {
    let home = Home::new(&["claude-code"]);
    let names = |file: &str| {
        let text = fs::read_to_string(file).expect("a session");
        let lines = text.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).expect("JSON"));
        let calls = lines.flat_map(|line| line["message"]["content"].as_array().cloned().unwrap_or_default());
        let calls = calls.filter(|block| block["type"] == "toolCall");
        calls
            .map(|call| (call["name"].as_str().expect("a name").to_owned(), call["arguments"].clone()))
            .collect::<Vec<_>>()
    };
    let plain = home.carried("latest:claude", "pi", &[]);
    let before = names(&file_of(&plain));
    assert!(before.iter().any(|(name, _)| name == "Bash"), "{before:?}");
    let mapped = home.carried("latest:claude", "pi", &["--map-tools"]);
    assert_eq!(counts(&mapped, "calls").0, counts(&mapped, "calls").1);
    let after = names(&file_of(&mapped));
    assert_eq!(before.len(), after.len());
    for ((old, arguments), (new, translated)) in before.iter().zip(&after) {
        match old.as_str() {
            "Bash" => {
                assert_eq!((new.as_str(), &translated["command"]), ("bash", &arguments["command"]));
                assert!(translated["description"].is_null());
            }
            "Read" => assert_eq!((new.as_str(), &translated["path"]), ("read", &arguments["file_path"])),
            "Write" => assert_eq!((new.as_str(), &translated["content"]), ("write", &arguments["content"])),
            "Edit" => assert_eq!(translated["edits"][0]["oldText"], arguments["old_string"]),
            _ => assert_eq!((old, arguments), (new, translated)),
        }
    }
    let output =
        home.run(&["continue", "latest:claude", "--in", "pi", "--dir", ".", "--map-tools", "--dry-run"]);
    assert!(told(&output).contains("names and arguments of the target's tools"), "{}", told(&output));
}

/// A session of Pi with results of this many bytes.
fn long_session(results: usize, bytes: usize) -> String {
    let mut text = String::from(
        "{\"type\":\"session\",\"version\":3,\"id\":\"5c0ffee0-0000-7000-8000-000000000009\",\"timestamp\":\"2026-11-15T09:00:00.000Z\",\"cwd\":\"/w\"}\n",
    );
    let mut line = |at: usize, message: serde_json::Value| {
        let parent = at.checked_sub(1).map(|before| format!("{before:08x}"));
        let line = serde_json::json!({"type": "message", "id": format!("{at:08x}"), "parentId": parent,
            "timestamp": "2026-11-15T09:00:00.000Z", "message": message});
        writeln!(text, "{line}").expect("a line");
    };
    line(0, serde_json::json!({"role": "user", "content": [{"type": "text", "text": "look at all files"}]}));
    for number in 0..results {
        line(
            1 + 2 * number,
            serde_json::json!({"role": "assistant", "stopReason": "toolUse", "content": [
            {"type": "toolCall", "id": format!("call_{number}"), "name": "read", "arguments": {"path": format!("f{number}")}}]}),
        );
        line(
            2 + 2 * number,
            serde_json::json!({"role": "toolResult", "toolCallId": format!("call_{number}"), "toolName": "read",
            "isError": false, "content": [{"type": "text", "text": format!("result {number} {}", "x".repeat(bytes))}]}),
        );
    }
    text
}

#[test]
fn a_budget_cuts_the_oldest_results_and_marks_them() {
    let home = Home::new(&[]);
    home.put(long_session(10, 4000).as_bytes(), SESSIONS[8].2);
    let carried = home.carried("latest:pi", "claude", &["--budget", "5000"]);
    let text = fs::read_to_string(file_of(&carried)).expect("the session");
    let cut = carried["compared"]["cut_results"].as_u64().expect("a count");
    assert!((5..=6).contains(&cut), "{carried}");
    assert_eq!(text.matches("[this old result was cut to save space").count() as u64, cut);
    assert!(!text.contains("result 0 x") && text.contains("result 9 x"), "the newest results are kept");
    assert_eq!(counts(&carried, "results"), (10 - cut, 10 - cut));
    assert_eq!(counts(&carried, "calls"), (10, 10));
    let output =
        home.run(&["continue", "latest:pi", "--in", "claude", "--dir", ".", "--budget", "5000", "--dry-run"]);
    assert!(told(&output).contains("old results cut, about "), "{}", told(&output));
    let roomy = home.run(&[
        "continue",
        "latest:pi",
        "--in",
        "claude",
        "--dir",
        ".",
        "--budget",
        "50000",
        "--dry-run",
    ]);
    assert!(told(&roomy).contains("nothing is cut"), "{}", told(&roomy));
}

#[test]
fn a_session_of_fifty_megabytes_goes_on() {
    let home = Home::new(&[]);
    home.put(long_session(500, 100_000).as_bytes(), SESSIONS[8].2);
    let carried = home.carried("latest:pi", "codex", &[]);
    assert_eq!(counts(&carried, "results"), (500, 500));
    assert_eq!(counts(&carried, "calls"), (500, 500));
}

#[test]
fn a_hit_opens_at_its_place() {
    let home = Home::new(&["pi", "claude-code"]);
    let mut log = fs::read_to_string(home.path(CLAUDE)).expect("the log");
    let line = log.lines().count() + 1;
    let last: serde_json::Value =
        serde_json::from_str(log.lines().next_back().expect("a line")).expect("JSON");
    writeln!(log, "{}", serde_json::json!({"type": "user", "uuid": "later", "parentUuid": last["uuid"], "sessionId": last["sessionId"],
        "timestamp": "2026-11-16T00:00:00.000Z", "message": {"role": "user", "content": "Mind the Perihelion"}})).expect("a line");
    fs::write(home.path(CLAUDE), log).expect("a longer log");
    let found = home.json(&["find", "--json", "perihelion"]);
    assert_eq!(found["sessions"][0]["hits"][0]["place"], line);
    let text = home.done(&["find", "perihelion"]);
    let command = text.lines().find_map(|line| line.trim().strip_prefix("interlingua ")).expect("a command");
    let shown = home.done(&command.split(' ').collect::<Vec<_>>());
    assert!(shown.contains("Mind the Perihelion"), "{shown}");
    let whole = home.done(&["show", "latest:claude"]);
    assert!(shown.len() < whole.len() / 2, "earlier turns are not shown");
    let nowhere = home.run(&["show", "latest:claude", "--at", "9999"]);
    assert_eq!(nowhere.status.code(), Some(2), "{}", told(&nowhere));
    // A result opens its call.
    let found = home.json(&["find", "--json", "tool:bash", "agent:claude"]);
    let place = found["sessions"][0]["hits"][1]["place"].as_u64().expect("a place").to_string();
    assert!(home.done(&["show", "latest:claude", "--at", &place]).contains("Bash"));
}

#[test]
fn every_command_takes_every_kind_of_name() {
    let home = Home::new(&["pi", "claude-code"]);
    let listed = home.json(&["list", "--json"]);
    let sessions = listed["sessions"].as_array().expect("sessions");
    assert_eq!(sessions.len(), 2);
    let table = home.done(&["list"]);
    for session in sessions {
        let (id, path) = (session["id"].as_str().expect("an id"), session["path"].as_str().expect("a path"));
        let agent = session["agent"].as_str().expect("an agent");
        let short =
            table.lines().filter_map(|line| line.split_whitespace().next()).find(|word| id.contains(word));
        let short = short.expect("a short id");
        let by_path = home.done(&["show", path]);
        for name in [short, id, &format!("latest:{agent}")] {
            assert_eq!(home.done(&["show", name]), by_path, "{name}");
            home.done(&["stats", name]);
            home.done(&["check", "-q", name]);
            home.done(&["convert", name, "--to", "record", "-q"]);
            home.done(&["continue", name, "--in", "codex", "--dir", ".", "--dry-run", "-q"]);
        }
    }
    home.done(&["stats", "latest"]);
    let nothing = home.run(&["stats", "--here"]);
    assert_eq!(nothing.status.code(), Some(2), "{}", told(&nothing));
    let work = home.path("work").canonicalize().expect("a path");
    let log = fs::read_to_string(home.path(SESSIONS[8].2)).expect("the log");
    let cwd =
        serde_json::from_str::<serde_json::Value>(log.lines().next().expect("a line")).expect("JSON")["cwd"]
            .clone();
    let moved = log.replace(cwd.as_str().expect("a directory"), work.to_str().expect("UTF-8"));
    fs::write(home.path(SESSIONS[8].2), moved).expect("moved");
    let stats = home.json(&["stats", "--here", "--json"]);
    assert_eq!(stats["files"].as_array().map(Vec::len), Some(1), "{stats}");
}

#[test]
fn a_backup_restores_all_files_of_a_session() {
    let home = Home::new(&["kimi-code"]);
    home.put(b"{}", ".kimi-code/sessions/w/session_1/state.json");
    home.put(b"{}", ".kimi-code/sessions/w/session_12/state.json");
    let tree = [
        (".local/share/opencode/storage/session/p/ses_a1.json", "{\"id\":\"ses_a1\"}"),
        (".local/share/opencode/storage/message/ses_a1/msg_b.json", "{\"id\":\"msg_b\"}"),
        (".local/share/opencode/storage/part/msg_b/prt_c.json", "{\"id\":\"prt_c\"}"),
        (".local/share/opencode/storage/part/msg_z/prt_z.json", "{\"id\":\"prt_z\"}"),
        (".local/share/opencode/storage/session/p/ses_b2.json", "{\"id\":\"ses_b2\"}"),
    ];
    for (place, text) in tree {
        home.put(text.as_bytes(), place);
    }
    home.done(&["backup", "saved"]);
    fs::remove_dir_all(home.path(".local/share/opencode")).expect("removed");
    home.done(&["restore", "ses_a1", "saved"]);
    for (place, text) in &tree[..3] {
        assert_eq!(fs::read_to_string(home.path(place)).expect("restored"), *text);
    }
    assert!(!home.path(tree[3].0).exists() && !home.path(tree[4].0).exists(), "other sessions stay away");
    // The files of one session come back together; a name of two sessions is refused.
    fs::remove_dir_all(home.path(".kimi-code/sessions")).expect("removed");
    let several = home.run(&["restore", "session_1", "saved"]);
    assert!(!several.status.success() && told(&several).contains("session_12"), "{}", told(&several));
    home.done(&["restore", "session_1/", "saved"]);
    assert!(
        home.path(SESSIONS[7].2).exists() && home.path(".kimi-code/sessions/w/session_1/state.json").exists()
    );
    // Equal bytes are one object.
    let objects = fs::read_dir(home.path("work/saved/objects")).expect("objects").count();
    assert_eq!(objects, 1 + 1 + tree.len(), "two equal files are one object");
}

#[test]
fn sessions_of_subagents_are_told() {
    let home = Home::new(&["claude-code"]);
    let child = fs::read(fixture("anthropic/claude_code/2026-11/subagent-child.jsonl")).expect("a fixture");
    home.put(&child, &CLAUDE.replace(".jsonl", "/subagents/agent-1.jsonl"));
    let output = home.run(&["continue", "latest:claude", "--in", "codex", "--dir", ".", "--dry-run"]);
    assert!(told(&output).contains("left in claude-code: 1 session of subagents"), "{}", told(&output));
    assert!(!home.done(&["list"]).contains("agent-1"));
    assert_eq!(home.json(&["list", "--json", "--subagents"])["sessions"].as_array().map(Vec::len), Some(2));
}

/// Nothing is counted without the catalogue, and the talk says so.
#[test]
fn sessions_of_subagents_that_cannot_be_counted_are_told() {
    let home = Home::new(&["claude-code"]);
    // A folder in the place of the catalogue cannot be opened as a database.
    fs::create_dir_all(home.path(".cache/interlingua/sessions.db/folder")).expect("a folder");
    let log = home.path(CLAUDE);
    let log = log.to_str().expect("a path in UTF-8");
    let output = home.run(&["continue", log, "--in", "codex", "--dir", ".", "--dry-run"]);
    assert!(told(&output).contains("sessions of subagents cannot be counted: "), "{}", told(&output));
}

#[cfg(unix)]
#[test]
fn a_session_is_chosen_at_the_keyboard() {
    use std::io::{Read as _, Write as _};

    let home = Home::new(&["pi", "claude-code"]);
    home.done(&["list", "-q"]);
    let (pty, pts) = pty_process::blocking::open().expect("a terminal can be opened");
    let command = pty_process::blocking::Command::new(env!("CARGO_BIN_EXE_interlingua"));
    let command = command.args(["continue", "--in", "codex", "--dir", ".", "--dry-run"]);
    let command = command.current_dir(home.path("work")).env_clear().env("HOME", home.0.path());
    let mut child = command.env("NO_COLOR", "1").spawn(pts).expect("the command starts");
    let mut lines = ["nobody has this\n", "claude\n", "9\n", "1\n"].iter();
    let (mut seen, mut from, mut piece) = (Vec::new(), 0, [0; 4096]);
    // After the last program in a terminal has ended, Linux returns an error for reads.
    while let Ok(length @ 1..) = (&pty).read(&mut piece) {
        seen.extend_from_slice(&piece[..length]);
        if String::from_utf8_lossy(&seen[from..]).contains("words to filter by: ") {
            from = seen.len();
            let line = lines.next().expect("no further question");
            (&pty).write_all(line.as_bytes()).expect("a line can be typed");
        }
    }
    let seen = String::from_utf8_lossy(&seen).into_owned();
    assert!(child.wait().expect("it ends").success(), "{seen}");
    assert!(lines.next().is_none(), "{seen}");
    for text in [
        "no session fits `nobody has this`",
        "`9` is none of the numbers",
        "converted claude-code (log) to codex",
        "nothing was written",
    ] {
        assert!(seen.contains(text), "{text}: {seen}");
    }
}
