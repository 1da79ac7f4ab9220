//! The connection to one editor, without I/O: the mirror image of [`super::AgentLink`]. The editor's bytes become events
//! for an agent, and the agent's events become bytes for the editor.

use super::{AgentLink, Remembered};
use crate::dialects::{Dialect, Options, Role};
use crate::error::Error;
use crate::ledger::Report;
use crate::model::{Event, Permission, Question, supports_everything};

/// The connection to one editor, which any agent can be offered to.
///
/// [`EditorLink::receive`] reads the editor's messages ([`Role::Input`]): the settings of the session, prompts, decisions,
/// answers and the interrupt. [`EditorLink::send`] writes the agent's events ([`Role::Live`]). Both return bytes for the
/// editor. An answer of the editor is passed on only if it belongs to an open request, and once.
///
/// ```
/// use interlingua::dialects::{Dialect, Options};
/// use interlingua::model::Event;
/// use interlingua::pipe::EditorLink;
///
/// let acp: &Dialect = "acp".parse()?;
/// let mut link = EditorLink::new(acp, &Options::default())?;
/// let line = br#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}
/// "#;
/// let reply = link.receive(line, |_| ());
/// assert!(String::from_utf8(reply)?.contains(r#""protocolVersion":1"#));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct EditorLink {
    link: AgentLink,
    /// The requests of the agent without an answer, by their id.
    asked: Remembered<Asked>,
}

#[derive(Debug)]
enum Asked {
    Permission(Permission<'static>),
    Question(Question<'static>),
}

impl EditorLink {
    /// A connection to an editor that speaks this dialect.
    pub fn new(dialect: &Dialect, options: &Options) -> Result<Self, Error> {
        let link = AgentLink::between(dialect, (Role::Input, Role::Live), supports_everything, options)?;
        Ok(Self { link, asked: Remembered::default() })
    }

    /// Reads the next bytes of the editor, of any length, and passes the events for the agent to `each`. Returns the bytes
    /// to send to the editor.
    pub fn receive(&mut self, bytes: &[u8], mut each: impl FnMut(&Event<'_>) + Send) -> Vec<u8> {
        let Self { link, asked } = self;
        link.receive(bytes, |event| match event {
            Event::PermissionResolved(Permission { id, answer, .. }) => {
                match asked.remove(id.as_escaped()) {
                    Some(Asked::Permission(permission)) => {
                        let answer = answer.clone();
                        each(&Event::PermissionResolved(Permission { answer, ..permission }));
                    }
                    // An error is the refusal of a request of either kind.
                    Some(Asked::Question(question)) => {
                        each(&Event::QuestionResolved(Question { declined: true, ..question }));
                    }
                    None => {}
                }
            }
            Event::QuestionResolved(Question { id, answers, declined, .. }) => {
                match asked.remove(id.as_escaped()) {
                    Some(Asked::Question(question)) => {
                        let (answers, declined) = (answers.clone(), *declined);
                        each(&Event::QuestionResolved(Question { answers, declined, ..question }));
                    }
                    // A form is no decision.
                    Some(permission @ Asked::Permission(_)) => _ = asked.insert(id.as_escaped(), permission),
                    None => {}
                }
            }
            other => each(other),
        })
    }

    /// Writes an event of the agent. Returns the bytes to send to the editor.
    pub fn send(&mut self, event: &Event<'_>) -> Vec<u8> {
        let asked = match event {
            Event::PermissionRequested(permission) => {
                Some(Asked::Permission(permission.clone().into_owned()))
            }
            Event::QuestionRequested(question) => Some(Asked::Question(question.clone().into_owned())),
            _ => None,
        };
        match (event, asked) {
            (
                Event::PermissionRequested(Permission { id, .. })
                | Event::QuestionRequested(Question { id, .. }),
                Some(asked),
            ) => {
                self.asked.insert(id.as_escaped(), asked);
            }
            (
                Event::PermissionResolved(Permission { id, .. })
                | Event::QuestionResolved(Question { id, .. }),
                _,
            ) => {
                self.asked.remove(id.as_escaped());
            }
            _ => {}
        }
        self.link.send(event)
    }

    /// Ends the editor's input. Returns the report on it.
    pub fn finish(self, each: impl FnMut(&Event<'_>) + Send) -> Report {
        self.link.finish(each)
    }
}
