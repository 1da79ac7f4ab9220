//! The settings of one model call. A setting is here when two dialects have it; numbers stay as they are spelled.

use super::macros::{EachField, IntoOwned, Shown, Words, owned, said, said_enum, words};
use super::neutral::{self, Neutral, PairFields, Spelling};
use super::{CacheMark, CallKind, Field, Show, Value};
use crate::json::{JsonWriter, Raw, Str};
use crate::tape::{Kind, Val};

said! {
    /// The settings of one model call.
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct Request<'a> {
        /// The model asked for.
        pub model: Option<Str<'a>> => RequestModel,
        /// The most tokens to produce, reasoning included.
        pub max_tokens: Option<Raw<'a>> => MaxTokens,
        /// Sampling temperature.
        pub temperature: Option<Raw<'a>> => Temperature,
        /// Nucleus sampling.
        pub top_p: Option<Raw<'a>> => TopP,
        /// How many of the likeliest tokens to sample from.
        pub top_k: Option<Raw<'a>> => TopK,
        /// What makes sampling repeatable.
        pub seed: Option<Raw<'a>> => Seed,
        /// How much to avoid what was said often.
        pub frequency_penalty: Option<Raw<'a>> => FrequencyPenalty,
        /// How much to avoid what was said at all.
        pub presence_penalty: Option<Raw<'a>> => PresencePenalty,
        /// Whether to tell how likely each token was.
        pub logprobs: Option<bool> => Logprobs,
        /// For how many of the likeliest tokens to tell it.
        pub top_logprobs: Option<Raw<'a>> => TopLogprobs,
        /// How many answers to give.
        pub answers: Option<Raw<'a>> => AnswerCount,
        /// Texts at which to stop.
        pub stop: Vec<Str<'a>> => StopTexts,
        /// Whether to answer as a stream.
        pub stream: Option<bool> => StreamAnswer,
        /// Whether a stream should tell what was used. Most tell it unasked.
        pub stream_usage: Option<bool> => StreamUsage,
        /// Whether the provider should keep the answer.
        pub store: Option<bool> => StoreAnswer,
        /// How to think.
        pub reasoning: Reasoning<'a> => each,
        /// How much to say: low, medium or high.
        pub verbosity: Option<Str<'a>> => Verbosity,
        /// What the answer may be made of, such as `text` and `audio`.
        pub modalities: Vec<Str<'a>> => Modalities,
        /// The form the answer must have.
        pub format: Option<Format<'a>> => each,
        /// The tools on offer.
        pub tools: Vec<Tool<'a>> => each,
        /// Which of them must or may be used.
        pub tool_choice: Option<ToolChoice<'a>> => ToolChoice,
        /// The names of the only tools among them that may be used; empty where all may.
        pub allowed_tools: Vec<Str<'a>> => AllowedTools,
        /// Whether several calls may be made at once.
        pub parallel_calls: Option<bool> => ParallelCalls,
        /// An opaque name for the end user.
        pub user: Option<Str<'a>> => EndUser,
        /// The class of service.
        pub service_tier: Option<Str<'a>> => ServiceTier,
        /// What the caller wants to find again: names and values.
        pub metadata: Vec<(Str<'a>, Str<'a>)> => each,
        /// Calls with the same key are likely to share a cache.
        pub cache_key: Option<Str<'a>> => CacheKey,
        /// The provider should cache as much of the request as it can.
        pub cache: Option<CacheMark<'a>> => each,
    }

    /// How to think.
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct Reasoning<'a> {
        /// How hard: none, minimal, low, medium, high, xhigh or max.
        pub effort: Option<Str<'a>> => Effort,
        /// Whether: `enabled` (with a budget), `adaptive` or another word of the provider. Not at all is an effort of `none`.
        pub mode: Option<Str<'a>> => ReasoningMode,
        /// The most tokens to think.
        pub budget: Option<Raw<'a>> => ReasoningBudget,
        /// How much of it to show: a summary of which length, or nothing.
        pub visibility: Option<Str<'a>> => ReasoningVisibility,
    }

    /// A tool on offer.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Tool<'a> {
        /// Who runs it and how its arguments look.
        pub kind: CallKind => ToolKind,
        /// The vendor's own word for a tool that it trained or runs itself, such as `web_search_20250305`.
        pub vendor_type: Option<Str<'a>> => ToolType,
        /// Its name.
        pub name: Str<'a> => ToolName,
        /// What it does, for the model.
        pub description: Option<Str<'a>> => ToolDescription,
        /// JSON Schema of its arguments.
        pub schema: Option<Raw<'a>> => ToolSchema,
        /// Whether arguments must match the schema.
        pub strict: Option<bool> => ToolStrict,
        /// Settings of a tool that the vendor trained or runs itself: names and values.
        pub config: Vec<(Str<'a>, Raw<'a>)> => each,
        /// What such a tool is for, where vendors have the same.
        pub service: Option<Service> => ToolService,
        /// The group of tools that its name belongs to.
        pub namespace: Option<Str<'a>> => ToolNamespace,
        /// JSON Schema of what it returns.
        pub output_schema: Option<Raw<'a>> => ToolOutputSchema,
        /// Which texts a tool that takes plain text takes, in the provider's own terms.
        pub grammar: Option<Raw<'a>> => ToolGrammar,
        /// Whether the model learns of it only by searching for tools.
        pub deferred: Option<bool> => ToolDeferred,
        /// The provider should cache everything up to this tool.
        pub cache: Option<CacheMark<'a>> => each,
    }

    /// JSON that matches a schema.
    #[derive(Clone, Debug, PartialEq)]
    pub struct SchemaFormat<'a> {
        /// A name for the schema.
        pub name: Option<Str<'a>> => FormatName,
        /// The schema.
        pub schema: Raw<'a> => FormatSchema,
        /// What the answer is for, for the model.
        pub description: Option<Str<'a>> => FormatDescription,
        /// Whether it must match exactly.
        pub strict: Option<bool> => FormatStrict,
    }
}

impl<'a> SchemaFormat<'a> {
    /// A schema of which no more is known.
    pub const fn new(schema: Raw<'a>) -> Self {
        Self { name: None, schema, description: None, strict: None }
    }
}

words! {
    /// What a vendor's own tool is for.
    pub enum Service {
        /// Finds pages.
        WebSearch = "web_search",
        /// Reads pages.
        WebFetch = "web_fetch",
        /// Runs code in a place of the provider's.
        CodeExecution = "code_execution",
        /// Finds passages in files that the provider holds.
        FileSearch = "file_search",
        /// Uses a screen, a keyboard and a mouse.
        Computer = "computer",
        /// Runs commands, at the client.
        Shell = "shell",
        /// Changes files, at the client.
        Editor = "editor",
        /// Finds tools whose description the model was not given.
        ToolSearch = "tool_search",
        /// Tools of an MCP server that the provider asks.
        Mcp = "mcp",
        /// Makes pictures.
        ImageGeneration = "image_generation",
    }
}

impl<'a> Tool<'a> {
    /// A tool of which no more is known.
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

/// The settings that are one value or a list of values, by name: a dialect's table reads and writes them all alike.
macro_rules! by_name {
    ($($field:ident = $kind:ident($($member:ident).+),)*) => {
        impl<'a> Request<'a> {
            /// The setting of that name, to be written.
            pub const fn setting(&self, field: Field) -> Option<SettingRef<'_, 'a>> {
                match field {
                    $(Field::$field => Some(SettingRef::$kind(&self.$($member).+)),)*
                    _ => None,
                }
            }

            /// The setting of that name, to be read.
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

/// A setting to be written.
#[derive(Clone, Copy, Debug)]
pub enum SettingRef<'s, 'a> {
    /// A word or a name.
    Text(&'s Option<Str<'a>>),
    /// A number, as spelled.
    Number(&'s Option<Raw<'a>>),
    /// Yes or no.
    Flag(&'s Option<bool>),
    /// Several words or texts.
    Texts(&'s Vec<Str<'a>>),
    /// Names and values.
    Pairs(&'s Vec<(Str<'a>, Str<'a>)>),
}

/// A setting to be read.
#[derive(Debug)]
pub enum SettingMut<'s, 'a> {
    /// A word or a name.
    Text(&'s mut Option<Str<'a>>),
    /// A number, as spelled.
    Number(&'s mut Option<Raw<'a>>),
    /// Yes or no.
    Flag(&'s mut Option<bool>),
    /// Several words or texts.
    Texts(&'s mut Vec<Str<'a>>),
    /// Names and values.
    Pairs(&'s mut Vec<(Str<'a>, Str<'a>)>),
}

said_enum! {
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

/// A mark on the request or on a tool. One on a part is a [`super::Part::Cache`].
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

/// The settings of a vendor's tool. Names are structure: a law changes values.
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
    /// Reads a mark on a part.
    pub(crate) fn read_on_part(val: Val<'t>) -> Option<Self> {
        Self::read_as(val, Field::CacheMark, Field::CacheLifetime)
    }

    fn read_as(val: Val<'t>, kind: Field, lifetime: Field) -> Option<Self> {
        let kind = val.take_str("kind", kind)?;
        Some(Self { kind, lifetime: val.take_str("lifetime", lifetime) })
    }
}
