//! The settings of a request, read and written.

use super::BACKEND;
use crate::blocks::CACHE;
use crate::json::{JsonWriter, Str};
use crate::ledger::Reason;
use crate::model::{CallKind, Field, Format, Reasoning, Request, SchemaFormat, Tool, ToolChoice};
use crate::tape::{Val, WantedNames};
use crate::wire::backends::Capabilities;
use crate::wire::narrow::{Narrowing, ToolRules};
use crate::wire::settings::{ChoiceWords, OfferedTools, SETTINGS_MARK, Setting, SettingForm, may_call};
use crate::wire::thinking::ThinkingPlan;
use crate::wire::{note_blanks, settings};

/// Settings that are a single value. The current API types omit sampling and newer models refuse it, but older clients
/// still send it: sampling is read and, by the support table of requests, never written.
pub(super) const SETTINGS: &[Setting] = &[
    Setting { names: &["model"], field: Field::RequestModel, how: SettingForm::AsIs },
    Setting { names: &["max_tokens"], field: Field::MaxTokens, how: SettingForm::AsIs },
    Setting { names: &["temperature"], field: Field::Temperature, how: SettingForm::AsIs },
    Setting { names: &["top_p"], field: Field::TopP, how: SettingForm::Between(0.0, 1.0) },
    Setting { names: &["top_k"], field: Field::TopK, how: SettingForm::Between(0.0, f64::MAX) },
    Setting { names: &["stop_sequences"], field: Field::StopTexts, how: SettingForm::AsIs },
    Setting { names: &["stream"], field: Field::StreamAnswer, how: SettingForm::AsIs },
    Setting {
        names: &["service_tier"],
        field: Field::ServiceTier,
        how: SettingForm::Words(&[("auto", "auto"), ("default", "standard_only")]),
    },
];

/// The API's longest end user id.
const USER: usize = 256;
/// Values of `tool_choice.type`, except for a named tool.
const CHOICES: ChoiceWords = ChoiceWords { auto: "auto", none: "none", required: "any" };
/// Values of `thinking.display`. Claude Code asks for `updates`.
const DISPLAYS: [&str; 3] = ["summarized", "omitted", "updates"];

/// Reads the settings.
pub(super) fn read(root: Val<'_>) -> Request<'_> {
    note_blanks(root);
    let mut request = settings::read(root, &BACKEND);
    let output = root.get("output_config");
    request.reasoning = reasoning(root, output);
    request.tools =
        root.get("tools").into_iter().flat_map(|tools| tools.elements()).filter_map(tool).collect();
    let choice = root.get("tool_choice");
    request.tool_choice = choice.and_then(|choice| tool_choice(choice, &request.tools));
    request.parallel_calls = choice
        .filter(|_| may_call(request.tool_choice.as_ref(), &request.tools))
        .and_then(|choice| choice.take_bool("disable_parallel_tool_use", Field::ParallelCalls))
        .map(|disabled| !disabled);
    // In the beta the format was at the top level, and clients still send it there.
    let format = output.and_then(|output| output.get("format")).or_else(|| root.get("output_format"));
    request.format = format.and_then(|format| {
        let kind = format.get("type").filter(|kind| kind.is("json_schema"))?;
        let schema = format.take_raw("schema", Field::FormatSchema)?;
        kind.note(Field::AnswerFormat);
        Some(Format::Schema(SchemaFormat::new(schema)))
    });
    request.user = root.get("metadata").and_then(|metadata| metadata.take_str("user_id", Field::EndUser));
    request.cache = root.get(CACHE.name).and_then(|mark| CACHE.read(mark, SETTINGS_MARK));
    request
}

/// Reads the reasoning settings. Disabled thinking maps to the lowest effort.
fn reasoning<'t>(root: Val<'t>, output: Option<Val<'t>>) -> Reasoning<'t> {
    let effort = output.and_then(|output| output.take_str("effort", Field::Effort));
    let Some(thinking) = root.get("thinking") else { return Reasoning { effort, ..Reasoning::default() } };
    match thinking.get("type").filter(|kind| kind.is("disabled")) {
        Some(kind) if effort.is_none() => {
            kind.note(Field::Effort);
            Reasoning { effort: Some(Str::escaped("none")), ..Reasoning::default() }
        }
        Some(_) => Reasoning { effort, ..Reasoning::default() },
        None => Reasoning {
            effort,
            mode: thinking.take_str("type", Field::ReasoningMode),
            budget: thinking.take_raw("budget_tokens", Field::ReasoningBudget),
            visibility: thinking.take_str("display", Field::ReasoningVisibility),
        },
    }
}

/// Reads a tool: described by the client, or of one of the vendor's own types.
fn tool(tool: Val<'_>) -> Option<Tool<'_>> {
    const MEMBERS: WantedNames<7> = WantedNames::new([
        "type",
        "name",
        CACHE.name,
        "description",
        "input_schema",
        "strict",
        "defer_loading",
    ]);
    let [kind, name, mark, description, schema, strict, deferred] = tool.find(&MEMBERS);
    let kind = kind.filter(|kind| !kind.is_null());
    let name = name?.take_text(Field::ToolName)?;
    let cache = mark.and_then(|mark| CACHE.read(mark, SETTINGS_MARK));
    if let Some(kind) = kind.filter(|kind| !kind.is("custom")) {
        let vendor_type = kind.take_text(Field::ToolType)?;
        let known = BACKEND.own_type(&vendor_type);
        let runs = known.map_or(CallKind::Vendor, |own| own.kind);
        let own = ["type", "name", CACHE.name];
        let config = tool.members().filter(|(member, _)| !own.iter().any(|own| member.is(own)));
        let config = config.map(|(member, value)| (member, value.take(Field::ToolConfig))).collect();
        let service = known.and_then(|own| own.service);
        return Some(Tool {
            vendor_type: Some(vendor_type),
            config,
            service,
            cache,
            ..Tool::new(runs, name)
        });
    }
    if let Some(kind) = kind {
        kind.note(Field::ToolKind);
    }
    Some(Tool {
        description: description.and_then(|text| text.take_text(Field::ToolDescription)),
        schema: schema.filter(|schema| !schema.is_null()).map(|schema| schema.take(Field::ToolSchema)),
        strict: strict.and_then(|strict| strict.bool().inspect(|_| _ = strict.take(Field::ToolStrict))),
        deferred: deferred.and_then(|flag| flag.bool().inspect(|_| _ = flag.take(Field::ToolDeferred))),
        cache,
        ..Tool::new(CallKind::Function, name)
    })
}

/// Reads the tool choice among known tools; a choice of any other tool is left unclaimed.
fn tool_choice<'t>(choice: Val<'t>, tools: &[Tool<'_>]) -> Option<ToolChoice<'t>> {
    let kind = choice.get("type").filter(|_| !tools.is_empty())?;
    if kind.is("tool") {
        let name = choice.get("name").filter(|name| OfferedTools::of(tools).has(*name))?;
        let name = name.take_text(Field::ToolChoice)?;
        // The choice is the name, so the type is structure.
        kind.note(Field::Structure);
        return Some(ToolChoice::Named(name));
    }
    CHOICES.read(&kind.str()?).inspect(|_| _ = kind.note(Field::ToolChoice))
}

/// The members that tools of this API do not have.
const TOOLS: ToolRules = ToolRules {
    not_on_own: &[
        (Field::ToolDescription, Reason::Refused),
        (Field::ToolSchema, Reason::Refused),
        (Field::ToolStrict, Reason::Refused),
        (Field::ToolDeferred, Reason::Refused),
    ],
    not_on_functions: &[(Field::ToolConfig, Reason::NoSlot)],
    not_on_free_text: &[(Field::ToolConfig, Reason::NoSlot), (Field::ToolSchema, Reason::NoSlot)],
    needs_schema: true,
    ..ToolRules::EVERYTHING
};

/// Narrows the settings of a request to those of the API and the model.
pub(super) fn narrow(settings: &mut Narrowing<'_, '_, '_>) {
    let (asked, takes) = (settings.asked, settings.takes);
    settings.values(SETTINGS);
    if asked.stream_usage == Some(false) {
        settings.lose(Field::StreamUsage, Reason::Narrowed);
    }
    let plan = settings.thinking();
    if settings.request.max_tokens.is_none() && takes.max_tokens_default.is_some() {
        settings.note("no output limit given: that of the backend's rules");
    }
    let thinks = plan.thinks();
    let thinks = narrow_thinking(plan, settings) || thinks;
    match &asked.format {
        // In this API a response always matches its schema.
        Some(Format::Schema(schema)) if schema.strict == Some(false) => {
            settings.lose_word(Field::FormatStrict, Reason::Narrowed);
        }
        Some(Format::Text) => {
            settings.lose_word(Field::AnswerFormat, Reason::Redundant);
            settings.change().format = None;
        }
        Some(Format::Schema(_) | Format::JsonObject) | None => {}
    }
    settings.answer_schema();
    if takes.takes(Field::EndUser) {
        settings.short_id(Field::EndUser, USER);
    } else {
        settings.lose(Field::EndUser, Reason::Refused);
    }
    if let Some(mark) = &asked.cache {
        settings.cache(mark);
    }
    settings.tools(&TOOLS, thinks, |_| true);
}

/// Narrows the reasoning settings; returns whether thinking is on. Only a budget selects `enabled`.
fn narrow_thinking<'a>(plan: ThinkingPlan<'a>, settings: &mut Narrowing<'_, 'a, '_>) -> bool {
    let takes = settings.takes;
    let Reasoning { effort: _, mode, budget: _, visibility } = &settings.asked.reasoning;
    let mode_is = |word: &str| mode.as_ref().is_some_and(|mode| mode.is(word));
    let mode_fits = mode_is("adaptive") || mode_is("between_tools");
    let word = match &plan.budget {
        _ if plan.off => Some("disabled"),
        Some(_) if !mode_fits => Some("enabled"),
        _ if mode_is("between_tools") && takes.thinking.adaptive => Some("between_tools"),
        // A model without budgets decides itself how much to think.
        _ if takes.thinking.adaptive && (mode.is_some() || visibility.is_some()) => Some("adaptive"),
        _ => None,
    };
    let has_budget = word == Some("enabled");
    if plan.budget.is_some() && !has_budget {
        settings.lose(Field::ReasoningBudget, Reason::Refused);
    }
    if word.is_none_or(|word| !mode_is(word)) {
        settings.lose(Field::ReasoningMode, Reason::Refused);
    }
    let is_on = word.is_some() && !plan.off;
    let display = visibility.as_ref().filter(|_| is_on);
    let own = display.and_then(|display| DISPLAYS.into_iter().find(|known| display.is(known)));
    // All summary lengths map to `summarized`.
    let is_summary = |display: &&Str<'_>| ["auto", "concise", "detailed"].iter().any(|word| display.is(word));
    let emulated = display.filter(is_summary).map(|_| DISPLAYS[0]);
    if own.is_none() {
        settings.lose(Field::ReasoningVisibility, Reason::Narrowed);
    }
    settings.set_reasoning(Reasoning {
        effort: plan.effort,
        mode: word.map(Str::escaped),
        budget: plan.budget.filter(|_| has_budget),
        visibility: own.or(emulated).map(Str::escaped),
    });
    is_on
}

/// The tokens for the answer beside a thinking budget, in a request without a limit.
const ANSWER_ROOM: u64 = 4096;

/// Opens the request and writes everything before `system` and `messages`.
pub(super) fn write(request: &Request<'_>, takes: &Capabilities, json: &mut JsonWriter<'_>) {
    json.object();
    settings::write(request, SETTINGS, takes, json);
    let Reasoning { effort, mode, budget, visibility } = &request.reasoning;
    if let Some(default) = takes.max_tokens_default.filter(|_| request.max_tokens.is_none()) {
        // Thinking counts toward the limit. The sum of the default and a budget can exceed the highest limit of a model,
        // so the default holds the budget if the answer keeps enough room.
        let thinking: u64 = budget.as_ref().and_then(|budget| budget.as_str().parse().ok()).unwrap_or(0);
        json.key("max_tokens").u64(default.max(thinking.saturating_add(default.min(ANSWER_ROOM))));
    }
    if let Some(word) = mode {
        json.key("thinking").object().key("type").str(word).opt_raw("budget_tokens", budget.as_ref());
        json.opt_str("display", visibility.as_ref()).end_object();
    }
    write_output(effort.as_ref(), request.format.as_ref(), json);
    if let Some(user) = &request.user {
        json.key("metadata").object().key("user_id").str(user).end_object();
    }
    if let Some(mark) = &request.cache {
        CACHE.write(mark, json);
    }
    if !request.tools.is_empty() {
        json.key("tools").array();
        for tool in &request.tools {
            write_tool(tool, json);
        }
        json.end_array();
    }
    write_choice(request, json);
}

fn write_choice(request: &Request<'_>, json: &mut JsonWriter<'_>) {
    let Request { tool_choice, parallel_calls, .. } = request;
    // Omit the API's defaults.
    if tool_choice.is_none() && parallel_calls.is_none() {
        return;
    }
    let choice = tool_choice.as_ref().unwrap_or(&ToolChoice::Auto);
    json.key("tool_choice").object().key("type").literal(CHOICES.word(choice).unwrap_or("tool"));
    if let ToolChoice::Named(name) = choice {
        json.key("name").str(name);
    }
    json.opt_bool("disable_parallel_tool_use", parallel_calls.map(|parallel| !parallel)).end_object();
}

/// Writes `output_config`: the effort and the response format.
fn write_output(effort: Option<&Str<'_>>, format: Option<&Format<'_>>, json: &mut JsonWriter<'_>) {
    let schema = match format {
        Some(Format::Schema(SchemaFormat { name: _, schema, description: _, strict: _ })) => Some(schema),
        // An instruction asks for any JSON object.
        Some(Format::JsonObject | Format::Text) | None => None,
    };
    if effort.is_none() && schema.is_none() {
        return;
    }
    json.key("output_config").object().opt_str("effort", effort);
    if let Some(schema) = schema {
        json.key("format").object().key("type").literal("json_schema").key("schema").raw(schema).end_object();
    }
    json.end_object();
}

fn write_tool(tool: &Tool<'_>, json: &mut JsonWriter<'_>) {
    // The API has no result schemas and no grammars; the support table lists both as lost.
    #[rustfmt::skip]
    let Tool {
        kind: _, vendor_type, name, description, schema, strict, config, service: _, namespace: _, output_schema: _,
        grammar: _, deferred, cache,
    } = tool;
    json.object().opt_str("type", vendor_type.as_ref()).key("name").str(name);
    for (name, value) in config {
        json.key(name.as_escaped()).raw(value);
    }
    json.opt_str("description", description.as_ref()).opt_bool("strict", *strict);
    json.opt_bool("defer_loading", *deferred).opt_raw("input_schema", schema.as_ref());
    if let Some(mark) = cache {
        CACHE.write(mark, json);
    }
    json.end_object();
}
