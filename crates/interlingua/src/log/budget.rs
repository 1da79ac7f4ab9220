//! The budget of a session that goes on elsewhere: old results of tools are cut, the oldest first, until the session fits.
//!
//! The source is read twice, as for an [`Outline`]: the first pass ([`BudgetReader`]) counts the text of each item, the second
//! pass replaces the cut results by a marked text.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::outline::Outline;
use crate::dialects::{Dialect, Options, Role};
use crate::error::Error;
use crate::json::Str;
use crate::ledger::{Leftover, Reason};
use crate::model::{Args, Delta, Event, ItemHead, ItemId, ItemKind, ItemKindTag, Part};
use crate::pipe::{EventReader, Writer, WriterOutput};

/// The results of a source that are cut.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(not(feature = "_exhaustive"), non_exhaustive)]
pub struct ResultCuts {
    /// The numbers of the items.
    items: BTreeSet<u64>,
    /// The tokens of the session before the cuts, estimated.
    pub before: u64,
    /// The tokens of the session after the cuts, estimated.
    pub after: u64,
}

impl ResultCuts {
    /// The number of results that are cut.
    pub fn count(&self) -> usize {
        self.items.len()
    }

    /// Whether a result is cut.
    pub fn is_cut(&self, item: ItemId) -> bool {
        self.items.contains(&item.0)
    }
}

/// Bytes of a token, on average.
const BYTES_PER_TOKEN: u64 = 4;
/// The shortest result that is worth a cut, in bytes: a shorter one is no longer than the text in its place.
const SHORTEST_CUT: u64 = 200;
/// The size of the text in the place of a cut result.
const MARK_BYTES: u64 = 80;

/// The first pass over a source with a budget.
#[derive(Debug)]
pub struct BudgetReader {
    reader: EventReader,
    counted: CountedTexts,
    budget: u64,
}

#[derive(Debug, Default)]
struct CountedTexts {
    outline: Option<Arc<Outline>>,
    /// The bytes of all texts.
    all: u64,
    /// The items that count, and the place of a result in the list of results.
    open: BTreeMap<ItemId, Option<usize>>,
    /// The results with the bytes of their texts, the oldest first.
    results: Vec<(ItemId, u64)>,
}

impl BudgetReader {
    /// Starts reading a source of the given dialect and role. Items that the outline leaves out do not count.
    pub fn new(
        from: (&Dialect, Role),
        options: &Options,
        (outline, budget): (Option<Arc<Outline>>, u64),
    ) -> Result<Self, Error> {
        let counted = CountedTexts { outline, ..CountedTexts::default() };
        Ok(Self { reader: EventReader::new(from, options)?, counted, budget })
    }

    /// Reads the next bytes of the source.
    pub fn push(&mut self, bytes: &[u8]) {
        let counted = &mut self.counted;
        self.reader.push(bytes, |event| counted.event(event));
    }

    /// Ends the source and returns the results to cut.
    pub fn finish(self) -> ResultCuts {
        let Self { reader, mut counted, budget } = self;
        reader.finish(|event| counted.event(event));
        let most = budget.saturating_mul(BYTES_PER_TOKEN);
        let mut items = BTreeSet::new();
        let mut left = counted.all;
        for (item, bytes) in &counted.results {
            if left <= most {
                break;
            }
            if *bytes >= SHORTEST_CUT {
                items.insert(item.0);
                left = left + MARK_BYTES - bytes;
            }
        }
        ResultCuts { items, before: counted.all / BYTES_PER_TOKEN, after: left / BYTES_PER_TOKEN }
    }
}

impl CountedTexts {
    fn event(&mut self, event: &Event<'_>) {
        match event {
            Event::ItemStarted(head) => {
                let is_left_out = self.outline.as_ref().is_some_and(|outline| outline.is_left_out(head.id));
                if is_left_out || head.agent.is_some() || matches!(head.kind, ItemKind::Notice(_)) {
                    return;
                }
                let is_result = matches!(head.kind, ItemKind::ToolResult(_));
                self.open.insert(head.id, is_result.then_some(self.results.len()));
                if is_result {
                    self.results.push((head.id, 0));
                }
            }
            Event::ItemDelta(delta) => {
                let Some(result) = self.open.get(&delta.item) else { return };
                let bytes = text_bytes(&delta.value);
                self.all += bytes;
                if let Some((_, counted)) = result.and_then(|at| self.results.get_mut(at)) {
                    *counted += bytes;
                }
            }
            Event::ItemCompleted(tail) => _ = self.open.remove(&tail.id),
            // A summary replaces the texts before it only for the agent, so the estimate is too high, never too low.
            _ => {}
        }
    }
}

fn text_bytes(part: &Part<'_>) -> u64 {
    let bytes = match part {
        Part::Text(text) | Part::Summary(text) | Part::Refusal(text) | Part::Args(Args::Text(text)) => {
            text.as_escaped().len()
        }
        Part::Args(Args::Json(json)) | Part::Json(json) => json.as_str().len(),
        // Pictures are counted by the provider in a way of its own; other parts have no text.
        _ => 0,
    };
    bytes as u64
}

/// Passes events to the writer of a log, with a marked text in the place of each cut result.
pub(crate) struct CutResults {
    writer: Box<dyn Writer>,
    cuts: Arc<ResultCuts>,
    /// The cut result that is open, and whether the mark is written.
    open: Option<(ItemId, bool)>,
}

impl CutResults {
    /// The writer itself, or this stage before it if results are to be cut.
    pub(crate) fn before(writer: Box<dyn Writer>, options: &Options) -> Box<dyn Writer> {
        match &options.cuts {
            Some(cuts) if cuts.count() > 0 => Box::new(Self { writer, cuts: Arc::clone(cuts), open: None }),
            _ => writer,
        }
    }
}

/// The text in the place of a cut result.
pub const CUT_MARK: &str = "[this old result was cut to save space; run the tool again if it is needed]";

impl Writer for CutResults {
    fn takes(&mut self, head: &ItemHead<'_>) -> Result<(), Reason> {
        self.writer.takes(head)
    }

    fn kept_lines_follow(&mut self, owner: &str) {
        self.writer.kept_lines_follow(owner);
    }

    fn kept_with_next(&mut self, owner: &str, out: &mut WriterOutput<'_>) {
        self.writer.kept_with_next(owner, out);
    }

    fn event(&mut self, event: &Event<'_>, out: &mut WriterOutput<'_>) {
        match event {
            Event::ItemStarted(head) if self.cuts.is_cut(head.id) => {
                out.ledger.note("old results were cut to the budget, each marked in its place");
                self.open = Some((head.id, false));
                self.writer.event(event, out);
            }
            Event::ItemDelta(delta) if self.open.is_some_and(|(item, _)| item == delta.item) => {
                out.lose_part(ItemKindTag::Result, &delta.value, Reason::Narrowed);
                if let Some((_, is_marked @ false)) = &mut self.open {
                    *is_marked = true;
                    let value = Part::Text(Str::plain(CUT_MARK));
                    let delta = Delta { value, ..delta.clone() };
                    self.writer.event(&Event::ItemDelta(delta), &mut out.of_no_frame());
                }
            }
            Event::ItemCompleted(tail) => {
                if self.open.is_some_and(|(item, _)| item == tail.id) {
                    self.open = None;
                }
                self.writer.event(event, out);
            }
            _ => self.writer.event(event, out),
        }
    }

    fn leftover(&mut self, leftover: Leftover<'_>, out: &mut WriterOutput<'_>) {
        self.writer.leftover(leftover, out);
    }

    fn finish(&mut self, out: &mut WriterOutput<'_>) {
        self.writer.finish(out);
    }
}
