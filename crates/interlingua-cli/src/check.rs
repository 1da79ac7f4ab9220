//! `check`: what a file is, and whether it is sound.

use std::path::Path;

use interlingua::check::CheckWriter;
use interlingua::ledger::Report;
use interlingua::pipe::Pipe;

use crate::convert::{Identified, identify, options};
use crate::error::{CommandError, Exit};
use crate::flags::Check;
use crate::sources::InputPlace;
use crate::talk::{self, Talk};
use crate::{render, report};

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
    let mut files = Vec::new();
    for path in &args.files {
        let result = check(path, args);
        if !args.json {
            let name = InputPlace::of(path).name();
            match &result {
                Ok(checked) if talk.quiet && checked.is_sound() => {}
                Ok(Checked { identity, report }) => talk::text(&render::checked(&name, identity, report))?,
                Err(error) => Talk::error(error),
            }
        }
        files.push((InputPlace::of(path).name(), result));
    }
    if args.json {
        talk::data(report::check(&files).as_bytes())?;
    }
    let unreadable = files.iter().find_map(|(_, result)| result.as_ref().err());
    Ok(match unreadable {
        Some(error) => error.exit(),
        None if files.iter().flat_map(|(_, result)| result).all(Checked::is_sound) => Exit::Done,
        None => Exit::Failed,
    })
}

fn check(path: &Path, args: &Check) -> Result<Checked, CommandError> {
    let input = InputPlace::of(path);
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
