//! Fields that a line built from another agent's session supports. A kept line supports every field.

use crate::ledger::Reason;
use crate::log::{SPOKEN, said_by_kept_frames, said_by_no_log};
use crate::model::{Field, Says};

#[expect(clippy::unnested_or_patterns, reason = "a room of fields is a pattern of its own")]
pub(super) const fn says(field: Field) -> Says {
    match field {
        Field::Structure | Field::Padding | Field::CallArgs | Field::ResultText | Field::ResultIsError => {
            Says::Exactly
        }
        Field::MessageText => SPOKEN,

        Field::SessionId => {
            Says::Less("what is said after the last line; an id that the program does not take is replaced")
        }
        Field::SessionCwd | Field::SessionBranch => Says::Less("what is said after the last line"),
        Field::PermissionMode => Says::Less("only of lines of the user"),
        Field::SessionModel => Says::Less("said only of assistant lines that name no model themselves"),
        // A line holds the time of its item; the first line's time is the session's start.
        said_by_kept_frames!()
        | Field::SessionProvider
        | Field::SessionCommit
        | Field::SessionRepository
        | Field::SessionStart => Says::Less("only lines that were kept say it"),

        Field::ItemAuthor => Says::Less("system prompts are left out; a tool that speaks is the user"),
        Field::ItemId => Says::Less("a block has no id of its own; a message that holds nothing has no line"),
        Field::ItemParent => Says::Less("only the line before; a block has none"),
        Field::ItemTime => Says::Less("only of a line, and only as a date"),
        Field::ItemModel => Says::Less("only of assistant lines"),
        Field::ItemOrigin => {
            Says::Less("what a harness put there, and a summary; another agent's words are the user's")
        }
        Field::ItemAgent | Field::ItemParentCall => Says::Less("only of a line"),
        Field::EventTime => Says::Less("only of a line that has no time of its own"),
        Field::ItemStatus => Says::No(Reason::NoSlot),

        Field::MessageMedia | Field::ResultMedia => {
            Says::Less("pictures and PDFs; not another provider's files")
        }
        Field::MediaType => Says::Less("only of what is here in base64"),
        Field::MediaName => Says::Less("only of documents"),
        Field::MessageJson | Field::Refusal => Says::Less("as text; system prompts are left out"),
        Field::ResultJson => Says::Emulated("as text"),
        Field::ReasoningText | Field::ReasoningSummary => {
            Says::Less("only with the signature of Anthropic: the API refuses any other thinking")
        }
        Field::Signature | Field::Encrypted | Field::Issuer => Says::Less("only Anthropic's own"),

        Field::CallId | Field::ResultCallId => Says::Less("letters that the API refuses are replaced"),
        Field::CallKind => Says::Less("free text is told by its form; who runs a tool is not"),
        Field::CallNamespace => Says::Emulated("before the tool's name"),
        Field::CallName => Says::Less("letters that the API refuses are replaced"),
        Field::ResultName => Says::No(Reason::Redundant),

        Field::CompactionSummary => Says::Emulated("as a message"),
        said_by_no_log!() => Says::No(Reason::NoSlot),
        Field::ResultExitCode | Field::ResultDuration => Says::No(Reason::NoSlot),
    }
}
