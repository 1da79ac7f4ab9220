//! The tree of small files in which OpenCode stored sessions before it had a database:
//! `session/<project>/<session>.json`, `message/<session>/<message>.json`, `part/<message>/<part>.json`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use interlingua::tape::{Kind, Limits, TapeBuf};

use super::super::document::{Members, PieceReader, compact, member, text, with_ids};
use super::super::error::ArchiveError;

/// Whether a folder is a storage tree of OpenCode.
pub(crate) fn is_tree(path: &Path) -> bool {
    path.join("session").is_dir() && path.join("message").is_dir()
}

/// The id of the document for parts that name no session.
const NO_SESSION: &str = "rows-without-session";

/// A session of a tree.
#[derive(Clone, Debug)]
pub(crate) struct TreeSession {
    pub(crate) id: String,
    /// The session's own file, or `None` if it is missing.
    file: Option<PathBuf>,
    /// An earlier file with the same id gets the messages.
    is_second: bool,
    /// Messages with parts but without a file.
    lost_messages: Vec<String>,
}

/// The sessions, ordered by their start.
pub(crate) fn sessions(root: &Path) -> Result<Vec<TreeSession>, ArchiveError> {
    let new =
        |id: &str, file| TreeSession { id: id.to_owned(), file, is_second: false, lost_messages: Vec::new() };
    let mut found: BTreeMap<String, TreeSession> = BTreeMap::new();
    let mut second = Vec::new();
    for project in entries(&root.join("session"))? {
        if !project.is_dir() {
            continue;
        }
        for file in entries(&project)?.into_iter().filter(|file| is_json(file)) {
            match stem(&file) {
                Some(id) if found.contains_key(&id) => {
                    second.push(TreeSession { is_second: true, ..new(&id, Some(file)) });
                }
                Some(id) => _ = found.insert(id.clone(), new(&id, Some(file))),
                None => {}
            }
        }
    }
    let mut known = BTreeSet::new();
    for messages in entries(&root.join("message"))?.into_iter().filter(|path| path.is_dir()) {
        if let Some(id) = messages.file_name().map(|name| name.to_string_lossy().into_owned()) {
            found.entry(id.clone()).or_insert_with(|| new(&id, None));
            known.extend(
                entries(&messages)?.iter().filter(|file| is_json(file)).filter_map(|file| stem(file)),
            );
        }
    }
    for message in lost_messages(root, &known)? {
        let session = session_of_parts(root, &message)?.unwrap_or_else(|| NO_SESSION.to_owned());
        found.entry(session.clone()).or_insert_with(|| new(&session, None)).lost_messages.push(message);
    }
    let mut sessions: Vec<_> = found.into_values().chain(second).collect();
    let began = |file: &Option<PathBuf>| {
        file.as_deref().map_or(0, |file| read_text(file).map_or(0, |(text, _)| created(&text)))
    };
    sessions.sort_by_cached_key(|session| began(&session.file));
    Ok(sessions)
}

/// Messages with parts that are not among the known messages.
fn lost_messages(root: &Path, known: &BTreeSet<String>) -> Result<Vec<String>, ArchiveError> {
    let folder = root.join("part");
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let names = entries(&folder)?.into_iter().filter(|path| path.is_dir());
    let names = names.filter_map(|path| Some(path.file_name()?.to_string_lossy().into_owned()));
    Ok(names.filter(|name| !known.contains(name)).collect())
}

/// The session named by the parts of a message.
fn session_of_parts(root: &Path, message: &str) -> Result<Option<String>, ArchiveError> {
    for file in entries(&root.join("part").join(message))?.into_iter().filter(|file| is_json(file)) {
        let (json, _) = read_text(&file)?;
        let mut buffer = TapeBuf::default();
        let Ok(tape) = buffer.parse(&json, &Limits::default()) else { continue };
        if let Some(id) = tape.root().get("sessionID").and_then(|id| id.str()) {
            return Ok(Some(id.decode().into_owned()));
        }
    }
    Ok(None)
}

/// Reads a session as a document.
pub(crate) fn read(root: &Path, session: &TreeSession) -> Result<impl io::Read + use<>, ArchiveError> {
    let TreeSession { id, file, is_second, lost_messages } = session.clone();
    let mut head = String::new();
    write_head(root, file.as_deref(), &id, &mut head)?;
    let id = id.as_str();
    let folder = root.join("message").join(id);
    let mut messages = Vec::new();
    if folder.is_dir() && !is_second {
        for file in entries(&folder)?.into_iter().filter(|file| is_json(file)) {
            if let Some(message) = stem(&file) {
                messages.push((created(&read_text(&file)?.0), message, file));
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
            put_lost_parts(&root, &id, &lost_messages, out).map_err(io::Error::other)?;
            out.push_str("}\n");
        } else {
            return Ok(false);
        }
        Ok(true)
    }))
}

/// The members of a session, in the order of the database.
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
    let (json, others) = file.map_or_else(|| Ok((String::from("{}"), Members::default())), read_text)?;
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
        let rest = session.members().map(|(name, value)| (name.as_escaped().to_owned(), value));
        let rest = rest.filter(|(name, _)| !known.contains(name.as_str()));
        let time = session.get("time").map(|time| ("time".to_owned(), time));
        for (name, value) in listed.chain(rest).chain(time).filter(|(_, value)| !value.is_null()) {
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
        with_ids(&[("id", id)], &json, others, out);
    }
    if let Some(project) = project.filter(|project| is_name(project)) {
        let file = root.join("project").join(format!("{project}.json"));
        if file.is_file() {
            put_project(&read_text(&file)?.0, out);
        }
    }
    put_list("diff", &root.join("session_diff").join(format!("{id}.json")), out)?;
    out.push_str(",\"messages\":[");
    Ok(())
}

/// Writes where a session is shared, without the secret that permits changes to the shared copy.
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
    const FIRST: [&str; 3] = ["id", "worktree", "vcs"];
    let mut buffer = TapeBuf::default();
    let Ok(tape) = buffer.parse(json, &Limits::default()) else { return };
    out.push_str(",\"project\":{");
    let mut first = true;
    let listed = FIRST.into_iter().filter_map(|name| Some((name.to_owned(), tape.root().get(name)?)));
    let others = tape.root().members().map(|(name, value)| (name.as_escaped().to_owned(), value));
    let others = others.filter(|(name, _)| !FIRST.contains(&name.as_str()));
    for (name, value) in listed.chain(others).filter(|(_, value)| !value.is_null()) {
        member(&name, &mut first, out);
        compact(value.text(), out);
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
    let (json, others) = read_text(file)?;
    with_ids(&[("id", id), ("sessionID", session)], &json, others, out);
    out.push_str(",\"parts\":[");
    for (at, (_, part)) in parts(root, session, id)?.iter().enumerate() {
        out.push_str(if at > 0 { "," } else { "" });
        out.push_str(part);
    }
    out.push_str("]}");
    Ok(())
}

/// The parts of a message, with their ids.
fn parts(root: &Path, session: &str, message: &str) -> Result<Vec<(String, String)>, ArchiveError> {
    let folder = root.join("part").join(message);
    let mut parts = Vec::new();
    if folder.is_dir() {
        for file in entries(&folder)?.into_iter().filter(|file| is_json(file)) {
            let Some(part) = stem(&file) else { continue };
            let ids = [("id", part.as_str()), ("sessionID", session), ("messageID", message)];
            let (json, others) = read_text(&file)?;
            let mut written = String::new();
            with_ids(&ids, &json, others, &mut written);
            parts.push((part, written));
        }
    }
    Ok(parts)
}

/// `,"rows":[…]`: parts whose message has no file.
fn put_lost_parts(
    root: &Path,
    session: &str,
    messages: &[String],
    out: &mut String,
) -> Result<(), ArchiveError> {
    let mut open = ",\"rows\":[";
    for message in messages {
        for (_, part) in parts(root, session, message)? {
            out.push_str(open);
            open = ",";
            out.push_str("{\"table\":\"part\",\"row\":");
            out.push_str(&part);
            out.push('}');
        }
    }
    out.push_str(if open == "," { "]" } else { "" });
    Ok(())
}

/// Adds a list from a separate file, if the file exists and the list is not empty.
fn put_list(name: &str, file: &Path, out: &mut String) -> Result<(), ArchiveError> {
    if !file.is_file() {
        return Ok(());
    }
    let (json, _) = read_text(file)?;
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

/// The creation time of a session or message, as a sort key; 0 if it is unknown.
fn created(json: &str) -> u64 {
    let mut buffer = TapeBuf::default();
    let Ok(tape) = buffer.parse(json, &Limits::default()) else { return 0 };
    let time = tape.root().get("time").and_then(|time| time.get("created"));
    time.and_then(|created| created.u64()).unwrap_or(0)
}

/// The entries of a folder, sorted by name. Links are not followed.
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

/// The text of a file, and its bytes if they are invalid UTF-8.
fn read_text(file: &Path) -> Result<(String, Members), ArchiveError> {
    let bytes = fs::read(file).map_err(|error| ArchiveError::Io(file.to_owned(), error))?;
    let mut others = Members::default();
    others.bytes("file", &bytes);
    Ok((String::from_utf8_lossy(&bytes).into_owned(), others))
}

fn is_json(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "json") && path.is_file()
}

fn stem(path: &Path) -> Option<String> {
    path.file_stem().map(|stem| stem.to_string_lossy().into_owned())
}

/// Whether an id is a plain file name that does not lead to another folder.
fn is_name(id: &str) -> bool {
    !id.is_empty() && !id.contains(['/', '\\']) && id != "." && id != ".."
}
