//! Universal events, over every fixture that is converted to universal events and, if `INTERLINGUA_CORPUS` names a folder
//! of captures, over these captures. A conversion of a few lines is a case in `tests/cases/universal.txt`.

#![allow(clippy::disallowed_methods, reason = "fixtures are files, and a test may hash as it likes")]
#![allow(clippy::expect_used, clippy::unwrap_used, reason = "a test may fail")]

use std::path::{Path, PathBuf};

use interlingua::dialects::{DIALECTS, Dialect, Options, Plane, Role};
use interlingua::framing::Framing;
use interlingua::ledger::Report;
use interlingua::pipe::Pipe;
use serde_json::Value;

mod conformance;
mod list;
mod order;
mod records;
mod seed;
mod values;

/// One input.
struct Source {
    name: String,
    dialect: &'static str,
    bytes: Vec<u8>,
}

fn dialect(name: &str) -> (&'static Dialect, Role) {
    let dialect = Dialect::named(name).expect("registered");
    (dialect, dialect.roles[0].role)
}

fn sources() -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures");
    let mut sources = Vec::new();
    let sessions = DIALECTS.iter().filter(|dialect| matches!(dialect.plane, Plane::Live | Plane::Log));
    for dialect in sessions {
        for path in files(&root.join(dialect.folder())) {
            let name = path.strip_prefix(&root).unwrap().display().to_string();
            sources.push(Source { name, dialect: dialect.name, bytes: std::fs::read(&path).unwrap() });
        }
    }
    assert!(sources.len() >= 16, "fixtures are missing");
    sources.extend(corpus());
    sources
}

/// Captures of the real programs: raw stdout, and transcripts of both directions.
fn corpus() -> Vec<Source> {
    let Some(root) = std::env::var_os("INTERLINGUA_CORPUS") else { return Vec::new() };
    let mut sources = Vec::new();
    let agents = [
        ("claude", "control-", "claude-stream", "claude-stream"),
        ("codex", "app-server-", "codex-app-server", "codex-exec"),
    ];
    for (folder, transcripts, dialect, printed) in agents {
        for path in files(&PathBuf::from(&root).join("agents").join(folder)) {
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            if path.extension().is_none_or(|extension| extension != "jsonl") {
                continue;
            }
            let bytes = std::fs::read(&path).unwrap();
            if name.starts_with("stdout-") {
                sources.push(Source { name, dialect: printed, bytes });
            } else if name.starts_with(transcripts) && !is_wrapped(&bytes) {
                sources.push(Source { name, dialect, bytes });
            } else if name.starts_with(transcripts) {
                let lines = |also_in: bool| {
                    let text = std::str::from_utf8(&bytes).unwrap();
                    let docs = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
                    let docs = docs.filter(|doc| also_in || doc["dir"] == "out");
                    docs.flat_map(|doc| [doc["msg"].to_string(), "\n".to_owned()])
                        .collect::<String>()
                        .into_bytes()
                };
                sources.push(Source { name: format!("{name} out"), dialect, bytes: lines(false) });
                sources.push(Source { name: format!("{name} both"), dialect, bytes: lines(true) });
            }
        }
    }
    sources
}

/// Whether each line of a transcript names its direction beside the message. Other transcripts hold the messages alone, of
/// both directions.
fn is_wrapped(transcript: &[u8]) -> bool {
    let text = std::str::from_utf8(transcript).unwrap();
    let is_one = |line: &str| {
        let doc: Value = serde_json::from_str(line).unwrap();
        doc.get("dir").is_some() && doc.get("msg").is_some()
    };
    let wrapped = text.lines().filter(|line| is_one(line)).count();
    assert!([0, text.lines().count()].contains(&wrapped), "a transcript of both forms");
    wrapped > 0
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else if path.extension().is_some_and(|extension| extension != "md" && extension != "db") {
            found.push(path);
        }
    }
    found.sort();
    found
}

fn convert_in(chunks: &[&[u8]], from: &str, to: &str, options: &Options) -> (Vec<u8>, Report) {
    let mut out = Vec::new();
    let target = Dialect::named(to).unwrap();
    let target = (target, target.role_for(dialect(from).1).unwrap());
    let writer = target.0.role(target.1).unwrap().write.as_ref().unwrap();
    // The pipe is assembled manually, because between equal dialects it would copy the bytes.
    let writer = ((writer.make)(options), writer.support);
    let mut pipe = Pipe::with_writer_and_support(dialect(from), writer, options).unwrap();
    for chunk in chunks {
        pipe.push(chunk, &mut out);
    }
    let report = pipe.finish(&mut out);
    assert!(report.adds_up(), "{report:?}");
    (out, report)
}

fn universal(source: &Source) -> Vec<u8> {
    convert_in(&[&source.bytes], source.dialect, "universal", &Options::default()).0
}

fn with_raw() -> Options {
    Options::default().with_include_raw(true)
}

fn parse(bytes: &[u8]) -> Vec<Value> {
    let text = std::str::from_utf8(bytes).unwrap();
    text.lines().map(|line| serde_json::from_str(line).expect(line)).collect()
}

/// Runs a check on each source.
fn each(check: impl Fn(&[Value])) {
    for source in sources() {
        let events = parse(&universal(&source));
        let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| check(&events)));
        assert!(caught.is_ok(), "in {}", source.name);
    }
}

fn stream(lines: &str) -> Vec<Value> {
    parse(&convert_in(&[lines.as_bytes()], "claude-stream", "universal", &Options::default()).0)
}

fn of<'e>(events: &'e [Value], kind: &str) -> Vec<&'e Value> {
    events.iter().filter(|event| event["type"] == kind).collect()
}

/// Whether the source is a file of lines.
fn is_lines(source: &Source) -> bool {
    let (dialect, role) = dialect(source.dialect);
    dialect.role(role).is_some_and(|spec| spec.framing == Framing::Lines)
}

fn item(event: &Value) -> &Value {
    &event["data"]["item"]
}

fn fixture(path: &str) -> Vec<Value> {
    let source = sources().into_iter().find(|source| source.name.ends_with(path)).expect(path);
    parse(&universal(&source))
}

/// The text of a completed item's parts of one type.
fn text_of(item: &Value, kind: &str) -> String {
    let member = match kind {
        "tool_call" => "arguments",
        "tool_result" => "output",
        _ => "text",
    };
    let parts = item["content"].as_array().unwrap().iter().filter(|part| part["type"] == kind);
    parts.map(|part| part[member].as_str().unwrap()).collect()
}
