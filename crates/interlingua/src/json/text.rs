//! Text in JSON: strings stay escaped and values stay verbatim until a caller decodes them.
//!
//! Copying JSON to JSON then costs a `memcpy` and cannot change a spelling: `\u00e9` stays `\u00e9`, `1.0` stays
//! `1.0`, a lone surrogate passes unchanged. Decoding is lazy and only needed to compare or measure text.

use std::borrow::Cow;
use std::cmp::Ordering;

use wide::u8x16;

use crate::tape::{Limits, TapeBuf};

/// The content of a JSON string, without its quotes, still escaped.
#[derive(Clone, PartialEq, Eq, Hash, Default)]
pub struct Str<'a>(Cow<'a, str>);

impl<'a> Str<'a> {
    /// Wraps text that is already the inside of a JSON string.
    pub const fn escaped(text: &'a str) -> Self {
        Self(Cow::Borrowed(text))
    }

    /// Wraps owned text that is already escaped.
    pub(crate) const fn from_escaped(text: String) -> Str<'static> {
        Str(Cow::Owned(text))
    }

    /// Escapes plain text; borrows if no character needs escaping.
    pub fn plain(text: &'a str) -> Self {
        if text.bytes().any(needs_escape) {
            let mut out = String::with_capacity(text.len() + 8);
            escape_into(text, &mut out);
            Self(Cow::Owned(out))
        } else {
            Self(Cow::Borrowed(text))
        }
    }

    /// Escapes plain text into an owned string.
    pub fn from_plain(text: &str) -> Str<'static> {
        Str::plain(text).into_owned()
    }

    /// The escaped text, without quotes.
    pub fn as_escaped(&self) -> &str {
        &self.0
    }

    /// The plain text. A lone surrogate half, which no Rust string can hold, becomes U+FFFD.
    pub fn decode(&self) -> Cow<'_, str> {
        if memchr::memchr(b'\\', self.0.as_bytes()).is_none() {
            return Cow::Borrowed(&self.0);
        }
        let mut plain = String::with_capacity(self.0.len());
        self.decode_into(&mut plain);
        Cow::Owned(plain)
    }

    /// Appends the plain text to `out`, for callers that reuse their buffer.
    pub fn decode_into(&self, out: &mut String) {
        unescape_into(&self.0, out);
    }

    /// Whether the plain text equals `plain`.
    pub fn is(&self, plain: &str) -> bool {
        // An escape is longer than its plain text: a text of equal length has no escape.
        match self.0.len().cmp(&plain.len()) {
            Ordering::Less => false,
            Ordering::Equal => self.0 == plain && memchr::memchr(b'\\', plain.as_bytes()).is_none(),
            // The longest escape has six bytes for one; the text before the first escape must be equal.
            Ordering::Greater => {
                self.0
                    .as_bytes()
                    .first()
                    .is_some_and(|first| *first == b'\\' || plain.as_bytes().first() == Some(first))
                    && self.0.len() <= 6 * plain.len()
                    && memchr::memchr(b'\\', self.0.as_bytes())
                        .is_some_and(|first| plain.as_bytes().starts_with(&self.0.as_bytes()[..first]))
                    && self.decode() == plain
            }
        }
    }

    /// Whether the text is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Appends a later piece of the same text. A surrogate pair may be split between the two pieces.
    pub fn push(&mut self, more: &Str<'_>) {
        self.0.to_mut().push_str(&more.0);
    }

    /// Whether the text is an owned copy.
    pub(crate) fn is_owned(&self) -> bool {
        matches!(self.0, Cow::Owned(_))
    }

    /// The same text with a shorter lifetime, without copying.
    pub fn reborrow(&self) -> Str<'_> {
        Str(Cow::Borrowed(&self.0))
    }

    /// The owned copy.
    pub fn into_owned(self) -> Str<'static> {
        Str(Cow::Owned(self.0.into_owned()))
    }
}

/// Text that is already the inside of a JSON string.
impl<'a> From<Cow<'a, str>> for Str<'a> {
    fn from(escaped: Cow<'a, str>) -> Self {
        Self(escaped)
    }
}

impl std::fmt::Debug for Str<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "\"{}\"", self.0)
    }
}

/// One JSON value, verbatim: whitespace, key order and number spelling as in the source.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Raw<'a>(Cow<'a, str>);

impl<'a> Raw<'a> {
    /// Wraps text that is exactly one JSON value.
    pub const fn new(json: &'a str) -> Self {
        Self(Cow::Borrowed(json))
    }

    /// Wraps owned text that is exactly one JSON value.
    pub const fn owned(json: String) -> Raw<'static> {
        Raw(Cow::Owned(json))
    }

    /// Appends text to a string value.
    pub fn append(&mut self, text: &Str<'_>) {
        let json = self.0.to_mut();
        if json.pop().is_some() {
            json.push_str(text.as_escaped());
            json.push('"');
        }
    }

    /// The number of scalars and empty containers in the value; 1 if it is damaged.
    pub fn leaves(&self) -> u64 {
        TapeBuf::default().parse(&self.0, &Limits::default()).map_or(1, |tape| u64::from(tape.leaves()))
    }

    /// The JSON text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The text, if the value is a string. Exactly one quote is removed at each end: an escaped quote may be next to
    /// it.
    pub fn text(&self) -> Option<Str<'_>> {
        self.0.strip_prefix('"')?.strip_suffix('"').map(Str::escaped)
    }

    /// Whether the value is an owned copy.
    pub(crate) fn is_owned(&self) -> bool {
        matches!(self.0, Cow::Owned(_))
    }

    /// The same value with a shorter lifetime, without copying.
    pub fn reborrow(&self) -> Raw<'_> {
        Raw(Cow::Borrowed(&self.0))
    }

    /// The owned copy.
    pub fn into_owned(self) -> Raw<'static> {
        Raw(Cow::Owned(self.0.into_owned()))
    }
}

/// Text that is exactly one JSON value.
impl<'a> From<Cow<'a, str>> for Raw<'a> {
    fn from(json: Cow<'a, str>) -> Self {
        Self(json)
    }
}

impl std::fmt::Debug for Raw<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// The last value of a member that is repeated on every line.
#[derive(Debug, Default)]
pub struct ChangeDetector(String);

impl ChangeDetector {
    /// The value, if it differs from the last value.
    pub fn changed<'t>(&mut self, value: Option<Str<'t>>) -> Option<Str<'t>> {
        let value = value.filter(|value| !same(value.as_escaped().as_bytes(), self.0.as_bytes()))?;
        self.0.clear();
        self.0.push_str(value.as_escaped());
        Some(value)
    }
}

/// Whether two short texts are equal, in a few loads instead of a call.
#[inline]
pub(crate) fn same(one: &[u8], two: &[u8]) -> bool {
    if one.len() != two.len() {
        return false;
    }
    // The last word overlaps the first, so that no length needs a loop over bytes.
    if let (Some(first), Some(last)) = (words::<8>(one, two), last_words::<8>(one, two)) {
        let same = first.0 == first.1 && last.0 == last.1;
        return same && (one.len() <= 16 || one == two);
    }
    if let (Some(first), Some(last)) = (words::<4>(one, two), last_words::<4>(one, two)) {
        return first.0 == first.1 && last.0 == last.1;
    }
    one.iter().zip(two).all(|(one, two)| one == two)
}

#[inline]
fn words<'a, const N: usize>(one: &'a [u8], two: &'a [u8]) -> Option<(&'a [u8; N], &'a [u8; N])> {
    Some((one.first_chunk()?, two.first_chunk()?))
}

#[inline]
fn last_words<'a, const N: usize>(one: &'a [u8], two: &'a [u8]) -> Option<(&'a [u8; N], &'a [u8; N])> {
    Some((one.last_chunk()?, two.last_chunk()?))
}

/// Appends `text` to `out` as the inside of a JSON string.
pub fn escape_into(text: &str, out: &mut String) {
    escape_pieces(text, |piece| out.push_str(piece));
}

/// Passes `text` as the inside of a JSON string to `out`, piece by piece and without a copy.
#[inline]
pub(crate) fn escape_pieces(text: &str, mut out: impl FnMut(&str)) {
    let mut clean_from = 0;
    for (at, byte) in text.bytes().enumerate() {
        let escape = match byte {
            b'"' => "\\\"",
            b'\\' => "\\\\",
            _ => match ESCAPES.get(usize::from(byte)) {
                Some(escape) => escape,
                None => continue,
            },
        };
        if clean_from < at {
            out(&text[clean_from..at]);
        }
        out(escape);
        clean_from = at + 1;
    }
    out(&text[clean_from..]);
}

/// The escapes of the control characters.
const ESCAPES: [&str; 32] = [
    "\\u0000", "\\u0001", "\\u0002", "\\u0003", "\\u0004", "\\u0005", "\\u0006", "\\u0007", "\\b", "\\t",
    "\\n", "\\u000b", "\\f", "\\r", "\\u000e", "\\u000f", "\\u0010", "\\u0011", "\\u0012", "\\u0013",
    "\\u0014", "\\u0015", "\\u0016", "\\u0017", "\\u0018", "\\u0019", "\\u001a", "\\u001b", "\\u001c",
    "\\u001d", "\\u001e", "\\u001f",
];

const fn needs_escape(byte: u8) -> bool {
    byte < 0x20 || byte == b'"' || byte == b'\\'
}

/// Decodes JSON escapes. Text from a [`crate::tape::Tape`] is well formed; an invalid escape in other text is copied
/// unchanged.
fn unescape_into(text: &str, out: &mut String) {
    let mut rest = text;
    out.reserve(text.len());
    while let Some(at) = find_backslash(rest.as_bytes()) {
        push_beginning(rest, at, out);
        let tail = &rest[at + 1..];
        let (plain, used) = match tail.as_bytes().first() {
            Some(b'n') => ('\n', 1),
            Some(b'r') => ('\r', 1),
            Some(b't') => ('\t', 1),
            Some(b'b') => ('\u{8}', 1),
            Some(b'f') => ('\u{c}', 1),
            Some(b'u') => unescape_unicode(tail),
            Some(&other) if other.is_ascii() => (char::from(other), 1),
            _ => ('\\', 0),
        };
        out.push(plain);
        rest = &tail[used..];
    }
    out.push_str(rest);
}

/// Appends the first bytes of a text. A short piece is copied with the bytes after it, which is faster than an exact
/// copy.
#[inline]
fn push_beginning(text: &str, bytes: usize, out: &mut String) {
    match text.get(..16) {
        Some(more) if bytes <= 16 => {
            let end = out.len() + bytes;
            out.push_str(more);
            out.truncate(end);
        }
        _ => out.push_str(&text[..bytes]),
    }
}

/// The offset of the next backslash. Backslashes tend to be close together, so a library call for each would cost
/// more.
#[inline]
fn find_backslash(bytes: &[u8]) -> Option<usize> {
    let (chunks, _) = bytes.as_chunks::<16>();
    for (number, chunk) in chunks.iter().take(4).enumerate() {
        let found = u8x16::new(*chunk).cmp_eq(u8x16::splat(b'\\')).move_mask();
        if found != 0 {
            return Some(number * 16 + found.trailing_zeros() as usize);
        }
    }
    let seen = (chunks.len() * 16).min(64);
    let rest = bytes.get(seen..)?;
    let found = if rest.len() < 16 {
        rest.iter().position(|byte| *byte == b'\\')
    } else {
        memchr::memchr(b'\\', rest)
    };
    found.map(|at| seen + at)
}

/// Decodes `uXXXX` (and the second half of a pair); returns the character and the number of bytes of `tail` it used.
fn unescape_unicode(tail: &str) -> (char, usize) {
    let hex = |at: usize| tail.get(at..at + 4).and_then(|digits| u32::from_str_radix(digits, 16).ok());
    let Some(first) = hex(1) else { return ('u', 1) };
    if let 0xd800..=0xdbff = first
        && tail.get(5..7) == Some("\\u")
        && let Some(second @ 0xdc00..=0xdfff) = hex(7)
    {
        let code = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
        return (char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER), 11);
    }
    (char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER), 5)
}

/// Standard base64 with padding.
pub fn base64(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let word =
            chunk.iter().fold(0u32, |word, &byte| word << 8 | u32::from(byte)) << (8 * (3 - chunk.len()));
        for digit in 0..4 {
            let index = word >> (18 - 6 * digit) & 63;
            out.push(if digit > chunk.len() { '=' } else { char::from(BASE64[index as usize]) });
        }
    }
    out
}

/// Decodes [`base64`]; `None` if the text is not valid base64.
pub fn from_base64(text: &str) -> Option<Vec<u8>> {
    let text = text.as_bytes();
    let digits = text.iter().rposition(|&byte| byte != b'=').map_or(0, |last| last + 1);
    if !text.len().is_multiple_of(4) || text.len() - digits > 2 {
        return None;
    }
    let mut out = Vec::with_capacity(text.len() / 4 * 3);
    for chunk in text[..digits].chunks(4) {
        let mut word = 0u32;
        for &byte in chunk {
            word = word << 6 | BASE64.iter().position(|&digit| digit == byte)? as u32;
        }
        word <<= 6 * (4 - chunk.len());
        out.extend_from_slice(&word.to_be_bytes()[1..chunk.len()]);
    }
    Some(out)
}

const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Whether a text is an RFC 3339 date and time. Leap seconds pass; days are not checked against their month.
pub fn is_rfc3339(text: &[u8]) -> bool {
    let Some((head, tail)) = text.split_first_chunk::<19>() else { return false };
    let (Some(minutes), [b':', s1 @ b'0'..=b'9', s2 @ b'0'..=b'9']) =
        (head.first_chunk::<16>(), [head[16], head[17], head[18]])
    else {
        return false;
    };
    // Punctuation must match exactly and digits must be any digit: all bytes are compared at once.
    let minutes = u8x16::new(*minutes);
    let marks = minutes.cmp_eq(u8x16::new(*b"xxxx-xx-xxTxx:xx")).move_mask();
    let digits =
        minutes.min(u8x16::splat(b'9')).cmp_eq(minutes) & minutes.max(u8x16::splat(b'0')).cmp_eq(minutes);
    if marks != 0b0010_0100_1001_0000 || digits.move_mask() != 0b1101_1011_0110_1111 {
        return false;
    }
    let two = |at: usize| (head[at] - b'0') * 10 + (head[at + 1] - b'0');
    let date = (1..=12).contains(&two(5)) && (1..=31).contains(&two(8));
    if !date || two(11) > 23 || two(14) > 59 || (s1 - b'0') * 10 + (s2 - b'0') > 60 {
        return false;
    }
    let zone = match tail.strip_prefix(b".") {
        Some(fraction) => {
            let digits = fraction.iter().take_while(|byte| byte.is_ascii_digit()).count();
            if digits == 0 {
                return false;
            }
            &fraction[digits..]
        }
        None => tail,
    };
    match *zone {
        [b'Z'] => true,
        [b'+' | b'-', h1 @ b'0'..=b'2', h2 @ b'0'..=b'9', b':', b'0'..=b'5', b'0'..=b'9'] => {
            (h1 - b'0') * 10 + (h2 - b'0') <= 23
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escaping_and_decoding_are_inverse() {
        for plain in ["", "plain", "a\"b\\c\nd\te\u{1}f", "zażółć 🦀", "\u{8}\u{c}\r"] {
            assert_eq!(Str::plain(plain).decode(), plain);
        }
    }

    #[test]
    fn base64_is_inverse() {
        for length in 0..40u8 {
            let bytes: Vec<u8> = (0..length).map(|byte| byte.wrapping_mul(37)).collect();
            assert_eq!(from_base64(&base64(&bytes)).as_deref(), Some(&bytes[..]));
        }
        assert_eq!(base64(b"hello"), "aGVsbG8=");
        assert_eq!(from_base64("a"), None);
    }

    #[test]
    fn surrogate_pairs_decode_and_lone_halves_are_replaced() {
        assert_eq!(Str::escaped("\\ud83e\\udd80").decode(), "🦀");
        assert_eq!(Str::escaped("a\\ud83e!").decode(), "a\u{fffd}!");
    }
}
