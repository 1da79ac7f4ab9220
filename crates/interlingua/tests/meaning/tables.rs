//! Puts every word that the source code of a dialect compares with into each matching place of a fixture, and compares
//! its meaning with a table in `words/`, one line per meaning.
//!
//! The words come from the source code itself: the string literals of the functions and tables that contain the word of
//! the fixture. So a new word is tested without a new test, and its meaning must be added to the table. A word without
//! a meaning at that place is handled like an unknown word and is not listed.
//!
//! The tables are for people: a line lists the words that yield a value of the model (`events`), or the words that a
//! target then writes (`written`). `INTERLINGUA_BLESS=1` updates the tables; review each line of the diff.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use interlingua::dialects::{DIALECTS, Dialect, Plane};
use interlingua::tape::Kind;

use crate::probes::probes;
use crate::support::books::{Source, SourceLeaf};
use crate::support::watch::{Look, watch};
use crate::support::{Case, Way, asked_for, convert, fixtures, other_targets, record, share};

/// A word that no table has.
const UNKNOWN: &str = "zzz-nobody-knows";
/// How many values of one place are replaced.
const VALUES: usize = 4;
/// The maximum length of a list of differences.
const SHOWN: usize = 14;

/// Members that every item has, and that carry no meaning.
const ALWAYS: [&str; 9] = [
    "ItemId",
    "ItemHead",
    "ItemTail",
    "Delta",
    "ItemDelta",
    "ItemCompleted",
    "part: 0",
    "Turn",
    "Circumstances",
];

/// The words in a dialect's source code, grouped by function or table.
struct Vocabulary(Vec<BTreeSet<String>>);

impl Vocabulary {
    fn of(dialect: &Dialect) -> Self {
        let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../src");
        let folder = sources.join("dialects").join(dialect.folder());
        let mut files = Vec::new();
        rust_files(&folder, true, &mut files);
        if dialect.folder().starts_with("anthropic/") {
            rust_files(&sources.join("blocks"), true, &mut files);
        }
        // Files shared by a family and by the planes.
        rust_files(folder.parent().expect("a family"), false, &mut files);
        for name in [
            "wire/words.rs",
            "wire/settings.rs",
            "wire/narrow.rs",
            "wire/content.rs",
            "wire/media.rs",
            "model/request.rs",
        ] {
            files.push(sources.join(name));
        }
        if matches!(dialect.name, "kimi" | "copilot") {
            rust_files(&sources.join("dialects/openai/chat"), true, &mut files);
        }
        if dialect.name == "record-v2" {
            rust_files(&sources.join("dialects/ours/record"), true, &mut files);
        }
        if matches!(dialect.folder().split('/').next(), Some("ours")) {
            for name in ["turn", "item", "part", "oversight", "session", "request"] {
                files.push(sources.join(format!("model/{name}.rs")));
            }
        }
        let mut groups = Vec::new();
        // Types of tools, which several constants hold.
        if dialect.name == "openai-responses" {
            groups.push(["function", "code_interpreter"].map(str::to_owned).into());
        }
        for file in files {
            groups.extend(groups_in(&std::fs::read_to_string(&file).expect("readable")));
        }
        Self(groups)
    }

    fn has(&self, word: &str) -> bool {
        self.0.iter().any(|group| group.contains(word))
    }

    /// The words in the same groups as this word.
    fn beside(&self, word: &str) -> BTreeSet<&str> {
        let with = self.0.iter().filter(|group| group.contains(word));
        with.flatten().map(String::as_str).filter(|other| *other != word).collect()
    }
}

fn rust_files(folder: &Path, deep: bool, files: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> =
        std::fs::read_dir(folder).expect("listed").map(|entry| entry.expect("listed").path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            if deep {
                rust_files(&path, true, files);
            }
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

/// The literals of each function, constant and static.
fn groups_in(source: &str) -> Vec<BTreeSet<String>> {
    let mut groups = vec![BTreeSet::new()];
    for line in source.lines().take_while(|line| line.trim() != "#[cfg(test)]") {
        let line = line.trim_start();
        let plain = ["pub(crate) ", "pub(super) ", "pub ", "const fn "]
            .iter()
            .fold(line, |line, prefix| line.strip_prefix(prefix).unwrap_or(line));
        if ["fn ", "const ", "static "].iter().any(|begin| plain.starts_with(begin)) {
            groups.push(BTreeSet::new());
        }
        if !line.starts_with("//") {
            let group = groups.last_mut().expect("one at least");
            group.extend(line.split('"').skip(1).step_by(2).filter(|word| is_word(word)).map(str::to_owned));
        }
    }
    groups.retain(|group| !group.is_empty());
    groups
}

fn is_word(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/');
    (2..=48).contains(&text.len())
        && text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(plain)
}

/// A place of a word in a fixture.
struct Slot<'s> {
    source: &'s Source<'s>,
    leaf: &'s SourceLeaf,
    word: &'s str,
}

/// Some words for each role and path, each in the smallest fixture that contains it.
fn slots<'s>(sources: &'s [Source<'s>], vocabulary: &Vocabulary) -> Vec<Slot<'s>> {
    let mut found: BTreeMap<(&str, &str), BTreeMap<&str, Slot<'s>>> = BTreeMap::new();
    for source in sources {
        for leaf in &source.leaves {
            let word = source.text(leaf);
            let word = match leaf.kind {
                Kind::String => word.trim_matches('"'),
                // A flag or a number is tested once in each place.
                Kind::Bool => "true",
                Kind::Number => "0",
                _ => continue,
            };
            if leaf.kind == Kind::String && !vocabulary.has(word) {
                continue;
            }
            let words = found.entry((source.case.way.1.word(), &leaf.path)).or_default();
            if words.len() < VALUES {
                words.entry(word).or_insert(Slot { source, leaf, word });
            }
        }
    }
    found.into_values().flat_map(BTreeMap::into_values).collect()
}

/// The difference: values of the model that were removed and added, without texts and numbers.
fn difference(before: &[String], after: &[String]) -> String {
    let counted = |events: &[String]| {
        let mut atoms: BTreeMap<String, i64> = BTreeMap::new();
        for atom in events.iter().flat_map(|event| atoms_of(event)) {
            *atoms.entry(atom).or_default() += 1;
        }
        atoms
    };
    let (before, after) = (counted(before), counted(after));
    let mut shown = Vec::new();
    for (sign, some, other) in [('-', &before, &after), ('+', &after, &before)] {
        let more = some.iter().filter(|(atom, count)| **count > other.get(*atom).copied().unwrap_or(0));
        shown.extend(more.map(|(atom, _)| format!("{sign}{atom}")));
    }
    if shown.len() > SHOWN {
        let more = shown.len() - SHOWN;
        shown.truncate(SHOWN);
        shown.push(format!("and {more} more"));
    }
    shown.join(" ")
}

/// The members of an event: `status:Failed`. A text is only marked as present.
fn atoms_of(event: &str) -> Vec<String> {
    let mut atoms = Vec::new();
    let (mut atom, mut quoted, mut escaped) = (String::new(), false, false);
    for c in event.chars() {
        if quoted {
            if c == '"' && !escaped {
                quoted = false;
                atom.push_str("\"\"");
            }
            escaped = c == '\\' && !escaped;
            continue;
        }
        match c {
            '"' => quoted = true,
            '(' if atom.ends_with("Some") => atom.truncate(atom.len() - "Some".len()),
            ',' | '{' | '}' | '(' | ')' | '[' | ']' => {
                let done = std::mem::take(&mut atom);
                let done = done.trim();
                let says_nothing = done.is_empty() || done.ends_with("None") || done == "\"\"" || done == "0";
                if !says_nothing && !ALWAYS.iter().any(|always| done.ends_with(always)) {
                    atoms.push(done.replace(": ", ":"));
                }
            }
            c if c.is_ascii_digit() => {
                if !atom.ends_with('0') {
                    atom.push('0');
                }
            }
            c => atom.push(c),
        }
    }
    atoms
}

/// The members of an output, as `path=word`.
fn written_atoms(bytes: &[u8], word: &str) -> Vec<String> {
    let text = String::from_utf8_lossy(bytes);
    let mut documents = Vec::new();
    match serde_json::from_str(&text) {
        Ok(document) => documents.push(document),
        Err(_) => documents.extend(
            text.lines()
                .map(|line| line.strip_prefix("data:").unwrap_or(line))
                .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok()),
        ),
    }
    let mut atoms = Vec::new();
    for document in &documents {
        members(document, &mut String::new(), word, &mut atoms);
    }
    atoms
}

fn members(value: &serde_json::Value, path: &mut String, word: &str, atoms: &mut Vec<String>) {
    use serde_json::Value;
    let length = path.len();
    match value {
        Value::Object(object) => {
            for (name, value) in object {
                write!(path, "/{}", if name == word { "THE-WORD" } else { name }).expect("a string");
                members(value, path, word, atoms);
                path.truncate(length);
            }
        }
        Value::Array(list) => list.iter().for_each(|value| members(value, path, word, atoms)),
        Value::String(text) if text == word => atoms.push(format!("{path}=THE-WORD")),
        Value::String(text) if is_word(text) && !text.chars().any(|c| c.is_ascii_digit()) => {
            atoms.push(format!("{path}={text}"));
        }
        Value::Bool(flag) => atoms.push(format!("{path}={flag}")),
        Value::String(_) | Value::Number(_) | Value::Null => atoms.push(path.clone()),
    }
}

fn written_difference(before: &[u8], after: &[u8], word: &str) -> String {
    let (before, after) = (written_atoms(before, word), written_atoms(after, word));
    let (before, after): (BTreeSet<_>, BTreeSet<_>) = (before.iter().collect(), after.iter().collect());
    let gone = before.difference(&after).map(|atom| format!("-{atom}"));
    let come = after.difference(&before).map(|atom| format!("+{atom}"));
    let all: Vec<String> = gone.chain(come).collect();
    if all.len() <= SHOWN {
        return all.join(" ");
    }
    format!("{} and {} more", all[..SHOWN].join(" "), all.len() - SHOWN)
}

/// The added classes, if only classes were added: of stops, failures, outcomes, authors and decisions.
fn classes(difference: &str) -> String {
    let come = || difference.split(' ').filter_map(|atom| atom.strip_prefix('+'));
    let is_class = |atom: &&str| {
        let Some((name, value)) = atom.split_once(':') else { return false };
        CLASSES.contains(&name) && !value.contains('"')
    };
    if come().any(|atom| PIECES.iter().any(|piece| atom.starts_with(piece))) {
        return String::new();
    }
    come().filter(is_class).collect::<Vec<_>>().join(" ")
}

/// Members of the model that hold a class.
const CLASSES: [&str; 9] =
    ["class", "status", "author", "origin", "is_error", "answer", "declined", "by", "format"];

/// Members that come with a new item, which is more than a class.
const PIECES: [&str; 4] = ["ItemStarted", "kind:", "value:", "and "];

/// A word at a place, and its meaning.
struct Meaning {
    place: String,
    word: String,
    difference: String,
}

/// A class that a source can express, with a document that contains it.
struct Example {
    about: String,
    classes: String,
    word: String,
    before: Case,
    after: Vec<u8>,
}

fn meanings(dialect: &'static Dialect, cases: &[Case]) -> (Vec<Meaning>, Vec<Example>) {
    let vocabulary = Vocabulary::of(dialect);
    let mut cases: Vec<&Case> = cases.iter().filter(|case| case.way.0.name == dialect.name).collect();
    cases.sort_by_key(|case| (case.bytes.len(), case.name.clone()));
    let sources: Vec<Source<'_>> = cases.into_iter().map(Source::of).collect();
    let slots = slots(&sources, &vocabulary);
    let tried = share(
        &slots,
        |slot| slot.source.case.bytes.len(),
        |slot| {
            let Slot { source, leaf, word } = slot;
            let way = source.case.way;
            let place = format!("{} {}", way.1.word(), leaf.path);
            let with = |value: &str| {
                let text = leaf.kind == Kind::String;
                source.with(leaf, &if text { format!("\"{value}\"") } else { value.to_owned() })
            };
            let told = |bytes: &[u8]| watch(way, bytes, Look::EventSink).0.events;
            let (without, others): (&str, Vec<&str>) = match *word {
                "true" => ("false", vec!["true"]),
                "0" => ("0", vec!["1", "429"]),
                word => (UNKNOWN, vocabulary.beside(word).into_iter().chain([word]).collect()),
            };
            let unknown = told(&with(without));
            let mut found = (Vec::new(), Vec::new());
            for other in others {
                let bytes = with(other);
                let events = told(&bytes);
                // An effect that every word has at this place is not the meaning of this word.
                let (quoted, unknown_quoted) = (format!("\"{other}\""), format!("\"{UNKNOWN}\""));
                let renamed: Vec<String> =
                    events.iter().map(|event| event.replace(&quoted, &unknown_quoted)).collect();
                if renamed == unknown {
                    continue;
                }
                let difference = difference(&unknown, &renamed);
                if difference.is_empty() {
                    continue;
                }
                let classes = classes(&difference);
                if !classes.is_empty() {
                    found.1.push(Example {
                        about: format!("{} {place} {other}", dialect.name),
                        classes,
                        word: other.to_owned(),
                        before: Case { bytes: with(without), ..source.case.clone() },
                        after: bytes,
                    });
                }
                found.0.push(Meaning { place: place.clone(), word: other.to_owned(), difference });
            }
            found
        },
    );
    let mut all = (Vec::new(), Vec::new());
    for (meanings, examples) in tried {
        all.0.extend(meanings);
        all.1.extend(examples);
    }
    all
}

/// The lines of a table: each place, and under it each meaning with its words.
fn table(meanings: &[Meaning]) -> String {
    let mut places: BTreeMap<&str, BTreeMap<&str, BTreeSet<&str>>> = BTreeMap::new();
    for Meaning { place, word, difference } in meanings {
        places.entry(place).or_default().entry(difference).or_default().insert(word);
    }
    let mut text = String::new();
    for (place, meanings) in places {
        let mut lines: Vec<String> = meanings
            .into_iter()
            .map(|(difference, words)| {
                format!("  {}: {difference}\n", words.into_iter().collect::<Vec<_>>().join(" | "))
            })
            .collect();
        lines.sort();
        writeln!(text, "{place}").expect("a string");
        text.extend(lines);
    }
    text
}

fn compare(name: &str, text: &str) -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("meaning/words").join(format!("{name}.txt"));
    if std::env::var_os("INTERLINGUA_BLESS").is_some() {
        std::fs::write(&path, text).expect("written");
        return Vec::new();
    }
    let wanted = std::fs::read_to_string(&path).unwrap_or_default();
    let (wanted, got): (BTreeSet<_>, BTreeSet<_>) = (placed(&wanted), placed(text));
    let missing = wanted.difference(&got).map(|line| format!("{name}: expected {line}"));
    let other = got.difference(&wanted).map(|line| format!("{name}: found    {line}"));
    missing.chain(other).collect()
}

/// Fails with each line that differs from the stored table.
pub(crate) fn compare_text(name: &str, text: &str) {
    let wrong = compare(name, text);
    assert!(wrong.is_empty(), "{} lines differ:\n{}", wrong.len(), wrong[..wrong.len().min(40)].join("\n"));
}

/// Each line with the place it belongs to.
fn placed(text: &str) -> BTreeSet<String> {
    let mut place = "";
    let mut lines = BTreeSet::new();
    for line in text.lines() {
        match line.strip_prefix("  ") {
            Some(meaning) => _ = lines.insert(format!("{place}: {meaning}")),
            None => place = line,
        }
    }
    lines
}

/// Words that the source code compares with: in a pattern, or next to `==` or `is`.
fn compared(source: &str) -> BTreeSet<String> {
    let mut words = BTreeSet::new();
    for line in source.lines().take_while(|line| line.trim() != "#[cfg(test)]") {
        let line = line.trim_start();
        let compares = line.contains("=>")
            || line.contains("matches!(")
            || line.contains("== \"")
            || line.contains(".is(\"")
            || line.starts_with("| \"")
            || line.starts_with('"') && line.contains("\" |");
        if line.starts_with("//") || !compares {
            continue;
        }
        // The text after the arrow is written, not read.
        let pattern = line.split("=>").next().unwrap_or(line);
        words.extend(pattern.split('"').skip(1).step_by(2).filter(|word| is_word(word)).map(str::to_owned));
    }
    words
}

/// Words compared at places where no document can contain them.
const APART: [(&str, &str); 61] = [
    // Names of members, types and marks of other dialects: detection tests cover those.
    ("anthropic", "input_image"),
    ("anthropic", "input_text"),
    ("anthropic", "output_text"),
    ("anthropic", "sequence_number"),
    ("claude-code", "parts"),
    ("copilot", "copilot_"),
    ("cursor", "id"),
    ("droid", "toolCall"),
    ("droid", "toolResult"),
    ("openai-responses", "response."),
    ("gemini", "will_continue"),
    ("pi", "tool_result"),
    ("claude-stream", "T-"),
    ("claude-stream", "qwen_code_version"),
    ("claude-stream", "tool_call"),
    ("pi", "agent_start"),
    ("pi", "turn_start"),
    ("pi-stream", "model_change"),
    ("pi-stream", "thinking_level_change"),
    ("cursor-stream", "num_turns"),
    ("cursor-stream", "parent_tool_use_id"),
    ("cursor-stream", "tools"),
    ("gemini-stream", "id"),
    ("qwen-stream", "claude_code_version"),
    ("kimi-cli", "meta"),
    ("amp-stream", "claude_code_version"),
    ("amp-stream", "qwen_code_version"),
    ("amp-stream", "signature"),
    // Parts of words: prefixes, ends, and segments of a path.
    ("pi-stream", "end"),
    ("pi-stream", "start"),
    ("pi-stream", "toolcall"),
    ("acp", "opt_"),
    ("acp", "skip"),
    ("acp", "audio/"),
    ("acp", "image/"),
    ("opencode-events", "ses"),
    ("opencode-events", "session"),
    ("opencode-events", "prompt_async"),
    ("opencode-events", "abort"),
    ("opencode-events", "GET"),
    ("codex", "collab_"),
    ("copilot-cli", "session."),
    ("openai-chat", "image/"),
    // Types that a writer checks: `media.rs` tests each type.
    ("openai-chat", "application/pdf"),
    ("openai-chat", "audio/mpeg"),
    ("claude-code", "application/pdf"),
    ("claude-code", "patch"),
    ("claude-code", "write"),
    ("openai-responses", "summarized"),
    // `check` and `framing` have their own tests.
    ("universal", "blank"),
    ("universal", "bom"),
    ("record", "unparsed"),
    // Parts that only wire dialects write into a record, and kept lines: `record.rs` covers them.
    ("record", "citation"),
    ("record", "interactive"),
    ("record", "json"),
    ("record", "line"),
    ("openai-chat", "audio/wav"),
    ("universal", "file_id"),
    // Words of other programs' lines, which rule the dialect out: `detection.rs` has them.
    ("claude-code", "session_id"),
    ("claude-code", "provenance"),
    ("pi", "session_start"),
];

/// Schema keywords and clock parts have their own tests.
const ELSEWHERE: [&str; 4] = ["schema.rs", "stamp.rs", "check.rs", "stream.rs"];

/// Compared words of a dialect that no fixture contains, or that have no meaning in any place.
fn untried(dialect: &Dialect, cases: &[Case], meanings: &[Meaning]) -> Vec<String> {
    let mut tried: BTreeSet<&str> = meanings.iter().map(|meaning| meaning.word.as_str()).collect();
    for case in cases.iter().filter(|case| case.way.0.name == dialect.name) {
        let text = std::str::from_utf8(&case.bytes).unwrap_or_default();
        tried.extend(text.split('"').map(|word| word.trim_end_matches('\\')).filter(|word| is_word(word)));
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../src/dialects").join(dialect.folder());
    let mut files = Vec::new();
    rust_files(&folder, true, &mut files);
    let mut untried = Vec::new();
    for file in files {
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if ELSEWHERE.contains(&name.as_str()) {
            continue;
        }
        for word in compared(&std::fs::read_to_string(&file).expect("readable")) {
            if !tried.contains(word.as_str()) && !APART.contains(&(dialect.name, word.as_str())) {
                untried.push(format!("{}: `{word}` of {name} is tried nowhere: add a probe", dialect.name));
            }
        }
    }
    untried
}

/// Words that never mean success, and words that never mean failure.
const NEVER_WELL: [&str; 8] = ["denied", "deny", "reject", "declin", "cancel", "abort", "fail", "error"];
const NEVER_BADLY: [&str; 10] =
    ["success", "succeeded", "completed", "complete", "done", "ok", "approved", "approve", "accept", "allow"];

/// A refusal translated as success is the worst error of a translator, so no table may contain it.
fn is_turned_round(meaning: &Meaning) -> bool {
    let Meaning { word, difference, .. } = meaning;
    let word = word.to_lowercase();
    let has = |atoms: &[&str]| difference.split(' ').any(|atom| atoms.contains(&atom));
    if difference.contains("ItemStarted") || difference.contains("kind:") {
        return false;
    }
    let well =
        ["+status:Completed", "+answer:Accept", "+answer:AcceptForSession", "+is_error:false", "+class:End"];
    let badly = ["+status:Failed", "+answer:Reject", "+is_error:true", "+class:Error", "+class:Refusal"];
    NEVER_WELL.iter().any(|never| word.contains(never)) && has(&well)
        || NEVER_BADLY.contains(&word.as_str()) && has(&badly) && !meaning.place.contains("response /status")
}

#[test]
fn every_word_of_every_table_has_its_meaning() {
    let mut cases = fixtures();
    cases.extend(probes());
    // A record of each dialect, because the repository has no record fixtures.
    for dialect in DIALECTS.iter().filter(|dialect| dialect.plane == Plane::Log) {
        let mut of: Vec<&Case> = cases.iter().filter(|case| case.way.0.name == dialect.name).collect();
        of.sort_by_key(|case| case.bytes.len());
        let records: Vec<Case> = of
            .into_iter()
            .take(2)
            .map(|case| Case {
                way: record(),
                name: format!("record of {}", case.name),
                bytes: convert(case.way, record(), &case.bytes).bytes,
                made_from: Some(case.way),
                path: case.path.clone(),
            })
            .collect();
        cases.extend(records);
    }
    let mut wrong = Vec::new();
    let mut examples: Vec<Example> = Vec::new();
    for dialect in DIALECTS {
        let (meanings, more) = meanings(dialect, &cases);
        examples.extend(more);
        wrong.extend(untried(dialect, &cases, &meanings));
        wrong.extend(meanings.iter().filter(|meaning| is_turned_round(meaning)).map(|meaning| {
            let Meaning { place, word, difference } = meaning;
            format!("{} {place}: `{word}` is turned round: {difference}", dialect.name)
        }));
        if asked_for().is_none_or(|name| name == dialect.name) {
            wrong.extend(compare(dialect.name, &table(&meanings)));
        }
    }
    // Each class once for each target: first our own words, which have all classes, then the others.
    examples.sort_by_key(|example| (example.before.way.0.name != "universal", example.about.clone()));
    let mut seen = BTreeSet::new();
    let mut tries: Vec<(&Example, Way)> = Vec::new();
    for example in &examples {
        for to in other_targets(&example.before) {
            if seen.insert((to.0.name, to.1.word(), &example.classes)) {
                tries.push((example, to));
            }
        }
    }
    let written = share(
        &tries,
        |(example, _)| example.after.len(),
        |(example, to)| {
            let before = convert(example.before.way, *to, &example.before.bytes).bytes;
            let after = convert(example.before.way, *to, &example.after).bytes;
            let difference = written_difference(&before, &after, &example.word);
            let line = format!("{} from {}", example.classes, example.about);
            (to.0.name, Meaning { place: format!("{} of", to.1.word()), word: line, difference })
        },
    );
    for dialect in DIALECTS.iter().filter(|dialect| asked_for().is_none_or(|name| name == dialect.name)) {
        let of: Vec<&Meaning> =
            written.iter().filter(|(name, _)| *name == dialect.name).map(|(_, meaning)| meaning).collect();
        let mut lines: Vec<String> =
            of.iter().map(|meaning| format!("  {}: {}\n", meaning.word, meaning.difference)).collect();
        lines.sort();
        wrong.extend(compare(&format!("{}.written", dialect.name), &lines.concat()));
    }
    let shown: Vec<&str> = wrong.iter().take(40).map(String::as_str).collect();
    assert!(wrong.is_empty(), "{} lines differ:\n{}", wrong.len(), shown.join("\n"));
}
