//! Fields that a message built from another agent's session supports. A kept message supports every field.

use crate::ledger::Reason;
use crate::log::{OF_MAIN_AGENT, SPOKEN_BY_MAIN_AGENT, TOOL_NAME_OF_MAIN_AGENT, said_by_no_log};
use crate::model::{Field, Support};

#[expect(clippy::unnested_or_patterns, reason = "a room of fields is a pattern of its own")]
pub(super) const fn support(field: Field) -> Support {
    match field {
        Field::Structure | Field::Padding => Support::Exactly,
        Field::MessageText => SPOKEN_BY_MAIN_AGENT,
        Field::CallArgs | Field::ResultText | Field::ResultIsError | Field::ResultExitCode => OF_MAIN_AGENT,

        Field::SessionId => Support::Less(
            "only what is known when the thread begins; an id that the program does not take is replaced",
        ),
        Field::SessionCwd | Field::SessionStart | Field::SessionTitle => {
            Support::Less("only what is known when the thread begins")
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
        | Field::PermissionMode => Support::Less("only messages that were kept say it"),

        Field::CallName => TOOL_NAME_OF_MAIN_AGENT,
        Field::CallId | Field::ResultCallId => Support::Less("an id that the API refuses is replaced"),
        Field::ItemAuthor => Support::Less("system prompts are left out; a tool that speaks is the user"),
        Field::MessageMedia => Support::Less("pictures in base64; none of the assistant"),
        Field::MediaType => Support::Less("only of pictures"),
        Field::MessageJson | Field::ResultJson | Field::Refusal => {
            Support::Less("as text; what subagents say and do is left out")
        }
        Field::ReasoningText | Field::ReasoningSummary => {
            Support::Less("only with the signature of Anthropic: the API refuses any other thinking")
        }
        Field::Signature | Field::Encrypted | Field::Issuer => Support::Less("only Anthropic's, on thoughts"),
        Field::CallKind => Support::Less("free text is told by its form; who runs a tool is not"),
        Field::CallNamespace => {
            Support::Less("before the tool's name; what subagents say and do is left out")
        }
        Field::ResultMedia => Support::Less("pictures in base64, beside the result"),
        Field::ItemAgent => Support::Less("only that its answers are not joined with others'"),

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
        | Field::ResultDuration => Support::No(Reason::NoSlot),

        Field::CompactionSummary => Support::Emulated("as a message"),
        said_by_no_log!() => Support::No(Reason::NoSlot),
    }
}
