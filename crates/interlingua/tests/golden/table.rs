//! The tables: a row for each fixture and target.
//!
//! Columns have a fixed width, so that a new row does not move the other rows of a diff.

use std::collections::BTreeMap;
use std::fmt;

use interlingua::dialects::{DIALECTS, Dialect};
use interlingua::ledger::{ContentCounts, Report};
use sha2::{Digest as _, Sha256};

use crate::support::{Case, Outcome, Way, asked_for};
use crate::{Conversions, files_in, is_selected, root, shown_path};

/// The columns after the fixture and the target: name, and width, negative for text that is aligned to the left.
const COLUMNS: [(&str, isize); 15] = [
    ("role", -9),
    ("target-role", -11),
    ("frames", 7),
    ("leaves", 7),
    ("mapped", 7),
    ("kept", 7),
    ("lost", 7),
    ("messages", 8),
    ("reasoning", 9),
    ("calls", 6),
    ("results", 7),
    ("notes", 6),
    ("problems", 8),
    ("output", -16),
    ("report", -16),
];
const OUTPUT: usize = 13;
const REPORT: usize = 14;
const FIXTURE_WIDTH: usize = 30;
const TARGET_WIDTH: usize = 16;

/// The fixture and the target of a row.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct RowKey {
    /// The dialect of the fixture.
    pub source: String,
    /// The path below the dialect's folder of fixtures.
    pub fixture: String,
    /// The dialect of the output.
    pub target: String,
}

impl RowKey {
    pub fn new(case: &Case, to: Way) -> Self {
        assert!(!case.name.contains(char::is_whitespace), "{case}: a fixture's path has no spaces");
        Self { source: case.way.0.name.to_owned(), fixture: case.name.clone(), target: to.0.name.to_owned() }
    }
}

impl fmt::Display for RowKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} -> {}", self.source, self.fixture, self.target)
    }
}

/// The cells of a row, one for each of [`COLUMNS`].
#[derive(Clone, PartialEq)]
pub struct Row([String; COLUMNS.len()]);

impl Row {
    pub fn new(case: &Case, to: Way, out: &Outcome, report_text: &str) -> Self {
        let Report { frames, leaves, mapped, kept, lost, content, notes, problems, more_problems, .. } =
            &out.report;
        let ContentCounts { messages, reasoning, calls, results, .. } = content;
        let notes: u64 = notes.iter().map(|(_, count)| *count).sum();
        let problems = problems.len() as u64 + more_problems;
        Self([
            case.way.1.word().to_owned(),
            to.1.word().to_owned(),
            frames.to_string(),
            leaves.to_string(),
            mapped.to_string(),
            kept.to_string(),
            lost.to_string(),
            messages.to_string(),
            reasoning.to_string(),
            calls.to_string(),
            results.to_string(),
            notes.to_string(),
            problems.to_string(),
            digest(&out.bytes),
            digest(report_text.as_bytes()),
        ])
    }

    /// The digest of the output.
    pub fn output(&self) -> &str {
        &self.0[OUTPUT]
    }

    /// The digest of the report.
    pub fn report(&self) -> &str {
        &self.0[REPORT]
    }
}

/// The first 64 bits of the SHA-256, as hexadecimal digits.
fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// The difference between a row and its table.
pub enum RowChange {
    New,
    /// No conversion makes the row any more.
    Stale,
    /// The row of the table, and the row of the conversion.
    Changed(Box<[Row; 2]>),
}

impl fmt::Display for RowChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (old, new) = match self {
            RowChange::New => return f.write_str("not in the table"),
            RowChange::Stale => return f.write_str("in the table, but no conversion makes it"),
            RowChange::Changed(rows) => (&rows[0], &rows[1]),
        };
        let cells = COLUMNS.iter().zip(old.0.iter().zip(&new.0)).enumerate();
        let mut separator = "";
        for (at, ((name, _), (old, new))) in cells.filter(|(_, (_, (old, new)))| old != new) {
            f.write_str(separator)?;
            separator = ", ";
            match at {
                OUTPUT | REPORT => f.write_str(name)?,
                _ => write!(f, "{name} {old} -> {new}")?,
            }
        }
        Ok(())
    }
}

/// The changes of all tables.
#[derive(Default)]
pub struct TableChanges {
    pub rows: BTreeMap<RowKey, RowChange>,
    /// Faults of table files that no row shows: the layout, a name without a dialect.
    pub files: Vec<String>,
}

/// Compares the conversions with the tables, and writes the tables if `blessing`.
pub fn update(conversions: &Conversions, blessing: bool) -> TableChanges {
    let mut changes = TableChanges::default();
    for dialect in DIALECTS {
        let path = root().join(format!("{}.txt", dialect.name));
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        let old = parse(dialect.name, &text);
        let made = conversions.iter().filter(|(key, _)| key.source == dialect.name);
        let mut new: Rows = made.map(|(key, conversion)| (key.clone(), conversion.row.clone())).collect();
        let unselected = old.iter().filter(|(key, _)| !is_selected(&key.source, &key.target));
        new.extend(unselected.map(|(key, row)| (key.clone(), row.clone())));
        compare(&old, &new, &mut changes.rows);
        let rendered = render(dialect, &new);
        if rendered == text {
            continue;
        }
        if !blessing {
            if old == new {
                changes.files.push(format!("{}: the rows are equal, the layout differs", shown_path(&path)));
            }
        } else if new.is_empty() {
            std::fs::remove_file(&path).expect("removable");
        } else {
            std::fs::write(&path, rendered).expect("writable");
        }
    }
    changes.files.extend(unregistered(blessing));
    changes
}

type Rows = BTreeMap<RowKey, Row>;

fn compare(old: &Rows, new: &Rows, changes: &mut BTreeMap<RowKey, RowChange>) {
    for (key, new) in new {
        match old.get(key) {
            Some(old) if old == new => {}
            Some(old) => {
                changes.insert(key.clone(), RowChange::Changed(Box::new([old.clone(), new.clone()])));
            }
            None => {
                changes.insert(key.clone(), RowChange::New);
            }
        }
    }
    for key in old.keys().filter(|key| !new.contains_key(key)) {
        changes.insert(key.clone(), RowChange::Stale);
    }
}

/// The tables of dialects that are not in the registry; removes them if `blessing`.
fn unregistered(blessing: bool) -> Vec<String> {
    let mut files = Vec::new();
    for path in files_in(&root()) {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let is_table = path.extension().is_some_and(|extension| extension == "txt");
        if is_table && asked_for().is_none() && Dialect::named(&name).is_none() {
            files.push(format!("{}: no dialect has this name", shown_path(&path)));
            if blessing {
                std::fs::remove_file(&path).expect("removable");
            }
        }
    }
    files
}

fn render(dialect: &Dialect, rows: &Rows) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let mut text = format!(
        "# Conversions of the fixtures of {} (fixtures/{}) to each target; `cargo xtask bless` writes this table.\n\
         # Leaves are mapped, kept or lost. Output and report are digests: the first 64 bits of the SHA-256.\n\n",
        dialect.name,
        dialect.folder()
    );
    text += &line("fixture", "target", COLUMNS.map(|(name, _)| name));
    let mut fixture = "";
    for (key, Row(cells)) in rows {
        if key.fixture != fixture {
            text.push('\n');
        }
        fixture = &key.fixture;
        text += &line(&key.fixture, &key.target, cells.each_ref().map(String::as_str));
    }
    text
}

fn line(fixture: &str, target: &str, cells: [&str; COLUMNS.len()]) -> String {
    let mut line = format!("{fixture:FIXTURE_WIDTH$} {target:TARGET_WIDTH$}");
    for ((_, width), cell) in COLUMNS.iter().zip(cells) {
        let columns = width.unsigned_abs();
        line += &if *width < 0 { format!(" {cell:<columns$}") } else { format!(" {cell:>columns$}") };
    }
    line.trim_end().to_owned() + "\n"
}

/// The rows of a table. A line that is not a row of this layout is left out, and so becomes a new row.
fn parse(source: &str, text: &str) -> Rows {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let row = |line: &str| {
        let mut cells = line.split_whitespace().map(str::to_owned);
        let (fixture, target) = (cells.next()?, cells.next()?);
        let cells: Vec<String> = cells.collect();
        let key = RowKey { source: source.to_owned(), fixture, target };
        Some((key, Row(cells.try_into().ok()?)))
    };
    lines.filter_map(row).filter(|(key, _)| key.fixture != "fixture").collect()
}

#[test]
fn a_rendered_table_reads_back_and_a_change_names_its_columns() {
    let dialect = Dialect::named("codex").expect("registered");
    let row = |lost: &str| {
        Row(COLUMNS.map(|(name, _)| if name == "lost" { lost.to_owned() } else { name.to_owned() }))
    };
    let key = |fixture: &str| RowKey {
        source: "codex".to_owned(),
        fixture: fixture.to_owned(),
        target: "record".to_owned(),
    };
    let long = "a/name/that/is/longer/than/its/column.jsonl";
    let old = Rows::from([(key("gone"), row("1")), (key(long), row("1"))]);
    assert!(parse("codex", &render(dialect, &old)) == old);
    let new = Rows::from([(key("new"), row("1")), (key(long), row("2"))]);
    let mut changes = BTreeMap::new();
    compare(&old, &new, &mut changes);
    let changes: Vec<String> = changes.iter().map(|(key, change)| format!("{key}: {change}")).collect();
    assert_eq!(
        changes,
        [
            format!("codex {long} -> record: lost 1 -> 2"),
            "codex gone -> record: in the table, but no conversion makes it".to_owned(),
            "codex new -> record: not in the table".to_owned(),
        ]
    );
}
