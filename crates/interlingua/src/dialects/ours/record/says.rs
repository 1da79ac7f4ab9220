//! Fields that a record supports under canonical names. An unsupported field stays in the kept line, so no value is
//! lost. A supported field leaves a hole in the line, so [`super::read`] must read every supported field back.

use crate::model::{
    Field, Says, attempts, citations, failures, listings, oversight, revisions, session, settings, turns,
};

pub(in crate::dialects::ours) const fn says(field: Field) -> Says {
    match field {
        Field::Structure | Field::Padding => Says::Exactly,
        Field::EventTime => {
            Says::Less("the time of an event without an entry of its own, or of an item with another time")
        }
        // The model's declarations cover every field of these groups, including fields added later.
        session!() if matches!(field, Field::SessionLeaf) => Says::Less("the last one that is told"),
        session!() => Says::Exactly,
        settings!() => Says::Exactly,
        turns!() => Says::Exactly,
        oversight!() => Says::Exactly,
        failures!() => Says::Exactly,
        citations!() => Says::Exactly,
        revisions!() => Says::Exactly,
        attempts!() => Says::Exactly,
        listings!() => Says::Exactly,
        Field::Cost => Says::Exactly,
        Field::UsageInput
        | Field::UsageCacheRead
        | Field::UsageCacheWrite
        | Field::UsageCacheWriteLong
        | Field::UsageInputAudio
        | Field::UsageOutput
        | Field::UsageReasoning
        | Field::UsageOutputAudio => Says::Less("a count that goes down again within one response"),
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
        | Field::ItemStatus => Says::Exactly,
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
        | Field::FileDiff => Says::Exactly,
        Field::ReasoningText
        | Field::ReasoningSummary
        | Field::Signature
        | Field::Encrypted
        | Field::Issuer => Says::Exactly,
        Field::CallId | Field::CallKind | Field::CallNamespace | Field::CallName | Field::CallArgs => {
            Says::Exactly
        }
        Field::ResultCallId
        | Field::ResultName
        | Field::ResultText
        | Field::ResultMedia
        | Field::ResultJson
        | Field::ResultIsError
        | Field::ResultExitCode
        | Field::ResultDuration => Says::Exactly,
        Field::NoticeType | Field::NoticeText | Field::NoticeData => Says::Exactly,
    }
}
