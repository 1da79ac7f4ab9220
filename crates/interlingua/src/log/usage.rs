//! Duplicate lines.

use crate::tape::Val;

/// The last line that reported usage. In a log whose reports have no response id, each line counts; an identical line
/// directly after it is a copy that a crash or a merge left behind, and does not count.
#[derive(Debug, Default)]
pub(crate) struct CountedLine {
    last: String,
}

impl CountedLine {
    /// Compares a usage line with the previous one and stores it. Returns whether the line differs.
    pub(crate) fn is_new(&mut self, line: Val<'_>) -> bool {
        let is_new = self.last != line.text();
        if is_new {
            self.last.clear();
            self.last.push_str(line.text());
        }
        is_new
    }
}
