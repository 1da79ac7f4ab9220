//! Malicious input: names and texts that control a terminal, compression bombs, system limits.

#![cfg(unix)]

use crate::support;
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::process::{Command, Output};

use crate::support::Dir;

/// Characters that control a terminal or are invisible.
fn is_hostile(c: char) -> bool {
    c.is_control() && c != '\n' && c != '\t'
        || matches!(c, '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

/// One of each hostile character.
const HOSTILE: &str = "\u{1}\u{7}\u{8}\u{b}\r\u{1b}[2J\u{1b}[31m\u{1b}]0;t\u{7}\u{7f}\u{85}\u{9b}2J\u{ad}\u{34f}\u{61c}\u{200b}\u{200c}\u{200d}\u{200e}\u{202e}\u{2066}\u{2028}\u{2029}\u{2060}\u{feff}\u{fff9}\u{e0041}";

/// Different names that look alike on a terminal that prints them raw.
fn odd_names() -> Vec<OsString> {
    let mut names: Vec<OsString> = HOSTILE
        .chars()
        .map(|c| OsString::from(format!("n{c}n.jsonl")))
        .collect::<BTreeSet<_>>()
        .into_iter()
        .collect();
    for bytes in [
        &b"n\xffn.jsonl"[..],
        b"n\xfen.jsonl",
        b"n<0xFF>n.jsonl",
        b"n\x1b[31mn.jsonl",
        b"n\x1b[32mn.jsonl",
        b"nn.jsonl",
        b"n\nn.jsonl",
        b"n\tn.jsonl",
        b"n n.jsonl",
        b"n\xc2\xa0n.jsonl",
        b"n<U+202E>n.jsonl",
        "n␛[31mn.jsonl".as_bytes(),
        "n␊n.jsonl".as_bytes(),
        b"n\xef\xbf\xbdn.jsonl",
        "né.jsonl".as_bytes(),
        "ne\u{301}.jsonl".as_bytes(),
        b"n\nerror: fake.jsonl",
        b"<U+003C>U+202E>.jsonl",
    ] {
        names.push(OsStr::from_bytes(bytes).to_owned());
    }
    names
}

fn run(dir: &Dir, args: &[&OsStr], colours: bool) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_interlingua"));
    command.args(args).current_dir(dir.path());
    if colours {
        command.env("CLICOLOR_FORCE", "1").env("TERM", "xterm");
    }
    command.output().expect("the command starts")
}

/// Fails if the printed bytes can control a terminal.
#[track_caller]
fn harmless(what: &str, printed: &[u8]) {
    let text = std::str::from_utf8(printed).expect("text");
    // Remove our own colour sequences.
    let mut rest = text.to_owned();
    for code in ["0", "1", "2", "3", "31", "32", "33", "34", "35", "36"] {
        rest = rest.replace(&format!("\u{1b}[{code}m"), "");
    }
    if let Some(found) = rest.chars().find(|c| is_hostile(*c)) {
        panic!("{what}: {found:?} in {text:?}");
    }
}

const LOG: &str = r#"{"type":"user","uuid":"a","parentUuid":null,"sessionId":"s","cwd":"/w","message":{"role":"user","content":"hi"}}
"#;

#[test]
fn no_name_steers_a_terminal_and_no_two_look_the_same() {
    let dir = Dir::new("hostile_names");
    let names = odd_names();
    for (folder, content) in
        [("logs", LOG), ("empty", ""), ("other", "hello"), ("damaged", "{\"type\":\"user\"\n")]
    {
        fs::create_dir_all(dir.path().join(folder)).expect("a directory can be made");
        for name in &names {
            fs::write(dir.path().join(folder).join(name), content).expect("a file can be written");
        }
    }
    let words = |text: &'static str| -> Vec<&'static OsStr> { text.split(' ').map(OsStr::new).collect() };
    for colours in [false, true] {
        for (args, shown_per_name) in [
            ("check -v logs", 1),
            ("check empty -v", 1),
            ("check -v other", 1),
            ("check -v damaged", 1),
            ("stats -v logs", 1),
            ("stats -v empty", 1),
            ("convert -v logs --to record -o out", 1),
            ("convert -v logs --to record -o out --skip-existing", 1),
            ("convert logs empty other --to record -o out2", 0),
            ("convert -v damaged --to record -o out3 --from claude-code", 1),
        ] {
            let _ = fs::remove_dir_all(dir.path().join("out3"));
            let ran = run(&dir, &words(args), colours);
            harmless(args, &ran.stdout);
            harmless(args, &ran.stderr);
            let all = [ran.stdout, ran.stderr].concat();
            let text = String::from_utf8_lossy(&all);
            let folder = args.split(' ').find(|word| ["logs", "empty", "other", "damaged"].contains(word));
            let folder = format!("{}/", folder.expect("a folder"));
            // Each name has a line, and all lines differ.
            let lines: BTreeSet<&str> = text.lines().filter(|line| line.contains(&folder)).collect();
            assert!(lines.len() >= shown_per_name * names.len(), "{args}: {} lines\n{text}", lines.len());
        }
        for (args, list) in [
            ("check --json logs", "files"),
            ("convert -q logs --to record -o out4 --report -", "files"),
            ("stats --json logs", "files"),
        ] {
            let ran = run(&dir, &words(args), colours);
            harmless(args, &ran.stdout);
            let report: serde_json::Value = serde_json::from_slice(&ran.stdout).expect("JSON");
            let files = report[list].as_array().expect("a list");
            let inputs: BTreeSet<String> = files
                .iter()
                .map(|file| file.get("input").or(file.get("name")).expect("a name").to_string())
                .collect();
            assert_eq!(inputs.len(), names.len(), "{args}");
        }
        for name in &names {
            let path = Path::new("logs").join(name);
            let missing = Path::new("nowhere").join(name);
            for args in [
                vec![OsStr::new("check"), path.as_os_str()],
                vec![OsStr::new("show"), path.as_os_str()],
                vec![OsStr::new("show"), missing.as_os_str()],
                vec![
                    OsStr::new("convert"),
                    path.as_os_str(),
                    OsStr::new("--to"),
                    OsStr::new("record"),
                    OsStr::new("-o"),
                    missing.as_os_str(),
                ],
                vec![
                    OsStr::new("convert"),
                    path.as_os_str(),
                    OsStr::new("--to"),
                    OsStr::new("record"),
                    OsStr::new("-o"),
                    path.as_os_str(),
                ],
                vec![OsStr::new("convert"), OsStr::new("--to"), name.as_os_str()],
                vec![OsStr::new("stats"), path.as_os_str(), OsStr::new("--prices"), missing.as_os_str()],
                vec![OsStr::new("translate"), missing.as_os_str()],
                vec![OsStr::new("receipt"), OsStr::new("verify"), path.as_os_str()],
                vec![name.as_os_str()],
            ] {
                let ran = run(&dir, &args, colours);
                harmless(&format!("{args:?}"), &ran.stdout);
                harmless(&format!("{args:?}"), &ran.stderr);
            }
        }
    }
}

#[test]
fn no_text_of_a_log_steers_a_terminal() {
    let dir = Dir::new("hostile_texts");
    let text = HOSTILE.replace('\u{1b}', "\\u001b");
    let escaped: String = HOSTILE
        .chars()
        .map(|c| if c.is_control() { format!("\\u{:04x}", c as u32) } else { c.to_string() })
        .collect();
    assert!(!text.is_empty());
    let log = format!(
        r#"{{"type":"summary","summary":"T{escaped}","leafUuid":"a"}}
{{"type":"user","uuid":"a","parentUuid":null,"sessionId":"s{escaped}","cwd":"/w{escaped}","gitBranch":"b{escaped}","version":"1{escaped}","odd{escaped}":1,"message":{{"role":"user","content":"hi {escaped}"}}}}
{{"type":"assistant","uuid":"b","parentUuid":"a","sessionId":"s","message":{{"role":"assistant","id":"m","model":"m{escaped}","content":[{{"type":"tool_use","id":"t","name":"N{escaped}","input":{{"file_path":"/f{escaped}","k{escaped}":"v{escaped}"}}}},{{"type":"tool_use","id":"t2","name":"Edit","input":{{"file_path":"/f{escaped}","old_string":"o{escaped}","new_string":"n{escaped}"}}}}],"stop_reason":"x{escaped}","usage":{{"input_tokens":1,"output_tokens":1}}}}}}
{{"type":"user","uuid":"c","parentUuid":"b","sessionId":"s","message":{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"t","is_error":true,"content":"r {escaped}"}}]}}}}
{{"type":"kind{escaped}","uuid":"d","sessionId":"s"}}
{{"torn {HOSTILE}": nonsense
"#
    );
    dir.write("x.jsonl", &log);
    for colours in [false, true] {
        for args in [
            "check x.jsonl",
            "stats -v x.jsonl",
            "show x.jsonl",
            "show --full x.jsonl",
            "show --markdown x.jsonl",
            "show --html x.jsonl",
            "convert -v x.jsonl --to record -o x.json",
            "convert -v x.jsonl --to codex -o x.codex.jsonl",
            "convert -v x.jsonl --to gemini-cli -o x.gemini.jsonl",
            "convert -v x.jsonl --to anthropic -o x.anthropic.json",
            "show --full x.json",
        ] {
            let ran = run(&dir, &args.split(' ').map(OsStr::new).collect::<Vec<_>>(), colours);
            harmless(args, &ran.stdout);
            harmless(args, &ran.stderr);
        }
    }
}

fn gzip_of_spaces(mebibytes: usize) -> Vec<u8> {
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    packer.write_all(LOG.as_bytes()).expect("memory takes everything");
    let spaces = vec![b' '; 1 << 20];
    for _ in 0..mebibytes {
        packer.write_all(&spaces).expect("memory takes everything");
    }
    packer.write_all(b"\n").expect("memory takes everything");
    packer.finish().expect("memory takes everything")
}

#[test]
fn packed_input_unpacks_to_no_more_than_its_limit() {
    let dir = Dir::new("hostile_bomb");
    dir.write("x.jsonl.gz", gzip_of_spaces(8));
    for args in [
        "check x.jsonl.gz --max-unpacked 4MiB",
        "convert -q x.jsonl.gz --to record --max-unpacked 4MiB -o x.json",
        "show x.jsonl.gz --max-unpacked 4MiB",
        "stats x.jsonl.gz --max-unpacked 4MiB",
        "convert -q x.jsonl.gz --to record --max-unpacked 4MiB -o out/",
    ] {
        let ran = dir.run(args);
        assert_eq!(ran.code, Some(1), "{args}: {}", ran.stderr);
        assert!(ran.stderr.contains("unpacks to more than 4,194,304 bytes"), "{}", ran.stderr);
        assert!(
            ran.stderr.contains("hint: if it is not meant to harm, raise the limit with `--max-unpacked`")
        );
    }
    assert_eq!(dir.files(), ["x.jsonl.gz"]);
    dir.run("convert -q x.jsonl.gz --to record --max-unpacked 16MiB -o x.json").expect(0, "");
}

#[test]
fn the_limit_of_packed_input_holds_unless_another_is_set() {
    let dir = Dir::new("hostile_big_bomb");
    dir.write("x.jsonl.gz", gzip_of_spaces(1025));
    let ran = dir.run("check x.jsonl.gz");
    assert_eq!(ran.code, Some(1));
    assert!(ran.stderr.contains("unpacks to more than 1,073,741,824 bytes"), "{}", ran.stderr);
}

#[test]
fn a_record_of_many_sessions_comes_apart_with_few_open_files() {
    const FORKS: usize = 400;
    let dir = Dir::new("hostile_many_sessions");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../interlingua/fixtures/openai/codex/2026-11");
    let read = |name| fs::read_to_string(folder.join(name)).expect("a fixture can be read");
    dir.write("in/main.jsonl", read("resumed.jsonl"));
    let fork = read("forked.jsonl");
    let value: serde_json::Value = serde_json::from_str(fork.lines().next().expect("a line")).expect("JSON");
    let id = value["payload"]["id"].as_str().expect("an id");
    let name = |number: usize| format!("{}{number:05x}", &id[..id.len() - 5]);
    for number in 0..FORKS {
        dir.write(&format!("in/fork-{number}.jsonl"), fork.replace(id, &name(number)));
    }
    dir.run("convert in --to record --join -o s.json -q").expect(0, "");
    let limited = format!(
        "ulimit -n 64; exec {} convert s.json --to codex -o back/ -q",
        env!("CARGO_BIN_EXE_interlingua")
    );
    let ran = Command::new("sh").args(["-c", &limited]).current_dir(dir.path()).output().expect("it starts");
    assert_eq!(String::from_utf8_lossy(&ran.stderr), "");
    assert_eq!(dir.read("back/s.codex.jsonl"), dir.read("in/main.jsonl"));
    for number in 0..FORKS {
        let back = dir.read(&format!("back/s/fork-{number}.codex.jsonl"));
        assert!(back == dir.read(&format!("in/fork-{number}.jsonl")), "fork {number}");
    }
}

#[test]
fn a_file_over_the_limit_of_the_shell_leaves_nothing_behind() {
    let dir = Dir::new("hostile_file_size");
    dir.write("in/x.jsonl", support::log(20_000));
    for args in [
        "convert in/x.jsonl --to record -o out.json",
        "convert in --to record -o out",
        "convert in --join --to record -o joined.json",
        "show in/x.jsonl --html -o x.html",
    ] {
        let temporary = dir.path().join("tmp");
        fs::create_dir_all(&temporary).expect("a directory can be made");
        let limited = format!("ulimit -f 100; exec {} {args}", env!("CARGO_BIN_EXE_interlingua"));
        let ran = Command::new("sh")
            .args(["-c", &limited])
            .env("TMPDIR", &temporary)
            .current_dir(dir.path())
            .output()
            .expect("it starts");
        let said = String::from_utf8_lossy(&ran.stderr);
        assert_eq!(ran.status.code(), Some(1), "{args}: {said}");
        assert!(said.contains("it would be larger than a file may be (`ulimit -f`)"), "{args}: {said}");
        assert_eq!(dir.files(), ["in/x.jsonl"], "{args}");
        assert_eq!(fs::read_dir(&temporary).expect("a directory").count(), 0, "{args}");
    }
}

#[test]
fn a_file_of_one_line_over_the_frame_limit_comes_back() {
    let dir = Dir::new("hostile_one_line");
    let line = LOG.replace("hi", &"hi \\u0000é".repeat(500));
    for log in [line.clone(), line.trim_end().to_owned(), line.clone() + &line] {
        dir.write("x.jsonl", &log);
        for from in ["", " --from claude-code"] {
            let ran = dir.run(&format!("convert x.jsonl --to record --max-frame 512 -o x.json{from}"));
            assert_eq!(ran.code, Some(0), "{}", ran.stderr);
            assert!(ran.stderr.contains("too large to read (too-large)"), "{}", ran.stderr);
            let back = dir.run("convert -q x.json --to claude-code");
            assert!(back.stdout == log.as_bytes(), "{}", back.stderr);
            let strict =
                dir.run(&format!("convert x.jsonl --to record --max-frame 512 -o x.json --strict{from}"));
            assert_eq!(strict.code, Some(3), "{}", strict.stderr);
        }
    }
}

/// Two copies of the session exceed the memory limit, which is the limit of a small session and one and a half copies.
#[test]
fn a_session_is_shown_from_one_copy_in_memory() {
    let dir = Dir::new("hostile_show_memory");
    let text = "word\\n".repeat(20_000);
    let log: String = (0..240).map(|_| LOG.replace("hi", &text)).collect();
    let size = log.len() >> 10;
    dir.write("small.jsonl", LOG);
    dir.write("x.jsonl", &log);
    drop(log);
    let show = |file: &str, form: &str, limit: usize| {
        let command = env!("CARGO_BIN_EXE_interlingua");
        let limited = format!("ulimit -v {limit}; exec {command} show {file} {form} > /dev/null");
        Command::new("sh").args(["-c", &limited]).current_dir(dir.path()).output().expect("it starts")
    };
    for form in ["", "--markdown", "--html"] {
        // The limit counts the code of the command, too.
        let least =
            (0..200).map(|step| 4096 * step).find(|&limit| show("small.jsonl", form, limit).status.success());
        let limit = least.expect("a small session fits in 800 MB") + size * 3 / 2;
        let ran = show("x.jsonl", form, limit);
        assert_eq!(ran.status.code(), Some(0), "{form}: {}", String::from_utf8_lossy(&ran.stderr));
    }
}
