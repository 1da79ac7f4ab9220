//! The tree of small files in which OpenCode kept sessions before it had a database:
//! `session/<project>/<session>.json`, `message/<session>/<message>.json`, `part/<message>/<part>.json`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use interlingua::tape::{Kind, Limits, TapeBuf};

use crate::ArchiveError;
use crate::document::{PieceReader, compact, member, text, with_ids};

/// Whether a folder is such a tree.
pub(crate) fn is_tree(path: &Path) -> bool {
    path.join("session").is_dir() && path.join("message").is_dir()
}

/// The sessions with their files, in the order in which they began. One whose own file is missing is a session, too.
pub(crate) fn sessions(root: &Path) -> Result<Vec<(String, Option<PathBuf>)>, ArchiveError> {
    let mut found = BTreeMap::new();
    for project in entries(&root.join("session"))? {
        if !project.is_dir() {
            continue;
        }
        for file in entries(&project)?.into_iter().filter(|file| is_json(file)) {
            if let Some(id) = stem(&file) {
                found.insert(id, Some(file));
            }
        }
    }
    for messages in entries(&root.join("message"))?.into_iter().filter(|path| path.is_dir()) {
        if let Some(id) = messages.file_name().map(|name| name.to_string_lossy().into_owned()) {
            found.entry(id).or_insert(None);
        }
    }
    let mut sessions: Vec<_> = found.into_iter().collect();
    let began = |file: &Option<PathBuf>| {
        file.as_deref().map_or(0, |file| created(&read_text(file).unwrap_or_default()))
    };
    sessions.sort_by_cached_key(|(_, file)| began(file));
    Ok(sessions)
}

/// Reads a session as a document.
pub(crate) fn read(
    root: &Path,
    file: Option<&Path>,
    id: &str,
) -> Result<impl io::Read + use<>, ArchiveError> {
    let mut head = String::new();
    write_head(root, file, id, &mut head)?;
    let folder = root.join("message").join(id);
    let mut messages = Vec::new();
    if folder.is_dir() {
        for file in entries(&folder)?.into_iter().filter(|file| is_json(file)) {
            if let Some(message) = stem(&file) {
                messages.push((created(&read_text(&file)?), message, file));
            }
        }
    }
    messages.sort();
    let (root, id) = (root.to_owned(), id.to_owned());
    let (mut head, mut messages, mut begun, mut ended) = (Some(head), messages.into_iter(), false, false);
    Ok(PieceReader::new(move |out: &mut String| {
        if let Some(head) = head.take() {
            *out = head;
        } else if let Some((_, message, file)) = messages.next() {
            if std::mem::replace(&mut begun, true) {
                out.push(',');
            }
            write_message(&root, &id, &message, &file, out).map_err(io::Error::other)?;
        } else if !std::mem::replace(&mut ended, true) {
            out.push(']');
            let todo = root.join("todo").join(format!("{id}.json"));
            put_list("todo", &todo, out).map_err(io::Error::other)?;
            out.push_str("}\n");
        } else {
            return Ok(false);
        }
        Ok(true)
    }))
}

/// The members of a session, in the order in which the database gives them.
const ORDER: [&str; 18] = [
    "id",
    "slug",
    "projectID",
    "workspaceID",
    "parentID",
    "directory",
    "path",
    "title",
    "agent",
    "model",
    "version",
    "metadata",
    "permission",
    "revert",
    "summary",
    "share",
    "cost",
    "tokens",
];

/// `{"info":…,"project":…,"diff":…,"messages":[`
fn write_head(root: &Path, file: Option<&Path>, id: &str, out: &mut String) -> Result<(), ArchiveError> {
    out.push_str("{\"info\":");
    let json = file.map_or_else(|| Ok(String::from("{}")), read_text)?;
    let mut buffer = TapeBuf::default();
    let tape = buffer.parse(&json, &Limits::default()).ok();
    let session = tape.as_ref().map(interlingua::tape::Tape::root).filter(|root| root.kind() == Kind::Object);
    let mut project = None;
    if let Some(session) = session {
        out.push('{');
        let mut first = true;
        member("id", &mut first, out);
        text(id, out);
        let known: BTreeSet<&str> = ORDER.into_iter().chain(["time"]).collect();
        let listed = ORDER.into_iter().skip(1).filter_map(|name| Some((name.to_owned(), session.get(name)?)));
        let others = session.members().map(|(name, value)| (name.as_escaped().to_owned(), value));
        let others = others.filter(|(name, _)| !known.contains(name.as_str()));
        let time = session.get("time").map(|time| ("time".to_owned(), time));
        for (name, value) in listed.chain(others).chain(time).filter(|(_, value)| !value.is_null()) {
            member(&name, &mut first, out);
            if name == "share" {
                put_share(value, out);
            } else {
                compact(value.text(), out);
            }
        }
        out.push('}');
        project = session.get("projectID").and_then(|id| id.str()).map(|id| id.decode().into_owned());
    } else {
        with_ids(&[("id", id)], &json, out);
    }
    if let Some(project) = project.filter(|project| is_name(project)) {
        let file = root.join("project").join(format!("{project}.json"));
        if file.is_file() {
            put_project(&read_text(&file)?, out);
        }
    }
    put_list("diff", &root.join("session_diff").join(format!("{id}.json")), out)?;
    out.push_str(",\"messages\":[");
    Ok(())
}

/// Where a session is shared, without the secret that lets one change what is shared.
fn put_share(share: interlingua::tape::Val<'_>, out: &mut String) {
    out.push('{');
    let mut first = true;
    if let Some(url) = share.get("url") {
        member("url", &mut first, out);
        compact(url.text(), out);
    }
    out.push('}');
}

fn put_project(json: &str, out: &mut String) {
    let mut buffer = TapeBuf::default();
    let Ok(tape) = buffer.parse(json, &Limits::default()) else { return };
    out.push_str(",\"project\":{");
    let mut first = true;
    for name in ["id", "worktree", "vcs"] {
        if let Some(value) = tape.root().get(name).filter(|value| !value.is_null()) {
            member(name, &mut first, out);
            compact(value.text(), out);
        }
    }
    out.push('}');
}

/// `{"info":…,"parts":[…]}`
fn write_message(
    root: &Path,
    session: &str,
    id: &str,
    file: &Path,
    out: &mut String,
) -> Result<(), ArchiveError> {
    out.push_str("{\"info\":");
    with_ids(&[("id", id), ("sessionID", session)], &read_text(file)?, out);
    out.push_str(",\"parts\":[");
    let folder = root.join("part").join(id);
    if folder.is_dir() {
        let mut first = true;
        for file in entries(&folder)?.into_iter().filter(|file| is_json(file)) {
            let Some(part) = stem(&file) else { continue };
            if !std::mem::replace(&mut first, false) {
                out.push(',');
            }
            let ids = [("id", part.as_str()), ("sessionID", session), ("messageID", id)];
            with_ids(&ids, &read_text(&file)?, out);
        }
    }
    out.push_str("]}");
    Ok(())
}

/// Adds a list that has a file of its own, if there is one with anything in it.
fn put_list(name: &str, file: &Path, out: &mut String) -> Result<(), ArchiveError> {
    if !file.is_file() {
        return Ok(());
    }
    let json = read_text(file)?;
    let mut buffer = TapeBuf::default();
    let tape = buffer.parse(&json, &Limits::default()).ok();
    let list = tape.as_ref().map(interlingua::tape::Tape::root).filter(|list| list.kind() == Kind::Array);
    if list.is_some_and(|list| list.elements().next().is_some()) {
        out.push_str(",\"");
        out.push_str(name);
        out.push_str("\":");
        compact(&json, out);
    }
    Ok(())
}

/// When a session or message was made, for their order; 0 if nobody can tell.
fn created(json: &str) -> u64 {
    let mut buffer = TapeBuf::default();
    let Ok(tape) = buffer.parse(json, &Limits::default()) else { return 0 };
    let time = tape.root().get("time").and_then(|time| time.get("created"));
    time.and_then(|created| created.u64()).unwrap_or(0)
}

/// What lies in a folder, sorted by name. Links are not followed.
fn entries(folder: &Path) -> Result<Vec<PathBuf>, ArchiveError> {
    let failed = |error| ArchiveError::Io(folder.to_owned(), error);
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        if !entry.file_type().map_err(failed)?.is_symlink() {
            paths.push(entry.path());
        }
    }
    paths.sort();
    Ok(paths)
}

fn read_text(file: &Path) -> Result<String, ArchiveError> {
    let bytes = fs::read(file).map_err(|error| ArchiveError::Io(file.to_owned(), error))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn is_json(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "json") && path.is_file()
}

fn stem(path: &Path) -> Option<String> {
    path.file_stem().map(|stem| stem.to_string_lossy().into_owned())
}

/// Whether an id can be the name of a file, and leads nowhere else.
fn is_name(id: &str) -> bool {
    !id.is_empty() && !id.contains(['/', '\\']) && id != "." && id != ".."
}
