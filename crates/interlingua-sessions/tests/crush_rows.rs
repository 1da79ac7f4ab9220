//! Databases of Crush: every row is in the document of its session, and no view or trigger runs.
#![allow(missing_docs, reason = "not published")]
#![expect(clippy::expect_used, reason = "tests fail by panicking")]

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use interlingua::dialects::{Dialect, Options, Role};
use interlingua::pipe::Pipe;
use interlingua_sessions::{ArchiveError, InputPlace, MOST_UNPACKED, SessionStore, SourceHints};
use proptest::prelude::*;
use rusqlite::Connection;
use rusqlite::types::Value as SqlValue;
use serde_json::{Value, json};

/// The folder of a project for one test, removed afterwards.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("crush-rows-{}-{number}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(path.join(".crush")).expect("a folder");
        Self(path)
    }

    fn path(&self) -> PathBuf {
        self.0.join(".crush/crush.db")
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
type Documents = (Vec<(String, Value)>, Vec<ArchiveError>);

fn read(path: &Path) -> Result<Documents, ArchiveError> {
    let contents = SessionStore::at(path).expect("a database").contents()?;
    let mut documents = Vec::new();
    for session in &contents.sessions {
        assert_eq!(session.dialect().name, "crush");
        let mut text = String::new();
        session
            .open()?
            .read_to_string(&mut text)
            .map_err(|error| ArchiveError::Io(path.to_owned(), error))?;
        let document = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
        documents.push((session.id.clone(), document));
    }
    Ok((documents, contents.damage))
}

/// The tables of Crush of 2026.
const SCHEMA: &str = "
CREATE TABLE goose_db_version (id INTEGER PRIMARY KEY AUTOINCREMENT, version_id INTEGER, is_applied INTEGER);
CREATE TABLE sessions (id TEXT PRIMARY KEY, parent_session_id TEXT, title TEXT NOT NULL,
  message_count INTEGER NOT NULL DEFAULT 0, prompt_tokens INTEGER NOT NULL DEFAULT 0,
  completion_tokens INTEGER NOT NULL DEFAULT 0, cost REAL NOT NULL DEFAULT 0.0, updated_at INTEGER NOT NULL,
  created_at INTEGER NOT NULL, summary_message_id TEXT, todos TEXT);
CREATE TABLE files (id TEXT PRIMARY KEY, session_id TEXT NOT NULL, path TEXT NOT NULL, content TEXT NOT NULL,
  version INTEGER NOT NULL DEFAULT 0, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL);
CREATE TABLE messages (id TEXT PRIMARY KEY, session_id TEXT NOT NULL, role TEXT NOT NULL,
  parts BLOB NOT NULL default '[]', model TEXT, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL,
  finished_at INTEGER, provider TEXT, is_summary_message INTEGER DEFAULT 0 NOT NULL);
CREATE TABLE read_files (session_id TEXT NOT NULL, path TEXT NOT NULL, read_at INTEGER NOT NULL,
  PRIMARY KEY (path, session_id));
CREATE INDEX idx_messages_session_id ON messages (session_id);
CREATE TRIGGER update_sessions AFTER UPDATE ON sessions BEGIN UPDATE sessions SET updated_at = 0; END;
CREATE TABLE tokens (provider TEXT, secret TEXT);
INSERT INTO tokens VALUES ('anthropic', 'TOPSECRET');
";

const ROWS: &str = r#"
INSERT INTO sessions (id, parent_session_id, title, prompt_tokens, cost, updated_at, created_at, todos) VALUES
  ('late$$call_1', 's', 'Agent', 0, 0.0, 40, 31, NULL),
  ('s', NULL, 'Tides', 210, 0.5, 50, 10, '[{"content":"x"}]');
INSERT INTO messages (id, session_id, role, parts, model, created_at, updated_at, provider) VALUES
  ('late', 's', 'assistant', '[{"type":"text","data":{"text":"At six."}}]', 'm', 30, 30, 'anthropic'),
  ('early', 's', 'user', '[ {"type":"text", "data":{"text":"When?"}} ]', '', 20, 20, NULL),
  ('torn', 's', 'assistant', '[{"type":"te', 'm', 30, 30, NULL),
  ('inner', 'late$$call_1', 'user', '[]', '', 32, 32, NULL),
  ('lost', 'gone', 'user', '[]', '', 5, 5, NULL);
INSERT INTO files VALUES ('f', 's', '/w/a', '{"not": "parsed"}', 1, 33, 33);
INSERT INTO read_files VALUES ('s', '/w/a', 29);
"#;

#[test]
fn a_session_becomes_a_document_with_all_its_rows() {
    let scratch = Scratch::new();
    drop(scratch.make(&format!("{SCHEMA}{ROWS}")));
    let before = fs::read(scratch.path()).expect("bytes");
    let (documents, damage) = read(&scratch.path()).expect("documents");
    assert!(damage.is_empty(), "{damage:?}");
    assert!(fs::read(scratch.path()).expect("bytes") == before, "the user's file is not touched");
    let ids: Vec<&str> = documents.iter().map(|(id, _)| id.as_str()).collect();
    assert_eq!(ids, ["s", "late$$call_1", "gone"]);
    let folder = scratch.0.to_str();
    assert_eq!(
        documents[0].1,
        json!({
            "crush": {"id": "s", "title": "Tides", "message_count": 0, "prompt_tokens": 210, "completion_tokens": 0,
                "cost": 0.5, "updated_at": 50, "created_at": 10, "todos": [{"content": "x"}], "folder": folder},
            "rows": [
                {"id": "early", "role": "user", "parts": [{"type": "text", "data": {"text": "When?"}}], "model": "",
                    "created_at": 20, "updated_at": 20, "is_summary_message": 0},
                {"id": "late", "role": "assistant", "parts": [{"type": "text", "data": {"text": "At six."}}],
                    "model": "m", "created_at": 30, "updated_at": 30, "provider": "anthropic", "is_summary_message": 0},
                {"id": "torn", "role": "assistant", "parts": "[{\"type\":\"te", "model": "m", "created_at": 30,
                    "updated_at": 30, "is_summary_message": 0},
            ],
            "files": [{"id": "f", "content": "{\"not\": \"parsed\"}", "path": "/w/a", "version": 1, "created_at": 33,
                "updated_at": 33}],
            "read_files": [{"path": "/w/a", "read_at": 29}],
        })
    );
    let agent = &documents[1].1["crush"];
    assert_eq!((&agent["parent_session_id"], &agent["parent_call"]), (&json!("s"), &json!("call_1")));
    assert_eq!(documents[2].1["rows"][0]["id"], "lost");
    assert_eq!(documents[2].1["crush"], json!({"id": "gone", "folder": folder}));
    assert!(!format!("{documents:?}").contains("TOPSECRET"));
}

#[test]
fn a_session_is_read_through_the_path_of_the_database() {
    let scratch = Scratch::new();
    drop(scratch.make(&format!("{SCHEMA}{ROWS}")));
    let input = InputPlace::of(&scratch.path().join("s"));
    let opened = input.open(MOST_UNPACKED).expect("a session");
    let identity = opened.identify("s", &SourceHints::default()).expect("a dialect");
    assert_eq!(identity.dialect.name, "crush");
    // The document is detected alone, too.
    let document = opened.whole().expect("a short document");
    let found = interlingua::sniff::candidates(document, true);
    assert!(
        matches!(found.decide(), interlingua::sniff::Detection::Clear(guess) if guess.dialect.name == "crush")
    );
}

#[test]
fn unknown_columns_and_older_tables_are_read() {
    let scratch = Scratch::new();
    let older = "CREATE TABLE sessions (id TEXT PRIMARY KEY, title TEXT NOT NULL, updated_at INTEGER, created_at INTEGER);
        CREATE TABLE messages (id TEXT PRIMARY KEY, session_id TEXT, role TEXT, parts TEXT, mood TEXT, created_at INTEGER);
        INSERT INTO sessions VALUES ('s', 'T', 1, 1);
        INSERT INTO messages VALUES ('m', 's', 'user', '[]', 'calm', 2), ('n', NULL, 'user', '[]', NULL, 3);";
    drop(scratch.make(older));
    let (documents, damage) = read(&scratch.path()).expect("documents");
    assert!(damage.is_empty(), "{damage:?}");
    assert_eq!(documents[0].1["rows"][0]["mood"], "calm");
    assert_eq!(documents[1].0, "rows-without-session");
    assert_eq!(documents[1].1["rows"][0]["id"], "n");
    assert_eq!(documents[0].1.get("files"), None);
}

#[test]
fn a_view_with_the_name_of_a_table_is_refused() {
    let scratch = Scratch::new();
    drop(scratch.make(
        "CREATE TABLE other (id, session_id, role, parts); CREATE TABLE sessions (id TEXT, title TEXT);
         CREATE VIEW messages AS SELECT * FROM other;",
    ));
    assert!(matches!(read(&scratch.path()), Err(ArchiveError::Refused(..))));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Any values in any column give documents that the core reads, and every text is in one of them.
    #[test]
    fn any_rows_are_documents(rows in proptest::collection::vec((0..4_usize, proptest::collection::vec(value(), 5)), 1..12)) {
        let scratch = Scratch::new();
        let database = scratch.make("CREATE TABLE sessions (id, title, created_at, parent_session_id, more);
            CREATE TABLE messages (id, session_id, role, parts, created_at);
            CREATE TABLE files (id, session_id, path, content, created_at);
            CREATE TABLE read_files (session_id, path, read_at, a, b);");
        for (number, (table, values)) in rows.iter().enumerate() {
            let table = ["sessions", "messages", "files", "read_files"][*table];
            let mut values = values.clone();
            if number % 2 == 0 {
                values[1] = SqlValue::Text("s".to_owned());
            }
            let sql = format!("INSERT INTO {table} VALUES (?1, ?2, ?3, ?4, ?5)");
            database.execute(&sql, rusqlite::params_from_iter(values)).expect("a row");
        }
        drop(database);
        let (documents, damage) = read(&scratch.path()).expect("documents");
        prop_assert!(damage.is_empty(), "{damage:?}");
        let all = format!("{documents:?}");
        for (_, values) in &rows {
            for value in values.iter().skip(2) {
                if let SqlValue::Text(text) = value && text.starts_with("word") {
                    prop_assert!(all.contains(text.as_str()), "{text}");
                }
            }
        }
        let dialect = Dialect::named("crush").expect("a dialect");
        let record = Dialect::named("record").expect("a dialect");
        for (_, document) in documents {
            let mut pipe =
                Pipe::new((dialect, Role::Log), (record, Role::Log), &Options::default()).expect("a pipe");
            let mut out = Vec::new();
            pipe.push(document.to_string().as_bytes(), &mut out);
            let report = pipe.finish(&mut out);
            prop_assert_eq!(report.lost, 0);
        }
    }
}

fn value() -> impl Strategy<Value = SqlValue> {
    prop_oneof![
        Just(SqlValue::Null),
        any::<i64>().prop_map(SqlValue::Integer),
        any::<f64>().prop_map(SqlValue::Real),
        "word[a-z]{6}".prop_map(SqlValue::Text),
        Just(SqlValue::Text("[{\"type\":\"text\",\"data\":{\"text\":\"x\"}}]".to_owned())),
        Just(SqlValue::Text("user".to_owned())),
        proptest::collection::vec(any::<u8>(), 0..6).prop_map(SqlValue::Blob),
    ]
}
