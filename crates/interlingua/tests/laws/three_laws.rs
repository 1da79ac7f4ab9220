//! The three laws of DESIGN section 3, for every dialect in the registry and every fixture: no leaf is lost silently,
//! the input can be restored, the order of events is sound. The fixtures of a new dialect are tested as soon as the
//! dialect is registered; a breach names the fixture, the dialects and the finding.
//!
//! `INTERLINGUA_FULL=1` tries every cut and many more mutations; `INTERLINGUA_CORPUS=<folder>` adds real logs.

#![allow(clippy::expect_used, reason = "a test stops at the first surprise")]
#![allow(clippy::disallowed_methods, reason = "fixtures are files, settings of a test run are variables")]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::support::books::{Excuse, find, judge};
use crate::support::compare::{as_in_records, in_records, is_unparsed};
use crate::support::damage::{Dice, mutate, perturb};
use crate::support::grammar::document;
use crate::support::restructure::Restructured;
use crate::support::there_and_back::there_and_back_law;
use crate::support::watch::{Look, watch};
use crate::support::{
    Case, Law, Outcome, Way, can_read, can_write, convert, convert_pieces, convert_with, first_difference,
    fixtures, fixtures_and_ours, full, is_asked, main_target, on_two_threads, other_targets, record,
    restorable, same, targets,
};
use interlingua::dialects::{Options, Plane, Role};
use interlingua::error::Code;
use interlingua::fold::Transcript;
use interlingua::ledger::Report;
use interlingua::tape::Limits;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

// ---- No leaf is lost silently ----------------------------------------------------------------------------------------

#[test]
fn leaves_add_up_to_every_target() {
    let mut law = Law::new("leaves in = mapped + kept + lost");
    for case in fixtures_and_ours() {
        for to in targets(&case) {
            let report = convert(case.way, to, &case.bytes).report;
            law.holds(report.adds_up(), || format!("{case} -> {}: {}", to.0.name, counts(&report)));
        }
    }
    law.end();
}

#[test]
fn a_log_loses_nothing_on_its_way_to_a_record() {
    let mut law = Law::new("log -> record: 0 lost, nothing unsound");
    for case in fixtures().iter().filter(|case| case.way.0.plane == Plane::Log) {
        let report = convert(case.way, record(), &case.bytes).report;
        law.holds(report.lost == 0, || format!("{case}: {:?}", report.lost_paths));
        law.holds(report.problems.is_empty(), || format!("{case}: {:?}", report.problems));
        law.holds(report.verbatim == 0, || format!("{case}: {} lines kept whole", report.verbatim));
        law.holds(report.kept == report.kept_paths.iter().map(|row| row.count).sum::<u64>(), || {
            format!("{case}: {} kept, but the paths name another number", report.kept)
        });
    }
    law.end();
}

#[test]
fn every_leaf_of_a_log_matters_to_the_record_and_comes_back() {
    let mut law = Law::new("another value in any leaf gives another record, and that value back");
    let logs: Vec<Case> = fixtures().into_iter().filter(|case| restorable(case) && is_asked(case)).collect();
    let broken = on_two_threads(&logs, |case| {
        let (seen, _) = watch(case.way, &case.bytes, Look::Leaves);
        let before = convert(case.way, record(), &case.bytes).bytes;
        let mut broken = Vec::new();
        each_leaf(case, &seen.frames, &mut |leaf, other| {
            let after = convert(case.way, record(), other).bytes;
            if after == before {
                broken.push(format!("{case}: `{}` is nowhere in the record", leaf.path));
            }
            let back = convert(record(), case.way, &after).bytes;
            if back != other {
                broken.push(format!("{case}: `{}`: {}", leaf.path, first_difference(other, &back)));
            }
        });
        broken
    });
    law.gather(broken);
    law.end();
}

// ---- The input can be restored ---------------------------------------------------------------------------------------

#[test]
fn the_same_dialect_on_both_sides_passes_bytes_untouched() {
    let mut law = Law::new("same dialect, same bytes");
    for case in fixtures_and_ours().iter().filter(|case| can_write(case.way)) {
        let out = convert(case.way, case.way, &case.bytes);
        law.holds(out.bytes == case.bytes, || {
            format!("{case}: {}", first_difference(&case.bytes, &out.bytes))
        });
    }
    law.end();
}

#[test]
fn log_to_record_to_log_gives_the_same_bytes_back() {
    let mut law = Law::new("log -> record -> log: the same bytes");
    for case in fixtures().iter().filter(|case| restorable(case)) {
        restores(&mut law, &case.to_string(), case.way, &case.bytes);
    }
    law.end();
}

#[test]
fn a_damaged_log_comes_back_with_its_damage() {
    let mut law = Law::new("damaged log -> record -> log: the same bytes");
    let logs: Vec<(usize, Case)> =
        fixtures().into_iter().filter(|case| restorable(case) && is_asked(case)).enumerate().collect();
    let rounds = if full() { 5_000 } else { 150 };
    for (number, case) in &logs {
        for round in 0..rounds {
            let seed = (number * 1_000_003 + round) as u64;
            let bytes = mutate(&case.bytes, &mut Dice::new(seed));
            restores(&mut law, &format!("{case}, mutation {seed}"), case.way, &bytes);
        }
    }
    law.end();
}

#[test]
fn a_restructured_log_comes_back() {
    let mut law = Law::new("log with values of other types and places -> record -> log: the same bytes");
    let logs: Vec<Case> = fixtures().into_iter().filter(|case| restorable(case) && is_asked(case)).collect();
    let rounds = if full() { 2_000 } else { 30 };
    let [lines, verbatim] = [const { AtomicU64::new(0) }; 2];
    let broken = on_two_threads(&logs, |case| {
        let (source, mut broken) = (Restructured::new(&case.bytes), Vec::new());
        for round in 0..rounds {
            let (bytes, mutated) = source.mutation(&mut Dice::new(round));
            let out = convert(case.way, record(), &bytes);
            lines.fetch_add(mutated as u64, Ordering::Relaxed);
            verbatim.fetch_add(out.report.verbatim, Ordering::Relaxed);
            let back = convert(record(), case.way, &out.bytes);
            if back.bytes != bytes {
                broken.push(format!("{case}, mutation {round}: {}", first_difference(&bytes, &back.bytes)));
            }
            if out.report.lost > 0 || !out.report.adds_up() {
                broken.push(format!("{case}, mutation {round}: {}", counts(&out.report)));
            }
            let holes = back.report.problems.iter().any(|problem| problem.code == Code::UnfilledHole);
            if holes || !back.report.adds_up() {
                broken.push(format!("{case}, mutation {round}, back: {:?}", back.report.problems));
            }
        }
        broken
    });
    let (lines, verbatim) = (lines.into_inner(), verbatim.into_inner());
    // `cargo test` prints this with `--nocapture`.
    eprintln!("{lines} mutated lines, {verbatim} kept whole");
    // Without lines kept whole, the mutations are too weak to test anything.
    law.holds(verbatim > 0 || logs.len() < 10, || "no line had to be kept whole".to_owned());
    law.gather(broken);
    law.end();
}

#[test]
fn lines_over_a_limit_come_back_whole() {
    let mut law = Law::new("log -> record -> log with small limits: the same bytes, in any chunks");
    for case in fixtures().iter().filter(|case| restorable(case)) {
        for limits in [
            Limits { bytes: 250, ..Limits::default() },
            Limits { nodes: 25, ..Limits::default() },
            Limits { depth: 3, ..Limits::default() },
        ] {
            let options = Options::default().with_limits(limits);
            let out = convert_with(case.way, record(), [&case.bytes[..]], &options);
            law.holds(out.report.is_damaged(), || format!("{case}: nothing is over {limits:?}"));
            law.holds(out.report.adds_up() && out.report.lost == 0, || {
                format!("{case}: {}", counts(&out.report))
            });
            let back = convert(record(), case.way, &out.bytes).bytes;
            law.holds(back == case.bytes, || {
                format!("{case}, {limits:?}: {}", first_difference(&case.bytes, &back))
            });
            for size in [1, 97, 249, 250, 251, 4096] {
                let pieces = convert_with(case.way, record(), case.bytes.chunks(size), &options);
                law.holds(pieces == out, || {
                    let how = first_difference(&out.bytes, &pieces.bytes);
                    format!("{case}, {limits:?}, in chunks of {size}: {how}")
                });
            }
        }
    }
    law.end();
}

#[test]
fn record_to_log_to_record_gives_the_same_record_back() {
    let mut law = Law::new("record -> log -> record: the same record");
    for case in fixtures().iter().filter(|case| restorable(case)) {
        let first = convert(case.way, record(), &case.bytes).bytes;
        let log = convert(record(), case.way, &first).bytes;
        let second = convert(case.way, record(), &log).bytes;
        law.holds(first == second, || format!("{case}: {}", first_difference(&first, &second)));
    }
    law.end();
}

#[test]
fn a_log_and_its_record_say_the_same() {
    let mut law = Law::new("what a log says and what its record says fold to the same transcript");
    for case in fixtures().iter().filter(|case| case.way.0.plane == Plane::Log) {
        let record_bytes = convert(case.way, record(), &case.bytes).bytes;
        let (mut said, _) = Transcript::read(case.way, &case.bytes, &Options::default()).expect("readable");
        let (mut again, _) =
            Transcript::read(record(), &record_bytes, &Options::default()).expect("readable");
        let used = (in_records(&said.usage()), in_records(&again.usage()));
        law.holds(used.0 == used.1, || format!("{case}: used {:?}, in the record {:?}", used.0, used.1));
        said.items.iter_mut().chain(&mut again.items).for_each(as_in_records);
        said.items.retain(|item| !is_unparsed(item));
        law.holds(said.items.len() == again.items.len(), || {
            format!("{case}: {} items, {} in the record", said.items.len(), again.items.len())
        });
        for (number, (said, again)) in said.items.iter().zip(&again.items).enumerate() {
            law.holds(said == again, || {
                let (said, again) = (format!("{said:?}"), format!("{again:?}"));
                format!("{case}: item {number} {}", first_difference(said.as_bytes(), again.as_bytes()))
            });
        }
    }
    law.end();
}

#[test]
fn wire_there_and_back_differs_only_by_what_was_lost() {
    let cases: Vec<Case> = fixtures().into_iter().filter(|case| case.way.0.plane == Plane::Wire).collect();
    let mut breaches = Vec::new();
    for case in cases.iter().filter(|case| can_write(case.way)) {
        let others = other_targets(case);
        for to in others.into_iter().filter(|to| to.0.plane == Plane::Wire && can_read(*to)) {
            breaches.extend(there_and_back_law(case, to));
        }
    }
    let mut excuses = NOT_THE_SAME.to_vec();
    for over in [C, "kimi", "copilot"] {
        excuses.extend(OVER_CHAT.iter().map(|(place, why)| (A, over, *place, *why)));
    }
    for over in ["kimi", "copilot"] {
        excuses.extend(OVER_FLAVOURS.iter().map(|(place, why)| (C, over, *place, *why)));
    }
    judge(cases.len(), breaches, &excuses);
}

/// Differences from Anthropic's document after a round trip over the chat dialect or one of its flavours: fixture and
/// path, reason.
const OVER_CHAT: &[(&str, &str)] = &[
    // Chat Completions has no place for a picture in a tool result.
    ("request/full.json +/messages[]/*", "it stands in a user message after the results"),
    ("request/full.json -/messages[]/content[]/content[]/*", "it stands in a user message after the results"),
    ("request/full.json ~/messages[]/*", "it stands in a user message after the results"),
    ("request/full.json -/messages[]/content[]/type", "the tag of thinking, which is lost on the way back"),
    ("request/orphans.json +/messages[]/content[]/is_error", "a call without a result gets one that says so"),
    ("request/orphans.json ~/messages[]/content[]/type", "the result that was made stands before the others"),
    ("-/usage/cache_creation/ephemeral_5m_input_tokens", "the rest of a sum whose other part is lost"),
];

/// Differences from OpenAI's document after a round trip over a flavour of another vendor.
const OVER_FLAVOURS: &[(&str, &str)] = &[
    ("request/media.json +/messages[]/tool_calls[]/*", "a plain text stands as a function's only member"),
    ("request/media.json -/messages[]/tool_calls[]/*", "a plain text stands as a function's only member"),
    ("request/media.json +/tools[]/*", "a plain text stands as a function's only member"),
    ("request/media.json -/tools[]/*", "a plain text stands as a function's only member"),
    ("request/replay.json -/messages[]/content[]/text", "an empty text is left out"),
    ("request/replay.json -/messages[]/content[]/type", "an empty text is left out"),
    ("response/refusal.json +/choices[]/message/content[]/*", "refusals are plain text there"),
    ("response/refusal.json -/choices[]/message/refusal", "refusals are plain text there"),
    (
        "response/tools.json +/choices[]/message/tool_calls[]/function/arguments",
        "`{}` is how no arguments are said",
    ),
    (
        "response/tools.json -/choices[]/message/tool_calls[]/function/arguments",
        "`{}` is how no arguments are said",
    ),
];

/// Differences after a round trip without a loss: from, over, fixture and path (`+`: new, `-`: gone, `~`: in another
/// order), reason.
const NOT_THE_SAME: &[Excuse] = &[
    ("copilot", "*", "response/opaque.json +/object", "an answer says what it is"),
    ("copilot", C, "request/full.json +/reasoning_effort", "a budget is written as an effort"),
    ("kimi", "*", "response/tools.json +/usage/prompt_tokens_details/cached_tokens", "OpenAI's place for it"),
    ("kimi", "*", "response/tools.json -/usage/cached_tokens", "OpenAI's place for it"),
    ("kimi", A, "+/choices[]/message/tool_calls[]/id", "an id must be of certain letters"),
    ("kimi", A, "-/choices[]/message/tool_calls[]/id", "an id must be of certain letters"),
    // Members that Anthropic requires.
    (C, A, "+/max_completion_tokens", "a request must have a limit"),
    (C, A, "request/full.json +/tools[]/function/parameters/*", "a tool must have a schema"),
    (C, A, "stream/loose.sse +/usage/*", "an answer must have numbers, and zeros come back"),
    (C, A, "request/replay.json -/messages[]/content[]/text", "an empty text is refused"),
    (C, A, "request/replay.json -/messages[]/content[]/type", "an empty text is refused"),
    (C, A, "response/oddids.json +/choices[]/message/tool_calls[]/id", "an id must be of certain letters"),
    (C, A, "response/oddids.json -/choices[]/message/tool_calls[]/id", "an id must be of certain letters"),
    // A tool with a plain text argument becomes a function with one text member.
    (
        C,
        A,
        "request/media.json +/messages[]/tool_calls[]/*",
        "a plain text stands as a function's only member",
    ),
    (
        C,
        A,
        "request/media.json -/messages[]/tool_calls[]/*",
        "a plain text stands as a function's only member",
    ),
    (C, A, "request/media.json +/tools[]/*", "a plain text stands as a function's only member"),
    (C, A, "request/media.json -/tools[]/*", "a plain text stands as a function's only member"),
    // Values with another spelling.
    (C, A, "response/error-context.json +/error/message", "clients look for `prompt is too long`"),
    (C, A, "response/error-context.json -/error/message", "clients look for `prompt is too long`"),
    (C, A, "response/refusal.json +/choices[]/message/content[]/*", "Anthropic declines in plain text"),
    (C, A, "response/refusal.json -/choices[]/message/refusal", "Anthropic declines in plain text"),
    (
        C,
        A,
        "response/tools.json +/choices[]/message/tool_calls[]/function/arguments",
        "`{}` is how no arguments are said",
    ),
    (
        C,
        A,
        "response/tools.json -/choices[]/message/tool_calls[]/function/arguments",
        "`{}` is how no arguments are said",
    ),
    (C, A, "stream/cut.sse -/error/code", "the code is ours: nobody said that the stream was cut"),
    // Members that the Responses API requires, or whose defaults differ.
    (A, R, "+/tools[]/strict", "a tool is strict there unless it is said not to be"),
    ("*", R, "+/tools[]/function/strict", "a tool is strict there unless it is said not to be"),
    (C, R, "+/store", "an answer is kept there unless it is said not to be"),
    ("*", R, "+/messages[]/content[]/image_url/detail", "a picture must say how closely to look at it"),
    (C, R, "request/full.json +/tools[]/function/parameters/*", "a tool must have a schema"),
    (A, R, "+/usage/cache_creation_input_tokens", "an answer must have numbers, and zeros come back"),
    (A, R, "+/usage/cache_read_input_tokens", "an answer must have numbers, and zeros come back"),
    (
        A,
        R,
        "+/usage/output_tokens_details/thinking_tokens",
        "an answer must have numbers, and zeros come back",
    ),
    (
        "*",
        R,
        "+/usage/completion_tokens_details/reasoning_tokens",
        "an answer must have numbers, and zeros come back",
    ),
    (
        "*",
        R,
        "+/usage/prompt_tokens_details/cache_write_tokens",
        "an answer must have numbers, and zeros come back",
    ),
    (
        "*",
        R,
        "+/usage/prompt_tokens_details/cached_tokens",
        "an answer must have numbers, and zeros come back",
    ),
    (A, R, "request/full.json -/messages[]/content[]/type", "the tag of thinking, which is lost"),
    (
        A,
        R,
        "request/orphans.json +/messages[]/content[]/is_error",
        "a call without a result gets one that says so",
    ),
    (
        A,
        R,
        "request/orphans.json ~/messages[]/content[]/type",
        "the result that was made stands before the others",
    ),
    (C, R, "request/replay.json -/messages[]/content[]/text", "an empty text of the assistant is left out"),
    (C, R, "request/replay.json -/messages[]/content[]/type", "an empty text of the assistant is left out"),
    (
        C,
        R,
        "response/tools.json +/choices[]/message/tool_calls[]/function/arguments",
        "`{}` is how no arguments are said",
    ),
    (
        C,
        R,
        "response/tools.json -/choices[]/message/tool_calls[]/function/arguments",
        "`{}` is how no arguments are said",
    ),
    // The same request in the form of the writer: a list of items, tools before them, the newer of two names.
    (R, "*", "request/choice.json +/input*", "a text becomes a message"),
    (R, "*", "request/choice.json -/input", "a text becomes a message"),
    (R, "*", "request/choice.json +/safety_identifier", "the newer name of `user`"),
    (R, "*", "request/choice.json -/user", "the newer name of `user`"),
    (R, "*", "+/store", "the other API keeps no answers"),
    (R, A, "+/max_output_tokens", "a request must have a limit"),
    (R, "*", "+/tools[]/strict", "the other API's tools are not strict"),
    (R, "*", "+/input[]/type", "messages need not say that they are some"),
    (R, "*", "request/codex.json +/tools[]/*", "tools that came as an item stand among the others"),
    (R, "*", "request/codex.json -/input[]/tools[]/*", "tools that came as an item stand among the others"),
    (R, "*", "request/codex.json -/input[]/type", "tools that came as an item stand among the others"),
    (R, C, "request/codex.json -/input[]/role", "tools that came as an item stand among the others"),
    (R, "*", "request/codex.json +/input[]/content[]/*", "one text is a string, two are a list"),
    (R, "*", "request/codex.json -/input[]/content[]/*", "one text is a string, two are a list"),
    (R, A, "-/instructions", "what the system and developers say first is one list"),
    (R, A, "request/choice.json -/text/format/type", "JSON is asked for in words"),
    // Tool groups and tools with plain text arguments; an exchange restores them.
    (R, "*", "/namespace", "the group stands before the name"),
    (R, "*", "[]/name", "the group stands before the name"),
    (R, "*", "request/full.json +/tools[]/*", "the group stands before the name"),
    (R, "*", "request/full.json -/tools[]/tools[]/*", "the group stands before the name"),
    (R, "*", "[]/arguments", "a plain text stands as a function's only member"),
    (R, "*", "[]/input", "a plain text stands as a function's only member"),
    (R, "*", "-/output[]/type", "a plain text stands as a function's only member"),
    (R, "*", "+/output[]/type", "a plain text stands as a function's only member"),
    (R, A, "request/full.json -/tool_choice*", "the other tools are not offered"),
    (R, A, "request/full.json +/tool_choice", "a call cannot be demanded while the model thinks"),
    // Reasoning: a single text with separate state.
    (R, "*", "-/input[]/type", "the tag of reasoning, which is lost"),
    (R, "*", "~/input[]/type", "reasoning is lost, and messages say what they are"),
    (R, "*", "[]/summary[]/text", "a summary is a thought like any other"),
    (R, "*", "[]/summary[]/type", "a summary is a thought like any other"),
    (R, "*", "response/reasoning.json +/output[]/content[]/*", "a summary is a thought like any other"),
    (R, "*", "response/reasoning.json -/output[]/content[]/*", "a summary is a thought like any other"),
    (R, "*", "response/tools.json +/output[]/content[]/*", "a summary is a thought like any other"),
    (R, "*", "stream/tools.sse +/output[]/content[]/*", "a summary is a thought like any other"),
    (R, "*", "stream/tools.sse -/output[]/content[]/*", "a summary is a thought like any other"),
    // The vendor's own tools become functions.
    (
        R,
        "*",
        "request/hosted.json -/input[]/operation*",
        "the vendor's own tool is a function like any other",
    ),
    (R, "*", "request/hosted.json -/input[]/status", "a result that failed begins with a mark"),
    (R, "*", "request/hosted.json +/input[]/call_id", "an older result has the id of its call as its own"),
    // Chat Completions has no place for a picture in a tool result.
    (R, C, "request/hosted.json +/input[]/*", "it stands in a user message after the results"),
    (R, C, "request/media.json +/input[]/*", "it stands in a user message after the results"),
    (R, C, "request/media.json -/input[]/output[]/*", "it stands in a user message after the results"),
    // Values with another spelling.
    (R, "*", "response/failed.json +/error/type", "an answer that failed becomes an error"),
    (R, A, "response/refusal.json +/output[]/*", "Anthropic declines in plain text"),
    (R, A, "response/refusal.json -/output[]/*", "Anthropic declines in plain text"),
    (R, A, "stream/refusal.sse +/output[]/*", "Anthropic declines in plain text"),
    (R, A, "stream/refusal.sse -/output[]/*", "Anthropic declines in plain text"),
    (R, "*", "stream/cut.sse -/error/code", "the code is ours: nobody said that the stream was cut"),
    (C, R, "stream/cut.sse -/error/code", "the code is ours: nobody said that the stream was cut"),
    ("copilot", R, "request/full.json +/reasoning_effort", "a budget is written as an effort"),
    (R, "kimi", "/tool_choice/tools[]/type", "a plain text stands as a function's only member"),
    (R, "kimi", "request/hosted.json +/input[]/*", "a picture stands in a user message after the results"),
    (R, "kimi", "request/media.json +/input[]/*", "a picture stands in a user message after the results"),
    (
        R,
        "kimi",
        "request/media.json -/input[]/output[]/*",
        "a picture stands in a user message after the results",
    ),
    (R, "kimi", "response/refusal.json +/output[]/*", "it declines in plain text"),
    (R, "kimi", "response/refusal.json -/output[]/*", "it declines in plain text"),
    (R, "kimi", "stream/refusal.sse +/output[]/*", "it declines in plain text"),
    (R, "kimi", "stream/refusal.sse -/output[]/*", "it declines in plain text"),
    (R, "kimi", "response/refusal.json +/incomplete_details/reason", "it declines in plain text"),
    (R, "copilot", "/tool_choice/tools[]/type", "a plain text stands as a function's only member"),
    (R, "copilot", "request/hosted.json +/input[]/*", "a picture stands in a user message after the results"),
    (R, "copilot", "request/media.json +/input[]/*", "a picture stands in a user message after the results"),
    (
        R,
        "copilot",
        "request/media.json -/input[]/output[]/*",
        "a picture stands in a user message after the results",
    ),
    (R, "copilot", "response/refusal.json +/output[]/*", "it declines in plain text"),
    (R, "copilot", "response/refusal.json -/output[]/*", "it declines in plain text"),
    (R, "copilot", "stream/refusal.sse +/output[]/*", "it declines in plain text"),
    (R, "copilot", "stream/refusal.sse -/output[]/*", "it declines in plain text"),
    (R, "copilot", "response/refusal.json +/incomplete_details/reason", "it declines in plain text"),
    (
        A,
        R,
        "request/server-tools.json +/tool_choice/type",
        "what cannot be chosen by name is demanded, or left to the model",
    ),
    (
        A,
        R,
        "request/server-tools.json -/tool_choice/type",
        "what cannot be chosen by name is demanded, or left to the model",
    ),
    // Gemini has other forms for the same values.
    (G, "*", "request/snake.json *", "members are written in the API's own spelling"),
    (
        G,
        "*",
        "response/number.json *",
        "members are written in the API's own spelling, and the reason as a word",
    ),
    (
        G,
        "*",
        "request/full.json +/tools[]/functionDeclarations[]/parametersJsonSchema/*",
        "schemas come back as JSON Schema",
    ),
    (
        G,
        "*",
        "request/full.json -/tools[]/functionDeclarations[]/parameters/*",
        "schemas come back as JSON Schema",
    ),
    (
        G,
        "*",
        "request/choice.json +/tools[]/functionDeclarations[]/parametersJsonSchema/*",
        "schemas come back as JSON Schema",
    ),
    (
        G,
        "*",
        "request/choice.json -/tools[]/functionDeclarations[]/parameters/*",
        "schemas come back as JSON Schema",
    ),
    (
        G,
        "*",
        "request/server.json +/generationConfig/responseJsonSchema/*",
        "schemas come back as JSON Schema",
    ),
    (G, "*", "request/server.json -/generationConfig/responseSchema/*", "schemas come back as JSON Schema"),
    (G, "*", "request/full.json +/contents[]/parts[]/functionCall/args", "`{}` is how no arguments are said"),
    (
        G,
        "*",
        "request/full.json +/contents[]/parts[]/functionResponse/response/output",
        "an object is a text elsewhere",
    ),
    (
        G,
        "*",
        "request/full.json -/contents[]/parts[]/functionResponse/response/*",
        "an object is a text elsewhere",
    ),
    (G, "*", "request/server.json +/contents[]/role", "results had a role of their own once"),
    (G, "*", "request/server.json -/contents[]/role", "results had a role of their own once"),
    (G, "*", "request/server.json ~/contents[]/role", "results had a role of their own once"),
    (G, "*", "request/server.json -/contents[]/parts[]/text", "an empty text held the place of state"),
    (G, "*", "response/blocked.json *", "a prompt that was refused comes back as an answer that was stopped"),
    (
        G,
        "*",
        "response/error-key.json *",
        "the error need not stand in a list, and a bad key has a status of its own",
    ),
    (
        G,
        "*",
        "response/grounded.json +/candidates[]/groundingMetadata/*",
        "all citations come back as one sort",
    ),
    (
        G,
        "*",
        "response/grounded.json -/candidates[]/citationMetadata/*",
        "all citations come back as one sort",
    ),
    (G, "*", "response/malformed.json *", "a call that could not be read comes back as an error"),
    (
        G,
        "*",
        "response/tools.json +/usageMetadata/promptTokenCount",
        "what tools added is counted with the prompt",
    ),
    (
        G,
        "*",
        "response/tools.json -/usageMetadata/promptTokenCount",
        "what tools added is counted with the prompt",
    ),
    (
        G,
        "*",
        "response/tools.json -/usageMetadata/toolUsePromptTokenCount",
        "what tools added is counted with the prompt",
    ),
    (G, A, "+/generationConfig/maxOutputTokens", "a request must have a limit"),
    (
        G,
        A,
        "request/full.json +/generationConfig/responseJsonSchema/additionalProperties",
        "an answer's objects are closed",
    ),
    (G, A, "-/toolConfig/functionCallingConfig/allowedFunctionNames[]", "the other tools are not offered"),
    (G, A, "response/error-context.json +/error/message", "clients look for `prompt is too long`"),
    (G, A, "response/error-context.json -/error/message", "clients look for `prompt is too long`"),
    (
        G,
        "*",
        "request/full.json +/contents[]/parts[]/inlineData/*",
        "it stands in a user message after the results",
    ),
    (G, "*", "request/full.json +/contents[]/parts[]/text", "it stands in a user message after the results"),
    (
        G,
        "*",
        "request/full.json -/contents[]/parts[]/functionResponse/parts[]/*",
        "it stands in a user message after the results",
    ),
    (
        G,
        "kimi",
        "request/server.json +/generationConfig/thinkingConfig/includeThoughts",
        "Kimi shows its thoughts unasked",
    ),
    (G, R, "+/store", "an answer is kept there unless it is said not to be"),
    (G, R, "+/usageMetadata/cachedContentTokenCount", "an answer must have numbers, and zeros come back"),
    (G, R, "+/usageMetadata/thoughtsTokenCount", "an answer must have numbers, and zeros come back"),
    (G, R, "stream/malformed.sse +/error/status", "a code that Responses does not know has no class there"),
    (G, R, "stream/malformed.sse -/error/status", "a code that Responses does not know has no class there"),
    (R, G, "-/instructions", "they come back as the first message of the system"),
    (R, G, "request/full.json +/input[]/output", "texts of one result are joined"),
    (R, G, "request/full.json -/input[]/output[]/*", "texts of one result are joined"),
    (R, G, "request/full.json +/tool_choice/tools[]/type", "a plain text stands as a function's only member"),
    (R, G, "request/full.json -/tool_choice/tools[]/type", "a plain text stands as a function's only member"),
    (R, G, "response/incomplete.json +/output[]/status", "a call that was cut off shows in its arguments"),
    (R, G, "response/incomplete.json -/output[]/status", "a call that was cut off shows in its arguments"),
    (R, G, "response/refusal.json *", "Gemini declines in plain text, and says that a filter stopped it"),
    (R, G, "stream/refusal.sse *", "Gemini declines in plain text, and says that a filter stopped it"),
    // Values that Gemini has no place for.
    (A, G, "request/full.json +/messages[]/content[]/*", "a system message between others is marked text"),
    (
        A,
        G,
        "request/full.json -/messages[]/content[]/type",
        "the tag of thinking, which is lost on the way back",
    ),
    (A, G, "request/full.json ~/messages[]/content[]/type", "a system message between others is marked text"),
    (
        A,
        G,
        "request/orphans.json +/messages[]/content[]/is_error",
        "a call without a result gets one that says so",
    ),
    (
        A,
        G,
        "request/orphans.json ~/messages[]/content[]/type",
        "the result that was made stands before the others",
    ),
    (A, G, "response/error-context.json +/error/message", "clients look for words about tokens"),
    (A, G, "response/error-context.json -/error/message", "clients look for words about tokens"),
    (A, G, "/usage/input_tokens", "what was written to the cache is counted as input"),
    (A, G, "/usage/cache_creation_input_tokens", "what was written to the cache is counted as input"),
    (C, G, "request/full.json +/messages[]/content[]/*", "a system message between others is marked text"),
    (C, G, "request/full.json ~/messages[]/content[]/type", "a system message between others is marked text"),
    (
        C,
        G,
        "request/media.json +/messages[]/tool_calls[]/*",
        "a plain text stands as a function's only member",
    ),
    (
        C,
        G,
        "request/media.json -/messages[]/tool_calls[]/*",
        "a plain text stands as a function's only member",
    ),
    (C, G, "request/media.json +/tools[]/*", "a plain text stands as a function's only member"),
    (C, G, "request/media.json -/tools[]/*", "a plain text stands as a function's only member"),
    (C, G, "request/replay.json -/messages[]/content[]/*", "an empty text is left out"),
    (C, G, "response/error-context.json +/error/message", "clients look for words about tokens"),
    (C, G, "response/error-context.json -/error/message", "clients look for words about tokens"),
    (C, G, "response/error-quota.json +/error/type", "a lack of money has no word of its own"),
    (C, G, "response/error-quota.json -/error/type", "a lack of money has no word of its own"),
    (C, G, "response/refusal.json +/choices[]/message/content[]/*", "Gemini declines in plain text"),
    (C, G, "response/refusal.json -/choices[]/message/refusal", "Gemini declines in plain text"),
    (
        C,
        G,
        "response/tools.json +/choices[]/message/tool_calls[]/function/arguments",
        "`{}` is how no arguments are said",
    ),
    (
        C,
        G,
        "response/tools.json -/choices[]/message/tool_calls[]/function/arguments",
        "`{}` is how no arguments are said",
    ),
    (C, G, "stream/cut.sse -/error/code", "the code is ours: nobody said that the stream was cut"),
    (G, A, "stream/empty.sse +/usageMetadata/*", "Anthropic insists on counts, and the 0 is noted"),
    (C, A, "stream/empty.sse +/usage/*", "Anthropic insists on counts, and the 0 is noted"),
    (R, A, "stream/empty.sse +/usage/*", "Anthropic insists on counts, and the 0 is noted"),
];

const A: &str = "anthropic";
const C: &str = "openai-chat";
const G: &str = "gemini";
const R: &str = "openai-responses";

#[test]
fn real_logs_come_back_and_stay_small() {
    let Some(corpus) = std::env::var_os("INTERLINGUA_CORPUS") else { return };
    let mut law = Law::new("real log -> record -> log: the same bytes, the record at most 1.3x the size");
    let mut folders = vec![std::path::PathBuf::from(corpus)];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("listed").path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            if path.extension().is_none_or(|extension| extension != "jsonl") {
                continue;
            }
            let bytes = std::fs::read(&path).expect("readable");
            let head = &bytes[..bytes.len().min(interlingua::sniff::HEAD)];
            let Some(guess) = interlingua::sniff::sniff(head, head.len() == bytes.len()) else { continue };
            let way = (guess.dialect, guess.role);
            if way.0.plane != Plane::Log || way.1 != Role::Log || !can_write(way) {
                continue;
            }
            let name = path.display().to_string();
            let out = restores(&mut law, &name, way, &bytes);
            let percent = out.len() * 100 / bytes.len().max(1);
            law.holds(percent <= 130 || bytes.len() < 16 << 10, || {
                format!("{name}: the record has {percent} % of the size")
            });
        }
    }
    law.end();
}

// ---- Order is sound --------------------------------------------------------------------------------------------------

#[test]
fn events_come_in_order() {
    let mut law = Law::new("start < delta < completed, once each, inside what is open");
    for case in fixtures_and_ours() {
        let (seen, report) = watch(case.way, &case.bytes, Look::Order);
        law.holds(seen.breaches.is_empty(), || format!("{case}: {:?}", seen.breaches));
        let refused: Vec<_> =
            report.problems.iter().filter(|problem| problem.code == Code::Lifecycle).collect();
        law.holds(refused.is_empty(), || format!("{case}: the reader spoke out of order: {refused:?}"));
        law.holds(report.adds_up(), || format!("{case}: {}", counts(&report)));
        if let Some((_, _, why)) = RESULTS_WITHOUT_CALLS
            .iter()
            .find(|(dialect, name, _)| case.way.0.name == *dialect && case.name.ends_with(name))
        {
            law.holds(!seen.orphans.is_empty(), || format!("{case}: no longer excused: {why}"));
        } else if !case.is_derived() {
            law.holds(seen.orphans.is_empty(), || {
                format!("{case}: results without a call: {:?}", seen.orphans)
            });
        }
    }
    law.end();
}

/// Fixtures whose tool results belong to calls of another file: dialect, end of the path, reason.
const RESULTS_WITHOUT_CALLS: &[(&str, &str, &str)] =
    &[("anthropic", "request/orphans.json", "shows what becomes of a result without a call")];

#[test]
fn any_chunking_gives_the_same_bytes_and_the_same_report() {
    let mut law = Law::new("chunks of any size: same bytes, same report");
    let broken = on_two_threads(&fixtures_and_ours(), |case| {
        let mut broken = Vec::new();
        for (number, to) in targets(case).into_iter().enumerate() {
            let whole = convert(case.way, to, &case.bytes);
            let again = convert(case.way, to, &case.bytes);
            if again != whole {
                broken.push(format!("{case} -> {}: twice is not once", to.0.name));
            }
            // Chunks are joined independently of the target: all sizes are tested with one target, some with each of
            // the others.
            let sizes = [1, 2, 3, 7, 64, 333].into_iter().enumerate();
            let turn = number + case.bytes.len();
            let is_tried = |at: usize| full() || is_main(case, to) || (at + turn).is_multiple_of(3);
            for (_, size) in sizes.filter(|(at, _)| is_tried(*at)) {
                let out = convert_pieces(case.way, to, case.bytes.chunks(size));
                if out != whole {
                    let how = first_difference(&whole.bytes, &out.bytes);
                    broken.push(format!("{case} -> {} in chunks of {size}: {how}", to.0.name));
                }
            }
            // An empty chunk is not the end of the input.
            let pieces = case.bytes.chunks(41).flat_map(|piece| [&[][..], piece]);
            if convert_pieces(case.way, to, pieces) != whole {
                broken.push(format!("{case} -> {}: empty chunks change it", to.0.name));
            }
        }
        broken
    });
    law.gather(broken);
    law.end();
}

#[test]
fn every_cut_gives_the_same_bytes_and_the_same_report() {
    let mut law = Law::new("cut in two at any byte: same bytes, same report");
    let broken = on_two_threads(&fixtures_and_ours(), |case| {
        let mut broken = Vec::new();
        let others = other_targets(case);
        for (number, &to) in others.iter().enumerate() {
            let whole = convert(case.way, to, &case.bytes);
            let mut check = |how: &str, out: &Outcome| {
                if *out != whole {
                    let difference = first_difference(&whole.bytes, &out.bytes);
                    broken.push(format!("{case} -> {} {how}: {difference}", to.0.name));
                }
            };
            // Chunks with every possible offset: every position is a cut in one of these runs, with the main target and
            // with one other target.
            let is_tried = |offset: usize| full() || is_main(case, to) || offset % others.len() == number;
            for offset in (0..CHUNK).filter(|offset| is_tried(*offset)) {
                let (first, rest) = case.bytes.split_at(offset.min(case.bytes.len()));
                let pieces = std::iter::once(first).chain(rest.chunks(CHUNK));
                check(
                    &format!("cut at {offset} and each {CHUNK}th byte"),
                    &convert_pieces(case.way, to, pieces),
                );
            }
            // Single cuts, as far as time allows.
            let budget = if is_main(case, to) && !case.is_derived() { SOME } else { FEW };
            for cut in places(case.bytes.len(), budget, number) {
                let (a, b) = case.bytes.split_at(cut);
                check(&format!("cut at {cut}"), &convert_pieces(case.way, to, [a, b]));
            }
        }
        broken
    });
    law.gather(broken);
    law.end();
}

#[test]
fn a_source_that_stops_anywhere_still_adds_up_in_order() {
    let mut law = Law::new("truncated at any byte: adds up, ends in order");
    let broken = on_two_threads(&fixtures_and_ours(), |case| {
        let mut broken = Vec::new();
        for end in ends(case) {
            let (seen, report) = watch(case.way, &case.bytes[..end], Look::Order);
            if !seen.breaches.is_empty() || !report.adds_up() {
                broken.push(format!("{case} up to {end}: {:?}, {}", seen.breaches, counts(&report)));
                break;
            }
            if let Some(how) = report.problems.iter().find(|problem| problem.code == Code::Lifecycle) {
                broken.push(format!("{case} up to {end}: the reader spoke out of order: {how:?}"));
                break;
            }
        }
        for (number, to) in targets(case).into_iter().enumerate() {
            for end in places(case.bytes.len(), FEW, number) {
                let report = convert(case.way, to, &case.bytes[..end]).report;
                if !report.adds_up() {
                    broken.push(format!("{case} up to {end} -> {}: {}", to.0.name, counts(&report)));
                    break;
                }
            }
        }
        broken
    });
    law.gather(broken);
    law.end();
}

#[test]
fn mutated_input_never_panics_and_still_adds_up() {
    let mut law = Law::new("mutated input: no panic, adds up, in order, same in pieces");
    let rounds = if full() { 5_000 } else { 100 };
    let cases: Vec<Case> = fixtures_and_ours().into_iter().filter(is_asked).collect();
    let broken = on_two_threads(&cases, |case| {
        let mut broken = Vec::new();
        let number = case.name.bytes().fold(7usize, |sum, byte| sum.wrapping_mul(31) + usize::from(byte));
        for round in 0..rounds {
            let seed = number.wrapping_add(round) as u64;
            let bytes = mutate(&case.bytes, &mut Dice::new(seed));
            // Each mutation is different for the reader; each target is tested with some of them.
            let targets = targets(case).into_iter().enumerate();
            for (_, to) in targets.filter(|(number, _)| full() || (number + round).is_multiple_of(MUTATED)) {
                let run = catch_unwind(AssertUnwindSafe(|| {
                    let whole = convert(case.way, to, &bytes);
                    let pieces = convert_pieces(case.way, to, bytes.chunks(97 + round));
                    (whole.report.adds_up(), pieces == whole, counts(&whole.report))
                }));
                match run {
                    Ok((true, true, _)) => {}
                    Ok((_, same, counts)) => broken.push(format!(
                        "{case}, mutation {seed} -> {}: {counts}, same in pieces: {same}",
                        to.0.name
                    )),
                    Err(_) => broken.push(format!("{case}, mutation {seed} -> {}: panic", to.0.name)),
                }
            }
            match catch_unwind(AssertUnwindSafe(|| watch(case.way, &bytes, Look::Order))) {
                Ok((watched, _)) if watched.breaches.is_empty() => {}
                Ok((watched, _)) => broken.push(format!("{case}, mutation {seed}: {:?}", watched.breaches)),
                Err(_) => broken.push(format!("{case}, mutation {seed}: panic while reading")),
            }
        }
        broken
    });
    law.gather(broken);
    law.end();
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: if full() { 4096 } else { 256 },
        // Fixed cases, unless the long form is requested.
        rng_seed: if full() { RngSeed::Random } else { RngSeed::Fixed(1) },
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn arbitrary_bytes_never_panic_and_still_add_up(
        bytes in proptest::collection::vec(any::<u8>(), 0..600),
        size in 1usize..64,
    ) {
        every_way(&bytes, size);
    }

    #[test]
    fn known_words_in_any_order_never_panic_still_add_up_and_come_back(
        bytes in proptest::collection::vec(any::<u8>(), 0..500),
        size in 1usize..64,
    ) {
        let document = document(&bytes);
        every_way(&document, size);
        comes_back(&document);
    }
}

// ---- Helpers and regressions -----------------------------------------------------------------------------------------

#[test]
fn a_stream_cut_off_before_it_said_anything_still_adds_up() {
    every_way(b"data: null\n\ndata: {\"choices\":[null]}", 1);
}

/// Converts between any two dialects and roles of the same kind.
fn every_way(bytes: &[u8], size: usize) {
    for &dialect in interlingua::dialects::DIALECTS {
        for spec in dialect.roles.iter().filter(|spec| spec.read.is_some()) {
            let case = Case {
                way: (dialect, spec.role),
                name: String::new(),
                path: std::path::PathBuf::new(),
                bytes: bytes.to_vec(),
                made_from: Some((dialect, spec.role)),
            };
            for to in targets(&case) {
                let whole = convert(case.way, to, bytes);
                assert!(whole.report.adds_up(), "{case} -> {}: {}", to.0.name, counts(&whole.report));
                assert!(convert_pieces(case.way, to, bytes.chunks(size)) == whole, "{case} -> {}", to.0.name);
            }
        }
    }
}

/// Any input, read as a log, can be written to a record and restored, with no hole left unfilled.
fn comes_back(bytes: &[u8]) {
    for &dialect in interlingua::dialects::DIALECTS {
        let way = (dialect, Role::Log);
        if dialect.plane != Plane::Log || !can_read(way) || !can_write(way) {
            continue;
        }
        let out = convert(way, record(), bytes);
        let back = convert(record(), way, &out.bytes);
        assert!(back.bytes == bytes, "{}: {}", dialect.name, first_difference(bytes, &back.bytes));
        assert!(out.report.lost == 0, "{}: {:?}", dialect.name, out.report.lost_paths);
        let holes = back.report.problems.iter().any(|problem| problem.code == Code::UnfilledHole);
        assert!(!holes, "{}: a hole is left open: {:?}", dialect.name, back.report.problems);
    }
}

/// The distance of cuts where every position is tested.
const CHUNK: usize = 97;

/// Each target is tested with one of this many mutations.
const MUTATED: usize = 4;

/// The bytes that one fixture may convert in one test, and with one target.
const SOME: usize = 16 << 20;
const FEW: usize = 256 << 10;

/// Positions in a text of that length: all while they cost less than `budget`, else evenly spread, and different for
/// each number.
fn places(length: usize, budget: usize, number: usize) -> impl Iterator<Item = usize> {
    let step = if full() { 1 } else { (length * length).div_ceil(budget).max(1) };
    // An even step would hit the same byte of every two-byte pair.
    let step = if step == 1 { 1 } else { step | 1 };
    // Seven has no common divisor with most steps.
    (number * 7 % step..=length).step_by(step)
}

/// Positions where a source may stop. Positions within a line are equivalent, so long lines are not tested at every
/// byte; but all positions around a line end are, where a frame may be complete without being recognised as complete.
fn ends(case: &Case) -> Vec<usize> {
    let bytes = &case.bytes;
    if !is_asked(case) {
        return vec![bytes.len()];
    }
    let near = |end: usize| bytes[end.saturating_sub(3)..(end + 3).min(bytes.len())].contains(&b'\n');
    let all = full() || bytes.len() <= 4 << 10;
    let mut ends: Vec<usize> =
        places(bytes.len(), if case.is_derived() { SOME / 4 } else { SOME }, 0).collect();
    ends.extend((0..=bytes.len()).filter(|end| all || near(*end)));
    ends.push(bytes.len());
    ends.sort_unstable();
    ends.dedup();
    ends
}

fn is_main(case: &Case, to: Way) -> bool {
    main_target(case).is_some_and(|main| same(main, to))
}

fn restores(law: &mut Law, name: &str, way: Way, bytes: &[u8]) -> Vec<u8> {
    let out = convert(way, record(), bytes);
    let back = convert(record(), way, &out.bytes);
    law.holds(back.bytes == bytes, || format!("{name}: {}", first_difference(bytes, &back.bytes)));
    law.holds(out.report.lost == 0 && out.report.adds_up(), || {
        format!("{name}: {} {:?}", counts(&out.report), out.report.lost_paths)
    });
    law.holds(back.report.adds_up(), || format!("{name}, back: {}", counts(&back.report)));
    out.bytes
}

fn counts(report: &Report) -> String {
    let Report { leaves, mapped, kept, lost, .. } = report;
    format!("{leaves} leaves, {mapped} mapped, {kept} kept, {lost} lost")
}

/// Passes each leaf and the fixture with that leaf changed. Frames that are not literally in the source (the head of a
/// document cut into elements) are skipped.
fn each_leaf(
    case: &Case,
    frames: &[crate::support::watch::SeenFrame],
    visit: &mut dyn FnMut(&crate::support::watch::SeenLeaf, &[u8]),
) {
    let mut from = 0;
    let mut number = 0usize;
    let all: usize = frames.iter().map(|frame| frame.leaves.len()).sum();
    // The cost limit of one fixture.
    let step = if full() { 1 } else { (all * case.bytes.len()).div_ceil(SOME) };
    for frame in frames {
        let text = frame.text.as_bytes();
        let Some(at) = find(&case.bytes[from..], text) else { continue };
        let start = from + at;
        from = start + text.len();
        for leaf in &frame.leaves {
            number += 1;
            if !number.is_multiple_of(step) {
                continue;
            }
            let value = perturb(&frame.text[leaf.span.clone()], leaf.kind);
            let mut other = case.bytes[..start + leaf.span.start].to_vec();
            other.extend_from_slice(value.as_bytes());
            other.extend_from_slice(&case.bytes[start + leaf.span.end..]);
            visit(leaf, &other);
        }
    }
}
