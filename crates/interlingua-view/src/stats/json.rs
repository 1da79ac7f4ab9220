//! Statistics as JSON, for programs. `docs/cli.md` describes the members.

use interlingua::json::{JsonWriter, Raw, Str};
use interlingua::model::time;
use interlingua_models::prices::{Picodollars, exact_dollars};
use interlingua_report::Explain;
use interlingua_report::json::{document, left_out};

use super::sums::{FileChanges, Spent, ToolCounts};
use super::{CountedFile, StatsReport};

/// The version of the format; a new version may change the meaning of members.
const VERSION: u64 = 1;

pub(super) fn write(
    overview: &StatsReport,
    skipped: &[(String, impl Explain)],
    failed: &[(String, impl Explain)],
) -> String {
    let StatsReport { files, all, prices, copies, contents: _ } = overview;
    let spending = all.spending(prices);
    document(|json| {
        json.object().key("version").u64(VERSION);
        json.key("files").array();
        for file in files {
            counted(file, json);
        }
        json.end_array();
        json.key("copied_files").u64(*copies);
        left_out("skipped", skipped, json);
        left_out("failed", failed, json);
        json.key("sessions").u64(all.sessions.len() as u64);
        let [first, last] = match &all.span {
            Some([first, last]) => [Some(Str::plain(&first.1)), Some(Str::plain(&last.1))],
            None => [None, None],
        };
        json.opt_str("first", first.as_ref()).opt_str("last", last.as_ref());
        let messages = all.messages();
        json.key("turns").u64(all.turns());
        json.key("messages").object();
        json.key("user").u64(messages.user).key("assistant").u64(messages.assistant);
        json.key("other").u64(messages.other).end_object();
        json.key("reasoning").u64(all.reasoning.len() as u64);
        json.key("subagents").object().key("count").u64(all.agents.len() as u64);
        json.key("tool_calls").u64(all.agent_calls()).end_object();
        let denied = all.permissions.values().filter(|denied| **denied).count();
        json.key("permissions").object().key("asked").u64(all.permissions.len() as u64);
        json.key("denied").u64(denied as u64).end_object();
        json.key("compactions").u64(all.compactions());
        json.key("copied_items").u64(all.copied.len() as u64);
        let tools = all.all_tools();
        json.key("milliseconds").object().key("sessions").u64(all.session_millis());
        json.key("tools").u64(tools.millis).end_object();
        json.key("tools").object().key("total").object();
        outcomes(&tools, json);
        json.end_object().key("by_name").array();
        for (name, counts) in all.tools() {
            json.object().key("name");
            nullable(name.as_deref(), json);
            outcomes(&counts, json);
            json.end_object();
        }
        json.end_array().end_object();
        json.key("files_changed").array();
        for (path, FileChanges { times, untold, added, removed }) in all.changed_files() {
            json.object().key("path").str(&Str::plain(path)).key("times").u64(times);
            json.key("without_diff").u64(untold).key("added").u64(added).key("removed").u64(removed);
            json.end_object();
        }
        json.end_array().key("usage").object().key("total").object();
        spent(&spending.total, json);
        json.end_object().key("by_model").array();
        for (model, row) in &spending.by_model {
            json.object().key("model");
            nullable(model.as_deref(), json);
            spent(row, json);
            if let Some(stand_in) = model.as_deref().and_then(|model| prices.stand_in_for(model)) {
                json.key("estimated_by").str(&Str::plain(stand_in));
            }
            json.end_object();
        }
        json.end_array().key("by_day").array();
        for (day, row) in &spending.by_day {
            json.object().key("day");
            nullable(day.map(|day| time::date(day.saturating_mul(86_400_000))).as_deref(), json);
            spent(row, json);
            json.end_object();
        }
        json.end_array().key("repeated_responses").u64(all.repeated).end_object();
        json.key("prices").object().key("date").str(&Str::plain(&prices.date));
        json.key("source").str(&Str::plain(&prices.source)).end_object().end_object();
    })
}

fn counted(file: &CountedFile, json: &mut JsonWriter<'_>) {
    let CountedFile { name, identity, sessions, turns, tools, spent: row, errors } = file;
    json.object().key("input").str(&Str::plain(name)).key("dialect").literal(identity.dialect.name);
    json.key("sessions").u64(*sessions).key("turns").u64(*turns).key("errors").u64(*errors);
    json.key("tools").object();
    outcomes(tools, json);
    json.end_object().key("usage").object();
    spent(row, json);
    json.end_object().end_object();
}

fn outcomes(counts: &ToolCounts, json: &mut JsonWriter<'_>) {
    let ToolCounts { calls, ok, failed, no_result, errors, bad_exits, millis } = *counts;
    json.key("calls").u64(calls).key("ok").u64(ok).key("failed").u64(failed).key("no_result").u64(no_result);
    json.key("failed_by_error").u64(errors).key("failed_by_exit_code").u64(bad_exits);
    json.key("milliseconds").u64(millis);
}

fn spent(spent: &Spent, json: &mut JsonWriter<'_>) {
    for (name, count) in [
        ("responses", spent.responses),
        ("input", spent.input),
        ("cache_read", spent.cache_read),
        ("cache_write", spent.cache_write),
        ("cache_write_long", spent.cache_write_long),
        ("output", spent.output),
        ("reasoning", spent.reasoning),
        ("tokens", spent.tokens()),
    ] {
        json.key(name).u64(count);
    }
    json.key("cost").object();
    for (name, cost) in [
        ("usd", spent.cost()),
        ("told", spent.told),
        ("computed", spent.computed),
        ("estimated", spent.estimated),
    ] {
        json.key(name);
        money(cost, json);
    }
    json.key("estimated_tokens").u64(spent.estimated_tokens);
    json.key("unknown_responses").u64(spent.unpriced).key("unknown_tokens").u64(spent.unpriced_tokens);
    json.end_object();
}

fn money(cost: Picodollars, json: &mut JsonWriter<'_>) {
    json.raw(&Raw::new(&exact_dollars(cost)));
}

fn nullable(text: Option<&str>, json: &mut JsonWriter<'_>) {
    match text {
        Some(text) => json.str(&Str::plain(text)),
        None => json.null(),
    };
}
