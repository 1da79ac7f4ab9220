//! `stats`: what happened in sessions, counted: turns, tools, failures, files, tokens and what they cost.
//!
//! ```text
//! file -> pipe -> StatsWriter (events) -> Statistics -\
//! file -> pipe -> StatsWriter (events) -> Statistics --+-> merged -> table or JSON
//! ```

mod count;
mod json;
mod sums;
mod table;

use std::collections::HashSet;
use std::sync::mpsc;

use interlingua::dialects::Role;
use interlingua::pipe::Pipe;
use interlingua_report::{Identified, render};
use interlingua_sessions::{self as sessions, FoundFile, FoundFiles, InputPlace, SourceError};
use sha2::{Digest as _, Sha256};

use crate::convert::options;
use crate::error::{CommandError, Exit, of_sources};
use crate::flags::Stats;
use crate::jobs;
use crate::prices::Prices;
use crate::talk::{self, Talk};

use count::StatsWriter;
use sums::{Spent, Statistics, ToolCounts};

/// What was counted in one file, in short.
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

/// Everything that is said in the end.
struct StatsReport {
    files: Vec<CountedFile>,
    skipped: Vec<(String, CommandError)>,
    failed: Vec<(String, CommandError)>,
    all: Statistics,
    prices: Prices,
    /// The digest of each file's content, to leave out copies of sessions that have no id.
    contents: HashSet<[u8; 32]>,
    /// Files that are byte for byte copies of another one.
    copies: u64,
}

pub(crate) fn run(args: &Stats, talk: &Talk) -> Result<Exit, CommandError> {
    let prices = Prices::load(args.prices.as_deref())?;
    sessions::check_patterns(&args.inputs)?;
    let FoundFiles { files: found, failed, .. } = sessions::find(&args.inputs, None);
    let mut overview = StatsReport {
        files: Vec::new(),
        skipped: Vec::new(),
        failed: of_sources(failed),
        all: Statistics::default(),
        prices,
        contents: HashSet::new(),
        copies: 0,
    };
    let work = |file: &FoundFile| count(&file.input, args);
    jobs::each(&found, &args.bulk, work, |file, counted| {
        let name = file.input.name();
        match counted {
            Ok(counted) => overview.add(name, counted),
            Err(error) if error.is_skip() && !file.named => overview.skipped.push((name, error)),
            Err(error) => overview.failed.push((name, error)),
        }
    });
    if args.json {
        talk::data(json::write(&overview).as_bytes())?;
    } else if !overview.files.is_empty() {
        talk::text(&table::write(&overview, talk.verbose))?;
    }
    talk.say(&render::skipped(&overview.skipped, talk.verbose));
    talk.errors(&overview.failed);
    match (&overview.failed[..], &overview.files[..]) {
        ([(_, error), ..], _) => Ok(error.exit()),
        ([], []) => Err(CommandError::NothingRecognised(overview.skipped.len())),
        ([], _) => Ok(Exit::Done),
    }
}

impl StatsReport {
    fn add(&mut self, name: String, counted: CountedInput) {
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
}

/// What one input holds.
struct CountedInput {
    identity: Identified,
    errors: u64,
    /// The digest of its bytes.
    content: [u8; 32],
    statistics: Statistics,
}

fn count(input: &InputPlace, args: &Stats) -> Result<CountedInput, CommandError> {
    let opened = input.open(args.source.max_unpacked)?;
    let identity = opened.identify(&input.name(), &args.source.hints())?;
    let (dialect, role) = (identity.dialect, identity.spec.role);
    if !matches!(role, Role::Log | Role::Live) {
        return Err(CommandError::NoSession(input.name(), dialect, role));
    }
    let (done, counted) = mpsc::channel();
    let writer = Box::new(StatsWriter::new(&input.name(), done));
    let pipe = Pipe::with_writer((dialect, role), writer, &options(&args.source));
    let mut pipe = pipe.map_err(|_| SourceError::CannotRead(dialect, role))?;
    let mut content = Sha256::new();
    opened.each(
        |error| CommandError::Read(input.name(), error),
        |bytes| {
            content.update(bytes);
            pipe.push(bytes, &mut Vec::new());
            Ok(())
        },
    )?;
    let report = pipe.finish(&mut Vec::new());
    let nothing = CommandError::NothingRead { name: input.name(), dialect, looks_like: identity.looks_like };
    match counted.try_recv() {
        Ok(statistics) if report.read > 0 => Ok(CountedInput {
            identity,
            errors: report.errors,
            content: content.finalize().into(),
            statistics,
        }),
        // Whoever finishes a pipe hears from its writer.
        Ok(_) | Err(_) => Err(nothing),
    }
}
