//! Reports as JSON, for programs. `docs/cli.md` says what the members mean.

use interlingua::error::{Problem, Window};
use interlingua::framing::Framing;
use interlingua::json::Str;
use interlingua::json::{JsonBuffer, JsonWriter};
use interlingua::ledger::{Report, Row};

use crate::check::Checked;
use crate::convert::{Converted, How, Identified, Summary};
use crate::error::CommandError;
use crate::render;

/// The report of a conversion.
pub(crate) fn convert(summary: &Summary) -> String {
    let Summary { converted, skipped, failed } = summary;
    document(|json| {
        json.object().key("files").array();
        for file in converted {
            let Converted { name, output, from, to, is_copy, report } = file;
            json.object().key("input").str(&Str::plain(name));
            json.key("output");
            match output {
                Some(path) => json.str(&Str::plain(&path.display().to_string())),
                None => json.null(),
            };
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
            details(report, from.spec.framing, json);
            json.end_object();
        }
        json.end_array();
        left_out("skipped", skipped, json);
        left_out("failed", failed, json);
        json.key("total").object();
        counts(&render::total(converted), json);
        json.end_object().end_object();
    })
}

/// The findings of a check: per file what it is and what is wrong with it, or why it could not be read.
pub(crate) fn check(
    files: &[(String, Result<Checked, CommandError>)],
    skipped: &[(String, CommandError)],
) -> String {
    document(|json| {
        json.object().key("files").array();
        for (name, result) in files {
            json.object().key("input").str(&Str::plain(name));
            match result {
                Ok(checked) => {
                    let Checked { identity: from, report } = checked;
                    identity(from, json);
                    json.key("sound").bool(checked.is_sound());
                    counts(report, json);
                    details(report, from.spec.framing, json);
                }
                Err(error) => {
                    json.key("sound").bool(false);
                    why(error, json);
                }
            }
            json.end_object();
        }
        json.end_array();
        left_out("skipped", skipped, json);
        json.end_object();
    })
}

/// Inputs of which nothing came, with the reason for each.
pub(crate) fn left_out(fate: &'static str, files: &[(String, CommandError)], json: &mut JsonWriter<'_>) {
    json.key(fate).array();
    for (name, error) in files {
        json.object().key("input").str(&Str::plain(name));
        why(error, json);
        json.end_object();
    }
    json.end_array();
}

/// One JSON document and a newline.
pub(crate) fn document(write: impl FnOnce(&mut JsonWriter<'_>)) -> String {
    let mut state = JsonBuffer::default();
    write(&mut state.hold());
    let mut text = state.held().to_owned();
    text.push('\n');
    text
}

fn why(error: &CommandError, json: &mut JsonWriter<'_>) {
    json.key("error").str(&Str::plain(&error.message()));
    if let Some(hint) = error.hint() {
        json.key("hint").str(&Str::plain(&hint));
    }
}

fn identity(identity: &Identified, json: &mut JsonWriter<'_>) {
    let Identified { dialect, spec, how, looks_like } = identity;
    json.key("from").object().key("dialect").literal(dialect.name).key("role").literal(spec.role.word());
    json.key("detected").bool(*how == How::Detected);
    if let Some(other) = looks_like {
        json.key("looks_like").literal(other.name);
    }
    json.end_object();
}

fn counts(report: &Report, json: &mut JsonWriter<'_>) {
    for (name, count) in [
        ("frames", report.frames),
        ("frames_read", report.read),
        ("leaves", report.leaves),
        ("mapped", report.mapped),
        ("kept", report.kept),
        ("lost", report.lost),
        ("errors", report.errors),
        ("damaged", report.damaged),
    ] {
        json.key(name).u64(count);
    }
    json.key("adds_up").bool(report.adds_up());
}

fn details(report: &Report, framing: Framing, json: &mut JsonWriter<'_>) {
    for (name, rows) in [("lost_paths", &report.lost_paths), ("kept_paths", &report.kept_paths)] {
        json.key(name).array();
        for Row { path, reason, field, count, bytes, first_frame } in rows {
            // Member names stand in a path as the source wrote them, escapes and all.
            json.object().key("path").str(&Str::plain(path));
            if let Some(reason) = reason {
                json.key("reason").literal(reason.word());
            }
            if let Some(field) = field {
                json.key("field").literal(field.word());
            }
            json.key("count").u64(*count).key("bytes").u64(*bytes).key("first_frame").u64(*first_frame);
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
        problem(found, framing, json);
    }
    json.end_array().key("more_problems").u64(report.more_problems);
}

fn problem(problem: &Problem, framing: Framing, json: &mut JsonWriter<'_>) {
    let Problem { code, place, detail, window } = problem;
    json.object().key("code").literal(code.name()).key("severity").literal(code.severity().word());
    json.key("message").str(&Str::plain(code.message()));
    json.key("frame").u64(place.frame);
    json.key("place").str(&Str::plain(&render::frame_name(framing, place.frame)));
    json.opt_u64("byte", place.byte.map(|byte| byte as u64));
    if let Some(pointer) = &place.pointer {
        json.key("pointer").str(&Str::plain(pointer));
    }
    if !detail.is_empty() {
        json.key("detail").str(&Str::plain(detail));
    }
    if !window.is_empty() {
        let Window { before, after } = window;
        json.key("window").object();
        json.key("before").str(&Str::plain(before)).key("after").str(&Str::plain(after)).end_object();
    }
    if let Some(hint) = code.hint() {
        json.key("hint").str(&Str::plain(hint));
    }
    json.end_object();
}
