//! Reads the calls of an assistant's message: whole calls, and fragments, including fragments from servers that break
//! the rules.

use std::collections::HashMap;

use super::message::Holder;
use crate::json::Str;
use crate::model::{Args, CallKind, Field, ItemId, ItemKind, ItemTail, Part, Status, ToolCall};
use crate::pipe::EventSink;
use crate::tape::{Kind, Member, Val};
use crate::wire::{JsonProgress, is_blank};

/// The calls of one message.
#[derive(Default)]
pub(super) struct CallReader {
    /// The last call of a whole message, whose end has not been emitted.
    last: Option<ItemId>,
    /// The number of calls in a whole message.
    count: u64,
    /// Calls that arrive in fragments.
    calls: Vec<Call>,
    /// Calls with id and name that start at the next interruption, when their names are complete.
    ready: Vec<usize>,
    /// The last call with each index, and the call with each id.
    by_index: HashMap<u64, usize>,
    by_id: HashMap<String, usize>,
    /// Reused buffer for decoded arguments.
    plain: String,
}

struct Call {
    index: Option<u64>,
    id: String,
    name: String,
    kind: CallKind,
    /// `None` until id and name are complete; from then on `arguments` is empty.
    item: Option<ItemId>,
    arguments: String,
    progress: JsonProgress,
}

/// An entry of `tool_calls`, or the single call of the 2023 API.
#[derive(Clone, Copy, Default)]
struct Fragment<'t> {
    index: Option<u64>,
    id: Option<Val<'t>>,
    name: Option<Val<'t>>,
    arguments: Option<Val<'t>>,
    /// Whether the entry is not the first of its list.
    follows: bool,
}

impl CallReader {
    /// The number of calls so far.
    pub(super) fn count(&self) -> u64 {
        self.count + self.calls.len() as u64
    }

    /// Reads the entry of `tool_calls` at index `place` of its list. Returns `false` if the entry is not a call.
    pub(super) fn entry(
        &mut self,
        entry: Val<'_>,
        place: u64,
        holder: Holder,
        out: &mut EventSink<'_>,
    ) -> bool {
        let (mut index, mut id, mut function, mut custom, mut tag) = (None, None, None, None, None);
        for (name, value) in entry.members() {
            match name.as_escaped() {
                _ if is_blank(value) => _ = value.note(Field::Structure),
                "index" => index = index.or(value.u64().map(|number| (value, number))),
                "type" if value.is("function") || value.is("custom") => tag = Some(value),
                "id" if value.is("") => _ = value.note(Field::Structure),
                "id" if value.kind() == Kind::String => id = id.or(Some(value)),
                "function" => function = Some(value),
                "custom" => custom = Some(value),
                // Other members stay unclaimed.
                _ => {}
            }
        }
        // Some servers add an empty `custom` beside `function`, or the reverse.
        let is_free = match (function, custom) {
            (Some(function), Some(custom)) => is_placeholder(function) && !is_placeholder(custom),
            (None, Some(_)) => true,
            (_, None) => false,
        };
        let (kind, inner, other) = if is_free {
            (CallKind::FreeText, custom, function)
        } else {
            (CallKind::Function, function, custom)
        };
        if let Some(other) = other.filter(|other| is_placeholder(*other)) {
            other.note(Field::Structure);
        }
        let number = index.map(|(_, number)| number);
        // An index only distinguishes calls; an unexpected index stays unclaimed.
        let next = if holder.whole { place } else { self.calls.len() as u64 };
        let tells = |number: u64| number == next || self.by_index.contains_key(&number);
        if let Some((value, _)) = index.filter(|(_, number)| tells(*number)) {
            value.note(Field::Structure);
        }
        let fragment = Fragment { index: number, id, follows: place > 0, ..Fragment::default() };
        tag.map(|tag| tag.note(Field::CallKind));
        let is_call = self.call_or_fragment(fragment, kind, inner, holder, out);
        tag.filter(|_| !is_call).map(|tag| tag.note(Field::Structure));
        is_call
    }

    /// Reads the single call of the 2023 API, which has no id. Returns `false` if the value is not a call.
    pub(super) fn lone(&mut self, inner: Val<'_>, holder: Holder, out: &mut EventSink<'_>) -> bool {
        self.call_or_fragment(Fragment::default(), CallKind::Function, Some(inner), holder, out)
    }

    /// Reads a call or a fragment; `inner` holds the name and the arguments.
    fn call_or_fragment<'t>(
        &mut self,
        mut fragment: Fragment<'t>,
        kind: CallKind,
        inner: Option<Val<'t>>,
        holder: Holder,
        out: &mut EventSink<'_>,
    ) -> bool {
        for (member, value) in inner.into_iter().flat_map(|inner| inner.members()) {
            match member.as_escaped() {
                _ if is_blank(value) || value.is("") => _ = value.note(Field::Structure),
                "name" => fragment.name = fragment.name.or(Some(value)),
                "arguments" | "input" => fragment.arguments = fragment.arguments.or(Some(value)),
                // Other members stay unclaimed.
                _ => {}
            }
        }
        let says_something = fragment.name.is_some() || fragment.arguments.is_some();
        if holder.whole {
            // An entry without name and arguments is not a call. Some servers put an empty entry beside their response.
            if says_something {
                self.whole_call(fragment, kind, holder, out);
            }
            return says_something;
        }
        match self.known_call(&fragment) {
            Some(at) => self.fragment(at, fragment, holder, out),
            None if says_something || fragment.id.is_some() => {
                self.interrupt(holder, out);
                self.calls.push(Call::new(fragment.index, kind));
                self.fragment(self.calls.len() - 1, fragment, holder, out);
            }
            None => return false,
        }
        true
    }

    fn whole_call(
        &mut self,
        fragment: Fragment<'_>,
        kind: CallKind,
        holder: Holder,
        out: &mut EventSink<'_>,
    ) {
        self.end(Status::Completed, holder, out);
        let call_id = fragment.id.take_text(Field::CallId);
        let name = fragment.name.take_text(Field::CallName).unwrap_or_default();
        let item = start_call(ToolCall { call_id, kind, namespace: None, name }, holder, out);
        if let Some(args) = fragment.arguments.and_then(take_arguments) {
            out.delta(item, 0, Part::Args(args));
        }
        self.last = Some(item);
        self.count += 1;
    }

    /// Adds a fragment to the call at index `at`.
    fn fragment(&mut self, at: usize, fragment: Fragment<'_>, holder: Holder, out: &mut EventSink<'_>) {
        let Fragment { index, id, name, arguments, .. } = fragment;
        let Some(call) = self.calls.get_mut(at) else { return };
        if let Some(index) = index {
            self.by_index.insert(index, at);
        }
        if call.learn_id(id) {
            self.by_id.insert(call.id.clone(), at);
        }
        call.learn_name(name);
        if call.item.is_none() && !call.id.is_empty() && !call.name.is_empty() {
            self.ready.push(at);
        }
        let Some(args) = arguments.and_then(take_arguments) else { return };
        if !call.id.is_empty() && !call.name.is_empty() {
            call.start(holder, out);
        }
        call.progress.read(&args, &mut self.plain);
        match (call.item, args) {
            // A fragment of a function's JSON arguments is not valid JSON; a fragment of free text is valid text.
            (Some(item), args) if call.kind != CallKind::Function => out.delta(item, 0, Part::Args(args)),
            (Some(item), args) => out.piece(item, 0, Part::Args(args)),
            (None, Args::Text(text)) => call.arguments.push_str(text.as_escaped()),
            (None, Args::Json(json)) => {
                call.arguments.push_str(Str::plain(json.as_str()).as_escaped());
            }
        }
    }

    /// The known call to which a fragment belongs. Fragments are matched by index, without an index by id, and
    /// otherwise belong to the last call. Some servers give every call the same index, or every fragment a new id or
    /// none; then a fragment after complete arguments starts a new call.
    fn known_call(&self, fragment: &Fragment<'_>) -> Option<usize> {
        let Fragment { index, id, name, arguments, follows } = fragment;
        let id_text = id.and_then(|id| id.str());
        let named = id_text.as_ref().and_then(|id| self.by_id.get(id.as_escaped())).copied();
        let fits = |at: &usize| {
            let known = self.calls.get(*at).and_then(|call| call.index);
            index.is_none() || known.is_none() || known == *index
        };
        let of_index = |index: &u64| self.by_index.get(index).copied();
        let at = named.filter(fits).or_else(|| match index {
            Some(index) => of_index(index),
            None => self.calls.len().checked_sub(1),
        })?;
        let call = self.calls.get(at)?;
        let is_other = |known: &str, news: Option<Str<'_>>| {
            !known.is_empty() && news.is_some_and(|news| news.as_escaped() != known)
        };
        let (new_id, new_name) =
            (is_other(&call.id, id_text), is_other(&call.name, name.and_then(|it| it.str())));
        let is_complete = call.progress.is_complete() || call.kind == CallKind::FreeText && new_id;
        let begins_another = if call.arguments_came() {
            is_complete && (name.is_some() || new_id) && (name.is_some() || arguments.is_some())
        } else {
            // Without arguments so far, a fragment starts a new call only if both its name and its id are new, or if
            // its name is new and it follows in the same list without an index.
            new_name && (new_id || *follows && index.is_none())
        };
        // Some servers repeat id and name until the end of the stream.
        let repeats = id.is_some() && !new_id && !new_name && arguments.is_none();
        (!begins_another || repeats).then_some(at)
    }

    /// Starts the calls that are ready. Other content follows, so their names are complete.
    pub(super) fn interrupt(&mut self, holder: Holder, out: &mut EventSink<'_>) {
        self.ready.sort_unstable();
        for at in self.ready.drain(..) {
            if let Some(call) = self.calls.get_mut(at) {
                call.start(holder, out);
            }
        }
    }

    /// Handles the end of a truncated source: emits the calls that waited for their id or name.
    pub(super) fn cut_off(&mut self, holder: Holder, out: &mut EventSink<'_>) {
        for call in &mut self.calls {
            if !call.is_placeholder() {
                call.start(holder, out);
            }
        }
    }

    /// Completes all calls; `last` is the status of the last call.
    pub(super) fn end(&mut self, last: Status, holder: Holder, out: &mut EventSink<'_>) {
        if let Some(call) = self.last.take() {
            out.end(ItemTail::new(call, last));
        }
        let count = self.calls.len();
        for (number, mut call) in self.calls.drain(..).enumerate() {
            if call.is_placeholder() {
                out.note("a call without a name and arguments left out");
                continue;
            }
            let id = call.start(holder, out);
            let status = if number + 1 == count { last } else { Status::Completed };
            out.end(ItemTail::new(id, status));
        }
        self.ready.clear();
        self.by_index.clear();
        self.by_id.clear();
    }

    /// Whether the arguments of the last call are incomplete.
    pub(super) fn breaks_off(&self) -> bool {
        self.calls.last().is_some_and(|call| call.arguments_came() && !call.progress.is_complete())
    }

    /// Resets the count of calls for a new message.
    pub(super) fn reset(&mut self) {
        self.count = 0;
    }
}

impl Call {
    fn new(index: Option<u64>, kind: CallKind) -> Self {
        let (id, name, arguments) = (String::new(), String::new(), String::new());
        Self { index, id, name, kind, item: None, arguments, progress: JsonProgress::default() }
    }

    fn arguments_came(&self) -> bool {
        self.progress.has_begun()
    }

    /// Whether only the id of the call is known.
    fn is_placeholder(&self) -> bool {
        self.item.is_none() && self.name.is_empty() && self.arguments.is_empty()
    }

    /// Stores the id of the call once; returns whether the id is new. A repeated id is claimed; a different id stays
    /// unclaimed.
    fn learn_id(&mut self, val: Option<Val<'_>>) -> bool {
        let Some((val, text)) = val.and_then(|val| Some((val, val.str()?))) else { return false };
        let is_news = self.id.is_empty();
        if is_news {
            text.as_escaped().clone_into(&mut self.id);
        }
        if self.id == text.as_escaped() {
            val.take(Field::CallId);
        }
        is_news
    }

    /// Adds to the name of the call, which may arrive in parts before the arguments. A repeated name is claimed.
    fn learn_name(&mut self, val: Option<Val<'_>>) {
        let Some((val, text)) = val.and_then(|val| Some((val, val.str()?))) else { return };
        let text = text.as_escaped();
        let is_part = self.item.is_none() && !self.arguments_came() && self.name != text;
        if is_part || self.name.is_empty() && self.item.is_none() {
            self.name.push_str(text);
            val.take(Field::CallName);
        } else if self.name == text {
            val.take(Field::CallName);
        }
    }

    /// Starts the item of the call, unless it has started.
    fn start(&mut self, holder: Holder, out: &mut EventSink<'_>) -> ItemId {
        if let Some(item) = self.item {
            return item;
        }
        let call = ToolCall {
            call_id: Some(Str::escaped(&self.id)).filter(|id| !id.is_empty()),
            kind: self.kind,
            namespace: None,
            name: Str::escaped(&self.name),
        };
        let item = start_call(call, holder, out);
        self.item = Some(item);
        if !self.arguments.is_empty() {
            // The arguments arrived in pieces, and more may follow.
            out.piece(item, 0, Part::Args(Args::Text(Str::escaped(&self.arguments))));
            self.arguments.clear();
        }
        item
    }
}

fn start_call(call: ToolCall<'_>, holder: Holder, out: &mut EventSink<'_>) -> ItemId {
    let head = holder.head(ItemKind::ToolCall(call), out);
    out.start(head)
}

/// Whether a call has no name and no arguments.
pub(super) fn is_placeholder(inner: Val<'_>) -> bool {
    inner.kind() == Kind::Object && inner.member_values().all(|value| is_blank(value) || value.is(""))
}

/// The arguments, or a piece of them, if not empty. The API defines a string, but some servers send an object.
fn take_arguments(val: Val<'_>) -> Option<Args<'_>> {
    match val.kind() {
        Kind::String => val.take_text(Field::CallArgs).filter(|text| !text.is_empty()).map(Args::Text),
        Kind::Object => Some(Args::Json(val.take(Field::CallArgs))),
        Kind::Null | Kind::Bool | Kind::Number | Kind::Array => None,
    }
}
