//! The database of Cursor's editor: each row of a composer is in one document, and no other table is read.
#![allow(missing_docs, reason = "not published")]
#![expect(clippy::expect_used, reason = "tests fail by panicking")]

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use interlingua_sessions::{ArchiveError, InputPlace, MOST_UNPACKED, SessionStore, SourceHints};
use proptest::prelude::*;
use rusqlite::Connection;
use rusqlite::types::Value as SqlValue;
use serde_json::{Value, json};

/// A folder for one test, removed afterwards.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("cursor-database-{}-{number}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).expect("a folder");
        Self(path)
    }

    fn path(&self) -> PathBuf {
        self.0.join("state.vscdb")
    }

    /// A database as Cursor creates it.
    fn database(&self) -> Connection {
        let database = Connection::open(self.path()).expect("a database");
        database.pragma_update(None, "synchronous", false).expect("a setting");
        database
            .execute_batch(
                "CREATE TABLE ItemTable (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB);
                 CREATE TABLE cursorDiskKV (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB);
                 INSERT INTO ItemTable VALUES ('cursorAuth/accessToken', 'TOPSECRET');",
            )
            .expect("tables");
        database
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn put(database: &Connection, key: &str, value: &Value) {
    let sql = "INSERT INTO cursorDiskKV VALUES (?1, ?2)";
    database.execute(sql, (key, value.to_string().into_bytes())).expect("a row");
}

/// Ids and documents.
type Documents = Vec<(String, String)>;

/// All documents with their ids, and the errors.
fn read(path: &Path) -> Result<(Documents, Vec<ArchiveError>), ArchiveError> {
    let contents = SessionStore::at(path).expect("a database").contents()?;
    let mut documents = Vec::new();
    for session in &contents.sessions {
        assert_eq!(session.dialect().name, "cursor-db");
        let mut text = String::new();
        session
            .open()?
            .read_to_string(&mut text)
            .map_err(|error| ArchiveError::Io(path.to_owned(), error))?;
        serde_json::from_str::<Value>(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
        documents.push((session.id.clone(), text));
    }
    Ok((documents, contents.damage))
}

#[test]
fn bubbles_are_in_the_order_of_the_headers() {
    let scratch = Scratch::new();
    let database = scratch.database();
    put(&database, "bubbleId:c1:b3", &json!({"bubbleId": "b3", "type": 2, "text": "third"}));
    put(&database, "bubbleId:c1:b1", &json!({"type": 1, "text": "first"}));
    put(&database, "bubbleId:c1:b9", &json!({"type": 2, "text": "not shown"}));
    put(&database, "bubbleId:c1:b2", &json!({"type": 2, "text": "second"}));
    let headers = json!([{"bubbleId": "b1"}, {"bubbleId": "b2"}, {"bubbleId": "gone"}, {"bubbleId": "b3"}]);
    put(
        &database,
        "composerData:c1",
        &json!({"composerId": "c1", "name": "T", "fullConversationHeadersOnly": headers}),
    );
    put(&database, "checkpointId:c1:k", &json!({"files": []}));
    put(&database, "agentKv:blob:0a1b", &json!({"content": "no row of a composer"}));
    drop(database);
    let (documents, damage) = read(&scratch.path()).expect("documents");
    assert!(damage.is_empty(), "{damage:?}");
    assert_eq!(documents.len(), 1, "{documents:?}");
    let (id, text) = &documents[0];
    assert_eq!(id, "c1");
    let found: Value = serde_json::from_str(text).expect("a document");
    let texts: Vec<_> =
        found["bubbles"].as_array().expect("bubbles").iter().map(|bubble| &bubble["text"]).collect();
    assert_eq!(texts, ["first", "second", "third"]);
    assert_eq!(found["bubbles"][0]["bubbleId"], "b1", "the id of the key");
    assert_eq!(found["composer"]["name"], "T");
    let rows: Vec<_> = found["rows"].as_array().expect("rows").iter().map(|row| &row["key"]).collect();
    assert_eq!(rows, ["bubbleId:c1:b9", "checkpointId:c1:k"]);
    assert!(!text.contains("TOPSECRET") && !text.contains("no row of a composer"), "{text}");
}

#[test]
fn a_session_is_read_through_the_path_of_the_database() {
    let scratch = Scratch::new();
    let database = scratch.database();
    put(
        &database,
        "composerData:c1",
        &json!({"composerId": "c1", "fullConversationHeadersOnly": [{"bubbleId": "b"}]}),
    );
    put(&database, "bubbleId:c1:b", &json!({"type": 1, "text": "Hello"}));
    drop(database);
    let place = InputPlace::of(&scratch.path().join("c1"));
    let opened = place.open(MOST_UNPACKED).expect("an input");
    let identity = opened.identify(&place.name(), &SourceHints::default()).expect("a dialect");
    assert_eq!(identity.dialect.name, "cursor-db");
    assert!(String::from_utf8_lossy(opened.whole().expect("a small document")).contains("Hello"));
}

#[test]
fn a_row_that_is_no_json_hides_no_other() {
    let scratch = Scratch::new();
    let database = scratch.database();
    database
        .execute_batch(
            "INSERT INTO cursorDiskKV VALUES ('composerData:c1', 'torn {');
             INSERT INTO cursorDiskKV VALUES ('bubbleId:c1:a', X'fffe');
             INSERT INTO cursorDiskKV VALUES ('bubbleId:c1:b', NULL);
             INSERT INTO cursorDiskKV VALUES ('bubbleId:c1:c', '{\"type\":2,\"text\":\"sound\"}');",
        )
        .expect("rows");
    drop(database);
    let (documents, _) = read(&scratch.path()).expect("documents");
    let found: Value = serde_json::from_str(&documents[0].1).expect("a document");
    assert_eq!(found["composer"]["raw"], "torn {");
    let bubbles = found["bubbles"].as_array().expect("bubbles");
    assert_eq!(bubbles.len(), 3, "{found}");
    assert_eq!(bubbles[0]["notUtf8"], json!([["value", "fffe"]]));
    assert_eq!(bubbles[2]["text"], "sound");
}

#[test]
fn views_are_refused_and_unknown_columns_are_kept() {
    let scratch = Scratch::new();
    let database = Connection::open(scratch.path()).expect("a database");
    let endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n)";
    database
        .execute_batch(&format!(
            "CREATE VIEW cursorDiskKV AS {endless} SELECT 'composerData:' || x AS key, x AS value FROM n"
        ))
        .expect("a view");
    drop(database);
    let error = read(&scratch.path()).expect_err("refused");
    assert!(error.to_string().contains("`cursorDiskKV` is a view"), "{error}");
    let scratch = Scratch::new();
    let database = Connection::open(scratch.path()).expect("a database");
    database
        .execute_batch(
            "CREATE TABLE cursorDiskKV (key, value, extra);
             INSERT INTO cursorDiskKV VALUES ('composerData:c1', '{}', 'more');
             INSERT INTO cursorDiskKV VALUES ('composerData:c1', '{\"second\":1}', NULL);",
        )
        .expect("rows");
    drop(database);
    let (documents, _) = read(&scratch.path()).expect("documents");
    let found: Value = serde_json::from_str(&documents[0].1).expect("a document");
    assert_eq!(found["composer"]["extra"], "more", "{found}");
    assert_eq!(found["rows"][0]["value"], json!({"second": 1}), "{found}");
}

fn key() -> impl Strategy<Value = String> {
    let id = prop_oneof![Just("c1"), Just("c2"), Just("c:3"), Just("")];
    let sort = prop_oneof![4 => Just("bubbleId"), 2 => Just("composerData"), 1 => Just("checkpointId")];
    (sort, id, 0..6_u8).prop_map(|(sort, id, number)| match sort {
        "composerData" => format!("composerData:{id}"),
        _ => format!("{sort}:{id}:b{number}"),
    })
}

fn value() -> impl Strategy<Value = SqlValue> {
    prop_oneof![
        3 => any::<u32>().prop_map(|number| SqlValue::Text(json!({"type": 2, "text": format!("text-{number}-")}).to_string())),
        1 => any::<u32>().prop_map(|number| SqlValue::Blob(json!({"bubbleId": "other", "text": format!("text-{number}-")}).to_string().into_bytes())),
        1 => any::<u32>().prop_map(|number| SqlValue::Text(format!("{{\"text-{number}-"))),
        1 => Just(SqlValue::Text(json!({"fullConversationHeadersOnly": [{"bubbleId": "b3"}, {"bubbleId": "b1"}, {}]}).to_string())),
        1 => (100_000_000..200_000_000_i64).prop_map(SqlValue::Integer),
        1 => Just(SqlValue::Null),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_row_of_a_composer_is_in_a_document(rows in prop::collection::vec((key(), value()), 0..16)) {
        let scratch = Scratch::new();
        let database = Connection::open(scratch.path()).expect("a database");
        database.pragma_update(None, "synchronous", false).expect("a setting");
        database.execute_batch("CREATE TABLE cursorDiskKV (key, value)").expect("a table");
        for (key, value) in &rows {
            database.execute("INSERT INTO cursorDiskKV VALUES (?1, ?2)", (key, value)).expect("a row");
        }
        drop(database);
        let (documents, damage) = read(&scratch.path()).expect("documents");
        prop_assert!(damage.is_empty(), "{:?}", damage);
        let known = |key: &str| {
            let id = key.split(':').nth(1).unwrap_or_default();
            let makes = |key: &str| key.starts_with("bubbleId:") || key.starts_with("composerData:") && key.matches(':').count() == 1;
            rows.iter().any(|(key, _)| makes(key) && key.split(':').nth(1) == Some(id))
        };
        let all: String = documents.iter().map(|(_, text)| text.as_str()).collect();
        let mut count = 0;
        for (key, value) in rows.iter().filter(|(key, _)| known(key)) {
            count += 1;
            let text = match value {
                SqlValue::Text(text) => text.clone(),
                SqlValue::Blob(bytes) => String::from_utf8_lossy(bytes).into_owned(),
                SqlValue::Integer(number) => number.to_string(),
                SqlValue::Null | SqlValue::Real(_) => continue,
            };
            for word in text.split('"').filter(|word| word.starts_with("text-") && word.len() > 5 || word.parse::<u32>().is_ok()) {
                prop_assert!(all.contains(word), "{}: {} is not in {}", key, word, all);
            }
        }
        let lists = |text: &str| {
            let found: Value = serde_json::from_str(text).expect("a document");
            let length = |name: &str| found[name].as_array().map_or(0, Vec::len);
            length("bubbles") + length("rows")
        };
        let read: usize = documents.iter().map(|(_, text)| lists(text)).sum();
        let composers: std::collections::BTreeSet<_> =
            rows.iter().filter(|(key, _)| key.starts_with("composerData:") && key.matches(':').count() == 1).map(|(key, _)| key).collect();
        prop_assert_eq!(read + composers.len(), count, "{}", all);
    }
}
