//! The settings of a model call: the base schema has no event for them, so they are a status item `request` with one
//! JSON part, written and read here.

use super::parts::CALL_KINDS;
use super::{inside, named, put_json, word};
use crate::json::JsonWriter;
use crate::json::Str;
use crate::model::{CallKind, Field, Format, Reasoning, Request, SchemaFormat, Tool, ToolChoice};
use crate::tape::Val;

pub(super) fn put_request(request: &Request<'_>, json: &mut JsonWriter<'_>) {
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
    json.object().opt_str("model", model.as_ref());
    for (name, value) in [("max_tokens", max_tokens), ("temperature", temperature), ("top_p", top_p)] {
        put_json(name, value.as_ref(), json);
    }
    if !stop.is_empty() {
        json.key("stop").array();
        for text in stop {
            json.str(text);
        }
        json.end_array();
    }
    json.opt_bool("stream", *stream);
    if !tools.is_empty() {
        json.key("tools").array();
        for Tool { kind, name, description, schema, strict, .. } in tools {
            json.object().key("kind").literal(word(CALL_KINDS, *kind)).key("name").str(name);
            json.opt_str("description", description.as_ref());
            put_json("schema", schema.as_ref(), json);
            json.opt_bool("strict", *strict).end_object();
        }
        json.end_array();
    }
    match tool_choice {
        Some(ToolChoice::Named(name)) => {
            json.key("tool_choice").object().key("name").str(name).end_object();
        }
        Some(ToolChoice::Auto) => _ = json.key("tool_choice").literal("auto"),
        Some(ToolChoice::None) => _ = json.key("tool_choice").literal("none"),
        Some(ToolChoice::Required) => _ = json.key("tool_choice").literal("required"),
        None => {}
    }
    json.opt_bool("parallel_calls", *parallel_calls).opt_str("effort", reasoning.effort.as_ref());
    match format {
        Some(Format::Text) => _ = json.key("format").literal("text"),
        Some(Format::JsonObject) => _ = json.key("format").literal("json_object"),
        Some(Format::Schema(SchemaFormat { name, schema, strict })) => {
            json.key("format").object().opt_str("name", name.as_ref()).key("schema").raw(&schema.one_line());
            json.opt_bool("strict", *strict).end_object();
        }
        None => {}
    }
    json.opt_str("user", user.as_ref()).opt_str("service_tier", service_tier.as_ref()).end_object();
}

pub(super) fn request<'t>(data: Val<'t>) -> Request<'t> {
    let list = |name: &str| inside(data, name).into_iter().flat_map(|list| list.elements());
    let tool = |tool: Val<'t>| Tool {
        kind: tool_kind(tool),
        name: tool.take_str("name", Field::ToolName).unwrap_or_default(),
        description: tool.take_str("description", Field::ToolDescription),
        schema: tool.take_raw("schema", Field::ToolSchema),
        strict: tool.take_bool("strict", Field::ToolStrict),
        vendor_type: None,
        config: Vec::new(),
        cache: None,
    };
    Request {
        model: data.take_str("model", Field::RequestModel),
        max_tokens: data.take_raw("max_tokens", Field::MaxTokens),
        temperature: data.take_raw("temperature", Field::Temperature),
        top_p: data.take_raw("top_p", Field::TopP),
        stop: list("stop").filter_map(|text| text.take_text(Field::StopTexts)).collect(),
        stream: data.take_bool("stream", Field::StreamAnswer),
        tools: list("tools").map(tool).collect(),
        tool_choice: data.get("tool_choice").and_then(tool_choice),
        parallel_calls: data.take_bool("parallel_calls", Field::ParallelCalls),
        reasoning: Reasoning { effort: data.take_str("effort", Field::Effort), ..Reasoning::default() },
        format: data.get("format").and_then(format),
        user: data.take_str("user", Field::EndUser),
        service_tier: data.take_str("service_tier", Field::ServiceTier),
        ..Request::default()
    }
}

fn tool_kind(tool: Val<'_>) -> CallKind {
    let kind = named(CALL_KINDS, tool.str_or_empty("kind"));
    if kind.is_some() {
        tool.take_str("kind", Field::ToolKind);
    }
    kind.unwrap_or(CallKind::Function)
}

fn tool_choice(choice: Val<'_>) -> Option<ToolChoice<'_>> {
    let known = match choice.str().as_ref().map(Str::as_escaped) {
        Some("auto") => ToolChoice::Auto,
        Some("none") => ToolChoice::None,
        Some("required") => ToolChoice::Required,
        Some(_) => return None,
        None => return choice.take_str("name", Field::ToolChoice).map(ToolChoice::Named),
    };
    choice.take(Field::ToolChoice);
    Some(known)
}

fn format(format: Val<'_>) -> Option<Format<'_>> {
    let known = match format.str().as_ref().map(Str::as_escaped) {
        Some("text") => Format::Text,
        Some("json_object") => Format::JsonObject,
        Some(_) => return None,
        None => {
            let schema = format.get("schema")?.take(Field::FormatSchema);
            let name = format.take_str("name", Field::FormatName);
            return Some(Format::Schema(SchemaFormat {
                name,
                schema,
                strict: format.take_bool("strict", Field::FormatStrict),
            }));
        }
    };
    format.take(Field::AnswerFormat);
    Some(known)
}
