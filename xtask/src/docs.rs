//! Documents made from the code: the dialect matrix in the README and the command-line reference.
//!
//! Generated text stands between `<!-- name:begin -->` and `<!-- name:end -->`, or fills a whole file. Nobody edits
//! it; `cargo xtask docs --check` fails when it is not what the code says.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use interlingua::dialects::{DIALECTS, Dialect, Plane, RoleSpec};

use crate::{Outcome, command, output, root};

/// Writes the generated documents; with `--check` only compares them.
pub(crate) fn run(arguments: &[String]) -> Outcome<()> {
    let check = arguments.iter().any(|argument| argument == "--check");
    let readme = Path::new("README.md");
    let reference = Path::new("docs/cli-reference.md");
    let wanted = [(readme, insert(&read(readme)?, "matrix", &matrix())?), (reference, cli_reference()?)];
    for (path, text) in wanted {
        if read(path).ok().as_deref() == Some(&text) {
            continue;
        }
        if check {
            return Err(
                format!("`{}` is not what the code says\nhint: `cargo xtask docs`", path.display()).into()
            );
        }
        fs::write(root().join(path), text)?;
    }
    Ok(())
}

/// Puts generated text between the markers of a document.
pub(crate) fn between(path: &Path, name: &str, text: &str) -> Outcome<()> {
    let document = insert(&read(path)?, name, text)?;
    Ok(fs::write(root().join(path), document)?)
}

fn read(path: &Path) -> Outcome<String> {
    fs::read_to_string(root().join(path)).map_err(|error| format!("`{}`: {error}", path.display()).into())
}

fn insert(document: &str, name: &str, text: &str) -> Outcome<String> {
    let (begin, end) = (format!("<!-- {name}:begin -->"), format!("<!-- {name}:end -->"));
    let parts =
        document.split_once(&begin).and_then(|(before, rest)| Some((before, rest.split_once(&end)?.1)));
    let (before, after) = parts.ok_or_else(|| format!("no `{begin}` with its end"))?;
    Ok(format!("{before}{begin}\n{}\n{end}{after}", text.trim_end()))
}

/// The registry as a table.
fn matrix() -> String {
    let mut table =
        String::from("| dialect | plane | reads | writes | what it is |\n|---|---|---|---|---|\n");
    let mut dialects: Vec<&Dialect> = DIALECTS.to_vec();
    dialects.sort_by_key(|dialect| match dialect.plane {
        Plane::Wire => 0,
        Plane::Live => 1,
        Plane::Log => 2,
        Plane::Ours => 3,
    });
    for dialect in dialects {
        let Dialect { name, plane, about, detected_by: _, roles, sniff: _ } = dialect;
        let list = |can: &dyn Fn(&RoleSpec) -> bool| {
            let words: Vec<&str> =
                roles.iter().filter(|spec| can(spec)).map(|spec| spec.role.word()).collect();
            if words.is_empty() { "–".to_owned() } else { words.join(", ") }
        };
        let (reads, writes) = (list(&|spec| spec.read.is_some()), list(&|spec| spec.write.is_some()));
        let _ = writeln!(
            table,
            "| `{name}` | {} | {reads} | {writes} | {} |",
            plane.word(),
            about.replace('|', "\\|")
        );
    }
    table
}

/// What the program says about itself. HOOK: once `interlingua_cli::command()` exists, walk its subcommands instead of
/// asking the built program; the text stays the same because clap renders both.
fn cli_reference() -> Outcome<String> {
    let help = |arguments: &[&str]| {
        let words = ["run", "--quiet", "--package", "interlingua-cli", "--"];
        output(&mut command("cargo", words.iter().chain(arguments)))
    };
    let mut text = String::from(
        "# The command\n\nMade by `cargo xtask docs` from what the program says about itself; do not edit.\n",
    );
    let overview = help(&["--help"])?;
    let _ = write!(text, "\n## `interlingua`\n\n```text\n{}\n```\n", overview.trim_end());
    for name in subcommands(&overview) {
        let _ = write!(
            text,
            "\n## `interlingua {name}`\n\n```text\n{}\n```\n",
            help(&[name, "--help"])?.trim_end()
        );
    }
    Ok(text)
}

/// The names under `Commands:` of a help text.
fn subcommands(help: &str) -> impl Iterator<Item = &str> {
    help.lines()
        .skip_while(|line| !line.starts_with("Commands:"))
        .skip(1)
        .take_while(|line| line.starts_with(' '))
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help")
}
