//! A request. Settings first, then `messages`, each written as soon as it is complete.
//!
//! A user's message that holds results becomes `tool` messages, then a user message with the rest. `tool` messages
//! take text only: what else a result holds follows, labelled, in one user message after all results of that turn.

use super::super::{ERROR_MARK, OK_MARK};
use super::{Message, Speech, State, Texts, write_media};
use crate::json::JsonBuffer;
use crate::json::Str;
use crate::ledger::Reason;
use crate::model::{
    Author, CallKind, Delta, Event, Field, Format, ItemHead, ItemId, ItemKind, ItemTail, Media, Of, Part,
    Request, SchemaFormat, Tool, ToolChoice, ToolResult,
};
use crate::pipe::Target;
use crate::wire::{self, Ask, Content, Letters, Pairing};

/// The API takes no longer id of an end user than this.
const USER: usize = 64;
/// The API takes no more stop sequences than this.
const STOPS: usize = 4;

pub(in super::super) struct RequestWriter {
    speech: Speech,
    assistant: Message,
    /// The assistant's message is being gathered.
    speaking: bool,
    spoke: bool,
    /// What a user or system message says itself.
    said: Content,
    result: Answer,
    /// Media of results, for the user message after them.
    media: Content,
    media_count: u32,
    /// Messages that must wait until all calls are answered.
    deferred: JsonBuffer,
    pairs: Pairing,
    open: Vec<(ItemId, Goes)>,
}

/// Where the pieces of an open item go.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Goes {
    Message(&'static str),
    Assistant,
    Result,
}

/// The result being gathered: its texts, escaped.
#[derive(Default)]
struct Answer {
    id: String,
    texts: Vec<String>,
    part: Option<u32>,
}

impl Default for RequestWriter {
    fn default() -> Self {
        Self {
            speech: Speech::new(State::Lose),
            assistant: Message::new(Texts::Listed),
            speaking: false,
            spoke: false,
            said: Content::default(),
            result: Answer::default(),
            media: Content::default(),
            media_count: 0,
            deferred: JsonBuffer::default(),
            pairs: Pairing::default(),
            open: Vec::new(),
        }
    }
}

impl Ask for RequestWriter {
    fn settings(&mut self, request: &Request<'_>, out: &mut Target<'_>) {
        let Request {
            model,
            max_tokens,
            temperature,
            top_p,
            stop,
            stream,
            tools,
            tool_choice,
            parallel_calls,
            reasoning,
            format,
            user,
            service_tier,
            ..
        } = request;
        let json = &mut out.json;
        json.object().opt_str("model", model.as_ref()).opt_raw("max_completion_tokens", max_tokens.as_ref());
        json.opt_raw("temperature", temperature.as_ref()).opt_raw("top_p", top_p.as_ref());
        if !stop.is_empty() {
            json.key("stop").array();
            for text in stop.iter().take(STOPS) {
                json.str(text);
            }
            json.end_array();
        }
        json.opt_bool("stream", *stream);
        if *stream == Some(true) {
            json.key("stream_options").object().key("include_usage").bool(true).end_object();
            out.ledger.note("usage in the stream asked for");
        }
        for text in stop.iter().skip(STOPS) {
            out.lose_str(Field::StopTexts, text, Reason::Refused);
        }
        out.json.opt_str("reasoning_effort", reasoning.effort.as_ref());
        write_format(format.as_ref(), out);
        if let Some(user) = user {
            let user = wire::user_id(user, USER, out);
            out.json.key("user").str(&user);
        }
        match service_tier.as_ref().map(|tier| (tier, tier.as_escaped())) {
            Some((_, "standard_only")) => _ = out.json.key("service_tier").literal("default"),
            Some((_, word @ ("auto" | "default" | "flex" | "scale" | "priority"))) => {
                _ = out.json.key("service_tier").literal(word);
            }
            Some((tier, _)) => out.lose_str(Field::ServiceTier, tier, Reason::Narrowed),
            None => {}
        }
        let offered = |tool: &&Tool<'_>| wire::client_runs(tool.kind).is_ok();
        for tool in tools.iter().filter(|tool| !offered(tool)) {
            wire::lose_tool(tool, out);
        }
        let tools: Vec<&Tool<'_>> = tools.iter().filter(offered).collect();
        if !tools.is_empty() {
            out.json.key("tools").array();
            for tool in &tools {
                write_tool(tool, out);
            }
            out.json.end_array();
        }
        write_choice(tool_choice.as_ref(), *parallel_calls, &tools, out);
        out.json.key("messages").array();
    }

    fn takes(&mut self, head: &ItemHead<'_>) -> Result<(), Reason> {
        match &head.kind {
            ItemKind::Message | ItemKind::Reasoning => Ok(()),
            ItemKind::ToolCall(call) => wire::client_runs(call.kind),
            // A result that the provider itself produced, inside its answer.
            ItemKind::ToolResult(_) if self.goes(head.within) == Some(Goes::Assistant) => Err(Reason::NoSlot),
            ItemKind::ToolResult(result) => {
                let id = result.call_id.as_ref().map(result_id);
                if self.pairs.expects(id.as_ref()) { Ok(()) } else { Err(Reason::Refused) }
            }
            ItemKind::Notice(_) => Err(Reason::NoSlot),
        }
    }

    fn started(&mut self, head: &ItemHead<'_>, event: &Event<'_>, out: &mut Target<'_>) {
        let ItemHead { id, kind, author, .. } = head;
        let goes = match (kind, author) {
            (ItemKind::Message, Author::Assistant) | (ItemKind::Reasoning | ItemKind::ToolCall(_), _) => {
                self.assistant(out);
                if *kind == ItemKind::Message && std::mem::replace(&mut self.spoke, true) {
                    out.lose(Field::ItemAuthor, Reason::Merged);
                    out.ledger.note("assistant messages in a row joined");
                }
                if let ItemKind::ToolCall(call) = kind {
                    self.pairs.called(&super::call_id_of(call.call_id.as_ref(), None, *id));
                }
                self.speech.event(event, &mut self.assistant, out);
                Goes::Assistant
            }
            (ItemKind::Message, author) => {
                self.end_assistant(out);
                // The difference from system is lost on most servers, and some refuse the word `developer`.
                if let Author::Developer | Author::Tool = author {
                    out.lose(Field::ItemAuthor, Reason::Narrowed);
                }
                match author {
                    Author::System | Author::Developer => Goes::Message("system"),
                    Author::User | Author::Tool | Author::Assistant => Goes::Message("user"),
                }
            }
            (ItemKind::ToolResult(result), _) => {
                self.end_assistant(out);
                self.answer(result, out);
                Goes::Result
            }
            // It has no place and does not come.
            (ItemKind::Notice(_), _) => return,
        };
        self.open.push((*id, goes));
    }

    fn delta(&mut self, delta: &Delta<'_>, event: &Event<'_>, out: &mut Target<'_>) {
        let Delta { item, part, value, arrival: _ } = delta;
        let Some(goes) = self.goes(Some(*item)) else { return };
        let of = match goes {
            Goes::Assistant => {
                self.assistant(out);
                return self.speech.event(event, &mut self.assistant, out);
            }
            Goes::Message(_) => Of::Message,
            Goes::Result => Of::Result,
        };
        let text = match value {
            Part::Text(text) | Part::Summary(text) => text.reborrow(),
            Part::Refusal(text) => {
                out.ledger.note("refusal written as text");
                text.reborrow()
            }
            Part::Json(json) => {
                out.ledger.note("JSON content written as text");
                Str::plain(json.as_str())
            }
            Part::Media(media) if goes == Goes::Message("user") => {
                if let Some(block) = write_media(of, value, media, out) {
                    self.said.part().values(block.bytes());
                }
                return;
            }
            Part::Media(media) if goes == Goes::Result => return self.result_media(value, media, out),
            Part::Media(_) | Part::Args(_) | Part::File(_) | Part::Citation(_) | Part::Cache(_) => {
                return out.lose_part(of, value, Reason::NoSlot);
            }
            Part::Opaque(_) => return out.lose_part(of, value, Reason::Foreign),
        };
        if goes == Goes::Result {
            self.result.text(*part, &text);
        } else {
            self.said.text(*item, *part, &text);
        }
    }

    fn completed(&mut self, tail: &ItemTail<'_>, event: &Event<'_>, out: &mut Target<'_>) {
        let ItemTail { id, is_error, .. } = tail;
        let Some(at) = self.open.iter().position(|(open, _)| open == id) else { return };
        let (_, goes) = self.open.remove(at);
        match goes {
            Goes::Assistant => self.speech.event(event, &mut self.assistant, out),
            Goes::Result => {
                if *is_error == Some(false) {
                    out.lose(Field::ResultIsError, Reason::Redundant);
                }
                self.result.write(*is_error == Some(true), out);
            }
            Goes::Message(role) if !self.said.is_empty() => {
                if self.pairs.is_waiting() {
                    let mut json = self.deferred.hold();
                    self.said.write(json.object().key("role").literal(role).key("content"));
                    json.end_object();
                } else {
                    self.settle(out);
                    self.said.write(out.json.object().key("role").literal(role).key("content"));
                    out.json.end_object();
                }
            }
            // A message that says nothing is left out.
            Goes::Message(_) => out.lose(Field::ItemAuthor, Reason::Redundant),
        }
    }

    fn end(&mut self, out: &mut Target<'_>) {
        self.end_assistant(out);
        self.settle(out);
        out.json.end_array().end_object();
    }
}

/// The id of a call as its result names it.
fn result_id<'a>(id: &'a Str<'_>) -> Str<'a> {
    wire::alias(id, Letters::Any, 64)
}

impl RequestWriter {
    /// Where the pieces of an open item go.
    fn goes(&self, item: Option<ItemId>) -> Option<Goes> {
        self.open.iter().rfind(|(open, _)| Some(*open) == item).map(|(_, goes)| *goes)
    }

    fn assistant(&mut self, out: &mut Target<'_>) {
        if !self.speaking {
            self.settle(out);
            self.speech.reset();
            self.speaking = true;
        }
    }

    fn end_assistant(&mut self, out: &mut Target<'_>) {
        if !std::mem::take(&mut self.speaking) {
            return;
        }
        self.spoke = false;
        if self.assistant.is_empty() {
            out.lose(Field::ItemAuthor, Reason::Redundant);
            return out.ledger.note("a turn that says nothing was left out");
        }
        self.assistant.write(&mut out.json);
    }

    /// A result of one of the calls that wait.
    fn answer(&mut self, result: &ToolResult<'_>, out: &mut Target<'_>) {
        let ToolResult { call_id, name: _ } = result;
        let id = call_id.as_ref().map(result_id);
        let id = self.pairs.answered(id.as_ref(), out.ledger).unwrap_or_default();
        self.result = Answer { id, ..Answer::default() };
    }

    fn result_media(&mut self, part: &Part<'_>, media: &Media<'_>, out: &mut Target<'_>) {
        let Some(block) = write_media(Of::Result, part, media, out) else { return };
        out.ledger.note("media of a tool result moved into a user message after the results");
        self.media_count += 1;
        let number = self.media_count;
        // The id is escaped already, and the words around it need no escaping.
        let label = format!("[attachment {number}, from the result of {}]", self.result.id);
        self.media.text(ItemId(0), number, &Str::escaped(&label));
        self.media.part().values(block.bytes());
        self.result.part = None;
        self.result.texts.push(format!("[attachment {number}: see the next user message]"));
    }

    /// No more results will come: answers what was not answered, then writes what had to wait for that.
    fn settle(&mut self, out: &mut Target<'_>) {
        for id in self.pairs.unanswered() {
            out.ledger.note("call without a result got one that says so");
            Answer { id, texts: vec![wire::NO_RESULT.to_owned()], part: None }.write(true, out);
        }
        if !self.media.is_empty() {
            self.media.write(out.json.object().key("role").literal("user").key("content"));
            out.json.end_object();
            self.media_count = 0;
        }
        if !self.deferred.bytes().is_empty() {
            out.json.values(self.deferred.bytes());
            self.deferred.clear();
        }
    }
}

impl Answer {
    fn text(&mut self, part: u32, text: &Str<'_>) {
        match self.texts.last_mut() {
            Some(last) if self.part == Some(part) => last.push_str(text.as_escaped()),
            _ => self.texts.push(text.as_escaped().to_owned()),
        }
        self.part = Some(part);
    }

    /// Writes the `tool` message.
    fn write(&mut self, is_error: bool, out: &mut Target<'_>) {
        let first = self.texts.first().map_or("", String::as_str);
        let mark = if is_error {
            out.ledger.note("failed result marked with `[tool error]`");
            ERROR_MARK
        } else if first.starts_with(ERROR_MARK) || first.starts_with(OK_MARK) {
            OK_MARK
        } else {
            ""
        };
        let json = &mut out.json;
        json.object().key("role").literal("tool").key("tool_call_id").literal(&self.id).key("content");
        match &self.texts[..] {
            texts @ ([] | [_]) => {
                json.open_string().piece(&Str::escaped(mark));
                for text in texts {
                    json.piece(&Str::escaped(text));
                }
                json.close_string();
            }
            texts => {
                json.array();
                for (number, text) in texts.iter().enumerate() {
                    json.object().key("type").literal("text").key("text").open_string();
                    json.piece(&Str::escaped(if number == 0 { mark } else { "" }));
                    json.piece(&Str::escaped(text)).close_string().end_object();
                }
                json.end_array();
            }
        }
        json.end_object();
    }
}

fn write_format(format: Option<&Format<'_>>, out: &mut Target<'_>) {
    let Some(format) = format else { return };
    let json = out.json.key("response_format").object().key("type");
    match format {
        Format::Text => _ = json.literal("text"),
        Format::JsonObject => _ = json.literal("json_object"),
        Format::Schema(SchemaFormat { name, schema, strict }) => {
            json.literal("json_schema").key("json_schema").object();
            json.key("name").str(&name.clone().unwrap_or(Str::escaped("response")));
            json.opt_bool("strict", *strict).key("schema").raw(schema).end_object();
            if name.is_none() {
                out.ledger.note("schema of the answer called `response`");
            }
        }
    }
    out.json.end_object();
}

fn write_tool(tool: &Tool<'_>, out: &mut Target<'_>) {
    let Tool { kind, name, description, schema, strict, .. } = tool;
    if *kind == CallKind::Vendor {
        out.lose(Field::ToolKind, Reason::Narrowed);
    }
    let new = wire::tool_name(name, out.ledger);
    let kind = if *kind == CallKind::FreeText { "custom" } else { "function" };
    let json = &mut out.json;
    json.object().key("type").literal(kind).key(kind).object().key("name").str(&new);
    json.opt_str("description", description.as_ref()).opt_raw("parameters", schema.as_ref());
    json.opt_bool("strict", *strict).end_object().end_object();
}

fn write_choice(
    choice: Option<&ToolChoice<'_>>,
    parallel: Option<bool>,
    tools: &[&Tool<'_>],
    out: &mut Target<'_>,
) {
    if tools.is_empty() {
        return wire::lose_choice(choice, parallel, out);
    }
    match choice {
        Some(ToolChoice::Auto) => _ = out.json.key("tool_choice").literal("auto"),
        Some(ToolChoice::None) => _ = out.json.key("tool_choice").literal("none"),
        Some(ToolChoice::Required) => _ = out.json.key("tool_choice").literal("required"),
        Some(ToolChoice::Named(name)) => match tools.iter().find(|tool| tool.name == *name) {
            Some(tool) => {
                let kind = if tool.kind == CallKind::FreeText { "custom" } else { "function" };
                out.json.key("tool_choice").object().key("type").literal(kind).key(kind).object();
                out.json.key("name").str(&wire::tool_name(name, out.ledger)).end_object().end_object();
            }
            None => wire::lose_choice(choice, None, out),
        },
        None => {}
    }
    if choice == Some(&ToolChoice::None) {
        wire::lose_choice(None, parallel, out);
    } else {
        out.json.opt_bool("parallel_tool_calls", parallel);
    }
}
