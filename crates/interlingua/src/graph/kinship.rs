//! The relations of a record to other records.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use super::{RecordFrames, begins_session, children};
use crate::dialects::ours::record;
use crate::framing::{Frame, FrameKind};
use crate::json::Str;
use crate::ledger::text_key;
use crate::model::Usage;
use crate::tape::{Tape, Val};

/// The relations of a record to other records. Names are spelled as in the record, escapes included.
#[derive(Clone, Debug, Default)]
#[cfg_attr(not(feature = "_exhaustive"), non_exhaustive)]
pub struct Kinship {
    /// The session's id.
    pub session: Option<String>,
    /// The id of the parent session.
    pub parent: Option<String>,
    /// The call that started the session.
    pub parent_call: Option<String>,
    /// The subagent, if it is the author of all entries.
    pub agent: Option<String>,
    /// Subagents named in the record, and the calls that started them.
    pub calls: BTreeMap<String, String>,
    /// The usage of subagents' responses that the record itself reports.
    pub responses: BTreeMap<String, Usage>,
    /// Keys of words in the agent's own data about its subagents: the ids of messages that the subagents' files
    /// contain, too.
    words: HashSet<u128>,
    /// The prompt comes from an agent, not from a person.
    pub asked_by_agent: bool,
    /// The size of the record.
    pub size: RecordSize,
    /// The record cannot be joined: a part of it is unreadable, or it holds several records. Records like these stay
    /// unchanged.
    pub stands_alone: bool,
}

/// The size of a record.
#[derive(Clone, Copy, Debug, Default)]
#[cfg_attr(not(feature = "_exhaustive"), non_exhaustive)]
pub struct RecordSize {
    /// The size in bytes.
    pub bytes: u64,
    /// The number of leaves.
    pub leaves: u64,
    /// The nesting depth of the deepest entry.
    pub depth: usize,
}

impl Kinship {
    /// Whether the record mentions a subagent's message with this id.
    pub(super) fn tells_of(&self, message: &str) -> bool {
        self.words.contains(&text_key(message))
    }
}

impl RecordSize {
    /// Whether a call may hold the record: readers of the joined record read the call as one frame, and may find more
    /// sessions beside it.
    pub const fn fits_in_a_call(&self) -> bool {
        self.bytes <= 8 << 20 && self.leaves <= 60_000 && self.depth <= 80
    }
}

/// Reads the kinship of a record.
#[derive(Default)]
pub struct KinshipReader {
    frames: RecordFrames,
    heard: HeardKinship,
}

#[derive(Default)]
struct HeardKinship {
    facts: Kinship,
    /// The author of the entries so far; `None` before the first entry.
    speaker: Option<SoleSpeaker>,
    /// A user message has been read.
    asked: bool,
    /// A record has begun, and a record has ended.
    begun: bool,
    ended: bool,
}

enum SoleSpeaker {
    Subagent(String),
    /// The main agent, or several agents.
    Others,
}

impl KinshipReader {
    /// Reads the next bytes of the record.
    pub fn push(&mut self, bytes: &[u8]) {
        let Self { frames, heard } = self;
        heard.facts.size.bytes += bytes.len() as u64;
        frames.push(bytes, |frame, tape| heard.frame(frame, tape));
    }

    /// The kinship of the record.
    pub fn finish(mut self) -> Kinship {
        let Self { frames, heard } = &mut self;
        frames.finish(|frame, tape| heard.frame(frame, tape));
        let mut facts = self.heard.facts;
        // A record that was cut off has no end.
        facts.stands_alone |= !self.heard.ended;
        if let Some(SoleSpeaker::Subagent(agent)) = self.heard.speaker {
            facts.agent = Some(agent);
        }
        facts
    }
}

impl HeardKinship {
    fn frame(&mut self, frame: Frame<'_>, tape: Option<&Tape<'_>>) {
        let Some(tape) = tape else {
            self.facts.stands_alone = true;
            return;
        };
        let again = match frame.kind {
            FrameKind::Head => std::mem::replace(&mut self.begun, true),
            FrameKind::Tail => std::mem::replace(&mut self.ended, true),
            FrameKind::Element { .. } => false,
            // An uncut document: a record without entries, or not a record.
            _ => true,
        };
        self.facts.stands_alone |= again;
        let root = tape.root();
        self.facts.size.leaves += u64::from(root.leaves());
        if let FrameKind::Element { .. } = frame.kind {
            self.facts.size.depth = self.facts.size.depth.max(depth(root.text()));
            self.entry(root);
        } else if let Some(session) = root.get("session") {
            self.session(session);
        }
    }

    fn session(&mut self, session: Val<'_>) {
        set(&mut self.facts.session, session.get("session-id"));
        let own = session.get("vendor-ext").and_then(|ext| ext.get("data"));
        self.lineage(own);
    }

    fn lineage(&mut self, told: Option<Val<'_>>) {
        let Some(told) = told else { return };
        set(&mut self.facts.parent, told.get("parent"));
        set(&mut self.facts.parent_call, told.get("parent-call"));
    }

    fn entry(&mut self, entry: Val<'_>) {
        let [kind, agent, call, copied, origin] =
            entry.get_all(["type", "agent", "parent-call", "copied-from", "origin"]);
        let kind = kind.and_then(|kind| kind.str()).unwrap_or_default();
        if entry.get("event-type").is_some_and(|kind| kind.is("session-updated")) {
            self.lineage(entry.get("data"));
        }
        if let (Some(agent), Some(call)) = (text(agent), text(call)) {
            self.facts.calls.entry(agent).or_insert(call);
        }
        if let Some((id, usage)) = record::response_of(entry).filter(|_| agent.is_some()) {
            let told = self.facts.responses.entry(id).or_default();
            *told = told.and(&usage);
        }
        if let Some(kept) = entry.get("vendor-ext").filter(|_| agent.is_some()) {
            let ids = words(kept.text()).filter(|word| word.len() >= SHORTEST_ID);
            self.facts.words.extend(ids.map(text_key));
        }
        if kind.as_escaped() != "system-event" {
            let own = copied.is_none();
            if kind.as_escaped() == "user" && own && !std::mem::replace(&mut self.asked, true) {
                self.facts.asked_by_agent = origin.is_some_and(|origin| origin.is("agent"));
            }
            let agent = text(agent);
            match (&mut self.speaker, agent) {
                (speaker @ None, Some(agent)) => *speaker = Some(SoleSpeaker::Subagent(agent)),
                (Some(SoleSpeaker::Subagent(known)), Some(agent)) if *known == agent => {}
                (speaker, _) => *speaker = Some(SoleSpeaker::Others),
            }
        }
        // Blocks of a message have no agent of their own, but the items of a subagent are within its call.
        for child in children(entry) {
            if begins_session(child) {
                break;
            }
            for inner in children(child) {
                if begins_session(inner) {
                    break;
                }
                if inner.get("agent").is_some() {
                    self.entry(inner);
                }
            }
        }
    }
}

fn text(value: Option<Val<'_>>) -> Option<String> {
    value.and_then(|value| value.str()).map(|text| text.as_escaped().to_owned())
}

fn set(place: &mut Option<String>, value: Option<Val<'_>>) {
    if let Some(text) = text(value) {
        place.get_or_insert(text);
    }
}

/// The minimum length of a message id.
const SHORTEST_ID: usize = 16;

/// The words of a text that could be ids.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '-' && c != '_')
}

/// The maximum number of open brackets.
fn depth(json: &str) -> usize {
    let (mut open, mut deepest, mut in_string, mut escaped) = (0_usize, 0, false, false);
    for byte in json.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'[' | b'{' if !in_string => {
                open += 1;
                deepest = deepest.max(open);
            }
            b']' | b'}' if !in_string => open = open.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

/// Finds the calls whose results name subagents: not every agent records the call that started a subagent.
pub struct CallMentions {
    frames: RecordFrames,
    wanted: BTreeSet<String>,
    found: BTreeMap<String, String>,
}

impl CallMentions {
    /// Searches for these names.
    pub fn new(wanted: impl IntoIterator<Item = String>) -> Self {
        Self { frames: RecordFrames::default(), wanted: wanted.into_iter().collect(), found: BTreeMap::new() }
    }

    /// Reads the next bytes of the record.
    pub fn push(&mut self, bytes: &[u8]) {
        let Self { frames, wanted, found } = self;
        frames.push(bytes, |frame, tape| mentions(frame, tape, wanted, found));
    }

    /// The calls found, by name.
    pub fn finish(mut self) -> BTreeMap<String, String> {
        let Self { frames, wanted, found } = &mut self;
        frames.finish(|frame, tape| mentions(frame, tape, wanted, found));
        self.found
    }
}

fn mentions(
    frame: Frame<'_>,
    tape: Option<&Tape<'_>>,
    wanted: &mut BTreeSet<String>,
    found: &mut BTreeMap<String, String>,
) {
    let (Some(tape), FrameKind::Element { .. }) = (tape, frame.kind) else { return };
    let entry = tape.root();
    let is_result = |entry: &Val<'_>| entry.get("type").is_some_and(|kind| kind.is("tool-result"));
    let mut results = std::iter::once(entry).chain(children(entry)).filter(is_result);
    // An entry with several results does not show which result is meant.
    let (Some(result), None) = (results.next(), results.next()) else { return };
    let Some(call) = result.get("call-id").and_then(|call| call.str()).map(Str::into_owned) else { return };
    for word in words(tape.text()) {
        if wanted.remove(word) {
            found.insert(word.to_owned(), call.as_escaped().to_owned());
        }
    }
}
