//! The files that a patch names, in the text of the call that applies it.

use memchr::memmem::Finder;

use super::outcome::FileChange;

/// Where a patch begins.
const BEGIN: &str = "*** Begin Patch";

/// Looks for patches.
pub(super) struct PatchFinder(Finder<'static>);

impl Default for PatchFinder {
    fn default() -> Self {
        Self(Finder::new(BEGIN))
    }
}

impl PatchFinder {
    /// The files that a patch in these (escaped) arguments names. What it does to each stands in the call.
    pub(super) fn files(&self, arguments: &str) -> Vec<FileChange> {
        self.0.find(arguments.as_bytes()).map(|at| files(arguments, at)).unwrap_or_default()
    }
}

/// The files of the patch that begins there.
fn files(arguments: &str, at: usize) -> Vec<FileChange> {
    let mut files: Vec<FileChange> = Vec::new();
    // Lines of an escaped text. A patch within a script is escaped twice, and its events tell of it.
    let text = arguments.get(at..).unwrap_or_default();
    for line in text.split("\\n").skip(1).take(MOST_LINES) {
        let Some(rest) = line.strip_prefix("*** ") else { continue };
        let mut add = |path: &str, action| {
            let path = path.trim_end().to_owned();
            files.push(FileChange { path, action, diff: None });
        };
        if let Some(path) = rest.strip_prefix("Add File: ") {
            add(path, "write");
        } else if let Some(path) = rest.strip_prefix("Update File: ") {
            add(path, "patch");
        } else if let Some(path) = rest.strip_prefix("Delete File: ") {
            add(path, "delete");
        } else if let Some(path) = rest.strip_prefix("Move to: ") {
            if let Some(moved) = files.last_mut() {
                moved.action = "delete";
            }
            files.push(FileChange { path: path.trim_end().to_owned(), action: "move", diff: None });
        } else if rest.starts_with("End Patch") {
            break;
        }
    }
    files.retain(|file| !file.path.is_empty() && !file.path.ends_with('\\'));
    files
}

/// A patch longer than this is not looked at further.
const MOST_LINES: usize = 1 << 16;
