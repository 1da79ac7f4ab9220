//! Output paths, messages and exit codes of `convert`.

use crate::support::Dir;

const LOG: &str = r#"{"type":"user","uuid":"a","sessionId":"s","message":{"role":"user","content":"hi"},"new":{"x":[1]}}
"#;
const DETECTED: &str = "detected by lines with `uuid`, `parentUuid` or `sessionId` beside `type`";

#[test]
fn stdin_to_stdout() {
    let dir = Dir::new("stdin_to_stdout");
    let ran = dir.run_with("convert --to record", LOG.as_bytes());
    assert_eq!(
        ran.stderr,
        format!(
            "reading stdin as claude-code (log), {DETECTED}\nconverted claude-code (log) to record (log): 1 message; nothing was lost\n6 leaves: 5 mapped, 1 kept, 0 lost\n"
        )
    );
    assert_eq!(
        ran.stdout(),
        concat!(
            r#"{"version":"3.0.0","id":"s","session":{"session-id":"s","entries":[{"type":"user","id":"a","#,
            r#""origin":"own","content":"hi","vendor-ext":{"vendor":"claude-code","data":{"type":"user","uuid":"~","#,
            r#""sessionId":"s","message":{"role":"user","content":"~"},"new":{"x":[1]}}}}],"#,
            r#""agent-meta":{"model-id":"unknown","model-provider":"anthropic","cli-name":"claude-code"},"#,
            r#""vendor-ext":{"vendor":"interlingua","data":{"leaf":"a","source":{"bytes":100,"dialect":"claude-code","#,
            r#""sha-256":"56f338bc7389b485768454d55db8bfd6ee630608f92eb3c12616031cbe3ce175"}}}}}"#,
            "\n",
        )
    );
    assert_eq!(ran.code, Some(0));
}

#[test]
fn a_record_of_either_profile_gives_the_log_back() {
    let dir = Dir::new("profiles");
    dir.write("x.jsonl", LOG);
    for (profile, version) in [("v3", "3.0.0"), ("v2", "2.0.0")] {
        let ran = dir.run(&format!("convert x.jsonl --to record --profile {profile} -q"));
        assert!(ran.stdout().starts_with(&format!("{{\"version\":\"{version}\"")), "{}", ran.stdout());
        let back = dir.run_with("convert --to claude-code -q", ran.stdout().as_bytes());
        assert_eq!((back.stdout(), back.code), (LOG, Some(0)));
        let checked = dir.run_with("check -", ran.stdout().as_bytes());
        assert_eq!(checked.code, Some(0), "{}", checked.stderr);
    }
}

#[test]
fn verbose_names_what_was_kept_and_quiet_says_nothing() {
    let dir = Dir::new("verbose_and_quiet");
    dir.write("x.jsonl", LOG);
    dir.run("convert x.jsonl --to record -o x.json -v").expect(
        0,
        &format!(
            "reading x.jsonl as claude-code (log), {DETECTED}\nconverted claude-code (log) to record (log): 1 message; nothing was lost\n6 leaves: 5 mapped, 1 kept, 0 lost\n\
             kept of bookkeeping, and what has no word here: 1 leaf\n  1  /new/x[]  first in line 1\n"
        ),
    );
    dir.run("convert x.jsonl --to record -o x.json -q").expect(0, "");
}

#[test]
fn losses_are_listed_and_fail_only_when_strict() {
    let dir = Dir::new("losses");
    // A record of another agent: Claude Code's log has no place for that agent's kept lines.
    dir.write(
        "x.json",
        r#"{"version":"3.0.0","id":"r","session":{"session-id":"s","agent-meta":{"model-id":"m","model-provider":"p"},
        "entries":[{"type":"user","content":"hi","vendor-ext":{"vendor":"other","data":{"mood":"fine","n":[1,2]}}}]}}"#,
    );
    let said = "reading x.json as record (log), detected by `version` and `session` in one document
converted record (log) to claude-code (log): 1 message; nothing of the conversation was lost, as far as it was understood
13 leaves: 6 mapped, 0 kept, 7 lost
lost of settings, session and usage: 3 leaves
  1  session/id        the target has no field for it
  1  session/model     the target has no field for it
  1  session/provider  the target has no field for it
lost of bookkeeping, and what has no word here: 4 leaves
  2  /n[]   the target has no field for it, first in entries[0]
  1  /id    the target has no field for it, first in what stands before `entries`
  1  /mood  the target has no field for it, first in entries[0]
notes:
  made up the time of a line
  made up the session id
";
    dir.run("convert x.json --to claude-code -o x.jsonl").expect(0, said);
    dir.run("convert x.json --to claude-code -o x.jsonl --strict")
        .expect(3, &format!("{said}error: `--strict`: 7 values not carried over\n"));
}

#[test]
fn the_same_dialect_passes_untouched() {
    let dir = Dir::new("same_dialect");
    let ran = dir.run_with("convert --to claude-code", LOG.as_bytes());
    assert_eq!(
        ran.stderr,
        format!(
            "reading stdin as claude-code (log), {DETECTED}\ncopied unchanged: it is claude-code (log) already\n"
        )
    );
    assert_eq!(ran.stdout(), LOG);
}

#[test]
fn a_directory_keeps_its_shape_and_no_input_is_overwritten() {
    let dir = Dir::new("directory");
    dir.write("in/a.jsonl", LOG)
        .write("in/a.json", LOG)
        .write("in/deep/er/b.jsonl", LOG)
        .write("in/notes.txt", "hello\n")
        .write("in/empty", "");
    dir.run("convert in --to record")
        .expect(1, "error: `in` is a directory\nhint: convert it with `-o DIR`, or name the files in it\n");
    let said = "3 files of claude-code (log) became record (log): 3 messages; nothing was lost
skipped in/empty: it is empty
skipped in/notes.txt: no dialect recognises it
converted 3 files, skipped 2; 18 leaves: 15 mapped, 3 kept, 0 lost
";
    dir.run("convert in --to record -o out").expect(0, said);
    let outputs: Vec<String> = dir.files().into_iter().filter(|file| file.starts_with("out")).collect();
    assert_eq!(outputs, ["out/a.jsonl.record.json", "out/a.record.json", "out/deep/er/b.record.json"]);

    // Into the input directory, where `a.record.json` is an output of an earlier run.
    dir.write("in/a.record.json", dir.read("out/a.record.json"));
    dir.run("convert in --to record -o in -q").expect(0, "");
    assert_eq!(dir.read("in/a.record.json"), dir.read("out/a.record.json"));
    assert_eq!(
        dir.files().into_iter().filter(|file| file.starts_with("in/a")).collect::<Vec<_>>(),
        ["in/a.json", "in/a.jsonl", "in/a.jsonl.record.json", "in/a.record.json"]
    );
}

#[test]
fn a_directory_in_which_nothing_is_recognised() {
    let dir = Dir::new("nothing_recognised");
    dir.write("in/notes.txt", "hello\n").write("in/more.txt", "hello\n");
    dir.run("convert in --to record -o out").expect(
        1,
        "skipped in/more.txt: no dialect recognises it
skipped in/notes.txt: no dialect recognises it
converted 0 files, skipped 2; 0 leaves: 0 mapped, 0 kept, 0 lost
error: no dialect recognises any of the 2 files
hint: name the dialect with `--from` to read them all as that
",
    );
}

#[test]
fn of_several_inputs_the_good_ones_are_converted() {
    let dir = Dir::new("several_inputs");
    dir.write("a.jsonl", LOG);
    dir.run("convert a.jsonl b.jsonl --to record").expect(
        2,
        "error: several inputs need a directory to write to\nhint: name one with `-o DIR`; it is made if need be\n",
    );
    dir.run("convert a.jsonl b.jsonl --to record -o out").expect(
        1,
        "1 file of claude-code (log) became record (log): 1 message; nothing was lost
converted 1 file, failed 1; 6 leaves: 5 mapped, 1 kept, 0 lost
error: cannot read `b.jsonl`: no such file
hint: is the path right? `-` reads stdin
",
    );
    assert_eq!(dir.files(), ["a.jsonl", "out/a.record.json"]);
}

#[test]
fn the_output_may_not_be_the_input() {
    let dir = Dir::new("over_input");
    dir.write("a.jsonl", LOG);
    dir.run("convert a.jsonl --to record -o ./a.jsonl").expect(
        2,
        "error: `./a.jsonl` is the input itself\nhint: write to another file, or to a directory with `-o DIR`\n",
    );
    assert_eq!(dir.read("a.jsonl"), LOG.as_bytes());
}

#[test]
fn the_report_adds_up_and_names_every_path() {
    let dir = Dir::new("report");
    dir.write("x.jsonl", format!("{LOG}{}", &LOG[..20]));
    let ran = dir.run("convert x.jsonl --to record -o x.json --report - -q");
    assert_eq!(
        ran.stdout(),
        concat!(
            r#"{"version":1,"command":"convert","files":[{"input":"x.jsonl","output":"x.json","from":{"dialect":"claude-code","role":"log","detected":true},"#,
            r#""to":{"dialect":"record","role":"log"},"copied":false,"content":{"messages":1,"reasoning":0,"calls":0,"results":0,"failures":0},"frames":2,"frames_read":1,"leaves":7,"mapped":5,"#,
            r#""kept":2,"lost":0,"errors":1,"damaged":1,"verbatim":0,"adds_up":true,"lost_paths":[],"#,
            r#""kept_paths":[{"path":"(unparsed)","count":1,"bytes":20,"first_frame":2,"place":"line 2"},"#,
            r#"{"path":"/new/x[]","count":1,"bytes":1,"first_frame":1,"place":"line 1"}],"notes":[],"#,
            r#""problems":[{"code":"torn","severity":"error","message":"cut off in the middle","frame":2,"place":"line 2","#,
            r#""byte":20,"detail":"expected more","window":{"before":"{\"type\":\"user\",\"uuid","after":""},"#,
            r#""hint":"the program that wrote it was probably stopped; what stands before it is fine"}],"more_problems":0}],"#,
            r#""skipped":[],"failed":[],"total":{"content":{"messages":1,"reasoning":0,"calls":0,"results":0,"failures":0},"frames":2,"frames_read":1,"leaves":7,"mapped":5,"kept":2,"lost":0,"#,
            r#""errors":1,"damaged":1,"verbatim":0,"adds_up":true}}"#,
            "\n"
        )
    );
    dir.run("convert x.jsonl --to record --report -").expect(
        2,
        "error: output and report cannot both go to stdout\n\
         hint: write one of them to a file: `-o FILE` or `--report FILE`\n",
    );
}

#[test]
fn a_reader_that_has_had_enough_is_no_error() {
    use std::io::Read as _;
    use std::process::{Command, Stdio};
    let dir = Dir::new("broken_pipe");
    dir.write("x.jsonl", LOG.repeat(20_000));
    let mut child = Command::new(env!("CARGO_BIN_EXE_interlingua"))
        .args(["convert", "x.jsonl", "--to", "record", "-q"])
        .current_dir(concat!(env!("CARGO_TARGET_TMPDIR"), "/broken_pipe"))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    let mut some = [0; 10];
    child.stdout.take().expect("piped").read_exact(&mut some).expect("there is output");
    let output = child.wait_with_output().expect("the command ends");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn completions_and_manual_pages_come_from_the_registry() {
    let dir = Dir::new("completions");
    for shell in ["bash", "zsh", "fish"] {
        let ran = dir.run(&format!("completions {shell}"));
        assert!(ran.stdout().contains("claude-code"), "{shell}");
    }
    assert!(dir.run("man").stdout().contains(".TH interlingua 1"));
    assert!(dir.run("man convert").stdout().contains(".TH interlingua-convert 1"));
    dir.run("man dance")
        .expect(2, "error: there is no command `dance`\nhint: `interlingua --help` lists them\n");
}
