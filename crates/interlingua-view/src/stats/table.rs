//! Statistics for people: tables of at most 80 columns, bars where they help.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};
use interlingua::model::time;
use interlingua_models::prices::{DOLLAR, Picodollars};
use interlingua_report::render::{number, plural};
use interlingua_report::safe;

use super::StatsReport;
use super::sums::{FileChanges, Spent, Statistics, ToolCounts};

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();
const RED: Style = AnsiColor::Red.on_default();
const CYAN: Style = AnsiColor::Cyan.on_default();

/// How many rows of a table are printed.
const MOST: usize = 20;

pub(super) fn write(overview: &StatsReport, verbose: bool) -> String {
    let most = if verbose { usize::MAX } else { MOST };
    let StatsReport { files, all, prices, .. } = overview;
    let spending = all.spending(prices);
    let mut text = String::new();
    head(&mut text, overview);
    let mut table = SpentTable::new("model");
    let mut models: Vec<_> = spending.by_model.iter().collect();
    models.sort_by_key(|(_, spent)| std::cmp::Reverse((spent.cost(), spent.tokens())));
    for (model, spent) in models {
        table.row(model.as_deref().unwrap_or("(not told)"), spent);
    }
    table.write(&mut text, &spending.total, most);
    let days: Vec<_> = spending.by_day.iter().rev().collect();
    if days.len() > 1 {
        by_day(&mut text, &days, most);
    }
    cost(&mut text, overview, &spending.total);
    tools(&mut text, all, most);
    changes(&mut text, &all.changed_files(), most);
    if verbose {
        let _ = writeln!(text, "\n{BOLD}files{BOLD:#}");
        for file in files {
            let _ = writeln!(
                text,
                "  {}: {}, {}, {}, {} ({} failed), {}, {}",
                safe::exact_line(&file.name),
                file.identity.dialect.name,
                plural(file.sessions, "session"),
                plural(file.turns, "turn"),
                plural(file.tools.calls, "call"),
                number(file.tools.failed),
                plural(file.spent.tokens(), "token"),
                shown_cost(&file.spent),
            );
        }
    }
    text
}

fn head(text: &mut String, overview: &StatsReport) {
    let StatsReport { files, all, .. } = overview;
    let mut dialects: Vec<&str> = files.iter().map(|file| file.identity.dialect.name).collect();
    dialects.sort_unstable();
    dialects.dedup();
    let _ = writeln!(
        text,
        "{BOLD}{}{BOLD:#} in {} ({})",
        plural(all.sessions.len() as u64, "session"),
        plural(files.len() as u64, "file"),
        shortened(&dialects.join(", "), 50)
    );
    if overview.copies > 0 {
        let _ = writeln!(text, "  copies       {}, counted once", plural(overview.copies, "file"));
    }
    if let Some([first, last]) = &all.span {
        let _ = writeln!(text, "  from         {} to {}", first.1, last.1);
    }
    let tools = all.all_tools();
    let _ = writeln!(
        text,
        "  time         {} in sessions, {} in tools",
        duration(all.session_millis()),
        duration(tools.millis)
    );
    let said = all.messages();
    let _ = writeln!(
        text,
        "  turns        {}\n  messages     {} to and {} of models, {} others; {}",
        number(all.turns()),
        number(said.user),
        number(said.assistant),
        number(said.other),
        plural(all.reasoning.len() as u64, "thought")
    );
    if !all.agents.is_empty() {
        let _ = writeln!(
            text,
            "  sub-agents   {}, with {}",
            number(all.agents.len() as u64),
            plural(all.agent_calls(), "tool call")
        );
    }
    if !all.permissions.is_empty() {
        let denied = all.permissions.values().filter(|denied| **denied).count();
        let _ = writeln!(
            text,
            "  permissions  {} asked, {} denied",
            number(all.permissions.len() as u64),
            number(denied as u64)
        );
    }
    if all.compactions() > 0 {
        let _ = writeln!(text, "  compactions  {}", number(all.compactions()));
    }
    let copied = all.copied.len() as u64;
    if copied > 0 {
        let _ = writeln!(text, "  copied       {} of other sessions, not counted", plural(copied, "item"));
    }
    let errors: u64 = files.iter().map(|file| file.errors).sum();
    if errors > 0 {
        let _ = writeln!(
            text,
            "  {RED}damage       {}{RED:#}; `interlingua check` says where",
            plural(errors, "error")
        );
    }
}

/// Tokens and costs by some key.
struct SpentTable {
    rows: Vec<[String; 8]>,
    key: &'static str,
}

impl SpentTable {
    const fn new(key: &'static str) -> Self {
        Self { rows: Vec::new(), key }
    }

    fn row(&mut self, key: &str, spent: &Spent) {
        let Spent { input, cache_read, cache_write, cache_write_long, output, reasoning, .. } = *spent;
        let counts = [input, cache_read, cache_write, cache_write_long, output, reasoning].map(short);
        let [input, read, write, long, output, reasoning] = counts;
        self.rows.push([shortened(key, 20), input, read, write, long, output, reasoning, shown_cost(spent)]);
    }

    fn write(mut self, text: &mut String, total: &Spent, most: usize) {
        if self.rows.is_empty() {
            return;
        }
        let _ = writeln!(text, "\n{BOLD}tokens{BOLD:#} {}", number(total.tokens()));
        let more = self.rows.len().saturating_sub(most);
        self.rows.truncate(most);
        let _ = write!(text, "  {DIM}{:20}", self.key);
        for head in ["input", "cached", "written", "(long)", "output", "(think)"] {
            let _ = write!(text, " {head:>7}");
        }
        let _ = writeln!(text, " {:>9}{DIM:#}", "cost");
        if self.rows.len() + more > 1 {
            self.row("total", total);
        }
        for row in &self.rows {
            let [key, counts @ .., cost] = row;
            let _ = write!(text, "  {key:20}");
            for count in counts {
                let _ = write!(text, " {count:>7}");
            }
            let _ = writeln!(text, " {cost:>9}");
        }
        and_more(text, more);
    }
}

fn by_day(text: &mut String, days: &[(&Option<u64>, &Spent)], most: usize) {
    let largest = days.iter().map(|(_, spent)| spent.tokens()).max().unwrap_or(0);
    let _ = writeln!(text, "\n{BOLD}days{BOLD:#} (UTC)");
    for (day, spent) in days.iter().take(most) {
        let name =
            day.map_or_else(|| "(not told)".to_owned(), |day| time::date(day.saturating_mul(86_400_000)));
        let (tokens, cost) = (short(spent.tokens()), shown_cost(spent));
        let _ = writeln!(text, "  {name:10}  {tokens:>7} {cost:>9}  {}", bar(spent.tokens(), largest, 46));
    }
    and_more(text, days.len().saturating_sub(most));
}

/// The sources of the cost, and the tokens without a known cost.
fn cost(text: &mut String, overview: &StatsReport, total: &Spent) {
    if total.responses == 0 {
        return;
    }
    let prices = &overview.prices;
    let _ = writeln!(text, "\n{BOLD}cost{BOLD:#} {}", shown_cost(total));
    if total.told > 0 {
        let _ = writeln!(text, "  {} as the logs tell", dollars(total.told));
    }
    if total.computed > 0 {
        let _ = writeln!(text, "  {} computed with prices of {}", dollars(total.computed), prices.date);
        let _ = writeln!(text, "    {DIM}({}){DIM:#}", shortened(&prices.source, 74));
    }
    let spending = overview.all.spending(prices);
    if total.estimated_tokens > 0 {
        let estimated = spending.by_model.iter().filter(|(_, spent)| spent.estimated_tokens > 0);
        let names: Vec<String> = estimated
            .filter_map(|(model, _)| {
                let model = model.as_deref()?;
                Some(format!("{model} as {}", prices.stand_in_for(model)?))
            })
            .collect();
        let _ = writeln!(
            text,
            "  {} estimated for {}, with prices of the same family:\n    {}",
            dollars(total.estimated),
            plural(total.estimated_tokens, "token"),
            shortened(&names.join(", "), 76)
        );
    }
    if total.unpriced > 0 {
        let unpriced = spending.by_model.iter().filter(|(_, spent)| spent.unpriced > 0);
        let names: Vec<&str> = unpriced.map(|(model, _)| model.as_deref().unwrap_or("(not told)")).collect();
        let _ = writeln!(
            text,
            "  unknown for {} with {}, which have no price:\n    {}",
            plural(total.unpriced, "response"),
            plural(total.unpriced_tokens, "token"),
            shortened(&names.join(", "), 76)
        );
    }
    if overview.all.repeated > 0 {
        let _ =
            writeln!(text, "  {} in several files, counted once", plural(overview.all.repeated, "response"));
    }
}

fn tools(text: &mut String, all: &Statistics, most: usize) {
    let mut tools: Vec<_> = all.tools().into_iter().collect();
    if tools.is_empty() {
        return;
    }
    // The sort is stable, so equal counts stay in the order of names.
    tools.sort_by_key(|(_, counts)| std::cmp::Reverse(counts.calls));
    let sum = all.all_tools();
    let largest = tools.first().map_or(0, |(_, counts)| counts.calls);
    let _ = writeln!(
        text,
        "\n{BOLD}tools{BOLD:#} {}, {} failed ({} said so, {} by exit code)",
        plural(sum.calls, "call"),
        number(sum.failed),
        number(sum.errors),
        number(sum.bad_exits)
    );
    let _ = writeln!(
        text,
        "  {DIM}{:22} {:>7} {:>7} {:>7} {:>9} {:>7}{DIM:#}",
        "tool", "calls", "ok", "failed", "no result", "time"
    );
    let row = |text: &mut String, name: &str, counts: &ToolCounts, bar: &str| {
        let ToolCounts { calls, ok, failed, no_result, millis, .. } = *counts;
        let style = if failed > 0 { RED } else { Style::new() };
        let line = format!(
            "  {:22} {:>7} {:>7} {style}{:>7}{style:#} {:>9} {:>7}  {bar}",
            shortened(name, 22),
            short(calls),
            short(ok),
            short(failed),
            short(no_result),
            duration(millis)
        );
        let _ = writeln!(text, "{}", line.trim_end());
    };
    for (name, counts) in tools.iter().take(most) {
        let bar = bar(counts.calls, largest, 12);
        row(text, name.as_deref().unwrap_or("(call not here)"), counts, &bar);
    }
    and_more(text, tools.len().saturating_sub(most));
    if tools.len() > 1 {
        row(text, "total", &sum, "");
    }
}

fn changes(text: &mut String, files: &BTreeMap<&str, FileChanges>, most: usize) {
    if files.is_empty() {
        return;
    }
    let sum = |count: fn(&FileChanges) -> u64| files.values().map(count).sum();
    let _ = writeln!(
        text,
        "\n{BOLD}files changed{BOLD:#} {}, +{} -{}",
        number(files.len() as u64),
        number(sum(|file| file.added)),
        number(sum(|file| file.removed))
    );
    let untold: u64 = sum(|file| file.untold);
    if untold > 0 {
        let _ = writeln!(
            text,
            "  {DIM}without {}, of which the logs do not tell what they were{DIM:#}",
            plural(untold, "change")
        );
    }
    let mut files: Vec<_> = files.iter().collect();
    files.sort_by_key(|(_, file)| std::cmp::Reverse(file.times));
    for (path, FileChanges { times, untold: _, added, removed }) in files.iter().take(most) {
        let lines = format!("+{} -{}", short(*added), short(*removed));
        let _ = writeln!(text, "  {:>5} {lines:>17}  {}", format!("{}x", number(*times)), tail(path, 52));
    }
    and_more(text, files.len().saturating_sub(most));
}

fn and_more(text: &mut String, more: usize) {
    if more > 0 {
        let _ = writeln!(text, "  … and {} more; `-v` shows all", number(more as u64));
    }
}

/// A bar of blocks proportional to the count, at most `width` wide and at least a thin block.
fn bar(count: u64, largest: u64, width: u64) -> String {
    if count == 0 || largest == 0 {
        return String::new();
    }
    let blocks = (u128::from(count) * u128::from(width) / u128::from(largest)) as usize;
    let bar = if blocks == 0 { "▏".to_owned() } else { "█".repeat(blocks) };
    format!("{CYAN}{bar}{CYAN:#}")
}

/// A count in at most seven characters: `999,999`, `12.86M`.
fn short(count: u64) -> String {
    if count < 1_000_000 {
        return number(count);
    }
    let (unit, word) = match count {
        0..1_000_000_000 => (1_000_000, "M"),
        1_000_000_000..1_000_000_000_000 => (1_000_000_000, "G"),
        _ => (1_000_000_000_000, "T"),
    };
    let (whole, thousandths) = (count / unit, count % unit / (unit / 1000));
    match whole {
        0..10 => format!("{whole}.{thousandths:03}{word}"),
        10..100 => format!("{whole}.{:02}{word}", thousandths / 10),
        100..1000 => format!("{whole}.{:01}{word}", thousandths / 100),
        _ => format!("{whole}{word}"),
    }
}

/// The known cost: `≥` before it if a part is unknown, `~` if a part is estimated.
pub(super) fn shown_cost(spent: &Spent) -> String {
    let about = if spent.estimated_tokens > 0 { "~" } else { "" };
    match (spent.unpriced, spent.responses) {
        (0, 0) => "-".to_owned(),
        (unpriced, responses) if unpriced == responses => "unknown".to_owned(),
        (0, _) => format!("{about}{}", dollars(spent.cost())),
        _ => format!("≥{about}{}", dollars(spent.cost())),
    }
}

/// `$7.99`, rounded to cents; less than a cent with more digits.
fn dollars(cost: Picodollars) -> String {
    let cent = DOLLAR / 100;
    match cost {
        0 => "$0.00".to_owned(),
        cost if cost < cent / 100 => "<$0.0001".to_owned(),
        cost if cost < cent => format!("$0.{:04}", (cost + cent / 200) / (cent / 100)),
        cost => {
            let cents = (cost + cent / 2) / cent;
            format!("${}.{:02}", number(u64::try_from(cents / 100).unwrap_or(u64::MAX)), cents % 100)
        }
    }
}

/// `1h 02m`, `3m 20s`, `1.5s`, `80ms`.
fn duration(millis: u64) -> String {
    let seconds = millis / 1000;
    match seconds {
        0 => format!("{millis}ms"),
        1..60 => format!("{seconds}.{}s", millis % 1000 / 100),
        60..3600 => format!("{}m {:02}s", seconds / 60, seconds % 60),
        3600..360_000 => format!("{}h {:02}m", seconds / 3600, seconds / 60 % 60),
        _ => format!("{}d {:02}h", seconds / 86_400, seconds / 3600 % 24),
    }
}

/// The beginning of a text, for people.
fn shortened(text: &str, most: usize) -> String {
    let text = safe::exact_line(text);
    if text.chars().count() <= most {
        return text;
    }
    text.chars().take(most - 1).chain(['…']).collect()
}

/// The end of a path, which is more specific than its beginning.
fn tail(path: &str, most: usize) -> String {
    let path = safe::exact_line(path);
    let count = path.chars().count();
    if count <= most {
        return path;
    }
    let end: String = path.chars().skip(count - most + 1).collect();
    format!("…{end}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_fit_seven_characters() {
        let shown =
            [0, 999_999, 1_000_000, 12_864_089, 128_640_890, 1_286_408_900, 999_999_999_999].map(short);
        assert_eq!(shown, ["0", "999,999", "1.000M", "12.86M", "128.6M", "1.286G", "999.9G"]);
        assert!(short(u64::MAX).len() <= 10);
    }

    #[test]
    fn money_is_rounded_to_cents_and_never_to_nothing() {
        let shown =
            [0, 1, DOLLAR / 10_000, DOLLAR / 250, DOLLAR / 100, 7_995_604_500_000, 1_234_567 * DOLLAR]
                .map(dollars);
        assert_eq!(shown, ["$0.00", "<$0.0001", "$0.0001", "$0.0040", "$0.01", "$8.00", "$1,234,567.00"]);
    }

    #[test]
    fn durations_have_two_units() {
        let shown = [0, 80, 1500, 200_000, 3_720_000, 400_000_000].map(duration);
        assert_eq!(shown, ["0ms", "80ms", "1.5s", "3m 20s", "1h 02m", "4d 15h"]);
    }

    #[test]
    fn names_are_cut_where_they_say_least() {
        assert_eq!(shortened("a\u{1b}[31m", 9), "a␛[31m");
        assert_eq!(shortened("abcdef", 4), "abc…");
        assert_eq!(tail("abcdef", 4), "…def");
    }
}
