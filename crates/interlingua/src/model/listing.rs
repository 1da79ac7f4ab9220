//! Models that an API offers.

use super::macros::{EachField, IntoOwned, Shown, owned, said};
use super::neutral::{self, Neutral, Spelling};
use super::{Field, Show, Time};
use crate::json::{JsonWriter, Raw, Str};
use crate::tape::{Kind, Val};

said! {
    /// A model that an API offers.
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct ModelInfo<'a> {
        /// The name in requests.
        pub id: Option<Str<'a>> => ModelId,
        /// The display name.
        pub name: Option<Str<'a>> => ModelName,
        /// A description for people.
        pub about: Option<Str<'a>> => ModelAbout,
        /// The organisation that offers the model.
        pub owner: Option<Str<'a>> => ModelOwner,
        /// The creation time, as written.
        pub time: Option<Time<'a>> => ModelTime,
        /// The maximum number of input tokens.
        pub input_limit: Option<Raw<'a>> => ModelInputLimit,
        /// The maximum number of output tokens.
        pub output_limit: Option<Raw<'a>> => ModelOutputLimit,
    }
}
