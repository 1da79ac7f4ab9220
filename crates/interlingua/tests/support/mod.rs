//! Shared code of laws and goldens: the fixtures of every dialect in the registry, conversion helpers, a writer that
//! records events, and deterministic damage.
//!
//! This code names only our own dialects, `record` and `universal`: any other dialect is covered as soon as it is
//! registered and has a file under `fixtures/<family>/<dialect>/`.

#![allow(dead_code, reason = "each test file uses its part")]
#![allow(unreachable_pub, reason = "a module of a test has no outside")]
#![allow(missing_docs, clippy::missing_panics_doc, reason = "not published")]
#![allow(clippy::expect_used, reason = "a test stops at the first surprise")]
#![allow(clippy::disallowed_methods, reason = "fixtures are files")]

pub mod books;
pub mod canary;
pub mod compare;
pub mod damage;
pub mod grammar;
pub mod leaves;
pub mod mutants;
pub mod readers;
pub mod restructure;
pub mod said;
pub mod tamper;
pub mod there_and_back;
pub mod watch;

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use interlingua::dialects::{DIALECTS, Dialect, Options, Plane, Role};
use interlingua::ledger::Report;
use interlingua::pipe::Pipe;

/// A dialect in one of its roles.
pub type Way = (&'static Dialect, Role);

/// One fixture.
#[derive(Clone)]
pub struct Case {
    pub way: Way,
    /// The path below the dialect's folder of fixtures, and for a derived case its origin.
    pub name: String,
    pub path: PathBuf,
    pub bytes: Vec<u8>,
    /// The source of a case that was converted from a fixture instead of read from a file.
    pub made_from: Option<Way>,
}

impl Case {
    /// Whether `to` is the original dialect of a derived case: then the output is restored from kept lines.
    pub fn is_restored_by(&self, to: Way) -> bool {
        self.made_from.is_some_and(|way| way.0.name == to.0.name)
    }

    /// Whether the case was converted from a fixture.
    pub fn is_derived(&self) -> bool {
        self.made_from.is_some()
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} `{}`", self.way.0.name, self.way.1.word(), self.name)
    }
}

/// Every fixture of every dialect in the registry.
pub fn fixtures() -> Vec<Case> {
    let mut cases = Vec::new();
    for &dialect in DIALECTS {
        let root = fixture_root(dialect);
        let mut files = Vec::new();
        walk(&root, &mut files);
        files.sort();
        for path in files {
            let inner = path.strip_prefix(&root).expect("walked from there");
            let Some(role) = role_of(dialect, inner) else {
                panic!("{}: no role of `{}` in the path", path.display(), dialect.name)
            };
            let parts: Vec<_> = inner.iter().map(|part| part.to_string_lossy()).collect();
            let name = parts.join("/");
            let bytes = std::fs::read(&path).expect("readable");
            cases.push(Case { way: (dialect, role), name, path, bytes, made_from: None });
        }
    }
    assert!(!cases.is_empty(), "no fixture found");
    cases
}

/// The fixtures, and their conversions to our own dialects: to one of them for each fixture, or to all with
/// `INTERLINGUA_ALL`.
pub fn fixtures_and_ours() -> Vec<Case> {
    let mut cases = fixtures();
    let mut derived = Vec::new();
    for (number, case) in cases.iter().enumerate() {
        let mut ours = targets(case);
        ours.retain(|to| to.0.plane == Plane::Ours && can_read(*to));
        if !all_targets() && !ours.is_empty() {
            ours = vec![ours[number % ours.len()]];
        }
        for to in ours {
            derived.push(Case {
                way: to,
                name: format!("{} of {}", to.0.name, case.name),
                path: case.path.clone(),
                bytes: convert(case.way, to, &case.bytes).bytes,
                made_from: Some(case.way),
            });
        }
    }
    cases.append(&mut derived);
    cases
}

pub fn fixture_root(dialect: &Dialect) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures").join(dialect.folder())
}

fn walk(folder: &Path, files: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries {
        let path = entry.expect("listed").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let beside =
            path.extension().is_some_and(|extension| extension == "md") || name.ends_with(".meta.json");
        if path.is_dir() {
            walk(&path, files);
        } else if !beside {
            files.push(path);
        }
    }
}

/// The only role of the dialect, or the role that a folder of the path is named after.
fn role_of(dialect: &Dialect, inner: &Path) -> Option<Role> {
    let folders = || inner.iter().filter_map(|part| part.to_str());
    let named = dialect.roles.iter().find(|spec| folders().any(|part| part == spec.role.word()));
    // Input to an agent has the form of its output, so its fixtures need no separate folder.
    let first = || dialect.roles.first().filter(|spec| spec.role.is_session());
    named.or_else(first).map(|spec| spec.role)
}

/// All targets of a fixture on the command line, including its own dialect.
pub fn targets(case: &Case) -> Vec<Way> {
    let way = |dialect: &'static Dialect| Some((dialect, dialect.role_for(case.way.1)?));
    let concerns = |to: &Way| is_asked(case) || asked_for().is_some_and(|name| to.0.name == name);
    DIALECTS.iter().copied().filter_map(way).filter(concerns).collect()
}

/// The dialect that `INTERLINGUA_ONLY` selects: other dialects are then only tested with it as their target.
pub fn asked_for() -> Option<&'static str> {
    static NAME: LazyLock<Option<String>> = LazyLock::new(|| std::env::var("INTERLINGUA_ONLY").ok());
    NAME.as_deref()
}

/// Whether a case is selected.
pub fn is_asked(case: &Case) -> bool {
    let is = |way: Way| asked_for().is_none_or(|name| way.0.name == name);
    is(case.way) || case.made_from.is_some_and(is)
}

/// The targets other than the source dialect.
pub fn other_targets(case: &Case) -> Vec<Way> {
    targets(case).into_iter().filter(|to| !same(*to, case.way)).collect()
}

/// The targets of a law: every eighth target and the main target, another eighth for each case, or all targets with
/// `INTERLINGUA_ALL`. CI sets the variable; the test command of the README takes a few minutes without it.
pub fn law_targets(case: &Case) -> Vec<Way> {
    let targets = targets(case);
    if all_targets() {
        return targets;
    }
    let main = main_target(case);
    // The sum differs between the fixtures of a dialect, so that together they are converted to every target.
    let turn: usize = case.name.bytes().chain(case.way.0.name.bytes()).map(usize::from).sum();
    let is_chosen = |(number, to): &(usize, Way)| {
        (number + turn).is_multiple_of(SAMPLED) || main.is_some_and(|main| same(main, *to))
    };
    targets.into_iter().enumerate().filter(is_chosen).map(|(_, to)| to).collect()
}

/// The targets of a law other than the source dialect.
pub fn other_law_targets(case: &Case) -> Vec<Way> {
    law_targets(case).into_iter().filter(|to| !same(*to, case.way)).collect()
}

/// One of so many targets is tested by a law if not all targets are requested.
pub const SAMPLED: usize = 8;

/// The effort of a law for each target, such as its number of mutations: a quarter unless all targets are requested.
pub fn effort(whole: usize) -> usize {
    if all_targets() { whole } else { whole / 4 }
}

/// Whether a law tests all targets.
pub fn all_targets() -> bool {
    full() || asked_for().is_some() || std::env::var_os("INTERLINGUA_ALL").is_some()
}

/// The most informative target of a fixture: the record for logs, universal events for live output, else any.
pub fn main_target(case: &Case) -> Option<Way> {
    let wanted = if case.way.1 == Role::Log { "record" } else { "universal" };
    let others = other_targets(case);
    others.iter().find(|to| to.0.name == wanted).or(others.first()).copied()
}

pub fn same(a: Way, b: Way) -> bool {
    a.0.name == b.0.name && a.1 == b.1
}

pub fn can_read(way: Way) -> bool {
    way.0.role(way.1).is_some_and(|spec| spec.read.is_some())
}

pub fn can_write(way: Way) -> bool {
    way.0.role(way.1).is_some_and(|spec| spec.write.is_some())
}

/// The record, as a target of logs.
pub fn record() -> Way {
    (Dialect::named("record").expect("registered"), Role::Log)
}

/// Whether a log can be restored from its record: its dialect has a log writer.
pub fn restorable(case: &Case) -> bool {
    case.way.0.plane == Plane::Log && case.way.1 == Role::Log && can_write(case.way)
}

/// The result of a conversion.
#[derive(Clone, PartialEq)]
pub struct Outcome {
    pub bytes: Vec<u8>,
    pub report: Report,
}

/// Converts the input as a whole.
pub fn convert(from: Way, to: Way, whole: &[u8]) -> Outcome {
    let pipe = Pipe::new(from, to, &Options::default()).expect("both sides were found in the registry");
    let mut bytes = Vec::new();
    let report = pipe.finish_with(whole, &mut bytes);
    Outcome { bytes, report }
}

/// Converts the input as a whole, and traces the fate of each leaf.
pub fn convert_traced(from: Way, to: Way, whole: &[u8]) -> Outcome {
    convert_with(from, to, [whole], &Options::default().with_trace(true))
}

/// Converts the input in the given chunks.
pub fn convert_pieces<'b>(from: Way, to: Way, pieces: impl IntoIterator<Item = &'b [u8]>) -> Outcome {
    convert_with(from, to, pieces, &Options::default())
}

/// Converts with the given options.
pub fn convert_with<'b>(
    from: Way,
    to: Way,
    pieces: impl IntoIterator<Item = &'b [u8]>,
    options: &Options,
) -> Outcome {
    let mut pipe = Pipe::new(from, to, options).expect("both sides were found in the registry");
    let mut bytes = Vec::new();
    for piece in pieces {
        pipe.push(piece, &mut bytes);
    }
    let report = pipe.finish(&mut bytes);
    Outcome { bytes, report }
}

/// Converts the log of a dialect to the log of another dialect. The report must add up.
pub fn convert_log(from: &str, to: &str, log: &[u8]) -> (Vec<u8>, Report) {
    convert_log_with(from, to, log, &Options::default())
}

/// Converts a log as [`convert_log`] does; both logs are text.
pub fn convert_log_text(from: &str, to: &str, log: &str) -> (String, Report) {
    let (out, report) = convert_log(from, to, log.as_bytes());
    (String::from_utf8(out).expect("text"), report)
}

/// Converts a log as [`convert_log`] does, with the given options.
pub fn convert_log_with(from: &str, to: &str, log: &[u8], options: &Options) -> (Vec<u8>, Report) {
    let log_of = |name| (Dialect::named(name).expect("registered"), Role::Log);
    let Outcome { bytes, report } = convert_with(log_of(from), log_of(to), [log], options);
    assert!(report.adds_up(), "{report:?}");
    (bytes, report)
}

/// Converts until the output differs from `before`; returns the report if the output is equal to its end. Another law
/// checks that chunk boundaries have no effect.
pub fn unless_other<'b>(
    mut pipe: Pipe,
    pieces: impl IntoIterator<Item = &'b [u8]>,
    before: &[u8],
) -> Option<Report> {
    let mut bytes = Vec::with_capacity(before.len() + 256);
    let mut same = 0;
    for piece in pieces.into_iter().flat_map(|piece| piece.chunks(PIECE)) {
        pipe.push(piece, &mut bytes);
        if before.get(same..bytes.len()) != Some(&bytes[same..]) {
            return None;
        }
        same = bytes.len();
    }
    let report = pipe.finish(&mut bytes);
    (bytes == before).then_some(report)
}

/// How many bytes are converted between comparisons.
pub const PIECE: usize = 2 << 10;

/// Whether the long forms of the tests are requested.
pub fn full() -> bool {
    std::env::var_os("INTERLINGUA_FULL").is_some()
}

/// Collects the breaches of a law, so that one run shows all of them.
pub struct Law {
    name: &'static str,
    cases: usize,
    breaches: Vec<String>,
}

impl Law {
    pub fn new(name: &'static str) -> Self {
        Self { name, cases: 0, breaches: Vec::new() }
    }

    /// Checks one statement of the law; `how` describes the breach.
    pub fn holds(&mut self, holds: bool, how: impl FnOnce() -> String) {
        self.cases += 1;
        if !holds {
            self.breaches.push(how());
        }
    }

    /// Adds the breaches of each case.
    pub fn gather(&mut self, cases: Vec<Vec<String>>) {
        for breaches in cases {
            self.cases += 1;
            self.breaches.extend(breaches);
        }
    }

    /// Fails with every breach, or if nothing was tested.
    pub fn end(self) {
        assert!(self.cases > 0, "`{}` was tried on nothing", self.name);
        self.end_even_if_empty();
    }

    pub fn end_even_if_empty(self) {
        let shown: Vec<&str> = self.breaches.iter().take(12).map(String::as_str).collect();
        assert!(
            self.breaches.is_empty(),
            "`{}` broken {} times in {}:\n{}",
            self.name,
            self.breaches.len(),
            self.cases,
            shown.join("\n")
        );
    }
}

/// The position where two texts differ, with some context.
pub fn first_difference(expected: &[u8], got: &[u8]) -> String {
    let at = expected.iter().zip(got).take_while(|(a, b)| a == b).count();
    let around = |bytes: &[u8]| {
        let window = &bytes[at.saturating_sub(60).min(bytes.len())..(at + 80).min(bytes.len())];
        String::from_utf8_lossy(window).into_owned()
    };
    format!("differ at byte {at}\n  expected …{}…\n  got      …{}…", around(expected), around(got))
}

/// Distributes the cases over two threads; a panic in a thread is propagated.
pub fn on_two_threads<'c, T: Send>(cases: &'c [Case], work: impl Fn(&'c Case) -> T + Sync) -> Vec<T> {
    share(cases, |case| case.bytes.len(), work)
}

/// Distributes work over two threads, longest first, so that both end at about the same time. The results are in the
/// order of the input.
pub fn share<'w, W: Sync, T: Send>(
    all: &'w [W],
    length: impl Fn(&W) -> usize,
    work: impl Fn(&'w W) -> T + Sync,
) -> Vec<T> {
    let mut order: Vec<usize> = (0..all.len()).collect();
    order.sort_by_key(|at| std::cmp::Reverse(length(&all[*at])));
    let next = AtomicUsize::new(0);
    let run = || {
        let mut done = Vec::new();
        while let Some(&at) = order.get(next.fetch_add(1, Ordering::Relaxed)) {
            done.push((at, work(&all[at])));
        }
        done
    };
    let mut done = std::thread::scope(|scope| {
        let other = scope.spawn(run);
        let mut done = run();
        done.extend(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        done
    });
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, came_of_it)| came_of_it).collect()
}

/// Selects a sample of each class, so that time is spent on different cases instead of repetitions.
pub struct Sample<C> {
    tried: BTreeMap<C, (usize, usize)>,
    in_a_file: usize,
    in_all: usize,
}

impl<C: Ord> Sample<C> {
    /// At most this many of a class in one file, and in all files together.
    pub fn new(in_a_file: usize, in_all: usize) -> Self {
        Self { tried: BTreeMap::new(), in_a_file, in_all }
    }

    pub fn next_file(&mut self) {
        self.tried.values_mut().for_each(|(here, _)| *here = 0);
    }

    /// Whether another member of that class is tested.
    pub fn wants(&mut self, class: C) -> bool {
        let (here, all) = self.tried.entry(class).or_default();
        let wanted = *here < self.in_a_file && *all < self.in_all;
        *here += usize::from(wanted);
        *all += usize::from(wanted);
        wanted
    }
}
