//! Tests of the trait [`Store`], for each database.

use std::collections::HashSet;

use interlingua_store::{
    ExchangeRecorder, ListFilter, RecorderSettings, Retention, Store, StoreError, StorePlace, open,
};

use super::{NOON, exchange, full_exchange, noise};

/// A test with an empty database.
pub(crate) type SuiteTest = fn(&StorePlace);

/// Every test with its name.
pub(crate) const SUITE: [(&str, SuiteTest); 11] = [
    ("an_exchange_comes_back_whole", an_exchange_comes_back_whole),
    ("lists_are_newest_first_and_filtered", lists_are_newest_first_and_filtered),
    ("a_conversation_is_in_order", a_conversation_is_in_order),
    ("sums_are_per_client_and_since_a_time", sums_are_per_client_and_since_a_time),
    ("responses_are_found_by_their_client", responses_are_found_by_their_client),
    ("a_repeated_batch_is_stored_once", a_repeated_batch_is_stored_once),
    ("strange_texts_are_stored", strange_texts_are_stored),
    ("old_exchanges_are_deleted", old_exchanges_are_deleted),
    ("the_size_is_kept_and_the_rest_is_readable", the_size_is_kept_and_the_rest_is_readable),
    ("several_writers_and_a_retention_lose_nothing", several_writers_and_a_retention_lose_nothing),
    ("a_recorder_stores_and_derives", a_recorder_stores_and_derives),
];

fn opened(place: &StorePlace) -> Box<dyn Store> {
    open(place).expect("the store opens")
}

fn ids<'a>(facts: impl IntoIterator<Item = &'a interlingua_store::ExchangeFacts>) -> Vec<&'a str> {
    facts.into_iter().map(|facts| &*facts.id).collect()
}

fn an_exchange_comes_back_whole(place: &StorePlace) {
    let (small, full) = (exchange("a", 0), full_exchange("b"));
    opened(place).append(&[small.clone(), full.clone()]).expect("stored");
    let mut store = opened(place);
    assert_eq!(store.get("a").expect("read"), Some(small));
    assert_eq!(store.get("b").expect("read"), Some(full));
    assert_eq!(store.get("c").expect("read"), None);
}

fn lists_are_newest_first_and_filtered(place: &StorePlace) {
    let mut store = opened(place);
    let mut all: Vec<_> = (0..6).map(|number| exchange(&format!("x{number}"), number * 10)).collect();
    all[1].facts.backend = "other".into();
    all[2].facts.model_asked = "m".into();
    all[3].facts.model_sent = "m".into();
    all[4].facts.client = "bob".into();
    all[5].facts.status = 503;
    store.append(&all).expect("stored");
    let mut list = |change: &dyn Fn(&mut ListFilter)| {
        let mut filter = ListFilter::default();
        change(&mut filter);
        let listed = store.list(&filter).expect("listed");
        listed.iter().map(|facts| facts.id.clone()).collect::<Vec<_>>()
    };
    assert_eq!(list(&|_| {}), ["x5", "x4", "x3", "x2", "x1", "x0"]);
    assert_eq!(list(&|filter| filter.limit = 2), ["x5", "x4"]);
    assert_eq!(list(&|filter| filter.since_ms = Some(NOON + 40)), ["x5", "x4"]);
    assert_eq!(list(&|filter| filter.before_ms = Some(NOON + 10)), ["x0"]);
    assert_eq!(list(&|filter| filter.backend = Some("other".to_owned())), ["x1"]);
    assert_eq!(list(&|filter| filter.model = Some("m".to_owned())), ["x3", "x2"]);
    assert_eq!(list(&|filter| filter.client = Some("bob".to_owned())), ["x4"]);
    assert_eq!(list(&|filter| filter.status_class = Some(5)), ["x5"]);
    assert_eq!(list(&|filter| filter.after = Some((NOON + 20, "x2".to_owned()))), ["x1", "x0"]);
    assert_eq!(list(&|filter| filter.after = Some((NOON + 20, "x3".to_owned()))), ["x2", "x1", "x0"]);
    let several = |filter: &mut ListFilter| {
        filter.since_ms = Some(NOON);
        filter.before_ms = Some(NOON + 35);
        filter.client = Some("ann".to_owned());
        filter.model = Some("m".to_owned());
        filter.status_class = Some(2);
        filter.limit = 1;
    };
    assert_eq!(list(&several), ["x3"]);
    let quoted = "x' OR 1=1 --".to_owned();
    assert_eq!(list(&|filter| filter.client = Some(quoted.clone())), [""; 0]);
}

fn a_conversation_is_in_order(place: &StorePlace) {
    let mut store = opened(place);
    let mut other = exchange("d", 5);
    other.facts.conversation = "c2".into();
    store.append(&[exchange("b", 20), exchange("a", 20), other, exchange("c", 10)]).expect("stored");
    let conversation = store.conversation("c1").expect("read");
    assert_eq!(ids(conversation.iter().map(|exchange| &exchange.facts)), ["c", "a", "b"]);
    assert_eq!(conversation[0].request, exchange("c", 10).request);
    assert!(store.conversation("c3").expect("read").is_empty());
}

fn sums_are_per_client_and_since_a_time(place: &StorePlace) {
    let mut store = opened(place);
    let spent = |id: &str, offset, client: &str, output, cost| {
        let mut exchange = exchange(id, offset);
        exchange.facts.client = client.into();
        exchange.facts.usage.input = Some(10);
        exchange.facts.usage.output = Some(output);
        exchange.facts.cost = cost;
        exchange
    };
    let million_dollars = 1_000_000_000_000_000_000;
    let all = [
        spent("a", 0, "ann", 1, Some(5)),
        spent("b", 10, "ann", 2, Some(million_dollars)),
        spent("c", 20, "ann", 4, None),
        spent("d", 20, "bob", 8, Some(7)),
        exchange("e", 20),
    ];
    store.append(&all).expect("stored");
    let sums = store.sums(NOON + 10, None).expect("summed");
    let figures: Vec<_> = sums
        .iter()
        .map(|sums| (&*sums.client, sums.exchanges, sums.input, sums.output, sums.cost, sums.unpriced))
        .collect();
    assert_eq!(figures, [("ann", 3, 20, 6, million_dollars, 1), ("bob", 1, 10, 8, 7, 0)]);
    let sums = store.sums(0, Some("ann")).expect("summed");
    assert_eq!(sums.len(), 1);
    assert_eq!((sums[0].exchanges, sums[0].cost), (4, million_dollars + 5));
    assert!(store.sums(NOON + 21, None).expect("summed").is_empty());
}

fn responses_are_found_by_their_client(place: &StorePlace) {
    let mut store = opened(place);
    let mut all = Vec::new();
    for number in 0..4_u64 {
        let mut exchange = exchange(&format!("x{number}"), number);
        exchange.facts.response_id = Some(format!("resp_{number}"));
        exchange.facts.previous_response = number.checked_sub(1).map(|number| format!("resp_{number}"));
        all.push(exchange);
    }
    // A chain whose start is missing, and a chain that leads back to itself.
    all[0].facts.previous_response = Some("resp_gone".to_owned());
    let mut circle = exchange("y", 9);
    circle.facts.response_id = Some("resp_y".to_owned());
    circle.facts.previous_response = Some("resp_y".to_owned());
    all.push(circle);
    store.append(&all).expect("stored");
    let found = store.response("ann", "resp_2").expect("read").expect("stored");
    assert_eq!(found.facts.id, "x2");
    assert_eq!(store.response("bob", "resp_2").expect("read"), None);
    assert_eq!(store.response_conversation("ann", "resp_2").expect("read").as_deref(), Some("c1"));
    assert_eq!(store.response_conversation("bob", "resp_2").expect("read"), None);
    let chain = store.response_chain("ann", "resp_2").expect("read");
    assert_eq!(ids(chain.iter().map(|exchange| &exchange.facts)), ["x0", "x1", "x2"]);
    assert_eq!(store.response_chain("ann", "resp_y").expect("read").len(), 1);
    assert!(store.response_chain("ann", "resp_x").expect("read").is_empty());
}

fn a_repeated_batch_is_stored_once(place: &StorePlace) {
    let mut store = opened(place);
    let batch = [exchange("a", 0), full_exchange("b")];
    store.append(&batch).expect("stored");
    let size = store.size().expect("counted");
    store.append(&batch).expect("repeated");
    assert_eq!(store.size().expect("counted"), size);
    assert_eq!(size.exchanges, 2);
    assert!(size.bytes > 50_000, "{}", size.bytes);
}

fn strange_texts_are_stored(place: &StorePlace) {
    let mut store = opened(place);
    // A zero byte is stored or replaced, never refused.
    let mut strange = exchange("a", 0);
    strange.facts.path = "/\0'\"".into();
    strange.facts.client = String::new();
    let mut keyed = exchange("b", 0);
    keyed.facts.path = "/v1beta/models/m:generateContent?key=secret".into();
    store.append(&[strange, keyed]).expect("stored");
    let mut path = |id| store.get(id).expect("read").expect("stored").facts.path;
    assert!(["/\0'\"", "/\u{fffd}'\""].contains(&&*path("a")), "{:?}", path("a"));
    assert_eq!(path("b"), "/v1beta/models/m:generateContent");
    store.append(&[]).expect("an empty batch");
    assert_eq!(store.size().expect("counted").exchanges, 2);
}

fn retained(store: &mut dyn Store, retention: &Retention, now_ms: u64) -> u64 {
    let mut deleted = 0;
    loop {
        let step = store.retain(retention, now_ms).expect("deleted");
        deleted += step.exchanges;
        if !step.more {
            return deleted;
        }
    }
}

fn old_exchanges_are_deleted(place: &StorePlace) {
    let mut store = opened(place);
    let hour = 3_600_000;
    for number in 0..13_u64 {
        let batch: Vec<_> =
            (0..100).map(|at| exchange(&format!("x{number:02}-{at:03}"), number * hour / 2 + at)).collect();
        store.append(&batch).expect("stored");
    }
    // Pieces of requests in the first, second and last hour.
    for (id, offset) in [("old", 1), ("older", hour + 1), ("new", 6 * hour)] {
        let mut large = full_exchange(id);
        large.facts.started_ms = NOON + offset;
        store.append(&[large]).expect("stored");
    }
    assert_eq!(retained(&mut *store, &Retention::default(), NOON + 99 * hour), 0);
    let three_hours = Retention::new(Some(3 * hour), None);
    assert_eq!(retained(&mut *store, &three_hours, NOON + 6 * hour + 50), 652);
    let left = store.list(&{
        let mut filter = ListFilter::default();
        filter.limit = 10_000;
        filter
    });
    let left = left.expect("listed");
    assert_eq!(left.len(), 13 * 100 + 3 - 652);
    assert!(left.iter().all(|facts| facts.started_ms >= NOON + 3 * hour + 50));
    let new = store.get("new").expect("read").expect("kept");
    assert_eq!(new.request, full_exchange("new").request);
    assert_eq!(retained(&mut *store, &Retention::new(Some(0), None), NOON + 99 * hour), 651);
    assert_eq!(store.size().expect("counted").bytes, 0);
}

fn the_size_is_kept_and_the_rest_is_readable(place: &StorePlace) {
    let mut store = opened(place);
    // Exchanges of one hour whose requests share a part, and of which each adds a part.
    let shared = noise(60_000, 1);
    let all: Vec<_> = (0..60)
        .map(|number| {
            let mut exchange = exchange(&format!("x{number:02}"), number * 1000);
            exchange.request = format!("{shared}{}", noise(20_000, 100 + number)).into();
            exchange
        })
        .collect();
    for batch in all.chunks(7) {
        store.append(batch).expect("stored");
    }
    let before = store.size().expect("counted");
    let sent: usize = all.iter().map(|exchange| exchange.request.len()).sum();
    assert!(before.bytes < sent as u64 / 4, "{} of {sent} bytes", before.bytes);
    let most = before.bytes / 2;
    let deleted = retained(&mut *store, &Retention::new(None, Some(most)), NOON);
    let after = store.size().expect("counted");
    assert_eq!(after.exchanges, 60 - deleted);
    assert!(after.bytes <= most && after.bytes > most * 8 / 10, "{} of {most}", after.bytes);
    // The newest are left, and each is whole.
    for exchange in &all[deleted as usize..] {
        let stored = store.get(&exchange.facts.id).expect("read").expect("kept");
        assert_eq!(stored.request, exchange.request);
    }
    assert_eq!(retained(&mut *store, &Retention::new(None, Some(most)), NOON), 0);
    retained(&mut *store, &Retention::new(None, Some(0)), NOON);
    assert_eq!(store.size().expect("counted").bytes, 0);
}

fn several_writers_and_a_retention_lose_nothing(place: &StorePlace) {
    // The writers share pieces, so that the retention could delete a piece that a writer relies on.
    let shared = noise(60_000, 9);
    opened(place);
    std::thread::scope(|scope| {
        for writer in 0..3 {
            let shared = &shared;
            scope.spawn(move || {
                let mut store = opened(place);
                for round in 0..20 {
                    let mut exchange = exchange(&format!("w{writer}-{round}"), 3_000_000);
                    // Old exchanges, which the retention deletes while the writers run.
                    let mut old = exchange.clone();
                    old.facts.id = format!("o{writer}-{round}");
                    old.facts.started_ms -= 2_000_000;
                    old.request = shared.clone().into();
                    exchange.request = format!("{shared}{writer}").into();
                    let batch = [old, exchange];
                    while let Err(error) = store.append(&batch) {
                        assert!(error.is_retryable(), "{error}");
                    }
                }
            });
        }
        scope.spawn(move || {
            let mut store = opened(place);
            for _ in 0..40 {
                retained(&mut *store, &Retention::new(Some(1_000_000), None), NOON + 3_000_000);
            }
        });
    });
    let mut store = opened(place);
    retained(&mut *store, &Retention::new(Some(1_000_000), None), NOON + 3_000_000);
    assert_eq!(store.size().expect("counted").exchanges, 60);
    let conversation = store.conversation("c1").expect("every exchange is whole");
    let lengths: HashSet<usize> = conversation.iter().map(|exchange| exchange.request.len()).collect();
    assert_eq!(lengths, HashSet::from([60_001]));
}

fn a_recorder_stores_and_derives(place: &StorePlace) {
    let recorder =
        ExchangeRecorder::open(RecorderSettings::new(place.clone()), |trouble| panic!("{trouble}"));
    let recorder = recorder.expect("opens");
    let respond = |id: &str, offset, request: &str, response: &str| {
        let mut exchange = exchange(id, offset);
        exchange.facts.conversation = String::new();
        exchange.facts.client_dialect = "openai-responses".into();
        exchange.request = request.to_owned().into();
        exchange.response = response.to_owned().into();
        exchange
    };
    let first = respond(
        "a",
        0,
        r#"{"model":"m","input":"hi"}"#,
        r#"{"id":"resp_a","object":"response","model":"m","output":[],"status":"completed"}"#,
    );
    let second = respond(
        "b",
        1,
        r#"{"model":"m","previous_response_id":"resp_a","input":"more"}"#,
        "event: response.created\ndata: {\"type\":\"response.created\",\"sequence_number\":0,\"response\":{\"id\":\"resp_b\",\"object\":\"response\",\"status\":\"in_progress\",\"output\":[]}}\n\n",
    );
    let mut second = second;
    second.facts.streamed = true;
    let third = respond(
        "c",
        2,
        r#"{"model":"m","previous_response_id":"resp_b","store":false,"input":"most"}"#,
        r#"{"id":"resp_c","object":"response","model":"m","output":[],"status":"completed"}"#,
    );
    // The first two may be one batch; the third finds the second in the database.
    assert!(recorder.record(first) && recorder.record(second));
    recorder.flush().wait().expect("flushed");
    assert!(recorder.record(third));
    recorder.flush().wait().expect("flushed");
    assert_eq!(recorder.counts().stored, 3);
    let stored = recorder.read(|store| ["a", "b", "c"].map(|id| store.get(id)).into_iter().collect());
    let stored: Vec<_> = stored.wait().expect("read");
    let facts: Vec<_> = stored.into_iter().map(|exchange| exchange.expect("stored").facts).collect();
    assert!(facts[0].conversation.starts_with("conv_"), "{}", facts[0].conversation);
    assert!(facts.iter().all(|other| other.conversation == facts[0].conversation));
    let response_ids: Vec<_> = facts.iter().map(|facts| facts.response_id.as_deref()).collect();
    assert_eq!(response_ids, [Some("resp_a"), Some("resp_b"), None]);
    assert_eq!(facts[2].previous_response.as_deref(), Some("resp_b"));
    recorder.close();
    assert!(!recorder.record(exchange("d", 3)));
    assert_eq!(recorder.counts().dropped, 1);
    assert!(matches!(recorder.flush().wait(), Err(StoreError::Closed)));
    assert!(matches!(recorder.read(|store| store.size()).wait(), Err(StoreError::Closed)));
}
