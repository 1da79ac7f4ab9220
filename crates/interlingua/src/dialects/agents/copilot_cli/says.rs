//! Fields that a line built from another agent's session supports. A kept line supports every field.

use crate::ledger::Reason;
use crate::log::{SPOKEN, said_by_kept_frames, said_by_no_log};
use crate::model::{Field, Says};

#[expect(clippy::unnested_or_patterns, reason = "a room of fields is a pattern of its own")]
pub(super) const fn says(field: Field) -> Says {
    match field {
        Field::Structure
        | Field::Padding
        | Field::CallName
        | Field::CallArgs
        | Field::ResultText
        | Field::ResultIsError
        | Field::ResultExitCode => Says::Exactly,
        Field::MessageText => SPOKEN,

        Field::SessionId
        | Field::SessionCwd
        | Field::SessionStart
        | Field::SessionBranch
        | Field::SessionCommit
        | Field::SessionRepository => Says::Less("only what is known when the file begins"),
        Field::SessionModel => Says::Less("only of assistant lines that do not tell themselves"),
        said_by_kept_frames!() | Field::PermissionMode | Field::SessionProvider => {
            Says::Less("only lines that were kept say it")
        }

        Field::CallId | Field::ResultCallId => Says::Less("an id that the API refuses is replaced"),
        Field::ItemAuthor => Says::Less("system prompts are left out; a tool that speaks is the user"),
        Field::ItemOrigin => Says::Less("a person's own words, and what a harness put there"),
        Field::ItemId => Says::Less("only a UUID; a block has none of its own"),
        Field::ItemParent => Says::Less("only a UUID, and only the line before"),
        Field::ItemTime => Says::Less("only of a line, and only as a date"),
        Field::ItemModel => Says::Less("only of assistant lines"),
        Field::EventTime => Says::Less("only of a line that has no time of its own"),
        Field::ItemAgent | Field::ItemParentCall => Says::Less("only of a line"),
        Field::ItemStatus => Says::No(Reason::NoSlot),

        Field::MessageMedia => Says::Less("pictures in base64; none of the assistant"),
        Field::ResultMedia => Says::Less("pictures in base64; none of a tool that failed"),
        Field::MediaType => Says::Less("only of pictures"),
        Field::MessageJson | Field::Refusal => Says::Less("as text; system prompts are left out"),
        Field::ResultJson => Says::Emulated("as text"),
        Field::ReasoningText => Says::Exactly,
        Field::ReasoningSummary => Says::Emulated("as thoughts"),
        Field::Signature | Field::Encrypted | Field::Issuer => Says::Less("only Copilot's own, on reasoning"),
        Field::CallKind => Says::Less("free text is told from JSON; who runs a tool is not"),
        Field::CallNamespace => Says::Emulated("before the tool's name"),

        Field::CompactionSummary => Says::Emulated("as a message"),
        said_by_no_log!() => Says::No(Reason::NoSlot),
        Field::ResultName | Field::MediaName | Field::ResultDuration => Says::No(Reason::NoSlot),
    }
}
