//! Requests: the settings, then every message. What an assistant said is read as in an answer ([`Said`]).

use super::super::{ERROR_MARK, OK_MARK};
use super::content::{read_content, shape};
use super::said::Said;
use crate::error::Code;
use crate::json::Str;
use crate::model::{
    Author, CallKind, Event, Field, Format, ItemKind, ItemTail, Of, Part, Reasoning, Request, SchemaFormat,
    Status, Tool, ToolChoice, ToolResult,
};
use crate::pipe::{Doc, Events, Reader};
use crate::tape::Val;
use crate::wire::{is_offered, may_call, note_blanks, note_tag};

pub(in super::super) struct RequestReader;

impl Reader for RequestReader {
    fn document(&mut self, doc: Doc<'_>, out: &mut Events<'_>) {
        let root = doc.root;
        out.event(&Event::Request(Box::new(request(root))));
        let Some(messages) = root.get("messages") else {
            return out.problem(Code::UnknownShape, None, "a request has `messages`");
        };
        for message in messages.elements() {
            let role = message.get("role").and_then(|role| role.str());
            let author = match role.as_ref().map(Str::as_escaped) {
                Some("system") => Author::System,
                Some("developer") => Author::Developer,
                Some("user") => Author::User,
                Some("assistant") => Author::Assistant,
                // `function` is the way of 2023, without ids.
                Some("tool" | "function") => Author::Tool,
                // A role we do not know stays where it is, with all it says.
                _ => continue,
            };
            if author == Author::Tool {
                message.note_str("role", Field::Structure);
                note_blanks(message);
                tool_result(message, out);
                continue;
            }
            message.note_str("role", Field::ItemAuthor);
            let mut head = out.head(ItemKind::Message, author);
            head.shape = shape(message.get("content"));
            let item = out.start(head);
            let mut said = Said::whole();
            said.message = Some(item);
            said.say(message, out);
            said.end(Status::Completed, out);
        }
    }
}

fn request(root: Val<'_>) -> Request<'_> {
    note_blanks(root);
    // The words of 2023 say the same, in fewer ways.
    let list = |name| root.get(name).into_iter().flat_map(|list: Val<'_>| list.elements());
    let stop = root.get("stop");
    let stops = stop.into_iter().flat_map(|stop| stop.elements());
    let stream = root.take_bool("stream", Field::StreamAnswer);
    // Usage at the end of a stream is what every other API gives unasked.
    if stream == Some(true)
        && let Some(options) = root.get("stream_options")
        && let Some(usage) = options.get("include_usage").filter(|usage| usage.bool() == Some(true))
    {
        usage.note(Field::StreamAnswer);
    }
    let tools: Vec<Tool<'_>> =
        list("tools").filter_map(tool).chain(list("functions").filter_map(function)).collect();
    let choice = root.get("tool_choice").or_else(|| root.get("function_call"));
    let tool_choice = choice.and_then(|choice| tool_choice(choice, &tools));
    Request {
        parallel_calls: root
            .get("parallel_tool_calls")
            .filter(|_| may_call(tool_choice.as_ref(), &tools))
            .and_then(|_| root.take_bool("parallel_tool_calls", Field::ParallelCalls)),
        model: root.take_str("model", Field::RequestModel),
        max_tokens: root
            .take_raw("max_completion_tokens", Field::MaxTokens)
            .or_else(|| root.take_raw("max_tokens", Field::MaxTokens)),
        temperature: root.take_raw("temperature", Field::Temperature),
        top_p: root.take_raw("top_p", Field::TopP),
        stop: stop
            .and_then(|stop| stop.take_text(Field::StopTexts))
            .into_iter()
            .chain(stops.filter_map(|s| s.take_text(Field::StopTexts)))
            .collect(),
        stream,
        tools,
        tool_choice,
        reasoning: Reasoning {
            effort: root.take_str("reasoning_effort", Field::Effort),
            ..Reasoning::default()
        },
        user: root
            .take_str("user", Field::EndUser)
            .or_else(|| root.take_str("safety_identifier", Field::EndUser)),
        service_tier: root.take_str("service_tier", Field::ServiceTier),
        // Last, because a writer that has no word for it looks for the last claim.
        format: root.get("response_format").and_then(format),
        ..Request::default()
    }
}

/// A tool without `type` is a function. Kinds we do not know stay where they are, whatever they hold.
fn tool(tool: Val<'_>) -> Option<Tool<'_>> {
    let kind = tool.get("type").filter(|kind| !kind.is_null());
    let offered = if kind.is_none_or(|kind| kind.is("function")) {
        function(tool.get("function")?)
    } else if kind.is_some_and(|kind| kind.is("custom")) {
        named(tool.get("custom")?, CallKind::FreeText)
    } else {
        None
    };
    if offered.is_some() {
        tool.note_str("type", Field::ToolKind);
    }
    offered
}

fn function(inner: Val<'_>) -> Option<Tool<'_>> {
    named(inner, CallKind::Function)
}

fn named(inner: Val<'_>, kind: CallKind) -> Option<Tool<'_>> {
    let name = inner.take_str("name", Field::ToolName)?;
    note_blanks(inner);
    Some(Tool {
        kind,
        name,
        description: inner.take_str("description", Field::ToolDescription),
        schema: inner.take_raw("parameters", Field::ToolSchema),
        strict: inner.take_bool("strict", Field::ToolStrict),
        vendor_type: None,
        config: Vec::new(),
        cache: None,
    })
}

/// Which of the tools that we know to use; a choice among others stays where it is.
fn tool_choice<'t>(choice: Val<'t>, tools: &[Tool<'_>]) -> Option<ToolChoice<'t>> {
    if let Some(word) = choice.str().filter(|_| !tools.is_empty()) {
        let parsed = match word.as_escaped() {
            "auto" => ToolChoice::Auto,
            "none" => ToolChoice::None,
            "required" => ToolChoice::Required,
            _ => return None,
        };
        choice.note(Field::ToolChoice);
        return Some(parsed);
    }
    // `function_call` has the name itself.
    let (kind, inner) = match (choice.get("function"), choice.get("custom")) {
        (Some(inner), _) => ("function", inner),
        (None, Some(inner)) => ("custom", inner),
        (None, None) => ("function", choice),
    };
    let name = inner.get("name").filter(|name| is_offered(*name, tools))?.take_text(Field::ToolChoice)?;
    note_tag(choice, "type", &[kind]);
    Some(ToolChoice::Named(name))
}

fn format(format: Val<'_>) -> Option<Format<'_>> {
    let kind = format.get("type")?;
    let parsed = match kind.str()?.as_escaped() {
        "text" => Format::Text,
        "json_object" => Format::JsonObject,
        "json_schema" => {
            let inner = format.get("json_schema")?;
            let schema = inner.take_raw("schema", Field::FormatSchema)?;
            note_blanks(inner);
            let name = inner.take_str("name", Field::FormatName);
            Format::Schema(SchemaFormat {
                name,
                schema,
                strict: inner.take_bool("strict", Field::FormatStrict),
            })
        }
        _ => return None,
    };
    kind.note(Field::AnswerFormat);
    Some(parsed)
}

fn tool_result(message: Val<'_>, out: &mut Events<'_>) {
    let content = message.get("content");
    let call_id = message.take_str("tool_call_id", Field::ResultCallId);
    let result = ToolResult { call_id, name: message.take_str("name", Field::ResultName) };
    let mut head = out.head(ItemKind::ToolResult(result), Author::Tool);
    head.shape = shape(content);
    let id = out.start(head);
    let mut is_error = None;
    if let Some(content) = content {
        read_content(content, Of::Result, out, &mut |number, part, out| match part {
            Part::Text(text) if number == 0 => {
                let escaped = text.as_escaped();
                let rest = escaped.strip_prefix(ERROR_MARK);
                is_error = rest.map(|_| true);
                let rest = rest.or_else(|| escaped.strip_prefix(OK_MARK)).unwrap_or(escaped);
                out.delta(id, number, Part::Text(Str::escaped(rest)));
            }
            part => out.delta(id, number, part),
        });
    }
    let status = if is_error == Some(true) { Status::Failed } else { Status::Completed };
    out.event(&Event::ItemCompleted(ItemTail {
        id,
        status,
        native_status: None,
        is_error,
        exit_code: None,
        duration: None,
    }));
}
