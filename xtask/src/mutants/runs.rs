//! Builds the tests of the copy, and runs them with one mutant active.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use super::apply::CompileError;
use super::list::Mutant;
use super::{CRATES, SWITCH};
use crate::{TaskResult, say};

/// A test binary and its duration.
#[derive(Debug)]
pub(super) struct TestBinary {
    package: &'static str,
    name: String,
    path: PathBuf,
    took: Duration,
    /// Tests that fail without a mutant.
    left_out: Vec<String>,
}

/// The verdict of the tests on a mutant.
#[derive(Debug)]
pub(super) enum MutantVerdict {
    /// A test failed: the binary, the tests, the time spent.
    Caught(String, String, Duration),
    /// No test failed.
    Survived(Duration),
}

impl MutantVerdict {
    pub(super) const fn is_caught(&self) -> bool {
        matches!(self, MutantVerdict::Caught(..))
    }

    pub(super) const fn word(&self) -> &'static str {
        if self.is_caught() { "caught" } else { "SURVIVED" }
    }

    pub(super) const fn took(&self) -> Duration {
        let (MutantVerdict::Caught(.., took) | MutantVerdict::Survived(took)) = self;
        *took
    }

    pub(super) fn detail(&self) -> String {
        let seconds = self.took().as_secs_f64();
        match self {
            MutantVerdict::Caught(binary, tests, _) => format!("{binary}: {tests} ({seconds:.1} s)"),
            MutantVerdict::Survived(_) => format!("every test passed ({seconds:.1} s)"),
        }
    }
}

/// The package of the core's tests.
const CORE_TESTS: &str = "interlingua-tests";

/// The package with the tests of a crate.
fn tests_of(name: &'static str) -> &'static str {
    if name == "interlingua" { CORE_TESTS } else { name }
}

/// The folder of a package, and the folder of its test files.
fn folders(tree: &Path, package: &str) -> (PathBuf, PathBuf) {
    let crates = tree.join("crates");
    if package == CORE_TESTS {
        let folder = crates.join("interlingua/tests");
        return (folder.clone(), folder);
    }
    let folder = crates.join(package);
    let tests = folder.join("tests");
    (folder, tests)
}

/// Builds the test binaries, all or those with these names. The inner error holds the compiler's errors.
pub(super) fn build(tree: &Path, names: &[String]) -> TaskResult<Result<Vec<TestBinary>, Vec<CompileError>>> {
    let mut binaries = Vec::new();
    for package in CRATES.map(tests_of) {
        let (_, tests) = folders(tree, package);
        let mut cargo = Command::new("cargo");
        cargo.current_dir(tree).args(["test", "--no-run", "--message-format", "short", "--package", package]);
        cargo.arg("--target-dir").arg(tree.join("../build"));
        let here: Vec<&String> = names
            .iter()
            .filter(|name| {
                tests.join(format!("{name}.rs")).is_file() || tests.join(name).join("main.rs").is_file()
            })
            .collect();
        if !names.is_empty() {
            if here.is_empty() && !names.iter().any(|name| name == "unit") {
                continue;
            }
            for name in &here {
                cargo.arg("--test").arg(name);
            }
            if names.iter().any(|name| name == "unit") {
                // The unit tests of the core are a test program of their own.
                cargo.args(if package == CORE_TESTS { &["--test", "units"][..] } else { &["--lib"] });
            }
        }
        crate::show(&cargo);
        let Output { status, stderr, .. } = cargo.output()?;
        let text = String::from_utf8_lossy(&stderr);
        if !status.success() {
            let errors: Vec<CompileError> = text.lines().filter_map(compile_error).collect();
            if errors.is_empty() {
                return Err(text.into_owned().into());
            }
            return Ok(Err(errors));
        }
        for line in text.lines().filter_map(|line| line.trim().strip_prefix("Executable ")) {
            let Some((about, path)) = line.trim_end_matches(')').rsplit_once(" (") else { continue };
            let name = about.trim_end_matches(".rs").trim_end_matches("/main");
            let is_unit = about.starts_with("unittests") || about.ends_with("src/lib.rs");
            let name = if is_unit { "unit" } else { name.rsplit('/').next().unwrap_or(name) };
            binaries.push(TestBinary {
                package,
                name: name.to_owned(),
                path: tree.join(path),
                took: Duration::ZERO,
                left_out: Vec::new(),
            });
        }
    }
    Ok(Ok(binaries))
}

/// `file:line:column: error[E0308]: …`
fn compile_error(line: &str) -> Option<CompileError> {
    let (place, _) = line.split_once(": error")?;
    let mut parts = place.splitn(3, ':');
    let (file, number) = (parts.next()?, parts.next()?.parse().ok()?);
    Some(CompileError { file: PathBuf::from(file), line: number, text: line.to_owned() })
}

/// Runs each test binary without a mutant: a binary that fails then is not used. The fastest comes first.
pub(super) fn baseline(binaries: Vec<TestBinary>, tree: &Path) -> TaskResult<Vec<TestBinary>> {
    let mut usable = Vec::new();
    for mut binary in binaries {
        let mut passes = false;
        // The second run is without the tests that failed in the first.
        for _ in 0..2 {
            let begun = Instant::now();
            let run = start(&binary, tree, "", Duration::from_secs(1_800))?;
            binary.took = begun.elapsed();
            passes = run.status.success();
            let names = failed_tests(&run);
            if passes || names.is_empty() {
                break;
            }
            say(&format!("left out: {} {}: {}", binary.package, binary.name, failed(&run)));
            binary.left_out.extend(names);
        }
        if passes {
            say(&format!("{:>7.1} s  {} {}", binary.took.as_secs_f64(), binary.package, binary.name));
            usable.push(binary);
        } else {
            say(&format!("left out: {} {} fails without a mutant", binary.package, binary.name));
        }
    }
    usable.sort_by_key(|binary| binary.took);
    if usable.is_empty() { Err("no test binary passes".into()) } else { Ok(usable) }
}

/// Runs the test binaries with this mutant active until one fails or takes far too long.
pub(super) fn judge(mutant: &Mutant, binaries: &[TestBinary], tree: &Path) -> TaskResult<MutantVerdict> {
    let begun = Instant::now();
    // Only tests of crates that depend on the mutated crate can detect it.
    let reaches = |package: &str| {
        mutant.file.starts_with(&format!("crates/{package}/"))
            || mutant.file.starts_with("crates/interlingua/")
            || package == "interlingua-cli"
    };
    for binary in binaries.iter().filter(|binary| reaches(binary.package)) {
        let limit = (binary.took * 5).max(Duration::from_secs(30));
        let run = start(binary, tree, &mutant.name, limit)?;
        if !run.status.success() {
            return Ok(MutantVerdict::Caught(binary.name.clone(), failed(&run), begun.elapsed()));
        }
    }
    Ok(MutantVerdict::Survived(begun.elapsed()))
}

fn start(binary: &TestBinary, tree: &Path, mutant: &str, limit: Duration) -> TaskResult<Output> {
    let mut run = Command::new("timeout");
    run.args(["--kill-after", "5", &limit.as_secs().to_string()]).arg(&binary.path).arg("--quiet");
    if !binary.left_out.is_empty() {
        run.arg("--exact");
    }
    for name in &binary.left_out {
        run.args(["--skip", name]);
    }
    run.current_dir(folders(tree, binary.package).0).env(SWITCH, mutant);
    Ok(run.output()?)
}

/// The first few failed tests.
fn failed(run: &Output) -> String {
    if run.status.code() == Some(124) {
        return "never ended".to_owned();
    }
    let mut names = failed_tests(run);
    let more = names.len().saturating_sub(2);
    names.truncate(2);
    match (names.is_empty(), more) {
        (true, _) => run.status.to_string(),
        (_, 0) => names.join(", "),
        _ => format!("{} and {more} more", names.join(", ")),
    }
}

fn failed_tests(run: &Output) -> Vec<String> {
    let text = String::from_utf8_lossy(&run.stdout);
    let list = text.rsplit("\nfailures:\n").next().unwrap_or_default();
    list.lines().map_while(|line| line.strip_prefix("    ")).map(str::to_owned).collect()
}
