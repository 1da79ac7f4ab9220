//! Reads frames into events. A new message is emitted whole; of a repeated message only the new pieces are emitted.

use super::super::logged::{
    CountNames, LoggedPart, SaidResponse, parts_of, read_counts, result_head, say_file, say_more, say_part,
    say_response, say_value, start_call,
};
use super::memory::{Memory, Owner, SaidOf};
use super::message::{LoggedMessage, MessagePiece, ToolResults, cwd, origin, response_id};
use crate::error::Code;
use crate::framing::FrameKind;
use crate::json::Str;
use crate::log::{CountedLine, SessionTracker};
use crate::model::{
    Author, Compaction, Event, Field, ItemHead, ItemId, ItemKind, ItemKindTag, ItemTail, Notice, Origin,
    Part, Rewind, Session, Shape, Status, Stop, StopClass, ToolResult, Turn, Usage, Words,
};
use crate::pipe::{Doc, EventSink, Reader};
use crate::tape::{Claim, Kind, Member as _, Val};

#[derive(Default)]
pub(super) struct GeminiReader {
    session: SessionTracker,
    memory: Memory,
    /// The key of each piece of the current message, and whether the piece was emitted before.
    pieces: Vec<(u128, bool)>,
    open: Option<OpenMessage>,
    /// The number of messages that a shorter rewritten history keeps.
    left: Option<usize>,
    /// The last message with usage and without an id.
    counted: CountedLine,
}

/// A model message that a following line may repeat, with the results of its calls.
struct OpenMessage {
    item: ItemId,
    id: String,
    time: String,
    model: String,
    /// The last frame of the message.
    frame: u64,
    /// The number of its next part.
    next: u32,
}

/// The comparison of a message with the content emitted so far.
#[derive(Default)]
struct MessageNews {
    /// Whether a message with the same id was emitted.
    known: bool,
    /// Whether its text differs from the emitted text.
    replaces: bool,
    /// The number of pieces, and the number of new pieces.
    pieces: usize,
    new: usize,
}

impl MessageNews {
    fn says_anything(&self) -> bool {
        self.replaces || self.new > 0 || (self.pieces == 0 && !self.known)
    }
}

impl Reader for GeminiReader {
    fn document(&mut self, doc: Doc<'_>, out: &mut EventSink<'_>) {
        let frame = out.frame_number();
        // An unreadable line may be between two lines of a message.
        if self.open.as_ref().is_some_and(|open| open.frame + 1 != frame) {
            self.close(out);
        }
        let root = doc.root;
        if root.kind() == Kind::Array && matches!(doc.kind, FrameKind::Head | FrameKind::Tail) {
            // A bare list has no members beside its messages.
            root.note(Field::Padding);
            return;
        }
        let [id, kind, role, parts, set, rewind, session_id] =
            root.get_all(["id", "type", "role", "parts", "$set", "$rewindTo", "sessionId"]);
        let is_text = |val: Option<Val<'_>>| val.is_some_and(|val| val.kind() == Kind::String);
        if root.kind() == Kind::Array {
            self.listed(root, root, out);
        } else if let Some(to) = rewind.filter(|to| to.kind() == Kind::String) {
            self.rewind(to, out);
        } else if let Some(set) = set.filter(|set| set.kind() == Kind::Object) {
            self.set(root, set, out);
        } else if is_text(kind) && (is_text(id) || root.get("content").is_some())
            || is_text(role) && parts.is_some()
        {
            self.went_back(out);
            // Messages of the API's form hold the session id themselves.
            let id = session_id.filter(|_| kind.is_none()).note_text(Field::SessionId);
            self.tell(Session { id, ..Session::default() }, out);
            self.message(&LoggedMessage::new(root), None, out);
        } else {
            self.metadata(doc, out);
        }
        if let Some(open) = &mut self.open {
            open.frame = frame;
        }
    }

    fn finish(&mut self, out: &mut EventSink<'_>) {
        self.close(out);
        self.session.end(out);
    }
}

impl GeminiReader {
    /// Completes the open message.
    fn close(&mut self, out: &mut EventSink<'_>) {
        if let Some(open) = self.open.take() {
            out.complete(open.item);
        }
    }

    fn tell(&mut self, told: Session<'_>, out: &mut EventSink<'_>) {
        if !told.is_old_news(self.session.known()) {
            self.close(out);
            self.session.tell(super::DIALECT.name, told, out);
        }
    }

    /// Emits the working directory, if the program reports it to the model in a user message.
    fn tell_cwd(&mut self, first: &Str<'_>, out: &mut EventSink<'_>) {
        let cwd = cwd(first.as_escaped()).map(Str::escaped);
        self.tell(Session { cwd, ..Session::default() }, out);
    }

    /// Reads the head of a file, the members after the list of a document, or an unknown line.
    fn metadata(&mut self, doc: Doc<'_>, out: &mut EventSink<'_>) {
        self.close(out);
        let root = doc.root;
        if root.get("startTime").is_some() && self.session.is_another(root.get("sessionId")) {
            self.session.end(out);
            *self = Self::default();
        }
        // A resumed session writes its head again; the first head holds the start time.
        let again = self.session.known().start.as_ref().and_then(|_| root.get("startTime"));
        let told = facts(root, again.is_none());
        let is_part = matches!(doc.kind, FrameKind::Head | FrameKind::Tail);
        let event_type = ["kind", "type"].into_iter().find_map(|name| root.note_str(name, Field::NoticeType));
        let is_known = told.id.is_some() || is_part || event_type.is_some();
        if !is_known && !doc.report_foreign(super::DIALECT.name, out) {
            out.problem(Code::UnknownShape, None, "expected a message or the head of a session");
        }
        self.tell(told, out);
        if let Some(updated) = root.get("lastUpdated").filter(Val::is_time) {
            self.session.updated(&updated.raw());
        }
        let event_type = event_type.or(is_known.then_some(Str::escaped("session")));
        let mut head = out.head(ItemKind::Notice(Notice { event_type }), Author::System);
        head.time = again.take_time(Field::ItemTime);
        let item = out.start(head);
        out.complete(item);
    }

    /// Reads a `$set` line: session facts, or the whole history.
    fn set(&mut self, root: Val<'_>, set: Val<'_>, out: &mut EventSink<'_>) {
        if let Some(messages) = set.get("messages").filter(|messages| messages.kind() == Kind::Array) {
            self.tell(facts(set, false), out);
            return self.listed(root, messages, out);
        }
        // A line with only the time of writing belongs to the message before it.
        let updated = set.get("lastUpdated").filter(Val::is_time);
        if set.members().all(|(name, _)| name.is("lastUpdated")) {
            if let Some(updated) = updated {
                self.session.updated(&updated.raw());
            }
            return;
        }
        self.close(out);
        self.tell(facts(set, false), out);
        let event_type = Some(Str::escaped("$set"));
        let mut head = out.head(ItemKind::Notice(Notice { event_type }), Author::System);
        head.time = updated.take_time(Field::ItemTime);
        let item = out.start(head);
        if let Some(data) = set.take_raw("memoryScratchpad", Field::NoticeData) {
            out.delta(item, 0, Part::Json(data));
        }
        out.complete(item);
    }

    /// Reads a list of messages: the current history, or a whole session in the API's form. New content goes into a
    /// notice that keeps the line.
    fn listed(&mut self, root: Val<'_>, messages: Val<'_>, out: &mut EventSink<'_>) {
        self.close(out);
        let is_history = root.kind() != Kind::Array;
        for message in messages.elements() {
            let message = LoggedMessage::new(message);
            if let Some(id) = message.root.note_str("sessionId", Field::SessionId) {
                self.tell(Session { id: Some(id), ..Session::default() }, out);
            }
            let Some(first) = message.texts().next() else { continue };
            self.tell_cwd(&first, out);
            if origin(first.as_escaped()) == Some(Origin::Summary) && !self.look(&message).known {
                out.event(&Event::Compacted(Compaction::default()));
            }
        }
        let event_type = Some(Str::escaped(if is_history { "$set" } else { "messages" }));
        let mut head = out.head(ItemKind::Notice(Notice { event_type }), Author::System);
        head.time = root.get("$set").and_then(|set| set.get("lastUpdated")).take_time(Field::ItemTime);
        let item = out.start(head);
        let (mut last, known) = (None, self.memory.live().len());
        for message in messages.elements().filter(|message| message.kind() == Kind::Object) {
            let message = LoggedMessage::new(message);
            out.within(message.root, |out| self.message(&message, Some(item), out));
            // The list may have a different order than the log.
            last = self.memory.live().find(message.id()).max(last);
        }
        out.complete(item);
        let left = last.map_or(0, |last| last + 1);
        self.left = (is_history && left < known).then_some(left);
    }

    /// Reads a rewind to the position before a message.
    fn rewind(&mut self, to: Val<'_>, out: &mut EventSink<'_>) {
        self.close(out);
        self.left = None;
        let id = to.note(Field::RewindTo);
        // An unknown message id removes the whole history.
        let left = self.memory.live().find(id.as_str().trim_matches('"')).unwrap_or(0);
        self.back_to(left, out);
    }

    /// Emits a rewind, if the last rewritten history is shorter than before.
    fn went_back(&mut self, out: &mut EventSink<'_>) {
        let Some(left) = self.left.take() else { return };
        self.close(out);
        self.back_to(left, out);
    }

    /// Emits a rewind that keeps the first `left` messages.
    fn back_to(&mut self, left: usize, out: &mut EventSink<'_>) {
        let live = self.memory.live();
        let last = left.checked_sub(1).and_then(|last| live.get(last));
        let to = last.map(|id| Str::escaped(id).into_owned());
        live.truncate(left);
        out.event(&Event::Rewound(Rewind { to, turns: None }));
    }

    /// Compares a message with the content emitted so far.
    fn look(&mut self, message: &LoggedMessage<'_>) -> MessageNews {
        let (own, memory) = (message.owner(), &mut self.memory);
        let has_id = !own.id.is_empty();
        let message_key = memory.key(own, SaidOf::Message, []);
        let known = has_id && memory.knows(message_key);
        let text_key = memory.key(own, SaidOf::Text, message.texts());
        let has_text = message.texts().any(|text| !text.is_empty());
        let same_text = has_id && memory.knows(text_key);
        let any_key = memory.key(own, SaidOf::AnyText, []);
        let replaces = known && has_text && !same_text && memory.knows(any_key);
        let mut look = MessageNews { known, replaces, ..MessageNews::default() };
        self.pieces.clear();
        for piece in message.pieces() {
            let (key, known) = match piece {
                MessagePiece::Thought(thought) => {
                    let text = thought.get("description").and_then(|text| text.str()).unwrap_or_default();
                    let subject = thought.get("subject").and_then(|subject| subject.str());
                    let key = memory.thought_key(own, subject.as_ref(), &text);
                    (key, has_id && memory.knows(key))
                }
                // An empty text has no content to emit.
                MessagePiece::Part(_, LoggedPart::Text(text)) => (text_key, same_text || text.is("")),
                MessagePiece::Part(_, LoggedPart::Unknown) => (0, true),
                MessagePiece::Part(_, LoggedPart::Thought(text)) => {
                    let key = memory.thought_key(own, None, &text.str().unwrap_or_default());
                    (key, has_id && memory.knows(key))
                }
                MessagePiece::Part(part, LoggedPart::Media(_)) => {
                    let key = memory.value_key(own, SaidOf::Media, "", Some(part));
                    (key, has_id && memory.knows(key))
                }
                MessagePiece::Beside(part, call) => {
                    let key = memory.value_key(Owner::call(call), SaidOf::Media, "", Some(part));
                    (key, memory.knows(key))
                }
                MessagePiece::Part(_, LoggedPart::Call(call)) | MessagePiece::Call(call) => {
                    let call_id = call.str_or_empty("id");
                    let of = if call_id.is_empty() { own } else { Owner::call(call_id) };
                    let key = memory.value_key(of, SaidOf::Call, call.str_or_empty("name"), call.get("args"));
                    (key, !of.id.is_empty() && memory.knows(key))
                }
                MessagePiece::Part(_, LoggedPart::Response(response)) => {
                    let of = Owner::call(response_id(response));
                    let key = memory.value_key(of, SaidOf::Result, "", response.get("response"));
                    // Without call ids, equal results may belong to different calls.
                    (key, response.has_str("id") && memory.knows(key))
                }
                MessagePiece::Result(call) => {
                    let value = ToolResults::of(call).and_then(|results| results.value());
                    let of = Owner::call(call.str_or_empty("id"));
                    let key = memory.value_key(of, SaidOf::Result, "", value);
                    (key, call.has_str("id") && memory.knows(key))
                }
            };
            let counts = !matches!(piece, MessagePiece::Part(_, LoggedPart::Unknown)) && !is_blank(piece);
            look.pieces += usize::from(counts);
            look.new += usize::from(!known);
            self.pieces.push((key, known));
        }
        look
    }

    /// Emits a message, or its new pieces; `around` is the notice of the list that holds the message.
    fn message(&mut self, message: &LoggedMessage<'_>, around: Option<ItemId>, out: &mut EventSink<'_>) {
        let look = self.look(message);
        // A list element without id, time and pieces cannot be identified on the way back.
        let is_named = message.id.is_some_and(|id| id.kind() == Kind::String)
            || message.time.is_some_and(|time| time.is_time())
            || look.pieces > 0;
        if around.is_some() && !is_named {
            return;
        }
        let Some(author) = message.author() else { return self.shown(message, &look, around, out) };
        message.kind.note_text(Field::ItemAuthor);
        if let Some(first) = message.texts().next().filter(|_| around.is_none()) {
            self.tell_cwd(&first, out);
        }
        if look.says_anything() {
            let place = self.begin(message, &look, author, around, out);
            self.say_pieces(message, &look, Some(place), around, out);
        } else {
            // A message of repeated results may be unknown itself, because results are recognised by their calls. The
            // id of an unknown message stays unclaimed.
            message.id.filter(|_| look.known).note_text(Field::ItemId);
            self.say_pieces(message, &look, None, around, out);
        }
        let key = self.memory.key(message.owner(), SaidOf::Message, []);
        self.memory.learn(key);
        if message.texts().any(|text| !text.is_empty()) {
            let key = self.memory.key(message.owner(), SaidOf::AnyText, []);
            self.memory.learn(key);
        }
        self.usage(message, out);
    }

    /// Continues the open message, or starts a new message. Returns the item and the number of its next part.
    fn begin(
        &mut self,
        message: &LoggedMessage<'_>,
        look: &MessageNews,
        author: Author,
        around: Option<ItemId>,
        out: &mut EventSink<'_>,
    ) -> (ItemId, u32) {
        let LoggedMessage { id, time, model, .. } = message;
        let own = |open: &&OpenMessage| {
            !look.replaces && around.is_none() && !open.id.is_empty() && open.id == message.id()
        };
        if let Some(open) = self.open.as_ref().filter(own).filter(|_| author == Author::Assistant) {
            id.take_text(Field::ItemId);
            let same = |val: &Val<'_>, known: &str| val.text() == known;
            time.filter(|time| same(time, &open.time)).take_time(Field::ItemTime);
            model.filter(|model| same(model, &open.model)).take_text(Field::ItemModel);
            return (open.item, open.next);
        }
        if around.is_none() {
            self.close(out);
        }
        let mut head = out.head(ItemKind::Message, author);
        head.within = around;
        head.native_id = id.take_text(Field::ItemId);
        head.replaces = head.native_id.clone().filter(|_| look.replaces);
        head.time = time.take_time(Field::ItemTime);
        if author == Author::Assistant {
            head.model = model.take_text(Field::ItemModel);
        } else {
            let first = message.texts().next();
            // Only text that the user typed has a display form.
            let typed = message.display.map(|_| Origin::Own);
            head.origin = first.and_then(|text| origin(text.as_escaped())).or(typed);
        }
        let own = |piece: &MessagePiece<'_>| {
            matches!(piece, MessagePiece::Part(_, LoggedPart::Text(_) | LoggedPart::Media(_)))
        };
        head.shape = if message.pieces().filter(own).nth(1).is_some() { Shape::List } else { Shape::One };
        let item = out.start(head);
        self.memory.live().add(message.id());
        if around.is_none() && author == Author::Assistant {
            let raw = |val: Option<Val<'_>>| val.map_or("", |val| val.text()).to_owned();
            let (id, time, model) = (message.id().to_owned(), raw(*time), raw(*model));
            self.open = Some(OpenMessage { item, id, time, model, frame: out.frame_number(), next: 0 });
        }
        (item, 0)
    }

    /// Emits the new pieces of a message, and notes the repeated pieces.
    fn say_pieces(
        &mut self,
        message: &LoggedMessage<'_>,
        look: &MessageNews,
        place: Option<(ItemId, u32)>,
        around: Option<ItemId>,
        out: &mut EventSink<'_>,
    ) {
        let keys = std::mem::take(&mut self.pieces);
        let (mut result, mut next) = (None, 0);
        for (piece, &(key, known)) in message.pieces().zip(&keys) {
            if let Some(open) = result.take_if(|_| !matches!(piece, MessagePiece::Beside(..))) {
                end_result(open, out);
            }
            let known = known && (!look.replaces || is_blank(piece));
            let Some((item, first)) = place.filter(|_| !known) else {
                note(piece);
                continue;
            };
            self.memory.learn(key);
            match piece {
                MessagePiece::Thought(thought) => out.within(thought, |out| say_thought(thought, item, out)),
                // Further parts beside the response may belong to the result.
                MessagePiece::Part(_, LoggedPart::Response(response)) => {
                    let head = result_head(response, None, out);
                    result = out.within(response, |out| {
                        let item = out.start(ItemHead { within: Some(item), ..head });
                        Some((item, say_response(response, item, out)))
                    });
                }
                MessagePiece::Beside(part, _) => match &mut result {
                    Some((item, said)) => out.within(part, |out| _ = say_more(part, *item, said, out)),
                    None => out.within(part, |out| say_part(part, first + next, item, out)),
                },
                MessagePiece::Part(part, _) => {
                    out.within(part, |out| say_part(part, first + next, item, out));
                }
                MessagePiece::Call(call) => out.within(call, |out| say_call(call, item, out)),
                MessagePiece::Result(call) => out.within(call, |out| self.say_result(call, item, out)),
            }
            next += 1;
        }
        if let Some(open) = result {
            end_result(open, out);
        }
        self.pieces = keys;
        let Some((item, first)) = place else { return };
        match &mut self.open {
            Some(open) if open.item == item && around.is_none() => open.next = first + next,
            _ => out.complete(item),
        }
        note_display(message);
    }

    /// Emits the result of a call, with its status.
    fn say_result(&mut self, call: Val<'_>, message: ItemId, out: &mut EventSink<'_>) {
        let Some(ToolResults { main, all }) = ToolResults::of(call) else { return };
        let [status, time, display] = call.get_all(["status", "timestamp", "resultDisplay"]);
        let response = main.filter(|main| main.kind() == Kind::Object);
        let mut head = if let Some(response) = response {
            result_head(response, Some(call), out)
        } else {
            let call_id = call.get("id").and_then(|id| id.str());
            out.head(ItemKind::ToolResult(ToolResult { call_id, name: None }), Author::Tool)
        };
        head.within = Some(message);
        head.time = time.take_time(Field::ItemTime);
        let item = out.start(head);
        let mut said = SaidResponse::default();
        if let Some(response) = response {
            said = say_response(response, item, out);
        } else if let Some(text) = main {
            let part = say_value(text, &mut said);
            out.delta(item, 0, part);
            said.next = 1;
        }
        for part in all.elements() {
            match LoggedPart::of(part) {
                LoggedPart::Response(other) if Some(other.number()) != response.map(|own| own.number()) => {
                    // A repeated result of another call is noted.
                    let of = Owner::call(response_id(other));
                    let key = self.memory.value_key(of, SaidOf::Result, "", other.get("response"));
                    if self.memory.knows(key) {
                        note(MessagePiece::Part(part, LoggedPart::Response(other)));
                    }
                }
                LoggedPart::Media(_) => {
                    let of = Owner::call(call.str_or_empty("id"));
                    let key = self.memory.value_key(of, SaidOf::Media, "", Some(part));
                    self.memory.learn(key);
                    say_more(part, item, &mut said, out);
                }
                LoggedPart::Text(_) => _ = say_more(part, item, &mut said, out),
                _ => {}
            }
        }
        say_file(display, item, said.next, out);
        out.end(said.tail(item, status.take_text(Field::ItemStatus)));
    }

    /// Reads a message that the program shows on the screen, or a message of an unknown type.
    fn shown(
        &mut self,
        message: &LoggedMessage<'_>,
        look: &MessageNews,
        around: Option<ItemId>,
        out: &mut EventSink<'_>,
    ) {
        let own = message.owner();
        if look.known && !look.says_anything() {
            // The message was emitted before.
            message.id.note_text(Field::ItemId);
            message.pieces().for_each(note);
            return;
        }
        if around.is_none() {
            self.close(out);
        }
        for key in
            [self.memory.key(own, SaidOf::Message, []), self.memory.key(own, SaidOf::Text, message.texts())]
        {
            self.memory.learn(key);
        }
        let content = message.content.filter(|content| content.kind() == Kind::String);
        let event_type = message.kind.note_text(Field::NoticeType);
        let mut head = out.head(ItemKind::Notice(Notice { event_type }), Author::System);
        head.within = around;
        head.native_id = message.id.take_text(Field::ItemId);
        head.time = message.time.take_time(Field::ItemTime);
        let item = out.start(head);
        if let Some(text) = content.take_text(Field::NoticeText) {
            out.delta(item, 0, Part::Text(text));
        }
        out.complete(item);
    }

    /// Emits the new usage of a message.
    fn usage(&mut self, message: &LoggedMessage<'_>, out: &mut EventSink<'_>) {
        let told = message.tokens.map(|tokens| read_counts(tokens, &TOKENS));
        let told = told.or_else(|| message.usage.map(|usage| read_counts(usage, &USAGE_METADATA)));
        let own = message.owner();
        let increase = told.map(|told| {
            if own.id.is_empty() {
                return if self.counted.is_new(message.root) { told } else { Usage::default() };
            }
            let key = self.memory.key(own, SaidOf::Message, []);
            self.memory.increase(key, told)
        });
        let more =
            increase.filter(|more| more.counts().iter().any(|(_, count)| count.is_some_and(|n| n > 0)));
        let stop = message.finish.note_text(Field::StopReason).map(stop);
        if more.is_some() || stop.is_some() {
            // The message holds the name of the responding model, and user items have no model.
            let model = message.model.and_then(|model| match model.claimed() {
                Claim::Free => model.note_text(Field::TurnModel),
                Claim::Taken(_) | Claim::Noted(_) | Claim::Placed => model.str(),
            });
            out.event(&Event::Usage(Turn { model, usage: more, stop, ..Turn::default() }));
        }
    }
}

fn facts(val: Val<'_>, begins: bool) -> Session<'_> {
    let directory = val.get("directories").and_then(|directories| directories.elements().next());
    let start = val.get("startTime").filter(|start| begins && start.is_time());
    Session {
        id: val.note_str("sessionId", Field::SessionId),
        title: val.note_str("summary", Field::SessionTitle),
        cwd: directory.note_text(Field::SessionCwd),
        start: start.map(|start| start.note(Field::SessionStart)),
        ..Session::default()
    }
}

/// Whether a piece is an empty text.
fn is_blank(piece: MessagePiece<'_>) -> bool {
    matches!(piece, MessagePiece::Part(_, LoggedPart::Text(text)) if text.is(""))
}

/// Notes a repeated piece.
fn note(piece: MessagePiece<'_>) {
    let note_call = |call: Val<'_>| {
        call.note_str("id", Field::CallId);
        call.note_str("name", Field::CallName);
        call.note_raw("args", Field::CallArgs);
    };
    let note_value = |value: Option<Val<'_>>| {
        if let Some(value) = value {
            let field = if value.kind() == Kind::String { Field::ResultText } else { Field::ResultJson };
            value.note(field);
        }
    };
    let note_response = |response: Val<'_>| {
        response.note_str("id", Field::ResultCallId);
        note_value(response.get("response").filter(|value| !value.is_null()));
    };
    match piece {
        MessagePiece::Thought(thought) => {
            thought.note_str("subject", Field::ItemSubject);
            thought.note_str("description", Field::ReasoningText);
        }
        MessagePiece::Part(_, LoggedPart::Text(text)) => {
            text.note(if text.is("") { Field::Structure } else { Field::MessageText });
        }
        MessagePiece::Part(part, LoggedPart::Thought(text)) => {
            part.get("thought").map(|flag| flag.note(Field::Structure));
            text.note(Field::ReasoningText);
        }
        MessagePiece::Part(_, LoggedPart::Call(call)) | MessagePiece::Call(call) => note_call(call),
        MessagePiece::Part(_, LoggedPart::Response(response)) => note_response(response),
        MessagePiece::Part(part, LoggedPart::Media(_)) => note_media(part, ItemKindTag::Message),
        MessagePiece::Beside(part, _) => note_media(part, ItemKindTag::Result),
        MessagePiece::Part(_, LoggedPart::Unknown) => {}
        MessagePiece::Result(call) => match ToolResults::of(call) {
            Some(ToolResults { main: Some(main), .. }) if main.kind() == Kind::Object => note_response(main),
            Some(ToolResults { main, .. }) => note_value(main),
            None => {}
        },
    }
}

/// Notes repeated media.
fn note_media(part: Val<'_>, of: ItemKindTag) {
    for place in ["inlineData", "fileData"] {
        let Some(place) = part.get(place) else { continue };
        place.note_str("data", of.media());
        place.note_str("fileUri", of.media());
        place.note_str("mimeType", Field::MediaType);
    }
}

/// Notes the displayed text if the content repeats it.
fn note_display(message: &LoggedMessage<'_>) {
    for part in parts_of(message.display) {
        if let LoggedPart::Text(text) = LoggedPart::of(part)
            && message.texts().any(|said| Some(said) == text.str())
        {
            text.note(Field::MessageText);
        }
    }
}

fn say_thought(thought: Val<'_>, message: ItemId, out: &mut EventSink<'_>) {
    let mut head = out.head(ItemKind::Reasoning, Author::Assistant);
    head.within = Some(message);
    head.subject = thought.take_str("subject", Field::ItemSubject);
    head.time = thought.get("timestamp").take_time(Field::ItemTime);
    let item = out.start(head);
    if let Some(text) = thought.take_str("description", Field::ReasoningText) {
        out.delta(item, 0, Part::Text(text));
    }
    out.complete(item);
}

/// Emits a call. Time and status go to the call's result, if there is a result.
fn say_call(call: Val<'_>, message: ItemId, out: &mut EventSink<'_>) {
    let alone = ToolResults::of(call).is_none();
    let [time, status] = call.get_all(["timestamp", "status"]).map(|val| val.filter(|_| alone));
    let item = start_call(call, message, time, out);
    let native_status = status.take_text(Field::ItemStatus);
    let status = match native_status.as_ref().map(Str::as_escaped) {
        Some("error") => Status::Failed,
        Some("cancelled") => Status::Interrupted,
        _ => Status::Completed,
    };
    out.end(ItemTail { native_status, ..ItemTail::new(item, status) });
}

fn end_result((item, said): (ItemId, SaidResponse<'_>), out: &mut EventSink<'_>) {
    out.end(said.tail(item, None));
}

fn stop(raw: Str<'_>) -> Stop<'_> {
    let class = STOPS.value(&raw).unwrap_or(StopClass::Other);
    Stop { class, raw: Some(raw), sequence: None, detail: None }
}

const STOPS: Words<StopClass> =
    Words(&[(StopClass::End, "STOP"), (StopClass::MaxTokens, "MAX_TOKENS"), (StopClass::Filter, "SAFETY")]);

const TOKENS: CountNames = CountNames {
    prompt: "input",
    cached: "cached",
    output: "output",
    thoughts: "thoughts",
    tools: "tool",
    total: "total",
};

const USAGE_METADATA: CountNames = CountNames {
    prompt: "promptTokenCount",
    cached: "cachedContentTokenCount",
    output: "candidatesTokenCount",
    thoughts: "thoughtsTokenCount",
    tools: "toolUsePromptTokenCount",
    total: "totalTokenCount",
};
