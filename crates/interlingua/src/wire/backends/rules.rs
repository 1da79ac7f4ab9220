//! The rules of a backend by name: for printing, and for changes by a user.

use std::borrow::Cow;

use super::{Backend, CacheMarkForm, Capabilities, ModelRow, RuleWord, RuleWords, SystemPlaces};
use crate::model::Field;
use crate::wire::Letters;

/// The value of a rule.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum RuleValue {
    /// A boolean.
    Flag(bool),
    /// A number; infinity means no limit.
    Number(f64),
    /// A word.
    Word(String),
    /// Several words.
    Words(Vec<String>),
}

impl std::fmt::Display for RuleValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            RuleValue::Flag(flag) => flag.fmt(f),
            RuleValue::Number(number) => number.fmt(f),
            RuleValue::Word(word) => f.write_str(word),
            RuleValue::Words(words) => f.write_str(&words.join(" ")),
        }
    }
}

/// A rule's name, and its value.
pub type NamedRule = (String, RuleValue);

/// An error while setting a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RuleError {
    /// No rule has this name.
    Unknown(String),
    /// The rule with this name needs a value of a different type, described by the text.
    Wants(&'static str, &'static str),
}

impl std::fmt::Display for RuleError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            RuleError::Unknown(name) => write!(f, "there is no rule `{name}`"),
            RuleError::Wants(name, what) => write!(f, "`{name}` wants {what}"),
        }
    }
}

impl std::error::Error for RuleError {}

/// A type of rule values.
trait RuleType: Sized {
    /// A description of the accepted values.
    const WANTS: &'static str;

    fn show(&self) -> RuleValue;
    fn read(value: &RuleValue) -> Option<Self>;
}

macro_rules! rules {
    ($($name:literal: $($place:ident).+,)*) => {
        impl Capabilities {
            /// Every rule, by name.
            pub fn rules(&self) -> Vec<(&'static str, RuleValue)> {
                vec![$(($name, self.$($place).+.show())),*]
            }

            /// Changes one rule.
            pub fn set(&mut self, rule: &str, value: &RuleValue) -> Result<(), RuleError> {
                fn read<T: RuleType>(name: &'static str, value: &RuleValue, place: &mut T) -> Result<(), RuleError> {
                    *place = T::read(value).ok_or(RuleError::Wants(name, T::WANTS))?;
                    Ok(())
                }
                match rule {
                    $($name => read($name, value, &mut self.$($place).+),)*
                    _ => Err(RuleError::Unknown(rule.to_owned())),
                }
            }
        }
    };
}

rules! {
    "needs-model": needs_model,
    "max-tokens": max_tokens,
    "max-tokens-default": max_tokens_default,
    "min-tokens": min_tokens,
    "refuses": refuses,
    "max-temperature": max_temperature,
    "max-stop-texts": max_stop_texts,
    "max-stop-bytes": max_stop_bytes,
    "blank-stop-texts": blank_stop_texts,
    "reasoning-names": reasoning_names,
    "reasoning-with-calls": reasoning_with_calls,
    "efforts": efforts,
    "thinking-budget": thinking.budget,
    "thinking-budget-least": thinking.budget_least,
    "thinking-budget-most": thinking.budget_most,
    "thinking-budget-below-limit": thinking.budget_below_limit,
    "thinking-adaptive": thinking.adaptive,
    "thinking-off": thinking.off,
    "sampling-with-thinking": sampling_with_thinking,
    "system": system,
    "developer": developer,
    "call-id-letters": call_ids.letters,
    "call-id-most": call_ids.most,
    "tool-name-letters": tool_names.letters,
    "tool-name-least": tool_names.least,
    "tool-name-most": tool_names.most,
    "tool-name-letter-first": tool_names.letter_first,
    "schema-object-root": schemas.object_root,
    "schema-strict-is-closed": schemas.strict_is_closed,
    "schema-strict-requires-all": schemas.strict_requires_all,
    "schema-answer-is-closed": schemas.answer_is_closed,
    "schema-typed": schemas.typed,
    "media": media.inline,
    "media-by-address": media.by_address,
    "media-in-results": media_in_results,
    "user-after-results": user_after_results,
    "max-cache-marks": max_cache_marks,
    "cache-marks": cache_marks,
    "prefill": prefill,
    "prefill-member": prefill_member,
    "seed": seed,
    "state-of": state_of,
    "unnamed-calls": unnamed_calls,
    "forced-calls-with-thinking": forced_calls_with_thinking,
    "call-state": call_state,
    "other-dialect": other_dialect,
}

impl Backend {
    /// A backend with a new name and the capabilities of a base backend, changed for all models or for some. Each of
    /// `models` holds patterns and the rules of the models whose names match.
    pub fn derived(
        name: &str,
        about: &str,
        base: &Backend,
        changes: &[NamedRule],
        models: &[(Vec<String>, Vec<NamedRule>)],
    ) -> Result<Backend, RuleError> {
        let with = |takes: &Capabilities, rules: &[NamedRule]| {
            let mut takes = takes.clone();
            rules.iter().try_for_each(|(rule, value)| takes.set(rule, value))?;
            Ok(takes)
        };
        let takes = with(&base.takes, changes)?;
        let mut rows = Vec::new();
        for (names, own) in models {
            rows.push(ModelRow { names: owned(names), takes: with(&takes, own)? });
        }
        for row in base.models.iter() {
            rows.push(ModelRow { names: row.names.clone(), takes: with(&row.takes, changes)? });
        }
        let (name, about) = (Cow::Owned(name.to_owned()), Cow::Owned(about.to_owned()));
        Ok(Backend { name, dialect: base.dialect, about, takes, models: Cow::Owned(rows) })
    }
}

fn owned(words: &[String]) -> RuleWords {
    words.iter().map(|word| RuleWord::Owned(word.clone())).collect()
}

impl RuleType for bool {
    const WANTS: &'static str = "`true` or `false`";

    fn show(&self) -> RuleValue {
        RuleValue::Flag(*self)
    }

    fn read(value: &RuleValue) -> Option<Self> {
        if let RuleValue::Flag(flag) = value { Some(*flag) } else { None }
    }
}

impl RuleType for f64 {
    const WANTS: &'static str = "a number";

    fn show(&self) -> RuleValue {
        RuleValue::Number(*self)
    }

    fn read(value: &RuleValue) -> Option<Self> {
        if let RuleValue::Number(number) = value { Some(*number) } else { None }
    }
}

/// The maximum count: every whole number up to this limit is exact as a floating-point number.
const COUNTABLE: f64 = 9_007_199_254_740_992.0;

#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "counts are far below the limit, and checked against it"
)]
impl RuleType for u64 {
    const WANTS: &'static str = "a whole number";

    fn show(&self) -> RuleValue {
        RuleValue::Number(*self as f64)
    }

    fn read(value: &RuleValue) -> Option<Self> {
        let whole = |number: &f64| number.fract() == 0.0 && (0.0..COUNTABLE).contains(number);
        f64::read(value).filter(whole).map(|number| number as u64)
    }
}

impl RuleType for usize {
    const WANTS: &'static str = "a whole number, or `inf` for no limit";

    fn show(&self) -> RuleValue {
        if *self == usize::MAX { RuleValue::Number(f64::INFINITY) } else { (*self as u64).show() }
    }

    fn read(value: &RuleValue) -> Option<Self> {
        match value {
            RuleValue::Number(number) if number.is_infinite() && *number > 0.0 => Some(usize::MAX),
            other => u64::read(other).and_then(|number| usize::try_from(number).ok()),
        }
    }
}

impl RuleType for Option<u64> {
    const WANTS: &'static str = "a whole number, or `none`";

    fn show(&self) -> RuleValue {
        self.map_or(RuleValue::Word("none".to_owned()), |number| number.show())
    }

    fn read(value: &RuleValue) -> Option<Self> {
        match value {
            RuleValue::Word(word) if word == "none" => Some(None),
            other => u64::read(other).map(Some),
        }
    }
}

impl RuleType for RuleWord {
    const WANTS: &'static str = "a word";

    fn show(&self) -> RuleValue {
        RuleValue::Word(self.as_ref().to_owned())
    }

    fn read(value: &RuleValue) -> Option<Self> {
        if let RuleValue::Word(word) = value { Some(Cow::Owned(word.clone())) } else { None }
    }
}

impl RuleType for Option<RuleWord> {
    const WANTS: &'static str = "a word, or `none`";

    fn show(&self) -> RuleValue {
        RuleValue::Word(self.as_deref().unwrap_or("none").to_owned())
    }

    fn read(value: &RuleValue) -> Option<Self> {
        RuleWord::read(value).map(|word| Some(word).filter(|word| word != "none"))
    }
}

impl RuleType for RuleWords {
    const WANTS: &'static str = "a list of words";

    fn show(&self) -> RuleValue {
        RuleValue::Words(self.iter().map(|word| word.as_ref().to_owned()).collect())
    }

    fn read(value: &RuleValue) -> Option<Self> {
        if let RuleValue::Words(words) = value { Some(owned(words)) } else { None }
    }
}

impl RuleType for Cow<'static, [Field]> {
    const WANTS: &'static str = "a list of settings, such as `request/seed`";

    fn show(&self) -> RuleValue {
        RuleValue::Words(self.iter().map(|field| field.word().to_owned()).collect())
    }

    fn read(value: &RuleValue) -> Option<Self> {
        let RuleValue::Words(words) = value else { return None };
        let field = |word: &String| Field::ALL.iter().copied().find(|field| field.word() == word);
        words.iter().map(field).collect()
    }
}

impl RuleType for Letters {
    const WANTS: &'static str = "`any`, `word` or `dotted`";

    fn show(&self) -> RuleValue {
        let word = match self {
            Letters::Any => "any",
            Letters::Word => "word",
            Letters::Dotted => "dotted",
        };
        RuleValue::Word(word.to_owned())
    }

    fn read(value: &RuleValue) -> Option<Self> {
        [Letters::Any, Letters::Word, Letters::Dotted].into_iter().find(|letters| letters.show() == *value)
    }
}

impl RuleType for CacheMarkForm {
    const WANTS: &'static str = "`own` or `cache_control`";

    fn show(&self) -> RuleValue {
        let word = match self {
            CacheMarkForm::Own => "own",
            CacheMarkForm::CacheControl => "cache_control",
        };
        RuleValue::Word(word.to_owned())
    }

    fn read(value: &RuleValue) -> Option<Self> {
        [CacheMarkForm::Own, CacheMarkForm::CacheControl].into_iter().find(|form| form.show() == *value)
    }
}

impl RuleType for SystemPlaces {
    const WANTS: &'static str = "`anywhere`, `after-user`, `first` or `nowhere`";

    fn show(&self) -> RuleValue {
        let word = match self {
            SystemPlaces::Anywhere => "anywhere",
            SystemPlaces::AfterUser => "after-user",
            SystemPlaces::First => "first",
            SystemPlaces::Nowhere => "nowhere",
        };
        RuleValue::Word(word.to_owned())
    }

    fn read(value: &RuleValue) -> Option<Self> {
        let places =
            [SystemPlaces::Anywhere, SystemPlaces::AfterUser, SystemPlaces::First, SystemPlaces::Nowhere];
        places.into_iter().find(|places| places.show() == *value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Str;

    #[test]
    fn every_rule_that_is_printed_can_be_set_and_says_the_same_again() {
        for backend in Backend::built_in() {
            for takes in backend.models.iter().map(|row| &row.takes).chain([&backend.takes]) {
                let mut other = Backend::built_in()[0].takes.clone();
                for (name, value) in takes.rules() {
                    other.set(name, &value).expect(name);
                }
                assert_eq!(other.rules(), takes.rules(), "{}", backend.name);
            }
        }
    }

    #[test]
    fn a_user_changes_what_a_backend_takes() {
        let base = Backend::named("anthropic", "anthropic").expect("built in");
        let changes = [("max-temperature".to_owned(), RuleValue::Number(0.5))];
        let own = vec![("refuses".to_owned(), RuleValue::Words(vec!["request/top_p".to_owned()]))];
        let models = [(vec!["mine-*".to_owned()], own)];
        let made = Backend::derived("mine", "", base, &changes, &models).expect("sound");
        let takes = |model: &str| made.takes_of(Some(&Str::plain(model)));
        let lowered = ("max-temperature", RuleValue::Number(0.5));
        assert!(takes("claude-opus-5-5").rules().contains(&lowered));
        assert!(!takes("mine-1").takes(Field::TopP) && takes("mine-1").rules().contains(&lowered));
        assert_eq!(
            Backend::derived("m", "", base, &[("prefil".to_owned(), RuleValue::Flag(true))], &[])
                .unwrap_err(),
            RuleError::Unknown("prefil".to_owned())
        );
        let wrong = [("prefill".to_owned(), RuleValue::Number(1.0))];
        let error = Backend::derived("m", "", base, &wrong, &[]).unwrap_err();
        assert_eq!(error.to_string(), "`prefill` wants `true` or `false`");
    }
}
