//! `check`: what a file is, and whether it is sound.

use interlingua::check::CheckWriter;
use interlingua::ledger::Report;
use interlingua::pipe::Pipe;

use crate::convert::{Identified, identify, options};
use crate::error::{CommandError, Exit};
use crate::flags::Check;
use crate::sources::{self, FoundFiles, InputPlace};
use crate::talk::{self, Talk};
use crate::{jobs, render, report};

/// What a file is and what was found in it.
#[derive(Debug)]
pub(crate) struct Checked {
    pub(crate) identity: Identified,
    pub(crate) report: Report,
}

impl Checked {
    pub(crate) fn is_sound(&self) -> bool {
        self.report.errors == 0
    }
}

pub(crate) fn run(args: &Check, talk: &Talk) -> Result<Exit, CommandError> {
    let FoundFiles { files: found, failed, .. } = sources::find(&args.files, None);
    let results = jobs::each(&found, &args.bulk, |file| check(&file.input, args));
    let mut files: Vec<(String, Result<Checked, CommandError>)> = Vec::with_capacity(found.len());
    let mut skipped = Vec::new();
    for (file, result) in found.iter().zip(results) {
        match result {
            Err(error) if error.is_skip() && !file.named => skipped.push((file.input.name(), error)),
            result => files.push((file.input.name(), result)),
        }
    }
    files.extend(failed.into_iter().map(|(name, error)| (name, Err(error))));
    if args.json {
        talk::data(report::check(&files, &skipped).as_bytes())?;
    } else {
        for (name, result) in &files {
            match result {
                Ok(checked) if talk.quiet && checked.is_sound() => {}
                Ok(Checked { identity, report }) => talk::text(&render::checked(name, identity, report))?,
                Err(error) => Talk::error(error),
            }
        }
    }
    talk.say(&render::skipped(&skipped, talk.verbose));
    if files.is_empty() {
        return Err(CommandError::NothingRecognised(skipped.len()));
    }
    let unreadable = files.iter().find_map(|(_, result)| result.as_ref().err());
    Ok(match unreadable {
        Some(error) => error.exit(),
        None if files.iter().flat_map(|(_, result)| result).all(Checked::is_sound) => Exit::Done,
        None => Exit::Failed,
    })
}

fn check(input: &InputPlace, args: &Check) -> Result<Checked, CommandError> {
    let opened = input.open()?;
    let identity = identify(&opened, &input.name(), &args.source)?;
    let (dialect, role) = (identity.dialect, identity.spec.role);
    let checker = Box::new(CheckWriter::default());
    let pipe = Pipe::with_writer((dialect, role), checker, &options(&args.source));
    let mut pipe = pipe.map_err(|_| CommandError::CannotRead(dialect, role))?;
    let failed = |error| CommandError::Read(input.name(), error);
    opened.each(failed, |bytes| {
        pipe.push(bytes, &mut Vec::new());
        Ok(())
    })?;
    let report = pipe.finish(&mut Vec::new());
    if report.read == 0 {
        let looks_like = identity.looks_like;
        return Err(CommandError::NothingRead { name: input.name(), dialect, looks_like });
    }
    Ok(Checked { identity, report })
}
