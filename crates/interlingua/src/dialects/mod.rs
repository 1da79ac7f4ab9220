//! The registry: one line per dialect. Command-line lists, completions, detection, the matrix in the README, laws and
//! goldens all follow from it.

use std::sync::Arc;

use crate::framing::Framing;
use crate::log::Outline;
use crate::model::{Field, Says, SaysTable, Usage};
use crate::pipe::{Reader, Writer};
use crate::sniff::Head;
use crate::tape::Limits;
use crate::wire::backends::Backend;

pub mod agents;
pub mod anthropic;
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
    &ours::record::DIALECT,
    &ours::record_v2::DIALECT,
    &ours::universal::DIALECT,
    &agents::pi::DIALECT,
    &openai::kimi::DIALECT,
    &openai::copilot::DIALECT,
    &agents::amp::DIALECT,
    &agents::copilot_cli::DIALECT,
    &agents::cursor::DIALECT,
    &google::gemini_cli::DIALECT,
    &google::qwen_code::DIALECT,
    &agents::kimi_cli::DIALECT,
    &agents::kimi_code::DIALECT,
    &agents::opencode::DIALECT,
];

/// The dialects that say something of that field in that role: who has what a target lacks.
pub fn that_say(field: Field, role: Role) -> impl Iterator<Item = &'static Dialect> {
    let says = move |dialect: &&&'static Dialect| {
        let write = dialect.role(role).and_then(|spec| spec.write.as_ref());
        write.is_some_and(|write| !matches!((write.says)(field), Says::No(_)))
    };
    DIALECTS.iter().filter(says).copied()
}

/// One language that agents or models speak.
#[derive(Debug)]
pub struct Dialect {
    /// Its name on the command line and in records.
    pub name: &'static str,
    /// The module that knows it: `module_path!()`.
    pub module: &'static str,
    /// Where it is spoken.
    pub plane: Plane,
    /// What it is, in a line.
    pub about: &'static str,
    /// By what it is recognised, in a line.
    pub detected_by: &'static str,
    /// The dialect whose language it speaks with a few members of its own: without those, detection says that one.
    pub flavour_of: Option<&'static str>,
    /// Who issues the signatures and encrypted reasoning in it, where that is always the same: such state is only ever
    /// sent back there.
    pub issuer: Option<&'static str>,
    /// How the items of a session follow each other.
    pub lineage: Lineage,
    /// What it is used for, and how each use is framed, read and written.
    pub roles: &'static [RoleSpec],
    /// Fields that its readers parse and its writers have no place for: what a built line cannot say of another's session, or
    /// a member that only servers write.
    pub reads_more: &'static [Field],
    /// Judges a document: the role it would have, and how sure (1: it does not speak against it; 2 and 3: many could have said
    /// this, and alone it is a question; 10: nothing else looks like this).
    pub sniff: fn(&Head<'_>) -> Option<(Role, u32)>,
}

impl Dialect {
    /// The dialect of that name.
    pub fn named(name: &str) -> Option<&'static Dialect> {
        DIALECTS.iter().copied().find(|dialect| dialect.name == name)
    }

    /// Its folder below `dialects/`, such as `anthropic/claude_code`.
    pub fn folder(&self) -> String {
        self.module.strip_prefix(concat!(module_path!(), "::")).unwrap_or(self.module).replace("::", "/")
    }

    /// What a source of that role becomes here: the same if the dialect writes it, else its only role of the same sort,
    /// else its only role at all.
    pub fn role_for(&self, source: Role) -> Option<Role> {
        let written = || self.roles.iter().filter(|spec| spec.write.is_some()).map(|spec| spec.role);
        let only = |roles: &mut dyn Iterator<Item = Role>| roles.next().filter(|_| roles.next().is_none());
        written()
            .find(|role| *role == source)
            .or_else(|| only(&mut written().filter(|role| role.is_session() == source.is_session())))
            .or_else(|| only(&mut written()))
    }

    /// How much of a field arrives at another dialect from sources of this one in that role. `None`: sources have no such
    /// field, or the other dialect has nothing to do with the role.
    pub fn carries(&self, role: Role, to: &Dialect, field: Field) -> Option<Says> {
        let says = |dialect: &Dialect, role| Some((dialect.role(role)?.write.as_ref()?.says)(field));
        // A form that is only read may hold any value.
        let is_held = says(self, role).is_none_or(|own| !matches!(own, Says::No(_)));
        if !is_held && !self.reads_more.contains(&field) {
            return None;
        }
        let target = to.role_for(role)?;
        // The bytes of the same dialect and role pass untouched.
        let is_copied = self.name == to.name && role == target;
        says(to, target).map(|says| if is_copied { Says::Exactly } else { says })
    }

    /// How the dialect does that role.
    pub fn role(&self, role: Role) -> Option<&'static RoleSpec> {
        self.roles.iter().find(|spec| spec.role == role)
    }
}

/// Makes a reader for a new input.
pub type MakeReader = fn(&Options) -> Box<dyn Reader>;

/// How a use of a dialect is written.
#[derive(Debug)]
pub struct WriteSpec {
    /// Makes a writer for a new output.
    pub make: fn(&Options) -> Box<dyn Writer>,
    /// What the target can say.
    pub says: SaysTable,
}

/// One use of a dialect.
#[derive(Debug)]
pub struct RoleSpec {
    /// The use.
    pub role: Role,
    /// How its bytes are cut.
    pub framing: Framing,
    /// Makes a reader.
    pub read: Option<MakeReader>,
    /// How it is written.
    pub write: Option<WriteSpec>,
}

/// How the items of a session follow each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Lineage {
    /// As they are written. A parent, where there is one, names something else, such as the question that is answered.
    #[default]
    Written,
    /// As they are written, but an item may be written again under its id: the later version counts.
    Rewritten,
    /// As they are written, and all of them belong to one conversation: a message of another agent is input to it.
    OneThread,
    /// Each item follows its parent. The branch that counts ends with the last line that has an id.
    TreeToLastLine,
    /// The same, but lines that are no messages may hang anywhere: the branch that counts ends with the last message.
    TreeToLastMessage,
}

/// Where a dialect is spoken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plane {
    /// Between clients and model APIs.
    Wire,
    /// By running agents.
    Live,
    /// In what agents leave on disk.
    Log,
    /// By us.
    Ours,
}

impl Plane {
    /// The word in tables.
    pub const fn word(self) -> &'static str {
        match self {
            Plane::Wire => "wire",
            Plane::Live => "live",
            Plane::Log => "log",
            Plane::Ours => "ours",
        }
    }
}

/// What bytes of a dialect are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// A call to a model API.
    Request,
    /// Its answer, or its error, in one piece.
    Response,
    /// Its answer as it comes.
    Stream,
    /// The question how many tokens a request has.
    Count,
    /// Its answer.
    Counted,
    /// The models on offer.
    Models,
    /// What a running agent says.
    Live,
    /// What is said to a running agent.
    Input,
    /// What an agent left on disk.
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

    /// Whether it is about a session, logged or live, and not about one call of a model.
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

/// Settings of a conversion.
#[derive(Clone, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a setting of its own")]
pub struct Options {
    /// How large a frame may get.
    pub limits: Limits,
    /// The server that a request is for; without one, the vendor of the dialect.
    pub backend: Option<&'static Backend>,
    /// The model to ask for instead of the one that the source names.
    pub model: Option<String>,
    /// The most tokens to produce, whatever the source asks for.
    pub max_tokens: Option<u64>,
    /// Whether universal events carry the agent's own line.
    pub include_raw: bool,
    /// Whether a stream that tells what was used only to who asked for it should leave it out.
    pub usage_unasked: bool,
    /// What time it is, in milliseconds since 1970: for targets that may not be told of the future, and for events of
    /// sources that hold no time.
    pub now: Option<u64>,
    /// Whether the source is complete, as a file is: what is written first may wait for what comes later.
    pub whole: bool,
    /// What the source is called, for sources that carry no id of their own.
    pub source_name: Option<String>,
    /// Where the source lies, if its name alone may be that of another source, too. No target says it.
    pub source_place: Option<String>,
    /// Responses that another record tells of, and what they used: one that is joined to it counts them no more.
    pub told_responses: Vec<(String, Usage)>,
    /// Which items of the source count, from a first pass over it ([`crate::log::OutlineReader`]); for logs that are
    /// written from another dialect. Without it items are written in the order they come.
    pub outline: Option<Arc<Outline>>,
    /// The dialect that is read; the pipe sets it.
    pub source: Option<&'static str>,
    /// Whether the report says what became of each single leaf.
    pub trace: bool,
}

impl Options {
    /// Whether a request is to be another than its source wrote: whoever names a server, a model or a limit wants it obeyed,
    /// also between two of one dialect.
    pub(crate) const fn asks_for_more(&self) -> bool {
        self.backend.is_some() || self.model.is_some() || self.max_tokens.is_some()
    }
}
