//! `stats`: counts turns, tools, failures, changed files, tokens and costs of sessions.
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
use sha2::{Digest as _, Sha256};

use crate::convert::{Identified, identify, options};
use crate::error::{CommandError, Exit};
use crate::flags::Stats;
use crate::prices::Prices;
use crate::sources::{self, FoundFile, FoundFiles, InputPlace};
use crate::talk::{self, Talk};
use crate::{jobs, render};

use count::StatsWriter;
use sums::{Spent, Statistics, ToolCounts};

/// A summary of one counted file.
struct CountedFile {
    name: String,
    identity: Identified,
    sessions: u64,
    turns: u64,
    tools: ToolCounts,
    spent: Spent,
    /// Problems of the input that are errors.
    errors: u64,
}

/// All data for the output.
struct StatsReport {
    files: Vec<CountedFile>,
    skipped: Vec<(String, CommandError)>,
    failed: Vec<(String, CommandError)>,
    all: Statistics,
    prices: Prices,
    /// The digest of each file's content, to skip copies of sessions without an id.
    contents: HashSet<[u8; 32]>,
    /// The number of files that are byte-for-byte copies of another file.
    copies: u64,
}

pub(crate) fn run(args: &Stats, talk: &Talk) -> Result<Exit, CommandError> {
    let prices = Prices::load(args.prices.as_deref())?;
    sources::check_patterns(&args.inputs)?;
    let FoundFiles { files: found, failed, .. } = sources::find(&args.inputs, None);
    let mut overview = StatsReport {
        files: Vec::new(),
        skipped: Vec::new(),
        failed,
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

/// The statistics of one input.
struct CountedInput {
    identity: Identified,
    errors: u64,
    /// The digest of the input's bytes.
    content: [u8; 32],
    statistics: Statistics,
}

fn count(input: &InputPlace, args: &Stats) -> Result<CountedInput, CommandError> {
    let opened = input.open(args.source.max_unpacked)?;
    let identity = identify(&opened, &input.name(), &args.source)?;
    let (dialect, role) = (identity.dialect, identity.spec.role);
    if !matches!(role, Role::Log | Role::Live) {
        return Err(CommandError::NoSession(input.name(), dialect, role));
    }
    let (done, counted) = mpsc::channel();
    let writer = Box::new(StatsWriter::new(&input.name(), done));
    let pipe = Pipe::with_writer((dialect, role), writer, &options(&args.source));
    let mut pipe = pipe.map_err(|_| CommandError::CannotRead(dialect, role))?;
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
        // `Err` does not occur, because a finished pipe has sent its statistics.
        Ok(_) | Err(_) => Err(nothing),
    }
}
