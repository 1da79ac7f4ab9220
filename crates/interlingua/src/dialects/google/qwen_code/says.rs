//! The fields that a Qwen Code log supports for another agent's session. A kept line restores all fields.

use crate::ledger::Reason;
use crate::log::{OF_MAIN_AGENT, SPOKEN_BY_MAIN_AGENT, said_by_kept_frames, said_by_no_log};
use crate::model::{Field, Says};

#[expect(clippy::unnested_or_patterns, reason = "a room of fields is a pattern of its own")]
pub(super) const fn says(field: Field) -> Says {
    match field {
        Field::Structure | Field::Padding => Says::Exactly,
        Field::MessageText => SPOKEN_BY_MAIN_AGENT,
        Field::ReasoningText
        | Field::CallName
        | Field::CallArgs
        | Field::ResultName
        | Field::ResultText
        | Field::ResultIsError => OF_MAIN_AGENT,

        Field::SessionId => {
            Says::Less("what is said after the last line; an id that the program does not take is replaced")
        }
        Field::SessionCwd | Field::SessionBranch => Says::Less("what is said after the last line"),
        Field::SessionModel => Says::Less("only of assistant lines that do not tell themselves"),
        said_by_kept_frames!()
        | Field::PermissionMode
        | Field::SessionProvider
        | Field::SessionStart
        | Field::SessionCommit
        | Field::SessionRepository => Says::Less("only lines that were kept say it"),

        Field::CallId | Field::ResultCallId => Says::Less("an id that the API refuses is replaced"),
        Field::ItemAuthor => Says::Less("system prompts are left out; a tool that speaks is the user"),
        Field::ItemOrigin => Says::Less("a person's own words, and what a harness put there"),
        Field::ItemId => Says::Less("a part has no id of its own; a message that holds nothing has no line"),
        Field::ItemParent => Says::Less("only the line before; a part has none"),
        Field::ItemTime => Says::Less("only of a line, and only as a date"),
        Field::ItemModel => Says::Less("only of assistant lines"),
        Field::EventTime => Says::Less("only of a line that has no time of its own"),
        Field::ItemAgent => Says::Less("only whose log it is: what another one says is left out"),
        Field::ItemParentCall | Field::ItemStatus => Says::No(Reason::NoSlot),

        Field::MessageMedia | Field::ResultMedia => {
            Says::Less("in base64: pictures, sound, film and PDF; none of the assistant")
        }
        Field::MediaType | Field::MediaName => Says::Less("a name only of a PDF"),
        Field::MessageJson => Says::Less("as text; what subagents say and do is left out"),
        Field::ResultJson => OF_MAIN_AGENT,
        Field::Refusal => Says::Less("as text; what subagents say and do is left out"),
        Field::ReasoningSummary => Says::Less("as a thought; what subagents say and do is left out"),
        Field::Signature | Field::Encrypted | Field::Issuer => Says::No(Reason::Foreign),
        Field::CallKind => Says::Less("free text is told by its form; who runs a tool is not"),
        Field::CallNamespace => Says::Less("before the tool's name; what subagents say and do is left out"),

        Field::CompactionSummary => Says::Emulated("as a message"),
        said_by_no_log!() => Says::No(Reason::NoSlot),
        Field::ResultExitCode | Field::ResultDuration => Says::No(Reason::NoSlot),
    }
}
