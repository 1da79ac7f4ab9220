//! Reads and writes the settings of a request.

use super::super::items::{GrammarForm, write_grammar};
use super::{CACHE_CONTROL, Flavour, ThinkingMember};
use crate::json::{JsonWriter, Str};
use crate::ledger::Reason;
use crate::model::{
    CallKind, Field, Format, Reasoning, Request, SchemaFormat, Service, Tool, ToolChoice, Words,
};
use crate::tape::{TapeBuf, Val};
use crate::wire::backends::Capabilities;
use crate::wire::narrow::{Narrowing, ToolRules};
use crate::wire::profile::{FreeText, Profile};
use crate::wire::settings::{ChoiceWords, OfferedTools, SETTINGS_MARK, Setting, SettingForm, may_call};
use crate::wire::thinking::ThinkingPlan;
use crate::wire::{note_blanks, note_tag, settings};

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

/// The members of tools on servers where no tool takes plain text.
const WRAPPED_TOOLS: ToolRules =
    ToolRules { not_on_free_text: &[(Field::ToolSchema, Reason::NoSlot)], ..ToolRules::EVERYTHING };

/// Narrows the settings of a request to those of the server and the model.
pub(super) fn narrow(flavour: &Flavour, settings: &mut Narrowing<'_, '_, '_>) {
    let (asked, takes) = (settings.asked, settings.takes);
    settings.values(flavour.backend.settings);
    if asked.stream != Some(true) {
        settings.lose(Field::StreamUsage, Reason::Refused);
    } else if asked.stream_usage.is_none() {
        // Every other API streams usage by default.
        settings.note("usage in the stream asked for");
        settings.change().stream_usage = Some(true);
    }
    let plan = settings.thinking();
    let thinks = plan.thinks();
    narrow_thinking(plan, flavour, settings);
    // Search options are a member beside `tools`.
    let is_beside = takes.takes(Field::ToolService) && flavour.backend.own_tools.is_empty();
    let search = asked.tools.iter().find(|tool| is_beside && is_search(tool));
    let search = search.map(|tool| narrow_search(tool, settings));
    // The member holds one search.
    for further in asked.tools.iter().filter(|tool| is_beside && is_search(tool)).skip(1) {
        settings.lose_all_of(further, Reason::Merged);
    }
    settings.name_answer_schema();
    let wraps = flavour.backend.free_text == FreeText::Wrapped;
    let rules = if wraps { &WRAPPED_TOOLS } else { &ToolRules::EVERYTHING };
    settings.tools(rules, thinks, if search.is_some() { |tool| !is_search(tool) } else { |_| true });
    settings.allowed_tools(
        |choice| matches!(choice, Some(ToolChoice::Auto | ToolChoice::Required)),
        |tool| !(is_beside && is_search(tool)),
    );
    if let Some(search) = search {
        settings.change().tools.push(search);
    }
}

/// The thinking members of the server, beside the effort.
fn narrow_thinking<'a>(plan: ThinkingPlan<'a>, flavour: &Flavour, settings: &mut Narrowing<'_, 'a, '_>) {
    let Reasoning { effort, mode, budget, visibility: _ } = &settings.asked.reasoning;
    let mut word = None;
    match flavour.thinking {
        ThinkingMember::Switch => {
            let wants = effort.is_some() || mode.is_some() || budget.is_some();
            let is_on = settings.takes.thinking.adaptive && wants && plan.effort.is_none();
            word = if plan.off { Some("disabled") } else { is_on.then_some("enabled") };
            if mode.as_ref().is_some_and(|mode| word.is_none_or(|word| !mode.is(word))) {
                settings.lose(Field::ReasoningMode, Reason::Refused);
            }
        }
        ThinkingMember::Effort | ThinkingMember::Budget if plan.off => {
            settings.lose(Field::Effort, Reason::Refused);
            settings.note("this model cannot be told not to think");
        }
        ThinkingMember::Effort | ThinkingMember::Budget => {}
    }
    settings.set_reasoning(Reasoning {
        effort: plan.effort,
        mode: word.map(Str::escaped),
        budget: plan.budget.filter(|_| flavour.thinking == ThinkingMember::Budget),
        visibility: None,
    });
}

fn is_search(tool: &Tool<'_>) -> bool {
    tool.vendor_type.is_some() && tool.service == Some(Service::WebSearch)
}

fn narrow_search<'a>(search: &Tool<'a>, settings: &mut Narrowing<'_, 'a, '_>) -> Tool<'a> {
    let mut new = search.clone();
    if !search.vendor_type.as_ref().is_some_and(|own| own.is(WEB_SEARCH)) {
        settings.stand_in(search, &mut new, (WEB_SEARCH, "web_search"));
        settings.lose_of(search, Field::ToolKind, Reason::Narrowed);
    }
    new
}

/// Opens the request and writes every member before the messages.
pub(super) fn write(
    request: &Request<'_>,
    flavour: &Flavour,
    takes: &Capabilities,
    json: &mut JsonWriter<'_>,
) {
    json.object();
    settings::write(request, flavour.backend.settings, takes, json);
    if let Some(wanted) = request.stream_usage {
        json.key("stream_options").object().key("include_usage").bool(wanted).end_object();
    }
    let Reasoning { effort, mode, budget, visibility: _ } = &request.reasoning;
    json.opt_str("reasoning_effort", effort.as_ref());
    if let Some(word) = mode {
        json.key("thinking").object().key("type").str(word).end_object();
    }
    json.opt_raw("thinking_budget", budget.as_ref());
    let is_beside = |tool: &&Tool<'_>| tool.vendor_type.as_ref().is_some_and(|own| own.is(WEB_SEARCH));
    if let Some(search) = request.tools.iter().find(is_beside) {
        write_own_members(search, json.key(WEB_SEARCH).object());
        json.end_object();
    }
    write_format(request.format.as_ref(), json);
    let mut tools = request.tools.iter().filter(|tool| !is_beside(tool)).peekable();
    if tools.peek().is_some() {
        let mut tape = TapeBuf::default();
        json.key("tools").array();
        for tool in tools {
            write_tool(tool, flavour.backend, &mut tape, json);
        }
        json.end_array();
    }
    write_choice(request, flavour, json);
    json.opt_bool("parallel_tool_calls", request.parallel_calls).key("messages").array();
}

fn write_choice(request: &Request<'_>, flavour: &Flavour, json: &mut JsonWriter<'_>) {
    let Some(choice) = &request.tool_choice else { return };
    let offered = OfferedTools::of(&request.tools);
    let write_named = |name: &Str<'_>, json: &mut JsonWriter<'_>| {
        let kind = offered.get(name).map_or(CallKind::Function, |tool| tool.kind);
        let kind = tool_word(kind, flavour.backend);
        json.object().key("type").literal(kind).key(kind).object().key("name").str(name);
        json.end_object().end_object();
    };
    json.key("tool_choice");
    match (CHOICES.word(choice), choice) {
        (Some(word), _) if !request.allowed_tools.is_empty() => {
            json.object().key("type").literal("allowed_tools");
            json.key("allowed_tools").object().key("mode").literal(word).key("tools").array();
            for name in &request.allowed_tools {
                write_named(name, json);
            }
            json.end_array().end_object().end_object();
        }
        (_, ToolChoice::Named(name)) => write_named(name, json),
        (word, _) => _ = json.literal(word.unwrap_or(CHOICES.auto)),
    }
}

fn write_format(format: Option<&Format<'_>>, json: &mut JsonWriter<'_>) {
    let Some(format) = format else { return };
    json.key("response_format").object().key("type");
    match format {
        Format::Text => _ = json.literal("text"),
        Format::JsonObject => _ = json.literal("json_object"),
        Format::Schema(SchemaFormat { name, schema, description, strict }) => {
            json.literal("json_schema").key("json_schema").object().opt_str("name", name.as_ref());
            json.opt_str("description", description.as_ref());
            json.opt_bool("strict", *strict).key("schema").raw(schema).end_object();
        }
    }
    json.end_object();
}

fn write_tool(tool: &Tool<'_>, profile: &Profile, tape: &mut TapeBuf, json: &mut JsonWriter<'_>) {
    // Cache marks of tools have no field in this API; the table lists them as lost.
    #[rustfmt::skip]
    let Tool {
        kind, vendor_type, name, description, schema, strict, config: _, service: _, namespace: _,
        output_schema: _, grammar, deferred: _, cache: _,
    } = tool;
    if let Some(own_type) = vendor_type {
        json.object().key("type").str(own_type).key("function").object().key("name").str(name);
        write_own_members(tool, json);
        json.end_object().end_object();
        return;
    }
    let word = tool_word(*kind, profile);
    json.object().key("type").literal(word).key(word).object().key("name").str(name);
    json.opt_str("description", description.as_ref()).opt_raw("parameters", schema.as_ref());
    if let Some(grammar) = grammar {
        write_grammar(grammar, GrammarForm::Nested, tape, json.key("format"));
    }
    json.opt_bool("strict", *strict).end_object().end_object();
}

/// The `type` value of a tool.
fn tool_word(kind: CallKind, profile: &Profile) -> &'static str {
    let word = TOOLS.word(kind).filter(|_| profile.free_text == FreeText::Native);
    word.unwrap_or("function")
}

/// Writes the settings of a tool that the vendor itself provides.
fn write_own_members(tool: &Tool<'_>, json: &mut JsonWriter<'_>) {
    for (name, value) in &tool.config {
        json.key(name.as_escaped()).raw(value);
    }
}
