//! The audit: one log for each rule that breaks this rule alone, and the silence on honest logs.

#![expect(clippy::expect_used, reason = "a test that cannot run has failed")]

use std::fs;
use std::path::{Path, PathBuf};

use interlingua::dialects::{DIALECTS, Dialect, Options, Plane, Role};
use interlingua_record::audit::{
    Audit, AuditPolicy, AuditReader, AuditRule, AuditSeverity, MOST_OF_A_RULE, audits_to_json,
    audits_to_sarif,
};
use serde_json::Value;

/// 2027-01-01T00:00:00Z, after the times of all fixtures.
const NOW: u64 = 1_798_761_600_000;

fn audit_of(dialect: &str, log: &[u8], policy: &str) -> Audit {
    let dialect = Dialect::named(dialect).expect("registered");
    let policy = AuditPolicy::parse(policy).expect("a policy");
    let options = Options::default().with_now(NOW);
    let mut reader = AuditReader::new("log", (dialect, Role::Log), &policy, &options).expect("a log dialect");
    // Any chunking yields the same findings.
    for piece in log.chunks(61) {
        reader.push(piece);
    }
    reader.finish()
}

/// The findings as `rule place`, with the JSON pointer.
fn found(dialect: &str, log: &str, policy: &str) -> Vec<String> {
    let audit = audit_of(dialect, log.as_bytes(), policy);
    let shown = audit.findings.iter();
    shown.map(|finding| format!("{} {}", finding.rule.id(), finding.place.name(audit.framing))).collect()
}

/// A line of Claude Code at the given time of 2026-11-15.
fn line(id: &str, parent: Option<&str>, time: &str, message: &str, beside: &str) -> String {
    let parent = parent.map_or("null".to_owned(), |parent| format!("\"{parent}\""));
    let kind = if message.contains(r#""role":"assistant""#) { "assistant" } else { "user" };
    format!(
        r#"{{"type":"{kind}","sessionId":"s","uuid":"{id}","parentUuid":{parent},"timestamp":"{time}","message":{message}{beside}}}"#
    ) + "\n"
}

const PROMPT: &str = r#"{"role":"user","content":"hi"}"#;

fn said(id: &str, content: &str) -> String {
    format!(r#"{{"role":"assistant","id":"m-{id}","model":"m","content":[{content}]}}"#)
}

fn call(id: &str, name: &str) -> String {
    said(id, &format!(r#"{{"type":"tool_use","id":"{id}","name":"{name}","input":{{}}}}"#))
}

fn result(id: &str, text: &str, is_error: bool) -> String {
    format!(
        r#"{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"{id}","content":"{text}","is_error":{is_error}}}]}}"#
    )
}

/// A prompt, a call and its result.
fn session(times: [&str; 3], message: &str, beside: &str) -> String {
    line("u-1", None, times[0], PROMPT, "")
        + &line("u-2", Some("u-1"), times[1], &call("t-1", "Bash"), "")
        + &line("u-3", Some("u-2"), times[2], message, beside)
}

const TIMES: [&str; 3] = ["2026-11-15T10:00:00.000Z", "2026-11-15T10:00:01.000Z", "2026-11-15T10:00:02.000Z"];

#[test]
fn an_honest_session_has_no_finding() {
    assert_eq!(found("claude-code", &session(TIMES, &result("t-1", "ok", false), ""), ""), [""; 0]);
}

#[test]
fn a_time_that_goes_back_is_found_beyond_the_limit() {
    let back = ["2026-11-15T10:00:00.000Z", "2026-11-15T10:00:01.000Z", "2026-11-15T09:50:00.000Z"];
    let log = session(back, &result("t-1", "ok", false), "");
    assert_eq!(found("claude-code", &log, ""), ["time-backwards line 3, at `/timestamp`"]);
    assert_eq!(found("claude-code", &log, "[limits]\nbackwards-seconds = 601"), [""; 0]);
    assert_eq!(found("claude-code", &log, "[limits]\nbackwards-seconds = 600").len(), 1);
}

#[test]
fn a_clock_that_jumps_within_a_turn_is_found_and_a_person_may_wait() {
    let jump = ["2026-11-10T10:00:00.000Z", "2026-11-12T10:00:01.000Z", "2026-11-12T10:00:02.000Z"];
    let log = session(jump, &result("t-1", "ok", false), "");
    assert_eq!(found("claude-code", &log, ""), ["clock-jump line 2, at `/timestamp`"]);
    assert_eq!(found("claude-code", &log, "[limits]\njump-hours = 72"), [""; 0]);
    let prompts = line("u-1", None, jump[0], PROMPT, "") + &line("u-2", Some("u-1"), jump[2], PROMPT, "");
    assert_eq!(found("claude-code", &prompts, ""), [""; 0]);
}

#[test]
fn thoughts_begin_before_their_message_and_parts_are_written_before_it() {
    let gemini = r#"{"sessionId":"s","projectHash":"p","startTime":"2026-11-15T10:00:00.000Z","lastUpdated":"2026-11-15T10:05:00.000Z","messages":[
        {"id":"1","timestamp":"2026-11-15T10:00:00.000Z","type":"user","content":"hi"},
        {"id":"2","timestamp":"2026-11-15T10:05:00.000Z","type":"gemini","content":"ho","model":"m",
         "thoughts":[{"subject":"a","description":"b","timestamp":"2026-11-15T10:00:30.000Z"}]}]}"#;
    assert_eq!(found("gemini-cli", gemini, ""), [""; 0]);
    let opencode = concat!(
        r#"{"id":"prt_1a","sessionID":"ses_1","messageID":"msg_1","type":"step-start"}"#,
        "\n",
        r#"{"id":"prt_1b","sessionID":"ses_1","messageID":"msg_1","type":"text","text":"x","time":{"start":1794700500000,"end":1794700501000}}"#,
        "\n",
        r#"{"id":"msg_1","sessionID":"ses_1","role":"assistant","time":{"created":1794700200000,"completed":1794700502000}}"#,
        "\n",
    );
    assert_eq!(found("opencode", opencode, ""), [""; 0]);
    let second = opencode.replace("_1", "_2").replace("1794700", "1794600");
    let both = opencode.to_owned() + &second.replace("ses_2", "ses_1");
    assert!(found("opencode", &both, "").iter().any(|rule| rule.starts_with("time-backwards")), "{both}");
}

#[test]
fn times_before_the_first_agents_and_in_the_future_are_found() {
    for time in ["2021-12-31T23:59:59.000Z", "2027-01-03T00:00:00.000Z"] {
        let log = line("u-1", None, time, PROMPT, "");
        assert_eq!(found("claude-code", &log, ""), ["implausible-time line 1, at `/timestamp`"], "{time}");
    }
}

#[test]
fn a_placeholder_for_a_time_is_found() {
    let log = line("u-1", None, "1970-01-01T00:00:00.000Z", PROMPT, "");
    assert_eq!(found("claude-code", &log, ""), ["made-up-time line 1, at `/timestamp`"]);
}

#[test]
fn a_gap_in_the_numbers_of_lines_is_found() {
    let line = |number: u32| {
        format!(
            r#"{{"timestamp":"2026-11-15T10:00:00.000Z","ordinal":{number},"type":"response_item","payload":{{"type":"message","role":"user","content":[{{"type":"input_text","text":"{number}"}}]}}}}"#
        ) + "\n"
    };
    // A fork begins with the number after its parent's last line.
    assert_eq!(found("codex", &(line(55) + &line(56) + &line(57)), ""), [""; 0]);
    assert_eq!(found("codex", &(line(0) + &line(1) + &line(3)), ""), ["sequence-gap line 3, at `/ordinal`"]);
    assert_eq!(found("codex", &(line(0) + &line(1) + &line(1)), ""), ["sequence-gap line 3, at `/ordinal`"]);
}

#[test]
fn a_denied_call_with_a_successful_result_is_found() {
    let decision = |word: &str| format!(r#","permissionDecision":{{"decision":"{word}","source":"user"}}"#);
    let denied = session(TIMES, &result("t-1", "ran", false), &decision("reject"));
    let at = "denied-but-executed line 3, at `/message/content/0/tool_use_id`";
    assert_eq!(found("claude-code", &denied, ""), [at]);
    let kept = session(TIMES, &result("t-1", "denied", true), &decision("reject"));
    assert_eq!(found("claude-code", &kept, ""), [""; 0]);
    let allowed = session(TIMES, &result("t-1", "ran", false), &decision("accept"));
    assert_eq!(found("claude-code", &allowed, ""), [""; 0]);
}

#[test]
fn a_success_with_an_open_permission_is_found() {
    let log = session(TIMES, &result("t-1", "ran", false), "");
    let record = record_of("claude-code", &log);
    // The request is an event entry of a record.
    let asked = record.replacen(
        r#""entries":["#,
        r#""entries":[{"type":"system-event","event-type":"permission-requested","data":{"id":"p-1","action":"Bash","call-id":"t-1"}},"#,
        1,
    );
    assert_ne!(asked, record);
    let rules: Vec<String> = found("record", &asked, "");
    assert!(rules.iter().any(|rule| rule.starts_with("executed-without-decision entries[")), "{rules:?}");
}

#[test]
fn tools_are_held_to_the_policy() {
    let log = session(TIMES, &result("t-1", "ok", false), "");
    let at = "line 2, at `/message/content/0/name`";
    assert_eq!(found("claude-code", &log, "[tools]\ndeny = ['B*']"), [format!("tool-denied {at}")]);
    assert_eq!(found("claude-code", &log, "[tools]\nallow = ['Read']"), [format!("tool-not-allowed {at}")]);
    assert_eq!(found("claude-code", &log, "[tools]\nallow = ['Read', 'Bash']"), [""; 0]);
}

#[test]
fn encrypted_reasoning_is_one_finding_for_all() {
    let thought = r#"{"type":"redacted_thinking","data":"c2VjcmV0"}"#;
    let log = line("u-1", None, TIMES[0], PROMPT, "")
        + &line("u-2", Some("u-1"), TIMES[1], &said("1", thought), "")
        + &line("u-3", Some("u-2"), TIMES[2], &said("2", thought), "");
    let audit = audit_of("claude-code", log.as_bytes(), "");
    assert_eq!(audit.findings.len(), 1, "{:?}", audit.findings);
    assert_eq!(audit.findings[0].message, "2 reasoning items are encrypted; this is the first");
    assert_eq!(audit.findings[0].severity, AuditSeverity::Info);
    let shown = log.replace(r#""type":"redacted_thinking","data":"#, r#""type":"thinking","thinking":"#);
    assert_eq!(found("claude-code", &shown, ""), [""; 0]);
}

#[test]
fn ids_and_results_that_a_conversion_made_up_are_found() {
    let log = line("7c3d2a10-9f4e-4b21-8c0d-000000000007", None, TIMES[0], PROMPT, "");
    assert_eq!(found("claude-code", &log, ""), ["made-up-id line 1, at `/uuid`"]);
    let log = session(TIMES, &result("t-1", "[No result of this tool call was recorded.]", true), "");
    assert_eq!(found("claude-code", &log, ""), ["made-up-result line 3, at `/message/content/0/content`"]);
}

#[test]
fn a_real_conversion_that_makes_up_a_result_is_found() {
    let log = line("u-1", None, TIMES[0], PROMPT, "")
        + &line("u-2", Some("u-1"), TIMES[1], &call("t-1", "Bash"), "")
        + &line("u-3", Some("u-2"), TIMES[2], PROMPT, "");
    let codex = converted("claude-code", "codex", log.as_bytes());
    let rules = found("codex", &codex, "");
    assert!(rules.iter().any(|rule| rule.starts_with("made-up-result ")), "{rules:?}\n{codex}");
}

#[test]
fn links_and_pairs_are_part_of_the_audit() {
    let orphan = line("u-1", Some("elsewhere"), TIMES[0], PROMPT, "");
    assert_eq!(found("claude-code", &orphan, ""), ["dangling-link line 1"]);
    let unasked = line("u-1", None, TIMES[0], &result("t-9", "x", false), "");
    assert_eq!(found("claude-code", &unasked, ""), ["result-without-call line 1"]);
    let log = session(TIMES, &result("t-1", "ok", false), "") + "{\"type\":\"user\"\n";
    assert_eq!(found("claude-code", &log, "").len(), 1);
}

#[test]
fn a_policy_sets_and_turns_off_severities() {
    let log = line("u-1", Some("elsewhere"), TIMES[0], PROMPT, "");
    let audit = audit_of("claude-code", log.as_bytes(), "[severity]\ndangling-link = 'error'");
    assert!(audit.reaches(AuditSeverity::Error));
    assert!(!audit_of("claude-code", log.as_bytes(), "").reaches(AuditSeverity::Error));
    assert_eq!(found("claude-code", &log, "[severity]\ndangling-link = 'off'"), [""; 0]);
}

#[test]
fn findings_beyond_the_limit_are_counted() {
    let log: String = (0..MOST_OF_A_RULE + 7)
        .map(|number| line(&format!("u-{number}"), None, "1970-01-01T00:00:00.000Z", PROMPT, ""))
        .collect();
    let audit = audit_of("claude-code", log.as_bytes(), "");
    let listed = audit.findings.iter().filter(|finding| finding.rule == AuditRule::MadeUpTime).count();
    assert_eq!(listed, MOST_OF_A_RULE);
    assert_eq!(audit.count(AuditSeverity::Warning), MOST_OF_A_RULE as u64 + 7);
}

#[test]
fn every_rule_has_an_id_of_its_own() {
    let mut ids: Vec<&str> = AuditRule::all().map(AuditRule::id).collect();
    let all = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), all);
}

#[test]
fn json_and_sarif_hold_every_finding_with_its_place() {
    let log = line("u-1", Some("elsewhere"), "1970-01-01T00:00:00.000Z", PROMPT, "");
    let mut audit = audit_of("claude-code", log.as_bytes(), "");
    audit.name = "logs/a b.jsonl".to_owned();
    let failed = [("c".to_owned(), "no \"file\"".to_owned())];
    let json: Value = serde_json::from_str(&audits_to_json(&[audit.clone()], &failed)).expect("JSON");
    assert_eq!(json["counts"]["warning"], 2);
    assert_eq!(json["files"][0]["findings"][0]["rule"], "made-up-time");
    assert_eq!(json["files"][0]["findings"][0]["pointer"], "/timestamp");
    assert_eq!(json["failed"][0]["error"], "no \"file\"");

    let sarif: Value = serde_json::from_str(&audits_to_sarif(&[audit], &failed)).expect("JSON");
    assert_eq!(sarif["version"], "2.1.0");
    let run = &sarif["runs"][0];
    let results = run["results"].as_array().expect("results");
    assert_eq!(results.len(), 2);
    for result in results {
        let rule = &run["tool"]["driver"]["rules"][result["ruleIndex"].as_u64().expect("index") as usize];
        assert_eq!(rule["id"], result["ruleId"]);
        let place = &result["locations"][0]["physicalLocation"];
        assert_eq!(place["artifactLocation"]["uri"], "logs/a%20b.jsonl");
        assert_eq!(place["region"]["startLine"], 1);
    }
    assert_eq!(run["invocations"][0]["executionSuccessful"], false);
}

/// Fixtures with a finding above `info`: the fixture, the rule and the reason.
const LISTED: &[(&str, &str, &str)] = &[
    (
        "amp/2026-03/refused.json",
        "time-backwards",
        "the prompt was written by hand, an hour after the answer",
    ),
    ("crush/2026-11/agent.json", "made-up-id", "the rows and their ids were written by hand"),
    ("crush/2026-11/tools.json", "made-up-id", "the rows and their ids were written by hand"),
    ("kimi-code/2026-11/unknown.jsonl", "dangling-link", "the step of an unknown event is not in the log"),
];

#[test]
fn honest_logs_of_every_dialect_have_no_finding_above_info() {
    let mut unexpected = Vec::new();
    let mut seen = vec![false; LISTED.len()];
    let mut logs = 0;
    for dialect in DIALECTS.iter().filter(|dialect| dialect.plane == Plane::Log) {
        let root =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../interlingua/fixtures").join(dialect.folder());
        for path in files(&root) {
            let bytes = fs::read(&path).expect("a fixture");
            let name = format!("{}/{}", dialect.name, path.strip_prefix(&root).expect("below").display());
            let audit = audit_of(dialect.name, &bytes, "");
            logs += 1;
            // The record of an honest log is honest, too.
            let rules = |audit: &Audit| -> Vec<&'static str> {
                let grave = audit.findings.iter().filter(|finding| finding.severity > AuditSeverity::Info);
                grave.map(|finding| finding.rule.id()).collect()
            };
            let record = converted(dialect.name, "record", &bytes);
            let more = rules(&audit_of("record", record.as_bytes(), ""));
            let more = more.into_iter().filter(|rule| !rules(&audit).contains(rule));
            unexpected.extend(more.map(|rule| format!("the record of {name}: {rule}")));
            for finding in audit.findings.iter().filter(|finding| finding.severity > AuditSeverity::Info) {
                let rule = finding.rule.id();
                match LISTED.iter().position(|(of, id, _)| *of == name && *id == rule) {
                    Some(at) => seen[at] = true,
                    None => unexpected.push(format!("(\"{name}\", \"{rule}\", \"{}\"),", finding.message)),
                }
            }
        }
    }
    assert!(logs > 40, "{logs} fixtures were found");
    unexpected.sort();
    unexpected.dedup();
    assert!(unexpected.is_empty(), "{}", unexpected.join("\n"));
    for (at, (name, rule, _)) in LISTED.iter().enumerate() {
        assert!(seen[at], "`{name}` no longer breaks `{rule}`");
    }
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_path_buf()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).expect("a folder of fixtures") {
            let path = entry.expect("an entry").path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_none_or(|end| end != "md") && !name.ends_with(".meta.json") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

fn converted(from: &str, to: &str, log: &[u8]) -> String {
    let side = |name| (Dialect::named(name).expect("registered"), Role::Log);
    let mut out = Vec::new();
    let options = Options::default().with_whole(true);
    let mut pipe = interlingua::pipe::Pipe::new(side(from), side(to), &options).expect("a conversion");
    pipe.push(log, &mut out);
    pipe.finish(&mut out);
    String::from_utf8(out).expect("text")
}

fn record_of(from: &str, log: &str) -> String {
    converted(from, "record", log.as_bytes())
}
