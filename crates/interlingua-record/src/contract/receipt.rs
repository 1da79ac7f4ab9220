//! A receipt: the request, its route, the losses and the outcome. Each receipt holds the hash of the previous receipt,
//! so that a receipt cannot be removed or changed without notice. The newest receipt has no successor, so each receipt
//! also ends with the hash of its own bytes. That hash reveals damage, but not forgery: it can be recomputed.

use interlingua::error::StableCode;
use interlingua::json::{JsonBuffer, JsonWriter, Str};
use interlingua::ledger::{Report, Row};
use interlingua::model::{Field, StopClass, Usage};
use interlingua::pipe::CallOutcome;
use interlingua::tape::{Kind, Limits, TapeBuf, Val};
use ring::digest::{SHA256, digest};

use super::order::WorkOrder;
use super::translate::Refusal;

/// The hash of some bytes, and their number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Digest {
    /// SHA-256, in lower-case hexadecimal digits.
    pub sha256: String,
    /// The number of bytes.
    pub bytes: u64,
}

impl Digest {
    /// The hash of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let mut text = Vec::with_capacity(64);
        // Formatting traits take ten times as long.
        for byte in digest(&SHA256, bytes).as_ref() {
            text.extend([byte >> 4, byte & 15].map(|digit| DIGITS[usize::from(digit)]));
        }
        let sha256 = String::from_utf8(text).unwrap_or_default();
        Self { sha256, bytes: bytes.len() as u64 }
    }
}

/// The outcome of an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The order was carried out completely.
    Complete,
    /// The response is incomplete, or fields were lost.
    Partial,
    /// The order failed.
    Failed,
}

impl Outcome {
    /// The word for the outcome in receipts.
    pub const fn word(self) -> &'static str {
        match self {
            Outcome::Complete => "Complete",
            Outcome::Partial => "Partial",
            Outcome::Failed => "Failed",
        }
    }
}

/// The route of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// The dialect of the client.
    pub from: String,
    /// The dialect of the backend.
    pub to: String,
    /// The backend.
    pub backend: Option<String>,
    /// The model.
    pub model: Option<String>,
}

/// The receipt of an order.
#[derive(Clone, Debug, PartialEq)]
pub struct Receipt {
    task: Option<String>,
    route: Route,
    request: Digest,
    sent: Option<Digest>,
    response: Option<Digest>,
    returned: Option<Digest>,
    losses: Vec<Row>,
    notes: Vec<(&'static str, u64)>,
    usage: Option<Usage>,
    /// The outcome of the order.
    pub outcome: Outcome,
    error: Option<(StableCode, String, Option<Refusal>)>,
    previous: Option<String>,
}

/// The digests and the outcome of a response.
#[derive(Debug)]
pub(super) struct AnswerProof {
    pub(super) response: Digest,
    pub(super) returned: Digest,
    pub(super) outcome: CallOutcome,
}

/// The members of a receipt, in order.
pub const MEMBERS: [&str; 14] = [
    "schema", "task", "route", "request", "sent", "response", "returned", "losses", "notes", "usage",
    "outcome", "error", "previous", "digest",
];

/// The facts of a model call that its receipt proves.
#[derive(Clone, Debug)]
pub struct CallProof<'c> {
    /// A label for the call.
    pub task: Option<String>,
    /// The route of the request.
    pub route: Route,
    /// The request of the client.
    pub request: Digest,
    /// The request to the backend.
    pub sent: Option<Digest>,
    /// The answer of the backend.
    pub response: Option<Digest>,
    /// The answer for the client.
    pub returned: Option<Digest>,
    /// The report of the request.
    pub report: &'c Report,
    /// The outcome; `None` before there is an answer.
    pub outcome: Option<&'c CallOutcome>,
    /// The previous receipt.
    pub previous: Option<&'c Digest>,
}

impl Receipt {
    /// The receipt of a model call.
    pub fn of_call(call: CallProof<'_>) -> Self {
        let CallProof { task, route, request, sent, response, returned, report, outcome: of_call, previous } =
            call;
        let mut losses = report.lost_paths.clone();
        let mut notes = report.notes.clone();
        let mut outcome = if losses.is_empty() { Outcome::Complete } else { Outcome::Partial };
        let mut error = None;
        if let Some(of_call) = of_call {
            losses.extend(of_call.report.lost_paths.iter().cloned());
            notes.extend(of_call.report.notes.iter().copied());
            outcome = outcome_of(of_call.stop);
            if let Some(failure) = &of_call.failure {
                outcome = Outcome::Failed;
                error = Some((StableCode::of_failure(failure.class), failure.message.clone(), None));
            }
        }
        Self {
            task,
            route,
            request,
            sent,
            response,
            returned,
            losses,
            notes,
            usage: of_call.and_then(|of_call| of_call.usage),
            outcome,
            error,
            previous: previous.map(|digest| digest.sha256.clone()),
        }
    }

    pub(super) fn of(
        order: &WorkOrder,
        (backend, model): (&str, Option<String>),
        (sent, report): (&[u8], &Report),
        answer: Option<&AnswerProof>,
        previous: Option<&Digest>,
    ) -> Self {
        Self::of_call(CallProof {
            task: order.task.clone(),
            route: route(order, Some(backend), model),
            request: Digest::of(order.request.as_bytes()),
            sent: Some(Digest::of(sent)),
            response: answer.map(|answer| answer.response.clone()),
            returned: answer.map(|answer| answer.returned.clone()),
            report,
            outcome: answer.map(|answer| &answer.outcome),
            previous,
        })
    }

    pub(super) fn of_refusal(order: &WorkOrder, refusal: &Refusal, previous: Option<&Digest>) -> Self {
        Self {
            task: order.task.clone(),
            route: route(order, order.backend_name.as_deref(), order.model.clone()),
            request: Digest::of(order.request.as_bytes()),
            sent: None,
            response: None,
            returned: None,
            losses: refusal.report.lost_paths.clone(),
            notes: refusal.report.notes.clone(),
            usage: None,
            outcome: Outcome::Failed,
            error: Some((refusal.code, refusal.what.clone(), Some(refusal.clone()))),
            previous: previous.map(|digest| digest.sha256.clone()),
        }
    }

    /// The losses.
    pub fn losses(&self) -> &[Row] {
        &self.losses
    }

    /// The route and the number of losses, on one line.
    pub fn summary(&self) -> String {
        let Route { from, to, backend, model } = &self.route;
        let at = backend.as_deref().map(|name| format!(" at {name}")).unwrap_or_default();
        let model = model.as_deref().map(|name| format!(", {name}")).unwrap_or_default();
        let lost: u64 = self.losses.iter().map(|row| row.count).sum();
        let error = self.error.as_ref().map(|(code, message, _)| format!("; {}: {message}", code.word()));
        let values = if lost == 1 { "value" } else { "values" };
        format!("{from} to {to}{at}{model}, {lost} {values} lost{}", error.unwrap_or_default())
    }

    /// The receipt as JSON with a final newline; the same receipt always yields the same bytes.
    pub fn to_json(&self) -> String {
        let mut buffer = JsonBuffer::default();
        self.write(&mut buffer.hold());
        let text = buffer.held();
        format!("{text}{OWN_DIGEST}\"{}\"}}\n", Digest::of(text.as_bytes()).sha256)
    }

    /// Writes all members except the digest, and leaves the object open.
    fn write(&self, json: &mut JsonWriter<'_>) {
        let Self {
            task,
            route,
            request,
            sent,
            response,
            returned,
            losses,
            notes,
            usage,
            outcome,
            error,
            previous,
        } = self;
        json.object().key("schema").literal(super::RECEIPT);
        opt_text("task", task.as_deref(), json);
        let Route { from, to, backend, model } = route;
        json.key("route").object().key("from").plain(from).key("to").plain(to);
        opt_text("backend", backend.as_deref(), json);
        opt_text("model", model.as_deref(), json);
        json.end_object();
        for (name, digest) in [
            ("request", Some(request)),
            ("sent", sent.as_ref()),
            ("response", response.as_ref()),
            ("returned", returned.as_ref()),
        ] {
            json.key(name);
            match digest {
                Some(Digest { sha256, bytes }) => {
                    json.object().key("sha256").literal(sha256).key("bytes").u64(*bytes).end_object();
                }
                None => _ = json.null(),
            }
        }
        json.key("losses").array();
        for Row { path, reason, field, count, bytes, .. } in losses {
            json.object()
                .key("path")
                .plain(path)
                .key("reason")
                .literal(reason.map_or("", |reason| reason.word()));
            json.key("field");
            match field {
                Some(field) => json.literal(field.word()),
                None => json.null(),
            };
            json.key("count").u64(*count).key("bytes").u64(*bytes).end_object();
        }
        json.end_array().key("notes").array();
        for (what, count) in notes {
            json.object().key("what").plain(what).key("count").u64(*count).end_object();
        }
        json.end_array().key("usage");
        match usage {
            Some(usage) => {
                json.object();
                for (field, count) in usage.counts() {
                    if let Some(count) = count {
                        json.key(field.word().strip_prefix("usage/").unwrap_or(field.word())).u64(count);
                    }
                }
                json.end_object();
            }
            None => _ = json.null(),
        }
        json.key("outcome").literal(outcome.word()).key("error");
        match error {
            Some((code, message, refusal)) => {
                json.object().key("code").literal(code.word()).key("message").plain(message);
                if let Some(Refusal { feature, path, elsewhere, .. }) = refusal {
                    opt_text("feature", feature.map(Field::word), json);
                    opt_text("path", path.as_deref(), json);
                    json.key("elsewhere").array();
                    for name in elsewhere {
                        json.plain(name);
                    }
                    json.end_array();
                }
                json.end_object();
            }
            None => _ = json.null(),
        }
        opt_text("previous", previous.as_deref(), json);
    }
}

/// Separates the digested bytes of a receipt from the digest.
const OWN_DIGEST: &str = ",\"digest\":";

/// Whether a receipt ends with the digest of the bytes before it.
fn has_own_digest(receipt: &str) -> bool {
    let split = receipt.rsplit_once(OWN_DIGEST);
    split.is_some_and(|(before, rest)| {
        rest.trim_end() == format!("\"{}\"}}", Digest::of(before.as_bytes()).sha256)
    })
}

fn opt_text(name: &str, text: Option<&str>, json: &mut JsonWriter<'_>) {
    json.key(name);
    match text {
        Some(text) => json.plain(text),
        None => json.null(),
    };
}

fn route(order: &WorkOrder, backend: Option<&str>, model: Option<String>) -> Route {
    let (from, to) = (order.client.name.to_owned(), order.backend.name.to_owned());
    Route { from, to, backend: backend.map(str::to_owned), model }
}

/// The outcome of a response with that stop reason.
const fn outcome_of(stop: Option<StopClass>) -> Outcome {
    match stop {
        Some(StopClass::End | StopClass::Sequence | StopClass::ToolUse) => Outcome::Complete,
        Some(StopClass::Refusal | StopClass::Filter | StopClass::Error) | None => Outcome::Failed,
        // A class that this crate does not know is no success.
        Some(_) => Outcome::Partial,
    }
}

/// A problem found in a receipt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The JSON pointer of the problem.
    pub pointer: String,
    /// The message.
    pub what: String,
}

/// Checks a receipt: its form, its own hash, and the hashes of the given files.
///
/// `files` are the bytes to compare, by the member that holds their hash: `request`, `sent`, `response`, `returned`,
/// `previous`.
pub fn verify(receipt: &str, files: &[(&str, Vec<u8>)]) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut tape = TapeBuf::default();
    let Ok(tape) = tape.parse(receipt, &Limits::default()) else {
        return vec![Finding { pointer: String::new(), what: "not JSON".to_owned() }];
    };
    let root = tape.root();
    let mut wrong = |pointer: &str, what: String| found.push(Finding { pointer: pointer.to_owned(), what });
    if root.get("schema").is_none_or(|schema| !schema.is(super::RECEIPT)) {
        wrong("/schema", format!("expected `{}`", super::RECEIPT));
    }
    for name in MEMBERS.iter().filter(|name| root.get(name).is_none()) {
        wrong(&format!("/{name}"), "missing".to_owned());
    }
    for (name, _) in root.members().filter(|(name, _)| !MEMBERS.iter().any(|known| name.is(known))) {
        wrong(&format!("/{}", name.decode()), "unknown".to_owned());
    }
    let outcomes = [Outcome::Complete, Outcome::Partial, Outcome::Failed];
    if !root.get("outcome").is_some_and(|word| outcomes.iter().any(|outcome| word.is(outcome.word()))) {
        wrong("/outcome", "expected `Complete`, `Partial` or `Failed`".to_owned());
    }
    for name in ["request", "sent", "response", "returned"] {
        let digest = root.get(name).filter(|digest| !digest.is_null());
        let hash = digest.and_then(|digest| digest.get("sha256")?.str());
        let sound = |hash: &Str<'_>| is_hash(hash.as_escaped());
        if digest.is_some() && !hash.as_ref().is_some_and(sound) {
            wrong(&format!("/{name}/sha256"), "expected 64 hexadecimal digits".to_owned());
        }
    }
    if root.get("digest").is_some() && !has_own_digest(receipt) {
        let what = "not the hash of the bytes before it: the receipt was changed after it was written";
        wrong("/digest", what.to_owned());
    }
    for (name, bytes) in files {
        let own = Digest::of(bytes);
        let said =
            if *name == "previous" { root.get(name) } else { root.get(name).and_then(|it| it.get("sha256")) };
        let said = said.and_then(|hash| hash.str()).map(|hash| hash.decode().into_owned());
        match said {
            Some(said) if said == own.sha256 => {}
            Some(said) => {
                wrong(&format!("/{name}"), format!("the receipt says {said}, the file has {}", own.sha256));
            }
            None => wrong(&format!("/{name}"), "the receipt names no such file".to_owned()),
        }
    }
    found
}

fn is_hash(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
}

/// A difference between two receipts: the JSON pointer and both values (`None` for a missing value).
pub type ReceiptChange = (String, Option<String>, Option<String>);

/// The differences between two receipts; `None` if a receipt is not JSON.
pub fn diff(one: &str, two: &str) -> Option<Vec<ReceiptChange>> {
    let (mut first, mut second) = (TapeBuf::default(), TapeBuf::default());
    let first = first.parse(one, &Limits::default()).ok()?;
    let second = second.parse(two, &Limits::default()).ok()?;
    let mut found = Vec::new();
    compare(Some(first.root()), Some(second.root()), "", &mut found);
    Some(found)
}

fn compare(one: Option<Val<'_>>, two: Option<Val<'_>>, pointer: &str, found: &mut Vec<ReceiptChange>) {
    let kinds = (one.map(|val| val.kind()), two.map(|val| val.kind()));
    match (one, two, kinds) {
        (Some(one), Some(two), (Some(Kind::Object), Some(Kind::Object))) => {
            for (name, value) in one.members() {
                compare(Some(value), two.get(&name.decode()), &format!("{pointer}/{}", name.decode()), found);
            }
            for (name, value) in two.members().filter(|(name, _)| one.get(&name.decode()).is_none()) {
                compare(None, Some(value), &format!("{pointer}/{}", name.decode()), found);
            }
        }
        (Some(one), Some(two), (Some(Kind::Array), Some(Kind::Array))) => {
            let (one, two): (Vec<_>, Vec<_>) = (one.elements().collect(), two.elements().collect());
            for number in 0..one.len().max(two.len()) {
                let pointer = format!("{pointer}/{number}");
                compare(one.get(number).copied(), two.get(number).copied(), &pointer, found);
            }
        }
        (one, two, _) => {
            let text = |val: Option<Val<'_>>| val.map(|val| val.text().to_owned());
            if text(one) != text(two) {
                found.push((pointer.to_owned(), text(one), text(two)));
            }
        }
    }
}
