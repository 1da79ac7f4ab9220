//! The name of every value the model can hold, and how well a target supports each.
//!
//! The ledger is kept in these names. A reader claims a leaf *for* a field. A writer has one table, an exhaustive
//! `match` over [`Field`] without a wildcard, with its target's support for each field ([`Support`]). The pipe compares
//! the two: a leaf that was claimed for a field without support is booked as lost, even if the writer does not mention
//! it. So a new field does not compile until every writer's table has a row for it, and the same table is the loss
//! table in the documents.

use super::ItemKind;
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

            /// The group this field belongs to.
            pub const fn group(self) -> Group {
                match self {
                    $($(Field::$name => Group::$group,)*)*
                }
            }
        }

        // A pattern for all fields of a group, for tables that answer `No` to the whole group: a log without settings
        // has no place for the next setting either. Supported fields are listed one by one, except in our own forms,
        // which support every declared field.
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

/// The subject of a field; reports are ordered by group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Group {
    /// Messages, reasoning, calls and results.
    Conversation,
    /// Errors.
    Failure,
    /// Permissions and questions an agent puts to a person.
    Oversight,
    /// The settings of a model call.
    Settings,
    /// Token counts and costs.
    Usage,
    /// Directory, times, program and version of the session.
    Session,
    /// Ids, times and tags that hold a document together.
    Bookkeeping,
}

impl Group {
    /// Every group, in the order of reports.
    pub const ALL: [Group; 7] = [
        Group::Conversation,
        Group::Failure,
        Group::Oversight,
        Group::Settings,
        Group::Usage,
        Group::Session,
        Group::Bookkeeping,
    ];

    /// The word in policies and tables.
    pub const fn word(self) -> &'static str {
        match self {
            Group::Conversation => "conversation",
            Group::Failure => "failure",
            Group::Oversight => "oversight",
            Group::Settings => "settings",
            Group::Usage => "usage",
            Group::Session => "session",
            Group::Bookkeeping => "bookkeeping",
        }
    }
}

fields! {
    tags {
        /// A type tag, an index or `null`: describes the values beside it and shares their fate.
        Structure = Bookkeeping "structure",
        /// Carries no information: a keep-alive, padding that hides a length. No target needs padding.
        Padding = Bookkeeping "padding",
        /// [`super::Event::Clock`]
        EventTime = Bookkeeping "event/time",
    }

    session {
        /// [`super::Session::id`]
        SessionId = Session "session/id",
        /// [`super::Session::parent`]
        SessionParent = Session "session/parent",
        /// [`super::Session::parent_call`]
        SessionParentCall = Session "session/parent_call",
        /// [`super::Session::cwd`]
        SessionCwd = Session "session/cwd",
        /// [`super::Session::cli_version`]
        SessionVersion = Session "session/cli_version",
        /// [`super::Session::model`]
        SessionModel = Session "session/model",
        /// [`super::Session::provider`]
        SessionProvider = Session "session/provider",
        /// [`super::Session::branch`]
        SessionBranch = Session "session/branch",
        /// [`super::Session::commit`]
        SessionCommit = Session "session/commit",
        /// [`super::Session::repository`]
        SessionRepository = Session "session/repository",
        /// [`super::Session::title`]
        SessionTitle = Session "session/title",
        /// [`super::Session::start`]
        SessionStart = Session "session/start",
        /// [`super::Session::agent`]
        SessionAgent = Session "session/agent",
        /// [`super::Session::permission_mode`]
        PermissionMode = Oversight "session/permission_mode",
        /// [`super::Session::approval_policy`]
        ApprovalPolicy = Oversight "session/approval_policy",
        /// [`super::Session::sandbox_policy`]
        SandboxPolicy = Oversight "session/sandbox_policy",
        /// [`super::Session::effort`]
        SessionEffort = Session "session/effort",
        /// [`super::Session::leaf`]
        SessionLeaf = Session "session/leaf",
        /// [`super::Session::unrecorded`]
        SessionUnrecorded = Session "session/unrecorded",
        /// [`super::SessionEnd::status`]
        SessionEndStatus = Session "session/end/status",
        /// [`super::SessionEnd::message`]
        SessionEndMessage = Session "session/end/message",
    }

    settings {
        /// [`super::Request::model`]
        RequestModel = Settings "request/model",
        /// [`super::Request::max_tokens`]
        MaxTokens = Settings "request/max_tokens",
        /// [`super::Request::temperature`]
        Temperature = Settings "request/temperature",
        /// [`super::Request::top_p`]
        TopP = Settings "request/top_p",
        /// [`super::Request::top_k`]
        TopK = Settings "request/top_k",
        /// [`super::Request::seed`]
        Seed = Settings "request/seed",
        /// [`super::Request::frequency_penalty`]
        FrequencyPenalty = Settings "request/frequency_penalty",
        /// [`super::Request::presence_penalty`]
        PresencePenalty = Settings "request/presence_penalty",
        /// [`super::Request::logprobs`]
        Logprobs = Settings "request/logprobs",
        /// [`super::Request::top_logprobs`]
        TopLogprobs = Settings "request/top_logprobs",
        /// [`super::Request::answers`]
        AnswerCount = Settings "request/answers",
        /// [`super::Request::stop`]
        StopTexts = Settings "request/stop",
        /// [`super::Request::stream`]
        StreamAnswer = Settings "request/stream",
        /// [`super::Request::stream_usage`]
        StreamUsage = Settings "request/stream_usage",
        /// [`super::Request::store`]
        StoreAnswer = Settings "request/store",
        /// [`super::Tool::kind`]
        ToolKind = Settings "request/tool/kind",
        /// [`super::Tool::vendor_type`]
        ToolType = Settings "request/tool/type",
        /// [`super::Tool::name`]
        ToolName = Settings "request/tool/name",
        /// [`super::Tool::description`]
        ToolDescription = Settings "request/tool/description",
        /// [`super::Tool::schema`]
        ToolSchema = Settings "request/tool/schema",
        /// [`super::Tool::strict`]
        ToolStrict = Settings "request/tool/strict",
        /// [`super::Tool::config`]
        ToolConfig = Settings "request/tool/config",
        /// [`super::Tool::service`]
        ToolService = Settings "request/tool/service",
        /// [`super::Tool::namespace`]
        ToolNamespace = Settings "request/tool/namespace",
        /// [`super::Tool::output_schema`]
        ToolOutputSchema = Settings "request/tool/output_schema",
        /// [`super::Tool::grammar`]
        ToolGrammar = Settings "request/tool/grammar",
        /// [`super::Tool::deferred`]
        ToolDeferred = Settings "request/tool/deferred",
        /// [`super::Request::tool_choice`]
        ToolChoice = Settings "request/tool_choice",
        /// [`super::Request::allowed_tools`]
        AllowedTools = Settings "request/allowed_tools",
        /// [`super::Request::parallel_calls`]
        ParallelCalls = Settings "request/parallel_calls",
        /// [`super::Reasoning::effort`]
        Effort = Settings "request/effort",
        /// [`super::Reasoning::mode`]
        ReasoningMode = Settings "request/reasoning/mode",
        /// [`super::Reasoning::budget`]
        ReasoningBudget = Settings "request/reasoning/budget",
        /// [`super::Reasoning::visibility`]
        ReasoningVisibility = Settings "request/reasoning/visibility",
        /// [`super::Request::verbosity`]
        Verbosity = Settings "request/verbosity",
        /// [`super::Request::modalities`]
        Modalities = Settings "request/modalities",
        /// [`super::Request::format`]: text, any object, or a schema
        AnswerFormat = Settings "request/format",
        /// The name of [`super::Format::Schema`]
        FormatName = Settings "request/format/name",
        /// The schema of [`super::Format::Schema`]
        FormatSchema = Settings "request/format/schema",
        /// The description of [`super::Format::Schema`]
        FormatDescription = Settings "request/format/description",
        /// The strictness of [`super::Format::Schema`]
        FormatStrict = Settings "request/format/strict",
        /// [`super::Request::user`]
        EndUser = Settings "request/user",
        /// [`super::Request::service_tier`]
        ServiceTier = Settings "request/service_tier",
        /// [`super::Request::metadata`]
        Metadata = Settings "request/metadata",
        /// [`super::Request::cache_key`]
        CacheKey = Settings "request/cache_key",
        /// [`super::Request::cache`] and [`super::Tool::cache`]
        SettingsCache = Settings "request/cache",
    }

    listings {
        /// [`super::ModelInfo::id`]
        ModelId = Settings "model/id",
        /// [`super::ModelInfo::name`]
        ModelName = Settings "model/name",
        /// [`super::ModelInfo::about`]
        ModelAbout = Settings "model/about",
        /// [`super::ModelInfo::owner`]
        ModelOwner = Settings "model/owner",
        /// [`super::ModelInfo::time`]
        ModelTime = Settings "model/time",
        /// [`super::ModelInfo::input_limit`]
        ModelInputLimit = Settings "model/input_limit",
        /// [`super::ModelInfo::output_limit`]
        ModelOutputLimit = Settings "model/output_limit",
    }

    turns {
        /// [`super::Turn::id`]
        TurnId = Bookkeeping "turn/id",
        /// [`super::Turn::model`]
        TurnModel = Session "turn/model",
        /// [`super::Turn::time`]
        TurnTime = Bookkeeping "turn/time",
        /// [`super::Turn::answer`]
        TurnAnswer = Conversation "turn/answer",
        /// [`super::Stop::class`] and [`super::Stop::raw`]
        StopReason = Conversation "turn/stop",
        /// [`super::Stop::sequence`]
        StopSequence = Conversation "turn/stop_sequence",
        /// [`super::Stop::detail`]
        StopDetail = Conversation "turn/stop_detail",
    }

    attempts {
        /// [`super::Turn::request_id`]
        TurnRequestId = Bookkeeping "turn/request_id",
        /// [`super::Turn::effort`]
        TurnEffort = Session "turn/effort",
    }

    usage {
        /// [`super::Turn::cost`]
        Cost = Usage "turn/cost",
        /// [`super::Usage::input`]
        UsageInput = Usage "usage/input",
        /// [`super::Usage::cache_read`]
        UsageCacheRead = Usage "usage/cache_read",
        /// [`super::Usage::cache_write`]
        UsageCacheWrite = Usage "usage/cache_write",
        /// [`super::Usage::cache_write_long`]
        UsageCacheWriteLong = Usage "usage/cache_write_long",
        /// [`super::Usage::input_audio`]
        UsageInputAudio = Usage "usage/input_audio",
        /// [`super::Usage::output`]
        UsageOutput = Usage "usage/output",
        /// [`super::Usage::reasoning`]
        UsageReasoning = Usage "usage/reasoning",
        /// [`super::Usage::output_audio`]
        UsageOutputAudio = Usage "usage/output_audio",
    }

    items {
        /// [`super::ItemHead::author`]
        ItemAuthor = Conversation "item/author",
        /// [`super::ItemHead::origin`]
        ItemOrigin = Conversation "item/origin",
        /// [`super::ItemHead::native_id`]
        ItemId = Bookkeeping "item/id",
        /// [`super::ItemHead::parent`]
        ItemParent = Bookkeeping "item/parent",
        /// [`super::ItemHead::agent`]
        ItemAgent = Conversation "item/agent",
        /// [`super::ItemHead::parent_call`]
        ItemParentCall = Conversation "item/parent_call",
        /// [`super::ItemHead::time`]
        ItemTime = Bookkeeping "item/time",
        /// [`super::ItemHead::model`]
        ItemModel = Session "item/model",
        /// [`super::ItemHead::answer`]
        ItemAnswer = Conversation "item/answer",
        /// [`super::ItemHead::phase`]
        ItemPhase = Conversation "item/phase",
        /// [`super::ItemHead::subject`]
        ItemSubject = Conversation "item/subject",
        /// [`super::ItemTail::status`] and [`super::ItemTail::native_status`]
        ItemStatus = Bookkeeping "item/status",
    }

    parts {
        /// [`super::Part::Text`] of a message
        MessageText = Conversation "message/text",
        /// The location of the bytes of [`super::Part::Media`] in a message
        MessageMedia = Conversation "message/media",
        /// [`super::Part::Json`] of a message
        MessageJson = Conversation "message/json",
        /// [`super::Part::Refusal`]
        Refusal = Conversation "refusal",
    }

    citations {
        /// [`super::Citation::kind`]
        CitationKind = Conversation "citation/kind",
        /// [`super::Citation::quote`]
        CitationQuote = Conversation "citation/quote",
        /// [`super::Citation::title`]
        CitationTitle = Conversation "citation/title",
        /// [`super::Citation::source`]
        CitationSource = Conversation "citation/source",
        /// [`super::Citation::document`]
        CitationDocument = Conversation "citation/document",
        /// [`super::Citation::start`]
        CitationStart = Conversation "citation/start",
        /// [`super::Citation::end`]
        CitationEnd = Conversation "citation/end",
        /// [`super::Citation::from`]
        CitationFrom = Conversation "citation/from",
        /// [`super::Citation::to`]
        CitationTo = Conversation "citation/to",
        /// [`super::Citation::state`]
        CitationState = Bookkeeping "citation/state",
    }

    caches {
        /// [`super::CacheMark::kind`] on a part
        CacheMark = Settings "cache/mark",
        /// [`super::CacheMark::lifetime`] on a part
        CacheLifetime = Settings "cache/lifetime",
    }

    media {
        /// [`super::Media::media_type`]
        MediaType = Conversation "media/type",
        /// [`super::Media::name`]
        MediaName = Conversation "media/name",
        /// [`super::Media::context`]
        MediaContext = Conversation "media/context",
        /// [`super::Media::citable`]
        MediaCitable = Settings "media/citable",
        /// [`super::Media::detail`]
        MediaDetail = Settings "media/detail",
        /// [`super::FileRef::path`]
        FilePath = Conversation "file/path",
        /// [`super::FileRef::action`]
        FileAction = Conversation "file/action",
        /// [`super::FileRef::diff`]
        FileDiff = Conversation "file/diff",
    }

    reasoning {
        /// [`super::Part::Text`] of reasoning
        ReasoningText = Conversation "reasoning/text",
        /// [`super::Part::Summary`]
        ReasoningSummary = Conversation "reasoning/summary",
        /// [`super::OpaqueKind::Signature`]
        Signature = Bookkeeping "opaque/signature",
        /// [`super::OpaqueKind::Encrypted`]
        Encrypted = Bookkeeping "opaque/encrypted",
        /// [`super::Opaque::issuer`]
        Issuer = Bookkeeping "opaque/issuer",
    }

    calls {
        /// [`super::ToolCall::call_id`]
        CallId = Conversation "call/id",
        /// [`super::ToolCall::kind`]
        CallKind = Conversation "call/kind",
        /// [`super::ToolCall::namespace`]
        CallNamespace = Conversation "call/namespace",
        /// [`super::ToolCall::name`]
        CallName = Conversation "call/name",
        /// [`super::Part::Args`]
        CallArgs = Conversation "call/args",
    }

    results {
        /// [`super::ToolResult::call_id`]
        ResultCallId = Conversation "result/call_id",
        /// [`super::ToolResult::name`]
        ResultName = Conversation "result/name",
        /// [`super::Part::Text`] of a result
        ResultText = Conversation "result/text",
        /// The location of the bytes of [`super::Part::Media`] in a result
        ResultMedia = Conversation "result/media",
        /// [`super::Part::Json`] of a result
        ResultJson = Conversation "result/json",
        /// [`super::ItemTail::is_error`]
        ResultIsError = Conversation "result/is_error",
        /// [`super::ItemTail::exit_code`]
        ResultExitCode = Conversation "result/exit_code",
        /// [`super::ItemTail::duration`]
        ResultDuration = Bookkeeping "result/duration",
    }

    revisions {
        /// [`super::ItemHead::replaces`]
        ItemReplaces = Bookkeeping "item/replaces",
        /// [`super::ItemHead::copied_from`]
        ItemCopiedFrom = Bookkeeping "item/copied_from",
        /// [`super::Rewind::to`]
        RewindTo = Conversation "rewind/to",
        /// [`super::Rewind::turns`]
        RewindTurns = Conversation "rewind/turns",
        /// [`super::Compaction::trigger`]
        CompactionTrigger = Conversation "compaction/trigger",
        /// [`super::Compaction::before`]
        CompactionBefore = Conversation "compaction/before",
        /// [`super::Compaction::after`]
        CompactionAfter = Conversation "compaction/after",
        /// [`super::Compaction::summary`]
        CompactionSummary = Conversation "compaction/summary",
        /// [`super::Compaction::history`]
        CompactionHistory = Conversation "compaction/history",
        /// [`super::Compaction::kept_from`]
        CompactionKeptFrom = Conversation "compaction/kept_from",
    }

    notices {
        /// [`super::Notice::event_type`]
        NoticeType = Bookkeeping "notice/type",
        /// [`super::Part::Text`] of a notice
        NoticeText = Bookkeeping "notice/text",
        /// [`super::Part::Json`] of a notice
        NoticeData = Bookkeeping "notice/data",
    }

    oversight {
        /// [`super::Permission::id`]
        PermissionId = Oversight "permission/id",
        /// [`super::Permission::action`]
        PermissionAction = Oversight "permission/action",
        /// [`super::Permission::call_id`]
        PermissionCallId = Oversight "permission/call_id",
        /// [`super::Permission::input`]
        PermissionInput = Oversight "permission/input",
        /// [`super::Permission::answer`]
        PermissionAnswer = Oversight "permission/answer",
        /// The reason of [`super::Decision::Reject`]
        PermissionMessage = Oversight "permission/message",
        /// [`super::Permission::by`]
        PermissionBy = Oversight "permission/by",
        /// [`super::Question::id`]
        QuestionId = Oversight "question/id",
        /// [`super::Question::call_id`]
        QuestionCallId = Oversight "question/call_id",
        /// [`super::Prompt::text`]
        QuestionText = Oversight "question/text",
        /// The labels of [`super::Prompt::options`]
        QuestionOption = Oversight "question/option",
        /// The explanations of [`super::Prompt::options`]
        QuestionOptionAbout = Oversight "question/option/about",
        /// [`super::Prompt::multiple`]
        QuestionMultiple = Oversight "question/multiple",
        /// [`super::Question::answers`]
        QuestionAnswer = Oversight "question/answer",
        /// [`super::Question::declined`]
        QuestionDeclined = Oversight "question/declined",
    }

    failures {
        /// [`super::Failure::class`]
        ErrorClass = Failure "error/class",
        /// [`super::Failure::status`]
        ErrorStatus = Failure "error/status",
        /// [`super::Failure::code`]
        ErrorCode = Failure "error/code",
        /// [`super::Failure::message`]
        ErrorMessage = Failure "error/message",
        /// [`super::Failure::request_id`]
        ErrorRequestId = Failure "error/request_id",
        /// [`super::Failure::retry_after`]
        ErrorRetryAfter = Failure "error/retry_after",
    }
}

/// A target's support for a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Support {
    /// The target has a field for the value.
    Exactly,
    /// The writer expresses the value by a workaround, described by the text.
    Emulated(&'static str),
    /// Some values, or values in some places, are lost; the text names them. The writer books each loss; those
    /// of a request's settings are booked by the stage before the writer.
    Less(&'static str),
    /// The target has no field for the value.
    No(Reason),
}

/// A target's support for each field.
pub type SupportTable = fn(Field) -> Support;

/// The table of a target that supports every field, such as a writer that only observes.
pub const fn supports_everything(_: Field) -> Support {
    Support::Exactly
}

/// A set of fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fields([bool; Field::ALL.len()]);

impl Fields {
    /// No field.
    pub const NONE: Self = Self([false; Field::ALL.len()]);

    /// The fields a target does not support.
    pub fn unsaid(support: SupportTable) -> Self {
        let mut set = Self::NONE;
        for field in Field::ALL {
            set.0[*field as usize] = matches!(support(*field), Support::No(_));
        }
        set
    }

    /// Adds a field.
    pub(crate) fn add(&mut self, field: Field) {
        self.0[field as usize] = true;
    }

    /// Whether the set contains the field.
    #[inline]
    pub const fn has(&self, field: Field) -> bool {
        self.0[field as usize]
    }
}

/// The kind of item a part belongs to; it decides the part's field name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ItemKindTag {
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

impl ItemKindTag {
    /// The kind of the given item.
    pub const fn item(kind: &ItemKind<'_>) -> Self {
        match kind {
            ItemKind::Message => ItemKindTag::Message,
            ItemKind::Reasoning => ItemKindTag::Reasoning,
            ItemKind::ToolCall(_) => ItemKindTag::Call,
            ItemKind::ToolResult(_) => ItemKindTag::Result,
            ItemKind::Notice(_) => ItemKindTag::Notice,
        }
    }

    /// The field of text in an item of this kind.
    pub const fn text(self) -> Field {
        match self {
            ItemKindTag::Message | ItemKindTag::Call => Field::MessageText,
            ItemKindTag::Reasoning => Field::ReasoningText,
            ItemKindTag::Result => Field::ResultText,
            ItemKindTag::Notice => Field::NoticeText,
        }
    }

    /// The field of media in an item of this kind.
    pub const fn media(self) -> Field {
        match self {
            ItemKindTag::Result => Field::ResultMedia,
            ItemKindTag::Message | ItemKindTag::Call | ItemKindTag::Reasoning | ItemKindTag::Notice => {
                Field::MessageMedia
            }
        }
    }

    /// The field of a JSON value in an item of this kind.
    pub const fn json(self) -> Field {
        match self {
            ItemKindTag::Result => Field::ResultJson,
            ItemKindTag::Notice => Field::NoticeData,
            ItemKindTag::Message | ItemKindTag::Call | ItemKindTag::Reasoning => Field::MessageJson,
        }
    }
}
