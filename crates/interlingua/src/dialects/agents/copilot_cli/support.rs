//! Fields that a line built from another agent's session supports. A kept line supports every field.

use crate::ledger::Reason;
use crate::log::{SPOKEN, said_by_kept_frames, said_by_no_log};
use crate::model::{Field, Support};

#[expect(clippy::unnested_or_patterns, reason = "a room of fields is a pattern of its own")]
pub(super) const fn support(field: Field) -> Support {
    match field {
        Field::Structure
        | Field::Padding
        | Field::CallArgs
        | Field::ResultText
        | Field::ResultIsError
        | Field::ResultExitCode => Support::Exactly,
        Field::MessageText => SPOKEN,

        Field::SessionId
        | Field::SessionCwd
        | Field::SessionStart
        | Field::SessionBranch
        | Field::SessionCommit
        | Field::SessionRepository => Support::Less("only what is known when the file begins"),
        Field::SessionModel => Support::Less("only of assistant lines that do not tell themselves"),
        said_by_kept_frames!() | Field::PermissionMode | Field::SessionProvider => {
            Support::Less("only lines that were kept say it")
        }

        Field::CallName => Support::Less("a name that the API refuses is replaced"),
        Field::CallId | Field::ResultCallId => Support::Less("an id that the API refuses is replaced"),
        Field::ItemAuthor => Support::Less("system prompts are left out; a tool that speaks is the user"),
        Field::ItemOrigin => Support::Less("a person's own words, and what a harness put there"),
        Field::ItemId => Support::Less("only a UUID; a block has none of its own"),
        Field::ItemParent => Support::Less("only a UUID, and only the line before"),
        Field::ItemTime => Support::Less("only of a line, and only as a date"),
        Field::ItemModel => Support::Less("only of assistant lines"),
        Field::EventTime => Support::Less("only of a line that has no time of its own"),
        Field::ItemAgent | Field::ItemParentCall => Support::Less("only of a line"),
        Field::ItemStatus => Support::No(Reason::NoSlot),

        Field::MessageMedia => Support::Less("pictures in base64; none of the assistant"),
        Field::ResultMedia => Support::Less("pictures in base64; none of a tool that failed"),
        Field::MediaType => Support::Less("only of pictures"),
        Field::MessageJson | Field::Refusal => Support::Less("as text; system prompts are left out"),
        Field::ResultJson => Support::Emulated("as text"),
        Field::ReasoningText => Support::Exactly,
        Field::ReasoningSummary => Support::Emulated("as thoughts"),
        Field::Signature | Field::Encrypted | Field::Issuer => {
            Support::Less("only Copilot's own, on reasoning")
        }
        Field::CallKind => Support::Less("free text is told from JSON; who runs a tool is not"),
        Field::CallNamespace => Support::Emulated("before the tool's name"),

        Field::CompactionSummary => Support::Emulated("as a message"),
        said_by_no_log!() => Support::No(Reason::NoSlot),
        Field::ResultName | Field::MediaName | Field::ResultDuration => Support::No(Reason::NoSlot),
    }
}
