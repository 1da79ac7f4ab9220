//! The settings of a request.

use crate::dialects::wire;
use crate::emit::Emit;
use crate::ledger::{Ledger, Reason};
use crate::model::{CallKind, Format, Request, Tool, ToolChoice};
use crate::tape::{Limits, TapeBuf};
use crate::text::{Raw, Str};

/// Sent when the source sets no limit, which the API requires.
const MAX_TOKENS: u64 = 4096;
/// The API takes no longer id of an end user than this.
const USER: usize = 256;

/// Opens the request and writes everything before `system` and `messages`.
pub(super) fn write(request: &Request<'_>, json: &mut Emit<'_>, ledger: &mut Ledger) {
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
        effort,
        format,
        user,
        service_tier,
    } = request;
    json.object().opt_str("model", model.as_ref()).key("max_tokens");
    if let Some(most) = max_tokens {
        json.raw(most);
    } else {
        ledger.note("no output limit given: 4096 tokens");
        json.u64(MAX_TOKENS);
    }
    for (path, value) in [("request/temperature", temperature), ("request/top_p", top_p)] {
        if let Some(value) = value {
            ledger.lose(path, Reason::Refused, value.as_str());
        }
    }
    if !stop.is_empty() {
        json.key("stop_sequences").array();
        for text in stop {
            json.str(text);
        }
        json.end_array();
    }
    json.opt_bool("stream", *stream);
    write_effort(effort.as_ref(), format.as_ref(), json, ledger);
    if let Some(user) = user {
        let user = wire::user_id(user, USER, ledger);
        json.key("metadata").object().key("user_id").str(&user).end_object();
    }
    match service_tier.as_ref().map(|tier| (tier, tier.as_escaped())) {
        Some((_, "auto")) => _ = json.key("service_tier").word("auto"),
        Some((_, "default" | "standard_only")) => _ = json.key("service_tier").word("standard_only"),
        Some((tier, _)) => wire::lose_str("request/service_tier", Reason::Narrowed, tier, ledger),
        None => {}
    }
    if !tools.is_empty() {
        let mut tape = TapeBuf::default();
        json.key("tools").array();
        for tool in tools {
            write_tool(tool, &mut tape, json, ledger);
        }
        json.end_array();
    }
    write_choice(tool_choice.as_ref(), *parallel_calls, tools, json, ledger);
}

fn write_tool(tool: &Tool<'_>, tape: &mut TapeBuf, json: &mut Emit<'_>, ledger: &mut Ledger) {
    let Tool { kind, name, description, schema, strict } = tool;
    let new = wire::tool_name(name, ledger);
    json.object().key("name").str(&new).opt_str("description", description.as_ref());
    json.opt_bool("strict", *strict).key("input_schema");
    if *kind == CallKind::FreeText {
        ledger.note("free-text tool offered as a function with the member `input`");
        json.raw(&Raw::new(FREE_TEXT));
    } else {
        write_schema(schema.as_ref(), tape, json, ledger);
    }
    json.end_object();
}

const NO_ARGUMENTS: &str = "{\"type\":\"object\",\"properties\":{}}";
const FREE_TEXT: &str =
    "{\"type\":\"object\",\"properties\":{\"input\":{\"type\":\"string\"}},\"required\":[\"input\"]}";

/// The API takes object schemas only, and none may be missing.
fn write_schema(schema: Option<&Raw<'_>>, tape: &mut TapeBuf, json: &mut Emit<'_>, ledger: &mut Ledger) {
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
            json.object().key("type").word("object");
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
fn write_effort(
    effort: Option<&Str<'_>>,
    format: Option<&Format<'_>>,
    json: &mut Emit<'_>,
    ledger: &mut Ledger,
) {
    let word = match effort.map(|effort| (effort, effort.as_escaped())) {
        Some((_, word @ ("low" | "medium" | "high" | "xhigh" | "max"))) => Some(word),
        Some((_, "minimal")) => {
            ledger.note("effort `minimal` raised to `low`");
            Some("low")
        }
        Some((_, "none")) => {
            json.key("thinking").object().key("type").word("disabled").end_object();
            None
        }
        Some((effort, _)) => {
            wire::lose_str("request/effort", Reason::Refused, effort, ledger);
            None
        }
        None => None,
    };
    let schema = match format {
        Some(Format::Schema { name, schema, strict }) => {
            if let Some(name) = name {
                wire::lose_str("request/format/name", Reason::NoSlot, name, ledger);
            }
            // Here an answer always matches its schema.
            if let Some(strict) = strict {
                let (reason, word) =
                    if *strict { (Reason::Redundant, "true") } else { (Reason::Narrowed, "false") };
                ledger.lose("request/format/strict", reason, word);
            }
            Some(schema)
        }
        Some(Format::JsonObject) => {
            ledger.lose("request/format", Reason::NoSlot, "\"json_object\"");
            None
        }
        Some(Format::Text) => {
            ledger.lose("request/format", Reason::Redundant, "\"text\"");
            None
        }
        None => None,
    };
    if word.is_none() && schema.is_none() {
        return;
    }
    json.key("output_config").object();
    if let Some(word) = word {
        json.key("effort").word(word);
    }
    if let Some(schema) = schema {
        json.key("format").object().key("type").word("json_schema").key("schema").raw(schema).end_object();
    }
    json.end_object();
}

fn write_choice(
    choice: Option<&ToolChoice<'_>>,
    parallel: Option<bool>,
    tools: &[Tool<'_>],
    json: &mut Emit<'_>,
    ledger: &mut Ledger,
) {
    if tools.is_empty() {
        if choice.is_some() || parallel.is_some() {
            ledger.note("tool settings without tools left out");
        }
        return;
    }
    let offered = |name: &Str<'_>| tools.iter().any(|tool| tool.name == *name);
    let (word, name) = match choice {
        Some(ToolChoice::None) => ("none", None),
        Some(ToolChoice::Required) => ("any", None),
        Some(ToolChoice::Named(name)) if offered(name) => ("tool", Some(name)),
        Some(ToolChoice::Auto | ToolChoice::Named(_)) | None => ("auto", None),
    };
    if let Some(ToolChoice::Named(name)) = choice.filter(|_| word == "auto") {
        wire::lose_str("request/tool_choice", Reason::Refused, name, ledger);
    }
    // What the API does anyway need not be said.
    if word == "auto" && parallel.is_none() && choice != Some(&ToolChoice::Auto) {
        return;
    }
    json.key("tool_choice").object().key("type").word(word);
    if let Some(name) = name {
        json.key("name").str(&wire::tool_name(name, ledger));
    }
    match parallel {
        Some(_) if word == "none" => ledger.note("parallel calls without calls left out"),
        Some(parallel) => _ = json.key("disable_parallel_tool_use").bool(!parallel),
        None => {}
    }
    json.end_object();
}
