//! Statistics over sessions: turns, tools, failures, files, tokens and their costs, counted once even where several files
//! repeat them.
//!
//! ```text
//! bytes -> SessionCounter (events) -> CountedInput -\
//! bytes -> SessionCounter (events) -> CountedInput --+-> StatsReport -> table or JSON
//! ```

mod count;
mod headline;
mod json;
mod sums;
mod table;

use std::collections::HashSet;
use std::sync::mpsc::{self, Receiver};

use interlingua::dialects::Options;
use interlingua::error::Error;
use interlingua::ledger::Leftover;
use interlingua::model::Event;
use interlingua::pipe::{Pipe, Writer, WriterOutput};
use interlingua_models::Prices;
use interlingua_models::prices::Picodollars;
use interlingua_report::{Explain, Identified};
use sha2::{Digest as _, Sha256};

use count::StatsWriter;
use sums::{Spent, Statistics, ToolCounts};

/// The JSON schema of [`StatsReport::to_json`].
pub const SCHEMA: &str = include_str!("../../schema/stats-1.schema.json");

/// The statistics of one input.
#[derive(Debug)]
pub struct CountedInput {
    identity: Identified,
    errors: u64,
    /// The digest of its bytes.
    content: [u8; 32],
    statistics: Statistics,
}

/// A session in a list of sessions: the facts by which people recognise the session, and its size in turns, tokens and
/// dollars.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SessionOverview {
    /// The id.
    pub id: Option<String>,
    /// The working directory.
    pub cwd: Option<String>,
    /// The id of the parent session.
    pub parent: Option<String>,
    /// The title.
    pub title: Option<String>,
    /// The beginning of the first prompt; empty if there is no prompt.
    pub first_words: String,
    /// The model.
    pub model: Option<String>,
    /// Whether the session belongs to a subagent.
    pub is_of_subagent: bool,
    /// The number of prompts by a person.
    pub turns: u64,
    /// The number of tool calls.
    pub calls: u64,
    /// All tokens.
    pub tokens: u64,
    /// The cost.
    pub cost: Picodollars,
    /// The cost for people: `unknown` where no price is known.
    pub shown_cost: String,
    /// The first and the last time, in milliseconds since 1970.
    pub span: Option<(u64, u64)>,
}

impl CountedInput {
    /// The dialect of the input.
    pub const fn identity(&self) -> &Identified {
        &self.identity
    }

    /// The input as a row of a list.
    pub fn overview(&self, prices: &Prices) -> SessionOverview {
        let Statistics { headline, span, agents, sessions, .. } = &self.statistics;
        let spent = self.statistics.spending(prices).total;
        SessionOverview {
            id: headline.id.clone(),
            cwd: headline.cwd.clone(),
            parent: headline.parent.clone(),
            title: headline.title.clone(),
            first_words: headline.first_words.clone(),
            model: headline.model.clone(),
            is_of_subagent: !sessions.is_empty() && sessions.keys().all(|session| agents.contains(session)),
            turns: self.statistics.turns(),
            calls: self.statistics.all_tools().calls,
            tokens: spent.tokens(),
            cost: spent.cost(),
            shown_cost: table::shown_cost(&spent),
            span: span.as_ref().map(|[first, last]| (first.0, last.0)),
        }
    }
}

/// Shows each event to an observer before it is counted.
struct ObservedWriter<F> {
    writer: StatsWriter,
    observer: F,
}

impl<F: FnMut(&Event<'_>) + Send> Writer for ObservedWriter<F> {
    fn event(&mut self, event: &Event<'_>, out: &mut WriterOutput<'_>) {
        (self.observer)(event);
        self.writer.event(event, out);
    }

    fn leftover(&mut self, leftover: Leftover<'_>, out: &mut WriterOutput<'_>) {
        self.writer.leftover(leftover, out);
    }

    fn finish(&mut self, out: &mut WriterOutput<'_>) {
        self.writer.finish(out);
    }
}

/// Counts the bytes of one input.
#[derive(Debug)]
pub struct SessionCounter {
    identity: Identified,
    pipe: Pipe,
    counted: Receiver<Statistics>,
    content: Sha256,
}

impl SessionCounter {
    /// A counter for an input of that dialect and role. It fails if the dialect has no reader for the role. The name tells
    /// sessions without an id apart.
    pub fn new(name: &str, identity: Identified, options: &Options) -> Result<Self, Error> {
        Self::observed(name, identity, options, |_| ())
    }

    /// Like [`SessionCounter::new`]; `observer` gets each event, too.
    pub fn observed(
        name: &str,
        identity: Identified,
        options: &Options,
        observer: impl FnMut(&Event<'_>) + Send + 'static,
    ) -> Result<Self, Error> {
        let (done, counted) = mpsc::channel();
        let writer = Box::new(ObservedWriter { writer: StatsWriter::new(name, done), observer });
        let pipe = Pipe::with_writer((identity.dialect, identity.spec.role), writer, options)?;
        Ok(Self { identity, pipe, counted, content: Sha256::new() })
    }

    /// Counts the next bytes, in pieces of any size.
    pub fn push(&mut self, bytes: &[u8]) {
        self.content.update(bytes);
        self.pipe.push(bytes, &mut Vec::new());
    }

    /// The statistics, after the last byte; `None` if no frame of the input could be read.
    pub fn finish(self) -> Option<CountedInput> {
        let report = self.pipe.finish(&mut Vec::new());
        // A pipe that is finished has finished its writer.
        let statistics = self.counted.try_recv().ok().filter(|_| report.read > 0)?;
        let content = self.content.finalize().into();
        Some(CountedInput { identity: self.identity, errors: report.errors, content, statistics })
    }
}

/// The short statistics of one file.
#[derive(Debug)]
struct CountedFile {
    name: String,
    identity: Identified,
    sessions: u64,
    turns: u64,
    tools: ToolCounts,
    spent: Spent,
    /// Problems with the input that are errors.
    errors: u64,
}

/// The statistics of many files.
#[derive(Debug)]
pub struct StatsReport {
    files: Vec<CountedFile>,
    all: Statistics,
    prices: Prices,
    /// The digest of each file's content, to leave out copies of sessions that have no id.
    contents: HashSet<[u8; 32]>,
    /// Files that are byte for byte copies of another one.
    copies: u64,
}

impl StatsReport {
    /// A report without files, with the prices of its costs.
    pub fn new(prices: Prices) -> Self {
        Self { files: Vec::new(), all: Statistics::default(), prices, contents: HashSet::new(), copies: 0 }
    }

    /// Adds a file. A byte for byte copy of an earlier file is listed and not counted.
    pub fn add(&mut self, name: String, counted: CountedInput) {
        let CountedInput { identity, errors, content, statistics } = counted;
        self.files.push(CountedFile {
            name,
            identity,
            sessions: statistics.sessions.len() as u64,
            turns: statistics.turns(),
            tools: statistics.all_tools(),
            spent: statistics.spending(&self.prices).total,
            errors,
        });
        if self.contents.insert(content) {
            self.all.merge(statistics);
        } else {
            self.copies += 1;
        }
    }

    /// Whether no file was added.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Tables for people, of at most 80 columns. `verbose` lists every row and every file.
    pub fn to_table(&self, verbose: bool) -> String {
        table::write(self, verbose)
    }

    /// One JSON document and a newline, with the inputs that were skipped or failed. [`SCHEMA`] describes it.
    pub fn to_json(&self, skipped: &[(String, impl Explain)], failed: &[(String, impl Explain)]) -> String {
        json::write(self, skipped, failed)
    }
}
