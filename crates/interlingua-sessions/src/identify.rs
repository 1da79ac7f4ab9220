//! The dialect and the role of an opened input: as the caller names them, or as detected.

use interlingua::dialects::{Dialect, Role};
use interlingua::sniff::{Detection, Guess};
use interlingua_report::{Identified, IdentifiedBy};

use crate::{Opened, SourceError};

/// The dialect and the role of an input where the caller names them; detection finds the rest.
#[derive(Clone, Copy, Debug, Default)]
pub struct SourceHints {
    /// The dialect.
    pub from: Option<&'static Dialect>,
    /// The role.
    pub role: Option<Role>,
}

impl Opened {
    /// The dialect and the role of this input. `name` is the name in errors.
    pub fn identify(&self, name: &str, hints: &SourceHints) -> Result<Identified, SourceError> {
        if self.is_blank() {
            return Err(SourceError::Empty(name.to_owned()));
        }
        let detection = match hints.from {
            Some(dialect) => self.candidates.decide_for(dialect),
            None => self.candidates.decide(),
        };
        let (dialect, by, guess) = match (hints.from, detection) {
            (None, Detection::Clear(guess)) => (guess.dialect, IdentifiedBy::Detection, Some(guess)),
            (Some(dialect), Detection::Clear(guess)) => (dialect, IdentifiedBy::Name, Some(guess)),
            (Some(dialect), Detection::Unknown) => (dialect, IdentifiedBy::Name, None),
            (None, Detection::Unknown) => return Err(self.undetected(name)),
            (from, Detection::Unclear(close)) => {
                // The named dialect or role may leave one candidate.
                let fits = |guess: &&Guess| hints.role.is_none_or(|role| role == guess.role);
                match (from, &close.iter().filter(fits).collect::<Vec<_>>()[..]) {
                    (Some(dialect), [guess]) => (dialect, IdentifiedBy::Name, Some(**guess)),
                    (None, [guess]) if close.len() > 1 => {
                        (guess.dialect, IdentifiedBy::Detection, Some(**guess))
                    }
                    (Some(dialect), _) if hints.role.is_some() => (dialect, IdentifiedBy::Name, None),
                    _ => return Err(SourceError::Unclear { name: name.to_owned(), close }),
                }
            }
        };
        let looks_like = match self.candidates.decide() {
            Detection::Clear(best) if guess.is_none() => Some(best.dialect),
            Detection::Clear(_) | Detection::Unclear(_) | Detection::Unknown => None,
        };
        let mut readable = dialect.roles.iter().filter(|spec| spec.read.is_some());
        let spec = match (hints.role, guess) {
            (Some(role), _) => {
                let spec = readable.find(|spec| spec.role == role);
                spec.ok_or(SourceError::CannotRead(dialect, role))?
            }
            (None, Some(guess)) => {
                let spec = readable.find(|spec| spec.role == guess.role);
                spec.ok_or(SourceError::CannotRead(dialect, guess.role))?
            }
            (None, None) => {
                let only = readable.next().filter(|_| readable.next().is_none());
                let unclear = || SourceError::UnclearRole { name: name.to_owned(), dialect, looks_like };
                only.ok_or_else(unclear)?
            }
        };
        let mut identified = Identified::new(dialect, spec, by);
        identified.looks_like = looks_like;
        Ok(identified)
    }
}
