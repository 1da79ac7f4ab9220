//! All prose: what is said about inputs, losses and problems. Colour only repeats what the words say.

use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};
use interlingua::error::{Code, Problem, Severity};
use interlingua::framing::Framing;
use interlingua::ledger::{Report, Row};

use interlingua_record::contract::{Finding, Outcome, Receipt, ReceiptChange};

use crate::convert::{Converted, How, Identified, Summary};
use crate::error::CommandError;

/// How many of a kind are listed before `… and N more`.
const MOST: usize = 20;

const RED: Style = AnsiColor::Red.on_default().bold();
const YELLOW: Style = AnsiColor::Yellow.on_default().bold();
const GREEN: Style = AnsiColor::Green.on_default().bold();
const CYAN: Style = AnsiColor::Cyan.on_default();
const DIM: Style = Style::new().dimmed();

pub(crate) fn error(error: &CommandError) -> String {
    let mut text = format!("{RED}error{RED:#}: {}\n", error.message());
    if let Some(way_out) = error.hint() {
        hint(&mut text, "", &way_out);
    }
    text
}

fn hint(text: &mut String, indent: &str, way_out: &str) {
    let _ = writeln!(text, "{indent}{CYAN}hint{CYAN:#}: {way_out}");
}

/// What an input is read as, and why.
pub(crate) fn reading(name: &str, identity: &Identified) -> String {
    let Identified { dialect, spec, how, looks_like } = identity;
    let mut text = format!("reading {name} as {} ({})", dialect.name, spec.role.word());
    if *how == How::Detected {
        let _ = write!(text, ", detected by {}", dialect.detected_by);
    }
    text.push('\n');
    if let Some(other) = looks_like {
        let _ = writeln!(text, "{YELLOW}warning{YELLOW:#}: it looks like `{}`", other.name);
        hint(&mut text, "", "leave `--from` out to have the dialect detected");
    }
    text
}

/// The loss table of one file.
pub(crate) fn converted(file: &Converted, verbose: bool) -> String {
    if file.is_copy {
        return format!("copied unchanged: it is {} ({}) already\n", file.to.0.name, file.to.1.word());
    }
    let report = &file.report;
    let mut text = format!("{}\n", counts(report));
    let place = |frame: u64| frame_name(file.from.spec.framing, frame);
    rows(&mut text, "lost", &report.lost_paths, MOST, place);
    if verbose {
        rows(&mut text, "kept", &report.kept_paths, usize::MAX, place);
    }
    notes(&mut text, report);
    let title = if kept_damage(report) { "problems, kept as they are" } else { "problems" };
    problems(&mut text, title, report, file.from.spec.framing, Weight::Unsaid);
    text
}

/// Whether everything that could not be read is in the output as it was.
fn kept_damage(report: &Report) -> bool {
    let unparsed = |rows: &[Row]| rows.iter().any(|row| row.path == "(unparsed)");
    unparsed(&report.kept_paths) && !unparsed(&report.lost_paths)
}

fn counts(report: &Report) -> String {
    let Report { leaves, mapped, kept, lost, .. } = report;
    let style = if *lost > 0 { YELLOW } else { Style::new() };
    format!(
        "{}: {} mapped, {} kept, {style}{} lost{style:#}",
        self::leaves(*leaves),
        number(*mapped),
        number(*kept),
        number(*lost)
    )
}

fn rows(text: &mut String, fate: &str, rows: &[Row], most: usize, place: impl Fn(u64) -> String) {
    if rows.is_empty() {
        return;
    }
    let _ = writeln!(text, "{fate}:");
    let shown = &rows[..rows.len().min(most)];
    let width = shown.iter().map(|row| row.path.chars().count()).max().unwrap_or(0).min(60);
    for Row { path, reason, field: _, count, bytes: _, first_frame } in shown {
        let reason = reason.map_or(String::new(), |reason| format!("{}, ", reason.word()));
        let first = place(*first_frame);
        let _ = writeln!(text, "  {path:width$}  {reason}{}, first in {first}", leaves(*count));
    }
    more(text, (rows.len() - shown.len()) as u64);
}

fn more(text: &mut String, count: u64) {
    if count > 0 {
        let _ = writeln!(text, "  … and {} more", number(count));
    }
}

fn notes(text: &mut String, report: &Report) {
    if !report.notes.is_empty() {
        text.push_str("notes:\n");
    }
    for (what, count) in &report.notes {
        let _ = match count {
            1 => writeln!(text, "  {what}"),
            _ => writeln!(text, "  {what} ({} times)", number(*count)),
        };
    }
}

/// Whether it is said how much a problem matters.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Weight {
    /// The run went on all the same.
    Unsaid,
    /// Someone asked whether the input is sound.
    Said,
}

fn problems(text: &mut String, title: &str, report: &Report, framing: Framing, weight: Weight) {
    if report.problems.is_empty() {
        return;
    }
    let _ = writeln!(text, "{title}:");
    let shown = &report.problems[..report.problems.len().min(MOST)];
    let mut hinted: Vec<Code> = Vec::new();
    for found in shown {
        problem(text, found, framing, weight);
        // Once is enough for each kind.
        if let Some(way_out) = found.code.hint().filter(|_| !hinted.contains(&found.code)) {
            hinted.push(found.code);
            hint(text, "    ", way_out);
        }
    }
    more(text, (report.problems.len() - shown.len()) as u64 + report.more_problems);
}

fn problem(text: &mut String, problem: &Problem, framing: Framing, weight: Weight) {
    let Problem { code, place, detail, window } = problem;
    let severity = code.severity();
    let style = if severity == Severity::Error { RED } else { YELLOW };
    let word = match weight {
        Weight::Unsaid => String::new(),
        Weight::Said => format!("{style}{}{style:#}: ", severity.word()),
    };
    let mut at = frame_name(framing, place.frame);
    if let Some(byte) = place.byte {
        let _ = write!(at, ", byte {byte}");
    }
    if let Some(pointer) = place.pointer.as_deref().filter(|pointer| !pointer.is_empty()) {
        let _ = write!(at, ", at `{pointer}`");
    }
    let detail = if detail.is_empty() { String::new() } else { format!(": {detail}") };
    let _ = writeln!(text, "  {word}{at}: {} ({}){detail}", code.message(), code.name());
    if !window.is_empty() {
        let _ = writeln!(text, "    {DIM}{}{DIM:#}{}", window.before, window.after);
        let _ = writeln!(text, "    {:width$}{style}^{style:#}", "", width = window.before.chars().count());
    }
}

/// What was shown, and where to find it.
pub(crate) fn shown(name: &str, identity: &Identified, output: &std::path::Path) -> String {
    format!("{}writing {}\n", reading(name, identity), output.display())
}

/// Someone stopped the command.
pub(crate) fn stopped(done: usize, expected: usize) -> String {
    let what = match (done, expected) {
        (_, 0) => "nothing was written".to_owned(),
        (done, expected) => {
            format!("{} of {} are complete", number(done as u64), plural(expected as u64, "file"))
        }
    };
    format!("stopped: {what}, and nothing half-written is left\n")
}

/// What a frame is called in input that is cut this way.
pub(crate) fn frame_name(framing: Framing, frame: u64) -> String {
    match (framing, frame) {
        (_, 0) | (Framing::Whole, _) => "the input".to_owned(),
        (Framing::Lines, line) => format!("line {line}"),
        (Framing::LinesOrDocuments(_), part) => format!("part {part}"),
        (Framing::Sse | Framing::EventsOrArray, event) => format!("event {event}"),
        (Framing::Documents(_), 1) => "the head".to_owned(),
        (Framing::Documents(_), part) => format!("entry {}", part - 2),
    }
}

/// What became of many files.
pub(crate) fn summary(summary: &Summary, verbose: bool) -> String {
    let Summary { converted: files, skipped, failed } = summary;
    let mut text = String::new();
    for file in files {
        let Converted { name, output, report, .. } = file;
        if verbose || report.lost > 0 || !report.problems.is_empty() {
            text.push_str(&reading(name, &file.from));
            let output = output.as_deref().map(|path| path.display().to_string()).unwrap_or_default();
            let _ = writeln!(text, "writing {output}");
            for line in converted(file, verbose).lines() {
                let _ = writeln!(text, "  {line}");
            }
        }
    }
    text.push_str(&self::skipped(skipped, verbose));
    let all = total(files);
    let _ = write!(text, "converted {}", plural(files.len() as u64, "file"));
    for (count, fate) in [(skipped.len(), "skipped"), (failed.len(), "failed")] {
        if count > 0 {
            let _ = write!(text, ", {fate} {}", number(count as u64));
        }
    }
    let _ = writeln!(text, "; {}", counts(&all));
    text
}

/// What was left aside.
pub(crate) fn skipped(files: &[(String, CommandError)], verbose: bool) -> String {
    let mut text = String::new();
    for (name, error) in files.iter().take(if verbose { usize::MAX } else { MOST }) {
        let _ = writeln!(text, "skipped {name}: {}", error.reason_to_skip());
    }
    if !verbose {
        more(&mut text, files.len().saturating_sub(MOST) as u64);
    }
    text
}

/// The counts of all files together.
pub(crate) fn total(files: &[Converted]) -> Report {
    files.iter().fold(Report::default(), |sum, file| Report {
        frames: sum.frames + file.report.frames,
        read: sum.read + file.report.read,
        leaves: sum.leaves + file.report.leaves,
        mapped: sum.mapped + file.report.mapped,
        kept: sum.kept + file.report.kept,
        lost: sum.lost + file.report.lost,
        errors: sum.errors + file.report.errors,
        damaged: sum.damaged + file.report.damaged,
        ..sum
    })
}

pub(crate) fn strict() -> String {
    format!("{RED}error{RED:#}: not everything came across, and `--strict` was asked for\n")
}

/// Whether a file is sound.
pub(crate) fn checked(name: &str, identity: &Identified, report: &Report) -> String {
    let mut text = format!("{name}: {} ({})", identity.dialect.name, identity.spec.role.word());
    if identity.how == How::Detected {
        let _ = write!(text, ", detected by {}", identity.dialect.detected_by);
    }
    let (style, verdict) = if report.errors == 0 { (GREEN, "sound") } else { (RED, "not sound") };
    let all = report.problems.len() as u64 + report.more_problems;
    let frames = match (identity.spec.framing, report.frames) {
        (Framing::Lines, 1) => "1 line".to_owned(),
        (Framing::Lines, lines) => format!("{} lines", number(lines)),
        (Framing::Sse | Framing::EventsOrArray, events) => format!("{} events", number(events)),
        (Framing::Whole, _) => "1 document".to_owned(),
        (Framing::LinesOrDocuments(_), 1) => "1 part".to_owned(),
        (Framing::LinesOrDocuments(_), parts) => format!("{} parts", number(parts)),
        // The head and the tail are no entries.
        (Framing::Documents(_), 3) => "1 entry".to_owned(),
        (Framing::Documents(_), parts) => format!("{} entries", number(parts.saturating_sub(2))),
    };
    let _ = writeln!(
        text,
        "\n{style}{verdict}{style:#}: {frames}, {}, {}, {}",
        leaves(report.leaves),
        plural(report.errors, "error"),
        plural(all - report.errors, "warning"),
    );
    notes(&mut text, report);
    problems(&mut text, "findings", report, identity.spec.framing, Weight::Said);
    text
}

pub(crate) fn plural(count: u64, word: &str) -> String {
    format!("{} {word}{}", number(count), if count == 1 { "" } else { "s" })
}

fn leaves(count: u64) -> String {
    format!("{} {}", number(count), if count == 1 { "leaf" } else { "leaves" })
}

/// `1,234,567`
pub(crate) fn number(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.char_indices() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A table: columns as wide as their widest cell, the last one free.
pub(crate) fn table(head: &[impl AsRef<str>], rows: &[impl AsRef<[String]>]) -> String {
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.as_ref().get(column)).map(|cell| cell.chars().count());
        cells.chain([head[column].as_ref().len()]).max().unwrap_or(0)
    };
    let last = head.len().saturating_sub(1);
    let widths: Vec<usize> =
        (0..head.len()).map(|column| if column == last { 0 } else { width(column) }).collect();
    let line = |cells: &mut dyn Iterator<Item = &str>| {
        let padded: Vec<String> = cells.zip(&widths).map(|(cell, width)| format!("{cell:width$}")).collect();
        padded.join("  ")
    };
    let bold = Style::new().bold();
    let mut text = format!("{bold}{}{bold:#}\n", line(&mut head.iter().map(AsRef::as_ref)));
    for row in rows {
        let _ = writeln!(text, "{}", line(&mut row.as_ref().iter().map(String::as_str)));
    }
    text
}

/// How a work order came out.
pub(crate) fn receipt(receipt: &Receipt) -> String {
    let colour = match receipt.outcome {
        Outcome::Complete => GREEN,
        Outcome::Partial => YELLOW,
        Outcome::Failed => RED,
    };
    let mut text = format!("{colour}{}{colour:#}: {}\n", receipt.outcome.word(), receipt.summary());
    for row in receipt.losses().iter().take(MOST) {
        let reason = row.reason.map_or("lost", |reason| reason.word());
        let _ = writeln!(text, "  lost {} ({reason})", row.path);
    }
    text
}

/// Whether a receipt holds.
pub(crate) fn findings(name: &str, found: &[Finding]) -> String {
    if found.is_empty() {
        return format!("{name}: {GREEN}valid{GREEN:#}\n");
    }
    let mut text = format!("{name}: {RED}not valid{RED:#}\n");
    for Finding { pointer, what } in found {
        let place = if pointer.is_empty() { "the receipt" } else { pointer };
        let _ = writeln!(text, "  {place}: {what}");
    }
    text
}

/// What two receipts say differently.
pub(crate) fn changes(changes: &[ReceiptChange]) -> String {
    let shown = |value: &Option<String>| value.clone().unwrap_or_else(|| "nothing".to_owned());
    let line = |(pointer, one, two): &ReceiptChange| format!("{pointer}: {} -> {}\n", shown(one), shown(two));
    changes.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_by_three() {
        let shown = [0, 999, 1000, 123_456, 1_234_567].map(number);
        assert_eq!(shown, ["0", "999", "1,000", "123,456", "1,234,567"]);
    }
}
