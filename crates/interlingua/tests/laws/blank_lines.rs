//! A blank line at the end of a log holds no value: the report and the output are the same as without the blank line, and
//! a record restores the line.

use interlingua::dialects::{Plane, Role};
use interlingua::ledger::{Report, Row};

use crate::support::books::Source;
use crate::support::leaves::counting_law;
use crate::support::{Case, Law, Way, convert, fixtures, other_law_targets, restorable, same};

/// How many fixtures of a dialect are tested: the smallest.
const FIXTURES: usize = 3;

#[test]
fn a_blank_last_line_is_neither_counted_nor_lost() {
    let mut law = Law::new("a blank last line changes no count, no row and no output");
    for case in logs() {
        let blank = with_blank_line(&case);
        let source = Source::of(&blank);
        for to in other_law_targets(&case) {
            let (without, with) = (convert(case.way, to, &case.bytes), convert(case.way, to, &blank.bytes));
            let [before, after] = [&without.report, &with.report].map(books);
            law.holds(before == after, || format!("{case} -> {}: {before:?} became {after:?}", to.0.name));
            law.holds(counting_law(&source, to).is_empty(), || {
                format!("{case} -> {}: {:?}", to.0.name, counting_law(&source, to))
            });
            // A record and universal events keep the line.
            let keeps = to.0.plane == Plane::Ours;
            law.holds(keeps || without.bytes == with.bytes, || format!("{case} -> {}: output", to.0.name));
            let gives_back = to.0.name == "record" && restorable(&case);
            law.holds(!gives_back || restored(&blank, to) == blank.bytes, || {
                format!("{case}: not restored from `{}`", to.0.name)
            });
        }
    }
    law.end();
}

/// The smallest fixtures of every log dialect.
fn logs() -> Vec<Case> {
    let mut cases = fixtures();
    let is_log = |case: &Case| case.way.0.plane == Plane::Log && case.way.1 == Role::Log;
    cases.retain(|case| is_log(case) && case.bytes.ends_with(b"\n"));
    cases.sort_by_key(|case| (case.way.0.name, case.bytes.len()));
    let mut few: Vec<Case> = Vec::new();
    for case in cases {
        if few.iter().filter(|other| same(other.way, case.way)).count() < FIXTURES {
            few.push(case);
        }
    }
    few
}

fn with_blank_line(case: &Case) -> Case {
    let mut blank = case.clone();
    blank.bytes.push(b'\n');
    blank
}

fn restored(case: &Case, through: Way) -> Vec<u8> {
    convert(through, case.way, &convert(case.way, through, &case.bytes).bytes).bytes
}

/// The counts of a report, and its rows with their counts.
fn books(report: &Report) -> ([u64; 4], Vec<(String, u64)>) {
    let Report { leaves, mapped, kept, lost, kept_paths, lost_paths, .. } = report;
    let rows = kept_paths.iter().chain(lost_paths).map(|row: &Row| (row.path.clone(), row.count));
    ([*leaves, *mapped, *kept, *lost], rows.collect())
}
