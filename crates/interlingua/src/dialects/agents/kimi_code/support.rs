//! Fields that a line built from another agent's session supports. A kept line supports every field.

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
        Field::ReasoningText | Field::CallArgs | Field::ResultText | Field::ResultIsError => OF_MAIN_AGENT,

        Field::SessionStart => Support::Less("only what is known when the file begins, in milliseconds"),
        said_by_kept_frames!()
        | Field::SessionId
        | Field::SessionCwd
        | Field::SessionModel
        | Field::SessionProvider
        | Field::PermissionMode
        | Field::SessionBranch
        | Field::SessionCommit
        | Field::SessionRepository => Support::Less("only lines that were kept say it"),

        Field::CallName => TOOL_NAME_OF_MAIN_AGENT,
        Field::CallId | Field::ResultCallId => Support::Less("an id that the API refuses is replaced"),
        Field::ItemAuthor => Support::Less("system prompts are left out; a tool that speaks is the user"),
        Field::ItemOrigin => Support::Less("not that a message is another agent's"),
        Field::ItemId => Support::Less("only of messages"),
        Field::ItemTime => Support::Less("only of a line, in milliseconds"),
        Field::EventTime => Support::Less("only of a line that has no time of its own, in milliseconds"),
        Field::ItemParent | Field::ItemModel | Field::ItemParentCall | Field::ItemStatus => {
            Support::No(Reason::NoSlot)
        }

        Field::ItemAgent => Support::Less("only whose log it is: what another one says is left out"),
        Field::MessageMedia | Field::ResultMedia => Support::Less("pictures, films and sounds"),
        Field::MediaType => Support::Less("only of what is here in base64"),
        Field::MediaName => Support::No(Reason::NoSlot),
        Field::MessageJson | Field::ResultJson => {
            Support::Less("as text; what subagents say and do is left out")
        }
        Field::Refusal => Support::Less("as text; what subagents say and do is left out"),
        Field::ReasoningSummary => Support::Less("as thinking; what subagents say and do is left out"),
        Field::Signature | Field::Encrypted | Field::Issuer => {
            Support::Less("only lines that were kept say it")
        }
        Field::CallKind => Support::Less("free text is told by its form; who runs a tool is not"),
        Field::CallNamespace => {
            Support::Less("before the tool's name; what subagents say and do is left out")
        }
        Field::ResultName => Support::No(Reason::Redundant),

        Field::CompactionSummary => Support::Emulated("as a message"),
        said_by_no_log!() => Support::No(Reason::NoSlot),
        Field::ResultExitCode | Field::ResultDuration => Support::No(Reason::NoSlot),
    }
}
