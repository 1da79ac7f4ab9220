//! Tests every number in `Capabilities` at N and at N + 1, for every dialect of a model API.

use std::borrow::Cow;

use interlingua::dialects::{DIALECTS, Dialect, Options, Role};
use interlingua::ledger::Report;
use interlingua::pipe::Pipe;
use interlingua::wire::backends::{Backend, Capabilities, SharedBackend, ThinkingForms};
use serde_json::{Value, json};

/// Thinking is requested by a budget of any size.
fn budgets() -> ThinkingForms {
    let mut forms = ThinkingForms::EFFORT_ALONE;
    (forms.budget, forms.budget_least, forms.off) = (true, 1024, true);
    forms
}

/// The vendor of a dialect with changed capabilities.
fn backend(dialect: &str, change: impl FnOnce(&mut Capabilities)) -> Option<SharedBackend> {
    let mut backend = Backend::of_dialect(dialect)?.clone();
    backend.models = Cow::default();
    backend.takes.refuses = Cow::default();
    backend.takes.sampling_with_thinking = true;
    change(&mut backend.takes);
    backend.into()
}

fn ask(from: &str, to: &Dialect, backend: &SharedBackend, request: &Value) -> (Value, Report) {
    let from = (Dialect::named(from).unwrap(), Role::Request);
    let options = Options::default().with_backend(backend.clone());
    let pipe = Pipe::new(from, (to, Role::Request), &options).unwrap();
    let mut out = Vec::new();
    let report = pipe.finish_with(request.to_string().as_bytes(), &mut out);
    assert!(report.adds_up(), "{report:?}");
    (serde_json::from_slice(&out).unwrap(), report)
}

/// The dialects with a request writer.
fn apis() -> impl Iterator<Item = &'static Dialect> {
    let writes = |dialect: &&Dialect| dialect.role(Role::Request).is_some_and(|spec| spec.write.is_some());
    DIALECTS.iter().copied().filter(writes).filter(|dialect| Backend::of_dialect(dialect.name).is_some())
}

fn each<'v>(value: &'v Value, name: &str, show: &mut dyn FnMut(&str, &'v Value)) {
    match value {
        Value::Object(members) => members.iter().for_each(|(name, value)| {
            show(name, value);
            each(value, name, show);
        }),
        Value::Array(list) => list.iter().for_each(|value| {
            show(name, value);
            each(value, name, show);
        }),
        _ => {}
    }
}

fn texts(value: &Value, begin: &str) -> Vec<String> {
    let mut found = Vec::new();
    each(value, "", &mut |_, value| {
        found.extend(value.as_str().filter(|text| text.starts_with(begin)).map(str::to_owned));
    });
    found
}

/// The numbers of members whose name contains this text.
fn numbers(value: &Value, part: &str) -> Vec<f64> {
    let mut found = Vec::new();
    each(value, "", &mut |name, value| {
        if name.to_lowercase().contains(part) {
            found.extend(value.as_f64());
        }
    });
    found
}

fn chat(more: Value) -> Value {
    let mut request = json!({"model": "m", "messages": [{"role": "user", "content": "x"}]});
    for (name, value) in more.as_object().cloned().unwrap_or_default() {
        request[name] = value;
    }
    request
}

#[test]
fn so_many_texts_to_stop_at_and_no_more() {
    for to in apis() {
        let Some(backend) = backend(to.name, |takes| (takes.max_stop_texts, takes.max_stop_bytes) = (3, 8))
        else {
            continue;
        };
        let stops =
            |count: usize| -> Vec<String> { (0..count).map(|number| format!("STOP-{number}")).collect() };
        let (before, report) = ask("openai-chat", to, &backend, &chat(json!({"stop": stops(3)})));
        // The Responses API has no stop sequences.
        if texts(&before, "STOP-").is_empty() {
            assert!(report.lost >= 3, "{}: {report:?}", to.name);
            continue;
        }
        assert_eq!(texts(&before, "STOP-"), stops(3), "{}", to.name);
        let (out, over) = ask("openai-chat", to, &backend, &chat(json!({"stop": stops(4)})));
        assert_eq!(texts(&out, "STOP-"), stops(3), "{}", to.name);
        assert_eq!(over.lost, report.lost + 1, "{}", to.name);
        let (out, _) = ask("openai-chat", to, &backend, &chat(json!({"stop": ["STOP-678", "STOP-6789"]})));
        assert_eq!(texts(&out, "STOP-"), ["STOP-678"], "{}: so many bytes", to.name);
    }
}

#[test]
fn blank_texts_to_stop_at_only_where_they_are_taken() {
    for to in apis() {
        for blank in [false, true] {
            let Some(backend) = backend(to.name, |takes| takes.blank_stop_texts = blank) else { continue };
            let (out, _) = ask("openai-chat", to, &backend, &chat(json!({"stop": ["STOP-1", " \n"]})));
            if !texts(&out, "STOP-").is_empty() {
                assert_eq!(!texts(&out, " \n").is_empty(), blank, "{}", to.name);
            }
        }
    }
}

#[test]
fn the_highest_temperature_is_taken_and_a_higher_one_is_not() {
    for to in apis() {
        let Some(backend) = backend(to.name, |takes| takes.max_temperature = 1.25) else { continue };
        let (out, _) = ask("openai-chat", to, &backend, &chat(json!({"temperature": 1.25})));
        assert_eq!(numbers(&out, "temperature"), [1.25], "{}", to.name);
        let (out, report) = ask("openai-chat", to, &backend, &chat(json!({"temperature": 1.26})));
        assert!(numbers(&out, "temperature").iter().all(|number| *number <= 1.25), "{}: {out}", to.name);
        assert!(report.lost > 0, "{}", to.name);
    }
}

#[test]
fn the_fewest_tokens_are_taken_and_fewer_are_not() {
    for to in apis() {
        let Some(backend) = backend(to.name, |takes| takes.min_tokens = 5) else { continue };
        let (out, _) = ask("openai-chat", to, &backend, &chat(json!({"max_completion_tokens": 5})));
        assert!(numbers(&out, "tokens").contains(&5.0), "{}: {out}", to.name);
        let (out, report) = ask("openai-chat", to, &backend, &chat(json!({"max_completion_tokens": 4})));
        assert!(!numbers(&out, "tokens").contains(&4.0), "{}: {out}", to.name);
        assert!(report.lost > 0, "{}", to.name);
    }
}

#[test]
fn names_of_tools_and_ids_of_calls_are_as_long_as_they_may_be() {
    let tool = |name: &str| {
        chat(
            json!({"tools": [{"type": "function", "function": {"name": name, "parameters": {"type": "object"}}}]}),
        )
    };
    for to in apis() {
        let Some(backend) = backend(to.name, |takes| {
            (takes.tool_names.least, takes.tool_names.most, takes.tool_names.letter_first) = (1, 10, true);
            (takes.call_ids.least, takes.call_ids.most) = (1, 12);
        }) else {
            continue;
        };
        let named = |name: &str| texts(&ask("openai-chat", to, &backend, &tool(name)).0, name).len();
        assert_eq!(named("TOOLabcdef"), 1, "{}: ten letters", to.name);
        let (out, _) = ask("openai-chat", to, &backend, &tool("TOOLabcdefg"));
        let names = texts(&out, "TOOL");
        assert!(names.iter().all(|name| name.len() <= 10), "{}: {names:?}", to.name);
        assert_eq!(named("9TOOL"), 0, "{}: a digit first", to.name);

        let called = |id: &str| {
            let call = json!({"id": id, "type": "function", "function": {"name": "look", "arguments": "{}"}});
            chat(json!({"messages": [
                {"role": "user", "content": "x"},
                {"role": "assistant", "content": null, "tool_calls": [call]},
                {"role": "tool", "tool_call_id": id, "content": "r"}
            ]}))
        };
        let (out, _) = ask("openai-chat", to, &backend, &called("IDabc"));
        // There is no limit if requests have no call ids.
        if texts(&out, "IDabc").len() < 2 {
            continue;
        }
        let (out, _) = ask("openai-chat", to, &backend, &called("IDabcdefghij"));
        assert_eq!(texts(&out, "IDabcdefghij").len(), 2, "{}: twelve letters", to.name);
        let (out, _) = ask("openai-chat", to, &backend, &called("IDabcdefghijk"));
        assert!(texts(&out, "IDabcdefghijk").is_empty(), "{}: thirteen letters", to.name);
    }
}

#[test]
fn so_many_marks_for_the_cache_and_no_more() {
    let marked = |count: usize| {
        let mark = json!({"type": "ephemeral"});
        let said = |number: usize| {
            let part = json!({"type": "text", "text": format!("t{number}"), "cache_control": mark});
            [json!({"role": "user", "content": [part]}), json!({"role": "assistant", "content": "y"})]
        };
        let mut messages: Vec<Value> = (0..count).flat_map(said).collect();
        messages.pop();
        json!({"model": "m", "max_tokens": 9, "messages": messages})
    };
    let marks = |out: &Value| {
        let mut count = 0;
        each(out, "", &mut |name, _| {
            count += usize::from(name.contains("cache_control") || name.contains("cache_breakpoint"));
        });
        count
    };
    for to in apis() {
        let Some(backend) = backend(to.name, |takes| takes.max_cache_marks = 2) else { continue };
        let one = marks(&ask("anthropic", to, &backend, &marked(1)).0);
        if one == 0 {
            continue;
        }
        assert_eq!(one, 1, "{}", to.name);
        assert_eq!(marks(&ask("anthropic", to, &backend, &marked(2)).0), 2, "{}", to.name);
        assert_eq!(marks(&ask("anthropic", to, &backend, &marked(3)).0), 2, "{}", to.name);
    }
}

#[test]
fn the_largest_budget_is_taken_and_a_larger_one_is_not() {
    let thinks = |budget: u64| {
        json!({"model": "m", "max_tokens": 64_000, "thinking": {"type": "enabled", "budget_tokens": budget},
               "messages": [{"role": "user", "content": "x"}]})
    };
    for to in apis() {
        let mut forms = budgets();
        forms.budget_most = 3000;
        let change = |takes: &mut Capabilities| (takes.thinking, takes.efforts) = (forms, Cow::default());
        let Some(backend) = backend(to.name, change) else {
            continue;
        };
        let (out, _) = ask("anthropic", to, &backend, &thinks(3000));
        let budgets = numbers(&out, "budget");
        if budgets.is_empty() {
            continue;
        }
        assert_eq!(budgets, [3000.0], "{}", to.name);
        let (out, report) = ask("anthropic", to, &backend, &thinks(3001));
        assert_eq!(numbers(&out, "budget"), [3000.0], "{}", to.name);
        assert!(report.lost > 0, "{}", to.name);
    }
}

/// Effort words and budgets, in both directions.
#[test]
fn each_effort_has_its_budget_and_each_budget_its_effort() {
    let ladder: [(&str, f64); 6] = [
        ("minimal", 1024.0),
        ("low", 2048.0),
        ("medium", 8192.0),
        ("high", 16_384.0),
        ("xhigh", 24_576.0),
        ("max", 32_768.0),
    ];
    let to = Dialect::named("anthropic").unwrap();
    let by_budget =
        backend("anthropic", |takes| (takes.thinking, takes.efforts) = (budgets(), Cow::default())).unwrap();
    for (word, budget) in ladder {
        let request = chat(json!({"reasoning_effort": word, "max_completion_tokens": 60_000}));
        assert_eq!(numbers(&ask("openai-chat", to, &by_budget, &request).0, "budget"), [budget], "{word}");
    }
    let to = Dialect::named("openai-chat").unwrap();
    let by_word = backend("openai-chat", |takes| {
        takes.thinking = budgets();
        takes.thinking.budget = false;
        takes.efforts = ["minimal", "low", "medium", "high", "xhigh", "max"].map(Cow::from).to_vec().into();
    })
    .unwrap();
    for (number, (word, budget)) in ladder.into_iter().enumerate() {
        let at = |budget: f64| {
            let request = json!({"model": "m", "max_tokens": 64_000, "messages": [{"role": "user", "content": "x"}],
                                 "thinking": {"type": "enabled", "budget_tokens": budget as u64}});
            ask("anthropic", to, &by_word, &request).0["reasoning_effort"].clone()
        };
        assert_eq!(at(budget), word, "{budget}");
        if number > 0 {
            assert_eq!(at(budget - 1.0), ladder[number - 1].0, "below {budget}");
        }
    }
}

/// The capabilities of servers and models match the recorded table.
#[test]
fn what_servers_take_is_written_down() {
    let mut text = String::new();
    for backend in Backend::built_in() {
        text += &format!("{} {}\n", backend.dialect, backend.name);
        let rows = std::iter::once(("any model".to_owned(), &backend.takes));
        for (names, takes) in rows.chain(backend.models.iter().map(|row| (row.names.join(" "), &row.takes))) {
            let shown = format!("{takes:?}");
            for member in top_members(&shown) {
                text += &format!("  {names}: {member}\n");
            }
        }
    }
    crate::tables::compare_text("backends", &text);
}

/// The members of a struct in its `Debug` output.
fn top_members(shown: &str) -> Vec<&str> {
    let inner = shown.split_once(" { ").map_or("", |(_, rest)| rest).trim_end_matches(" }");
    let (mut depth, mut start, mut members) = (0, 0, Vec::new());
    for (at, c) in inner.char_indices() {
        match c {
            '{' | '[' | '(' => depth += 1,
            '}' | ']' | ')' => depth -= 1,
            ',' if depth == 0 => {
                members.push(inner[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    members.push(inner[start..].trim());
    members
}

/// Which media types each API and each log accepts, as bytes and by address.
#[test]
fn each_type_of_media_goes_where_it_is_taken() {
    const TYPES: [&str; 13] = [
        "image/png",
        "image/jpeg",
        "image/gif",
        "image/webp",
        "image/bmp",
        "image/heic",
        "image/svg+xml",
        "application/pdf",
        "text/plain",
        "audio/wav",
        "audio/mpeg",
        "video/mp4",
        "application/zip",
    ];
    let mut text = String::new();
    let gemini = Dialect::named("gemini").unwrap();
    for to in apis() {
        text += &format!("{}\n", to.name);
        for media in TYPES {
            let mut found = Vec::new();
            for (how, part) in [
                ("bytes", json!({"inlineData": {"mimeType": media, "data": "TUVESUE="}})),
                (
                    "address",
                    json!({"fileData": {"mimeType": media, "fileUri": "https://media.test/TUVESUE="}}),
                ),
            ] {
                let request =
                    json!({"model": "m", "contents": [{"role": "user", "parts": [{"text": "x"}, part]}]});
                let pipe =
                    Pipe::new((gemini, Role::Request), (to, Role::Request), &Options::default()).unwrap();
                let mut out = Vec::new();
                pipe.finish_with(request.to_string().as_bytes(), &mut out);
                let out: Value = serde_json::from_slice(&out).unwrap();
                let mut place = Vec::new();
                each(&out, "", &mut |name, value| {
                    if value.as_str().is_some_and(|text| text.contains("TUVESUE=")) {
                        place.push(name.to_owned());
                    }
                });
                let mut kinds = texts(&out, "");
                kinds.retain(|kind| {
                    ["image", "document", "file", "audio", "video"].iter().any(|sort| kind.contains(sort))
                        && kind.len() < 24
                });
                found.push(format!("{how}: {} {}", place.join(" "), kinds.join(" ")).trim_end().to_owned());
            }
            text += &format!("  {media}: {}\n", found.join("; "));
        }
    }
    crate::tables::compare_text("media", &text);
}
