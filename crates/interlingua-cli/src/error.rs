//! Errors around a conversion as typed facts, with one table for their messages and hints.

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use interlingua::dialects::{DIALECTS, Dialect, Role, RoleSpec};
use interlingua::wire::backends::Backend;
use interlingua_daemon::{AGENTS, Agent, ApiProblem};
use interlingua_gateway::{Config, ConfigError, FeedError, StartError};
use interlingua_library::{BackupError, CarryError, CatalogueError, NameError, Successor};
use interlingua_record::contract::Refusal;
use interlingua_report::render::io_reason;
use interlingua_report::{Explain, safe};
use interlingua_sessions::{ContentForm, SourceError, UnpackDamage, UnpackError, of_one_dialect};

/// The exit code of the command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Success.
    Done,
    /// An input could not be read.
    Unreadable,
    /// The command line is invalid.
    Usage,
    /// Losses under `--strict`, or a failed check.
    Failed,
    /// The exit code of the program that was run.
    Program(u8),
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(match exit {
            Exit::Done => 0,
            Exit::Unreadable => 1,
            Exit::Usage => 2,
            Exit::Failed => 3,
            Exit::Program(code) => code,
        })
    }
}

/// Why the command, or the work on one file of many, failed.
#[derive(Debug)]
pub(crate) enum CommandError {
    /// An input cannot be found, opened or detected.
    Source(SourceError),
    /// A file could not be opened or read.
    Read(String, io::Error),
    /// A file could not be written.
    Write(PathBuf, io::Error),
    /// Writing to stdout failed.
    Output(io::Error),
    /// The input contains no line of the given dialect.
    NothingRead {
        /// The name of the input.
        name: String,
        /// The dialect the input was parsed as.
        dialect: &'static Dialect,
        /// The dialect that detection finds.
        looks_like: Option<&'static Dialect>,
    },
    /// The target has no role for such a source.
    NoTargetRole(&'static Dialect, Role),
    /// Several inputs, or a directory, without an output directory.
    NeedsDirectory,
    /// A directory as input, without an output directory.
    IsDirectory(String),
    /// The target dialect is missing.
    NoTarget,
    /// `--join` writes records only.
    JoinsRecords(&'static Dialect),
    /// `--join` requires an output path.
    NeedsOutput,
    /// `--join` found this many sessions for a single output record.
    SeveralSessions(usize),
    /// An input yields several documents, but stdout is a file named as a single document.
    SeveralDocuments(String),
    /// A record holds joined sessions, but one log holds one session.
    HoldsSessions(String),
    /// An input holds this many sessions, but one is carried on.
    HoldsMany(String, usize),
    /// A written session lacks parts of its source: the output, and the parts that came along.
    Incomplete(PathBuf, String),
    /// Several inputs, but the output path is a file name.
    FileForSeveral(PathBuf),
    /// The path of the output directory is a file.
    NotADirectory(PathBuf),
    /// The report would overwrite an output.
    OverOutput(PathBuf),
    /// What an earlier run wrote to this very directory.
    IsThere,
    /// The output exists, and is not to be made again.
    Exists(PathBuf),
    /// The output would overwrite an input.
    OverInput(PathBuf),
    /// Of all files in the directories, none was recognised.
    NothingRecognised(usize),
    /// Both the output and the report would go to stdout.
    StdoutTwice,
    /// An unknown dialect name, with similar names.
    UnknownDialect(String, Vec<&'static str>),
    /// An unknown command name.
    UnknownCommand(String),
    /// No backend of that name supports the dialect.
    UnknownBackend(String, &'static Dialect),
    /// An invalid file of backends: its name and the reason.
    Backends(String, String),
    /// An invalid file of prices: its name and the reason.
    Prices(String, String),
    /// An invalid policy of an audit: its name and the reason.
    AuditPolicy(String, String),
    /// A repository or a record that `attribute` cannot use: its name and the reason.
    Attribution(String, String),
    /// `stats` counts sessions only, and the input is not a session.
    NoSession(String, &'static Dialect, Role),
    /// An invalid work order or receipt: its name and the reason.
    Order(String, String),
    /// A key or a signature file that cannot be used: its name and the reason.
    Signature(String, String),
    /// A work order was refused.
    Refused(Box<Refusal>),
    /// The catalogue of sessions cannot be used.
    Library(CatalogueError),
    /// A name without a session, or with several.
    Name(NameError),
    /// A session that cannot be put into its place in another agent.
    Carry(CarryError),
    /// A backup that cannot be used.
    Backup(BackupError),
    /// A gateway that cannot start.
    Gateway(StartError),
    /// A feed of calls that cannot be read.
    Feed(FeedError),
    /// An unknown name of an agent.
    UnknownAgent(String),
    /// The program of an agent is not installed.
    NotInstalled(&'static Agent),
    /// The agent that is to go on with a session is not installed.
    NoSuccessor(&'static Successor),
    /// The agent or its store failed.
    Agent(ApiProblem),
    /// Any other invalid command line: the message and perhaps a hint.
    Usage(String, Option<String>),
}

impl CommandError {
    /// Translates an error of clap into our messages. Returns `None` if clap prints requested output, such as help.
    pub(crate) fn from_usage(error: &clap::Error) -> Option<Self> {
        if !error.use_stderr() || error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
            return None;
        }
        let text = |kind| match error.get(kind) {
            Some(ContextValue::String(text)) => Some(text.clone()),
            _ => None,
        };
        let is_dialect = || {
            let takes_one =
                |arg: String| ["<DIALECT>", "[FROM]", "[TO]"].iter().any(|name| arg.contains(name));
            text(ContextKind::InvalidArg).is_some_and(takes_one)
        };
        let name = text(ContextKind::InvalidValue).filter(|name| !name.is_empty());
        let missing = match error.get(ContextKind::InvalidArg) {
            Some(ContextValue::Strings(missing)) => missing.concat(),
            _ => String::new(),
        };
        match (error.kind(), name) {
            (ErrorKind::MissingRequiredArgument, _) if missing.contains("--to <DIALECT>") => {
                Some(CommandError::NoTarget)
            }
            (ErrorKind::InvalidValue, Some(name)) if is_dialect() => {
                let near = near_dialects(&name);
                Some(CommandError::UnknownDialect(name, near))
            }
            _ => Some(CommandError::restated(&error.render().to_string())),
        }
    }

    /// Puts clap's message on one line with names in backticks; the list of all flags is left to `--help`.
    fn restated(text: &str) -> Self {
        let quoted = |text: &str| text.replace('\'', "`");
        let what: Vec<&str> = text.lines().take_while(|line| !line.is_empty()).map(str::trim).collect();
        let what = what.join(" ");
        let tip = text.lines().find_map(|line| line.trim().strip_prefix("tip: "));
        CommandError::Usage(quoted(what.strip_prefix("error: ").unwrap_or(&what)), tip.map(quoted))
    }

    pub(crate) const fn exit(&self) -> Exit {
        match self {
            CommandError::Source(
                SourceError::Unclear { .. }
                | SourceError::UnclearRole { .. }
                | SourceError::CannotRead(..)
                | SourceError::IsLink
                | SourceError::IsTemporary
                | SourceError::IsNoFile
                | SourceError::BadPattern(..),
            )
            | CommandError::NoTargetRole(..)
            | CommandError::NeedsDirectory
            | CommandError::NeedsOutput
            | CommandError::NoTarget
            | CommandError::JoinsRecords(_)
            | CommandError::SeveralSessions(_)
            | CommandError::SeveralDocuments(_)
            | CommandError::HoldsSessions(_)
            | CommandError::HoldsMany(..)
            | CommandError::OverInput(_)
            | CommandError::OverOutput(_)
            | CommandError::IsThere
            | CommandError::Exists(_)
            | CommandError::StdoutTwice
            | CommandError::NotADirectory(_)
            | CommandError::FileForSeveral(_)
            | CommandError::UnknownDialect(..)
            | CommandError::UnknownBackend(..)
            | CommandError::UnknownCommand(_)
            | CommandError::Name(NameError::Several(..))
            | CommandError::UnknownAgent(_)
            | CommandError::Usage(..) => Exit::Usage,
            // The exit code that shells have for a command that is not found.
            CommandError::NotInstalled(_) | CommandError::NoSuccessor(_) => Exit::Program(127),
            CommandError::Agent(ApiProblem { status: 400 | 403, .. }) => Exit::Usage,
            CommandError::Agent(_) => Exit::Unreadable,
            CommandError::Refused(_) | CommandError::Incomplete(..) => Exit::Failed,
            CommandError::Gateway(StartError::Config(_))
            | CommandError::Feed(FeedError::Url(_) | FeedError::Token) => Exit::Usage,
            CommandError::Gateway(_) | CommandError::Feed(_) => Exit::Unreadable,
            CommandError::Source(_)
            | CommandError::Read(..)
            | CommandError::Write(..)
            | CommandError::Output(_)
            | CommandError::Backends(..)
            | CommandError::Prices(..)
            | CommandError::AuditPolicy(..)
            | CommandError::Attribution(..)
            | CommandError::NoSession(..)
            | CommandError::Library(_)
            | CommandError::Name(_)
            | CommandError::Carry(_)
            | CommandError::Backup(_)
            | CommandError::Order(..)
            | CommandError::Signature(..)
            | CommandError::NothingRead { .. }
            | CommandError::IsDirectory(_)
            | CommandError::NothingRecognised(_) => Exit::Unreadable,
        }
    }

    /// Whether a directory run skips a file with this error instead of failing.
    pub(crate) const fn is_skip(&self) -> bool {
        match self {
            CommandError::Source(error) => error.is_skip(),
            CommandError::NothingRead { .. }
            | CommandError::NoTargetRole(..)
            | CommandError::NoSession(..)
            | CommandError::IsThere
            | CommandError::Exists(_) => true,
            _ => false,
        }
    }

    pub(crate) fn is_broken_pipe(&self) -> bool {
        matches!(self, CommandError::Output(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }
}

impl Explain for CommandError {
    fn message(&self) -> String {
        match self {
            CommandError::Source(error) => error.message(),
            CommandError::Read(name, error) => format!("cannot read `{name}`: {}", io_reason(error)),
            CommandError::Write(path, error) if error.kind() == io::ErrorKind::NotFound => {
                // The first missing folder of the path.
                let folders: Vec<_> =
                    path.ancestors().skip(1).filter(|folder| !folder.as_os_str().is_empty()).collect();
                let missing = folders.into_iter().rev().find(|folder| !folder.exists());
                let missing = safe::path_name(missing.unwrap_or(path));
                format!("cannot write `{}`: there is no directory `{missing}`", safe::path_name(path))
            }
            CommandError::Write(path, error) => {
                format!("cannot write `{}`: {}", safe::path_name(path), io_reason(error))
            }
            CommandError::Output(error) => format!("cannot write to stdout: {}", io_reason(error)),
            CommandError::NothingRead { name, dialect, .. } => {
                format!("nothing in `{name}` can be read as `{}`", dialect.name)
            }
            CommandError::NoTargetRole(dialect, role) => {
                format!("`{}` cannot be written as a `{}`", dialect.name, role.word())
            }
            CommandError::NeedsDirectory => "several inputs need a directory to write to".to_owned(),
            CommandError::IsDirectory(name) => format!("`{name}` is a directory"),
            CommandError::NoTarget => "what to convert to is not said".to_owned(),
            CommandError::JoinsRecords(to) => format!("`--join` makes records, and `{}` is none", to.name),
            CommandError::NeedsOutput => "`--join` needs a file or a directory to write to".to_owned(),
            CommandError::SeveralSessions(count) => {
                format!("these files are of {count} sessions that do not belong together")
            }
            CommandError::SeveralDocuments(name) => {
                format!("`{name}` holds several sessions, and a JSON document holds one")
            }
            CommandError::HoldsSessions(name) => format!("`{name}` holds several sessions that were joined"),
            CommandError::HoldsMany(name, count) => format!("`{name}` holds {count} sessions"),
            CommandError::Incomplete(path, told) => {
                let told = told.lines().next().unwrap_or_default();
                format!("`{}` lacks parts of its source; {told}", safe::path_name(path))
            }
            CommandError::FileForSeveral(path) => {
                format!(
                    "`{}` is the name of a file, and several outputs need a directory",
                    safe::path_name(path)
                )
            }
            CommandError::NotADirectory(path) => format!("`{}` is not a directory", safe::path_name(path)),
            CommandError::OverInput(path) => format!("`{}` is the input itself", safe::path_name(path)),
            CommandError::OverOutput(path) => format!("`{}` is the output, too", safe::path_name(path)),
            CommandError::IsThere => "it is what an earlier run wrote here".to_owned(),
            CommandError::Exists(path) => format!("`{}` is there already", safe::path_name(path)),
            CommandError::NothingRecognised(0) => "there are no files".to_owned(),
            CommandError::NothingRecognised(1) => "no dialect recognises the one file there".to_owned(),
            CommandError::NothingRecognised(count) => {
                format!("no dialect recognises any of the {count} files")
            }
            CommandError::StdoutTwice => "output and report cannot both go to stdout".to_owned(),
            CommandError::UnknownDialect(name, _) => format!("there is no dialect `{name}`"),
            CommandError::UnknownCommand(name) => format!("there is no command `{name}`"),
            CommandError::UnknownBackend(name, dialect) => {
                format!("no backend `{name}` speaks `{}`", dialect.name)
            }
            CommandError::Backends(name, what)
            | CommandError::Order(name, what)
            | CommandError::Signature(name, what)
            | CommandError::AuditPolicy(name, what)
            | CommandError::Attribution(name, what)
            | CommandError::Prices(name, what) => format!("`{name}`: {what}"),
            CommandError::NoSession(name, dialect, role) => {
                format!("`{name}` is no session: it is a `{}` of `{}`", role.word(), dialect.name)
            }
            CommandError::Refused(refusal) => refusal.to_string(),
            CommandError::Library(error) => error.to_string(),
            CommandError::Name(error) => error.to_string(),
            CommandError::Carry(error) => error.to_string(),
            CommandError::Backup(error) => error.to_string(),
            CommandError::Gateway(error) => error.to_string(),
            CommandError::Feed(error) => safe::one_line(&error.to_string()),
            CommandError::UnknownAgent(name) => format!("there is no agent `{name}`"),
            CommandError::NotInstalled(agent) => {
                let program = agent.program.unwrap_or(agent.id);
                format!("{} is not installed: `{program}` is not on the path", agent.name)
            }
            CommandError::NoSuccessor(Successor { dialect, program, .. }) => {
                format!(
                    "`{dialect}` is not installed: `{program}` is not on the path, and nothing was written"
                )
            }
            CommandError::Agent(problem) => safe::one_line(&problem.detail),
            CommandError::Usage(what, _) => what.clone(),
        }
    }

    fn reason_to_skip(&self) -> String {
        match self {
            CommandError::Source(error) => error.reason_to_skip(),
            CommandError::Exists(_) => "its output is there already".to_owned(),
            CommandError::NothingRead { dialect, .. } => {
                format!("nothing in it can be read as `{}`", dialect.name)
            }
            CommandError::NoSession(_, dialect, role) => {
                format!("it is a `{}` of `{}`, no session", role.word(), dialect.name)
            }
            other => other.message(),
        }
    }

    fn hint(&self) -> Option<String> {
        Some(match self {
            CommandError::Read(_, error) => return read_hint(error),
            CommandError::Write(..) | CommandError::Output(_) | CommandError::Signature(..) => return None,
            CommandError::Source(error) => return source_hint(error),
            CommandError::NothingRead { looks_like: Some(other), .. } => {
                format!("it looks like `{}`; leave `--from` out to have it detected", other.name)
            }
            CommandError::NothingRead { looks_like: None, .. } => {
                "is it really a file of that dialect? `interlingua check` without `--from` says what it looks like"
                    .to_owned()
            }
            CommandError::NoTargetRole(dialect, _) => match roles(dialect, |spec| spec.write.is_some()) {
                none if none.is_empty() => {
                    "this dialect is only read; `interlingua dialects` lists those that are written".to_owned()
                }
                written => format!("it writes {written}"),
            },
            CommandError::NeedsDirectory => "name one with `-o DIR`; it is made if need be".to_owned(),
            CommandError::NoTarget => "say it with `--to DIALECT`; `interlingua dialects` lists them".to_owned(),
            CommandError::JoinsRecords(_) => "use `--to record`".to_owned(),
            CommandError::NeedsOutput => "name it with `-o`".to_owned(),
            CommandError::SeveralDocuments(_) => {
                "name the output with `-o FILE` or `-o DIR/`, for a file each".to_owned()
            }
            CommandError::SeveralSessions(_) | CommandError::HoldsSessions(_) => {
                "name a directory with `-o DIR/`, for a file each; it is made if need be".to_owned()
            }
            CommandError::HoldsMany(..) => {
                "`interlingua convert FILE --to record -o DIR/` makes a file for each; continue one of these".to_owned()
            }
            CommandError::Incomplete(..) => "`--report FILE` lists the losses with their places".to_owned(),
            CommandError::FileForSeveral(path) => {
                format!("name a directory, or `-o {}/` for a directory of that name", safe::path_name(path))
            }
            CommandError::NotADirectory(_) => "several inputs need a directory: name another with `-o DIR`".to_owned(),
            CommandError::IsDirectory(_) => "convert it with `-o DIR`, or name the files in it".to_owned(),
            CommandError::IsThere | CommandError::Exists(_) => return None,
            CommandError::OverOutput(_) => "give the report a name of its own".to_owned(),
            CommandError::OverInput(_) => "write to another file, or to a directory with `-o DIR`".to_owned(),
            CommandError::NothingRecognised(0) => "the directory is empty; name files, or another one".to_owned(),
            CommandError::NothingRecognised(_) => "name the dialect with `--from` to read them all as that".to_owned(),
            CommandError::StdoutTwice => "write one of them to a file: `-o FILE` or `--report FILE`".to_owned(),
            CommandError::UnknownDialect(_, near) if near.is_empty() => {
                "`interlingua dialects` lists them all".to_owned()
            }
            CommandError::UnknownDialect(_, near) => {
                let names: Vec<String> = near.iter().map(|name| format!("`{name}`")).collect();
                format!("did you mean {}? `interlingua dialects` lists them all", names.join(" or "))
            }
            CommandError::UnknownCommand(_) => "`interlingua --help` lists them".to_owned(),
            CommandError::UnknownBackend(_, dialect) => {
                let speaks = |backend: &&&Backend| backend.dialect == dialect.name;
                let names: Vec<&str> =
                    Backend::built_in().iter().filter(speaks).map(|backend| backend.name.as_ref()).collect();
                match &names[..] {
                    [] => "no server speaks it: it is no API of a model".to_owned(),
                    names => format!("it is spoken by {}; `--backends FILE` adds your own", names.join(", ")),
                }
            }
            CommandError::Backends(..) => {
                "a file of backends holds `[[backend]]` tables with `name`, `dialect` and rules; `interlingua matrix \
                 --list-backends` lists the rules"
                    .to_owned()
            }
            CommandError::Prices(..) => {
                "a file of prices holds `date`, `source` and, under `[models]`, lines such as `\"gpt-5.2\" = { input = \
                 1.75, output = 14 }`, in dollars per million tokens"
                    .to_owned()
            }
            CommandError::AuditPolicy(..) => {
                "a policy holds `[tools]` with `allow` and `deny`, `[severity]` with a word for each rule, and `[limits]`"
                    .to_owned()
            }
            CommandError::Attribution(..) => {
                "`--repo` is a directory of a git working tree, `--revision` and `--base` are its commits, and \
                 `--into-record` is a JSON record without an attribution"
                    .to_owned()
            }
            CommandError::NoSession(..) => "give a log, a live stream of an agent or a record".to_owned(),
            CommandError::Order(..) => "`interlingua help translate` shows a work order".to_owned(),
            CommandError::Refused(refusal) if !refusal.elsewhere.is_empty() => {
                format!("supported by {}", refusal.elsewhere.join(", "))
            }
            CommandError::Refused(_) => return None,
            CommandError::Library(_) => "the catalogue may be deleted: it is built anew".to_owned(),
            CommandError::Backup(BackupError::Several(..)) => "give more of the name, such as `NAME/` for a folder".to_owned(),
            CommandError::Backup(BackupError::File(_, error)) if error.kind() == io::ErrorKind::AlreadyExists => {
                "a file is never overwritten; `-o FILE` writes the session elsewhere".to_owned()
            }
            CommandError::Backup(BackupError::Unknown(_)) => "give a part of its path, such as its id".to_owned(),
            CommandError::Carry(_) | CommandError::Backup(_) => return None,
            CommandError::Name(NameError::Several(..)) => "give more of the id".to_owned(),
            CommandError::Name(_) => "`interlingua list -n 0` lists the sessions; a file is named by its path".to_owned(),
            CommandError::UnknownAgent(_) => {
                let names: Vec<&str> = AGENTS.iter().map(|agent| agent.id).collect();
                format!("the agents are {}", names.join(", "))
            }
            CommandError::NotInstalled(agent) => install_hint(agent),
            CommandError::NoSuccessor(_) => {
                "install the agent, or leave out `--run` to write the session and print its command".to_owned()
            }
            CommandError::Agent(_) => return None,
            CommandError::Usage(_, Some(tip)) => tip.clone(),
            CommandError::Gateway(error) => return gateway_hint(error),
            CommandError::Feed(error) => return feed_hint(error),
            CommandError::Usage(_, None) => {
                "`interlingua --help` lists the commands, `interlingua COMMAND --help` their flags".to_owned()
            }
        })
    }
}

/// The command that installs an agent.
fn install_hint(agent: &Agent) -> String {
    let package = match agent.id {
        "claude" => "@anthropic-ai/claude-code",
        "codex" => "@openai/codex",
        "opencode" => "opencode-ai",
        "gemini" => "@google/gemini-cli",
        "copilot" => "@github/copilot",
        "kimi" => "@moonshot-ai/kimi-code",
        "qwen" => "@qwen-code/qwen-code",
        "pi" => "@mariozechner/pi-coding-agent",
        _ => {
            return format!("install {} with its own installer, and put its program on the path", agent.name);
        }
    };
    format!("install it with `npm install -g {package}`; `interlingua run mock demo` needs no installation")
}

/// The way out where an input cannot be found, opened or detected.
fn source_hint(error: &SourceError) -> Option<String> {
    Some(match error {
        SourceError::Read(_, error) => return read_hint(error),
        SourceError::Empty(_) => "give a file with content, or pipe one in".to_owned(),
        SourceError::Undetected { content: ContentForm::Wide(encoding), .. } => {
            format!("make it UTF-8 first: `iconv -f {encoding} -t UTF-8`")
        }
        SourceError::Undetected { content: ContentForm::Packed(_, tool), .. } => {
            format!("unpack it first, with `{tool}`; gzip and zstd are read as they are")
        }
        SourceError::Undetected { unread: Some(_), .. } => {
            "give the log that the agent left on disk; `interlingua dialects` lists what is read".to_owned()
        }
        SourceError::Unclear { close, .. } if of_one_dialect(close) => {
            let flags: Vec<_> = close.iter().map(|guess| format!("`--role {}`", guess.role.word())).collect();
            format!("say which with {}", flags.join(" or "))
        }
        SourceError::Unclear { close, .. } => {
            let flags: Vec<_> =
                close.iter().map(|guess| format!("`--from {}`", guess.dialect.name)).collect();
            format!("say {} with {}", if close.len() == 1 { "so" } else { "which" }, flags.join(" or "))
        }
        SourceError::Undetected { .. } => {
            "name the dialect with `--from`; `interlingua dialects` lists them".to_owned()
        }
        SourceError::UnclearRole { looks_like: Some(other), .. } => {
            format!("it looks like `{}`: leave `--from` out, or name that", other.name)
        }
        SourceError::UnclearRole { dialect, .. } => {
            format!("name it with `--role`: {}", roles(dialect, |spec| spec.read.is_some()))
        }
        SourceError::CannotRead(dialect, _) => {
            format!("it reads {}", roles(dialect, |spec| spec.read.is_some()))
        }
        SourceError::NotAFile(_) => "name the files in it".to_owned(),
        SourceError::IsStore(_) => {
            "convert them with `interlingua convert STORE -o DIR`, one file for each".to_owned()
        }
        SourceError::NoMatch(_) | SourceError::BadPattern(..) => {
            "`*` and `?` stay within a name, `**` goes through directories, `[ab]` is one of them".to_owned()
        }
        _ => return None,
    })
}

/// The way out where a file cannot be read.
fn read_hint(error: &io::Error) -> Option<String> {
    if error.kind() == io::ErrorKind::NotFound {
        return Some("is the path right? `-` reads stdin".to_owned());
    }
    let damage = error.get_ref().and_then(|error| error.downcast_ref::<UnpackError>())?;
    let word = damage.packing.word();
    Some(match damage.what {
        UnpackDamage::CutOff => {
            format!("it was probably copied or written only in part; `{word} -t` tests another copy")
        }
        UnpackDamage::TooMuch(_) => {
            "if it is not meant to harm, raise the limit with `--max-unpacked`, such as `--max-unpacked 20GiB`".to_owned()
        }
        _ => format!("`{word} -t` tests it; `{word} -dc` shows what is left of it"),
    })
}

/// The roles of a dialect that can be read or written.
fn roles(dialect: &Dialect, can: fn(&RoleSpec) -> bool) -> String {
    let words: Vec<String> =
        dialect.roles.iter().filter(|spec| can(spec)).map(|spec| format!("`{}`", spec.role.word())).collect();
    words.join(", ")
}

/// Inputs with errors of `interlingua-sessions`, as inputs with errors of this command.
pub(crate) fn of_sources(inputs: Vec<(String, SourceError)>) -> Vec<(String, CommandError)> {
    inputs.into_iter().map(|(name, error)| (name, error.into())).collect()
}

impl From<SourceError> for CommandError {
    fn from(error: SourceError) -> Self {
        CommandError::Source(error)
    }
}

/// Dialects with a similar name: names that contain the word, else names within a small edit distance.
fn near_dialects(name: &str) -> Vec<&'static str> {
    let name = name.to_ascii_lowercase();
    let names = || DIALECTS.iter().map(|dialect| dialect.name);
    if let Some(same) = names().find(|dialect| *dialect == name) {
        return vec![same];
    }
    // `claude` begins two names, `chat` ends one, and `codex-cli` is longer than its dialect's name. Two letters are
    // not a word.
    let begins =
        |of: &str, word: &str| of.split('-').any(|part| part.starts_with(word)) || of.starts_with(word);
    let shares_word = |dialect: &&str| (name.len() > 2 && begins(dialect, &name)) || begins(&name, dialect);
    let with_word: Vec<&str> = names().filter(shares_word).collect();
    if !with_word.is_empty() {
        return with_word;
    }
    // One typo for every three letters.
    let is_slip = |dialect: &&str| strsim::osa_distance(&name, dialect) <= name.len() / 3;
    names().filter(is_slip).collect()
}

/// The way out where the feed of a gateway cannot be read.
fn feed_hint(error: &FeedError) -> Option<String> {
    Some(match error {
        FeedError::Url(_) => "name a gateway as in `http://127.0.0.1:8787`".to_owned(),
        FeedError::Unreachable { .. } => {
            "`interlingua serve` starts a gateway and prints its URL; name the URL of another one".to_owned()
        }
        FeedError::Refused { status: 401, .. } => {
            "name the environment variable with a key of the gateway: `--token-env NAME`".to_owned()
        }
        FeedError::Refused { .. } => {
            "name the URL of a gateway of `interlingua serve`, without a path".to_owned()
        }
        _ => return None,
    })
}

impl From<FeedError> for CommandError {
    fn from(error: FeedError) -> Self {
        CommandError::Feed(error)
    }
}

/// The way out of an error of a gateway.
fn gateway_hint(error: &StartError) -> Option<String> {
    Some(match error {
        StartError::Config(error) => return config_hint(error.cause()),
        StartError::Listen(..) => "another program may use the port; choose one with `--listen`".to_owned(),
        _ => return None,
    })
}

/// The way out of an error in a configuration.
fn config_hint(error: &ConfigError) -> Option<String> {
    let hint = match error {
        ConfigError::Toml(_) => "correct the line; a member that is unknown may be misspelt",
        ConfigError::NoDialect(_) => {
            let names = Config::server_names();
            return Some(format!(
                "the known servers are {names}; any other needs a dialect of plane `wire` (`--dialect`, or `dialect` in the file)"
            ));
        }
        ConfigError::NotAnApi { .. } => {
            "name one of `interlingua dialects` with plane `wire` (`--dialect`, or `dialect` in the file)"
        }
        ConfigError::NoUrl(_) => "set `url` in the file",
        ConfigError::NoRoute => "add a `[[route]]` with `model = \"*\"` and the name of a `backend`",
        ConfigError::Url { .. } => "a user and a password belong in `headers`, as `authorization`",
        ConfigError::Header { .. } => {
            "a name has letters, digits and dashes, a value is one line, and lengths are set for each call"
        }
        ConfigError::NoKey { variable, .. } => {
            return Some(format!("set `{variable}`, or try `--mock`, which needs no key"));
        }
        ConfigError::KeyFile { .. } => "name a file that holds the key alone, or a variable instead",
        ConfigError::KeySource(_) => {
            "write `key = { env = \"NAME\" }`, or `file` or `value` instead of `env`"
        }
        ConfigError::KeyText(_) => {
            "a key is one line of ASCII; the file or the variable may have more lines, or none"
        }
        ConfigError::SameKey(_) => "give each client a key of its own; the `token` is one, too",
        ConfigError::SameName(_) => "give one of them another name; `default` is the one with the `token`",
        ConfigError::Conflict { .. } => "leave one of the two out",
        ConfigError::Store(_) => {
            "name a file in a folder that exists, or an address that begins with `postgres://`"
        }
        ConfigError::Losses { .. } => {
            "write rules as for `convert --policy`: a reason, `=` and `fail`, `warn` or `allow`"
        }
        ConfigError::FailureClass { .. } => {
            "name some of these classes, or leave `on` out for those after which a call may be sent again"
        }
        ConfigError::Budget(_) => "write an amount of dollars, such as `budget = 2.5`",
        ConfigError::ZeroLimit { .. } => "leave the limit out for the usual one, or write a number from 1 on",
        ConfigError::NoBackend { .. } => "name a table `[backend.NAME]` of the file, or add one",
        ConfigError::Script { .. } => "name a file that can be opened and is a script or a cassette",
        ConfigError::Telemetry(_) => "name a receiver of OTLP over HTTP, such as `http://127.0.0.1:4318`",
        ConfigError::NoToken(_) => "set `token` in the configuration, or listen on 127.0.0.1",
        _ => return None,
    };
    Some(hint.to_owned())
}

#[cfg(test)]
mod tests {
    use interlingua::dialects::{Dialect, Role};
    use interlingua::sniff::Guess;
    use interlingua_report::Explain as _;

    use interlingua_sessions::SourceError;

    use super::CommandError;

    #[test]
    fn roles_of_one_dialect_are_a_question_of_their_own() {
        let dialect = Dialect::named("anthropic").expect("registered");
        let guess = |role| Guess { dialect, role, score: 8, documents: 1, surest: 8 };
        let close = vec![guess(Role::Response), guess(Role::Stream)];
        let error = CommandError::from(SourceError::Unclear { name: "x".to_owned(), close });
        assert_eq!(
            error.message(),
            "cannot tell what `x` is: it could be a `response` or `stream` of `anthropic`"
        );
        assert_eq!(error.hint().as_deref(), Some("say which with `--role response` or `--role stream`"));
    }
}
