//! Problems as facts: a stable code, a place, and a detail such as the expected input. Messages and hints are in one
//! table here; rendering (windows of input, colour) is up to the caller.

use std::fmt::{self, Write as _};

use crate::framing::{FramePlace, Framing};
use crate::model::FailureClass;
use crate::tape::Fault;

/// A place in the input.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(not(feature = "_exhaustive"), non_exhaustive)]
pub struct Place {
    /// The frame.
    pub frame: FramePlace,
    /// The byte offset inside the frame.
    pub byte: Option<usize>,
    /// The JSON pointer inside the frame.
    pub pointer: Option<String>,
}

impl Place {
    /// The name of the place for people, in a source with this framing.
    pub fn name(&self, framing: Framing) -> String {
        let mut name = self.frame.name(framing);
        if let Some(byte) = self.byte {
            let _ = write!(name, ", byte {byte}");
        }
        if let Some(pointer) = self.pointer.as_deref().filter(|pointer| !pointer.is_empty()) {
            let _ = write!(name, ", at `{pointer}`");
        }
        name
    }
}

/// A problem of the input. The run goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(not(feature = "_exhaustive"), non_exhaustive)]
pub struct Problem {
    /// The kind of problem.
    pub code: Code,
    /// The place of the problem.
    pub place: Place,
    /// The found or expected input, in a few words.
    pub detail: String,
    /// A short window of the input, if available.
    pub window: Window,
}

impl Problem {
    /// Whether bytes could not be read; otherwise readable content is unsound.
    pub fn is_damage(&self) -> bool {
        self.code.is_damage()
    }
}

/// A few dozen characters of the input around a place, made printable.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(not(feature = "_exhaustive"), non_exhaustive)]
pub struct Window {
    /// The text before the place.
    pub before: String,
    /// The text from the place on.
    pub after: String,
}

impl Window {
    /// Up to 40 bytes on either side of `at`. Control characters and broken UTF-8 show as U+FFFD.
    pub fn around(bytes: &[u8], at: usize) -> Self {
        let (before, after) = bytes.split_at(at.min(bytes.len()));
        let printable =
            |bytes: &[u8]| String::from_utf8_lossy(bytes).replace(|c: char| c.is_control(), "\u{fffd}");
        let start = (before.len().saturating_sub(40)..before.len()).find(|&at| is_boundary(before[at]));
        let end = (after.len().min(40)..after.len()).find(|&at| is_boundary(after[at]));
        Self {
            before: printable(&before[start.unwrap_or(before.len())..]),
            after: printable(&after[..end.unwrap_or(after.len()).min(44)]),
        }
    }

    /// Whether the window is empty.
    pub fn is_empty(&self) -> bool {
        self.before.is_empty() && self.after.is_empty()
    }
}

/// Whether a character may begin with this byte, so that a window does not split a character.
const fn is_boundary(byte: u8) -> bool {
    byte & 0xc0 != 0x80
}

/// The severity of a problem when an input is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// The input is not sound.
    Error,
    /// The input is unusual, or the finding is normal in some inputs and a mistake in others.
    Warning,
}

impl Severity {
    /// The word in reports.
    pub const fn word(self) -> &'static str {
        match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
        }
    }
}

/// Failure codes of calls, for clients and receipts. The codes never change; a message beside the code describes the
/// exact failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(not(feature = "_exhaustive"), non_exhaustive)]
pub enum StableCode {
    /// The request or its configuration is invalid.
    ConfigInvalid,
    /// The backend failed.
    BackendCrashed,
    /// The backend did not answer in time, or is overloaded.
    BackendTimeout,
    /// The backend or model does not exist.
    BackendNotFound,
    /// The input cannot be read.
    IrLoweringFailed,
    /// The input can be read but not written in the target dialect.
    DialectMappingFailed,
    /// The target has no place for a value that must not be lost.
    CapabilityUnsupported,
}

impl StableCode {
    /// Every code.
    pub const ALL: [StableCode; 7] = [
        StableCode::ConfigInvalid,
        StableCode::BackendCrashed,
        StableCode::BackendTimeout,
        StableCode::BackendNotFound,
        StableCode::IrLoweringFailed,
        StableCode::DialectMappingFailed,
        StableCode::CapabilityUnsupported,
    ];

    /// The text of the code.
    pub const fn word(self) -> &'static str {
        match self {
            StableCode::ConfigInvalid => "CONFIG_INVALID",
            StableCode::BackendCrashed => "BACKEND_CRASHED",
            StableCode::BackendTimeout => "BACKEND_TIMEOUT",
            StableCode::BackendNotFound => "BACKEND_NOT_FOUND",
            StableCode::IrLoweringFailed => "IR_LOWERING_FAILED",
            StableCode::DialectMappingFailed => "DIALECT_MAPPING_FAILED",
            StableCode::CapabilityUnsupported => "CAPABILITY_UNSUPPORTED",
        }
    }

    /// The code for a failure reported by a backend.
    pub const fn of_failure(class: FailureClass) -> Self {
        match class {
            FailureClass::InvalidRequest
            | FailureClass::ContextTooLong
            | FailureClass::Authentication
            | FailureClass::Billing
            | FailureClass::Permission
            | FailureClass::TooLarge => StableCode::ConfigInvalid,
            FailureClass::NotFound => StableCode::BackendNotFound,
            FailureClass::RateLimit | FailureClass::Overloaded | FailureClass::Timeout => {
                StableCode::BackendTimeout
            }
            FailureClass::Conflict
            | FailureClass::Server
            | FailureClass::Incomplete
            | FailureClass::Other => StableCode::BackendCrashed,
        }
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
    /// A member name occurs twice in one object.
    DuplicateKey,
    /// An escape names half a surrogate pair.
    LoneSurrogate,
    /// A number does not fit 64 bits, as an integer or as a double.
    NumberOverflow,
    /// A frame belongs to another dialect or has an unknown shape.
    UnknownShape,
    /// The input has too few or too many documents for its framing.
    Framing,
    /// A record breaks its schema.
    Schema,
    /// The parent of an item is missing.
    DanglingLink,
    /// A tool result answers a missing call.
    ResultWithoutCall,
    /// A tool call has no result.
    CallWithoutResult,
    /// Two items have the same id.
    DuplicateId,
    /// Two calls have the same id.
    ReusedCallId,
    /// A call has a second result.
    SecondResult,
    /// A result comes before its call.
    EarlyResult,
    /// An item is its own ancestor.
    ParentCircle,
    /// Items are in rewound turns, on abandoned branches, or replaced.
    Abandoned,
    /// Events came out of order.
    Lifecycle,
    /// A kept line has a hole without a value.
    UnfilledHole,
    /// The output grew far beyond the input.
    Overgrown,
    /// A log restored from a record differs from the source that the record names.
    NotTheSource,
    /// A part of a record differs from the record that its restored log gives.
    NotFromSource,
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
            Code::NumberOverflow => "number-overflow",
            Code::UnknownShape => "unknown-shape",
            Code::Framing => "framing",
            Code::Schema => "schema",
            Code::DanglingLink => "dangling-link",
            Code::ResultWithoutCall => "result-without-call",
            Code::CallWithoutResult => "call-without-result",
            Code::DuplicateId => "duplicate-id",
            Code::ReusedCallId => "reused-call-id",
            Code::SecondResult => "second-result",
            Code::EarlyResult => "early-result",
            Code::ParentCircle => "parent-circle",
            Code::Abandoned => "abandoned",
            Code::Lifecycle => "lifecycle",
            Code::UnfilledHole => "unfilled-hole",
            Code::Overgrown => "overgrown",
            Code::NotTheSource => "not-the-source",
            Code::NotFromSource => "not-from-source",
        }
    }

    /// One line for people.
    pub const fn message(self) -> &'static str {
        match self {
            Code::Empty => "there is nothing in the input",
            Code::InvalidJson => "not valid JSON",
            Code::Torn => "cut off in the middle",
            Code::InvalidUtf8 => "not valid UTF-8",
            Code::NulBytes => "NUL bytes where text should be",
            Code::TooDeep => "nested too deeply",
            Code::TooLarge => "too large to read",
            Code::DuplicateKey => "the same member name twice in one object; the first one is read",
            Code::LoneSurrogate => "half a surrogate pair",
            Code::NumberOverflow => "a number beyond 64 bits",
            Code::UnknownShape => "not a shape this dialect writes",
            Code::Framing => "not framed as expected",
            Code::Schema => "breaks the schema",
            Code::DanglingLink => "the parent is not in the input",
            Code::ResultWithoutCall => "a tool result without its call",
            Code::CallWithoutResult => "a tool call without a result",
            Code::DuplicateId => "two items with the same id",
            Code::ReusedCallId => "two tool calls with the same id",
            Code::SecondResult => "a second result of a tool call",
            Code::EarlyResult => "a tool result before its call",
            Code::ParentCircle => "parents make a circle",
            Code::Abandoned => "items that the session gave up",
            Code::Lifecycle => "out of order",
            Code::UnfilledHole => "a kept value has lost its canonical counterpart",
            Code::Overgrown => "the output grows far beyond the input",
            Code::NotTheSource => "the restored log differs from the log that the record was made from",
            Code::NotFromSource => "the record differs from what its own source lines give",
        }
    }

    /// A hint for the solution, if there is one.
    pub const fn hint(self) -> Option<&'static str> {
        match self {
            Code::Empty => Some("give a file with content, or pipe one in"),
            Code::InvalidJson => Some("if the source dialect was guessed wrong, name it with `--from`"),
            Code::Torn => {
                Some("the program that wrote it was probably stopped; what stands before it is fine")
            }
            Code::InvalidUtf8 => Some("another program may have changed the encoding; the rest is fine"),
            Code::NulBytes => Some("the disk was probably full or the machine crashed; the rest is fine"),
            Code::TooDeep => Some("common JSON parsers stop at 128 levels; nothing deeper is read"),
            Code::TooLarge => Some("raise the limit with `--max-frame`"),
            Code::DuplicateKey => Some("parsers differ in which one they take; make the names unique"),
            Code::LoneSurrogate => Some("a text was cut inside a character; it is passed on as written"),
            Code::NumberOverflow => {
                Some("other programs will round or refuse it; it is passed on as written")
            }
            Code::UnknownShape => Some("if the source dialect was guessed wrong, name it with `--from`"),
            Code::Framing => None,
            Code::Schema => Some(
                "the message names the member; records of `interlingua convert --to record` have the right form",
            ),
            Code::DanglingLink => {
                Some("forked and resumed sessions refer to lines of an earlier file; that is normal")
            }
            Code::ResultWithoutCall => None,
            Code::CallWithoutResult => Some("the session was probably interrupted there; that is normal"),
            Code::DuplicateId => {
                Some("agents repeat lines when a session is resumed; a link to this id may mean either")
            }
            Code::ReusedCallId => Some("logs written for other agents give each call an id of its own"),
            Code::SecondResult => Some("logs written for other agents keep the first"),
            Code::EarlyResult | Code::ParentCircle => None,
            Code::Abandoned => Some(
                "turns that were rewound and branches that were left are normal; other agents' logs do without",
            ),
            Code::Lifecycle => None,
            Code::UnfilledHole => Some("the record was changed after it was made"),
            Code::Overgrown => {
                Some("a long name or id is repeated with every event; a real session does not do that")
            }
            Code::NotTheSource => Some("the record was edited, reformatted or redacted after it was made"),
            Code::NotFromSource => Some(
                "the record was edited after it was made, or made by another version; convert the log anew",
            ),
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

impl Code {
    /// The severity when an input is checked.
    pub const fn severity(self) -> Severity {
        match self {
            Code::DuplicateKey
            | Code::LoneSurrogate
            | Code::NumberOverflow
            | Code::DanglingLink
            | Code::ReusedCallId
            | Code::SecondResult
            | Code::Abandoned
            | Code::CallWithoutResult => Severity::Warning,
            Code::Empty
            | Code::InvalidJson
            | Code::Torn
            | Code::InvalidUtf8
            | Code::NulBytes
            | Code::TooDeep
            | Code::TooLarge
            | Code::UnknownShape
            | Code::Framing
            | Code::Schema
            | Code::ResultWithoutCall
            | Code::DuplicateId
            | Code::EarlyResult
            | Code::ParentCircle
            | Code::Lifecycle
            | Code::UnfilledHole
            | Code::Overgrown
            | Code::NotTheSource
            | Code::NotFromSource => Severity::Error,
        }
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

/// The reason a pipe cannot be built.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// No dialect has this name.
    UnknownDialect(String),
    /// The dialect does not read this role.
    CannotRead(&'static str, &'static str),
    /// The dialect does not write this role.
    CannotWrite(&'static str, &'static str),
    /// The dialect has several roles, and the input does not decide which one it is.
    UnknownRole(&'static str),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::UnknownDialect(name) => write!(f, "there is no dialect `{name}`"),
            Error::CannotRead(name, role) => write!(f, "`{name}` does not read role `{role}`"),
            Error::CannotWrite(name, role) => write!(f, "`{name}` does not write role `{role}`"),
            Error::UnknownRole(name) => write!(f, "the input matches no role of `{name}`, or several"),
        }
    }
}

impl std::error::Error for Error {}
