//! Times: order, jumps and plausibility.

use std::collections::HashMap;

use interlingua::model::{Author, ItemHead, ItemKind, Time, time};

use super::writer::Findings;
use super::{AuditPolicy, AuditRule};

/// The start of 2022: no coding agent of the registry is older.
const EARLIEST: u64 = 1_640_995_200_000;
/// Clocks of two machines may differ by a day, with a wrong time zone.
const DAY: u64 = 86_400_000;

/// The last time of each agent in the current session.
#[derive(Debug, Default)]
pub(super) struct TimeRules {
    last: HashMap<(Option<u128>, u8), u64>,
    now: Option<u64>,
    /// Each kind of item has an order of its own: OpenCode writes the parts of a message before the message.
    is_by_kind: bool,
}

impl TimeRules {
    pub(super) fn new(now: Option<u64>) -> Self {
        Self { last: HashMap::new(), now, is_by_kind: false }
    }

    /// Sets the dialect that wrote the lines.
    pub(super) fn of_dialect(&mut self, name: &str) {
        self.is_by_kind = name == "opencode";
    }

    pub(super) fn begin_session(&mut self) {
        self.last.clear();
    }

    pub(super) fn started(
        &mut self,
        head: &ItemHead<'_>,
        agent: Option<u128>,
        policy: &AuditPolicy,
        found: &mut Findings<'_>,
    ) {
        let Some(millis) = head.time.as_ref().and_then(time::epoch_millis) else { return };
        let text = head.time.as_ref().and_then(Time::text).map(|text| text.decode().into_owned());
        if millis == 0 {
            return found.add(
                AuditRule::MadeUpTime,
                text.as_deref(),
                "the time is the start of 1970".to_owned(),
            );
        }
        let is_future = self.now.is_some_and(|now| millis > now + DAY);
        if millis < EARLIEST || is_future {
            return found.add(AuditRule::ImplausibleTime, text.as_deref(), shown(millis));
        }
        // Copied items keep the times of their first session. Blocks of a message begin before the message is written.
        if head.copied_from.is_some() || head.within.is_some() {
            return;
        }
        let order = (agent, if self.is_by_kind { kind_number(head) } else { 0 });
        let before = self.last.get(&order).copied();
        // OpenCode gives results the time of their end, which may be after the begin of the next item.
        if !matches!(head.kind, ItemKind::ToolResult(_)) || before.is_none() {
            self.last.insert(order, millis);
        }
        let Some(before) = before else { return };
        if before.saturating_sub(millis) > policy.backwards_ms {
            let by = duration(before - millis);
            let message =
                format!("{} is {by} before {}, the time of the item before it", shown(millis), shown(before));
            found.add(AuditRule::TimeBackwards, text.as_deref(), message);
        }
        // A person may answer after days, but a model or a tool does not.
        let is_of_person = head.author == Author::User && matches!(head.kind, ItemKind::Message);
        let is_in_turn = !is_of_person && !matches!(head.kind, ItemKind::Notice(_));
        if is_in_turn && millis.saturating_sub(before) > policy.jump_ms {
            let by = duration(millis - before);
            let message =
                format!("{} is {by} after {}, the time of the item before it", shown(millis), shown(before));
            found.add(AuditRule::ClockJump, text.as_deref(), message);
        }
    }
}

fn kind_number(head: &ItemHead<'_>) -> u8 {
    // A text of a message is an item with its own time.
    let is_part = head.native_id.as_ref().is_some_and(|id| id.as_escaped().starts_with("prt_"));
    match (&head.kind, head.author) {
        (ItemKind::Message, _) if is_part => 0,
        (ItemKind::Message, Author::User) => 1,
        (ItemKind::Message, _) => 2,
        (ItemKind::Reasoning, _) => 3,
        (ItemKind::ToolCall(_), _) => 4,
        (ItemKind::ToolResult(_), _) => 5,
        // Notices, and kinds that this version does not know.
        _ => 6,
    }
}

fn shown(millis: u64) -> String {
    let text = millis.to_string();
    time::utc(&Time::new(&text)).unwrap_or(text)
}

fn duration(millis: u64) -> String {
    let seconds = millis / 1000;
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7200 => format!("{} min", seconds / 60),
        7200..172_800 => format!("{} h", seconds / 3600),
        _ => format!("{} days", seconds / 86_400),
    }
}
