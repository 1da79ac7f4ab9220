//! All commands and flags. Help, completions, the manual page and the reference are generated from this file; the names
//! of dialects and roles come from the registry.

mod gateway;
mod running;

use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand};

use interlingua::dialects::ours::{record, record_v2};
use interlingua::dialects::{DIALECTS, Dialect, Role};
use interlingua::framing::Framing;
use interlingua::ledger::LossPolicy;
use interlingua_record::cbor::RECORD_TAG;
use interlingua_sessions::SourceHints;

use crate::attribute::Attribute;
use crate::audit::AuditFlags;
use crate::backup::{Backup, Restore};
use crate::continuation::Continue;
use crate::find::Find;
use crate::list::List;
use crate::outputs;
use crate::signed::flags::{Keygen, LogCommand, Prove, Redact, Sign, Verify};
use crate::talk::Talk;
pub(crate) use gateway::{GatewayFlags, Mock, Route, Serve, Top, With};
pub(crate) use running::{OfferAgent, RunAgent};

/// The version, and the commit it was built from where that is known.
const VERSION: &str = env!("INTERLINGUA_VERSION");

/// One language between all coding agents and all model APIs.
#[derive(Debug, Parser)]
#[command(name = "interlingua", version = VERSION, max_term_width = 100, after_help = EXITS)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXITS: &str = "\
Exit codes: 0 done; 1 input could not be read; 2 usage; 3 losses under `--strict`, or a failed check; \
127 an agent is not installed.";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Convert(Convert),
    Check(Check),
    Attribute(Attribute),
    Show(ShowSession),
    List(List),
    Find(Find),
    Continue(Continue),
    Backup(Backup),
    Restore(Restore),
    Stats(Stats),
    Dialects(Dialects),
    Matrix(Matrix),
    Translate(Translate),
    Keygen(Keygen),
    Sign(Sign),
    Verify(Verify),
    Prove(Prove),
    Redact(Redact),
    /// Keep an append-only log of signature files
    #[command(subcommand)]
    Log(LogCommand),
    Serve(Serve),
    Mock(Mock),
    With(With),
    Route(Route),
    Top(Top),
    Run(RunAgent),
    Acp(OfferAgent),
    /// Check a receipt, or compare two
    #[command(subcommand)]
    Receipt(ReceiptCommand),
    /// Print a completion script for a shell
    Completions {
        /// The shell
        #[arg(value_name = "SHELL")]
        shell: clap_complete::Shell,
    },
    /// Print the manual page
    Man {
        /// The page of this command instead of the whole
        #[arg(value_name = "COMMAND")]
        command: Option<String>,
    },
}

impl Command {
    /// The arguments that may be names of sessions.
    pub(crate) fn sessions(&mut self) -> &mut [PathBuf] {
        match self {
            Command::Convert(args) => &mut args.inputs,
            Command::Check(args) => &mut args.files,
            Command::Attribute(args) => &mut args.sessions,
            Command::Show(args) => std::slice::from_mut(&mut args.file),
            Command::Stats(args) => &mut args.inputs,
            Command::Continue(args) => args.session.as_mut_slice(),
            _ => &mut [],
        }
    }

    /// Whether the command handles signals itself: a server, a program that a gateway is around, the view of a gateway, and
    /// an agent.
    pub(crate) const fn handles_signals(&self) -> bool {
        matches!(
            self,
            Command::Serve(_)
                | Command::Mock(_)
                | Command::With(_)
                | Command::Top(_)
                | Command::Run(_)
                | Command::Acp(_)
        )
    }

    /// The verbosity on stderr, from the flags of this command.
    pub(crate) fn talk(&self) -> Talk {
        let (quiet, verbose) = match self {
            Command::Convert(args) => (args.talk.quiet(), args.talk.verbose),
            Command::Check(args) => (args.talk.quiet(), args.talk.verbose),
            Command::Stats(args) => (args.talk.quiet(), args.talk.verbose),
            Command::List(args) => (args.talk.quiet(), args.talk.verbose),
            Command::Attribute(args) => (args.quiet.quiet, false),
            Command::Backup(args) => (args.quiet.quiet, false),
            Command::Restore(args) => (args.quiet.quiet, false),
            Command::Find(args) => (args.talk.quiet(), args.talk.verbose),
            Command::Continue(args) => (args.talk.quiet(), args.talk.verbose),
            Command::Show(args) => (args.quiet.quiet, false),
            Command::Translate(args) => (args.quiet.quiet, false),
            Command::Sign(args) => (args.quiet.quiet, false),
            Command::Redact(args) => (args.quiet.quiet, false),
            Command::Log(LogCommand::Append { quiet, .. }) => (quiet.quiet, false),
            Command::Serve(args) => (args.gateway.quiet.quiet, false),
            Command::Mock(args) => (args.quiet.quiet, false),
            Command::With(args) => (args.gateway.quiet.quiet, false),
            Command::Route(args) => (args.gateway.quiet.quiet, false),
            Command::Top(args) => (args.quiet.quiet, false),
            Command::Run(args) => (args.quiet.quiet, false),
            Command::Acp(args) => (args.quiet.quiet, false),
            Command::Receipt(ReceiptCommand::Diff { quiet, .. }) => (quiet.quiet, false),
            Command::Receipt(ReceiptCommand::Verify { .. })
            | Command::Dialects(_)
            | Command::Keygen(_)
            | Command::Verify(_)
            | Command::Prove(_)
            | Command::Matrix(_)
            | Command::Completions { .. }
            | Command::Man { .. } => (false, false),
        };
        Talk::new(quiet, verbose)
    }
}

/// Convert logs, streams, requests and records from one dialect to another
///
/// Values without a place in the target are kept beside it or reported as lost, never dropped silently. Damaged lines are
/// kept and reported too; the other lines are converted.
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
#[derive(Debug, Args)]
pub(crate) struct Convert {
    /// Files, directories or patterns in quotes (`'logs/**/*.jsonl'`), also compressed by gzip or zstd; stdin when there is
    /// none, or for `-`
    #[arg(value_name = "INPUT")]
    pub(crate) inputs: Vec<PathBuf>,

    /// The dialect to write (`interlingua dialects` lists them)
    #[arg(short, long, value_name = "DIALECT", value_parser = dialect(), hide_possible_values = true)]
    to: &'static Dialect,

    /// The profile of a record: `v3` (open maps), or `v2` (closed maps; the same as `--to record-v2`)
    #[arg(long, value_name = "PROFILE", default_value = "v3", hide_possible_values = true)]
    profile: RecordProfile,

    /// The encoding of a record: `json`, or `cbor` (RFC 8949, deterministic; files end in `.acr`)
    #[arg(long, value_name = "ENCODING", default_value = "json", hide_possible_values = true)]
    pub(crate) encoding: RecordEncoding,

    /// The CBOR tag of a record
    #[arg(long, value_name = "NUMBER", default_value_t = RECORD_TAG)]
    pub(crate) cbor_tag: u64,

    #[command(flatten)]
    pub(crate) source: SourceFlags,

    #[command(flatten)]
    pub(crate) bulk: BulkFlags,

    /// Write to this file, or into this directory, instead of stdout
    #[arg(short, long, value_name = "FILE|DIR")]
    pub(crate) output: Option<PathBuf>,

    /// Wait for more of a growing log, and convert it as it is written; Ctrl-C ends it
    #[arg(long, conflicts_with_all = ["join", "skip_existing"])]
    pub(crate) follow: bool,

    /// Skip files whose output exists already
    #[arg(long)]
    pub(crate) skip_existing: bool,

    /// Make one record of the files of a session: subagents inside the calls that started them, forks after the session
    #[arg(long, requires = "output")]
    pub(crate) join: bool,

    /// Write the whole report to this file as JSON (`-`: stdout, if the output goes elsewhere)
    #[arg(long, value_name = "FILE")]
    pub(crate) report: Option<PathBuf>,

    /// Fail (exit code 3) if anything is lost or damaged
    #[arg(long)]
    pub(crate) strict: bool,

    /// How to treat losses: `allow`, `warn` or `fail` for `all`, a reason, a group or a field (such as
    /// `all=fail,redundant=allow,request/seed=warn`)
    #[arg(long, value_name = "LOSS=RULE,…", value_parser = LossPolicy::parse)]
    pub(crate) policy: Option<LossPolicy>,

    #[command(flatten)]
    pub(crate) backend: BackendFlags,

    /// Request this model instead of the model in the source
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,

    /// Include the agent's own lines, in targets that have a field for them
    #[arg(long)]
    pub(crate) raw: bool,

    /// Write universal events with only the members of the public schema; the report lists the omitted values
    #[arg(long)]
    pub(crate) seed_schema: bool,

    /// Read each written session back, and compare it with its source: exit code 3 if a prompt, answer, call, result or
    /// picture is missing
    #[arg(long, requires = "output", conflicts_with_all = ["follow", "join"])]
    pub(crate) verify: bool,

    #[command(flatten)]
    pub(crate) carry: CarryFlags,

    #[command(flatten)]
    talk: TalkFlags,
}

/// Flags for sessions that go on in another agent.
#[derive(Debug, Args)]
pub(crate) struct CarryFlags {
    /// Give calls of common tools (shell, read, edit, write, search, patch) the names and arguments of the other agent's
    /// tools, where they have an exact counterpart
    #[arg(long)]
    pub(crate) map_tools: bool,

    /// Cut the oldest results of tools until the session has about this many tokens (four bytes each); each cut is marked
    #[arg(long, value_name = "TOKENS", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) budget: Option<u64>,
}

/// An encoding of the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum RecordEncoding {
    Json,
    Cbor,
}

/// A profile of the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum RecordProfile {
    V3,
    V2,
}

impl Convert {
    /// The dialect of the profile.
    pub(crate) fn target(&self) -> &'static Dialect {
        match self.profile {
            RecordProfile::V2 if self.to.name == record::DIALECT.name => &record_v2::DIALECT,
            RecordProfile::V2 | RecordProfile::V3 => self.to,
        }
    }

    /// The tag of the record to write, if it is written in CBOR.
    pub(crate) fn tag(&self) -> Option<u64> {
        (self.encoding == RecordEncoding::Cbor).then_some(self.cbor_tag)
    }

    /// The file name extension for an output with this framing.
    pub(crate) fn extension(&self, framing: Framing) -> &'static str {
        match self.encoding {
            RecordEncoding::Json => outputs::extension(framing),
            RecordEncoding::Cbor => "acr",
        }
    }
}

/// Check a file: its dialect, and the soundness of schema, order, links and readability
#[derive(Debug, Args)]
pub(crate) struct Check {
    /// Files, directories or patterns in quotes (`'logs/**/*.jsonl'`), also compressed by gzip or zstd; `-` for stdin
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) source: SourceFlags,

    #[command(flatten)]
    pub(crate) bulk: BulkFlags,

    #[command(flatten)]
    pub(crate) audit: AuditFlags,

    /// Print the findings as JSON
    #[arg(long)]
    pub(crate) json: bool,

    /// Print the detection score of every dialect that matches, for each file
    #[arg(long, conflicts_with = "json")]
    pub(crate) why: bool,

    #[command(flatten)]
    talk: TalkFlags,
}

/// Show a session as people read it: in the terminal, as Markdown or as one HTML page
///
/// Takes a log of any agent or a record. Tools and reasoning are folded, failures and changes are not; the last line
/// counts the omitted parts.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag")]
pub(crate) struct ShowSession {
    /// The file; `-` for stdin
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,

    #[command(flatten)]
    pub(crate) source: SourceFlags,

    /// Write Markdown (CommonMark), as `-o FILE.md` does
    #[arg(long, conflicts_with = "html")]
    pub(crate) markdown: bool,

    /// Write one self-contained HTML page, as `-o FILE.html` does
    #[arg(long)]
    pub(crate) html: bool,

    /// Unfold all parts, including bookkeeping
    #[arg(long)]
    pub(crate) full: bool,

    /// Show a growing log, or a pipe, as it is written; Ctrl-C ends it
    #[arg(long, conflicts_with_all = ["markdown", "html", "output", "no_pager", "width"])]
    pub(crate) follow: bool,

    /// Write to this file instead of stdout
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Wrap text at this width instead of the terminal's (100 where there is none)
    #[arg(long, value_name = "COLUMNS", value_parser = clap::value_parser!(u16).range(20..))]
    pub(crate) width: Option<u16>,

    /// Begin at this line of the log, as `find` names it, and unfold it (for a document: the number of its element)
    #[arg(long, value_name = "LINE", conflicts_with_all = ["markdown", "html", "follow"], value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) at: Option<u64>,

    /// The signature file of a record: the head says what is signed, and what was removed
    #[arg(long, value_name = "FILE", requires = "key", conflicts_with = "follow")]
    pub(crate) signature: Option<PathBuf>,

    /// The public key of the signer (PEM), for `--signature`
    #[arg(long, value_name = "FILE", requires = "signature")]
    pub(crate) key: Option<PathBuf>,

    /// Do not use a pager (`$PAGER`, or `less -R`)
    #[arg(long)]
    pub(crate) no_pager: bool,

    #[command(flatten)]
    quiet: QuietFlag,
}

/// Count turns, tools, failures, changed files, tokens and costs of sessions
///
/// A cost in the log is used unchanged; other costs are computed from a dated price file. Tokens of a model without a
/// price are counted, and their cost is unknown.
#[derive(Debug, Args)]
pub(crate) struct Stats {
    /// Logs and records: files, directories or patterns in quotes (`'logs/**/*.jsonl'`), also compressed by gzip or zstd;
    /// `-` for stdin; or names of sessions
    #[arg(value_name = "FILE", required_unless_present = "here")]
    pub(crate) inputs: Vec<PathBuf>,

    /// Count the sessions of all agents in this directory and in the directories in it
    #[arg(long)]
    pub(crate) here: bool,

    #[command(flatten)]
    pub(crate) source: SourceFlags,

    #[command(flatten)]
    pub(crate) bulk: BulkFlags,

    /// A file with prices of your own (TOML), instead of the built-in one
    #[arg(long, value_name = "FILE")]
    pub(crate) prices: Option<PathBuf>,

    /// Print everything as JSON
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    talk: TalkFlags,
}

/// List the dialects: their plane, the roles they read and write, and how they are detected
#[derive(Debug, Args)]
pub(crate) struct Dialects {
    /// Print the list as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Show the features that each dialect supports, or the losses between two dialects
///
/// Without dialects: every feature of the model APIs and its support in each API. With one dialect: its features. With two
/// dialects: the features of the first that the second supports less well or not at all, which a conversion can lose; for
/// logs also the features that are carried exactly.
#[derive(Debug, Args)]
pub(crate) struct Matrix {
    /// The dialect to read (`interlingua dialects` lists them)
    #[arg(value_name = "FROM", value_parser = dialect(), hide_possible_values = true)]
    pub(crate) from: Option<&'static Dialect>,

    /// The dialect to write
    #[arg(value_name = "TO", value_parser = dialect(), hide_possible_values = true)]
    pub(crate) to: Option<&'static Dialect>,

    /// Show the requests that backends and their models accept instead
    #[arg(long, conflicts_with_all = ["from", "to"])]
    pub(crate) list_backends: bool,

    /// A file with backends of your own (TOML)
    #[arg(long, value_name = "FILE")]
    pub(crate) backends: Option<PathBuf>,

    /// How to print it
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(crate) format: TableFormat,
}

/// How to print a table.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub(crate) enum TableFormat {
    /// For people
    Text,
    /// For documents
    Markdown,
    /// For programs
    Json,
}

/// Carry out a work order: translate a vendor's request, or with `--response` its answer, and write a receipt
///
/// A work order is a request in an envelope with its backend and the losses that are forbidden, such as
/// `{"schema": "interlingua.work-order/1", "task": "t1", "request": {…}, "backend": {"dialect": "openai-chat", "name": "vllm"},
/// "policy": {"conversation": "fail"}}`; the request is in the vendor's own form. If a forbidden loss would occur, nothing is translated (exit code 3) and the receipt lists the losses.
#[derive(Debug, Args)]
pub(crate) struct Translate {
    /// The work order; `-` for stdin
    #[arg(value_name = "ORDER")]
    pub(crate) order: PathBuf,

    /// The backend's answer, to be translated back
    #[arg(long, value_name = "FILE")]
    pub(crate) response: Option<PathBuf>,

    /// Write the translation to this file instead of stdout
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Write the receipt to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) receipt: Option<PathBuf>,

    /// The previous receipt; the new receipt contains its hash
    #[arg(long, value_name = "FILE")]
    pub(crate) previous: Option<PathBuf>,

    /// A file with backends of your own (TOML)
    #[arg(long, value_name = "FILE")]
    pub(crate) backends: Option<PathBuf>,

    #[command(flatten)]
    quiet: QuietFlag,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ReceiptCommand {
    /// Check the form of a receipt, and the hashes of its files
    Verify {
        /// The receipt
        #[arg(value_name = "RECEIPT")]
        receipt: PathBuf,
        /// The client's request, as in the work order
        #[arg(long, value_name = "FILE")]
        request: Option<PathBuf>,
        /// The backend's request
        #[arg(long, value_name = "FILE")]
        sent: Option<PathBuf>,
        /// The backend's answer
        #[arg(long, value_name = "FILE")]
        response: Option<PathBuf>,
        /// The client's answer
        #[arg(long, value_name = "FILE")]
        returned: Option<PathBuf>,
        /// The previous receipt
        #[arg(long, value_name = "FILE")]
        previous: Option<PathBuf>,
    },
    /// Show the differences between two receipts (exit code 3 if there are any)
    Diff {
        /// A receipt
        #[arg(value_name = "RECEIPT")]
        one: PathBuf,
        /// Another receipt
        #[arg(value_name = "OTHER")]
        two: PathBuf,
        #[command(flatten)]
        quiet: QuietFlag,
    },
}

/// The backend that a request is for.
#[derive(Debug, Args)]
pub(crate) struct BackendFlags {
    /// The server that a request is for, instead of the vendor of its dialect (`interlingua matrix --list-backends`)
    #[arg(long, value_name = "NAME")]
    pub(crate) backend: Option<String>,

    /// A file with backends of your own (TOML)
    #[arg(long, value_name = "FILE")]
    pub(crate) backends: Option<PathBuf>,
}

/// The verbosity flag of commands that print messages besides their output.
#[derive(Clone, Debug, Args)]
pub(crate) struct QuietFlag {
    /// Print only errors
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

/// The verbosity flags of commands that can print details.
#[derive(Debug, Args)]
pub(crate) struct TalkFlags {
    #[command(flatten)]
    quiet: QuietFlag,

    /// Print all details: values kept verbatim, every row of a table, every file
    #[arg(short, long, conflicts_with = "quiet")]
    verbose: bool,
}

impl TalkFlags {
    const fn quiet(&self) -> bool {
        self.quiet.quiet
    }
}

/// How inputs are to be read.
#[derive(Debug, Args)]
pub(crate) struct SourceFlags {
    /// The dialect to read, instead of detecting it
    #[arg(short, long, value_name = "DIALECT", value_parser = dialect(), hide_possible_values = true)]
    pub(crate) from: Option<&'static Dialect>,

    /// The role of the input, for dialects with several roles
    #[arg(long, value_name = "ROLE", value_parser = role())]
    pub(crate) role: Option<Role>,

    /// The largest line, event or document to read; larger ones pass through unread (such as `64MiB`)
    #[arg(long, value_name = "SIZE", value_parser = size, default_value = "256MiB")]
    pub(crate) max_frame: usize,

    /// The largest unpacked size of a compressed input (such as `20GiB`)
    #[arg(long, value_name = "SIZE", value_parser = any_size, default_value = "1GiB")]
    pub(crate) max_unpacked: u64,
}

impl SourceFlags {
    /// The dialect and the role that the flags name.
    pub(crate) const fn hints(&self) -> SourceHints {
        SourceHints { from: self.from, role: self.role }
    }
}

/// How many inputs are worked on at once.
#[derive(Debug, Args)]
pub(crate) struct BulkFlags {
    /// The number of files to read at once, each on its own processor (default: all processors)
    #[arg(short, long, value_name = "N", value_parser = jobs)]
    pub(crate) jobs: Option<usize>,
}

fn dialect() -> impl TypedValueParser<Value = &'static Dialect> {
    let names = DIALECTS.iter().map(|dialect| PossibleValue::new(dialect.name).help(dialect.about));
    // `PossibleValuesParser` rejects every other name, so the fallback to the registry's first entry is never used.
    PossibleValuesParser::new(names).map(|name| Dialect::named(&name).unwrap_or(DIALECTS[0]))
}

fn role() -> impl TypedValueParser<Value = Role> {
    PossibleValuesParser::new(Role::ALL.map(Role::word)).map(|word| {
        // `PossibleValuesParser` rejects every other word, so the fallback is never used.
        Role::ALL.into_iter().find(|role| role.word() == word).unwrap_or(Role::Log)
    })
}

fn jobs(text: &str) -> Result<usize, String> {
    let number = text.parse().ok().filter(|number| (1..=MOST_JOBS).contains(number));
    number.ok_or_else(|| format!("expected 1 to {MOST_JOBS}"))
}

/// More threads than this are a mistake on any machine.
const MOST_JOBS: usize = 1024;

/// Parses a size that fits a frame.
fn size(text: &str) -> Result<usize, String> {
    // Offsets inside a frame are 32 bits wide.
    let bytes = any_size(text)?;
    let bytes = usize::try_from(bytes).ok().filter(|bytes| *bytes < 1 << 32);
    bytes.ok_or_else(|| "expected 1 byte to 4 GiB".to_owned())
}

/// Parses `4096`, `64k`, `64KiB`, `1G`: always in powers of 1024.
fn any_size(text: &str) -> Result<u64, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let shift = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 0,
        "k" | "kb" | "kib" => 10,
        "m" | "mb" | "mib" => 20,
        "g" | "gb" | "gib" => 30,
        "t" | "tb" | "tib" => 40,
        _ => return Err(format!("`{unit}` is no unit; use `KiB`, `MiB` or `GiB`")),
    };
    let number: u64 = number.parse().map_err(|_| "expected a number such as `64MiB`".to_owned())?;
    let bytes = number.checked_shl(shift).filter(|bytes| bytes >> shift == number && *bytes > 0);
    bytes.ok_or_else(|| "expected a size such as `64MiB`".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_are_consistent() {
        use clap::CommandFactory;
        Cli::command().debug_assert();
    }

    #[test]
    fn sizes_are_powers_of_1024() {
        assert_eq!(size("4096"), Ok(4096));
        assert_eq!(size("64k"), Ok(64 << 10));
        assert_eq!(size("2 GiB"), Ok(2 << 30));
        assert!(size("8G").is_err());
        assert!(size("0").is_err());
        assert!(size("12parsec").is_err());
        assert!(size("99999999999999999999G").is_err());
    }
}
