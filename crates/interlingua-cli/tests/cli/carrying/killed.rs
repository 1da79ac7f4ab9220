//! `kill -9` at many moments of `continue`, of the catalogue and of `backup`. The moments are spread over the time that the
//! command takes on this machine.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use super::{Home, SESSIONS, file_of, fixture, told};

/// How often each command is killed.
const KILLS: u32 = 30;

/// Runs a command once to its end and then kills it at many moments; `check` looks at the home after each kill.
#[expect(clippy::disallowed_methods, reason = "the moment of a kill is a time, not an event")]
fn kill_often(home: &Home, arguments: &[&str], time: Duration, mut check: impl FnMut(u32)) {
    let mut killed = 0;
    for number in 0..KILLS {
        let mut command = home.command(arguments);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().expect("it starts");
        std::thread::sleep(time * number / KILLS);
        // A command that has ended cannot be killed any more.
        let _ = child.kill();
        killed += u32::from(!child.wait().expect("it ends").success());
        check(number);
    }
    assert!(killed >= 5, "{arguments:?}: only {killed} of {KILLS} runs were killed");
}

fn time_of(work: impl FnOnce()) -> Duration {
    let begin = Instant::now();
    work();
    begin.elapsed()
}

/// All files below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let paths = entries.map(|entry| entry.expect("an entry").path());
    paths.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

/// The number of lines of a session whose last line is whole and whose lines are JSON.
fn sound_lines(path: &Path) -> usize {
    let text = fs::read_to_string(path).expect("UTF-8");
    assert!(text.ends_with('\n'), "{} is cut", path.to_string_lossy());
    text.lines().for_each(|line| _ = serde_json::from_str::<serde_json::Value>(line).expect("JSON"));
    text.lines().count()
}

#[test]
fn a_killed_continue_leaves_no_half_session() {
    for (agent, folder) in [
        ("kimi-code", ".kimi-code/sessions"),
        ("kimi-cli", ".kimi/sessions"),
        ("copilot", ".copilot/session-state"),
        ("codex", ".codex/sessions"),
    ] {
        // The whole session, elsewhere.
        let home = Home::new(&["pi"]);
        let mut whole = 0;
        let time =
            time_of(|| whole = sound_lines(Path::new(&file_of(&home.carried("latest:pi", agent, &[])))));
        let home = Home::new(&["pi"]);
        home.done(&["list", "-q"]);
        kill_often(&home, &["continue", "latest:pi", "--in", agent, "--dir", ".", "-q"], time, |number| {
            let folder = home.path(folder);
            let there = files(&folder);
            for path in there.iter().filter(|path| path.extension().is_some_and(|end| end == "jsonl")) {
                assert_eq!(sound_lines(path), whole, "{agent}, kill {number}");
            }
            // A folder of a session is there with all its files or not at all.
            let is_temporary = |path: &&PathBuf| path.to_string_lossy().ends_with(".tmp");
            if agent == "kimi-code" && !there.is_empty() {
                assert_eq!(
                    there.iter().filter(|path| !is_temporary(path)).count(),
                    2,
                    "kill {number}: {there:?}"
                );
            }
            if let Ok(index) = fs::read(home.path(".kimi/kimi.json")) {
                let index: serde_json::Value = serde_json::from_slice(&index).expect("a whole index");
                let id = index["work_dirs"][0]["last_session_id"].as_str().expect("an id");
                assert!(
                    there.iter().any(|path| path.to_string_lossy().contains(id)),
                    "an entry without a session"
                );
            }
        });
        // The command goes on where it was killed: the session is not taken for one that has gone on.
        let last = home.carried("latest:pi", agent, &[]);
        assert_eq!(sound_lines(Path::new(&file_of(&last))), whole);
        let sessions = files(&home.path(folder));
        let logs = sessions.iter().filter(|path| path.extension().is_some_and(|end| end == "jsonl"));
        assert_eq!(logs.count(), 1, "{agent}: {sessions:?}");
    }
}

#[test]
fn a_killed_index_heals() {
    let agents = SESSIONS.map(|(agent, ..)| agent);
    let home = Home::new(&agents);
    let time = time_of(|| _ = home.done(&["find", "-q", "the"]));
    let whole = home.json(&["list", "-q", "--json", "-n", "0"]);
    let found = home.json(&["find", "-q", "--json", "-n", "0", "the"]);
    assert!(found["sessions"].as_array().is_some_and(|found| found.len() > 2), "{found}");
    fs::remove_dir_all(home.path(".cache")).expect("removed");
    kill_often(&home, &["find", "-q", "the"], time, |number| {
        // Every third kill finds a catalogue that is not complete.
        if number % 3 == 2 {
            assert_eq!(home.json(&["list", "-q", "--json", "-n", "0"]), whole, "kill {number}");
            assert_eq!(home.json(&["find", "-q", "--json", "-n", "0", "the"]), found, "kill {number}");
            fs::remove_dir_all(home.path(".cache")).expect("removed");
        }
    });
}

#[test]
fn a_killed_backup_verifies_and_goes_on() {
    let agents = SESSIONS.map(|(agent, ..)| agent);
    let home = Home::new(&agents);
    let time = time_of(|| _ = home.done(&["backup", "first", "-q"]));
    let saved = fs::read_to_string(home.path("work/first/index.jsonl")).expect("an index").lines().count();
    assert_eq!(saved, 8, "one session of each agent that keeps files");
    kill_often(&home, &["backup", "saved", "-q"], time, |number| {
        let verified = home.run(&["backup", "saved", "--verify", "-q"]);
        assert!(verified.status.success(), "kill {number}: {}", told(&verified));
        if number % 3 == 2 {
            fs::remove_dir_all(home.path("work/saved")).unwrap_or_default();
        }
    });
    home.done(&["backup", "saved", "-q"]);
    // A line without its end, as a kill in the middle of a write leaves it.
    let index = home.path("work/saved/index.jsonl");
    let text = fs::read_to_string(&index).expect("the index");
    fs::write(&index, &text[..text.len() - 40]).expect("a cut line");
    home.done(&["backup", "saved", "--verify", "-q"]);
    home.done(&["backup", "saved", "-q"]);
    home.done(&["backup", "saved", "--verify", "-q"]);
    assert_eq!(fs::read_to_string(&index).expect("the index").lines().count(), saved);
    for (_, source, place) in SESSIONS.iter().filter(|(_, _, place)| !place.starts_with("exported")) {
        fs::remove_file(home.path(place)).expect("removed");
        home.done(&["restore", place, "saved", "-q"]);
        assert_eq!(
            fs::read(home.path(place)).expect("restored"),
            fs::read(fixture(source)).expect("a fixture")
        );
    }
}
