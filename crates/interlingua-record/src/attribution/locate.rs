//! The search for remembered lines in the current content of a file.

use std::collections::HashMap;

use super::align::align;
use super::replay::{Fragment, RememberedFile, RememberedLine};
use super::{FileLines, LineContributor, LineRange, hash_of, lines_of};

/// Attributes the lines of the current content.
pub(super) fn locate(path: String, file: &RememberedFile, current: Option<&str>) -> FileLines {
    let lines = current.map(lines_of).unwrap_or_default();
    let mut found = Located {
        lines: &lines,
        index: HashMap::new(),
        is_taken: vec![false; lines.len()],
        by: vec![None; lines.len()],
        missing: 0,
    };
    for (at, line) in lines.iter().enumerate() {
        found.index.entry(line).or_default().push(at);
    }
    for (number, fragment) in file.fragments.iter().enumerate() {
        if number == 0 && file.is_whole {
            found.whole(fragment);
        } else {
            found.part(fragment);
        }
    }
    let ranges = ranges(&lines, &found.by);
    FileLines { path, lines: current.map(|_| lines.len() as u64), ranges, missing: found.missing }
}

struct Located<'l> {
    lines: &'l [&'l str],
    /// The positions of each line.
    index: HashMap<&'l str, Vec<usize>>,
    is_taken: Vec<bool>,
    by: Vec<Option<LineContributor>>,
    missing: u64,
}

impl Located<'_> {
    fn take(&mut self, at: usize, line: &RememberedLine) {
        if let (Some(is_taken), Some(by)) = (self.is_taken.get_mut(at), self.by.get_mut(at)) {
            *is_taken = true;
            by.clone_from(&line.by);
        }
    }

    /// A whole file: equal lines in the same order, then moved blocks.
    fn whole(&mut self, fragment: &Fragment) {
        let texts: Vec<&str> = fragment.lines.iter().map(|line| line.text.as_str()).collect();
        let mut is_found = vec![false; texts.len()];
        let is_unchanged = texts == self.lines;
        let strong = strong_lines(&fragment.lines);
        let pairs = align(&texts, self.lines);
        let follows = |one: &(usize, usize), two: &(usize, usize)| {
            two.0 == one.0 + 1 && two.1 == one.1 + 1 && fragment.lines[one.0].by == fragment.lines[two.0].by
        };
        for run in pairs.chunk_by(follows) {
            // A brace or a blank line may be a person's line as well: its neighbours decide.
            let is_certain = is_unchanged || run.iter().any(|(one, _)| strong[*one]);
            for (one, two) in run {
                is_found[*one] = true;
                let unknown = RememberedLine { text: String::new(), by: None };
                self.take(*two, if is_certain { &fragment.lines[*one] } else { &unknown });
                self.missing += u64::from(!is_certain && fragment.lines[*one].by.is_some());
            }
        }
        let mut start = 0;
        while start < texts.len() {
            let is_lost = |at: usize| !is_found[at] && fragment.lines[at].by.is_some();
            let length = (start..texts.len()).take_while(|at| is_lost(*at)).count();
            if length > 0 {
                self.moved(&fragment.lines[start..start + length]);
            }
            start += length.max(1);
        }
    }

    /// A block that moved: exactly one run of lines that no other block has is equal to the block.
    fn moved(&mut self, block: &[RememberedLine]) {
        let is_here = |at: &usize| {
            let mut same = block.iter().enumerate();
            same.all(|(number, line)| {
                self.lines.get(at + number) == Some(&line.text.as_str()) && !self.is_taken[at + number]
            })
        };
        let first = block.first().and_then(|line| self.index.get(line.text.as_str()));
        let places: Vec<usize> = first.into_iter().flatten().copied().filter(is_here).take(2).collect();
        match places[..] {
            [at] if words(block) > 2 => {
                block.iter().enumerate().for_each(|(number, line)| self.take(at + number, line));
            }
            _ => self.missing += block.len() as u64,
        }
    }

    /// Lines of a file that is not remembered whole: they must be at exactly one place.
    fn part(&mut self, fragment: &Fragment) {
        let lines = &fragment.lines;
        let last = lines.len().saturating_sub(1);
        let is_same = |at: usize, line: &str| {
            let text = lines[at].text.as_str();
            match (fragment.has_cut_ends, at == 0, at == last) {
                (true, true, true) => line.contains(text),
                (true, true, false) => line.ends_with(text),
                (true, false, true) => line.starts_with(text),
                _ => line == text,
            }
        };
        let is_here = |at: &usize| {
            let window = self.lines.get(*at..at + lines.len()).unwrap_or_default();
            !window.is_empty() && window.iter().enumerate().all(|(number, line)| is_same(number, line))
        };
        // The second of three lines is whole, so its positions are known.
        let whole = usize::from(fragment.has_cut_ends);
        let known = lines.get(whole).filter(|_| !fragment.has_cut_ends || whole < last);
        let places: Vec<usize> = match known.map(|line| self.index.get(line.text.as_str())) {
            Some(places) => {
                let begins = places.into_iter().flatten().filter_map(|at| at.checked_sub(whole));
                begins.filter(is_here).take(2).collect()
            }
            None => (0..self.lines.len()).filter(is_here).take(2).collect(),
        };
        // A short piece of a line may be in any line.
        let is_certain = !fragment.has_cut_ends || words(lines) >= LEAST_WORDS;
        if let ([at], true) = (&places[..], is_certain) {
            for (number, line) in lines.iter().enumerate().filter(|(_, line)| line.by.is_some()) {
                self.take(at + number, line);
            }
        } else if places.is_empty() {
            // The surroundings changed: blocks of whole written lines are searched on their own.
            let inner =
                if fragment.has_cut_ends { lines.get(1..last).unwrap_or_default() } else { &lines[..] };
            self.missing += count_written(lines) - count_written(inner);
            let blocks = inner.chunk_by(|one, two| one.by == two.by);
            blocks.filter(|block| count_written(block) > 0).for_each(|block| self.moved(block));
        } else {
            self.missing += count_written(lines);
        }
    }
}

/// The fewest letters and digits of an edit that is found by its text.
const LEAST_WORDS: usize = 8;

/// The number of letters and digits.
fn words(lines: &[RememberedLine]) -> usize {
    lines.iter().map(|line| line.text.chars().filter(|sign| sign.is_alphanumeric()).count()).sum()
}

fn count_written(lines: &[RememberedLine]) -> u64 {
    lines.iter().filter(|line| line.by.is_some()).count() as u64
}

/// The lines with words that only their contributor has.
fn strong_lines(lines: &[RememberedLine]) -> Vec<bool> {
    let mut by: HashMap<&str, Option<&Option<LineContributor>>> = HashMap::new();
    for line in lines {
        let known = by.entry(&line.text).or_insert(Some(&line.by));
        if *known != Some(&line.by) {
            *known = None;
        }
    }
    let is_strong = |line: &RememberedLine| {
        line.text.contains(char::is_alphanumeric) && by.get(line.text.as_str()).is_some_and(Option::is_some)
    };
    lines.iter().map(is_strong).collect()
}

fn ranges(lines: &[&str], by: &[Option<LineContributor>]) -> Vec<LineRange> {
    let mut ranges = Vec::new();
    let mut start = 0;
    for run in by.chunk_by(|one, two| one == two) {
        let end = start + run.len();
        if let Some(Some(contributor)) = run.first() {
            ranges.push(LineRange {
                start: start as u64 + 1,
                end: end as u64,
                contributor: contributor.clone(),
                hash: hash_of(lines[start..end].iter().copied()),
            });
        }
        start = end;
    }
    ranges
}
