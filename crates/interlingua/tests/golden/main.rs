//! Goldens: the conversion of each fixture to each target. `cargo xtask bless` writes the goldens and prints the
//! changes; read them before you commit.
//!
//! - `<dialect>.txt` is a table with a row for each fixture of the dialect and each target: the counts of the report,
//!   and the digests of the output and of the report ([`table`]).
//! - `<dialect>/<role>.<target>.txt` holds the report and the whole output of one fixture ([`whole`]).
//!
//! Each run stores the outputs that it finds correct in the build directory ([`store`]), so that the next failing run
//! and `cargo xtask bless` can print a line diff.

#![allow(clippy::expect_used, reason = "a test stops at the first surprise")]
#![allow(clippy::disallowed_methods, reason = "goldens are files, settings of a test run are variables")]
#![allow(missing_docs, reason = "not published")]
#![allow(unreachable_pub, reason = "a module of a test has no outside")]
#![allow(clippy::format_push_string, clippy::format_collect, reason = "short helpers of a test")]

mod line_diff;
mod shown;
mod store;
#[path = "../support/mod.rs"]
mod support;
mod table;
mod whole;

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use interlingua::ledger::ContentCounts;
use support::{Case, Way, asked_for, convert, fixtures, on_two_threads, other_targets};
use table::{Row, RowChange, RowKey};

/// The changed rows that are printed with a diff.
const ROWS_WITH_DIFF: usize = 10;
/// The lines of each diff.
const LINES_OF_DIFF: usize = 40;
/// The changed rows that are named one by one.
const ROWS_NAMED: usize = 200;

#[test]
fn every_fixture_converts_as_its_golden_states() {
    let conversions = conversions(&fixtures());
    assert!(!conversions.is_empty(), "no conversion at all");
    let blessing = std::env::var_os("INTERLINGUA_BLESS").is_some();
    let tables = table::update(&conversions, blessing);
    // The diffs need the files of whole outputs as they were before a blessing.
    let rows = summary(&tables.rows, &conversions);
    let files = tables.files.into_iter().chain(whole::update(&conversions, &tables.rows, blessing));
    let summary = rows + &files.map(|file| file + "\n").collect::<String>();
    for (key, conversion) in &conversions {
        if blessing || !tables.rows.contains_key(key) {
            store::keep(conversion);
        }
    }
    if blessing {
        let text = if summary.is_empty() { "no golden changed\n" } else { summary.as_str() };
        // The test harness shows no output of a test that passes, except bytes written to stderr itself.
        std::io::stderr().write_all(text.as_bytes()).expect("stderr is open");
        return;
    }
    assert!(
        summary.is_empty(),
        "the goldens differ\n{summary}hint: if the change is intended, run `cargo xtask bless` and read the diff"
    );
}

/// The folder of the goldens.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("golden")
}

/// The path of a golden, relative to the repository.
fn shown_path(path: &Path) -> String {
    let inner = path.strip_prefix(root()).unwrap_or(path);
    format!("crates/interlingua/tests/golden/{}", inner.display())
}

/// The files and folders in a folder.
fn files_in(folder: &Path) -> Vec<PathBuf> {
    std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}

/// Whether this run covers conversions from `source` to `target`.
fn is_selected(source: &str, target: &str) -> bool {
    asked_for().is_none_or(|only| source == only || target == only)
}

/// The conversion of a fixture to a target.
struct Conversion {
    from: Way,
    to: Way,
    /// The size of the fixture.
    size: usize,
    content: ContentCounts,
    row: Row,
    /// The report, and the output cut into lines.
    text: Vec<u8>,
}

type Conversions = BTreeMap<RowKey, Conversion>;

/// Converts each fixture to each target other than its own dialect.
fn conversions(cases: &[Case]) -> Conversions {
    let made = on_two_threads(cases, |case| {
        let mut made = Vec::new();
        for to in other_targets(case) {
            let out = convert(case.way, to, &case.bytes);
            let report = shown::report(case, to, &out.report);
            let conversion = Conversion {
                from: case.way,
                to,
                size: case.bytes.len(),
                row: Row::new(case, to, &out, &report),
                text: shown::text(to, &report, &out.bytes),
                content: out.report.content,
            };
            made.push((RowKey::new(case, to), conversion));
        }
        made
    });
    made.into_iter().flatten().collect()
}

/// Names the changed rows, the first with a diff.
fn summary(changes: &BTreeMap<RowKey, RowChange>, conversions: &Conversions) -> String {
    let mut text = String::new();
    for (key, change) in changes.iter().take(ROWS_NAMED) {
        text += &format!("{key}: {change}\n");
    }
    if changes.len() > ROWS_NAMED {
        text += &format!("and {} more rows\n", changes.len() - ROWS_NAMED);
    }
    let mut without_old = 0;
    let mut with_diff = 0;
    for (key, change) in changes {
        let (RowChange::Changed(rows), Some(new)) = (change, conversions.get(key)) else { continue };
        if with_diff == ROWS_WITH_DIFF {
            break;
        }
        let Some(before) = store::find(&rows[0]).or_else(|| whole::committed(new)) else {
            without_old += 1;
            continue;
        };
        with_diff += 1;
        text += &format!("\n{key}\n{}", line_diff::diff(&before, &new.text, LINES_OF_DIFF));
    }
    if without_old > 0 {
        text += &format!(
            "\nno diff for {without_old} rows: the build directory does not hold their old output\n\
             hint: check out the old commit, run `cargo test --package interlingua-tests --test golden` once, and return\n"
        );
    }
    text
}
