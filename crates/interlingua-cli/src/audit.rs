//! `check --audit`: applies the rules of an audit to each file and prints the findings.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use clap::Args;
use interlingua_record::audit::{
    Audit, AuditPolicy, AuditReader, AuditSeverity, audits_to_json, audits_to_sarif,
};
use interlingua_report::{Explain as _, render, safe};
use interlingua_sessions::{self as sessions, FoundFile, FoundFiles, InputPlace, SourceError};

use crate::convert::options;
use crate::error::{CommandError, Exit, of_sources};
use crate::flags::Check;
use crate::jobs;
use crate::talk::{self, Talk};

/// The flags of an audit.
#[derive(Debug, Args)]
pub(crate) struct AuditFlags {
    /// Audit the session: order of times, call and result pairs, permissions, tools, gaps and made-up values
    #[arg(long, conflicts_with = "why")]
    pub(crate) audit: bool,

    /// The policy of the audit, a TOML file: allowed tools, severities and limits
    #[arg(long, value_name = "FILE", requires = "audit")]
    policy: Option<PathBuf>,

    /// Exit with 3 if a finding of the audit has at least this severity
    #[arg(long, value_name = "SEVERITY", requires = "audit", default_value = "error")]
    fail_on: FailOn,

    /// Print the findings of the audit as SARIF 2.1.0
    #[arg(long, requires = "audit", conflicts_with = "json")]
    sarif: bool,
}

/// The least severity that fails an audit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum FailOn {
    Info,
    Warning,
    Error,
    Never,
}

impl FailOn {
    fn is_reached(self, audit: &Audit) -> bool {
        match self {
            FailOn::Info => audit.reaches(AuditSeverity::Info),
            FailOn::Warning => audit.reaches(AuditSeverity::Warning),
            FailOn::Error => audit.reaches(AuditSeverity::Error),
            FailOn::Never => false,
        }
    }
}

pub(crate) fn run(args: &Check, talk: &Talk) -> Result<Exit, CommandError> {
    let flags = &args.audit;
    let policy = load_policy(flags)?;
    sessions::check_patterns(&args.files)?;
    let FoundFiles { files: found, failed, .. } = sessions::find(&args.files, None);
    let (mut audits, mut skipped, mut failed) = (Vec::new(), Vec::new(), of_sources(failed));
    let (mut reached, mut read, mut written) = (false, 0usize, Ok(()));
    let is_listed = args.json || flags.sarif;
    let work = |file: &FoundFile| audit(&file.input, args, &policy);
    jobs::each(&found, &args.bulk, work, |file, result| match result {
        Ok(audit) => {
            read += 1;
            reached |= flags.fail_on.is_reached(&audit);
            if is_listed {
                audits.push(audit);
            } else if written.is_ok() {
                written = print(&audit, file.named, talk);
            }
        }
        Err(error) if error.is_skip() && !file.named => skipped.push((file.input.name(), error)),
        Err(error) => failed.push((file.input.name(), error)),
    });
    written?;
    if is_listed {
        let reasons: Vec<(String, String)> =
            failed.iter().map(|(name, error)| (name.clone(), error.message())).collect();
        let text =
            if flags.sarif { audits_to_sarif(&audits, &reasons) } else { audits_to_json(&audits, &reasons) };
        talk::data(text.as_bytes())?;
    }
    talk.say(&render::skipped(&skipped, talk.verbose));
    talk.errors(&failed);
    match &failed[..] {
        [(_, error), ..] => Ok(error.exit()),
        [] if read == 0 => Err(CommandError::NothingRecognised(skipped.len())),
        [] if reached => Ok(Exit::Failed),
        [] => Ok(Exit::Done),
    }
}

fn load_policy(flags: &AuditFlags) -> Result<AuditPolicy, CommandError> {
    let Some(path) = &flags.policy else { return Ok(AuditPolicy::default()) };
    let name = safe::path_name(path);
    let text = fs::read_to_string(path).map_err(|error| CommandError::Read(name.clone(), error))?;
    AuditPolicy::parse(&text).map_err(|error| CommandError::AuditPolicy(name, error.to_string()))
}

fn audit(input: &InputPlace, args: &Check, policy: &AuditPolicy) -> Result<Audit, CommandError> {
    let opened = input.open(args.source.max_unpacked)?;
    let identity = opened.identify(&input.name(), &args.source.hints())?;
    let (dialect, role) = (identity.dialect, identity.spec.role);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_millis() as u64);
    let options = options(&args.source).with_now(now);
    let reader = AuditReader::new(&input.name(), (dialect, role), policy, &options);
    let mut reader = reader.map_err(|_| SourceError::CannotRead(dialect, role))?;
    opened.each(
        |error| CommandError::Read(input.name(), error),
        |bytes| {
            reader.push(bytes);
            Ok(())
        },
    )?;
    let audit = reader.finish();
    if audit.read == 0 {
        let looks_like = identity.looks_like;
        return Err(CommandError::NothingRead { name: input.name(), dialect, looks_like });
    }
    Ok(audit)
}

/// Prints the findings of one file. In a directory run, files without findings above `info` are not listed unless
/// `--verbose` is given.
fn print(audit: &Audit, named: bool, talk: &Talk) -> Result<(), CommandError> {
    let is_clean = !audit.reaches(AuditSeverity::Warning);
    if is_clean && (talk.quiet || !(named || talk.verbose)) {
        return Ok(());
    }
    let [info, warnings, errors] = AuditSeverity::ALL.map(|severity| audit.count(severity));
    let (dialect, role) = audit.source;
    let name = safe::exact_line(&audit.name);
    let mut text = format!("{name}: {} ({})\n", dialect.name, role.word());
    let count = |count: u64, word: &str| format!("{count} {word}{}", if count == 1 { "" } else { "s" });
    let _ = writeln!(text, "audit: {}, {}, {info} info", count(errors, "error"), count(warnings, "warning"));
    for finding in &audit.findings {
        let place = finding.place.name(audit.framing);
        let (severity, id) = (finding.severity.word(), finding.rule.id());
        let message = safe::one_line(&finding.message);
        let _ = writeln!(text, "  {severity}: {}: {message} ({id})", safe::one_line(&place));
    }
    let unlisted: u64 = audit.unlisted.iter().map(|(_, count)| count).sum();
    if unlisted > 0 {
        let _ = writeln!(text, "  not listed: {}", count(unlisted, "further finding"));
    }
    talk::text(&text)
}
