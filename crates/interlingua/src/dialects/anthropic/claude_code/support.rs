//! Fields that a line built from another agent's session supports. A kept line supports every field.

use crate::ledger::Reason;
use crate::log::{SPOKEN, said_by_kept_frames, said_by_no_log};
use crate::model::{Field, Support};

#[expect(clippy::unnested_or_patterns, reason = "a room of fields is a pattern of its own")]
pub(super) const fn support(field: Field) -> Support {
    match field {
        Field::Structure | Field::Padding | Field::CallArgs | Field::ResultText | Field::ResultIsError => {
            Support::Exactly
        }
        Field::MessageText => SPOKEN,

        Field::SessionId => Support::Less(
            "what is said after the last line; an id that the program does not take is replaced",
        ),
        Field::SessionCwd | Field::SessionBranch => Support::Less("what is said after the last line"),
        Field::PermissionMode => Support::Less("only of lines of the user"),
        Field::SessionModel => Support::Less("said only of assistant lines that name no model themselves"),
        // A line holds the time of its item; the first line's time is the session's start.
        said_by_kept_frames!()
        | Field::SessionProvider
        | Field::SessionCommit
        | Field::SessionRepository
        | Field::SessionStart => Support::Less("only lines that were kept say it"),

        Field::ItemAuthor => Support::Less("system prompts are left out; a tool that speaks is the user"),
        Field::ItemId => {
            Support::Less("a block has no id of its own; a message that holds nothing has no line")
        }
        Field::ItemParent => Support::Less("only the line before; a block has none"),
        Field::ItemTime => Support::Less("only of a line, and only as a date"),
        Field::ItemModel => Support::Less("only of assistant lines"),
        Field::ItemOrigin => {
            Support::Less("what a harness put there, and a summary; another agent's words are the user's")
        }
        Field::ItemAgent | Field::ItemParentCall => Support::Less("only of a line"),
        Field::EventTime => Support::Less("only of a line that has no time of its own"),
        Field::ItemStatus => Support::No(Reason::NoSlot),

        Field::MessageMedia | Field::ResultMedia => {
            Support::Less("pictures and PDFs; not another provider's files")
        }
        Field::MediaType => Support::Less("only of what is here in base64"),
        Field::MediaName => Support::Less("only of documents"),
        Field::MessageJson | Field::Refusal => Support::Less("as text; system prompts are left out"),
        Field::ResultJson => Support::Emulated("as text"),
        Field::ReasoningText | Field::ReasoningSummary => {
            Support::Less("only with the signature of Anthropic: the API refuses any other thinking")
        }
        Field::Signature | Field::Encrypted | Field::Issuer => Support::Less("only Anthropic's own"),

        Field::CallId | Field::ResultCallId => Support::Less("letters that the API refuses are replaced"),
        Field::CallKind => Support::Less("free text is told by its form; who runs a tool is not"),
        Field::CallNamespace => Support::Emulated("before the tool's name"),
        Field::CallName => Support::Less("letters that the API refuses are replaced"),
        Field::ResultName => Support::No(Reason::Redundant),

        Field::CompactionSummary => Support::Emulated("as a message"),
        said_by_no_log!() => Support::No(Reason::NoSlot),
        Field::ResultExitCode | Field::ResultDuration => Support::No(Reason::NoSlot),
    }
}
