//! The command in a real terminal: the progress bar, colours, and Ctrl-C as a key press.

#![cfg(unix)]
use std::fs;
use std::io::{Read as _, Write as _};

use pty_process::Size;
use pty_process::blocking::{Command, Pty, open};

use crate::support::{Dir, log, stoppable, wait_until};

/// The bytes sent to a terminal, and the exit code of the command.
struct Seen {
    sent: String,
    code: Option<i32>,
}

/// Runs the command in a terminal of 80 columns, with these environment variables; `meanwhile` may press keys.
fn watch(dir: &Dir, args: &str, variables: &[(&str, &str)], meanwhile: impl FnOnce(&Pty)) -> Seen {
    let (pty, pts) = open().expect("a terminal can be opened");
    pty.resize(Size::new(24, 80)).expect("it has a size");
    let stoppable = stoppable();
    let mut command = Command::new(&stoppable[0])
        .args(&stoppable[1..])
        .args(args.split(' '))
        .current_dir(dir.path())
        .env("TERM", "xterm-256color");
    for unset in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "CI", "PAGER"] {
        command = command.env_remove(unset);
    }
    let mut child = command.envs(variables.iter().copied()).spawn(pts).expect("the command starts");
    std::thread::scope(|scope| {
        let screen = scope.spawn(|| {
            let mut sent = Vec::new();
            let mut piece = [0; 4096];
            // After the last program in a terminal has ended, Linux returns an error for reads.
            while let Ok(length @ 1..) = (&pty).read(&mut piece) {
                sent.extend_from_slice(&piece[..length]);
            }
            sent
        });
        meanwhile(&pty);
        let status = child.wait().expect("the command ends");
        let sent = screen.join().expect("the terminal is read");
        Seen { sent: String::from_utf8(sent).expect("messages are text"), code: status.code() }
    })
}

impl Seen {
    /// The final content of the screen. Only sequences that we send are supported; any other sequence fails the test.
    fn screen(&self) -> String {
        let mut lines = vec![String::new()];
        let (mut row, mut column) = (0, 0);
        let mut rest = self.sent.chars();
        while let Some(character) = rest.next() {
            match character {
                '\r' => column = 0,
                '\n' => {
                    row += 1;
                    if row == lines.len() {
                        lines.push(String::new());
                    }
                }
                '\x1b' => {
                    assert_eq!(rest.next(), Some('['), "{:?}", self.sent);
                    let mut number = String::new();
                    let order = rest.by_ref().find(|c| {
                        number.push(*c);
                        c.is_ascii_alphabetic()
                    });
                    match (order, number.trim_end_matches(|c: char| c.is_ascii_alphabetic())) {
                        (Some('m'), _) => {}
                        (Some('K'), "2") => lines[row].clear(),
                        (Some('A'), up) => row = row.saturating_sub(up.parse().unwrap_or(1)),
                        (order, number) => panic!("the terminal is told {number}{order:?}: {:?}", self.sent),
                    }
                }
                character => {
                    let line = &mut lines[row];
                    let mut characters: Vec<char> = line.chars().collect();
                    characters.resize(characters.len().max(column + 1), ' ');
                    characters[column] = character;
                    *line = characters.into_iter().collect();
                    column += 1;
                }
            }
        }
        lines.iter().map(|line| line.trim_end()).collect::<Vec<_>>().join("\n")
    }

    fn has_colours(&self) -> bool {
        has_colours(&self.sent)
    }

    /// Whether the output contains the progress bar.
    fn has_bar(&self) -> bool {
        self.sent.contains(" left") && self.sent.contains("B/s")
    }
}

/// Whether a text contains a colour or style sequence.
fn has_colours(text: &str) -> bool {
    text.split("\x1b[")
        .skip(1)
        .any(|rest| rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';').starts_with('m'))
}

fn many_files(dir: &Dir, files: usize, lines: usize) {
    let text = log(lines);
    for number in 0..files {
        dir.write(&format!("logs/{number:03}.jsonl"), &text);
    }
}

#[test]
fn a_progress_bar_is_drawn_while_files_are_converted_and_gone_after() {
    let dir = Dir::new("terminal_bar");
    many_files(&dir, 12, 2_000);
    let seen = watch(&dir, "convert logs --to record -o out", &[], |_| ());
    assert_eq!(seen.code, Some(0), "{}", seen.sent);
    assert!(seen.has_bar(), "{:?}", seen.sent);
    let screen = seen.screen();
    assert!(!screen.contains("B/s"), "{screen}");
    assert!(screen.contains("12 files"), "{screen}");
    // There is no bar with `-q` and none in a terminal that cannot draw.
    for (args, variables) in [("-q", &[][..]), ("--jobs 2", &[("TERM", "dumb")][..])] {
        let seen = watch(&dir, &format!("convert logs --to record -o out {args}"), variables, |_| ());
        assert_eq!(seen.code, Some(0), "{}", seen.sent);
        assert!(!seen.has_bar() && !seen.sent.contains('\x1b'), "{args}: {:?}", seen.sent);
    }
    assert!(!dir.run("convert logs --to record -o out").stderr.contains("B/s"));
}

#[test]
fn colours_are_for_terminals_that_want_them() {
    let dir = Dir::new("terminal_colours");
    dir.write("a.jsonl", log(2) + "broken\n").write("logs/a.jsonl", log(2));
    for args in [
        "convert a.jsonl --to codex -o out",
        "convert missing.jsonl --to codex",
        "convert logs --to codex -o outs",
        "check a.jsonl",
        "show a.jsonl --no-pager",
        "dialects",
        "--help",
    ] {
        let seen = watch(&dir, args, &[], |_| ());
        assert!(seen.has_colours() || args == "dialects", "{args}: {:?}", seen.sent);
        for off in [("NO_COLOR", "1"), ("TERM", "dumb")] {
            let seen = watch(&dir, args, &[off], |_| ());
            assert!(!seen.has_colours(), "{args} with {off:?}: {:?}", seen.sent);
        }
        let piped = dir.run(args);
        assert!(!piped.stderr.contains('\x1b'), "{args}: {:?}", piped.stderr);
        assert!(!piped.stdout.contains(&0x1b), "{args}: {:?}", piped.stdout());
    }
}

#[test]
fn control_c_leaves_whole_files_and_a_clean_terminal() {
    let dir = Dir::new("terminal_stop");
    many_files(&dir, 150, 3_000);
    let outputs = || fs::read_dir(dir.path().join("out")).map_or(0, Iterator::count);
    let seen = watch(&dir, "convert logs --to record -o out --jobs 2", &[], |terminal| {
        wait_until(|| outputs() > 4);
        let mut terminal = terminal;
        terminal.write_all(&[0x03]).expect("a key can be pressed");
    });
    assert_eq!(seen.code, Some(130), "{:?}", seen.sent);
    assert!(seen.has_bar(), "{:?}", seen.sent);
    let written: Vec<String> = dir.files().into_iter().filter(|file| file.starts_with("out/")).collect();
    assert!(written.iter().all(|file| file.ends_with(".record.json")), "{written:?}");
    assert!(written.len() < 150, "it was stopped in time");
    for file in &written {
        assert!(dir.read(file).ends_with(b"}\n"), "{file} is whole");
    }
    // The bar is gone, only the message is on the screen, and the cursor was never hidden.
    let told =
        format!("stopped: {} of 150 files are complete, and nothing half-written is left", written.len());
    assert_eq!(seen.screen().trim(), told, "{:?}", seen.sent);
}

/// A document without a final newline would put the prompt after its last brace.
#[test]
fn what_ends_without_a_newline_ends_its_line_on_a_terminal() {
    let dir = Dir::new("terminal_newline");
    let request = r#"{"model":"gemini-3.8-flash","messages":[{"role":"user","content":"hi"}]}"#;
    dir.write("request.json", request);
    let convert = "convert request.json --from openai-chat --role request --to gemini -q";
    let seen = watch(&dir, convert, &[], |_| {});
    assert!(seen.sent.ends_with("}\r\n"), "{:?}", seen.sent);
    // In a file or a pipe, the bytes are unchanged.
    let piped = dir.run(convert);
    assert!(piped.stdout.ends_with(b"}"), "{}", piped.stdout());
}

/// Data on a terminal cannot control the terminal, and its JSON has the same meaning.
#[test]
fn data_on_a_terminal_does_not_steer_it_and_means_the_same() {
    let dir = Dir::new("terminal_data");
    let odd = "\u{7f}\u{85}\u{9b}2J\u{9d}0;t\u{ad}\u{61c}\u{200b}\u{200d}\u{202e}\u{2028}\u{2066}\u{2060}\u{3164}\u{feff}\u{e0041} é漢";
    let user = |text: &str| {
        format!(
            r#"{{"type":"user","uuid":"a","parentUuid":null,"sessionId":"s","cwd":"/w","message":{{"role":"user","content":"{text}"}}}}"#
        )
    };
    // The second line is torn and contains characters that are invalid in JSON.
    dir.write(
        "log.jsonl",
        format!("{}\n{{\"torn\x1b[2J\x1b]0;t\x07\x08\r{odd}\n", user(&format!("hi {odd}"))),
    );
    dir.write("order.json", format!(
        r#"{{"schema":"interlingua.work-order/1","task":"tides","request":{{"model":"claude-opus-5-5","max_tokens":9,"messages":[{{"role":"user","content":"{odd}"}}]}},"backend":{{"dialect":"openai-chat","name":"vllm"}},"model":"tide-1"}}"#
    ));
    let is_harmful = |c: char| {
        c.is_control() && !"\r\n\t".contains(c)
            || matches!(c, '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
                | '\u{3164}' | '\u{feff}' | '\u{e0000}'..='\u{e0fff}')
    };
    for args in [
        "convert -q log.jsonl --to record",
        "convert -q log.jsonl --to universal",
        "convert -q log.jsonl --to codex",
        "convert -q log.jsonl --to claude-code",
        "convert -q log.jsonl --to record -o /dev/tty",
        "convert -q log.jsonl --to claude-code -o /dev/stdout",
        "translate order.json -q",
    ] {
        let seen = watch(&dir, args, &[], |_| {});
        let lines: Vec<&str> = seen.sent.trim_end_matches("\r\n").split("\r\n").collect();
        assert!(seen.sent.contains("é漢") || seen.sent.contains("\\u9"), "{args}: {:?}", seen.sent);
        let found = seen.sent.chars().find(|c| is_harmful(*c));
        assert_eq!(found, None, "{args}: {:?}", seen.sent);
        assert!(lines.iter().all(|line| !line.contains('\r')), "{args}: {:?}", seen.sent);
        // The JSON equals the output to a pipe.
        let to_pipe = args.replace(" -o /dev/tty", "").replace(" -o /dev/stdout", "");
        let piped = dir.run(&to_pipe);
        for (shown, line) in lines.iter().zip(piped.stdout.split(|byte| *byte == b'\n')) {
            let Ok(meant) = serde_json::from_slice::<serde_json::Value>(line) else { continue };
            let shown: serde_json::Value = serde_json::from_str(shown).expect("JSON");
            // Universal events contain the time of the run, which differs between two runs.
            assert!(shown == meant || args.contains("universal"), "{args}: {shown} is not {meant}");
        }
    }
}
