//! What the wire dialects share: which events make up a request or an answer, names that every target accepts, calls
//! paired with their results, content that is a string or a list, and losses of whole parts. Nothing here knows a
//! vendor's words, but for the text part, which happens to look the same everywhere.

use std::borrow::Cow;
use std::collections::VecDeque;

use crate::emit::{Emit, EmitState};
use crate::ledger::{Ledger, Reason, Rest};
use crate::model::{
    Args, Delta, Event, Failure, FailureClass, Field, FileRef, ItemHead, ItemId, ItemKind, ItemTail, Media,
    MediaSource, Notice, Opaque, Part, Request, StopClass, ToolCall, ToolResult, Turn, Usage,
};
use crate::pipe::{Out, Writer};
use crate::tape::{Kind, Limits, TapeBuf, Val};
use crate::text::{Raw, Str};

/// Writes a request. What no target has a place for is left to [`Asking`].
pub(crate) trait Ask: Send {
    fn settings(&mut self, request: &Request<'_>, out: &mut Out<'_>);
    fn started(&mut self, head: &ItemHead<'_>, event: &Event<'_>, out: &mut Out<'_>);
    fn delta(&mut self, delta: &Delta<'_>, event: &Event<'_>, out: &mut Out<'_>);
    fn completed(&mut self, tail: &ItemTail<'_>, event: &Event<'_>, out: &mut Out<'_>);
    /// There are no more items.
    fn end(&mut self, out: &mut Out<'_>);
}

/// Settings, then items. Items of a source without settings (a log) get empty ones.
#[derive(Default)]
pub(crate) struct Asking<T> {
    ask: T,
    begun: bool,
}

impl<T: Ask> Writer for Asking<T> {
    fn event(&mut self, event: &Event<'_>, out: &mut Out<'_>) {
        match event {
            Event::Request(request) if !self.begun => {
                self.begun = true;
                self.ask.settings(request, out);
            }
            Event::ItemStarted(head) => {
                if !std::mem::replace(&mut self.begun, true) {
                    self.ask.settings(&Request::default(), out);
                }
                lose_place(head, out.ledger);
                self.ask.started(head, event, out);
            }
            Event::ItemDelta(delta) => self.ask.delta(delta, event, out),
            Event::ItemCompleted(tail) => self.ask.completed(tail, event, out),
            Event::Request(_)
            | Event::SessionStarted(_)
            | Event::SessionUpdated(_)
            | Event::SessionEnded(_)
            | Event::TurnStarted(_)
            | Event::TurnEnded(_)
            | Event::Usage(_)
            | Event::PermissionRequested(_)
            | Event::PermissionResolved(_)
            | Event::QuestionRequested(_)
            | Event::QuestionResolved(_)
            | Event::Error(_) => out.ledger.note("only settings and messages have a place in a request"),
        }
    }

    fn rest(&mut self, _: Rest<'_>, _: &mut Out<'_>) {}

    fn finish(&mut self, out: &mut Out<'_>) {
        if self.begun {
            self.ask.end(out);
        }
    }
}

/// Writes one answer, whole or as a stream.
pub(crate) trait Answer: Send {
    /// The turn begins; the facts are known.
    fn begin(&mut self, facts: &Facts, out: &mut Out<'_>);
    /// An event about items, or the end of the turn, before which everything held back must go out.
    fn item(&mut self, event: &Event<'_>, out: &mut Out<'_>);
    fn end(&mut self, turn: &Turn<'_>, facts: &Facts, out: &mut Out<'_>);
    fn fail(&mut self, failure: &Failure<'_>, out: &mut Out<'_>);
}

/// One answer and no more: it begins once, and ends or fails once.
#[derive(Default)]
pub(crate) struct Answering<T> {
    answer: T,
    facts: Facts,
    begun: bool,
    done: bool,
}

/// What an answer says of itself.
#[derive(Default)]
pub(crate) struct Facts {
    pub(crate) id: Option<Str<'static>>,
    pub(crate) model: Option<Str<'static>>,
    pub(crate) time: Option<Raw<'static>>,
    pub(crate) usage: Option<Usage>,
}

impl<T: Answer> Answering<T> {
    fn learn(&mut self, turn: &Turn<'_>, ledger: &mut Ledger) {
        let Turn { id, model, time, stop: _, usage, cost } = turn;
        let facts = &mut self.facts;
        facts.id = id.clone().map(Str::into_owned).or_else(|| facts.id.take());
        facts.model = model.clone().map(Str::into_owned).or_else(|| facts.model.take());
        facts.time = time.clone().map(Raw::into_owned).or_else(|| facts.time.take());
        if let Some(usage) = usage {
            facts.usage.get_or_insert_default().overwrite(usage);
        }
        if let Some(cost) = cost {
            ledger.lose("turn/cost", Reason::NoSlot, cost.as_str());
        }
    }

    fn begin(&mut self, out: &mut Out<'_>) {
        if !std::mem::replace(&mut self.begun, true) {
            self.answer.begin(&self.facts, out);
        }
    }

    fn fail(&mut self, failure: &Failure<'_>, out: &mut Out<'_>) {
        self.done = true;
        self.answer.fail(failure, out);
    }
}

impl<T: Answer> Writer for Answering<T> {
    fn event(&mut self, event: &Event<'_>, out: &mut Out<'_>) {
        if self.done {
            return lose_late(event, out.ledger);
        }
        match event {
            Event::ItemStarted(_) | Event::ItemDelta(_) | Event::ItemCompleted(_) => {
                if let Event::ItemStarted(head) = event {
                    lose_place(head, out.ledger);
                }
                self.begin(out);
                self.answer.item(event, out);
            }
            Event::TurnStarted(turn) => {
                self.learn(turn, out.ledger);
                self.begin(out);
            }
            Event::Usage(turn) => self.learn(turn, out.ledger),
            Event::TurnEnded(turn) => {
                self.begin(out);
                self.answer.item(event, out);
                self.learn(turn, out.ledger);
                if turn.stop.as_ref().is_some_and(|stop| stop.class == StopClass::Error) {
                    return self.fail(&UNREADABLE, out);
                }
                self.done = true;
                self.answer.end(turn, &self.facts, out);
            }
            Event::Error(failure) => {
                self.answer.item(event, out);
                if let Some(status) = failure.status {
                    out.ledger.lose("error/status", Reason::NoSlot, &status.to_string());
                }
                self.fail(failure, out);
            }
            Event::SessionStarted(_)
            | Event::SessionUpdated(_)
            | Event::SessionEnded(_)
            | Event::Request(_)
            | Event::PermissionRequested(_)
            | Event::PermissionResolved(_)
            | Event::QuestionRequested(_)
            | Event::QuestionResolved(_) => {
                out.ledger.note("only a model's answer has a place in a response");
            }
        }
    }

    fn rest(&mut self, _: Rest<'_>, _: &mut Out<'_>) {}

    fn finish(&mut self, out: &mut Out<'_>) {
        if !self.done {
            self.fail(&UNREADABLE, out);
        }
    }
}

/// Books what a source says after its answer has ended or failed.
fn lose_late(event: &Event<'_>, ledger: &mut Ledger) {
    match event {
        Event::ItemStarted(head) => lose_head(head, Reason::Refused, ledger),
        Event::ItemDelta(delta) => lose_part(&delta.value, Reason::Refused, ledger),
        Event::ItemCompleted(tail) => lose_tail(tail, Reason::Refused, ledger),
        Event::Request(_)
        | Event::SessionStarted(_)
        | Event::SessionUpdated(_)
        | Event::SessionEnded(_)
        | Event::TurnStarted(_)
        | Event::TurnEnded(_)
        | Event::Usage(_)
        | Event::PermissionRequested(_)
        | Event::PermissionResolved(_)
        | Event::QuestionRequested(_)
        | Event::QuestionResolved(_)
        | Event::Error(_) => ledger.note("said after the end of the answer, and left out"),
    }
}

/// What to say when there was no answer to translate, or none that ended well.
const UNREADABLE: Failure<'static> = Failure {
    class: FailureClass::Server,
    status: None,
    code: None,
    message: Str::escaped("the response could not be read"),
    request_id: None,
};

/// An id for a call that came without one: no other call of the answer has it, and no call of another answer, because
/// a client that sends both back would name two calls by it.
pub(crate) fn new_call_id(answer: Option<&Str<'_>>, item: ItemId) -> Str<'static> {
    let answer = answer.map(|id| format!("{:016x}_", fingerprint(id.as_escaped().as_bytes())));
    Str::from_plain(&format!("call_{}{}", answer.unwrap_or_default(), item.0))
}

/// What an HTTP status says about a failure, where the body says no more.
pub(crate) fn class_of_status(status: u16) -> FailureClass {
    match status {
        400 | 422 => FailureClass::InvalidRequest,
        401 => FailureClass::Authentication,
        402 => FailureClass::Billing,
        403 => FailureClass::Permission,
        404 => FailureClass::NotFound,
        409 | 412 => FailureClass::Conflict,
        413 => FailureClass::TooLarge,
        429 => FailureClass::RateLimit,
        408 | 504 => FailureClass::Timeout,
        503 | 529 => FailureClass::Overloaded,
        500..600 => FailureClass::Server,
        _ => FailureClass::Other,
    }
}

/// An end user's id of at most `most` characters: a longer one is replaced by a hash, which tells nothing of the person.
pub(crate) fn user_id<'a>(user: &'a Str<'a>, most: usize, ledger: &mut Ledger) -> Str<'a> {
    let plain = user.decode();
    if plain.chars().count() <= most {
        return user.reborrow();
    }
    lose_str("request/user", Reason::Refused, user, ledger);
    ledger.note("end user's id too long for the target: replaced by a hash of it");
    Str::from_plain(&format!("user_{:016x}", fingerprint(plain.as_bytes())))
}

/// Which characters a target takes in an id or a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Letters {
    /// All of them.
    Any,
    /// `[A-Za-z0-9_-]`
    Word,
}

/// The id or name itself if the target takes it; otherwise another one, always the same for the same text.
///
/// The new one ends in a hash of the old, so that different texts stay different. It depends on nothing else: a
/// gateway that holds the request can compute it again to find the tool a reply means.
pub fn alias<'a>(text: &'a Str<'_>, letters: Letters, most: usize) -> Str<'a> {
    let escaped = text.as_escaped();
    let word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    let fits = escaped.len() <= most && (letters == Letters::Any || escaped.bytes().all(word));
    if fits && !escaped.is_empty() {
        return text.reborrow();
    }
    let plain = text.decode();
    if letters == Letters::Any && !plain.is_empty() && plain.chars().count() <= most {
        return text.reborrow();
    }
    let stem = plain.chars().take(most.saturating_sub(17).min(40));
    let stem: String = stem.map(|c| if c.is_ascii() && word(c as u8) { c } else { '_' }).collect();
    Str::from_plain(&format!("{stem}_{:016x}", fingerprint(plain.as_bytes())))
}

pub(crate) fn fingerprint(bytes: &[u8]) -> u64 {
    let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325u64, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    // FNV leaves the high bits of short texts alike; one round of a finaliser spreads them.
    let hash = (hash ^ hash >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd);
    hash ^ hash >> 33
}

/// Calls that wait for their results. Ids are those of the target, still escaped.
#[derive(Debug, Default)]
pub(crate) struct Pairing(VecDeque<String>);

impl Pairing {
    pub(crate) fn called(&mut self, id: &Str<'_>) {
        self.0.push_back(id.as_escaped().to_owned());
    }

    /// The id of the call that a result answers: the one it names, or without a name the first that waits.
    pub(crate) fn answered(&mut self, id: Option<&Str<'_>>, ledger: &mut Ledger) -> Option<String> {
        let Some(id) = id else {
            ledger.note("result without an id taken for that of the first open call");
            return self.0.pop_front();
        };
        let at = self.0.iter().position(|open| open == id.as_escaped())?;
        self.0.remove(at)
    }

    pub(crate) fn is_waiting(&self) -> bool {
        !self.0.is_empty()
    }

    /// The calls nobody answered; they wait no longer.
    pub(crate) fn unanswered(&mut self) -> VecDeque<String> {
        std::mem::take(&mut self.0)
    }
}

/// What a synthetic result says.
pub(crate) const NO_RESULT: &str = "No result was recorded for this call.";

/// Content being gathered: a string if it turns out to be one text, else a list of parts.
#[derive(Debug, Default)]
pub(crate) struct Content {
    held: EmitState,
    parts: u32,
    others: u32,
    text: Option<(ItemId, u32)>,
}

impl Content {
    const TEXT: &'static str = "{\"type\":\"text\",\"text\":";

    /// Adds (a piece of) text; pieces of one part of an item join.
    pub(crate) fn text(&mut self, item: ItemId, part: u32, text: &Str<'_>) {
        if self.text != Some((item, part)) {
            self.end_text();
            self.text = Some((item, part));
            self.parts += 1;
            let mut json = self.held.hold();
            json.begin_raw();
            json.bytes(Self::TEXT.as_bytes());
            json.bytes(b"\"");
        }
        self.held.hold().piece(text);
    }

    /// A part that is not text follows through the emitter.
    pub(crate) fn part(&mut self) -> Emit<'_> {
        self.end_text();
        self.parts += 1;
        self.others += 1;
        self.held.hold()
    }

    /// The part that [`Content::part`] began goes on.
    pub(crate) fn more(&mut self) -> Emit<'_> {
        self.held.hold()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.parts == 0
    }

    /// Writes the content where a string may stand in for one text, and forgets it.
    pub(crate) fn write(&mut self, json: &mut Emit<'_>) {
        self.end_text();
        let held = self.held.bytes();
        if self.parts == 1 && self.others == 0 {
            json.values(&held[Self::TEXT.len()..held.len() - 1]);
        } else {
            json.array();
            self.write_parts(json);
            json.end_array();
        }
        self.clear();
    }

    /// Writes the parts into a list that is already open, and forgets them.
    pub(crate) fn write_parts(&mut self, json: &mut Emit<'_>) {
        self.end_text();
        if self.parts > 0 {
            json.values(self.held.bytes());
        }
        self.clear();
    }

    pub(crate) fn clear(&mut self) {
        self.held.clear();
        (self.parts, self.others, self.text) = (0, 0, None);
    }

    fn end_text(&mut self) {
        if self.text.take().is_some() {
            self.held.hold().close_string().end_object();
        }
    }
}

/// The arguments of a call as a JSON object, whatever they came as.
#[derive(Debug, Default)]
pub(crate) struct Input {
    /// Pieces of the text, escaped once.
    text: String,
    json: Option<String>,
    tape: TapeBuf,
}

/// The member that holds arguments which are no JSON object.
pub(crate) const RAW_ARGUMENTS: &str = "_raw_arguments";

impl Input {
    pub(crate) fn add(&mut self, args: &Args<'_>) {
        match args {
            Args::Text(text) => self.text.push_str(text.as_escaped()),
            Args::Json(json) => self.json = Some(json.as_str().to_owned()),
        }
    }

    /// Writes the object and forgets it. Arguments that are none (cut off, or damaged) become its one member.
    pub(crate) fn write(&mut self, json: &mut Emit<'_>, ledger: &mut Ledger) {
        let escaped = Str::escaped(&self.text);
        let text = self.json.take().map_or_else(|| escaped.decode(), Cow::Owned);
        let trimmed = text.trim();
        if trimmed.is_empty() {
            json.object().end_object();
        } else if is_object(&mut self.tape, trimmed) {
            json.raw(&Raw::new(trimmed));
        } else {
            ledger.note("arguments that are no JSON object became the member `_raw_arguments`");
            json.object().key(RAW_ARGUMENTS).str(&Str::plain(&text)).end_object();
        }
        self.text.clear();
    }
}

/// The text that [`Input::write`] kept, if the object is of that kind.
pub(crate) fn raw_arguments(tape: &mut TapeBuf, object: &str) -> Option<Str<'static>> {
    if !object.contains(RAW_ARGUMENTS) {
        return None;
    }
    let tape = tape.parse(object, &Limits::default()).ok()?;
    let mut members = tape.root().members();
    let (name, value) = members.next()?;
    let only = members.next().is_none() && name.as_escaped() == RAW_ARGUMENTS;
    value.str().filter(|_| only).map(Str::into_owned)
}

/// Whether the text is one JSON object.
pub(crate) fn is_object(tape: &mut TapeBuf, text: &str) -> bool {
    text.starts_with('{') && tape.parse(text, &Limits::default()).is_ok()
}

/// The name of a tool in targets that have no groups.
pub(crate) fn flat_name<'a>(namespace: Option<&Str<'_>>, name: &'a Str<'a>, ledger: &mut Ledger) -> Str<'a> {
    let Some(namespace) = namespace else { return tool_name(name, ledger) };
    ledger.note("tool group put before the tool's name");
    let joined = Str::from_plain(&format!("{}__{}", namespace.decode(), name.decode()));
    tool_name(&joined, ledger).into_owned()
}

/// A tool name that every target takes.
pub(crate) fn tool_name<'a>(name: &'a Str<'a>, ledger: &mut Ledger) -> Str<'a> {
    let new = alias(name, Letters::Word, 64);
    if new.as_escaped() != name.as_escaped() {
        ledger.note("tool name replaced by an alias the target takes");
    }
    new
}

/// Members that are `null` or an empty list say nothing: they are understood, whatever their name.
pub(crate) fn note_blanks(object: Val<'_>) {
    for (_, value) in object.members().filter(|(_, value)| is_blank(*value)) {
        value.note(Field::Unnamed);
    }
}

/// Whether this is `null` or an empty list.
pub(crate) fn is_blank(value: Val<'_>) -> bool {
    match value.kind() {
        Kind::Null => true,
        Kind::Array => value.elements().next().is_none(),
        Kind::Bool | Kind::Number | Kind::String | Kind::Key | Kind::Object => false,
    }
}

/// Books what a log says about the place of an item: no message on the wire has an id, a time or a parent.
fn lose_place(head: &ItemHead<'_>, ledger: &mut Ledger) {
    let ItemHead { id: _, kind: _, author: _, within: _, native_id, parent, time, model, shape: _ } = head;
    for (path, text) in [("item/native_id", native_id), ("item/parent", parent), ("item/model", model)] {
        lose_some(path, Reason::NoSlot, text.as_ref(), ledger);
    }
    if let Some(time) = time {
        ledger.lose("item/time", Reason::NoSlot, time.as_str());
    }
}

/// Books an item's head as lost.
pub(crate) fn lose_head(head: &ItemHead<'_>, reason: Reason, ledger: &mut Ledger) {
    match &head.kind {
        ItemKind::Message | ItemKind::Reasoning => {}
        ItemKind::ToolCall(call) => {
            let ToolCall { call_id, kind: _, namespace, name } = call;
            lose_str("tool_call/name", reason, name, ledger);
            lose_some("tool_call/call_id", reason, call_id.as_ref(), ledger);
            lose_some("tool_call/namespace", reason, namespace.as_ref(), ledger);
        }
        ItemKind::ToolResult(ToolResult { call_id, name }) => {
            lose_some("tool_result/call_id", reason, call_id.as_ref(), ledger);
            lose_some("tool_result/name", reason, name.as_ref(), ledger);
        }
        ItemKind::Notice(Notice { event_type }) => {
            lose_some("notice", reason, event_type.as_ref(), ledger);
        }
    }
}

/// Books the end of an item whose head was lost.
pub(crate) fn lose_tail(tail: &ItemTail<'_>, reason: Reason, ledger: &mut Ledger) {
    let ItemTail { id: _, status: _, native_status: _, is_error } = tail;
    if let Some(is_error) = is_error {
        ledger.lose("tool_result/is_error", reason, if *is_error { "true" } else { "false" });
    }
}

/// Books a piece of an item as lost.
pub(crate) fn lose_part(part: &Part<'_>, reason: Reason, ledger: &mut Ledger) {
    match part {
        Part::Text(text) | Part::Summary(text) | Part::Refusal(text) => {
            lose_str("text", reason, text, ledger);
        }
        Part::Media(Media { media_type, source, name }) => {
            let (MediaSource::Base64(place) | MediaSource::Url(place) | MediaSource::File(place)) = source;
            lose_str("media/source", reason, place, ledger);
            lose_some("media/media_type", reason, media_type.as_ref(), ledger);
            lose_some("media/name", reason, name.as_ref(), ledger);
        }
        Part::Args(Args::Text(text)) => lose_str("tool_call/args", reason, text, ledger),
        Part::Args(Args::Json(json)) => ledger.lose("tool_call/args", reason, json.as_str()),
        Part::Json(json) => ledger.lose("json", reason, json.as_str()),
        Part::Citation(json) => ledger.lose("citation", reason, json.as_str()),
        Part::File(FileRef { path, action, diff }) => {
            lose_str("file/path", reason, path, ledger);
            lose_str("file/action", reason, action, ledger);
            lose_some("file/diff", reason, diff.as_ref(), ledger);
        }
        Part::Opaque(Opaque { kind: _, issuer: _, value }) => {
            lose_str("reasoning/opaque", reason, value, ledger);
        }
    }
}

/// Books a string as lost, if there is one.
pub(crate) fn lose_some(path: &str, reason: Reason, text: Option<&Str<'_>>, ledger: &mut Ledger) {
    if let Some(text) = text {
        lose_str(path, reason, text, ledger);
    }
}

/// Books a string as lost.
pub(crate) fn lose_str(path: &str, reason: Reason, text: &Str<'_>, ledger: &mut Ledger) {
    ledger.lose(path, reason, &format!("\"{}\"", text.as_escaped()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_alias_is_stable_fits_and_keeps_different_names_apart() {
        let alias_of = |text: &str| alias(&Str::plain(text), Letters::Word, 64).as_escaped().to_owned();
        assert_eq!(alias_of("call_1-A"), "call_1-A");
        assert_eq!(alias_of("functions.haul:0"), alias_of("functions.haul:0"));
        assert_ne!(alias_of("a.b"), alias_of("a:b"));
        let (long, other) = ("x".repeat(90) + "1", "x".repeat(90) + "2");
        assert_ne!(alias_of(&long), alias_of(&other));
        for text in [&long, "", "żółw.łódź", "a b"] {
            let made = alias_of(text);
            assert!(
                made.len() <= 64 && made.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_'),
                "{made}"
            );
        }
        let dotted = Str::plain("functions.haul:0");
        assert_eq!(alias(&dotted, Letters::Any, 64), dotted);
    }
}
