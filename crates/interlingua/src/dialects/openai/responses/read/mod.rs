//! Reads requests, responses and streams into events.

mod content;
mod items;
pub(super) mod request;
pub(super) mod stream;

use super::{COMPLETED, ERRORS, STOPS};
use crate::error::Code;
use crate::json::Str;
use crate::model::{Event, Failure, FailureClass, Field, Status, Stop, StopClass, Turn, Usage};
use crate::pipe::{Doc, EventSink, Reader};
use crate::tape::{Claim, Kind, Member, Val, WantedNames};
use crate::wire::answer::{output_and_reasoning, tell_before_failure};
use crate::wire::words::AnswerFacts;
use crate::wire::{note_blanks, note_tag};
use items::{ItemReader, Where};

/// Reads a whole response, or an error in its place.
pub(super) struct ResponseReader;

impl Reader for ResponseReader {
    fn document(&mut self, doc: Doc<'_>, out: &mut EventSink<'_>) {
        let root = doc.root;
        let is_response =
            root.get("output").is_some() || root.get("object").is_some_and(|tag| tag.is("response"));
        let fail = |failure, out: &mut EventSink<'_>| {
            let usage = root.get("usage").filter(|usage| usage.kind() == Kind::Object).map(read_usage);
            tell_before_failure(usage, None, std::iter::empty(), out);
            out.event(&Event::Error(failure));
        };
        if !is_response {
            match read_error(root) {
                Some(failure) => fail(failure, out),
                None => out.problem(Code::UnknownShape, None, "a response has `output` or `error`"),
            }
            return;
        }
        note_defaults(root);
        // An error replaces the rest of the response.
        if let Some(failure) = read_failure(root) {
            return fail(failure, out);
        }
        ResponseEcho::default().begin(root, out);
        let mut facts = AnswerFacts::default();
        for item in root.get("output").into_iter().flat_map(|output| output.elements()) {
            let mut reader = ItemReader::new(Where::Answer);
            out.within(item, |out| reader.read(item, out));
            facts = both(facts, reader.facts());
        }
        end(root, facts, out);
    }
}

fn both(one: AnswerFacts, other: AnswerFacts) -> AnswerFacts {
    AnswerFacts { calls: one.calls || other.calls, refused: one.refused || other.refused }
}

/// The head of the first response object; later response objects of the stream repeat it.
#[derive(Default)]
struct ResponseEcho {
    begun: bool,
    /// The raw values.
    head: [String; 3],
}

/// The fields of [`ResponseEcho::head`].
const HEAD: [Field; 3] = [Field::TurnId, Field::TurnModel, Field::TurnTime];

impl ResponseEcho {
    /// Starts the turn, or notes the repeated head members.
    fn begin(&mut self, response: Val<'_>, out: &mut EventSink<'_>) {
        const MEMBERS: WantedNames<3> = WantedNames::new(["id", "model", "created_at"]);
        let head = response.find(&MEMBERS);
        note_defaults(response);
        if std::mem::replace(&mut self.begun, true) {
            for ((val, known), field) in head.into_iter().zip(&self.head).zip(HEAD) {
                val.filter(|val| val.text() == known).map(|val| val.note(field));
            }
            return;
        }
        let [id, model, time] = head;
        let turn = Turn {
            id: id.take_text(Field::TurnId),
            model: model.take_text(Field::TurnModel),
            time: time.filter(|time| !time.is_null()).map(|time| time.take(Field::TurnTime)),
            ..Turn::default()
        };
        let taken = |val: &Val<'_>| matches!(val.claimed(), Claim::Taken(_));
        self.head = head.map(|val| val.filter(taken).map_or("", |val| val.text()).to_owned());
        out.event(&Event::TurnStarted(turn));
    }
}

/// Notes the settings of the request that a response repeats, where they have their default values.
fn note_defaults(response: Val<'_>) {
    const DEFAULTS: [(&str, &[&str]); 13] = [
        ("object", &["\"response\""]),
        ("background", &["false"]),
        ("parallel_tool_calls", &["true"]),
        ("service_tier", &["\"default\"", "\"auto\""]),
        ("store", &["true"]),
        ("temperature", &["1", "1.0"]),
        ("top_p", &["1", "1.0"]),
        ("top_logprobs", &["0"]),
        ("tool_choice", &["\"auto\""]),
        ("truncation", &["\"disabled\""]),
        ("metadata", &["{}"]),
        ("frequency_penalty", &["0", "0.0"]),
        ("presence_penalty", &["0", "0.0"]),
    ];
    note_blanks(response);
    for (name, value) in response.members() {
        let usual = |(known, values): &(&str, &[&str])| name.is(known) && values.contains(&value.text());
        if DEFAULTS.iter().any(usual) {
            value.note(Field::Structure);
        }
    }
}

/// The error of a failed or incomplete response object.
fn read_failure(response: Val<'_>) -> Option<Failure<'_>> {
    let status = response.get("status");
    let word = status.and_then(|status| status.str());
    let error = response.get("error").filter(|error| !error.is_null());
    let word = word.as_ref().map_or(COMPLETED, Str::as_escaped);
    match (error, word) {
        (Some(error), _) => {
            status.filter(|status| status.is("failed")).map(|status| status.note(Field::Structure));
            Some(ERRORS.read(error))
        }
        (None, "failed" | "queued" | "in_progress") => Some(Failure {
            class: if word == "failed" { FailureClass::Server } else { FailureClass::Incomplete },
            status: None,
            code: status.and_then(|status| status.take_text(Field::ErrorCode)),
            message: Str::escaped("the response is not complete"),
            request_id: None,
            retry_after: None,
        }),
        (None, _) => None,
    }
}

/// Ends the turn with the status of the response object.
fn end(response: Val<'_>, facts: AnswerFacts, out: &mut EventSink<'_>) {
    let usage = response.get("usage").filter(|usage| usage.kind() == Kind::Object).map(read_usage);
    let status = response.get("status");
    let reason = response.get("incomplete_details").and_then(|details| details.get("reason"));
    let reason = reason.filter(|reason| reason.kind() == Kind::String);
    let raw = match (reason, status) {
        (Some(reason), _) => {
            note_tag(response, "status", &["incomplete"]);
            reason.take_text(Field::StopReason)
        }
        (None, Some(status)) => status.take_text(Field::StopReason),
        (None, None) => {
            out.note("no status at the end");
            None
        }
    };
    let mut stop = match raw {
        Some(raw) => STOPS.stop(raw, None),
        None => Stop { class: StopClass::End, raw: None, sequence: None, detail: None },
    };
    stop.class = match stop.class {
        StopClass::End if facts.refused => StopClass::Refusal,
        StopClass::End if facts.calls => StopClass::ToolUse,
        class => class,
    };
    out.event(&Event::TurnEnded(Turn { stop: Some(stop), usage, ..Turn::default() }));
}

/// The status of the items without an end event.
fn status_of_rest(response: Val<'_>) -> Status {
    let is_complete =
        response.get("status").is_none_or(|status| status.is(COMPLETED) || status.is("complete"));
    if is_complete { Status::Completed } else { Status::Interrupted }
}

/// Reads an error, in the forms of several servers.
fn read_error(root: Val<'_>) -> Option<Failure<'_>> {
    note_blanks(root);
    if let Some(error) = root.get("error").filter(|error| !error.is_null()) {
        let mut failure = ERRORS.read(error);
        // The code may be beside the message.
        if let Some(code) = root.get("code").filter(|_| error.kind() == Kind::String) {
            failure.code = code.take_text(Field::ErrorCode);
        }
        return Some(failure);
    }
    let detail = root.get("detail")?;
    let first = detail.elements().next().and_then(|first| first.get("msg"));
    let message = detail.take_text(Field::ErrorMessage);
    let message = message.or_else(|| first?.take_text(Field::ErrorMessage));
    let message = message.or_else(|| detail.take_str("message", Field::ErrorMessage))?;
    let class = FailureClass::InvalidRequest;
    Some(Failure { class, status: None, code: None, message, request_id: None, retry_after: None })
}

/// Reads usage. `input_tokens` counts all input; cache reads and writes are counted separately.
fn read_usage(usage: Val<'_>) -> Usage {
    note_blanks(usage);
    let input = usage.get("input_tokens_details");
    let of =
        |details: Option<Val<'_>>, name, field| details.and_then(|details| details.note_u64(name, field));
    let all = usage.note_u64("input_tokens", Field::UsageInput);
    // A cache count above the input count stays unclaimed.
    let part = |name, most: u64, field| {
        let count =
            input.and_then(|input| input.get(name)).filter(|count| count.u64().is_some_and(|it| it <= most));
        count.and_then(|count| count.note_count(field))
    };
    let most = all.unwrap_or(u64::MAX);
    let cache_read = part("cached_tokens", most, Field::UsageCacheRead);
    let cache_write = part("cache_write_tokens", most - cache_read.unwrap_or(0), Field::UsageCacheWrite);
    let written = input.and_then(|input| input.get("cache_write_tokens_details"));
    let cache_write_long = of(written, "ttl_12h_tokens", Field::UsageCacheWriteLong);
    let uncached = all.map(|all| all - cache_read.unwrap_or(0) - cache_write.unwrap_or(0));
    let said = usage.note_u64("output_tokens", Field::UsageOutput);
    let reasoning = of(usage.get("output_tokens_details"), "reasoning_tokens", Field::UsageReasoning);
    let total = usage.get("total_tokens");
    let total_is = |output: Option<u64>| {
        let sum = all.zip(output).and_then(|(input, output)| input.checked_add(output));
        total.is_some_and(|total| sum.is_some() && total.u64() == sum)
    };
    let outside = !total_is(said) && total_is(output_and_reasoning(said, reasoning, true));
    let output = output_and_reasoning(said, reasoning, outside);
    if let Some(total) = total.filter(|_| total_is(output)) {
        total.note(Field::UsageOutput);
    }
    if let (Some(long), Some(all), Some(written)) = (cache_write_long, cache_write, written)
        && let Some(short) = written.get("ttl_30m_tokens")
        && short.u64().is_some_and(|short| short.checked_add(long) == Some(all))
    {
        short.note(Field::UsageCacheWrite);
    }
    Usage {
        input: uncached,
        cache_read,
        cache_write,
        cache_write_long,
        output,
        reasoning,
        ..Usage::default()
    }
}
