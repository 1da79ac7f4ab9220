//! Reads and writes the settings of a request.

use super::BACKEND;
use super::items::{GrammarForm, write_grammar};
use crate::json::Str;
use crate::ledger::Reason;
use crate::model::{CallKind, Field, Format, Reasoning, Request, SchemaFormat, Tool, ToolChoice, Words};
use crate::pipe::WriterOutput;
use crate::tape::{TapeBuf, Val};
use crate::wire::backends::Capabilities;
use crate::wire::schemas::{write_answer_schema, write_tool_schema};
use crate::wire::settings::{
    ChoiceWords, OfferedChoice, OfferedTools, Setting, SettingForm, lose_for_stand_in, may_call, write_tools,
};
use crate::wire::thinking::ThinkingPlan;
use crate::wire::{aliases, note_blanks, note_tag, settings};

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

/// Opens the request and writes every member before `instructions` and `input`.
pub(super) fn write(request: &Request<'_>, asker: Asker, takes: &Capabilities, out: &mut WriterOutput<'_>) {
    out.json.object();
    settings::write(request, &BACKEND, takes, out);
    if request.store.is_none() && asker == Asker::Other && takes.takes(Field::StoreAnswer) {
        out.ledger.note("the provider is told not to keep the answer, as other APIs do not");
        out.json.key("store").bool(false);
    }
    if request.stream_usage == Some(false) {
        out.lose(Field::StreamUsage, Reason::Narrowed);
    }
    match request.logprobs {
        Some(true) if !takes.takes(Field::Logprobs) => out.lose(Field::Logprobs, Reason::Refused),
        Some(true) => _ = out.json.key("include").array().literal(LOGPROBS).end_array(),
        Some(false) => out.lose(Field::Logprobs, Reason::Redundant),
        None => {}
    }
    let limit = settings::stated_limit(request, takes);
    let thinking = ThinkingPlan::new(&request.reasoning, limit, takes, out);
    write_reasoning(&request.reasoning, &thinking, out);
    let mut tape = TapeBuf::default();
    write_text(request, takes, &mut tape, out);
    let offered: Vec<&Tool<'_>> = request.tools.iter().filter(|tool| BACKEND.offers(tool)).collect();
    let (mut number, mut group) = (0, None);
    let OfferedChoice { word, tool, parallel, allowed } =
        write_tools(request, (&BACKEND, &CHOICES), (takes, thinking.thinks()), out, |tool, name, out| {
            if tool.namespace.is_some() && tool.namespace.as_ref() != group {
                open_group(tool, out);
            }
            group = offered.get(number).and_then(|tool| tool.namespace.as_ref());
            write_tool((tool, name), asker, takes, &mut tape, out);
            number += 1;
            let next = offered.get(number).and_then(|tool| tool.namespace.as_ref());
            if group.is_some() && next != group {
                out.json.end_array().end_object();
            }
        });
    match (word, tool) {
        (Some(word), _) if allowed && word != CHOICES.none => {
            out.json.key("tool_choice").object().key("type").literal("allowed_tools");
            out.json.key("mode").literal(word).key("tools").array();
            let offered = OfferedTools::of(&request.tools);
            for name in &request.allowed_tools {
                match offered.get(name) {
                    Some(tool) => write_named(tool, &aliases::alias(name, takes.tool_names), out),
                    None => out.lose_str(Field::AllowedTools, name, Reason::Refused),
                }
            }
            out.json.end_array().end_object();
        }
        (word, tool) => {
            if let Some(word) = word {
                out.json.key("tool_choice").literal(word);
            }
            match tool {
                Some((tool, name)) if can_be_named(tool) => {
                    out.json.key("tool_choice");
                    write_named(tool, &name, out);
                }
                // With a single tool, `required` selects it.
                Some(_) => {
                    let word = if offered.len() == 1 { CHOICES.required } else { CHOICES.auto };
                    out.ledger.note("a tool of the provider's own cannot be chosen by name");
                    if let Some(ToolChoice::Named(name)) = &request.tool_choice {
                        out.lose_str(Field::ToolChoice, name, Reason::Refused);
                    }
                    out.json.key("tool_choice").literal(word);
                }
                None => {}
            }
            for name in request.allowed_tools.iter().filter(|_| allowed) {
                out.lose_str(Field::AllowedTools, name, Reason::Redundant);
            }
        }
    }
    out.json.opt_bool("parallel_tool_calls", parallel);
}

/// Writes `reasoning`: the effort and the form of the summary.
fn write_reasoning(reasoning: &Reasoning<'_>, plan: &ThinkingPlan<'_>, out: &mut WriterOutput<'_>) {
    let shown = reasoning.visibility.as_ref().and_then(|visibility| {
        let own = SUMMARIES.iter().find(|word| visibility.is(word));
        if own.is_none() {
            out.lose_str(Field::ReasoningVisibility, visibility, Reason::Narrowed);
        }
        own.copied().or_else(|| visibility.is("summarized").then_some("auto"))
    });
    if plan.effort.is_none() && shown.is_none() {
        return;
    }
    out.json.key("reasoning").object();
    for (name, word) in [("effort", plan.effort), ("summary", shown)] {
        if let Some(word) = word {
            out.json.key(name).literal(word);
        }
    }
    out.json.end_object();
}

/// Writes `text`: the response format and the verbosity.
fn write_text(request: &Request<'_>, takes: &Capabilities, tape: &mut TapeBuf, out: &mut WriterOutput<'_>) {
    let verbosity = request.verbosity.as_ref().filter(|_| takes.takes(Field::Verbosity));
    if verbosity.is_none() {
        out.lose_some(Field::Verbosity, request.verbosity.as_ref(), Reason::Refused);
    }
    if request.format.is_none() && verbosity.is_none() {
        return;
    }
    out.json.key("text").object();
    if let Some(format) = &request.format {
        out.json.key("format").object().key("type");
        match format {
            Format::Text => _ = out.json.literal("text"),
            Format::JsonObject => _ = out.json.literal("json_object"),
            Format::Schema(SchemaFormat { name, schema, description, strict }) => {
                out.json.literal("json_schema").key("name");
                out.json.str(&name.clone().unwrap_or(Str::escaped("response")));
                out.json.opt_str("description", description.as_ref()).opt_bool("strict", *strict);
                out.json.key("schema");
                write_answer_schema(schema, takes.schemas, tape, out);
                if name.is_none() {
                    out.ledger.note("schema of the answer called `response`");
                }
            }
        }
        out.json.end_object();
    }
    out.json.opt_str("verbosity", verbosity).end_object();
}

/// Opens a group of tools. The group's name is its description: groups of other dialects have none, and a client's own
/// description is not read.
fn open_group(tool: &Tool<'_>, out: &mut WriterOutput<'_>) {
    let Some(namespace) = &tool.namespace else { return };
    out.ledger.note("group of tools described by its name");
    out.json.object().key("type").literal("namespace").key("name").str(namespace);
    out.json.key("description").str(namespace).key("tools").array();
}

fn write_tool(
    (tool, new): (&Tool<'_>, &Str<'_>),
    asker: Asker,
    takes: &Capabilities,
    tape: &mut TapeBuf,
    out: &mut WriterOutput<'_>,
) {
    // Cache marks of tools have no field in this API; the table lists them as lost.
    #[rustfmt::skip]
    let Tool {
        kind, vendor_type, name: _, description, schema, strict, config, service, namespace, output_schema,
        grammar, deferred, cache: _,
    } = tool;
    if let Some(own_type) = vendor_type {
        out.json.object().key("type");
        if BACKEND.own_type(own_type).is_some() {
            out.json.str(own_type);
            for (name, value) in config {
                out.json.key(name.as_escaped()).raw(value);
            }
        } else {
            let word = BACKEND.stand_in(*service).map_or("", |(word, _)| word);
            lose_for_stand_in(tool, out);
            out.json.literal(word);
            if word == "code_interpreter" {
                out.json.with_value(r#""container":{"type":"auto"}"#);
            }
        }
        out.json.end_object();
        lose_description(tool, out);
        return;
    }
    if *kind == CallKind::Vendor {
        out.lose_of(tool, Field::ToolKind, Reason::Narrowed);
    }
    for (_, value) in config {
        out.lose_raw(Field::ToolConfig, value, Reason::NoSlot);
    }
    let word = TOOLS.word(*kind).unwrap_or("function");
    out.json.object().key("type").literal(word).key("name").str(new);
    out.json.opt_str("description", description.as_ref());
    if *kind == CallKind::FreeText {
        if let Some(grammar) = grammar {
            write_grammar(grammar, GrammarForm::Flat, tape, out.json.key("format"));
        }
        out.json.opt_bool("defer_loading", *deferred);
        lose_raws(&[(Field::ToolSchema, schema), (Field::ToolOutputSchema, output_schema)], out);
        if strict.is_some() {
            out.lose_of(tool, Field::ToolStrict, Reason::NoSlot);
        }
    } else {
        out.json.key("parameters");
        write_tool_schema(schema.as_ref(), *strict, takes.schemas, tape, out);
        match strict {
            Some(strict) => _ = out.json.key("strict").bool(*strict),
            None if namespace.is_some() => {}
            None if asker == Asker::Own => _ = out.json.key("strict").null(),
            None => {
                out.ledger.note("tool said not to be strict, which here it would be");
                out.json.key("strict").bool(false);
            }
        }
        out.json.opt_raw("output_schema", output_schema.as_ref()).opt_bool("defer_loading", *deferred);
        lose_raws(&[(Field::ToolGrammar, grammar)], out);
    }
    out.json.end_object();
}

/// Books the description members as lost; the vendor's own tools do not have them.
fn lose_description(tool: &Tool<'_>, out: &mut WriterOutput<'_>) {
    let Tool { description, schema, strict, output_schema, grammar, deferred, .. } = tool;
    out.lose_some(Field::ToolDescription, description.as_ref(), Reason::Refused);
    lose_raws(
        &[
            (Field::ToolSchema, schema),
            (Field::ToolOutputSchema, output_schema),
            (Field::ToolGrammar, grammar),
        ],
        out,
    );
    for (field, flag) in [(Field::ToolStrict, strict), (Field::ToolDeferred, deferred)] {
        if flag.is_some() {
            out.lose_of(tool, field, Reason::Refused);
        }
    }
}

fn lose_raws(values: &[(Field, &Option<crate::json::Raw<'_>>)], out: &mut WriterOutput<'_>) {
    for (field, value) in values {
        if let Some(value) = value {
            out.lose_raw(*field, value, Reason::NoSlot);
        }
    }
}

/// Whether a tool choice can name the tool.
fn can_be_named(tool: &Tool<'_>) -> bool {
    let Some(vendor_type) = &tool.vendor_type else { return true };
    let own = BACKEND.own_type(vendor_type).map(|_| vendor_type.reborrow());
    let stand_in = || BACKEND.stand_in(tool.service).map(|(word, _)| Str::escaped(word));
    own.or_else(stand_in).is_some_and(|word| HOSTED_CHOICES.iter().any(|known| word.is(known)))
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

fn write_named(tool: &Tool<'_>, name: &Str<'_>, out: &mut WriterOutput<'_>) {
    out.json.object().key("type");
    match &tool.vendor_type {
        Some(own_type) if BACKEND.own_type(own_type).is_some() => _ = out.json.str(own_type),
        Some(_) => _ = out.json.literal(BACKEND.stand_in(tool.service).map_or("", |(word, _)| word)),
        None => {
            let word = TOOLS.word(tool.kind).unwrap_or("function");
            out.json.literal(word).key("name").str(name);
        }
    }
    out.json.end_object();
}
