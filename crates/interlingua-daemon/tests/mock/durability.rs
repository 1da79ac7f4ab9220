//! Restarts, and sessions that end with the daemon.

use serde_json::{Value, json};

use crate::support::{Host, check, last_stop, of, texts};

#[tokio::test]
async fn list_88_a_killed_daemon_keeps_all_events_and_its_open_turn_ends_as_an_error() {
    let host = Host::new().await;
    for id in ["open", "idle", "ended"] {
        host.create(id).await;
        host.say(id, "hello").await;
        host.wait(id, "turn.ended", 1).await;
    }
    host.say("open", "permission file").await;
    let before = host.wait("open", "permission.requested", 1).await;
    host.tell("ended", "terminate").await;
    let (idle, ended) = (host.events("idle").await, host.events("ended").await);
    let (_, listed) = host.get("/v1/sessions").await;
    let (host, _killed) = host.killed().await;
    assert_eq!(host.events("idle").await, idle);
    assert_eq!(host.events("ended").await, ended);
    let (_, again) = host.get("/v1/sessions").await;
    let rows = |list: &Value| -> Vec<(Value, Value)> {
        let sessions = list["sessions"].as_array().unwrap().iter();
        let mut rows: Vec<_> =
            sessions.map(|row| (row["sessionId"].clone(), row["createdAt"].clone())).collect();
        rows.sort_by_key(|(id, _)| id.to_string());
        rows
    };
    assert_eq!(rows(&listed), rows(&again));
    let events = host.events("open").await;
    check(&events);
    assert_eq!(events[..before.len()], before[..]);
    assert_eq!(of(&events, "permission.resolved")[0]["data"]["status"], "reject");
    assert_eq!(of(&events, "error").last().unwrap()["data"]["code"], "daemon_restart");
    assert_eq!(last_stop(&events), "error");
    // A second restart finds nothing open.
    let (host, _killed) = host.killed().await;
    assert_eq!(host.events("open").await, events);
}

#[tokio::test]
async fn list_89_a_message_after_a_restart_resumes_the_agents_own_session() {
    let host = Host::new().await;
    host.create_with("s", json!({ "nativeSessionId": "earlier" })).await;
    host.say("s", "one").await;
    host.wait("s", "turn.ended", 1).await;
    let (host, _killed) = host.killed().await;
    assert_eq!(host.say("s", "two").await, 204);
    let events = host.wait("s", "turn.ended", 2).await;
    check(&events);
    assert_eq!(texts(&events), ["one", "one", "two", "two"], "no text of the first turn is sent again");
    assert_eq!(events.last().unwrap()["native_session_id"], "earlier");
    let (_, info) = host.get("/v1/sessions/s").await;
    assert_eq!(info["nativeSessionId"], "earlier");
}

#[tokio::test]
async fn list_90_a_daemon_that_stops_closes_open_turns() {
    let host = Host::new().await;
    for id in ["a", "b"] {
        host.create(id).await;
    }
    host.say("a", "slow 60000").await;
    host.wait("a", "item.completed", 2).await;
    host.daemon.stop().await;
    let events = host.events("a").await;
    check(&events);
    assert_eq!(last_stop(&events), "error");
    assert_eq!(events.last().unwrap()["type"], "turn.ended");
    let errors = of(&events, "error");
    assert_eq!((errors.len(), &errors[0]["data"]["code"]), (1, &json!("daemon_stop")));
    assert_eq!(host.events("b").await.len(), 1);
    let (host, _stopped) = host.killed().await;
    assert_eq!(host.events("a").await, events);
    assert_eq!(host.say("a", "after").await, 204);
    assert_eq!(texts(&host.wait("a", "turn.ended", 2).await).last().unwrap(), "after");
}
