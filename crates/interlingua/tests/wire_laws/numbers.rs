//! Numbers and texts at the limits that the targets document.

use std::collections::BTreeSet;

use interlingua::wire::backends::Backend;
use serde_json::{Value, json};

use super::{rows, rule, sent};

/// The documented range of a number in a target's API, by the number's place in a request.
type NumberPlace = (&'static str, &'static [&'static str], f64, f64);

const WHOLE: f64 = 9_007_199_254_740_991.0;

/// The ranges in the references of the APIs. Temperature and budgets depend on the server and the model.
fn documented(dialect: &str) -> &'static [NumberPlace] {
    match dialect {
        "anthropic" => &[
            ("max_tokens", &["max_tokens"], 0.0, WHOLE),
            ("top_p", &["top_p"], 0.0, 1.0),
            ("top_k", &["top_k"], 0.0, WHOLE),
        ],
        "openai-responses" => &[
            ("max_tokens", &["max_output_tokens"], 16.0, WHOLE),
            ("top_p", &["top_p"], 0.0, 1.0),
            ("top_logprobs", &["top_logprobs"], 0.0, 20.0),
        ],
        "gemini" => &[
            ("max_tokens", &["generationConfig", "maxOutputTokens"], 1.0, 2_147_483_647.0),
            ("top_p", &["generationConfig", "topP"], 0.0, 1.0),
            ("top_k", &["generationConfig", "topK"], 1.0, 2_147_483_647.0),
            ("seed", &["generationConfig", "seed"], -2_147_483_648.0, 2_147_483_647.0),
            ("top_logprobs", &["generationConfig", "logprobs"], 0.0, 20.0),
            ("n", &["generationConfig", "candidateCount"], 1.0, 8.0),
            ("frequency_penalty", &["generationConfig", "frequencyPenalty"], -2.0, 2.0),
            ("presence_penalty", &["generationConfig", "presencePenalty"], -2.0, 2.0),
        ],
        "kimi" => &[
            ("max_tokens", &["max_completion_tokens"], 1.0, WHOLE),
            ("top_p", &["top_p"], 0.0, 1.0),
            ("n", &["n"], 1.0, 5.0),
            ("frequency_penalty", &["frequency_penalty"], -2.0, 2.0),
            ("presence_penalty", &["presence_penalty"], -2.0, 2.0),
        ],
        _ => &[
            ("max_tokens", &["max_completion_tokens"], 1.0, WHOLE),
            ("max_tokens", &["max_tokens"], 1.0, WHOLE),
            ("top_p", &["top_p"], 0.0, 1.0),
            ("top_k", &["top_k"], -WHOLE, WHOLE),
            ("seed", &["seed"], -WHOLE, WHOLE),
            ("seed", &["random_seed"], -WHOLE, WHOLE),
            ("top_logprobs", &["top_logprobs"], 0.0, 20.0),
            ("n", &["n"], 1.0, 128.0),
            ("frequency_penalty", &["frequency_penalty"], -2.0, 2.0),
            ("presence_penalty", &["presence_penalty"], -2.0, 2.0),
        ],
    }
}

#[test]
fn no_number_is_written_that_the_target_refuses() {
    let edges = [1.0, 2.0, 5.0, 8.0, 16.0, 20.0, 128.0, 1024.0, 2_147_483_647.0, WHOLE];
    let edges = edges.iter().flat_map(|edge| [-edge, edge - 1.0, *edge, edge + 1.0, edge + 0.5]);
    let values: Vec<Value> = edges
        .map(|edge| if edge.fract() == 0.0 { json!(edge as i64) } else { json!(edge) })
        .chain([json!(1e300), json!("7"), json!("x"), json!(true), json!({"a": 1}), json!(-2.5)])
        .collect();
    let members = [
        "temperature",
        "max_tokens",
        "top_p",
        "top_k",
        "seed",
        "top_logprobs",
        "n",
        "frequency_penalty",
        "presence_penalty",
    ];
    let mut seen = BTreeSet::new();
    for (backend, model, takes) in rows() {
        for (member, value) in
            members.iter().flat_map(|member| values.iter().map(move |value| (*member, value)))
        {
            let request = json!({"model": model, "messages": [{"role": "user", "content": "x"}], "logprobs": true, member: value});
            let (out, report) = sent("openai-chat", backend, &request);
            let warmest = rule(takes, "max-temperature");
            let temperature: &[&[&str]] = &[&["temperature"], &["generationConfig", "temperature"]];
            let own = documented(backend.dialect).iter().filter(|(name, ..)| *name == member);
            let own = own.map(|(_, path, least, most)| (*path, *least, *most));
            let places = own.chain(
                temperature.iter().filter(|_| member == "temperature").map(|path| (*path, 0.0, warmest)),
            );
            let mut arrived = false;
            for (path, least, most) in places {
                let Some(written) = path.iter().try_fold(&out, |at, name| at.get(*name)) else { continue };
                let way = format!(
                    "{member} {value} to {} of {} ({model}): {written}",
                    path.join("."),
                    backend.name
                );
                let number = written.as_f64().unwrap_or_else(|| panic!("{way}"));
                assert!((least..=most).contains(&number), "{way}");
                let asked = value.as_f64().or_else(|| value.as_str()?.parse().ok());
                arrived |= asked == Some(number);
                seen.insert((backend.dialect, member));
            }
            let told = report.lost_paths.iter().any(|row| row.path.starts_with(&format!("/{member}")));
            assert!(
                arrived || told,
                "{member} {value} to {} ({model}): {out}\n{:?}",
                backend.name,
                report.lost_paths
            );
        }
    }
    assert!(seen.len() > 30, "{seen:?}");
}

#[test]
fn a_budget_for_thinking_is_one_that_the_model_takes() {
    let mut written = 0;
    for (backend, model, takes) in rows() {
        let (least, most) = (rule(takes, "thinking-budget-least"), rule(takes, "thinking-budget-most"));
        let budgets = [
            0.0, 1.0, 127.0, 128.0, 511.0, 512.0, 1023.0, 1024.0, 1025.0, 8192.0, 24_576.0, 24_577.0,
            32_768.0, 32_769.0, 1e9,
        ];
        let limits = [None, Some(1), Some(1024), Some(1025), Some(1026), Some(8192), Some(40_000)];
        let efforts = ["none", "minimal", "low", "medium", "high", "xhigh", "max"];
        #[expect(clippy::cast_sign_loss, reason = "no budget of the list is negative")]
        let asked = budgets.map(|budget| json!({"type": "enabled", "budget_tokens": budget as u64}));
        let odd = [
            json!({"type": "enabled", "budget_tokens": "many"}),
            json!({"type": "enabled", "budget_tokens": -5}),
            json!({"type": "enabled", "budget_tokens": 1500.5}),
        ];
        let thinking = asked.into_iter().chain(odd).map(|thinking| ("thinking", thinking));
        let wishes = thinking.chain(efforts.map(|effort| ("reasoning_effort", json!(effort))));
        for ((member, wish), limit) in wishes.flat_map(|wish| limits.map(|limit| (wish.clone(), limit))) {
            let mut request =
                json!({"model": model, "messages": [{"role": "user", "content": "x"}], member: wish});
            if let Some(limit) = limit {
                request["max_tokens"] = json!(limit);
            }
            let (out, report) = sent("openai-chat", backend, &request);
            let places: [&[&str]; 3] = [
                &["thinking", "budget_tokens"],
                &["generationConfig", "thinkingConfig", "thinkingBudget"],
                &["thinking_budget"],
            ];
            let budget = places.iter().find_map(|path| path.iter().try_fold(&out, |at, name| at.get(*name)));
            let way = format!("{wish}, limit {limit:?}, to {} ({model}): {out}", backend.name);
            if let Some(budget) = budget.filter(|budget| budget.as_i64() != Some(0)) {
                written += 1;
                let tokens = budget.as_f64().unwrap_or_else(|| panic!("{way}"));
                assert!((least..=most).contains(&tokens), "{way}");
                let all =
                    ["max_tokens", "max_completion_tokens"].iter().find_map(|name| out.get(*name)?.as_f64());
                if rule(takes, "thinking-budget-below-limit") > 0.0
                    && let Some(all) = all
                {
                    assert!(tokens < all, "{way}");
                }
            }
            let asked = wish.get("budget_tokens").filter(|asked| *asked != &json!(0));
            if let Some(asked) = asked
                && budget != Some(asked)
            {
                assert!(
                    report.lost_paths.iter().any(|row| row.path == "/thinking/budget_tokens"),
                    "{way}\n{:?}",
                    report.lost_paths
                );
            }
        }
    }
    assert!(written > 300, "{written}");
}

#[test]
fn texts_are_no_longer_than_the_target_takes() {
    for (most, text) in [(64, "k".repeat(64)), (64, "ż".repeat(64)), (64, "k".repeat(65))] {
        for (client, backend) in [("openai-responses", "openai-chat"), ("openai-chat", "openai-responses")] {
            let backend = Backend::of_dialect(backend).unwrap();
            let request = json!({"model": "m", "prompt_cache_key": text, "input": "x", "messages": [{"role": "user", "content": "x"}]});
            let (out, report) = sent(client, backend, &request);
            let key = out["prompt_cache_key"].as_str().unwrap();
            assert!(key.chars().count() <= most);
            assert_eq!(
                key == text,
                report.lost_paths.iter().all(|row| row.path != "/prompt_cache_key"),
                "{client}"
            );
        }
    }
    let backend = Backend::of_dialect("openai-chat").unwrap();
    for (count, name, value, fits) in
        [(16, 1, 512, 16), (17, 1, 1, 16), (1, 64, 1, 1), (1, 65, 1, 0), (1, 1, 513, 0)]
    {
        let pairs: serde_json::Map<String, Value> =
            (0..count).map(|number| (format!("{number:0>name$}"), json!("v".repeat(value)))).collect();
        let (out, report) =
            sent("openai-responses", backend, &json!({"model": "m", "input": "x", "metadata": pairs}));
        assert_eq!(out["metadata"].as_object().map_or(0, serde_json::Map::len), fits);
        let lost: u64 = report
            .lost_paths
            .iter()
            .filter(|row| row.path.starts_with("/metadata"))
            .map(|row| row.count)
            .sum();
        assert_eq!(lost, (count - fits) as u64, "{:?}", report.lost_paths);
    }
}
