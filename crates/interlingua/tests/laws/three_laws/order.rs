//! The third law: the order of events is sound, wherever the input is cut or stops.

use crate::support::watch::{Look, watch};
use crate::support::{
    Case, Law, Outcome, Way, all_targets, convert, convert_pieces, effort, first_difference,
    fixtures_and_ours, full, is_asked, law_targets, main_target, on_two_threads, other_law_targets, same,
};
use interlingua::error::Code;

use super::{SOME, counts};

#[test]
fn events_come_in_order() {
    let mut law = Law::new("start < delta < completed, once each, inside what is open");
    for case in fixtures_and_ours() {
        let (seen, report) = watch(case.way, &case.bytes, Look::Order);
        law.holds(seen.breaches.is_empty(), || format!("{case}: {:?}", seen.breaches));
        let refused: Vec<_> =
            report.problems.iter().filter(|problem| problem.code == Code::Lifecycle).collect();
        law.holds(refused.is_empty(), || format!("{case}: the reader spoke out of order: {refused:?}"));
        law.holds(report.adds_up(), || format!("{case}: {}", counts(&report)));
        if let Some((_, _, why)) = RESULTS_WITHOUT_CALLS
            .iter()
            .find(|(dialect, name, _)| case.way.0.name == *dialect && case.name.ends_with(name))
        {
            law.holds(!seen.orphans.is_empty(), || format!("{case}: no longer excused: {why}"));
        } else if !case.is_derived() {
            law.holds(seen.orphans.is_empty(), || {
                format!("{case}: results without a call: {:?}", seen.orphans)
            });
        }
    }
    law.end();
}

/// Fixtures whose tool results belong to calls of another file: dialect, end of the path, reason.
const RESULTS_WITHOUT_CALLS: &[(&str, &str, &str)] =
    &[("anthropic", "request/orphans.json", "shows what becomes of a result without a call")];

#[test]
fn any_chunking_gives_the_same_bytes_and_the_same_report() {
    let mut law = Law::new("chunks of any size: same bytes, same report");
    let broken = on_two_threads(&fixtures_and_ours(), |case| {
        let mut broken = Vec::new();
        for (number, to) in law_targets(case).into_iter().enumerate() {
            let whole = convert(case.way, to, &case.bytes);
            let again = convert(case.way, to, &case.bytes);
            if again != whole {
                broken.push(format!("{case} -> {}: twice is not once", to.0.name));
            }
            // Chunks are joined independently of the target: all sizes are tested with one target, some with each of
            // the others.
            let sizes = [1, 2, 3, 7, 64, 333].into_iter().enumerate();
            let turn = number + case.bytes.len();
            let is_tried = |at: usize| full() || is_main(case, to) || (at + turn).is_multiple_of(3);
            for (_, size) in sizes.filter(|(at, _)| is_tried(*at)) {
                let out = convert_pieces(case.way, to, case.bytes.chunks(size));
                if out != whole {
                    let how = first_difference(&whole.bytes, &out.bytes);
                    broken.push(format!("{case} -> {} in chunks of {size}: {how}", to.0.name));
                }
            }
            // An empty chunk is not the end of the input.
            let pieces = case.bytes.chunks(41).flat_map(|piece| [&[][..], piece]);
            if convert_pieces(case.way, to, pieces) != whole {
                broken.push(format!("{case} -> {}: empty chunks change it", to.0.name));
            }
        }
        broken
    });
    law.gather(broken);
    law.end();
}

#[test]
fn every_cut_gives_the_same_bytes_and_the_same_report() {
    let mut law = Law::new("cut in two at any byte: same bytes, same report");
    let broken = on_two_threads(&fixtures_and_ours(), |case| {
        let mut broken = Vec::new();
        let others = other_law_targets(case);
        for (number, &to) in others.iter().enumerate() {
            let whole = convert(case.way, to, &case.bytes);
            let mut check = |how: &str, out: &Outcome| {
                if *out != whole {
                    let difference = first_difference(&whole.bytes, &out.bytes);
                    broken.push(format!("{case} -> {} {how}: {difference}", to.0.name));
                }
            };
            // Chunks with every possible offset: every position is a cut in one of these runs, with the main target and
            // with one other target. A sample has every fourth offset, others for each case.
            let is_sampled = |offset: usize| all_targets() || (offset + case.bytes.len()).is_multiple_of(4);
            let is_tried = |offset: usize| {
                full() || is_sampled(offset) && (is_main(case, to) || offset % others.len() == number)
            };
            for offset in (0..CHUNK).filter(|offset| is_tried(*offset)) {
                let (first, rest) = case.bytes.split_at(offset.min(case.bytes.len()));
                let pieces = std::iter::once(first).chain(rest.chunks(CHUNK));
                check(
                    &format!("cut at {offset} and each {CHUNK}th byte"),
                    &convert_pieces(case.way, to, pieces),
                );
            }
            // Single cuts, as far as time allows.
            let budget = effort(if is_main(case, to) && !case.is_derived() { SOME } else { FEW });
            for cut in places(case.bytes.len(), budget, number) {
                let (a, b) = case.bytes.split_at(cut);
                check(&format!("cut at {cut}"), &convert_pieces(case.way, to, [a, b]));
            }
        }
        broken
    });
    law.gather(broken);
    law.end();
}

#[test]
fn a_source_that_stops_anywhere_still_adds_up_in_order() {
    let mut law = Law::new("truncated at any byte: adds up, ends in order");
    let broken = on_two_threads(&fixtures_and_ours(), |case| {
        let mut broken = Vec::new();
        for end in ends(case) {
            let (seen, report) = watch(case.way, &case.bytes[..end], Look::Order);
            if !seen.breaches.is_empty() || !report.adds_up() {
                broken.push(format!("{case} up to {end}: {:?}, {}", seen.breaches, counts(&report)));
                break;
            }
            if let Some(how) = report.problems.iter().find(|problem| problem.code == Code::Lifecycle) {
                broken.push(format!("{case} up to {end}: the reader spoke out of order: {how:?}"));
                break;
            }
        }
        for (number, to) in law_targets(case).into_iter().enumerate() {
            for end in places(case.bytes.len(), effort(FEW), number) {
                let report = convert(case.way, to, &case.bytes[..end]).report;
                if !report.adds_up() {
                    broken.push(format!("{case} up to {end} -> {}: {}", to.0.name, counts(&report)));
                    break;
                }
            }
        }
        broken
    });
    law.gather(broken);
    law.end();
}

/// The distance of cuts where every position is tested.
const CHUNK: usize = 97;

/// The bytes that one fixture may convert with one target.
const FEW: usize = 256 << 10;

/// Positions in a text of that length: all while they cost less than `budget`, else evenly spread, and different for
/// each number.
fn places(length: usize, budget: usize, number: usize) -> impl Iterator<Item = usize> {
    let step = if full() { 1 } else { (length * length).div_ceil(budget).max(1) };
    // An even step would hit the same byte of every two-byte pair.
    let step = if step == 1 { 1 } else { step | 1 };
    // Seven has no common divisor with most steps.
    (number * 7 % step..=length).step_by(step)
}

/// Positions where a source may stop. Positions within a line are equivalent, so long lines are not tested at every
/// byte; but all positions around a line end are, where a frame may be complete without being recognised as complete.
fn ends(case: &Case) -> Vec<usize> {
    let bytes = &case.bytes;
    if !is_asked(case) {
        return vec![bytes.len()];
    }
    let reach = if all_targets() { 3 } else { 1 };
    let near = |end: usize| bytes[end.saturating_sub(reach)..(end + reach).min(bytes.len())].contains(&b'\n');
    let all = full() || bytes.len() <= effort(4 << 10);
    let budget = effort(if case.is_derived() { SOME / 4 } else { SOME });
    let mut ends: Vec<usize> = places(bytes.len(), budget, 0).collect();
    ends.extend((0..=bytes.len()).filter(|end| all || near(*end)));
    ends.push(bytes.len());
    ends.sort_unstable();
    ends.dedup();
    ends
}

fn is_main(case: &Case, to: Way) -> bool {
    main_target(case).is_some_and(|main| same(main, to))
}
