//! The search for words in all sessions.
//!
//! The catalogue holds, for each session, the sorted hashes of its words, the pairs of its consecutive words
//! ([`crate::words`]) and the runs of its frequent words ([`crate::runs`]). A search compares them first and reads only the
//! sessions that have all words, and the words of each phrase one after the other. Of a log in lines, only lines with a word
//! of the query are parsed.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use interlingua::json::Str;
use interlingua::ledger::Leftover;
use interlingua::model::{Author, Event, ItemHead, ItemId, ItemKind, ItemTail};
use interlingua::pipe::{Writer, WriterOutput};

use crate::runs::RUN_LENGTHS;
use crate::words::{Phrase, composed, each_text, ends_word, has_failed, hash, small, words};

/// A query: words, phrases in quotes, and filters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SearchQuery {
    /// Words and phrases that a hit must contain, in small letters.
    pub texts: Vec<String>,
    /// The beginning of the agent's name.
    pub agent: Option<String>,
    /// A part of the tool's name.
    pub tool: Option<String>,
    /// Whole words of the path of a file, which a call or a change names.
    pub file: Option<String>,
    /// Only results of tools that failed.
    pub errors: bool,
}

impl SearchQuery {
    /// Parses `words "a phrase" agent:codex tool:bash file:main.rs error:`. Each argument of a command is a part of the
    /// query.
    pub fn parse<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Self {
        let mut query = Self::default();
        for argument in arguments {
            let mut rest = argument.trim();
            while !rest.is_empty() {
                let (token, left) = first_token(rest);
                query.add(token);
                rest = left.trim_start();
            }
        }
        query
    }

    fn add(&mut self, token: &str) {
        let value = |value: &str| Some(small(value.trim_matches('"'))).filter(|value| !value.is_empty());
        match token.split_once(':') {
            Some(("agent", name)) => self.agent = value(name),
            Some(("tool", name)) => self.tool = value(name),
            Some(("file", name)) => self.file = value(name),
            Some(("error", text)) => {
                self.errors = true;
                self.texts.extend(value(text));
            }
            _ => self.texts.extend(value(token)),
        }
    }

    /// Whether the query asks for nothing.
    pub fn is_empty(&self) -> bool {
        self.texts.is_empty() && self.tool.is_none() && self.file.is_none() && !self.errors
    }

    /// The words that a session must have.
    fn words(&self) -> impl Iterator<Item = &str> {
        self.texts.iter().chain(&self.file).flat_map(|text| words(text))
    }

    /// The hashes of the words that a session must have.
    pub(crate) fn hashes(&self) -> Vec<u32> {
        self.words().map(hash).collect()
    }

    /// The pairs of words that a session must have.
    pub(crate) fn pairs(&self) -> Vec<Phrase> {
        self.lines().flat_map(|line| line.windows(2).map(Phrase::new).collect::<Vec<_>>()).collect()
    }

    /// The runs of words that a session must have, if all words of the run are frequent in it, and these words.
    pub(crate) fn runs(&self) -> Vec<(Phrase, Vec<u32>)> {
        let runs = |line: Vec<u32>| {
            let of_length =
                |length| line.windows(length).map(|run| (Phrase::new(run), run.to_vec())).collect::<Vec<_>>();
            RUN_LENGTHS.flat_map(of_length).collect::<Vec<_>>()
        };
        self.lines().flat_map(runs).collect()
    }

    /// The hashes of the words of each line. The texts of an item are searched as lines, so a line break of the query may be
    /// between two texts, whose words do not follow one another.
    fn lines(&self) -> impl Iterator<Item = Vec<u32>> {
        let texts = self.texts.iter().chain(&self.file);
        texts.flat_map(|text| text.lines()).map(|line| words(line).map(hash).collect())
    }

    /// A text that every line with a hit contains, in any case: the longest word of the query, or the longest part of a phrase
    /// with letters, digits and spaces, because JSON may escape other characters. `None` if the query has no such text, or if
    /// lines without the text count: the name of a result's tool is in the line of the call.
    fn needle(&self) -> Option<&str> {
        let is_plain = |letter: char| letter.is_alphanumeric() || letter == ' ';
        let parts =
            self.texts.iter().chain(&self.file).flat_map(|text| text.split(move |letter| !is_plain(letter)));
        let texts = parts.map(str::trim).chain(self.words());
        let needle = texts.filter(|text| text.is_ascii() && !text.is_empty()).max_by_key(|text| text.len());
        needle.filter(|_| self.tool.is_none())
    }
}

/// The first word of a query, or the first phrase in quotes, and the rest.
fn first_token(text: &str) -> (&str, &str) {
    let mut is_quoted = false;
    let end = text.char_indices().find(|(_, letter)| {
        is_quoted ^= *letter == '"';
        letter.is_whitespace() && !is_quoted
    });
    end.map_or((text, ""), |(at, _)| text.split_at(at))
}

/// A place in a session that fits a query.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SearchHit {
    /// The speaker: `you`, `agent`, `system`, `thought`, or the name of a tool.
    pub speaker: String,
    /// The text around the first match, on one line.
    pub context: String,
    /// The number of the frame: the line of a log in lines, else the document or the element of its list.
    pub place: u64,
}

/// Replaces the lines of a log that cannot have a hit by empty lines, so that the numbers of the other lines stay.
pub(crate) struct LineFilter {
    needles: Vec<Needle>,
    /// The beginning of a line whose end was not read yet.
    open: Vec<u8>,
    passed: Vec<u8>,
}

impl LineFilter {
    /// A filter for lines with a word of the query, or with one of these call ids.
    pub(crate) fn new(query: &SearchQuery, call_ids: &[String]) -> Option<Self> {
        let needle = Needle::new(query.needle()?);
        let needles = std::iter::once(needle).chain(call_ids.iter().map(|id| Needle::new(id))).collect();
        Some(Self { needles, open: Vec::new(), passed: Vec::new() })
    }

    /// The next bytes, filtered.
    pub(crate) fn pass(&mut self, bytes: &[u8]) -> &[u8] {
        self.passed.clear();
        let end = memchr::memrchr(b'\n', bytes).map_or(0, |at| at + 1);
        let (whole, rest) = bytes.split_at(end);
        let mut lines = whole;
        if !self.open.is_empty() && !whole.is_empty() {
            let end = memchr::memchr(b'\n', whole).map_or(whole.len(), |at| at + 1);
            let (line, later) = whole.split_at(end);
            self.open.extend_from_slice(line);
            let line = std::mem::take(&mut self.open);
            self.line(&line);
            lines = later;
        }
        while !lines.is_empty() {
            let end = memchr::memchr(b'\n', lines).map_or(lines.len(), |at| at + 1);
            let (line, later) = lines.split_at(end);
            self.line(line);
            lines = later;
        }
        self.open.extend_from_slice(rest);
        &self.passed
    }

    /// The last line, if it has no end.
    pub(crate) fn finish(&mut self) -> &[u8] {
        self.passed.clear();
        let line = std::mem::take(&mut self.open);
        self.line(&line);
        &self.passed
    }

    fn line(&mut self, line: &[u8]) {
        if self.needles.iter().any(|needle| needle.find(line).is_some()) {
            self.passed.extend_from_slice(line);
        } else if line.ends_with(b"\n") {
            self.passed.push(b'\n');
        }
    }
}

/// Finds the end of the last line with a word of the query, or with a part of a phrase, as [`LineFilter`] does.
pub(crate) struct LastMatch {
    needle: Needle,
    /// The last bytes, in which a match may begin.
    before: Vec<u8>,
    read: u64,
    end: Option<u64>,
    /// The line of the last match has not ended yet.
    is_open: bool,
}

impl LastMatch {
    pub(crate) fn new(query: &SearchQuery) -> Option<Self> {
        let needle = Needle::new(query.needle()?);
        Some(Self { needle, before: Vec::new(), read: 0, end: None, is_open: false })
    }

    /// The next bytes.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        let longest = self.needle.bytes.len().saturating_sub(1);
        let begin = bytes.get(..longest).unwrap_or(bytes);
        self.before.extend_from_slice(begin);
        self.is_open |= self.needle.find(&self.before).is_some();
        let last = self.needle.places(bytes).last();
        for at in [self.is_open.then_some(0), last].into_iter().flatten() {
            let end = memchr::memchr(b'\n', bytes.get(at..).unwrap_or_default());
            self.is_open = end.is_none();
            if let Some(end) = end {
                self.end = Some(self.read + (at + end) as u64 + 1);
            }
        }
        if bytes.len() >= longest {
            self.before.clear();
            self.before.extend_from_slice(bytes.get(bytes.len() - longest..).unwrap_or_default());
        } else {
            let cut = self.before.len().saturating_sub(longest);
            self.before.drain(..cut);
        }
        self.read += bytes.len() as u64;
    }

    /// The end of the line; `None` without a match.
    pub(crate) fn end_of_line(&self) -> Option<u64> {
        if self.is_open { Some(u64::MAX) } else { self.end }
    }
}

/// A text that is searched in any case of its ASCII letters.
struct Needle {
    bytes: Vec<u8>,
    /// The place of the rarest byte.
    rare: usize,
}

/// Letters and digits, the rarest first.
const RARITY: &[u8] = b"zqxjk7986543210vwybpgfumhcdlrsnoaite";

impl Needle {
    fn new(text: &str) -> Self {
        let bytes = text.as_bytes().to_ascii_lowercase();
        let rarity = |byte: &u8| RARITY.iter().position(|known| known == byte).unwrap_or(usize::MAX);
        let rare = (0..bytes.len()).min_by_key(|at| bytes.get(*at).map(rarity)).unwrap_or(0);
        Self { bytes, rare }
    }

    /// The place of the first match.
    fn find(&self, text: &[u8]) -> Option<usize> {
        self.places(text).next()
    }

    /// The places of all matches.
    fn places<'t>(&'t self, text: &'t [u8]) -> impl Iterator<Item = usize> + 't {
        let rare = self.bytes.get(self.rare).copied().unwrap_or_default();
        // A match that begins before the text, or ends after it, is none.
        let places = memchr::memchr2_iter(rare, rare.to_ascii_uppercase(), text);
        let begins = places.filter_map(|at| at.checked_sub(self.rare));
        begins.filter(|begin| {
            let found = text.get(*begin..begin + self.bytes.len());
            found.is_some_and(|found| found.eq_ignore_ascii_case(&self.bytes))
        })
    }
}

/// Finds the hits in the events of one session. The creator takes the hits from the shared state.
#[derive(Clone)]
pub(crate) struct HitWriter(Arc<Mutex<HitFinder>>);

impl HitWriter {
    pub(crate) fn new(query: &SearchQuery) -> Self {
        Self(Arc::new(Mutex::new(HitFinder::new(query))))
    }

    /// The number of results so far that are hits without the name of their tool.
    pub(crate) fn unknown_calls(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).unknown_calls.len()
    }

    /// Whether an item has begun and not ended.
    pub(crate) fn has_open_items(&self) -> bool {
        !self.0.lock().unwrap_or_else(PoisonError::into_inner).open.is_empty()
    }

    /// The hits, and the ids of calls whose results are hits without the name of their tool.
    pub(crate) fn finish(self) -> (Vec<SearchHit>, Vec<String>) {
        let mut finder = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        (std::mem::take(&mut finder.hits), std::mem::take(&mut finder.unknown_calls))
    }
}

impl Writer for HitWriter {
    fn event(&mut self, event: &Event<'_>, out: &mut WriterOutput<'_>) {
        let place = out.ledger.frame_number();
        self.0.lock().unwrap_or_else(PoisonError::into_inner).event(event, place);
    }

    fn leftover(&mut self, leftover: Leftover<'_>, out: &mut WriterOutput<'_>) {
        leftover.mark_kept(out.ledger);
    }

    fn finish(&mut self, _: &mut WriterOutput<'_>) {}
}

struct HitFinder {
    query: SearchQuery,
    texts: Vec<TextMatcher>,
    file: Option<TextMatcher>,
    open: HashMap<ItemId, OpenText>,
    /// The names of the tools of calls without a result so far.
    tools: HashMap<String, String>,
    hits: Vec<SearchHit>,
    unknown_calls: Vec<String>,
}

struct OpenText {
    speaker: String,
    text: String,
    is_call: bool,
    is_result: bool,
    /// The call of a result that names no tool.
    unknown_call: Option<String>,
    place: u64,
}

impl HitFinder {
    fn new(query: &SearchQuery) -> Self {
        Self {
            query: query.clone(),
            texts: query.texts.iter().map(|text| TextMatcher::new(text)).collect(),
            file: query.file.as_deref().map(TextMatcher::new),
            open: HashMap::new(),
            tools: HashMap::new(),
            hits: Vec::new(),
            unknown_calls: Vec::new(),
        }
    }

    fn event(&mut self, event: &Event<'_>, place: u64) {
        match event {
            Event::ItemStarted(head) => self.started(head, place),
            Event::ItemDelta(delta) => {
                if let Some(open) = self.open.get_mut(&delta.item) {
                    each_text(delta, |text| {
                        open.text.push_str(text);
                        open.text.push('\n');
                    });
                }
            }
            Event::ItemCompleted(tail) => self.completed(tail),
            // Other events have no texts that a search finds.
            _ => {}
        }
    }

    fn started(&mut self, head: &ItemHead<'_>, place: u64) {
        let (mut is_call, mut is_result, mut unknown_call) = (false, false, None);
        let speaker = match &head.kind {
            ItemKind::Message if head.author == Author::User => "you".to_owned(),
            ItemKind::Message if head.author == Author::Assistant => "agent".to_owned(),
            ItemKind::Message => "system".to_owned(),
            ItemKind::Reasoning => "thought".to_owned(),
            ItemKind::ToolCall(call) => {
                is_call = true;
                let name = call.name.decode().into_owned();
                if let Some(id) = &call.call_id {
                    self.tools.insert(id.as_escaped().to_owned(), name.clone());
                }
                name
            }
            ItemKind::ToolResult(result) => {
                is_result = true;
                let id = result.call_id.as_ref().map(Str::as_escaped);
                let known = id.and_then(|id| self.tools.remove(id));
                if known.is_none() {
                    unknown_call = id.map(str::to_owned);
                }
                known.or_else(|| Some(result.name.as_ref()?.decode().into_owned())).unwrap_or_default()
            }
            ItemKind::Notice(_) => return,
        };
        let text = String::new();
        self.open.insert(head.id, OpenText { speaker, text, is_call, is_result, unknown_call, place });
    }

    fn completed(&mut self, tail: &ItemTail<'_>) {
        let Some(OpenText { speaker, text, is_call, is_result, unknown_call, place }) =
            self.open.remove(&tail.id)
        else {
            return;
        };
        let SearchQuery { tool, errors, .. } = &self.query;
        let is_of_tool = is_call || is_result;
        let is_asked = (!errors || is_result && has_failed(tail))
            && tool.as_ref().is_none_or(|tool| is_of_tool && speaker.to_lowercase().contains(tool.as_str()))
            && (self.file.is_none() || is_of_tool);
        if !is_asked {
            return;
        }
        let text = SearchedText::new(text);
        let mut first = None;
        for matcher in self.texts.iter().chain(&self.file) {
            let Some(at) = matcher.find(&text) else { return };
            first.get_or_insert(at);
        }
        self.unknown_calls.extend(unknown_call);
        let context = text.around(first.unwrap_or(0));
        self.hits.push(SearchHit { speaker, context, place });
    }
}

/// The text of an item with composed letters, and a copy in small letters if it has letters beyond ASCII.
struct SearchedText {
    text: String,
    small: Option<String>,
}

impl SearchedText {
    fn new(text: String) -> Self {
        if text.is_ascii() {
            return Self { text, small: None };
        }
        let text = composed(&text).into_owned();
        Self { small: Some(text.to_lowercase()), text }
    }

    /// The text around a place in the searched copy, on one line. The copy may differ in length, so the place is counted in
    /// letters.
    fn around(&self, at: usize) -> String {
        let searched = self.small.as_ref().unwrap_or(&self.text);
        let letters = searched.get(..at).unwrap_or_default().chars().count();
        let begin = letters.saturating_sub(BEFORE);
        let cut: String = self.text.chars().skip(begin).take(letters - begin + AFTER).collect();
        let line = cut.split_whitespace().collect::<Vec<_>>().join(" ");
        let more = self.text.chars().nth(letters + AFTER).is_some();
        format!("{}{line}{}", if begin > 0 { "…" } else { "" }, if more { "…" } else { "" })
    }
}

/// A text of the query.
struct TextMatcher {
    small: String,
    needle: Option<Needle>,
}

impl TextMatcher {
    fn new(small: &str) -> Self {
        let needle = small.is_ascii().then(|| Needle::new(small));
        Self { small: small.to_owned(), needle }
    }

    /// The place of the first match that has whole words at both ends.
    fn find(&self, text: &SearchedText) -> Option<usize> {
        match (&text.small, &self.needle) {
            (Some(small), _) => {
                // A match may overlap the match before it, which has a part of a word at an end.
                let mut from = 0;
                loop {
                    let at = from + small.get(from..)?.find(&self.small)?;
                    if self.has_whole_words(small, at) {
                        return Some(at);
                    }
                    from = at + small.get(at..)?.chars().next()?.len_utf8();
                }
            }
            (None, Some(needle)) => {
                needle.places(text.text.as_bytes()).find(|at| self.has_whole_words(&text.text, *at))
            }
            // A text of ASCII has no letters beyond ASCII.
            (None, None) => None,
        }
    }

    /// Whether no word of a match at this place goes on before or after it.
    fn has_whole_words(&self, text: &str, at: usize) -> bool {
        let is_inside = |before: Option<char>, after: Option<char>| {
            before.is_some_and(|letter| !ends_word(letter)) && after.is_some_and(|letter| !ends_word(letter))
        };
        let before = text.get(..at).and_then(|text| text.chars().next_back());
        let after = text.get(at + self.small.len()..).and_then(|text| text.chars().next());
        !is_inside(before, self.small.chars().next()) && !is_inside(self.small.chars().next_back(), after)
    }
}

/// The letters around a match that are shown.
const BEFORE: usize = 40;
const AFTER: usize = 80;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_has_words_phrases_and_filters() {
        let query = SearchQuery::parse(["Fix \"the flaky Test\" agent:codex", "tool:Bash", "error:timeout"]);
        assert_eq!(query.texts, ["fix", "the flaky test", "timeout"]);
        assert_eq!((query.agent.as_deref(), query.tool.as_deref()), (Some("codex"), Some("bash")));
        assert!(query.errors && !query.is_empty());
        assert!(SearchQuery::parse(["  ", "agent:x"]).is_empty());
    }

    #[test]
    fn a_match_is_found_in_any_case_at_both_ends() {
        let find = |needle: &str, text: &str| Needle::new(needle).find(text.as_bytes());
        assert_eq!(find("quay", "QUAY"), Some(0));
        assert_eq!(find("quay", "the Quay"), Some(4));
        assert_eq!(find("quay", "uay qua"), None);
        assert_eq!(find("the zeppelin", "in THE\nthe Zeppelin"), Some(7));
        assert_eq!(find("a", ""), None);
        let unicode = SearchedText::new("ÄRGER mit Übung".to_owned());
        assert!(TextMatcher::new("ärger").find(&unicode).is_some());
        assert!(TextMatcher::new("übung").find(&SearchedText::new("ubung".to_owned())).is_none());
    }

    #[test]
    fn a_match_has_whole_words_at_both_ends() {
        let find =
            |query: &str, text: &str| TextMatcher::new(query).find(&SearchedText::new(text.to_owned()));
        assert_eq!(find("test", "the latest testcase is a Test"), Some(25));
        assert_eq!(find("test", "the latest testcase"), None);
        assert_eq!(find("test", "die ältesten Tests, ein Test"), Some(25));
        assert_eq!(find("a a", "ça a a"), Some(4));
        assert_eq!(find("-x", "drwxr-xr-x"), Some(8));
        assert_eq!(find("测试", "请修复连接池的测试吧"), Some(21));
        assert_eq!(find("테스트", "테스트를 수정"), Some(0));
        assert_eq!(find("🚀", "ship🚀it"), Some(4));
        assert_eq!(find("café", "Cafe\u{301}"), Some(0));
        assert_eq!(find("cafe", "Cafe\u{301}"), None);
    }

    #[test]
    fn lines_without_the_word_are_empty_in_pieces_of_any_size() {
        let text = b"one Word\n\ntwo\nthree WORDS\nfour";
        for size in 1..text.len() {
            let mut filter = LineFilter::new(&SearchQuery::parse(["word"]), &[]).expect("a filter");
            let mut passed: Vec<u8> =
                text.chunks(size).flat_map(|piece| filter.pass(piece).to_vec()).collect();
            passed.extend_from_slice(filter.finish());
            assert_eq!(passed, b"one Word\n\n\nthree WORDS\n", "pieces of {size}");
        }
        assert!(LineFilter::new(&SearchQuery::parse(["word", "tool:bash"]), &[]).is_none());
        assert!(LineFilter::new(&SearchQuery::parse(["übung"]), &[]).is_none());
    }

    #[test]
    fn the_last_line_with_the_word_is_found_in_pieces_of_any_size() {
        for (text, end) in [
            ("one\nthe Quay here\nthree\n", Some(18)),
            ("quay\nquay\nthree\n", Some(10)),
            ("one\nthe quay", Some(u64::MAX)),
            ("quay\nqua", Some(5)),
            ("qua\ny", None),
            ("", None),
        ] {
            for size in 1..=text.len().max(1) {
                let mut last = LastMatch::new(&SearchQuery::parse(["quay"])).expect("a needle");
                text.as_bytes().chunks(size).for_each(|piece| last.push(piece));
                assert_eq!(last.end_of_line(), end, "{text:?} in pieces of {size}");
            }
        }
    }

    #[test]
    fn lines_are_searched_for_the_longest_text_without_characters_that_json_escapes() {
        for (query, needle) in [
            ("a \"the zeppelin over the quay\"", "the zeppelin over the quay"),
            ("\"say \\ to the crew\"", "to the crew"),
            ("\"übung macht den meister\"", "meister"),
            ("file:src/main.rs", "main"),
        ] {
            assert_eq!(SearchQuery::parse([query]).needle(), Some(needle), "{query}");
        }
    }

    #[test]
    fn the_context_is_one_line_around_the_match() {
        let text = format!("{} the\nmatch here {}", "a ".repeat(60), "b ".repeat(80));
        let text = SearchedText::new(text);
        let at = TextMatcher::new("match").find(&text).expect("a match");
        let context = text.around(at);
        assert!(context.starts_with('…') && context.ends_with('…') && context.contains("the match here"));
        assert_eq!(SearchedText::new("Short".to_owned()).around(0), "Short");
    }
}
