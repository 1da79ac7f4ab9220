//! The fields that a Qwen Code log supports for another agent's session. A kept line restores all fields.

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
        Field::ReasoningText
        | Field::CallArgs
        | Field::ResultName
        | Field::ResultText
        | Field::ResultIsError => OF_MAIN_AGENT,

        Field::SessionId => Support::Less(
            "what is said after the last line; an id that the program does not take is replaced",
        ),
        Field::SessionCwd | Field::SessionBranch => Support::Less("what is said after the last line"),
        Field::SessionModel => Support::Less("only of assistant lines that do not tell themselves"),
        said_by_kept_frames!()
        | Field::PermissionMode
        | Field::SessionProvider
        | Field::SessionStart
        | Field::SessionCommit
        | Field::SessionRepository => Support::Less("only lines that were kept say it"),

        Field::CallName => TOOL_NAME_OF_MAIN_AGENT,
        Field::CallId | Field::ResultCallId => Support::Less("an id that the API refuses is replaced"),
        Field::ItemAuthor => Support::Less("system prompts are left out; a tool that speaks is the user"),
        Field::ItemOrigin => Support::Less("a person's own words, and what a harness put there"),
        Field::ItemId => {
            Support::Less("a part has no id of its own; a message that holds nothing has no line")
        }
        Field::ItemParent => Support::Less("only the line before; a part has none"),
        Field::ItemTime => Support::Less("only of a line, and only as a date"),
        Field::ItemModel => Support::Less("only of assistant lines"),
        Field::EventTime => Support::Less("only of a line that has no time of its own"),
        Field::ItemAgent => Support::Less("only whose log it is: what another one says is left out"),
        Field::ItemParentCall | Field::ItemStatus => Support::No(Reason::NoSlot),

        Field::MessageMedia | Field::ResultMedia => {
            Support::Less("in base64: pictures, sound, film and PDF; none of the assistant")
        }
        Field::MediaType | Field::MediaName => Support::Less("a name only of a PDF"),
        Field::MessageJson => Support::Less("as text; what subagents say and do is left out"),
        Field::ResultJson => OF_MAIN_AGENT,
        Field::Refusal => Support::Less("as text; what subagents say and do is left out"),
        Field::ReasoningSummary => Support::Less("as a thought; what subagents say and do is left out"),
        Field::Signature | Field::Encrypted | Field::Issuer => Support::No(Reason::Foreign),
        Field::CallKind => Support::Less("free text is told by its form; who runs a tool is not"),
        Field::CallNamespace => {
            Support::Less("before the tool's name; what subagents say and do is left out")
        }

        Field::CompactionSummary => Support::Emulated("as a message"),
        said_by_no_log!() => Support::No(Reason::NoSlot),
        Field::ResultExitCode | Field::ResultDuration => Support::No(Reason::NoSlot),
    }
}
