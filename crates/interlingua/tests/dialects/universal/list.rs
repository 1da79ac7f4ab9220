//! The conformance list as a whole: each of its 97 facts has a test named by its number, or a row in `docs/daemon.md`; and
//! facts of the list that concern every agent.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use interlingua::dialects::{DIALECTS, Dialect, Plane, Role};
use interlingua::framing::Framing;
use serde_json::{Value, json};

use super::{Source, convert_in, files, item, of, parse, sources, text_of, universal, with_raw};

/// The number of facts in the list.
const FACTS: u32 = 97;

/// The names of all tests of the workspace that name facts of the list, and the facts of each.
fn named_tests() -> BTreeMap<String, Vec<u32>> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let sources = files(&crates).into_iter().filter(|path| path.extension().is_some_and(|end| end == "rs"));
    let mut tests = BTreeMap::new();
    for path in sources {
        let text = std::fs::read_to_string(&path).unwrap();
        for line in text.lines() {
            let Some((_, name)) = line.split_once("fn list_") else { continue };
            let name = name.split('(').next().unwrap();
            let facts: Vec<u32> = name.split('_').map_while(|word| word.parse().ok()).collect();
            if !facts.is_empty() {
                tests.insert(format!("list_{name}"), facts);
            }
        }
    }
    tests
}

/// The rows of the table in the document: the facts, and the text about their tests.
fn table() -> Vec<(Vec<u32>, String)> {
    let document = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/daemon.md");
    let text = std::fs::read_to_string(document).unwrap();
    let rows = text.lines().skip_while(|line| *line != "## Conformance list").filter_map(|line| {
        let (facts, about) = line.strip_prefix("| ")?.split_once(" | ")?;
        let ranges: Option<Vec<Vec<u32>>> = facts.split(", ").map(range).collect();
        Some((ranges?.concat(), about.to_owned()))
    });
    rows.collect()
}

/// `15–24` or `25`.
fn range(text: &str) -> Option<Vec<u32>> {
    let (first, last) = text.split_once('–').unwrap_or((text, text));
    Some((first.parse().ok()?..=last.parse().ok()?).collect())
}

#[test]
fn every_fact_of_the_list_has_a_test_or_a_row() {
    let (tests, table) = (named_tests(), table());
    let tested: BTreeSet<u32> = tests.values().flatten().copied().collect();
    let described: BTreeSet<u32> = table.iter().flat_map(|(facts, _)| facts).copied().collect();
    let missing: Vec<u32> =
        (1..=FACTS).filter(|fact| !tested.contains(fact) || !described.contains(fact)).collect();
    // The table gives the place of the facts that only a suite of real programs or a bench shows.
    let elsewhere = [38, 91, 92, 93, 97];
    assert_eq!(missing, elsewhere, "facts without a test of their number or without a row");
    assert!(elsewhere.iter().all(|fact| described.contains(fact)), "{described:?}");
    assert_eq!(described.iter().chain(&tested).max(), Some(&FACTS));
}

#[test]
fn every_test_that_the_table_names_exists() {
    let tests = named_tests();
    let mut named = 0;
    for (facts, about) in table() {
        for word in about.split('`').filter(|word| word.starts_with("list_")) {
            let start = word.trim_end_matches('…');
            assert!(tests.keys().any(|test| test.starts_with(start)), "{word} of {facts:?}");
            named += 1;
        }
    }
    assert!(named > 50, "{named} names in the table");
}

/// The fixtures of one dialect.
fn fixtures_of(dialect: &str) -> Vec<Source> {
    let fixtures: Vec<Source> = sources().into_iter().filter(|source| source.dialect == dialect).collect();
    assert!(!fixtures.is_empty(), "{dialect}");
    fixtures
}

/// The JSON documents of a fixture.
fn documents(source: &Source) -> Vec<Value> {
    let text = std::str::from_utf8(&source.bytes).unwrap();
    let documents = text.lines().map(|line| line.strip_prefix("data: ").unwrap_or(line));
    documents.filter_map(|line| serde_json::from_str(line).ok()).collect()
}

#[test]
fn list_25_file_artefacts_are_parts_of_messages_and_results() {
    let mut seen = BTreeSet::new();
    for source in sources().into_iter().filter(is_live) {
        for event in parse(&universal(&source)).iter().filter(|event| event["type"] == "item.completed") {
            let parts = item(event)["content"].as_array().unwrap();
            let files =
                parts.iter().filter(|part| matches!(part["type"].as_str(), Some("file_ref" | "image")));
            for part in files {
                let kind = item(event)["kind"].as_str().unwrap();
                // A status item stands for an event of the agent's server, such as a file that was edited.
                let is_known = ["message", "tool_result", "status"].contains(&kind);
                assert!(is_known, "{}: {part} in {kind}", source.name);
                seen.insert((source.dialect, part["type"].as_str().unwrap().to_owned()));
            }
        }
    }
    for dialect in ["codex-app-server", "opencode-events", "acp"] {
        assert!(seen.contains(&(dialect, "file_ref".to_owned())), "{dialect} in {seen:?}");
    }
}

/// The texts of the prompts in a fixture, counted without our readers.
fn prompts(source: &Source) -> Vec<String> {
    let text_of = |content: &Value| match content {
        Value::String(text) => text.clone(),
        content => {
            let parts = content.as_array().into_iter().flatten();
            parts.filter_map(|part| part["text"].as_str()).collect::<String>()
        }
    };
    let lines = documents(source);
    let mut prompts = BTreeMap::new();
    for (number, line) in lines.iter().enumerate() {
        match source.dialect {
            "codex-app-server" if line["params"]["item"]["type"] == "userMessage" => {
                let item = &line["params"]["item"];
                prompts.insert(item["id"].as_str().unwrap().to_owned(), (number, text_of(&item["content"])));
            }
            "pi-stream" if line["type"] == "message_end" && line["message"]["role"] == "user" => {
                prompts.insert(number.to_string(), (number, text_of(&line["message"]["content"])));
            }
            "opencode-events" if line["type"] == "message.part.updated" => {
                let part = &line["properties"]["part"];
                let message = &part["messageID"];
                let is_users = |line: &&Value| {
                    let info = &line["properties"]["info"];
                    line["type"] == "message.updated" && info["id"] == *message && info["role"] == "user"
                };
                if part["type"] == "text" && lines.iter().any(|line| is_users(&line)) {
                    let id = part["id"].as_str().unwrap().to_owned();
                    prompts.insert(id, (number, part["text"].as_str().unwrap().to_owned()));
                }
            }
            _ => {}
        }
    }
    let mut prompts: Vec<(usize, String)> = prompts.into_values().collect();
    prompts.sort();
    prompts.into_iter().map(|(_, text)| text).collect()
}

#[test]
fn list_26_a_prompt_is_one_message_of_the_user_with_its_whole_text() {
    for dialect in ["codex-app-server", "pi-stream", "opencode-events"] {
        let mut seen = 0;
        for source in fixtures_of(dialect) {
            let mut prompts = prompts(&source);
            let events = parse(&universal(&source));
            let told = of(&events, "item.completed").into_iter().map(item);
            let told = told.filter(|item| item["kind"] == "message" && item["role"] == "user");
            let mut told: Vec<String> = told.map(|item| text_of(item, "text")).collect();
            told.retain(|text| !text.is_empty());
            seen += prompts.len();
            prompts.sort();
            told.sort();
            assert_eq!(told, prompts, "{}", source.name);
        }
        assert!(seen > 0, "no prompt in the fixtures of {dialect}");
    }
}

/// A frame that no agent sends today, in the form of the dialect's frames.
fn unknown_frame(dialect: &Dialect) -> String {
    let is_rpc = matches!(dialect.name, "acp" | "codex-app-server");
    let frame = if is_rpc {
        json!({"jsonrpc": "2.0", "method": "x/surprise", "params": {"sessionId": "s", "threadId": "s", "v": 7}})
    } else {
        json!({"type": "x_surprise", "properties": {"v": 7}, "v": 7})
    };
    match dialect.role(Role::Live).unwrap().framing {
        Framing::Sse => format!("data: {frame}\n\n"),
        _ => format!("{frame}\n"),
    }
}

#[test]
fn list_77_an_unknown_event_of_an_agent_is_told_and_ends_no_turn() {
    for dialect in DIALECTS.iter().filter(|dialect| dialect.plane == Plane::Live) {
        let fixtures = fixtures_of(dialect.name);
        let before = fixtures.iter().find_map(until_first_delta).expect(dialect.name);
        let unknown = unknown_frame(dialect);
        let turns = |events: &[Value]| of(events, "turn.ended").len();
        let (plain, _) = convert_in(&[before], dialect.name, "universal", &with_raw());
        let (with_it, _) = convert_in(&[before, unknown.as_bytes()], dialect.name, "universal", &with_raw());
        let events = parse(&with_it);
        assert_eq!(turns(&events), turns(&parse(&plain)), "{}", dialect.name);
        let frame: Value = serde_json::from_str(unknown.trim_start_matches("data: ").trim()).unwrap();
        let with_frame: Vec<usize> = (0..events.len()).filter(|at| events[*at]["raw"] == frame).collect();
        let [first] = with_frame[..] else { panic!("{}: {with_frame:?}", dialect.name) };
        // The frame may end an open message first.
        let is_told = |event: &Value| {
            event["type"] == "agent.unparsed"
                || event["type"] == "item.started" && item(event)["kind"] == "status"
        };
        assert!(events[first..].iter().any(is_told), "{}: {:?}", dialect.name, &events[first..]);
    }
}

/// The frames up to the first piece of an answer, in the middle of a turn.
fn until_first_delta(source: &Source) -> Option<&[u8]> {
    let end: &[u8] = if source.bytes.ends_with(b"\n\n") { b"\n\n" } else { b"\n" };
    let ends = (1..=source.bytes.len()).filter(|at| source.bytes[..*at].ends_with(end));
    let mut beginnings = ends.map(|at| &source.bytes[..at]);
    beginnings.find(|beginning| {
        let (out, _) = convert_in(&[beginning], source.dialect, "universal", &with_raw());
        !of(&parse(&out), "item.delta").is_empty()
    })
}

#[test]
fn list_86_every_agent_has_the_skeleton_of_the_mock_agent() {
    for source in sources().into_iter().filter(is_live) {
        let events = parse(&universal(&source));
        let types: Vec<&str> = events.iter().map(|event| event["type"].as_str().unwrap()).collect();
        assert_eq!(types.first(), Some(&"session.started"), "{}", source.name);
        assert_eq!(types.last(), Some(&"session.ended"), "{}", source.name);
        let mut is_running = false;
        let mut open = BTreeSet::new();
        for event in &events {
            let id = item(event)["item_id"].as_str().or(event["data"]["item_id"].as_str());
            match (event["type"].as_str().unwrap(), id) {
                ("turn.started", _) => assert!(!std::mem::replace(&mut is_running, true), "{}", source.name),
                ("turn.ended", _) => assert!(std::mem::replace(&mut is_running, false), "{}", source.name),
                ("item.started", Some(id)) => assert!(open.insert(id), "{} {id}", source.name),
                ("item.delta", Some(id)) => assert!(open.contains(id), "{} {id}", source.name),
                ("item.completed", Some(id)) => assert!(open.remove(id), "{} {id}", source.name),
                _ => {}
            }
            // The answer of the model belongs to a turn.
            if item(event)["role"] == "assistant" && event["type"] == "item.started" {
                let is_history = source.dialect == "acp" || source.dialect == "opencode-events";
                assert!(is_running || is_history, "{}: {event}", source.name);
            }
        }
        assert!(open.is_empty() && !is_running, "{}", source.name);
    }
}

fn is_live(source: &Source) -> bool {
    Dialect::named(source.dialect).unwrap().plane == Plane::Live
}
