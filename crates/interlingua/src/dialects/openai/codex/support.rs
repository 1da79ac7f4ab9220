//! The fields that a rollout supports for another agent's session. A kept line restores all fields.

use crate::ledger::Reason;
use crate::log::{
    OF_MAIN_AGENT, SPOKEN_BY_MAIN_AGENT, TOOL_NAME_OF_MAIN_AGENT, said_by_kept_frames, said_by_no_log,
};
use crate::model::{Field, Support};

#[expect(clippy::unnested_or_patterns, reason = "a room of fields is a pattern of its own")]
pub(super) const fn support(field: Field) -> Support {
    match field {
        Field::Structure | Field::Padding => Support::Exactly,
        Field::MessageText => SPOKEN_BY_MAIN_AGENT,
        Field::ReasoningSummary | Field::CallNamespace | Field::CallArgs | Field::ResultText => OF_MAIN_AGENT,

        Field::SessionId => Support::Less("an id that is no UUID is replaced"),
        Field::SessionCwd
        | Field::SessionBranch
        | Field::SessionCommit
        | Field::SessionRepository
        | Field::SessionStart => Support::Less("only what is known before the first item"),
        said_by_kept_frames!() | Field::PermissionMode | Field::SessionModel | Field::SessionProvider => {
            Support::Less("only lines that were kept say it")
        }

        Field::CallName => TOOL_NAME_OF_MAIN_AGENT,
        Field::CallId | Field::ResultCallId => Support::Less("an id that the API refuses is replaced"),
        Field::ItemAuthor => Support::Less(
            "system prompts are left out; a message of a tool is the user's; one without content has no line",
        ),
        // The API refuses ids that it did not issue.
        Field::ItemId | Field::ItemParent | Field::ItemModel | Field::ItemStatus => {
            Support::No(Reason::NoSlot)
        }
        Field::ItemOrigin => Support::Less("what a harness put there is not shown; no more is told apart"),
        Field::EventTime => Support::Less("only of a line that has no time of its own"),
        Field::ItemTime => Support::Less("only as a date; reasoning that cannot be read has no line"),

        Field::MessageMedia | Field::ResultMedia => {
            Support::Less("pictures, not of the assistant, and not another provider's files")
        }
        Field::MediaType => Support::Less("only of what is here in base64"),
        Field::MediaName => Support::No(Reason::NoSlot),
        Field::MessageJson | Field::ResultJson => {
            Support::Less("as text; what subagents say and do is left out")
        }
        Field::Refusal => Support::Less("as text; what subagents say and do is left out"),
        Field::ReasoningText => Support::Less("as a summary; what subagents say and do is left out"),
        Field::Encrypted | Field::Issuer => Support::Less("only OpenAI's own"),
        Field::Signature => Support::No(Reason::Foreign),

        Field::CallKind => Support::Less("functions and free text; who runs a tool is not told"),
        Field::ResultName => Support::No(Reason::Redundant),
        Field::ResultIsError => Support::No(Reason::NoSlot),

        Field::ItemAgent => Support::Less("only whose log it is: what another one says is left out"),
        Field::CompactionSummary => Support::Emulated("as a message"),
        said_by_no_log!() => Support::No(Reason::NoSlot),
        Field::ItemParentCall | Field::ResultExitCode | Field::ResultDuration => Support::No(Reason::NoSlot),
    }
}
