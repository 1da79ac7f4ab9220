//! Related sessions in one record: agents write the sessions of their subagents, and forks, to separate files.
//!
//! ```text
//! records -> Kinship -> links -> Joiner -> one record, subagents within the calls that started them
//!                                               Splitter -> the records again
//! ```
//!
//! A joined session is in the `children` of its call: an entry `session-joined` with the rest of its record, followed
//! by its unchanged entries. A session without a call follows as a separate record in the same file, and an entry at
//! the end of the first record names it. All other bytes stay unchanged, so that splitting restores every record, and
//! thereby every source file.

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

/// The relation of a session to its parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(feature = "_exhaustive"), non_exhaustive)]
pub enum Relation {
    /// A call in the parent started the session.
    Subagent,
    /// The session began with a copy of the parent.
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

/// The link of a session to its parent.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(not(feature = "_exhaustive"), non_exhaustive)]
pub struct Link {
    /// The number of the parent session.
    pub parent: usize,
    /// The relation to the parent.
    pub relation: Relation,
    /// The call that started the session, if known.
    pub call: Option<String>,
    /// The session's name in the parent: the id of the agent, or of the session.
    pub name: String,
}

/// Finds the parent of each session.
pub fn links(sessions: &[Kinship]) -> Vec<Option<Link>> {
    let mut main = BTreeMap::new();
    for (number, facts) in sessions.iter().enumerate() {
        if let Some(id) = facts.session.as_ref().filter(|_| facts.agent.is_none() && !facts.stands_alone) {
            main.entry(id.as_str()).or_insert(number);
        }
    }
    let mut links: Vec<Option<Link>> = sessions.iter().map(|facts| link(facts, sessions, &main)).collect();
    for number in 0..links.len() {
        // A cycle of parents is cut.
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
        // A file that contains only a subagent has the session id of its parent.
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

/// Cuts records into frames and parses the frames.
pub(crate) struct RecordFrames {
    framer: Box<dyn Framer>,
    tape: TapeBuf,
}

impl Default for RecordFrames {
    fn default() -> Self {
        let limits = limits();
        Self { framer: record::FRAMING.framer(limits.bytes), tape: TapeBuf::default() }
    }
}

/// The limits of one frame of a record.
fn limits() -> Limits {
    Limits::default().around_others()
}

impl RecordFrames {
    /// Reads the next bytes of the record and shows its frames, parsed if possible.
    pub(crate) fn push(&mut self, bytes: &[u8], mut each: impl FnMut(Frame<'_>, Option<&Tape<'_>>)) {
        let Self { framer, tape } = self;
        framer.push(bytes, &mut |frame| each(frame, parsed(frame, tape).as_ref()));
    }

    /// Shows the last frames.
    pub(crate) fn finish(&mut self, mut each: impl FnMut(Frame<'_>, Option<&Tape<'_>>)) {
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

/// The data of an entry that begins a joined session.
fn joined(entry: Val<'_>) -> Option<Val<'_>> {
    let content = entry.get("data")?.get("content")?;
    content.get("relation").is_some().then_some(content)
}

/// The children of an entry.
fn children(entry: Val<'_>) -> impl Iterator<Item = Val<'_>> {
    entry.get("children").into_iter().flat_map(|children| children.elements())
}
