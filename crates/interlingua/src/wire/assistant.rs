//! The content of an assistant message, in sequence: texts, reasoning, encrypted reasoning, calls.
//!
//! [`AssistantWriter`] decides which block opens, grows and closes; an [`AssistantForm`] writes the blocks, as one
//! message or as pieces of a stream. Items that overlap in the source (parallel calls) are written in sequence, in the
//! order they began. Content without a place is booked on arrival, before it is queued.

use std::collections::{HashSet, VecDeque};

use super::aliases;
use super::arguments;
use super::backends::{Capabilities, NameRule, RuleWords};
use super::content::{HeldText, is_blank};
use super::profile::{ArgumentForm, BlankText, FreeText, Marks, Profile, Refusals};
use super::words::AnswerFacts;
use crate::json::Str;
use crate::ledger::{Reason, text_key};
use crate::model::{
    Args, Arrival, CacheMark, CallKind, Citation, Delta, Event, Field, ItemHead, ItemId, ItemKind,
    ItemKindTag, ItemTail, Opaque, OpaqueKind, Part, Status, Tool, ToolCall,
};
use crate::pipe::{OpenItems, WriterOutput};
use crate::tape::TapeBuf;

/// The start of a block.
pub(crate) enum Opening<'a> {
    /// The text of the given item and part.
    Text(ItemId, u32),
    /// Reasoning, visible or only signed.
    Thinking,
    /// Encrypted reasoning.
    Encrypted(&'a Opaque<'a>),
    /// A call.
    Call(CallOpening<'a>),
}

/// The start of a call.
pub(crate) struct CallOpening<'a> {
    /// The number of earlier calls.
    pub(crate) number: u64,
    pub(crate) id: &'a Str<'a>,
    /// The group of tools, where the target has groups.
    pub(crate) namespace: Option<&'a Str<'a>>,
    pub(crate) name: &'a Str<'a>,
    /// The arguments are plain text.
    pub(crate) free_text: bool,
}

/// An addition to the open block.
pub(crate) enum Growth<'a> {
    Text(&'a Str<'a>),
    /// Only in dialects with separate refusals; then no block is open.
    Refusal(&'a Str<'a>),
    Thinking(&'a Str<'a>),
    /// The only signature of the open reasoning, always its last piece.
    Signature(&'a Opaque<'a>),
    /// Arguments, or a piece of them.
    Arguments(&'a Args<'a>),
    /// A citation of the open text.
    Citation(&'a Citation<'a>),
    /// A cache mark on the open text or call.
    Cache(&'a CacheMark<'a>),
}

/// A dialect's form of an assistant message.
pub(crate) trait AssistantForm {
    /// Whether the dialect has a place for the citation.
    fn cites(&self, citation: &Citation<'_>) -> bool;
    /// Starts a message; its blocks open later, piece by piece.
    fn message(&mut self, _: &ItemHead<'_>) {}
    /// Starts reasoning or a call; a call opens at once, reasoning with its first content.
    fn item(&mut self, _: &ItemHead<'_>) {}
    /// Announces the piece that the next opening and growth belong to.
    fn piece(&mut self, _: &Delta<'_>, _: &mut WriterOutput<'_>) {}
    /// Whether the parts of reasoning are written separately. If not, a blank line is written between parts.
    fn parts_thoughts(&self) -> bool {
        false
    }
    /// Opens a block, after the previous block was closed.
    fn open(&mut self, opening: Opening<'_>, out: &mut WriterOutput<'_>);
    /// Adds to the open block.
    fn grow(&mut self, growth: Growth<'_>, out: &mut WriterOutput<'_>);
    /// Marks the open block as interrupted. It is closed later, in a stream only when more content follows.
    fn cut(&mut self, _: &mut WriterOutput<'_>) {}
    /// Closes the open block.
    fn close(&mut self, out: &mut WriterOutput<'_>);
}

/// The shared engine for assistant messages.
pub(crate) struct AssistantWriter {
    profile: &'static Profile,
    ids: NameRule,
    names: NameRule,
    /// The tool groups that the request declares.
    groups: HashSet<String>,
    /// Further issuers whose state the backend accepts.
    state_of: RuleWords,
    items: OpenItems<OpenItem>,
    /// The item whose pieces are being written; pieces of a message are written while there is none.
    current: Option<(ItemId, Current)>,
    waiting: VecDeque<WaitingUtterance>,
    /// The number of queued entries released so far.
    released: u64,
    open: OpenUtterance,
    signature: Option<(Str<'static>, HeldText)>,
    /// The last written part of reasoning.
    thought: Option<(ItemId, u32)>,
    /// The open call has arguments.
    argued: bool,
    calls: u64,
    /// The keys of the call ids of an answer; `None` in a request.
    call_ids: Option<HashSet<u128>>,
    refused: bool,
    /// The id of the answer; `None` in a request.
    pub(crate) answer: Option<Str<'static>>,
    tape: TapeBuf,
}

/// An incomplete item of the source.
#[derive(Clone, Copy)]
struct OpenItem {
    of: ItemKindTag,
    /// The item's number among all entries queued so far.
    waits: Option<u64>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Current {
    Reasoning,
    Call,
    /// A plain-text call for a target with object arguments only: the text becomes the member `input`.
    WrappedCall,
}

/// The open block of the form.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum OpenUtterance {
    #[default]
    Nothing,
    Text(ItemId, u32),
    Thinking,
    Call,
    Encrypted,
}

/// Content that waits until the preceding item is complete.
enum WaitingUtterance {
    Item {
        head: Box<ItemHead<'static>>,
        deltas: Vec<Delta<'static>>,
        tail: Option<ItemTail<'static>>,
    },
    /// Content of the message itself.
    OfMessage(Delta<'static>),
}

impl AssistantWriter {
    pub(crate) fn new(profile: &'static Profile) -> Self {
        Self {
            profile,
            ids: profile.answer_ids,
            names: NameRule::ANY,
            groups: HashSet::default(),
            state_of: RuleWords::default(),
            items: OpenItems::default(),
            current: None,
            waiting: VecDeque::new(),
            released: 0,
            open: OpenUtterance::Nothing,
            signature: None,
            thought: None,
            argued: false,
            calls: 0,
            call_ids: Some(HashSet::default()),
            refused: false,
            answer: None,
            tape: TapeBuf::default(),
        }
    }

    /// Sets a backend's rules for ids and names, and the tools declared in the request.
    pub(crate) fn obey(&mut self, takes: &Capabilities, tools: &[Tool<'_>]) {
        let groups = tools.iter().filter_map(|tool| tool.namespace.as_ref());
        self.groups = groups.map(|group| group.as_escaped().to_owned()).collect();
        (self.ids, self.names, self.call_ids) = (takes.call_ids, takes.tool_names, None);
        self.state_of.clone_from(&takes.state_of);
    }

    /// Starts a new message.
    pub(crate) fn reset(&mut self) {
        (self.calls, self.refused) = (0, false);
    }

    pub(crate) fn facts(&self) -> AnswerFacts {
        AnswerFacts { calls: self.calls > 0, refused: self.refused }
    }

    /// Handles an event about items. At the end of a turn or on a failure, all queued content is written.
    pub(crate) fn event(
        &mut self,
        event: &Event<'_>,
        form: &mut dyn AssistantForm,
        out: &mut WriterOutput<'_>,
    ) {
        match event {
            Event::ItemStarted(head) => self.item_started(head, form, out),
            Event::ItemDelta(delta) => self.item_grew(delta, form, out),
            Event::ItemCompleted(tail) => self.item_completed(tail, form, out),
            _ => {
                while !self.waiting.is_empty() {
                    self.current = None;
                    self.release(form, out);
                }
            }
        }
    }

    /// Closes the open block. An interrupted block stays open until more content follows: a client that sees the block
    /// closed would take an incomplete call for a complete one.
    pub(crate) fn close(&mut self, form: &mut dyn AssistantForm, out: &mut WriterOutput<'_>) {
        self.sign(form, out);
        if std::mem::take(&mut self.open) != OpenUtterance::Nothing {
            form.close(out);
        }
    }

    fn item_started(
        &mut self,
        head: &ItemHead<'_>,
        form: &mut dyn AssistantForm,
        out: &mut WriterOutput<'_>,
    ) {
        let mut item = OpenItem { of: ItemKindTag::item(&head.kind), waits: None };
        if let ItemKind::ToolCall(call) = &head.kind
            && call.kind == CallKind::Vendor
        {
            out.lose(Field::CallKind, Reason::Narrowed);
        }
        if matches!(head.kind, ItemKind::Message) {
            form.message(head);
        } else if self.current.is_none() {
            self.start(head, form, out);
        } else {
            item.waits = Some(self.released + self.waiting.len() as u64);
            let head = Box::new(head.clone().into_owned());
            self.waiting.push_back(WaitingUtterance::Item { head, deltas: Vec::new(), tail: None });
        }
        self.items.insert(head.id, item);
    }

    fn item_grew(&mut self, delta: &Delta<'_>, form: &mut dyn AssistantForm, out: &mut WriterOutput<'_>) {
        let unknown = OpenItem { of: ItemKindTag::Message, waits: None };
        let OpenItem { of, waits } = self.items.get(delta.item).copied().unwrap_or(unknown);
        if let Err(reason) = self.takes(of, delta, form) {
            return out.lose_part(of, &delta.value, reason);
        }
        if self.current.is_none_or(|(current, _)| current == delta.item) {
            return self.grow(delta, form, out);
        }
        let delta = delta.clone().into_owned();
        match self.waiting_item(waits) {
            Some((deltas, _)) => deltas.push(delta),
            None => self.waiting.push_back(WaitingUtterance::OfMessage(delta)),
        }
    }

    fn item_completed(
        &mut self,
        tail: &ItemTail<'_>,
        form: &mut dyn AssistantForm,
        out: &mut WriterOutput<'_>,
    ) {
        let waits = self.items.remove(tail.id).and_then(|item| item.waits);
        if let Some((_, end)) = self.waiting_item(waits) {
            *end = Some(tail.clone().into_owned());
            return;
        }
        self.complete(tail, form, out);
        if !self.waiting.is_empty() {
            self.release(form, out);
        }
    }

    /// The deltas and the tail of a queued item.
    fn waiting_item(
        &mut self,
        number: Option<u64>,
    ) -> Option<(&mut Vec<Delta<'static>>, &mut Option<ItemTail<'static>>)> {
        let place = number?.checked_sub(self.released)?;
        match self.waiting.get_mut(usize::try_from(place).ok()?)? {
            WaitingUtterance::Item { deltas, tail, .. } => Some((deltas, tail)),
            WaitingUtterance::OfMessage(_) => None,
        }
    }

    /// Writes queued content, up to an incomplete item.
    fn release(&mut self, form: &mut dyn AssistantForm, out: &mut WriterOutput<'_>) {
        while self.current.is_none() {
            let Some(next) = self.waiting.pop_front() else { return };
            self.released += 1;
            let out = &mut out.of_earlier_frames();
            match next {
                WaitingUtterance::OfMessage(delta) => self.grow(&delta, form, out),
                WaitingUtterance::Item { head, deltas, tail } => {
                    self.start(&head, form, out);
                    for delta in &deltas {
                        self.grow(delta, form, out);
                    }
                    if let Some(tail) = tail {
                        self.complete(&tail, form, out);
                    }
                }
            }
        }
    }

    /// Whether the form has a place for a piece of an item of this kind.
    fn takes(&self, of: ItemKindTag, delta: &Delta<'_>, form: &dyn AssistantForm) -> Result<(), Reason> {
        let Delta { item, part, value, arrival } = delta;
        match (of, value) {
            (ItemKindTag::Message, Part::Text(text) | Part::Summary(text) | Part::Refusal(text)) => {
                let refuses = self.profile.texts.blank == BlankText::Refuse
                    && *arrival == Arrival::Whole
                    && self.open != OpenUtterance::Text(*item, *part)
                    && is_blank(text);
                match refuses {
                    true => Err(Reason::Refused),
                    false if text.is_empty() => Err(Reason::Redundant),
                    false => Ok(()),
                }
            }
            (ItemKindTag::Message, Part::Json(_))
            | (ItemKindTag::Reasoning, Part::Text(_) | Part::Summary(_))
            | (ItemKindTag::Call, Part::Args(_)) => Ok(()),
            (ItemKindTag::Reasoning, Part::Opaque(opaque))
                if self.state_of.iter().any(|issuer| opaque.is_of(issuer)) =>
            {
                Ok(())
            }
            (ItemKindTag::Reasoning, Part::Opaque(opaque)) => self.profile.takes_opaque(opaque),
            (_, Part::Opaque(_)) => Err(Reason::Foreign),
            (ItemKindTag::Message, Part::Citation(citation)) if form.cites(citation) => Ok(()),
            (ItemKindTag::Message, Part::Cache(_)) if self.profile.marks >= Marks::Texts => Ok(()),
            (ItemKindTag::Call, Part::Cache(_)) if self.profile.marks == Marks::TextsAndCalls => Ok(()),
            (
                ItemKindTag::Message
                | ItemKindTag::Reasoning
                | ItemKindTag::Call
                | ItemKindTag::Result
                | ItemKindTag::Notice,
                _,
            ) => Err(Reason::NoSlot),
        }
    }

    fn start(&mut self, head: &ItemHead<'_>, form: &mut dyn AssistantForm, out: &mut WriterOutput<'_>) {
        form.item(head);
        match &head.kind {
            ItemKind::Reasoning => self.current = Some((head.id, Current::Reasoning)),
            ItemKind::ToolCall(ToolCall { call_id, kind, namespace, name }) => {
                let id = aliases::call_id(call_id.as_ref(), self.ids, self.answer.as_ref(), head.id);
                if call_id.as_ref().is_none_or(|old| old.as_escaped() != id.as_escaped()) {
                    out.ledger.note("tool call id replaced by one the target takes");
                }
                let id = self.only(id, call_id.as_ref(), out);
                let (namespace, name) = if self.profile.groups {
                    (namespace.as_ref(), aliases::tool_name(name, self.names, out.ledger))
                } else {
                    (None, aliases::flat_name(namespace.as_ref(), name, (self.names, &self.groups), out))
                };
                let free_text = *kind == CallKind::FreeText && self.profile.free_text == FreeText::Native;
                let wrapped = *kind == CallKind::FreeText && !free_text;
                self.close(form, out);
                let call = CallOpening { number: self.calls, id: &id, namespace, name: &name, free_text };
                form.open(Opening::Call(call), out);
                self.open = OpenUtterance::Call;
                self.calls += 1;
                // Free text may be empty; empty arguments are not valid JSON.
                self.argued = free_text;
                self.current = Some((head.id, if wrapped { Current::WrappedCall } else { Current::Call }));
                if wrapped {
                    out.ledger.note("free text of a tool call became the member `input`");
                    self.arguments(&Args::Text(Str::plain("{\"input\":\"")), form, out);
                }
            }
            // A message opens with its first part; the other kinds are filtered out before.
            ItemKind::Message | ItemKind::ToolResult(_) | ItemKind::Notice(_) => {}
        }
    }

    /// The id of a call, or a new id if an earlier call of the same answer has it: a client identifies a call by its
    /// id when it sends the result. Ids of requests are made unique by the request writer, which sees the whole
    /// conversation.
    fn only<'a>(&mut self, id: Str<'a>, issued: Option<&Str<'_>>, out: &mut WriterOutput<'_>) -> Str<'a> {
        let Some(known) = &mut self.call_ids else { return id };
        let mut is_new = |id: &Str<'_>| known.insert(text_key(id.as_escaped()));
        if is_new(&id) {
            return id;
        }
        out.ledger.note("call with the id of an earlier one got an id of its own");
        let stem = issued.unwrap_or(&id).reborrow().into_owned();
        aliases::numbered_id(&stem, usize::try_from(self.calls).unwrap_or(usize::MAX), self.ids, is_new)
    }

    fn grow(&mut self, delta: &Delta<'_>, form: &mut dyn AssistantForm, out: &mut WriterOutput<'_>) {
        let Delta { item, part, value, arrival: _ } = delta;
        form.piece(delta, out);
        let current = self.current.filter(|(current, _)| current == item).map(|(_, current)| current);
        match (current, value) {
            (None, Part::Text(text) | Part::Summary(text)) => self.text(*item, *part, text, form, out),
            (None, Part::Refusal(text)) if self.profile.refusals == Refusals::Apart => {
                self.refused = true;
                self.close(form, out);
                form.grow(Growth::Refusal(text), out);
            }
            (None, Part::Refusal(text)) => {
                out.ledger.note("refusal written as text");
                self.text(*item, *part, text, form, out);
            }
            (None, Part::Json(json)) => {
                out.ledger.note("JSON content written as text");
                self.text(*item, *part, &Str::plain(json.as_str()), form, out);
            }
            (None, Part::Citation(citation)) if self.open == OpenUtterance::Text(*item, *part) => {
                form.grow(Growth::Citation(citation), out);
            }
            (None, Part::Cache(mark)) if self.open == OpenUtterance::Text(*item, *part) => {
                form.grow(Growth::Cache(mark), out);
            }
            // The text these parts refer to was not written, or is closed.
            (None, Part::Citation(_) | Part::Cache(_)) => {
                out.lose_part(ItemKindTag::Message, value, Reason::Refused);
            }
            (Some(Current::Reasoning), Part::Text(text) | Part::Summary(text)) => {
                self.thinking(form, out);
                let before = self.thought.replace((*item, *part));
                let follows = before.is_some_and(|(of, last)| of == *item && last != *part);
                if follows && !text.is_empty() && !form.parts_thoughts() {
                    out.ledger.note("parts of a thought joined by a blank line");
                    form.grow(Growth::Thinking(&Str::escaped("\\n\\n")), out);
                }
                form.grow(Growth::Thinking(text), out);
            }
            (Some(Current::Reasoning), Part::Opaque(opaque)) => self.opaque(opaque, form, out),
            (Some(Current::WrappedCall), Part::Args(args)) => {
                let text = arguments::as_text(args, &mut self.tape).into_owned();
                self.arguments(&Args::Text(Str::plain(text.as_escaped())), form, out);
            }
            (Some(Current::Call), Part::Args(args)) => self.arguments(args, form, out),
            (Some(Current::Call | Current::WrappedCall), Part::Cache(mark)) => {
                form.grow(Growth::Cache(mark), out);
            }
            // [`AssistantWriter::takes`] has filtered out these parts.
            (None | Some(Current::Reasoning | Current::Call | Current::WrappedCall), _) => {}
        }
    }

    fn text(
        &mut self,
        item: ItemId,
        part: u32,
        text: &Str<'_>,
        form: &mut dyn AssistantForm,
        out: &mut WriterOutput<'_>,
    ) {
        if self.open != OpenUtterance::Text(item, part) {
            self.close(form, out);
            form.open(Opening::Text(item, part), out);
            self.open = OpenUtterance::Text(item, part);
        }
        form.grow(Growth::Text(text), out);
    }

    fn thinking(&mut self, form: &mut dyn AssistantForm, out: &mut WriterOutput<'_>) {
        if self.open != OpenUtterance::Thinking {
            self.close(form, out);
            form.open(Opening::Thinking, out);
            self.open = OpenUtterance::Thinking;
        }
    }

    fn opaque(&mut self, opaque: &Opaque<'_>, form: &mut dyn AssistantForm, out: &mut WriterOutput<'_>) {
        match opaque.kind {
            OpaqueKind::Signature if opaque.value.is_empty() => {}
            // A later signature replaces an earlier signature: the signature is written at the end of the reasoning.
            OpaqueKind::Signature => {
                self.thinking(form, out);
                let later = (opaque.issuer.clone().into_owned(), HeldText::new(&opaque.value, out));
                if let Some((_, earlier)) = self.signature.replace(later) {
                    earlier.lose(Field::Signature, Reason::Merged, out);
                }
            }
            OpaqueKind::Encrypted => {
                self.close(form, out);
                form.open(Opening::Encrypted(opaque), out);
                self.open = OpenUtterance::Encrypted;
            }
        }
    }

    /// Writes the signature of the open reasoning, if any.
    #[inline]
    fn sign(&mut self, form: &mut dyn AssistantForm, out: &mut WriterOutput<'_>) {
        if self.signature.is_some() {
            self.write_signature(form, out);
        }
    }

    #[cold]
    fn write_signature(&mut self, form: &mut dyn AssistantForm, out: &mut WriterOutput<'_>) {
        if let Some((issuer, value)) = self.signature.take() {
            let value = value.text();
            form.grow(Growth::Signature(&Opaque { kind: OpaqueKind::Signature, issuer, value }), out);
        }
    }

    fn arguments(&mut self, args: &Args<'_>, form: &mut dyn AssistantForm, out: &mut WriterOutput<'_>) {
        let raw = match (self.profile.arguments, args) {
            (ArgumentForm::Text, Args::Json(json)) => arguments::raw_arguments(json, &mut self.tape),
            (ArgumentForm::Text | ArgumentForm::Object, _) => None,
        };
        let raw = raw.map(Args::Text);
        let args = raw.as_ref().unwrap_or(args);
        if !matches!(args, Args::Text(text) if text.is_empty()) {
            self.argued = true;
            form.grow(Growth::Arguments(args), out);
        }
    }

    fn complete(&mut self, tail: &ItemTail<'_>, form: &mut dyn AssistantForm, out: &mut WriterOutput<'_>) {
        let ItemTail { id, status, .. } = tail;
        let is_cut = *status == Status::Interrupted;
        let Some((_, current)) = self.current.filter(|(current, _)| current == id) else {
            if matches!(self.open, OpenUtterance::Text(item, _) if item == *id) {
                if is_cut {
                    form.cut(out);
                } else {
                    self.close(form, out);
                }
            }
            return;
        };
        self.current = None;
        self.sign(form, out);
        if is_cut {
            return form.cut(out);
        }
        if current == Current::WrappedCall {
            self.arguments(&Args::Text(Str::plain("\"}")), form, out);
        }
        if current == Current::Call && !self.argued && self.profile.arguments == ArgumentForm::Text {
            self.arguments(&Args::Text(Str::escaped("{}")), form, out);
        }
        self.close(form, out);
    }
}
