//! `cargo xtask detect FOLDER [--with PROGRAM]`: the dialect that this build detects in each file below a folder; with
//! another build of the command, only the files that the two builds detect differently.
//!
//! Both builds run `check FOLDER --json`. The task is for changes to detection: a folder of real logs shows which files a
//! new dialect takes away from another.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use interlingua::tape::{Limits, TapeBuf, Val};

use crate::{TaskResult, cargo, root, say};

const USAGE: &str = "hint: `cargo xtask detect FOLDER [--with PROGRAM]`";

/// The detected dialect of each input, by name.
type Detections = BTreeMap<String, String>;

pub(crate) fn run(arguments: &[String]) -> TaskResult<()> {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (folder, other) = match words[..] {
        [folder] | ["--with", _, folder] | [folder, "--with", _] if folder.starts_with('-') => {
            return Err(format!("there is no flag `{folder}`\n{USAGE}").into());
        }
        [folder] => (folder, None),
        [folder, "--with", other] | ["--with", other, folder] => (folder, Some(other)),
        _ => return Err(format!("expected a folder\n{USAGE}").into()),
    };
    cargo(["build", "--package", "interlingua-cli"])?;
    let ours = detections(&own_program(), folder)?;
    let lines = match other {
        Some(other) => differences(&detections(Path::new(other), folder)?, &ours),
        None => ours.iter().map(|(name, dialect)| format!("{name}: {dialect}")).collect(),
    };
    let mut out = io::stdout().lock();
    for line in &lines {
        writeln!(out, "{line}")?;
    }
    match (other, lines.len()) {
        (Some(_), 0) => say(&format!("{} files, all detected alike", ours.len())),
        (Some(_), different) => return Err(format!("{different} files are detected differently").into()),
        (None, files) => say(&format!("{files} files")),
    }
    Ok(())
}

/// The command that `cargo build` has just built.
fn own_program() -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
    target.join("debug").join(format!("interlingua{}", std::env::consts::EXE_SUFFIX))
}

/// Runs `check` of a build over the folder and reads its report.
fn detections(program: &Path, folder: &str) -> TaskResult<Detections> {
    let words = [OsStr::new("check"), OsStr::new(folder), OsStr::new("--json")];
    let ran = Command::new(program).args(words).stderr(Stdio::null()).output();
    let ran = ran.map_err(|error| format!("`{}`: {error}", program.display()))?;
    // The exit code is not zero for a folder with an unsound file, and the report is complete.
    read_report(std::str::from_utf8(&ran.stdout)?).ok_or_else(|| {
        format!("`{} check --json` wrote no report ({})", program.display(), ran.status).into()
    })
}

/// The dialect of each file in the report of `check`.
fn read_report(json: &str) -> Option<Detections> {
    let mut buf = TapeBuf::default();
    // The report of a large folder is longer than a document of an input may be.
    let limits = Limits { bytes: usize::MAX, nodes: usize::MAX, ..Limits::default() };
    let tape = buf.parse(json.trim(), &limits).ok()?;
    let files = tape.root().get("files")?;
    let skipped = tape.root().get("skipped");
    let mut found = Detections::new();
    for file in files.elements().chain(skipped.into_iter().flat_map(|skipped| skipped.elements())) {
        let name = text(file, "input");
        let dialect = match file.get("from") {
            Some(from) => format!("{} {}", text(from, "dialect"), text(from, "role")),
            // The message of a file without a dialect names the candidates.
            None => format!("none: {}", text(file, "error").replace(&format!("`{name}`"), "the file")),
        };
        found.insert(name, dialect);
    }
    Some(found)
}

fn text(object: Val<'_>, name: &str) -> String {
    object
        .get(name)
        .and_then(|member| member.str())
        .map(|text| text.decode().into_owned())
        .unwrap_or_default()
}

/// A line for each file that two builds detect differently. Two builds may word the message of a file without a dialect
/// differently.
fn differences(before: &Detections, after: &Detections) -> Vec<String> {
    let class = |dialect: &str| dialect.split(':').next().unwrap_or_default().to_owned();
    let mut lines = Vec::new();
    for (name, dialect) in after {
        match before.get(name) {
            Some(old) if class(old) == class(dialect) => {}
            Some(old) => lines.push(format!("{name}: {old} -> {dialect}")),
            None => lines.push(format!("{name}: not found -> {dialect}")),
        }
    }
    let gone = before.iter().filter(|(name, _)| !after.contains_key(*name));
    lines.extend(gone.map(|(name, old)| format!("{name}: {old} -> not found")));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPORT: &str = r#"{"version":1,"command":"check","files":[
        {"input":"a","from":{"dialect":"pi","role":"log","detected":true},"sound":true},
        {"input":"b","from":{"dialect":"codex","role":"log","detected":true},"sound":false}],
        "skipped":[{"input":"c","error":"no dialect recognises `c`","hint":"x"}]}"#;

    #[test]
    fn a_report_names_the_dialect_of_each_file() {
        let found = read_report(REPORT).expect("a report");
        let rows: Vec<_> = found.iter().map(|(name, dialect)| (name.as_str(), dialect.as_str())).collect();
        let none = "none: no dialect recognises the file";
        assert_eq!(rows, [("a", "pi log"), ("b", "codex log"), ("c", none)]);
        assert!(read_report("error: no such file").is_none());
    }

    #[test]
    fn only_files_with_another_dialect_are_printed() {
        let before = read_report(REPORT).expect("a report");
        assert!(differences(&before, &before).is_empty());
        let other = REPORT.replace("no dialect recognises", "nobody knows");
        assert!(differences(&before, &read_report(&other).expect("a report")).is_empty());
        let after = read_report(&REPORT.replace("codex", "pi").replace(r#""input":"c""#, r#""input":"d""#));
        assert_eq!(
            differences(&before, &after.expect("a report")),
            [
                "b: codex log -> pi log",
                "d: not found -> none: no dialect recognises `c`",
                "c: none: no dialect recognises the file -> not found",
            ]
        );
    }

    #[test]
    fn a_call_without_a_folder_is_refused() {
        for words in [&[][..], &["--with", "x"], &["--json"], &["a", "b"]] {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            assert!(run(&words).is_err_and(|error| error.to_string().contains(USAGE)), "{words:?}");
        }
    }
}
