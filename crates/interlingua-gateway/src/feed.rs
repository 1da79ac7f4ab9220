//! The feed of calls: server-sent events about calls that start, change their backend and end. The feed holds no bodies
//! and no keys. Without a subscriber, the feed only keeps the list of open calls.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use interlingua::json::{JsonBuffer, JsonWriter, Raw};
use interlingua_models::prices::exact_dollars;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{broadcast, mpsc, watch};

use crate::answer_body::{COMMENT, KEEP_ALIVE};
use crate::finished::FinishedCall;

/// The path of the feed.
pub(crate) const PATH: &str = "/v1/calls/feed";

/// The most events that wait for a slow subscriber. A subscriber that is slower misses the oldest events.
const MOST_WAITING: usize = 1024;

/// The most events between the feed and a connection.
const MOST_UNSENT: usize = 16;

/// The most characters of a name or a message in an event.
const MOST_CHARACTERS: usize = 500;

/// The feed of a gateway.
#[derive(Debug)]
pub(crate) struct CallFeed {
    events: broadcast::Sender<ClientEvent>,
    /// The open calls by id. Events are sent under this lock, so that a new subscriber misses no event and gets none twice.
    open: Mutex<BTreeMap<String, Box<OpenCall>>>,
}

/// An event about a call of a client.
#[derive(Clone, Debug)]
struct ClientEvent {
    client: Arc<str>,
    event: Bytes,
}

/// The calls that a subscriber may see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum FeedView {
    /// The calls of all clients.
    All,
    /// The calls of the client with this name.
    Client(String),
}

impl FeedView {
    fn shows(&self, client: &str) -> bool {
        match self {
            FeedView::All => true,
            FeedView::Client(name) => name == client,
        }
    }
}

/// A call that a backend works on.
#[derive(Debug)]
struct OpenCall {
    started: u64,
    client: String,
    client_dialect: &'static str,
    backend: String,
    model_asked: String,
    model_sent: String,
}

impl Default for CallFeed {
    fn default() -> Self {
        Self { events: broadcast::Sender::new(MOST_WAITING), open: Mutex::default() }
    }
}

impl CallFeed {
    /// A backend gets a call: the first backend, or the next after a failure.
    pub(crate) fn attempted(&self, call: &FinishedCall) {
        // No holder of the lock panics.
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let name = match open.get_mut(&call.id) {
            Some(known) if known.backend == call.backend && known.model_sent == call.model_sent => return,
            Some(known) => {
                known.backend.clone_from(&call.backend);
                known.model_sent.clone_from(&call.model_sent);
                "call-moved"
            }
            None => {
                let known = OpenCall {
                    started: call.started,
                    client: call.client.clone(),
                    client_dialect: call.client_dialect,
                    backend: call.backend.clone(),
                    model_asked: call.model_asked.clone(),
                    model_sent: call.model_sent.clone(),
                };
                // In a box, because a map allocates eleven places at once.
                open.insert(call.id.clone(), Box::new(known));
                "call-started"
            }
        };
        if let Some(known) = open.get(&call.id).filter(|_| self.events.receiver_count() > 0) {
            self.send(&call.client, known.event(name, &call.id));
        }
    }

    /// A call has ended, also a call that no backend got.
    pub(crate) fn ended(&self, call: &FinishedCall) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.remove(&call.id);
        if self.events.receiver_count() > 0 {
            self.send(&call.client, ended_event(call));
        }
    }

    fn send(&self, client: &str, event: Bytes) {
        // Without a subscriber, nobody misses the event.
        let _ = self.events.send(ClientEvent { client: client.into(), event });
    }

    /// The bytes for a new subscriber, until the subscriber leaves or the gateway closes.
    pub(crate) fn subscribe(
        self: Arc<Self>,
        view: FeedView,
        mut closing: watch::Receiver<bool>,
    ) -> mpsc::Receiver<Bytes> {
        let (sender, receiver) = mpsc::channel(MOST_UNSENT);
        let mut first = Vec::new();
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let events = self.events.subscribe();
        let mut count = 0;
        for (id, call) in open.iter().filter(|(_, call)| view.shows(&call.client)) {
            first.extend_from_slice(&call.event("call-started", id));
            count += 1;
        }
        drop(open);
        first.extend_from_slice(&event("ready", |json| {
            json.key("open").u64(count);
        }));
        tokio::spawn(async move {
            tokio::select! {
                () = self.forward(&view, first.into(), events, &sender) => {}
                _ = closing.wait_for(|is_closing| *is_closing) => {}
                () = sender.closed() => {}
            }
        });
        receiver
    }

    /// Passes events on until the subscriber leaves.
    async fn forward(
        &self,
        view: &FeedView,
        first: Bytes,
        mut events: broadcast::Receiver<ClientEvent>,
        sender: &mpsc::Sender<Bytes>,
    ) {
        let mut next = first;
        while sender.send(next).await.is_ok() {
            // Events about other clients do not delay the comment.
            let deadline = tokio::time::Instant::now() + KEEP_ALIVE;
            next = loop {
                break match tokio::time::timeout_at(deadline, events.recv()).await {
                    Ok(Ok(ClientEvent { client, event })) if view.shows(&client) => event,
                    Ok(Ok(_)) => continue,
                    Ok(Err(RecvError::Lagged(missed))) => self.lagged(view, missed),
                    Ok(Err(RecvError::Closed)) => return,
                    Err(_) => Bytes::from_static(COMMENT),
                };
            };
        }
    }

    /// The event for a subscriber that missed events, with the calls that are open: the subscriber may have missed the end
    /// of each other call.
    fn lagged(&self, view: &FeedView, missed: u64) -> Bytes {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        event("lagged", |json| {
            json.key("missed").u64(missed).key("open").array();
            for (id, _) in open.iter().filter(|(_, call)| view.shows(&call.client)) {
                json.plain(id);
            }
            json.end_array();
        })
    }
}

impl OpenCall {
    fn event(&self, name: &str, id: &str) -> Bytes {
        let Self { started, client, client_dialect, backend, model_asked, model_sent } = self;
        event(name, |json| {
            json.key("id").plain(id).key("started").u64(*started);
            members(json, client, client_dialect, backend, [model_asked, model_sent]);
        })
    }
}

/// The event for the end of a call.
fn ended_event(call: &FinishedCall) -> Bytes {
    let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    event("call-ended", |json| {
        json.key("id").plain(&call.id).key("started").u64(call.started);
        let models = [&*call.model_asked, &call.model_sent];
        members(json, &call.client, call.client_dialect, &call.backend, models);
        json.key("backend_dialect").plain(call.backend_dialect);
        json.key("status").u64(u64::from(call.status));
        json.key("duration_ms").u64(millis(call.duration));
        json.key("streamed").bool(call.is_stream).key("cancelled").bool(call.is_cancelled);
        json.key("stop");
        match call.stop {
            Some(stop) => json.plain(stop.word()),
            None => json.null(),
        };
        json.key("usage");
        match &call.usage {
            Some(usage) => {
                json.object();
                json.opt_u64("input", usage.input).opt_u64("cache_read", usage.cache_read);
                json.opt_u64("cache_write", usage.cache_write).opt_u64("output", usage.output);
                json.opt_u64("reasoning", usage.reasoning).end_object();
            }
            None => {
                json.null();
            }
        }
        json.key("cost");
        match call.cost {
            Some(cost) => json.raw(&Raw::new(exact_dollars(cost).as_str())),
            None => json.null(),
        };
        json.key("losses").u64(call.losses);
        json.key("attempts").array();
        for attempt in &call.attempts {
            json.object().key("backend").plain(cut(&attempt.backend));
            json.key("status").u64(u64::from(attempt.status));
            json.key("duration_ms").u64(millis(attempt.duration));
            json.key("failure").plain(cut(&attempt.failure)).end_object();
        }
        json.end_array().key("failure");
        match &call.failure {
            Some(failure) => {
                json.object().key("class").plain(failure.class.word());
                json.key("message").plain(cut(&failure.message)).end_object();
            }
            None => {
                json.null();
            }
        }
    })
}

fn members(json: &mut JsonWriter<'_>, client: &str, dialect: &str, backend: &str, models: [&str; 2]) {
    json.key("client").plain(cut(client)).key("client_dialect").plain(dialect);
    json.key("backend").plain(cut(backend));
    json.key("model_asked").plain(cut(models[0])).key("model_sent").plain(cut(models[1]));
}

/// The start of a text. A client can ask for a model with a name of any length.
pub(crate) fn cut(text: &str) -> &str {
    text.char_indices().nth(MOST_CHARACTERS).map_or(text, |(end, _)| text.get(..end).unwrap_or(text))
}

/// A server-sent event with a JSON object.
fn event(name: &str, write: impl FnOnce(&mut JsonWriter<'_>)) -> Bytes {
    let mut buffer = JsonBuffer::default();
    let mut json = buffer.hold();
    json.object();
    write(&mut json);
    json.end_object();
    Bytes::from(format!("event: {name}\ndata: {}\n\n", buffer.held()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(number: u64) -> FinishedCall {
        FinishedCall { id: format!("c{number:05}"), backend: "b".to_owned(), ..FinishedCall::default() }
    }

    #[test]
    fn a_slow_subscriber_gets_the_number_of_missed_events_and_the_open_calls() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async {
            let feed = Arc::new(CallFeed::default());
            feed.attempted(&call(0));
            let (_close, closing) = watch::channel(false);
            let mut bytes = Arc::clone(&feed).subscribe(FeedView::All, closing);
            // The task of the subscriber does not run in between: the channel overflows by 2 × 1000 - 1024 events.
            for number in 1..=1000 {
                feed.attempted(&call(number));
                feed.ended(&call(number));
            }
            let first = bytes.recv().await.expect("open calls");
            let first = std::str::from_utf8(&first).expect("text");
            assert!(first.starts_with("event: call-started\ndata: {\"id\":\"c00000\""), "{first}");
            assert!(first.ends_with("event: ready\ndata: {\"open\":1}\n\n"), "{first}");
            let lagged = bytes.recv().await.expect("an event");
            assert_eq!(&*lagged, b"event: lagged\ndata: {\"missed\":976,\"open\":[\"c00000\"]}\n\n");
            for expected in 0..1024 {
                let event = bytes.recv().await.expect("an event");
                let name: &[u8] =
                    if expected % 2 == 0 { b"event: call-started\n" } else { b"event: call-ended\n" };
                assert!(event.starts_with(name), "{expected}: {event:?}");
            }
        });
    }

    #[test]
    fn names_of_any_length_fit() {
        let long = "ä".repeat(10_000);
        assert_eq!(cut(&long).chars().count(), MOST_CHARACTERS);
        assert_eq!(cut("short"), "short");
    }
}
