//! JSON-RPC: requests, notifications and responses, one JSON object each.

use crate::json::{JsonWriter, Raw};
use crate::pipe::Remembered;
use crate::tape::{Kind, Member as _, Val, WantedNames};

/// The error code for a method that the receiver does not have.
pub(crate) const METHOD_NOT_FOUND: i64 = -32601;

/// A message by its sort.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Message<'t> {
    /// A request: the receiver must answer with the same id.
    Request { id: Val<'t>, method: &'t str },
    /// A notification: no answer.
    Notification { method: &'t str },
    /// The result of a request, or its error.
    Response { id: Val<'t>, outcome: Result<Val<'t>, Val<'t>> },
}

impl<'t> Message<'t> {
    /// The sort of an object; `None` if the object is no message of JSON-RPC.
    pub(crate) fn of(object: Val<'t>) -> Option<Self> {
        const WANTED: WantedNames<4> = WantedNames::new(["id", "method", "result", "error"]);
        let [id, method, result, error] = object.find(&WANTED);
        Self::of_members(id, method, result, error)
    }

    /// The sort of an object with these members.
    pub(crate) fn of_members(
        id: Option<Val<'t>>,
        method: Option<Val<'t>>,
        result: Option<Val<'t>>,
        error: Option<Val<'t>>,
    ) -> Option<Self> {
        let id = id.filter(|id| matches!(id.kind(), Kind::Number | Kind::String));
        if method.is_some_and(|method| method.kind() == Kind::String) {
            let method = method.word();
            return Some(match id {
                Some(id) => Message::Request { id, method },
                None => Message::Notification { method },
            });
        }
        let outcome = match (result, error) {
            (_, Some(error)) if !error.is_null() => Err(error),
            (Some(result), _) => Ok(result),
            (None, _) => return None,
        };
        Some(Message::Response { id: id?, outcome })
    }
}

/// The name of a request of the agent: the id as text. A number and a string of the same digits are two requests; the
/// quotes distinguish them if both are open, which no agent does.
pub(crate) fn id_text(id: Val<'_>) -> &str {
    let text = id.text();
    text.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or(text)
}

/// The requests of the agent that wait for our answer, by the text of their id.
#[derive(Debug)]
pub(crate) struct OpenRequests<T>(Remembered<(Raw<'static>, T)>);

impl<T> Default for OpenRequests<T> {
    fn default() -> Self {
        Self(Remembered::default())
    }
}

impl<T> OpenRequests<T> {
    /// Remembers a request. Returns the ids that can no longer be answered: an open request with the same text, or the
    /// oldest of too many.
    pub(crate) fn insert(&mut self, id: Val<'_>, request: T) -> Vec<Raw<'static>> {
        let same = self.0.remove(id_text(id));
        let oldest = self.0.insert(id_text(id), (id.raw().into_owned(), request));
        same.into_iter().chain(oldest).map(|(id, _)| id).collect()
    }

    /// Removes all open requests, in order.
    pub(crate) fn take_all(&mut self) -> impl Iterator<Item = (Raw<'static>, T)> {
        self.0.take_all()
    }

    /// Removes an open request for its answer: the id as the agent wrote it, and the remembered value.
    pub(crate) fn remove(&mut self, id: &str) -> Option<(Raw<'static>, T)> {
        self.0.remove(id)
    }
}

/// Our own requests. Each id names the method, so that a response can be read without a list of open requests.
#[derive(Debug, Default)]
pub(crate) struct OwnRequests {
    count: u64,
}

impl OwnRequests {
    /// The id of the next request.
    pub(crate) fn next(&mut self, method: &str) -> String {
        self.count += 1;
        format!("{method}#{}", self.count)
    }

    /// The method of one of our requests, from the id of its response.
    pub(crate) fn method_of(id: Val<'_>) -> Option<&str> {
        let (method, number) = id_text(id).rsplit_once('#')?;
        (id.kind() == Kind::String && number.bytes().all(|byte| byte.is_ascii_digit())).then_some(method)
    }
}

/// Writes the head of a request up to the value of `params`; the caller writes the value and calls [`end`].
pub(crate) fn begin_request<'j, 'o>(
    version: bool,
    id: &str,
    method: &str,
    json: &'j mut JsonWriter<'o>,
) -> &'j mut JsonWriter<'o> {
    begin(version, json).key("id").literal(id).key("method").literal(method).key("params")
}

/// Writes the head of a notification up to the value of `params`; the caller writes the value and calls [`end`].
pub(crate) fn begin_notification<'j, 'o>(
    version: bool,
    method: &str,
    json: &'j mut JsonWriter<'o>,
) -> &'j mut JsonWriter<'o> {
    begin(version, json).key("method").literal(method).key("params")
}

/// Writes the head of a response up to the value of `result`; the caller writes the value and calls [`end`].
pub(crate) fn begin_result<'j, 'o>(
    version: bool,
    id: &Raw<'_>,
    json: &'j mut JsonWriter<'o>,
) -> &'j mut JsonWriter<'o> {
    begin(version, json).key("id").raw(id).key("result")
}

/// Refuses a request.
pub(crate) fn refuse(version: bool, id: &Raw<'_>, code: i64, message: &str, json: &mut JsonWriter<'_>) {
    begin(version, json).key("id").raw(id).key("error").object();
    json.key("code").i64(code).key("message").literal(message).end_object();
    end(json);
}

/// Ends a message.
pub(crate) fn end(json: &mut JsonWriter<'_>) {
    json.end_object().end_frame("\n");
}

/// Codex omits the member `jsonrpc`.
fn begin<'j, 'o>(version: bool, json: &'j mut JsonWriter<'o>) -> &'j mut JsonWriter<'o> {
    json.begin_frame("").object();
    if version {
        json.key("jsonrpc").literal("2.0");
    }
    json
}
