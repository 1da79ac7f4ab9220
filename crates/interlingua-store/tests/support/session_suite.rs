//! Tests of [`SessionLog`], for each database.

use interlingua_store::{AgentEventRow, AgentSessionRow, SessionLog, StorePlace, open};

use super::suite::SuiteTest;

/// Every test with its name.
pub(crate) const SESSION_SUITE: [(&str, SuiteTest); 7] = [
    ("a_session_comes_back_whole", a_session_comes_back_whole),
    ("events_are_paged_in_order", events_are_paged_in_order),
    ("strange_bytes_are_stored", strange_bytes_are_stored),
    ("sessions_are_deleted_with_their_events", sessions_are_deleted_with_their_events),
    ("first_events_are_trimmed_and_counted", first_events_are_trimmed_and_counted),
    ("a_refused_append_changes_nothing", a_refused_append_changes_nothing),
    ("many_writers_lose_nothing", many_writers_lose_nothing),
];

/// The tables of sessions as version 1 created them, with a session that has two events; `BYTES` is the type of bytes.
pub(crate) const VERSION_1: &str = r#"
    CREATE TABLE agent_session (
        id TEXT PRIMARY KEY,
        agent TEXT NOT NULL,
        settings TEXT NOT NULL,
        native_id TEXT,
        created_ms BIGINT NOT NULL,
        updated_ms BIGINT NOT NULL,
        ended BIGINT NOT NULL,
        sequence BIGINT NOT NULL,
        items BIGINT NOT NULL,
        turns BIGINT NOT NULL
    );
    CREATE TABLE agent_event (
        session TEXT NOT NULL,
        sequence BIGINT NOT NULL,
        event BYTES NOT NULL,
        raw BYTES NOT NULL,
        PRIMARY KEY (session, sequence)
    );
    INSERT INTO agent_session VALUES ('old', 'mock', '{"agent":"mock"}', 'native', 5, 6, 0, 2, 3, 1);
    INSERT INTO agent_session VALUES ('empty', 'mock', '{}', NULL, 4, 4, 1, 0, 0, 0);
    INSERT INTO agent_event VALUES ('old', 1, CAST('12345' AS BYTES), CAST('' AS BYTES));
    INSERT INTO agent_event VALUES ('old', 2, CAST('123' AS BYTES), CAST('1234' AS BYTES));
"#;

/// Opens a store with the tables [`VERSION_1`] twice, and goes on with its session.
pub(crate) fn version_1_is_migrated(place: &StorePlace) {
    for sequence in [3, 4] {
        let log = opened(place);
        let mut row = log.session("old").wait().expect("read").expect("there");
        let stored = 12 + (sequence - 3) * event(3).size();
        assert_eq!((row.lowest, row.bytes, row.sequence), (1, stored, sequence - 1));
        let facts = (&*row.settings, row.native_id.as_deref(), row.created_ms, row.items, row.turns);
        assert_eq!(facts, (r#"{"agent":"mock"}"#, Some("native"), 5, 3, 1));
        row.sequence = sequence;
        row.bytes += event(sequence).size();
        log.append(row, vec![event(sequence)]).wait().expect("stored");
        let empty = log.session("empty").wait().expect("read").expect("there");
        assert_eq!((empty.lowest, empty.bytes, empty.ended), (1, 0, true));
    }
    let log = opened(place);
    let events = log.events("old", 0, 9).wait().expect("read");
    assert_eq!(events.iter().map(|event| event.sequence).collect::<Vec<_>>(), [1, 2, 3, 4]);
    assert_eq!(events.first(), Some(&AgentEventRow::new(1, "12345".into(), "".into())));
    with_events(&log, "new", 2);
    assert_eq!(log.trim("old", 3).wait().expect("trimmed"), 12);
}

fn opened(place: &StorePlace) -> SessionLog {
    SessionLog::open(place).expect("the store opens")
}

fn event(sequence: u64) -> AgentEventRow {
    let text = format!(r#"{{"event_id":"evt_s_{sequence}","sequence":{sequence}"#);
    AgentEventRow::new(sequence, text.into(), r#"{"type":"x"}"#.into())
}

/// A session with events from 1 on.
fn with_events(log: &SessionLog, id: &str, events: u64) -> AgentSessionRow {
    let mut row = AgentSessionRow::new(id, "mock", r#"{"agent":"mock"}"#);
    assert!(log.create(row.clone()).wait().expect("created"));
    let events: Vec<_> = (1..=events).map(event).collect();
    row.sequence = events.len() as u64;
    row.bytes = events.iter().map(AgentEventRow::size).sum();
    log.append(row.clone(), events).wait().expect("stored");
    row
}

fn a_session_comes_back_whole(place: &StorePlace) {
    let log = opened(place);
    let mut row = with_events(&log, "s", 3);
    assert!(!log.create(row.clone()).wait().expect("asked"), "the id is taken");
    row.native_id = Some("native".to_owned());
    (row.ended, row.items, row.turns, row.sequence) = (true, 7, 2, 4);
    row.updated_ms += 5;
    log.append(row.clone(), vec![event(4)]).wait().expect("stored");
    drop(log);
    let log = opened(place);
    assert_eq!(log.session("s").wait().expect("read"), Some(row.clone()));
    assert_eq!(log.session("t").wait().expect("read"), None);
    let mut older = AgentSessionRow::new("older", "mock", "{}");
    older.created_ms = row.created_ms - 1;
    assert!(log.create(older.clone()).wait().expect("created"));
    assert_eq!(log.sessions().wait().expect("read"), [row, older]);
    // The calls of a gateway are in the same database.
    assert_eq!(open(place).expect("opens").size().expect("counted").exchanges, 0);
}

fn events_are_paged_in_order(place: &StorePlace) {
    let log = opened(place);
    with_events(&log, "s", 25);
    with_events(&log, "t", 3);
    let numbers = |after, most| -> Vec<u64> {
        let rows = log.events("s", after, most).wait().expect("read");
        rows.iter().map(|row| row.sequence).collect()
    };
    assert_eq!(numbers(0, 3), [1, 2, 3]);
    assert_eq!(numbers(20, 100), [21, 22, 23, 24, 25]);
    assert!(numbers(25, 10).is_empty() && numbers(0, 0).is_empty());
    assert!(numbers(u64::MAX, u64::MAX).is_empty());
    assert_eq!(log.events("t", 0, 100).wait().expect("read"), [event(1), event(2), event(3)]);
}

fn strange_bytes_are_stored(place: &StorePlace) {
    let log = opened(place);
    let mut row = AgentSessionRow::new("\u{e9}\u{1f600}'\"", "mock", "{\"title\":\"\u{2028}\"}");
    assert!(log.create(row.clone()).wait().expect("created"));
    let events = vec![
        AgentEventRow::new(1, vec![0, 0xff, b'\'', b'"', b'\n'].into(), Vec::new().into()),
        AgentEventRow::new(2, vec![b'x'; 3 << 20].into(), vec![0; 1 << 20].into()),
    ];
    row.sequence = 2;
    log.append(row.clone(), events.clone()).wait().expect("stored");
    assert_eq!(log.events(&row.id, 0, 9).wait().expect("read"), events);
    assert_eq!(log.session(&row.id).wait().expect("read"), Some(row));
}

fn sessions_are_deleted_with_their_events(place: &StorePlace) {
    let log = opened(place);
    with_events(&log, "s", 10);
    let kept = with_events(&log, "t", 2);
    assert!(log.delete("s").wait().expect("deleted"));
    assert!(!log.delete("s").wait().expect("asked"));
    assert!(log.events("s", 0, 99).wait().expect("read").is_empty());
    assert_eq!(log.sessions().wait().expect("read"), [kept]);
    with_events(&log, "s", 1);
    assert_eq!(log.events("s", 0, 99).wait().expect("read"), [event(1)]);
}

fn first_events_are_trimmed_and_counted(place: &StorePlace) {
    let log = opened(place);
    let row = with_events(&log, "s", 10);
    with_events(&log, "t", 10);
    let expired: u64 = (1..=6).map(|number| event(number).size()).sum();
    assert_eq!(log.trim("s", 7).wait().expect("trimmed"), expired);
    assert_eq!(log.trim("s", 7).wait().expect("trimmed"), 0);
    let rows = log.events("s", 0, 99).wait().expect("read");
    assert_eq!(rows.first().map(|row| row.sequence), Some(7));
    let trimmed = log.session("s").wait().expect("read").expect("there");
    assert_eq!((trimmed.lowest, trimmed.bytes, trimmed.sequence), (7, row.bytes - expired, 10));
    assert_eq!(log.events("t", 0, 99).wait().expect("read").len(), 10);
}

fn a_refused_append_changes_nothing(place: &StorePlace) {
    let log = opened(place);
    let mut row = with_events(&log, "s", 2);
    let before = row.clone();
    (row.sequence, row.turns) = (3, 9);
    // The number 2 is taken.
    assert!(log.append(row, vec![event(3), event(2)]).wait().is_err());
    assert_eq!(log.session("s").wait().expect("read"), Some(before));
    assert_eq!(log.events("s", 0, 99).wait().expect("read").len(), 2);
    assert!(log.create(AgentSessionRow::new("next", "mock", "{}")).wait().expect("the log goes on"));
}

fn many_writers_lose_nothing(place: &StorePlace) {
    let log = opened(place);
    std::thread::scope(|scope| {
        for number in 0..8 {
            let log = log.clone();
            scope.spawn(move || {
                let id = format!("s{number}");
                let mut row = with_events(&log, &id, 0);
                let mut replies = Vec::new();
                for sequence in 1..=100 {
                    row.sequence = sequence;
                    replies.push(log.append(row.clone(), vec![event(sequence)]));
                }
                for reply in replies {
                    reply.wait().expect("stored");
                }
            });
        }
    });
    drop(log);
    let log = opened(place);
    assert_eq!(log.sessions().wait().expect("read").len(), 8);
    for number in 0..8 {
        let rows = log.events(format!("s{number}"), 0, 999).wait().expect("read");
        assert!(rows.iter().map(|row| row.sequence).eq(1..=100));
    }
}
