//! Reasoning effort: seven words, or a number of tokens, in the form the backend accepts.

use super::backends::{Capabilities, RuleWord};
use crate::json::{Raw, Str};
use crate::ledger::Reason;
use crate::model::{Field, Reasoning};
use crate::pipe::WriterOutput;

/// The efforts, from none to max, each with its equivalent budget for backends with budgets only.
const LADDER: [(&str, u64); 7] = [
    ("none", 0),
    ("minimal", 1024),
    ("low", 2048),
    ("medium", 8192),
    ("high", 16_384),
    ("xhigh", 24_576),
    ("max", 32_768),
];

/// The reasoning settings to write.
#[derive(Default)]
pub(crate) struct ThinkingPlan<'a> {
    /// Switch reasoning off, on backends where `none` is not an effort.
    pub(crate) off: bool,
    pub(crate) effort: Option<Str<'static>>,
    pub(crate) budget: Option<Raw<'a>>,
}

impl<'a> ThinkingPlan<'a> {
    /// The settings nearest to those of the source. Settings that are dropped or written in a different form are
    /// booked. `limit` is the output token limit of the request, if any.
    pub(crate) fn new(
        reasoning: &Reasoning<'a>,
        limit: Option<u64>,
        takes: &Capabilities,
        out: &mut WriterOutput<'_>,
    ) -> Self {
        let Reasoning { effort, budget, mode: _, visibility: _ } = reasoning;
        let mut plan = Self::default();
        if let Some(effort) = effort {
            plan.ask_effort(effort, limit, takes, out);
        }
        match budget {
            Some(budget) if takes.thinking.budget && !plan.off => plan.ask_budget(budget, limit, takes, out),
            Some(budget) => {
                out.lose_raw(Field::ReasoningBudget, budget, Reason::Narrowed);
                let tokens = budget.as_str().parse().ok();
                let word = tokens.and_then(|tokens| nearest(of_budget(tokens), &takes.efforts));
                if let Some(word) = word.filter(|_| effort.is_none()) {
                    out.ledger.note("budget for thinking written as an effort");
                    plan.effort = Some(word);
                }
            }
            None => {}
        }
        plan
    }

    fn ask_effort(
        &mut self,
        effort: &Str<'_>,
        limit: Option<u64>,
        takes: &Capabilities,
        out: &mut WriterOutput<'_>,
    ) {
        let rung = LADDER.iter().position(|(word, _)| effort.is(word));
        if let Some(word) = takes.efforts.iter().find(|word| effort.is(word)) {
            self.effort =
                Some(rung.map_or_else(|| Str::from_plain(word), |rung| Str::escaped(LADDER[rung].0)));
            return;
        }
        let Some(rung) = rung else {
            return out.lose_str(Field::Effort, effort, Reason::Refused);
        };
        if rung == 0 && takes.thinking.off {
            self.off = true;
            return;
        }
        out.lose_str(Field::Effort, effort, Reason::Narrowed);
        if let Some(word) = nearest(rung, &takes.efforts) {
            out.ledger.note("effort replaced by the nearest that the target takes");
            self.effort = Some(word);
        } else if takes.thinking.budget && rung > 0 {
            let (least, most) = range(limit, takes);
            let budget = LADDER[rung].1.min(most);
            if budget >= least {
                out.ledger.note("effort written as a budget for thinking");
                self.budget = Some(Raw::owned(budget.to_string()));
            }
        }
    }

    /// Sets a token budget, brought into the range of the backend. A budget of zero switches reasoning off, and a
    /// budget without an equivalent in the range is dropped.
    fn ask_budget(
        &mut self,
        budget: &Raw<'a>,
        limit: Option<u64>,
        takes: &Capabilities,
        out: &mut WriterOutput<'_>,
    ) {
        let asked = budget.as_str().parse::<u64>().ok();
        if asked == Some(0) && takes.thinking.off {
            self.off = self.effort.is_none();
        }
        let (least, most) = range(limit, takes);
        match asked.filter(|asked| *asked > 0 && least <= most) {
            Some(asked) if (least..=most).contains(&asked) => self.budget = Some(budget.clone()),
            Some(asked) => {
                out.lose_raw(Field::ReasoningBudget, budget, Reason::Narrowed);
                out.ledger.note("number brought into the range that the target takes");
                self.budget = Some(Raw::owned(asked.clamp(least, most).to_string()));
            }
            None if self.off => {}
            None => {
                out.lose_raw(Field::ReasoningBudget, budget, Reason::Refused);
                out.ledger.note("budget for thinking left out: the target refuses it");
            }
        }
    }

    /// Whether the settings make a model with these capabilities reason: an effort alone does if there is no other way
    /// to ask for reasoning, or if the effort is written as a budget.
    pub(crate) fn is_asked(reasoning: &Reasoning<'_>, takes: &Capabilities) -> bool {
        let Reasoning { effort, budget, mode, visibility: _ } = reasoning;
        let by_effort = takes.efforts.is_empty() || !(takes.thinking.budget || takes.thinking.adaptive);
        let is_effort = by_effort && effort.as_ref().is_some_and(|effort| !effort.is("none"));
        is_effort || budget.is_some() || mode.is_some()
    }

    /// Whether the plan makes the model reason.
    pub(crate) fn thinks(&self) -> bool {
        self.budget.is_some() || self.effort.as_ref().is_some_and(|effort| !effort.is("none"))
    }
}

/// The minimum and maximum budget. If the budget counts toward the output token limit, it stays below that limit; a
/// backend's default limit is raised by the budget.
fn range(limit: Option<u64>, takes: &Capabilities) -> (u64, u64) {
    let limit = limit.filter(|_| takes.thinking.budget_below_limit).map(|limit| limit.saturating_sub(1));
    let most = takes.thinking.budget_most as u64;
    (takes.thinking.budget_least as u64, most.min(limit.unwrap_or(u64::MAX)))
}

/// The rung of the ladder for a budget.
fn of_budget(tokens: u64) -> usize {
    LADDER.iter().rposition(|(_, least)| tokens >= *least).unwrap_or(0)
}

/// The word of a rung, or the nearest word below it, or else above it.
fn nearest(rung: usize, words: &[RuleWord]) -> Option<Str<'static>> {
    let below = LADDER[..=rung].iter().rev();
    let above = LADDER[rung..].iter();
    // `none` is not the nearest word to any effort.
    let mut rungs = below.chain(above).filter(|(word, _)| rung == 0 || *word != "none");
    rungs.find(|(word, _)| words.iter().any(|known| known == word)).map(|(word, _)| Str::escaped(word))
}
