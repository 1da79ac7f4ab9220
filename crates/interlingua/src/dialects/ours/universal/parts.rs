//! The content of open items. `item.completed` repeats the text of all deltas, so the content is held until the item
//! ends.

use std::collections::HashMap;

use super::item::opt_word;
use super::seed::{self, Members, is_image};
use crate::json::{JsonBuffer, JsonWriter, Raw, Str};
use crate::model::{
    Args, CacheMark, CallKind, Citation, ItemId, ItemKind, Media, MediaSource, Neutral as _, Notice, Opaque,
    OpaqueKind, Part, Spelling, ToolCall, ToolResult,
};

/// The content of an item so far.
#[derive(Default)]
pub(super) struct ItemContent {
    pub(super) pieces: Vec<ContentPart>,
    /// The last piece of each part.
    last: HashMap<(ItemId, u32), usize>,
    /// The positions of each item's pieces.
    of_item: HashMap<ItemId, Vec<usize>>,
    /// The number of pieces whose place an event has shown.
    placed: usize,
}

/// One content part.
pub(super) struct ContentPart {
    form: PartForm,
    /// Escaped text, or a JSON value.
    text: String,
    /// Opaque state of the reasoning.
    state: Option<IssuerState>,
    /// The sources of the text.
    citations: Vec<Citation<'static>>,
    cache: Option<CacheMark<'static>>,
}

struct IssuerState {
    part: u32,
    kind: OpaqueKind,
    issuer: Str<'static>,
    value: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum PartForm {
    Text,
    Refusal,
    Reasoning,
    Summary,
    Arguments,
    Output,
    OutputJson,
    Json,
    /// The text is the serialized part without its last brace.
    Ready,
    /// Only marks of a part that has not arrived.
    Mark,
}

impl ItemContent {
    /// Adds a part or a piece of a part. Returns its index and form if a delta can show it as text.
    pub(super) fn add(
        &mut self,
        kind: &ItemKind<'_>,
        from: (ItemId, u32),
        value: &Part<'_>,
        members: Members,
    ) -> Option<(usize, PartForm)> {
        let result = matches!(kind, ItemKind::ToolResult(_));
        let reasoning = matches!(kind, ItemKind::Reasoning);
        let (form, text) = match value {
            Part::Text(text) if result => (PartForm::Output, text.reborrow()),
            Part::Text(text) if reasoning => (PartForm::Reasoning, text.reborrow()),
            Part::Text(text) => (PartForm::Text, text.reborrow()),
            Part::Summary(text) => (PartForm::Summary, text.reborrow()),
            Part::Refusal(text) => (PartForm::Refusal, text.reborrow()),
            Part::Args(Args::Text(text)) => (PartForm::Arguments, text.reborrow()),
            Part::Args(Args::Json(json)) => (PartForm::Arguments, Str::plain(json.as_str())),
            Part::Json(json) if result => (PartForm::OutputJson, Str::plain(json.as_str())),
            Part::Json(json) => (PartForm::Json, Str::escaped(json.as_str())),
            Part::Citation(citation) => {
                self.marked(from).citations.push(citation.clone().into_owned());
                return None;
            }
            Part::Cache(mark) => {
                if self.marked(from).cache.is_some() {
                    self.push(from, PartForm::Mark);
                }
                self.marked(from).cache = Some(mark.clone().into_owned());
                return None;
            }
            Part::Media(media) => return self.add_ready(from, |json| put_media(media, members, json)),
            Part::File(file) => {
                return self.add_ready(from, |json| {
                    json.object().key("type").literal("file_ref");
                    if members.is_closed() {
                        json.key("path").str(&file.path).key("action").literal(seed::action(file));
                        json.opt_str("diff", file.diff.as_ref());
                        return;
                    }
                    file.write_members(&[], Spelling::Snake, json);
                });
            }
            Part::Opaque(opaque) => {
                self.add_opaque(from, opaque);
                return None;
            }
        };
        // Text grows; a JSON value arrives whole.
        let grows = !matches!(form, PartForm::Json | PartForm::OutputJson);
        let same = |at: &usize| self.pieces.get(*at).is_some_and(|piece| grows && piece.form == form);
        let known = self.last.get(&from).copied().filter(same);
        let at = known.unwrap_or_else(|| self.push(from, form));
        self.pieces.get_mut(at)?.text.push_str(text.as_escaped());
        Some((at, form))
    }

    /// The parts without text so far, as JSON, if no earlier event has shown their place.
    pub(super) fn preceding(&mut self) -> Option<String> {
        let end = self.pieces.len();
        let is_due = self.pieces.get(self.placed..end)?.iter().any(ContentPart::lacks_delta);
        is_due.then(|| {
            let mut parts = JsonBuffer::default();
            self.put_preceding(end, &mut parts.hold());
            parts.held().to_owned()
        })
    }

    /// Writes the parts without text before the part of a delta, if no earlier event has shown their place.
    pub(super) fn write_preceding(&mut self, at: usize, json: &mut JsonWriter<'_>) {
        let before = self.pieces.get(self.placed..at).unwrap_or_default();
        if before.iter().any(ContentPart::lacks_delta) {
            json.key("preceding");
            self.put_preceding(at, json);
        }
        self.placed = self.placed.max(at + 1);
    }

    fn put_preceding(&mut self, end: usize, json: &mut JsonWriter<'_>) {
        json.array();
        for (number, piece) in self.pieces.iter().enumerate().take(end).skip(self.placed) {
            if piece.lacks_delta() {
                json.object().key("part").u64(number as u64).key("content");
                piece.put(&ItemKind::Message, Members::All, json);
                json.end_object().end_object();
            }
        }
        json.end_array();
        self.placed = self.placed.max(end);
    }

    fn push(&mut self, from: (ItemId, u32), form: PartForm) -> usize {
        let at = self.pieces.len();
        self.last.insert(from, at);
        self.of_item.entry(from.0).or_default().push(at);
        let (text, citations) = (String::new(), Vec::new());
        self.pieces.push(ContentPart { form, text, state: None, citations, cache: None });
        at
    }

    /// The piece that a mark applies to.
    fn marked(&mut self, from: (ItemId, u32)) -> &mut ContentPart {
        let at = self.last.get(&from).copied().unwrap_or_else(|| self.push(from, PartForm::Mark));
        // `last` holds valid indices of `pieces`.
        &mut self.pieces[at]
    }

    fn add_ready(
        &mut self,
        from: (ItemId, u32),
        write: impl FnOnce(&mut JsonWriter<'_>),
    ) -> Option<(usize, PartForm)> {
        let mut ready = JsonBuffer::default();
        write(&mut ready.hold());
        let at = self.push(from, PartForm::Ready);
        self.pieces.get_mut(at)?.text.push_str(ready.held());
        None
    }

    /// Adds opaque state to its reasoning, or extends existing state.
    fn add_opaque(&mut self, (item, part): (ItemId, u32), opaque: &Opaque<'_>) {
        let Opaque { kind, issuer, value } = opaque;
        let of_item = self.of_item.get(&item).map_or(&[][..], Vec::as_slice);
        let own = || of_item.iter().rev().filter_map(|at| Some((*at, self.pieces.get(*at)?)));
        let same = |piece: &ContentPart| {
            let state = piece.state.as_ref();
            state.is_some_and(|state| state.part == part && state.kind == *kind && state.issuer == *issuer)
        };
        let bare = |piece: &ContentPart| {
            piece.state.is_none() && matches!(piece.form, PartForm::Reasoning | PartForm::Summary)
        };
        let known = own().find(|(_, piece)| same(piece)).or_else(|| own().find(|(_, piece)| bare(piece)));
        let known = known.map(|(at, _)| at);
        // The text of the state may still arrive, as part 0.
        let at = known.unwrap_or_else(|| self.push((item, 0), PartForm::Reasoning));
        if let Some(piece) = self.pieces.get_mut(at) {
            let state =
                IssuerState { part, kind: *kind, issuer: issuer.clone().into_owned(), value: String::new() };
            piece.state.get_or_insert(state).value.push_str(value.as_escaped());
        }
    }
}

/// Writes the content of an item: the members of its kind, then its parts.
pub(super) fn write(
    kind: &ItemKind<'_>,
    parts: &[ContentPart],
    complete: bool,
    members: Members,
    json: &mut JsonWriter<'_>,
) {
    json.array();
    let mut parts = parts;
    match kind {
        ItemKind::ToolCall(call) if !parts.iter().any(|part| part.form == PartForm::Arguments) => {
            put_call(call, if complete { "{}" } else { "" }, members, json);
            json.end_object();
        }
        ItemKind::ToolResult(result) if !parts.iter().any(|part| is_output(part.form)) => {
            put_output(result, PartForm::Output, "", members, json);
            json.end_object();
        }
        ItemKind::Notice(Notice { event_type }) => {
            let label = event_type.as_ref().map_or("unknown", Str::as_escaped);
            json.object().key("type").literal("status").key("label").literal(label);
            if let Some((piece, others)) =
                parts.split_first().filter(|(piece, _)| piece.form == PartForm::Text)
            {
                json.key("detail").literal(&piece.text);
                piece.put_marks(members, json);
                parts = others;
            }
            json.end_object();
        }
        ItemKind::Message | ItemKind::Reasoning | ItemKind::ToolCall(_) | ItemKind::ToolResult(_) => {}
    }
    // Marks without their part have no member in the public schema.
    let is_shown = |piece: &&ContentPart| members == Members::All || piece.form != PartForm::Mark;
    for piece in parts.iter().filter(is_shown) {
        piece.put(kind, members, json);
        piece.put_marks(members, json);
        json.end_object();
    }
    json.end_array();
}

impl ContentPart {
    /// Whether the part has no text that a delta could show.
    fn lacks_delta(&self) -> bool {
        match self.form {
            PartForm::Reasoning | PartForm::Summary => self.text.is_empty(),
            PartForm::Ready | PartForm::Json => true,
            PartForm::Text
            | PartForm::Refusal
            | PartForm::Arguments
            | PartForm::Output
            | PartForm::OutputJson
            | PartForm::Mark => false,
        }
    }

    /// Writes the part and leaves its object open.
    fn put(&self, kind: &ItemKind<'_>, members: Members, json: &mut JsonWriter<'_>) {
        let Self { form, text, state, .. } = self;
        match (form, kind) {
            (PartForm::Arguments, ItemKind::ToolCall(call)) => put_call(call, text, members, json),
            (PartForm::Output | PartForm::OutputJson, ItemKind::ToolResult(result)) => {
                put_output(result, *form, text, members, json);
            }
            (
                PartForm::Text
                | PartForm::Refusal
                | PartForm::Arguments
                | PartForm::Output
                | PartForm::OutputJson,
                _,
            ) => {
                json.object().key("type").literal("text").key("text").literal(text);
                if *form == PartForm::Refusal && members == Members::All {
                    json.key("refusal").bool(true);
                }
            }
            (PartForm::Reasoning | PartForm::Summary, _) => {
                // Closed events have no state, so that an empty text is their only sign of redacted reasoning.
                let is_redacted = text.is_empty() && (state.is_some() || members.is_closed());
                let visible = if is_redacted { "private" } else { "public" };
                json.object().key("type").literal("reasoning").key("text").literal(text);
                json.key("visibility").literal(visible);
                if members.is_closed() {
                    return;
                }
                if *form == PartForm::Summary {
                    json.key("summary").bool(true);
                }
                if let Some(IssuerState { part: _, kind, issuer, value }) = state {
                    json.key(kind.word()).literal(value).key("issuer").str(issuer);
                }
            }
            (PartForm::Json, _) => {
                json.object().key("type").literal("json").key("json").raw(&Raw::new(text));
            }
            (PartForm::Mark, _) => {
                json.object().key("type").literal("json").key("json").null();
            }
            (PartForm::Ready, _) => {
                json.raw(&Raw::new(text));
            }
        }
    }

    /// Writes the marks of the part.
    fn put_marks(&self, members: Members, json: &mut JsonWriter<'_>) {
        if members.is_closed() {
            return;
        }
        if !self.citations.is_empty() {
            json.key("citations");
            self.citations.write(Spelling::Snake, json);
        }
        if let Some(mark) = &self.cache {
            json.key("cache");
            mark.write(Spelling::Snake, json);
        }
    }
}

const fn is_output(form: PartForm) -> bool {
    matches!(form, PartForm::Output | PartForm::OutputJson)
}

fn put_call(call: &ToolCall<'_>, arguments: &str, members: Members, json: &mut JsonWriter<'_>) {
    let ToolCall { call_id, kind, namespace, name } = call;
    json.object().key("type").literal("tool_call").key("name").str(name).key("arguments").literal(arguments);
    put_call_id(call_id.as_ref(), members, json);
    if members.is_closed() {
        return;
    }
    json.opt_str("namespace", namespace.as_ref());
    if *kind != CallKind::Function {
        json.key("call_kind").literal(kind.word());
    }
}

fn put_output(
    result: &ToolResult<'_>,
    form: PartForm,
    output: &str,
    members: Members,
    json: &mut JsonWriter<'_>,
) {
    let ToolResult { call_id, name } = result;
    json.object().key("type").literal("tool_result");
    put_call_id(call_id.as_ref(), members, json);
    json.key("output").literal(output);
    if members.is_closed() {
        return;
    }
    json.opt_str("name", name.as_ref());
    if form == PartForm::OutputJson {
        json.key("encoding").literal("json");
    }
}

/// Writes the id of a call. The public schema requires an id; an unknown id is empty there.
fn put_call_id(call_id: Option<&Str<'_>>, members: Members, json: &mut JsonWriter<'_>) {
    let id = call_id.map(Str::as_escaped);
    opt_word(if members.is_closed() { id.or(Some("")) } else { id }, json.key("call_id"));
}

fn put_media(media: &Media<'_>, members: Members, json: &mut JsonWriter<'_>) {
    let Media { media_type, source, name, context, citable, detail } = media;
    let image = is_image(media_type.as_ref().map(Str::as_escaped));
    let path = if let MediaSource::Url(url) = source { url.reborrow() } else { Str::default() };
    json.object().key("type").literal(if image { "image" } else { "file_ref" }).key("path").str(&path);
    if !image {
        json.key("action").literal("read");
    }
    if members.is_closed() {
        json.opt_str("mime", media_type.as_ref().filter(|_| image && matches!(source, MediaSource::Url(_))));
        return;
    }
    json.opt_str("mime", media_type.as_ref()).opt_str("name", name.as_ref());
    match source {
        MediaSource::Base64(data) => json.key("data").str(data),
        MediaSource::File(id) => json.key("file_id").str(id),
        MediaSource::Text(text) => json.key("text").str(text),
        MediaSource::Url(_) => json.key("url").bool(true),
    };
    json.opt_str("context", context.as_ref()).opt_bool("citable", *citable);
    json.opt_str("detail", detail.as_ref());
}
