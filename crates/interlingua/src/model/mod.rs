//! The model in the middle: what any agent or model API can say, as a stream of events.
//!
//! Read this file first. A conversation is what the events fold into ([`crate::fold`]); a whole document is the same
//! events with one delta per part. Values borrow from the frame they were read from and stay escaped; an event that
//! must outlive its frame is made owned with [`Event::into_owned`].
//!
//! A concept becomes a field here when two dialects share it. Until then it is *rest*: kept verbatim beside the item
//! by the pipe itself ([`crate::ledger::Leftover`]), so no reader can forget it.

mod fields;
mod owned;

pub use fields::{Field, Fields, Group, Of, Says, SaysTable, Show, Value, says_everything};
pub(crate) use fields::{failures, notices, oversight, session, settings, turns, usage};

use crate::json::{Raw, Str};

/// One thing that was said or happened.
#[derive(Clone, Debug, PartialEq)]
pub enum Event<'a> {
    /// A session began, or became known.
    SessionStarted(Session<'a>),
    /// More became known about the session, or something about it changed.
    SessionUpdated(Session<'a>),
    /// The session is over.
    SessionEnded(SessionEnd<'a>),
    /// The settings of one model call. The items that follow are its conversation.
    Request(Box<Request<'a>>),
    /// A model response (wire) or the answer to a prompt (live) begins.
    TurnStarted(Turn<'a>),
    /// It ends.
    TurnEnded(Turn<'a>),
    /// What one model response has used so far. Cumulative: the last report for a response id counts.
    Usage(Turn<'a>),
    /// An item begins.
    ItemStarted(ItemHead<'a>),
    /// An item grows.
    ItemDelta(Delta<'a>),
    /// An item is complete.
    ItemCompleted(ItemTail<'a>),
    /// An agent asks whether it may do something.
    PermissionRequested(Permission<'a>),
    /// Someone answered.
    PermissionResolved(Permission<'a>),
    /// An agent asks the user something.
    QuestionRequested(Question<'a>),
    /// Someone answered.
    QuestionResolved(Question<'a>),
    /// Something failed.
    Error(Failure<'a>),
}

/// Our number for an item, unique in one run of a pipe and the same in every run over the same input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ItemId(pub u64);

/// How an item begins: what it is and where it came from.
#[derive(Clone, Debug, PartialEq)]
pub struct ItemHead<'a> {
    /// Our number.
    pub id: ItemId,
    /// What it is.
    pub kind: ItemKind<'a>,
    /// Who speaks. For tool results this is [`Author::Tool`].
    pub author: Author,
    /// The message this item is a block of, in dialects whose messages hold blocks.
    pub within: Option<ItemId>,
    /// The id the dialect gave it.
    pub native_id: Option<Str<'a>>,
    /// The native id of the item it follows or answers.
    pub parent: Option<Str<'a>>,
    /// When, as written.
    pub time: Option<Time<'a>>,
    /// The model that said it, where the dialect tells per item.
    pub model: Option<Str<'a>>,
    /// What its content will look like, so that no writer has to wait and see.
    pub shape: Shape,
}

/// What an item's content will look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Shape {
    /// One part at most, as far as the reader knows.
    #[default]
    One,
    /// A list of parts.
    List,
}

/// The five kinds of item.
#[derive(Clone, Debug, PartialEq)]
pub enum ItemKind<'a> {
    /// Something said. May hold other items, in order, between its parts.
    Message,
    /// Thinking, shown or hidden.
    Reasoning,
    /// The model asks for a tool to be run.
    ToolCall(ToolCall<'a>),
    /// What came of it.
    ToolResult(ToolResult<'a>),
    /// Anything else worth a line: a mode change, an attachment, a snapshot.
    Notice(Notice<'a>),
}

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Author {
    /// The user, or the program on the user's behalf.
    User,
    /// The model.
    Assistant,
    /// The operator of the API.
    System,
    /// The application developer, where a dialect tells this from system.
    Developer,
    /// A tool.
    Tool,
}

/// A request to run a tool. Its arguments are deltas ([`Part::Args`]).
#[derive(Clone, Debug, PartialEq)]
pub struct ToolCall<'a> {
    /// What the result will refer to. Not the item's own id.
    pub call_id: Option<Str<'a>>,
    /// Who runs it and how its arguments look.
    pub kind: CallKind,
    /// The group of tools the name belongs to.
    pub namespace: Option<Str<'a>>,
    /// The tool.
    pub name: Str<'a>,
}

/// Who runs a tool and how its arguments look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallKind {
    /// A function with JSON arguments, run by the client.
    Function,
    /// A tool that takes plain text.
    FreeText,
    /// A tool type the vendor trained, run by the client (shell, editor).
    Vendor,
    /// Run by the provider.
    Server,
    /// A tool of an MCP server.
    Mcp,
}

/// What a tool answered. Its content is deltas.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolResult<'a> {
    /// The call it answers.
    pub call_id: Option<Str<'a>>,
    /// The tool, where the dialect repeats it.
    pub name: Option<Str<'a>>,
}

/// A line that is not part of the conversation proper.
#[derive(Clone, Debug, PartialEq)]
pub struct Notice<'a> {
    /// What sort of notice, in the dialect's own word, if it has one.
    pub event_type: Option<Str<'a>>,
}

/// A piece of an item. Deltas with the same part number join.
#[derive(Clone, Debug, PartialEq)]
pub struct Delta<'a> {
    /// The item that grows.
    pub item: ItemId,
    /// Which of its parts, from 0.
    pub part: u32,
    /// The piece.
    pub value: Part<'a>,
    /// Whether the source itself sent pieces.
    pub arrival: Arrival,
}

/// How a piece of an item came: live readers of our events want to know whether an agent streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// The source wrote the part in one go; the delta is ours.
    Whole,
    /// The source sent this piece as it came.
    Streamed,
}

/// What items are made of.
#[derive(Clone, Debug, PartialEq)]
pub enum Part<'a> {
    /// Text, or the visible text of reasoning.
    Text(Str<'a>),
    /// A summary of reasoning that is not the reasoning itself.
    Summary(Str<'a>),
    /// A picture, document, sound or film.
    Media(Media<'a>),
    /// A JSON value with no further meaning to us.
    Json(Raw<'a>),
    /// Tool arguments.
    Args(Args<'a>),
    /// A file that was read or changed.
    File(FileRef<'a>),
    /// Where a statement comes from, in the dialect's own form.
    Citation(Raw<'a>),
    /// Text by which the model declines.
    Refusal(Str<'a>),
    /// State only its issuer can read. It is never shown and never sent to anyone else.
    Opaque(Opaque<'a>),
}

/// Tool arguments: OpenAI writes them as a string, Anthropic as an object, and streams cut them anywhere.
#[derive(Clone, Debug, PartialEq)]
pub enum Args<'a> {
    /// (A piece of) the text of the arguments.
    Text(Str<'a>),
    /// The arguments as a value.
    Json(Raw<'a>),
}

/// A picture, document, sound or film.
#[derive(Clone, Debug, PartialEq)]
pub struct Media<'a> {
    /// Such as `image/png`, if known.
    pub media_type: Option<Str<'a>>,
    /// Where the bytes are.
    pub source: MediaSource<'a>,
    /// A file name or title.
    pub name: Option<Str<'a>>,
}

/// Where media bytes are.
#[derive(Clone, Debug, PartialEq)]
pub enum MediaSource<'a> {
    /// Here, in base64.
    Base64(Str<'a>),
    /// At an address.
    Url(Str<'a>),
    /// In a provider's file store, under this id.
    File(Str<'a>),
}

/// A file that was read or changed.
#[derive(Clone, Debug, PartialEq)]
pub struct FileRef<'a> {
    /// Its path.
    pub path: Str<'a>,
    /// `read`, `write` or `patch`.
    pub action: Str<'a>,
    /// What changed.
    pub diff: Option<Str<'a>>,
}

/// State only its issuer can read.
#[derive(Clone, Debug, PartialEq)]
pub struct Opaque<'a> {
    /// What it is to the issuer.
    pub kind: OpaqueKind,
    /// The provider that issued it, such as `anthropic`.
    pub issuer: &'static str,
    /// The state.
    pub value: Str<'a>,
}

/// Those who issue opaque state, as records and reports name them.
pub mod issuers {
    /// Anthropic.
    pub const ANTHROPIC: &str = "anthropic";
    /// OpenAI.
    pub const OPENAI: &str = "openai";
    /// Google.
    pub const GOOGLE: &str = "google";
    /// xAI.
    pub const XAI: &str = "xai";
}

/// What opaque state is to its issuer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpaqueKind {
    /// Proof that visible reasoning is genuine.
    Signature,
    /// The reasoning itself, unreadable.
    Encrypted,
}

/// How an item ends.
#[derive(Clone, Debug, PartialEq)]
pub struct ItemTail<'a> {
    /// The item.
    pub id: ItemId,
    /// How it ended.
    pub status: Status,
    /// The dialect's own word for that.
    pub native_status: Option<Str<'a>>,
    /// For tool results: whether the tool said it failed.
    pub is_error: Option<bool>,
}

/// How an item ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// As it should.
    Completed,
    /// The thing itself failed.
    Failed,
    /// The source stopped before it was complete.
    Interrupted,
}

/// A time as written: an RFC 3339 string (with its quotes) or a number.
pub type Time<'a> = Raw<'a>;

/// What is known about a session. `None` means nothing new.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Session<'a> {
    /// The id the agent gave it.
    pub id: Option<Str<'a>>,
    /// The session it was forked or spawned from.
    pub parent: Option<Str<'a>>,
    /// The working directory.
    pub cwd: Option<Str<'a>>,
    /// The version of the agent program.
    pub cli_version: Option<Str<'a>>,
    /// The model in use.
    pub model: Option<Str<'a>>,
    /// Who provides the model.
    pub provider: Option<Str<'a>>,
    /// The branch checked out.
    pub branch: Option<Str<'a>>,
    /// The commit checked out.
    pub commit: Option<Str<'a>>,
    /// Where the repository lives.
    pub repository: Option<Str<'a>>,
    /// A name for people.
    pub title: Option<Str<'a>>,
    /// When it began.
    pub start: Option<Time<'a>>,
    /// The agent program.
    pub agent: Option<&'static str>,
}

/// How a session ended.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionEnd<'a> {
    /// How.
    pub status: Status,
    /// Why, for people.
    pub message: Option<Str<'a>>,
}

/// One model response, or the answer to one prompt.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Turn<'a> {
    /// The id the provider or agent gave it.
    pub id: Option<Str<'a>>,
    /// The model that answers.
    pub model: Option<Str<'a>>,
    /// When it was made, as written.
    pub time: Option<Time<'a>>,
    /// Why it stopped.
    pub stop: Option<Stop<'a>>,
    /// What it used.
    pub usage: Option<Usage>,
    /// What it cost in US dollars, as written.
    pub cost: Option<Raw<'a>>,
}

/// Why a response stopped.
#[derive(Clone, Debug, PartialEq)]
pub struct Stop<'a> {
    /// The reason, in our words.
    pub class: StopClass,
    /// The reason as the provider wrote it.
    pub raw: Option<Str<'a>>,
    /// The stop sequence that matched.
    pub sequence: Option<Str<'a>>,
}

/// Why a response stopped, in our words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopClass {
    /// The model had said everything.
    End,
    /// A stop sequence matched.
    Sequence,
    /// The model waits for tool results.
    ToolUse,
    /// The output limit was reached.
    MaxTokens,
    /// The context window is full.
    ContextFull,
    /// The provider paused; send the content back to go on.
    Paused,
    /// The model declined.
    Refusal,
    /// A filter stopped it.
    Filter,
    /// Someone cancelled it.
    Cancelled,
    /// It failed.
    Error,
    /// A reason we have no word for.
    Other,
}

/// Tokens, in buckets that every provider's numbers convert to and from exactly.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Input that was neither read from nor written to a cache.
    pub input: Option<u64>,
    /// Input read from a cache.
    pub cache_read: Option<u64>,
    /// Input written to a cache, any lifetime.
    pub cache_write: Option<u64>,
    /// The part of `cache_write` with the longer lifetime.
    pub cache_write_long: Option<u64>,
    /// All output, reasoning included.
    pub output: Option<u64>,
    /// The part of `output` that is reasoning.
    pub reasoning: Option<u64>,
}

impl Usage {
    /// All input: uncached, read from cache and written to it.
    pub fn all_input(&self) -> Option<u64> {
        [self.input, self.cache_read, self.cache_write].into_iter().flatten().reduce(u64::saturating_add)
    }

    /// Later numbers win; numbers not repeated stay.
    pub fn overwrite(&mut self, later: &Usage) {
        let Usage { input, cache_read, cache_write, cache_write_long, output, reasoning } = *later;
        self.input = input.or(self.input);
        self.cache_read = cache_read.or(self.cache_read);
        self.cache_write = cache_write.or(self.cache_write);
        self.cache_write_long = cache_write_long.or(self.cache_write_long);
        self.output = output.or(self.output);
        self.reasoning = reasoning.or(self.reasoning);
    }

    /// Both together.
    #[must_use]
    pub fn and(&self, other: &Usage) -> Usage {
        let both =
            |one: Option<u64>, two: Option<u64>| [one, two].into_iter().flatten().reduce(u64::saturating_add);
        Usage {
            input: both(self.input, other.input),
            cache_read: both(self.cache_read, other.cache_read),
            cache_write: both(self.cache_write, other.cache_write),
            cache_write_long: both(self.cache_write_long, other.cache_write_long),
            output: both(self.output, other.output),
            reasoning: both(self.reasoning, other.reasoning),
        }
    }

    /// What must be added to `earlier` to get here; nothing where a number went down.
    #[must_use]
    pub fn increase_over(&self, earlier: &Usage) -> Usage {
        let more = |now: Option<u64>, then: Option<u64>| Some(now?.saturating_sub(then.unwrap_or(0)));
        Usage {
            input: more(self.input, earlier.input),
            cache_read: more(self.cache_read, earlier.cache_read),
            cache_write: more(self.cache_write, earlier.cache_write),
            cache_write_long: more(self.cache_write_long, earlier.cache_write_long),
            output: more(self.output, earlier.output),
            reasoning: more(self.reasoning, earlier.reasoning),
        }
    }
}

/// The settings of one model call.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Request<'a> {
    /// The model asked for.
    pub model: Option<Str<'a>>,
    /// The most tokens to produce, reasoning included.
    pub max_tokens: Option<Raw<'a>>,
    /// Sampling temperature, as written.
    pub temperature: Option<Raw<'a>>,
    /// Nucleus sampling, as written.
    pub top_p: Option<Raw<'a>>,
    /// Texts at which to stop.
    pub stop: Vec<Str<'a>>,
    /// Whether to answer as a stream.
    pub stream: Option<bool>,
    /// The tools on offer.
    pub tools: Vec<Tool<'a>>,
    /// Which of them must or may be used.
    pub tool_choice: Option<ToolChoice<'a>>,
    /// Whether several calls may be made at once.
    pub parallel_calls: Option<bool>,
    /// How hard to think: none, minimal, low, medium, high, xhigh or max.
    pub effort: Option<Str<'a>>,
    /// The form the answer must have.
    pub format: Option<Format<'a>>,
    /// An opaque name for the end user.
    pub user: Option<Str<'a>>,
    /// The class of service.
    pub service_tier: Option<Str<'a>>,
}

/// A tool on offer.
#[derive(Clone, Debug, PartialEq)]
pub struct Tool<'a> {
    /// Who runs it and how its arguments look.
    pub kind: CallKind,
    /// Its name.
    pub name: Str<'a>,
    /// What it does, for the model.
    pub description: Option<Str<'a>>,
    /// JSON Schema of its arguments.
    pub schema: Option<Raw<'a>>,
    /// Whether arguments must match the schema.
    pub strict: Option<bool>,
}

/// Which tools must or may be used.
#[derive(Clone, Debug, PartialEq)]
pub enum ToolChoice<'a> {
    /// The model decides.
    Auto,
    /// None.
    None,
    /// At least one.
    Required,
    /// This one.
    Named(Str<'a>),
}

/// The form an answer must have.
#[derive(Clone, Debug, PartialEq)]
pub enum Format<'a> {
    /// Plain text.
    Text,
    /// Any JSON object.
    JsonObject,
    /// JSON that matches a schema.
    Schema {
        /// A name for the schema.
        name: Option<Str<'a>>,
        /// The schema.
        schema: Raw<'a>,
        /// Whether it must match exactly.
        strict: Option<bool>,
    },
}

/// A question whether an agent may do something, and its answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Permission<'a> {
    /// The id to answer to.
    pub id: Str<'a>,
    /// What the agent wants to do: usually a tool's name.
    pub action: Str<'a>,
    /// The tool call it is about.
    pub call_id: Option<Str<'a>>,
    /// The arguments it would be done with.
    pub input: Option<Raw<'a>>,
    /// The answer; `None` while it is open.
    pub answer: Option<Decision<'a>>,
}

/// The answer to a permission request.
#[derive(Clone, Debug, PartialEq)]
pub enum Decision<'a> {
    /// Yes, this time.
    Accept,
    /// Yes, and do not ask again in this session.
    AcceptForSession,
    /// No, and perhaps why.
    Reject(Option<Str<'a>>),
}

/// Something an agent asks the user, and the answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Question<'a> {
    /// The id to answer to.
    pub id: Str<'a>,
    /// The tool call it is about.
    pub call_id: Option<Str<'a>>,
    /// What is asked, one or several at once.
    pub prompts: Vec<Prompt<'a>>,
    /// One list of chosen labels per prompt; `None` while open, or when declined.
    pub answers: Option<Vec<Vec<Str<'a>>>>,
    /// Whether the user declined to answer.
    pub declined: bool,
}

/// One question with its choices.
#[derive(Clone, Debug, PartialEq)]
pub struct Prompt<'a> {
    /// The question.
    pub text: Str<'a>,
    /// What may be chosen: label and explanation.
    pub options: Vec<(Str<'a>, Option<Str<'a>>)>,
    /// Whether several may be chosen.
    pub multiple: bool,
}

/// Something failed.
#[derive(Clone, Debug, PartialEq)]
pub struct Failure<'a> {
    /// What sort of failure.
    pub class: FailureClass,
    /// The HTTP status, where there is one.
    pub status: Option<u16>,
    /// The provider's code or type.
    pub code: Option<Str<'a>>,
    /// For people.
    pub message: Str<'a>,
    /// The id of the failed request.
    pub request_id: Option<Str<'a>>,
}

/// What sort of failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureClass {
    /// The request was wrong.
    InvalidRequest,
    /// The conversation does not fit the model.
    ContextTooLong,
    /// No or bad credentials.
    Authentication,
    /// No money.
    Billing,
    /// Not allowed.
    Permission,
    /// No such thing.
    NotFound,
    /// In conflict with something else.
    Conflict,
    /// The request was too large.
    TooLarge,
    /// Too many requests.
    RateLimit,
    /// The server failed.
    Server,
    /// The server has too much to do.
    Overloaded,
    /// Nobody answered in time.
    Timeout,
    /// The source stopped before it was complete; nobody said so but us.
    Incomplete,
    /// Anything else.
    Other,
}
