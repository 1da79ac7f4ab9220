//! Every written frame can be read: each is one line for any client and holds the expected values.
//!
//! The splitter in this test is independent of ours. It splits at every character that Python's `str.splitlines` splits
//! at, as the clients built on httpx do. The sources are all fixtures, in three spellings of the same values:
//! unchanged, with line separators as escapes, and with raw separators, pretty-printed values and pretty-printed
//! arguments.

#![allow(clippy::expect_used, reason = "a test stops at the first surprise")]
#![allow(clippy::disallowed_methods, reason = "fixtures are files")]

use crate::support::watch::{Look, watch};
use crate::support::{
    Case, Law, Way, can_read, convert, fixtures_and_ours, is_asked, on_two_threads, other_law_targets,
};
use interlingua::dialects::{Dialect, Options, Role};
use interlingua::framing::Framing;
use interlingua::json::Output;
use interlingua::pipe::Pipe;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use serde_json::Value;

#[test]
fn every_written_frame_is_one_line_and_reads_back() {
    let mut law = Law::new("each written frame is one line, parses, and is read by our own reader");
    let cases: Vec<Case> = fixtures_and_ours().into_iter().filter(is_asked).collect();
    let broken = on_two_threads(&cases, |case| {
        let mut broken = Vec::new();
        for to in framed_targets(case) {
            for spelling in Spelling::ALL {
                let source = spelling.respell(case.way, &case.bytes);
                let written = convert(case.way, to, &source).bytes;
                if let Err(how) = reads_back(to, &written) {
                    broken.push(format!("{case} ({spelling:?}) -> {}: {how}", to.0.name));
                }
            }
        }
        broken
    });
    law.gather(broken);
    law.end();
}

#[test]
fn the_spelling_of_a_source_does_not_change_the_values_of_a_frame() {
    let mut law = Law::new("two spellings of one source give frames with the same values");
    let cases: Vec<Case> = fixtures_and_ours().into_iter().filter(is_asked).collect();
    let broken = on_two_threads(&cases, |case| {
        let mut broken = Vec::new();
        for to in framed_targets(case) {
            let [escaped, raw] = [Spelling::Escaped, Spelling::Raw].map(|spelling| {
                let source = spelling.respell(case.way, &case.bytes);
                frames(to, &convert(case.way, to, &source).bytes)
            });
            let (Ok(escaped), Ok(raw)) = (escaped, raw) else {
                broken.push(format!("{case} -> {}: a frame cannot be read", to.0.name));
                continue;
            };
            let other = escaped.iter().zip(&raw).find(|(escaped, raw)| meaning(escaped) != meaning(raw));
            if let Some((escaped, raw)) = other {
                broken.push(format!("{case} -> {}:\n  {escaped}\n  {raw}", to.0.name));
            } else if escaped.len() != raw.len() {
                broken.push(format!("{case} -> {}: {} and {} frames", to.0.name, escaped.len(), raw.len()));
            }
        }
        broken
    });
    law.gather(broken);
    law.end();
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: if crate::support::full() { 400 } else { 24 },
        rng_seed: RngSeed::Fixed(18),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn awkward_json_in_any_value_stays_in_its_frame(picks in prop::collection::vec(0..AWKWARD.len(), 64)) {
        for case in CASES.iter().filter(|case| is_asked(case)) {
            let source = with_awkward_values(case, &picks);
            for to in framed_targets(case) {
                let written = convert(case.way, to, &source).bytes;
                let read = reads_back(to, &written);
                prop_assert!(read.is_ok(), "{case} -> {}: {}", to.0.name, read.unwrap_err());
                // The same through an output that accepts small pieces, where frames are flushed before their end.
                let mut pieces = Pieces::default();
                let mut pipe = Pipe::new(case.way, to, &Options::default()).expect("both sides are known");
                for piece in source.chunks(97) {
                    pipe.push(piece, &mut pieces);
                }
                pipe.finish(&mut pieces);
                prop_assert!(pieces.0 == written, "{case} -> {}: pieces differ", to.0.name);
            }
        }
    }
}

/// The smallest fixture of each role of each dialect.
static CASES: std::sync::LazyLock<Vec<Case>> = std::sync::LazyLock::new(|| {
    let mut cases = fixtures_and_ours();
    cases.sort_by_key(|case| (case.way.0.name, case.way.1.word(), case.bytes.len()));
    cases.dedup_by_key(|case| (case.way.0.name, case.way.1.word()));
    cases
});

#[test]
fn large_values_stay_in_their_frame_when_they_bypass_the_buffer() {
    // Larger than any buffer, so that the value is passed on without buffering.
    let lines = "\\n  \\\"x\u{2028}\\\",".repeat(20_000);
    let chunk = |delta: &str| {
        format!(
            "data: {{\"id\":\"1\",\"object\":\"chat.completion.chunk\",\"model\":\"m\",\"choices\":[{{\"index\":0,\
             \"delta\":{delta},\"finish_reason\":null}}]}}\n\n"
        )
    };
    let stream = chunk(&format!(
        "{{\"tool_calls\":[{{\"index\":0,\"id\":\"c\",\"type\":\"function\",\"function\":{{\"name\":\"f\",\
         \"arguments\":\"{{\\\"a\\\": [{lines}1\\n]}}\"}}}}]}}"
    )) + "data: [DONE]\n\n";
    let way = |name| (Dialect::named(name).expect("registered"), Role::Stream);
    let mut pieces = Pieces::default();
    let mut pipe = Pipe::new(way("openai-chat"), way("gemini"), &Options::default()).expect("both are known");
    pipe.push(stream.as_bytes(), &mut pieces);
    pipe.finish(&mut pieces);
    let written = frames(way("gemini"), &pieces.0).expect("each frame is one line");
    let a = written
        .iter()
        .find_map(|frame| frame.pointer("/candidates/0/content/parts/0/functionCall/args/a")?.as_array());
    assert_eq!(a.expect("the call arrives").len(), 20_001);
}

/// Single JSON values that are awkward to put on a line.
const AWKWARD: [&str; 12] = [
    "\"\u{2028}\"",
    "\"a\u{2029}b\u{85}\"",
    "\"\\u2028\\u0085\"",
    "\"\\u0000\\u000b\\u000c\\u001c\\u001d\\u001e\"",
    "\"\\ud800\"",
    "\"\\n\\r\\t\"",
    "\"{\\n  \\\"a\\\": \\\"\u{2028}\\\"\\n}\"",
    "123456789012345678901234567890e400",
    "-0.0",
    "{BREAK\t\"k\u{2028}\":BREAK[ 1,BREAK{}BREAK]BREAK}",
    "[BREAK]",
    "{BREAK\"type\":BREAK\"object\",BREAK\"properties\":{BREAK\"é\u{85}\":{\"type\":BREAK\"string\"}}}",
];

/// The source with some of its values replaced by awkward values.
fn with_awkward_values(case: &Case, picks: &[usize]) -> Vec<u8> {
    let (seen, _) = watch(case.way, &case.bytes, Look::Leaves);
    let line_break = line_break(case.way, &case.bytes);
    let mut source = Vec::new();
    let mut rest = &case.bytes[..];
    let mut number = 0;
    for frame in seen.frames {
        let Some(at) = crate::support::books::find(rest, frame.text.as_bytes()) else { continue };
        source.extend_from_slice(&rest[..at]);
        rest = &rest[at + frame.text.len()..];
        let mut copied = 0;
        for leaf in frame.leaves {
            number += 1;
            let pick = picks[number % picks.len()].wrapping_add(number / picks.len());
            // Each third leaf, a different third in each round: the other leaves keep the source recognisable.
            if !pick.is_multiple_of(3) {
                continue;
            }
            source.extend_from_slice(&frame.text.as_bytes()[copied..leaf.span.start]);
            source.extend_from_slice(AWKWARD[pick % AWKWARD.len()].replace("BREAK", line_break).as_bytes());
            copied = leaf.span.end;
        }
        source.extend_from_slice(&frame.text.as_bytes()[copied..]);
    }
    source.extend_from_slice(rest);
    source
}

/// The targets that are written as frames. A record is always a single document.
fn framed_targets(case: &Case) -> Vec<Way> {
    let is_framed = |to: &Way| !matches!(framing(*to), Framing::Whole) && !to.0.name.starts_with("record");
    other_law_targets(case).into_iter().filter(|to| is_framed(to) && !case.is_restored_by(*to)).collect()
}

fn framing((dialect, role): Way) -> Framing {
    dialect.role(role).expect("a role of the dialect").framing
}

/// Checks the frames with the independent splitter and with our own reader.
fn reads_back(way: Way, written: &[u8]) -> Result<(), String> {
    let lines = frames(way, written)?.len() as u64;
    if !can_read(way) || lines == 0 {
        return Ok(());
    }
    let (_, report) = watch(way, written, Look::Order);
    if report.damaged > 0 {
        return Err(format!("our reader finds damage: {:?}", report.problems));
    }
    if report.frames < lines {
        return Err(format!("our reader finds {} frames of {lines}", report.frames));
    }
    Ok(())
}

/// The values of all frames.
fn frames(way: Way, written: &[u8]) -> Result<Vec<Value>, String> {
    let text = std::str::from_utf8(written).map_err(|error| error.to_string())?;
    let parse = |json: &str| -> Result<Value, String> {
        // A lone surrogate is valid JSON, but serde_json cannot represent it.
        let whole = json.replace("\\ud800", "\\ufffd");
        serde_json::from_str(&whole).map_err(|error| format!("{error} in {json:?}"))
    };
    match framing(way) {
        Framing::Sse | Framing::EventsOrArray => {
            let mut values = Vec::new();
            for event in split_events(text) {
                match event.as_slice() {
                    ["data: [DONE]"] => {}
                    [name @ .., data] if name.len() <= 1 && name.iter().all(|n| n.starts_with("event: ")) => {
                        let data = data.strip_prefix("data: ").ok_or(format!("no data: {data:?}"))?;
                        values.push(parse(data)?);
                    }
                    other => return Err(format!("an event of other lines: {other:?}")),
                }
            }
            Ok(values)
        }
        Framing::Lines => split_lines(text).into_iter().map(parse).collect(),
        Framing::LinesOrDocuments(..) | Framing::Documents(_) | Framing::Whole => {
            // Lines, or concatenated documents.
            let lines: Result<Vec<Value>, _> = split_lines(text).into_iter().map(parse).collect();
            lines.or_else(|_| {
                let whole = text.replace("\\ud800", "\\ufffd");
                let values = serde_json::Deserializer::from_str(&whole).into_iter::<Value>();
                values.collect::<Result<_, _>>().map_err(|error| error.to_string())
            })
        }
    }
}

/// Groups of lines, separated by blank lines.
fn split_events(text: &str) -> Vec<Vec<&str>> {
    let lines = split_lines(text);
    lines.split(|line| line.is_empty()).filter(|event| !event.is_empty()).map(<[&str]>::to_vec).collect()
}

/// `str.splitlines()` of Python.
fn split_lines(text: &str) -> Vec<&str> {
    const ENDS: [char; 11] =
        ['\n', '\r', '\u{b}', '\u{c}', '\u{1c}', '\u{1d}', '\u{1e}', '\u{85}', '\u{2028}', '\u{2029}', '\n'];
    let mut lines: Vec<&str> = text.split(ENDS).collect();
    if lines.last().is_some_and(|last| last.is_empty()) {
        lines.pop();
    }
    lines
}

/// A value independent of its spelling: JSON within a string is parsed, and whitespace is ignored.
fn meaning(value: &Value) -> Value {
    match value {
        Value::String(text) => {
            if let Ok(inner @ (Value::Object(_) | Value::Array(_))) = serde_json::from_str(text) {
                meaning(&inner)
            } else {
                let text = text.replace("\\u2028", "").replace("\\n", "").replace("\\t", "");
                text.chars().filter(|char| !char.is_whitespace()).collect::<String>().into()
            }
        }
        Value::Array(all) => all.iter().map(meaning).collect(),
        Value::Object(all) => all
            .iter()
            .map(|(name, value)| (name.clone(), meaning(value)))
            .collect::<serde_json::Map<_, _>>()
            .into(),
        other => other.clone(),
    }
}

/// A spelling of the values of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Spelling {
    AsIs,
    /// With line separators in texts, as escapes.
    Escaped,
    /// The same values with raw separators, line breaks between tokens and in arguments that are texts.
    Raw,
}

impl Spelling {
    const ALL: [Self; 3] = [Self::AsIs, Self::Escaped, Self::Raw];

    fn respell(self, way: Way, bytes: &[u8]) -> Vec<u8> {
        if self == Self::AsIs {
            return bytes.to_vec();
        }
        let text = std::str::from_utf8(bytes).expect("fixtures are text");
        let gap = if self == Self::Raw { line_break(way, bytes) } else { "" };
        let mut out = String::with_capacity(2 * text.len());
        // Only JSON is respelled: in an event stream, the text after `data: `.
        for line in text.split_inclusive('\n') {
            let json_at = match line {
                _ if !is_events(way, bytes) => 0,
                data if data.starts_with("data: {") => "data: ".len(),
                other => other.len(),
            };
            out.push_str(&line[..json_at]);
            self.respell_json(&line[json_at..], gap, &mut out);
        }
        out.into_bytes()
    }

    fn respell_json(self, json: &str, gap: &str, out: &mut String) {
        let mut rest = json;
        while let Some(at) = rest.find(['"', '{', '[', ',']) {
            let (before, from) = rest.split_at(at);
            out.push_str(before);
            if let Some(inner) = from.strip_prefix('"') {
                let end = end_of_string(inner);
                out.push('"');
                self.respell_string(&inner[..end], out);
                rest = &inner[end..];
                if let Some(after) = rest.strip_prefix('"') {
                    out.push('"');
                    rest = after;
                }
            } else {
                out.push_str(&from[..1]);
                out.push_str(gap);
                rest = &from[1..];
            }
        }
        out.push_str(rest);
    }

    fn respell_string(self, text: &str, out: &mut String) {
        if let Some(inner) = text.strip_prefix('{') {
            // Arguments as a text, or their first delta.
            let (gap, separator) = if self == Self::Raw { ("\\n\\t", "\u{2028}") } else { ("", "\\\\u2028") };
            out.push('{');
            out.push_str(gap);
            match inner.find(":\\\"") {
                Some(at) => {
                    out.push_str(&inner[..at + 3]);
                    out.push_str(separator);
                    out.push_str(&inner[at + 3..]);
                }
                None => out.push_str(inner),
            }
            return;
        }
        let bytes = text.as_bytes();
        let between_words = |at: &usize| {
            bytes[*at] == b' '
                && *at > 0
                && bytes[at - 1].is_ascii_alphabetic()
                && bytes.get(at + 1).is_some_and(u8::is_ascii_alphabetic)
        };
        match (0..bytes.len()).find(between_words) {
            Some(at) => {
                let number = text.len() % 3;
                let raw = ["\u{2028}", "\u{2029}", "\u{85}"][number];
                let escaped = ["\\u2028", "\\u2029", "\\u0085"][number];
                out.push_str(&text[..at]);
                out.push_str(if self == Self::Raw { raw } else { escaped });
                out.push_str(&text[at..]);
            }
            None => out.push_str(text),
        }
    }
}

fn end_of_string(inner: &str) -> usize {
    let mut escaped = false;
    inner
        .bytes()
        .position(|byte| {
            let ends = byte == b'"' && !escaped;
            escaped = byte == b'\\' && !escaped;
            ends
        })
        .unwrap_or(inner.len())
}

/// A line break between two tokens, as far as the framing of a source allows it. Lines of a log end at line feeds only.
fn line_break(way: Way, bytes: &[u8]) -> &'static str {
    match framing(way) {
        // Streams with other line ends are covered by the framer's tests.
        _ if is_events(way, bytes) && bytes.contains(&b'\r') => "",
        _ if is_events(way, bytes) => "\ndata: \t",
        Framing::Whole | Framing::Sse | Framing::EventsOrArray => "\n  ",
        Framing::Lines | Framing::LinesOrDocuments(..) | Framing::Documents(_) => "\r\t",
    }
}

/// Whether a source is a stream of server-sent events.
fn is_events(way: Way, bytes: &[u8]) -> bool {
    matches!(framing(way), Framing::Sse | Framing::EventsOrArray)
        && !bytes.trim_ascii_start().starts_with(b"{")
        && !bytes.trim_ascii_start().starts_with(b"[")
}

/// An output without a buffer: the writer buffers and spills.
#[derive(Default)]
struct Pieces(Vec<u8>);

impl Output for Pieces {
    fn write(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }
}
