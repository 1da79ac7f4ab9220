//! Values that universal events hold or lose on their way from and to other dialects, and events that are damaged.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use interlingua::dialects::{Dialect, Options, Role};
use interlingua::ledger::{Fate, Leftover, Reason, Report};
use interlingua::model::{Event, Field, ItemId, ItemKindTag};
use interlingua::pipe::{Pipe, Writer, WriterOutput};
use serde_json::Value;

use super::{convert_in, dialect, item, of, parse, sources, universal, with_raw};

/// All texts of a record's entries and children.
fn texts(entry: &Value, found: &mut Vec<String>) {
    for name in ["content", "output"] {
        found.extend(entry[name].as_str().map(str::to_owned));
        let parts = entry[name].as_array().into_iter().flatten();
        found.extend(parts.filter_map(|part| part["text"].as_str()).map(str::to_owned));
    }
    entry["children"].as_array().into_iter().flatten().for_each(|child| texts(child, found));
}

#[test]
fn a_record_made_directly_or_from_universal_events_says_the_same() {
    for source in sources() {
        let said = |bytes: &[u8], from: &str| {
            let (record, _) = convert_in(&[bytes], from, "record", &Options::default());
            let mut found = Vec::new();
            for record in serde_json::Deserializer::from_slice(&record).into_iter::<Value>() {
                let record = record.expect(&source.name);
                let entries = record["session"]["entries"].as_array().unwrap();
                for entry in entries {
                    texts(entry, &mut found);
                }
            }
            found.retain(|text| !text.is_empty());
            found.sort();
            found
        };
        let direct = said(&source.bytes, source.dialect);
        assert_eq!(direct, said(&universal(&source), "universal"), "{}", source.name);
        // No text that was streamed between other lines is missing.
        let events = parse(&universal(&source));
        // A record holds instructions of the system elsewhere.
        let said = of(&events, "item.completed").into_iter().filter(|event| item(event)["kind"] != "system");
        for event in said {
            for part in item(event)["content"].as_array().unwrap() {
                let text = part["text"].as_str().or(part["output"].as_str()).unwrap_or_default();
                assert!(
                    text.is_empty() || part["encoding"].is_string() || direct.iter().any(|said| said == text),
                    "{} {text}",
                    source.name
                );
            }
        }
    }
}

#[test]
fn live_output_logs_and_events_are_told_apart() {
    let guess = |bytes: &[u8]| interlingua::sniff::sniff(bytes, true).map(|guess| guess.dialect.name);
    for source in sources() {
        assert_eq!(guess(&source.bytes), Some(source.dialect), "{}", source.name);
        assert_eq!(guess(&universal(&source)), Some("universal"), "{}", source.name);
    }
}

#[test]
fn the_usage_of_a_records_entries_adds_up_to_the_turns() {
    for (name, output) in [("plain", 63), ("partial", 63), ("control", 96)] {
        let path = format!("anthropic/claude_stream/2026-11/{name}.jsonl");
        let source = sources().into_iter().find(|source| source.name == path).unwrap();
        let (record, _) = convert_in(&[&source.bytes], "claude-stream", "record", &Options::default());
        let record: Value = serde_json::from_slice(&record).unwrap();
        let entries = record["session"]["entries"].as_array().unwrap();
        let sum: u64 = entries.iter().filter_map(|entry| entry["token-usage"]["output"].as_u64()).sum();
        assert_eq!(sum, output, "{name}");
    }
}

#[test]
fn records_made_from_live_events_keep_the_schema() {
    for source in sources() {
        let (record, _) = convert_in(&[&source.bytes], source.dialect, "record", &Options::default());
        let (_, report) = convert_in(&[&record], "record", "universal", &Options::default());
        assert!(report.problems.is_empty(), "{} {:?}", source.name, report.problems);
    }
}

#[test]
fn an_unparsed_event_while_two_items_are_open_leaves_the_record_well_formed() {
    let event = |kind: &str, data: &str| {
        format!(
            r#"{{"event_id":"e","sequence":1,"time":"2026-11-15T10:00:00Z","session_id":"s","native_session_id":null,"synthetic":false,"source":"agent","type":"{kind}","data":{data},"raw":null}}"#
        )
    };
    let item = |kind: &str, id: &str, status: &str, content: &str| {
        let item = format!(
            r#"{{"item":{{"item_id":"{id}","native_item_id":null,"parent_id":null,"kind":"message","role":"assistant","content":[{content}],"status":"{status}"}}}}"#
        );
        event(kind, &item)
    };
    let delta = |id: &str, text: &str, kind: &str| {
        let delta = format!(
            r#"{{"item_id":"{id}","native_item_id":null,"delta":"{text}","part":0,"content_type":"{kind}"}}"#
        );
        event("item.delta", &delta)
    };
    let thought =
        r#"{"type":"reasoning","text":"one","visibility":"public","signature":"s","issuer":"anthropic"}"#;
    let lines = [
        item("item.started", "itm_1", "in_progress", ""),
        delta("itm_1", "one", "reasoning"),
        item("item.started", "itm_2", "in_progress", ""),
        delta("itm_2", "tw", "text"),
        // Unparsed bytes end the entry; later events of the first item come too late.
        event("agent.unparsed", r#"{"error":"torn","location":"line 5"}"#),
        item("item.completed", "itm_1", "completed", thought),
        delta("itm_2", "o", "text"),
        item("item.completed", "itm_2", "completed", r#"{"type":"text","text":"two"}"#),
    ];
    let (record, report) =
        convert_in(&[lines.join("\n").as_bytes()], "universal", "record", &Options::default());
    let record: Value = serde_json::from_slice(&record).unwrap();
    let entries = record["session"]["entries"].as_array().unwrap();
    assert!(entries.iter().any(|entry| entry["content"] == "two"), "{entries:?}");
    assert!(report.adds_up());
}

// ---- Values that are written and values that are lost ----------------------------------------------------------------

/// One universal event.
fn event(kind: &str, data: &str) -> String {
    format!(
        r#"{{"event_id":"e","sequence":1,"time":"1970-01-01T00:00:00Z","session_id":"s","native_session_id":null,"synthetic":false,"source":"agent","type":"{kind}","data":{data},"raw":null}}"#
    ) + "\n"
}

fn completed(item: &str) -> String {
    event("item.completed", &format!(r#"{{"item":{{"item_id":"itm_1",{item},"status":"completed"}}}}"#))
}

fn books(lines: &str, from: &str, to: &str) -> (String, Report) {
    let options = Options::default().with_trace(true);
    let (out, report) = convert_in(&[lines.as_bytes()], from, to, &options);
    (String::from_utf8(out).unwrap(), report)
}

fn lost(report: &Report) -> Vec<(&str, Field)> {
    let rows = report.lost_paths.iter().filter_map(|row| Some((&*row.path, row.field?)));
    let mut rows: Vec<_> = rows.collect();
    rows.sort_unstable();
    rows
}

#[test]
fn what_an_agent_says_is_lost_where_only_an_agent_listens() {
    for source in sources() {
        for (bytes, from) in [(source.bytes.clone(), source.dialect), (universal(&source), "universal")] {
            let text = String::from_utf8(bytes).unwrap();
            let (out, report) = books(&text, from, "claude-stream");
            assert!(!out.is_empty() || report.mapped + report.kept == 0, "{} {report:?}", source.name);
            // The writer emits only prompts, decisions and the interrupt.
            let said = report.trace.iter().filter(|leaf| leaf.fate == Fate::Mapped);
            for field in said.filter_map(|leaf| leaf.field) {
                let told = matches!(
                    field,
                    Field::ItemAuthor
                        | Field::ItemOrigin
                        | Field::MessageText
                        | Field::MessageMedia
                        | Field::MediaType
                        | Field::MediaName
                        | Field::StopReason
                        | Field::PermissionId
                        | Field::PermissionAnswer
                        | Field::PermissionMessage
                        | Field::PermissionAction
                        | Field::PermissionInput
                        | Field::QuestionId
                        | Field::QuestionText
                        | Field::QuestionOption
                        | Field::QuestionOptionAbout
                        | Field::QuestionMultiple
                        | Field::QuestionAnswer
                        | Field::QuestionDeclined
                );
                let is_ours = matches!(field, Field::Structure | Field::Padding);
                assert!(told || is_ours, "{}: {field:?} is not told", source.name);
            }
        }
    }
    let call = completed(
        r#""kind":"tool_call","role":"assistant","content":[{"type":"tool_call","name":"n","arguments":"{}","call_id":"c"}]"#,
    );
    let (out, report) = books(&call, "universal", "claude-stream");
    assert_eq!((out.as_str(), report.mapped, report.lost), ("", 0, report.leaves));
}

#[test]
fn arguments_that_the_agent_spells_anew_are_the_same_and_others_are_not() {
    let event = |event: &str| {
        format!(r#"{{"type":"stream_event","session_id":"s","parent_tool_use_id":null,"event":{event}}}"#)
            + "\n"
    };
    let spelled = |input: &str| {
        let block = r#""type":"tool_use","id":"t","name":"Run""#;
        [
            event(r#"{"type":"message_start","message":{"id":"m","role":"assistant","content":[]}}"#),
            event(&format!(r#"{{"type":"content_block_start","index":0,"content_block":{{{block},"input":{{}}}}}}"#)),
            event(
                r#"{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{ \"a\": [1, [true, null], \"\\u00fc\"] }"}}"#,
            ),
            format!(
                r#"{{"type":"assistant","session_id":"s","parent_tool_use_id":null,"message":{{"id":"m","role":"assistant","content":[{{{block},"input":{input}}}]}}}}"#
            ) + "\n",
        ]
        .concat()
    };
    let lost_of = |input: &str| {
        let (_, report) = books(&spelled(input), "claude-stream", "universal");
        let rows = report.lost_paths.iter().filter(|row| row.path.starts_with("/message/content[]/input"));
        rows.map(|row| row.count).sum::<u64>()
    };
    assert_eq!(lost_of(r#"{"a":[1,[true,null],"ü"]}"#), 0);
    assert_eq!(lost_of(r#"{"a":[1,[true,null]]}"#), 3);
    assert_eq!(lost_of(r#"{"a":[1,[true,null],"ü","x"]}"#), 5);
    assert_eq!(lost_of(r#"{"a":[1,[false,null],"ü"]}"#), 4);
    assert_eq!(lost_of(r#"{"b":[1,[true,null],"ü"]}"#), 4);
}

#[test]
fn deltas_continue_the_content_of_a_block_start() {
    let event = |event: &str| {
        format!(r#"{{"type":"stream_event","session_id":"s","parent_tool_use_id":null,"event":{event}}}"#)
            + "\n"
    };
    let block = |index: u32, start: &str, sort: &str, member: &str, delta: &str| {
        let start = format!(r#"{{"type":"content_block_start","index":{index},"content_block":{start}}}"#);
        let delta = format!(
            r#"{{"type":"content_block_delta","index":{index},"delta":{{"type":"{sort}","{member}":"{delta}"}}}}"#
        );
        event(&start) + &event(&delta)
    };
    let thinking = r#"{"type":"thinking","thinking":"Th","signature":"c2"}"#;
    let call = r#"{"type":"tool_use","id":"t","name":"Run","input":"{\"a\":"}"#;
    let whole = |block: &str| {
        format!(
            r#"{{"type":"assistant","session_id":"s","parent_tool_use_id":null,"message":{{"id":"m","role":"assistant","content":[{block}]}}}}"#
        ) + "\n"
    };
    let log = [
        event(r#"{"type":"message_start","message":{"id":"m","role":"assistant"}}"#),
        block(0, thinking, "thinking_delta", "thinking", "ink"),
        event(
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"ln"}}"#,
        ),
        whole(r#"{"type":"thinking","thinking":"Think","signature":"c2ln"}"#),
        block(1, r#"{"type":"text","text":"Hel"}"#, "text_delta", "text", "lo"),
        whole(r#"{"type":"text","text":"Hello"}"#),
        block(2, call, "input_json_delta", "partial_json", "1}"),
        whole(r#"{"type":"tool_use","id":"t","name":"Run","input":{"a":1}}"#),
    ]
    .concat();
    let (out, report) = books(&log, "claude-stream", "universal");
    let told: Vec<String> = of(&parse(out.as_bytes()), "item.completed")
        .iter()
        .map(|event| event["data"]["item"]["content"].to_string())
        .collect();
    for content in
        [r#""text":"Think""#, r#""signature":"c2ln""#, r#""text":"Hello""#, r#""arguments":"{\"a\":1}""#]
    {
        assert!(told.iter().any(|told| told.contains(content)), "{content} in {told:?}");
    }
    assert!(report.lost_paths.iter().all(|row| !row.path.contains("content")), "{:?}", report.lost_paths);
}

#[test]
fn a_user_message_that_only_holds_results_is_no_prompt() {
    let prompt = r#"{"type":"user","message":{"role":"user","content":"go"}}"#;
    let result = r#"{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"x"}]}}"#;
    let (out, report) = books(&format!("{prompt}\n{result}\n"), "claude-stream", "claude-stream");
    assert_eq!(out.lines().count(), 1);
    let said = report.trace.iter().filter(|leaf| leaf.fate == Fate::Mapped);
    let said: Vec<_> = said.collect();
    assert!(said.iter().all(|leaf| leaf.frame == 1), "{said:?}");
}

#[test]
fn the_settings_of_a_request_are_said_and_come_back() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures");
    for path in ["anthropic/messages/request/full.json", "openai/chat/request/full.json"] {
        let bytes = std::fs::read(root.join(path)).unwrap();
        let name = if path.starts_with("anthropic") { "anthropic" } else { "openai-chat" };
        let from = (Dialect::named(name).unwrap(), Role::Request);
        let options = Options::default();
        let pipe = Pipe::new(from, dialect("universal"), &options).unwrap();
        let mut once = Vec::new();
        let report = pipe.finish_with(&bytes, &mut once);
        assert!(report.adds_up());
        let events = parse(&once);
        let done = of(&events, "item.completed");
        let settings = &item(
            done.iter().find(|event| item(event)["content"][0]["label"] == "request").unwrap(),
        )["content"][1]["json"];
        for member in ["model", "max_tokens", "tools", "tool_choice"] {
            assert!(settings.get(member).is_some(), "{path}: {member} in {settings}");
        }
        let (again, _) = convert_in(&[&once], "universal", "universal", &options);
        assert!(again == once, "{path}");
        // Back in the original dialect.
        let mut back = Vec::new();
        Pipe::new(dialect("universal"), from, &options).unwrap().finish_with(&once, &mut back);
        let (first, back): (Value, Value) =
            (serde_json::from_slice(&bytes).unwrap(), serde_json::from_slice(&back).unwrap());
        for member in ["model", "temperature", "stop", "stop_sequences"] {
            assert_eq!(first.get(member), back.get(member), "{path}: {member}");
        }
    }
}

#[test]
fn a_call_of_a_subagent_that_is_not_here_is_named() {
    let line = r#"{"type":"assistant","uuid":"u","parent_tool_use_id":"toolu_elsewhere","message":{"id":"m","role":"assistant","content":[{"type":"text","text":"hi"},{"type":"tool_use","id":"c","name":"n","input":{}}]}}"#;
    let (out, report) = books(line, "claude-stream", "universal");
    let events = parse(out.as_bytes());
    let done = of(&events, "item.completed");
    let said = done.iter().map(|event| item(event)).find(|item| item["kind"] == "message").unwrap();
    assert_eq!((&said["parent_id"], &said["parent_call"]), (&Value::Null, &"toolu_elsewhere".into()));
    assert!(!lost(&report).iter().any(|(_, field)| *field == Field::ItemParentCall));
    let (again, _) = books(&out, "universal", "universal");
    assert_eq!(again, out);
}

#[test]
fn with_raw_lines_nothing_is_lost_and_without_them_what_no_event_says_is() {
    for source in sources() {
        let (_, raw) = convert_in(&[&source.bytes], source.dialect, "universal", &with_raw());
        let (_, bare) = convert_in(&[&source.bytes], source.dialect, "universal", &Options::default());
        // A time that no event shows is lost without the lines, and counts as shown with them.
        let time_of = |row: &&interlingua::ledger::Row| {
            row.field == Some(Field::EventTime) && row.reason == Some(Reason::Merged)
        };
        let unseen: u64 = bare.lost_paths.iter().filter(time_of).map(|row| row.count).sum();
        assert_eq!((raw.mapped + raw.kept, raw.lost), (bare.mapped + bare.lost, 0), "{}", source.name);
        assert_eq!(raw.mapped, bare.mapped + unseen, "{}", source.name);
        assert!(bare.lost_paths.iter().all(|row| row.reason.is_some_and(|why| why != Reason::Invalid)));
    }
}

proptest::proptest! {
    // Fixed cases, so that a run depends only on the code. `cargo xtask fuzz` looks for new cases.
    #![proptest_config(proptest::prelude::ProptestConfig {
        cases: 200,
        rng_seed: proptest::test_runner::RngSeed::Fixed(12),
        failure_persistence: None,
        ..Default::default()
    })]

    /// Lines dropped, doubled, swapped and damaged: the order of events stays sound, and the ledger adds up.
    #[test]
    fn damaged_streams_still_give_events_in_order(
        file in 0usize..8,
        moves in proptest::collection::vec((0usize..40, 0usize..40, 0u8..4, 0usize..4000), 0..6),
    ) {
        let source = &sources()[file];
        let text = String::from_utf8(source.bytes.clone()).unwrap();
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        for (at, other, act, byte) in moves {
            let (at, other) = (at % lines.len(), other % lines.len());
            match act {
                0 if lines.len() > 1 => drop(lines.remove(at)),
                1 => lines.insert(other, lines[at].clone()),
                2 => lines.swap(at, other),
                _ => {
                    let cut = byte % lines[at].len().max(1);
                    let cut = (0..=cut).rev().find(|cut| lines[at].is_char_boundary(*cut)).unwrap();
                    lines[at].truncate(cut);
                }
            }
        }
        let bytes = lines.join("\n").into_bytes();
        for options in [Options::default(), with_raw()] {
            let (once, _) = convert_in(&[&bytes], "claude-stream", "universal", &options);
            let events = parse(&once);
            proptest::prop_assert_eq!(events.last().unwrap()["sequence"].as_u64(), Some(events.len() as u64));
            for (open, close) in [("item.started", "item.completed"), ("turn.started", "turn.ended")] {
                proptest::prop_assert_eq!(of(&events, open).len(), of(&events, close).len());
            }
            let (asked, answered) = (of(&events, "permission.requested"), of(&events, "permission.resolved"));
            proptest::prop_assert_eq!(asked.len(), answered.len());
            if of(&events, "agent.unparsed").is_empty() {
                let (again, _) = convert_in(&[&once], "universal", "universal", &options);
                proptest::prop_assert_eq!(String::from_utf8(once.clone()).unwrap(), String::from_utf8(again).unwrap());
            }
            let (record, _) = convert_in(&[&once], "universal", "record", &options);
            serde_json::from_slice::<Value>(&record).unwrap();
        }
    }

    /// Events with swapped words: read without panic, every leaf booked.
    #[test]
    fn events_that_lie_are_read_and_booked(
        file in 0usize..8,
        changes in proptest::collection::vec((0usize..200, 0usize..60, 0usize..60), 1..8),
    ) {
        let source = &sources()[file];
        for (bytes, from) in [(universal(source), "universal"), (source.bytes.clone(), source.dialect)] {
            let text = String::from_utf8(bytes).unwrap();
            let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
            for &(line, one, two) in &changes {
                let line = line % lines.len();
                // Names, values and punctuation are separated by quotes: any of them may be swapped.
                let mut words: Vec<&str> = lines[line].split('"').collect();
                let (one, two) = (one % words.len(), two % words.len());
                words.swap(one, two);
                lines[line] = words.join("\"");
            }
            let bytes = lines.join("\n").into_bytes();
            for to in ["universal", "record", "claude-code", "claude-stream"] {
                convert_in(&[&bytes], from, to, &with_raw());
            }
        }
    }
}

#[test]
fn a_line_that_only_calls_itself_system_is_nobodys() {
    let guess = interlingua::sniff::sniff(b"{\"type\":\"system\",\"subtype\":\"init\"}\n", true);
    assert!(guess.is_none(), "{guess:?}");
}

/// Collects the fields of the events.
struct Fields(std::sync::Arc<std::sync::Mutex<BTreeSet<Field>>>, BTreeMap<ItemId, ItemKindTag>);

impl Writer for Fields {
    fn event(&mut self, event: &Event<'_>, _: &mut WriterOutput<'_>) {
        let of = match event {
            Event::ItemStarted(head) => {
                self.1.insert(head.id, ItemKindTag::item(&head.kind));
                ItemKindTag::item(&head.kind)
            }
            Event::ItemDelta(delta) => self.1.get(&delta.item).copied().unwrap_or(ItemKindTag::Message),
            _ => ItemKindTag::Message,
        };
        event.clone().each_field(of, &mut |field, _| _ = self.0.lock().unwrap().insert(field));
    }

    fn leftover(&mut self, leftover: Leftover<'_>, out: &mut WriterOutput<'_>) {
        leftover.mark_kept(out.ledger);
    }

    fn finish(&mut self, _: &mut WriterOutput<'_>) {}
}

fn of_ours(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/ours/universal/2026-11");
    std::fs::read(path.join(name)).unwrap()
}

#[test]
fn the_fixtures_by_hand_say_every_field_of_the_model() {
    let said = std::sync::Arc::<std::sync::Mutex<BTreeSet<Field>>>::default();
    for name in ["session.jsonl", "items.jsonl"] {
        let writer = Box::new(Fields(std::sync::Arc::clone(&said), BTreeMap::new()));
        let pipe = Pipe::with_writer(dialect("universal"), writer, &Options::default()).unwrap();
        pipe.finish_with(&of_ours(name), &mut Vec::new());
    }
    let said = said.lock().unwrap();
    let structural = [Field::Structure, Field::Padding];
    let missing: Vec<&Field> =
        Field::ALL.iter().filter(|field| !said.contains(field) && !structural.contains(field)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn what_the_fixtures_by_hand_say_is_written_again() {
    for name in ["session.jsonl", "items.jsonl"] {
        let (once, report) = convert_in(&[&of_ours(name)], "universal", "universal", &Options::default());
        // A message is written when it has content, so its time is later.
        let said = |field: Option<Field>| field.is_some_and(|field| field != Field::EventTime);
        let unsaid: Vec<_> = report.lost_paths.iter().filter(|row| said(row.field)).collect();
        assert!(unsaid.is_empty(), "{name}: {unsaid:?}");
        let (again, _) = convert_in(&[&once], "universal", "universal", &Options::default());
        let (once, again) = (String::from_utf8(once).unwrap(), String::from_utf8(again).unwrap());
        for (line, other) in once.lines().zip(again.lines()) {
            assert_eq!(line, other, "{name}");
        }
        assert_eq!(once.len(), again.len(), "{name}");
    }
}

#[test]
fn lines_that_cannot_be_read_are_two_events_and_lines_again() {
    let said = r#"{"type":"user","sessionId":"s","uuid":"a","parentUuid":null,"message":{"role":"user","content":"hi"}}"#;
    let source = format!("{said}\nx\n1\n\n{{}}\n{said}\ny\n{said}\n\u{fffd}\n[1]\n");
    let side = |name, role| (Dialect::named(name).unwrap(), role);
    let options = Options::default().with_include_raw(true);
    let run = |from, to, input: &[u8]| {
        let mut pipe = Pipe::new(from, to, &options).unwrap();
        let mut out = Vec::new();
        // The lines do not depend on the chunk boundaries.
        input.chunks(7).for_each(|piece| pipe.push(piece, &mut out));
        let report = pipe.finish(&mut out);
        assert_eq!(report.leaves, report.mapped + report.kept + report.lost, "{report:?}");
        out
    };
    let (log, universal) = (side("claude-code", Role::Log), side("universal", Role::Live));
    let events = run(log, universal, source.as_bytes());
    let unparsed: Vec<Value> =
        of(&parse(&events), "agent.unparsed").into_iter().map(|event| event["data"].clone()).collect();
    let expected = [
        // The first unparsed line at once, the following lines together.
        serde_json::json!({"error": "invalid-json", "location": "line 2", "text": "x"}),
        serde_json::json!({"error": "unknown-shape", "location": "line 3", "lines": 2, "text": "1\n{}"}),
        serde_json::json!({"error": "invalid-json", "location": "line 7", "text": "y"}),
        serde_json::json!({"error": "invalid-json", "location": "line 9", "text": "\u{fffd}"}),
        serde_json::json!({"error": "unknown-shape", "location": "line 10", "text": "[1]"}),
    ];
    assert_eq!(unparsed, expected);
    // In a record they have their original bytes.
    let record = run(universal, side("record", Role::Log), &events);
    let record: Value = serde_json::from_slice(&record).unwrap();
    let kept: Vec<&str> = record["session"]["entries"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|entry| entry["data"]["raw"].as_str())
        .collect();
    assert_eq!(kept, ["x", "1\n{}", "y", "\u{fffd}", "[1]"]);
}
