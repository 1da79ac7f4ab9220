//! Backends by name: the built-in list and the backends defined in the user's file.

use std::fs;
use std::path::Path;

use interlingua::dialects::Dialect;
use interlingua::wire::backends::{Backend, RuleValue, SharedBackend};
use interlingua_report::safe;
use toml::{Table, Value};

use crate::error::CommandError;
use crate::flags::BackendFlags;

/// The backend selected by the flags, for a target of the given dialect.
pub(crate) fn chosen(
    flags: &BackendFlags,
    dialect: &'static Dialect,
) -> Result<Option<SharedBackend>, CommandError> {
    let own = own(flags.backends.as_deref())?;
    let Some(name) = &flags.backend else { return Ok(None) };
    let speaks = |backend: &SharedBackend| backend.name == *name && backend.dialect == dialect.name;
    let found = own.into_iter().find(speaks);
    let found = found.or_else(|| Backend::named(name, dialect.name).map(Into::into));
    found.map(Some).ok_or_else(|| CommandError::UnknownBackend(name.clone(), dialect))
}

/// The backends defined in the user's file.
pub(crate) fn own(path: Option<&Path>) -> Result<Vec<SharedBackend>, CommandError> {
    let Some(path) = path else { return Ok(Vec::new()) };
    let name = safe::path_name(path);
    let text = fs::read_to_string(path).map_err(|error| CommandError::Read(name.clone(), error))?;
    let wrong = |what: String| CommandError::Backends(name.clone(), what);
    let root: Table =
        text.parse().map_err(|error: toml::de::Error| wrong(error.to_string().trim().to_owned()))?;
    let mut made = Vec::new();
    for (key, value) in &root {
        let (Value::Array(tables), "backend") = (value, key.as_str()) else {
            return Err(wrong(format!("`{key}` is not `[[backend]]`")));
        };
        for table in tables {
            made.push(backend(table, &wrong)?);
        }
    }
    Ok(made)
}

/// One `[[backend]]`: `name`, `dialect`, perhaps `base` and `about`, then rules; `[[backend.model]]` has `match` and rules.
fn backend(table: &Value, wrong: &dyn Fn(String) -> CommandError) -> Result<SharedBackend, CommandError> {
    let word = |name: &str| table.get(name).and_then(Value::as_str);
    let name = word("name").ok_or_else(|| wrong("a `[[backend]]` has no `name`".to_owned()))?;
    let inside = |what: String| wrong(format!("backend `{name}`: {what}"));
    let dialect = word("dialect").ok_or_else(|| inside("it has no `dialect`".to_owned()))?;
    let base = match word("base") {
        Some(base) => Backend::named(base, dialect)
            .ok_or_else(|| inside(format!("no built-in backend `{base}` speaks `{dialect}`")))?,
        None => Backend::of_dialect(dialect)
            .ok_or_else(|| inside(format!("`{dialect}` is no dialect of a model API")))?,
    };
    let changes = rules(table, &["name", "dialect", "base", "about", "model"], &inside)?;
    let mut models = Vec::new();
    for row in table.get("model").and_then(Value::as_array).into_iter().flatten() {
        let names = match row.get("match") {
            Some(Value::String(name)) => vec![name.clone()],
            Some(Value::Array(names)) => {
                names.iter().filter_map(|name| name.as_str().map(str::to_owned)).collect()
            }
            _ => return Err(inside("a `[[backend.model]]` has no `match`".to_owned())),
        };
        models.push((names, rules(row, &["match"], &inside)?));
    }
    let about = word("about").unwrap_or("the user's own");
    let made = Backend::derived(name, about, base, &changes, &models);
    made.map(Into::into).map_err(|error| inside(error.to_string()))
}

/// The rules of a table; members that are not rules are skipped.
fn rules(
    table: &Value,
    but: &[&str],
    wrong: &dyn Fn(String) -> CommandError,
) -> Result<Vec<(String, RuleValue)>, CommandError> {
    let members = table.as_table().into_iter().flatten().filter(|(name, _)| !but.contains(&name.as_str()));
    members
        .map(|(name, value)| {
            let value = match value {
                Value::Boolean(flag) => Some(RuleValue::Flag(*flag)),
                Value::Integer(number) => {
                    i32::try_from(*number).ok().map(|number| RuleValue::Number(number.into()))
                }
                Value::Float(number) => Some(RuleValue::Number(*number)),
                Value::String(word) => Some(RuleValue::Word(word.clone())),
                Value::Array(words) => {
                    let words: Option<Vec<String>> =
                        words.iter().map(|word| word.as_str().map(str::to_owned)).collect();
                    words.map(RuleValue::Words)
                }
                Value::Datetime(_) | Value::Table(_) => None,
            };
            let value = value.ok_or_else(|| wrong(format!("`{name}` is no rule's value")))?;
            Ok((name.clone(), value))
        })
        .collect()
}
