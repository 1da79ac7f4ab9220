//! What is counted while a message is said: where a citation and an entry of `reasoning_details` stand.

use super::super::places::{AFTER_CALLS, AFTER_CHARACTERS, PackedThought, ThoughtPlace, characters, pack};
use crate::json::{JsonWriter, Raw, Str};
use crate::ledger::Reason;
use crate::model::{Citation, Field, Opaque, OpaqueKind, issuers};
use crate::pipe::Target;

/// Who reads an entry of `reasoning_details`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DetailReader {
    /// A client, which gives it back with members of our own.
    Client,
    /// A server, which knows the names of its own.
    Server,
}

/// OpenRouter's names for whose state an entry holds; without one it is Anthropic's.
const FORMATS: [(&str, &str); 3] = [
    (issuers::OPENAI, "openai-responses-v1"),
    (issuers::GOOGLE, "google-gemini-v1"),
    (issuers::XAI, "xai-responses-v1"),
];

/// What is counted while a message is said.
#[derive(Default)]
pub(super) struct MessageTally {
    /// Entries of `reasoning_details` so far.
    details: u64,
    /// Thoughts with a text so far, and the one that is open, with its text.
    thoughts: u64,
    thought: Option<String>,
    /// Calls so far, and entries of `annotations`.
    calls: u64,
    annotations: u64,
    /// What one place for state has to say.
    packed: Vec<PackedThought<'static>>,
    /// It has more to say than it said.
    unsaid: bool,
    /// Characters of content so far, and before the text that is open.
    characters: u64,
    text_begins: u64,
}

impl MessageTally {
    pub(super) fn open_text(&mut self, out: &mut Target<'_>) {
        self.text_begins = self.characters;
        if self.calls > 0 {
            out.ledger.note("text after calls put before them");
        }
    }

    pub(super) fn text(&mut self, text: &Str<'_>) {
        self.characters += characters(text.as_escaped());
    }

    /// There is a text, of whatever length.
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

    /// Something was said before that a thought which is told by its text alone would be put in front of.
    pub(super) const fn is_after_something(&self) -> bool {
        self.details + self.thoughts + self.calls + self.characters > 0
    }

    /// What is open ends. Writes the entry of a thought that nobody signed, if its text alone would not say where it
    /// stands.
    pub(super) fn close(&mut self) -> Option<String> {
        let text = self.thought.take().filter(|text| !text.is_empty())?;
        let is_apart = self.is_after_something();
        self.thoughts += 1;
        is_apart.then_some(text)
    }

    /// Writes an entry of `reasoning_details` with the text of the thought that is open.
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

    /// Writes the entry of a thought that nobody signed.
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

    /// Keeps the thought that is open, with its state, for the one place that a message has for all of it.
    pub(super) fn keep(&mut self, state: Option<&Opaque<'_>>) {
        // A state that is no signature is said when the thought that it belongs to has ended.
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

    /// What the one place for state has to say that it did not.
    pub(super) fn packed(&mut self) -> Option<Str<'static>> {
        std::mem::take(&mut self.unsaid).then(|| pack(&self.packed))?
    }

    /// Writes an entry of `annotations`, with its number if it is a piece of a stream: the official clients put lists
    /// together by it. What is said of a whole text is said of all its characters.
    pub(super) fn write_annotation(
        &mut self,
        citation: &Citation<'_>,
        in_stream: bool,
        json: &mut JsonWriter<'_>,
        out: &mut Target<'_>,
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
