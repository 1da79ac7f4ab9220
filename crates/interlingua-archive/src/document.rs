//! The pieces of a session's document. Values are copied as they are spelled; only the space between them is left out, so that
//! a file that was indented and a row that was not give the same document.

use interlingua::json::{Str, escape_into};
use interlingua::tape::{Limits, TapeBuf};

/// Writes an object with these ids first and then the members of `json`, without those that are called like an id. What
/// is no object becomes a text in one that says so.
pub(crate) fn with_ids(ids: &[(&str, &str)], json: &str, out: &mut String) {
    let mut tape = TapeBuf::default();
    let parsed = tape.parse(json, &Limits::default()).ok();
    let root = parsed.as_ref().map(interlingua::tape::Tape::root);
    let object = root.filter(|root| root.kind() == interlingua::tape::Kind::Object);
    out.push('{');
    let mut first = true;
    for (name, id) in ids {
        member(name, &mut first, out);
        text(id, out);
    }
    let Some(object) = object else {
        member("type", &mut first, out);
        text("unreadable", out);
        member("raw", &mut first, out);
        text(json, out);
        return out.push('}');
    };
    for (name, value) in object.members() {
        if ids.iter().any(|(id, _)| name.is(id)) {
            continue;
        }
        escaped_member(&name, &mut first, out);
        compact(value.text(), out);
    }
    out.push('}');
}

/// Begins a member.
pub(crate) fn member(name: &str, first: &mut bool, out: &mut String) {
    escaped_member(&Str::escaped(name), first, out);
}

fn escaped_member(name: &Str<'_>, first: &mut bool, out: &mut String) {
    if !std::mem::replace(first, false) {
        out.push(',');
    }
    out.push('"');
    out.push_str(name.as_escaped());
    out.push_str("\":");
}

/// Writes a string.
pub(crate) fn text(plain: &str, out: &mut String) {
    out.push('"');
    escape_into(plain, out);
    out.push('"');
}

/// Writes a value without the space between its parts.
pub(crate) fn compact(json: &str, out: &mut String) {
    let (mut in_string, mut escaped) = (false, false);
    let mut from = 0;
    for (at, byte) in json.bytes().enumerate() {
        if in_string {
            in_string = escaped || byte != b'"';
            escaped = !escaped && byte == b'\\';
        } else if byte == b'"' {
            in_string = true;
        } else if byte.is_ascii_whitespace() {
            out.push_str(json.get(from..at).unwrap_or_default());
            from = at + 1;
        }
    }
    out.push_str(json.get(from..).unwrap_or_default());
}

/// A document that is made as it is read: pieces of text, one after the other.
pub(crate) struct PieceReader<F> {
    next: F,
    piece: Vec<u8>,
    at: usize,
}

impl<F: FnMut(&mut String) -> std::io::Result<bool>> PieceReader<F> {
    /// `next` adds the next piece, and returns whether there was one.
    pub(crate) fn new(next: F) -> Self {
        Self { next, piece: Vec::new(), at: 0 }
    }
}

impl<F: FnMut(&mut String) -> std::io::Result<bool>> std::io::Read for PieceReader<F> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        while self.at == self.piece.len() {
            let mut piece = String::from_utf8(std::mem::take(&mut self.piece)).unwrap_or_default();
            piece.clear();
            let more = (self.next)(&mut piece)?;
            self.piece = piece.into_bytes();
            self.at = 0;
            if !more {
                return Ok(0);
            }
        }
        let rest = self.piece.get(self.at..).unwrap_or_default();
        let count = rest.len().min(buffer.len());
        for (to, from) in buffer.iter_mut().zip(rest) {
            *to = *from;
        }
        self.at += count;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_stand_first_and_space_is_left_out_outside_strings() {
        let mut out = String::new();
        let json = "{\n  \"a\": [1, \"x \\\" y\"],\n  \"id\": \"old\",\n \"b\": {}\n}";
        with_ids(&[("id", "new")], json, &mut out);
        assert_eq!(out, r#"{"id":"new","a":[1,"x \" y"],"b":{}}"#);
    }

    #[test]
    fn what_is_no_object_is_kept_as_text() {
        let mut out = String::new();
        with_ids(&[("id", "p")], "{\"torn\": ", &mut out);
        assert_eq!(out, r#"{"id":"p","type":"unreadable","raw":"{\"torn\": "}"#);
    }
}
