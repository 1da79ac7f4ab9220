//! The search for words in all sessions.
//!
//! The catalogue holds, for each session, the sorted hashes of its words. A search compares hashes first and reads only the
//! sessions that have all words. This index takes about two per cent of the size of the logs and is built as fast as the logs
//! are read; the texts stay in the logs alone.

use std::collections::{HashMap, HashSet};

use interlingua::model::{
    Args, Author, Delta, Event, FileRef, ItemHead, ItemId, ItemKind, ItemTail, Part, Status,
};

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
    /// A part of the path of a file, which a call or a change names.
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
        let value =
            |value: &str| Some(value.trim_matches('"').to_lowercase()).filter(|value| !value.is_empty());
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

    /// The hashes of the words that a session must have.
    pub(crate) fn hashes(&self) -> Vec<u32> {
        self.texts.iter().chain(&self.file).flat_map(|text| words(text)).map(hash).collect()
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

/// The words of a text in small letters.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty())
}

fn hash(word: &str) -> u32 {
    // FNV-1a: short words, no enemy; a wrong hit costs the reading of one session.
    word.bytes().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

/// The hashes of all words of a session.
#[derive(Default)]
pub(crate) struct WordIndex {
    hashes: HashSet<u32>,
}

impl WordIndex {
    /// Takes in the texts of an event.
    pub(crate) fn event(&mut self, event: &Event<'_>) {
        match event {
            Event::ItemStarted(ItemHead { kind: ItemKind::ToolCall(call), .. }) => {
                self.add(&call.name.decode());
            }
            Event::ItemDelta(delta) => each_text(delta, |text| self.add(text)),
            _ => {}
        }
    }

    fn add(&mut self, text: &str) {
        // Most texts are ASCII without capitals in long stretches; only words with capitals are copied.
        for word in words(text) {
            if word.chars().any(char::is_uppercase) {
                self.hashes.insert(hash(&word.to_lowercase()));
            } else {
                self.hashes.insert(hash(word));
            }
        }
    }

    /// The sorted hashes, four bytes each.
    pub(crate) fn finish(self) -> Vec<u8> {
        let mut hashes: Vec<u32> = self.hashes.into_iter().collect();
        hashes.sort_unstable();
        hashes.into_iter().flat_map(u32::to_le_bytes).collect()
    }
}

/// Whether the sorted hashes of a session have all these hashes.
pub(crate) fn has_all(index: &[u8], wanted: &[u32]) -> bool {
    let (hashes, _) = index.as_chunks::<4>();
    wanted.iter().all(|hash| hashes.binary_search_by_key(hash, |bytes| u32::from_le_bytes(*bytes)).is_ok())
}

/// Passes the texts of a delta to a closure.
fn each_text(delta: &Delta<'_>, mut each: impl FnMut(&str)) {
    match &delta.value {
        Part::Text(text) | Part::Summary(text) | Part::Refusal(text) | Part::Args(Args::Text(text)) => {
            each(&text.decode());
        }
        Part::Args(Args::Json(json)) | Part::Json(json) => each(&unescaped(json.as_str())),
        Part::File(FileRef { path, .. }) => each(&path.decode()),
        // Pictures, citations and state of a provider have no words.
        _ => {}
    }
}

/// JSON as people search it: an escaped line break or quote separates words and is no letter.
fn unescaped(json: &str) -> String {
    json.replace("\\n", "\n").replace("\\t", "\t").replace("\\\"", "\"")
}

/// A place in a session that fits a query.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SearchHit {
    /// The speaker: `you`, `agent`, `system`, `thought`, or the name of a tool.
    pub speaker: String,
    /// The text around the first match, on one line.
    pub context: String,
}

/// Finds the hits in the events of one session.
pub(crate) struct HitFinder<'q> {
    query: &'q SearchQuery,
    open: HashMap<ItemId, OpenText>,
    /// The names of the tools of calls without a result so far.
    tools: HashMap<String, String>,
    pub(crate) hits: Vec<SearchHit>,
}

struct OpenText {
    speaker: String,
    text: String,
    is_call: bool,
    is_result: bool,
}

impl<'q> HitFinder<'q> {
    pub(crate) fn new(query: &'q SearchQuery) -> Self {
        Self { query, open: HashMap::new(), tools: HashMap::new(), hits: Vec::new() }
    }

    pub(crate) fn event(&mut self, event: &Event<'_>) {
        match event {
            Event::ItemStarted(head) => self.started(head),
            Event::ItemDelta(delta) => {
                if let Some(open) = self.open.get_mut(&delta.item) {
                    each_text(delta, |text| {
                        open.text.push_str(text);
                        open.text.push('\n');
                    });
                }
            }
            Event::ItemCompleted(tail) => self.completed(tail),
            _ => {}
        }
    }

    fn started(&mut self, head: &ItemHead<'_>) {
        let (mut is_call, mut is_result) = (false, false);
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
                let known = result.call_id.as_ref().and_then(|id| self.tools.remove(id.as_escaped()));
                known.or_else(|| Some(result.name.as_ref()?.decode().into_owned())).unwrap_or_default()
            }
            ItemKind::Notice(_) => return,
        };
        self.open.insert(head.id, OpenText { speaker, text: String::new(), is_call, is_result });
    }

    fn completed(&mut self, tail: &ItemTail<'_>) {
        let Some(OpenText { speaker, text, is_call, is_result }) = self.open.remove(&tail.id) else { return };
        let SearchQuery { texts, tool, file, errors, .. } = self.query;
        let has_failed = tail.status == Status::Failed
            || tail.is_error == Some(true)
            || tail.exit_code.is_some_and(|code| code != 0);
        let is_of_tool = is_call || is_result;
        let small = text.to_lowercase();
        let fits = (!errors || is_result && has_failed)
            && tool.as_ref().is_none_or(|tool| is_of_tool && speaker.to_lowercase().contains(tool.as_str()))
            && file.as_ref().is_none_or(|file| is_of_tool && small.contains(file.as_str()))
            && texts.iter().all(|wanted| small.contains(wanted.as_str()));
        if fits {
            let first = texts.first().or(file.as_ref()).and_then(|wanted| small.find(wanted.as_str()));
            self.hits.push(SearchHit { speaker, context: around(&small, &text, first.unwrap_or(0)) });
        }
    }
}

/// The letters around a match that are shown.
const BEFORE: usize = 40;
const AFTER: usize = 80;

/// The text around a place in its copy of small letters, on one line. The copy may differ in length, so the place is counted in
/// letters.
fn around(small: &str, text: &str, at: usize) -> String {
    let letters = small[..at].chars().count();
    let begin = letters.saturating_sub(BEFORE);
    let cut: String = text.chars().skip(begin).take(letters - begin + AFTER).collect();
    let line = cut.split_whitespace().collect::<Vec<_>>().join(" ");
    let more = text.chars().nth(letters + AFTER).is_some();
    format!("{}{line}{}", if begin > 0 { "…" } else { "" }, if more { "…" } else { "" })
}

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
    fn the_index_has_every_word_in_small_letters() {
        let mut index = WordIndex::default();
        index.add("Fix the FLAKY_test, then: naïve Übung 42");
        let index = index.finish();
        for word in ["fix", "the", "flaky", "test", "naïve", "übung", "42"] {
            assert!(has_all(&index, &[hash(word)]), "{word}");
        }
        assert!(!has_all(&index, &[hash("flak")]));
    }

    #[test]
    fn the_context_is_one_line_around_the_match() {
        let text = format!("{} the\nmatch here {}", "a ".repeat(60), "b ".repeat(80));
        let small = text.to_lowercase();
        let context = around(&small, &text, small.find("match").unwrap());
        assert!(context.starts_with('…') && context.ends_with('…') && context.contains("the match here"));
        assert_eq!(around("short", "Short", 0), "Short");
    }
}
