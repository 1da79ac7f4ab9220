//! `convert -` follows a pipe: each event is converted and written before the next event is read.

use crate::support;
use std::io::{Read as _, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// The command with pipes on stdin and stdout.
struct Live {
    child: Child,
    input: Option<ChildStdin>,
    output: Receiver<Vec<u8>>,
    seen: String,
}

impl Live {
    fn start(args: &str) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_interlingua"))
            .args(args.split(' '))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the command starts");
        let mut stdout = child.stdout.take().expect("piped");
        let (send, output) = channel();
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(read @ 1..) = stdout.read(&mut buffer) {
                if send.send(buffer[..read].to_vec()).is_err() {
                    return;
                }
            }
        });
        let input = child.stdin.take();
        Self { child, input, output, seen: String::new() }
    }

    fn write(&mut self, bytes: &str) {
        self.input.as_mut().expect("open").write_all(bytes.as_bytes()).expect("the command reads");
    }

    /// Waits until the output contains a text.
    #[track_caller]
    fn expect(&mut self, text: &str) {
        let end = Instant::now() + Duration::from_secs(20);
        while !self.seen.contains(text) {
            let left = end.saturating_duration_since(Instant::now());
            match self.output.recv_timeout(left) {
                Ok(bytes) => self.seen.push_str(&String::from_utf8_lossy(&bytes)),
                Err(error) => panic!("`{text}` does not come ({error}); so far: {}", self.seen),
            }
        }
    }

    /// Closes the input and waits for the command.
    fn end(mut self) -> String {
        drop(self.input.take());
        while let Ok(bytes) = self.output.recv() {
            self.seen.push_str(&String::from_utf8_lossy(&bytes));
        }
        assert!(self.child.wait().expect("the command ends").success());
        self.seen
    }
}

fn claude_line(number: usize) -> String {
    format!(
        r#"{{"type":"user","uuid":"u{number}","parentUuid":null,"sessionId":"s","cwd":"/w","timestamp":"2026-01-01T00:00:00.000Z","message":{{"role":"user","content":"word-{number}-word"}}}}"#
    ) + "\n"
}

#[test]
fn each_line_of_a_log_is_written_before_the_next_is_read() {
    for args in [
        "convert - --to record",
        "convert - --to universal",
        "convert --from claude-code - --to record",
        "convert --from claude-code --role log - --to universal",
        "convert --from claude-code - --to claude-code",
    ] {
        let mut live = Live::start(args);
        for number in 0..5 {
            live.write(&claude_line(number));
            live.expect(&format!("word-{number}-word"));
        }
        live.end();
    }
}

#[test]
fn a_log_of_another_agent_is_one_message_behind() {
    // These log writers hold the last message back, because the next item may still join it.
    for to in ["codex", "pi", "gemini-cli", "kimi-code"] {
        let mut live = Live::start(&format!("convert - --to {to}"));
        live.write(&claude_line(0));
        for number in 1..5 {
            live.write(&claude_line(number));
            live.expect(&format!("word-{}-word", number - 1));
        }
        assert!(live.end().contains("word-4-word"));
    }
}

#[test]
fn half_a_line_waits_for_its_other_half_and_holds_up_no_other() {
    let mut live = Live::start("convert - --to universal");
    let next = claude_line(1);
    let (half, rest) = next.split_at(next.len() / 2);
    live.write(&(claude_line(0) + half));
    live.expect("word-0-word");
    live.write(rest);
    live.expect("word-1-word");
    live.end();
}

#[test]
fn each_event_of_a_stream_is_written_before_the_next_is_read() {
    let start = concat!(
        "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"type\":\"message\",",
        "\"role\":\"assistant\",\"model\":\"claude-x\",\"content\":[],\"usage\":{\"input_tokens\":1,\"output_tokens\":1}}}\n\n",
        "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,",
        "\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n"
    );
    let delta = |number: usize| {
        format!(
            "event: content_block_delta\ndata: {{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{{\"type\":\"text_delta\",\"text\":\"word-{number}-word\"}}}}\n\n"
        )
    };
    for to in ["openai-chat", "openai-responses", "gemini", "anthropic", "universal"] {
        for from in ["", " --from anthropic"] {
            let mut live = Live::start(&format!("convert -{from} --to {to}"));
            live.write(start);
            for number in 0..4 {
                live.write(&delta(number));
                live.expect(&format!("word-{number}-word"));
            }
            live.end();
        }
    }
}

#[test]
fn a_pipe_in_small_pieces_gives_the_output_of_a_file() {
    let dir = support::Dir::new("live_pieces");
    let log: String = (0..40).map(claude_line).collect();
    dir.write("in.jsonl", &log);
    let whole = dir.run("convert -q in.jsonl --to universal --from claude-code");
    let mut live = Live::start("convert -q - --to universal");
    for piece in log.as_bytes().chunks(97) {
        live.write(std::str::from_utf8(piece).expect("ASCII"));
    }
    assert_eq!(live.end(), whole.stdout());
}

#[cfg(unix)]
#[test]
fn a_growing_file_is_followed_until_a_signal_ends_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("log.jsonl");
    std::fs::write(&path, claude_line(0)).expect("written");
    for (args, last) in
        [("convert --follow --to universal", "session.ended"), ("show --follow", "word-4-word")]
    {
        let mut live = Live::start(&format!("{args} {}", path.to_str().expect("a path in UTF-8")));
        live.expect("word-0-word");
        let mut file = std::fs::OpenOptions::new().append(true).open(&path).expect("opened");
        for number in 1..5 {
            let next = claude_line(number);
            let (half, rest) = next.split_at(next.len() / 2);
            file.write_all(half.as_bytes()).expect("written");
            file.write_all(rest.as_bytes()).expect("written");
            live.expect(&format!("word-{number}-word"));
        }
        let id = live.child.id().to_string();
        assert!(Command::new("kill").args(["-s", "INT", &id]).status().expect("kill runs").success());
        assert!(live.end().contains(last));
    }
}

#[cfg(unix)]
#[test]
fn a_signal_ends_a_followed_pipe_whose_writer_goes_on() {
    let mut live = Live::start("show --follow -");
    live.write(&claude_line(0));
    live.expect("word-0-word");
    let id = live.child.id().to_string();
    assert!(Command::new("kill").args(["-s", "INT", &id]).status().expect("kill runs").success());
    // The input stays open until the command has ended.
    assert!(live.child.wait().expect("the command ends").success());
}

#[test]
fn a_followed_file_that_is_cut_short_is_an_error() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("log.jsonl");
    std::fs::write(&path, claude_line(0) + &claude_line(1)).expect("written");
    let mut live = Live::start(&format!("show --follow {}", path.to_str().expect("a path in UTF-8")));
    live.expect("word-1-word");
    std::fs::write(&path, "").expect("written");
    assert_eq!(live.child.wait().expect("the command ends").code(), Some(1));
}
