//! Reads and writes the settings of a request.

use super::BACKEND;
use super::items::{GrammarForm, write_grammar};
use crate::json::{JsonWriter, Str};
use crate::ledger::Reason;
use crate::model::{CallKind, Field, Format, Reasoning, Request, SchemaFormat, Tool, ToolChoice, Words};
use crate::tape::{TapeBuf, Val};
use crate::wire::backends::Capabilities;
use crate::wire::narrow::{Narrowing, ToolRules};
use crate::wire::settings::{ChoiceWords, OfferedTools, Setting, SettingForm, may_call};
use crate::wire::thinking::ThinkingPlan;
use crate::wire::{note_blanks, note_tag, settings};

/// Settings with a single value.
pub(super) const SETTINGS: &[Setting] = &[
    Setting { names: &["model"], field: Field::RequestModel, how: SettingForm::AsIs },
    Setting { names: &["max_output_tokens"], field: Field::MaxTokens, how: SettingForm::AsIs },
    Setting { names: &["temperature"], field: Field::Temperature, how: SettingForm::AsIs },
    Setting { names: &["top_p"], field: Field::TopP, how: SettingForm::Between(0.0, 1.0) },
    Setting { names: &["top_logprobs"], field: Field::TopLogprobs, how: SettingForm::Between(0.0, 20.0) },
    Setting { names: &["store"], field: Field::StoreAnswer, how: SettingForm::AsIs },
    Setting { names: &["stream"], field: Field::StreamAnswer, how: SettingForm::AsIs },
    // `safety_identifier` replaces `user`.
    Setting { names: &["safety_identifier", "user"], field: Field::EndUser, how: SettingForm::ShortId(64) },
    Setting {
        names: &["service_tier"],
        field: Field::ServiceTier,
        how: SettingForm::OwnWords(&["auto", "default", "flex", "scale", "priority", "fast", "ultrafast"]),
    },
    Setting { names: &["metadata"], field: Field::Metadata, how: SettingForm::Pairs(super::super::METADATA) },
    Setting { names: &["prompt_cache_key"], field: Field::CacheKey, how: SettingForm::ShortId(64) },
];

/// The values of `type` for tools that the client describes.
const TOOLS: Words<CallKind> = Words(&[(CallKind::Function, "function"), (CallKind::FreeText, "custom")]);

/// The values of `tool_choice`.
const CHOICES: ChoiceWords = ChoiceWords { auto: "auto", none: "none", required: "required" };

/// The values of `reasoning.summary`.
const SUMMARIES: [&str; 3] = ["auto", "concise", "detailed"];

/// The `include` value that requests log probabilities.
const LOGPROBS: &str = "message.output_text.logprobs";

/// The type of the input item that adds tools after the settings.
pub(super) const ADDITIONAL_TOOLS: &str = "additional_tools";

/// Reads the settings, and the tools among the items of `input`.
pub(super) fn read(root: Val<'_>) -> Request<'_> {
    note_blanks(root);
    let mut request = settings::read(root, &BACKEND);
    if let Some(reasoning) = root.get("reasoning") {
        note_blanks(reasoning);
        request.reasoning.effort = reasoning.take_str("effort", Field::Effort);
        request.reasoning.visibility = reasoning
            .take_str("summary", Field::ReasoningVisibility)
            .or_else(|| reasoning.take_str("generate_summary", Field::ReasoningVisibility));
    }
    for wanted in root.get("include").into_iter().flat_map(|include| include.elements()) {
        if wanted.is(LOGPROBS) {
            wanted.note(Field::Logprobs);
            request.logprobs = Some(true);
        }
    }
    if let Some(tools) = root.get("tools") {
        read_tools(tools, &mut request.tools);
    }
    for item in root.get("input").into_iter().flat_map(|input| input.elements()) {
        let Some(tools) = item.get("tools").filter(|_| item.str_or_empty("type") == ADDITIONAL_TOOLS) else {
            continue;
        };
        let known = request.tools.len();
        read_tools(tools, &mut request.tools);
        if request.tools.len() > known {
            note_tag(item, "type", &[ADDITIONAL_TOOLS]);
            note_tag(item, "role", &["developer"]);
        }
    }
    read_choice(root, &mut request);
    let text = root.get("text");
    request.verbosity = text.and_then(|text| text.take_str("verbosity", Field::Verbosity));
    // The format is read last, because a writer that does not support it looks for the last claim.
    request.format = text.and_then(|text| text.get("format")).and_then(format);
    request
}

fn read_tools<'t>(list: Val<'t>, tools: &mut Vec<Tool<'t>>) {
    for tool in list.elements() {
        let kind = tool.get("type");
        if !kind.is_some_and(|kind| kind.is("namespace")) {
            tools.extend(read_tool(tool, None));
            continue;
        }
        let Some(name) = tool.get("name") else { continue };
        let inner = tool.get("tools").into_iter().flat_map(|inner| inner.elements());
        let known = tools.len();
        tools.extend(inner.filter_map(|inner| read_tool(inner, name.str())));
        if tools.len() > known {
            name.take_text(Field::ToolNamespace);
            note_tag(tool, "type", &["namespace"]);
        }
    }
}

/// Reads a tool that the client describes, or a tool of one of the vendor's own types. Unknown tool types stay
/// unclaimed.
fn read_tool<'t>(tool: Val<'t>, namespace: Option<Str<'t>>) -> Option<Tool<'t>> {
    let kind = tool.get("type");
    let word = kind.and_then(|kind| kind.str()).unwrap_or(Str::escaped("function"));
    if let Some(runs) = TOOLS.value(&word) {
        let name = tool.take_str("name", Field::ToolName)?;
        kind.map(|kind| kind.note(Field::ToolKind));
        note_blanks(tool);
        let is_free = runs == CallKind::FreeText;
        return Some(Tool {
            description: tool.take_str("description", Field::ToolDescription),
            schema: tool.take_raw("parameters", Field::ToolSchema),
            strict: tool.take_bool("strict", Field::ToolStrict),
            deferred: tool.take_bool("defer_loading", Field::ToolDeferred),
            output_schema: tool.take_raw("output_schema", Field::ToolOutputSchema),
            grammar: tool.get("format").filter(|_| is_free).map(|format| format.take(Field::ToolGrammar)),
            namespace,
            ..Tool::new(runs, name)
        });
    }
    let own = BACKEND.own_type(&word)?;
    let vendor_type = kind?.take_text(Field::ToolType);
    let config = tool.members().filter(|(member, _)| !member.is("type"));
    let config = config.map(|(member, value)| (member, value.take(Field::ToolConfig))).collect();
    // The vendor's own tools are named by their type.
    Some(Tool { vendor_type, config, service: own.service, ..Tool::new(own.kind, word) })
}

/// Reads the tool choice. A choice that names an unknown tool stays unclaimed.
fn read_choice<'t>(root: Val<'t>, request: &mut Request<'t>) {
    let choice = root.get("tool_choice").filter(|_| !request.tools.is_empty());
    // A choice that is a string names no tool.
    let named_tools = if choice.is_some_and(|choice| choice.str().is_none()) { &*request.tools } else { &[] };
    let offered = OfferedTools::of(named_tools);
    let mode = choice.filter(|choice| choice.str_or_empty("type") == "allowed_tools").map(|allowed| {
        for tool in allowed.get("tools").into_iter().flat_map(|tools| tools.elements()) {
            if let Some(name) = named(tool, &offered, Field::AllowedTools) {
                request.allowed_tools.push(name);
            }
        }
        if !request.allowed_tools.is_empty() {
            note_tag(allowed, "type", &["allowed_tools"]);
        }
        allowed.get("mode")
    });
    let choice = mode.unwrap_or(choice);
    request.tool_choice = choice.and_then(|choice| match choice.str() {
        Some(word) => CHOICES.read(&word).inspect(|_| _ = choice.note(Field::ToolChoice)),
        None => named(choice, &offered, Field::ToolChoice).map(ToolChoice::Named),
    });
    if may_call(request.tool_choice.as_ref(), &request.tools) {
        request.parallel_calls = root.take_bool("parallel_tool_calls", Field::ParallelCalls);
    }
}

/// The name of the chosen tool. The vendor's own tools are chosen by type.
fn named<'t>(choice: Val<'t>, offered: &OfferedTools<'_, '_>, field: Field) -> Option<Str<'t>> {
    if let Some(name) = choice.get("name").filter(|name| offered.has(*name)) {
        note_tag(choice, "type", &["function", "custom"]);
        return name.take_text(field);
    }
    let kind = choice.get("type").filter(|kind| offered.has(*kind))?;
    choice.members().nth(1).is_none().then(|| kind.take_text(field)).flatten()
}

fn format(format: Val<'_>) -> Option<Format<'_>> {
    let kind = format.get("type")?;
    let parsed = match kind.str()?.as_escaped() {
        "text" => Format::Text,
        "json_object" => Format::JsonObject,
        "json_schema" => {
            let schema = format.take_raw("schema", Field::FormatSchema)?;
            note_blanks(format);
            Format::Schema(SchemaFormat {
                name: format.take_str("name", Field::FormatName),
                schema,
                description: format.take_str("description", Field::FormatDescription),
                strict: format.take_bool("strict", Field::FormatStrict),
            })
        }
        _ => return None,
    };
    kind.note(Field::AnswerFormat);
    Some(parsed)
}

/// The origin of the request that is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asker {
    /// A client of this API; missing settings keep this API's defaults.
    Own,
    /// A client of another API; the provider must not store responses or enforce strict schemas unless the request asks
    /// for it.
    Other,
}

/// The members that tools of this API do not have.
const TOOL_RULES: ToolRules = ToolRules {
    not_on_own: &[
        (Field::ToolDescription, Reason::Refused),
        (Field::ToolSchema, Reason::NoSlot),
        (Field::ToolOutputSchema, Reason::NoSlot),
        (Field::ToolGrammar, Reason::NoSlot),
        (Field::ToolStrict, Reason::Refused),
        (Field::ToolDeferred, Reason::Refused),
    ],
    not_on_functions: &[(Field::ToolConfig, Reason::NoSlot), (Field::ToolGrammar, Reason::NoSlot)],
    not_on_free_text: &[
        (Field::ToolConfig, Reason::NoSlot),
        (Field::ToolSchema, Reason::NoSlot),
        (Field::ToolOutputSchema, Reason::NoSlot),
        (Field::ToolStrict, Reason::NoSlot),
    ],
    of_stand_ins: &[("code_interpreter", ("container", r#"{"type":"auto"}"#))],
    needs_schema: true,
    ..ToolRules::EVERYTHING
};

/// The same for clients of another API, whose tools are not strict by default.
const OTHERS_TOOL_RULES: ToolRules = ToolRules { is_strict: true, ..TOOL_RULES };

/// Narrows the settings of a request to those of the API and the model.
pub(super) fn narrow(asker: Asker, settings: &mut Narrowing<'_, '_, '_>) {
    let (request, takes) = (settings.asked, settings.takes);
    settings.values(SETTINGS);
    if is_unstored(request, asker, takes) {
        settings.note("the provider is told not to keep the answer, as other APIs do not");
    }
    if request.stream_usage == Some(false) {
        settings.lose(Field::StreamUsage, Reason::Narrowed);
    }
    match request.logprobs {
        Some(true) if !takes.takes(Field::Logprobs) => settings.lose(Field::Logprobs, Reason::Refused),
        Some(false) => settings.lose(Field::Logprobs, Reason::Redundant),
        Some(true) | None => {}
    }
    let plan = settings.thinking();
    let thinks = plan.thinks();
    narrow_reasoning(&plan, settings);
    if !takes.takes(Field::Verbosity) {
        settings.lose(Field::Verbosity, Reason::Refused);
    }
    settings.answer_schema();
    settings.name_answer_schema();
    let rules = if asker == Asker::Own { &TOOL_RULES } else { &OTHERS_TOOL_RULES };
    settings.tools(rules, thinks, |_| true);
    settings
        .allowed_tools(|choice| matches!(choice, Some(ToolChoice::Auto | ToolChoice::Required)), |_| true);
    narrow_choice(settings);
}

/// Whether a client of another API leaves open if the provider stores the response.
fn is_unstored(request: &Request<'_>, asker: Asker, takes: &Capabilities) -> bool {
    request.store.is_none() && asker == Asker::Other && takes.takes(Field::StoreAnswer)
}

/// The effort and the form of the summary.
fn narrow_reasoning<'a>(plan: &ThinkingPlan<'a>, settings: &mut Narrowing<'_, 'a, '_>) {
    let visibility = settings.asked.reasoning.visibility.as_ref();
    let is = |word: &str| visibility.is_some_and(|visibility| visibility.is(word));
    let own = SUMMARIES.into_iter().find(|word| is(word));
    if own.is_none() {
        settings.lose(Field::ReasoningVisibility, Reason::Narrowed);
    }
    let emulated = (is("summarized") || is("updates")).then_some(SUMMARIES[0]);
    settings.set_reasoning(Reasoning {
        effort: plan.effort.clone(),
        visibility: own.or(emulated).map(Str::escaped),
        ..Reasoning::default()
    });
}

/// Only some of the provider's own tools can be chosen by name. With a single tool, `required` selects it.
fn narrow_choice(settings: &mut Narrowing<'_, '_, '_>) {
    let Some(ToolChoice::Named(name)) = &settings.request.tool_choice else { return };
    let tools = &settings.request.tools;
    if tools.iter().find(|tool| tool.name == *name).is_none_or(can_be_named) {
        return;
    }
    let choice = if tools.len() == 1 { ToolChoice::Required } else { ToolChoice::Auto };
    settings.note("a tool of the provider's own cannot be chosen by name");
    if matches!(settings.asked.tool_choice, Some(ToolChoice::Named(_))) {
        settings.lose_choice();
    }
    settings.change().tool_choice = Some(choice);
}

/// Whether a tool choice can name the tool.
fn can_be_named(tool: &Tool<'_>) -> bool {
    tool.vendor_type.as_ref().is_none_or(|own| HOSTED_CHOICES.iter().any(|known| own.is(known)))
}

/// The provider's own tools that a choice can name.
const HOSTED_CHOICES: [&str; 10] = [
    "file_search",
    "web_search_preview",
    "web_search_preview_2025_03_11",
    "computer",
    "computer_use",
    "computer_use_preview",
    "image_generation",
    "code_interpreter",
    "shell",
    "apply_patch",
];

/// Opens the request and writes every member before `instructions` and `input`.
pub(super) fn write(request: &Request<'_>, asker: Asker, takes: &Capabilities, json: &mut JsonWriter<'_>) {
    json.object();
    settings::write(request, SETTINGS, takes, json);
    if is_unstored(request, asker, takes) {
        json.key("store").bool(false);
    }
    if request.logprobs == Some(true) {
        json.key("include").array().literal(LOGPROBS).end_array();
    }
    let Reasoning { effort, mode: _, budget: _, visibility } = &request.reasoning;
    if effort.is_some() || visibility.is_some() {
        json.key("reasoning").object().opt_str("effort", effort.as_ref());
        json.opt_str("summary", visibility.as_ref()).end_object();
    }
    write_text(request, json);
    write_tools(&request.tools, json);
    write_choice(request, json);
    json.opt_bool("parallel_tool_calls", request.parallel_calls);
}

fn write_choice(request: &Request<'_>, json: &mut JsonWriter<'_>) {
    let Some(choice) = &request.tool_choice else { return };
    let offered = OfferedTools::of(&request.tools);
    json.key("tool_choice");
    match (CHOICES.word(choice), choice) {
        (Some(word), _) if !request.allowed_tools.is_empty() => {
            json.object().key("type").literal("allowed_tools");
            json.key("mode").literal(word).key("tools").array();
            for name in &request.allowed_tools {
                write_named(offered.get(name), name, json);
            }
            json.end_array().end_object();
        }
        (_, ToolChoice::Named(name)) => write_named(offered.get(name), name, json),
        (word, _) => _ = json.literal(word.unwrap_or(CHOICES.auto)),
    }
}

/// Writes `text`: the response format and the verbosity.
fn write_text(request: &Request<'_>, json: &mut JsonWriter<'_>) {
    if request.format.is_none() && request.verbosity.is_none() {
        return;
    }
    json.key("text").object();
    if let Some(format) = &request.format {
        json.key("format").object().key("type");
        match format {
            Format::Text => _ = json.literal("text"),
            Format::JsonObject => _ = json.literal("json_object"),
            Format::Schema(SchemaFormat { name, schema, description, strict }) => {
                json.literal("json_schema").opt_str("name", name.as_ref());
                json.opt_str("description", description.as_ref()).opt_bool("strict", *strict);
                json.key("schema").raw(schema);
            }
        }
        json.end_object();
    }
    json.opt_str("verbosity", request.verbosity.as_ref()).end_object();
}

/// Writes `tools`. The name of a group is its description: groups of other dialects have none, and a client's own
/// description is not read.
fn write_tools(tools: &[Tool<'_>], json: &mut JsonWriter<'_>) {
    if tools.is_empty() {
        return;
    }
    let mut tape = TapeBuf::default();
    json.key("tools").array();
    for group in tools.chunk_by(|tool, next| tool.namespace == next.namespace) {
        let namespace = group.first().and_then(|tool| tool.namespace.as_ref());
        if let Some(namespace) = namespace {
            json.object().key("type").literal("namespace").key("name").str(namespace);
            json.key("description").str(namespace).key("tools").array();
        }
        for tool in group {
            write_tool(tool, &mut tape, json);
        }
        if namespace.is_some() {
            json.end_array().end_object();
        }
    }
    json.end_array();
}

fn write_tool(tool: &Tool<'_>, tape: &mut TapeBuf, json: &mut JsonWriter<'_>) {
    // Cache marks of tools have no field in this API; the table lists them as lost.
    #[rustfmt::skip]
    let Tool {
        kind, vendor_type, name, description, schema, strict, config, service: _, namespace, output_schema,
        grammar, deferred, cache: _,
    } = tool;
    if let Some(own_type) = vendor_type {
        json.object().key("type").str(own_type);
        for (name, value) in config {
            json.key(name.as_escaped()).raw(value);
        }
        json.end_object();
        return;
    }
    let word = TOOLS.word(*kind).unwrap_or("function");
    json.object().key("type").literal(word).key("name").str(name);
    json.opt_str("description", description.as_ref());
    if let Some(grammar) = grammar {
        write_grammar(grammar, GrammarForm::Flat, tape, json.key("format"));
    }
    json.opt_raw("parameters", schema.as_ref());
    match strict {
        Some(strict) => _ = json.key("strict").bool(*strict),
        None if namespace.is_some() || *kind == CallKind::FreeText => {}
        None => _ = json.key("strict").null(),
    }
    json.opt_raw("output_schema", output_schema.as_ref()).opt_bool("defer_loading", *deferred).end_object();
}

/// Writes a chosen tool: one of the provider's own tools by its type, another tool by its name.
fn write_named(tool: Option<&Tool<'_>>, name: &Str<'_>, json: &mut JsonWriter<'_>) {
    json.object().key("type");
    if let Some(own_type) = tool.and_then(|tool| tool.vendor_type.as_ref()) {
        json.str(own_type);
    } else {
        let word = tool.and_then(|tool| TOOLS.word(tool.kind)).unwrap_or("function");
        json.literal(word).key("name").str(name);
    }
    json.end_object();
}
