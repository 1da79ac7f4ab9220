//! Copies of events that outlive the frame they were read from, for whoever must hold back.

use crate::json::{Raw, Str};
use crate::model::{
    Args, Decision, Delta, Event, Failure, FileRef, Format, ItemHead, ItemKind, ItemTail, Media, MediaSource,
    Notice, Opaque, Part, Permission, Prompt, Question, Request, Session, SessionEnd, Stop, Tool, ToolCall,
    ToolChoice, ToolResult, Turn,
};

fn own(text: Option<Str<'_>>) -> Option<Str<'static>> {
    text.map(Str::into_owned)
}

fn own_raw(json: Option<Raw<'_>>) -> Option<Raw<'static>> {
    json.map(Raw::into_owned)
}

impl Event<'_> {
    /// A copy that owns its text.
    pub fn into_owned(self) -> Event<'static> {
        match self {
            Event::SessionStarted(session) => Event::SessionStarted(session.into_owned()),
            Event::SessionUpdated(session) => Event::SessionUpdated(session.into_owned()),
            Event::SessionEnded(SessionEnd { status, message }) => {
                Event::SessionEnded(SessionEnd { status, message: own(message) })
            }
            Event::Request(request) => Event::Request(Box::new(request.into_owned())),
            Event::TurnStarted(turn) => Event::TurnStarted(turn.into_owned()),
            Event::TurnEnded(turn) => Event::TurnEnded(turn.into_owned()),
            Event::Usage(turn) => Event::Usage(turn.into_owned()),
            Event::ItemStarted(head) => Event::ItemStarted(head.into_owned()),
            Event::ItemDelta(delta) => Event::ItemDelta(delta.into_owned()),
            Event::ItemCompleted(tail) => Event::ItemCompleted(tail.into_owned()),
            Event::PermissionRequested(permission) => Event::PermissionRequested(permission.into_owned()),
            Event::PermissionResolved(permission) => Event::PermissionResolved(permission.into_owned()),
            Event::QuestionRequested(question) => Event::QuestionRequested(question.into_owned()),
            Event::QuestionResolved(question) => Event::QuestionResolved(question.into_owned()),
            Event::Error(failure) => Event::Error(failure.into_owned()),
        }
    }
}

impl Session<'_> {
    /// A copy that owns its text.
    pub fn into_owned(self) -> Session<'static> {
        let Session {
            id,
            parent,
            cwd,
            cli_version,
            model,
            provider,
            branch,
            commit,
            repository,
            title,
            start,
            agent,
        } = self;
        Session {
            id: own(id),
            parent: own(parent),
            cwd: own(cwd),
            cli_version: own(cli_version),
            model: own(model),
            provider: own(provider),
            branch: own(branch),
            commit: own(commit),
            repository: own(repository),
            title: own(title),
            start: own_raw(start),
            agent,
        }
    }
}

impl Turn<'_> {
    /// A copy that owns its text.
    pub fn into_owned(self) -> Turn<'static> {
        let Turn { id, model, time, stop, usage, cost } = self;
        Turn {
            id: own(id),
            model: own(model),
            time: own_raw(time),
            stop: stop.map(Stop::into_owned),
            usage,
            cost: own_raw(cost),
        }
    }
}

impl Request<'_> {
    /// A copy that owns its text.
    pub fn into_owned(self) -> Request<'static> {
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
        } = self;
        Request {
            model: own(model),
            max_tokens: own_raw(max_tokens),
            temperature: own_raw(temperature),
            top_p: own_raw(top_p),
            stop: stop.into_iter().map(Str::into_owned).collect(),
            stream,
            tools: tools
                .into_iter()
                .map(|Tool { kind, name, description, schema, strict }| Tool {
                    kind,
                    name: name.into_owned(),
                    description: own(description),
                    schema: own_raw(schema),
                    strict,
                })
                .collect(),
            tool_choice: tool_choice.map(|choice| match choice {
                ToolChoice::Auto => ToolChoice::Auto,
                ToolChoice::None => ToolChoice::None,
                ToolChoice::Required => ToolChoice::Required,
                ToolChoice::Named(name) => ToolChoice::Named(name.into_owned()),
            }),
            parallel_calls,
            effort: own(effort),
            format: format.map(|format| match format {
                Format::Text => Format::Text,
                Format::JsonObject => Format::JsonObject,
                Format::Schema { name, schema, strict } => {
                    Format::Schema { name: own(name), schema: schema.into_owned(), strict }
                }
            }),
            user: own(user),
            service_tier: own(service_tier),
        }
    }
}

impl Permission<'_> {
    /// A copy that owns its text.
    pub fn into_owned(self) -> Permission<'static> {
        let Permission { id, action, call_id, input, answer } = self;
        Permission {
            id: id.into_owned(),
            action: action.into_owned(),
            call_id: own(call_id),
            input: own_raw(input),
            answer: answer.map(|answer| match answer {
                Decision::Accept => Decision::Accept,
                Decision::AcceptForSession => Decision::AcceptForSession,
                Decision::Reject(why) => Decision::Reject(own(why)),
            }),
        }
    }
}

impl Question<'_> {
    /// A copy that owns its text.
    pub fn into_owned(self) -> Question<'static> {
        let Question { id, call_id, prompts, answers, declined } = self;
        let own_list = |list: Vec<Str<'_>>| list.into_iter().map(Str::into_owned).collect();
        Question {
            id: id.into_owned(),
            call_id: own(call_id),
            prompts: prompts
                .into_iter()
                .map(|Prompt { text, options, multiple }| Prompt {
                    text: text.into_owned(),
                    options: options
                        .into_iter()
                        .map(|(label, what)| (label.into_owned(), own(what)))
                        .collect(),
                    multiple,
                })
                .collect(),
            answers: answers.map(|answers| answers.into_iter().map(own_list).collect()),
            declined,
        }
    }
}

impl Failure<'_> {
    /// A copy that owns its text.
    pub fn into_owned(self) -> Failure<'static> {
        let Failure { class, status, code, message, request_id } = self;
        Failure { class, status, code: own(code), message: message.into_owned(), request_id: own(request_id) }
    }
}

impl ItemHead<'_> {
    /// A copy that owns its text.
    pub fn into_owned(self) -> ItemHead<'static> {
        let ItemHead { id, kind, author, within, native_id, parent, time, model, shape } = self;
        ItemHead {
            id,
            kind: match kind {
                ItemKind::Message => ItemKind::Message,
                ItemKind::Reasoning => ItemKind::Reasoning,
                ItemKind::ToolCall(ToolCall { call_id, kind, namespace, name }) => {
                    ItemKind::ToolCall(ToolCall {
                        call_id: own(call_id),
                        kind,
                        namespace: own(namespace),
                        name: name.into_owned(),
                    })
                }
                ItemKind::ToolResult(ToolResult { call_id, name }) => {
                    ItemKind::ToolResult(ToolResult { call_id: own(call_id), name: own(name) })
                }
                ItemKind::Notice(Notice { event_type }) => {
                    ItemKind::Notice(Notice { event_type: own(event_type) })
                }
            },
            author,
            within,
            native_id: own(native_id),
            parent: own(parent),
            time: time.map(Raw::into_owned),
            model: own(model),
            shape,
        }
    }
}

impl Delta<'_> {
    /// A copy that owns its text.
    pub fn into_owned(self) -> Delta<'static> {
        let Delta { item, part, value, arrival } = self;
        Delta { item, part, value: value.into_owned(), arrival }
    }
}

impl Part<'_> {
    /// A copy that owns its text.
    pub fn into_owned(self) -> Part<'static> {
        match self {
            Part::Text(text) => Part::Text(text.into_owned()),
            Part::Summary(text) => Part::Summary(text.into_owned()),
            Part::Media(Media { media_type, source, name }) => Part::Media(Media {
                media_type: own(media_type),
                source: match source {
                    MediaSource::Base64(data) => MediaSource::Base64(data.into_owned()),
                    MediaSource::Url(url) => MediaSource::Url(url.into_owned()),
                    MediaSource::File(id) => MediaSource::File(id.into_owned()),
                },
                name: own(name),
            }),
            Part::Json(json) => Part::Json(json.into_owned()),
            Part::Args(Args::Text(text)) => Part::Args(Args::Text(text.into_owned())),
            Part::Args(Args::Json(json)) => Part::Args(Args::Json(json.into_owned())),
            Part::File(FileRef { path, action, diff }) => {
                Part::File(FileRef { path: path.into_owned(), action: action.into_owned(), diff: own(diff) })
            }
            Part::Citation(json) => Part::Citation(json.into_owned()),
            Part::Refusal(text) => Part::Refusal(text.into_owned()),
            Part::Opaque(Opaque { kind, issuer, value }) => {
                Part::Opaque(Opaque { kind, issuer, value: value.into_owned() })
            }
        }
    }
}

impl ItemTail<'_> {
    /// A copy that owns its text.
    pub fn into_owned(self) -> ItemTail<'static> {
        let ItemTail { id, status, native_status, is_error } = self;
        ItemTail { id, status, native_status: own(native_status), is_error }
    }
}

impl Stop<'_> {
    /// A copy that owns its text.
    pub fn into_owned(self) -> Stop<'static> {
        let Stop { class, raw, sequence } = self;
        Stop { class, raw: own(raw), sequence: own(sequence) }
    }
}
