//! What was used. Newer versions write a `session.usage_record` before each answer; older ones only say how much an answer
//! put out. At the end of a run the totals of each model follow: of these only what nobody had told is new.

use std::collections::{BTreeMap, VecDeque};

use super::line::CopilotLine;
use crate::json::Str;
use crate::ledger::text_key;
use crate::model::{Event, Field, Stop, StopClass, Turn, Usage, Words};
use crate::pipe::Events;
use crate::tape::{Member as _, Val, WantedNames};

/// What has been told, and what waits for its answer.
#[derive(Default)]
pub(super) struct Accounts {
    /// Usage that was told before the answer it is about.
    waiting: VecDeque<WaitingUsage>,
    /// What has been told of each model.
    told: BTreeMap<String, ToldUsage>,
    /// The key of the id of the response that was told last, and what it had used: it may be told again.
    last: Option<(u128, Usage)>,
    /// The key of the id of the line that gave totals last, for the same reason.
    last_totals: Option<u128>,
    /// The log has records of its own for each call.
    has_records: bool,
}

struct WaitingUsage {
    agent: String,
    turn: Turn<'static>,
}

#[derive(Default)]
struct ToldUsage {
    all: Usage,
    /// As much of it as had been told when totals came last.
    at_totals: Usage,
}

impl Accounts {
    /// Answers come at once; nobody has more agents at work than this.
    const MOST: usize = 32;

    /// A call was answered; the answer follows, if it has words.
    pub(super) fn record(&mut self, line: &CopilotLine<'_>, usage: Val<'_>, out: &mut Events<'_>) {
        const WANTED: WantedNames<4> =
            WantedNames::new(["apiCallId", "model", "finishReason", "reasoningEffort"]);
        self.has_records = true;
        self.flush(line, out);
        let [id, model, stop, effort] = usage.find(&WANTED);
        let turn = Turn {
            id: id.note_text(Field::TurnId),
            model: model.note_text(Field::TurnModel),
            effort: effort.note_text(Field::TurnEffort),
            stop: stop.note_text(Field::StopReason).map(|raw| Stop {
                class: STOPS.value(&raw).unwrap_or(StopClass::Other),
                raw: Some(raw),
                sequence: None,
                detail: None,
            }),
            usage: Some(counts(usage)),
            ..Turn::default()
        };
        if self.waiting.len() == Self::MOST
            && let Some(oldest) = self.waiting.pop_front()
        {
            line.clock(out);
            self.tell(&oldest.turn, "", out);
        }
        self.waiting.push_back(WaitingUsage { agent: line.agent().to_owned(), turn: turn.into_owned() });
    }

    /// What an answer, or a piece of one, tells of the response it is of; what was told before it belongs to it.
    pub(super) fn of_answer<'t>(&mut self, data: Val<'t>) -> Turn<'t> {
        const WANTED: WantedNames<4> =
            WantedNames::new(["apiCallId", "messageId", "outputTokens", "requestId"]);
        let [id, message, output, request_id] = data.find(&WANTED);
        // Older versions do not name the call; there one message is one response.
        let id = id.or_else(|| message.filter(|_| output.is_some()));
        let is_it = |waiting: &WaitingUsage| {
            let own = waiting.turn.id.as_ref();
            id.is_some() && own.is_some_and(|own| own.as_escaped() == id.word())
        };
        let told = self.waiting.iter().position(is_it).and_then(|at| self.waiting.remove(at));
        let request_id = request_id.note_text(Field::TurnRequestId);
        let id = id.note_text(Field::TurnId);
        if let Some(WaitingUsage { turn, .. }) = told {
            return Turn { request_id, ..turn };
        }
        let output = output.note_count(Field::UsageOutput);
        let usage = output.map(|output| Usage { output: Some(output), ..Usage::default() });
        Turn { id, request_id, usage, ..Turn::default() }
    }

    /// Tells what waits for an answer of that agent which will not come: a call may have no words of its own.
    pub(super) fn flush(&mut self, line: &CopilotLine<'_>, out: &mut Events<'_>) {
        let mut at = 0;
        while let Some(waiting) = self.waiting.get(at) {
            if waiting.agent != line.agent() {
                at += 1;
            } else if let Some(WaitingUsage { turn, .. }) = self.waiting.remove(at) {
                line.clock(out);
                self.tell(&turn, "", out);
            }
        }
    }

    /// Nothing more comes.
    pub(super) fn finish(&mut self, out: &mut Events<'_>) {
        while let Some(WaitingUsage { turn, .. }) = self.waiting.pop_front() {
            self.tell(&turn, "", out);
        }
    }

    /// Tells what a response has used. `model` is the one that answered, where the response names none.
    pub(super) fn tell(&mut self, turn: &Turn<'_>, model: &str, out: &mut Events<'_>) {
        let model = turn.model.as_ref().map_or(model, Str::as_escaped);
        if let Some(usage) = &turn.usage {
            let told = self.told.entry(model.to_owned()).or_default();
            let id = turn.id.as_ref().map(|id| text_key(id.as_escaped()));
            let known = self.last.filter(|(known, _)| Some(*known) == id);
            let more = known.map_or(*usage, |(_, known)| usage.increase_over(&known));
            told.all = told.all.and(&more);
            self.last = id.map(|id| (id, *usage));
        }
        out.event(&Event::Usage(turn.clone()));
    }

    /// What a summary of the conversation cost to make, in versions that have no record of each call.
    pub(super) fn compaction(&mut self, line: &CopilotLine<'_>, session_model: &str, out: &mut Events<'_>) {
        let used = line.data.get("compactionTokensUsed").filter(|_| !self.has_records);
        let Some(used) = used else { return };
        let model = used.note_str("model", Field::TurnModel);
        let usage = counts(used);
        if usage != Usage::default() {
            line.clock(out);
            let turn = Turn { model, usage: Some(usage), ..Turn::default() };
            self.tell(&turn, session_model, out);
        }
    }

    /// The totals of each model, of this run or of all so far: versions differ. They are those of all if they are not
    /// below what has been told. What they have beyond that is told now, once.
    pub(super) fn totals(&mut self, line: &CopilotLine<'_>, metrics: Val<'_>, out: &mut Events<'_>) {
        let again = line.id.map(|id| text_key(id.text()));
        if again.is_some() && std::mem::replace(&mut self.last_totals, again) == again {
            return;
        }
        for (model, metric) in metrics.members() {
            let Some(usage) = metric.get("usage") else { continue };
            let total = counts(usage);
            let told = self.told.entry(model.as_escaped().to_owned()).or_default();
            let of_all = total.output >= told.all.output;
            let base = if of_all { told.all } else { told.all.increase_over(&told.at_totals) };
            let unsaid = total.increase_over(&base);
            told.all = told.all.and(&unsaid);
            told.at_totals = told.all;
            if unsaid.counts().iter().any(|(_, count)| count.is_some_and(|count| count > 0)) {
                line.clock(out);
                let turn = Turn { model: Some(model), usage: Some(unsaid), ..Turn::default() };
                out.event(&Event::Usage(turn));
            }
        }
    }
}

/// The counts as Copilot names them. Its input is all input, cached or not.
fn counts(usage: Val<'_>) -> Usage {
    const WANTED: WantedNames<5> = WantedNames::new([
        "inputTokens",
        "cacheReadTokens",
        "cacheWriteTokens",
        "outputTokens",
        "reasoningTokens",
    ]);
    let [input, read, written, output, reasoning] = usage.find(&WANTED);
    let cache_read = read.note_count(Field::UsageCacheRead);
    let cache_write = written.note_count(Field::UsageCacheWrite);
    let cache = cache_read.unwrap_or(0).saturating_add(cache_write.unwrap_or(0));
    Usage {
        input: input.note_count(Field::UsageInput).map(|input| input.saturating_sub(cache)),
        cache_read,
        cache_write,
        output: output.note_count(Field::UsageOutput),
        reasoning: reasoning.note_count(Field::UsageReasoning),
        ..Usage::default()
    }
}

const STOPS: Words<StopClass> = Words(&[
    (StopClass::End, "stop"),
    (StopClass::ToolUse, "tool_calls"),
    (StopClass::MaxTokens, "length"),
    (StopClass::Filter, "content_filter"),
]);
