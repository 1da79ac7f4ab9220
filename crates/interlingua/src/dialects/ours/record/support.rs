//! Fields that a record supports under canonical names. An unsupported field stays in the kept line, so no value is
//! lost. A supported field leaves a hole in the line, so [`super::read`] must read every supported field back.

use crate::model::{
    Field, Support, attempts, citations, failures, listings, oversight, revisions, session, settings, turns,
};

pub(in crate::dialects::ours) const fn support(field: Field) -> Support {
    match field {
        Field::Structure | Field::Padding => Support::Exactly,
        Field::EventTime => {
            Support::Less("the time of an event without an entry of its own, or of an item with another time")
        }
        // The model's declarations cover every field of these groups, including fields added later.
        session!() if matches!(field, Field::SessionLeaf) => Support::Less("the last one that is told"),
        session!() => Support::Exactly,
        settings!() => Support::Exactly,
        turns!() => Support::Exactly,
        oversight!() => Support::Exactly,
        failures!() => Support::Exactly,
        citations!() => Support::Exactly,
        revisions!() => Support::Exactly,
        attempts!() => Support::Exactly,
        listings!() => Support::Exactly,
        Field::Cost => Support::Exactly,
        Field::UsageInput
        | Field::UsageCacheRead
        | Field::UsageCacheWrite
        | Field::UsageCacheWriteLong
        | Field::UsageInputAudio
        | Field::UsageOutput
        | Field::UsageReasoning
        | Field::UsageOutputAudio => Support::Less("a count that goes down again within one response"),
        Field::ItemAuthor
        | Field::ItemOrigin
        | Field::ItemId
        | Field::ItemParent
        | Field::ItemAgent
        | Field::ItemParentCall
        | Field::ItemTime
        | Field::ItemModel
        | Field::ItemAnswer
        | Field::ItemPhase
        | Field::ItemSubject
        | Field::ItemStatus => Support::Exactly,
        Field::MessageText
        | Field::MessageMedia
        | Field::MessageJson
        | Field::Refusal
        | Field::CacheMark
        | Field::CacheLifetime
        | Field::MediaType
        | Field::MediaName
        | Field::MediaContext
        | Field::MediaCitable
        | Field::MediaDetail
        | Field::FilePath
        | Field::FileAction
        | Field::FileDiff => Support::Exactly,
        Field::ReasoningText
        | Field::ReasoningSummary
        | Field::Signature
        | Field::Encrypted
        | Field::Issuer => Support::Exactly,
        Field::CallId | Field::CallKind | Field::CallNamespace | Field::CallName | Field::CallArgs => {
            Support::Exactly
        }
        Field::ResultCallId
        | Field::ResultName
        | Field::ResultText
        | Field::ResultMedia
        | Field::ResultJson
        | Field::ResultIsError
        | Field::ResultExitCode
        | Field::ResultDuration => Support::Exactly,
        Field::NoticeType | Field::NoticeText | Field::NoticeData => Support::Exactly,
    }
}
