//! `attribute`: the lines of files that sessions wrote, compared with a working tree or a revision.

mod repository;

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use clap::Args;
use interlingua::dialects::Role;
use interlingua_record::attribution::{
    self, Attributed, EditReader, FileContents, FileLines, NoContents, SessionEdits,
};
use interlingua_report::safe;
use interlingua_sessions::{self as sessions, FoundFiles, InputPlace, SourceError};

use crate::convert::options;
use crate::error::{CommandError, Exit, of_sources};
use crate::flags::{QuietFlag, SourceFlags};
use crate::outputs;
use crate::talk::{self, Talk};
use repository::Repository;

/// Attribute lines of files to the sessions that wrote them
///
/// Only successful edit, write and patch calls count, and only lines that the file still has. Every other line stays
/// unknown. With `--repo`, lines are searched in the working tree, or with `--revision` in a commit; `git` is run only to
/// read. Without `--repo`, the line numbers are those after the last session.
#[derive(Debug, Args)]
pub(crate) struct Attribute {
    /// The sessions: logs of any agent or records
    #[arg(value_name = "SESSION", required = true)]
    pub(crate) sessions: Vec<PathBuf>,

    #[command(flatten)]
    source: SourceFlags,

    /// The repository whose files are attributed
    #[arg(long, value_name = "DIR")]
    repo: Option<PathBuf>,

    /// The commit whose files are attributed, instead of the working tree
    #[arg(long, value_name = "REV", requires = "repo")]
    revision: Option<String>,

    /// The commit before the sessions, instead of the commit that the log names
    #[arg(long, value_name = "REV", requires = "repo")]
    base: Option<String>,

    /// Print the attribution as JSON
    #[arg(long)]
    json: bool,

    /// Print the attribution in another format
    #[arg(long, value_name = "FORMAT", conflicts_with = "json")]
    format: Option<AttributionFormat>,

    /// Add the attribution to this JSON record; the result goes to `--output`
    #[arg(long, value_name = "RECORD", requires = "output", conflicts_with_all = ["json", "format"])]
    into_record: Option<PathBuf>,

    /// The file to write, instead of stdout
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) quiet: QuietFlag,
}

/// The formats of other programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum AttributionFormat {
    /// Agent Trace 0.1
    AgentTrace,
}

pub(crate) fn run(args: &Attribute, talk: &Talk) -> Result<Exit, CommandError> {
    let mut read: Vec<&std::path::Path> = args.sessions.iter().map(PathBuf::as_path).collect();
    read.extend(args.into_record.as_deref());
    if let Some(output) = &args.output {
        outputs::check_places(&[output], &read)?;
    }
    sessions::check_patterns(&args.sessions)?;
    let FoundFiles { files: found, failed, .. } = sessions::find(&args.sessions, None);
    let (mut edits, mut failed) = (Vec::new(), of_sources(failed));
    for file in &found {
        match edits_of(&file.input, args) {
            Ok(sessions) => edits.extend(sessions),
            Err(error) if error.is_skip() && !file.named => {}
            Err(error) => failed.push((file.input.name(), error)),
        }
    }
    talk.errors(&failed);
    if let [(_, error), ..] = &failed[..] {
        return Ok(error.exit());
    }
    if edits.is_empty() {
        return Err(CommandError::NothingRecognised(found.len()));
    }
    // Later sessions change the lines of earlier sessions.
    edits.sort_by_key(|session| session.start);
    let mut repository = match &args.repo {
        Some(dir) => Some(Repository::open(dir, args.revision.as_deref(), args.base.as_deref())?),
        None => None,
    };
    let root = repository.as_ref().map(|repository| repository.root().to_owned());
    let revision = repository.as_ref().and_then(|repository| repository.revision().map(str::to_owned));
    let contents: &mut dyn FileContents = match &mut repository {
        Some(repository) => repository,
        None => &mut NoContents,
    };
    let attributed = attribution::attribute(&edits, root.as_deref(), contents);
    talk.say(&remarks(&edits, &attributed, args.repo.is_some()));
    let text = match (&args.into_record, args.format) {
        (Some(record), _) => {
            let name = safe::path_name(record);
            let text = fs::read_to_string(record).map_err(|error| CommandError::Read(name.clone(), error))?;
            attribution::into_record(&text, &edits, &attributed)
                .map_err(|error| CommandError::Attribution(name, error.to_string()))?
        }
        (None, Some(AttributionFormat::AgentTrace)) => {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_millis() as u64);
            attribution::agent_trace(&edits, &attributed, revision.as_deref(), now)
        }
        (None, None) if args.json => attribution::to_json(&edits, &attributed, revision.as_deref()),
        (None, None) => {
            let table = table(&attributed, args.repo.is_some());
            if args.output.is_none() {
                talk::text(&table)?;
                return Ok(Exit::Done);
            }
            table
        }
    };
    match &args.output {
        Some(output) => outputs::write_file(output, args.into_record.as_deref(), text.as_bytes())?,
        None => _ = talk::data(text.as_bytes())?,
    }
    Ok(Exit::Done)
}

fn edits_of(input: &InputPlace, args: &Attribute) -> Result<Vec<SessionEdits>, CommandError> {
    let opened = input.open(args.source.max_unpacked)?;
    let identity = opened.identify(&input.name(), &args.source.hints())?;
    let (dialect, role) = (identity.dialect, identity.spec.role);
    if !matches!(role, Role::Log | Role::Live) {
        return Err(CommandError::NoSession(input.name(), dialect, role));
    }
    let reader = EditReader::new(&input.name(), (dialect, role), &options(&args.source));
    let mut reader = reader.map_err(|_| SourceError::CannotRead(dialect, role))?;
    opened.each(
        |error| CommandError::Read(input.name(), error),
        |bytes| {
            reader.push(bytes);
            Ok(())
        },
    )?;
    let sessions = reader.finish();
    if sessions.iter().all(|session| session.read == 0) {
        let looks_like = identity.looks_like;
        return Err(CommandError::NothingRead { name: input.name(), dialect, looks_like });
    }
    Ok(sessions)
}

/// The calls and lines that the attribution leaves out.
fn remarks(sessions: &[SessionEdits], attributed: &Attributed, has_repository: bool) -> String {
    let failed: u64 = sessions.iter().map(|session| session.failed).sum();
    let not_followed: u64 = sessions.iter().map(|session| session.not_followed).sum();
    let missing: u64 = attributed.files.iter().map(|file| file.missing).sum();
    let not_found = if has_repository {
        "written lines are not in the files, or not at one certain place"
    } else {
        "written lines have no line number without `--repo`"
    };
    let mut text = String::new();
    for (count, what) in [
        (failed, "editing calls failed or have no result, and do not count"),
        (not_followed, "editing calls have a form that cannot be followed"),
        (attributed.outside, "edits are of files outside the repository"),
        (missing, not_found),
    ] {
        if count > 0 {
            let _ = writeln!(text, "{count} {what}");
        }
    }
    text
}

/// The files and their ranges, for people.
fn table(attributed: &Attributed, has_repository: bool) -> String {
    let mut text = String::new();
    for FileLines { path, lines, ranges, .. } in &attributed.files {
        let written: u64 = ranges.iter().map(|range| range.end + 1 - range.start).sum();
        let all = match lines {
            Some(lines) => format!("{written} of {lines} lines"),
            None if has_repository => "no such file".to_owned(),
            None => "edited in parts; `--repo` finds the lines".to_owned(),
        };
        let _ = writeln!(text, "{}: {all}", safe::exact_line(path));
        for range in ranges {
            let model = range.contributor.model.as_deref().unwrap_or("model unknown");
            let session = range.contributor.session + 1;
            let _ = writeln!(
                text,
                "  {}-{} {} (session {session})",
                range.start,
                range.end,
                safe::one_line(model)
            );
        }
    }
    if text.is_empty() {
        text.push_str("no lines of these sessions\n");
    }
    text
}
