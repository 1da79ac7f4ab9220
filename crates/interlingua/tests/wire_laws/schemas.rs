//! Schemas that a target accepts only in another form.

use interlingua::model::Field;
use serde_json::{Value, json};

use super::{rows, sent};

#[test]
fn a_rewritten_schema_is_reported() {
    let object = |more: Value| {
        let mut schema =
            json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]});
        schema.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        schema
    };
    let nested = |inner: Value| object(json!({"properties": {"a": inner}}));
    let schemas = [
        object(json!({})),
        object(json!({"additionalProperties": false})),
        object(json!({"additionalProperties": true})),
        object(json!({"additionalProperties": {"type": "integer"}})),
        nested(object(json!({"additionalProperties": {"type": "integer"}}))),
        nested(json!({"type": "array", "items": object(json!({"additionalProperties": true}))})),
        nested(json!({"oneOf": [{"type": "string"}, {"type": "integer"}]})),
        nested(json!({"type": "integer", "minimum": 3})),
        nested(json!({"type": "string", "pattern": "^k"})),
        nested(json!({"description": "anything"})),
        object(json!({"required": []})),
        object(json!({"anyOf": [{"required": ["a"]}, {"properties": {"b": {"type": "string"}}}]})),
        json!({"properties": {"a": {"type": "string"}}}),
        json!({"type": "string"}),
        json!({}),
    ];
    let mut rewritten = 0;
    for (backend, model, _) in rows() {
        for (schema, strict) in
            schemas.iter().flat_map(|schema| [None, Some(true), Some(false)].map(|strict| (schema, strict)))
        {
            let tool = json!({"type": "function", "function": {"name": "haul", "parameters": schema, "strict": strict}});
            let format = json!({"type": "json_schema", "json_schema": {"name": "catch", "schema": schema, "strict": strict}});
            for (member, value, places) in [
                (
                    "tools",
                    json!([tool]),
                    &[
                        "/tools/0/function/parameters",
                        "/tools/0/parameters",
                        "/tools/0/input_schema",
                        "/tools/0/functionDeclarations/0/parameters",
                        "/tools/0/functionDeclarations/0/parametersJsonSchema",
                    ][..],
                ),
                (
                    "response_format",
                    format,
                    &[
                        "/response_format/json_schema/schema",
                        "/text/format/schema",
                        "/output_config/format/schema",
                        "/generationConfig/responseSchema",
                        "/generationConfig/responseJsonSchema",
                    ][..],
                ),
            ] {
                let request =
                    json!({"model": model, "messages": [{"role": "user", "content": "x"}], member: value});
                let (out, report) = sent("openai-chat", backend, &request);
                let written = places.iter().find_map(|place| out.pointer(place));
                let way =
                    format!("{schema}, strict {strict:?}, as {member} to {} ({model}): {out}", backend.name);
                if written == Some(schema) {
                    continue;
                }
                rewritten += 1;
                let lost = report.lost_paths.iter().any(|row| {
                    matches!(row.field, Some(Field::ToolSchema | Field::FormatSchema | Field::AnswerFormat))
                });
                let told = report.notes.iter().any(|(note, _)| {
                    note.contains("schema") || note.contains("property") || note.contains("propert")
                });
                assert!(lost || told, "{way}\n{:?}\n{:?}", report.notes, report.lost_paths);
                // A keyword that the target rejects is a loss, not just a note.
                let closed = schema.to_string().contains("\"additionalProperties\":{")
                    || schema.to_string().contains("\"additionalProperties\":true");
                let still = written.is_some_and(|written| {
                    written["additionalProperties"] == schema["additionalProperties"]
                        && !schema["additionalProperties"].is_null()
                });
                if closed
                    && !still
                    && written
                        .is_some_and(|written| written.to_string().contains("\"additionalProperties\":false"))
                {
                    assert!(lost, "{way}\n{:?}", report.notes);
                }
            }
        }
    }
    assert!(rewritten > 200, "{rewritten}");
}
