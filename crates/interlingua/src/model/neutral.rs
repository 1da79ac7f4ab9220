//! The model as JSON under its own names: each value under the name of its member. Our own two forms, the record and
//! universal events, use this encoding for every value without a name in their schemas, so declaring a new member is
//! enough to write and read it in both.

use super::Field;
use crate::json::{JsonWriter, Raw, Str};
use crate::tape::{Kind, Val, WantedNames};

/// The spelling of member names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spelling {
    /// `max_tokens`, in universal events, which are one line each.
    Snake,
    /// `max-tokens`, in a record, where a value keeps its line breaks.
    Kebab,
}

/// A buffer for a spelled name; no member name is longer.
type SpelledName = [u8; 32];

impl Spelling {
    fn key(self, name: &str, json: &mut JsonWriter<'_>) {
        json.key(self.spell(name, &mut SpelledName::default()));
    }

    fn spell<'n>(self, name: &'n str, spelled: &'n mut SpelledName) -> &'n str {
        match spelled.get_mut(..name.len()) {
            Some(spelled) if self == Spelling::Kebab => {
                spelled.copy_from_slice(name.as_bytes());
                spelled.iter_mut().filter(|byte| **byte == b'_').for_each(|byte| *byte = b'-');
                std::str::from_utf8(spelled).unwrap_or(name)
            }
            Some(_) | None => name,
        }
    }
}

/// A value that is written and read under the model's own names.
pub trait Neutral<'t>: Sized {
    /// The value of a missing member.
    fn absent() -> Self;

    /// Whether the value is absent and therefore not written.
    fn is_absent(&self) -> bool {
        false
    }

    /// Writes the value.
    fn write(&self, spelling: Spelling, json: &mut JsonWriter<'_>);

    /// Reads the value and claims it for the field. A value of a different type is not claimed.
    fn read(val: Val<'t>, field: Field, spelling: Spelling) -> Option<Self>;
}

/// Writes a member.
pub(super) fn write_member<'t>(
    name: &str,
    value: &impl Neutral<'t>,
    spelling: Spelling,
    json: &mut JsonWriter<'_>,
) {
    spelling.key(name, json);
    value.write(spelling, json);
}

/// The member names of a struct, prepared for lookup. Declare as a constant.
pub(super) struct MemberNames<const N: usize> {
    snake: WantedNames<N>,
    kebab: WantedNames<N>,
}

impl<const N: usize> MemberNames<N> {
    pub(super) const fn new(names: [&'static str; N]) -> Self {
        Self { snake: WantedNames::new(names), kebab: WantedNames::spelled(names, b'-') }
    }

    /// Finds all members in one pass.
    pub(super) fn find<'t>(&self, object: Val<'t>, spelling: Spelling) -> [Option<Val<'t>>; N] {
        object.find(match spelling {
            Spelling::Snake => &self.snake,
            Spelling::Kebab => &self.kebab,
        })
    }
}

/// Reads a member, or returns the absent value.
pub(super) fn read_member<'t, T: Neutral<'t>>(
    member: Option<Val<'t>>,
    field: Field,
    spelling: Spelling,
) -> T {
    member.and_then(|val| T::read(val, field, spelling)).unwrap_or_else(T::absent)
}

impl<'t> Neutral<'t> for Str<'t> {
    fn absent() -> Self {
        Str::default()
    }

    fn write(&self, _: Spelling, json: &mut JsonWriter<'_>) {
        json.str(self);
    }

    fn read(val: Val<'t>, field: Field, _: Spelling) -> Option<Self> {
        val.take_text(field)
    }
}

impl<'t> Neutral<'t> for Raw<'t> {
    fn absent() -> Self {
        Raw::new("null")
    }

    fn write(&self, _: Spelling, json: &mut JsonWriter<'_>) {
        json.raw(self);
    }

    fn read(val: Val<'t>, field: Field, _: Spelling) -> Option<Self> {
        Some(val.take(field))
    }
}

impl<'t> Neutral<'t> for bool {
    fn absent() -> Self {
        false
    }

    fn write(&self, _: Spelling, json: &mut JsonWriter<'_>) {
        json.bool(*self);
    }

    fn read(val: Val<'t>, field: Field, _: Spelling) -> Option<Self> {
        val.bool().inspect(|_| _ = val.take(field))
    }
}

/// Integers.
macro_rules! numbers {
    ($($name:ty => $write:ident),*) => {$(
        impl<'t> Neutral<'t> for $name {
            fn absent() -> Self {
                0
            }

            fn write(&self, _: Spelling, json: &mut JsonWriter<'_>) {
                json.$write((*self).into());
            }

            fn read(val: Val<'t>, field: Field, _: Spelling) -> Option<Self> {
                let number = Some(val).filter(|val| val.kind() == Kind::Number)?.text().parse().ok()?;
                val.take(field);
                Some(number)
            }
        }
    )*};
}

numbers!(u16 => u64, u64 => u64, i64 => i64);

impl<'t, T: Neutral<'t>> Neutral<'t> for Option<T> {
    fn absent() -> Self {
        None
    }

    fn is_absent(&self) -> bool {
        self.is_none()
    }

    fn write(&self, spelling: Spelling, json: &mut JsonWriter<'_>) {
        if let Some(value) = self {
            value.write(spelling, json);
        }
    }

    fn read(val: Val<'t>, field: Field, spelling: Spelling) -> Option<Self> {
        T::read(val, field, spelling).map(Some)
    }
}

impl<'t, T: Neutral<'t>> Neutral<'t> for Vec<T> {
    fn absent() -> Self {
        Vec::new()
    }

    fn is_absent(&self) -> bool {
        self.is_empty()
    }

    fn write(&self, spelling: Spelling, json: &mut JsonWriter<'_>) {
        json.array();
        for value in self {
            value.write(spelling, json);
        }
        json.end_array();
    }

    fn read(val: Val<'t>, field: Field, spelling: Spelling) -> Option<Self> {
        let list = Some(val).filter(|val| val.kind() == Kind::Array)?;
        if list.elements().next().is_none() {
            list.note(Field::Structure);
        }
        Some(list.elements().filter_map(|val| T::read(val, field, spelling)).collect())
    }
}

/// The fields of the two halves of a pair.
pub trait PairFields {
    /// The field of the pair's name.
    const NAME: Field;
    /// The field of the pair's value.
    const VALUE: Field;
}

/// A name and its value, written as a two-element list: names may repeat and may have any spelling.
impl<'t, T: Neutral<'t>> Neutral<'t> for (Str<'t>, T)
where
    (Str<'t>, T): PairFields,
{
    fn absent() -> Self {
        (Str::default(), T::absent())
    }

    fn write(&self, spelling: Spelling, json: &mut JsonWriter<'_>) {
        let (name, value) = self;
        json.array().str(name);
        if !value.is_absent() {
            value.write(spelling, json);
        }
        json.end_array();
    }

    fn read(val: Val<'t>, _: Field, spelling: Spelling) -> Option<Self> {
        let mut elements = val.elements();
        let name = elements.next()?.take_text(Self::NAME)?;
        let value = elements.next().and_then(|val| T::read(val, Self::VALUE, spelling));
        Some((name, value.unwrap_or_else(T::absent)))
    }
}
