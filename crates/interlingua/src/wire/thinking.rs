//! How hard a model should think: seven words, or a number of tokens, in whichever form the backend takes.

use super::backends::Capabilities;
use crate::json::{Raw, Str};
use crate::ledger::Reason;
use crate::model::{Field, Reasoning};
use crate::pipe::Target;

/// The words, from none to most, each with the budget that stands for it where there are only budgets.
const LADDER: [(&str, u64); 7] = [
    ("none", 0),
    ("minimal", 1024),
    ("low", 2048),
    ("medium", 8192),
    ("high", 16_384),
    ("xhigh", 24_576),
    ("max", 32_768),
];

/// The fewest tokens that a backend takes as a budget.
const LEAST_BUDGET: u64 = 1024;

/// What to ask for.
#[derive(Default)]
pub(crate) struct ThinkingPlan<'a> {
    /// Not to think, where that is no effort.
    pub(crate) off: bool,
    pub(crate) effort: Option<&'static str>,
    pub(crate) budget: Option<Raw<'a>>,
}

impl<'a> ThinkingPlan<'a> {
    /// What comes nearest to what the source asks for. What is not said, or said in another form, is booked.
    pub(crate) fn new(
        reasoning: &'a Reasoning<'_>,
        max_tokens: Option<&Raw<'_>>,
        takes: &Capabilities,
        out: &mut Target<'_>,
    ) -> Self {
        let Reasoning { effort, budget, mode: _, visibility: _ } = reasoning;
        let mut plan = Self::default();
        if let Some(effort) = effort {
            plan.ask_effort(effort, max_tokens, takes, out);
        }
        match budget {
            Some(budget) if takes.thinking.budget && !plan.off => {
                plan.budget = Some(budget.reborrow());
                let most = takes.thinking.budget_most as u64;
                if budget.as_str().parse::<u64>().is_ok_and(|tokens| tokens > most) {
                    out.lose_raw(Field::ReasoningBudget, budget, Reason::Narrowed);
                    out.ledger.note("number brought into the range that the target takes");
                    plan.budget = Some(Raw::owned(most.to_string()));
                }
            }
            Some(budget) => {
                out.lose_raw(Field::ReasoningBudget, budget, Reason::Narrowed);
                let tokens = budget.as_str().parse().ok();
                let word = tokens.and_then(|tokens| nearest(of_budget(tokens), takes.efforts));
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
        max_tokens: Option<&Raw<'_>>,
        takes: &Capabilities,
        out: &mut Target<'_>,
    ) {
        if let Some(word) = takes.efforts.iter().find(|word| effort.is(word)) {
            self.effort = Some(word);
            return;
        }
        let Some(rung) = LADDER.iter().position(|(word, _)| effort.is(word)) else {
            return out.lose_str(Field::Effort, effort, Reason::Refused);
        };
        if rung == 0 && takes.thinking.off {
            self.off = true;
            return;
        }
        out.lose_str(Field::Effort, effort, Reason::Narrowed);
        if let Some(word) = nearest(rung, takes.efforts) {
            out.ledger.note("effort replaced by the nearest that the target takes");
            self.effort = Some(word);
        } else if takes.thinking.budget && rung > 0 {
            // The budget is a part of the limit on all tokens.
            let limit = max_tokens.and_then(|limit| limit.as_str().parse::<u64>().ok());
            let limit = limit.or(takes.max_tokens_default).unwrap_or(u64::MAX);
            let budget = LADDER[rung].1.min(limit.saturating_sub(1)).min(takes.thinking.budget_most as u64);
            if budget >= LEAST_BUDGET {
                out.ledger.note("effort written as a budget for thinking");
                self.budget = Some(Raw::owned(budget.to_string()));
            }
        }
    }

    /// Whether such a request makes a model think, of which a backend takes that: an effort alone does where there is no
    /// other way, and where it is written as a budget.
    pub(crate) fn is_asked(reasoning: &Reasoning<'_>, takes: &Capabilities) -> bool {
        let Reasoning { effort, budget, mode, visibility: _ } = reasoning;
        let by_effort = takes.efforts.is_empty() || !(takes.thinking.budget || takes.thinking.adaptive);
        let is_effort = by_effort && effort.as_ref().is_some_and(|effort| !effort.is("none"));
        is_effort || budget.is_some() || mode.is_some()
    }

    /// Whether it makes the model think.
    pub(crate) fn thinks(&self) -> bool {
        self.budget.is_some() || self.effort.is_some_and(|effort| effort != "none")
    }
}

/// The rung of a budget.
fn of_budget(tokens: u64) -> usize {
    LADDER.iter().rposition(|(_, least)| tokens >= *least).unwrap_or(0)
}

/// The word of a rung, or that of the nearest below it, or else above it.
fn nearest(rung: usize, words: &'static [&'static str]) -> Option<&'static str> {
    let below = LADDER[..=rung].iter().rev();
    let above = LADDER[rung..].iter();
    // Not to think at all is not nearest to any effort.
    let rungs = below.chain(above).filter(|(word, _)| rung == 0 || *word != "none");
    rungs.into_iter().find_map(|(word, _)| words.iter().copied().find(|known| known == word))
}
