//! Patterns in quotes, such as `'logs/**/*.jsonl'`: the shell left them to us.

use std::path::{Path, PathBuf};

use crate::error::CommandError;

/// The pattern, if this argument is one: it has wildcards and is no name of anything that exists.
pub(crate) fn pattern(path: &Path) -> Option<&str> {
    let text = path.to_str()?;
    (text.contains(WILD) && !path.exists()).then_some(text)
}

/// Everything that matches, sorted, and the directories that could not be looked into.
pub(crate) fn expand(pattern: &str) -> Result<(Vec<PathBuf>, Vec<CommandError>), CommandError> {
    let matching = glob::glob(pattern)
        .map_err(|error| CommandError::BadPattern(pattern.to_owned(), error.pos, error.msg))?;
    let (mut found, mut failed) = (Vec::new(), Vec::new());
    for path in matching {
        match path {
            Ok(path) => found.push(path),
            Err(error) => failed.push(CommandError::Read(error.path().display().to_string(), error.into())),
        }
    }
    if found.is_empty() && failed.is_empty() {
        return Err(CommandError::NoMatch(pattern.to_owned()));
    }
    found.sort();
    Ok((found, failed))
}

/// The directory above all matches: what stands before the first wildcard.
pub(crate) fn root(pattern: &str) -> PathBuf {
    let fixed = |part: &std::path::Component<'_>| !part.as_os_str().to_string_lossy().contains(WILD);
    Path::new(pattern).components().take_while(fixed).collect()
}

const WILD: [char; 3] = ['*', '?', '['];
