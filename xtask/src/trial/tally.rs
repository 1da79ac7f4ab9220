//! The sum over all files, in bounded memory whatever the number and content of the files.

use std::collections::BTreeMap;

use interlingua::error::{Code, Problem, Severity};
use interlingua::ledger::{Reason, Report, Row};

use super::{ComesBack, Items, Trial, Tried};

/// The sums of all files.
#[derive(Default)]
pub(super) struct TrialTally {
    /// Converted files.
    pub(super) tried: u64,
    /// Files that could not be read, or whose conversion panicked.
    pub(super) failed: u64,
    pub(super) same: u64,
    pub(super) different: u64,
    pub(super) uncompared: u64,
    /// Files with a report that does not add up.
    pub(super) unbalanced: u64,
    pub(super) bytes: u64,
    pub(super) record_bytes: u64,
    /// The largest ratio of a record's size to its source's size, with its file.
    pub(super) worst: Option<Worst>,
    pub(super) frames: u64,
    pub(super) damaged: u64,
    pub(super) leaves: u64,
    pub(super) mapped: u64,
    pub(super) kept: u64,
    pub(super) lost: u64,
    pub(super) messages: u64,
    pub(super) reasoning: u64,
    pub(super) calls: u64,
    pub(super) results: u64,
    pub(super) notices: Counted<String>,
    /// Skipped files, by the result of detection.
    pub(super) skipped: Counted<String>,
    pub(super) kept_paths: Counted<String>,
    pub(super) lost_paths: Counted<(String, Option<Reason>)>,
    /// Problems of the files: code and detail.
    pub(super) problems: Counted<(&'static str, String)>,
    /// Errors on the way back from the record, which are not problems of the file.
    pub(super) problems_back: Counted<(&'static str, String)>,
    /// Problems beyond the first hundred of a file, of any code.
    pub(super) more_problems: u64,
}

/// How much larger a record is than its source.
pub(super) struct Worst {
    pub(super) ratio: f64,
    pub(super) name: String,
    bytes: u64,
}

impl TrialTally {
    pub(super) fn add(&mut self, name: &str, trial: Trial) {
        match trial {
            Trial::Skipped(looks_like) => self.skipped.add(looks_like, 1, 0, || name.to_owned()),
            Trial::Failed(_) => self.failed += 1,
            Trial::Tried(tried) => self.add_tried(name, *tried),
        }
    }

    fn add_tried(&mut self, name: &str, tried: Tried) {
        let Tried { looks_like: _, bytes, record_bytes, there, back, comes_back, items } = tried;
        self.tried += 1;
        match comes_back {
            ComesBack::Same => self.same += 1,
            ComesBack::Differs(_) => self.different += 1,
            ComesBack::Uncompared => self.uncompared += 1,
        }
        self.unbalanced += u64::from(!(there.adds_up() && back.adds_up()));
        self.bytes += bytes;
        self.record_bytes += record_bytes;
        self.weigh(name, bytes, record_bytes);
        let Items { messages, reasoning, calls, results, notices } = items;
        self.messages += messages;
        self.reasoning += reasoning;
        self.calls += calls;
        self.results += results;
        for (word, count) in notices {
            self.notices.add(word, count, 0, || name.to_owned());
        }
        self.add_books(name, there);
        for problem in back.problems.iter().filter(|problem| problem.code.severity() == Severity::Error) {
            self.problems_back.add(key(problem), 1, 0, || place(name, problem.place.frame.number));
        }
    }

    /// A short log is mostly overhead: it counts only while there is no longer log.
    fn weigh(&mut self, name: &str, bytes: u64, record_bytes: u64) {
        if bytes == 0 {
            return;
        }
        let ratio = ratio(record_bytes, bytes);
        let is_long = |bytes: u64| bytes >= 16 << 10;
        let worse = self
            .worst
            .as_ref()
            .is_none_or(|worst| (is_long(bytes), ratio) > (is_long(worst.bytes), worst.ratio));
        if worse {
            self.worst = Some(Worst { ratio, name: name.to_owned(), bytes });
        }
    }

    fn add_books(&mut self, name: &str, report: Report) {
        self.frames += report.frames;
        self.leaves += report.leaves;
        self.mapped += report.mapped;
        self.kept += report.kept;
        self.lost += report.lost;
        // A blank file is counted as damaged but has no damaged line.
        let blank = report.problems.iter().any(|problem| problem.code == Code::Empty);
        self.damaged += report.damaged - u64::from(blank);
        self.more_problems += report.more_problems;
        for Row { path, reason: _, field: _, count, bytes, first } in report.kept_paths {
            self.kept_paths.add(path, count, bytes, || place(name, first.number));
        }
        for Row { path, reason, field: _, count, bytes, first } in report.lost_paths {
            self.lost_paths.add((path, reason), count, bytes, || place(name, first.number));
        }
        for problem in &report.problems {
            self.problems.add(key(problem), 1, 0, || place(name, problem.place.frame.number));
        }
    }
}

fn key(problem: &Problem) -> (&'static str, String) {
    (problem.code.name(), problem.detail.clone())
}

/// The position of a frame, which is a line number for files read in lines.
fn place(name: &str, frame: u64) -> String {
    if frame == 0 { name.to_owned() } else { format!("{name}:{frame}") }
}

#[expect(clippy::cast_precision_loss, reason = "it is shown with two digits")]
pub(super) fn ratio(record_bytes: u64, bytes: u64) -> f64 {
    record_bytes as f64 / bytes as f64
}

/// Counted keys, with the place of the first occurrence.
pub(super) struct Counted<K> {
    rows: BTreeMap<K, Seen>,
    /// The count of keys beyond the limit.
    pub(super) others: u64,
}

pub(super) struct Seen {
    /// The number of occurrences.
    pub(super) count: u64,
    pub(super) bytes: u64,
    /// The first occurrence.
    pub(super) first: String,
}

impl<K> Default for Counted<K> {
    fn default() -> Self {
        Self { rows: BTreeMap::new(), others: 0 }
    }
}

impl<K: Ord> Counted<K> {
    /// The maximum number of different keys.
    const MOST: usize = 1 << 16;

    fn add(&mut self, key: K, count: u64, bytes: u64, first: impl FnOnce() -> String) {
        if let Some(known) = self.rows.get_mut(&key) {
            known.count += count;
            known.bytes += bytes;
        } else if self.rows.len() < Self::MOST {
            self.rows.insert(key, Seen { count, bytes, first: first() });
        } else {
            self.others += count;
        }
    }

    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    /// The total count of all keys.
    pub(super) fn total(&self) -> u64 {
        self.others + self.rows.values().map(|row| row.count).sum::<u64>()
    }

    /// The rows, most frequent first.
    pub(super) fn by_count(&self) -> Vec<(&K, &Seen)> {
        let mut rows: Vec<_> = self.rows.iter().collect();
        rows.sort_by_key(|(_, row)| std::cmp::Reverse(row.count));
        rows
    }
}
