//! Giving a frame back: its holes are filled with native values, every other byte stays what it was.

use std::collections::BTreeSet;

use super::values::{NativeElement, NativeValue};
use crate::json::{JsonWriter, Str};
use crate::ledger::is_hole;
use crate::tape::{Kind, Val};

/// How a dialect tells the elements of a kept list apart; the list is known by the name of its member.
pub(super) type ClassOf = fn(&str, Val<'_>) -> usize;

/// What holes are filled with.
#[derive(Clone, Copy)]
pub(super) struct Fillings<'f> {
    pub(super) native: &'f NativeValue<'f>,
    /// What the first hole says for which the dialect has no value: the words of a line that it does not know.
    pub(super) words: Option<&'f Str<'f>>,
    pub(super) class_of: ClassOf,
}

/// What came of filling a frame.
pub(super) struct Filled {
    /// The places for which there was no value.
    pub(super) missing: Vec<String>,
    /// The number of holes.
    pub(super) holes: usize,
}

/// Writes a kept frame with its holes filled, and notes which texts it says.
pub(super) fn fill(
    kept: Val<'_>,
    Fillings { native, words, class_of }: Fillings<'_>,
    said: &mut Vec<usize>,
    json: &mut JsonWriter<'_>,
) -> Filled {
    let (text, copied) = (kept.frame_text(), kept.span().start);
    let filled = Filled { missing: Vec::new(), holes: 0 };
    let mut fill = Fill { text, copied, words, class_of, said, path: Vec::new(), filled, json };
    fill.value(kept, Some(native));
    fill.copy(kept.span().end);
    fill.filled
}

/// Notes the texts that are equal to a value of a frame without holes, wherever in the frame that is: a line that is kept
/// whole need not have a value where the dialect would write it.
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
    /// Where in the text what has been written ends.
    copied: usize,
    words: Option<&'f Str<'f>>,
    class_of: ClassOf,
    /// Where the texts begin that the frame says.
    said: &'f mut Vec<usize>,
    path: Vec<PlaceStep<'f>>,
    filled: Filled,
    json: &'f mut JsonWriter<'o>,
}

/// A step to a place.
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
            (Kind::String, _) => {
                let inner = &val.text().as_bytes()[1..val.text().len() - 1];
                if inner.first() == Some(&b'~') && inner.iter().all(|byte| *byte == b'~') {
                    self.tildes(val, inner.len(), native);
                } else {
                    self.stays(val, native);
                }
            }
            (Kind::Null | Kind::Bool | Kind::Number, _) => self.stays(val, native),
        }
    }

    /// The elements of a list that have a hole are ours, each the next of its class.
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
            // A genuine string of tildes: it was given one more.
            _ if count > 1 => {
                self.json.bytes(b"\"");
                self.json.bytes(&val.text().as_bytes()[2..]);
            }
            Some(NativeValue::Text(text)) => self.string(std::slice::from_ref(text)),
            Some(NativeValue::Joined(texts)) => self.string(texts),
            Some(NativeValue::Json(json)) => {
                self.said.push(address(json.as_str()));
                self.json.bytes(json.as_str().as_bytes());
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

    /// A value that is no hole says what it says: perhaps the same as ours.
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
        self.json.bytes(&self.text.as_bytes()[self.copied..end]);
    }
}

/// Where a text begins: a value that has not been copied is known by it. Nothing is read through it.
pub(super) fn address(text: &str) -> usize {
    text.as_ptr() as usize
}

/// More classes no list has.
const CLASSES: usize = 8;

/// Whether a kept value has a hole in it.
pub fn has_hole(val: Val<'_>) -> bool {
    val.strings().any(is_hole)
}

/// Whether a string in the value begins with a tilde.
fn has_tildes(val: Val<'_>) -> bool {
    val.strings().any(|string| string.text().as_bytes().get(1) == Some(&b'~'))
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
            Fillings { native: &native.into(), words: None, class_of: |_, _| 0 },
            &mut Vec::new(),
            &mut out.hold(),
        );
        assert_eq!((out.held(), &missing[..]), (r#"{"a":"~","b":1,"c":["~~",{"d":"x\"~"}]}"#, &[][..]));
    }
}
