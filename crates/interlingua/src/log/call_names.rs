//! The names of tools in the calls and results of a built frame: a program's API refuses a history with other names than
//! those of [`LogRules::call_names`].

use super::arguments::name_with_group;
use super::form::LogRules;
use crate::json::Str;
use crate::ledger::Reason;
use crate::model::{Field, ItemHead, ItemKind, ToolCall, ToolResult};
use crate::pipe::WriterOutput;
use crate::wire::alias;

/// The head of a call or result with an alias for the name of its tool, if the API does not accept the name. The name is
/// booked as lost. The alias is the same in a call and in its results.
pub(super) fn with_accepted_name<'h>(
    rules: &LogRules,
    head: &ItemHead<'h>,
    out: &mut WriterOutput<'_>,
) -> Option<ItemHead<'h>> {
    let kind = match &head.kind {
        ItemKind::ToolCall(call) => {
            let is_accepted = |name: &Str<'_>| alias_of(name, rules).is_none();
            if rules.call_groups && is_accepted(&call.name) && call.namespace.iter().all(is_accepted) {
                return None;
            }
            let alias = alias_of(&name_with_group(call), rules)?;
            out.lose_str(Field::CallName, &call.name, Reason::Refused);
            out.lose_some(Field::CallNamespace, call.namespace.as_ref(), Reason::Refused);
            ItemKind::ToolCall(ToolCall { name: alias, namespace: None, ..call.clone() })
        }
        ItemKind::ToolResult(result) => {
            let name = result.name.as_ref()?;
            let alias = alias_of(name, rules)?;
            out.lose_str(Field::ResultName, name, Reason::Refused);
            ItemKind::ToolResult(ToolResult { name: Some(alias), ..result.clone() })
        }
        ItemKind::Message | ItemKind::Reasoning | ItemKind::Notice(_) => return None,
    };
    out.ledger.note("name of a tool replaced by one that the API takes");
    Some(ItemHead { kind, ..head.clone() })
}

/// The alias for a name that the API does not accept.
fn alias_of(name: &Str<'_>, rules: &LogRules) -> Option<Str<'static>> {
    let alias = alias(name, rules.call_names);
    (alias.as_escaped() != name.as_escaped()).then(|| alias.into_owned())
}
