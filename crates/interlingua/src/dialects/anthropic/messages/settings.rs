//! The settings of a request, read and written.

use super::BACKEND;
use super::blocks::CACHE;
use crate::json::{Raw, Str};
use crate::ledger::Reason;
use crate::model::{CallKind, Field, Format, Reasoning, Request, SchemaFormat, Tool, ToolChoice};
use crate::pipe::WriterOutput;
use crate::tape::{TapeBuf, Val, WantedNames};
use crate::wire::backends::Capabilities;
use crate::wire::schemas::{write_answer_schema, write_tool_schema};
use crate::wire::settings::{
    ChoiceWords, OfferedChoice, OfferedTools, SETTINGS_MARK, Setting, SettingForm, lose_for_stand_in,
    may_call, write_tools,
};
use crate::wire::thinking::ThinkingPlan;
use crate::wire::{aliases, note_blanks, settings};

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
/// Values of `thinking.display`.
const DISPLAYS: [&str; 2] = ["summarized", "omitted"];

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

/// Opens the request and writes everything before `system` and `messages`.
pub(super) fn write(request: &Request<'_>, takes: &Capabilities, out: &mut WriterOutput<'_>) {
    out.json.object();
    settings::write(request, &BACKEND, takes, out);
    if request.stream_usage == Some(false) {
        out.lose(Field::StreamUsage, Reason::Narrowed);
    }
    let limit = settings::stated_limit(request, takes);
    let thinking = ThinkingPlan::new(&request.reasoning, limit, takes, out);
    if let Some(default) = takes.max_tokens_default.filter(|_| limit.is_none()) {
        out.ledger.note("no output limit given: that of the backend's rules");
        // Thinking counts toward the limit.
        out.json.key("max_tokens").u64(default.saturating_add(thinking.budget_tokens()));
    }
    let thinks = write_thinking(&request.reasoning, &thinking, takes, out) || thinking.thinks();
    write_output(thinking.effort, request.format.as_ref(), takes, out);
    if let Some(user) = request.user.as_ref().filter(|_| !takes.takes(Field::EndUser)) {
        out.lose_str(Field::EndUser, user, Reason::Refused);
    } else if let Some(user) = &request.user {
        let user = aliases::short_id(Field::EndUser, user, USER, out);
        out.json.key("metadata").object().key("user_id").str(&user).end_object();
    }
    if let Some(mark) = &request.cache {
        CACHE.lose_rest(mark, SETTINGS_MARK, out);
        CACHE.write(mark, &mut out.json);
    }
    let mut tape = TapeBuf::default();
    let write_tool = |tool: &Tool<'_>, name: &Str<'_>, out: &mut WriterOutput<'_>| {
        write_tool((tool, name), takes, &mut tape, out);
    };
    let takes = (takes, thinks);
    let OfferedChoice { word, tool, parallel, allowed: _ } =
        write_tools(request, (&BACKEND, &CHOICES), takes, out, write_tool);
    // Omit the API's defaults.
    if word.is_none() && tool.is_none() && parallel.is_none() {
        return;
    }
    let word = if tool.is_some() { "tool" } else { word.unwrap_or(CHOICES.auto) };
    out.json.key("tool_choice").object().key("type").literal(word);
    if let Some((_, name)) = tool {
        out.json.key("name").str(&name);
    }
    out.json.opt_bool("disable_parallel_tool_use", parallel.map(|parallel| !parallel)).end_object();
}

/// Writes `thinking`. Only a budget selects `enabled`. Returns whether thinking is on.
fn write_thinking(
    reasoning: &Reasoning<'_>,
    plan: &ThinkingPlan<'_>,
    takes: &Capabilities,
    out: &mut WriterOutput<'_>,
) -> bool {
    let Reasoning { effort: _, mode, budget: _, visibility } = reasoning;
    let mode_is = |word: &str| mode.as_ref().is_some_and(|mode| mode.is(word));
    let mode_fits = mode_is("adaptive") || mode_is("between_tools");
    let word = match &plan.budget {
        _ if plan.off => "disabled",
        Some(_) if !mode_fits => "enabled",
        _ if mode_is("between_tools") && takes.thinking.adaptive => "between_tools",
        // A model without budgets decides itself how much to think.
        _ if takes.thinking.adaptive && (mode.is_some() || visibility.is_some()) => "adaptive",
        _ => "",
    };
    let budget = plan.budget.as_ref().filter(|_| word == "enabled");
    if let Some(budget) = plan.budget.as_ref().filter(|_| budget.is_none()) {
        out.lose_raw(Field::ReasoningBudget, budget, Reason::Refused);
    }
    out.lose_some(Field::ReasoningMode, mode.as_ref().filter(|mode| !mode.is(word)), Reason::Refused);
    let display = visibility.as_ref().filter(|_| !word.is_empty() && !plan.off);
    let known = |visibility: &&Str<'_>| DISPLAYS.iter().any(|known| visibility.is(known));
    // All summary lengths map to `summarized`.
    let shown =
        |visibility: &&Str<'_>| ["auto", "concise", "detailed"].iter().any(|word| visibility.is(word));
    let emulated = display.filter(shown).map(|_| Str::escaped("summarized"));
    let display = display.filter(known);
    let hidden = visibility.as_ref().filter(|_| display.is_none());
    out.lose_some(Field::ReasoningVisibility, hidden, Reason::Narrowed);
    if !word.is_empty() {
        out.json.key("thinking").object().key("type").literal(word);
        out.json
            .opt_raw("budget_tokens", budget)
            .opt_str("display", display.or(emulated.as_ref()))
            .end_object();
    }
    !word.is_empty() && !plan.off
}

/// Writes `output_config`: the effort and the response format.
fn write_output(
    effort: Option<&str>,
    format: Option<&Format<'_>>,
    takes: &Capabilities,
    out: &mut WriterOutput<'_>,
) {
    let schema = match format {
        Some(Format::Schema(SchemaFormat { name: _, schema, description: _, strict })) => {
            // In this API a response always matches its schema.
            if *strict == Some(false) {
                out.lose(Field::FormatStrict, Reason::Narrowed);
            }
            Some(schema)
        }
        // Written as an instruction.
        Some(Format::JsonObject) => None,
        Some(Format::Text) => {
            out.lose(Field::AnswerFormat, Reason::Redundant);
            None
        }
        None => None,
    };
    if effort.is_none() && schema.is_none() {
        return;
    }
    let json = out.json.key("output_config").object();
    if let Some(word) = effort {
        json.key("effort").literal(word);
    }
    if let Some(schema) = schema {
        out.json.key("format").object().key("type").literal("json_schema").key("schema");
        write_answer_schema(schema, takes.schemas, &mut TapeBuf::default(), out);
        out.json.end_object();
    }
    out.json.end_object();
}

fn write_tool(
    (tool, new): (&Tool<'_>, &Str<'_>),
    takes: &Capabilities,
    tape: &mut TapeBuf,
    out: &mut WriterOutput<'_>,
) {
    // The API has no result schemas and no grammars; the support table lists both as lost.
    #[rustfmt::skip]
    let Tool {
        kind, vendor_type, name: _, description, schema, strict, config, service, namespace: _, output_schema: _,
        grammar: _, deferred, cache,
    } = tool;

    if let Some(mark) = cache {
        CACHE.lose_rest(mark, SETTINGS_MARK, out);
    }
    let foreign = vendor_type.as_ref().filter(|kind| BACKEND.own_type(kind).is_none());
    let stand_in = foreign.and_then(|_| BACKEND.stand_in(*service));
    out.json.object();
    if let Some((own_type, own_name)) = stand_in {
        lose_for_stand_in(tool, out);
        out.json.key("type").literal(own_type).key("name").literal(own_name);
    } else {
        out.json.opt_str("type", vendor_type.as_ref()).key("name").str(new);
    }
    if vendor_type.is_some() {
        for (name, value) in config.iter().filter(|_| stand_in.is_none()) {
            out.json.key(name.as_escaped()).raw(value);
        }
        out.lose_some(Field::ToolDescription, description.as_ref(), Reason::Refused);
        if let Some(schema) = schema {
            out.lose_raw(Field::ToolSchema, schema, Reason::Refused);
        }
        if strict.is_some() {
            out.lose_of(tool, Field::ToolStrict, Reason::Refused);
        }
        if deferred.is_some() {
            out.lose_of(tool, Field::ToolDeferred, Reason::Refused);
        }
    } else {
        if *kind == CallKind::Vendor {
            out.lose_of(tool, Field::ToolKind, Reason::Narrowed);
        }
        for (_, value) in config {
            out.lose_raw(Field::ToolConfig, value, Reason::NoSlot);
        }
        out.json.opt_str("description", description.as_ref()).opt_bool("strict", *strict);
        out.json.opt_bool("defer_loading", *deferred).key("input_schema");
        if *kind == CallKind::FreeText {
            if let Some(schema) = schema {
                out.lose_raw(Field::ToolSchema, schema, Reason::NoSlot);
            }
            out.ledger.note("free-text tool offered as a function with the member `input`");
            out.json.raw(&Raw::new(FREE_TEXT));
        } else {
            write_tool_schema(schema.as_ref(), *strict, takes.schemas, tape, out);
        }
    }
    if let Some(mark) = cache {
        CACHE.write(mark, &mut out.json);
    }
    out.json.end_object();
}

const FREE_TEXT: &str =
    "{\"type\":\"object\",\"properties\":{\"input\":{\"type\":\"string\"}},\"required\":[\"input\"]}";
