//! Databases with odd rows: every value is in a document or reported, and no database takes long to read.
#![allow(missing_docs, reason = "not published")]
#![expect(clippy::expect_used, reason = "tests fail by panicking")]

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use interlingua_sessions::{ArchiveError, SessionStore};
use proptest::prelude::*;
use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, params_from_iter};

/// A database for one test, removed afterwards.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("odd-rows-{}-{number}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).expect("a folder");
        Self(path)
    }

    fn path(&self) -> PathBuf {
        self.0.join("opencode.db")
    }

    fn make(&self, sql: &str) -> Connection {
        let database = Connection::open(self.path()).expect("a database");
        database.pragma_update(None, "synchronous", false).expect("a setting");
        database.execute_batch(sql).expect("tables");
        database
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// All documents, and the errors.
fn read(path: &Path) -> Result<(Vec<String>, Vec<ArchiveError>), ArchiveError> {
    let contents = SessionStore::at(path).expect("a database").contents()?;
    let mut documents = Vec::new();
    for session in &contents.sessions {
        let mut text = String::new();
        session
            .open()?
            .read_to_string(&mut text)
            .map_err(|error| ArchiveError::Io(path.to_owned(), error))?;
        serde_json::from_str::<serde_json::Value>(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
        documents.push(text);
    }
    Ok((documents, contents.damage))
}

/// Columns without types, so that any value is stored unchanged.
const LOOSE: &str = "
CREATE TABLE project (id, worktree, vcs, more);
CREATE TABLE session (id, project_id, slug, title, time_created, time_updated, cost, tokens_input, \"odd name\"\"\", metadata);
CREATE TABLE message (id, session_id, time_created, data, extra);
CREATE TABLE part (id, message_id, session_id, data, extra);
CREATE TABLE todo (session_id, content, status, priority, position, extra);
CREATE INDEX message_by_session ON message (session_id);
CREATE INDEX part_by_message ON part (message_id);
";

/// Values of every type. Texts and blobs contain distinct numbers.
fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        1 => Just(Value::Null),
        2 => (100_000_000_i64..200_000_000).prop_map(Value::Integer),
        1 => (1_000_000..9_000_000_u32).prop_map(|number| Value::Real(f64::from(number) + 0.5)),
        1 => prop_oneof![Just(f64::INFINITY), Just(f64::NEG_INFINITY)].prop_map(Value::Real),
        3 => any::<u32>().prop_map(|number| Value::Text(format!("text-{number}\u{1}\"\\"))),
        1 => any::<u32>().prop_map(|number| Value::Text(format!("{{\"json-{number}\": [1, {{}}], \"id\": \"own-{number}\", \"extra\": 1}}"))),
        1 => any::<u32>().prop_map(|number| Value::Text(format!("{{\"torn-{number}\": "))),
        1 => any::<u32>().prop_map(|number| Value::Blob(format!("blob-{number}").into_bytes())),
        1 => any::<u32>().prop_map(|number| Value::Blob([&[0xff, 0xfe][..], &number.to_be_bytes()].concat())),
    ]
}

/// A few ids of every type, so that rows share ids, with duplicates and unknown ids.
fn id() -> impl Strategy<Value = Value> {
    prop_oneof![
        4 => (0..4_u8).prop_map(|number| Value::Text(format!("ses_{number}"))),
        1 => (0..3_i64).prop_map(Value::Integer),
        1 => Just(Value::Null),
        1 => Just(Value::Blob(b"ses_1".to_vec())),
        1 => Just(Value::Blob(vec![0xff, 0x01])),
        1 => Just(Value::Text("../../x\0y".to_owned())),
        1 => Just(Value::Text(String::new())),
    ]
}

type Rows = Vec<Vec<Value>>;

fn rows(ids: usize, values: usize) -> impl Strategy<Value = Rows> {
    let row = (prop::collection::vec(id(), ids), prop::collection::vec(value(), values));
    prop::collection::vec(row.prop_map(|(ids, values)| [ids, values].concat()), 0..7)
}

fn insert(database: &Connection, table: &str, columns: &str, rows: &Rows) {
    for row in rows {
        let places = vec!["?"; row.len()].join(",");
        let sql = format!("INSERT INTO {table} ({columns}) VALUES ({places})");
        database.execute(&sql, params_from_iter(row)).expect("a row");
    }
}

/// Every value of a table by an independent scan, as JSON spells it. A text that is invalid UTF-8 is in hexadecimal
/// digits.
fn spelled(database: &Connection, table: &str) -> Vec<Vec<String>> {
    let mut query = database.prepare(&format!("SELECT * FROM {table} NOT INDEXED")).expect("a query");
    let columns = query.column_count();
    let names: Vec<String> = query.column_names().iter().map(|name| (*name).to_owned()).collect();
    let mut found = Vec::new();
    let mut rows = query.query([]).expect("rows");
    while let Some(row) = rows.next().expect("a row") {
        let mut values = Vec::new();
        for (at, name) in names.iter().enumerate().take(columns) {
            // The times of rows are only for sorting.
            let is_time = ["time_created", "position"].contains(&name.as_str()) && table != "session";
            match row.get_ref(at).expect("a value") {
                ValueRef::Integer(number) if !is_time => values.push(number.to_string()),
                ValueRef::Real(number) => values.push(number.to_string()),
                ValueRef::Text(bytes) | ValueRef::Blob(bytes) => match std::str::from_utf8(bytes) {
                    Err(_) => values.push(hex(bytes)),
                    Ok(text) if text.starts_with("{\"json") => {
                        values.extend(
                            text.split(['{', ' ', '[', ']', '}', ',', ':', '"'])
                                .filter(|word| word.len() > 3)
                                .map(str::to_owned),
                        );
                    }
                    Ok(text) => {
                        let json = serde_json::to_string(text).expect("JSON");
                        values.push(json.trim_matches('"').to_owned());
                    }
                },
                ValueRef::Null | ValueRef::Integer(_) => {}
            }
        }
        found.push(values);
    }
    found
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat()
}

/// The total length of the lists at that path in all documents.
fn counted(documents: &[String], path: &[&str]) -> usize {
    fn count(value: &serde_json::Value, path: &[&str]) -> usize {
        match path {
            [] => value.as_array().map_or(0, Vec::len),
            [name, rest @ ..] => match value.as_array() {
                Some(list) => list.iter().map(|value| count(value, path)).sum(),
                None => value.get(*name).map_or(0, |value| count(value, rest)),
            },
        }
    }
    documents.iter().map(|text| count(&serde_json::from_str(text).expect("JSON"), path)).sum()
}

/// How many rows the documents hold unchanged.
fn unplaced(documents: &[String], table: &str) -> usize {
    let of = |text: &String| {
        let document: serde_json::Value = serde_json::from_str(text).expect("JSON");
        let rows = document["rows"].as_array().cloned().unwrap_or_default();
        rows.iter().filter(|row| row["table"] == table).count()
    };
    documents.iter().map(of).sum()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 120, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_row_is_in_a_document(
        projects in rows(1, 3),
        sessions in rows(2, 8),
        messages in rows(2, 3),
        parts in rows(3, 2),
        todo in rows(1, 5),
    ) {
        let scratch = Scratch::new();
        let database = scratch.make(LOOSE);
        insert(&database, "project", "id, worktree, vcs, more", &projects);
        insert(&database, "session", "id, project_id, slug, title, time_created, time_updated, cost, tokens_input, \"odd name\"\"\", metadata", &sessions);
        insert(&database, "message", "id, session_id, time_created, data, extra", &messages);
        insert(&database, "part", "id, message_id, session_id, data, extra", &parts);
        insert(&database, "todo", "session_id, content, status, priority, position, extra", &todo);
        let (documents, damage) = read(&scratch.path()).expect("documents");
        prop_assert!(damage.is_empty(), "{damage:?}");
        let all = documents.concat();
        for table in ["session", "message", "part", "todo"] {
            for row in spelled(&database, table) {
                for value in row {
                    prop_assert!(all.contains(&value), "{table}: {value} is not in {all}");
                }
            }
        }
        let count = |table: &str| -> usize {
            let sql = format!("SELECT count(*) FROM {table} NOT INDEXED");
            database.query_row(&sql, [], |row| row.get(0)).expect("a count")
        };
        prop_assert!(documents.len() >= count("session"));
        prop_assert_eq!(counted(&documents, &["messages"]), count("message"), "{}", &all);
        prop_assert_eq!(counted(&documents, &["messages", "parts"]) + unplaced(&documents, "part"), count("part"), "{}", &all);
        prop_assert_eq!(counted(&documents, &["todo"]), count("todo"));
    }

    #[test]
    fn a_damaged_file_ends_in_documents_or_errors(
        places in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..40),
        from in 0..100_usize,
    ) {
        let scratch = Scratch::new();
        let mut bytes = usual_bytes().clone();
        for (place, byte) in places {
            let at = place.index(bytes.len()).max(from);
            if let Some(old) = bytes.get_mut(at) {
                *old = byte;
            }
        }
        fs::write(scratch.path(), bytes).expect("written");
        if let Some(store) = SessionStore::at(&scratch.path()) && let Ok(contents) = store.contents() {
            for session in contents.sessions {
                let mut text = Vec::new();
                if let Ok(mut reader) = session.open() {
                    let _ = reader.read_to_end(&mut text);
                }
                prop_assert!(text.len() < 64 << 20);
            }
        }
    }
}

/// A database as OpenCode creates it, with this many messages in a session.
fn usual(scratch: &Scratch, messages: usize) -> Connection {
    let database = scratch.make(
        "CREATE TABLE session (id text PRIMARY KEY, slug text, title text, time_created integer);
         CREATE TABLE message (id text PRIMARY KEY, session_id text NOT NULL, time_created integer, data text NOT NULL);
         CREATE TABLE part (id text PRIMARY KEY, message_id text NOT NULL, session_id text, data text NOT NULL);
         CREATE INDEX message_session ON message (session_id);
         CREATE INDEX part_message ON part (message_id);
         INSERT INTO session VALUES ('ses_1', 's', 'T', 1);
         BEGIN;",
    );
    for number in 0..messages {
        let sql = format!(
            "INSERT INTO message VALUES ('msg_{number:04}', 'ses_1', {number}, '{{\"role\":\"user\"}}');
             INSERT INTO part VALUES ('prt_{number:04}', 'msg_{number:04}', 'ses_1', '{{\"type\":\"text\",\"text\":\"text-{number}-text\"}}');"
        );
        database.execute_batch(&sql).expect("rows");
    }
    database.execute_batch("COMMIT").expect("rows");
    database
}

/// The bytes of an ordinary database.
fn usual_bytes() -> &'static Vec<u8> {
    static BYTES: std::sync::OnceLock<Vec<u8>> = std::sync::OnceLock::new();
    BYTES.get_or_init(|| {
        let scratch = Scratch::new();
        drop(usual(&scratch, 200));
        fs::read(scratch.path()).expect("bytes")
    })
}

#[test]
fn an_index_that_leaves_rows_out_hides_none() {
    let scratch = Scratch::new();
    let database = usual(&scratch, 0);
    // Empty indexes that claim to cover all rows.
    database
        .execute_batch(
            "DROP INDEX message_session; DROP INDEX part_message;
             CREATE INDEX message_session ON message (session_id) WHERE 0;
             CREATE INDEX part_message ON part (message_id) WHERE 0;
             CREATE INDEX session_time ON session (time_created, id) WHERE 0;
             INSERT INTO message VALUES ('msg_1', 'ses_1', 1, '{\"role\":\"user\"}');
             INSERT INTO part VALUES ('prt_1', 'msg_1', 'ses_1', '{\"type\":\"text\",\"text\":\"here\"}');
             PRAGMA writable_schema = ON;
             UPDATE sqlite_schema SET sql = replace(sql, ' WHERE 0', '');
             PRAGMA writable_schema = RESET;",
        )
        .expect("a hidden row");
    drop(database);
    let (documents, _) = read(&scratch.path()).expect("documents");
    assert_eq!(documents.len(), 1);
    assert!(documents[0].contains("\"text\":\"here\""), "{documents:?}");
}

#[test]
fn views_and_virtual_tables_are_refused_and_do_not_run() {
    let endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n)";
    for (hostile, what) in [
        (
            format!(
                "DROP TABLE part; CREATE VIEW part AS {endless} SELECT x AS id, x AS message_id, x AS session_id, '{{}}' AS data FROM n"
            ),
            "`part` is a view",
        ),
        (
            format!(
                "DROP TABLE session; CREATE VIEW session AS {endless} SELECT x AS id, x AS time_created FROM n"
            ),
            "`session` is a view",
        ),
        (
            format!(
                "DROP TABLE message; CREATE VIEW Message AS {endless} SELECT x AS id, x AS session_id, '{{}}' AS data FROM n"
            ),
            "`message` is a view",
        ),
        (format!("CREATE VIEW todo AS {endless} SELECT x AS session_id FROM n"), "`todo` is a view"),
        (
            "DROP TABLE part; CREATE VIRTUAL TABLE part USING fts5(id, message_id, data)".to_owned(),
            "`part` is a virtual table",
        ),
        (
            "DROP TABLE part; CREATE TABLE part (id text PRIMARY KEY, message_id, data) WITHOUT ROWID"
                .to_owned(),
            "without row numbers",
        ),
    ] {
        let scratch = Scratch::new();
        let database = usual(&scratch, 3);
        database.execute_batch(&hostile).expect("a hostile table");
        drop(database);
        let began = Instant::now();
        let error = read(&scratch.path()).expect_err("refused");
        assert!(error.to_string().contains(what), "{error}");
        assert!(began.elapsed() < Duration::from_secs(5), "{what}");
    }
}

#[test]
fn generated_columns_and_triggers_do_not_run() {
    let scratch = Scratch::new();
    let database = usual(&scratch, 3);
    database
        .execute_batch(
            "DROP TABLE part;
             CREATE TABLE part (id text, message_id text, data text, big AS (printf('%.*c', 900000000, 'x')));
             INSERT INTO part VALUES ('prt_1', 'msg_0001', '{\"type\":\"text\",\"text\":\"here\"}');",
        )
        .expect("a hostile column");
    drop(database);
    let began = Instant::now();
    let (documents, damage) = read(&scratch.path()).expect("documents");
    assert!(damage.is_empty());
    assert!(documents[0].contains("\"text\":\"here\"") && documents[0].len() < 10_000);
    assert!(began.elapsed() < Duration::from_secs(5));
}

#[test]
fn a_damaged_page_hides_no_row_of_another() {
    let scratch = Scratch::new();
    let database = usual(&scratch, 2000);
    let page: usize = database.query_row("PRAGMA page_size", [], |row| row.get(0)).expect("a size");
    let place = "text-1000-text";
    drop(database);
    let mut bytes = fs::read(scratch.path()).expect("bytes");
    let at = bytes.windows(place.len()).position(|window| window == place.as_bytes()).expect("it is there");
    let start = at / page * page;
    bytes[start..start + page].fill(0x5a);
    fs::write(scratch.path(), bytes).expect("written");
    let (documents, damage) = read(&scratch.path()).expect("documents");
    assert!(
        damage.iter().any(|error| error.to_string().contains("not all rows of `part` can be read")),
        "{damage:?}"
    );
    let all = documents.concat();
    let found = (0..2000).filter(|number| all.contains(&format!("text-{number}-text"))).count();
    assert!(found > 1900, "{found}");
    assert!(all.contains("text-0-text") && all.contains("text-1999-text"));
}

#[test]
fn a_transaction_that_did_not_end_is_rolled_back_in_the_copy() {
    let (writing, scratch) = (Scratch::new(), Scratch::new());
    let database = usual(&writing, 2000);
    database.execute_batch("BEGIN; UPDATE part SET data = replace(data, 'text-', 'half-')").expect("changes");
    // A large transaction writes pages into the file before it ends.
    database.cache_flush().expect("pages are written");
    for ending in ["", "-journal"] {
        let name = |scratch: &Scratch| {
            let mut path = scratch.path().into_os_string();
            path.push(ending);
            path
        };
        fs::copy(name(&writing), name(&scratch)).expect("a copy of a file in use");
    }
    assert!(fs::read(scratch.path()).expect("bytes").windows(5).any(|bytes| bytes == b"half-"));
    let (documents, damage) = read(&scratch.path()).expect("documents");
    assert!(damage.is_empty(), "{damage:?}");
    assert!(!documents.concat().contains("half-"));
    assert_eq!(documents.concat().matches("text-").count(), 2000);
}

#[test]
fn a_table_without_its_key_is_reported_and_hides_no_session() {
    for (tables, what) in [
        (
            "CREATE TABLE todo (owner, content); INSERT INTO todo VALUES ('ses_1', 'x')",
            "`todo` has no column `session_id`",
        ),
        (
            "CREATE TABLE project (name, worktree); INSERT INTO project VALUES ('p', '/w')",
            "`project` has no column `id`",
        ),
    ] {
        let scratch = Scratch::new();
        usual(&scratch, 3).execute_batch(tables).expect("a table");
        let (documents, damage) = read(&scratch.path()).expect("documents");
        assert!(documents.concat().contains("text-2-text"));
        assert!(damage.iter().any(|error| error.to_string().contains(what)), "{damage:?}");
    }
}
