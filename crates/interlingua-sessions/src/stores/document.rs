//! The pieces of a session's document. The spelling of values is kept; only whitespace between them is removed, so that
//! an indented file and a compact row yield the same document.

use interlingua::json::{Str, escape_into};
use interlingua::tape::{Limits, TapeBuf};

/// Writes an object: the ids first, then the members of `json`, then `others`. JSON that is not an object becomes the
/// text in `raw` of an object of type `unreadable`. A member of `json` with the name of an id but a different value is
/// kept in `inData`.
pub(crate) fn with_ids(ids: &[(&str, &str)], json: &str, others: Members, out: &mut String) {
    let mut tape = TapeBuf::default();
    let parsed = tape.parse(json, &Limits::default()).ok();
    let root = parsed.as_ref().map(interlingua::tape::Tape::root);
    let object = root.filter(|root| root.kind() == interlingua::tape::Kind::Object);
    let mut members = Members::default();
    for (name, id) in ids {
        members.text(name, id);
    }
    let mut in_data = Members::default();
    match object {
        None => {
            members.text("type", "unreadable");
            members.text("raw", json);
        }
        Some(object) => {
            for (name, value) in object.members() {
                let mut spelled = String::new();
                compact(value.text(), &mut spelled);
                match ids.iter().find(|(id, _)| name.is(id)) {
                    None => members.escaped(&name, &spelled),
                    Some((_, id)) if value.str().is_some_and(|text| text.decode() == *id) => {}
                    Some(_) => in_data.escaped(&name, &spelled),
                }
            }
        }
    }
    if !in_data.is_empty() {
        members.raw("inData", &in_data.finish());
    }
    members.append(others);
    out.push_str(&members.finish());
}

/// Members of an object with unique names: a second member with the same name is kept in `others`.
#[derive(Default)]
pub(crate) struct Members {
    json: String,
    names: std::collections::HashSet<String>,
    /// Members whose names are already used.
    others: Vec<(String, String)>,
    /// Texts that are invalid UTF-8, as hexadecimal digits.
    bytes: Vec<(String, String)>,
}

impl Members {
    /// Adds a JSON value.
    pub(crate) fn raw(&mut self, name: &str, json: &str) {
        if self.names.insert(name.to_owned()) {
            let mut escaped = String::new();
            escape_into(name, &mut escaped);
            let mut first = self.json.is_empty();
            member(&escaped, &mut first, &mut self.json);
            self.json.push_str(json);
        } else {
            self.others.push((name.to_owned(), json.to_owned()));
        }
    }

    /// Adds a member of a document unchanged; the document may repeat a name.
    fn escaped(&mut self, name: &Str<'_>, json: &str) {
        self.names.insert(name.decode().into_owned());
        let mut first = self.json.is_empty();
        escaped_member(name, &mut first, &mut self.json);
        self.json.push_str(json);
    }

    fn text(&mut self, name: &str, plain: &str) {
        let mut json = String::new();
        text(plain, &mut json);
        self.raw(name, &json);
    }

    /// Keeps the bytes of a text that is invalid UTF-8.
    pub(crate) fn bytes(&mut self, name: &str, bytes: &[u8]) {
        const DIGITS: [char; 16] =
            ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f'];
        if std::str::from_utf8(bytes).is_ok() {
            return;
        }
        let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
        let hex = digits.map(|digit| DIGITS.get(usize::from(digit)).copied().unwrap_or('0')).collect();
        self.bytes.push((name.to_owned(), hex));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.json.is_empty() && self.others.is_empty() && self.bytes.is_empty()
    }

    /// Adds the members of another object.
    pub(crate) fn append(&mut self, more: Members) {
        let Members { json, names, others, bytes } = more;
        let taken = names.iter().any(|name| self.names.contains(name));
        if taken {
            self.raw("columns", &format!("{{{json}}}"));
        } else if !json.is_empty() {
            if !self.json.is_empty() {
                self.json.push(',');
            }
            self.json.push_str(&json);
            self.names.extend(names);
        }
        self.others.extend(others);
        self.bytes.extend(bytes);
    }

    /// The finished object.
    pub(crate) fn finish(mut self) -> String {
        let object = |members: &[(String, String)], is_text: bool| {
            let mut out = String::from("[");
            for (name, value) in members {
                out.push_str(if out.len() > 1 { ",[" } else { "[" });
                text(name, &mut out);
                out.push(',');
                if is_text {
                    text(value, &mut out);
                } else {
                    out.push_str(value);
                }
                out.push(']');
            }
            out + "]"
        };
        let (others, bytes) = (std::mem::take(&mut self.others), std::mem::take(&mut self.bytes));
        if !others.is_empty() {
            let list = object(&others, false);
            let mut first = self.json.is_empty();
            member("sameName", &mut first, &mut self.json);
            self.json.push_str(&list);
        }
        if !bytes.is_empty() {
            let list = object(&bytes, true);
            let mut first = self.json.is_empty();
            member("notUtf8", &mut first, &mut self.json);
            self.json.push_str(&list);
        }
        format!("{{{}}}", self.json)
    }
}

/// Whether a text is JSON.
pub(crate) fn is_json(plain: &str) -> bool {
    TapeBuf::default().parse(plain, &Limits::default()).is_ok()
}

/// Starts a member.
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

/// Writes a value without whitespace between its tokens.
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

/// A reader over a document that is generated piece by piece.
pub(crate) struct PieceReader<F> {
    next: F,
    piece: Vec<u8>,
    at: usize,
}

impl<F: FnMut(&mut String) -> std::io::Result<bool>> PieceReader<F> {
    /// `next` appends the next piece and returns whether there was a piece.
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
        with_ids(&[("id", "new")], json, Members::default(), &mut out);
        assert_eq!(out, r#"{"id":"new","a":[1,"x \" y"],"b":{},"inData":{"id":"old"}}"#);
    }

    #[test]
    fn what_is_no_object_is_kept_as_text() {
        let mut out = String::new();
        with_ids(&[("id", "p")], "{\"torn\": ", Members::default(), &mut out);
        assert_eq!(out, r#"{"id":"p","type":"unreadable","raw":"{\"torn\": "}"#);
    }
}
