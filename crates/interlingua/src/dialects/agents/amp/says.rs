//! Fields that a message built from another agent's session supports. A kept message supports every field.

use crate::ledger::Reason;
use crate::log::{OF_MAIN_AGENT, SPOKEN_BY_MAIN_AGENT, said_by_no_log};
use crate::model::{Field, Says};

#[expect(clippy::unnested_or_patterns, reason = "a room of fields is a pattern of its own")]
pub(super) const fn says(field: Field) -> Says {
    match field {
        Field::Structure | Field::Padding => Says::Exactly,
        Field::MessageText => SPOKEN_BY_MAIN_AGENT,
        Field::CallName
        | Field::CallArgs
        | Field::ResultText
        | Field::ResultIsError
        | Field::ResultExitCode => OF_MAIN_AGENT,

        Field::SessionId => Says::Less(
            "only what is known when the thread begins; an id that the program does not take is replaced",
        ),
        Field::SessionCwd | Field::SessionStart | Field::SessionTitle => {
            Says::Less("only what is known when the thread begins")
        }
        Field::SessionParent
        | Field::SessionParentCall
        | Field::SessionVersion
        | Field::SessionAgent
        | Field::ApprovalPolicy
        | Field::SandboxPolicy
        | Field::SessionEffort
        | Field::SessionLeaf
        | Field::SessionUnrecorded
        | Field::SessionModel
        | Field::SessionProvider
        | Field::SessionBranch
        | Field::SessionCommit
        | Field::SessionRepository
        | Field::PermissionMode => Says::Less("only messages that were kept say it"),

        Field::CallId | Field::ResultCallId => Says::Less("an id that the API refuses is replaced"),
        Field::ItemAuthor => Says::Less("system prompts are left out; a tool that speaks is the user"),
        Field::MessageMedia => Says::Less("pictures in base64; none of the assistant"),
        Field::MediaType => Says::Less("only of pictures"),
        Field::MessageJson | Field::ResultJson | Field::Refusal => {
            Says::Less("as text; what subagents say and do is left out")
        }
        Field::ReasoningText | Field::ReasoningSummary => {
            Says::Less("only with the signature of Anthropic: the API refuses any other thinking")
        }
        Field::Signature | Field::Encrypted | Field::Issuer => Says::Less("only Anthropic's, on thoughts"),
        Field::CallKind => Says::Less("free text is told by its form; who runs a tool is not"),
        Field::CallNamespace => Says::Less("before the tool's name; what subagents say and do is left out"),
        Field::ResultMedia => Says::Less("pictures in base64, beside the result"),
        Field::ItemAgent => Says::Less("only that its answers are not joined with others'"),

        Field::ItemOrigin
        | Field::ItemId
        | Field::ItemParent
        | Field::ItemTime
        | Field::ItemModel
        | Field::ItemParentCall
        | Field::ItemStatus
        | Field::EventTime
        | Field::MediaName
        | Field::ResultName
        | Field::ResultDuration => Says::No(Reason::NoSlot),

        Field::CompactionSummary => Says::Emulated("as a message"),
        said_by_no_log!() => Says::No(Reason::NoSlot),
    }
}
