//! Readers of running agents: a streamed piece allocates nothing, and memory does not grow with the session. Every live
//! dialect of the registry is measured, over the sessions of its fixtures.

#![allow(missing_docs, reason = "not published")]

use interlingua::dialects::{DIALECTS, Dialect, Options, Plane, Role};
use interlingua::model::{Arrival, Event};
use interlingua::pipe::EventReader;
use interlingua_testing::generate::live::{LiveSession, sessions};
use interlingua_testing::{Counting, counts, restart};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn live() -> impl Iterator<Item = &'static Dialect> {
    DIALECTS.iter().copied().filter(|dialect| dialect.plane == Plane::Live)
}

fn reader(dialect: &'static Dialect) -> EventReader {
    EventReader::new((dialect, Role::Live), &Options::default()).expect("a live reader")
}

/// The number of times that a piece is repeated.
const PIECES: u64 = 4_096;
/// The text of an open item grows by doubling, in a reader that compares the whole text with its pieces.
const DOUBLINGS: u64 = 16;

/// A piece of text is repeated many times: only buffers that hold the text grow, by doubling.
#[test]
fn a_streamed_piece_allocates_nothing() {
    let mut streaming = Vec::new();
    let mut wrong = Vec::new();
    for dialect in live() {
        let mut most = None;
        for session in sessions(&dialect.folder()) {
            most = most.max(piece_allocations(dialect, &session));
        }
        let Some(most) = most else { continue };
        println!("{}: at most {most} allocations for {PIECES} pieces", dialect.name);
        streaming.push(dialect.name);
        if most > DOUBLINGS {
            wrong.push(format!("{}: {most} allocations for {PIECES} pieces", dialect.name));
        }
    }
    assert!(streaming.len() >= 8, "too few dialects stream: {streaming:?}");
    assert!(wrong.is_empty(), "{wrong:?}");
}

/// The most allocations for [`PIECES`] copies of a frame that is only a streamed piece; `None` without such a frame.
fn piece_allocations(dialect: &'static Dialect, session: &LiveSession) -> Option<u64> {
    let mut reader = reader(dialect);
    let mut most = None;
    for frame in session.round(0) {
        let (mut pieces, mut others) = (0, 0);
        reader.push(frame.as_bytes(), |event| match event {
            Event::ItemDelta(delta) if delta.arrival == Arrival::Streamed => pieces += 1,
            _ => others += 1,
        });
        if pieces == 0 || others > 0 {
            continue;
        }
        let before = counts().calls;
        for _ in 0..PIECES {
            reader.push(frame.as_bytes(), |_| {});
        }
        most = most.max(Some(counts().calls - before));
    }
    most
}

/// The ledger adds to the rows of the last frame of a shape if the claims are the same; a trace settles each value.
#[test]
fn a_report_is_the_same_with_and_without_known_settlements() {
    for dialect in live() {
        let report = |trace| {
            let mut options = Options::default();
            options.trace = trace;
            let mut reader = EventReader::new((dialect, Role::Live), &options).expect("a live reader");
            for number in 0..4 {
                for frame in sessions(&dialect.folder()).iter().flat_map(|session| session.round(number % 3))
                {
                    reader.push(frame.as_bytes(), |_| {});
                }
            }
            let report = reader.finish(|_| {});
            assert!(report.adds_up(), "{}", dialect.name);
            let counts = [report.leaves, report.mapped, report.kept, report.lost];
            (counts, format!("{:#?} {:#?}", report.kept_paths, report.lost_paths))
        };
        assert_eq!(report(false), report(true), "{}", dialect.name);
    }
}

/// The bytes of a session, and the memory that a reader may hold beside its largest frame.
const SESSION: u64 = 1 << 20;
const HELD: i64 = 256 << 10;
/// The growth from the first half of a session to the second, which leaves out the tables of known ids.
const GROWTH: i64 = 16 << 10;

#[test]
fn memory_does_not_grow_with_the_session() {
    for dialect in live() {
        let mut measured = 0;
        for session in sessions(&dialect.folder()) {
            measured += 1;
            let (first, second) = halves(dialect, &session);
            println!("{} {}: {} KB, then {} KB", dialect.name, session.name, first >> 10, second >> 10);
            assert!(second < HELD, "{} {}: {} KB held", dialect.name, session.name, second >> 10);
            assert!(
                second < first + GROWTH,
                "{} {}: {} KB in the first half, {} KB in the second",
                dialect.name,
                session.name,
                first >> 10,
                second >> 10
            );
        }
        assert!(measured > 0, "{}: no fixture", dialect.name);
    }
}

/// The most bytes that a reader holds in the first half of a long session, and in the second.
fn halves(dialect: &'static Dialect, session: &LiveSession) -> (i64, i64) {
    let base = counts().live;
    let mut reader = reader(dialect);
    let (mut own, mut most, mut done, mut number) = (counts().live - base, [0; 2], 0, 0);
    while done < SESSION {
        for frame in session.round(number) {
            restart();
            let before = counts().live;
            reader.push(frame.as_bytes(), |_| {});
            let half = usize::from(done >= SESSION / 2);
            most[half] = most[half].max(own + counts().peak - before);
            own += counts().live - before;
            done += frame.len() as u64;
        }
        number += 1;
    }
    (most[0], most[1])
}
