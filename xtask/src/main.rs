//! The development tasks: `cargo xtask check`, `law`, `bless`, `bench`, `instructions`, `fuzz`, `nightly`, `docs`,
//! `house`, `record-fixtures`, `new-dialect`, `mutants`, `detect`, `try`.
//!
//! Each task prints the commands it runs, so that they can be run by hand.

mod detect;
mod docs;
mod house;
mod instructions;
mod models;
mod mutants;
mod new_dialect;
mod nightly;
mod record_fixtures;
mod trial;

use std::error::Error;
use std::ffi::OsStr;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

type TaskResult<T> = Result<T, Box<dyn Error>>;

/// A task: name, description and function.
type Task = (&'static str, &'static str, fn(&[String]) -> TaskResult<()>);

const TASKS: &[Task] = &[
    ("check", "everything that must hold before a commit", check),
    ("law", "the laws, the books, the detection and the goldens of one dialect  NAME", law),
    ("bless", "write goldens, cases and generated documents anew, and print the changes of goldens", bless),
    (
        "bench",
        "measure speed and write docs/performance.md  [--smoke: each once, write nothing], or measure the gateway  gateway [--bin PROGRAM] [--seconds NUMBER] [--only WAY,…] [--smoke] [--count [FOLDER]], or the list and the search  library [--bin PROGRAM] [--megabytes NUMBER] [--smoke]",
        bench,
    ),
    (
        "instructions",
        "count instructions with callgrind and compare them  [--bless: write the figures]",
        instructions::compare,
    ),
    ("fuzz", "run each fuzz target  [SECONDS, default 10]", fuzz),
    (
        "nightly",
        "the suites that take too long for CI  [--list] [--only NAME,…] [--traffic PATH]",
        nightly::run_suites,
    ),
    (
        "docs",
        "write the generated documents and the table of backends  [--check: only see that they are fresh]",
        docs::run,
    ),
    ("house", "count code lines; fail on a type name with two meanings and on files too long", house::run),
    ("record-fixtures", "run the real agents against a scripted model", record_fixtures::run),
    (
        "new-dialect",
        "write a skeleton that passes  NAME [--family FAMILY] [--plane log|wire|live]",
        new_dialect::run,
    ),
    (
        "mutants",
        "see which mistakes of meaning the tests catch  [--list] [--only NAME,…] [--tests NAME,…] [--every N] [--from K]",
        mutants::run,
    ),
    (
        "detect",
        "the detected dialect of each file, or the files that another build detects differently  FOLDER [--with PROGRAM]",
        detect::run,
    ),
    ("try", "see what a dialect makes of real files  NAME FOLDER", trial::run),
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let task = arguments.first().and_then(|name| TASKS.iter().find(|(known, ..)| known == name));
    let Some((.., task)) = task else {
        usage();
        return ExitCode::from(2);
    };
    match task(&arguments[1..]) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&format!("error: {error}"));
            ExitCode::FAILURE
        }
    }
}

fn usage() {
    say("usage: cargo xtask TASK\n");
    for (name, what, _) in TASKS {
        say(&format!("  {name:<16} {what}"));
    }
}

fn check(_: &[String]) -> TaskResult<()> {
    cargo(["fmt", "--all", "--check"])?;
    cargo(["clippy", "--workspace", "--all-targets", "--", "--deny", "warnings"])?;
    cargo(["test", "--workspace"])?;
    run(command("cargo", ["doc", "--workspace", "--no-deps"]).env("RUSTDOCFLAGS", "--deny warnings"))?;
    docs::run(&["--check".to_owned()])
}

/// The test programs that find a dialect through the registry, as source and as target.
const LAW_TESTS: [&str; 3] = ["laws", "dialects", "golden"];

fn law(arguments: &[String]) -> TaskResult<()> {
    let [name] = arguments else { return Err("usage: cargo xtask law NAME".into()) };
    if interlingua::dialects::Dialect::named(name).is_none() {
        return Err(format!("no dialect is called `{name}`; `interlingua dialects` lists them").into());
    }
    let tests = LAW_TESTS.iter().flat_map(|test| ["--test", test]);
    let mut test = command("cargo", ["test", "--package", "interlingua-tests", "--no-fail-fast"]);
    run(test.args(tests).env("INTERLINGUA_ONLY", name))
}

fn bless(_: &[String]) -> TaskResult<()> {
    let golden = ["test", "--package", "interlingua-tests", "--test", "golden"];
    run(command("cargo", golden).env("INTERLINGUA_BLESS", "1"))?;
    let cases = ["test", "--package", "interlingua-tests", "--test", "dialects", "cases"];
    run(command("cargo", cases).env("INTERLINGUA_BLESS", "1"))?;
    let words = ["test", "--package", "interlingua-tests", "--test", "meaning", "tables"];
    run(command("cargo", words).env("INTERLINGUA_BLESS", "1"))?;
    let shown = ["test", "--package", "interlingua-cli", "--test", "cli", "show::"];
    run(command("cargo", shown).env("INTERLINGUA_BLESS", "1"))?;
    docs::run(&[])
}

/// Three programs: two measure time, the last counts allocations, which would distort the time.
fn bench(arguments: &[String]) -> TaskResult<()> {
    if let Some((first @ ("gateway" | "daemon" | "library"), rest)) =
        arguments.split_first().map(|(first, rest)| (first.as_str(), rest))
    {
        return bench_command(first, rest);
    }
    let smoke = arguments.iter().any(|argument| argument == "--smoke");
    let target = root().join("target/bench");
    let mut tables = String::new();
    for program in ["interlingua-bench", "live", "allocations"] {
        let build = ["run", "--release", "--manifest-path", "benches/Cargo.toml", "--bin", program];
        let mut bench = command("cargo", build);
        bench.arg("--target-dir").arg(&target).arg("--").args(arguments);
        if smoke {
            run(&mut bench)?;
        } else {
            tables += &output(&mut bench)?;
        }
    }
    if smoke {
        return Ok(());
    }
    say(&tables);
    docs::between(Path::new("docs/performance.md"), "bench", &tables)
}

/// Measures the gateway, the daemon or the library of a program, by default of a release build of this source, and prints a table.
fn bench_command(part: &str, arguments: &[String]) -> TaskResult<()> {
    let mut own = Vec::new();
    if !arguments.iter().any(|argument| argument == "--bin") {
        cargo(["build", "--release", "--package", "interlingua-cli"])?;
        let target =
            std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
        let program = format!("release/interlingua{}", std::env::consts::EXE_SUFFIX);
        own.extend(["--bin".into(), target.join(program).into_os_string()]);
    }
    let manifest = format!("benches/{part}/Cargo.toml");
    let mut bench = command("cargo", ["run", "--release", "--manifest-path", &manifest]);
    run(bench.arg("--target-dir").arg(root().join("target/bench")).arg("--").args(own).args(arguments))
}

/// Runs each target for some seconds, on stable: guided by coverage, without sanitizers, which safe code hardly needs.
/// The corpus is kept in `fuzz/corpus`; the fixtures and the probes of records are its seeds.
fn fuzz(arguments: &[String]) -> TaskResult<()> {
    let seconds: u64 = arguments.first().map_or(Ok(10), |text| text.parse())?;
    let version = output(&mut command("rustc", ["-vV"]))?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: ")).ok_or("rustc names no host")?;
    let coverage = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
                    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
                    -Cllvm-args=-sanitizer-coverage-pc-table -Cllvm-args=-sanitizer-coverage-trace-compares \
                    -Ccodegen-units=1 --cfg fuzzing";
    let target = root().join("target/fuzz");
    for name in ["tape", "sse", "elements", "pipe", "cbor", "signed"] {
        let corpus = root().join("fuzz/corpus").join(name);
        std::fs::create_dir_all(&corpus)?;
        // An explicit target keeps the coverage counters out of build scripts.
        let build =
            ["run", "--release", "--manifest-path", "fuzz/Cargo.toml", "--target", host, "--bin", name];
        let mut fuzz = command("cargo", build);
        fuzz.arg("--target-dir").arg(&target).arg("--").arg(corpus);
        fuzz.args(seeds()).arg(format!("-max_total_time={seconds}"));
        fuzz.args(["-max_len=4096", "-timeout=10", "-artifact_prefix=fuzz/artifacts/", "-verbosity=0"]);
        std::fs::create_dir_all(root().join("fuzz/artifacts"))?;
        run(fuzz.env("RUSTFLAGS", coverage))?;
    }
    Ok(())
}

/// The folders with fixtures, and the folder with the indented records of `interlingua-record`.
fn seeds() -> Vec<PathBuf> {
    let mut folders = vec![
        root().join("crates/interlingua/fixtures"),
        root().join("crates/interlingua-record/tests/probes"),
    ];
    let mut seeds = Vec::new();
    while let Some(folder) = folders.pop() {
        let inner = std::fs::read_dir(&folder).into_iter().flatten().flatten().map(|entry| entry.path());
        folders.extend(inner.filter(|path| path.is_dir()));
        seeds.push(folder);
    }
    seeds
}

// ---- running commands ------------------------------------------------------------------------------------------------

/// The root of the repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new(".")).to_owned()
}

fn command<S: AsRef<OsStr>>(program: &str, arguments: impl IntoIterator<Item = S>) -> Command {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(root());
    command
}

fn cargo<const N: usize>(arguments: [&str; N]) -> TaskResult<()> {
    run(&mut command("cargo", arguments))
}

/// Runs a command and returns an error if it fails.
fn run(command: &mut Command) -> TaskResult<()> {
    show(command);
    let status = command.status()?;
    if status.success() { Ok(()) } else { Err(format!("{status}: {command:?}").into()) }
}

/// Runs a command and returns its standard output.
fn output(command: &mut Command) -> TaskResult<String> {
    show(command);
    let output = command.stderr(std::process::Stdio::inherit()).output()?;
    if !output.status.success() {
        return Err(format!("{}: {command:?}", output.status).into());
    }
    Ok(String::from_utf8(output.stdout)?)
}

fn show(command: &Command) {
    let words: Vec<_> = command.get_args().map(OsStr::to_string_lossy).collect();
    say(&format!("$ {} {}", command.get_program().to_string_lossy(), words.join(" ")));
}

/// Prints to standard error; a failure cannot be reported.
fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}
