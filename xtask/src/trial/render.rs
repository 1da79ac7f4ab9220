//! All prose of a trial: the problems of a file, and the summary.

use std::fmt::Write as _;

use interlingua::dialects::Dialect;
use interlingua::error::{Problem, Severity, Window};
use interlingua::ledger::{Report, Row};

use super::tally::{Counted, Seen, TrialTally, Worst, ratio};
use super::{ComesBack, Difference, Trial, Tried};

/// How many entries of a list are printed before `… and N more`.
const MOST: usize = 20;

/// The problems of one file; empty if there are none.
pub(super) fn trial(name: &str, trial: &Trial) -> String {
    let mut text = String::new();
    match trial {
        Trial::Skipped(_) => {}
        Trial::Failed(why) => _ = writeln!(text, "{name}: {}", printable(why)),
        Trial::Tried(tried) => self::tried(&mut text, name, tried),
    }
    text
}

fn tried(text: &mut String, name: &str, tried: &Tried) {
    if let Some(other) = &tried.looks_like {
        let _ = writeln!(text, "{name}: looks like `{other}`, and is tried because it was named");
    }
    if let ComesBack::Differs(Difference { line, byte, was, is }) = &tried.comes_back {
        let _ = writeln!(text, "{name}: comes back otherwise from line {line}, byte {byte} on");
        let _ = writeln!(text, "    was  {}{}", was.before, was.after);
        let _ = writeln!(text, "    is   {}{}", is.before, is.after);
        caret(text, 9, was);
    }
    for (way, report) in [("to the record", &tried.there), ("back", &tried.back)] {
        if !report.adds_up() {
            let Report { leaves, mapped, kept, lost, .. } = report;
            let _ = writeln!(
                text,
                "{name}: the books of the way {way} do not add up: {leaves} leaves, {mapped} mapped, {kept} kept, {lost} lost"
            );
        }
    }
    // A loss on the way to the record or back is an error, because kept lines hold all that the dialect cannot build.
    for (way, report) in [("to the record", &tried.there), ("back", &tried.back)] {
        if let Some(Row { path, reason, first, .. }) = report.lost_paths.first() {
            let reason = reason.map_or("", |reason| reason.word());
            let _ = writeln!(
                text,
                "{name}: {} lost on the way {way}, most often `{}` ({reason}), first in {}",
                plural(report.lost, "leaf", "leaves"),
                printable(path),
                first.name(report.framing),
            );
        }
    }
    errors(text, &format!("{name}: its record"), &tried.back);
    errors(text, name, &tried.there);
}

/// The first error, and the number of errors.
fn errors(text: &mut String, name: &str, report: &Report) {
    let is_error = |problem: &&Problem| problem.code.severity() == Severity::Error;
    let Some(Problem { code, place, detail, window }) = report.problems.iter().find(is_error) else {
        return;
    };
    let place = place.name(report.framing);
    let detail = if detail.is_empty() { String::new() } else { format!(": {}", printable(detail)) };
    let more = match report.errors {
        1 => String::new(),
        errors => format!(", the first of {} errors", number(errors)),
    };
    let _ =
        writeln!(text, "{name}: {}: {} ({}){detail}{more}", printable(&place), code.message(), code.name());
    if !window.is_empty() {
        let _ = writeln!(text, "    {}{}", window.before, window.after);
        caret(text, 4, window);
    }
}

fn caret(text: &mut String, indent: usize, window: &Window) {
    let _ = writeln!(text, "{:width$}^", "", width = indent + window.before.chars().count());
}

/// The summary of all files.
pub(super) fn tally(dialect: &Dialect, tally: &TrialTally) -> String {
    let TrialTally { tried, failed, same, different, uncompared, unbalanced, .. } = tally;
    let mut text = format!("\n`{}`, through a record and back\n\n", dialect.name);
    let mut row = |what: &str, value: String| _ = writeln!(text, "{what:<10} {value}");
    row("files", with_more(number(tried + failed), &[("skipped", tally.skipped.total())]));
    row("identical", number(*same));
    row("different", number(*different));
    let others =
        [("not compared", *uncompared), ("failed", *failed), ("with books that do not add up", *unbalanced)];
    for (what, count) in others.into_iter().filter(|(_, count)| *count > 0) {
        row("", format!("{} {what}", number(count)));
    }
    row("bytes", number(tally.bytes));
    row("frames", with_more(number(tally.frames), &[("damaged", tally.damaged)]));
    if tally.bytes > 0 {
        let worst = tally.worst.as_ref();
        let worst = worst.map(|Worst { ratio, name, .. }| format!(", at worst {ratio:.2} ({name})"));
        let all = ratio(tally.record_bytes, tally.bytes);
        row("record", format!("{all:.2} times the size{}", worst.unwrap_or_default()));
    }
    let TrialTally { leaves, mapped, kept, lost, .. } = tally;
    let fates = [("mapped", *mapped), ("kept", *kept), ("lost", *lost)];
    row("leaves", format!("{}: {}", number(*leaves), list(&fates)));
    let TrialTally { messages, reasoning, calls, results, notices, .. } = tally;
    let kinds = [
        ("messages", *messages),
        ("reasoning", *reasoning),
        ("calls", *calls),
        ("results", *results),
        ("notices", notices.total()),
    ];
    row("items", list(&kinds));
    counted(&mut text, "skipped, by what they look like", &tally.skipped, MOST, |name, row| {
        [number(row.count), name.clone(), format!("first {}", row.first)]
    });
    counted(&mut text, "notices", notices, MOST, |word, row| {
        let word = if word.is_empty() { "(without a word)" } else { word };
        [number(row.count), printable(word), format!("first in {}", row.first)]
    });
    counted(&mut text, "kept", &tally.kept_paths, MOST, |path, row| {
        [number(row.count), printable(path), format!("{} bytes, first in {}", number(row.bytes), row.first)]
    });
    counted(&mut text, "lost", &tally.lost_paths, usize::MAX, |(path, reason), row| {
        let reason = reason.map_or("", |reason| reason.word());
        let first = format!("{reason}, {} bytes, first in {}", number(row.bytes), row.first);
        [number(row.count), printable(path), first]
    });
    let problem = |(code, detail): &(&'static str, String), row: &Seen| {
        let detail = if detail.is_empty() { String::new() } else { format!(": {detail}") };
        [number(row.count), printable(&format!("{code}{detail}")), format!("first in {}", row.first)]
    };
    counted(&mut text, "problems", &tally.problems, MOST, problem);
    if tally.more_problems > 0 {
        let more = number(tally.more_problems);
        let _ = writeln!(text, "  {more} more, beyond the first hundred of a file");
    }
    counted(&mut text, "errors in the records", &tally.problems_back, MOST, problem);
    text
}

/// A table of the most frequent entries.
fn counted<K: Ord>(
    text: &mut String,
    title: &str,
    counted: &Counted<K>,
    most: usize,
    row: impl Fn(&K, &Seen) -> [String; 3],
) {
    if counted.len() == 0 {
        return;
    }
    let rows: Vec<[String; 3]> =
        counted.by_count().into_iter().take(most).map(|(key, count)| row(key, count)).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let (first, second) = (width(0), width(1).min(60));
    let _ = writeln!(text, "\n{title}");
    for [count, what, place] in &rows {
        let _ = writeln!(text, "  {count:>first$}  {what:<second$}  {place}");
    }
    let left = counted.len() - rows.len();
    if left > 0 {
        let _ = writeln!(text, "  … and {} more", number(left as u64));
    }
    if counted.others > 0 {
        let _ =
            writeln!(text, "  … and {} times what there was no room to tell apart", number(counted.others));
    }
}

fn with_more(text: String, more: &[(&str, u64)]) -> String {
    more.iter()
        .filter(|(_, count)| *count > 0)
        .fold(text, |text, (what, count)| format!("{text}, {} {what}", number(*count)))
}

fn list(counts: &[(&str, u64)]) -> String {
    let words: Vec<String> =
        counts.iter().map(|(what, count)| format!("{} {what}", number(*count))).collect();
    words.join(", ")
}

fn plural(count: u64, one: &str, many: &str) -> String {
    format!("{} {}", number(count), if count == 1 { one } else { many })
}

/// `1,234,567`
fn number(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.char_indices() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A name from a file, safe to print: no line breaks, no control characters, and not too long.
pub(super) fn printable(name: &str) -> String {
    const LONGEST: usize = 120;
    let mut text: String = name.chars().take(LONGEST).collect();
    if text.len() < name.len() {
        text.push('…');
    }
    text.replace(|letter: char| letter.is_control(), "\u{fffd}")
}
