//! Remembers the content emitted so far. A Gemini CLI log repeats itself: a message is written again when its calls
//! have results, a result is beside its call and again in a user message, and a resumed session rewrites its whole
//! history in another form. Keys of sixteen bytes for each text, call and result identify repetitions.

use std::collections::{HashMap, HashSet};
use std::hash::BuildHasherDefault;

use super::super::logged::value_of;
use crate::json::Str;
use crate::ledger::{Identity, TextKey, text_key};
use crate::model::Usage;
use crate::tape::{Kind, Val};

/// The kinds of content that a log may repeat.
#[derive(Clone, Copy)]
pub(super) enum SaidOf {
    /// The message itself.
    Message,
    /// The presence of any text in the message.
    AnyText,
    /// All texts of the message.
    Text,
    /// A thought.
    Thought,
    /// A picture.
    Media,
    /// A call.
    Call,
    /// The result of a call.
    Result,
}

/// The message or call to which content belongs. Two messages may have the same id: a response, and the user message
/// with its calls' results.
#[derive(Clone, Copy)]
pub(super) struct Owner<'t> {
    pub(super) id: &'t str,
    pub(super) is_user: bool,
}

impl<'t> Owner<'t> {
    /// A call as owner.
    pub(super) const fn call(id: &'t str) -> Self {
        Self { id, is_user: false }
    }
}

/// Keys of the content emitted so far.
#[derive(Default)]
pub(super) struct Memory {
    said: HashSet<u128, BuildHasherDefault<Identity>>,
    /// The usage of messages, by the key of their id.
    used: HashMap<u128, Usage, BuildHasherDefault<Identity>>,
    live: LiveIds,
    plain: String,
}

impl Memory {
    pub(super) fn knows(&self, key: u128) -> bool {
        self.said.contains(&key)
    }

    pub(super) fn learn(&mut self, key: u128) {
        self.said.insert(key);
    }

    pub(super) fn live(&mut self) -> &mut LiveIds {
        &mut self.live
    }

    /// The increase of a message's usage since the last line.
    pub(super) fn increase(&mut self, message: u128, usage: Usage) -> Usage {
        let known = self.used.entry(message).or_default();
        let increase = usage.increase_over(known);
        known.overwrite(&usage);
        increase
    }

    /// The key of the concatenated texts.
    pub(super) fn key<'t>(
        &mut self,
        of: Owner<'_>,
        said: SaidOf,
        texts: impl IntoIterator<Item = Str<'t>>,
    ) -> u128 {
        let mut key = SaidKey::new(of, said);
        // The texts are joined, so that the key does not depend on their boundaries.
        self.plain.clear();
        for text in texts {
            text.decode_into(&mut self.plain);
        }
        key.bytes(self.plain.as_bytes());
        key.end()
    }

    /// The key of a thought. In the one-text form the heading comes before the text. Spaces and asterisks are ignored.
    pub(super) fn thought_key(&mut self, of: Owner<'_>, subject: Option<&Str<'_>>, text: &Str<'_>) -> u128 {
        let mut key = SaidKey::new(of, SaidOf::Thought);
        self.plain.clear();
        for text in subject.into_iter().chain([text]) {
            text.decode_into(&mut self.plain);
        }
        let mut plain = std::mem::take(&mut self.plain).into_bytes();
        plain.retain(|byte| !byte.is_ascii_whitespace() && *byte != b'*');
        key.bytes(&plain);
        plain.clear();
        // The memory is used again.
        self.plain = String::from_utf8(plain).unwrap_or_default();
        key.end()
    }

    /// The key of a call or a result, from the call's id and a value, independent of spacing and escapes.
    pub(super) fn value_key(
        &mut self,
        of: Owner<'_>,
        said: SaidOf,
        name: &str,
        value: Option<Val<'_>>,
    ) -> u128 {
        let mut key = SaidKey::new(of, said);
        key.bytes(name.as_bytes());
        let value = match said {
            SaidOf::Result => value.map(value_of),
            _ => value,
        };
        if let Some(value) = value {
            key.value(value, &mut self.plain);
        }
        key.end()
    }
}

/// The key of content of a message or call.
struct SaidKey(TextKey);

impl SaidKey {
    fn new(of: Owner<'_>, said: SaidOf) -> Self {
        let mut key = TextKey::default();
        key.bytes(of.id.as_bytes());
        key.piece(&[0xf8 | said as u8, u8::from(of.is_user)]);
        Self(key)
    }

    fn byte(&mut self, byte: u8) {
        self.0.byte(byte);
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.0.bytes(bytes);
    }

    fn text(&mut self, text: &Str<'_>, plain: &mut String) {
        let escaped = text.as_escaped();
        if memchr::memchr(b'\\', escaped.as_bytes()).is_none() {
            return self.bytes(escaped.as_bytes());
        }
        plain.clear();
        text.decode_into(plain);
        self.bytes(plain.as_bytes());
    }

    /// Hashes a whole value. A byte that is invalid in UTF-8 text marks the start of each value.
    fn value(&mut self, value: Val<'_>, plain: &mut String) {
        self.byte(0xf8 | value.kind() as u8);
        match value.kind() {
            Kind::Object => {
                for (name, member) in value.members() {
                    self.text(&name, plain);
                    self.value(member, plain);
                }
                self.byte(0xff);
            }
            Kind::Array => {
                value.elements().for_each(|element| self.value(element, plain));
                self.byte(0xff);
            }
            Kind::String => {
                if let Some(text) = value.str() {
                    self.text(&text, plain);
                }
            }
            Kind::Null | Kind::Bool | Kind::Number => {
                self.bytes(value.text().as_bytes());
            }
        }
    }

    fn end(self) -> u128 {
        self.0.end()
    }
}

/// The ids of the live messages, in order.
#[derive(Default)]
pub(super) struct LiveIds {
    text: String,
    ends: Vec<usize>,
    places: HashMap<u128, usize, BuildHasherDefault<Identity>>,
}

impl LiveIds {
    /// Adds an id, unless it is in the list.
    pub(super) fn add(&mut self, id: &str) {
        if self.find(id).is_none() {
            self.places.insert(text_key(id), self.ends.len());
            self.text.push_str(id);
            self.ends.push(self.text.len());
        }
    }

    /// The position of an id.
    pub(super) fn find(&self, id: &str) -> Option<usize> {
        self.places.get(&text_key(id)).copied().filter(|&place| self.get(place) == Some(id))
    }

    pub(super) fn get(&self, place: usize) -> Option<&str> {
        let start = place.checked_sub(1).map_or(Some(0), |before| self.ends.get(before).copied())?;
        self.text.get(start..*self.ends.get(place)?)
    }

    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Removes the ids from this position on.
    pub(super) fn truncate(&mut self, place: usize) {
        self.ends.truncate(place);
        self.text.truncate(self.ends.last().copied().unwrap_or(0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tape::{Limits, TapeBuf};

    #[test]
    fn a_value_is_known_however_it_is_spaced_and_escaped() {
        let mut memory = Memory::default();
        let mut key = |json: &str| {
            let mut buf = TapeBuf::default();
            let tape = buf.parse(json, &Limits::default()).expect("legal");
            memory.value_key(Owner::call("c1"), SaidOf::Call, "read", Some(tape.root()))
        };
        assert_eq!(key(r#"{ "a": ["\u00e9", 1] }"#), key(r#"{"a":["é",1]}"#));
        assert_ne!(key(r#"{"a":["é",1]}"#), key(r#"{"a":["é"],"1":1}"#));
        assert_ne!(key(r#"{"a":"1"}"#), key(r#"{"a":1}"#));
    }

    #[test]
    fn ids_that_no_longer_count_are_not_found() {
        let mut live = LiveIds::default();
        for id in ["a", "bb", "c", "bb"] {
            live.add(id);
        }
        assert_eq!((live.len(), live.find("c"), live.get(1)), (3, Some(2), Some("bb")));
        live.truncate(1);
        assert_eq!((live.find("bb"), live.get(0)), (None, Some("a")));
        live.add("c");
        assert_eq!((live.find("c"), live.get(1), live.find("bb")), (Some(1), Some("c"), None));
    }
}
