//! The writer of every log.

use super::build::{BuiltFrames, LogBuilder};
use super::file::{LogFile, is_date};
use super::fill::{Fillings, address, note_equal};
use super::frame_fields::{for_each_text, lose_of_head, takes_part};
use super::gather::{FrameNumber, GatheredItem, GatheredItems};
use super::identity::SessionIds;
use super::media::MediaRules;
use super::values::NativeObject;
use crate::dialects::Options;
use crate::framing::Framing;
use crate::json::{Raw, Str};
use crate::ledger::{Leftover, LeftoverBody, Reason};
use crate::model::{
    Author, CallKind, Delta, Event, Field, ItemHead, ItemId, ItemKind, ItemTail, Of, Origin, Part, time,
};
use crate::pipe::lifecycle::OneByOne;
use crate::pipe::{Target, Writer};
use crate::tape::{TapePlace, Val};
use crate::wire::backends::NameRule;

/// How a dialect writes items.
///
/// Notices, requests, turns and live events have no frame in another agent's log; the table of a log says `No` to all they
/// hold. A kept frame says everything, whatever the table says: the table is about frames that are built.
pub trait LogForm: Send {
    /// What frames that are built can say.
    const RULES: LogRules;

    /// The values of an item, where a frame that was kept for it has them. Tags and made-up members may be left out: they
    /// have no hole.
    fn kept<'g>(&mut self, item: GatheredItem<'g>, kept: Val<'_>) -> NativeObject<'g>;

    /// The same for an event that is no item, with what was taken of it.
    fn kept_event<'g>(&mut self, event: &'g Event<'static>, kept: Val<'_>) -> NativeObject<'g> {
        let _ = (event, kept);
        NativeObject::default()
    }

    /// A kept frame is about to be given back, whatever item or event it belongs to.
    fn gives_back(&mut self, kept: Val<'_>) {
        let _ = kept;
    }

    /// Whether frames that were given back with other items say this item already, though none was kept for it.
    fn has_given_back(&mut self, head: &ItemHead<'_>) -> bool {
        let _ = head;
        false
    }

    /// Which elements of a native list belong to an element of a kept one, by number; at most eight classes.
    fn class_of(list: &str, element: Val<'_>) -> usize {
        let _ = (list, element);
        0
    }

    /// Who issued the state in a kept frame, for agents that speak with several providers and name each.
    fn issuer_of(kept: Val<'_>) -> Str<'_> {
        let _ = kept;
        Str::escaped(Self::RULES.issuer)
    }

    /// Writes an item that no kept frame was brought for, with [`LogBuilder::write`].
    fn build(&mut self, item: GatheredItem<'_>, log: &mut LogBuilder<'_, '_>);

    /// Writes what was held back: nothing more comes of the session.
    fn finish(&mut self, log: &mut LogBuilder<'_, '_>) {
        let _ = log;
    }

    /// Gives up what a frame cannot say of an item that begins, beyond what the rules tell. `around` is the item it lies in.
    fn lose_of_head(&self, head: &ItemHead<'_>, around: Option<GatheredItem<'_>>, out: &mut Target<'_>) {
        let _ = (head, around, out);
    }
}

/// What is the same for every frame of a log that is built. What is not in these lists is given up. Name those that are
/// not empty, and the rest with [`LogRules::NOTHING`].
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a rule of its own that holds or does not")]
pub struct LogRules {
    /// The dialect's name.
    pub dialect: &'static str,
    /// How frames are cut.
    pub framing: Framing,
    /// Who issues the state in it that only the issuer can read.
    pub issuer: &'static str,
    /// Whose words a message may hold, where that can be told.
    pub origins: &'static [Origin],
    /// The sorts of call.
    pub calls: &'static [CallKind],
    /// The media in messages and results.
    pub media: MediaRules,
    /// What a message or result that holds others says of those.
    pub within: &'static [Field],
    /// Whether calls that were made at once stand in one message: what the assistant says after a call and before its
    /// result joins it there.
    pub calls_together: bool,
    /// Whether all that the assistant says in a row stands in one message: thoughts alone are none.
    pub answers_together: bool,
    /// Whether frames name the one they hang on, and those of the assistant the model.
    pub chained: bool,
    /// Whether frames have no times.
    pub untimed: bool,
    /// Whether the file is one agent's alone: what its subagents say would stand between a call and its result, and has
    /// no place.
    pub one_agent: bool,
    /// What the head of the file says of the session: what is known before the first item.
    pub session_head: &'static [Field],
    /// What any frame may say of it.
    pub session: &'static [Field],
    /// Which ids of sessions the program takes.
    pub session_ids: SessionIds,
    /// Which ids of calls the program's API takes.
    pub call_ids: NameRule,
    /// Whether the program's API refuses reasoning that its own model has not signed.
    pub signed_thoughts: bool,
}

impl LogRules {
    /// The rules of lines that say nothing, to begin with.
    pub const NOTHING: LogRules = LogRules {
        dialect: "",
        framing: Framing::Lines,
        issuer: "",
        origins: &[],
        calls: &[],
        media: MediaRules::NONE,
        within: &[],
        calls_together: false,
        answers_together: false,
        chained: false,
        untimed: false,
        one_agent: false,
        session_head: &[],
        session: &[],
        session_ids: SessionIds::Nowhere,
        call_ids: NameRule { most: 64, ..NameRule::ANY },
        signed_thoughts: false,
    };

    /// Whether a file takes that value for a fact of the session.
    pub(super) fn takes(&self, field: Field, value: &Raw<'_>) -> bool {
        match field {
            Field::SessionId => self.session_ids.form_of(value.as_str().trim_matches('"')).is_some(),
            Field::SessionStart => is_date(value),
            _ => true,
        }
    }
}

/// Writes a log, frame by frame.
#[derive(Debug)]
pub struct LogWriter<F> {
    form: F,
    file: LogFile,
    frames: BuiltFrames,
    items: GatheredItems,
    /// Where the texts of the item begin that kept frames say.
    said: Vec<usize>,
    /// Frames that were kept for the item have been written.
    restored: bool,
    /// The items that come now were made from frames of ours, which follow.
    restoring: bool,
    /// They were, when the item at hand began.
    root_restoring: bool,
    /// An event that is no item and was made from a frame of ours, which follows.
    apart: Option<Box<Event<'static>>>,
    /// The item at hand, if frames of other items say it.
    given_back: Option<ItemId>,
    /// They say these, which have not begun yet.
    said_elsewhere: Vec<ItemId>,
    /// Items that the file has no place for, since the last item that it takes.
    refused: Vec<(ItemId, Reason)>,
    /// Whose log it is, and what is known of that before a session.
    main: MainAgent,
    first_main: MainAgent,
    /// The time at the source, and whether an item took it.
    now: Option<(Raw<'static>, bool)>,
    queue: OneByOne,
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
            now: None,
            queue: OneByOne::default(),
        }
    }

    fn say(&mut self, event: &Event<'_>, out: &mut Target<'_>) {
        match event {
            Event::SessionStarted(session) => {
                self.main = self.first_main.clone();
                // The first one may be told after its items.
                if self.file.has_session() {
                    self.end_session(out);
                    self.frames.begin_session();
                }
                self.file.begin_session(out);
                self.file.learn(session, out);
            }
            Event::SessionUpdated(session) => self.file.learn(session, out),
            // No log holds when it was written last.
            Event::Clock(_) if out.is_made_up() => {}
            Event::Clock(time) if self.now.as_ref().is_some_and(|(now, _)| now == time) => {}
            Event::Clock(time) => {
                self.give_up_clock(out);
                let counted = dated(Some(time));
                let time = counted.as_ref().unwrap_or(time);
                if self.restoring {
                    // A kept frame says it.
                } else if is_date(time) {
                    // So does a file that gives all its frames back.
                    let is_said = self.file.gives_all_back();
                    self.now = Some((time.clone().into_owned(), is_said));
                } else {
                    out.lose_raw(Field::EventTime, time, Reason::Narrowed);
                }
            }
            Event::ItemStarted(head) => match dated(head.time.as_ref()).filter(|_| !self.restoring) {
                Some(time) => self.started(&ItemHead { time: Some(time), ..head.clone() }, out),
                None => self.started(head, out),
            },
            Event::ItemDelta(delta) => self.delta(delta, out),
            Event::ItemCompleted(tail) => self.completed(tail, out),
            // A kept frame has them; the table of a log says that a built one does not.
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

    /// The time at the source changes; if no item took it, it is lost.
    fn give_up_clock(&mut self, out: &mut Target<'_>) {
        if let Some((time, false)) = self.now.take() {
            out.ledger.lose_late(Field::EventTime, Reason::Redundant, 1, time.as_str().len() as u64);
        }
    }

    fn started(&mut self, head: &ItemHead<'_>, out: &mut Target<'_>) {
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
        let now = self.now.as_mut().filter(|_| takes_clock);
        let clock = now.map(|(time, taken)| {
            *taken = true;
            time.clone()
        });
        if joins {
            out.ledger.note(if F::RULES.answers_together {
                "what was said in a row joined one message"
            } else {
                "what followed a call joined its message"
            });
            return self.items.join(head);
        }
        if needs_message(&F::RULES, &head.kind) && !is_within && !self.restoring {
            // A message that has room for others.
            self.items.start(&ItemHead { kind: ItemKind::Message, ..head.clone() }, clock);
            return self.items.join(head);
        }
        self.items.start(head, clock);
    }

    /// Where an item stands that lies within the one at hand. A frame is of one author: thoughts and calls leave the words
    /// of anyone but the assistant, results leave those of the assistant, and only a message holds other items.
    fn inner_place(&self, head: &ItemHead<'_>) -> InnerPlace {
        let is_restored = self.restoring || self.root_restoring || self.restored;
        let around = head.within.filter(|_| !is_restored).and_then(|around| self.items.item(around));
        let Some(around) = around else { return InnerPlace::Within };
        let (frame, number) = around.frame();
        let by_assistant = frame.head().author == Author::Assistant;
        // What has left the frame at hand follows it, and so does the next that fits there.
        let last = self.items.apart().last().filter(|last| {
            last.of() == Of::Message && [last.head().author, head.author] == [Author::Assistant; 2]
        });
        match head.kind {
            ItemKind::ToolResult(_) if by_assistant || self.items.apart().next().is_some() => {
                InnerPlace::Apart
            }
            ItemKind::Reasoning | ItemKind::ToolCall(_) if !by_assistant => match last {
                Some(last) => InnerPlace::InFrame(last.frame().1),
                None => InnerPlace::Apart,
            },
            _ if around.of() == Of::Message => InnerPlace::Within,
            _ if frame.of() == Of::Message && frame.head().author == head.author => {
                InnerPlace::InFrame(number)
            }
            ItemKind::Message
            | ItemKind::Reasoning
            | ItemKind::ToolCall(_)
            | ItemKind::ToolResult(_)
            | ItemKind::Notice(_) => InnerPlace::Apart,
        }
    }

    /// Gives up what a frame cannot say of an item that begins.
    fn lose_of_head(&self, head: &ItemHead<'_>, around: Option<GatheredItem<'_>>, out: &mut Target<'_>) {
        lose_of_head(&F::RULES, head, around, out);
        if F::RULES.chained {
            self.frames.lose_of_head(head, around, out);
        }
        self.form.lose_of_head(head, around, out);
    }

    /// Whether an item joins the message at hand.
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

    fn delta(&mut self, delta: &Delta<'_>, out: &mut Target<'_>) {
        let Some(item) = self.items.item(delta.item) else { return };
        let (of, value) = (item.of(), &delta.value);
        if self.restoring {
            return self.items.delta(delta);
        }
        let said = match value {
            Part::Media(media) if of == Of::Message || of == Of::Result => {
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

    fn completed(&mut self, tail: &ItemTail<'_>, out: &mut Target<'_>) {
        self.items.complete(tail);
        if F::RULES.signed_thoughts && !self.restoring && !self.root_restoring {
            for part in self.items.take_unsigned(tail.id) {
                out.lose_part(Of::Reasoning, &part, Reason::Refused);
            }
        }
        let whole = self.items.framed(tail.id);
        let unsaid = whole.filter(|frame| !self.restoring && !frame.says_anything());
        if let Some(ItemHead { native_id, parent, time, model, agent, parent_call, .. }) =
            unsaid.map(GatheredItem::head)
        {
            // Some of it may have been told when the item began, in an earlier frame.
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

    /// Gives back a frame that was kept for the item at hand.
    fn restore(&mut self, kept: Val<'_>, space: (&str, &str), out: &mut Target<'_>) {
        if !self.root_restoring || self.given_back.is_some() {
            self.end_item(out);
        }
        self.form.gives_back(kept);
        // The frame says when it was written, which is also when what it tells of the session changed.
        self.now = None;
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
                    // A record in which someone changed it: the frame that was kept has no word for it.
                    let bytes = opaque.issuer.as_escaped().len();
                    out.ledger.lose_late(Field::Issuer, Reason::Invalid, 1, bytes as u64);
                }
            }
        }
        self.restored = self.items.root().is_some();
        let native = native.for_frame(kept.kind());
        let notice = self.items.root().filter(|item| item.of() == Of::Notice);
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

    /// Ends the session at hand, if one is.
    fn end_session(&mut self, out: &mut Target<'_>) {
        self.end_item(out);
        self.form.finish(&mut LogBuilder { file: &mut self.file, frames: &mut self.frames, out });
    }

    /// Ends the item at hand: builds its frame, unless kept ones were given back.
    fn end_item(&mut self, out: &mut Target<'_>) {
        let Some(item) = self.items.root() else { return };
        if self.given_back.take().is_some() {
            self.restored = false;
        } else if std::mem::take(&mut self.restored) {
            // A record in which someone changed one of the two says more than the frames that were kept for it.
            self.said.sort_unstable();
            for item in self.items.items() {
                for_each_text(item, &mut |field, text| {
                    if !text.is_empty() && self.said.binary_search(&address(text)).is_err() {
                        out.ledger.lose_late(field, Reason::Invalid, 1, text.len() as u64);
                    }
                });
            }
        } else if self.root_restoring {
            // Its frame was kept with another item.
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

/// Where an item stands that lies within another at its source.
enum InnerPlace {
    /// In the item that is around it.
    Within,
    /// In the frame of that number, beside the items there.
    InFrame(FrameNumber),
    /// In a frame of its own, after the one at hand.
    Apart,
}

const MOVED_OUT: &str = "an item inside one that cannot hold it was put beside that one";

/// Whether an item has a place only in a message.
const fn needs_message(rules: &LogRules, kind: &ItemKind<'_>) -> bool {
    match kind {
        ItemKind::ToolCall(_) => rules.calls_together || rules.answers_together,
        ItemKind::Reasoning => rules.answers_together,
        ItemKind::Message | ItemKind::ToolResult(_) | ItemKind::Notice(_) => false,
    }
}

/// Whose log it is.
#[derive(Clone, Debug, PartialEq, Eq)]
enum MainAgent {
    Unknown,
    /// With an outline, items of a session that is a subagent's own name no agent.
    Itself,
    /// A log that begins with a subagent's words is that subagent's own.
    Subagent(Str<'static>),
}

/// Whether an item is a system prompt, or other words of a system. A program puts its own system prompt before a session
/// that it resumes: the prompt of another one would replace it, or would become words of the user.
fn is_of_system(head: &ItemHead<'_>) -> bool {
    head.kind == ItemKind::Message && matches!(head.author, Author::System | Author::Developer)
}

/// The date of a time that the source counts: logs have dates.
fn dated(time: Option<&Raw<'_>>) -> Option<Raw<'static>> {
    let counted = time.filter(|time| time.as_str().starts_with(|first: char| first.is_ascii_digit()))?;
    time::utc(counted).map(|date| Raw::owned(format!("\"{date}\"")))
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
        // The words of a system are left out; calls, results and thoughts beside them are not its words.
        let is_beside_system = match head.kind {
            ItemKind::Reasoning | ItemKind::ToolCall(_) | ItemKind::ToolResult(_) => {
                within_refused == Some(Reason::Foreign)
            }
            ItemKind::Message | ItemKind::Notice(_) => false,
        };
        let is_within_refused = within_refused.is_some();
        let within_refused = within_refused.filter(|_| !is_beside_system);
        // What a subagent reports in the end is the result of a call of the agent itself, which waits for it.
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

    fn kept_with_next(&mut self, owner: &str, out: &mut Target<'_>) {
        if owner == F::RULES.dialect {
            out.ledger.frame_restored();
        }
    }

    fn event(&mut self, event: &Event<'_>, out: &mut Target<'_>) {
        if self.queue.must_wait(event) {
            return;
        }
        self.say(event, out);
        // Whatever waited belongs to earlier frames.
        while let Some(events) = self.queue.next() {
            for event in events {
                self.say(&event, &mut out.of_earlier_frames());
            }
        }
    }

    fn leftover(&mut self, leftover: Leftover<'_>, out: &mut Target<'_>) {
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
                // The time of a frame in which no item took it is said by no line; that of an entry perhaps by a kept one.
                let from_record = self.file.is_from_record();
                if let Some((_, taken @ false)) = self.now.as_mut().filter(|_| !from_record) {
                    *taken = true;
                    tape.claimed_for(Field::EventTime, TapePlace::FRAME)
                        .for_each(|leaf| leaf.unsaid(Reason::Redundant));
                }
                self.file.leftover(leftover, out);
            }
            LeftoverBody::Kept { .. } | LeftoverBody::NoFinalNewline => self.file.leftover(leftover, out),
        }
    }

    fn finish(&mut self, out: &mut Target<'_>) {
        self.end_session(out);
        self.give_up_clock(out);
        self.file.finish(out);
    }
}
