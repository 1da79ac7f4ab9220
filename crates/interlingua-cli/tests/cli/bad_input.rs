//! Bad input: the message has a position and a hint, good lines are converted, and bad bytes are kept.

use crate::support::Dir;

const FIRST: &str = r#"{"type":"user","uuid":"a","parentUuid":null,"sessionId":"s","cwd":"/w","message":{"role":"user","content":"hi"}}
"#;
const LAST: &str = r#"{"type":"assistant","uuid":"b","parentUuid":"a","sessionId":"s","message":{"role":"assistant","id":"m","model":"claude-x","content":[{"type":"text","text":"hello"}]}}
"#;
const READING: &str = "reading x.jsonl as claude-code (log), detected by \
    lines with `uuid`, `parentUuid` or `sessionId` beside `type`\n";

/// Converts a log with this line in the middle, compares the messages, and checks that the log is restored.
#[track_caller]
fn survives(test: &str, middle: &[u8], strict: i32, said: &str) {
    let log = [FIRST.as_bytes(), middle, b"\n", LAST.as_bytes()].concat();
    comes_back(test, &log, "", strict, said);
}

#[track_caller]
fn comes_back(test: &str, log: &[u8], flags: &str, strict: i32, said: &str) {
    let dir = Dir::new(test);
    dir.write("x.jsonl", log);
    dir.run(&format!("convert x.jsonl --to record -o x.json{flags}")).expect(0, &format!("{READING}{said}"));
    assert_eq!(
        dir.run(&format!("convert -q x.jsonl --to record -o x.json --strict{flags}")).code,
        Some(strict)
    );

    let record = dir.read("x.json");
    let record = String::from_utf8(record).expect("a record is text");
    assert!(record.contains(r#""content":"hi""#), "{record}");
    let back = dir.run(&format!("convert -q x.json --to claude-code{flags}"));
    assert_eq!(back.stderr, "");
    assert!(back.stdout == log, "{}", String::from_utf8_lossy(&back.stdout));
    assert_eq!(dir.files(), ["x.json", "x.jsonl"]);
}

#[test]
fn empty_file() {
    let dir = Dir::new("empty_file");
    dir.write("x.jsonl", "").write("blank.jsonl", "\n \n");
    let said = "error: there is nothing in `x.jsonl`\nhint: give a file with content, or pipe one in\n";
    dir.run("convert x.jsonl --to record -o x.json").expect(1, said);
    dir.run("check x.jsonl").expect(1, said);
    dir.run("convert blank.jsonl --to record").expect(1, &said.replace("x.jsonl", "blank.jsonl"));
    dir.run("convert --to record").expect(1, &said.replace("x.jsonl", "stdin"));
    assert_eq!(dir.files(), ["blank.jsonl", "x.jsonl"]);
}

#[test]
fn binary_file() {
    let dir = Dir::new("binary_file");
    let bytes: Vec<u8> = (0..=255).cycle().take(4096).collect();
    dir.write("x.bin", bytes).write("x.txt", "hello\n");
    dir.run("convert x.bin --to record").expect(
        1,
        "error: no dialect recognises `x.bin`: it is not text\n\
         hint: name the dialect with `--from`; `interlingua dialects` lists them\n",
    );
    dir.run("convert x.txt --to record").expect(
        1,
        "error: no dialect recognises `x.txt`\n\
         hint: name the dialect with `--from`; `interlingua dialects` lists them\n",
    );
    dir.run("convert x.bin --from claude-code --to record").expect(
        1,
        "reading x.bin as claude-code (log)\n\
         error: nothing in `x.bin` can be read as `claude-code`\n\
         hint: is it really a file of that dialect? `interlingua check` without `--from` says what it looks like\n",
    );
}

#[test]
fn wrong_from() {
    let dir = Dir::new("wrong_from");
    dir.write("x.jsonl", FIRST);
    assert_eq!(dir.run("convert x.jsonl --to record -o x.json").code, Some(0));
    dir.run("convert x.json --from claude-code --to record -o y.json").expect(
        1,
        "reading x.json as claude-code (log)\n\
         warning: it looks like `record`\n\
         hint: leave `--from` out to have the dialect detected\n\
         error: nothing in `x.json` can be read as `claude-code`\n\
         hint: it looks like `record`; leave `--from` out to have it detected\n",
    );
    let read = dir.run("convert x.jsonl --from record --to claude-code -o y.jsonl");
    assert_eq!(read.code, Some(1));
    assert_eq!(dir.files(), ["x.json", "x.jsonl"]);
}

#[test]
fn torn_last_line() {
    let log = [FIRST, &LAST[..70]].concat();
    comes_back(
        "torn_last_line",
        log.as_bytes(),
        "",
        3,
        r#"converted claude-code (log) to record (log): 1 message; nothing was lost
8 leaves: 6 mapped, 2 kept, 0 lost
problems, kept as they are:
  line 2, byte 70: cut off in the middle (torn): expected more
    ,"parentUuid":"a","sessionId":"s","messa
                                            ^
    hint: the program that wrote it was probably stopped; what stands before it is fine
"#,
    );
}

#[test]
fn nul_block() {
    survives(
        "nul_block",
        &[0; 64],
        3,
        "converted claude-code (log) to record (log): 2 messages; nothing was lost
17 leaves: 14 mapped, 3 kept, 0 lost
problems, kept as they are:
  line 2, byte 0: NUL bytes where text should be (nul-bytes): expected text
    \u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}
    ^
    hint: the disk was probably full or the machine crashed; the rest is fine
",
    );
}

#[test]
fn invalid_utf8() {
    survives(
        "invalid_utf8",
        b"{\"type\":\"user\",\"x\":\"caf\xe9\"}",
        3,
        "converted claude-code (log) to record (log): 2 messages; nothing was lost
17 leaves: 14 mapped, 3 kept, 0 lost
problems, kept as they are:
  line 2, byte 23: not valid UTF-8 (invalid-utf8): expected UTF-8
    {\"type\":\"user\",\"x\":\"caf\u{fffd}\"}
                           ^
    hint: another program may have changed the encoding; the rest is fine
",
    );
}

#[test]
fn duplicate_keys() {
    survives(
        "duplicate_keys",
        br#"{"type":"user","uuid":"d","sessionId":"s","uuid":"e","message":{"role":"user","content":"x"}}"#,
        0,
        r#"converted claude-code (log) to record (log): 3 messages; nothing was lost
22 leaves: 19 mapped, 3 kept, 0 lost
problems:
  line 2, byte 42: the same member name twice in one object; the first one is read (duplicate-key)
    type":"user","uuid":"d","sessionId":"s","uuid":"e","message":{"role":"user","con
                                            ^
    hint: parsers differ in which one they take; make the names unique
"#,
    );
}

#[test]
fn lone_surrogate() {
    survives(
        "lone_surrogate",
        br#"{"type":"user","uuid":"d","sessionId":"s","message":{"role":"user","content":"cut \ud83e"}}"#,
        0,
        r#"converted claude-code (log) to record (log): 3 messages; nothing was lost
21 leaves: 19 mapped, 2 kept, 0 lost
problems:
  line 2, byte 82: half a surrogate pair (lone-surrogate)
    "message":{"role":"user","content":"cut \ud83e"}}
                                            ^
    hint: a text was cut inside a character; it is passed on as written
"#,
    );
}

#[test]
fn depth_10000() {
    let line = format!(r#"{{"type":"user","x":{}{}}}"#, "[".repeat(10_000), "]".repeat(10_000));
    survives(
        "depth_10000",
        line.as_bytes(),
        3,
        "converted claude-code (log) to record (log): 2 messages; nothing was lost
17 leaves: 14 mapped, 3 kept, 0 lost
problems, kept as they are:
  line 2, byte 138: nested too deeply (too-deep): expected less nesting
    [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[
                                            ^
    hint: common JSON parsers stop at 128 levels; nothing deeper is read
",
    );
}

/// A record embeds lines: a line that is accepted in a log must be readable in the record made of it.
#[test]
fn the_deepest_line_that_is_read_comes_back_from_its_record() {
    let nested = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
    let call = format!(
        r#"{{"type":"user","uuid":"d","sessionId":"s","message":{{"role":"user","content":[{{"type":"tool_use","id":"t","name":"n","input":{}}}]}}}}"#,
        nested(116)
    );
    let other = format!(r#"{{"type":"x","sessionId":"s","y":{}}}"#, nested(119));
    let log = [FIRST, &call, "\n", &other, "\n", LAST].concat();
    comes_back(
        "the_deepest_line",
        log.as_bytes(),
        "",
        0,
        "converted claude-code (log) to record (log): 2 messages and 1 call; nothing was lost\n27 leaves: 24 mapped, 3 kept, 0 lost\n",
    );
}

#[test]
fn number_overflow() {
    survives(
        "number_overflow",
        br#"{"type":"assistant","uuid":"d","sessionId":"s","message":{"role":"assistant","content":"x","usage":{"input_tokens":99999999999999999999,"output_tokens":1e999}}}"#,
        0,
        r#"converted claude-code (log) to record (log): 3 messages; nothing was lost
23 leaves: 19 mapped, 4 kept, 0 lost
problems:
  line 2, byte 115: a number beyond 64 bits (number-overflow)
    ","content":"x","usage":{"input_tokens":99999999999999999999,"output_tokens":1e9
                                            ^
    hint: other programs will round or refuse it; it is passed on as written
"#,
    );
}

#[test]
fn a_line_of_another_dialect_in_the_middle() {
    survives(
        "another_dialect",
        br#"{"version":"3.0.0","id":"r","session":{"session-id":"s","agent-meta":{},"entries":[]}}"#,
        3,
        "converted claude-code (log) to record (log): 2 messages; nothing was lost
21 leaves: 15 mapped, 6 kept, 0 lost
problems:
  line 2: not a shape this dialect writes (unknown-shape): it looks like `record`
    hint: if the source dialect was guessed wrong, name it with `--from`
",
    );
}

#[test]
fn a_frame_over_the_limit_passes_in_pieces() {
    let oversized = format!(r#"{{"type":"user","sessionId":"s","x":"{}"}}"#, "é\\u0000".repeat(500));
    let said = r#"converted claude-code (log) to record (log): 2 messages; nothing was lost
24 leaves: 14 mapped, 10 kept, 0 lost
problems, kept as they are:
  line 2: too large to read (too-large): the limit is 512 bytes
    {"type":"user","sessionId":"s","x":"é\u
    ^
    hint: raise the limit with `--max-frame`
"#;
    let log = [FIRST, &oversized, "\n", LAST].concat();
    comes_back("over_the_limit", log.as_bytes(), " --max-frame 512", 3, said);
    // The same for a last line without a newline.
    let said =
        said.replace("24 leaves: 14 mapped, 10", "15 leaves: 6 mapped, 9").replace("2 messages", "1 message");
    comes_back(
        "over_the_limit_last",
        log.trim_end_matches(LAST).trim_end().as_bytes(),
        " --max-frame 512",
        3,
        &said,
    );
}

/// A damaged line longer than the limit of one record entry.
#[test]
fn megabytes_of_damage_come_back() {
    let mut log = FIRST.as_bytes().to_vec();
    log.extend("\u{1}é".repeat(900_000).bytes());
    log.push(b'\n');
    log.extend(vec![0; 3 << 20]);
    log.push(b'\n');
    let dir = Dir::new("megabytes_of_damage");
    dir.write("x.jsonl", &log);
    assert_eq!(dir.run("convert -q x.jsonl --to record -o x.json").code, Some(0));
    let back = dir.run("convert -q x.json --to claude-code");
    assert_eq!(back.stderr, "");
    assert!(back.stdout == log);
}

/// The line is longer than the usual sample for detection.
#[test]
fn a_first_line_of_megabytes_is_recognised() {
    let log = FIRST.replace("hi", &"hi".repeat(5 << 20));
    let dir = Dir::new("first_line_of_megabytes");
    dir.write("x.jsonl", &log);
    assert_eq!(dir.run("convert -q x.jsonl --to record -o x.json").code, Some(0));
    assert!(dir.run("convert -q x.json --to claude-code").stdout == log.as_bytes());
}

#[test]
fn missing_file() {
    let dir = Dir::new("missing_file");
    let said = "error: cannot read `nowhere.jsonl`: no such file\nhint: is the path right? `-` reads stdin\n";
    dir.run("convert nowhere.jsonl --to record").expect(1, said);
    dir.run("check nowhere.jsonl").expect(1, said);
}

#[test]
fn usage_errors_have_the_form_of_all_others() {
    let dir = Dir::new("usage_errors");
    dir.write("a.jsonl", "{}");
    dir.run("matrx a.jsonl")
        .expect(2, "error: unrecognized subcommand `matrx`\nhint: a similar subcommand exists: `matrix`\n");
    dir.run("check").expect(
        2,
        "error: the following required arguments were not provided: <FILE>...\n\
         hint: `interlingua --help` lists the commands, `interlingua COMMAND --help` their flags\n",
    );
    dir.run("convert a.jsonl a.jsonl --to record -o a.jsonl").expect(
        2,
        "error: `a.jsonl` is not a directory\nhint: several inputs need a directory: name another with `-o DIR`\n",
    );
}

#[test]
fn unknown_dialect() {
    let dir = Dir::new("unknown_dialect");
    dir.run("convert --to claude-cod").expect(
        2,
        "error: there is no dialect `claude-cod`\n\
         hint: did you mean `claude-code`? `interlingua dialects` lists them all\n",
    );
    dir.run("check --from klingon x")
        .expect(2, "error: there is no dialect `klingon`\nhint: `interlingua dialects` lists them all\n");
}
