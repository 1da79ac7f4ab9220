//! Limits for sessions and events in the store.

use http::Method;
use interlingua_daemon::{ApiRequest, DaemonSettings};
use serde_json::json;

use crate::support::{Host, of, open_with};

/// Opens the store of a host again, with other limits.
async fn again(host: Host, change: impl FnOnce(&mut DaemonSettings)) -> Host {
    let Host { daemon, folder } = host;
    daemon.stop().await;
    Host { daemon: open_with(&folder, change).await, folder }
}

async fn ids(host: &Host) -> Vec<String> {
    let (_, list) = host.get("/v1/sessions").await;
    let mut ids: Vec<String> = list["sessions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|session| session["sessionId"].as_str().unwrap().to_owned())
        .collect();
    ids.sort();
    ids
}

#[tokio::test]
async fn list_94_expired_offsets_are_410_with_the_lowest_number() {
    let host = Host::new().await;
    host.create("s").await;
    for turn in 0..5 {
        host.say("s", "demo").await;
        host.wait("s", "turn.ended", turn + 1).await;
    }
    let all = host.events("s").await;
    let host = again(host, |settings| settings.retention.max_session_events = Some(20)).await;
    let lowest = all.len() - 20 + 1;
    let (_, info) = host.get("/v1/sessions/s").await;
    assert_eq!(info["eventCount"], all.len());
    for path in [
        "/v1/sessions/s/events?offset=0".to_owned(),
        format!("/v1/sessions/s/events?offset={}", lowest - 2),
        "/v1/sessions/s/events/sse?offset=3".to_owned(),
    ] {
        let (status, problem) = host.get(&path).await;
        assert_eq!(
            (status, &problem["type"]),
            (410, &json!("urn:interlingua:error:events_expired")),
            "{path}"
        );
        assert_eq!(problem["lowest"], lowest, "{problem}");
    }
    let mut resumed = ApiRequest::new(Method::GET, "/v1/sessions/s/events/sse");
    resumed.last_event_id = Some("1".to_owned());
    assert_eq!(host.ask(resumed).await.0, 410);
    // The lowest number is the first event of a reader with that offset, and of a reader without an offset.
    let (_, page) = host.get(&format!("/v1/sessions/s/events?offset={}", lowest - 1)).await;
    assert_eq!(page["events"].as_array().unwrap()[..], all[lowest - 1..]);
    assert_eq!(host.events("s").await, all[lowest - 1..]);
    let mut stream = host.stream("/v1/sessions/s/events/sse").await;
    assert_eq!(stream.take(20).await, all[lowest - 1..]);
    // The session goes on with the next number.
    host.say("s", "hello").await;
    assert_eq!(stream.next().await.unwrap()["sequence"], all.len() + 1);
    let host = again(host, |_| ()).await;
    assert_eq!(host.get("/v1/sessions/s/events?offset=0").await.0, 410, "a restart knows the lowest number");
}

#[tokio::test]
async fn list_94_a_number_of_sessions_is_kept_and_running_turns_stay() {
    let host = Host::with(|settings| settings.retention.max_sessions = Some(3)).await;
    host.create("busy").await;
    host.say("busy", "slow 60000").await;
    for id in ["a", "b", "c", "d"] {
        host.create(id).await;
        tokio::time::sleep(std::time::Duration::from_millis(3)).await;
    }
    assert_eq!(ids(&host).await, ["busy", "c", "d"]);
    assert_eq!(host.get("/v1/sessions/a").await.0, 404);
    host.create("a").await;
    assert_eq!(ids(&host).await, ["a", "busy", "d"]);
    assert!(of(&host.events("busy").await, "turn.ended").is_empty());
}

#[tokio::test]
async fn list_94_sessions_are_kept_by_age_and_by_bytes() {
    let host = Host::new().await;
    for id in ["a", "b", "c"] {
        host.create(id).await;
        host.say(id, &format!("echo {}", "x".repeat(10_000))).await;
        host.wait(id, "turn.ended", 1).await;
        tokio::time::sleep(std::time::Duration::from_millis(3)).await;
    }
    let host = again(host, |settings| settings.retention.max_age_ms = Some(86_400_000)).await;
    assert_eq!(ids(&host).await, ["a", "b", "c"]);
    // Each session has the text in several events and in the lines of the agent.
    let host = again(host, |settings| settings.retention.max_bytes = Some(120_000)).await;
    let kept = ids(&host).await;
    assert!(!kept.is_empty() && kept.len() < 3 && kept.last().unwrap() == "c", "{kept:?}");
    tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    let host = again(host, |settings| settings.retention.max_age_ms = Some(5)).await;
    assert!(ids(&host).await.is_empty());
}
