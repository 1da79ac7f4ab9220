//! `cargo xtask mutants`: tests the tests with mistakes of meaning, all in one build.
//!
//! A mutant is a small change that gives the program a wrong meaning: a refusal that counts as a success, a cap that is
//! one higher, a second session that takes the first one's name. `tests/mutants/*.txt` lists them (see [`list`]). The
//! tree is copied below `target/mutants`, every mutant is written into the copy behind a switch (see [`apply`]), the
//! tests are built once, and each mutant is switched on by the environment variable `INTERLINGUA_MUTANT` while the test
//! binaries run, the fastest first, until one fails. The source itself never holds a mutant.
//!
//! It takes a long time and is run by hand, never in CI. `docs/testing.md` has the rate.

mod apply;
mod list;
mod runs;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::{TaskResult, root, say};
use apply::Switched;
use list::Mutant;
use runs::{MutantVerdict, TestBinary};

/// The environment variable with the name of the active mutant.
const SWITCH: &str = "INTERLINGUA_MUTANT";

/// The crates that mutants may change.
const CRATES: [&str; 7] = [
    "interlingua",
    "interlingua-models",
    "interlingua-record",
    "interlingua-report",
    "interlingua-sessions",
    "interlingua-view",
    "interlingua-cli",
];

/// The parsed arguments.
#[derive(Default)]
struct MutantSelection {
    /// Only mutants whose name or file contains one of these texts.
    only: Vec<String>,
    /// Only test binaries with these names.
    tests: Vec<String>,
    /// Only every n-th mutant of the list.
    every: Option<usize>,
    /// The number of mutants to skip at the beginning of the list.
    from: usize,
    /// Only check that the text of each mutant is found.
    list: bool,
}

pub(crate) fn run(arguments: &[String]) -> TaskResult<()> {
    let wanted = wanted(arguments)?;
    let all = list::read(&root().join("tests/mutants"))?;
    let chosen: Vec<&Mutant> = all
        .iter()
        .filter(|mutant| {
            wanted.only.is_empty()
                || wanted.only.iter().any(|text| mutant.name.contains(text) || mutant.file.contains(text))
        })
        .skip(wanted.from)
        .step_by(wanted.every.unwrap_or(1))
        .collect();
    if chosen.is_empty() {
        return Err("no mutant has such a name or file".into());
    }
    if wanted.list {
        return look(&all, &chosen);
    }
    let tree = root().join("target/mutants/tree");
    // The build holds every mutant, so that a run of others needs no new build.
    let (switched, mut refused) = build(&all, &tree, &wanted)?;
    refused.retain(|name, _| chosen.iter().any(|mutant| mutant.name == *name));
    let binaries = runs::baseline(switched, &tree)?;
    let mut verdicts = Vec::new();
    for &mutant in chosen.iter().filter(|mutant| !refused.contains_key(&mutant.name)) {
        let verdict = runs::judge(mutant, &binaries, &tree)?;
        say(&format!("{:<9} {}: {}", verdict.word(), mutant.name, verdict.detail()));
        verdicts.push((mutant, verdict));
    }
    for (name, why) in &mut refused {
        say(&format!("{:<9} {name}: {why}", "unviable"));
    }
    sum_up(&verdicts, refused.len())
}

fn wanted(arguments: &[String]) -> TaskResult<MutantSelection> {
    let mut wanted = MutantSelection::default();
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        match argument.as_str() {
            "--list" => wanted.list = true,
            "--only" | "--tests" | "--every" | "--from" => {
                let value = rest.next().ok_or_else(|| format!("`{argument}` needs a value"))?;
                let names = value.split(',').map(str::to_owned);
                match argument.as_str() {
                    "--only" => wanted.only.extend(names),
                    "--tests" => wanted.tests.extend(names),
                    "--every" => wanted.every = Some(value.parse::<usize>()?.max(1)),
                    _ => wanted.from = value.parse()?,
                }
            }
            other => return Err(format!("unknown argument `{other}`").into()),
        }
    }
    Ok(wanted)
}

/// Checks that the text of every mutant is still in the source.
fn look(all: &[Mutant], chosen: &[&Mutant]) -> TaskResult<()> {
    let mut stale = apply::apply(all, &apply::sources(all, &root())?).refused;
    stale.retain(|name, _| chosen.iter().any(|mutant| mutant.name == *name));
    for (name, why) in &stale {
        say(&format!("{name}: {why}"));
    }
    say(&format!("{} mutants, {} refused", chosen.len(), stale.len()));
    if stale.is_empty() { Ok(()) } else { Err("the list does not fit the source".into()) }
}

/// Writes the mutants into the copy and builds the tests, without mutants that do not compile.
fn build(
    mutants: &[Mutant],
    tree: &Path,
    wanted: &MutantSelection,
) -> TaskResult<(Vec<TestBinary>, BTreeMap<String, String>)> {
    copy_tree(tree)?;
    let libraries = CRATES.map(|name| Path::new("crates").join(name).join("src/lib.rs"));
    let sources = apply::sources(mutants, tree)?;
    let plain = libraries.each_ref().map(|path| fs::read_to_string(tree.join(path)));
    let mut refused = BTreeMap::new();
    loop {
        let viable: Vec<Mutant> =
            mutants.iter().filter(|mutant| !refused.contains_key(&mutant.name)).cloned().collect();
        let Switched { mut files, refused: unfit, places } = apply::apply(&viable, &sources);
        refused.extend(unfit);
        // A file whose mutants were all refused is restored.
        for (file, text) in &sources {
            files.entry(PathBuf::from(file)).or_insert_with(|| text.clone());
        }
        for (path, text) in libraries.iter().zip(&plain) {
            // Each crate gets the switch, with or without a mutant.
            let plain = text.as_ref().map_err(ToString::to_string)?;
            let text = files.entry(path.clone()).or_insert_with(|| plain.clone());
            text.push_str(apply::SWITCH_MODULE);
        }
        let mut originals = Vec::new();
        for (path, text) in &files {
            originals.push((path, fs::read(tree.join(path))?));
            write_switched(tree, path, text.as_bytes())?;
        }
        let built = runs::build(tree, &wanted.tests)?;
        // Tests read the words of the source, which are those without mutants.
        for (path, original) in originals {
            fs::write(tree.join(path), original)?;
        }
        let errors = match built {
            Ok(binaries) => return Ok((binaries, refused)),
            Err(errors) => errors,
        };
        let mut found = false;
        for error in &errors {
            for name in apply::at_fault(&places, error) {
                say(&format!("{:<9} {name}: {}", "unviable", error.text));
                found |= refused.insert(name, format!("does not compile: {}", error.text)).is_none();
            }
        }
        if !found {
            let texts: Vec<&str> = errors.iter().map(|error| error.text.as_str()).collect();
            return Err(format!("no mutant stands at these errors:\n{}", texts.join("\n")).into());
        }
    }
}

/// Copies all files in git, including uncommitted changes. Unchanged files keep their times, so a second build is
/// short.
fn copy_tree(tree: &Path) -> TaskResult<()> {
    let known = crate::output(&mut crate::command(
        "git",
        ["ls-files", "-z", "--cached", "--others", "--exclude-standard"],
    ))?;
    let mut wanted = BTreeSet::new();
    for name in known.split('\0').filter(|name| !name.is_empty()) {
        let from = root().join(name);
        if from.is_file() {
            write_if_other(&tree.join(name), &fs::read(&from)?)?;
            wanted.insert(tree.join(name));
        }
    }
    remove_others(tree, &wanted)
}

/// Removes files of an earlier copy that no longer exist.
fn remove_others(folder: &Path, wanted: &BTreeSet<PathBuf>) -> TaskResult<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() && !path.is_symlink() {
            if path.file_name().is_none_or(|name| name != "target") {
                remove_others(&path, wanted)?;
            }
        } else if !wanted.contains(&path) {
            fs::remove_file(&path)?;
        }
    }
    Ok(())
}

/// Writes a source with mutants into the tree. A source that an earlier run built keeps the time of that run, so that it
/// is not built again.
fn write_switched(tree: &Path, path: &Path, bytes: &[u8]) -> TaskResult<()> {
    let kept = tree.join("../switched").join(path);
    write_if_other(&kept, bytes)?;
    fs::write(tree.join(path), bytes)?;
    let time = fs::metadata(&kept)?.modified()?;
    Ok(fs::File::options().write(true).open(tree.join(path))?.set_modified(time)?)
}

fn write_if_other(path: &Path, bytes: &[u8]) -> TaskResult<()> {
    if fs::read(path).is_ok_and(|there| there == bytes) {
        return Ok(());
    }
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    Ok(fs::write(path, bytes)?)
}

fn sum_up(verdicts: &[(&Mutant, MutantVerdict)], refused: usize) -> TaskResult<()> {
    let survivors: Vec<_> = verdicts.iter().filter(|(_, verdict)| !verdict.is_caught()).collect();
    let (viable, missed) = (verdicts.len(), survivors.len());
    let spent: Duration = verdicts.iter().map(|(_, verdict)| verdict.took()).sum();
    say("");
    for (mutant, _) in &survivors {
        say(&format!("survived: {} ({}): {}", mutant.name, mutant.file, mutant.about));
    }
    #[expect(clippy::cast_precision_loss, reason = "counts of mutants are small")]
    let [viable_count, caught] = [viable.max(1) as f64, (viable - missed) as f64];
    let rate = caught * 100.0 / viable_count;
    say(&format!(
        "{viable} viable, {} caught, {missed} survived, {refused} not viable: {rate:.1} % caught, {:.1} s a mutant",
        viable - missed,
        spent.as_secs_f64() / viable_count
    ));
    if missed == 0 { Ok(()) } else { Err(format!("{missed} mutants survived").into()) }
}
