//! `stats`: what happened in sessions, counted: turns, tools, failures, files, tokens and what they cost.

use std::fs;
use std::path::Path;

use interlingua::dialects::Role;
use interlingua_models::Prices;
use interlingua_report::{render, safe};
use interlingua_sessions::{self as sessions, FoundFile, FoundFiles, InputPlace, SourceError};
use interlingua_view::stats::{CountedInput, SessionCounter, StatsReport};

use crate::convert::options;
use crate::error::{CommandError, Exit, of_sources};
use crate::flags::Stats;
use crate::jobs;
use crate::talk::{self, Talk};

pub(crate) fn run(args: &Stats, talk: &Talk) -> Result<Exit, CommandError> {
    let mut overview = StatsReport::new(load_prices(args.prices.as_deref())?);
    sessions::check_patterns(&args.inputs)?;
    let FoundFiles { files: found, failed, .. } = sessions::find(&args.inputs, None);
    let (mut skipped, mut failed) = (Vec::new(), of_sources(failed));
    let work = |file: &FoundFile| count(&file.input, args);
    jobs::each(&found, &args.bulk, work, |file, counted| {
        let name = file.input.name();
        match counted {
            Ok(counted) => overview.add(name, counted),
            Err(error) if error.is_skip() && !file.named => skipped.push((name, error)),
            Err(error) => failed.push((name, error)),
        }
    });
    if args.json {
        talk::data(overview.to_json(&skipped, &failed).as_bytes())?;
    } else if !overview.is_empty() {
        talk::text(&overview.to_table(talk.verbose))?;
    }
    talk.say(&render::skipped(&skipped, talk.verbose));
    talk.errors(&failed);
    match &failed[..] {
        [(_, error), ..] => Ok(error.exit()),
        [] if overview.is_empty() => Err(CommandError::NothingRecognised(skipped.len())),
        [] => Ok(Exit::Done),
    }
}

fn count(input: &InputPlace, args: &Stats) -> Result<CountedInput, CommandError> {
    let opened = input.open(args.source.max_unpacked)?;
    let identity = opened.identify(&input.name(), &args.source.hints())?;
    let (dialect, role) = (identity.dialect, identity.spec.role);
    if !matches!(role, Role::Log | Role::Live) {
        return Err(CommandError::NoSession(input.name(), dialect, role));
    }
    let counter = SessionCounter::new(&input.name(), identity, &options(&args.source));
    let mut counter = counter.map_err(|_| SourceError::CannotRead(dialect, role))?;
    opened.each(
        |error| CommandError::Read(input.name(), error),
        |bytes| {
            counter.push(bytes);
            Ok(())
        },
    )?;
    let nothing =
        || CommandError::NothingRead { name: input.name(), dialect, looks_like: identity.looks_like };
    counter.finish().ok_or_else(nothing)
}

/// The prices of the user's file, or the built-in ones.
fn load_prices(path: Option<&Path>) -> Result<Prices, CommandError> {
    let Some(path) = path else { return Ok(Prices::built_in()) };
    let name = safe::path_name(path);
    let text = fs::read_to_string(path).map_err(|error| CommandError::Read(name.clone(), error))?;
    Prices::parse(&text).map_err(|error| CommandError::Prices(name, error.to_string()))
}
