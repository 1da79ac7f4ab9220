//! Lines to events. The parts of one answer are one message, from its first line to the end of its step. A run is one turn:
//! the program prints until the agent is idle, then exits.

use crate::dialects::agents::opencode::message::Answer;
use crate::dialects::agents::opencode::moment;
use crate::dialects::agents::opencode::part::{PartMembers, Sort, failure, read_event, read_within};
use crate::dialects::agents::opencode::tool;
use crate::live::printed::{StreamTurn, stop};
use crate::log::{SessionTracker, words_of_unknown};
use crate::model::{
    Author, Event, Field, ItemId, ItemKind, ItemTail, Notice, Part, Session, Shape, Status, StopClass, Turn,
};
use crate::pipe::{Doc, EventSink, Reader};
use crate::tape::{Claim, Kind, Member as _, Val};

#[derive(Default)]
pub(super) struct OpencodeStreamReader {
    session: SessionTracker,
    turn: StreamTurn,
    answer: Option<OpenAnswer>,
    /// The id of the last answer whose step ended.
    ended: String,
    /// The reason for the end of the last step or of the run, until another part follows.
    stop: Option<StopClass>,
}

/// An answer of the model whose step has not ended.
struct OpenAnswer {
    item: ItemId,
    id: String,
    /// The number of the next part.
    next: u32,
}

impl Reader for OpencodeStreamReader {
    fn document(&mut self, doc: Doc<'_>, out: &mut EventSink<'_>) {
        let line = doc.root;
        let [session, part, error, time] = line.get_all(["sessionID", "part", "error", "timestamp"]);
        let is_object = |val: &Val<'_>| val.kind() == Kind::Object;
        self.enter(session, time, out);
        // The first time is the start of the session.
        let time = time.filter(|time| time.claimed() == Claim::Free).and_then(moment);
        if let Some(part) = part.filter(is_object).filter(|part| part.has_str("messageID")) {
            // The type of the line repeats the type of the part.
            self.part(&PartMembers::new(part), time, out);
        } else if let Some(error) = error.filter(is_object).filter(|_| line.str_or_empty("type") == "error") {
            self.failed(error, time, out);
            // The agent is idle after an error, so the turn ends with the line.
            let raw = line.note_str("type", Field::StopReason);
            self.close_answer(out);
            self.turn.end(Turn { stop: Some(stop(StopClass::Error, raw)), ..Turn::default() }, out);
        } else {
            doc.report_foreign(super::DIALECT.name, out);
            notice(line, time, out);
        }
    }

    /// Ends the turn of a run that ended after a step or an error. Any other end is a cut.
    fn finish(&mut self, out: &mut EventSink<'_>) {
        self.end_turn(out);
        self.session.end(out);
    }
}

impl OpencodeStreamReader {
    /// Enters the session of a line. Another id is the output of another run.
    fn enter(&mut self, session: Option<Val<'_>>, time: Option<Val<'_>>, out: &mut EventSink<'_>) {
        let Some(id) = session.note_text(Field::SessionId) else { return };
        let known = self.session.known().id.as_ref();
        if known.is_some_and(|known| *known != id) {
            self.end_turn(out);
            self.session.end(out);
            *self = Self::default();
        }
        let is_first = self.session.known().id.is_none();
        let start = time.filter(|_| is_first).and_then(moment).map(|time| time.note(Field::SessionStart));
        self.session.tell(AGENT, Session { id: Some(id), start, ..Session::default() }, out);
    }

    /// Reads a part of an answer.
    fn part(&mut self, part: &PartMembers<'_>, time: Option<Val<'_>>, out: &mut EventSink<'_>) {
        self.turn.begin(out);
        self.stop = None;
        let (item, number) = self.answer_of(part, time, out);
        match part.sort() {
            Sort::Tool => {
                part.note_kind();
                tool::read_failing(part, item, out);
            }
            Sort::Retry | Sort::Compaction => read_event(part, out),
            Sort::Step if part.kind.word() == "step-finish" => {
                part.note_kind();
                self.step_ended(part, out);
            }
            Sort::Text | Sort::File | Sort::Reasoning | Sort::Step | Sort::Other => {
                read_within(part, number, (item, Author::Assistant), false, out);
            }
        }
    }

    /// The message of a part, and the number of the part if it is text or a file.
    fn answer_of<'t>(
        &mut self,
        part: &PartMembers<'t>,
        time: Option<Val<'t>>,
        out: &mut EventSink<'_>,
    ) -> (ItemId, u32) {
        let id = part.message.word();
        if let Some(earlier) = self.answer.take_if(|answer| answer.id != id) {
            // The answer has no end of its step: another answer began.
            out.complete(earlier.item);
        }
        let mut answer = match self.answer.take() {
            Some(answer) => {
                let has_usage =
                    part.kind.word() == "step-finish" && part.root.has_kind("tokens", Kind::Object);
                part.message.note_text(if has_usage { Field::TurnId } else { Field::Structure });
                answer
            }
            None => self.begin_answer(part, time, out),
        };
        let place = (answer.item, answer.next);
        answer.next += u32::from(matches!(part.sort(), Sort::Text | Sort::File));
        self.answer = Some(answer);
        place
    }

    fn begin_answer<'t>(
        &self,
        part: &PartMembers<'t>,
        time: Option<Val<'t>>,
        out: &mut EventSink<'_>,
    ) -> OpenAnswer {
        let id = part.message.word();
        let mut head = out.head(ItemKind::Message, Author::Assistant);
        head.shape = Shape::List;
        // A later step of the same answer is a message without an id.
        let is_new = self.ended != id;
        head.native_id = part.message.filter(|_| is_new).take_text(Field::ItemId);
        head.time = time.map(|time| time.take(Field::ItemTime));
        OpenAnswer { item: out.start(head), id: id.to_owned(), next: 0 }
    }

    /// Reads the end of a step: the answer is complete, with its usage.
    fn step_ended(&mut self, part: &PartMembers<'_>, out: &mut EventSink<'_>) {
        if let Some(answer) = self.answer.take() {
            out.complete(answer.item);
            self.ended = answer.id;
        }
        let [tokens, cost, stop] = part.root.get_all(["tokens", "cost", "reason"]);
        let Some(tokens) = tokens.filter(|tokens| tokens.kind() == Kind::Object) else {
            self.stop = Some(StopClass::Other);
            return;
        };
        let answer = Answer { tokens, cost, stop };
        let id = part.message.and_then(|message| message.str());
        let turn = Turn { id, ..answer.turn() };
        self.stop = Some(turn.stop.as_ref().map_or(StopClass::Other, |stop| stop.class));
        out.event(&Event::Usage(turn));
    }

    fn failed(&mut self, error: Val<'_>, time: Option<Val<'_>>, out: &mut EventSink<'_>) {
        self.turn.begin(out);
        if let Some(time) = time {
            out.event(&Event::Clock(time.note(Field::EventTime)));
        }
        self.stop = None;
        out.event(&Event::Error(failure(Some(error))));
    }

    fn close_answer(&mut self, out: &mut EventSink<'_>) {
        if let Some(answer) = self.answer.take() {
            out.end(ItemTail::new(answer.item, Status::Interrupted));
        }
    }

    /// Ends the turn with the reason of its last line. An answer without the end of its step is interrupted.
    fn end_turn(&mut self, out: &mut EventSink<'_>) {
        self.close_answer(out);
        // The agent's own word is in the usage of the step, or in the error.
        if let Some(class) = self.stop.take().filter(|_| self.turn.is_open()) {
            let stop = Some(stop(class, None));
            self.turn.end(Turn { stop, ..Turn::default() }, out);
        }
    }
}

/// A notice for a line without a part, with its text for people.
fn notice<'t>(line: Val<'t>, time: Option<Val<'t>>, out: &mut EventSink<'_>) {
    let kind = line.get("type").filter(|kind| !kind.is("system") && !kind.is("developer"));
    let event_type = kind.note_text(Field::NoticeType);
    let mut head = out.head(ItemKind::Notice(Notice { event_type }), Author::System);
    head.time = time.map(|time| time.take(Field::ItemTime));
    let item = out.start(head);
    if let Some(words) = words_of_unknown(line) {
        out.delta(item, 0, Part::Text(words));
    }
    out.complete(item);
}

/// The program that prints the stream.
const AGENT: &str = "opencode";
