//! What can go wrong around a conversion, as facts; the words and the way out for each, in one table.

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use interlingua::dialects::{Dialect, Role};

/// How the command ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Done.
    Done,
    /// Input could not be read.
    Unreadable,
    /// The command line makes no sense.
    Usage,
    /// Losses under `--strict`, or a failed check.
    Failed,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(match exit {
            Exit::Done => 0,
            Exit::Unreadable => 1,
            Exit::Usage => 2,
            Exit::Failed => 3,
        })
    }
}

/// Why a command, or one file of many, came to nothing.
#[derive(Debug)]
pub(crate) enum Error {
    /// A file could not be opened or read.
    Read(String, io::Error),
    /// A file could not be written.
    Write(PathBuf, io::Error),
    /// stdout could not be written.
    Output(io::Error),
    /// There is nothing in it.
    Empty(String),
    /// No dialect recognises it.
    Undetected {
        /// The input.
        name: String,
        /// It does not look like text.
        binary: bool,
    },
    /// The dialect was named, but not what it is used for.
    UnclearRole(String, &'static Dialect),
    /// Nothing in it could be read as that dialect.
    NothingRead {
        /// The input.
        name: String,
        /// What it was read as.
        dialect: &'static Dialect,
        /// What it looks like instead.
        looks_like: Option<&'static Dialect>,
    },
    /// The dialect does not read that role.
    CannotRead(&'static Dialect, Role),
    /// The target has no role for such a source.
    NoTargetRole(&'static Dialect, Role),
    /// Several inputs, or a directory, and no directory to write to.
    NeedsDirectory,
    /// A directory where a file was meant.
    IsDirectory(String),
    /// The output is one of the inputs.
    OverInput(PathBuf),
    /// Of all files in the directories, none was recognised.
    NothingRecognised(usize),
    /// Both the output and the report would go to stdout.
    StdoutTwice,
    /// No dialect of that name; perhaps this one was meant.
    UnknownDialect(String, Option<String>),
    /// No command of that name.
    UnknownCommand(String),
}

impl Error {
    /// Our own words for what clap refused, where we know more than clap.
    pub(crate) fn from_usage(error: &clap::Error) -> Option<Self> {
        let text = |kind| match error.get(kind) {
            Some(ContextValue::String(text)) => Some(text.clone()),
            _ => None,
        };
        let is_dialect = || text(ContextKind::InvalidArg).is_some_and(|arg| arg.contains("<DIALECT>"));
        let name = text(ContextKind::InvalidValue).filter(|name| !name.is_empty());
        match (error.kind(), name) {
            (ErrorKind::InvalidValue, Some(name)) if is_dialect() => {
                Some(Error::UnknownDialect(name, text(ContextKind::SuggestedValue)))
            }
            _ => None,
        }
    }

    pub(crate) const fn exit(&self) -> Exit {
        match self {
            Error::UnclearRole(..)
            | Error::CannotRead(..)
            | Error::NoTargetRole(..)
            | Error::NeedsDirectory
            | Error::OverInput(_)
            | Error::StdoutTwice
            | Error::UnknownDialect(..)
            | Error::UnknownCommand(_) => Exit::Usage,
            Error::Read(..)
            | Error::Write(..)
            | Error::Output(_)
            | Error::Empty(_)
            | Error::Undetected { .. }
            | Error::NothingRead { .. }
            | Error::IsDirectory(_)
            | Error::NothingRecognised(_) => Exit::Unreadable,
        }
    }

    /// Whether a directory run merely leaves such a file aside.
    pub(crate) const fn is_skip(&self) -> bool {
        matches!(
            self,
            Error::Empty(_)
                | Error::Undetected { .. }
                | Error::UnclearRole(..)
                | Error::NothingRead { .. }
                | Error::NoTargetRole(..)
                | Error::CannotRead(..)
        )
    }

    pub(crate) fn is_broken_pipe(&self) -> bool {
        matches!(self, Error::Output(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }

    /// What happened, in a line.
    pub(crate) fn message(&self) -> String {
        match self {
            Error::Read(name, error) => format!("cannot read `{name}`: {}", reason(error)),
            Error::Write(path, error) => format!("cannot write `{}`: {}", path.display(), reason(error)),
            Error::Output(error) => format!("cannot write to stdout: {}", reason(error)),
            Error::Empty(name) => format!("there is nothing in `{name}`"),
            Error::Undetected { name, binary: true } => {
                format!("no dialect recognises `{name}`: it is not text")
            }
            Error::Undetected { name, binary: false } => format!("no dialect recognises `{name}`"),
            Error::UnclearRole(name, dialect) => {
                format!("cannot tell what role of `{}` `{name}` is", dialect.name)
            }
            Error::NothingRead { name, dialect, .. } => {
                format!("nothing in `{name}` can be read as `{}`", dialect.name)
            }
            Error::CannotRead(dialect, role) => {
                format!("`{}` does not read role `{}`", dialect.name, role.word())
            }
            Error::NoTargetRole(dialect, role) => {
                format!("`{}` has nothing to write a `{}` as", dialect.name, role.word())
            }
            Error::NeedsDirectory => "several inputs need a directory to write to".to_owned(),
            Error::IsDirectory(name) => format!("`{name}` is a directory"),
            Error::OverInput(path) => format!("`{}` is the input itself", path.display()),
            Error::NothingRecognised(1) => "no dialect recognises the one file there".to_owned(),
            Error::NothingRecognised(count) => format!("no dialect recognises any of the {count} files"),
            Error::StdoutTwice => "output and report cannot both go to stdout".to_owned(),
            Error::UnknownDialect(name, _) => format!("there is no dialect `{name}`"),
            Error::UnknownCommand(name) => format!("there is no command `{name}`"),
        }
    }

    /// Why a file of a directory was left aside, in a few words beside its name.
    pub(crate) fn reason_to_skip(&self) -> String {
        match self {
            Error::Empty(_) => "it is empty".to_owned(),
            Error::Undetected { .. } => "no dialect recognises it".to_owned(),
            Error::UnclearRole(_, dialect) => format!("its role in `{}` is unclear", dialect.name),
            Error::NothingRead { dialect, .. } => format!("nothing in it can be read as `{}`", dialect.name),
            other => other.message(),
        }
    }

    /// The way out, where there is one.
    pub(crate) fn hint(&self) -> Option<String> {
        let roles = |dialect: &Dialect, can: fn(&interlingua::dialects::RoleSpec) -> bool| {
            let words: Vec<String> = dialect
                .roles
                .iter()
                .filter(|spec| can(spec))
                .map(|spec| format!("`{}`", spec.role.word()))
                .collect();
            words.join(", ")
        };
        Some(match self {
            Error::Read(_, error) if error.kind() == io::ErrorKind::NotFound => {
                "is the path right? `-` reads stdin".to_owned()
            }
            Error::Read(..) | Error::Write(..) | Error::Output(_) => return None,
            Error::Empty(_) => "give a file with content, or pipe one in".to_owned(),
            Error::Undetected { .. } => {
                "name the dialect with `--from`; `interlingua dialects` lists them".to_owned()
            }
            Error::UnclearRole(_, dialect) => {
                format!("name it with `--role`: {}", roles(dialect, |spec| spec.read.is_some()))
            }
            Error::NothingRead { looks_like: Some(other), .. } => {
                format!("it looks like `{}`; leave `--from` out to have it detected", other.name)
            }
            Error::NothingRead { looks_like: None, .. } => {
                "is it really a file of that dialect? `interlingua check` without `--from` says what it looks like"
                    .to_owned()
            }
            Error::CannotRead(dialect, _) => {
                format!("it reads {}", roles(dialect, |spec| spec.read.is_some()))
            }
            Error::NoTargetRole(dialect, _) => {
                format!("it writes {}", roles(dialect, |spec| spec.write.is_some()))
            }
            Error::NeedsDirectory => "name one with `-o DIR`; it is made if need be".to_owned(),
            Error::IsDirectory(_) => "name the files in it; `convert` takes it whole with `-o DIR`".to_owned(),
            Error::OverInput(_) => "write to another file, or to a directory with `-o DIR`".to_owned(),
            Error::NothingRecognised(_) => "name the dialect with `--from` to read them all as that".to_owned(),
            Error::StdoutTwice => "write one of them to a file: `-o FILE` or `--report FILE`".to_owned(),
            Error::UnknownDialect(_, Some(similar)) => {
                format!("did you mean `{similar}`? `interlingua dialects` lists them all")
            }
            Error::UnknownDialect(_, None) => "`interlingua dialects` lists them all".to_owned(),
            Error::UnknownCommand(_) => "`interlingua --help` lists them".to_owned(),
        })
    }
}

/// The system's words for an error, without its number and capital.
fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "no such file".to_owned(),
        io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        io::ErrorKind::IsADirectory => "it is a directory".to_owned(),
        io::ErrorKind::AlreadyExists => "it exists already".to_owned(),
        _ => error.to_string(),
    }
}
