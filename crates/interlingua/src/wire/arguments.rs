//! Arguments of calls: OpenAI's dialects write them as JSON in a string, others as an object, and streams cut them
//! anywhere.

use crate::json::{JsonWriter, Raw, Str};
use crate::ledger::Ledger;
use crate::model::Args;
use crate::tape::{Limits, TapeBuf};

/// The arguments of a call as a JSON object, from pieces of text or a value.
#[derive(Debug, Default)]
pub(crate) struct ArgumentObject {
    /// Pieces of the arguments' text, escaped once.
    text: String,
    /// The arguments as a value, if the source has one; else the text, decoded into a reused buffer.
    plain: String,
    is_value: bool,
    tape: TapeBuf,
}

/// The member for arguments that are not a JSON object.
const RAW_ARGUMENTS: &str = "_raw_arguments";

impl ArgumentObject {
    /// Adds a piece of the arguments.
    pub(crate) fn add(&mut self, args: &Args<'_>) {
        match args {
            Args::Json(json) if self.text.is_empty() && !self.is_value => {
                json.as_str().clone_into(&mut self.plain);
                self.is_value = true;
            }
            Args::Text(text) => self.more(text),
            Args::Json(json) => self.more(&Str::plain(json.as_str())),
        }
    }

    /// Adds text, after a preceding value if any.
    fn more(&mut self, text: &Str<'_>) {
        if std::mem::take(&mut self.is_value) {
            self.text.push_str(Str::plain(&self.plain).as_escaped());
        }
        self.text.push_str(text.as_escaped());
    }

    /// Writes the object and resets the buffer. Arguments that are not an object (cut off, or damaged) become the
    /// object's only member.
    pub(crate) fn write(&mut self, json: &mut JsonWriter<'_>, ledger: &mut Ledger) {
        let is_value = std::mem::take(&mut self.is_value);
        if !is_value {
            self.plain.clear();
            Str::escaped(&self.text).decode_into(&mut self.plain);
        }
        let text = &*self.plain;
        let trimmed = text.trim();
        if trimmed.is_empty() {
            json.object().end_object();
        } else if is_value && trimmed.starts_with('{') || is_object(&mut self.tape, trimmed) {
            json.raw(&Raw::new(trimmed));
        } else {
            ledger.note("arguments that are no JSON object became the member `_raw_arguments`");
            json.object().key(RAW_ARGUMENTS).plain(text).end_object();
        }
        self.text.clear();
    }
}

/// Arguments, or a piece of them, as text.
pub(crate) fn as_text<'a>(args: &'a Args<'_>, tape: &mut TapeBuf) -> Str<'a> {
    match args {
        Args::Text(text) => text.reborrow(),
        Args::Json(json) => raw_arguments(json, tape).unwrap_or_else(|| Str::plain(json.as_str())),
    }
}

/// The original text of an object that [`ArgumentObject::write`] made from arguments that were not an object.
pub(crate) fn raw_arguments(object: &Raw<'_>, tape: &mut TapeBuf) -> Option<Str<'static>> {
    let object = object.as_str();
    let first = object.strip_prefix('{')?.trim_start().strip_prefix('"')?;
    if !first.starts_with(RAW_ARGUMENTS) {
        return None;
    }
    let tape = tape.parse(object, &Limits::default()).ok()?;
    let mut members = tape.root().members();
    let (name, value) = members.next()?;
    let only = members.next().is_none() && name.as_escaped() == RAW_ARGUMENTS;
    value.str().filter(|_| only).map(Str::into_owned)
}

/// Whether the text is a single JSON object.
pub(crate) fn is_object(tape: &mut TapeBuf, text: &str) -> bool {
    text.starts_with('{') && tape.parse(text, &Limits::default()).is_ok()
}

/// Arguments that were complete when their call began. Deltas can only repeat complete arguments.
#[derive(Debug)]
pub(crate) struct CompleteArguments {
    /// The decoded arguments that no delta has repeated yet.
    rest: String,
}

impl CompleteArguments {
    /// The arguments at the beginning of a call; `None` if they are not complete, so that deltas continue them.
    pub(crate) fn of(args: &Args<'_>, plain: &mut String) -> Option<Self> {
        let mut progress = JsonProgress::default();
        progress.read(args, plain);
        progress.is_complete().then(|| Self { rest: plain.clone() })
    }

    /// Whether a delta repeats the next part of the arguments.
    pub(crate) fn repeats(&mut self, delta: &Str<'_>) -> bool {
        let delta = delta.decode();
        let repeats = self.rest.starts_with(&*delta);
        if repeats {
            self.rest.drain(..delta.len());
        }
        repeats
    }
}

/// Tracks whether a JSON value that arrives in pieces is complete.
#[derive(Debug, Default)]
pub(crate) struct JsonProgress {
    begun: bool,
    depth: u32,
    in_string: bool,
    after_backslash: bool,
}

impl JsonProgress {
    /// Scans the next piece.
    pub(crate) fn read(&mut self, args: &Args<'_>, plain: &mut String) {
        plain.clear();
        match args {
            Args::Text(text) => text.decode_into(plain),
            Args::Json(json) => plain.push_str(json.as_str()),
        }
        for byte in plain.bytes() {
            if self.in_string {
                match byte {
                    _ if self.after_backslash => self.after_backslash = false,
                    b'\\' => self.after_backslash = true,
                    b'"' => self.in_string = false,
                    _ => {}
                }
                continue;
            }
            match byte {
                b'"' => self.in_string = true,
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' => self.depth = self.depth.saturating_sub(1),
                _ => {}
            }
            self.begun |= !byte.is_ascii_whitespace();
        }
    }

    /// Whether the JSON value has begun.
    pub(crate) const fn has_begun(&self) -> bool {
        self.begun
    }

    /// Whether the JSON value has begun and is not complete.
    pub(crate) const fn is_cut_off(&self) -> bool {
        self.begun && !self.is_complete()
    }

    /// Whether the JSON value is complete.
    pub(crate) const fn is_complete(&self) -> bool {
        self.begun && self.depth == 0 && !self.in_string
    }
}
