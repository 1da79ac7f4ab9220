//! Counters for one message: the positions of citations and of `reasoning_details` entries.

use super::super::positions::{AFTER_CALLS, AFTER_CHARACTERS, PackedThought, ThoughtPlace, characters, pack};
use crate::json::{JsonWriter, Raw, Str};
use crate::ledger::Reason;
use crate::model::{Citation, Field, Opaque, OpaqueKind, issuers};
use crate::pipe::WriterOutput;

/// The reader of a `reasoning_details` entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DetailReader {
    /// A client, which returns the entry with our position members.
    Client,
    /// A server, which expects only its own members.
    Server,
}

/// OpenRouter's `format` for each issuer of state; an entry without `format` holds Anthropic's state.
const FORMATS: [(&str, &str); 3] = [
    (issuers::OPENAI, "openai-responses-v1"),
    (issuers::GOOGLE, "google-gemini-v1"),
    (issuers::XAI, "xai-responses-v1"),
];

/// Counters for one message.
#[derive(Default)]
pub(super) struct MessageTally {
    /// The number of `reasoning_details` entries so far.
    details: u64,
    /// The number of thoughts with a text so far, and the text of the open thought.
    thoughts: u64,
    thought: Option<String>,
    /// The number of calls and of `annotations` entries so far.
    calls: u64,
    annotations: u64,
    /// The thoughts for `reasoning_opaque`.
    packed: Vec<PackedThought<'static>>,
    /// Whether `packed` has thoughts that are not yet written.
    unsaid: bool,
    /// The number of content characters so far, and before the open text.
    characters: u64,
    text_begins: u64,
}

impl MessageTally {
    pub(super) fn open_text(&mut self, out: &mut WriterOutput<'_>) {
        self.text_begins = self.characters;
        if self.calls > 0 {
            out.ledger.note("text after calls put before them");
        }
    }

    pub(super) fn text(&mut self, text: &Str<'_>) {
        self.characters += characters(text.as_escaped());
    }

    /// Records that the message has a text, without counting characters.
    pub(super) const fn some_text(&mut self) {
        self.characters = 1;
    }

    pub(super) const fn open_call(&mut self) {
        self.calls += 1;
    }

    pub(super) fn open_thought(&mut self) {
        self.thought = Some(String::new());
    }

    pub(super) fn think(&mut self, text: &Str<'_>) {
        self.thought.get_or_insert_default().push_str(text.as_escaped());
    }

    /// Whether the message has content before the current thought. A thought written by its text alone would move in
    /// front of that content.
    pub(super) const fn is_after_something(&self) -> bool {
        self.details + self.thoughts + self.calls + self.characters > 0
    }

    /// Ends the open thought. Returns its text if the thought is unsigned and needs a `reasoning_details` entry to keep
    /// its position.
    pub(super) fn close(&mut self) -> Option<String> {
        let text = self.thought.take().filter(|text| !text.is_empty())?;
        let is_apart = self.is_after_something();
        self.thoughts += 1;
        is_apart.then_some(text)
    }

    /// Writes a `reasoning_details` entry with the text of the open thought.
    pub(super) fn write_detail(
        &mut self,
        opaque: &Opaque<'_>,
        reader: DetailReader,
        json: &mut JsonWriter<'_>,
    ) {
        let Opaque { kind, issuer, value } = opaque;
        match kind {
            OpaqueKind::Signature => {
                let text = self.thought.take().unwrap_or_default();
                self.begin_detail("reasoning.text", reader, json);
                json.key("text").literal(&text).key("signature").str(value);
                self.thoughts += 1;
            }
            OpaqueKind::Encrypted => {
                self.begin_detail("reasoning.encrypted", reader, json);
                json.key("data").str(value);
            }
        }
        let known = FORMATS.iter().find(|(name, _)| reader == DetailReader::Server && issuer.is(name));
        if let Some((_, format)) = known {
            json.key("format").literal(format);
        } else if !issuer.is(issuers::ANTHROPIC) {
            json.key("format").str(issuer);
        }
        json.end_object();
    }

    /// Writes the entry of an unsigned thought.
    pub(super) fn write_thought(&mut self, text: &str, json: &mut JsonWriter<'_>) {
        self.begin_detail("reasoning.text", DetailReader::Client, json);
        json.key("text").literal(text).end_object();
    }

    fn begin_detail(&mut self, kind: &str, reader: DetailReader, json: &mut JsonWriter<'_>) {
        json.object().key("index").u64(self.details).key("type").literal(kind);
        self.details += 1;
        if reader == DetailReader::Server {
            return;
        }
        json.opt_u64(AFTER_CHARACTERS, Some(self.characters).filter(|count| *count > 0));
        json.opt_u64(AFTER_CALLS, Some(self.calls).filter(|count| *count > 0));
    }

    /// Stores the open thought with its state, for `reasoning_opaque`.
    pub(super) fn keep(&mut self, state: Option<&Opaque<'_>>) {
        // Encrypted state arrives after its thought has ended; only a signature ends the open thought.
        let is_own = state.is_none_or(|state| state.kind == OpaqueKind::Signature);
        let text = self.thought.take_if(|_| is_own).unwrap_or_default();
        if text.is_empty() && state.is_none() {
            return;
        }
        if is_own {
            self.thoughts += 1;
        }
        let place = ThoughtPlace { characters: self.characters, calls: self.calls };
        let state = state.map(|state| state.clone().into_owned());
        self.packed.push(PackedThought { place, characters: characters(&text), state });
        self.unsaid = true;
    }

    /// The packed value of `reasoning_opaque`, if thoughts were added since the last write.
    pub(super) fn packed(&mut self) -> Option<Str<'static>> {
        std::mem::take(&mut self.unsaid).then(|| pack(&self.packed))?
    }

    /// Writes an entry of `annotations`. In a stream the entry has an index, by which the official clients assemble
    /// lists. A citation of a whole text covers all its characters.
    pub(super) fn write_annotation(
        &mut self,
        citation: &Citation<'_>,
        in_stream: bool,
        json: &mut JsonWriter<'_>,
        out: &mut WriterOutput<'_>,
    ) {
        let Citation { kind, title, source, from, to, .. } = citation;
        out.lose_some(
            Field::CitationKind,
            kind.as_ref().filter(|kind| !kind.is("url_citation")),
            Reason::Narrowed,
        );
        json.object().opt_u64("index", in_stream.then_some(self.annotations));
        self.annotations += 1;
        json.key("type").literal("url_citation").key("url_citation").object().key("start_index");
        let place = |json: &mut JsonWriter<'_>, known: &Option<Raw<'_>>, otherwise| {
            match known {
                Some(known) => json.raw(known),
                None => json.u64(otherwise),
            };
        };
        place(json, from, self.text_begins);
        json.key("end_index");
        place(json, to, self.characters.saturating_sub(1));
        json.key("title").str(&title.clone().unwrap_or_default());
        json.key("url").str(&source.clone().unwrap_or_default()).end_object().end_object();
    }
}
