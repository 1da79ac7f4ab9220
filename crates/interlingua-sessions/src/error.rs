//! Errors of finding, opening and detecting sessions: facts with a one-line message. Hints that name flags of a program are
//! that program's.

use std::fmt;
use std::io;

use interlingua::dialects::{Dialect, Role};
use interlingua::sniff::{Guess, UnreadForm};
use interlingua_report::render::io_reason;
use interlingua_report::{Explain, safe};

use crate::{ArchiveError, ContentForm, Packing};

/// An input that cannot be found, opened or detected. Names are those of [`crate::InputPlace::name`].
#[derive(Debug)]
#[non_exhaustive]
pub enum SourceError {
    /// A file could not be opened or read. The cause may hold an [`crate::UnpackError`].
    Read(String, io::Error),
    /// The input is empty or blank.
    Empty(String),
    /// No dialect recognises the input.
    Undetected {
        /// The input.
        name: String,
        /// The compression of the input.
        packing: Option<Packing>,
        /// The form of the content.
        content: ContentForm,
        /// A known form that no dialect reads.
        unread: Option<&'static UnreadForm>,
    },
    /// Several dialects or roles fit, and the content does not decide.
    Unclear {
        /// The input.
        name: String,
        /// The candidates.
        close: Vec<Guess>,
    },
    /// The caller named the dialect, and several of its roles fit.
    UnclearRole {
        /// The input.
        name: String,
        /// The named dialect.
        dialect: &'static Dialect,
        /// The dialect that detection would have chosen.
        looks_like: Option<&'static Dialect>,
    },
    /// The dialect has no reader for that role.
    CannotRead(&'static Dialect, Role),
    /// The path is a directory, and a file is needed.
    NotAFile(String),
    /// The path is a store of sessions, and a file is needed.
    IsStore(String),
    /// The store holds no session.
    EmptyStore(String),
    /// A store of sessions cannot be read.
    Archive(ArchiveError),
    /// A link in a directory; links are not followed.
    IsLink,
    /// A file that an interrupted run left behind.
    IsTemporary,
    /// A pipe, a device or a socket in a directory.
    IsNoFile,
    /// A pattern that matches nothing.
    NoMatch(String),
    /// A pattern with a syntax error: the pattern, the position and the error.
    BadPattern(String, usize, &'static str),
}

impl SourceError {
    /// Whether a search through a directory skips an input with this error and goes on.
    pub const fn is_skip(&self) -> bool {
        matches!(
            self,
            SourceError::Empty(_)
                | SourceError::Undetected { .. }
                | SourceError::Unclear { .. }
                | SourceError::UnclearRole { .. }
                | SourceError::CannotRead(..)
                | SourceError::IsStore(_)
                | SourceError::EmptyStore(_)
                | SourceError::Archive(ArchiveError::NotStore(_))
                | SourceError::IsLink
                | SourceError::IsTemporary
                | SourceError::IsNoFile
        )
    }
}

impl Explain for SourceError {
    fn message(&self) -> String {
        match self {
            SourceError::Read(name, error) => format!("cannot read `{name}`: {}", io_reason(error)),
            SourceError::Empty(name) => format!("there is nothing in `{name}`"),
            SourceError::Undetected { name, packing, content, unread } => {
                let unpacked =
                    packing.map_or_else(String::new, |packing| format!(", unpacked from {}", packing.word()));
                let why = known_of(*unread, *content).map_or_else(String::new, |known| format!(": {known}"));
                format!("no dialect recognises `{name}`{unpacked}{why}")
            }
            SourceError::Unclear { name, close } => {
                format!("cannot tell what `{name}` is: it could be {}", candidates(close))
            }
            SourceError::UnclearRole { name, dialect, .. } => {
                format!("cannot tell what role of `{}` `{name}` is", dialect.name)
            }
            SourceError::CannotRead(dialect, role) => {
                format!("`{}` does not read role `{}`", dialect.name, role.word())
            }
            SourceError::NotAFile(name) => format!("`{name}` is a directory"),
            SourceError::IsStore(name) => format!("`{name}` holds many sessions"),
            SourceError::EmptyStore(name) => format!("`{name}` holds no session"),
            SourceError::Archive(error) => error.with_path(|path| safe::path_name(path)),
            SourceError::IsLink => "a link, and links are not followed".to_owned(),
            SourceError::IsTemporary => "left by a run that was stopped".to_owned(),
            SourceError::IsNoFile => "neither a file nor a directory".to_owned(),
            SourceError::NoMatch(pattern) => format!("nothing matches `{pattern}`"),
            SourceError::BadPattern(pattern, at, what) => {
                format!("`{pattern}` is no pattern: character {}: {what}", at + 1)
            }
        }
    }

    fn hint(&self) -> Option<String> {
        None
    }

    fn reason_to_skip(&self) -> String {
        match self {
            SourceError::Empty(_) => "it is empty".to_owned(),
            SourceError::Undetected { unread, content, .. } => {
                known_of(*unread, *content).unwrap_or_else(|| "no dialect recognises it".to_owned())
            }
            SourceError::Unclear { close, .. } => format!("it could be {}", candidates(close)),
            SourceError::UnclearRole { dialect, .. } => format!("its role in `{}` is unclear", dialect.name),
            other => other.message(),
        }
    }
}

impl fmt::Display for SourceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message())
    }
}

impl std::error::Error for SourceError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            SourceError::Read(_, error) => Some(error),
            SourceError::Archive(error) => Some(error),
            _ => None,
        }
    }
}

/// The known facts about an input that no dialect recognises.
fn known_of(unread: Option<&UnreadForm>, content: ContentForm) -> Option<String> {
    Some(match (unread, content) {
        (Some(form), _) => format!("it is {}, which is not read", form.about),
        (None, ContentForm::Text) => return None,
        (None, ContentForm::Wide(encoding)) => format!("it is {encoding}, and everything here is UTF-8"),
        (None, ContentForm::Packed(how, _)) => format!("it is packed with {how}, which is not read"),
        (None, ContentForm::Binary) => "it is not text".to_owned(),
    })
}

/// The candidates for an input, in words.
fn candidates(close: &[Guess]) -> String {
    let names = |word: &dyn Fn(&Guess) -> &'static str| {
        let names: Vec<String> = close.iter().map(|guess| format!("`{}`", word(guess))).collect();
        names.join(" or ")
    };
    match close {
        [first, ..] if of_one_dialect(close) => {
            format!("a {} of `{}`", names(&|guess| guess.role.word()), first.dialect.name)
        }
        [_] => format!("{}, and much else", names(&|guess| guess.dialect.name)),
        _ => names(&|guess| guess.dialect.name),
    }
}

/// Whether the candidates are several roles of one dialect.
pub fn of_one_dialect(close: &[Guess]) -> bool {
    close.len() > 1 && close.windows(2).all(|two| matches!(two, [a, b] if a.dialect.name == b.dialect.name))
}
