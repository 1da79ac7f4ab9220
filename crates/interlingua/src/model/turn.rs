//! Turns: one model response, or the answer to one prompt, with its stop reason, usage and failures.

use super::macros::{EachField, IntoOwned, Shown, Words, owned, said, words};
use super::neutral::{self, Neutral, Spelling};
use super::{Field, Show, Time, Value};
use crate::json::{JsonWriter, Raw, Str};
use crate::tape::{Kind, Val};

said! {
    /// One model response, or the answer to one prompt.
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct Turn<'a> {
        /// The id the provider or agent gave the turn.
        pub id: Option<Str<'a>> => TurnId,
        /// The model that answers.
        pub model: Option<Str<'a>> => TurnModel,
        /// The creation time, as written.
        pub time: Option<Time<'a>> => TurnTime,
        /// The provider's id of the request this turn answers.
        pub request_id: Option<Str<'a>> => TurnRequestId,
        /// The reasoning effort, in the agent's own word.
        pub effort: Option<Str<'a>> => TurnEffort,
        /// The index, from 0, of the answer this turn belongs to when a request has several; `None` with a single
        /// answer.
        pub answer: Option<u64> => TurnAnswer,
        /// The stop reason.
        pub stop: Option<Stop<'a>> => each,
        /// The token usage.
        pub usage: Option<Usage> => each,
        /// The cost in US dollars, as written.
        pub cost: Option<Raw<'a>> => Cost,
    }

    /// The reason a response stopped.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Stop<'a> {
        /// The reason, in our words.
        pub class: StopClass => StopReason,
        /// The reason as the provider wrote it.
        pub raw: Option<Str<'a>> => StopReason,
        /// The stop sequence that matched.
        pub sequence: Option<Str<'a>> => StopSequence,
        /// Further details from the provider, in its own terms.
        pub detail: Option<Raw<'a>> => StopDetail,
    }

    /// A failure.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Failure<'a> {
        /// The class of failure.
        pub class: FailureClass => ErrorClass,
        /// The HTTP status, if any.
        pub status: Option<u16> => ErrorStatus,
        /// The provider's code or type.
        pub code: Option<Str<'a>> => ErrorCode,
        /// The message for people.
        pub message: Str<'a> => ErrorMessage,
        /// The id of the failed request.
        pub request_id: Option<Str<'a>> => ErrorRequestId,
        /// The delay in milliseconds before a retry, where the source has one.
        pub retry_after: Option<u64> => ErrorRetryAfter,
    }
}

words! {
    /// The reason a response stopped, in our words.
    pub enum StopClass or Other {
        /// The model completed its answer.
        End = "end_turn",
        /// A stop sequence matched.
        Sequence = "stop_sequence",
        /// The model waits for tool results.
        ToolUse = "tool_use",
        /// The output limit was reached.
        MaxTokens = "max_tokens",
        /// The context window is full.
        ContextFull = "context_full",
        /// The provider paused; the client sends the content back to continue.
        Paused = "paused",
        /// The model declined.
        Refusal = "refusal",
        /// A content filter stopped the response.
        Filter = "content_filter",
        /// The response was cancelled.
        Cancelled = "cancelled",
        /// The response failed.
        Error = "error",
        /// A reason without its own class.
        Other = "other",
    }

    /// The class of a failure.
    pub enum FailureClass or Other {
        /// The request was invalid.
        InvalidRequest = "invalid_request",
        /// The conversation exceeds the model's context window.
        ContextTooLong = "context_too_long",
        /// Missing or invalid credentials.
        Authentication = "authentication",
        /// Missing payment or credit.
        Billing = "billing",
        /// The credentials lack permission.
        Permission = "permission",
        /// The requested resource does not exist.
        NotFound = "not_found",
        /// The request conflicts with another request or state.
        Conflict = "conflict",
        /// The request was too large.
        TooLarge = "too_large",
        /// Too many requests.
        RateLimit = "rate_limit",
        /// The server failed.
        Server = "server",
        /// The server is overloaded.
        Overloaded = "overloaded",
        /// The response did not arrive in time.
        Timeout = "timeout",
        /// The source ended before it was complete. Only we detect this failure; no provider reports it.
        Incomplete = "incomplete",
        /// Any other failure.
        Other = "other",
    }
}

impl FailureClass {
    /// The failure class of an HTTP status, for bodies without a class.
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

    /// The HTTP status for a failure of this class, if the source has none.
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

/// The counts of [`Usage`], listed once: each operation applies to every count.
macro_rules! counts {
    ($($(#[$about:meta])* $count:ident => $field:ident,)*) => {
        /// Tokens, in buckets that every provider's numbers convert to and from exactly.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        #[cfg_attr(not(feature = "_exhaustive"), non_exhaustive)]
        pub struct Usage {
            $($(#[$about])* pub $count: Option<u64>,)*
        }

        impl Usage {
            /// Every count with its field.
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
    /// The audio part of all input.
    input_audio => UsageInputAudio,
    /// All output, reasoning included.
    output => UsageOutput,
    /// The part of `output` that is reasoning.
    reasoning => UsageReasoning,
    /// The audio part of `output`.
    output_audio => UsageOutputAudio,
}

impl IntoOwned for Usage {
    type Owned = Self;

    fn into_owned(self) -> Self {
        self
    }
}

impl Usage {
    /// The usage of a response with uncached input and output, and no further counts.
    pub fn new(input: u64, output: u64) -> Self {
        Self { input: Some(input), output: Some(output), ..Self::default() }
    }

    /// All input: uncached, read from cache and written to it.
    pub fn all_input(&self) -> Option<u64> {
        [self.input, self.cache_read, self.cache_write].into_iter().flatten().reduce(u64::saturating_add)
    }

    /// Overwrites counts with later counts; counts missing in `later` stay.
    pub fn overwrite(&mut self, later: &Usage) {
        *self = self.with(later, |then, now| now.or(then));
    }

    /// The sum of two usages.
    #[must_use]
    pub fn and(&self, other: &Usage) -> Usage {
        self.with(other, |one, two| match (one, two) {
            (Some(one), Some(two)) => Some(one.saturating_add(two)),
            (one, two) => one.or(two),
        })
    }

    /// Adds a later report of the same response. Returns the increase over the known counts.
    #[must_use]
    pub fn take_in(&mut self, report: &Usage) -> Usage {
        let more = report.increase_over(self);
        *self = self.and(&more);
        more
    }

    /// The counts that are also present in `other`.
    #[must_use]
    pub fn where_said(&self, other: &Usage) -> Usage {
        self.with(other, |own, said| said.and(own))
    }

    /// The increase from `earlier` to this usage; zero where a count went down.
    #[must_use]
    pub fn increase_over(&self, earlier: &Usage) -> Usage {
        self.with(earlier, |now, then| Some(now?.saturating_sub(then.unwrap_or(0))))
    }
}
