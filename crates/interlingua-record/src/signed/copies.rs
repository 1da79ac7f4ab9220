//! A search for copies of removed texts, in time that is linear in the searched text.

use std::collections::HashMap;

use interlingua::json::Str;

use crate::secrets::each_reading;

/// The shortest text of a removed value that is sought elsewhere. Shorter texts are in too many places.
const LEAST: usize = 24;
/// The number of bytes at the beginning of each text that the search compares by a rolling hash.
const WINDOW: usize = 16;
const BASE: u64 = 0x0100_0000_01b3;

/// Texts to search for.
#[derive(Default)]
pub(super) struct TextSet {
    /// The texts by the hash of their first bytes.
    by_hash: HashMap<u64, Vec<Vec<u8>>>,
}

impl TextSet {
    pub(super) fn is_empty(&self) -> bool {
        self.by_hash.is_empty()
    }

    /// Adds a text. A text that is shorter than the window is not sought.
    pub(super) fn add(&mut self, text: &[u8]) {
        let Some(window) = text.get(..WINDOW) else { return };
        let texts = self.by_hash.entry(hash(window)).or_default();
        if !texts.iter().any(|known| known == text) {
            texts.push(text.to_vec());
        }
    }

    /// Adds the strings of a JSON value that are long enough and hold white space: prose, code and commands, and not the
    /// ids and names that many entries share.
    pub(super) fn add_texts(&mut self, json: &[u8]) {
        let mut rest = json;
        while let Some(start) = memchr::memchr(b'"', rest) {
            rest = &rest[start + 1..];
            let mut end = 0;
            while let Some(found) = memchr::memchr2(b'"', b'\\', &rest[end..]) {
                end += found;
                if rest[end] == b'"' {
                    break;
                }
                end = (end + 2).min(rest.len());
            }
            let escaped = &rest[..end.min(rest.len())];
            if let Ok(text) = std::str::from_utf8(escaped) {
                let text = Str::escaped(text);
                let text = text.decode();
                if text.len() >= LEAST && text.contains(char::is_whitespace) {
                    self.add(text.as_bytes());
                }
            }
            rest = rest.get(end + 1..).unwrap_or_default();
        }
    }

    /// Whether a text is in these bytes, in one of their readings.
    pub(super) fn is_in(&self, bytes: &[u8]) -> bool {
        if self.is_empty() {
            return false;
        }
        let mut is_found = false;
        each_reading(bytes, &mut |reading| is_found = is_found || self.is_in_reading(reading));
        is_found
    }

    fn is_in_reading(&self, bytes: &[u8]) -> bool {
        let Some(first) = bytes.get(..WINDOW) else { return false };
        let highest = (1..WINDOW).fold(1u64, |power, _| power.wrapping_mul(BASE));
        let mut rolling = hash(first);
        let mut at = 0;
        loop {
            let has_text = |texts: &Vec<Vec<u8>>| texts.iter().any(|text| bytes[at..].starts_with(text));
            if self.by_hash.get(&rolling).is_some_and(has_text) {
                return true;
            }
            let (Some(&old), Some(&new)) = (bytes.get(at), bytes.get(at + WINDOW)) else { return false };
            rolling = rolling.wrapping_sub(u64::from(old).wrapping_mul(highest));
            rolling = rolling.wrapping_mul(BASE).wrapping_add(u64::from(new));
            at += 1;
        }
    }
}

fn hash(window: &[u8]) -> u64 {
    window.iter().fold(0, |hash: u64, byte| hash.wrapping_mul(BASE).wrapping_add(u64::from(*byte)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_found_in_each_reading_and_nothing_else_is() {
        let mut texts = TextSet::default();
        texts.add_texts(br#"{"a":"a text with\nsome \"words\" in it","id":"c0b3488f-eacf-4d03-abc4-4c10112d1f6b","s":"a b"}"#);
        let text = "a text with\nsome \"words\" in it";
        let escaped = r#"a text with\nsome \"words\" in it"#;
        let base64 = interlingua::json::base64(text.as_bytes());
        for place in [text, escaped, &escaped.replace('\\', r"\\"), &base64] {
            assert!(texts.is_in(format!("before {place} after").as_bytes()), "{place}");
        }
        for other in
            ["", "a text with", "c0b3488f-eacf-4d03-abc4-4c10112d1f6b", "a text with\nsome \"words\" in a"]
        {
            assert!(!texts.is_in(other.as_bytes()), "{other}");
        }
    }
}
