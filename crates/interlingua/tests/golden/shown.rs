//! The text of a report and of an output, cut into lines so that a diff shows the changes.

use std::fmt::Write as _;

use interlingua::framing::{Frame, Framing};
use interlingua::ledger::{ContentCounts, Report, Row};

use crate::support::{Case, Way};

/// The report, an empty line, and the output.
pub fn text(to: Way, report: &str, output: &[u8]) -> Vec<u8> {
    let mut text = report.as_bytes().to_vec();
    text.extend_from_slice(b"\noutput\n");
    text.extend_from_slice(&content(to, output));
    text
}

/// The output, cut into lines so that a diff shows the changes.
fn content(to: Way, output: &[u8]) -> Vec<u8> {
    match to.0.role(to.1).map(|spec| spec.framing) {
        Some(framing @ (Framing::Documents(_) | Framing::LinesOrDocuments(..))) => {
            // The head, each element and the tail on separate lines.
            let mut lines = Vec::new();
            let mut framer = framing.framer(usize::MAX);
            let mut line = |frame: Frame<'_>| {
                lines.extend_from_slice(frame.bytes.trim_ascii());
                lines.push(b'\n');
            };
            framer.push(output, &mut line);
            framer.finish(&mut line);
            lines
        }
        Some(Framing::Lines | Framing::Sse | Framing::EventsOrArray) => output.to_vec(),
        Some(Framing::Whole) | None => indent(output),
    }
}

/// Breaks compact JSON into lines without changing strings.
fn indent(json: &[u8]) -> Vec<u8> {
    let json = json.trim_ascii();
    let mut out = Vec::new();
    let (mut depth, mut string, mut escaped) = (0usize, false, false);
    let line = |out: &mut Vec<u8>, depth: usize| {
        out.push(b'\n');
        out.extend(std::iter::repeat_n(b' ', depth * 2));
    };
    for (at, &byte) in json.iter().enumerate() {
        if string {
            out.push(byte);
            string = escaped || byte != b'"';
            escaped = !escaped && byte == b'\\';
            continue;
        }
        let empty = matches!((byte, json.get(at + 1)), (b'{', Some(b'}')) | (b'[', Some(b']')));
        let closes_empty = at > 0 && matches!((json[at - 1], byte), (b'{', b'}') | (b'[', b']'));
        match byte {
            b'{' | b'[' if !empty => {
                depth += 1;
                out.push(byte);
                line(&mut out, depth);
            }
            b'}' | b']' if !closes_empty => {
                depth = depth.saturating_sub(1);
                line(&mut out, depth);
                out.push(byte);
            }
            b',' => {
                out.push(byte);
                line(&mut out, depth);
            }
            b':' => out.extend_from_slice(b": "),
            _ => {
                string = byte == b'"';
                out.push(byte);
            }
        }
    }
    out.push(b'\n');
    out
}

/// The report as text.
pub fn report(case: &Case, to: Way, report: &Report) -> String {
    let Report {
        framing,
        frames,
        content: ContentCounts { messages, reasoning, calls, results, failures },
        read,
        leaves,
        mapped,
        kept,
        lost,
        kept_paths,
        lost_paths,
        notes,
        problems,
        more_problems,
        errors: _,
        agents: _,
        damaged: _,
        verbatim,
        further_sessions,
        trace: _,
    } = report;
    let mut text = format!("{case} -> {} {}\n", to.0.name, to.1.word());
    let mut say = |line: String| text.write_str(&(line + "\n")).expect("memory");
    say(format!(
        "{read} of {frames} frames read, {leaves} leaves = {mapped} mapped + {kept} kept + {lost} lost"
    ));
    say(format!(
        "told: {messages} messages, {reasoning} reasoning, {calls} calls, {results} results, {failures} failures"
    ));
    if *verbatim > 0 {
        say(format!("{verbatim} source lines kept whole"));
    }
    if !further_sessions.is_empty() {
        say(format!("further sessions begin at {further_sessions:?}"));
    }
    for (title, rows) in [("kept", kept_paths), ("lost", lost_paths)] {
        if !rows.is_empty() {
            say(format!("\n{title}"));
        }
        for Row { path, reason, field: _, count, bytes, first } in rows {
            let reason = reason.map(|reason| format!(", {}", reason.word())).unwrap_or_default();
            say(format!("{count:6}  {path}  ({bytes} bytes, first in {}{reason})", first.name(*framing)));
        }
    }
    if !notes.is_empty() {
        say("\nnotes".to_owned());
    }
    for (what, count) in notes {
        say(format!("{count:6}  {what}"));
    }
    if !problems.is_empty() {
        say("\nproblems".to_owned());
    }
    for problem in problems {
        say(format!("  {}: {} {}", problem.place.name(*framing), problem.code.name(), problem.detail));
    }
    if *more_problems > 0 {
        say(format!("  and {more_problems} more"));
    }
    text
}
