//! Related sessions become one record, and the record restores every file.

#![expect(
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "a test reads its fixtures, and fails if it cannot"
)]

use std::path::Path;

use interlingua::check::CheckWriter;
use interlingua::dialects::{Dialect, Options, Role};
use interlingua::graph::{
    CallMentions, Joiner, Kinship, KinshipReader, Link, NestedSession, Relation, SplitPart, Splitter,
    following_entry, links,
};
use interlingua::pipe::Pipe;

fn convert(from: &str, to: &str, bytes: &[u8], options: &Options) -> Vec<u8> {
    let dialect = |name| Dialect::named(name).expect("registered");
    let mut out = Vec::new();
    let mut pipe =
        Pipe::new((dialect(from), Role::Log), (dialect(to), Role::Log), options).expect("both are logs");
    pipe.push(bytes, &mut out);
    let report = pipe.finish(&mut out);
    assert_eq!((report.lost, report.errors), (0, 0), "{from} to {to}: {report:#?}");
    out
}

fn fixture(path: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures").join(path);
    std::fs::read(path).expect("a fixture can be read")
}

fn facts(record: &[u8]) -> Kinship {
    let mut reader = KinshipReader::default();
    record.chunks(1000).for_each(|chunk| reader.push(chunk));
    reader.finish()
}

/// A family with one parent: the parent's log and the logs of its children.
struct Family {
    dialect: &'static str,
    logs: Vec<Vec<u8>>,
    records: Vec<Vec<u8>>,
    facts: Vec<Kinship>,
    links: Vec<Option<Link>>,
}

impl Family {
    fn of(dialect: &'static str, paths: &[&str]) -> Self {
        let logs: Vec<Vec<u8>> = paths.iter().map(|path| fixture(path)).collect();
        let records: Vec<Vec<u8>> =
            logs.iter().map(|log| convert(dialect, "record", log, &Options::default())).collect();
        let facts: Vec<Kinship> = records.iter().map(|record| facts(record)).collect();
        let mut links = links(&facts);
        let wanted = links.iter().flatten().filter(|link| link.call.is_none()).map(|link| link.name.clone());
        let mut mentions = CallMentions::new(wanted);
        mentions.push(&records[0]);
        let found = mentions.finish();
        for link in links.iter_mut().flatten().filter(|link| link.call.is_none()) {
            link.call = found.get(&link.name).cloned();
        }
        Self { dialect, logs, records, facts, links }
    }

    fn joined(&self) -> String {
        let mut rest: Vec<usize> = (1..self.records.len()).collect();
        let mut joiner = Joiner::default();
        let mut out = Vec::new();
        let mut sessions = |call: &str| {
            let at = rest.iter().position(|number| {
                self.links[*number].as_ref().is_some_and(|link| link.call.as_deref() == Some(call))
            })?;
            let number = rest.remove(at);
            let mut nested = NestedSession::of(&self.facts[0]);
            nested.push(&self.records[number]);
            Some(nested.finish(self.links[number].as_ref()?, &format!("file-{number}")))
        };
        for chunk in self.records[0].chunks(777) {
            joiner.push(chunk, &mut sessions, &mut out);
        }
        joiner.finish(&mut sessions, &mut Vec::new, &mut out);
        String::from_utf8(out).expect("a record is text")
    }
}

fn split(record: &[u8]) -> (Vec<u8>, Vec<(String, Vec<u8>)>) {
    let (mut first, mut others) = (Vec::new(), Vec::<(String, Vec<u8>)>::new());
    let mut splitter = Splitter::default();
    let mut each = |part: SplitPart<'_>| match part {
        SplitPart::First(bytes) => first.extend_from_slice(bytes),
        SplitPart::Nested { file, record } => others.push((file.to_owned(), record.as_bytes().to_vec())),
        SplitPart::Following { number, file, bytes } => {
            if number == others.len() {
                others.push((file.to_owned(), Vec::new()));
            }
            others[number].1.extend_from_slice(bytes);
        }
    };
    record.chunks(333).for_each(|chunk| splitter.push(chunk, &mut each));
    splitter.finish(&mut each);
    (first, others)
}

#[test]
fn a_subagent_stands_within_the_call_that_started_it() {
    for (dialect, parent, child) in [
        (
            "claude-code",
            "anthropic/claude_code/2026-11/subagent.jsonl",
            "anthropic/claude_code/2026-11/subagent-child.jsonl",
        ),
        ("codex", "openai/codex/2026-11/subagent.jsonl", "openai/codex/2026-11/subagent-child.jsonl"),
    ] {
        let family = Family::of(dialect, &[parent, child]);
        let link = family.links[1].as_ref().expect("the child is linked");
        assert_eq!((link.parent, link.relation), (0, Relation::Subagent), "{dialect}");
        assert!(link.call.is_some(), "{dialect}: the call is found");
        let joined = family.joined();
        assert!(
            joined.len() > family.records[0].len() + family.records[1].len(),
            "{dialect}: nothing joined"
        );

        // The joined record is an ordinary record with the messages of both.
        let value: serde_json::Value = serde_json::from_str(&joined).expect("JSON");
        let texts = |record: &[u8]| {
            let mut texts = Vec::new();
            spoken(&serde_json::from_slice(record).expect("JSON"), &mut texts);
            texts.sort();
            texts
        };
        let mut both = texts(&family.records[0]);
        both.extend(texts(&family.records[1]));
        both.sort();
        let mut told = Vec::new();
        spoken(&value, &mut told);
        told.sort();
        assert_eq!(told, both, "{dialect}");
        let record = Dialect::named("record").expect("registered");
        let checker = Box::new(CheckWriter::default());
        let mut pipe = Pipe::with_writer((record, Role::Log), checker, &Options::default()).expect("a log");
        pipe.push(joined.as_bytes(), &mut Vec::new());
        let report = pipe.finish(&mut Vec::new());
        assert_eq!(report.errors, 0, "{dialect}: {report:#?}");
        assert!(report.adds_up(), "{dialect}");

        // The joined record is separated again.
        let (first, others) = split(joined.as_bytes());
        assert_eq!(String::from_utf8_lossy(&first), String::from_utf8_lossy(&family.records[0]), "{dialect}");
        assert_eq!(others.len(), 1);
        assert_eq!(others[0].0, "file-1");
        for (record, log) in [&first, &others[0].1].into_iter().zip(&family.logs) {
            let back = convert("record", family.dialect, record, &Options::default());
            assert_eq!(String::from_utf8_lossy(&back), String::from_utf8_lossy(log), "{dialect}");
        }
    }
}

/// The texts of entries at any depth.
fn spoken(value: &serde_json::Value, texts: &mut Vec<String>) {
    if let Some(entry) = value.as_object() {
        let kind = entry.get("type").and_then(|kind| kind.as_str()).unwrap_or_default();
        if let ("user" | "assistant" | "reasoning", Some(content)) = (kind, entry.get("content")) {
            texts.push(content.to_string());
        }
        for (name, value) in entry {
            if name != "vendor-ext" && name != "content" {
                spoken(value, texts);
            }
        }
    }
    value.as_array().into_iter().flatten().for_each(|value| spoken(value, texts));
}

#[test]
fn what_has_no_call_follows_as_a_record_of_its_own() {
    let dialect = "codex";
    let family =
        Family::of(dialect, &["openai/codex/2026-11/resumed.jsonl", "openai/codex/2026-11/forked.jsonl"]);
    let link = family.links[1].as_ref().expect("the fork is linked");
    assert_eq!((link.parent, link.relation), (0, Relation::Fork));
    let mut joiner = Joiner::default();
    let mut out = Vec::new();
    joiner.push(&family.records[0], &mut |_| None, &mut out);
    joiner.finish(&mut |_| None, &mut || vec![following_entry(link, "fork")], &mut out);
    out.extend_from_slice(b"\n");
    out.extend_from_slice(&family.records[1]);
    let (first, others) = split(&out);
    assert_eq!(others[0].0, "fork");
    for (record, log) in [&first, &others[0].1].into_iter().zip(&family.logs) {
        let back = convert("record", dialect, record, &Options::default());
        assert_eq!(String::from_utf8_lossy(&back), String::from_utf8_lossy(log));
    }
}

#[test]
fn files_that_name_each_other_as_parents_have_none() {
    let facts = |session: &str, parent: &str| {
        let mut facts = Kinship::default();
        (facts.session, facts.parent) = (Some(session.to_owned()), Some(parent.to_owned()));
        facts
    };
    let found = links(&[facts("a", "b"), facts("b", "a"), facts("c", "c"), facts("d", "a")]);
    assert_eq!(found.iter().map(Option::is_some).collect::<Vec<_>>(), [false, true, false, true]);
}

#[test]
fn what_a_parent_tells_of_its_subagent_is_counted_once() {
    let parent = fixture("anthropic/claude_code/2026-02/agents.jsonl");
    // The subagent's own file holds the same messages and an additional message.
    let mut child = String::new();
    for line in String::from_utf8_lossy(&parent).lines() {
        let line: serde_json::Value = serde_json::from_str(line).expect("JSON");
        if line["data"]["type"] == "agent_progress" && line["data"]["agentId"] == "a5f01c2" {
            let mut own = line["data"]["message"].clone();
            own["isSidechain"] = true.into();
            own["agentId"] = "a5f01c2".into();
            own["sessionId"] = line["sessionId"].clone();
            child += &own.to_string();
            child.push('\n');
        }
    }
    let told = child.lines().count();
    assert!(told > 2, "the fixture tells of a subagent");
    let session = serde_json::from_str::<serde_json::Value>(child.lines().next().expect("a line"));
    let session = session.expect("JSON")["sessionId"].clone();
    child += r#"{"type":"assistant","uuid":"new-new-new-new-new","isSidechain":true,"agentId":"a5f01c2","sessionId":"#;
    child += &session.to_string();
    child += r#","message":{"id":"msg_new","role":"assistant","model":"m","content":[{"type":"text","text":"One more."}],"#;
    child += "\"usage\":{\"input_tokens\":7,\"output_tokens\":5}}}\n";

    let parent = convert("claude-code", "record", &parent, &Options::default());
    let alone = convert("claude-code", "record", child.as_bytes(), &Options::default());
    let kin = [facts(&parent), facts(&alone)];
    let found = links(&kin);
    let link = found[1].as_ref().expect("the child is linked");
    assert_eq!(link.call.as_deref(), Some("toolu_p01"));
    let told_responses: Vec<_> = kin[0].responses.clone().into_iter().collect();
    let options = Options::default().with_told_responses(told_responses);
    let counted = convert("claude-code", "record", child.as_bytes(), &options);
    assert_eq!(tokens(&counted), 12, "only what the parent does not tell");
    assert!(tokens(&alone) > 12);

    let mut nested = NestedSession::of(&kin[0]);
    nested.push(&counted);
    let text = nested.finish(link, "agent");
    let entries: serde_json::Value = serde_json::from_str(&format!("[{text}]")).expect("JSON");
    let repeated = entries[0]["data"]["content"]["repeated"].as_array().expect("a list");
    assert_eq!(repeated.len(), told, "every message that the parent tells, and no other");
}

/// The sum of all tokens in a record.
fn tokens(record: &[u8]) -> u64 {
    fn sum(value: &serde_json::Value) -> u64 {
        let own =
            value.get("token-usage").and_then(|usage| usage.get("total")).and_then(serde_json::Value::as_u64);
        let object = value.as_object().into_iter().flat_map(|object| object.values());
        own.unwrap_or(0) + object.chain(value.as_array().into_iter().flatten()).map(sum).sum::<u64>()
    }
    sum(&serde_json::from_slice(record).expect("JSON"))
}

#[test]
fn damage_is_no_reason_to_panic() {
    let family = Family::of(
        "claude-code",
        &[
            "anthropic/claude_code/2026-11/subagent.jsonl",
            "anthropic/claude_code/2026-11/subagent-child.jsonl",
        ],
    );
    let whole = family.joined().into_bytes();
    let all_calls = |_: &str| Some("{}".to_owned());
    for step in 0..400 {
        let mut damaged = whole.clone();
        let at = step * 7919 % whole.len();
        match step % 4 {
            0 => damaged.truncate(at),
            1 => damaged[at] = b"\"{}[],:0"[step / 4 % 8],
            2 => _ = damaged.drain(at..(at + 37).min(whole.len())),
            _ => damaged.splice(at..at, whole[at / 2..at / 2 + 50].to_vec()).for_each(drop),
        }
        drop(split(&damaged));
        drop(facts(&damaged));
        let mut joiner = Joiner::default();
        let mut out = Vec::new();
        joiner.push(&damaged, &mut all_calls.clone(), &mut out);
        joiner.finish(&mut all_calls.clone(), &mut Vec::new, &mut out);
        assert!(out.len() >= damaged.len(), "nothing is taken away");
    }
}
