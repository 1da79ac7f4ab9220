//! The subset of JSON Schema that our schemas use. An unknown keyword fails, so that no keyword is ignored silently.

use serde_json::Value;

/// The violations of the schema in a value.
pub(crate) fn breaches(value: &Value, schema: &Value) -> Vec<String> {
    let mut found = Vec::new();
    Schema { root: schema }.check(value, schema, "", &mut found);
    found.sort();
    found
}

struct Schema<'s> {
    root: &'s Value,
}

impl Schema<'_> {
    fn holds(&self, value: &Value, schema: &Value) -> bool {
        let mut found = Vec::new();
        self.check(value, schema, "", &mut found);
        found.is_empty()
    }

    fn check(&self, value: &Value, schema: &Value, place: &str, found: &mut Vec<String>) {
        let keywords = schema.as_object().unwrap_or_else(|| panic!("a schema is an object, not {schema}"));
        for (keyword, want) in keywords {
            let list = || want.as_array().into_iter().flatten();
            let holds = match keyword.as_str() {
                "$schema" | "$id" | "$defs" | "title" | "description" => true,
                "$ref" => {
                    let name = want.as_str().and_then(|name| name.strip_prefix('#')).expect("a local name");
                    let inner = self.root.pointer(name).unwrap_or_else(|| panic!("no {name}"));
                    self.check(value, inner, place, found);
                    true
                }
                "type" => match want {
                    Value::Array(words) => words.iter().any(|word| is_a(value, word)),
                    word => is_a(value, word),
                },
                "const" => value == want,
                "enum" => list().any(|word| word == value),
                "minimum" => value.as_f64() >= want.as_f64(),
                "maxItems" => {
                    value.as_array().is_none_or(|items| items.len() as u64 <= want.as_u64().unwrap_or(0))
                }
                // The only pattern in our schemas.
                "pattern" => {
                    assert_eq!(want, "^[a-z0-9]+(-[a-z0-9]+)*$");
                    let word = value.as_str().unwrap_or_default();
                    let plain = |part: &str| {
                        !part.is_empty()
                            && part.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
                    };
                    word.split('-').all(plain)
                }
                "required" => list().all(|name| value.get(name.as_str().expect("a name")).is_some()),
                "properties" => {
                    for (name, inner) in want.as_object().expect("members") {
                        if let Some(member) = value.get(name) {
                            self.check(member, inner, &format!("{place}/{name}"), found);
                        }
                    }
                    true
                }
                "items" => {
                    for (number, item) in value.as_array().into_iter().flatten().enumerate() {
                        self.check(item, want, &format!("{place}/{number}"), found);
                    }
                    true
                }
                "allOf" => {
                    list().for_each(|inner| self.check(value, inner, place, found));
                    true
                }
                "anyOf" => list().any(|inner| self.holds(value, inner)),
                "oneOf" => list().filter(|inner| self.holds(value, inner)).count() == 1,
                "not" => !self.holds(value, want),
                other => panic!("{other} is not known here"),
            };
            if !holds {
                found.push(format!("{place}: {keyword}"));
            }
        }
    }
}

fn is_a(value: &Value, word: &Value) -> bool {
    match word.as_str() {
        Some("object") => value.is_object(),
        Some("array") => value.is_array(),
        Some("string") => value.is_string(),
        Some("boolean") => value.is_boolean(),
        Some("integer") => value.is_u64(),
        Some("number") => value.is_number(),
        Some("null") => value.is_null(),
        other => panic!("{other:?} is not known here"),
    }
}

/// Every member name in a schema.
pub(crate) fn members(schema: &Value) -> Vec<String> {
    let mut names = Vec::new();
    match schema {
        Value::Object(object) => {
            for (key, inner) in object {
                if key == "properties" {
                    names.extend(inner.as_object().into_iter().flatten().map(|(name, _)| name.clone()));
                }
                names.extend(members(inner));
            }
        }
        Value::Array(list) => names.extend(list.iter().flat_map(members)),
        _ => {}
    }
    names
}
