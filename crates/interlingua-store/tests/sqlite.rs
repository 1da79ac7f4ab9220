//! The store in SQLite: the suite of the trait, and the facts about its file.

#![expect(clippy::expect_used, reason = "a test that cannot run has failed")]

mod support;

use interlingua_store::{
    ExchangeRecorder, RecorderSettings, Retention, SessionLog, StoreError, StorePlace, StoreTrouble, open,
};
use support::session_suite::{SESSION_SUITE, VERSION_1, version_1_is_migrated};
use support::suite::SUITE;
use support::{NOON, exchange, full_exchange, noise};

fn place(folder: &tempfile::TempDir) -> StorePlace {
    StorePlace::Sqlite(folder.path().join("store.db"))
}

#[test]
fn sqlite_passes_the_suite() {
    for (name, test) in SUITE.into_iter().chain(SESSION_SUITE) {
        println!("{name}");
        test(&place(&tempfile::tempdir().expect("a folder")));
    }
}

#[test]
fn a_newer_schema_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    open(&place(&folder)).expect("created");
    let path = folder.path().join("store.db");
    let database = rusqlite::Connection::open(path).expect("opens");
    database.execute("UPDATE store_meta SET value = 99", []).expect("changed");
    let error = open(&place(&folder)).err().expect("refused");
    assert!(matches!(error, StoreError::Newer(99, 1)), "{error}");
    assert!(error.to_string().contains("99"), "{error}");
}

#[test]
fn sessions_of_an_earlier_version_are_migrated() {
    let folder = tempfile::tempdir().expect("a folder");
    open(&place(&folder)).expect("created");
    let database = rusqlite::Connection::open(folder.path().join("store.db")).expect("opens");
    database.execute_batch(&VERSION_1.replace("BYTES", "BLOB")).expect("created");
    version_1_is_migrated(&place(&folder));
    // A version 2 without its number is taken as it is.
    let before = SessionLog::open(&place(&folder)).expect("opens").sessions().wait().expect("read");
    assert_eq!(before.len(), 3);
    database.execute("DELETE FROM store_meta WHERE name = 'sessions'", []).expect("deleted");
    let after = SessionLog::open(&place(&folder)).expect("opens").sessions().wait().expect("read");
    assert_eq!(after, before);
}

#[test]
fn sessions_of_a_later_version_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    drop(SessionLog::open(&place(&folder)).expect("created"));
    let database = rusqlite::Connection::open(folder.path().join("store.db")).expect("opens");
    database.execute("UPDATE store_meta SET value = 3 WHERE name = 'sessions'", []).expect("changed");
    let error = SessionLog::open(&place(&folder)).map(drop).expect_err("refused");
    assert!(matches!(error, StoreError::Newer(3, 2)), "{error}");
    open(&place(&folder)).expect("the exchanges are readable");
}

#[test]
fn several_programs_may_create_the_store_at_once() {
    for round in 0..40 {
        let folder = tempfile::tempdir().expect("a folder");
        let start = std::sync::Barrier::new(4);
        std::thread::scope(|scope| {
            for number in 0..4 {
                let (start, place) = (&start, place(&folder));
                scope.spawn(move || {
                    start.wait();
                    let mut store = open(&place).expect("opens");
                    store.append(&[exchange(&format!("{round}-{number}"), number)]).expect("stored");
                });
            }
        });
        let mut store = open(&place(&folder)).expect("opens");
        assert_eq!(store.size().expect("counted").exchanges, 4);
    }
}

#[test]
fn databases_of_other_programs_stay_as_they_are() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("store.db");
    let database = rusqlite::Connection::open(&path).expect("opens");
    database.execute("CREATE TABLE exchange (name TEXT)", []).expect("created");
    drop(database);
    let before = std::fs::read(&path).expect("read");
    assert!(matches!(open(&place(&folder)), Err(StoreError::Foreign(_))));
    assert_eq!(std::fs::read(&path).expect("read"), before);
    std::fs::write(&path, "not a database, but a longer text").expect("written");
    let error = open(&place(&folder)).err().expect("refused");
    assert!(error.to_string().contains("not a database"), "{error}");
    let missing = StorePlace::Sqlite(folder.path().join("missing/store.db"));
    assert!(matches!(open(&missing), Err(StoreError::Open(..))));
}

/// A file whose database refuses the exchange `bad`.
fn refusing(folder: &tempfile::TempDir) -> StorePlace {
    open(&place(folder)).expect("created");
    let database = rusqlite::Connection::open(folder.path().join("store.db")).expect("opens");
    let trigger = "CREATE TRIGGER refuse BEFORE INSERT ON exchange WHEN NEW.id = 'bad' \
        BEGIN SELECT RAISE(ABORT, 'not this one'); END";
    database.execute(trigger, []).expect("created");
    place(folder)
}

#[test]
fn a_refused_batch_stores_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut store = open(&refusing(&folder)).expect("opens");
    let error =
        store.append(&[exchange("a", 0), full_exchange("b"), exchange("bad", 0)]).expect_err("refused");
    assert!(error.to_string().contains("not this one") && !error.is_retryable(), "{error}");
    assert_eq!(store.size().expect("counted").bytes, 0);
    store.append(&[exchange("a", 0)]).expect("the store goes on");
}

#[test]
fn a_refused_exchange_takes_no_other_with_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let place = refusing(&folder);
    let (reports, reported) = std::sync::mpsc::channel();
    let report =
        move |trouble: &StoreTrouble<'_>| reports.send(trouble.to_string()).expect("the test listens");
    let recorder = ExchangeRecorder::open(RecorderSettings::new(place), report).expect("opens");
    for id in ["a", "bad", "b"] {
        assert!(recorder.record(exchange(id, 0)));
    }
    assert!(matches!(recorder.flush().wait(), Err(StoreError::Lost(1))));
    recorder.flush().wait().expect("nothing was lost since");
    assert_eq!((recorder.counts().stored, recorder.counts().failed), (2, 1));
    let reported: Vec<String> = reported.try_iter().collect();
    assert!(
        matches!(&*reported, [one] if one.contains("`bad`") && one.contains("not this one")),
        "{reported:?}"
    );
}

#[test]
fn the_end_does_not_wait_for_ever() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut settings = RecorderSettings::new(place(&folder));
    settings.last_tries = std::time::Duration::ZERO;
    let (reports, reported) = std::sync::mpsc::channel();
    let report = move |trouble: &StoreTrouble<'_>| {
        if let StoreTrouble::Lost(count, _) = trouble {
            reports.send(*count).expect("the test listens");
        }
    };
    let recorder = ExchangeRecorder::open(settings, report).expect("opens");
    let other = rusqlite::Connection::open(folder.path().join("store.db")).expect("opens");
    other.execute_batch("BEGIN IMMEDIATE").expect("locked");
    assert!(recorder.record(exchange("a", 0)));
    recorder.close();
    assert_eq!(reported.try_iter().sum::<u64>(), 1);
    assert_eq!((recorder.counts().stored, recorder.counts().failed), (0, 1));
}

#[cfg(unix)]
#[test]
fn only_the_user_reads_the_files() {
    use std::os::unix::fs::PermissionsExt as _;

    let folder = tempfile::tempdir().expect("a folder");
    let mut store = open(&place(&folder)).expect("created");
    store.append(&[exchange("a", 0)]).expect("stored");
    let files: Vec<_> = std::fs::read_dir(folder.path()).expect("listed").flatten().collect();
    assert_eq!(files.len(), 3, "{files:?}");
    for file in files {
        let mode = file.metadata().expect("a mode").permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{:?}", file.file_name());
    }
}

#[test]
fn deleted_exchanges_free_the_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("store.db");
    let mut store = open(&place(&folder)).expect("created");
    for number in 0..100 {
        let mut exchange = full_exchange(&format!("x{number}"));
        exchange.facts.started_ms = NOON + number;
        exchange.request = noise(100_000, number).into();
        store.append(&[exchange]).expect("stored");
    }
    let length = || std::fs::metadata(&path).expect("a file").len();
    let counted = store.size().expect("counted").bytes;
    drop(store);
    let before = length();
    // The documented difference between the counted bytes and the file.
    assert!(before < counted * 5 / 4, "{before} for {counted}");
    let mut store = open(&place(&folder)).expect("opens");
    while store.retain(&Retention::new(None, Some(counted / 10)), NOON).expect("deleted").more {}
    drop(store);
    assert!(length() < before / 8, "{} of {before}", length());
}
