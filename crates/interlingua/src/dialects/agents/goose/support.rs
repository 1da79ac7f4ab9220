//! Fields that a message built from another agent's session supports. A kept message supports every field.

use crate::ledger::Reason;
use crate::log::{OF_MAIN_AGENT, SPOKEN_BY_MAIN_AGENT, TOOL_NAME_OF_MAIN_AGENT, said_by_no_log};
use crate::model::{Field, Support};

#[expect(clippy::unnested_or_patterns, reason = "a group of fields is a pattern of its own")]
pub(super) const fn support(field: Field) -> Support {
    match field {
        Field::Structure | Field::Padding => Support::Exactly,
        Field::MessageText => SPOKEN_BY_MAIN_AGENT,
        Field::ReasoningText
        | Field::CallArgs
        | Field::ResultText
        | Field::ResultIsError
        | Field::ResultExitCode => OF_MAIN_AGENT,

        Field::SessionId => {
            Support::Less("only the value before the first message; an id that is no word is replaced")
        }
        Field::SessionStart => Support::Less("only a date before the first message"),
        Field::SessionCwd | Field::SessionTitle => Support::Less("only the value before the first message"),
        Field::SessionModel
        | Field::SessionProvider
        | Field::SessionParent
        | Field::SessionParentCall
        | Field::SessionVersion
        | Field::SessionAgent
        | Field::ApprovalPolicy
        | Field::SandboxPolicy
        | Field::SessionEffort
        | Field::SessionLeaf
        | Field::SessionUnrecorded
        | Field::PermissionMode
        | Field::SessionBranch
        | Field::SessionCommit
        | Field::SessionRepository => Support::Less("only in kept messages"),

        Field::ItemAuthor => Support::Less("system prompts are left out; text of a tool is the user's"),
        Field::ItemOrigin => Support::Less("only text of a harness"),
        Field::ItemId => Support::Less("only of messages; a message without content is not written"),
        Field::ItemTime => Support::Less("only of messages, in seconds, and never before the message before"),
        Field::ItemModel => Support::Less("only of assistant messages"),
        Field::EventTime => Support::Less("only of a message without a time of its own, in seconds"),
        Field::ItemAgent => Support::Less("only the main agent; other agents are left out"),

        Field::CallName => TOOL_NAME_OF_MAIN_AGENT,
        Field::CallId | Field::ResultCallId => Support::Less("an id that the APIs refuse is replaced"),
        Field::CallKind => Support::Less("free text has a form of its own; the runner of a tool has not"),
        Field::CallNamespace => Support::Less("before the tool's name; subagents are left out"),
        Field::MessageMedia | Field::ResultMedia => {
            Support::Less("pictures in base64; none of the assistant")
        }
        Field::MediaType | Field::MediaName => Support::Less("only of pictures"),
        Field::MessageJson | Field::ResultJson | Field::Refusal => {
            Support::Less("as text; subagents are left out")
        }
        Field::ReasoningSummary => Support::Less("as reasoning; subagents are left out"),
        Field::Signature | Field::Encrypted | Field::Issuer => Support::Less("only Anthropic's, on thinking"),

        Field::CompactionSummary => Support::Emulated("as a message"),
        Field::ItemParent
        | Field::ItemParentCall
        | Field::ItemStatus
        | Field::ResultName
        | Field::ResultDuration => Support::No(Reason::NoSlot),
        said_by_no_log!() => Support::No(Reason::NoSlot),
    }
}
