//! The sink that readers emit events into. Between the sink and the writer, events are checked for order, and items
//! without a place in the target are filtered out.

use std::collections::{HashMap, VecDeque};
use std::hash::BuildHasherDefault;

use super::lifecycle::{Lifecycle, ReadPlace, Verdict};
use super::{SourceDigest, Writer, WriterOutput};
use crate::error::{Code, Problem, Window};
use crate::ledger::{Identity, Ledger, Leftover, LeftoverBody, Reason};
use crate::model::{
    Arrival, Author, Delta, Event, ItemHead, ItemId, ItemKind, ItemKindTag, ItemTail, Part, Status,
};
use crate::tape::{Claim, Limits, Val};

/// The sink readers emit events into.
pub struct EventSink<'o> {
    pub(super) writer: &'o mut dyn Writer,
    pub(super) order: &'o mut Order,
    pub(super) out: WriterOutput<'o>,
}

impl std::fmt::Debug for EventSink<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Events").field("order", &self.order).finish_non_exhaustive()
    }
}

/// The gate before the writer: passes events that are in order and belong to accepted items.
#[derive(Debug)]
pub(super) struct Order {
    pub(super) lifecycle: Lifecycle,
    /// Open items that the target has no place for.
    refused: HashMap<ItemId, (ItemKindTag, Reason), BuildHasherDefault<Identity>>,
    /// The last refused items, open or closed: a source may repeat them.
    refused_lately: VecDeque<ItemId>,
    /// The output allowance: bytes of output per byte of input, and the total for the input so far.
    growth: u64,
    most_output: u64,
    /// Set once output exceeded the growth limit; later events are dropped and booked as lost.
    overgrown: bool,
}

/// The output allowance before any input.
const FREE_OUTPUT: u64 = 1 << 20;

impl Order {
    pub(super) fn new(limits: &Limits) -> Self {
        Self {
            lifecycle: Lifecycle::new(limits.open),
            refused: HashMap::default(),
            refused_lately: VecDeque::new(),
            growth: limits.growth,
            most_output: FREE_OUTPUT,
            overgrown: false,
        }
    }

    /// Adds input bytes to the output allowance.
    pub(super) const fn read(&mut self, bytes: usize) {
        self.most_output = self.most_output.saturating_add((bytes as u64).saturating_mul(self.growth));
    }

    #[inline]
    fn event(&mut self, event: &Event<'_>, writer: &mut dyn Writer, out: &mut WriterOutput<'_>) {
        let here = out.place;
        match self.lifecycle.observe_at(event, out.ledger.frame_number(), &mut out.place) {
            Verdict::Pass => self.pass(event, writer, out),
            Verdict::Refuse(how) => {
                out.lose_event(ItemKindTag::Message, event, Reason::Invalid);
                problem(Code::Lifecycle, None, how, out.ledger);
            }
        }
        out.place = here;
    }

    /// Passes an event on, unless it belongs to a refused item.
    #[inline]
    pub(super) fn pass(&mut self, event: &Event<'_>, writer: &mut dyn Writer, out: &mut WriterOutput<'_>) {
        if self.overgrown || out.json.total() > self.most_output {
            return self.overgrow(event, writer, out);
        }
        if let Event::ItemStarted(head) = event
            && let Err(reason) = writer.takes(head)
        {
            self.refuse(head, reason);
            out.ledger.left_out(head);
        }
        if self.refused.is_empty() || !self.lose_refused(event, out) {
            out.ledger.told(event);
            writer.event(event, out);
        }
    }

    /// Remembers an item that the target has no place for.
    #[cold]
    fn refuse(&mut self, head: &ItemHead<'_>, reason: Reason) {
        self.refused.insert(head.id, (ItemKindTag::item(&head.kind), reason));
        if self.refused_lately.len() == 64 {
            self.refused_lately.pop_front();
        }
        self.refused_lately.push_back(head.id);
    }

    /// Books an event of a refused item as lost; returns whether the event belongs to a refused item.
    #[cold]
    fn lose_refused(&mut self, event: &Event<'_>, out: &mut WriterOutput<'_>) -> bool {
        let Some(id) = event.item() else { return false };
        let Some(&(of, reason)) = self.refused.get(&id) else { return false };
        if let Event::ItemCompleted(_) = event {
            self.refused.remove(&id);
        }
        out.lose_event(of, event, reason);
        true
    }

    /// Books an event as lost because the output exceeds its limit. Only items that were already open are still
    /// closed.
    #[cold]
    fn overgrow(&mut self, event: &Event<'_>, writer: &mut dyn Writer, out: &mut WriterOutput<'_>) {
        if !std::mem::replace(&mut self.overgrown, true) {
            let how = format!("more than {} times the input; nothing is said from here on", self.growth);
            problem(Code::Overgrown, None, &how, out.ledger);
        }
        if let Event::ItemStarted(head) = event {
            self.refuse(head, Reason::Refused);
        }
        if self.lose_refused(event, out) {
            return;
        }
        match event {
            Event::ItemCompleted(_) => writer.event(event, out),
            _ => out.lose_event(ItemKindTag::Message, event, Reason::Refused),
        }
    }
}

impl EventSink<'_> {
    /// Emits one event.
    pub fn event(&mut self, event: &Event<'_>) {
        self.order.event(event, self.writer, &mut self.out);
    }

    /// Reads a value that has neighbours, such as an element of a list. A loss of the events that `read` emits is booked
    /// on leaves of the value, or on leaves around it, and never on leaves of its neighbours.
    #[inline]
    pub(crate) fn within<T>(&mut self, value: Val<'_>, read: impl FnOnce(&mut Self) -> T) -> T {
        let around = std::mem::replace(&mut self.out.place, value.place());
        let done = read(self);
        self.out.place = around;
        done
    }

    /// The place that is being read.
    pub(crate) fn here(&self) -> ReadPlace {
        ReadPlace { frame: self.frame_number(), place: self.out.place }
    }

    /// Emits what was read at an earlier place. The place counts only in its own frame.
    pub(crate) fn of_place<T>(&mut self, place: Option<ReadPlace>, emit: impl FnOnce(&mut Self) -> T) -> T {
        let here = self.here();
        self.out.place = place.filter(|place| place.frame == here.frame).map_or(here.place, |it| it.place);
        let done = emit(self);
        self.out.place = here.place;
        done
    }

    /// Emits one event derived from unclaimed values, whose fate is already booked.
    pub(crate) fn event_unclaimed(&mut self, event: &Event<'_>) {
        self.order.event(event, self.writer, &mut self.out.of_no_frame());
    }

    /// Emits events derived from values of earlier frames, whose fate is already booked.
    pub(crate) fn of_no_frame<T>(&mut self, emit: impl FnOnce(&mut EventSink<'_>) -> T) -> T {
        let Self { writer, order, out } = self;
        emit(&mut EventSink { writer: &mut **writer, order, out: out.of_no_frame() })
    }

    /// Emits an event and drops it.
    #[expect(
        clippy::inline_always,
        reason = "most events own nothing, which the compiler sees only where it sees them made"
    )]
    #[inline(always)]
    fn say(&mut self, event: Event<'_>) {
        self.event(&event);
        match event {
            // Field by field: dropping a head as a whole is a function call.
            Event::ItemStarted(head) => {
                let ItemHead {
                    kind,
                    native_id,
                    parent,
                    replaces,
                    agent,
                    parent_call,
                    time,
                    model,
                    phase,
                    ..
                } = head;
                drop(kind);
                drop(native_id);
                drop(parent);
                drop(replaces);
                drop(agent);
                drop(parent_call);
                drop(time);
                drop(model);
                drop(phase);
            }
            Event::ItemDelta(Delta { value: Part::Text(text), .. }) => drop(text),
            Event::ItemCompleted(tail) => drop(tail),
            other => drop(other),
        }
    }

    /// Starts an item; create `head` with [`EventSink::head`].
    #[expect(
        clippy::inline_always,
        reason = "a head is made where it is said, not made and then moved there"
    )]
    #[inline(always)]
    pub fn start(&mut self, head: ItemHead<'_>) -> ItemId {
        let id = head.id;
        self.say(Event::ItemStarted(head));
        id
    }

    /// A head with a new item number and only the required fields.
    #[inline]
    pub fn head<'a>(&mut self, kind: ItemKind<'a>, author: Author) -> ItemHead<'a> {
        ItemHead::new(self.out.ledger.next_item(), kind, author)
    }

    /// Adds a part to an item.
    #[inline]
    pub fn delta(&mut self, item: ItemId, part: u32, value: Part<'_>) {
        self.say(Event::ItemDelta(Delta { item, part, value, arrival: Arrival::Whole }));
    }

    /// Adds a piece that the source streamed.
    #[inline]
    pub fn piece(&mut self, item: ItemId, part: u32, value: Part<'_>) {
        self.say(Event::ItemDelta(Delta { item, part, value, arrival: Arrival::Streamed }));
    }

    /// Completes an item without further values.
    #[inline]
    pub fn complete(&mut self, id: ItemId) {
        self.end(ItemTail::new(id, Status::Completed));
    }

    /// Ends an item.
    #[inline]
    pub fn end(&mut self, tail: ItemTail<'_>) {
        self.say(Event::ItemCompleted(tail));
    }

    /// Whether the target refused the item, as far back as sources repeat items. A repetition shares the fate of the
    /// first occurrence: do not claim it.
    pub fn is_refused(&self, item: ItemId) -> bool {
        self.order.refused_lately.contains(&item)
    }

    /// Announces that the following events come from lines that `owner` kept in an earlier conversion; an empty name
    /// means no kept lines.
    pub fn kept_lines_follow(&mut self, owner: &str) {
        self.writer.kept_lines_follow(owner);
    }

    /// Announces that the kept line of the last event, with dialect `owner`, comes with one of the next events.
    pub fn kept_with_next(&mut self, owner: &str) {
        self.writer.kept_with_next(owner, &mut self.out);
    }

    /// Passes on a line that `owner` kept in an earlier conversion, with the whitespace around it.
    pub fn kept_line(&mut self, owner: &str, line: Val<'_>, space: (&str, &str)) {
        let body = LeftoverBody::Kept { line, space };
        self.writer.leftover(Leftover { owner, body, around: ("", "") }, &mut self.out);
        if line.claimed() != Claim::Placed {
            Leftover { owner, body, around: ("", "") }.lose(self.out.ledger, Reason::NoSlot);
        }
    }

    /// Passes on bytes that could not be read in an earlier conversion.
    pub fn kept_bytes(&mut self, owner: &str, bytes: &[u8], why: &'static str, more: bool) {
        self.writer.leftover(
            Leftover { owner, body: LeftoverBody::Unparsed { bytes, why, more }, around: ("", "") },
            &mut self.out,
        );
    }

    /// Records that the source of an earlier conversion had no final newline.
    pub fn kept_no_final_newline(&mut self, owner: &str) {
        self.writer.leftover(
            Leftover { owner, body: LeftoverBody::NoFinalNewline, around: ("", "") },
            &mut self.out,
        );
    }

    /// Counts a record of the input.
    pub(crate) fn record_begins(&mut self) {
        self.out.ledger.sources.records += 1;
    }

    /// Passes on the source that the current record names.
    pub(crate) fn source(&mut self, source: &SourceDigest) {
        self.out.ledger.sources.add(source);
        self.writer.source(source);
    }

    /// Books a problem of the input.
    pub fn problem(&mut self, code: Code, pointer: Option<String>, detail: &str) {
        problem(code, pointer, detail, self.out.ledger);
    }

    /// Adds a remark about an emulated, repaired or guessed value.
    pub fn note(&mut self, what: &'static str) {
        self.out.ledger.note(what);
    }

    /// The number of the current frame, from 1.
    pub fn frame_number(&self) -> u64 {
        self.out.ledger.frame_number()
    }
}

fn problem(code: Code, pointer: Option<String>, detail: &str, ledger: &mut Ledger) {
    let (place, detail) = (ledger.place(None, pointer), detail.to_owned());
    ledger.problem(Problem { code, place, detail, window: Window::default() });
}
