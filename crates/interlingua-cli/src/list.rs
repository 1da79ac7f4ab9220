//! `list`: the sessions of all agents on this machine; and the names of sessions in other commands.

use std::collections::HashMap;
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use clap::Args;
use interlingua::json::Str;
use interlingua::model::time;
use interlingua_library::{
    CatalogueError, Environment, FoundSession, Library, ListedSession, NUMBER, Refreshed, SearchQuery,
    SessionName, id_word,
};
use interlingua_models::prices::exact_dollars;
use interlingua_report::json::document;
use interlingua_report::render::{number, plural};
use interlingua_report::safe;

use crate::error::{CommandError, Exit};
use crate::flags::TalkFlags;
use crate::talk::{self, Talk};

/// List the sessions of all agents on this machine, the newest first
///
/// The first word of a line names the session in every other command: `show 3f2a`, `convert 3f2a --to record`. `latest` and
/// `latest:AGENT` name the newest ones.
#[derive(Debug, Args)]
pub(crate) struct List {
    /// Only sessions of this agent (`claude`, `codex`, `kimi-code` …: the beginning of a dialect's name)
    #[arg(long, value_name = "AGENT")]
    agent: Option<String>,

    /// Only sessions of this directory and of the directories in it
    #[arg(long, conflicts_with = "project")]
    here: bool,

    /// Only sessions whose directory contains this text, in small or capital letters
    #[arg(long, value_name = "TEXT")]
    project: Option<String>,

    /// Only sessions with an event after this time: `30m`, `24h`, `7d`, `2w` ago, or a date such as `2026-11-01`
    #[arg(long, value_name = "TIME", value_parser = since)]
    since: Option<Since>,

    /// How many sessions are listed; 0 for all
    #[arg(short = 'n', long, value_name = "NUMBER", default_value_t = MOST_NEWEST)]
    number: usize,

    /// List sessions of subagents, too
    #[arg(long)]
    subagents: bool,

    /// Print everything as JSON
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    pub(crate) talk: TalkFlags,
}

/// The time of `--since`, and of `--before` of `restore`.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Since {
    /// So long ago.
    Ago(Duration),
    /// Milliseconds since 1970.
    Time(u64),
}

impl Since {
    /// The time in milliseconds since 1970.
    pub(crate) fn time(self, now: u64) -> u64 {
        match self {
            Since::Time(time) => time,
            Since::Ago(ago) => now.saturating_sub(u64::try_from(ago.as_millis()).unwrap_or(u64::MAX)),
        }
    }
}

pub(crate) fn run(args: &List, talk: &Talk) -> Result<Exit, CommandError> {
    let (library, failed) = refreshed(talk)?;
    let all = library.sessions().map_err(CommandError::Library)?;
    let here = args.here.then(std::env::current_dir).transpose();
    let here = here.map_err(|error| CommandError::Read(".".to_owned(), error))?;
    let after = args.since.map(|since| since.time(now()));
    let project = args.project.as_ref().map(|text| text.to_lowercase());
    let is_asked = |session: &&ListedSession| {
        let cwd = session.overview.cwd.as_deref();
        args.agent.as_ref().is_none_or(|agent| session.is_of_agent(agent))
            && (args.subagents || !session.overview.is_of_subagent)
            && here.as_ref().is_none_or(|here| session.is_in(here))
            && project
                .as_ref()
                .is_none_or(|text| cwd.is_some_and(|cwd| cwd.to_lowercase().contains(text.as_str())))
            && after.is_none_or(|after| session.last().is_some_and(|last| last >= after))
    };
    let asked: Vec<&ListedSession> = all.iter().filter(is_asked).collect();
    let most = if args.number == 0 { usize::MAX } else { args.number };
    let shown = &asked[..asked.len().min(most)];
    if args.json {
        talk::data(to_json(shown).as_bytes())?;
    } else {
        let width = width_of(&console::Term::stdout());
        talk::text(&to_table(shown, &ShortIds::of(&all), now(), width))?;
    }
    let hidden = asked.len() - shown.len();
    if hidden > 0 {
        talk.say(&format!("{} not listed; `-n 0` lists all\n", plural(hidden as u64, "older session")));
    }
    if asked.is_empty() {
        let has_home = Environment::of_process().home().is_some();
        talk.say(if !all.is_empty() {
            "no session fits\n"
        } else if has_home {
            "no agent has sessions on this machine\n"
        } else {
            "no agent's sessions are found, because there is no home folder (`HOME`)\n"
        });
    }
    for (path, reason) in &failed {
        if talk.verbose {
            talk.say(&format!("{}: {}\n", safe::exact_line(path), safe::one_line(reason)));
        }
    }
    if !failed.is_empty() && !talk.verbose {
        talk.say(&format!("{} could not be read; `-v` lists them\n", plural(failed.len() as u64, "file")));
    }
    Ok(Exit::Done)
}

/// The paths of the sessions of this directory and of the directories in it.
pub(crate) fn here(talk: &Talk) -> Result<Vec<PathBuf>, CommandError> {
    let here = std::env::current_dir().map_err(|error| CommandError::Read(".".to_owned(), error))?;
    let (library, _) = refreshed(talk)?;
    let all = library.sessions().map_err(CommandError::Library)?;
    let is_here = |session: &&ListedSession| session.is_in(&here);
    let found: Vec<PathBuf> = all.iter().filter(is_here).map(ListedSession::input).collect();
    if found.is_empty() {
        let hint = Some("`interlingua list` lists the sessions of all directories".to_owned());
        return Err(CommandError::Usage("no agent has a session in this directory".to_owned(), hint));
    }
    Ok(found)
}

/// The number of sessions in the catalogue that a session started, as far as the catalogue has read them.
pub(crate) fn children(id: &str) -> Result<usize, CatalogueError> {
    let sessions = Library::open(Environment::of_process())?.sessions()?;
    Ok(sessions.iter().filter(|session| session.overview.parent.as_deref() == Some(id)).count())
}

/// Sessions to choose from, the newest first.
pub(crate) struct Choice {
    sessions: Vec<ListedSession>,
    ids: ShortIds,
}

impl Choice {
    /// All sessions but those of an agent.
    pub(crate) fn without(agent: &str, talk: &Talk) -> Result<Self, CommandError> {
        let (library, _) = refreshed(talk)?;
        let mut sessions = library.sessions().map_err(CommandError::Library)?;
        let ids = ShortIds::of(&sessions);
        sessions.retain(|session| !session.overview.is_of_subagent && session.agent != agent);
        Ok(Self { sessions, ids })
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.sessions.is_empty()
    }

    /// The newest sessions whose agent, directory, id, title or first words contain each word of a text.
    pub(crate) fn fitting(&self, text: &str) -> Vec<&ListedSession> {
        let words: Vec<String> = text.split_whitespace().map(str::to_lowercase).collect();
        let fits = |session: &&ListedSession| {
            let overview = &session.overview;
            let cwd = overview.cwd.as_deref().unwrap_or_default();
            let title = overview.title.as_deref().unwrap_or_default();
            let all =
                [&session.agent, cwd, &session.id(), title, &overview.first_words].join("\n").to_lowercase();
            words.iter().all(|word| all.contains(word.as_str()))
        };
        self.sessions.iter().filter(fits).take(MOST_NEWEST).collect()
    }

    /// A table of sessions with a number for each.
    pub(crate) fn table(&self, sessions: &[&ListedSession]) -> String {
        let number = |(at, line): (usize, &str)| match at {
            0 => format!("    {line}\n"),
            at => format!("{at:>2}  {line}\n"),
        };
        let width = width_of(&console::Term::stderr()).map(|width| width.saturating_sub(NUMBERS));
        to_table(sessions, &self.ids, now(), width).lines().enumerate().map(number).collect()
    }
}

/// The cells of the numbers before a list to choose from.
const NUMBERS: usize = 4;

/// How many sessions a list to choose from has.
const MOST_NEWEST: usize = 20;

/// Replaces names of sessions by the paths of the sessions.
pub(crate) fn resolve(inputs: &mut [PathBuf], talk: &Talk) -> Result<(), CommandError> {
    let mut sessions: Option<Vec<ListedSession>> = None;
    for input in inputs {
        let Some(name) = SessionName::of(input) else { continue };
        if sessions.is_none() {
            let (library, _) = refreshed(talk)?;
            sessions = Some(library.sessions().map_err(CommandError::Library)?);
        }
        let known = sessions.as_deref().unwrap_or_default();
        *input = name.find(known).map_err(CommandError::Name)?.input();
    }
    Ok(())
}

/// Searches the sessions. `each` gets every session with hits and returns whether the search goes on.
pub(crate) fn search(
    query: &SearchQuery,
    talk: &Talk,
    each: impl FnMut(FoundSession) -> bool,
) -> Result<ShortIds, CommandError> {
    let (mut library, failed) = refreshed_by(talk, |library, progress| library.refresh_words(progress))?;
    if !failed.is_empty() {
        let files = plural(failed.len() as u64, "file");
        talk.say(&format!("{files} not searched, because of errors; `interlingua list -v` lists them\n"));
    }
    library.search(query, each).map_err(CommandError::Library)?;
    Ok(ShortIds::of(&library.sessions().map_err(CommandError::Library)?))
}

/// The library after a refresh, and the files that could not be read.
fn refreshed(talk: &Talk) -> Result<(Library, Vec<(String, String)>), CommandError> {
    refreshed_by(talk, |library, progress| library.refresh(progress))
}

/// The function of a library that reads new and changed files, and reports its progress.
type Refresh = fn(&mut Library, &mut dyn FnMut(usize, usize)) -> Result<Refreshed, CatalogueError>;

fn refreshed_by(talk: &Talk, refresh: Refresh) -> Result<(Library, Vec<(String, String)>), CommandError> {
    let kept =
        Library::open(Environment::of_process()).and_then(|library| refresh_with_bar(library, talk, refresh));
    let refreshed = kept.or_else(|error| {
        // A folder that cannot be written, or a full disk: the catalogue is only a cache.
        talk.say(&format!("{error}; every session is read this time\n"));
        let library = Library::open_in_memory(Environment::of_process())?;
        refresh_with_bar(library, talk, refresh)
    });
    refreshed.map_err(CommandError::Library)
}

fn refresh_with_bar(
    mut library: Library,
    talk: &Talk,
    refresh: Refresh,
) -> Result<(Library, Vec<(String, String)>), CatalogueError> {
    // A bar that counts files, if a user watches.
    let bar =
        if talk.is_watched() { indicatif::ProgressBar::new(0) } else { indicatif::ProgressBar::hidden() };
    talk::draws(&bar);
    let refreshed = refresh(&mut library, &mut |read, all| {
        bar.set_length(all as u64);
        bar.set_position(read as u64);
    });
    talk::clear_bar();
    Ok((library, refreshed?.failed))
}

/// A column of the table of sessions: its head, and the cell of a session.
type Column = (&'static str, fn(&ListedSession, &ShortIds, u64) -> String);

/// The columns of the table of sessions.
const COLUMNS: [Column; 8] = [
    ("session", |session, ids, _| ids.of_session(session)),
    ("agent", |session, _, _| session.agent.clone()),
    ("last", |session, _, now| session.last().map_or_else(none, |last| age(now.saturating_sub(last)))),
    ("turns", |session, _, _| number(session.overview.turns)),
    ("tokens", |session, _, _| short_number(session.overview.tokens)),
    ("cost", |session, _, _| session.overview.shown_cost.clone()),
    ("project", |session, _, _| session.overview.cwd.as_deref().map_or_else(none, project)),
    ("title", |session, _, _| headline(session)),
];

/// The columns that a narrow terminal leaves out, in this order.
const LEFT_OUT: [&str; 5] = ["tokens", "cost", "turns", "project", "last"];

/// The fewest cells of a title that are worth more than a further column.
const NARROW_TITLE: usize = 20;

fn none() -> String {
    "-".to_owned()
}

/// A table of sessions. Lines of a terminal with this width do not wrap.
fn to_table(sessions: &[&ListedSession], ids: &ShortIds, now: u64, width: Option<usize>) -> String {
    if sessions.is_empty() {
        return String::new();
    }
    let mut columns: Vec<(&str, Vec<String>)> = COLUMNS
        .iter()
        .map(|(head, cell)| (*head, sessions.iter().map(|session| cell(session, ids, now)).collect()))
        .collect();
    if let Some(width) = width {
        fit(&mut columns, width);
    }
    let heads: Vec<&str> = columns.iter().map(|(head, _)| *head).collect();
    let row = |at: usize| columns.iter().filter_map(|(_, cells)| cells.get(at).cloned()).collect();
    let rows: Vec<Vec<String>> = (0..sessions.len()).map(row).collect();
    interlingua_report::render::table(&heads, &rows)
}

/// Removes columns, and cuts titles, until the table is as narrow as a terminal.
fn fit(columns: &mut Vec<(&str, Vec<String>)>, width: usize) {
    let room = |columns: &[(&str, Vec<String>)]| {
        let before = columns.iter().take(columns.len().saturating_sub(1));
        let widest = before.map(|(head, cells)| {
            cells.iter().map(|cell| cell.chars().count()).chain([head.len()]).max().unwrap_or(0) + GAP
        });
        width.saturating_sub(widest.sum())
    };
    let mut left_out = LEFT_OUT.iter();
    while room(columns) < NARROW_TITLE {
        let Some(head) = left_out.next() else { break };
        columns.retain(|(other, _)| other != head);
    }
    let room = room(columns);
    if let Some((_, titles)) = columns.last_mut() {
        for title in titles.iter_mut() {
            *title = console::truncate_str(title, room, "…").into_owned();
        }
    }
}

/// The cells between two columns.
const GAP: usize = 2;

/// The width of a terminal; `None` for a file or a pipe.
fn width_of(terminal: &console::Term) -> Option<usize> {
    terminal.is_term().then(|| terminal.size_checked()).flatten().map(|(_, columns)| usize::from(columns))
}

/// The names of all sessions on this machine.
pub(crate) struct ShortIds {
    /// The ids, sorted, each once, with and without the word that begins every id of its agent.
    ids: Vec<String>,
    /// The number of each session that is not the newest one with its id.
    numbers: HashMap<(String, PathBuf), usize>,
}

impl ShortIds {
    /// The names of sessions that are ordered, the newest first.
    fn of(sessions: &[ListedSession]) -> Self {
        let mut ids = Vec::new();
        let mut counts: HashMap<String, usize> = HashMap::new();
        let mut numbers = HashMap::new();
        // A name means a session of a subagent only if no other session has it.
        let (of_subagents, of_people): (Vec<&ListedSession>, Vec<&ListedSession>) =
            sessions.iter().partition(|session| session.overview.is_of_subagent);
        for session in of_people.into_iter().chain(of_subagents) {
            let id = session.id();
            let count = counts.entry(id.clone()).or_default();
            *count += 1;
            if *count > 1 {
                numbers.insert((id.clone(), session.input()), *count);
            }
            let word = id_word(&id);
            if word.len() < id.len() {
                ids.push(word.to_owned());
            }
            ids.push(id);
        }
        ids.sort_unstable();
        ids.dedup();
        Self { ids, numbers }
    }

    /// The shortest beginning of the session's id, of eight characters or more, that begins no other id on this machine, and the
    /// number of the session if newer sessions have its id. A name has a digit, because a word without a digit may be a file.
    pub(crate) fn of_session(&self, session: &ListedSession) -> String {
        let whole = session.id();
        let id = id_word(&whole);
        let at = self.ids.partition_point(|other| other.as_str() < id);
        let shared = |other: Option<&String>| {
            let pairs = id.chars().zip(other.map(String::as_str).unwrap_or_default().chars());
            pairs.take_while(|(own, other)| own == other).map(|(own, _)| own.len_utf8()).sum::<usize>()
        };
        let before = shared(at.checked_sub(1).and_then(|before| self.ids.get(before)));
        let least = before.max(shared(self.ids.get(at + 1))).max(SHORT_ID - 1);
        let ends = id.char_indices().map(|(begin, letter)| begin + letter.len_utf8());
        let has_digit = |begin: &str| begin.bytes().any(|byte| byte.is_ascii_digit());
        let begins = ends.filter(|end| *end > least).filter_map(|end| id.get(..end));
        let begin = safe::exact_line({ begins }.find(|begin| has_digit(begin)).unwrap_or(id));
        match self.numbers.get(&(whole.clone(), session.input())) {
            Some(number) => format!("{begin}{NUMBER}{number}"),
            None => begin,
        }
    }
}

/// The length of a short id, if no other session has the same beginning.
const SHORT_ID: usize = 8;
/// The longest title and the longest project of a row, in characters.
const LONGEST_TITLE: usize = 48;
const LONGEST_PROJECT: usize = 24;

/// The title or the first words.
pub(crate) fn headline(session: &ListedSession) -> String {
    let overview = &session.overview;
    let words = overview.title.as_deref().filter(|title| !title.trim().is_empty());
    let words: Vec<&str> = words.unwrap_or(&overview.first_words).split_whitespace().collect();
    shortened(safe::one_line(&words.join(" ")), LONGEST_TITLE)
}

fn shortened(text: String, most: usize) -> String {
    if text.chars().count() <= most {
        return text;
    }
    text.chars().take(most - 1).chain(['…']).collect()
}

/// The last two parts of a directory.
fn project(cwd: &str) -> String {
    let parts: Vec<&str> = cwd.split(['/', '\\']).filter(|part| !part.is_empty()).collect();
    let last = parts[parts.len().saturating_sub(2)..].join("/");
    shortened(safe::one_line(if last.is_empty() { cwd } else { &last }), LONGEST_PROJECT)
}

/// `3m`, `5h`, `12d`, `14mo`.
fn age(millis: u64) -> String {
    let minutes = millis / 60_000;
    match minutes {
        0..60 => format!("{minutes}m"),
        60..2880 => format!("{}h", minutes / 60),
        2880..86_400 => format!("{}d", minutes / 1440),
        _ => format!("{}mo", minutes / 43_200),
    }
}

/// `812`, `14k`, `3.1M`.
fn short_number(count: u64) -> String {
    match count {
        0..1000 => count.to_string(),
        1000..1_000_000 => format!("{}k", count / 1000),
        _ => format!("{}.{}M", number(count / 1_000_000), count % 1_000_000 / 100_000),
    }
}

fn to_json(sessions: &[&ListedSession]) -> String {
    document(|json| {
        json.object().key("version").u64(1).key("sessions").array();
        for session in sessions {
            let overview = &session.overview;
            let moment = |millis: u64| time::utc(&interlingua::json::Raw::owned(millis.to_string()));
            let [first, last] = match overview.span {
                Some((first, last)) => [moment(first), moment(last)],
                None => [None, None],
            };
            let text = |text: &Option<String>| text.as_deref().map(Str::from_plain);
            json.object().key("id").plain(&session.id()).key("agent").plain(&session.agent);
            json.key("path").plain(&session.input().to_string_lossy());
            json.opt_str("cwd", text(&overview.cwd).as_ref());
            json.opt_str("title", text(&overview.title).as_ref());
            json.key("first_words").plain(&overview.first_words);
            json.opt_str("model", text(&overview.model).as_ref());
            json.opt_str("first", text(&first).as_ref()).opt_str("last", text(&last).as_ref());
            json.key("turns").u64(overview.turns).key("tool_calls").u64(overview.calls);
            json.key("tokens").u64(overview.tokens);
            json.key("cost").raw(&interlingua::json::Raw::owned(exact_dollars(overview.cost)));
            json.key("bytes").u64(session.bytes).key("subagent").bool(overview.is_of_subagent).end_object();
        }
        json.end_array().end_object();
    })
}

fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// Parses `30m`, `24h`, `7d`, `2w` or a date.
pub(crate) fn since(text: &str) -> Result<Since, String> {
    let wrong = || "expected `30m`, `24h`, `7d`, `2w` or a date such as `2026-11-01`".to_owned();
    // `5d` has an age, `2026-11-01T10:20:30Z` a day.
    let is_age = !text.contains('-');
    if let Some(unit) = text.chars().last().filter(|letter| is_age && letter.is_ascii_alphabetic()) {
        let seconds = match unit {
            'm' => 60,
            'h' => 3600,
            'd' => 86_400,
            'w' => 604_800,
            _ => return Err(wrong()),
        };
        let count: u64 = text[..text.len() - 1].parse().map_err(|_| wrong())?;
        return Ok(Since::Ago(Duration::from_secs(count.checked_mul(seconds).ok_or_else(wrong)?)));
    }
    let whole = if text.len() == 10 { format!("\"{text}T00:00:00Z\"") } else { format!("\"{text}\"") };
    time::epoch_millis(&interlingua::json::Raw::owned(whole)).map(Since::Time).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_ago_or_dates() {
        assert!(matches!(since("2h"), Ok(Since::Ago(ago)) if ago.as_secs() == 7200));
        assert!(matches!(since("1970-01-02"), Ok(Since::Time(86_400_000))));
        assert!(matches!(since("1970-01-01T00:00:01Z"), Ok(Since::Time(1000))));
        for wrong in ["", "h", "5y", "1970-01-01h", "yesterday", "-1d", "99999999999999999999w"] {
            assert!(since(wrong).is_err(), "{wrong}");
        }
    }
}
