//! The file that a log becomes: its frames and what stands between them, what is known of the session, and what frames
//! that must be built share: ids, times, and calls without a name.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::hash::BuildHasherDefault;

use super::LogRules;
use super::fill::{ClassOf, fill};
use super::gather::GatheredItem;
use super::values::NativeValue;
use crate::dialects::Options;
use crate::error::{Code, Problem, Window};
use crate::framing::Framing;
use crate::json::{JsonBuffer, Raw, Str, is_rfc3339};
use crate::ledger::{Identity, Leftover, LeftoverBody, Reason};
use crate::model::{Author, Field, ItemHead, ItemId, ItemKind, Of, Session};
use crate::pipe::Target;
use crate::tape::{Kind, Val};
use crate::wire::fingerprint;

/// The frames of a log being written.
#[derive(Debug)]
pub struct LogFile {
    rules: &'static LogRules,
    end: End,
    /// Frames that had to be built.
    built: usize,
    /// Frames that were given back.
    restored: usize,
    /// The source may bring frames of ours.
    from_record: bool,
    no_final_newline: bool,
    facts: SessionFacts,
    /// How often the record named another agent than the one whose frames it kept: someone changed one of the two.
    another_agent: usize,
    chain: Chain,
    last_time: Option<Raw<'static>>,
    /// Ids made up for calls that came without one and wait for their result.
    nameless_calls: VecDeque<String>,
    /// A head or tail that is given back, to be cut.
    cut: JsonBuffer,
}

/// What the head of a file says of the session.
#[derive(Debug)]
pub struct SessionHead {
    /// Its id.
    pub id: Raw<'static>,
    /// When it began.
    pub start: Raw<'static>,
    /// The working directory.
    pub cwd: Raw<'static>,
}

/// What a frame is called, and where and when it stands.
#[derive(Debug)]
pub struct FrameHead {
    /// Its id.
    pub id: Str<'static>,
    /// The frame it hangs on.
    pub parent: Option<Str<'static>>,
    /// Its time.
    pub time: Raw<'static>,
}

/// What the output ends with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Nothing,
    /// A frame.
    Frame,
    /// A piece of a frame that goes on.
    Piece,
    /// The head of a document, up to its list.
    Head,
    /// The end of such a document.
    Tail,
}

/// What is known of the session.
#[derive(Debug, Default)]
struct SessionFacts {
    /// The latest of each, as a JSON value.
    known: BTreeMap<Field, String>,
    /// What stands in no frame yet.
    pending: Vec<PendingFact>,
}

/// A fact of the session that stands in no frame yet.
#[derive(Debug)]
struct PendingFact {
    field: Field,
    /// How long its text is.
    bytes: usize,
    /// The next built frame will say it.
    in_next_frame: bool,
}

/// How frames hang together.
#[derive(Debug, Default)]
struct Chain {
    /// The id of the last frame built, by agent: a subagent's frames do not stand in the way of the others.
    last: HashMap<u64, Str<'static>, BuildHasherDefault<Identity>>,
    /// Hashes of the ids of all frames built, eight bytes each: a parent must be one of them, or nobody finds it.
    built: HashSet<u64, BuildHasherDefault<Identity>>,
}

impl LogFile {
    /// No frames yet.
    pub(super) fn new(rules: &'static LogRules, options: &Options) -> Self {
        let mut facts = SessionFacts::default();
        if let Some(name) = &options.source_name {
            facts.known.insert(Field::SessionId, format!("\"{}\"", Str::plain(name).as_escaped()));
        }
        Self {
            rules,
            end: End::Nothing,
            built: 0,
            restored: 0,
            from_record: options.source == Some("record"),
            no_final_newline: false,
            facts,
            another_agent: 0,
            chain: Chain::default(),
            last_time: None,
            nameless_calls: VecDeque::new(),
            cut: JsonBuffer::default(),
        }
    }

    /// Whether a frame has been written.
    pub fn has_frames(&self) -> bool {
        self.built + self.restored > 0
    }

    /// Writes a frame that was built.
    pub fn write(&mut self, value: &NativeValue<'_>, out: &mut Target<'_>) {
        self.built += 1;
        self.separate(out);
        out.json.frame("");
        value.write(&mut out.json);
    }

    /// What is known of the session, for a frame that says it.
    pub fn say(&mut self, field: Field) -> Option<Raw<'static>> {
        let value = self.known(field).filter(|value| self.rules.takes(field, value))?;
        self.facts.pending.retain(|fact| !(fact.in_next_frame && fact.field == field));
        Some(value)
    }

    /// What is known of the session, without saying it.
    pub fn known(&self, field: Field) -> Option<Raw<'static>> {
        self.facts.known.get(&field).cloned().map(Raw::owned)
    }

    /// What the head of a file says of the session. What is not known, or not as such a file has it, is made up.
    pub fn session_head(&mut self, item: GatheredItem<'_>, out: &mut Target<'_>) -> SessionHead {
        let id = self.say(Field::SessionId).unwrap_or_else(|| {
            out.ledger.note("made up the session id");
            Raw::owned(format!("\"{}\"", self.made_up_id(ItemId(0))))
        });
        let start = self.say(Field::SessionStart).unwrap_or_else(|| self.time_of(item, out));
        let cwd = self.say(Field::SessionCwd).unwrap_or_else(|| {
            out.ledger.note("made up the working directory");
            Raw::new("\"/\"")
        });
        SessionHead { id, start, cwd }
    }

    /// The model that said an item: its own, or the session's.
    pub fn model_of<'g>(&mut self, item: GatheredItem<'g>, out: &mut Target<'_>) -> NativeValue<'g> {
        if let Some(model) = &item.head().model {
            return model.into();
        }
        let known = self.say(Field::SessionModel).unwrap_or_else(|| {
            out.ledger.note("model of an answer unknown");
            Raw::new("\"unknown\"")
        });
        known.into()
    }

    /// The id of an item: its own, or one made up.
    pub fn id_of(&self, item: GatheredItem<'_>) -> Str<'static> {
        let made_up = || Str::from_plain(&self.made_up_id(item.head().id));
        item.head().native_id.clone().unwrap_or_else(made_up)
    }

    /// What the frame of an item is called, and what it hangs on. The next one hangs on it.
    pub fn frame_of(&mut self, item: GatheredItem<'_>, out: &mut Target<'_>) -> FrameHead {
        let (id, parent) = (self.id_of(item), self.parent_of(item));
        let frame = FrameHead { id, parent, time: self.time_of(item, out) };
        self.chain.built.insert(fingerprint(frame.id.as_escaped().as_bytes()));
        self.chain.last.insert(agent_of(item), frame.id.clone());
        frame
    }

    /// The same for an item that becomes several frames, each hanging on the one before. The last has the item's id: what
    /// names the item as its parent hangs on all of them. The others have ids made of the numbers given.
    pub fn frames_of(
        &mut self,
        item: GatheredItem<'_>,
        others: impl Iterator<Item = ItemId>,
        out: &mut Target<'_>,
    ) -> Vec<FrameHead> {
        let mut last = self.frame_of(item, out);
        let mut frames = Vec::new();
        for other in others {
            let id = Str::from_plain(&self.made_up_id(other));
            let parent = last.parent.replace(id.clone());
            frames.push(FrameHead { id, parent, time: last.time.clone() });
        }
        frames.push(last);
        frames
    }

    /// A stable id in the form of a UUID, from the session and a number.
    pub fn made_up_id(&self, ItemId(number): ItemId) -> String {
        let session = self.facts.known.get(&Field::SessionId).map_or("", |id| id.trim_matches('"'));
        let seed = session.bytes().fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        format!(
            "{:08x}-{:04x}-4{:03x}-8{:03x}-{number:012x}",
            seed >> 32,
            seed >> 16 & 0xffff,
            seed & 0xfff,
            seed >> 12 & 0xfff
        )
    }

    /// Whether a frame with that id has been built: nothing may hang on one that is not there.
    fn has_built(&self, id: &Str<'_>) -> bool {
        self.chain.built.contains(&fingerprint(id.as_escaped().as_bytes()))
    }

    /// The id of the frame that an item's frame hangs on: its parent's, if that has one, else the one before it.
    fn parent_of(&self, item: GatheredItem<'_>) -> Option<Str<'static>> {
        let own = item.head().parent.as_ref().filter(|parent| self.has_built(parent)).cloned();
        let last = || self.chain.last.get(&agent_of(item)).cloned();
        own.or_else(last)
    }

    /// Gives up what a frame that hangs on others does not say of an item that begins: a parent that has no frame, and the
    /// model of any but the assistant. An item within another has no frame of its own.
    pub(super) fn lose_of_frame(
        &self,
        head: &ItemHead<'_>,
        around: Option<GatheredItem<'_>>,
        out: &mut Target<'_>,
    ) {
        if let Some(around) = around {
            // Messages within one are not known: their content is that of the frame.
            if head.kind == ItemKind::Message && around.head().author != head.author {
                out.lose(Field::ItemAuthor, Reason::Narrowed);
            }
            return;
        }
        if let Some(parent) = head.parent.as_ref().filter(|parent| !self.has_built(parent)) {
            out.lose_str(Field::ItemParent, parent, Reason::NoSlot);
        }
        if head.author != Author::Assistant {
            out.lose_some(Field::ItemModel, head.model.as_ref(), Reason::NoSlot);
        }
    }

    /// An item is about to be written: what has no time of its own has that one.
    pub(super) fn begin(&mut self, item: GatheredItem<'_>) {
        let own = item.head().time.as_ref().filter(|time| is_date(time));
        if let Some(time) = own.or_else(|| item.clock().filter(|time| is_date(time))) {
            self.last_time = Some(time.clone());
        }
    }

    /// The time of a frame: the item's own, or the last one known, or when the session began.
    pub fn time_of(&mut self, item: GatheredItem<'_>, out: &mut Target<'_>) -> Raw<'static> {
        self.begin(item);
        let start = || self.known(Field::SessionStart).filter(is_date);
        self.last_time.clone().or_else(start).unwrap_or_else(|| {
            // Agents do not find, or drop, what has no time.
            out.ledger.note("made up the time of a line");
            Raw::new(EPOCH)
        })
    }

    /// The id of a call, or of the call that a result answers. What has none is paired in order.
    pub fn call_id_of<'g>(&mut self, item: GatheredItem<'g>, out: &mut Target<'_>) -> Str<'g> {
        if let Some(id) = item.call_id() {
            return id.reborrow();
        }
        let ItemId(number) = item.head().id;
        let made_up = format!("call_{number}");
        let id = if item.of() == Of::Call {
            out.ledger.note("made up the id of a call");
            self.nameless_calls.push_back(made_up.clone());
            made_up
        } else {
            out.ledger.note("result without an id taken for that of the first open call");
            self.nameless_calls.pop_front().unwrap_or(made_up)
        };
        Str::from_plain(&id)
    }

    /// Learns about the session.
    pub(super) fn learn(&mut self, session: &Session<'_>, out: &mut Target<'_>) {
        #[rustfmt::skip]
        let Session {
            id, parent, parent_call, cwd, cli_version, model, provider, branch, commit, repository, title, start,
            agent, permission_mode, approval_policy, sandbox_policy,
        } = session;
        let texts = [
            (Field::SessionId, id),
            (Field::SessionParent, parent),
            (Field::SessionParentCall, parent_call),
            (Field::SessionCwd, cwd),
            (Field::SessionVersion, cli_version),
            (Field::SessionModel, model),
            (Field::SessionProvider, provider),
            (Field::SessionBranch, branch),
            (Field::SessionCommit, commit),
            (Field::SessionRepository, repository),
            (Field::SessionTitle, title),
            (Field::SessionAgent, agent),
            (Field::PermissionMode, permission_mode),
        ];
        for (field, text) in texts {
            let Some(text) = text else { continue };
            self.another_agent += usize::from(field == Field::SessionAgent && !text.is(self.rules.dialect));
            self.learn_fact(field, text, &Raw::owned(format!("\"{}\"", text.as_escaped())), out);
        }
        for (field, json) in [
            (Field::SessionStart, start),
            (Field::ApprovalPolicy, approval_policy),
            (Field::SandboxPolicy, sandbox_policy),
        ] {
            if let Some(json) = json {
                // The leaf is found by its text, with or without quotes.
                let text = Str::escaped(json.as_str().trim_matches('"'));
                self.learn_fact(field, &text, json, out);
            }
        }
    }

    fn learn_fact(&mut self, field: Field, text: &Str<'_>, json: &Raw<'_>, out: &mut Target<'_>) {
        let in_head = !self.has_frames() && self.rules.session_head.contains(&field);
        let in_next_frame = in_head || self.rules.session.contains(&field);
        let bytes = text.as_escaped().len();
        let pending = &mut self.facts.pending;
        if in_next_frame && self.rules.takes(field, json) {
            // What it said before, and no frame has said, is lost.
            let earlier = |fact: &PendingFact| fact.field == field && fact.in_next_frame;
            if let Some(at) = pending.iter().position(earlier) {
                let PendingFact { bytes, .. } = pending.swap_remove(at);
                out.ledger.lose_late(field, Reason::Merged, 1, bytes as u64);
            }
            pending.push(PendingFact { field, bytes, in_next_frame: true });
        } else if self.from_record {
            // Frames that were kept say it; only frames that must be built do not.
            pending.push(PendingFact { field, bytes, in_next_frame: false });
        } else {
            // Line after line repeats it.
            out.ledger.cannot_say(field, Reason::NoSlot);
            out.lose_str(field, text, Reason::NoSlot);
        }
        self.facts.known.insert(field, json.as_str().to_owned());
    }

    /// Writes a kept frame with its holes filled; a hole nothing fits is a problem of the input.
    pub(super) fn restore(
        &mut self,
        kept: Val<'_>,
        (before, after): (&str, &str),
        native: &NativeValue<'_>,
        class_of: ClassOf,
        said: &mut Vec<usize>,
        out: &mut Target<'_>,
    ) {
        // It says what was known of the session when it was written.
        self.facts.pending.clear();
        self.restored += 1;
        let part = self.part_of_document(kept, before);
        if part == End::Frame {
            self.separate(out);
        }
        out.json.bytes(before.as_bytes());
        let missing = if part == End::Frame {
            fill(kept, native, class_of, said, &mut out.json)
        } else {
            self.cut.clear();
            let missing = fill(kept, native, class_of, said, &mut self.cut.hold());
            self.restore_cut(part, out);
            missing
        };
        out.json.bytes(after.as_bytes());
        for place in missing {
            let place = out.ledger.place(None, Some(place));
            let (code, detail, window) = (Code::UnfilledHole, String::new(), Window::default());
            out.ledger.problem(Problem { code, place, detail, window });
        }
    }

    /// Which part of a document with a list a kept frame is: an element of the list is a frame like any other.
    fn part_of_document(&self, kept: Val<'_>, before: &str) -> End {
        let Framing::Elements(path) = self.rules.framing else { return End::Frame };
        let list = || path.iter().try_fold(kept, |val, name| val.get(name));
        if before.starts_with(']') {
            End::Tail
        } else if self.end == End::Nothing && list().is_some_and(|list| list.kind() == Kind::Array) {
            End::Head
        } else {
            End::Frame
        }
    }

    /// Writes a head without the brackets that close it, or a tail without those that open it: the framer added them.
    fn restore_cut(&mut self, part: End, out: &mut Target<'_>) {
        let Framing::Elements(path) = self.rules.framing else { return };
        let text = self.cut.bytes();
        if part == End::Head {
            let end = text.len().saturating_sub(path.len() + 1);
            out.json.bytes(&text[..end]);
        } else {
            let opened: usize = path.iter().rev().skip(1).map(|name| name.len() + 4).sum();
            let rest = text.get(1 + opened..).unwrap_or_default();
            if rest.trim_ascii_start().first() == Some(&b'"') {
                out.json.bytes(b",");
            }
            out.json.bytes(rest);
        }
        self.end = part;
    }

    /// Gives back what was no document of the source; anything else that is left has no place in these frames, nor has
    /// what was damaged in another dialect.
    pub(super) fn leftover(&mut self, leftover: Leftover<'_>, out: &mut Target<'_>) {
        match leftover.body {
            LeftoverBody::Unparsed { bytes, more, .. }
                if leftover.owner == self.rules.dialect || leftover.owner == "record" =>
            {
                self.separate(out);
                out.json.bytes(bytes);
                if more {
                    self.end = End::Piece;
                }
                leftover.mark_kept(out.ledger);
            }
            LeftoverBody::NoFinalNewline => self.no_final_newline = true,
            LeftoverBody::Unparsed { .. } => leftover.lose(out.ledger, Reason::Invalid),
            LeftoverBody::Kept { .. } | LeftoverBody::Frame(_) => leftover.lose(out.ledger, Reason::NoSlot),
        }
    }

    /// Ends the file as its framing wants it, unless the source did not.
    pub(super) fn finish(&mut self, out: &mut Target<'_>) {
        if std::mem::take(&mut self.another_agent) > 0 && self.built == 0 && self.restored > 0 {
            out.ledger.lose_late(Field::SessionAgent, Reason::Invalid, 1, 0);
        }
        if self.built > 0 || self.restored == 0 {
            for PendingFact { field, bytes, in_next_frame: _ } in self.facts.pending.drain(..) {
                out.ledger.lose_late(field, Reason::NoSlot, 1, bytes as u64);
            }
        }
        match (self.rules.framing, self.end) {
            (Framing::Lines, End::Frame) if !self.no_final_newline => _ = out.json.frame("\n"),
            (Framing::Elements(path), End::Head | End::Frame) if self.restored == 0 => {
                out.json.frame("]");
                out.json.frame(&"}".repeat(path.len()));
            }
            _ => {}
        }
    }

    /// Writes the head of a document that holds the frames in a list: an object that ends with that list, still open.
    pub fn write_head(&mut self, head: &NativeValue<'_>, out: &mut Target<'_>) {
        self.cut.clear();
        head.write(&mut self.cut.hold());
        self.built += 1;
        self.restore_cut(End::Head, out);
    }

    /// Nothing before the first frame, nothing inside a frame that came in pieces.
    fn separate(&mut self, out: &mut Target<'_>) {
        let separator = match self.rules.framing {
            Framing::Lines => "\n",
            Framing::Elements(_) => ",",
            Framing::Sse | Framing::Whole | Framing::Documents => "",
        };
        if std::mem::replace(&mut self.end, End::Frame) == End::Frame {
            out.json.frame(separator);
        }
    }
}

/// Whose chain an item belongs to.
fn agent_of(item: GatheredItem<'_>) -> u64 {
    item.head().agent.as_ref().map_or(0, |agent| fingerprint(agent.as_escaped().as_bytes()))
}

/// Whether a time is one that agents read.
pub fn is_date(time: &Raw<'_>) -> bool {
    is_rfc3339(time.as_str().trim_matches('"').as_bytes())
}

/// Whether a text is a UUID.
pub fn is_uuid(id: &str) -> bool {
    id.len() == 36
        && id.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

const EPOCH: &str = "\"1970-01-01T00:00:00.000Z\"";
