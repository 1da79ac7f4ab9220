//! Tool parts: a part holds a call and its result, and the reader splits it.

use super::moment;
use super::part::{PartMembers, media};
use crate::json::Str;
use crate::model::{
    Args, Author, CallKind, Field, FileRef, ItemHead, ItemId, ItemKind, ItemKindTag, ItemTail, Part, Shape,
    Status, ToolCall, ToolResult,
};
use crate::pipe::EventSink;
use crate::tape::{Kind, Member as _, Val, WantedNames};

/// The start time of the tool.
pub(in crate::dialects::agents) fn start<'t>(part: &PartMembers<'t>) -> Option<Val<'t>> {
    part.state?.get("time")?.get("start").and_then(moment)
}

/// Reads a call and, if the tool has ended, its result, both within a message. `id` and `start` are the part's, unless
/// the message holds them.
pub(super) fn read(
    part: &PartMembers<'_>,
    within: ItemId,
    id: Option<Val<'_>>,
    start: Option<Val<'_>>,
    out: &mut EventSink<'_>,
) {
    read_with(part, (within, id, start), false, out);
}

/// Reads a call and its result within a message of a running agent: a command with another exit code than 0 failed.
pub(in crate::dialects::agents) fn read_failing(
    part: &PartMembers<'_>,
    within: ItemId,
    out: &mut EventSink<'_>,
) {
    read_with(part, (within, part.id, start(part)), true, out);
}

fn read_with(
    part: &PartMembers<'_>,
    (within, id, start): (ItemId, Option<Val<'_>>, Option<Val<'_>>),
    exit_fails: bool,
    out: &mut EventSink<'_>,
) {
    let state = StateMembers::new(part);
    let call = call(part);
    let answers = call.call_id.clone();
    let mut head = out.head(ItemKind::ToolCall(call), Author::Assistant);
    head.within = Some(within);
    head.native_id = id.take_text(Field::ItemId);
    head.time = start.map(|start| start.take(Field::ItemTime));
    let item = out.start(head);
    if let Some(input) = state.input.filter(|input| !input.is_null()) {
        out.delta(item, 0, Part::Args(Args::Json(input.take(Field::CallArgs))));
    }
    if !state.has_ended() {
        // The tool is still running or pending; the log holds no end.
        let native_status = state.status.note_text(Field::ItemStatus);
        return out.end(ItemTail { native_status, ..ItemTail::new(item, Status::Interrupted) });
    }
    out.complete(item);

    let result = ToolResult { call_id: answers, name: None };
    let mut head = out.head(ItemKind::ToolResult(result), Author::Tool);
    head.within = Some(within);
    state.result(head, exit_fails, out);
}

/// The call of a tool part.
pub(in crate::dialects::agents) fn call<'t>(part: &PartMembers<'t>) -> ToolCall<'t> {
    let [tool, call_id] = part.root.get_all(["tool", "callID"]);
    ToolCall {
        call_id: call_id.take_text(Field::CallId),
        kind: CallKind::Function,
        namespace: None,
        name: tool.take_text(Field::CallName).unwrap_or_default(),
    }
}

/// The members of a tool's state.
pub(in crate::dialects::agents) struct StateMembers<'t> {
    pub(in crate::dialects::agents) status: Option<Val<'t>>,
    pub(in crate::dialects::agents) input: Option<Val<'t>>,
    output: Option<Val<'t>>,
    error: Option<Val<'t>>,
    pub(in crate::dialects::agents) metadata: Option<Val<'t>>,
    pub(in crate::dialects::agents) time: Option<Val<'t>>,
    attachments: Option<Val<'t>>,
}

impl<'t> StateMembers<'t> {
    pub(in crate::dialects::agents) fn new(part: &PartMembers<'t>) -> Self {
        const STATE: WantedNames<7> =
            WantedNames::new(["status", "input", "output", "error", "metadata", "time", "attachments"]);
        let [status, input, output, error, metadata, time, attachments] =
            part.state.map(|state| state.find(&STATE)).unwrap_or_default();
        Self { status, input, output, error, metadata, time, attachments }
    }

    /// Whether the tool has ended, with a result or an error.
    pub(in crate::dialects::agents) fn has_ended(&self) -> bool {
        matches!(self.status.word(), "completed" | "error")
    }

    /// The exit code of a command.
    pub(in crate::dialects::agents) fn exit_code(&self) -> Option<i64> {
        let exit = self.metadata.and_then(|metadata| metadata.get("exit"));
        exit.and_then(|exit| {
            exit.text().parse::<i64>().ok().inspect(|_| _ = exit.note(Field::ResultExitCode))
        })
    }

    /// Emits the result of a tool that has ended: texts, attachments and changed files. OpenCode counts a command with
    /// another exit code than 0 as completed; with `exit_fails` the tool has failed.
    pub(in crate::dialects::agents) fn result(
        &self,
        mut head: ItemHead<'t>,
        exit_fails: bool,
        out: &mut EventSink<'_>,
    ) {
        let [began, end] = self.time.map(|time| time.get_all(["start", "end"])).unwrap_or_default();
        let end = end.and_then(moment);
        head.time = end.map(|end| end.take(Field::ItemTime));
        let attached = || self.attachments.into_iter().flat_map(|list| list.elements()).filter(is_file);
        let text = self.output.filter(is_text).or(self.error.filter(is_text));
        let several = usize::from(text.is_some()) + attached().count() > 1;
        head.shape = if several { Shape::List } else { Shape::One };
        let item = out.start(head);
        let mut number = 0;
        let mut add = |part: Part<'_>, out: &mut EventSink<'_>| {
            out.delta(item, number, part);
            number += 1;
        };
        if let Some(text) = text.take_text(Field::ResultText) {
            add(Part::Text(text), out);
        }
        for file in attached() {
            if let Some(media) = media(file, file.get("url"), ItemKindTag::Result) {
                add(Part::Media(media), out);
            }
        }
        if let Some(metadata) = self.metadata {
            for_each_file(metadata, &mut |file| add(Part::File(file), out));
        }
        let exit_code = self.exit_code();
        let failed = self.status.word() == "error" || exit_fails && exit_code.is_some_and(|code| code != 0);
        let times = began.and_then(|began| began.u64()).zip(end.and_then(|end| end.u64()));
        out.end(ItemTail {
            native_status: self.status.note_text(Field::ItemStatus),
            is_error: Some(failed),
            exit_code,
            // Both times are required, so a source without a measurement repeats the same time.
            duration: times.and_then(|(began, end)| end.checked_sub(began)).filter(|millis| *millis > 0),
            ..ItemTail::new(item, if failed { Status::Failed } else { Status::Completed })
        });
    }
}

fn is_text(val: &Val<'_>) -> bool {
    val.kind() == Kind::String
}

/// Whether an attachment is a file with a URL.
fn is_file(attachment: &Val<'_>) -> bool {
    attachment.has_str("url")
}

/// Shows the files that a tool changed, from its metadata: a list, a single file with its diff, or a path.
fn for_each_file<'t>(metadata: Val<'t>, show: &mut dyn FnMut(FileRef<'t>)) {
    const WANTED: WantedNames<5> = WantedNames::new(["files", "filediff", "diff", "filepath", "exists"]);
    let [files, changed, diff, written, existed] = metadata.find(&WANTED);
    let is_list = |files: &Val<'_>| files.elements().next().is_some_and(|file| file.has_str("filePath"));
    if let Some(files) = files.filter(is_list) {
        for file in files.elements() {
            let Some(path) = file.take_str("filePath", Field::FilePath) else { continue };
            let action = match file.str_or_empty("type") {
                "add" => "write",
                "delete" => "delete",
                "move" => "move",
                _ => "patch",
            };
            show(FileRef {
                path,
                action: Str::escaped(action),
                diff: file.take_str("diff", Field::FileDiff),
            });
        }
        return;
    }
    if let Some(path) = changed.and_then(|changed| changed.take_str("file", Field::FilePath)) {
        let apart = || changed.and_then(|changed| changed.take_str("patch", Field::FileDiff));
        let diff = diff.take_text(Field::FileDiff).or_else(apart);
        return show(FileRef { path, action: Str::escaped("patch"), diff });
    }
    // A tool that writes a file records whether the file existed.
    if let Some(path) = written.filter(|_| existed.is_some()).take_text(Field::FilePath) {
        show(FileRef { path, action: Str::escaped("write"), diff: None });
    }
}
