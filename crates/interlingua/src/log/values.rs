//! Native values: an item in the dialect's own form. The same value fills the holes of a kept frame or becomes a
//! frame.

use crate::json::{JsonWriter, Raw, Str};
use crate::model::Part;
use crate::tape::Kind;

/// A value in the dialect's own form.
#[derive(Debug)]
#[cfg_attr(not(feature = "_exhaustive"), non_exhaustive)]
pub enum NativeValue<'g> {
    /// A string.
    Text(Str<'g>),
    /// Any value, verbatim.
    Json(Raw<'g>),
    /// A string that consists of several texts in sequence.
    Joined(Vec<Str<'g>>),
    /// An object.
    Object(NativeObject<'g>),
    /// A list.
    List(Vec<NativeElement<'g>>),
    /// Content that is either a single value or a list or object. A kept frame decides the form: a hole at its place
    /// is filled with the single value, holes inside it with the list or object. A built frame gets the single value,
    /// if there is one.
    Either(Option<Box<NativeValue<'g>>>, Box<NativeValue<'g>>),
    /// A value that a kept frame holds in a different form: a date as a time in seconds. It fills no hole.
    Otherwise(Raw<'g>),
}

/// An element of a list. A kept list may have elements the reader did not claim, so elements are matched by class: the
/// second element of a class fills the second element of that class with a hole.
#[derive(Debug)]
#[cfg_attr(not(feature = "_exhaustive"), non_exhaustive)]
pub struct NativeElement<'g> {
    /// The class that [`super::LogForm::class_of`] returns for elements of kept lists.
    pub class: usize,
    /// The element.
    pub value: NativeValue<'g>,
}

/// The members of an object, in the order the dialect writes them.
#[derive(Debug, Default)]
pub struct NativeObject<'g>(Vec<(&'static str, NativeValue<'g>)>);

impl<'g> NativeObject<'g> {
    /// An object without members.
    pub fn new() -> Self {
        Self(Vec::with_capacity(8))
    }

    /// An object with a `type` member.
    pub fn typed(kind: &'g str) -> Self {
        let mut object = Self::new();
        object.literal("type", kind);
        object
    }

    /// Adds a member.
    pub fn put(&mut self, name: &'static str, value: impl Into<NativeValue<'g>>) -> &mut Self {
        self.0.push((name, value.into()));
        self
    }

    /// Adds a member, if there is a value.
    pub fn put_some(&mut self, name: &'static str, value: Option<impl Into<NativeValue<'g>>>) -> &mut Self {
        if let Some(value) = value {
            self.put(name, value);
        }
        self
    }

    /// Adds a string member that needs no escaping.
    pub fn literal(&mut self, name: &'static str, word: &'g str) -> &mut Self {
        self.put(name, Str::escaped(word))
    }

    /// The member with the given name.
    pub fn get(&self, name: &str) -> Option<&NativeValue<'g>> {
        self.0.iter().find(|(known, _)| *known == name).map(|(_, value)| value)
    }

    /// Whether there are no members.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Writes the object.
    pub(crate) fn write_to(&self, json: &mut JsonWriter<'_>) {
        json.object();
        for (name, value) in &self.0 {
            json.key(name);
            value.write(json);
        }
        json.end_object();
    }

    /// The value of a frame of the given kind: in a list, the members become the elements and their names are dropped.
    pub(super) fn for_frame(self, kind: Kind) -> NativeValue<'g> {
        match kind {
            Kind::Array => self.0.into_iter().map(|(_, value)| value).collect(),
            Kind::Object | Kind::Null | Kind::Bool | Kind::Number | Kind::String => NativeValue::Object(self),
        }
    }

    /// Adds the members of another object.
    pub fn append(&mut self, NativeObject(members): NativeObject<'g>) {
        self.0.extend(members);
    }
}

impl<'g> From<Str<'g>> for NativeValue<'g> {
    fn from(text: Str<'g>) -> Self {
        NativeValue::Text(text)
    }
}

impl<'g> From<Raw<'g>> for NativeValue<'g> {
    fn from(json: Raw<'g>) -> Self {
        NativeValue::Json(json)
    }
}

impl<'g> From<&'g Str<'_>> for NativeValue<'g> {
    fn from(text: &'g Str<'_>) -> Self {
        NativeValue::Text(text.reborrow())
    }
}

impl<'g> From<&'g Raw<'_>> for NativeValue<'g> {
    fn from(json: &'g Raw<'_>) -> Self {
        NativeValue::Json(json.reborrow())
    }
}

impl From<bool> for NativeValue<'_> {
    fn from(value: bool) -> Self {
        NativeValue::Json(Raw::new(if value { "true" } else { "false" }))
    }
}

impl<'g> From<NativeObject<'g>> for NativeValue<'g> {
    fn from(object: NativeObject<'g>) -> Self {
        NativeValue::Object(object)
    }
}

/// A missing value is `null`.
impl<'g, T: Into<NativeValue<'g>>> From<Option<T>> for NativeValue<'g> {
    fn from(value: Option<T>) -> Self {
        value.map_or(NativeValue::Json(Raw::new("null")), Into::into)
    }
}

impl<'g, T: Into<NativeValue<'g>>> From<Vec<T>> for NativeValue<'g> {
    fn from(values: Vec<T>) -> Self {
        values.into_iter().collect()
    }
}

/// Elements of one class.
impl<'g, T: Into<NativeValue<'g>>> FromIterator<T> for NativeValue<'g> {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        let element = |value: T| NativeElement { class: 0, value: value.into() };
        NativeValue::List(values.into_iter().map(element).collect())
    }
}

impl<'g> NativeValue<'g> {
    /// Content that is a single value, if one represents all of it, or else a list.
    pub fn one_or_list(
        one: Option<impl Into<NativeValue<'g>>>,
        list: impl IntoIterator<Item = impl Into<NativeValue<'g>>>,
    ) -> Self {
        NativeValue::Either(one.map(|one| Box::new(one.into())), Box::new(list.into_iter().collect()))
    }

    /// Writes the value.
    pub fn write(&self, json: &mut JsonWriter<'_>) {
        match self {
            NativeValue::Text(text) => _ = json.str(text),
            NativeValue::Json(value) => _ = json.raw(value),
            NativeValue::Joined(texts) => {
                json.open_string();
                for text in texts {
                    json.piece(text);
                }
                json.close_string();
            }
            NativeValue::Object(object) => object.write_to(json),
            NativeValue::List(elements) => {
                json.array();
                for element in elements {
                    element.value.write(json);
                }
                json.end_array();
            }
            NativeValue::Either(Some(value), _) | NativeValue::Either(None, value) => value.write(json),
            NativeValue::Otherwise(value) => _ = json.raw(value),
        }
    }
}

/// The text of a part, for logs with text only: JSON is written as text, too. `None` for media, arguments and state.
pub fn text_of<'p>(part: &'p Part<'_>) -> Option<Str<'p>> {
    match part {
        Part::Text(text) | Part::Summary(text) | Part::Refusal(text) => Some(text.reborrow()),
        Part::Json(json) => Some(Str::plain(json.as_str())),
        Part::Media(_)
        | Part::Args(_)
        | Part::File(_)
        | Part::Citation(_)
        | Part::Opaque(_)
        | Part::Cache(_) => None,
    }
}
