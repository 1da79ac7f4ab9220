//! `run` with the mock agent: the view, events, the JSON result, requests at the keyboard, signals and exit codes.

use serde_json::{Value, json};

use crate::support::{Dir, Ran};

const GO_ON: &str = "go on with `interlingua run mock --resume mock-session PROMPT`\n";

fn events(ran: &Ran) -> Vec<Value> {
    ran.stdout().lines().map(|line| serde_json::from_str(line).expect("a line is JSON")).collect()
}

#[test]
fn the_view_shows_texts_tools_and_usage() {
    let ran = Dir::new("run-view").run("run mock demo");
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), GO_ON));
    let mut from = 0;
    for text in [
        "thought: I show",
        "First a tool.",
        "▸ mock.search",
        "✓ mock.search  → 3 files",
        "That was all.",
        "tokens: 1 in, 1 out",
    ] {
        let found = ran.stdout()[from..].find(text);
        from += found.unwrap_or_else(|| panic!("`{text}` is missing or early: {}", ran.stdout()));
    }
    assert!(!ran.stdout().contains("null"), "{}", ran.stdout());
}

#[test]
fn events_are_universal_events_up_to_the_end_of_the_turn() {
    let ran = Dir::new("run-events").run_with("run mock - --events", b"echo from stdin");
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let events = events(&ran);
    let sequences: Vec<_> =
        events.iter().map(|event| event["sequence"].as_u64().expect("a number")).collect();
    assert_eq!(sequences, (1..=events.len() as u64).collect::<Vec<_>>());
    assert_eq!(events[0]["type"], "session.started");
    assert_eq!(events.last().expect("an event")["type"], "turn.ended");
    assert!(ran.stdout().contains(r#""text":"from stdin""#), "{}", ran.stdout());
}

#[test]
fn the_json_result_has_text_session_usage_and_stop_reason() {
    let dir = Dir::new("run-json");
    let ran = dir.run("run mock tool --json");
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    let result: Value = serde_json::from_slice(&ran.stdout).expect("JSON");
    let expected = json!({
        "agent": "mock", "session_id": "mock-session", "text": "Found them.", "stop": "end_turn", "error": null,
        "usage": { "input_tokens": 1, "output_tokens": 1 }, "cost_usd": 0.0,
    });
    assert_eq!(result, expected);
    let resumed = dir.run("run mock tool --json --resume mine");
    let result: Value = serde_json::from_slice(&resumed.stdout).expect("JSON");
    assert_eq!(result["session_id"], "mine");
}

#[test]
fn errors_of_the_agent_are_exit_code_1() {
    let dir = Dir::new("run-errors");
    for (prompt, error) in
        [("error", "the mock agent fails on request"), ("exit", "Mock agent ended with exit code 1")]
    {
        let ran = dir.run(&format!("run mock {prompt} --json"));
        assert_eq!(ran.code, Some(1), "{prompt}");
        let result: Value = serde_json::from_slice(&ran.stdout).expect("JSON");
        assert_eq!((&result["stop"], &result["error"]), (&json!("error"), &json!(error)));
    }
}

#[test]
fn without_a_terminal_permissions_follow_the_permission_mode() {
    let dir = Dir::new("run-permissions");
    for (mode, is_allowed) in [("default", false), ("acceptEdits", false), ("bypass", true)] {
        let ran = dir.run(&format!("run mock permission --permission-mode {mode} --events"));
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        let statuses: Vec<_> = events(&ran)
            .into_iter()
            .filter(|event| event["type"] == "permission.resolved")
            .map(|event| event["data"]["status"].clone())
            .collect();
        assert_eq!(statuses, [if is_allowed { "accept" } else { "reject" }], "{mode}");
        assert_eq!(
            ran.stderr.contains("permission rejected, because stdin is not a terminal"),
            !is_allowed,
            "{mode}"
        );
    }
    let ran = dir.run("run mock questions");
    assert_eq!(ran.code, Some(0));
    assert!(ran.stderr.contains("question declined"), "{}", ran.stderr);
}

#[test]
fn agents_and_settings_that_do_not_exist_are_refused() {
    let dir = Dir::new("run-refused");
    let hint = "hint: the agents are claude, codex, ";
    let ran = dir.run("run nobody hello");
    assert!(
        ran.code == Some(2) && ran.stderr.contains("there is no agent `nobody`") && ran.stderr.contains(hint)
    );
    let ran = dir.run_where("run claude hello", b"", &[("PATH", "/nowhere")]);
    assert_eq!(ran.code, Some(127));
    assert!(
        ran.stderr.contains("`claude` is not on the path")
            && ran.stderr.contains("hint: install it with `npm")
    );
    for args in
        ["mock hello --permission-mode never", "mock hello --mode never", "mock hello --mock", "mock -"]
    {
        let ran = dir.run(&format!("run {args}"));
        assert_eq!((ran.code, ran.stdout()), (Some(2), ""), "{args}: {}", ran.stderr);
        assert!(ran.stderr.starts_with("error: "), "{}", ran.stderr);
    }
    let ran = dir.run("run mock hello --dir missing");
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
}

#[cfg(unix)]
mod terminal {
    use std::io::{Read as _, Write as _};
    use std::time::{Duration, Instant};

    use pty_process::blocking::{Command, open};

    use crate::support::Dir;

    /// Runs the command in a terminal. Each pair is a text to wait for and the keys to press then.
    fn talk(dir: &Dir, args: &[&str], keys: &[(&str, &str)]) -> (Option<i32>, String) {
        let (pty, pts) = open().expect("a terminal can be opened");
        let mut child = Command::new(env!("CARGO_BIN_EXE_interlingua"))
            .args(args)
            .current_dir(dir.path())
            .env("NO_COLOR", "1")
            .spawn(pts)
            .expect("the command starts");
        let mut seen = Vec::new();
        let (mut from, mut piece) = (0, [0; 4096]);
        let end = Instant::now() + Duration::from_secs(30);
        let mut keys = keys.iter();
        let mut next = keys.next();
        // After the last program in a terminal has ended, Linux returns an error for reads.
        while let Ok(length @ 1..) = (&pty).read(&mut piece) {
            assert!(Instant::now() < end, "{}", String::from_utf8_lossy(&seen));
            seen.extend_from_slice(&piece[..length]);
            while let Some((text, pressed)) = next {
                let shown = String::from_utf8_lossy(&seen[from..]).into_owned();
                if !shown.contains(text) {
                    break;
                }
                from = seen.len();
                (&pty).write_all(pressed.as_bytes()).expect("keys can be pressed");
                next = keys.next();
            }
        }
        let code = child.wait().expect("the command ends").code();
        assert!(next.is_none(), "{next:?} did not come: {}", String::from_utf8_lossy(&seen));
        (code, String::from_utf8_lossy(&seen).into_owned())
    }

    #[test]
    fn permissions_are_answered_at_the_keyboard() {
        let dir = Dir::new("run-keyboard");
        let ask = "allow? y, always or n";
        for (keys, decision) in [
            (vec![(ask, "maybe\n"), (ask, "y\n")], "accepted\r"),
            (vec![(ask, "always\n")], "accepted for the session"),
            (vec![(ask, "n\n")], "rejected\r"),
            (vec![(ask, "no use git\n")], "rejected: use git"),
            (vec![(ask, "\u{4}")], "rejected\r"),
        ] {
            let (code, seen) = talk(&dir, &["run", "mock", "permission file"], &keys);
            assert_eq!(code, Some(0), "{seen}");
            assert!(seen.contains(&format!("permission: Bash  {decision}")), "{decision}: {seen}");
            assert!(seen.contains("After the permission."), "{seen}");
        }
    }

    #[test]
    fn questions_are_answered_by_number_or_text() {
        let dir = Dir::new("run-questions");
        let ask = "a number or a text";
        let keys = [(ask, "9\n"), (ask, "2\n"), (ask, "mauve\n")];
        let (code, seen) = talk(&dir, &["run", "mock", "questions"], &keys);
        assert_eq!(code, Some(0), "{seen}");
        assert!(seen.contains("answer: Green, mauve"), "{seen}");
        let (_, seen) = talk(&dir, &["run", "mock", "question"], &[(ask, "\n")]);
        assert!(seen.contains("answer: declined"), "{seen}");
    }

    #[test]
    fn ctrl_c_interrupts_the_turn_and_a_second_one_ends_the_command() {
        let dir = Dir::new("run-interrupt");
        let (code, seen) = talk(&dir, &["run", "mock", "slow 20000"], &[("I wait.", "\u{3}")]);
        assert_eq!(code, Some(130), "{seen}");
        assert!(seen.contains("interrupting the turn") && !seen.contains("I waited."), "{seen}");
        let keys = [("allow?", "\u{3}\u{3}")];
        let (code, seen) = talk(&dir, &["run", "mock", "permission x"], &keys);
        assert_eq!(code, Some(130), "{seen}");
        assert!(!seen.contains("After the permission."), "{seen}");
    }
}
