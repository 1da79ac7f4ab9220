//! What can be wrong, as facts: a stable code, a place, what was expected. Prose and hints live in one table here;
//! rendering (windows of input, colour) is the caller's.

use std::fmt;

use crate::tape::Fault;

/// Where in the input.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The frame (for line-based input: the line), from 1; 0 when it is about the whole input.
    pub frame: u64,
    /// The byte inside that frame.
    pub byte: Option<usize>,
    /// The JSON pointer inside that frame.
    pub pointer: Option<String>,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.frame {
            0 => f.write_str("input")?,
            frame => write!(f, "line {frame}")?,
        }
        if let Some(byte) = self.byte {
            write!(f, ", byte {byte}")?;
        }
        if let Some(pointer) = &self.pointer {
            write!(f, ", at `{pointer}`")?;
        }
        Ok(())
    }
}

/// Something wrong with the input. The run goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// What.
    pub code: Code,
    /// Where.
    pub place: Place,
    /// What was found there or would have been expected, in a few words.
    pub detail: String,
    /// A short window of the input.
    pub window: String,
}

impl Problem {
    /// Whether bytes could not be read; otherwise something readable is unsound.
    pub fn is_damage(&self) -> bool {
        self.code.is_damage()
    }
}

/// Every kind of problem, with a stable name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Code {
    /// The input has no content.
    Empty,
    /// A frame is not JSON.
    InvalidJson,
    /// The last frame is cut off.
    Torn,
    /// A frame is not UTF-8.
    InvalidUtf8,
    /// A frame holds a run of NUL bytes, as a crash leaves behind.
    NulBytes,
    /// A frame is nested too deeply.
    TooDeep,
    /// A frame is larger than the limit, or has too many values.
    TooLarge,
    /// A member name stands twice in one object.
    DuplicateKey,
    /// An escape names half a surrogate pair.
    LoneSurrogate,
    /// A frame is of another dialect or of no known shape.
    UnknownShape,
    /// The input has too few or too many documents for its framing.
    Framing,
    /// A record breaks its schema.
    Schema,
    /// A reference names something that is not there.
    DanglingLink,
    /// Events came out of order.
    Lifecycle,
    /// A kept line has a hole that nothing fills.
    UnfilledHole,
}

impl Code {
    /// The stable name.
    pub const fn name(self) -> &'static str {
        match self {
            Code::Empty => "empty",
            Code::InvalidJson => "invalid-json",
            Code::Torn => "torn",
            Code::InvalidUtf8 => "invalid-utf8",
            Code::NulBytes => "nul-bytes",
            Code::TooDeep => "too-deep",
            Code::TooLarge => "too-large",
            Code::DuplicateKey => "duplicate-key",
            Code::LoneSurrogate => "lone-surrogate",
            Code::UnknownShape => "unknown-shape",
            Code::Framing => "framing",
            Code::Schema => "schema",
            Code::DanglingLink => "dangling-link",
            Code::Lifecycle => "lifecycle",
            Code::UnfilledHole => "unfilled-hole",
        }
    }

    /// One line for people.
    pub const fn message(self) -> &'static str {
        match self {
            Code::Empty => "there is nothing in the input",
            Code::InvalidJson => "not valid JSON; kept verbatim",
            Code::Torn => "cut off in the middle; kept verbatim",
            Code::InvalidUtf8 => "not valid UTF-8; kept verbatim",
            Code::NulBytes => "NUL bytes where text should be; kept verbatim",
            Code::TooDeep => "nested too deeply; kept verbatim",
            Code::TooLarge => "too large to read; kept verbatim",
            Code::DuplicateKey => {
                "the same member name twice in one object; both kept, the first one is read"
            }
            Code::LoneSurrogate => "half a surrogate pair; kept as written",
            Code::UnknownShape => "not a shape this dialect writes; kept verbatim",
            Code::Framing => "not framed as expected",
            Code::Schema => "breaks the schema",
            Code::DanglingLink => "refers to something that is not in the input",
            Code::Lifecycle => "out of order",
            Code::UnfilledHole => "a kept value has lost its canonical counterpart",
        }
    }

    /// The way out, where there is one.
    pub const fn hint(self) -> Option<&'static str> {
        match self {
            Code::Empty => Some("give a file with content, or pipe one in"),
            Code::Torn => {
                Some("the program that wrote it was probably stopped; the lines before it are fine")
            }
            Code::NulBytes => Some("the disk was probably full or the machine crashed; other lines are fine"),
            Code::TooLarge => Some("raise the limit with `--max-frame`"),
            Code::UnknownShape => Some("if the source dialect was guessed wrong, name it with `--from`"),
            Code::DanglingLink => {
                Some("forked and resumed sessions refer to lines of an earlier file; that is normal")
            }
            _ => None,
        }
    }

    /// Whether bytes could not be read.
    pub const fn is_damage(self) -> bool {
        matches!(
            self,
            Code::Empty
                | Code::InvalidJson
                | Code::Torn
                | Code::InvalidUtf8
                | Code::NulBytes
                | Code::TooDeep
                | Code::TooLarge
                | Code::Framing
        )
    }
}

impl From<Fault> for Code {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Syntax { .. } | Fault::Trailing { .. } => Code::InvalidJson,
            Fault::Torn { .. } => Code::Torn,
            Fault::TooDeep { .. } => Code::TooDeep,
            Fault::TooManyValues { .. } => Code::TooLarge,
        }
    }
}

/// Why a pipe cannot be built.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// No dialect of that name.
    UnknownDialect(String),
    /// The dialect does not read that role.
    CannotRead(&'static str, &'static str),
    /// The dialect does not write that role.
    CannotWrite(&'static str, &'static str),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::UnknownDialect(name) => write!(f, "there is no dialect `{name}`"),
            Error::CannotRead(name, role) => write!(f, "`{name}` does not read role `{role}`"),
            Error::CannotWrite(name, role) => write!(f, "`{name}` does not write role `{role}`"),
        }
    }
}

impl std::error::Error for Error {}
