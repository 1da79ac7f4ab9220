//! Reads and writes the settings of a request. Most settings are in `generationConfig`, some are beside it.

use super::super::parts::either;
use super::schema::as_json_schema;
use super::{BACKEND, GENERATION};
use crate::json::{JsonBuffer, Raw, Str};
use crate::ledger::Reason;
use crate::model::{CallKind, Field, Format, Reasoning, Request, SchemaFormat, Tool, ToolChoice};
use crate::pipe::WriterOutput;
use crate::tape::{Kind, TapeBuf, Val};
use crate::wire::backends::Capabilities;
use crate::wire::profile::OwnTool;
use crate::wire::schemas::{write_answer_schema, write_tool_schema};
use crate::wire::settings::{
    ChoiceWords, OfferedChoice, OfferedTools, Setting, SettingForm, lose_for_stand_in, write_tools,
};
use crate::wire::thinking::ThinkingPlan;
use crate::wire::{aliases, note_blanks, settings};

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
const SHOWN: [&str; 4] = ["summarized", "auto", "concise", "detailed"];
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

/// Opens the request and writes every member before `systemInstruction` and `contents`.
pub(super) fn write(request: &Request<'_>, takes: &Capabilities, out: &mut WriterOutput<'_>) {
    out.json.object();
    settings::write(request, &BACKEND, takes, out);
    let limit = settings::stated_limit(request, takes);
    let thinking = ThinkingPlan::new(&request.reasoning, limit, takes, out);
    let mut config = JsonBuffer::default();
    {
        let out = &mut out.redirected(config.hold());
        settings::write(request, &GENERATION, takes, out);
        write_modalities(&request.modalities, out);
        write_thinking(&request.reasoning, &thinking, takes, out);
        write_format(request.format.as_ref(), takes, out);
    }
    if !config.bytes().is_empty() {
        out.json.key("generationConfig").object().values(config.bytes()).end_object();
    }
    write_all_tools(request, takes, thinking.thinks(), out);
}

fn write_modalities(modalities: &[Str<'_>], out: &mut WriterOutput<'_>) {
    let word = |ours: &Str<'_>| MODALITIES.iter().find(|(known, _)| ours.is(known)).map(|(_, word)| *word);
    for odd in modalities.iter().filter(|ours| word(ours).is_none()) {
        out.lose_str(Field::Modalities, odd, Reason::Narrowed);
    }
    if modalities.iter().any(|ours| word(ours).is_some()) {
        out.json.key("responseModalities").array();
        for word in modalities.iter().filter_map(word) {
            out.json.literal(word);
        }
        out.json.end_array();
    }
}

/// Writes `thinkingConfig`: a level or a budget, never both.
fn write_thinking(
    reasoning: &Reasoning<'_>,
    plan: &ThinkingPlan<'_>,
    takes: &Capabilities,
    out: &mut WriterOutput<'_>,
) {
    let Reasoning { effort: _, mode, budget: _, visibility } = reasoning;
    let thinks = takes.thinking.budget || !takes.efforts.is_empty();
    let level = plan.effort.and_then(|ours| LEVELS.iter().find(|(known, _)| *known == ours));
    let budget = plan.budget.as_ref().filter(|_| level.is_none());
    if let Some(unsaid) = plan.budget.as_ref().filter(|_| level.is_some()) {
        out.lose_raw(Field::ReasoningBudget, unsaid, Reason::Refused);
    }
    let mode_is = |word: &str| mode.as_ref().is_some_and(|mode| mode.is(word));
    let auto =
        mode_is("adaptive") && takes.thinking.budget && level.is_none() && budget.is_none() && !plan.off;
    if !auto {
        // The mode has no field of its own beside level and budget.
        out.lose_some(Field::ReasoningMode, mode.as_ref(), Reason::Narrowed);
    }
    let shown = visibility.as_ref().map(|word| {
        let known = |words: &[&str]| words.iter().any(|known| word.is(known));
        // The API has one form of summary, regardless of length.
        if !(word.is(SHOWN[0]) || word.is(HIDDEN)) {
            out.lose_str(Field::ReasoningVisibility, word, Reason::Narrowed);
        }
        known(&SHOWN)
    });
    let asks_unsaid = shown.is_none() && mode_is("enabled") && thinks && !plan.off;
    if asks_unsaid {
        out.ledger.note("thoughts asked for, which others show unasked");
    }
    let shown = shown.or(asks_unsaid.then_some(true)).filter(|_| thinks);
    if shown.is_none() {
        out.lose_some(Field::ReasoningVisibility, visibility.as_ref(), Reason::Refused);
    }
    if level.is_none() && budget.is_none() && !plan.off && !auto && shown.is_none() {
        return;
    }
    if plan.off && !thinks {
        // A model without thinking needs no switch to disable it.
        return out.lose(Field::Effort, Reason::Redundant);
    }
    let json = out.json.key("thinkingConfig").object().opt_bool("includeThoughts", shown);
    if let Some((_, level)) = level {
        json.key("thinkingLevel").literal(level);
    }
    if let Some(budget) = budget {
        json.key("thinkingBudget").raw(budget);
    } else if plan.off {
        json.key("thinkingBudget").u64(0);
    } else if auto {
        json.key("thinkingBudget").i64(-1);
    }
    json.end_object();
}

fn write_format(format: Option<&Format<'_>>, takes: &Capabilities, out: &mut WriterOutput<'_>) {
    let Some(format) = format else { return };
    let json = out.json.key("responseMimeType");
    match format {
        Format::Text => _ = json.literal("text/plain"),
        Format::JsonObject => _ = json.literal("application/json"),
        Format::Schema(SchemaFormat { name: _, schema, description: _, strict: _ }) => {
            json.literal("application/json").key("responseJsonSchema");
            write_answer_schema(schema, takes.schemas, &mut TapeBuf::default(), out);
        }
    }
}

/// Writes `tools`: all functions in one entry, as the enterprise API requires, and each of the vendor's own tools in a
/// separate entry; then `toolConfig`.
fn write_all_tools(request: &Request<'_>, takes: &Capabilities, thinks: bool, out: &mut WriterOutput<'_>) {
    let (mut functions, mut own, mut listed) =
        (JsonBuffer::default(), JsonBuffer::default(), JsonBuffer::default());
    let mut tape = TapeBuf::default();
    let write = |tool: &Tool<'_>, name: &Str<'_>, out: &mut WriterOutput<'_>| {
        if tool.vendor_type.is_some() {
            write_own_tool(tool, &mut out.redirected(own.hold()));
        } else {
            write_function((tool, name), takes, &mut tape, &mut out.redirected(functions.hold()));
        }
    };
    let choice = {
        // `write_tools` writes a flat list of tools. Tools are grouped in this API, so the flat list is discarded.
        let out = &mut out.redirected(listed.hold());
        write_tools(request, (&BACKEND, &CHOICES), (takes, thinks), out, write)
    };
    let has_functions = !functions.bytes().is_empty();
    if has_functions || !own.bytes().is_empty() {
        out.json.key("tools").array();
        if has_functions {
            out.json.object().key("functionDeclarations").array().values(functions.bytes());
            out.json.end_array().end_object();
        }
        own.pour_members(&mut out.json);
        out.json.end_array();
    }
    write_choice(request, &choice, takes, out);
}

fn write_choice(
    request: &Request<'_>,
    choice: &OfferedChoice<'_, '_>,
    takes: &Capabilities,
    out: &mut WriterOutput<'_>,
) {
    let OfferedChoice { word, tool, parallel, allowed } = choice;
    // Only functions can be required.
    let tool = tool.as_ref().filter(|(tool, _)| tool.vendor_type.is_none());
    if let (Some(ToolChoice::Named(name)), None, None) = (&request.tool_choice, tool, word) {
        out.lose_str(Field::ToolChoice, name, Reason::Refused);
    }
    if parallel.is_some() {
        // The API has no setting for parallel calls.
        out.lose(Field::ParallelCalls, Reason::NoSlot);
    }
    let functions = || request.tools.iter().filter(|tool| tool.vendor_type.is_none() && BACKEND.offers(tool));
    let all_strict = functions().next().is_some() && functions().all(|tool| tool.strict == Some(true));
    let forced = tool.is_some() || *word == Some(CHOICES.required);
    let validated = !forced && *word != Some(CHOICES.none) && (all_strict || *allowed);
    if validated && !all_strict {
        out.ledger.note("calls held to their schemas, because the tools that may be used are named");
    }
    for tool in functions().filter(|tool| tool.strict.is_some()) {
        match tool.strict {
            // A required call matches its schema, strict or not.
            Some(true) if forced => out.lose_of(tool, Field::ToolStrict, Reason::Redundant),
            Some(true) if validated && all_strict => {}
            _ => out.lose_of(tool, Field::ToolStrict, Reason::NoSlot),
        }
    }
    let word = match (word, tool) {
        _ if validated => VALIDATED,
        (Some(word), _) => word,
        (None, Some(_)) => CHOICES.required,
        (None, None) => return,
    };
    let json = out.json.key("toolConfig").object().key("functionCallingConfig").object();
    json.key("mode").literal(word);
    if let Some((_, name)) = tool {
        out.json.key("allowedFunctionNames").array().str(name).end_array();
    } else if *allowed && word != CHOICES.none {
        out.json.key("allowedFunctionNames").array();
        let offered = OfferedTools::of(&request.tools);
        for name in &request.allowed_tools {
            match offered.get(name).filter(|tool| tool.vendor_type.is_none()) {
                Some(tool) => _ = out.json.str(&aliases::sent_name(tool, takes.tool_names)),
                None => out.lose_str(Field::AllowedTools, name, Reason::Refused),
            }
        }
        out.json.end_array();
    }
    if *allowed && (tool.is_some() || word == CHOICES.none) {
        for name in &request.allowed_tools {
            out.lose_str(Field::AllowedTools, name, Reason::Redundant);
        }
    }
    out.json.end_object().end_object();
}

/// `{"googleSearch":{}}`
fn write_own_tool(tool: &Tool<'_>, out: &mut WriterOutput<'_>) {
    let Tool { vendor_type, config, service, .. } = tool;
    let Some(vendor_type) = vendor_type else { return };
    let own = BACKEND.own_tools.iter().find(|own| vendor_type.is(own.begins));
    let stand_in = BACKEND.stand_in(*service).filter(|_| own.is_none());
    out.json.object();
    if let Some((own_type, _)) = stand_in {
        lose_for_stand_in(tool, out);
        out.lose_of(tool, Field::ToolKind, Reason::Narrowed);
        out.json.key(own_type).object();
    } else {
        out.json.key(vendor_type.as_escaped()).object();
        for (name, value) in config {
            out.json.key(name.as_escaped()).raw(value);
        }
    }
    out.json.end_object().end_object();
    lose_of_own_tool(tool, out);
}

/// Books the description members as lost; the vendor's own tools have only settings.
fn lose_of_own_tool(tool: &Tool<'_>, out: &mut WriterOutput<'_>) {
    let Tool { description, schema, strict, output_schema, .. } = tool;
    out.lose_some(Field::ToolDescription, description.as_ref(), Reason::Refused);
    for (field, schema) in [(Field::ToolSchema, schema), (Field::ToolOutputSchema, output_schema)] {
        if let Some(schema) = schema {
            out.lose_raw(field, schema, Reason::Refused);
        }
    }
    if strict.is_some() {
        out.lose_of(tool, Field::ToolStrict, Reason::Refused);
    }
}

const FREE_TEXT: &str =
    "{\"type\":\"object\",\"properties\":{\"input\":{\"type\":\"string\"}},\"required\":[\"input\"]}";

fn write_function(
    (tool, new): (&Tool<'_>, &Str<'_>),
    takes: &Capabilities,
    tape: &mut TapeBuf,
    out: &mut WriterOutput<'_>,
) {
    // `toolConfig` holds strictness for all tools together. The other ignored members have no field in this API; the
    // table lists them as lost.
    #[rustfmt::skip]
    let Tool {
        kind, vendor_type: _, name: _, description, schema, strict, config, service: _, namespace: _,
        output_schema, grammar: _, deferred: _, cache: _,
    } = tool;
    if *kind == CallKind::Vendor {
        out.lose_of(tool, Field::ToolKind, Reason::Narrowed);
    }
    for (_, value) in config {
        out.lose_raw(Field::ToolConfig, value, Reason::NoSlot);
    }
    out.json.object().key("name").str(new).opt_str("description", description.as_ref());
    if *kind == CallKind::FreeText {
        if let Some(schema) = schema {
            out.lose_raw(Field::ToolSchema, schema, Reason::NoSlot);
        }
        out.ledger.note("free-text tool offered as a function with the member `input`");
        out.json.key("parametersJsonSchema").raw(&Raw::new(FREE_TEXT));
    } else if schema.is_some() {
        // A function without arguments has no schema.
        out.json.key("parametersJsonSchema");
        write_tool_schema(schema.as_ref(), *strict, takes.schemas, tape, out);
    }
    out.json.opt_raw("responseJsonSchema", output_schema.as_ref()).end_object();
}
