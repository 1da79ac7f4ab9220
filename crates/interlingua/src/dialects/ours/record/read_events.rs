//! Entries that are no items to events: the other direction of [`super::events`].

use super::usage::{Tally, named_counts, read_counts};
use super::words::{CALL_KINDS, FAILURES, STATUSES, STOPS, named, usual_stop};
use crate::json::Str;
use crate::model::{
    CallKind, Decision, Event, Failure, FailureClass, Field, Format, Permission, Prompt, Question, Reasoning,
    Request, SchemaFormat, Session, SessionEnd, Status, Stop, Tool, ToolChoice, Turn, Usage,
};
use crate::tape::{Kind, Val};

/// Reads an entry that is no item: one with `data` that has no content. `None` if it is one.
pub(super) fn event<'t>(entry: Val<'t>, tally: &mut Tally) -> Option<Event<'t>> {
    let data = entry.get("data").filter(|data| data.kind() == Kind::Object)?;
    let name = entry.get("event-type")?.str()?;
    if data.get("content").is_some() {
        return None;
    }
    Some(match name.as_escaped() {
        "session-updated" => Event::SessionUpdated(session(data)),
        "session-ended" => Event::SessionEnded(SessionEnd {
            status: taken(data, "status", Field::SessionEndStatus, STATUSES).unwrap_or(Status::Completed),
            message: data.take_str("message", Field::SessionEndMessage),
        }),
        "request" => Event::Request(Box::new(request(data))),
        "turn-started" => {
            let turn = whole_turn(data, entry);
            let more = tally.begin_turn(turn.id.as_ref(), turn.usage.as_ref());
            note_increase(entry, more);
            Event::TurnStarted(turn)
        }
        "turn-ended" => {
            let turn = whole_turn(data, entry);
            let more = tally.end_turn(turn.usage.as_ref());
            note_increase(entry, more);
            Event::TurnEnded(turn)
        }
        "permission-requested" => Event::PermissionRequested(permission(data)?),
        "permission-resolved" => Event::PermissionResolved(permission(data)?),
        "question-requested" => Event::QuestionRequested(question(data)?),
        "question-resolved" => Event::QuestionResolved(question(data)?),
        "error" => Event::Error(failure(data)?),
        _ => return None,
    })
}

/// Takes a word of one of our tables; another one is left alone.
pub(super) fn taken<T: Copy>(
    map: Val<'_>,
    name: &str,
    field: Field,
    table: &[(T, &'static str)],
) -> Option<T> {
    let word = map.get(name)?;
    let value = named(table, &word.str()?)?;
    word.take(field);
    Some(value)
}

/// What an entry says of the response it ends, or is about.
pub(super) fn used<'t>(usage: Val<'t>, entry: Val<'t>, tally: &mut Tally) -> Turn<'t> {
    let more = read_counts(usage);
    let id = usage.take_str("response-id", Field::TurnId);
    let counts = (more != Usage::default()).then(|| tally.report(id.as_ref(), &more));
    // A response that does not say otherwise is of the entry's model.
    let model = usage
        .take_str("model-id", Field::TurnModel)
        .or_else(|| entry.get("model-id").and_then(|model| model.str()));
    Turn { model, usage: counts, ..turn(usage, id, usage) }
}

fn whole_turn<'t>(data: Val<'t>, entry: Val<'t>) -> Turn<'t> {
    let id = data.take_str("turn-id", Field::TurnId);
    let usage = data.get("usage").filter(|usage| usage.kind() == Kind::Object).map(read_counts);
    let model = data.take_str("model-id", Field::TurnModel);
    Turn { model, usage, ..turn(data, id, entry.get("token-usage").unwrap_or(data)) }
}

fn turn<'t>(map: Val<'t>, id: Option<Str<'t>>, usage: Val<'t>) -> Turn<'t> {
    let raw = map.take_str("stop-reason", Field::StopReason);
    let class = taken(map, "stop-class", Field::StopReason, STOPS);
    let sequence = map.take_str("stop-sequence", Field::StopSequence);
    let stop = (raw.is_some() || class.is_some() || sequence.is_some()).then(|| {
        let class = class.unwrap_or_else(|| usual_stop(raw.as_ref()));
        Stop { class, raw, sequence, detail: None }
    });
    Turn {
        id,
        model: None,
        time: map.take_raw("time", Field::TurnTime),
        stop,
        usage: None,
        cost: usage.take_raw("cost", Field::Cost).or_else(|| usage.take_raw("native-cost", Field::Cost)),
        ..Turn::default()
    }
}

/// What a turn adds to the session follows from what it and its responses said; if it does not, nobody knows what it
/// is, and it is left alone.
fn note_increase(entry: Val<'_>, more: Option<Usage>) {
    let (Some(usage), Some(more)) = (entry.get("token-usage"), more) else { return };
    for (name, count) in named_counts(&more) {
        let same = usage.get(name).filter(|said| said.u64().is_some() && said.u64() == count);
        if let Some(same) = same {
            same.note(Field::Structure);
        }
    }
}

fn session(data: Val<'_>) -> Session<'_> {
    let agent = data.get("cli-name").and_then(agent);
    Session {
        id: data.take_str("session-id", Field::SessionId),
        parent: data.take_str("parent-session-id", Field::SessionParent),
        cwd: data.take_str("working-dir", Field::SessionCwd),
        cli_version: data.take_str("cli-version", Field::SessionVersion),
        model: data.take_str("model-id", Field::SessionModel),
        provider: data.take_str("model-provider", Field::SessionProvider),
        branch: data.take_str("branch", Field::SessionBranch),
        commit: data.take_str("revision", Field::SessionCommit),
        repository: data.take_str("repository", Field::SessionRepository),
        title: data.take_str("title", Field::SessionTitle),
        start: data.take_raw("session-start", Field::SessionStart),
        agent,
        ..Session::default()
    }
}

/// The agent's name.
pub(super) fn agent(name: Val<'_>) -> Option<Str<'_>> {
    name.take_text(Field::SessionAgent)
}

fn request(data: Val<'_>) -> Request<'_> {
    Request {
        model: data.take_str("model-id", Field::RequestModel),
        max_tokens: data.take_raw("max-tokens", Field::MaxTokens),
        temperature: data.take_raw("temperature", Field::Temperature),
        top_p: data.take_raw("top-p", Field::TopP),
        stop: texts(data.get("stop-sequences"), Field::StopTexts),
        stream: data.take_bool("stream", Field::StreamAnswer),
        tools: list(data.get("tools")).filter_map(tool).collect(),
        tool_choice: data.get("tool-choice").and_then(tool_choice),
        parallel_calls: data.take_bool("parallel-calls", Field::ParallelCalls),
        reasoning: Reasoning { effort: data.take_str("effort", Field::Effort), ..Reasoning::default() },
        format: data.get("format").and_then(format),
        user: data.take_str("user", Field::EndUser),
        service_tier: data.take_str("service-tier", Field::ServiceTier),
        ..Request::default()
    }
}

fn list(list: Option<Val<'_>>) -> impl Iterator<Item = Val<'_>> {
    list.into_iter().flat_map(|list| list.elements())
}

fn texts(values: Option<Val<'_>>, field: Field) -> Vec<Str<'_>> {
    list(values).filter_map(|text| text.take_text(field)).collect()
}

fn tool(tool: Val<'_>) -> Option<Tool<'_>> {
    Some(Tool {
        name: tool.take_str("name", Field::ToolName)?,
        kind: taken(tool, "kind", Field::ToolKind, CALL_KINDS).unwrap_or(CallKind::Function),
        description: tool.take_str("description", Field::ToolDescription),
        schema: tool.take_raw("input-schema", Field::ToolSchema),
        strict: tool.take_bool("strict", Field::ToolStrict),
        vendor_type: None,
        config: Vec::new(),
        cache: None,
    })
}

fn tool_choice(choice: Val<'_>) -> Option<ToolChoice<'_>> {
    if let Some(name) = choice.take_str("name", Field::ToolChoice) {
        return Some(ToolChoice::Named(name));
    }
    let parsed = match choice.str()?.as_escaped() {
        "auto" => ToolChoice::Auto,
        "none" => ToolChoice::None,
        "required" => ToolChoice::Required,
        _ => return None,
    };
    choice.take(Field::ToolChoice);
    Some(parsed)
}

fn format(format: Val<'_>) -> Option<Format<'_>> {
    let parsed = match format.str().as_ref().map(Str::as_escaped) {
        Some("text") => Format::Text,
        Some("json-object") => Format::JsonObject,
        Some(_) => return None,
        None => {
            return Some(Format::Schema(SchemaFormat {
                schema: format.take_raw("schema", Field::FormatSchema)?,
                name: format.take_str("name", Field::FormatName),
                strict: format.take_bool("strict", Field::FormatStrict),
            }));
        }
    };
    format.take(Field::AnswerFormat);
    Some(parsed)
}

fn permission(data: Val<'_>) -> Option<Permission<'_>> {
    let id = data.take_str("permission-id", Field::PermissionId)?;
    let word = data.get("answer");
    let answer = match word.and_then(|word| word.str()).as_ref().map(Str::as_escaped) {
        Some("accept") => Some(Decision::Accept),
        Some("accept-for-session") => Some(Decision::AcceptForSession),
        Some("reject") => Some(Decision::Reject(data.take_str("message", Field::PermissionMessage))),
        Some(_) | None => None,
    };
    if let (Some(word), Some(_)) = (word, &answer) {
        word.take(Field::PermissionAnswer);
    }
    Some(Permission {
        id,
        action: data.take_str("action", Field::PermissionAction).unwrap_or_default(),
        call_id: data.take_str("call-id", Field::PermissionCallId),
        input: data.get("input").map(|input| input.take(Field::PermissionInput)),
        answer,
    })
}

fn question(data: Val<'_>) -> Option<Question<'_>> {
    let id = data.take_str("question-id", Field::QuestionId)?;
    let prompts = list(data.get("questions")).filter_map(prompt).collect();
    let answers = data.get("answers").filter(|answers| answers.kind() == Kind::Array);
    let answers = answers.map(|answers| {
        note_empty(answers);
        answers
            .elements()
            .map(|chosen| {
                note_empty(chosen);
                texts(Some(chosen), Field::QuestionAnswer)
            })
            .collect()
    });
    if let Some(questions) = data.get("questions") {
        note_empty(questions);
    }
    Some(Question {
        id,
        call_id: data.take_str("call-id", Field::QuestionCallId),
        prompts,
        answers,
        declined: data.take_bool("declined", Field::QuestionDeclined) == Some(true),
    })
}

/// An empty list is a leaf.
fn note_empty(list: Val<'_>) {
    if list.elements().next().is_none() {
        list.note(Field::Structure);
    }
}

fn prompt(prompt: Val<'_>) -> Option<Prompt<'_>> {
    Some(Prompt {
        text: prompt.take_str("text", Field::QuestionText)?,
        options: list(prompt.get("options")).filter_map(choice).collect(),
        multiple: prompt.take_bool("multiple", Field::QuestionMultiple) == Some(true),
    })
}

fn choice(option: Val<'_>) -> Option<(Str<'_>, Option<Str<'_>>)> {
    Some((
        option.take_str("label", Field::QuestionOption)?,
        option.take_str("about", Field::QuestionOptionAbout),
    ))
}

fn failure(data: Val<'_>) -> Option<Failure<'_>> {
    let status = data.get("status").and_then(|status| Some((status, u16::try_from(status.u64()?).ok()?)));
    if let Some((status, _)) = status {
        status.take(Field::ErrorStatus);
    }
    data.get("class")?;
    Some(Failure {
        class: taken(data, "class", Field::ErrorClass, FAILURES).unwrap_or(FailureClass::Other),
        status: status.map(|(_, status)| status),
        code: data.take_str("code", Field::ErrorCode),
        message: data.take_str("message", Field::ErrorMessage).unwrap_or_default(),
        request_id: data.take_str("request-id", Field::ErrorRequestId),
    })
}
