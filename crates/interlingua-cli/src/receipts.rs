//! Prose about work orders and receipts.

use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};
use interlingua::ledger::Reason;
use interlingua_record::contract::{Finding, Outcome, Receipt, ReceiptChange};
use interlingua_report::safe;

/// How many losses of a receipt are listed.
const MOST: usize = 20;

const RED: Style = AnsiColor::Red.on_default().bold();
const YELLOW: Style = AnsiColor::Yellow.on_default().bold();
const GREEN: Style = AnsiColor::Green.on_default().bold();

/// How a work order came out.
pub(crate) fn receipt(receipt: &Receipt) -> String {
    let colour = match receipt.outcome {
        Outcome::Complete => GREEN,
        Outcome::Partial => YELLOW,
        Outcome::Failed => RED,
    };
    let mut text =
        format!("{colour}{}{colour:#}: {}\n", receipt.outcome.word(), safe::exact_line(&receipt.summary()));
    for row in receipt.losses().iter().take(MOST) {
        let reason = row.reason.map_or("lost", Reason::phrase);
        let _ = writeln!(text, "  lost {} ({reason})", safe::exact_line(&row.path));
    }
    text
}

/// Whether a receipt holds, compared with so many files.
pub(crate) fn findings(name: &str, found: &[Finding], files: usize) -> String {
    let name = safe::exact_line(name);
    if found.is_empty() && files == 0 {
        return format!(
            "{name}: {GREEN}valid form{GREEN:#}; only the receipt itself was checked: its form and its own digest\n\
             hint: name the files that it is about (`--request`, `--sent`, `--response`, `--returned`, `--previous`) to compare them\n"
        );
    }
    if found.is_empty() {
        return format!("{name}: {GREEN}valid{GREEN:#}\n");
    }
    let mut text = format!("{name}: {RED}not valid{RED:#}\n");
    for Finding { pointer, what } in found {
        let place = if pointer.is_empty() { "the receipt" } else { pointer };
        let _ = writeln!(text, "  {}: {}", safe::exact_line(place), safe::exact_line(what));
    }
    text
}

/// What two receipts say differently.
pub(crate) fn changes(changes: &[ReceiptChange]) -> String {
    let shown =
        |value: &Option<String>| value.as_deref().map_or_else(|| "nothing".to_owned(), safe::exact_line);
    let line = |(pointer, one, two): &ReceiptChange| {
        format!("{}: {} -> {}\n", safe::exact_line(pointer), shown(one), shown(two))
    };
    changes.iter().map(line).collect()
}
