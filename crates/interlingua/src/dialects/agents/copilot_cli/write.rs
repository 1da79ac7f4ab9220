//! Items to lines. A kept line is written back byte for byte; another agent's session becomes a file that Copilot
//! resumes.

use std::collections::VecDeque;

use super::read::{MOST_JOINED, value_key};
use super::results::ACTIONS;
use crate::blocks::joined_texts;
use crate::json::{Raw, Str};
use crate::ledger::{Reason, TextDigest, text_key};
use crate::log::{
    AnswersTogether, CallValues, FrameHead, GatheredContent, GatheredItem, LogBuilder, LogForm, LogRules,
    MediaRules, NativeElement, NativeObject, NativeValue, SessionHead, SessionIds, has_hole, is_uuid,
    name_with_group, stage, text_of,
};
use crate::model::{
    Author, CallKind, Field, FileRef, ItemHead, ItemId, ItemKind, ItemKindTag, Media, MediaSource, Opaque,
    OpaqueKind, Origin, Part, issuers,
};
use crate::pipe::WriterOutput;
use crate::tape::Val;
use crate::wire::backends::NameRule;

/// Copilot requires a version in the file; resuming was tested with the version below.
const VERSION: &str = "1.0.102";

#[derive(Default)]
pub(super) struct CopilotForm {
    /// The parts of a response already filled into kept lines, if several lines hold one response.
    said: AnswerProgress,
    /// Further lines of a response: the key of the line's id, and the key of the response's id. A later line names its
    /// parent by the first, and its item by the second.
    joined: VecDeque<(u128, u128)>,
}

#[derive(Default)]
struct AnswerProgress {
    item: Option<ItemId>,
    texts: usize,
    thoughts: usize,
    calls: usize,
}

impl LogForm for CopilotForm {
    const RULES: LogRules = LogRules {
        dialect: super::DIALECT.name,
        issuer: issuers::COPILOT,
        origins: &[Origin::Own, Origin::Harness],
        calls: &[CallKind::Function, CallKind::FreeText],
        media: MediaRules { types: &["image/"], ..MediaRules::NONE },
        // A Copilot response is one line with its reasoning, text and calls. Reasoning alone would be sent as an empty
        // response, which some APIs refuse.
        stages: &[stage::<AnswersTogether>],
        chained: true,
        session_head: &[
            Field::SessionId,
            Field::SessionCwd,
            Field::SessionStart,
            Field::SessionBranch,
            Field::SessionCommit,
            Field::SessionRepository,
        ],
        session: &[Field::SessionModel],
        session_ids: SessionIds::Uuid,
        // Copilot can continue with any vendor's model; all vendors accept call ids under this rule.
        call_ids: NameRule::TOOL,
        ..LogRules::NOTHING
    };

    fn kept<'g>(&mut self, item: GatheredItem<'g>, kept: Val<'_>) -> NativeObject<'g> {
        let ItemHead { native_id, parent, time, agent, kind, author, .. } = item.head();
        let mut line = NativeObject::new();
        line.put_some("id", native_id.as_ref())
            .put_some("parentId", parent.as_ref().map(|parent| self.parent(parent, kept)))
            .put_some("timestamp", time.as_ref())
            .put_some("agentId", agent.as_ref());
        let data = match kind {
            ItemKind::Notice(_) => match item.parts().next() {
                Some(Part::Json(json)) => {
                    line.put("data", json);
                    return line;
                }
                Some(Part::Media(media)) => asset(media),
                _ => return line,
            },
            ItemKind::ToolResult(_) => result_data(item),
            ItemKind::Message if *author == Author::Assistant => self.answer_piece(item, kept),
            ItemKind::Message | ItemKind::Reasoning | ItemKind::ToolCall(_) => message_data(item),
        };
        line.put("data", data);
        line
    }

    fn class_of(list: &str, element: Val<'_>) -> usize {
        usize::from(list == "attachments" && element.str_or_empty("type") == "blob")
    }

    fn lose_of_head(
        &self,
        head: &ItemHead<'_>,
        around: Option<GatheredItem<'_>>,
        out: &mut WriterOutput<'_>,
    ) {
        if around.is_some() {
            return;
        }
        for (field, id) in [(Field::ItemId, &head.native_id), (Field::ItemParent, &head.parent)] {
            if let Some(id) = id.as_ref().filter(|id| !is_uuid(id.as_escaped())) {
                out.lose_str(field, id, Reason::Refused);
            }
        }
    }

    fn build(&mut self, item: GatheredItem<'_>, log: &mut LogBuilder<'_, '_>) {
        let mut lines = Vec::new();
        for content in item.blocks() {
            if let GatheredContent::Item(inner) = content
                && let ItemKind::ToolResult(_) = inner.head().kind
            {
                lines.push((inner.head().id, "tool.execution_complete", built_result(inner, log)));
            }
        }
        if let Some((kind, data)) = built_message(item, log) {
            let at = if item.head().author == Author::Assistant { 0 } else { lines.len() };
            lines.insert(at, (item.head().id, kind, data));
        }
        if lines.is_empty() {
            return;
        }
        let before = if log.has_frames() { None } else { Some(write_head(item, log)) };
        let others = lines.split_last().map_or(&[][..], |(_, others)| others);
        let frames = log.frames_of(item, others.iter().map(|(number, ..)| *number));
        for (FrameHead { id, parent, time }, (_, kind, mut data)) in frames.into_iter().zip(lines) {
            let parent = parent.as_ref().map(uuid_of).or_else(|| before.clone());
            let ItemHead { agent, parent_call, .. } = item.head();
            data.put_some("parentToolCallId", parent_call.as_ref());
            let mut line = NativeObject::typed(kind);
            line.put("data", data).put_some("agentId", agent.as_ref());
            line.put("id", uuid_of(&id)).put("timestamp", time).put("parentId", parent);
            log.write(line);
        }
    }
}

/// The key of an id. Lines hold ids in quotes.
fn id_key(id: &Str<'_>) -> u128 {
    text_key(&format!("\"{}\"", id.as_escaped()))
}

/// Writes the head of the file and returns its id.
fn write_head(item: GatheredItem<'_>, log: &mut LogBuilder<'_, '_>) -> Str<'static> {
    let id = Str::from_plain(&log.made_up_id(ItemId(0)));
    let SessionHead { id: session, start, cwd } = log.session_head(item);
    let mut context = NativeObject::new();
    context
        .put("cwd", cwd)
        .put_some("branch", log.say(Field::SessionBranch))
        .put_some("headCommit", log.say(Field::SessionCommit))
        .put_some("repository", log.say(Field::SessionRepository));
    let mut data = NativeObject::new();
    data.put("sessionId", session).put("version", Raw::new("1")).literal("producer", "interlingua");
    data.literal("copilotVersion", VERSION).put("startTime", start.clone()).put("context", context);
    let mut head = NativeObject::typed("session.start");
    head.put("data", data).put("id", id.clone()).put("timestamp", start).put("parentId", Raw::new("null"));
    log.write(head);
    id
}

/// An id in Copilot's form: an id that is not a UUID is replaced by a UUID derived from it.
fn uuid_of(id: &Str<'_>) -> Str<'static> {
    if is_uuid(id.as_escaped()) {
        return id.clone().into_owned();
    }
    let digest = TextDigest::of(id.as_escaped());
    Str::from_plain(&format!(
        "{:08x}-{:04x}-4{:03x}-8{:03x}-{:012x}",
        digest >> 96,
        digest >> 80 & 0xffff,
        digest >> 64 & 0xfff,
        digest >> 48 & 0xfff,
        digest & 0xffff_ffff_ffff
    ))
}

impl CopilotForm {
    /// The parent of an item, in the form of a kept line: the line may name a further line of the response.
    fn parent<'g>(&self, parent: &'g Str<'_>, kept: Val<'_>) -> NativeValue<'g> {
        let kept = kept.get("parentId").map(value_key);
        let own = Some(id_key(parent));
        if self.joined.iter().any(|(line, item)| (Some(*line), Some(*item)) == (kept, own)) {
            return NativeValue::Otherwise(Raw::new(parent.as_escaped()));
        }
        parent.into()
    }

    /// The values of a response for one line: all of them, or the next piece.
    fn answer_piece<'g>(&mut self, item: GatheredItem<'g>, kept: Val<'_>) -> NativeObject<'g> {
        if self.said.item != Some(item.head().id) {
            self.said = AnswerProgress { item: Some(item.head().id), ..AnswerProgress::default() };
        } else if let (Some(line), Some(item)) = (kept.get("id"), &item.head().native_id) {
            if self.joined.len() == MOST_JOINED {
                self.joined.pop_front();
            }
            self.joined.push_back((value_key(line), id_key(item)));
        }
        let kept = kept.get("data");
        let hole = |name: &str| kept.and_then(|data| data.get(name)).is_some_and(has_hole);
        let mut data = NativeObject::new();
        let ItemHead { model, phase, parent_call, .. } = item.head();
        data.put_some("model", model.as_ref()).put_some("phase", phase.as_ref());
        data.put_some("parentToolCallId", parent_call.as_ref());
        let mut texts = item.parts().filter_map(text_of).skip(self.said.texts);
        if let Some(text) = texts.next() {
            data.put("content", text);
            self.said.texts += usize::from(hole("content"));
        }
        let thinks = ["reasoningText", "reasoningOpaque", "encryptedContent"].into_iter().any(hole);
        if let Some(thoughts) = inner(item, ItemKindTag::Reasoning).nth(self.said.thoughts) {
            data.append(thinking(std::iter::once(thoughts), None));
            self.said.thoughts += usize::from(thinks);
        }
        let calls =
            inner(item, ItemKindTag::Call).skip(self.said.calls).filter_map(|call| request(call, None));
        data.put("toolRequests", calls.collect::<NativeValue<'_>>());
        let requests = kept.and_then(|data| data.get("toolRequests"));
        let requests = requests.into_iter().flat_map(|list| list.elements());
        self.said.calls += requests.filter(|request| has_hole(*request)).count();
        data
    }
}

/// The items of one kind within a message.
fn inner(item: GatheredItem<'_>, of: ItemKindTag) -> impl Iterator<Item = GatheredItem<'_>> {
    item.blocks().into_iter().filter_map(move |content| match content {
        GatheredContent::Item(inner) if inner.of() == of => Some(inner),
        GatheredContent::Item(_) | GatheredContent::Part(_) => None,
    })
}

fn request<'g>(item: GatheredItem<'g>, log: Option<&mut LogBuilder<'_, '_>>) -> Option<NativeObject<'g>> {
    let ItemKind::ToolCall(call) = &item.head().kind else { return None };
    let free_text = call.kind == CallKind::FreeText;
    let mut object = NativeObject::new();
    let built = log.is_some();
    let CallValues { id, name, arguments } = match log {
        // A free-text tool takes its input as a string.
        Some(log) if free_text => {
            let values = CallValues::new(item, call, None);
            CallValues { id: Some(log.call_id(item, call)), name: name_with_group(call), ..values }
        }
        log => CallValues::new(item, call, log),
    };
    object.put_some("toolCallId", id).put("name", name).put_some("arguments", arguments);
    if built {
        object.literal("type", if free_text { "custom" } else { "function" });
    }
    Some(object)
}

/// The reasoning of a line; a built line holds all reasoning of the response.
fn thinking<'g>(
    items: impl Iterator<Item = GatheredItem<'g>>,
    mut log: Option<&mut LogBuilder<'_, '_>>,
) -> NativeObject<'g> {
    let mut texts = Vec::new();
    let mut data = NativeObject::new();
    for part in items.flat_map(GatheredItem::parts) {
        if let Part::Opaque(Opaque { kind, value, .. }) = part {
            let name = match kind {
                OpaqueKind::Signature => "reasoningOpaque",
                OpaqueKind::Encrypted => "encryptedContent",
            };
            match &mut log {
                // A line has one member for each kind of state.
                Some(log) if data.get(name).is_some() => {
                    log.lose(kind.field(), Reason::NoSlot);
                    log.lose(Field::Issuer, Reason::NoSlot);
                }
                _ => _ = data.put(name, value),
            }
        } else if let Some(text) = text_of(part) {
            if !texts.is_empty() {
                texts.push(Str::escaped("\\n\\n"));
            }
            texts.push(text);
        }
    }
    if !texts.is_empty() {
        data.put("reasoningText", NativeValue::Joined(texts));
    }
    data
}

/// An asset's bytes, which other lines refer to by id.
fn asset<'g>(media: &'g Media<'_>) -> NativeObject<'g> {
    let Media { media_type, source, name, .. } = media;
    let mut data = NativeObject::new();
    data.put_some("assetId", name.as_ref()).put_some("mimeType", media_type.as_ref());
    data.put("data", source.text());
    data
}

/// The data of a user or system message.
fn message_data(item: GatheredItem<'_>) -> NativeObject<'_> {
    let mut data = NativeObject::new();
    let mut attachments = Vec::new();
    for part in item.parts() {
        match part {
            Part::Media(media) => attachments.push(NativeElement { class: 1, value: blob(media).into() }),
            Part::File(FileRef { path, .. }) => {
                let mut file = NativeObject::new();
                file.put("path", path).put("filePath", path);
                attachments.push(NativeElement { class: 0, value: file.into() });
            }
            part => {
                if let Some(text) = text_of(part) {
                    data.put("content", text.clone()).put("summaryContent", text);
                }
            }
        }
    }
    data.put_some("parentToolCallId", item.head().parent_call.as_ref());
    data.put("attachments", NativeValue::List(attachments));
    data
}

fn blob<'g>(media: &'g Media<'_>) -> NativeObject<'g> {
    let Media { media_type, source, name, .. } = media;
    let mut blob = NativeObject::typed("blob");
    let member = if matches!(source, MediaSource::File(_)) { "assetId" } else { "data" };
    blob.put(member, source.text()).put_some("mimeType", media_type.as_ref());
    blob.put_some("displayName", name.as_ref());
    blob
}

fn result_data(item: GatheredItem<'_>) -> NativeObject<'_> {
    let (mut result, mut error, mut data) = (NativeObject::new(), NativeObject::new(), NativeObject::new());
    let (mut pictures, mut files, mut diffs) = (Vec::new(), Vec::new(), Vec::new());
    for part in item.parts() {
        match part {
            Part::Media(media) => pictures.push(blob(media)),
            Part::File(FileRef { path, action, diff }) => {
                let mut file = NativeObject::new();
                let known = ACTIONS.iter().find(|(_, ours)| action.is(ours));
                let kind = known.map_or(action.reborrow(), |(native, _)| Str::escaped(native));
                file.put("path", path).put("kind", kind);
                files.push(file);
                diffs.extend(diff.as_ref().map(Str::reborrow));
            }
            Part::Json(json) => _ = result.put("structuredContent", json),
            part => {
                if let Some(text) = text_of(part) {
                    result.put("content", text.clone());
                    error.put("message", text);
                }
            }
        }
    }
    if !diffs.is_empty() {
        result.put("detailedContent", NativeValue::Joined(diffs));
    }
    result.put("binaryResultsForLlm", pictures);
    error.put_some("code", item.tail().native_status.as_ref());
    data.put_some("toolCallId", item.call_id()).put("result", result).put("error", error);
    data.put("fileEdits", files).put_some("parentToolCallId", item.head().parent_call.as_ref());
    data
}

/// A result for a built line.
fn built_result<'g>(item: GatheredItem<'g>, log: &mut LogBuilder<'_, '_>) -> NativeObject<'g> {
    let (id, _) = log.answered(item);
    let failed = item.tail().is_error == Some(true);
    let mut data = NativeObject::new();
    data.put("toolCallId", id).put("success", !failed);
    let content = NativeValue::Joined(joined_texts(item.parts()));
    if failed {
        let mut error = NativeObject::new();
        error.put("message", content);
        data.put("error", error);
        for media in media_of(item) {
            log.lose(Field::ResultMedia, Reason::NoSlot);
            if media.media_type.is_some() {
                log.lose(Field::MediaType, Reason::NoSlot);
            }
        }
    } else {
        let mut result = NativeObject::new();
        result.put("content", content);
        let pictures = pictures(item, "image");
        if !pictures.is_empty() {
            result.put("binaryResultsForLlm", pictures);
        }
        data.put("result", result);
    }
    if let Some(code) = item.tail().exit_code {
        let mut shell = NativeObject::new();
        shell.put("exitCode", Raw::owned(code.to_string()));
        data.put("shellExecution", shell);
    }
    data
}

/// A message for a built line. Several texts are joined with an empty line.
fn built_message<'g>(
    item: GatheredItem<'g>,
    log: &mut LogBuilder<'_, '_>,
) -> Option<(&'static str, NativeObject<'g>)> {
    let blocks = item.blocks();
    let own = blocks.iter().filter_map(|content| match content {
        GatheredContent::Part(part) => Some(*part),
        GatheredContent::Item(_) => None,
    });
    let texts = joined_texts(own);
    let mut data = NativeObject::new();
    if item.head().author == Author::Assistant
        || matches!(item.of(), ItemKindTag::Reasoning | ItemKindTag::Call)
    {
        let mut calls = Vec::new();
        for call in inner(item, ItemKindTag::Call) {
            calls.extend(request(call, Some(log)));
        }
        let thoughts = thinking(inner(item, ItemKindTag::Reasoning), Some(log));
        if texts.is_empty() && calls.is_empty() && thoughts.is_empty() {
            return None;
        }
        data.put("messageId", uuid_of(&log.id_of(item))).put("model", log.model_of(item));
        data.put("content", NativeValue::Joined(texts)).put("toolRequests", calls).append(thoughts);
        return Some(("assistant.message", data));
    }
    // The pictures of a result are in its own line.
    let is_result = item.of() == ItemKindTag::Result;
    let pictures = if is_result { Vec::new() } else { pictures(item, "blob") };
    if texts.is_empty() && pictures.is_empty() {
        return None;
    }
    data.put("content", NativeValue::Joined(texts));
    if !pictures.is_empty() {
        data.put("attachments", pictures);
    }
    match item.head().origin {
        Some(Origin::Harness) => _ = data.literal("source", "system"),
        Some(Origin::Own) => _ = data.literal("source", "user"),
        Some(Origin::Agent | Origin::Summary | Origin::Command) | None => {}
    }
    Some(("user.message", data))
}

fn pictures<'g>(item: GatheredItem<'g>, kind: &'g str) -> Vec<NativeObject<'g>> {
    let picture = |media: &'g Media<'static>| {
        let mut picture = NativeObject::typed(kind);
        picture.put("data", media.source.text()).put_some("mimeType", media.media_type.as_ref());
        picture
    };
    media_of(item).map(picture).collect()
}

fn media_of(item: GatheredItem<'_>) -> impl Iterator<Item = &Media<'static>> {
    item.parts().filter_map(|part| if let Part::Media(media) = part { Some(media) } else { None })
}
