//! The words of a session, as hashes, and its pairs and runs of consecutive words, as bits: the index that a search asks before it
//! reads a session.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

use unicode_normalization::{IsNormalized, UnicodeNormalization as _, is_nfc_quick};

use interlingua::model::{Args, Delta, Event, FileRef, ItemHead, ItemKind, ItemTail, Part, Status};

use crate::runs::{RunIndex, RunState};

/// The number of buckets that the index of a session is divided into. A search reads one bucket of each session for each
/// word, each pair and each run.
pub(crate) const BUCKETS: u32 = 64;

/// The number of bits of pairs, before they are folded.
const PAIR_BITS: u32 = 20;
/// The number of bits of runs, before they are folded.
pub(crate) const RUN_BITS: u32 = 22;
/// One bit in eight is set at most, so that a phrase has few wrong sessions by each of its pairs.
const BITS_PER_PAIR: usize = 8;
/// One bit in four: a phrase has three runs for each further word.
const BITS_PER_RUN: usize = 4;
/// The most pairs that are kept: 64 KB. A session with more is long, and its pairs would rule little out.
const MOST_PAIRS: usize = 1 << 16;

/// The words of one session.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct SessionWords {
    /// The sorted hashes, four bytes each. The lowest bit of the hash of a frequent word is set.
    pub(crate) hashes: Vec<u8>,
    /// The bits of the pairs, as many bytes for each bucket. A set bit may be that of another pair. Empty if the pairs are not
    /// kept.
    pairs: Vec<u8>,
    /// The bits of the runs of frequent words, as many bytes for each bucket.
    runs: Vec<u8>,
    /// The names of the called tools in small letters, one on each line.
    pub(crate) tools: String,
    /// A tool has failed.
    pub(crate) has_failure: bool,
}

/// A part of the words of a session.
#[derive(Debug)]
pub(crate) struct WordBucket<'a> {
    pub(crate) hashes: &'a [u8],
    pub(crate) pairs: &'a [u8],
    pub(crate) runs: &'a [u8],
}

impl SessionWords {
    /// The buckets in their order.
    pub(crate) fn buckets(&self) -> impl Iterator<Item = WordBucket<'_>> {
        let (mut hashes, _) = self.hashes.as_chunks::<4>();
        let chunks = |bits: &'_ [u8]| (bits.len() / BUCKETS as usize).max(1);
        let mut pairs = self.pairs.chunks(chunks(&self.pairs));
        let mut runs = self.runs.chunks(chunks(&self.runs));
        (0..BUCKETS).map(move |bucket| {
            let (of_bucket, later) =
                hashes.split_at(hashes.partition_point(|hash| bucket_of(*hash) <= bucket));
            hashes = later;
            WordBucket {
                hashes: of_bucket.as_flattened(),
                pairs: pairs.next().unwrap_or_default(),
                runs: runs.next().unwrap_or_default(),
            }
        })
    }
}

fn bucket_of(hash: [u8; 4]) -> u32 {
    bucket(u32::from_le_bytes(hash))
}

/// The bucket of a hash. Sorted hashes have sorted buckets.
pub(crate) const fn bucket(hash: u32) -> u32 {
    hash >> (u32::BITS - BUCKETS.ilog2())
}

/// How often a session has a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Frequency {
    Rare,
    /// The runs of the session have all runs of this word with other frequent words.
    Frequent,
}

/// Whether sorted hashes have this hash, and whether its word is frequent.
pub(crate) fn frequency(sorted: &[u8], hash: u32) -> Option<Frequency> {
    let (hashes, _) = sorted.as_chunks::<4>();
    let value = |bytes: &[u8; 4]| u32::from_le_bytes(*bytes);
    let at = hashes.binary_search_by_key(&hash, |bytes| value(bytes) & !FREQUENT).ok()?;
    let is_frequent = value(hashes.get(at)?) & FREQUENT != 0;
    Some(if is_frequent { Frequency::Frequent } else { Frequency::Rare })
}

/// Consecutive words of a text, by their hashes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Phrase(u32);

impl Phrase {
    pub(crate) fn new(hashes: &[u32]) -> Self {
        hashes.iter().fold(Self::default(), |phrase, hash| phrase.then(*hash))
    }

    /// The phrase with one more word at its end.
    pub(crate) const fn then(self, hash: u32) -> Self {
        // Multiplication moves the difference of the lower bits to the upper bits.
        Self((self.0.rotate_left(7) ^ hash).wrapping_mul(0x9e37_79b1))
    }

    pub(crate) const fn bucket(self) -> u32 {
        bucket(self.0)
    }

    /// Whether a bucket of pairs may have this pair. Pairs that are not kept may have every pair.
    pub(crate) fn is_in_pairs(self, pairs: &[u8]) -> bool {
        self.is_in::<PAIR_BITS>(pairs)
    }

    /// Whether a bucket of runs may have this run of frequent words.
    pub(crate) fn is_in_runs(self, runs: &[u8]) -> bool {
        self.is_in::<RUN_BITS>(runs)
    }

    fn is_in<const BITS: u32>(self, bucket: &[u8]) -> bool {
        let (byte, bit) = self.place::<BITS>();
        bucket.is_empty() || bucket.get(byte % bucket.len()).is_some_and(|byte| byte & bit != 0)
    }

    /// Whether the phrase is one of the sample of one phrase in `of`, a power of two.
    pub(crate) const fn is_sampled(self, of: u32) -> bool {
        (self.0 >> 8) & (of - 1) == 0
    }

    /// The byte in the bucket before it is folded, and the bit.
    const fn place<const BITS: u32>(self) -> (usize, u8) {
        let in_bucket = (self.0 << BUCKETS.ilog2()) >> (u32::BITS - (BITS - BUCKETS.ilog2()));
        ((in_bucket >> 3) as usize, 1 << (in_bucket & 7))
    }
}

/// A bit for each of many phrases.
#[derive(Default)]
pub(crate) struct PhraseBits<const BITS: u32>(Vec<u8>);

impl<const BITS: u32> PhraseBits<BITS> {
    const BUCKET: usize = 1 << (BITS - BUCKETS.ilog2() - 3);

    pub(crate) fn insert(&mut self, phrase: Phrase) {
        if self.0.is_empty() {
            self.0 = vec![0; Self::BUCKET * BUCKETS as usize];
        }
        let (byte, bit) = phrase.place::<BITS>();
        if let Some(byte) = self.0.get_mut(phrase.bucket() as usize * Self::BUCKET + byte) {
            *byte |= bit;
        }
    }

    fn count(&self) -> usize {
        self.0.iter().map(|byte| byte.count_ones() as usize).sum()
    }

    /// The same bits in fewer bytes, so that the index of a short session is short: bytes with the same remainder of their
    /// position in a bucket become one byte.
    fn folded(&self, bits_per_phrase: usize) -> Vec<u8> {
        let buckets = BUCKETS as usize;
        let bytes = (self.count() * bits_per_phrase).div_ceil(8 * buckets).clamp(1, Self::BUCKET);
        let mut folded = vec![0; bytes * buckets];
        for (bucket, out) in self.0.chunks(Self::BUCKET).zip(folded.chunks_mut(bytes)) {
            for part in bucket.chunks(bytes) {
                for (byte, out) in part.iter().zip(&mut *out) {
                    *out |= byte;
                }
            }
        }
        folded
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
    word.bytes().fold(FNV_BEGIN, mixed) & !FREQUENT
}

/// The bit that no hash has: the index sets the bit in the hash of a frequent word.
const FREQUENT: u32 = 1;

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
    hashes: HashSet<u32, BuildHashItself>,
    /// The hashes seen last, by their lower bits, with the bit of frequent words: most words of a text were seen a moment ago.
    recent: Vec<u32>,
    pairs: PhraseBits<PAIR_BITS>,
    /// The hash of the word before, in the same text.
    last: Option<u32>,
    runs: RunIndex,
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
        self.runs.end_text();
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
        let hash = hash & !FREQUENT;
        if self.recent.is_empty() {
            self.recent = vec![FREQUENT; RECENT];
        }
        if let Some(last) = self.last.replace(hash) {
            self.pairs.insert(Phrase::new(&[last, hash]));
        }
        let Some(recent) = self.recent.get_mut((hash >> 1) as usize % RECENT) else { return };
        if *recent & !FREQUENT != hash || *recent == FREQUENT {
            let is_frequent = self.runs.is_frequent(hash);
            *recent = if is_frequent { hash | FREQUENT } else { hash };
            self.hashes.insert(hash);
        }
        if self.runs.word(hash, *recent & FREQUENT != 0) == RunState::Chosen {
            // The words seen last do not have the bit yet.
            self.recent.clear();
        }
    }

    pub(crate) fn finish(mut self) -> SessionWords {
        self.runs.finish();
        let with_frequency = |hash| if self.runs.is_frequent(hash) { hash | FREQUENT } else { hash };
        let mut hashes: Vec<u32> = self.hashes.into_iter().map(with_frequency).collect();
        hashes.sort_unstable();
        let tools: Vec<String> = self.tools.iter().map(|name| name.to_lowercase()).collect();
        let has_kept_pairs = self.pairs.count() <= MOST_PAIRS;
        SessionWords {
            hashes: hashes.into_iter().flat_map(u32::to_le_bytes).collect(),
            pairs: if has_kept_pairs { self.pairs.folded(BITS_PER_PAIR) } else { Vec::new() },
            runs: self.runs.bits.folded(BITS_PER_RUN),
            tools: tools.join("\n"),
            has_failure: self.has_failure,
        }
    }
}

/// Makes [`HashItself`].
pub(crate) type BuildHashItself = BuildHasherDefault<HashItself>;

/// The hash of a hash is the hash.
#[derive(Default)]
pub(crate) struct HashItself(u64);

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
            assert!(frequency(&index.hashes, hash(word)).is_some(), "{word}");
        }
        assert_eq!(frequency(&index.hashes, hash("flak")), None);
        assert_eq!(index.hashes.len(), 9 * 4);
    }

    #[test]
    fn every_hash_is_in_its_bucket() {
        let mut index = WordIndex::default();
        (0..5000).for_each(|number| index.add(&format!("w{number}")));
        let index = index.finish();
        let mut count = 0;
        for (number, of_bucket) in (0..).zip(index.buckets()) {
            let (hashes, _) = of_bucket.hashes.as_chunks::<4>();
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
        assert!(frequency(&index.finish().hashes, hash("café")).is_some());
    }

    fn has_pair(index: &SessionWords, first: &str, second: &str) -> bool {
        let pair = Phrase::new(&[hash(first), hash(second)]);
        pair.is_in_pairs(index.buckets().nth(pair.bucket() as usize).expect("a bucket").pairs)
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

    /// Whether the index may have a phrase of words that are all frequent; `None` if one of them is not.
    fn has_run(index: &SessionWords, run: &[u32]) -> Option<bool> {
        let bucket = |number: u32| index.buckets().nth(number as usize).expect("a bucket");
        let is_frequent =
            |hash: &u32| frequency(bucket(self::bucket(*hash)).hashes, *hash) == Some(Frequency::Frequent);
        let phrase = Phrase::new(run);
        run.iter().all(is_frequent).then(|| phrase.is_in_runs(bucket(phrase.bucket()).runs))
    }

    #[test]
    fn a_long_session_has_the_runs_of_its_frequent_words_and_few_others() {
        let word = |number: u64| format!("w{number}");
        let mut random = 1_u64;
        let mut next = || {
            random = random.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            // The cube of a uniform number below 1024 prefers the first words.
            ((random >> 54).pow(3) * 3000) >> 30
        };
        for length in [300, 20_000, 100_000] {
            let text: Vec<String> = (0..length).map(|_| word(next())).collect();
            let mut index = WordIndex::default();
            text.chunks(100).for_each(|chunk| index.add(&chunk.join(" ")));
            let index = index.finish();
            let hashes: Vec<u32> = text.iter().map(|word| hash(word)).collect();
            let mut tested = 0;
            for run in
                hashes.chunks(100).flat_map(|chunk| (3..=5).flat_map(move |length| chunk.windows(length)))
            {
                let has = has_run(&index, run);
                assert_ne!(has, Some(false), "a run of a session of {length} words is missing");
                tested += usize::from(has.is_some());
            }
            assert!(tested > length / 100, "{tested} runs of {length} words");
            let present: HashSet<&[u32]> = hashes.windows(5).collect();
            let (mut wrong, mut all) = (0, 0);
            for _ in 0..5000 {
                let run: Vec<u32> = (0..5).map(|_| hash(&word(next() % 12))).collect();
                if let Some(has) = has_run(&index, &run).filter(|_| !present.contains(&run[..])) {
                    (wrong, all) = (wrong + u32::from(has), all + 1);
                }
            }
            assert!(all > 500 && wrong * 3 <= all, "{wrong} of {all} runs in a session of {length} words");
            assert!(index.runs.len() <= 64 + length / 8, "{} bytes", index.runs.len());
        }
    }
}
