//! Records: the values of a source are in its record as members of the record, and are read back from there.
#![expect(clippy::expect_used, reason = "tests fail by panicking")]

use crate::support::{Case, Law, Way, convert, convert_with, fixtures, record, same};
use interlingua::dialects::{DIALECTS, Dialect, Options, Plane, Role};
use interlingua::error::{Code, Severity};
use interlingua::fold::{Content, Item, Transcript};
use interlingua::json::Str;
use interlingua::ledger::Fate;
use interlingua::model::{Args, Decision, Part, Status, StopClass};

fn named(name: &str, role: Role) -> Way {
    (Dialect::named(name).expect("registered"), role)
}

fn said(way: Way, bytes: &[u8]) -> Transcript {
    let (mut said, _) = Transcript::read(way, bytes, &Options::default()).expect("readable");
    said.items.iter_mut().for_each(as_read);
    said
}

/// Part numbers are reassigned, and arguments are a JSON value however the source wrote them.
fn as_read(item: &mut Item) {
    let mut next = 0;
    // A stream emits an empty state before the real state.
    let has_state = |content: &Content| matches!(content, Content::Part(_, Part::Opaque(state)) if !state.value.is_empty());
    if item.content.iter().any(has_state) {
        item.content
            .retain(|content| !matches!(content, Content::Part(_, Part::Opaque(_))) || has_state(content));
    }
    for content in &mut item.content {
        match content {
            Content::Part(number, part) => {
                *number = next;
                next += 1;
                if let Part::Args(Args::Json(json)) = part {
                    *part = Part::Args(Args::Text(Str::from_plain(json.as_str())));
                }
            }
            Content::Item(inner) => as_read(inner),
        }
    }
}

/// The record of a source, after asserting that the record is sound.
fn record_of(way: Way, bytes: &[u8]) -> Vec<u8> {
    let out = convert(way, record(), bytes);
    assert_eq!(out.report.lost, 0, "lost on the way to a record: {:?}", out.report.lost_paths);
    let check = convert(record(), named("universal", Role::Live), &out.bytes).report;
    let errors: Vec<_> =
        check.problems.iter().filter(|problem| problem.code.severity() == Severity::Error).collect();
    assert!(errors.is_empty(), "{errors:?} in {}", String::from_utf8_lossy(&out.bytes));
    out.bytes
}

/// An item without a time gets the time of the source's clock.
fn stamped_by_the_clock(before: &[Item], after: &mut [Item]) {
    for (before, after) in before.iter().zip(after) {
        if before.circumstances.time.is_none() {
            after.circumstances.time = None;
        }
    }
}

/// A universal event as a line.
fn line(number: usize, kind: &str, data: &str) -> String {
    format!(
        r#"{{"event_id":"e{number}","sequence":{number},"time":"2026-02-01T00:00:{number:02}Z","session_id":"s","native_session_id":"n","synthetic":false,"source":"agent","type":"{kind}","data":{data},"raw":null}}"#
    )
}

fn universal(events: &[(&str, &str)]) -> String {
    events.iter().enumerate().map(|(number, (kind, data))| line(number + 1, kind, data) + "\n").collect()
}

#[test]
fn a_source_and_its_record_say_the_same() {
    let mut law = Law::new("what a fixture says and what its record says fold to the same");
    for case in fixtures() {
        let bytes = record_of(case.way, &case.bytes);
        let (before, mut after) = (said(case.way, &case.bytes), said(record(), &bytes));
        stamped_by_the_clock(&before.items, &mut after.items);
        let mut differ = |what: &str, before: String, after: String| {
            law.holds(before == after, || {
                format!(
                    "{case}: {what}\n{}",
                    crate::support::first_difference(before.as_bytes(), after.as_bytes())
                )
            });
        };
        let unparsed = crate::support::compare::is_unparsed;
        let items = |said: &Transcript| {
            let items: Vec<_> = said.items.iter().filter(|item| !unparsed(item)).collect();
            format!("{items:#?}")
        };
        differ("items", items(&before), items(&after));
        differ("turns", format!("{:#?}", before.turns), format!("{:#?}", after.turns));
        differ("errors", format!("{:#?}", before.errors), format!("{:#?}", after.errors));
        differ("permissions", format!("{:#?}", before.permissions), format!("{:#?}", after.permissions));
        differ("questions", format!("{:#?}", before.questions), format!("{:#?}", after.questions));
        differ("requests", format!("{:#?}", before.requests), format!("{:#?}", after.requests));
        differ("end", format!("{:#?}", before.end), format!("{:#?}", after.end));
        let session = |said: &Transcript| {
            let session = said.session.clone();
            format!("{:?}", (session.cwd, session.branch, session.commit, session.title, session.cli_version))
        };
        differ("session", session(&before), session(&after));
    }
    law.end();
}

#[test]
fn every_hole_has_its_value_in_the_record() {
    let mut law = Law::new("a text that was taken out of a kept line stands elsewhere in the record");
    let options = Options::default().with_trace(true);
    for case in fixtures().into_iter().filter(|case| case.way.0.plane != Plane::Log) {
        let out = convert_with(case.way, record(), [&case.bytes[..]], &options);
        let text = String::from_utf8(out.bytes).expect("text");
        let source = frames(&case);
        for leaf in &out.report.trace {
            let (Some(span), Fate::Mapped) = (&leaf.span, leaf.fate) else { continue };
            let Some(value) = source.get(leaf.frame as usize - 1).and_then(|frame| frame.get(span.clone()))
            else {
                continue;
            };
            // The media type of a data URL is a separate member, a tool's failure is a flag, and an error class becomes
            // our word.
            let value = value.trim_matches(['"', '\\']);
            let value = value.split_once(";base64,").map_or(value, |(_, data)| data);
            let value = value.strip_prefix("[tool error]\u{2063} ").unwrap_or(value);
            if value.ends_with("_error") && text.contains(r#""event-type":"error""#) {
                continue;
            }
            // Arguments in text form are stored as a value.
            let spelled = [value.to_owned(), value.replace("\\\"", "\"").replace("\\\\", "\\")];
            law.holds(spelled.iter().any(|value| text.contains(value)), || format!("{case}: {value}"));
        }
    }
    law.end();
}

fn frames(case: &Case) -> Vec<String> {
    let text = String::from_utf8_lossy(&case.bytes).into_owned();
    match case.way.1 {
        Role::Request | Role::Response | Role::Count | Role::Counted | Role::Models => vec![text],
        _ if case.way.1 == Role::Stream || case.path.extension().is_some_and(|end| end == "sse") => text
            .lines()
            .filter_map(|line| line.strip_prefix("data:"))
            .map(|data| data.trim_start().to_owned())
            .collect(),
        Role::Stream | Role::Live | Role::Input | Role::Log => text.lines().map(str::to_owned).collect(),
    }
}

#[test]
fn no_hole_is_left_unfilled() {
    let mut law = Law::new("record -> any log or live output: every hole is filled");
    for case in fixtures() {
        let bytes = convert(case.way, record(), &case.bytes).bytes;
        for &dialect in DIALECTS {
            for spec in dialect.roles.iter().filter(|spec| spec.role.is_session()) {
                let to = (dialect, spec.role);
                if spec.write.is_none() || same(to, record()) {
                    continue;
                }
                let report = convert(record(), to, &bytes).report;
                let holes = report.problems.iter().filter(|problem| problem.code == Code::UnfilledHole);
                law.holds(holes.count() == 0, || format!("{case} -> record -> {}", dialect.name));
                law.holds(report.adds_up(), || format!("{case} -> record -> {}: books", dialect.name));
            }
        }
    }
    law.end();
}

#[test]
fn errors_permissions_questions_turns_and_the_end_are_entries_and_come_back() {
    let source = universal(&[
        ("session.started", r#"{"metadata":{"agent":"codex","cwd":"/w"}}"#),
        ("turn.started", r#"{"turn_id":"t1","metadata":{"model":"m"}}"#),
        (
            "permission.requested",
            r#"{"permission_id":"p1","action":"Bash","status":"requested","metadata":{"call_id":"c1","input":{"a":1}}}"#,
        ),
        (
            "permission.resolved",
            r#"{"permission_id":"p1","action":"Bash","status":"reject","metadata":{"answer":{"reject":"no"}}}"#,
        ),
        (
            "question.requested",
            r#"{"question_id":"q1","prompt":"w?","options":["a"],"response":null,"status":"requested","prompts":[{"text":"w?","options":[["a","b"]],"multiple":true}]}"#,
        ),
        (
            "question.resolved",
            r#"{"question_id":"q1","prompt":"w?","options":["a"],"response":"a","status":"answered","prompts":[{"text":"w?","options":[["a","b"]],"multiple":true}],"answers":[["a"]]}"#,
        ),
        (
            "question.requested",
            r#"{"question_id":"q2","prompt":"x?","options":[],"response":null,"status":"requested","prompts":[{"text":"x?","multiple":false}]}"#,
        ),
        (
            "question.resolved",
            r#"{"question_id":"q2","prompt":"x?","options":[],"response":null,"status":"rejected","prompts":[{"text":"x?","multiple":false}]}"#,
        ),
        (
            "turn.ended",
            r#"{"turn_id":"t1","metadata":{"stop":{"class":"stop_sequence","raw":"halt","sequence":"END"},"usage":{"input":5,"cache_read":3,"cache_write":2,"cache_write_long":1,"output":7,"reasoning":4},"cost":0.25}}"#,
        ),
        (
            "error",
            r#"{"message":"down","code":"busy","details":{"class":"overloaded","status":529,"request_id":"r1"}}"#,
        ),
        ("session.ended", r#"{"reason":"error","terminated_by":"agent","message":"bye"}"#),
    ]);
    let way = named("universal", Role::Live);
    let bytes = record_of(way, source.as_bytes());
    let text = String::from_utf8(bytes.clone()).expect("text");
    for name in [
        "turn-started",
        "permission-requested",
        "permission-resolved",
        "turn-ended",
        "error",
        "session-ended",
    ] {
        assert_eq!(text.matches(&format!(r#""event-type":"{name}""#)).count(), 1, "{name} in {text}");
    }
    assert!(text.contains(r#""cost":0.25"#) && text.contains(r#""total":17"#), "{text}");
    let (before, after) = (said(way, source.as_bytes()), said(record(), &bytes));
    assert_eq!(after.turns, before.turns);
    assert_eq!(after.errors, before.errors);
    assert_eq!(after.permissions, before.permissions);
    assert_eq!(after.questions, before.questions);
    assert_eq!(after.end, before.end);
    // The universal events hold all values, so the comparison is not between empty values.
    assert_eq!(after.errors[0].status, Some(529));
    assert_eq!(after.permissions[0].answer, Some(Decision::Reject(Some(Str::escaped("no")))));
    assert_eq!(after.questions[0].answers, Some(vec![vec![Str::escaped("a")]]));
    assert!(after.questions[1].declined);
    assert_eq!(after.end.as_ref().map(|end| end.status), Some(Status::Failed));
    let turn = after.turns.iter().find(|turn| turn.cost.is_some()).expect("a turn with a cost");
    assert_eq!(turn.stop.as_ref().map(|stop| stop.class), Some(StopClass::Sequence));
    assert_eq!(turn.usage.and_then(|usage| usage.cache_write_long), Some(1));
    // The values are converted back to the original events.
    let again = convert(record(), way, &bytes).bytes;
    let again = said(way, &again);
    assert_eq!(
        (again.errors, again.permissions, again.questions),
        (after.errors, after.permissions, after.questions)
    );
}

/// An item in universal events: its parts grow by deltas, in this order.
fn pieces(kind: &str, role: &str, pieces: &[(u32, &str)], within: Option<(usize, &str)>) -> String {
    let item = |status: &str| {
        format!(
            r#"{{"item":{{"item_id":"i1","native_item_id":"n1","parent_id":null,"kind":"{kind}","role":"{role}","status":"{status}","content":[]}}}}"#
        )
    };
    let child = |status: &str, content: &str| {
        format!(
            r#"{{"item":{{"item_id":"i2","native_item_id":"n2","parent_id":"i1","kind":"tool_call","role":"assistant","status":"{status}","content":[{{"type":"tool_call","name":"f","arguments":"{content}","call_id":"c"}}]}}}}"#
        )
    };
    let mut events = vec![("item.started", item("in_progress"))];
    for (number, (part, text)) in pieces.iter().enumerate() {
        if let Some((at, arguments)) = within
            && at == number
        {
            events.push(("item.started", child("in_progress", "")));
            events.push(("item.completed", child("completed", arguments)));
        }
        let delta = format!(r#"{{"item_id":"i1","native_item_id":"n1","delta":"{text}","part":{part}}}"#);
        events.push(("item.delta", delta));
    }
    events.push(("item.completed", item("completed")));
    let events: Vec<(&str, &str)> = events.iter().map(|(kind, data)| (*kind, data.as_str())).collect();
    universal(&events)
}

fn texts(item: &Item) -> Vec<String> {
    item.content
        .iter()
        .map(|content| match content {
            Content::Part(_, Part::Text(text) | Part::Refusal(text)) => text.decode().into_owned(),
            Content::Part(_, other) => format!("{other:?}"),
            Content::Item(_) => "(item)".to_owned(),
        })
        .collect()
}

/// Deltas of text by part, and the position of a nested item among them.
type Order<'a> = (&'a [(u32, &'a str)], Option<(usize, &'a str)>);

#[test]
fn content_in_any_order_arrives_with_its_author() {
    let way = named("universal", Role::Live);
    // Two parts in sequence; a part after a child; the first part continued after the second; the first part continued
    // after a child.
    let orders: [Order<'_>; 4] = [
        (&[(0, "a"), (1, "b"), (2, "c")], None),
        (&[(0, "a"), (1, "b")], Some((1, "{}"))),
        (&[(0, "a"), (1, "b"), (0, "c"), (1, "d")], None),
        (&[(0, "a"), (0, "b"), (1, "c"), (0, "d")], Some((1, "{}"))),
    ];
    let speakers = [
        ("message", "user"),
        ("message", "assistant"),
        ("system", "system"),
        ("message", "developer"),
        ("tool_result", "tool"),
        ("status", "system"),
    ];
    for (kind, role) in speakers {
        for (order, child) in orders {
            let source = pieces(kind, role, order, child);
            let bytes = record_of(way, source.as_bytes());
            let (before, after) = (said(way, source.as_bytes()), said(record(), &bytes));
            let shown = String::from_utf8_lossy(&bytes);
            assert_eq!(after.items.len(), before.items.len(), "{kind} {role} {order:?}: {shown}");
            for (before, after) in before.items.iter().zip(&after.items) {
                let head =
                    |item: &Item| (item.kind.clone(), item.author, item.native_id.clone(), item.status);
                assert_eq!(head(after), head(before), "{kind} {role} {order:?}: {shown}");
                assert_eq!(texts(after), texts(before), "{kind} {role} {order:?}: {shown}");
            }
        }
    }
}

#[test]
fn what_changes_about_a_session_is_an_entry() {
    let line = |id: &str, cwd: &str, branch: &str| {
        format!(
            r#"{{"type":"user","uuid":"{id}","sessionId":"s","cwd":"{cwd}","gitBranch":"{branch}","version":"1","message":{{"role":"user","content":"hi"}}}}"#
        )
    };
    let log = [line("u1", "/a", "main"), line("u2", "/b", "main"), line("u3", "/a", "fix")].join("\n") + "\n";
    let way = named("claude-code", Role::Log);
    let bytes = record_of(way, log.as_bytes());
    let text = String::from_utf8_lossy(&bytes);
    assert!(text.contains(r#"{"type":"system-event","event-type":"session-updated","data":{"cwd":"/b"},"vendor-ext":{"vendor":"claude-code"}}"#));
    assert!(text.contains(r#""data":{"cwd":"/a","branch":"fix"}"#), "{text}");
    let back = convert(record(), way, &bytes);
    assert_eq!(String::from_utf8(back.bytes).expect("text"), log);
    assert_eq!(back.report.lost, 0, "{:?}", back.report.lost_paths);
}

#[test]
fn a_notice_is_never_taken_for_an_event_or_a_message_of_the_same_name() {
    let way = named("universal", Role::Live);
    for name in ["error", "usage", "line", "system", "developer", "turn-ended", "request", "part", "unknown"]
    {
        for detail in ["", r#","detail":"text""#] {
            let data = format!(
                r#"{{"item":{{"item_id":"i1","native_item_id":null,"parent_id":null,"kind":"status","role":"system","status":"completed","content":[{{"type":"status","label":"{name}"{detail}}}]}}}}"#
            );
            // The label `usage` has a meaning of its own in universal events.
            if name == "usage" {
                continue;
            }
            let source = universal(&[("item.completed", &data)]);
            let bytes = record_of(way, source.as_bytes());
            let (before, after) = (said(way, source.as_bytes()), said(record(), &bytes));
            let what = |said: &Transcript| {
                said.items.iter().map(|item| (item.kind.clone(), item.content.clone())).collect::<Vec<_>>()
            };
            let text = String::from_utf8_lossy(&bytes);
            assert_eq!(what(&after), what(&before), "{text}");
            assert!(after.errors.is_empty() && after.requests.is_empty());
            // The flag is written only where it makes a difference.
            let is_author = matches!(name, "system" | "developer");
            let is_needed = name == "unknown" || is_author && !detail.is_empty();
            assert_eq!(text.contains(r#""notice":true"#), is_needed, "{text}");
        }
    }
}

#[test]
fn state_of_any_issuer_on_any_item_comes_back() {
    // A chat stream of another provider signs its calls and encrypts its reasoning.
    let way = named("openai-chat", Role::Response);
    let details = |entries: &str| {
        format!(
            r#"{{"id":"r","object":"chat.completion","created":1,"model":"m","choices":[{{"index":0,"finish_reason":"stop","message":{{"role":"assistant","content":"hi","reasoning_details":[{entries}]}}}}]}}"#
        )
    };
    for (format, issuer) in
        [("google-gemini-v1", "google"), ("openai-responses-v1", "openai"), ("xai-v1", "xai")]
    {
        let source = details(&format!(
            r#"{{"type":"reasoning.text","text":"t","signature":"SIG","format":"{format}"}},{{"type":"reasoning.encrypted","data":"ENC","format":"{format}"}}"#
        ));
        let bytes = record_of(way, source.as_bytes());
        let (before, after) = (said(way, source.as_bytes()), said(record(), &bytes));
        let shown = String::from_utf8_lossy(&bytes);
        assert_eq!(after.items, before.items, "{shown}");
        assert!(shown.contains(&format!(r#""issuer":"{issuer}""#)) && shown.contains("SIG"), "{shown}");
    }
}

#[test]
fn a_request_is_an_entry_with_its_settings() {
    let way = named("anthropic", Role::Request);
    let source = br#"{"model":"m","max_tokens":9,"temperature":0.50,"stop_sequences":["x"],"stream":true,"tools":[{"name":"f","description":"d","input_schema":{"type":"object"},"strict":true}],"tool_choice":{"type":"tool","name":"f","disable_parallel_tool_use":true},"metadata":{"user_id":"u"},"service_tier":"auto","output_config":{"effort":"low","format":{"type":"json_schema","schema":{"a":1}}},"messages":[{"role":"user","content":"hi"}]}"#;
    let bytes = record_of(way, source);
    let (before, after) = (said(way, source), said(record(), &bytes));
    assert_eq!(after.requests, before.requests, "{}", String::from_utf8_lossy(&bytes));
    assert_eq!(after.requests[0].tools.len(), 1);
    assert!(String::from_utf8_lossy(&bytes).contains(r#""temperature":0.50"#));
}

#[test]
fn lines_that_cannot_be_read_are_one_entry_and_come_back() {
    let line =
        r#"{"type":"user","uuid":"u1","sessionId":"s","cwd":"/a","message":{"role":"user","content":"hi"}}"#;
    let way = named("claude-code", Role::Log);
    let log = format!("{line}\n\n \n{{\"torn\n\r\n{line}\n\u{1}\u{1}\u{1}\u{1}\n{line}\n\n");
    let bytes = record_of(way, log.as_bytes());
    let text = String::from_utf8_lossy(&bytes);
    assert_eq!(text.matches(r#""event-type":"unparsed""#).count(), 3, "{text}");
    assert!(
        text.contains(r#""raw":"\n \n{\"torn\n\r","lines":4"#) && text.contains(r#""base64":"AQEBAQ==""#),
        "{text}"
    );
    assert_eq!(String::from_utf8(convert(record(), way, &bytes).bytes).expect("text"), log);
    // A log of empty lines does not become a much longer record.
    let log = format!("{line}\n{}{line}\n", "\n".repeat(100_000));
    let bytes = convert(way, record(), log.as_bytes()).bytes;
    assert!(bytes.len() < 2 * log.len() + 2_000, "{} of {}", bytes.len(), log.len());
    assert!(convert(record(), way, &bytes).bytes == log.as_bytes());
}

fn by_hand(name: &str) -> Vec<u8> {
    let case =
        fixtures().into_iter().find(|case| case.way.0.name == "universal" && case.name.ends_with(name));
    case.expect("a fixture by hand").bytes
}

#[test]
fn what_a_subagent_says_stands_within_its_call_while_that_is_open() {
    let bytes = record_of(named("universal", Role::Live), &by_hand("items.jsonl"));
    let text = String::from_utf8_lossy(&bytes);
    let within = r#""children":[{"type":"user","id":"a-1""#;
    let after = r#"{"type":"assistant","id":"a-3","timestamp":"2026-11-15T10:00:16Z","agent":"explorer","parent-call":"call_1""#;
    assert!(text.contains(within), "{text}");
    assert!(text.contains(after), "{text}");
    let said = said(record(), &bytes);
    let by_subagent = said.items.iter().filter(|item| item.circumstances.agent.is_some());
    assert_eq!(by_subagent.count(), 3, "none of them is a block of the call");
}

#[test]
fn thousands_of_open_items_wait_in_order() {
    let way = named("universal", Role::Live);
    let count = 3_000;
    let item = |number: usize, status: &str, parent: &str| {
        format!(
            r#"{{"item":{{"item_id":"i{number}","native_item_id":"n{number}","parent_id":{parent},"kind":"tool_call","role":"assistant","content":[{{"type":"tool_call","name":"f","arguments":"{{}}","call_id":"c{number}"}}],"status":"{status}"}}}}"#
        )
    };
    let message = |status: &str| {
        format!(
            r#"{{"item":{{"item_id":"m","native_item_id":"m","parent_id":null,"kind":"message","role":"assistant","content":[],"status":"{status}"}}}}"#
        )
    };
    // Side by side, and within one message.
    for parent in ["null", r#""m""#] {
        let started = (0..count).map(|number| ("item.started", item(number, "in_progress", parent)));
        // The last item to start is the first to end.
        let completed = (0..count).rev().map(|number| ("item.completed", item(number, "completed", parent)));
        let mut events = vec![("item.started", message("in_progress"))];
        events.extend(started.chain(completed));
        events.push(("item.completed", message("completed")));
        let source: String = events
            .iter()
            .enumerate()
            .map(|(number, (kind, data))| line(number % 60, kind, data) + "\n")
            .collect();
        let bytes = convert(way, record(), source.as_bytes()).bytes;
        let after = said(record(), &bytes);
        let names = |items: &[Item]| -> Vec<String> {
            let calls = items.iter().filter_map(|item| item.native_id.as_ref());
            calls.map(|id| id.decode().into_owned()).collect()
        };
        let expected: Vec<String> = (0..count).map(|number| format!("n{number}")).collect();
        if parent == "null" {
            assert_eq!(names(&after.items)[1..], expected);
        } else {
            assert_eq!(after.items.len(), 1);
            let inner: Vec<Item> = after.items[0]
                .content
                .iter()
                .filter_map(|content| match content {
                    Content::Item(item) => Some(item.clone()),
                    Content::Part(..) => None,
                })
                .collect();
            assert_eq!(inner.len(), count);
        }
    }
}
