//! Reads and writes citations: `groundingMetadata` and `citationMetadata`. The API counts bytes of one text, with an
//! exclusive end; the model counts characters of the whole response, with an inclusive end.

use std::collections::{BTreeMap, HashMap};

use super::super::parts::either;
use crate::json::{JsonBuffer, JsonWriter, Raw, Str};
use crate::ledger::Reason;
use crate::model::{Citation, Field, ItemId, Part};
use crate::pipe::{EventSink, WriterOutput};
use crate::tape::{Kind, Val};

/// The decoded text of a response so far, with the number of characters before each 64th byte, so that a position is
/// found without counting from the start.
#[derive(Default)]
pub(in super::super) struct CountedText {
    text: String,
    before: Vec<usize>,
    /// The number of bytes whose characters are counted, and the number of these characters.
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

    /// Counts the text added since the last count; positions are known up to the counted end.
    pub(super) fn count(&mut self) {
        let (from, mut count) = self.counted;
        for (at, byte) in self.text.bytes().enumerate().skip(from) {
            if at.is_multiple_of(STEP) {
                self.before.push(count);
            }
            // Continuation bytes do not begin a character.
            count += usize::from(byte & 0xc0 != 0x80);
        }
        self.counted = (self.text.len(), count);
    }

    /// The number of characters before a byte, if the byte is a character boundary.
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

    /// The number of bytes before a character, if the text has so many characters.
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

/// The sources of a candidate's texts.
pub(super) struct CandidateSources<'t> {
    chunks: Vec<Val<'t>>,
    /// The supports of each part, by part number.
    supports: BTreeMap<u64, Vec<Val<'t>>>,
    /// The listed citations, which belong to the first text.
    listed: Option<Val<'t>>,
}

impl<'t> CandidateSources<'t> {
    /// `part_of` maps the part number of a segment to the number of a text part.
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

/// A text with citations.
pub(super) struct CitedText<'a> {
    pub(super) message: ItemId,
    /// The part that the citations refer to.
    pub(super) part: u32,
    /// The counted text of the whole response.
    pub(super) said: &'a CountedText,
    /// The byte offset of the part whose bytes the segments count.
    pub(super) base: usize,
    /// The number of that part in its content.
    pub(super) number: u64,
}

impl CitedText<'_> {
    /// Emits the citations of this text.
    pub(super) fn read(&self, sources: &CandidateSources<'_>, is_first: bool, out: &mut EventSink<'_>) {
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

    /// Emits a citation; `place` holds its position in the response.
    fn say(&self, mut citation: Citation<'_>, place: Val<'_>, out: &mut EventSink<'_>) {
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
            // The cited words are a copy of the response text.
            if let Some(words) = place.get("text").filter(|words| {
                words.str().is_some_and(|words| self.said.text.get(start..end) == Some(&*words.decode()))
            }) {
                words.note(Field::Structure);
            }
        }
        out.delta(self.message, self.part, Part::Citation(citation));
    }
}

/// The source in a grounding chunk.
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

/// Citations collected for the end of a response.
#[derive(Default)]
pub(super) struct Grounding {
    chunks: JsonBuffer,
    /// The numbers of chunks, by their content.
    numbers: HashMap<Vec<u8>, u64>,
    /// The supports; the last support is open.
    supports: JsonBuffer,
    /// The segment of the open support, and its chunk numbers.
    last: Option<(usize, usize)>,
    named: Vec<u64>,
}

impl Grounding {
    /// Adds a citation of the open text.
    pub(super) fn add(
        &mut self,
        citation: &Citation<'_>,
        so_far: &mut AnswerSoFar,
        out: &mut WriterOutput<'_>,
    ) {
        // The table lists the members without a field in this API.
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
        // The end in the model is inclusive.
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
            // `startIndex` is omitted for position 0.
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

    /// `"groundingMetadata":{…}`, if there are citations.
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

/// Ends the open support with its chunk numbers.
fn end_support(named: &mut Vec<u64>, json: &mut JsonWriter<'_>) {
    if !named.is_empty() {
        json.key("groundingChunkIndices").array();
        for number in named.drain(..) {
            json.u64(number);
        }
        json.end_array().end_object();
    }
}

/// The text of a response so far, and the start of the open part.
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
            // Counted in one step, and in two steps.
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
