//! The stage that renames common tools to those of the agent that goes on with a session.

use std::collections::BTreeMap;

use super::native_tools::{SpelledCall, is_common, meaning, tool_for};
use crate::dialects::Options;
use crate::json::{Raw, Str};
use crate::ledger::{Leftover, Reason};
use crate::model::{
    Args, CallKind, Delta, Event, ItemHead, ItemId, ItemKind, ItemTail, Part, ToolCall, ToolResult,
};
use crate::pipe::{Writer, WriterOutput};
use crate::tape::{Limits, TapeBuf};

/// Passes events to the writer of a log, with calls in the words of its agent where a call has an exact counterpart.
pub(crate) struct MappedTools {
    writer: Box<dyn Writer>,
    source: &'static str,
    target: &'static str,
    /// A call of a common tool whose arguments are not complete.
    held: Option<HeldCall>,
    /// The new names of renamed tools, by the id of the call, for results that repeat the name.
    names: BTreeMap<String, &'static str>,
}

struct HeldCall {
    id: ItemId,
    events: Vec<Event<'static>>,
}

impl MappedTools {
    /// The writer itself, or this stage before it if the tools are to be renamed.
    pub(crate) fn before(
        writer: Box<dyn Writer>,
        target: &'static str,
        options: &Options,
    ) -> Box<dyn Writer> {
        if !options.map_tools {
            return writer;
        }
        let source = options.source.unwrap_or_default();
        Box::new(Self { writer, source, target, held: None, names: BTreeMap::new() })
    }

    /// Passes a held call on, in the words of the target if it has an exact counterpart.
    fn release(&mut self, out: &mut WriterOutput<'_>) {
        let Some(HeldCall { events, .. }) = self.held.take() else { return };
        let Some((spelled, call)) = self.spelled(&events) else {
            out.ledger
                .note("calls of common tools keep their names: the target's tools have no exact counterpart");
            for event in &events {
                self.writer.event(event, out);
            }
            return;
        };
        out.ledger.note("calls of common tools have the names and arguments of the target's tools");
        if spelled.has_less {
            out.ledger.note(
                "remarks and output limits of calls, which the target's tools do not have, were left out",
            );
        }
        if let Some(id) = &call.call_id {
            self.names.insert(id.as_escaped().to_owned(), spelled.name);
        }
        let text = spelled.text.map(Raw::owned);
        let text = text.as_ref().and_then(Raw::text).map(Str::into_owned);
        let kind = if text.is_some() { CallKind::FreeText } else { CallKind::Function };
        let new = ToolCall { name: Str::plain(spelled.name), kind, namespace: None, ..call };
        let object = || Args::Json(spelled.arguments.unwrap_or_else(|| Raw::owned("{}".to_owned())));
        let mut value = Some(text.map_or_else(object, Args::Text));
        for event in events {
            match event {
                Event::ItemStarted(head) => {
                    let kind = ItemKind::ToolCall(new.clone());
                    self.writer.event(&Event::ItemStarted(ItemHead { kind, ..head }), out);
                }
                Event::ItemDelta(delta) if matches!(delta.value, Part::Args(_)) => {
                    // The first piece becomes the whole, the others are part of it.
                    if let Some(value) = value.take() {
                        let delta = Delta { value: Part::Args(value), ..delta };
                        self.writer.event(&Event::ItemDelta(delta), out);
                    }
                }
                event => self.writer.event(&event, out),
            }
        }
    }

    /// The call in the words of the target, and the call of the source.
    fn spelled(&self, events: &[Event<'static>]) -> Option<(SpelledCall, ToolCall<'static>)> {
        let mut call = None;
        let mut arguments = String::new();
        let mut is_text = false;
        for event in events {
            match event {
                Event::ItemStarted(ItemHead { kind: ItemKind::ToolCall(started), .. }) => {
                    call = Some(started.clone());
                }
                Event::ItemDelta(Delta { value: Part::Args(Args::Json(json)), .. }) => {
                    arguments.push_str(json.as_str());
                }
                Event::ItemDelta(Delta { value: Part::Args(Args::Text(text)), .. }) => {
                    is_text = true;
                    text.decode_into(&mut arguments);
                }
                _ => {}
            }
        }
        let call = call?;
        if is_text && call.kind == CallKind::FreeText {
            arguments = format!("\"{}\"", Str::from_plain(&arguments).as_escaped());
        }
        let mut tape = TapeBuf::default();
        let tape = tape.parse(&arguments, &Limits::default()).ok()?;
        let meaning = meaning(self.source, &call.name.decode(), tape.root())?;
        let spelled = tool_for(self.target, meaning.purpose)?.spell(&meaning)?;
        Some((spelled, call))
    }
}

impl Writer for MappedTools {
    fn takes(&mut self, head: &ItemHead<'_>) -> Result<(), Reason> {
        self.writer.takes(head)
    }

    fn kept_lines_follow(&mut self, owner: &str) {
        self.writer.kept_lines_follow(owner);
    }

    fn kept_with_next(&mut self, owner: &str, out: &mut WriterOutput<'_>) {
        self.writer.kept_with_next(owner, out);
    }

    fn event(&mut self, event: &Event<'_>, out: &mut WriterOutput<'_>) {
        match event {
            Event::ItemStarted(head @ ItemHead { kind: ItemKind::ToolCall(call), .. })
                if call.namespace.is_none() && is_common(&call.name.decode()) =>
            {
                self.release(out);
                self.held = Some(HeldCall { id: head.id, events: vec![event.clone().into_owned()] });
            }
            Event::ItemStarted(head @ ItemHead { kind: ItemKind::ToolResult(result), .. }) => {
                self.release(out);
                let renamed = result.call_id.as_ref().and_then(|id| self.names.get(id.as_escaped()));
                match renamed.filter(|_| result.name.is_some()) {
                    Some(name) => {
                        let result = ToolResult { name: Some(Str::plain(name)), ..result.clone() };
                        let head = ItemHead { kind: ItemKind::ToolResult(result), ..head.clone() };
                        self.writer.event(&Event::ItemStarted(head), out);
                    }
                    None => self.writer.event(event, out),
                }
            }
            Event::ItemDelta(Delta { item, .. }) | Event::ItemCompleted(ItemTail { id: item, .. }) => {
                match &mut self.held {
                    Some(held) if held.id == *item => held.events.push(event.clone().into_owned()),
                    _ => self.writer.event(event, out),
                }
                let is_complete = matches!(event, Event::ItemCompleted(_));
                if is_complete && self.held.as_ref().is_some_and(|held| held.id == *item) {
                    self.release(out);
                }
            }
            _ => {
                self.release(out);
                self.writer.event(event, out);
            }
        }
    }

    fn leftover(&mut self, leftover: Leftover<'_>, out: &mut WriterOutput<'_>) {
        self.release(out);
        self.writer.leftover(leftover, out);
    }

    fn finish(&mut self, out: &mut WriterOutput<'_>) {
        self.release(out);
        self.writer.finish(out);
    }
}
