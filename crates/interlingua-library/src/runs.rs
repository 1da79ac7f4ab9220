//! The runs of frequent words of a session: three to five consecutive words that are all frequent, as bits.
//!
//! A long session has nearly every pair of its frequent words, so pairs rule out no session with `the end of the line`. Most
//! runs of such words are in few sessions, and few words of a text are in runs of frequent words alone, so their bits are few.
//!
//! The frequent words are chosen from the beginning of the session: as many of the most frequent ones as have runs for a
//! fixed share of the words. A session that repeats itself has more frequent words than one that does not.

use std::collections::{HashMap, HashSet};

use crate::words::{BuildHashItself, Phrase, PhraseBits, RUN_BITS};

/// The lengths of runs.
pub(crate) const RUN_LENGTHS: std::ops::RangeInclusive<usize> = 3..=LONGEST;
const LONGEST: usize = 5;

/// The number of words from which the frequent ones are chosen.
const CHOICE: usize = 1 << 14;
/// The number of words for each different run at least.
const WORDS_PER_RUN: usize = 6;
/// One run in eight is counted for the choice, chosen by its hash.
const SAMPLE: u32 = 8;

/// Gathers the runs of frequent words of a session.
#[derive(Default)]
pub(crate) struct RunIndex {
    pub(crate) bits: PhraseBits<RUN_BITS>,
    /// The words before the frequent ones are chosen; `None` is the end of a text.
    first: Vec<Option<u32>>,
    frequent: Option<WordSet>,
    window: Window,
}

/// The hashes of words.
type WordSet = HashSet<u32, BuildHashItself>;

/// Whether a word was the last one before the frequent words were chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RunState {
    Same,
    Chosen,
}

impl RunIndex {
    pub(crate) fn is_frequent(&self, hash: u32) -> bool {
        self.frequent.as_ref().is_some_and(|frequent| frequent.contains(&hash))
    }

    /// Takes in the next word. `is_frequent` counts once the frequent words are chosen.
    pub(crate) fn word(&mut self, hash: u32, is_frequent: bool) -> RunState {
        if self.frequent.is_some() {
            if is_frequent {
                self.window.push(hash, 0, |run, _| self.bits.insert(run));
            } else {
                self.window.clear();
            }
            return RunState::Same;
        }
        self.first.push(Some(hash));
        if self.first.len() < CHOICE {
            return RunState::Same;
        }
        self.choose();
        RunState::Chosen
    }

    /// No run goes on into the next text.
    pub(crate) fn end_text(&mut self) {
        self.window.clear();
        if self.frequent.is_none() && self.first.last().is_some_and(Option::is_some) {
            self.first.push(None);
        }
    }

    /// Chooses the frequent words of a short session.
    pub(crate) fn finish(&mut self) {
        if self.frequent.is_none() {
            self.choose();
        }
    }

    fn choose(&mut self) {
        let first = std::mem::take(&mut self.first);
        let frequent = frequent_words(&first);
        let mut window = Window::default();
        for word in first {
            match word.filter(|hash| frequent.contains(hash)) {
                Some(hash) => window.push(hash, 0, |run, _| self.bits.insert(run)),
                None => window.clear(),
            }
        }
        (self.window, self.frequent) = (window, Some(frequent));
    }
}

/// The most frequent words that have at most the permitted number of runs.
fn frequent_words(words: &[Option<u32>]) -> WordSet {
    let mut counts: HashMap<u32, usize, BuildHashItself> = HashMap::default();
    for hash in words.iter().flatten() {
        *counts.entry(*hash).or_default() += 1;
    }
    let mut ranked: Vec<(u32, usize)> = counts.iter().map(|(hash, count)| (*hash, *count)).collect();
    // Equal sessions have equal indexes, so the hash orders words with equal counts.
    ranked.sort_unstable_by_key(|(hash, count)| (std::cmp::Reverse(*count), *hash));
    let mut ranks = counts;
    ranks.extend(ranked.iter().enumerate().map(|(rank, (hash, _))| (*hash, rank)));
    // The number of runs whose rarest word has this rank.
    let mut runs = vec![0; ranked.len()];
    let mut seen: HashSet<Phrase, BuildHashItself> = HashSet::default();
    let mut window = Window::default();
    for word in words {
        let Some((hash, rank)) = word.and_then(|hash| Some((hash, *ranks.get(&hash)?))) else {
            window.clear();
            continue;
        };
        window.push(hash, rank, |run, rarest| {
            if run.is_sampled(SAMPLE)
                && seen.insert(run)
                && let Some(count) = runs.get_mut(rarest)
            {
                *count += SAMPLE as usize;
            }
        });
    }
    let most = words.len() / WORDS_PER_RUN;
    let sums = runs.iter().scan(0, |sum, count| {
        *sum += count;
        Some(*sum)
    });
    let count = sums.take_while(|sum| *sum <= most).count();
    ranked.into_iter().take(count).map(|(hash, _)| hash).collect()
}

/// The last words of a text.
#[derive(Default)]
struct Window {
    /// The last word, the last two words and so on, with the rank of their rarest word.
    phrases: [(Phrase, usize); LONGEST],
    length: usize,
}

impl Window {
    /// Passes the runs that end with this word to a closure, with the rank of their rarest word.
    fn push(&mut self, hash: u32, rank: usize, mut each: impl FnMut(Phrase, usize)) {
        for length in (1..LONGEST).rev() {
            let (before, rarest) = self.phrases[length - 1];
            self.phrases[length] = (before.then(hash), rarest.max(rank));
        }
        self.phrases[0] = (Phrase::default().then(hash), rank);
        self.length = (self.length + 1).min(LONGEST);
        for (run, rarest) in self.phrases.iter().take(self.length).skip(*RUN_LENGTHS.start() - 1) {
            each(*run, *rarest);
        }
    }

    const fn clear(&mut self) {
        self.length = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_has_the_runs_of_three_to_five_words() {
        let mut found = Vec::new();
        let mut window = Window::default();
        for word in [1, 2, 3, 0, 4, 5, 6, 7, 8, 9] {
            match word {
                0 => window.clear(),
                _ => window.push(word, word as usize, |run, rarest| found.push((run, rarest))),
            }
        }
        let expected: [&[u32]; 10] = [
            &[1, 2, 3],
            &[4, 5, 6],
            &[5, 6, 7],
            &[4, 5, 6, 7],
            &[6, 7, 8],
            &[5, 6, 7, 8],
            &[4, 5, 6, 7, 8],
            &[7, 8, 9],
            &[6, 7, 8, 9],
            &[5, 6, 7, 8, 9],
        ];
        let expected = expected.map(|run| (Phrase::new(run), run[run.len() - 1] as usize));
        assert_eq!(found, expected);
    }

    #[test]
    fn words_that_repeat_their_runs_are_frequent_and_rare_ones_are_not() {
        let words: Vec<Option<u32>> =
            (0..12_000_u32).map(|at| Some(if at % 8 < 6 { at % 8 } else { 100 + at })).collect();
        let frequent = frequent_words(&words);
        assert!((0..6).all(|word| frequent.contains(&word)), "{frequent:?}");
        assert!(frequent.len() < 3000, "{}", frequent.len());
    }
}
