//! What an assistant says, one thing after the other: texts, thinking, encrypted thinking, calls.
//!
//! [`AssistantWriter`] decides what opens, grows and closes; an [`AssistantForm`] writes that down, as one message or as
//! pieces of a stream. Things that overlap in the source (parallel calls) go out one after the other, in the order they
//! began. What has no place is booked when it comes, before anything waits.

use std::collections::{HashSet, VecDeque};

use super::aliases;
use super::arguments;
use super::backends::{Capabilities, NameRule};
use super::content::{HeldText, is_blank};
use super::profile::{ArgumentForm, BlankText, FreeText, Marks, Profile, Refusals};
use super::words::AnswerFacts;
use crate::json::Str;
use crate::ledger::{Reason, text_key};
use crate::model::{
    Args, Arrival, CacheMark, CallKind, Citation, Delta, Event, Field, ItemHead, ItemId, ItemKind, ItemTail,
    Of, Opaque, OpaqueKind, Part, Status, Tool, ToolCall,
};
use crate::pipe::{OpenItems, Target};
use crate::tape::TapeBuf;

/// How something an assistant says begins.
pub(crate) enum Opening<'a> {
    /// The part of that number of an item.
    Text(ItemId, u32),
    /// Thinking, shown or only signed.
    Thinking,
    /// Thinking that cannot be read.
    Encrypted(&'a Opaque<'a>),
    /// A call.
    Call(CallOpening<'a>),
}

/// How a call begins.
pub(crate) struct CallOpening<'a> {
    /// Calls before it.
    pub(crate) number: u64,
    pub(crate) id: &'a Str<'a>,
    /// The group of tools, where the target has groups.
    pub(crate) namespace: Option<&'a Str<'a>>,
    pub(crate) name: &'a Str<'a>,
    /// Its arguments are plain text.
    pub(crate) free_text: bool,
}

/// What it grows by.
pub(crate) enum Growth<'a> {
    Text(&'a Str<'a>),
    /// Only where refusals stand apart; then nothing is open.
    Refusal(&'a Str<'a>),
    Thinking(&'a Str<'a>),
    /// The one signature of the thinking that is open. Nothing follows it.
    Signature(&'a Opaque<'a>),
    /// (A piece of) arguments.
    Arguments(&'a Args<'a>),
    /// Of the text that is open.
    Citation(&'a Citation<'a>),
    /// On the text or call that is open.
    Cache(&'a CacheMark<'a>),
}

/// Where it goes.
pub(crate) trait AssistantForm {
    /// Whether a citation has a place there.
    fn cites(&self, citation: &Citation<'_>) -> bool;
    /// A message begins; what it says opens later, piece by piece.
    fn message(&mut self, _: &ItemHead<'_>) {}
    /// Reasoning or a call begins; a call opens at once, reasoning when it says something.
    fn item(&mut self, _: &ItemHead<'_>) {}
    /// What opens and grows next is this piece.
    fn piece(&mut self, _: &Delta<'_>, _: &mut Target<'_>) {}
    /// Whether the parts of a thought stand apart. Where they do not, a blank line stands between them.
    fn parts_thoughts(&self) -> bool {
        false
    }
    /// Something begins, after what was open before it has closed.
    fn open(&mut self, opening: Opening<'_>, out: &mut Target<'_>);
    /// What is open grows.
    fn grow(&mut self, growth: Growth<'_>, out: &mut Target<'_>);
    /// What is open was cut off. It closes later, and in a stream only then.
    fn cut(&mut self, _: &mut Target<'_>) {}
    /// What is open ends.
    fn close(&mut self, out: &mut Target<'_>);
}

/// The one engine behind every assistant's message.
pub(crate) struct AssistantWriter {
    profile: &'static Profile,
    ids: NameRule,
    names: NameRule,
    /// The groups of tools that the request declares.
    groups: HashSet<String>,
    /// The issuers whose state a backend takes beside that of its own.
    state_of: &'static [&'static str],
    items: OpenItems<OpenItem>,
    /// Whose pieces are written now; pieces of a message are written while there is none.
    current: Option<(ItemId, Current)>,
    waiting: VecDeque<WaitingUtterance>,
    /// How many have waited and do no longer.
    released: u64,
    open: OpenUtterance,
    signature: Option<(Str<'static>, HeldText)>,
    /// The part of a thought that spoke last.
    thought: Option<(ItemId, u32)>,
    /// The call that is open has arguments.
    argued: bool,
    calls: u64,
    /// The keys of the ids of an answer's calls; none in a request.
    call_ids: Option<HashSet<u128>>,
    refused: bool,
    /// The id of the answer, unless this is a request.
    pub(crate) answer: Option<Str<'static>>,
    tape: TapeBuf,
}

/// An item of the source that is not complete.
#[derive(Clone, Copy)]
struct OpenItem {
    of: Of,
    /// Its number among those that wait or have waited.
    waits: Option<u64>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Current {
    Reasoning,
    Call,
    /// Plain text for a target that has only objects: it becomes the member `input`.
    WrappedCall,
}

/// What the form has open.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum OpenUtterance {
    #[default]
    Nothing,
    Text(ItemId, u32),
    Thinking,
    Call,
    Encrypted,
}

/// What must wait until the item before it is complete.
enum WaitingUtterance {
    Item {
        head: Box<ItemHead<'static>>,
        deltas: Vec<Delta<'static>>,
        tail: Option<ItemTail<'static>>,
    },
    /// What the message itself said meanwhile.
    OfMessage(Delta<'static>),
}

impl AssistantWriter {
    pub(crate) fn new(profile: &'static Profile) -> Self {
        Self {
            profile,
            ids: profile.answer_ids,
            names: NameRule::ANY,
            groups: HashSet::default(),
            state_of: &[],
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

    /// The target is a backend with rules for ids and names, and the request declares these tools.
    pub(crate) fn obey(&mut self, takes: &Capabilities, tools: &[Tool<'_>]) {
        let groups = tools.iter().filter_map(|tool| tool.namespace.as_ref());
        self.groups = groups.map(|group| group.as_escaped().to_owned()).collect();
        (self.ids, self.names, self.call_ids) = (takes.call_ids, takes.tool_names, None);
        self.state_of = takes.state_of;
    }

    /// A new message begins.
    pub(crate) fn reset(&mut self) {
        (self.calls, self.refused) = (0, false);
    }

    pub(crate) fn facts(&self) -> AnswerFacts {
        AnswerFacts { calls: self.calls > 0, refused: self.refused }
    }

    /// Takes an event about items. Before the end of a turn or a failure, everything that waits must go out.
    pub(crate) fn event(&mut self, event: &Event<'_>, form: &mut dyn AssistantForm, out: &mut Target<'_>) {
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

    /// Closes what is open. An interrupted block stays open until something follows it: a client that sees it closed
    /// would take a cut call for a whole one.
    pub(crate) fn close(&mut self, form: &mut dyn AssistantForm, out: &mut Target<'_>) {
        self.sign(form, out);
        if std::mem::take(&mut self.open) != OpenUtterance::Nothing {
            form.close(out);
        }
    }

    fn item_started(&mut self, head: &ItemHead<'_>, form: &mut dyn AssistantForm, out: &mut Target<'_>) {
        let mut item = OpenItem { of: Of::item(&head.kind), waits: None };
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

    fn item_grew(&mut self, delta: &Delta<'_>, form: &mut dyn AssistantForm, out: &mut Target<'_>) {
        let unknown = OpenItem { of: Of::Message, waits: None };
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

    fn item_completed(&mut self, tail: &ItemTail<'_>, form: &mut dyn AssistantForm, out: &mut Target<'_>) {
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

    /// The pieces and the end of the item of that number, if it still waits.
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

    /// Writes what waits, up to an item that is not complete.
    fn release(&mut self, form: &mut dyn AssistantForm, out: &mut Target<'_>) {
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

    /// Whether there is a place for a piece of such an item.
    fn takes(&self, of: Of, delta: &Delta<'_>, form: &dyn AssistantForm) -> Result<(), Reason> {
        let Delta { item, part, value, arrival } = delta;
        match (of, value) {
            (Of::Message, Part::Text(text) | Part::Summary(text) | Part::Refusal(text)) => {
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
            (Of::Message, Part::Json(_))
            | (Of::Reasoning, Part::Text(_) | Part::Summary(_))
            | (Of::Call, Part::Args(_)) => Ok(()),
            (Of::Reasoning, Part::Opaque(opaque))
                if self.state_of.iter().any(|issuer| opaque.is_of(issuer)) =>
            {
                Ok(())
            }
            (Of::Reasoning, Part::Opaque(opaque)) => self.profile.takes_opaque(opaque),
            (_, Part::Opaque(_)) => Err(Reason::Foreign),
            (Of::Message, Part::Citation(citation)) if form.cites(citation) => Ok(()),
            (Of::Message, Part::Cache(_)) if self.profile.marks >= Marks::Texts => Ok(()),
            (Of::Call, Part::Cache(_)) if self.profile.marks == Marks::TextsAndCalls => Ok(()),
            (Of::Message | Of::Reasoning | Of::Call | Of::Result | Of::Notice, _) => Err(Reason::NoSlot),
        }
    }

    fn start(&mut self, head: &ItemHead<'_>, form: &mut dyn AssistantForm, out: &mut Target<'_>) {
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
                // Text may be nothing at all, but nothing is not JSON.
                self.argued = free_text;
                self.current = Some((head.id, if wrapped { Current::WrappedCall } else { Current::Call }));
                if wrapped {
                    out.ledger.note("free text of a tool call became the member `input`");
                    self.arguments(&Args::Text(Str::plain("{\"input\":\"")), form, out);
                }
            }
            // A message is what it says; the others have no place here and do not come.
            ItemKind::Message | ItemKind::ToolResult(_) | ItemKind::Notice(_) => {}
        }
    }

    /// The id of a call, or one of its own if an earlier call of the same answer has it: a client names the call by it
    /// whose result it sends. Those of a request are sorted out by whoever knows the whole conversation.
    fn only<'a>(&mut self, id: Str<'a>, issued: Option<&Str<'_>>, out: &mut Target<'_>) -> Str<'a> {
        let Some(known) = &mut self.call_ids else { return id };
        let mut is_new = |id: &Str<'_>| known.insert(text_key(id.as_escaped()));
        if is_new(&id) {
            return id;
        }
        out.ledger.note("call with the id of an earlier one got an id of its own");
        let stem = issued.unwrap_or(&id).reborrow().into_owned();
        aliases::numbered_id(&stem, usize::try_from(self.calls).unwrap_or(usize::MAX), self.ids, is_new)
    }

    fn grow(&mut self, delta: &Delta<'_>, form: &mut dyn AssistantForm, out: &mut Target<'_>) {
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
            // The text they are about was not written, or is closed.
            (None, Part::Citation(_) | Part::Cache(_)) => out.lose_part(Of::Message, value, Reason::Refused),
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
            // [`AssistantWriter::takes`] has sorted these out.
            (None | Some(Current::Reasoning | Current::Call | Current::WrappedCall), _) => {}
        }
    }

    fn text(
        &mut self,
        item: ItemId,
        part: u32,
        text: &Str<'_>,
        form: &mut dyn AssistantForm,
        out: &mut Target<'_>,
    ) {
        if self.open != OpenUtterance::Text(item, part) {
            self.close(form, out);
            form.open(Opening::Text(item, part), out);
            self.open = OpenUtterance::Text(item, part);
        }
        form.grow(Growth::Text(text), out);
    }

    fn thinking(&mut self, form: &mut dyn AssistantForm, out: &mut Target<'_>) {
        if self.open != OpenUtterance::Thinking {
            self.close(form, out);
            form.open(Opening::Thinking, out);
            self.open = OpenUtterance::Thinking;
        }
    }

    fn opaque(&mut self, opaque: &Opaque<'_>, form: &mut dyn AssistantForm, out: &mut Target<'_>) {
        match opaque.kind {
            OpaqueKind::Signature if opaque.value.is_empty() => {}
            // A later signature replaces an earlier one: it is written when the thinking ends.
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

    /// Writes the signature of the thinking that is open, if it has one.
    #[inline]
    fn sign(&mut self, form: &mut dyn AssistantForm, out: &mut Target<'_>) {
        if self.signature.is_some() {
            self.write_signature(form, out);
        }
    }

    #[cold]
    fn write_signature(&mut self, form: &mut dyn AssistantForm, out: &mut Target<'_>) {
        if let Some((issuer, value)) = self.signature.take() {
            let value = value.text();
            form.grow(Growth::Signature(&Opaque { kind: OpaqueKind::Signature, issuer, value }), out);
        }
    }

    fn arguments(&mut self, args: &Args<'_>, form: &mut dyn AssistantForm, out: &mut Target<'_>) {
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

    fn complete(&mut self, tail: &ItemTail<'_>, form: &mut dyn AssistantForm, out: &mut Target<'_>) {
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
