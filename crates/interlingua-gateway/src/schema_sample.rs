//! The smallest JSON value of a schema, for clients that demand JSON from the scripted model. Gemini CLI, for one, repeats
//! such a request for minutes while the answer is prose.

use interlingua::tape::{Kind, Limits, TapeBuf, Val};

/// The deepest nesting of a value.
const DEEPEST: usize = 32;

/// Whether a text is JSON.
pub(crate) fn is_json(text: &str) -> bool {
    TapeBuf::default().parse(text, &Limits::default()).is_ok()
}

/// The smallest value of a schema. Patterns, lengths and references do not count.
pub(crate) fn sample(schema: &str) -> String {
    let mut tape = TapeBuf::default();
    let value = tape.parse(schema, &Limits::default()).map(|tape| value_of(tape.root(), 0));
    value.unwrap_or_else(|_| "{}".to_owned())
}

fn value_of(schema: Val<'_>, depth: usize) -> String {
    let first = |name: &str| schema.get(name).and_then(|list| list.elements().next());
    if let Some(known) = schema.get("const").or_else(|| first("enum")) {
        return known.text().to_owned();
    }
    if let Some(choice) = first("anyOf").or_else(|| first("oneOf")).filter(|_| depth < DEEPEST) {
        return value_of(choice, depth + 1);
    }
    // A list of types allows each of them. Gemini writes types in capitals.
    let kind = schema.get("type").filter(|kind| kind.kind() == Kind::String).or_else(|| first("type"));
    let kind = kind.and_then(|kind| kind.str()).map(|kind| kind.decode().to_lowercase());
    match kind.as_deref() {
        Some("string") => "\"\"".to_owned(),
        Some("number" | "integer") => schema.get("minimum").map_or("0", |least| least.text()).to_owned(),
        Some("boolean") => "false".to_owned(),
        Some("array") => "[]".to_owned(),
        Some("null") => "null".to_owned(),
        _ if depth < DEEPEST => {
            let required = schema.get("required").into_iter().flat_map(|names| names.elements());
            let members = required.filter_map(|name| {
                let known = schema.get("properties")?.get(&name.str()?.decode());
                let value = known.map_or_else(|| "null".to_owned(), |schema| value_of(schema, depth + 1));
                Some(format!("{}:{value}", name.text()))
            });
            format!("{{{}}}", members.collect::<Vec<_>>().join(","))
        }
        _ => "{}".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_has_the_required_members_with_their_types() {
        let schema = r#"{"type":"OBJECT","required":["a","b","c","d","e"],"properties":{"a":{"type":"STRING"},
            "b":{"type":"number","minimum":1},"c":{"type":["array","null"]},"d":{"enum":["x","y"]},
            "e":{"anyOf":[{"type":"object","required":["f"],"properties":{"f":{"type":"boolean"}}}]},"g":{"type":"null"}}}"#;
        assert_eq!(sample(schema), r#"{"a":"","b":1,"c":[],"d":"x","e":{"f":false}}"#);
        assert_eq!(sample("{}"), "{}");
        assert!(is_json(&sample(schema)) && !is_json("prose"));
    }
}
