//! Fields that an export built from another agent's session supports. A kept document supports every field.

use crate::ledger::Reason;
use crate::log::{OF_MAIN_AGENT, SPOKEN_BY_MAIN_AGENT, said_by_no_log};
use crate::model::{Field, Says};

#[expect(clippy::unnested_or_patterns, reason = "a room of fields is a pattern of its own")]
pub(super) const fn says(field: Field) -> Says {
    match field {
        Field::Structure | Field::Padding => Says::Exactly,
        Field::MessageText => SPOKEN_BY_MAIN_AGENT,
        Field::ReasoningText
        | Field::CallName
        | Field::CallArgs
        | Field::ResultText
        | Field::ResultIsError
        | Field::ResultExitCode => OF_MAIN_AGENT,

        Field::SessionId => Says::Less(
            "only if it is known when the export begins; after `ses_`, unless it begins like that; an id that OpenCode does not take is replaced",
        ),
        Field::SessionStart | Field::SessionTitle => Says::Less("only what is known when the export begins"),
        Field::SessionCwd => Says::Less("only with the next answer"),
        Field::SessionModel | Field::SessionProvider => {
            Says::Less("only of answers that do not tell themselves")
        }
        Field::PermissionMode => Says::Less("only with the next message"),
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
        | Field::SessionRepository => Says::Less("only documents that were kept say it"),

        Field::CallId | Field::ResultCallId => Says::Less("an id that the API refuses is replaced"),
        Field::ItemAuthor => Says::Less("system prompts are left out; a tool that speaks is the user"),
        Field::ItemOrigin => Says::Less("what a harness put there, and a summary by the assistant"),
        Field::ItemId | Field::ItemParent => Says::No(Reason::NoSlot),
        Field::ItemTime => {
            Says::Less("only of a message, later than the one before it, and never in the future")
        }
        Field::ItemModel => Says::Less("only of answers"),
        Field::EventTime => Says::Less("only of a message that has no time of its own"),
        Field::ItemParentCall | Field::ItemStatus => Says::No(Reason::NoSlot),

        Field::ItemAgent => Says::Less("only whose log it is: what another one says is left out"),
        Field::MessageMedia | Field::ResultMedia => {
            Says::Less("pictures and PDF in base64; none of the assistant")
        }
        Field::MediaType => Says::Less("only of pictures and PDF"),
        Field::MediaName => Says::Less("only of a PDF"),
        Field::MessageJson | Field::ResultJson => {
            Says::Less("as text; what subagents say and do is left out")
        }
        Field::Refusal => Says::Less("as text; what subagents say and do is left out"),
        Field::ReasoningSummary => Says::Less("as reasoning; what subagents say and do is left out"),
        Field::Signature | Field::Encrypted | Field::Issuer => Says::Less("only Anthropic's, on reasoning"),
        Field::CallKind => Says::Less("every call is a function's"),
        Field::CallNamespace => Says::Less("before the tool's name; what subagents say and do is left out"),
        Field::ResultName => Says::No(Reason::NoSlot),
        Field::ResultDuration => OF_MAIN_AGENT,

        Field::CompactionSummary => Says::Emulated("as a message"),
        said_by_no_log!() => Says::No(Reason::NoSlot),
    }
}
