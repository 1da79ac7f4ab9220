//! Names of sessions: `latest`, `latest:AGENT`, or the beginning of an id. Agents may keep several sessions with one id, such as
//! a session and its state before it was resumed: `ID` names the newest of them, `ID~2` the second newest.

use std::fmt;
use std::path::Path;

use interlingua_report::safe;

use crate::library::ListedSession;

/// The shortest beginning of an id that names a session.
const SHORTEST: usize = 4;

/// The name of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SessionName {
    /// The newest session.
    Latest,
    /// The newest session of an agent, by the beginning of the agent's name.
    LatestOf(String),
    /// The beginning of an id.
    Id {
        /// The text that the id begins with.
        begin: String,
        /// The number among the sessions with this id, the newest first; 1 is the newest.
        number: usize,
    },
}

/// A name without a session, or with several.
#[derive(Debug)]
#[non_exhaustive]
pub enum NameError {
    /// No session has the name.
    Unknown(String),
    /// Several sessions have the name: the beginnings of their ids, and their agents.
    Several(String, Vec<(String, String)>),
}

impl fmt::Display for NameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NameError::Unknown(name) => write!(f, "no session is named `{}`", safe::exact_line(name)),
            NameError::Several(name, found) => {
                write!(f, "{} sessions are named `{}`:", found.len(), safe::exact_line(name))?;
                let shown = found.iter().take(5);
                shown.into_iter().try_for_each(|(id, agent)| write!(f, " {} ({agent})", safe::exact_line(id)))
            }
        }
    }
}

impl std::error::Error for NameError {}

impl SessionName {
    /// The name in an argument; `None` if the argument is a path, a pattern or stdin.
    pub fn of(argument: &Path) -> Option<Self> {
        let text = argument.to_str()?;
        if text == "latest" && !argument.exists() {
            return Some(SessionName::Latest);
        }
        if let Some(agent) = text.strip_prefix("latest:").filter(|agent| !agent.is_empty()) {
            return Some(SessionName::LatestOf(agent.to_owned()));
        }
        let (begin, number) = match text.rsplit_once(NUMBER) {
            Some((begin, number)) => (begin, number.parse().ok().filter(|number| *number > 0)?),
            None => (text, 1),
        };
        // The ids of agents: a UUID, `ses_…`, `T-…`, `session_…`.
        let is_of_id = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        let is_id = begin.len() >= SHORTEST && begin.bytes().all(is_of_id);
        let has_digit = begin.bytes().any(|byte| byte.is_ascii_digit());
        (is_id && has_digit && !argument.exists())
            .then(|| SessionName::Id { begin: begin.to_owned(), number })
    }

    /// The session with this name. `sessions` are ordered, the newest first; sessions of subagents are named by their id
    /// alone.
    pub fn find<'s>(&self, sessions: &'s [ListedSession]) -> Result<&'s ListedSession, NameError> {
        let mut of_people = sessions.iter().filter(|session| !session.overview.is_of_subagent);
        let unknown = || NameError::Unknown(self.to_string());
        match self {
            SessionName::Latest => of_people.next().ok_or_else(unknown),
            SessionName::LatestOf(agent) => {
                of_people.find(|session| session.is_of_agent(agent)).ok_or_else(unknown)
            }
            SessionName::Id { begin, number } => {
                let is_exact = sessions.iter().any(|session| session.id() == *begin);
                let is_named = |session: &&ListedSession| {
                    if is_exact { session.id() == *begin } else { is_beginning(&session.id(), begin) }
                };
                let mut found: Vec<&ListedSession> = sessions.iter().filter(is_named).collect();
                // The beginning of an id of a session and of its subagents names the session.
                if found.iter().any(|session| !session.overview.is_of_subagent) {
                    found.retain(|session| !session.overview.is_of_subagent);
                }
                let first = found.first().map(|session| session.id());
                if found.iter().any(|session| Some(session.id()) != first) {
                    let ids = found.iter().map(|session| (session.id(), session.agent.clone()));
                    return Err(NameError::Several(begin.clone(), ids.collect()));
                }
                number.checked_sub(1).and_then(|at| found.get(at).copied()).ok_or_else(unknown)
            }
        }
    }
}

/// The character before the number of a session among the sessions with its id.
pub const NUMBER: char = '~';

/// An id without the word that begins every id of the agent (`ses_`, `session_`, `T-`).
pub fn id_word(id: &str) -> &str {
    ["session_", "ses_", "T-"].iter().find_map(|word| id.strip_prefix(word)).unwrap_or(id)
}

/// Whether a text begins an id, with or without the word that begins every id of the agent.
fn is_beginning(id: &str, begin: &str) -> bool {
    id.starts_with(begin) || id_word(id).starts_with(begin)
}

impl fmt::Display for SessionName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SessionName::Latest => f.write_str("latest"),
            SessionName::LatestOf(agent) => write!(f, "latest:{agent}"),
            SessionName::Id { begin, number: 1 } => f.write_str(begin),
            SessionName::Id { begin, number } => write!(f, "{begin}{NUMBER}{number}"),
        }
    }
}
