//! File safety: existing files are not destroyed, permissions do not become wider, and a stopped run leaves complete
//! files or none.

#![cfg(unix)]
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::support::{Dir, log, stoppable, wait_until};

fn mode(dir: &Dir, name: &str) -> u32 {
    fs::metadata(dir.path().join(name)).expect("it is there").permissions().mode() & 0o777
}

fn set_mode(dir: &Dir, name: &str, mode: u32) {
    fs::set_permissions(dir.path().join(name), fs::Permissions::from_mode(mode)).expect("it is ours");
}

#[test]
fn nothing_is_written_over_what_is_read_or_written() {
    let dir = Dir::new("files_over");
    dir.write("in.jsonl", log(2)).write("other.jsonl", log(3));
    symlink(dir.path().join("in.jsonl"), dir.path().join("soft.jsonl")).expect("a link");
    fs::hard_link(dir.path().join("in.jsonl"), dir.path().join("hard.jsonl")).expect("a link");
    let before = dir.read("in.jsonl");
    for (args, why) in [
        ("convert in.jsonl --to record -o in.jsonl", "is the input itself"),
        ("convert in.jsonl --to record -o soft.jsonl", "is the input itself"),
        ("convert in.jsonl --to record -o hard.jsonl", "is the input itself"),
        ("convert in.jsonl --to record -o ./../files_over/in.jsonl", "is the input itself"),
        ("convert in.jsonl --to record -o out.json --report in.jsonl", "is the input itself"),
        ("convert in.jsonl --to record -o out.json --report hard.jsonl", "is the input itself"),
        ("convert in.jsonl --to record -o out.json --report out.json", "is the output, too"),
        ("convert in.jsonl --to record -o out.json --report ./out.json", "is the output, too"),
        ("convert in.jsonl other.jsonl --to record -o outs/ --report soft.jsonl", "is the input itself"),
        ("convert in.jsonl other.jsonl --to record --join -o in.jsonl", "is the input itself"),
        ("show in.jsonl --html -o hard.jsonl", "is the input itself"),
        ("translate in.jsonl -o out.json --receipt in.jsonl", "is the input itself"),
        ("translate order.json -o out.json --receipt out.json", "is the output, too"),
    ] {
        let ran = dir.run(args);
        assert_eq!(ran.code, Some(2), "{args}: {}", ran.stderr);
        assert!(ran.stderr.contains(why), "{args}: {}", ran.stderr);
        assert_eq!(dir.read("in.jsonl"), before, "{args}");
    }
    assert_eq!(dir.files(), ["hard.jsonl", "in.jsonl", "other.jsonl", "soft.jsonl"], "nothing else was made");
}

#[test]
fn a_report_never_takes_the_name_of_an_output() {
    let dir = Dir::new("files_report");
    dir.write("a.jsonl", log(1)).write("b.jsonl", log(1));
    dir.run("convert a.jsonl b.jsonl --to record -o out/ --report out/a.record.json -q").expect(0, "");
    assert_eq!(
        dir.files(),
        ["a.jsonl", "b.jsonl", "out/a-2.record.json", "out/a.record.json", "out/b.record.json"]
    );
    assert!(String::from_utf8_lossy(&dir.read("out/a.record.json")).contains("\"leaves\""), "the report");
}

#[test]
fn an_output_is_as_private_as_its_source() {
    let dir = Dir::new("files_modes");
    dir.write("secret.jsonl", log(1)).write("open.jsonl", log(1)).write("program.jsonl", log(1));
    set_mode(&dir, "secret.jsonl", 0o600);
    set_mode(&dir, "open.jsonl", 0o644);
    set_mode(&dir, "program.jsonl", 0o755);
    for (name, expected) in [("secret", 0o600), ("open", 0o644), ("program", 0o644)] {
        dir.run(&format!("convert {name}.jsonl --to record -o {name}.json -q")).expect(0, "");
        assert_eq!(mode(&dir, &format!("{name}.json")), expected, "{name}");
        dir.run(&format!("show {name}.jsonl --html -o {name}.html -q")).expect(0, "");
        assert_eq!(mode(&dir, &format!("{name}.html")), expected, "{name}");
    }
    dir.write("logs/secret.jsonl", log(1));
    set_mode(&dir, "logs/secret.jsonl", 0o600);
    dir.run("convert logs --to record -o all/ -q").expect(0, "");
    assert_eq!(mode(&dir, "all/secret.record.json"), 0o600);
    // A replaced file keeps its permissions.
    set_mode(&dir, "open.json", 0o640);
    dir.run("convert secret.jsonl --to record -o open.json -q").expect(0, "");
    assert_eq!(mode(&dir, "open.json"), 0o640);
}

#[test]
fn what_a_stopped_run_has_left_is_no_input_and_in_nobodys_way() {
    let dir = Dir::new("files_left");
    dir.write("logs/a.jsonl", log(1)).write("logs/.interlingua-abcdef.tmp", log(5));
    symlink(dir.path().join("logs/a.jsonl"), dir.path().join("logs/link.jsonl")).expect("a link");
    let ran = dir.run("convert logs --to record -o out/");
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("skipped logs/.interlingua-abcdef.tmp: left by a run that was stopped"),
        "{}",
        ran.stderr
    );
    assert!(
        ran.stderr.contains("skipped logs/link.jsonl: a link, and links are not followed"),
        "{}",
        ran.stderr
    );
    assert_eq!(
        dir.files(),
        ["logs/.interlingua-abcdef.tmp", "logs/a.jsonl", "logs/link.jsonl", "out/a.record.json"]
    );
}

#[test]
fn a_second_run_into_the_same_folder_makes_no_more_files() {
    let dir = Dir::new("files_twice");
    dir.write("a.jsonl", log(1)).write("sub/b.jsonl", log(2));
    dir.run("convert . --to record -o . -q").expect(0, "");
    let once = dir.files();
    assert_eq!(once, ["a.jsonl", "a.record.json", "sub/b.jsonl", "sub/b.record.json"]);
    let ran = dir.run("convert . --to record -o .");
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!(dir.files(), once, "{}", ran.stderr);
    assert!(
        ran.stderr.contains("skipped ./a.record.json: it is what an earlier run wrote here"),
        "{}",
        ran.stderr
    );
}

#[test]
fn a_second_run_may_leave_out_what_is_there() {
    let dir = Dir::new("files_skip");
    dir.write("logs/a.jsonl", log(1)).write("logs/b.jsonl", log(2)).write("out/a.record.json", "mine");
    let ran = dir.run("convert logs --to record -o out/ --skip-existing");
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(ran.stderr.contains("skipped logs/a.jsonl: its output is there already"), "{}", ran.stderr);
    assert_eq!(dir.read("out/a.record.json"), b"mine");
    assert_eq!(dir.files(), ["logs/a.jsonl", "logs/b.jsonl", "out/a.record.json", "out/b.record.json"]);
    // A run without remaining work succeeds.
    assert_eq!(dir.run("convert logs --to record -o out/ --skip-existing").code, Some(0));
}

#[test]
fn one_folder_that_cannot_be_read_does_not_stop_the_rest() {
    let dir = Dir::new("files_closed");
    dir.write("logs/a.jsonl", log(1)).write("logs/closed/b.jsonl", log(1)).write("logs/z.jsonl", log(1));
    set_mode(&dir, "logs/closed", 0o000);
    // A user with root permissions can read the closed folder.
    let is_kept_out = fs::read_dir(dir.path().join("logs/closed")).is_err();
    let ran = dir.run("convert logs --to record -o out/");
    set_mode(&dir, "logs/closed", 0o755);
    assert!(dir.files().contains(&"out/z.record.json".to_owned()));
    if is_kept_out {
        assert_eq!(ran.code, Some(1), "{}", ran.stderr);
        assert!(ran.stderr.contains("logs/closed"), "{}", ran.stderr);
    }
}

/// A file that only looks like an output of an earlier run is not replaced.
#[test]
fn a_file_of_someone_else_is_not_taken_for_an_output() {
    let dir = Dir::new("files_others");
    dir.write("a.jsonl", log(1)).write("b.jsonl", log(2));
    let other = dir.run("convert b.jsonl --to record -q").stdout;
    dir.write("a.record.json", &other);
    let ran = dir.run("convert . --to record -o .");
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert!(
        ran.stderr.contains(
            "cannot write `./a.record.json`: it is there, and not what an earlier run made of this input"
        ),
        "{}",
        ran.stderr
    );
    assert!(dir.read("a.record.json") == other);
    assert_eq!(dir.files(), ["a.jsonl", "a.record.json", "b.jsonl", "b.record.json"]);
}

/// stdin and stdout may be files, which get the same protection.
#[cfg(target_os = "linux")]
#[test]
fn what_the_shell_opened_is_not_written_over_either() {
    let dir = Dir::new("files_shell");
    let source = log(1);
    let shell = |script: &str| {
        dir.write("in.jsonl", &source).write("own.toml", "");
        let script = script.replace("INTERLINGUA", &format!("'{}'", env!("CARGO_BIN_EXE_interlingua")));
        let ran = Command::new("sh").args(["-c", &script]).current_dir(dir.path()).output();
        let ran = ran.expect("a shell runs");
        assert_eq!(ran.status.code(), Some(2), "{script}: {}", String::from_utf8_lossy(&ran.stderr));
        assert!(dir.read("in.jsonl") == source.as_bytes() && dir.read("own.toml").is_empty(), "{script}");
    };
    shell("INTERLINGUA convert --to record --report in.jsonl < in.jsonl");
    shell("INTERLINGUA convert - --to record -o ./in.jsonl < in.jsonl");
    shell("INTERLINGUA show - --html -o in.jsonl < in.jsonl");
    shell("INTERLINGUA convert in.jsonl --to universal >> in.jsonl");
    shell("INTERLINGUA convert in.jsonl --to record --report out > out");
    shell("INTERLINGUA convert in.jsonl --to record --backends own.toml -o own.toml");
    shell("INTERLINGUA convert in.jsonl --to record -o out --report - >> in.jsonl");
    shell("INTERLINGUA convert in.jsonl --to record -o folder/ --report - >> in.jsonl");
}

/// A pipe can be read only once.
#[cfg(target_os = "linux")]
#[test]
fn a_pipe_is_read_from_its_beginning() {
    let dir = Dir::new("files_pipe");
    dir.write("in.jsonl", log(2));
    let wanted = dir.run("convert in.jsonl --to universal -q").stdout;
    let script = "mkfifo pipe; cat in.jsonl > pipe & \"$0\" convert pipe --to universal -q; \
                  cat in.jsonl | \"$0\" convert /dev/stdin --to universal -q";
    let mut shell = Command::new("sh");
    shell.args(["-c", script, env!("CARGO_BIN_EXE_interlingua")]).current_dir(dir.path());
    let ran = shell.output().expect("a shell runs");
    assert!(ran.stdout == [&wanted[..], &wanted].concat(), "{}", String::from_utf8_lossy(&ran.stderr));
    // In a directory the pipe is reported as skipped, and the command does not block on it.
    let ran = dir.run("convert . --to record -o out/");
    assert!(ran.stderr.contains("skipped ./pipe: neither a file nor a directory"), "{}", ran.stderr);
}

/// A report holds pieces of its inputs, and a closed folder protects the files in it.
#[test]
fn what_nobody_could_read_stays_so() {
    let dir = Dir::new("files_private");
    dir.write("closed/open.jsonl", log(1)).write("secret.jsonl", log(1));
    set_mode(&dir, "closed/open.jsonl", 0o644);
    set_mode(&dir, "closed", 0o700);
    set_mode(&dir, "secret.jsonl", 0o600);
    dir.run("convert closed --to record -o out/ -q --report report.json").expect(0, "");
    assert_eq!(mode(&dir, "out/open.record.json") & 0o077, 0, "its folder was closed to others");
    assert_eq!(mode(&dir, "report.json"), 0o600);
    dir.run("convert closed/open.jsonl --to record -o closed/x.json -q").expect(0, "");
    assert_eq!(mode(&dir, "closed/x.json"), 0o644, "in the same folder nothing changes");
}

#[test]
fn one_output_that_is_there_may_be_left_alone() {
    let dir = Dir::new("files_skip_one");
    dir.write("a.jsonl", log(1)).write("x.json", "mine");
    dir.run("convert a.jsonl --to record -o x.json --skip-existing")
        .expect(0, "skipped a.jsonl: its output is there already\n");
    assert_eq!(dir.read("x.json"), b"mine");
}

/// Patterns do not follow symbolic links.
#[test]
fn a_pattern_follows_no_links() {
    let dir = Dir::new("files_pattern");
    dir.write("logs/a.jsonl", log(1)).write("logs/deep/b.jsonl", log(1));
    for link in ["one", "two", "three"] {
        std::os::unix::fs::symlink(".", dir.path().join("logs").join(link)).expect("a link can be made");
    }
    for pattern in ["logs/**/*.jsonl", "./logs/**", "logs/*.jsonl logs/*/*.jsonl"] {
        let ran = dir.run(&format!("check {pattern} --json"));
        let found =
            ran.stdout().matches("\"input\":\"logs/").count() - ran.stdout().matches("links are not").count();
        assert_eq!(found, 2, "{pattern}: {}", ran.stdout());
    }
}

/// A file opened by the shell has no name for the command, so output is appended to it.
#[cfg(target_os = "linux")]
#[test]
fn a_file_that_is_open_already_is_written_as_it_is() {
    let dir = Dir::new("files_open");
    dir.write("a.jsonl", log(1)).write("all", "first\n");
    let wanted = dir.run("convert a.jsonl --to record -q").stdout;
    let shell = |script: &str| {
        let binary = env!("CARGO_BIN_EXE_interlingua");
        let script = script.replace("CONVERT", &format!("'{binary}' convert a.jsonl --to record -q"));
        let ran = Command::new("sh").args(["-c", &script]).current_dir(dir.path()).output();
        let ran = ran.expect("a shell runs");
        assert!(ran.status.success(), "{script}: {}", String::from_utf8_lossy(&ran.stderr));
    };
    shell("CONVERT -o /dev/stdout >> all; CONVERT -o /dev/fd/3 3>> all; CONVERT -o /proc/self/fd/1 >> all");
    assert!(dir.read("all") == [&b"first\n"[..], &wanted, &wanted, &wanted].concat());
    shell("CONVERT -o /dev/stdout | cat > piped; CONVERT -o b.json --report /dev/fd/3 3>&1 | cat > report");
    assert!(dir.read("piped") == wanted && dir.read("report").starts_with(b"{\"version\":1"));
    shell("mkfifo pipe; cat pipe > read & CONVERT -o pipe; wait");
    assert!(dir.read("read") == wanted);
}

fn start(dir: &Dir, args: &[&str], stdin: Stdio) -> Child {
    let stoppable = stoppable();
    let mut command = Command::new(&stoppable[0]);
    command
        .args(&stoppable[1..])
        .args(args)
        .current_dir(dir.path())
        .stdin(stdin)
        .stderr(Stdio::piped())
        .stdout(Stdio::null());
    command.spawn().expect("the command runs")
}

fn signal(child: &Child, name: &str) {
    let id = child.id().to_string();
    assert!(Command::new("kill").args(["-s", name, &id]).status().expect("kill runs").success());
}

#[test]
fn whoever_stops_it_finds_nothing_half_written() {
    for (name, code) in [("INT", 130), ("TERM", 143), ("HUP", 129), ("QUIT", 131), ("XCPU", 152)] {
        let dir = Dir::new(&format!("files_stop_{name}"));
        // Endless input.
        let args = ["convert", "-", "--from", "claude-code", "--to", "record", "-o", "out.json"];
        let mut child = start(&dir, &args, Stdio::piped());
        let mut stdin = child.stdin.take().expect("a pipe");
        std::io::Write::write_all(&mut stdin, log(20_000).as_bytes()).expect("it reads");
        wait_until(|| !dir.files().is_empty());
        signal(&child, name);
        let ended = child.wait_with_output().expect("it ends");
        drop(stdin);
        assert_eq!(ended.status.code(), Some(code), "{name}");
        let said = String::from_utf8_lossy(&ended.stderr);
        assert!(said.contains("stopped: nothing was written, and nothing half-written is left"), "{said}");
        assert_eq!(dir.files(), Vec::<String>::new(), "{name}");
    }
}

#[test]
fn a_stopped_run_over_many_files_says_how_far_it_came_and_can_go_on() {
    let dir = Dir::new("files_stop_many");
    let text = log(3_000);
    for number in 0..120 {
        dir.write(&format!("logs/{number:03}.jsonl"), &text);
    }
    let done = || fs::read_dir(dir.path().join("out")).is_ok_and(|files| files.count() > 3);
    let args = ["convert", "logs", "--to", "record", "-o", "out", "--jobs", "2"];
    let child = start(&dir, &args, Stdio::null());
    wait_until(done);
    signal(&child, "INT");
    let ended = child.wait_with_output().expect("it ends");
    assert_eq!(ended.status.code(), Some(130));
    let outputs: Vec<String> = dir.files().into_iter().filter(|file| file.starts_with("out/")).collect();
    assert!(outputs.iter().all(|file| file.ends_with(".record.json")), "{outputs:?}");
    let said = String::from_utf8_lossy(&ended.stderr);
    let told = format!("stopped: {} of 120 files are complete", outputs.len());
    assert!(said.contains(&told), "{told}: {said}");
    // The next run converts the remaining files.
    dir.run("convert logs --to record -o out --skip-existing -q").expect(0, "");
    assert_eq!(dir.files().iter().filter(|file| file.starts_with("out/")).count(), 120);
}

#[test]
fn what_the_command_was_told_not_to_hear_does_not_stop_it() {
    let dir = Dir::new("files_nohup");
    let mut command = Command::new("nohup");
    command.args([env!("CARGO_BIN_EXE_interlingua"), "convert", "-", "--to", "record", "-o", "out.json"]);
    command.current_dir(dir.path()).stdin(Stdio::piped()).stderr(Stdio::piped()).stdout(Stdio::null());
    let mut child = command.spawn().expect("nohup runs");
    let mut stdin = child.stdin.take().expect("a pipe");
    std::io::Write::write_all(&mut stdin, log(20_000).as_bytes()).expect("it reads");
    wait_until(|| !dir.files().is_empty());
    signal(&child, "HUP");
    // The command keeps reading, because the signal is ignored.
    std::io::Write::write_all(&mut stdin, log(20_000).as_bytes()).expect("it still reads");
    drop(stdin);
    let ended = child.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(0), "{said}");
    assert!(!said.contains("stopped"), "{said}");
    assert_eq!(dir.files(), ["out.json"]);
    dir.run("convert out.json --to claude-code -q -o back.jsonl").expect(0, "");
    assert_eq!(dir.read("back.jsonl"), log(20_000).repeat(2).into_bytes());
}

#[test]
fn a_link_stays_a_link_and_what_it_leads_to_is_written() {
    let dir = Dir::new("files_link");
    dir.write("in.jsonl", log(2)).write("real/old.json", "old");
    set_mode(&dir, "real/old.json", 0o640);
    let link = |to: &str, name: &str| symlink(to, dir.path().join(name)).expect("a link");
    link("real/old.json", "old");
    link("real/new.json", "new");
    link("new", "twice");
    link("circle", "circle");
    let expected = dir.run("convert in.jsonl --to record -q").stdout;
    for (name, real) in [("old", "real/old.json"), ("twice", "real/new.json")] {
        dir.run(&format!("convert in.jsonl --to record -o {name} -q")).expect(0, "");
        assert_eq!(dir.read(real), expected, "{name}");
        let kept = fs::symlink_metadata(dir.path().join(name)).expect("it is there");
        assert!(kept.file_type().is_symlink(), "{name}");
    }
    assert_eq!(mode(&dir, "real/old.json"), 0o640);
    assert_eq!(dir.files(), ["circle", "in.jsonl", "new", "old", "real/new.json", "real/old.json", "twice"]);
    let circle = dir.run("convert in.jsonl --to record -o circle");
    assert_eq!(circle.code, Some(1), "{}", circle.stderr);
    assert!(circle.stderr.contains("its links lead in a circle"), "{}", circle.stderr);
    // Two paths to the same missing file are the same place.
    fs::remove_file(dir.path().join("real/new.json")).expect("it is ours");
    let both = dir.run("convert in.jsonl --to record -o new --report real/new.json");
    assert_eq!(both.code, Some(2), "{}", both.stderr);
    assert!(both.stderr.contains("is the output, too"), "{}", both.stderr);
}

#[test]
fn each_session_of_an_input_becomes_a_record_in_a_file_of_its_own() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../interlingua/fixtures");
    let folder = fixtures.join("agents/opencode");
    for name in ["2026-11/two-exports.json", "2026-02/storage.jsonl"] {
        let source = fs::read(folder.join(name)).expect("a fixture can be read");
        let dir = Dir::new("several_records");
        dir.write("log.json", &source);
        let documents = |bytes: &[u8]| {
            let values = serde_json::Deserializer::from_slice(bytes).into_iter::<serde_json::Value>();
            values.inspect(|value| assert!(value.is_ok(), "{value:?}")).count()
        };
        let ran = dir.run("convert log.json --to record -o out.json");
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        let ran = dir.run("convert log.json --to record -o all/");
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        let piped = dir.run("convert log.json --to record").stdout().as_bytes().to_owned();
        let count = documents(&piped);
        assert!(count > 1, "{name} has several sessions");
        let mut together = Vec::new();
        for number in 1..=count {
            let end = if number == 1 { String::new() } else { format!("-{number}") };
            let record = dir.read(&format!("out{end}.json"));
            assert_eq!(documents(&record), 1, "{name}: record {number}");
            assert_eq!(dir.read(&format!("all/log{end}.record.json")), record, "{name}: record {number}");
            assert_eq!(dir.run(&format!("check out{end}.json")).code, Some(0), "{name}: record {number}");
            together.extend(record);
        }
        assert!(!dir.path().join(format!("out-{}.json", count + 1)).exists());
        assert_eq!(together, piped, "{name}");
        // The concatenated records restore the log.
        dir.write("together.json", &together);
        let ran = dir.run("convert together.json --to opencode -o back.json");
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        assert_eq!(dir.read("back.json"), source, "{name}");
        // A second run writes the same content; a file of the user is not replaced.
        assert_eq!(dir.run("convert log.json --to record -o out.json").code, Some(0), "{name}");
        dir.write("out-2.json", b"mine");
        let ran = dir.run("convert log.json --to record -o out.json");
        assert_ne!(ran.code, Some(0), "{}", ran.stderr);
        assert_eq!(dir.read("out-2.json"), b"mine");
    }
}

/// A program reads one session from a log, so an input of two sessions becomes two logs, each sound and of its own session.
#[test]
fn each_session_of_an_input_becomes_a_log_of_its_own() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../interlingua/fixtures");
    let source = fs::read(fixtures.join("agents/opencode/2026-11/two-exports.json")).expect("a fixture");
    let targets = [
        "claude-code",
        "codex",
        "pi",
        "amp",
        "copilot-cli",
        "cursor",
        "gemini-cli",
        "qwen-code",
        "kimi-cli",
        "kimi-code",
        "droid",
        "goose",
        "cline",
        "atif",
    ];
    for to in targets {
        let dir = Dir::new(&format!("apart_{to}"));
        dir.write("two.json", &source);
        let ran = dir.run(&format!("convert two.json --to {to} -o out.json"));
        assert_eq!(ran.code, Some(0), "{to}: {}", ran.stderr);
        for (name, own, other) in
            [("out.json", "Question 0", "Question 1"), ("out-2.json", "Question 1", "Question 0")]
        {
            let written = String::from_utf8(dir.read(name)).expect("text");
            assert!(written.contains(own) && !written.contains(other), "{to}: {name}: {written}");
            let lines = written.trim_end().lines();
            let documents: Vec<serde_json::Value> = serde_json::Deserializer::from_str(&written)
                .into_iter()
                .map(|one| one.expect("JSON"))
                .collect();
            assert_eq!(documents.len(), lines.count(), "{to}: {name}");
            if to != "atif" {
                let ran = dir.run(&format!("check {name}"));
                assert_eq!(ran.code, Some(0), "{to}: {} {}", ran.stdout(), ran.stderr);
                assert!(ran.stdout().contains(&format!("{to} (log)")), "{to}: {}", ran.stdout());
            }
        }
        assert!(!dir.path().join("out-3.json").exists(), "{to}");
        let ran = dir.run(&format!("convert two.json --to {to}"));
        assert!(ran.stderr.contains("several sessions follow one another on stdout"), "{to}: {}", ran.stderr);
    }
}

/// The shell opens the file behind stdout; its extension decides whether a single document is expected.
#[cfg(target_os = "linux")]
#[test]
fn records_are_not_glued_together_behind_a_name_that_means_one_document() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../interlingua/fixtures");
    let folder = fixtures.join("agents/opencode");
    let dir = Dir::new("records_on_stdout");
    dir.write("two.json", fs::read(folder.join("2026-11/two-exports.json")).expect("a fixture can be read"));
    dir.write("one.json", fs::read(folder.join("2026-11/export.json")).expect("a fixture can be read"));
    let run = |args: &[&str], stdin: Option<&str>, stdout: &str| {
        let file = fs::File::create(dir.path().join(stdout)).expect("a file");
        let stdin = stdin.map_or_else(Stdio::null, |name| {
            Stdio::from(fs::File::open(dir.path().join(name)).expect("a file"))
        });
        let mut command = Command::new(env!("CARGO_BIN_EXE_interlingua"));
        let command = command.args(args).current_dir(dir.path()).stdin(stdin).stdout(file);
        let ran = command.output().expect("the command runs");
        (ran.status.code(), String::from_utf8(ran.stderr).expect("text"), dir.read(stdout))
    };
    for profile in ["v3", "v2"] {
        let convert = |input| ["convert", input, "--to", "record", "--profile", profile];
        for (input, stdin) in [("two.json", None), ("-", Some("two.json"))] {
            let (code, said, written) = run(&convert(input), stdin, "out.json");
            assert_eq!((code, written.len()), (Some(2), 0), "{said}");
            assert!(said.contains("holds several sessions, and a JSON document holds one"), "{said}");
            let (code, said, written) = run(&convert(input), stdin, "out.records");
            assert_eq!(code, Some(0), "{said}");
            assert!(said.contains("several sessions follow one another on stdout"), "{said}");
            assert!(!written.is_empty());
        }
        let (code, said, written) = run(&convert("one.json"), None, "out.json");
        assert_eq!(code, Some(0), "{said}");
        assert_eq!(written, dir.run(&convert("one.json").join(" ")).stdout().as_bytes());
        assert!(serde_json::from_slice::<serde_json::Value>(&written).is_ok(), "one document");
    }
}
