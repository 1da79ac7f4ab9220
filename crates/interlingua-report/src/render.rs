//! All prose: messages about inputs, losses and problems. Colour only repeats the meaning of the words.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::io;

use anstyle::{AnsiColor, Style};
use interlingua::dialects::{Dialect, Role};
use interlingua::error::{Code, Problem, Severity};
use interlingua::framing::{FramePlace, Framing};
use interlingua::ledger::{ContentCounts, Report, Row};
use interlingua::sniff::{Candidates, Guess};

use crate::losses::{Detail, LossTable, UNPARSED};
use crate::summary::{NAMED_FILES, ProblemSort, Summary, Way, WorstFile};
use crate::{Converted, Explain, Identified, IdentifiedBy, safe};

/// How many entries of a list are printed before `… and N more`.
const MOST: usize = 20;
/// How many problems with the same code are printed for a conversion.
const MOST_ALIKE: usize = 5;
/// How many skipped files are named per reason.
const MOST_SKIPPED: usize = 5;
/// How many kinds of values are named in a sentence.
const MOST_FIELDS: usize = 4;

const RED: Style = AnsiColor::Red.on_default().bold();
const YELLOW: Style = AnsiColor::Yellow.on_default().bold();
const GREEN: Style = AnsiColor::Green.on_default().bold();
const CYAN: Style = AnsiColor::Cyan.on_default();
const DIM: Style = Style::new().dimmed();

/// An error with its hint.
pub fn error(error: &impl Explain) -> String {
    let mut text = format!("{RED}error{RED:#}: {}\n", safe::exact_line(&error.message()));
    if let Some(way_out) = error.hint() {
        hint(&mut text, "", &way_out);
    }
    text
}

fn hint(text: &mut String, indent: &str, way_out: &str) {
    let _ = writeln!(text, "{indent}{CYAN}hint{CYAN:#}: {}", safe::exact_line(way_out));
}

/// The dialect an input is read as, and how it was determined.
pub fn reading(name: &str, identity: &Identified) -> String {
    let Identified { dialect, spec, by, looks_like } = identity;
    let mut text = format!("reading {} as {} ({})", safe::exact_line(name), dialect.name, spec.role.word());
    if *by == IdentifiedBy::Detection {
        let _ = write!(text, ", detected by {}", dialect.detected_by);
    }
    text.push('\n');
    if let Some(other) = looks_like {
        let _ = writeln!(text, "{YELLOW}warning{YELLOW:#}: it looks like `{}`", other.name);
        hint(&mut text, "", "leave `--from` out to have the dialect detected");
    }
    text
}

/// The result of one file: a sentence, the counts, the losses, and the problems.
pub fn converted(file: &Converted, verbose: bool) -> String {
    if file.is_copy {
        return format!("copied unchanged: it is {} already\n", role_of(file.to));
    }
    let from = (file.from.dialect, file.from.spec.role);
    let mut text = format!("converted {} to {}", role_of(from), role_of(file.to));
    let kept = if verbose { KeptPaths::Listed } else { KeptPaths::Counted };
    body(&mut text, &file.report, Some(file.to), file.has_no_content(), Detail::of_one(verbose), kept);
    text
}

/// The result of one file in short: a sentence, the notes and the problems.
pub fn converted_briefly(file: &Converted) -> String {
    let from = (file.from.dialect, file.from.spec.role);
    let mut lost = LossTable::default();
    lost.add(&file.report.lost_paths, |_| None);
    let mut text = format!("converted {} to {}", role_of(from), role_of(file.to));
    text.push_str(&told(&file.report.content));
    text.push_str(&missed(&lost, &file.report, Some(file.to), file.has_no_content()));
    text.push('\n');
    notes(&mut text, &file.report.notes);
    problems(&mut text, "problems", &file.report, Weight::Unsaid);
    text
}

/// One report without its file: every lost path, and with `verbose` every kept one.
pub(crate) fn report(report: &Report, target: Option<(&Dialect, Role)>, verbose: bool) -> String {
    let mut text = "converted".to_owned();
    let kept = if verbose { KeptPaths::Listed } else { KeptPaths::Counted };
    body(&mut text, report, target, false, Detail::All, kept);
    text
}

/// Whether kept paths are listed, or only counted.
#[derive(Clone, Copy, PartialEq, Eq)]
enum KeptPaths {
    Listed,
    Counted,
}

fn body(
    text: &mut String,
    report: &Report,
    to: Option<(&Dialect, Role)>,
    is_empty: bool,
    detail: Detail,
    kept_paths: KeptPaths,
) {
    let place = |row: &Row| (!row.first.is_whole()).then(|| row.first.name(report.framing));
    let (mut lost, mut kept) = (LossTable::default(), LossTable::default());
    lost.add(&report.lost_paths, place);
    kept.add(&report.kept_paths, place);
    text.push_str(&told(&report.content));
    text.push_str(&missed(&lost, report, to, is_empty));
    let _ = writeln!(text, "\n{}", counts(report));
    text.push_str(&lost.text("lost", detail));
    if kept_paths == KeptPaths::Listed {
        text.push_str(&kept.text("kept", detail));
    }
    notes(text, &report.notes);
    let title = if kept_damage(report) { "problems, kept as they are" } else { "problems" };
    problems(text, title, report, Weight::Unsaid);
}

fn role_of((dialect, role): (&Dialect, Role)) -> String {
    format!("{} ({})", dialect.name, role.word())
}

/// The content of the output in numbers.
fn told(content: &ContentCounts) -> String {
    let ContentCounts { messages, reasoning, calls, results, failures, .. } = *content;
    let sorts = [
        (messages, "message"),
        (reasoning, "thought"),
        (calls, "call"),
        (results, "result"),
        (failures, "error"),
    ];
    let told: Vec<String> =
        sorts.iter().filter(|(count, _)| *count > 0).map(|(count, word)| plural(*count, word)).collect();
    match &told[..] {
        [] => String::new(),
        [only] => format!(": {only}"),
        [most @ .., last] => format!(": {} and {last}", most.join(", ")),
    }
}

/// The parts of the conversation that are missing in the output.
fn missed(table: &LossTable, report: &Report, to: Option<(&Dialect, Role)>, is_empty: bool) -> String {
    if is_empty {
        return format!("; {YELLOW}nothing of a conversation is in the output{YELLOW:#}");
    }
    let (missed, no_field) = table.missed(report.agents);
    if missed.is_empty() {
        return match (report.lost, table.has_unknown()) {
            (0, _) => format!("; {GREEN}nothing was lost{GREEN:#}"),
            (_, false) => format!("; {GREEN}nothing of the conversation was lost{GREEN:#}"),
            (_, true) => {
                format!("; {GREEN}nothing of the conversation was lost, as far as it was understood{GREEN:#}")
            }
        };
    }
    let shown = &missed[..missed.len().min(MOST_FIELDS)];
    let more = match missed.len() - shown.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let why = match to {
        Some((dialect, role)) if no_field => {
            format!(" ({} {}s have no field for them)", dialect.name, role.word())
        }
        Some(_) | None => String::new(),
    };
    format!("; {YELLOW}not carried over: {}{more}{why}{YELLOW:#}", shown.join(", "))
}

/// Whether all unparsed input is kept in the output.
fn kept_damage(report: &Report) -> bool {
    let unparsed = |rows: &[Row]| rows.iter().any(|row| row.path == UNPARSED);
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

fn more(text: &mut String, count: u64) {
    if count > 0 {
        let _ = writeln!(text, "  … and {} more", number(count));
    }
}

fn notes(text: &mut String, notes: &[(&str, u64)]) {
    if !notes.is_empty() {
        text.push_str("notes:\n");
    }
    for (what, count) in notes {
        let what = safe::exact_line(what);
        let _ = match count {
            1 => writeln!(text, "  {what}"),
            _ => writeln!(text, "  {what} ({} times)", number(*count)),
        };
    }
}

/// Whether problems are printed with their severity.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Weight {
    /// For a conversion, which continues after problems.
    Unsaid,
    /// For `check`, which judges the input.
    Said,
}

fn problems(text: &mut String, title: &str, report: &Report, weight: Weight) {
    if report.problems.is_empty() {
        return;
    }
    let _ = writeln!(text, "{title}:");
    // `check` lists most problems; a conversion lists a few of each kind.
    let most_alike = if weight == Weight::Said { MOST } else { MOST_ALIKE };
    let mut seen: Vec<Code> = Vec::new();
    let mut left = report.more_problems;
    for found in &report.problems {
        let alike = seen.iter().filter(|code| **code == found.code).count();
        if alike >= most_alike || seen.len() >= MOST {
            left += 1;
            continue;
        }
        seen.push(found.code);
        problem(text, found, report.framing, weight);
        // Print the hint once for each kind.
        if let Some(way_out) = found.code.hint().filter(|_| alike == 0) {
            hint(text, "    ", way_out);
        }
    }
    more(text, left);
}

fn problem(text: &mut String, problem: &Problem, framing: Framing, weight: Weight) {
    let Problem { code, place, detail, window, .. } = problem;
    let severity = code.severity();
    let style = if severity == Severity::Error { RED } else { YELLOW };
    let word = match weight {
        Weight::Unsaid => String::new(),
        Weight::Said => format!("{style}{}{style:#}: ", severity.word()),
    };
    let at = safe::exact_line(&place.name(framing));
    let detail = safe::exact_line(detail);
    let detail = if detail.is_empty() { String::new() } else { format!(": {detail}") };
    let _ = writeln!(text, "  {word}{at}: {} ({}){detail}", code.message(), code.name());
    if !window.is_empty() {
        let (before, after) = (safe::exact_line(&window.before), safe::exact_line(&window.after));
        let _ = writeln!(text, "    {DIM}{before}{DIM:#}{after}");
        let _ = writeln!(text, "    {:width$}{style}^{style:#}", "", width = before.chars().count());
    }
}

/// One line about one file of many.
pub fn converted_line(file: &Converted) -> String {
    let output = file.output.as_deref().map(safe::path_name).unwrap_or_default();
    let what = if file.is_copy { "copied unchanged".to_owned() } else { counts(&file.report) };
    format!("{} -> {}: {what}\n", safe::exact_line(&file.name), safe::exact_line(&output))
}

/// The summary of many files: grouped by source and target dialect, then in total.
pub fn summary<E: Explain>(summary: &Summary<E>, verbose: bool) -> String {
    let Summary { files, ways, skipped, failed, total, .. } = summary;
    let mut text = String::new();
    for way in ways {
        let detail = if ways.len() == 1 { Detail::of_one(verbose) } else { Detail::of_several(verbose) };
        text.push_str(&self::way(way, detail));
    }
    text.push_str(&self::skipped(skipped, verbose));
    let _ = write!(text, "converted {}", plural(*files, "file"));
    for (count, fate) in [(skipped.len(), "skipped"), (failed.len(), "failed")] {
        if count > 0 {
            let _ = write!(text, ", {fate} {}", number(count as u64));
        }
    }
    let _ = writeln!(text, "; {}", counts(total));
    text
}

fn way(way: &Way, detail: Detail) -> String {
    let Way { from, to, files, copies, counts, lost, kept, problems, incomplete, worst, empty } = way;
    let mut text = format!("{} of {} became {}", plural(*files, "file"), role_of(*from), role_of(*to));
    if copies == files {
        text.push_str(", unchanged\n");
        return text;
    }
    text.push_str(&told(&counts.content));
    text.push_str(&missed(lost, counts, Some(*to), empty.1 == *files));
    if *incomplete > 0 && empty.1 < *files {
        let _ = write!(text, ", in {}", plural(*incomplete, "file"));
    }
    text.push('\n');
    text.push_str(&lost.text("lost", detail));
    if detail == Detail::All {
        text.push_str(&kept.text("kept", detail));
    }
    if *files > 1 && !worst.is_empty() {
        text.push_str("worst files:\n");
    }
    let named = if matches!(detail, Detail::Conversation(_)) { 2 } else { NAMED_FILES };
    for file in worst.iter().take(named).filter(|_| *files > 1) {
        let WorstFile { name, conversation, damaged, lost, leaves } = file;
        let _ =
            write!(text, "  {}: lost {} of {}", safe::exact_line(name), number(*lost), self::leaves(*leaves));
        if *conversation > 0 {
            let _ = write!(text, ", {} of the conversation", number(*conversation));
        }
        if *damaged > 0 {
            let _ = write!(text, ", damaged in {}", plural(*damaged, "place"));
        }
        text.push('\n');
    }
    if empty.1 > 0 && empty.1 < *files {
        let files_named: Vec<String> = empty.0.iter().map(|name| safe::exact_line(name)).collect();
        let more = if empty.1 > files_named.len() as u64 { ", …" } else { "" };
        let what = "nothing of a conversation is in the output of";
        let _ = writeln!(text, "{what} {}: {}{more}", plural(empty.1, "file"), files_named.join(", "));
    }
    notes(&mut text, &counts.notes);
    problem_sorts(&mut text, problems, counts.more_problems);
    text
}

/// Problems of many files, one or two lines for each kind.
fn problem_sorts(text: &mut String, sorts: &[ProblemSort], more: u64) {
    if !sorts.is_empty() {
        text.push_str("problems:\n");
    }
    for ProblemSort { code, count, files, first: (name, framing, problem) } in sorts {
        let times = match (count, files) {
            (1, _) => "once".to_owned(),
            (times, files) => format!("{} times in {}", number(*times), plural(*files, "file")),
        };
        let place = place_in(name, problem.place.frame, &problem.place.name(*framing));
        let what = code.message();
        let _ = writeln!(text, "  {what} ({}): {times}, first in {}", code.name(), safe::exact_line(&place));
        if let Some(way_out) = code.hint() {
            hint(text, "    ", way_out);
        }
    }
    self::more(text, more);
}

/// The errors of failed files.
pub fn failed(files: &[(String, impl Explain)], all: bool) -> String {
    let shown = if all { files } else { &files[..files.len().min(MOST)] };
    let mut text: String = shown.iter().map(|(_, error)| self::error(error)).collect();
    if let more @ 1.. = files.len() - shown.len() {
        let _ = writeln!(text, "{RED}error{RED:#}: and {} more (`-v` lists them)", number(more as u64));
    }
    text
}

/// A place in one of many files.
pub(crate) fn place_in(file: &str, frame: FramePlace, name: &str) -> String {
    let file = short_name(file);
    if frame.is_whole() { file } else { format!("{file}, {name}") }
}

/// A file name shortened to fit into a line; its end is kept because it is the most specific part.
fn short_name(name: &str) -> String {
    const MOST: usize = 48;
    let length = name.chars().count();
    if length <= MOST {
        return name.to_owned();
    }
    let end: String = name.chars().skip(length - MOST).collect();
    // Cut at a path separator if there is a separator.
    format!("…{}", end.find('/').map_or(end.as_str(), |at| &end[at..]))
}

/// Skipped files, grouped by reason.
pub fn skipped(files: &[(String, impl Explain)], verbose: bool) -> String {
    let mut reasons: Vec<(String, Vec<&str>)> = Vec::new();
    let mut known = HashMap::new();
    for (name, error) in files {
        let reason = safe::exact_line(&error.reason_to_skip());
        let at = *known.entry(reason.clone()).or_insert(reasons.len());
        if at == reasons.len() {
            reasons.push((reason, Vec::new()));
        }
        reasons[at].1.push(name);
    }
    let mut text = String::new();
    for (reason, names) in &reasons {
        let shown =
            if verbose || names.len() <= MOST_SKIPPED { &names[..] } else { &names[..MOST_SKIPPED - 1] };
        for name in shown {
            let _ = writeln!(text, "skipped {}: {reason}", safe::exact_line(name));
        }
        if let more @ 1.. = names.len() - shown.len() {
            let _ = writeln!(text, "skipped {} more: {reason} (`-v` lists them)", number(more as u64));
        }
    }
    text
}

/// Why `--strict` fails the run.
pub fn strict<E>(summary: &Summary<E>) -> String {
    let Report { lost, errors, .. } = summary.total;
    let empty: u64 = summary.ways.iter().map(|way| way.empty.1).sum();
    let mut why = Vec::new();
    if lost > 0 {
        why.push(format!("{} not carried over", plural(lost, "value")));
    }
    if errors > 0 {
        why.push(format!("{} in the input", plural(errors, "error")));
    }
    if empty > 0 {
        why.push(format!("{} without content", plural(empty, "output")));
    }
    format!("{RED}error{RED:#}: `--strict`: {}\n", why.join(", "))
}

/// The scores of detection for a file, best first.
pub fn scores(name: &str, candidates: &Candidates) -> String {
    let mut text = format!(
        "{}: {}\n",
        safe::exact_line(name),
        match candidates.guesses.len() {
            0 => "no dialect matches".to_owned(),
            count => format!("{} considered", plural(count as u64, "dialect")),
        }
    );
    for Guess { dialect, role, score, documents, surest, .. } in &candidates.guesses {
        let documents = plural(u64::from(*documents), "document");
        let _ = writeln!(
            text,
            "  {score:>6}  {} ({}): {documents}, {surest} in the surest",
            dialect.name,
            role.word()
        );
    }
    if let Some(form) = candidates.unread {
        let _ = writeln!(text, "  known, but not read: {}", form.about);
    }
    text
}

/// The verdict of `check` for a file.
pub fn checked(name: &str, identity: &Identified, report: &Report) -> String {
    let name = safe::exact_line(name);
    let mut text = format!("{name}: {} ({})", identity.dialect.name, identity.spec.role.word());
    if identity.by == IdentifiedBy::Detection {
        let _ = write!(text, ", detected by {}", identity.dialect.detected_by);
    }
    let (style, verdict) = if report.errors == 0 { (GREEN, "sound") } else { (RED, "not sound") };
    let all = report.problems.len() as u64 + report.more_problems;
    let frames = match (identity.spec.framing, report.frames) {
        (Framing::Lines, 1) => "1 line".to_owned(),
        (Framing::Lines, lines) => format!("{} lines", number(lines)),
        (Framing::Sse | Framing::EventsOrArray, events) => format!("{} events", number(events)),
        (Framing::Whole, _) => "1 document".to_owned(),
        (Framing::LinesOrDocuments(..), 1) => "1 part".to_owned(),
        (Framing::LinesOrDocuments(..), parts) => format!("{} parts", number(parts)),
        // The head and the tail of a record are not entries.
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
    notes(&mut text, &report.notes);
    problems(&mut text, "findings", report, Weight::Said);
    text
}

/// How many files are sound, printed after the last of several files.
pub fn verdicts(sound: u64, not_sound: u64, unreadable: u64) -> String {
    let mut text = format!("checked {}", plural(sound + not_sound + unreadable, "file"));
    let (good, bad) = (GREEN, RED);
    for (count, style, verdict) in
        [(sound, good, "sound"), (not_sound, bad, "not sound"), (unreadable, bad, "not readable")]
    {
        if count > 0 {
            let _ = write!(text, ", {} {style}{verdict}{style:#}", number(count));
        }
    }
    text.push('\n');
    text
}

/// `1 file`, `2 files`
pub fn plural(count: u64, word: &str) -> String {
    format!("{} {word}{}", number(count), if count == 1 { "" } else { "s" })
}

/// `1 leaf`, `2 leaves`
pub fn leaves(count: u64) -> String {
    format!("{} {}", number(count), if count == 1 { "leaf" } else { "leaves" })
}

/// `1,234,567`
pub fn number(number: u64) -> String {
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

/// A table: columns as wide as their widest cell, the last column unpadded.
pub fn table(head: &[impl AsRef<str>], rows: &[impl AsRef<[String]>]) -> String {
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

/// An IO error in words, without the number and the capital of the system's message.
pub fn io_reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "no such file".to_owned(),
        io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        io::ErrorKind::IsADirectory => "it is a directory".to_owned(),
        io::ErrorKind::AlreadyExists => "it exists already".to_owned(),
        io::ErrorKind::FileTooLarge => "it would be larger than a file may be (`ulimit -f`)".to_owned(),
        io::ErrorKind::StorageFull => "no space is left".to_owned(),
        io::ErrorKind::ReadOnlyFilesystem => "nothing can be written there".to_owned(),
        io::ErrorKind::NotADirectory => "a part of its path is no directory".to_owned(),
        _ => error.to_string(),
    }
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
