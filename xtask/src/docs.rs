//! Files generated from the code and the registry of models: the dialect matrix in the README, the support tables of each
//! dialect, the command-line reference, and the core's table of backends.
//!
//! Generated text is between `<!-- name:begin -->` and `<!-- name:end -->`, or fills a whole file. It is not edited by
//! hand; `cargo xtask docs --check` fails if it differs from the generated text.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use interlingua::dialects::{DIALECTS, Dialect, Plane, RoleSpec};
use interlingua::ledger::Reason;
use interlingua::model::{Field, Support, SupportTable};
use interlingua_models::Registry;

use crate::{TaskResult, models, root};

/// Writes the generated documents; with `--check` only compares them.
pub(crate) fn run(arguments: &[String]) -> TaskResult<()> {
    let check = arguments.iter().any(|argument| argument == "--check");
    let readme = PathBuf::from("README.md");
    let matrix = insert(&read(&readme)?, "matrix", &matrix())?;
    // The registry is read from its file, because the embedded copy is that of the last build.
    let registry = Registry::parse(&read(Path::new(models::REGISTRY))?)?;
    let mut wanted = vec![
        (readme, matrix),
        (PathBuf::from("docs/cli-reference.md"), cli_reference()),
        (PathBuf::from(models::TABLE), models::table(&registry)?),
    ];
    for dialect in DIALECTS.iter().filter(|dialect| dialect.roles.iter().any(|spec| spec.write.is_some())) {
        let folder = Path::new("crates/interlingua/src/dialects").join(dialect.folder());
        let path = folder.join("README.md");
        let text = insert(&read(&path)?, "says", &support(dialect))?;
        wanted.push((path, text));
    }
    for (path, text) in &wanted {
        if read(path).ok().as_deref() == Some(text) {
            continue;
        }
        if check {
            return Err(format!("`{}` is not up to date\nhint: `cargo xtask docs`", path.display()).into());
        }
        fs::write(root().join(path), text)?;
    }
    Ok(())
}

/// Puts generated text between the markers of a document.
pub(crate) fn between(path: &Path, name: &str, text: &str) -> TaskResult<()> {
    let document = insert(&read(path)?, name, text)?;
    Ok(fs::write(root().join(path), document)?)
}

fn read(path: &Path) -> TaskResult<String> {
    fs::read_to_string(root().join(path)).map_err(|error| format!("`{}`: {error}", path.display()).into())
}

fn insert(document: &str, name: &str, text: &str) -> TaskResult<String> {
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
        Plane::Export => 4,
    });
    for dialect in dialects {
        let Dialect {
            name,
            module: _,
            plane,
            about,
            detected_by: _,
            flavour_of: _,
            issuer: _,
            lineage: _,
            roles,
            reads_more: _,
            sniff: _,
        } = dialect;
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

/// The support tables of a dialect, one for all roles that share it.
fn support(dialect: &Dialect) -> String {
    let mut tables: Vec<(Vec<&str>, SupportTable)> = Vec::new();
    for spec in dialect.roles {
        let Some(write) = &spec.write else { continue };
        let same =
            |support: SupportTable| Field::ALL.iter().all(|field| support(*field) == (write.support)(*field));
        match tables.iter_mut().find(|(_, support)| same(*support)) {
            Some((roles, _)) => roles.push(spec.role.word()),
            None => tables.push((vec![spec.role.word()], write.support)),
        }
    }
    let mut text = String::from("Made by `cargo xtask docs` from the writers' own tables.\n");
    for (roles, support) in &tables {
        let fields = |wanted: &dyn Fn(Support) -> bool| {
            let words =
                Field::ALL.iter().filter(|field| **field != Field::Structure && wanted(support(**field)));
            words.map(|field| format!("`{}`", field.word())).collect::<Vec<_>>().join(", ")
        };
        let _ = write!(
            text,
            "\n**A {} says** {}.\n",
            roles.join(" or "),
            fields(&|support| support == Support::Exactly)
        );
        let mut rows = String::new();
        for field in Field::ALL {
            let _ = match support(*field) {
                Support::Emulated(how) => writeln!(rows, "| `{}` | emulated | {how} |", field.word()),
                Support::Less(what) => writeln!(rows, "| `{}` | less | {what} |", field.word()),
                Support::Exactly | Support::No(_) => Ok(()),
            };
        }
        if !rows.is_empty() {
            let _ = write!(text, "\n| field | says | how, or what of it is lost |\n|---|---|---|\n{rows}");
        }
        for reason in Reason::ALL {
            let fields = fields(&|support| support == Support::No(reason));
            if !fields.is_empty() {
                let _ = write!(text, "\nLost (`{}`): {fields}.\n", reason.word());
            }
        }
    }
    text
}

/// The help of the program, one section per command. Flags shared by several commands are listed once, before them.
fn cli_reference() -> String {
    let mut command = interlingua_cli::command();
    // Sets the full names of subcommands, as typed.
    command.build();
    let subcommands = subcommands(&command);
    let mut shared: Vec<(clap::Arg, Vec<String>)> = Vec::new();
    for subcommand in &subcommands {
        let name = format!("`{}`", without_program(subcommand));
        for flag in subcommand.get_arguments().filter(|flag| !flag.is_positional()) {
            match shared.iter_mut().find(|(known, _)| is_same(known, flag)) {
                Some((_, commands)) => commands.push(name.clone()),
                None => shared.push((flag.clone(), vec![name.clone()])),
            }
        }
    }
    shared.retain(|(_, commands)| commands.len() > 1);

    let mut text = String::from(
        "# The command line\n\nMade by `cargo xtask docs` from the program's own definitions; do not edit.\n",
    );
    let _ = write!(text, "\n## `interlingua`\n\n{}", block(&mut command));
    text.push_str("\n## Flags of several commands\n\n");
    let flags = shared.iter().map(|(flag, _)| flag.clone());
    let mut page = clap::Command::new("flags").disable_help_flag(true).help_template("{options}").args(flags);
    text.push_str(&block(&mut page));
    text.push_str("\n| flag | commands |\n|---|---|\n");
    for (flag, commands) in &shared {
        let all = if commands.len() == subcommands.len() { "all".to_owned() } else { commands.join(", ") };
        let _ = writeln!(text, "| `--{}` | {all} |", flag.get_long().unwrap_or_default());
    }
    for mut subcommand in subcommands {
        let _ = write!(text, "\n## `{}`\n\n", subcommand.get_bin_name().unwrap_or_default());
        let also: Vec<String> = shared
            .iter()
            .filter(|(known, _)| subcommand.get_arguments().any(|flag| is_same(known, flag)))
            .map(|(flag, _)| flag.get_id().to_string())
            .collect();
        for id in also {
            subcommand = subcommand.mut_arg(id, |flag| flag.hide(true));
        }
        text.push_str(&block(&mut subcommand));
    }
    text
}

/// All visible commands below this command, including nested commands.
fn subcommands(command: &clap::Command) -> Vec<clap::Command> {
    let visible = |below: &&clap::Command| !below.is_hide_set() && below.get_name() != "help";
    let with_below = |below: &clap::Command| [vec![below.clone()], subcommands(below)].concat();
    command.get_subcommands().filter(visible).flat_map(with_below).collect()
}

fn without_program(command: &clap::Command) -> &str {
    let name = command.get_bin_name().unwrap_or_default();
    name.split_once(' ').map_or(name, |(_, rest)| rest)
}

/// Whether a flag is the same in two commands: same name and same effect. The help flag always is.
fn is_same(one: &clap::Arg, other: &clap::Arg) -> bool {
    let is_help = one.get_id() == "help";
    let help = |flag: &clap::Arg| flag.get_help().map(ToString::to_string);
    one.get_id() == other.get_id()
        && one.get_short() == other.get_short()
        && (is_help || help(one) == help(other))
}

fn block(command: &mut clap::Command) -> String {
    let help = command.render_long_help().to_string();
    let help: Vec<&str> = help.lines().map(str::trim_end).collect();
    format!("```text\n{}\n```\n", help.join("\n").trim_end())
}
