//! Events that are not items, in both directions. Each is a `system-event` whose `data` is the event under the model's
//! own names. A notice always has `content` in its `data`, so the two differ whatever an agent calls its notices.

use super::read_entry::{ReadEntry, ReadUsage};
use super::usage::{KnownResponses, named_counts, read_counts};
use super::words::{usual_stop, usual_word};
use crate::json::{JsonWriter, Str};
use crate::model::{Event, Field, Neutral, Spelling, Tally, Turn, Usage};
use crate::tape::{Kind, Member as _, Val};

/// Members of a turn or response in `token-usage`: the cost and, for a response, the counts.
const COST: &str = "cost";
const USAGE: &str = "usage";

/// Writes the event as an entry and leaves its object open.
pub(super) fn open_event(event: &Event<'_>, json: &mut JsonWriter<'_>) {
    match event {
        Event::SessionUpdated(session) => put("session-updated", session, json),
        Event::SessionEnded(end) => put("session-ended", end, json),
        Event::Rewound(rewind) => put("rewound", rewind, json),
        Event::Compacted(compaction) => put("compacted", compaction, json),
        Event::Model(model) => put("model", model, json),
        Event::Request(request) => put("request", &**request, json),
        Event::TurnStarted(turn) => put("turn-started", &Turn { cost: None, ..turn.clone() }, json),
        Event::TurnEnded(turn) => put("turn-ended", &Turn { cost: None, ..turn.clone() }, json),
        // All values of a usage event are in `token-usage`.
        Event::Usage(_) => put("usage", &Turn::default(), json),
        Event::PermissionRequested(permission) => put("permission-requested", permission, json),
        Event::PermissionResolved(permission) => put("permission-resolved", permission, json),
        Event::QuestionRequested(question) => put("question-requested", question, json),
        Event::QuestionResolved(question) => put("question-resolved", question, json),
        Event::Error(failure) => put("error", failure, json),
        // These events are not entries of their own and never reach this function.
        Event::SessionStarted(_)
        | Event::Clock(_)
        | Event::ItemStarted(_)
        | Event::ItemDelta(_)
        | Event::ItemCompleted(_) => {}
    }
}

fn put<'t>(name: &str, data: &impl Neutral<'t>, json: &mut JsonWriter<'_>) {
    json.object().key("type").literal("system-event").key("event-type").literal(name).key("data");
    data.write(Spelling::Kebab, json);
}

/// Reads an entry that is an event: an entry with `data` but without `content`. `None` for an item.
pub(super) fn read_event<'t>(entry: &ReadEntry<'t>, tally: &mut Tally<KnownResponses>) -> Option<Event<'t>> {
    let data = entry.data.filter(|data| data.kind() == Kind::Object && data.get("content").is_none())?;
    let name = entry.event_type?.str()?;
    let has = |name: &str| data.get(name).is_some();
    Some(match name.as_escaped() {
        "session-updated" => Event::SessionUpdated(read(data)?),
        "session-ended" => Event::SessionEnded(read(data)?),
        "rewound" => Event::Rewound(read(data)?),
        "compacted" => Event::Compacted(read(data)?),
        "model" => Event::Model(read(data)?),
        "request" => Event::Request(Box::new(read(data)?)),
        "turn-started" => {
            let turn = whole_turn(data, entry);
            let more = tally.begin_turn(turn.id.as_ref(), turn.usage.as_ref());
            note_increase(entry, more);
            Event::TurnStarted(turn)
        }
        "turn-ended" => {
            let turn = whole_turn(data, entry);
            let more = tally.end_turn(turn.usage.as_ref());
            note_increase(entry, more);
            Event::TurnEnded(turn)
        }
        "permission-requested" if has("id") => Event::PermissionRequested(read(data)?),
        "permission-resolved" if has("id") => Event::PermissionResolved(read(data)?),
        "question-requested" if has("id") => Event::QuestionRequested(read(data)?),
        "question-resolved" if has("id") => Event::QuestionResolved(read(data)?),
        "error" if has("class") => Event::Error(read(data)?),
        _ => return None,
    })
}

fn read<'t, T: Neutral<'t>>(data: Val<'t>) -> Option<T> {
    T::read(data, Field::Structure, Spelling::Kebab)
}

/// Takes a member in the model's form; a member in any other form is left unclaimed.
pub(super) fn taken<'t, T: Neutral<'t>>(map: Val<'t>, name: &str, field: Field) -> Option<T> {
    map.get(name).and_then(|val| T::read(val, field, Spelling::Kebab))
}

/// Writes the response of an entry's usage and its stop reason: the common form as single members, the rest under the
/// model's own names. `model` is the response's model, unless the entry holds it.
pub(super) fn put_response(response: &Turn<'_>, model: Option<&Str<'_>>, json: &mut JsonWriter<'_>) {
    let Turn { id, model: _, time, request_id, effort, answer, stop, usage: _, cost: _ } = response;
    json.opt_str("response-id", id.as_ref()).opt_str("request-id", request_id.as_ref());
    json.opt_str("model-id", model).opt_str("effort", effort.as_ref());
    let usual_word = stop.as_ref().and_then(usual_word);
    json.opt_str("stop-reason", usual_word);
    let stop = stop.as_ref().filter(|_| usual_word.is_none());
    if time.is_some() || answer.is_some() || stop.is_some() {
        json.key("response");
        let rest = Turn { time: time.clone(), answer: *answer, stop: stop.cloned(), ..Turn::default() };
        rest.write(Spelling::Kebab, json);
    }
}

/// Reads the response of an entry: the response the entry ends, or the response the entry is about.
pub(super) fn read_response<'t>(
    usage: ReadUsage<'t>,
    entry: &ReadEntry<'t>,
    tally: &mut Tally<KnownResponses>,
) -> Turn<'t> {
    let more = read_counts(usage);
    let of_response = usage.rest;
    let rest = of_response.get("response").filter(|rest| rest.kind() == Kind::Object);
    let rest = rest.map(|rest| {
        Turn::read_members(rest, &["id", "model", "request_id", "effort", USAGE, COST], Spelling::Kebab)
    });
    let rest = rest.unwrap_or_default();
    let id = of_response.take_str("response-id", Field::TurnId);
    let request_id = of_response.take_str("request-id", Field::TurnRequestId);
    let effort = of_response.take_str("effort", Field::TurnEffort);
    let counts = (more != Usage::default()).then(|| tally.report(id.as_ref(), &more));
    // Without a model of its own, a response has the entry's model.
    let model = of_response.take_str("model-id", Field::TurnModel);
    let model = model.or_else(|| entry.model.and_then(|model| model.str()));
    let word = of_response.take_str("stop-reason", Field::StopReason);
    let word = word.or_else(|| entry.stop_reason.take_text(Field::StopReason));
    let stop = rest.stop.or_else(|| word.map(usual_stop));
    Turn { id, model, request_id, effort, stop, usage: counts, cost: cost(usage), ..rest }
}

fn whole_turn<'t>(data: Val<'t>, entry: &ReadEntry<'t>) -> Turn<'t> {
    let turn = Turn::read_members(data, &[COST], Spelling::Kebab);
    Turn { cost: entry.usage().and_then(cost), ..turn }
}

fn cost(usage: ReadUsage<'_>) -> Option<crate::json::Raw<'_>> {
    usage.counts.take_raw("cost", Field::Cost).or_else(|| usage.rest.take_raw("native-cost", Field::Cost))
}

/// Notes the counts that a turn adds to the session, which follow from the counts of the turn and its responses. Other
/// counts are left unclaimed.
fn note_increase(entry: &ReadEntry<'_>, more: Option<Usage>) {
    let (Some(usage), Some(more)) = (entry.usage(), more) else { return };
    for (name, count) in named_counts(&more) {
        let said = usage.counts.get(name).or_else(|| usage.rest.get(name));
        let same = said.filter(|said| said.u64().is_some() && said.u64() == count);
        if let Some(same) = same {
            same.note(Field::Structure);
        }
    }
}
