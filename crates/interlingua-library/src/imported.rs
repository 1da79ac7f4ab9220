//! Sessions that an agent has imported into its database. The session goes on in the database, so the imported file never changes. A
//! second import of the same id would mix the new messages of the source into a session of OpenCode that has gone on.

use std::collections::HashSet;
use std::fs;
use std::io::{self, Read as _};
use std::path::Path;

use interlingua_sessions::{SessionStore, is_database};
use serde_json::Value;

use crate::homes::{AgentHome, Environment};

const OPENCODE: &str = "opencode";
pub(crate) const GOOSE: &str = "goose";

/// Whether a database of the agent has a session with this id. A database that cannot be read may have it. Agents without an import
/// have none.
pub(crate) fn is_imported(environment: &Environment, agent: &str, id: &str) -> bool {
    !matches!(messages(environment, agent, id), Ok(None))
}

/// Whether an imported session has messages that the imported file has not. Without the file, each message is one.
pub(crate) fn has_gone_on(environment: &Environment, agent: &str, id: &str, file: &Path) -> bool {
    match messages(environment, agent, id) {
        Ok(None) => false,
        Ok(Some(now)) => {
            let imported = fs::read(file).and_then(|bytes| ids(agent, &bytes));
            imported.map_or(!now.is_empty(), |imported| !now.is_subset(&imported))
        }
        Err(_) => true,
    }
}

/// The ids of the messages of a session in the databases of an agent.
fn messages(environment: &Environment, agent: &str, id: &str) -> io::Result<Option<HashSet<String>>> {
    if ![OPENCODE, GOOSE].contains(&agent) {
        return Ok(None);
    }
    let files = AgentHome::of(agent).map(|home| home.files(environment)).unwrap_or_default();
    for path in files.iter().filter(|path| is_database(path)) {
        let Some(store) = SessionStore::at(path) else { continue };
        let contents = store.contents().map_err(io::Error::other)?;
        for session in contents.sessions.iter().filter(|session| agent == GOOSE || session.id == id) {
            let mut bytes = Vec::new();
            session.open().map_err(io::Error::other)?.read_to_end(&mut bytes)?;
            if agent == OPENCODE || is_named(&bytes, id) {
                return ids(agent, &bytes).map(Some);
            }
        }
    }
    Ok(None)
}

/// Whether a session of Goose has this title.
fn is_named(session: &[u8], title: &str) -> bool {
    serde_json::from_slice(session).is_ok_and(|session: Value| session["name"].as_str() == Some(title))
}

/// The ids of the messages of an export; an export that is no JSON is an error, not a session without messages. Goose assigns new ids at the import, so its messages have their numbers.
fn ids(agent: &str, export: &[u8]) -> io::Result<HashSet<String>> {
    let export: Value = serde_json::from_slice(export)?;
    let messages = export[if agent == GOOSE { "conversation" } else { "messages" }].as_array();
    let id = |(number, message): (usize, &Value)| match agent {
        GOOSE => Some(number.to_string()),
        _ => message["info"]["id"].as_str().map(str::to_owned),
    };
    Ok(messages.into_iter().flatten().enumerate().filter_map(id).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_export_that_is_no_json_is_no_session_without_messages() {
        assert!(ids(OPENCODE, b"{\"messages\":[").is_err());
        let one = ids(OPENCODE, br#"{"messages":[{"info":{"id":"msg_1"}}]}"#).expect("JSON");
        assert_eq!(one, HashSet::from(["msg_1".to_owned()]));
    }
}
