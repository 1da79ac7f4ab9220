//! The shared writer of all log dialects.

use super::build::{BuiltFrames, LogBuilder};
use super::call_names::with_accepted_name;
use super::clock::{SourceClock, dated};
use super::file::{LogFile, is_date};
use super::fill::{Fillings, address, note_equal};
use super::form::LogForm;
use super::frame_fields::{for_each_text, lose_head, lose_of_head, takes_part};
use super::gather::{GatheredItem, GatheredItems};
use super::stages::{LogStages, Placement};
use super::values::NativeObject;
use crate::dialects::Options;
use crate::ledger::{Leftover, LeftoverBody, Reason};
use crate::model::{Author, Delta, Event, Field, ItemHead, ItemId, ItemKind, ItemKindTag, ItemTail, Part};
use crate::pipe::{Writer, WriterOutput};
use crate::tape::Val;

/// Writes a log, frame by frame.
#[derive(Debug)]
pub struct LogWriter<F> {
    form: F,
    file: LogFile,
    frames: BuiltFrames,
    items: GatheredItems,
    /// The addresses of the item's texts that kept frames contain.
    said: Vec<usize>,
    /// Kept frames of the item have been written.
    restored: bool,
    /// The current items come from kept frames of this dialect, which follow.
    restoring: bool,
    /// Value of `restoring` when the current item started.
    root_restoring: bool,
    /// An event that is not an item and comes from a kept frame of this dialect, which follows.
    apart: Option<Box<Event<'static>>>,
    /// The current item, if frames of other items contain it.
    given_back: Option<ItemId>,
    /// Items contained in frames of other items that have not started yet.
    said_elsewhere: Vec<ItemId>,
    stages: LogStages,
    clock: SourceClock,
}

impl<F: LogForm> LogWriter<F> {
    /// A writer for a new log.
    pub fn new(form: F, options: &Options) -> Self {
        Self {
            form,
            file: LogFile::new(const { &F::RULES }, options),
            frames: BuiltFrames::default(),
            items: GatheredItems::default(),
            said: Vec::new(),
            restored: false,
            restoring: false,
            root_restoring: false,
            apart: None,
            given_back: None,
            said_elsewhere: Vec::new(),
            stages: LogStages::new(F::RULES.stages, options),
            clock: SourceClock::default(),
        }
    }

    /// Passes an event through the stages from the given number on, and writes it. Events that a stage has held back
    /// belong to earlier frames.
    fn pass(&mut self, first_stage: usize, event: &Event<'_>, out: &mut WriterOutput<'_>) {
        if self.stages.hold(first_stage, event) {
            return;
        }
        self.say(event, out);
        while let Some((next_stage, events)) = self.stages.release(first_stage) {
            for event in &events {
                self.pass(next_stage, event, &mut out.of_earlier_frames());
            }
        }
    }

    fn say(&mut self, event: &Event<'_>, out: &mut WriterOutput<'_>) {
        match event {
            Event::SessionStarted(session) => {
                self.stages.begin_session();
                // The event of the first session may follow its items.
                if self.file.has_session() {
                    self.end_session(out);
                    self.frames.begin_session();
                }
                self.file.begin_session(out);
                self.file.learn(session, out);
            }
            Event::SessionUpdated(session) => self.file.learn(session, out),
            // No log holds the time of its last write.
            Event::Clock(_) if out.is_made_up() => {}
            Event::Clock(time) => {
                self.clock.set(time, self.restoring, self.file.gives_all_back(), out);
            }
            Event::ItemStarted(head) => match dated(head.time.as_ref()).filter(|_| !self.restoring) {
                Some(time) => self.started(&ItemHead { time: Some(time), ..head.clone() }, out),
                None => self.started(head, out),
            },
            Event::ItemDelta(delta) => self.delta(delta, out),
            Event::ItemCompleted(tail) => self.completed(tail, out),
            // A kept frame holds the usage; by the support table, a built frame does not.
            Event::Usage(_) => {}
            _ if self.restoring => {
                self.end_item(out);
                self.apart = Some(Box::new(event.clone().into_owned()));
            }
            Event::TurnStarted(_)
            | Event::TurnEnded(_)
            | Event::SessionEnded(_)
            | Event::Rewound(_)
            | Event::Compacted(_)
            | Event::Model(_)
            | Event::Request(_)
            | Event::PermissionRequested(_)
            | Event::PermissionResolved(_)
            | Event::QuestionRequested(_)
            | Event::QuestionResolved(_)
            | Event::Error(_) => {}
        }
    }

    fn started(&mut self, head: &ItemHead<'_>, out: &mut WriterOutput<'_>) {
        let is_restored = self.restoring || self.said_elsewhere.contains(&head.id);
        let renamed = if is_restored { None } else { with_accepted_name(&F::RULES, head, out) };
        let head = renamed.as_ref().unwrap_or(head);
        if let Some(placement) = self.is_built().then(|| self.stages.place(head, &self.items)).flatten() {
            return self.start_at(placement, head, out);
        }
        let around = head.within.filter(|_| !self.restored).and_then(|around| self.items.item(around));
        let is_within = around.is_some();
        if !is_within {
            self.end_item(out);
            let elsewhere = self.said_elsewhere.iter().position(|item| *item == head.id);
            self.given_back = elsewhere.map(|at| self.said_elsewhere.remove(at));
            self.root_restoring = self.restoring || self.given_back.is_some();
            if self.given_back.is_some() {
                out.ledger.frame_restored();
                self.items.start(head, None);
                return;
            }
        }
        let mut clock = None;
        if !self.restoring {
            self.lose_of_head(head, head.within.and_then(|around| self.items.item(around)), out);
            let has_time = head.time.as_ref().is_some_and(is_date);
            clock = if has_time || is_within || F::RULES.untimed { None } else { self.clock.take() };
            if !is_within && self.stages.needs_message(&head.kind) {
                let frame = self.items.start(&message_for(head), clock);
                return self.items.start_in(head, frame);
            }
        }
        self.items.start(head, clock);
    }

    /// Starts an item at the place that a stage has chosen.
    fn start_at(&mut self, placement: Placement, head: &ItemHead<'_>, out: &mut WriterOutput<'_>) {
        let (around, remark) = match placement {
            Placement::InFrame(frame, remark) => (self.items.item_of(frame), Some(remark)),
            Placement::Apart(remark) => (None, remark),
        };
        self.lose_of_head(head, around, out);
        if let Some(remark) = remark {
            out.ledger.note(remark);
        }
        match placement {
            Placement::InFrame(frame, _) => self.items.start_in(head, frame),
            Placement::Apart(_) if self.stages.needs_message(&head.kind) => {
                let frame = self.items.start_apart(&message_for(head));
                self.items.start_in(head, frame);
            }
            Placement::Apart(_) => _ = self.items.start_apart(head),
        }
    }

    /// Whether the frame of the current item is built, not restored.
    fn is_built(&self) -> bool {
        !self.restoring && !self.root_restoring && !self.restored
    }

    /// Books the fields of an item head that a frame cannot hold.
    fn lose_of_head(
        &self,
        head: &ItemHead<'_>,
        around: Option<GatheredItem<'_>>,
        out: &mut WriterOutput<'_>,
    ) {
        lose_of_head(&F::RULES, head, around, out);
        self.stages.lose_of_head(head, around, out);
        if F::RULES.chained {
            self.frames.lose_of_head(head, around, out);
        }
        self.form.lose_of_head(head, around, out);
    }

    fn delta(&mut self, delta: &Delta<'_>, out: &mut WriterOutput<'_>) {
        let Some(item) = self.items.item(delta.item) else { return };
        let (of, value) = (item.of(), &delta.value);
        if self.restoring {
            return self.items.delta(delta);
        }
        let said = match value {
            Part::Media(media) if of == ItemKindTag::Message || of == ItemKindTag::Result => {
                let from_assistant = item.head().author == Author::Assistant;
                F::RULES.media.sayable(media, from_assistant, out).map(|media| Some(Part::Media(media)))
            }
            value => takes_part(of, value, F::RULES.issuer).map(|()| None),
        };
        match said {
            Ok(None) => self.items.delta(delta),
            Ok(Some(value)) => self.items.delta(&Delta { value, ..delta.clone() }),
            Err(reason) => out.lose_part(of, value, reason),
        }
    }

    fn completed(&mut self, tail: &ItemTail<'_>, out: &mut WriterOutput<'_>) {
        self.items.complete(tail);
        if self.is_built() {
            self.stages.completed(tail.id, &mut self.items, out);
        }
        let frame = self.items.item(tail.id).map(|item| item.frame().0);
        // A stage may have put a message around the item: the message has the head of the item.
        let own = frame.filter(|frame| !self.restoring && frame.head().id == tail.id);
        if let Some(frame) = own.filter(|frame| !frame.says_anything()) {
            lose_head(frame.head(), out);
        }
    }

    /// Restores a frame that was kept for the current item.
    fn restore(&mut self, kept: Val<'_>, space: (&str, &str), out: &mut WriterOutput<'_>) {
        if !self.root_restoring || self.given_back.is_some() {
            self.end_item(out);
        }
        self.form.gives_back(kept);
        self.clock.forget();
        let apart = self.apart.take();
        let native = match (self.items.root(), &apart) {
            (Some(item), _) => self.form.kept(item, kept),
            (None, Some(event)) => self.form.kept_event(event, kept),
            (None, None) => NativeObject::default(),
        };
        if !self.restored {
            let issuer = F::issuer_of(kept);
            for part in self.items.items().flat_map(GatheredItem::parts) {
                if let Part::Opaque(opaque) = part
                    && opaque.issuer != issuer
                {
                    // The issuer was edited in the record: the kept frame has no member for it.
                    let bytes = opaque.issuer.as_escaped().len();
                    out.ledger.lose_late(Field::Issuer, Reason::Invalid, 1, bytes as u64);
                }
            }
        }
        self.restored = self.items.root().is_some();
        let native = native.for_frame(kept.kind());
        let notice = self.items.root().filter(|item| item.of() == ItemKindTag::Notice);
        let words = notice.and_then(|item| {
            item.parts().find_map(|part| if let Part::Text(text) = part { Some(text) } else { None })
        });
        let fillings = Fillings { native: &native, words, class_of: F::class_of, is_line: false };
        let holes = self.file.restore(kept, space, fillings, &mut self.said, out);
        if holes == 0 && self.restored {
            let mut texts = Vec::new();
            for item in self.items.items() {
                for_each_text(item, &mut |_, text| texts.push(text));
            }
            note_equal(kept, texts.into_iter(), &mut self.said);
        }
    }

    /// Ends the current session, if any.
    fn end_session(&mut self, out: &mut WriterOutput<'_>) {
        self.end_item(out);
        self.form.finish(&mut LogBuilder { file: &mut self.file, frames: &mut self.frames, out });
    }

    /// Ends the current item: builds its frame, unless kept frames were restored.
    fn end_item(&mut self, out: &mut WriterOutput<'_>) {
        let Some(item) = self.items.root() else { return };
        if self.given_back.take().is_some() {
            self.restored = false;
        } else if std::mem::take(&mut self.restored) {
            // If the entry or its kept frame was edited in the record, the entry has values that the kept frames lack.
            self.said.sort_unstable();
            for item in self.items.items() {
                for_each_text(item, &mut |field, text| {
                    if !text.is_empty() && self.said.binary_search(&address(text)).is_err() {
                        out.ledger.lose_late(field, Reason::Invalid, 1, text.len() as u64);
                    }
                });
            }
        } else if self.root_restoring {
            // The item's frame was kept with another item.
            self.form.has_given_back(item.head());
        } else {
            self.frames.begin(item);
            self.file.identify(item);
            let mut log = LogBuilder { file: &mut self.file, frames: &mut self.frames, out };
            if item.says_anything() {
                self.form.build(item, &mut log);
            }
            for item in self.items.apart().filter(|item| item.says_anything()) {
                log.frames.begin(item);
                self.form.build(item, &mut log);
            }
        }
        self.items.clear();
        self.said.clear();
    }
}

/// The head of a new message around an item; later items may join the message.
fn message_for<'a>(head: &ItemHead<'a>) -> ItemHead<'a> {
    ItemHead { kind: ItemKind::Message, ..head.clone() }
}

impl<F: LogForm> Writer for LogWriter<F> {
    fn takes(&mut self, head: &ItemHead<'_>) -> Result<(), Reason> {
        if self.restoring {
            return Ok(());
        }
        if head.within.is_none() && self.form.has_given_back(head) {
            self.said_elsewhere.push(head.id);
            return Ok(());
        }
        self.stages.takes(head)
    }

    fn kept_lines_follow(&mut self, owner: &str) {
        self.restoring = owner == F::RULES.dialect;
    }

    fn kept_with_next(&mut self, owner: &str, out: &mut WriterOutput<'_>) {
        if owner == F::RULES.dialect {
            out.ledger.frame_restored();
        }
    }

    fn event(&mut self, event: &Event<'_>, out: &mut WriterOutput<'_>) {
        self.pass(0, event, out);
    }

    fn leftover(&mut self, leftover: Leftover<'_>, out: &mut WriterOutput<'_>) {
        match leftover.body {
            LeftoverBody::Kept { line, space } if leftover.owner == F::RULES.dialect => {
                self.restore(line, space, out);
                out.ledger.frame_restored();
                leftover.mark_kept(out.ledger);
            }
            LeftoverBody::Unparsed { .. } => {
                self.end_item(out);
                self.file.leftover(leftover, out);
            }
            LeftoverBody::Frame(tape) => {
                // No line holds the time of a frame without an item; the time of a record's entry may be in a kept
                // line.
                if !self.file.is_from_record() {
                    self.clock.give_up_in(tape);
                }
                self.file.leftover(leftover, out);
            }
            LeftoverBody::Kept { .. } | LeftoverBody::NoFinalNewline => self.file.leftover(leftover, out),
        }
    }

    fn finish(&mut self, out: &mut WriterOutput<'_>) {
        self.end_session(out);
        self.clock.give_up(out);
        self.file.finish(out);
    }
}
