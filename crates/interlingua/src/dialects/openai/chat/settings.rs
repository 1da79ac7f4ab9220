//! Reads and writes the settings of a request.

use super::super::items::{GrammarForm, write_grammar};
use super::{CACHE_CONTROL, Flavour, ThinkingMember};
use crate::json::{Raw, Str};
use crate::ledger::Reason;
use crate::model::{
    CallKind, Field, Format, Reasoning, Request, SchemaFormat, Service, Tool, ToolChoice, Words,
};
use crate::pipe::WriterOutput;
use crate::tape::{TapeBuf, Val};
use crate::wire::backends::Capabilities;
use crate::wire::profile::{FreeText, Profile};
use crate::wire::schemas::write_tool_schema;
use crate::wire::settings::{
    ChoiceWords, OfferedChoice, OfferedTools, SETTINGS_MARK, Setting, SettingForm, lose_for_stand_in,
    may_call, write_tools,
};
use crate::wire::thinking::ThinkingPlan;
use crate::wire::{aliases, note_blanks, note_tag, settings};

/// Settings with a single value.
pub(in super::super) const SETTINGS: &[Setting] = &[
    Setting { names: &["model"], field: Field::RequestModel, how: SettingForm::AsIs },
    // The second name is that of 2023.
    Setting {
        names: &["max_completion_tokens", "max_tokens"],
        field: Field::MaxTokens,
        how: SettingForm::AsIs,
    },
    Setting { names: &["temperature"], field: Field::Temperature, how: SettingForm::AsIs },
    Setting { names: &["top_p"], field: Field::TopP, how: SettingForm::Between(0.0, 1.0) },
    Setting {
        names: &["frequency_penalty"],
        field: Field::FrequencyPenalty,
        how: SettingForm::Between(-2.0, 2.0),
    },
    Setting {
        names: &["presence_penalty"],
        field: Field::PresencePenalty,
        how: SettingForm::Between(-2.0, 2.0),
    },
    // OpenAI's own server has no `top_k`; `random_seed` is Mistral's name.
    Setting { names: &["top_k"], field: Field::TopK, how: SettingForm::AsIs },
    Setting { names: &["seed", "random_seed"], field: Field::Seed, how: SettingForm::AsIs },
    Setting { names: &["logprobs"], field: Field::Logprobs, how: SettingForm::AsIs },
    Setting { names: &["top_logprobs"], field: Field::TopLogprobs, how: SettingForm::Between(0.0, 20.0) },
    Setting { names: &["n"], field: Field::AnswerCount, how: SettingForm::Between(1.0, 128.0) },
    Setting { names: &["stop"], field: Field::StopTexts, how: SettingForm::AsIs },
    Setting { names: &["store"], field: Field::StoreAnswer, how: SettingForm::AsIs },
    Setting { names: &["stream"], field: Field::StreamAnswer, how: SettingForm::AsIs },
    Setting { names: &["verbosity"], field: Field::Verbosity, how: SettingForm::AsIs },
    Setting { names: &["modalities"], field: Field::Modalities, how: SettingForm::AsIs },
    Setting { names: &["user", "safety_identifier"], field: Field::EndUser, how: SettingForm::ShortId(64) },
    Setting {
        names: &["service_tier"],
        field: Field::ServiceTier,
        how: SettingForm::OwnWords(&["auto", "default", "flex", "scale", "priority", "fast"]),
    },
    Setting { names: &["metadata"], field: Field::Metadata, how: SettingForm::Pairs(super::super::METADATA) },
    Setting { names: &["prompt_cache_key"], field: Field::CacheKey, how: SettingForm::ShortId(64) },
];

/// The values of a tool's `type`.
const TOOLS: Words<CallKind> = Words(&[(CallKind::Function, "function"), (CallKind::FreeText, "custom")]);

/// The values of `tool_choice`.
const CHOICES: ChoiceWords = ChoiceWords { auto: "auto", none: "none", required: "required" };

/// Reads the settings of a request.
pub(super) fn read<'t>(root: Val<'t>, flavour: &Flavour) -> Request<'t> {
    note_blanks(root);
    let mut request = settings::read(root, flavour.backend);
    if let Some(options) = root.get("stream_options").filter(|_| request.stream == Some(true)) {
        request.stream_usage = options.take_bool("include_usage", Field::StreamUsage);
    }
    // The members of 2023, `functions` and `function_call`, have the same meaning and fewer options.
    let list = |name| root.get(name).into_iter().flat_map(|list: Val<'_>| list.elements());
    let of_2023 = |inner| named(inner, CallKind::Function);
    request.tools = list("tools")
        .filter_map(|tool| read_tool(tool, flavour))
        .chain(list("functions").filter_map(of_2023))
        .collect();
    request.tools.extend(root.get("web_search_options").map(web_search));
    request.reasoning = reasoning(root);
    let choice = root.get("tool_choice").or_else(|| root.get("function_call"));
    let choice = match choice.and_then(|choice| choice.get("allowed_tools")) {
        Some(allowed) => {
            request.allowed_tools = allowed_tools(allowed, &request.tools);
            allowed.get("mode")
        }
        None => choice,
    };
    request.tool_choice = choice.and_then(|choice| tool_choice(choice, &request.tools));
    if may_call(request.tool_choice.as_ref(), &request.tools) {
        request.parallel_calls = root.take_bool("parallel_tool_calls", Field::ParallelCalls);
    }
    // The format is read last, because a writer that does not support it looks for the last claim.
    request.format = root.get("response_format").and_then(format);
    request
}

/// Reads the reasoning settings. OpenAI has an effort; gateways and other vendors have a switch, a budget, or an object
/// with both.
fn reasoning(root: Val<'_>) -> Reasoning<'_> {
    let mut asked =
        Reasoning { effort: root.take_str("reasoning_effort", Field::Effort), ..Reasoning::default() };
    let switch = |flag: Option<Val<'_>>, asked: &mut Reasoning<'_>| {
        let Some((flag, on)) = flag.and_then(|flag| Some((flag, flag.bool()?))) else { return };
        if on && asked.mode.is_none() {
            flag.note(Field::ReasoningMode);
            asked.mode = Some(Str::escaped("enabled"));
        } else if !on && asked.effort.is_none() {
            flag.note(Field::Effort);
            asked.effort = Some(Str::escaped("none"));
        }
    };
    if let Some(gateway) = root.get("reasoning") {
        asked.effort = asked.effort.or_else(|| gateway.take_str("effort", Field::Effort));
        asked.budget = gateway.take_raw("max_tokens", Field::ReasoningBudget);
        switch(gateway.get("enabled"), &mut asked);
        if let Some(hidden) = gateway.get("exclude").filter(|it| it.bool() == Some(true)) {
            hidden.note(Field::ReasoningVisibility);
            asked.visibility = Some(Str::escaped("omitted"));
        }
    }
    if let Some(thinking) = root.get("thinking") {
        asked.effort = asked.effort.or_else(|| thinking.take_str("effort", Field::Effort));
        match thinking.get("type") {
            Some(kind) if kind.is("disabled") => {
                if asked.effort.is_none() {
                    kind.note(Field::Effort);
                    asked.effort = Some(Str::escaped("none"));
                }
            }
            Some(kind) if asked.mode.is_none() => asked.mode = kind.take_text(Field::ReasoningMode),
            Some(_) | None => {}
        }
        let budget = || thinking.take_raw("budget_tokens", Field::ReasoningBudget);
        asked.budget = asked.budget.or_else(budget);
    }
    switch(root.get("enable_thinking"), &mut asked);
    asked.budget = asked.budget.or_else(|| root.take_raw("thinking_budget", Field::ReasoningBudget));
    asked
}

/// The request member for models with built-in web search.
const WEB_SEARCH: &str = "web_search_options";

/// Reads web search as a tool; the search options become the tool's configuration.
fn web_search(options: Val<'_>) -> Tool<'_> {
    let config: Vec<_> =
        options.members().map(|(name, value)| (name, value.take(Field::ToolConfig))).collect();
    if config.is_empty() {
        options.note(Field::ToolType);
    }
    Tool {
        vendor_type: Some(Str::escaped(WEB_SEARCH)),
        service: Some(Service::WebSearch),
        config,
        ..Tool::new(CallKind::Server, Str::escaped("web_search"))
    }
}

/// Reads a tool. A tool without `type` is a function. Unknown tool types stay unclaimed.
fn read_tool<'t>(tool: Val<'t>, flavour: &Flavour) -> Option<Tool<'t>> {
    let word = tool.get("type").and_then(|kind| kind.str()).unwrap_or(Str::escaped("function"));
    if let Some(own) = flavour.backend.own_type(&word) {
        let inner = tool.get("function")?;
        let name = inner.take_str("name", Field::ToolName)?;
        let config = inner.members().filter(|(member, _)| !member.is("name"));
        let config = config.map(|(member, value)| (member, value.take(Field::ToolConfig))).collect();
        return Some(Tool {
            vendor_type: tool.take_str("type", Field::ToolType),
            service: own.service.filter(|_| own.stands_in.is_some_and(|(_, known)| name.is(known))),
            config,
            ..Tool::new(own.kind, name)
        });
    }
    let kind = TOOLS.value(&word)?;
    let mut offered = named(tool.get(TOOLS.word(kind)?)?, kind)?;
    tool.note_str("type", Field::ToolKind);
    offered.cache = tool.get(CACHE_CONTROL.name).and_then(|mark| CACHE_CONTROL.read(mark, SETTINGS_MARK));
    Some(offered)
}

fn named(inner: Val<'_>, kind: CallKind) -> Option<Tool<'_>> {
    let name = inner.take_str("name", Field::ToolName)?;
    note_blanks(inner);
    Some(Tool {
        description: inner.take_str("description", Field::ToolDescription),
        schema: inner.take_raw("parameters", Field::ToolSchema),
        strict: inner.take_bool("strict", Field::ToolStrict),
        grammar: inner
            .get("format")
            .filter(|_| kind == CallKind::FreeText)
            .map(|it| it.take(Field::ToolGrammar)),
        ..Tool::new(kind, name)
    })
}

/// The names of the allowed tools.
fn allowed_tools<'t>(allowed: Val<'t>, tools: &[Tool<'_>]) -> Vec<Str<'t>> {
    let mut names = Vec::new();
    let offered = OfferedTools::of(tools);
    for tool in allowed.get("tools").into_iter().flat_map(|tools| tools.elements()) {
        let inner = tool.get("function").or_else(|| tool.get("custom"));
        let name = inner.and_then(|inner| inner.get("name")).filter(|name| offered.has(*name));
        if let Some(name) = name.and_then(|name| name.take_text(Field::AllowedTools)) {
            note_tag(tool, "type", &["function", "custom"]);
            names.push(name);
        }
    }
    names
}

/// Reads the tool choice. A choice that names an unknown tool stays unclaimed.
fn tool_choice<'t>(choice: Val<'t>, tools: &[Tool<'_>]) -> Option<ToolChoice<'t>> {
    if let Some(word) = choice.str().filter(|_| !tools.is_empty()) {
        // The value `any` of Mistral and Anthropic.
        let any = Some(ToolChoice::Required).filter(|_| word.is("any"));
        return CHOICES.read(&word).or(any).inspect(|_| _ = choice.note(Field::ToolChoice));
    }
    // `function_call` holds the name directly.
    let (kind, inner) = match (choice.get("function"), choice.get("custom")) {
        (Some(inner), _) => ("function", inner),
        (None, Some(inner)) => ("custom", inner),
        (None, None) => ("function", choice),
    };
    let name = inner.get("name").filter(|name| OfferedTools::of(tools).has(*name))?;
    let name = name.take_text(Field::ToolChoice)?;
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
            Format::Schema(SchemaFormat {
                name: inner.take_str("name", Field::FormatName),
                schema,
                description: inner.take_str("description", Field::FormatDescription),
                strict: inner.take_bool("strict", Field::FormatStrict),
            })
        }
        _ => return None,
    };
    kind.note(Field::AnswerFormat);
    Some(parsed)
}

/// Opens the request and writes every member before the messages.
pub(super) fn write(
    request: &Request<'_>,
    flavour: &Flavour,
    takes: &Capabilities,
    out: &mut WriterOutput<'_>,
) {
    out.json.object();
    settings::write(request, flavour.backend, takes, out);
    if request.stream == Some(true) {
        // Every other API streams usage by default.
        let wanted = request.stream_usage.unwrap_or_else(|| {
            out.ledger.note("usage in the stream asked for");
            true
        });
        out.json.key("stream_options").object().key("include_usage").bool(wanted).end_object();
    } else if request.stream_usage.is_some() {
        out.lose(Field::StreamUsage, Reason::Refused);
    }
    let limit = settings::stated_limit(request, takes);
    let thinking = ThinkingPlan::new(&request.reasoning, limit, takes, out);
    if let Some(effort) = thinking.effort {
        out.json.key("reasoning_effort").literal(effort);
    }
    write_thinking(&request.reasoning, &thinking, flavour, takes, out);
    // Search options are a member beside `tools`.
    let without_search;
    let request = match request.tools.iter().find(|tool| is_search(tool)) {
        Some(search) if takes.takes(Field::ToolService) && flavour.backend.own_tools.is_empty() => {
            write_search(search, out);
            let mut rest = request.clone();
            rest.tools.retain(|tool| !is_search(tool));
            without_search = rest;
            &without_search
        }
        _ => request,
    };
    write_format(request.format.as_ref(), out);
    let mut tape = TapeBuf::default();
    let OfferedChoice { word, tool, parallel, allowed } = write_tools(
        request,
        (flavour.backend, &CHOICES),
        (takes, thinking.thinks()),
        out,
        |tool, name, out| {
            write_tool((tool, name), flavour.backend, (takes, &mut tape), out);
        },
    );
    let write_named = |tool: &Tool<'_>, name: &Str<'_>, out: &mut WriterOutput<'_>| {
        let kind = tool_word(tool.kind, flavour.backend);
        out.json.object().key("type").literal(kind).key(kind).object().key("name").str(name);
        out.json.end_object().end_object();
    };
    match (word, tool) {
        (Some(word), _) if allowed && word != CHOICES.none => {
            out.json.key("tool_choice").object().key("type").literal("allowed_tools");
            out.json.key("allowed_tools").object().key("mode").literal(word).key("tools").array();
            let offered = OfferedTools::of(&request.tools);
            for name in &request.allowed_tools {
                match offered.get(name) {
                    Some(tool) => write_named(tool, &aliases::sent_name(tool, takes.tool_names), out),
                    None => out.lose_str(Field::AllowedTools, name, Reason::Refused),
                }
            }
            out.json.end_array().end_object().end_object();
        }
        (word, tool) => {
            if let Some(word) = word {
                out.json.key("tool_choice").literal(word);
            }
            if let Some((tool, name)) = tool {
                out.json.key("tool_choice");
                write_named(tool, &name, out);
            }
            if allowed {
                for name in &request.allowed_tools {
                    out.lose_str(Field::AllowedTools, name, Reason::Redundant);
                }
            }
        }
    }
    out.json.opt_bool("parallel_tool_calls", parallel).key("messages").array();
}

/// Writes the thinking members beside the effort.
fn write_thinking(
    asked: &Reasoning<'_>,
    plan: &ThinkingPlan<'_>,
    flavour: &Flavour,
    takes: &Capabilities,
    out: &mut WriterOutput<'_>,
) {
    let Reasoning { effort, mode, budget, visibility: _ } = asked;
    match flavour.thinking {
        ThinkingMember::Switch => {
            let can_switch = takes.thinking.adaptive;
            let wants = effort.is_some() || mode.is_some() || budget.is_some();
            let word = match (plan.off, can_switch && wants && plan.effort.is_none()) {
                (true, _) => "disabled",
                (false, true) => "enabled",
                (false, false) => "",
            };
            out.lose_some(Field::ReasoningMode, mode.as_ref().filter(|mode| !mode.is(word)), Reason::Refused);
            if !word.is_empty() {
                out.json.key("thinking").object().key("type").literal(word).end_object();
            }
        }
        ThinkingMember::Effort | ThinkingMember::Budget if plan.off => {
            out.lose_some(Field::Effort, effort.as_ref(), Reason::Refused);
            out.ledger.note("this model cannot be told not to think");
        }
        ThinkingMember::Budget => _ = out.json.opt_raw("thinking_budget", plan.budget.as_ref()),
        ThinkingMember::Effort => {}
    }
}

fn is_search(tool: &Tool<'_>) -> bool {
    tool.vendor_type.is_some() && tool.service == Some(Service::WebSearch)
}

fn write_search(search: &Tool<'_>, out: &mut WriterOutput<'_>) {
    out.json.key(WEB_SEARCH).object();
    if search.vendor_type.as_ref().is_some_and(|own| own.is(WEB_SEARCH)) {
        for (name, value) in &search.config {
            out.json.key(name.as_escaped()).raw(value);
        }
    } else {
        lose_for_stand_in(search, out);
        out.lose_of(search, Field::ToolKind, Reason::Narrowed);
    }
    out.json.end_object();
}

fn write_format(format: Option<&Format<'_>>, out: &mut WriterOutput<'_>) {
    let Some(format) = format else { return };
    let json = out.json.key("response_format").object().key("type");
    match format {
        Format::Text => _ = json.literal("text"),
        Format::JsonObject => _ = json.literal("json_object"),
        Format::Schema(SchemaFormat { name, schema, description, strict }) => {
            json.literal("json_schema").key("json_schema").object();
            json.key("name").str(&name.clone().unwrap_or(Str::escaped("response")));
            json.opt_str("description", description.as_ref());
            json.opt_bool("strict", *strict).key("schema").raw(schema).end_object();
            if name.is_none() {
                out.ledger.note("schema of the answer called `response`");
            }
        }
    }
    out.json.end_object();
}

fn write_tool(
    (tool, new): (&Tool<'_>, &Str<'_>),
    profile: &Profile,
    (takes, tape): (&Capabilities, &mut TapeBuf),
    out: &mut WriterOutput<'_>,
) {
    if tool.vendor_type.is_some() {
        return write_own(tool, profile, out);
    }
    // Cache marks of tools have no field in this API; the table lists them as lost.
    #[rustfmt::skip]
    let Tool {
        kind, vendor_type: _, name: _, description, schema, strict, config: _, service: _, namespace: _,
        output_schema: _, grammar, deferred: _, cache: _,
    } = tool;
    if *kind == CallKind::Vendor {
        out.lose_of(tool, Field::ToolKind, Reason::Narrowed);
    }
    let word = tool_word(*kind, profile);
    let json = &mut out.json;
    json.object().key("type").literal(word).key(word).object().key("name").str(new);
    json.opt_str("description", description.as_ref());
    if *kind == CallKind::FreeText && profile.free_text == FreeText::Wrapped {
        if let Some(schema) = schema {
            out.lose_raw(Field::ToolSchema, schema, Reason::NoSlot);
        }
        out.ledger.note("free-text tool offered as a function with the member `input`");
        out.json.key("parameters").raw(&Raw::new(FREE_TEXT));
    } else {
        if schema.is_some() {
            json.key("parameters");
            write_tool_schema(schema.as_ref(), *strict, takes.schemas, tape, out);
        }
        if let Some(grammar) = grammar {
            write_grammar(grammar, GrammarForm::Nested, tape, out.json.key("format"));
        }
    }
    out.json.opt_bool("strict", *strict).end_object().end_object();
}

/// The schema of a free-text tool for servers whose tools take only objects.
const FREE_TEXT: &str = r#"{"type":"object","properties":{"input":{"type":"string"}},"required":["input"]}"#;

/// The `type` value of a tool.
fn tool_word(kind: CallKind, profile: &Profile) -> &'static str {
    let word = TOOLS.word(kind).filter(|_| profile.free_text == FreeText::Native);
    word.unwrap_or("function")
}

/// Writes a tool that the vendor itself provides.
fn write_own(tool: &Tool<'_>, profile: &Profile, out: &mut WriterOutput<'_>) {
    let Some((kind, name)) = profile.own_tool(tool) else { return };
    let is_own = tool.vendor_type.as_ref().is_some_and(|own| *own == kind);
    if !is_own {
        lose_for_stand_in(tool, out);
    }
    out.json.object().key("type").str(&kind).key("function").object().key("name").str(&name);
    for (name, value) in tool.config.iter().filter(|_| is_own) {
        out.json.key(name.as_escaped()).raw(value);
    }
    out.json.end_object().end_object();
}
