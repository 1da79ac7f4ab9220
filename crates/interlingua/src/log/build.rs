//! Shared state of built frames: ids, parents, times, calls and their results, and values made up because the source
//! lacks them.

use std::collections::{HashMap, HashSet, VecDeque};
use std::hash::BuildHasherDefault;

use super::file::{LogFile, is_date};
use super::gather::GatheredItem;
use super::outline::key;
use super::values::NativeValue;
use crate::json::{Raw, Str};
use crate::ledger::{Identity, Reason, TextDigest};
use crate::model::{Author, Field, ItemHead, ItemId, ToolCall};
use crate::pipe::{Remembered, WriterOutput};

/// The state of the frames built so far.
#[derive(Debug, Default)]
pub(super) struct BuiltFrames {
    /// The id of the last frame of each agent: a subagent's frames form their own chain.
    last: HashMap<u128, Str<'static>, BuildHasherDefault<Identity>>,
    /// Keys of all frame ids, sixteen bytes each: frame ids are unique.
    ids: HashSet<u128, BuildHasherDefault<Identity>>,
    /// The session id that the last made-up id was derived from, and its digest.
    seed: (String, u128),
    last_time: Option<Raw<'static>>,
    /// Calls without a result so far, by their id in this log.
    calls: Remembered<ToolCall<'static>>,
    /// Ids made up for calls that have no id in the source and wait for their result.
    nameless_calls: VecDeque<Str<'static>>,
}

impl BuiltFrames {
    /// Starts a session: its first frame has no parent.
    pub(super) fn begin_session(&mut self) {
        self.last.clear();
    }

    /// The parent of the agent's next frame.
    fn before(&self, head: &ItemHead<'_>) -> Option<&Str<'static>> {
        self.last.get(&head.agent.as_ref().map_or(0, key))
    }

    /// Records the time of an item about to be written; later items without a time get this time.
    pub(super) fn begin(&mut self, item: GatheredItem<'_>) {
        let own = item.head().time.as_ref().filter(|time| is_date(time));
        if let Some(time) = own.or_else(|| item.clock().filter(|time| is_date(time))) {
            self.last_time = Some(time.clone());
        }
    }

    /// Books the fields of an item head that a chained frame cannot hold: a parent other than the previous frame, and
    /// the model of any author but the assistant. An item within another item has no frame of its own.
    pub(super) fn lose_of_head(
        &self,
        head: &ItemHead<'_>,
        around: Option<GatheredItem<'_>>,
        out: &mut WriterOutput<'_>,
    ) {
        if around.is_some() {
            return;
        }
        if let Some(parent) = head.parent.as_ref().filter(|parent| self.before(head) != Some(*parent)) {
            out.lose_str(Field::ItemParent, parent, Reason::NoSlot);
        }
        if head.author != Author::Assistant {
            out.lose_some(Field::ItemModel, head.model.as_ref(), Reason::NoSlot);
        }
    }
}

/// The context for building frames.
pub struct LogBuilder<'b, 'o> {
    pub(super) file: &'b mut LogFile,
    pub(super) frames: &'b mut BuiltFrames,
    pub(super) out: &'b mut WriterOutput<'o>,
}

impl std::fmt::Debug for LogBuilder<'_, '_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LogBuilder").field("frames", &self.frames).finish_non_exhaustive()
    }
}

/// The session fields in the head of a file.
#[derive(Debug)]
#[cfg_attr(not(feature = "_exhaustive"), non_exhaustive)]
pub struct SessionHead {
    /// The session's id.
    pub id: Raw<'static>,
    /// The start time.
    pub start: Raw<'static>,
    /// The working directory.
    pub cwd: Raw<'static>,
}

/// The id, parent and time of a frame.
#[derive(Debug)]
#[cfg_attr(not(feature = "_exhaustive"), non_exhaustive)]
pub struct FrameHead {
    /// The frame's id.
    pub id: Str<'static>,
    /// The id of the parent frame.
    pub parent: Option<Str<'static>>,
    /// The frame's time.
    pub time: Raw<'static>,
}

impl LogBuilder<'_, '_> {
    /// Whether a frame has been written.
    pub fn has_frames(&self) -> bool {
        self.file.has_frames()
    }

    /// Whether the head of a document was built, so that frames can be added.
    pub fn has_head(&self) -> bool {
        self.file.has_head()
    }

    /// Writes a frame.
    pub fn write<'g>(&mut self, frame: impl Into<NativeValue<'g>>) {
        self.file.write(&frame.into(), self.out);
    }

    /// Writes the head of a document that holds the frames in a list: an object that ends with the list, still open.
    pub fn write_head<'g>(&mut self, head: impl Into<NativeValue<'g>>) {
        self.file.write_head(&head.into(), self.out);
    }

    /// Adds a remark about an emulated or made-up value to the report.
    pub fn note(&mut self, what: &'static str) {
        self.out.ledger.note(what);
    }

    /// Books the loss of an item's value that was first accepted but does not fit into the frame.
    pub fn lose(&mut self, field: Field, reason: Reason) {
        self.out.ledger.lose_late(field, reason, 1, 0);
    }

    /// The value of a session fact, for a frame that will contain it.
    pub fn say(&mut self, field: Field) -> Option<Raw<'static>> {
        self.file.say(field)
    }

    /// The value of a session fact for a frame that requires it: an unknown value is made up, with a remark in the
    /// report.
    pub fn say_or(&mut self, field: Field, made_up: &'static str, note: &'static str) -> Raw<'static> {
        self.say(field).unwrap_or_else(|| {
            self.note(note);
            Raw::new(made_up)
        })
    }

    /// The value of a session fact, without marking it as written.
    pub fn known(&self, field: Field) -> Option<Raw<'static>> {
        self.file.known(field)
    }

    /// The session fields for the head of a file. Unknown values, and values the file format does not accept, are made
    /// up.
    pub fn session_head(&mut self, item: GatheredItem<'_>) -> SessionHead {
        let id = self.session_id();
        let start = self.say(Field::SessionStart).unwrap_or_else(|| self.time_of(item));
        let cwd = self.say_or(Field::SessionCwd, "\"/\"", "made up the working directory");
        SessionHead { id, start, cwd }
    }

    /// The id of the session, in a form that the program accepts.
    pub fn session_id(&mut self) -> Raw<'static> {
        let (id, is_made_up) = self.file.say_session_id();
        if is_made_up {
            self.note("made up the session id");
        }
        id
    }

    /// The model of an item: its own, or the session's.
    pub fn model_of<'g>(&mut self, item: GatheredItem<'g>) -> NativeValue<'g> {
        match &item.head().model {
            Some(model) => model.into(),
            None => self.say_or(Field::SessionModel, "\"unknown\"", "model of an answer unknown").into(),
        }
    }

    /// The native id of an item, or a made-up id.
    pub fn id_of(&mut self, item: GatheredItem<'_>) -> Str<'static> {
        let made_up = || Str::from_plain(&self.made_up_id(item.head().id));
        item.head().native_id.clone().unwrap_or_else(made_up)
    }

    /// A stable id in the form of a UUID, from the session and a number.
    pub fn made_up_id(&mut self, number: ItemId) -> String {
        self.another_made_up_id(number, 0)
    }

    fn another_made_up_id(&mut self, ItemId(number): ItemId, again: u128) -> String {
        let session = self.file.session();
        let text = session.as_str().trim_matches('"');
        let (known, seed) = &mut self.frames.seed;
        if known != text || *seed == 0 {
            text.clone_into(known);
            *seed = TextDigest::of(text);
        }
        let seed = seed.wrapping_add(again << 64);
        format!(
            "{:08x}-{:04x}-4{:03x}-8{:03x}-{number:012x}",
            seed >> 64 & 0xffff_ffff,
            seed >> 48 & 0xffff,
            seed >> 32 & 0xfff,
            seed & 0xfff
        )
    }

    /// The id, parent and time of the frame of an item. The parent is the previous frame, regardless of the parent in
    /// the source. This frame becomes the parent of the next frame.
    pub fn frame_of(&mut self, item: GatheredItem<'_>) -> FrameHead {
        let own = self.id_of(item);
        let (id, time) = (self.new_id(own, item.head().id), self.time_of(item));
        let agent = item.head().agent.as_ref().map_or(0, key);
        let parent = self.frames.last.insert(agent, id.clone());
        FrameHead { id, parent, time }
    }

    /// The given id, or an id made up from the number if the id is already in use.
    fn new_id(&mut self, mut id: Str<'static>, number: ItemId) -> Str<'static> {
        let mut again = 0;
        while !self.frames.ids.insert(key(&id)) {
            again += 1;
            id = Str::from_plain(&self.another_made_up_id(number, again));
        }
        id
    }

    /// The same for an item that becomes several frames, each with the previous frame as its parent. The last frame
    /// gets the item's id, so that a child of the item follows all of them. The other frames get ids made from the
    /// given numbers.
    pub fn frames_of(
        &mut self,
        item: GatheredItem<'_>,
        others: impl Iterator<Item = ItemId>,
    ) -> Vec<FrameHead> {
        let mut last = self.frame_of(item);
        let mut frames = Vec::new();
        for other in others {
            let made_up = Str::from_plain(&self.made_up_id(other));
            let id = self.new_id(made_up, other);
            let parent = last.parent.replace(id.clone());
            frames.push(FrameHead { id, parent, time: last.time.clone() });
        }
        frames.push(last);
        frames
    }

    /// The time of a frame: the item's own time, the last known time, or the start of the session.
    pub fn time_of(&mut self, item: GatheredItem<'_>) -> Raw<'static> {
        self.frames.begin(item);
        let start = || self.file.known(Field::SessionStart).filter(is_date);
        self.frames.last_time.clone().or_else(start).unwrap_or_else(|| {
            // Agents do not find, or drop, lines without a time.
            self.note("made up the time of a line");
            Raw::new(EPOCH)
        })
    }

    /// The id of a call. The call waits for its result.
    pub fn call_id<'g>(&mut self, item: GatheredItem<'g>, call: &ToolCall<'static>) -> Str<'g> {
        let id = if let Some(id) = item.call_id() {
            self.file.call_id(id)
        } else {
            self.note("made up the id of a call");
            let id = made_up_call_id(item);
            self.frames.nameless_calls.push_back(id.clone());
            id
        };
        if self.frames.calls.insert(id.as_escaped(), call.clone()).is_some() {
            self.note("forgot the call that waited longest: too many wait for their result");
        }
        id
    }

    /// The id of the call that a result answers, and the call, if it has been written. A result without an id answers
    /// the first open call without an id.
    pub fn answered<'g>(&mut self, item: GatheredItem<'g>) -> (Str<'g>, Option<ToolCall<'static>>) {
        let id = if let Some(id) = item.call_id() {
            self.file.call_id(id)
        } else {
            self.note("result without an id taken for that of the first open call");
            let first = self.frames.nameless_calls.pop_front();
            first.unwrap_or_else(|| made_up_call_id(item))
        };
        let call = self.frames.calls.remove(id.as_escaped());
        (id, call)
    }
}

fn made_up_call_id(item: GatheredItem<'_>) -> Str<'static> {
    let ItemId(number) = item.head().id;
    Str::from_plain(&format!("call_{number}"))
}

const EPOCH: &str = "\"1970-01-01T00:00:00.000Z\"";
