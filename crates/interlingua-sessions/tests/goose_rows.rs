//! Databases of Goose: a document like an export, every row in a document, and no view or trigger that runs.
#![allow(missing_docs, reason = "not published")]
#![expect(clippy::expect_used, reason = "tests fail by panicking")]

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use interlingua::dialects::{Dialect, Options, Role};
use interlingua::pipe::Pipe;
use interlingua_sessions::{ArchiveError, SessionStore};
use proptest::prelude::*;
use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, params_from_iter};
use serde_json::json;

/// A database for one test, removed afterwards.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("goose-rows-{}-{number}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).expect("a folder");
        Self(path)
    }

    fn path(&self) -> PathBuf {
        self.0.join("sessions.db")
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

/// All documents with their ids, and the errors.
type Documents = (Vec<(String, String)>, Vec<ArchiveError>);

fn read(path: &Path) -> Result<Documents, ArchiveError> {
    let contents = SessionStore::at(path).expect("a database").contents()?;
    let mut documents = Vec::new();
    for session in &contents.sessions {
        let mut text = String::new();
        session
            .open()?
            .read_to_string(&mut text)
            .map_err(|error| ArchiveError::Io(path.to_owned(), error))?;
        serde_json::from_str::<serde_json::Value>(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
        documents.push((session.id.clone(), text));
    }
    Ok((documents, contents.damage))
}

/// The tables of Goose 1.52, schema 16.
const SCHEMA: &str = "
CREATE TABLE schema_version (version INTEGER PRIMARY KEY, applied_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP);
CREATE TABLE sessions (id TEXT PRIMARY KEY, name TEXT NOT NULL DEFAULT '', description TEXT NOT NULL DEFAULT '',
  user_set_name BOOLEAN DEFAULT FALSE, session_type TEXT NOT NULL DEFAULT 'user', working_dir TEXT NOT NULL,
  created_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP, updated_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP,
  extension_data TEXT DEFAULT '{}', total_tokens INTEGER, input_tokens INTEGER, output_tokens INTEGER,
  cache_read_tokens INTEGER, cache_write_tokens INTEGER, accumulated_total_tokens INTEGER,
  accumulated_input_tokens INTEGER, accumulated_output_tokens INTEGER, accumulated_cache_read_tokens INTEGER,
  accumulated_cache_write_tokens INTEGER, accumulated_cost REAL, schedule_id TEXT, recipe_json TEXT,
  user_recipe_values_json TEXT, provider_name TEXT, model_config_json TEXT, goose_mode TEXT NOT NULL DEFAULT 'auto',
  archived_at TIMESTAMP, project_id TEXT, parent_session_id TEXT);
CREATE TABLE messages (id INTEGER PRIMARY KEY AUTOINCREMENT, message_id TEXT, session_id TEXT NOT NULL,
  role TEXT NOT NULL, content_json TEXT NOT NULL, created_timestamp INTEGER NOT NULL,
  timestamp TIMESTAMP DEFAULT CURRENT_TIMESTAMP, tokens INTEGER, metadata_json TEXT);
CREATE TABLE usage_ledger (id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL,
  created_timestamp INTEGER NOT NULL, model TEXT, input_tokens INTEGER, output_tokens INTEGER, cost REAL);
CREATE TABLE credentials (provider TEXT, secret TEXT);
INSERT INTO credentials VALUES ('anthropic', 'TOPSECRET');
";

const ROWS: &str = r#"
INSERT INTO sessions (id, name, user_set_name, working_dir, created_at, updated_at, extension_data, input_tokens,
    accumulated_cost, provider_name, model_config_json, parent_session_id)
  VALUES ('20261118_2', 'Tides', 1, '/srv', '2026-11-18 14:06:30', '2026-11-18 14:06:31.250+00:00', '{"a": [1]}', 210,
    0.5, 'anthropic', '{"model_name": "claude"}', '20261118_1'),
  ('20261118_1', '', 0, '/srv', '2026-11-18 12:00:00', '2026-11-18 12:00:00', '{}', NULL, NULL, NULL, NULL, NULL);
UPDATE sessions SET description = 'Older' WHERE id = '20261118_1';
INSERT INTO messages (message_id, session_id, role, content_json, created_timestamp, timestamp, tokens, metadata_json) VALUES
  ('late', '20261118_2', 'assistant', '[{"type":"text","text":"At six."}]', 30, '2026-11-18 14:06:31', 7,
    '{"userVisible":true,"agentVisible":true}'),
  ('early', '20261118_2', 'user', '[ {"type":"text", "text":"When?"} ]', 20, '2026-11-18 14:06:32', NULL, NULL),
  (NULL, '20261118_2', 'assistant', '[{"type":"te', 30, '2026-11-18 14:06:33', NULL, '{}');
INSERT INTO usage_ledger (session_id, created_timestamp, model, input_tokens, output_tokens, cost)
  VALUES ('20261118_2', 30, 'claude', 140, 40, 0.5);
"#;

#[test]
fn a_session_becomes_a_document_like_an_export() {
    let scratch = Scratch::new();
    drop(scratch.make(&format!("{SCHEMA}{ROWS}")));
    let before = fs::read(scratch.path()).expect("bytes");
    let (documents, damage) = read(&scratch.path()).expect("documents");
    assert!(damage.is_empty(), "{damage:?}");
    assert!(fs::read(scratch.path()).expect("bytes") == before, "the user's file is not touched");
    assert_eq!(documents.iter().map(|(id, _)| id.as_str()).collect::<Vec<_>>(), ["20261118_1", "20261118_2"]);
    let [(_, older), (_, document)] = &documents[..] else { panic!("{documents:?}") };
    let parsed: serde_json::Value = serde_json::from_str(document).expect("JSON");
    assert_eq!(
        parsed,
        json!({
            "id": "20261118_2", "working_dir": "/srv", "name": "Tides", "user_set_name": true, "session_type": "user",
            "created_at": "2026-11-18T14:06:30Z", "updated_at": "2026-11-18T14:06:31.250+00:00",
            "extension_data": {"a": [1]}, "message_count": 3, "input_tokens": 210, "accumulated_cost": 0.5,
            "conversation": [
                {"id": "early", "role": "user", "created": 20, "content": [{"type": "text", "text": "When?"}]},
                {"id": "late", "role": "assistant", "created": 30, "content": [{"type": "text", "text": "At six."}],
                    "metadata": {"userVisible": true, "agentVisible": true}, "tokens": 7},
                {"role": "assistant", "created": 30, "content": "[{\"type\":\"te", "metadata": {}},
            ],
            "provider_name": "anthropic", "model_config": {"model_name": "claude"}, "goose_mode": "auto",
            "parent_session_id": "20261118_1",
            "usage_ledger": [{"model": "claude", "id": 1, "created_timestamp": 30, "input_tokens": 140,
                "output_tokens": 40, "cost": 0.5}],
        })
    );
    // Goose imports a document with one of the two names.
    assert!(older.contains(r#""description":"Older""#) && !older.contains(r#""name""#), "{older}");
    assert!(!documents.iter().any(|(_, text)| text.contains("TOPSECRET")));
}

#[test]
fn a_record_restores_the_document_of_a_session() {
    let scratch = Scratch::new();
    drop(scratch.make(&format!("{SCHEMA}{ROWS}")));
    for (_, document) in read(&scratch.path()).expect("documents").0 {
        let log = |name| (Dialect::named(name).expect("registered"), Role::Log);
        let convert = |from, to, text: &[u8]| {
            let mut pipe = Pipe::new(log(from), log(to), &Options::default()).expect("both are logs");
            let mut out = Vec::new();
            pipe.push(text, &mut out);
            let report = pipe.finish(&mut out);
            assert_eq!(report.lost, 0, "{:?}", report.lost_paths);
            out
        };
        let record = convert("goose", "record", document.as_bytes());
        assert_eq!(String::from_utf8_lossy(&convert("record", "goose", &record)), document);
    }
}

/// Columns without types, so that any value is stored unchanged.
const LOOSE: &str = "
CREATE TABLE sessions (id, name, description, working_dir, created_at, extension_data, recipe_json, goose_mode, \"odd name\"\"\");
CREATE TABLE messages (id, message_id, session_id, role, content_json, created_timestamp, metadata_json, extra);
CREATE TABLE usage_ledger (session_id, model, cost, extra);
CREATE INDEX messages_by_session ON messages (session_id);
";

/// Values of every type. Texts and blobs contain distinct numbers.
fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        1 => Just(Value::Null),
        2 => (100_000_000_i64..200_000_000).prop_map(Value::Integer),
        1 => (1_000_000..9_000_000_u32).prop_map(|number| Value::Real(f64::from(number) + 0.5)),
        1 => prop_oneof![Just(f64::INFINITY), Just(f64::NEG_INFINITY)].prop_map(Value::Real),
        3 => any::<u32>().prop_map(|number| Value::Text(format!("text-{number}\u{1}\"\\"))),
        1 => any::<u32>().prop_map(|number| Value::Text(format!("[{{\"type\":\"text\",\"text\":\"json-{number}\"}}]"))),
        1 => any::<u32>().prop_map(|number| Value::Text(format!("{{\"torn-{number}\": "))),
        1 => any::<u32>().prop_map(|number| Value::Blob(format!("blob-{number}").into_bytes())),
        1 => any::<u32>().prop_map(|number| Value::Blob([&[0xff, 0xfe][..], &number.to_be_bytes()].concat())),
    ]
}

/// A few ids of every type, so that rows share ids, with duplicates and unknown ids.
fn id() -> impl Strategy<Value = Value> {
    prop_oneof![
        4 => (0..4_u8).prop_map(|number| Value::Text(format!("2026_{number}"))),
        1 => (0..3_i64).prop_map(Value::Integer),
        1 => Just(Value::Null),
        1 => Just(Value::Blob(b"2026_1".to_vec())),
        1 => Just(Value::Blob(vec![0xff, 0x01])),
        1 => Just(Value::Text("../../x\0y".to_owned())),
        1 => Just(Value::Text(String::new())),
    ]
}

type Rows = Vec<Vec<Value>>;

fn rows(values: usize) -> impl Strategy<Value = Rows> {
    let row = (id(), prop::collection::vec(value(), values));
    prop::collection::vec(row.prop_map(|(id, values)| [vec![id], values].concat()), 0..7)
}

fn insert(database: &Connection, table: &str, columns: &str, rows: &Rows) {
    for row in rows {
        let places = vec!["?"; row.len()].join(",");
        let sql = format!("INSERT INTO {table} ({columns}) VALUES ({places})");
        database.execute(&sql, params_from_iter(row)).expect("a row");
    }
}

/// Every value of a table by an independent scan, as JSON spells it. A text that is invalid UTF-8 is in hexadecimal
/// digits. The number of a message only sorts the rows.
fn spelled(database: &Connection, table: &str) -> Vec<String> {
    let mut query = database.prepare(&format!("SELECT * FROM {table} NOT INDEXED")).expect("a query");
    let names: Vec<String> = query.column_names().iter().map(|name| (*name).to_owned()).collect();
    let mut values = Vec::new();
    let mut rows = query.query([]).expect("rows");
    while let Some(row) = rows.next().expect("a row") {
        for (at, name) in names.iter().enumerate() {
            match row.get_ref(at).expect("a value") {
                ValueRef::Integer(_) if table == "messages" && name == "id" => {}
                ValueRef::Integer(number) => values.push(number.to_string()),
                ValueRef::Real(number) => values.push(number.to_string()),
                ValueRef::Text(bytes) | ValueRef::Blob(bytes) => match std::str::from_utf8(bytes) {
                    Err(_) => {
                        values.push(
                            bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat(),
                        );
                    }
                    Ok(text) if text.starts_with('[') => {
                        values.extend(
                            text.split('"').find(|word| word.starts_with("json-")).map(str::to_owned),
                        );
                    }
                    Ok(text) => {
                        let json = serde_json::to_string(text).expect("JSON");
                        values.push(json.trim_matches('"').to_owned());
                    }
                },
                ValueRef::Null => {}
            }
        }
    }
    values
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 120, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_row_is_in_a_document(sessions in rows(8), messages in rows(7), ledger in rows(3)) {
        let scratch = Scratch::new();
        let database = scratch.make(LOOSE);
        let columns = "id, name, description, working_dir, created_at, extension_data, recipe_json, goose_mode, \"odd name\"\"\"";
        insert(&database, "sessions", columns, &sessions);
        let columns = "session_id, id, message_id, role, content_json, created_timestamp, metadata_json, extra";
        insert(&database, "messages", columns, &messages);
        insert(&database, "usage_ledger", "session_id, model, cost, extra", &ledger);
        let (documents, damage) = read(&scratch.path()).expect("documents");
        prop_assert!(damage.is_empty(), "{damage:?}");
        let all: String = documents.iter().map(|(_, text)| text.as_str()).collect();
        for table in ["sessions", "messages", "usage_ledger"] {
            for value in spelled(&database, table) {
                prop_assert!(all.contains(&value), "{table}: {value} is not in {all}");
            }
        }
        let counted = |name: &str| -> usize {
            let parse = |text: &String| serde_json::from_str::<serde_json::Value>(text).expect("JSON");
            let lists = documents.iter().map(|(_, text)| parse(text)[name].as_array().map_or(0, Vec::len));
            lists.sum()
        };
        prop_assert!(documents.len() >= sessions.len());
        prop_assert_eq!(counted("conversation"), messages.len(), "{}", &all);
        prop_assert_eq!(counted("usage_ledger"), ledger.len(), "{}", &all);
    }
}

#[test]
fn views_are_refused_and_do_not_run() {
    let endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n)";
    for (hostile, what) in [
        (
            format!(
                "DROP TABLE messages; CREATE VIEW messages AS {endless} SELECT x AS session_id, 'user' AS role, '[]' AS content_json FROM n"
            ),
            "`messages` is a view",
        ),
        (
            format!(
                "DROP TABLE sessions; CREATE VIEW sessions AS {endless} SELECT x AS id, x AS working_dir FROM n"
            ),
            "`sessions` is a view",
        ),
        (
            "DROP TABLE messages; CREATE VIRTUAL TABLE messages USING fts5(session_id, role, content_json)"
                .to_owned(),
            "`messages` is a virtual table",
        ),
    ] {
        let scratch = Scratch::new();
        scratch.make(&format!("{SCHEMA}{ROWS}")).execute_batch(&hostile).expect("a hostile table");
        let began = Instant::now();
        let error = read(&scratch.path()).expect_err("refused");
        assert!(error.to_string().contains(what), "{error}");
        assert!(began.elapsed() < Duration::from_secs(5), "{what}");
    }
}

/// A view with the name of a table of OpenCode does not hide the sessions of Goose.
#[test]
fn a_view_with_the_name_of_another_agents_table_hides_nothing() {
    let scratch = Scratch::new();
    let database = scratch.make(&format!("{SCHEMA}{ROWS}"));
    database.execute_batch("CREATE VIEW session AS SELECT id FROM sessions").expect("a view");
    drop(database);
    assert_eq!(read(&scratch.path()).expect("documents").0.len(), 2);
}

#[test]
fn a_damaged_page_hides_no_row_of_another() {
    let scratch = Scratch::new();
    let database = scratch.make(&format!("{SCHEMA}{ROWS}BEGIN;"));
    for number in 0..2000 {
        let sql = format!(
            "INSERT INTO messages (session_id, role, content_json, created_timestamp)
               VALUES ('20261118_1', 'user', '[{{\"type\":\"text\",\"text\":\"text-{number}-text\"}}]', {number})"
        );
        database.execute_batch(&sql).expect("a row");
    }
    database.execute_batch("COMMIT").expect("rows");
    let page: usize = database.query_row("PRAGMA page_size", [], |row| row.get(0)).expect("a size");
    drop(database);
    let mut bytes = fs::read(scratch.path()).expect("bytes");
    let place = b"text-1000-text";
    let at = bytes.windows(place.len()).position(|window| window == place).expect("it is there");
    let start = at / page * page;
    bytes[start..start + page].fill(0x5a);
    fs::write(scratch.path(), bytes).expect("written");
    let (documents, damage) = read(&scratch.path()).expect("documents");
    let is_named =
        |error: &ArchiveError| error.to_string().contains("not all rows of `messages` can be read");
    assert!(damage.iter().any(is_named), "{damage:?}");
    let all: String = documents.iter().map(|(_, text)| text.as_str()).collect();
    let found = (0..2000).filter(|number| all.contains(&format!("text-{number}-text"))).count();
    assert!(found > 1900, "{found}");
    assert!(all.contains("text-0-text") && all.contains("text-1999-text"));
}

/// Older versions have neither the table of calls nor most columns.
#[test]
fn a_database_of_an_older_version_is_read() {
    let scratch = Scratch::new();
    drop(scratch.make(
        "CREATE TABLE sessions (id TEXT PRIMARY KEY, description TEXT, working_dir TEXT NOT NULL);
         CREATE TABLE messages (id INTEGER PRIMARY KEY, session_id TEXT, role TEXT, content_json TEXT, created_timestamp INTEGER);
         INSERT INTO sessions VALUES ('20250901_120000', 'Tides', '/srv');
         INSERT INTO messages VALUES (1, '20250901_120000', 'user', '[]', 5);",
    ));
    let (documents, damage) = read(&scratch.path()).expect("documents");
    assert!(damage.is_empty(), "{damage:?}");
    assert_eq!(
        documents[0].1,
        "{\"id\":\"20250901_120000\",\"working_dir\":\"/srv\",\"description\":\"Tides\",\"message_count\":1,\"conversation\":[{\"role\":\"user\",\"created\":5,\"content\":[]}]}\n"
    );
}
