//! Items of blocks with other member names than the API's.

use crate::model::{Author, CallKind, Field, ItemId, ItemKind, Shape, ToolCall};
use crate::pipe::EventSink;
use crate::tape::{Kind, Member as _, Val};

/// Starts the call of a tool within a message and claims its id and name. The caller emits the arguments and completes
/// the call.
pub(crate) fn start_call(
    id: Option<Val<'_>>,
    name: Option<Val<'_>>,
    within: ItemId,
    out: &mut EventSink<'_>,
) -> ItemId {
    let call = ToolCall {
        call_id: id.take_text(Field::CallId),
        kind: CallKind::Function,
        namespace: None,
        name: name.take_text(Field::CallName).unwrap_or_default(),
    };
    let mut head = out.head(ItemKind::ToolCall(call), Author::Assistant);
    head.within = Some(within);
    out.start(head)
}

/// Starts reasoning within a message. The caller emits its text and state, and completes the reasoning.
pub(crate) fn start_reasoning(within: ItemId, out: &mut EventSink<'_>) -> ItemId {
    let mut head = out.head(ItemKind::Reasoning, Author::Assistant);
    head.within = Some(within);
    out.start(head)
}

/// Whether content has a form that messages have: a string, or a list of blocks.
pub(crate) fn is_content(content: &Val<'_>) -> bool {
    matches!(content.kind(), Kind::String | Kind::Array)
}

/// `List` if more than one element of the content is a part of the message itself and not an item within the message.
pub(crate) fn shape_by(content: Option<Val<'_>>, is_part: impl Fn(&Val<'_>) -> bool) -> Shape {
    let several = |content: Val<'_>| content.elements().filter(&is_part).nth(1).is_some();
    if content.is_some_and(several) { Shape::List } else { Shape::One }
}
