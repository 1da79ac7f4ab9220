//! The name of every value the model can hold, and what a target says of it.
//!
//! Books are kept in these names. A reader claims a leaf *for* a field; a writer has one table, an exhaustive `match`
//! over [`Field`] without a wildcard, that says what its target can say ([`Says`]). The pipe compares the two: a leaf that
//! was claimed for a field its target does not say is lost, whoever forgot it. So a new field does not compile until
//! every writer has answered for it, and the same table is the loss table in the documents.

use super::{
    Args, Author, CallKind, Decision, Delta, Event, Failure, FailureClass, FileRef, Format, ItemHead,
    ItemKind, ItemTail, Media, MediaSource, Notice, Opaque, OpaqueKind, Part, Permission, Prompt, Question,
    Request, Session, SessionEnd, Status, Stop, StopClass, Tool, ToolCall, ToolChoice, ToolResult, Turn,
    Usage,
};
use crate::json::{Raw, Str};
use crate::ledger::Reason;

macro_rules! fields {
    ($($room:ident { $($(#[$about:meta])* $name:ident = $group:ident $word:literal,)* })*) => {
        /// The name of a value in the model.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum Field {
            $($($(#[$about])* $name,)*)*
        }

        impl Field {
            /// Every field, in the order of the model.
            pub const ALL: &[Field] = &[$($(Field::$name),*),*];

            /// The word in reports and tables.
            pub const fn word(self) -> &'static str {
                match self {
                    $($(Field::$name => $word,)*)*
                }
            }

            /// What sort of thing it is about.
            pub const fn group(self) -> Group {
                match self {
                    $($(Field::$name => Group::$group,)*)*
                }
            }
        }

        // A pattern for all fields of a room, for tables that say `No` to the whole of it: a log without settings has no
        // place for the next one either. What a target does say is named field by field.
        $(
            #[allow(unused_macros, reason = "not every room is answered as a whole")]
            macro_rules! $room {
                () => { $(crate::model::Field::$name)|* };
            }
            #[allow(unused_imports, reason = "not every room is answered as a whole")]
            pub(crate) use $room;
        )*
    };
}

/// What sort of thing a field is about; reports are ordered by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Group {
    /// What was said and done.
    Conversation,
    /// What failed.
    Failure,
    /// What an agent asked a person.
    Oversight,
    /// The settings of a model call.
    Settings,
    /// What was used.
    Usage,
    /// Where, when and by what the session was run.
    Session,
    /// What holds a document together.
    Bookkeeping,
}

fields! {
    tags {
        /// Says what the values beside it are (a type tag, an index), or nothing at all (`null`); has their fate.
        Structure = Bookkeeping "structure",
        /// Says nothing to anyone: a keep-alive, padding that hides a length. No target misses it.
        Padding = Bookkeeping "padding",
    }

    session {
        /// [`Session::id`]
        SessionId = Session "session/id",
        /// [`Session::parent`]
        SessionParent = Session "session/parent",
        /// [`Session::cwd`]
        SessionCwd = Session "session/cwd",
        /// [`Session::cli_version`]
        SessionVersion = Session "session/cli_version",
        /// [`Session::model`]
        SessionModel = Session "session/model",
        /// [`Session::provider`]
        SessionProvider = Session "session/provider",
        /// [`Session::branch`]
        SessionBranch = Session "session/branch",
        /// [`Session::commit`]
        SessionCommit = Session "session/commit",
        /// [`Session::repository`]
        SessionRepository = Session "session/repository",
        /// [`Session::title`]
        SessionTitle = Session "session/title",
        /// [`Session::start`]
        SessionStart = Session "session/start",
        /// [`Session::agent`]
        SessionAgent = Session "session/agent",
        /// [`SessionEnd::status`]
        SessionEndStatus = Session "session/end/status",
        /// [`SessionEnd::message`]
        SessionEndMessage = Session "session/end/message",
    }

    settings {
        /// [`Request::model`]
        RequestModel = Settings "request/model",
        /// [`Request::max_tokens`]
        MaxTokens = Settings "request/max_tokens",
        /// [`Request::temperature`]
        Temperature = Settings "request/temperature",
        /// [`Request::top_p`]
        TopP = Settings "request/top_p",
        /// [`Request::stop`]
        StopTexts = Settings "request/stop",
        /// [`Request::stream`]
        StreamAnswer = Settings "request/stream",
        /// [`Tool::kind`]
        ToolKind = Settings "request/tool/kind",
        /// [`Tool::name`]
        ToolName = Settings "request/tool/name",
        /// [`Tool::description`]
        ToolDescription = Settings "request/tool/description",
        /// [`Tool::schema`]
        ToolSchema = Settings "request/tool/schema",
        /// [`Tool::strict`]
        ToolStrict = Settings "request/tool/strict",
        /// [`Request::tool_choice`]
        ToolChoice = Settings "request/tool_choice",
        /// [`Request::parallel_calls`]
        ParallelCalls = Settings "request/parallel_calls",
        /// [`Request::effort`]
        Effort = Settings "request/effort",
        /// [`Request::format`]: text, any object, or a schema
        AnswerFormat = Settings "request/format",
        /// The name of [`Format::Schema`]
        FormatName = Settings "request/format/name",
        /// The schema of [`Format::Schema`]
        FormatSchema = Settings "request/format/schema",
        /// The strictness of [`Format::Schema`]
        FormatStrict = Settings "request/format/strict",
        /// [`Request::user`]
        EndUser = Settings "request/user",
        /// [`Request::service_tier`]
        ServiceTier = Settings "request/service_tier",
    }

    turns {
        /// [`Turn::id`]
        TurnId = Bookkeeping "turn/id",
        /// [`Turn::model`]
        TurnModel = Session "turn/model",
        /// [`Turn::time`]
        TurnTime = Bookkeeping "turn/time",
        /// [`Stop::class`] and [`Stop::raw`]
        StopReason = Conversation "turn/stop",
        /// [`Stop::sequence`]
        StopSequence = Conversation "turn/stop_sequence",
    }

    usage {
        /// [`Turn::cost`]
        Cost = Usage "turn/cost",
        /// [`Usage::input`]
        UsageInput = Usage "usage/input",
        /// [`Usage::cache_read`]
        UsageCacheRead = Usage "usage/cache_read",
        /// [`Usage::cache_write`]
        UsageCacheWrite = Usage "usage/cache_write",
        /// [`Usage::cache_write_long`]
        UsageCacheWriteLong = Usage "usage/cache_write_long",
        /// [`Usage::output`]
        UsageOutput = Usage "usage/output",
        /// [`Usage::reasoning`]
        UsageReasoning = Usage "usage/reasoning",
    }

    items {
        /// [`ItemHead::author`]
        ItemAuthor = Conversation "item/author",
        /// [`ItemHead::native_id`]
        ItemId = Bookkeeping "item/id",
        /// [`ItemHead::parent`]
        ItemParent = Bookkeeping "item/parent",
        /// [`ItemHead::time`]
        ItemTime = Bookkeeping "item/time",
        /// [`ItemHead::model`]
        ItemModel = Session "item/model",
        /// [`ItemTail::status`] and [`ItemTail::native_status`]
        ItemStatus = Bookkeeping "item/status",
    }

    parts {
        /// [`Part::Text`] of a message
        MessageText = Conversation "message/text",
        /// Where the bytes of [`Part::Media`] in a message are
        MessageMedia = Conversation "message/media",
        /// [`Part::Json`] of a message
        MessageJson = Conversation "message/json",
        /// [`Part::Refusal`]
        Refusal = Conversation "refusal",
        /// [`Part::Citation`]
        Citation = Conversation "citation",
        /// [`Media::media_type`]
        MediaType = Conversation "media/type",
        /// [`Media::name`]
        MediaName = Conversation "media/name",
        /// [`FileRef::path`]
        FilePath = Conversation "file/path",
        /// [`FileRef::action`]
        FileAction = Conversation "file/action",
        /// [`FileRef::diff`]
        FileDiff = Conversation "file/diff",
    }

    reasoning {
        /// [`Part::Text`] of reasoning
        ReasoningText = Conversation "reasoning/text",
        /// [`Part::Summary`]
        ReasoningSummary = Conversation "reasoning/summary",
        /// [`OpaqueKind::Signature`]
        Signature = Bookkeeping "reasoning/signature",
        /// [`OpaqueKind::Encrypted`]
        Encrypted = Bookkeeping "reasoning/encrypted",
        /// [`Opaque::issuer`]
        Issuer = Bookkeeping "reasoning/issuer",
    }

    calls {
        /// [`ToolCall::call_id`]
        CallId = Conversation "call/id",
        /// [`ToolCall::kind`]
        CallKind = Conversation "call/kind",
        /// [`ToolCall::namespace`]
        CallNamespace = Conversation "call/namespace",
        /// [`ToolCall::name`]
        CallName = Conversation "call/name",
        /// [`Part::Args`]
        CallArgs = Conversation "call/args",
    }

    results {
        /// [`ToolResult::call_id`]
        ResultCallId = Conversation "result/call_id",
        /// [`ToolResult::name`]
        ResultName = Conversation "result/name",
        /// [`Part::Text`] of a result
        ResultText = Conversation "result/text",
        /// Where the bytes of [`Part::Media`] in a result are
        ResultMedia = Conversation "result/media",
        /// [`Part::Json`] of a result
        ResultJson = Conversation "result/json",
        /// [`ItemTail::is_error`]
        ResultIsError = Conversation "result/is_error",
    }

    notices {
        /// [`Notice::event_type`]
        NoticeType = Bookkeeping "notice/type",
        /// [`Part::Text`] of a notice
        NoticeText = Bookkeeping "notice/text",
    }

    oversight {
        /// [`Permission::id`]
        PermissionId = Oversight "permission/id",
        /// [`Permission::action`]
        PermissionAction = Oversight "permission/action",
        /// [`Permission::call_id`]
        PermissionCallId = Oversight "permission/call_id",
        /// [`Permission::input`]
        PermissionInput = Oversight "permission/input",
        /// [`Permission::answer`]
        PermissionAnswer = Oversight "permission/answer",
        /// The reason of [`Decision::Reject`]
        PermissionMessage = Oversight "permission/message",
        /// [`Question::id`]
        QuestionId = Oversight "question/id",
        /// [`Question::call_id`]
        QuestionCallId = Oversight "question/call_id",
        /// [`Prompt::text`]
        QuestionText = Oversight "question/text",
        /// The labels of [`Prompt::options`]
        QuestionOption = Oversight "question/option",
        /// The explanations of [`Prompt::options`]
        QuestionOptionAbout = Oversight "question/option/about",
        /// [`Prompt::multiple`]
        QuestionMultiple = Oversight "question/multiple",
        /// [`Question::answers`]
        QuestionAnswer = Oversight "question/answer",
        /// [`Question::declined`]
        QuestionDeclined = Oversight "question/declined",
    }

    failures {
        /// [`Failure::class`]
        ErrorClass = Failure "error/class",
        /// [`Failure::status`]
        ErrorStatus = Failure "error/status",
        /// [`Failure::code`]
        ErrorCode = Failure "error/code",
        /// [`Failure::message`]
        ErrorMessage = Failure "error/message",
        /// [`Failure::request_id`]
        ErrorRequestId = Failure "error/request_id",
    }
}

/// What a target says of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Says {
    /// Its value, in the target's own terms.
    Exactly,
    /// Its value, in a way of ours; the words say how.
    Emulated(&'static str),
    /// Not every value of it, or not everywhere; the words say which is lost. The writer books each that is.
    Less(&'static str),
    /// Nothing.
    No(Reason),
}

/// What a target says of each field.
pub type SaysTable = fn(Field) -> Says;

/// The table of a target that has a place for everything, such as one that only looks.
pub const fn says_everything(_: Field) -> Says {
    Says::Exactly
}

/// A set of fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fields([bool; Field::ALL.len()]);

impl Fields {
    /// No field.
    pub const NONE: Self = Self([false; Field::ALL.len()]);

    /// What a target does not say.
    pub fn unsaid(says: SaysTable) -> Self {
        let mut set = Self::NONE;
        for field in Field::ALL {
            set.0[*field as usize] = matches!(says(*field), Says::No(_));
        }
        set
    }

    /// Adds a field.
    pub(crate) fn add(&mut self, field: Field) {
        self.0[field as usize] = true;
    }

    /// Whether the field is one of them.
    #[inline]
    pub const fn has(&self, field: Field) -> bool {
        self.0[field as usize]
    }
}

/// What kind of item a part belongs to, as far as the names of fields need to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    /// A message.
    Message,
    /// Reasoning.
    Reasoning,
    /// A tool call.
    Call,
    /// A tool result.
    Result,
    /// A notice.
    Notice,
}

impl Of {
    /// The kind of that item.
    pub const fn item(kind: &ItemKind<'_>) -> Self {
        match kind {
            ItemKind::Message => Of::Message,
            ItemKind::Reasoning => Of::Reasoning,
            ItemKind::ToolCall(_) => Of::Call,
            ItemKind::ToolResult(_) => Of::Result,
            ItemKind::Notice(_) => Of::Notice,
        }
    }

    /// The name of text in it.
    pub const fn text(self) -> Field {
        match self {
            Of::Message | Of::Call => Field::MessageText,
            Of::Reasoning => Field::ReasoningText,
            Of::Result => Field::ResultText,
            Of::Notice => Field::NoticeText,
        }
    }

    /// The name of media in it.
    pub const fn media(self) -> Field {
        match self {
            Of::Result => Field::ResultMedia,
            Of::Message | Of::Call | Of::Reasoning | Of::Notice => Field::MessageMedia,
        }
    }

    /// The name of a JSON value in it.
    pub const fn json(self) -> Field {
        match self {
            Of::Result => Field::ResultJson,
            Of::Message | Of::Call | Of::Reasoning | Of::Notice => Field::MessageJson,
        }
    }
}

/// A value of a field.
pub trait Value {
    /// The text it was read from, if it is text or JSON.
    fn source(&self) -> Option<&str> {
        None
    }

    /// Whether it is a copy, which may be of an earlier frame.
    fn is_copy(&self) -> bool {
        false
    }

    /// Scalars and empty containers in it.
    fn leaves(&self) -> u64 {
        1
    }

    /// Makes it another legal value of its type: a law changes every field and looks for the change.
    fn change(&mut self);
}

impl Value for Str<'_> {
    fn source(&self) -> Option<&str> {
        Some(self.as_escaped())
    }

    fn is_copy(&self) -> bool {
        self.is_owned()
    }

    fn change(&mut self) {
        self.push(&Str::escaped("q"));
    }
}

impl Value for Raw<'_> {
    fn source(&self) -> Option<&str> {
        Some(self.as_str())
    }

    fn is_copy(&self) -> bool {
        self.is_owned()
    }

    fn leaves(&self) -> u64 {
        Raw::leaves(self)
    }

    fn change(&mut self) {
        let json = self.as_str().trim_end();
        let last = json.len() - 1;
        *self = Raw::owned(match json.as_bytes()[last] {
            b'"' => format!("{}q\"", &json[..last]),
            b'}' if json == "{}" => "{\"q\":0}".to_owned(),
            b'}' => format!("{},\"q\":0}}", &json[..last]),
            b']' if json == "[]" => "[0]".to_owned(),
            b']' => format!("{},0]", &json[..last]),
            b'0'..=b'9' => format!("{json}1"),
            _ => "7".to_owned(),
        });
    }
}

impl Value for bool {
    fn change(&mut self) {
        *self = !*self;
    }
}

impl Value for u64 {
    fn change(&mut self) {
        *self += 1;
    }
}

impl Value for u16 {
    fn change(&mut self) {
        *self ^= 1;
    }
}

/// A closed set of words: changing one gives the next.
macro_rules! words {
    ($($name:ident: $($variant:ident),+;)*) => {
        $(impl Value for $name {
            fn change(&mut self) {
                const ALL: &[$name] = &[$($name::$variant),+];
                let at = ALL.iter().position(|known| known == self).unwrap_or(0);
                *self = ALL[(at + 1) % ALL.len()];
            }
        })*
    };
}

words! {
    Author: User, Assistant, System, Developer, Tool;
    CallKind: Function, FreeText, Vendor, Server, Mcp;
    Status: Completed, Failed, Interrupted;
    StopClass: End, Sequence, ToolUse, MaxTokens, ContextFull, Paused, Refusal, Filter, Cancelled, Error, Other;
    FailureClass: InvalidRequest, ContextTooLong, Authentication, Billing, Permission, NotFound, Conflict, TooLarge,
        RateLimit, Server, Overloaded, Timeout, Incomplete, Other;
}

impl Value for &'static str {
    fn change(&mut self) {
        *self = if *self == "unknown" { "anthropic" } else { "unknown" };
    }
}

impl Value for ToolChoice<'_> {
    fn source(&self) -> Option<&str> {
        match self {
            ToolChoice::Named(name) => Some(name.as_escaped()),
            ToolChoice::Auto | ToolChoice::None | ToolChoice::Required => None,
        }
    }

    fn change(&mut self) {
        *self = match self {
            ToolChoice::Auto => ToolChoice::Required,
            ToolChoice::None | ToolChoice::Named(_) => ToolChoice::Auto,
            ToolChoice::Required => ToolChoice::None,
        }
    }
}

impl Value for Format<'_> {
    fn change(&mut self) {
        *self = match self {
            Format::Text => Format::JsonObject,
            Format::JsonObject | Format::Schema { .. } => Format::Text,
        }
    }
}

impl Value for Decision<'_> {
    fn change(&mut self) {
        *self = match self {
            Decision::Accept => Decision::AcceptForSession,
            Decision::AcceptForSession => Decision::Reject(None),
            Decision::Reject(_) => Decision::Accept,
        }
    }
}

/// Whom the fields of an event are shown to.
pub type Show<'s> = dyn FnMut(Field, &mut dyn Value) + 's;

fn some<V: Value>(field: Field, value: &mut Option<V>, show: &mut Show<'_>) {
    if let Some(value) = value {
        show(field, value);
    }
}

impl Event<'_> {
    /// Shows every value the event holds, with its name. `of` is the kind of the item that a piece belongs to.
    pub fn each_field(&mut self, of: Of, show: &mut Show<'_>) {
        match self {
            Event::SessionStarted(session) | Event::SessionUpdated(session) => session.each_field(show),
            Event::SessionEnded(SessionEnd { status, message }) => {
                show(Field::SessionEndStatus, status);
                some(Field::SessionEndMessage, message, show);
            }
            Event::Request(request) => request.each_field(show),
            Event::TurnStarted(turn) | Event::TurnEnded(turn) | Event::Usage(turn) => turn.each_field(show),
            Event::ItemStarted(head) => head.each_field(show),
            Event::ItemDelta(Delta { item: _, part: _, value, arrival: _ }) => value.each_field(of, show),
            Event::ItemCompleted(ItemTail { id: _, status, native_status, is_error }) => {
                show(Field::ItemStatus, status);
                some(Field::ItemStatus, native_status, show);
                some(Field::ResultIsError, is_error, show);
            }
            Event::PermissionRequested(permission) | Event::PermissionResolved(permission) => {
                permission.each_field(show);
            }
            Event::QuestionRequested(question) | Event::QuestionResolved(question) => {
                question.each_field(show);
            }
            Event::Error(Failure { class, status, code, message, request_id }) => {
                show(Field::ErrorClass, class);
                some(Field::ErrorStatus, status, show);
                some(Field::ErrorCode, code, show);
                show(Field::ErrorMessage, message);
                some(Field::ErrorRequestId, request_id, show);
            }
        }
    }
}

impl Session<'_> {
    /// Shows every value with its name.
    pub fn each_field(&mut self, show: &mut Show<'_>) {
        #[rustfmt::skip]
        let Session {
            id, parent, cwd, cli_version, model, provider, branch, commit, repository, title, start, agent,
        } = self;
        some(Field::SessionId, id, show);
        some(Field::SessionParent, parent, show);
        some(Field::SessionCwd, cwd, show);
        some(Field::SessionVersion, cli_version, show);
        some(Field::SessionModel, model, show);
        some(Field::SessionProvider, provider, show);
        some(Field::SessionBranch, branch, show);
        some(Field::SessionCommit, commit, show);
        some(Field::SessionRepository, repository, show);
        some(Field::SessionTitle, title, show);
        some(Field::SessionStart, start, show);
        some(Field::SessionAgent, agent, show);
    }
}

impl Request<'_> {
    /// Shows every value with its name.
    pub fn each_field(&mut self, show: &mut Show<'_>) {
        let Request {
            model,
            max_tokens,
            temperature,
            top_p,
            stop,
            stream,
            tools,
            tool_choice,
            parallel_calls,
            effort,
            format,
            user,
            service_tier,
        } = self;
        some(Field::RequestModel, model, show);
        some(Field::MaxTokens, max_tokens, show);
        some(Field::Temperature, temperature, show);
        some(Field::TopP, top_p, show);
        for text in stop {
            show(Field::StopTexts, text);
        }
        some(Field::StreamAnswer, stream, show);
        for Tool { kind, name, description, schema, strict } in tools {
            show(Field::ToolKind, kind);
            show(Field::ToolName, name);
            some(Field::ToolDescription, description, show);
            some(Field::ToolSchema, schema, show);
            some(Field::ToolStrict, strict, show);
        }
        some(Field::ToolChoice, tool_choice, show);
        some(Field::ParallelCalls, parallel_calls, show);
        some(Field::Effort, effort, show);
        some(Field::AnswerFormat, format, show);
        if let Some(Format::Schema { name, schema, strict }) = format {
            some(Field::FormatName, name, show);
            show(Field::FormatSchema, schema);
            some(Field::FormatStrict, strict, show);
        }
        some(Field::EndUser, user, show);
        some(Field::ServiceTier, service_tier, show);
    }
}

impl Turn<'_> {
    /// Shows every value with its name.
    pub fn each_field(&mut self, show: &mut Show<'_>) {
        let Turn { id, model, time, stop, usage, cost } = self;
        some(Field::TurnId, id, show);
        some(Field::TurnModel, model, show);
        some(Field::TurnTime, time, show);
        if let Some(Stop { class, raw, sequence }) = stop {
            show(Field::StopReason, class);
            some(Field::StopReason, raw, show);
            some(Field::StopSequence, sequence, show);
        }
        if let Some(Usage { input, cache_read, cache_write, cache_write_long, output, reasoning }) = usage {
            some(Field::UsageInput, input, show);
            some(Field::UsageCacheRead, cache_read, show);
            some(Field::UsageCacheWrite, cache_write, show);
            some(Field::UsageCacheWriteLong, cache_write_long, show);
            some(Field::UsageOutput, output, show);
            some(Field::UsageReasoning, reasoning, show);
        }
        some(Field::Cost, cost, show);
    }
}

impl ItemHead<'_> {
    /// Shows every value with its name.
    pub fn each_field(&mut self, show: &mut Show<'_>) {
        // The number is ours, and so is the advice on the shape.
        let ItemHead { id: _, kind, author, within: _, native_id, parent, time, model, shape: _ } = self;
        match kind {
            ItemKind::Message => show(Field::ItemAuthor, author),
            ItemKind::Reasoning => {}
            ItemKind::ToolCall(ToolCall { call_id, kind, namespace, name }) => {
                some(Field::CallId, call_id, show);
                show(Field::CallKind, kind);
                some(Field::CallNamespace, namespace, show);
                show(Field::CallName, name);
            }
            ItemKind::ToolResult(ToolResult { call_id, name }) => {
                some(Field::ResultCallId, call_id, show);
                some(Field::ResultName, name, show);
            }
            ItemKind::Notice(Notice { event_type }) => some(Field::NoticeType, event_type, show),
        }
        some(Field::ItemId, native_id, show);
        some(Field::ItemParent, parent, show);
        some(Field::ItemTime, time, show);
        some(Field::ItemModel, model, show);
    }
}

impl Part<'_> {
    /// Shows every value with its name, as a part of an item of that kind.
    pub fn each_field(&mut self, of: Of, show: &mut Show<'_>) {
        match self {
            Part::Text(text) => show(of.text(), text),
            Part::Summary(text) => show(Field::ReasoningSummary, text),
            Part::Media(Media { media_type, source, name }) => {
                some(Field::MediaType, media_type, show);
                let (MediaSource::Base64(place) | MediaSource::Url(place) | MediaSource::File(place)) =
                    source;
                show(of.media(), place);
                some(Field::MediaName, name, show);
            }
            Part::Json(json) => show(of.json(), json),
            Part::Args(Args::Text(text)) => show(Field::CallArgs, text),
            Part::Args(Args::Json(json)) => show(Field::CallArgs, json),
            Part::File(FileRef { path, action, diff }) => {
                show(Field::FilePath, path);
                show(Field::FileAction, action);
                some(Field::FileDiff, diff, show);
            }
            Part::Citation(json) => show(Field::Citation, json),
            Part::Refusal(text) => show(Field::Refusal, text),
            Part::Opaque(Opaque { kind, issuer, value }) => {
                show(kind.field(), value);
                show(Field::Issuer, issuer);
            }
        }
    }
}

impl OpaqueKind {
    /// The name of such state.
    pub const fn field(self) -> Field {
        match self {
            OpaqueKind::Signature => Field::Signature,
            OpaqueKind::Encrypted => Field::Encrypted,
        }
    }
}

impl Permission<'_> {
    fn each_field(&mut self, show: &mut Show<'_>) {
        let Permission { id, action, call_id, input, answer } = self;
        show(Field::PermissionId, id);
        show(Field::PermissionAction, action);
        some(Field::PermissionCallId, call_id, show);
        some(Field::PermissionInput, input, show);
        some(Field::PermissionAnswer, answer, show);
        if let Some(Decision::Reject(Some(message))) = answer {
            show(Field::PermissionMessage, message);
        }
    }
}

impl Question<'_> {
    fn each_field(&mut self, show: &mut Show<'_>) {
        let Question { id, call_id, prompts, answers, declined } = self;
        show(Field::QuestionId, id);
        some(Field::QuestionCallId, call_id, show);
        for Prompt { text, options, multiple } in prompts {
            show(Field::QuestionText, text);
            for (label, about) in options {
                show(Field::QuestionOption, label);
                some(Field::QuestionOptionAbout, about, show);
            }
            show(Field::QuestionMultiple, multiple);
        }
        for label in answers.iter_mut().flatten().flatten() {
            show(Field::QuestionAnswer, label);
        }
        show(Field::QuestionDeclined, declined);
    }
}
