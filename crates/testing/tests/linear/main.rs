//! Twice the input costs twice as much, whatever its shape, so that no sender can craft an input that takes quadratic
//! time. Each hostile shape is converted at one size and at sixteen times that size; the cost per byte may not grow
//! with the input.
//!
//! Cost is the thread's CPU time, the bytes it has allocated, and the bytes it has written. A growth of 1 is linear, of
//! 16 quadratic. `cargo test -p interlingua-testing --test linear -- --nocapture` prints the growth of each case; with
//! `INTERLINGUA_FULL=1` it also runs very slow cases to their end, to measure their growth.

#![allow(missing_docs, reason = "not published")]
#![allow(clippy::cast_precision_loss, reason = "costs are compared by factors, not by bytes")]

mod cases;
mod measure;

use std::fmt::Write as _;

use cases::{
    AGENTS, AGENTS_HOSTILE, BODIES, CHILDREN, CLAUDE, CODEX, Case, LOGS, NOT_YET, OPEN, PIECES, RECORD,
    STREAMS, Side, TABLES, UNIVERSAL, Way,
};
use interlingua_testing::Counting;
use measure::{Growth, convert, full};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// From this growth on, a conversion is not linear: a tenth of the cost of the short input grows quadratically. Linear
/// conversions are between 0.6 and 1.3, or up to 2 if other programs compete for the caches.
const LIMIT: f64 = 2.5;
/// Below this growth, a row of [`NOT_YET`] has expired. Between the two limits, noise decides.
const EXPIRED: f64 = 1.3;

#[test]
fn streams_of_model_apis_are_linear() {
    hold(STREAMS);
}

#[test]
fn requests_and_answers_are_linear() {
    hold(BODIES);
}

#[test]
fn what_is_open_at_once_is_linear() {
    hold(OPEN);
}

#[test]
fn items_within_items_are_linear() {
    hold(CHILDREN);
}

#[test]
fn logs_are_linear() {
    hold(LOGS);
}

#[test]
fn logs_of_all_agents_are_linear() {
    hold(AGENTS);
}

#[test]
fn awkward_logs_of_all_agents_are_linear() {
    hold(AGENTS_HOSTILE);
}

#[test]
fn a_frame_in_small_pieces_is_linear() {
    hold(PIECES);
}

#[test]
fn each_row_of_not_yet_names_a_case() {
    for (shape, from, to, _) in NOT_YET {
        let named = |case: &Case| case.shape == *shape && case.from == *from && case.to.contains(to);
        let known = TABLES.iter().copied().flatten().any(named);
        assert!(known, "no such case: {shape}, {} to {}", from.0, to.0);
    }
}

/// Measures each case and collects the unexpected results. Without `INTERLINGUA_ALL`, which CI sets, a sixth of the cases
/// are measured.
fn hold(cases: &[Case]) {
    let step = if full() || std::env::var_os("INTERLINGUA_ALL").is_some() { 1 } else { 6 };
    let mut wrong = String::new();
    let pairs = cases.iter().flat_map(|case| case.to.iter().map(move |to| (case, *to)));
    for (case, to) in pairs.step_by(step) {
        let row = case.not_yet(to);
        let as_expected = |growth: &Growth| match row {
            Some(_) => growth.worst() >= EXPIRED,
            None => growth.worst() < LIMIT,
        };
        // A little more than needed to decide.
        let enough = 1.1 * if row.is_some() { EXPIRED } else { LIMIT };
        // A failed case is measured again, because the machine may have been busy.
        let mut growth = case.growth(to, enough);
        for _ in 0..2 {
            if !as_expected(&growth) {
                growth = case.growth(to, enough);
            }
        }
        let title = case.title(to);
        println!("{title}: {growth}");
        if as_expected(&growth) {
            continue;
        }
        let _ = match row {
            Some(before) => {
                writeln!(
                    wrong,
                    "{title}: {growth}; the worst was {before:.1}, and now it is linear: delete its row of NOT_YET"
                )
            }
            None => writeln!(wrong, "{title}: {growth}; from {LIMIT} on it is not linear"),
        };
    }
    assert!(wrong.is_empty(), "a byte costs more, or no longer more, in a longer input:\n{wrong}");
}

/// Short lines of a log: blank lines, and lines that become an entry or an event.
const SHORT_LINES: [&str; 7] = ["\n", "\r\n", " \n", "{}\n", "0\n", "x\n", "\u{1}\n"];

/// How many bytes may be written for each byte of the input.
const PER_BYTE: u64 = 8;
/// How many bytes may be written for a line that is not blank: as an entry, or as universal events.
const ENTRY: u64 = 256;
const EVENTS: u64 = 1 << 10;
/// How many bytes may be written in addition to all lines: the head and tail of a record.
const BESIDE: u64 = 4 << 10;

/// Lines whose output exceeds the limit, with the bytes written for each.
const NOT_YET_SHORT: &[(&str, Side, u64)] = &[];

#[test]
fn short_lines_become_little_more() {
    const COUNT: u64 = 10_000;
    let case = Case {
        shape: "short lines",
        make: |_| Vec::new(),
        from: CLAUDE,
        to: &[],
        most: 0,
        way: Way::Straight,
    };
    let mut wrong = String::new();
    for (line, to) in SHORT_LINES.into_iter().flat_map(|line| [RECORD, UNIVERSAL, CODEX].map(|to| (line, to)))
    {
        let input: String = (0..COUNT).map(|_| line).collect();
        let written = convert(input.as_bytes(), &case, to, None).written;
        let own = match line.trim() {
            "" => 0,
            _ if to == UNIVERSAL => EVENTS,
            _ => ENTRY,
        };
        let bound = PER_BYTE * input.len() as u64 + own * COUNT + BESIDE;
        let row = NOT_YET_SHORT.iter().find(|(known, side, _)| *known == line && *side == to);
        let found =
            format!("{line:?} to {}: {} bytes a line, bound {}", to.0, written / COUNT, bound / COUNT);
        println!("{found}");
        let _ = match row {
            None if written > bound => writeln!(wrong, "{found}"),
            Some((.., before)) if written <= bound => {
                writeln!(wrong, "{found}; it was {before}: delete its row of NOT_YET_SHORT")
            }
            None | Some(_) => Ok(()),
        };
    }
    assert!(wrong.is_empty(), "a short line becomes too much, or no longer too much:\n{wrong}");
}
