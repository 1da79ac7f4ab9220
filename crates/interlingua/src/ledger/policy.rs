//! What to do about a loss: let it pass, say it, or fail.

use super::{Reason, Report, Row};
use crate::model::{Field, Group};

/// What to do about a loss.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LossRule {
    /// Nothing.
    Allow,
    /// Say it.
    #[default]
    Warn,
    /// Fail.
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

/// What a rule of a policy is about, the most special first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum LossCode {
    /// One value of the model, such as `request/seed`.
    Field(Field),
    /// All values of a sort, such as `settings`.
    Group(Group),
    /// All losses for a reason, such as `refused`.
    Reason(Reason),
    /// All losses.
    All,
}

/// What to do about each sort of loss. The most special rule counts: one about a field before one about its group, that
/// before one about the reason, and that before one about all. Of two about the same, the later one counts.
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

/// Why a policy cannot be understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PolicyError {
    /// There is no loss of that name.
    UnknownCode(String),
    /// It is none of `allow`, `warn` and `fail`.
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
    /// Every loss fails.
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

    /// Adds the rules of another policy, which count before these.
    #[must_use]
    pub fn and(mut self, later: Self) -> Self {
        self.rules.extend(later.rules);
        self
    }

    /// What to do about a row of a report.
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
