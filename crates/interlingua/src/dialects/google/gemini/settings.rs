//! Reads and writes the settings of a request. Most settings are in `generationConfig`, some are beside it.

use super::super::parts::either;
use super::schema::as_json_schema;
use super::{BACKEND, GENERATION};
use crate::json::{JsonBuffer, JsonWriter, Str};
use crate::ledger::Reason;
use crate::model::{CallKind, Field, Format, Reasoning, Request, SchemaFormat, Tool, ToolChoice};
use crate::tape::{Kind, Val};
use crate::wire::backends::Capabilities;
use crate::wire::narrow::{Narrowing, ToolRules};
use crate::wire::profile::OwnTool;
use crate::wire::settings::{ChoiceWords, OfferedTools, Setting, SettingForm};
use crate::wire::thinking::ThinkingPlan;
use crate::wire::{note_blanks, settings};

/// Settings in the request itself.
pub(super) const BESIDE: &[Setting] = &[
    Setting { names: &["model"], field: Field::RequestModel, how: SettingForm::AsIs },
    Setting {
        names: &["serviceTier", "service_tier"],
        field: Field::ServiceTier,
        how: SettingForm::Words(&[("default", "standard"), ("flex", "flex"), ("priority", "priority")]),
    },
    Setting { names: &["labels"], field: Field::Metadata, how: SettingForm::AsIs },
    Setting { names: &["store"], field: Field::StoreAnswer, how: SettingForm::AsIs },
];

/// Settings in `generationConfig`.
pub(super) const WITHIN: &[Setting] = &[
    Setting {
        names: &["maxOutputTokens", "max_output_tokens"],
        field: Field::MaxTokens,
        how: SettingForm::Between(1.0, 2_147_483_647.0),
    },
    Setting { names: &["temperature"], field: Field::Temperature, how: SettingForm::AsIs },
    Setting { names: &["topP", "top_p"], field: Field::TopP, how: SettingForm::Between(0.0, 1.0) },
    Setting {
        names: &["topK", "top_k"],
        field: Field::TopK,
        how: SettingForm::Between(1.0, 2_147_483_647.0),
    },
    Setting {
        names: &["seed"],
        field: Field::Seed,
        how: SettingForm::Between(-2_147_483_648.0, 2_147_483_647.0),
    },
    Setting {
        names: &["frequencyPenalty", "frequency_penalty"],
        field: Field::FrequencyPenalty,
        how: SettingForm::Between(-2.0, 2.0),
    },
    Setting {
        names: &["presencePenalty", "presence_penalty"],
        field: Field::PresencePenalty,
        how: SettingForm::Between(-2.0, 2.0),
    },
    Setting {
        names: &["responseLogprobs", "response_logprobs"],
        field: Field::Logprobs,
        how: SettingForm::AsIs,
    },
    Setting { names: &["logprobs"], field: Field::TopLogprobs, how: SettingForm::Between(0.0, 20.0) },
    Setting {
        names: &["candidateCount", "candidate_count"],
        field: Field::AnswerCount,
        how: SettingForm::Between(1.0, 8.0),
    },
    Setting { names: &["stopSequences", "stop_sequences"], field: Field::StopTexts, how: SettingForm::AsIs },
];

/// The values of `functionCallingConfig.mode`.
const CHOICES: ChoiceWords = ChoiceWords { auto: "AUTO", none: "NONE", required: "ANY" };
/// The mode in which calls are optional and must match their schemas.
const VALIDATED: &str = "VALIDATED";
/// The model's words for modalities, with the API's words.
const MODALITIES: [(&str, &str); 3] = [("text", "TEXT"), ("image", "IMAGE"), ("audio", "AUDIO")];
/// The model's words for effort, with the values of `thinkingLevel`.
const LEVELS: [(&str, &str); 4] =
    [("minimal", "MINIMAL"), ("low", "LOW"), ("medium", "MEDIUM"), ("high", "HIGH")];
/// The model's words for visible thoughts.
const SHOWN: [&str; 5] = ["summarized", "auto", "concise", "detailed", "updates"];
/// The model's word for no effort.
const OFF: &str = "none";
/// The model's word for hidden thoughts.
const HIDDEN: &str = "omitted";

/// Reads the settings of a request.
pub(super) fn read(root: Val<'_>) -> Request<'_> {
    note_blanks(root);
    let mut request = settings::read(root, &BACKEND);
    if let Some(config) = either(root, "generationConfig", "generation_config") {
        note_blanks(config);
        let beside = request;
        request = Request {
            model: beside.model,
            service_tier: beside.service_tier,
            metadata: beside.metadata,
            store: beside.store,
            ..settings::read(config, &GENERATION)
        };
        request.modalities = modalities(config);
        request.reasoning =
            either(config, "thinkingConfig", "thinking_config").map(reasoning).unwrap_or_default();
        request.format = format(config);
    }
    let tools = root.get("tools").into_iter();
    // A single tool is accepted in place of a list.
    let tools =
        tools.flat_map(|tools| tools.elements().chain(Some(tools).filter(|it| it.kind() == Kind::Object)));
    request.tools = tools.flat_map(read_tools).collect();
    let config = either(root, "toolConfig", "tool_config");
    let config = config.and_then(|config| either(config, "functionCallingConfig", "function_calling_config"));
    if let Some(config) = config.filter(|_| !request.tools.is_empty()) {
        read_choice(config, &mut request);
    }
    request
}

fn modalities(config: Val<'_>) -> Vec<Str<'_>> {
    let list = either(config, "responseModalities", "response_modalities").into_iter();
    let word = |val: Val<'_>| {
        let (ours, _) = MODALITIES.iter().find(|(_, theirs)| val.is(theirs))?;
        val.note(Field::Modalities);
        Some(Str::escaped(ours))
    };
    list.flat_map(|list| list.elements()).filter_map(word).collect()
}

/// Reads the reasoning settings. A budget of 0 is the effort `none`, and a budget of -1 leaves the budget to the model.
fn reasoning(config: Val<'_>) -> Reasoning<'_> {
    note_blanks(config);
    let mut reasoning = Reasoning::default();
    if let Some(level) = either(config, "thinkingLevel", "thinking_level")
        && let Some((ours, _)) = LEVELS.iter().find(|(ours, theirs)| level.is(theirs) || level.is(ours))
    {
        level.note(Field::Effort);
        reasoning.effort = Some(Str::escaped(ours));
    }
    if let Some(budget) = either(config, "thinkingBudget", "thinking_budget") {
        match budget.text() {
            "0" if reasoning.effort.is_none() => {
                budget.note(Field::Effort);
                reasoning.effort = Some(Str::escaped("none"));
            }
            "-1" => {
                budget.note(Field::ReasoningMode);
                reasoning.mode = Some(Str::escaped("adaptive"));
            }
            _ if budget.u64().is_some_and(|tokens| tokens > 0) => {
                reasoning.budget = Some(budget.take(Field::ReasoningBudget));
            }
            _ => {}
        }
    }
    let shown = either(config, "includeThoughts", "include_thoughts");
    if let Some((flag, shown)) = shown.and_then(|flag| Some((flag, flag.bool()?))) {
        flag.note(Field::ReasoningVisibility);
        reasoning.visibility = Some(Str::escaped(if shown { SHOWN[0] } else { HIDDEN }));
    }
    reasoning
}

fn format(config: Val<'_>) -> Option<Format<'_>> {
    let mime = either(config, "responseMimeType", "response_mime_type");
    let is = |word: &str| mime.is_none_or(|mime| mime.is(word));
    let schema = either(config, "responseJsonSchema", "response_json_schema")
        .filter(|schema| schema.kind() == Kind::Object)
        .map(|schema| (schema, schema.raw()))
        .or_else(|| {
            let schema = either(config, "responseSchema", "response_schema")?;
            Some((schema, as_json_schema(schema)))
        });
    let format = match schema {
        Some((val, schema)) if is("application/json") => {
            val.note(Field::FormatSchema);
            Format::Schema(SchemaFormat::new(schema))
        }
        None if mime.is_some() && is("application/json") => Format::JsonObject,
        None if mime.is_some() && is("text/plain") => Format::Text,
        // An enum of values, or a format that no other API has.
        Some(_) | None => return None,
    };
    mime.map(|mime| mime.note(Field::AnswerFormat));
    Some(format)
}

/// The functions in an entry of `tools`, and the vendor's own tools in the entry.
fn read_tools(entry: Val<'_>) -> Vec<Tool<'_>> {
    let mut tools = Vec::new();
    for (name, value) in entry.members() {
        if ["functionDeclarations", "function_declarations"].contains(&name.as_escaped()) {
            tools.extend(value.elements().filter_map(function));
        } else if value.kind() == Kind::Object
            && let Some(own) = own_tool(name.as_escaped())
        {
            let config: Vec<_> =
                value.members().map(|(name, value)| (name, value.take(Field::ToolConfig))).collect();
            if config.is_empty() {
                // The tool's name is a member name and not a leaf, so the empty object is claimed for the tool.
                value.note(if own.service.is_some() { Field::ToolService } else { Field::ToolKind });
            }
            tools.push(Tool {
                vendor_type: Some(Str::escaped(own.begins)),
                config,
                service: own.service,
                ..Tool::new(own.kind, name)
            });
        }
    }
    tools
}

/// The vendor's own tool with this member name, in either spelling.
fn own_tool(name: &str) -> Option<&'static OwnTool> {
    let spelled = |own: &&OwnTool| {
        let rest = own.begins.chars().try_fold(name, |rest, letter| {
            let small = |rest: &'_ str| {
                rest.strip_prefix('_')?.strip_prefix(letter.to_ascii_lowercase()).map(str::len)
            };
            let left = rest.strip_prefix(letter).map(str::len).or_else(|| small(rest))?;
            rest.get(rest.len() - left..)
        });
        rest == Some("")
    };
    BACKEND.own_tools.iter().find(spelled)
}

fn function(function: Val<'_>) -> Option<Tool<'_>> {
    let name = function.take_str("name", Field::ToolName)?;
    note_blanks(function);
    let schema = |json: (&str, &str), own: &str, field: Field| {
        let is_schema = |schema: &Val<'_>| schema.kind() == Kind::Object;
        if let Some(schema) = either(function, json.0, json.1).filter(is_schema) {
            return Some(schema.take(field));
        }
        let schema = function.get(own).filter(is_schema)?;
        // A schema in the API's own form is noted, because the model holds a converted copy.
        schema.note(field);
        Some(as_json_schema(schema))
    };
    Some(Tool {
        description: function.take_str("description", Field::ToolDescription),
        schema: schema(("parametersJsonSchema", "parameters_json_schema"), "parameters", Field::ToolSchema),
        output_schema: schema(
            ("responseJsonSchema", "response_json_schema"),
            "response",
            Field::ToolOutputSchema,
        ),
        ..Tool::new(CallKind::Function, name)
    })
}

/// Reads the tool choice. In the mode `VALIDATED` calls are optional and match their schemas.
fn read_choice<'t>(config: Val<'t>, request: &mut Request<'t>) {
    note_blanks(config);
    let Some(mode) = config.get("mode").filter(|mode| mode.kind() == Kind::String) else { return };
    let allowed = either(config, "allowedFunctionNames", "allowed_function_names");
    let allowed = || allowed.into_iter().flat_map(|names| names.elements());
    let offered = OfferedTools::of(&request.tools);
    let known = |name: &Val<'_>| offered.has(*name);
    if mode.is(CHOICES.required)
        && let Some(only) = allowed().next().filter(|_| allowed().nth(1).is_none()).filter(known)
    {
        mode.note(Field::Structure);
        request.tool_choice = only.take_text(Field::ToolChoice).map(ToolChoice::Named);
        return;
    }
    let names: Vec<Val<'_>> = allowed().filter(known).collect();
    request.allowed_tools = names.iter().filter_map(|name| name.take_text(Field::AllowedTools)).collect();
    if mode.is(VALIDATED) {
        mode.note(Field::ToolChoice);
        request.tool_choice = Some(ToolChoice::Auto);
        for tool in request.tools.iter_mut().filter(|tool| tool.vendor_type.is_none()) {
            tool.strict = Some(true);
        }
        return;
    }
    request.tool_choice =
        mode.str().and_then(|word| CHOICES.read(&word)).inspect(|_| _ = mode.note(Field::ToolChoice));
}

/// The members that tools of this API do not have.
const TOOLS: ToolRules = ToolRules {
    not_on_own: &[
        (Field::ToolDescription, Reason::Refused),
        (Field::ToolSchema, Reason::Refused),
        (Field::ToolOutputSchema, Reason::Refused),
        (Field::ToolStrict, Reason::Refused),
    ],
    not_on_stand_ins: &[(Field::ToolKind, Reason::Narrowed)],
    not_on_functions: &[(Field::ToolConfig, Reason::NoSlot)],
    not_on_free_text: &[(Field::ToolConfig, Reason::NoSlot), (Field::ToolSchema, Reason::NoSlot)],
    ..ToolRules::EVERYTHING
};

/// Narrows the settings of a request to those of the API and the model.
pub(super) fn narrow(settings: &mut Narrowing<'_, '_, '_>) {
    settings.values(BESIDE);
    let plan = settings.thinking();
    settings.values(WITHIN);
    settings.modalities(&MODALITIES);
    let thinks = plan.thinks();
    narrow_thinking(plan, settings);
    settings.answer_schema();
    if settings.tools(&TOOLS, thinks, |_| true) {
        narrow_choice(settings);
    }
}

/// A level or a budget, never both.
fn narrow_thinking<'a>(plan: ThinkingPlan<'a>, settings: &mut Narrowing<'_, 'a, '_>) {
    let takes = settings.takes;
    let Reasoning { effort: _, mode, budget: _, visibility } = &settings.asked.reasoning;
    let thinks = takes.thinking.budget || !takes.efforts.is_empty();
    let level = plan.effort.filter(|ours| LEVELS.iter().any(|(known, _)| ours.is(known)));
    if level.is_some() && plan.budget.is_some() {
        settings.lose(Field::ReasoningBudget, Reason::Refused);
    }
    let budget = plan.budget.filter(|_| level.is_none());
    let mode_is = |word: &str| mode.as_ref().is_some_and(|mode| mode.is(word));
    let auto =
        mode_is("adaptive") && takes.thinking.budget && level.is_none() && budget.is_none() && !plan.off;
    if !auto {
        // The mode has no field of its own beside level and budget.
        settings.lose(Field::ReasoningMode, Reason::Narrowed);
    }
    // The API has one form of summary, regardless of length.
    if visibility.as_ref().is_some_and(|word| !(word.is(SHOWN[0]) || word.is(HIDDEN))) {
        settings.narrowed(Field::ReasoningVisibility);
    }
    let shown = visibility.as_ref().map(|word| SHOWN.iter().any(|known| word.is(known)));
    let is_unasked = shown.is_none() && mode_is("enabled") && thinks && !plan.off;
    if is_unasked {
        settings.note("thoughts asked for, which others show unasked");
    }
    let shown = shown.or(is_unasked.then_some(true)).filter(|_| thinks);
    if shown.is_none() {
        settings.lose(Field::ReasoningVisibility, Reason::Refused);
    }
    if plan.off && !thinks {
        // A model without thinking needs no switch to disable it.
        settings.lose(Field::Effort, Reason::Redundant);
    }
    let off = (plan.off && thinks).then_some(OFF);
    settings.set_reasoning(Reasoning {
        effort: level.or(off.map(Str::escaped)),
        mode: mode.clone().filter(|_| auto),
        budget,
        visibility: shown.map(|shown| Str::escaped(if shown { SHOWN[0] } else { HIDDEN })),
    });
}

/// Only functions can be chosen. The API has no setting for parallel calls, and strictness is that of all functions together:
/// the mode `VALIDATED`.
fn narrow_choice(settings: &mut Narrowing<'_, '_, '_>) {
    let asked = settings.asked;
    let is_function = |tool: &Tool<'_>| tool.vendor_type.is_none();
    if let Some(ToolChoice::Named(name)) = &settings.request.tool_choice
        && !settings.request.tools.iter().any(|tool| is_function(tool) && tool.name == *name)
    {
        settings.lose_choice();
    }
    if settings.request.parallel_calls.is_some() {
        settings.lose(Field::ParallelCalls, Reason::NoSlot);
    }
    settings.allowed_tools(
        |choice| !matches!(choice, Some(ToolChoice::Named(_) | ToolChoice::None)),
        is_function,
    );
    let functions = || asked.tools.iter().filter(|tool| is_function(tool) && BACKEND.offers(tool));
    let all_strict = functions().next().is_some() && functions().all(|tool| tool.strict == Some(true));
    let choice = settings.request.tool_choice.as_ref();
    let forced = matches!(choice, Some(ToolChoice::Required | ToolChoice::Named(_)));
    let may_call = !forced && choice != Some(&ToolChoice::None);
    if may_call && !all_strict && !settings.request.allowed_tools.is_empty() {
        settings.note("calls held to their schemas, because the tools that may be used are named");
    }
    if may_call && all_strict {
        return;
    }
    for tool in functions().filter(|tool| tool.strict.is_some()) {
        // A required call matches its schema, strict or not.
        let redundant = forced && tool.strict == Some(true);
        let reason = if redundant { Reason::Redundant } else { Reason::NoSlot };
        settings.lose_of(tool, Field::ToolStrict, reason);
    }
    for tool in &mut settings.change().tools {
        tool.strict = None;
    }
}

/// Opens the request and writes every member before `systemInstruction` and `contents`.
pub(super) fn write(request: &Request<'_>, takes: &Capabilities, json: &mut JsonWriter<'_>) {
    json.object();
    settings::write(request, BESIDE, takes, json);
    let mut config = JsonBuffer::default();
    {
        let json = &mut config.hold();
        settings::write(request, WITHIN, takes, json);
        if !request.modalities.is_empty() {
            json.key("responseModalities").array();
            for word in &request.modalities {
                json.str(word);
            }
            json.end_array();
        }
        write_thinking(&request.reasoning, json);
        write_format(request.format.as_ref(), json);
    }
    if !config.bytes().is_empty() {
        json.key("generationConfig").object().values(config.bytes()).end_object();
    }
    write_tools(&request.tools, json);
    write_choice(request, json);
}

/// Writes `thinkingConfig`. A budget of 0 switches thinking off, and a budget of -1 leaves it to the model.
fn write_thinking(reasoning: &Reasoning<'_>, json: &mut JsonWriter<'_>) {
    if *reasoning == Reasoning::default() {
        return;
    }
    let Reasoning { effort, mode, budget, visibility } = reasoning;
    let shown = visibility.as_ref().map(|word| word.is(SHOWN[0]));
    json.key("thinkingConfig").object().opt_bool("includeThoughts", shown);
    let is_level = |ours: &str| effort.as_ref().is_some_and(|effort| effort.is(ours));
    if let Some((_, level)) = LEVELS.iter().find(|(ours, _)| is_level(ours)) {
        json.key("thinkingLevel").literal(level);
    }
    if let Some(budget) = budget {
        json.key("thinkingBudget").raw(budget);
    } else if is_level(OFF) {
        json.key("thinkingBudget").u64(0);
    } else if mode.is_some() {
        json.key("thinkingBudget").i64(-1);
    }
    json.end_object();
}

fn write_format(format: Option<&Format<'_>>, json: &mut JsonWriter<'_>) {
    let Some(format) = format else { return };
    json.key("responseMimeType");
    match format {
        Format::Text => _ = json.literal("text/plain"),
        Format::JsonObject => _ = json.literal("application/json"),
        Format::Schema(SchemaFormat { name: _, schema, description: _, strict: _ }) => {
            json.literal("application/json").key("responseJsonSchema").raw(schema);
        }
    }
}

/// Writes `tools`: all functions in one entry, as the enterprise API requires, and each of the vendor's own tools in a
/// separate entry, such as `{"googleSearch":{}}`.
fn write_tools(tools: &[Tool<'_>], json: &mut JsonWriter<'_>) {
    if tools.is_empty() {
        return;
    }
    json.key("tools").array();
    let mut functions = tools.iter().filter(|tool| tool.vendor_type.is_none()).peekable();
    if functions.peek().is_some() {
        json.object().key("functionDeclarations").array();
        for function in functions {
            write_function(function, json);
        }
        json.end_array().end_object();
    }
    for tool in tools {
        if let Some(vendor_type) = &tool.vendor_type {
            json.object().key(vendor_type.as_escaped()).object();
            for (name, value) in &tool.config {
                json.key(name.as_escaped()).raw(value);
            }
            json.end_object().end_object();
        }
    }
    json.end_array();
}

fn write_function(tool: &Tool<'_>, json: &mut JsonWriter<'_>) {
    // `toolConfig` holds strictness for all tools together. The other ignored members have no field in this API; the
    // table lists them as lost.
    #[rustfmt::skip]
    let Tool {
        kind: _, vendor_type: _, name, description, schema, strict: _, config: _, service: _, namespace: _,
        output_schema, grammar: _, deferred: _, cache: _,
    } = tool;
    json.object().key("name").str(name).opt_str("description", description.as_ref());
    json.opt_raw("parametersJsonSchema", schema.as_ref());
    json.opt_raw("responseJsonSchema", output_schema.as_ref()).end_object();
}

/// Writes `toolConfig`.
fn write_choice(request: &Request<'_>, json: &mut JsonWriter<'_>) {
    let Request { tools, tool_choice, allowed_tools, .. } = request;
    let is_strict = !allowed_tools.is_empty() || tools.iter().any(|tool| tool.strict == Some(true));
    let word = match tool_choice {
        None | Some(ToolChoice::Auto) if is_strict => VALIDATED,
        Some(choice) => CHOICES.word(choice).unwrap_or(CHOICES.required),
        None => return,
    };
    json.key("toolConfig").object().key("functionCallingConfig").object().key("mode").literal(word);
    let only = if let Some(ToolChoice::Named(name)) = tool_choice { Some(name) } else { None };
    let mut names = only.into_iter().chain(allowed_tools).peekable();
    if names.peek().is_some() {
        json.key("allowedFunctionNames").array();
        for name in names {
            json.str(name);
        }
        json.end_array();
    }
    json.end_object().end_object();
}
