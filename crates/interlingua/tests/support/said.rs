//! The law of content: authors and texts, tool calls with arguments and results, usage and stop reasons are the same
//! when the output is read again, except for losses in the ledger.
//!
//! Message boundaries depend on the dialect, so all texts of an author are compared as one text.

use std::collections::{BTreeMap, BTreeSet};

use interlingua::dialects::{Options, Plane};
use interlingua::fold::{Content, Item, Transcript};
use interlingua::ledger::Report;
use interlingua::model::{Args, Field, ItemKind, ItemKindTag, Part, Usage};

use super::books::{Breach, Fates, lost_fields};
use super::{Case, Way, can_read, convert_traced, first_difference};

pub const SAID: &str = "who said what is the same when it is read again";

/// Reads the source and the output, and compares their content.
pub fn said_law(case: &Case, to: Way) -> Vec<Breach> {
    if !can_read(to) {
        return Vec::new();
    }
    let out = convert_traced(case.way, to, &case.bytes);
    let (lost, fates) = (lost_fields(&out.report), Fates::of(&out.report));
    if out.report.lost == out.report.leaves {
        return Vec::new();
    }
    let source = transcript(case.way, &case.bytes);
    let additions = Additions::of(to, &out.report, &source);
    let (before, after) = (said(&source), said(&transcript(to, &out.bytes)));
    let mut breaches = Vec::new();
    let keys: BTreeSet<_> = before.keys().chain(after.keys()).collect();
    for key in keys {
        let (field, who) = key;
        let text = |said: &Said| said.get(key).cloned().unwrap_or_default();
        let (before, after) = (&text(&before), &additions.taken_from(key, text(&after)));
        let holds = match field {
            // The text may now belong to another author.
            Field::MessageText if fates.narrows(Field::ItemAuthor) => true,
            // A refusal is a text of the message.
            Field::MessageText if lost.contains(&Field::Refusal) => is_in(after, before),
            Field::ReasoningText if lost.contains(&Field::ReasoningSummary) => is_in(after, before),
            Field::ResultText if lost.contains(&Field::ResultJson) => is_in(after, before),
            Field::MessageText
            | Field::ReasoningText
            | Field::ResultText
            | Field::CallName
            | Field::CallArgs
                if lost.contains(field) =>
            {
                is_in(after, before)
            }
            _ => before == after || lost.contains(field),
        };
        if !holds {
            let how = first_difference(before.as_bytes(), after.as_bytes());
            breaches.push(Breach::new(SAID, case, to, &format!("{}{who}", field.word()), how));
        }
    }
    breaches
}

/// The items that the history stage adds to a log, according to its notes. The law ignores them.
struct Additions {
    results: u64,
    calls: u64,
    summaries: Vec<String>,
}

impl Additions {
    fn of(to: Way, report: &Report, source: &Transcript) -> Self {
        let noted = |note: &str| {
            let of_log = report.notes.iter().filter(|_| to.0.plane == Plane::Log);
            of_log.filter(|(known, _)| *known == note).map(|(_, times)| times).sum()
        };
        let summaries: u64 = noted("the summary of a compaction written as a message");
        let texts = source.compactions.iter().filter_map(|compaction| compaction.summary.as_ref());
        let texts = texts.map(|summary| summary.decode().into_owned()).filter(|summary| !summary.is_empty());
        Self {
            results: noted("made up the result of a call that has none"),
            calls: noted("made up the call of a result that has none"),
            summaries: if summaries > 0 { texts.collect() } else { Vec::new() },
        }
    }

    /// A field's text without the additions. A noted addition that is missing leaves a mark, which breaks the law.
    fn taken_from(&self, (field, who): &(Field, String), mut text: String) -> String {
        let mut take = |added: &str, times: u64| {
            for _ in 0..times {
                match text.find(added) {
                    Some(at) => text.replace_range(at..at + added.len(), ""),
                    None => text.push_str("(a noted addition is missing)"),
                }
            }
        };
        match field {
            Field::ResultText => take("[Noresultofthistoolcallwasrecorded.]", self.results),
            Field::CallName => take("unknown;", self.calls),
            Field::MessageText if who == " User" => {
                for summary in &self.summaries {
                    take(&without_space(summary), 1);
                }
            }
            _ => {}
        }
        text
    }
}

fn without_space(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace()).collect()
}

/// Whether a text is a subsequence of another: lost words are missing, but no word is added or moved.
fn is_in(left: &str, whole: &str) -> bool {
    let mut whole = whole.chars();
    left.chars().all(|wanted| whole.any(|found| found == wanted))
}

/// The content by field and author.
type Said = BTreeMap<(Field, String), String>;

fn transcript(way: Way, bytes: &[u8]) -> Transcript {
    Transcript::read(way, bytes, &Options::default()).expect("readable").0
}

fn said(transcript: &Transcript) -> Said {
    let mut said = Said::new();
    for item in &transcript.items {
        say_item(item, &mut said);
    }
    let Usage { input, cache_read, cache_write, output, reasoning, .. } = transcript.usage();
    for (field, number) in [
        (Field::UsageInput, input),
        (Field::UsageCacheRead, cache_read),
        (Field::UsageCacheWrite, cache_write),
        (Field::UsageOutput, output),
        (Field::UsageReasoning, reasoning),
    ] {
        // A count of zero equals a missing count.
        if let Some(number) = number.filter(|number| *number > 0) {
            say(&mut said, field, "", &number.to_string());
        }
    }
    for stop in transcript.turns.iter().filter_map(|turn| turn.stop.as_ref()) {
        say(&mut said, Field::StopReason, "", &format!("{:?} ", stop.class));
    }
    said
}

fn say(said: &mut Said, field: Field, who: &str, text: &str) {
    // Whitespace between joined parts is not content.
    let words = said.entry((field, who.to_owned())).or_default();
    words.push_str(&without_space(text));
}

fn say_item(item: &Item, said: &mut Said) {
    let of = ItemKindTag::item(&item.kind);
    let who = match &item.kind {
        ItemKind::Message => format!(" {:?}", item.author),
        ItemKind::ToolCall(call) => {
            // A tool group becomes a part of the name where there is no other place.
            let group = call.namespace.as_ref().map(|group| format!("{}__", group.decode()));
            let name = format!("{}{};", group.unwrap_or_default(), call.name.decode());
            say(said, Field::CallName, "", &name);
            String::new()
        }
        ItemKind::Reasoning | ItemKind::ToolResult(_) => String::new(),
        // The text of a notice has no author, but items inside it may have.
        ItemKind::Notice(_) => {
            for content in &item.content {
                if let Content::Item(inner) = content {
                    say_item(inner, said);
                }
            }
            return;
        }
    };
    for content in &item.content {
        match content {
            Content::Item(inner) => say_item(inner, said),
            Content::Part(_, Part::Text(text)) => say(said, of.text(), &who, &text.decode()),
            // A dialect with only one of summary and reasoning text uses it for both.
            Content::Part(_, Part::Summary(text)) => {
                say(said, Field::ReasoningText, "", &text.decode());
            }
            // A refusal counts as text.
            Content::Part(_, Part::Refusal(text)) => say(said, of.text(), &who, &text.decode()),
            Content::Part(_, Part::Args(Args::Text(text))) => {
                say(said, Field::CallArgs, "", &as_value(&text.decode()));
            }
            Content::Part(_, Part::Args(Args::Json(json))) => {
                say(said, Field::CallArgs, "", &as_value(json.as_str()));
            }
            // A dialect without a place for a JSON value uses its text.
            Content::Part(_, Part::Json(json)) => say(said, of.text(), &who, json.as_str()),
            Content::Part(
                _,
                Part::Media(_) | Part::File(_) | Part::Citation(_) | Part::Opaque(_) | Part::Cache(_),
            ) => {}
        }
    }
}

/// Arguments as a normalised value: empty arguments have three spellings, and a plain text is the only member of an
/// object where an object is required.
fn as_value(text: &str) -> String {
    match serde_json::from_str::<serde_json::Value>(text) {
        Ok(serde_json::Value::Object(members)) if members.len() == 1 && members.contains_key("input") => {
            members["input"].as_str().map_or_else(|| text.to_owned(), str::to_owned)
        }
        Ok(serde_json::Value::Object(members)) if members.is_empty() => String::new(),
        Ok(value) => value.to_string(),
        Err(_) => text.to_owned(),
    }
}
