//! What a record says in its own terms. What it did not say would stay in the kept line, so nothing is ever lost; but
//! what it says leaves a hole in the line, so everything here must be read back by [`super::read`] into the same field.

use crate::model::{
    Field, Says, caches, calls, citations, failures, items, media, notices, oversight, parts, reasoning,
    results, revisions, session, settings,
};

pub(super) const fn says(field: Field) -> Says {
    match field {
        Field::Structure | Field::Padding => Says::Exactly,
        Field::EventTime => {
            Says::Less("the time of an event without an entry of its own, or of an item with another time")
        }
        session!() | settings!() => Says::Exactly,
        Field::TurnId
        | Field::TurnModel
        | Field::TurnTime
        | Field::TurnAnswer
        | Field::StopReason
        | Field::StopSequence
        | Field::StopDetail
        | Field::Cost => Says::Exactly,
        Field::UsageInput
        | Field::UsageCacheRead
        | Field::UsageCacheWrite
        | Field::UsageCacheWriteLong
        | Field::UsageInputAudio
        | Field::UsageOutput
        | Field::UsageReasoning
        | Field::UsageOutputAudio => Says::Less("a count that goes down again within one response"),
        items!() | revisions!() => Says::Exactly,
        parts!() | citations!() | caches!() | media!() | reasoning!() => Says::Exactly,
        calls!() | results!() | notices!() => Says::Exactly,
        oversight!() | failures!() => Says::Exactly,
    }
}
