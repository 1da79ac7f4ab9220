//! Models that an API has on offer.

use super::macros::{EachField, IntoOwned, Shown, owned, said};
use super::neutral::{self, Neutral, Spelling};
use super::{Field, Show, Time};
use crate::json::{JsonWriter, Raw, Str};
use crate::tape::{Kind, Val};

said! {
    /// A model that an API has on offer.
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct ModelInfo<'a> {
        /// What requests call it.
        pub id: Option<Str<'a>> => ModelId,
        /// What people call it.
        pub name: Option<Str<'a>> => ModelName,
        /// What it is, for people.
        pub about: Option<Str<'a>> => ModelAbout,
        /// Who offers it.
        pub owner: Option<Str<'a>> => ModelOwner,
        /// Since when, as written.
        pub time: Option<Time<'a>> => ModelTime,
        /// The most tokens it reads.
        pub input_limit: Option<Raw<'a>> => ModelInputLimit,
        /// The most tokens it writes.
        pub output_limit: Option<Raw<'a>> => ModelOutputLimit,
    }
}
