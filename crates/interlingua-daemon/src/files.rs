//! Files for clients, confined to the allowed folders.

use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};
use std::time::UNIX_EPOCH;

use crate::problem::ApiProblem;
use crate::routes::RouteCall;
use crate::shapes::{EntryType, FileEntry};

/// Whether the last part of a path is followed if it is a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LastLink {
    Followed,
    /// The operation is one on the link itself.
    Kept,
}

/// The real path behind the query parameter `path`.
pub(crate) async fn asked(call: &RouteCall<'_>, last: LastLink) -> Result<PathBuf, ApiProblem> {
    let Some(path) = call.parameter("path")? else {
        return Err(ApiProblem::invalid_request("the query has no `path`"));
    };
    confined(call, &path, last).await
}

/// The real path behind a path of the client. A relative path belongs to the directory of the session in the query, or else to
/// the only allowed folder.
pub(crate) async fn confined(
    call: &RouteCall<'_>,
    text: &str,
    last: LastLink,
) -> Result<PathBuf, ApiProblem> {
    let roots = call.daemon.roots();
    if roots.is_empty() {
        let detail = "the server gives no access to files; start it with `--agent-root`";
        return Err(ApiProblem::permission_denied(detail));
    }
    let path = Path::new(text);
    let is_wrong = text.is_empty() || text.contains('\0');
    if is_wrong || path.components().any(|part| part == Component::ParentDir) {
        return Err(ApiProblem::invalid_request(format!("`{text}` is no path without `..`")));
    }
    let path = if path.is_absolute() { path.to_owned() } else { base(call, roots).await?.join(path) };
    let real = real(&path, last)?;
    if !roots.iter().any(|root| real.starts_with(root)) {
        return Err(ApiProblem::permission_denied(format!("`{text}` is outside the allowed folders")));
    }
    Ok(real)
}

/// The folder of relative paths.
async fn base(call: &RouteCall<'_>, roots: &[PathBuf]) -> Result<PathBuf, ApiProblem> {
    if let Some(id) = call.parameter("session_id")? {
        let session = call.daemon.session(&id).await?;
        let none = || ApiProblem::invalid_request(format!("the session `{id}` has no directory"));
        return session.settings.directory.as_ref().map(PathBuf::from).ok_or_else(none);
    }
    match roots {
        [root] => Ok(root.clone()),
        _ => Err(ApiProblem::invalid_request("a relative path needs the `session_id` of a session")),
    }
}

/// The path with its links followed. The end of the path need not exist.
fn real(path: &Path, last: LastLink) -> Result<PathBuf, ApiProblem> {
    let mut missing = Vec::new();
    let mut known = path;
    if last == LastLink::Kept
        && let (Some(parent), Some(name)) = (known.parent(), known.file_name())
    {
        missing.push(name);
        known = parent;
    }
    loop {
        if let Ok(mut real) = known.canonicalize() {
            real.extend(missing.iter().rev());
            return Ok(real);
        }
        // A link whose target does not exist could lead anywhere.
        if known.symlink_metadata().is_ok() {
            let detail = format!("`{}` is a link that cannot be followed", known.display());
            return Err(ApiProblem::permission_denied(detail));
        }
        let (Some(parent), Some(name)) = (known.parent(), known.file_name()) else {
            return Err(ApiProblem::invalid_request(format!("`{}` is no path", path.display())));
        };
        missing.push(name);
        known = parent;
    }
}

/// Refuses an operation on an allowed folder itself.
pub(crate) fn not_a_root(call: &RouteCall<'_>, path: &Path) -> Result<(), ApiProblem> {
    if call.daemon.roots().iter().any(|root| root == path) {
        return Err(ApiProblem::permission_denied("an allowed folder itself stays as it is"));
    }
    Ok(())
}

/// The problem of a failed operation on a file.
pub(crate) fn failed(path: &Path, error: &std::io::Error) -> ApiProblem {
    let detail = format!("`{}`: {error}", path.display());
    match error.kind() {
        ErrorKind::NotFound => ApiProblem::not_found(detail),
        ErrorKind::PermissionDenied => ApiProblem::permission_denied(detail),
        ErrorKind::AlreadyExists | ErrorKind::DirectoryNotEmpty => ApiProblem::entry_exists(detail),
        ErrorKind::NotADirectory | ErrorKind::IsADirectory => ApiProblem::invalid_request(detail),
        _ => ApiProblem::file_error(detail),
    }
}

/// The description of an entry.
pub(crate) fn entry(path: &Path, facts: &std::fs::Metadata) -> FileEntry {
    let modified = facts.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    FileEntry {
        name: path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        path: shown(path),
        entry_type: if facts.is_dir() {
            EntryType::Directory
        } else if facts.is_file() {
            EntryType::File
        } else {
            EntryType::Other
        },
        size: facts.len(),
        modified: modified.map(|since| since.as_millis() as u64),
    }
}

pub(crate) fn shown(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
