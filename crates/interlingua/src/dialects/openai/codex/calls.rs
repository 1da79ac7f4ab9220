//! Tool calls and tool results.

use super::messages::{is_part, read_part};
use super::read::{CodexReader, Payload, begin, tail};
use super::tool_results::say_files;
use crate::dialects::openai::items::{call_of, is_result};
use crate::json::{Raw, Str};
use crate::model::{
    Args, Author, CallKind, Field, ItemId, ItemKind, ItemKindTag, ItemTail, Media, MediaSource, Part, Shape,
    Status, ToolCall, ToolResult,
};
use crate::pipe::EventSink;
use crate::tape::{Claim, Kind, Limits, Member as _, TapeBuf, Val, WantedNames};

impl CodexReader {
    /// Reads a tool call or a tool result; returns `false` for any other item type.
    pub(super) fn tool(
        &mut self,
        payload: Payload<'_>,
        word: &str,
        within: Option<ItemId>,
        out: &mut EventSink<'_>,
    ) -> bool {
        const WANTED: WantedNames<6> =
            WantedNames::new(["call_id", "namespace", "name", "input", "action", "arguments"]);
        if is_result(word) {
            payload.kind.note_text(Field::Structure);
            self.read_result(payload, within, out);
            return true;
        }
        if word == "image_generation_call" && payload.val.has_str("result") {
            self.read_picture(payload, within, out);
            return true;
        }
        // Tools that the vendor trained are named by the item type only.
        let Some((kind, name)) = call_of(word) else { return false };
        let [call_id, namespace, own_name, input, action, arguments] = payload.val.find(&WANTED);
        payload.kind.note_text(Field::CallKind);
        let call = ToolCall {
            call_id: call_id.take_text(Field::CallId),
            kind,
            namespace: namespace.take_text(Field::CallNamespace),
            name: own_name.take_text(Field::CallName).unwrap_or(Str::escaped(name)),
        };
        let mut head = self.head(ItemKind::ToolCall(call), Author::Assistant, out);
        begin(&mut head, payload);
        head.within = within;
        let item = out.start(head);
        let text = input.or(arguments);
        self.outcomes.begin(call_id.word(), text.map_or("", |text| text.text()));
        if let Some(input) = input.take_text(Field::CallArgs) {
            out.delta(item, 0, Part::Args(Args::Text(input)));
        } else if let Some(action) = action.filter(|action| action.kind() == Kind::Object) {
            out.delta(item, 0, Part::Args(Args::Json(action.take(Field::CallArgs))));
        } else if let Some(arguments) = arguments {
            self.arguments.read(arguments, item, out);
        }
        if within.is_none() {
            self.end_with_next(item, payload, out);
        } else {
            super::read::complete(item, payload, out);
        }
        true
    }

    fn read_result(&mut self, payload: Payload<'_>, within: Option<ItemId>, out: &mut EventSink<'_>) {
        const WANTED: WantedNames<4> = WantedNames::new(["call_id", "output", "result", "tools"]);
        let [call_id, output, result, tools] = payload.val.find(&WANTED);
        let output = output.or(result).or(tools);
        // A list of texts and images is read part by part; any other value is one JSON value.
        let list = output.is_some_and(|list| list.kind() == Kind::Array && list.elements().all(is_part));
        let list = list && within.is_none();
        let is_script = payload.kind.word() == "custom_tool_call_output";
        let (outcome, files) = self.outcomes.of(call_id.word(), output, is_script);
        let result = ToolResult { call_id: call_id.take_text(Field::ResultCallId), name: None };
        let mut head = self.head(ItemKind::ToolResult(result), Author::Tool, out);
        begin(&mut head, payload);
        head.within = within;
        head.shape = if list { Shape::List } else { Shape::One };
        let item = out.start(head);
        let mut parts = 1;
        if let Some(output) = output.filter(|output| !output.is_null()) {
            if let Some(text) = output.take_text(Field::ResultText) {
                out.delta(item, 0, Part::Text(text));
            } else if list {
                parts = 0;
                for part in output.elements() {
                    if let Some(value) = read_part(part, Field::ResultText, ItemKindTag::Result) {
                        out.delta(item, parts, value);
                    }
                    parts += 1;
                }
            } else {
                out.delta(item, 0, Part::Json(output.take(Field::ResultJson)));
            }
        }
        say_files(&files, item, parts, out);
        let tail = tail(item, payload);
        let failed = outcome.is_error == Some(true) && tail.status == Status::Completed;
        out.end(ItemTail {
            status: if failed { Status::Failed } else { tail.status },
            is_error: outcome.is_error,
            exit_code: outcome.exit_code,
            duration: outcome.duration,
            ..tail
        });
    }

    /// Reads a picture that the provider made. The item is both call and result, so both go into a message of the
    /// assistant.
    fn read_picture(&mut self, payload: Payload<'_>, within: Option<ItemId>, out: &mut EventSink<'_>) {
        payload.kind.note_text(Field::CallKind);
        let mut head = self.head(ItemKind::Message, Author::Assistant, out);
        head.time = payload.time.take_time(Field::ItemTime);
        head.within = within;
        let message = out.start(head);
        let call_id = payload.id.take_text(Field::CallId);
        let name = Str::escaped("image_generation");
        let call = ToolCall { call_id: call_id.clone(), kind: CallKind::Server, namespace: None, name };
        let mut head = self.head(ItemKind::ToolCall(call), Author::Assistant, out);
        head.within = Some(message);
        let item = out.start(head);
        out.complete(item);
        let mut head = self.head(ItemKind::ToolResult(ToolResult { call_id, name: None }), Author::Tool, out);
        head.within = Some(message);
        head.shape = Shape::List;
        let item = out.start(head);
        if let Some(prompt) = payload.val.take_str("revised_prompt", Field::ResultText) {
            out.delta(item, 0, Part::Text(prompt));
        }
        if let Some(picture) = payload.val.take_str("result", Field::ResultMedia) {
            out.delta(item, 1, Part::Media(Media::new(None, MediaSource::Base64(picture))));
        }
        super::read::complete(item, payload, out);
        out.complete(message);
    }
}

/// Parses call arguments, which Codex writes as JSON in a string. The buffers are reused between calls.
#[derive(Default)]
pub(super) struct Arguments {
    plain: String,
    tape: TapeBuf,
}

impl Arguments {
    pub(super) fn read(&mut self, arguments: Val<'_>, item: ItemId, out: &mut EventSink<'_>) {
        let Some(text) = arguments.str() else {
            // A hole cannot distinguish an object from a string, so an object also stays in the line.
            return out.delta(item, 0, Part::Args(Args::Json(arguments.note(Field::CallArgs))));
        };
        self.plain.clear();
        text.decode_into(&mut self.plain);
        let exact = has_plain_escapes(text.as_escaped()) || Str::plain(&self.plain) == text;
        // A replacement character from decoding means that the JSON has changed.
        let sound = exact || !self.plain.contains(char::REPLACEMENT_CHARACTER);
        let limits = Limits { depth: 100, ..Limits::default() };
        let object = self.plain.starts_with('{') && self.plain.ends_with('}');
        if !sound || !object || self.tape.parse(&self.plain, &limits).is_err() {
            arguments.claim(Claim::Taken(Field::CallArgs));
            return out.delta(item, 0, Part::Args(Args::Text(text)));
        }
        // The value cannot restore a string with unusual escapes, so that string also stays in the line.
        let claim = if exact { Claim::Taken(Field::CallArgs) } else { Claim::Noted(Field::CallArgs) };
        arguments.claim(claim);
        out.delta(item, 0, Part::Args(Args::Json(Raw::new(&self.plain))));
    }
}

/// Whether a string contains only common escapes, so that escaping the decoded text restores the same bytes.
fn has_plain_escapes(escaped: &str) -> bool {
    let mut rest = escaped.as_bytes();
    while let Some(at) = memchr::memchr(b'\\', rest) {
        if !matches!(rest.get(at + 1), Some(b'"' | b'\\' | b'n' | b't' | b'r' | b'b' | b'f')) {
            return false;
        }
        rest = &rest[at + 2..];
    }
    true
}
