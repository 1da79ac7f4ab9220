//! One declaration of a type of the model makes the type, its walk over named fields and its owned copy, so that a new
//! member cannot be forgotten in either.

use super::{Field, Show, Value};
use crate::json::{Raw, Str};

/// Declares structs whose members are values of the model. After each member stands the [`Field`] it is, `each` for one
/// that holds fields of its own, or `ours` for what no source says.
macro_rules! said {
    ($(
        $(#[$about:meta])*
        pub struct $name:ident<$life:lifetime> {
            $($(#[$member_about:meta])* pub $member:ident: $type:ty => $field:ident,)*
        }
    )*) => {$(
        $(#[$about])*
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
            /// Writes the members into an object that is open, but for those that a schema has a name of its own for.
            #[allow(dead_code, reason = "not every struct shares its object")]
            pub(crate) fn write_members(&self, but: &[&str], spelling: Spelling, json: &mut JsonWriter<'_>) {
                // Most members are absent: that is asked first.
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
            /// Reads the members from an object that holds others, too, but for those that have another name there.
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
            /// A copy that owns its text.
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
        pub enum $name<$life> {
            $($(#[$variant_about])* $variant $(($type))?,)*
        }

        impl $name<'_> {
            /// A copy that owns its text.
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

/// Declares closed sets of words of ours. Changing one gives the next. What stands for a word that is missing or unknown
/// is named after `or`; else it is the first.
macro_rules! words {
    ($(
        $(#[$about:meta])*
        pub enum $name:ident $(or $absent:ident)? {
            $($(#[$variant_about:meta])* $variant:ident = $word:literal,)*
        }
    )*) => {$(
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name {
            $($(#[$variant_about])* $variant,)*
        }

        impl $name {
            /// Each with its word in our own forms and in reports.
            pub const WORDS: Words<Self> = Words(&[$(($name::$variant, $word)),*]);

            /// The word for it.
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

/// A table of words, read and written by: the first word of a value is written, each is understood.
#[derive(Clone, Copy, Debug)]
pub struct Words<T: 'static>(pub &'static [(T, &'static str)]);

impl<T: Copy + PartialEq> Words<T> {
    /// The word for a value, if it has one.
    pub fn word(&self, value: T) -> Option<&'static str> {
        self.0.iter().find(|(known, _)| *known == value).map(|(_, word)| *word)
    }

    /// The value of a word, if it is one of them.
    pub fn value(&self, word: &Str<'_>) -> Option<T> {
        let exactly = self.0.iter().find(|(_, known)| word.as_escaped() == *known);
        // Hardly anyone escapes a letter of a word.
        let row = exactly.or_else(|| self.0.iter().find(|(_, known)| word.is(known)));
        row.map(|(value, _)| *value)
    }
}

/// What becomes a copy of its own, for whoever must hold an event back longer than its frame.
pub trait IntoOwned {
    /// The copy.
    type Owned;

    /// Makes it.
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

/// Numbers and flags are their own copies.
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

/// What shows the fields it holds, each with its name.
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

/// What is shown as one field: a value, or those that there are.
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
