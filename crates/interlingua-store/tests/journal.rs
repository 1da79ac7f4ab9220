//! The journal beside an SQLite file: calls that are stored, and not in the database yet.

#![expect(clippy::expect_used, reason = "a test that cannot run has failed")]

mod support;

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};

use interlingua_store::{
    ExchangeRecorder, ListFilter, RecorderSettings, Retention, StoreError, StorePlace, StoreTrouble, open,
};
use support::{NOON, exchange, full_exchange, noise};

/// The file of the store and the prefix of ids, for the child process.
const FILE: &str = "INTERLINGUA_JOURNAL_TEST_FILE";
const PREFIX: &str = "INTERLINGUA_JOURNAL_TEST_PREFIX";

fn path(folder: &tempfile::TempDir) -> PathBuf {
    folder.path().join("store.db")
}

fn settings(path: &Path) -> RecorderSettings {
    RecorderSettings::new(StorePlace::Sqlite(path.to_owned()))
}

/// A recorder, and its reports.
fn recorder(settings: RecorderSettings) -> (ExchangeRecorder, Receiver<String>) {
    let (reports, reported) = channel();
    // The test may end before the recorder.
    let report = move |trouble: &StoreTrouble<'_>| drop(reports.send(trouble.to_string()));
    (ExchangeRecorder::open(settings, report).expect("opens"), reported)
}

fn ids(path: &Path) -> Vec<String> {
    let mut filter = ListFilter::default();
    filter.limit = 100_000;
    let mut store = open(&StorePlace::Sqlite(path.to_owned())).expect("opens");
    let mut ids: Vec<String> =
        store.list(&filter).expect("listed").into_iter().map(|facts| facts.id).collect();
    ids.sort();
    ids
}

fn journal_of(path: &Path) -> PathBuf {
    let mut folder = path.as_os_str().to_owned();
    folder.push("-calls");
    folder.into()
}

fn segments(path: &Path) -> Vec<PathBuf> {
    let files = std::fs::read_dir(journal_of(path)).expect("a journal").flatten().map(|file| file.path());
    files.filter(|file| file.extension().is_some_and(|ending| ending == "calls")).collect()
}

/// A connection that keeps every other one from writing.
fn locked(path: &Path) -> rusqlite::Connection {
    let other = rusqlite::Connection::open(path).expect("opens");
    other.busy_timeout(std::time::Duration::from_secs(20)).expect("set");
    other.execute_batch("BEGIN IMMEDIATE").expect("locked");
    other
}

#[test]
fn a_stored_call_is_readable_at_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = path(&folder);
    let (recorder, reported) = recorder(settings(&path));
    let (neighbour, _) = self::recorder(settings(&path));
    for number in 0..20 {
        let id = format!("x{number:02}");
        let mut call = full_exchange(&id);
        call.facts.started_ms = NOON + number;
        recorder.record_and_flush(call.clone()).wait().expect("stored");
        // The recorder itself, a recorder of another process, and a program that only reads.
        let wanted = id.clone();
        let read = match number % 3 {
            0 => recorder.read(move |store| store.get(&wanted)).wait(),
            1 => neighbour.read(move |store| store.get(&wanted)).wait(),
            _ => open(&StorePlace::Sqlite(path.clone())).expect("opens").get(&wanted),
        };
        assert_eq!(read.expect("read").expect("stored"), call);
        assert_eq!(recorder.read(|store| store.size()).wait().expect("counted").exchanges, number + 1);
    }
    // The calls of both are summed, and none is counted twice.
    neighbour.record_and_flush(exchange("y", 0)).wait().expect("stored");
    let sums = recorder.read(|store| store.sums(0, None)).wait().expect("summed");
    assert_eq!(sums.iter().map(|sums| sums.exchanges).sum::<u64>(), 21);
    recorder.close();
    neighbour.close();
    assert_eq!((recorder.counts().stored, recorder.counts().failed), (20, 0));
    assert_eq!(reported.try_iter().next(), None);
    assert!(!journal_of(&path).exists(), "an empty journal leaves nothing");
    assert_eq!(ids(&path).len(), 21);
}

#[test]
fn many_threads_append_to_one_journal() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = path(&folder);
    let (recorder, reported) = recorder(settings(&path));
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let recorder = &recorder;
            scope.spawn(move || {
                for number in 0..500 {
                    let mut call = exchange(&format!("{thread}-{number:03}"), number);
                    call.response = noise(number as usize * 20, number).into();
                    recorder.record_and_flush(call).wait().expect("stored");
                }
            });
        }
    });
    recorder.flush().wait().expect("transferred");
    assert_eq!(recorder.counts().stored, 2000);
    assert_eq!(segments(&path), Vec::<PathBuf>::new());
    let mut store = open(&StorePlace::Sqlite(path.clone())).expect("opens");
    for (thread, number) in [(0, 0), (1, 250), (3, 499)] {
        let stored = store.get(&format!("{thread}-{number:03}")).expect("read").expect("stored");
        assert_eq!(stored.response, noise(number as usize * 20, number).into_bytes());
    }
    assert_eq!(ids(&path).len(), 2000);
    assert_eq!(reported.try_iter().next(), None);
}

#[test]
fn a_full_journal_makes_calls_wait_and_loses_none() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = path(&folder);
    let mut settings = settings(&path);
    settings.most_waiting_bytes = 100_000;
    let (recorder, reported) = recorder(settings);
    for number in 0..100 {
        let mut call = exchange(&format!("x{number:02}"), number);
        call.request = noise(20_000, number).into();
        recorder.record_and_flush(call).wait().expect("stored");
        let held: u64 =
            segments(&path).iter().filter_map(|file| file.metadata().ok()).map(|file| file.len()).sum();
        assert!(held < 200_000, "{held}");
    }
    recorder.close();
    assert_eq!(recorder.counts().stored, 100);
    assert_eq!(ids(&path).len(), 100);
    assert_eq!(reported.try_iter().next(), None);
}

#[test]
fn refused_calls_are_reported_and_take_no_other_with_them() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = path(&folder);
    open(&StorePlace::Sqlite(path.clone())).expect("created");
    let database = rusqlite::Connection::open(&path).expect("opens");
    let trigger = "CREATE TRIGGER refuse BEFORE INSERT ON exchange WHEN NEW.id = 'bad' \
        BEGIN SELECT RAISE(ABORT, 'not this one'); END";
    database.execute(trigger, []).expect("created");
    let (recorder, reported) = recorder(settings(&path));
    for id in ["a", "bad", "b"] {
        recorder.record_and_flush(exchange(id, 0)).wait().expect("in the journal");
    }
    assert!(matches!(recorder.flush().wait(), Err(StoreError::Lost(1))));
    recorder.flush().wait().expect("nothing was lost since");
    assert_eq!((recorder.counts().stored, recorder.counts().failed), (2, 1));
    let reported: Vec<String> = reported.try_iter().collect();
    assert!(
        matches!(&*reported, [one] if one.contains("`bad`") && one.contains("not this one")),
        "{reported:?}"
    );
    assert_eq!(ids(&path), ["a", "b"]);
}

#[test]
fn a_locked_database_stops_no_call_and_loses_none() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = path(&folder);
    let mut first = settings(&path);
    first.last_tries = std::time::Duration::ZERO;
    let (recorder, reported) = recorder(first);
    let other = locked(&path);
    recorder.record_and_flush(exchange("a", 0)).wait().expect("in the journal");
    // A read that cannot see the call is an error, not a wrong answer.
    let read = recorder.read(|store| store.get("a")).wait();
    assert!(matches!(read, Err(StoreError::Unavailable(_))), "{read:?}");
    recorder.close();
    let reported: Vec<String> = reported.try_iter().collect();
    assert!(reported.iter().any(|trouble| trouble.contains("until the next start")), "{reported:?}");
    assert_eq!(recorder.counts().failed, 0);
    assert!(!segments(&path).is_empty());
    drop(other);
    let (recorder, reported) = self::recorder(settings(&path));
    assert!(recorder.read(|store| store.get("a")).wait().expect("read").is_some());
    assert_eq!(segments(&path), Vec::<PathBuf>::new());
    recorder.close();
    assert_eq!(reported.try_iter().next(), None);
}

#[cfg(unix)]
#[test]
fn only_the_user_reads_the_journal() {
    use std::os::unix::fs::PermissionsExt as _;

    let folder = tempfile::tempdir().expect("a folder");
    let path = path(&folder);
    let (recorder, _) = recorder(settings(&path));
    let other = locked(&path);
    let mut call = exchange("a", 0);
    call.facts.path = "/v1beta/models/m:generateContent?key=secret".into();
    recorder.record_and_flush(call).wait().expect("stored");
    let mode = |path: &Path| path.metadata().expect("a mode").permissions().mode() & 0o777;
    assert_eq!(mode(&journal_of(&path)), 0o700);
    let files: Vec<_> = std::fs::read_dir(journal_of(&path)).expect("listed").flatten().collect();
    assert_eq!(files.len(), 2, "{files:?}");
    for file in files {
        assert_eq!(mode(&file.path()), 0o600, "{file:?}");
        let bytes = std::fs::read(file.path()).expect("read");
        assert!(!bytes.windows(6).any(|window| window == b"secret"), "a query may hold a key");
    }
    drop(other);
}

/// A process that records calls.
struct Recording {
    process: Child,
    lines: std::io::Lines<BufReader<ChildStdout>>,
}

impl Recording {
    fn start(command: &mut Command, path: &Path, prefix: &str) -> Self {
        let mut process = command
            .args(["--exact", "child_process", "--ignored", "--nocapture"])
            .env(FILE, path)
            .env(PREFIX, prefix)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("started");
        let lines = BufReader::new(process.stdout.take().expect("its output")).lines();
        let mut recording = Self { process, lines };
        assert_eq!(recording.next().as_deref(), Some("open"));
        recording
    }

    fn of(path: &Path, prefix: &str) -> Self {
        Self::start(&mut Command::new(std::env::current_exe().expect("this program")), path, prefix)
    }

    /// Asks for calls.
    fn ask(&mut self, count: u64) {
        let stdin = self.process.stdin.as_mut().expect("its input");
        writeln!(stdin, "{count}").expect("asked");
    }

    /// The next line of the process's own.
    fn next(&mut self) -> Option<String> {
        // The harness prints its own lines, too.
        let of = |line: String| line.split_once("child: ").map(|(_, line)| line.to_owned());
        self.lines.by_ref().map(|line| line.expect("a line")).find_map(of)
    }

    /// Waits until this many calls are stored; returns their ids.
    fn stored(&mut self, count: usize) -> Vec<String> {
        let mut stored = Vec::new();
        while stored.len() < count {
            let line = self.next().expect("a line");
            stored.push(line.strip_prefix("stored ").expect("a stored call").to_owned());
        }
        stored
    }

    fn kill(mut self) {
        self.process.kill().expect("killed");
        self.process.wait().expect("ended");
    }

    fn end(mut self) {
        drop(self.process.stdin.take());
        assert!(self.process.wait().expect("ended").success());
    }
}

/// The work of a child process: records as many calls as each line of its input says, and prints the id of each one that
/// is stored.
#[test]
#[ignore = "the work of a child process"]
fn child_process() {
    let (Ok(file), Ok(prefix)) = (std::env::var(FILE), std::env::var(PREFIX)) else { return };
    let say = |line: &str| println!("child: {line}");
    let report = move |trouble: &StoreTrouble<'_>| say(&format!("trouble {trouble}"));
    let recorder = ExchangeRecorder::open(settings(Path::new(&file)), report).expect("opens");
    say("open");
    let mut number = 0;
    for line in std::io::stdin().lines() {
        for _ in 0..line.expect("a line").parse::<u64>().expect("a number") {
            let id = format!("{prefix}{number:04}");
            recorder.record_and_flush(call(&id, number)).wait().expect("stored");
            say(&format!("stored {id}"));
            number += 1;
        }
    }
    recorder.close();
}

/// A call whose request has a shared part.
fn call(id: &str, number: u64) -> interlingua_store::StoredExchange {
    let mut call = exchange(id, number);
    call.request = (noise(10_000, 1) + id + &noise(10_000, number)).into();
    call
}

#[test]
fn a_killed_process_loses_no_call() {
    for round in 0..5 {
        let folder = tempfile::tempdir().expect("a folder");
        let path = path(&folder);
        let mut child = Recording::of(&path, "k");
        child.ask(1_000_000);
        let stored = child.stored(20 + round * 133);
        child.kill();
        // A program that only reads sees every call.
        let mut store = open(&StorePlace::Sqlite(path.clone())).expect("opens");
        for (number, id) in stored.iter().enumerate() {
            let found = store.get(id).expect("readable").expect("a stored call");
            assert_eq!(found.request, call(id, number as u64).request);
        }
        drop(store);
        // The call that was written during the kill may be cut. The journal is gone after the next start.
        let (recorder, reported) = recorder(settings(&path));
        assert!(
            recorder.read(|store| store.size()).wait().expect("counted").exchanges >= stored.len() as u64
        );
        recorder.close();
        let reported: Vec<String> = reported.try_iter().collect();
        assert!(
            reported.iter().all(|trouble| trouble.contains("in the middle of an exchange")),
            "{reported:?}"
        );
        assert!(!journal_of(&path).exists());
    }
}

/// The journal of a killed process with five calls, none of which is in the database.
fn killed(path: &Path) -> PathBuf {
    let mut child = Recording::of(path, "x");
    let other = locked(path);
    child.ask(5);
    assert_eq!(child.stored(5), ["x0000", "x0001", "x0002", "x0003", "x0004"]);
    child.kill();
    drop(other);
    let segments = segments(path);
    // A transfer may have begun a second segment.
    assert!(!segments.is_empty());
    segments.into_iter().max().expect("a segment")
}

/// A change of a file.
type Change = fn(&mut Vec<u8>);

#[test]
fn a_journal_is_cut_at_the_last_whole_call() {
    let change_none: Change = |_| {};
    let changes: [(&str, Change, bool); 6] = [
        ("whole", change_none, false),
        ("in the last call", |bytes| bytes.truncate(bytes.len() - 100), true),
        ("in a head", |bytes| bytes.extend([9, 9, 9]), true),
        ("zeros of a power failure", |bytes| bytes.extend([0; 5000]), true),
        ("a changed byte", |bytes| *bytes.iter_mut().next_back().expect("a byte") ^= 1, true),
        ("no entry", |bytes| bytes.truncate(7), false),
    ];
    for (name, change, is_cut) in changes {
        let folder = tempfile::tempdir().expect("a folder");
        let path = path(&folder);
        let last = killed(&path);
        let mut bytes = std::fs::read(&last).expect("read");
        change(&mut bytes);
        std::fs::write(&last, bytes).expect("changed");
        // A program that only reads changes nothing in the journal.
        let read = ids(&path);
        assert!(last.exists(), "{name}");
        let (recorder, reported) = recorder(settings(&path));
        recorder.flush().wait().expect("flushed");
        assert_eq!(ids(&path), read, "{name}");
        let all = ["x0000", "x0001", "x0002", "x0003", "x0004"];
        match name {
            "whole" | "in a head" | "zeros of a power failure" => assert_eq!(read, all, "{name}"),
            "no entry" => assert!(all.iter().zip(&read).all(|(one, other)| one == other), "{name}: {read:?}"),
            _ => assert_eq!(read, all[..4], "{name}"),
        }
        recorder.close();
        let reported: Vec<String> = reported.try_iter().collect();
        assert_eq!(
            reported.iter().filter(|trouble| trouble.contains("were cut")).count(),
            usize::from(is_cut),
            "{name}: {reported:?}"
        );
        assert!(!journal_of(&path).exists(), "{name}");
    }
}

#[test]
fn a_file_of_another_program_stays() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = path(&folder);
    std::fs::create_dir(journal_of(&path)).expect("created");
    let later = journal_of(&path).join("later-00000000.calls");
    std::fs::write(&later, "interlingua-calls 2\nof a later version").expect("written");
    let (recorder, reported) = recorder(settings(&path));
    recorder.record_and_flush(exchange("a", 0)).wait().expect("stored");
    recorder.close();
    let reported: Vec<String> = reported.try_iter().collect();
    assert!(matches!(&*reported, [one, ..] if one.contains("later-00000000")), "{reported:?}");
    assert!(later.exists());
    assert_eq!(ids(&path), ["a"]);
}

#[test]
fn two_processes_share_a_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = path(&folder);
    let mut children = ["one", "two"].map(|prefix| Recording::of(&path, prefix));
    for child in &mut children {
        child.ask(300);
    }
    // A third process reads, and starts and ends a recorder, while both write.
    let mut seen = 0;
    while seen < 300 {
        let (recorder, reported) = recorder(settings(&path));
        let now = recorder.read(|store| store.size()).wait().expect("counted").exchanges;
        assert!(now >= seen);
        seen = now;
        recorder.close();
        assert_eq!(reported.try_iter().next(), None);
    }
    for mut child in children {
        assert_eq!(child.stored(300).len(), 300);
        child.end();
    }
    let mut store = open(&StorePlace::Sqlite(path.clone())).expect("opens");
    assert_eq!(store.size().expect("counted").exchanges, 600);
    for found in store.conversation("c1").expect("every call is whole") {
        let number = found.facts.started_ms - NOON;
        assert_eq!(found.request, call(&found.facts.id, number).request);
    }
    assert!(!journal_of(&path).exists());
}

#[test]
fn old_calls_of_a_journal_are_deleted() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = path(&folder);
    killed(&path);
    // The calls have a time in the future: retention by size deletes them all.
    let retained = settings(&path).with_retention(Retention::new(None, Some(0)));
    let (recorder, reported) = recorder(retained);
    while recorder.counts().deleted < 5 {
        recorder.flush().wait().expect("flushed");
    }
    recorder.close();
    assert_eq!(ids(&path), Vec::<String>::new());
    assert_eq!(reported.try_iter().next(), None);
}

/// No file may grow over a limit, as on a full disk; then the limit is lifted.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_reported_and_loses_no_call() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = path(&folder);
    let program = std::env::current_exe().expect("this program");
    let mut limited = Command::new("sh");
    // The limit has units of 512 bytes.
    limited.args(["-c", "trap '' XFSZ; ulimit -S -f 800; exec \"$0\" \"$@\""]).arg(program);
    let mut child = Recording::start(&mut limited, &path, "f");
    child.ask(100);
    let (mut stored, mut is_waiting, mut has_recovered) = (Vec::new(), false, false);
    while stored.len() < 100 {
        let line = child.next().expect("a line");
        if let Some(id) = line.strip_prefix("stored ") {
            stored.push(id.to_owned());
        } else if line.contains("trying again") {
            is_waiting = true;
            let pid = child.process.id().to_string();
            let lifted = Command::new("prlimit").args(["--pid", &pid, "--fsize=unlimited"]).status();
            assert!(lifted.expect("prlimit runs").success());
        } else {
            assert!(line.contains("available again"), "{line}");
            has_recovered = true;
        }
    }
    assert!(is_waiting && has_recovered, "the limit was reached and lifted");
    child.end();
    assert_eq!(ids(&path), stored);
    assert!(!journal_of(&path).exists());
}
