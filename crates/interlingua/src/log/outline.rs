//! The outline of a session: the items that still count, and the calls without a result.
//!
//! A log keeps rewound turns, abandoned branches and rewritten messages. Only the end of the source shows which items
//! those are, and a session is never held in memory. So the source is read twice. The first pass ([`OutlineReader`])
//! gathers ids, parents, calls and results: less than a hundred bytes per item and no text. The second pass converts
//! with the [`Outline`] in its [`Options`]. Both passes number items alike.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::hash::BuildHasherDefault;
use std::sync::{Arc, Mutex, PoisonError};

use super::pairs::{Answered, CallPairs, has_no_id, link_key};
use crate::dialects::{Dialect, Lineage, Options, Role};
use crate::error::Error;
use crate::json::Str;
use crate::ledger::{Identity, Leftover, text_key};
use crate::model::{Author, Event, ItemHead, ItemId, ItemKind, Origin, Part, Rewind};
use crate::pipe::{Pipe, Writer, WriterOutput};

/// The items of a source that belong to its history.
#[derive(Debug, Default)]
pub struct Outline {
    /// Items of rewound turns, abandoned branches and replaced versions.
    left_out: OutlineItems,
    /// Messages that were rewritten later and contain other items: only their text is replaced.
    replaced: OutlineItems,
    /// Calls without a result.
    unanswered: OutlineItems,
    /// Results that precede their call, with the call.
    early: HashMap<u64, ItemId, BuildHasherDefault<Identity>>,
    /// Items of another agent that belong to the session's main conversation.
    own_thread: OutlineItems,
    /// The number of cycles among parents.
    circles: usize,
}

type OutlineItems = HashSet<u64, BuildHasherDefault<Identity>>;

impl Outline {
    /// The number of items the source abandoned.
    pub fn left_out(&self) -> usize {
        self.left_out.len()
    }

    /// The number of cycles among the parents of items.
    pub fn circles(&self) -> usize {
        self.circles
    }

    /// Whether the source abandoned the item.
    pub fn is_left_out(&self, ItemId(item): ItemId) -> bool {
        !self.left_out.is_empty() && self.left_out.contains(&spread(item))
    }

    /// Whether a later message replaces the text of the item.
    pub(super) fn is_replaced(&self, ItemId(item): ItemId) -> bool {
        !self.replaced.is_empty() && self.replaced.contains(&spread(item))
    }

    /// Whether the item belongs to the session's main conversation, although it names another agent.
    pub(super) fn is_own_thread(&self, ItemId(item): ItemId) -> bool {
        !self.own_thread.is_empty() && self.own_thread.contains(&spread(item))
    }

    pub(super) fn is_unanswered(&self, ItemId(item): ItemId) -> bool {
        self.unanswered.contains(&spread(item))
    }

    /// The call of an early result.
    pub(super) fn call_after(&self, ItemId(result): ItemId) -> Option<ItemId> {
        self.early.get(&spread(result)).copied()
    }
}

/// Item numbers are consecutive; the tables use them as hashes, so their bits are spread.
const fn spread(item: u64) -> u64 {
    item.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// The first pass over a source.
///
/// ```
/// use std::sync::Arc;
/// use interlingua::dialects::{Dialect, Options, Role};
/// use interlingua::log::OutlineReader;
///
/// let log = br#"{"type":"user","uuid":"a","parentUuid":null,"message":{"role":"user","content":"hi"}}"#;
/// let claude = Dialect::named("claude-code").expect("registered");
/// let mut first = OutlineReader::new((claude, Role::Log), &Options::default())?;
/// first.push(log);
/// let options = Options::default().with_outline(Arc::new(first.finish()));
/// # Ok::<(), interlingua::error::Error>(())
/// ```
#[derive(Debug)]
pub struct OutlineReader {
    pipe: Pipe,
    outline: Arc<Mutex<Outline>>,
}

impl OutlineReader {
    /// Starts reading a source of the given dialect and role.
    pub fn new(from: (&Dialect, Role), options: &Options) -> Result<Self, Error> {
        let outline = Arc::default();
        let writer = OutlineWriter { finished: Arc::clone(&outline), ..OutlineWriter::new(from.0.lineage) };
        let options = &Options { source: Some(from.0.name), ..options.clone() };
        Ok(Self { pipe: Pipe::with_writer(from, Box::new(writer), options)?, outline })
    }

    /// Reads the next bytes of the source.
    pub fn push(&mut self, bytes: &[u8]) {
        self.pipe.push(bytes, &mut Vec::new());
    }

    /// Ends the source and returns its outline.
    pub fn finish(self) -> Outline {
        self.pipe.finish(&mut Vec::new());
        std::mem::take(&mut *self.outline.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Gathers the outline from events.
#[derive(Debug)]
pub(crate) struct OutlineWriter {
    lineage: Lineage,
    session: SessionOutline,
    has_session: bool,
    /// The number of compactions with a summary.
    compactions: u64,
    outline: Outline,
    finished: Arc<Mutex<Outline>>,
}

impl Writer for OutlineWriter {
    fn kept_lines_follow(&mut self, owner: &str) {
        self.kept_lines_of(owner);
    }

    fn event(&mut self, event: &Event<'_>, _: &mut WriterOutput<'_>) {
        self.observe(event);
    }

    fn leftover(&mut self, leftover: Leftover<'_>, out: &mut WriterOutput<'_>) {
        leftover.mark_kept(out.ledger);
    }

    fn finish(&mut self, _: &mut WriterOutput<'_>) {
        let outline = self.settle();
        *self.finished.lock().unwrap_or_else(PoisonError::into_inner) = outline;
    }
}

impl OutlineWriter {
    pub(crate) fn new(lineage: Lineage) -> Self {
        Self {
            lineage,
            session: SessionOutline::default(),
            has_session: false,
            compactions: 0,
            outline: Outline::default(),
            finished: Arc::default(),
        }
    }

    /// The next events come from kept lines of the given dialect: a record has the parents of that agent's log.
    pub(crate) fn kept_lines_of(&mut self, owner: &str) {
        if let Some(dialect) = Dialect::named(owner) {
            self.lineage = dialect.lineage;
        }
    }

    /// Adds an event to the outline.
    pub(crate) fn observe(&mut self, event: &Event<'_>) {
        match event {
            // The event of the first session may follow its first items.
            Event::SessionStarted(_) if std::mem::replace(&mut self.has_session, true) => self.end_session(),
            Event::ItemStarted(head) => self.session.started(head),
            Event::ItemDelta(delta) => {
                if let Part::Text(text) = &delta.value
                    && !text.is("")
                {
                    self.session.has_text(delta.item);
                }
            }
            Event::ItemCompleted(tail) => _ = self.session.open.remove(&spread(tail.id.0)),
            Event::Rewound(rewind) => self.session.rewound(rewind),
            Event::Compacted(compaction) if compaction.summary.is_some() => {
                self.compactions += 1;
                let item = summary_item(self.compactions);
                self.session.add(&ItemHead::new(item, ItemKind::Message, Author::System));
            }
            _ => {}
        }
    }

    /// Ends the input and returns the outline.
    pub(crate) fn settle(&mut self) -> Outline {
        self.end_session();
        std::mem::take(&mut self.outline)
    }

    fn end_session(&mut self) {
        std::mem::take(&mut self.session).settle(self.lineage, &mut self.outline);
    }
}

/// The items of one session.
#[derive(Debug, Default)]
struct SessionOutline {
    /// Top-level items and items within a notice: each is one step of the history.
    steps: Vec<OutlineStep>,
    by_id: HashMap<u128, StepsOfId>,
    /// Agents and the calls that started them. Almost all steps have the same.
    agents: OutlineNumbers,
    /// Steps whose parent has not been read yet.
    unresolved: Vec<(u32, u128)>,
    /// Items within steps, with their step.
    inner: Vec<(u64, u32)>,
    links: Vec<OutlineLink>,
    /// The step of each open item.
    open: HashMap<u64, u32, BuildHasherDefault<Identity>>,
}

/// The steps with one id.
#[derive(Clone, Copy, Debug)]
struct StepsOfId {
    /// The last step.
    last: u32,
    /// The first step that still counts: a rewritten item keeps its place. `None` is [`NO_STEP`], so that an id takes 32 bytes.
    place: u32,
}

/// No step: a session has fewer.
const NO_STEP: u32 = u32::MAX;

/// Numbers for keys, in the order of their first use. The key 0 has the number 0.
#[derive(Debug, Default)]
struct OutlineNumbers {
    by_key: HashMap<u128, u32>,
    keys: Vec<u128>,
}

impl OutlineNumbers {
    fn number(&mut self, key: u128) -> u32 {
        if key == 0 {
            return 0;
        }
        *self.by_key.entry(key).or_insert_with(|| {
            self.keys.push(key);
            self.keys.len() as u32
        })
    }

    fn key(&self, number: u32) -> u128 {
        let at = (number as usize).checked_sub(1);
        at.and_then(|at| self.keys.get(at)).copied().unwrap_or_default()
    }
}

/// A step takes 32 bytes, because a session may have millions.
#[derive(Clone, Copy, Debug)]
struct OutlineStep {
    item: u64,
    parent: Parent,
    /// The number of the agent.
    agent: u32,
    /// The number of the call that started the step's agent.
    parent_call: u32,
    /// The number of the first counted step with the same id; the step's own number if there is none.
    place: u32,
    marks: u8,
}

const _: () = assert!(size_of::<OutlineStep>() == 32 && size_of::<(u128, StepsOfId)>() == 32);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Parent {
    /// The item names no parent.
    Nothing,
    /// The item names a parent that is not in the input, or the item has no id itself.
    Unknown,
    Step(u32),
}

impl OutlineStep {
    const NOTICE: u8 = 1;
    const PROMPT: u8 = 2;
    const ASSISTANT: u8 = 4;
    const TEXT: u8 = 8;
    const INNER: u8 = 16;
    const NAMED: u8 = 32;
    const GONE: u8 = 64;
    const REPLACED: u8 = 128;

    const fn is(self, mark: u8) -> bool {
        self.marks & mark != 0
    }
}

/// A call, a result, or a prompt between calls and results.
#[derive(Debug)]
struct OutlineLink {
    item: u64,
    step: u32,
    kind: LinkKind,
}

#[derive(Debug)]
enum LinkKind {
    Prompt,
    Call(u128),
    Result(u128),
}

impl SessionOutline {
    fn started(&mut self, head: &ItemHead<'_>) {
        let item = head.id.0;
        let around = head.within.and_then(|around| self.open.get(&spread(around.0)).copied());
        let around = around.filter(|&step| !self.steps[step as usize].is(OutlineStep::NOTICE));
        let step = if let Some(step) = around {
            self.steps[step as usize].marks |= OutlineStep::INNER;
            self.inner.push((item, step));
            step
        } else {
            self.add(head)
        };
        self.open.insert(spread(item), step);
        let kind = match &head.kind {
            ItemKind::ToolCall(call) => LinkKind::Call(link_key(call.call_id.as_ref(), Some(&call.name))),
            ItemKind::ToolResult(result) => {
                LinkKind::Result(link_key(result.call_id.as_ref(), result.name.as_ref()))
            }
            ItemKind::Message if around.is_none() && head.author == Author::User => LinkKind::Prompt,
            ItemKind::Message | ItemKind::Reasoning | ItemKind::Notice(_) => return,
        };
        self.links.push(OutlineLink { item, step, kind });
    }

    fn add(&mut self, head: &ItemHead<'_>) -> u32 {
        let number = u32::try_from(self.steps.len()).unwrap_or(u32::MAX - 1);
        let own = head.native_id.as_ref().map(key);
        let parent = match &head.parent {
            Some(parent) => {
                if let Some(steps) = self.by_id.get(&key(parent)) {
                    Parent::Step(steps.last)
                } else {
                    self.unresolved.push((number, key(parent)));
                    Parent::Unknown
                }
            }
            // A summary replaces compacted items and starts no branch.
            None if own.is_none() || head.origin == Some(Origin::Summary) => Parent::Unknown,
            None => Parent::Nothing,
        };
        let mut marks = if own.is_some() { OutlineStep::NAMED } else { 0 };
        match &head.kind {
            ItemKind::Notice(_) => marks |= OutlineStep::NOTICE,
            ItemKind::Message if head.author == Author::User => {
                let typed = matches!(head.origin, None | Some(Origin::Own));
                marks |= if typed { OutlineStep::PROMPT } else { 0 };
            }
            _ if head.author == Author::Assistant => marks |= OutlineStep::ASSISTANT,
            _ => {}
        }
        if let Some(replaced) = head.replaces.as_ref().and_then(|id| self.by_id.get(&key(id))) {
            self.steps[replaced.last as usize].marks |= OutlineStep::REPLACED;
        }
        let place = own.map_or(number, |own| {
            let steps = self.by_id.entry(own).or_insert(StepsOfId { last: number, place: number });
            steps.last = number;
            if steps.place == NO_STEP {
                steps.place = number;
            }
            steps.place
        });
        let agent = head.agent.as_ref().or(head.parent_call.as_ref()).map_or(0, key);
        let call = head.parent_call.as_ref().map_or(0, key);
        self.steps.push(OutlineStep {
            item: head.id.0,
            parent,
            agent: self.agents.number(agent),
            parent_call: self.agents.number(call),
            place,
            marks,
        });
        number
    }

    fn has_text(&mut self, item: ItemId) {
        if let Some(&step) = self.open.get(&spread(item.0)) {
            let step = &mut self.steps[step as usize];
            // The text of a result within the step does not count as the step's text.
            if step.item == item.0 {
                step.marks |= OutlineStep::TEXT;
            }
        }
    }

    /// Marks the steps that a rewind takes back: the step at the first rewound place and all later steps.
    fn rewound(&mut self, rewind: &Rewind<'_>) {
        let Rewind { to, turns } = rewind;
        let from = match (to, turns) {
            (Some(to), _) => match self.by_id.get(&key(to)) {
                Some(steps) if steps.place != NO_STEP => steps.place + 1,
                Some(_) | None => return,
            },
            (None, None) => 0,
            (None, Some(turns)) => {
                let prompts = self.steps.iter().rev();
                let prompts =
                    prompts.filter(|step| step.is(OutlineStep::PROMPT) && !step.is(OutlineStep::GONE));
                let Some(turns) = usize::try_from(*turns).ok().filter(|turns| *turns > 0) else { return };
                let Some(first) = prompts.take(turns).last() else { return };
                first.place
            }
        };
        for step in self.steps.iter_mut().filter(|step| step.place >= from) {
            step.marks |= OutlineStep::GONE;
        }
        for steps in self.by_id.values_mut().filter(|steps| steps.place >= from) {
            steps.place = NO_STEP;
        }
    }

    fn settle(mut self, lineage: Lineage, outline: &mut Outline) {
        for (step, id) in std::mem::take(&mut self.unresolved) {
            if let Some(parent) = self.by_id.get(&id) {
                self.steps[step as usize].parent = Parent::Step(parent.last);
            }
        }
        // The rest needs no ids.
        drop(std::mem::take(&mut self.by_id));
        outline.circles += self.circles();
        let first = self.steps.iter().find(|step| !step.is(OutlineStep::NOTICE));
        let main = first.map_or(0, |step| step.agent);
        let active = match lineage {
            Lineage::Written | Lineage::Rewritten | Lineage::OneThread => None,
            Lineage::TreeToLastLine => self.branch(main, |step| step.is(OutlineStep::NAMED)),
            Lineage::TreeToLastMessage => {
                self.branch(main, |step| step.is(OutlineStep::NAMED) && !step.is(OutlineStep::NOTICE))
            }
        };
        let mut left_out: Vec<bool> = self.steps.iter().map(|step| step.is(OutlineStep::GONE)).collect();
        for (at, active) in active.into_iter().flatten().enumerate() {
            let step = self.steps[at];
            left_out[at] |=
                !active && step.agent == main && step.is(OutlineStep::NAMED) && !step.is(OutlineStep::NOTICE);
        }
        self.leave_out_subagents(main, &mut left_out);
        self.find_own_thread(main, lineage, outline);
        for (at, step) in self.steps.iter().enumerate() {
            if left_out[at] || step.is(OutlineStep::REPLACED) && !step.is(OutlineStep::INNER) {
                outline.left_out.insert(spread(step.item));
            } else if step.is(OutlineStep::REPLACED) {
                outline.replaced.insert(spread(step.item));
            }
        }
        for (item, step) in &self.inner {
            if left_out[*step as usize] {
                outline.left_out.insert(spread(*item));
            }
        }
        self.links.retain(|link| !left_out[link.step as usize]);
        pair(&self.links, outline);
    }

    /// A log that contains only a subagent's conversation is treated as a session of its own.
    fn find_own_thread(&self, main: u32, lineage: Lineage, outline: &mut Outline) {
        let is_alone =
            main != 0 && self.steps.iter().all(|step| step.agent != 0 || step.is(OutlineStep::NOTICE));
        let is_own = |step: &OutlineStep| {
            step.agent != 0 && (lineage == Lineage::OneThread || is_alone && step.agent == main)
        };
        for step in self.steps.iter().filter(|step| is_own(step)) {
            outline.own_thread.insert(spread(step.item));
        }
        for (item, _) in self.inner.iter().filter(|(_, step)| is_own(&self.steps[*step as usize])) {
            outline.own_thread.insert(spread(*item));
        }
    }

    fn circles(&self) -> usize {
        let mut walks = vec![0_u32; self.steps.len()];
        let mut circles = 0;
        for (start, walk) in (0..self.steps.len()).zip(1..) {
            let mut at = start;
            while walks[at] == 0 {
                walks[at] = walk;
                let Parent::Step(parent) = self.steps[at].parent else { break };
                at = parent as usize;
                circles += usize::from(walks[at] == walk);
            }
        }
        circles
    }

    /// The steps on the branch that ends with the last matching step; `None` if the parents form a cycle.
    fn branch(&self, main: u32, ends: impl Fn(OutlineStep) -> bool) -> Option<Vec<bool>> {
        let steps = &self.steps;
        let mut active = vec![false; steps.len()];
        let is_main = |at: usize| steps[at].agent == main;
        let before = |at: usize| (0..at).rev().find(|&earlier| is_main(earlier));
        // A log without parents is not a tree: its lines follow each other.
        let is_tree = steps.iter().any(|step| matches!(step.parent, Parent::Step(_)));
        let mut next = (0..steps.len()).rev().find(|&at| is_main(at) && ends(steps[at]));
        while let Some(at) = next {
            if std::mem::replace(&mut active[at], true) {
                return None;
            }
            next = match steps[at].parent {
                Parent::Step(parent) if is_main(parent as usize) => Some(parent as usize),
                // A line that is not a message and names no parent marks a compaction or a change of settings.
                Parent::Nothing if is_tree && !steps[at].is(OutlineStep::NOTICE) => None,
                Parent::Step(_) | Parent::Nothing | Parent::Unknown => before(at),
            };
        }
        self.keep_parallel(&mut active);
        Some(active)
    }

    /// Results of parallel calls have their calls as parents, so only one result is on the branch. A result belongs to
    /// the branch if its parent and its call do; so does a line that continues an assistant's message.
    fn keep_parallel(&self, active: &mut [bool]) {
        for _ in 0..2 {
            for (at, step) in self.steps.iter().enumerate() {
                if let Parent::Step(parent) = step.parent
                    && step.is(OutlineStep::ASSISTANT)
                    && self.steps[parent as usize].is(OutlineStep::ASSISTANT)
                    && active[parent as usize]
                {
                    active[at] = true;
                }
            }
            let mut called = BTreeSet::new();
            let mut answered = BTreeSet::new();
            for OutlineLink { step, kind, .. } in &self.links {
                match kind {
                    LinkKind::Call(id) if active[*step as usize] => _ = called.insert(*id),
                    LinkKind::Result(id) if active[*step as usize] => _ = answered.insert(*id),
                    LinkKind::Prompt | LinkKind::Call(_) | LinkKind::Result(_) => {}
                }
            }
            for OutlineLink { step, kind, .. } in &self.links {
                let at = *step as usize;
                if let LinkKind::Result(id) = kind
                    && !active[at]
                    && let Parent::Step(parent) = self.steps[at].parent
                    && active[parent as usize]
                    && (!self.steps[at].is(OutlineStep::TEXT) || !self.steps[at].is(OutlineStep::INNER))
                    && called.contains(id)
                    && answered.insert(*id)
                {
                    active[at] = true;
                }
            }
        }
    }

    /// Leaves out the steps of subagents whose call is left out.
    fn leave_out_subagents(&self, main: u32, left_out: &mut [bool]) {
        let (mut gone, mut here) = (BTreeSet::new(), BTreeSet::new());
        for OutlineLink { step, kind, .. } in &self.links {
            if let LinkKind::Call(id) = kind {
                let calls = if left_out[*step as usize] { &mut gone } else { &mut here };
                calls.insert(*id);
            }
        }
        for (at, step) in self.steps.iter().enumerate() {
            let call = self.agents.key(step.parent_call);
            left_out[at] |= step.agent != main && gone.contains(&call) && !here.contains(&call);
        }
    }
}

/// Finds the calls without a result and the results that precede their call.
fn pair(links: &[OutlineLink], outline: &mut Outline) {
    let mut pairs = CallPairs::default();
    let mut early: BTreeMap<u128, u64> = BTreeMap::new();
    for OutlineLink { item, kind, .. } in links {
        match kind {
            LinkKind::Prompt => pairs.prompt(),
            LinkKind::Call(id) => pairs.call(*id, ItemId(*item)),
            LinkKind::Result(id) => {
                // A result without an id may belong to any call.
                if pairs.result(*id) == Answered::Nothing && !has_no_id(*id) {
                    pairs.has_answer(*id);
                    early.insert(*id, *item);
                }
            }
        }
    }
    // An early result answers its call only if no later result does.
    let unanswered: OutlineItems = pairs.open().map(|ItemId(item)| spread(item)).collect();
    for OutlineLink { item, kind, .. } in links {
        if let LinkKind::Call(id) = kind
            && unanswered.contains(&spread(*item))
            && let Some(result) = early.remove(id)
        {
            outline.early.insert(spread(result), ItemId(*item));
        } else if unanswered.contains(&spread(*item)) {
            outline.unanswered.insert(spread(*item));
        }
    }
}

/// The number of the message for the summary of a compaction. Readers count items from one.
pub(super) const fn summary_item(compaction: u64) -> ItemId {
    ItemId(1 << 46 | compaction)
}

/// An id as a number, independent of its spelling.
pub(crate) fn key(id: &Str<'_>) -> u128 {
    // A key without an upper half means that the id is missing.
    text_key(&id.decode()).max(1 << 64)
}
