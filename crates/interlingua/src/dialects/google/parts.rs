//! Reads content parts: texts, thoughts, calls, results, media, and the state on any of them. Members have two
//! spellings, `functionCall` and `function_call`: the API accepts either, and clients send both.

use std::collections::{HashMap, VecDeque};

use crate::json::{JsonWriter, Str, base64, from_base64};
use crate::ledger::Reason;
use crate::model::{
    Args, Author, CallKind, Field, ItemHead, ItemId, ItemKind, ItemKindTag, ItemTail, Media, MediaSource,
    Opaque, OpaqueKind, Part, Status, ToolCall, ToolResult, issuers,
};
use crate::pipe::{EventSink, WriterOutput};
use crate::tape::{Kind, Member, Val, WantedNames};
use crate::wire::media::standard_base64;
use crate::wire::note_blanks;

use super::gemini::citations::CountedText;
use super::gemini::partial::PartialArguments;

/// The member in either spelling.
pub(super) fn either<'t>(val: Val<'t>, camel: &str, snake: &str) -> Option<Val<'t>> {
    val.get(camel).or_else(|| val.get(snake)).filter(|member| !member.is_null())
}

/// A string member in either spelling, taken.
pub(super) fn take_either<'t>(val: Val<'t>, camel: &str, snake: &str, field: Field) -> Option<Str<'t>> {
    either(val, camel, snake)?.take_text(field)
}

/// The members of a part.
const MEMBERS: WantedNames<20> = WantedNames::new([
    "text",
    "thought",
    "thoughtSignature",
    "thought_signature",
    "functionCall",
    "function_call",
    "functionResponse",
    "function_response",
    "inlineData",
    "inline_data",
    "fileData",
    "file_data",
    "executableCode",
    "executable_code",
    "codeExecutionResult",
    "code_execution_result",
    "toolCall",
    "tool_call",
    "toolResponse",
    "tool_response",
]);

/// The provider's tool that runs code.
const CODE: &str = "code_execution";

/// Reads the parts of one message, whole or streamed.
#[expect(clippy::struct_excessive_bools, reason = "each is one fact about the message, in any combination")]
#[derive(Default)]
pub(super) struct PartReader {
    pub(super) message: Option<ItemId>,
    /// The number of the candidate; `None` is the first.
    pub(super) answer: Option<u64>,
    /// Whether parts are increments, so that adjacent texts are one text.
    pub(super) streams: bool,
    /// Whether the current text continues a text of the previous part or continues in the next part.
    pub(super) in_pieces: bool,
    /// The open reasoning item.
    thought: Option<ItemId>,
    /// The number of the next part of the message.
    next: u32,
    /// Whether the last part is a text that may continue.
    in_text: bool,
    /// A call whose arguments arrive in pieces.
    partial: Option<(ItemId, PartialArguments)>,
    /// Whether the message has calls.
    pub(super) calls: bool,
    /// Whether citations are read, and all texts of the message so far, decoded: citations refer to their bytes.
    pub(super) cites: bool,
    pub(super) plain: CountedText,
    /// Whether calls without ids get new ids, because their results are in a different order. Results are matched to
    /// these calls by name.
    pub(super) makes_ids: bool,
    /// The new ids of calls without results, by tool name, and the number of ids made so far.
    unnamed: HashMap<String, VecDeque<String>>,
    made: u64,
}

impl PartReader {
    /// Starts the next message.
    pub(super) fn begin(&mut self, message: ItemId) {
        self.message = Some(message);
        (self.next, self.in_text, self.calls) = (0, false, false);
        self.plain.clear();
    }

    /// The number of the last part, if it is a text that may continue.
    pub(super) fn text_number(&self) -> Option<u32> {
        self.next.checked_sub(1).filter(|_| self.in_text)
    }

    /// Reads one part. Unknown parts stay unclaimed.
    pub(super) fn read(&mut self, part: Val<'_>, out: &mut EventSink<'_>) {
        let Some(message) = self.message else { return };
        if let Some(text) = part.take_text(Field::MessageText) {
            // A bare string is a text part.
            self.next += 1;
            return out.delta(message, self.next - 1, Part::Text(text));
        }
        // Fast path: nearly all parts hold only a text.
        if let Some(text) = only_text(part) {
            return self.text(text, message, out);
        }
        let [text, thought, sc, ss, cc, cs, rc, rs, ic, is, fc, fs, xc, xs, oc, os, tc, ts, pc, ps] =
            part.find(&MEMBERS);
        let said = |one: Option<Val<'_>>, two: Option<Val<'_>>| one.or(two).is_some_and(|val| !val.is_null());
        let (state, call, response) = (sc.or(ss), cc.or(cs), rc.or(rs));
        note_blanks(part);
        let text = text.filter(|text| text.kind() == Kind::String);
        if let (Some(flag), Some(text)) = (thought, text)
            && flag.bool() == Some(true)
        {
            flag.note(Field::Structure);
            return self.think(text, state, message, out);
        }
        if let Some(flag) = thought.filter(|flag| flag.bool() == Some(false)) {
            flag.note(Field::Structure);
        }
        if let Some(state) = state {
            self.state(state, message, out);
        }
        if let Some(text) = text {
            return self.text(text, message, out);
        }
        if let Some(media) = read_media(ic.or(is), fc.or(fs), ItemKindTag::Message) {
            self.begin_other(out);
            let media = Media { detail: read_resolution(part), ..media };
            out.delta(message, self.next, Part::Media(media));
            self.next += 1;
        } else if let Some(call) = call.filter(|call| self.takes_call(*call)) {
            self.begin_other(out);
            self.call(call, message, out);
        } else if let Some(response) = response.filter(|response| response.kind() == Kind::Object) {
            self.begin_other(out);
            self.response(response, message, out);
        } else if said(xc, xs) || said(tc, ts) {
            self.begin_other(out);
            let (inner, is_code) = (xc.or(xs).or(tc).or(ts), said(xc, xs));
            server_call(inner, is_code, message, self.answer, out);
        } else if said(oc, os) || said(pc, ps) {
            self.begin_other(out);
            server_result(oc.or(os), pc.or(ps), message, self.answer, out);
        }
    }

    /// Whether the value is a call, or continues a partial call. A call without a tool name cannot have a result, so
    /// the call stays unclaimed.
    fn takes_call(&self, call: Val<'_>) -> bool {
        call.kind() == Kind::Object && (self.partial.is_some() || !call.str_or_empty("name").is_empty())
    }

    /// Ends the open text or thought before a part of another kind.
    fn begin_other(&mut self, out: &mut EventSink<'_>) {
        self.end_thought(out);
        self.in_text = false;
    }

    /// Reads a piece of a thought. A signature ends the thought.
    fn think(&mut self, text: Val<'_>, state: Option<Val<'_>>, message: ItemId, out: &mut EventSink<'_>) {
        self.in_text = false;
        let item = *self.thought.get_or_insert_with(|| start_reasoning(message, self.answer, out));
        match text.take_text(Field::ReasoningText).filter(|text| !text.is_empty()) {
            Some(text) if self.streams => out.piece(item, 0, Part::Text(text)),
            Some(text) => out.delta(item, 0, Part::Text(text)),
            None => {}
        }
        if let Some(opaque) = state.and_then(|state| take_state(state, OpaqueKind::Signature)) {
            out.delta(item, 1, Part::Opaque(opaque));
            self.end_thought(out);
        }
    }

    /// State on a part that is not a thought becomes a separate reasoning item before that part.
    fn state(&mut self, state: Val<'_>, message: ItemId, out: &mut EventSink<'_>) {
        let Some(opaque) = take_state(state, OpaqueKind::Encrypted) else { return };
        self.end_thought(out);
        self.in_text = false;
        let item = start_reasoning(message, self.answer, out);
        out.delta(item, 0, Part::Opaque(opaque));
        out.complete(item);
    }

    fn text(&mut self, text: Val<'_>, message: ItemId, out: &mut EventSink<'_>) {
        if text.is("") {
            // An empty text only holds the position of state, or has no meaning.
            text.note(Field::Structure);
            return;
        }
        self.end_thought(out);
        let Some(text) = text.take_text(Field::MessageText) else { return };
        let in_pieces = self.streams || self.in_pieces;
        if !(in_pieces && self.in_text) {
            self.next += 1;
        }
        let number = self.next.saturating_sub(1);
        if self.cites {
            self.plain.add(&text);
        }
        if in_pieces {
            out.piece(message, number, Part::Text(text));
        } else {
            out.delta(message, number, Part::Text(text));
        }
        self.in_text = true;
    }

    fn call(&mut self, call: Val<'_>, message: ItemId, out: &mut EventSink<'_>) {
        const MEMBERS: WantedNames<7> = WantedNames::new([
            "id",
            "name",
            "args",
            "partialArgs",
            "partial_args",
            "willContinue",
            "will_continue",
        ]);
        note_blanks(call);
        let [id, name, args, pc, ps, wc, ws] = call.find(&MEMBERS);
        let pieces = pc.or(ps).filter(|pieces| !pieces.is_null());
        let goes_on = wc.or(ws).filter(|flag| flag.bool().is_some());
        if let Some((item, mut arguments)) = self.partial.take_if(|_| name.is_none()) {
            arguments.add(pieces);
            let more = goes_on.is_some_and(|flag| flag.bool() == Some(true));
            goes_on.map(|flag| flag.note(Field::ItemStatus));
            if more {
                self.partial = Some((item, arguments));
            } else {
                if call.members().next().is_none() {
                    call.note(Field::ItemStatus);
                }
                arguments.say(item, out);
                out.complete(item);
            }
            return;
        }
        self.end_partial(out);
        self.calls = true;
        let call_id = id.take_text(Field::CallId).filter(|id| !id.is_empty());
        let name = name.take_text(Field::CallName).unwrap_or_default();
        let call_id = call_id.or_else(|| {
            let id = self.makes_ids.then(|| format!("call_{}", self.made + 1))?;
            self.made += 1;
            self.unnamed.entry(name.as_escaped().to_owned()).or_default().push_back(id.clone());
            out.note("call without an id got one");
            Some(Str::from_plain(&id))
        });
        let call_item = ToolCall { call_id, kind: CallKind::Function, namespace: None, name };
        let item = start(ItemKind::ToolCall(call_item), Author::Assistant, message, self.answer, out);
        if let Some(args) = args.filter(|args| args.kind() == Kind::Object) {
            out.delta(item, 0, Part::Args(Args::Json(args.take(Field::CallArgs))));
        }
        let mut arguments = PartialArguments::default();
        arguments.add(pieces);
        if goes_on
            .inspect(|flag| _ = flag.note(Field::ItemStatus))
            .is_some_and(|flag| flag.bool() == Some(true))
        {
            self.partial = Some((item, arguments));
        } else {
            arguments.say(item, out);
            out.complete(item);
        }
    }

    /// Reads the result of a call. `response` is an object; by convention its `output` or `error` is the tool's output.
    fn response(&mut self, response: Val<'_>, message: ItemId, out: &mut EventSink<'_>) {
        const MEMBERS: WantedNames<4> = WantedNames::new(["id", "name", "response", "parts"]);
        note_blanks(response);
        let [id, name, said, parts] = response.find(&MEMBERS);
        let call_id = id.take_text(Field::ResultCallId).filter(|id| !id.is_empty());
        let name = name.take_text(Field::ResultName);
        let call_id = call_id.or_else(|| {
            let name = name.as_ref()?.as_escaped();
            Some(Str::from_plain(&self.unnamed.get_mut(name)?.pop_front()?))
        });
        let result = ToolResult { call_id, name };
        let item = start(ItemKind::ToolResult(result), Author::Tool, message, self.answer, out);
        let mut is_error = None;
        if let Some(said) = said.filter(|said| !said.is_null()) {
            let mut members = said.members();
            let only = members.next().filter(|_| members.next().is_none());
            let only = only.map(|(name, value)| (name.is("error"), name.is("output"), value));
            if let Some((true, _, _)) = only {
                is_error = Some(true);
            }
            match only {
                Some((true, _, value) | (_, true, value)) if value.kind() == Kind::String => {
                    if let Some(text) = value.take_text(Field::ResultText) {
                        out.delta(item, 0, Part::Text(text));
                    }
                }
                // An object in `output` could be mistaken for the response itself.
                Some((true, _, value) | (_, true, value)) if value.kind() != Kind::Object => {
                    out.delta(item, 0, Part::Json(value.take(Field::ResultJson)));
                }
                _ if said.kind() == Kind::String => {
                    if let Some(text) = said.take_text(Field::ResultText) {
                        out.delta(item, 0, Part::Text(text));
                    }
                }
                _ => out.delta(item, 0, Part::Json(said.take(Field::ResultJson))),
            }
        }
        let parts = parts.into_iter().flat_map(|parts| parts.elements());
        for (number, part) in parts.enumerate() {
            let inline = either(part, "inlineData", "inline_data");
            if let Some(media) =
                read_media(inline, either(part, "fileData", "file_data"), ItemKindTag::Result)
            {
                out.delta(item, number as u32 + 1, Part::Media(media));
            }
        }
        let status = if is_error == Some(true) { Status::Failed } else { Status::Completed };
        out.end(ItemTail { is_error, ..ItemTail::new(item, status) });
    }

    pub(super) fn end_thought(&mut self, out: &mut EventSink<'_>) {
        if let Some(thought) = self.thought.take() {
            out.complete(thought);
        }
    }

    /// Ends a partial call without a last piece as interrupted.
    fn end_partial(&mut self, out: &mut EventSink<'_>) {
        if let Some((item, mut arguments)) = self.partial.take() {
            arguments.say(item, out);
            out.end(ItemTail::new(item, Status::Interrupted));
        }
    }

    /// Completes the message and its open items.
    pub(super) fn end(&mut self, out: &mut EventSink<'_>) {
        self.end_thought(out);
        self.end_partial(out);
        if let Some(message) = self.message.take() {
            out.complete(message);
        }
    }

    /// Forgets the ids made for calls of earlier messages, because later results cannot belong to these calls.
    pub(super) fn forget_calls(&mut self) {
        self.unnamed.clear();
    }
}

/// The text of a part with no other member.
fn only_text(part: Val<'_>) -> Option<Val<'_>> {
    let mut members = part.members();
    let (name, text) = members.next().filter(|_| members.next().is_none())?;
    Some(text).filter(|text| text.kind() == Kind::String && name.as_escaped() == "text")
}

fn start(
    kind: ItemKind<'_>,
    author: Author,
    message: ItemId,
    answer: Option<u64>,
    out: &mut EventSink<'_>,
) -> ItemId {
    let head = out.head(kind, author);
    out.start(ItemHead { within: Some(message), answer, ..head })
}

fn start_reasoning(message: ItemId, answer: Option<u64>, out: &mut EventSink<'_>) -> ItemId {
    start(ItemKind::Reasoning, Author::Assistant, message, answer, out)
}

/// Reads a call that the provider made and ran itself.
fn server_call(
    inner: Option<Val<'_>>,
    is_code: bool,
    message: ItemId,
    answer: Option<u64>,
    out: &mut EventSink<'_>,
) {
    let Some(inner) = inner else { return };
    let name = if is_code {
        Some(Str::escaped(CODE))
    } else {
        take_either(inner, "toolType", "tool_type", Field::CallName)
    };
    let call = ToolCall {
        call_id: inner.take_str("id", Field::CallId),
        kind: CallKind::Server,
        namespace: None,
        name: name.unwrap_or_default(),
    };
    let item = start(ItemKind::ToolCall(call), Author::Assistant, message, answer, out);
    if let Some(code) = inner.take_str("code", Field::CallArgs).filter(|_| is_code) {
        out.delta(item, 0, Part::Args(Args::Text(code)));
    } else if let Some(args) = inner.get("args").filter(|args| !args.is_null()) {
        out.delta(item, 0, Part::Args(Args::Json(args.take(Field::CallArgs))));
    }
    out.complete(item);
}

/// Reads the result of a call that the provider ran itself.
fn server_result(
    code: Option<Val<'_>>,
    tool: Option<Val<'_>>,
    message: ItemId,
    answer: Option<u64>,
    out: &mut EventSink<'_>,
) {
    let Some(inner) = code.or(tool) else { return };
    let name = tool.and_then(|tool| take_either(tool, "toolType", "tool_type", Field::ResultName));
    let result = ToolResult { call_id: inner.take_str("id", Field::ResultCallId), name };
    let item = start(ItemKind::ToolResult(result), Author::Tool, message, answer, out);
    if let Some(text) = inner.take_str("output", Field::ResultText).filter(|_| code.is_some()) {
        out.delta(item, 0, Part::Text(text));
    } else if let Some(said) = inner.get("response").filter(|said| !said.is_null()) {
        out.delta(item, 0, Part::Json(said.take(Field::ResultJson)));
    }
    let outcome = inner.get("outcome").filter(|_| code.is_some());
    let is_error = outcome.and_then(|outcome| {
        let is_error = match outcome.str()?.as_escaped() {
            "OUTCOME_OK" => false,
            "OUTCOME_FAILED" | "OUTCOME_DEADLINE_EXCEEDED" => true,
            _ => return None,
        };
        outcome.note(Field::ResultIsError);
        Some(is_error)
    });
    let status = if is_error == Some(true) { Status::Failed } else { Status::Completed };
    out.end(ItemTail { is_error, ..ItemTail::new(item, status) });
}

/// Base64 of `interlingua:`, the prefix of another issuer's state that a client received and sends back. State on a
/// part must be base64. The issuer's name, a colon and the state follow the prefix.
const CARRIED: &str = "aW50ZXJsaW5ndWE6";
const CARRIED_PLAIN: &str = "interlingua:";

/// Reads opaque state. A value with our prefix and an invalid rest stays unclaimed.
fn take_state(val: Val<'_>, kind: OpaqueKind) -> Option<Opaque<'_>> {
    let text = val.str().filter(|text| !text.is_empty())?;
    if !text.as_escaped().starts_with(CARRIED) {
        let value = val.take_text(kind.field())?;
        return Some(Opaque { kind, issuer: Str::escaped(issuers::GOOGLE), value });
    }
    // Clients may re-encode base64 in another alphabet.
    let plain = String::from_utf8(from_base64(standard_base64(&text).as_escaped())?).ok()?;
    let (issuer, value) = plain.strip_prefix(CARRIED_PLAIN)?.split_once(':')?;
    let known = [issuers::ANTHROPIC, issuers::OPENAI, issuers::XAI, issuers::COPILOT, issuers::GOOGLE];
    let issuer = known.into_iter().find(|known| *known == issuer)?;
    val.take(kind.field());
    Some(Opaque { kind, issuer: Str::escaped(issuer), value: Str::from_plain(value) })
}

/// Opaque state as it is written.
pub(super) fn carried<'a>(opaque: &'a Opaque<'_>) -> Str<'a> {
    let Opaque { kind: _, issuer, value } = opaque;
    if issuer.is(issuers::GOOGLE) {
        return value.reborrow();
    }
    let plain = format!("{CARRIED_PLAIN}{}:{}", issuer.decode(), value.decode());
    Str::from_plain(&base64(plain.as_bytes()))
}

/// The model's words for media detail, with the API's words.
const RESOLUTIONS: [(&str, &str); 3] = [
    ("low", "MEDIA_RESOLUTION_LOW"),
    ("medium", "MEDIA_RESOLUTION_MEDIUM"),
    ("high", "MEDIA_RESOLUTION_HIGH"),
];

fn read_resolution(part: Val<'_>) -> Option<Str<'_>> {
    let level = either(part, "mediaResolution", "media_resolution")?.get("level")?;
    let (ours, _) = RESOLUTIONS.iter().find(|(_, theirs)| level.is(theirs))?;
    level.note(Field::MediaDetail);
    Some(Str::escaped(ours))
}

/// Reads media of an item of kind `of`: inline bytes, or a file reference.
pub(super) fn read_media<'t>(
    inline: Option<Val<'t>>,
    file: Option<Val<'t>>,
    of: ItemKindTag,
) -> Option<Media<'t>> {
    let place = inline.or(file)?;
    let source = if let Some(inline) = inline {
        MediaSource::Base64(inline.take_str("data", of.media())?)
    } else {
        let uri = either(place, "fileUri", "file_uri")?.take_text(of.media())?;
        if is_stored(&uri) { MediaSource::File(uri) } else { MediaSource::Url(uri) }
    };
    note_blanks(place);
    let media_type = take_either(place, "mimeType", "mime_type", Field::MediaType);
    let name = take_either(place, "displayName", "display_name", Field::MediaName);
    Some(Media { name, ..Media::new(media_type, source) })
}

/// Whether a URI is in one of Google's file stores.
fn is_stored(uri: &Str<'_>) -> bool {
    let uri = uri.as_escaped();
    uri.starts_with("gs://")
        || uri.starts_with("files/")
        || uri.contains("generativelanguage.googleapis.com/")
        || uri.contains("storage.googleapis.com/")
}

/// Media types by URI extension.
const ENDINGS: [(&str, &str); 8] = [
    (".png", "image/png"),
    (".webp", "image/webp"),
    (".heic", "image/heic"),
    (".pdf", "application/pdf"),
    (".mp4", "video/mp4"),
    (".mp3", "audio/mpeg"),
    (".wav", "audio/wav"),
    (".gif", "image/gif"),
];

/// Writes a media part, or returns the reason why the API does not support the media.
pub(super) fn write_media(
    media: &Media<'_>,
    json: &mut JsonWriter<'_>,
    out: &mut WriterOutput<'_>,
) -> Result<(), Reason> {
    // `context` and `citable` have no field in this API; the table lists them as lost.
    let Media { media_type, source, name, context: _, citable: _, detail } = media;
    match source {
        // Each provider has its own file store.
        MediaSource::File(uri) if !is_stored(uri) => return Err(Reason::Foreign),
        MediaSource::Text(_) => return Err(Reason::NoSlot),
        MediaSource::Base64(_) | MediaSource::Url(_) | MediaSource::File(_) => {}
    }
    let guessed = |ends: &str| {
        let path = ends.split(['?', '#']).next().unwrap_or_default().to_ascii_lowercase();
        ENDINGS.iter().find(|(ending, _)| path.ends_with(ending)).map_or("image/jpeg", |(_, kind)| kind)
    };
    json.object();
    let (member, place, text) = match source {
        MediaSource::Base64(data) | MediaSource::Text(data) => ("inlineData", "data", data),
        MediaSource::Url(uri) | MediaSource::File(uri) => ("fileData", "fileUri", uri),
    };
    json.key(member).object().key("mimeType");
    if let Some(media_type) = media_type {
        json.str(media_type);
    } else {
        out.ledger.note("type of media guessed, because the API wants one");
        let is_inline = matches!(source, MediaSource::Base64(_));
        json.literal(if is_inline { "image/png" } else { guessed(&text.decode()) });
    }
    json.key(place).str(text).opt_str("displayName", name.as_ref()).end_object();
    if let Some(detail) = detail {
        match RESOLUTIONS.iter().find(|(ours, _)| detail.is(ours)) {
            Some((_, theirs)) => {
                json.key("mediaResolution").object().key("level").literal(theirs).end_object();
            }
            None => out.lose_str(Field::MediaDetail, detail, Reason::Narrowed),
        }
    }
    json.end_object();
    Ok(())
}
