//! A request: settings, then the turns of the conversation.
//!
//! [`RequestWriter`] knows which item goes where: results after their calls and before anything else, an assistant's items
//! in one turn, no call without a result. A [`RequestForm`] writes that down.

use std::collections::{BTreeSet, HashMap, VecDeque};

use super::aliases;
use super::assistant::{AssistantForm, AssistantWriter};
use super::backends::{Backend, Capabilities, SystemPlaces};
use super::content::WireContent;
use super::media::{as_text, tidy_type, type_of_bytes, with_standard_bytes};
use super::profile::{BlankText, Marks, Profile, client_runs};
use super::settings::{CacheWords, PART_MARK};
use super::turns::{Destination, NO_RESULT, Pairing, Speaker};
use crate::dialects::Options;
use crate::json::{Raw, Str};
use crate::ledger::{Leftover, Reason, text_key};
use crate::model::{
    Author, Delta, Event, Field, ItemHead, ItemId, ItemKind, ItemTail, Media, MediaSource, Of, Part, Request,
    Status, ToolCall, ToolResult,
};
use crate::pipe::{OpenItems, Target, Writer};

/// Writes a request down.
pub(crate) trait RequestForm: Send {
    /// Whether each of the assistant's messages in a row stays one, as messages of others do.
    const APART: bool = false;
    /// Whether developers are told from the system, where the model takes that.
    const DEVELOPERS: bool = false;
    /// Whether a message of the system is one among the others, so that it is decided here where it may stand.
    const SYSTEM_IS_MESSAGE: bool = false;

    /// What backends of the dialect take, in its words.
    fn profile(&self) -> &'static Profile;
    /// The words of marks for the cache, once the model is known.
    fn cache(&self) -> &'static CacheWords {
        self.profile().cache
    }
    /// Opens the request and writes its settings, for a model that takes that.
    fn settings(&mut self, request: &Request<'_>, takes: &'static Capabilities, out: &mut Target<'_>);
    /// Where the assistant's turn says what it says.
    fn assistant(&mut self) -> &mut dyn AssistantForm;
    /// Writes the assistant's turn, which may be the last one; returns whether it said anything.
    fn end_assistant(&mut self, is_last: bool, out: &mut Target<'_>) -> bool;
    /// Adds a picture or a document to the content of a message or a result, or gives it up.
    fn media(&mut self, media: PlacedMedia<'_>, content: &mut WireContent, out: &mut Target<'_>);
    /// Adds a JSON value to the content of a message or a result, where it has no place as its text.
    fn json(&mut self, delta: &Delta<'_>, json: &Raw<'_>, content: &mut WireContent, out: &mut Target<'_>) {
        out.ledger.note("JSON content written as text");
        content.text(delta.item, delta.part, &Str::plain(json.as_str()), out);
    }
    /// A message of the user or the system is complete. Calls may still wait for their results.
    fn message(&mut self, message: GatheredMessage<'_>, out: &mut Target<'_>);
    /// The result of the call of that id, escaped.
    fn result(&mut self, id: &str, is_error: Option<bool>, content: &mut WireContent, out: &mut Target<'_>);
    /// Every call has its result, and the next turn is that speaker's.
    fn settle(&mut self, next: Speaker, out: &mut Target<'_>);
    /// There are no more items.
    fn end(&mut self, out: &mut Target<'_>);
}

/// Media as a part of an item.
pub(crate) struct PlacedMedia<'a> {
    pub(crate) of: Of,
    /// The id of the call, if this is part of its result.
    pub(crate) call: &'a str,
    pub(crate) delta: &'a Delta<'a>,
    pub(crate) media: &'a Media<'a>,
}

/// A message of the user or the system.
pub(crate) struct GatheredMessage<'a> {
    pub(crate) author: Author,
    /// The name of its author is given up already.
    pub(crate) narrowed: bool,
    pub(crate) content: &'a mut WireContent,
    /// Calls waited for their results when it began.
    pub(crate) waited: bool,
    /// They still do.
    pub(crate) waits: bool,
}

/// Writes a request. Items of a source without settings (a log) get empty ones.
pub(crate) struct RequestWriter<T> {
    form: T,
    profile: &'static Profile,
    backend: &'static Backend,
    errand: Errand,
    takes: &'static Capabilities,
    begun: bool,
    assistant: AssistantWriter,
    turn: AssistantTurn,
    /// What the message that is open says.
    said: WireContent,
    /// The result that is open: the id of its call, and what it says.
    result_of: String,
    result: WireContent,
    pairs: Pairing,
    /// The keys of the ids of all calls so far, and what those that had the id of another are called instead.
    call_ids: BTreeSet<u128>,
    renamed: HashMap<String, VecDeque<String>>,
    /// How many more marks for the cache the target takes.
    marks_left: usize,
    /// Who spoke last.
    last: Speaker,
    /// What stands before the next message.
    before: TurnBefore,
    /// What the system says first, where that is one message.
    lead: WireContent,
    lead_author: Author,
    /// A message waits until all calls have their results.
    deferred: bool,
    open: OpenItems<Destination>,
}

/// The assistant's turn, as it is gathered.
#[derive(Clone, Copy, PartialEq, Eq)]
enum AssistantTurn {
    /// There is none.
    Closed,
    /// It has no message yet.
    Open,
    /// It has one.
    Spoken,
}

/// What stands before a message.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TurnBefore {
    /// Nothing but what the system says.
    Nothing,
    User,
    Results,
    Assistant,
}

/// What whoever sends the request on wants of it.
#[derive(Default)]
struct Errand {
    model: Option<String>,
    max_tokens: Option<u64>,
}

impl Errand {
    /// The request as it is wanted, if that differs.
    fn apply<'a>(&self, request: &Request<'a>, out: &mut Target<'_>) -> Option<Request<'a>> {
        let asked = request.max_tokens.as_ref().and_then(|limit| limit.as_str().parse::<u64>().ok());
        let limit = self.max_tokens.filter(|most| asked.is_none_or(|asked| asked > *most));
        if self.model.is_none() && limit.is_none() {
            return None;
        }
        let mut changed = request.clone();
        if let Some(model) = &self.model {
            // An override is asked for: the value is replaced, and nothing is lost.
            out.ledger.note("another model is asked for than the source names, as the caller wants");
            changed.model = Some(Str::from_plain(model));
        }
        if let Some(limit) = limit {
            out.ledger.note("the limit on tokens is that of the budget, as the caller wants");
            changed.max_tokens = Some(Raw::owned(limit.to_string()));
        }
        Some(changed)
    }
}

/// What the user says in a conversation in which nobody says anything: no API takes one.
const NO_MESSAGE: &str = "(no message)";
/// What the user says after an answer that was begun, to models that do not go on with it by themselves.
const GO_ON: &str = "Continue.";

impl<T: RequestForm> RequestWriter<T> {
    /// Writes for the backend of the options, or the vendor of the dialect.
    pub(crate) fn new(form: T, options: &Options) -> Self {
        let profile = form.profile();
        let backend = options.backend.unwrap_or(profile.vendor);
        Self {
            form,
            profile,
            backend,
            errand: Errand { model: options.model.clone(), max_tokens: options.max_tokens },
            takes: &backend.takes,
            begun: false,
            assistant: AssistantWriter::new(profile),
            turn: AssistantTurn::Closed,
            said: WireContent::new(profile.texts),
            result_of: String::new(),
            result: WireContent::new(profile.texts),
            pairs: Pairing::default(),
            call_ids: BTreeSet::default(),
            renamed: HashMap::default(),
            marks_left: usize::MAX,
            last: Speaker::Nobody,
            before: TurnBefore::Nothing,
            lead: WireContent::new(profile.texts),
            lead_author: Author::System,
            deferred: false,
            open: OpenItems::default(),
        }
    }
}

impl<T: RequestForm> RequestWriter<T> {
    fn begin(&mut self, request: &Request<'_>, out: &mut Target<'_>) {
        self.begun = true;
        let asked = self.errand.apply(request, out);
        let request = asked.as_ref().unwrap_or(request);
        if self.errand.model.is_none() && self.backend.lacks_model(request.model.as_ref()) {
            out.ledger.note("the model's name is not one of the target's models; the server may refuse it");
        }
        self.takes = self.backend.takes_of(request.model.as_ref());
        self.assistant.obey(self.takes, &request.tools);
        if self.takes.other_dialect.is_some() {
            out.ledger.note("this server takes the model in another dialect (`other-dialect`) only");
        }
        let on_settings = request.tools.iter().filter(|tool| tool.cache.is_some()).count();
        let on_settings = on_settings + usize::from(request.cache.is_some());
        self.marks_left = self.takes.max_cache_marks.saturating_sub(on_settings);
        self.form.settings(request, self.takes, out);
    }

    fn started(&mut self, head: &ItemHead<'_>, event: &Event<'_>, out: &mut Target<'_>) {
        let ItemHead { id, kind, author, .. } = head;
        let to = match kind {
            ItemKind::Message => {
                let tells = T::DEVELOPERS && self.takes.developer;
                let (to, is_narrowed) = Destination::of_message(*author, self.pairs.is_waiting(), tells);
                if is_narrowed {
                    out.lose(Field::ItemAuthor, Reason::Narrowed);
                }
                to
            }
            ItemKind::Reasoning | ItemKind::ToolCall(_) => Destination::Assistant,
            ItemKind::ToolResult(_) => Destination::Result,
            // It has no place and does not come.
            ItemKind::Notice(_) => return,
        };
        if !matches!(to, Destination::System { .. }) {
            self.end_lead(out);
        }
        if to == Destination::Assistant {
            self.begin_assistant(out);
            let spoke = matches!(kind, ItemKind::Message)
                && std::mem::replace(&mut self.turn, AssistantTurn::Spoken) == AssistantTurn::Spoken;
            if spoke && !T::APART {
                out.lose(Field::ItemAuthor, Reason::Merged);
                out.ledger.note("assistant messages in a row joined");
            }
            match kind {
                ItemKind::ToolCall(call) => self.call(head, call, event, out),
                _ => self.assistant.event(event, self.form.assistant(), out),
            }
        } else {
            self.end_assistant(false, out);
        }
        if let ItemKind::ToolResult(ToolResult { call_id, name: _ }) = kind {
            if !self.said.is_empty() || self.deferred {
                out.ledger.note("what the user said before the results of calls moved after them");
            }
            // Nearly every result is that of the first call that waits.
            let id = match call_id {
                Some(id) if self.pairs.is_first(id) => Some(id.reborrow()),
                Some(id) => Some(self.result_id(id).into_owned()),
                None => None,
            };
            if let Some(old) = call_id.as_ref().filter(|_| !self.renamed.is_empty()) {
                let old = aliases::issued(old).into_owned();
                let old = aliases::call_id(Some(&old), self.takes.call_ids, None, ItemId(0));
                let renamed = self.renamed.get_mut(old.as_escaped());
                let is_it = |new: &String| id.as_ref().is_some_and(|id| id.as_escaped() == new);
                if let Some(renamed) = renamed.filter(|new| new.front().is_some_and(is_it)) {
                    renamed.pop_front();
                }
            }
            self.result_of = self.pairs.answered(id.as_ref(), out.ledger).unwrap_or_default();
        }
        self.open.insert(*id, to);
    }

    /// A call begins. APIs want every id once: a call that has the id of an earlier one gets another, and so does its
    /// result.
    fn call(&mut self, head: &ItemHead<'_>, call: &ToolCall<'_>, event: &Event<'_>, out: &mut Target<'_>) {
        // What the backend issued goes back as it was.
        let issued = call.call_id.as_ref().map(aliases::issued);
        let restored = issued.as_ref().filter(|issued| call.call_id.as_ref() != Some(issued)).map(|issued| {
            let call = ToolCall { call_id: Some(issued.reborrow()), ..call.clone() };
            Event::ItemStarted(ItemHead { kind: ItemKind::ToolCall(call), ..head.clone() })
        });
        let event = restored.as_ref().unwrap_or(event);
        let id = aliases::call_id(issued.as_ref(), self.takes.call_ids, None, head.id);
        if self.is_new(&id) {
            self.pairs.called(&id);
            return self.assistant.event(event, self.form.assistant(), out);
        }
        out.ledger.note("call with the id of an earlier one got an id of its own");
        let (number, rule) = (self.call_ids.len(), self.takes.call_ids);
        let new = aliases::numbered_id(&id, number, rule, |new| self.is_new(new));
        self.pairs.called(&new);
        let known = self.renamed.entry(id.as_escaped().to_owned()).or_default();
        known.push_back(new.as_escaped().to_owned());
        let call = ToolCall { call_id: Some(new), ..call.clone() };
        let head = ItemHead { kind: ItemKind::ToolCall(call), ..head.clone() };
        self.assistant.event(&Event::ItemStarted(head), self.form.assistant(), out);
    }

    /// Whether no call had that id before; this one has it.
    fn is_new(&mut self, id: &Str<'_>) -> bool {
        self.call_ids.insert(text_key(id.as_escaped()))
    }

    fn grew(&mut self, delta: &Delta<'_>, event: &Event<'_>, out: &mut Target<'_>) {
        let Delta { item, part, value, arrival: _ } = delta;
        let Some(to) = self.open.get(*item).copied() else { return };
        if let Part::Cache(_) = value {
            let left = self.marks_left.checked_sub(1).filter(|_| self.takes.takes(Field::CacheMark));
            let Some(left) = left else { return out.lose_part(to.of(), value, Reason::Refused) };
            self.marks_left = left;
        }
        let (content, call) = match to {
            Destination::Assistant => {
                self.begin_assistant(out);
                return self.assistant.event(event, self.form.assistant(), out);
            }
            Destination::Result => (&mut self.result, &*self.result_of),
            Destination::User { .. } | Destination::System { .. } => (&mut self.said, ""),
        };
        if content.refuses(delta) {
            return out.lose_part(to.of(), value, Reason::Refused);
        }
        match value {
            Part::Text(text) | Part::Summary(text) => content.text(*item, *part, text, out),
            Part::Refusal(text) => {
                out.ledger.note("refusal written as text");
                content.text(*item, *part, text, out);
            }
            Part::Json(json) => self.form.json(delta, json, content, out),
            Part::Media(media)
                if matches!(media.source, MediaSource::Text(_)) && !self.profile.text_documents =>
            {
                write_document((*item, *part), media, content, out);
            }
            Part::Media(media) if !matches!(to, Destination::System { .. }) => {
                let standard = with_standard_bytes(media);
                if standard.is_some() {
                    out.ledger.note("bytes written in the letters of base64 that all APIs take");
                }
                let media = standard.as_ref().unwrap_or(media);
                let known = with_known_type(media, out);
                let media = known.as_ref().unwrap_or(media);
                let takes_bytes = !self.profile.text_documents && takes_media(media, self.takes).is_ok();
                let text = if takes_bytes { None } else { as_text(media) };
                if text.is_some() {
                    out.ledger.note("file of text in base64 written as text");
                }
                let media = text.as_ref().unwrap_or(media);
                if text.is_some() && !self.profile.text_documents {
                    return write_document((*item, *part), media, content, out);
                }
                let has_place =
                    to != Destination::Result || self.takes.media_in_results || self.takes.user_after_results;
                let taken =
                    takes_media(media, self.takes).and(if has_place { Ok(()) } else { Err(Reason::Refused) });
                if let Err(reason) = taken {
                    return out.lose_part(to.of(), value, reason);
                }
                self.form.media(PlacedMedia { of: to.of(), call, delta, media }, content, out);
            }
            Part::Cache(mark) if self.profile.marks != Marks::Nothing => {
                let words = self.form.cache();
                if content.add_members(*item, *part, |json| words.write(mark, json)) {
                    words.lose_rest(mark, PART_MARK, out);
                } else {
                    out.lose_part(to.of(), value, Reason::NoSlot);
                }
            }
            Part::Media(_) | Part::Args(_) | Part::File(_) | Part::Citation(_) | Part::Cache(_) => {
                out.lose_part(to.of(), value, Reason::NoSlot);
            }
            Part::Opaque(_) => out.lose_part(to.of(), value, Reason::Foreign),
        }
    }

    fn completed(&mut self, tail: &ItemTail<'_>, event: &Event<'_>, out: &mut Target<'_>) {
        let ItemTail { id, is_error, .. } = tail;
        let Some(to) = self.open.remove(*id) else { return };
        let (author, narrowed, waited) = match to {
            Destination::Assistant => return self.assistant.event(event, self.form.assistant(), out),
            Destination::Result => {
                self.result.end(out);
                (self.last, self.before) = (Speaker::User, TurnBefore::Results);
                self.form.result(&self.result_of, *is_error, &mut self.result, out);
                return self.result.clear();
            }
            Destination::User { waited } => (Author::User, false, waited),
            Destination::System { author, narrowed } => (author, narrowed, false),
        };
        self.said.end(out);
        let is_turn = author == Author::User || self.profile.system_is_turn;
        if is_turn && !self.said.is_empty() {
            self.last = Speaker::User;
        }
        let waits = self.pairs.is_waiting();
        self.deferred |= waits && !self.said.is_empty();
        let author = match author {
            Author::System | Author::Developer if T::SYSTEM_IS_MESSAGE && !self.said.is_empty() => {
                let Some(author) = self.place_system(author, narrowed, out) else { return };
                author
            }
            author => author,
        };
        if author == Author::User && !self.said.is_empty() {
            self.before = TurnBefore::User;
        }
        self.form.message(GatheredMessage { author, narrowed, content: &mut self.said, waited, waits }, out);
        self.said.clear();
    }

    /// Whose message it is that the system says: the system's where the server takes that, else the user's, marked, where
    /// it stood. What it says first may have to be one message, which then waits for more of it.
    fn place_system(&mut self, author: Author, narrowed: bool, out: &mut Target<'_>) -> Option<Author> {
        let before = if self.pairs.is_waiting() { TurnBefore::Results } else { self.before };
        match (self.takes.system, before) {
            (SystemPlaces::Anywhere, _)
            | (SystemPlaces::AfterUser, TurnBefore::Nothing | TurnBefore::User) => return Some(author),
            (SystemPlaces::First, TurnBefore::Nothing) => {
                if self.lead.is_empty() {
                    self.lead_author = author;
                } else {
                    out.ledger.note("what the system says first joined to one message");
                    if !narrowed {
                        out.lose(Field::ItemAuthor, Reason::Merged);
                    }
                }
                self.lead.absorb(&mut self.said);
                self.said.clear();
                return None;
            }
            (SystemPlaces::AfterUser | SystemPlaces::First | SystemPlaces::Nowhere, _) => {}
        }
        out.ledger.note("system message written as marked user text, where it stood");
        if !narrowed {
            out.lose(Field::ItemAuthor, Reason::Refused);
        }
        let mut marked = WireContent::new(self.profile.texts);
        marked.text(ItemId(0), u32::MAX - 1, &Str::escaped("<system>"), out);
        marked.end(out);
        marked.absorb(&mut self.said);
        marked.text(ItemId(0), u32::MAX, &Str::escaped("</system>"), out);
        marked.end(out);
        self.said = marked;
        Some(Author::User)
    }

    /// The system has said what it says first.
    fn end_lead(&mut self, out: &mut Target<'_>) {
        if !self.lead.is_empty() {
            let (author, content) = (self.lead_author, &mut self.lead);
            let message = GatheredMessage { author, narrowed: false, content, waited: false, waits: false };
            self.form.message(message, out);
            self.lead.clear();
        }
    }

    fn begin_assistant(&mut self, out: &mut Target<'_>) {
        if self.turn == AssistantTurn::Closed {
            self.turn = AssistantTurn::Open;
            self.settle(Speaker::Assistant, out);
            self.assistant.reset();
        }
    }

    fn end_assistant(&mut self, is_last: bool, out: &mut Target<'_>) {
        if std::mem::replace(&mut self.turn, AssistantTurn::Closed) == AssistantTurn::Closed {
            return;
        }
        self.assistant.close(self.form.assistant(), out);
        // What goes on from its calls is their results.
        let is_prefill = is_last && !self.pairs.is_waiting();
        if self.form.end_assistant(is_prefill && self.takes.prefill, out) {
            self.last = if is_prefill { Speaker::Assistant } else { Speaker::User };
            self.before = TurnBefore::Assistant;
        } else {
            let refuses = self.profile.texts.blank == BlankText::Refuse;
            out.lose(Field::ItemAuthor, if refuses { Reason::Refused } else { Reason::Redundant });
            out.ledger.note("a turn that says nothing was left out");
        }
    }

    /// Before the next turn, each call that got no result gets one that says so.
    fn settle(&mut self, next: Speaker, out: &mut Target<'_>) {
        while let Some(id) = self.pairs.next() {
            out.ledger.note("call without a result got one that says so");
            let mut content = WireContent::new(self.profile.texts);
            content.text(ItemId(0), 0, &Str::escaped(NO_RESULT), out);
            content.end(out);
            self.form.result(&id, Some(true), &mut content, out);
        }
        self.deferred = false;
        self.form.settle(next, out);
    }

    /// Says something that the user did not.
    fn say_for_user(&mut self, text: &'static str, out: &mut Target<'_>) {
        let mut content = WireContent::new(self.profile.texts);
        content.text(ItemId(0), 0, &Str::escaped(text), out);
        content.end(out);
        let author = Author::User;
        let content = &mut content;
        let message = GatheredMessage { author, narrowed: false, content, waited: false, waits: false };
        self.form.message(message, out);
    }

    /// The id of a call as its result names it.
    fn result_id<'a>(&mut self, id: &'a Str<'_>) -> Str<'a> {
        // Those that wait are ids that the target takes.
        if self.pairs.is_first(id) {
            return id.reborrow();
        }
        let issued = aliases::issued(id).into_owned();
        let id = aliases::call_id(Some(&issued), self.takes.call_ids, None, ItemId(0)).into_owned();
        // The first call of an id kept it; the results of the others come in the order of the calls.
        if !self.renamed.is_empty()
            && !self.pairs.expects(Some(&id))
            && let Some(new) = self.renamed.get(id.as_escaped()).and_then(|new| new.front())
        {
            return Str::escaped(new).into_owned();
        }
        id
    }
}

impl<T: RequestForm> Writer for RequestWriter<T> {
    fn takes(&mut self, head: &ItemHead<'_>) -> Result<(), Reason> {
        match &head.kind {
            // A request repeats one answer of several.
            _ if head.answer.is_some_and(|answer| answer > 0) => Err(Reason::NoSlot),
            ItemKind::Message | ItemKind::Reasoning => Ok(()),
            ItemKind::ToolCall(call) => client_runs(call.kind),
            ItemKind::ToolResult(result) => {
                let around = head.within.and_then(|message| self.open.get(message)).copied();
                let id = result.call_id.as_ref().map(|id| self.result_id(id));
                match around {
                    // A result that the provider itself produced, inside its answer.
                    Some(Destination::Assistant) => Err(Reason::NoSlot),
                    _ if self.pairs.expects(id.as_ref()) => Ok(()),
                    _ => Err(Reason::Refused),
                }
            }
            ItemKind::Notice(_) => Err(Reason::NoSlot),
        }
    }

    fn event(&mut self, event: &Event<'_>, out: &mut Target<'_>) {
        match event {
            Event::Request(request) if !self.begun => self.begin(request, out),
            // One call of a model has one set of settings, and they come first.
            Event::Request(_) => out.lose_event(Of::Message, event, Reason::Refused),
            Event::ItemStarted(head) => {
                if !self.begun {
                    self.begin(&Request::default(), out);
                }
                self.started(head, event, out);
            }
            Event::ItemDelta(delta) => self.grew(delta, event, out),
            Event::ItemCompleted(tail) => {
                lose_status(tail, out);
                self.completed(tail, event, out);
            }
            // A request says nothing of these, as its table declares.
            Event::SessionStarted(_)
            | Event::SessionUpdated(_)
            | Event::SessionEnded(_)
            | Event::Clock(_)
            | Event::Rewound(_)
            | Event::Compacted(_)
            | Event::Model(_)
            | Event::TurnStarted(_)
            | Event::TurnEnded(_)
            | Event::Usage(_)
            | Event::PermissionRequested(_)
            | Event::PermissionResolved(_)
            | Event::QuestionRequested(_)
            | Event::QuestionResolved(_)
            | Event::Error(_) => {}
        }
    }

    fn leftover(&mut self, _: Leftover<'_>, _: &mut Target<'_>) {}

    fn finish(&mut self, out: &mut Target<'_>) {
        if self.begun {
            self.end_lead(out);
            self.end_assistant(true, out);
            match self.last {
                Speaker::Nobody => {
                    out.ledger.note("conversation without a message got one");
                    self.say_for_user(NO_MESSAGE, out);
                }
                Speaker::Assistant if !self.takes.prefill => {
                    out.ledger.note("this model does not go on with an answer: the user asks it to");
                    self.say_for_user(GO_ON, out);
                }
                Speaker::Assistant | Speaker::User => {}
            }
            self.settle(Speaker::Nobody, out);
            self.form.end(out);
        }
    }
}

/// Writes a document that is text as text, with what is said about it before it.
fn write_document(
    (item, part): (ItemId, u32),
    media: &Media<'_>,
    content: &mut WireContent,
    out: &mut Target<'_>,
) {
    let Media { media_type, source, name, context, citable, detail } = media;
    out.ledger.note("text document written as text");
    out.lose_some(Field::MediaType, media_type.as_ref(), Reason::Narrowed);
    out.lose_some(Field::MediaDetail, detail.as_ref(), Reason::NoSlot);
    if citable.is_some() {
        out.lose(Field::MediaCitable, Reason::NoSlot);
    }
    for (label, said) in [("[document: ", name), ("[about it: ", context)] {
        if let Some(said) = said {
            for piece in [&Str::escaped(label), said, &Str::escaped("]\\n")] {
                content.text(item, part, piece, out);
            }
        }
    }
    content.text(item, part, source.text(), out);
}

/// The same media with a type that APIs know, if they have another.
fn with_known_type<'m>(media: &'m Media<'_>, out: &mut Target<'_>) -> Option<Media<'m>> {
    let known = match (&media.media_type, &media.source) {
        (Some(media_type), _) => {
            let tidy = tidy_type(media_type)?;
            out.lose_str(Field::MediaType, media_type, Reason::Narrowed);
            out.ledger.note("media type written as every API knows it");
            tidy
        }
        (None, MediaSource::Base64(data)) => {
            let known = type_of_bytes(data)?;
            out.ledger.note("type of media told by their first bytes");
            Str::escaped(known)
        }
        (None, _) => return None,
    };
    Some(Media { media_type: Some(known), ..media.clone() })
}

/// Whether the backend takes such media.
fn takes_media(media: &Media<'_>, takes: &Capabilities) -> Result<(), Reason> {
    let known = media.media_type.as_ref().map(Str::decode);
    // An address without a type is a picture's.
    let kind = known.as_deref().unwrap_or("image/");
    let takes = match &media.source {
        MediaSource::Url(_) => takes.media.takes_address(kind),
        MediaSource::Base64(_) => takes.media.takes(kind),
        // Text is text, and whether a file is its own, a dialect knows.
        MediaSource::Text(_) | MediaSource::File(_) => true,
    };
    if takes { Ok(()) } else { Err(Reason::Refused) }
}

/// Books the end of an item where no word says how it ended: only a call that is cut off shows it.
pub(super) fn lose_status(tail: &ItemTail<'_>, out: &mut Target<'_>) {
    let ItemTail { status, native_status, .. } = tail;
    out.lose_some(Field::ItemStatus, native_status.as_ref(), Reason::NoSlot);
    if *status == Status::Failed {
        out.lose(Field::ItemStatus, Reason::NoSlot);
    }
}
