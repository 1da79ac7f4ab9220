//! Usage. Newer versions write a `session.usage_record` before each response; older versions record only the output
//! tokens of a response. At the end of a run the totals of each model follow; only the part not yet emitted is new.

use std::collections::{BTreeMap, VecDeque};

use super::line::CopilotLine;
use crate::json::Str;
use crate::ledger::text_key;
use crate::model::{Event, Field, Stop, StopClass, Turn, Usage, Words};
use crate::pipe::EventSink;
use crate::tape::{Member as _, Val, WantedNames};

/// Usage emitted so far, and usage that waits for its response.
#[derive(Default)]
pub(in crate::dialects::agents) struct Accounts {
    /// Usage records that arrive before the response they belong to.
    waiting: VecDeque<WaitingUsage>,
    /// Usage emitted for each model.
    told: BTreeMap<String, ToldUsage>,
    /// The id key and usage of the last response emitted, which a line may repeat.
    last: Option<(u128, Usage)>,
    /// The id key of the last line with totals, which may be repeated.
    last_totals: Option<u128>,
    /// Set if the log has a usage record for each call.
    has_records: bool,
}

struct WaitingUsage {
    agent: String,
    turn: Turn<'static>,
}

#[derive(Default)]
struct ToldUsage {
    all: Usage,
    /// Usage emitted up to the last totals.
    at_totals: Usage,
}

impl Accounts {
    /// Bound on pending records: responses arrive promptly, and fewer agents run concurrently.
    const MOST: usize = 32;

    /// Reads the usage record of a call; the response follows, if it has content.
    pub(super) fn record(&mut self, line: &CopilotLine<'_>, usage: Val<'_>, out: &mut EventSink<'_>) {
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

    /// The metadata of the response that a message belongs to; adds the pending usage record.
    pub(in crate::dialects::agents) fn of_answer<'t>(&mut self, data: Val<'t>) -> Turn<'t> {
        const WANTED: WantedNames<4> =
            WantedNames::new(["apiCallId", "messageId", "outputTokens", "requestId"]);
        let [id, message, output, request_id] = data.find(&WANTED);
        // Older versions do not name the call; in these versions each message is a response.
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

    /// Emits pending usage of an agent whose response will not follow: a call may have no content.
    pub(super) fn flush(&mut self, line: &CopilotLine<'_>, out: &mut EventSink<'_>) {
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

    /// Emits all pending usage at the end of input.
    pub(super) fn finish(&mut self, out: &mut EventSink<'_>) {
        while let Some(WaitingUsage { turn, .. }) = self.waiting.pop_front() {
            self.tell(&turn, "", out);
        }
    }

    /// Emits the usage of a response. `model` is the fallback for a response without a model.
    pub(in crate::dialects::agents) fn tell(
        &mut self,
        turn: &Turn<'_>,
        model: &str,
        out: &mut EventSink<'_>,
    ) {
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

    /// The usage of a compaction, in versions without usage records.
    pub(super) fn compaction(
        &mut self,
        line: &CopilotLine<'_>,
        session_model: &str,
        out: &mut EventSink<'_>,
    ) {
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

    /// Reads the totals of each model, which cover this run or all runs so far, depending on the version. Totals cover
    /// all runs if their output count is not below the output already emitted. The difference is emitted once.
    pub(super) fn totals(&mut self, line: &CopilotLine<'_>, metrics: Val<'_>, out: &mut EventSink<'_>) {
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

/// Parses Copilot's counts. Its input count includes cached input.
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
