//! The edits of a session: the file changes of its successful tool calls.

use std::collections::HashMap;
use std::sync::mpsc::{self, Receiver, Sender};

use interlingua::dialects::{Dialect, Options, Role};
use interlingua::error::Error;
use interlingua::json::Str;
use interlingua::ledger::Leftover;
use interlingua::model::{
    Args, Delta, Event, ItemHead, ItemId, ItemKind, ItemTail, Part, Session, Status, time,
};
use interlingua::pipe::{Pipe, Writer, WriterOutput};
use interlingua::tape::{Limits, TapeBuf, Val};

use super::patches::{PatchHunk, added_lines, changes_of_patch};

/// A change of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FileChange {
    /// The whole new content.
    Write(String),
    /// Text after the end of the file.
    Append(String),
    /// A text is replaced by another, once or everywhere.
    Replace {
        /// The text that is replaced.
        old: String,
        /// The new text.
        new: String,
        /// Whether every occurrence is replaced.
        everywhere: bool,
    },
    /// Hunks of lines with their signs.
    Patch(Vec<PatchHunk>),
    /// The file is deleted.
    Delete,
    /// The file gets another path.
    MoveTo(String),
}

/// A change of one file by one successful call.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FileEdit {
    /// The path, as the log has it.
    pub path: String,
    /// The model that made the call, if the log names it.
    pub model: Option<String>,
    /// The change.
    pub change: FileChange,
    /// The numbers of the lines that the call added, from the diff in its result.
    pub(super) added: Option<Vec<u64>>,
}

/// The edits of one session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SessionEdits {
    /// The name of the input.
    pub name: String,
    /// The id of the session.
    pub id: Option<String>,
    /// The working directory.
    pub cwd: Option<String>,
    /// The commit at the start of the session.
    pub commit: Option<String>,
    /// The first time of the session, in milliseconds since 1970.
    pub start: Option<u64>,
    /// The edits, in the order of their results.
    pub edits: Vec<FileEdit>,
    /// The number of editing calls that failed, were denied or have no result.
    pub failed: u64,
    /// The number of calls of editing tools whose change cannot be followed, such as edits of notebook cells.
    pub not_followed: u64,
    /// The number of frames that were understood.
    pub read: u64,
}

/// Reads the bytes of one session into its edits.
#[derive(Debug)]
pub struct EditReader {
    name: String,
    pipe: Pipe,
    found: Receiver<Vec<SessionEdits>>,
}

impl EditReader {
    /// A reader for an input of that dialect and role. It fails if the dialect has no reader for the role.
    pub fn new(name: &str, source: (&'static Dialect, Role), options: &Options) -> Result<Self, Error> {
        let (done, found) = mpsc::channel();
        let writer = EditWriter {
            done,
            earlier: Vec::new(),
            session: SessionEdits::default(),
            model: None,
            calls: HashMap::new(),
            nameless: Vec::new(),
            open: HashMap::new(),
        };
        Ok(Self { name: name.to_owned(), pipe: Pipe::with_writer(source, Box::new(writer), options)?, found })
    }

    /// Reads the next bytes, in pieces of any size.
    pub fn push(&mut self, bytes: &[u8]) {
        self.pipe.push(bytes, &mut Vec::new());
    }

    /// The edits of each session in the input, after the last byte.
    pub fn finish(self) -> Vec<SessionEdits> {
        let report = self.pipe.finish(&mut Vec::new());
        // A pipe that is finished has finished its writer.
        let mut sessions = self.found.try_recv().unwrap_or_default();
        for session in &mut sessions {
            session.name.clone_from(&self.name);
            session.read = report.read;
        }
        sessions
    }
}

struct EditWriter {
    done: Sender<Vec<SessionEdits>>,
    /// The sessions that ended.
    earlier: Vec<SessionEdits>,
    session: SessionEdits,
    model: Option<String>,
    /// Calls that wait for their result, by call id.
    calls: HashMap<String, WaitingCall>,
    /// Calls without an id that wait for their result.
    nameless: Vec<WaitingCall>,
    open: HashMap<ItemId, OpenEdit>,
}

struct WaitingCall {
    model: Option<String>,
    changes: Vec<(String, FileChange)>,
}

enum OpenEdit {
    /// A message, with the model that its blocks inherit.
    Message(Option<String>),
    Call {
        id: Option<String>,
        tool: String,
        model: Option<String>,
        args: String,
    },
    Result {
        call: Option<String>,
        diffs: Vec<(String, String)>,
    },
}

impl EditWriter {
    /// Ends the current session: calls without a result have no effect.
    fn end_session(&mut self) {
        self.session.failed += (self.calls.len() + self.nameless.len()) as u64;
        self.calls.clear();
        self.nameless.clear();
        self.model = None;
        self.earlier.push(std::mem::take(&mut self.session));
    }

    fn session(&mut self, session: &Session<'_>) {
        let text = |text: &Option<Str<'_>>| text.as_ref().map(|text| text.decode().into_owned());
        let known = &mut self.session;
        known.id = known.id.take().or_else(|| text(&session.id));
        known.cwd = known.cwd.take().or_else(|| text(&session.cwd));
        known.commit = known.commit.take().or_else(|| text(&session.commit));
        known.start = known.start.or_else(|| time::epoch_millis(session.start.as_ref()?));
        self.model = text(&session.model).or_else(|| self.model.take());
    }

    fn started(&mut self, head: &ItemHead<'_>) {
        self.session.start = self.session.start.or_else(|| time::epoch_millis(head.time.as_ref()?));
        // A fork begins with a copy of its parent's items: the parent's log has these edits.
        if head.copied_from.is_some() {
            return;
        }
        let own = head.model.as_ref().map(|model| model.decode().into_owned());
        let inherited = head.within.and_then(|message| match self.open.get(&message) {
            Some(OpenEdit::Message(model)) => model.clone(),
            Some(OpenEdit::Call { .. } | OpenEdit::Result { .. }) | None => None,
        });
        let model = own.or(inherited);
        let item = match &head.kind {
            ItemKind::Message => OpenEdit::Message(model),
            ItemKind::ToolCall(call) => OpenEdit::Call {
                id: call.call_id.as_ref().map(|id| id.decode().into_owned()),
                tool: call.name.decode().into_owned(),
                model: model.or_else(|| self.model.clone()),
                args: String::new(),
            },
            ItemKind::ToolResult(result) => {
                let call = result.call_id.as_ref().map(|id| id.decode().into_owned());
                OpenEdit::Result { call, diffs: Vec::new() }
            }
            // Reasoning and notices change no file.
            _ => return,
        };
        self.open.insert(head.id, item);
    }

    fn delta(&mut self, delta: &Delta<'_>) {
        match (self.open.get_mut(&delta.item), &delta.value) {
            (Some(OpenEdit::Call { args, .. }), Part::Args(Args::Text(text))) => {
                args.push_str(&text.decode());
            }
            (Some(OpenEdit::Call { args, .. }), Part::Args(Args::Json(json))) => args.push_str(json.as_str()),
            (Some(OpenEdit::Result { diffs, .. }), Part::File(file)) => {
                if let Some(diff) = &file.diff {
                    diffs.push((file.path.decode().into_owned(), diff.decode().into_owned()));
                }
            }
            // Other parts hold no change.
            _ => {}
        }
    }

    fn completed(&mut self, tail: &ItemTail<'_>) {
        match self.open.remove(&tail.id) {
            Some(OpenEdit::Call { id, tool, model, args }) => {
                let Some(changes) = changes_of_call(&tool, &args) else { return };
                if changes.is_empty() {
                    self.session.not_followed += 1;
                    return;
                }
                let call = WaitingCall { model, changes };
                match id {
                    Some(id) => _ = self.calls.insert(id, call),
                    None => self.nameless.push(call),
                }
            }
            Some(OpenEdit::Result { call, diffs }) => {
                let waiting = match call {
                    Some(id) => self.calls.remove(&id),
                    None if self.nameless.is_empty() => None,
                    None => Some(self.nameless.remove(0)),
                };
                let Some(WaitingCall { model, changes }) = waiting else { return };
                let failed = tail.is_error == Some(true)
                    || tail.status != Status::Completed
                    || tail.exit_code.is_some_and(|code| code != 0);
                if failed {
                    self.session.failed += 1;
                    return;
                }
                for (path, change) in changes {
                    let diff = diffs.iter().find(|(of, _)| *of == path).map(|(_, diff)| diff);
                    let added = diff.and_then(|diff| added_lines(diff));
                    self.session.edits.push(FileEdit { path, model: model.clone(), change, added });
                }
            }
            Some(OpenEdit::Message(_)) | None => {}
        }
    }
}

impl Writer for EditWriter {
    fn event(&mut self, event: &Event<'_>, _: &mut WriterOutput<'_>) {
        match event {
            Event::SessionStarted(session) => {
                let id = session.id.as_ref().map(|id| id.decode().into_owned());
                if id.is_some() && self.session.id.is_some() && id != self.session.id {
                    self.end_session();
                }
                self.session(session);
            }
            Event::SessionUpdated(session) => self.session(session),
            Event::ItemStarted(head) => self.started(head),
            Event::ItemDelta(delta) => self.delta(delta),
            Event::ItemCompleted(tail) => self.completed(tail),
            // Other events change no file.
            _ => {}
        }
    }

    fn leftover(&mut self, leftover: Leftover<'_>, out: &mut WriterOutput<'_>) {
        leftover.mark_kept(out.ledger);
    }

    fn finish(&mut self, _: &mut WriterOutput<'_>) {
        self.end_session();
        // The receiver may be gone already.
        let _ = self.done.send(std::mem::take(&mut self.earlier));
    }
}

/// Tools that write files, in lower case without `_` and `-`.
const EDITING: [&str; 19] = [
    "applypatch",
    "create",
    "createfile",
    "edit",
    "editfile",
    "fswrite",
    "multiedit",
    "notebookedit",
    "patch",
    "replace",
    "searchreplace",
    "strreplace",
    "strreplacebasededittool",
    "strreplaceeditor",
    "strreplacefile",
    "write",
    "writefile",
    "insert",
    "undoedit",
];

/// Tools that run a command, which may be `apply_patch`.
const SHELLS: [&str; 9] = [
    "bash",
    "exec",
    "execcommand",
    "localshell",
    "runshellcommand",
    "shell",
    "shellcommand",
    "unifiedexec",
    "containerexec",
];

/// The changes that a call asks for; `None` if the tool does not edit files. An empty list is an edit that cannot be
/// followed.
fn changes_of_call(tool: &str, args: &str) -> Option<Vec<(String, FileChange)>> {
    let name: String =
        tool.chars().filter(|sign| !matches!(sign, '_' | '-' | '.')).collect::<String>().to_ascii_lowercase();
    let is_shell = SHELLS.contains(&name.as_str());
    if !is_shell && !EDITING.contains(&name.as_str()) {
        return None;
    }
    let mut tape = TapeBuf::default();
    let parsed = tape.parse(args, &Limits::default()).ok();
    let root = parsed.as_ref().map(interlingua::tape::Tape::root);
    if is_shell {
        // A command that only prints a patch does not apply it.
        let is_patch = |text: &str| {
            text.find("apply_patch") < text.find("*** Begin Patch") && text.contains("apply_patch")
        };
        let mut found = Vec::new();
        let mut texts = Vec::new();
        match root {
            Some(root) => each_text(root, &mut texts),
            None => texts.push(args.to_owned()),
        }
        // A list such as `["apply_patch", "*** Begin Patch…"]` is one command.
        for text in [texts.join("\n")].iter().filter(|text| is_patch(text)) {
            found = changes_of_patch(text);
        }
        return (!found.is_empty()).then_some(found);
    }
    let Some(root) = root else { return Some(changes_of_patch(args)) };
    let text = |value: Val<'_>, names: &[&str]| {
        names.iter().find_map(|name| value.get(name)?.str().map(|text| text.decode().into_owned()))
    };
    if let Some(patch) = root.str().map(|text| text.decode().into_owned()).or_else(|| text(root, &PATCHES)) {
        let changes = changes_of_patch(&patch);
        if !changes.is_empty() {
            return Some(changes);
        }
    }
    let Some(path) = text(root, &["file_path", "filePath", "path", "absolute_path", "target_file"]) else {
        return Some(Vec::new());
    };
    let flag = |value: Val<'_>, name: &str| value.get(name).and_then(|flag| flag.bool()) == Some(true);
    let replace = |value: Val<'_>| {
        let old = text(value, &["old_string", "oldString", "oldText", "old_text", "old_str", "old"])?;
        let new = text(value, &["new_string", "newString", "newText", "new_text", "new_str", "new"])?;
        let everywhere = flag(value, "replace_all") || flag(value, "replaceAll");
        // An empty old text creates the file.
        Some(if old.is_empty() {
            FileChange::Write(new)
        } else {
            FileChange::Replace { old, new, everywhere }
        })
    };
    let mut changes: Vec<FileChange> = replace(root).into_iter().collect();
    for name in ["edits", "edit"] {
        let Some(edits) = root.get(name) else { continue };
        changes.extend(replace(edits));
        changes.extend(edits.elements().filter_map(replace));
    }
    if changes.is_empty()
        && let Some(content) = text(root, &["content", "contents", "file_text"])
    {
        let appends = text(root, &["mode"]).is_some_and(|mode| mode == "append");
        changes.push(if appends { FileChange::Append(content) } else { FileChange::Write(content) });
    }
    Some(changes.into_iter().map(|change| (path.clone(), change)).collect())
}

const PATCHES: [&str; 4] = ["input", "patch", "patchText", "patch_text"];

fn each_text(value: Val<'_>, texts: &mut Vec<String>) {
    if let Some(text) = value.str() {
        texts.push(text.decode().into_owned());
    }
    value.elements().for_each(|element| each_text(element, texts));
    value.members().for_each(|(_, member)| each_text(member, texts));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tools_of_every_agent_are_followed() {
        let replaced = |old: &str, new: &str| FileChange::Replace {
            old: old.into(),
            new: new.into(),
            everywhere: false,
        };
        for (tool, args, change) in [
            ("Edit", r#"{"file_path":"a","old_string":"x","new_string":"y"}"#, replaced("x", "y")),
            (
                "MultiEdit",
                r#"{"file_path":"a","edits":[{"old_string":"x","new_string":"y"}]}"#,
                replaced("x", "y"),
            ),
            ("Write", r#"{"file_path":"a","content":"y"}"#, FileChange::Write("y".into())),
            ("replace", r#"{"file_path":"a","old_string":"x","new_string":"y"}"#, replaced("x", "y")),
            ("write_file", r#"{"file_path":"a","content":"y"}"#, FileChange::Write("y".into())),
            ("edit", r#"{"filePath":"a","oldString":"x","newString":"y"}"#, replaced("x", "y")),
            ("edit", r#"{"path":"a","edits":[{"oldText":"x","newText":"y"}]}"#, replaced("x", "y")),
            ("edit_file", r#"{"path":"a","old_str":"x","new_str":"y"}"#, replaced("x", "y")),
            ("create_file", r#"{"path":"a","content":"y"}"#, FileChange::Write("y".into())),
            ("create", r#"{"path":"a","file_text":"y"}"#, FileChange::Write("y".into())),
            ("StrReplaceFile", r#"{"path":"a","edit":{"old":"x","new":"y"}}"#, replaced("x", "y")),
            ("WriteFile", r#"{"path":"a","content":"y","mode":"append"}"#, FileChange::Append("y".into())),
            (
                "apply_patch",
                "*** Begin Patch\n*** Add File: a\n+y\n*** End Patch",
                FileChange::Write("y\n".into()),
            ),
            (
                "patch",
                r#"{"patchText":"*** Begin Patch\n*** Delete File: a\n*** End Patch"}"#,
                FileChange::Delete,
            ),
            (
                "shell",
                r#"{"command":["bash","-lc","apply_patch <<'E'\n*** Begin Patch\n*** Delete File: a\n*** End Patch\nE"]}"#,
                FileChange::Delete,
            ),
            (
                "shell",
                r#"{"command":["apply_patch","*** Begin Patch\n*** Delete File: a\n*** End Patch"]}"#,
                FileChange::Delete,
            ),
        ] {
            assert_eq!(changes_of_call(tool, args), Some(vec![("a".to_owned(), change)]), "{tool} {args}");
        }
    }

    #[test]
    fn other_calls_change_no_file() {
        for (tool, args) in [
            ("Read", r#"{"file_path":"a"}"#),
            ("Bash", r#"{"command":"cat patch; echo '*** Begin Patch\n*** Delete File: a\n*** End Patch'"}"#),
            ("memory_write", r#"{"path":"a","content":"y"}"#),
        ] {
            assert_eq!(changes_of_call(tool, args), None, "{tool}");
        }
        // The lines of a notebook file are not the lines of its cells.
        let notebook = changes_of_call("NotebookEdit", r#"{"notebook_path":"a.ipynb","new_source":"y"}"#);
        assert_eq!(notebook, Some(Vec::new()));
    }
}
