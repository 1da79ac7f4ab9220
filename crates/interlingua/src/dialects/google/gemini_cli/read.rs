//! Frames to events. A message is told when it is new; a message that is written again tells what is new of it.

use super::super::logged::{
    CountNames, LoggedPart, SaidResponse, parts_of, read_counts, result_head, say_file, say_more, say_part,
    say_response, say_value, start_call,
};
use super::memory::{Memory, Owner, SaidOf};
use super::message::{LoggedMessage, MessagePiece, ToolResults, cwd, origin, response_id};
use crate::error::Code;
use crate::framing::FrameKind;
use crate::json::Str;
use crate::log::{CountedLine, SessionNews};
use crate::model::{
    Author, Compaction, Event, Field, ItemHead, ItemId, ItemKind, ItemTail, Notice, Of, Origin, Part, Rewind,
    Session, Shape, Status, Stop, StopClass, ToolResult, Turn, Usage, Words,
};
use crate::pipe::{Doc, Events, Reader};
use crate::tape::{Claim, Kind, Member as _, Val};

#[derive(Default)]
pub(super) struct GeminiReader {
    session: SessionNews,
    memory: Memory,
    /// Whether each piece of the message at hand has been said, and its key.
    pieces: Vec<(u128, bool)>,
    open: Option<OpenMessage>,
    /// The history was written anew and ends before it did: so many messages of it count.
    left: Option<usize>,
    /// The last message that tells usage and has no id.
    counted: CountedLine,
}

/// A message of the model that may be written again in one of the next lines, with what came of its calls.
struct OpenMessage {
    item: ItemId,
    id: String,
    time: String,
    model: String,
    /// The last frame that belongs to it.
    frame: u64,
    /// The number of its next part.
    next: u32,
}

/// What is known of a message before it is told.
#[derive(Default)]
struct MessageNews {
    /// There is a message of that id.
    known: bool,
    /// It has another text than that one.
    replaces: bool,
    /// Its pieces, and how many of them are new.
    pieces: usize,
    new: usize,
}

impl MessageNews {
    fn says_anything(&self) -> bool {
        self.replaces || self.new > 0 || (self.pieces == 0 && !self.known)
    }
}

impl Reader for GeminiReader {
    fn document(&mut self, doc: Doc<'_>, out: &mut Events<'_>) {
        let frame = out.frame_number();
        // Something that could not be read may stand between two lines.
        if self.open.as_ref().is_some_and(|open| open.frame + 1 != frame) {
            self.close(out);
        }
        let root = doc.root;
        if root.kind() == Kind::Array && matches!(doc.kind, FrameKind::Head | FrameKind::Tail) {
            // Nothing stands around the messages of a list.
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
            // Messages as the API has them name their session themselves.
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

    fn finish(&mut self, out: &mut Events<'_>) {
        self.close(out);
        self.session.end(out);
    }
}

impl GeminiReader {
    /// Nothing more comes for the message that is open.
    fn close(&mut self, out: &mut Events<'_>) {
        if let Some(open) = self.open.take() {
            out.complete(open.item);
        }
    }

    fn tell(&mut self, told: Session<'_>, out: &mut Events<'_>) {
        if !told.is_old_news(self.session.known()) {
            self.close(out);
            self.session.tell(super::DIALECT.name, told, out);
        }
    }

    /// The working directory, where the program tells the model about it in the user's name.
    fn tell_cwd(&mut self, first: &Str<'_>, out: &mut Events<'_>) {
        let cwd = cwd(first.as_escaped()).map(Str::escaped);
        self.tell(Session { cwd, ..Session::default() }, out);
    }

    /// The head of a file, what follows the list of a document, or something that is not known.
    fn metadata(&mut self, doc: Doc<'_>, out: &mut Events<'_>) {
        self.close(out);
        let root = doc.root;
        // A resumed session writes its head again: the session began with the first.
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

    /// What changed: facts of the session, or the whole history.
    fn set(&mut self, root: Val<'_>, set: Val<'_>, out: &mut Events<'_>) {
        if let Some(messages) = set.get("messages").filter(|messages| messages.kind() == Kind::Array) {
            self.tell(facts(set, false), out);
            return self.listed(root, messages, out);
        }
        // When it was written, and nothing else: the line belongs to the message before it.
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

    /// Messages in a list: the history as it is now, or a whole session as the API has it. What is new of it stands within
    /// a notice that has the line.
    fn listed(&mut self, root: Val<'_>, messages: Val<'_>, out: &mut Events<'_>) {
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
            // A list may have another order than the log.
            last = self.memory.live().find(message.id()).max(last);
        }
        out.complete(item);
        let left = last.map_or(0, |last| last + 1);
        self.left = (is_history && left < known).then_some(left);
    }

    /// The conversation went back to before that message.
    fn rewind(&mut self, to: Val<'_>, out: &mut Events<'_>) {
        self.close(out);
        self.left = None;
        let id = to.note(Field::RewindTo);
        // Nothing is left if there is no such message.
        let left = self.memory.live().find(id.as_str().trim_matches('"')).unwrap_or(0);
        self.back_to(left, out);
    }

    /// Says that the conversation went back, if the history that was written last is shorter than it was.
    fn went_back(&mut self, out: &mut Events<'_>) {
        let Some(left) = self.left.take() else { return };
        self.close(out);
        self.back_to(left, out);
    }

    /// So many messages count.
    fn back_to(&mut self, left: usize, out: &mut Events<'_>) {
        let live = self.memory.live();
        let last = left.checked_sub(1).and_then(|last| live.get(last));
        let to = last.map(|id| Str::escaped(id).into_owned());
        live.truncate(left);
        out.event(&Event::Rewound(Rewind { to, turns: None }));
    }

    /// Finds out what of a message is new.
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
                // An empty text is nothing to say.
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
                    // Where calls have no ids, tools may say the same more than once.
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

    /// Tells a message, or what is new of it; `around` is the notice whose line it stands in.
    fn message(&mut self, message: &LoggedMessage<'_>, around: Option<ItemId>, out: &mut Events<'_>) {
        let look = self.look(message);
        // An element of a list that says nothing of itself would not be found again.
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
            // What came of calls is known by theirs.
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

    /// Goes on with the message that is open, or begins one. Returns its number and that of its next part.
    fn begin(
        &mut self,
        message: &LoggedMessage<'_>,
        look: &MessageNews,
        author: Author,
        around: Option<ItemId>,
        out: &mut Events<'_>,
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
            // What a person saw, a person typed.
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

    /// Says the pieces of a message that are new, and notes the others.
    fn say_pieces(
        &mut self,
        message: &LoggedMessage<'_>,
        look: &MessageNews,
        place: Option<(ItemId, u32)>,
        around: Option<ItemId>,
        out: &mut Events<'_>,
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
                // A result may have more beside it.
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

    /// What came of a call, and how it went.
    fn say_result(&mut self, call: Val<'_>, message: ItemId, out: &mut Events<'_>) {
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
                    // What came of another call, where that was said.
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

    /// What the program shows on the screen, or a message that is not known.
    fn shown(
        &mut self,
        message: &LoggedMessage<'_>,
        look: &MessageNews,
        around: Option<ItemId>,
        out: &mut Events<'_>,
    ) {
        let own = message.owner();
        if look.known && !look.says_anything() {
            // It was said before.
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

    /// What a message has used, as far as it is new.
    fn usage(&mut self, message: &LoggedMessage<'_>, out: &mut Events<'_>) {
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
            // The message names the model that answered; no item of the user has it.
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

/// Whether a piece says nothing.
fn is_blank(piece: MessagePiece<'_>) -> bool {
    matches!(piece, MessagePiece::Part(_, LoggedPart::Text(text)) if text.is(""))
}

/// Notes what has been said before.
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
        MessagePiece::Part(part, LoggedPart::Media(_)) => note_media(part, Of::Message),
        MessagePiece::Beside(part, _) => note_media(part, Of::Result),
        MessagePiece::Part(_, LoggedPart::Unknown) => {}
        MessagePiece::Result(call) => match ToolResults::of(call) {
            Some(ToolResults { main: Some(main), .. }) if main.kind() == Kind::Object => note_response(main),
            Some(ToolResults { main, .. }) => note_value(main),
            None => {}
        },
    }
}

/// Notes a picture that has been said before.
fn note_media(part: Val<'_>, of: Of) {
    for place in ["inlineData", "fileData"] {
        let Some(place) = part.get(place) else { continue };
        place.note_str("data", of.media());
        place.note_str("fileUri", of.media());
        place.note_str("mimeType", Field::MediaType);
    }
}

/// Notes what the person typed, where the content repeats it.
fn note_display(message: &LoggedMessage<'_>) {
    for part in parts_of(message.display) {
        if let LoggedPart::Text(text) = LoggedPart::of(part)
            && message.texts().any(|said| Some(said) == text.str())
        {
            text.note(Field::MessageText);
        }
    }
}

fn say_thought(thought: Val<'_>, message: ItemId, out: &mut Events<'_>) {
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

/// A call. When and how it ended is told of what came of it, if anything did.
fn say_call(call: Val<'_>, message: ItemId, out: &mut Events<'_>) {
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

fn end_result((item, said): (ItemId, SaidResponse<'_>), out: &mut Events<'_>) {
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
