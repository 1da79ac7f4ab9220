//! Responses that later requests can continue (`previous_response_id`), for backends that store none.
//!
//! A stored response holds the items of its request and its answer. A request that continues a response gets these items
//! before its own, so that any backend has the whole conversation. Instructions and tools are not carried over: OpenAI's
//! API does not carry them over, either.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use interlingua::json::Str;
use interlingua::model::FailureClass;
use interlingua::tape::{Limits, TapeBuf, Val};
use tokio::task::AbortHandle;

use crate::call::FailedCall;

/// The stored responses of a gateway, up to a number of bytes. The oldest go first.
#[derive(Debug)]
pub(crate) struct StoredResponses {
    inner: Mutex<Stored>,
    most_bytes: usize,
}

#[derive(Debug, Default)]
struct Stored {
    responses: HashMap<String, Arc<StoredResponse>>,
    oldest_first: VecDeque<String>,
    bytes: usize,
}

/// A response that a later request can continue.
#[derive(Clone, Debug)]
pub(crate) struct StoredResponse {
    /// The name of the client that may continue it.
    client: String,
    /// The items of the request, separated by commas.
    pub(crate) input: String,
    /// The items of the answer, separated by commas.
    output: String,
    /// The response as the client got it.
    pub(crate) response: String,
    /// The state of a response that is made in the background.
    background: Option<Background>,
}

/// The state of a response in the background.
#[derive(Clone, Debug)]
enum Background {
    /// The task, once it is known.
    Open(Option<AbortHandle>),
    Ended,
}

/// The facts of a response that begins in the background.
#[derive(Clone, Copy)]
pub(crate) struct NewResponse<'r> {
    pub(crate) id: &'r str,
    pub(crate) client: &'r str,
    /// The start in seconds since 1970.
    pub(crate) created: u64,
    pub(crate) model: &'r str,
    /// The request of the client, whose settings the response repeats.
    pub(crate) settings: &'r [u8],
}

/// The settings of a request that its response repeats, and their usual values.
const ECHOED: &[(&str, Option<&str>)] = &[
    ("instructions", None),
    ("max_output_tokens", None),
    ("metadata", None),
    ("parallel_tool_calls", Some("true")),
    ("previous_response_id", None),
    ("reasoning", None),
    ("temperature", None),
    ("text", None),
    ("tool_choice", Some("\"auto\"")),
    ("tools", Some("[]")),
    ("top_p", None),
    ("truncation", None),
];

/// The result of a cancellation.
pub(crate) enum Cancelled {
    Missing,
    NotInBackground,
    /// The response, which may have ended before.
    Response(String),
}

impl StoredResponse {
    fn size(&self) -> usize {
        self.input.len() + self.output.len() + self.response.len()
    }

    /// Ends the task of a response that nobody can poll any more.
    fn end_task(&self) {
        if let Some(Background::Open(Some(task))) = &self.background {
            task.abort();
        }
    }

    /// Whether the response is not complete yet.
    const fn is_open(&self) -> bool {
        matches!(self.background, Some(Background::Open(_)))
    }
}

impl StoredResponses {
    pub(crate) fn new(most_bytes: usize) -> Self {
        Self { inner: Mutex::default(), most_bytes }
    }

    /// The response with an id, for the client that got it.
    pub(crate) fn get(&self, id: &str, client: &str) -> Option<Arc<StoredResponse>> {
        self.look().responses.get(id).filter(|stored| stored.client == client).cloned()
    }

    /// Removes a response; `false` if the client has none with the id.
    pub(crate) fn remove(&self, id: &str, client: &str) -> bool {
        let mut stored = self.look();
        if stored.responses.get(id).is_none_or(|known| known.client != client) {
            return false;
        }
        if let Some(known) = stored.responses.remove(id) {
            stored.bytes -= known.size();
            known.end_task();
        }
        stored.oldest_first.retain(|known| known != id);
        true
    }

    /// Stores the answer to a request. `returned` is the answer as the client got it, whole or as server-sent events.
    pub(crate) fn store(&self, client: &str, request: &[u8], returned: &[u8]) {
        let Some(response) = response_of(returned) else { return };
        let mut tape = TapeBuf::default();
        let Ok(tape) = tape.parse(&response, &Limits::default()) else { return };
        let root = tape.root();
        let Some(id) = root.get("id").and_then(|id| id.str()) else { return };
        let (input, output) = (input_items(request).unwrap_or_default(), output_items(root));
        let id = id.decode().into_owned();
        let (client, response) = (client.to_owned(), response.clone());
        self.insert(id, StoredResponse { client, input, output, response, background: None });
    }

    /// Stores a response that begins in the background; the response so far.
    pub(crate) fn begin(&self, new: NewResponse<'_>, request: &[u8]) -> Result<String, FailedCall> {
        let NewResponse { id, client, created, model, settings } = new;
        let (quoted_id, quoted_model) = (Str::plain(id), Str::plain(model));
        let mut response = format!(
            r#"{{"id":"{}","object":"response","created_at":{created},"status":"queued","background":true,"error":null,"incomplete_details":null,"model":"{}","output":[],"store":true,"usage":null"#,
            quoted_id.as_escaped(),
            quoted_model.as_escaped()
        );
        let text = String::from_utf8_lossy(settings);
        let mut tape = TapeBuf::default();
        let tape = tape.parse(&text, &Limits::default()).ok();
        for (name, usual) in ECHOED {
            let value = tape.as_ref().and_then(|tape| tape.root().get(name)).map(|value| value.text());
            if let Some(value) = value.or(*usual) {
                response = response + ",\"" + name + "\":" + value;
            }
        }
        response.push('}');
        let stored = StoredResponse {
            client: client.to_owned(),
            input: input_items(request).unwrap_or_default(),
            output: String::new(),
            response: response.clone(),
            background: Some(Background::Open(None)),
        };
        self.insert(id.to_owned(), stored);
        if self.get(id, client).is_none() {
            let message = "the request is too large to be stored, so it cannot run in the background";
            return Err(FailedCall::new(FailureClass::InvalidRequest, message));
        }
        Ok(response)
    }

    /// Sets the task of a response in the background, unless the response has ended.
    pub(crate) fn set_task(&self, id: &str, task: AbortHandle) {
        self.change(id, |stored| stored.background = Some(Background::Open(Some(task))));
    }

    /// Marks a response in the background as begun.
    pub(crate) fn set_in_progress(&self, id: &str) {
        self.change(id, |stored| {
            stored.response = with_members(&stored.response, &[("status", "\"in_progress\"")]);
        });
    }

    /// Ends a response in the background with an answer, or with the body of an error.
    pub(crate) fn finish(&self, id: &str, returned: &[u8]) {
        self.change(id, |stored| {
            stored.background = Some(Background::Ended);
            let quoted = format!("\"{}\"", Str::plain(id).as_escaped());
            if let Some(response) = response_of(returned) {
                let own = [("id", quoted.as_str()), ("background", "true"), ("store", "true")];
                stored.response = with_members(&response, &own);
                let mut tape = TapeBuf::default();
                let tape = tape.parse(&response, &Limits::default());
                stored.output = tape.map(|tape| output_items(tape.root())).unwrap_or_default();
                return;
            }
            let error = error_of(returned);
            let failed = [("status", "\"failed\""), ("error", error.as_str())];
            stored.response = with_members(&stored.response, &failed);
        });
    }

    /// Cancels a response in the background. A response that has ended stays as it is.
    pub(crate) fn cancel(&self, id: &str, client: &str) -> Cancelled {
        let Some(stored) = self.get(id, client) else { return Cancelled::Missing };
        match &stored.background {
            None => return Cancelled::NotInBackground,
            Some(Background::Ended) => {}
            Some(Background::Open(task)) => {
                self.change(id, |stored| {
                    stored.background = Some(Background::Ended);
                    stored.response = with_members(&stored.response, &[("status", "\"cancelled\"")]);
                });
                if let Some(task) = task {
                    task.abort();
                }
            }
        }
        self.get(id, client).map_or(Cancelled::Missing, |stored| Cancelled::Response(stored.response.clone()))
    }

    /// Changes a response that has not ended.
    fn change(&self, id: &str, change: impl FnOnce(&mut StoredResponse)) {
        let mut all = self.look();
        let Some(stored) = all.responses.get_mut(id).filter(|stored| stored.is_open()) else { return };
        let before = stored.size();
        let mut changed = StoredResponse::clone(stored);
        change(&mut changed);
        let after = changed.size();
        *stored = Arc::new(changed);
        all.bytes = all.bytes - before + after;
        self.drop_oldest(&mut all);
    }

    fn insert(&self, id: String, response: StoredResponse) {
        let size = response.size();
        if size > self.most_bytes {
            return;
        }
        let mut stored = self.look();
        if let Some(before) = stored.responses.insert(id.clone(), Arc::new(response)) {
            stored.bytes -= before.size();
            stored.oldest_first.retain(|known| *known != id);
        }
        stored.oldest_first.push_back(id);
        stored.bytes += size;
        self.drop_oldest(&mut stored);
    }

    fn drop_oldest(&self, stored: &mut Stored) {
        while stored.bytes > self.most_bytes {
            let Some(oldest) = stored.oldest_first.pop_front() else { break };
            if let Some(removed) = stored.responses.remove(&oldest) {
                stored.bytes -= removed.size();
                removed.end_task();
            }
        }
    }

    fn look(&self) -> MutexGuard<'_, Stored> {
        // No holder of the lock panics.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The id of the response that a request continues.
pub(crate) fn continued(request: &[u8]) -> Option<String> {
    const MEMBER: &str = "previous_response_id";
    memchr::memmem::find(request, MEMBER.as_bytes())?;
    let text = std::str::from_utf8(request).ok()?;
    let mut tape = TapeBuf::default();
    let tape = tape.parse(text, &Limits::default()).ok()?;
    Some(tape.root().get(MEMBER)?.str()?.decode().into_owned())
}

/// Whether a request asks that its answer is stored; that is the default.
pub(crate) fn asks_to_store(request: &[u8]) -> bool {
    let parsed = std::str::from_utf8(request).ok().map(|text| {
        let mut tape = TapeBuf::default();
        let stores = tape.parse(text, &Limits::default()).map(|tape| tape.root().get("store")?.bool());
        !matches!(stores, Ok(Some(false)))
    });
    parsed.unwrap_or(false)
}

/// The request with the items of the stored response before its own, and without the id.
pub(crate) fn with_history(request: &[u8], before: &StoredResponse) -> Result<Vec<u8>, FailedCall> {
    if before.is_open() {
        let message = "the previous response is not complete; poll it before a request continues it";
        return Err(FailedCall::new(FailureClass::InvalidRequest, message));
    }
    let mut items = before.input.clone();
    if !before.output.is_empty() {
        join(&mut items, &before.output);
    }
    if let Some(own) = input_items(request).filter(|own| !own.is_empty()) {
        join(&mut items, &own);
    }
    rewritten(request, &["previous_response_id", "input"], &[("input", &format!("[{items}]"))])
}

/// The error for a response that is not stored.
pub(crate) fn not_found(id: &str) -> FailedCall {
    FailedCall::new(FailureClass::InvalidRequest, format!("Previous response with id '{id}' not found."))
}

/// A JSON object without some of its members, and with others.
pub(crate) fn rewritten(
    object: &[u8],
    without: &[&str],
    with: &[(&str, &str)],
) -> Result<Vec<u8>, FailedCall> {
    let wrong = |detail: String| FailedCall::new(FailureClass::InvalidRequest, detail);
    let text = std::str::from_utf8(object).map_err(|_| wrong("the request is not UTF-8".to_owned()))?;
    let mut tape = TapeBuf::default();
    let tape = tape
        .parse(text, &Limits::default())
        .map_err(|fault| wrong(format!("the request is not JSON: {fault:?}")))?;
    let mut out = String::with_capacity(text.len());
    for (name, value) in
        tape.root().members().filter(|(name, _)| !without.iter().any(|member| name.is(member)))
    {
        let comma = if out.is_empty() { '{' } else { ',' };
        out.push(comma);
        out.push('"');
        out.push_str(name.as_escaped());
        out.push_str("\":");
        out.push_str(value.text());
    }
    for (name, value) in with {
        out.push(if out.is_empty() { '{' } else { ',' });
        out.push('"');
        out.push_str(Str::plain(name).as_escaped());
        out.push_str("\":");
        out.push_str(value);
    }
    out.push_str(if out.is_empty() { "{}" } else { "}" });
    Ok(out.into_bytes())
}

/// The items of a request's input, separated by commas. A text is a message of the user.
pub(crate) fn input_items(request: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(request).ok()?;
    let mut tape = TapeBuf::default();
    let tape = tape.parse(text, &Limits::default()).ok()?;
    let input = tape.root().get("input")?;
    if input.str().is_some() {
        return Some(format!(r#"{{"type":"message","role":"user","content":{}}}"#, input.text()));
    }
    let mut items = String::new();
    for item in input.elements() {
        join(&mut items, item.text());
    }
    Some(items)
}

/// The items of an answer, separated by commas.
fn output_items(response: Val<'_>) -> String {
    let mut items = String::new();
    for item in response.get("output").into_iter().flat_map(|output| output.elements()) {
        join(&mut items, item.text());
    }
    items
}

/// An object with other values of some members.
fn with_members(object: &str, members: &[(&str, &str)]) -> String {
    let names: Vec<&str> = members.iter().map(|(name, _)| *name).collect();
    let changed = rewritten(object.as_bytes(), &names, members).ok();
    changed.and_then(|changed| String::from_utf8(changed).ok()).unwrap_or_else(|| object.to_owned())
}

/// The error of a response, from the body of a refusal.
fn error_of(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    let mut tape = TapeBuf::default();
    let tape = tape.parse(&text, &Limits::default()).ok();
    let error = tape.as_ref().and_then(|tape| tape.root().get("error"));
    let member = |name: &str| {
        let value = error.and_then(|error| error.get(name))?.str()?;
        Some(value.as_escaped().to_owned())
    };
    let kind = member("code").or_else(|| member("type")).unwrap_or_default();
    // The codes of a failed response are a closed list.
    let code = match kind.as_str() {
        kind if kind.contains("rate_limit") => "rate_limit_exceeded",
        kind if kind.contains("invalid") => "invalid_prompt",
        _ => "server_error",
    };
    let message = member("message").unwrap_or_else(|| "the backend gave no answer".to_owned());
    format!(r#"{{"code":"{code}","message":"{message}"}}"#)
}

/// Adds to items that are separated by commas.
pub(crate) fn join(items: &mut String, more: &str) {
    if !items.is_empty() {
        items.push(',');
    }
    items.push_str(more);
}

/// The response in an answer: the whole answer, or that of the final event of a stream.
fn response_of(returned: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(returned).ok()?.trim();
    let mut tape = TapeBuf::default();
    if text.starts_with('{') {
        let tape = tape.parse(text, &Limits::default()).ok()?;
        return is_response(tape.root()).then(|| text.to_owned());
    }
    let last = text.rsplit("\n\n").find_map(|event| {
        let data = event.lines().find_map(|line| line.strip_prefix("data: "))?;
        data.contains("\"response\"").then_some(data)
    })?;
    let tape = tape.parse(last, &Limits::default()).ok()?;
    let is_final = tape
        .root()
        .get("type")
        .is_some_and(|kind| kind.is("response.completed") || kind.is("response.incomplete"));
    let response = tape.root().get("response").filter(|response| is_final && is_response(*response))?;
    Some(response.text().to_owned())
}

fn is_response(value: Val<'_>) -> bool {
    value.get("object").is_some_and(|object| object.is("response"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(id: &str, text: &str) -> String {
        format!(r#"{{"id":"{id}","object":"response","output":[{{"type":"message","content":"{text}"}}]}}"#)
    }

    #[test]
    fn a_request_continues_a_stored_response() {
        let stored = StoredResponses::new(10_000);
        stored.store("c", br#"{"model":"m","input":"one"}"#, answer("r1", "two").as_bytes());
        let request = br#"{"model":"m","previous_response_id":"r1","input":[{"type":"x"}],"store":false}"#;
        assert_eq!(continued(request).as_deref(), Some("r1"));
        let before = stored.get("r1", "c").expect("stored");
        let whole = String::from_utf8(with_history(request, &before).expect("JSON")).expect("text");
        assert_eq!(
            whole,
            r#"{"model":"m","store":false,"input":[{"type":"message","role":"user","content":"one"},{"type":"message","content":"two"},{"type":"x"}]}"#
        );
        assert!(stored.get("r1", "other client").is_none());
        assert!(!stored.remove("r1", "other client") && stored.remove("r1", "c"));
        assert!(stored.get("r1", "c").is_none());
    }

    #[test]
    fn a_stream_is_stored_by_its_final_event() {
        let stored = StoredResponses::new(10_000);
        let created =
            r#"data: {"type":"response.created","response":{"id":"r","object":"response","output":[]}}"#;
        stored.store("c", b"{}", format!("event: x\n{created}\n\n").as_bytes());
        assert!(stored.get("r", "c").is_none(), "the stream has no end");
        let done = format!(r#"data: {{"type":"response.completed","response":{}}}"#, answer("r", "x"));
        stored.store("c", b"{}", format!("{created}\n\nevent: y\n{done}\n\n").as_bytes());
        assert!(stored.get("r", "c").is_some());
    }

    #[test]
    fn the_oldest_responses_go_first() {
        let stored = StoredResponses::new(400);
        for id in ["r1", "r2", "r3", "r2", "r4"] {
            stored.store("c", br#"{"input":"a question"}"#, answer(id, "an answer").as_bytes());
        }
        let kept: Vec<bool> = ["r1", "r2", "r3", "r4"].map(|id| stored.get(id, "c").is_some()).to_vec();
        assert_eq!(kept, [false, true, false, true]);
        assert!(stored.look().bytes <= 400);
        stored.store("c", b"{}", answer("huge", &"x".repeat(1000)).as_bytes());
        assert!(stored.get("huge", "c").is_none());
    }

    #[test]
    fn storing_is_the_default() {
        assert!(asks_to_store(b"{}"));
        assert!(asks_to_store(br#"{"store":true}"#));
        assert!(!asks_to_store(br#"{"store":false}"#));
        assert_eq!(continued(br#"{"previous_response_id":null}"#), None);
    }
}
