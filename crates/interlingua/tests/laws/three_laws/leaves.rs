//! The first law: no leaf is lost silently.

use crate::support::books::find;
use crate::support::damage::perturb;
use crate::support::watch::{Look, SeenFrame, SeenLeaf, watch};
use crate::support::{
    Case, Law, convert, effort, first_difference, fixtures, fixtures_and_ours, full, is_asked, law_targets,
    on_two_threads, record, restorable,
};
use interlingua::dialects::Plane;

use super::{SOME, counts};

#[test]
fn leaves_add_up_to_every_target() {
    let mut law = Law::new("leaves in = mapped + kept + lost");
    for case in fixtures_and_ours() {
        for to in law_targets(&case) {
            let report = convert(case.way, to, &case.bytes).report;
            law.holds(report.adds_up(), || format!("{case} -> {}: {}", to.0.name, counts(&report)));
        }
    }
    law.end();
}

#[test]
fn a_log_loses_nothing_on_its_way_to_a_record() {
    let mut law = Law::new("log -> record: 0 lost, nothing unsound");
    for case in fixtures().iter().filter(|case| case.way.0.plane == Plane::Log) {
        let report = convert(case.way, record(), &case.bytes).report;
        law.holds(report.lost == 0, || format!("{case}: {:?}", report.lost_paths));
        law.holds(report.problems.is_empty(), || format!("{case}: {:?}", report.problems));
        law.holds(report.verbatim == 0, || format!("{case}: {} lines kept whole", report.verbatim));
        law.holds(report.kept == report.kept_paths.iter().map(|row| row.count).sum::<u64>(), || {
            format!("{case}: {} kept, but the paths name another number", report.kept)
        });
    }
    law.end();
}

#[test]
fn every_leaf_of_a_log_matters_to_the_record_and_comes_back() {
    let mut law = Law::new("another value in any leaf gives another record, and that value back");
    let logs: Vec<Case> = fixtures().into_iter().filter(|case| restorable(case) && is_asked(case)).collect();
    let broken = on_two_threads(&logs, |case| {
        let (seen, _) = watch(case.way, &case.bytes, Look::Leaves);
        let before = convert(case.way, record(), &case.bytes).bytes;
        let mut broken = Vec::new();
        each_leaf(case, &seen.frames, &mut |leaf, other| {
            let after = convert(case.way, record(), other).bytes;
            if after == before {
                broken.push(format!("{case}: `{}` is nowhere in the record", leaf.path));
            }
            let back = convert(record(), case.way, &after).bytes;
            if back != other {
                broken.push(format!("{case}: `{}`: {}", leaf.path, first_difference(other, &back)));
            }
        });
        broken
    });
    law.gather(broken);
    law.end();
}

/// Passes each leaf and the fixture with that leaf changed. Frames that are not literally in the source (the head of a
/// document cut into elements) are skipped.
fn each_leaf(case: &Case, frames: &[SeenFrame], visit: &mut dyn FnMut(&SeenLeaf, &[u8])) {
    let mut from = 0;
    let mut number = 0usize;
    let all: usize = frames.iter().map(|frame| frame.leaves.len()).sum();
    // The cost limit of one fixture.
    let step = if full() { 1 } else { (all * case.bytes.len()).div_ceil(effort(SOME)) };
    for frame in frames {
        let text = frame.text.as_bytes();
        let Some(at) = find(&case.bytes[from..], text) else { continue };
        let start = from + at;
        from = start + text.len();
        for leaf in &frame.leaves {
            number += 1;
            if !number.is_multiple_of(step) {
                continue;
            }
            let value = perturb(&frame.text[leaf.span.clone()], leaf.kind);
            let mut other = case.bytes[..start + leaf.span.start].to_vec();
            other.extend_from_slice(value.as_bytes());
            other.extend_from_slice(&case.bytes[start + leaf.span.end..]);
            visit(leaf, &other);
        }
    }
}
