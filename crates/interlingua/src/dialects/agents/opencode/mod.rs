//! OpenCode's sessions: concatenated documents of its storage, `opencode export`, and an older form that resembles a model
//! API. Lines of `opencode run --format json` are detected as [`super::opencode_stream`]; the reader of the log reads them
//! as well, for saved output that a record has to restore.

mod api_like;
mod build;
pub(super) mod message;
pub(super) mod part;
pub(super) mod read;
mod support;
pub(super) mod tool;
mod write;

use crate::dialects::{Dialect, Lineage, Plane, Role, RoleSpec, WriteSpec};
use crate::framing::Framing;
use crate::log::LogWriter;
use crate::model::Field;
use crate::sniff::Head;
use crate::tape::{Kind, Val};

/// Sessions of OpenCode.
pub static DIALECT: Dialect = Dialect {
    name: "opencode",
    module: module_path!(),
    plane: Plane::Log,
    about: "OpenCode sessions (~/.local/share/opencode: storage/ or opencode.db; opencode export)",
    detected_by: "`info` and `messages`, `messageID` or `role` beside `sessionID`, `slug` beside `projectID`, a `worktree`",
    flavour_of: None,
    // Each message names its provider.
    issuer: None,
    lineage: Lineage::Written,
    roles: &[RoleSpec {
        role: Role::Log,
        framing: FRAMING,
        read: Some(|_| Box::new(read::OpencodeReader::default())),
        write: Some(WriteSpec {
            make: |options| Box::new(LogWriter::new(write::OpencodeForm::new(options), options)),
            support: support::support,
        }),
    }],
    reads_more: &[
        Field::TurnTime,
        Field::StopReason,
        Field::TurnEffort,
        Field::Cost,
        Field::UsageInput,
        Field::UsageCacheRead,
        Field::UsageCacheWrite,
        Field::UsageOutput,
        Field::UsageReasoning,
        Field::ItemId,
        Field::ItemParent,
        Field::ItemStatus,
        Field::FilePath,
        Field::FileDiff,
        Field::CompactionTrigger,
        Field::CompactionKeptFrom,
        Field::NoticeType,
        Field::NoticeText,
        Field::NoticeData,
        Field::ErrorStatus,
        Field::ErrorCode,
        Field::ErrorMessage,
    ],
    sniff,
};

/// An export is one document with a list of messages; storage is documents without a list, and a run prints lines.
/// Messages in the API-like form may be a bare list.
const FRAMING: Framing = Framing::LinesOrDocuments(&["messages"], api_like::LISTED);

fn sniff(head: &Head<'_>) -> Option<(Role, u32)> {
    let doc = head.doc;
    let score = if doc.kind() == Kind::Array {
        let is_message = |doc: &Val<'_>| api_like::LISTED.iter().any(|name| doc.get(name).is_some());
        doc.elements().take(20).filter(is_message).filter_map(score_of).max()
    } else {
        score_of(doc)
    };
    score.map(|score| (Role::Log, score))
}

/// Scores a document as OpenCode's.
fn score_of(doc: Val<'_>) -> Option<u32> {
    let is_object = |name| doc.has_kind(name, Kind::Object);
    let score = if let Some(info) = doc.get("info").filter(|info| info.kind() == Kind::Object) {
        let session = doc.has_kind("messages", Kind::Array)
            && (info.has_str("slug") || info.str_or_empty("id").starts_with("ses"));
        let message = doc.has_kind("parts", Kind::Array) && info.has_str("role") && info.has_str("sessionID");
        if session || message { 10 } else { return None }
    } else if doc.has_str("sessionID") {
        let part = doc.has_str("messageID") && doc.has_str("type") && doc.has_str("id");
        let message = doc.has_str("role") && doc.has_str("id") && is_object("time");
        if part || message { 10 } else { return None }
    } else if doc.has_str("slug") && doc.has_str("projectID") {
        10
    } else if doc.has_str("worktree") && doc.has_str("id") && is_object("time") {
        8
    } else if doc.has_str("secret") && doc.has_str("url") && doc.has_str("id") {
        // A shared session; other documents have secrets and URLs as well.
        1
    } else {
        return api_like::sniff(doc);
    };
    Some(score)
}

/// A time in OpenCode's form: milliseconds since 1970, or a date.
pub(in crate::dialects::agents) fn moment(time: Val<'_>) -> Option<Val<'_>> {
    let millis = time.u64().is_some_and(|millis| millis > 0 && millis < 253_402_300_800_000);
    Some(time).filter(|time| millis || time.is_time())
}
