//! Reads one item: whole, or in pieces that the complete item repeats. Repeated values are emitted once.

use std::collections::BTreeMap;

use super::super::items::{ERROR_MARK, OK_MARK, call_of, strip_mark};
use super::super::{ROLES, read_state};
use super::content::{Slot, citation, is_part, mark, shape_of, take_media, text_member};
use crate::json::Str;
use crate::model::{
    Args, Author, CallKind, Field, ItemHead, ItemId, ItemKind, ItemKindTag, ItemTail, Part, Shape, Status,
    ToolCall, ToolResult,
};
use crate::pipe::EventSink;
use crate::tape::{Claim, Kind, Member, Val, WantedNames};
use crate::wire::words::AnswerFacts;
use crate::wire::{CompleteArguments, note_blanks, note_tag};

/// The location of an item.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Where {
    /// In a request, where every author occurs.
    Request,
    /// In a whole response, where all items are the assistant's.
    Answer,
    /// In a stream, where later events may repeat earlier values.
    #[default]
    Stream,
}

/// The state of one item.
#[derive(Debug, Default)]
pub(super) struct ItemReader {
    place: Where,
    /// The item, once it has started.
    item: Option<(ItemId, ItemKindTag)>,
    /// The raw values of the item's head members, in the order of [`HEAD`]; empty where no end event repeats them.
    head: Vec<String>,
    /// The texts emitted so far; the index of each is its part number.
    told: Vec<ToldText>,
    /// The index of each text in `told`, and the number of texts in each list; texts and refusals share a list.
    places: BTreeMap<(Slot, u64), usize>,
    counts: [u64; 4],
    /// The number of parts in the lists before the current list.
    parts: u32,
    /// The raw values emitted so far.
    values: Vec<String>,
    /// The arguments of a call, if they were complete at its start.
    complete: Option<CompleteArguments>,
    is_complete: bool,
    facts: AnswerFacts,
}

#[derive(Debug)]
struct ToldText {
    slot: Slot,
    index: u64,
    /// The escaped text.
    text: String,
    /// The raw annotations of the text.
    notes: Vec<String>,
}

/// Members that may be in the first event of an item and that its end event repeats.
const HEAD: [(&str, Field); 7] = [
    ("id", Field::ItemId),
    ("call_id", Field::CallId),
    ("name", Field::CallName),
    ("namespace", Field::CallNamespace),
    ("server_label", Field::CallNamespace),
    ("phase", Field::ItemPhase),
    ("type", Field::Structure),
];

/// The members of an item of any type.
struct ItemMembers<'t> {
    tag: Option<Val<'t>>,
    role: Option<Val<'t>>,
    id: Option<Val<'t>>,
    phase: Option<Val<'t>>,
    status: Option<Val<'t>>,
    content: Option<Val<'t>>,
    call_id: Option<Val<'t>>,
    name: Option<Val<'t>>,
    namespace: Option<Val<'t>>,
    server: Option<Val<'t>>,
    /// The members that may hold the arguments of a call.
    arguments: [Option<Val<'t>>; 4],
    /// The output of a tool.
    output: Option<Val<'t>>,
}

impl<'t> ItemMembers<'t> {
    fn of(item: Val<'t>) -> Self {
        const WANTED: WantedNames<16> = WantedNames::new([
            "type",
            "role",
            "id",
            "phase",
            "status",
            "content",
            "call_id",
            "name",
            "namespace",
            "server_label",
            "output",
            "tools",
            "arguments",
            "input",
            "action",
            "operation",
        ]);
        let [
            tag,
            role,
            id,
            phase,
            status,
            content,
            call_id,
            name,
            namespace,
            server,
            output,
            tools,
            arguments @ ..,
        ] = item.find(&WANTED);
        let output = output.or(tools);
        Self { tag, role, id, phase, status, content, call_id, name, namespace, server, arguments, output }
    }
}

impl ItemReader {
    pub(super) fn new(place: Where) -> Self {
        Self { place, ..Self::default() }
    }

    /// Facts that determine the stop reason of the response.
    pub(super) const fn facts(&self) -> AnswerFacts {
        self.facts
    }

    pub(super) const fn has_begun(&self) -> bool {
        self.item.is_some()
    }

    /// Whether the item's head holds this id.
    pub(super) fn is_called(&self, id: Val<'_>) -> bool {
        self.head.first().is_some_and(|known| known == id.text())
    }

    /// Starts an item whose server sent no `output_item.added` event before the first piece.
    pub(super) fn begin_as(&mut self, slot: Slot, out: &mut EventSink<'_>) {
        let kind = match slot {
            Slot::Text | Slot::Refusal => ItemKind::Message,
            Slot::Summary | Slot::Thought => ItemKind::Reasoning,
            // The tool of the call is unknown.
            Slot::Arguments => return,
        };
        self.start(out.head(kind, Author::Assistant), out);
    }

    #[inline]
    fn start(&mut self, head: ItemHead<'_>, out: &mut EventSink<'_>) {
        let of = ItemKindTag::item(&head.kind);
        self.facts.calls |= matches!(
            &head.kind,
            ItemKind::ToolCall(ToolCall {
                kind: CallKind::Function | CallKind::FreeText | CallKind::Vendor,
                ..
            })
        );
        self.item = Some((out.start(head), of));
    }

    /// Reads the start of an item: its head, and the texts that deltas may continue. The end event repeats all other
    /// content.
    pub(super) fn begin(&mut self, item: Val<'_>, out: &mut EventSink<'_>) {
        if self.item.is_some() {
            return;
        }
        let members = ItemMembers::of(item);
        self.open(item, &members, out);
        let Some((_, of)) = self.item else { return };
        note_blanks(item);
        note_tag(item, "status", &["in_progress"]);
        for name in ["arguments", "input"] {
            note_tag(item, name, &[""]);
        }
        let lists = match of {
            ItemKindTag::Message => [members.content, None],
            ItemKindTag::Reasoning => [item.get("summary"), members.content],
            ItemKindTag::Call => return self.begin_arguments(item, out),
            ItemKindTag::Result | ItemKindTag::Notice => return,
        };
        for list in lists.into_iter().flatten() {
            for (index, part) in list.elements().enumerate() {
                out.within(part, |out| self.begin_part(part, index as u64, out));
            }
        }
    }

    /// Reads the arguments at the start of a call. The input of a custom tool is any text, so it is never complete
    /// before its end event.
    fn begin_arguments(&mut self, item: Val<'_>, out: &mut EventSink<'_>) {
        let [arguments, input] = item.get_all(["arguments", "input"]);
        let given = arguments.or(input).filter(|args| args.kind() == Kind::String && !args.is(""));
        given.map(|args| self.piece(Slot::Arguments, 0, args, out));
        let text = arguments.and_then(|arguments| arguments.str());
        self.complete = text.and_then(|text| CompleteArguments::of(&Args::Text(text), &mut String::new()));
    }

    /// Reads the start of a part: its text, unless the start of the item held the text. Returns `false` for an unknown
    /// part.
    pub(super) fn begin_part(&mut self, part: Val<'_>, index: u64, out: &mut EventSink<'_>) -> bool {
        let Some((tag, text, slot)) = text_member(part).filter(|_| self.item.is_some()) else { return false };
        let is_known = self.known(slot, index).is_some();
        let understood = if is_known || text.is("") {
            self.tell(slot, index, text, out)
        } else {
            self.piece(slot, index, text, out)
        };
        if understood {
            tag.note(Field::Structure);
            note_blanks(part);
        }
        understood
    }

    /// Reads a whole item, or the values that no earlier event held.
    pub(super) fn read(&mut self, item: Val<'_>, out: &mut EventSink<'_>) {
        let members = ItemMembers::of(item);
        if self.item.is_none() {
            self.open(item, &members, out);
        } else if self.repeats(out) {
            for ((name, field), known) in HEAD.into_iter().zip(&self.head) {
                item.get(name).filter(|val| val.text() == known).map(|val| val.note(field));
            }
            note_tag(item, "role", &["assistant"]);
        }
        let Some((id, of)) = self.item else { return };
        note_blanks(item);
        let mut tail = ItemTail::new(id, Status::Completed);
        match of {
            ItemKindTag::Message => self.read_message(members.content, out),
            ItemKindTag::Reasoning => self.read_reasoning(item, out),
            ItemKindTag::Call => self.read_call(members.arguments, out),
            ItemKindTag::Result => read_result(&members, &mut tail, out),
            ItemKindTag::Notice => {}
        }
        self.read_status(members.status, &mut tail);
        if !std::mem::replace(&mut self.is_complete, true) {
            out.end(tail);
        }
    }

    /// Ends an item without an end event.
    pub(super) fn end(&mut self, status: Status, out: &mut EventSink<'_>) {
        if let Some((id, _)) = self.item.filter(|_| !std::mem::replace(&mut self.is_complete, true)) {
            out.end(ItemTail::new(id, status));
        }
    }

    /// Whether repeated values may be claimed: not if the target had no field for the item.
    fn repeats(&self, out: &EventSink<'_>) -> bool {
        self.item.is_some_and(|(item, _)| !out.is_refused(item))
    }

    fn read_status(&self, status: Option<Val<'_>>, tail: &mut ItemTail<'_>) {
        let Some(status) = status.filter(|_| tail.is_error.is_none()) else { return };
        let word = status.str();
        match word.as_ref().map(Str::as_escaped) {
            Some("completed") => _ = status.note(Field::Structure),
            Some("incomplete") if !self.is_complete => {
                status.note(Field::ItemStatus);
                tail.status = Status::Interrupted;
            }
            Some("failed") if !self.is_complete => {
                status.note(Field::ItemStatus);
                tail.status = Status::Failed;
            }
            // Other statuses stay unclaimed.
            _ => {}
        }
    }

    /// Starts an item of a known type; any other item stays unclaimed.
    fn open(&mut self, item: Val<'_>, members: &ItemMembers<'_>, out: &mut EventSink<'_>) {
        let ItemMembers { tag, role, id, phase, content, call_id, name, output, .. } = *members;
        let word = tag.and_then(|tag| tag.str());
        // `type` is optional for messages.
        let word = word.as_ref().map_or(if role.is_some() { "message" } else { "" }, Str::as_escaped);
        // A call without a tool name cannot have a result, so the call stays unclaimed.
        if matches!(word, "function_call" | "custom_tool_call") && name.word().is_empty() {
            return;
        }
        let (kind, author, shape) = match word {
            "message" => {
                let Some(author) = role.and_then(|role| ROLES.value(&role.str()?)) else { return };
                match self.place {
                    Where::Request => role.map(|role| role.note(Field::ItemAuthor)),
                    Where::Answer | Where::Stream => {
                        role.filter(|role| role.is("assistant")).map(|role| role.note(Field::Structure))
                    }
                };
                (ItemKind::Message, author, shape_of(content))
            }
            "reasoning" => (ItemKind::Reasoning, Author::Assistant, Shape::One),
            _ => match call_of(word).or_else(|| hosted_call_of(word)) {
                Some(call) => {
                    let call = read_head_of_call(members, call);
                    (ItemKind::ToolCall(call), Author::Assistant, Shape::One)
                }
                None if is_result(word) => {
                    let call_id = call_id.take_text(Field::ResultCallId);
                    // The oldest result type holds the call id in `id`.
                    let own = || id.take_text(Field::ResultCallId);
                    let call_id = call_id.or_else(|| (word == "local_shell_call_output").then(own).flatten());
                    let result = ToolResult { call_id, name: name.take_text(Field::ResultName) };
                    (ItemKind::ToolResult(result), Author::Tool, shape_of(output))
                }
                None => return,
            },
        };
        let is_call = matches!(kind, ItemKind::ToolCall(_));
        tag.map(|tag| tag.note(if is_call { Field::CallKind } else { Field::Structure }));
        let phase = phase.filter(|_| matches!(kind, ItemKind::Message)).take_text(Field::ItemPhase);
        let native_id = id.filter(|id| id.claimed() == Claim::Free).take_text(Field::ItemId);
        let native_id = native_id.filter(|id| !id.is_empty());
        if self.place == Where::Stream {
            let head = HEAD.iter().map(|(name, _)| item.get(name).map_or("", |val| val.text()).to_owned());
            self.head = head.collect();
        }
        let head = out.head(kind, author);
        self.start(ItemHead { native_id, phase, shape, ..head }, out);
    }

    fn read_message(&mut self, content: Option<Val<'_>>, out: &mut EventSink<'_>) {
        let Some(content) = content else { return };
        if content.kind() == Kind::String {
            self.tell(Slot::Text, 0, content, out);
            return;
        }
        for (index, part) in content.elements().enumerate() {
            out.within(part, |out| self.read_part(part, index as u64, out));
        }
    }

    /// Reads a whole part of a message or of reasoning.
    pub(super) fn read_part(&mut self, part: Val<'_>, index: u64, out: &mut EventSink<'_>) {
        let Some((item, of)) = self.item else { return };
        if let Some((tag, text, slot)) = text_member(part) {
            note_blanks(part);
            let free = tag.claimed();
            tag.note(Field::Structure);
            if !self.tell(slot, index, text, out) {
                tag.claim(free);
            }
            for (number, note) in
                part.get("annotations").into_iter().flat_map(|notes| notes.elements()).enumerate()
            {
                out.within(note, |out| self.annotate((slot, index), number, note, out));
            }
        } else if let Some(media) = take_media(part, of, out).filter(|_| !self.is_complete) {
            out.delta(item, index as u32, media);
        } else {
            return;
        }
        if let Some(mark) = mark(part) {
            out.delta(item, index as u32, Part::Cache(mark));
        }
    }

    /// Reads an annotation of a text.
    pub(super) fn annotate(
        &mut self,
        (slot, index): (Slot, u64),
        number: usize,
        note: Val<'_>,
        out: &mut EventSink<'_>,
    ) {
        let Some((item, _)) = self.item else { return };
        let part = self.part_of(slot, index);
        let repeats = self.repeats(out);
        let told = self.told.get_mut(part as usize).filter(|_| self.place == Where::Stream);
        match told.as_ref().map(|told| told.notes.get(number)) {
            Some(Some(known)) => {
                if known == note.text() && repeats {
                    citation(note);
                }
            }
            _ if self.is_complete => {}
            _ => {
                if let Some(told) = told {
                    told.notes.push(note.text().to_owned());
                }
                if let Some(citation) = citation(note) {
                    out.delta(item, part, Part::Citation(citation));
                }
            }
        }
    }

    /// The number of annotations of a text so far.
    pub(super) fn annotations(&self, index: u64) -> usize {
        self.known(Slot::Text, index).and_then(|at| self.told.get(at)).map_or(0, |told| told.notes.len())
    }

    fn read_reasoning(&mut self, item: Val<'_>, out: &mut EventSink<'_>) {
        let Some((id, _)) = self.item else { return };
        for list in ["summary", "content"] {
            let mut count = 0;
            for part in item.get(list).into_iter().flat_map(|list| list.elements()) {
                out.within(part, |out| self.read_part(part, count, out));
                count += 1;
            }
            self.parts += count as u32;
        }
        let next = self.part_of(Slot::Arguments, 0);
        if let Some(state) = item.get("encrypted_content")
            && let Some(opaque) = read_state(state)
            && self.is_news(state)
        {
            state.take(opaque.kind.field());
            out.delta(id, next, Part::Opaque(opaque));
        } else if let Some(state) = item.get("encrypted_content").filter(|state| self.is_told(*state, out)) {
            read_state(state).map(|opaque| state.take(opaque.kind.field()));
        }
    }

    fn read_call(&mut self, arguments: [Option<Val<'_>>; 4], out: &mut EventSink<'_>) {
        let Some((id, _)) = self.item else { return };
        for args in arguments.into_iter().flatten() {
            match args.kind() {
                Kind::String => _ = self.tell(Slot::Arguments, 0, args, out),
                Kind::Object if self.is_news(args) => {
                    out.delta(id, 0, Part::Args(Args::Json(args.take(Field::CallArgs))));
                }
                Kind::Object if self.is_told(args, out) => _ = args.take(Field::CallArgs),
                Kind::Null | Kind::Bool | Kind::Number | Kind::Array | Kind::Object => {}
            }
        }
    }

    /// Whether a value may be emitted: only while the item is open. In a stream the value is stored, to recognise
    /// repetitions.
    fn is_news(&mut self, val: Val<'_>) -> bool {
        if self.is_complete {
            return false;
        }
        if self.place == Where::Stream {
            self.values.push(val.text().to_owned());
        }
        true
    }

    /// Whether an earlier event held the value, so that the repetition may be claimed.
    fn is_told(&self, val: Val<'_>, out: &EventSink<'_>) -> bool {
        self.repeats(out) && self.values.iter().any(|known| known == val.text())
    }

    /// The part number of a text.
    fn part_of(&self, slot: Slot, index: u64) -> u32 {
        match self.place {
            Where::Request | Where::Answer => self.parts.saturating_add(index as u32),
            Where::Stream => self.known(slot, index).unwrap_or(self.told.len()) as u32,
        }
    }

    fn known(&self, slot: Slot, index: u64) -> Option<usize> {
        let is_it = |told: &ToldText| told.slot == slot && told.index == index;
        // Fast path: nearly always the text is the last.
        match self.told.last() {
            Some(last) if is_it(last) => Some(self.told.len() - 1),
            _ => self.places.get(&(slot, index)).copied(),
        }
    }

    /// Whether a piece may have this index: a known index, or the next.
    pub(super) fn expects(&self, slot: Slot, index: u64) -> bool {
        self.known(slot, index).is_some() || self.counts.get(slot.list()).is_some_and(|count| *count == index)
    }

    /// Emits a whole text, unless earlier events held it.
    pub(super) fn tell(&mut self, slot: Slot, index: u64, val: Val<'_>, out: &mut EventSink<'_>) -> bool {
        let (Some((item, of)), Some(text)) = (self.item, val.str()) else { return false };
        let field = slot.field(of);
        if text.is_empty() {
            val.note(Field::Structure);
            return true;
        }
        if let Some(told) = self.known(slot, index).and_then(|at| self.told.get(at))
            && !told.text.is_empty()
        {
            let is_same = told.text == text.as_escaped() && self.repeats(out);
            if is_same {
                val.take(field);
            }
            return is_same;
        }
        if self.is_complete {
            return false;
        }
        val.take(field);
        let part = self.part_of(slot, index);
        self.remember(slot, index, &text);
        out.delta(item, part, part_with(slot, text));
        true
    }

    /// Emits a piece of a text.
    pub(super) fn piece(&mut self, slot: Slot, index: u64, val: Val<'_>, out: &mut EventSink<'_>) -> bool {
        if self.item.is_none() {
            self.begin_as(slot, out);
        }
        let (Some((item, of)), Some(text)) = (self.item.filter(|_| !self.is_complete), val.str()) else {
            return false;
        };
        if let Some(complete) = self.complete.as_mut().filter(|_| slot == Slot::Arguments) {
            let repeats = complete.repeats(&text) && self.repeats(out);
            if repeats {
                val.take(slot.field(of));
            }
            return repeats;
        }
        val.take(slot.field(of));
        let part = self.part_of(slot, index);
        self.remember(slot, index, &text);
        if slot == Slot::Arguments && of == ItemKindTag::Call {
            out.piece(item, 0, Part::Args(Args::Text(text)));
        } else {
            out.piece(item, part, part_with(slot, text));
        }
        true
    }

    fn remember(&mut self, slot: Slot, index: u64, text: &Str<'_>) {
        self.facts.refused |= slot == Slot::Refusal;
        if self.place != Where::Stream {
            return;
        }
        if let Some(told) = self.known(slot, index).and_then(|at| self.told.get_mut(at)) {
            told.text.push_str(text.as_escaped());
        } else {
            let text = text.as_escaped().to_owned();
            self.places.insert((slot, index), self.told.len());
            if let Some(count) = self.counts.get_mut(slot.list()) {
                *count += 1;
            }
            self.told.push(ToldText { slot, index, text, notes: Vec::new() });
        }
    }
}

fn part_with(slot: Slot, text: Str<'_>) -> Part<'_> {
    match slot {
        Slot::Text | Slot::Thought => Part::Text(text),
        Slot::Refusal => Part::Refusal(text),
        Slot::Summary => Part::Summary(text),
        Slot::Arguments => Part::Args(Args::Text(text)),
    }
}

/// The kind and name of calls that Codex does not log as calls: calls of the vendor's own tools, and of tools that the
/// vendor runs.
fn hosted_call_of(word: &str) -> Option<(CallKind, &'static str)> {
    Some(match word {
        "shell_call" => (CallKind::Vendor, "shell"),
        "apply_patch_call" => (CallKind::Vendor, "apply_patch"),
        "computer_call" => (CallKind::Vendor, "computer"),
        "file_search_call" => (CallKind::Server, "file_search"),
        "code_interpreter_call" => (CallKind::Server, "code_interpreter"),
        "image_generation_call" => (CallKind::Server, "image_generation"),
        "mcp_call" => (CallKind::Mcp, ""),
        _ => return None,
    })
}

/// Whether this item type is a tool result.
fn is_result(word: &str) -> bool {
    super::super::items::is_result(word)
        || matches!(
            word,
            "local_shell_call_output"
                | "shell_call_output"
                | "apply_patch_call_output"
                | "computer_call_output"
        )
}

fn read_head_of_call<'t>(
    members: &ItemMembers<'t>,
    (kind, own_name): (CallKind, &'static str),
) -> ToolCall<'t> {
    let ItemMembers { call_id, name, namespace, server, .. } = *members;
    let call_id = call_id.take_text(Field::CallId).filter(|id| !id.is_empty());
    // A tool search that the provider ran itself has no call id.
    let is_server = own_name == "tool_search" && call_id.is_none();
    let group = namespace.or(server.filter(|_| kind == CallKind::Mcp));
    ToolCall {
        call_id,
        kind: if is_server { CallKind::Server } else { kind },
        namespace: group.take_text(Field::CallNamespace),
        name: name.take_text(Field::CallName).unwrap_or(Str::escaped(own_name)),
    }
}

/// Reads the output of a tool: a text, parts, or any other value.
fn read_result(members: &ItemMembers<'_>, tail: &mut ItemTail<'_>, out: &mut EventSink<'_>) {
    let ItemMembers { status, output, .. } = *members;
    let item = tail.id;
    if let Some(status) = status.filter(|status| status.is("failed")) {
        status.note(Field::ResultIsError);
        (tail.is_error, tail.status) = (Some(true), Status::Failed);
    }
    let Some(output) = output else { return };
    if let Some(text) = output.take_text(Field::ResultText) {
        return out.delta(item, 0, Part::Text(unmarked(&text, tail)));
    }
    if output.kind() == Kind::Object && is_part(output) {
        if let Some(media) = take_media(output, ItemKindTag::Result, out) {
            out.delta(item, 0, media);
        }
        return;
    }
    let is_list = output.kind() == Kind::Array && output.elements().all(is_part);
    if !is_list {
        if !output.is_null() {
            out.delta(item, 0, Part::Json(output.take(Field::ResultJson)));
        }
        return;
    }
    for (number, part) in output.elements().enumerate() {
        let number = number as u32;
        if let Some((tag, text, _)) = text_member(part) {
            tag.note(Field::Structure);
            note_blanks(part);
            if let Some(text) = text.take_text(Field::ResultText) {
                let text = if number == 0 { unmarked(&text, tail) } else { text.reborrow() };
                out.within(part, |out| out.delta(item, number, Part::Text(text)));
            }
        } else if let Some(media) = take_media(part, ItemKindTag::Result, out) {
            out.within(part, |out| out.delta(item, number, media));
        }
        if let Some(mark) = mark(part) {
            out.within(part, |out| out.delta(item, number, Part::Cache(mark)));
        }
    }
}

/// The text of a result without our mark for failure or success.
fn unmarked<'a>(text: &'a Str<'_>, tail: &mut ItemTail<'_>) -> Str<'a> {
    let text = text.as_escaped();
    if let Some(rest) = strip_mark(text, ERROR_MARK) {
        (tail.is_error, tail.status) = (Some(true), Status::Failed);
        return Str::escaped(rest);
    }
    Str::escaped(strip_mark(text, OK_MARK).unwrap_or(text))
}
