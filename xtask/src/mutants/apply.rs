//! Writes mutants into source text, each behind a switch.
//!
//! | original text | switched text |
//! |---|---|
//! | an expression | `(if on("a") { A } else if on("b") { B } else { the text })` |
//! | a statement | the same without brackets |
//! | `let x = E;`, and so is the mutant | `let x = if on("a") { A } else { E };` |
//! | arms, and the mutant has the same patterns | each body becomes such an expression |
//! | arms, and the mutant has others | the mutant's arms if it is on, then the arms if none is |

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::list::Mutant;
use crate::TaskResult;

/// The switch module, appended to each crate's `lib.rs`.
pub(super) const SWITCH_MODULE: &str = r#"
#[allow(missing_docs, dead_code, unreachable_pub)]
pub(crate) mod mutant_switch {
    static NAME: std::sync::LazyLock<String> =
        std::sync::LazyLock::new(|| std::env::var("INTERLINGUA_MUTANT").unwrap_or_default());
    #[inline(never)]
    pub fn on(name: &str) -> bool {
        *NAME == name
    }
}
"#;

/// The switched source.
pub(super) struct Switched {
    /// The new text of each file that has a mutant.
    pub(super) files: BTreeMap<PathBuf, String>,
    /// Mutants that cannot be switched, with the reason.
    pub(super) refused: BTreeMap<String, String>,
    /// The lines of each mutant in the new text.
    pub(super) places: Vec<(PathBuf, Range<usize>, Vec<String>)>,
}

/// An error of the compiler.
#[derive(Debug)]
pub(super) struct CompileError {
    pub(super) file: PathBuf,
    pub(super) line: usize,
    pub(super) text: String,
}

/// The mutants at the line of an error, or else the nearest mutants in the same file.
pub(super) fn at_fault(places: &[(PathBuf, Range<usize>, Vec<String>)], error: &CompileError) -> Vec<String> {
    let here = places.iter().filter(|(file, ..)| *file == error.file);
    let distance = |lines: &Range<usize>| {
        if lines.contains(&error.line) {
            0
        } else {
            lines.start.abs_diff(error.line).min(lines.end.abs_diff(error.line)) + 1
        }
    };
    here.min_by_key(|(_, lines, _)| distance(lines)).map(|(.., names)| names.clone()).unwrap_or_default()
}

/// The current text of each file that a mutant changes, read once because the source may be edited during a run.
pub(super) fn sources(mutants: &[Mutant], root: &Path) -> TaskResult<BTreeMap<String, String>> {
    let mut sources = BTreeMap::new();
    for Mutant { file, .. } in mutants {
        let text = fs::read_to_string(root.join(file)).map_err(|error| format!("{file}: {error}"))?;
        sources.insert(file.clone(), text);
    }
    Ok(sources)
}

/// Writes the mutants into these texts.
pub(super) fn apply(mutants: &[Mutant], sources: &BTreeMap<String, String>) -> Switched {
    let mut switched = Switched { files: BTreeMap::new(), refused: BTreeMap::new(), places: Vec::new() };
    let mut by_file: BTreeMap<&str, Vec<&Mutant>> = BTreeMap::new();
    for mutant in mutants {
        by_file.entry(&mutant.file).or_default().push(mutant);
    }
    for (file, mutants) in by_file {
        let Some(source) = sources.get(file) else { continue };
        // Mutants of the same text share a switch; of overlapping texts, the first is used.
        let mut spans: Vec<(Range<usize>, Vec<&Mutant>)> = Vec::new();
        for mutant in mutants {
            match span(source, mutant) {
                Err(why) => {
                    switched.refused.insert(mutant.name.clone(), why);
                }
                Ok(span) => match spans.iter_mut().find(|(other, _)| overlap(other, &span)) {
                    Some((other, same)) if *other == span => same.push(mutant),
                    Some((_, other)) => {
                        let why = format!("overlaps `{}`", other[0].name);
                        switched.refused.insert(mutant.name.clone(), why);
                    }
                    None => spans.push((span, vec![mutant])),
                },
            }
        }
        spans.sort_by_key(|(span, _)| span.start);
        let (mut text, mut done) = (String::new(), 0);
        for (span, mutants) in spans {
            text.push_str(&source[done..span.start]);
            let first = text.lines().count().max(1);
            text.push_str(&switch(&source[span.clone()], &mutants));
            let names = mutants.iter().map(|mutant| mutant.name.clone()).collect();
            switched.places.push((PathBuf::from(file), first..text.lines().count() + 1, names));
            done = span.end;
        }
        text.push_str(&source[done..]);
        switched.files.insert(PathBuf::from(file), text);
    }
    switched
}

fn overlap(one: &Range<usize>, other: &Range<usize>) -> bool {
    one.start < other.end && other.start < one.end
}

/// The position of a mutant's text.
fn span(source: &str, mutant: &Mutant) -> Result<Range<usize>, String> {
    let from = match &mutant.after {
        None => 0,
        Some(after) => source.find(after.as_str()).ok_or_else(|| format!("`{after}` stands nowhere"))?,
    };
    let mut places = source[from..].char_indices().filter_map(|(at, _)| {
        match_ahead(&source[from + at..], &mutant.was).map(|length| from + at..from + at + length)
    });
    let first = places.next().ok_or("the text stands nowhere")?;
    if mutant.after.is_none() && places.next().is_some() {
        return Err("the text stands there more than once".to_owned());
    }
    Ok(first)
}

/// The length of the source prefix that equals this text, ignoring whitespace.
fn match_ahead(source: &str, text: &str) -> Option<usize> {
    let mut chars = source.char_indices().filter(|(_, c)| !c.is_whitespace());
    if source.starts_with(char::is_whitespace) {
        return None;
    }
    let mut end = 0;
    for wanted in text.chars().filter(|c| !c.is_whitespace()) {
        let (at, c) = chars.next()?;
        if c != wanted {
            return None;
        }
        end = at + c.len_utf8();
    }
    Some(end)
}

fn on(mutant: &Mutant) -> String {
    format!("crate::mutant_switch::on(\"{}\")", mutant.name)
}

fn switch(was: &str, mutants: &[&Mutant]) -> String {
    if let Some(arms) = arms(was) {
        return switch_arms(&arms, mutants);
    }
    let choose = |was: &str, now: &dyn Fn(&Mutant) -> String| {
        let mut text = String::new();
        for mutant in mutants {
            let _ = write!(text, "if {} {{ {} }} else ", on(mutant), now(mutant));
        }
        format!("{text}{{ {was} }}")
    };
    let bound = |text: &str| -> Option<(String, String)> {
        let rest = text.strip_prefix("let ")?.strip_suffix(';')?;
        let (pattern, value) = rest.split_once(" = ")?;
        Some((pattern.to_owned(), value.to_owned()))
    };
    match bound(was) {
        Some((pattern, value))
            if mutants.iter().all(|mutant| bound(&mutant.now).is_some_and(|(it, _)| it == pattern)) =>
        {
            let now = |mutant: &Mutant| bound(&mutant.now).map(|(_, value)| value).unwrap_or_default();
            format!("let {pattern} = {};", choose(&value, &now))
        }
        _ if was.ends_with(';') || was.ends_with('}') && !was.contains("=>") && was.starts_with("if ") => {
            choose(was, &|mutant| mutant.now.clone())
        }
        _ => format!("({})", choose(was, &|mutant| mutant.now.clone())),
    }
}

/// An arm of a `match`: pattern, guard and body.
#[derive(Debug)]
struct Arm {
    pattern: String,
    guard: Option<String>,
    body: String,
}

fn switch_arms(was: &[Arm], mutants: &[&Mutant]) -> String {
    let now: Vec<Vec<Arm>> = mutants.iter().map(|mutant| arms(&mutant.now).unwrap_or_default()).collect();
    let alike = |other: &Vec<Arm>| {
        other.len() == was.len()
            && other
                .iter()
                .zip(was)
                .all(|(a, b)| squeezed(&a.pattern) == squeezed(&b.pattern) && a.guard == b.guard)
    };
    let guarded = |guard: &Option<String>| guard.as_ref().map(|it| format!(" if {it}")).unwrap_or_default();
    if now.iter().all(alike) {
        let arm = |(at, arm): (usize, &Arm)| {
            let mut choice = String::new();
            for (mutant, now) in mutants.iter().zip(&now) {
                let _ = write!(choice, "if {} {{ {} }} else ", on(mutant), now[at].body);
            }
            format!("{}{} => {choice}{{ {} }},", arm.pattern, guarded(&arm.guard), arm.body)
        };
        return was.iter().enumerate().map(arm).collect::<Vec<_>>().join("\n");
    }
    let mut text = String::new();
    let with = |arm: &Arm, condition: &str| {
        let guard = arm.guard.as_ref().map(|it| format!(" && ({it})")).unwrap_or_default();
        // A guard with `let` cannot be in brackets.
        format!("{} if {condition}{guard} => {},\n", arm.pattern, arm.body)
    };
    for (mutant, now) in mutants.iter().zip(&now) {
        for arm in now {
            text += &with(arm, &on(mutant));
        }
    }
    let off = mutants.iter().map(|mutant| format!("!{}", on(mutant))).collect::<Vec<_>>().join(" && ");
    for arm in was {
        text += &with(arm, &off);
    }
    text
}

fn squeezed(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace()).collect()
}

/// The match arms in a text, if it consists of arms.
fn arms(text: &str) -> Option<Vec<Arm>> {
    let mut arms = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let arrow = outside(rest, "=>")?;
        let head = rest[..arrow].trim();
        let body = rest[arrow + 2..].trim_start();
        let length = if let Some(block) = body.strip_prefix('{') {
            outside(block, "}")? + 2
        } else {
            outside(body, ",").unwrap_or(body.len())
        };
        let (pattern, guard) = match outside(head, " if ") {
            Some(at) => (head[..at].trim(), Some(head[at + 4..].trim().to_owned())),
            None => (head, None),
        };
        arms.push(Arm { pattern: pattern.to_owned(), guard, body: body[..length].trim().to_owned() });
        rest = body[length..].trim_start().trim_start_matches(',').trim_start();
    }
    (!arms.is_empty()).then_some(arms)
}

/// The position of a text outside of brackets and strings.
fn outside(text: &str, wanted: &str) -> Option<usize> {
    let (mut depth, mut quoted, mut escaped) = (0_i32, false, false);
    for (at, c) in text.char_indices() {
        if quoted {
            quoted = escaped || c != '"';
            escaped = c == '\\' && !escaped;
            continue;
        }
        if depth == 0 && text[at..].starts_with(wanted) {
            return Some(at);
        }
        match c {
            '"' => quoted = true,
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            _ => {}
        }
        if depth < 0 {
            return None;
        }
    }
    None
}
