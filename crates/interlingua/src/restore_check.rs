//! The check of a record against its own source: the log is restored, read again, and must give the same record.
//!
//! ```text
//! record --> log --> record again
//!    \                   |
//!     +---- compared ----+     entry by entry, and the members around the entries
//! ```
//!
//! One rule finds each false claim of a record: an edited member, a kept line that holds more than its entry, text in the
//! place of white space, a readable line that is marked as unparsed, a hole without a value. Values are compared after
//! decoding and independent of the order of members, so a reformatted record is no finding. The two passes run at once, in
//! pieces: memory holds the largest entry and a digest for each member of the entries between the two passes.
//!
//! A record without kept lines of a log claims nothing about a source, and a redacted record no longer holds its source.
//! Both are noted and not compared.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::hash::{BuildHasher as _, Hasher as _, RandomState};

use crate::dialects::{Dialect, Options, Plane, Role};
use crate::error::{Code, Place, Problem, Window};
use crate::framing::FrameKind;
use crate::graph::{RecordFrames, SplitPart, Splitter};
use crate::ledger::Report;
use crate::pipe::Pipe;
use crate::tape::{Kind, Val};

/// The name of the restored log. A log without an id of its session gets its id from this name, so such an id is not compared.
const NO_NAME: &str = "\u{0}restored";

/// Compares a record with the record that its restored log gives. Push the bytes of the record, then add the findings to a
/// report.
///
/// ```
/// use interlingua::dialects::{Dialect, Options, Role};
/// use interlingua::pipe::Pipe;
/// use interlingua::restore_check::RestoreCheck;
///
/// let log = br#"{"type":"user","uuid":"a","message":{"role":"user","content":"hi"}}"#;
/// let side = |name| (Dialect::named(name).expect("registered"), Role::Log);
/// let mut record = Vec::new();
/// Pipe::new(side("claude-code"), side("record"), &Options::default())?.finish_with(log, &mut record);
///
/// let edited = String::from_utf8_lossy(&record).replace(r#""type":"user","id""#, r#""type":"assistant","id""#);
/// for (record, findings) in [(&record[..], 0), (edited.as_bytes(), 1)] {
///     let mut check = RestoreCheck::new(side("record").0, &Options::default());
///     check.push(record);
///     let mut report = Default::default();
///     check.finish(&mut report);
///     assert_eq!(report.errors > 0, findings > 0);
/// }
/// # Ok::<(), interlingua::error::Error>(())
/// ```
pub struct RestoreCheck {
    splitter: Splitter,
    sessions: Sessions,
}

impl std::fmt::Debug for RestoreCheck {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RestoreCheck").field("findings", &self.sessions.findings).finish_non_exhaustive()
    }
}

/// The first session of a file, and the sessions that were joined to the first session.
struct Sessions {
    dialect: &'static Dialect,
    options: Options,
    secret: RandomState,
    first: SessionCheck,
    /// The number of the following session, and its check.
    following: Option<(usize, SessionCheck)>,
    findings: Findings,
}

impl RestoreCheck {
    /// A check of records of this dialect, which is a profile of the record.
    pub fn new(record: &'static Dialect, options: &Options) -> Self {
        let sessions = Sessions {
            dialect: record,
            options: Options { outline: None, told_responses: Vec::new(), ..options.clone() },
            secret: RandomState::new(),
            first: SessionCheck::default(),
            following: None,
            findings: Findings::default(),
        };
        Self { splitter: Splitter::default(), sessions }
    }

    /// Reads the next bytes of the file.
    pub fn push(&mut self, bytes: &[u8]) {
        let Self { splitter, sessions } = self;
        splitter.push(bytes, &mut |part| sessions.part(&part));
    }

    /// Adds the findings to a report.
    pub fn finish(mut self, report: &mut Report) {
        let Self { splitter, sessions } = &mut self;
        splitter.finish(&mut |part| sessions.part(&part));
        let first = std::mem::take(&mut sessions.first);
        sessions.end(first, Joined::No);
        sessions.end_following();
        let Findings { problems, more, notes } = std::mem::take(&mut sessions.findings);
        report.errors += problems.len() as u64 + more;
        report.problems.extend(problems);
        report.more_problems += more;
        report.notes.extend(notes.into_iter().map(|note| (note, 1)));
    }
}

/// Whether a session was joined to another session, whose record counts a part of its usage.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Joined {
    No,
    Yes,
}

impl Sessions {
    fn part(&mut self, part: &SplitPart<'_>) {
        match part {
            SplitPart::First(bytes) => {
                let mut first = std::mem::take(&mut self.first);
                self.push(&mut first, bytes, Joined::No);
                self.first = first;
            }
            SplitPart::Nested { record, .. } => {
                let mut nested = SessionCheck::default();
                self.push(&mut nested, record.as_bytes(), Joined::Yes);
                self.end(nested, Joined::Yes);
            }
            SplitPart::Following { number, bytes, .. } => {
                if self.following.as_ref().is_some_and(|(current, _)| current != number) {
                    self.end_following();
                }
                let (_, mut check) = self.following.take().unwrap_or_default();
                self.push(&mut check, bytes, Joined::Yes);
                self.following = Some((*number, check));
            }
        }
    }

    fn push(&mut self, check: &mut SessionCheck, bytes: &[u8], joined: Joined) {
        let Self { dialect, options, secret, findings, .. } = self;
        check.push(bytes, &Setting { dialect, options, secret, joined }, findings);
    }

    fn end(&mut self, check: SessionCheck, joined: Joined) {
        let Self { dialect, options, secret, findings, .. } = self;
        check.finish(&Setting { dialect, options, secret, joined }, findings);
    }

    fn end_following(&mut self) {
        if let Some((_, check)) = self.following.take() {
            self.end(check, Joined::Yes);
        }
    }
}

/// The constant parts of a check.
struct Setting<'s> {
    dialect: &'static Dialect,
    options: &'s Options,
    secret: &'s RandomState,
    joined: Joined,
}

/// The findings so far.
#[derive(Debug, Default)]
struct Findings {
    problems: Vec<Problem>,
    more: u64,
    notes: BTreeSet<&'static str>,
}

/// The number of findings that are listed. An inserted entry moves all entries after it, so a longer list has no use.
const LISTED: usize = 20;

impl Findings {
    fn add(&mut self, pointer: String, detail: &str) {
        let place = Place { pointer: Some(pointer), ..Place::default() };
        self.problem(Problem {
            code: Code::NotFromSource,
            place,
            detail: detail.to_owned(),
            window: Window::default(),
        });
    }

    fn problem(&mut self, problem: Problem) {
        if self.problems.len() < LISTED {
            self.problems.push(problem);
        } else {
            self.more += 1;
        }
    }
}

const REDACTED: &str =
    "redacted: the record no longer restores its log, so its entries were not compared with the log";
const NOT_RESTORABLE: &str =
    "not compared with its source: the record keeps no lines of a log that can be restored";
const TOO_FAR: &str = "expected the entries that its restored log gives, at most 1,000,000 members behind";

/// The check of the records of one log.
#[derive(Default)]
struct SessionCheck {
    record: RecordPrints,
    state: RestoreState,
}

#[derive(Default)]
enum RestoreState {
    /// The dialect of the log is not known yet; the bytes so far.
    #[default]
    Waiting,
    Early(Vec<u8>),
    Running(Box<Restored>),
    /// The beginning of the record names no dialect. An entry after it may not name one either.
    Foreign,
    /// The comparison has ended, or there is nothing to compare.
    Over,
}

/// The largest beginning of a record without the name of a dialect, beside an entry that is not complete.
const EARLY: usize = 16 << 20;
const TOO_LATE: &str = "expected the name of a dialect in the first 16 MiB of the record";

/// The pass from the record to the log and to the record again.
struct Restored {
    to_log: Pipe,
    to_record: Pipe,
    record: RecordPrints,
    /// Buffers for the log and the record.
    log: Vec<u8>,
    text: Vec<u8>,
}

impl SessionCheck {
    fn push(&mut self, bytes: &[u8], setting: &Setting<'_>, findings: &mut Findings) {
        if matches!(self.state, RestoreState::Over) {
            return;
        }
        self.record.push(bytes, setting.secret);
        if self.record.is_redacted {
            findings.notes.insert(REDACTED);
            return self.give_up();
        }
        match std::mem::take(&mut self.state) {
            RestoreState::Waiting => self.begin(bytes.to_vec(), setting, findings),
            RestoreState::Early(mut early) => {
                early.extend_from_slice(bytes);
                self.begin(early, setting, findings);
            }
            RestoreState::Running(mut restored) => {
                restored.push(bytes, setting);
                self.state = RestoreState::Running(restored);
            }
            RestoreState::Foreign => {
                if self.record.vendor.is_some() {
                    findings
                        .add(format!("/session/entries/{}", self.record.next.saturating_sub(1)), TOO_LATE);
                    return self.give_up();
                }
                self.record.entries.clear();
                self.record.members = 0;
                self.state = RestoreState::Foreign;
            }
            RestoreState::Over => {}
        }
        self.compare(setting, findings);
    }

    /// Starts the comparison once an entry names the dialect of the log.
    fn begin(&mut self, early: Vec<u8>, setting: &Setting<'_>, findings: &mut Findings) {
        let Some(vendor) = &self.record.vendor else {
            let is_long = self.record.has_entry && early.len() > EARLY;
            self.state = if is_long { RestoreState::Foreign } else { RestoreState::Early(early) };
            return;
        };
        let log = Dialect::named(vendor).filter(|dialect| dialect.plane == Plane::Log);
        let record = (setting.dialect, Role::Log);
        let pipes = log.and_then(|log| {
            let to_log = Pipe::new(record, (log, Role::Log), setting.options).ok()?;
            let unnamed = Options { source_name: Some(NO_NAME.to_owned()), ..setting.options.clone() };
            Some((to_log, Pipe::new((log, Role::Log), record, &unnamed).ok()?))
        });
        let Some((to_log, to_record)) = pipes else {
            findings.notes.insert(NOT_RESTORABLE);
            return self.give_up();
        };
        let record = RecordPrints::default();
        let mut restored =
            Box::new(Restored { to_log, to_record, record, log: Vec::new(), text: Vec::new() });
        restored.push(&early, setting);
        self.state = RestoreState::Running(restored);
    }

    /// Ends the comparison and frees its memory.
    fn give_up(&mut self) {
        *self = Self { record: RecordPrints::default(), state: RestoreState::Over };
    }

    /// Compares the entries that both passes have reached.
    fn compare(&mut self, setting: &Setting<'_>, findings: &mut Findings) {
        let RestoreState::Running(restored) = &mut self.state else { return };
        while let (Some(own), Some(again)) = (self.record.entries.front(), restored.record.entries.front()) {
            own.compare(again, setting, findings);
            self.record.drop_first();
            restored.record.drop_first();
        }
        if self.record.members.max(restored.record.members) > MOST_AHEAD {
            let at = self.record.entries.front().map_or(0, |entry| entry.index);
            findings.add(format!("/session/entries/{at}"), TOO_FAR);
            self.give_up();
        }
    }

    fn finish(mut self, setting: &Setting<'_>, findings: &mut Findings) {
        self.record.finish(setting.secret);
        if matches!(self.state, RestoreState::Over) {
            return;
        }
        if self.record.is_redacted {
            findings.notes.insert(REDACTED);
            return;
        }
        match std::mem::take(&mut self.state) {
            RestoreState::Waiting => return,
            // The last frame may be complete only now.
            RestoreState::Early(early) if self.record.vendor.is_some() => {
                self.begin(early, setting, findings);
            }
            RestoreState::Early(_) | RestoreState::Foreign => _ = findings.notes.insert(NOT_RESTORABLE),
            state @ (RestoreState::Running(_) | RestoreState::Over) => self.state = state,
        }
        self.compare(setting, findings);
        let RestoreState::Running(restored) = std::mem::take(&mut self.state) else { return };
        let mut again = restored.finish(setting, findings);
        while let Some(own) = self.record.entries.pop_front() {
            match again.entries.pop_front() {
                Some(again) => own.compare(&again, setting, findings),
                None => findings.add(own.pointer(), "expected an entry that the restored log gives"),
            }
        }
        for entry in again.entries {
            findings.add(entry.pointer(), "expected a further entry, which the restored log gives");
        }
        for (number, own) in self.record.around.iter().enumerate() {
            match again.around.get(number) {
                Some(again) => compare_around(own, again, print_of_text(NO_NAME, setting.secret), findings),
                None => findings.add("/session".to_owned(), "expected a session that the restored log gives"),
            }
        }
    }
}

impl Restored {
    fn push(&mut self, bytes: &[u8], setting: &Setting<'_>) {
        self.to_log.push(bytes, &mut self.log);
        self.pass_on(setting);
    }

    fn pass_on(&mut self, setting: &Setting<'_>) {
        self.to_record.push(&self.log, &mut self.text);
        self.log.clear();
        self.record.push(&self.text, setting.secret);
        self.text.clear();
    }

    /// Ends both passes. The problems of the record itself are in the report of the reader; only those of the way back are
    /// added.
    fn finish(mut self: Box<Self>, setting: &Setting<'_>, findings: &mut Findings) -> RecordPrints {
        let Self { to_log, to_record, mut record, mut log, mut text } = {
            self.pass_on(setting);
            *self
        };
        let report = to_log.finish(&mut log);
        for problem in report.problems {
            if matches!(problem.code, Code::NotTheSource | Code::UnfilledHole) {
                findings.problem(problem);
            }
        }
        to_record.finish_with(&log, &mut text);
        record.push(&text, setting.secret);
        record.finish(setting.secret);
        record
    }
}

/// The number of member digests that wait for the other pass.
const MOST_AHEAD: usize = 1_000_000;

/// Digests of the entries of a record, in their order, and of the members around the entries.
#[derive(Default)]
struct RecordPrints {
    frames: RecordFrames,
    entries: VecDeque<EntryPrint>,
    /// The number of members in `entries`.
    members: usize,
    /// For each record of the file, the members around its entries.
    around: Vec<BTreeMap<String, u64>>,
    /// The number of the next entry of the current record.
    next: u64,
    /// The dialect that the first entry with a `vendor-ext` names.
    vendor: Option<String>,
    is_redacted: bool,
    /// An entry, or a piece of an unreadable entry, is complete.
    has_entry: bool,
}

/// The digests of the members of an entry, sorted by their decoded names.
struct EntryPrint {
    index: u64,
    members: Vec<(Box<str>, u64)>,
}

impl RecordPrints {
    fn push(&mut self, bytes: &[u8], secret: &RandomState) {
        let mut frames = std::mem::take(&mut self.frames);
        frames.push(bytes, |frame, tape| self.frame(frame.kind, tape.map(crate::tape::Tape::root), secret));
        self.frames = frames;
    }

    fn finish(&mut self, secret: &RandomState) {
        let mut frames = std::mem::take(&mut self.frames);
        frames.finish(|frame, tape| self.frame(frame.kind, tape.map(crate::tape::Tape::root), secret));
    }

    /// Adds a frame. An unreadable frame has no digest; the reader reports it.
    fn frame(&mut self, kind: FrameKind<'_>, root: Option<Val<'_>>, secret: &RandomState) {
        if let FrameKind::Head | FrameKind::Document = kind {
            self.around.push(BTreeMap::new());
            self.next = 0;
        }
        self.has_entry |= matches!(kind, FrameKind::Element { .. } | FrameKind::Piece { .. });
        let Some(root) = root else { return };
        match kind {
            FrameKind::Element { .. } => {
                self.note_entry(root);
                let print = EntryPrint::new(self.next, root, secret);
                self.members += print.members.len() + 1;
                self.entries.push_back(print);
                self.next += 1;
            }
            FrameKind::Head | FrameKind::Document | FrameKind::Tail => {
                if let Some(around) = self.around.last_mut() {
                    add_around(root, around, secret);
                }
            }
            _ => {}
        }
    }

    fn note_entry(&mut self, entry: Val<'_>) {
        self.is_redacted |= is_redacted(entry);
        if self.vendor.is_none() {
            let vendor =
                entry.get("vendor-ext").and_then(|ext| ext.get("vendor")).and_then(|name| name.str());
            let vendor = vendor.map(|name| name.decode().into_owned());
            self.vendor = vendor.filter(|name| name != "interlingua");
        }
    }

    fn drop_first(&mut self) {
        if let Some(entry) = self.entries.pop_front() {
            self.members -= entry.members.len() + 1;
        }
    }
}

impl EntryPrint {
    fn new(index: u64, entry: Val<'_>, secret: &RandomState) -> Self {
        let print = |(name, value): (crate::json::Str<'_>, Val<'_>)| {
            (name.decode().into_owned().into_boxed_str(), print_of(value, secret))
        };
        let mut members: Vec<_> = entry.members().map(print).collect();
        members.sort_unstable();
        Self { index, members }
    }

    fn pointer(&self) -> String {
        format!("/session/entries/{}", self.index)
    }

    fn compare(&self, again: &Self, setting: &Setting<'_>, findings: &mut Findings) {
        if self.members == again.members {
            return;
        }
        let names: BTreeSet<&str> =
            self.members.iter().chain(&again.members).map(|(name, _)| &**name).collect();
        for name in names {
            // The record of the parent counts a part of the usage of a joined session.
            if name == "token-usage" && setting.joined == Joined::Yes {
                continue;
            }
            let of = |print: &Self| -> Vec<u64> {
                print.members.iter().filter(|(own, _)| **own == *name).map(|(_, value)| *value).collect()
            };
            let (own, given) = (of(self), of(again));
            let detail = match (&own[..], &given[..]) {
                (own, given) if own == given => continue,
                (_, []) => "expected no such member: the source line does not give it",
                ([], _) => "expected this member, which the source line gives",
                ([_], _) => "expected the value that the source line gives",
                (_, _) => "expected one member of this name",
            };
            findings.add(format!("{}/{name}", self.pointer()), detail);
        }
    }
}

/// Adds the members of a record outside its entries.
fn add_around(root: Val<'_>, around: &mut BTreeMap<String, u64>, secret: &RandomState) {
    let mut add = |path: String, value: Val<'_>| _ = around.insert(path, print_of(value, secret));
    for (name, value) in root.members() {
        if !name.is("session") {
            add(format!("/{}", name.decode()), value);
            continue;
        }
        for (name, value) in value.members().filter(|(name, _)| !name.is("entries")) {
            let ours = value.get("vendor").is_some_and(|vendor| vendor.is("interlingua"));
            if !(ours && name.is("vendor-ext")) {
                add(format!("/session/{}", name.decode()), value);
                continue;
            }
            let data = value.get("data").into_iter().flat_map(|data| data.members());
            for (name, value) in data {
                if !name.is("source") {
                    add(format!("/session/vendor-ext/data/{}", name.decode()), value);
                } else if let Some(dialect) = value.get("dialect") {
                    // The pipe compares the digest, because only the bytes of the log decide about it. It does not
                    // compare the digest of a log of another dialect.
                    add(SOURCE_DIALECT.to_owned(), dialect);
                }
            }
        }
    }
}

/// Members around the entries that follow from the log. Any other member may have been added by another program.
const FROM_LOG: [&str; 5] = [
    "/session/session-start",
    "/session/session-end",
    "/session/environment",
    "/session/agent-meta",
    "/session/vendor-ext/data/",
];

/// The dialect of the log, beside the digest of the log.
const SOURCE_DIALECT: &str = "/session/vendor-ext/data/source/dialect";

/// Compares the members around the entries. `no_name` is the digest of the id of a session whose log has no id.
fn compare_around(
    own: &BTreeMap<String, u64>,
    again: &BTreeMap<String, u64>,
    no_name: u64,
    findings: &mut Findings,
) {
    for (path, value) in again {
        let is_named = matches!(path.as_str(), "/id" | "/session/session-id") && *value == no_name;
        match own.get(path) {
            Some(own) if own == value || is_named => {}
            // A record may name no source.
            None if path == SOURCE_DIALECT => {}
            Some(_) => findings.add(path.clone(), "expected the value that the log gives"),
            None => findings.add(path.clone(), "expected this member, which the log gives"),
        }
    }
    let is_new = |path: &&String| !again.contains_key(*path) && *path != SOURCE_DIALECT;
    for path in own.keys().filter(is_new) {
        if FROM_LOG.iter().any(|known| path.starts_with(known)) {
            findings.add(path.clone(), "expected no such member: the log does not give it");
        }
    }
}

/// A digest of the meaning of a value: independent of white space, the order of members, and the spelling of strings
/// and numbers. The secret of this run makes collisions unpredictable.
fn print_of(value: Val<'_>, secret: &RandomState) -> u64 {
    let mut hasher = secret.build_hasher();
    match value.kind() {
        Kind::Null => hasher.write_u8(0),
        Kind::Bool => hasher.write_u8(1 + u8::from(value.bool() == Some(true))),
        Kind::Number => {
            hasher.write_u8(3);
            write_number(value.text(), &mut hasher);
        }
        Kind::String => return print_of_text(&value.str().unwrap_or_default().decode(), secret),
        Kind::Array => {
            hasher.write_u8(5);
            value.elements().for_each(|element| hasher.write_u64(print_of(element, secret)));
        }
        Kind::Object => {
            hasher.write_u8(6);
            let member = |(name, value): (crate::json::Str<'_>, Val<'_>)| {
                let mut hasher = secret.build_hasher();
                hasher.write_u64(print_of(value, secret));
                hasher.write(name.decode().as_bytes());
                hasher.finish()
            };
            hasher.write_u64(value.members().map(member).fold(0, u64::wrapping_add));
        }
    }
    hasher.finish()
}

fn print_of_text(text: &str, secret: &RandomState) -> u64 {
    let mut hasher = secret.build_hasher();
    hasher.write_u8(4);
    hasher.write(text.as_bytes());
    hasher.finish()
}

/// Hashes a number by its value: `1`, `1.0` and `10e-1` are the same number.
fn write_number(text: &str, hasher: &mut impl std::hash::Hasher) {
    if let Ok(whole) = text.parse::<i128>() {
        return hasher.write_i128(whole);
    }
    match text.parse::<f64>() {
        #[expect(clippy::cast_possible_truncation, reason = "the number is whole and below 2^53")]
        Ok(number) if number.fract() == 0.0 && number.abs() < 9_007_199_254_740_992.0 => {
            hasher.write_i128(number as i128);
        }
        Ok(number) if number.is_finite() => hasher.write_u64(number.to_bits()),
        Ok(_) | Err(_) => hasher.write(text.as_bytes()),
    }
}

/// Whether an entry, or a part of it, was replaced by the mark of a redaction.
fn is_redacted(entry: Val<'_>) -> bool {
    let is_hash = |text: &str| text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let holds_mark = |value: Val<'_>| {
        let mark = value.get("redacted").and_then(|mark| mark.str());
        mark.is_some_and(|mark| is_hash(mark.as_escaped())) && value.members().count() == 1
    };
    let is_text_mark = |value: Val<'_>| {
        let text = value.str();
        text.is_some_and(|text| text.as_escaped().strip_prefix("redacted ").is_some_and(is_hash))
    };
    let is_marked = |value: Val<'_>| match value.kind() {
        Kind::Object => holds_mark(value) || value.get("data").is_some_and(holds_mark),
        Kind::String => is_text_mark(value),
        Kind::Array => value.elements().next().is_some_and(|first| {
            first.get("path").is_some_and(is_text_mark) || first.get("data").is_some_and(holds_mark)
        }),
        Kind::Null | Kind::Bool | Kind::Number => false,
    };
    let parts =
        ["children", "content", "data", "encrypted", "files", "input", "output", "signature", "vendor-ext"];
    parts.into_iter().filter_map(|part| entry.get(part)).any(is_marked)
}
