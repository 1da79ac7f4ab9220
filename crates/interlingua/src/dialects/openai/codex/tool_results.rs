//! The outcome of a call: error flag, exit code, duration, changed files. The text of the result holds some of these;
//! earlier events with the same call id hold the rest. Without an event, the patch in the call names the files.

use std::collections::VecDeque;

use super::patch::PatchFinder;
use crate::json::Str;
use crate::model::{FileRef, ItemId, Part};
use crate::pipe::EventSink;
use crate::tape::{Kind, Limits, TapeBuf, Val};

/// The outcome of a call.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct CodexOutcome {
    pub(super) is_error: Option<bool>,
    pub(super) exit_code: Option<i64>,
    /// Duration in milliseconds.
    pub(super) duration: Option<u64>,
}

impl CodexOutcome {
    /// Fills missing values from `other`; values of `self` take precedence.
    fn or(self, other: Self) -> Self {
        Self {
            is_error: self.is_error.or(other.is_error),
            exit_code: self.exit_code.or(other.exit_code),
            duration: self.duration.or(other.duration),
        }
    }
}

/// A file that a call changed, with escaped texts.
pub(super) struct FileChange {
    pub(super) path: String,
    pub(super) action: &'static str,
    pub(super) diff: Option<String>,
}

/// A call without a result so far.
struct PendingCall {
    id: String,
    outcome: CodexOutcome,
    files: Vec<FileChange>,
    /// Whether the files come from the call's patch, without an event that confirms the changes.
    planned: bool,
}

/// Calls without a result so far.
#[derive(Default)]
pub(super) struct Outcomes {
    calls: VecDeque<PendingCall>,
    /// Files changed by calls within a script. These calls have their own ids; their files go to the next script
    /// result.
    of_script: Vec<FileChange>,
    /// The total length of the stored diffs.
    waiting: usize,
    patches: PatchFinder,
    plain: String,
    tape: TapeBuf,
}

impl Outcomes {
    /// The most calls that are remembered; after that the oldest is forgotten. Results follow their calls closely.
    const MOST: usize = 64;
    /// The most bytes of stored diffs. A longer diff stays in its event only.
    const MOST_BYTES: usize = 1 << 20;

    /// Remembers a new call. Its arguments, escaped, may hold a patch.
    pub(super) fn begin(&mut self, call_id: &str, arguments: &str) {
        let files = self.patches.files(arguments);
        let planned = !files.is_empty();
        self.remember(call_id, files, planned);
    }

    fn remember(&mut self, call_id: &str, files: Vec<FileChange>, planned: bool) {
        if call_id.is_empty() {
            return;
        }
        if self.calls.len() == Self::MOST
            && let Some(lost) = self.calls.pop_front()
        {
            self.forget(&lost.files);
        }
        let id = call_id.to_owned();
        self.calls.push_back(PendingCall { id, outcome: CodexOutcome::default(), files, planned });
    }

    /// Records the outcome that an event holds for a call. The event is not claimed, because the call's result may be
    /// missing. Returns whether the call was already known and waits for its result.
    pub(super) fn ended(&mut self, call_id: &str, event: Val<'_>) -> bool {
        let outcome = told(event);
        let changes = event.get("changes").filter(|changes| changes.kind() == Kind::Object);
        let known = self.calls.iter().any(|call| call.id == call_id);
        if !known && !call_id.starts_with(OF_SCRIPT) {
            // The call may be in another file while its result is in this file.
            self.remember(call_id, Vec::new(), false);
        }
        let call = self.calls.iter_mut().find(|call| call.id == call_id);
        let files = match call {
            Some(call) => {
                call.outcome = outcome.or(call.outcome);
                if changes.is_some() && outcome.is_error.is_some() && std::mem::take(&mut call.planned) {
                    call.files.clear();
                }
                &mut call.files
            }
            None if call_id.starts_with(OF_SCRIPT) => &mut self.of_script,
            None => return false,
        };
        // A failed patch changed no file; a patch that has only begun gets a second event when it is applied.
        let applied = outcome.is_error == Some(false) && files.len() < Self::MOST;
        for (path, change) in changes.into_iter().filter(|_| applied).flat_map(|changes| changes.members()) {
            change_of(&path, change, &mut self.waiting, files);
        }
        known
    }

    /// The outcome and the changed files of the call to which a result belongs.
    pub(super) fn of(
        &mut self,
        call_id: &str,
        output: Option<Val<'_>>,
        is_script: bool,
    ) -> (CodexOutcome, Vec<FileChange>) {
        let known = self.calls.iter().position(|call| call.id == call_id);
        let call = known.and_then(|at| self.calls.remove(at));
        let mut outcome = output.map(|output| self.read(output)).unwrap_or_default();
        let mut files = Vec::new();
        if let Some(PendingCall { outcome: event, files: own, planned, .. }) = call {
            outcome = outcome.or(event);
            self.forget(&own);
            let failed = outcome.exit_code.is_some_and(|code| code != 0) || outcome.is_error == Some(true);
            files = if planned && failed { Vec::new() } else { own };
        }
        outcome.is_error = outcome.is_error.or(outcome.exit_code.map(|code| code != 0));
        if is_script && !self.of_script.is_empty() {
            let own = std::mem::take(&mut self.of_script);
            self.forget(&own);
            files.extend(own);
        }
        (outcome, files)
    }

    fn forget(&mut self, files: &[FileChange]) {
        let bytes = files.iter().filter_map(|file| file.diff.as_ref()).map(String::len).sum();
        self.waiting = self.waiting.saturating_sub(bytes);
    }

    /// Reads the outcome from a result's text: older results are JSON with `metadata`, newer results have header lines
    /// before the output.
    fn read(&mut self, output: Val<'_>) -> CodexOutcome {
        let first = output.elements().next().and_then(|part| part.get("text"));
        let Some(text) = output.str().or_else(|| first?.str()) else {
            let success = output.get("success").and_then(|success| success.bool());
            return CodexOutcome { is_error: success.map(|success| !success), ..CodexOutcome::default() };
        };
        let escaped = text.as_escaped();
        if is_json_result(escaped) {
            self.plain.clear();
            text.decode_into(&mut self.plain);
            let Ok(tape) = self.tape.parse(&self.plain, &Limits::default()) else {
                return CodexOutcome::default();
            };
            let metadata = tape.root().get("metadata");
            let number = |name| metadata.and_then(|metadata| metadata.get(name)).map(|number| number.text());
            return CodexOutcome {
                is_error: None,
                exit_code: number("exit_code").and_then(|code| code.parse().ok()),
                duration: number("duration_seconds").and_then(milliseconds),
            };
        }
        read_lines(after_command(escaped))
    }
}

/// Prefix of the ids of calls within a script.
const OF_SCRIPT: &str = "exec-";

/// Whether a result's text is JSON with `output` and `metadata`, in any indentation.
fn is_json_result(escaped: &str) -> bool {
    let mut rest = escaped.strip_prefix('{').unwrap_or_default();
    while let Some(after) = [" ", "\\n", "\\r", "\\t"].iter().find_map(|space| rest.strip_prefix(space)) {
        rest = after;
    }
    ["\\\"output\\\"", "\\\"metadata\\\""].iter().any(|member| rest.starts_with(member))
}

/// The lines after `Command: …`. A command may contain line breaks and quotes; the line after it begins with one of a
/// few names.
fn after_command(escaped: &str) -> &str {
    const NEXT: [&str; 4] =
        ["\\nChunk ID: ", "\\nWall time", "\\nExit code: ", "\\nProcess exited with code "];
    let Some(command) = escaped.strip_prefix("Command: ") else { return escaped };
    let end = NEXT.iter().filter_map(|next| command.find(next)).min();
    end.and_then(|end| command.get(end + 2..)).unwrap_or(escaped)
}

/// Reads the outcome from the header lines before an output. These lines are few and short, contain no escapes, and end
/// with `Output:`.
fn read_lines(escaped: &str) -> CodexOutcome {
    let mut outcome = CodexOutcome::default();
    for (number, piece) in escaped.split('\\').take(8).enumerate() {
        let line = if number == 0 { Some(piece) } else { piece.strip_prefix('n') };
        let Some(line) = line else { break };
        if let Some(code) =
            line.strip_prefix("Exit code: ").or_else(|| line.strip_prefix("Process exited with code "))
        {
            outcome.exit_code = code.parse().ok();
        } else if let Some(time) = line.strip_prefix("Wall time") {
            let time = time.strip_prefix(": ").or_else(|| time.strip_prefix(' '));
            outcome.duration = time.unwrap_or_default().strip_suffix(" seconds").and_then(milliseconds);
        } else if number == 0 && FAILURES.iter().any(|failure| line.starts_with(failure)) {
            outcome.is_error = Some(true);
        } else if number == 0 && line == "Script completed" {
            outcome.is_error = Some(false);
        } else if !is_head_line(line) {
            break;
        }
    }
    outcome
}

/// First words of failed results of calls that ran no command and so have no exit code.
const FAILURES: &[&str] =
    &["Script failed", "unsupported call: ", "exec_command failed", "apply_patch verification failed"];

/// Whether a line may be a header line before the output of a command.
fn is_head_line(line: &str) -> bool {
    ["Chunk ID: ", "Original token count: ", "Total output lines: ", "Process running with"]
        .iter()
        .any(|head| line.starts_with(head))
}

/// Reads the outcome from an event.
fn told(event: Val<'_>) -> CodexOutcome {
    let exit_code = event.get("exit_code").and_then(|code| code.text().parse().ok());
    let duration = event.get("duration").and_then(|duration| {
        let nanos = duration.get("nanos")?.u64()? / 1_000_000;
        duration.get("secs")?.u64()?.checked_mul(1000)?.checked_add(nanos)
    });
    let by_status = match event.str_or_empty("status") {
        "completed" => Some(false),
        "failed" | "declined" => Some(true),
        _ => None,
    };
    let success = event.get("success").and_then(|success| success.bool()).map(|success| !success);
    // The response of an MCP server, or the reason for its absence.
    let answer = event.get("result").and_then(|result| {
        let answer = result.get("Ok").or_else(|| result.get("Err").map(|_| result))?;
        let failed = answer.get("isError").or_else(|| answer.get("is_error")).and_then(|flag| flag.bool());
        Some(result.get("Err").is_some() || failed == Some(true))
    });
    let is_error = by_status.or(success).or(answer).or(exit_code.map(|code: i64| code != 0));
    CodexOutcome { is_error, exit_code, duration }
}

/// Adds the files that one entry of a patch changed.
fn change_of(path: &Str<'_>, change: Val<'_>, waiting: &mut usize, files: &mut Vec<FileChange>) {
    let mut add = |path: &Str<'_>, action, diff: Option<Str<'_>>| {
        let short = |diff: &Str<'_>| diff.as_escaped().len() + *waiting <= Outcomes::MOST_BYTES;
        let diff = diff.filter(short).map(|diff| diff.as_escaped().to_owned());
        *waiting += diff.as_ref().map_or(0, String::len);
        files.push(FileChange { path: path.as_escaped().to_owned(), action, diff });
    };
    match change.str_or_empty("type") {
        "add" => add(path, "write", None),
        "delete" => add(path, "delete", None),
        "update" => {
            let diff = change.get("unified_diff").and_then(|diff| diff.str());
            match change.get("move_path").and_then(|moved| moved.str()) {
                Some(moved) => {
                    add(path, "delete", None);
                    add(&moved, "move", diff);
                }
                None => add(path, "patch", diff),
            }
        }
        // The event itself is kept.
        _ => {}
    }
}

/// Emits the changed files as parts of a result, numbered from `first`.
pub(super) fn say_files(files: &[FileChange], item: ItemId, first: u32, out: &mut EventSink<'_>) {
    for (number, FileChange { path, action, diff }) in (first..).zip(files) {
        let file = FileRef {
            path: Str::escaped(path),
            action: Str::escaped(action),
            diff: diff.as_deref().map(Str::escaped),
        };
        out.delta(item, number, Part::File(file));
    }
}

/// Parses seconds, with or without a fraction.
fn milliseconds(seconds: &str) -> Option<u64> {
    let (whole, fraction) = seconds.split_once('.').unwrap_or((seconds, ""));
    let mut thousandths = 0;
    for digit in fraction.chars().chain("000".chars()).take(3) {
        thousandths = thousandths * 10 + u64::from(digit.to_digit(10)?);
    }
    whole.parse::<u64>().ok()?.checked_mul(1000)?.checked_add(thousandths)
}
