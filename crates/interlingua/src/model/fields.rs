//! The name of every value the model can hold, and how well a target supports each.
//!
//! The ledger is kept in these names. A reader claims a leaf *for* a field. A writer has one table, an exhaustive
//! `match` over [`Field`] without a wildcard, with its target's support for each field ([`Support`]). The pipe compares
//! the two: a leaf that was claimed for a field without support is booked as lost, even if the writer does not mention
//! it. So a new field does not compile until every writer's table has a row for it, and the same table is the loss
//! table in the documents.

use std::cell::RefCell;

use super::ItemKind;
use crate::ledger::Reason;

macro_rules! fields {
    ($($room:ident { $($(#[$about:meta])* $name:ident = $group:ident $word:literal $label:literal,)* })*) => {
        /// The name of a value in the model.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[cfg_attr(not(feature = "_exhaustive"), non_exhaustive)]
        pub enum Field {
            $($($(#[$about])* $name,)*)*
        }

        impl Field {
            /// Every field, in the order of the model.
            pub const ALL: &[Field] = &[$($(Field::$name),*),*];

            /// The stable name in JSON reports and policies.
            pub const fn word(self) -> &'static str {
                match self {
                    $($(Field::$name => $word,)*)*
                }
            }

            /// The name for people, in reports and tables.
            pub const fn label(self) -> &'static str {
                match self {
                    $($(Field::$name => $label,)*)*
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
        Structure = Bookkeeping "structure" "structure",
        /// Carries no information: a keep-alive, padding that hides a length. No target needs padding.
        Padding = Bookkeeping "padding" "padding",
        /// [`super::Event::Clock`]
        EventTime = Bookkeeping "event/time" "time of an event",
    }

    session {
        /// [`super::Session::id`]
        SessionId = Session "session/id" "session id",
        /// [`super::Session::parent`]
        SessionParent = Session "session/parent" "parent session",
        /// [`super::Session::parent_call`]
        SessionParentCall = Session "session/parent_call" "call that started the session",
        /// [`super::Session::cwd`]
        SessionCwd = Session "session/cwd" "working directory",
        /// [`super::Session::cli_version`]
        SessionVersion = Session "session/cli_version" "agent version",
        /// [`super::Session::model`]
        SessionModel = Session "session/model" "model of the session",
        /// [`super::Session::provider`]
        SessionProvider = Session "session/provider" "provider of the session",
        /// [`super::Session::branch`]
        SessionBranch = Session "session/branch" "git branch",
        /// [`super::Session::commit`]
        SessionCommit = Session "session/commit" "git commit",
        /// [`super::Session::repository`]
        SessionRepository = Session "session/repository" "git repository",
        /// [`super::Session::title`]
        SessionTitle = Session "session/title" "session title",
        /// [`super::Session::start`]
        SessionStart = Session "session/start" "start of the session",
        /// [`super::Session::agent`]
        SessionAgent = Session "session/agent" "agent of the session",
        /// [`super::Session::permission_mode`]
        PermissionMode = Oversight "session/permission_mode" "permission mode",
        /// [`super::Session::approval_policy`]
        ApprovalPolicy = Oversight "session/approval_policy" "approval policy",
        /// [`super::Session::sandbox_policy`]
        SandboxPolicy = Oversight "session/sandbox_policy" "sandbox policy",
        /// [`super::Session::effort`]
        SessionEffort = Session "session/effort" "effort of the session",
        /// [`super::Session::leaf`]
        SessionLeaf = Session "session/leaf" "last item of the active branch",
        /// [`super::Session::unrecorded`]
        SessionUnrecorded = Session "session/unrecorded" "sessions without a log",
        /// [`super::SessionEnd::status`]
        SessionEndStatus = Session "session/end/status" "status at the end of the session",
        /// [`super::SessionEnd::message`]
        SessionEndMessage = Session "session/end/message" "message at the end of the session",
    }

    settings {
        /// [`super::Request::model`]
        RequestModel = Settings "request/model" "requested model",
        /// [`super::Request::max_tokens`]
        MaxTokens = Settings "request/max_tokens" "output token limit",
        /// [`super::Request::temperature`]
        Temperature = Settings "request/temperature" "temperature",
        /// [`super::Request::top_p`]
        TopP = Settings "request/top_p" "top-p",
        /// [`super::Request::top_k`]
        TopK = Settings "request/top_k" "top-k",
        /// [`super::Request::seed`]
        Seed = Settings "request/seed" "seed",
        /// [`super::Request::frequency_penalty`]
        FrequencyPenalty = Settings "request/frequency_penalty" "frequency penalty",
        /// [`super::Request::presence_penalty`]
        PresencePenalty = Settings "request/presence_penalty" "presence penalty",
        /// [`super::Request::logprobs`]
        Logprobs = Settings "request/logprobs" "log probabilities",
        /// [`super::Request::top_logprobs`]
        TopLogprobs = Settings "request/top_logprobs" "number of log probabilities",
        /// [`super::Request::answers`]
        AnswerCount = Settings "request/answers" "number of answers",
        /// [`super::Request::stop`]
        StopTexts = Settings "request/stop" "stop sequences",
        /// [`super::Request::stream`]
        StreamAnswer = Settings "request/stream" "streaming",
        /// [`super::Request::stream_usage`]
        StreamUsage = Settings "request/stream_usage" "usage in a stream",
        /// [`super::Request::store`]
        StoreAnswer = Settings "request/store" "storing the answer",
        /// [`super::Tool::kind`]
        ToolKind = Settings "request/tool/kind" "kind of a tool",
        /// [`super::Tool::vendor_type`]
        ToolType = Settings "request/tool/type" "vendor type of a tool",
        /// [`super::Tool::name`]
        ToolName = Settings "request/tool/name" "tool name",
        /// [`super::Tool::description`]
        ToolDescription = Settings "request/tool/description" "tool description",
        /// [`super::Tool::schema`]
        ToolSchema = Settings "request/tool/schema" "tool schema",
        /// [`super::Tool::strict`]
        ToolStrict = Settings "request/tool/strict" "strictness of a tool",
        /// [`super::Tool::config`]
        ToolConfig = Settings "request/tool/config" "settings of a provider's tool",
        /// [`super::Tool::service`]
        ToolService = Settings "request/tool/service" "service of a provider's tool",
        /// [`super::Tool::namespace`]
        ToolNamespace = Settings "request/tool/namespace" "tool group",
        /// [`super::Tool::output_schema`]
        ToolOutputSchema = Settings "request/tool/output_schema" "output schema of a tool",
        /// [`super::Tool::grammar`]
        ToolGrammar = Settings "request/tool/grammar" "grammar of a tool",
        /// [`super::Tool::deferred`]
        ToolDeferred = Settings "request/tool/deferred" "deferred tool",
        /// [`super::Request::tool_choice`]
        ToolChoice = Settings "request/tool_choice" "tool choice",
        /// [`super::Request::allowed_tools`]
        AllowedTools = Settings "request/allowed_tools" "allowed tools",
        /// [`super::Request::parallel_calls`]
        ParallelCalls = Settings "request/parallel_calls" "parallel calls",
        /// [`super::Reasoning::effort`]
        Effort = Settings "request/effort" "reasoning effort",
        /// [`super::Reasoning::mode`]
        ReasoningMode = Settings "request/reasoning/mode" "reasoning mode",
        /// [`super::Reasoning::budget`]
        ReasoningBudget = Settings "request/reasoning/budget" "reasoning budget",
        /// [`super::Reasoning::visibility`]
        ReasoningVisibility = Settings "request/reasoning/visibility" "visibility of reasoning",
        /// [`super::Request::verbosity`]
        Verbosity = Settings "request/verbosity" "verbosity",
        /// [`super::Request::modalities`]
        Modalities = Settings "request/modalities" "output modalities",
        /// [`super::Request::format`]: text, any object, or a schema
        AnswerFormat = Settings "request/format" "answer format",
        /// The name of [`super::Format::Schema`]
        FormatName = Settings "request/format/name" "name of the answer schema",
        /// The schema of [`super::Format::Schema`]
        FormatSchema = Settings "request/format/schema" "answer schema",
        /// The description of [`super::Format::Schema`]
        FormatDescription = Settings "request/format/description" "description of the answer schema",
        /// The strictness of [`super::Format::Schema`]
        FormatStrict = Settings "request/format/strict" "strictness of the answer schema",
        /// [`super::Request::user`]
        EndUser = Settings "request/user" "end user",
        /// [`super::Request::service_tier`]
        ServiceTier = Settings "request/service_tier" "service tier",
        /// [`super::Request::metadata`]
        Metadata = Settings "request/metadata" "request metadata",
        /// [`super::Request::cache_key`]
        CacheKey = Settings "request/cache_key" "cache key",
        /// [`super::Request::cache`] and [`super::Tool::cache`]
        SettingsCache = Settings "request/cache" "cache marks on settings and tools",
    }

    listings {
        /// [`super::ModelInfo::id`]
        ModelId = Settings "model/id" "model id",
        /// [`super::ModelInfo::name`]
        ModelName = Settings "model/name" "model name",
        /// [`super::ModelInfo::about`]
        ModelAbout = Settings "model/about" "model description",
        /// [`super::ModelInfo::owner`]
        ModelOwner = Settings "model/owner" "model owner",
        /// [`super::ModelInfo::time`]
        ModelTime = Settings "model/time" "model date",
        /// [`super::ModelInfo::input_limit`]
        ModelInputLimit = Settings "model/input_limit" "input limit of a model",
        /// [`super::ModelInfo::output_limit`]
        ModelOutputLimit = Settings "model/output_limit" "output limit of a model",
    }

    turns {
        /// [`super::Turn::id`]
        TurnId = Bookkeeping "turn/id" "response id",
        /// [`super::Turn::model`]
        TurnModel = Session "turn/model" "model of a response",
        /// [`super::Turn::time`]
        TurnTime = Bookkeeping "turn/time" "time of a response",
        /// [`super::Turn::answer`]
        TurnAnswer = Conversation "turn/answer" "number of an answer",
        /// [`super::Stop::class`] and [`super::Stop::raw`]
        StopReason = Conversation "turn/stop" "stop reason",
        /// [`super::Stop::sequence`]
        StopSequence = Conversation "turn/stop_sequence" "stop sequence that was found",
        /// [`super::Stop::detail`]
        StopDetail = Conversation "turn/stop_detail" "details of the stop reason",
    }

    attempts {
        /// [`super::Turn::request_id`]
        TurnRequestId = Bookkeeping "turn/request_id" "request id",
        /// [`super::Turn::effort`]
        TurnEffort = Session "turn/effort" "effort of a response",
    }

    usage {
        /// [`super::Turn::cost`]
        Cost = Usage "turn/cost" "cost",
        /// [`super::Usage::input`]
        UsageInput = Usage "usage/input" "input tokens",
        /// [`super::Usage::cache_read`]
        UsageCacheRead = Usage "usage/cache_read" "cached input tokens",
        /// [`super::Usage::cache_write`]
        UsageCacheWrite = Usage "usage/cache_write" "tokens written to the cache",
        /// [`super::Usage::cache_write_long`]
        UsageCacheWriteLong = Usage "usage/cache_write_long" "tokens written to the long-lived cache",
        /// [`super::Usage::input_audio`]
        UsageInputAudio = Usage "usage/input_audio" "audio input tokens",
        /// [`super::Usage::output`]
        UsageOutput = Usage "usage/output" "output tokens",
        /// [`super::Usage::reasoning`]
        UsageReasoning = Usage "usage/reasoning" "reasoning tokens",
        /// [`super::Usage::output_audio`]
        UsageOutputAudio = Usage "usage/output_audio" "audio output tokens",
    }

    items {
        /// [`super::ItemHead::author`]
        ItemAuthor = Conversation "item/author" "author",
        /// [`super::ItemHead::origin`]
        ItemOrigin = Conversation "item/origin" "origin of a message",
        /// [`super::ItemHead::native_id`]
        ItemId = Bookkeeping "item/id" "message id",
        /// [`super::ItemHead::parent`]
        ItemParent = Bookkeeping "item/parent" "parent message",
        /// [`super::ItemHead::agent`]
        ItemAgent = Conversation "item/agent" "subagent of a message",
        /// [`super::ItemHead::parent_call`]
        ItemParentCall = Conversation "item/parent_call" "call that started a subagent",
        /// [`super::ItemHead::time`]
        ItemTime = Bookkeeping "item/time" "time of a message",
        /// [`super::ItemHead::model`]
        ItemModel = Session "item/model" "model of a message",
        /// [`super::ItemHead::answer`]
        ItemAnswer = Conversation "item/answer" "answer of a message",
        /// [`super::ItemHead::phase`]
        ItemPhase = Conversation "item/phase" "phase of a message",
        /// [`super::ItemHead::subject`]
        ItemSubject = Conversation "item/subject" "subject of reasoning",
        /// [`super::ItemTail::status`] and [`super::ItemTail::native_status`]
        ItemStatus = Bookkeeping "item/status" "status of a message",
    }

    parts {
        /// [`super::Part::Text`] of a message
        MessageText = Conversation "message/text" "message text",
        /// The location of the bytes of [`super::Part::Media`] in a message
        MessageMedia = Conversation "message/media" "pictures and documents",
        /// [`super::Part::Json`] of a message
        MessageJson = Conversation "message/json" "JSON in a message",
        /// [`super::Part::Refusal`]
        Refusal = Conversation "refusal" "refusal",
    }

    citations {
        /// [`super::Citation::kind`]
        CitationKind = Conversation "citation/kind" "kind of a citation",
        /// [`super::Citation::quote`]
        CitationQuote = Conversation "citation/quote" "cited text",
        /// [`super::Citation::title`]
        CitationTitle = Conversation "citation/title" "title of a citation",
        /// [`super::Citation::source`]
        CitationSource = Conversation "citation/source" "source of a citation",
        /// [`super::Citation::document`]
        CitationDocument = Conversation "citation/document" "cited document",
        /// [`super::Citation::start`]
        CitationStart = Conversation "citation/start" "start in the cited document",
        /// [`super::Citation::end`]
        CitationEnd = Conversation "citation/end" "end in the cited document",
        /// [`super::Citation::from`]
        CitationFrom = Conversation "citation/from" "start of the citing text",
        /// [`super::Citation::to`]
        CitationTo = Conversation "citation/to" "end of the citing text",
        /// [`super::Citation::state`]
        CitationState = Bookkeeping "citation/state" "provider's state of a citation",
    }

    caches {
        /// [`super::CacheMark::kind`] on a part
        CacheMark = Settings "cache/mark" "cache mark",
        /// [`super::CacheMark::lifetime`] on a part
        CacheLifetime = Settings "cache/lifetime" "lifetime of a cache mark",
    }

    media {
        /// [`super::Media::media_type`]
        MediaType = Conversation "media/type" "media type",
        /// [`super::Media::name`]
        MediaName = Conversation "media/name" "file name of media",
        /// [`super::Media::context`]
        MediaContext = Conversation "media/context" "context of a document",
        /// [`super::Media::citable`]
        MediaCitable = Settings "media/citable" "citations of a document",
        /// [`super::Media::detail`]
        MediaDetail = Settings "media/detail" "picture detail",
        /// [`super::FileRef::path`]
        FilePath = Conversation "file/path" "file path",
        /// [`super::FileRef::action`]
        FileAction = Conversation "file/action" "file action",
        /// [`super::FileRef::diff`]
        FileDiff = Conversation "file/diff" "file diff",
    }

    reasoning {
        /// [`super::Part::Text`] of reasoning
        ReasoningText = Conversation "reasoning/text" "reasoning text",
        /// [`super::Part::Summary`]
        ReasoningSummary = Conversation "reasoning/summary" "reasoning summary",
        /// [`super::OpaqueKind::Signature`]
        Signature = Bookkeeping "opaque/signature" "reasoning signature",
        /// [`super::OpaqueKind::Encrypted`]
        Encrypted = Bookkeeping "opaque/encrypted" "encrypted reasoning",
        /// [`super::Opaque::issuer`]
        Issuer = Bookkeeping "opaque/issuer" "issuer of reasoning state",
    }

    calls {
        /// [`super::ToolCall::call_id`]
        CallId = Conversation "call/id" "call id",
        /// [`super::ToolCall::kind`]
        CallKind = Conversation "call/kind" "kind of a call",
        /// [`super::ToolCall::namespace`]
        CallNamespace = Conversation "call/namespace" "tool group of a call",
        /// [`super::ToolCall::name`]
        CallName = Conversation "call/name" "tool name of a call",
        /// [`super::Part::Args`]
        CallArgs = Conversation "call/args" "call arguments",
    }

    results {
        /// [`super::ToolResult::call_id`]
        ResultCallId = Conversation "result/call_id" "call id of a result",
        /// [`super::ToolResult::name`]
        ResultName = Conversation "result/name" "tool name of a result",
        /// [`super::Part::Text`] of a result
        ResultText = Conversation "result/text" "result text",
        /// The location of the bytes of [`super::Part::Media`] in a result
        ResultMedia = Conversation "result/media" "pictures and documents in a result",
        /// [`super::Part::Json`] of a result
        ResultJson = Conversation "result/json" "JSON in a result",
        /// [`super::ItemTail::is_error`]
        ResultIsError = Conversation "result/is_error" "error mark of a result",
        /// [`super::ItemTail::exit_code`]
        ResultExitCode = Conversation "result/exit_code" "exit code",
        /// [`super::ItemTail::duration`]
        ResultDuration = Bookkeeping "result/duration" "duration of a call",
    }

    revisions {
        /// [`super::ItemHead::replaces`]
        ItemReplaces = Bookkeeping "item/replaces" "replaced message",
        /// [`super::ItemHead::copied_from`]
        ItemCopiedFrom = Bookkeeping "item/copied_from" "source of a copied message",
        /// [`super::Rewind::to`]
        RewindTo = Conversation "rewind/to" "target of a rewind",
        /// [`super::Rewind::turns`]
        RewindTurns = Conversation "rewind/turns" "rewound turns",
        /// [`super::Compaction::trigger`]
        CompactionTrigger = Conversation "compaction/trigger" "trigger of a compaction",
        /// [`super::Compaction::before`]
        CompactionBefore = Conversation "compaction/before" "tokens before a compaction",
        /// [`super::Compaction::after`]
        CompactionAfter = Conversation "compaction/after" "tokens after a compaction",
        /// [`super::Compaction::summary`]
        CompactionSummary = Conversation "compaction/summary" "compaction summary",
        /// [`super::Compaction::history`]
        CompactionHistory = Conversation "compaction/history" "history that replaces the conversation",
        /// [`super::Compaction::kept_from`]
        CompactionKeptFrom = Conversation "compaction/kept_from" "first message kept by a compaction",
    }

    notices {
        /// [`super::Notice::event_type`]
        NoticeType = Bookkeeping "notice/type" "type of a notice",
        /// [`super::Part::Text`] of a notice
        NoticeText = Bookkeeping "notice/text" "notice text",
        /// [`super::Part::Json`] of a notice
        NoticeData = Bookkeeping "notice/data" "notice data",
    }

    oversight {
        /// [`super::Permission::id`]
        PermissionId = Oversight "permission/id" "permission id",
        /// [`super::Permission::action`]
        PermissionAction = Oversight "permission/action" "requested permission",
        /// [`super::Permission::call_id`]
        PermissionCallId = Oversight "permission/call_id" "call that needs permission",
        /// [`super::Permission::input`]
        PermissionInput = Oversight "permission/input" "input of the requested action",
        /// [`super::Permission::answer`]
        PermissionAnswer = Oversight "permission/answer" "answer to a permission request",
        /// The reason of [`super::Decision::Reject`]
        PermissionMessage = Oversight "permission/message" "reason of a denied permission",
        /// [`super::Permission::by`]
        PermissionBy = Oversight "permission/by" "author of a permission answer",
        /// [`super::Question::id`]
        QuestionId = Oversight "question/id" "question id",
        /// [`super::Question::call_id`]
        QuestionCallId = Oversight "question/call_id" "call that asks a question",
        /// [`super::Prompt::text`]
        QuestionText = Oversight "question/text" "question",
        /// The labels of [`super::Prompt::options`]
        QuestionOption = Oversight "question/option" "answer option",
        /// The explanations of [`super::Prompt::options`]
        QuestionOptionAbout = Oversight "question/option/about" "explanation of an answer option",
        /// [`super::Prompt::multiple`]
        QuestionMultiple = Oversight "question/multiple" "several answers allowed",
        /// [`super::Question::answers`]
        QuestionAnswer = Oversight "question/answer" "answer to a question",
        /// [`super::Question::declined`]
        QuestionDeclined = Oversight "question/declined" "declined question",
    }

    failures {
        /// [`super::Failure::class`]
        ErrorClass = Failure "error/class" "error class",
        /// [`super::Failure::status`]
        ErrorStatus = Failure "error/status" "HTTP status of an error",
        /// [`super::Failure::code`]
        ErrorCode = Failure "error/code" "error code",
        /// [`super::Failure::message`]
        ErrorMessage = Failure "error/message" "error message",
        /// [`super::Failure::request_id`]
        ErrorRequestId = Failure "error/request_id" "request id of an error",
        /// [`super::Failure::retry_after`]
        ErrorRetryAfter = Failure "error/retry_after" "delay before a retry",
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

    /// The fields a target does not support. The set of a table is computed once in each thread: a conversion of a small
    /// body takes less time than the questions about all fields.
    pub fn unsaid(support: SupportTable) -> Self {
        thread_local! {
            /// The sets by the addresses of their tables. Functions with the same address have the same set.
            static KNOWN: RefCell<Vec<(*const (), Fields)>> = const { RefCell::new(Vec::new()) };
        }
        let address = support as *const ();
        KNOWN.with_borrow_mut(|known| {
            if let Some((_, set)) = known.iter().find(|(table, _)| *table == address) {
                return *set;
            }
            let mut set = Self::NONE;
            for field in Field::ALL {
                set.0[*field as usize] = matches!(support(*field), Support::No(_));
            }
            known.push((address, set));
            set
        })
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
#[cfg_attr(not(feature = "_exhaustive"), non_exhaustive)]
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
