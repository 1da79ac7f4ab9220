//! A database and a tree with the same session yield the same document; credentials are in neither, and the user's
//! files are not touched.
#![allow(missing_docs, reason = "not published")]
#![expect(clippy::expect_used, reason = "tests fail by panicking")]

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use interlingua::dialects::{Dialect, Options, Role};
use interlingua::error::Code;
use interlingua::pipe::Pipe;
use interlingua_sessions::{ArchiveError, SessionStore};
use rusqlite::Connection;

/// A folder for one test, removed afterwards.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("archive-test-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).expect("a folder");
        Self(path)
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.0.join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        fs::write(path, text).expect("a file");
    }

    /// All files with their bytes.
    fn files(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let mut files = Vec::new();
        let mut folders = vec![self.0.clone()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).expect("a folder") {
                let path = entry.expect("an entry").path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    files.push((path.clone(), fs::read(path).expect("a file")));
                }
            }
        }
        files.sort();
        files
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

const SCHEMA: &str = "
CREATE TABLE account (id text PRIMARY KEY, email text, access_token text, refresh_token text);
CREATE TABLE credential (id text PRIMARY KEY, label text, value text);
CREATE TABLE session_share (session_id text PRIMARY KEY, id text, secret text, url text);
CREATE TABLE project (id text PRIMARY KEY, worktree text NOT NULL, vcs text, name text, sandboxes text NOT NULL);
CREATE TABLE session (id text PRIMARY KEY, project_id text NOT NULL, parent_id text, slug text NOT NULL,
  directory text NOT NULL, title text NOT NULL, version text NOT NULL, share_url text, permission text,
  cost real DEFAULT 0 NOT NULL, tokens_input integer DEFAULT 0 NOT NULL, tokens_output integer DEFAULT 0 NOT NULL,
  tokens_reasoning integer DEFAULT 0 NOT NULL, tokens_cache_read integer DEFAULT 0 NOT NULL,
  tokens_cache_write integer DEFAULT 0 NOT NULL, time_created integer NOT NULL, time_updated integer NOT NULL);
CREATE TABLE message (id text PRIMARY KEY, session_id text NOT NULL, time_created integer NOT NULL, data text NOT NULL);
CREATE TABLE part (id text PRIMARY KEY, message_id text NOT NULL, session_id text NOT NULL, data text NOT NULL);
CREATE TABLE todo (session_id text, content text, status text, priority text, position integer);
INSERT INTO account VALUES ('a', 'me@example.org', 'TOPSECRET-access', 'TOPSECRET-refresh');
INSERT INTO credential VALUES ('c', 'key', 'TOPSECRET-value');
INSERT INTO session_share VALUES ('ses_1', 'x', 'TOPSECRET-share', 'https://opncd.ai/share/x');
INSERT INTO project VALUES ('p1', '/proj/shop', 'git', NULL, '[]');
";

const ROWS: &str = r#"
INSERT INTO session (id, project_id, slug, directory, title, version, share_url, permission, time_created, time_updated)
  VALUES ('ses_1', 'p1', 'calm-fox', '/proj/shop', 'A "quoted" title', '1.1.44', 'https://opncd.ai/share/x',
    '[{"permission":"edit","pattern":"*","action":"ask"}]', 1000, 2000),
  ('ses_0', 'p1', 'old-fox', '/proj/shop', 'Older', '1.1.44', NULL, NULL, 500, 600);
INSERT INTO message VALUES
  ('msg_2', 'ses_1', 1100, '{"role":"assistant","parentID":"msg_1","modelID":"m","providerID":"x","mode":"build","agent":"build","path":{"cwd":"/proj/shop","root":"/"},"cost":0.5,"tokens":{"input":1,"output":2,"reasoning":0,"cache":{"read":0,"write":0}},"time":{"created":1100,"completed":1150},"finish":"stop"}'),
  ('msg_1', 'ses_1', 1050, '{"role":"user","time":{"created":1050},"agent":"build","model":{"providerID":"x","modelID":"m"}}');
INSERT INTO part VALUES
  ('prt_3', 'msg_2', 'ses_1', '{"type":"text","text":"Hello","time":{"start":1120,"end":1130}}'),
  ('prt_2', 'msg_2', 'ses_1', '{"type":"step-start","snapshot":"abc"}'),
  ('prt_1', 'msg_1', 'ses_1', '{"type":"text","text":"Hi  there\n"}');
INSERT INTO todo VALUES ('ses_1', 'second', 'pending', 'low', 1), ('ses_1', 'first', 'completed', 'high', 0);
"#;

/// A database whose rows are only in its write-ahead log, as a running program leaves it. The connection must stay
/// open.
fn database(scratch: &Scratch) -> (PathBuf, Connection) {
    let path = scratch.0.join("opencode.db");
    let connection = Connection::open(&path).expect("a database");
    connection.pragma_update(None, "journal_mode", "wal").expect("a log");
    connection.pragma_update(None, "wal_autocheckpoint", 0).expect("no checkpoints");
    connection.execute_batch(SCHEMA).expect("tables");
    connection.execute_batch(ROWS).expect("rows");
    assert!(fs::metadata(scratch.0.join("opencode.db-wal")).is_ok_and(|log| log.len() > 0));
    (path, connection)
}

/// The same sessions as an indented tree, with ids where OpenCode puts them.
fn tree(scratch: &Scratch) -> PathBuf {
    scratch.write(
        "storage/project/p1.json",
        "{\n  \"id\": \"p1\",\n  \"worktree\": \"/proj/shop\",\n  \"vcs\": \"git\",\n  \"sandboxes\": []\n}",
    );
    scratch.write(
        "storage/session/p1/ses_1.json",
        r#"{
  "id": "ses_1", "slug": "calm-fox", "version": "1.1.44", "projectID": "p1", "directory": "/proj/shop",
  "title": "A \"quoted\" title", "time": {"created": 1000, "updated": 2000},
  "permission": [{"permission": "edit", "pattern": "*", "action": "ask"}],
  "share": {"secret": "TOPSECRET-share", "url": "https://opncd.ai/share/x"}
}"#,
    );
    scratch.write("storage/session/p1/ses_0.json", r#"{"id": "ses_0", "slug": "old-fox", "version": "1.1.44", "projectID": "p1", "directory": "/proj/shop", "title": "Older", "time": {"created": 500, "updated": 600}}"#);
    scratch.write(
        "storage/message/ses_1/msg_1.json",
        r#"{
  "id": "msg_1", "sessionID": "ses_1", "role": "user", "time": {"created": 1050}, "agent": "build",
  "model": {"providerID": "x", "modelID": "m"}
}"#,
    );
    scratch.write("storage/message/ses_1/msg_2.json", r#"{
  "id": "msg_2", "sessionID": "ses_1", "role": "assistant", "parentID": "msg_1", "modelID": "m", "providerID": "x", "mode": "build",
  "agent": "build", "path": {"cwd": "/proj/shop", "root": "/"}, "cost": 0.5,
  "tokens": {"input": 1, "output": 2, "reasoning": 0, "cache": {"read": 0, "write": 0}},
  "time": {"created": 1100, "completed": 1150}, "finish": "stop"
}"#);
    scratch.write("storage/part/msg_1/prt_1.json", r#"{"id": "prt_1", "sessionID": "ses_1", "messageID": "msg_1", "type": "text", "text": "Hi  there\n"}"#);
    scratch.write("storage/part/msg_2/prt_2.json", r#"{"id": "prt_2", "sessionID": "ses_1", "messageID": "msg_2", "type": "step-start", "snapshot": "abc"}"#);
    scratch.write("storage/part/msg_2/prt_3.json", r#"{"id": "prt_3", "sessionID": "ses_1", "messageID": "msg_2", "type": "text", "text": "Hello", "time": {"start": 1120, "end": 1130}}"#);
    scratch.write("storage/todo/ses_1.json", "[\n {\"content\": \"first\", \"status\": \"completed\", \"priority\": \"high\"},\n {\"content\": \"second\", \"status\": \"pending\", \"priority\": \"low\"}\n]");
    scratch.0.join("storage")
}

/// The sessions of a store as documents.
fn documents(path: &Path) -> Vec<(String, String)> {
    let sessions = SessionStore::at(path).expect("a store").contents().expect("sessions").sessions;
    let read = |session: &interlingua_sessions::StoredSession| {
        let mut text = String::new();
        session.open().expect("a session").read_to_string(&mut text).expect("text");
        text
    };
    sessions.iter().map(|session| (session.id.clone(), read(session))).collect()
}

/// The record of a document with this many rows that hold no JSON object.
fn record(document: &str, unreadable: usize) -> String {
    let named = |name| (Dialect::named(name).expect("registered"), Role::Log);
    let mut pipe = Pipe::new(named("opencode"), named("record"), &Options::default()).expect("both are logs");
    let mut out = Vec::new();
    pipe.push(document.as_bytes(), &mut out);
    let report = pipe.finish(&mut out);
    assert_eq!((report.lost, report.problems.len()), (0, unreadable), "{:?}", report.problems);
    assert!(report.problems.iter().all(|problem| problem.code == Code::InvalidJson));
    String::from_utf8(out).expect("text")
}

#[test]
fn a_database_and_a_tree_give_the_same_sessions_without_credentials() {
    let scratch = Scratch::new("same");
    let (database, open) = database(&scratch);
    let tree = tree(&scratch);
    let before = scratch.files();
    let (of_database, of_tree) = (documents(&database), documents(&tree));
    assert!(scratch.files() == before, "nothing of the user's is touched");
    drop(open);

    assert_eq!(of_database.iter().map(|(id, _)| id.as_str()).collect::<Vec<_>>(), ["ses_0", "ses_1"]);
    assert_eq!(of_database, of_tree);
    let (_, document) = &of_database[1];
    assert!(document.starts_with(r#"{"info":{"id":"ses_1","slug":"calm-fox","projectID":"p1","directory":"/proj/shop","title":"A \"quoted\" title""#), "{document}");
    assert!(
        document.contains(r#""messages":[{"info":{"id":"msg_1","sessionID":"ses_1","role":"user""#),
        "{document}"
    );
    assert!(
        document.contains(
            r#"{"id":"prt_1","sessionID":"ses_1","messageID":"msg_1","type":"text","text":"Hi  there\n"}"#
        ),
        "{document}"
    );
    assert!(document.ends_with("\"todo\":[{\"content\":\"first\",\"status\":\"completed\",\"priority\":\"high\"},{\"content\":\"second\",\"status\":\"pending\",\"priority\":\"low\"}]}\n"), "{document}");
    for (_, document) in &of_database {
        let record = record(document, 0);
        for text in [document, &record] {
            assert!(!text.contains("TOPSECRET") && !text.contains("me@example.org"), "{text}");
        }
    }
}

#[test]
fn copies_are_private_and_do_not_stay() {
    let scratch = Scratch::new("private");
    let (database, _open) = database(&scratch);
    let ours = |entry: &fs::DirEntry| {
        let begin = format!("interlingua-{}-", std::process::id());
        entry.file_name().to_string_lossy().starts_with(&begin)
    };
    let sessions = SessionStore::at(&database).expect("a store").contents().expect("sessions").sessions;
    #[cfg(unix)]
    for entry in fs::read_dir(std::env::temp_dir()).expect("a folder").flatten().filter(ours) {
        use std::os::unix::fs::PermissionsExt as _;
        // Another test may have removed its own folder meanwhile.
        if let Ok(meta) = entry.metadata() {
            assert_eq!(meta.permissions().mode() & 0o777, 0o700);
        }
    }
    let session = sessions.into_iter().next().expect("a session");
    let mut reader = session.open().expect("a reader");
    drop(session);
    // The copy exists as long as a reader uses it.
    let mut text = String::new();
    reader.read_to_string(&mut text).expect("text");
    assert!(text.contains("ses_0"));
}

#[test]
fn a_damaged_database_is_a_clear_error() {
    let scratch = Scratch::new("damaged");
    let (path, open) = database(&scratch);
    open.pragma_update(None, "wal_checkpoint", "TRUNCATE").ok();
    open.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").ok();
    drop(open);
    let mut bytes = fs::read(&path).expect("bytes");
    for byte in bytes.iter_mut().skip(100) {
        *byte = 0x5a;
    }
    fs::write(&path, bytes).expect("written");
    let error = SessionStore::at(&path).expect("a store").contents().expect_err("damaged");
    assert!(matches!(error, ArchiveError::Damaged(..)), "{error}");
    assert!(error.to_string().contains("is a damaged database"), "{error}");
}

#[test]
fn odd_files_of_a_tree_are_in_a_document() {
    let scratch = Scratch::new("odd-files");
    let tree = tree(&scratch);
    scratch.write(
        "storage/part/msg_9/prt_9.json",
        r#"{"id":"prt_9","sessionID":"ses_1","messageID":"msg_9","type":"text","text":"no message"}"#,
    );
    scratch.write("storage/part/msg_8/prt_8.json", r#"{"type":"text","text":"no session"}"#);
    scratch.write(
        "storage/session/p2/ses_1.json",
        r#"{"id":"ses_1","title":"the second","time":{"created":9}}"#,
    );
    scratch.write(
        "storage/message/ses_1/msg_3.json",
        r#"{"id":"another","role":"user","time":{"created":1200}}"#,
    );
    fs::write(tree.join("part/msg_1/prt_0.json"), b"{\"type\":\"text\",\"text\":\"\xff\"}").expect("a file");
    let documents = documents(&tree);
    assert_eq!(documents.len(), 4, "{documents:?}");
    let all: String = documents.iter().map(|(_, document)| document.as_str()).collect();
    for text in ["no message", "no session", "the second", "{\"id\":\"another\"}", "ff227d", "Hello"] {
        assert_eq!(all.matches(text).count(), 1, "{text}: {all}");
    }
}

#[test]
fn other_databases_are_not_taken_for_opencodes() {
    let scratch = Scratch::new("other");
    let path = scratch.0.join("other.db");
    let connection = Connection::open(&path).expect("a database");
    connection.execute_batch("CREATE TABLE cookies (secret text)").expect("a table");
    let error = SessionStore::at(&path).expect("a database").contents().expect_err("not OpenCode's");
    assert!(matches!(error, ArchiveError::NotStore(_)), "{error}");
    assert!(SessionStore::at(&scratch.0).is_none());
}

#[test]
fn damaged_rows_and_missing_files_lose_nothing_else() {
    let scratch = Scratch::new("rows");
    let tree = tree(&scratch);
    scratch.write("storage/part/msg_2/prt_3.json", "{\"id\": \"prt_3\", \"type\": \"te");
    fs::remove_file(tree.join("session/p1/ses_1.json")).expect("removed");
    let documents = documents(&tree);
    let (id, document) = documents.iter().find(|(id, _)| id == "ses_1").expect("found by its messages");
    assert!(document.starts_with("{\"info\":{\"id\":\"ses_1\"}"), "{id}: {document}");
    assert!(
        document.contains(r#""type":"unreadable","raw":"{\"id\": \"prt_3\", \"type\": \"te"#),
        "{document}"
    );
    assert!(record(document, 1).contains("\"event-type\":\"unreadable\""));
}

/// A project id that is a path leads to no file, within the tree or outside.
#[test]
fn the_id_of_a_project_is_no_path() {
    let scratch = Scratch::new("project-path");
    let path = tree(&scratch);
    let file = r#"{"id": "p1", "worktree": "/elsewhere/MARKED"}"#;
    for place in ["outside/p1.json", "storage/p1.json", "storage/project/inner/p1.json"] {
        scratch.write(place, file);
    }
    let absolute = scratch.0.join("outside/p1").to_string_lossy().into_owned();
    let session = fs::read_to_string(path.join("session/p1/ses_1.json")).expect("a session");
    for id in
        ["../p1", "../../outside/p1", "inner/p1", "./inner/p1", "inner/../../p1", &absolute, ".", "..", ""]
    {
        let other = session.replace("\"projectID\": \"p1\"", &format!("\"projectID\": \"{id}\""));
        assert_ne!(other, session);
        scratch.write("storage/session/p1/ses_1.json", &other);
        for (_, document) in documents(&path) {
            assert!(!document.contains("MARKED"), "{id}: {document}");
        }
    }
    // A file of that text is found by its plain name.
    scratch.write("storage/session/p1/ses_1.json", &session);
    scratch.write("storage/project/p1.json", file);
    assert!(documents(&path).iter().any(|(_, document)| document.contains("MARKED")));
}

/// Parts of two messages with one id are parts of the first message, whichever row comes first.
#[test]
fn the_parts_of_two_messages_of_one_id_are_in_the_first() {
    for times in [[1, 2], [2, 1]] {
        let scratch = Scratch::new("same-id");
        let path = scratch.0.join("opencode.db");
        let connection = Connection::open(&path).expect("a database");
        connection
            .execute_batch(&SCHEMA.replace("message (id text PRIMARY KEY", "message (id text"))
            .expect("tables");
        connection
            .execute_batch(&format!(
                r#"INSERT INTO session (id, project_id, slug, directory, title, version, time_created, time_updated)
                     VALUES ('ses_1', 'p1', 's', '/w', 'T', '1', 1, 2);
                   INSERT INTO message VALUES ('msg_1', 'ses_1', {}, '{{"role":"user","order":"{}"}}'),
                     ('msg_1', 'ses_1', {}, '{{"role":"user","order":"{}"}}');
                   INSERT INTO part VALUES ('prt_1', 'msg_1', 'ses_1', '{{"type":"text","text":"hello"}}');"#,
                times[0], times[0], times[1], times[1]
            ))
            .expect("rows");
        let (_, document) = documents(&path).remove(0);
        let [first, part, second] =
            [r#""order":"1""#, "hello", r#""order":"2""#].map(|text| document.find(text));
        assert!(first.is_some() && first < part && part < second, "{times:?}: {document}");
    }
}
