//! Macros that declare a type of the model once and generate the type, its walk over named fields, its owned copy and
//! its JSON, so that no generated form can miss a new member.

use super::{Field, Show, Value};
use crate::json::{Raw, Str};

/// Declares structs whose members are values of the model. Each member is followed by its [`Field`], by `each` if the
/// member has fields of its own, or by `ours` if the value does not come from a source.
macro_rules! said {
    ($(
        $(#[$about:meta])*
        pub struct $name:ident<$life:lifetime> {
            $($(#[$member_about:meta])* pub $member:ident: $type:ty => $field:ident,)*
        }
    )*) => {$(
        $(#[$about])*
        #[cfg_attr(not(feature = "_exhaustive"), non_exhaustive)]
        pub struct $name<$life> {
            $($(#[$member_about])* pub $member: $type,)*
        }

        impl EachField for $name<'_> {
            fn each_field(&mut self, show: &mut Show<'_>) {
                let Self { $($member),* } = self;
                $(said!(@show $member, $field, show);)*
            }
        }

        impl $name<'_> {
            /// Writes the members into an open object, except the members in `but`, which the schema names
            /// differently.
            #[allow(dead_code, reason = "not every struct shares its object")]
            pub(crate) fn write_members(&self, but: &[&str], spelling: Spelling, json: &mut JsonWriter<'_>) {
                // Most members are absent, so absence is checked first.
                $(if !self.$member.is_absent() && !but.contains(&stringify!($member)) {
                    neutral::write_member(stringify!($member), &self.$member, spelling, json);
                })*
            }
        }

        impl<'t> Neutral<'t> for $name<'t> {
            fn absent() -> Self {
                Self { $($member: Neutral::absent()),* }
            }

            fn write(&self, spelling: Spelling, json: &mut JsonWriter<'_>) {
                json.object();
                self.write_members(&[], spelling, json);
                json.end_object();
            }

            fn read(val: Val<'t>, _: Field, spelling: Spelling) -> Option<Self> {
                if val.kind() != Kind::Object {
                    return None;
                }
                if val.members().next().is_none() {
                    val.note(Field::Structure);
                }
                Some(Self::read_members(val, &[], spelling))
            }
        }

        impl<'t> $name<'t> {
            /// Reads the members from an object that also has foreign members, except the members in `but`, which have
            /// a different name there.
            #[allow(dead_code, reason = "not every struct shares its object")]
            pub(crate) fn read_members(val: Val<'t>, but: &[&str], spelling: Spelling) -> Self {
                const NAMES: neutral::MemberNames<{ [$(stringify!($member)),*].len() }> =
                    neutral::MemberNames::new([$(stringify!($member)),*]);
                let [$($member),*] = NAMES.find(val, spelling);
                Self {
                    $($member: said!(
                        @read $member.filter(|_| !but.contains(&stringify!($member))), $field, spelling
                    )),*
                }
            }
        }

        owned!($name { $($member),* });
    )*};
    (@read $member:expr, ours, $spelling:ident) => {{
        let _ = $member;
        Neutral::absent()
    }};
    (@read $member:expr, each, $spelling:ident) => {
        neutral::read_member($member, Field::Structure, $spelling)
    };
    (@read $member:expr, $field:ident, $spelling:ident) => {
        neutral::read_member($member, Field::$field, $spelling)
    };
    (@show $value:ident, ours, $show:ident) => { let _ = $value; };
    (@show $value:ident, each, $show:ident) => { $value.each_field($show); };
    (@show $value:ident, $field:ident, $show:ident) => { $value.show(Field::$field, $show); };
}

/// The owned copy of a struct.
macro_rules! owned {
    ($name:ident { $($member:ident),* }) => {
        impl $name<'_> {
            /// The owned copy.
            pub fn into_owned(self) -> $name<'static> {
                let Self { $($member),* } = self;
                $name { $($member: IntoOwned::into_owned($member)),* }
            }
        }

        impl IntoOwned for $name<'_> {
            type Owned = $name<'static>;

            fn into_owned(self) -> $name<'static> {
                self.into_owned()
            }
        }
    };
}

/// Declares enums whose variants hold one value or none.
macro_rules! said_enum {
    ($(
        $(#[$about:meta])*
        pub enum $name:ident<$life:lifetime> {
            $($(#[$variant_about:meta])* $variant:ident $(($type:ty))?,)*
        }
    )*) => {$(
        $(#[$about])*
        #[cfg_attr(not(feature = "_exhaustive"), non_exhaustive)]
        pub enum $name<$life> {
            $($(#[$variant_about])* $variant $(($type))?,)*
        }

        impl $name<'_> {
            /// The owned copy.
            pub fn into_owned(self) -> $name<'static> {
                match self {
                    $(Self::$variant $((said_enum!(@first value $type)))? =>
                        $name::$variant $((said_enum!(@first IntoOwned::into_owned(value), $type)))?,)*
                }
            }
        }

        impl IntoOwned for $name<'_> {
            type Owned = $name<'static>;

            fn into_owned(self) -> $name<'static> {
                self.into_owned()
            }
        }
    )*};
    (@first $value:ident $type:ty) => { $value };
    (@first $value:expr, $type:ty) => { $value };
}

/// Declares closed sets of words of ours. `change` moves to the next variant. The variant after `or` is the fallback
/// for a missing or unknown word; without `or`, the fallback is the first variant.
macro_rules! words {
    ($(
        $(#[$about:meta])*
        pub enum $name:ident $(or $absent:ident)? {
            $($(#[$variant_about:meta])* $variant:ident = $word:literal,)*
        }
    )*) => {$(
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[cfg_attr(not(feature = "_exhaustive"), non_exhaustive)]
        pub enum $name {
            $($(#[$variant_about])* $variant,)*
        }

        impl $name {
            /// Each variant with its word in our own forms and in reports.
            pub const WORDS: Words<Self> = Words(&[$(($name::$variant, $word)),*]);

            /// The variant's word.
            pub const fn word(self) -> &'static str {
                match self {
                    $($name::$variant => $word,)*
                }
            }
        }

        impl Value for $name {
            fn change(&mut self) {
                let at = Self::WORDS.0.iter().position(|(known, _)| known == self).unwrap_or(0);
                *self = Self::WORDS.0[(at + 1) % Self::WORDS.0.len()].0;
            }
        }

        impl<'t> Neutral<'t> for $name {
            fn absent() -> Self {
                [$($name::$absent,)? Self::WORDS.0[0].0][0]
            }

            fn write(&self, _: Spelling, json: &mut JsonWriter<'_>) {
                json.literal(self.word());
            }

            fn read(val: Val<'t>, field: Field, _: Spelling) -> Option<Self> {
                Self::WORDS.value(&val.str()?).inspect(|_| _ = val.take(field))
            }
        }

        impl IntoOwned for $name {
            type Owned = Self;

            fn into_owned(self) -> Self {
                self
            }
        }
    )*};
}

pub(super) use {owned, said, said_enum, words};

/// A table of words for reading and writing: a value is written as its first word and read from any of its words.
#[derive(Clone, Copy, Debug)]
pub struct Words<T: 'static>(pub &'static [(T, &'static str)]);

impl<T: Copy + PartialEq> Words<T> {
    /// The word for a value, if the table has one.
    pub fn word(&self, value: T) -> Option<&'static str> {
        self.0.iter().find(|(known, _)| *known == value).map(|(_, word)| *word)
    }

    /// The value of a word, if the table has the word.
    pub fn value(&self, word: &Str<'_>) -> Option<T> {
        let exactly = self.0.iter().find(|(_, known)| word.as_escaped() == *known);
        // Escaped letters in a word are rare, so the escaped text is compared first.
        let row = exactly.or_else(|| self.0.iter().find(|(_, known)| word.is(known)));
        row.map(|(value, _)| *value)
    }
}

/// Types with an owned copy, for events that are held longer than their frame.
pub trait IntoOwned {
    /// The type of the owned copy.
    type Owned;

    /// Makes the owned copy.
    fn into_owned(self) -> Self::Owned;
}

impl IntoOwned for Str<'_> {
    type Owned = Str<'static>;

    fn into_owned(self) -> Str<'static> {
        self.into_owned()
    }
}

impl IntoOwned for Raw<'_> {
    type Owned = Raw<'static>;

    fn into_owned(self) -> Raw<'static> {
        self.into_owned()
    }
}

impl<T: IntoOwned> IntoOwned for Option<T> {
    type Owned = Option<T::Owned>;

    fn into_owned(self) -> Self::Owned {
        self.map(T::into_owned)
    }
}

impl<T: IntoOwned> IntoOwned for Vec<T> {
    type Owned = Vec<T::Owned>;

    fn into_owned(self) -> Self::Owned {
        self.into_iter().map(T::into_owned).collect()
    }
}

impl<T: IntoOwned> IntoOwned for Box<T> {
    type Owned = Box<T::Owned>;

    fn into_owned(self) -> Self::Owned {
        Box::new((*self).into_owned())
    }
}

impl<A: IntoOwned, B: IntoOwned> IntoOwned for (A, B) {
    type Owned = (A::Owned, B::Owned);

    fn into_owned(self) -> Self::Owned {
        (self.0.into_owned(), self.1.into_owned())
    }
}

/// Numbers and booleans are copied by value.
macro_rules! plain {
    ($($name:ty),*) => {$(
        impl IntoOwned for $name {
            type Owned = Self;

            fn into_owned(self) -> Self {
                self
            }
        }
    )*};
}

plain!(bool, u16, u32, u64, i64);

/// Types that show every field by name.
pub trait EachField {
    /// Shows every value with its name.
    fn each_field(&mut self, show: &mut Show<'_>);
}

impl<T: EachField> EachField for Option<T> {
    fn each_field(&mut self, show: &mut Show<'_>) {
        if let Some(value) = self {
            value.each_field(show);
        }
    }
}

impl<T: EachField> EachField for Vec<T> {
    fn each_field(&mut self, show: &mut Show<'_>) {
        for value in self {
            value.each_field(show);
        }
    }
}

/// Values shown as a single field: a value, an option or a list.
pub(super) trait Shown {
    fn show(&mut self, field: Field, show: &mut Show<'_>);
}

impl<T: Value> Shown for T {
    fn show(&mut self, field: Field, show: &mut Show<'_>) {
        show(field, self);
    }
}

impl<T: Shown> Shown for Option<T> {
    fn show(&mut self, field: Field, show: &mut Show<'_>) {
        if let Some(value) = self {
            value.show(field, show);
        }
    }
}

impl<T: Shown> Shown for Vec<T> {
    fn show(&mut self, field: Field, show: &mut Show<'_>) {
        for value in self {
            value.show(field, show);
        }
    }
}
