//! Thinking blocks in the form of Anthropic's API, with state of any provider, for logs of agents that continue a session
//! with models of several vendors.

use crate::blocks::start_reasoning;
use crate::json::Str;
use crate::model::{Field, ItemId, Opaque, OpaqueKind, Part};
use crate::pipe::EventSink;
use crate::tape::{Member as _, Val};

/// Whether a block is a thinking block with a text or with sealed state.
pub(super) fn is_thinking(block: Val<'_>) -> bool {
    match block.str_or_empty("type") {
        "thinking" => block.has_str("thinking"),
        "redacted_thinking" => block.has_str("data"),
        _ => false,
    }
}

/// Reads a thinking block of a message. An empty signature signs nothing, and a signature that is a JSON object is an
/// item of OpenAI's API that only the program itself uses: both are left unclaimed. `provider` is the value that names the
/// issuer; it is noted if the block has state.
pub(super) fn read_thinking<'t>(
    block: Val<'t>,
    issuer: &Str<'t>,
    provider: Option<Val<'_>>,
    message: ItemId,
    out: &mut EventSink<'_>,
) {
    block.note_str("type", Field::Structure);
    let item = start_reasoning(message, out);
    if let Some(text) = block.take_str("thinking", Field::ReasoningText) {
        out.delta(item, 0, Part::Text(text));
    }
    for (name, kind) in [("signature", OpaqueKind::Signature), ("data", OpaqueKind::Encrypted)] {
        let is_state = |state: &Val<'_>| {
            let word = Some(*state).word();
            !word.is_empty() && !word.starts_with('{')
        };
        if let Some(value) = block.get(name).filter(is_state).take_text(kind.field()) {
            provider.note_text(Field::Issuer);
            out.delta(item, 1, Part::Opaque(Opaque { kind, issuer: issuer.reborrow(), value }));
        }
    }
    out.complete(item);
}
