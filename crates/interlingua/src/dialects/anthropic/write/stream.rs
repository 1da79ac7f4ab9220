//! A stream: `message_start`, blocks one after the other, `message_delta`, `message_stop`; or `error` and nothing more.

use super::{Block, Blocks, Facts, Form, Piece, nothing, write_failure, write_stop};
use crate::ledger::Rest;
use crate::model::{Args, Event, Failure, StopClass, Turn};
use crate::pipe::{Out, Writer};
use crate::text::Str;

#[derive(Default)]
pub(in super::super) struct StreamWriter {
    blocks: Blocks,
    facts: Facts,
    frames: Frames,
    started: bool,
    done: bool,
}

impl StreamWriter {
    fn start(&mut self, out: &mut Out<'_>) {
        if std::mem::replace(&mut self.started, true) {
            return;
        }
        let json = begin("message_start", out).key("message").object();
        self.facts.write_head(json);
        json.key("content").array().end_array().key("stop_reason").null().key("stop_sequence").null();
        self.facts.write_usage(json);
        json.end_object();
        end(out);
    }

    fn stop(&mut self, turn: &Turn<'_>, out: &mut Out<'_>) {
        self.start(out);
        self.facts.learn(turn, out.ledger);
        if turn.stop.as_ref().is_some_and(|stop| stop.class == StopClass::Error) {
            return self.fail(&nothing(), out);
        }
        self.blocks.close(&mut self.frames, out);
        begin("message_delta", out).key("delta").object();
        write_stop(turn.stop.as_ref(), self.blocks.calls, &mut out.json, out.ledger);
        out.json.end_object();
        self.facts.write_usage(&mut out.json);
        end(out);
        begin("message_stop", out);
        end(out);
        self.done = true;
    }

    fn fail(&mut self, failure: &Failure<'_>, out: &mut Out<'_>) {
        out.json.frame("event: error\ndata: ");
        write_failure(failure, &mut out.json, out.ledger);
        out.json.frame("\n\n");
        self.done = true;
    }
}

impl Writer for StreamWriter {
    fn event(&mut self, event: &Event<'_>, out: &mut Out<'_>) {
        if self.done {
            return;
        }
        match event {
            Event::ItemStarted(_) | Event::ItemDelta(_) | Event::ItemCompleted(_) => {
                self.start(out);
                self.blocks.event(event, &mut self.frames, out);
            }
            Event::TurnStarted(turn) => {
                self.facts.learn(turn, out.ledger);
                self.start(out);
            }
            Event::Usage(turn) => self.facts.learn(turn, out.ledger),
            Event::TurnEnded(turn) => {
                self.blocks.event(event, &mut self.frames, out);
                self.stop(turn, out);
            }
            Event::Error(failure) => {
                self.blocks.event(event, &mut self.frames, out);
                self.fail(failure, out);
            }
            Event::SessionStarted(_)
            | Event::SessionUpdated(_)
            | Event::SessionEnded(_)
            | Event::Request(_)
            | Event::PermissionRequested(_)
            | Event::PermissionResolved(_)
            | Event::QuestionRequested(_)
            | Event::QuestionResolved(_) => {
                out.ledger.note("only a model's answer has a place in a response")
            }
        }
    }

    fn rest(&mut self, _: Rest<'_>, _: &mut Out<'_>) {}

    fn finish(&mut self, out: &mut Out<'_>) {
        if !self.done {
            self.fail(&nothing(), out);
        }
    }
}

/// Blocks as events, numbered from one counter.
#[derive(Default)]
struct Frames {
    next: u64,
}

impl Form for Frames {
    fn open(&mut self, block: Block<'_>, out: &mut Out<'_>) {
        let json =
            begin("content_block_start", out).key("index").u64(self.next).key("content_block").object();
        self.next += 1;
        match block {
            Block::Text => json.key("type").word("text").key("text").word(""),
            Block::Thinking => {
                json.key("type").word("thinking").key("thinking").word("").key("signature").word("")
            }
            Block::Redacted(data) => json.key("type").word("redacted_thinking").key("data").str(data),
            Block::ToolUse { id, name } => {
                json.key("type").word("tool_use").key("id").str(id).key("name").str(name);
                json.key("input").object().end_object()
            }
        };
        json.end_object();
        end(out);
    }

    fn piece(&mut self, piece: Piece<'_>, out: &mut Out<'_>) {
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
        json.key("delta").object().key("type").word(kind).key(member).str(&text).end_object();
        end(out);
    }

    fn close(&mut self, out: &mut Out<'_>) {
        begin("content_block_stop", out).key("index").u64(self.next.saturating_sub(1));
        end(out);
    }
}

/// Begins an event; its name also stands in its data.
fn begin<'a, 'o>(name: &str, out: &'a mut Out<'o>) -> &'a mut crate::emit::Emit<'o> {
    out.json.frame("event: ").frame(name).frame("\ndata: ").object().key("type").word(name)
}

fn end(out: &mut Out<'_>) {
    out.json.end_object().frame("\n\n");
}
