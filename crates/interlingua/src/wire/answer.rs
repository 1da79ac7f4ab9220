//! One answer of a model, or several at once: an answer begins once, and ends or fails once.
//!
//! [`AnswerWriter`] selects the events, the head and the counts of an answer; an [`AnswerForm`] writes them, as a
//! whole document or as a stream.

use std::collections::{BTreeSet, HashMap};
use std::hash::BuildHasherDefault;

use super::assistant::{AssistantForm, AssistantWriter};
use super::profile::{Profile, client_runs};
use super::request::lose_status;
use crate::dialects::Options;
use crate::json::{Raw, Str};
use crate::ledger::{Identity, Leftover, Reason};
use crate::model::{
    Author, Event, Failure, FailureClass, Field, ItemHead, ItemId, ItemKind, ItemKindTag, Stop, StopClass,
    Support, Turn, Usage,
};
use crate::pipe::{EventSink, OpenItems, Writer, WriterOutput};

/// The usage of the current answer so far. Counts are totals: the last counts win.
#[derive(Default)]
pub(crate) struct CountsSoFar(Option<Usage>);

impl CountsSoFar {
    /// Sets later counts. Earlier counts are emitted when they are replaced, as usage of the answer with the given id,
    /// if the answer has begun.
    pub(crate) fn add(&mut self, later: Usage, answer: Option<Str<'_>>, out: &mut EventSink<'_>) {
        if let Some(earlier) = self.0.filter(|earlier| *earlier != later)
            && let Some(id) = answer
        {
            let id = Some(id).filter(|id| !id.is_empty());
            out.event(&Event::Usage(Turn { id, usage: Some(earlier), ..Turn::default() }));
        }
        self.0.get_or_insert_default().overwrite(&later);
    }

    /// Removes and returns the last counts.
    pub(crate) fn take(&mut self) -> Option<Usage> {
        self.0.take()
    }
}

/// The numbers of the answers in one complete response.
#[derive(Default)]
pub(crate) struct AnswerNumbers(BTreeSet<u64>);

impl AnswerNumbers {
    /// The number of the next answer: its own, or an unused number if an earlier answer of the response has the same.
    pub(crate) fn next(&mut self, number: u64, out: &mut EventSink<'_>) -> u64 {
        if self.0.insert(number) {
            return number;
        }
        out.note("answer with the number of an earlier one got a number of its own");
        let free = self.0.last().map_or(0, |last| last.saturating_add(1));
        self.0.insert(free);
        free
    }
}

/// Emits the counts and stop reasons that precede a failure: no end of a turn follows to hold them. `others` are the
/// answers after the first.
pub(crate) fn tell_before_failure(
    usage: Option<Usage>,
    stop: Option<Stop<'_>>,
    others: impl Iterator<Item = (u64, Stop<'static>)>,
    out: &mut EventSink<'_>,
) {
    for (number, stop) in others {
        out.event(&Event::Usage(Turn { answer: Some(number), stop: Some(stop), ..Turn::default() }));
    }
    if usage.is_some() || stop.is_some() {
        out.event(&Event::Usage(Turn { stop, usage, ..Turn::default() }));
    }
}

/// The total output, reasoning included. Some servers (xAI) count reasoning outside the output. A part is never larger
/// than its whole, so a larger reasoning count is added. `outside` is set if the server's total proves the separate
/// count.
pub(crate) fn output_and_reasoning(
    output: Option<u64>,
    reasoning: Option<u64>,
    outside: bool,
) -> Option<u64> {
    match (output, reasoning) {
        (output, Some(reasoning)) if outside || reasoning > output.unwrap_or(0) => {
            Some(output.unwrap_or(0).saturating_add(reasoning))
        }
        (output, _) => output,
    }
}

/// A dialect's form of an answer.
pub(crate) trait AnswerForm: Send {
    /// The position of the answer's id, model and time.
    const HEAD: HeadPlace;
    /// Whether the dialect has a place for more than one answer.
    const SEVERAL: bool = false;
    /// Whether counts are written only if the request asked for them.
    const USAGE_ON_REQUEST: bool = false;

    /// The limits and words of the dialect's clients.
    fn profile(&self) -> &'static Profile;
    /// Begins the turn; the head is complete unless it is written last.
    fn begin(&mut self, _: &ResponseHead, _: &mut WriterOutput<'_>) {}
    /// The form for the content of the answer with the given number.
    fn assistant(&mut self, answer: u64) -> &mut dyn AssistantForm;
    /// Ends one of several answers, with its stop reason.
    fn end_answer(&mut self, _: u64, _: &Stopped<'_>, _: &mut WriterOutput<'_>) {}
    /// Ends the response.
    fn end(&mut self, stop: &Stopped<'_>, head: &ResponseHead, out: &mut WriterOutput<'_>);
    /// Writes the counts of a failing stream; returns whether the dialect has a place for them.
    fn tell_counts_of_failed(&mut self, _: &ResponseHead, _: &mut WriterOutput<'_>) -> bool {
        false
    }
    fn fail(&mut self, failure: &Failure<'_>, out: &mut WriterOutput<'_>);
}

/// The stop reason of an answer, as written.
pub(crate) struct Stopped<'a> {
    /// The dialect's word.
    pub(crate) word: &'static str,
    pub(crate) sequence: Option<&'a Str<'a>>,
    pub(crate) detail: Option<&'a Raw<'a>>,
}

/// The position of the head of an answer, and the counts in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HeadPlace {
    /// At the end, with all values: a failure replaces all earlier content.
    Last,
    /// At the start, without counts.
    First,
    /// At the start, with the counts known so far; the final counts follow.
    FirstWithCounts,
}

/// The head of an answer.
#[derive(Default)]
pub(crate) struct ResponseHead {
    pub(crate) id: Option<Str<'static>>,
    pub(crate) model: Option<Str<'static>>,
    pub(crate) time: Option<Raw<'static>>,
    pub(crate) usage: Option<Usage>,
    /// The counts written in the head.
    told: Option<Usage>,
    /// The number of the frame with the counts.
    counted: u64,
}

impl ResponseHead {
    /// The counts that are not written yet, each with its field and its replacement.
    fn untold<'a>(
        &self,
        later: &'a Usage,
    ) -> impl Iterator<Item = (Field, Option<u64>, Option<u64>)> + use<'a> {
        let (now, told) = (self.usage.unwrap_or_default().counts(), self.told.unwrap_or_default().counts());
        let pairs = now.into_iter().zip(told).zip(later.counts());
        pairs.map(|(((field, now), (_, told)), (_, later))| (field, now.filter(|_| now != told), later))
    }
}

/// Writes an answer.
pub(crate) struct AnswerWriter<T> {
    form: T,
    profile: &'static Profile,
    head: ResponseHead,
    assistant: AssistantWriter,
    /// The answers after the first, by number.
    others: HashMap<u64, AssistantWriter, BuildHasherDefault<Identity>>,
    /// The answer of each open item; items of the first answer are not listed.
    items: OpenItems<u64>,
    progress: Progress,
    /// Whether counts are written after the head.
    tells_usage: bool,
    /// Whether the id in the head is none of the source.
    has_own_id: bool,
}

/// The state of an answer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Progress {
    Nothing,
    Begun,
    /// The answer has ended or failed.
    Over,
    /// The source marks the answer as failed, so none of it was written.
    Void,
}

impl<T: AnswerForm> AnswerWriter<T> {
    pub(crate) fn new(form: T, options: &Options) -> Self {
        let profile = form.profile();
        let id = options.answer_id.as_deref().map(|id| Str::from_plain(id).into_owned());
        Self {
            form,
            profile,
            has_own_id: id.is_some(),
            head: ResponseHead { id, ..ResponseHead::default() },
            assistant: AssistantWriter::new(profile),
            others: HashMap::default(),
            items: OpenItems::default(),
            progress: Progress::Nothing,
            tells_usage: !(T::USAGE_ON_REQUEST && options.usage_unasked),
        }
    }

    /// Gathers the head of the answer: the first id, model and time win, and the last counts.
    fn learn(&mut self, turn: &Turn<'_>, out: &mut WriterOutput<'_>) {
        let Turn { id, model, time, usage, .. } = turn;
        let open = self.progress == Progress::Nothing || T::HEAD == HeadPlace::Last;
        let head = &mut self.head;
        for (field, known, news) in
            [(Field::TurnId, &mut head.id, id), (Field::TurnModel, &mut head.model, model)]
        {
            match (&known, news) {
                (None, Some(news)) if open => *known = Some(news.clone().into_owned()),
                (Some(known), Some(news)) if known.as_escaped() == news.as_escaped() => {}
                (_, Some(_)) if field == Field::TurnId && self.has_own_id => {
                    out.ledger.note("the answer's id replaced by an id of the server that stores the answer");
                }
                (_, Some(news)) => out.lose_str(field, news, Reason::Merged),
                (_, None) => {}
            }
        }
        match (&head.time, time) {
            (None, Some(news)) if open => head.time = Some(news.clone().into_owned()),
            (Some(known), Some(news)) if known.as_str() == news.as_str() => {}
            (_, Some(news)) => out.lose_raw(Field::TurnTime, news, Reason::Merged),
            (_, None) => {}
        }
        let Some(usage) = usage else { return };
        // Replaced counts are reported as lost unless the head contains them.
        for (field, then, now) in head.untold(usage) {
            if let (Some(then), Some(now)) = (then, now)
                && then != now
            {
                // The leaf for this field in the current frame holds the later count.
                if head.counted == out.ledger.frame_number() {
                    out.lose(field, Reason::Redundant);
                } else {
                    out.of_earlier_frames().lose_number(field, then, Reason::Redundant);
                }
            }
        }
        head.usage.get_or_insert_default().overwrite(usage);
        head.counted = out.ledger.frame_number();
    }

    fn begin(&mut self, out: &mut WriterOutput<'_>) {
        if self.progress == Progress::Nothing {
            self.progress = Progress::Begun;
            self.assistant.answer.clone_from(&self.head.id);
            self.form.begin(&self.head, out);
            if T::HEAD == HeadPlace::FirstWithCounts {
                self.head.told = self.head.usage;
            }
        }
    }

    /// Passes an event to the answer that owns the item.
    fn item(&mut self, item: ItemId, event: &Event<'_>, out: &mut WriterOutput<'_>) {
        match self.items.get(item).and_then(|answer| Some((*answer, self.others.get_mut(answer)?))) {
            Some((answer, other)) => other.event(event, self.form.assistant(answer), out),
            None => self.assistant.event(event, self.form.assistant(0), out),
        }
    }

    /// Ends an answer: all its waiting items are written.
    fn stopped<'a>(
        &mut self,
        answer: u64,
        turn: &'a Turn<'_>,
        event: &Event<'_>,
        out: &mut WriterOutput<'_>,
    ) -> Stopped<'a> {
        let assistant = if answer == 0 { Some(&mut self.assistant) } else { self.others.get_mut(&answer) };
        let mut facts = super::words::AnswerFacts::default();
        if let Some(assistant) = assistant {
            let form = self.form.assistant(answer);
            assistant.event(event, form, out);
            assistant.close(form, out);
            facts = assistant.facts();
        }
        let stop = turn.stop.as_ref();
        if stop.is_none() {
            out.ledger.note("why the answer stopped is not known: written as a natural end");
        }
        Stopped {
            word: self.profile.stops.word(stop, facts, out),
            sequence: stop.and_then(|stop| stop.sequence.as_ref()),
            detail: stop.and_then(|stop| stop.detail.as_ref()),
        }
    }

    fn turn_ended(&mut self, turn: &Turn<'_>, event: &Event<'_>, out: &mut WriterOutput<'_>) {
        self.begin(out);
        if let Some(answer) = turn.answer.filter(|answer| *answer > 0) {
            self.learn(turn, out);
            let stop = self.stopped(answer, turn, event, out);
            return self.form.end_answer(answer, &stop, out);
        }
        let failure = match turn.stop.as_ref().map(|stop| stop.class) {
            Some(StopClass::Error) => Some(&UNREADABLE),
            // A partial answer must not look complete.
            Some(StopClass::Cancelled) if !self.profile.stops.has(StopClass::Cancelled) => Some(&CANCELLED),
            _ => None,
        };
        if let Some(failure) = failure {
            self.assistant.event(event, self.form.assistant(0), out);
            self.learn(turn, out);
            lose_stop(self.profile, turn.stop.as_ref(), Reason::Narrowed, out);
            self.fail(failure, out);
            if T::HEAD == HeadPlace::Last {
                self.progress = Progress::Void;
            }
            return;
        }
        let stop = self.stopped(0, turn, event, out);
        self.learn(turn, out);
        self.progress = Progress::Over;
        if !self.tells_usage {
            self.lose_untold(out);
            self.head.usage = None;
        }
        self.form.end(&stop, &self.head, out);
    }

    fn fail(&mut self, failure: &Failure<'_>, out: &mut WriterOutput<'_>) {
        self.progress = Progress::Over;
        match T::HEAD {
            // The gathered content is replaced by the failure.
            HeadPlace::Last => {
                out.ledger.nothing_written();
                if self.head.counted == out.ledger.frame_number() {
                    self.lose_untold(out);
                }
            }
            HeadPlace::First | HeadPlace::FirstWithCounts => {
                let told = self.tells_usage && self.form.tell_counts_of_failed(&self.head, out);
                if !told {
                    self.lose_untold(out);
                }
            }
        }
        self.form.fail(failure, out);
    }

    fn is_over(&self) -> bool {
        matches!(self.progress, Progress::Over | Progress::Void)
    }

    /// Books the counts that are not written yet as lost.
    fn lose_untold(&self, out: &mut WriterOutput<'_>) {
        for (field, count, _) in self.head.untold(&Usage::default()) {
            if let Some(count) = count {
                out.lose_number(field, count, Reason::NoSlot);
            }
        }
    }
}

impl<T: AnswerForm> Writer for AnswerWriter<T> {
    fn takes(&mut self, head: &ItemHead<'_>) -> Result<(), Reason> {
        match &head.kind {
            _ if self.is_over() => Err(Reason::Refused),
            _ if !T::SEVERAL && head.answer.is_some_and(|answer| answer > 0) => Err(Reason::NoSlot),
            ItemKind::Message if head.author == Author::Assistant => Ok(()),
            ItemKind::Reasoning => Ok(()),
            ItemKind::ToolCall(call) => client_runs(call.kind),
            ItemKind::Message | ItemKind::ToolResult(_) | ItemKind::Notice(_) => Err(Reason::NoSlot),
        }
    }

    fn event(&mut self, event: &Event<'_>, out: &mut WriterOutput<'_>) {
        if self.is_over() {
            // The only answer has ended or failed.
            return out.lose_event(ItemKindTag::Message, event, Reason::Refused);
        }
        match event {
            Event::ItemStarted(head) => {
                self.begin(out);
                if let Some(answer) = head.answer.filter(|answer| *answer > 0) {
                    self.items.insert(head.id, answer);
                    self.others.entry(answer).or_insert_with(|| AssistantWriter::new(self.profile));
                }
                self.item(head.id, event, out);
            }
            Event::ItemDelta(delta) => {
                self.begin(out);
                self.item(delta.item, event, out);
            }
            Event::ItemCompleted(tail) => {
                lose_status(tail, out);
                self.item(tail.id, event, out);
                self.items.remove(tail.id);
            }
            Event::TurnStarted(turn) => {
                self.learn(turn, out);
                lose_stop(self.profile, turn.stop.as_ref(), Reason::NoSlot, out);
                self.begin(out);
            }
            Event::Usage(turn) => {
                self.learn(turn, out);
                lose_stop(self.profile, turn.stop.as_ref(), Reason::NoSlot, out);
            }
            Event::TurnEnded(turn) if !T::SEVERAL && turn.answer.is_some_and(|answer| answer > 0) => {
                out.lose_event(ItemKindTag::Message, event, Reason::NoSlot);
            }
            Event::TurnEnded(turn) => self.turn_ended(turn, event, out),
            Event::Error(failure) => {
                self.assistant.event(event, self.form.assistant(0), out);
                self.fail(failure, out);
            }
            // Answers have no place for these events, as their support table declares.
            Event::SessionStarted(_)
            | Event::SessionUpdated(_)
            | Event::SessionEnded(_)
            | Event::Clock(_)
            | Event::Rewound(_)
            | Event::Compacted(_)
            | Event::Model(_)
            | Event::Request(_)
            | Event::PermissionRequested(_)
            | Event::PermissionResolved(_)
            | Event::QuestionRequested(_)
            | Event::QuestionResolved(_) => {}
        }
    }

    fn leftover(&mut self, _: Leftover<'_>, _: &mut WriterOutput<'_>) {}

    fn finish(&mut self, out: &mut WriterOutput<'_>) {
        match self.progress {
            Progress::Nothing | Progress::Begun => self.fail(&UNREADABLE, out),
            Progress::Over => {}
            Progress::Void => out.ledger.nothing_written(),
        }
    }
}

/// Whether an answer supports the field at all. Without support, the leaf was already booked with its frame and must
/// not be booked twice.
fn says_some(profile: &Profile, field: Field) -> bool {
    !matches!((profile.support)(field), Support::No(_))
}

/// Books the loss of a stop reason.
fn lose_stop(profile: &Profile, stop: Option<&Stop<'_>>, reason: Reason, out: &mut WriterOutput<'_>) {
    let Some(Stop { raw, sequence, detail, .. }) = stop else { return };
    for (field, text) in [(Field::StopReason, raw), (Field::StopSequence, sequence)] {
        out.lose_some(field, text.as_ref().filter(|_| says_some(profile, field)), reason);
    }
    if let Some(detail) = detail.as_ref().filter(|_| says_some(profile, Field::StopDetail)) {
        out.lose_raw(Field::StopDetail, detail, reason);
    }
}

/// The failure for a cancelled answer, in dialects without a stop reason for cancellation.
const CANCELLED: Failure<'static> = Failure {
    class: FailureClass::Incomplete,
    status: None,
    code: None,
    message: Str::escaped("the response was cancelled before it was complete"),
    request_id: None,
    retry_after: None,
};

/// The failure for a response without a readable answer, or without a proper end.
const UNREADABLE: Failure<'static> = Failure {
    class: FailureClass::Server,
    status: None,
    code: None,
    message: Str::escaped("the response could not be read"),
    request_id: None,
    retry_after: None,
};
