//! `show`: a session in readable form, in the terminal, as Markdown or as one HTML page.

mod pager;

use std::io::{self, IsTerminal, Write};
use std::path::Path;

use interlingua::json::Output;
use interlingua_report::safe::{self, ScreenWriter};
use interlingua_report::{Identified, render};
use interlingua_sessions::{InputPlace, SourceError};
use interlingua_view::{FollowReader, Look, StoryForm, StoryReader};

use crate::convert::{self, options};
use crate::error::{CommandError, Exit};
use crate::flags::ShowSession;
use crate::outputs::{self, Sink};
use crate::signed;
use crate::talk::Talk;
use pager::Pager;

#[expect(clippy::disallowed_methods, reason = "only asks whether stdout is a terminal")]
pub(crate) fn run(args: &ShowSession, talk: &Talk) -> Result<Exit, CommandError> {
    if args.follow {
        return follow(args);
    }
    let input = InputPlace::of(&args.file);
    // `-` as output means stdout, as `-` as input means stdin.
    let output = args.output.as_deref().filter(|path| *path != Path::new("-"));
    outputs::check_places(output.as_slice(), input.path().as_slice())?;
    let name = input.name();
    let opened = input.open(args.source.max_unpacked)?;
    let identity = opened.identify(&name, &args.source.hints())?;
    let (dialect, role) = (identity.dialect, identity.spec.role);
    let options = options(&args.source).with_source_name(input.stem());
    let reader = StoryReader::new(&identity, &options);
    let mut reader = reader.map_err(|_| SourceError::CannotRead(dialect, role))?;
    opened.each(
        |error| CommandError::Read(name.clone(), error),
        |bytes| {
            reader.push(bytes);
            Ok(())
        },
    )?;
    let Some(story) = reader.finish() else {
        return Err(CommandError::NothingRead { name, dialect, looks_like: identity.looks_like });
    };

    if let Some(place) = args.at.filter(|place| !story.has_place(*place)) {
        let hint = "`interlingua find` names the lines of its hits".to_owned();
        let text = format!("the session has nothing to show at line {place} or after it");
        return Err(CommandError::Usage(text, Some(hint)));
    }
    let form = asked_form(args, output);
    let is_text = form == StoryForm::Text;
    let stdout = io::stdout();
    let to_terminal = output.is_none() && stdout.is_terminal();
    let screen = to_terminal.then(|| console::Term::stdout().size_checked()).flatten();
    let width = args.width.or(screen.map(|(_, columns)| columns)).map_or(WIDTH, usize::from);
    let colour = output.is_none() && anstream::AutoStream::choice(&stdout) != anstream::ColorChoice::Never;
    let name = name.as_str();
    let mut look = Look::new(name, &identity);
    (look.full, look.width, look.colour) = (args.full, width.max(NARROWEST), colour);
    look.at = args.at;
    let signatures = signatures(args, &identity)?;
    look.signatures = &signatures;

    if is_text && to_terminal && !args.no_pager {
        let height = screen.map_or(HEIGHT, |(rows, _)| usize::from(rows));
        let mut pager = Pager::new(height);
        return match form.write(&story, &look, &mut ScreenWriter(&mut pager)).and_then(|()| pager.finish()) {
            Ok(()) => Ok(Exit::Done),
            Err(error) => Err(CommandError::Output(error)),
        };
    }
    let sink = match output {
        None => Sink::stdout(),
        Some(path) => Sink::file(path, input.path())?,
    };
    let mut buffer = io::BufWriter::with_capacity(BUFFER, SinkWriter(sink));
    // A sink stores its first error and returns it at the end.
    let written = if is_text {
        form.write(&story, &look, &mut ScreenWriter(&mut buffer)).and_then(|()| buffer.flush())
    } else {
        form.write(&story, &look, &mut buffer).and_then(|()| buffer.flush())
    };
    let (SinkWriter(sink), _) = buffer.into_parts();
    sink.finish()?;
    written.map_err(CommandError::Output)?;
    if let Some(output) = output {
        talk.say(&shown(name, &identity, output, form.name()));
    }
    Ok(Exit::Done)
}

/// The state of the signatures of a record. A log has none.
fn signatures(args: &ShowSession, identity: &Identified) -> Result<Vec<String>, CommandError> {
    match (&args.signature, &args.key) {
        (Some(file), Some(key)) if convert::is_record(identity.dialect) => {
            signed::state(file, &args.file, key)
        }
        (Some(_), _) => {
            let text = "only a record has a signature".to_owned();
            Err(CommandError::Usage(text, Some("`convert --to record` makes a record".to_owned())))
        }
        (None, _) if convert::is_record(identity.dialect) => {
            Ok(vec!["not verified (`--signature FILE --key FILE` verifies it)".to_owned()])
        }
        (None, _) => Ok(Vec::new()),
    }
}

/// Shows a session while another program writes it.
#[expect(clippy::disallowed_methods, reason = "only asks about stdout, and writes there")]
fn follow(args: &ShowSession) -> Result<Exit, CommandError> {
    let input = convert::followed(&args.file);
    let name = input.name();
    let opened = input.open_live(&args.source.hints(), args.source.max_unpacked)?;
    let identity = opened.identify(&name, &args.source.hints())?;
    let (dialect, role) = (identity.dialect, identity.spec.role);
    let options = convert::options(&args.source).with_source_name(input.stem());
    let stdout = io::stdout();
    let colour = anstream::AutoStream::choice(&stdout) != anstream::ColorChoice::Never;
    let reader = FollowReader::new(&identity, &options, args.full, colour);
    let mut reader = reader.map_err(|_| SourceError::CannotRead(dialect, role))?;
    let mut screen = ScreenWriter(stdout.lock());
    let mut say = |text: &str| {
        let written = screen.write_all(text.as_bytes()).and_then(|()| screen.flush());
        written.map_err(CommandError::Output)
    };
    opened.each(|error| CommandError::Read(name.clone(), error), |bytes| say(&reader.push(bytes)))?;
    let Some(last) = reader.finish() else {
        return Err(CommandError::NothingRead { name, dialect, looks_like: identity.looks_like });
    };
    say(&last)?;
    Ok(Exit::Done)
}

/// The line about a session that was written to a file.
fn shown(name: &str, identity: &Identified, output: &Path, form: &str) -> String {
    format!(
        "{}writing {} ({form})\n",
        render::reading(name, identity),
        safe::exact_line(&safe::path_name(output))
    )
}

/// The form named by a flag, or else by the extension of the output.
fn asked_form(args: &ShowSession, output: Option<&Path>) -> StoryForm {
    let extension = output.and_then(Path::extension).map(|end| end.to_string_lossy().to_lowercase());
    match (args.markdown, args.html, extension.as_deref()) {
        (true, _, _) => StoryForm::Markdown,
        (_, true, _) | (_, _, Some("html" | "htm" | "xhtml")) => StoryForm::Html,
        (_, _, Some("md" | "markdown")) => StoryForm::Markdown,
        (false, false, _) => StoryForm::Text,
    }
}

/// The default width.
const WIDTH: usize = 100;
/// The default height.
const HEIGHT: usize = 24;
/// The smallest width at which words still fit.
const NARROWEST: usize = 20;
/// The size of the write buffer.
const BUFFER: usize = 64 << 10;

/// Implements `Write` for a sink.
struct SinkWriter(Sink);

impl Write for SinkWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Output::write(&mut self.0, bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
