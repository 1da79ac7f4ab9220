//! Sessions that OpenCode has imported into its database. The session goes on in the database, so the imported file never changes,
//! and a second import of the same id would mix the new messages of the source into a session that has gone on.

use std::collections::HashSet;
use std::fs;
use std::io::{self, Read as _};
use std::path::Path;

use interlingua_sessions::{SessionStore, is_database};
use serde_json::Value;

use crate::homes::{AgentHome, Environment};

/// The dialect of the agent that imports sessions.
pub(crate) const IMPORTS: &str = "opencode";

/// Whether a database of OpenCode has a session with this id. A database that cannot be read may have it.
pub(crate) fn is_imported(environment: &Environment, id: &str) -> bool {
    !matches!(messages(environment, id), Ok(None))
}

/// Whether an imported session has messages that the imported file has not. Without the file, each message is one.
pub(crate) fn has_gone_on(environment: &Environment, id: &str, file: &Path) -> bool {
    match messages(environment, id) {
        Ok(None) => false,
        Ok(Some(now)) => {
            let imported = fs::read(file).map(|bytes| ids(&bytes)).unwrap_or_default();
            !now.is_subset(&imported)
        }
        Err(_) => true,
    }
}

/// The ids of the messages of a session in the databases of OpenCode.
fn messages(environment: &Environment, id: &str) -> io::Result<Option<HashSet<String>>> {
    let home = AgentHome::of(IMPORTS).map(|home| home.files(environment)).unwrap_or_default();
    for path in home.iter().filter(|path| is_database(path)) {
        let Some(store) = SessionStore::at(path) else { continue };
        let contents = store.contents().map_err(io::Error::other)?;
        if let Some(session) = contents.sessions.iter().find(|session| session.id == id) {
            let mut bytes = Vec::new();
            session.open().map_err(io::Error::other)?.read_to_end(&mut bytes)?;
            return Ok(Some(ids(&bytes)));
        }
    }
    Ok(None)
}

/// The ids of the messages of an export.
fn ids(export: &[u8]) -> HashSet<String> {
    let export: Value = serde_json::from_slice(export).unwrap_or_default();
    let messages = export["messages"].as_array();
    messages
        .into_iter()
        .flatten()
        .filter_map(|message| message["info"]["id"].as_str().map(str::to_owned))
        .collect()
}
