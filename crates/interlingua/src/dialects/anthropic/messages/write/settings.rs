//! The settings of a request.

use crate::json::JsonWriter;
use crate::json::{Raw, Str};
use crate::ledger::{Ledger, Reason};
use crate::model::{CallKind, Field, Format, Request, SchemaFormat, Tool, ToolChoice};
use crate::pipe::Target;
use crate::tape::{Limits, TapeBuf};
use crate::wire;

/// Sent when the source sets no limit, which the API requires.
const MAX_TOKENS: u64 = 4096;
/// The API takes no longer id of an end user than this.
const USER: usize = 256;

/// Opens the request and writes everything before `system` and `messages`.
pub(super) fn write(request: &Request<'_>, out: &mut Target<'_>) {
    let Request {
        model,
        max_tokens,
        // Newer models refuse both.
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
    out.json.object().opt_str("model", model.as_ref()).key("max_tokens");
    if let Some(most) = max_tokens {
        out.json.raw(most);
    } else {
        out.ledger.note("no output limit given: 4096 tokens");
        out.json.u64(MAX_TOKENS);
    }
    if !stop.is_empty() {
        out.json.key("stop_sequences").array();
        for text in stop {
            out.json.str(text);
        }
        out.json.end_array();
    }
    out.json.opt_bool("stream", *stream);
    write_effort(reasoning.effort.as_ref(), format.as_ref(), out);
    if let Some(user) = user {
        let user = wire::user_id(user, USER, out);
        out.json.key("metadata").object().key("user_id").str(&user).end_object();
    }
    match service_tier.as_ref().map(|tier| (tier, tier.as_escaped())) {
        Some((_, "auto")) => _ = out.json.key("service_tier").literal("auto"),
        Some((_, "default" | "standard_only")) => _ = out.json.key("service_tier").literal("standard_only"),
        Some((tier, _)) => out.lose_str(Field::ServiceTier, tier, Reason::Narrowed),
        None => {}
    }
    let offered = |tool: &&Tool<'_>| wire::client_runs(tool.kind).is_ok();
    for tool in tools.iter().filter(|tool| !offered(tool)) {
        wire::lose_tool(tool, out);
    }
    let tools: Vec<&Tool<'_>> = tools.iter().filter(offered).collect();
    if !tools.is_empty() {
        let mut tape = TapeBuf::default();
        out.json.key("tools").array();
        for tool in &tools {
            write_tool(tool, &mut tape, out);
        }
        out.json.end_array();
    }
    write_choice(tool_choice.as_ref(), *parallel_calls, &tools, out);
}

fn write_tool(tool: &Tool<'_>, tape: &mut TapeBuf, out: &mut Target<'_>) {
    let Tool { kind, name, description, schema, strict, .. } = tool;
    if *kind == CallKind::Vendor {
        out.lose(Field::ToolKind, Reason::Narrowed);
    }
    let new = wire::tool_name(name, out.ledger);
    out.json.object().key("name").str(&new).opt_str("description", description.as_ref());
    out.json.opt_bool("strict", *strict).key("input_schema");
    if *kind == CallKind::FreeText {
        if let Some(schema) = schema {
            out.lose_raw(Field::ToolSchema, schema, Reason::NoSlot);
        }
        out.ledger.note("free-text tool offered as a function with the member `input`");
        out.json.raw(&Raw::new(FREE_TEXT));
    } else {
        write_schema(schema.as_ref(), tape, &mut out.json, out.ledger);
    }
    out.json.end_object();
}

const NO_ARGUMENTS: &str = "{\"type\":\"object\",\"properties\":{}}";
const FREE_TEXT: &str =
    "{\"type\":\"object\",\"properties\":{\"input\":{\"type\":\"string\"}},\"required\":[\"input\"]}";

/// The API takes object schemas only, and none may be missing.
fn write_schema(
    schema: Option<&Raw<'_>>,
    tape: &mut TapeBuf,
    json: &mut JsonWriter<'_>,
    ledger: &mut Ledger,
) {
    // Nearly every schema says so first.
    if let Some(schema) = schema
        && ["{\"type\":\"object\"", "{\"type\": \"object\""]
            .iter()
            .any(|head| schema.as_str().starts_with(head))
    {
        json.raw(schema);
        return;
    }
    let parsed = schema.and_then(|schema| tape.parse(schema.as_str(), &Limits::default()).ok());
    let root = parsed.as_ref().map(|tape| tape.root());
    match (schema, root) {
        (Some(schema), Some(root)) if root.get("type").is_some() => _ = json.raw(schema),
        (Some(_), Some(root)) if root.members().next().is_some() => {
            ledger.note("schema without a type is one of an object");
            json.object().key("type").literal("object");
            for (name, value) in root.members() {
                json.key(name.as_escaped()).raw(&value.raw());
            }
            json.end_object();
        }
        (None | Some(_), _) => {
            ledger.note("tool without a schema takes an empty object");
            json.raw(&Raw::new(NO_ARGUMENTS));
        }
    }
}

/// `thinking` and `output_config`: how hard to think, and in which form to answer.
fn write_effort(effort: Option<&Str<'_>>, format: Option<&Format<'_>>, out: &mut Target<'_>) {
    let word = match effort.map(|effort| (effort, effort.as_escaped())) {
        Some((_, word @ ("low" | "medium" | "high" | "xhigh" | "max"))) => Some(word),
        Some((_, "minimal")) => {
            out.ledger.note("effort `minimal` raised to `low`");
            Some("low")
        }
        Some((_, "none")) => {
            out.json.key("thinking").object().key("type").literal("disabled").end_object();
            None
        }
        Some((effort, _)) => {
            out.lose_str(Field::Effort, effort, Reason::Refused);
            None
        }
        None => None,
    };
    let schema = match format {
        Some(Format::Schema(SchemaFormat { name: _, schema, strict })) => {
            // Here an answer always matches its schema.
            if *strict == Some(false) {
                out.lose(Field::FormatStrict, Reason::Narrowed);
            }
            Some(schema)
        }
        Some(Format::JsonObject) => {
            out.lose(Field::AnswerFormat, Reason::NoSlot);
            None
        }
        Some(Format::Text) => {
            out.lose(Field::AnswerFormat, Reason::Redundant);
            None
        }
        None => None,
    };
    if word.is_none() && schema.is_none() {
        return;
    }
    let json = out.json.key("output_config").object();
    if let Some(word) = word {
        json.key("effort").literal(word);
    }
    if let Some(schema) = schema {
        json.key("format").object().key("type").literal("json_schema").key("schema").raw(schema).end_object();
    }
    json.end_object();
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
    let offered = |name: &Str<'_>| tools.iter().any(|tool| tool.name == *name);
    let (word, name) = match choice {
        Some(ToolChoice::None) => ("none", None),
        Some(ToolChoice::Required) => ("any", None),
        Some(ToolChoice::Named(name)) if offered(name) => ("tool", Some(name)),
        Some(ToolChoice::Named(_)) => {
            wire::lose_choice(choice, None, out);
            ("auto", None)
        }
        Some(ToolChoice::Auto) | None => ("auto", None),
    };
    // What the API does anyway need not be said.
    if word == "auto" && parallel.is_none() && choice != Some(&ToolChoice::Auto) {
        return;
    }
    out.json.key("tool_choice").object().key("type").literal(word);
    if let Some(name) = name {
        out.json.key("name").str(&wire::tool_name(name, out.ledger));
    }
    match parallel {
        Some(_) if word == "none" => wire::lose_choice(None, parallel, out),
        Some(parallel) => _ = out.json.key("disable_parallel_tool_use").bool(!parallel),
        None => {}
    }
    out.json.end_object();
}
