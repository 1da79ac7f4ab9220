//! Work orders and receipts: translations, refusals, and the agreement of schemas and code.

#![allow(
    clippy::unwrap_used,
    clippy::needless_pass_by_value,
    clippy::panic,
    reason = "a test stops at the first surprise"
)]

use interlingua::dialects::Role;
use interlingua::error::StableCode;
use interlingua_record::contract::{
    Digest, Outcome, RECEIPT_SCHEMA, Receipt, WORK_ORDER_SCHEMA, WorkOrder, diff, verify,
};
use serde_json::{Value, json};

fn order(more: Value) -> Value {
    let mut order = json!({
        "schema": "interlingua.work-order/1",
        "task": "tides",
        "request": {"model": "claude-opus-5-5", "max_tokens": 900, "messages": [{"role": "user", "content": "When is high water?"}],
            "tools": [{"name": "tide", "input_schema": {"type": "object"}}]},
        "backend": {"dialect": "openai-chat"},
    });
    for (name, value) in more.as_object().unwrap() {
        order[name] = value.clone();
    }
    order
}

fn receipt_of(receipt: &Receipt) -> Value {
    let value: Value = serde_json::from_str(&receipt.to_json()).unwrap();
    let schema: Value = serde_json::from_str(RECEIPT_SCHEMA).unwrap();
    assert_eq!(against(&value, &schema, ""), Vec::<String>::new());
    value
}

/// A minimal JSON Schema validator, sufficient for our schemas.
fn against(value: &Value, schema: &Value, place: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut check = |holds: bool, what: &str| {
        if !holds {
            wrong.push(format!("{place}: {what}"));
        }
    };
    let is = |word: &str| match word {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "integer" => value.is_u64(),
        "null" => value.is_null(),
        other => panic!("{other}"),
    };
    match &schema["type"] {
        Value::String(word) => check(is(word), word),
        Value::Array(words) => check(words.iter().any(|word| is(word.as_str().unwrap())), "type"),
        _ => {}
    }
    if let Some(words) = schema["enum"].as_array() {
        check(words.contains(value), "enum");
    }
    if let Some(word) = schema.get("const") {
        check(word == value, "const");
    }
    if let (Some(members), false) =
        (value.as_object(), schema["additionalProperties"].is_null() && schema["properties"].is_null())
    {
        for name in schema["required"].as_array().into_iter().flatten() {
            check(members.contains_key(name.as_str().unwrap()), &format!("requires {name}"));
        }
        for (name, inner) in members {
            let place = format!("{place}/{name}");
            match (&schema["properties"][name], &schema["additionalProperties"]) {
                (Value::Null, Value::Bool(false)) => wrong.push(format!("{place}: unknown")),
                (Value::Null, Value::Null) => {}
                (Value::Null, other) => wrong.extend(against(inner, other, &place)),
                (known, _) => wrong.extend(against(inner, known, &place)),
            }
        }
    }
    for (number, inner) in value.as_array().into_iter().flatten().enumerate() {
        wrong.extend(against(inner, &schema["items"], &format!("{place}/{number}")));
    }
    wrong
}

fn read(order: &Value) -> WorkOrder {
    let schema: Value = serde_json::from_str(WORK_ORDER_SCHEMA).unwrap();
    assert_eq!(against(order, &schema, ""), Vec::<String>::new());
    WorkOrder::read(&order.to_string()).unwrap()
}

#[test]
fn an_order_is_carried_out_and_its_receipt_tells_how() {
    let order = read(&order(json!({"model": "gpt-5.2", "budget": {"max_output_tokens": 100}})));
    let mut done = order.translate(&[]).unwrap();
    let sent: Value = serde_json::from_slice(&done.sent).unwrap();
    assert_eq!((&sent["model"], &sent["max_completion_tokens"]), (&json!("gpt-5.2"), &json!(100)));
    let first = receipt_of(&done.receipt(&order, None));
    assert_eq!(
        first["route"],
        json!({"from": "anthropic", "to": "openai-chat", "backend": "openai", "model": "gpt-5.2"})
    );
    assert_eq!(first["sent"]["sha256"], Digest::of(&done.sent).sha256);
    // The order names the model, so its replacement is no loss.
    assert_eq!((&first["outcome"], &first["response"]), (&json!("Complete"), &Value::Null));

    let answer = json!({"id": "c", "object": "chat.completion", "created": 1, "model": "gpt-5.2", "choices": [{"index": 0,
        "finish_reason": "length", "message": {"role": "assistant", "content": "At no"}}], "usage": {"prompt_tokens": 9, "completion_tokens": 3, "total_tokens": 12}}).to_string();
    let returned = done.answer(answer.as_bytes(), Role::Response).unwrap();
    let receipt = done.receipt(&order, Some(&Digest::of(b"before")));
    let second = receipt_of(&receipt);
    assert_eq!(
        (&second["outcome"], &second["usage"]),
        (&json!("Partial"), &json!({"input": 9, "output": 3}))
    );
    let text = receipt.to_json();
    let files = |previous: &[u8]| {
        vec![
            ("response", answer.clone().into_bytes()),
            ("returned", returned.clone()),
            ("previous", previous.to_vec()),
        ]
    };
    assert_eq!(verify(&text, &files(b"before")), []);
    let found = verify(&text, &files(b"another"));
    assert_eq!((found.len(), found[0].pointer.as_str()), (1, "/previous"));
    // A changed receipt is detected by its own digest and by the next receipt.
    let found = verify(&text.replace("\"Partial\"", "\"Complete\""), &files(b"before"));
    assert_eq!((found.len(), found[0].pointer.as_str()), (1, "/digest"));
    assert_ne!(Digest::of(text.as_bytes()), Digest::of(text.replace("Partial", "Complete").as_bytes()));
    let changes = diff(&text, &text.replace("\"Partial\"", "\"Complete\"")).unwrap();
    assert_eq!(
        changes,
        [("/outcome".to_owned(), Some("\"Partial\"".to_owned()), Some("\"Complete\"".to_owned()))]
    );
}

#[test]
fn what_must_not_be_lost_is_refused_with_its_place_and_who_has_it() {
    let request = json!({"model": "m", "max_tokens": 9, "cache_control": {"type": "ephemeral"}, "messages": [{"role": "user", "content": "x"}]});
    let order = read(&order(json!({"request": request, "policy": {"settings": "fail"}})));
    let refusal = order.translate(&[]).unwrap_err();
    assert_eq!(
        (refusal.code, refusal.path.as_deref()),
        (StableCode::CapabilityUnsupported, Some("/cache_control/type"))
    );
    assert!(refusal.elsewhere.iter().any(|name| name.starts_with("anthropic")), "{:?}", refusal.elsewhere);
    let receipt = refusal.receipt(&order, None);
    assert_eq!(receipt.outcome, Outcome::Failed);
    let receipt = receipt_of(&receipt);
    assert_eq!(
        (&receipt["error"]["code"], &receipt["error"]["feature"]),
        (&json!("CAPABILITY_UNSUPPORTED"), &json!("request/cache"))
    );
}

#[test]
fn what_is_required_is_asked_before_anything_is_sent() {
    let requires = |feature: &str, minimum: &str| {
        read(&order(json!({"requirements": [{"feature": feature, "minimum": minimum}]})))
    };
    assert!(requires("request/tool/schema", "lossy").translate(&[]).is_ok());
    let refusal = requires("request/cache", "lossy").translate(&[]).unwrap_err();
    assert_eq!(
        refusal.to_string(),
        "CAPABILITY_UNSUPPORTED: cache marks on settings and tools (`request/cache`) has fidelity `none` in openai-chat, and `lossy` is required"
    );
}

#[test]
fn an_order_that_makes_no_sense_says_where() {
    for (change, pointer) in [
        (json!({"schema": "interlingua.work-order/2"}), "/schema"),
        (json!({"budgett": {}}), "/budgett"),
        (json!({"backend": {"dialect": "klingon"}}), "/backend/dialect"),
        (json!({"dialect": "claude-code"}), "/dialect"),
        (json!({"request": []}), "/request"),
        (json!({"policy": {"sead": "fail"}}), "/policy/sead"),
        (json!({"policy": {"all": "maybe"}}), "/policy/all"),
        (json!({"requirements": [{"feature": "speed"}]}), "/requirements/0/feature"),
        (json!({"budget": {"max_output_tokens": "many"}}), "/budget/max_output_tokens"),
    ] {
        let error = WorkOrder::read(&order(change).to_string()).unwrap_err();
        assert_eq!(error.pointer, pointer, "{error}");
    }
    assert_eq!(WorkOrder::read("{").unwrap_err().pointer, "");
    let order = read(&order(json!({"backend": {"dialect": "openai-chat", "name": "nowhere"}})));
    assert_eq!(order.translate(&[]).unwrap_err().code, StableCode::BackendNotFound);
    let order = read(&self::order(json!({"dialect": "anthropic", "request": {"model": "m"}})));
    assert_eq!(order.translate(&[]).unwrap_err().code, StableCode::IrLoweringFailed);
}

#[test]
fn a_failure_of_the_backend_has_a_stable_code() {
    let order = read(&order(json!({})));
    let mut done = order.translate(&[]).unwrap();
    let body = json!({"error": {"message": "slow down", "type": "rate_limit_error"}}).to_string();
    done.answer(body.as_bytes(), Role::Response).unwrap();
    let receipt = receipt_of(&done.receipt(&order, None));
    assert_eq!(
        (&receipt["outcome"], &receipt["error"]["code"]),
        (&json!("Failed"), &json!("BACKEND_TIMEOUT"))
    );
    assert_eq!(receipt["error"]["message"], "slow down");
}

#[test]
fn schemas_name_what_is_read_and_written() {
    let members = |schema: &str| -> Vec<String> {
        let schema: Value = serde_json::from_str(schema).unwrap();
        let mut names: Vec<String> = schema["properties"].as_object().unwrap().keys().cloned().collect();
        names.sort_unstable();
        names
    };
    let mut known: Vec<String> = interlingua_record::contract::RECEIPT_MEMBERS.map(str::to_owned).to_vec();
    known.sort_unstable();
    assert_eq!(members(RECEIPT_SCHEMA), known);
    let mut known: Vec<String> = interlingua_record::contract::WORK_ORDER_MEMBERS.map(str::to_owned).to_vec();
    known.sort_unstable();
    assert_eq!(members(WORK_ORDER_SCHEMA), known);
}
