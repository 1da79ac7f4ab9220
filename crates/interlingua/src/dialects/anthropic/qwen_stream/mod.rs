//! The stdout of a running Qwen Code (`--output-format stream-json`), with or without partial messages. The lines have the
//! form of Claude Code's; see [`super::claude_stream`].

use super::claude_stream::read::{LiveReader, PrintingProgram};
use crate::blocks;
use crate::dialects::{Dialect, Lineage, Plane, Role, RoleSpec};
use crate::framing::Framing;
use crate::model::{Field, ItemId, Part, Usage};
use crate::pipe::EventSink;
use crate::sniff::{Head, RULED_OUT};
use crate::tape::{Kind, Val};

/// Qwen Code, printed.
pub static DIALECT: Dialect = Dialect {
    name: "qwen-stream",
    module: module_path!(),
    plane: Plane::Live,
    about: "Qwen Code printed output (qwen … --output-format stream-json)",
    detected_by: "a first line with `session_id` and `qwen_code_version`, before lines like those of Claude Code",
    flavour_of: None,
    // The provider is whichever the user chose.
    issuer: None,
    lineage: Lineage::Written,
    roles: &[RoleSpec {
        role: Role::Live,
        framing: Framing::Lines,
        read: Some(|_| Box::new(LiveReader::new(&QWEN))),
        write: None,
    }],
    reads_more: &[],
    sniff,
};

static QWEN: PrintingProgram = PrintingProgram {
    agent: "qwen-code",
    provider: None,
    version: "qwen_code_version",
    mode: "permission_mode",
    shares_ids: false,
    counts_messages: true,
    read_block,
    usage,
};

/// Reads a content block. The signature of thinking is always empty: no provider signs it.
fn read_block(block: Val<'_>, number: u32, message: ItemId, out: &mut EventSink<'_>) {
    let is_unsigned = block.get("signature").is_none_or(|signature| signature.is(""));
    if block.str_or_empty("type") != "thinking" || !block.has_str("thinking") || !is_unsigned {
        return blocks::read_block(block, number, message, out);
    }
    block.note_str("type", Field::Structure);
    block.note_str("signature", Field::Structure);
    let item = blocks::start_reasoning(message, out);
    if let Some(text) = block.take_str("thinking", Field::ReasoningText) {
        out.delta(item, 0, Part::Text(text));
    }
    out.complete(item);
}

/// The usage of a message or result. The input count includes cached input. The counts of a response are on its last line;
/// the other lines have zeros.
fn usage(place: Val<'_>) -> Option<Usage> {
    let counts = place.get("usage").filter(|usage| usage.kind() == Kind::Object)?;
    if place.get("content").is_some() && counts.member_values().all(|count| count.u64() == Some(0)) {
        counts.note(Field::Structure);
        return None;
    }
    let cached = counts.note_u64("cache_read_input_tokens", Field::UsageCacheRead);
    let input = counts.note_u64("input_tokens", Field::UsageInput);
    Some(Usage {
        input: input.map(|all| all.saturating_sub(cached.unwrap_or(0))),
        cache_read: cached,
        output: counts.note_u64("output_tokens", Field::UsageOutput),
        ..Usage::default()
    })
}

fn sniff(head: &Head<'_>) -> Option<(Role, u32)> {
    let line = head.doc;
    if !line.has_str("session_id") || !line.has_str("uuid") {
        return None;
    }
    let score = match line.str_or_empty("type") {
        "system" if line.has_str("qwen_code_version") => 10,
        "system" if line.has_str("claude_code_version") => RULED_OUT,
        // Claude Code prints the same lines, some with more members.
        "system" | "assistant" | "user" | "stream_event" | "result" => 1,
        _ => return None,
    };
    Some((Role::Live, score))
}
