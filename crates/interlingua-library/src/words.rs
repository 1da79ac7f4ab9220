//! The words of a session, as hashes, and its pairs of consecutive words, as bits: the index that a search asks before it
//! reads a session.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

use unicode_normalization::{IsNormalized, UnicodeNormalization as _, is_nfc_quick};

use interlingua::model::{Args, Delta, Event, FileRef, ItemHead, ItemKind, ItemTail, Part, Status};

/// The number of buckets that the hashes and the pairs of a session are divided into. A search reads one bucket of each
/// session for each word and each pair.
pub(crate) const BUCKETS: u32 = 64;

/// The number of bits of a pair. A session has a bit for each pair, or one for several pairs if it has few.
const PAIR_BITS: u32 = 20;
/// The share of bits that are set at most: one in eight.
const BITS_PER_PAIR: usize = 8;
/// The most pairs that are kept: 64 KB. A session with more is long, and its pairs would rule little out.
const MOST_PAIRS: usize = 1 << 16;

/// The words of one session.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct SessionWords {
    /// The sorted hashes, four bytes each.
    pub(crate) hashes: Vec<u8>,
    /// The bits of the pairs, as many bytes for each bucket. A set bit may be that of another pair. Empty if the pairs are not
    /// kept.
    pairs: Vec<u8>,
    /// The names of the called tools in small letters, one on each line.
    pub(crate) tools: String,
    /// A tool has failed.
    pub(crate) has_failure: bool,
}

impl SessionWords {
    /// The number, the hashes and the pairs of each bucket.
    pub(crate) fn buckets(&self) -> impl Iterator<Item = (u32, &[u8], &[u8])> {
        let (mut hashes, _) = self.hashes.as_chunks::<4>();
        let mut pairs = self.pairs.chunks((self.pairs.len() / BUCKETS as usize).max(1));
        (0..BUCKETS).map(move |bucket| {
            let (of_bucket, later) =
                hashes.split_at(hashes.partition_point(|hash| bucket_of(*hash) <= bucket));
            hashes = later;
            (bucket, of_bucket.as_flattened(), pairs.next().unwrap_or_default())
        })
    }
}

fn bucket_of(hash: [u8; 4]) -> u32 {
    bucket(u32::from_le_bytes(hash))
}

/// The bucket of a hash. Sorted hashes have sorted buckets.
pub(crate) const fn bucket(hash: u32) -> u32 {
    hash / (u32::MAX / BUCKETS + 1)
}

/// Whether sorted hashes have this hash.
pub(crate) fn has_hash(sorted: &[u8], hash: u32) -> bool {
    let (hashes, _) = sorted.as_chunks::<4>();
    hashes.binary_search_by_key(&hash, |bytes| u32::from_le_bytes(*bytes)).is_ok()
}

/// Two consecutive words of a text, by their hashes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WordPair(u32);

impl WordPair {
    pub(crate) const fn new(first: u32, second: u32) -> Self {
        // Multiplication moves the difference of the lower bits to the upper bits.
        Self((first.rotate_left(7) ^ second).wrapping_mul(0x9e37_79b1) >> (u32::BITS - PAIR_BITS))
    }

    pub(crate) const fn bucket(self) -> u32 {
        self.0 >> (PAIR_BITS - BUCKETS.ilog2())
    }

    /// The byte in the pairs of its bucket, and the bit.
    const fn place(self, bytes: usize) -> (usize, u8) {
        ((self.0 >> 3) as usize & (bytes - 1), 1 << (self.0 & 7))
    }

    /// Whether the pairs of its bucket may have this pair. Pairs that are not kept may have every pair.
    pub(crate) fn is_in(self, pairs: &[u8]) -> bool {
        if pairs.is_empty() {
            return true;
        }
        let (byte, bit) = self.place(pairs.len());
        pairs.get(byte).is_some_and(|byte| byte & bit != 0)
    }
}

/// A text as it is searched: composed letters (`e` and a combining accent are `é`), in small letters.
pub(crate) fn small(text: &str) -> String {
    composed(text).to_lowercase()
}

/// A text with composed letters.
pub(crate) fn composed(text: &str) -> Cow<'_, str> {
    if is_nfc_quick(text.chars()) == IsNormalized::Yes {
        text.into()
    } else {
        text.nfc().collect::<String>().into()
    }
}

/// The words of a text in small letters. A letter of a script without spaces between words is a word.
pub(crate) fn words(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        rest = rest.trim_start_matches(|letter: char| !letter.is_alphanumeric());
        let first = rest.chars().next()?;
        let end = if is_word(first) { first.len_utf8() } else { rest.find(ends_word).unwrap_or(rest.len()) };
        let (word, later) = rest.split_at(end);
        rest = later;
        Some(word)
    })
}

/// Whether a word ends before this character.
pub(crate) fn ends_word(letter: char) -> bool {
    !letter.is_alphanumeric() || is_word(letter)
}

/// Whether a letter is a word of its own: Chinese, Japanese, Thai, Lao, Burmese and Khmer have no spaces between words, and a
/// Korean particle follows its word without one.
const fn is_word(letter: char) -> bool {
    matches!(letter,
        '\u{0e00}'..='\u{0eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}' // Thai, Lao, Burmese, Khmer
        | '\u{3005}'..='\u{3007}' | '\u{3040}'..='\u{30ff}' | '\u{31f0}'..='\u{31ff}' // Kana
        | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' // Chinese characters
        | '\u{ac00}'..='\u{d7a3}' // Korean
        | '\u{ff66}'..='\u{ff9f}' // narrow Kana
        | '\u{20000}'..='\u{3ffff}' // further Chinese characters
    )
}

/// The hash of a word in small letters.
pub(crate) fn hash(word: &str) -> u32 {
    // FNV-1a: short words, no enemy; a wrong hit costs the reading of one session.
    word.bytes().fold(FNV_BEGIN, mixed)
}

const FNV_BEGIN: u32 = 0x811c_9dc5;

const fn mixed(hash: u32, byte: u8) -> u32 {
    (hash ^ byte as u32).wrapping_mul(0x0100_0193)
}

/// Whether an item at its end is the result of a tool that failed.
pub(crate) fn has_failed(tail: &ItemTail<'_>) -> bool {
    tail.status == Status::Failed
        || tail.is_error == Some(true)
        || tail.exit_code.is_some_and(|code| code != 0)
}

/// Gathers the words of the events of a session.
#[derive(Default)]
pub(crate) struct WordIndex {
    hashes: HashSet<u32, BuildHasherDefault<HashItself>>,
    /// The hashes seen last, by their lower bits: most words of a text were seen a moment ago.
    recent: Vec<u32>,
    /// A bit for each pair.
    pairs: Vec<u8>,
    /// The hash of the word before, in the same text.
    last: Option<u32>,
    tools: BTreeSet<String>,
    has_failure: bool,
}

/// The number of hashes seen last.
const RECENT: usize = 1 << 12;

impl WordIndex {
    /// Takes in the texts of an event.
    pub(crate) fn event(&mut self, event: &Event<'_>) {
        match event {
            Event::ItemStarted(ItemHead { kind: ItemKind::ToolCall(call), .. }) => {
                let name = call.name.decode();
                self.add(&name);
                if !self.tools.contains(&*name) {
                    self.tools.insert(name.into_owned());
                }
            }
            Event::ItemDelta(delta) => each_text(delta, |text| self.add(text)),
            Event::ItemCompleted(tail) => self.has_failure |= has_failed(tail),
            // Other events have no texts that a search finds.
            _ => {}
        }
    }

    fn add(&mut self, text: &str) {
        let is_part = |byte: u8| byte.is_ascii_alphanumeric() || !byte.is_ascii();
        let bytes = text.as_bytes();
        let mut at = 0;
        self.last = None;
        while at < bytes.len() {
            let begin = at;
            let (mut hash, mut is_ascii) = (FNV_BEGIN, true);
            while let Some(&byte) = bytes.get(at).filter(|byte| is_part(**byte)) {
                hash = mixed(hash, byte.to_ascii_lowercase());
                is_ascii &= byte.is_ascii();
                at += 1;
            }
            if is_ascii && at > begin {
                self.insert(hash);
            } else if at > begin {
                // The ends are at ASCII bytes, which are never inside a letter.
                self.add_letters(text.get(begin..at).unwrap_or_default());
            }
            at += 1;
        }
    }

    /// Words with letters beyond ASCII.
    fn add_letters(&mut self, text: &str) {
        for word in words(&small(text)) {
            self.insert(hash(word));
        }
    }

    fn insert(&mut self, hash: u32) {
        if self.recent.is_empty() {
            self.recent = vec![0; RECENT];
            self.pairs = vec![0; 1 << (PAIR_BITS - 3)];
        }
        if let Some(last) = self.last.replace(hash) {
            let (byte, bit) = WordPair::new(last, hash).place(self.pairs.len());
            if let Some(byte) = self.pairs.get_mut(byte) {
                *byte |= bit;
            }
        }
        let Some(recent) = self.recent.get_mut(hash as usize % RECENT) else { return };
        if *recent != hash || hash == 0 {
            *recent = hash;
            self.hashes.insert(hash);
        }
    }

    pub(crate) fn finish(self) -> SessionWords {
        let mut hashes: Vec<u32> = self.hashes.into_iter().collect();
        hashes.sort_unstable();
        let tools: Vec<String> = self.tools.iter().map(|name| name.to_lowercase()).collect();
        SessionWords {
            hashes: hashes.into_iter().flat_map(u32::to_le_bytes).collect(),
            pairs: folded(&self.pairs),
            tools: tools.join("\n"),
            has_failure: self.has_failure,
        }
    }
}

/// The same pairs in fewer bytes, so that the index of a short session is short: bytes with equal lower bits of their
/// position in a bucket become one byte.
fn folded(pairs: &[u8]) -> Vec<u8> {
    let count: usize = pairs.iter().map(|byte| byte.count_ones() as usize).sum();
    let buckets = BUCKETS as usize;
    if count == 0 {
        return vec![0; buckets];
    }
    if count > MOST_PAIRS {
        return Vec::new();
    }
    let bytes = (count * BITS_PER_PAIR / 8 / buckets).next_power_of_two().min(pairs.len() / buckets);
    let mut folded = vec![0; bytes * buckets];
    for (bucket, out) in pairs.chunks(pairs.len() / buckets).zip(folded.chunks_mut(bytes)) {
        for (byte, place) in bucket.iter().zip((0..bytes).cycle()) {
            if let Some(out) = out.get_mut(place) {
                *out |= byte;
            }
        }
    }
    folded
}

/// The hash of a hash is the hash.
#[derive(Default)]
struct HashItself(u64);

impl Hasher for HashItself {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0 = bytes.iter().fold(self.0, |hash, byte| hash << 8 | u64::from(*byte));
    }

    fn write_u32(&mut self, hash: u32) {
        // The table takes the upper bits, too.
        self.0 = u64::from(hash).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}

/// Passes the texts of a delta to a closure.
pub(crate) fn each_text(delta: &Delta<'_>, mut each: impl FnMut(&str)) {
    match &delta.value {
        Part::Text(text) | Part::Summary(text) | Part::Refusal(text) => each(&text.decode()),
        Part::Args(Args::Text(text)) => each(&unescaped(&text.decode())),
        Part::Args(Args::Json(json)) | Part::Json(json) => each(&unescaped(json.as_str())),
        Part::File(FileRef { path, .. }) => each(&path.decode()),
        // Pictures, citations and state of a provider have no words.
        _ => {}
    }
}

/// JSON as people search it: an escaped line break or quote separates words and is no letter.
fn unescaped(json: &str) -> Cow<'_, str> {
    if !json.contains('\\') {
        return json.into();
    }
    json.replace("\\n", "\n").replace("\\t", "\t").replace("\\\"", "\"").into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_index_has_every_word_in_small_letters() {
        let mut index = WordIndex::default();
        index.add("Fix the FLAKY_test, then: naïve Übung 42→43 the the");
        let index = index.finish();
        for word in ["fix", "the", "flaky", "test", "then", "naïve", "übung", "42", "43"] {
            assert!(has_hash(&index.hashes, hash(word)), "{word}");
        }
        assert!(!has_hash(&index.hashes, hash("flak")));
        assert_eq!(index.hashes.len(), 9 * 4);
    }

    #[test]
    fn every_hash_is_in_its_bucket() {
        let mut index = WordIndex::default();
        (0..5000).for_each(|number| index.add(&format!("w{number}")));
        let index = index.finish();
        let mut count = 0;
        for (number, hashes, _) in index.buckets() {
            let (hashes, _) = hashes.as_chunks::<4>();
            assert!(hashes.iter().all(|hash| bucket(u32::from_le_bytes(*hash)) == number));
            count += hashes.len();
        }
        assert_eq!(count * 4, index.hashes.len());
        assert!(bucket(u32::MAX) == BUCKETS - 1 && bucket(0) == 0);
    }

    #[test]
    fn a_letter_of_a_script_without_spaces_is_a_word() {
        let split = |text: &'static str| words(text).collect::<Vec<_>>();
        assert_eq!(split("修复test、テスト 42"), ["修", "复", "test", "テ", "ス", "ト", "42"]);
        assert_eq!(split("테스트를 grün"), ["테", "스", "트", "를", "grün"]);
        assert_eq!(split("  -- 🚀 "), [""; 0]);
        let mut index = WordIndex::default();
        index.add("请修复连接池的测试");
        let index = index.finish();
        assert!(has_pair(&index, "测", "试") && !has_pair(&index, "试", "测"));
    }

    #[test]
    fn composed_and_combined_accents_are_the_same_letter() {
        assert_eq!(small("Cafe\u{301} U\u{308}BUNG"), "café übung");
        let mut index = WordIndex::default();
        index.add("Cafe\u{301}");
        assert!(has_hash(&index.finish().hashes, hash("café")));
    }

    fn has_pair(index: &SessionWords, first: &str, second: &str) -> bool {
        let pair = WordPair::new(hash(first), hash(second));
        let (_, _, pairs) = index.buckets().nth(pair.bucket() as usize).expect("a bucket");
        pair.is_in(pairs)
    }

    #[test]
    fn consecutive_words_of_one_text_are_a_pair() {
        let mut index = WordIndex::default();
        index.add("The quay, über ALLES: the_end");
        index.add("start");
        let index = index.finish();
        for (first, second) in
            [("the", "quay"), ("quay", "über"), ("über", "alles"), ("alles", "the"), ("the", "end")]
        {
            assert!(has_pair(&index, first, second), "{first} {second}");
        }
        for (first, second) in [("quay", "the"), ("the", "über"), ("end", "start")] {
            assert!(!has_pair(&index, first, second), "{first} {second}");
        }
        assert!(!has_pair(&WordIndex::default().finish(), "the", "quay"));
    }

    #[test]
    fn a_session_with_very_many_pairs_may_have_every_pair() {
        let mut index = WordIndex::default();
        (0..100_000).for_each(|number| index.add(&format!("a{number} b{number}")));
        let index = index.finish();
        assert!(index.pairs.is_empty() && has_pair(&index, "the", "quay"));
    }

    #[test]
    fn sessions_of_any_size_have_all_their_pairs_and_few_others() {
        for count in [1, 100, 10_000, 60_000] {
            let mut index = WordIndex::default();
            let word = |number: u64| format!("w{}", number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40);
            (0..count)
                .for_each(|number| index.add(&format!("{} {}", word(number), word(number + 1_000_000))));
            let index = index.finish();
            assert!((0..count).all(|number| has_pair(&index, &word(number), &word(number + 1_000_000))));
            let others =
                (0..1000).filter(|number| has_pair(&index, &word(*number + 5_000_000), "other")).count();
            assert!(others < 200, "{others} of 1000 with {count} pairs");
            assert!(
                index.pairs.len() as u64 <= 64 + 2 * count,
                "{} bytes for {count} pairs",
                index.pairs.len()
            );
        }
    }
}
