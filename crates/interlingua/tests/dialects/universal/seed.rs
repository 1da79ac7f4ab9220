//! Closed universal events: every fixture validates against the shipped schema, and the report lists the omitted values.

use interlingua::dialects::Options;
use interlingua::dialects::ours::universal::SEED_SCHEMA;
use interlingua::model::Field;
use serde_json::{Value, json};

use super::{Source, convert_in, of, parse, sources, stream, universal, with_raw};

/// The places of a value that differ from the schema. Supports the words of our schema, and panics at any other word.
fn breaches(value: &Value, schema: &Value, root: &Value, place: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    for (word, rule) in schema.as_object().unwrap() {
        let holds = match word.as_str() {
            "$schema" | "title" | "description" | "$defs" | "then" => true,
            "$ref" => {
                let target = root.pointer(rule.as_str().unwrap().trim_start_matches('#')).unwrap();
                wrong.extend(breaches(value, target, root, place));
                true
            }
            "type" => match rule {
                Value::Array(types) => types.iter().any(|name| is_of(value, name)),
                name => is_of(value, name),
            },
            "enum" => rule.as_array().unwrap().contains(value),
            "const" => rule == value,
            "minimum" => value.as_i64().is_some_and(|number| number >= rule.as_i64().unwrap()),
            "required" => {
                rule.as_array().unwrap().iter().all(|name| value.get(name.as_str().unwrap()).is_some())
            }
            "additionalProperties" => {
                assert_eq!(rule, &json!(false));
                let known = schema["properties"].as_object().unwrap();
                value.as_object().is_none_or(|object| object.keys().all(|name| known.contains_key(name)))
            }
            "properties" => {
                for (name, rule) in rule.as_object().unwrap() {
                    if let Some(member) = value.get(name) {
                        wrong.extend(breaches(member, rule, root, &format!("{place}/{name}")));
                    }
                }
                true
            }
            "items" => {
                for (number, element) in value.as_array().into_iter().flatten().enumerate() {
                    wrong.extend(breaches(element, rule, root, &format!("{place}/{number}")));
                }
                true
            }
            "oneOf" => {
                let fits = |rule: &&Value| breaches(value, rule, root, place).is_empty();
                rule.as_array().unwrap().iter().filter(fits).count() == 1
            }
            "allOf" => {
                for rule in rule.as_array().unwrap() {
                    wrong.extend(breaches(value, rule, root, place));
                }
                true
            }
            "if" => {
                if breaches(value, rule, root, place).is_empty() {
                    wrong.extend(breaches(value, &schema["then"], root, place));
                }
                true
            }
            other => panic!("the validator does not know `{other}`"),
        };
        if !holds {
            wrong.push(format!("{place}: {word}"));
        }
    }
    wrong
}

fn is_of(value: &Value, name: &Value) -> bool {
    match name.as_str().unwrap() {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        other => panic!("the validator does not know the type `{other}`"),
    }
}

fn closed(source: &Source, options: Options) -> (Vec<Value>, interlingua::ledger::Report) {
    let options = options.with_seed_schema(true);
    let (bytes, report) = convert_in(&[&source.bytes], source.dialect, "universal", &options);
    (parse(&bytes), report)
}

fn schema() -> Value {
    serde_json::from_str(SEED_SCHEMA).unwrap()
}

fn check(events: &[Value], name: &str) {
    let schema = schema();
    for event in events {
        assert_eq!(breaches(event, &schema, &schema, ""), Vec::<String>::new(), "{name}: {event}");
    }
}

#[test]
fn every_log_and_stream_validates_closed() {
    for source in sources() {
        check(&closed(&source, Options::default()).0, &source.name);
        check(&closed(&source, with_raw()).0, &source.name);
    }
}

/// The schema refuses the members that we add, so the test above can fail.
#[test]
fn open_events_do_not_validate() {
    let schema = schema();
    let events: Vec<Value> = sources().iter().flat_map(|source| parse(&universal(source))).collect();
    let mut refused = std::collections::BTreeSet::new();
    for event in events {
        if !breaches(&event, &schema, &schema, "").is_empty() {
            refused.insert(event["type"].as_str().unwrap().to_owned());
        }
    }
    let refused: Vec<&str> = refused.iter().map(String::as_str).collect();
    assert_eq!(
        refused,
        ["item.completed", "item.delta", "item.started", "question.requested", "question.resolved"]
    );
    // Free-form members of the schema hold no value of ours either.
    let line = r#"{"type":"system","subtype":"init","session_id":"s","model":"m","cwd":"/w"}"#;
    let options = Options::default().with_seed_schema(true);
    let (bytes, _) = convert_in(&[line.as_bytes()], "claude-stream", "universal", &options);
    let events = parse(&bytes);
    assert_eq!(events[0]["data"], json!({}));
    for event in &events {
        assert!(event["data"].get("metadata").is_none() && event["data"].get("details").is_none(), "{event}");
    }
}

/// Sequences have no gap, and text deltas add up to the text, without the deltas of reasoning and arguments.
#[test]
fn closed_events_follow_the_rules_of_open_events() {
    for source in sources() {
        let (events, _) = closed(&source, Options::default());
        for (number, event) in events.iter().enumerate() {
            assert_eq!(event["sequence"], json!(number + 1), "{}", source.name);
        }
        for done in of(&events, "item.completed") {
            let item = &done["data"]["item"];
            let deltas = of(&events, "item.delta");
            let own = deltas.iter().filter(|delta| delta["data"]["item_id"] == item["item_id"]);
            let streamed: String = own.map(|delta| delta["data"]["delta"].as_str().unwrap()).collect();
            let parts = item["content"].as_array().unwrap().iter();
            let text: String =
                parts.filter_map(|part| part["text"].as_str().filter(|_| part["type"] == "text")).collect();
            if !streamed.is_empty() && item["kind"] == "message" {
                assert_eq!(streamed, text, "{}", source.name);
            }
        }
    }
}

/// A closed conversion loses at least the values that an open conversion loses, and the values of our members.
#[test]
fn omitted_members_are_in_the_report() {
    let mut lost = std::collections::BTreeSet::new();
    for source in sources() {
        let (_, open) = convert_in(&[&source.bytes], source.dialect, "universal", &Options::default());
        let (_, report) = closed(&source, Options::default());
        assert!(report.lost >= open.lost, "{}: {} < {}", source.name, report.lost, open.lost);
        lost.extend(report.lost_paths.iter().filter_map(|row| row.field));
    }
    for field in [
        Field::UsageInput,
        Field::UsageOutput,
        Field::Cost,
        Field::StopReason,
        Field::SessionModel,
        Field::SessionCwd,
        Field::ItemModel,
        Field::ItemAgent,
        Field::ItemParentCall,
        Field::ItemStatus,
        Field::ResultExitCode,
        Field::ResultDuration,
        Field::Signature,
        Field::Encrypted,
        Field::ErrorStatus,
        Field::QuestionOptionAbout,
        Field::CompactionTrigger,
        Field::MessageMedia,
        Field::ResultMedia,
    ] {
        assert!(lost.contains(&field), "{field:?}");
    }
}

/// Several prompts become one; the report lists the others.
#[test]
fn later_questions_are_lost_and_reported() {
    let ask = json!({"type": "control_request", "request_id": "r1", "request": {"subtype": "can_use_tool",
        "tool_name": "AskUserQuestion", "input": {"questions": [
            {"question": "Which colour?", "header": "C", "multiSelect": false,
             "options": [{"label": "Red", "description": "the red one"}]},
            {"question": "Which size?", "header": "S", "multiSelect": true,
             "options": [{"label": "Large", "description": "the large one"}]}]}}});
    let line = format!("{ask}\n");
    let open = stream(&line);
    assert_eq!(of(&open, "question.requested")[0]["data"]["prompts"].as_array().unwrap().len(), 2);
    let options = Options::default().with_seed_schema(true);
    let (bytes, report) = convert_in(&[line.as_bytes()], "claude-stream", "universal", &options);
    let asked = parse(&bytes);
    let asked = &of(&asked, "question.requested")[0]["data"];
    assert_eq!((&asked["prompt"], &asked["options"]), (&json!("Which colour?"), &json!(["Red"])));
    let lost: Vec<Field> = report.lost_paths.iter().filter_map(|row| row.field).collect();
    for field in
        [Field::QuestionText, Field::QuestionOption, Field::QuestionOptionAbout, Field::QuestionMultiple]
    {
        assert!(lost.contains(&field), "{field:?}: {lost:?}");
    }
}

/// A closed stream is universal events as well, and closing it again changes nothing.
#[test]
fn closed_events_are_closed_again_unchanged() {
    for source in sources() {
        let options = Options::default().with_seed_schema(true);
        let (once, _) = convert_in(&[&source.bytes], source.dialect, "universal", &options);
        let events = parse(&once);
        let again = Source { name: source.name.clone(), dialect: "universal", bytes: once };
        let (again, _) = closed(&again, Options::default());
        // Deltas of the schema have no part, so that several texts of an item may come back as one.
        let texts = |events: &[Value]| -> Vec<[String; 4]> {
            let of_item = |event: &&Value| {
                let parts = event["data"]["item"]["content"].as_array().unwrap().clone();
                let joined = |kind: &str, name: &str| -> String {
                    let own = parts.iter().filter(|part| part["type"] == kind);
                    own.filter_map(|part| part[name].as_str()).collect()
                };
                let calls = joined("tool_call", "arguments") + &joined("tool_result", "output");
                [joined("text", "text"), joined("reasoning", "text"), calls, joined("status", "label")]
            };
            of(events, "item.completed").iter().map(of_item).collect()
        };
        assert_eq!(texts(&again), texts(&events), "{}", source.name);
    }
}
