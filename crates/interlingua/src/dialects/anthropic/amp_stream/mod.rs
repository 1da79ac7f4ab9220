//! The lines that Amp prints (`amp --execute … --stream-json`), and the prompts that it reads from stdin. The lines have the
//! form of Claude Code's; see [`super::claude_stream`].

mod write;

use super::claude_stream::read::{LiveReader, PrintingProgram};
use super::stream;
use crate::blocks::{self, ResultDetail};
use crate::dialects::{Dialect, Lineage, Plane, Role, RoleSpec, WriteSpec};
use crate::framing::Framing;
use crate::live::input::InputWriter;
use crate::live::input_support::prompts_only;
use crate::model::{Field, ItemId, Part};
use crate::pipe::EventSink;
use crate::sniff::{Head, RULED_OUT};
use crate::tape::{Limits, TapeBuf, Val};

/// Amp, printed.
pub static DIALECT: Dialect = Dialect {
    name: "amp-stream",
    module: module_path!(),
    plane: Plane::Live,
    about: "Amp printed output (amp --execute … --stream-json)",
    detected_by: "lines like those of Claude Code with a `session_id` that begins with `T-`",
    flavour_of: None,
    // The server chooses the model of each mode.
    issuer: None,
    lineage: Lineage::Written,
    roles: &[
        RoleSpec {
            role: Role::Live,
            framing: Framing::Lines,
            read: Some(|_| Box::new(LiveReader::new(&AMP))),
            write: None,
        },
        RoleSpec {
            role: Role::Input,
            framing: Framing::Lines,
            read: Some(|_| Box::new(LiveReader::new(&AMP))),
            write: Some(WriteSpec {
                make: |options| Box::new(InputWriter::new(write::StdinInput, options)),
                support: prompts_only,
            }),
        },
    ],
    reads_more: &[],
    sniff,
};

static AMP: PrintingProgram = PrintingProgram {
    agent: "amp",
    provider: None,
    // The first line has neither a version nor a mode.
    version: "amp_version",
    mode: "permission_mode",
    shares_ids: false,
    counts_messages: true,
    read_block,
    usage: stream::usage,
};

/// Reads a content block. Thinking has no signature, and the result of a command holds the exit code as JSON in its text.
fn read_block(block: Val<'_>, number: u32, message: ItemId, out: &mut EventSink<'_>) {
    match block.str_or_empty("type") {
        "thinking" if block.has_str("thinking") && block.get("signature").is_none() => {
            block.note_str("type", Field::Structure);
            let item = blocks::start_reasoning(message, out);
            if let Some(text) = block.take_str("thinking", Field::ReasoningText) {
                out.delta(item, 0, Part::Text(text));
            }
            out.complete(item);
        }
        "tool_result" => {
            let exit_code = exit_code(block);
            let failed = exit_code.is_some_and(|code| code != 0);
            let detail = ResultDetail { exit_code, failed, ..ResultDetail::default() };
            blocks::read_result_block(block, number, message, detail, out);
        }
        _ => blocks::read_block(block, number, message, out),
    }
}

/// The exit code in the text of a command's result: `{"output":"…","exitCode":3}`.
fn exit_code(block: Val<'_>) -> Option<i64> {
    let text = block.get("content")?.str()?;
    // Most results are long texts without an exit code.
    if !text.as_escaped().contains("exitCode") {
        return None;
    }
    let text = text.decode();
    let mut buf = TapeBuf::default();
    let tape = buf.parse(&text, &Limits::default()).ok()?;
    tape.root().get("exitCode")?.text().parse().ok()
}

fn sniff(head: &Head<'_>) -> Option<(Role, u32)> {
    let line = head.doc;
    if !line.str_or_empty("session_id").starts_with("T-") {
        return None;
    }
    let score = match line.str_or_empty("type") {
        "system" if line.has_str("claude_code_version") || line.has_str("qwen_code_version") => RULED_OUT,
        "system" | "assistant" | "user" | "result" => 10,
        _ => 4,
    };
    Some((Role::Live, score))
}
