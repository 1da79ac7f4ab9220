//! The parts of open messages: texts and reasoning arrive in pieces, tools in states. The server sends the whole part
//! with each change; only new values become events.

use super::message::OpenMessage;
use super::read::{Subagents, Whose};
use crate::dialects::agents::opencode::moment;
use crate::dialects::agents::opencode::part::{PartMembers, Sort, opaque, read_event, read_within};
use crate::dialects::agents::opencode::tool::{self, StateMembers};
use crate::json::Str;
use crate::model::{Args, Author, Field, ItemId, ItemKind, ItemTail, Part, Status, ToolResult};
use crate::pipe::EventSink;
use crate::tape::{Claim, Kind, Member as _, Val, WantedNames};

/// The state of one part.
pub(super) struct PartState {
    id: String,
    progress: Progress,
}

enum Progress {
    /// A text or reasoning.
    Text(StreamedText),
    Tool(ToolProgress),
    /// A part without later changes.
    Done,
}

struct StreamedText {
    item: ItemId,
    /// The part's number within the item.
    number: u32,
    field: Field,
    /// The text so far, escaped.
    said: String,
    /// Whether the item is the part's own, and not the message.
    is_own: bool,
}

struct ToolProgress {
    /// The call's item while it is open.
    call: Option<ItemId>,
    /// The arguments that were emitted.
    args: String,
    is_answered: bool,
}

impl OpenMessage {
    /// Reads the current state of a part, told at that time.
    pub(super) fn read(
        &mut self,
        (part, told): (&PartMembers<'_>, Option<Val<'_>>),
        whose: Whose<'_>,
        subagents: &mut Subagents,
        out: &mut EventSink<'_>,
    ) {
        let id = part.root.str_or_empty("id");
        let known = self.parts.iter().rposition(|known| known.id == id);
        let at = if let Some(at) = known {
            at
        } else {
            let progress = self.begin((part, told), whose, subagents, out);
            self.parts.push(PartState { id: id.to_owned(), progress });
            self.parts.len() - 1
        };
        let message = self.item;
        let Some(state) = self.parts.get_mut(at) else { return };
        let has_ended = part.time.and_then(|time| time.get("end")).is_some_and(|end| !end.is_null());
        let is_done = match &mut state.progress {
            Progress::Text(text) => {
                text.catch_up(part.text, out);
                if has_ended && text.is_own {
                    text.sign(part, out);
                    out.complete(text.item);
                }
                has_ended
            }
            Progress::Tool(tool) => {
                tool.update(part, message, whose, subagents, out);
                tool.is_answered
            }
            Progress::Done => false,
        };
        if is_done {
            state.progress = Progress::Done;
        }
    }

    /// Begins a part.
    fn begin(
        &mut self,
        (part, told): (&PartMembers<'_>, Option<Val<'_>>),
        whose: Whose<'_>,
        subagents: &Subagents,
        out: &mut EventSink<'_>,
    ) -> Progress {
        match part.sort() {
            Sort::Text => {
                part.note_kind();
                if part.aside.is_none() {
                    return Progress::Text(StreamedText::new(
                        self.item,
                        self.next_number(),
                        Field::MessageText,
                        false,
                    ));
                }
                let mut head = out.head(ItemKind::Message, self.author);
                head.within = Some(self.item);
                head.origin = part.origin();
                whose.mark(&mut head, subagents);
                Progress::Text(StreamedText::new(out.start(head), 0, Field::MessageText, true))
            }
            Sort::Reasoning => {
                part.note_kind();
                let mut head = out.head(ItemKind::Reasoning, Author::Assistant);
                head.within = Some(self.item);
                head.native_id = part.id.take_text(Field::ItemId);
                head.time = part.start().map(|time| time.take(Field::ItemTime));
                whose.mark(&mut head, subagents);
                Progress::Text(StreamedText::new(out.start(head), 0, Field::ReasoningText, true))
            }
            Sort::Tool => {
                part.note_kind();
                let mut head = out.head(ItemKind::ToolCall(tool::call(part)), Author::Assistant);
                head.within = Some(self.item);
                head.native_id = part.id.take_text(Field::ItemId);
                // A pending call has no start yet.
                let time = tool::start(part).or_else(|| told.and_then(moment));
                head.time = time.map(|time| time.take(Field::ItemTime));
                whose.mark(&mut head, subagents);
                let call = Some(out.start(head));
                Progress::Tool(ToolProgress { call, args: String::new(), is_answered: false })
            }
            Sort::Retry | Sort::Compaction => {
                read_event(part, out);
                Progress::Done
            }
            Sort::File | Sort::Step | Sort::Other => {
                let number = if part.sort() == Sort::File { self.next_number() } else { 0 };
                read_within(part, number, (self.item, self.author), false, out);
                Progress::Done
            }
        }
    }

    fn next_number(&mut self) -> u32 {
        self.next += 1;
        self.next - 1
    }

    /// Reads a streamed piece. Returns whether its part is open.
    pub(super) fn grow(&mut self, properties: Val<'_>, out: &mut EventSink<'_>) -> bool {
        const WANTED: WantedNames<4> = WantedNames::new(["messageID", "partID", "field", "delta"]);
        let [message, id, field, piece] = properties.find(&WANTED);
        let piece = piece.filter(|_| field.word() == "text");
        let Some((piece, text)) = piece.and_then(|piece| Some((piece, piece.str()?))) else { return false };
        let Some(part) = self.parts.iter_mut().rev().find(|part| part.id == id.word()) else { return false };
        let Progress::Text(state) = &mut part.progress else { return false };
        for tag in [message, id, field] {
            tag.note_text(Field::Structure);
        }
        piece.take(state.field);
        state.grow(text, out);
        true
    }
}

impl StreamedText {
    const fn new(item: ItemId, number: u32, field: Field, is_own: bool) -> Self {
        Self { item, number, field, said: String::new(), is_own }
    }

    fn grow(&mut self, text: Str<'_>, out: &mut EventSink<'_>) {
        self.said.push_str(text.as_escaped());
        out.piece(self.item, self.number, Part::Text(text));
    }

    /// Reads the whole text: emits the text missing from the pieces. A text equal to the pieces is claimed; a different
    /// text is left unclaimed.
    fn catch_up(&mut self, whole: Option<Val<'_>>, out: &mut EventSink<'_>) {
        let Some((val, text)) = whole.and_then(|val| Some((val, val.str()?))) else { return };
        if text.is_empty() && self.said.is_empty() {
            val.note(Field::Structure);
            return;
        }
        if self.said.is_empty() {
            val.take(self.field);
            self.said.push_str(text.as_escaped());
            return out.delta(self.item, self.number, Part::Text(text));
        }
        let said = Str::escaped(&self.said);
        let (said, whole) = (said.decode(), text.decode());
        match whole.strip_prefix(&*said) {
            Some("") => _ = val.take(self.field),
            Some(more) => {
                val.take(self.field);
                let more = Str::from_plain(more);
                self.grow(more, out);
            }
            // The server trims the end of a whole text.
            None if *whole == *said.trim_end() => _ = val.note(self.field),
            None => out.note("a whole part differs from its pieces"),
        }
    }

    /// Emits the opaque state of reasoning, which only the whole part has.
    fn sign(&self, part: &PartMembers<'_>, out: &mut EventSink<'_>) {
        if let Some(opaque) = opaque(part).filter(|_| self.field == Field::ReasoningText) {
            out.delta(self.item, 1, Part::Opaque(opaque));
        }
    }
}

impl ToolProgress {
    fn update(
        &mut self,
        part: &PartMembers<'_>,
        message: ItemId,
        whose: Whose<'_>,
        subagents: &mut Subagents,
        out: &mut EventSink<'_>,
    ) {
        let state = StateMembers::new(part);
        let child = state.metadata.map(|metadata| metadata.str_or_empty("sessionId")).unwrap_or_default();
        if !child.is_empty() {
            let call = part.root.get("callID").filter(|call| call.str().is_some());
            let is_news = subagents.started_by(child, part.root.str_or_empty("callID"));
            call.filter(|call| is_news && call.claimed() == Claim::Free)
                .map(|call| call.note(Field::ItemParentCall));
        }
        self.give_args(&state, out);
        if state.has_ended() {
            self.is_answered = true;
            if let Some(call) = self.call.take() {
                out.complete(call);
            }
            result(part, &state, Some(message), (whose, subagents), out);
        }
    }

    /// Emits the arguments when they are complete: a pending call has none.
    fn give_args(&mut self, state: &StateMembers<'_>, out: &mut EventSink<'_>) {
        let Some(input) = state.input.filter(|input| !input.is_null()) else { return };
        let Some(call) = self.call else {
            if input.text() == self.args {
                input.note(Field::CallArgs);
            }
            return;
        };
        if state.status.word() == "pending" {
            if input.kind() == Kind::Object && input.members().next().is_none() {
                input.note(Field::Structure);
            }
            return;
        }
        input.text().clone_into(&mut self.args);
        out.delta(call, 0, Part::Args(Args::Json(input.take(Field::CallArgs))));
        out.complete(call);
        self.call = None;
    }
}

/// Emits the result of a tool.
fn result<'t>(
    part: &PartMembers<'t>,
    state: &StateMembers<'t>,
    within: Option<ItemId>,
    (whose, subagents): (Whose<'t>, &'t Subagents),
    out: &mut EventSink<'_>,
) {
    // The call may be in the same event: the id is then its own.
    let call_id = part.root.get("callID").and_then(|id| match id.claimed() {
        Claim::Free => id.take_text(Field::ResultCallId),
        Claim::Taken(_) | Claim::Noted(_) | Claim::Placed => id.str(),
    });
    let result = ToolResult { call_id, name: None };
    let mut head = out.head(ItemKind::ToolResult(result), Author::Tool);
    head.within = within;
    whose.mark(&mut head, subagents);
    state.result(head, true, out);
}

impl PartState {
    /// Whether the tool of a part has ended.
    pub(super) fn has_ended(part: &PartMembers<'_>) -> bool {
        part.sort() == Sort::Tool && StateMembers::new(part).has_ended()
    }

    /// Reads the result of a tool whose message is closed.
    pub(super) fn late_result(
        part: &PartMembers<'_>,
        whose: Whose<'_>,
        subagents: &Subagents,
        out: &mut EventSink<'_>,
    ) {
        part.note_kind();
        result(part, &StateMembers::new(part), None, (whose, subagents), out);
    }

    /// Closes a part with its message. Returns the id of a tool that has no result yet.
    pub(super) fn close(self, status: Status, out: &mut EventSink<'_>) -> Option<String> {
        match self.progress {
            Progress::Text(text) => {
                if text.is_own {
                    out.end(ItemTail::new(text.item, status));
                }
                None
            }
            Progress::Tool(tool) => {
                if let Some(call) = tool.call {
                    out.end(ItemTail::new(call, Status::Interrupted));
                }
                Some(self.id)
            }
            Progress::Done => None,
        }
    }
}
