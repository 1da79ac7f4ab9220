//! Goldens: the complete conversion of each fixture. `cargo xtask bless` writes them; read the diff before you commit
//! it.
//!
//! A golden is next to its fixture: `golden/<fixture>.<target>.<ext>`. Logs and live output are converted to a record,
//! universal events and the logs of other agents, small logs also to the input of a live agent, wire documents to every
//! other wire dialect. Each golden has a report (`.report.txt`). Fixtures of [`LARGE`] bytes or more have only the
//! report, because their goldens would double the size of the repository without showing more than the smaller goldens.

#![allow(clippy::expect_used, reason = "a test stops at the first surprise")]
#![allow(clippy::disallowed_methods, reason = "goldens are files, settings of a test run are variables")]
#![allow(missing_docs, reason = "not published")]

mod support;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use interlingua::dialects::{DIALECTS, Plane, Role};
use interlingua::framing::Framing;
use interlingua::ledger::{ContentCounts, Report, Row};
use support::{
    Case, Outcome, Way, asked_for, convert, first_difference, fixture_root, fixtures, other_targets,
};

const LARGE: usize = 15_000;

#[test]
fn every_fixture_becomes_what_its_golden_says() {
    let goldens = goldens();
    assert!(!goldens.is_empty(), "no golden at all");
    if std::env::var_os("INTERLINGUA_BLESS").is_some() {
        return bless(&goldens);
    }
    let mut wrong = Vec::new();
    for (path, wanted) in &goldens {
        match std::fs::read(path) {
            Ok(known) if known == *wanted => {}
            Ok(known) => wrong.push(format!("{}: {}", path.display(), first_difference(&known, wanted))),
            Err(_) => wrong.push(format!("{}: missing", path.display())),
        }
    }
    wrong.extend(stale(&goldens).iter().map(|path| format!("{}: nothing makes it any more", path.display())));
    assert!(
        wrong.is_empty(),
        "{} goldens differ\n{}\nhint: if that is meant, `cargo xtask bless` and read the diff",
        wrong.len(),
        wrong.iter().take(10).map(String::as_str).collect::<Vec<_>>().join("\n")
    );
}

/// Every expected golden with its content.
fn goldens() -> BTreeMap<PathBuf, Vec<u8>> {
    let mut goldens = BTreeMap::new();
    let mut add = |path: PathBuf, content: Vec<u8>| {
        let twice = goldens.insert(path.clone(), content);
        assert!(twice.is_none(), "{}: two fixtures want this golden; rename one", path.display());
    };
    for case in fixtures() {
        for to in other_targets(&case).into_iter().filter(|to| is_shown(&case, *to)) {
            let out = convert(case.way, to, &case.bytes);
            add(golden_path(&case, to, "report.txt"), report(&case, to, &out.report).into_bytes());
            if case.bytes.len() < LARGE {
                let (extension, content) = content(to, &out);
                add(golden_path(&case, to, extension), content);
            }
        }
    }
    goldens
}

/// Whether a pair has a golden: conversions to our own dialects, logs to those of the two main agents and from one of
/// them to all, wire to wire. A record profile that differs only in its members has one golden.
fn is_shown(case: &Case, to: Way) -> bool {
    if to.0.name == "record-v2" {
        return case.way.0.name == "universal";
    }
    let is_hub = |name: &str| ["claude-code", "codex"].contains(&name);
    match case.way.0.plane {
        Plane::Log if to.1 == Role::Log && to.0.plane == Plane::Log => {
            is_hub(to.0.name) || is_hub(case.way.0.name) && case.bytes.len() < LARGE
        }
        Plane::Log => to.0.plane == Plane::Ours || case.bytes.len() < LARGE,
        Plane::Live => to.0.plane == Plane::Ours || to.1 == Role::Log,
        Plane::Wire => to.0.plane == Plane::Wire,
        Plane::Ours => to.1 == Role::Log || to.0.plane == Plane::Ours,
    }
}

fn golden_path(case: &Case, to: Way, extension: &str) -> PathBuf {
    let stem = case.path.file_stem().unwrap_or_default().to_string_lossy();
    let name = format!("{stem}.{}.{extension}", to.0.name);
    case.path.parent().expect("a file is in a folder").join("golden").join(name)
}

/// The output, cut into lines so that a diff shows the changes.
fn content(to: Way, out: &Outcome) -> (&'static str, Vec<u8>) {
    match to.0.role(to.1).map(|spec| spec.framing) {
        Some(framing @ (Framing::Documents(_) | Framing::LinesOrDocuments(..))) => {
            // The head, each element and the tail on separate lines.
            let mut lines = Vec::new();
            let mut framer = framing.framer(usize::MAX);
            let mut line = |frame: interlingua::framing::Frame<'_>| {
                lines.extend_from_slice(frame.bytes.trim_ascii());
                lines.push(b'\n');
            };
            framer.push(&out.bytes, &mut line);
            framer.finish(&mut line);
            ("jsonl", lines)
        }
        Some(Framing::Lines) => ("jsonl", out.bytes.clone()),
        Some(Framing::Sse | Framing::EventsOrArray) => ("sse", out.bytes.clone()),
        Some(Framing::Whole) | None => ("json", indent(&out.bytes)),
    }
}

/// Breaks compact JSON into lines without changing strings.
fn indent(json: &[u8]) -> Vec<u8> {
    let json = json.trim_ascii();
    let mut out = Vec::new();
    let (mut depth, mut string, mut escaped) = (0usize, false, false);
    let line = |out: &mut Vec<u8>, depth: usize| {
        out.push(b'\n');
        out.extend(std::iter::repeat_n(b' ', depth * 2));
    };
    for (at, &byte) in json.iter().enumerate() {
        if string {
            out.push(byte);
            string = escaped || byte != b'"';
            escaped = !escaped && byte == b'\\';
            continue;
        }
        let empty = matches!((byte, json.get(at + 1)), (b'{', Some(b'}')) | (b'[', Some(b']')));
        let closes_empty = at > 0 && matches!((json[at - 1], byte), (b'{', b'}') | (b'[', b']'));
        match byte {
            b'{' | b'[' if !empty => {
                depth += 1;
                out.push(byte);
                line(&mut out, depth);
            }
            b'}' | b']' if !closes_empty => {
                depth = depth.saturating_sub(1);
                line(&mut out, depth);
                out.push(byte);
            }
            b',' => {
                out.push(byte);
                line(&mut out, depth);
            }
            b':' => out.extend_from_slice(b": "),
            _ => {
                string = byte == b'"';
                out.push(byte);
            }
        }
    }
    out.push(b'\n');
    out
}

fn report(case: &Case, to: Way, report: &Report) -> String {
    let Report {
        framing,
        frames,
        content: ContentCounts { messages, reasoning, calls, results, failures },
        read,
        leaves,
        mapped,
        kept,
        lost,
        kept_paths,
        lost_paths,
        notes,
        problems,
        more_problems,
        errors: _,
        agents: _,
        damaged: _,
        verbatim,
        trace: _,
    } = report;
    let mut text = format!("{case} -> {} {}\n", to.0.name, to.1.word());
    let mut say = |line: String| text.write_str(&(line + "\n")).expect("memory");
    say(format!(
        "{read} of {frames} frames read, {leaves} leaves = {mapped} mapped + {kept} kept + {lost} lost"
    ));
    say(format!(
        "told: {messages} messages, {reasoning} reasoning, {calls} calls, {results} results, {failures} failures"
    ));
    if *verbatim > 0 {
        say(format!("{verbatim} source lines kept whole"));
    }
    for (title, rows) in [("kept", kept_paths), ("lost", lost_paths)] {
        if !rows.is_empty() {
            say(format!("\n{title}"));
        }
        for Row { path, reason, field: _, count, bytes, first } in rows {
            let reason = reason.map(|reason| format!(", {}", reason.word())).unwrap_or_default();
            say(format!("{count:6}  {path}  ({bytes} bytes, first in {}{reason})", first.name(*framing)));
        }
    }
    if !notes.is_empty() {
        say("\nnotes".to_owned());
    }
    for (what, count) in notes {
        say(format!("{count:6}  {what}"));
    }
    if !problems.is_empty() {
        say("\nproblems".to_owned());
    }
    for problem in problems {
        say(format!("  {}: {} {}", problem.place.name(*framing), problem.code.name(), problem.detail));
    }
    if *more_problems > 0 {
        say(format!("  and {more_problems} more"));
    }
    text
}

fn bless(goldens: &BTreeMap<PathBuf, Vec<u8>>) {
    for path in stale(goldens) {
        std::fs::remove_file(path).expect("removable");
    }
    for (path, content) in goldens {
        std::fs::create_dir_all(path.parent().expect("in a folder")).expect("creatable");
        std::fs::write(path, content).expect("writable");
    }
}

/// Goldens on disk that no conversion produces any more. With `INTERLINGUA_ONLY` only goldens from and to that dialect
/// count, because only these are made.
fn stale(goldens: &BTreeMap<PathBuf, Vec<u8>>) -> Vec<PathBuf> {
    let mut stale = Vec::new();
    for dialect in DIALECTS {
        let mut found = Vec::new();
        walk(&fixture_root(dialect), false, &mut found);
        let is_made = |path: &PathBuf| {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            asked_for().is_none_or(|only| dialect.name == only || name.contains(&format!(".{only}.")))
        };
        stale.extend(found.into_iter().filter(|path| is_made(path) && !goldens.contains_key(path)));
    }
    stale
}

fn walk(folder: &Path, golden: bool, found: &mut Vec<PathBuf>) {
    for path in std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()) {
        if path.is_dir() {
            let golden = golden || path.file_name().is_some_and(|name| name == "golden");
            walk(&path, golden, found);
        } else if golden {
            found.push(path);
        }
    }
}
