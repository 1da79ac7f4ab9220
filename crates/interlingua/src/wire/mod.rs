//! What the wire dialects share: which events make up a request or an answer, names that every target accepts, calls
//! paired with their results, content that is a string or a list, and losses that are found late. Nothing here knows a
//! vendor's words, but for the text part, which happens to look the same everywhere.

use std::borrow::Cow;
use std::collections::VecDeque;

use crate::json::{JsonBuffer, JsonWriter};
use crate::json::{Raw, Str};
use crate::ledger::{Ledger, Leftover, Reason};
use crate::model::{
    Args, Author, CallKind, Delta, Event, Failure, FailureClass, Field, ItemHead, ItemId, ItemKind, ItemTail,
    Of, Request, Says, SaysTable, Status, Stop, StopClass, Tool, ToolChoice, Turn, Usage,
};
use crate::pipe::{Target, Writer};
use crate::tape::{Kind, Limits, TapeBuf, Val};

/// Writes a request. What no target has a place for is left to [`Asking`].
pub(crate) trait Ask: Send {
    fn settings(&mut self, request: &Request<'_>, out: &mut Target<'_>);
    /// Whether the conversation has a place for such an item here.
    fn takes(&mut self, head: &ItemHead<'_>) -> Result<(), Reason>;
    fn started(&mut self, head: &ItemHead<'_>, event: &Event<'_>, out: &mut Target<'_>);
    fn delta(&mut self, delta: &Delta<'_>, event: &Event<'_>, out: &mut Target<'_>);
    fn completed(&mut self, tail: &ItemTail<'_>, event: &Event<'_>, out: &mut Target<'_>);
    /// There are no more items.
    fn end(&mut self, out: &mut Target<'_>);
}

/// Settings, then items. Items of a source without settings (a log) get empty ones.
#[derive(Default)]
pub(crate) struct Asking<T> {
    ask: T,
    begun: bool,
}

impl<T: Ask> Writer for Asking<T> {
    fn takes(&mut self, head: &ItemHead<'_>) -> Result<(), Reason> {
        self.ask.takes(head)
    }

    fn event(&mut self, event: &Event<'_>, out: &mut Target<'_>) {
        match event {
            Event::Request(request) if !self.begun => {
                self.begun = true;
                self.ask.settings(request, out);
            }
            // One call of a model has one set of settings, and they come first.
            Event::Request(_) => out.lose_event(Of::Message, event, Reason::Refused),
            Event::ItemStarted(head) => {
                if !std::mem::replace(&mut self.begun, true) {
                    self.ask.settings(&Request::default(), out);
                }
                self.ask.started(head, event, out);
            }
            Event::ItemDelta(delta) => self.ask.delta(delta, event, out),
            Event::ItemCompleted(tail) => {
                lose_status(tail, out);
                self.ask.completed(tail, event, out);
            }
            // A request says nothing of these, as its table declares.
            Event::SessionStarted(_)
            | Event::SessionUpdated(_)
            | Event::SessionEnded(_)
            | Event::Clock(_)
            | Event::Rewound(_)
            | Event::TurnStarted(_)
            | Event::TurnEnded(_)
            | Event::Usage(_)
            | Event::PermissionRequested(_)
            | Event::PermissionResolved(_)
            | Event::QuestionRequested(_)
            | Event::QuestionResolved(_)
            | Event::Error(_) => {}
        }
    }

    fn leftover(&mut self, _: Leftover<'_>, _: &mut Target<'_>) {}

    fn finish(&mut self, out: &mut Target<'_>) {
        if self.begun {
            self.ask.end(out);
        }
    }
}

/// Writes one answer, whole or as a stream.
pub(crate) trait Answer: Send {
    /// When the answer's id, model and time are written.
    const HEAD: HeadPlace;
    /// What an answer of this dialect says.
    const SAYS: SaysTable;

    /// The turn begins; the facts are known.
    fn begin(&mut self, facts: &Facts, out: &mut Target<'_>);
    /// An event about items, or the end of the turn, before which everything held back must go out.
    fn item(&mut self, event: &Event<'_>, out: &mut Target<'_>);
    fn end(&mut self, turn: &Turn<'_>, facts: &Facts, out: &mut Target<'_>);
    fn fail(&mut self, failure: &Failure<'_>, out: &mut Target<'_>);
}

/// When the head of an answer is written, and which counts stand in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HeadPlace {
    /// When all is known: a failure stands in place of everything said before it.
    Last,
    /// At once, without counts.
    First,
    /// At once, with the counts known by then; those of the end follow.
    FirstWithCounts,
}

/// One answer and no more: it begins once, and ends or fails once.
#[derive(Default)]
pub(crate) struct Answering<T> {
    answer: T,
    facts: Facts,
    begun: bool,
    done: bool,
    /// The source called the answer a failure, so that nothing of it was written.
    void: bool,
}

/// What an answer says of itself.
#[derive(Default)]
pub(crate) struct Facts {
    pub(crate) id: Option<Str<'static>>,
    pub(crate) model: Option<Str<'static>>,
    pub(crate) time: Option<Raw<'static>>,
    pub(crate) usage: Option<Usage>,
    /// The counts that stand in the head.
    told: Option<Usage>,
    /// The frame that the counts came in.
    counted: u64,
}

impl Facts {
    /// The counts that are not written yet, by name.
    fn untold(&self) -> [(Field, Option<u64>); 6] {
        let told = buckets(&self.told.unwrap_or_default()).map(|(_, count)| count);
        let mut counts = buckets(&self.usage.unwrap_or_default());
        for ((_, count), told) in counts.iter_mut().zip(told) {
            *count = count.filter(|_| *count != told);
        }
        counts
    }
}

/// The buckets of a usage, by name.
fn buckets(usage: &Usage) -> [(Field, Option<u64>); 6] {
    let Usage { input, cache_read, cache_write, cache_write_long, output, reasoning, .. } = *usage;
    [
        (Field::UsageInput, input),
        (Field::UsageCacheRead, cache_read),
        (Field::UsageCacheWrite, cache_write),
        (Field::UsageCacheWriteLong, cache_write_long),
        (Field::UsageOutput, output),
        (Field::UsageReasoning, reasoning),
    ]
}

impl<T: Answer> Answering<T> {
    /// Gathers what the answer says of itself: the first id, model and time stand, and the last counts.
    fn learn(&mut self, turn: &Turn<'_>, out: &mut Target<'_>) {
        let Turn { id, model, time, usage, .. } = turn;
        let open = !self.begun || T::HEAD == HeadPlace::Last;
        let facts = &mut self.facts;
        for (field, known, news) in
            [(Field::TurnId, &mut facts.id, id), (Field::TurnModel, &mut facts.model, model)]
        {
            match (&known, news) {
                (None, Some(news)) if open => *known = Some(news.clone().into_owned()),
                (Some(known), Some(news)) if known.as_escaped() == news.as_escaped() => {}
                (_, Some(news)) => out.lose_str(field, news, Reason::Merged),
                (_, None) => {}
            }
        }
        match (&facts.time, time) {
            (None, Some(news)) if open => facts.time = Some(news.clone().into_owned()),
            (Some(known), Some(news)) if known.as_str() == news.as_str() => {}
            (_, Some(news)) => out.lose_raw(Field::TurnTime, news, Reason::Merged),
            (_, None) => {}
        }
        let Some(usage) = usage else { return };
        // Counts that later ones replace are told only if the head had them.
        for ((field, then), (_, now)) in facts.untold().into_iter().zip(buckets(usage)) {
            if let (Some(then), Some(now)) = (then, now)
                && then != now
            {
                lose_count::<T>(field, then, facts.counted, Reason::Redundant, out);
            }
        }
        facts.usage.get_or_insert_default().overwrite(usage);
        facts.counted = out.ledger.frame_number();
    }

    fn begin(&mut self, out: &mut Target<'_>) {
        if !std::mem::replace(&mut self.begun, true) {
            self.answer.begin(&self.facts, out);
            if T::HEAD == HeadPlace::FirstWithCounts {
                self.facts.told = self.facts.usage;
            }
        }
    }

    fn fail(&mut self, failure: &Failure<'_>, out: &mut Target<'_>) {
        self.done = true;
        match T::HEAD {
            // What was gathered gives way to the failure.
            HeadPlace::Last => out.ledger.nothing_written(),
            HeadPlace::First | HeadPlace::FirstWithCounts => {
                for (field, count) in self.facts.untold() {
                    if let Some(count) = count {
                        lose_count::<T>(field, count, self.facts.counted, Reason::NoSlot, out);
                    }
                }
            }
        }
        self.answer.fail(failure, out);
    }
}

/// Whether an answer says anything of the field. If not, its leaf was booked with its frame, and once is enough.
fn says_some<T: Answer>(field: Field) -> bool {
    !matches!((T::SAYS)(field), Says::No(_))
}

/// Gives up a count that was told in `frame`.
fn lose_count<T: Answer>(field: Field, count: u64, frame: u64, reason: Reason, out: &mut Target<'_>) {
    if frame == out.ledger.frame_number() {
        out.lose(field, reason);
    } else if says_some::<T>(field) {
        out.ledger.lose_late(field, reason, 1, u64::from(count.checked_ilog10().unwrap_or(0)) + 1);
    }
}

impl<T: Answer> Writer for Answering<T> {
    fn takes(&mut self, head: &ItemHead<'_>) -> Result<(), Reason> {
        match &head.kind {
            _ if self.done => Err(Reason::Refused),
            ItemKind::Message if head.author == Author::Assistant => Ok(()),
            ItemKind::Reasoning => Ok(()),
            ItemKind::ToolCall(call) => client_runs(call.kind),
            ItemKind::Message | ItemKind::ToolResult(_) | ItemKind::Notice(_) => Err(Reason::NoSlot),
        }
    }

    fn event(&mut self, event: &Event<'_>, out: &mut Target<'_>) {
        if self.done {
            // There is one answer, and it has ended or failed.
            return out.lose_event(Of::Message, event, Reason::Refused);
        }
        match event {
            Event::ItemStarted(_) | Event::ItemDelta(_) => {
                self.begin(out);
                self.answer.item(event, out);
            }
            Event::ItemCompleted(tail) => {
                lose_status(tail, out);
                self.answer.item(event, out);
            }
            Event::TurnStarted(turn) => {
                self.learn(turn, out);
                lose_stop::<T>(turn.stop.as_ref(), Reason::NoSlot, out);
                self.begin(out);
            }
            Event::Usage(turn) => {
                self.learn(turn, out);
                lose_stop::<T>(turn.stop.as_ref(), Reason::NoSlot, out);
            }
            Event::TurnEnded(turn) => {
                self.begin(out);
                self.answer.item(event, out);
                self.learn(turn, out);
                if turn.stop.as_ref().is_some_and(|stop| stop.class == StopClass::Error) {
                    lose_stop::<T>(turn.stop.as_ref(), Reason::Narrowed, out);
                    self.void = T::HEAD == HeadPlace::Last;
                    return self.fail(&UNREADABLE, out);
                }
                self.done = true;
                self.answer.end(turn, &self.facts, out);
            }
            Event::Error(failure) => {
                self.answer.item(event, out);
                self.fail(failure, out);
            }
            // An answer says nothing of these, as its table declares.
            Event::SessionStarted(_)
            | Event::SessionUpdated(_)
            | Event::SessionEnded(_)
            | Event::Clock(_)
            | Event::Rewound(_)
            | Event::Request(_)
            | Event::PermissionRequested(_)
            | Event::PermissionResolved(_)
            | Event::QuestionRequested(_)
            | Event::QuestionResolved(_) => {}
        }
    }

    fn leftover(&mut self, _: Leftover<'_>, _: &mut Target<'_>) {}

    fn finish(&mut self, out: &mut Target<'_>) {
        if !self.done {
            self.fail(&UNREADABLE, out);
        } else if self.void {
            out.ledger.nothing_written();
        }
    }
}

/// Only calls that the client runs have a place: the provider ran the others and keeps their state, so no one else can
/// replay them.
pub(crate) fn client_runs(kind: CallKind) -> Result<(), Reason> {
    match kind {
        CallKind::Function | CallKind::FreeText | CallKind::Vendor => Ok(()),
        CallKind::Server | CallKind::Mcp => Err(Reason::NoSlot),
    }
}

/// Books the end of an item where no word says how it ended: only a call that is cut off shows it.
fn lose_status(tail: &ItemTail<'_>, out: &mut Target<'_>) {
    let ItemTail { status, native_status, .. } = tail;
    out.lose_some(Field::ItemStatus, native_status.as_ref(), Reason::NoSlot);
    if *status == Status::Failed {
        out.lose(Field::ItemStatus, Reason::NoSlot);
    }
}

/// Books why an answer stopped.
fn lose_stop<T: Answer>(stop: Option<&Stop<'_>>, reason: Reason, out: &mut Target<'_>) {
    let Some(Stop { raw, sequence, .. }) = stop else { return };
    for (field, text) in [(Field::StopReason, raw), (Field::StopSequence, sequence)] {
        out.lose_some(field, text.as_ref().filter(|_| says_some::<T>(field)), reason);
    }
}

/// A text that waits until it is known whether the target takes it, and the frame it came in.
#[derive(Debug)]
pub(crate) struct Held {
    text: String,
    frame: u64,
}

impl Held {
    pub(crate) fn new(text: &Str<'_>, out: &Target<'_>) -> Self {
        Self { text: text.as_escaped().to_owned(), frame: out.ledger.frame_number() }
    }

    pub(crate) fn text(&self) -> Str<'_> {
        Str::escaped(&self.text)
    }

    /// Gives it up. If its frame is still there, it is taken for the last value of that field that was not given up.
    pub(crate) fn lose(&self, field: Field, reason: Reason, out: &mut Target<'_>) {
        if self.frame == out.ledger.frame_number() {
            out.lose_str(field, &self.text(), reason);
        } else {
            out.ledger.lose_late(field, reason, 1, self.text.len() as u64);
        }
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
pub(crate) fn user_id<'a>(user: &'a Str<'a>, most: usize, out: &mut Target<'_>) -> Str<'a> {
    let plain = user.decode();
    if plain.chars().count() <= most {
        return user.reborrow();
    }
    out.lose_str(Field::EndUser, user, Reason::Refused);
    out.ledger.note("end user's id too long for the target: replaced by a hash of it");
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

    /// Whether there is a call for a result with that id.
    pub(crate) fn expects(&self, id: Option<&Str<'_>>) -> bool {
        match id {
            Some(id) => self.0.iter().any(|open| open == id.as_escaped()),
            None => self.is_waiting(),
        }
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
    held: JsonBuffer,
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
    pub(crate) fn part(&mut self) -> JsonWriter<'_> {
        self.end_text();
        self.parts += 1;
        self.others += 1;
        self.held.hold()
    }

    /// The part that [`Content::part`] began goes on.
    pub(crate) fn more(&mut self) -> JsonWriter<'_> {
        self.held.hold()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.parts == 0
    }

    /// Writes the content where a string may stand in for one text, and forgets it.
    pub(crate) fn write(&mut self, json: &mut JsonWriter<'_>) {
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
    pub(crate) fn write_parts(&mut self, json: &mut JsonWriter<'_>) {
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
            Args::Json(json) if self.text.is_empty() && self.json.is_none() => {
                self.json = Some(json.as_str().to_owned());
            }
            Args::Text(text) => self.more(text),
            Args::Json(json) => self.more(&Str::plain(json.as_str())),
        }
    }

    /// Adds text, after the value if one came before it.
    fn more(&mut self, text: &Str<'_>) {
        if let Some(json) = self.json.take() {
            self.text.push_str(Str::plain(&json).as_escaped());
        }
        self.text.push_str(text.as_escaped());
    }

    /// Writes the object and forgets it. Arguments that are none (cut off, or damaged) become its one member.
    pub(crate) fn write(&mut self, json: &mut JsonWriter<'_>, ledger: &mut Ledger) {
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

/// Books what a request says about the choice of tools, where there is nothing to choose.
pub(crate) fn lose_choice(choice: Option<&ToolChoice<'_>>, parallel: Option<bool>, out: &mut Target<'_>) {
    match choice {
        Some(ToolChoice::Named(name)) => out.lose_str(Field::ToolChoice, name, Reason::Refused),
        Some(ToolChoice::Auto | ToolChoice::None | ToolChoice::Required) => {
            out.lose(Field::ToolChoice, Reason::Refused);
        }
        None => {}
    }
    if parallel.is_some() {
        out.lose(Field::ParallelCalls, Reason::Refused);
    }
}

/// Books a tool that no client runs.
pub(crate) fn lose_tool(tool: &Tool<'_>, out: &mut Target<'_>) {
    let Tool { name, description, schema, strict, .. } = tool;
    out.lose_str(Field::ToolName, name, Reason::NoSlot);
    out.lose_some(Field::ToolDescription, description.as_ref(), Reason::NoSlot);
    if let Some(schema) = schema {
        out.lose_raw(Field::ToolSchema, schema, Reason::NoSlot);
    }
    if strict.is_some() {
        out.lose(Field::ToolStrict, Reason::NoSlot);
    }
    out.lose(Field::ToolKind, Reason::NoSlot);
}

/// Members that are `null` or an empty list say nothing: they are understood, whatever their name.
pub(crate) fn note_blanks(object: Val<'_>) {
    for (_, value) in object.members().filter(|(_, value)| is_blank(*value)) {
        value.note(Field::Structure);
    }
}

/// Whether this is `null` or an empty list.
pub(crate) fn is_blank(value: Val<'_>) -> bool {
    match value.kind() {
        Kind::Null => true,
        Kind::Array => value.elements().next().is_none(),
        Kind::Bool | Kind::Number | Kind::String | Kind::Object => false,
    }
}

/// Whether a tool of that name is on offer.
pub(crate) fn is_offered(name: Val<'_>, tools: &[Tool<'_>]) -> bool {
    name.str().is_some_and(|name| tools.iter().any(|tool| tool.name == name))
}

/// Whether calls can be made at all, one by one or several at once.
pub(crate) fn may_call(choice: Option<&ToolChoice<'_>>, tools: &[Tool<'_>]) -> bool {
    !tools.is_empty() && choice != Some(&ToolChoice::None)
}

/// Notes a member that says only what the values beside it are, if it has the expected value; any other stays where it is.
pub(crate) fn note_tag(object: Val<'_>, name: &str, expected: &[&str]) {
    if let Some(tag) = object.get(name).filter(|tag| expected.iter().any(|word| tag.is(word))) {
        tag.note(Field::Structure);
    }
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
