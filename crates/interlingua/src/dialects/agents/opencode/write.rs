//! Items to documents. A kept document is written back byte for byte; another agent's session becomes an export for
//! `opencode import`.

use super::build::ExportBuilder;
use super::part::{PROVIDERS, STATES, state};
use super::{FRAMING, api_like};
use crate::dialects::Options;
use crate::json::Str;
use crate::ledger::Reason;
use crate::log::{
    CallsTogether, GatheredContent, GatheredItem, LogBuilder, LogForm, LogRules, MediaRules, NativeElement,
    NativeObject, NativeValue, OneAgent, SessionIds, stage,
};
use crate::model::{
    Args, Author, CallKind, Field, FileRef, ItemHead, ItemKind, ItemKindTag, Media, MediaSource, Origin,
    Part, ToolCall, issuers,
};
use crate::pipe::WriterOutput;
use crate::tape::{Kind, Val};
use crate::wire::backends::NameRule;

pub(super) struct OpencodeForm {
    export: ExportBuilder,
}

impl OpencodeForm {
    pub(super) fn new(options: &Options) -> Self {
        Self { export: ExportBuilder::new(options.now) }
    }
}

impl LogForm for OpencodeForm {
    const RULES: LogRules = LogRules {
        dialect: super::DIALECT.name,
        framing: FRAMING,
        issuer: issuers::ANTHROPIC,
        origins: &[Origin::Harness, Origin::Summary],
        calls: &[CallKind::Function],
        media: MediaRules { types: &["image/", "application/pdf"], ..MediaRules::NONE },
        // A subagent has a session of its own.
        stages: &[stage::<OneAgent>, stage::<CallsTogether>],
        session_head: &[Field::SessionId, Field::SessionCwd, Field::SessionStart, Field::SessionTitle],
        session: &[Field::SessionModel, Field::SessionProvider, Field::SessionCwd, Field::PermissionMode],
        session_ids: SessionIds::PrefixedWord("ses_"),
        // OpenCode can continue with any vendor's model; all vendors accept call ids under this rule.
        call_ids: NameRule::TOOL,
        ..LogRules::NOTHING
    };

    fn kept<'g>(&mut self, item: GatheredItem<'g>, kept: Val<'_>) -> NativeObject<'g> {
        let mut doc = NativeObject::new();
        // Distinguish documents by the same members as the reader.
        let object = |name| kept.get(name).filter(|val| val.kind() == Kind::Object);
        let has = |name| kept.get(name).is_some();
        if object("info").is_some() {
            doc.put("info", info(item)).put("parts", parts(item));
        } else if let Some(part) = object("part").filter(|_| has("sessionID")) {
            doc.put_some("timestamp", item.head().time.as_ref());
            doc.put("part", part_values(item, part));
        } else if has("messageID") && has("sessionID") && has("type") {
            doc = part_values(item, kept);
        } else if kept.get("sessionID").is_some() {
            doc = info(item);
            doc.put_some("timestamp", item.head().time.as_ref());
        } else {
            doc = api_like::kept(item);
        }
        doc
    }

    fn class_of(list: &str, element: Val<'_>) -> usize {
        match (list, element.str_or_empty("type")) {
            ("parts", "text") => TEXT,
            ("parts", "reasoning") => REASONING,
            ("parts", "tool") => TOOL,
            ("parts", "file") => FILE,
            ("parts", _) => OTHER,
            _ => 0,
        }
    }

    fn issuer_of(kept: Val<'_>) -> Str<'_> {
        let part = kept.get("part").unwrap_or(kept);
        let parts = kept.get("parts").into_iter().flat_map(|parts| parts.elements());
        let issuer = std::iter::once(part).chain(parts).find_map(state).map(|(issuer, ..)| issuer);
        issuer.unwrap_or_default()
    }

    fn lose_of_head(
        &self,
        head: &ItemHead<'_>,
        around: Option<GatheredItem<'_>>,
        out: &mut WriterOutput<'_>,
    ) {
        let ItemHead { author, origin, model, kind, time, .. } = head;
        if let (None, ItemKind::ToolResult(_), Some(time)) = (around, kind, time) {
            // A result stands with its call and has the call's time.
            out.lose_str(Field::ItemTime, &Str::escaped(time.as_str()), Reason::Merged);
        }
        let is_message = *kind == ItemKind::Message;
        if around.is_none()
            && (*author != Author::Assistant || !is_message && matches!(kind, ItemKind::ToolResult(_)))
        {
            out.lose_some(Field::ItemModel, model.as_ref(), Reason::NoSlot);
        }
        let is_summary = *origin == Some(Origin::Summary);
        if is_summary && (*author != Author::Assistant || around.is_some()) {
            out.lose(Field::ItemOrigin, Reason::Narrowed);
        }
    }

    fn build(&mut self, item: GatheredItem<'_>, log: &mut LogBuilder<'_, '_>) {
        self.export.add(item, log);
    }

    fn finish(&mut self, log: &mut LogBuilder<'_, '_>) {
        self.export.end(log);
    }
}

// The classes of parts.
const TEXT: usize = 0;
const REASONING: usize = 1;
const TOOL: usize = 2;
const FILE: usize = 3;
const OTHER: usize = 4;

/// The `info` of a message.
fn info(item: GatheredItem<'_>) -> NativeObject<'_> {
    let ItemHead { native_id, parent, time, model, .. } = item.head();
    let mut created = NativeObject::new();
    created.put_some("created", time.as_ref());
    let mut info = NativeObject::new();
    info.put_some("id", native_id.as_ref()).put_some("parentID", parent.as_ref());
    info.put("time", created).put_some("modelID", model.as_ref());
    let system = item.content().find_map(|content| match content {
        GatheredContent::Item(inner) if inner.head().author == Author::System => inner.only_text(),
        _ => None,
    });
    info.put_some("system", system);
    info
}

/// The parts of a message.
fn parts(item: GatheredItem<'_>) -> NativeValue<'_> {
    let mut parts = Vec::new();
    let mut contents = item.content().peekable();
    while let Some(content) = contents.next() {
        match content {
            GatheredContent::Part(part @ Part::Media(_)) => parts.push((FILE, file(part))),
            GatheredContent::Part(part) => parts.push((TEXT, text(part))),
            GatheredContent::Item(inner) => match &inner.head().kind {
                ItemKind::Message if inner.head().author != Author::System => {
                    parts.extend(inner.parts().map(|part| (TEXT, text(part))));
                }
                ItemKind::Reasoning => parts.push((REASONING, reasoning(inner))),
                ItemKind::ToolCall(call) => {
                    parts.push((TOOL, tool(item, (inner, call), contents.peek().and_then(result_of))));
                }
                ItemKind::Message | ItemKind::ToolResult(_) | ItemKind::Notice(_) => {}
            },
        }
    }
    NativeValue::List(
        parts.into_iter().map(|(class, value)| NativeElement { class, value: value.into() }).collect(),
    )
}

/// The values of a part that is a separate document.
fn part_values<'g>(item: GatheredItem<'g>, kept: Val<'_>) -> NativeObject<'g> {
    let ItemHead { native_id, parent, time, .. } = item.head();
    let mut values = match item.of() {
        ItemKindTag::Reasoning => reasoning(item),
        ItemKindTag::Message => {
            let mut contents = item.content();
            match contents.next() {
                Some(GatheredContent::Item(inner)) => match &inner.head().kind {
                    ItemKind::ToolCall(call) => {
                        tool(item, (inner, call), contents.next().as_ref().and_then(result_of))
                    }
                    _ => NativeObject::new(),
                },
                Some(GatheredContent::Part(part)) if kept.get("url").is_some() => file(part),
                Some(GatheredContent::Part(part)) => text(part),
                None => NativeObject::new(),
            }
        }
        ItemKindTag::Call | ItemKindTag::Result | ItemKindTag::Notice => NativeObject::new(),
    };
    values.put_some("id", native_id.as_ref()).put_some("messageID", parent.as_ref());
    if values.get("state").is_none() && values.get("time").is_none() {
        let mut start = NativeObject::new();
        start.put_some("start", time.as_ref());
        values.put("time", start);
    }
    values
}

fn text<'g>(part: &'g Part<'_>) -> NativeObject<'g> {
    let mut object = NativeObject::new();
    if let Part::Text(text) = part {
        object.put("text", text);
    }
    object
}

fn file<'g>(part: &'g Part<'_>) -> NativeObject<'g> {
    let mut object = NativeObject::new();
    if let Part::Media(Media { media_type, source, name, .. }) = part {
        let url = match (source, media_type) {
            (MediaSource::Base64(data), Some(kind)) => data_url(kind, data),
            (
                MediaSource::Base64(text)
                | MediaSource::Url(text)
                | MediaSource::File(text)
                | MediaSource::Text(text),
                _,
            ) => text.into(),
        };
        object.put_some("mime", media_type.as_ref()).put("url", url).put_some("filename", name.as_ref());
    }
    object
}

/// A data URL.
pub(super) fn data_url<'g>(kind: &'g Str<'_>, data: &'g Str<'_>) -> NativeValue<'g> {
    let texts = vec![Str::escaped("data:"), kind.reborrow(), Str::escaped(";base64,"), data.reborrow()];
    NativeValue::Joined(texts)
}

fn reasoning(item: GatheredItem<'_>) -> NativeObject<'_> {
    let mut start = NativeObject::new();
    start.put_some("start", item.head().time.as_ref());
    let mut object = item.parts().next().map(text).unwrap_or_default();
    object.put_some("id", item.head().native_id.as_ref()).put("time", start);
    if let Some(opaque) = item.opaque() {
        let mut metadata = NativeObject::new();
        // Put the state at every known path; only the path it was taken from has a hole.
        for provider in PROVIDERS {
            let mut values = NativeObject::new();
            for (name, _) in STATES {
                values.put(name, &opaque.value);
            }
            metadata.put(provider, values);
        }
        object.put("metadata", metadata);
    }
    object
}

/// The item, if it is a result.
fn result_of<'g>(content: &GatheredContent<'g>) -> Option<GatheredItem<'g>> {
    match content {
        GatheredContent::Item(inner) if inner.of() == ItemKindTag::Result => Some(*inner),
        GatheredContent::Item(_) | GatheredContent::Part(_) => None,
    }
}

/// A call within a message, and its result.
fn tool<'g>(
    message: GatheredItem<'g>,
    (item, call): (GatheredItem<'g>, &'g ToolCall<'static>),
    result: Option<GatheredItem<'g>>,
) -> NativeObject<'g> {
    let mut time = NativeObject::new();
    let start = item.head().time.as_ref().or(message.head().time.as_ref());
    time.put_some("start", start).put_some("end", result.and_then(|result| result.head().time.as_ref()));
    let mut state = NativeObject::new();
    state.put_some(
        "input",
        item.arguments().map(|args| match args {
            Args::Json(json) => NativeValue::from(json),
            Args::Text(text) => NativeValue::from(text),
        }),
    );
    state.put("time", time);
    if let Some(result) = result {
        put_result(result, &mut state);
    }
    let mut object = NativeObject::new();
    object.put_some("id", item.head().native_id.as_ref());
    object.put("tool", &call.name).put_some("callID", call.call_id.as_ref()).put("state", state);
    object
}

/// Adds the result of a call.
fn put_result<'g>(result: GatheredItem<'g>, state: &mut NativeObject<'g>) {
    let (mut attachments, mut files) = (Vec::new(), Vec::new());
    let mut metadata = NativeObject::new();
    for part in result.parts() {
        match part {
            Part::Text(text) => _ = state.put("output", text).put("error", text),
            Part::Media(_) => attachments.push(file(part)),
            Part::File(FileRef { path, action: _, diff }) => {
                let mut listed = NativeObject::new();
                listed.put("filePath", path).put_some("diff", diff.as_ref());
                if files.is_empty() {
                    let mut changed = NativeObject::new();
                    changed.put("file", path).put_some("patch", diff.as_ref());
                    metadata.put("filediff", changed).put_some("diff", diff.as_ref()).put("filepath", path);
                }
                files.push(listed);
            }
            _ => {}
        }
    }
    metadata.put("files", files);
    state.put("attachments", attachments).put("metadata", metadata);
}
