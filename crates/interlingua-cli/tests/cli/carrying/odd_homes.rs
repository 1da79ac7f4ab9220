//! Home folders that a new user may have: sessions with one id, a cache that cannot be written, a session that went on in the
//! database of its agent, a narrow terminal, links.

use serde_json::{Value, json};

use super::{Home, SESSIONS, fixture, told};
use std::fs;
use std::path::Path;

/// Droid, Goose and Cline resume these files; `tests/agents/resume.py` shows it with the programs.
#[test]
fn a_session_goes_on_in_droid_goose_and_cline() {
    let home = Home::new(&["claude-code"]);
    for agent in ["droid", "goose", "cline"] {
        let carried = home.carried("latest:claude", agent, &[]);
        for sort in ["prompts", "answers", "calls", "results"] {
            let (all, kept) = super::counts(&carried, sort);
            assert!(all > 0 && all == kept, "{agent}: {sort}: {carried}");
        }
        assert_eq!(home.carried("latest:claude", agent, &[])["id"], carried["id"], "{agent}");
        home.done(&["continue", "latest:claude", "--in", agent, "--undo"]);
        assert!(!Path::new(&super::file_of(&carried)).exists(), "{agent}");
    }
    assert_eq!(fs::read_dir(home.path(".cline/data/sessions")).map_or(0, Iterator::count), 0);
}

/// A session of Claude Code with one prompt.
fn claude_session(id: &str, cwd: &Path, minute: u32, prompt: &str) -> Vec<u8> {
    let line = json!({
        "type": "user", "uuid": format!("u-{id}-{minute}"), "parentUuid": null, "isSidechain": false, "version": "2.1.325",
        "sessionId": id, "cwd": cwd, "timestamp": format!("2026-11-19T10:{minute:02}:00.000Z"),
        "message": {"role": "user", "content": prompt},
    });
    format!("{line}\n").into_bytes()
}

const ONE_ID: &str = "abcd1234-0001-4000-8000-000000000001";

/// Three sessions with one id, in different folders.
fn home_of_three() -> Home {
    let home = Home::new(&[]);
    for (folder, minute, prompt) in
        [("-a", 1, "the oldest of all"), ("-b", 3, "the newest of all"), ("-c", 2, "in between")]
    {
        let log = claude_session(ONE_ID, &home.path("work"), minute, prompt);
        home.put(&log, &format!(".claude/projects/{folder}/{ONE_ID}.jsonl"));
    }
    home
}

#[test]
fn older_sessions_with_one_id_have_numbers() {
    let home = home_of_three();
    let listed = home.done(&["list"]);
    let names: Vec<&str> = listed.lines().skip(1).filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(names, ["abcd1234", "abcd1234~2", "abcd1234~3"], "{listed}");
    for (name, prompt) in [
        ("abcd1234", "the newest of all"),
        ("abcd1234~1", "the newest of all"),
        ("abcd1234~2", "in between"),
        ("abcd1234~3", "the oldest of all"),
        (&*format!("{ONE_ID}~3"), "the oldest of all"),
    ] {
        assert!(home.done(&["show", name]).contains(prompt), "{name}");
    }
    let none = home.run(&["show", "abcd1234~4"]);
    assert!(!none.status.success() && told(&none).contains("no session is named `abcd1234~4`"));
}

#[test]
fn the_command_at_a_hit_opens_the_session_of_the_hit() {
    let home = home_of_three();
    let found = home.done(&["find", "all"]);
    let commands: Vec<&str> = found.lines().filter(|line| line.starts_with("  interlingua ")).collect();
    let shown: Vec<String> = commands
        .iter()
        .map(|command| home.done(&command.split_whitespace().skip(1).collect::<Vec<_>>()))
        .collect();
    assert!(shown.len() == 2 && shown[0].contains("the newest of all"), "{found}");
    assert!(shown[1].contains("the oldest of all"), "{found}");
}

#[test]
fn names_of_agents_and_projects_may_have_capital_letters() {
    let home = Home::new(&["pi", "codex"]);
    for arguments in
        [&["list", "--agent", "PI"][..], &["find", "agent:Pi", "the"], &["list", "--project", "DEMO"]]
    {
        let text = home.done(arguments);
        assert!(text.contains("  pi  "), "{arguments:?}: {text}");
    }
    home.done(&["show", "latest:Codex"]);
    home.done(&["list", "--since", "2026-11-01T10:20:30Z"]);
}

/// A full disk and a folder without write permission have the same effect: the catalogue cannot be made.
#[test]
fn sessions_are_listed_without_a_catalogue() {
    let home = home_of_three();
    fs::write(home.path(".cache"), "a file, not a folder").expect("a file");
    for (arguments, text) in [
        (&["list"][..], "the newest of all"),
        (&["find", "oldest"], "the oldest of all"),
        (&["show", "latest"], "the newest of all"),
        (&["continue", "abcd1234~2", "--in", "codex", "--dry-run", "--dir", "."], ""),
    ] {
        let output = home.run(arguments);
        assert!(output.status.success(), "{arguments:?}: {}", told(&output));
        assert!(
            told(&output).contains("every session is read this time"),
            "{arguments:?}: {}",
            told(&output)
        );
        assert!(String::from_utf8_lossy(&output.stdout).contains(text), "{arguments:?}");
    }
}

#[test]
fn without_a_home_folder_nothing_is_written() {
    let home = Home::new(&[]);
    let output = home
        .command(&["list"])
        .env_remove("HOME")
        .env("TMPDIR", home.path("work"))
        .output()
        .expect("it runs");
    assert!(output.status.success() && told(&output).contains("`HOME`"), "{}", told(&output));
    assert_eq!(fs::read_dir(home.path("work")).expect("a folder").count(), 0);
}

/// OpenCode goes on in its database, so the file that it imported stays as it was.
#[test]
fn an_imported_session_that_has_gone_on_is_not_imported_into() {
    let home = Home::new(&["pi"]);
    let first = home.carried("latest:pi", "opencode", &[]);
    let imported: Value =
        serde_json::from_slice(&fs::read(first["file"].as_str().expect("a path")).expect("the export"))
            .expect("JSON");
    let id = first["id"].as_str().expect("an id");
    let folder = home.path(".local/share/opencode");
    fs::create_dir_all(&folder).expect("a folder");
    let database = rusqlite::Connection::open(folder.join("opencode.db")).expect("a database");
    let tables = "CREATE TABLE session (id text PRIMARY KEY, slug text, title text, time_created integer);
        CREATE TABLE message (id text PRIMARY KEY, session_id text NOT NULL, time_created integer, data text NOT NULL);
        CREATE TABLE part (id text PRIMARY KEY, message_id text NOT NULL, session_id text, data text NOT NULL);";
    database.execute_batch(tables).expect("tables");
    database.execute("INSERT INTO session VALUES (?1, 's', 'T', 1)", [id]).expect("a row");
    let add = |message: &str| {
        let row = (message, id, r#"{"role":"user","time":{"created":1}}"#);
        database.execute("INSERT INTO message VALUES (?1, ?2, 1, ?3)", row).expect("a row");
    };
    for message in imported["messages"].as_array().expect("messages") {
        add(message["info"]["id"].as_str().expect("an id"));
    }
    assert_eq!(home.carried("latest:pi", "opencode", &[])["id"], first["id"], "as it was imported");
    add("msg_of_the_user");
    let second = home.carried("latest:pi", "opencode", &[]);
    assert_ne!(second["id"], first["id"], "gone on");
    // The first copy stays, the second one is removed.
    let undone = home.run(&["continue", "latest:pi", "--in", "opencode", "--undo"]);
    assert!(!undone.status.success() && told(&undone).contains("has gone on since"), "{}", told(&undone));
    let is_there = |carried: &Value| Path::new(carried["file"].as_str().expect("a path")).exists();
    assert!(is_there(&first) && !is_there(&second));
    // An id in the database is taken, even without a record of the copy.
    fs::remove_dir_all(home.path(".local/share/interlingua")).expect("no records");
    assert_ne!(home.carried("latest:pi", "opencode", &[])["id"], first["id"]);
}

#[test]
fn a_session_of_a_folder_that_is_gone_says_where_it_goes_on() {
    let home = Home::new(&[]);
    home.put(
        &claude_session(ONE_ID, Path::new("/gone/project"), 1, "hi"),
        &format!(".claude/projects/-g/{ONE_ID}.jsonl"),
    );
    let output = home.run(&["continue", "abcd1234", "--in", "codex"]);
    let text = told(&output);
    assert!(output.status.success() && text.contains("its directory /gone/project is not here"), "{text}");
    assert!(!told(&home.run(&["continue", "abcd1234", "--in", "codex", "--dir", "."])).contains("not here"));
}

#[cfg(unix)]
#[test]
fn a_project_is_found_through_a_link() {
    let home = Home::new(&[]);
    std::os::unix::fs::symlink(home.path("work"), home.path("link")).expect("a link");
    home.put(
        &claude_session(ONE_ID, &home.path("link"), 1, "hi"),
        &format!(".claude/projects/-l/{ONE_ID}.jsonl"),
    );
    assert!(home.done(&["list", "--here"]).contains("abcd1234"));
    assert!(home.done(&["stats", "--here"]).contains("1 session"));
}

/// The lines that a command prints to a terminal of this width.
#[cfg(unix)]
fn in_terminal(home: &Home, columns: u16, arguments: &[&str], typed: &str) -> Vec<String> {
    use std::io::{Read as _, Write as _};

    let (mut pty, pts) = pty_process::blocking::open().expect("a terminal can be opened");
    pty.resize(pty_process::Size::new(24, columns)).expect("a size");
    let command = pty_process::blocking::Command::new(env!("CARGO_BIN_EXE_interlingua")).args(arguments);
    let command =
        command.current_dir(home.path("work")).env_clear().env("HOME", home.0.path()).env("NO_COLOR", "1");
    let mut child = command.spawn(pts).expect("the command starts");
    pty.write_all(typed.as_bytes()).expect("a line can be typed");
    let (mut seen, mut piece) = (Vec::new(), [0; 4096]);
    while let Ok(length @ 1..) = pty.read(&mut piece) {
        seen.extend_from_slice(&piece[..length]);
    }
    child.wait().expect("it ends");
    String::from_utf8_lossy(&seen).lines().map(str::to_owned).collect()
}

#[cfg(unix)]
#[test]
fn the_lines_of_a_narrow_terminal_do_not_wrap() {
    use unicode_width::UnicodeWidthStr as _;

    let home = Home::new(&["pi", "codex"]);
    home.put(
        &claude_session(ONE_ID, &home.path("work"), 1, &"漢字 ".repeat(40)),
        ".claude/projects/-w/1.jsonl",
    );
    home.done(&["list", "-q"]);
    for columns in [40, 60, 80, 120] {
        for (arguments, typed) in
            [(&["list"][..], ""), (&["continue", "--in", "gemini", "--dry-run", "--dir", "."], "1\n")]
        {
            let lines = in_terminal(&home, columns, arguments, typed);
            let table: Vec<&String> =
                lines.iter().filter(|line| line.contains("abcd1234") || line.contains("session  ")).collect();
            assert!(table.len() >= 2, "{lines:#?}");
            for line in table {
                assert!(line.width() <= usize::from(columns), "{columns}: {line}");
            }
        }
    }
}

#[cfg(unix)]
#[test]
fn sessions_of_the_agent_itself_are_not_offered() {
    let home = Home::new(&["pi", "codex"]);
    home.done(&["list", "-q"]);
    let lines = in_terminal(&home, 100, &["continue", "--in", "codex", "--dry-run", "--dir", "."], "1\n");
    assert!(lines.iter().any(|line| line.contains("  pi  ")), "{lines:#?}");
    assert!(!lines.iter().any(|line| line.contains("  codex  ")), "{lines:#?}");
}

/// The words of a sentence without spaces, and accents in two forms.
#[test]
fn words_are_found_in_every_script() {
    let home = Home::new(&[]);
    let prompt = "请修复连接池的测试。テストを修正しました。테스트를 수정. ทดสอบระบบ. Cafe\u{301} 🚀 latest";
    home.put(&claude_session(ONE_ID, &home.path("work"), 1, prompt), ".claude/projects/-w/1.jsonl");
    for query in [
        "测试",
        "连接池",
        "テスト",
        "修正",
        "테스트",
        "ทดสอบ",
        "café",
        "CAFÉ",
        "🚀",
        "\"的测试\"",
        "latest 🚀",
    ] {
        assert!(home.done(&["find", query]).contains("interlingua show abcd1234"), "{query}");
    }
    for query in ["试测", "test", "cafe", "스테", "\"测试 テ\""] {
        assert_eq!(home.done(&["find", query]), "", "{query}");
    }
}

/// No command on a home folder changes a file of an agent.
#[test]
fn the_files_of_agents_stay_as_they_are() {
    let dialects: Vec<&str> = SESSIONS.iter().map(|(dialect, ..)| *dialect).collect();
    let home = Home::new(&dialects);
    for arguments in [
        &["list"][..],
        &["find", "the"],
        &["stats", "latest"],
        &["backup"],
        &["backup", "--verify"],
        &["continue", "latest:claude", "--in", "pi"],
        &["continue", "latest:claude", "--in", "pi", "--undo"],
    ] {
        home.done(arguments);
    }
    for (dialect, source, place) in SESSIONS {
        let (now, then) =
            (fs::read(home.path(place)).expect("a session"), fs::read(fixture(source)).expect("a fixture"));
        assert_eq!(now, then, "{dialect}");
    }
}

/// The path of the packed bytes of the only session in a backup.
fn object(home: &Home, line: usize) -> std::path::PathBuf {
    let index = fs::read_to_string(home.path("work/saved/index.jsonl")).expect("the index");
    let state: Value = serde_json::from_str(index.lines().nth(line).expect("a line")).expect("JSON");
    let digest = state["sha256"].as_str().expect("a digest").to_owned();
    home.path(&format!("work/saved/objects/{}/{digest}.gz", &digest[..2]))
}

#[test]
fn a_damaged_backup_is_mended_from_files_that_are_still_there() {
    let home = Home::new(&["pi"]);
    home.done(&["backup", "saved"]);
    // An object that is gone is saved again by the next backup.
    fs::remove_file(object(&home, 0)).expect("removed");
    assert_eq!(home.run(&["restore", "s.jsonl", "saved", "-o", "r"]).status.code(), Some(1));
    home.done(&["backup", "saved"]);
    home.done(&["restore", "s.jsonl", "saved", "-o", "r"]);
    // A damaged object is saved again by the check that finds it.
    fs::write(object(&home, 0), "damaged").expect("damaged");
    assert!(told(&home.run(&["backup", "saved", "--verify"])).contains("saved again"));
    home.done(&["backup", "saved", "--verify"]);
    // The file has changed since, so the old state stays damaged.
    fs::write(object(&home, 0), "damaged").expect("damaged");
    let changed = [fs::read(home.path(SESSIONS[8].2)).expect("a session"), b"\n".to_vec()].concat();
    fs::write(home.path(SESSIONS[8].2), changed).expect("changed");
    let verified = home.run(&["backup", "saved", "--verify"]);
    assert!(
        verified.status.code() == Some(3) && told(&verified).contains("damaged: "),
        "{}",
        told(&verified)
    );
}

/// An agent may empty a session before it deletes the file: the states before are not lost.
#[test]
fn every_saved_state_can_be_restored() {
    let home = Home::new(&["pi"]);
    let original = fs::read(home.path(SESSIONS[8].2)).expect("a session");
    home.done(&["backup", "saved"]);
    fs::write(home.path(SESSIONS[8].2), "").expect("emptied");
    home.done(&["backup", "saved"]);
    let listed = home.done(&["restore", "s.jsonl", "saved", "--list"]);
    let rows: Vec<Vec<&str>> = listed.lines().skip(1).map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows.len(), 2, "{listed}");
    assert_eq!(rows[1][1], "0", "{listed}");
    home.done(&["restore", "s.jsonl", "saved", "-o", "newest"]);
    assert_eq!(fs::read(home.path("work/newest")).expect("restored"), b"");
    home.done(&["restore", "s.jsonl", "saved", "-o", "older", "--before", rows[0][0]]);
    assert_eq!(fs::read(home.path("work/older")).expect("restored"), original);
    assert!(
        !home.run(&["restore", "s.jsonl", "saved", "-o", "none", "--before", "2001-01-01"]).status.success()
    );
    let there = home.run(&["restore", "s.jsonl", "saved"]);
    assert!(told(&there).contains("`-o FILE`"), "{}", told(&there));
}
