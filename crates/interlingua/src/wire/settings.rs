//! Settings of a request: one table row per setting for reading and writing; and the settings of tools.

use std::collections::{HashMap, HashSet};

use super::aliases;
use super::backends::Capabilities;
use super::profile::Profile;
use super::thinking::ThinkingPlan;
use crate::json::{JsonWriter, Raw, Str};
use crate::ledger::Reason;
use crate::model::{CacheMark, Field, Request, SettingMut, SettingRef, Support, Tool, ToolChoice};
use crate::pipe::WriterOutput;
use crate::tape::{Kind, Val};

/// One setting of a dialect.
pub(crate) struct Setting {
    /// The name that is written, followed by synonyms.
    pub(crate) names: &'static [&'static str],
    pub(crate) field: Field,
    pub(crate) how: SettingForm,
}

/// The form of a setting.
pub(crate) enum SettingForm {
    /// Unchanged.
    AsIs,
    /// A number in the range, both ends included.
    Between(f64, f64),
    /// Pairs of texts, within the limits of the target.
    Pairs(PairLimits),
    /// An id with at most the given number of characters.
    ShortId(usize),
    /// A word of the dialect, each after the model's word; an unknown word is read unchanged and never written.
    Words(&'static [(&'static str, &'static str)]),
    /// A word that the dialect and the model share; an unknown word is read unchanged and never written.
    OwnWords(&'static [&'static str]),
}

/// The maximum number of pairs, and the maximum length of their names and values, in characters.
pub(crate) struct PairLimits {
    pub(crate) count: usize,
    pub(crate) name: usize,
    pub(crate) value: usize,
}

/// Reads every setting of the table. A value of an unexpected type stays unclaimed.
pub(crate) fn read<'t>(root: Val<'t>, profile: &Profile) -> Request<'t> {
    let mut request = Request::default();
    for Setting { names, field, how } in profile.settings {
        let values = names.iter().filter_map(|name| root.get(name)).filter(|value| !value.is_null());
        for value in values {
            if request.setting_mut(*field).is_some_and(|setting| read_one(value, *field, how, setting)) {
                break;
            }
        }
    }
    request
}

/// Reads one setting; returns whether the value was accepted.
fn read_one<'t>(value: Val<'t>, field: Field, how: &SettingForm, setting: SettingMut<'_, 't>) -> bool {
    match setting {
        SettingMut::Text(text) => {
            *text = value.take_text(field).map(|theirs| match how {
                SettingForm::Words(words) => words
                    .iter()
                    .find(|(_, word)| theirs.is(word))
                    .map_or(theirs, |(ours, _)| Str::escaped(ours)),
                SettingForm::AsIs
                | SettingForm::Between(..)
                | SettingForm::Pairs(_)
                | SettingForm::ShortId(_)
                | SettingForm::OwnWords(_) => theirs,
            });
            text.is_some()
        }
        SettingMut::Number(number) => {
            *number = Some(value.take(field));
            true
        }
        SettingMut::Flag(flag) => {
            *flag = value.bool().inspect(|_| _ = value.take(field));
            flag.is_some()
        }
        SettingMut::Texts(texts) => {
            texts.extend(value.take_text(field));
            texts.extend(value.elements().filter_map(|text| text.take_text(field)));
            !texts.is_empty()
        }
        SettingMut::Pairs(pairs) => {
            pairs.extend(value.members().filter_map(|(name, text)| Some((name, text.take_text(field)?))));
            value.kind() == Kind::Object
        }
    }
}

/// Sampling settings, which some models refuse together with reasoning.
const SAMPLING: [Field; 4] = [Field::Temperature, Field::TopP, Field::TopK, Field::TopLogprobs];

/// Writes every supported setting of the table.
pub(crate) fn write(
    request: &Request<'_>,
    profile: &Profile,
    takes: &Capabilities,
    out: &mut WriterOutput<'_>,
) {
    if request.model.is_none() && takes.needs_model {
        out.ledger.note("no model named: called `unknown`");
        out.json.key("model").literal("unknown");
    }
    let samples = takes.sampling_with_thinking || !ThinkingPlan::is_asked(&request.reasoning, takes);
    for Setting { names, field, how } in profile.settings {
        let (Some(name), Some(setting)) = (names.first(), request.setting(*field)) else { continue };
        if matches!((profile.support)(*field), Support::No(_)) {
            continue;
        }
        if !takes.takes(*field) || !samples && SAMPLING.contains(field) {
            lose_setting(*field, setting, out);
            continue;
        }
        let name: &str = match field {
            Field::MaxTokens => &takes.max_tokens,
            Field::Seed => &takes.seed,
            _ => name,
        };
        write_one(name, *field, how, setting, takes, out);
    }
}

fn write_one(
    name: &str,
    field: Field,
    how: &SettingForm,
    setting: SettingRef<'_, '_>,
    takes: &Capabilities,
    out: &mut WriterOutput<'_>,
) {
    match setting {
        SettingRef::Text(Some(text)) => match how {
            SettingForm::Words(words) => match words.iter().find(|(ours, _)| text.is(ours)) {
                Some((_, theirs)) => _ = out.json.key(name).literal(theirs),
                None => out.lose_str(field, text, Reason::Narrowed),
            },
            SettingForm::OwnWords(words) if !words.iter().any(|word| text.is(word)) => {
                out.lose_str(field, text, Reason::Narrowed);
            }
            SettingForm::ShortId(most) => {
                let user = aliases::short_id(field, text, *most, out);
                out.json.key(name).str(&user);
            }
            SettingForm::AsIs
            | SettingForm::Between(..)
            | SettingForm::Pairs(_)
            | SettingForm::OwnWords(_) => {
                out.json.key(name).str(text);
            }
        },
        SettingRef::Number(Some(number)) => match fitted(field, number, how, takes) {
            FittedNumber::Fits => _ = out.json.key(name).raw(number),
            FittedNumber::Refused => out.lose_raw(field, number, Reason::Refused),
            FittedNumber::Respelled(number) => {
                out.ledger.note("number written in the form that the target takes");
                out.json.key(name).raw(&Raw::new(&number));
            }
            FittedNumber::Repaired(repaired) => {
                out.lose_raw(field, number, Reason::Refused);
                out.ledger.note("number brought into the range that the target takes");
                out.json.key(name).raw(&Raw::new(&repaired));
            }
        },
        SettingRef::Flag(Some(flag)) => _ = out.json.key(name).bool(*flag),
        SettingRef::Texts(texts) => {
            let most = if field == Field::StopTexts { takes.max_stop_texts } else { usize::MAX };
            let fits = |text: &&Str<'_>| field != Field::StopTexts || stops(text, takes);
            let mut fitting = texts.iter().filter(fits).take(most).peekable();
            if fitting.peek().is_some() {
                out.json.key(name).array();
                for text in fitting {
                    out.json.str(text);
                }
                out.json.end_array();
            }
            let refused = texts.iter().filter(|text| !fits(text));
            for text in refused.chain(texts.iter().filter(fits).skip(most)) {
                out.lose_str(field, text, Reason::Refused);
            }
        }
        SettingRef::Pairs(pairs) => {
            let limits = if let SettingForm::Pairs(limits) = how { limits } else { &PairLimits::NONE };
            let fits = |pair: &&(Str<'_>, Str<'_>)| limits.fit(pair);
            let mut fitting = pairs.iter().filter(fits).take(limits.count).peekable();
            if fitting.peek().is_some() {
                out.json.key(name).object();
                for (name, value) in fitting {
                    out.json.key(name.as_escaped()).str(value);
                }
                out.json.end_object();
            }
            let refused = pairs.iter().filter(|pair| !fits(pair));
            for (_, value) in refused.chain(pairs.iter().filter(fits).skip(limits.count)) {
                out.lose_str(field, value, Reason::Refused);
            }
        }
        SettingRef::Text(None) | SettingRef::Number(None) | SettingRef::Flag(None) => {}
    }
}

impl PairLimits {
    const NONE: Self = Self { count: usize::MAX, name: usize::MAX, value: usize::MAX };

    fn fit(&self, (name, value): &(Str<'_>, Str<'_>)) -> bool {
        let fits =
            |text: &Str<'_>, most| text.as_escaped().len() <= most || text.decode().chars().count() <= most;
        fits(name, self.name) && fits(value, self.value)
    }
}

/// A number fitted into the range of the target.
enum FittedNumber {
    Fits,
    /// The same number in a different spelling.
    Respelled(String),
    Repaired(String),
    Refused,
}

/// Settings that are integers in every API.
const WHOLE: [Field; 5] =
    [Field::MaxTokens, Field::TopK, Field::Seed, Field::TopLogprobs, Field::AnswerCount];

/// Brings a number into the range of the target, and refuses a value that is not a number.
fn fitted(field: Field, number: &Raw<'_>, how: &SettingForm, takes: &Capabilities) -> FittedNumber {
    let written = number.as_str();
    // Gemini's JSON allows integers as strings.
    let asked = written.trim_matches('"').parse::<f64>().ok().filter(|asked| asked.is_finite());
    let Some(asked) = asked else { return FittedNumber::Refused };
    let whole = WHOLE.contains(&field);
    let (least, most) = if let SettingForm::Between(least, most) = how { (*least, *most) } else { ANY };
    let (least, most) = match field {
        Field::Temperature => (0.0, takes.max_temperature),
        #[expect(clippy::cast_precision_loss, reason = "a limit is far below 2^53")]
        Field::MaxTokens => (takes.min_tokens as f64, most.min(ANY_WHOLE)),
        _ if whole => (least.max(-ANY_WHOLE), most.min(ANY_WHOLE)),
        _ => (least, most),
    };
    let fitted = asked.clamp(least, most);
    let fitted = if whole { fitted.trunc() } else { fitted };
    #[expect(clippy::float_cmp, reason = "a number that was not changed is the same")]
    let same = fitted == asked;
    let is_plain = !(written.starts_with('"') || whole && written.contains(['.', 'e', 'E']));
    match field {
        _ if same && is_plain => FittedNumber::Fits,
        _ if same => FittedNumber::Respelled(fitted.to_string()),
        // A different seed is no better than none, and a limit below one token or above the maximum is dropped.
        Field::Seed => FittedNumber::Refused,
        Field::MaxTokens if asked < 1.0 || asked > most => FittedNumber::Refused,
        _ => FittedNumber::Repaired(fitted.to_string()),
    }
}

/// The range of all numbers.
const ANY: (f64, f64) = (f64::MIN, f64::MAX);
/// The largest integer that every API reads exactly.
const ANY_WHOLE: f64 = 9_007_199_254_740_991.0;

/// The output token limit that [`write`] writes, if any.
pub(crate) fn stated_limit(request: &Request<'_>, takes: &Capabilities) -> Option<u64> {
    let asked = request.max_tokens.as_ref().filter(|_| takes.takes(Field::MaxTokens))?;
    match fitted(Field::MaxTokens, asked, &SettingForm::AsIs, takes) {
        FittedNumber::Fits => asked.as_str().parse().ok(),
        FittedNumber::Respelled(limit) | FittedNumber::Repaired(limit) => limit.parse().ok(),
        FittedNumber::Refused => None,
    }
}

/// Whether the target accepts the stop sequence.
fn stops(text: &Str<'_>, takes: &Capabilities) -> bool {
    let plain = text.decode();
    plain.len() <= takes.max_stop_bytes && (takes.blank_stop_texts || !plain.trim().is_empty())
}

/// Books a setting that the backend refuses as lost.
fn lose_setting(field: Field, setting: SettingRef<'_, '_>, out: &mut WriterOutput<'_>) {
    match setting {
        SettingRef::Text(text) => out.lose_some(field, text.as_ref(), Reason::Refused),
        SettingRef::Number(Some(number)) => out.lose_raw(field, number, Reason::Refused),
        SettingRef::Flag(Some(_)) => out.lose(field, Reason::Refused),
        SettingRef::Number(None) | SettingRef::Flag(None) => {}
        SettingRef::Texts(texts) => {
            for text in texts {
                out.lose_str(field, text, Reason::Refused);
            }
        }
        SettingRef::Pairs(pairs) => {
            for (_, value) in pairs {
                out.lose_str(field, value, Reason::Refused);
            }
        }
    }
}

/// A dialect's words for a tool choice without a tool name.
pub(crate) struct ChoiceWords {
    pub(crate) auto: &'static str,
    pub(crate) none: &'static str,
    pub(crate) required: &'static str,
}

impl ChoiceWords {
    pub(crate) fn read(&self, word: &Str<'_>) -> Option<ToolChoice<'static>> {
        let words = [
            (self.auto, ToolChoice::Auto),
            (self.none, ToolChoice::None),
            (self.required, ToolChoice::Required),
        ];
        words.into_iter().find(|(known, _)| word.is(known)).map(|(_, choice)| choice)
    }
}

/// Books the fields of another vendor's tool that the target's substitute does not have.
pub(crate) fn lose_for_stand_in(tool: &Tool<'_>, out: &mut WriterOutput<'_>) {
    out.ledger.note("another vendor's tool replaced by the target's own for the same");
    out.lose_some(Field::ToolType, tool.vendor_type.as_ref(), Reason::Narrowed);
    out.lose_str(Field::ToolName, &tool.name, Reason::Narrowed);
    for (_, value) in &tool.config {
        out.lose_raw(Field::ToolConfig, value, Reason::NoSlot);
    }
}

/// The tool choice that remains for the written tools: at most one of the first two members is set.
#[derive(Default)]
pub(crate) struct OfferedChoice<'a, 't> {
    pub(crate) word: Option<&'static str>,
    /// The chosen tool, and its name in the target.
    pub(crate) tool: Option<(&'a Tool<'t>, Str<'static>)>,
    /// Whether parallel calls are allowed, if calls are possible.
    pub(crate) parallel: Option<bool>,
    /// The list of allowed tools is still to be written.
    pub(crate) allowed: bool,
}

/// Writes the tools that the target supports and books the other tools and their choice as lost; returns the remaining
/// choice.
pub(crate) fn write_tools<'a, 't>(
    request: &'a Request<'t>,
    dialect: (&Profile, &ChoiceWords),
    (takes, thinks): (&Capabilities, bool),
    out: &mut WriterOutput<'_>,
    mut write: impl FnMut(&Tool<'t>, &Str<'_>, &mut WriterOutput<'_>),
) -> OfferedChoice<'a, 't> {
    let (profile, words) = dialect;
    let (tools, choice) = (&request.tools, request.tool_choice.as_ref());
    let says_allowed =
        !matches!((profile.support)(Field::AllowedTools), Support::No(_) | Support::Emulated(_));
    let allowed: HashSet<&str> =
        request.allowed_tools.iter().filter(|_| !says_allowed).map(Str::as_escaped).collect();
    let is_allowed = |tool: &Tool<'_>| allowed.is_empty() || allowed.contains(tool.name.as_escaped());
    let is_offered = |tool: &&Tool<'_>| profile.offers(tool) && is_allowed(tool);
    for tool in tools.iter().filter(|tool| !is_offered(tool)) {
        out.lose_all(tool, if profile.offers(tool) { Reason::Refused } else { Reason::NoSlot });
        if profile.offers(tool) {
            out.ledger.note("tools that may not be used are not offered");
        }
    }
    let names = aliases::sent_names(tools, profile.groups, takes.tool_names);
    let offered = || tools.iter().zip(&names).filter(|(tool, _)| is_offered(tool));
    if offered().next().is_none() {
        lose_choice(choice, request.parallel_calls, out);
        if says_allowed {
            lose_setting(Field::AllowedTools, SettingRef::Texts(&request.allowed_tools), out);
        }
        return OfferedChoice::default();
    }
    out.json.key("tools").array();
    for (tool, name) in offered() {
        if *name != tool.name {
            out.ledger.note("tool called by another name, which the target takes");
        }
        write(tool, name, out);
    }
    out.json.end_array();
    let (mut word, mut tool) = match choice {
        Some(ToolChoice::Auto) => (Some(words.auto), None),
        Some(ToolChoice::None) => (Some(words.none), None),
        Some(ToolChoice::Required) if takes.unnamed_calls => (Some(words.required), None),
        Some(ToolChoice::Required) => {
            let only = offered().next().filter(|_| offered().nth(1).is_none());
            if only.is_some() {
                out.ledger.note("call of the only tool demanded by its name");
            }
            (None, only)
        }
        Some(ToolChoice::Named(name)) => (None, offered().find(|(tool, _)| tool.name == *name)),
        None => (None, None),
    };
    let forces = matches!(choice, Some(ToolChoice::Required | ToolChoice::Named(_)));
    let may_force = takes.forced_calls_with_thinking || !thinks;
    let names_none = word.is_none() && tool.is_none();
    if forces && !may_force || names_none && choice == Some(&ToolChoice::Required) {
        lose_choice(choice, None, out);
        out.ledger.note("a call cannot be demanded of this model: left to it");
        (word, tool) = (Some(words.auto), None);
    } else if names_none {
        lose_choice(choice, None, out);
    }
    let parallel = request.parallel_calls;
    let parallel =
        parallel.filter(|_| choice != Some(&ToolChoice::None) && takes.takes(Field::ParallelCalls));
    if parallel.is_none() {
        lose_choice(None, request.parallel_calls, out);
    }
    let tool = tool.map(|(tool, name)| {
        let own = profile.own_tool(tool).map(|(_, name)| name.into_owned());
        (tool, own.unwrap_or_else(|| name.clone().into_owned()))
    });
    OfferedChoice { word, tool, parallel, allowed: says_allowed && !request.allowed_tools.is_empty() }
}

/// A dialect's words for a mark that asks the provider to cache everything up to the mark. Each dialect has one type
/// of mark, with its own word.
pub(crate) struct CacheWords {
    /// The member that holds the mark.
    pub(crate) name: &'static str,
    /// The member of the mark that holds its type, and the only word for the type.
    pub(crate) kind: (&'static str, &'static str),
    /// The accepted lifetimes. Lifetimes of other dialects have no equivalent.
    pub(crate) lifetimes: &'static [&'static str],
}

/// The fields of a mark on a part.
pub(crate) const PART_MARK: [Field; 2] = [Field::CacheMark, Field::CacheLifetime];
/// The fields of a mark on a tool or on the whole request.
pub(crate) const SETTINGS_MARK: [Field; 2] = [Field::SettingsCache; 2];
/// The words of all dialects for the type of a mark.
const MARKS: [&str; 2] = ["ephemeral", "explicit"];

impl CacheWords {
    /// Reads the mark of a part or tool. The mark stays in its frame.
    pub(crate) fn read<'t>(&self, mark: Val<'t>, [kind, lifetime]: [Field; 2]) -> Option<CacheMark<'t>> {
        let kind = mark.note_str(self.kind.0, kind)?;
        Some(CacheMark { kind, lifetime: mark.note_str("ttl", lifetime) })
    }

    /// Writes the member.
    pub(crate) fn write(&self, mark: &CacheMark<'_>, json: &mut JsonWriter<'_>) {
        json.key(self.name).object().key(self.kind.0).literal(self.kind.1);
        json.opt_str("ttl", mark.lifetime.as_ref().filter(|lifetime| self.has_lifetime(lifetime)))
            .end_object();
    }

    /// Books the members of a mark that are not written.
    pub(crate) fn lose_rest(&self, mark: &CacheMark<'_>, fields: [Field; 2], out: &mut WriterOutput<'_>) {
        let CacheMark { kind, lifetime } = mark;
        let odd = Some(kind).filter(|kind| !MARKS.iter().any(|known| kind.is(known)));
        out.lose_some(fields[0], odd, Reason::Narrowed);
        let foreign = lifetime.as_ref().filter(|lifetime| !self.has_lifetime(lifetime));
        out.lose_some(fields[1], foreign, Reason::Narrowed);
    }

    fn has_lifetime(&self, lifetime: &Str<'_>) -> bool {
        self.lifetimes.iter().any(|known| lifetime.is(known))
    }
}

/// Books the tool choice of a request without tools.
fn lose_choice(choice: Option<&ToolChoice<'_>>, parallel: Option<bool>, out: &mut WriterOutput<'_>) {
    match choice {
        Some(ToolChoice::Named(name)) => out.lose_str(Field::ToolChoice, name, Reason::Refused),
        Some(ToolChoice::Auto | ToolChoice::None | ToolChoice::Required) => {
            out.lose(Field::ToolChoice, Reason::Refused);
        }
        None => {}
    }
    if parallel.is_some() {
        out.lose(Field::ParallelCalls, Reason::Refused);
    }
}

/// The offered tools by name, for repeated lookups.
pub(crate) struct OfferedTools<'a, 't>(HashMap<&'a str, &'a Tool<'t>>);

impl<'a, 't> OfferedTools<'a, 't> {
    pub(crate) fn of(tools: &'a [Tool<'t>]) -> Self {
        // With duplicate names, the first tool wins.
        Self(tools.iter().rev().map(|tool| (tool.name.as_escaped(), tool)).collect())
    }

    pub(crate) fn get(&self, name: &Str<'_>) -> Option<&'a Tool<'t>> {
        self.0.get(name.as_escaped()).copied()
    }

    /// Whether a tool with the name is offered.
    pub(crate) fn has(&self, name: Val<'_>) -> bool {
        name.str().is_some_and(|name| self.get(&name).is_some())
    }
}

/// Whether calls are possible at all.
pub(crate) fn may_call(choice: Option<&ToolChoice<'_>>, tools: &[Tool<'_>]) -> bool {
    !tools.is_empty() && choice != Some(&ToolChoice::None)
}
