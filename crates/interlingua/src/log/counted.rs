//! A line that was written twice.

use crate::tape::Val;

/// The line that told last what a response used. A log whose reports have no id of the response is counted by its lines; the
/// same line once more, byte for byte, is a copy that a crash or a merge left behind, and counts nothing.
#[derive(Debug, Default)]
pub(crate) struct CountedLine {
    last: String,
}

impl CountedLine {
    /// Takes in a line that tells usage. Returns whether it is another than the last one.
    pub(crate) fn is_new(&mut self, line: Val<'_>) -> bool {
        let is_new = self.last != line.text();
        if is_new {
            self.last.clear();
            self.last.push_str(line.text());
        }
        is_new
    }
}
