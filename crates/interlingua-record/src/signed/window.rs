//! A window on the bytes of a reader, with the few steps of a JSON scanner.
//!
//! The window holds the bytes since the last mark, so memory is bounded by the largest piece between two marks. Every
//! byte is looked at once. Positions are relative to the mark, because the window moves.

use std::io::{self, Read};
use std::ops::Range;

use super::scan::ScanFault;

/// The longest piece between two marks: an entry, or the members before or after the entries.
const MAX_PIECE: usize = 1 << 30;
/// The deepest nesting of an entry.
const MAX_DEPTH: usize = 10_000;
const BUFFER: usize = 256 << 10;

pub(super) struct Window<R> {
    input: R,
    buffer: Vec<u8>,
    /// The end of the read bytes in the buffer.
    length: usize,
    mark: usize,
    at: usize,
    /// The offset of the buffer in the input.
    offset: u64,
    /// The closing brackets of open containers, kept for its memory.
    open: Vec<u8>,
}

impl<R: Read> Window<R> {
    pub(super) fn new(input: R) -> Self {
        Self { input, buffer: vec![0; BUFFER], length: 0, mark: 0, at: 0, offset: 0, open: Vec::new() }
    }

    /// The offset of the next byte in the input.
    pub(super) fn offset(&self) -> u64 {
        self.offset + self.at as u64
    }

    /// The position of the next byte after the mark.
    pub(super) const fn position(&self) -> usize {
        self.at - self.mark
    }

    /// The bytes from the mark to the next byte.
    pub(super) fn piece(&self) -> &[u8] {
        &self.buffer[self.mark..self.at]
    }

    /// Bytes at a position after the mark.
    pub(super) fn bytes(&self, range: Range<usize>) -> &[u8] {
        &self.buffer[self.mark + range.start..self.mark + range.end]
    }

    /// Puts the mark at the next byte.
    pub(super) const fn set_mark(&mut self) {
        self.mark = self.at;
    }

    /// Reads more bytes. Returns false at the end of the input.
    fn fill(&mut self) -> Result<bool, ScanFault> {
        if self.mark > 0 {
            self.buffer.copy_within(self.mark..self.length, 0);
            self.offset += self.mark as u64;
            self.at -= self.mark;
            self.length -= self.mark;
            self.mark = 0;
        }
        if self.length == self.buffer.len() {
            if self.length >= MAX_PIECE {
                return Err(ScanFault::TooLarge(self.offset()));
            }
            self.buffer.resize(self.length * 2, 0);
        }
        loop {
            match self.input.read(&mut self.buffer[self.length..]) {
                Ok(count) => {
                    self.length += count;
                    return Ok(count > 0);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(ScanFault::Io(error)),
            }
        }
    }

    /// The next byte, or `None` at the end of the input.
    pub(super) fn peek(&mut self) -> Result<Option<u8>, ScanFault> {
        if self.at == self.length && !self.fill()? {
            return Ok(None);
        }
        Ok(Some(self.buffer[self.at]))
    }

    /// The next byte after white space, or `None` at the end of the input.
    pub(super) fn peek_token(&mut self) -> Result<Option<u8>, ScanFault> {
        loop {
            match self.peek()? {
                Some(b' ' | b'\t' | b'\n' | b'\r') => self.at += 1,
                other => return Ok(other),
            }
        }
    }

    /// Skips white space and this byte.
    pub(super) fn expect(&mut self, byte: u8, what: &'static str) -> Result<(), ScanFault> {
        match self.peek_token()? {
            Some(found) if found == byte => {
                self.at += 1;
                Ok(())
            }
            Some(_) => Err(self.malformed(what)),
            None => Err(ScanFault::Truncated(self.offset())),
        }
    }

    /// The next byte is not the expected one, or the input ended.
    pub(super) fn malformed(&self, expected: &'static str) -> ScanFault {
        if self.at == self.length {
            return ScanFault::Truncated(self.offset());
        }
        ScanFault::Malformed { at: self.offset(), expected }
    }

    /// The name of the next member of an object, as the position of its escaped text; the next byte then begins the
    /// value. `None` at the end of the object.
    pub(super) fn next_name(&mut self, is_first: bool) -> Result<Option<Range<usize>>, ScanFault> {
        match self.peek_token()? {
            Some(b'}') => {
                self.at += 1;
                return Ok(None);
            }
            Some(b',') if !is_first => self.at += 1,
            Some(b'"') if is_first => {}
            Some(_) => return Err(self.malformed("a member or the end of an object")),
            None => return Err(ScanFault::Truncated(self.offset())),
        }
        if self.peek_token()? != Some(b'"') {
            return Err(self.malformed("the name of a member"));
        }
        let start = self.position();
        self.skip_string()?;
        let name = start + 1..self.position() - 1;
        self.expect(b':', "a colon")?;
        self.peek_token()?;
        Ok(Some(name))
    }

    /// Skips one value of any type.
    pub(super) fn skip_value(&mut self) -> Result<(), ScanFault> {
        match self.peek_token()? {
            Some(b'"') => self.skip_string(),
            Some(b'{' | b'[') => self.skip_container(),
            Some(b'-' | b'0'..=b'9' | b't' | b'f' | b'n') => {
                while let Some(b'-' | b'+' | b'.' | b'0'..=b'9' | b'a'..=b'z' | b'E') = self.peek()? {
                    self.at += 1;
                }
                Ok(())
            }
            Some(_) => Err(self.malformed("a value")),
            None => Err(ScanFault::Truncated(self.offset())),
        }
    }

    fn skip_container(&mut self) -> Result<(), ScanFault> {
        self.open.clear();
        loop {
            while let Some(&byte) = self.buffer[..self.length].get(self.at) {
                match byte {
                    b'"' => {
                        self.skip_string()?;
                        continue;
                    }
                    b'{' | b'[' => {
                        if self.open.len() == MAX_DEPTH {
                            return Err(ScanFault::TooDeep(self.offset()));
                        }
                        self.open.push(byte + 2);
                    }
                    b'}' | b']' => {
                        if self.open.pop() != Some(byte) {
                            return Err(self.malformed("the matching bracket"));
                        }
                        if self.open.is_empty() {
                            self.at += 1;
                            return Ok(());
                        }
                    }
                    _ => {}
                }
                self.at += 1;
            }
            if !self.fill()? {
                return Err(ScanFault::Truncated(self.offset()));
            }
        }
    }

    /// Skips a string: its end is the first quote after an even number of backslashes. Each backslash before a quote is
    /// counted once, so the time is linear.
    fn skip_string(&mut self) -> Result<(), ScanFault> {
        self.at += 1;
        let start = self.position();
        loop {
            let Some(found) = memchr::memchr(b'"', &self.buffer[self.at..self.length]) else {
                self.at = self.length;
                if !self.fill()? {
                    return Err(ScanFault::Truncated(self.offset()));
                }
                continue;
            };
            let before = &self.buffer[self.mark + start..self.at + found];
            let backslashes = before.iter().rev().take_while(|byte| **byte == b'\\').count();
            self.at += found + 1;
            if backslashes % 2 == 0 {
                return Ok(());
            }
        }
    }
}
