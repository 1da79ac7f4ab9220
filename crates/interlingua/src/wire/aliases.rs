//! Ids and names in a form that a target accepts; equal texts always get equal forms.

use std::collections::{HashMap, HashSet};

use super::backends::NameRule;
use crate::json::Str;
use crate::ledger::{Ledger, Reason, TextDigest};
use crate::model::{Field, ItemId, Tool};
use crate::pipe::WriterOutput;

/// The characters a target accepts in an id or a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(feature = "_exhaustive"), non_exhaustive)]
pub enum Letters {
    /// Any character.
    Any,
    /// `[A-Za-z0-9_-]`
    Word,
    /// `[A-Za-z0-9_.:-]`
    Dotted,
}

/// The id or name itself if the target accepts it; otherwise an alias, always the same for the same text.
///
/// The alias ends in a digest of the original, so that different texts stay different. The alias depends only on the
/// original: a gateway that holds the request can compute the alias again to find the tool in a reply.
pub fn alias<'a>(text: &'a Str<'_>, rule: NameRule) -> Str<'a> {
    let escaped = text.as_escaped();
    let letters = rule.letters.table();
    // Nearly all names fit, and a loop over every byte without a branch is fastest.
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
    /// Whether a name may have this number of characters and this first byte.
    fn fits(&self, characters: usize, first: Option<u8>) -> bool {
        let Some(first) = first else { return false };
        let begins = !self.letter_first || first == b'_' || first.is_ascii_alphabetic();
        begins && (self.least..=self.most).contains(&characters)
    }
}

impl Letters {
    /// The bytes allowed in a name without escaping.
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
            // Escaped or non-ASCII text has fewer characters than bytes.
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

/// The prefix of an id written in hexadecimal digits because the target refuses its characters.
const ENCODED: &str = "ilx_";

/// An id in characters that every API accepts.
fn encoded(id: &Str<'_>) -> Str<'static> {
    let mut text = ENCODED.to_owned();
    for byte in id.decode().bytes() {
        text.extend([byte >> 4, byte & 15].map(|digit| char::from(b"0123456789abcdef"[usize::from(digit)])));
    }
    Str::from_plain(&text)
}

/// The id a backend issued, if the given id is the form its client received ([`encoded`]). The request alone is enough
/// to decode it.
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

/// The id of a call in a form the target accepts. A call without an id gets a made-up id, unique within the answer and
/// across answers: a client that sends two answers back must not use one id for two calls.
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
        // The rule allows an encoded id, which can be decoded later.
        return encoded(id);
    }
    let answer = answer.map(|id| format!("{:032x}_", TextDigest::of(id.as_escaped())));
    Str::from_plain(&format!("call_{}{}", answer.unwrap_or_default(), item.0))
}

/// A new id for a call whose id is already used: numbered from `number` on, until it is unused. Requests and answers
/// number ids alike, so an answer's ids come back unchanged.
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

/// The name of a call's tool in targets without tool groups. `declared` holds the groups declared in the request. For
/// a deferred tool, OpenAI returns a `namespace` equal to the tool's name: without a declared group of that name, the
/// namespace is ignored.
pub(crate) fn flat_name<'a>(
    namespace: Option<&Str<'_>>,
    name: &'a Str<'a>,
    (rule, declared): (NameRule, &HashSet<String>),
    out: &mut WriterOutput<'_>,
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

/// The number of tools up to which their names are compared one by one, without a table.
const FEW_TOOLS: usize = 8;

/// The names of the tools in a request to a backend with the given rule, in order. No two tools have the same name.
pub(crate) fn sent_names<'a, 't: 'a>(
    tools: impl Iterator<Item = &'a Tool<'t>>,
    groups: bool,
    rule: NameRule,
) -> Vec<Str<'a>> {
    let group = |tool: &'a Tool<'t>| tool.namespace.as_ref().filter(|_| groups).map_or("", Str::as_escaped);
    let first = |tool: &'a Tool<'t>| if groups { alias(&tool.name, rule) } else { sent_name(tool, rule) };
    let mut tools = tools.peekable();
    let mut names = Vec::with_capacity(tools.size_hint().0);
    // Comparisons of a few names need no table.
    let mut few: Vec<&'a Tool<'t>> = Vec::with_capacity(FEW_TOOLS);
    while few.len() < FEW_TOOLS
        && let Some(tool) = tools.peek().copied()
    {
        let name = first(tool);
        let is_known = |(known, before): (&&'a Tool<'t>, &Str<'a>)| {
            before.as_escaped() == name.as_escaped() && group(known) == group(tool)
        };
        if few.iter().zip(&names).any(is_known) {
            break;
        }
        tools.next();
        few.push(tool);
        names.push(name);
    }
    if tools.peek().is_none() {
        return names;
    }
    let before = few.into_iter().zip(&names);
    let mut known: HashSet<(&str, String)> =
        before.map(|(tool, name)| (group(tool), name.as_escaped().to_owned())).collect();
    // The next number for each duplicate name.
    let mut numbers: HashMap<&str, u64> = HashMap::default();
    for tool in tools {
        let (mut name, group) = (first(tool), group(tool));
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

/// The name of a tool in a request to a backend with the given rule and without groups, before duplicates are
/// numbered.
pub(crate) fn sent_name<'a>(tool: &'a Tool<'_>, rule: NameRule) -> Str<'a> {
    match &tool.namespace {
        None => alias(&tool.name, rule),
        Some(namespace) => alias(&joined_name(namespace, &tool.name), rule).into_owned(),
    }
}

/// Separates the group from the name of a tool in targets that have no groups.
pub(crate) const GROUP_MARK: &str = "__";

/// The name of a grouped tool in targets without groups.
pub(crate) fn joined_name(namespace: &Str<'_>, name: &Str<'_>) -> Str<'static> {
    Str::from_plain(&format!("{}{GROUP_MARK}{}", namespace.decode(), name.decode()))
}

/// A tool name in a form the target accepts.
pub(crate) fn tool_name<'a>(name: &'a Str<'a>, rule: NameRule, ledger: &mut Ledger) -> Str<'a> {
    let new = alias(name, rule);
    if new.as_escaped() != name.as_escaped() {
        ledger.note("tool name replaced by an alias the target takes");
    }
    new
}

/// A hash in place of an id with more than `most` characters. The hash reveals no personal data.
pub(crate) fn short_id(
    field: Field,
    id: &Str<'_>,
    most: usize,
    out: &mut WriterOutput<'_>,
) -> Option<Str<'static>> {
    let plain = id.decode();
    if plain.chars().count() <= most {
        return None;
    }
    out.lose_str(field, id, Reason::Refused);
    let (kind, note) = match field {
        Field::EndUser => ("user", "end user's id too long for the target: replaced by a hash of it"),
        _ => ("key", "key too long for the target: replaced by a hash of it"),
    };
    out.ledger.note(note);
    Some(Str::from_plain(&format!("{kind}_{:032x}", TextDigest::of(&plain))))
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
