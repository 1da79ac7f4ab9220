//! Fields that a line built from another agent's session supports. A kept line supports every field.

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
        | Field::ResultText
        | Field::ResultIsError => OF_MAIN_AGENT,

        Field::SessionStart => Says::Less("only what is known when the file begins, in milliseconds"),
        said_by_kept_frames!()
        | Field::SessionId
        | Field::SessionCwd
        | Field::SessionModel
        | Field::SessionProvider
        | Field::PermissionMode
        | Field::SessionBranch
        | Field::SessionCommit
        | Field::SessionRepository => Says::Less("only lines that were kept say it"),

        Field::CallId | Field::ResultCallId => Says::Less("an id that the API refuses is replaced"),
        Field::ItemAuthor => Says::Less("system prompts are left out; a tool that speaks is the user"),
        Field::ItemOrigin => Says::Less("not that a message is another agent's"),
        Field::ItemId => Says::Less("only of messages"),
        Field::ItemTime => Says::Less("only of a line, in milliseconds"),
        Field::EventTime => Says::Less("only of a line that has no time of its own, in milliseconds"),
        Field::ItemParent | Field::ItemModel | Field::ItemParentCall | Field::ItemStatus => {
            Says::No(Reason::NoSlot)
        }

        Field::ItemAgent => Says::Less("only whose log it is: what another one says is left out"),
        Field::MessageMedia | Field::ResultMedia => Says::Less("pictures, films and sounds"),
        Field::MediaType => Says::Less("only of what is here in base64"),
        Field::MediaName => Says::No(Reason::NoSlot),
        Field::MessageJson | Field::ResultJson => {
            Says::Less("as text; what subagents say and do is left out")
        }
        Field::Refusal => Says::Less("as text; what subagents say and do is left out"),
        Field::ReasoningSummary => Says::Less("as thinking; what subagents say and do is left out"),
        Field::Signature | Field::Encrypted | Field::Issuer => Says::Less("only lines that were kept say it"),
        Field::CallKind => Says::Less("free text is told by its form; who runs a tool is not"),
        Field::CallNamespace => Says::Less("before the tool's name; what subagents say and do is left out"),
        Field::ResultName => Says::No(Reason::Redundant),

        Field::CompactionSummary => Says::Emulated("as a message"),
        said_by_no_log!() => Says::No(Reason::NoSlot),
        Field::ResultExitCode | Field::ResultDuration => Says::No(Reason::NoSlot),
    }
}
