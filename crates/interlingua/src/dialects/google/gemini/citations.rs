//! Where statements come from: `groundingMetadata` and `citationMetadata`. Their places are bytes of a text, from its
//! beginning to just behind its end; ours are characters of the whole answer, up to the last one.

use std::collections::{BTreeMap, HashMap};

use super::super::parts::either;
use crate::json::{JsonBuffer, JsonWriter, Raw, Str};
use crate::ledger::Reason;
use crate::model::{Citation, Field, ItemId, Part};
use crate::pipe::{Events, Target};
use crate::tape::{Kind, Val};

/// What an answer has said so far, plain, and the characters before each 64th byte of it, so that a place is found without
/// counting from the beginning.
#[derive(Default)]
pub(in super::super) struct CountedText {
    text: String,
    before: Vec<usize>,
    /// How far it is counted, and how many characters there are up to there.
    counted: (usize, usize),
}

const STEP: usize = 64;

impl CountedText {
    pub(in super::super) fn len(&self) -> usize {
        self.text.len()
    }

    pub(in super::super) fn clear(&mut self) {
        self.text.clear();
        self.before.clear();
        self.counted = (0, 0);
    }

    pub(in super::super) fn add(&mut self, text: &Str<'_>) {
        text.decode_into(&mut self.text);
    }

    /// Counts what was added since it was counted last; places are known up to there.
    pub(super) fn count(&mut self) {
        let (from, mut count) = self.counted;
        for (at, byte) in self.text.bytes().enumerate().skip(from) {
            if at.is_multiple_of(STEP) {
                self.before.push(count);
            }
            // Bytes that go on with a character do not begin one.
            count += usize::from(byte & 0xc0 != 0x80);
        }
        self.counted = (self.text.len(), count);
    }

    /// How many characters stand before a byte, if a character begins or the text ends there.
    fn characters_before(&self, byte: usize) -> Option<usize> {
        if !self.text.is_char_boundary(byte) {
            return None;
        }
        if byte == self.counted.0 {
            return Some(self.counted.1);
        }
        let from = byte / STEP * STEP;
        let rest = self.text.as_bytes().get(from..byte)?;
        let known = self.before.get(byte / STEP)?;
        Some(known + rest.iter().filter(|byte| **byte & 0xc0 != 0x80).count())
    }

    /// How many bytes stand before a character, if there is one or the text ends there.
    fn bytes_before(&self, character: usize) -> Option<usize> {
        if character == self.counted.1 {
            return Some(self.counted.0);
        }
        let step = self.before.partition_point(|known| *known <= character).checked_sub(1)?;
        let mut left = character - self.before.get(step)?;
        let rest = self.text.as_bytes().get(step * STEP..)?.iter().take(STEP);
        for (at, byte) in rest.enumerate() {
            if byte & 0xc0 != 0x80 {
                if left == 0 {
                    return Some(step * STEP + at);
                }
                left -= 1;
            }
        }
        None
    }
}

/// What a candidate says about where its texts come from.
pub(super) struct CandidateSources<'t> {
    chunks: Vec<Val<'t>>,
    /// What each part that is named has from there.
    supports: BTreeMap<u64, Vec<Val<'t>>>,
    /// Sources of the first text.
    listed: Option<Val<'t>>,
}

impl<'t> CandidateSources<'t> {
    /// `part_of` tells which part one that is named stands for.
    pub(super) fn of(candidate: Val<'t>, part_of: impl Fn(u64) -> u64) -> Self {
        let grounding = either(candidate, "groundingMetadata", "grounding_metadata");
        let list = |camel, snake| {
            let list = grounding.and_then(|grounding| either(grounding, camel, snake));
            list.into_iter().flat_map(|list| list.elements())
        };
        let mut supports: BTreeMap<u64, Vec<Val<'t>>> = BTreeMap::new();
        for support in list("groundingSupports", "grounding_supports") {
            let Some(segment) = support.get("segment") else { continue };
            let named = either(segment, "partIndex", "part_index").and_then(|part| part.u64());
            supports.entry(part_of(named.unwrap_or(0))).or_default().push(support);
        }
        let citations = either(candidate, "citationMetadata", "citation_metadata");
        let listed = citations.and_then(|list| {
            either(list, "citations", "citationSources").or_else(|| list.get("citation_sources"))
        });
        Self { chunks: list("groundingChunks", "grounding_chunks").collect(), supports, listed }
    }
}

/// The text that places point into.
pub(super) struct CitedText<'a> {
    pub(super) message: ItemId,
    /// The part that the citations are said of.
    pub(super) part: u32,
    /// All that the answer says, counted.
    pub(super) said: &'a CountedText,
    /// Where the part that bytes are counted in begins.
    pub(super) base: usize,
    /// The number of that part in its content.
    pub(super) number: u64,
}

impl CitedText<'_> {
    /// Says the citations that are about this text.
    pub(super) fn read(&self, sources: &CandidateSources<'_>, is_first: bool, out: &mut Events<'_>) {
        for support in sources.supports.get(&self.number).into_iter().flatten() {
            let Some(segment) = support.get("segment") else { continue };
            let part = either(segment, "partIndex", "part_index");
            part.filter(|part| part.u64() == Some(self.number)).map(|part| part.note(Field::Structure));
            let indices = either(*support, "groundingChunkIndices", "grounding_chunk_indices");
            for index in indices.into_iter().flat_map(|indices| indices.elements()) {
                let chunk = index.u64().and_then(|index| sources.chunks.get(usize::try_from(index).ok()?));
                let Some(citation) = chunk.and_then(|chunk| source_of(*chunk)) else { continue };
                index.note(Field::Structure);
                self.say(citation, segment, out);
            }
        }
        let listed = sources.listed.filter(|_| is_first);
        for source in listed.into_iter().flat_map(|list| list.elements()) {
            let citation = Citation {
                title: source.note_str("title", Field::CitationTitle),
                source: source.note_str("uri", Field::CitationSource),
                ..Citation::default()
            };
            if citation.source.is_some() {
                self.say(citation, source, out);
            }
        }
    }

    /// Says a citation whose place in the answer stands in `place`.
    fn say(&self, mut citation: Citation<'_>, place: Val<'_>, out: &mut Events<'_>) {
        let (from, to) = (either(place, "startIndex", "start_index"), either(place, "endIndex", "end_index"));
        let byte = |val: Option<Val<'_>>| val.map_or(Some(0), |val| usize::try_from(val.u64()?).ok());
        if let (Some(start), Some(end)) = (byte(from), byte(to).filter(|end| *end > 0))
            && let (Some(start), Some(end)) = (start.checked_add(self.base), end.checked_add(self.base))
            && let (Some(first), Some(behind)) =
                (self.said.characters_before(start), self.said.characters_before(end))
        {
            from.map(|from| from.note(Field::CitationFrom));
            to.map(|to| to.note(Field::CitationTo));
            citation.from = Some(Raw::owned(first.to_string()));
            citation.to = Some(Raw::owned(behind.saturating_sub(1).to_string()));
            // The words themselves stand in the answer.
            if let Some(words) = place.get("text").filter(|words| {
                words.str().is_some_and(|words| self.said.text.get(start..end) == Some(&*words.decode()))
            }) {
                words.note(Field::Structure);
            }
        }
        out.delta(self.message, self.part, Part::Citation(citation));
    }
}

/// What a chunk says of its source.
fn source_of(chunk: Val<'_>) -> Option<Citation<'_>> {
    let place = chunk.get("web").or_else(|| either(chunk, "retrievedContext", "retrieved_context"));
    let place = place.or_else(|| chunk.get("maps")).filter(|place| place.kind() == Kind::Object)?;
    Some(Citation {
        source: Some(place.note_str("uri", Field::CitationSource)?),
        title: place.note_str("title", Field::CitationTitle),
        quote: place.note_str("text", Field::CitationQuote),
        ..Citation::default()
    })
}

/// Citations being gathered for the end of an answer.
#[derive(Default)]
pub(super) struct Grounding {
    chunks: JsonBuffer,
    /// The numbers of chunks, by what they say.
    numbers: HashMap<Vec<u8>, u64>,
    /// The last support is still open.
    supports: JsonBuffer,
    /// What it is about, and the chunks it names.
    last: Option<(usize, usize)>,
    named: Vec<u64>,
}

impl Grounding {
    /// Adds a citation of the text that is open.
    pub(super) fn add(&mut self, citation: &Citation<'_>, so_far: &mut AnswerSoFar, out: &mut Target<'_>) {
        // The table says which of these have no place.
        let Citation { kind, quote, title, source, document: _, start: _, end: _, from, to, state: _ } =
            citation;
        out.lose_some(Field::CitationKind, kind.as_ref(), Reason::Narrowed);
        let context = quote.as_ref().filter(|quote| !quote.is_empty());
        let mut chunk = JsonBuffer::default();
        let json = &mut chunk.hold();
        json.object().key(if context.is_some() { "retrievedContext" } else { "web" }).object();
        let title = title.as_ref().filter(|title| !title.is_empty());
        json.opt_str("uri", source.as_ref()).opt_str("title", title).opt_str("text", context);
        json.end_object().end_object();
        so_far.plain.count();
        let AnswerSoFar { plain: said, begins } = &*so_far;
        let place = |known: &Option<Raw<'_>>, more: usize| {
            let character = known.as_ref()?.as_str().parse::<usize>().ok()?.checked_add(more)?;
            said.bytes_before(character)
        };
        // The last character is part of what is cited.
        let (first, behind) = (place(from, 0), place(to, 1));
        for (field, known, found) in [(Field::CitationFrom, from, first), (Field::CitationTo, to, behind)] {
            if let Some(known) = known.as_ref().filter(|_| found.is_none()) {
                out.lose_raw(field, known, Reason::Invalid);
            }
        }
        let (first, behind) = (first.unwrap_or(*begins), behind.unwrap_or(said.len()));
        if self.last.replace((first, behind)) != Some((first, behind)) {
            let json = &mut self.supports.hold();
            end_support(&mut self.named, json);
            json.object().key("segment").object();
            // Nothing is said for the beginning.
            json.opt_u64("startIndex", Some(first as u64).filter(|first| *first > 0));
            json.key("endIndex").u64(behind as u64);
            if let Some(words) = said.text.get(first..behind) {
                json.key("text").plain(words);
            }
            json.end_object();
        }
        let next = self.numbers.len() as u64;
        let number = *self.numbers.entry(chunk.bytes().to_vec()).or_insert(next);
        if number == next {
            self.chunks.hold().values(chunk.bytes());
        }
        self.named.push(number);
    }

    /// `"groundingMetadata":{…}`, if there is any.
    pub(super) fn write(&mut self, json: &mut JsonWriter<'_>) {
        if self.last.take().is_some() {
            end_support(&mut self.named, &mut self.supports.hold());
            json.key("groundingMetadata").object();
            json.key("groundingChunks").array().values(self.chunks.bytes()).end_array();
            json.key("groundingSupports").array().values(self.supports.bytes()).end_array();
            json.end_object();
        }
    }
}

/// Ends a support with the chunks that it names, if one is open.
fn end_support(named: &mut Vec<u64>, json: &mut JsonWriter<'_>) {
    if !named.is_empty() {
        json.key("groundingChunkIndices").array();
        for number in named.drain(..) {
            json.u64(number);
        }
        json.end_array().end_object();
    }
}

/// The text of an answer so far, and where the part that is open begins.
#[derive(Default)]
pub(super) struct AnswerSoFar {
    plain: CountedText,
    begins: usize,
}

impl AnswerSoFar {
    pub(super) fn open(&mut self) {
        self.begins = self.plain.len();
    }

    pub(super) fn add(&mut self, text: &Str<'_>) {
        self.plain.add(text);
    }
}

#[cfg(test)]
mod tests {
    use super::CountedText;
    use crate::json::Str;

    #[test]
    fn bytes_and_characters_lead_to_each_other() {
        for text in ["", "abc", "é🦀x", &"aé🦀".repeat(60), &"x".repeat(128)] {
            // Counted at once, and in the middle too.
            for halves in [("", text), text.split_at(text.len() / 14 * 7)] {
                let mut places = CountedText::default();
                for half in [halves.0, halves.1] {
                    places.add(&Str::plain(half));
                    places.count();
                }
                for (character, (byte, _)) in text.char_indices().chain([(text.len(), ' ')]).enumerate() {
                    assert_eq!(places.characters_before(byte), Some(character), "{text} {byte}");
                    assert_eq!(places.bytes_before(character), Some(byte), "{text} {character}");
                }
                assert_eq!(places.bytes_before(text.chars().count() + 1), None);
            }
        }
        let mut places = CountedText::default();
        places.add(&Str::plain("é"));
        places.count();
        assert_eq!(places.characters_before(1), None);
    }
}
