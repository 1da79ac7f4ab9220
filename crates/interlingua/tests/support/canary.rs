//! The canary law: a unique word is put into every text of a source. After the conversion each word is in the output,
//! or the ledger has its leaf as lost. The output itself is searched, independently of the ledger.

use std::collections::{BTreeMap, BTreeSet};

use interlingua::ledger::{Fate, Reason};
use interlingua::model::Field;
use interlingua::tape::{Claim, Kind};

use super::books::{Breach, Excuse, Fates, MADE_OF_A_KEPT_LINE, Source, SourceLeaf};
use super::leaves::support;
use super::{Case, Way, convert_traced};

pub const CANARY: &str = "a word is in the output, or its leaf is lost";

/// A source with canaries in it.
pub struct Planted {
    pub case: Case,
    leaves: Vec<SourceLeaf>,
    /// The number of the leaf in the source, and its canary.
    birds: Vec<(usize, String)>,
}

/// Puts a canary into each text where the events stay the same except for the word: first separately; a text that must
/// stay equal to others (an id, an echo) together with them.
pub fn plant(source: &Source<'_>) -> Vec<Planted> {
    let texts = || {
        let all = source.leaves.iter().enumerate();
        all.filter(|(_, leaf)| {
            // Tags are not texts; kept lines in a record concern only the writers that restore them.
            leaf.kind == Kind::String
                && !matches!(
                    leaf.claim,
                    Claim::Taken(Field::Structure) | Claim::Noted(Field::Structure) | Claim::Placed
                )
        })
    };
    let mut same: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (number, leaf) in texts() {
        same.entry(source.text(leaf)).or_default().push(number);
    }
    // Short texts are often fixed words, so they are grouped together.
    let mut groups: Vec<(usize, &Vec<usize>)> = same.values().enumerate().collect();
    groups.sort_by_key(|(_, group)| source.leaves[group[0]].at.len());
    let mut birds = Vec::new();
    survivors(source, &groups, &mut birds);
    birds.sort();
    let mut planted = Vec::new();
    in_parts(source, &birds, &mut planted);
    planted
}

/// The canaries with which the events stay the same: many at once if possible, else in halves, down to one text, and a
/// text that must stay equal to others together with them.
fn survivors(source: &Source<'_>, groups: &[(usize, &Vec<usize>)], birds: &mut Vec<(usize, String)>) {
    let mut alone: Vec<(usize, String)> = groups
        .iter()
        .flat_map(|(_, group)| *group)
        .map(|&number| (number, format!("Qz{number}zQ")))
        .collect();
    alone.sort();
    if survives(source, &alone) {
        return birds.append(&mut alone);
    }
    if let [(first, group)] = groups {
        let together: Vec<(usize, String)> =
            group.iter().map(|&number| (number, format!("Qx{first}xQ"))).collect();
        if group.len() > 1 && survives(source, &together) {
            birds.extend(together);
        }
        return;
    }
    let (a, b) = groups.split_at(groups.len() / 2);
    if !a.is_empty() {
        survivors(source, a, birds);
        survivors(source, b, birds);
    }
}

/// All canaries in one document, or in as few documents as needed for unchanged events.
fn in_parts(source: &Source<'_>, birds: &[(usize, String)], planted: &mut Vec<Planted>) {
    if birds.is_empty() {
        return;
    }
    if survives(source, birds) {
        let case = Case { bytes: with(source, birds), ..source.case.clone() };
        let leaves = Source::of(&case).leaves;
        return planted.push(Planted { case, leaves, birds: birds.to_vec() });
    }
    let (a, b) = birds.split_at(birds.len() / 2);
    if !a.is_empty() {
        in_parts(source, a, planted);
        in_parts(source, b, planted);
    }
}

fn with(source: &Source<'_>, birds: &[(usize, String)]) -> Vec<u8> {
    let values: Vec<(&SourceLeaf, String)> = birds
        .iter()
        .map(|(number, word)| {
            let leaf = &source.leaves[*number];
            (leaf, sing(source.text(leaf), word))
        })
        .collect();
    let changes: Vec<(&SourceLeaf, &str)> = values.iter().map(|(leaf, value)| (*leaf, &**value)).collect();
    source.with_all(&changes)
}

/// The text with the word inserted; a text that is a JSON object stays an object.
fn sing(text: &str, word: &str) -> String {
    match text.strip_suffix("}\"") {
        Some("\"{") => format!("\"{{\\\"{word}\\\":0}}\""),
        Some(object) if object.starts_with("\"{") => format!("{object},\\\"{word}\\\":0}}\""),
        _ => format!("{}{word}\"", &text[..text.len() - 1]),
    }
}

/// Whether the events are the same except for the words, and the claims are the same.
fn survives(source: &Source<'_>, birds: &[(usize, String)]) -> bool {
    let bytes = with(source, birds);
    source.story.is_told_by(source.case.way, [&bytes[..]], |before, after| {
        without_words(after) == without_words(before)
    })
}

/// An event as text, without canaries.
fn without_words(event: &str) -> String {
    let mut rest = event;
    let mut text = String::with_capacity(event.len());
    while let Some(at) = rest.find("Qz").into_iter().chain(rest.find("Qx")).min() {
        let end = ["zQ", "xQ"].iter().filter_map(|end| rest[at + 2..].find(end)).min();
        let number = end.map(|end| &rest[at + 2..at + 2 + end]);
        let is_bird = number.is_some_and(|text| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()));
        let Some(end) = end.filter(|_| is_bird) else {
            text.push_str(&rest[..at + 2]);
            rest = &rest[at + 2..];
            continue;
        };
        // A member added to an object is removed with its punctuation.
        let (before, after) = (&rest[..at], &rest[at + 2 + end + 2..]);
        let member = [
            (",\\\\\\\"", "\\\\\\\":0"),
            ("\\\\\\\"", "\\\\\\\":0"),
            (",\\\"", "\\\":0"),
            ("\\\"", "\\\":0"),
        ];
        let cut = member
            .iter()
            .find_map(|(open, close)| Some((before.strip_suffix(open)?, after.strip_prefix(close)?)));
        let (before, after) = cut.unwrap_or((before, after));
        text.push_str(before);
        rest = after;
    }
    text.push_str(rest);
    text
}

/// The canaries in an output.
fn words_in(bytes: &[u8]) -> BTreeSet<&[u8]> {
    let starts = bytes.windows(2).enumerate().filter(|(_, pair)| *pair == b"Qz" || *pair == b"Qx");
    let word = |(at, pair): (usize, &[u8])| {
        let digits = bytes[at + 2..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let end = at + 2 + digits;
        (bytes.get(end..end + 2) == Some(&[pair[1], b'Q'])).then(|| &bytes[at..end + 2])
    };
    starts.filter_map(word).collect()
}

/// Converts the planted source and looks for each canary.
pub fn canary_law(planted: &Planted, to: Way) -> Vec<Breach> {
    let Planted { case, leaves, birds } = planted;
    let out = convert_traced(case.way, to, &case.bytes);
    if out.bytes.is_empty() {
        return Vec::new();
    }
    let fates = Fates::of(&out.report);
    let there = words_in(&out.bytes);
    let text = |leaf: &SourceLeaf| String::from_utf8_lossy(&case.bytes[leaf.at.clone()]).into_owned();
    // Leaves that must stay equal share a word: a repeated value is lost only once.
    let mut shared: BTreeMap<&str, (usize, bool)> = BTreeMap::new();
    for (number, word) in birds {
        let leaf = &leaves[*number];
        let (count, lost) = shared.entry(word).or_default();
        *count += 1;
        *lost |= matches!(fates.at(leaf.frame, &leaf.span).0, Fate::Lost(_));
    }
    let mut breaches = Vec::new();
    for (number, word) in birds {
        let leaf = &leaves[*number];
        let (fate, field) = fates.at(leaf.frame, &leaf.span);
        let (count, lost) = shared[word.as_str()];
        let is_there = there.contains(word.as_bytes());
        let name = field.map_or("no field", Field::word);
        let restored = case.is_restored_by(to) && support(&out.bytes, &text(leaf).replace(word, ""));
        let how = match fate {
            Fate::Mapped if restored => continue,
            Fate::Mapped | Fate::Kept if is_there || lost || fates.is_lost_late(field) => continue,
            Fate::Mapped => format!("mapped ({name}), but its word is not in the output"),
            Fate::Kept => format!("kept ({name}), but its word is not in the output"),
            // A redundant or rewritten value may still be in the output in part.
            Fate::Lost(Reason::Redundant | Reason::Merged | Reason::Narrowed | Reason::Refused) => continue,
            Fate::Lost(reason) if is_there && count == 1 => {
                format!("lost ({name}, {}), but its word is in the output", reason.word())
            }
            Fate::Lost(_) => continue,
        };
        breaches.push(Breach::new(CANARY, case, to, &leaf.path, how));
    }
    breaches
}

/// Exceptions of the canary law: from, to, end of the path or field, reason.
pub const EXCUSES: &[Excuse] = &[
    ("*", "claude-stream", "/params/*", "a request has no line of its own; the answer repeats it"),
    (
        "acp",
        "*",
        "/params/options[]/name",
        "a question has no line of its own; the answer has the chosen label",
    ),
    ("*", "opencode-events", "/content[]/text", "the text of a file stands there in base64"),
    ("record-v2", "codex", "/event-type", "the head of the oldest logs has no type"),
    (
        "record-v2",
        "codex",
        "/files[]/action",
        "follows from the patch, in the call or in an event; both are given back",
    ),
    ("record", "codex", "/event-type", "the head of the oldest logs has no type"),
    (
        "codex",
        "universal",
        "/unified_diff",
        "an event tells what a patch did; the result of its call says it",
    ),
    ("codex", "universal", "/move_path", "an event tells what a patch did; the result of its call says it"),
    (
        "record",
        "codex",
        "/files[]/action",
        "follows from the patch, in the call or in an event; both are given back",
    ),
    (
        "codex",
        "*",
        "/payload/call_id",
        "that an agent was started has no place there; what the agent says names the call",
    ),
    (
        "codex",
        "*",
        "/payload/item/id",
        "that an agent was started has no place there; what the agent says names the call",
    ),
    ("record-v2", "amp", "/files[]/action", "follows from the change that is given back"),
    (
        "record-v2",
        "cursor",
        "/session/vendor-ext/data/unrecorded",
        "what no transcript has follows from whose it is",
    ),
    ("record", "amp", "/children[]/files[]/action", "follows from the change that is given back"),
    (
        "record",
        "cursor",
        "/session/vendor-ext/data/unrecorded",
        "what no transcript has follows from whose it is",
    ),
    ("*", "claude-code", "/files[]/diff", MADE_OF_A_KEPT_LINE),
    ("*", "claude-code", "/files[]/action", MADE_OF_A_KEPT_LINE),
    ("*", "claude-code", "/token-usage/response-id", MADE_OF_A_KEPT_LINE),
    (
        "claude-stream",
        "@item/model",
        "/event/message/model",
        "a response's own model is lost; its items name the same one",
    ),
    ("record", "gemini-cli", "/files[]/action", "follows from the line that is given back"),
    ("record-v2", "gemini-cli", "/files[]/action", "follows from the line that is given back"),
    ("record", "qwen-code", "/files[]/action", "follows from the line that is given back"),
    ("record-v2", "qwen-code", "/files[]/action", "follows from the line that is given back"),
    ("record", "opencode", "/event-type", "a list of changes has no name; it comes back as it was"),
    ("record-v2", "opencode", "/event-type", "a list of changes has no name; it comes back as it was"),
    (
        "openai-responses",
        "gemini",
        "encrypted_content",
        "another's state stands there in base64, with its issuer's name",
    ),
    ("anthropic", "gemini", "data", "another's state stands there in base64, with its issuer's name"),
    ("kimi", "anthropic", "id", "letters that are not taken stand there in hexadecimal digits"),
    ("openai-chat", "anthropic", "id", "letters that are not taken stand there in hexadecimal digits"),
    ("anthropic", "gemini", "signature", "another's state stands there in base64, with its issuer's name"),
    (
        "copilot",
        "gemini",
        "reasoning_opaque",
        "another's state stands there in base64, with its issuer's name",
    ),
    ("openai-chat", "gemini", "data", "another's state stands there in base64, with its issuer's name"),
    ("openai-chat", "gemini", "signature", "another's state stands there in base64, with its issuer's name"),
    (
        "claude-stream",
        "claude-stream",
        "/request_id",
        "what was asked has no place in the agent's input; the answer, which has, names it",
    ),
    (
        "claude-stream",
        "claude-stream",
        "/message/content[]/content",
        "a failed result has no place in the agent's input; the refusal it shows has, and gives the reason",
    ),
    (
        "claude-stream",
        "opencode-events",
        "/request_id",
        "what was asked has no place in the agent's input; the answer, which has, names it",
    ),
    (
        "claude-stream",
        "opencode-events",
        "/message/content[]/content",
        "a failed result has no place in the agent's input; the refusal it shows has, and gives the reason",
    ),
    (
        "opencode-events",
        "claude-stream",
        "/properties/permission",
        "what was asked has no place in the agent's input; an allowance for the session names the action",
    ),
    ("kimi-code", "universal", "/event/display/after", "what a call would change is said with its result"),
    ("kimi-code", "universal", "/event/display/before", "what a call would change is said with its result"),
    ("kimi-code", "universal", "/event/display/path", "what a call would change is said with its result"),
    ("kimi-code", "atif", "/event/display/after", "what a call would change is said with its result"),
    ("kimi-code", "atif", "/event/display/before", "what a call would change is said with its result"),
    ("kimi-code", "atif", "/event/display/path", "what a call would change is said with its result"),
    (
        "codex",
        "atif",
        "/payload/changes//tmp/demo/repo/heron.txt/move_path",
        "what a patch would change is said with its result",
    ),
    (
        "codex",
        "atif",
        "/payload/changes//tmp/demo/repo/heron.txt/unified_diff",
        "what a patch would change is said with its result",
    ),
    ("kimi-code", "otel", "/event/display/after", "what a call would change is said with its result"),
    ("kimi-code", "otel", "/event/display/before", "what a call would change is said with its result"),
    ("kimi-code", "otel", "/event/display/path", "what a call would change is said with its result"),
    (
        "codex",
        "otel",
        "/payload/changes//tmp/demo/repo/heron.txt/move_path",
        "what a patch would change is said with its result",
    ),
    (
        "codex",
        "otel",
        "/payload/changes//tmp/demo/repo/heron.txt/unified_diff",
        "what a patch would change is said with its result",
    ),
    ("*", "kimi-cli", "/data/permission-mode", "the line given back says it as true or false"),
    ("*", "kimi-cli", "/session/vendor-ext/data/unrecorded", "follows from whose log is given back"),
    ("*", "kimi-cli", "files[]/action", "the line given back has the file before and after"),
    ("*", "kimi-cli", "files[]/diff", "the line given back has the file before and after"),
    ("*", "kimi-code", "files[]/action", "the line given back has the file before and after"),
    ("*", "kimi-code", "files[]/diff", "the line given back has the file before and after"),
];
