//! Leaves out the items of subagents, for files that hold a single agent: items of subagents would separate a call from
//! its result. The final report of a subagent stays, as the result of the main agent's call.

use super::LogStage;
use crate::json::Str;
use crate::ledger::Reason;
use crate::log::gather::GatheredItem;
use crate::model::{Field, ItemHead, ItemKind};
use crate::pipe::WriterOutput;

/// Refuses the items of all agents but the main agent.
#[derive(Debug, Default)]
pub struct OneAgent {
    main: MainAgent,
}

/// The main agent of a log.
#[derive(Debug, Default, PartialEq, Eq)]
enum MainAgent {
    #[default]
    Unknown,
    /// The session's own agent: with an outline, the items of a subagent's own session name no agent.
    Itself,
    /// A log whose first item names a subagent is that subagent's own log.
    Subagent(Str<'static>),
}

impl LogStage for OneAgent {
    fn begin_session(&mut self, has_outline: bool) {
        self.main = if has_outline { MainAgent::Itself } else { MainAgent::Unknown };
    }

    fn refuses(&mut self, head: &ItemHead<'_>) -> Option<Reason> {
        if self.main == MainAgent::Unknown && !matches!(head.kind, ItemKind::Notice(_)) {
            self.main = match &head.agent {
                Some(agent) => MainAgent::Subagent(agent.clone().into_owned()),
                None => MainAgent::Itself,
            };
        }
        let by_another = match (&head.agent, &self.main) {
            (Some(agent), MainAgent::Subagent(main)) => agent != main,
            (Some(_), MainAgent::Itself | MainAgent::Unknown) => true,
            (None, _) => false,
        };
        // The final report of a subagent is the result of a call that the main agent waits for.
        let is_report = head.within.is_some() && matches!(head.kind, ItemKind::ToolResult(_));
        (by_another && !is_report).then_some(Reason::NoSlot)
    }

    fn lose_of_head(
        &self,
        head: &ItemHead<'_>,
        around: Option<GatheredItem<'_>>,
        out: &mut WriterOutput<'_>,
    ) {
        if around.is_none() {
            out.lose_some(Field::ItemAgent, head.agent.as_ref(), Reason::Narrowed);
        }
    }
}
