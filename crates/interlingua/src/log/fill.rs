//! Restoring a kept frame: native values fill its holes, all other bytes stay unchanged.

use std::collections::BTreeSet;

use super::values::{NativeElement, NativeValue};
use crate::json::{JsonWriter, Str};
use crate::ledger::{count_tildes, is_hole};
use crate::tape::{Kind, Val};

/// Maps an element of a kept list to its class, by the member name of the list.
pub(super) type ClassOf = fn(&str, Val<'_>) -> usize;

/// The values that fill holes.
#[derive(Clone, Copy)]
pub(super) struct Fillings<'f> {
    pub(super) native: &'f NativeValue<'f>,
    /// The text of a line of an unknown type. It fills the first hole for which the dialect has no value.
    pub(super) words: Option<&'f Str<'f>>,
    pub(super) class_of: ClassOf,
    /// The frame is a line of a record that another program reformatted. A line break in it was added by that program, and
    /// is left out with the indentation after it.
    pub(super) is_line: bool,
}

/// The outcome of filling a frame.
pub(super) struct Filled {
    /// The paths of holes without a value.
    pub(super) missing: Vec<String>,
    /// The number of holes.
    pub(super) holes: usize,
}

/// Writes a kept frame with its holes filled, and records the texts the frame contains.
pub(super) fn fill(
    kept: Val<'_>,
    Fillings { native, words, class_of, is_line }: Fillings<'_>,
    said: &mut Vec<usize>,
    json: &mut JsonWriter<'_>,
) -> Filled {
    let (text, copied) = (kept.frame_text(), kept.span().start);
    let filled = Filled { missing: Vec::new(), holes: 0 };
    let mut fill = Fill { text, copied, words, class_of, is_line, said, path: Vec::new(), filled, json };
    fill.value(kept, Some(native));
    fill.copy(kept.span().end);
    fill.filled
}

/// Records the texts that equal any value of a frame without holes: in a line that is kept whole, a value need not be
/// at the place where the dialect would write it.
pub(super) fn note_equal<'g>(kept: Val<'_>, texts: impl Iterator<Item = &'g str>, said: &mut Vec<usize>) {
    let numbers = kept.number()..kept.number_after();
    let values: BTreeSet<&str> = numbers.map(|number| kept.numbered(number).text()).collect();
    for text in texts {
        let quoted = || values.contains(format!("\"{text}\"").as_str());
        if values.contains(text) || quoted() {
            said.push(address(text));
        }
    }
}

struct Fill<'f, 'o> {
    text: &'f str,
    /// The end of the text copied so far.
    copied: usize,
    words: Option<&'f Str<'f>>,
    class_of: ClassOf,
    is_line: bool,
    /// The addresses of the texts that the frame contains.
    said: &'f mut Vec<usize>,
    path: Vec<PlaceStep<'f>>,
    filled: Filled,
    json: &'f mut JsonWriter<'o>,
}

/// A step of a path.
enum PlaceStep<'f> {
    Member(Str<'f>),
    Element(usize),
}

impl<'f> Fill<'f, '_> {
    fn value(&mut self, val: Val<'f>, native: Option<&NativeValue<'_>>) {
        let inner = match native {
            Some(NativeValue::Either(_, inner)) => Some(&**inner),
            native => native,
        };
        match (val.kind(), inner) {
            (Kind::Object, inner) => {
                let object = match inner {
                    Some(NativeValue::Object(object)) => Some(object),
                    _ => None,
                };
                for (name, member) in val.members() {
                    let native = object.and_then(|object| object.get(name.as_escaped()));
                    if native.is_some() || has_tildes(member) {
                        self.path.push(PlaceStep::Member(name));
                        self.value(member, native);
                        self.path.pop();
                    }
                }
            }
            (Kind::Array, Some(NativeValue::List(elements))) => self.list(val, elements),
            (Kind::Array, _) => {
                for (number, element) in val.elements().enumerate() {
                    self.path.push(PlaceStep::Element(number));
                    self.value(element, None);
                    self.path.pop();
                }
            }
            (Kind::String, _) => match count_tildes(val) {
                0 => self.stays(val, native),
                count => self.tildes(val, count, native),
            },
            (Kind::Null | Kind::Bool | Kind::Number, _) => self.stays(val, native),
        }
    }

    /// Elements of a list with a hole are filled with native elements, each with the next element of its class.
    fn list(&mut self, val: Val<'f>, natives: &[NativeElement<'_>]) {
        let name = match self.path.last() {
            Some(PlaceStep::Member(name)) => name.clone(),
            Some(PlaceStep::Element(_)) | None => Str::default(),
        };
        let mut next = [0; CLASSES];
        for (number, element) in val.elements().enumerate() {
            let mut native = None;
            if has_hole(element) {
                let class = (self.class_of)(name.as_escaped(), element).min(CLASSES - 1);
                let ours = |(at, native): (usize, &NativeElement<'_>)| (native.class == class).then_some(at);
                let at = natives.iter().enumerate().skip(next[class]).find_map(ours);
                next[class] = at.map_or(natives.len(), |at| at + 1);
                native = at.and_then(|at| natives.get(at)).map(|native| &native.value);
            }
            self.path.push(PlaceStep::Element(number));
            self.value(element, native);
            self.path.pop();
        }
    }

    fn tildes(&mut self, val: Val<'f>, count: usize, native: Option<&NativeValue<'_>>) {
        self.copy(val.span().start);
        self.copied = val.span().end;
        self.filled.holes += usize::from(count == 1);
        let value = match native {
            Some(NativeValue::Either(one, _)) => one.as_deref(),
            native => native,
        };
        match value {
            // A literal string of tildes: the record has one tilde more.
            _ if count > 1 => {
                let text = val.text().as_bytes();
                let last = if text.ends_with(b"~\"") { 1 } else { r"\u007e".len() };
                self.json.bytes(&text[..text.len() - 1 - last]);
                self.json.bytes(b"\"");
            }
            Some(NativeValue::Text(text)) => self.string(std::slice::from_ref(text)),
            Some(NativeValue::Joined(texts)) => self.string(texts),
            Some(NativeValue::Json(json)) => {
                self.said.push(address(json.as_str()));
                self.put(json.as_str().as_bytes());
            }
            Some(
                NativeValue::Object(_)
                | NativeValue::List(_)
                | NativeValue::Either(..)
                | NativeValue::Otherwise(_),
            )
            | None => {
                if let Some(words) = self.words.take() {
                    return self.string(std::slice::from_ref(words));
                }
                self.json.bytes(b"null");
                self.filled.missing.push(self.path.iter().fold(String::new(), |path, step| match step {
                    PlaceStep::Member(name) => path + "/" + name.as_escaped(),
                    PlaceStep::Element(number) => format!("{path}/{number}"),
                }));
            }
        }
    }

    fn string(&mut self, texts: &[Str<'_>]) {
        self.json.bytes(b"\"");
        for text in texts {
            self.said.push(address(text.as_escaped()));
            self.json.bytes(text.as_escaped().as_bytes());
        }
        self.json.bytes(b"\"");
    }

    /// A value that is not a hole stays unchanged. If it equals the native value, the value counts as written.
    fn stays(&mut self, val: Val<'f>, native: Option<&NativeValue<'_>>) {
        match native {
            Some(NativeValue::Text(text)) if val.str().is_some_and(|own| own == *text) => {
                self.said.push(address(text.as_escaped()));
            }
            Some(NativeValue::Joined(texts)) => {
                let all: String = texts.iter().map(Str::as_escaped).collect();
                if val.str().is_some_and(|own| own.as_escaped() == all) {
                    self.said.extend(texts.iter().map(|text| address(text.as_escaped())));
                }
            }
            Some(NativeValue::Json(json)) if val.text() == json.as_str() => {
                self.said.push(address(json.as_str()));
            }
            Some(NativeValue::Either(Some(one), _)) => self.stays(val, Some(one)),
            Some(NativeValue::Otherwise(said)) => self.said.push(address(said.as_str())),
            Some(_) | None => {}
        }
    }

    fn copy(&mut self, end: usize) {
        self.put(&self.text.as_bytes()[self.copied..end]);
    }

    /// Writes JSON of the record. JSON strings hold no line breaks, so a line break is white space.
    fn put(&mut self, mut bytes: &[u8]) {
        while let Some(at) = memchr::memchr2(b'\n', b'\r', bytes).filter(|_| self.is_line) {
            self.json.bytes(&bytes[..at]);
            // The indentation goes, too: readers compare the text of a value that the log repeats.
            bytes = bytes[at..].trim_ascii_start();
        }
        self.json.bytes(bytes);
    }
}

/// The address of a text, which identifies a value that was not copied. It is never dereferenced.
pub(super) fn address(text: &str) -> usize {
    text.as_ptr() as usize
}

/// The maximum number of element classes in any list.
const CLASSES: usize = 8;

/// Whether a kept value contains a hole.
pub fn has_hole(val: Val<'_>) -> bool {
    val.strings().any(is_hole)
}

/// Whether any string in the value begins with a tilde, or with an escape that may be a tilde.
fn has_tildes(val: Val<'_>) -> bool {
    val.strings().any(|string| matches!(string.text().as_bytes().get(1), Some(b'~' | b'\\')))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::{JsonBuffer, Raw};
    use crate::log::NativeObject;
    use crate::tape::{Limits, TapeBuf};

    #[test]
    fn a_genuine_tilde_loses_the_one_it_was_given() {
        let mut buf = TapeBuf::default();
        let kept = r#"{"a":"~~","b":"~","c":["~~~",{"d":"x\"~"}]}"#;
        let tape = buf.parse(kept, &Limits::default()).expect("legal");
        let mut native = NativeObject::new();
        native.put("b", Raw::new("1"));
        let mut out = JsonBuffer::default();
        let Filled { missing, .. } = fill(
            tape.root(),
            Fillings { native: &native.into(), words: None, class_of: |_, _| 0, is_line: false },
            &mut Vec::new(),
            &mut out.hold(),
        );
        assert_eq!((out.held(), &missing[..]), (r#"{"a":"~","b":1,"c":["~~",{"d":"x\"~"}]}"#, &[][..]));
    }

    #[test]
    fn an_escaped_tilde_is_a_tilde_and_a_line_stays_one_line() {
        let mut buf = TapeBuf::default();
        let kept =
            "{\n \"a\": \"\\u007e~\",\r\n \"b\": \"\\u007E\", \"c\": \"~\\u007e\", \"d\": \"\\u007ex\"}";
        let tape = buf.parse(kept, &Limits::default()).expect("legal");
        let mut native = NativeObject::new();
        native.put("b", Raw::new("[1,\n2]"));
        let mut out = JsonBuffer::default();
        let Filled { missing, holes } = fill(
            tape.root(),
            Fillings { native: &native.into(), words: None, class_of: |_, _| 0, is_line: true },
            &mut Vec::new(),
            &mut out.hold(),
        );
        let line = r#"{"a": "\u007e","b": [1,2], "c": "~", "d": "\u007ex"}"#;
        assert_eq!((out.held(), missing.len(), holes), (line, 0, 1));
    }
}
