//! The rules of a TOML table, as the core names them.

use interlingua::wire::backends::{NamedRule, RuleValue};
use toml::{Table, Value};

/// The rules of a table, without the members in `but`. The error is the name of a member whose value no rule can have.
pub(crate) fn rules(table: &Table, but: &[&str]) -> Result<Vec<NamedRule>, String> {
    let members = table.iter().filter(|(name, _)| !but.contains(&name.as_str()));
    members.map(|(name, value)| Ok((name.clone(), rule_value(value).ok_or_else(|| name.clone())?))).collect()
}

fn rule_value(value: &Value) -> Option<RuleValue> {
    match value {
        Value::Boolean(flag) => Some(RuleValue::Flag(*flag)),
        Value::Integer(number) => i32::try_from(*number).ok().map(|number| RuleValue::Number(number.into())),
        Value::Float(number) => Some(RuleValue::Number(*number)),
        Value::String(word) => Some(RuleValue::Word(word.clone())),
        Value::Array(list) => words(list).map(RuleValue::Words),
        Value::Datetime(_) | Value::Table(_) => None,
    }
}

/// The texts of a list; `None` if an element is not a text.
pub(crate) fn words(list: &[Value]) -> Option<Vec<String>> {
    list.iter().map(|word| word.as_str().map(str::to_owned)).collect()
}
