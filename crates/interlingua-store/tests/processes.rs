//! Several processes on one SQLite file, and a process that is killed.

#![expect(clippy::expect_used, reason = "a test that cannot run has failed")]

mod support;

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use interlingua_store::{ExchangeRecorder, RecorderSettings, StorePlace, open};
use support::{exchange, noise};

/// The file of the store, for the child process.
const FILE: &str = "INTERLINGUA_STORE_TEST_FILE";
/// The prefix of ids and the number of exchanges, for the child process.
const WORK: &str = "INTERLINGUA_STORE_TEST_WORK";

#[test]
fn a_killed_process_loses_no_flushed_exchange() {
    for round in 0..5 {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("store.db");
        let mut child = child(&path, "k", 1_000_000);
        let lines = BufReader::new(child.stdout.take().expect("its output")).lines();
        let mut flushed = Vec::new();
        for line in lines {
            let line = line.expect("a line");
            // The harness prints its own lines, too.
            flushed.extend(line.strip_prefix("flushed ").map(str::to_owned));
            if flushed.len() == 20 + round * 33 {
                child.kill().expect("killed");
            }
        }
        child.wait().expect("ended");
        let mut store = open(&StorePlace::Sqlite(path.clone())).expect("opens");
        assert!(flushed.len() >= 20);
        for id in &flushed {
            let stored = store.get(id).expect("readable").expect("a flushed exchange is stored");
            assert_eq!(stored.request, request(id).into_bytes());
        }
        assert_sound(&path);
        store.append(&[exchange("after", 0)]).expect("the store goes on");
    }
}

#[test]
fn two_processes_share_a_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("store.db");
    let children = ["one", "two"].map(|prefix| child(&path, prefix, 150));
    for child in children {
        let output = child.wait_with_output().expect("ended");
        assert!(output.status.success());
    }
    let mut store = open(&StorePlace::Sqlite(path.clone())).expect("opens");
    assert_eq!(store.size().expect("counted").exchanges, 300);
    for exchange in store.conversation("c1").expect("every exchange is whole") {
        assert_eq!(exchange.request, request(&exchange.facts.id).into_bytes());
    }
    assert_sound(&path);
}

/// The work of a child process: records exchanges and prints the id of each one that was flushed.
#[test]
#[ignore = "the work of a child process"]
fn child_process() {
    let (Ok(file), Ok(work)) = (std::env::var(FILE), std::env::var(WORK)) else { return };
    let (prefix, count) = work.split_once(' ').expect("a prefix and a number");
    let settings = RecorderSettings::new(StorePlace::Sqlite(file.into()));
    let recorder = ExchangeRecorder::open(settings, |trouble| eprintln!("{trouble}")).expect("opens");
    for number in 0..count.parse::<u64>().expect("a number") {
        let id = format!("{prefix}{number}");
        let mut exchange = exchange(&id, number);
        exchange.request = request(&id).into();
        assert!(recorder.record(exchange));
        recorder.flush().wait().expect("flushed");
        println!("flushed {id}");
    }
}

/// A request with a shared part.
fn request(id: &str) -> String {
    noise(20_000, 1) + id
}

fn child(path: &Path, prefix: &str, count: u64) -> Child {
    let program = std::env::current_exe().expect("this program");
    Command::new(program)
        .args(["--exact", "child_process", "--ignored", "--nocapture"])
        .env(FILE, path)
        .env(WORK, format!("{prefix} {count}"))
        .stdout(Stdio::piped())
        .spawn()
        .expect("started")
}

fn assert_sound(path: &Path) {
    let database = rusqlite::Connection::open(path).expect("opens");
    let verdict: String =
        database.query_row("PRAGMA integrity_check", [], |row| row.get(0)).expect("checked");
    assert_eq!(verdict, "ok");
}
