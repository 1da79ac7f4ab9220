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
        Field::ReasoningText
        | Field::CallArgs
        | Field::ResultName
        | Field::ResultText
        | Field::ResultIsError => OF_MAIN_AGENT,

        Field::SessionId => Support::Less(
            "only what is known when the file begins; an id that the program does not take is replaced",
        ),
        Field::SessionCwd | Field::SessionStart => Support::Less("only what is known when the file begins"),
        Field::SessionModel | Field::SessionProvider => {
            Support::Less("only of assistant lines that do not tell themselves")
        }
        said_by_kept_frames!()
        | Field::PermissionMode
        | Field::SessionBranch
        | Field::SessionCommit
        | Field::SessionRepository => Support::Less("only lines that were kept say it"),

        Field::CallName => TOOL_NAME_OF_MAIN_AGENT,
        Field::CallId | Field::ResultCallId => Support::Less("an id that the API refuses is replaced"),
        Field::ItemAuthor => Support::Less("system prompts are left out; a tool that speaks is the user"),
        Field::ItemOrigin => Support::Less("only what a harness put there"),
        Field::ItemId => {
            Support::Less("a block has no id of its own; a message that holds nothing has no line")
        }
        Field::ItemParent => Support::Less("only the line before; a block has none"),
        Field::ItemTime => Support::Less("only of a line, and only as a date"),
        Field::ItemModel => Support::Less("only of assistant lines"),
        Field::EventTime => Support::Less("only of a line that has no time of its own"),
        Field::ItemAgent => Support::Less("only whose log it is: what another one says is left out"),
        Field::ItemParentCall | Field::ItemStatus => Support::No(Reason::NoSlot),

        Field::MessageMedia | Field::ResultMedia => {
            Support::Less("pictures in base64; none of the assistant")
        }
        Field::MediaType => Support::Less("only of pictures"),
        Field::MessageJson | Field::ResultJson => {
            Support::Less("as text; what subagents say and do is left out")
        }
        Field::Refusal => Support::Less("as text; what subagents say and do is left out"),
        Field::ReasoningSummary => Support::Less("as thinking; what subagents say and do is left out"),
        Field::Signature | Field::Encrypted | Field::Issuer => Support::Less("only Anthropic's, on thinking"),
        Field::CallKind => Support::Less("free text is told by its form; who runs a tool is not"),
        Field::CallNamespace => {
            Support::Less("before the tool's name; what subagents say and do is left out")
        }
        Field::MediaName => Support::No(Reason::NoSlot),

        Field::CompactionSummary => Support::Emulated("as a message"),
        said_by_no_log!() => Support::No(Reason::NoSlot),
        Field::ResultExitCode | Field::ResultDuration => Support::No(Reason::NoSlot),
    }
}
