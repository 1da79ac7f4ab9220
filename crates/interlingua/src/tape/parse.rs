//! The pass over a frame that makes the tape.

use wide::u8x16;

use super::{Fault, Kind, Limits, Node};

pub(super) struct Parser<'p> {
    pub(super) bytes: &'p [u8],
    pub(super) nodes: &'p mut Vec<Node>,
    pub(super) open: &'p mut Vec<(u32, u64)>,
    pub(super) limits: Limits,
    pub(super) leaves: u32,
    pub(super) duplicate_key: Option<usize>,
    pub(super) lone_surrogate: Option<usize>,
    pub(super) number_overflow: Option<usize>,
}

impl Parser<'_> {
    pub(super) fn document(&mut self) -> Result<(), Fault> {
        let mut at = self.space(0);
        loop {
            // A value stands at `at`.
            at = match self.byte(at) {
                b'"' => self.string(at, Kind::String)?,
                b'{' => {
                    self.enter(at, Kind::Object)?;
                    let next = self.space(at + 1);
                    if self.byte(next) == b'}' {
                        self.leave(next + 1)
                    } else {
                        at = self.key(next)?;
                        continue;
                    }
                }
                b'[' => {
                    self.enter(at, Kind::Array)?;
                    let next = self.space(at + 1);
                    if self.byte(next) == b']' {
                        self.leave(next + 1)
                    } else {
                        at = next;
                        continue;
                    }
                }
                b'-' | b'0'..=b'9' => self.number(at)?,
                b't' => self.word(at, b"true", Kind::Bool)?,
                b'f' => self.word(at, b"false", Kind::Bool)?,
                b'n' => self.word(at, b"null", Kind::Null)?,
                _ => return Err(self.fault(at, "a value")),
            };
            // A value ended before `at`: close what closes, then go to the next value.
            loop {
                at = self.space(at);
                let Some(&(container, _)) = self.open.last() else {
                    return if at == self.bytes.len() { Ok(()) } else { Err(Fault::Trailing { at }) };
                };
                let object = self.nodes[container as usize].kind == Kind::Object;
                match self.byte(at) {
                    b',' if object => {
                        let key = self.space(at + 1);
                        at = self.key(key)?;
                        break;
                    }
                    b',' => {
                        at = self.space(at + 1);
                        break;
                    }
                    b'}' if object => at = self.leave(at + 1),
                    b']' if !object => at = self.leave(at + 1),
                    _ if object => return Err(self.fault(at, "`,` or `}`")),
                    _ => return Err(self.fault(at, "`,` or `]`")),
                }
            }
        }
    }

    #[inline]
    fn byte(&self, at: usize) -> u8 {
        self.bytes.get(at).copied().unwrap_or(0)
    }

    #[inline]
    fn space(&self, mut at: usize) -> usize {
        while let b' ' | b'\n' | b'\r' | b'\t' = self.byte(at) {
            at += 1;
        }
        at
    }

    #[inline]
    fn push(&mut self, start: usize, end: usize, kind: Kind) -> Result<(), Fault> {
        let number = self.nodes.len();
        if number >= self.limits.nodes {
            return Err(Fault::TooManyValues { at: start });
        }
        self.nodes.push(Node {
            start: start as u32,
            end: end as u32,
            next: number as u32 + 1,
            leaves: self.leaves,
            kind,
        });
        Ok(())
    }

    fn enter(&mut self, at: usize, kind: Kind) -> Result<(), Fault> {
        if self.open.len() >= self.limits.depth {
            return Err(Fault::TooDeep { at });
        }
        self.open.push((self.nodes.len() as u32, 0));
        self.push(at, at, kind)
    }

    /// Closes the innermost container; `end` is the byte after its bracket.
    fn leave(&mut self, end: usize) -> usize {
        if let Some((container, _)) = self.open.pop() {
            let next = self.nodes.len() as u32;
            let node = &mut self.nodes[container as usize];
            node.end = end as u32;
            node.next = next;
            if next == container + 1 {
                self.leaves += 1;
            }
        }
        end
    }

    /// Reads `"name" :` and returns where the value stands.
    fn key(&mut self, at: usize) -> Result<usize, Fault> {
        if self.byte(at) != b'"' {
            return Err(self.fault(at, "a member name"));
        }
        let end = self.string(at, Kind::Key)?;
        self.watch_duplicates(at, end);
        let colon = self.space(end);
        if self.byte(colon) != b':' {
            return Err(self.fault(colon, "`:`"));
        }
        Ok(self.space(colon + 1))
    }

    #[inline]
    fn watch_duplicates(&mut self, start: usize, end: usize) {
        let key = &self.bytes[start..end];
        let mark = key.len() ^ (usize::from(key[1]) << 2) ^ (usize::from(key[key.len() / 2]) << 1);
        let Some((container, seen)) = self.open.last_mut() else { return };
        let bit = 1u64 << (mark & 63);
        let known = *seen & bit != 0;
        *seen |= bit;
        if known && self.duplicate_key.is_none() {
            let mut node = *container as usize + 1;
            let last = self.nodes.len() - 1;
            // A wide object would make this quadratic; 64 members are watched.
            for _ in 0..64 {
                if node >= last {
                    return;
                }
                let Node { start: known, end, .. } = self.nodes[node];
                if &self.bytes[known as usize..end as usize] == key {
                    self.duplicate_key = Some(start);
                    return;
                }
                node = self.nodes[node + 1].next as usize;
            }
        }
    }

    fn string(&mut self, start: usize, kind: Kind) -> Result<usize, Fault> {
        let mut at = start + 1;
        loop {
            at = skip_plain(self.bytes, at);
            match self.bytes.get(at) {
                Some(b'"') => break,
                Some(b'\\') => at = self.escape(at)?,
                Some(_) => return Err(self.fault(at, "no raw control character in a string")),
                None => return Err(Fault::Torn { at }),
            }
        }
        self.push(start, at + 1, kind)?;
        if kind == Kind::String {
            self.leaves += 1;
        }
        Ok(at + 1)
    }

    /// Reads the escape at `at` and returns where the text goes on.
    fn escape(&mut self, at: usize) -> Result<usize, Fault> {
        match self.bytes.get(at + 1) {
            // A table, not a jump: which escape comes next nobody can predict.
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
            Some(_) => Err(self.fault(at, "a known escape")),
            None => Err(Fault::Torn { at: at + 1 }),
        }
    }

    fn hex(&self, at: usize) -> Result<u32, Fault> {
        let mut unit = 0;
        for offset in 0..4 {
            let digit = char::from(self.byte(at + offset)).to_digit(16);
            unit = unit * 16 + digit.ok_or_else(|| self.fault(at + offset, "a hexadecimal digit"))?;
        }
        Ok(unit)
    }

    fn number(&mut self, start: usize) -> Result<usize, Fault> {
        let mut at = start + usize::from(self.byte(start) == b'-');
        at = match self.byte(at) {
            b'0' => at + 1,
            b'1'..=b'9' => self.digits(at)?,
            _ => return Err(self.fault(at, "a digit")),
        };
        let whole = at - start;
        if self.byte(at) == b'.' {
            at = self.digits(at + 1)?;
        }
        let mut exponent = false;
        if let b'e' | b'E' = self.byte(at) {
            let sign = usize::from(matches!(self.byte(at + 1), b'+' | b'-'));
            at = self.digits(at + 1 + sign)?;
            exponent = true;
        }
        // Eighteen digits always fit; most numbers are shorter.
        if (whole > 18 || exponent) && self.number_overflow.is_none() {
            self.watch_overflow(start, at, at == start + whole);
        }
        self.push(start, at, Kind::Number)?;
        self.leaves += 1;
        Ok(at)
    }

    #[cold]
    fn watch_overflow(&mut self, start: usize, end: usize, integer: bool) {
        // The grammar has been checked: this is ASCII.
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

    fn digits(&self, start: usize) -> Result<usize, Fault> {
        let mut at = start;
        while self.byte(at).is_ascii_digit() {
            at += 1;
        }
        if at == start { Err(self.fault(at, "a digit")) } else { Ok(at) }
    }

    fn word(&mut self, start: usize, word: &[u8], kind: Kind) -> Result<usize, Fault> {
        let end = start + word.len();
        let have = &self.bytes[start..end.min(self.bytes.len())];
        if have != word {
            return Err(if word.starts_with(have) {
                Fault::Torn { at: self.bytes.len() }
            } else {
                self.fault(start, "a value")
            });
        }
        self.push(start, end, kind)?;
        self.leaves += 1;
        Ok(end)
    }

    #[cold]
    fn fault(&self, at: usize, expected: &'static str) -> Fault {
        if at >= self.bytes.len() {
            Fault::Torn { at: self.bytes.len() }
        } else {
            Fault::Syntax { at, expected }
        }
    }
}

/// The first byte at or after `at` that is a quote, a backslash or a control character.
#[inline]
fn skip_plain(bytes: &[u8], mut at: usize) -> usize {
    let last_control = u8x16::splat(0x1f);
    while let Some(chunk) = bytes[at..].first_chunk::<16>() {
        let chunk = u8x16::new(*chunk);
        let special = chunk.cmp_eq(u8x16::splat(b'"'))
            | chunk.cmp_eq(u8x16::splat(b'\\'))
            | chunk.max(last_control).cmp_eq(last_control);
        let found = special.move_mask();
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

/// What may follow a backslash on its own.
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
