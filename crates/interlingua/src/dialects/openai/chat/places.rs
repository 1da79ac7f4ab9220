//! Where thoughts stand in a message, which has one string of content and one list of calls: a thought may stand between any
//! two of them, or inside the string.

use crate::json::Str;
use crate::model::{Field, Opaque, OpaqueKind, Words, issuers};
use crate::tape::Val;

/// The members of an entry of `reasoning_details` that say where it stands among the texts and calls of its message. They
/// are ours.
pub(super) const AFTER_CHARACTERS: &str = "after_characters";
pub(super) const AFTER_CALLS: &str = "after_calls";

/// Where a thought stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ThoughtPlace {
    /// So many characters of content stand before it.
    pub(super) characters: u64,
    pub(super) calls: u64,
}

impl ThoughtPlace {
    pub(super) fn of(entry: Val<'_>) -> Self {
        let count = |name| entry.get(name).and_then(|count: Val<'_>| count.u64()).unwrap_or(0);
        Self { characters: count(AFTER_CHARACTERS), calls: count(AFTER_CALLS) }
    }

    /// It was taken at its word.
    pub(super) fn note(entry: Val<'_>) {
        entry.note_u64(AFTER_CHARACTERS, Field::Structure);
        entry.note_u64(AFTER_CALLS, Field::Structure);
    }
}

/// A thought as `reasoning_opaque` says it, which is one string for a whole message: where it stands, how much of the
/// message's one text of reasoning is its own, and its state.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PackedThought<'a> {
    pub(super) place: ThoughtPlace,
    /// Characters of its text.
    pub(super) characters: u64,
    pub(super) state: Option<Opaque<'a>>,
}

/// How state of another issuer begins, with its name, where there is one.
const ENCRYPTED: &str = "interlingua:";
/// The same if the state is a signature.
const SIGNATURE: &str = "interlingua-signature:";
/// How a list of thoughts begins. They are parted by `;`, their facts by `,`: characters and calls before it, characters of
/// its own, and then, if there is state, its kind, its issuer and itself.
const LIST: &str = "interlingua-thoughts:";

/// The words of a list for the kinds of state.
const KINDS: Words<OpaqueKind> =
    Words(&[(OpaqueKind::Signature, "signature"), (OpaqueKind::Encrypted, "encrypted")]);

/// The letters that part things in a list, and what stands for them inside of a thing.
const PARTING: [(&str, &str); 3] = [("%", "%25"), (";", "%3B"), (",", "%2C")];

/// What `reasoning_opaque` says of the thoughts of a message, if anything has to be said.
pub(super) fn pack(thoughts: &[PackedThought<'_>]) -> Option<Str<'static>> {
    let come_first = thoughts.iter().all(|thought| thought.place == ThoughtPlace::default());
    match thoughts {
        [] => None,
        // The text of the message is all of its text.
        [thought] if come_first => thought.state.as_ref().map(pack_one),
        // A summary, and the state that it sums up.
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

/// What `reasoning_opaque` is.
pub(super) enum PackedState<'a> {
    /// The one state of a message.
    One {
        kind: Option<OpaqueKind>,
        issuer: &'a str,
        value: &'a str,
    },
    List(Vec<PackedThought<'a>>),
}

/// Undoes [`pack`]. A list that somebody changed is none.
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

/// A fact of a list with its parting letters, borrowed if it has none, so that its place in the document is known.
fn whole(fact: &str) -> Str<'_> {
    if !fact.contains('%') {
        return Str::escaped(fact);
    }
    let parted =
        PARTING.iter().rev().fold(fact.to_owned(), |fact, (letter, stands)| fact.replace(stands, letter));
    Str::escaped(&parted).into_owned()
}

/// How many characters an escaped text has.
pub(super) fn characters(escaped: &str) -> u64 {
    if escaped.is_ascii() && !escaped.contains('\\') {
        return escaped.len() as u64;
    }
    let (mut count, mut rest) = (0, escaped);
    while let Some(length) = first_character(rest) {
        rest = &rest[length..];
        count += 1;
    }
    count
}

/// Where in an escaped text so many characters end, if it has them.
pub(super) fn byte_of(escaped: &str, characters: u64) -> Option<usize> {
    let mut byte = 0;
    for _ in 0..characters {
        byte += first_character(escaped.get(byte..)?)?;
    }
    Some(byte)
}

/// How many bytes the first character of an escaped text has.
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
        // Two halves of one character.
        (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => 12,
        (Some(_), _) => 6,
        (None, _) => 2,
    };
    Some(length.min(escaped.len())).filter(|length| escaped.is_char_boundary(*length))
}
