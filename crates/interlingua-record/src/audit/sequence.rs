//! Numbers that an agent gives to its lines, events or messages: each number follows the number before it.

use std::collections::HashMap;

use interlingua::tape::Val;

use super::AuditRule;
use super::writer::{Findings, key};

/// The last number of each sequence.
#[derive(Debug, Default)]
pub(super) struct SequenceRules {
    last: HashMap<u128, u64>,
}

/// The member with the number, and the member with the name of the sequence.
fn members_of(owner: &str) -> Option<(&'static str, Option<&'static str>)> {
    match owner {
        // A fork begins with the number after its parent's last line.
        "codex" => Some(("ordinal", None)),
        "universal" => Some(("sequence", Some("session_id"))),
        "amp" => Some(("messageId", None)),
        // The other dialects have no numbers.
        _ => None,
    }
}

impl SequenceRules {
    pub(super) fn begin_session(&mut self) {
        self.last.clear();
    }

    /// Checks one line, event or message of the dialect.
    pub(super) fn frame(&mut self, owner: &str, frame: Val<'_>, found: &mut Findings<'_>) {
        let Some((member, name)) = members_of(owner) else { return };
        let Some(number) = frame.get(member).and_then(|number| number.u64()) else { return };
        let name = name.and_then(|name| frame.get(name)?.str()).map_or(0, |name| key(&name));
        let Some(before) = self.last.insert(name, number) else { return };
        if before.checked_add(1) != Some(number) {
            let message = format!("`{member}` is {number} after {before}");
            let mut place = found.place();
            place.pointer = Some(format!("/{member}"));
            found.add_at(AuditRule::SequenceGap, place, message);
        }
    }
}
