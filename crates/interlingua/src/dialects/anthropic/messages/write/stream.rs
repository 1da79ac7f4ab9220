//! A stream: `message_start`, blocks one after the other, `message_delta`, `message_stop`; or `error` and nothing more.

use super::{Block, Blocks, Form, Piece, write_failure, write_head, write_stop, write_usage};
use crate::dialects::anthropic::messages::says;
use crate::json::JsonWriter;
use crate::json::Str;
use crate::model::{Args, Event, Failure, SaysTable, Turn};
use crate::pipe::Target;
use crate::wire::{Answer, Facts, HeadPlace};

#[derive(Default)]
pub(in super::super) struct Stream {
    blocks: Blocks,
    frames: Frames,
}

impl Answer for Stream {
    const HEAD: HeadPlace = HeadPlace::FirstWithCounts;
    const SAYS: SaysTable = says::answer;

    fn begin(&mut self, facts: &Facts, out: &mut Target<'_>) {
        self.blocks.answer.clone_from(&facts.id);
        begin("message_start", out).key("message").object();
        write_head(facts, &mut out.json);
        let json = &mut out.json;
        json.key("content").array().end_array().key("stop_reason").null().key("stop_sequence").null();
        write_usage(facts, json);
        json.end_object();
        end(out);
    }

    fn item(&mut self, event: &Event<'_>, out: &mut Target<'_>) {
        self.blocks.event(event, &mut self.frames, out);
    }

    fn end(&mut self, turn: &Turn<'_>, facts: &Facts, out: &mut Target<'_>) {
        self.blocks.close(&mut self.frames, out);
        begin("message_delta", out).key("delta").object();
        write_stop(turn.stop.as_ref(), self.blocks.calls, out);
        out.json.end_object();
        // All counts once more: what was not known at the start is known now.
        write_usage(facts, &mut out.json);
        end(out);
        begin("message_stop", out);
        end(out);
    }

    fn fail(&mut self, failure: &Failure<'_>, out: &mut Target<'_>) {
        out.json.frame("event: error\ndata: ");
        write_failure(failure, out);
        out.json.frame("\n\n");
    }
}

/// Blocks as events, numbered from one counter.
#[derive(Default)]
struct Frames {
    next: u64,
}

impl Form for Frames {
    fn open(&mut self, block: Block<'_>, out: &mut Target<'_>) {
        let json =
            begin("content_block_start", out).key("index").u64(self.next).key("content_block").object();
        self.next += 1;
        match block {
            Block::Text => json.key("type").literal("text").key("text").literal(""),
            Block::Thinking => {
                json.key("type").literal("thinking").key("thinking").literal("").key("signature").literal("")
            }
            Block::Redacted(data) => json.key("type").literal("redacted_thinking").key("data").str(data),
            Block::ToolUse { id, name } => {
                json.key("type").literal("tool_use").key("id").str(id).key("name").str(name);
                json.key("input").object().end_object()
            }
        };
        json.end_object();
        end(out);
    }

    fn piece(&mut self, piece: Piece<'_>, out: &mut Target<'_>) {
        let (kind, member, text) = match &piece {
            Piece::Text(text) => ("text_delta", "text", text.reborrow()),
            Piece::Thinking(text) => ("thinking_delta", "thinking", text.reborrow()),
            Piece::Signature(value) => ("signature_delta", "signature", value.reborrow()),
            Piece::Input(Args::Text(text)) => ("input_json_delta", "partial_json", text.reborrow()),
            // No arguments are said by saying nothing.
            Piece::Input(Args::Json(json)) if json.as_str() == "{}" => return,
            Piece::Input(Args::Json(json)) => ("input_json_delta", "partial_json", Str::plain(json.as_str())),
        };
        if text.is_empty() {
            return;
        }
        let json = begin("content_block_delta", out).key("index").u64(self.next.saturating_sub(1));
        json.key("delta").object().key("type").literal(kind).key(member).str(&text).end_object();
        end(out);
    }

    fn close(&mut self, out: &mut Target<'_>) {
        begin("content_block_stop", out).key("index").u64(self.next.saturating_sub(1));
        end(out);
    }
}

/// Begins an event; its name also stands in its data.
fn begin<'a, 'o>(name: &str, out: &'a mut Target<'o>) -> &'a mut JsonWriter<'o> {
    out.json.frame("event: ").frame(name).frame("\ndata: ").object().key("type").literal(name)
}

fn end(out: &mut Target<'_>) {
    out.json.end_object().frame("\n\n");
}
