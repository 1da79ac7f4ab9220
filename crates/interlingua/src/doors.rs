//! The doors for a whole input: convert bytes, or read events from any [`io::Read`]. A proxy for one model call is
//! [`crate::pipe::Exchange`]; input that arrives in pieces goes through [`crate::pipe::Pipe`] and
//! [`crate::pipe::EventReader`].
//!
//! These functions detect the role (request, response, stream, log) from the input. They open no files.

use std::collections::VecDeque;
use std::io::{self, Read};
use std::sync::Arc;

use crate::dialects::{Dialect, Options, Plane, Role};
use crate::error::Error;
use crate::ledger::Report;
use crate::log::OutlineReader;
use crate::model::Event;
use crate::pipe::{EventReader, Pipe};
use crate::sniff::{self, Detection};

/// Converts a whole input from one dialect to another. Returns the output, and the report of every loss.
///
/// ```
/// let log = br#"{"type":"user","uuid":"u1","message":{"role":"user","content":"hi"},"cwd":"/tmp"}"#;
/// let (record, report) = interlingua::convert(log, "claude-code".parse()?, "record".parse()?)?;
///
/// assert_eq!(report.lost, 0);
/// assert!(String::from_utf8(record)?.contains(r#""content":"hi""#));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn convert(
    input: &[u8],
    from: &'static Dialect,
    to: &'static Dialect,
) -> Result<(Vec<u8>, Report), Error> {
    let role = role_of(input, true, from)?;
    let target = to.role_for(role).ok_or(Error::CannotWrite(to.name, role.word()))?;
    let mut options = Options { whole: true, ..Options::default() };
    // The active branch of a session is known at its end, so a log for another agent takes two passes.
    if to.plane == Plane::Log && from.name != to.name {
        let mut outline = OutlineReader::new((from, role), &options)?;
        outline.push(input);
        options.outline = Some(Arc::new(outline.finish()));
    }
    let mut output = Vec::new();
    let report = Pipe::new((from, role), (to, target), &options)?.finish_with(input, &mut output);
    Ok((output, report))
}

/// Passes each event of an input to a closure and returns the report. Events borrow from the input buffer.
///
/// ```
/// use interlingua::model::Event;
///
/// let log = br#"{"type":"user","uuid":"u1","message":{"role":"user","content":"hi"}}"#;
/// let mut items = 0;
/// interlingua::for_each_event(&log[..], "claude-code".parse()?, |event| {
///     items += u32::from(matches!(event, Event::ItemStarted(_)));
/// })?;
/// assert_eq!(items, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn for_each_event(
    input: impl Read,
    dialect: &'static Dialect,
    mut each: impl FnMut(&Event<'_>) + Send,
) -> io::Result<Report> {
    let mut source = Source::open(input, dialect)?;
    while source.read(&mut each)? {}
    // The last read sets the report.
    Ok(source.report.unwrap_or_default())
}

/// An iterator over the events of an input, which owns each event.
///
/// ```
/// use interlingua::model::Event;
///
/// let log = br#"{"type":"user","uuid":"u1","message":{"role":"user","content":"hi"}}"#;
/// let mut events = interlingua::events(&log[..], "claude-code".parse()?)?;
/// let items = events.by_ref().filter(|event| matches!(event, Ok(Event::ItemStarted(_)))).count();
///
/// assert_eq!(items, 1);
/// assert!(events.report().is_some_and(|report| report.adds_up()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn events<R: Read>(input: R, dialect: &'static Dialect) -> io::Result<EventIter<R>> {
    Ok(EventIter { source: Source::open(input, dialect)?, ready: VecDeque::new() })
}

/// The iterator of [`events`].
#[derive(Debug)]
pub struct EventIter<R> {
    source: Source<R>,
    /// Events that were read and not returned.
    ready: VecDeque<Event<'static>>,
}

impl<R> EventIter<R> {
    /// The report, once the iterator has returned `None`.
    pub fn report(&self) -> Option<&Report> {
        self.source.report.as_ref()
    }
}

impl<R: Read> Iterator for EventIter<R> {
    type Item = io::Result<Event<'static>>;

    fn next(&mut self) -> Option<Self::Item> {
        let Self { source, ready } = self;
        loop {
            if let Some(event) = ready.pop_front() {
                return Some(Ok(event));
            }
            match source.read(&mut |event: &Event<'_>| ready.push_back(event.clone().into_owned())) {
                Ok(true) => {}
                Ok(false) => return None,
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

/// An input that is read in pieces.
#[derive(Debug)]
struct Source<R> {
    input: R,
    /// The bytes to read next: first the head that decided the role, then each piece.
    piece: Vec<u8>,
    /// `None` after the end of the input.
    reader: Option<EventReader>,
    report: Option<Report>,
}

impl<R: Read> Source<R> {
    fn open(mut input: R, dialect: &'static Dialect) -> io::Result<Self> {
        let mut piece = Vec::new();
        let role = if let Some(role) = only_role(dialect) {
            role
        } else {
            (&mut input).take(sniff::HEAD as u64).read_to_end(&mut piece)?;
            let is_complete = piece.len() < sniff::HEAD;
            role_of(&piece, is_complete, dialect).map_err(io::Error::other)?
        };
        let reader = EventReader::new((dialect, role), &Options::default()).map_err(io::Error::other)?;
        Ok(Self { input, piece, reader: Some(reader), report: None })
    }

    /// Reads the next piece. Returns `false` after the last one.
    fn read(&mut self, each: &mut (impl FnMut(&Event<'_>) + Send)) -> io::Result<bool> {
        let Some(reader) = &mut self.reader else { return Ok(false) };
        if !self.piece.is_empty() {
            reader.push(&self.piece, &mut *each);
        }
        self.piece.resize(PIECE, 0);
        let length = loop {
            match self.input.read(&mut self.piece) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                done => break done?,
            }
        };
        self.piece.truncate(length);
        if length == 0 {
            self.report = self.reader.take().map(|reader| reader.finish(each));
        }
        Ok(true)
    }
}

/// The bytes of one read.
const PIECE: usize = 64 << 10;

/// The role of an input of a known dialect.
fn role_of(head: &[u8], is_complete: bool, dialect: &'static Dialect) -> Result<Role, Error> {
    if let Some(role) = only_role(dialect) {
        return Ok(role);
    }
    match sniff::candidates(head, is_complete).decide_for(dialect) {
        Detection::Clear(guess) => Ok(guess.role),
        Detection::Unclear(_) | Detection::Unknown => Err(Error::UnknownRole(dialect.name)),
    }
}

/// The role that a dialect reads, if there is only one.
fn only_role(dialect: &Dialect) -> Option<Role> {
    let mut readable = dialect.roles.iter().filter(|spec| spec.read.is_some()).map(|spec| spec.role);
    readable.next().filter(|_| readable.next().is_none())
}
