//! CBOR (RFC 8949) as far as COSE headers, tree heads, proofs and records need it: a deterministic encoder and a strict
//! decoder.
//!
//! The encoder follows the core deterministic rules: shortest lengths, map keys sorted by their encoded bytes. The
//! decoder refuses everything that allows two readings of the same signed bytes: indefinite lengths, lengths that are
//! not the shortest, duplicate keys, trailing bytes. Floating-point numbers are accepted in records only, because COSE
//! structures have no use for them.

use std::borrow::Cow;
use std::fmt;

/// The rules of the decoder that depend on the structure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DecodeRules {
    /// The deepest nesting.
    pub(crate) depth: usize,
    /// Whether floating-point numbers are accepted.
    pub(crate) has_floats: bool,
}

impl DecodeRules {
    /// COSE headers need about five levels.
    const COSE: Self = Self { depth: 16, has_floats: false };
}

/// A CBOR data item. Decoded items borrow byte and text strings from the input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CborItem<'a> {
    /// An unsigned integer.
    Uint(u64),
    /// The negative integer `-1 - n`.
    Nint(u64),
    /// A byte string.
    Bytes(Cow<'a, [u8]>),
    /// A text string.
    Text(Cow<'a, str>),
    /// An array.
    Array(Vec<CborItem<'a>>),
    /// A map, in the order of the input. The encoder sorts it.
    Map(Vec<(CborItem<'a>, CborItem<'a>)>),
    /// A tag and its content.
    Tag(u64, Box<CborItem<'a>>),
    /// `true` or `false`.
    Bool(bool),
    /// `null`.
    Null,
    /// A finite floating-point number, as the bits of a double.
    Float(u64),
}

/// The reason for which the decoder refuses an input, with the offset of the fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CborError {
    /// The input ends inside an item.
    Truncated,
    /// Bytes follow the item.
    Trailing(usize),
    /// A string, array or map of indefinite length.
    Indefinite(usize),
    /// An integer or a length that is longer than necessary.
    NotShortest(usize),
    /// A map holds a key twice.
    DuplicateKey(usize),
    /// The nesting is deeper than the structure allows.
    TooDeep(usize),
    /// A text string is not UTF-8.
    NotUtf8(usize),
    /// A type that the decoder does not support, such as a floating-point number.
    Unsupported(usize),
}

impl fmt::Display for CborError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CborError::Truncated => write!(out, "the CBOR data is truncated"),
            CborError::Trailing(at) => write!(out, "bytes follow the CBOR data at offset {at}"),
            CborError::Indefinite(at) => write!(out, "a CBOR item of indefinite length at offset {at}"),
            CborError::NotShortest(at) => {
                write!(out, "a CBOR length at offset {at} is not the shortest form")
            }
            CborError::DuplicateKey(at) => write!(out, "a CBOR map holds a key twice, at offset {at}"),
            CborError::TooDeep(at) => write!(out, "CBOR nested too deeply at offset {at}"),
            CborError::NotUtf8(at) => write!(out, "a CBOR text at offset {at} is not UTF-8"),
            CborError::Unsupported(at) => write!(out, "an unsupported CBOR type at offset {at}"),
        }
    }
}

impl std::error::Error for CborError {}

impl<'a> CborItem<'a> {
    /// An integer of either sign.
    pub fn int(value: i64) -> Self {
        match u64::try_from(value) {
            Ok(value) => CborItem::Uint(value),
            Err(_) => CborItem::Nint((!value).cast_unsigned()),
        }
    }

    /// A text string.
    pub fn text(text: impl Into<Cow<'a, str>>) -> Self {
        CborItem::Text(text.into())
    }

    /// A byte string.
    pub fn bytes(bytes: impl Into<Cow<'a, [u8]>>) -> Self {
        CborItem::Bytes(bytes.into())
    }

    /// The value as a signed integer, if it is an integer that fits.
    pub fn as_int(&self) -> Option<i64> {
        match self {
            CborItem::Uint(value) => i64::try_from(*value).ok(),
            CborItem::Nint(value) => i64::try_from(*value).ok().map(|value| !value),
            _ => None,
        }
    }

    /// The value as an unsigned integer.
    pub const fn as_uint(&self) -> Option<u64> {
        match self {
            CborItem::Uint(value) => Some(*value),
            _ => None,
        }
    }

    /// The value as a byte string.
    pub fn as_bytes(&self) -> Option<&[u8]> {
        match self {
            CborItem::Bytes(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// The value as a text string.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            CborItem::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The elements of an array.
    pub fn as_array(&self) -> Option<&[CborItem<'a>]> {
        match self {
            CborItem::Array(items) => Some(items),
            _ => None,
        }
    }

    /// The members of a map.
    pub fn as_map(&self) -> Option<&[(CborItem<'a>, CborItem<'a>)]> {
        match self {
            CborItem::Map(members) => Some(members),
            _ => None,
        }
    }

    /// The member of a map under an integer key.
    pub fn member(&self, label: i64) -> Option<&CborItem<'a>> {
        let members = self.as_map()?;
        members.iter().find(|(key, _)| key.as_int() == Some(label)).map(|(_, value)| value)
    }

    /// The member of a map under a text key.
    pub fn named(&self, name: &str) -> Option<&CborItem<'a>> {
        let members = self.as_map()?;
        members.iter().find(|(key, _)| key.as_text() == Some(name)).map(|(_, value)| value)
    }

    /// A copy that borrows nothing.
    pub(crate) fn into_owned(self) -> CborItem<'static> {
        match self {
            CborItem::Uint(value) => CborItem::Uint(value),
            CborItem::Nint(value) => CborItem::Nint(value),
            CborItem::Bytes(bytes) => CborItem::Bytes(Cow::Owned(bytes.into_owned())),
            CborItem::Text(text) => CborItem::Text(Cow::Owned(text.into_owned())),
            CborItem::Array(items) => CborItem::Array(items.into_iter().map(CborItem::into_owned).collect()),
            CborItem::Map(members) => {
                let owned =
                    |(key, value): (CborItem<'_>, CborItem<'_>)| (key.into_owned(), value.into_owned());
                CborItem::Map(members.into_iter().map(owned).collect())
            }
            CborItem::Tag(tag, content) => CborItem::Tag(tag, Box::new(content.into_owned())),
            CborItem::Bool(value) => CborItem::Bool(value),
            CborItem::Null => CborItem::Null,
            CborItem::Float(bits) => CborItem::Float(bits),
        }
    }

    /// The deterministic encoding.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.encode_into(&mut out);
        out
    }

    /// Appends the deterministic encoding.
    pub(crate) fn encode_into(&self, out: &mut Vec<u8>) {
        match self {
            CborItem::Uint(value) => encode_head(0, *value, out),
            CborItem::Nint(value) => encode_head(1, *value, out),
            CborItem::Bytes(bytes) => {
                encode_head(2, bytes.len() as u64, out);
                out.extend_from_slice(bytes);
            }
            CborItem::Text(text) => {
                encode_head(3, text.len() as u64, out);
                out.extend_from_slice(text.as_bytes());
            }
            CborItem::Array(items) => {
                encode_head(4, items.len() as u64, out);
                for item in items {
                    item.encode_into(out);
                }
            }
            CborItem::Map(members) => {
                encode_head(5, members.len() as u64, out);
                let mut sorted: Vec<_> = members.iter().map(|(key, value)| (key.encode(), value)).collect();
                sorted.sort_by(|one, two| one.0.cmp(&two.0));
                for (key, value) in sorted {
                    out.extend_from_slice(&key);
                    value.encode_into(out);
                }
            }
            CborItem::Tag(tag, content) => {
                encode_head(6, *tag, out);
                content.encode_into(out);
            }
            CborItem::Bool(value) => out.push(if *value { 0xf5 } else { 0xf4 }),
            CborItem::Null => out.push(0xf6),
            CborItem::Float(bits) => encode_float(*bits, out),
        }
    }

    /// Decodes an input that is exactly one item.
    pub fn decode(input: &'a [u8]) -> Result<Self, CborError> {
        Self::decode_by(input, DecodeRules::COSE)
    }

    /// Decodes an input that is exactly one item, by other rules than those of COSE.
    pub(crate) fn decode_by(input: &'a [u8], rules: DecodeRules) -> Result<Self, CborError> {
        let mut decoder = Decoder { input, at: 0, rules };
        let item = decoder.item(0)?;
        if decoder.at < input.len() {
            return Err(CborError::Trailing(decoder.at));
        }
        Ok(item)
    }
}

/// Appends the head of an item: its major type and its value or length, in the shortest form.
pub(crate) fn encode_head(major: u8, value: u64, out: &mut Vec<u8>) {
    let major = major << 5;
    if value < 24 {
        out.push(major | value as u8);
    } else if let Ok(value) = u8::try_from(value) {
        out.extend_from_slice(&[major | 0x18, value]);
    } else if let Ok(value) = u16::try_from(value) {
        out.push(major | 0x19);
        out.extend_from_slice(&value.to_be_bytes());
    } else if let Ok(value) = u32::try_from(value) {
        out.push(major | 0x1a);
        out.extend_from_slice(&value.to_be_bytes());
    } else {
        out.push(major | 0x1b);
        out.extend_from_slice(&value.to_be_bytes());
    }
}

/// Appends a floating-point number in the shortest form that keeps its value.
fn encode_float(bits: u64, out: &mut Vec<u8>) {
    let double = f64::from_bits(bits);
    #[expect(clippy::cast_possible_truncation, reason = "the comparison finds a value that does not fit")]
    let single = double as f32;
    if f64::from(single).to_bits() != bits {
        out.push(0xfb);
        out.extend_from_slice(&bits.to_be_bytes());
    } else if let Some(half) = half_of(single) {
        out.push(0xf9);
        out.extend_from_slice(&half.to_be_bytes());
    } else {
        out.push(0xfa);
        out.extend_from_slice(&single.to_bits().to_be_bytes());
    }
}

/// The half-precision form of a finite number, if it keeps the value.
fn half_of(single: f32) -> Option<u16> {
    let bits = single.to_bits();
    let sign = (bits >> 16) as u16 & 0x8000;
    let (exponent, fraction) = ((bits >> 23 & 0xff).cast_signed() - 127, bits & 0x007f_ffff);
    let half = match exponent {
        -127 if fraction == 0 => 0,
        -14..=15 if fraction.trailing_zeros() >= 13 => {
            ((exponent + 15).cast_unsigned() << 10 | fraction >> 13) as u16
        }
        // A subnormal half: the leading bit becomes visible and moves to the right.
        -24..=-15 => {
            let shift = (13 + (-14 - exponent)).cast_unsigned();
            let whole = fraction | 0x0080_0000;
            (whole.trailing_zeros() >= shift).then(|| (whole >> shift) as u16)?
        }
        _ => return None,
    };
    Some(sign | half)
}

/// The value of a half-precision number, infinite or not a number as well.
fn from_half(half: u16) -> f64 {
    let (exponent, fraction) = (i32::from(half >> 10 & 0x1f), f64::from(half & 0x3ff));
    let value = match exponent {
        0 => fraction * 2f64.powi(-24),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (fraction / 1024.0 + 1.0) * 2f64.powi(exponent - 15),
    };
    if half & 0x8000 == 0 { value } else { -value }
}

struct Decoder<'a> {
    input: &'a [u8],
    at: usize,
    rules: DecodeRules,
}

impl<'a> Decoder<'a> {
    fn item(&mut self, depth: usize) -> Result<CborItem<'a>, CborError> {
        let start = self.at;
        if depth > self.rules.depth {
            return Err(CborError::TooDeep(start));
        }
        let first = self.take(1)?[0];
        let (major, info) = (first >> 5, first & 31);
        if major == 7 {
            return match info {
                20 => Ok(CborItem::Bool(false)),
                21 => Ok(CborItem::Bool(true)),
                22 => Ok(CborItem::Null),
                25..=27 if self.rules.has_floats => self.float(start, info),
                31 => Err(CborError::Indefinite(start)),
                _ => Err(CborError::Unsupported(start)),
            };
        }
        let value = self.head_value(start, info)?;
        Ok(match major {
            0 => CborItem::Uint(value),
            1 => CborItem::Nint(value),
            2 => CborItem::Bytes(Cow::Borrowed(self.string(value)?)),
            3 => {
                let text = std::str::from_utf8(self.string(value)?).map_err(|_| CborError::NotUtf8(start))?;
                CborItem::Text(Cow::Borrowed(text))
            }
            4 => {
                let mut items = Vec::new();
                for _ in 0..self.count(value)? {
                    items.push(self.item(depth + 1)?);
                }
                CborItem::Array(items)
            }
            5 => self.map(value, depth)?,
            _ => CborItem::Tag(value, Box::new(self.item(depth + 1)?)),
        })
    }

    /// A finite floating-point number in its shortest form.
    fn float(&mut self, start: usize, info: u8) -> Result<CborItem<'a>, CborError> {
        let value = match info {
            25 => from_half(self.number(2)? as u16),
            26 => f64::from(f32::from_bits(self.number(4)? as u32)),
            _ => f64::from_bits(self.number(8)?),
        };
        if !value.is_finite() {
            return Err(CborError::Unsupported(start));
        }
        let mut shortest = Vec::with_capacity(9);
        encode_float(value.to_bits(), &mut shortest);
        if self.input.get(start..self.at) != Some(&shortest[..]) {
            return Err(CborError::NotShortest(start));
        }
        Ok(CborItem::Float(value.to_bits()))
    }

    fn map(&mut self, length: u64, depth: usize) -> Result<CborItem<'a>, CborError> {
        let mut members = Vec::new();
        let mut keys = std::collections::HashSet::new();
        for _ in 0..self.count(length)? {
            let start = self.at;
            let key = self.item(depth + 1)?;
            // Equal keys have equal bytes, because every item is in its shortest form.
            if !keys.insert(&self.input[start..self.at]) {
                return Err(CborError::DuplicateKey(start));
            }
            members.push((key, self.item(depth + 1)?));
        }
        Ok(CborItem::Map(members))
    }

    fn head_value(&mut self, start: usize, info: u8) -> Result<u64, CborError> {
        let (value, least) = match info {
            0..24 => return Ok(u64::from(info)),
            24 => (u64::from(self.take(1)?[0]), 24),
            25 => (self.number(2)?, 1 << 8),
            26 => (self.number(4)?, 1 << 16),
            27 => (self.number(8)?, 1 << 32),
            31 => return Err(CborError::Indefinite(start)),
            _ => return Err(CborError::Unsupported(start)),
        };
        if value < least { Err(CborError::NotShortest(start)) } else { Ok(value) }
    }

    fn number(&mut self, length: usize) -> Result<u64, CborError> {
        Ok(self.take(length)?.iter().fold(0, |value, byte| value << 8 | u64::from(*byte)))
    }

    /// A number of elements. Every element has at least one byte, so a larger number is a truncated input.
    fn count(&self, value: u64) -> Result<usize, CborError> {
        let count = usize::try_from(value).map_err(|_| CborError::Truncated)?;
        if count > self.input.len() - self.at { Err(CborError::Truncated) } else { Ok(count) }
    }

    fn string(&mut self, length: u64) -> Result<&'a [u8], CborError> {
        self.take(usize::try_from(length).map_err(|_| CborError::Truncated)?)
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], CborError> {
        let rest = self.input.get(self.at..).unwrap_or_default();
        let taken = rest.get(..length).ok_or(CborError::Truncated)?;
        self.at += length;
        Ok(taken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_survive_encoding_and_decoding() {
        let item = CborItem::Tag(
            18,
            Box::new(CborItem::Array(vec![
                CborItem::int(-8),
                CborItem::int(i64::MIN),
                CborItem::Uint(u64::MAX),
                CborItem::bytes(vec![1; 300]),
                CborItem::text("é"),
                CborItem::Map(vec![
                    (CborItem::int(1), CborItem::Null),
                    (CborItem::int(-1), CborItem::Bool(true)),
                ]),
            ])),
        );
        assert_eq!(CborItem::decode(&item.encode()), Ok(item));
    }

    #[test]
    fn numbers_have_the_shortest_form_that_keeps_their_value() {
        let rules = DecodeRules { depth: 4, has_floats: true };
        // The examples of RFC 8949, appendix A, and the borders between the three forms.
        let cases: [(f64, &[u8]); 12] = [
            (0.0, &[0xf9, 0x00, 0x00]),
            (-0.0, &[0xf9, 0x80, 0x00]),
            (1.0, &[0xf9, 0x3c, 0x00]),
            (1.1, &[0xfb, 0x3f, 0xf1, 0x99, 0x99, 0x99, 0x99, 0x99, 0x9a]),
            (1.5, &[0xf9, 0x3e, 0x00]),
            (65504.0, &[0xf9, 0x7b, 0xff]),
            (65505.0, &[0xfa, 0x47, 0x7f, 0xe1, 0x00]),
            (100_000.0, &[0xfa, 0x47, 0xc3, 0x50, 0x00]),
            (5.960_464_477_539_063e-8, &[0xf9, 0x00, 0x01]),
            (0.000_061_035_156_25, &[0xf9, 0x04, 0x00]),
            (-4.1, &[0xfb, 0xc0, 0x10, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66]),
            (2f64.powi(-25), &[0xfa, 0x33, 0x00, 0x00, 0x00]),
        ];
        for (number, bytes) in cases {
            let item = CborItem::Float(number.to_bits());
            assert_eq!(item.encode(), bytes, "{number}");
            assert_eq!(CborItem::decode_by(bytes, rules), Ok(item), "{number}");
        }
        for bytes in [&[0xfa, 0x3f, 0x80, 0, 0][..], &[0xfb, 0x3f, 0xf8, 0, 0, 0, 0, 0, 0]] {
            assert_eq!(CborItem::decode_by(bytes, rules), Err(CborError::NotShortest(0)));
        }
        assert_eq!(CborItem::decode_by(&[0xf9, 0x7c, 0x00], rules), Err(CborError::Unsupported(0)));
    }

    #[test]
    fn map_keys_are_sorted_by_their_encoded_bytes() {
        let keys = [CborItem::text("a"), CborItem::int(-1), CborItem::int(100), CborItem::int(10)];
        let map = CborItem::Map(keys.into_iter().map(|key| (key, CborItem::Uint(0))).collect());
        assert_eq!(map.encode(), [0xa4, 0x0a, 0, 0x18, 100, 0, 0x20, 0, 0x61, b'a', 0]);
    }

    #[test]
    fn each_ambiguous_form_is_refused_with_its_own_reason() {
        let cases: [(&[u8], CborError); 12] = [
            (&[], CborError::Truncated),
            (&[0x42, 1], CborError::Truncated),
            (&[0x9b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff], CborError::Truncated),
            (&[0x00, 0x00], CborError::Trailing(1)),
            (&[0x5f, 0x41, 1, 0xff], CborError::Indefinite(0)),
            (&[0x9f, 0xff], CborError::Indefinite(0)),
            (&[0xff], CborError::Indefinite(0)),
            (&[0x18, 0x17], CborError::NotShortest(0)),
            (&[0xa2, 0x01, 0x00, 0x01, 0x00], CborError::DuplicateKey(3)),
            (&[0x61, 0xff], CborError::NotUtf8(0)),
            (&[0xf9, 0x00, 0x00], CborError::Unsupported(0)),
            (&[0x81; 40], CborError::TooDeep(17)),
        ];
        for (input, reason) in cases {
            assert_eq!(CborItem::decode(input), Err(reason), "{input:x?}");
        }
    }
}
