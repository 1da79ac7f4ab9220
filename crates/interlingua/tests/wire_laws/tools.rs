//! Tool names across an exchange, and losses of neighbouring tools.

use std::collections::BTreeSet;

use interlingua::dialects::{Dialect, Options, Role};
use interlingua::ledger::{Fate, Leaf, Reason};
use interlingua::pipe::Pipe;
use serde_json::{Value, json};

use super::sdk_user::{folded, stream_of};
use super::{ToolId, WIRE, answer_that_calls, exchange, noted, request_with_tools, tool_id, tools_in};

#[test]
fn a_tool_name_that_reaches_the_client_is_one_that_it_declared() {
    let groups = [None, Some("fx"), Some("crm"), Some("mcp__dock")];
    let names = ["fx", "read", "fs.read/file", "crm__read", "list"];
    let all: Vec<ToolId> = groups.iter().flat_map(|group| names.map(|name| tool_id(*group, name))).collect();
    // Each tool alone, each next to a tool of the same name, and all at once.
    let mut sets: Vec<Vec<ToolId>> = all.iter().map(|tool| vec![tool.clone()]).collect();
    sets.push(vec![tool_id(None, "read"), tool_id(Some("crm"), "read"), tool_id(Some("fx"), "read")]);
    sets.push(vec![tool_id(Some("crm"), "read"), tool_id(None, "crm__read")]);
    sets.push(all);
    let mut wrong = Vec::new();
    let mut tried = 0;
    for (client, backend) in WIRE.iter().flat_map(|client| WIRE.map(|backend| (*client, backend))) {
        let sets = sets
            .iter()
            .filter(|set| client == "openai-responses" || set.iter().all(|(group, _)| group.is_none()));
        for set in sets {
            let request = request_with_tools(client, set);
            let declared = tools_in(&request);
            assert_eq!(declared.len(), set.len(), "{client}");
            let mut sent = Vec::new();
            exchange(client, backend).request(request.to_string().as_bytes(), &mut sent).unwrap();
            let sent: Value = serde_json::from_slice(&sent).unwrap();
            let sent = tools_in(&sent);
            assert_eq!(sent.len(), declared.len(), "{client} to {backend}: {set:?}");
            for (tool, (group, name)) in declared.iter().zip(&sent) {
                // The forms in which backends name a tool: as declared, without its group, with a group where there is
                // none, with both in the name, and with the name as its group.
                let mut forms = vec![(group.clone(), name.clone())];
                let is_only = sent.iter().filter(|(_, other)| other == name).count() == 1;
                if group.is_none() || is_only {
                    forms.push((Some(name.clone()), name.clone()));
                    forms.push((Some("functions".to_owned()), name.clone()));
                }
                if let Some(group) = group {
                    forms.push((None, format!("{group}__{name}")));
                    forms.extend(is_only.then(|| (None, name.clone())));
                } else {
                    forms.extend(
                        name.split_once("__").map(|(group, name)| (Some(group.to_owned()), name.to_owned())),
                    );
                }
                for form in forms {
                    if backend != "openai-responses" && form.0.is_some()
                        || sent.contains(&form) && form != (group.clone(), name.clone())
                    {
                        continue;
                    }
                    for streamed in [false, true] {
                        let whole = answer_that_calls(backend, &form);
                        let body = if streamed { stream_of(backend, &whole) } else { whole.to_string() };
                        let role = if streamed { Role::Stream } else { Role::Response };
                        let mut exchange = exchange(client, backend);
                        exchange.request(request.to_string().as_bytes(), &mut Vec::new()).unwrap();
                        let mut out = Vec::new();
                        let outcome = exchange.answer(role).unwrap().finish_with(body.as_bytes(), &mut out);
                        let out = String::from_utf8(out).unwrap();
                        let out =
                            if streamed { folded(client, &out) } else { serde_json::from_str(&out).unwrap() };
                        let got = tools_in(&out);
                        tried += 1;
                        if got != [tool.clone()] && !noted(&outcome.report, "does not declare") {
                            wrong.push(format!(
                                "{client} from {backend} ({streamed}): {form:?} of {set:?} became {got:?}"
                            ));
                        } else if form == (group.clone(), name.clone()) && got != [tool.clone()] {
                            wrong.push(format!(
                                "{client} from {backend}: the name that was sent, {form:?}, is {got:?}"
                            ));
                        }
                    }
                }
            }
        }
    }
    assert!(tried > 1000, "{tried}");
    assert!(
        wrong.is_empty(),
        "{} of {tried} wrong\n{}",
        wrong.len(),
        wrong[..wrong.len().min(40)].join("\n")
    );
}

#[test]
fn a_call_of_a_tool_that_nobody_declared_is_reported() {
    for (client, backend) in WIRE.iter().flat_map(|client| WIRE.map(|backend| (*client, backend))) {
        let mut exchange = exchange(client, backend);
        let request = request_with_tools(client, &[tool_id(None, "read")]);
        exchange.request(request.to_string().as_bytes(), &mut Vec::new()).unwrap();
        let body = answer_that_calls(backend, &tool_id(None, "sink")).to_string();
        let mut out = Vec::new();
        let outcome = exchange.answer(Role::Response).unwrap().finish_with(body.as_bytes(), &mut out);
        assert!(noted(&outcome.report, "does not declare"), "{client} from {backend}");
        let names: BTreeSet<ToolId> = tools_in(&serde_json::from_slice(&out).unwrap()).into_iter().collect();
        assert_eq!(names, BTreeSet::from([tool_id(None, "sink")]));
    }
}

#[test]
fn a_loss_is_booked_on_the_tool_that_was_lost() {
    // Tools of every kind of an API, one lost and one kept, in both orders.
    let anthropic = [
        json!({"type": "memory_20250818", "name": "memory"}),
        json!({"type": "custom", "name": "kept", "description": "d", "input_schema": {"type": "object"}}),
        json!({"name": "plain", "input_schema": {"type": "object"}, "strict": true}),
        json!({"type": "bash_20250124", "name": "bash"}),
        json!({"type": "text_editor_20250728", "name": "str_replace_based_edit_tool", "max_characters": 10}),
        json!({"type": "computer_20250124", "name": "computer", "display_width_px": 1, "display_height_px": 2}),
        json!({"type": "custom", "name": "late", "input_schema": {"type": "object"}, "strict": false, "defer_loading": true}),
    ];
    let responses = [
        json!({"type": "custom", "name": "patch"}),
        json!({"type": "function", "name": "look", "parameters": {"type": "object"}, "strict": true}),
        json!({"type": "local_shell"}),
        json!({"type": "mcp", "server_label": "dock", "server_url": "https://dock.example", "require_approval": "never"}),
        json!({"type": "function", "name": "late", "parameters": {"type": "object"}, "strict": false, "defer_loading": true}),
        json!({"type": "file_search", "vector_store_ids": ["v"]}),
    ];
    let chat = [
        json!({"type": "function", "function": {"name": "look", "parameters": {"type": "object"}, "strict": true}}),
        json!({"type": "custom", "custom": {"name": "patch"}}),
        json!({"type": "function", "function": {"name": "plain", "parameters": {"type": "object"}, "strict": false}}),
    ];
    let base = |client: &str, tools: &[Value]| match client {
        "anthropic" => {
            json!({"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "x"}], "tools": tools})
        }
        "openai-responses" => json!({"model": "m", "input": "x", "tools": tools}),
        _ => json!({"model": "m", "messages": [{"role": "user", "content": "x"}], "tools": tools}),
    };
    // The lost leaves of each tool with the reasons, as for the tool alone.
    let lost = |client: &str, to: &str, tools: &[Value]| {
        let request = base(client, tools).to_string();
        let side = |name| Dialect::named(name).unwrap();
        let options = Options::default().with_trace(true);
        let pipe = Pipe::new((side(client), Role::Request), (side(to), Role::Request), &options).unwrap();
        let report = pipe.finish_with(request.as_bytes(), &mut Vec::new());
        let start = request.find("\"tools\":[").unwrap() + 9;
        let mut per_tool = Vec::new();
        let mut at = start;
        for tool in tools {
            let text = tool.to_string();
            let range = at..at + text.len();
            let own = |leaf: &&Leaf| leaf.span.as_ref().is_some_and(|span| range.contains(&span.start));
            let leaves = report.trace.iter().filter(own).filter(|leaf| matches!(leaf.fate, Fate::Lost(_)));
            per_tool.push(
                leaves.map(|leaf| leaf.span.clone().unwrap().start - range.start).collect::<BTreeSet<_>>(),
            );
            at = range.end + 1;
        }
        per_tool
    };
    let mut compared = 0;
    for (client, tools) in
        [("anthropic", &anthropic[..]), ("openai-responses", &responses[..]), ("openai-chat", &chat[..])]
    {
        for to in WIRE.into_iter().filter(|to| *to != client) {
            for one in tools {
                for other in tools.iter().filter(|other| *other != one) {
                    let alone = [
                        lost(client, to, std::slice::from_ref(one)).remove(0),
                        lost(client, to, std::slice::from_ref(other)).remove(0),
                    ];
                    let together = lost(client, to, &[one.clone(), other.clone()]);
                    compared += 1;
                    // Gemini enforces the schemas of all functions or of none: `strict` depends on the other tools
                    // there.
                    if to == "gemini" && (one.to_string() + &other.to_string()).contains("\"strict\"") {
                        continue;
                    }
                    assert_eq!(alone.as_slice(), together, "{client} to {to}: {one} beside {other}");
                }
            }
        }
    }
    assert!(compared > 200, "{compared}");
}

/// The tools that providers run themselves, in each dialect, and a function.
fn provider_tools(client: &str) -> Vec<Value> {
    let all = match client {
        "anthropic" => json!([
            {"type": "web_search_20250305", "name": "web_search", "max_uses": 3},
            {"type": "web_search_20250305", "name": "search_again", "allowed_domains": ["a.example"]},
            {"type": "web_fetch_20250910", "name": "web_fetch"},
            {"type": "code_execution_20250825", "name": "code_execution"},
            {"type": "memory_20250818", "name": "memory"},
            {"type": "bash_20250124", "name": "bash"},
            {"name": "look", "input_schema": {"type": "object"}},
        ]),
        "openai-responses" => json!([
            {"type": "web_search"},
            {"type": "web_search_preview", "search_context_size": "low"},
            {"type": "file_search", "vector_store_ids": ["v"]},
            {"type": "code_interpreter", "container": {"type": "auto"}},
            {"type": "image_generation"},
            {"type": "mcp", "server_label": "dock", "server_url": "https://dock.example"},
            {"type": "local_shell"},
            {"type": "function", "name": "look", "parameters": {"type": "object"}},
        ]),
        "gemini" => json!([
            {"googleSearch": {}},
            {"google_search": {}},
            {"googleSearchRetrieval": {}},
            {"urlContext": {}},
            {"codeExecution": {}},
            {"googleMaps": {}},
            {"functionDeclarations": [{"name": "look"}]},
        ]),
        "kimi" => json!([
            {"type": "builtin_function", "function": {"name": "$web_search"}},
            {"type": "builtin_function", "function": {"name": "$other"}},
            {"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}},
        ]),
        _ => json!([{"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}]),
    };
    all.as_array().unwrap().clone()
}

#[test]
fn a_tool_that_is_not_written_is_in_the_report() {
    let side = |name| Dialect::named(name).unwrap();
    let options = Options::default().with_trace(true);
    let mut compared = 0;
    for (client, to) in WIRE.iter().flat_map(|client| WIRE.map(|to| (*client, to))) {
        let all = provider_tools(client);
        let alone = all.iter().map(|tool| vec![tool.clone()]);
        let pairs = all.iter().flat_map(|one| all.iter().map(|other| vec![one.clone(), other.clone()]));
        // The search model of OpenAI has its search beside the tools.
        let models = ["m", "gpt-4o-search-preview"];
        for tools in alone.chain(pairs).chain([all.clone()]) {
            for (model, beside) in models.into_iter().flat_map(|model| [(model, false), (model, true)]) {
                let mut request = match client {
                    "anthropic" => json!({"max_tokens": 9, "messages": [{"role": "user", "content": "x"}]}),
                    "openai-responses" => json!({"input": "x"}),
                    "gemini" => json!({"contents": [{"role": "user", "parts": [{"text": "x"}]}]}),
                    _ => json!({"messages": [{"role": "user", "content": "x"}]}),
                };
                let has_search = beside && client == "openai-chat";
                if has_search {
                    request["web_search_options"] = json!({});
                } else if beside {
                    continue;
                }
                request["model"] = json!(model);
                request["tools"] = json!(tools);
                let request = request.to_string();
                let pipe =
                    Pipe::new((side(client), Role::Request), (side(to), Role::Request), &options).unwrap();
                let mut out = Vec::new();
                let report = pipe.finish_with(request.as_bytes(), &mut out);
                let out: Value = serde_json::from_slice(&out).unwrap();
                let list = out["tools"].as_array().into_iter().flatten();
                let functions = |tool: &Value| tool["functionDeclarations"].as_array().map_or(1, Vec::len);
                let written =
                    list.map(functions).sum::<usize>() + usize::from(!out["web_search_options"].is_null());
                // Every leaf of a reported tool is lost, and none is only replaced by a similar value.
                let is_lost =
                    |leaf: &Leaf| matches!(leaf.fate, Fate::Lost(reason) if reason != Reason::Narrowed);
                let mut at = request.find("\"tools\":[").unwrap() + 9;
                let mut reported = 0;
                for tool in &tools {
                    let range = at..at + tool.to_string().len();
                    let own = report
                        .trace
                        .iter()
                        .filter(|leaf| leaf.span.as_ref().is_some_and(|span| range.contains(&span.start)));
                    reported += usize::from(own.clone().count() > 0 && own.clone().all(is_lost));
                    at = range.end + 1;
                }
                let search = request.find("\"web_search_options\":").map(|at| at..at + 23);
                let of_search = report.trace.iter().filter(|leaf| {
                    search
                        .as_ref()
                        .zip(leaf.span.as_ref())
                        .is_some_and(|(range, span)| range.contains(&span.start))
                });
                reported += usize::from(
                    has_search && of_search.clone().count() > 0 && of_search.clone().all(is_lost),
                );
                compared += 1;
                let offered = tools.len() + usize::from(has_search);
                assert_eq!(
                    written + reported,
                    offered,
                    "{client} to {to}: {written} written, {reported} reported: {request}"
                );
            }
        }
    }
    assert!(compared > 500, "{compared}");
}
