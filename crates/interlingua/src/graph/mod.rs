//! Sessions that belong together, as one: agents write what their subagents do, and what was forked, to files of its own.
//!
//! ```text
//! records -> Kinship -> links -> Joiner -> one record, subagents within the calls that started them
//!                                               Splitter -> the records again
//! ```
//!
//! A joined session stands in the `children` of its call: an entry `session-joined` that has the rest of its record, then its
//! entries as they were. What has no such place follows as a record of its own in the same file, and an entry at the end of
//! the first record names it. Nothing else changes, so that splitting gives every record, and so every source file, back.

mod join;
mod kinship;
mod split;

pub use join::{Joiner, NestedSession, following_entry};
pub use kinship::{CallMentions, Kinship, KinshipReader, RecordSize};
pub use split::{SplitPart, Splitter};

use std::collections::BTreeMap;

use crate::dialects::ours::record;
use crate::framing::{Frame, FrameKind, Framer};
use crate::tape::{Limits, Tape, TapeBuf, Val};

/// The `event-type` of the entry that begins a joined session.
pub const JOINED: &str = "session-joined";

/// How a session came from another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// A call in that one started it.
    Subagent,
    /// It began with a copy of that one.
    Fork,
}

impl Relation {
    /// The word in records.
    pub const fn word(self) -> &'static str {
        match self {
            Relation::Subagent => "subagent",
            Relation::Fork => "fork",
        }
    }
}

/// Where a session belongs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// The number of the session it came from.
    pub parent: usize,
    /// How it came from that.
    pub relation: Relation,
    /// The call that started it, as far as the facts tell.
    pub call: Option<String>,
    /// Its name in the parent: the id of the agent, or of the session.
    pub name: String,
}

/// Finds out which sessions came from which others.
pub fn links(sessions: &[Kinship]) -> Vec<Option<Link>> {
    let mut main = BTreeMap::new();
    for (number, facts) in sessions.iter().enumerate() {
        if let Some(id) = facts.session.as_ref().filter(|_| facts.agent.is_none() && !facts.stands_alone) {
            main.entry(id.as_str()).or_insert(number);
        }
    }
    let mut links: Vec<Option<Link>> = sessions.iter().map(|facts| link(facts, sessions, &main)).collect();
    for number in 0..links.len() {
        // Files that name each other as parents have none.
        let mut at = number;
        for _ in 0..links.len() {
            let Some(link) = &links[at] else { break };
            at = link.parent;
            if at == number {
                links[number] = None;
                break;
            }
        }
    }
    links
}

fn link(facts: &Kinship, sessions: &[Kinship], main: &BTreeMap<&str, usize>) -> Option<Link> {
    let own = facts.session.as_deref().filter(|_| !facts.stands_alone)?;
    if let Some(agent) = &facts.agent {
        // A file in which only a subagent speaks is called like the session of its parent.
        let parent = *main.get(own)?;
        let call = facts.parent_call.as_ref().or_else(|| sessions[parent].calls.get(agent));
        return Some(Link { parent, relation: Relation::Subagent, call: call.cloned(), name: agent.clone() });
    }
    let parent = *main.get(facts.parent.as_deref()?)?;
    let call = facts.parent_call.as_ref().or_else(|| sessions[parent].calls.get(own)).cloned();
    let is_subagent = call.is_some() || facts.asked_by_agent;
    let relation = if is_subagent { Relation::Subagent } else { Relation::Fork };
    Some(Link { parent, relation, call, name: own.to_owned() })
}

/// Cuts records into frames and reads those.
struct RecordFrames {
    framer: Box<dyn Framer>,
    tape: TapeBuf,
}

impl Default for RecordFrames {
    fn default() -> Self {
        let limits = limits();
        Self { framer: record::FRAMING.framer(limits.bytes), tape: TapeBuf::default() }
    }
}

/// What a record may hold in one frame.
fn limits() -> Limits {
    Limits::default().around_others()
}

impl RecordFrames {
    /// Takes the next bytes of the record and shows its frames, parsed if they can be.
    fn push(&mut self, bytes: &[u8], mut each: impl FnMut(Frame<'_>, Option<&Tape<'_>>)) {
        let Self { framer, tape } = self;
        framer.push(bytes, &mut |frame| each(frame, parsed(frame, tape).as_ref()));
    }

    /// Shows the last frames.
    fn finish(&mut self, mut each: impl FnMut(Frame<'_>, Option<&Tape<'_>>)) {
        let Self { framer, tape } = self;
        framer.finish(&mut |frame| each(frame, parsed(frame, tape).as_ref()));
    }
}

fn parsed<'t>(frame: Frame<'t>, tape: &'t mut TapeBuf) -> Option<Tape<'t>> {
    if matches!(frame.kind, FrameKind::Piece { .. }) {
        return None;
    }
    tape.parse(std::str::from_utf8(frame.bytes).ok()?, &limits()).ok()
}

/// Whether an entry begins a joined session.
pub(crate) fn begins_session(entry: Val<'_>) -> bool {
    entry.get("event-type").is_some_and(|kind| kind.is(JOINED)) && joined(entry).is_some()
}

/// What such an entry says of the session.
fn joined(entry: Val<'_>) -> Option<Val<'_>> {
    let content = entry.get("data")?.get("content")?;
    content.get("relation").is_some().then_some(content)
}

/// The children of an entry.
fn children(entry: Val<'_>) -> impl Iterator<Item = Val<'_>> {
    entry.get("children").into_iter().flat_map(|children| children.elements())
}
