//! Reports of conversions, for people and for programs.
//!
//! The core counts the fate of every leaf of an input in a [`Report`]. This crate turns a report into prose
//! ([`ReadableReport`], [`render`]) and into JSON ([`json`], with the schema [`json::SCHEMA`]), adds up the reports of
//! many files ([`Summary`]) and makes names and texts of unknown origin harmless ([`safe`]). It does no IO, parses no
//! flags and prints nothing: every function returns text or writes to an output of the caller.
//!
//! ```
//! use interlingua::dialects::{Dialect, Options, Role};
//! use interlingua::pipe::Pipe;
//! use interlingua_report::ReadableReport;
//!
//! let log = br#"{"type":"user","uuid":"u1","message":{"role":"user","content":"hi"},"cwd":"/project"}"#;
//! let claude = Dialect::named("claude-code").expect("registered");
//! let record = Dialect::named("record").expect("registered");
//! let mut out = Vec::new();
//! let mut pipe = Pipe::new((claude, Role::Log), (record, Role::Log), &Options::default())?;
//! pipe.push(log, &mut out);
//! let report = pipe.finish(&mut out);
//!
//! let readable = ReadableReport::new(&report).with_target(record, Role::Log);
//! eprintln!("{readable}");
//! assert!(readable.to_string().starts_with("converted: 1 message; nothing was lost\n"));
//!
//! let mut file = Vec::new();
//! readable.write_json(&mut file)?;
//! assert!(String::from_utf8(file)?.contains(r#""lost":0"#));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]

pub mod json;
mod losses;
mod outcome;
pub mod render;
pub mod safe;
mod summary;

use std::fmt;
use std::io;

use interlingua::dialects::{Dialect, Role};
use interlingua::ledger::Report;

pub use outcome::{Checked, Converted, Identified, IdentifiedBy};
pub use summary::{ForbiddenLoss, Summary};

/// A report of the core with a text for people ([`fmt::Display`]) and a JSON document for programs
/// ([`ReadableReport::write_json`]).
///
/// The text has no colours, and no character in it steers a terminal. It lists every lost path, because a log file is
/// read when nobody can ask for more. `{:#}` lists the kept paths, too.
#[derive(Clone, Copy, Debug)]
pub struct ReadableReport<'r> {
    report: &'r Report,
    target: Option<(&'r Dialect, Role)>,
}

impl<'r> ReadableReport<'r> {
    /// The report without a named target.
    pub const fn new(report: &'r Report) -> Self {
        Self { report, target: None }
    }

    /// The same report with the target that the text names where it has no field for a value.
    #[must_use]
    pub const fn with_target(self, dialect: &'r Dialect, role: Role) -> Self {
        Self { target: Some((dialect, role)), ..self }
    }

    /// The report as one JSON object on one line: the counts, lost and kept paths, notes and problems of one file, as
    /// [`json::SCHEMA`] describes them.
    pub fn to_json(&self) -> String {
        json::of_report(self.report)
    }

    /// Writes [`ReadableReport::to_json`].
    pub fn write_json(&self, out: &mut impl io::Write) -> io::Result<()> {
        out.write_all(self.to_json().as_bytes())
    }
}

impl fmt::Display for ReadableReport<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = render::report(self.report, self.target, f.alternate());
        f.write_str(&safe::visible(&text))
    }
}

/// An error as reports show it.
pub trait Explain {
    /// The message, in one line.
    fn message(&self) -> String;

    /// A remedy for the error.
    fn hint(&self) -> Option<String>;

    /// The reason why an input was skipped, for a line that begins with the name of the input.
    fn reason_to_skip(&self) -> String {
        self.message()
    }
}

#[cfg(test)]
mod tests {
    use interlingua::framing::FramePlace;
    use interlingua::ledger::{Reason, Row};

    use super::*;

    #[test]
    fn a_report_with_a_hostile_path_steers_no_terminal_and_parses_as_json() {
        let row = Row {
            path: "/a\u{1b}[2J\u{202e}".to_owned(),
            reason: Some(Reason::NoSlot),
            field: None,
            count: 1,
            bytes: 2,
            first: FramePlace::default(),
        };
        let report = Report { leaves: 1, lost: 1, lost_paths: vec![row], ..Report::default() };
        let readable = ReadableReport::new(&report);
        let text = readable.to_string();
        assert!(text.contains("1 leaf: 0 mapped, 0 kept, 1 lost"), "{text}");
        assert!(!text.contains(['\u{1b}', '\u{202e}']), "{text:?}");
        let json: serde_json::Value = serde_json::from_str(&readable.to_json()).expect("JSON");
        assert_eq!(json["lost_paths"][0]["path"], "/a\u{1b}[2J\u{202e}");
        assert!(!readable.to_json().contains('\u{202e}'));
    }
}
