//! The envelope, items, turns and the life of a session.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{Host, check, last_stop, of, texts};

#[tokio::test]
async fn list_02_03_the_first_event_is_session_started_and_numbers_have_no_gap() {
    let host = Host::new().await;
    host.create_with("s", json!({ "title": "T", "model": "m", "variant": "high" })).await;
    let events = host.events("s").await;
    assert_eq!(events.len(), 1);
    let first = &events[0];
    assert_eq!((&first["type"], &first["sequence"]), (&json!("session.started"), &json!(1)));
    assert_eq!((&first["synthetic"], &first["source"]), (&json!(true), &json!("daemon")));
    for (number, text) in ["demo", "unknown", "think", "questions"].into_iter().enumerate() {
        assert_eq!(host.say("s", text).await, 204);
        if text == "questions" {
            host.wait("s", "question.requested", 1).await;
            assert_eq!(host.tell("s", "interrupt").await, 204);
        }
        host.wait("s", "turn.ended", number + 1).await;
    }
    let stored = host.events("s").await;
    check(&stored);
    let mut stream = host.stream("/v1/sessions/s/events/sse").await;
    assert_eq!(stream.take(stored.len()).await, stored);
}

#[tokio::test]
async fn list_04_five_hundred_sessions_do_not_mix() {
    let host = std::sync::Arc::new(Host::new().await);
    let mut running = tokio::task::JoinSet::new();
    for number in 0..500 {
        let host = std::sync::Arc::clone(&host);
        running.spawn(async move {
            let id = format!("s{number}");
            host.create(&id).await;
            assert_eq!(host.say(&id, &format!("echo I am {id}")).await, 204);
            let events = host.wait(&id, "turn.ended", 1).await;
            check(&events);
            assert!(events.iter().all(|event| event["session_id"] == *id));
            assert_eq!(texts(&events).last().unwrap(), &format!("I am {id}"));
        });
    }
    while let Some(done) = running.join_next().await {
        done.expect("the session ends well");
    }
    let (_, all) = host.get("/v1/sessions").await;
    assert_eq!(all["sessions"].as_array().unwrap().len(), 500);
}

#[tokio::test]
async fn list_05_event_ids_are_unique_and_stay_after_a_restart() {
    let host = Host::new().await;
    let ids = |events: &[Value]| -> Vec<String> {
        events.iter().map(|event| event["event_id"].as_str().unwrap().to_owned()).collect()
    };
    let mut before = Vec::new();
    for id in ["a", "b"] {
        host.create(id).await;
        host.say(id, "demo").await;
        before.extend(ids(&host.wait(id, "turn.ended", 1).await));
    }
    assert_eq!(before.iter().collect::<HashSet<_>>().len(), before.len());
    let (host, _killed) = host.killed().await;
    let mut after = ids(&host.events("a").await);
    after.extend(ids(&host.events("b").await));
    assert_eq!(before, after);
    host.say("a", "demo").await;
    let more = ids(&host.wait("a", "turn.ended", 2).await);
    assert_eq!(more.iter().chain(&before).collect::<HashSet<_>>().len(), more.len() + before.len() / 2);
}

#[tokio::test]
async fn list_09_times_are_utc_and_never_go_back() {
    let host = Host::new().await;
    let before = today();
    host.create("s").await;
    host.say("s", "slow 50").await;
    host.wait("s", "turn.ended", 1).await;
    let (host, _killed) = host.killed().await;
    host.say("s", "demo").await;
    let events = host.wait("s", "turn.ended", 2).await;
    let times: Vec<&str> = events.iter().map(|event| event["time"].as_str().unwrap()).collect();
    for pair in times.windows(2) {
        assert!(pair[0].len() == pair[1].len() && pair[0] <= pair[1], "{pair:?}");
    }
    assert!(times.iter().all(|time| time.ends_with('Z') && time.as_bytes()[10] == b'T'), "{times:?}");
    assert!(times[0] >= before.as_str(), "{} is before {before}", times[0]);
}

/// The date of today, as the beginning of a time.
fn today() -> String {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    // The civil date of a day number, after the algorithm for the proleptic Gregorian calendar.
    let days = i64::try_from(since.as_secs() / 86_400).unwrap() + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

#[tokio::test]
async fn list_13_items_are_completed_after_a_crash_a_terminate_and_an_interrupt() {
    let host = Host::new().await;
    for (id, text, end) in
        [("crash", "exit 3", ""), ("end", "slow 60000", "terminate"), ("stop", "slow 60000", "interrupt")]
    {
        // The pace cuts the stream of a text between two words.
        host.create_with(id, json!({ "mockPaceMs": 20 })).await;
        assert_eq!(host.say(id, text).await, 204);
        host.wait(id, "item.delta", 1).await;
        if !end.is_empty() {
            assert_eq!(host.tell(id, end).await, 204);
        }
        let events = host.wait(id, "turn.ended", 1).await;
        check(&events);
        let end = events.iter().position(|event| event["type"] == "turn.ended").unwrap();
        let after: Vec<&Value> = events[end + 1..].iter().map(|event| &event["type"]).collect();
        assert!(after.is_empty() || after == ["session.ended"], "{id}: {after:?}");
        let statuses: Vec<&Value> =
            of(&events, "item.completed").into_iter().map(|event| &event["data"]["item"]["status"]).collect();
        assert!(
            statuses.iter().all(|status| **status == "completed" || **status == "failed"),
            "{statuses:?}"
        );
    }
}

#[tokio::test]
async fn list_29_a_message_is_one_turn_with_the_prompt_and_the_answer() {
    let host = Host::new().await;
    host.create("s").await;
    assert_eq!(host.say("s", "echo hello there").await, 204);
    let events = host.wait("s", "turn.ended", 1).await;
    check(&events);
    assert_eq!(texts(&events), ["echo hello there", "hello there"]);
    assert_eq!(host.say("s", "again").await, 204);
    let events = host.wait("s", "turn.ended", 2).await;
    check(&events);
    assert_eq!(texts(&events)[2..], ["again", "again"]);
    let (_, info) = host.get("/v1/sessions/s").await;
    assert_eq!((&info["nativeSessionId"], &info["ended"]), (&json!("mock-session"), &json!(false)));
    // Errors, crashes and terminated sessions have whole turns as well.
    for (number, text) in ["error", "exit 3", "slow 60000"].into_iter().enumerate() {
        assert_eq!(host.say("s", text).await, 204);
        if text == "slow 60000" {
            assert_eq!(host.tell("s", "terminate").await, 204);
        }
        check(&host.wait("s", "turn.ended", number + 3).await);
    }
}

#[tokio::test]
async fn list_30_a_message_during_a_turn_is_refused() {
    let host = Host::new().await;
    host.create("s").await;
    assert_eq!(host.say("s", "slow 300").await, 204);
    for _ in 0..3 {
        assert_eq!(host.say("s", "meanwhile").await, 409);
    }
    let events = host.wait("s", "turn.ended", 1).await;
    check(&events);
    assert_eq!(texts(&events), ["slow 300", "I wait.", "I waited."]);
    assert_eq!(of(&events, "turn.started").len(), 1);
}

#[tokio::test]
async fn list_31_an_empty_message_is_refused_and_emits_nothing() {
    let host = Host::new().await;
    host.create("s").await;
    for text in ["", "  \n", "\t\u{2003}"] {
        assert_eq!(host.say("s", text).await, 400, "{text:?}");
    }
    assert_eq!(host.events("s").await.len(), 1);
}

#[tokio::test]
async fn list_32_the_end_of_a_turn_has_its_reason_and_its_usage() {
    let host = Host::new().await;
    host.create("s").await;
    for (number, (text, class)) in
        [("hello", "end_turn"), ("error", "error"), ("exit 2", "error"), ("slow 60000", "cancelled")]
            .into_iter()
            .enumerate()
    {
        assert_eq!(host.say("s", text).await, 204);
        if class == "cancelled" {
            host.wait("s", "item.completed", of(&host.events("s").await, "item.completed").len() + 1).await;
            assert_eq!(host.tell("s", "interrupt").await, 204);
        }
        let events = host.wait("s", "turn.ended", number + 1).await;
        assert_eq!(last_stop(&events), class, "{text}");
        let usage = &of(&events, "turn.ended")[number]["data"]["metadata"]["usage"];
        assert_eq!(usage.is_null(), text != "hello", "{text}: {usage}");
    }
}

#[tokio::test]
async fn list_33_34_35_terminate_stops_the_agent_and_is_the_end() {
    let host = Host::new().await;
    host.create("s").await;
    assert_eq!(host.say("s", "slow 200").await, 204);
    host.wait("s", "item.completed", 2).await;
    let start = Instant::now();
    assert_eq!(host.tell("s", "terminate").await, 204);
    assert!(start.elapsed() < Duration::from_secs(5));
    let events = host.events("s").await;
    check(&events);
    let last = events.last().unwrap();
    assert_eq!((&last["type"], &last["data"]["reason"]), (&json!("session.ended"), &json!("terminated")));
    assert_eq!(last["data"]["terminated_by"], "daemon");
    assert_eq!(last_stop(&events), "cancelled");
    assert_eq!(host.tell("s", "terminate").await, 204);
    assert_eq!(host.tell("s", "interrupt").await, 204);
    let (status, problem) = host.post("/v1/sessions/s/messages", json!({ "message": "too late" })).await;
    assert_eq!((status, &problem["type"]), (409, &json!("urn:interlingua:error:session_ended")));
    // The rest of the turn would come after 200 ms.
    tokio::time::sleep(Duration::from_millis(400)).await;
    assert_eq!(host.events("s").await, events);
    let (_, info) = host.get("/v1/sessions/s").await;
    assert_eq!(info["ended"], true);
    let (host, _killed) = host.killed().await;
    assert_eq!(host.events("s").await, events);
    assert_eq!(host.say("s", "too late").await, 409);
}

#[tokio::test]
async fn list_36_37_a_crash_ends_the_turn_and_the_next_message_resumes() {
    let host = Host::new().await;
    host.create("s").await;
    for (number, text) in ["error", "unknown", "garbage", "exit 3", "hello"].into_iter().enumerate() {
        assert_eq!(host.say("s", text).await, 204, "{text}");
        let events = host.wait("s", "turn.ended", number + 1).await;
        check(&events);
    }
    let events = host.events("s").await;
    assert_eq!(of(&events, "agent.unparsed").len(), 1);
    let errors = of(&events, "error");
    assert_eq!(errors.len(), 2, "{errors:#?}");
    assert_eq!(errors[1]["data"]["code"], "process_exit");
    assert!(errors[1]["data"]["message"].as_str().unwrap().contains("exit code 3"));
    assert_eq!(texts(&events).last().unwrap(), "hello");
    assert!(events.iter().skip(8).all(|event| event["native_session_id"] == "mock-session"));
}

#[tokio::test]
async fn list_39_an_interrupt_ends_the_turn_as_cancelled() {
    let host = Host::new().await;
    host.create("s").await;
    assert_eq!(host.tell("s", "interrupt").await, 204, "without a turn nothing happens");
    assert_eq!(host.events("s").await.len(), 1);
    assert_eq!(host.say("s", "slow 60000").await, 204);
    host.wait("s", "item.completed", 2).await;
    assert_eq!(host.tell("s", "interrupt").await, 204);
    let events = host.wait("s", "turn.ended", 1).await;
    check(&events);
    assert_eq!(last_stop(&events), "cancelled");
    assert_eq!(host.say("s", "still here").await, 204);
    let events = host.wait("s", "turn.ended", 2).await;
    assert_eq!(texts(&events).last().unwrap(), "still here");
}

#[tokio::test]
async fn list_40_a_directory_that_does_not_exist_is_refused() {
    let host = Host::new().await;
    let file = host.folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    for directory in ["/nowhere/at/all", "relative", "", file.to_str().unwrap()] {
        let (status, problem) =
            host.post("/v1/sessions/s", json!({ "agent": "mock", "directory": directory })).await;
        assert_eq!(status, 400, "{directory}: {problem}");
    }
    let folder = host.folder.path().to_str().unwrap();
    host.create_with("s", json!({ "directory": folder })).await;
    let (_, info) = host.get("/v1/sessions/s").await;
    assert_eq!(info["directory"], folder);
}

#[tokio::test]
async fn list_41_an_effort_that_does_not_reach_the_agent_is_refused() {
    let host = Host::new().await;
    let (status, problem) =
        host.post("/v1/sessions/s", json!({ "agent": "gemini", "variant": "high" })).await;
    assert_eq!((status, &problem["type"]), (400, &json!("urn:interlingua:error:invalid_request")));
    assert!(problem["detail"].as_str().unwrap().contains("variant"));
}

#[tokio::test]
async fn list_42_pictures_reach_the_agent_and_other_files_are_refused() {
    let host = Host::new().await;
    host.create("s").await;
    let path = |name: &str| host.folder.path().join(name).to_str().unwrap().to_owned();
    std::fs::write(path("dot.png"), b"\x89PNG\r\n\x1a\n").unwrap();
    std::fs::write(path("notes.txt"), "notes").unwrap();
    let send = |attachment: Value| {
        host.post("/v1/sessions/s/messages", json!({ "message": "look", "attachments": [attachment] }))
    };
    for wrong in
        [json!({ "path": path("notes.txt") }), json!({ "path": path("missing.png") }), json!({ "paht": "x" })]
    {
        let (status, problem) = send(wrong).await;
        assert_eq!(status, 400, "{problem}");
    }
    assert_eq!(host.events("s").await.len(), 1);
    assert_eq!(send(json!({ "path": path("dot.png") })).await.0, 204);
    let events = host.wait("s", "turn.ended", 1).await;
    check(&events);
    let prompt = &of(&events, "item.completed")[0]["data"]["item"];
    assert_eq!(prompt["role"], "user");
    let kinds: Vec<&Value> = prompt["content"].as_array().unwrap().iter().map(|part| &part["type"]).collect();
    assert_eq!(kinds, ["text", "image"]);
}

#[tokio::test]
async fn list_85_the_mock_agent_is_deterministic_and_its_pace_is_a_setting() {
    let host = Host::new().await;
    let mut runs = Vec::new();
    for (id, pace) in [("a", 0), ("b", 15)] {
        host.create_with(id, json!({ "mockPaceMs": pace })).await;
        let start = Instant::now();
        host.say(id, "demo").await;
        let events = host.wait(id, "turn.ended", 1).await;
        assert!(start.elapsed() >= Duration::from_millis(pace * 10));
        let same: Vec<String> = events
            .iter()
            .map(|event| (&event["type"], &event["data"]))
            .map(|event| format!("{event:?}"))
            .collect();
        runs.push(same);
    }
    assert_eq!(runs[0], runs[1]);
    // The turn goes on after a reply.
    host.say("a", "permission x").await;
    let events = host.wait("a", "permission.requested", 1).await;
    let id = of(&events, "permission.requested")[0]["data"]["permission_id"].as_str().unwrap().to_owned();
    let path = format!("/v1/sessions/a/permissions/{id}/reply");
    assert_eq!(host.post(&path, json!({ "reply": "once" })).await.0, 204);
    let events = host.wait("a", "turn.ended", 2).await;
    assert_eq!(texts(&events).last().unwrap(), "After the permission.");
}

#[tokio::test]
async fn a_session_is_a_record() {
    let host = Host::new().await;
    host.create("s").await;
    host.say("s", "demo").await;
    host.wait("s", "turn.ended", 1).await;
    let (status, record) = host.get("/v1/sessions/s/record").await;
    assert_eq!(status, 200);
    let entries = record["session"]["entries"].to_string();
    for text in ["First a tool.", "That was all.", "I show what I can do.", "mock.search"] {
        assert!(entries.contains(text), "{text}");
    }
}
