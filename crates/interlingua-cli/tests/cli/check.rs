//! The messages and exit codes of `check`.

use crate::support::Dir;

fn line(id: &str, parent: &str, content: &str) -> String {
    format!(
        r#"{{"type":"user","sessionId":"s","uuid":"{id}","parentUuid":{parent},"message":{{"role":"user","content":{content}}}}}"#
    ) + "\n"
}

#[test]
fn a_sound_log_and_a_sound_record() {
    let dir = Dir::new("sound");
    dir.write("x.jsonl", line("a", "null", "\"hi\"") + &line("b", "\"a\"", "\"ho\""));
    assert_eq!(dir.run("convert x.jsonl --to record -o x.json").code, Some(0));
    let ran = dir.run("check x.jsonl x.json");
    assert_eq!(
        ran.stdout(),
        "x.jsonl: claude-code (log), detected by lines with `uuid`, `parentUuid` or `sessionId` beside `type`
sound: 2 lines, 12 leaves, 0 errors, 0 warnings
x.json: record (log), detected by `version` and `session` in one document
sound: 2 entries, 35 leaves, 0 errors, 0 warnings
checked 2 files, 2 sound
"
    );
    assert_eq!(ran.code, Some(0));
    assert_eq!(dir.run("check -q x.jsonl").stdout(), "");
}

#[test]
fn links_that_lead_nowhere() {
    let dir = Dir::new("links");
    // A fork refers to its parent session, and a call may have been interrupted: both are normal.
    let fork = line("a", "\"elsewhere\"", r#"[{"type":"tool_use","id":"t1","name":"n","input":{}}]"#);
    dir.write("fork.jsonl", &fork);
    let ran = dir.run("check fork.jsonl");
    assert_eq!(
        ran.stdout(),
        "fork.jsonl: claude-code (log), detected by lines with `uuid`, `parentUuid` or `sessionId` beside `type`
sound: 1 line, 9 leaves, 0 errors, 2 warnings
findings:
  warning: line 1: the parent is not in the input (dangling-link): `elsewhere`
    hint: forked and resumed sessions refer to lines of an earlier file; that is normal
  warning: line 1: a tool call without a result (call-without-result): `t1`
    hint: the session was probably interrupted there; that is normal
"
    );
    assert_eq!(ran.code, Some(0));

    let result = r#"[{"type":"tool_result","tool_use_id":"t9","content":"x"}]"#;
    dir.write("broken.jsonl", line("a", "null", result) + &line("a", "\"a\"", "\"\""));
    let ran = dir.run("check broken.jsonl");
    assert_eq!(
        ran.stdout(),
        "broken.jsonl: claude-code (log), detected by lines with `uuid`, `parentUuid` or `sessionId` beside `type`
not sound: 2 lines, 14 leaves, 2 errors, 0 warnings
findings:
  error: line 2: two items with the same id (duplicate-id): `a`
    hint: agents repeat lines when a session is resumed; a link to this id may mean either
  error: line 1: a tool result without its call (result-without-call): `t9`
"
    );
    assert_eq!(ran.code, Some(3));
}

#[test]
fn a_record_that_breaks_its_schema() {
    let dir = Dir::new("schema");
    dir.write(
        "x.json",
        r#"{"version":"3.0.0","id":"r","session":{"session-id":"s","agent-meta":{"model-id":"m"},
"entries":[{"type":"user"},{"type":"tool-call","name":7,"input":{}}]}}"#,
    );
    let ran = dir.run("check x.json");
    assert_eq!(
        ran.stdout(),
        "x.json: record (log), detected by `version` and `session` in one document
not sound: 2 entries, 10 leaves, 2 errors, 0 warnings
notes:
  not compared with its source: the record keeps no lines of a log that can be restored
findings:
  error: what stands before `entries`, at `/session/agent-meta/model-provider`: breaks the schema (schema): expected text
    hint: the message names the member; records of `interlingua convert --to record` have the right form
  error: entries[1], at `/session/entries/1/name`: breaks the schema (schema): expected text
"
    );
    assert_eq!(ran.code, Some(3));
}

#[test]
fn findings_as_json() {
    let dir = Dir::new("check_json");
    dir.write("x.jsonl", line("a", "null", "\"hi\"") + "{\n");
    let ran = dir.run("check x.jsonl nowhere --json");
    assert_eq!(
        ran.stdout(),
        concat!(
            r#"{"version":1,"command":"check","files":[{"input":"x.jsonl","from":{"dialect":"claude-code","role":"log","detected":true},"sound":false,"#,
            r#""content":{"messages":1,"reasoning":0,"calls":0,"results":0,"failures":0},"frames":2,"frames_read":1,"leaves":7,"mapped":5,"kept":2,"lost":0,"errors":1,"damaged":1,"verbatim":0,"adds_up":true,"#,
            r#""lost_paths":[],"kept_paths":[{"path":"(unparsed)","count":1,"bytes":1,"first_frame":2,"place":"line 2"},"#,
            r#"{"path":"/parentUuid","count":1,"bytes":4,"first_frame":1,"place":"line 1"}],"notes":[],"#,
            r#""problems":[{"code":"torn","severity":"error","message":"cut off in the middle","frame":2,"place":"line 2","#,
            r#""byte":1,"detail":"expected more","window":{"before":"{","after":""},"#,
            r#""hint":"the program that wrote it was probably stopped; what stands before it is fine"}],"more_problems":0},"#,
            r#"{"input":"nowhere","sound":false,"error":"cannot read `nowhere`: no such file","#,
            r#""hint":"is the path right? `-` reads stdin"}],"skipped":[]}"#,
            "\n"
        )
    );
    assert_eq!(ran.code, Some(1));
}
