//! Converts the API's own schemas, a subset of OpenAPI, to JSON Schema: types in lower case, `nullable` as an
//! additional type. Properties whose *name* is a keyword stay unchanged.

use crate::json::{JsonBuffer, JsonWriter, Raw};
use crate::tape::{Kind, Val};

/// The schema as JSON Schema; the same text if it is already JSON Schema.
pub(super) fn as_json_schema(schema: Val<'_>) -> Raw<'_> {
    let mut json = JsonBuffer::default();
    let mut changed = false;
    write_schema(schema, &mut json.hold(), &mut changed);
    if changed { Raw::owned(json.held().to_owned()) } else { schema.raw() }
}

/// The API's type names, with those of JSON Schema.
const TYPES: [(&str, &str); 7] = [
    ("STRING", "string"),
    ("NUMBER", "number"),
    ("INTEGER", "integer"),
    ("BOOLEAN", "boolean"),
    ("ARRAY", "array"),
    ("OBJECT", "object"),
    ("NULL", "null"),
];

/// Keywords with a different spelling in JSON Schema.
const KEYWORDS: [(&str, &str); 12] = [
    ("any_of", "anyOf"),
    ("additional_properties", "additionalProperties"),
    ("prefix_items", "prefixItems"),
    ("property_ordering", "propertyOrdering"),
    ("min_items", "minItems"),
    ("max_items", "maxItems"),
    ("min_length", "minLength"),
    ("max_length", "maxLength"),
    ("min_properties", "minProperties"),
    ("max_properties", "maxProperties"),
    ("defs", "$defs"),
    ("ref", "$ref"),
];

fn write_schema(schema: Val<'_>, json: &mut JsonWriter<'_>, changed: &mut bool) {
    if schema.kind() != Kind::Object {
        json.raw(&schema.raw());
        return;
    }
    let typed = schema.get("type").filter(|word| word.kind() == Kind::String);
    let alternatives = schema.get("anyOf").or_else(|| schema.get("any_of"));
    let nullable = schema.get("nullable").is_some_and(|flag| flag.bool() == Some(true))
        && (typed.is_some() || alternatives.is_some());
    json.object();
    for (name, value) in schema.members() {
        let theirs = name.as_escaped();
        let ours = KEYWORDS.iter().find(|(known, _)| *known == theirs).map(|(_, ours)| *ours);
        *changed |= ours.is_some();
        let keyword = ours.unwrap_or(theirs);
        if keyword == "nullable" && nullable {
            *changed = true;
            continue;
        }
        json.key(keyword);
        match keyword {
            "type" if value.kind() == Kind::String => {
                let word = TYPES.iter().find(|(known, _)| value.is(known)).map(|(_, word)| *word);
                *changed |= word.is_some();
                if nullable {
                    json.array();
                }
                match word {
                    Some(word) => _ = json.literal(word),
                    None => _ = json.raw(&value.raw()),
                }
                if nullable {
                    json.literal("null").end_array();
                }
            }
            "enum" if nullable && typed.is_some() && value.kind() == Kind::Array => {
                json.array();
                for word in value.elements() {
                    json.raw(&word.raw());
                }
                json.null().end_array();
            }
            "properties" | "$defs" if value.kind() == Kind::Object => {
                json.object();
                for (name, inner) in value.members() {
                    json.key(name.as_escaped());
                    write_schema(inner, json, changed);
                }
                json.end_object();
            }
            "items" | "additionalProperties" => write_schema(value, json, changed),
            "anyOf" | "oneOf" | "allOf" | "prefixItems" if value.kind() == Kind::Array => {
                json.array();
                for inner in value.elements() {
                    write_schema(inner, json, changed);
                }
                if nullable && typed.is_none() && keyword == "anyOf" {
                    json.object().key("type").literal("null").end_object();
                }
                json.end_array();
            }
            "$ref" if ours.is_some() && value.kind() == Kind::String => {
                let place = value.text().replacen("#/defs/", "#/$defs/", 1);
                json.raw(&Raw::new(&place));
            }
            // 64-bit integers are strings in the API's JSON.
            "minItems" | "maxItems" | "minLength" | "maxLength" | "minProperties" | "maxProperties"
                if value.str().is_some_and(|text| is_count(text.as_escaped())) =>
            {
                *changed = true;
                json.raw(&Raw::new(value.text().trim_matches('"')));
            }
            _ => _ = json.raw(&value.raw()),
        }
    }
    json.end_object();
}

/// Whether a text is a whole number in JSON's notation.
fn is_count(text: &str) -> bool {
    !text.is_empty()
        && text.len() < 19
        && text.bytes().all(|byte| byte.is_ascii_digit())
        && (text == "0" || !text.starts_with('0'))
}

#[cfg(test)]
mod tests {
    use super::as_json_schema;
    use crate::tape::{Limits, TapeBuf};

    fn converted(schema: &str) -> String {
        let mut buf = TapeBuf::default();
        let tape = buf.parse(schema, &Limits::default()).expect("JSON");
        as_json_schema(tape.root()).as_str().to_owned()
    }

    #[test]
    fn types_are_in_lower_case_and_null_is_one_of_them() {
        for (theirs, ours) in [
            (r#"{"type":"STRING","nullable":true}"#, r#"{"type":["string","null"]}"#),
            (
                r#"{"type":"STRING","enum":["a"],"nullable":true}"#,
                r#"{"type":["string","null"],"enum":["a",null]}"#,
            ),
            (
                r#"{"any_of":[{"type":"NUMBER"}],"nullable":true}"#,
                r#"{"anyOf":[{"type":"number"},{"type":"null"}]}"#,
            ),
            (
                r#"{"type":"OBJECT","properties":{"type":{"type":"INTEGER"},"nullable":{"type":"BOOLEAN"}}}"#,
                r#"{"type":"object","properties":{"type":{"type":"integer"},"nullable":{"type":"boolean"}}}"#,
            ),
            (
                r##"{"type":"ARRAY","items":{"ref":"#/defs/x"},"minItems":"1"}"##,
                r##"{"type":"array","items":{"$ref":"#/$defs/x"},"minItems":1}"##,
            ),
        ] {
            assert_eq!(converted(theirs), ours);
        }
    }

    #[test]
    fn what_is_json_schema_already_stays_as_it_is_written() {
        let schema = r#"{ "type" : "object", "properties":{"a":{"type":["string","null"]}}, "$defs":{} }"#;
        assert_eq!(converted(schema), schema);
    }
}
