//! The laws for input that no program wrote: mutated fixtures, any bytes, and known words in any order.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::support::damage::{Dice, mutate};
use crate::support::grammar::document;
use crate::support::watch::{Look, watch};
use crate::support::{
    Case, Law, can_read, can_write, convert, convert_pieces, effort, first_difference, fixtures_and_ours,
    full, is_asked, law_targets, on_two_threads, record,
};
use interlingua::dialects::{Plane, Role};
use interlingua::error::Code;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use super::counts;

#[test]
fn mutated_input_never_panics_and_still_adds_up() {
    let mut law = Law::new("mutated input: no panic, adds up, in order, same in pieces");
    let rounds = if full() { 5_000 } else { effort(100) };
    let cases: Vec<Case> = fixtures_and_ours().into_iter().filter(is_asked).collect();
    let broken = on_two_threads(&cases, |case| {
        let mut broken = Vec::new();
        let number = case.name.bytes().fold(7usize, |sum, byte| sum.wrapping_mul(31) + usize::from(byte));
        for round in 0..rounds {
            let seed = number.wrapping_add(round) as u64;
            let bytes = mutate(&case.bytes, &mut Dice::new(seed));
            // Each mutation is different for the reader; each target is tested with some of them.
            let targets = law_targets(case).into_iter().enumerate();
            for (_, to) in targets.filter(|(number, _)| full() || (number + round).is_multiple_of(MUTATED)) {
                let run = catch_unwind(AssertUnwindSafe(|| {
                    let whole = convert(case.way, to, &bytes);
                    let pieces = convert_pieces(case.way, to, bytes.chunks(97 + round));
                    (whole.report.adds_up(), pieces == whole, counts(&whole.report))
                }));
                match run {
                    Ok((true, true, _)) => {}
                    Ok((_, same, counts)) => broken.push(format!(
                        "{case}, mutation {seed} -> {}: {counts}, same in pieces: {same}",
                        to.0.name
                    )),
                    Err(_) => broken.push(format!("{case}, mutation {seed} -> {}: panic", to.0.name)),
                }
            }
            match catch_unwind(AssertUnwindSafe(|| watch(case.way, &bytes, Look::Order))) {
                Ok((watched, _)) if watched.breaches.is_empty() => {}
                Ok((watched, _)) => broken.push(format!("{case}, mutation {seed}: {:?}", watched.breaches)),
                Err(_) => broken.push(format!("{case}, mutation {seed}: panic while reading")),
            }
        }
        broken
    });
    law.gather(broken);
    law.end();
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: if full() { 4096 } else { 256 },
        // Fixed cases, unless the long form is requested.
        rng_seed: if full() { RngSeed::Random } else { RngSeed::Fixed(1) },
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn arbitrary_bytes_never_panic_and_still_add_up(
        bytes in proptest::collection::vec(any::<u8>(), 0..600),
        size in 1usize..64,
    ) {
        every_way(&bytes, size);
    }

    #[test]
    fn known_words_in_any_order_never_panic_still_add_up_and_come_back(
        bytes in proptest::collection::vec(any::<u8>(), 0..500),
        size in 1usize..64,
    ) {
        let document = document(&bytes);
        every_way(&document, size);
        comes_back(&document);
    }
}

#[test]
fn a_stream_cut_off_before_it_said_anything_still_adds_up() {
    every_way(b"data: null\n\ndata: {\"choices\":[null]}", 1);
}

/// Converts between any two dialects and roles of the same kind.
fn every_way(bytes: &[u8], size: usize) {
    for &dialect in interlingua::dialects::DIALECTS {
        for spec in dialect.roles.iter().filter(|spec| spec.read.is_some()) {
            let case = Case {
                way: (dialect, spec.role),
                name: String::new(),
                path: std::path::PathBuf::new(),
                bytes: bytes.to_vec(),
                made_from: Some((dialect, spec.role)),
            };
            for to in law_targets(&case) {
                let whole = convert(case.way, to, bytes);
                assert!(whole.report.adds_up(), "{case} -> {}: {}", to.0.name, counts(&whole.report));
                assert!(convert_pieces(case.way, to, bytes.chunks(size)) == whole, "{case} -> {}", to.0.name);
            }
        }
    }
}

/// Any input, read as a log, can be written to a record and restored, with no hole left unfilled.
fn comes_back(bytes: &[u8]) {
    for &dialect in interlingua::dialects::DIALECTS {
        let way = (dialect, Role::Log);
        if dialect.plane != Plane::Log || !can_read(way) || !can_write(way) {
            continue;
        }
        let out = convert(way, record(), bytes);
        let back = convert(record(), way, &out.bytes);
        assert!(back.bytes == bytes, "{}: {}", dialect.name, first_difference(bytes, &back.bytes));
        assert!(out.report.lost == 0, "{}: {:?}", dialect.name, out.report.lost_paths);
        let holes = back.report.problems.iter().any(|problem| problem.code == Code::UnfilledHole);
        assert!(!holes, "{}: a hole is left open: {:?}", dialect.name, back.report.problems);
    }
}

/// Each target is tested with one of this many mutations.
const MUTATED: usize = 4;
