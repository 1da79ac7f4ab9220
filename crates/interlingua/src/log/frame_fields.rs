//! The fields and parts of an item that a frame of a log can hold, and the losses of those it cannot hold.

use super::file::is_date;
use super::form::LogRules;
use super::gather::GatheredItem;
use crate::json::Str;
use crate::ledger::Reason;
use crate::model::{Author, EachField as _, Field, ItemHead, ItemKind, ItemKindTag, Part};
use crate::pipe::WriterOutput;
use crate::wire::alias;

/// Fields that only a frame can hold; without a frame they are lost.
const OF_FRAME: [Field; 5] =
    [Field::ItemAuthor, Field::ItemId, Field::ItemParent, Field::ItemTime, Field::ItemModel];

/// Fields by which a frame names its subagent.
const OF_AGENT: [Field; 2] = [Field::ItemAgent, Field::ItemParentCall];

/// Shows the texts that every kept frame contains if its entry has them. Other values may be noted, derived, or
/// written in a different form.
pub(super) fn for_each_text<'g>(item: GatheredItem<'g>, show: &mut dyn FnMut(Field, &'g str)) {
    let ItemHead { native_id, parent, time, model, .. } = item.head();
    for (field, text) in [(Field::ItemId, native_id), (Field::ItemParent, parent), (Field::ItemModel, model)]
    {
        if let Some(text) = text {
            show(field, text.as_escaped());
        }
    }
    if let Some(time) = time {
        show(Field::ItemTime, time.as_str());
    }
    let of = item.of();
    for part in item.parts().filter(|_| of != ItemKindTag::Notice) {
        match part {
            Part::Text(text) => show(of.text(), text.as_escaped()),
            Part::Summary(text) => show(Field::ReasoningSummary, text.as_escaped()),
            Part::Refusal(text) => show(Field::Refusal, text.as_escaped()),
            Part::Json(json) => show(of.json(), json.as_str()),
            Part::Media(media) => show(of.media(), media.source.text().as_escaped()),
            Part::Args(_) | Part::File(_) | Part::Citation(_) | Part::Opaque(_) | Part::Cache(_) => {}
        }
    }
}

/// Books the fields of an item head that no frame under these rules can hold.
pub(super) fn lose_of_head(
    rules: &LogRules,
    head: &ItemHead<'_>,
    around: Option<GatheredItem<'_>>,
    out: &mut WriterOutput<'_>,
) {
    match &head.kind {
        ItemKind::Message if head.author == Author::Tool => out.lose(Field::ItemAuthor, Reason::Narrowed),
        ItemKind::ToolCall(call) if !rules.calls.contains(&call.kind) => {
            out.lose(Field::CallKind, Reason::Narrowed);
        }
        ItemKind::Message
        | ItemKind::Reasoning
        | ItemKind::ToolCall(_)
        | ItemKind::ToolResult(_)
        | ItemKind::Notice(_) => {}
    }
    let call_id = match &head.kind {
        ItemKind::ToolCall(call) => call.call_id.as_ref().map(|id| (Field::CallId, id)),
        ItemKind::ToolResult(result) => result.call_id.as_ref().map(|id| (Field::ResultCallId, id)),
        ItemKind::Message | ItemKind::Reasoning | ItemKind::Notice(_) => None,
    };
    if let Some((field, id)) = call_id
        && alias(id, rules.call_ids).as_escaped() != id.as_escaped()
    {
        out.ledger.note("id of a call replaced by one that the API takes");
        out.lose_str(field, id, Reason::Refused);
    }
    if head.origin.is_some_and(|origin| !rules.origins.contains(&origin)) {
        out.lose(Field::ItemOrigin, Reason::Narrowed);
    }
    if let Some(around) = around {
        // A message within a message is unknown to logs: its content becomes content of the frame.
        if head.kind == ItemKind::Message && around.head().author != head.author {
            out.lose(Field::ItemAuthor, Reason::Narrowed);
        }
        head.clone().each_field(&mut |field, value| {
            // An item that joins a message shares the message's model.
            let same_model = field == Field::ItemModel && around.head().model == head.model;
            let of_frame = (OF_FRAME.contains(&field) && !same_model) || OF_AGENT.contains(&field);
            if let (true, Some(text)) = (of_frame && !rules.within.contains(&field), value.source()) {
                out.lose_str(field, &Str::escaped(text), Reason::NoSlot);
            }
        });
        return;
    }
    if let Some(time) = head.time.as_ref().filter(|time| !is_date(time)) {
        out.lose_raw(Field::ItemTime, time, Reason::Refused);
    }
}

/// Books the head of a frame that is not written because it has no content.
pub(super) fn lose_head(head: &ItemHead<'_>, out: &mut WriterOutput<'_>) {
    // Some values may have been emitted at the start of the item, in an earlier frame.
    let texts = [
        (Field::ItemId, &head.native_id),
        (Field::ItemParent, &head.parent),
        (Field::ItemModel, &head.model),
        (Field::ItemAgent, &head.agent),
        (Field::ItemParentCall, &head.parent_call),
    ];
    for (field, text) in texts {
        out.lose_some(field, text.as_ref(), Reason::NoSlot);
    }
    if let Some(time) = &head.time {
        out.lose_raw(Field::ItemTime, time, Reason::NoSlot);
    }
    for field in [Field::ItemAuthor, Field::ItemOrigin] {
        out.lose(field, Reason::NoSlot);
    }
}

/// Whether a frame can hold a part of an item of this kind, and if not, the reason. Media are checked by the dialect.
pub(super) fn takes_part(of: ItemKindTag, part: &Part<'_>, issuer: &str) -> Result<(), Reason> {
    match (of, part) {
        (ItemKindTag::Reasoning, Part::Opaque(opaque)) if opaque.is_of(issuer) => Ok(()),
        (_, Part::Opaque(_)) => Err(Reason::Foreign),
        (ItemKindTag::Call, Part::Args(_)) => Ok(()),
        (
            ItemKindTag::Message | ItemKindTag::Reasoning | ItemKindTag::Result,
            Part::Text(_) | Part::Summary(_) | Part::Refusal(_) | Part::Json(_),
        ) => Ok(()),
        (
            ItemKindTag::Message
            | ItemKindTag::Reasoning
            | ItemKindTag::Call
            | ItemKindTag::Result
            | ItemKindTag::Notice,
            Part::Text(_)
            | Part::Summary(_)
            | Part::Refusal(_)
            | Part::Json(_)
            | Part::Media(_)
            | Part::Args(_)
            | Part::File(_)
            | Part::Citation(_)
            | Part::Cache(_),
        ) => Err(Reason::NoSlot),
    }
}
