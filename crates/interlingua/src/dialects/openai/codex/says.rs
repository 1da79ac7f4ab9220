//! The fields that a rollout supports for another agent's session. A kept line restores all fields.

use crate::ledger::Reason;
use crate::log::{OF_MAIN_AGENT, SPOKEN_BY_MAIN_AGENT, said_by_kept_frames, said_by_no_log};
use crate::model::{Field, Says};

#[expect(clippy::unnested_or_patterns, reason = "a room of fields is a pattern of its own")]
pub(super) const fn says(field: Field) -> Says {
    match field {
        Field::Structure | Field::Padding => Says::Exactly,
        Field::MessageText => SPOKEN_BY_MAIN_AGENT,
        Field::ReasoningSummary
        | Field::CallNamespace
        | Field::CallName
        | Field::CallArgs
        | Field::ResultText => OF_MAIN_AGENT,

        Field::SessionId => Says::Less("an id that is no UUID is replaced"),
        Field::SessionCwd
        | Field::SessionBranch
        | Field::SessionCommit
        | Field::SessionRepository
        | Field::SessionStart => Says::Less("only what is known before the first item"),
        said_by_kept_frames!() | Field::PermissionMode | Field::SessionModel | Field::SessionProvider => {
            Says::Less("only lines that were kept say it")
        }

        Field::CallId | Field::ResultCallId => Says::Less("an id that the API refuses is replaced"),
        Field::ItemAuthor => Says::Less(
            "system prompts are left out; a message of a tool is the user's; one without content has no line",
        ),
        // The API refuses ids that it did not issue.
        Field::ItemId | Field::ItemParent | Field::ItemModel | Field::ItemStatus => Says::No(Reason::NoSlot),
        Field::ItemOrigin => Says::Less("what a harness put there is not shown; no more is told apart"),
        Field::EventTime => Says::Less("only of a line that has no time of its own"),
        Field::ItemTime => Says::Less("only as a date; reasoning that cannot be read has no line"),

        Field::MessageMedia | Field::ResultMedia => {
            Says::Less("pictures, not of the assistant, and not another provider's files")
        }
        Field::MediaType => Says::Less("only of what is here in base64"),
        Field::MediaName => Says::No(Reason::NoSlot),
        Field::MessageJson | Field::ResultJson => {
            Says::Less("as text; what subagents say and do is left out")
        }
        Field::Refusal => Says::Less("as text; what subagents say and do is left out"),
        Field::ReasoningText => Says::Less("as a summary; what subagents say and do is left out"),
        Field::Encrypted | Field::Issuer => Says::Less("only OpenAI's own"),
        Field::Signature => Says::No(Reason::Foreign),

        Field::CallKind => Says::Less("functions and free text; who runs a tool is not told"),
        Field::ResultName => Says::No(Reason::Redundant),
        Field::ResultIsError => Says::No(Reason::NoSlot),

        Field::ItemAgent => Says::Less("only whose log it is: what another one says is left out"),
        Field::CompactionSummary => Says::Emulated("as a message"),
        said_by_no_log!() => Says::No(Reason::NoSlot),
        Field::ItemParentCall | Field::ResultExitCode | Field::ResultDuration => Says::No(Reason::NoSlot),
    }
}
