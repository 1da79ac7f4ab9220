//! The summary of a run, accumulated file by file, so that a run over a hundred thousand files holds none of their
//! reports.

use interlingua::dialects::{Dialect, Role};
use interlingua::error::{Code, Problem};
use interlingua::framing::Framing;
use interlingua::ledger::{ContentCounts, LossPolicy, Report, Row};

use crate::losses::{self, LossTable};
use crate::{Converted, render};

/// The outcome of a run over many files, with the errors `E` of those that were skipped or failed.
#[derive(Debug)]
#[non_exhaustive]
pub struct Summary<E> {
    /// The number of converted files.
    pub files: u64,
    /// The files grouped by source and target dialect.
    pub(crate) ways: Vec<Way>,
    /// The inputs that were skipped, with the reason for each.
    pub skipped: Vec<(String, E)>,
    /// The inputs that could not be converted, with the error of each.
    pub failed: Vec<(String, E)>,
    /// The sum of the counts of all files.
    pub total: Report,
    /// The first loss that the policy forbids.
    pub forbidden: Option<Box<ForbiddenLoss>>,
    /// Set if any file lost something, has errors or has an output without content.
    pub unsound: bool,
}

/// A loss that the policy of a run forbids.
#[derive(Debug)]
#[non_exhaustive]
pub struct ForbiddenLoss {
    /// The row of the report.
    pub row: Row,
    /// The name of the target dialect.
    pub target: &'static str,
    /// The whole report of the file.
    pub report: Report,
}

/// The outcome of all files with one source and one target dialect.
#[derive(Debug)]
pub(crate) struct Way {
    pub(crate) from: (&'static Dialect, Role),
    pub(crate) to: (&'static Dialect, Role),
    pub(crate) files: u64,
    /// How many files were copied without parsing, because source and target dialect are the same.
    pub(crate) copies: u64,
    pub(crate) counts: Report,
    pub(crate) lost: LossTable,
    pub(crate) kept: LossTable,
    pub(crate) problems: Vec<ProblemSort>,
    /// How many files lost parts of the conversation.
    pub(crate) incomplete: u64,
    /// The files with the most losses, worst first.
    pub(crate) worst: Vec<WorstFile>,
    /// The first files without content, and the number of all of them.
    pub(crate) empty: (Vec<String>, u64),
}

/// Problems with the same code.
#[derive(Debug)]
pub(crate) struct ProblemSort {
    pub(crate) code: Code,
    pub(crate) count: u64,
    /// How many files have this problem.
    pub(crate) files: u64,
    /// The first occurrence: its file, the framing of the file, and the problem.
    pub(crate) first: (String, Framing, Problem),
}

/// A file with many losses.
#[derive(Debug)]
pub(crate) struct WorstFile {
    pub(crate) name: String,
    /// Lost leaves of the conversation.
    pub(crate) conversation: u64,
    pub(crate) damaged: u64,
    pub(crate) lost: u64,
    pub(crate) leaves: u64,
}

/// The number of named files.
pub(crate) const NAMED_FILES: usize = 5;

impl<E> Default for Summary<E> {
    fn default() -> Self {
        Self {
            files: 0,
            ways: Vec::new(),
            skipped: Vec::new(),
            failed: Vec::new(),
            total: Report::default(),
            forbidden: None,
            unsound: false,
        }
    }
}

impl<E> Summary<E> {
    /// Adds a converted file.
    pub fn add(&mut self, file: &Converted, policy: Option<&LossPolicy>) {
        let Converted { report, from, to, .. } = file;
        self.files += 1;
        add_counts(&mut self.total, report);
        self.unsound |= report.lost > 0 || report.errors > 0 || file.has_no_content();
        if self.forbidden.is_none()
            && let Some(policy) = policy
            && let Some(row) = policy.failures(report).first()
        {
            let (row, target, report) = ((*row).clone(), to.0.name, report.clone());
            self.forbidden = Some(Box::new(ForbiddenLoss { row, target, report }));
        }
        let from = (from.dialect, from.spec.role);
        let same = |way: &Way| {
            let names = |(dialect, role): (&Dialect, Role)| (dialect.name, role);
            names(way.from) == names(from) && names(way.to) == names(*to)
        };
        let at = self.ways.iter().position(same).unwrap_or_else(|| {
            self.ways.push(Way::new(from, *to));
            self.ways.len() - 1
        });
        self.ways[at].add(file);
    }
}

impl Way {
    fn new(from: (&'static Dialect, Role), to: (&'static Dialect, Role)) -> Self {
        Self {
            from,
            to,
            files: 0,
            copies: 0,
            counts: Report::default(),
            lost: LossTable::default(),
            kept: LossTable::default(),
            problems: Vec::new(),
            incomplete: 0,
            worst: Vec::new(),
            empty: (Vec::new(), 0),
        }
    }

    fn add(&mut self, file: &Converted) {
        let Converted { name, report, .. } = file;
        self.files += 1;
        self.copies += u64::from(file.is_copy);
        add_counts(&mut self.counts, report);
        for (table, rows) in [(&mut self.lost, &report.lost_paths), (&mut self.kept, &report.kept_paths)] {
            table.add(rows, |row| Some(render::place_in(name, row.first, &row.first.name(report.framing))));
        }
        for (what, count) in &report.notes {
            match self.counts.notes.iter_mut().find(|(known, _)| known == what) {
                Some((_, sum)) => *sum += count,
                None => self.counts.notes.push((what, *count)),
            }
        }
        self.add_problems(file);
        if file.has_no_content() {
            let (names, count) = &mut self.empty;
            *count += 1;
            if names.len() < NAMED_FILES {
                names.push(name.clone());
            }
        }
        let conversation = losses::of_conversation(report);
        self.incomplete += u64::from(conversation > 0);
        if report.lost > 0 || report.damaged > 0 {
            let Report { damaged, lost, leaves, .. } = *report;
            self.worst.push(WorstFile { name: name.clone(), conversation, damaged, lost, leaves });
            self.worst.sort_by_key(|file| std::cmp::Reverse((file.conversation, file.damaged, file.lost)));
            self.worst.truncate(NAMED_FILES);
        }
    }

    fn add_problems(&mut self, file: &Converted) {
        let Converted { name, report, .. } = file;
        self.counts.more_problems += report.more_problems;
        let mut seen: Vec<Code> = Vec::new();
        for problem in &report.problems {
            let is_new = !seen.contains(&problem.code);
            seen.push(problem.code);
            match self.problems.iter_mut().find(|sort| sort.code == problem.code) {
                Some(sort) => {
                    sort.count += 1;
                    sort.files += u64::from(is_new);
                }
                None => self.problems.push(ProblemSort {
                    code: problem.code,
                    count: 1,
                    files: 1,
                    first: (name.clone(), report.framing, problem.clone()),
                }),
            }
        }
    }
}

/// Adds only the counts of another report.
fn add_counts(sum: &mut Report, report: &Report) {
    sum.frames += report.frames;
    sum.read += report.read;
    sum.leaves += report.leaves;
    sum.mapped += report.mapped;
    sum.kept += report.kept;
    sum.lost += report.lost;
    sum.errors += report.errors;
    sum.damaged += report.damaged;
    sum.verbatim += report.verbatim;
    sum.agents += report.agents;
    let ContentCounts { messages, reasoning, calls, results, failures, .. } = report.content;
    sum.content.messages += messages;
    sum.content.reasoning += reasoning;
    sum.content.calls += calls;
    sum.content.results += results;
    sum.content.failures += failures;
}
