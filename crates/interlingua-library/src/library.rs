//! The sessions of all agents, kept up to date with their files.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError, mpsc};

use interlingua::dialects::Options;
use interlingua::model::Event;
use interlingua::pipe::EventReader;
use interlingua_models::Prices;
use interlingua_report::safe;
use interlingua_sessions::{
    self as sessions, FoundFile, InputPlace, MOST_UNPACKED, SourceError, SourceHints,
};
use interlingua_view::stats::{SessionCounter, SessionOverview};

use crate::catalogue::{self, Catalogue, CatalogueError, ReadFile};
use crate::homes::{AgentHome, Environment, HOMES};
use crate::search::{self, HitFinder, SearchHit, SearchQuery, WordIndex};

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
    /// The library of the user of this environment, with its catalogue in the user's folder for caches.
    pub fn open(environment: Environment) -> Result<Self, CatalogueError> {
        let cache = environment.path("XDG_CACHE_HOME");
        let cache = cache.or_else(|| environment.home().map(|home| home.join(".cache")));
        let place = cache.unwrap_or_else(std::env::temp_dir).join("interlingua").join("sessions.db");
        Self::open_at(environment, place)
    }

    /// The library of an environment, with its catalogue at a path.
    pub fn open_at(environment: Environment, place: PathBuf) -> Result<Self, CatalogueError> {
        let catalogue = Catalogue::open(&place)?;
        Ok(Self { environment, place, catalogue })
    }

    /// Reads the files that are new or have changed, on all processors. `progress` gets the number of files that are read
    /// and the number of files to read.
    pub fn refresh(&mut self, mut progress: impl FnMut(usize, usize)) -> Result<Refreshed, CatalogueError> {
        let mut there = HashSet::new();
        let mut changed = Vec::new();
        for home in HOMES {
            for path in home.files(&self.environment) {
                let Some(stamp) = catalogue::stamp(&path) else { continue };
                let name = path.to_string_lossy().into_owned();
                if self.stored(|catalogue| catalogue.stamp(&name))?.as_ref() != Some(&stamp) {
                    changed.push((home, path, stamp));
                }
                there.insert(name);
            }
        }
        self.stored(|catalogue| catalogue.keep(|path| there.contains(path)))?;
        let next = AtomicUsize::new(0);
        let (done, finished) = mpsc::channel();
        let failure = Mutex::new(None);
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        std::thread::scope(|scope| {
            for _ in 0..processors.min(changed.len()) {
                let (next, changed, done) = (&next, &changed, done.clone());
                scope.spawn(move || {
                    while let Some((home, path, stamp)) = changed.get(next.fetch_add(1, Ordering::Relaxed)) {
                        if done.send(read(home, path, stamp)).is_err() {
                            return;
                        }
                    }
                });
            }
            drop(done);
            // The catalogue is written while the other files are read. The channel closes at the first error.
            for (number, file) in finished.into_iter().enumerate() {
                progress(number + 1, changed.len());
                if let Err(error) = self.stored(|catalogue| catalogue.replace(&file)) {
                    *failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                    return;
                }
            }
        });
        if let Some(error) = failure.into_inner().unwrap_or_else(PoisonError::into_inner) {
            return Err(error);
        }
        let failed = self.stored(|catalogue| catalogue.failures())?;
        Ok(Refreshed { read: changed.len(), failed })
    }

    /// Every session in the catalogue, the newest first.
    pub fn sessions(&self) -> Result<Vec<ListedSession>, CatalogueError> {
        self.catalogue.sessions().map_err(|error| CatalogueError::Database(self.place.clone(), error))
    }

    /// The sessions with hits for a query, the newest first, each passed to `each` as soon as it is found; `each` returns
    /// whether the search goes on. The words of new and changed sessions are indexed first; `progress` gets the number of files
    /// that are indexed and the number of files to index.
    pub fn search(
        &mut self,
        query: &SearchQuery,
        progress: impl FnMut(usize, usize),
        mut each: impl FnMut(FoundSession) -> bool,
    ) -> Result<(), CatalogueError> {
        self.index(progress)?;
        let wanted = query.hashes();
        let fitting =
            self.stored(|catalogue| catalogue.with_words(|words| search::has_all(words, &wanted)))?;
        for session in self.sessions()? {
            let is_agent = query.agent.as_ref().is_none_or(|agent| session.agent.starts_with(agent.as_str()));
            if !is_agent || !fitting.contains(&(session.path.clone(), session.part)) {
                continue;
            }
            let mut finder = HitFinder::new(query);
            // A session that cannot be read any more has no hits; the next refresh tells why.
            let read = each_event(&InputPlace::of(&session.input()), |event| finder.event(event));
            let hits = finder.hits;
            if read.is_ok() && !hits.is_empty() && !each(FoundSession { session, hits }) {
                break;
            }
        }
        Ok(())
    }

    /// Indexes the words of new and changed sessions, on all processors.
    fn index(&mut self, mut progress: impl FnMut(usize, usize)) -> Result<(), CatalogueError> {
        let files = self.stored(|catalogue| catalogue.without_words())?;
        let next = AtomicUsize::new(0);
        let (done, finished) = mpsc::channel();
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        std::thread::scope(|scope| {
            for _ in 0..processors.min(files.len()) {
                let (next, files, done) = (&next, &files, done.clone());
                scope.spawn(move || {
                    while let Some((path, stamp)) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
                        if done.send((path, stamp, words_of(path))).is_err() {
                            return;
                        }
                    }
                });
            }
            drop(done);
            for (number, (path, stamp, parts)) in finished.into_iter().enumerate() {
                progress(number + 1, files.len());
                self.stored(|catalogue| catalogue.replace_words(path, stamp, &parts))?;
            }
            Ok(())
        })
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

/// The words of each session of a file.
fn words_of(path: &Path) -> Vec<Vec<u8>> {
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
fn read(home: &AgentHome, path: &Path, stamp: &str) -> ReadFile {
    let found = sessions::find(&[path.to_owned()], None);
    let mut failures: Vec<String> = found.failed.iter().map(|(_, error)| error.to_string()).collect();
    let mut listed = Vec::new();
    let prices = Prices::built_in();
    for (part, file) in found.files.iter().enumerate() {
        match overview(home, &file.input, &prices) {
            Ok((overview, bytes)) => listed.push(ListedSession {
                agent: home.dialect.to_owned(),
                path: path.to_owned(),
                is_stored: matches!(file.input, InputPlace::Stored(_)),
                overview,
                bytes,
                part: part as u64,
            }),
            // A session that has just begun is no failure.
            Err(SourceError::Empty(_)) => {}
            Err(error) => failures.push(error.to_string()),
        }
    }
    ReadFile {
        path: path.to_string_lossy().into_owned(),
        agent: home.dialect,
        stamp: stamp.to_owned(),
        sessions: listed,
        failure: failures.into_iter().next(),
    }
}

/// The facts of one session, and the size of its log.
fn overview(
    home: &AgentHome,
    input: &InputPlace,
    prices: &Prices,
) -> Result<(SessionOverview, u64), SourceError> {
    let name = input.name();
    let opened = input.open(MOST_UNPACKED)?;
    let identity = opened.identify(&name, &SourceHints::default())?;
    let options = Options::default().with_source_name(input.stem());
    let cannot = || SourceError::CannotRead(identity.dialect, identity.spec.role);
    let mut counter = SessionCounter::new(&name, identity, &options).map_err(|_| cannot())?;
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
    if overview.id.is_none() {
        overview.id = input.stem();
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
