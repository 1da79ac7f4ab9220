//! The laws of the ledger, for every fixture, for its conversion to our own dialects, and for every target of the
//! command line: the fate that the ledger records for a leaf is its actual fate, and a writer's support table is
//! correct for each field.
//!
//! A breach names the dialects, the path or field, and a fixture. An excuse is in a table with its reason, and fails
//! when no breach needs it any more.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use crate::support::books::{Breach, Excuse, MADE_OF_A_KEPT_LINE, Source, judge};
use crate::support::canary::{EXCUSES as CANARIES, canary_law, plant};
use crate::support::leaves::{Words, counting_law, leaf_law, nothing_law};
use crate::support::readers::{naming_law, reader_law};
use crate::support::said::said_law;
use crate::support::tamper::writer_law;
use crate::support::{
    Case, Sample, Way, all_targets, fixtures_and_ours, full, on_two_threads, other_law_targets, share,
};

#[test]
fn a_leaf_that_is_mapped_or_kept_shows_in_the_output() {
    let words = Words::of(&SOURCES);
    let breaches = everywhere(|sources, to| {
        let mut sample = sample(sources, 9);
        in_each(sources, |source| {
            sample.next_file();
            leaf_law(source, to, &words, &mut sample)
        })
    });
    judge(CASES.len(), breaches, LEAVES);
}

#[test]
fn a_claimed_leaf_matters_to_the_events() {
    let words = Words::of(&SOURCES);
    let breaches = share(&kinds(), length, |sources| {
        let mut sample = sample(sources, 9);
        in_each(sources, |source| {
            sample.next_file();
            reader_law(source, &words, &mut sample)
        })
    });
    judge(CASES.len(), breaches.into_iter().flatten().collect(), CLAIMED_IN_VAIN);
}

#[test]
fn a_leaf_is_claimed_for_the_field_that_it_becomes() {
    judge(CASES.len(), CASES.iter().flat_map(naming_law).collect(), NAMED_OTHERWISE);
}

#[test]
fn what_a_table_says_of_a_field_is_so() {
    let breaches = everywhere(|sources, to| {
        // A field occurs in many places, so all files are tested.
        let mut sample = sample(sources, usize::MAX);
        in_each(sources, |source| {
            sample.next_file();
            if source.case.is_restored_by(to) { Vec::new() } else { writer_law(source.case, to, &mut sample) }
        })
    });
    judge(CASES.len(), breaches, TABLES);
}

#[test]
fn counts_rows_and_trace_agree() {
    let breaches = everywhere(|sources, to| in_each(sources, |source| counting_law(source, to)));
    judge(CASES.len(), breaches, &[]);
}

#[test]
fn an_output_that_says_nothing_says_that_all_is_lost() {
    let breaches = everywhere(|sources, to| in_each(sources, |source| nothing_law(source.case, to)));
    judge(CASES.len(), breaches, &[]);
}

#[test]
fn a_canary_is_in_the_output_or_its_leaf_is_lost() {
    let breaches = share(
        &SOURCES,
        |source| source.case.bytes.len(),
        |source| {
            let planted = plant(source);
            let targets = other_law_targets(source.case);
            planted
                .iter()
                .flat_map(|planted| targets.iter().flat_map(|to| canary_law(planted, *to)))
                .collect()
        },
    );
    judge(CASES.len(), breaches.into_iter().flat_map(|found: Vec<Breach>| found).collect(), CANARIES);
}

#[test]
fn who_said_what_is_the_same_when_it_is_read_again() {
    let breaches = everywhere(|sources, to| in_each(sources, |source| said_law(source.case, to)));
    judge(CASES.len(), breaches, SAID_OTHERWISE);
}

/// The inputs of the laws.
static CASES: LazyLock<Vec<Case>> = LazyLock::new(fixtures_and_ours);
static SOURCES: LazyLock<Vec<Source<'static>>> = LazyLock::new(|| on_two_threads(&CASES, Source::of));

/// Similar sources: fixtures of one dialect and role, or their conversions to one of our own dialects.
type Alike = Vec<&'static Source<'static>>;

fn kinds() -> Vec<Alike> {
    let mut kinds: BTreeMap<_, Alike> = BTreeMap::new();
    for source in SOURCES.iter() {
        let name = |way: Way| (way.0.name, way.1.word());
        let kind = (name(source.case.way), source.case.made_from.map(name));
        kinds.entry(kind).or_default().push(source);
    }
    kinds.into_values().collect()
}

/// Tests each group of sources with each of its targets.
fn everywhere(law: impl Fn(&[&'static Source<'static>], Way) -> Vec<Breach> + Sync) -> Vec<Breach> {
    let kinds = kinds();
    let pairs: Vec<(&Alike, Way)> = kinds
        .iter()
        .flat_map(|kind| other_law_targets(kind[0].case).into_iter().map(move |to| (kind, to)))
        .collect();
    let found = share(&pairs, |(kind, _)| length(kind), |(kind, to)| law(kind, *to));
    found.into_iter().flatten().collect()
}

fn in_each(
    sources: &[&'static Source<'static>],
    law: impl FnMut(&'static Source<'static>) -> Vec<Breach>,
) -> Vec<Breach> {
    sources.iter().copied().flat_map(law).collect()
}

fn length(kind: &Alike) -> usize {
    kind.iter().map(|source| source.case.bytes.len()).sum()
}

/// How many leaves of a class are tested per file and in all files: fewer for converted sources than for fixtures.
fn sample<C: Ord>(sources: &[&Source<'_>], in_all: usize) -> Sample<C> {
    if full() {
        return Sample::new(usize::MAX, usize::MAX);
    }
    let is_derived = sources.first().is_some_and(|source| source.case.is_derived());
    match (all_targets(), is_derived) {
        (true, false) => Sample::new(3, in_all),
        (true, true) => Sample::new(1, 4),
        (false, false) => Sample::new(1, in_all / 3),
        (false, true) => Sample::new(1, 1),
    }
}

// ---- Exceptions of a law: from, to, end of the path or field, reason -------------------------------------------------

/// The digest of a source is no event: the pipe compares it with the log that is restored. Tests of restored records change
/// each member.
const OF_THE_SOURCE: &str = "describes the source as a whole, and is compared with the restored log";

/// Leaves that a reader claims although they do not affect any event.
const CLAIMED_IN_VAIN: &[Excuse] = &[
    ("record*", "*", "/session/vendor-ext/data/source/bytes", OF_THE_SOURCE),
    ("record*", "*", "/session/vendor-ext/data/source/dialect", OF_THE_SOURCE),
    ("record*", "*", "/session/vendor-ext/data/source/records", OF_THE_SOURCE),
];

/// Leaves that become a different field than they are claimed for.
const NAMED_OTHERWISE: &[Excuse] = &[];

const LEAVES: &[Excuse] = &[
    ("record*", "*", "/session/vendor-ext/data/source/bytes", OF_THE_SOURCE),
    ("record*", "*", "/session/vendor-ext/data/source/dialect", OF_THE_SOURCE),
    ("record*", "*", "/session/vendor-ext/data/source/records", OF_THE_SOURCE),
    ("record*", "gemini-cli", "/session/session-end", "follows from the documents given back"),
    ("record*", "opencode", "/session/session-end", "follows from the documents given back"),
    (
        "record*",
        "*",
        "/session/vendor-ext/data/unrecorded",
        "a constant of the reader, which follows from the dialect of the kept frames",
    ),
    ("record*", "opencode", "/children[]/is-error", "follows from the status in the document given back"),
    ("record", "opencode", "/children[]/duration", "follows from the times in the document given back"),
    (
        "record-v2",
        "opencode",
        "/children[]/vendor-ext/data/said/duration",
        "follows from the times in the document given back",
    ),
    ("record*", "*", "/vendor-ext/vendor", "whose line is kept; the line has a fate of its own"),
    (
        "record",
        "*",
        "/vendor-ext/space[][]",
        "what stands around a kept line; the line has a fate of its own",
    ),
    (
        "record*",
        "codex",
        "/is-error",
        "follows from the text of the result, or from an event; both are given back",
    ),
    (
        "record*",
        "codex",
        "/files[]/action",
        "follows from the patch, in the call or in an event; both are given back",
    ),
    ("record*", "codex", "/event-type", "the head of the oldest logs has no type"),
    ("record-v2", "amp", "/files[]/action", "follows from the change that is given back"),
    ("record*", "amp", "/event-type", "what stands around the messages has no word of its own"),
    ("record*", "cline", "/event-type", "what stands around the messages has no word of its own"),
    ("record*", "goose", "/event-type", "what stands around the messages has no word of its own"),
    ("record*", "goose", "/children[]/is-error", "follows from the status in the message given back"),
    ("cline", "opencode", "/ts", "a result stands with its call and has the call's time"),
    ("goose", "opencode", "/created", "a result stands with its call and has the call's time"),
    ("record", "amp", "/children[]/files[]/action", "follows from the change that is given back"),
    ("record*", "gemini-cli", "/is-error", "follows from the outcome in the line that is given back"),
    ("record*", "gemini-cli", "/files[]/action", "follows from the line that is given back"),
    ("record*", "qwen-code", "/files[]/action", "follows from the line that is given back"),
    ("*", "claude-code", "/files[]/diff", MADE_OF_A_KEPT_LINE),
    ("*", "claude-code", "/files[]/action", MADE_OF_A_KEPT_LINE),
    ("*", "claude-code", "/duration", MADE_OF_A_KEPT_LINE),
    ("*", "claude-code", "/data/after", MADE_OF_A_KEPT_LINE),
    ("*", "claude-code", "/token-usage/response-id", MADE_OF_A_KEPT_LINE),
    ("*", "codex", "/duration", "follows from the text of the result, which is given back"),
    ("record", "*", "/children[]/part", "which part it is: only the order of parts is said"),
    ("record", "*", "/content[]/part", "which part it is: only the order of parts is said"),
    (
        "record-v2",
        "*",
        "/vendor-ext/data/space[][]",
        "what stands around a kept line; the line has a fate of its own",
    ),
    (
        "record-v2",
        "*",
        "/children[]/vendor-ext/data/said/part",
        "which part it is: only the order of parts is said",
    ),
    ("record-v2", "*", "/children[]/content[]/part", "which part it is: only the order of parts is said"),
    ("universal", "*", "/data/part", "which part it is: only the order of parts is said"),
    ("universal", "*", "/data/preceding[]/part", "which part it is: only the order of parts is said"),
    ("*", "kimi-cli", "files[]/action", "the line given back has the file before and after"),
    ("*", "kimi-cli", "files[]/diff", "the line given back has the file before and after"),
    ("*", "kimi-code", "files[]/action", "the line given back has the file before and after"),
    ("*", "kimi-code", "files[]/diff", "the line given back has the file before and after"),
    ("*", "kimi-cli", "/is-error", "a failure that is said in words is said so already"),
    ("universal", "kimi-cli", "/data/item/is_error", "a failure that is said in words is said so already"),
    (
        "opencode-events",
        "codex",
        "/info/time/created",
        "a message of only calls has no line, and its calls have times of their own",
    ),
];

const TABLES: &[Excuse] = &[
    (
        "*",
        "*",
        "compaction/summary",
        "the history stage before the writer makes it a message; this law hands events to the writer",
    ),
    ("goose", "opencode", "item/time", "a result stands with its call and has the call's time"),
    ("crush", "opencode", "item/time", "a result stands with its call and has the call's time"),
    ("*", "cline", "item/time", "the made-up id of a session follows from the time of its first item"),
    ("*", "amp", "item/time", "a thread begins with its first item, if nobody tells when it began"),
    ("*", "amp", "event/time", "a thread begins with its first item, if nobody tells when it began"),
    ("opencode", "universal", "item/status", "how reasoning within a message ended is the reader's own word"),
    (
        "openai-responses",
        "gemini",
        "item/status",
        "that a call was cut off shows in its arguments, which are no object",
    ),
    (
        "anthropic",
        "universal",
        "item/status",
        "how reasoning within a message ended is the reader's own word",
    ),
    ("amp", "universal", "item/status", "how reasoning within a message ended is the reader's own word"),
    ("record*", "universal", "item/status", "how reasoning within a message ended is the reader's own word"),
    (
        "copilot-cli",
        "*",
        "call/kind",
        "no leaf: a call of an MCP server has no type, and is read as one of a function",
    ),
    ("kimi", "gemini", "request/tool/kind", "no leaf: the type of a builtin tool names it, and is booked"),
    (
        "kimi",
        "openai-chat+",
        "request/tool/kind",
        "no leaf: the type of a builtin tool names it, and is booked",
    ),
    (
        "kimi",
        "openai-responses",
        "request/tool/kind",
        "the vendor's own search is the target's own there, whoever runs it",
    ),
    (
        "kimi",
        "anthropic",
        "request/tool/kind",
        "the vendor's own search is the target's own there, whoever runs it",
    ),
    (
        "gemini-cli",
        "universal",
        "item/status",
        "how reasoning within a message ended is the reader's own word",
    ),
    (
        "universal",
        "record*",
        "event/time",
        "the time of an event without an entry of its own stays in its line",
    ),
    ("*", "kimi-cli", "result/is_error", "a failure that is said in words is said so already"),
];

const SAID_OTHERWISE: &[Excuse] = &[
    ("*", "acp", "call/args", "a permission request completes a call that was announced without arguments"),
    ("universal", "acp", "call/name", "a tool's group has no place"),
    (
        "universal",
        "acp",
        "result/text",
        "a JSON value beside a text is the agent's raw output, which is not read again",
    ),
    (
        "kimi-stream",
        "*",
        "turn/stop",
        "the end of Kimi CLI's output ends the turn, and is no leaf to be lost",
    ),
    ("cursor-stream", "*", "call/name", "the name of a member names the tool, and is no leaf to be lost"),
    ("*", "opencode", "result/text", "a result stands with its call, and calls in their order"),
    ("opencode*", "universal", "message/text User", "words of the program in a message end before it does"),
    ("record*", "universal", "message/text User", "words of the program in a message end before it does"),
    (
        "*",
        "codex",
        "message/text Assistant",
        "several texts are one in Codex's echo, which is not known again where it comes first",
    ),
    ("*", "gemini-cli", "result/text", "what came of calls stands beside them, in their order"),
    ("openai-responses", "openai-chat+", "message/text User", "says which result a picture belongs to"),
    ("openai-responses", "openai-chat+", "result/text", "says where the picture of a result stands"),
    ("openai-responses", "anthropic", "call/args", "arguments that were cut off are no object"),
    ("openai-responses", "anthropic", "message/text System", "asks for JSON in words"),
    ("anthropic", "openai-responses", "result/text", "says that a call has no result"),
    ("gemini", "openai-chat+", "message/text User", "says which result a picture belongs to"),
    ("gemini", "openai-chat+", "result/text", "says where the picture of a result stands"),
    ("gemini", "*", "call/name", "code that the provider ran has no name that could be lost"),
    ("gemini", "openai-chat", "turn/stop", "a filter that says why reads as a refusal"),
    ("anthropic", "gemini", "result/text", "a call without a result gets one that says so"),
    ("anthropic", "gemini", "usage/input", "what was written to the cache is counted as input"),
    ("openai-responses", "gemini", "call/args", "arguments that are cut off are no object, and stand in one"),
    ("openai-responses", "gemini", "usage/input", "what was written to the cache is counted as input"),
    ("openai-chat", "gemini", "usage/input", "what was written to the cache is counted as input"),
    ("openai-chat", "gemini", "call/args", "arguments that are cut off are no object, and stand in one"),
    ("anthropic", "openai-chat+", "message/text User", "says which result a picture belongs to"),
    ("anthropic", "openai-chat+", "result/text", "says where the picture of a result stands"),
];
