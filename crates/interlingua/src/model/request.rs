//! The settings of one model call. A setting is listed here when two dialects have it; numbers keep their spelling.

use super::macros::{EachField, IntoOwned, Shown, Words, owned, said, said_enum, words};
use super::neutral::{self, Neutral, PairFields, Spelling};
use super::{CacheMark, CallKind, Field, Show, Value};
use crate::json::{JsonWriter, Raw, Str};
use crate::tape::{Kind, Val};

said! {
    /// The settings of one model call.
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct Request<'a> {
        /// The requested model.
        pub model: Option<Str<'a>> => RequestModel,
        /// The maximum number of output tokens, reasoning included.
        pub max_tokens: Option<Raw<'a>> => MaxTokens,
        /// Sampling temperature.
        pub temperature: Option<Raw<'a>> => Temperature,
        /// Nucleus sampling.
        pub top_p: Option<Raw<'a>> => TopP,
        /// The number of likeliest tokens to sample from.
        pub top_k: Option<Raw<'a>> => TopK,
        /// The seed for repeatable sampling.
        pub seed: Option<Raw<'a>> => Seed,
        /// The penalty on tokens in proportion to their frequency so far.
        pub frequency_penalty: Option<Raw<'a>> => FrequencyPenalty,
        /// The penalty on tokens that occurred before.
        pub presence_penalty: Option<Raw<'a>> => PresencePenalty,
        /// Whether to return the log probability of each token.
        pub logprobs: Option<bool> => Logprobs,
        /// The number of likeliest tokens to return log probabilities for.
        pub top_logprobs: Option<Raw<'a>> => TopLogprobs,
        /// The number of answers to generate.
        pub answers: Option<Raw<'a>> => AnswerCount,
        /// Stop sequences.
        pub stop: Vec<Str<'a>> => StopTexts,
        /// Whether to stream the answer.
        pub stream: Option<bool> => StreamAnswer,
        /// Whether a stream should report usage. Most providers report usage by default.
        pub stream_usage: Option<bool> => StreamUsage,
        /// Whether the provider should store the answer.
        pub store: Option<bool> => StoreAnswer,
        /// The reasoning settings.
        pub reasoning: Reasoning<'a> => each,
        /// The length of answers: low, medium or high.
        pub verbosity: Option<Str<'a>> => Verbosity,
        /// The output modalities, such as `text` and `audio`.
        pub modalities: Vec<Str<'a>> => Modalities,
        /// The required form of the answer.
        pub format: Option<Format<'a>> => each,
        /// The tools the model may call.
        pub tools: Vec<Tool<'a>> => each,
        /// The tools the model must or may use.
        pub tool_choice: Option<ToolChoice<'a>> => ToolChoice,
        /// The names of the only tools the model may use; empty if all are allowed.
        pub allowed_tools: Vec<Str<'a>> => AllowedTools,
        /// Whether the model may make several calls at once.
        pub parallel_calls: Option<bool> => ParallelCalls,
        /// An opaque name for the end user.
        pub user: Option<Str<'a>> => EndUser,
        /// The service tier.
        pub service_tier: Option<Str<'a>> => ServiceTier,
        /// The caller's own names and values, stored with the request.
        pub metadata: Vec<(Str<'a>, Str<'a>)> => each,
        /// Calls with the same key are likely to share a cache.
        pub cache_key: Option<Str<'a>> => CacheKey,
        /// A request to cache as much of the input as possible.
        pub cache: Option<CacheMark<'a>> => each,
    }

    /// The reasoning settings.
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct Reasoning<'a> {
        /// The effort: none, minimal, low, medium, high, xhigh or max.
        pub effort: Option<Str<'a>> => Effort,
        /// The mode: `enabled` (with a budget), `adaptive` or another word of the provider. Disabled reasoning is an
        /// effort of `none`.
        pub mode: Option<Str<'a>> => ReasoningMode,
        /// The maximum number of reasoning tokens.
        pub budget: Option<Raw<'a>> => ReasoningBudget,
        /// The visibility of reasoning: the length of a summary, or none.
        pub visibility: Option<Str<'a>> => ReasoningVisibility,
    }

    /// A tool the model may call.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Tool<'a> {
        /// The executor and the form of the arguments.
        pub kind: CallKind => ToolKind,
        /// The vendor's own type name of a tool that the vendor trained or runs, such as `web_search_20250305`.
        pub vendor_type: Option<Str<'a>> => ToolType,
        /// The tool's name.
        pub name: Str<'a> => ToolName,
        /// A description for the model.
        pub description: Option<Str<'a>> => ToolDescription,
        /// JSON Schema of the arguments.
        pub schema: Option<Raw<'a>> => ToolSchema,
        /// Whether arguments must match the schema.
        pub strict: Option<bool> => ToolStrict,
        /// Settings of a tool that the vendor trained or runs: names and values.
        pub config: Vec<(Str<'a>, Raw<'a>)> => each,
        /// The purpose of a vendor tool, where several vendors offer the same service.
        pub service: Option<Service> => ToolService,
        /// The group of tools that the name belongs to.
        pub namespace: Option<Str<'a>> => ToolNamespace,
        /// JSON Schema of the result.
        pub output_schema: Option<Raw<'a>> => ToolOutputSchema,
        /// The grammar of the input of a plain-text tool, in the provider's own terms.
        pub grammar: Option<Raw<'a>> => ToolGrammar,
        /// Whether the model finds the tool only by a tool search.
        pub deferred: Option<bool> => ToolDeferred,
        /// A request to cache everything up to this tool.
        pub cache: Option<CacheMark<'a>> => each,
    }

    /// JSON that matches a schema.
    #[derive(Clone, Debug, PartialEq)]
    pub struct SchemaFormat<'a> {
        /// A name for the schema.
        pub name: Option<Str<'a>> => FormatName,
        /// The schema.
        pub schema: Raw<'a> => FormatSchema,
        /// The purpose of the answer, for the model.
        pub description: Option<Str<'a>> => FormatDescription,
        /// Whether the answer must match the schema exactly.
        pub strict: Option<bool> => FormatStrict,
    }
}

impl<'a> SchemaFormat<'a> {
    /// A schema format with only the required fields.
    pub const fn new(schema: Raw<'a>) -> Self {
        Self { name: None, schema, description: None, strict: None }
    }
}

words! {
    /// The purpose of a vendor tool.
    pub enum Service {
        /// Finds web pages.
        WebSearch = "web_search",
        /// Reads web pages.
        WebFetch = "web_fetch",
        /// Runs code in the provider's sandbox.
        CodeExecution = "code_execution",
        /// Finds passages in files stored at the provider.
        FileSearch = "file_search",
        /// Controls a screen, a keyboard and a mouse.
        Computer = "computer",
        /// Runs commands at the client.
        Shell = "shell",
        /// Edits files at the client.
        Editor = "editor",
        /// Finds tools whose description is not part of the prompt.
        ToolSearch = "tool_search",
        /// Tools of an MCP server that the provider calls.
        Mcp = "mcp",
        /// Generates images.
        ImageGeneration = "image_generation",
    }
}

impl<'a> Tool<'a> {
    /// A tool with only the required fields.
    pub const fn new(kind: CallKind, name: Str<'a>) -> Self {
        let (vendor_type, description, schema, strict, cache) = (None, None, None, None, None);
        let (service, namespace, output_schema, grammar, deferred) = (None, None, None, None, None);
        let config = Vec::new();
        #[rustfmt::skip]
        return Self {
            kind, vendor_type, name, description, schema, strict, config, service, namespace, output_schema, grammar,
            deferred, cache,
        };
    }
}

/// Settings that are one value or a list of values, by field: a dialect's table reads and writes all of them
/// uniformly.
macro_rules! by_name {
    ($($field:ident = $kind:ident($($member:ident).+),)*) => {
        impl<'a> Request<'a> {
            /// The setting for the field, for writing.
            pub const fn setting(&self, field: Field) -> Option<SettingRef<'_, 'a>> {
                match field {
                    $(Field::$field => Some(SettingRef::$kind(&self.$($member).+)),)*
                    _ => None,
                }
            }

            /// The setting for the field, for reading.
            pub const fn setting_mut(&mut self, field: Field) -> Option<SettingMut<'_, 'a>> {
                match field {
                    $(Field::$field => Some(SettingMut::$kind(&mut self.$($member).+)),)*
                    _ => None,
                }
            }
        }
    };
}

by_name! {
    RequestModel = Text(model),
    MaxTokens = Number(max_tokens),
    Temperature = Number(temperature),
    TopP = Number(top_p),
    TopK = Number(top_k),
    Seed = Number(seed),
    FrequencyPenalty = Number(frequency_penalty),
    PresencePenalty = Number(presence_penalty),
    Logprobs = Flag(logprobs),
    TopLogprobs = Number(top_logprobs),
    AnswerCount = Number(answers),
    StopTexts = Texts(stop),
    StreamAnswer = Flag(stream),
    StreamUsage = Flag(stream_usage),
    StoreAnswer = Flag(store),
    AllowedTools = Texts(allowed_tools),
    Effort = Text(reasoning.effort),
    ReasoningMode = Text(reasoning.mode),
    ReasoningBudget = Number(reasoning.budget),
    ReasoningVisibility = Text(reasoning.visibility),
    Verbosity = Text(verbosity),
    Modalities = Texts(modalities),
    ParallelCalls = Flag(parallel_calls),
    EndUser = Text(user),
    ServiceTier = Text(service_tier),
    Metadata = Pairs(metadata),
    CacheKey = Text(cache_key),
}

/// A reference to a setting, for writing.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(not(feature = "_exhaustive"), non_exhaustive)]
pub enum SettingRef<'s, 'a> {
    /// A word or a name.
    Text(&'s Option<Str<'a>>),
    /// A number, as spelled.
    Number(&'s Option<Raw<'a>>),
    /// A boolean.
    Flag(&'s Option<bool>),
    /// Several words or texts.
    Texts(&'s Vec<Str<'a>>),
    /// Names and values.
    Pairs(&'s Vec<(Str<'a>, Str<'a>)>),
}

/// A mutable reference to a setting, for reading.
#[derive(Debug)]
#[cfg_attr(not(feature = "_exhaustive"), non_exhaustive)]
pub enum SettingMut<'s, 'a> {
    /// A word or a name.
    Text(&'s mut Option<Str<'a>>),
    /// A number, as spelled.
    Number(&'s mut Option<Raw<'a>>),
    /// A boolean.
    Flag(&'s mut Option<bool>),
    /// Several words or texts.
    Texts(&'s mut Vec<Str<'a>>),
    /// Names and values.
    Pairs(&'s mut Vec<(Str<'a>, Str<'a>)>),
}

said_enum! {
    /// The tools the model must or may use.
    #[derive(Clone, Debug, PartialEq)]
    pub enum ToolChoice<'a> {
        /// The model decides.
        Auto,
        /// The model uses no tool.
        None,
        /// The model uses at least one tool.
        Required,
        /// The model uses the named tool.
        Named(Str<'a>),
    }

    /// The required form of an answer.
    #[derive(Clone, Debug, PartialEq)]
    pub enum Format<'a> {
        /// Plain text.
        Text,
        /// Any JSON object.
        JsonObject,
        /// JSON that matches a schema.
        Schema(SchemaFormat<'a>),
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
            Format::JsonObject | Format::Schema(_) => Format::Text,
        }
    }
}

impl EachField for Format<'_> {
    fn each_field(&mut self, show: &mut Show<'_>) {
        self.show(Field::AnswerFormat, show);
        if let Format::Schema(schema) = self {
            schema.each_field(show);
        }
    }
}

/// A cache mark on the request or on a tool. A mark on a part is a [`super::Part::Cache`].
impl EachField for CacheMark<'_> {
    fn each_field(&mut self, show: &mut Show<'_>) {
        let Self { kind, lifetime } = self;
        kind.show(Field::SettingsCache, show);
        lifetime.show(Field::SettingsCache, show);
    }
}

/// The caller's own names and values.
impl EachField for (Str<'_>, Str<'_>) {
    fn each_field(&mut self, show: &mut Show<'_>) {
        self.1.show(Field::Metadata, show);
    }
}

/// The settings of a vendor's tool. Names are structure: the law tests change values only.
impl EachField for (Str<'_>, Raw<'_>) {
    fn each_field(&mut self, show: &mut Show<'_>) {
        self.1.show(Field::ToolConfig, show);
    }
}

impl PairFields for (Str<'_>, Str<'_>) {
    const NAME: Field = Field::Metadata;
    const VALUE: Field = Field::Metadata;
}

impl PairFields for (Str<'_>, Raw<'_>) {
    const NAME: Field = Field::ToolConfig;
    const VALUE: Field = Field::ToolConfig;
}

impl<'t> Neutral<'t> for ToolChoice<'t> {
    fn absent() -> Self {
        ToolChoice::Auto
    }

    fn write(&self, _: Spelling, json: &mut JsonWriter<'_>) {
        match self {
            ToolChoice::Auto => json.literal("auto"),
            ToolChoice::None => json.literal("none"),
            ToolChoice::Required => json.literal("required"),
            ToolChoice::Named(name) => json.object().key("name").str(name).end_object(),
        };
    }

    fn read(val: Val<'t>, field: Field, _: Spelling) -> Option<Self> {
        let choice = match val.str().as_ref().map(Str::as_escaped) {
            Some("auto") => ToolChoice::Auto,
            Some("none") => ToolChoice::None,
            Some("required") => ToolChoice::Required,
            Some(_) => return None,
            None => return val.take_str("name", field).map(ToolChoice::Named),
        };
        val.take(field);
        Some(choice)
    }
}

impl<'t> Neutral<'t> for Format<'t> {
    fn absent() -> Self {
        Format::Text
    }

    fn write(&self, spelling: Spelling, json: &mut JsonWriter<'_>) {
        match self {
            Format::Text => _ = json.literal("text"),
            Format::JsonObject => _ = json.literal("json_object"),
            Format::Schema(schema) => schema.write(spelling, json),
        }
    }

    fn read(val: Val<'t>, _: Field, spelling: Spelling) -> Option<Self> {
        let format = match val.str().as_ref().map(Str::as_escaped) {
            Some("text") => Format::Text,
            Some("json_object") => Format::JsonObject,
            Some(_) => return None,
            None => return SchemaFormat::read(val, Field::Structure, spelling).map(Format::Schema),
        };
        val.take(Field::AnswerFormat);
        Some(format)
    }
}

impl<'t> Neutral<'t> for CacheMark<'t> {
    fn absent() -> Self {
        Self { kind: Str::default(), lifetime: None }
    }

    fn write(&self, _: Spelling, json: &mut JsonWriter<'_>) {
        json.object().key("kind").str(&self.kind).opt_str("lifetime", self.lifetime.as_ref()).end_object();
    }

    fn read(val: Val<'t>, _: Field, _: Spelling) -> Option<Self> {
        Self::read_as(val, Field::SettingsCache, Field::SettingsCache)
    }
}

impl<'t> CacheMark<'t> {
    /// Reads a cache mark on a part.
    pub(crate) fn read_on_part(val: Val<'t>) -> Option<Self> {
        Self::read_as(val, Field::CacheMark, Field::CacheLifetime)
    }

    fn read_as(val: Val<'t>, kind: Field, lifetime: Field) -> Option<Self> {
        let kind = val.take_str("kind", kind)?;
        Some(Self { kind, lifetime: val.take_str("lifetime", lifetime) })
    }
}
