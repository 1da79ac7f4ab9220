//! `show`: a session in readable form, in the terminal, as Markdown or as one HTML page.

mod html;
mod markdown;
mod page_text;
mod pager;
mod prose;
pub(crate) mod safe;
mod story;
mod terminal;
mod timeline;
mod words;

use std::io::{self, IsTerminal, Write};
use std::path::Path;

use interlingua::dialects::Options;
use interlingua::json::Output;
use interlingua::pipe::Pipe;

use crate::convert::{Identified, identify, options};
use crate::error::{CommandError, Exit};
use crate::flags::ShowSession;
use crate::outputs::{self, Sink};
use crate::render;
use crate::sources::InputPlace;
use crate::talk::Talk;
use pager::Pager;
use safe::ScreenWriter;
use story::{Story, StoryWriter};

/// Options shared by all output forms.
pub(crate) struct Look<'l> {
    /// The name of the input, for people.
    pub(crate) name: &'l str,
    pub(crate) identity: &'l Identified,
    /// Nothing is folded or left out.
    pub(crate) full: bool,
    /// The width in columns.
    pub(crate) width: usize,
    pub(crate) colour: bool,
}

/// A function that writes a story in one form.
type StoryForm = fn(&Story, &Look<'_>, &mut dyn Write) -> io::Result<()>;

#[expect(clippy::disallowed_methods, reason = "only asks whether stdout is a terminal")]
pub(crate) fn run(args: &ShowSession, talk: &Talk) -> Result<Exit, CommandError> {
    let input = InputPlace::of(&args.file);
    // `-` as output means stdout, as `-` as input means stdin.
    let output = args.output.as_deref().filter(|path| *path != Path::new("-"));
    outputs::check_places(output.as_slice(), input.path().as_slice())?;
    let name = input.name();
    let opened = input.open(args.source.max_unpacked)?;
    let identity = identify(&opened, &name, &args.source)?;
    let (dialect, role) = (identity.dialect, identity.spec.role);
    let writer = StoryWriter::default();
    let options = Options { source_name: input.stem(), ..options(&args.source) };
    let pipe = Pipe::with_writer((dialect, role), Box::new(writer.clone()), &options);
    let mut pipe = pipe.map_err(|_| CommandError::CannotRead(dialect, role))?;
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
    // A sink stores its first error and returns it at the end.
    let written = if is_text {
        form(&story, &look, &mut ScreenWriter(&mut buffer)).and_then(|()| buffer.flush())
    } else {
        form(&story, &look, &mut buffer).and_then(|()| buffer.flush())
    };
    let (SinkWriter(sink), _) = buffer.into_parts();
    sink.finish()?;
    written.map_err(CommandError::Output)?;
    if let Some(output) = output {
        talk.say(&render::shown(name, &identity, output, form_name));
    }
    Ok(Exit::Done)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ShownAs {
    Text,
    Markdown,
    Html,
}

/// The form named by a flag, or else by the extension of the output.
fn asked_form(args: &ShowSession, output: Option<&Path>) -> ShownAs {
    let extension = output.and_then(Path::extension).map(|end| end.to_string_lossy().to_lowercase());
    match (args.markdown, args.html, extension.as_deref()) {
        (true, _, _) => ShownAs::Markdown,
        (_, true, _) | (_, _, Some("html" | "htm" | "xhtml")) => ShownAs::Html,
        (_, _, Some("md" | "markdown")) => ShownAs::Markdown,
        (false, false, _) => ShownAs::Text,
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
