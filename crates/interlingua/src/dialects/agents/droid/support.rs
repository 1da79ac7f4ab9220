//! Fields that a line built from another agent's session supports. A kept line supports every field.

use crate::ledger::Reason;
use crate::log::{OF_MAIN_AGENT, SPOKEN_BY_MAIN_AGENT, TOOL_NAME_OF_MAIN_AGENT, said_by_no_log};
use crate::model::{Field, Support};

#[expect(clippy::unnested_or_patterns, reason = "a group of fields is a pattern of its own")]
pub(super) const fn support(field: Field) -> Support {
    match field {
        Field::Structure | Field::Padding => Support::Exactly,
        Field::MessageText => SPOKEN_BY_MAIN_AGENT,
        Field::CallArgs | Field::ResultText | Field::ResultIsError => OF_MAIN_AGENT,

        Field::SessionId => {
            Support::Less("only the value before the first line; an id that is no UUID is replaced")
        }
        Field::SessionCwd | Field::SessionTitle => Support::Less("only the value before the first line"),
        Field::SessionModel => Support::Less("only in assistant lines without a model of their own"),
        Field::SessionParent
        | Field::SessionParentCall
        | Field::SessionVersion
        | Field::SessionAgent
        | Field::ApprovalPolicy
        | Field::SandboxPolicy
        | Field::SessionEffort
        | Field::SessionLeaf
        | Field::SessionUnrecorded
        | Field::SessionStart
        | Field::PermissionMode
        | Field::SessionProvider
        | Field::SessionBranch
        | Field::SessionCommit
        | Field::SessionRepository => Support::Less("only in kept lines"),

        Field::ItemAuthor => Support::Less("system prompts are left out; text of a tool is the user's"),
        Field::ItemId => Support::Less("only of lines; a message without content has no line"),
        Field::ItemParent => Support::Less("only the line before; a block has none"),
        Field::ItemTime => Support::Less("only of lines, and only as a date"),
        Field::ItemModel => Support::Less("only in assistant lines"),
        Field::EventTime => Support::Less("only in a line without a time of its own"),
        Field::ItemAgent => Support::Less("only the main agent; other agents are left out"),

        Field::CallName => TOOL_NAME_OF_MAIN_AGENT,
        Field::CallId | Field::ResultCallId => Support::Less("an id that the APIs refuse is replaced"),
        Field::ItemOrigin => Support::Less("only text of a harness"),
        Field::CallKind => Support::Less("free text has a form of its own; the runner of a tool has not"),
        Field::CallNamespace => Support::Less("before the tool's name; subagents are left out"),
        Field::MessageMedia | Field::ResultMedia => {
            Support::Less("pictures in base64; none of the assistant")
        }
        Field::MediaType | Field::MediaName => Support::Less("only of pictures"),
        Field::MessageJson | Field::ResultJson | Field::Refusal => {
            Support::Less("as text; subagents are left out")
        }
        Field::ReasoningText | Field::ReasoningSummary => Support::Less("only with a signature of Anthropic"),
        Field::Signature | Field::Encrypted | Field::Issuer => Support::Less("only Anthropic's, on thinking"),

        Field::CompactionSummary => Support::Emulated("as a message"),
        Field::ItemParentCall
        | Field::ItemStatus
        | Field::ResultName
        | Field::ResultExitCode
        | Field::ResultDuration => Support::No(Reason::NoSlot),
        said_by_no_log!() => Support::No(Reason::NoSlot),
    }
}
