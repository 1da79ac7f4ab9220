//! `check`: reports the dialect of a file and whether the file is sound.

use interlingua::check::CheckWriter;
use interlingua::pipe::Pipe;
use interlingua::restore_check::RestoreCheck;
use interlingua_report::json::ReportWriter;
use interlingua_report::{Checked, render};
use interlingua_sessions::{self as sessions, FoundFile, FoundFiles, InputPlace, SourceError};

use crate::convert::{is_record, options};
use crate::error::{CommandError, Exit, of_sources};
use crate::flags::Check;
use crate::jobs;
use crate::outputs::Sink;
use crate::talk::{self, Talk};

pub(crate) fn run(args: &Check, talk: &Talk) -> Result<Exit, CommandError> {
    sessions::check_patterns(&args.files)?;
    let FoundFiles { files: found, failed, .. } = sessions::find(&args.files, None);
    let mut verdicts = Verdicts {
        report: args.json.then(|| ReportWriter::new("check", Sink::stdout())),
        ..Verdicts::default()
    };
    let mut skipped = Vec::new();
    let mut written = Ok(());
    let work = |file: &FoundFile| {
        let mut scores = None;
        let result = check(&file.input, args, &mut scores);
        (scores, result)
    };
    jobs::each(&found, &args.bulk, work, |file, (scores, result)| {
        if let Some(scores) = scores.filter(|_| written.is_ok()) {
            written = talk::text(&scores);
        }
        match result {
            Err(error) if error.is_skip() && !file.named => skipped.push((file.input.name(), error)),
            result => {
                let printed = verdicts.add(&file.input.name(), result, file.named, talk);
                if written.is_ok() {
                    written = printed;
                }
            }
        }
    });
    written?;
    for (name, error) in of_sources(failed) {
        verdicts.add(&name, Err(error), true, talk)?;
    }
    let Verdicts { sound, not_sound, unreadable, exit, report } = verdicts;
    match report {
        Some(report) => report.finish(&skipped, None).finish()?,
        None if sound + not_sound + unreadable > 1 && !talk.quiet => {
            talk::text(&render::verdicts(sound, not_sound, unreadable))?;
        }
        None => {}
    }
    talk.say(&render::skipped(&skipped, talk.verbose));
    Ok(match exit {
        Some(exit) => exit,
        None if sound + not_sound == 0 => return Err(CommandError::NothingRecognised(skipped.len())),
        None if not_sound == 0 => Exit::Done,
        None => Exit::Failed,
    })
}

/// Verdicts of all files, printed as each file is done.
#[derive(Default)]
struct Verdicts {
    sound: u64,
    not_sound: u64,
    unreadable: u64,
    /// The exit code if a file could not be read.
    exit: Option<Exit>,
    report: Option<ReportWriter<Sink>>,
}

impl Verdicts {
    fn add(
        &mut self,
        name: &str,
        result: Result<Checked, CommandError>,
        named: bool,
        talk: &Talk,
    ) -> Result<(), CommandError> {
        match &result {
            Ok(checked) if checked.is_sound() => self.sound += 1,
            Ok(_) => self.not_sound += 1,
            Err(error) => {
                self.unreadable += 1;
                self.exit.get_or_insert(error.exit());
            }
        }
        if let Some(report) = &mut self.report {
            report.checked(name, &result);
            return Ok(());
        }
        match result {
            // In a directory run, sound files are not listed unless `--verbose` is given.
            Ok(checked) if checked.is_sound() && (talk.quiet || !(named || talk.verbose)) => Ok(()),
            Ok(Checked { identity, report, .. }) => talk::text(&render::checked(name, &identity, &report)),
            Err(error) => {
                Talk::error(&error);
                Ok(())
            }
        }
    }
}

/// Checks one input. With `--why`, `scores` receives the scores of detection, also if the input is not recognised.
fn check(input: &InputPlace, args: &Check, scores: &mut Option<String>) -> Result<Checked, CommandError> {
    let opened = input.open(args.source.max_unpacked)?;
    if args.why {
        *scores = Some(render::scores(&input.name(), &opened.candidates));
    }
    let identity = opened.identify(&input.name(), &args.source.hints())?;
    let (dialect, role) = (identity.dialect, identity.spec.role);
    let checker = Box::new(CheckWriter::new(dialect.lineage));
    let pipe = Pipe::with_writer((dialect, role), checker, &options(&args.source));
    let mut pipe = pipe.map_err(|_| SourceError::CannotRead(dialect, role))?;
    let mut restored = is_record(dialect).then(|| RestoreCheck::new(dialect, &options(&args.source)));
    let failed = |error| CommandError::Read(input.name(), error);
    opened.each(failed, |bytes| {
        pipe.push(bytes, &mut Vec::new());
        if let Some(restored) = &mut restored {
            restored.push(bytes);
        }
        Ok(())
    })?;
    let mut report = pipe.finish(&mut Vec::new());
    if let Some(restored) = restored {
        restored.finish(&mut report);
    }
    if report.read == 0 {
        let looks_like = identity.looks_like;
        return Err(CommandError::NothingRead { name: input.name(), dialect, looks_like });
    }
    Ok(Checked::new(identity, report))
}
