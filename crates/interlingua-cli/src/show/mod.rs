//! `show`: a session as people read it, in the terminal, as Markdown or as one HTML page.

mod html;
mod markdown;
mod page_text;
mod pager;
mod prose;
mod story;
mod terminal;
mod timeline;
mod words;

use std::io::{self, IsTerminal, Write};
use std::path::Path;

use interlingua::dialects::Options;
use interlingua::json::Output;
use interlingua::pipe::Pipe;
use interlingua_report::safe::{self, ScreenWriter};
use interlingua_report::{Identified, render};
use interlingua_sessions::{InputPlace, SourceError};

use crate::convert::options;
use crate::error::{CommandError, Exit};
use crate::flags::ShowSession;
use crate::outputs::{self, Sink};
use crate::talk::Talk;
use pager::Pager;
use story::{Story, StoryWriter};

/// What all forms need to know beside the story.
pub(crate) struct Look<'l> {
    /// The input, for people.
    pub(crate) name: &'l str,
    pub(crate) identity: &'l Identified,
    /// Nothing is folded or left out.
    pub(crate) full: bool,
    /// In columns.
    pub(crate) width: usize,
    pub(crate) colour: bool,
}

/// Writes a story in one form.
type StoryForm = fn(&Story, &Look<'_>, &mut dyn Write) -> io::Result<()>;

#[expect(clippy::disallowed_methods, reason = "only asks whether stdout is a terminal")]
pub(crate) fn run(args: &ShowSession, talk: &Talk) -> Result<Exit, CommandError> {
    let input = InputPlace::of(&args.file);
    // A dash is stdout, as it is stdin.
    let output = args.output.as_deref().filter(|path| *path != Path::new("-"));
    outputs::check_places(output.as_slice(), input.path().as_slice())?;
    let name = input.name();
    let opened = input.open(args.source.max_unpacked)?;
    let identity = opened.identify(&name, &args.source.hints())?;
    let (dialect, role) = (identity.dialect, identity.spec.role);
    let writer = StoryWriter::default();
    let options = Options { source_name: input.stem(), ..options(&args.source) };
    let pipe = Pipe::with_writer((dialect, role), Box::new(writer.clone()), &options);
    let mut pipe = pipe.map_err(|_| SourceError::CannotRead(dialect, role))?;
    opened.each(
        |error| CommandError::Read(name.clone(), error),
        |bytes| {
            pipe.push(bytes, &mut Vec::new());
            Ok(())
        },
    )?;
    let report = pipe.finish(&mut Vec::new());
    drop(pipe);
    if report.read == 0 {
        return Err(CommandError::NothingRead { name, dialect, looks_like: identity.looks_like });
    }
    let mut story = writer.finish(report);
    story.framing = Some(identity.spec.framing);

    let (form, form_name): (StoryForm, &str) = match asked_form(args, output) {
        ShownAs::Markdown => (markdown::write, "Markdown"),
        ShownAs::Html => (html::write, "HTML"),
        ShownAs::Text => (terminal::write, "plain text"),
    };
    let is_text = asked_form(args, output) == ShownAs::Text;
    let stdout = io::stdout();
    let to_terminal = output.is_none() && stdout.is_terminal();
    let screen = to_terminal.then(|| console::Term::stdout().size_checked()).flatten();
    let width = args.width.or(screen.map(|(_, columns)| columns)).map_or(WIDTH, usize::from);
    let colour = output.is_none() && anstream::AutoStream::choice(&stdout) != anstream::ColorChoice::Never;
    let name = name.as_str();
    let look = Look { name, identity: &identity, full: args.full, width: width.max(NARROWEST), colour };

    if is_text && to_terminal && !args.no_pager {
        let height = screen.map_or(HEIGHT, |(rows, _)| usize::from(rows));
        let mut pager = Pager::new(height);
        return match form(&story, &look, &mut ScreenWriter(&mut pager)).and_then(|()| pager.finish()) {
            Ok(()) => Ok(Exit::Done),
            Err(error) => Err(CommandError::Output(error)),
        };
    }
    let sink = match output {
        None => Sink::stdout(),
        Some(path) => Sink::file(path, input.path())?,
    };
    let mut buffer = io::BufWriter::with_capacity(BUFFER, SinkWriter(sink));
    // A sink remembers what went wrong, and tells it at the end.
    let written = if is_text {
        form(&story, &look, &mut ScreenWriter(&mut buffer)).and_then(|()| buffer.flush())
    } else {
        form(&story, &look, &mut buffer).and_then(|()| buffer.flush())
    };
    let (SinkWriter(sink), _) = buffer.into_parts();
    sink.finish()?;
    written.map_err(CommandError::Output)?;
    if let Some(output) = output {
        talk.say(&shown(name, &identity, output, form_name));
    }
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

#[derive(Clone, Copy, PartialEq, Eq)]
enum ShownAs {
    Text,
    Markdown,
    Html,
}

/// The form that a flag names, or else the extension of the output.
fn asked_form(args: &ShowSession, output: Option<&Path>) -> ShownAs {
    let extension = output.and_then(Path::extension).map(|end| end.to_string_lossy().to_lowercase());
    match (args.markdown, args.html, extension.as_deref()) {
        (true, _, _) => ShownAs::Markdown,
        (_, true, _) | (_, _, Some("html" | "htm" | "xhtml")) => ShownAs::Html,
        (_, _, Some("md" | "markdown")) => ShownAs::Markdown,
        (false, false, _) => ShownAs::Text,
    }
}

/// The width where none is known.
const WIDTH: usize = 100;
/// The height where none is known.
const HEIGHT: usize = 24;
/// Narrower than this, words no longer fit.
const NARROWEST: usize = 20;
/// How much is written at a time.
const BUFFER: usize = 64 << 10;

/// A sink for those who write text.
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
