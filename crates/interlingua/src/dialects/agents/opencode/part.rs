//! Parts of messages. A part is a separate document in storage and in the output of a run, and an element of its
//! message in an export.

use super::{moment, tool};
use crate::error::Code;
use crate::json::Str;
use crate::model::{
    Author, Event, Failure, FailureClass, Field, FileRef, ItemHead, ItemId, ItemKind, ItemKindTag, Media,
    MediaSource, Notice, Opaque, OpaqueKind, Origin, Part, Shape,
};
use crate::model::{Compaction, Words};
use crate::pipe::EventSink;
use crate::tape::{Kind, Member as _, Val, WantedNames};
use crate::wire::media::from_data_url;

/// Members common to most parts.
pub(in crate::dialects::agents) struct PartMembers<'t> {
    pub(in crate::dialects::agents) root: Val<'t>,
    pub(in crate::dialects::agents) kind: Option<Val<'t>>,
    pub(in crate::dialects::agents) id: Option<Val<'t>>,
    pub(in crate::dialects::agents) message: Option<Val<'t>>,
    pub(in crate::dialects::agents) text: Option<Val<'t>>,
    pub(in crate::dialects::agents) time: Option<Val<'t>>,
    pub(in crate::dialects::agents) state: Option<Val<'t>>,
    pub(in crate::dialects::agents) url: Option<Val<'t>>,
    /// Set if the text is not for the model, or not typed by the author.
    pub(in crate::dialects::agents) aside: Option<Val<'t>>,
}

impl<'t> PartMembers<'t> {
    pub(in crate::dialects::agents) fn new(root: Val<'t>) -> Self {
        const WANTED: WantedNames<9> = WantedNames::new([
            "type",
            "id",
            "messageID",
            "text",
            "time",
            "state",
            "url",
            "synthetic",
            "ignored",
        ]);
        let [kind, id, message, text, time, state, url, synthetic, ignored] = root.find(&WANTED);
        let text = text.filter(|text| text.kind() == Kind::String);
        let url = url.filter(|url| url.kind() == Kind::String);
        let set = |mark: Option<Val<'t>>| mark.filter(|mark| mark.bool() == Some(true));
        let aside = set(synthetic).or(set(ignored));
        Self { root, kind, id, message, text, time, state, url, aside }
    }

    /// The start time of the part.
    pub(in crate::dialects::agents) fn start(&self) -> Option<Val<'t>> {
        self.time.and_then(|time| time.get("start")).and_then(moment)
    }

    /// The sort of the part.
    pub(in crate::dialects::agents) fn sort(&self) -> Sort {
        match self.kind.word() {
            "text" if self.text.is_some() => Sort::Text,
            "reasoning" if self.text.is_some() => Sort::Reasoning,
            "tool" if self.state.is_some() => Sort::Tool,
            "file" if self.url.is_some() => Sort::File,
            "retry" => Sort::Retry,
            "compaction" => Sort::Compaction,
            "step-start" | "step-finish" => Sort::Step,
            _ => Sort::Other,
        }
    }

    /// The origin of the text, if the author did not write it.
    pub(in crate::dialects::agents) fn origin(&self) -> Option<Origin> {
        self.aside.map(|aside| {
            aside.note(Field::ItemOrigin);
            Origin::Harness
        })
    }

    /// Notes the tag with the part's type.
    pub(in crate::dialects::agents) fn note_kind(&self) {
        self.kind.note_text(Field::Structure);
    }
}

/// The sorts of parts that are read differently.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::dialects::agents) enum Sort {
    Text,
    Reasoning,
    Tool,
    File,
    /// A model call failed and is retried.
    Retry,
    Compaction,
    /// A model call starts or ends.
    Step,
    /// Any other part, known or not: a notice.
    Other,
}

impl Sort {
    /// The author of a message that starts with this part: a model's message starts with a step.
    pub(in crate::dialects::agents) const fn first_author(self, part: &str) -> Author {
        match (self, part.as_bytes()) {
            (Sort::Text | Sort::File | Sort::Compaction, _) => Author::User,
            (Sort::Other, b"agent" | b"subtask") => Author::User,
            (Sort::Reasoning | Sort::Tool | Sort::Retry | Sort::Step | Sort::Other, _) => Author::Assistant,
        }
    }
}

/// Reports a row or a file of a store that holds no JSON object: the store gives its text in `raw`.
pub(super) fn report_unreadable(document: Val<'_>, out: &mut EventSink<'_>) {
    if document.str_or_empty("type") == "unreadable" && document.has_str("raw") {
        out.problem(Code::InvalidJson, None, "this row or file of the store holds no JSON object");
    }
}

/// Reads a part that is a separate document. `said` is the time a run printed it.
pub(in crate::dialects::agents) fn read_alone<'t>(
    part: &PartMembers<'t>,
    author: Author,
    said: Option<Val<'t>>,
    out: &mut EventSink<'_>,
) {
    let begin = |head: &mut ItemHead<'t>| {
        head.native_id = part.id.take_text(Field::ItemId);
        head.parent = part.message.take_text(Field::ItemParent);
        // The time of a tool part is the start of its tool.
        let start = if part.sort() == Sort::Tool { tool::start(part) } else { part.start() };
        let time = start.or_else(|| said.and_then(moment));
        head.time = time.map(|time| time.take(Field::ItemTime));
    };
    match part.sort() {
        Sort::Text | Sort::File => {
            part.note_kind();
            let mut head = out.head(ItemKind::Message, author);
            begin(&mut head);
            head.origin = part.origin();
            let item = out.start(head);
            read_content(part, item, 0, out);
            out.complete(item);
        }
        Sort::Reasoning => {
            let mut head = out.head(ItemKind::Reasoning, Author::Assistant);
            begin(&mut head);
            reasoning(part, head, out);
        }
        Sort::Tool => {
            part.note_kind();
            let mut head = out.head(ItemKind::Message, Author::Assistant);
            begin(&mut head);
            let item = out.start(head);
            tool::read(part, item, None, None, out);
            out.complete(item);
        }
        Sort::Retry | Sort::Compaction => {
            if let Some(time) = said.and_then(moment) {
                out.event(&Event::Clock(time.note(Field::EventTime)));
            }
            read_event(part, out);
        }
        Sort::Step | Sort::Other => {
            report_unreadable(part.root, out);
            let mut head = notice_head(part, out);
            begin(&mut head);
            let item = out.start(head);
            notice_content(part, item, out);
            out.complete(item);
        }
    }
}

/// Reads a part within its message. `split` marks a message with both typed and injected text.
pub(in crate::dialects::agents) fn read_within(
    part: &PartMembers<'_>,
    number: u32,
    (item, author): (ItemId, Author),
    split: bool,
    out: &mut EventSink<'_>,
) {
    match part.sort() {
        Sort::Text if split && part.aside.is_some() => {
            part.note_kind();
            let mut head = out.head(ItemKind::Message, author);
            head.within = Some(item);
            head.origin = part.origin();
            let inner = out.start(head);
            read_content(part, inner, 0, out);
            out.complete(inner);
        }
        Sort::Text | Sort::File => {
            part.note_kind();
            read_content(part, item, number, out);
        }
        Sort::Reasoning => {
            let mut head = out.head(ItemKind::Reasoning, Author::Assistant);
            head.within = Some(item);
            head.native_id = part.id.take_text(Field::ItemId);
            head.time = part.start().map(|time| time.take(Field::ItemTime));
            reasoning(part, head, out);
        }
        Sort::Tool => {
            part.note_kind();
            tool::read(part, item, part.id, tool::start(part), out);
        }
        // Steps mark the start and end of the message and repeat its values; retries and compactions were emitted as
        // events.
        Sort::Step | Sort::Retry | Sort::Compaction => part.note_kind(),
        Sort::Other => {
            report_unreadable(part.root, out);
            let mut head = notice_head(part, out);
            head.within = Some(item);
            let inner = out.start(head);
            notice_content(part, inner, out);
            out.complete(inner);
        }
    }
}

/// Emits the event of a retry or compaction part.
pub(in crate::dialects::agents) fn read_event(part: &PartMembers<'_>, out: &mut EventSink<'_>) {
    part.note_kind();
    if part.sort() == Sort::Compaction {
        let auto = part.root.get("auto").filter(|auto| auto.kind() == Kind::Bool);
        let trigger = auto.map(|auto| {
            auto.note(Field::CompactionTrigger);
            Str::escaped(if auto.bool() == Some(true) { "auto" } else { "manual" })
        });
        let kept_from = part.root.note_str("tail_start_id", Field::CompactionKeptFrom);
        out.event(&Event::Compacted(Compaction { trigger, kept_from, ..Compaction::default() }));
    } else {
        out.event(&Event::Error(failure(part.root.get("error"))));
    }
}

/// Parses an `error`: its name, and the details in `data`.
pub(in crate::dialects::agents) fn failure(error: Option<Val<'_>>) -> Failure<'_> {
    const WANTED: WantedNames<3> = WantedNames::new(["message", "statusCode", "isRetryable"]);
    let code = error.and_then(|error| error.note_str("name", Field::ErrorCode));
    let data = error.and_then(|error| error.get("data"));
    let [message, status, _] = data.map(|data| data.find(&WANTED)).unwrap_or_default();
    let status = status.note_count(Field::ErrorStatus).and_then(|status| u16::try_from(status).ok());
    let named = code.as_ref().and_then(|code| FAILURES.value(code));
    Failure {
        class: named.or(status.map(FailureClass::of_status)).unwrap_or(FailureClass::Other),
        status,
        code,
        message: message.note_text(Field::ErrorMessage).unwrap_or_default(),
        request_id: None,
        retry_after: None,
    }
}

const FAILURES: Words<FailureClass> = Words(&[
    (FailureClass::Authentication, "ProviderAuthError"),
    (FailureClass::ContextTooLong, "ContextOverflowError"),
]);

/// Emits the text or media of a part as part `number` of the item.
fn read_content(part: &PartMembers<'_>, item: ItemId, number: u32, out: &mut EventSink<'_>) {
    if part.sort() == Sort::File {
        if let Some(media) = media(part.root, part.url, ItemKindTag::Message) {
            out.delta(item, number, Part::Media(media));
        }
    } else if let Some(text) = part.text.take_text(Field::MessageText) {
        out.delta(item, number, Part::Text(text));
    }
}

/// The media of a `file` part or an attachment.
pub(super) fn media<'t>(file: Val<'t>, url: Option<Val<'t>>, of: ItemKindTag) -> Option<Media<'t>> {
    let [mime, name] = file.get_all(["mime", "filename"]);
    let mime = mime.filter(|mime| mime.kind() == Kind::String);
    let url = url?;
    let mut media = match from_data_url(Some(url).word()) {
        // The media type is in both places; a hole can be filled only if both are equal.
        Some(media) if mime.and_then(|mime| mime.str()) == media.media_type => {
            url.take(of.media());
            media
        }
        Some(media) => {
            url.note(of.media());
            media
        }
        None => Media::new(None, MediaSource::Url(url.take_text(of.media())?)),
    };
    media.media_type = mime.take_text(Field::MediaType).or(media.media_type);
    media.name = name.take_text(Field::MediaName);
    Some(media)
}

fn reasoning(part: &PartMembers<'_>, head: ItemHead<'_>, out: &mut EventSink<'_>) {
    part.note_kind();
    let item = out.start(head);
    if let Some(text) = part.text.take_text(Field::ReasoningText) {
        out.delta(item, 0, Part::Text(text));
    }
    if let Some(opaque) = opaque(part) {
        out.delta(item, 1, Part::Opaque(opaque));
    }
    out.complete(item);
}

/// The opaque state of a reasoning part.
pub(in crate::dialects::agents) fn opaque<'t>(part: &PartMembers<'t>) -> Option<Opaque<'t>> {
    let (provider, kind, value) = state(part.root)?;
    // The writer restores state only at the paths of known providers, so state of other providers is noted, not taken.
    let known = PROVIDERS.iter().any(|known| provider.is(known));
    let value = if known { value.take_text(kind.field()) } else { value.note_text(kind.field()) };
    Some(Opaque { kind, issuer: provider, value: value? })
}

/// Providers whose state can be restored in place.
pub(super) const PROVIDERS: [&str; 3] = ["anthropic", "openai", "google"];

/// Member names of opaque state in the metadata of reasoning.
pub(super) const STATES: [(&str, OpaqueKind); 4] = [
    ("signature", OpaqueKind::Signature),
    ("thoughtSignature", OpaqueKind::Signature),
    ("reasoningEncryptedContent", OpaqueKind::Encrypted),
    ("redactedData", OpaqueKind::Encrypted),
];

/// Opaque state, with the provider that `metadata` names.
pub(super) fn state(part: Val<'_>) -> Option<(Str<'_>, OpaqueKind, Val<'_>)> {
    let metadata = part.get("metadata")?;
    metadata.members().find_map(|(provider, state)| {
        let named = |(name, kind): (&str, OpaqueKind)| {
            Some((provider.clone(), kind, state.get(name).filter(|state| state.kind() == Kind::String)?))
        };
        STATES.into_iter().find_map(named)
    })
}

/// The head of a notice, named by the part's type. A name equal to an author would make the notice a message.
fn notice_head<'t>(part: &PartMembers<'t>, out: &mut EventSink<'_>) -> ItemHead<'t> {
    let kind = part.kind.filter(|kind| !kind.is("system") && !kind.is("developer"));
    let event_type = kind.note_text(Field::NoticeType);
    let mut head = out.head(ItemKind::Notice(Notice { event_type }), Author::System);
    if part.kind.word() == "patch" {
        head.shape = Shape::List;
    }
    head
}

/// The content of a notice, where the type is known. The value also remains in place.
fn notice_content(part: &PartMembers<'_>, item: ItemId, out: &mut EventSink<'_>) {
    let name = match part.kind.word() {
        "patch" => {
            let files = part.root.get("files");
            for (number, file) in files.into_iter().flat_map(|files| files.elements()).enumerate() {
                if let Some(path) = file.note_text(Field::FilePath) {
                    let file = FileRef { path, action: Str::escaped("patch"), diff: None };
                    out.delta(item, number as u32, Part::File(file));
                }
            }
            return;
        }
        "subtask" => "prompt",
        "agent" => "name",
        // An unknown type may have text.
        _ => "text",
    };
    if let Some(text) = part.root.note_str(name, Field::NoticeText) {
        out.delta(item, 0, Part::Text(text));
    }
}
