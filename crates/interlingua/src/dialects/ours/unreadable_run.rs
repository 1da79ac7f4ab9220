//! Lines that could not be read and stand one after the other. They are said together, so that a file full of empty or tiny
//! lines does not become a hundred times as long.

use crate::dialects::{Dialect, RoleSpec};
use crate::framing::Framing;

/// The most bytes of unreadable input that are said at once. Escapes make text longer, and what is said must not outgrow
/// what a reader takes.
pub(super) const PIECE: usize = 1 << 20;

/// Such lines, as far as they came.
#[derive(Default)]
pub(super) struct UnreadableRun {
    owner: String,
    why: &'static str,
    bytes: Vec<u8>,
    lines: u64,
    /// The line before is longer than the limit, and goes on.
    goes_on: bool,
}

/// A run that has ended.
pub(super) struct UnreadableLines<'r> {
    /// The dialect in which they stood.
    pub(super) owner: &'r str,
    /// What is wrong with them; `unparsed`, if not all have the same fault.
    pub(super) why: &'static str,
    /// The lines, with line feeds between them.
    pub(super) bytes: &'r [u8],
    pub(super) lines: u64,
}

impl UnreadableRun {
    /// Whether no run has begun.
    #[inline]
    pub(super) const fn is_empty(&self) -> bool {
        self.lines == 0
    }

    /// Adds bytes to the run if they are its next line. If not, the caller ends it and begins anew.
    pub(super) fn joins(&mut self, owner: &str, bytes: &[u8], why: &'static str, more: bool) -> bool {
        let fits = self.bytes.len() + bytes.len() < PIECE;
        if self.lines == 0 || self.owner != owner || more || !fits {
            return false;
        }
        // A line of blanks needs no reason; of several reasons none is that of the run.
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

    /// Begins a run. Returns whether these bytes can be in one; if not, the caller writes them alone.
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

    /// Ends the run, if there is one.
    pub(super) fn end(&mut self) -> Option<UnreadableLines<'_>> {
        let lines = std::mem::take(&mut self.lines);
        let Self { owner, why, bytes, .. } = self;
        (lines > 0).then_some(UnreadableLines { owner, why, bytes, lines })
    }
}
