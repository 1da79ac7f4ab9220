//! The sessions of all agents, kept up to date with their files.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};

use interlingua::dialects::Options;
use interlingua::framing::Framing;
use interlingua::model::Event;
use interlingua::pipe::{EventReader, Pipe};
use interlingua_models::Prices;
use interlingua_report::safe;
use interlingua_sessions::{
    self as sessions, FoundFile, InputPlace, MOST_UNPACKED, SourceError, SourceHints,
};
use interlingua_view::stats::{SessionCounter, SessionOverview};

use crate::catalogue::{self, Catalogue, CatalogueError, ReadFile};
use crate::homes::{AgentHome, Environment, HOMES};
use crate::search::{HitWriter, LastMatch, LineFilter, SearchHit, SearchQuery};
use crate::words::{SessionWords, WordIndex};

/// A session of an agent on this machine.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ListedSession {
    /// The dialect of its log.
    pub agent: String,
    /// The file, or the store.
    pub path: PathBuf,
    /// Whether the session is one of several in a store.
    pub is_stored: bool,
    /// Its facts.
    pub overview: SessionOverview,
    /// The size of the log.
    pub bytes: u64,
    /// The number of the session in its file.
    pub(crate) part: u64,
    /// The number of the file in the catalogue.
    pub(crate) file: i64,
}

impl ListedSession {
    /// The path that names the session in other commands: a session in a store is the path of the store and the id.
    pub fn input(&self) -> PathBuf {
        match &self.overview.id {
            Some(id) if self.is_stored => self.path.join(id),
            _ => self.path.clone(),
        }
    }

    /// The id in the log; without one, the name of the file.
    pub fn id(&self) -> String {
        let name = || InputPlace::of(&self.path).stem().unwrap_or_default();
        self.overview.id.clone().unwrap_or_else(name)
    }

    /// Whether the name of the agent begins with a text, in small or capital letters.
    pub fn is_of_agent(&self, name: &str) -> bool {
        self.agent.get(..name.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(name))
    }

    /// Whether the session ran in a folder or below it. A link in the session's directory is followed.
    pub fn is_in(&self, folder: &Path) -> bool {
        let cwd = self.overview.cwd.as_deref().map(Path::new);
        cwd.is_some_and(|cwd| {
            let real = || std::fs::canonicalize(cwd).is_ok_and(|real| real.starts_with(folder));
            cwd.starts_with(folder) || real()
        })
    }

    /// The time of the last event, in milliseconds since 1970.
    pub fn last(&self) -> Option<u64> {
        self.overview.span.map(|(_, last)| last)
    }
}

/// The result of a refresh.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Refreshed {
    /// The files that were read, because they are new or have changed.
    pub read: usize,
    /// The files that could not be read, and the reasons.
    pub failed: Vec<(String, String)>,
}

/// The sessions of all agents on this machine.
#[derive(Debug)]
pub struct Library {
    environment: Environment,
    place: PathBuf,
    catalogue: Catalogue,
}

impl Library {
    /// The library of the user of this environment, with its catalogue in the user's folder for caches; without that folder, in
    /// memory.
    pub fn open(environment: Environment) -> Result<Self, CatalogueError> {
        let cache = environment.path("XDG_CACHE_HOME");
        match cache.or_else(|| environment.home().map(|home| home.join(".cache"))) {
            Some(cache) => Self::open_at(environment, cache.join("interlingua").join("sessions.db")),
            None => Self::open_in_memory(environment),
        }
    }

    /// The library of an environment, with a catalogue that is not kept: every session is read.
    pub fn open_in_memory(environment: Environment) -> Result<Self, CatalogueError> {
        let place = PathBuf::from(":memory:");
        Ok(Self { environment, catalogue: Catalogue::in_memory(&place)?, place })
    }

    /// The library of an environment, with its catalogue at a path.
    pub fn open_at(environment: Environment, place: PathBuf) -> Result<Self, CatalogueError> {
        let catalogue = Catalogue::open(&place)?;
        Ok(Self { environment, place, catalogue })
    }

    /// Reads the files that are new or have changed, on all processors. `progress` gets the number of files that are read
    /// and the number of files to read.
    pub fn refresh(&mut self, progress: impl FnMut(usize, usize)) -> Result<Refreshed, CatalogueError> {
        self.read_changed(Reading::Facts, progress)
    }

    fn read_changed(
        &mut self,
        reading: Reading,
        mut progress: impl FnMut(usize, usize),
    ) -> Result<Refreshed, CatalogueError> {
        let mut known = self.stored(|catalogue| catalogue.stamps())?;
        let mut all = 0;
        // The sessions of other agents name the projects in which further agents keep their sessions.
        for is_of_projects in [false, true] {
            let environment =
                if is_of_projects { self.with_known_projects()? } else { self.environment.clone() };
            let mut changed = Vec::new();
            for home in HOMES.iter().filter(|home| home.is_of_projects() == is_of_projects) {
                for path in home.files(&environment) {
                    let Some(stamp) = catalogue::stamp(&path) else { continue };
                    if known.remove(&*path.to_string_lossy()).as_ref() != Some(&stamp) {
                        changed.push((home, path, stamp));
                    }
                }
            }
            let before = all;
            all += changed.len();
            let work = |(home, path, stamp): &(&AgentHome, PathBuf, String)| read(home, path, stamp, reading);
            in_parallel(&changed, work, |number, file| {
                progress(before + number, all);
                self.stored(|catalogue| catalogue.replace(&file))
            })?;
        }
        if !known.is_empty() {
            self.stored(|catalogue| catalogue.forget(known.keys()))?;
        }
        let failed = self.stored(|catalogue| catalogue.failures())?;
        Ok(Refreshed { read: all, failed })
    }

    /// The environment with the projects of the sessions in the catalogue.
    pub fn with_known_projects(&mut self) -> Result<Environment, CatalogueError> {
        let projects = self.stored(|catalogue| catalogue.projects())?;
        Ok(self.environment.clone().with_projects(projects))
    }

    /// Every session in the catalogue, the newest first.
    pub fn sessions(&self) -> Result<Vec<ListedSession>, CatalogueError> {
        self.catalogue.sessions().map_err(|error| CatalogueError::Database(self.place.clone(), error))
    }

    /// Reads the files that are new or have changed, and indexes the words of all sessions that are not in the index.
    pub fn refresh_words(
        &mut self,
        mut progress: impl FnMut(usize, usize),
    ) -> Result<Refreshed, CatalogueError> {
        let refreshed = self.read_changed(Reading::FactsAndWords, &mut progress)?;
        let files = self.stored(|catalogue| catalogue.without_words())?;
        let all = files.len();
        let work = |(file, path, stamp): &(i64, PathBuf, String)| (*file, stamp.clone(), words_of(path));
        in_parallel(&files, work, |number, (file, stamp, words)| {
            progress(number, all);
            self.stored(|catalogue| catalogue.replace_words(file, &stamp, &words))
        })?;
        Ok(refreshed)
    }

    /// The sessions with hits for a query, the newest first, each passed to `each` as soon as it is found; `each` returns
    /// whether the search goes on. The index is that of the last [`Library::refresh_words`].
    pub fn search(
        &mut self,
        query: &SearchQuery,
        mut each: impl FnMut(FoundSession) -> bool,
    ) -> Result<(), CatalogueError> {
        let fitting = self.stored(|catalogue| catalogue.fitting(query))?;
        let mut sessions = self.sessions()?;
        sessions.retain(|session| {
            let is_agent = query.agent.as_ref().is_none_or(|agent| session.is_of_agent(agent));
            is_agent && fitting.contains(&(session.file, session.part))
        });
        // A search for a frequent word ends soon: only a few sessions are read ahead.
        for group in sessions.chunks(processors() * 2) {
            let mut found: Vec<Option<Vec<SearchHit>>> = vec![None; group.len()];
            let numbered: Vec<(usize, &ListedSession)> = group.iter().enumerate().collect();
            let work = |(at, session): &(usize, &ListedSession)| {
                // A session that cannot be read any more has no hits; the next refresh reports the reason.
                (*at, hits(&InputPlace::of(&session.input()), query).unwrap_or_default())
            };
            in_parallel(&numbered, work, |_, (at, hits)| {
                if let Some(place) = found.get_mut(at) {
                    *place = Some(hits);
                }
                Ok::<_, CatalogueError>(())
            })?;
            for (session, hits) in group.iter().zip(found) {
                let hits = hits.unwrap_or_default();
                if !hits.is_empty() && !each(FoundSession { session: session.clone(), hits }) {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    fn stored<T>(
        &mut self,
        work: impl FnOnce(&mut Catalogue) -> rusqlite::Result<T>,
    ) -> Result<T, CatalogueError> {
        work(&mut self.catalogue).map_err(|error| CatalogueError::Database(self.place.clone(), error))
    }
}

/// A session with hits of a search.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct FoundSession {
    /// The session.
    pub session: ListedSession,
    /// Its hits, in their order.
    pub hits: Vec<SearchHit>,
}

/// The values that a file is read for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reading {
    Facts,
    FactsAndWords,
}

fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Works on all things in parallel. `each` gets the results in the order of their completion, with their count, on this
/// thread; its first error ends the work.
fn in_parallel<T: Sync, R: Send, E>(
    things: &[T],
    work: impl Fn(&T) -> R + Sync,
    mut each: impl FnMut(usize, R) -> Result<(), E>,
) -> Result<(), E> {
    let next = AtomicUsize::new(0);
    // The channel is bounded: results wait in memory only as long as the other workers are busy.
    let (done, finished) = mpsc::sync_channel(processors());
    std::thread::scope(|scope| {
        for _ in 0..processors().min(things.len()) {
            let (next, work, done) = (&next, &work, done.clone());
            scope.spawn(move || {
                while let Some(thing) = things.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if done.send(work(thing)).is_err() {
                        return;
                    }
                }
            });
        }
        drop(done);
        finished.into_iter().enumerate().try_for_each(|(number, result)| each(number + 1, result))
    })
}

/// The hits in one session.
fn hits(input: &InputPlace, query: &SearchQuery) -> Result<Vec<SearchHit>, SourceError> {
    let (found, unknown) = hits_in_lines(input, query, LineFilter::new(query, &[]))?;
    if unknown.is_empty() {
        return Ok(found);
    }
    // The names of tools are in the lines of the calls. Too many ids are slower than all lines.
    let filter = LineFilter::new(query, &unknown).filter(|_| unknown.len() <= MOST_CALL_IDS);
    Ok(hits_in_lines(input, query, filter)?.0)
}

/// The dialects whose lines can be read alone: no text goes on in a further line, and no line repeats the text of
/// another. Copilot CLI and Kimi write texts in pieces, Codex writes texts twice.
const ITEM_IN_A_LINE: &[&str] = &["claude-code", "cursor", "droid", "pi", "qwen-code"];

/// The most ids of calls that lines are searched for.
const MOST_CALL_IDS: usize = 16;

/// The hits in the lines that pass a filter, and the ids of calls that were not read.
fn hits_in_lines(
    input: &InputPlace,
    query: &SearchQuery,
    filter: Option<LineFilter>,
) -> Result<(Vec<SearchHit>, Vec<String>), SourceError> {
    let name = input.name();
    let opened = input.open(MOST_UNPACKED)?;
    let identity = opened.identify(&name, &SourceHints::default())?;
    let from = (identity.dialect, identity.spec.role);
    let is_in_lines = identity.spec.framing == Framing::Lines;
    let mut filter = filter.filter(|_| is_in_lines);
    let mut end = u64::MAX;
    if !ITEM_IN_A_LINE.contains(&identity.dialect.name)
        && filter.take().is_some()
        && let Some(mut last) = LastMatch::new(query)
    {
        let failed = |error| SourceError::Read(name.clone(), error);
        input.open(MOST_UNPACKED)?.each(failed, |bytes| {
            last.push(bytes);
            Ok(())
        })?;
        match last.end_of_line() {
            Some(last) => end = last,
            None => return Ok((Vec::new(), Vec::new())),
        }
    }
    let is_filtered = filter.is_some();
    let finder = HitWriter::new(query);
    let filter_is_useless = |finder: &HitWriter| finder.unknown_calls() > MOST_CALL_IDS;
    let pipe = Pipe::with_writer(from, Box::new(finder.clone()), &Options::default());
    let mut pipe = pipe.map_err(|_| SourceError::CannotRead(from.0, from.1))?;
    let mut nothing = Vec::new();
    let mut read = 0;
    opened.each(
        |error| SourceError::Read(name.clone(), error),
        |bytes| {
            // After the last match, the rest of its item is read, and no further item.
            if read >= end && !finder.has_open_items() {
                return Ok(());
            }
            read += bytes.len() as u64;
            let bytes = filter.as_mut().map_or(bytes, |filter| filter.pass(bytes));
            // The rest of the lines is read again without a filter.
            let is_enough = filter_is_useless(&finder);
            if !(is_enough && is_filtered) {
                pipe.push(bytes, &mut nothing);
            }
            Ok(())
        },
    )?;
    if let Some(filter) = &mut filter {
        pipe.push(filter.finish(), &mut nothing);
    }
    pipe.finish(&mut nothing);
    let (hits, unknown) = finder.finish();
    // Without a filter every call was read.
    Ok((hits, if filter.is_some() { unknown } else { Vec::new() }))
}

/// The words of each session of a file.
fn words_of(path: &Path) -> Vec<SessionWords> {
    let found = sessions::find(&[path.to_owned()], None);
    let words = |file: &FoundFile| {
        let mut index = WordIndex::default();
        // A session that cannot be read has the words before the error.
        let _ = each_event(&file.input, |event| index.event(event));
        index.finish()
    };
    found.files.iter().map(words).collect()
}

/// Passes each event of a session to a closure.
fn each_event(input: &InputPlace, mut each: impl FnMut(&Event<'_>) + Send) -> Result<(), SourceError> {
    let name = input.name();
    let opened = input.open(MOST_UNPACKED)?;
    let identity = opened.identify(&name, &SourceHints::default())?;
    let from = (identity.dialect, identity.spec.role);
    let reader = EventReader::new(from, &Options::default());
    let mut reader = reader.map_err(|_| SourceError::CannotRead(from.0, from.1))?;
    opened.each(
        |error| SourceError::Read(name.clone(), error),
        |bytes| {
            reader.push(bytes, &mut each);
            Ok(())
        },
    )?;
    let _ = reader.finish(&mut each);
    Ok(())
}

/// Reads the sessions of a file.
fn read(home: &AgentHome, path: &Path, stamp: &str, reading: Reading) -> ReadFile {
    let found = sessions::find(&[path.to_owned()], None);
    let mut failures: Vec<String> = found.failed.iter().map(|(_, error)| error.to_string()).collect();
    let mut listed = Vec::new();
    let prices = Prices::built_in();
    let mut words = (reading == Reading::FactsAndWords).then(Vec::new);
    for (part, file) in found.files.iter().enumerate() {
        let index = words.is_some().then(|| Arc::new(Mutex::new(WordIndex::default())));
        match overview(home, &file.input, &prices, index.clone()) {
            Ok((overview, bytes)) => listed.push(ListedSession {
                agent: home.dialect.to_owned(),
                path: path.to_owned(),
                is_stored: matches!(file.input, InputPlace::Stored(_)),
                overview,
                bytes,
                part: part as u64,
                file: 0,
            }),
            // A session that has just begun is no failure.
            Err(SourceError::Empty(_)) => {}
            Err(error) => failures.push(error.to_string()),
        }
        if let (Some(words), Some(index)) = (&mut words, index) {
            words.push(std::mem::take(&mut *index.lock().unwrap_or_else(PoisonError::into_inner)).finish());
        }
    }
    ReadFile {
        path: path.to_string_lossy().into_owned(),
        agent: home.dialect,
        stamp: stamp.to_owned(),
        sessions: listed,
        words,
        failure: failures.into_iter().next(),
    }
}

/// The folder of a session of Kimi Code, whose log has no id: `SESSION/agents/main/wire.jsonl`.
fn session_folder(input: &InputPlace) -> Option<String> {
    let mut folders = input.path()?.ancestors().skip(1).filter_map(Path::file_name);
    let is_main = folders.next()? == "main" && folders.next()? == "agents";
    is_main.then(|| folders.next())?.map(|name| name.to_string_lossy().into_owned())
}

/// The facts of one session, and the size of its log. The words go to the index.
fn overview(
    home: &AgentHome,
    input: &InputPlace,
    prices: &Prices,
    index: Option<Arc<Mutex<WordIndex>>>,
) -> Result<(SessionOverview, u64), SourceError> {
    let name = input.name();
    let opened = input.open(MOST_UNPACKED)?;
    let identity = opened.identify(&name, &SourceHints::default())?;
    let options = Options::default().with_source_name(input.stem());
    let cannot = || SourceError::CannotRead(identity.dialect, identity.spec.role);
    let counter = match index {
        None => SessionCounter::new(&name, identity, &options),
        Some(index) => SessionCounter::observed(&name, identity, &options, move |event| {
            index.lock().unwrap_or_else(PoisonError::into_inner).event(event);
        }),
    };
    let mut counter = counter.map_err(|_| cannot())?;
    let mut bytes = 0;
    opened.each(
        |error| SourceError::Read(safe::path_name(&name), error),
        |piece| {
            bytes += piece.len() as u64;
            counter.push(piece);
            Ok(())
        },
    )?;
    let statistics = counter.finish().ok_or_else(|| SourceError::Empty(home.dialect.to_owned()))?;
    let mut overview = statistics.overview(prices);
    // A subagent of Claude Code has a log of its own in a folder of the session, with the session's id in each line.
    let folder = input.path().and_then(|path| path.parent()?.file_name());
    if folder.is_some_and(|folder| folder == "subagents") {
        overview.parent = overview.id.take();
        overview.is_of_subagent = true;
    }
    if overview.id.is_none() {
        overview.id = session_folder(input).or_else(|| input.stem());
    }
    // A log without times was last written when its file was.
    if overview.span.is_none()
        && let Some(changed) = input.path().and_then(|path| path.metadata().ok()?.modified().ok())
        && let Ok(since) = changed.duration_since(std::time::UNIX_EPOCH)
    {
        let millis = u64::try_from(since.as_millis()).unwrap_or(u64::MAX);
        overview.span = Some((millis, millis));
    }
    Ok((overview, bytes))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::words;

    /// The fixtures of all logs in lines.
    fn logs(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                logs(&path, found);
            } else if path.extension().is_some_and(|end| end == "jsonl") {
                found.push(path);
            }
        }
    }

    #[test]
    fn a_search_in_lines_with_the_word_finds_the_hits_of_all_lines() {
        let mut paths = Vec::new();
        logs(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../interlingua/fixtures"), &mut paths);
        paths.sort();
        let mut compared = 0;
        for path in paths {
            let input = InputPlace::of(&path);
            let mut found = BTreeSet::new();
            let _ = each_event(&input, |event| {
                if let Event::ItemDelta(delta) = event {
                    words::each_text(delta, |text| {
                        found.extend(words::words(&text.to_lowercase()).map(str::to_owned));
                    });
                }
            });
            // Every seventh word of each log is enough.
            for word in found.iter().step_by(7) {
                let query = SearchQuery::parse([word.as_str()]);
                let Ok((all, _)) = hits_in_lines(&input, &query, None) else { continue };
                assert_eq!(hits(&input, &query).expect("hits"), all, "{word} in {}", path.to_string_lossy());
                compared += all.len();
            }
        }
        assert!(compared > 1000, "{compared}");
    }
}
