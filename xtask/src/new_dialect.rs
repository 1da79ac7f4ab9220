//! `cargo xtask new-dialect NAME`: creates and registers the skeleton of a dialect.
//!
//! The skeleton reads and writes messages with text, reasoning, calls and results, and passes the laws on its sample, so
//! that its author changes member names in working code. The templates are in `templates/`, one folder per plane, with
//! `@NAME@` in place of the dialect's name. This file determines the paths. Of the existing files it changes only the
//! registry, the list of modules of the family and the list of modules of the tests.

use std::fs;
use std::path::{Path, PathBuf};

use interlingua::dialects::{Dialect, Plane};

use crate::{TaskResult, command, root, run as run_command, say};

/// The core; the paths below are relative to this folder.
const CORE: &str = "crates/interlingua";
/// The folder of all dialects; its `mod.rs` holds the registry.
const DIALECTS: &str = "src/dialects";
/// The folder of all fixtures: a dialect has the same folder here as below [`DIALECTS`].
const FIXTURES: &str = "fixtures";
/// The folder with a test file for each dialect; its `main.rs` lists them.
const TESTS: &str = "tests/dialects";

/// The source files of a log dialect.
const LOG_SOURCES: &[(&str, &str)] = &[
    ("mod.rs", include_str!("../templates/log/mod.rs.in")),
    ("read.rs", include_str!("../templates/log/read.rs.in")),
    ("write.rs", include_str!("../templates/log/write.rs.in")),
    ("support.rs", include_str!("../templates/log/support.rs.in")),
    ("README.md", include_str!("../templates/log/README.md.in")),
];

/// The fixtures of a log dialect.
const LOG_FIXTURES: &[(&str, &str)] = &[
    ("README.md", include_str!("../templates/log/fixtures/README.md.in")),
    ("sample.jsonl", include_str!("../templates/log/fixtures/sample.jsonl.in")),
];

/// The test file of a log dialect.
const LOG_TEST: &str = include_str!("../templates/log/test.rs.in");

/// Writes the skeleton and prints the next steps.
pub(crate) fn run(arguments: &[String]) -> TaskResult<()> {
    let wanted = Wanted::parse(arguments)?;
    if Dialect::named(&wanted.name).is_some() {
        return Err(format!("there is a dialect `{}` already", wanted.name).into());
    }
    write(&root().join(CORE), &wanted)?;
    let folder = wanted.folder();
    say(&format!("wrote {CORE}/{DIALECTS}/{folder}/ and registered `{}`", wanted.name));
    say(&format!(
        "next: `cargo xtask bless`, then put real files into {CORE}/{FIXTURES}/{folder}/ and read them; docs/adding-a-dialect.md says how"
    ));
    Ok(())
}

/// The parsed arguments.
struct Wanted {
    /// `claude-code`
    name: String,
    /// The module of the dialect's family.
    family: String,
    sources: &'static [(&'static str, &'static str)],
    fixtures: &'static [(&'static str, &'static str)],
}

impl Wanted {
    fn parse(arguments: &[String]) -> TaskResult<Self> {
        let (mut name, mut family, mut plane) = (None, "agents", Plane::Log.word());
        let mut words = arguments.iter().map(String::as_str);
        while let Some(word) = words.next() {
            match word {
                "--family" => family = words.next().ok_or("`--family` needs a name")?,
                "--plane" => plane = words.next().ok_or("`--plane` needs a word")?,
                _ if word.starts_with('-') => {
                    return Err(format!("there is no flag `{word}`\n{USAGE}").into());
                }
                _ if name.is_some() => return Err(format!("one name at a time\n{USAGE}").into()),
                _ => name = Some(word),
            }
        }
        let name = name.ok_or(format!("expected a name\n{USAGE}"))?;
        let (sources, fixtures) = match plane {
            "log" => (LOG_SOURCES, LOG_FIXTURES),
            "wire" | "live" => return Err(format!("no template yet for plane `{plane}`").into()),
            _ => return Err(format!("there is no plane `{plane}`\n{USAGE}").into()),
        };
        check_word(name, '-')?;
        check_word(family, '_')?;
        Ok(Self { name: name.to_owned(), family: family.to_owned(), sources, fixtures })
    }

    fn module(&self) -> String {
        self.name.replace('-', "_")
    }

    /// The folder of the dialect below [`DIALECTS`] and below [`FIXTURES`].
    fn folder(&self) -> String {
        format!("{}/{}", self.family, self.module())
    }
}

const USAGE: &str = "hint: `cargo xtask new-dialect NAME [--family FAMILY] [--plane log|wire|live]`";

/// Names consist of lower-case letters and digits, with `joint` between words: they become modules, folders and flags.
fn check_word(word: &str, joint: char) -> TaskResult<()> {
    let is_part = |part: &str| {
        !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
    };
    if !word.split(joint).all(is_part) || !word.starts_with(|first: char| first.is_ascii_lowercase()) {
        return Err(format!(
            "`{word}` cannot be a name\nhint: small letters and digits, `{joint}` between words"
        )
        .into());
    }
    if KEYWORDS.contains(&word) {
        return Err(format!("`{word}` cannot be a name: it is a word of Rust").into());
    }
    Ok(())
}

/// Names that a module cannot have. `super` and `self` would even compile to something else.
#[rustfmt::skip]
const KEYWORDS: &[&str] = &[
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "crate", "do", "dyn", "else",
    "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let", "loop", "macro", "match", "mod",
    "move", "mut", "override", "priv", "pub", "ref", "return", "self", "static", "struct", "super", "trait", "true",
    "try", "type", "typeof", "unsafe", "unsized", "use", "virtual", "where", "while", "yield",
];

/// Reads and generates all files before writing any, so that a failure leaves the folder unchanged.
fn write(core: &Path, wanted: &Wanted) -> TaskResult<()> {
    let Wanted { name, family, sources, fixtures } = wanted;
    let module = wanted.module();
    let dialects = core.join(DIALECTS);
    let folder = dialects.join(wanted.folder());
    let samples = core.join(FIXTURES).join(wanted.folder());
    let test = core.join(TESTS).join(format!("{module}.rs"));
    if let Some(taken) = [&folder, &samples, &test].into_iter().find(|path| path.exists()) {
        return Err(format!("`{}` is there already", taken.display()).into());
    }
    let fill = |text: &str| text.replace("@NAME@", name);
    let mut made: Vec<(PathBuf, String)> = Vec::new();
    for (folder, files) in [(&folder, sources), (&samples, fixtures)] {
        made.extend(files.iter().map(|(path, text)| (folder.join(path), fill(text))));
    }
    let tests = core.join(TESTS).join("main.rs");
    made.push((tests.clone(), add_module(&read(&tests)?, "mod", &module)?));
    made.push((test.clone(), fill(LOG_TEST)));
    let siblings = dialects.join(family).join("mod.rs");
    let registry = dialects.join("mod.rs");
    let families = if siblings.exists() {
        made.push((siblings.clone(), add_module(&read(&siblings)?, "pub mod", &module)?));
        read(&registry)?
    } else {
        made.push((siblings, format!("//! The dialects of the family `{family}`.\n\npub mod {module};\n")));
        add_module(&read(&registry)?, "pub mod", family)?
    };
    made.push((registry, register(&families, &format!("&{family}::{module}::DIALECT,"))?));
    for (path, text) in made {
        fs::create_dir_all(path.parent().unwrap_or(&dialects))?;
        fs::write(&path, text).map_err(|error| format!("`{}`: {error}", path.display()))?;
    }
    // The width of some lines depends on the name in them.
    let sources = [folder.join("mod.rs"), test];
    run_command(command("rustfmt", ["--edition=2024"]).args(sources))
}

fn read(path: &Path) -> TaskResult<String> {
    fs::read_to_string(path).map_err(|error| format!("`{}`: {error}", path.display()).into())
}

/// Adds a module to the sorted modules of a file. `keyword` is `mod` or `pub mod`.
fn add_module(text: &str, keyword: &str, module: &str) -> TaskResult<String> {
    let name_in = |line: &str| {
        let rest = line.strip_prefix("pub").and_then(|rest| rest.split_once("mod ")).map(|(_, rest)| rest);
        Some(rest.or_else(|| line.strip_prefix("mod "))?.strip_suffix(';')?.to_owned())
    };
    // A module with an attribute is outside the sorted list.
    let attribute = text.lines().enumerate().filter(|(_, line)| line.starts_with("#[path")).last();
    let begin = attribute.map_or(0, |(at, _)| at + 2);
    let lines = text.lines().enumerate().skip(begin);
    let modules: Vec<(usize, String)> = lines.filter_map(|(at, line)| Some((at, name_in(line)?))).collect();
    let after = modules.iter().find(|(_, name)| name.as_str() > module).map(|(at, _)| *at);
    let at = after
        .or(modules.last().map(|(at, _)| at + 1))
        .ok_or("no module is declared where one is to be added")?;
    Ok(insert(text, at, &format!("{keyword} {module};")))
}

/// Adds a line at the end of the registry.
fn register(text: &str, entry: &str) -> TaskResult<String> {
    let begin = text.lines().position(|line| line.starts_with("pub static DIALECTS"));
    let end = begin.and_then(|begin| Some(begin + text.lines().skip(begin).position(|line| line == "];")?));
    Ok(insert(text, end.ok_or("there is no `DIALECTS` with its end")?, &format!("    {entry}")))
}

/// Inserts a line before the line with that number.
fn insert(text: &str, at: usize, line: &str) -> String {
    let mut lines: Vec<&str> = text.lines().collect();
    lines.insert(at, line);
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(words: &str) -> TaskResult<Wanted> {
        Wanted::parse(&words.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    fn refused(words: &str) -> String {
        wanted(words).err().map(|error| error.to_string()).unwrap_or_default()
    }

    #[test]
    fn a_name_is_enough() {
        let Wanted { name, family, sources, fixtures } = wanted("some-agent").expect("complete");
        assert_eq!((name.as_str(), family.as_str()), ("some-agent", "agents"));
        assert_eq!((sources.len(), fixtures.len()), (LOG_SOURCES.len(), LOG_FIXTURES.len()));
    }

    #[test]
    fn what_cannot_be_made_is_refused_with_a_reason() {
        assert_eq!(refused("x --plane wire"), "no template yet for plane `wire`");
        assert_eq!(refused("x --plane live"), "no template yet for plane `live`");
        for (words, why) in [
            ("", "expected a name"),
            ("x --plane side", "there is no plane `side`"),
            ("x y", "one name at a time"),
            ("x --famly y", "there is no flag `--famly`"),
            ("../x", "`../x` cannot be a name"),
            ("Pi", "`Pi` cannot be a name"),
            ("2x", "`2x` cannot be a name"),
            ("a--b", "`a--b` cannot be a name"),
            ("match", "`match` cannot be a name"),
            ("x --family a-b", "`a-b` cannot be a name"),
        ] {
            assert!(refused(words).starts_with(why), "{words}: {}", refused(words));
        }
    }

    #[test]
    fn modules_stay_sorted_and_the_registry_grows_at_its_end() {
        let text = "//! Some.\n\npub(crate) mod blocks;\npub mod claude;\n";
        assert_eq!(
            add_module(text, "pub mod", "bun").expect("modules"),
            "//! Some.\n\npub(crate) mod blocks;\npub mod bun;\npub mod claude;\n"
        );
        assert_eq!(add_module(text, "pub mod", "pi").expect("modules"), format!("{text}pub mod pi;\n"));
        let text = "#[path = \"../support/mod.rs\"]\nmod support;\n\nmod amp;\nmod wire;\n";
        let more = text.replace("mod wire;", "mod pi;\nmod wire;");
        assert_eq!(add_module(text, "mod", "pi").expect("modules"), more);
        let text = "const X: &[u8] = &[\n];\npub static DIALECTS: &[&Dialect] = &[\n    &a::DIALECT,\n];\n";
        let more = text.replace("&a::DIALECT,\n", "&a::DIALECT,\n    &b::c::DIALECT,\n");
        assert_eq!(register(text, "&b::c::DIALECT,").expect("a registry"), more);
    }

    #[test]
    fn a_skeleton_has_all_its_files_and_is_never_written_over() {
        let folder = std::env::temp_dir().join(format!("interlingua-new-dialect-{}", std::process::id()));
        let dialects = folder.join(DIALECTS);
        fs::create_dir_all(&dialects).expect("writable");
        fs::copy(root().join(CORE).join(DIALECTS).join("mod.rs"), dialects.join("mod.rs"))
            .expect("a registry");
        fs::create_dir_all(folder.join(TESTS)).expect("writable");
        let tests = "mod pi;\nmod wire;\n";
        fs::write(folder.join(TESTS).join("main.rs"), tests).expect("writable");
        for name in ["some-agent", "another"] {
            write(&folder, &wanted(&format!("{name} --family zoo")).expect("complete")).expect("made");
        }
        let again = write(&folder, &wanted("another --family zoo").expect("complete"));
        let registry = read(&dialects.join("mod.rs")).expect("there");
        let siblings = read(&dialects.join("zoo/mod.rs")).expect("there");
        let sample = read(&folder.join(FIXTURES).join("zoo/some_agent/sample.jsonl")).expect("there");
        let tests = read(&folder.join(TESTS).join("main.rs")).expect("there");
        let test = read(&folder.join(TESTS).join("some_agent.rs")).expect("there");
        fs::remove_dir_all(&folder).expect("ours");
        assert_eq!(tests, "mod another;\nmod pi;\nmod some_agent;\nmod wire;\n");
        assert!(test.contains("logs of `some-agent`"), "{test}");
        assert!(again.is_err_and(|error| error.to_string().ends_with("is there already")));
        assert_eq!(registry.matches("pub mod zoo;\n").count(), 1, "{registry}");
        let entries = "    &zoo::some_agent::DIALECT,\n    &zoo::another::DIALECT,\n];\n";
        assert!(registry.contains(entries), "{registry}");
        assert!(siblings.ends_with("\n\npub mod another;\npub mod some_agent;\n"), "{siblings}");
        assert!(sample.contains("\"agent\":\"some-agent\""), "{sample}");
    }

    #[test]
    #[ignore = "compiles the core anew; CI runs it"]
    fn a_skeleton_is_formatted_compiles_without_warnings_and_keeps_the_laws() {
        let target =
            std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
        let (scratch, target) = (target.join("skeleton/source"), target.join("skeleton"));
        let _ = fs::remove_dir_all(&scratch);
        let parts = [
            "Cargo.toml",
            "Cargo.lock",
            "clippy.toml",
            "rustfmt.toml",
            "crates",
            "docs",
            "examples",
            "xtask",
        ];
        for name in parts {
            copy(&root().join(name), &scratch.join(name));
        }
        write(&scratch.join(CORE), &wanted("some-agent --family zoo").expect("complete")).expect("made");
        for words in [
            "fmt --check --package interlingua --package interlingua-tests",
            "clippy --package interlingua --package interlingua-tests --all-targets -- --deny warnings",
            // One dialect needs little time, so the core is compiled without optimisation.
            "test --config profile.test.package.interlingua.opt-level=0 --package interlingua-tests --test laws",
            "test --config profile.test.package.interlingua.opt-level=0 --package interlingua-tests --test dialects -- \
             some_agent detection",
        ] {
            let mut cargo = command("cargo", words.split(' '));
            cargo.current_dir(&scratch).env("CARGO_TARGET_DIR", &target);
            // Conversions between other dialects have their own tests.
            run_command(cargo.env("INTERLINGUA_ONLY", "some-agent")).expect("passes");
        }
    }

    fn copy(from: &Path, to: &Path) {
        if !from.is_dir() {
            fs::create_dir_all(to.parent().expect("in a folder")).expect("writable");
            fs::copy(from, to).expect("readable");
            return;
        }
        for entry in fs::read_dir(from).expect("a folder") {
            let entry = entry.expect("listed");
            copy(&entry.path(), &to.join(entry.file_name()));
        }
    }
}
