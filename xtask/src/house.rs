//! Rules for the code itself: each name of a public type has one meaning in the whole workspace, no file is too long to
//! read, and a type of the core may grow in a minor release. A private type is named by its module.
//! `cargo xtask house` prints the code lines of every room and fails on violations of these rules.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::{TaskResult, root, say};

/// Enums of the core that are complete by their meaning, or whose further variant would change every report or dialect.
const CLOSED: [&str; 11] = [
    "Claim",
    "Detection",
    "Fate",
    "Framing",
    "Group",
    "Kind",
    "Reason",
    "Severity",
    "Spelling",
    "SplitPart",
    "Support",
];

/// A file with more code lines than this should be split.
const MOST_LINES: usize = 600;

pub(crate) fn run(_: &[String]) -> TaskResult<()> {
    let mut files = Vec::new();
    for folder in ["crates", "xtask"] {
        walk(&root().join(folder), &mut files)?;
    }
    let mut rooms: BTreeMap<String, usize> = BTreeMap::new();
    let mut types: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut faults = Vec::new();
    for path in files {
        let name = path.strip_prefix(root())?.display().to_string();
        let text = fs::read_to_string(&path)?;
        let lines = code_lines(&text).count();
        if lines > MOST_LINES {
            faults.push(format!("`{name}` has {lines} code lines; {MOST_LINES} are the most"));
        }
        if name.starts_with("crates/interlingua/src/") {
            let closed = closed_types(&text).into_iter().filter(|declared| !CLOSED.contains(declared));
            faults.extend(closed.map(|declared| format!("`{declared}` in `{name}` is not `non_exhaustive`")));
        }
        *rooms.entry(room(&name)).or_default() += lines;
        for declared in code_lines(&text).filter_map(declared_type) {
            types.entry(declared.to_owned()).or_default().push(name.clone());
        }
    }
    for (room, lines) in &rooms {
        say(&format!("{lines:>6}  {room}"));
    }
    for (name, places) in types.iter().filter(|(_, places)| places.len() > 1) {
        faults.push(format!("`{name}` is declared {} times: {}", places.len(), places.join(", ")));
    }
    if faults.is_empty() { Ok(()) } else { Err(faults.join("\n       ").into()) }
}

/// Lines that are neither blank nor comments, up to the tests.
fn code_lines(text: &str) -> impl Iterator<Item = &str> {
    let code = text.lines().take_while(|line| line.trim() != "#[cfg(test)]");
    code.filter(|line| !line.trim().is_empty() && !line.trim_start().starts_with("//"))
}

/// The name of the public type that a line declares. Types in a macro's braces are indented once.
fn declared_type(line: &str) -> Option<&str> {
    let step = indent(line);
    let mut words = line.trim_start().strip_prefix("pub ")?.split_whitespace();
    let is_type = match words.next()? {
        "struct" | "enum" | "trait" => step <= 4,
        "type" => step == 0,
        _ => false,
    };
    let name = words.next().filter(|_| is_type)?;
    let end = name.find(|c: char| !c.is_alphanumeric()).unwrap_or(name.len());
    name.get(..end).filter(|name| !name.is_empty())
}

/// Public enums, and public structs with public members, without `non_exhaustive`. A type in the braces of a macro call
/// gets its attributes from the definition of the macro, so the definition is checked instead.
fn closed_types(text: &str) -> Vec<&str> {
    let lines: Vec<&str> = code_lines(text).collect();
    let mut in_macro_call = false;
    let mut closed = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        if indent(line) == 0 {
            in_macro_call = line.ends_with("! {");
        }
        let Some((is_enum, name)) = type_with_braces(line).filter(|_| !in_macro_call) else { continue };
        let ends_item = |line: &str| line.ends_with(['{', ';']) || line.trim() == "}";
        let mut attributes = lines[..at].iter().rev().take_while(|line| !ends_item(line));
        let is_open = attributes.any(|line| line.contains("non_exhaustive"));
        let mut members = lines[at + 1..].iter().take_while(|member| indent(member) > indent(line));
        let shows = is_enum || members.any(|member| member.contains(" pub "));
        if shows && !is_open {
            closed.push(name);
        }
    }
    closed
}

/// Whether the line declares a public enum or a public struct with braces, and its name. The pattern of a macro
/// (`$name:ident`) declares no type.
fn type_with_braces(line: &str) -> Option<(bool, &str)> {
    let head = line.trim_start().strip_prefix("pub ").filter(|head| head.ends_with('{'))?;
    let (keyword, name) = head.split_once(' ').filter(|(word, _)| matches!(*word, "struct" | "enum"))?;
    let end = name.find(|c: char| !c.is_alphanumeric() && c != '$')?;
    let (name, rest) = name.split_at(end);
    (!rest.starts_with(':')).then_some((keyword == "enum", name))
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// The unit of counting: a folder of the core, a dialect, a crate.
fn room(path: &str) -> String {
    let parts: Vec<&str> = path.split('/').collect();
    let depth = match parts[..] {
        ["crates", "interlingua", "src", "dialects", _, _, _, ..] => 6,
        ["crates", "interlingua", "src", "dialects", _, ..] => 5,
        ["crates", "interlingua", "src", _, ..] => 4,
        ["crates", _, ..] => 2,
        _ => 1,
    };
    parts[..depth.min(parts.len())].join("/")
}

fn walk(folder: &Path, files: &mut Vec<PathBuf>) -> TaskResult<()> {
    let mut entries: Vec<PathBuf> =
        fs::read_dir(folder)?.filter_map(|entry| Some(entry.ok()?.path())).collect();
    entries.sort();
    for path in entries {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if path.is_dir() && !matches!(name, "target" | "tests" | "templates") {
            walk(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") && name != "tests.rs" {
            files.push(path);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declarations_are_told_from_other_lines() {
        assert_eq!(declared_type("pub struct LogFile<'a> {"), Some("LogFile"));
        assert_eq!(declared_type("    pub enum Event<'a> {"), Some("Event"));
        assert_eq!(declared_type("pub struct Unit;"), Some("Unit"));
        assert_eq!(declared_type("pub(crate) struct Row {"), None);
        assert_eq!(declared_type("enum Sort {"), None);
        assert_eq!(declared_type("    type Owned = Self;"), None);
        assert_eq!(declared_type("    struct Inner {"), None);
        assert_eq!(declared_type("let kind = 1;"), None);
        assert_eq!(declared_type("        pub enum $name {"), None);
    }

    #[test]
    fn closed_types_are_told_from_open_ones() {
        let text = "pub enum A {\n    B,\n}\n#[non_exhaustive]\npub enum C {\n}\npub struct D {\n    hidden: u8,\n}\n\
                    pub struct E {\n    pub shown: u8,\n}\n#[cfg_attr(x, non_exhaustive)]\n#[derive(F)]\npub struct G {\n    \
                    pub shown: u8,\n}\n";
        assert_eq!(closed_types(text), ["A", "E"]);
    }

    #[test]
    fn the_definition_of_a_macro_opens_the_types_that_the_macro_declares() {
        let call = "said! {\n    #[derive(F)]\n    pub struct A {\n        pub shown: u8 => B,\n    }\n}\n";
        let definition = |attribute: &str, member: &str| {
            format!(
                "macro_rules! said {{\n    ($(\n        pub struct $name:ident {{\n            $(pub $member:ident,)*\n        \
                 }}\n    )*) => {{$(\n        $(#[$about])*\n        {attribute}\n        pub struct $name {{\n            \
                 $($(#[$about])* {member}: u8,)*\n        }}\n    )*}};\n}}\n"
            )
        };
        assert_eq!(closed_types(call), [""; 0]);
        assert_eq!(closed_types(&definition("", "pub $member")), ["$name"]);
        assert_eq!(closed_types(&definition("", "$member")), [""; 0]);
        assert_eq!(closed_types(&definition("#[cfg_attr(x, non_exhaustive)]", "pub $member")), [""; 0]);
        let named = "macro_rules! counts {\n    () => {\n        pub enum Usage {\n        }\n    };\n}\n";
        assert_eq!(closed_types(named), ["Usage"]);
        let in_module = "mod inner {\n    pub struct A {\n        pub shown: u8,\n    }\n}\n";
        assert_eq!(closed_types(in_module), ["A"]);
    }

    #[test]
    fn tests_and_comments_are_no_code() {
        let text = "// a\n\nlet a = 1;\n    /// b\n#[cfg(test)]\nmod tests {}\n";
        assert_eq!(code_lines(text).collect::<Vec<_>>(), ["let a = 1;"]);
    }
}
