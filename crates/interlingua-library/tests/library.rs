//! The sessions of a home folder: found, listed, named, and read again only after a change.

#![expect(clippy::expect_used, clippy::panic, reason = "a test that cannot run has failed")]

use std::fs;
use std::path::{Path, PathBuf};

use interlingua_library::{
    Environment, Library, ListedSession, NameError, SearchQuery, SessionBackup, SessionName,
};

/// A home folder with one session of each of these agents, copied from the fixtures of the core.
const SESSIONS: [(&str, &str); 9] = [
    ("anthropic/claude_code/2026-11", ".claude/projects/-w/11111111-0000-4000-8000-000000000001.jsonl"),
    ("openai/codex/2026-11", ".codex/sessions/2026/11/01/rollout-2026-11-01T00-00-00-x.jsonl"),
    ("google/gemini_cli/2026-11", ".gemini/tmp/w/chats/session-1.jsonl"),
    ("google/qwen_code/2026-11", ".qwen/projects/-w/chats/1.jsonl"),
    (
        "agents/kimi_cli/2026-11/context.jsonl",
        ".kimi/sessions/a/22222222-0000-4000-8000-000000000001/context.jsonl",
    ),
    (
        "agents/kimi_cli/2026-11/wire.jsonl",
        ".kimi/sessions/a/22222222-0000-4000-8000-000000000002/wire.jsonl",
    ),
    ("agents/kimi_code/2026-11/main.jsonl", ".kimi-code/sessions/w/session_1/agents/main/wire.jsonl"),
    ("agents/pi/2026-11/shapes.jsonl", ".pi/agent/sessions/--w--/s.jsonl"),
    ("agents/copilot_cli/2026-11/tools.jsonl", ".copilot/session-state/1/events.jsonl"),
];

struct Home(tempfile::TempDir);

impl Home {
    fn new() -> Self {
        let home = Self(tempfile::tempdir().expect("a folder"));
        let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../interlingua/fixtures");
        for (fixture, place) in SESSIONS {
            home.put(&first_log(&fixtures.join(fixture)), place);
        }
        home
    }

    fn put(&self, log: &Path, place: &str) {
        let place = self.0.path().join(place);
        fs::create_dir_all(place.parent().expect("a parent")).expect("a folder");
        fs::copy(log, place).expect("a copy");
    }

    fn library(&self) -> Library {
        let home = ("HOME".into(), self.0.path().into());
        Library::open(Environment::new([home])).expect("a library")
    }

    fn listed(&self) -> Vec<ListedSession> {
        let mut library = self.library();
        library.refresh(|_, _| ()).expect("a refresh");
        library.sessions().expect("sessions")
    }
}

/// The fixture itself, or the first log of a folder of fixtures.
fn first_log(path: &Path) -> PathBuf {
    if path.is_file() {
        return path.to_owned();
    }
    let entries = fs::read_dir(path).unwrap_or_else(|error| panic!("{}: {error}", path.to_string_lossy()));
    let mut logs: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    logs.retain(|path| path.extension().is_some_and(|end| end == "jsonl"));
    logs.sort();
    logs.into_iter().next().expect("a log")
}

#[test]
fn every_agent_is_found() {
    let listed = Home::new().listed();
    let mut agents: Vec<&str> = listed.iter().map(|session| session.agent.as_str()).collect();
    agents.sort_unstable();
    let expected = [
        "claude-code",
        "codex",
        "copilot-cli",
        "gemini-cli",
        "kimi-cli",
        "kimi-cli",
        "kimi-code",
        "pi",
        "qwen-code",
    ];
    assert_eq!(agents, expected);
    assert!(listed.iter().all(|session| session.bytes > 0 && !session.id().is_empty()));
    assert!(listed.is_sorted_by_key(|session| std::cmp::Reverse(session.last())), "the newest is first");
}

#[test]
fn only_changed_files_are_read_again() {
    let home = Home::new();
    let read = |expected: usize| {
        let refreshed = home.library().refresh(|_, _| ()).expect("a refresh");
        assert_eq!((refreshed.read, refreshed.failed), (expected, Vec::new()));
    };
    read(SESSIONS.len());
    read(0);
    let log = home.0.path().join(SESSIONS[7].1);
    let mut text = fs::read(&log).expect("the log");
    text.extend_from_slice(b"\n");
    fs::write(&log, text).expect("a longer log");
    read(1);
    fs::remove_file(&log).expect("removed");
    read(0);
    assert!(home.listed().iter().all(|session| session.agent != "pi"), "the removed session is not listed");
}

#[test]
fn a_damaged_catalogue_is_built_anew() {
    let home = Home::new();
    assert_eq!(home.listed().len(), SESSIONS.len());
    let catalogue = home.0.path().join(".cache/interlingua/sessions.db");
    for end in ["-wal", "-shm"] {
        let _ = fs::remove_file(home.0.path().join(format!(".cache/interlingua/sessions.db{end}")));
    }
    fs::write(&catalogue, "no database at all, but a text that is longer than the head of one")
        .expect("written");
    assert_eq!(home.listed().len(), SESSIONS.len());
}

#[test]
fn files_that_cannot_be_read_are_told() {
    let home = Home::new();
    let broken = home.0.path().join(".pi/agent/sessions/--w--/broken.jsonl");
    fs::write(&broken, "this is no log\n").expect("written");
    let refreshed = home.library().refresh(|_, _| ()).expect("a refresh");
    let [(path, _)] = &refreshed.failed[..] else { panic!("{:?}", refreshed.failed) };
    assert_eq!(Path::new(path), broken);
}

#[test]
fn sessions_have_names() {
    let home = Home::new();
    let listed = home.listed();
    let find = |name: &str| SessionName::of(Path::new(name)).expect("a name").find(&listed);
    assert_eq!(find("latest").expect("found").path, listed[0].path);
    assert_eq!(find("latest:pi").expect("found").agent, "pi");
    assert!(matches!(find("latest:nobody"), Err(NameError::Unknown(_))));
    let [one, ..] = &listed[..] else { panic!("no sessions") };
    assert_eq!(find(&one.id()).expect("found").path, one.path);
    assert!(matches!(find("22222222"), Err(NameError::Several(_, found)) if found.len() == 2));
    assert!(matches!(find("999999999"), Err(NameError::Unknown(_))));
    for path in ["-", "logs", "a.jsonl", "./1234", "logs/*.jsonl", "1234567 8"] {
        assert_eq!(SessionName::of(Path::new(path)), None, "{path}");
    }
}

/// A chat history of Aider in a project.
const HISTORY: &str = "\n# aider chat started at 2026-11-18 20:00:49\n\n> Aider v0.86.2  \n\n#### Raise the tide.  \n\nDone.\n\n\
    > Tokens: 740 sent, 88 received.  \n\n# aider chat started at 2026-11-18 21:00:00\n\n\n#### /exit  \n";

/// A session of Claude Code in a project.
fn session_in(project: &Path) -> String {
    let line = serde_json::json!({"type": "user", "uuid": "u", "parentUuid": null, "version": "2",
        "sessionId": "11111111-0000-4000-8000-000000000009", "cwd": project, "timestamp": "2026-11-01T00:00:00.000Z",
        "message": {"role": "user", "content": "hi"}});
    format!("{line}\n")
}

#[test]
fn sessions_in_the_folders_of_known_projects_are_found() {
    let home = tempfile::tempdir().expect("a folder");
    let (known, listed) = (home.path().join("known"), home.path().join("listed"));
    let logs = home.path().join(".claude/projects/-w");
    for folder in [&known, &listed.join(".crush"), &logs, &home.path().join(".local/share/crush")] {
        fs::create_dir_all(folder).expect("a folder");
    }
    let log = logs.join("1.jsonl");
    fs::write(&log, session_in(&known)).expect("a log");
    fs::write(known.join(".aider.chat.history.md"), HISTORY).expect("a history");
    let database = rusqlite::Connection::open(listed.join(".crush/crush.db")).expect("a database");
    let tables = "CREATE TABLE sessions (id TEXT PRIMARY KEY, title TEXT, created_at INTEGER);
        CREATE TABLE messages (id TEXT, session_id TEXT, role TEXT, parts TEXT, created_at INTEGER);
        INSERT INTO sessions VALUES ('c0ffee01', 'Tides', 1793872800);
        INSERT INTO messages VALUES ('m', 'c0ffee01', 'user', '[{\"type\":\"text\",\"data\":{\"text\":\"hi\"}}]', 1793872801);";
    database.execute_batch(tables).expect("tables");
    drop(database);
    let list = serde_json::json!({"projects": [
        {"path": listed, "data_dir": listed.join(".crush")},
        {"path": "/gone", "data_dir": ".crush"},
    ]});
    fs::write(home.path().join(".local/share/crush/projects.json"), list.to_string()).expect("a list");
    let library =
        || Library::open(Environment::new([("HOME".into(), home.path().into())])).expect("a library");
    let found = || {
        let mut library = library();
        let refreshed = library.refresh(|_, _| ()).expect("a refresh");
        assert_eq!(refreshed.failed, Vec::new());
        let mut found: Vec<(String, String, Option<String>)> = library
            .sessions()
            .expect("sessions")
            .into_iter()
            .map(|session| (session.agent.clone(), session.id(), session.overview.cwd))
            .collect();
        found.sort();
        found
    };
    let row = |agent: &str, id: &str, cwd: &Path| {
        (agent.to_owned(), id.to_owned(), Some(cwd.to_string_lossy().into_owned()))
    };
    let expected = [
        row("aider", "2026-11-18_20-00-49", &known),
        row("aider", "2026-11-18_21-00-00", &known),
        row("claude-code", "11111111-0000-4000-8000-000000000009", &known),
        row("crush", "c0ffee01", &listed),
    ];
    // The first refresh finds the sessions in projects of which it has just read.
    assert_eq!(found(), expected);
    // A project that was found once stays known.
    fs::remove_file(&log).expect("removed");
    assert_eq!(found(), [&expected[..2], &expected[3..]].concat());
    fs::remove_file(known.join(".aider.chat.history.md")).expect("removed");
    assert_eq!(found(), expected[3..]);
    assert_eq!(library().refresh(|_, _| ()).expect("a refresh").read, 0);
}

#[test]
fn a_backup_saves_the_sessions_of_projects() {
    let home = tempfile::tempdir().expect("a folder");
    let project = home.path().join("project");
    fs::create_dir_all(&project).expect("a folder");
    let history = project.join(".aider.chat.history.md");
    fs::write(&history, HISTORY).expect("a history");
    let environment = Environment::new([("HOME".into(), home.path().into())]).with_projects([project]);
    let mut backup = SessionBackup::open(&home.path().join("backup")).expect("a backup");
    let report = backup.save(&environment, 1).expect("saved");
    assert_eq!((report.saved, report.failed), (1, Vec::new()));
    let state = &backup.states()[0];
    assert_eq!((&state.path, state.bytes), (&history, HISTORY.len() as u64));
}

/// The numbers of the sessions with hits for a query.
fn found(library: &mut Library, query: &str) -> Vec<usize> {
    let mut found = Vec::new();
    let search = library.search(&SearchQuery::parse([query]), |session| {
        found.push(
            session.session.path.file_stem().and_then(|stem| stem.to_str()?.parse().ok()).expect("a number"),
        );
        true
    });
    search.expect("a search");
    found.sort_unstable();
    found
}

#[test]
fn a_search_for_a_phrase_of_frequent_words_finds_the_sessions_of_a_plain_scan() {
    let words: Vec<&str> =
        "the of to in is it and that for line file test error build over quay".split(' ').collect();
    let mut random = 7_u64;
    let mut below = |end: usize| {
        random = random.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (random >> 33) as usize % end
    };
    let home = tempfile::tempdir().expect("a folder");
    let folder = home.path().join(".claude/projects/-w");
    fs::create_dir_all(&folder).expect("a folder");
    // Sessions of very different lengths, one of which has too many pairs to be kept.
    let mut sessions: Vec<Vec<String>> = Vec::new();
    for (number, messages) in [1, 2, 5, 40, 300, 1300].into_iter().enumerate() {
        let mut texts = Vec::new();
        let mut log = String::new();
        for at in 0..messages {
            let word = |_| match below(3) {
                0 => format!("w{}", below(8000)),
                _ => words[below(words.len())].to_owned(),
            };
            let text = (0..80).map(word).collect::<Vec<_>>().join(" ");
            let parent = (at > 0).then(|| at.to_string());
            let line = serde_json::json!({"type": "user", "uuid": (at + 1).to_string(), "parentUuid": parent,
                "version": "2", "sessionId": format!("11111111-0000-4000-8000-{number:012}"), "cwd": "/w",
                "timestamp": "2026-11-01T00:00:00.000Z", "message": {"role": "user", "content": text}});
            log = log + &line.to_string() + "\n";
            texts.push(text);
        }
        fs::write(folder.join(format!("{number}.jsonl")), log).expect("a log");
        sessions.push(texts);
    }
    let mut library =
        Library::open(Environment::new([("HOME".into(), home.path().into())])).expect("a library");
    let refreshed = library.refresh_words(|_, _| ()).expect("an index");
    assert_eq!(refreshed.failed, Vec::new());
    assert_eq!(library.sessions().expect("sessions").len(), 6);
    let (mut present, mut absent) = (0, 0);
    for round in 0..300 {
        let length = 2 + below(6);
        let phrase = if round % 2 == 0 {
            let text: Vec<&str> = sessions[round / 2 % 6][0].split(' ').collect();
            text[below(80 - length)..][..length].join(" ")
        } else {
            (0..length).map(|_| words[below(words.len())]).collect::<Vec<_>>().join(" ")
        };
        let has = |text: &String| format!(" {text} ").contains(&format!(" {phrase} "));
        let expected: Vec<usize> = (0..6).filter(|number| sessions[*number].iter().any(has)).collect();
        assert_eq!(found(&mut library, &format!("\"{phrase}\"")), expected, "{phrase}");
        present += expected.len();
        absent += 6 - expected.len();
    }
    assert!(present > 100 && absent > 100, "{present} {absent}");
}
