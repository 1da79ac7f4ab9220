//! Stores of sessions as inputs: each session is an input, next to the ordinary logs of a directory.

use crate::support::Dir;
use rusqlite::Connection;

const CLAUDE: &str = r#"{"type":"user","uuid":"a","parentUuid":null,"sessionId":"s","cwd":"/w","message":{"role":"user","content":"hi"}}
"#;

/// A directory with the storage tree of one session and a log.
fn with_tree(test: &str) -> Dir {
    let dir = Dir::new(test);
    dir.write("in/claude.jsonl", CLAUDE)
        .write(
            "in/storage/session/p/ses_1.json",
            r#"{"id":"ses_1","slug":"x","projectID":"p","directory":"/w","title":"T","version":"1","time":{"created":1,"updated":2},"share":{"secret":"hidden","url":"u"}}"#,
        )
        .write(
            "in/storage/message/ses_1/msg_1.json",
            r#"{"id":"msg_1","sessionID":"ses_1","role":"user","time":{"created":1},"agent":"build","model":{"providerID":"x","modelID":"m"}}"#,
        )
        .write(
            "in/storage/part/msg_1/prt_1.json",
            r#"{"id":"prt_1","sessionID":"ses_1","messageID":"msg_1","type":"text","text":"hello there"}"#,
        );
    dir
}

#[test]
fn a_store_and_logs_in_one_directory_are_all_found() {
    let dir = with_tree("store_and_logs");
    let run = dir.run("convert -q in --to record -o out");
    assert_eq!((run.code, &*run.stderr), (Some(0), ""));
    let record = String::from_utf8(dir.read("out/storage/ses_1.record.json")).expect("text");
    assert!(record.contains(r#""content":"hello there""#) && !record.contains("hidden"), "{record}");
    assert!(!dir.read("out/claude.record.json").is_empty());
}

#[test]
fn a_store_that_is_named_needs_a_directory_for_its_sessions() {
    let dir = with_tree("store_named");
    let run = dir.run("convert -q in/storage --to record");
    assert_eq!(run.code, Some(1));
    let run = dir.run("convert -q in/storage --to opencode -o out");
    assert_eq!((run.code, &*run.stderr), (Some(0), ""));
    let document = String::from_utf8(dir.read("out/storage/ses_1.opencode.jsonl")).expect("text");
    assert!(document.starts_with(r#"{"info":{"id":"ses_1""#), "{document}");
}

#[test]
fn a_database_of_something_else_is_left_aside_or_refused() {
    let dir = with_tree("other_database");
    let mut bytes = b"SQLite format 3\0".to_vec();
    bytes.resize(512, 0);
    dir.write("in/other.db", bytes);
    let run = dir.run("convert -q in/other.db --to record -o out");
    assert_eq!(run.code, Some(1));
    assert!(run.stderr.contains("in/other.db` is a "), "{}", run.stderr);
    let run = dir.run("show in/other.db");
    assert!(run.stderr.contains("holds many sessions"), "{}", run.stderr);
}

/// A database of OpenCode with one session and additional rows.
fn with_database(test: &str, more: &str) -> Dir {
    let dir = Dir::new(test);
    let database = Connection::open(dir.path().join("opencode.db")).expect("a database");
    database
        .execute_batch(
            r#"CREATE TABLE session (id text, slug text, title text, time_created integer, added text);
               CREATE TABLE message (id text, session_id text, time_created integer, data text);
               CREATE TABLE part (id text, message_id text, session_id text, data text);
               CREATE TABLE todo (session_id text, content text, status text, priority text, position integer);
               INSERT INTO session VALUES ('ses_1', 's', 'T', 1, NULL);
               INSERT INTO message VALUES ('msg_1', 'ses_1', 1, '{"role":"user","time":{"created":1}}');
               INSERT INTO part VALUES ('prt_1', 'msg_1', 'ses_1', '{"type":"text","text":"hello there"}');"#,
        )
        .expect("tables");
    database.execute_batch(more).expect("more rows");
    dir
}

#[test]
fn odd_rows_of_a_database_are_in_the_record_and_no_other_log_takes_them_silently() {
    for (name, more, marks) in [
        ("column", "UPDATE session SET added = 'MARK-1'", &["MARK-1"][..]),
        (
            "no_parent",
            r#"INSERT INTO part VALUES ('prt_2', 'msg_9', 'ses_1', '{"type":"text","text":"MARK-1"}')"#,
            &["MARK-1"],
        ),
        (
            "no_session",
            r#"INSERT INTO message VALUES ('msg_2', 'ses_9', 1, '{"role":"user","MARK-1":1}'), ('msg_3', NULL, 1, '{"role":"user","MARK-2":1}')"#,
            &["MARK-1", "MARK-2"],
        ),
        ("todo", "INSERT INTO todo VALUES ('ses_8', 'MARK-1', 'pending', 'low', 1)", &["MARK-1"]),
        (
            "twice",
            r#"INSERT INTO message VALUES ('msg_1', 'ses_1', 2, '{"role":"user","MARK-1":1}'); INSERT INTO session VALUES ('ses_1', 's', 'MARK-2', 3, NULL)"#,
            &["MARK-1", "MARK-2"],
        ),
        (
            "type",
            r#"UPDATE session SET title = CAST(x'4d41524b2d31ff' AS text); INSERT INTO message VALUES (7, 'ses_1', 'soon', '{"role":"user","MARK-2":1}')"#,
            &["4d41524b2d31ff", "MARK-2"],
        ),
    ] {
        let dir = with_database(&format!("odd_rows_{name}"), more);
        let run = dir.run("convert -q --strict opencode.db --to record -o out");
        // A session without messages yields an output without content, which is the only allowed error.
        let without_content = "error: `--strict`: 1 output without content\n";
        assert!(["", without_content].contains(&run.stderr.as_str()), "{name}: {}", run.stderr);
        let read = |folder: &str| -> String {
            let files = dir.files().into_iter().filter(|file| file.starts_with(folder));
            files.map(|file| String::from_utf8_lossy(&dir.read(&file)).into_owned()).collect()
        };
        let records = read("out/");
        for mark in ["hello there"].iter().chain(marks) {
            assert!(records.contains(mark), "{name}: {mark} is not in {records}");
        }
        // Each mark is in the other log or in the report.
        let run = dir.run("convert opencode.db --to codex -o codex --report report.json --strict");
        let logs = read("codex/");
        let is_there = marks.iter().all(|mark| logs.contains(mark));
        assert!(is_there || run.code == Some(3), "{name}: {}", run.stderr);
    }
}

#[test]
fn a_view_in_a_database_is_refused_at_once() {
    let dir = with_database(
        "endless_view",
        "DROP TABLE part; CREATE VIEW part AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n)
         SELECT x AS id, x AS message_id, x AS session_id, '{}' AS data FROM n",
    );
    for args in ["convert opencode.db --to record -o out", "check opencode.db", "stats opencode.db"] {
        let run = dir.run(args);
        assert_eq!(run.code, Some(1), "{}", run.stderr);
        assert!(run.stderr.contains("`part` is a view, which is not read"), "{}", run.stderr);
    }
}

#[test]
fn a_damaged_page_of_a_database_is_an_error_and_the_rest_is_converted() {
    let row = |number: usize| {
        let data = format!(r#"{{"type":"text","text":"text-{number}-text"}}"#);
        format!("INSERT INTO part VALUES ('prt_{number}', 'msg_1', 'ses_1', '{data}');")
    };
    let rows = (0..500).map(row).collect::<Vec<_>>().concat();
    let dir = with_database("damaged_page", &rows);
    let mut bytes = dir.read("opencode.db");
    let mark = b"text-250-text";
    let at = bytes.windows(mark.len()).position(|window| window == mark).expect("it is there");
    let start = at / 4096 * 4096;
    bytes[start..start + 4096].fill(0x5a);
    dir.write("opencode.db", bytes);
    let run = dir.run("convert opencode.db --to record -o out");
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    assert!(run.stderr.contains("not all rows of `part` can be read"), "{}", run.stderr);
    let record = String::from_utf8(dir.read("out/opencode/ses_1.record.json")).expect("text");
    assert!(record.contains("text-0-text") && record.contains("text-499-text"));
}

#[test]
fn a_row_without_json_is_an_error_of_the_input_like_a_torn_line() {
    for (name, torn) in [
        ("part", r#"INSERT INTO part VALUES ('prt_2', 'msg_1', 'ses_1', '{"type":"text","text":"MARK')"#),
        ("list", r#"INSERT INTO part VALUES ('prt_2', 'msg_1', 'ses_1', '["MARK"]')"#),
        ("message", r#"INSERT INTO message VALUES ('msg_2', 'ses_1', 2, '{"role":"user", MARK')"#),
        ("bytes", "INSERT INTO part VALUES ('prt_2', 'msg_1', 'ses_1', x'4d41524bff')"),
    ] {
        let dir = with_database(&format!("torn_row_{name}"), torn);
        let run = dir.run("check opencode.db");
        assert_eq!(run.code, Some(3), "{name}: {}", run.stdout());
        assert!(run.stdout().contains("holds no JSON object"), "{name}: {}", run.stdout());
        let run = dir.run("convert opencode.db --to record -o out --strict");
        assert_eq!(run.code, Some(3), "{name}: {}", run.stderr);
        let record = String::from_utf8(dir.read("out/opencode/ses_1.record.json")).expect("text");
        assert!(record.contains("hello there") && record.contains("MARK"), "{name}: {record}");
    }
}

#[test]
fn databases_that_were_found_are_read_or_skipped_and_never_an_error() {
    let dir = with_database("found_databases", "");
    std::fs::create_dir_all(dir.path().join("in")).expect("a directory");
    dir.write("in/claude.jsonl", CLAUDE).write("in/backup.sqlite", dir.read("opencode.db"));
    for name in ["in/history.db", "in/cache.sqlite3", "in/state.bin"] {
        let database = Connection::open(dir.path().join(name)).expect("a database");
        database.execute_batch("CREATE TABLE visits (url text)").expect("a table");
    }
    let empty = Connection::open(dir.path().join("in/empty.db")).expect("a database");
    empty
        .execute_batch("CREATE TABLE session (id); CREATE TABLE message (id, session_id, data); CREATE TABLE part (id, message_id, data)")
        .expect("tables");
    drop(empty);
    let run = dir.run("convert in --to record -o out");
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(run.stderr.contains("converted 2 files, skipped 4"), "{}", run.stderr);
    assert!(!dir.read("out/backup/ses_1.record.json").is_empty());
    for command in ["check", "stats"] {
        assert_eq!(dir.run(&format!("{command} in")).code, Some(0), "{command}");
        let run = dir.run(&format!("{command} in/empty.db"));
        assert_eq!((run.code, &*run.stderr), (Some(1), "error: `in/empty.db` holds no session\n"));
        let run = dir.run(&format!("{command} in/history.db"));
        assert!(run.stderr.contains("is a database, but not one of OpenCode"), "{}", run.stderr);
    }
}

#[test]
fn an_id_of_any_sort_names_a_harmless_file() {
    let ids = "INSERT INTO session (id, time_created) VALUES ('a' || char(27) || '[2J' || char(8238), 2), ('a␛[2J<U+202E>', 3),
               ('../../x', 4), ('', 5), (hex(zeroblob(300)), 6), (hex(zeroblob(300)) || '1', 7), ('a' || char(0) || 'b', 8)";
    let dir = with_database("odd_ids", ids);
    let run = dir.run("convert -v opencode.db --to record -o out");
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let names: Vec<String> = dir.files().into_iter().filter(|name| name.starts_with("out/")).collect();
    assert_eq!(names.len(), 8, "{names:?}");
    assert!(names.iter().all(|name| name.starts_with("out/opencode/")), "{names:?}");
    assert!(!names.concat().contains(|c: char| c.is_control() || c == '\u{202e}'), "{names:?}");
    // Two ids never look the same.
    let lines: std::collections::HashSet<&str> =
        run.stderr.lines().filter_map(|line| line.split_once(" -> ")).map(|(name, _)| name).collect();
    assert_eq!(lines.len(), 8, "{}", run.stderr);
}
