//! Tool results: text, pictures, changed files and status.

use super::line::CopilotLine;
use super::read::{CopilotLogReader, read_source};
use crate::json::Str;
use crate::model::{
    Author, Event, Field, FileRef, ItemKind, ItemTail, Media, Part, Shape, Status, ToolResult,
};
use crate::pipe::EventSink;
use crate::tape::{Kind, Member as _, Val, WantedNames};

impl CopilotLogReader {
    pub(super) fn result(&mut self, line: &CopilotLine<'_>, out: &mut EventSink<'_>) {
        const WANTED: WantedNames<8> = WantedNames::new([
            "toolCallId",
            "success",
            "result",
            "error",
            "shellExecution",
            "fileEdits",
            "parentToolCallId",
            "toolTelemetry",
        ]);
        const RESULT: WantedNames<4> =
            WantedNames::new(["content", "detailedContent", "binaryResultsForLlm", "structuredContent"]);
        let [call_id, success, result, error, shell, edits, parent_call, telemetry] = line.data.find(&WANTED);
        let [content, detailed, pictures, structured] =
            result.map(|result| result.find(&RESULT)).unwrap_or_default();
        line.kind.note_text(Field::Structure);
        let answers = ToolResult { call_id: call_id.take_text(Field::ResultCallId), name: None };
        let mut head = out.head(ItemKind::ToolResult(answers), Author::Tool);
        head.parent_call = parent_call.take_text(Field::ItemParentCall);
        let files = FilesChanged::find(edits, detailed, telemetry);
        if pictures.is_some() || files.count() > 0 {
            head.shape = Shape::List;
        }
        let item = out.start(self.begin(head, line));
        let mut part = 0;
        let mut say = |value, out: &mut EventSink<'_>| {
            out.delta(item, part, value);
            part += 1;
        };
        let message = error.and_then(|error| error.get("message"));
        let said = content.or(message).filter(|said| said.kind() == Kind::String);
        let is_empty = said.is_none_or(|said| said.text() == "\"\"");
        // If a server returns both forms, the text is used.
        if let Some(json) = structured.filter(|json| is_empty && !json.is_null()) {
            said.note_text(Field::Structure);
            say(Part::Json(json.take(Field::ResultJson)), out);
        } else if let Some(text) = said.take_text(Field::ResultText) {
            say(Part::Text(text), out);
        }
        for picture in pictures.into_iter().flat_map(|pictures| pictures.elements()) {
            if let Some(media) = read_picture(picture) {
                say(Part::Media(media), out);
            }
        }
        files.tell(|file| say(Part::File(file), out));
        let same = |detailed: &Val<'_>| content.is_some_and(|content| content.text() == detailed.text());
        if let Some(detailed) = detailed.filter(same) {
            detailed.note_text(Field::ResultText);
        }
        let succeeded = success.filter(|success| success.bool().is_some());
        let is_error = succeeded.map(|success| success.note(Field::ResultIsError).as_str() == "false");
        let status = if is_error == Some(true) { Status::Failed } else { Status::Completed };
        let exit = shell.and_then(|shell| shell.get("exitCode"));
        let exit = exit.and_then(|code| Some((code, code.text().parse().ok()?)));
        let exit_code = exit.map(|(code, number)| {
            code.note(Field::ResultExitCode);
            number
        });
        let native_status = error.and_then(|error| error.take_str("code", Field::ItemStatus));
        out.event(&Event::ItemCompleted(ItemTail {
            native_status,
            is_error,
            exit_code,
            ..ItemTail::new(item, status)
        }));
    }
}

fn read_picture(picture: Val<'_>) -> Option<Media<'_>> {
    let kind = picture.get("type").filter(|kind| kind.is("image") || kind.is("resource"))?;
    let source = read_source(picture, Field::ResultMedia)?;
    kind.note_text(Field::Structure);
    Some(Media::new(picture.take_str("mimeType", Field::MediaType), source))
}

/// The files changed by a tool. One text holds all diffs, a section for each file.
enum FilesChanged<'t> {
    None,
    /// Files from Copilot's list.
    Listed {
        edits: Val<'t>,
        diff: Option<Val<'t>>,
    },
    /// Files found in the diff alone: older versions have no list.
    InDiff(Val<'t>),
}

impl<'t> FilesChanged<'t> {
    fn find(edits: Option<Val<'t>>, detailed: Option<Val<'t>>, telemetry: Option<Val<'t>>) -> Self {
        let diff = detailed.filter(|detailed| starts(*detailed).next() == Some(0));
        if let Some(edits) = edits.filter(|edits| edits.elements().any(is_edit)) {
            return FilesChanged::Listed { edits, diff };
        }
        // Viewing a file produces the same kind of text.
        let properties = telemetry.and_then(|telemetry| telemetry.get("properties"));
        let command = properties.map_or("", |properties| properties.str_or_empty("command"));
        match diff
            .filter(|diff| !matches!(command, "" | "view") && sections(*diff).all(|it| path_in(it).is_some()))
        {
            Some(diff) => FilesChanged::InDiff(diff),
            None => FilesChanged::None,
        }
    }

    fn count(&self) -> usize {
        match self {
            FilesChanged::None => 0,
            FilesChanged::Listed { edits, .. } => edits.elements().filter(|edit| is_edit(*edit)).count(),
            FilesChanged::InDiff(diff) => sections(*diff).count(),
        }
    }

    /// Emits each file. The sections cover the whole text, so joining them restores it.
    fn tell(&self, mut say: impl FnMut(FileRef<'t>)) {
        let action = |word: &'static str| Str::escaped(word);
        match self {
            FilesChanged::None => {}
            FilesChanged::Listed { edits, diff } => {
                // If the number of sections differs from the number of files, the first file gets the whole text.
                let whole = diff.filter(|diff| sections(*diff).count() != self.count());
                let mut pieces = diff.filter(|_| whole.is_none()).map(|diff| sections(diff));
                let mut whole = whole.and_then(|diff| diff.str());
                if let Some(diff) = diff {
                    diff.take_text(Field::FileDiff);
                }
                for edit in edits.elements().filter(|edit| is_edit(*edit)) {
                    let piece = pieces.as_mut().and_then(Iterator::next).map(Str::escaped);
                    say(FileRef {
                        path: edit.take_str("path", Field::FilePath).unwrap_or_default(),
                        action: action(read_action(edit)),
                        diff: piece.or_else(|| whole.take()),
                    });
                }
            }
            FilesChanged::InDiff(diff) => {
                diff.take_text(Field::FileDiff);
                for piece in sections(*diff) {
                    let created = piece.contains("\\ncreate file mode") || piece.contains("\\nnew file mode");
                    say(FileRef {
                        path: Str::escaped(path_in(piece).unwrap_or_default()),
                        action: action(if created { "write" } else { "patch" }),
                        diff: Some(Str::escaped(piece)),
                    });
                }
            }
        }
    }
}

fn is_edit(edit: Val<'_>) -> bool {
    edit.has_str("path") && edit.has_str("kind")
}

/// The action on a file, as a word of the model; an unknown word is left unclaimed.
fn read_action(edit: Val<'_>) -> &'static str {
    let kind = edit.get("kind");
    let known = ACTIONS.iter().find(|(native, _)| *native == kind.word());
    let Some((_, action)) = known else { return "patch" };
    kind.take_text(Field::FileAction);
    action
}

/// Copilot's words for file actions, and the model's.
pub(super) const ACTIONS: [(&str, &str); 3] = [("create", "write"), ("edit", "patch"), ("delete", "delete")];

/// Start positions of the sections of a (still escaped) diff; the first includes the line break before it.
fn starts(diff: Val<'_>) -> impl Iterator<Item = usize> + use<'_> {
    let text = diff.text().get(1..).unwrap_or_default();
    let first = text.starts_with(HEAD.get(2..).unwrap_or_default()) || text.starts_with(HEAD);
    let others = text.match_indices(HEAD).map(|(at, _)| at).filter(|at| *at > 0);
    first.then_some(0).into_iter().chain(others)
}

/// The sections of a diff, one for each file.
fn sections(diff: Val<'_>) -> impl Iterator<Item = &str> + use<'_> {
    let text = diff.text();
    let text = text.get(1..text.len() - 1).unwrap_or_default();
    let ends = starts(diff).skip(1).chain([text.len()]);
    starts(diff).zip(ends).filter_map(move |(start, end)| text.get(start..end))
}

/// The file of a section. Copilot writes the whole path after `a` and `b`.
fn path_in(piece: &str) -> Option<&str> {
    let after = |mark: &str| {
        let (_, rest) = piece.split_once(mark)?;
        let path = rest.split_once("\\n").map_or(rest, |(path, _)| path);
        (path.starts_with('/') && !path.contains('\\') && path != "/dev/null").then_some(path)
    };
    after("\\n+++ b").or_else(|| after("\\n--- a"))
}

/// The start of a section, escaped.
const HEAD: &str = "\\ndiff --git ";
