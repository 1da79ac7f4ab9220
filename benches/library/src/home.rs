//! A home folder with generated sessions of Claude Code, Codex and Pi. Equal settings yield equal files.

use std::fmt::Write as _;
use std::fs;
use std::io::{self, BufWriter, Write as _};
use std::path::Path;

/// A word that one session alone holds.
pub(crate) const RARE_WORD: &str = "xylographer";
/// A phrase of frequent words that one session alone holds.
pub(crate) const RARE_PHRASE: &str = "the zeppelin over the quay";
/// A word that every session holds.
pub(crate) const FREQUENT_WORD: &str = "function";

/// The files and bytes of a home folder.
#[derive(Clone, Copy, Default)]
pub(crate) struct HomeSize {
    pub(crate) files: u64,
    pub(crate) bytes: u64,
}

/// Writes sessions until they have so many bytes. Sizes vary from 40 KB to 8 MB; one session has a fortieth of all bytes.
pub(crate) fn write(home: &Path, bytes: u64) -> io::Result<HomeSize> {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let words = vocabulary(&mut random);
    let mut size = HomeSize::default();
    while size.bytes < bytes {
        let number = size.files;
        // Most sessions are small, most bytes are in large ones.
        let scale = random.below(1000) as f64 / 1000.0;
        let length = if number == 7 { bytes / 40 } else { (40_000.0 * 200_f64.powf(scale)) as u64 };
        let shape = SHAPES[(number % 3) as usize];
        let path = home.join((shape.place)(number));
        fs::create_dir_all(path.parent().unwrap_or(home))?;
        let mut file = BufWriter::new(fs::File::create(&path)?);
        let mut text = (shape.head)(number);
        let mut written = 0;
        let mut step = 0;
        while written < length {
            let mut prose = Prose { words: &words, random: &mut random };
            (shape.step)(&mut text, number, step, &mut prose);
            if step == 3 && number == 11 {
                text = text.replacen("function", RARE_WORD, 1);
            }
            if step == 3 && number == 7 {
                text = text.replacen("function", RARE_PHRASE, 1);
            }
            written += text.len() as u64;
            file.write_all(text.as_bytes())?;
            text.clear();
            step += 1;
        }
        file.flush()?;
        size.files += 1;
        size.bytes += written;
    }
    Ok(size)
}

/// A generator of pseudo-random numbers (xorshift64*).
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) % end
    }
}

/// Words as they occur in code and in prose: the first ones are used most.
fn vocabulary(random: &mut Random) -> Vec<String> {
    let frequent = "the function zeppelin over quay return let error value test build file path read write of to is a in and for with that line \
                    result Ok self type match where impl struct run check fix";
    let mut words: Vec<String> = frequent.split_whitespace().map(str::to_owned).collect();
    let parts = [
        "ba", "con", "di", "fer", "go", "lin", "mar", "ne", "po", "qui", "ra", "sto", "tra", "ul", "ve",
        "wor",
    ];
    while words.len() < 30_000 {
        let count = 2 + random.below(3);
        let word = (0..count).map(|_| parts[random.below(parts.len() as u64) as usize]).collect();
        words.push(word);
    }
    words
}

struct Prose<'a> {
    words: &'a [String],
    random: &'a mut Random,
}

impl Prose<'_> {
    /// Words with escaped line breaks, as they are in a JSON string.
    fn words(&mut self, text: &mut String, count: u64) {
        text.push_str("function ");
        for at in 0..count {
            // The square of a uniform number prefers the first words.
            let uniform = self.random.below(10_000) as f64 / 10_000.0;
            let place = (uniform.powi(4) * self.words.len() as f64) as usize;
            text.push_str(&self.words[place]);
            text.push_str(if at % 12 == 11 { "\\n    " } else { " " });
        }
    }
}

struct Shape {
    place: fn(u64) -> String,
    head: fn(u64) -> String,
    step: fn(&mut String, u64, u64, &mut Prose<'_>),
}

const SHAPES: [&Shape; 3] = [
    &Shape { place: claude_place, head: |_| String::new(), step: claude_step },
    &Shape { place: codex_place, head: codex_head, step: codex_step },
    &Shape { place: pi_place, head: pi_head, step: pi_step },
];

fn id(number: u64, step: u64) -> String {
    format!("{number:08x}-{:04x}-4000-8000-{step:012x}", number % 0xffff)
}

fn clock(number: u64, step: u64) -> String {
    format!(
        "2026-{:02}-{:02}T{:02}:{:02}:{:02}.000Z",
        1 + number / 28 % 11,
        1 + number % 28,
        step / 3600 % 24,
        step / 60 % 60,
        step % 60
    )
}

fn claude_place(number: u64) -> String {
    format!(".claude/projects/-home-me-project-{}/{}.jsonl", number % 40, id(number, 0))
}

fn claude_step(text: &mut String, number: u64, step: u64, prose: &mut Prose<'_>) {
    let session = id(number, 0);
    let mut line = |place: u64, kind: &str, message: &dyn Fn(&mut String, &mut Prose<'_>)| {
        let at = step * 4 + place;
        let parent = if at == 0 { "null".to_owned() } else { format!("\"{}\"", id(number, at)) };
        let _ = write!(
            text,
            r#"{{"parentUuid":{parent},"isSidechain":false,"userType":"external","cwd":"/home/me/project-{}","sessionId":"{session}","version":"2.1.325","gitBranch":"main","uuid":"{}","timestamp":"{}","type":"{kind}","message":"#,
            number % 40,
            id(number, at + 1),
            clock(number, at),
        );
        message(text, prose);
        text.push_str("}\n");
    };
    let usage = r#""stop_reason":"tool_use","usage":{"input_tokens":12,"cache_creation_input_tokens":120,"cache_read_input_tokens":3000,"output_tokens":210}"#;
    line(0, "user", &|text, prose| {
        text.push_str(r#"{"role":"user","content":""#);
        prose.words(text, 30);
        text.push_str("\"}");
    });
    line(1, "assistant", &|text, prose| {
        let _ = write!(
            text,
            r#"{{"model":"claude-opus-5-5","id":"msg_{step:08x}","type":"message","role":"assistant","content":[{{"type":"text","text":""#
        );
        prose.words(text, 80);
        let _ = write!(
            text,
            r#""}},{{"type":"tool_use","id":"toolu_{step:08x}","name":"Bash","input":{{"command":"sed -n 1,200p src/file_{step}.rs"}}}}],{usage}}}"#
        );
    });
    line(2, "user", &|text, prose| {
        let _ = write!(
            text,
            r#"{{"role":"user","content":[{{"tool_use_id":"toolu_{step:08x}","type":"tool_result","is_error":{},"content":""#,
            step % 17 == 16
        );
        prose.words(text, 500);
        text.push_str(r#""}]}"#);
    });
    line(3, "assistant", &|text, prose| {
        let _ = write!(
            text,
            r#"{{"model":"claude-opus-5-5","id":"msg_{step:08x}b","type":"message","role":"assistant","content":[{{"type":"text","text":""#
        );
        prose.words(text, 60);
        let _ = write!(text, r#""}}],{usage}}}"#);
    });
}

fn codex_place(number: u64) -> String {
    let time = clock(number, 0);
    let (day, clock) = (time[..10].replace('-', "/"), time[..19].replace(':', "-"));
    format!(".codex/sessions/{day}/rollout-{clock}-{}.jsonl", id(number, 0))
}

fn codex_head(number: u64) -> String {
    let time = clock(number, 0);
    format!(
        "{{\"timestamp\":\"{time}\",\"type\":\"session_meta\",\"payload\":{{\"id\":\"{}\",\"timestamp\":\"{time}\",\"cwd\":\"/home/me/project-{}\",\"originator\":\"codex_exec\",\"cli_version\":\"0.166.0\",\"source\":\"exec\",\"model_provider\":\"openai\"}}}}\n",
        id(number, 0),
        number % 40
    )
}

fn codex_step(text: &mut String, number: u64, step: u64, prose: &mut Prose<'_>) {
    let time = clock(number, step);
    let begin = |text: &mut String, payload: &str| {
        let _ = write!(text, r#"{{"timestamp":"{time}","type":"response_item","payload":{{{payload}"#);
    };
    begin(text, r#""type":"message","role":"user","content":[{"type":"input_text","text":""#);
    prose.words(text, 30);
    text.push_str("\"}]}}\n");
    begin(text, r#""type":"message","role":"assistant","content":[{"type":"output_text","text":""#);
    prose.words(text, 80);
    text.push_str("\"}]}}\n");
    let call = format!(
        r#""type":"function_call","name":"exec_command","arguments":"{{\"cmd\":\"sed -n 1,200p src/file_{step}.rs\"}}","call_id":"call_{step:08x}"}}}}"#
    );
    begin(text, &call);
    text.push('\n');
    begin(text, &format!(r#""type":"function_call_output","call_id":"call_{step:08x}","output":""#));
    prose.words(text, 500);
    text.push_str("\"}}\n");
}

fn pi_place(number: u64) -> String {
    format!(".pi/agent/sessions/--home-me-project-{}--/{number:08}.jsonl", number % 40)
}

fn pi_head(number: u64) -> String {
    format!(
        "{{\"type\":\"session\",\"version\":3,\"id\":\"{}\",\"timestamp\":\"{}\",\"cwd\":\"/home/me/project-{}\"}}\n",
        id(number, 0),
        clock(number, 0),
        number % 40
    )
}

fn pi_step(text: &mut String, number: u64, step: u64, prose: &mut Prose<'_>) {
    let begin = |text: &mut String, place: u64, message: &str| {
        let at = step * 4 + place;
        let parent = if at == 0 { "null".to_owned() } else { format!("\"{at:08x}\"") };
        let time = clock(number, at);
        let next = at + 1;
        let _ = write!(
            text,
            r#"{{"type":"message","id":"{next:08x}","parentId":{parent},"timestamp":"{time}","message":{{{message}"#
        );
    };
    let said = r#""api":"anthropic-messages","provider":"anthropic","model":"claude-sonnet-4-5","usage":{"input":400,"output":90,"cacheRead":600,"cacheWrite":10,"totalTokens":1100},"stopReason":"toolUse""#;
    begin(text, 0, r#""role":"user","content":[{"type":"text","text":""#);
    prose.words(text, 30);
    text.push_str("\"}]}}\n");
    begin(text, 1, r#""role":"assistant","content":[{"type":"text","text":""#);
    prose.words(text, 80);
    let _ = writeln!(
        text,
        r#""}},{{"type":"toolCall","id":"toolu_{step:08x}","name":"read","arguments":{{"path":"src/file_{step}.rs"}}}}],{said}}}}}"#
    );
    begin(
        text,
        2,
        &format!(
            r#""role":"toolResult","toolCallId":"toolu_{step:08x}","toolName":"read","content":[{{"type":"text","text":""#
        ),
    );
    prose.words(text, 500);
    text.push_str("\"}],\"isError\":false}}\n");
    begin(text, 3, r#""role":"assistant","content":[{"type":"text","text":""#);
    prose.words(text, 60);
    let _ = writeln!(text, r#""}}],{said}}}}}"#);
}
