//! CBOR items as JSON text, and the spelling of single values.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use interlingua::json::escape_into;
use interlingua::tape::{Kind, Limits, TapeBuf, Val};

use super::item::CborItem;
use super::{EMBEDDED_JSON, MAX_DEPTH};

/// The reason for which an item has no JSON text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum NoJson {
    /// A type without a counterpart in JSON.
    Type(&'static str),
    /// Embedded text that is not one JSON value.
    Embedded,
    /// A spelling for a value that is not there, or that the spelling does not stand for. Holds the pointer.
    Spelling(String),
}

/// The spelling of single values, by JSON pointer.
pub(super) type Spelling = BTreeMap<String, String>;

/// Writes items as compact JSON.
pub(super) struct Renderer<'s> {
    spelling: &'s mut Spelling,
    /// The pointer of the current value.
    path: String,
    tape: TapeBuf,
}

impl<'s> Renderer<'s> {
    /// A renderer that takes each used spelling out of the table.
    pub(super) fn new(spelling: &'s mut Spelling) -> Self {
        Self { spelling, path: String::new(), tape: TapeBuf::default() }
    }

    /// Writes a member of the value at `path`, with its name.
    pub(super) fn member(
        &mut self,
        path: &str,
        name: &str,
        item: &CborItem<'_>,
        out: &mut String,
    ) -> Result<(), NoJson> {
        quote(name, out);
        out.push(':');
        self.path.clear();
        self.path.push_str(path);
        self.step(name, |this| this.value(item, out))
    }

    /// Writes a value that is the whole document.
    pub(super) fn document(&mut self, item: &CborItem<'_>, out: &mut String) -> Result<(), NoJson> {
        self.path.clear();
        self.value(item, out)
    }

    fn step<T>(&mut self, name: impl std::fmt::Display, then: impl FnOnce(&mut Self) -> T) -> T {
        let length = self.path.len();
        let _ = write!(self.path, "/{name}");
        let done = then(self);
        self.path.truncate(length);
        done
    }

    fn value(&mut self, item: &CborItem<'_>, out: &mut String) -> Result<(), NoJson> {
        match item {
            CborItem::Null => out.push_str("null"),
            CborItem::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
            CborItem::Text(_) | CborItem::Uint(_) | CborItem::Nint(_) | CborItem::Float(_) => {
                return self.scalar(item, out);
            }
            CborItem::Array(items) => {
                out.push('[');
                for (number, item) in items.iter().enumerate() {
                    if number > 0 {
                        out.push(',');
                    }
                    self.step(number, |this| this.value(item, out))?;
                }
                out.push(']');
            }
            CborItem::Map(members) => {
                out.push('{');
                for (number, (key, item)) in members.iter().enumerate() {
                    let name = key.as_text().ok_or(NoJson::Type("a map key that is not text"))?;
                    if number > 0 {
                        out.push(',');
                    }
                    quote(name, out);
                    out.push(':');
                    self.step(name, |this| this.value(item, out))?;
                }
                out.push('}');
            }
            CborItem::Tag(EMBEDDED_JSON, content) => {
                let text = content.as_bytes().and_then(|bytes| std::str::from_utf8(bytes).ok());
                let text = text.ok_or(NoJson::Embedded)?;
                let limits = Limits::default().around_others();
                self.tape.parse(text, &limits).map_err(|_| NoJson::Embedded)?;
                out.push_str(text.trim_matches([' ', '\t', '\n', '\r']));
            }
            CborItem::Tag(..) => return Err(NoJson::Type("a tag other than 262 (embedded JSON)")),
            CborItem::Bytes(_) => return Err(NoJson::Type("a byte string")),
        }
        Ok(())
    }

    fn scalar(&mut self, item: &CborItem<'_>, out: &mut String) -> Result<(), NoJson> {
        if self.spelling.is_empty() {
            plain_scalar(item, out);
            return Ok(());
        }
        let Some(text) = self.spelling.remove(&self.path) else {
            plain_scalar(item, out);
            return Ok(());
        };
        let tape = self.tape.parse(&text, &Limits::default());
        let is_same = tape.is_ok_and(|tape| scalar_of(tape.root()).as_ref() == Some(item));
        if !is_same || text.trim() != text {
            return Err(NoJson::Spelling(self.path.clone()));
        }
        out.push_str(&text);
        Ok(())
    }
}

/// The JSON text of a scalar without a spelling of its own.
pub(super) fn plain_scalar(item: &CborItem<'_>, out: &mut String) {
    let _ = match item {
        CborItem::Text(text) => {
            quote(text, out);
            Ok(())
        }
        CborItem::Uint(value) => write!(out, "{value}"),
        CborItem::Nint(value) => write!(out, "{}", -1 - i128::from(*value)),
        CborItem::Float(bits) => write!(out, "{:?}", f64::from_bits(*bits)),
        _ => Ok(()),
    };
}

/// The item of a JSON string or number; `None` for another value and for a number beyond all CBOR numbers.
pub(super) fn scalar_of(value: Val<'_>) -> Option<CborItem<'static>> {
    match value.kind() {
        Kind::String => Some(CborItem::text(value.str()?.decode().into_owned())),
        Kind::Number => {
            let text = value.text();
            if let Ok(whole) = text.parse::<i128>()
                && text != "-0"
            {
                if let Ok(whole) = u64::try_from(whole) {
                    return Some(CborItem::Uint(whole));
                }
                if let Ok(below) = u64::try_from(-1 - whole) {
                    return Some(CborItem::Nint(below));
                }
            }
            let number: f64 = text.parse().ok()?;
            number.is_finite().then(|| CborItem::Float(number.to_bits()))
        }
        Kind::Null | Kind::Bool | Kind::Object | Kind::Array => None,
    }
}

/// Whether an item has the JSON text `text`, with no spelling of its own and within the depth of the decoder.
pub(super) fn gives(item: &CborItem<'_>, text: &str) -> bool {
    let mut rendered = String::with_capacity(text.len());
    let done = Renderer::new(&mut Spelling::new()).document(item, &mut rendered);
    done.is_ok() && rendered == text && depth(item) < MAX_DEPTH / 2
}

fn depth(item: &CborItem<'_>) -> usize {
    match item {
        CborItem::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        CborItem::Map(members) => 1 + members.iter().map(|(_, item)| depth(item)).max().unwrap_or(0),
        _ => 0,
    }
}

fn quote(text: &str, out: &mut String) {
    out.push('"');
    escape_into(text, out);
    out.push('"');
}
