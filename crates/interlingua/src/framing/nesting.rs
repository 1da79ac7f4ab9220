//! Where brackets and commas stand in JSON, whatever is in its strings.

/// A scan through JSON that comes in pieces.
#[derive(Debug, Default)]
pub(super) struct Nesting {
    /// Brackets that are open.
    pub(super) depth: usize,
    /// In a string, and whether the last byte was a backslash.
    string: Option<bool>,
}

impl Nesting {
    /// Finds the next bracket or comma outside strings, from `at` on; `None` if the bytes end before one.
    #[inline]
    pub(super) fn find(&mut self, bytes: &[u8], mut at: usize) -> Option<usize> {
        loop {
            match self.string {
                Some(true) => {
                    bytes.get(at)?;
                    self.string = Some(false);
                    at += 1;
                }
                Some(false) => {
                    at += end_of_run(bytes.get(at..)?)?;
                    self.string = (bytes[at] == b'\\').then_some(true);
                    at += 1;
                }
                None => {
                    let found = bytes.get(at..)?.iter().position(|byte| is_structure(*byte))?;
                    at += found;
                    if bytes[at] != b'"' {
                        return Some(at);
                    }
                    self.string = Some(false);
                    at += 1;
                }
            }
        }
    }
}

/// Where a quote or a backslash stands. Most strings are so short that a call of the fast search costs more than it saves.
#[inline]
fn end_of_run(bytes: &[u8]) -> Option<usize> {
    const SHORT: usize = 16;
    let near = bytes.iter().take(SHORT).position(|byte| matches!(byte, b'"' | b'\\'));
    near.or_else(|| memchr::memchr2(b'"', b'\\', bytes.get(SHORT..)?).map(|at| at + SHORT))
}

const fn is_structure(byte: u8) -> bool {
    matches!(byte, b'"' | b',' | b'{' | b'}' | b'[' | b']')
}
