//! Permissions and the results of their calls.

use std::collections::HashMap;

use interlingua::error::Place;
use interlingua::json::Str;
use interlingua::model::{Decision, Permission};

use super::AuditRule;
use super::writer::{Findings, key};

/// The state of each call that needed a permission, and of each call with a successful result.
#[derive(Debug, Default)]
pub(super) struct OversightRules {
    calls: HashMap<u128, CallState>,
}

#[derive(Debug, Default)]
struct CallState {
    decision: Option<DecisionState>,
    /// The place of the successful result.
    succeeded: Option<(Place, String)>,
    is_reported: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DecisionState {
    Open,
    Accepted,
    Denied,
}

impl OversightRules {
    pub(super) fn permission(&mut self, permission: &Permission<'_>, found: &mut Findings<'_>) {
        let call = permission.call_id.as_ref().unwrap_or(&permission.id);
        let state = self.calls.entry(key(call)).or_default();
        let decision = match &permission.answer {
            None => DecisionState::Open,
            Some(Decision::Accept | Decision::AcceptForSession) => DecisionState::Accepted,
            Some(Decision::Reject(_)) => DecisionState::Denied,
            // A decision that this version does not know is neither an approval nor a denial.
            #[allow(unreachable_patterns, reason = "the enum is open without the feature `_exhaustive`")]
            Some(_) => DecisionState::Open,
        };
        // The request may be repeated after its answer.
        if state.decision.is_none() || decision != DecisionState::Open {
            state.decision = Some(decision);
        }
        state.report_denied(call, found);
    }

    pub(super) fn succeeded(&mut self, call: &Str<'_>, found: &mut Findings<'_>) {
        let state = self.calls.entry(key(call)).or_default();
        state.succeeded = Some((found.place(), short(call)));
        state.report_denied(call, found);
    }

    /// Reports the calls whose permission is still open.
    pub(super) fn finish(&mut self, found: &mut Findings<'_>) {
        let mut open: Vec<(Place, String)> = self
            .calls
            .drain()
            .filter(|(_, state)| state.decision == Some(DecisionState::Open))
            .filter_map(|(_, state)| state.succeeded)
            .collect();
        open.sort_by(|(a, one), (b, two)| a.frame.number.cmp(&b.frame.number).then_with(|| one.cmp(two)));
        for (place, call) in open {
            let message = format!("call `{call}` succeeded, and its permission request has no answer");
            found.add_at(AuditRule::ExecutedWithoutDecision, place, message);
        }
    }
}

impl CallState {
    fn report_denied(&mut self, call: &Str<'_>, found: &mut Findings<'_>) {
        let Some((place, _)) = self.succeeded.as_ref().filter(|_| !self.is_reported) else { return };
        if self.decision != Some(DecisionState::Denied) {
            return;
        }
        self.is_reported = true;
        let message = format!("call `{}` was denied, but its result shows a success", short(call));
        if *place == found.place() {
            found.add(AuditRule::DeniedButExecuted, Some(&call.decode()), message);
        } else {
            found.add_at(AuditRule::DeniedButExecuted, place.clone(), message);
        }
    }
}

/// The id for people, shortened to fit into a message.
pub(super) fn short(id: &Str<'_>) -> String {
    let text = id.decode();
    let cut: String = text.chars().take(64).collect();
    if cut.len() < text.len() { cut + "…" } else { cut }
}
