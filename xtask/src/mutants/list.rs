//! The list of mutants: text files, one block per mutant.
//!
//! ```text
//! amp-error: a failed answer of Amp counts as completed
//! in crates/interlingua/src/dialects/agents/amp/read.rs
//! after fn ended
//! - "error" => Status::Failed,
//! + "error" => Status::Completed,
//! ```
//!
//! The lines with `-` are the original text, ignoring whitespace; it must occur once in the file, or once after the
//! text of the `after` line. The lines with `+` are the text of the mutant. Both are one expression, one statement or
//! some arms of a `match`. Lines that begin with `#` are comments.

use std::fs;
use std::path::Path;

use crate::TaskResult;

/// One mutant.
#[derive(Clone, Debug, Default)]
pub(super) struct Mutant {
    pub(super) name: String,
    /// A one-line description of the wrong behaviour.
    pub(super) about: String,
    /// The path from the root of the repository.
    pub(super) file: String,
    /// The text is searched after this text.
    pub(super) after: Option<String>,
    pub(super) was: String,
    pub(super) now: String,
}

/// Reads every list in the folder, in the order of their names.
pub(super) fn read(folder: &Path) -> TaskResult<Vec<Mutant>> {
    let mut paths: Vec<_> =
        fs::read_dir(folder)?.map(|entry| entry.map(|it| it.path())).collect::<Result<_, _>>()?;
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "txt"));
    paths.sort();
    let mut mutants: Vec<Mutant> = Vec::new();
    for path in paths {
        mutants
            .extend(parse(&fs::read_to_string(&path)?).map_err(|why| format!("{}: {why}", path.display()))?);
    }
    for (at, mutant) in mutants.iter().enumerate() {
        if mutants[..at].iter().any(|other| other.name == mutant.name) {
            return Err(format!("two mutants have the name `{}`", mutant.name).into());
        }
    }
    Ok(mutants)
}

fn parse(text: &str) -> Result<Vec<Mutant>, String> {
    let mut mutants: Vec<Mutant> = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let odd = || format!("line {}: `{line}` is no line of a mutant", number + 1);
        if line.trim().is_empty() || line.starts_with('#') {
            continue;
        }
        let last = mutants.last_mut();
        if let Some(rest) = line.strip_prefix('-') {
            let mutant = last.ok_or_else(odd)?;
            format!("{}\n{rest}", mutant.was).trim().clone_into(&mut mutant.was);
        } else if let Some(rest) = line.strip_prefix('+') {
            let mutant = last.ok_or_else(odd)?;
            format!("{}\n{rest}", mutant.now).trim().clone_into(&mut mutant.now);
        } else if let Some(file) = line.strip_prefix("in ") {
            file.trim().clone_into(&mut last.ok_or_else(odd)?.file);
        } else if let Some(after) = line.strip_prefix("after ") {
            last.ok_or_else(odd)?.after = Some(after.trim().to_owned());
        } else {
            let (name, about) = line.split_once(": ").ok_or_else(odd)?;
            let (name, about) = (name.to_owned(), about.trim().to_owned());
            mutants.push(Mutant { name, about, ..Mutant::default() });
        }
    }
    match mutants.iter().find(|mutant| mutant.file.is_empty() || mutant.was.is_empty()) {
        Some(mutant) => Err(format!("`{}` has no file or no text", mutant.name)),
        None => Ok(mutants),
    }
}
