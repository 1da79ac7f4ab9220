//! What servers and their models take: data, asked before anything is sent.
//!
//! A [`Backend`] is a server that speaks a dialect. Each of its models has [`Capabilities`]; the rules of the first row
//! whose pattern fits the model's name are used, or else those of the backend. Writers, the matrix, the documents and the
//! tests read the same tables, and a user's own rows come before the built-in ones.

use super::Letters;
use crate::json::Str;
use crate::model::Field;

pub(crate) mod builtin;
mod claude;
pub(crate) mod copilot;
pub(crate) mod google;
mod rules;

pub use rules::{NamedRule, RuleError, RuleValue};

/// A server that speaks a dialect.
#[derive(Clone, Copy, Debug)]
pub struct Backend {
    /// Its name on the command line.
    pub name: &'static str,
    /// The dialect that it speaks.
    pub dialect: &'static str,
    /// What it is, in a line.
    pub about: &'static str,
    /// What it takes of a model that no row names.
    pub takes: Capabilities,
    /// Models that take something else.
    pub models: &'static [ModelRow],
}

/// What a backend takes of some models.
#[derive(Clone, Copy, Debug)]
pub struct ModelRow {
    /// The names of the models, each as it is or with a `*` for anything.
    pub names: &'static [&'static str],
    /// What it takes of them.
    pub takes: Capabilities,
}

/// What a server takes of a model.
#[expect(clippy::struct_excessive_bools, reason = "a table of yes and no")]
#[derive(Clone, Copy, Debug)]
pub struct Capabilities {
    /// Whether a request must name a model.
    pub needs_model: bool,
    /// The name of the limit on tokens to produce.
    pub max_tokens: &'static str,
    /// The limit that is sent where the source has none and the server wants one.
    pub max_tokens_default: Option<u64>,
    /// Settings that it refuses or ignores.
    pub refuses: &'static [Field],
    /// The highest temperature.
    pub max_temperature: f64,
    /// The fewest tokens that may be asked for.
    pub min_tokens: u64,
    /// How many texts to stop at.
    pub max_stop_texts: usize,
    /// How many bytes each of them may have.
    pub max_stop_bytes: usize,
    /// Whether they may be nothing but space.
    pub blank_stop_texts: bool,
    /// The names that an assistant's thoughts are read by in history, the one that it is sent by first; empty where they
    /// have no place.
    pub reasoning_names: &'static [&'static str],
    /// Every assistant message with calls must say its thoughts, be it with an empty text.
    pub reasoning_with_calls: bool,
    /// The words for how hard to think.
    pub efforts: &'static [&'static str],
    /// How thinking is asked for.
    pub thinking: ThinkingForms,
    /// Whether sampling can be set while the model thinks.
    pub sampling_with_thinking: bool,
    /// Where system messages may stand.
    pub system: SystemPlaces,
    /// Whether developers are told from the system.
    pub developer: bool,
    /// Ids of calls.
    pub call_ids: NameRule,
    /// Names of tools.
    pub tool_names: NameRule,
    /// Schemas of tools and answers.
    pub schemas: SchemaRules,
    /// Media in what the user says.
    pub media: MediaTypes,
    /// Whether results of calls can hold media.
    pub media_in_results: bool,
    /// Whether the user may speak directly after results, as it must if their media are to follow them.
    pub user_after_results: bool,
    /// How many marks for the cache.
    pub max_cache_marks: usize,
    /// In which words they are.
    pub cache_marks: CacheMarkForm,
    /// Whether the conversation may end with the assistant.
    pub prefill: bool,
    /// The member by which that message says that the answer goes on where it ends.
    pub prefill_member: Option<&'static str>,
    /// The name of the seed.
    pub seed: &'static str,
    /// The issuers whose state it takes in `reasoning_details`, because it asks them.
    pub state_of: &'static [&'static str],
    /// Whether a call can be demanded while the model thinks.
    pub forced_calls_with_thinking: bool,
    /// Whether a call of any tool can be demanded, without a name.
    pub unnamed_calls: bool,
    /// What stands for the state that the first call of an assistant's turn must carry, where its issuer gave none: the
    /// server's own word for history that another model made.
    pub call_state: Option<&'static str>,
    /// The dialect in which the server takes the model, where that is another.
    pub other_dialect: Option<&'static str>,
}

/// Which ids or names a target takes.
#[derive(Clone, Copy, Debug)]
pub struct NameRule {
    /// The characters.
    pub letters: Letters,
    /// The fewest characters.
    pub least: usize,
    /// The most characters.
    pub most: usize,
    /// It must begin with a letter or an underscore.
    pub letter_first: bool,
}

impl NameRule {
    /// What nearly every backend takes as the name of a tool.
    pub const TOOL: Self = Self { letters: Letters::Word, least: 1, most: 64, letter_first: false };
    /// What a client takes: the names in an answer are its own, or those that the backend gave.
    pub const ANY: Self = Self { letters: Letters::Any, least: 1, most: usize::MAX, letter_first: false };
}

/// How thinking is asked for.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a form of its own that a backend takes or not")]
pub struct ThinkingForms {
    /// By a number of tokens.
    pub budget: bool,
    /// The fewest of them.
    pub budget_least: usize,
    /// The most of them.
    pub budget_most: usize,
    /// The number must be below the limit on all tokens.
    pub budget_below_limit: bool,
    /// As much as the model finds right.
    pub adaptive: bool,
    /// It can be switched off.
    pub off: bool,
}

impl ThinkingForms {
    /// No way to ask for thinking but by an effort, and any budget where a row adds one.
    pub const EFFORT_ALONE: Self = Self {
        budget: false,
        budget_least: 1,
        budget_most: usize::MAX,
        budget_below_limit: false,
        adaptive: false,
        off: false,
    };
}

/// Where system messages may stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SystemPlaces {
    /// Anywhere.
    Anywhere,
    /// At the beginning, and after the user. Where the dialect is Anthropic's, the assistant or nothing must follow.
    AfterUser,
    /// At the beginning, and there is one.
    First,
    /// Nowhere: instructions are the user's.
    Nowhere,
}

/// The words of marks for the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CacheMarkForm {
    /// Those of the dialect.
    Own,
    /// `cache_control`, which gateways in front of other providers take.
    CacheControl,
}

/// What schemas must be.
#[expect(clippy::struct_excessive_bools, reason = "a table of yes and no")]
#[derive(Clone, Copy, Debug)]
pub struct SchemaRules {
    /// The root of a tool's schema must be an object and nothing else.
    pub object_root: bool,
    /// A strict schema closes every object.
    pub strict_is_closed: bool,
    /// A strict schema lists every property as required.
    pub strict_requires_all: bool,
    /// A schema of an answer closes every object, strict or not.
    pub answer_is_closed: bool,
    /// Every property has a type.
    pub typed: bool,
}

/// Which media the user may send.
#[derive(Clone, Copy, Debug)]
pub struct MediaTypes {
    /// Types of media that are sent with their bytes; one that ends in `/` is all of its sort.
    pub inline: &'static [&'static str],
    /// Types of media that may be at an address of the web.
    pub by_address: &'static [&'static str],
}

impl MediaTypes {
    /// Whether bytes of that type may be sent.
    pub fn takes(&self, media_type: &str) -> bool {
        fits(self.inline, media_type)
    }

    /// Whether media of that type may be at an address.
    pub fn takes_address(&self, media_type: &str) -> bool {
        fits(self.by_address, media_type)
    }
}

fn fits(types: &[&str], media_type: &str) -> bool {
    types.iter().any(|known| media_type == *known || known.ends_with('/') && media_type.starts_with(known))
}

impl Backend {
    /// The built-in ones.
    pub fn built_in() -> &'static [&'static Backend] {
        builtin::BACKENDS
    }

    /// The built-in backend of that name that speaks that dialect.
    pub fn named(name: &str, dialect: &str) -> Option<&'static Backend> {
        Self::built_in().iter().copied().find(|backend| backend.name == name && backend.dialect == dialect)
    }

    /// The backend that is meant where nobody names one: the vendor of the dialect.
    pub fn of_dialect(dialect: &str) -> Option<&'static Backend> {
        Self::built_in().iter().copied().find(|backend| backend.dialect == dialect)
    }

    /// Whether the name is not one of the vendor's own models. Servers that host models of others have no such list.
    pub fn lacks_model(&self, model: Option<&Str<'_>>) -> bool {
        let Some(model) = model.map(Str::decode) else { return false };
        let own = OWN_MODELS.iter().find(|(name, _)| *name == self.name);
        own.is_some_and(|(_, patterns)| !patterns.iter().any(|pattern| is_match(pattern, &model)))
    }

    /// What it takes of that model.
    pub fn takes_of(&'static self, model: Option<&Str<'_>>) -> &'static Capabilities {
        let plain = model.map(Str::decode).unwrap_or_default();
        let fits = |row: &&ModelRow| row.names.iter().any(|name| is_match(name, &plain));
        self.models.iter().find(fits).map_or(&self.takes, |row| &row.takes)
    }
}

impl Capabilities {
    /// Whether the setting of that name may be sent.
    pub fn takes(&self, setting: Field) -> bool {
        !self.refuses.contains(&setting)
    }
}

/// The names of the models that vendors serve from their own APIs, by backend.
const OWN_MODELS: &[(&str, &[&str])] = &[
    ("anthropic", &["claude*"]),
    (
        "openai",
        &[
            "gpt*",
            "o1*",
            "o3*",
            "o4*",
            "o5*",
            "chatgpt*",
            "chat-*",
            "codex*",
            "computer-use*",
            "daybreak*",
            "davinci*",
            "babbage*",
            "text-*",
            "ft:*",
            "omni*",
        ],
    ),
    (
        "gemini",
        &["gemini*", "gemma*", "models/*", "tunedModels/*", "learnlm*", "deep-research*", "nano-banana*"],
    ),
    ("moonshot", &["kimi*", "moonshot*"]),
    ("deepseek", &["deepseek*"]),
    ("mistral", &["*stral*", "labs-*", "ft:*"]),
    ("xai", &["grok*"]),
];

/// Whether a name fits a pattern in which `*` stands for anything.
fn is_match(pattern: &str, name: &str) -> bool {
    let Some((head, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(mut name) = name.strip_prefix(head) else { return false };
    let mut pieces = rest.split('*').peekable();
    while let Some(piece) = pieces.next() {
        if pieces.peek().is_none() {
            return name.ends_with(piece);
        }
        let Some(at) = name.find(piece) else { return false };
        name = name.get(at + piece.len()..).unwrap_or_default();
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_anything() {
        for (pattern, name, is) in [
            ("gpt-5", "gpt-5", true),
            ("gpt-5", "gpt-5.1", false),
            ("gpt-5*", "gpt-5.1-codex", true),
            ("*claude-3*", "anthropic.claude-3-haiku@v1", true),
            ("*claude-3*", "claude-4", false),
            ("a*b*c", "aXbYc", true),
            ("a*b*c", "acb", false),
            ("*", "", true),
        ] {
            assert_eq!(is_match(pattern, name), is, "{pattern} and {name}");
        }
    }

    #[test]
    fn a_backend_is_named_once_and_knows_older_models() {
        let mut names: Vec<_> = Backend::built_in().iter().map(|known| (known.name, known.dialect)).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Backend::built_in().len());
        let anthropic = Backend::of_dialect("anthropic").expect("built in");
        let takes = |model: &str| anthropic.takes_of(Some(&Str::plain(model))).takes(Field::Temperature);
        assert!(takes("claude-opus-4-5-20251101") && takes("us.anthropic.claude-3-5-haiku-20241022-v1:0"));
        assert!(takes("some-model") && !takes("claude-opus-5-5"));
    }
}
