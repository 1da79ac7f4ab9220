//! Fields that universal events support: nearly all.

use crate::model::{Field, Support, attempts, citations, failures, listings, oversight, settings};

pub(super) const fn support(field: Field) -> Support {
    match field {
        Field::ItemId
        | Field::ItemParent
        | Field::ItemOrigin
        | Field::ItemReplaces
        | Field::ItemAgent
        | Field::ItemParentCall
        | Field::ItemTime
        | Field::ItemModel
        | Field::ItemAnswer
        | Field::ItemPhase
        | Field::ItemSubject
        | Field::ItemCopiedFrom => Support::Less("reasoning within a message has none of its own"),
        Field::ItemStatus => {
            Support::Less("reasoning, and a message that only holds items, have none of their own")
        }
        Field::ResultIsError | Field::ResultExitCode | Field::ResultDuration => {
            Support::Less("only items that are shown have it")
        }
        Field::EventTime => Support::Less("only the envelope tells it, in UTC and never going back"),
        Field::TurnTime => Support::Less(
            "without a turn or new usage only the envelope tells it, in UTC and never going back",
        ),
        Field::SessionEndStatus | Field::SessionEndMessage => Support::Less("a session ends once"),
        oversight!() => Support::Less("a second answer to a request is not said"),
        settings!() => Support::Emulated("a status item `request`"),
        Field::UsageInput
        | Field::UsageCacheRead
        | Field::UsageCacheWrite
        | Field::UsageCacheWriteLong
        | Field::UsageInputAudio
        | Field::UsageOutput
        | Field::UsageReasoning
        | Field::UsageOutputAudio => Support::Emulated("a status item `usage`, or in `turn.ended`"),
        listings!() => Support::Emulated("a status item `model`"),
        Field::RewindTo | Field::RewindTurns => Support::Emulated("a status item `rewound`"),
        Field::CompactionTrigger
        | Field::CompactionBefore
        | Field::CompactionAfter
        | Field::CompactionSummary
        | Field::CompactionHistory
        | Field::CompactionKeptFrom => Support::Emulated("a status item `compacted`"),
        Field::Structure | Field::Padding => Support::Exactly,
        Field::SessionId
        | Field::SessionParent
        | Field::SessionParentCall
        | Field::SessionCwd
        | Field::SessionVersion
        | Field::SessionModel
        | Field::SessionProvider
        | Field::SessionBranch
        | Field::SessionCommit
        | Field::SessionRepository
        | Field::SessionTitle
        | Field::SessionStart
        | Field::SessionAgent
        | Field::PermissionMode
        | Field::ApprovalPolicy
        | Field::SandboxPolicy
        | Field::SessionEffort
        | Field::SessionLeaf
        | Field::SessionUnrecorded => Support::Exactly,
        Field::TurnId
        | Field::TurnModel
        | Field::TurnAnswer
        | Field::StopReason
        | Field::StopSequence
        | Field::StopDetail
        | Field::Cost => Support::Exactly,
        attempts!() => Support::Exactly,
        failures!() => Support::Exactly,
        citations!() => Support::Exactly,
        Field::ItemAuthor
        | Field::MessageText
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
        | Field::ResultJson => Support::Exactly,
        Field::NoticeType | Field::NoticeText | Field::NoticeData => Support::Exactly,
    }
}
