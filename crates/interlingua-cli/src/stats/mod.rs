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

use std::sync::mpsc;

use interlingua::dialects::Role;
use interlingua::pipe::Pipe;

use crate::convert::{Identified, identify, options};
use crate::error::{CommandError, Exit};
use crate::flags::Stats;
use crate::prices::Prices;
use crate::sources::{self, FoundFile, FoundFiles, InputPlace};
use crate::talk::{self, Talk};
use crate::{jobs, render};

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
}

pub(crate) fn run(args: &Stats, talk: &Talk) -> Result<Exit, CommandError> {
    let prices = Prices::load(args.prices.as_deref())?;
    let FoundFiles { files: found, failed, .. } = sources::find(&args.inputs, None);
    let mut overview =
        StatsReport { files: Vec::new(), skipped: Vec::new(), failed, all: Statistics::default(), prices };
    let work = |file: &FoundFile| count(&file.input, args);
    jobs::each(&found, &args.bulk, work, |file, counted| {
        let name = file.input.name();
        match counted {
            Ok((identity, errors, statistics)) => overview.add(name, identity, errors, statistics),
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
    fn add(&mut self, name: String, identity: Identified, errors: u64, statistics: Statistics) {
        self.files.push(CountedFile {
            name,
            identity,
            sessions: statistics.sessions.len() as u64,
            turns: statistics.turns,
            tools: statistics.all_tools(),
            spent: statistics.spending(&self.prices).total,
            errors,
        });
        self.all.merge(statistics);
    }
}

fn count(input: &InputPlace, args: &Stats) -> Result<(Identified, u64, Statistics), CommandError> {
    let opened = input.open()?;
    let identity = identify(&opened, &input.name(), &args.source)?;
    let (dialect, role) = (identity.dialect, identity.spec.role);
    if !matches!(role, Role::Log | Role::Live) {
        return Err(CommandError::NoSession(input.name(), dialect, role));
    }
    let (done, counted) = mpsc::channel();
    let writer = Box::new(StatsWriter::new(&input.name(), done));
    let pipe = Pipe::with_writer((dialect, role), writer, &options(&args.source));
    let mut pipe = pipe.map_err(|_| CommandError::CannotRead(dialect, role))?;
    opened.each(
        |error| CommandError::Read(input.name(), error),
        |bytes| {
            pipe.push(bytes, &mut Vec::new());
            Ok(())
        },
    )?;
    let report = pipe.finish(&mut Vec::new());
    let nothing = CommandError::NothingRead { name: input.name(), dialect, looks_like: identity.looks_like };
    match counted.try_recv() {
        Ok(statistics) if report.read > 0 => Ok((identity, report.errors, statistics)),
        // Whoever finishes a pipe hears from its writer.
        Ok(_) | Err(_) => Err(nothing),
    }
}
