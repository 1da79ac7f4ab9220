//! Reports as JSON, for programs. `docs/cli.md` describes the members.

use interlingua::error::{Problem, Window};
use interlingua::framing::Framing;
use interlingua::json::{JsonBuffer, JsonWriter, Output, Str};
use interlingua::ledger::{ContentCounts, Report, Row};

use crate::{Checked, Converted, Explain, Identified, IdentifiedBy, Summary, safe};

/// The JSON schema of the documents that [`ReportWriter`] writes.
pub const SCHEMA: &str = include_str!("../schema/report-1.schema.json");

/// The version of these documents. A new version may change the meaning of members; adding members does not change the
/// version.
const VERSION: u64 = 1;

/// A report that is written file by file, so that it is never in memory as a whole. Nothing is written before the first
/// file is done, so a run that fails earlier writes no byte.
#[derive(Debug)]
pub struct ReportWriter<O> {
    command: &'static str,
    sink: O,
    has_begun: bool,
}

impl<O: Output> ReportWriter<O> {
    /// The report of a command, to a file or to stdout.
    pub const fn new(command: &'static str, sink: O) -> Self {
        Self { command, sink, has_begun: false }
    }

    /// Writes the beginning of the report, or the separator between two files.
    fn begin(&mut self) {
        if std::mem::replace(&mut self.has_begun, true) {
            return self.sink.write(b",");
        }
        let begin = held(|json| {
            json.object().key("version").u64(VERSION).key("command").literal(self.command);
            json.key("files").array().end_array().end_object();
        });
        self.sink.write(begin.strip_suffix("]}").unwrap_or(&begin).as_bytes());
    }

    /// Adds a converted file.
    pub fn converted(&mut self, file: &Converted) {
        let Converted { name, output, further_outputs, from, to, is_copy, report } = file;
        self.file(|json| {
            json.key("input").str(&Str::plain(name)).key("output");
            match output {
                Some(path) => json.str(&Str::plain(&safe::path_name(path))),
                None => json.null(),
            };
            if !further_outputs.is_empty() {
                json.key("further_outputs").array();
                for path in further_outputs {
                    json.str(&Str::plain(&safe::path_name(path)));
                }
                json.end_array();
            }
            identity(from, json);
            json.key("to")
                .object()
                .key("dialect")
                .literal(to.0.name)
                .key("role")
                .literal(to.1.word())
                .end_object();
            json.key("copied").bool(*is_copy);
            counts(report, json);
            details(report, json);
        });
    }

    /// Adds a checked file: its dialect and its problems, or the error that prevented reading.
    pub fn checked(&mut self, name: &str, result: &Result<Checked, impl Explain>) {
        self.file(|json| {
            json.key("input").str(&Str::plain(name));
            match result {
                Ok(checked) => {
                    let Checked { identity: from, report } = checked;
                    identity(from, json);
                    json.key("sound").bool(checked.is_sound());
                    counts(report, json);
                    details(report, json);
                }
                Err(error) => {
                    json.key("sound").bool(false);
                    why(error, json);
                }
            }
        });
    }

    fn file(&mut self, write: impl FnOnce(&mut JsonWriter<'_>)) {
        self.begin();
        let file = held(|json| {
            json.object();
            write(json);
            json.end_object();
        });
        self.sink.write(file.as_bytes());
    }

    /// Ends the report: adds the skipped files, and for a conversion the failures and the total.
    pub fn finish<E: Explain>(mut self, skipped: &[(String, E)], rest: Option<&Summary<E>>) -> O {
        let end = held(|json| {
            json.object();
            left_out("skipped", skipped, json);
            if let Some(Summary { failed, total, .. }) = rest {
                left_out("failed", failed, json);
                json.key("total").object();
                counts(total, json);
                json.end_object();
            }
            json.end_object();
        });
        if !self.has_begun {
            self.begin();
        }
        self.sink.write(b"],");
        self.sink.write(end.strip_prefix('{').unwrap_or(&end).as_bytes());
        self.sink.write(b"\n");
        self.sink
    }
}

/// A list of skipped or failed inputs with the reason for each.
pub fn left_out(fate: &'static str, files: &[(String, impl Explain)], json: &mut JsonWriter<'_>) {
    json.key(fate).array();
    for (name, error) in files {
        json.object().key("input").str(&Str::plain(name));
        why(error, json);
        json.end_object();
    }
    json.end_array();
}

/// The counts and the details of one report as an object.
pub(crate) fn of_report(report: &Report) -> String {
    held(|json| {
        json.object();
        counts(report, json);
        details(report, json);
        json.end_object();
    })
}

/// One JSON document and a newline. Characters that steer a terminal or cannot be seen are escape sequences in it.
pub fn document(write: impl FnOnce(&mut JsonWriter<'_>)) -> String {
    let mut text = held(write);
    text.push('\n');
    text
}

fn held(write: impl FnOnce(&mut JsonWriter<'_>)) -> String {
    let mut state = JsonBuffer::default();
    write(&mut state.hold());
    safe::json(state.held())
}

fn why(error: &impl Explain, json: &mut JsonWriter<'_>) {
    json.key("error").str(&Str::plain(&error.message()));
    if let Some(hint) = error.hint() {
        json.key("hint").str(&Str::plain(&hint));
    }
}

fn identity(identity: &Identified, json: &mut JsonWriter<'_>) {
    let Identified { dialect, spec, by, looks_like } = identity;
    json.key("from").object().key("dialect").literal(dialect.name).key("role").literal(spec.role.word());
    json.key("detected").bool(*by == IdentifiedBy::Detection);
    if let Some(other) = looks_like {
        json.key("looks_like").literal(other.name);
    }
    json.end_object();
}

fn counts(report: &Report, json: &mut JsonWriter<'_>) {
    let ContentCounts { messages, reasoning, calls, results, failures, .. } = report.content;
    json.key("content").object().key("messages").u64(messages).key("reasoning").u64(reasoning);
    json.key("calls").u64(calls).key("results").u64(results).key("failures").u64(failures).end_object();
    for (name, count) in [
        ("frames", report.frames),
        ("frames_read", report.read),
        ("leaves", report.leaves),
        ("mapped", report.mapped),
        ("kept", report.kept),
        ("lost", report.lost),
        ("errors", report.errors),
        ("damaged", report.damaged),
        ("verbatim", report.verbatim),
    ] {
        json.key(name).u64(count);
    }
    json.key("adds_up").bool(report.adds_up());
}

fn details(report: &Report, json: &mut JsonWriter<'_>) {
    for (name, rows) in [("lost_paths", &report.lost_paths), ("kept_paths", &report.kept_paths)] {
        json.key(name).array();
        for Row { path, reason, field, count, bytes, first, .. } in rows {
            // A path holds member names as the source wrote them, including escapes.
            json.object().key("path").str(&Str::plain(path));
            if let Some(reason) = reason {
                json.key("reason").literal(reason.word());
            }
            if let Some(field) = field {
                json.key("field").literal(field.word());
            }
            json.key("count").u64(*count).key("bytes").u64(*bytes).key("first_frame").u64(first.number);
            json.key("place").str(&Str::plain(&first.name(report.framing)));
            json.end_object();
        }
        json.end_array();
    }
    json.key("notes").array();
    for (what, count) in &report.notes {
        json.object().key("what").str(&Str::plain(what)).key("count").u64(*count).end_object();
    }
    json.end_array().key("problems").array();
    for found in &report.problems {
        problem(found, report.framing, json);
    }
    json.end_array().key("more_problems").u64(report.more_problems);
}

fn problem(problem: &Problem, framing: Framing, json: &mut JsonWriter<'_>) {
    let Problem { code, place, detail, window, .. } = problem;
    json.object().key("code").literal(code.name()).key("severity").literal(code.severity().word());
    json.key("message").str(&Str::plain(code.message()));
    json.key("frame").u64(place.frame.number);
    json.key("place").str(&Str::plain(&place.frame.name(framing)));
    json.opt_u64("byte", place.byte.map(|byte| byte as u64));
    if let Some(pointer) = &place.pointer {
        json.key("pointer").str(&Str::plain(pointer));
    }
    if !detail.is_empty() {
        json.key("detail").str(&Str::plain(detail));
    }
    if !window.is_empty() {
        let Window { before, after, .. } = window;
        json.key("window").object();
        json.key("before").str(&Str::plain(before)).key("after").str(&Str::plain(after)).end_object();
    }
    if let Some(hint) = code.hint() {
        json.key("hint").str(&Str::plain(hint));
    }
    json.end_object();
}
