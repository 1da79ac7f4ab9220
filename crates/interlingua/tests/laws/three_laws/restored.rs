//! The second law for logs: the input can be restored from its record.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::support::compare::{as_in_records, in_records, is_unparsed};
use crate::support::damage::{Dice, mutate};
use crate::support::restructure::Restructured;
use crate::support::{
    Case, Law, Way, can_write, convert, convert_with, first_difference, fixtures, fixtures_and_ours, full,
    is_asked, on_two_threads, record, restorable,
};
use interlingua::dialects::{Options, Plane, Role};
use interlingua::error::Code;
use interlingua::fold::Transcript;
use interlingua::tape::Limits;

use super::counts;

#[test]
fn the_same_dialect_on_both_sides_passes_bytes_untouched() {
    let mut law = Law::new("same dialect, same bytes");
    for case in fixtures_and_ours().iter().filter(|case| can_write(case.way)) {
        let out = convert(case.way, case.way, &case.bytes);
        law.holds(out.bytes == case.bytes, || {
            format!("{case}: {}", first_difference(&case.bytes, &out.bytes))
        });
    }
    law.end();
}

#[test]
fn log_to_record_to_log_gives_the_same_bytes_back() {
    let mut law = Law::new("log -> record -> log: the same bytes, and no loss on the way back");
    for case in fixtures().iter().filter(|case| restorable(case)) {
        let record_bytes = restores(&mut law, &case.to_string(), case.way, &case.bytes);
        let back = convert(record(), case.way, &record_bytes).report;
        law.holds(back.lost == 0, || format!("{case}, back: {} {:?}", counts(&back), back.lost_paths));
    }
    law.end();
}

#[test]
fn a_damaged_log_comes_back_with_its_damage() {
    let mut law = Law::new("damaged log -> record -> log: the same bytes");
    let logs: Vec<(usize, Case)> =
        fixtures().into_iter().filter(|case| restorable(case) && is_asked(case)).enumerate().collect();
    let rounds = if full() { 5_000 } else { 150 };
    for (number, case) in &logs {
        for round in 0..rounds {
            let seed = (number * 1_000_003 + round) as u64;
            let bytes = mutate(&case.bytes, &mut Dice::new(seed));
            restores(&mut law, &format!("{case}, mutation {seed}"), case.way, &bytes);
        }
    }
    law.end();
}

#[test]
fn a_restructured_log_comes_back() {
    let mut law = Law::new("log with values of other types and places -> record -> log: the same bytes");
    let logs: Vec<Case> = fixtures().into_iter().filter(|case| restorable(case) && is_asked(case)).collect();
    let rounds = if full() { 2_000 } else { 30 };
    let [lines, verbatim] = [const { AtomicU64::new(0) }; 2];
    let broken = on_two_threads(&logs, |case| {
        let (source, mut broken) = (Restructured::new(&case.bytes), Vec::new());
        for round in 0..rounds {
            let (bytes, mutated) = source.mutation(&mut Dice::new(round));
            let out = convert(case.way, record(), &bytes);
            lines.fetch_add(mutated as u64, Ordering::Relaxed);
            verbatim.fetch_add(out.report.verbatim, Ordering::Relaxed);
            let back = convert(record(), case.way, &out.bytes);
            if back.bytes != bytes {
                broken.push(format!("{case}, mutation {round}: {}", first_difference(&bytes, &back.bytes)));
            }
            if out.report.lost > 0 || !out.report.adds_up() {
                broken.push(format!("{case}, mutation {round}: {}", counts(&out.report)));
            }
            let holes = back.report.problems.iter().any(|problem| problem.code == Code::UnfilledHole);
            if holes || !back.report.adds_up() {
                broken.push(format!("{case}, mutation {round}, back: {:?}", back.report.problems));
            }
        }
        broken
    });
    let (lines, verbatim) = (lines.into_inner(), verbatim.into_inner());
    // `cargo test` prints this with `--nocapture`.
    eprintln!("{lines} mutated lines, {verbatim} kept whole");
    // Without lines kept whole, the mutations are too weak to test anything.
    law.holds(verbatim > 0 || logs.len() < 10, || "no line had to be kept whole".to_owned());
    law.gather(broken);
    law.end();
}

#[test]
fn lines_over_a_limit_come_back_whole() {
    let mut law = Law::new("log -> record -> log with small limits: the same bytes, in any chunks");
    for case in fixtures().iter().filter(|case| restorable(case)) {
        for limits in [
            Limits { bytes: 250, ..Limits::default() },
            Limits { nodes: 25, ..Limits::default() },
            Limits { depth: 3, ..Limits::default() },
        ] {
            let options = Options::default().with_limits(limits);
            let out = convert_with(case.way, record(), [&case.bytes[..]], &options);
            law.holds(out.report.is_damaged(), || format!("{case}: nothing is over {limits:?}"));
            law.holds(out.report.adds_up() && out.report.lost == 0, || {
                format!("{case}: {}", counts(&out.report))
            });
            let back = convert(record(), case.way, &out.bytes).bytes;
            law.holds(back == case.bytes, || {
                format!("{case}, {limits:?}: {}", first_difference(&case.bytes, &back))
            });
            for size in [1, 97, 249, 250, 251, 4096] {
                let pieces = convert_with(case.way, record(), case.bytes.chunks(size), &options);
                law.holds(pieces == out, || {
                    let how = first_difference(&out.bytes, &pieces.bytes);
                    format!("{case}, {limits:?}, in chunks of {size}: {how}")
                });
            }
        }
    }
    law.end();
}

#[test]
fn record_to_log_to_record_gives_the_same_record_back() {
    let mut law = Law::new("record -> log -> record: the same record");
    for case in fixtures().iter().filter(|case| restorable(case)) {
        let first = convert(case.way, record(), &case.bytes).bytes;
        let log = convert(record(), case.way, &first).bytes;
        let second = convert(case.way, record(), &log).bytes;
        law.holds(first == second, || format!("{case}: {}", first_difference(&first, &second)));
    }
    law.end();
}

#[test]
fn a_log_and_its_record_say_the_same() {
    let mut law = Law::new("what a log says and what its record says fold to the same transcript");
    for case in fixtures().iter().filter(|case| case.way.0.plane == Plane::Log) {
        let record_bytes = convert(case.way, record(), &case.bytes).bytes;
        let (mut said, _) = Transcript::read(case.way, &case.bytes, &Options::default()).expect("readable");
        let (mut again, _) =
            Transcript::read(record(), &record_bytes, &Options::default()).expect("readable");
        let used = (in_records(&said.usage()), in_records(&again.usage()));
        law.holds(used.0 == used.1, || format!("{case}: used {:?}, in the record {:?}", used.0, used.1));
        said.items.iter_mut().chain(&mut again.items).for_each(as_in_records);
        said.items.retain(|item| !is_unparsed(item));
        law.holds(said.items.len() == again.items.len(), || {
            format!("{case}: {} items, {} in the record", said.items.len(), again.items.len())
        });
        for (number, (said, again)) in said.items.iter().zip(&again.items).enumerate() {
            law.holds(said == again, || {
                let (said, again) = (format!("{said:?}"), format!("{again:?}"));
                format!("{case}: item {number} {}", first_difference(said.as_bytes(), again.as_bytes()))
            });
        }
    }
    law.end();
}

#[test]
fn real_logs_come_back_and_stay_small() {
    let Some(corpus) = std::env::var_os("INTERLINGUA_CORPUS") else { return };
    let mut law = Law::new("real log -> record -> log: the same bytes, the record at most 1.3x the size");
    let mut folders = vec![std::path::PathBuf::from(corpus)];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("listed").path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            if path.extension().is_none_or(|extension| extension != "jsonl") {
                continue;
            }
            let bytes = std::fs::read(&path).expect("readable");
            let head = &bytes[..bytes.len().min(interlingua::sniff::HEAD)];
            let Some(guess) = interlingua::sniff::sniff(head, head.len() == bytes.len()) else { continue };
            let way = (guess.dialect, guess.role);
            if way.0.plane != Plane::Log || way.1 != Role::Log || !can_write(way) {
                continue;
            }
            let name = path.display().to_string();
            let out = restores(&mut law, &name, way, &bytes);
            let percent = out.len() * 100 / bytes.len().max(1);
            law.holds(percent <= 130 || bytes.len() < 16 << 10, || {
                format!("{name}: the record has {percent} % of the size")
            });
        }
    }
    law.end();
}

fn restores(law: &mut Law, name: &str, way: Way, bytes: &[u8]) -> Vec<u8> {
    let out = convert(way, record(), bytes);
    let back = convert(record(), way, &out.bytes);
    law.holds(back.bytes == bytes, || format!("{name}: {}", first_difference(bytes, &back.bytes)));
    law.holds(out.report.lost == 0 && out.report.adds_up(), || {
        format!("{name}: {} {:?}", counts(&out.report), out.report.lost_paths)
    });
    law.holds(back.report.adds_up(), || format!("{name}, back: {}", counts(&back.report)));
    out.bytes
}
