//! The file names of a patch, from the text of the call that applies the patch.

use memchr::memmem::Finder;

use super::tool_results::FileChange;

/// The first line of a patch.
const BEGIN: &str = "*** Begin Patch";

/// Finds patches in call arguments.
pub(super) struct PatchFinder(Finder<'static>);

impl Default for PatchFinder {
    fn default() -> Self {
        Self(Finder::new(BEGIN))
    }
}

impl PatchFinder {
    /// The files named by a patch in these (escaped) arguments. Their diffs stay in the call.
    pub(super) fn files(&self, arguments: &str) -> Vec<FileChange> {
        self.0.find(arguments.as_bytes()).map(|at| files(arguments, at)).unwrap_or_default()
    }
}

/// The files of the patch that begins at `at`.
fn files(arguments: &str, at: usize) -> Vec<FileChange> {
    let mut files: Vec<FileChange> = Vec::new();
    // Lines of an escaped text. A patch within a script is escaped twice, and events name its files.
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

/// The most lines of a patch that are searched for files.
const MOST_LINES: usize = 1 << 16;
