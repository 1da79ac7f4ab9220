//! The ends of values in JSON, ignoring the content of strings.

use wide::u8x16;

use crate::tape::{Escapes, block_mask};

/// A scan through JSON in pieces.
#[derive(Debug, Default)]
pub(super) struct Nesting {
    /// The number of open brackets.
    depth: usize,
    /// All bits set, if the scan is in a string.
    string: u64,
    /// One, if the next byte is escaped.
    escaped: u64,
}

/// A token outside all brackets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NestingMark {
    /// A comma between values.
    Comma,
    /// The closing bracket of a value.
    End,
    /// A closing bracket that was opened before the scan began.
    Outer,
}

impl Nesting {
    /// Whether a bracket is open.
    pub(super) const fn is_open(&self) -> bool {
        self.depth > 0
    }

    /// Finds the next mark from `at` on; `None` if the bytes end before a mark.
    pub(super) fn find(&mut self, bytes: &[u8], at: usize) -> Option<(usize, NestingMark)> {
        self.scan::<false>(bytes, at)
    }

    /// The same for bytes in lines: no string continues after the end of a line.
    pub(super) fn find_in_lines(&mut self, bytes: &[u8], at: usize) -> Option<(usize, NestingMark)> {
        self.scan::<true>(bytes, at)
    }

    #[inline]
    fn scan<const LINES: bool>(&mut self, bytes: &[u8], mut at: usize) -> Option<(usize, NestingMark)> {
        let mut padded = [b' '; 64];
        loop {
            let rest = bytes.get(at..).filter(|rest| !rest.is_empty())?;
            let block = rest.first_chunk().unwrap_or_else(|| {
                padded[..rest.len()].copy_from_slice(rest);
                &padded
            });
            let Escapes { escaped, next } = Escapes::new(which_are(block, b'\\'), self.escaped);
            let mut quotes = which_are(block, b'"') & !escaped;
            let breaks = if LINES { which_are(block, b'\n') } else { 0 };
            // Most blocks are in the middle of a long string and contain no tokens.
            if quotes != 0 || self.string == 0 || breaks != 0 {
                let mut strings = between(quotes) ^ self.string;
                while strings & breaks != 0 {
                    let broken = strings & breaks;
                    quotes ^= broken & broken.wrapping_neg();
                    strings = between(quotes) ^ self.string;
                }
                if let Some((found, mark)) = self.walk(block, !strings) {
                    (self.string, self.escaped) = (0, 0);
                    return Some((at + found, mark));
                }
                self.string = if strings >> 63 == 0 { 0 } else { u64::MAX };
            }
            self.escaped = if rest.len() < 64 { escaped >> rest.len() & 1 } else { next };
            at += 64;
        }
    }

    /// Walks through a block up to the first mark. `outside` marks the bytes outside strings.
    #[inline]
    fn walk(&mut self, block: &[u8; 64], outside: u64) -> Option<(usize, NestingMark)> {
        // The two opening brackets differ in this bit only, and so do the two closing brackets.
        let either = u8x16::splat(b'{' ^ b'[');
        let is_bracket = |chunk: u8x16| {
            let curly = chunk | either;
            curly.cmp_eq(u8x16::splat(b'{')) | curly.cmp_eq(u8x16::splat(b'}'))
        };
        // Most lines of an indented value hold no bracket.
        if self.depth > 0 && block_mask(block, is_bracket) & outside == 0 {
            return None;
        }
        let brackets =
            |byte| block_mask(block, |chunk| (chunk | either).cmp_eq(u8x16::splat(byte))) & outside;
        let (opens, closes) = (brackets(b'{'), brackets(b'}'));
        let closing = closes.count_ones() as usize;
        if self.depth > closing {
            // In any order of the brackets, at least one stays open.
            self.depth = self.depth + opens.count_ones() as usize - closing;
            return None;
        }
        let mut tokens = opens | closes | which_are(block, b',') & outside;
        while tokens != 0 {
            let found = tokens.trailing_zeros() as usize;
            let token = 1 << found;
            tokens &= !token;
            match (opens & token != 0, closes & token != 0, self.depth) {
                (true, _, _) => self.depth += 1,
                (false, true, 0) => return Some((found, NestingMark::Outer)),
                (false, true, 1) => {
                    self.depth = 0;
                    return Some((found, NestingMark::End));
                }
                (false, true, _) => self.depth -= 1,
                (false, false, 0) => return Some((found, NestingMark::Comma)),
                (false, false, _) => {}
            }
        }
        None
    }
}

/// A bit for each of 64 bytes that equals `byte`.
#[inline]
fn which_are(block: &[u8; 64], byte: u8) -> u64 {
    block_mask(block, |chunk| chunk.cmp_eq(u8x16::splat(byte)))
}

/// Fills the bits between each pair of edges.
#[inline]
fn between(edges: u64) -> u64 {
    [1, 2, 4, 8, 16, 32].into_iter().fold(edges, |filled, step| filled ^ filled << step)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The expected marks, found byte by byte.
    fn marks(text: &str, in_lines: bool) -> Vec<(usize, NestingMark)> {
        let (mut marks, mut depth, mut string, mut escaped) = (Vec::new(), 0, false, false);
        for (at, byte) in text.bytes().enumerate() {
            let is_escaped = escaped;
            escaped = byte == b'\\' && !is_escaped;
            match byte {
                b'\n' if in_lines => string = false,
                b'"' if !is_escaped => string = !string,
                _ if string => {}
                b'{' | b'[' => depth += 1,
                b'}' | b']' if depth == 0 => marks.push((at, NestingMark::Outer)),
                b'}' | b']' => {
                    depth -= 1;
                    if depth == 0 {
                        marks.push((at, NestingMark::End));
                    }
                }
                b',' if depth == 0 => marks.push((at, NestingMark::Comma)),
                _ => {}
            }
        }
        marks
    }

    #[test]
    fn marks_are_found_however_the_bytes_are_cut() {
        // Words that produce all block boundaries, from a generator without a seed.
        let words = [
            "{\"a\":[", "]}", ",", "\"", "\\", "\\\"", "\"x, ]\"", "        ", "[[[[", "]]]]", "é", "{}",
            "\n", "\\\n",
        ];
        let mut state = 1u64;
        for length in 1..300 {
            let mut text = String::new();
            for _ in 0..length {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                text.push_str(words[(state >> 33) as usize % words.len()]);
            }
            for in_lines in [false, true] {
                for chunk in [1, 7, 63, 64, 65, text.len()] {
                    let (mut nesting, mut found, mut before) = (Nesting::default(), Vec::new(), 0);
                    let mut next = |piece: &[u8], at: usize| {
                        if in_lines { nesting.find_in_lines(piece, at) } else { nesting.find(piece, at) }
                    };
                    for piece in text.as_bytes().chunks(chunk) {
                        let mut at = 0;
                        while let Some((mark_at, mark)) = next(piece, at) {
                            found.push((before + mark_at, mark));
                            at = mark_at + 1;
                        }
                        before += piece.len();
                    }
                    assert_eq!(
                        found,
                        marks(&text, in_lines),
                        "{text} in chunks of {chunk}, lines: {in_lines}"
                    );
                }
            }
        }
    }
}
