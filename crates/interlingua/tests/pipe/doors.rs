//! The doors of the library give the same results as the pipe they are made of.

#![allow(clippy::expect_used, reason = "a test stops at the first surprise")]

use std::io::{self, Read};

use interlingua::dialects::{DIALECTS, Dialect, Options, Role};
use interlingua::error::Error;
use interlingua::model::Event;
use interlingua::pipe::{EventReader, Pipe};

/// Returns one byte per read.
struct Slow<'i>(&'i [u8]);

impl Read for Slow<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let (Some((first, rest)), Some(slot)) = (self.0.split_first(), buffer.first_mut()) else {
            return Ok(0);
        };
        *slot = *first;
        self.0 = rest;
        Ok(1)
    }
}

/// A short log of each dialect that reads logs, from the fixtures.
fn logs() -> Vec<(&'static Dialect, Vec<u8>)> {
    let mut logs = Vec::new();
    let mut fixtures = crate::support::fixtures();
    fixtures.sort_by_key(|fixture| fixture.bytes.len());
    for fixture in fixtures.into_iter().filter(|fixture| fixture.bytes.len() > 1000) {
        let (dialect, role) = fixture.way;
        let is_new = logs.iter().all(|(known, _): &(&Dialect, _)| known.name != dialect.name);
        if role == Role::Log && is_new {
            logs.push((dialect, fixture.bytes));
        }
    }
    assert!(logs.len() > 8, "{} logs", logs.len());
    logs
}

#[test]
fn events_are_the_same_by_closure_by_iterator_and_by_any_piece() {
    for (dialect, log) in logs() {
        let mut whole = Vec::new();
        let mut reader = EventReader::new((dialect, Role::Log), &Options::default()).expect(dialect.name);
        reader.push(&log, |event| whole.push(event.clone().into_owned()));
        let report = reader.finish(|event| whole.push(event.clone().into_owned()));
        assert!(!whole.is_empty() && report.adds_up(), "{}", dialect.name);

        let mut borrowed = Vec::new();
        let each = |event: &Event<'_>| borrowed.push(event.clone().into_owned());
        let reported = interlingua::for_each_event(Slow(&log), dialect, each).expect(dialect.name);
        assert_eq!(borrowed, whole, "{}", dialect.name);
        assert_eq!(reported, report, "{}", dialect.name);

        let mut events = interlingua::events(&log[..], dialect).expect(dialect.name);
        let owned: io::Result<Vec<_>> = events.by_ref().collect();
        assert_eq!(owned.expect(dialect.name), whole, "{}", dialect.name);
        assert_eq!(events.report(), Some(&report), "{}", dialect.name);
    }
}

#[test]
fn a_log_becomes_a_record_as_in_the_pipe() {
    let record = Dialect::named("record").expect("registered");
    for (dialect, log) in logs().into_iter().filter(|(dialect, _)| dialect.name != "record") {
        let options = Options::default().with_whole(true);
        let mut expected = Vec::new();
        let pipe = Pipe::new((dialect, Role::Log), (record, Role::Log), &options).expect(dialect.name);
        let report = pipe.finish_with(&log, &mut expected);
        let (output, reported) = interlingua::convert(&log, dialect, record).expect(dialect.name);
        assert_eq!(output, expected, "{}", dialect.name);
        assert_eq!(reported, report, "{}", dialect.name);
    }
}

#[test]
fn names_of_dialects_are_parsed() {
    for dialect in DIALECTS {
        assert_eq!(dialect.name.parse::<&Dialect>().map(|parsed| parsed.name), Ok(dialect.name));
    }
    assert!(matches!("claude".parse::<&Dialect>(), Err(Error::UnknownDialect(name)) if name == "claude"));
}

#[test]
fn an_input_without_a_role_is_an_error_and_no_empty_list() {
    let anthropic = Dialect::named("anthropic").expect("registered");
    let record = Dialect::named("record").expect("registered");
    assert_eq!(
        interlingua::convert(b"[]", anthropic, record).map(|_| ()),
        Err(Error::UnknownRole("anthropic"))
    );
    assert!(interlingua::events(&b"[]"[..], anthropic).is_err());
}

#[test]
fn an_error_of_the_input_is_passed_on() {
    struct Broken;
    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("broken"))
        }
    }
    let claude = Dialect::named("claude-code").expect("registered");
    assert!(interlingua::for_each_event(Broken, claude, |_| {}).is_err());
    assert!(
        interlingua::events(Broken, claude).is_ok_and(|mut events| matches!(events.next(), Some(Err(_))))
    );
}
