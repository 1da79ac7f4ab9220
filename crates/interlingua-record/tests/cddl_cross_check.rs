//! Our CDDL, checked with a third-party library.
//!
//! The probes (`tests/support`) define the meaning of the schema: the library must agree with every probe, except where
//! the library is known to be wrong.
//!
//! `INTERLINGUA_RECORDS_DIR=dir cargo test -p interlingua-record` also validates every `*.json` file under `dir`, to
//! check the records of our writer against the schema.

#![expect(clippy::expect_used, reason = "a test that cannot read its files has failed")]

mod support;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use cddl::ast::CDDL;
use cddl::validator::Validator;
use cddl::validator::json::JSONValidator;
use interlingua::dialects::{DIALECTS, Dialect, Options, Plane, Role};
use interlingua::error::{Problem, Severity};
use interlingua::pipe::Pipe;
use interlingua::sniff::sniff;
use interlingua_record::{CDDL_V2, CDDL_V3};

use support::Verdict;

#[test]
fn the_library_and_the_probes_agree() {
    let schema = schema();
    let mut wrong = BTreeSet::new();
    for probe in support::probes() {
        let found = if breaches(&schema, &probe.json).is_empty() { Verdict::Valid } else { Verdict::Invalid };
        if found != probe.verdict {
            wrong.insert(probe.name);
        }
    }

    // The sets must be equal: when a new version of the library fixes a case, the list must shrink.
    let known: BTreeSet<String> = CRATE_IS_WRONG_ON.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(wrong, known);
}

#[test]
fn no_rule_is_called_like_a_member() {
    for schema in [CDDL_V3, CDDL_V2] {
        no_rule_is_a_member(schema);
    }
}

fn no_rule_is_a_member(schema: &str) {
    let code = || schema.lines().map(|line| line.split(';').next().unwrap_or_default());
    let rules: BTreeSet<_> = code()
        .filter(|line| !line.starts_with(' '))
        .filter_map(|line| line.split_once(" = "))
        .map(|(name, _)| name)
        .collect();
    let members: BTreeSet<_> = code()
        .filter(|line| line.starts_with(' '))
        .filter_map(|line| line.split_once(": "))
        .map(|(name, _)| name.trim_start_matches([' ', '?']))
        .collect();

    assert!(rules.contains("agent-record") && members.contains("session-id"));
    assert_eq!(rules.intersection(&members).collect::<Vec<_>>(), Vec::<&&str>::new());
}

#[test]
fn records_in_the_given_directory_validate() {
    let Some(dir) = std::env::var_os("INTERLINGUA_RECORDS_DIR") else { return };
    let schema = schema();
    let records = support::json_files(Path::new(&dir));
    assert!(!records.is_empty(), "no `*.json` under {}", dir.display());

    let failures: Vec<String> = records
        .iter()
        .flat_map(|record| {
            let json = fs::read(record).expect("a listed file can be read");
            breaches(&schema, &json)
                .into_iter()
                .take(BREACHES_SHOWN)
                .map(move |breach| format!("{}: {breach}", record.display()))
        })
        .collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Without `INTERLINGUA_ALL`, which CI sets, every fourth log is tried.
#[test]
fn records_made_from_logs_validate() {
    let step = if std::env::var_os("INTERLINGUA_ALL").is_some() { 1 } else { 4 };
    let logs: Vec<Log> = logs().into_iter().step_by(step).collect();
    for (name, schema) in [("record", CDDL_V3), ("record-v2", CDDL_V2)] {
        records_of_logs_validate(&logs, Dialect::named(name).expect("registered"), &parse(schema));
    }
}

fn records_of_logs_validate(logs: &[Log], record: &'static Dialect, schema: &CDDL<'_>) {
    for Log { name, dialect, bytes } in logs {
        let json = convert((dialect, Role::Log), (record, Role::Log), bytes);
        for json in documents(&json) {
            assert_eq!(breaches(schema, &json), Vec::<String>::new(), "{name}");
        }
        let ours = interlingua_record::check(&json);
        let errors: Vec<_> =
            ours.iter().filter(|problem| problem.code.severity() == Severity::Error).collect();
        assert!(errors.is_empty(), "{name}: {errors:?}");
    }
}

struct Log {
    /// The path of the fixture, and for a converted log its dialect.
    name: String,
    dialect: &'static Dialect,
    bytes: Vec<u8>,
}

/// The logs among the fixtures, and logs that our writers make of small fixtures: of each session a log of Claude Code
/// and of Codex, and of sessions of these two agents a log of every other agent.
fn logs() -> Vec<Log> {
    let is_main = |dialect: &Dialect| ["claude-code", "codex"].contains(&dialect.name);
    let mut logs = Vec::new();
    for file in support::files(Path::new(FIXTURES), &["json", "jsonl"]) {
        let bytes = fs::read(&file).expect("a listed file can be read");
        let Some(guess) = sniff(&bytes, true).filter(|guess| guess.dialect.plane != Plane::Wire) else {
            continue;
        };
        let name = file.display().to_string();
        for &to in DIALECTS.iter().filter(|to| to.plane == Plane::Log && to.name != guess.dialect.name) {
            let is_made = bytes.len() < SMALL && (is_main(to) || is_main(guess.dialect));
            if is_made && to.role_for(guess.role) == Some(Role::Log) {
                let bytes = convert((guess.dialect, guess.role), (to, Role::Log), &bytes);
                logs.push(Log { name: format!("{name} as {}", to.name), dialect: to, bytes });
            }
        }
        if guess.role == Role::Log && guess.dialect.plane != Plane::Ours {
            logs.push(Log { name, dialect: guess.dialect, bytes });
        }
    }
    assert!(logs.len() >= 200, "only {} logs", logs.len());
    logs
}

fn convert(from: (&'static Dialect, Role), to: (&'static Dialect, Role), source: &[u8]) -> Vec<u8> {
    let mut output = Vec::new();
    let mut pipe = Pipe::new(from, to, &Options::default()).expect("the roles are in the registry");
    pipe.push(source, &mut output);
    pipe.finish(&mut output);
    output
}

#[test]
fn the_closed_profile_is_closed() {
    let schema = parse(CDDL_V2);
    let record = |entry: &str, more: &str| {
        format!(
            r#"{{"version":"2.0.0","id":"r","created":0,{more}"session":{{"session-id":"s","format":"interactive","agent-meta":{{"model-id":"m","model-provider":"p"}},"entries":[{entry}]}}}}"#
        )
    };
    let ext = r#""vendor-ext":{"vendor":"v","data":{"said":{"origin":"own"}}}"#;
    for (entry, more, sound) in [
        (r#"{"type":"user","content":"x"}"#.to_owned(), "", true),
        (format!(r#"{{"type":"user","content":"x",{ext}}}"#), "", true),
        (r#"{"type":"user","origin":"own"}"#.to_owned(), "", false),
        (
            r#"{"type":"assistant","stop-reason":"end_turn","token-usage":{"input":1,"total":2}}"#.to_owned(),
            "",
            true,
        ),
        (r#"{"type":"assistant","token-usage":{"response-id":"x"}}"#.to_owned(), "", false),
        (r#"{"type":"tool-call","name":"x","input":{},"call-id":"c"}"#.to_owned(), "", true),
        (r#"{"type":"tool-result","output":"x","exit-code":1}"#.to_owned(), "", false),
        (r#"{"type":"reasoning","content":"x","signature":"s"}"#.to_owned(), "", false),
        (r#"{"type":"system-event","event-type":"x","data":{"vendor":"v"}}"#.to_owned(), "", true),
        (r#"{"type":"system-event","event-type":"x","data":{"a":1}}"#.to_owned(), "", false),
        (format!(r#"{{"type":"other",{ext}}}"#), "", true),
        (r#"{"type":"other"}"#.to_owned(), "", false),
        (r#"{"type":"user","vendor-ext":{"vendor":"v","data":[]}}"#.to_owned(), "", false),
        (r#"{"type":"user","children":[{"type":"user","x":1}]}"#.to_owned(), "", false),
        (r#"{"type":"user"}"#.to_owned(), r#""vendor-ext":{"vendor":"v"},"#, false),
        (r#"{"type":"user"}"#.to_owned(), r#""metadata":{"vendor":"v"},"#, true),
        (
            r#"{"type":"user"}"#.to_owned(),
            r#""file-attribution":{"files":[{"path":"p","conversations":[{"ranges":[{"start_line":1,"end_line":2}]}]}]},"#,
            true,
        ),
    ] {
        let json = record(&entry, more);
        let errors = |problems: Vec<Problem>| {
            problems.into_iter().filter(|problem| problem.code.severity() == Severity::Error).count()
        };
        assert_eq!(breaches(&schema, json.as_bytes()).is_empty(), sound, "the library on {json}");
        assert_eq!(errors(interlingua_record::check(json.as_bytes())) == 0, sound, "ours on {json}");
    }
}

fn schema() -> CDDL<'static> {
    parse(CDDL_V3)
}

fn parse(schema: &'static str) -> CDDL<'static> {
    cddl::cddl_from_str(schema, true).expect("the schema is CDDL")
}

fn breaches(schema: &CDDL<'_>, json: &[u8]) -> Vec<String> {
    let value = match serde_json::from_slice(json) {
        Ok(value) => value,
        Err(error) => return vec![error.to_string()],
    };
    match JSONValidator::new(schema, value, None).validate() {
        Ok(()) => Vec::new(),
        Err(cddl::validator::json::Error::Validation(errors)) => {
            errors.iter().map(ToString::to_string).collect()
        }
        Err(other) => vec![other.to_string()],
    }
}

/// The documents of a file: a source of several sessions becomes several records.
fn documents(json: &[u8]) -> Vec<Vec<u8>> {
    let documents = serde_json::Deserializer::from_slice(json).into_iter::<serde_json::Value>();
    documents.map(|document| document.expect("a record is JSON").to_string().into_bytes()).collect()
}

/// The folder of the fixtures of the core.
const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../interlingua/fixtures");
/// Larger fixtures are not converted to other logs: validation by the library is slow.
const SMALL: usize = 15_000;
/// Violations printed per record; the library repeats each violation for every alternative it tried.
const BREACHES_SHOWN: usize = 5;

/// Probes on which `cddl` 0.10.7 errs, with the reason. Our own reader has no such list.
const CRATE_IS_WRONG_ON: &[(&str, &str)] = &[
    ("invalid-range-start-line-negative", NEGATIVE_PASSES_AS_UINT),
    ("invalid-timestamp-negative", NEGATIVE_PASSES_AS_UINT),
    ("invalid-token-count-negative", NEGATIVE_PASSES_AS_UINT),
    ("invalid-timestamp-with-text-after", REGEXP_IS_NOT_ANCHORED),
    ("invalid-timestamp-with-text-before", REGEXP_IS_NOT_ANCHORED),
    ("invalid-version-twice", DUPLICATE_IS_GONE_BEFORE_IT_LOOKS),
];

/// In JSON only; the library's CBOR validator is correct.
const NEGATIVE_PASSES_AS_UINT: &str = "any JSON integer passes as `uint`";
/// Adding `^` and `$` to the schema would hide this, but in CDDL they are ordinary characters.
const REGEXP_IS_NOT_ANCHORED: &str = "`.regexp` searches instead of matching the whole text";
/// This error is in the JSON parser: `serde_json::Value` keeps the last of two members of one name.
const DUPLICATE_IS_GONE_BEFORE_IT_LOOKS: &str = "the JSON parser drops the first of two members";
