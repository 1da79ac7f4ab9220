//! The shared writer of all log dialects.

use super::build::{BuiltFrames, LogBuilder};
use super::clock::{SourceClock, dated};
use super::file::{LogFile, is_date};
use super::fill::{Fillings, address, note_equal};
use super::form::{LogForm, LogRules};
use super::frame_fields::{for_each_text, lose_of_head, takes_part};
use super::gather::{FrameNumber, GatheredItem, GatheredItems};
use super::values::NativeObject;
use crate::dialects::Options;
use crate::json::Str;
use crate::ledger::{Leftover, LeftoverBody, Reason};
use crate::model::{Author, Delta, Event, Field, ItemHead, ItemId, ItemKind, ItemKindTag, ItemTail, Part};
use crate::pipe::lifecycle::ItemSerializer;
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
    /// Items that the file has no place for, since the last accepted item.
    refused: Vec<(ItemId, Reason)>,
    /// The log's main agent, and its initial value for each session.
    main: MainAgent,
    first_main: MainAgent,
    clock: SourceClock,
    queue: ItemSerializer,
}

impl<F: LogForm> LogWriter<F> {
    /// A writer for a new log.
    pub fn new(form: F, options: &Options) -> Self {
        let first_main = if options.outline.is_some() { MainAgent::Itself } else { MainAgent::Unknown };
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
            refused: Vec::new(),
            main: first_main.clone(),
            first_main,
            clock: SourceClock::default(),
            queue: ItemSerializer::default(),
        }
    }

    fn say(&mut self, event: &Event<'_>, out: &mut WriterOutput<'_>) {
        match event {
            Event::SessionStarted(session) => {
                self.main = self.first_main.clone();
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
        match self.inner_place(head) {
            InnerPlace::Within => {}
            InnerPlace::InFrame(frame) => {
                out.ledger.note(MOVED_OUT);
                let around = self.items.item_of(frame);
                self.lose_of_head(head, around, out);
                return self.items.start_in(head, frame);
            }
            InnerPlace::Apart => {
                self.lose_of_head(head, None, out);
                if !matches!(head.kind, ItemKind::ToolResult(_)) {
                    out.ledger.note(MOVED_OUT);
                }
                if needs_message(&F::RULES, &head.kind) {
                    let frame = self.items.start_apart(&ItemHead { kind: ItemKind::Message, ..head.clone() });
                    return self.items.start_in(head, frame);
                }
                self.items.start_apart(head);
                return;
            }
        }
        let joins = self.joins(head);
        let around = head.within.filter(|_| !self.restored).and_then(|around| self.items.item(around));
        let is_within = joins || around.is_some();
        if !is_within {
            self.end_item(out);
            let elsewhere = self.said_elsewhere.iter().position(|item| *item == head.id);
            self.given_back = elsewhere.map(|at| self.said_elsewhere.remove(at));
            self.root_restoring = self.restoring || self.given_back.is_some();
            if self.given_back.is_some() {
                out.ledger.frame_restored();
                return self.items.start(head, None);
            }
        }
        if !self.restoring {
            let around = if joins {
                self.items.root()
            } else {
                head.within.and_then(|around| self.items.item(around))
            };
            self.lose_of_head(head, around, out);
        }
        let timeless = !head.time.as_ref().is_some_and(is_date);
        let takes_clock = timeless && !is_within && !self.restoring && !F::RULES.untimed;
        let clock = if takes_clock { self.clock.take() } else { None };
        if joins {
            out.ledger.note(if F::RULES.answers_together {
                "what was said in a row joined one message"
            } else {
                "what followed a call joined its message"
            });
            return self.items.join(head);
        }
        if needs_message(&F::RULES, &head.kind) && !is_within && !self.restoring {
            // Start a message that can hold other items.
            self.items.start(&ItemHead { kind: ItemKind::Message, ..head.clone() }, clock);
            return self.items.join(head);
        }
        self.items.start(head, clock);
    }

    /// The place of an item within the current item. A frame has a single author: reasoning and calls are moved out of
    /// messages of any author but the assistant, results are moved out of assistant messages, and only a message holds
    /// other items.
    fn inner_place(&self, head: &ItemHead<'_>) -> InnerPlace {
        let is_restored = self.restoring || self.root_restoring || self.restored;
        let around = head.within.filter(|_| !is_restored).and_then(|around| self.items.item(around));
        let Some(around) = around else { return InnerPlace::Within };
        let (frame, number) = around.frame();
        let by_assistant = frame.head().author == Author::Assistant;
        // Items moved out of the current frame follow it, together with later items that fit there.
        let last = self.items.apart().last().filter(|last| {
            last.of() == ItemKindTag::Message && [last.head().author, head.author] == [Author::Assistant; 2]
        });
        match head.kind {
            ItemKind::ToolResult(_) if by_assistant || self.items.apart().next().is_some() => {
                InnerPlace::Apart
            }
            ItemKind::Reasoning | ItemKind::ToolCall(_) if !by_assistant => match last {
                Some(last) => InnerPlace::InFrame(last.frame().1),
                None => InnerPlace::Apart,
            },
            _ if around.of() == ItemKindTag::Message => InnerPlace::Within,
            _ if frame.of() == ItemKindTag::Message && frame.head().author == head.author => {
                InnerPlace::InFrame(number)
            }
            ItemKind::Message
            | ItemKind::Reasoning
            | ItemKind::ToolCall(_)
            | ItemKind::ToolResult(_)
            | ItemKind::Notice(_) => InnerPlace::Apart,
        }
    }

    /// Books the fields of an item head that a frame cannot hold.
    fn lose_of_head(
        &self,
        head: &ItemHead<'_>,
        around: Option<GatheredItem<'_>>,
        out: &mut WriterOutput<'_>,
    ) {
        lose_of_head(&F::RULES, head, around, out);
        if F::RULES.chained {
            self.frames.lose_of_head(head, around, out);
        }
        self.form.lose_of_head(head, around, out);
    }

    /// Whether an item joins the current message.
    fn joins(&self, head: &ItemHead<'_>) -> bool {
        let after_call = F::RULES.calls_together && self.items.has_call();
        let joins = (after_call || F::RULES.answers_together) && self.items.apart().next().is_none();
        let with = self.items.root().filter(|_| joins && !self.restored);
        with.map(GatheredItem::head).is_some_and(|with| {
            !self.restoring
                && !self.root_restoring
                && head.within.is_none()
                && [with.author, head.author] == [Author::Assistant; 2]
                && with.agent == head.agent
        })
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
        if F::RULES.signed_thoughts && !self.restoring && !self.root_restoring {
            for part in self.items.take_unsigned(tail.id) {
                out.lose_part(ItemKindTag::Reasoning, &part, Reason::Refused);
            }
        }
        let whole = self.items.framed(tail.id);
        let unsaid = whole.filter(|frame| !self.restoring && !frame.says_anything());
        if let Some(ItemHead { native_id, parent, time, model, agent, parent_call, .. }) =
            unsaid.map(GatheredItem::head)
        {
            // Some values may have been emitted at the start of the item, in an earlier frame.
            let texts = [
                (Field::ItemId, native_id),
                (Field::ItemParent, parent),
                (Field::ItemModel, model),
                (Field::ItemAgent, agent),
                (Field::ItemParentCall, parent_call),
            ];
            for (field, text) in texts {
                out.lose_some(field, text.as_ref(), Reason::NoSlot);
            }
            if let Some(time) = time {
                out.lose_raw(Field::ItemTime, time, Reason::NoSlot);
            }
            for field in [Field::ItemAuthor, Field::ItemOrigin] {
                out.lose(field, Reason::NoSlot);
            }
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
        let fillings = Fillings { native: &native, words, class_of: F::class_of };
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

/// The place of an item that lies within another item in the source.
enum InnerPlace {
    /// In the enclosing item.
    Within,
    /// In the frame with the given number, beside its other items.
    InFrame(FrameNumber),
    /// In its own frame, after the current frame.
    Apart,
}

const MOVED_OUT: &str = "an item inside one that cannot hold it was put beside that one";

/// Whether an item can only be written in a message.
const fn needs_message(rules: &LogRules, kind: &ItemKind<'_>) -> bool {
    match kind {
        ItemKind::ToolCall(_) => rules.calls_together || rules.answers_together,
        ItemKind::Reasoning => rules.answers_together,
        ItemKind::Message | ItemKind::ToolResult(_) | ItemKind::Notice(_) => false,
    }
}

/// The main agent of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
enum MainAgent {
    Unknown,
    /// The session's own agent: with an outline, the items of a subagent's own session name no agent.
    Itself,
    /// A log whose first item names a subagent is that subagent's own log.
    Subagent(Str<'static>),
}

/// Whether an item is a system or developer message. A program adds its own system prompt to a resumed session: a
/// foreign prompt would replace it, or would become a user message.
fn is_of_system(head: &ItemHead<'_>) -> bool {
    head.kind == ItemKind::Message && matches!(head.author, Author::System | Author::Developer)
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
        let within_refused = head.within.and_then(|around| {
            self.refused.iter().rev().find(|(known, _)| *known == around).map(|(_, reason)| *reason)
        });
        // System messages are left out; calls, results and reasoning within them are kept.
        let is_beside_system = match head.kind {
            ItemKind::Reasoning | ItemKind::ToolCall(_) | ItemKind::ToolResult(_) => {
                within_refused == Some(Reason::Foreign)
            }
            ItemKind::Message | ItemKind::Notice(_) => false,
        };
        let is_within_refused = within_refused.is_some();
        let within_refused = within_refused.filter(|_| !is_beside_system);
        // The final report of a subagent is the result of a call that the main agent waits for.
        let is_report = head.within.is_some() && matches!(head.kind, ItemKind::ToolResult(_));
        let is_notice = matches!(head.kind, ItemKind::Notice(_));
        if self.main == MainAgent::Unknown && !is_notice {
            self.main = match &head.agent {
                Some(agent) => MainAgent::Subagent(agent.clone().into_owned()),
                None => MainAgent::Itself,
            };
        }
        let by_another = match (&head.agent, &self.main) {
            (Some(agent), MainAgent::Subagent(main)) => agent != main,
            (Some(_), MainAgent::Itself | MainAgent::Unknown) => true,
            (None, _) => false,
        };
        let refused = if is_of_system(head) {
            Some(Reason::Foreign)
        } else if F::RULES.one_agent && by_another && !is_report {
            Some(Reason::NoSlot)
        } else {
            within_refused
        };
        if let Some(reason) = refused {
            self.refused.push((head.id, reason));
            return Err(reason);
        }
        if !is_within_refused {
            self.refused.clear();
        }
        if is_notice { Err(Reason::NoSlot) } else { Ok(()) }
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
        if self.queue.must_wait(event) {
            return;
        }
        self.say(event, out);
        // Queued events belong to earlier frames.
        while let Some(events) = self.queue.next() {
            for event in events {
                self.say(&event, &mut out.of_earlier_frames());
            }
        }
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
