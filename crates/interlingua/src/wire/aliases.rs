//! Ids and names that a target accepts, made so that the same text always gives the same one.

use std::collections::{HashMap, HashSet};

use super::backends::NameRule;
use crate::json::Str;
use crate::ledger::{Ledger, Reason, TextDigest};
use crate::model::{Field, ItemId, Tool};
use crate::pipe::Target;

/// Which characters a target takes in an id or a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Letters {
    /// All of them.
    Any,
    /// `[A-Za-z0-9_-]`
    Word,
    /// `[A-Za-z0-9_.:-]`
    Dotted,
}

/// The id or name itself if the target takes it; otherwise another one, always the same for the same text.
///
/// The new one ends in a digest of the old, so that different texts stay different. It depends on nothing else: a
/// gateway that holds the request can compute it again to find the tool a reply means.
pub fn alias<'a>(text: &'a Str<'_>, rule: NameRule) -> Str<'a> {
    let escaped = text.as_escaped();
    let letters = rule.letters.table();
    // Nearly all are: to look at each letter costs less than to ask after each.
    let all = |text: &str| text.bytes().fold(true, |all, byte| all & letters[byte as usize]);
    if rule.fits(escaped.len(), escaped.bytes().next()) && all(escaped) {
        return text.reborrow();
    }
    let plain = text.decode();
    if rule.letters == Letters::Any && rule.fits(plain.chars().count(), plain.bytes().next()) {
        return text.reborrow();
    }
    let stem = plain.chars().take(rule.most.saturating_sub(34).min(30));
    let stem: String = stem.map(|c| if c.is_ascii() && WORD[c as usize] { c } else { '_' }).collect();
    let mark =
        if rule.letter_first && !stem.starts_with(|c: char| c.is_ascii_alphabetic()) { "_" } else { "" };
    Str::from_plain(&format!("{mark}{stem}_{:032x}", TextDigest::of(&plain)))
}

impl NameRule {
    /// Whether that many characters, of which this is the first, are a name.
    fn fits(&self, characters: usize, first: Option<u8>) -> bool {
        let Some(first) = first else { return false };
        let begins = !self.letter_first || first == b'_' || first.is_ascii_alphabetic();
        begins && (self.least..=self.most).contains(&characters)
    }
}

impl Letters {
    /// Which bytes of a name may stand there as they are.
    const fn table(self) -> &'static [bool; 256] {
        match self {
            Letters::Any => &ANY,
            Letters::Word => &WORD,
            Letters::Dotted => &DOTTED,
        }
    }

    const fn takes(self, byte: u8) -> bool {
        let word = byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
        match self {
            // What is escaped, or is not ASCII, has fewer characters than bytes.
            Letters::Any => byte.is_ascii() && byte != b'\\',
            Letters::Word => word,
            Letters::Dotted => word || byte == b'.' || byte == b':',
        }
    }
}

static ANY: [bool; 256] = taken_by(Letters::Any);
static WORD: [bool; 256] = taken_by(Letters::Word);
static DOTTED: [bool; 256] = taken_by(Letters::Dotted);

const fn taken_by(letters: Letters) -> [bool; 256] {
    let (mut taken, mut byte) = ([false; 256], 0);
    while byte < 256 {
        taken[byte] = letters.takes(byte as u8);
        byte += 1;
    }
    taken
}

/// Before an id that stands there in hexadecimal digits, because its own letters are not taken.
const ENCODED: &str = "ilx_";

/// An id in letters that every API takes.
fn encoded(id: &Str<'_>) -> Str<'static> {
    let mut text = ENCODED.to_owned();
    for byte in id.decode().bytes() {
        text.extend([byte >> 4, byte & 15].map(|digit| char::from(b"0123456789abcdef"[usize::from(digit)])));
    }
    Str::from_plain(&text)
}

/// The id that a backend issued, if this is the form that its client was given ([`encoded`]): the request alone tells.
pub(crate) fn issued<'a>(id: &'a Str<'_>) -> Str<'a> {
    let digits = id.as_escaped().strip_prefix(ENCODED).filter(|digits| digits.len() % 2 == 0);
    let byte = |pair: &[u8]| {
        let digit = |byte: u8| char::from(byte).to_digit(16).filter(|_| !byte.is_ascii_uppercase());
        let (high, low) = (digit(*pair.first()?)?, digit(*pair.get(1)?)?);
        u8::try_from(high << 4 | low).ok()
    };
    let bytes: Option<Vec<u8>> = digits.and_then(|digits| digits.as_bytes().chunks(2).map(byte).collect());
    match bytes.and_then(|bytes| String::from_utf8(bytes).ok()).filter(|plain| !plain.is_empty()) {
        Some(plain) => Str::from_plain(&plain),
        None => id.reborrow(),
    }
}

/// The id of a call in a form the target takes. A call without one gets its own: no other call of the answer has it, and
/// no call of another answer, because a client that sends both back would name two calls by it.
pub(crate) fn call_id<'a>(
    id: Option<&'a Str<'a>>,
    rule: NameRule,
    answer: Option<&Str<'_>>,
    item: ItemId,
) -> Str<'a> {
    if let Some(id) = id.filter(|id| !id.is_empty()) {
        let same = alias(id, rule);
        if same.as_escaped() == id.as_escaped() || rule.most < usize::MAX {
            return same;
        }
        // There is room for a form that can be undone.
        return encoded(id);
    }
    let answer = answer.map(|id| format!("{:032x}_", TextDigest::of(id.as_escaped())));
    Str::from_plain(&format!("call_{}{}", answer.unwrap_or_default(), item.0))
}

/// The id of a call that has the id of another: numbered, from that number on, until it is new. Requests and answers do it
/// alike, and so an answer's ids come back as they were given.
pub(crate) fn numbered_id(
    id: &Str<'_>,
    mut number: usize,
    rule: NameRule,
    mut is_new: impl FnMut(&Str<'_>) -> bool,
) -> Str<'static> {
    loop {
        let numbered = Str::from_plain(&format!("{}_{number}", id.decode()));
        let numbered = call_id(Some(&numbered), rule, None, ItemId(0)).into_owned();
        if is_new(&numbered) {
            return numbered;
        }
        number += 1;
    }
}

/// The name of a call's tool in targets that have no groups. `declared` holds the groups that the request declares. OpenAI
/// answers for a deferred tool with a `namespace` equal to the tool's name: without a declared group of that name it is
/// no group.
pub(crate) fn flat_name<'a>(
    namespace: Option<&Str<'_>>,
    name: &'a Str<'a>,
    (rule, declared): (NameRule, &HashSet<String>),
    out: &mut Target<'_>,
) -> Str<'a> {
    let Some(namespace) = namespace else { return tool_name(name, rule, out.ledger) };
    if namespace == name && !declared.contains(namespace.as_escaped()) {
        out.ledger.note("namespace of a call equal to the tool's name left out");
        out.lose_str(Field::CallNamespace, namespace, Reason::Redundant);
        return tool_name(name, rule, out.ledger);
    }
    out.ledger.note("tool group put before the tool's name");
    tool_name(&joined_name(namespace, name), rule, out.ledger).into_owned()
}

/// What a backend with that rule is told that these tools are called, in their order. No two have the same name.
pub(crate) fn sent_names<'a>(tools: &'a [Tool<'_>], groups: bool, rule: NameRule) -> Vec<Str<'a>> {
    let mut known = HashSet::with_capacity(tools.len());
    let mut names = Vec::with_capacity(tools.len());
    // The next number for each name that several have.
    let mut numbers: HashMap<&str, u64> = HashMap::default();
    for tool in tools {
        let mut name = if groups { alias(&tool.name, rule) } else { sent_name(tool, rule) };
        let group = tool.namespace.as_ref().filter(|_| groups).map_or("", Str::as_escaped);
        while !known.insert((group, name.as_escaped().to_owned())) {
            let number = numbers.entry(tool.name.as_escaped()).or_insert(2);
            let stem: String = tool.name.decode().chars().take(rule.most.saturating_sub(8)).collect();
            name = alias(&Str::from_plain(&format!("{stem}_{number}")), rule).into_owned();
            *number += 1;
        }
        names.push(name);
    }
    names
}

/// What a backend with that rule and without groups is told that a tool is called, if no other has that name.
pub(crate) fn sent_name<'a>(tool: &'a Tool<'_>, rule: NameRule) -> Str<'a> {
    match &tool.namespace {
        None => alias(&tool.name, rule),
        Some(namespace) => alias(&joined_name(namespace, &tool.name), rule).into_owned(),
    }
}

/// Separates the group from the name of a tool in targets that have no groups.
pub(crate) const GROUP_MARK: &str = "__";

/// The name of a tool of a group, where there are no groups.
pub(crate) fn joined_name(namespace: &Str<'_>, name: &Str<'_>) -> Str<'static> {
    Str::from_plain(&format!("{}{GROUP_MARK}{}", namespace.decode(), name.decode()))
}

/// A tool name that the target takes.
pub(crate) fn tool_name<'a>(name: &'a Str<'a>, rule: NameRule, ledger: &mut Ledger) -> Str<'a> {
    let new = alias(name, rule);
    if new.as_escaped() != name.as_escaped() {
        ledger.note("tool name replaced by an alias the target takes");
    }
    new
}

/// An id of at most `most` characters: a longer one is replaced by a hash, which reveals nothing of a person.
pub(crate) fn short_id<'a>(field: Field, id: &'a Str<'a>, most: usize, out: &mut Target<'_>) -> Str<'a> {
    let plain = id.decode();
    if plain.chars().count() <= most {
        return id.reborrow();
    }
    out.lose_str(field, id, Reason::Refused);
    let (kind, note) = match field {
        Field::EndUser => ("user", "end user's id too long for the target: replaced by a hash of it"),
        _ => ("key", "key too long for the target: replaced by a hash of it"),
    };
    out.ledger.note(note);
    Str::from_plain(&format!("{kind}_{:032x}", TextDigest::of(&plain)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_alias_is_stable_fits_and_keeps_different_names_apart() {
        let alias_of = |text: &str| alias(&Str::plain(text), NameRule::TOOL).as_escaped().to_owned();
        assert_eq!(alias_of("call_1-A"), "call_1-A");
        assert_eq!(alias_of("functions.haul:0"), alias_of("functions.haul:0"));
        assert_ne!(alias_of("a.b"), alias_of("a:b"));
        let (long, other) = ("x".repeat(90) + "1", "x".repeat(90) + "2");
        assert_ne!(alias_of(&long), alias_of(&other));
        for text in [&long, "", "żółw.łódź", "a b"] {
            let made = alias_of(text);
            assert!(
                made.len() <= 64 && made.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_'),
                "{made}"
            );
        }
        let dotted = Str::plain("functions.haul:0");
        assert_eq!(alias(&dotted, NameRule { letters: Letters::Any, ..NameRule::TOOL }), dotted);
    }
}
