//! The stages between a history and the frames of a log. A stage regroups items for an agent: the stage leaves items
//! out, joins items in one frame, or separates items of one frame.
//!
//! [`LogRules::stages`](super::LogRules::stages) names the stages of a dialect. Three stages precede them in every log:
//! [`ItemSerializer`], [`NoSystemPrompts`] and [`OneAuthor`]. A stage never sees items that are restored from kept
//! frames, except in [`LogStage::holds`].
//!
//! An item passes the methods of [`LogStage`] in this order: `refuses`, `holds`, `place`, `needs_message`,
//! `lose_of_head`, `completed`. Each method but `place` asks the stages in the order of their list.

mod answers_together;
mod calls_together;
mod item_serializer;
mod no_system_prompts;
mod one_agent;
mod one_author;
mod results_together;
mod signed_thoughts;

use std::fmt::Debug;

pub use answers_together::AnswersTogether;
pub use calls_together::CallsTogether;
use item_serializer::ItemSerializer;
use no_system_prompts::NoSystemPrompts;
pub use one_agent::OneAgent;
use one_author::OneAuthor;
pub use results_together::ResultsTogether;
pub use signed_thoughts::SignedThoughts;

use super::gather::{FrameNumber, GatheredItem, GatheredItems};
use crate::dialects::Options;
use crate::ledger::Reason;
use crate::model::{Author, Event, ItemHead, ItemId, ItemKind};
use crate::pipe::WriterOutput;

/// A stage that regroups a history for an agent. The default of each method leaves the history unchanged.
pub trait LogStage: Debug + Send {
    /// Starts a session; the first session starts with the log. `has_outline`: a first pass over the source has found
    /// the items of the session's own agent, which then name no agent.
    fn begin_session(&mut self, has_outline: bool) {
        let _ = has_outline;
    }

    /// The reason to leave an item out, with all items within it. Each stage is asked about each item, also if an
    /// earlier stage refuses the item.
    fn refuses(&mut self, head: &ItemHead<'_>) -> Option<Reason> {
        let _ = head;
        None
    }

    /// Whether the stage holds an event back until [`LogStage::release`]. All items are completed at the end of a
    /// source, and the stage must have released all events by then.
    fn holds(&mut self, event: &Event<'_>) -> bool {
        let _ = event;
        false
    }

    /// The next events that were held back and are due now. The writer asks each stage after each written event.
    fn release(&mut self) -> Option<Vec<Event<'static>>> {
        None
    }

    /// The place of an item that starts, if the place differs from the place in the source. `items` are the items of
    /// the current frame. The last stage with a place decides.
    fn place(&mut self, head: &ItemHead<'_>, items: &GatheredItems) -> Option<Placement> {
        let _ = (head, items);
        None
    }

    /// Whether an item with its own frame is put into a message, because later items may join this message.
    fn needs_message(&self, kind: &ItemKind<'_>) -> bool {
        let _ = kind;
        false
    }

    /// Books the fields of an item head that no frame holds because of this stage. `around` is the enclosing item.
    fn lose_of_head(
        &self,
        head: &ItemHead<'_>,
        around: Option<GatheredItem<'_>>,
        out: &mut WriterOutput<'_>,
    ) {
        let _ = (head, around, out);
    }

    /// Changes the content of an item that is complete, and books the losses.
    fn completed(&mut self, item: ItemId, items: &mut GatheredItems, out: &mut WriterOutput<'_>) {
        let _ = (item, items, out);
    }
}

/// Creates a stage: [`stage`] with the type of the stage.
pub type NewStage = fn() -> Box<dyn LogStage>;

/// A new stage, for the list of a dialect: `stages: &[stage::<OneAgent>, stage::<CallsTogether>]`.
pub fn stage<S: LogStage + Default + 'static>() -> Box<dyn LogStage> {
    Box::new(S::default())
}

/// The new place of an item, and a remark about the move for the report.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(not(feature = "_exhaustive"), non_exhaustive)]
pub enum Placement {
    /// At the end of the frame with the given number.
    InFrame(FrameNumber, &'static str),
    /// In a frame of its own, after the current frame.
    Apart(Option<&'static str>),
}

/// The first stages of every log.
const OF_EVERY_LOG: [NewStage; 3] = [stage::<ItemSerializer>, stage::<NoSystemPrompts>, stage::<OneAuthor>];

/// All stages of a log.
#[derive(Debug)]
pub(super) struct LogStages {
    stages: Vec<Box<dyn LogStage>>,
    /// Items that a stage refused, since the last accepted item.
    refused: Vec<(ItemId, Reason)>,
    has_outline: bool,
    /// A stage has held an event back. The items of most sources are not interleaved.
    has_held: bool,
}

impl LogStages {
    pub(super) fn new(own: &[NewStage], options: &Options) -> Self {
        let stages = OF_EVERY_LOG.iter().chain(own).map(|new| new()).collect();
        let has_outline = options.outline.is_some();
        let mut stages = Self { stages, refused: Vec::new(), has_outline, has_held: false };
        stages.begin_session();
        stages
    }

    pub(super) fn begin_session(&mut self) {
        self.stages.iter_mut().for_each(|stage| stage.begin_session(self.has_outline));
    }

    /// Whether the log has a place for an item: no stage refuses the item or the item around it, and the item is not a
    /// notice.
    pub(super) fn takes(&mut self, head: &ItemHead<'_>) -> Result<(), Reason> {
        let around = head.within.and_then(|around| {
            self.refused.iter().rev().find(|(known, _)| *known == around).map(|(_, reason)| *reason)
        });
        let own = self.stages.iter_mut().fold(None, |known, stage| {
            let reason = stage.refuses(head);
            known.or(reason)
        });
        if let Some(reason) = own.or(around.filter(|reason| !outlives(head, *reason))) {
            self.refused.push((head.id, reason));
            return Err(reason);
        }
        if around.is_none() {
            self.refused.clear();
        }
        if matches!(head.kind, ItemKind::Notice(_)) { Err(Reason::NoSlot) } else { Ok(()) }
    }

    /// Offers an event to the stages from the given number on. Returns whether a stage holds the event back.
    pub(super) fn hold(&mut self, first: usize, event: &Event<'_>) -> bool {
        let is_held = self.stages.iter_mut().skip(first).any(|stage| stage.holds(event));
        self.has_held |= is_held;
        is_held
    }

    /// The next events that a stage from the given number on releases, and the number of the stage after it.
    pub(super) fn release(&mut self, first: usize) -> Option<(usize, Vec<Event<'static>>)> {
        if !self.has_held {
            return None;
        }
        let mut stages = self.stages.iter_mut().enumerate().skip(first);
        stages.find_map(|(at, stage)| stage.release().map(|events| (at + 1, events)))
    }

    pub(super) fn place(&mut self, head: &ItemHead<'_>, items: &GatheredItems) -> Option<Placement> {
        // The stages of every log are the last to decide: a result that leaves a message of the assistant may join another.
        self.stages.iter_mut().rev().find_map(|stage| stage.place(head, items))
    }

    pub(super) fn needs_message(&self, kind: &ItemKind<'_>) -> bool {
        self.stages.iter().any(|stage| stage.needs_message(kind))
    }

    pub(super) fn lose_of_head(
        &self,
        head: &ItemHead<'_>,
        around: Option<GatheredItem<'_>>,
        out: &mut WriterOutput<'_>,
    ) {
        self.stages.iter().for_each(|stage| stage.lose_of_head(head, around, out));
    }

    pub(super) fn completed(&mut self, item: ItemId, items: &mut GatheredItems, out: &mut WriterOutput<'_>) {
        self.stages.iter_mut().for_each(|stage| stage.completed(item, items, out));
    }
}

/// Whether an item is written although the item around it is refused: system messages are left out, but calls, results
/// and reasoning within them are kept.
fn outlives(head: &ItemHead<'_>, around: Reason) -> bool {
    match head.kind {
        ItemKind::Reasoning | ItemKind::ToolCall(_) | ItemKind::ToolResult(_) => around == Reason::Foreign,
        ItemKind::Message | ItemKind::Notice(_) => false,
    }
}

/// The frame of the assistant that a top-level item of the assistant can join. A frame cannot be joined once items were
/// moved out of it, because these items are between the frame and the new item. A frame without content is not written.
fn joinable(head: &ItemHead<'_>, items: &GatheredItems) -> Option<FrameNumber> {
    let root = items.root().filter(|_| head.within.is_none() && items.apart().next().is_none())?;
    let root = Some(root).filter(|root| root.says_anything())?;
    let with = root.head();
    let is_same = [with.author, head.author] == [Author::Assistant; 2] && with.agent == head.agent;
    is_same.then(|| root.frame().1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Raw;

    /// Holds clock events back until the next release.
    #[derive(Debug, Default)]
    struct HeldClock(Vec<Event<'static>>);

    impl LogStage for HeldClock {
        fn holds(&mut self, event: &Event<'_>) -> bool {
            let is_clock = matches!(event, Event::Clock(_));
            if is_clock {
                self.0.push(event.clone().into_owned());
            }
            is_clock
        }

        fn release(&mut self) -> Option<Vec<Event<'static>>> {
            (!self.0.is_empty()).then(|| std::mem::take(&mut self.0))
        }
    }

    #[test]
    fn released_events_pass_only_the_stages_after_their_own() {
        let own: [NewStage; 2] = [stage::<HeldClock>, stage::<HeldClock>];
        let mut stages = LogStages::new(&own, &Options::default());
        let (first, second) = (OF_EVERY_LOG.len(), OF_EVERY_LOG.len() + 1);
        assert!(stages.hold(0, &Event::Clock(Raw::new("1"))));
        for stage in [first, second] {
            let (next, events) = stages.release(0).expect("one stage holds the event");
            assert_eq!((next, events.len()), (stage + 1, 1));
            assert_eq!(stages.hold(next, &events[0]), stage == first);
        }
        assert!(stages.release(0).is_none());
    }
}
