//! Quoted patterns, such as `'logs/**/*.jsonl'`, which the shell does not expand.

use std::path::{Component, Path, PathBuf};
use std::{fs, io};

use interlingua_report::safe;

use crate::SourceError;

/// The pattern in an argument: text with wildcards that is not the name of an existing file.
pub(crate) fn pattern(path: &Path) -> Option<&str> {
    let text = path.to_str()?;
    (text.contains(WILD) && !path.exists()).then_some(text)
}

/// Whether a path has wildcards and is no name of an existing file.
pub fn is_pattern(path: &Path) -> bool {
    pattern(path).is_some()
}

/// Refuses a pattern that makes no sense.
pub(crate) fn check(pattern: &str) -> Result<(), SourceError> {
    parsed(pattern).map(drop)
}

fn parsed(pattern: &str) -> Result<(glob::Pattern, PathBuf), SourceError> {
    // `./x`, `x/.` and `x` are the same path.
    let parts = Path::new(pattern).components().filter(|part| *part != Component::CurDir);
    let parts: PathBuf = parts.collect();
    match glob::Pattern::new(&parts.to_string_lossy()) {
        Ok(matches) => Ok((matches, parts)),
        Err(error) => Err(SourceError::BadPattern(pattern.to_owned(), error.pos, error.msg)),
    }
}

/// All matching paths, sorted, and the directories that could not be read. Symbolic links are matched but not followed,
/// because links may form a cycle.
pub(crate) fn expand(pattern: &str) -> Result<(Vec<PathBuf>, Vec<SourceError>), SourceError> {
    let (matches, parts) = parsed(pattern)?;
    let deepest = if pattern.contains("**") { usize::MAX } else { parts.components().count() };
    let mut search = Search { matches, deepest, found: Vec::new(), failed: Vec::new() };
    search.look_into(&root(pattern));
    let Search { mut found, failed, .. } = search;
    if found.is_empty() && failed.is_empty() {
        return Err(SourceError::NoMatch(pattern.to_owned()));
    }
    found.sort();
    Ok((found, failed))
}

struct Search {
    matches: glob::Pattern,
    /// The maximum number of components in a matching path.
    deepest: usize,
    found: Vec<PathBuf>,
    failed: Vec<SourceError>,
}

impl Search {
    fn look_into(&mut self, folder: &Path) {
        // A star matches within one path component. Hidden files match, because agents keep their logs in hidden
        // folders.
        let within = glob::MatchOptions { require_literal_separator: true, ..glob::MatchOptions::new() };
        let here = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        let entries = match fs::read_dir(here).and_then(Iterator::collect::<io::Result<Vec<_>>>) {
            Ok(entries) => entries,
            // A pattern below a missing directory matches nothing.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return,
            Err(error) => return self.failed.push(SourceError::Read(safe::path_name(here), error)),
        };
        for entry in entries {
            let path = folder.join(entry.file_name());
            // A file name may be invalid UTF-8; its lossy text is matched.
            if self.matches.matches_with(&path.to_string_lossy(), within) {
                self.found.push(path);
            } else if entry.file_type().is_ok_and(|kind| kind.is_dir())
                && path.components().count() < self.deepest
            {
                self.look_into(&path);
            }
        }
    }
}

/// The directory above all matches: the path before the first wildcard.
pub(crate) fn root(pattern: &str) -> PathBuf {
    let fixed = |part: &std::path::Component<'_>| !part.as_os_str().to_string_lossy().contains(WILD);
    let parts = Path::new(pattern).components().filter(|part| *part != Component::CurDir);
    parts.take_while(fixed).collect()
}

const WILD: [char; 3] = ['*', '?', '['];
