//! A request: settings, then the turns of the conversation.
//!
//! [`RequestWriter`] arranges the items: results directly after their calls, consecutive assistant items in one turn,
//! and a result for every call. A [`RequestForm`] writes the arranged items.

use std::collections::{BTreeSet, HashMap, VecDeque};

use super::aliases;
use super::assistant::{AssistantForm, AssistantWriter};
use super::backends::{Capabilities, ModelCapabilities, SharedBackend, SystemPlaces};
use super::content::WireContent;
use super::media::{as_text, tidy_type, type_of_bytes, with_standard_bytes};
use super::narrow::Narrowing;
use super::overrides::Overrides;
use super::profile::{BlankText, Marks, Profile, client_runs};
use super::settings::{CacheWords, PART_MARK};
use super::turns::{Destination, NO_RESULT, Pairing, Speaker};
use crate::dialects::Options;
use crate::json::{Raw, Str};
use crate::ledger::{Leftover, Reason, text_key};
use crate::model::{
    Author, Delta, Event, Field, ItemHead, ItemId, ItemKind, ItemKindTag, ItemTail, Media, MediaSource, Part,
    Request, Status, ToolCall, ToolResult,
};
use crate::pipe::{OpenItems, Writer, WriterOutput};

/// A dialect's form of a request.
pub(crate) trait RequestForm: Send {
    /// Whether consecutive assistant messages stay separate, as user messages do.
    const APART: bool = false;
    /// Whether the dialect distinguishes developer and system messages, for models that accept both.
    const DEVELOPERS: bool = false;
    /// Whether system messages are ordinary messages, so that this module decides their position.
    const SYSTEM_IS_MESSAGE: bool = false;

    /// The limits and words of the dialect's backends.
    fn profile(&self) -> &'static Profile;
    /// The words for cache marks, once the model is known.
    fn cache(&self) -> &'static CacheWords {
        self.profile().cache
    }
    /// Narrows the settings of a request to those that the target accepts.
    fn narrow(&self, settings: &mut Narrowing<'_, '_, '_>);
    /// Opens the request and writes its settings, for a model with the given capabilities.
    fn settings(&mut self, request: &Request<'_>, takes: &ModelCapabilities, out: &mut WriterOutput<'_>);
    /// The form for the content of the assistant's turn.
    fn assistant(&mut self) -> &mut dyn AssistantForm;
    /// Writes the assistant's turn, possibly the last turn; returns whether it had content.
    fn end_assistant(&mut self, is_last: bool, out: &mut WriterOutput<'_>) -> bool;
    /// Adds an image or a document to the content of a message or a result, or books it as lost.
    fn media(&mut self, media: PlacedMedia<'_>, content: &mut WireContent, out: &mut WriterOutput<'_>);
    /// Adds a JSON value to the content of a message or a result, in dialects without a JSON part.
    fn json(
        &mut self,
        delta: &Delta<'_>,
        json: &Raw<'_>,
        content: &mut WireContent,
        out: &mut WriterOutput<'_>,
    ) {
        out.ledger.note("JSON content written as text");
        content.text(delta.item, delta.part, &Str::plain(json.as_str()), out);
    }
    /// Writes a complete message of the user or the system. Calls may still wait for their results.
    fn message(&mut self, message: GatheredMessage<'_>, out: &mut WriterOutput<'_>);
    /// Writes the result of the call with the given escaped id.
    fn result(
        &mut self,
        id: &str,
        is_error: Option<bool>,
        content: &mut WireContent,
        out: &mut WriterOutput<'_>,
    );
    /// Called when every call has its result, with the speaker of the next turn.
    fn settle(&mut self, next: Speaker, out: &mut WriterOutput<'_>);
    /// Called after the last item.
    fn end(&mut self, out: &mut WriterOutput<'_>);
}

/// Media as a part of an item.
pub(crate) struct PlacedMedia<'a> {
    pub(crate) of: ItemKindTag,
    /// The id of the call, if the media are part of a result.
    pub(crate) call: &'a str,
    pub(crate) delta: &'a Delta<'a>,
    pub(crate) media: &'a Media<'a>,
}

/// A message of the user or the system.
pub(crate) struct GatheredMessage<'a> {
    pub(crate) author: Author,
    /// The loss of the author's role is already booked.
    pub(crate) narrowed: bool,
    pub(crate) content: &'a mut WireContent,
    /// Calls waited for their results when the message began.
    pub(crate) waited: bool,
    /// Calls still wait for their results.
    pub(crate) waits: bool,
}

/// Writes a request. A source without settings (a log) gets empty settings.
pub(crate) struct RequestWriter<T> {
    form: T,
    profile: &'static Profile,
    backend: SharedBackend,
    overrides: Overrides,
    takes: ModelCapabilities,
    begun: bool,
    assistant: AssistantWriter,
    turn: AssistantTurn,
    /// The content of the open message.
    said: WireContent,
    /// The open result: the call id and the content.
    result_of: String,
    result: WireContent,
    pairs: Pairing,
    /// The keys of all call ids so far, and the new ids of calls with a duplicate id.
    call_ids: BTreeSet<u128>,
    renamed: HashMap<String, VecDeque<String>>,
    /// The number of further cache marks the target accepts.
    marks_left: usize,
    /// The last speaker.
    last: Speaker,
    /// The turn before the next message.
    before: TurnBefore,
    /// The leading system messages, in dialects that require a single one.
    lead: WireContent,
    lead_author: Author,
    /// A message waits until all calls have their results.
    deferred: bool,
    open: OpenItems<Destination>,
}

/// The state of the assistant's turn.
#[derive(Clone, Copy, PartialEq, Eq)]
enum AssistantTurn {
    /// No turn is open.
    Closed,
    /// The turn has no message yet.
    Open,
    /// The turn has a message.
    Spoken,
}

/// The turn before a message.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TurnBefore {
    /// No turn, or only system messages.
    Nothing,
    User,
    Results,
    Assistant,
}

/// The user message for an empty conversation, which no API accepts.
const NO_MESSAGE: &str = "(no message)";
/// The user message after a partial answer, for models that cannot continue a prefilled answer.
const GO_ON: &str = "Continue.";

impl<T: RequestForm> RequestWriter<T> {
    /// Writes for the backend in the options, or for the vendor of the dialect.
    pub(crate) fn new(form: T, options: &Options) -> Self {
        let profile = form.profile();
        let backend = options.backend.clone().unwrap_or_else(|| profile.vendor.into());
        Self {
            form,
            profile,
            overrides: Overrides::new(options),
            takes: backend.default_capabilities(),
            backend,
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
    fn begin(&mut self, request: &Request<'_>, out: &mut WriterOutput<'_>) {
        self.begun = true;
        let asked = self.overrides.apply(request, out);
        let request = asked.as_ref().unwrap_or(request);
        if self.overrides.model.is_none() && self.backend.lacks_model(request.model.as_ref()) {
            out.ledger.note("the model's name is not one of the target's models; the server may refuse it");
        }
        self.takes = self.backend.capabilities(request.model.as_ref());
        self.assistant.obey(&self.takes, &request.tools);
        if self.takes.other_dialect.is_some() {
            out.ledger.note("this server takes the model in another dialect (`other-dialect`) only");
        }
        let on_settings = request.tools.iter().filter(|tool| tool.cache.is_some()).count();
        let on_settings = on_settings + usize::from(request.cache.is_some());
        self.marks_left = self.takes.max_cache_marks.saturating_sub(on_settings);
        let mut settings = Narrowing::new(request, self.profile, &self.takes, out);
        self.form.narrow(&mut settings);
        let request = settings.request;
        self.form.settings(&request, &self.takes, out);
    }

    fn started(&mut self, head: &ItemHead<'_>, event: &Event<'_>, out: &mut WriterOutput<'_>) {
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
            // Notices have no place in a request and are filtered out before.
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
            // Nearly every result belongs to the first waiting call.
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

    /// Starts a call. APIs require unique ids: a call with the id of an earlier call gets a new id, and so does its
    /// result.
    fn call(
        &mut self,
        head: &ItemHead<'_>,
        call: &ToolCall<'_>,
        event: &Event<'_>,
        out: &mut WriterOutput<'_>,
    ) {
        // An id that the backend issued goes back unchanged.
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

    /// Whether no earlier call has the id; records the id.
    fn is_new(&mut self, id: &Str<'_>) -> bool {
        self.call_ids.insert(text_key(id.as_escaped()))
    }

    fn grew(&mut self, delta: &Delta<'_>, event: &Event<'_>, out: &mut WriterOutput<'_>) {
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
                let takes_bytes = !self.profile.text_documents && takes_media(media, &self.takes).is_ok();
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
                let taken = takes_media(media, &self.takes).and(if has_place {
                    Ok(())
                } else {
                    Err(Reason::Refused)
                });
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

    fn completed(&mut self, tail: &ItemTail<'_>, event: &Event<'_>, out: &mut WriterOutput<'_>) {
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

    /// The author of a system message in the output: the system if the server accepts the position, else the user,
    /// with a mark and at the same position. Leading system messages may have to be a single message, which then waits
    /// for more content.
    fn place_system(&mut self, author: Author, narrowed: bool, out: &mut WriterOutput<'_>) -> Option<Author> {
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

    /// Writes the leading system message.
    fn end_lead(&mut self, out: &mut WriterOutput<'_>) {
        if !self.lead.is_empty() {
            let (author, content) = (self.lead_author, &mut self.lead);
            let message = GatheredMessage { author, narrowed: false, content, waited: false, waits: false };
            self.form.message(message, out);
            self.lead.clear();
        }
    }

    fn begin_assistant(&mut self, out: &mut WriterOutput<'_>) {
        if self.turn == AssistantTurn::Closed {
            self.turn = AssistantTurn::Open;
            self.settle(Speaker::Assistant, out);
            self.assistant.reset();
        }
    }

    fn end_assistant(&mut self, is_last: bool, out: &mut WriterOutput<'_>) {
        if std::mem::replace(&mut self.turn, AssistantTurn::Closed) == AssistantTurn::Closed {
            return;
        }
        self.assistant.close(self.form.assistant(), out);
        // With open calls, the turn continues with their results.
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

    /// Before the next turn, adds a placeholder result for each call without a result.
    fn settle(&mut self, next: Speaker, out: &mut WriterOutput<'_>) {
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

    /// Writes a made-up user message.
    fn say_for_user(&mut self, text: &'static str, out: &mut WriterOutput<'_>) {
        let mut content = WireContent::new(self.profile.texts);
        content.text(ItemId(0), 0, &Str::escaped(text), out);
        content.end(out);
        let author = Author::User;
        let content = &mut content;
        let message = GatheredMessage { author, narrowed: false, content, waited: false, waits: false };
        self.form.message(message, out);
    }

    /// The id of a call in the target, from the id in its result.
    fn result_id<'a>(&mut self, id: &'a Str<'_>) -> Str<'a> {
        // Ids of waiting calls are already in the target's form.
        if self.pairs.is_first(id) {
            return id.reborrow();
        }
        let issued = aliases::issued(id).into_owned();
        let id = aliases::call_id(Some(&issued), self.takes.call_ids, None, ItemId(0)).into_owned();
        // The first call with an id keeps it; results of the other calls follow in the order of the calls.
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
            // A request contains only the first of several answers.
            _ if head.answer.is_some_and(|answer| answer > 0) => Err(Reason::NoSlot),
            ItemKind::Message | ItemKind::Reasoning => Ok(()),
            ItemKind::ToolCall(call) => client_runs(call.kind),
            ItemKind::ToolResult(result) => {
                let around = head.within.and_then(|message| self.open.get(message)).copied();
                let id = result.call_id.as_ref().map(|id| self.result_id(id));
                match around {
                    // A result inside an answer was produced by the provider itself.
                    Some(Destination::Assistant) => Err(Reason::NoSlot),
                    _ if self.pairs.expects(id.as_ref()) => Ok(()),
                    _ => Err(Reason::Refused),
                }
            }
            ItemKind::Notice(_) => Err(Reason::NoSlot),
        }
    }

    fn event(&mut self, event: &Event<'_>, out: &mut WriterOutput<'_>) {
        match event {
            Event::Request(request) if !self.begun => self.begin(request, out),
            // A model call has one set of settings, and they come first.
            Event::Request(_) => out.lose_event(ItemKindTag::Message, event, Reason::Refused),
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
            // Requests have no place for these events, as their support table declares.
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

    fn leftover(&mut self, _: Leftover<'_>, _: &mut WriterOutput<'_>) {}

    fn finish(&mut self, out: &mut WriterOutput<'_>) {
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

/// Writes a text document as text, preceded by its name and context.
fn write_document(
    (item, part): (ItemId, u32),
    media: &Media<'_>,
    content: &mut WireContent,
    out: &mut WriterOutput<'_>,
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

/// The same media with a media type that APIs accept, if theirs differs.
fn with_known_type<'m>(media: &'m Media<'_>, out: &mut WriterOutput<'_>) -> Option<Media<'m>> {
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

/// Whether the backend accepts the media.
fn takes_media(media: &Media<'_>, takes: &Capabilities) -> Result<(), Reason> {
    let known = media.media_type.as_ref().map(Str::decode);
    // A URL without a type is taken for an image.
    let kind = known.as_deref().unwrap_or("image/");
    let takes = match &media.source {
        MediaSource::Url(_) => takes.media.takes_address(kind),
        MediaSource::Base64(_) => takes.media.takes(kind),
        // Text is always accepted; the dialect decides whether a file id is its own.
        MediaSource::Text(_) | MediaSource::File(_) => true,
    };
    if takes { Ok(()) } else { Err(Reason::Refused) }
}

/// Books the status of an item, which has no member on the wire: only an interrupted call is visible.
pub(super) fn lose_status(tail: &ItemTail<'_>, out: &mut WriterOutput<'_>) {
    let ItemTail { status, native_status, .. } = tail;
    out.lose_some(Field::ItemStatus, native_status.as_ref(), Reason::NoSlot);
    if *status == Status::Failed {
        out.lose(Field::ItemStatus, Reason::NoSlot);
    }
}
