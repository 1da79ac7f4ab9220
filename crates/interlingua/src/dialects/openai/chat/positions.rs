//! Positions of thoughts in a message. A message has one content string and one list of calls; a thought may be between
//! any two of these, or inside the string.

use crate::json::Str;
use crate::model::{Field, Opaque, OpaqueKind, Words, issuers};
use crate::tape::Val;

/// Members of a `reasoning_details` entry that hold its position among the texts and calls of the message. Both members
/// are ours, not the API's.
pub(super) const AFTER_CHARACTERS: &str = "after_characters";
pub(super) const AFTER_CALLS: &str = "after_calls";

/// The position of a thought in its message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ThoughtPlace {
    /// The number of content characters before the thought.
    pub(super) characters: u64,
    pub(super) calls: u64,
}

impl ThoughtPlace {
    pub(super) fn of(entry: Val<'_>) -> Self {
        let count = |name| entry.get(name).and_then(|count: Val<'_>| count.u64()).unwrap_or(0);
        Self { characters: count(AFTER_CHARACTERS), calls: count(AFTER_CALLS) }
    }

    /// Notes the position members of an entry that was read at its position.
    pub(super) fn note(entry: Val<'_>) {
        entry.note_u64(AFTER_CHARACTERS, Field::Structure);
        entry.note_u64(AFTER_CALLS, Field::Structure);
    }
}

/// A thought in `reasoning_opaque`, which is one string per message: the thought's position, the length of its share of
/// the message's reasoning text, and its state.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PackedThought<'a> {
    pub(super) place: ThoughtPlace,
    /// The number of characters of its text.
    pub(super) characters: u64,
    pub(super) state: Option<Opaque<'a>>,
}

/// Prefix of another issuer's encrypted state; the issuer's name follows.
const ENCRYPTED: &str = "interlingua:";
/// Prefix of another issuer's signature; the issuer's name follows.
const SIGNATURE: &str = "interlingua-signature:";
/// Prefix of a list of thoughts. `;` separates thoughts and `,` separates their values: characters before, calls
/// before, characters of its own, and, for a thought with state, the state's kind, issuer and value.
const LIST: &str = "interlingua-thoughts:";

/// The names of the state kinds in a list.
const KINDS: Words<OpaqueKind> =
    Words(&[(OpaqueKind::Signature, "signature"), (OpaqueKind::Encrypted, "encrypted")]);

/// The separators in a list, with their escapes inside a value.
const PARTING: [(&str, &str); 3] = [("%", "%25"), (";", "%3B"), (",", "%2C")];

/// The value of `reasoning_opaque` for the thoughts of a message, or `None` if there is no state and no position to
/// write.
pub(super) fn pack(thoughts: &[PackedThought<'_>]) -> Option<Str<'static>> {
    let come_first = thoughts.iter().all(|thought| thought.place == ThoughtPlace::default());
    match thoughts {
        [] => None,
        // The thought owns the whole reasoning text of the message.
        [thought] if come_first => thought.state.as_ref().map(pack_one),
        // A summary, followed by the encrypted state of the same thought.
        [PackedThought { state: None, .. }, PackedThought { state: Some(state), characters: 0, .. }]
            if come_first && state.kind == OpaqueKind::Encrypted =>
        {
            Some(pack_one(state))
        }
        _ => {
            let list: Vec<String> = thoughts.iter().map(pack_thought).collect();
            Some(Str::from_plain(&format!("{LIST}{}", list.join(";"))))
        }
    }
}

fn pack_thought(thought: &PackedThought<'_>) -> String {
    let PackedThought { place: ThoughtPlace { characters: before, calls }, characters, state } = thought;
    let mut packed = format!("{before},{calls},{characters}");
    if let Some(Opaque { kind, issuer, value }) = state {
        for fact in [KINDS.word(*kind).unwrap_or_default().into(), issuer.decode(), value.decode()] {
            packed.push(',');
            let parted =
                PARTING.iter().fold(fact, |fact, (letter, stands)| fact.replace(letter, stands).into());
            packed.push_str(&parted);
        }
    }
    packed
}

fn pack_one(state: &Opaque<'_>) -> Str<'static> {
    let Opaque { kind, issuer, value } = state;
    if issuer.is(issuers::COPILOT) {
        return value.clone().into_owned();
    }
    let mark = match kind {
        OpaqueKind::Signature => SIGNATURE,
        OpaqueKind::Encrypted => ENCRYPTED,
    };
    Str::escaped(&format!("{mark}{}:{}", issuer.as_escaped(), value.as_escaped())).into_owned()
}

/// The content of a `reasoning_opaque` string.
pub(super) enum PackedState<'a> {
    /// The single state of a message.
    One {
        kind: Option<OpaqueKind>,
        issuer: &'a str,
        value: &'a str,
    },
    List(Vec<PackedThought<'a>>),
}

/// Undoes [`pack`]. Returns `None` for a damaged list.
pub(super) fn unpack(escaped: &str) -> Option<PackedState<'_>> {
    if let Some(list) = escaped.strip_prefix(LIST) {
        return list.split(';').map(unpack_thought).collect::<Option<_>>().map(PackedState::List);
    }
    let carried = |mark| escaped.strip_prefix(mark).and_then(|rest: &str| rest.split_once(':'));
    let marks = [(SIGNATURE, OpaqueKind::Signature), (ENCRYPTED, OpaqueKind::Encrypted)];
    let carried = marks.into_iter().find_map(|(mark, kind)| Some((kind, carried(mark)?)));
    Some(match carried {
        Some((kind, (issuer, value))) => PackedState::One { kind: Some(kind), issuer, value },
        None => PackedState::One { kind: None, issuer: issuers::COPILOT, value: escaped },
    })
}

fn unpack_thought(thought: &str) -> Option<PackedThought<'_>> {
    let mut facts = thought.split(',');
    let mut count = || facts.next()?.parse().ok();
    let place = ThoughtPlace { characters: count()?, calls: count()? };
    let characters = count()?;
    let state = match [facts.next(), facts.next(), facts.next(), facts.next()] {
        [None, ..] => None,
        [Some(kind), Some(issuer), Some(value), None] => Some(Opaque {
            kind: KINDS.value(&Str::escaped(kind))?,
            issuer: whole(issuer),
            value: whole(value),
        }),
        _ => return None,
    };
    Some(PackedThought { place, characters, state })
}

/// A value of a list with its escapes undone. A value without escapes stays borrowed, so that its position in the
/// document is known.
fn whole(fact: &str) -> Str<'_> {
    if !fact.contains('%') {
        return Str::escaped(fact);
    }
    let parted =
        PARTING.iter().rev().fold(fact.to_owned(), |fact, (letter, stands)| fact.replace(stands, letter));
    Str::escaped(&parted).into_owned()
}

/// The number of characters in an escaped text.
pub(super) fn characters(escaped: &str) -> u64 {
    if escaped.is_ascii() && memchr::memchr(b'\\', escaped.as_bytes()).is_none() {
        return escaped.len() as u64;
    }
    let (mut count, mut rest) = (0, escaped);
    while let Some(length) = first_character(rest) {
        rest = &rest[length..];
        count += 1;
    }
    count
}

/// The byte offset after the first `characters` characters of an escaped text, if the text is long enough.
pub(super) fn byte_of(escaped: &str, characters: u64) -> Option<usize> {
    let mut byte = 0;
    for _ in 0..characters {
        byte += first_character(escaped.get(byte..)?)?;
    }
    Some(byte)
}

/// The length in bytes of the first character of an escaped text.
fn first_character(escaped: &str) -> Option<usize> {
    let first = escaped.chars().next()?;
    if first != '\\' {
        return Some(first.len_utf8());
    }
    let unit = |at: usize| {
        let digits = escaped.get(at..)?.strip_prefix("\\u")?.get(..4)?;
        u32::from_str_radix(digits, 16).ok()
    };
    let length = match (unit(0), unit(6)) {
        // A surrogate pair is one character.
        (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => 12,
        (Some(_), _) => 6,
        (None, _) => 2,
    };
    Some(length.min(escaped.len())).filter(|length| escaped.is_char_boundary(*length))
}
