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
        is_taken: vec![false; lines.len()],
        by: vec![None; lines.len()],
        missing: 0,
    };
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
    is_taken: Vec<bool>,
    by: Vec<Option<LineContributor>>,
    missing: u64,
}

impl Located<'_> {
    fn take(&mut self, at: usize, line: &RememberedLine) {
        if let (Some(is_taken), Some(by)) = (self.is_taken.get_mut(at), self.by.get_mut(at)) {
            *is_taken = true;
            *by = line.by.clone();
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

    /// A block that moved: its hash is the hash of exactly one run of lines that no other block has.
    fn moved(&mut self, block: &[RememberedLine]) {
        let has_words =
            block.iter().any(|line| line.text.chars().filter(|sign| sign.is_alphanumeric()).count() > 2);
        let is_free = |at: usize| (at..at + block.len()).all(|at| self.is_taken.get(at) == Some(&false));
        let places =
            positions(self.lines, block).into_iter().filter(|at| is_free(*at)).collect::<Vec<usize>>();
        match places[..] {
            [at] if has_words => {
                block.iter().enumerate().for_each(|(number, line)| self.take(at + number, line))
            }
            _ => self.missing += block.len() as u64,
        }
    }

    /// Lines of a file that is not remembered whole: they must be at exactly one place.
    fn part(&mut self, fragment: &Fragment) {
        let lines = &fragment.lines;
        let written = lines.iter().filter(|line| line.by.is_some()).count() as u64;
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
        let windows = self.lines.windows(lines.len().max(1)).enumerate();
        let places =
            windows.filter(|(_, window)| window.iter().enumerate().all(|(at, line)| is_same(at, line)));
        let places: Vec<usize> = places.map(|(at, _)| at).take(2).collect();
        if let ([at], false) = (&places[..], lines.is_empty()) {
            for (number, line) in lines.iter().enumerate().filter(|(_, line)| line.by.is_some()) {
                self.take(at + number, line);
            }
            return;
        }
        // The surroundings changed: blocks of written lines are searched on their own.
        if places.is_empty() && !fragment.has_cut_ends {
            lines
                .chunk_by(|one, two| one.by == two.by)
                .filter(|block| block[0].by.is_some())
                .for_each(|block| self.moved(block));
        } else {
            self.missing += written;
        }
    }
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

/// The positions of a block, found by the hash of its first line.
fn positions(lines: &[&str], block: &[RememberedLine]) -> Vec<usize> {
    let Some(first) = block.first() else { return Vec::new() };
    let mut index: HashMap<&str, Vec<usize>> = HashMap::new();
    for (at, line) in lines.iter().enumerate().filter(|(_, line)| **line == first.text) {
        index.entry(line).or_default().push(at);
    }
    let is_here = |at: &usize| {
        lines
            .get(*at..at + block.len())
            .is_some_and(|window| window.iter().zip(block).all(|(one, two)| *one == two.text))
    };
    index.remove(first.text.as_str()).unwrap_or_default().into_iter().filter(is_here).collect()
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
