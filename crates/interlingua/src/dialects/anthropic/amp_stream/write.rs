//! Events to Amp's stdin (`--stream-json-input`): prompts. Amp asks for no permissions on stdin, and only a signal
//! interrupts a turn.

use crate::ledger::Reason;
use crate::live::input::{self, AgentInput};
use crate::model::{Field, Part, Permission, Question};
use crate::pipe::WriterOutput;

/// Amp's stdin.
pub(super) struct StdinInput;

impl AgentInput for StdinInput {
    /// Writes a `user` line. Amp refuses a content that is not an array.
    fn prompt(&mut self, parts: &[Part<'_>], out: &mut WriterOutput<'_>) {
        if parts.iter().all(|part| !matches!(part, Part::Text(_)) && input::image(part).is_none()) {
            return input::lose_other_media(parts, out);
        }
        let json =
            out.json.begin_frame("").up_to_value(r#"{"type":"user","message":{"role":"user","content":["#);
        for part in parts {
            if let Part::Text(text) = part {
                json.up_to_value(r#"{"type":"text","text":"#).str(text).end_object();
            } else if let Some((media_type, data)) = input::image(part) {
                json.up_to_value(r#"{"type":"image","source":{"type":"base64","media_type":"#)
                    .str(media_type);
                json.key("data").str(data).end_object().end_object();
            }
        }
        json.end_array().end_object().end_object().end_frame("\n");
        input::lose_other_media(parts, out);
    }

    fn asked(&mut self, _: &Permission<'_>, _: &mut WriterOutput<'_>) {
        // The table refuses every field of a permission.
    }

    fn decide(&mut self, _: &Permission<'_>, _: &mut WriterOutput<'_>) {
        // The table refuses every field of a permission.
    }

    fn answer(&mut self, _: &Question<'_>, _: &mut WriterOutput<'_>) {
        // The table refuses every field of a question.
    }

    fn interrupt(&mut self, out: &mut WriterOutput<'_>) {
        out.lose(Field::StopReason, Reason::NoSlot);
    }
}
