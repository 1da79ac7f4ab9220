//! The one place that writes to the terminal. Colours vanish by themselves where they are not wanted.

#![expect(clippy::disallowed_methods, reason = "this is the place that writes text for people")]

use std::io::{self, IsTerminal, Write};
use std::sync::{Mutex, PoisonError};

use indicatif::ProgressBar;
use interlingua::json::Output;
use interlingua_report::{render, safe};

use crate::error::{CommandError, Exit};
use crate::outputs::Sink;

/// What is said on stderr.
pub(crate) struct Talk {
    pub(crate) quiet: bool,
    pub(crate) verbose: bool,
}

impl Talk {
    pub(crate) const fn new(quiet: bool, verbose: bool) -> Self {
        Self { quiet, verbose }
    }

    /// Says something, unless asked to be quiet.
    pub(crate) fn say(&self, text: &str) {
        if !self.quiet {
            Self::print(text);
        }
    }

    /// Prints why the command fails, also when asked to be quiet.
    pub(crate) fn always(text: &str) {
        Self::print(text);
    }

    /// Says what went wrong, always.
    pub(crate) fn error(error: &CommandError) {
        Self::print(&render::error(error));
    }

    /// Says what went wrong with some of many files, always: the first, or all for whoever wants to know everything or
    /// nothing else.
    pub(crate) fn errors(&self, files: &[(String, CommandError)]) {
        Self::print(&render::failed(files, self.verbose || self.quiet));
    }

    /// Whether someone is watching a progress bar.
    pub(crate) fn is_watched(&self) -> bool {
        !self.quiet && io::stderr().is_terminal()
    }

    fn print(text: &str) {
        // If stderr is gone there is no one to tell.
        let _ = anstream::stderr().lock().write_all(safe::screen(text).as_bytes());
    }
}

/// The bar on the terminal, for whoever stops the command.
static BAR: Mutex<Option<ProgressBar>> = Mutex::new(None);

/// A bar is about to be drawn.
pub(crate) fn draws(bar: &ProgressBar) {
    *BAR.lock().unwrap_or_else(PoisonError::into_inner) = Some(bar.clone());
}

/// Takes the bar off the terminal for good, whoever still counts on it.
pub(crate) fn clear_bar() {
    if let Some(bar) = BAR.lock().unwrap_or_else(PoisonError::into_inner).take() {
        bar.finish_and_clear();
    }
}

/// Prints data to stdout, as it is; a terminal gets data that does not steer it, and the last line is ended, so that the
/// prompt has a line of its own.
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
