//! Chat histories of Aider: each session is a document, and the documents hold every byte of the history.
//!
//! `INTERLINGUA_BLESS=1` writes the documents of the recorded histories into the fixtures of the dialect.
#![allow(missing_docs, reason = "not published")]
#![expect(clippy::expect_used, reason = "tests fail by panicking")]

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use interlingua_sessions::{
    InputPlace, MOST_UNPACKED, SessionStore, SourceError, SourceHints, StoredSession, find,
};
use proptest::prelude::*;
use serde_json::{Deserializer, Value, json};

/// The recorded histories, and the fixtures with their documents.
const RECORDED: [&str; 2] = ["tide", "lint"];

fn recorded(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/aider").join(format!("{name}.md"));
    fs::read(path).expect("a history")
}

/// A folder for one test, removed afterwards.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("aider-history-{}-{number}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).expect("a folder");
        Self(path)
    }

    fn file(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.0.join(name);
        fs::write(&path, bytes).expect("a file");
        path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The ids and documents of the sessions in a history.
fn sessions(bytes: &[u8]) -> Vec<(String, Value)> {
    let parsed = |text: &str| serde_json::from_str(text).expect("JSON");
    texts(bytes).into_iter().map(|(id, text)| (id, parsed(&text))).collect()
}

fn texts(bytes: &[u8]) -> Vec<(String, String)> {
    let scratch = Scratch::new();
    let path = scratch.file("history.md", bytes);
    let contents = SessionStore::at(&path).expect("a history").contents().expect("sessions");
    assert!(contents.damage.is_empty());
    let read = |session: &StoredSession| {
        assert_eq!(session.dialect().name, "aider");
        let mut text = String::new();
        session.open().expect("a session").read_to_string(&mut text).expect("a document");
        (session.id.clone(), text)
    };
    contents.sessions.iter().map(read).collect()
}

/// The entries of a history with one session.
fn entries(body: &str) -> Vec<Value> {
    let found = sessions(format!("\n# aider chat started at 2026-11-18 20:00:49\n\n{body}").as_bytes());
    assert_eq!(found.len(), 1);
    found[0].1["entries"].as_array().expect("entries").clone()
}

/// The kinds and texts of entries.
fn brief(entries: &[Value]) -> Vec<(&str, &str)> {
    entries
        .iter()
        .map(|entry| (entry["kind"].as_str().expect("a kind"), entry["text"].as_str().expect("a text")))
        .collect()
}

/// The Markdown of a document, written from the description of the format alone.
fn restored(document: &Value) -> Vec<u8> {
    let newline = document["aider"]["newline"].as_str().unwrap_or("\n");
    let mut bytes = of_member(
        &document["aider"],
        || {
            let started = document["aider"]["started"].as_str().unwrap_or_default();
            format!("\n# aider chat started at {started}\n\n")
        },
        newline,
    );
    for entry in document["entries"].as_array().expect("entries") {
        let usual = || {
            let text = entry["text"].as_str().expect("a text");
            let each = |mark: &str| {
                let lines: Vec<String> = text
                    .split('\n')
                    .map(|line| format!("{}  \n", format!("{mark}{line}").trim_end()))
                    .collect();
                lines.concat()
            };
            match entry["kind"].as_str().expect("a kind") {
                "user" if text.is_empty() => "\n####  \n".to_owned(),
                "user" | "command" | "blank" => {
                    // An empty line within a prompt keeps its space.
                    let lines: Vec<String> =
                        text.split('\n').map(|line| format!("#### {line}  \n")).collect();
                    format!("\n{}", lines.concat())
                }
                "assistant" => match entry["reasoning"].as_str() {
                    Some(reasoning) => {
                        let tag = "thinking-content-7bbeb8e1441453ad999a0bbba8a46d4b";
                        format!("\n<{tag}>\n\n{reasoning}\n\n</{tag}>\n\n{text}\n\n")
                    }
                    None => format!("\n{text}\n\n"),
                },
                _ => each("> "),
            }
        };
        bytes.extend(of_member(entry, usual, newline));
    }
    bytes
}

fn of_member(object: &Value, usual: impl Fn() -> String, newline: &str) -> Vec<u8> {
    if let Some(hex) = object["notUtf8"][0][1].as_str() {
        let digits = hex.as_bytes().chunks(2).map(|two| std::str::from_utf8(two).expect("digits"));
        return digits.map(|two| u8::from_str_radix(two, 16).expect("a byte")).collect();
    }
    match object["raw"].as_str() {
        Some(raw) => raw.as_bytes().to_vec(),
        None => usual().replace('\n', newline).into_bytes(),
    }
}

fn all_restored(bytes: &[u8]) -> Vec<u8> {
    sessions(bytes).iter().flat_map(|(_, document)| restored(document)).collect()
}

/// The documents without the times that depend on the zone of the machine.
fn without_zone(text: &str) -> Vec<Value> {
    let documents = Deserializer::from_str(text).into_iter();
    let mut documents: Vec<Value> = documents.collect::<Result<_, _>>().expect("documents");
    for document in &mut documents {
        let start = document["aider"].as_object_mut().expect("a heading").remove("start").expect("a start");
        assert!(start.as_str().is_some_and(|start| start.len() == 20 && start.ends_with('Z')), "{start}");
    }
    documents
}

#[test]
fn recorded_histories_give_the_fixtures_of_the_dialect() {
    for name in RECORDED {
        let documents: String = texts(&recorded(name)).into_iter().map(|(_, text)| text).collect();
        let fixtures =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../interlingua/fixtures/agents/aider/2026-11");
        let fixture = fixtures.join(format!("{name}.json"));
        if std::env::var_os("INTERLINGUA_BLESS").is_some() {
            fs::write(&fixture, &documents).expect("a fixture");
        }
        let known = fs::read_to_string(&fixture).expect("a fixture");
        assert_eq!(without_zone(&documents), without_zone(&known), "{name}");
    }
}

#[test]
fn the_documents_hold_every_byte_of_a_history() {
    for name in RECORDED {
        let bytes = recorded(name);
        assert!(all_restored(&bytes) == bytes, "{name}");
        let with_returns =
            String::from_utf8(bytes.clone()).expect("a text").replace('\n', "\r\n").into_bytes();
        assert!(all_restored(&with_returns) == with_returns, "{name}");
        for cut in (45..bytes.len()).step_by(7) {
            assert!(all_restored(&bytes[..cut]) == bytes[..cut], "{name} at {cut}");
        }
    }
}

#[test]
fn only_unusual_markdown_is_kept_beside_the_text() {
    for name in RECORDED {
        for (_, document) in sessions(&recorded(name)) {
            let entries = document["entries"].as_array().expect("entries");
            let unusual: Vec<&Value> = entries.iter().filter(|entry| entry["raw"].is_string()).collect();
            // Messages of several lines.
            assert!(unusual.len() <= 3, "{name}: {unusual:?}");
        }
    }
}

#[test]
fn each_heading_begins_a_session() {
    let found = sessions(
        b"\n# aider chat started at 2026-11-18 20:00:49\n\n\n#### hi  \n\n# aider chat started at 2026-11-18 20:00:49\n\n\
        \n#### # aider chat started at 2026-11-18 20:00:50  \n\nno\n# aider chat started at 2026-11-18 20:00:51\n\n",
    );
    let ids: Vec<&str> = found.iter().map(|(id, _)| id.as_str()).collect();
    assert_eq!(ids, ["2026-11-18_20-00-49", "2026-11-18_20-00-49-2"]);
    let texts: Vec<_> = found.iter().map(|(_, document)| document["entries"][0]["text"].clone()).collect();
    assert_eq!(texts, ["hi", "# aider chat started at 2026-11-18 20:00:50"]);
}

#[test]
fn marks_in_an_answer_are_text() {
    let found = entries(
        "\n#### ask  \n\nAnswer\n\n> quoted\n> again\n\n#### Heading\n\n```\n> x\n```\n\n> Tokens: 1 sent, 2 received.  \n",
    );
    assert_eq!(
        brief(&found),
        [
            ("user", "ask"),
            ("assistant", "Answer\n\n> quoted\n> again\n\n#### Heading\n\n```\n> x\n```"),
            ("tokens", "Tokens: 1 sent, 2 received.")
        ]
    );
}

#[test]
fn a_message_of_several_lines_ends_with_two_spaces() {
    let found = entries("> one  \n> {\n  \"a\": 1\n\n}  \n> Run it? (Y)es/(N)o [Yes]: y  \n\n#### next  \n");
    assert_eq!(
        brief(&found),
        [("console", "one\n{\n  \"a\": 1\n\n}\nRun it? (Y)es/(N)o [Yes]: y"), ("user", "next")]
    );
}

#[test]
fn a_history_without_trailing_spaces_is_read_alike() {
    let body = "> Aider v0.1\n\n#### one\n#### two\n\nAnswer\n\n> Applied edit to a.py\n> other\n";
    let kinds = [
        ("version", "Aider v0.1"),
        ("user", "one\ntwo"),
        ("assistant", "Answer"),
        ("edit", "Applied edit to a.py"),
        ("console", "other"),
    ];
    assert_eq!(brief(&entries(body)), kinds);
}

#[test]
fn counts_are_read_as_they_are_printed() {
    let cases = [
        ("Tokens: 841 sent, 2 received.", json!({"sent": 841, "received": 2})),
        (
            "Tokens: 1.2k sent, 12k received. Cost: $0.0073 message, $0.01 session.",
            json!({"sent": 1200, "received": 12000, "cost": 0.0073}),
        ),
        (
            "Tokens: 2,997 sent, 1.0k cache write, 900 cache hit, 6 received.",
            json!({"sent": 2997, "cacheWrite": 1000, "cacheHit": 900, "received": 6}),
        ),
    ];
    for (text, expected) in cases {
        let found = entries(&format!("> {text}  \n"));
        let mut entry = found[0].as_object().expect("an entry").clone();
        assert_eq!((entry.remove("kind"), entry.remove("text")), (Some(json!("tokens")), Some(json!(text))));
        assert_eq!(Value::Object(entry), expected, "{text}");
    }
    for other in ["Tokens: many", "Tokens: 1.25k sent, 2 received.", "Tokens: 99999999999999999999 sent"] {
        assert_eq!(entries(&format!("> {other}  \n"))[0]["kind"], "console", "{other}");
    }
}

#[test]
fn an_applied_edit_has_the_change_of_the_answer_before() {
    let answer = "src/a.py\n```python\n<<<<<<< SEARCH\nsame\nold\nend\n=======\nsame\nnew\nnew 2\nend\n>>>>>>> REPLACE\n```";
    let found = entries(&format!("\n{answer}\n\n> Applied edit to src/a.py  \n> Applied edit to b.py  \n"));
    assert_eq!(found[1]["path"], "src/a.py");
    assert_eq!(found[1]["diff"], "@@\n same\n-old\n+new\n+new 2\n end\n");
    assert_eq!((&found[2]["path"], found[2].get("diff")), (&json!("b.py"), None));
}

#[test]
fn an_answer_that_was_stopped_says_so() {
    let found = entries("\n#### go  \n>  \n>  \n> ^C again to exit  \n\nOne two\n\n\n#### ^C  \n\nDone\n\n");
    let stopped: Vec<_> = found.iter().map(|entry| entry["interrupted"].as_bool()).collect();
    assert_eq!(stopped, [None, None, None, Some(true), None, None], "{found:?}");
}

#[test]
fn the_folder_of_a_history_is_that_of_its_session() {
    let scratch = Scratch::new();
    let path = scratch.file(".aider.chat.history.md", &recorded("tide"));
    let found = find(std::slice::from_ref(&scratch.0), None);
    assert!(found.failed.is_empty() && found.skipped.is_empty(), "{:?} {:?}", found.failed, found.skipped);
    assert_eq!(found.files.len(), 2);
    let input = InputPlace::of(&path.join("2026-11-18_20-16-39"));
    assert_eq!(input.stem().as_deref(), Some("2026-11-18_20-16-39"));
    let opened = input.open(MOST_UNPACKED).expect("a session");
    let document = opened.whole().expect("a short session").to_vec();
    let document: Value = serde_json::from_slice(&document).expect("a document");
    assert_eq!(document["aider"]["folder"], json!(scratch.0.to_str()));
    assert!(matches!(InputPlace::File(path).open(MOST_UNPACKED), Err(SourceError::IsStore(_))));
}

#[test]
fn a_packed_history_is_read_as_all_its_documents() {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut packed, &recorded("tide")).expect("packed");
    let scratch = Scratch::new();
    let input = InputPlace::File(scratch.file("history.md.gz", &packed.finish().expect("packed")));
    let opened = input.open(MOST_UNPACKED).expect("an input");
    let identity = opened.identify("history", &SourceHints::default()).expect("a dialect");
    assert_eq!(identity.dialect.name, "aider");
    let mut all = Vec::new();
    let pushed = opened.each(
        |error| error,
        |piece| {
            all.extend_from_slice(piece);
            Ok(())
        },
    );
    pushed.expect("read");
    let documents: String = texts(&recorded("tide")).into_iter().map(|(_, text)| text).collect();
    assert_eq!(String::from_utf8(all).expect("a text"), documents);
}

/// Lines of histories, alone and damaged.
const POOL: [&[u8]; 18] = [
    b"\n",
    b"\n",
    b"#### prompt  \n",
    b"####   \n",
    b"####  \n",
    b"#### heading\n",
    b"> message  \n",
    b">  \n",
    b"> open\n",
    b"text\n",
    b"text  \n",
    b"```\n",
    b"> Tokens: 1 sent, 2 received.  \n",
    b"> Applied edit to a  \n",
    b"> ^C again to exit  \n",
    b"\xff\xfe  \n",
    b"text\r\n",
    b"# aider chat started at 2026-11-18 20:00:50\n",
];

proptest! {
    #[test]
    fn no_order_of_lines_loses_a_byte(lines in proptest::collection::vec(0..POOL.len(), 0..40)) {
        let mut bytes = b"\n# aider chat started at 2026-11-18 20:00:49\n\n".to_vec();
        bytes.extend(lines.into_iter().flat_map(|line| POOL[line]));
        prop_assert_eq!(all_restored(&bytes), bytes);
    }
}
