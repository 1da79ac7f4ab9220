//! Sessions for people: the story of a session in the terminal, as Markdown or as one HTML page, and statistics over many
//! sessions.
//!
//! ```text
//! bytes -> StoryReader (events -> Story) -> StoryForm::write -> text, Markdown, HTML
//! bytes -> FollowReader (events -> text as the session goes on)
//! bytes -> stats::SessionCounter (events -> counts) -> stats::StatsReport -> table, JSON
//! ```
//!
//! This crate opens no files, parses no flags and starts no pager: bytes of a session are pushed in, and a form is written to
//! the caller's output. Content of a session never steers a terminal and never becomes markup.
//!
//! ```
//! use interlingua::dialects::{Dialect, Options, Role};
//! use interlingua_report::{Identified, IdentifiedBy};
//! use interlingua_view::{Look, StoryForm, StoryReader};
//!
//! let log = br#"{"type":"user","uuid":"u1","message":{"role":"user","content":"hi"},"cwd":"/project"}"#;
//! let claude = Dialect::named("claude-code").expect("registered");
//! let spec = claude.role(Role::Log).expect("a log dialect");
//! let identity = Identified::new(claude, spec, IdentifiedBy::Name);
//!
//! let mut reader = StoryReader::new(&identity, &Options::default())?;
//! reader.push(log);
//! let story = reader.finish().expect("the log was read");
//!
//! let mut page = Vec::new();
//! StoryForm::Markdown.write(&story, &Look::new("session.jsonl", &identity), &mut page)?;
//! assert!(String::from_utf8(page)?.contains("hi"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]

mod diffs;
mod follow;
mod html;
mod markdown;
mod page_text;
mod prose;
pub mod stats;
mod story;
mod terminal;
mod timeline;
mod turn_usage;
mod words;

use std::io::{self, Write};

use interlingua::dialects::Options;
use interlingua::error::Error;
use interlingua::framing::Framing;
use interlingua::pipe::Pipe;
use interlingua_report::Identified;

pub use follow::FollowReader;
pub use page_text::escape;
pub use story::Story;
use story::StoryWriter;
pub use turn_usage::TurnUsage;

/// Reads the bytes of one input into a [`Story`].
#[derive(Debug)]
pub struct StoryReader {
    pipe: Pipe,
    writer: StoryWriter,
    framing: Framing,
}

impl StoryReader {
    /// A reader for an input of that dialect and role. It fails if the dialect has no reader for the role.
    pub fn new(identity: &Identified, options: &Options) -> Result<Self, Error> {
        let writer = StoryWriter::default();
        let from = (identity.dialect, identity.spec.role);
        let pipe = Pipe::with_writer(from, Box::new(writer.clone()), options)?;
        Ok(Self { pipe, writer, framing: identity.spec.framing })
    }

    /// Reads the next bytes, in pieces of any size.
    pub fn push(&mut self, bytes: &[u8]) {
        self.pipe.push(bytes, &mut Vec::new());
    }

    /// The story, after the last byte; `None` if no frame of the input could be read.
    pub fn finish(self) -> Option<Story> {
        let report = self.pipe.finish(&mut Vec::new());
        if report.read == 0 {
            return None;
        }
        let mut story = self.writer.finish(report);
        story.framing = Some(self.framing);
        Some(story)
    }
}

/// The settings of a form.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Look<'l> {
    /// The name of the input, for people.
    pub name: &'l str,
    /// The dialect and the role of the input.
    pub identity: &'l Identified,
    /// Set to show every entry whole: nothing is folded or left out.
    pub full: bool,
    /// The width of the terminal, in columns.
    pub width: usize,
    /// Set to use colours in the terminal.
    pub colour: bool,
    /// The number of the frame that text for a terminal begins at, whose entry is shown whole.
    pub at: Option<u64>,
    /// The state of the signatures of a record: what holds, what was removed, or that nothing was verified.
    pub signatures: &'l [String],
}

impl<'l> Look<'l> {
    /// The settings for a place that is no terminal: 100 columns, no colours, long texts folded.
    pub const fn new(name: &'l str, identity: &'l Identified) -> Self {
        Self { name, identity, full: false, width: 100, colour: false, at: None, signatures: &[] }
    }
}

/// A form of a story.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StoryForm {
    /// Text for a terminal.
    Text,
    /// Markdown.
    Markdown,
    /// One HTML page without external resources.
    Html,
}

impl StoryForm {
    /// The name of the form, for people.
    pub const fn name(self) -> &'static str {
        match self {
            StoryForm::Text => "plain text",
            StoryForm::Markdown => "Markdown",
            StoryForm::Html => "HTML",
        }
    }

    /// Writes the story in this form. Text passes through [`interlingua_report::safe::ScreenWriter`] on its way to a terminal.
    pub fn write(self, story: &Story, look: &Look<'_>, out: &mut dyn Write) -> io::Result<()> {
        match self {
            StoryForm::Text => terminal::write(story, look, out),
            StoryForm::Markdown => markdown::write(story, look, out),
            StoryForm::Html => html::write(story, look, out),
        }
    }
}
