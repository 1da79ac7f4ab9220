//! Runs of consecutive unreadable lines. A run is written as one entry or event, so that a file of empty or tiny lines
//! does not grow a hundredfold.

use crate::dialects::{Dialect, RoleSpec};
use crate::framing::Framing;

/// The most bytes of unreadable input written at once. Escapes lengthen text, and the output must stay within a
/// reader's limits.
pub(super) const PIECE: usize = 1 << 20;

/// The current run.
#[derive(Default)]
pub(super) struct UnreadableRun {
    owner: String,
    why: &'static str,
    bytes: Vec<u8>,
    lines: u64,
    /// Set while a line over the size limit continues.
    goes_on: bool,
}

/// A completed run.
pub(super) struct UnreadableLines<'r> {
    /// The dialect of the lines.
    pub(super) owner: &'r str,
    /// The fault of the lines; `unparsed` if the faults differ.
    pub(super) why: &'static str,
    /// The lines, separated by line feeds.
    pub(super) bytes: &'r [u8],
    pub(super) lines: u64,
}

impl UnreadableRun {
    /// Whether no run has started.
    #[inline]
    pub(super) const fn is_empty(&self) -> bool {
        self.lines == 0
    }

    /// Adds bytes to the run if they are its next line. Otherwise the caller ends the run and starts another.
    pub(super) fn joins(&mut self, owner: &str, bytes: &[u8], why: &'static str, more: bool) -> bool {
        let fits = self.bytes.len() + bytes.len() < PIECE;
        if self.lines == 0 || self.owner != owner || more || !fits {
            return false;
        }
        // A blank line does not change the fault; different faults become `unparsed`.
        self.why = match (self.why, why) {
            ("blank", why) | (why, "blank") => why,
            (known, why) if known == why => why,
            _ => "unparsed",
        };
        self.bytes.push(b'\n');
        self.bytes.extend_from_slice(bytes);
        self.lines += 1;
        true
    }

    /// Starts a run. Returns `false` if these bytes cannot be part of a run; the caller then writes them separately.
    pub(super) fn begins(&mut self, owner: &str, bytes: &[u8], why: &'static str, more: bool) -> bool {
        let is_lines = |dialect: &Dialect| {
            let lines =
                |spec: &RoleSpec| matches!(spec.framing, Framing::Lines | Framing::LinesOrDocuments(..));
            dialect.roles.iter().any(lines)
        };
        let alone = std::mem::replace(&mut self.goes_on, more) || more || bytes.len() > PIECE;
        if alone || !Dialect::named(owner).is_some_and(is_lines) {
            return false;
        }
        owner.clone_into(&mut self.owner);
        self.bytes.clear();
        self.bytes.extend_from_slice(bytes);
        (self.why, self.lines) = (why, 1);
        true
    }

    /// Ends the run, if a run has started.
    pub(super) fn end(&mut self) -> Option<UnreadableLines<'_>> {
        let lines = std::mem::take(&mut self.lines);
        let Self { owner, why, bytes, .. } = self;
        (lines > 0).then_some(UnreadableLines { owner, why, bytes, lines })
    }
}
