//! Fields that a line built from another agent's session supports: text and calls. A kept line supports every field.

use crate::ledger::Reason;
use crate::log::{OF_MAIN_AGENT, SPOKEN_BY_MAIN_AGENT, said_by_kept_frames, said_by_no_log};
use crate::model::{Field, Support};

#[expect(clippy::unnested_or_patterns, reason = "a room of fields is a pattern of its own")]
pub(super) const fn support(field: Field) -> Support {
    match field {
        Field::Structure | Field::Padding => Support::Exactly,
        Field::MessageText => SPOKEN_BY_MAIN_AGENT,
        Field::CallName | Field::CallArgs => OF_MAIN_AGENT,
        said_by_kept_frames!()
        | Field::SessionId
        | Field::SessionCwd
        | Field::SessionStart
        | Field::SessionModel
        | Field::SessionProvider
        | Field::SessionBranch
        | Field::SessionCommit
        | Field::SessionRepository
        | Field::PermissionMode => Support::Less("only lines that were kept say it"),

        Field::ItemAuthor => Support::Less("system prompts are left out; a tool that speaks is the user"),
        Field::CallKind => Support::Less("free text is told by its form; who runs a tool is not"),
        Field::CallNamespace => {
            Support::Less("before the tool's name; what subagents say and do is left out")
        }
        Field::MessageJson | Field::Refusal => {
            Support::Less("as text; what subagents say and do is left out")
        }

        Field::ItemAgent => Support::Less("only whose log it is: what another one says is left out"),
        Field::ItemOrigin
        | Field::ItemId
        | Field::ItemParent
        | Field::ItemTime
        | Field::ItemModel
        | Field::ItemParentCall
        | Field::ItemStatus
        | Field::EventTime
        | Field::CallId
        | Field::MessageMedia
        | Field::MediaType
        | Field::MediaName
        | Field::ReasoningText
        | Field::ReasoningSummary
        | Field::Signature
        | Field::Encrypted
        | Field::Issuer => Support::No(Reason::NoSlot),

        Field::CompactionSummary => Support::Emulated("as a message"),
        crate::model::results!() | said_by_no_log!() => Support::No(Reason::NoSlot),
    }
}
