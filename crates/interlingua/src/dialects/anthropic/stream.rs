//! Deltas of a streamed response, as the Messages API sends them and Claude Code forwards them.

use super::usage::{read_stop, read_usage};
use crate::blocks;
use crate::json::Str;
use crate::model::{Args, Field, Opaque, OpaqueKind, Part, Stop, Usage, issuers};
use crate::tape::{Kind, Val};

/// The type of block a delta belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BlockSort {
    Text,
    Thinking,
    ToolUse,
}

/// The type of block a delta belongs to; `None` for an unknown delta.
pub(super) fn sort_of_piece(delta: Val<'_>) -> Option<BlockSort> {
    match delta.str_or_empty("type") {
        "text_delta" | "citations_delta" => Some(BlockSort::Text),
        "thinking_delta" | "signature_delta" => Some(BlockSort::Thinking),
        "input_json_delta" => Some(BlockSort::ToolUse),
        _ => None,
    }
}

/// Reads the `delta` of a `content_block_delta`: the number of the part within the item, and the part. A delta of an
/// unknown type, or without its value, is left unclaimed.
pub(super) fn read_piece(delta: Val<'_>) -> Option<(u32, Part<'_>)> {
    let kind = delta.get("type")?;
    let piece = match kind.str()?.as_escaped() {
        "text_delta" => (0, Part::Text(delta.take_str("text", Field::MessageText)?)),
        "citations_delta" => {
            let citation = delta.get("citation").filter(|citation| citation.kind() == Kind::Object)?;
            (0, Part::Citation(blocks::citation(citation)))
        }
        "thinking_delta" => (0, Part::Text(delta.take_str("thinking", Field::ReasoningText)?)),
        "signature_delta" => {
            (1, Part::Opaque(blocks::take_opaque(delta, "signature", OpaqueKind::Signature)?))
        }
        "input_json_delta" => {
            let text = delta.take_str("partial_json", Field::CallArgs)?;
            (0, Part::Args(Args::Text(text)))
        }
        _ => return None,
    };
    kind.note(Field::Structure);
    Some(piece)
}

/// A signature of thinking, issued by Anthropic.
pub(super) fn signature(value: Str<'_>) -> Opaque<'_> {
    Opaque { kind: OpaqueKind::Signature, issuer: Str::escaped(issuers::ANTHROPIC), value }
}

/// The usage of a message, or of an event about a message.
pub(super) fn usage(place: Val<'_>) -> Option<Usage> {
    place.get("usage").filter(|usage| usage.kind() == Kind::Object).map(read_usage)
}

/// Notes the stop reason of a message, if it has a stop reason; the members remain in the agent's line.
pub(super) fn note_stop(message: Val<'_>) -> Option<Stop<'_>> {
    let [reason, sequence] = message.get_all(["stop_reason", "stop_sequence"]);
    reason.filter(Val::is_null).map(|reason| reason.note(Field::Structure));
    let raw = reason?.note_text(Field::StopReason)?;
    sequence.filter(Val::is_null).map(|sequence| sequence.note(Field::Structure));
    Some(read_stop(raw, sequence.and_then(|sequence| sequence.note_text(Field::StopSequence))))
}
