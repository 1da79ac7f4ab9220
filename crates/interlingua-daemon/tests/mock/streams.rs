//! Readers of events: offsets, pages and server-sent events.

use std::sync::Arc;
use std::time::Duration;

use http::Method;
use interlingua_daemon::ApiRequest;
use serde_json::{Value, json};

use crate::support::{EventStream, Host, check, of, texts};

/// A session with one finished turn.
async fn with_a_turn(text: &str) -> (Host, Vec<Value>) {
    let host = Host::new().await;
    host.create("s").await;
    host.say("s", text).await;
    let events = host.wait("s", "turn.ended", 1).await;
    (host, events)
}

#[tokio::test]
async fn list_55_last_event_id_and_offset_resume_and_the_offset_wins() {
    let (host, all) = with_a_turn("demo").await;
    let resume = async |path: &str, last: Option<&str>| -> EventStream {
        let mut request = ApiRequest::new(Method::GET, path);
        request.last_event_id = last.map(str::to_owned);
        host.open_stream(request).await
    };
    let sse = "/v1/sessions/s/events/sse";
    // `EventStream::next` compares the id of each frame with the number of its event.
    assert_eq!(resume(sse, Some("3")).await.take(2).await, all[3..5]);
    assert_eq!(resume(&format!("{sse}?offset=5"), None).await.take(2).await, all[5..7]);
    assert_eq!(resume(&format!("{sse}?offset=1"), Some("3")).await.take(2).await, all[1..3]);
    let mut wrong = ApiRequest::new(Method::GET, sse);
    wrong.last_event_id = Some("three".to_owned());
    assert_eq!(host.ask(wrong).await.0, 400);
}

#[tokio::test]
async fn list_56_an_offset_is_exclusive_and_may_be_the_end() {
    let (host, all) = with_a_turn("hello").await;
    let (_, page) = host.get("/v1/sessions/s/events?offset=2").await;
    assert_eq!(page["events"].as_array().unwrap()[..], all[2..]);
    let (_, none) = host.get(&format!("/v1/sessions/s/events?offset={}", all.len() + 7)).await;
    assert_eq!((&none["events"], &none["hasMore"]), (&json!([]), &json!(false)));
    let mut stream = host.stream(&format!("/v1/sessions/s/events/sse?offset={}", all.len())).await;
    host.say("s", "next").await;
    assert_eq!(stream.next().await.unwrap()["sequence"], all.len() + 1);
    assert_eq!(host.get("/v1/sessions/s/events?offset=x").await.0, 400);
    assert_eq!(host.get("/v1/sessions/s/events?offset=-1").await.0, 400);
    assert_eq!(host.get("/v1/sessions/s/events/sse?offset=x").await.0, 400);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn list_57_a_reader_that_pauses_misses_nothing() {
    let host = Host::new().await;
    host.create("s").await;
    let mut reader = host.stream("/v1/sessions/s/events/sse").await;
    assert_eq!(reader.next().await.unwrap()["sequence"], 1);
    let words = format!("{} ", "x".repeat(20 << 10)).repeat(100);
    let pause = tokio::time::sleep(Duration::from_secs(5));
    for turn in 0..10 {
        assert_eq!(host.say("s", &format!("echo {words}")).await, 204);
        host.wait_end("s", turn + 1).await;
    }
    pause.await;
    let (_, info) = host.get("/v1/sessions/s").await;
    let count = info["eventCount"].as_u64().unwrap();
    assert!(count > 1000, "{count}");
    for sequence in 2..=count {
        assert_eq!(reader.next().await.unwrap()["sequence"], sequence);
    }
}

#[tokio::test]
async fn list_58_an_idle_stream_has_a_comment_every_15_seconds() {
    let (host, all) = with_a_turn("hello").await;
    let mut stream = host.stream("/v1/sessions/s/events/sse").await;
    stream.take(all.len()).await;
    tokio::time::pause();
    for _ in 0..3 {
        let start = tokio::time::Instant::now();
        assert_eq!(stream.frame().await.unwrap(), ": keep-alive");
        assert!(start.elapsed() <= Duration::from_secs(15), "{:?}", start.elapsed());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn list_59_readers_that_join_during_300_turns_see_each_event_once() {
    let host = Arc::new(Host::new().await);
    host.create("s").await;
    let writing = {
        let host = Arc::clone(&host);
        tokio::spawn(async move {
            for turn in 0..300 {
                assert_eq!(host.say("s", "echo one two").await, 204);
                host.wait_end("s", turn + 1).await;
            }
            assert_eq!(host.tell("s", "terminate").await, 204);
        })
    };
    let mut readers = Vec::new();
    for number in 0..20 {
        let path = format!("/v1/sessions/s/events/sse?until=ended&offset={}", number * 7);
        let stream = host.stream(&path).await;
        readers.push((number * 7, tokio::spawn(stream.rest())));
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    writing.await.unwrap();
    let (_, info) = host.get("/v1/sessions/s").await;
    for (offset, reader) in readers {
        let events = reader.await.unwrap();
        let numbers: Vec<u64> = events.iter().map(|event| event["sequence"].as_u64().unwrap()).collect();
        let all: Vec<u64> = (offset + 1..=info["eventCount"].as_u64().unwrap()).collect();
        assert!(numbers == all, "the reader from {offset} has {} of {} events", numbers.len(), all.len());
    }
}

#[tokio::test]
async fn list_60_a_stream_ends_with_the_session_only_if_asked() {
    let (host, _) = with_a_turn("hello").await;
    let ending = host.stream("/v1/sessions/s/events/sse?until=ended").await;
    let mut endless = host.stream("/v1/sessions/s/events/sse").await;
    assert_eq!(host.tell("s", "terminate").await, 204);
    let events = ending.rest().await;
    check(&events);
    assert_eq!(events.last().unwrap()["type"], "session.ended");
    assert_eq!(endless.take(events.len()).await, events);
    let more = tokio::time::timeout(Duration::from_millis(300), endless.frame()).await;
    assert!(more.is_err(), "the stream stays open");
    // A reader that comes after the end gets the events and the end of the stream.
    let late = format!("/v1/sessions/s/events/sse?until=ended&offset={}", events.len());
    assert!(host.stream(&late).await.rest().await.is_empty());
    assert_eq!(host.get("/v1/sessions/s/events/sse?until=never").await.0, 400);
}

#[tokio::test]
async fn list_61_62_a_turn_stream_is_the_whole_turn_and_nothing_else() {
    let (host, before) = with_a_turn("hello").await;
    for text in ["garbage", "unknown", "error", "exit 2"] {
        let events = host.turn_stream("s", text, "").await.rest().await;
        assert_eq!(events[0]["type"], "turn.started", "{text}");
        assert_eq!(events.last().unwrap()["type"], "turn.ended", "{text}");
        assert_eq!(of(&events, "turn.started").len(), 1);
        assert!(events[0]["sequence"].as_u64().unwrap() > before.len() as u64);
    }
    for text in ["permission file", "question"] {
        let mut stream = host.turn_stream("s", text, "").await;
        let sort = text.split(' ').next().unwrap();
        let request = loop {
            let event = stream.next().await.expect("the turn goes on");
            if event["type"] == format!("{sort}.requested") {
                break event["data"][format!("{sort}_id")].as_str().unwrap().to_owned();
            }
        };
        let (path, body) = match sort {
            "permission" => (format!("permissions/{request}/reply"), json!({ "reply": "once" })),
            _ => (format!("questions/{request}/reply"), json!({ "answers": [["Blue"]] })),
        };
        assert_eq!(host.post(&format!("/v1/sessions/s/{path}"), body).await.0, 204);
        let events = stream.rest().await;
        assert_eq!(events.last().unwrap()["type"], "turn.ended");
        assert!(texts(&events).last().unwrap().starts_with("After the"));
    }
    // The end of the session ends the stream, too.
    let stream = host.turn_stream("s", "slow 60000", "").await;
    assert_eq!(host.tell("s", "terminate").await, 204);
    assert_eq!(stream.rest().await.last().unwrap()["type"], "turn.ended");
}

#[tokio::test]
async fn list_63_the_agents_lines_come_on_request_only() {
    let (host, plain) = with_a_turn("hello").await;
    assert!(plain.iter().all(|event| event["raw"].is_null()));
    let count = plain.len();
    for query in ["include_raw=true", "includeRaw=true"] {
        let (_, page) = host.get(&format!("/v1/sessions/s/events?{query}")).await;
        let raw = page["events"].as_array().unwrap().clone();
        let sse = host.stream(&format!("/v1/sessions/s/events/sse?{query}")).await.take(count).await;
        assert_eq!(sse, raw[..count]);
        let lines = raw.iter().filter(|event| event["raw"]["session_id"] == "mock-session").count();
        assert!(lines >= 4, "{query}: {lines} lines");
        let turn = host.turn_stream("s", "hello", &format!("?{query}")).await.rest().await;
        assert!(turn.iter().any(|event| event["raw"]["type"] == "result"), "{query}");
    }
    let turn = host.turn_stream("s", "hello", "?include_raw=false").await.rest().await;
    assert!(turn.iter().all(|event| event["raw"].is_null()));
    assert_eq!(host.get("/v1/sessions/s/events?include_raw=maybe").await.0, 400);
}

#[tokio::test]
async fn list_64_a_limit_gives_a_page_and_has_more() {
    let (host, all) = with_a_turn("demo").await;
    let (mut seen, mut offset) = (Vec::new(), 0);
    loop {
        let (_, page) = host.get(&format!("/v1/sessions/s/events?offset={offset}&limit=4")).await;
        let events = page["events"].as_array().unwrap().clone();
        assert!(events.len() <= 4);
        offset += events.len();
        seen.extend(events);
        assert_eq!(page["hasMore"], seen.len() < all.len());
        if page["hasMore"] == false {
            break;
        }
    }
    assert_eq!(seen, all);
    let (_, none) = host.get("/v1/sessions/s/events?limit=0").await;
    assert_eq!((&none["events"], &none["hasMore"]), (&json!([]), &json!(true)));
    let (_, none) = host.get(&format!("/v1/sessions/s/events?limit=0&offset={}", all.len())).await;
    assert_eq!(none["hasMore"], false);
    assert_eq!(host.get("/v1/sessions/s/events?limit=many").await.0, 400);
}

#[tokio::test]
async fn list_65_a_client_that_leaves_does_not_stop_the_agent() {
    let (host, _) = with_a_turn("hello").await;
    let mut stream = host.turn_stream("s", "slow 200", "").await;
    assert_eq!(stream.next().await.unwrap()["type"], "turn.started");
    drop(stream);
    let events = host.wait("s", "turn.ended", 2).await;
    check(&events);
    assert_eq!(texts(&events).last().unwrap(), "I waited.");
}
