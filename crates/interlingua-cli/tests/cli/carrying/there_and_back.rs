//! A -> B -> A, for all pairs of the nine agents: nothing is missing that is not declared.

use std::fs;
use std::path::Path;

use interlingua::dialects::{Dialect, Options, Role};
use interlingua::log::OutlineReader;
use interlingua_library::{Comparison, ComparisonRules, SessionContents};

use super::{Home, SESSIONS, counts, file_of};

/// The declared differences: the source, and the sort of things that no other agent holds. One attachment of OpenCode is the
/// address of a file on the user's disk; the report of losses lists it as refused.
const DECLARED: [(&str, &str); 1] = [("opencode", "pictures 2 of 3, back 2 of 3")];

/// The things of a session that a second session of the same agent has.
fn compared(dialect: &str, source: &Path, returned: &Path) -> Comparison {
    let from = (Dialect::named(dialect).expect("a dialect"), Role::Log);
    let options = Options::default();
    let (source, returned) = (fs::read(source).expect("a session"), fs::read(returned).expect("a session"));
    let mut outline = OutlineReader::new(from, &options).expect("a reader");
    outline.push(&source);
    let outline = outline.finish();
    let mut contents = SessionContents::new(from, &options, ComparisonRules::default()).expect("a reader");
    contents.push(&source, Some(&outline));
    let contents = contents.finish(Some(&outline));
    let mut copy = contents.reader_of_copy(from, &options).expect("a reader");
    copy.push(&returned, None);
    contents.compare(&copy.finish(None))
}

#[test]
fn every_session_comes_back_from_every_agent() {
    let mut missing = Vec::new();
    let mut pairs = 0;
    for (source, _, place) in SESSIONS {
        let home = Home::new(&[source]);
        let log = home.path(place);
        for (target, ..) in SESSIONS.iter().filter(|(target, ..)| *target != source) {
            pairs += 1;
            let there = home.carried(log.to_str().expect("UTF-8"), target, &[]);
            let back = home.carried(&file_of(&there), source, &[]);
            let back = compared(source, &log, Path::new(&file_of(&back)));
            assert!(back.prompts.all > 0, "{source} has prompts");
            for (sort, returned) in [
                ("prompts", back.prompts),
                ("answers", back.answers),
                ("calls", back.calls),
                ("results", back.results),
                ("pictures", back.pictures),
            ] {
                let (all, kept) = counts(&there, sort);
                if kept < all || returned.kept < returned.all {
                    let line = format!("{source} -> {target}: {sort} {kept} of {all}, ");
                    missing.push(format!("{line}back {} of {}", returned.kept, returned.all));
                }
            }
        }
    }
    assert_eq!(pairs, 72);
    let is_declared = |line: &String| {
        let is_it =
            |(from, what): &(&str, &str)| line.starts_with(&format!("{from} -> ")) && line.ends_with(what);
        DECLARED.iter().any(is_it)
    };
    let (declared, undeclared): (Vec<&String>, Vec<&String>) =
        missing.iter().partition(|line| is_declared(line));
    assert!(undeclared.is_empty(), "{undeclared:#?}");
    assert_eq!(declared.len(), 8, "a declared difference is gone: {declared:#?}");
}
