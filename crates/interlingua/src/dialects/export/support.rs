//! Fields that an export supports: all of them. A field without a member of its own is in an open map, under its name in
//! our model.

use crate::model::{
    Field, Support, attempts, citations, failures, listings, oversight, revisions, session, settings, turns,
};

pub(super) const fn support(field: Field) -> Support {
    match field {
        Field::Structure | Field::Padding => Support::Exactly,
        Field::EventTime => Support::Exactly,
        // The model's declarations cover every field of these groups, including fields added later.
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
        | Field::UsageOutputAudio => Support::Exactly,
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
        Field::MessageMedia | Field::ResultMedia => Support::Emulated(
            "pictures and sound in base64 become data URLs where the export has only addresses",
        ),
        Field::MessageText
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
        | Field::ResultJson
        | Field::ResultIsError
        | Field::ResultExitCode
        | Field::ResultDuration => Support::Exactly,
        Field::NoticeType | Field::NoticeText | Field::NoticeData => Support::Exactly,
    }
}
