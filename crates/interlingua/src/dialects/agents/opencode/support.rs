//! Fields that an export built from another agent's session supports. A kept document supports every field.

use crate::ledger::Reason;
use crate::log::{OF_MAIN_AGENT, SPOKEN_BY_MAIN_AGENT, TOOL_NAME_OF_MAIN_AGENT, said_by_no_log};
use crate::model::{Field, Support};

#[expect(clippy::unnested_or_patterns, reason = "a room of fields is a pattern of its own")]
pub(super) const fn support(field: Field) -> Support {
    match field {
        Field::Structure | Field::Padding => Support::Exactly,
        Field::MessageText => SPOKEN_BY_MAIN_AGENT,
        Field::ReasoningText
        | Field::CallArgs
        | Field::ResultText
        | Field::ResultIsError
        | Field::ResultExitCode => OF_MAIN_AGENT,

        Field::SessionId => Support::Less(
            "only if it is known when the export begins; after `ses_`, unless it begins like that; an id that OpenCode does not take is replaced",
        ),
        Field::SessionStart | Field::SessionTitle => {
            Support::Less("only what is known when the export begins")
        }
        Field::SessionCwd => Support::Less("only with the next answer"),
        Field::SessionModel | Field::SessionProvider => {
            Support::Less("only of answers that do not tell themselves")
        }
        Field::PermissionMode => Support::Less("only with the next message"),
        Field::SessionParent
        | Field::SessionParentCall
        | Field::SessionVersion
        | Field::SessionAgent
        | Field::ApprovalPolicy
        | Field::SandboxPolicy
        | Field::SessionEffort
        | Field::SessionLeaf
        | Field::SessionUnrecorded
        | Field::SessionBranch
        | Field::SessionCommit
        | Field::SessionRepository => Support::Less("only documents that were kept say it"),

        Field::CallName => TOOL_NAME_OF_MAIN_AGENT,
        Field::CallId | Field::ResultCallId => Support::Less("an id that the API refuses is replaced"),
        Field::ItemAuthor => Support::Less("system prompts are left out; a tool that speaks is the user"),
        Field::ItemOrigin => Support::Less("what a harness put there, and a summary by the assistant"),
        Field::ItemId | Field::ItemParent => Support::No(Reason::NoSlot),
        Field::ItemTime => {
            Support::Less("only of a message, later than the one before it, and never in the future")
        }
        Field::ItemModel => Support::Less("only of answers"),
        Field::EventTime => Support::Less("only of a message that has no time of its own"),
        Field::ItemParentCall | Field::ItemStatus => Support::No(Reason::NoSlot),

        Field::ItemAgent => Support::Less("only whose log it is: what another one says is left out"),
        Field::MessageMedia | Field::ResultMedia => {
            Support::Less("pictures and PDF in base64; none of the assistant")
        }
        Field::MediaType => Support::Less("only of pictures and PDF"),
        Field::MediaName => Support::Less("only of a PDF"),
        Field::MessageJson | Field::ResultJson => {
            Support::Less("as text; what subagents say and do is left out")
        }
        Field::Refusal => Support::Less("as text; what subagents say and do is left out"),
        Field::ReasoningSummary => Support::Less("as reasoning; what subagents say and do is left out"),
        Field::Signature | Field::Encrypted | Field::Issuer => {
            Support::Less("only Anthropic's, on reasoning")
        }
        Field::CallKind => Support::Less("every call is a function's"),
        Field::CallNamespace => {
            Support::Less("before the tool's name; what subagents say and do is left out")
        }
        Field::ResultName => Support::No(Reason::NoSlot),
        Field::ResultDuration => OF_MAIN_AGENT,

        Field::CompactionSummary => Support::Emulated("as a message"),
        said_by_no_log!() => Support::No(Reason::NoSlot),
    }
}
