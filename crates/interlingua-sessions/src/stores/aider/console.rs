//! The messages that Aider prints: each has a line that begins with `>`. Messages with facts of the session are entries of
//! their own; all other messages that follow one another are one entry.

use super::super::document::Members;
use super::blocks::{Block, BlockKind, Line};
use super::{EntryWriter, put};

/// Writes the messages of a block as entries.
pub(super) fn write(block: &Block<'_>, writer: &mut EntryWriter<'_>) {
    let mut others: Vec<Line<'_>> = Vec::new();
    for message in messages(&block.lines) {
        let text = text_of(message);
        let Some((kind, members)) = fact(&text, writer) else {
            others.extend_from_slice(message);
            continue;
        };
        entry("console", &std::mem::take(&mut others), Members::default(), writer);
        entry(kind, message, members, writer);
    }
    entry("console", &others, Members::default(), writer);
}

fn entry(kind: &str, lines: &[Line<'_>], members: Members, writer: &mut EntryWriter<'_>) {
    if lines.is_empty() {
        return;
    }
    let text = text_of(lines);
    let n = writer.newline;
    let usual = text.split('\n').map(|line| match line {
        "" => format!(">  {n}"),
        line => format!("> {line}  {n}"),
    });
    let usual: String = usual.collect();
    writer.entry(kind, &text, members, &Block::of(BlockKind::Console, lines), &usual);
}

/// The messages of a block: a message ends with the line that ends with two spaces.
fn messages<'l, 'm>(lines: &'l [Line<'m>]) -> impl Iterator<Item = &'l [Line<'m>]> {
    let is_ended = |line: &Line<'_>| line.text.ends_with(b"  ");
    let is_stripped = !lines.iter().any(is_ended);
    let mut rest = lines;
    std::iter::from_fn(move || {
        let first = rest.first()?;
        let length = match rest.iter().position(is_ended) {
            _ if is_stripped || first.text.is_empty() => 1,
            Some(last) => last + 1,
            None => rest.len(),
        };
        let (message, others) = rest.split_at(length);
        rest = others;
        Some(message)
    })
}

/// The text of messages, without the marks of their lines.
fn text_of(lines: &[Line<'_>]) -> String {
    let cut = |line: &Line<'_>| {
        let text = line.text.strip_suffix(b"  ").unwrap_or(line.text);
        let text = text.strip_prefix(b">").map_or(text, |text| text.strip_prefix(b" ").unwrap_or(text));
        String::from_utf8_lossy(text).into_owned()
    };
    lines.iter().map(cut).collect::<Vec<_>>().join("\n")
}

/// The kind of a message with a fact, and the fact.
fn fact(text: &str, writer: &mut EntryWriter<'_>) -> Option<(&'static str, Members)> {
    let mut members = Members::default();
    let first = text.lines().next().unwrap_or_default();
    let kind = if let Some(version) = first.strip_prefix("Aider v") {
        put(&mut members, "version", version);
        "version"
    } else if let Some(model) = model(first) {
        put(&mut members, "model", model);
        "main-model"
    } else if let Some(counts) = text.strip_prefix("Tokens: ") {
        tokens(counts, &mut members)?;
        "tokens"
    } else if let Some(path) = first.strip_prefix("Applied edit to ") {
        put(&mut members, "path", path);
        if let Some(diff) = diff(&writer.answer, path) {
            put(&mut members, "diff", &diff);
        }
        "edit"
    } else if let Some(path) = added(first) {
        put(&mut members, "path", path);
        "added"
    } else if let Some(error) = first.strip_prefix("litellm.") {
        let name: String = error.chars().take_while(char::is_ascii_alphanumeric).collect();
        put(&mut members, "error", &name);
        "error"
    } else if first.starts_with("Model ") && first.ends_with(" has hit a token limit!") {
        members.raw("exhausted", "true");
        "exhausted"
    } else if matches!(first, "^C again to exit" | "^C KeyboardInterrupt") {
        writer.is_stopped = true;
        "stopped"
    } else {
        return None;
    };
    Some((kind, members))
}

/// The model of `Main model: NAME with diff edit format, …`.
fn model(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("Main model: ").or_else(|| line.strip_prefix("Model: "))?;
    rest.split_once(" with ").map(|(name, _)| name).filter(|name| !name.is_empty())
}

/// The file of `Added NAME to the chat`.
fn added(line: &str) -> Option<&str> {
    let line = line.strip_suffix('.').unwrap_or(line);
    let name = line.strip_prefix("Added ")?.strip_suffix(" to the chat")?;
    // Other messages count what was added.
    let is_count = name.contains(" of output")
        || name.starts_with(|first: char| first.is_ascii_digit()) && name.contains(' ');
    (!is_count).then_some(name)
}

/// Reads `1.2k sent, 300 received. Cost: $0.01 message, $0.02 session.`
fn tokens(counts: &str, members: &mut Members) -> Option<()> {
    let (counts, cost) =
        counts.split_once("Cost: ").map_or((counts, None), |(counts, cost)| (counts, Some(cost)));
    for counted in counts.trim_end().trim_end_matches('.').split(", ") {
        let (number, what) = counted.trim().split_once(' ')?;
        let name = match what.trim_end_matches('.') {
            "sent" => "sent",
            "received" => "received",
            "cache write" => "cacheWrite",
            "cache hit" => "cacheHit",
            _ => return None,
        };
        members.raw(name, &count(number)?.to_string());
    }
    let message = cost.and_then(|cost| cost.trim().strip_prefix('$')?.split_once(' '));
    let is_number =
        |cost: &str| cost.starts_with(|first: char| first.is_ascii_digit()) && cost.parse::<f64>().is_ok();
    if let Some((cost, _)) = message.filter(|(cost, _)| is_number(cost)) {
        members.raw("cost", cost);
    }
    Some(())
}

/// A count as Aider prints it: `841`, `2,997`, `1.2k`, `12k`.
fn count(printed: &str) -> Option<u64> {
    let Some(thousands) = printed.strip_suffix('k') else { return printed.replace(',', "").parse().ok() };
    let (whole, tenth) = thousands.split_once('.').unwrap_or((thousands, "0"));
    let tenth = (tenth.len() == 1).then(|| tenth.parse::<u64>().ok()).flatten()?;
    whole.replace(',', "").parse::<u64>().ok()?.checked_mul(1000)?.checked_add(tenth * 100)
}

/// The changes of an answer to a file as a diff: the lines of its blocks with `<<<<<<< SEARCH`.
fn diff(answer: &str, path: &str) -> Option<String> {
    let mut diff = String::new();
    let mut lines = answer.lines();
    // The two lines before a block: the path, and a code fence.
    let mut before = ["", ""];
    while let Some(line) = lines.next() {
        if !is_mark(line, '<', "SEARCH") {
            before = [before[1], line];
            continue;
        }
        let [two, one] = before;
        let named = if one.trim_start().starts_with("```") { two } else { one };
        let (mut old, mut new, mut is_new) = (Vec::new(), Vec::new(), false);
        for line in lines.by_ref() {
            if is_mark(line, '>', "REPLACE") {
                break;
            } else if is_mark(line, '=', "") && !is_new {
                is_new = true;
            } else if is_new {
                new.push(line);
            } else {
                old.push(line);
            }
        }
        before = ["", ""];
        if is_named(named, path) {
            write_hunk(&old, &new, &mut diff);
        }
    }
    (!diff.is_empty()).then_some(diff)
}

/// Whether a line is seven such characters and a word.
fn is_mark(line: &str, mark: char, word: &str) -> bool {
    let rest = line.trim_end().trim_start_matches(mark);
    let marks = line.trim_end().len() - rest.len();
    (5..=9).contains(&marks) && rest.trim_start() == word
}

/// Whether a line before a block names the file. Models write the path with marks of Markdown.
fn is_named(line: &str, path: &str) -> bool {
    let line = line.trim().trim_start_matches('#').trim_end_matches(':');
    line.trim().trim_matches(['*', '`']) == path
}

/// Writes a block as a hunk: equal lines at both ends are context.
fn write_hunk(old: &[&str], new: &[&str], diff: &mut String) {
    let same = old.iter().zip(new).take_while(|(old, new)| old == new).count();
    let most = old.len().min(new.len()) - same;
    let (old_end, new_end) = (old.iter().rev(), new.iter().rev());
    let after = old_end.zip(new_end).take(most).take_while(|(old, new)| old == new).count();
    let between = |lines: &[&str], mark: char, out: &mut String| {
        for line in lines.get(same..lines.len() - after).unwrap_or_default() {
            out.push(mark);
            out.push_str(line);
            out.push('\n');
        }
    };
    let context = |lines: &[&str], out: &mut String| {
        for line in lines {
            out.push(' ');
            out.push_str(line);
            out.push('\n');
        }
    };
    diff.push_str("@@\n");
    context(old.get(..same).unwrap_or_default(), diff);
    between(old, '-', diff);
    between(new, '+', diff);
    context(old.get(old.len() - after..).unwrap_or_default(), diff);
}
