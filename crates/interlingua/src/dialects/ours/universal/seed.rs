//! Closed universal events ([`crate::dialects::Options::seed_schema`]): only the members of the public schema. The README lists
//! the members that these events lack. The values of these members are lost, and the report lists the values.

use super::write::UniversalWriter;
use crate::json::Str;
use crate::ledger::Reason;
use crate::model::{
    Author, Field, FileRef, ItemHead, ItemKindTag, ItemTail, Media, MediaSource, Part, Question, Support,
    attempts, caches, citations, listings, revisions, settings, usage,
};
use crate::pipe::WriterOutput;

/// The members of an event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Members {
    /// The members of the public schema and ours.
    #[default]
    All,
    /// Only the members of the public schema.
    OfSchema,
}

impl Members {
    pub(super) const fn is_closed(self) -> bool {
        matches!(self, Members::OfSchema)
    }
}

/// The actions on files in the public schema.
const ACTIONS: [&str; 3] = ["read", "write", "patch"];

/// The action of a file in the public schema. The report lists any other action as lost.
pub(super) fn action<'a>(file: &'a FileRef<'_>) -> &'a str {
    let action = file.action.as_escaped();
    if ACTIONS.contains(&action) { action } else { "patch" }
}

impl UniversalWriter {
    /// Books the values of an item's start that closed events lack.
    pub(super) fn lose_of_start(&self, head: &ItemHead<'_>, out: &mut WriterOutput<'_>) {
        if !self.members.is_closed() {
            return;
        }
        if head.author == Author::Developer {
            out.lose(Field::ItemAuthor, Reason::Narrowed);
        }
    }

    /// Books the values of a part that closed events lack.
    pub(super) fn lose_of_part(&self, part: &Part<'_>, of: ItemKindTag, out: &mut WriterOutput<'_>) {
        if !self.members.is_closed() {
            return;
        }
        match part {
            Part::File(file) if action(file) != file.action.as_escaped() => {
                out.lose_str(Field::FileAction, &file.action, Reason::Narrowed);
            }
            Part::Media(Media { source: MediaSource::Url(_), media_type, .. }) => {
                if !is_image(media_type.as_ref().map(Str::as_escaped)) {
                    out.lose_some(Field::MediaType, media_type.as_ref(), Reason::NoSlot);
                }
            }
            Part::Media(media) => out.lose_part(of, &Part::Media(media.clone()), Reason::NoSlot),
            Part::Text(_)
            | Part::Summary(_)
            | Part::Refusal(_)
            | Part::Args(_)
            | Part::Json(_)
            | Part::File(_)
            | Part::Opaque(_)
            | Part::Citation(_)
            | Part::Cache(_) => {}
        }
    }

    /// Books the values of an item's end that closed events lack.
    pub(super) fn lose_of_end(&self, tail: &ItemTail<'_>, out: &mut WriterOutput<'_>) {
        if self.members.is_closed() {
            out.lose_some(Field::ItemStatus, tail.native_status.as_ref(), Reason::NoSlot);
        }
    }

    /// Books the prompts and answers of a question after the first, which closed events lack.
    pub(super) fn lose_of_question(&self, question: &Question<'_>, out: &mut WriterOutput<'_>) {
        if !self.members.is_closed() {
            return;
        }
        let Question { id: _, call_id: _, prompts, answers, declined: _ } = question;
        for prompt in prompts.iter().skip(1) {
            out.lose_str(Field::QuestionText, &prompt.text, Reason::NoSlot);
            for (label, _) in &prompt.options {
                out.lose_str(Field::QuestionOption, label, Reason::NoSlot);
            }
        }
        let answers = answers.as_ref().into_iter().flatten().enumerate();
        let labels = answers.flat_map(|(number, labels)| labels.iter().skip(usize::from(number == 0)));
        for label in labels {
            out.lose_str(Field::QuestionAnswer, label, Reason::NoSlot);
        }
    }
}

/// Whether a medium is an image; an unknown type is taken for an image.
pub(super) fn is_image(media_type: Option<&str>) -> bool {
    media_type.is_none_or(|kind| kind.starts_with("image/"))
}

/// The support of closed events for each field.
pub(super) const fn support(field: Field) -> Support {
    match field {
        Field::EventTime | Field::TurnTime | Field::ItemTime => {
            Support::Less("only the envelope tells it, in UTC and never going back")
        }
        Field::TurnId => Support::Less("only the start and the end of a turn have it"),
        Field::ItemId => Support::Less("reasoning, and a message that only holds items, have none"),
        Field::ItemParent => Support::Less("only a parent with an event of its own is named"),
        Field::ItemAuthor => Support::Less("a developer is the system"),
        Field::ItemStatus => Support::Less("only whether the item was completed or failed"),
        Field::ResultIsError => Support::Less("the status is `failed`, of items that are shown"),
        Field::ReasoningSummary => Support::Emulated("as reasoning"),
        Field::Refusal => Support::Emulated("as text"),
        Field::ResultJson => Support::Emulated("as text"),
        Field::MessageMedia | Field::ResultMedia => Support::Less("only a URL"),
        Field::MediaType => Support::Less("only of an image with a URL"),
        Field::FileAction => Support::Less("only `read`, `write` and `patch`"),
        Field::SessionEndStatus | Field::SessionEndMessage => Support::Less("a session ends once"),
        Field::PermissionId
        | Field::PermissionAction
        | Field::PermissionCallId
        | Field::PermissionInput
        | Field::PermissionAnswer
        | Field::PermissionMessage
        | Field::PermissionBy
        | Field::QuestionId
        | Field::QuestionDeclined => Support::Less("a second answer to a request is not said"),
        Field::QuestionText | Field::QuestionOption | Field::QuestionAnswer => {
            Support::Less("only of the first question, with one answer")
        }
        Field::Structure
        | Field::Padding
        | Field::SessionId
        | Field::MessageText
        | Field::MessageJson
        | Field::FilePath
        | Field::FileDiff
        | Field::ReasoningText
        | Field::CallId
        | Field::CallName
        | Field::CallArgs
        | Field::ResultCallId
        | Field::ResultText
        | Field::NoticeType
        | Field::NoticeText
        | Field::NoticeData
        | Field::ErrorCode
        | Field::ErrorMessage => Support::Exactly,
        settings!() => NO,
        listings!() => NO,
        citations!() => NO,
        attempts!() => NO,
        usage!() => NO,
        revisions!() => NO,
        caches!() => NO,
        Field::SessionParent
        | Field::SessionParentCall
        | Field::SessionCwd
        | Field::SessionVersion
        | Field::SessionModel
        | Field::SessionProvider
        | Field::SessionBranch
        | Field::SessionCommit
        | Field::SessionRepository
        | Field::SessionTitle
        | Field::SessionStart
        | Field::SessionAgent
        | Field::PermissionMode
        | Field::ApprovalPolicy
        | Field::SandboxPolicy
        | Field::SessionEffort
        | Field::SessionLeaf
        | Field::SessionUnrecorded => NO,
        Field::TurnModel
        | Field::TurnAnswer
        | Field::StopReason
        | Field::StopSequence
        | Field::StopDetail
        | Field::ItemOrigin
        | Field::ItemAgent
        | Field::ItemParentCall
        | Field::ItemModel
        | Field::ItemAnswer
        | Field::ItemPhase
        | Field::ItemSubject => NO,
        Field::MediaName | Field::MediaContext | Field::MediaCitable | Field::MediaDetail => NO,
        Field::Signature | Field::Encrypted | Field::Issuer => NO,
        Field::CallKind | Field::CallNamespace => NO,
        Field::ResultName | Field::ResultExitCode | Field::ResultDuration => NO,
        Field::QuestionCallId | Field::QuestionOptionAbout | Field::QuestionMultiple => NO,
        Field::ErrorClass | Field::ErrorStatus | Field::ErrorRequestId | Field::ErrorRetryAfter => NO,
    }
}

/// The public schema has no member for the field.
const NO: Support = Support::No(Reason::NoSlot);
