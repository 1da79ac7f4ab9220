//! Requests to events: the prompt is a message of the user, and the rounds of the model are the answer. A request without
//! rounds is answered by the parts that VS Code shows. All values stay in their frames, because a frame holds several
//! messages.

use super::parts::Parts;
use super::rounds::{Rounds, read_rounds};
use super::{DIALECT, moment};
use crate::error::Code;
use crate::framing::FrameKind;
use crate::json::Str;
use crate::log::{SessionTracker, SpelledArguments};
use crate::model::{
    Author, Event, Failure, FailureClass, Field, ItemKind, Media, MediaSource, Notice, Origin, Part, Session,
    Shape, Stop, StopClass, Turn, Usage,
};
use crate::pipe::{Doc, EventSink, Reader};
use crate::tape::{Kind, Member as _, Val, WantedNames};

#[derive(Default)]
pub(super) struct CopilotChatReader {
    session: SessionTracker,
    arguments: SpelledArguments,
}

impl Reader for CopilotChatReader {
    fn document(&mut self, doc: Doc<'_>, out: &mut EventSink<'_>) {
        let root = doc.root;
        match doc.kind {
            FrameKind::Head => {
                // A file may hold several sessions.
                self.session.end(out);
                self.session = SessionTracker::default();
                root.get("requests").map(|list| list.note(Field::Padding));
                self.around(root, out);
            }
            // An empty end joins the entry before it.
            FrameKind::Tail if root.members().next().is_none() => _ = root.note(Field::Padding),
            FrameKind::Tail => self.around(root, out),
            _ if prompt_text(root).is_some() => self.request(root, out),
            _ => {
                doc.report_foreign(DIALECT.name, out);
                notice(None, out);
            }
        }
    }

    fn finish(&mut self, out: &mut EventSink<'_>) {
        self.session.end(out);
    }
}

/// The prompt of a request. Early versions wrote a string.
fn prompt_text(request: Val<'_>) -> Option<Val<'_>> {
    let message = request.get("message")?;
    match message.kind() {
        Kind::String => Some(message),
        _ => message.get("text").filter(|text| text.kind() == Kind::String),
    }
}

fn notice(event_type: Option<Str<'_>>, out: &mut EventSink<'_>) {
    let head = out.head(ItemKind::Notice(Notice { event_type }), Author::System);
    let item = out.start(head);
    out.complete(item);
}

impl CopilotChatReader {
    /// Reads the members around the requests: the facts of the session.
    fn around(&mut self, root: Val<'_>, out: &mut EventSink<'_>) {
        const WANTED: WantedNames<4> =
            WantedNames::new(["sessionId", "customTitle", "creationDate", "lastMessageDate"]);
        let [id, title, created, updated] = root.find(&WANTED);
        let told = Session {
            id: id.note_text(Field::SessionId),
            title: title.note_text(Field::SessionTitle),
            start: moment(created).map(|time| time.note(Field::SessionStart)),
            ..Session::default()
        };
        self.session.tell(DIALECT.name, told, out);
        if let Some(updated) = moment(updated) {
            self.session.updated(&updated.raw());
        }
        if root.get("unapplied").is_some() {
            let detail = "lines of the log of changes cannot be applied";
            out.problem(Code::InvalidJson, Some("/unapplied".to_owned()), detail);
        }
        notice(Some(Str::escaped("session")), out);
    }

    fn request(&mut self, request: Val<'_>, out: &mut EventSink<'_>) {
        const WANTED: WantedNames<4> = WantedNames::new(["agent", "result", "response", "modelId"]);
        let [agent, result, response, model] = request.find(&WANTED);
        let cli_version = agent.and_then(|agent| agent.note_str("extensionVersion", Field::SessionVersion));
        self.session.tell(DIALECT.name, Session { cli_version, ..Session::default() }, out);
        prompt(request, out);
        let metadata = result.and_then(|result| result.get("metadata"));
        // A meta-model such as `copilot/auto` is resolved to the model that answered.
        let resolved = metadata.and_then(|metadata| metadata.get("resolvedModel"));
        let model = resolved.filter(|name| name.kind() == Kind::String).or(model);
        let model = model.filter(|name| name.kind() == Kind::String);
        let parts = response.map(Parts);
        let is_answered = match metadata.and_then(Rounds::of) {
            Some(rounds) => {
                read_rounds(&rounds, parts, model, &mut self.arguments, out);
                true
            }
            None => parts.is_some_and(|parts| parts.read(request, model, &mut self.arguments, out)),
        };
        let turn = Turn { usage: usage(request, result, metadata), stop: stop(request), ..Turn::default() };
        if turn.usage.is_some() || turn.stop.is_some() {
            let name = if is_answered {
                model.and_then(|model| model.str())
            } else {
                model.note_text(Field::TurnModel)
            };
            out.event(&Event::Usage(Turn { model: name, ..turn }));
        }
        failed(result, out);
    }
}

/// Emits the prompt of a request with the pictures attached to it.
fn prompt(request: Val<'_>, out: &mut EventSink<'_>) {
    const WANTED: WantedNames<4> =
        WantedNames::new(["requestId", "timestamp", "isSystemInitiated", "variableData"]);
    let [id, time, automatic, attached] = request.find(&WANTED);
    let mut head = out.head(ItemKind::Message, Author::User);
    head.native_id = id.note_text(Field::ItemId);
    head.time = moment(time).map(|time| time.note(Field::ItemTime));
    if let Some(automatic) = automatic.filter(|automatic| automatic.bool() == Some(true)) {
        automatic.note(Field::ItemOrigin);
        head.origin = Some(Origin::Harness);
    }
    let variables = || attached.and_then(|attached| attached.get("variables"));
    let pictures = || variables().into_iter().flat_map(|list| list.elements()).filter_map(picture);
    if pictures().next().is_some() {
        head.shape = Shape::List;
    }
    let item = out.start(head);
    let text = prompt_text(request).and_then(|text| text.note_text(Field::MessageText));
    if let Some(text) = text {
        out.delta(item, 0, Part::Text(text));
    }
    for (number, (variable, data)) in pictures().enumerate() {
        out.within(variable, |out| {
            let Some(data) = data.note_text(Field::MessageMedia) else { return };
            let media_type = variable.note_str("mimeType", Field::MediaType);
            let mut media = Media::new(media_type, MediaSource::Base64(data));
            media.name = variable.note_str("name", Field::MediaName);
            out.delta(item, number as u32 + 1, Part::Media(media));
        });
    }
    out.complete(item);
}

/// An attached picture and its data.
fn picture(variable: Val<'_>) -> Option<(Val<'_>, Val<'_>)> {
    let data = variable.get("value")?.get("$base64").filter(|data| data.kind() == Kind::String)?;
    (variable.str_or_empty("kind") == "image").then_some((variable, data))
}

/// Emits the error that ended an answer.
fn failed(result: Option<Val<'_>>, out: &mut EventSink<'_>) {
    let details = result.and_then(|result| result.get("errorDetails"));
    let Some(details) = details.filter(|details| details.has_str("message")) else { return };
    let flag = |name: &str| {
        let flag = details.get(name).filter(|flag| flag.bool() == Some(true));
        flag.map(|flag| flag.note(Field::ErrorClass)).is_some()
    };
    let class = if flag("isRateLimited") {
        FailureClass::RateLimit
    } else if flag("isQuotaExceeded") {
        FailureClass::Billing
    } else {
        FailureClass::Other
    };
    out.event(&Event::Error(Failure {
        class,
        status: None,
        code: details.note_str("code", Field::ErrorCode),
        message: details.note_str("message", Field::ErrorMessage).unwrap_or_default(),
        request_id: None,
        retry_after: None,
    }));
}

/// The tokens of an answer. Versions differ in the place of the counts, and some write them twice.
fn usage(request: Val<'_>, result: Option<Val<'_>>, metadata: Option<Val<'_>>) -> Option<Usage> {
    let counts = result.and_then(|result| result.get("usage"));
    usage_of(counts, "promptTokens", "completionTokens")
        .or_else(|| usage_of(metadata, "promptTokens", "outputTokens"))
        .or_else(|| usage_of(Some(request), "promptTokens", "completionTokens"))
}

/// The counts of a request under these names. Copilot does not separate cached input.
fn usage_of(counts: Option<Val<'_>>, input: &str, output: &str) -> Option<Usage> {
    let [input, output] = counts?.get_all([input, output]);
    let is_count = |count: &Val<'_>| count.u64().is_some();
    let (input, output) = (input.filter(is_count), output.filter(is_count));
    (input.is_some() || output.is_some()).then(|| Usage {
        input: input.note_count(Field::UsageInput),
        output: output.note_count(Field::UsageOutput),
        ..Usage::default()
    })
}

/// The state of an answer: `modelState` is a number, `isCanceled` is the flag of earlier versions.
fn stop(request: Val<'_>) -> Option<Stop<'_>> {
    let state = request.get("modelState").and_then(|state| state.get("value"));
    let class = match state.and_then(|state| state.u64()) {
        Some(1) => Some(StopClass::End),
        Some(2) => Some(StopClass::Cancelled),
        Some(3) => Some(StopClass::Error),
        _ => None,
    };
    if let (Some(class), Some(state)) = (class, state) {
        state.note(Field::StopReason);
        return Some(Stop { class, raw: None, sequence: None, detail: None });
    }
    let flag = request.get("isCanceled").filter(|flag| flag.bool() == Some(true))?;
    flag.note(Field::StopReason);
    Some(Stop { class: StopClass::Cancelled, raw: None, sequence: None, detail: None })
}
