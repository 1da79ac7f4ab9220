//! The outcome of one file: its dialect, its report and its output. Many files are added up in [`crate::Summary`].

use std::path::PathBuf;

use interlingua::dialects::{Dialect, Role, RoleSpec};
use interlingua::ledger::Report;

/// The dialect and the role of an input.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Identified {
    /// The dialect that the input is read as.
    pub dialect: &'static Dialect,
    /// The role of the input in that dialect.
    pub spec: &'static RoleSpec,
    /// The basis of this answer.
    pub by: IdentifiedBy,
    /// The dialect that detection would have chosen, where the caller named another one.
    pub looks_like: Option<&'static Dialect>,
}

impl Identified {
    /// An input of that dialect and role.
    pub const fn new(dialect: &'static Dialect, spec: &'static RoleSpec, by: IdentifiedBy) -> Self {
        Self { dialect, spec, by, looks_like: None }
    }
}

/// The basis on which the dialect of an input was chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum IdentifiedBy {
    /// The content of the input.
    Detection,
    /// The caller named the dialect.
    Name,
}

/// One converted file.
#[derive(Debug)]
#[non_exhaustive]
pub struct Converted {
    /// The name of the input, for people.
    pub name: String,
    /// The file that was written; none for stdout.
    pub output: Option<PathBuf>,
    /// The files of the sessions after the first, if the input has several sessions.
    pub further_outputs: Vec<PathBuf>,
    /// The dialect and the role of the input.
    pub from: Identified,
    /// The dialect and the role of the output.
    pub to: (&'static Dialect, Role),
    /// Source and target are the same dialect: the bytes were copied and not read.
    pub is_copy: bool,
    /// The report of the core.
    pub report: Report,
}

impl Converted {
    /// A converted input without an output file.
    pub fn new(
        name: impl Into<String>,
        from: Identified,
        to: (&'static Dialect, Role),
        report: Report,
    ) -> Self {
        let name = name.into();
        Self { name, output: None, further_outputs: Vec::new(), from, to, is_copy: false, report }
    }

    /// Whether the target is about a conversation, and the output holds neither an item of one nor a kept value of the
    /// source.
    pub fn has_no_content(&self) -> bool {
        let is_about_one =
            matches!(self.to.1, Role::Request | Role::Response | Role::Stream | Role::Live | Role::Log);
        is_about_one && !self.is_copy && self.report.content.is_empty() && self.report.kept == 0
    }
}

/// One checked file.
#[derive(Debug)]
#[non_exhaustive]
pub struct Checked {
    /// The dialect and the role of the file.
    pub identity: Identified,
    /// The report of the core, with the findings.
    pub report: Report,
}

impl Checked {
    /// A file that was read as `identity`.
    pub const fn new(identity: Identified, report: Report) -> Self {
        Self { identity, report }
    }

    /// Whether no error was found.
    pub const fn is_sound(&self) -> bool {
        self.report.errors == 0
    }
}
