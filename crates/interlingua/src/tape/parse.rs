//! The pass over a frame that makes the tape.
//!
//! Most of a frame is short names and short values, so the work per value is kept small: the state of the current
//! container stays in registers, a string or an integer of up to fifteen bytes is one comparison of sixteen bytes, and
//! errors are described out of line ([`Broken`]).

use std::cell::Cell;
use std::ops::Range;

use wide::u8x16;

use super::shapes::Shapes;
use super::{Fault, Kind, Limits, Mark, Name, Node};

pub(super) struct Parser<'p> {
    pub(super) bytes: &'p [u8],
    /// Texts that are not scanned, in their order.
    known: &'p [Range<usize>],
    /// The start of the next known text.
    next_known: usize,
    pub(super) nodes: &'p mut Vec<Node>,
    pub(super) open: &'p mut Vec<OpenContainer>,
    /// The maximum number of values, minus the names so far.
    most: usize,
    pub(super) depth: usize,
    /// The number of non-empty containers, which are not leaves.
    pub(super) filled: u32,
    pub(super) fault: Fault,
    pub(super) duplicate_key: Option<usize>,
    pub(super) lone_surrogate: Option<usize>,
    pub(super) number_overflow: Option<usize>,
}

/// The frame is not a document; [`Parser::fault`] holds the reason. A fault itself is too large to return from every
/// call.
pub(super) struct Broken;

/// An open container.
#[derive(Clone, Copy, Debug)]
pub(super) struct OpenContainer {
    /// A bit set of the names seen.
    pub(super) names: u64,
    pub(super) node: u32,
    /// The closing bracket, or [`NO_BRACKET`]. As wide as the other members, so that no padding is copied.
    pub(super) bracket: u32,
}

pub(super) const OBJECT_END: u32 = b'}' as u32;
pub(super) const ARRAY_END: u32 = b']' as u32;
/// The document has no enclosing container.
const NO_BRACKET: u32 = 0;

impl<'p> Parser<'p> {
    pub(super) fn new(
        bytes: &'p [u8],
        known: &'p [Range<usize>],
        nodes: &'p mut Vec<Node>,
        open: &'p mut Vec<OpenContainer>,
        limits: &Limits,
    ) -> Self {
        Self {
            bytes,
            known,
            next_known: known.first().map_or(usize::MAX, |text| text.start),
            nodes,
            open,
            most: limits.nodes,
            depth: limits.depth,
            filled: 0,
            fault: Fault::Torn { at: 0 },
            duplicate_key: None,
            lone_surrogate: None,
            number_overflow: None,
        }
    }

    /// Reads the document. The values of a known shape are read along the shape.
    pub(super) fn document(&mut self, shapes: Option<&mut Shapes>) -> Result<(), Broken> {
        let bytes = self.bytes;
        // The unread bytes.
        let mut rest = after_space(bytes);
        // The innermost container; its enclosing containers are in `open`.
        let mut inside = OpenContainer { names: 0, node: 0, bracket: NO_BRACKET };
        if let Some(shapes) = shapes
            && self.follow(shapes, &mut rest, &mut inside)?
        {
            return Ok(());
        }
        loop {
            // A member or an element begins.
            let name =
                if inside.bracket == OBJECT_END { self.key(&mut rest, &mut inside)? } else { Name::NONE };
            let start = bytes.len() - rest.len();
            let first = rest.first().copied().unwrap_or(0);
            let kind = if first == b'"' {
                rest = match short_string(rest) {
                    Ok(after) => after,
                    Err(read) => self.long_string(start + 1 + read)?,
                };
                Kind::String
            } else {
                match first {
                    b'{' | b'[' => {
                        let (kind, bracket) =
                            if first == b'{' { (Kind::Object, OBJECT_END) } else { (Kind::Array, ARRAY_END) };
                        if self.open.len() >= self.depth {
                            return Err(self.broken(Fault::TooDeep { at: start }));
                        }
                        rest = after_space(&rest[1..]);
                        match rest.split_first() {
                            Some((&end, after)) if u32::from(end) == bracket => rest = after,
                            _ => {
                                let node = self.nodes.len() as u32;
                                self.push(start, start + 1, name, kind)?;
                                self.filled += 1;
                                self.open.push(inside);
                                inside = OpenContainer { names: 0, node, bracket };
                                continue;
                            }
                        }
                        kind
                    }
                    _ => self.plain_value(&mut rest, start, first)?,
                }
            };
            self.push(start, bytes.len() - rest.len(), name, kind)?;
            if self.after_value(&mut rest, &mut inside)? {
                return Ok(());
            }
        }
    }

    /// Reads a number, a boolean or `null` that begins with the byte `first`.
    #[expect(clippy::inline_always, reason = "a value of few bytes costs less than a call")]
    #[inline(always)]
    pub(super) fn plain_value(
        &mut self,
        rest: &mut &'p [u8],
        start: usize,
        first: u8,
    ) -> Result<Kind, Broken> {
        Ok(match first {
            b'-' | b'0'..=b'9' => {
                *rest = match short_integer(rest) {
                    Some(after) => after,
                    None => self.number_end(start)?,
                };
                Kind::Number
            }
            b't' | b'f' => {
                let word = if first == b't' { "true" } else { "false" };
                *rest = rest.strip_prefix(word.as_bytes()).ok_or_else(|| self.no_word(start, word))?;
                Kind::Bool
            }
            b'n' => {
                *rest = rest.strip_prefix(b"null").ok_or_else(|| self.no_word(start, "null"))?;
                Kind::Null
            }
            _ => return Err(self.expected(start, "a value")),
        })
    }

    /// Closes the containers that end after a value. Returns whether the document has ended; otherwise the next member
    /// or element begins.
    #[expect(clippy::inline_always, reason = "called for every value: most values are followed by a comma")]
    #[inline(always)]
    pub(super) fn after_value(
        &mut self,
        rest: &mut &'p [u8],
        inside: &mut OpenContainer,
    ) -> Result<bool, Broken> {
        loop {
            // Most programs write no whitespace.
            if let [b',', after @ ..] = *rest
                && let [b'!'..=0xff, ..] = after
                && inside.bracket != NO_BRACKET
            {
                *rest = after;
                return Ok(false);
            }
            *rest = after_space(rest);
            let at = self.bytes.len() - rest.len();
            if inside.bracket == NO_BRACKET {
                let trailing = !rest.is_empty();
                return if trailing { Err(self.broken(Fault::Trailing { at })) } else { Ok(true) };
            }
            match rest.split_first() {
                Some((&end, after)) if u32::from(end) == inside.bracket => {
                    *rest = after;
                    self.close(inside.node, at + 1);
                    if let Some(outside) = self.open.pop() {
                        *inside = outside;
                    }
                }
                Some((b',', after)) => {
                    *rest = after_space(after);
                    return Ok(false);
                }
                _ => {
                    let in_object = inside.bracket == OBJECT_END;
                    let expected = if in_object { "`,` or `}`" } else { "`,` or `]`" };
                    return Err(self.expected(at, expected));
                }
            }
        }
    }

    /// Adds a value.
    #[inline]
    pub(super) fn push(&mut self, start: usize, end: usize, name: Name, kind: Kind) -> Result<(), Broken> {
        let number = self.nodes.len();
        if number >= self.most {
            return Err(self.broken(Fault::TooManyValues { at: start }));
        }
        self.nodes.push(Node {
            at: number as u32,
            start: start as u32,
            end: end as u32,
            next: number as u32 + 1,
            name,
            kind,
            mark: Cell::new(Mark::FREE),
        });
        Ok(())
    }

    /// Closes a container; `end` is the byte after its bracket.
    #[inline]
    pub(super) fn close(&mut self, container: u32, end: usize) {
        let next = self.nodes.len() as u32;
        let node = &mut self.nodes[container as usize];
        node.end = end as u32;
        node.next = next;
    }

    /// Reads `"name" :`, up to the value.
    #[expect(
        clippy::inline_always,
        reason = "called once, for every member: a call costs as much as the name"
    )]
    #[inline(always)]
    fn key(&mut self, rest: &mut &'p [u8], inside: &mut OpenContainer) -> Result<Name, Broken> {
        let [b'"', text @ ..] = *rest else {
            let at = self.bytes.len() - rest.len();
            return Err(self.expected(at, "a member name"));
        };
        let start = self.bytes.len() - text.len();
        let short = text.first_chunk::<16>().and_then(|chunk| Some((chunk, quote_in(chunk).ok()?)));
        let (len, hash, after) = match short {
            Some((chunk, len)) => (len, hash_of_short(*chunk, len), &text[len + 1..]),
            None => self.long_name(start)?,
        };
        let name = Name { start: start as u32, len: len as u32, hash };
        let bit = 1u64 << (hash & 63);
        if inside.names & bit != 0 {
            self.watch_duplicates(name, inside.node);
        }
        inside.names |= bit;
        // Cannot underflow: the value before this name was accepted because the limit was not reached.
        self.most -= 1;
        if let [b':', value @ ..] = after
            && let [b'!'..=0xff, ..] = value
        {
            *rest = value;
            return Ok(name);
        }
        let [b':', value @ ..] = after_space(after) else {
            let at = self.bytes.len() - after_space(after).len();
            return Err(self.expected(at, "`:`"));
        };
        *rest = after_space(value);
        Ok(name)
    }

    #[inline(never)]
    fn long_name(&mut self, at: usize) -> Result<(usize, u32, &'p [u8]), Broken> {
        let after = self.long_string(at)?;
        let len = self.bytes.len() - after.len() - 1 - at;
        Ok((len, hash_of(&self.bytes[at..at + len]), after))
    }

    /// The bytes after the string whose text continues at `at`.
    #[inline(never)]
    pub(super) fn long_string(&mut self, at: usize) -> Result<&'p [u8], Broken> {
        let at = if at < self.next_known { at } else { self.after_known(at) };
        let plain = skip_plain(self.bytes, at);
        let end = if byte_at(self.bytes, plain) == b'"' { plain + 1 } else { self.string_end(plain)? };
        Ok(&self.bytes[end..])
    }

    /// The end of the known texts at `at`, or `at` if no known text holds it.
    #[cold]
    fn after_known(&mut self, mut at: usize) -> usize {
        while let [first, others @ ..] = self.known
            && first.start <= at
        {
            at = at.max(first.end.min(self.bytes.len()));
            self.known = others;
        }
        self.next_known = self.known.first().map_or(usize::MAX, |text| text.start);
        at
    }

    #[cold]
    fn watch_duplicates(&mut self, name: Name, container: u32) {
        if self.duplicate_key.is_some() {
            return;
        }
        let text = |name: Name| &self.bytes[name.start as usize..(name.start + name.len) as usize];
        let mut node = container as usize + 1;
        // Checking a wide object would be quadratic, so only 64 members are checked.
        for _ in 0..64 {
            let Some(known) = self.nodes.get(node) else { return };
            if known.name.hash == name.hash && text(known.name) == text(name) {
                self.duplicate_key = Some(name.start as usize - 1);
                return;
            }
            node = known.next as usize;
        }
    }

    /// The end of the string whose text continues at `at`, its quote included. Text with one escape usually has more,
    /// at unpredictable positions: 64 bytes are checked without a branch.
    #[inline]
    fn string_end(&mut self, mut at: usize) -> Result<usize, Broken> {
        // Whether the first of the next bytes is escaped.
        let mut carry = 0;
        // The end of the escapes read so far: the second half of a pair is read with the first.
        let mut read = 0;
        while let Some(block) = self.bytes.get(at..).and_then(<[u8]>::first_chunk::<64>) {
            let StringBlock { ends, escaped, usual, carry: next } = StringBlock::new(block, carry);
            let stop = ends & !escaped;
            let first = stop & stop.wrapping_neg();
            let unusual = escaped & !usual & first.wrapping_sub(1);
            if unusual != 0 {
                read = self.unusual_escapes(at, unusual, read)?;
            }
            if first != 0 {
                let end = at + first.trailing_zeros() as usize;
                if byte_at(self.bytes, end) == b'"' {
                    return Ok(end + 1);
                }
                return Err(self.expected(end, "no raw control character in a string"));
            }
            carry = next;
            at += 64;
        }
        if carry != 0 && at > read {
            at = self.escape(at - 1)?;
        }
        at = at.max(read);
        loop {
            at = skip_plain(self.bytes, at);
            match self.bytes.get(at) {
                Some(b'"') => return Ok(at + 1),
                Some(b'\\') => at = self.escape(at)?,
                Some(_) => return Err(self.expected(at, "no raw control character in a string")),
                None => return Err(self.broken(Fault::Torn { at })),
            }
        }
    }

    /// Reads the escapes of the bytes from `start` whose bit is set, except those already read. Returns the end of the
    /// escapes read.
    fn unusual_escapes(&mut self, start: usize, mut escaped: u64, mut read: usize) -> Result<usize, Broken> {
        while escaped != 0 {
            let backslash = start + escaped.trailing_zeros() as usize - 1;
            if backslash >= read {
                read = self.escape(backslash)?;
            }
            escaped &= escaped - 1;
        }
        Ok(read)
    }

    /// Reads the escape at `at` and returns the position after it.
    fn escape(&mut self, at: usize) -> Result<usize, Broken> {
        match self.bytes.get(at + 1) {
            // A table, not a branch: the next escape is unpredictable.
            Some(&byte) if SHORT_ESCAPE[usize::from(byte)] => Ok(at + 2),
            Some(b'u') => {
                let unit = self.hex(at + 2)?;
                match unit {
                    0xd800..=0xdbff
                        if self.bytes.get(at + 6..at + 8) == Some(b"\\u")
                            && matches!(self.hex(at + 8), Ok(0xdc00..=0xdfff)) =>
                    {
                        return Ok(at + 12);
                    }
                    0xd800..=0xdfff if self.lone_surrogate.is_none() => self.lone_surrogate = Some(at),
                    _ => {}
                }
                Ok(at + 6)
            }
            Some(_) => Err(self.expected(at, "a known escape")),
            None => Err(self.broken(Fault::Torn { at: at + 1 })),
        }
    }

    fn hex(&mut self, at: usize) -> Result<u32, Broken> {
        let mut unit = 0;
        for offset in 0..4 {
            let digit = char::from(byte_at(self.bytes, at + offset)).to_digit(16);
            let Some(digit) = digit else { return Err(self.expected(at + offset, "a hexadecimal digit")) };
            unit = unit * 16 + digit;
        }
        Ok(unit)
    }

    #[inline(never)]
    fn number_end(&mut self, start: usize) -> Result<&'p [u8], Broken> {
        let mut at = start + usize::from(byte_at(self.bytes, start) == b'-');
        at = match byte_at(self.bytes, at) {
            b'0' => at + 1,
            b'1'..=b'9' => self.digits(at)?,
            _ => return Err(self.expected(at, "a digit")),
        };
        let whole = at - start;
        if byte_at(self.bytes, at) == b'.' {
            at = self.digits(at + 1)?;
        }
        let mut exponent = false;
        if let b'e' | b'E' = byte_at(self.bytes, at) {
            let sign = usize::from(matches!(byte_at(self.bytes, at + 1), b'+' | b'-'));
            at = self.digits(at + 1 + sign)?;
            exponent = true;
        }
        // Eighteen digits always fit; most numbers are shorter.
        if (whole > 18 || exponent) && self.number_overflow.is_none() {
            self.watch_overflow(start, at, at == start + whole);
        }
        Ok(&self.bytes[at..])
    }

    #[cold]
    fn watch_overflow(&mut self, start: usize, end: usize, integer: bool) {
        // The grammar has been checked, so the text is ASCII.
        let text = std::str::from_utf8(&self.bytes[start..end]).unwrap_or_default();
        let fits = if integer {
            text.parse::<u64>().is_ok() || text.parse::<i64>().is_ok()
        } else {
            text.parse::<f64>().is_ok_and(f64::is_finite)
        };
        if !fits {
            self.number_overflow = Some(start);
        }
    }

    fn digits(&mut self, start: usize) -> Result<usize, Broken> {
        let mut at = start;
        while byte_at(self.bytes, at).is_ascii_digit() {
            at += 1;
        }
        if at == start { Err(self.expected(at, "a digit")) } else { Ok(at) }
    }

    /// The error for a value that begins like the given word but continues differently.
    #[cold]
    fn no_word(&mut self, start: usize, word: &str) -> Broken {
        if word.as_bytes().starts_with(&self.bytes[start..]) {
            return self.broken(Fault::Torn { at: self.bytes.len() });
        }
        self.expected(start, "a value")
    }

    #[cold]
    fn expected(&mut self, at: usize, expected: &'static str) -> Broken {
        let torn = at >= self.bytes.len();
        self.broken(if torn { Fault::Torn { at: self.bytes.len() } } else { Fault::Syntax { at, expected } })
    }

    #[cold]
    pub(super) fn broken(&mut self, fault: Fault) -> Broken {
        self.fault = fault;
        Broken
    }
}

#[inline]
fn byte_at(bytes: &[u8], at: usize) -> u8 {
    bytes.get(at).copied().unwrap_or(0)
}

/// The bytes after leading whitespace.
#[inline]
fn after_space(mut bytes: &[u8]) -> &[u8] {
    // Few logs have whitespace between tokens.
    while let [first @ ..=b' ', rest @ ..] = bytes
        && matches!(first, b' ' | b'\n' | b'\r' | b'\t')
    {
        bytes = rest;
    }
    bytes
}

/// The bytes after a leading string, if the string is plain text of less than sixteen bytes. Otherwise the number of
/// its leading plain bytes.
#[inline]
pub(super) fn short_string(quoted: &[u8]) -> Result<&[u8], usize> {
    let Some([_, chunk @ ..]) = quoted.first_chunk::<17>() else { return Err(0) };
    quote_in(chunk).map(|len| &quoted[len + 2..])
}

/// The bytes after a leading number, if it is an integer of few digits without a sign.
#[inline]
fn short_integer(number: &[u8]) -> Option<&[u8]> {
    let chunk = number.first_chunk::<16>()?;
    // Digits are the only bytes below ten after this XOR.
    let turned = u8x16::new(*chunk) ^ u8x16::splat(b'0');
    let digits = turned.min(u8x16::splat(9)).cmp_eq(turned).move_mask();
    // The mask keeps the index below sixteen. No digits, or only digits, is not a short number.
    let len = digits.trailing_ones() as usize & 15;
    let has_zero_before = len > 1 && chunk[0] == b'0';
    let goes_on = matches!(chunk[len], b'.' | b'e' | b'E');
    (len > 0 && !has_zero_before && !goes_on).then(|| &number[len..])
}

/// A bit for each of sixteen bytes that is a quote, a backslash or a control character.
#[inline]
fn specials(chunk: [u8; 16]) -> u32 {
    let chunk = u8x16::new(chunk);
    (is_end(chunk) | chunk.cmp_eq(u8x16::splat(b'\\'))).move_mask().cast_unsigned()
}

/// Marks quotes and control characters. The XOR moves the quote directly after the control characters, which stay in
/// their range.
#[inline]
fn is_end(chunk: u8x16) -> u8x16 {
    let turned = chunk ^ u8x16::splat(b'"' ^ b' ');
    turned.min(u8x16::splat(b' ')).cmp_eq(turned)
}

/// The length of the leading plain text if a quote ends it; otherwise the number of bytes to skip in the search.
#[inline]
fn quote_in(chunk: &[u8; 16]) -> Result<usize, usize> {
    let found = specials(*chunk);
    if found == 0 {
        return Err(16);
    }
    // The mask keeps the index below sixteen.
    let first = found.trailing_zeros() as usize & 15;
    if chunk[first] == b'"' { Ok(first) } else { Err(first) }
}

/// Bit masks for 64 bytes of a string.
struct StringBlock {
    /// Quotes and control characters: the end of a string or an error, unless escaped.
    ends: u64,
    /// Bytes after a backslash that is not escaped itself.
    escaped: u64,
    /// The usual escaped bytes: a quote, a backslash, `n` and `t`.
    usual: u64,
    /// Whether the byte after the block is escaped.
    carry: u64,
}

impl StringBlock {
    #[inline]
    fn new(bytes: &[u8; 64], carry: u64) -> Self {
        let is = |chunk: u8x16, byte: u8| chunk.cmp_eq(u8x16::splat(byte));
        let ends = block_mask(bytes, is_end);
        let slashes = block_mask(bytes, |chunk| is(chunk, b'\\'));
        let others = block_mask(bytes, |chunk| is(chunk, b'"') | is(chunk, b'n') | is(chunk, b't'));
        let Escapes { escaped, next: carry } = Escapes::new(slashes, carry);
        Self { ends, escaped, usual: slashes | others, carry }
    }
}

/// A bit for each of 64 bytes that matches.
#[inline]
pub(crate) fn block_mask(bytes: &[u8; 64], wanted: impl Fn(u8x16) -> u8x16) -> u64 {
    let chunks = bytes.as_chunks::<16>().0.iter().enumerate();
    chunks.fold(0, |mask, (at, chunk)| {
        mask | u64::from(wanted(u8x16::new(*chunk)).move_mask().cast_unsigned()) << (16 * at)
    })
}

/// Bit masks for the escapes in 64 bytes.
pub(crate) struct Escapes {
    /// Bytes after a backslash that is not escaped itself.
    pub(crate) escaped: u64,
    /// One, if the byte after the block is escaped.
    pub(crate) next: u64,
}

impl Escapes {
    /// Finds escaped bytes from the positions of backslashes. `first` is one if the first byte is escaped.
    #[inline]
    pub(crate) const fn new(slashes: u64, first: u64) -> Self {
        // In a row of backslashes every second one is escaped. The subtraction borrows through each row from its
        // start, so that the bits in and after the row show odd and even positions, for any length.
        let begins = slashes & !first;
        let rows = ((begins << 1) | ODD_BITS).wrapping_sub(begins) ^ ODD_BITS;
        Self { escaped: rows ^ (slashes | first), next: (rows & slashes) >> 63 }
    }
}

const ODD_BITS: u64 = 0xaaaa_aaaa_aaaa_aaaa;

/// The first byte at or after `at` that is a quote, a backslash or a control character.
#[inline]
fn skip_plain(bytes: &[u8], mut at: usize) -> usize {
    while let Some(chunk) = bytes[at..].first_chunk::<16>() {
        let found = specials(*chunk);
        if found != 0 {
            return at + found.trailing_zeros() as usize;
        }
        at += 16;
    }
    while at < bytes.len() && !is_special(bytes[at]) {
        at += 1;
    }
    at
}

/// The first bytes of a chunk as a number: `len` of them, fewer than sixteen.
#[inline]
pub(super) const fn short_word(chunk: [u8; 16], len: usize) -> u128 {
    u128::from_le_bytes(chunk) & SHORT[len & 15]
}

/// The hash of a name of less than sixteen bytes, which is the beginning of `chunk`.
#[inline]
const fn hash_of_short(chunk: [u8; 16], len: usize) -> u32 {
    let word = short_word(chunk, len);
    mix(word as u64, (word >> 64) as u64, len)
}

/// The hash of any name.
#[inline]
pub(crate) const fn hash_of(name: &[u8]) -> u32 {
    let Some((first, mut rest)) = name.split_first_chunk::<16>() else {
        let mut chunk = [0; 16];
        let mut at = 0;
        while at < name.len() {
            chunk[at] = name[at];
            at += 1;
        }
        return hash_of_short(chunk, name.len());
    };
    let word = u128::from_le_bytes(*first);
    let (mut low, mut high) = (word as u64, (word >> 64) as u64);
    while let Some((word, tail)) = rest.split_first_chunk::<8>() {
        (low, high) = (high, low.wrapping_mul(ODD).rotate_left(31) ^ u64::from_le_bytes(*word));
        rest = tail;
    }
    // The last eight bytes may overlap those before them: no length needs a loop over bytes.
    if let Some(last) = name.last_chunk::<8>() {
        low ^= u64::from_le_bytes(*last).rotate_left(23);
    }
    mix(low, high, name.len())
}

#[inline]
const fn mix(low: u64, high: u64, len: usize) -> u32 {
    let state = (low ^ len as u64).wrapping_mul(ODD) ^ high.wrapping_mul(ODDER);
    (state >> 32) as u32
}

const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
const ODDER: u64 = 0xd6e8_feb8_6659_fd93;

/// Masks for the first `len` bytes of sixteen.
const SHORT: [u128; 16] = {
    let mut masks = [0; 16];
    let mut len = 1;
    while len < 16 {
        masks[len] = u128::MAX >> (128 - 8 * len);
        len += 1;
    }
    masks
};

/// The bytes of two-character escapes, after the backslash.
const SHORT_ESCAPE: [bool; 256] = {
    let mut table = [false; 256];
    let short = b"\"\\/bfnrt";
    let mut at = 0;
    while at < short.len() {
        table[short[at] as usize] = true;
        at += 1;
    }
    table
};

const fn is_special(byte: u8) -> bool {
    byte < 0x20 || byte == b'"' || byte == b'\\'
}
