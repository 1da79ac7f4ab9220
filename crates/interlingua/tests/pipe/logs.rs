//! Shared behaviour of logs: a frame of any framing is restored byte for byte, an item of another agent becomes a
//! frame, long logs take proportional time; and events of log readers beyond texts and calls.
#![expect(clippy::expect_used, reason = "tests fail by panicking")]

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use interlingua::dialects::{Dialect, Lineage, Options, Plane, Role, RoleSpec, WriteSpec};
use interlingua::framing::{FrameKind, Framing};
use interlingua::json::{Raw, Str};
use interlingua::ledger::{Leftover, Report};
use interlingua::log::{GatheredItem, LogBuilder, LogForm, LogRules, LogWriter, NativeObject, NativeValue};
use interlingua::model::{
    Author, CallKind, Event, Field, ItemHead, ItemKind, ItemTail, Notice, Origin, Part, Session,
    supports_everything,
};
use interlingua::pipe::{Doc, EventSink, Pipe, Reader, Writer, WriterOutput};
use interlingua::tape::{Limits, Val};
use serde_json::Value;

fn named(name: &str) -> &'static Dialect {
    Dialect::named(name).expect("registered")
}

fn convert(from: (&Dialect, Role), to: (&Dialect, Role), bytes: &[u8]) -> (String, Report) {
    let pipe = Pipe::new(from, to, &Options::default()).expect("readable and writable");
    let mut out = Vec::new();
    let report = pipe.finish_with(bytes, &mut out);
    assert!(report.adds_up(), "{report:?}");
    (String::from_utf8(out).expect("text"), report)
}

/// Collects all events.
struct Listener(Arc<Mutex<Vec<Event<'static>>>>);

impl Writer for Listener {
    fn event(&mut self, event: &Event<'_>, _: &mut WriterOutput<'_>) {
        self.0.lock().expect("no panic while held").push(event.clone().into_owned());
    }

    fn leftover(&mut self, _: Leftover<'_>, _: &mut WriterOutput<'_>) {}

    fn finish(&mut self, _: &mut WriterOutput<'_>) {}
}

fn events(dialect: &str, log: &str) -> Vec<Event<'static>> {
    let heard = Arc::default();
    let from = (named(dialect), Role::Log);
    let listener = Box::new(Listener(Arc::clone(&heard)));
    let pipe = Pipe::with_writer(from, listener, &Options::default()).expect("readable");
    pipe.finish_with(log.as_bytes(), &mut Vec::new());
    std::mem::take(&mut *heard.lock().expect("no panic while held"))
}

fn heads(dialect: &str, log: &str) -> Vec<ItemHead<'static>> {
    let heads = events(dialect, log).into_iter().filter_map(|event| match event {
        Event::ItemStarted(head) => Some(head),
        _ => None,
    });
    heads.collect()
}

fn tails(dialect: &str, log: &str) -> Vec<ItemTail<'static>> {
    let tails = events(dialect, log).into_iter().filter_map(|event| match event {
        Event::ItemCompleted(tail) => Some(tail),
        _ => None,
    });
    tails.collect()
}

fn sessions(dialect: &str, log: &str) -> Vec<Session<'static>> {
    let sessions = events(dialect, log).into_iter().filter_map(|event| match event {
        Event::SessionStarted(session) | Event::SessionUpdated(session) => Some(session),
        _ => None,
    });
    sessions.collect()
}

/// A log of messages only, in any framing: 0 documents with a list, 1 documents with a list or lines, 2 one document, 3
/// lines.
struct ThreadForm<const FRAMING: usize>;

const PATH: &[&str] = &["thread", "messages"];

const FRAMINGS: [Framing; 4] =
    [Framing::Documents(PATH), Framing::LinesOrDocuments(PATH, &[]), Framing::Whole, Framing::Lines];

impl<const FRAMING: usize> LogForm for ThreadForm<FRAMING> {
    const RULES: LogRules = LogRules {
        dialect: "thread",
        framing: FRAMINGS[FRAMING],
        calls: &[CallKind::Function],
        session: &[Field::SessionTitle],
        ..LogRules::NOTHING
    };

    fn kept<'g>(&mut self, item: GatheredItem<'g>, _: Val<'_>) -> NativeObject<'g> {
        let mut message = NativeObject::new();
        message.put_some("id", item.head().native_id.as_ref()).put_some("text", text_of(item));
        message
    }

    fn build(&mut self, item: GatheredItem<'_>, log: &mut LogBuilder<'_, '_>) {
        if FRAMING == 0 && !log.has_frames() {
            let (mut thread, mut head) = (NativeObject::new(), NativeObject::new());
            thread.put_some("title", log.say(Field::SessionTitle));
            thread.put("messages", NativeValue::List(Vec::new()));
            head.put("thread", thread);
            log.write_head(head);
        }
        let mut message = NativeObject::new();
        message.put("id", log.id_of(item)).put_some("text", text_of(item));
        log.write(message);
    }
}

fn text_of(item: GatheredItem<'_>) -> Option<&Str<'static>> {
    item.parts().find_map(|part| if let Part::Text(text) = part { Some(text) } else { None })
}

struct ThreadReader;

impl Reader for ThreadReader {
    fn document(&mut self, doc: Doc<'_>, out: &mut EventSink<'_>) {
        if matches!(doc.kind, FrameKind::Head | FrameKind::Tail) {
            let item = out.head(ItemKind::Notice(Notice { event_type: None }), Author::System);
            let item = out.start(item);
            return out.complete(item);
        }
        if let Some(time) = doc.root.note_raw("clock", Field::EventTime) {
            out.event(&Event::Clock(time));
        }
        let mut head = out.head(ItemKind::Message, Author::User);
        head.native_id = doc.root.take_str("id", Field::ItemId);
        head.agent = doc.root.note_str("agent", Field::ItemAgent);
        head.parent_call = doc.root.note_str("call", Field::ItemParentCall);
        let item = out.start(head);
        if let Some(text) = doc.root.take_str("text", Field::MessageText) {
            out.delta(item, 0, Part::Text(text));
        }
        out.complete(item);
    }
}

const fn thread<const FRAMING: usize>(roles: &'static [RoleSpec]) -> Dialect {
    Dialect {
        name: "thread",
        module: "thread",
        plane: Plane::Log,
        about: "",
        detected_by: "",
        flavour_of: None,
        issuer: None,
        lineage: Lineage::Written,
        roles,
        reads_more: &[],
        sniff: |_| None,
    }
}

macro_rules! thread {
    ($framing:literal) => {
        &thread::<$framing>(
            const {
                &[RoleSpec {
                    role: Role::Log,
                    framing: FRAMINGS[$framing],
                    read: Some(|_| Box::new(ThreadReader)),
                    write: Some(WriteSpec {
                        make: |options| Box::new(LogWriter::new(ThreadForm::<$framing>, options)),
                        support: supports_everything,
                    }),
                }]
            },
        )
    };
}

fn comes_back(dialect: &Dialect, document: &str) {
    let (record, report) = convert((dialect, Role::Log), (named("record"), Role::Log), document.as_bytes());
    assert_eq!(report.lost, 0, "{report:?}");
    let (back, _) = convert((named("record"), Role::Log), (dialect, Role::Log), record.as_bytes());
    assert_eq!(back, document, "from {record}");
}

#[test]
fn a_document_with_a_list_comes_back_byte_for_byte() {
    for document in [
        "{\"thread\":{\"messages\":[{\"id\":\"a\",\"text\":\"x\"},{\"id\":\"b\"}]}}",
        "\n {\n  \"v\": 1,\n  \"thread\": {\n    \"title\": \"~\",\n    \"messages\": [\n      {\n        \"id\": \"a\",\n        \"text\": \"x\"\n      },\n      {\"text\":\"~~\"} , {\"text\" : \"y\"}\n    ],\n    \"end\": [1, 2]\n  },\n  \"last\": null\n}\n",
        "{\"thread\":{\"messages\":[]}}",
        "{\"thread\":{\"messages\":[ \n ] , \"x\":[\"~\"]} }",
        "{\"thread\":{\"messages\":[ {\"text\":\"a]\\\"}\"} ]},\"z\":{}}",
        "{\"thread\":{\"other\":[]}}",
    ] {
        comes_back(thread!(0), document);
    }
}

#[test]
fn documents_of_any_spacing_come_back_byte_for_byte() {
    let two = "\n{\"id\":\"a\",\n \"text\":\"x}\"}\r\n\n{\"text\":\"y\"}{\"text\":\"~\"} \n";
    comes_back(thread!(1), two);
    comes_back(thread!(2), " {\n\t\"text\" : \"x\", \"more\":[ ]\n}\n\n");
    comes_back(thread!(3), "{\"text\":\"x\"} \r\n\n{\"text\":\"y\"}");
}

#[test]
fn anything_comes_back_byte_for_byte_from_documents() {
    const WORDS: &[&str] = &[
        "{\"thread\":{\"messages\":[",
        "{\n  \"thread\": {\n    \"messages\": [\n      ",
        "{\"id\":\"a\",\"text\":\"x\"}",
        "{\n        \"id\": \"b\",\n        \"text\": \"y\"\n      }",
        "{\"text\":\"~\"}",
        ",",
        ",\n      ",
        "]}}",
        "\n    ],\n    \"end\": 1\n  },\n  \"last\": {}\n}",
        "]",
        "}",
        "{",
        "[",
        "\"",
        "\\",
        ",\"more\":[1,{}]",
        "\n",
        "\r\n",
        "  ",
        "word",
        "\0",
        "\u{feff}",
        "1",
        "{\"v\":1}",
        "{\n  \"v\": 1\n}\n",
    ];
    let mut state = 1u64;
    let mut next = move |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    for round in 0..6_000 {
        let mut text: Vec<u8> = Vec::new();
        for _ in 0..=next(14) {
            text.extend_from_slice(WORDS[next(WORDS.len())].as_bytes());
        }
        if round % 5 == 0 {
            let at = next(text.len());
            text[at] = 0xff;
        }
        for dialect in [thread!(0), thread!(1)] {
            let options =
                Options::default().with_limits(Limits { bytes: 20 + next(200), ..Limits::default() });
            let run = |options: &Options, chunk: usize| {
                let to = (named("record"), Role::Log);
                let mut pipe = Pipe::new((dialect, Role::Log), to, options).expect("a pair");
                let mut record = Vec::new();
                text.chunks(chunk).for_each(|piece| pipe.push(piece, &mut record));
                pipe.finish(&mut record);
                record
            };
            for options in [Options::default(), options] {
                let record = run(&options, text.len());
                assert_eq!(record, run(&options, 1 + next(9)), "chunks matter");
                let to = (dialect, Role::Log);
                let pipe = Pipe::new((named("record"), Role::Log), to, &Options::default()).expect("a pair");
                let mut back = Vec::new();
                pipe.finish_with(&record, &mut back);
                let (back, text) = (String::from_utf8_lossy(&back), String::from_utf8_lossy(&text));
                assert_eq!(back, text, "from {}", String::from_utf8_lossy(&record));
            }
        }
    }
}

#[test]
fn records_may_follow_one_another() {
    let log = |session: &str| {
        format!(
            r#"{{"type":"user","uuid":"{session}1","sessionId":"{session}","message":{{"role":"user","content":"one"}}}}"#
        ) + "\n"
    };
    let record = |log: &str| {
        convert((named("claude-code"), Role::Log), (named("record"), Role::Log), log.as_bytes()).0
    };
    let both = record(&log("a")) + " \n" + &record(&log("b"));
    let (back, report) =
        convert((named("record"), Role::Log), (named("claude-code"), Role::Log), both.as_bytes());
    assert_eq!((back, report.errors), (log("a") + &log("b"), 0));
    // Each record names its own source, so no digest covers both logs.
    let not_compared =
        "restored log not compared with the digest of its source: the input is not the records of one log";
    assert_eq!(report.notes, [("a further session follows in the same file", 1), (not_compared, 1)]);
    // A source of several sessions becomes as many records.
    let stream = |record: &str| {
        convert((named("record"), Role::Log), (named("universal"), Role::Live), record.as_bytes()).0
    };
    let events = stream(&record(&log("a"))) + &stream(&record(&log("b")));
    let (records, _) =
        convert((named("universal"), Role::Live), (named("record"), Role::Log), events.as_bytes());
    let ids: Vec<String> = serde_json::Deserializer::from_str(&records)
        .into_iter::<Value>()
        .map(|record| record.expect("a record")["id"].to_string())
        .collect();
    assert_eq!(ids, ["\"a\"", "\"b\""]);
}

#[test]
fn records_that_follow_one_another_stay_separate_sessions() {
    // A record of the smallest log of each dialect, and records without any facts about their session.
    let bare = |text: &str| {
        format!(r#"{{"version":"3.0.0","session":{{"entries":[{{"type":"user","content":"{text}"}}]}}}}"#)
            + "\n"
    };
    let mut records = vec![bare("one"), bare("two")];
    let log = (named("record"), Role::Log);
    let mut logs = crate::support::fixtures();
    logs.retain(|case| case.way.0.plane == Plane::Log && case.way.1 == Role::Log);
    logs.sort_by_key(|case| (case.way.0.name, case.bytes.len()));
    logs.dedup_by_key(|case| case.way.0.name);
    records.extend(logs.iter().map(|case| convert(case.way, log, &case.bytes).0));
    assert!(records.len() > 10, "{}", records.len());
    let documents = |text: &str| -> Vec<Value> {
        let found = serde_json::Deserializer::from_str(text).into_iter();
        found.map(|document| document.expect("a document")).collect()
    };
    // The entries of each document without its kept frames.
    let entries = |text: &str| -> Vec<Vec<String>> {
        let of = |document: Value| {
            let entries = document["session"]["entries"].as_array().expect("entries").clone();
            let told = entries.iter().filter(|entry| entry["event-type"] != "line");
            told.map(|entry| format!("{} {} {}", entry["type"], entry["content"], entry["timestamp"]))
                .collect()
        };
        documents(text).into_iter().map(of).collect()
    };
    for one in &records {
        for other in &records {
            let both = one.clone() + other;
            let count = documents(&both).len();
            let ids: Vec<Value> =
                documents(&both).iter().map(|record| record["session"]["session-id"].clone()).collect();
            // Records of one session are joined.
            if ids.windows(2).any(|ids| ids[0] == ids[1] && !ids[0].is_null()) {
                continue;
            }
            let v2 = (named("record-v2"), Role::Log);
            let written = convert(log, v2, both.as_bytes()).0;
            let alone = [one, other].map(|record| entries(&convert(log, v2, record.as_bytes()).0)).concat();
            assert_eq!(entries(&written), alone, "{both}");
            // A record of Pi gives back the file of the log, which may hold several sessions; others become a log each.
            let (_, report) = convert(log, (named("pi"), Role::Log), both.as_bytes());
            let further: u64 = report
                .notes
                .iter()
                .filter(|(note, _)| note.contains("another session") || note.contains("further session"))
                .map(|note| note.1)
                .sum();
            assert_eq!(further as usize, count - 1, "{both}");
        }
    }
}

#[test]
fn another_agents_session_becomes_a_document_with_a_list() {
    let log = r#"{"type":"custom-title","customTitle":"T","sessionId":"s"}
{"type":"user","uuid":"u1","sessionId":"s","message":{"role":"user","content":"one"}}
{"type":"assistant","uuid":"u2","sessionId":"s","message":{"role":"assistant","content":[{"type":"text","text":"two"}]}}
"#;
    let (document, _) = convert((named("claude-code"), Role::Log), (thread!(0), Role::Log), log.as_bytes());
    assert_eq!(
        document,
        r#"{"thread":{"title":"T","messages":[{"id":"u1","text":"one"},{"id":"u2","text":"two"}]}}"#
    );
}

#[test]
fn what_a_subagent_said_stands_beside_the_conversation_not_in_it() {
    let log = r#"{"id":"m1","text":"one"}
{"id":"s1","agent":"a1","call":"t1","text":"sub"}
{"id":"s2","agent":"a1","text":"more"}
{"id":"m2","text":"two"}
"#;
    let (out, report) = convert((thread!(3), Role::Log), (named("claude-code"), Role::Log), log.as_bytes());
    let lines: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).expect("a line")).collect();
    let told = |line: &Value| (line["isSidechain"].clone(), line["parentUuid"].clone());
    assert_eq!(told(&lines[0]), (false.into(), Value::Null));
    assert_eq!(told(&lines[1]), (true.into(), Value::Null));
    assert_eq!(told(&lines[2]), (true.into(), "s1".into()));
    assert_eq!(told(&lines[3]), (false.into(), "m1".into()));
    assert_eq!((&lines[1]["agentId"], &lines[1]["parentToolUseID"]), (&"a1".into(), &"t1".into()));
    assert!(!report.lost_paths.iter().any(|row| row.field == Some(Field::ItemAgent)), "{report:?}");
    let (_, report) = convert((thread!(3), Role::Log), (named("codex"), Role::Log), log.as_bytes());
    assert!(report.lost_paths.iter().any(|row| row.field == Some(Field::ItemAgent)), "{report:?}");
}

#[test]
fn a_line_without_a_time_has_the_time_at_the_source() {
    let log = r#"{"clock":"2026-02-01T00:00:01Z","text":"one"}
{"clock":"2026-02-01T00:00:02Z","text":"two"}
"#;
    for to in ["claude-code", "codex"] {
        let (out, report) = convert((thread!(3), Role::Log), (named(to), Role::Log), log.as_bytes());
        assert!(out.contains("00:00:01Z") && out.contains("00:00:02Z") && !out.contains("1970"), "{out}");
        assert_eq!(report.lost_paths.iter().find(|row| row.field == Some(Field::EventTime)), None);
    }
}

fn claude(members: &str, content: &str) -> String {
    format!(
        r#"{{"type":"user","uuid":"u",{members}"sessionId":"s","message":{{"role":"user","content":{content}}}}}"#
    ) + "\n"
}

#[test]
fn a_line_of_the_user_tells_whose_words_it_holds() {
    for (members, content, origin) in [
        ("", r#""fix it""#, Some(Origin::Own)),
        (r#""isMeta":true,"#, r#""<caveat>""#, Some(Origin::Harness)),
        (r#""isMeta":false,"#, r#""fix it""#, Some(Origin::Own)),
        ("", r#"[{"type":"tool_result","tool_use_id":"t","content":"x"}]"#, None),
        (r#""isVisibleInTranscriptOnly":true,"#, r#""shown""#, Some(Origin::Harness)),
        ("", r#""<system-reminder>x</system-reminder>""#, Some(Origin::Harness)),
        ("", r#""<task-notification>x""#, Some(Origin::Harness)),
        ("", r#""[Request interrupted by user]""#, Some(Origin::Harness)),
        ("", r#""This session is being continued from a previous conversation that""#, Some(Origin::Summary)),
        (r#""isSidechain":true,"agentId":"a1","parentUuid":"p","#, r#""look""#, None),
        (r#""isCompactSummary":true,"#, r#""This session""#, Some(Origin::Summary)),
        (r#""origin":{"kind":"human"},"#, r#""fix it""#, Some(Origin::Own)),
        (r#""origin":{"kind":"task-notification"},"#, r#""done""#, Some(Origin::Harness)),
        ("", r#""<command-name>/clear</command-name>""#, Some(Origin::Command)),
        ("", r#"[{"type":"text","text":"<local-command-stdout>x"}]"#, Some(Origin::Command)),
        (r#""isSidechain":true,"agentId":"a1","#, r#""look""#, Some(Origin::Agent)),
    ] {
        assert_eq!(heads("claude-code", &claude(members, content))[0].origin, origin, "{members}{content}");
    }
}

#[test]
fn a_line_of_a_subagent_names_it_and_the_call_that_started_it() {
    let line = claude(r#""isSidechain":true,"agentId":"a1","parentToolUseID":"t1","#, r#""look""#);
    let head = &heads("claude-code", &line)[0];
    assert_eq!(head.agent.as_ref().map(Str::as_escaped), Some("a1"));
    assert_eq!(head.parent_call.as_ref().map(Str::as_escaped), Some("t1"));
    let old = &heads("claude-code", &claude(r#""isSidechain":true,"#, r#""look""#))[0];
    assert!(old.agent.is_some());
    assert_eq!(
        heads("claude-code", &claude(r#""isSidechain":false,"agentId":"a1","#, r#""x""#))[0].agent,
        None
    );
}

#[test]
fn a_result_tells_what_the_command_returned_and_how_long_it_took() {
    let block = r#"[{"type":"tool_result","tool_use_id":"t","is_error":true,"content":"Exit code 3\nno"}]"#;
    let tail = &tails("claude-code", &claude(r#""toolUseResult":{"durationMs":12},"#, block))[0];
    assert_eq!((tail.exit_code, tail.duration), (Some(3), Some(12)));
    let two = format!("{},{}", &block[..block.len() - 1], &block[1..]);
    let tail = &tails("claude-code", &claude(r#""toolUseResult":{"durationMs":12},"#, &two))[0];
    assert_eq!((tail.exit_code, tail.duration), (Some(3), None));
}

#[test]
fn modes_and_policies_are_told_when_they_change() {
    let line = |mode: &str| claude(&format!(r#""permissionMode":"{mode}","#), r#""x""#);
    let log = line("default") + &line("default") + &line("plan");
    let modes: Vec<_> =
        sessions("claude-code", &log).into_iter().filter_map(|it| it.permission_mode).collect();
    assert_eq!(modes.iter().map(Str::as_escaped).collect::<Vec<_>>(), ["default", "plan"]);
    let context = |policy: &str| {
        codex(
            "turn_context",
            &format!(r#"{{"cwd":"/","approval_policy":"{policy}","sandbox_policy":{{"type":"x"}}}}"#),
        )
    };
    let known = sessions("codex", &(context("never") + &context("never") + &context("on-request")));
    let policies: Vec<_> =
        known.iter().filter_map(|it| it.approval_policy.as_ref()).map(Raw::as_str).collect();
    assert_eq!(policies, ["\"never\"", "\"on-request\""]);
    let sandboxes = known.iter().filter_map(|it| it.sandbox_policy.as_ref()).map(Raw::as_str);
    assert_eq!(sandboxes.collect::<Vec<_>>(), [r#"{"type":"x"}"#]);
}

fn codex(kind: &str, payload: &str) -> String {
    format!(r#"{{"timestamp":"2026-02-01T00:00:00Z","type":"{kind}","payload":{payload}}}"#) + "\n"
}

#[test]
fn codex_puts_words_into_the_users_mouth() {
    let said = |text: &str| {
        let payload = format!(
            r#"{{"type":"message","role":"user","content":[{{"type":"input_text","text":"{text}"}}]}}"#
        );
        heads("codex", &codex("response_item", &payload))[0].origin
    };
    assert_eq!(said("fix it"), None);
    for text in ["<environment_context>\\n", "<user_instructions>\\n", "# AGENTS.md instructions for /x"] {
        assert_eq!(said(text), Some(Origin::Harness), "{text}");
    }
    assert_eq!(
        said("Another language model started to solve this problem and produced a summary of its"),
        Some(Origin::Summary)
    );
    let agent = r#"{"type":"agent_message","content":[{"type":"input_text","text":"done"}]}"#;
    assert_eq!(heads("codex", &codex("response_item", agent))[0].origin, Some(Origin::Agent));
}

#[test]
fn a_result_of_codex_tells_what_the_command_returned_wherever_it_stands() {
    let output = |text: &str| {
        let payload = format!(r#"{{"type":"function_call_output","call_id":"c","output":"{text}"}}"#);
        codex("response_item", &payload)
    };
    for (text, exit_code, duration) in [
        ("Exit code: 2\\nWall time: 1.5 seconds\\nOutput:\\nx", Some(2), Some(1500)),
        (
            "Chunk ID: a\\nWall time: 0.0512 seconds\\nProcess exited with code 127\\nOutput:\\n",
            Some(127),
            Some(51),
        ),
        (
            r#"{\"output\":\"x\",\"metadata\":{\"exit_code\":-1,\"duration_seconds\":3.0}}"#,
            Some(-1),
            Some(3000),
        ),
        ("some text\\nExit code: 7", None, None),
    ] {
        let tail = &tails("codex", &output(text))[0];
        assert_eq!((tail.exit_code, tail.duration), (exit_code, duration), "{text}");
    }
    let ended =
        r#"{"type":"exec_command_end","call_id":"c","exit_code":4,"duration":{"secs":2,"nanos":7000000}}"#;
    let item = r#"{"type":"item_completed","item":{"type":"CommandExecution","id":"c","exit_code":4,"duration":{"secs":2,"nanos":7000000}}}"#;
    for event in [ended, item] {
        let tails = tails("codex", &(codex("event_msg", event) + &output("x")));
        assert_eq!((tails[1].exit_code, tails[1].duration), (Some(4), Some(2007)));
    }
}

#[test]
fn turns_that_were_taken_back_are_told() {
    let log = codex("event_msg", r#"{"type":"thread_rolled_back","num_turns":2}"#);
    let turns = events("codex", &log).into_iter().find_map(|event| match event {
        Event::Rewound(rewind) => rewind.turns,
        _ => None,
    });
    assert_eq!(turns, Some(2));
}

#[test]
fn the_oldest_rollouts_have_items_without_an_envelope() {
    let log = r#"{"id":"5973b6c0-94b8-487b-a530-2aeb6098ae0e","timestamp":"2025-05-07T17:24:21.123Z","instructions":null}
{"type":"message","role":"user","content":[{"type":"input_text","text":"hi"}]}
{"type":"function_call","id":"f","name":"shell","arguments":"{\"command\":[\"ls\"]}","call_id":"c"}
{"type":"function_call_output","call_id":"c","output":"x"}
{"record_type":"state"}
"#;
    let kinds: Vec<_> = heads("codex", log).into_iter().map(|head| head.kind).collect();
    assert!(matches!(
        kinds[..],
        [
            ItemKind::Notice(_),
            ItemKind::Message,
            ItemKind::ToolCall(_),
            ItemKind::ToolResult(_),
            ItemKind::Notice(_)
        ]
    ));
    let id = sessions("codex", log)[0].id.clone();
    assert_eq!(id.as_ref().map(Str::as_escaped), Some("5973b6c0-94b8-487b-a530-2aeb6098ae0e"));
    comes_back(named("codex"), log);
}

#[test]
#[expect(clippy::disallowed_methods, reason = "time is what this test measures")]
fn long_logs_take_long_only_in_proportion() {
    let time = |count: usize| {
        let summaries = r#"{"type":"summary_text","text":"s"},"#.repeat(count);
        let reasoning = format!(r#"{{"type":"reasoning","summary":[{}]}}"#, summaries.trim_end_matches(','));
        let calls: String = (0..count)
            .map(|n| format!(r#"{{"type":"function_call","name":"f","arguments":"{{}}","call_id":"c{n}"}}"#))
            .map(|payload| codex("response_item", &payload))
            .collect();
        let results: String = (0..count)
            .rev()
            .map(|n| format!(r#"{{"type":"function_call_output","call_id":"c{n}","output":"x"}}"#))
            .map(|payload| codex("response_item", &payload))
            .collect();
        let log = codex("response_item", &reasoning) + &calls + &results;
        let children = r#"{"type":"tool_use","id":"t","name":"f","input":{}},"#.repeat(count);
        let message = format!(
            r#"{{"type":"assistant","uuid":"u","sessionId":"s","message":{{"role":"assistant","content":[{}]}}}}"#,
            children.trim_end_matches(',')
        );
        let begin = Instant::now();
        let way = |from: &str, to: &str, log: &str| {
            convert((named(from), Role::Log), (named(to), Role::Log), log.as_bytes()).0
        };
        way("codex", "claude-code", &log);
        way("claude-code", "codex", &message);
        let record = way("claude-code", "record", &message);
        assert_eq!(way("record", "claude-code", &record).trim_end(), message);
        begin.elapsed()
    };
    time(100);
    let (short, long) = (time(1000), time(8000));
    assert!(long < short * 30 + Duration::from_millis(200), "{short:?} for 1,000, {long:?} for 8,000");
}

#[test]
fn a_line_that_stands_twice_is_counted_once() {
    let lines = [
        (
            "qwen-code",
            r#"{"uuid":"a","type":"assistant","timestamp":"2026-11-16T09:00:00Z","message":{"role":"model","parts":[{"text":"hi"}]},"usageMetadata":{"promptTokenCount":7,"candidatesTokenCount":1}}"#,
        ),
        (
            "pi",
            r#"{"type":"message","id":"a","timestamp":"2026-11-16T09:00:00Z","message":{"role":"assistant","content":[{"type":"text","text":"hi"}],"usage":{"input":7,"output":1}}}"#,
        ),
        ("kimi-code", r#"{"type":"usage.record","usage":{"inputOther":7,"output":1},"time":1794731810001}"#),
        (
            "gemini-cli",
            r#"{"sessionId":"s","role":"model","parts":[{"text":"hi"}],"timestamp":"2026-11-16T09:00:00Z","usageMetadata":{"promptTokenCount":7,"candidatesTokenCount":1}}"#,
        ),
    ];
    for (dialect, line) in lines {
        // The same line again, and a line of another time.
        let later = line.replace("09:00:00", "09:00:01").replace("810001", "810002");
        let log = format!("{line}\n{line}\n{later}\n");
        let told = events(dialect, &log).into_iter().filter_map(|event| match event {
            Event::Usage(turn) => turn.usage,
            _ => None,
        });
        assert_eq!(told.filter_map(|usage| usage.input).sum::<u64>(), 14, "{dialect}");
    }
}
