//! Small usability details.

use crate::support::Dir;

const LOG: &str = concat!(
    r#"{"type":"user","sessionId":"s","uuid":"a","parentUuid":null,"message":{"role":"user","content":"hi"}}"#,
    "\n"
);

#[test]
fn a_dash_is_stdout() {
    let dir = Dir::new("small_dash");
    dir.write("x.jsonl", LOG);
    let plain = dir.run("convert x.jsonl --to record -q");
    assert_eq!(dir.run("convert x.jsonl --to record -o - -q").stdout(), plain.stdout());
    assert_eq!(dir.run("show x.jsonl -o -").stdout(), dir.run("show x.jsonl").stdout());
    assert_eq!(dir.files(), ["x.jsonl"]);
}

#[test]
fn stdin_into_a_directory_has_a_name() {
    let dir = Dir::new("small_stdin");
    dir.run_with("convert - --to record -o out/ -q", LOG.as_bytes()).expect(0, "");
    assert_eq!(dir.files(), ["out/stdin.record.json"]);
}

#[test]
fn a_missing_directory_is_named() {
    let dir = Dir::new("small_missing");
    dir.write("x.jsonl", LOG).write("there/y", "");
    let said = |path: &str| dir.run(&format!("convert x.jsonl --to record -o {path}")).stderr;
    assert!(said("no/such/x.json").contains("cannot write `no/such/x.json`: there is no directory `no`"));
    assert!(said("there/no/x.json").contains("there is no directory `there/no`"));
}

#[test]
fn an_empty_directory_is_said_to_be_empty() {
    let dir = Dir::new("small_empty");
    std::fs::create_dir(dir.path().join("empty")).expect("a directory can be made");
    for args in ["convert empty --to record -o out/ -q", "check empty -q", "stats empty -q"] {
        let ran = dir.run(args);
        assert_eq!(ran.code, Some(1), "{args}");
        assert_eq!(
            ran.stderr,
            "error: there are no files\nhint: the directory is empty; name files, or another one\n",
            "{args}"
        );
    }
}

#[test]
fn a_check_prints_the_scores_of_detection_also_for_unknown_files() {
    let dir = Dir::new("small_why");
    dir.write("x.jsonl", LOG).write("odd.json", "{\"colour\":\"red\"}\n");
    let ran = dir.run("check x.jsonl odd.json --why");
    let text = ran.stdout();
    let first = text.lines().nth(1).unwrap_or_default();
    assert!(first.trim_start().starts_with(|digit: char| digit.is_ascii_digit()), "{text}");
    assert!(first.contains("  claude-code (log): 1 document"), "{text}");
    assert!(text.contains("odd.json: no dialect matches\n"), "{text}");
    assert_eq!(dir.run("check x.jsonl --why --json").code, Some(2));
}

#[test]
fn a_check_takes_a_directory() {
    let dir = Dir::new("small_check");
    dir.write("logs/a.jsonl", LOG).write("logs/deep/b.jsonl", LOG);
    let ran = dir.run("check logs");
    assert_eq!((ran.code, ran.stdout()), (Some(0), "checked 2 files, 2 sound\n"));
    // A file is listed only with `-v` or if it is not sound.
    assert_eq!(dir.run("check logs -v").stdout().matches("\nsound: ").count(), 2);
    dir.write("logs/c.jsonl", [LOG, "{"].concat());
    let ran = dir.run("check logs");
    assert_eq!(ran.code, Some(3));
    assert!(ran.stdout().contains("logs/c.jsonl: ") && !ran.stdout().contains("logs/a.jsonl"));
    assert!(ran.stdout().ends_with("checked 3 files, 2 sound, 1 not sound\n"));
}

#[test]
fn a_missing_target_points_to_the_list() {
    let dir = Dir::new("small_target");
    dir.write("x.jsonl", LOG);
    dir.run("convert x.jsonl").expect(
        2,
        "error: what to convert to is not said\nhint: say it with `--to DIALECT`; `interlingua dialects` lists them\n",
    );
    // A similar name is suggested, a dissimilar name is not.
    assert!(dir.run("convert x.jsonl --to gemni").stderr.contains("did you mean `gemini`?"));
    assert!(!dir.run("convert x.jsonl --to ppt").stderr.contains("did you mean"));
}

#[test]
fn a_log_that_is_said_to_be_something_else_is_told_what_it_looks_like() {
    let dir = Dir::new("small_from");
    dir.write("x.jsonl", LOG);
    let ran = dir.run("convert x.jsonl --from anthropic --to record");
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("hint: it looks like `claude-code`"), "{}", ran.stderr);
}

#[test]
fn the_list_of_dialects_fits_a_terminal() {
    let dir = Dir::new("small_dialects");
    let listed = dir.run("dialects");
    for line in listed.stdout().lines() {
        assert!(line.chars().count() <= 80, "{line}");
    }
    assert!(dir.run("dialects --json").stdout().contains("\"detected_by\""));
}

#[test]
fn the_version_names_the_commit_where_it_is_known() {
    let dir = Dir::new("small_version");
    let ran = dir.run("--version");
    let known = std::process::Command::new("git").args(["rev-parse", "--short=9", "HEAD"]).output();
    match known {
        Ok(git) if git.status.success() => {
            let commit = String::from_utf8_lossy(&git.stdout).trim().to_owned();
            assert!(ran.stdout().contains(&commit), "{} of {commit}", ran.stdout());
        }
        _ => assert!(ran.stdout().starts_with("interlingua ")),
    }
}

#[test]
fn sessions_in_files_of_one_name_stay_sessions_of_their_own() {
    let dir = Dir::new("small_identity");
    let log = concat!(
        r#"{"role": "_checkpoint", "id": 0}"#,
        "\n",
        r#"{"role":"user","content":"hi"}"#,
        "\n",
        r#"{"role":"assistant","content":[{"type":"think","think":"hm"},{"type":"text","text":"ho"}]}"#,
        "\n",
    );
    let [one, two] = ["0a1b2c3d-0000-4000-8000-000000000001", "0a1b2c3d-0000-4000-8000-000000000002"];
    let places = [
        format!("{one}/context.jsonl"),
        format!("{two}/context.jsonl"),
        format!("session_{one}/agents/agent-0/context.jsonl"),
        "a/context.jsonl".to_owned(),
        "b/context.jsonl".to_owned(),
    ];
    let id = |place: &str| {
        let ran = dir.run(&format!("convert {place} --from kimi-cli --to opencode -q"));
        let (_, rest) = ran.stdout().split_once(r#""id":"ses_"#).expect("a session has an id");
        rest.split('"').next().expect("a quote ends it").to_owned()
    };
    let mut ids = std::collections::BTreeSet::new();
    for place in &places {
        dir.write(place, log);
        assert_eq!(id(place), id(place), "{place}");
        assert!(ids.insert(id(place)), "{place} has the id of another");
    }
    // A session named by its folder keeps its id when the folder moves, and in its other file.
    dir.write(&format!("moved/{one}/wire.jsonl"), log);
    assert!(ids.contains(&id(&format!("moved/{one}/wire.jsonl"))));
}

#[test]
fn a_live_session_has_its_id_its_time_and_its_failure_from_the_first_event_to_the_last() {
    let dir = Dir::new("small_universal");
    let log = concat!(
        r#"{"type":"control_response","response":{"subtype":"success","request_id":"r1","response":{"commands":[]}}}"#,
        "\n",
        r#"{"type":"system","subtype":"init","session_id":"11111111-2222-4333-8444-555555555555","cwd":"/w","model":"m","tools":[]}"#,
        "\n",
        r#"{"type":"assistant","session_id":"11111111-2222-4333-8444-555555555555","uuid":"u1","parent_tool_use_id":null,"timestamp":"2026-02-01T00:00:05.000Z","message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"hello"}]}}"#,
        "\n",
        r#"{"type":"result","subtype":"success","is_error":true,"api_error_status":529,"result":"API Error: 529 overloaded","session_id":"11111111-2222-4333-8444-555555555555"}"#,
        "\n",
    );
    dir.write("live.jsonl", log);
    let file = dir.run("convert live.jsonl --from claude-stream --to universal -q");
    let pipe = dir.run_with("convert - --from claude-stream --to universal -q", log.as_bytes());
    for ran in [&file, &pipe] {
        let lines: Vec<&str> = ran.stdout().lines().collect();
        for line in &lines {
            assert!(line.contains(r#""session_id":"11111111-2222-4333-8444-555555555555""#), "{line}");
            assert!(!line.contains("1970"), "{line}");
        }
        let last = lines.last().expect("events");
        assert!(last.contains(r#""type":"session.ended","data":{"reason":"error""#), "{last}");
    }
    assert!(file.stdout().lines().all(|line| line.contains("2026-02-01T00:00:05.000Z")), "{}", file.stdout());
}
