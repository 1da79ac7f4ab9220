//! `list` and `continue` on a home folder: the new session is there, compared, never overwritten, and removed again.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

const SOURCE: &str = ".pi/agent/sessions/--w--/s.jsonl";

/// A home folder with one session of Pi.
struct Home(tempfile::TempDir);

impl Home {
    fn new() -> Self {
        let home = Self(tempfile::tempdir().expect("a folder"));
        let fixture = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../interlingua/fixtures/agents/pi/2026-11/shapes.jsonl");
        let place = home.path(SOURCE);
        fs::create_dir_all(place.parent().expect("a parent")).expect("a folder");
        fs::copy(fixture, place).expect("a copy");
        fs::create_dir(home.path("work")).expect("a folder");
        home
    }

    fn path(&self, place: &str) -> PathBuf {
        self.0.path().join(place)
    }

    fn run(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_interlingua"));
        command.args(arguments).current_dir(self.path("work")).env_clear().env("HOME", self.0.path());
        command.output().expect("it runs")
    }

    /// The output of a command that succeeds.
    fn done(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("UTF-8")
    }

    fn carried(&self, agent: &str) -> serde_json::Value {
        let text = self.done(&["continue", "latest:pi", "--in", agent, "--dir", ".", "-q", "--json"]);
        serde_json::from_str(&text).expect("JSON")
    }
}

fn file_of(carried: &serde_json::Value) -> PathBuf {
    PathBuf::from(carried["file"].as_str().expect("a path"))
}

#[test]
fn a_session_goes_on_in_every_agent() {
    let home = Home::new();
    let source = fs::read(home.path(SOURCE)).expect("the source");
    let agents =
        ["claude", "codex", "gemini", "qwen", "opencode", "copilot", "kimi-cli", "kimi-code", "claude-code"];
    for agent in agents {
        let carried = home.carried(agent);
        let file = file_of(&carried);
        assert!(
            file.starts_with(home.0.path().canonicalize().expect("a path"))
                || file.starts_with(home.0.path())
        );
        for sort in ["prompts", "answers", "calls", "results"] {
            let compared = &carried["compared"][sort];
            assert_eq!(compared["all"], compared["kept"], "{agent}: {sort}");
        }
        assert!(carried["compared"]["prompts"]["all"].as_u64() > Some(0), "{agent}: {carried}");
        let checked = home.run(&["check", "-q", file.to_str().expect("UTF-8")]);
        assert!(checked.status.success(), "{agent}: {}", String::from_utf8_lossy(&checked.stderr));
    }
    assert_eq!(fs::read(home.path(SOURCE)).expect("the source"), source, "the source is as it was");
    let kimi = fs::read_to_string(home.path(".kimi/kimi.json")).expect("the index of Kimi CLI");
    let kimi: serde_json::Value = serde_json::from_str(&kimi).expect("JSON");
    let work = home.path("work").canonicalize().expect("a path");
    assert_eq!(kimi["work_dirs"][0]["path"].as_str(), work.to_str());
}

#[test]
fn again_later_the_same_session_is_written() {
    let home = Home::new();
    let first = home.carried("codex");
    let second = home.carried("codex");
    assert_eq!(first, second);
    let lines = fs::read_to_string(file_of(&first)).expect("the session").lines().count();
    let mut log = fs::read_to_string(home.path(SOURCE)).expect("the source");
    let id = log
        .lines()
        .filter_map(|line| {
            serde_json::from_str::<serde_json::Value>(line).ok()?["id"].as_str().map(str::to_owned)
        })
        .next_back();
    log += &serde_json::json!({
        "type": "message", "id": "later", "parentId": id, "timestamp": "2026-11-16T00:00:00.000Z",
        "message": {"role": "user", "content": [{"type": "text", "text": "one more thing"}], "timestamp": 1_794_744_000_000_u64},
    })
    .to_string();
    log.push('\n');
    fs::write(home.path(SOURCE), log).expect("a longer source");
    let third = home.carried("codex");
    assert_eq!(third["file"], first["file"]);
    let text = fs::read_to_string(file_of(&third)).expect("the session");
    assert!(text.lines().count() > lines && text.contains("one more thing"));
}

#[expect(clippy::disallowed_methods, reason = "a log grows with time, and a file that appears is no event")]
fn pause(microseconds: u64) {
    std::thread::sleep(Duration::from_micros(microseconds));
}

/// A line of a session of Claude Code.
fn prompt(number: u32) -> String {
    let parent = (number > 0).then(|| (number - 1).to_string());
    let line = serde_json::json!({"type": "user", "uuid": number.to_string(), "parentUuid": parent, "version": "2",
        "sessionId": "11111111-0000-4000-8000-000000000001", "cwd": "/", "timestamp": "2026-11-01T00:00:00.000Z",
        "message": {"role": "user", "content": format!("prompt {number}")}});
    format!("{line}\n")
}

#[test]
fn a_session_whose_log_is_being_written_is_carried_on_as_it_was_at_one_moment() {
    let home = Home::new();
    let log = home.path("growing.jsonl");
    fs::write(&log, (0..50).map(prompt).collect::<String>()).expect("a log");
    let (is_done, written) = (AtomicBool::new(false), AtomicU32::new(50));
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let mut log = fs::OpenOptions::new().append(true).open(&log).expect("the log");
            for number in 50..100_000 {
                let line = prompt(number);
                let (begin, end) = line.split_at(line.len() / 2);
                log.write_all(begin.as_bytes()).expect("half a line");
                // The last line stays without its end.
                if is_done.load(Ordering::Relaxed) {
                    return;
                }
                pause(200);
                log.write_all(end.as_bytes()).expect("the other half");
                written.store(number + 1, Ordering::Relaxed);
            }
        });
        let log = log.to_str().expect("UTF-8");
        let output = home.path("out.jsonl");
        let output = output.to_str().expect("UTF-8");
        let outputs: Vec<(Output, Output)> = (0..4)
            .map(|_| {
                let carried = home.run(&["continue", log, "--in", "codex", "--dir", ".", "-q", "--json"]);
                (carried, home.run(&["convert", log, "--to", "codex", "-o", output, "--verify", "-q"]))
            })
            .collect();
        is_done.store(true, Ordering::Relaxed);
        writer.join().expect("the writer");
        for (carried, verified) in outputs {
            assert!(verified.status.success(), "{}", String::from_utf8_lossy(&verified.stderr));
            let carried: serde_json::Value = serde_json::from_slice(&carried.stdout).expect("JSON");
            let prompts = &carried["compared"]["prompts"];
            assert_eq!(prompts["all"], prompts["kept"], "{carried}");
        }
    });
    let log = log.to_str().expect("UTF-8");
    let output = home.run(&["continue", log, "--in", "codex", "--dir", ".", "--json"]);
    let carried: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(carried["compared"]["prompts"]["all"], written.load(Ordering::Relaxed));
    let told = String::from_utf8(output.stderr).expect("UTF-8");
    assert!(told.contains("left out: the last line of the source, which has no end so far ("), "{told}");
}

#[test]
fn a_session_that_has_gone_on_is_never_overwritten() {
    let home = Home::new();
    let first = file_of(&home.carried("claude"));
    let mut text = fs::read_to_string(&first).expect("the session");
    text += "{\"type\":\"user\",\"uuid\":\"u9\",\"message\":{\"role\":\"user\",\"content\":\"went on\"}}\n";
    fs::write(&first, &text).expect("a line of the user");
    let second = file_of(&home.carried("claude"));
    assert_ne!(first, second);
    assert_eq!(fs::read_to_string(&first).expect("the session"), text);
    // What went on is not removed either.
    let source = home.path(SOURCE);
    let undone = home.run(&["continue", source.to_str().expect("UTF-8"), "--in", "claude", "--undo"]);
    assert!(!undone.status.success() && first.exists());
    assert!(String::from_utf8_lossy(&undone.stderr).contains("has gone on since"));
}

#[test]
fn undo_removes_the_copy_and_its_index_entry() {
    let home = Home::new();
    let source = home.path(SOURCE);
    let source = source.to_str().expect("UTF-8");
    for agent in ["kimi-cli", "kimi-code", "claude"] {
        let file = file_of(&home.carried(agent));
        home.done(&["continue", source, "--in", agent, "--undo"]);
        assert!(!file.exists(), "{agent}");
        let again = home.run(&["continue", source, "--in", agent, "--undo"]);
        assert_eq!(again.status.code(), Some(2), "{agent}: nothing is left to undo");
    }
    let kimi = fs::read_to_string(home.path(".kimi/kimi.json")).expect("the index of Kimi CLI");
    assert_eq!(kimi, r#"{"work_dirs":[]}"#);
}

#[test]
fn a_dry_run_writes_nothing() {
    let home = Home::new();
    home.done(&["continue", "latest", "--in", "claude", "--dry-run"]);
    assert!(!home.path(".claude").exists() && !home.path(".local").exists());
}

#[test]
fn wrong_sessions_and_agents_are_refused() {
    let home = Home::new();
    for (arguments, code, word) in [
        (&["continue", "latest", "--in", "amp"][..], 2, "amp"),
        (&["continue", "latest", "--in", "pi"], 2, "already"),
        (&["continue", "latest:codex", "--in", "claude"], 1, "latest:codex"),
        (&["continue", "--in", "claude"], 2, "no session is named"),
        (&["continue", "latest", "--in", "claude", "--dir", "nowhere"], 1, "nowhere"),
        (&["show", "deadbeef1234"], 1, "deadbeef1234"),
    ] {
        let output = home.run(arguments);
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {told}");
        assert!(told.contains(word), "{arguments:?}: {told}");
    }
}

/// Claude Code resumes only the last session of a file, so a copy with both would lose the first.
#[test]
fn a_file_with_two_sessions_is_refused_and_each_of_its_records_goes_on() {
    let home = Home::new();
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../interlingua/fixtures/agents/opencode/2026-11/two-exports.json");
    fs::copy(fixture, home.path("work/two.json")).expect("a copy");
    let output = home.run(&["continue", "two.json", "--in", "claude"]);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(told.contains("two.json` holds 2 sessions") && told.contains("--to record -o DIR/"), "{told}");
    assert!(!home.path(".claude").exists());
    home.done(&["convert", "two.json", "--to", "record", "-o", "records/"]);
    let records: Vec<_> = fs::read_dir(home.path("work/records")).expect("records").collect();
    assert_eq!(records.len(), 2);
    for record in records {
        let path = record.expect("listed").path();
        home.done(&["continue", path.to_str().expect("UTF-8"), "--in", "claude", "--dir", "."]);
    }
}

#[test]
fn a_joined_record_goes_on_with_the_calls_of_its_subagents() {
    let home = Home::new();
    let fixtures =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../interlingua/fixtures/anthropic/claude_code/2026-11");
    let names = ["subagent.jsonl", "subagent-child.jsonl"];
    for name in names {
        fs::copy(fixtures.join(name), home.path("work").join(name)).expect("a copy");
    }
    home.done(&["convert", "--join", names[0], names[1], "--to", "record", "-o", "joined.json"]);
    let output = home.run(&["continue", "joined.json", "--in", "codex", "--dir", ".", "--json"]);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(told.contains("1 session of subagents; their results come along"), "{told}");
    let of_record: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let of_log = home.done(&["continue", names[0], "--in", "codex", "--dir", ".", "--json"]);
    let of_log: serde_json::Value = serde_json::from_str(&of_log).expect("JSON");
    assert_eq!(of_record["compared"], of_log["compared"], "{told}");
    let log = fs::read_to_string(file_of(&of_record)).expect("a log");
    let of_type = |kind: &str| log.lines().filter(|line| line.contains(kind)).count();
    let counts = (of_type(r#""type":"function_call""#), of_type(r#""type":"function_call_output""#));
    assert_eq!(counts, (1, 1), "{log}");
    // Claude Code gets its own log back.
    let output = home.run(&["continue", "joined.json", "--in", "claude", "--dir", "."]);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && !told.contains("unfilled-hole"), "{told}");
}

#[test]
fn words_are_found_and_new_words_too() {
    let home = Home::new();
    let hits = |query: &[&str]| {
        let found = home.done(&[&["find", "--json"], query].concat());
        let found: serde_json::Value = serde_json::from_str(&found).expect("JSON");
        let sessions = found["sessions"].as_array().expect("sessions").iter();
        sessions.map(|session| session["hits"].as_array().map_or(0, Vec::len)).sum::<usize>()
    };
    assert_eq!(hits(&["perihelion"]), 0);
    let mut log = fs::read_to_string(home.path(SOURCE)).expect("the source");
    log += &serde_json::json!({
        "type": "message", "id": "later", "parentId": null, "timestamp": "2026-11-16T00:00:00.000Z",
        "message": {"role": "user", "content": [{"type": "text", "text": "Mind the Perihelion, twice"}]},
    })
    .to_string();
    log.push('\n');
    fs::write(home.path(SOURCE), log).expect("a longer source");
    assert_eq!(hits(&["perihelion"]), 1);
    assert_eq!(hits(&["\"the perihelion\"", "agent:pi"]), 1);
    assert_eq!(hits(&["perihelion", "agent:codex"]), 0);
    assert_eq!(hits(&["perihelion", "tool:bash"]), 0);
    assert_eq!(hits(&["\"perihelion the\""]), 0);
    let text = home.done(&["find", "perihelion"]);
    assert!(text.contains("you: Mind the Perihelion, twice") && text.contains("interlingua show "), "{text}");
    assert_eq!(home.run(&["find", "agent:pi"]).status.code(), Some(2));
}

#[test]
fn a_backup_gives_deleted_sessions_back() {
    let home = Home::new();
    let original = fs::read(home.path(SOURCE)).expect("the source");
    home.done(&["backup", "saved"]);
    let index = fs::read_to_string(home.path("work/saved/index.jsonl")).expect("the index");
    assert_eq!(index.lines().count(), 1);
    home.done(&["backup", "saved"]);
    assert_eq!(
        fs::read_to_string(home.path("work/saved/index.jsonl")).expect("the index"),
        index,
        "nothing changed"
    );
    let clobbered = home.run(&["restore", "s.jsonl", "saved"]);
    assert_eq!(clobbered.status.code(), Some(1), "an existing session is never overwritten");
    fs::remove_file(home.path(SOURCE)).expect("removed");
    home.done(&["restore", "s.jsonl", "saved"]);
    assert_eq!(fs::read(home.path(SOURCE)).expect("restored"), original);
    // A changed session is a second state; the first one stays.
    fs::write(home.path(SOURCE), [&original[..], b"\n"].concat()).expect("changed");
    home.done(&["backup", "saved"]);
    home.done(&["backup", "saved", "--verify"]);
    home.done(&["restore", "s.jsonl", "saved", "-o", "newest.jsonl"]);
    assert_eq!(fs::read(home.path("work/newest.jsonl")).expect("restored").len(), original.len() + 1);
    assert_eq!(home.run(&["restore", "nothing", "saved"]).status.code(), Some(1));
    // One flipped byte is found, and nothing is restored from it.
    let digest = index.split("\"sha256\":\"").nth(1).expect("a digest")[..64].to_owned();
    let object = home.path(&format!("work/saved/objects/{}/{digest}.gz", &digest[..2]));
    let mut packed = fs::read(&object).expect("the object");
    let middle = packed.len() / 2;
    packed[middle] ^= 1;
    fs::write(&object, packed).expect("damaged");
    assert_eq!(home.run(&["backup", "saved", "--verify"]).status.code(), Some(3));
    fs::write(home.path("work/saved/index.jsonl"), &index).expect("the first state alone");
    let damaged = home.run(&["restore", "s.jsonl", "saved", "-o", "damaged.jsonl"]);
    assert!(!damaged.status.success() && !home.path("work/damaged.jsonl").exists());
}

#[test]
fn listed_sessions_are_shown_by_their_names() {
    let home = Home::new();
    let listed: serde_json::Value = serde_json::from_str(&home.done(&["list", "--json"])).expect("JSON");
    let [session] = &listed["sessions"].as_array().expect("sessions")[..] else { panic!("{listed}") };
    assert_eq!(session["agent"], "pi");
    let id = session["id"].as_str().expect("an id");
    let by_path = home.done(&["show", home.path(SOURCE).to_str().expect("UTF-8")]);
    assert_eq!(home.done(&["show", &id[..8]]), by_path);
    assert_eq!(home.done(&["show", "latest"]), by_path);
    assert!(home.done(&["list"]).contains(&id[..8]));
    assert!(!home.done(&["list", "--agent", "codex"]).contains(&id[..8]));
    assert!(!home.done(&["list", "--here"]).contains(&id[..8]));
}

/// A folder with a program of an agent that is a script.
#[cfg(unix)]
fn agent(home: &Home, program: &str, script: &str) -> PathBuf {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = home.path("programs");
    fs::create_dir_all(&folder).expect("a folder");
    let path = folder.join(program);
    fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("a program");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("a program");
    folder
}

/// `continue --run`, with the programs of a folder.
#[cfg(unix)]
fn continue_in(home: &Home, agent: &str, programs: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_interlingua"));
    let path = format!("{}:/usr/bin:/bin", programs.to_string_lossy());
    command
        .args(["continue", "latest:pi", "--in", agent, "--run", "--dir", "."])
        .current_dir(home.path("work"));
    command.env_clear().env("HOME", home.0.path()).env("PATH", path);
    command
}

#[cfg(unix)]
#[test]
fn the_agent_starts_in_the_directory_with_the_session_and_its_exit_code_is_passed_on() {
    let home = Home::new();
    let programs = agent(&home, "codex", "pwd -P > seen; echo \"$@\" >> seen; cat >> seen; exit 7");
    fs::write(home.path("input"), "typed\n").expect("an input");
    let mut command = continue_in(&home, "codex", &programs);
    command.args(["--model", "m 1"]).stdin(fs::File::open(home.path("input")).expect("the input"));
    let output = command.output().expect("it runs");
    assert_eq!(output.status.code(), Some(7), "{}", String::from_utf8_lossy(&output.stderr));
    let seen = fs::read_to_string(home.path("work/seen")).expect("the agent has run");
    let [cwd, arguments, typed] = seen.lines().collect::<Vec<_>>()[..] else { unreachable!("{seen}") };
    assert_eq!((Path::new(cwd), typed), (&*home.path("work").canonicalize().expect("a path"), "typed"));
    let id = arguments.strip_prefix("resume ").and_then(|rest| rest.strip_suffix(" --model m 1"));
    let id = id.expect("the arguments that resume a session");
    let logs = home.run(&["list", "--agent", "codex", "--json", "-q"]);
    assert!(String::from_utf8_lossy(&logs.stdout).contains(id), "the session is there");
}

#[cfg(unix)]
#[test]
fn an_agent_that_a_signal_ends_has_the_exit_code_of_a_shell() {
    let home = Home::new();
    let programs = agent(&home, "codex", "kill -KILL $$");
    let output = continue_in(&home, "codex", &programs).output().expect("it runs");
    assert_eq!(output.status.code(), Some(128 + 9), "{}", String::from_utf8_lossy(&output.stderr));
}

#[cfg(unix)]
#[test]
fn a_failed_import_is_the_end_and_its_exit_code_is_passed_on() {
    let home = Home::new();
    let programs = agent(&home, "opencode", "echo \"$1\" >> seen; exit 3");
    let output = continue_in(&home, "opencode", &programs).output().expect("it runs");
    assert_eq!(output.status.code(), Some(3), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(fs::read_to_string(home.path("work/seen")).expect("the agent has run"), "import\n");
}

#[cfg(unix)]
#[test]
fn an_interrupt_ends_the_agent_and_not_the_command_before_it() {
    use std::os::unix::process::CommandExt as _;
    let home = Home::new();
    let script =
        "trap 'sleep 0.3; echo told >> seen; exit 5' INT\necho ready > seen\nwhile :; do sleep 0.05; done";
    let programs = agent(&home, "codex", script);
    let mut child = continue_in(&home, "codex", &programs).process_group(0).spawn().expect("it runs");
    let seen = || fs::read_to_string(home.path("work/seen")).unwrap_or_default();
    for _ in 0..500 {
        if !seen().is_empty() {
            break;
        }
        pause(20_000);
    }
    let group = format!("-{}", child.id());
    let sent = Command::new("kill").args(["-INT", "--", &group]).status().expect("kill");
    assert!(sent.success());
    assert_eq!(child.wait().expect("an end").code(), Some(5));
    assert_eq!(seen(), "ready\ntold\n");
}

#[cfg(unix)]
#[test]
fn nothing_is_written_for_an_agent_that_is_not_installed() {
    let home = Home::new();
    fs::create_dir(home.path("programs")).expect("a folder");
    // A file that nobody can run is no program.
    fs::write(home.path("programs/codex"), "").expect("a file");
    let output = continue_in(&home, "codex", &home.path("programs")).output().expect("it runs");
    assert_eq!(output.status.code(), Some(127));
    let told = String::from_utf8(output.stderr).expect("UTF-8");
    assert!(
        told.contains("`codex` is not installed: `codex` is not on the path, and nothing was written"),
        "{told}"
    );
    assert!(told.contains("hint: install the agent, or leave out `--run`"), "{told}");
    assert!(!home.path(".codex").exists() && !home.path(".local").exists());
}
