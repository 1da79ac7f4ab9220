//! The catalogue: a SQLite database with a row for each session that was read, so that files that did not change are not
//! read again.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use interlingua_report::safe;
use interlingua_view::stats::SessionOverview;
use rusqlite::{Connection, OptionalExtension as _, Transaction, params};

use crate::library::ListedSession;
use crate::search::SearchQuery;
use crate::words::{self, Frequency, Phrase, SessionWords, WordBucket};

/// The version of the tables. Another version means that the catalogue is built anew.
const VERSION: i64 = 6;
/// The time that a second command waits for the first one.
const PATIENCE: Duration = Duration::from_secs(10);

const TABLES: &str = "
    CREATE TABLE file (
        number INTEGER PRIMARY KEY,
        path TEXT NOT NULL UNIQUE,
        agent TEXT NOT NULL,
        stamp TEXT NOT NULL,
        failure TEXT
    );
    CREATE TABLE session (
        file INTEGER NOT NULL,
        part INTEGER NOT NULL,
        stored INTEGER NOT NULL,
        id TEXT, cwd TEXT, parent TEXT, title TEXT, first_words TEXT NOT NULL, model TEXT,
        of_subagent INTEGER NOT NULL,
        turns INTEGER NOT NULL, calls INTEGER NOT NULL, tokens INTEGER NOT NULL,
        cost INTEGER NOT NULL, shown_cost TEXT NOT NULL,
        first INTEGER, last INTEGER, bytes INTEGER NOT NULL,
        PRIMARY KEY (file, part)
    ) WITHOUT ROWID;
    CREATE TABLE indexed (
        number INTEGER PRIMARY KEY,
        file INTEGER NOT NULL,
        part INTEGER NOT NULL,
        stamp TEXT NOT NULL,
        tools TEXT NOT NULL,
        failed INTEGER NOT NULL,
        UNIQUE (file, part)
    );
    -- The place is the bucket and the number of the indexed session. Rows in a table with another key would have pages of their
    -- own from 1 KB on, which are half empty.
    CREATE TABLE words (
        place INTEGER PRIMARY KEY,
        hashes BLOB NOT NULL,
        pairs BLOB NOT NULL,
        runs BLOB NOT NULL
    );";

/// The catalogue.
#[derive(Debug)]
pub(crate) struct Catalogue {
    connection: Connection,
}

/// A catalogue that cannot be used.
#[derive(Debug)]
#[non_exhaustive]
pub enum CatalogueError {
    /// Its folder cannot be made.
    Folder(PathBuf, io::Error),
    /// The database failed.
    Database(PathBuf, rusqlite::Error),
}

impl fmt::Display for CatalogueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CatalogueError::Folder(path, error) => {
                write!(f, "the folder {} cannot be made: {error}", safe::path_name(path))
            }
            CatalogueError::Database(path, error) => {
                write!(f, "the catalogue {} cannot be used: {error}", safe::path_name(path))
            }
        }
    }
}

impl std::error::Error for CatalogueError {}

impl Catalogue {
    /// Opens the catalogue at a path, or makes it. A damaged or older one is replaced.
    pub(crate) fn open(path: &Path) -> Result<Self, CatalogueError> {
        if let Some(folder) = path.parent() {
            make_private(folder).map_err(|error| CatalogueError::Folder(folder.to_owned(), error))?;
        }
        match Self::open_sound(path) {
            Ok(Some(catalogue)) => return Ok(catalogue),
            Ok(None) => {}
            Err(error) if is_damage(&error) => {}
            Err(error) => return Err(CatalogueError::Database(path.to_owned(), error)),
        }
        for end in ["", "-wal", "-shm"] {
            let mut name = path.as_os_str().to_owned();
            name.push(end);
            // A file that is not there need not be removed; one that stays shows in the next attempt.
            let _ = fs::remove_file(name);
        }
        let failed = |error| CatalogueError::Database(path.to_owned(), error);
        let fresh = Self::open_sound(path).map_err(failed)?;
        fresh.ok_or_else(|| failed(rusqlite::Error::InvalidQuery))
    }

    /// A new catalogue that is gone at the end of the process. `place` names it in errors.
    pub(crate) fn in_memory(place: &Path) -> Result<Self, CatalogueError> {
        let made = Connection::open_in_memory().and_then(|connection| {
            connection.execute_batch(TABLES)?;
            Ok(Self { connection })
        });
        made.map_err(|error| CatalogueError::Database(place.to_owned(), error))
    }

    /// `None` for a catalogue of another version.
    fn open_sound(path: &Path) -> rusqlite::Result<Option<Self>> {
        let mut connection = Connection::open(path)?;
        connection.busy_timeout(PATIENCE)?;
        connection.pragma_update(None, "journal_mode", "wal")?;
        connection.pragma_update(None, "synchronous", "normal")?;
        let made = connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
        let version: i64 = made.pragma_query_value(None, "user_version", |row| row.get(0))?;
        let tables: i64 = made.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
        if tables == 0 {
            made.execute_batch(TABLES)?;
            made.pragma_update(None, "user_version", VERSION)?;
        } else if version != VERSION {
            return Ok(None);
        }
        made.commit()?;
        Ok(Some(Self { connection }))
    }

    /// The state that each file had when it was read.
    pub(crate) fn stamps(&self) -> rusqlite::Result<HashMap<String, String>> {
        let mut asked = self.connection.prepare("SELECT path, stamp FROM file")?;
        asked.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
    }

    /// Replaces the sessions of a file, and their words if the file was read for them.
    pub(crate) fn replace(&mut self, file: &ReadFile) -> rusqlite::Result<()> {
        let changes = self.connection.transaction()?;
        let known =
            changes.query_row("SELECT number FROM file WHERE path = ?1", [&file.path], |row| row.get(0));
        if let Some(number) = known.optional()? {
            remove(&changes, number)?;
        }
        changes.execute(
            "INSERT INTO file (path, agent, stamp, failure) VALUES (?1, ?2, ?3, ?4)",
            params![file.path, file.agent, file.stamp, file.failure],
        )?;
        let number = changes.last_insert_rowid();
        for session in &file.sessions {
            let SessionOverview {
                id,
                cwd,
                parent,
                title,
                first_words,
                model,
                is_of_subagent,
                turns,
                calls,
                tokens,
                cost,
                shown_cost,
                span,
                ..
            } = &session.overview;
            changes.execute(
                "INSERT INTO session VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,?15,?16,?17,?18)",
                params![
                    number,
                    bounded(session.part),
                    session.is_stored,
                    id,
                    cwd,
                    parent,
                    title,
                    first_words,
                    model,
                    is_of_subagent,
                    bounded(*turns),
                    bounded(*calls),
                    bounded(*tokens),
                    i64::try_from(*cost).unwrap_or(i64::MAX),
                    shown_cost,
                    span.map(|(first, _)| bounded(first)),
                    span.map(|(_, last)| bounded(last)),
                    bounded(session.bytes),
                ],
            )?;
        }
        if let Some(words) = &file.words {
            insert_words(&changes, number, &file.stamp, words)?;
        }
        changes.commit()
    }

    /// Removes files that are gone.
    pub(crate) fn forget<'p>(&mut self, paths: impl Iterator<Item = &'p String>) -> rusqlite::Result<()> {
        let changes = self.connection.transaction()?;
        for path in paths {
            let known =
                changes.query_row("SELECT number FROM file WHERE path = ?1", [path], |row| row.get(0));
            if let Some(number) = known.optional()? {
                remove(&changes, number)?;
            }
        }
        changes.commit()
    }

    /// Every session, the newest first.
    pub(crate) fn sessions(&self) -> rusqlite::Result<Vec<ListedSession>> {
        let mut asked = self.connection.prepare(
            "SELECT agent, file.path, stored, id, cwd, title, first_words, model, of_subagent, turns, calls, tokens,
                cost, shown_cost, first, last, bytes, part, file, parent
             FROM session JOIN file ON file.number = session.file
             ORDER BY coalesce(last, 0) DESC, file.path, part",
        )?;
        let sessions = asked.query_map([], |row| {
            let count = |at| Ok::<u64, rusqlite::Error>(u64::try_from(row.get::<_, i64>(at)?).unwrap_or(0));
            let time = |at| Ok::<_, rusqlite::Error>(row.get::<_, Option<i64>>(at)?.map(i64::unsigned_abs));
            let mut overview = SessionOverview::default();
            overview.id = row.get(3)?;
            overview.cwd = row.get(4)?;
            overview.parent = row.get(19)?;
            overview.title = row.get(5)?;
            overview.first_words = row.get(6)?;
            overview.model = row.get(7)?;
            overview.is_of_subagent = row.get(8)?;
            overview.turns = count(9)?;
            overview.calls = count(10)?;
            overview.tokens = count(11)?;
            overview.cost = u128::from(count(12)?);
            overview.shown_cost = row.get(13)?;
            overview.span = time(14)?.zip(time(15)?);
            Ok(ListedSession {
                agent: row.get(0)?,
                path: PathBuf::from(row.get::<_, String>(1)?),
                is_stored: row.get(2)?,
                overview,
                bytes: count(16)?,
                part: count(17)?,
                file: row.get(18)?,
            })
        })?;
        sessions.collect()
    }

    /// The folders in which sessions ran.
    pub(crate) fn projects(&self) -> rusqlite::Result<Vec<PathBuf>> {
        let mut asked =
            self.connection.prepare("SELECT DISTINCT cwd FROM session WHERE cwd IS NOT NULL ORDER BY cwd")?;
        let folders = asked.query_map([], |row| Ok(PathBuf::from(row.get::<_, String>(0)?)))?;
        Ok(folders
            .collect::<Result<Vec<_>, _>>()?
            .into_iter()
            .filter(|folder| folder.is_absolute())
            .collect())
    }

    /// The files with sessions whose words are not in the index, or have changed since: number, path and state.
    pub(crate) fn without_words(&self) -> rusqlite::Result<Vec<(i64, PathBuf, String)>> {
        let mut asked = self.connection.prepare(
            "SELECT number, path, stamp FROM file WHERE EXISTS (SELECT 1 FROM session WHERE session.file = file.number)
             AND NOT EXISTS (SELECT 1 FROM indexed WHERE indexed.file = file.number AND indexed.stamp = file.stamp)",
        )?;
        let files = asked
            .query_map([], |row| Ok((row.get(0)?, PathBuf::from(row.get::<_, String>(1)?), row.get(2)?)))?;
        files.collect()
    }

    /// Replaces the words of the sessions of a file.
    pub(crate) fn replace_words(
        &mut self,
        file: i64,
        stamp: &str,
        parts: &[SessionWords],
    ) -> rusqlite::Result<()> {
        let changes = self.connection.transaction()?;
        remove_words(&changes, file)?;
        insert_words(&changes, file, stamp, parts)?;
        changes.commit()
    }

    /// The sessions that may have a hit: the number of the file and the number in it.
    pub(crate) fn fitting(&self, query: &SearchQuery) -> rusqlite::Result<HashSet<(i64, u64)>> {
        let mut asked = self.connection.prepare("SELECT number, tools, failed, file, part FROM indexed")?;
        let mut rows = asked.query([])?;
        let mut found = HashMap::new();
        while let Some(row) = rows.next()? {
            let tools = row.get_ref(1)?.as_str().unwrap_or_default();
            let has_tool = query.tool.as_ref().is_none_or(|tool| tools.contains(tool.as_str()));
            if has_tool && (!query.errors || row.get(2)?) {
                let part = (row.get(3)?, u64::try_from(row.get::<_, i64>(4)?).unwrap_or(0));
                found.insert(row.get::<_, i64>(0)?, part);
            }
        }
        let mut frequent = HashSet::new();
        let words = query.hashes().into_iter().map(|hash| (words::bucket(hash), IndexTest::Word(hash)));
        let pairs = query.pairs().into_iter().map(|pair| (pair.bucket(), IndexTest::Pair(pair)));
        self.test_index(words.chain(pairs), &mut found, &mut frequent)?;
        let runs = query.runs().into_iter().map(|(run, words)| (run.bucket(), IndexTest::Run(run, words)));
        self.test_index(runs, &mut found, &mut frequent)?;
        Ok(found.into_values().collect())
    }

    /// Removes the sessions whose index does not meet all tests, and adds the frequent words of the others.
    fn test_index(
        &self,
        tests: impl Iterator<Item = (u32, IndexTest)>,
        found: &mut HashMap<i64, (i64, u64)>,
        frequent: &mut HashSet<(i64, u32)>,
    ) -> rusqlite::Result<()> {
        let mut buckets: BTreeMap<u32, Vec<IndexTest>> = BTreeMap::new();
        for (bucket, test) in tests {
            buckets.entry(bucket).or_default().push(test);
        }
        let mut asked = self
            .connection
            .prepare_cached("SELECT place, hashes, pairs, runs FROM words WHERE place BETWEEN ?1 AND ?2")?;
        for (bucket, tests) in buckets {
            if found.is_empty() {
                break;
            }
            let mut rows = asked.query([place(bucket, 0), place(bucket, MOST_NUMBER)])?;
            let mut fitting = HashSet::new();
            while let Some(row) = rows.next()? {
                let number = row.get::<_, i64>(0)? & MOST_NUMBER;
                if !found.contains_key(&number) {
                    continue;
                }
                let blob =
                    |column| Ok::<_, rusqlite::Error>(row.get_ref(column)?.as_blob().unwrap_or_default());
                let mut holds = true;
                for test in &tests {
                    holds &= match test {
                        IndexTest::Word(hash) => {
                            let frequency = words::frequency(blob(1)?, *hash);
                            if frequency == Some(Frequency::Frequent) {
                                frequent.insert((number, *hash));
                            }
                            frequency.is_some()
                        }
                        IndexTest::Pair(pair) => pair.is_in_pairs(blob(2)?),
                        run @ IndexTest::Run(phrase, _) => {
                            !run.applies_to(number, frequent) || phrase.is_in_runs(blob(3)?)
                        }
                    };
                }
                if holds {
                    fitting.insert(number);
                }
            }
            // A session without a row has no word, no pair and no run of the bucket.
            found.retain(|number, _| {
                fitting.contains(number) || !tests.iter().any(|test| test.applies_to(*number, frequent))
            });
        }
        Ok(())
    }

    /// The files that could not be read, and the reasons.
    pub(crate) fn failures(&self) -> rusqlite::Result<Vec<(String, String)>> {
        let mut asked = self
            .connection
            .prepare("SELECT path, failure FROM file WHERE failure IS NOT NULL ORDER BY path")?;
        asked.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
    }
}

/// A condition that the index of a session must meet.
enum IndexTest {
    /// The session has a word with this hash.
    Word(u32),
    /// The session has these two words one after the other.
    Pair(Phrase),
    /// The session has these words one after the other, if all of them are frequent in it.
    Run(Phrase, Vec<u32>),
}

impl IndexTest {
    /// Whether the index of a session must meet the condition.
    fn applies_to(&self, number: i64, frequent: &HashSet<(i64, u32)>) -> bool {
        match self {
            Self::Word(_) | Self::Pair(_) => true,
            Self::Run(_, words) => words.iter().all(|hash| frequent.contains(&(number, *hash))),
        }
    }
}

/// The largest number of an indexed session.
const MOST_NUMBER: i64 = (1 << 40) - 1;

/// The place of a bucket of the words of an indexed session.
const fn place(bucket: u32, number: i64) -> i64 {
    (bucket as i64) << 40 | number
}

/// Removes a file with its sessions and their words.
fn remove(changes: &Transaction<'_>, file: i64) -> rusqlite::Result<()> {
    changes.execute("DELETE FROM session WHERE file = ?1", [file])?;
    changes.execute("DELETE FROM file WHERE number = ?1", [file])?;
    remove_words(changes, file)
}

fn remove_words(changes: &Transaction<'_>, file: i64) -> rusqlite::Result<()> {
    let mut asked = changes.prepare_cached("DELETE FROM indexed WHERE file = ?1 RETURNING number")?;
    let numbers: Vec<i64> = asked.query_map([file], |row| row.get(0))?.collect::<Result<_, _>>()?;
    let mut removal = changes.prepare_cached("DELETE FROM words WHERE place = ?1")?;
    for number in numbers {
        for bucket in 0..words::BUCKETS {
            removal.execute([place(bucket, number)])?;
        }
    }
    Ok(())
}

fn insert_words(
    changes: &Transaction<'_>,
    file: i64,
    stamp: &str,
    parts: &[SessionWords],
) -> rusqlite::Result<()> {
    let mut session = changes.prepare_cached(
        "INSERT INTO indexed (file, part, stamp, tools, failed) VALUES (?1, ?2, ?3, ?4, ?5)",
    )?;
    let mut words =
        changes.prepare_cached("INSERT INTO words (place, hashes, pairs, runs) VALUES (?1, ?2, ?3, ?4)")?;
    for (part, found) in parts.iter().enumerate() {
        session.execute(params![file, part, stamp, found.tools, found.has_failure])?;
        let number = changes.last_insert_rowid();
        for (bucket, WordBucket { hashes, pairs, runs }) in (0..).zip(found.buckets()) {
            // A bucket without a row has no word, no pair and no run.
            let has_bits = pairs.is_empty() || pairs.iter().chain(runs).any(|byte| *byte != 0);
            if !hashes.is_empty() || has_bits {
                words.execute(params![place(bucket, number), hashes, pairs, runs])?;
            }
        }
    }
    Ok(())
}

/// A file that was read.
#[derive(Debug)]
pub(crate) struct ReadFile {
    pub(crate) path: String,
    pub(crate) agent: &'static str,
    pub(crate) stamp: String,
    pub(crate) sessions: Vec<ListedSession>,
    /// The words of each session, if the file was read for them.
    pub(crate) words: Option<Vec<SessionWords>>,
    /// The reason why a part of the file could not be read.
    pub(crate) failure: Option<String>,
}

/// The state of a file: its size, its time and its number on the device, also those of the journal of a database. `None`
/// for a file that is gone.
pub(crate) fn stamp(path: &Path) -> Option<String> {
    let of = |path: &Path| {
        let meta = fs::metadata(path).ok()?;
        let changed = meta.modified().ok()?.duration_since(UNIX_EPOCH).map_or(0, |time| time.as_nanos());
        #[cfg(unix)]
        let number = std::os::unix::fs::MetadataExt::ino(&meta);
        #[cfg(not(unix))]
        let number = 0;
        Some(format!("{}:{changed}:{number}", meta.len()))
    };
    let mut journal = path.as_os_str().to_owned();
    journal.push("-wal");
    let journal = of(Path::new(&journal)).unwrap_or_default();
    Some(format!("{} {journal}", of(path)?))
}

fn bounded(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// Makes a folder that only the user can open, unless it is there already.
fn make_private(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Whether an error means that the file is no sound database.
fn is_damage(error: &rusqlite::Error) -> bool {
    let code = error.sqlite_error_code();
    matches!(code, Some(rusqlite::ErrorCode::NotADatabase | rusqlite::ErrorCode::DatabaseCorrupt))
}
