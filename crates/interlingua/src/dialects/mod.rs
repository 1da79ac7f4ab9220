//! The registry: one line per dialect. Command-line lists, completions, detection, the matrix in the README, laws and
//! goldens are all derived from it.

use std::str::FromStr;
use std::sync::Arc;

use crate::error::Error;
use crate::framing::Framing;
use crate::log::{Outline, ResultCuts};
use crate::model::{Field, Support, SupportTable, Usage};
use crate::pipe::{Reader, Writer};
use crate::sniff::Head;
use crate::tape::Limits;
use crate::wire::backends::SharedBackend;

pub mod agents;
pub mod anthropic;
pub mod export;
pub mod google;
pub mod openai;
pub mod ours;

/// Every dialect.
pub static DIALECTS: &[&Dialect] = &[
    &anthropic::messages::DIALECT,
    &openai::chat::DIALECT,
    &openai::responses::DIALECT,
    &google::gemini::DIALECT,
    &anthropic::claude_stream::DIALECT,
    &anthropic::claude_code::DIALECT,
    &openai::codex::DIALECT,
    &openai::codex_app_server::DIALECT,
    &openai::codex_exec::DIALECT,
    &ours::record::DIALECT,
    &ours::record_v2::DIALECT,
    &ours::universal::DIALECT,
    &agents::pi::DIALECT,
    &agents::pi_stream::DIALECT,
    &openai::kimi::DIALECT,
    &openai::copilot::DIALECT,
    &agents::amp::DIALECT,
    &agents::copilot_cli::DIALECT,
    &agents::copilot_stream::DIALECT,
    &agents::cursor::DIALECT,
    &agents::cursor_stream::DIALECT,
    &google::gemini_cli::DIALECT,
    &google::gemini_stream::DIALECT,
    &google::qwen_code::DIALECT,
    &anthropic::qwen_stream::DIALECT,
    &agents::kimi_cli::DIALECT,
    &agents::kimi_code::DIALECT,
    &agents::kimi_stream::DIALECT,
    &agents::opencode::DIALECT,
    &agents::opencode_events::DIALECT,
    &agents::opencode_stream::DIALECT,
    &anthropic::amp_stream::DIALECT,
    &agents::acp::DIALECT,
    &agents::droid::DIALECT,
    &agents::goose::DIALECT,
    &agents::cline::DIALECT,
    &agents::copilot_chat::DIALECT,
    &agents::cursor_db::DIALECT,
    &agents::aider::DIALECT,
    &agents::crush::DIALECT,
    &export::atif::DIALECT,
    &export::otel::DIALECT,
];

/// Dialects whose writer supports `field` in `role`: candidates when a target lacks the field.
pub fn that_support(field: Field, role: Role) -> impl Iterator<Item = &'static Dialect> {
    let support = move |dialect: &&&'static Dialect| {
        let write = dialect.role(role).and_then(|spec| spec.write.as_ref());
        write.is_some_and(|write| !matches!((write.support)(field), Support::No(_)))
    };
    DIALECTS.iter().filter(support).copied()
}

/// One format of agent logs, agent output or model API traffic.
#[derive(Debug)]
#[cfg_attr(not(feature = "_exhaustive"), non_exhaustive)]
pub struct Dialect {
    /// The name on the command line and in records.
    pub name: &'static str,
    /// The module that implements the dialect: `module_path!()`.
    pub module: &'static str,
    /// Where the dialect is used.
    pub plane: Plane,
    /// A one-line description.
    pub about: &'static str,
    /// A one-line description of the members that detection relies on.
    pub detected_by: &'static str,
    /// The base dialect that this dialect extends; input without the extra members is detected as the base.
    pub flavour_of: Option<&'static str>,
    /// The issuer of signatures and encrypted reasoning, if the dialect has exactly one. Opaque state is sent back only
    /// to its issuer.
    pub issuer: Option<&'static str>,
    /// How the items of a session follow each other.
    pub lineage: Lineage,
    /// The roles, each with its framing, reader and writer.
    pub roles: &'static [RoleSpec],
    /// Fields that the readers parse and the writers have no place for: a value that a built line cannot hold for
    /// another agent's session, or a member that only servers write.
    pub reads_more: &'static [Field],
    /// Scores a document: its role and a confidence (1: nothing contradicts the dialect; 2 and 3: many dialects match,
    /// so alone the result is ambiguous; 10: only this dialect matches).
    pub sniff: fn(&Head<'_>) -> Option<(Role, u32)>,
}

impl Dialect {
    /// The dialect with this name.
    pub fn named(name: &str) -> Option<&'static Dialect> {
        DIALECTS.iter().copied().find(|dialect| dialect.name == name)
    }

    /// The folder below `src/dialects/` and below `fixtures/`, such as `anthropic/claude_code`.
    pub fn folder(&self) -> String {
        self.module.strip_prefix(concat!(module_path!(), "::")).unwrap_or(self.module).replace("::", "/")
    }

    /// The target role for a source of this role: the same role if the dialect writes it, else the only written role of
    /// the same sort (session or model call), else the only written role.
    pub fn role_for(&self, source: Role) -> Option<Role> {
        let written = || self.roles.iter().filter(|spec| spec.write.is_some()).map(|spec| spec.role);
        let only = |roles: &mut dyn Iterator<Item = Role>| roles.next().filter(|_| roles.next().is_none());
        written()
            .find(|role| *role == source)
            .or_else(|| only(&mut written().filter(|role| role.is_session() == source.is_session())))
            .or_else(|| only(&mut written()))
    }

    /// How much of a field reaches another dialect from sources of this dialect in this role. `None` if the sources
    /// have no such field, or if the other dialect has no matching role.
    pub fn carries(&self, role: Role, to: &Dialect, field: Field) -> Option<Support> {
        let support = |dialect: &Dialect, role| Some((dialect.role(role)?.write.as_ref()?.support)(field));
        // A form that is only read may hold any value.
        let is_held = support(self, role).is_none_or(|own| !matches!(own, Support::No(_)));
        if !is_held && !self.reads_more.contains(&field) {
            return None;
        }
        let target = to.role_for(role)?;
        // Bytes of the same dialect and role are copied.
        let is_copied = self.name == to.name && role == target;
        support(to, target).map(|support| if is_copied { Support::Exactly } else { support })
    }

    /// The specification of this role.
    pub fn role(&self, role: Role) -> Option<&'static RoleSpec> {
        self.roles.iter().find(|spec| spec.role == role)
    }
}

/// Parses the name of a dialect: `let claude: &Dialect = "claude-code".parse()?;`
impl FromStr for &'static Dialect {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        Dialect::named(name).ok_or_else(|| Error::UnknownDialect(name.to_owned()))
    }
}

/// Makes a reader for a new input.
pub type MakeReader = fn(&Options) -> Box<dyn Reader>;

/// How a role of a dialect is written.
#[derive(Debug)]
#[cfg_attr(not(feature = "_exhaustive"), non_exhaustive)]
pub struct WriteSpec {
    /// Makes a writer for a new output.
    pub make: fn(&Options) -> Box<dyn Writer>,
    /// The fields the target supports.
    pub support: SupportTable,
}

/// One role of a dialect.
#[derive(Debug)]
#[cfg_attr(not(feature = "_exhaustive"), non_exhaustive)]
pub struct RoleSpec {
    /// The role.
    pub role: Role,
    /// How the bytes are split into frames.
    pub framing: Framing,
    /// Makes a reader.
    pub read: Option<MakeReader>,
    /// How it is written.
    pub write: Option<WriteSpec>,
}

/// How the items of a session follow each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(not(feature = "_exhaustive"), non_exhaustive)]
pub enum Lineage {
    /// In file order. A parent, where present, has another meaning, such as the prompt that an item answers.
    #[default]
    Written,
    /// In file order, but an item may be written again under its id: the later version counts.
    Rewritten,
    /// In file order, in a single conversation: a message of another agent is input to that conversation.
    OneThread,
    /// Each item follows its parent. The active branch ends with the last line that has an id.
    TreeToLastLine,
    /// Each item follows its parent. Lines other than messages may have any parent, so the active branch ends with the
    /// last message.
    TreeToLastMessage,
}

/// Where a dialect is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(feature = "_exhaustive"), non_exhaustive)]
pub enum Plane {
    /// Between clients and model APIs.
    Wire,
    /// Output and input of running agents.
    Live,
    /// Logs that agents leave on disk.
    Log,
    /// Interlingua's own formats.
    Ours,
    /// Formats of other tools that are only written.
    Export,
}

impl Plane {
    /// The word in tables.
    pub const fn word(self) -> &'static str {
        match self {
            Plane::Wire => "wire",
            Plane::Live => "live",
            Plane::Log => "log",
            Plane::Ours => "ours",
            Plane::Export => "export",
        }
    }
}

/// The use of a byte stream in a dialect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(not(feature = "_exhaustive"), non_exhaustive)]
pub enum Role {
    /// A call to a model API.
    Request,
    /// The response to a model call, or the error, as one document.
    Response,
    /// The response to a model call, as a stream.
    Stream,
    /// A request to count the tokens of a model call.
    Count,
    /// The response to a count request.
    Counted,
    /// The models on offer.
    Models,
    /// The output of a running agent.
    Live,
    /// The input of a running agent.
    Input,
    /// The log of an agent on disk.
    Log,
}

impl Role {
    /// Every role.
    pub const ALL: [Role; 9] = [
        Role::Request,
        Role::Response,
        Role::Stream,
        Role::Count,
        Role::Counted,
        Role::Models,
        Role::Live,
        Role::Input,
        Role::Log,
    ];

    /// Whether the role covers a session, logged or live, as opposed to a single model call.
    pub const fn is_session(self) -> bool {
        match self {
            Role::Live | Role::Input | Role::Log => true,
            Role::Request | Role::Response | Role::Stream | Role::Count | Role::Counted | Role::Models => {
                false
            }
        }
    }

    /// The word on the command line.
    pub const fn word(self) -> &'static str {
        match self {
            Role::Request => "request",
            Role::Response => "response",
            Role::Stream => "stream",
            Role::Count => "count",
            Role::Counted => "counted",
            Role::Models => "models",
            Role::Live => "live",
            Role::Input => "input",
            Role::Log => "log",
        }
    }
}

/// Settings of a conversion. Start with `Options::default()`, and change settings with the `with_…` methods or through the
/// members.
#[derive(Clone, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a setting of its own")]
#[non_exhaustive]
pub struct Options {
    /// The size limits of a frame.
    pub limits: Limits,
    /// The server that receives the request; by default the dialect's vendor.
    pub backend: Option<SharedBackend>,
    /// The model to request, overriding the source's model.
    pub model: Option<String>,
    /// The output token limit, overriding the source's limit.
    pub max_tokens: Option<u64>,
    /// Whether the answer is a stream, where the request itself does not say so: a Gemini request says so in its URL.
    pub stream: Option<bool>,
    /// The id of the answer, replacing the source's id: for a server that stores answers under ids of its own.
    pub answer_id: Option<String>,
    /// Whether universal events hold the agent's own line.
    pub include_raw: bool,
    /// Whether universal events have only the members of the public schema.
    pub seed_schema: bool,
    /// Whether to leave out the size and the digest of the source: a record does not name them, and a restored log is not
    /// compared with them. Hashing adds a quarter to the time of a conversion of short lines, and more with long lines.
    pub without_digest: bool,
    /// Whether to omit usage from a stream in formats that send usage only on request.
    pub usage_unasked: bool,
    /// The current time in milliseconds since 1970: for targets that reject future times, and for events of sources
    /// that hold no time.
    pub now: Option<u64>,
    /// Whether the source is complete, as a file is: the head of the output may then wait for later input.
    pub whole: bool,
    /// The source's name, for sources without an id of their own.
    pub source_name: Option<String>,
    /// The source's location, to distinguish sources with the same name. Never written to a target.
    pub source_place: Option<String>,
    /// Usage already counted in the parent record, by response id, to avoid counting it twice in a joined record.
    pub told_responses: Vec<(String, Usage)>,
    /// The items of the source that count, from a first pass over the source ([`crate::log::OutlineReader`]); for logs
    /// written from another dialect. Without an outline, items are written in file order.
    pub outline: Option<Arc<Outline>>,
    /// The id of the session in universal events and in the log of another agent; by default the agent's own id.
    pub session_id: Option<String>,
    /// The working directory of the session in the log of another agent; by default the source's directory.
    pub cwd: Option<String>,
    /// The title of the session in the log of another agent; by default the source's title.
    pub title: Option<String>,
    /// Whether calls of common tools get the names and arguments of the target's tools, in the log of another agent.
    pub map_tools: bool,
    /// The results that are cut in the log of another agent ([`crate::log::BudgetReader`]).
    pub cuts: Option<Arc<ResultCuts>>,
    /// The events of the session so far, for universal events that continue a session.
    pub progress: Option<SessionProgress>,
    /// The dialect that is read; the pipe sets it.
    pub source: Option<&'static str>,
    /// Whether the report lists the fate of every leaf.
    pub trace: bool,
}

/// The universal events of a session so far: later events continue the numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(not(feature = "_exhaustive"), non_exhaustive)]
pub struct SessionProgress {
    /// The number of the last event.
    pub sequence: u64,
    /// The number of the last item.
    pub items: u64,
    /// The number of the last turn.
    pub turns: u64,
    /// The agent's own id of the session.
    pub native_session_id: Option<String>,
}

impl SessionProgress {
    /// The progress after the event with this number.
    #[must_use]
    pub fn new(sequence: u64, items: u64, turns: u64, native_session_id: Option<String>) -> Self {
        Self { sequence, items, turns, native_session_id }
    }
}

impl Options {
    /// Sets the id of the session in universal events and in the log of another agent.
    #[must_use]
    pub fn with_session_id(self, session_id: impl Into<Option<String>>) -> Self {
        Self { session_id: session_id.into(), ..self }
    }

    /// Sets the working directory of the session in the log of another agent.
    #[must_use]
    pub fn with_cwd(self, cwd: impl Into<Option<String>>) -> Self {
        Self { cwd: cwd.into(), ..self }
    }

    /// Sets the title of the session in the log of another agent.
    #[must_use]
    pub fn with_title(self, title: impl Into<Option<String>>) -> Self {
        Self { title: title.into(), ..self }
    }

    /// Sets whether calls of common tools get the names and arguments of the target's tools.
    #[must_use]
    pub fn with_map_tools(self, map_tools: bool) -> Self {
        Self { map_tools, ..self }
    }

    /// Sets the results that are cut in the log of another agent.
    #[must_use]
    pub fn with_cuts(self, cuts: impl Into<Option<Arc<ResultCuts>>>) -> Self {
        Self { cuts: cuts.into(), ..self }
    }

    /// Sets the events of the session so far.
    #[must_use]
    pub fn with_progress(self, progress: impl Into<Option<SessionProgress>>) -> Self {
        Self { progress: progress.into(), ..self }
    }

    /// Sets the size limits of a frame.
    #[must_use]
    pub fn with_limits(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    /// Sets the server that receives the request.
    #[must_use]
    pub fn with_backend(self, backend: impl Into<Option<SharedBackend>>) -> Self {
        Self { backend: backend.into(), ..self }
    }

    /// Sets the model to request.
    #[must_use]
    pub fn with_model(self, model: impl Into<Option<String>>) -> Self {
        Self { model: model.into(), ..self }
    }

    /// Sets the output token limit.
    #[must_use]
    pub fn with_max_tokens(self, max_tokens: impl Into<Option<u64>>) -> Self {
        Self { max_tokens: max_tokens.into(), ..self }
    }

    /// Sets [`Options::stream`].
    #[must_use]
    pub fn with_stream(self, stream: impl Into<Option<bool>>) -> Self {
        Self { stream: stream.into(), ..self }
    }

    /// Sets [`Options::answer_id`].
    #[must_use]
    pub fn with_answer_id(self, answer_id: impl Into<Option<String>>) -> Self {
        Self { answer_id: answer_id.into(), ..self }
    }

    /// Sets whether universal events hold the agent's own line.
    #[must_use]
    pub fn with_include_raw(self, include_raw: bool) -> Self {
        Self { include_raw, ..self }
    }

    /// Sets whether universal events have only the members of the public schema. Values of other members are lost.
    #[must_use]
    pub fn with_seed_schema(self, seed_schema: bool) -> Self {
        Self { seed_schema, ..self }
    }

    /// Sets whether to leave out the size and the digest of the source of a record.
    #[must_use]
    pub fn without_digest(self, without_digest: bool) -> Self {
        Self { without_digest, ..self }
    }

    /// Sets whether to omit usage from a stream in formats that send usage only on request.
    #[must_use]
    pub fn with_usage_unasked(self, usage_unasked: bool) -> Self {
        Self { usage_unasked, ..self }
    }

    /// Sets the current time in milliseconds since 1970.
    #[must_use]
    pub fn with_now(self, now: impl Into<Option<u64>>) -> Self {
        Self { now: now.into(), ..self }
    }

    /// Sets whether the source is complete, as a file is.
    #[must_use]
    pub fn with_whole(self, whole: bool) -> Self {
        Self { whole, ..self }
    }

    /// Sets the source's name.
    #[must_use]
    pub fn with_source_name(self, source_name: impl Into<Option<String>>) -> Self {
        Self { source_name: source_name.into(), ..self }
    }

    /// Sets the source's location.
    #[must_use]
    pub fn with_source_place(self, source_place: impl Into<Option<String>>) -> Self {
        Self { source_place: source_place.into(), ..self }
    }

    /// Sets the usage already counted in the parent record.
    #[must_use]
    pub fn with_told_responses(self, told_responses: Vec<(String, Usage)>) -> Self {
        Self { told_responses, ..self }
    }

    /// Sets the outline of the source.
    #[must_use]
    pub fn with_outline(self, outline: impl Into<Option<Arc<Outline>>>) -> Self {
        Self { outline: outline.into(), ..self }
    }

    /// Sets the dialect that is read.
    #[must_use]
    pub fn with_source(self, source: impl Into<Option<&'static str>>) -> Self {
        Self { source: source.into(), ..self }
    }

    /// Sets whether the report lists the fate of every leaf.
    #[must_use]
    pub fn with_trace(self, trace: bool) -> Self {
        Self { trace, ..self }
    }

    /// Whether the options change the request: a server, a model or a limit must be applied even if source and target
    /// are the same dialect.
    pub(crate) const fn asks_for_more(&self) -> bool {
        self.backend.is_some() || self.model.is_some() || self.max_tokens.is_some()
    }
}
