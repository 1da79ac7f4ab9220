//! The pager: text that fits on the screen is printed directly, and longer text goes through `$PAGER` or `less -R`.

use std::io::{self, Write};
use std::process::{Child, Command, Stdio};

/// Holds text back until it is clear whether the text fits on the screen.
pub(crate) struct Pager {
    held: Vec<u8>,
    /// How many lines still fit.
    left: usize,
    state: PagerState,
}

enum PagerState {
    /// The text fits so far.
    Held,
    /// The pager is running.
    Paged(Child),
    /// No pager could be started.
    Direct,
}

impl Pager {
    pub(crate) fn new(height: usize) -> Self {
        // The last line is for the prompt.
        Self { held: Vec::new(), left: height.saturating_sub(1), state: PagerState::Held }
    }

    /// Ends the output and waits for the pager.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        if let PagerState::Paged(child) = &mut self.state {
            if let Some(stdin) = &mut child.stdin {
                // The pager may have been closed before the end; then the error is ignored.
                let _ = stdin.write_all(&self.held);
            }
            self.held.clear();
            drop(child.stdin.take());
            child.wait()?;
            return Ok(());
        }
        self.direct()
    }

    #[expect(clippy::disallowed_methods, reason = "what is held here has passed `ScreenWriter`")]
    fn direct(&mut self) -> io::Result<()> {
        let mut stdout = io::stdout().lock();
        stdout.write_all(&self.held)?;
        self.held.clear();
        stdout.flush()
    }

    fn start() -> Option<Child> {
        let named = std::env::var("PAGER").ok().filter(|named| !named.trim().is_empty());
        let mut words = named.as_deref().unwrap_or("less -R").split_whitespace();
        let program = words.next()?;
        let mut command = Command::new(program);
        command.args(words).stdin(Stdio::piped());
        // Without this, `less` without flags prints colours as escape sequences.
        if std::env::var_os("LESS").is_none() {
            command.env("LESS", "R");
        }
        command.spawn().ok()
    }
}

impl Write for Pager {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.held.extend_from_slice(bytes);
        if let PagerState::Held = self.state {
            let lines = bytes.split(|byte| *byte == b'\n').count() - 1;
            if lines <= self.left {
                self.left -= lines;
                return Ok(bytes.len());
            }
            self.state = Self::start().map_or(PagerState::Direct, PagerState::Paged);
        }
        if self.held.len() >= super::BUFFER {
            match &mut self.state {
                PagerState::Paged(child) => {
                    if let Some(stdin) = &mut child.stdin {
                        stdin.write_all(&self.held)?;
                    }
                    self.held.clear();
                }
                PagerState::Held | PagerState::Direct => self.direct()?,
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Pager {
    fn drop(&mut self) {
        if let PagerState::Paged(child) = &mut self.state {
            drop(child.stdin.take());
            // Wait until the user closes the pager; its exit status is ignored.
            let _ = child.wait();
        }
    }
}
