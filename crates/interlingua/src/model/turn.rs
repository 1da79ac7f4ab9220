//! Turns: one model response, or the answer to one prompt; why it stopped, what it used, how it failed.

use super::macros::{EachField, IntoOwned, Shown, Words, owned, said, words};
use super::neutral::{self, Neutral, Spelling};
use super::{Field, Show, Time, Value};
use crate::json::{JsonWriter, Raw, Str};
use crate::tape::{Kind, Val};

said! {
    /// One model response, or the answer to one prompt.
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct Turn<'a> {
        /// The id the provider or agent gave it.
        pub id: Option<Str<'a>> => TurnId,
        /// The model that answers.
        pub model: Option<Str<'a>> => TurnModel,
        /// When it was made, as written.
        pub time: Option<Time<'a>> => TurnTime,
        /// The id of the request it answers, as the provider names it.
        pub request_id: Option<Str<'a>> => TurnRequestId,
        /// How hard the model was to think, in the agent's own word.
        pub effort: Option<Str<'a>> => TurnEffort,
        /// Which of several answers this is about, from 0; `None` where there is one.
        pub answer: Option<u64> => TurnAnswer,
        /// Why it stopped.
        pub stop: Option<Stop<'a>> => each,
        /// What it used.
        pub usage: Option<Usage> => each,
        /// What it cost in US dollars, as written.
        pub cost: Option<Raw<'a>> => Cost,
    }

    /// Why a response stopped.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Stop<'a> {
        /// The reason, in our words.
        pub class: StopClass => StopReason,
        /// The reason as the provider wrote it.
        pub raw: Option<Str<'a>> => StopReason,
        /// The stop sequence that matched.
        pub sequence: Option<Str<'a>> => StopSequence,
        /// What the provider says beyond a word, in its own terms.
        pub detail: Option<Raw<'a>> => StopDetail,
    }

    /// Something failed.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Failure<'a> {
        /// What sort of failure.
        pub class: FailureClass => ErrorClass,
        /// The HTTP status, where there is one.
        pub status: Option<u16> => ErrorStatus,
        /// The provider's code or type.
        pub code: Option<Str<'a>> => ErrorCode,
        /// For people.
        pub message: Str<'a> => ErrorMessage,
        /// The id of the failed request.
        pub request_id: Option<Str<'a>> => ErrorRequestId,
        /// After how many milliseconds to try again, where the source tells.
        pub retry_after: Option<u64> => ErrorRetryAfter,
    }
}

words! {
    /// Why a response stopped, in our words.
    pub enum StopClass or Other {
        /// The model had said everything.
        End = "end_turn",
        /// A stop sequence matched.
        Sequence = "stop_sequence",
        /// The model waits for tool results.
        ToolUse = "tool_use",
        /// The output limit was reached.
        MaxTokens = "max_tokens",
        /// The context window is full.
        ContextFull = "context_full",
        /// The provider paused; send the content back to go on.
        Paused = "paused",
        /// The model declined.
        Refusal = "refusal",
        /// A filter stopped it.
        Filter = "content_filter",
        /// Someone cancelled it.
        Cancelled = "cancelled",
        /// It failed.
        Error = "error",
        /// A reason we have no word for.
        Other = "other",
    }

    /// What sort of failure.
    pub enum FailureClass or Other {
        /// The request was wrong.
        InvalidRequest = "invalid_request",
        /// The conversation does not fit the model.
        ContextTooLong = "context_too_long",
        /// No or bad credentials.
        Authentication = "authentication",
        /// No money.
        Billing = "billing",
        /// Not allowed.
        Permission = "permission",
        /// No such thing.
        NotFound = "not_found",
        /// In conflict with something else.
        Conflict = "conflict",
        /// The request was too large.
        TooLarge = "too_large",
        /// Too many requests.
        RateLimit = "rate_limit",
        /// The server failed.
        Server = "server",
        /// The server has too much to do.
        Overloaded = "overloaded",
        /// Nobody answered in time.
        Timeout = "timeout",
        /// The source stopped before it was complete; nobody said so but us.
        Incomplete = "incomplete",
        /// Anything else.
        Other = "other",
    }
}

impl FailureClass {
    /// What an HTTP status says about a failure, where the body says no more.
    pub const fn of_status(status: u16) -> Self {
        match status {
            400 | 422 => FailureClass::InvalidRequest,
            401 => FailureClass::Authentication,
            402 => FailureClass::Billing,
            403 => FailureClass::Permission,
            404 => FailureClass::NotFound,
            409 | 412 => FailureClass::Conflict,
            413 => FailureClass::TooLarge,
            429 => FailureClass::RateLimit,
            408 | 504 => FailureClass::Timeout,
            503 | 529 => FailureClass::Overloaded,
            500..600 => FailureClass::Server,
            _ => FailureClass::Other,
        }
    }

    /// Whether the same request may succeed later.
    pub const fn is_retryable(self) -> bool {
        match self {
            FailureClass::Conflict
            | FailureClass::RateLimit
            | FailureClass::Server
            | FailureClass::Overloaded
            | FailureClass::Timeout
            | FailureClass::Incomplete => true,
            FailureClass::InvalidRequest
            | FailureClass::ContextTooLong
            | FailureClass::Authentication
            | FailureClass::Billing
            | FailureClass::Permission
            | FailureClass::NotFound
            | FailureClass::TooLarge
            | FailureClass::Other => false,
        }
    }

    /// The HTTP status for such a failure, where the source told none.
    pub const fn status(self) -> u16 {
        match self {
            FailureClass::InvalidRequest | FailureClass::ContextTooLong => 400,
            FailureClass::Authentication => 401,
            FailureClass::Billing => 402,
            FailureClass::Permission => 403,
            FailureClass::NotFound => 404,
            FailureClass::Conflict => 409,
            FailureClass::TooLarge => 413,
            FailureClass::RateLimit => 429,
            FailureClass::Server | FailureClass::Other => 500,
            FailureClass::Incomplete => 502,
            FailureClass::Overloaded => 529,
            FailureClass::Timeout => 504,
        }
    }
}

/// The counts of [`Usage`], once: what is done to one is done to all.
macro_rules! counts {
    ($($(#[$about:meta])* $count:ident => $field:ident,)*) => {
        /// Tokens, in buckets that every provider's numbers convert to and from exactly.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct Usage {
            $($(#[$about])* pub $count: Option<u64>,)*
        }

        impl Usage {
            /// Every count with its name.
            pub const fn counts(&self) -> [(Field, Option<u64>); [$(Field::$field),*].len()] {
                [$((Field::$field, self.$count)),*]
            }

            /// Combines the counts of two usages.
            fn with(&self, other: &Usage, both: impl Fn(Option<u64>, Option<u64>) -> Option<u64>) -> Usage {
                Usage { $($count: both(self.$count, other.$count)),* }
            }
        }

        impl<'t> Neutral<'t> for Usage {
            fn absent() -> Self {
                Self::default()
            }

            fn write(&self, spelling: Spelling, json: &mut JsonWriter<'_>) {
                json.object();
                $(if self.$count.is_some() {
                    neutral::write_member(stringify!($count), &self.$count, spelling, json);
                })*
                json.end_object();
            }

            fn read(val: Val<'t>, _: Field, spelling: Spelling) -> Option<Self> {
                const NAMES: neutral::MemberNames<{ [$(stringify!($count)),*].len() }> =
                    neutral::MemberNames::new([$(stringify!($count)),*]);
                if val.kind() != Kind::Object {
                    return None;
                }
                if val.members().next().is_none() {
                    val.note(Field::Structure);
                }
                let [$($count),*] = NAMES.find(val, spelling);
                Some(Self { $($count: neutral::read_member($count, Field::$field, spelling)),* })
            }
        }

        impl EachField for Usage {
            fn each_field(&mut self, show: &mut Show<'_>) {
                $(self.$count.show(Field::$field, show);)*
            }
        }
    };
}

counts! {
    /// Input that was neither read from nor written to a cache.
    input => UsageInput,
    /// Input read from a cache.
    cache_read => UsageCacheRead,
    /// Input written to a cache, any lifetime.
    cache_write => UsageCacheWrite,
    /// The part of `cache_write` with the longer lifetime.
    cache_write_long => UsageCacheWriteLong,
    /// The part of all input that is sound.
    input_audio => UsageInputAudio,
    /// All output, reasoning included.
    output => UsageOutput,
    /// The part of `output` that is reasoning.
    reasoning => UsageReasoning,
    /// The part of `output` that is sound.
    output_audio => UsageOutputAudio,
}

impl IntoOwned for Usage {
    type Owned = Self;

    fn into_owned(self) -> Self {
        self
    }
}

impl Usage {
    /// All input: uncached, read from cache and written to it.
    pub fn all_input(&self) -> Option<u64> {
        [self.input, self.cache_read, self.cache_write].into_iter().flatten().reduce(u64::saturating_add)
    }

    /// Later numbers win; numbers not repeated stay.
    pub fn overwrite(&mut self, later: &Usage) {
        *self = self.with(later, |then, now| now.or(then));
    }

    /// Both together.
    #[must_use]
    pub fn and(&self, other: &Usage) -> Usage {
        self.with(other, |one, two| match (one, two) {
            (Some(one), Some(two)) => Some(one.saturating_add(two)),
            (one, two) => one.or(two),
        })
    }

    /// Takes in a later report of the same response. Returns what that adds to what is known.
    #[must_use]
    pub fn take_in(&mut self, report: &Usage) -> Usage {
        let more = report.increase_over(self);
        *self = self.and(&more);
        more
    }

    /// The counts that the other has, too.
    #[must_use]
    pub fn where_said(&self, other: &Usage) -> Usage {
        self.with(other, |own, said| said.and(own))
    }

    /// What must be added to `earlier` to get here; nothing where a number went down.
    #[must_use]
    pub fn increase_over(&self, earlier: &Usage) -> Usage {
        self.with(earlier, |now, then| Some(now?.saturating_sub(then.unwrap_or(0))))
    }
}
