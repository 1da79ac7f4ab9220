//! Details beside a line's tool results: how a tool ended, the file it changed, and the permission decision.

use super::calls::{Agents, CalledTools};
use super::origin::first_text;
use crate::blocks::{self, ResultDetail};
use crate::json::Str;
use crate::model::{Decision, Event, Field, FileRef, ItemId, Permission};
use crate::pipe::EventSink;
use crate::tape::{Kind, Member as _, Val, WantedNames};

/// Members beside the message that describe its tool results.
#[derive(Default)]
pub(super) struct ResultsOfLine<'t> {
    /// Details of a result. With several results the line does not show which result they belong to.
    pub(super) beside: Option<Val<'t>>,
    /// The permission decision on the call.
    pub(super) decision: Option<Val<'t>>,
}

fn is_result(block: &Val<'_>) -> bool {
    block.str_or_empty("type") == "tool_result"
}

/// The result, if the content has exactly one.
fn only_result(content: Val<'_>) -> Option<Val<'_>> {
    let mut results = content.elements().filter(is_result);
    results.next().filter(|_| results.next().is_none())
}

/// Emits the permission decision on a call, before the line with the call's result.
pub(super) fn decided(
    content: Option<Val<'_>>,
    results: &ResultsOfLine<'_>,
    tools: &CalledTools,
    out: &mut EventSink<'_>,
) {
    let Some(result) = content.and_then(only_result) else { return };
    let Some(call) = result.get("tool_use_id").and_then(|call| call.str()) else { return };
    let Some((answer, by)) = (match results.decision {
        Some(decision) => decision_of(decision),
        // Older logs show a refusal only in the result's text.
        None => is_refused(result).then_some((Decision::Reject(None), None)),
    }) else {
        return;
    };
    let action = Str::escaped(tools.name_of(&call).unwrap_or("unknown"));
    let call_id = Some(call.clone());
    out.event(&Event::PermissionResolved(Permission {
        id: call,
        action,
        call_id,
        input: None,
        answer: Some(answer),
        by,
    }));
}

/// The decision and its source.
fn decision_of(decision: Val<'_>) -> Option<(Decision<'_>, Option<Str<'_>>)> {
    const WANTED: WantedNames<3> = WantedNames::new(["decision", "source", "grantScope"]);
    let [word, source, scope] = decision.find(&WANTED);
    let for_session = matches!(scope.word(), "session" | "always" | "permanent")
        || matches!(source.word(), "user_permanent" | "user_session");
    let answer = match word.word() {
        "accept" | "allow" if for_session => Decision::AcceptForSession,
        "accept" | "allow" => Decision::Accept,
        "reject" | "deny" | "abort" => Decision::Reject(None),
        _ => return None,
    };
    word.note_text(Field::PermissionAnswer);
    if for_session && answer == Decision::AcceptForSession {
        scope.note_text(Field::PermissionAnswer);
    }
    Some((answer, source.note_text(Field::PermissionBy)))
}

/// Whether a result's text reports that the call was refused.
fn is_refused(result: Val<'_>) -> bool {
    let text = result.get("content").filter(|_| failed(result)).and_then(first_text);
    text.is_some_and(|text| REFUSED.iter().any(|begin| text.starts_with(begin)))
}

/// Prefixes of results of refused calls.
const REFUSED: &[&str] = &[
    "The user doesn't want to proceed with this tool use.",
    "The user doesn't want to take this action right now.",
    "Permission to use ",
    "Permission for this action has been denied.",
    "Claude requested permissions to ",
];

/// Prefixes of results of interrupted calls.
const STOPPED: &[&str] = &[
    "[Request interrupted by user",
    "<tool_use_error>Cancelled",
    "Interrupted by user",
    "The user interrupted",
];

fn failed(result: Val<'_>) -> bool {
    result.get("is_error").and_then(|is_error| is_error.bool()) == Some(true)
}

/// Reads content; the details of a result are beside the message.
pub(super) fn read_content(
    content: Val<'_>,
    results: &ResultsOfLine<'_>,
    message: ItemId,
    agents: &mut Agents,
    made: &mut String,
    out: &mut EventSink<'_>,
) {
    if !content.elements().any(|block| is_result(&block)) {
        return blocks::read_content(content, message, out);
    }
    let only = only_result(content).is_some();
    for (number, block) in content.elements().enumerate() {
        if is_result(&block) {
            let detail = detail(block, results.beside.filter(|_| only), agents, made);
            out.within(block, |out| blocks::read_result_block(block, number as u32, message, detail, out));
        } else {
            out.within(block, |out| blocks::read_block(block, number as u32, message, out));
        }
    }
}

/// Members with details of a result.
const BESIDE: WantedNames<16> = WantedNames::new([
    "durationMs",
    "totalDurationMs",
    "durationSeconds",
    "duration_ms",
    "interrupted",
    "status",
    "agentId",
    "exitCode",
    "stdout",
    "content",
    "type",
    "filePath",
    "notebook_path",
    "structuredPatch",
    "file",
    "edit_mode",
]);

fn detail<'t>(
    result: Val<'t>,
    beside: Option<Val<'t>>,
    agents: &mut Agents,
    made: &'t mut String,
) -> ResultDetail<'t> {
    let text = result.get("content").and_then(first_text);
    let text_of_failure = text.filter(|_| failed(result));
    let stopped = text_of_failure.is_some_and(|text| STOPPED.iter().any(|begin| text.starts_with(begin)));
    let mut detail = ResultDetail {
        exit_code: text_of_failure.and_then(exit_code),
        interrupted: stopped,
        ..ResultDetail::default()
    };
    let Some(beside) = beside else { return detail };
    if beside.kind() != Kind::Object {
        // The string repeats the failed result's text after `Error: `.
        let repeats =
            |told: &Str<'_>| told.as_escaped().strip_prefix("Error: ").is_some_and(|told| Some(told) == text);
        if beside.str().as_ref().is_some_and(repeats) {
            beside.note(Field::ResultText);
        }
        return detail;
    }
    let [
        ms,
        total_ms,
        seconds,
        older_ms,
        interrupted,
        status,
        agent,
        exit_code,
        stdout,
        text_again,
        file @ ..,
    ] = beside.find(&BESIDE);
    let duration =
        [ms, total_ms, older_ms].into_iter().find_map(|count| count.note_count(Field::ResultDuration));
    detail.duration = duration.or_else(|| milliseconds(seconds?));
    if let Some(flag) = interrupted.filter(|flag| flag.bool().is_some()) {
        flag.note(Field::ItemStatus);
        detail.interrupted |= flag.bool() == Some(true);
    }
    if let Some(code) = exit_code.and_then(|code| code.text().parse().ok().map(|number| (code, number))) {
        code.0.note(Field::ResultExitCode);
        detail.exit_code = Some(code.1);
    }
    detail.status = status.note_text(Field::ItemStatus);
    detail.agent = agent.note_text(Field::ItemAgent);
    if let (Some(agent), Some(call)) = (&detail.agent, result.get("tool_use_id").and_then(|call| call.str()))
    {
        agents.started(agent, &call);
    }
    // The tool's output repeats the text the model received.
    for again in [stdout, text_again].into_iter().flatten() {
        if text.is_some() && first_text(again) == text {
            note_texts(again);
        }
    }
    detail.file = file_of(file, made);
    detail
}

/// Notes a text, or the first text in a list of blocks.
fn note_texts(content: Val<'_>) {
    if content.note_text(Field::ResultText).is_none() {
        for block in content.elements().take(1) {
            block.note_str("text", Field::ResultText);
        }
    }
}

/// Seconds as milliseconds.
fn milliseconds(seconds: Val<'_>) -> Option<u64> {
    let number: f64 = seconds.text().parse().ok().filter(|number| (0.0..1e12).contains(number))?;
    seconds.note(Field::ResultDuration);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is in this range")]
    Some((number * 1000.0).round() as u64)
}

/// The exit code of a failed command, which precedes the command's output.
fn exit_code(text: &str) -> Option<i64> {
    let code = text.strip_prefix("Exit code ")?;
    code.split('\\').next()?.parse().ok()
}

/// The file that was read or changed. The changes are written as a unified diff into `made`.
fn file_of<'t>(members: [Option<Val<'t>>; 6], made: &'t mut String) -> Option<FileRef<'t>> {
    let [kind, path, notebook, hunks, seen, cell] = members;
    if let Some(path) = seen.and_then(|seen| seen.note_str("filePath", Field::FilePath)) {
        return Some(FileRef { path, action: Str::escaped("read"), diff: None });
    }
    let changed = hunks.is_some() || cell.is_some() || matches!(kind.word(), "create" | "update");
    let path = [path, notebook].into_iter().flatten().filter(|_| changed);
    let path = path.into_iter().find_map(|path| path.note_text(Field::FilePath))?;
    made.clear();
    for hunk in hunks.into_iter().flat_map(|hunks| hunks.elements()) {
        add_hunk(hunk, made);
    }
    let diff = (!made.is_empty()).then(|| Str::escaped(made));
    let action = match kind.filter(|kind| kind.is("create") || kind.is("update")) {
        // A file written as a whole has no diff; the call holds the text.
        Some(kind) => {
            kind.note(Field::FileAction);
            if kind.is("create") { "write" } else { "patch" }
        }
        None if diff.is_some() || cell.is_some() => "patch",
        None => "write",
    };
    Some(FileRef { path, action: Str::escaped(action), diff })
}

/// Appends a hunk, still escaped, if the value is a hunk.
fn add_hunk(hunk: Val<'_>, diff: &mut String) {
    const WANTED: WantedNames<5> =
        WantedNames::new(["oldStart", "oldLines", "newStart", "newLines", "lines"]);
    let [old, old_lines, new, new_lines, lines] = hunk.find(&WANTED);
    let [Some(old), Some(old_lines), Some(new), Some(new_lines)] = [old, old_lines, new, new_lines] else {
        return;
    };
    let numbers = [old, old_lines, new, new_lines];
    if numbers.iter().any(|number| number.u64().is_none()) {
        return;
    }
    for (before, number) in ["@@ -", ",", " +", ","].into_iter().zip(numbers) {
        diff.push_str(before);
        diff.push_str(number.note(Field::FileDiff).as_str());
    }
    diff.push_str(" @@\\n");
    for line in lines.into_iter().flat_map(|lines| lines.elements()) {
        if let Some(line) = line.note_text(Field::FileDiff) {
            diff.push_str(line.as_escaped());
            diff.push_str("\\n");
        }
    }
}
