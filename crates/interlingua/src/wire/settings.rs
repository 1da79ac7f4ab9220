//! Settings of a request: one table row per setting for reading and writing; and the settings of tools.

use std::collections::HashMap;

use super::backends::Capabilities;
use super::profile::Profile;
use crate::json::{JsonWriter, Raw, Str};
use crate::ledger::Reason;
use crate::model::{CacheMark, Field, Request, SettingMut, SettingRef, Tool, ToolChoice};
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

/// Writes every setting of the table that the request has.
pub(crate) fn write(
    request: &Request<'_>,
    settings: &[Setting],
    takes: &Capabilities,
    json: &mut JsonWriter<'_>,
) {
    for Setting { names, field, how: _ } in settings {
        let (Some(name), Some(setting)) = (names.first(), request.setting(*field)) else { continue };
        let name: &str = match field {
            Field::MaxTokens => &takes.max_tokens,
            Field::Seed => &takes.seed,
            _ => name,
        };
        match setting {
            SettingRef::Text(text) => _ = json.opt_str(name, text.as_ref()),
            SettingRef::Number(number) => _ = json.opt_raw(name, number.as_ref()),
            SettingRef::Flag(flag) => _ = json.opt_bool(name, *flag),
            SettingRef::Texts(texts) if !texts.is_empty() => {
                json.key(name).array();
                for text in texts {
                    json.str(text);
                }
                json.end_array();
            }
            SettingRef::Pairs(pairs) if !pairs.is_empty() => {
                json.key(name).object();
                for (name, value) in pairs {
                    json.key(name.as_escaped()).str(value);
                }
                json.end_object();
            }
            SettingRef::Texts(_) | SettingRef::Pairs(_) => {}
        }
    }
}

impl PairLimits {
    pub(crate) fn fit(&self, (name, value): &(Str<'_>, Str<'_>)) -> bool {
        let fits =
            |text: &Str<'_>, most| text.as_escaped().len() <= most || text.decode().chars().count() <= most;
        fits(name, self.name) && fits(value, self.value)
    }
}

/// A number fitted into the range of the target.
pub(crate) enum FittedNumber {
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
pub(crate) fn fitted(
    field: Field,
    number: &Raw<'_>,
    how: &SettingForm,
    takes: &Capabilities,
) -> FittedNumber {
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
pub(crate) fn stops(text: &Str<'_>, takes: &Capabilities) -> bool {
    let plain = text.decode();
    plain.len() <= takes.max_stop_bytes && (takes.blank_stop_texts || !plain.trim().is_empty())
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

    /// The word for a choice that names no tool.
    pub(crate) const fn word(&self, choice: &ToolChoice<'_>) -> Option<&'static str> {
        match choice {
            ToolChoice::Auto => Some(self.auto),
            ToolChoice::None => Some(self.none),
            ToolChoice::Required => Some(self.required),
            ToolChoice::Named(_) => None,
        }
    }
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
