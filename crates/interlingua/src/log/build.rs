//! What frames that must be built share: ids, what each frame hangs on, times, calls and their results, and what is made
//! up because the source did not tell.

use std::collections::{HashMap, HashSet, VecDeque};
use std::hash::BuildHasherDefault;

use super::file::{LogFile, is_date};
use super::gather::GatheredItem;
use super::outline::key;
use super::values::NativeValue;
use crate::json::{Raw, Str};
use crate::ledger::{Identity, Reason, TextDigest};
use crate::model::{Author, Field, ItemHead, ItemId, ToolCall};
use crate::pipe::{Remembered, Target};

/// What is known of the frames that have been built.
#[derive(Debug, Default)]
pub(super) struct BuiltFrames {
    /// The id of the last one, by agent: a subagent's frames do not stand in the way of the others.
    last: HashMap<u128, Str<'static>, BuildHasherDefault<Identity>>,
    /// Keys of all their ids, sixteen bytes each: no frame may have the id of another.
    ids: HashSet<u128, BuildHasherDefault<Identity>>,
    /// The session that the last made-up id names, and its digest.
    seed: (String, u128),
    last_time: Option<Raw<'static>>,
    /// Calls that wait for their result, by the id they have here.
    calls: Remembered<ToolCall<'static>>,
    /// Ids made up for calls that came without one and wait for their result.
    nameless_calls: VecDeque<Str<'static>>,
}

impl BuiltFrames {
    /// A session begins: its first frame hangs on none.
    pub(super) fn begin_session(&mut self) {
        self.last.clear();
    }

    /// The frame that the next one of that agent hangs on.
    fn before(&self, head: &ItemHead<'_>) -> Option<&Str<'static>> {
        self.last.get(&head.agent.as_ref().map_or(0, key))
    }

    /// An item is about to be written: what has no time of its own has that one.
    pub(super) fn begin(&mut self, item: GatheredItem<'_>) {
        let own = item.head().time.as_ref().filter(|time| is_date(time));
        if let Some(time) = own.or_else(|| item.clock().filter(|time| is_date(time))) {
            self.last_time = Some(time.clone());
        }
    }

    /// Gives up what a frame that hangs on others does not say of an item that begins: a parent that is not the frame
    /// before, and the model of any but the assistant. An item within another has no frame of its own.
    pub(super) fn lose_of_head(
        &self,
        head: &ItemHead<'_>,
        around: Option<GatheredItem<'_>>,
        out: &mut Target<'_>,
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

/// What frames are built with.
pub struct LogBuilder<'b, 'o> {
    pub(super) file: &'b mut LogFile,
    pub(super) frames: &'b mut BuiltFrames,
    pub(super) out: &'b mut Target<'o>,
}

impl std::fmt::Debug for LogBuilder<'_, '_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LogBuilder").field("frames", &self.frames).finish_non_exhaustive()
    }
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

impl LogBuilder<'_, '_> {
    /// Whether a frame has been written.
    pub fn has_frames(&self) -> bool {
        self.file.has_frames()
    }

    /// Whether the head of a document has been built to which frames can be added.
    pub fn has_head(&self) -> bool {
        self.file.has_head()
    }

    /// Writes a frame.
    pub fn write<'g>(&mut self, frame: impl Into<NativeValue<'g>>) {
        self.file.write(&frame.into(), self.out);
    }

    /// Writes the head of a document that holds the frames in a list: an object that ends with that list, still open.
    pub fn write_head<'g>(&mut self, head: impl Into<NativeValue<'g>>) {
        self.file.write_head(&head.into(), self.out);
    }

    /// Tells the report of something that was emulated or made up.
    pub fn note(&mut self, what: &'static str) {
        self.out.ledger.note(what);
    }

    /// Gives up what an item has said and its frame cannot say after all.
    pub fn lose(&mut self, field: Field, reason: Reason) {
        self.out.ledger.lose_late(field, reason, 1, 0);
    }

    /// What is known of the session, for a frame that says it.
    pub fn say(&mut self, field: Field) -> Option<Raw<'static>> {
        self.file.say(field)
    }

    /// The same for a frame that must say it: what is not known is made up, and that is noted.
    pub fn say_or(&mut self, field: Field, made_up: &'static str, note: &'static str) -> Raw<'static> {
        self.say(field).unwrap_or_else(|| {
            self.note(note);
            Raw::new(made_up)
        })
    }

    /// What is known of the session, without saying it.
    pub fn known(&self, field: Field) -> Option<Raw<'static>> {
        self.file.known(field)
    }

    /// What the head of a file says of the session. What is not known, or not as such a file has it, is made up.
    pub fn session_head(&mut self, item: GatheredItem<'_>) -> SessionHead {
        let id = self.session_id();
        let start = self.say(Field::SessionStart).unwrap_or_else(|| self.time_of(item));
        let cwd = self.say_or(Field::SessionCwd, "\"/\"", "made up the working directory");
        SessionHead { id, start, cwd }
    }

    /// The id of the session, in a form that the program takes.
    pub fn session_id(&mut self) -> Raw<'static> {
        let (id, is_made_up) = self.file.say_session_id();
        if is_made_up {
            self.note("made up the session id");
        }
        id
    }

    /// The model that said an item: its own, or the session's.
    pub fn model_of<'g>(&mut self, item: GatheredItem<'g>) -> NativeValue<'g> {
        match &item.head().model {
            Some(model) => model.into(),
            None => self.say_or(Field::SessionModel, "\"unknown\"", "model of an answer unknown").into(),
        }
    }

    /// The id of an item: its own, or one made up.
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

    /// What the frame of an item is called and hangs on: the one before it, whatever its source calls its parent. The
    /// next frame hangs on it.
    pub fn frame_of(&mut self, item: GatheredItem<'_>) -> FrameHead {
        let own = self.id_of(item);
        let (id, time) = (self.new_id(own, item.head().id), self.time_of(item));
        let agent = item.head().agent.as_ref().map_or(0, key);
        let parent = self.frames.last.insert(agent, id.clone());
        FrameHead { id, parent, time }
    }

    /// That id, or one made up of the number if a frame has it.
    fn new_id(&mut self, mut id: Str<'static>, number: ItemId) -> Str<'static> {
        let mut again = 0;
        while !self.frames.ids.insert(key(&id)) {
            again += 1;
            id = Str::from_plain(&self.another_made_up_id(number, again));
        }
        id
    }

    /// The same for an item that becomes several frames, each hanging on the one before. The last has the item's id: what
    /// names the item as its parent hangs on all of them. The others have ids made of the numbers given.
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

    /// The time of a frame: the item's own, or the last one known, or when the session began.
    pub fn time_of(&mut self, item: GatheredItem<'_>) -> Raw<'static> {
        self.frames.begin(item);
        let start = || self.file.known(Field::SessionStart).filter(is_date);
        self.frames.last_time.clone().or_else(start).unwrap_or_else(|| {
            // Agents do not find, or drop, what has no time.
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

    /// The id of the call that a result answers, and that call, if it has been written. A result without an id answers the
    /// first call without one.
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
