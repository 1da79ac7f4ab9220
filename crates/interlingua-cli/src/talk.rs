//! The only module that writes to the terminal. Colours are removed automatically where they are not supported.

#![expect(clippy::disallowed_methods, reason = "this is the place that writes text for people")]

use std::io::{self, IsTerminal, Write};
use std::sync::{Mutex, PoisonError};

use indicatif::ProgressBar;
use interlingua::json::Output;
use interlingua_report::{render, safe};

use crate::error::{CommandError, Exit};
use crate::outputs::Sink;

/// The verbosity of messages on stderr.
pub(crate) struct Talk {
    pub(crate) quiet: bool,
    pub(crate) verbose: bool,
}

impl Talk {
    pub(crate) const fn new(quiet: bool, verbose: bool) -> Self {
        Self { quiet, verbose }
    }

    /// Prints a message, unless `--quiet` is given.
    pub(crate) fn say(&self, text: &str) {
        if !self.quiet {
            Self::print(text);
        }
    }

    /// Prints the reason of a failure, also with `--quiet`.
    pub(crate) fn always(text: &str) {
        Self::print(text);
    }

    /// Prints an error, also with `--quiet`.
    pub(crate) fn error(error: &CommandError) {
        Self::print(&render::error(error));
    }

    /// Prints the errors of failed files, also with `--quiet`: the first few, or all with `--verbose` or `--quiet`.
    pub(crate) fn errors(&self, files: &[(String, CommandError)]) {
        Self::print(&render::failed(files, self.verbose || self.quiet));
    }

    /// Whether a progress bar is visible to a user.
    pub(crate) fn is_watched(&self) -> bool {
        !self.quiet && io::stderr().is_terminal()
    }

    fn print(text: &str) {
        // If stderr is closed, the message cannot be reported.
        let _ = anstream::stderr().lock().write_all(safe::screen(text).as_bytes());
    }
}

/// The progress bar on the terminal, to be cleared when the command is stopped.
static BAR: Mutex<Option<ProgressBar>> = Mutex::new(None);

/// Registers a progress bar that is about to be drawn.
pub(crate) fn draws(bar: &ProgressBar) {
    *BAR.lock().unwrap_or_else(PoisonError::into_inner) = Some(bar.clone());
}

/// Removes the progress bar from the terminal for good, even if threads still update it.
pub(crate) fn clear_bar() {
    if let Some(bar) = BAR.lock().unwrap_or_else(PoisonError::into_inner).take() {
        bar.finish_and_clear();
    }
}

/// Prints data to stdout unchanged. On a terminal, control characters are escaped and the last line is ended, so that
/// the prompt starts on a new line.
pub(crate) fn data(bytes: &[u8]) -> Result<Exit, CommandError> {
    let mut sink = Sink::stdout_for_data();
    Output::write(&mut sink, bytes);
    sink.finish()?;
    Ok(Exit::Done)
}

/// Prints text for people to stdout.
pub(crate) fn text(text: &str) -> Result<(), CommandError> {
    let mut stdout = anstream::stdout().lock();
    let text = safe::screen(text);
    stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()).map_err(CommandError::Output)
}

/// The alternate screen of the terminal. Dropping the value restores the main screen.
pub(crate) struct Screen(io::Stdout);

impl Screen {
    /// Whether stdout is a terminal that can be drawn on.
    pub(crate) fn is_available() -> bool {
        io::stdout().is_terminal() && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
    }

    /// Switches to an empty screen without a cursor, on which long lines are cut.
    pub(crate) fn open() -> Result<Self, CommandError> {
        let screen = Self(io::stdout());
        screen.control("\u{1b}[?1049h\u{1b}[?25l\u{1b}[?7l").map_err(CommandError::Output)?;
        Ok(screen)
    }

    /// Replaces the content of the screen.
    pub(crate) fn draw(&self, content: &str) -> Result<(), CommandError> {
        self.control("\u{1b}[2J\u{1b}[H").map_err(CommandError::Output)?;
        text(content)
    }

    /// Sends a control sequence, which `anstream` would remove where colours are off.
    fn control(&self, sequence: &str) -> io::Result<()> {
        let mut stdout = self.0.lock();
        stdout.write_all(sequence.as_bytes()).and_then(|()| stdout.flush())
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // A terminal that is gone has no screen to restore.
        let _ = self.control("\u{1b}[?7h\u{1b}[?25h\u{1b}[?1049l");
    }
}
