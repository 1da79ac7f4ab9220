//! A test of the tests: dialects with a deliberate mistake, each of which a law must detect. Each mutant names the
//! expected law; findings that the real dialect has as well do not count.

#![allow(clippy::expect_used, reason = "a test stops at the first surprise")]

use std::collections::BTreeSet;

use crate::support::books::{Breach, Source};
use crate::support::canary::{CANARY, canary_law, plant};
use crate::support::leaves::{LEAF, Words, counting_law, leaf_law, nothing_law};
use crate::support::mutants::{
    Forgetful, Memory, Mutation, boasts, mutant_reader, mutant_table, mutant_writer, write_spec,
};
use crate::support::readers::{READER, naming_law, reader_law};
use crate::support::said::{SAID, said_law};
use crate::support::tamper::{WRITER, writer_law};
use crate::support::there_and_back::{BACK, there_and_back_law};
use crate::support::{Case, Sample, Way, can_read, convert, fixtures};
use interlingua::dialects::{Dialect, Plane, Role};
use interlingua::json::Str;
use interlingua::ledger::Reason;
use interlingua::model::{
    Author, Delta, Event, Field, ItemHead, ItemKind, ItemKindTag, Part, StopClass, Support,
};

// ---- Writers that drop a value ---------------------------------------------------------------------------------------

struct DropsResults;

impl Mutation for DropsResults {
    const OF: (&'static str, Role) = ("claude-code", Role::Log);

    fn edit<'a>(memory: &mut Memory, event: Event<'a>) -> Option<Event<'a>> {
        (memory.of(&event) != Some(ItemKindTag::Result)).then_some(event)
    }
}

#[test]
fn a_writer_that_drops_every_tool_result_is_caught() {
    let way = mutant_writer::<DropsResults>();
    caught("codex", "2026-11/functions.jsonl", way, &[LEAF, WRITER, CANARY, SAID]);
    caught("claude-stream", "2026-11/control.jsonl", way, &[LEAF, WRITER, CANARY, SAID]);
}

struct DropsLaterTexts;

impl Mutation for DropsLaterTexts {
    const OF: (&'static str, Role) = ("claude-code", Role::Log);

    fn edit<'a>(memory: &mut Memory, event: Event<'a>) -> Option<Event<'a>> {
        if let Event::ItemDelta(Delta { item, value: Part::Text(_), .. }) = &event {
            let texts = memory.texts.entry(*item).or_default();
            *texts += 1;
            return (*texts < 2).then_some(event);
        }
        Some(event)
    }
}

#[test]
fn a_writer_that_drops_one_part_of_several_is_caught() {
    let way = mutant_writer::<DropsLaterTexts>();
    caught("codex", "2026-11/code-mode.jsonl", way, &[LEAF, WRITER, CANARY, SAID]);
}

struct DropsState;

impl Mutation for DropsState {
    const OF: (&'static str, Role) = ("universal", Role::Live);

    fn edit<'a>(_: &mut Memory, event: Event<'a>) -> Option<Event<'a>> {
        (!matches!(event, Event::ItemDelta(Delta { value: Part::Opaque(_), .. }))).then_some(event)
    }
}

#[test]
fn a_writer_that_drops_signatures_or_encrypted_state_is_caught() {
    let way = mutant_writer::<DropsState>();
    caught("claude-code", "2026-11/tools.jsonl", way, &[LEAF, WRITER, CANARY]);
    caught("codex", "2026-11/functions.jsonl", way, &[LEAF, WRITER, CANARY]);
}

struct RecordDropsState;

impl Mutation for RecordDropsState {
    const OF: (&'static str, Role) = ("record", Role::Log);

    fn edit<'a>(memory: &mut Memory, event: Event<'a>) -> Option<Event<'a>> {
        DropsState::edit(memory, event)
    }
}

/// The record writer verifies that each line can be rebuilt. A line whose state is missing from the entry is kept
/// whole, so the leaf law finds nothing, but the table law and the counter do.
#[test]
fn a_record_writer_that_drops_state_keeps_the_lines_whole() {
    let way = mutant_writer::<RecordDropsState>();
    for (dialect, name) in [("claude-code", "2026-11/tools.jsonl"), ("codex", "2026-11/functions.jsonl")] {
        let case = case(dialect, name);
        caught_on(&case, way, &[WRITER]);
        let record = convert(case.way, way, &case.bytes);
        assert!(record.report.verbatim > 0, "{case}");
        let log = convert(named("record", Role::Log), case.way, &record.bytes);
        assert!(log.bytes == case.bytes, "{case} does not come back");
    }
}

struct DropsErrors;

impl Mutation for DropsErrors {
    const OF: (&'static str, Role) = ("openai-chat", Role::Response);

    fn edit<'a>(_: &mut Memory, event: Event<'a>) -> Option<Event<'a>> {
        (!matches!(event, Event::Error(_))).then_some(event)
    }
}

#[test]
fn a_writer_that_drops_an_error_is_caught() {
    let way = mutant_writer::<DropsErrors>();
    caught("anthropic", "response/error-overloaded.json", way, &[WRITER]);
}

struct DropsPermissions;

impl Mutation for DropsPermissions {
    const OF: (&'static str, Role) = ("universal", Role::Live);

    fn edit<'a>(_: &mut Memory, event: Event<'a>) -> Option<Event<'a>> {
        (!matches!(event, Event::PermissionRequested(_) | Event::PermissionResolved(_))).then_some(event)
    }
}

#[test]
fn a_writer_that_drops_a_permission_is_caught() {
    caught(
        "claude-stream",
        "2026-11/control.jsonl",
        mutant_writer::<DropsPermissions>(),
        &[LEAF, WRITER, CANARY],
    );
}

// ---- Writers that change a value -------------------------------------------------------------------------------------

struct WrongStop;

impl Mutation for WrongStop {
    const OF: (&'static str, Role) = ("openai-chat", Role::Response);

    fn edit<'a>(_: &mut Memory, mut event: Event<'a>) -> Option<Event<'a>> {
        if let Event::TurnEnded(turn) | Event::Usage(turn) | Event::TurnStarted(turn) = &mut event
            && let Some(stop) = &mut turn.stop
        {
            stop.class = match stop.class {
                StopClass::ToolUse => StopClass::MaxTokens,
                StopClass::MaxTokens => StopClass::ToolUse,
                other => other,
            };
        }
        Some(event)
    }
}

#[test]
fn a_wrong_stop_word_is_caught() {
    caught("anthropic", "response/tools.json", mutant_writer::<WrongStop>(), &[BACK, SAID]);
}

struct SwappedUsage;

impl Mutation for SwappedUsage {
    const OF: (&'static str, Role) = ("openai-chat", Role::Response);

    fn edit<'a>(_: &mut Memory, mut event: Event<'a>) -> Option<Event<'a>> {
        if let Event::TurnEnded(turn) | Event::Usage(turn) | Event::TurnStarted(turn) = &mut event
            && let Some(usage) = &mut turn.usage
        {
            std::mem::swap(&mut usage.input, &mut usage.output);
        }
        Some(event)
    }
}

#[test]
fn a_swapped_usage_bucket_is_caught() {
    caught("anthropic", "response/tools.json", mutant_writer::<SwappedUsage>(), &[BACK, SAID]);
}

/// Two texts of one author.
const TEXTS: (&str, &str) = ("Go on, please.", "Swap me.");

struct SwappedTexts<const TO_LOG: bool>;

fn swap_texts(event: Event<'_>) -> Event<'_> {
    let Event::ItemDelta(Delta { item, part, value: Part::Text(text), arrival }) = event else {
        return event;
    };
    let text = match &*text.decode() {
        one if one == TEXTS.0 => Str::from_plain(TEXTS.1),
        two if two == TEXTS.1 => Str::from_plain(TEXTS.0),
        _ => text,
    };
    Event::ItemDelta(Delta { item, part, value: Part::Text(text), arrival })
}

impl Mutation for SwappedTexts<false> {
    const OF: (&'static str, Role) = ("openai-chat", Role::Request);

    fn edit<'a>(_: &mut Memory, event: Event<'a>) -> Option<Event<'a>> {
        Some(swap_texts(event))
    }
}

impl Mutation for SwappedTexts<true> {
    const OF: (&'static str, Role) = ("codex", Role::Log);

    fn edit<'a>(_: &mut Memory, event: Event<'a>) -> Option<Event<'a>> {
        Some(swap_texts(event))
    }
}

#[test]
fn a_writer_that_swaps_two_texts_is_caught() {
    let request = format!(
        r#"{{"model":"m","max_tokens":9,"messages":[{{"role":"user","content":"{}"}},{{"role":"assistant","content":"Yes?"}},{{"role":"user","content":"{}"}}]}}"#,
        TEXTS.0, TEXTS.1
    );
    let case = Case { bytes: request.into_bytes(), ..case("anthropic", "request/full.json") };
    caught_on(&case, mutant_writer::<SwappedTexts<false>>(), &[BACK, SAID]);
    caught_on(&case, mutant_writer::<SwappedTexts<true>>(), &[SAID]);
}

struct WrongAuthor<const TO_LOG: bool>;

fn swap_authors(mut event: Event<'_>) -> Event<'_> {
    if let Event::ItemStarted(ItemHead { kind: ItemKind::Message, author, .. }) = &mut event {
        *author = match *author {
            Author::User => Author::Assistant,
            Author::Assistant => Author::User,
            other @ (Author::System | Author::Developer | Author::Tool) => other,
        };
    }
    event
}

impl Mutation for WrongAuthor<false> {
    const OF: (&'static str, Role) = ("openai-chat", Role::Request);

    fn edit<'a>(_: &mut Memory, event: Event<'a>) -> Option<Event<'a>> {
        Some(swap_authors(event))
    }
}

impl Mutation for WrongAuthor<true> {
    const OF: (&'static str, Role) = ("codex", Role::Log);

    fn edit<'a>(_: &mut Memory, event: Event<'a>) -> Option<Event<'a>> {
        Some(swap_authors(event))
    }
}

#[test]
fn a_text_attributed_to_the_wrong_author_is_caught() {
    caught("anthropic", "request/full.json", mutant_writer::<WrongAuthor<false>>(), &[BACK, SAID]);
    caught("claude-code", "2026-11/tools.jsonl", mutant_writer::<WrongAuthor<true>>(), &[SAID]);
}

// ---- Readers and tables with false claims ----------------------------------------------------------------------------

#[test]
fn a_reader_that_claims_and_forgets_is_caught() {
    let case = case("codex", "2026-11/functions.jsonl");
    let way = mutant_reader(case.way, |options| {
        let real = Dialect::named("codex").and_then(|codex| codex.role(Role::Log)?.read);
        Box::new(Forgetful(real.expect("codex logs are read")(options)))
    });
    let to = named("claude-code", Role::Log);
    let before = breaches(&case, to);
    let mutant = Case { way, ..case };
    let found = new_laws(&before, &breaches(&mutant, to));
    for law in [READER, LEAF] {
        assert!(found.contains(law), "`{law}` does not notice; these do: {found:?}");
    }
}

#[test]
fn a_table_that_claims_to_say_what_is_never_written_is_caught() {
    let way = mutant_table(named("claude-code", Role::Log), boasts);
    caught("anthropic", "request/full.json", way, &[WRITER, LEAF]);
}

#[test]
fn a_table_that_denies_what_is_written_is_caught() {
    let way = mutant_table(named("claude-code", Role::Log), |field| match field {
        Field::ResultText => Support::No(Reason::NoSlot),
        other => (write_spec(named("claude-code", Role::Log)).support)(other),
    });
    caught("codex", "2026-11/functions.jsonl", way, &[WRITER, CANARY]);
}

// ---- Running a mutant ------------------------------------------------------------------------------------------------

/// Runs the mutant on a fixture: each of these laws must find a breach that the real dialect does not have.
fn caught(dialect: &str, name: &str, mutant: Way, laws: &[&'static str]) {
    caught_on(&case(dialect, name), mutant, laws);
}

fn caught_on(case: &Case, mutant: Way, laws: &[&'static str]) {
    let real = named(mutant.0.name, mutant.1);
    let found = new_laws(&breaches(case, real), &breaches(case, mutant));
    for law in laws {
        assert!(found.contains(law), "{case} -> mutant: `{law}` does not notice; these do: {found:?}");
    }
}

/// The laws with a new breach.
fn new_laws(before: &[Breach], after: &[Breach]) -> BTreeSet<&'static str> {
    after.iter().filter(|breach| !before.contains(breach)).map(|breach| breach.law).collect()
}

/// The breaches of all laws in one conversion.
fn breaches(case: &Case, to: Way) -> Vec<Breach> {
    let source = Source::of(case);
    let words = Words::of(std::slice::from_ref(&source));
    let mut found = leaf_law(&source, to, &words, &mut Sample::new(2, 2));
    found.extend(writer_law(case, to, &mut Sample::new(2, 2)));
    found.extend(counting_law(&source, to));
    found.extend(nothing_law(case, to));
    found.extend(plant(&source).iter().flat_map(|planted| canary_law(planted, to)));
    found.extend(said_law(case, to));
    found.extend(reader_law(&source, &words, &mut Sample::new(2, 2)));
    found.extend(naming_law(case));
    if case.way.0.plane == Plane::Wire && to.0.plane == Plane::Wire && can_read(to) {
        found.extend(there_and_back_law(case, to));
    }
    found
}

fn case(dialect: &str, name: &str) -> Case {
    let mut cases = fixtures().into_iter();
    cases.find(|case| case.way.0.name == dialect && case.name == name).expect("a fixture")
}

fn named(dialect: &str, role: Role) -> Way {
    (Dialect::named(dialect).expect("registered"), role)
}
