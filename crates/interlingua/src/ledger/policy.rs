//! The action for each loss: allow, warn or fail.

use super::{Reason, Report, Row};
use crate::model::{Field, Group};

/// The action for a loss.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(not(feature = "_exhaustive"), non_exhaustive)]
pub enum LossRule {
    /// No action.
    Allow,
    /// A warning.
    #[default]
    Warn,
    /// A failure.
    Fail,
}

impl LossRule {
    /// The word in a policy.
    pub const fn word(self) -> &'static str {
        match self {
            LossRule::Allow => "allow",
            LossRule::Warn => "warn",
            LossRule::Fail => "fail",
        }
    }

    fn of_word(word: &str) -> Option<Self> {
        [LossRule::Allow, LossRule::Warn, LossRule::Fail].into_iter().find(|rule| rule.word() == word)
    }
}

/// The subject of a policy's rule, the most specific first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum LossCode {
    /// One field of the model, such as `request/seed`.
    Field(Field),
    /// All fields of a group, such as `settings`.
    Group(Group),
    /// All losses with a reason, such as `refused`.
    Reason(Reason),
    /// All losses.
    All,
}

/// The actions for losses. The most specific rule wins: a rule for a field before a rule for its group, before a rule
/// for the reason, before a rule for all losses. Of two rules for the same subject, the later one wins.
///
/// ```
/// use interlingua::ledger::{LossPolicy, LossRule};
///
/// let policy = LossPolicy::parse("all=fail,redundant=allow,request/seed=warn")?;
/// assert!(LossPolicy::parse("sead=fail").is_err());
/// # Ok::<(), interlingua::ledger::PolicyError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LossPolicy {
    rules: Vec<(LossCode, LossRule)>,
}

/// An error in a policy.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(not(feature = "_exhaustive"), non_exhaustive)]
pub enum PolicyError {
    /// No loss has this name.
    UnknownCode(String),
    /// The rule is none of `allow`, `warn` and `fail`.
    UnknownRule(String),
}

impl std::fmt::Display for PolicyError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            PolicyError::UnknownCode(code) => write!(f, "there is no loss `{code}`"),
            PolicyError::UnknownRule(rule) => write!(f, "`{rule}` is none of `allow`, `warn` and `fail`"),
        }
    }
}

impl std::error::Error for PolicyError {}

impl LossPolicy {
    /// A policy under which every loss fails.
    pub fn strict() -> Self {
        Self { rules: vec![(LossCode::All, LossRule::Fail)] }
    }

    /// Reads `code=rule,code=rule`, where a code is `all`, a reason, a group or a field of the model.
    pub fn parse(text: &str) -> Result<Self, PolicyError> {
        let mut policy = Self::default();
        for rule in text.split(',').map(str::trim).filter(|rule| !rule.is_empty()) {
            let (code, word) =
                rule.split_once('=').ok_or_else(|| PolicyError::UnknownRule(rule.to_owned()))?;
            policy.set(code.trim(), word.trim())?;
        }
        Ok(policy)
    }

    /// Adds a rule.
    pub fn set(&mut self, code: &str, rule: &str) -> Result<(), PolicyError> {
        let reason = || Reason::ALL.into_iter().find(|reason| reason.word() == code).map(LossCode::Reason);
        let group = || Group::ALL.into_iter().find(|group| group.word() == code).map(LossCode::Group);
        let field = || Field::ALL.iter().find(|field| field.word() == code).copied().map(LossCode::Field);
        let all = Some(LossCode::All).filter(|_| code == "all");
        let known = all.or_else(reason).or_else(group).or_else(field);
        let known = known.ok_or_else(|| PolicyError::UnknownCode(code.to_owned()))?;
        let rule = LossRule::of_word(rule).ok_or_else(|| PolicyError::UnknownRule(rule.to_owned()))?;
        self.rules.push((known, rule));
        Ok(())
    }

    /// Adds the rules of another policy, which take precedence.
    #[must_use]
    pub fn and(mut self, later: Self) -> Self {
        self.rules.extend(later.rules);
        self
    }

    /// The action for a row of a report.
    pub fn rule_for(&self, row: &Row) -> LossRule {
        let is_about = |code: &LossCode| match code {
            LossCode::Field(field) => row.field == Some(*field),
            LossCode::Group(group) => row.field.is_some_and(|field| field.group() == *group),
            LossCode::Reason(reason) => row.reason == Some(*reason),
            LossCode::All => true,
        };
        let about = self.rules.iter().enumerate().filter(|(_, (code, _))| is_about(code));
        let level = |code: &LossCode| match code {
            LossCode::Field(_) => 3,
            LossCode::Group(_) => 2,
            LossCode::Reason(_) => 1,
            LossCode::All => 0,
        };
        about
            .max_by_key(|(place, (code, _))| (level(code), *place))
            .map_or_else(LossRule::default, |(_, (_, rule))| *rule)
    }

    /// The losses that fail.
    pub fn failures<'r>(&self, report: &'r Report) -> Vec<&'r Row> {
        report.lost_paths.iter().filter(|row| self.rule_for(row) == LossRule::Fail).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::framing::FramePlace;

    fn row(field: Option<Field>, reason: Reason) -> Row {
        Row {
            path: "/x".to_owned(),
            reason: Some(reason),
            field,
            count: 1,
            bytes: 1,
            first: FramePlace::default(),
        }
    }

    #[test]
    fn the_most_special_rule_counts_and_of_two_the_later() {
        let policy =
            LossPolicy::parse("request/seed=allow, all=fail, settings=warn, refused=allow, refused=fail")
                .unwrap();
        assert_eq!(policy.rule_for(&row(Some(Field::Seed), Reason::NoSlot)), LossRule::Allow);
        assert_eq!(policy.rule_for(&row(Some(Field::TopK), Reason::Refused)), LossRule::Warn);
        assert_eq!(policy.rule_for(&row(Some(Field::MessageText), Reason::Refused)), LossRule::Fail);
        assert_eq!(policy.rule_for(&row(None, Reason::NoSlot)), LossRule::Fail);
        assert_eq!(LossPolicy::default().rule_for(&row(None, Reason::NoSlot)), LossRule::Warn);
        assert_eq!(LossPolicy::parse("seed=fail"), Err(PolicyError::UnknownCode("seed".to_owned())));
        assert_eq!(LossPolicy::parse("all"), Err(PolicyError::UnknownRule("all".to_owned())));
    }
}
