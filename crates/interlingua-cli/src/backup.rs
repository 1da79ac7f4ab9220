//! `backup` and `restore`: copies of the sessions of all agents.

use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Duration;

use clap::Args;
use interlingua::json::Raw;
use interlingua::model::time;
use interlingua_library::{BackupReport, Environment, Library, SavedState, SessionBackup};
use interlingua_report::render::{self, number, plural};
use interlingua_report::safe;

use crate::convert::now;
use crate::error::{CommandError, Exit};
use crate::flags::QuietFlag;
use crate::list::{self, Since};
use crate::talk::{self, Talk};

/// Save the sessions of all agents before the agents delete them
///
/// Only new and changed sessions are saved, each state once. Claude Code deletes sessions after thirty days.
#[derive(Debug, Args)]
pub(crate) struct Backup {
    /// The folder of the backup (default: `~/.local/share/interlingua/backup`)
    #[arg(value_name = "DIR")]
    folder: Option<PathBuf>,

    /// Go on, and save what changes every minute; Ctrl-C ends it
    #[arg(long)]
    watch: bool,

    /// Read all saved sessions, and compare them with their digests; damaged ones are saved again if their files are still there
    #[arg(long, conflicts_with = "watch")]
    verify: bool,

    #[command(flatten)]
    pub(crate) quiet: QuietFlag,
}

/// Put a session of a backup back
#[derive(Debug, Args)]
pub(crate) struct Restore {
    /// A part of the session's path, such as its id: all files of that session are put back
    #[arg(value_name = "SESSION")]
    session: String,

    /// The folder of the backup (default: `~/.local/share/interlingua/backup`)
    #[arg(value_name = "DIR")]
    folder: Option<PathBuf>,

    /// Write to this file instead of the path that the session had
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// List the saved states of the session, and restore nothing
    #[arg(long, conflicts_with_all = ["output", "before"])]
    list: bool,

    /// Restore the newest state that was saved at this time or before: `24h`, `7d` ago, or a date such as `2026-11-01`
    #[arg(long, value_name = "TIME", value_parser = list::since)]
    before: Option<Since>,

    #[command(flatten)]
    pub(crate) quiet: QuietFlag,
}

/// The time between two looks at the files.
const PAUSE: Duration = Duration::from_secs(60);

pub(crate) fn save(args: &Backup, talk: &Talk) -> Result<Exit, CommandError> {
    let environment = Environment::of_process();
    let folder = backup_folder(args.folder.as_deref(), &environment)?;
    // Without a catalogue, only the projects of this directory are known.
    let known = Library::open(environment.clone()).and_then(|mut library| library.with_known_projects());
    let environment = known.unwrap_or(environment);
    let mut backup = SessionBackup::open(&folder).map_err(CommandError::Backup)?;
    if args.verify {
        return verify(&backup, talk);
    }
    // Nothing is ever sent: the channel is a clock. A signal ends the command.
    let (_clock, ticks) = mpsc::channel::<()>();
    let mut told_failures = Vec::new();
    loop {
        let saved = backup.save(&environment, now().unwrap_or(0)).map_err(CommandError::Backup)?;
        if saved.saved > 0 || !args.watch {
            talk.say(&told(&saved, &folder));
        }
        // A failure is told once, not every minute.
        for (path, reason) in saved.failed.iter().filter(|failure| !told_failures.contains(*failure)) {
            talk.say(&format!("not saved: {}: {}\n", safe::path_name(path), safe::one_line(reason)));
        }
        if !args.watch {
            return Ok(if saved.failed.is_empty() { Exit::Done } else { Exit::Unreadable });
        }
        told_failures = saved.failed;
        let _ = ticks.recv_timeout(PAUSE);
    }
}

fn told(report: &BackupReport, folder: &Path) -> String {
    let BackupReport { saved, same, bytes, .. } = report;
    format!(
        "{} saved to {} ({} MB), {} unchanged\n",
        plural(*saved, "file"),
        safe::path_name(folder),
        bytes.div_ceil(1_000_000),
        plural(*same, "file")
    )
}

fn verify(backup: &SessionBackup, talk: &Talk) -> Result<Exit, CommandError> {
    let damaged: Vec<SavedState> = backup.verify().into_iter().cloned().collect();
    let all = damaged.len();
    let damaged = backup.mend(damaged).map_err(CommandError::Backup)?;
    if damaged.len() < all {
        let states = plural((all - damaged.len()) as u64, "damaged state");
        talk.say(&format!("{states} saved again, because the files are as they were\n"));
    }
    for SavedState { path, .. } in &damaged {
        Talk::always(&format!("damaged: {}\n", safe::path_name(path)));
    }
    if backup.damaged_lines() > 0 {
        let lines = plural(backup.damaged_lines() as u64, "line");
        Talk::always(&format!("damaged: {lines} of the index\n"));
    }
    talk.say(&format!("{} read\n", plural(backup.states().len() as u64, "saved state")));
    let is_sound = damaged.is_empty() && backup.damaged_lines() == 0;
    Ok(if is_sound { Exit::Done } else { Exit::Failed })
}

/// A table of saved states, the oldest first.
fn table(states: &[&SavedState]) -> String {
    let row = |state: &&SavedState| {
        let time = time::utc(&Raw::owned(state.time.to_string())).unwrap_or_default();
        [time, number(state.bytes), safe::path_name(&state.path)]
    };
    render::table(&["saved", "bytes", "file"], &states.iter().map(row).collect::<Vec<_>>())
}

pub(crate) fn restore(args: &Restore, talk: &Talk) -> Result<Exit, CommandError> {
    let folder = backup_folder(args.folder.as_deref(), &Environment::of_process())?;
    let backup = SessionBackup::open(&folder).map_err(CommandError::Backup)?;
    if args.list {
        let states = backup.states_of(&args.session).map_err(CommandError::Backup)?;
        talk::text(&table(&states))?;
        return Ok(Exit::Done);
    }
    let until = args.before.map_or(u64::MAX, |before| before.time(now().unwrap_or(0)));
    let states = backup.find(&args.session, until).map_err(CommandError::Backup)?;
    if let (Some(output), [state]) = (&args.output, &states[..]) {
        return put_back(&backup, state, output, talk);
    }
    if args.output.is_some() {
        let files = plural(states.len() as u64, "file");
        let hint = "give more of the path, or leave out `-o` to put all files back".to_owned();
        return Err(CommandError::Usage(
            format!("`-o` is one file, and the session has {files}"),
            Some(hint),
        ));
    }
    // A part of the session may still be there; a session that is there as a whole is not put back.
    let missing: Vec<&&SavedState> = states.iter().filter(|state| !state.path.exists()).collect();
    for state in if missing.is_empty() { states.iter().collect() } else { missing } {
        put_back(&backup, state, &state.path, talk)?;
    }
    Ok(Exit::Done)
}

fn put_back(
    backup: &SessionBackup,
    state: &SavedState,
    place: &Path,
    talk: &Talk,
) -> Result<Exit, CommandError> {
    backup.restore(state, place).map_err(CommandError::Backup)?;
    talk.say(&format!("{} is back, {} bytes as they were saved\n", safe::path_name(place), state.bytes));
    Ok(Exit::Done)
}

fn backup_folder(named: Option<&Path>, environment: &Environment) -> Result<PathBuf, CommandError> {
    let usual = || {
        let data = environment.path("XDG_DATA_HOME");
        let data = data.or_else(|| environment.home().map(|home| home.join(".local/share")))?;
        Some(data.join("interlingua").join("backup"))
    };
    let no_home = || CommandError::Usage("there is no home folder; name a folder".to_owned(), None);
    named.map(Path::to_owned).or_else(usual).ok_or_else(no_home)
}
