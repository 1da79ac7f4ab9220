//! Messages and reasoning, from `response_item` lines and from echoes.

use super::echo::{Form, Found, Voice};
use super::read::{CodexReader, Payload, begin, complete};
use crate::dialects::openai::items::text_of;
use crate::json::Str;
use crate::model::{
    Author, Field, ItemHead, ItemId, ItemKind, ItemKindTag, Media, MediaSource, Opaque, OpaqueKind, Origin,
    Part, Shape, issuers,
};
use crate::pipe::EventSink;
use crate::tape::{Kind, Member as _, Val};
use crate::wire::media::from_data_url;

/// First words of texts that Codex injects into a conversation as user messages.
const INJECTED: &[&str] = &[
    "<environment_context>",
    "<user_instructions>",
    "<turn_aborted>",
    "<skill>",
    "<permissions instructions>",
    "<collaboration_mode>",
    "<model_switch>",
    "<hook_prompt",
    "<INSTRUCTIONS>",
    "# AGENTS.md instructions",
    "Warning: The maximum number of unified exec processes",
];

/// First words of texts that summarise a compacted conversation.
const SUMMARIES: &[&str] = &["Another language model started to solve this problem and produced a summary"];

impl CodexReader {
    /// Reads a message or reasoning in either form.
    pub(super) fn said<'t>(
        &mut self,
        line_kind: Option<Val<'t>>,
        payload: Payload<'t>,
        voice: Voice,
        form: Form,
        out: &mut EventSink<'_>,
    ) {
        let frame = out.frame_number();
        self.end_last(frame, out);
        let inner = payload.item.filter(|_| form == Form::Done);
        let holder = inner.map_or(payload, |item| Payload::new(item, payload.time));
        let members = members_with_words(holder, voice, form);
        let (mut texts, mut others) = (0, 0);
        self.echoes.begin();
        for (element, field) in elements(members, voice, form) {
            match text_of(element) {
                Some(text) => {
                    self.echoes.hear(text, field);
                    texts += 1;
                }
                None => others += u32::from(is_part(element)),
            }
        }
        let found = match form {
            Form::Item if others > 0 || self.echoes.too_long => Some(Found::New),
            // An echo beyond the comparison limit may or may not belong to a known item, so the line becomes a notice.
            Form::Done | Form::Shown if texts == 0 || self.echoes.too_long => None,
            Form::Item | Form::Done | Form::Shown | Form::Both => Some(self.echoes.find(voice, form, frame)),
        };
        let found = match found {
            Some(Found::Earlier) if form == Form::Item && voice == Voice::Reasoning => {
                self.close(out);
                line_kind.note_text(Field::Structure);
                return self.state_of_shown(payload, members, out);
            }
            None | Some(Found::Earlier) => {
                self.close(out);
                return self.read_notice(line_kind, payload, out);
            }
            Some(found) => found,
        };
        if found == Found::Beside && self.echoes.item(voice).is_some_and(|item| out.is_refused(item)) {
            return self.close(out);
        }
        line_kind.note_text(Field::Structure);
        payload.kind.note_text(Field::Structure);
        holder.kind.note_text(Field::Structure);
        if form == Form::Item && voice != Voice::Reasoning && voice != Voice::Agent {
            payload.val.note_str("role", Field::ItemAuthor);
        }
        let marks = [holder.id, holder.time];
        // The item, the number of elements it already has, and the number of its next part.
        let (item, known, first) = match found {
            Found::Beside => {
                self.echoes.take_same(voice, marks);
                (self.echoes.open.map(|(_, item)| item), self.echoes.known(voice), 0)
            }
            Found::More { item, parts } => {
                self.echoes.take_same(voice, marks);
                (Some(item), 0, parts)
            }
            Found::New | Found::Earlier => {
                self.close(out);
                let mut head = self.head(voice.kind(), voice.author(), out);
                begin(&mut head, holder);
                self.describe(&mut head, holder, voice);
                let list = voice == Voice::Reasoning || texts + others > 1;
                head.shape = if list { Shape::List } else { Shape::One };
                let item = out.start(head);
                self.echoes.remember(voice, form, frame, marks, item);
                (Some(item), 0, 0)
            }
        };
        let mut number = 0;
        for (element, field) in elements(members, voice, form) {
            if let Some(item) = item.filter(|_| number >= known) {
                self.element(element, voice, field, (first + number) as u32, item, out);
            } else if let Some(text) = text_of(element) {
                element.note_str("type", Field::Structure);
                text.take_text(field);
            }
            number += 1;
        }
        self.echoes.open = item.filter(|_| form != Form::Item).map(|item| (voice, item));
        if let Some(item) = item.filter(|_| form == Form::Item) {
            if voice == Voice::Reasoning {
                say_state(payload, item, number as u32, out);
            }
            if voice == Voice::Assistant {
                self.end_with_next(item, payload, out);
            } else {
                complete(item, payload, out);
            }
        }
    }

    /// Reads a reasoning item whose text was echoed some lines before. Only its encrypted state is new.
    fn state_of_shown<'t>(
        &mut self,
        payload: Payload<'t>,
        members: [(Option<Val<'t>>, Field); 2],
        out: &mut EventSink<'_>,
    ) {
        payload.kind.note_text(Field::Structure);
        let mut head = self.head(ItemKind::Reasoning, Author::Assistant, out);
        begin(&mut head, payload);
        let item = out.start(head);
        for (element, field) in elements(members, Voice::Reasoning, Form::Item) {
            if let Some(text) = text_of(element) {
                element.note_str("type", Field::Structure);
                text.note_text(field);
            }
        }
        say_state(payload, item, 0, out);
        complete(item, payload, out);
    }

    /// Sets origin, model and phase of a message.
    fn describe<'h>(&'h self, head: &mut ItemHead<'h>, holder: Payload<'h>, voice: Voice) {
        match voice {
            Voice::Assistant => {
                head.model = self.session.known().model.as_ref().map(Str::reborrow);
                head.phase = holder.val.take_str("phase", Field::ItemPhase);
            }
            Voice::Agent => {
                head.origin = Some(Origin::Agent);
                if let Some(author) = holder.val.note_str("author", Field::ItemAgent) {
                    let (agent, call) = self.agent_named(author);
                    (head.agent, head.parent_call) = (Some(agent), call);
                }
            }
            Voice::User | Voice::Developer | Voice::System => head.origin = self.origin(voice, holder.val),
            Voice::Reasoning => {}
        }
    }

    /// The origin of a message. Newer logs hold the provenance of each part; in older logs the first text shows the
    /// origin.
    fn origin(&self, voice: Voice, message: Val<'_>) -> Option<Origin> {
        if voice != Voice::User {
            return Some(Origin::Harness);
        }
        let metadata = message.get("internal_chat_message_metadata_passthrough");
        let parts = metadata.and_then(|metadata| metadata.get("content_item_metadata"));
        let source = parts.and_then(|parts| parts.elements().next()?.get("provenance")?.get("type"));
        let told = source.map(|source| source.is("user"));
        let text = self.echoes.first().unwrap_or_default();
        let begins = |tags: &[&str]| tags.iter().any(|tag| text.starts_with(tag));
        if begins(SUMMARIES) {
            Some(Origin::Summary)
        } else if begins(&["<user_shell_command>"]) {
            Some(Origin::Command)
        } else if begins(&["<subagent_notification>"]) {
            Some(Origin::Agent)
        } else if told == Some(false) || begins(INJECTED) {
            Some(Origin::Harness)
        } else if self.is_subagent {
            Some(Origin::Agent)
        } else {
            told.map(|_| Origin::Own)
        }
    }

    /// Reads one element of a message or of reasoning. Unknown elements stay in the line.
    fn element(
        &mut self,
        val: Val<'_>,
        voice: Voice,
        field: Field,
        number: u32,
        item: ItemId,
        out: &mut EventSink<'_>,
    ) {
        if let Some(value) = read_part(val, field, ItemKindTag::Message) {
            out.delta(item, number, value);
        } else if voice != Voice::Reasoning {
            let inner = Payload::new(val, None);
            if inner.kind.word() == "reasoning" && val.has_str("text") {
                return self.thought_within(inner, item, out);
            }
            self.tool(inner, inner.kind.word(), Some(item), out);
        }
    }

    /// Reads reasoning that is a block of a message.
    fn thought_within(&mut self, block: Payload<'_>, within: ItemId, out: &mut EventSink<'_>) {
        block.kind.note_text(Field::Structure);
        let mut head = self.head(ItemKind::Reasoning, Author::Assistant, out);
        begin(&mut head, block);
        head.within = Some(within);
        let item = out.start(head);
        if let Some(text) = block.val.take_str("text", Field::ReasoningText) {
            out.delta(item, 0, Part::Text(text));
        }
        complete(item, block, out);
    }
}

/// Both the type of an encrypted element and its member.
const STATE: &str = "encrypted_content";

/// Emits the encrypted state with which reasoning is returned to its issuer.
fn say_state(payload: Payload<'_>, item: ItemId, number: u32, out: &mut EventSink<'_>) {
    if let Some(value) = payload.val.take_str(STATE, Field::Encrypted) {
        out.delta(item, number, Part::Opaque(state(value)));
    }
}

fn state(value: Str<'_>) -> Opaque<'_> {
    Opaque { kind: OpaqueKind::Encrypted, issuer: Str::escaped(issuers::OPENAI), value }
}

/// The members that hold the texts of a message, of reasoning or of an echo, with the field of their texts.
fn members_with_words(holder: Payload<'_>, voice: Voice, form: Form) -> [(Option<Val<'_>>, Field); 2] {
    let (name, more) = match (voice, form) {
        (Voice::Reasoning, Form::Shown) => ("text", None),
        (_, Form::Shown) => ("message", None),
        (Voice::Reasoning, Form::Done) => ("summary_text", Some("raw_content")),
        (Voice::Reasoning, Form::Item | Form::Both) => ("summary", Some("content")),
        _ => ("content", None),
    };
    let summary = more.is_some() || holder.kind.word() == "agent_reasoning";
    let field = if summary { Field::ReasoningSummary } else { voice.text() };
    [(holder.val.get(name), field), (more.and_then(|name| holder.val.get(name)), voice.text())]
}

/// The texts and other elements in these members. A member of an unexpected type is left unclaimed.
fn elements(
    members: [(Option<Val<'_>>, Field); 2],
    voice: Voice,
    form: Form,
) -> impl Iterator<Item = (Val<'_>, Field)> {
    let takes_string = form == Form::Shown || (form == Form::Item && voice != Voice::Reasoning);
    members.into_iter().flat_map(move |(member, field)| {
        let string = member.filter(|member| takes_string && member.kind() == Kind::String);
        let list = member.filter(|_| form != Form::Shown);
        let listed = list.into_iter().flat_map(|list| list.elements());
        string.into_iter().chain(listed).map(move |element| (element, field))
    })
}

/// Whether an element is a part of the message or result, not an item within it.
pub(super) fn is_part(part: Val<'_>) -> bool {
    let is = |word: &str, name: &str| part.str_or_empty("type") == word && part.has_str(name);
    text_of(part).is_some() || is("input_image", "image_url") || is("refusal", "refusal") || is(STATE, STATE)
}

pub(super) fn read_part(part: Val<'_>, text_field: Field, of: ItemKindTag) -> Option<Part<'_>> {
    let value = if let Some(text) = text_of(part) {
        let text = text.take_text(text_field)?;
        if text_field == Field::ReasoningSummary { Part::Summary(text) } else { Part::Text(text) }
    } else if !is_part(part) {
        return None;
    } else if let Some(text) = part.take_str("refusal", Field::Refusal) {
        Part::Refusal(text)
    } else if let Some(value) = part.take_str(STATE, Field::Encrypted) {
        Part::Opaque(state(value))
    } else {
        let url = part.get("image_url")?;
        url.take(of.media());
        let address = Some(url).word();
        Part::Media(
            from_data_url(address).unwrap_or(Media::new(None, MediaSource::Url(Str::escaped(address)))),
        )
    };
    part.note_str("type", Field::Structure);
    Some(value)
}
