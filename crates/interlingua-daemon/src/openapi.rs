//! The OpenAPI document, made from the table of routes and from the types of bodies.

use http::Method;
use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use crate::routes::{AnswerShape, ApiRoute, BodyShape, ParameterKind, ROUTES};
use crate::shapes::{ProblemBody, UniversalEnvelope};

/// The document.
pub(crate) fn document() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.definitions_path = "/components/schemas".into();
        settings.meta_schema = None;
    });
    let mut schemas = settings.into_generator();
    let problem = schemas.subschema_for::<ProblemBody>();
    // Server-sent events are text for the document, so no route refers to the type of their data.
    schemas.subschema_for::<UniversalEnvelope>();
    let problem = json!({
        "description": "An error.",
        "content": { "application/problem+json": { "schema": problem } },
    });
    let mut paths = Map::new();
    for route in ROUTES {
        let path = paths.entry(route.path).or_insert_with(|| json!({}));
        path[route.method.as_str().to_ascii_lowercase()] = operation(route, &problem, &mut schemas);
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Interlingua daemon",
            "description": "Runs coding agents and offers each session as a stream of universal events.",
            "version": env!("CARGO_PKG_VERSION"),
        },
        "paths": paths,
        "components": {
            "schemas": schemas.take_definitions(true),
            "securitySchemes": { "key": { "type": "http", "scheme": "bearer" } },
        },
        "security": [{}, { "key": [] }],
    })
}

fn operation(route: &ApiRoute, problem: &Value, schemas: &mut SchemaGenerator) -> Value {
    let in_path = route
        .parameters()
        .map(|name| json!({ "name": name, "in": "path", "required": true, "schema": { "type": "string" } }));
    let in_query = route.query.iter().map(|parameter| {
        let schema = match parameter.kind {
            ParameterKind::Number => json!({ "type": "integer", "minimum": 0 }),
            ParameterKind::Flag => json!({ "type": "boolean", "default": false }),
            ParameterKind::Text | ParameterKind::RequiredText => json!({ "type": "string" }),
            ParameterKind::Word(words) => json!({ "type": "string", "enum": words }),
        };
        let is_required = parameter.kind == ParameterKind::RequiredText;
        json!({
            "name": parameter.name, "in": "query", "required": is_required, "description": parameter.about,
            "schema": schema,
        })
    });
    let parameters: Vec<Value> = in_path.chain(in_query).collect();
    let (status, answer) = match route.answer {
        AnswerShape::Nothing => ("204", json!({ "description": "Done." })),
        AnswerShape::Json(schema) => {
            let schema = schema(schemas);
            (
                "200",
                json!({ "description": "The answer.", "content": { "application/json": { "schema": schema } } }),
            )
        }
        AnswerShape::Document(about) => {
            let content = json!({ "application/json": { "schema": { "type": "object" } } });
            ("200", json!({ "description": about, "content": content }))
        }
        AnswerShape::Bytes => ("200", json!({ "description": "The content.", "content": bytes() })),
        AnswerShape::Events => {
            let about =
                "Server-sent events: `id` is the number of an event, `data` is a `UniversalEnvelope`.";
            let content = json!({ "text/event-stream": { "schema": { "type": "string" } } });
            ("200", json!({ "description": about, "content": content }))
        }
    };
    let mut operation = json!({
        "operationId": route.name,
        "summary": route.about,
        "parameters": parameters,
        "responses": { status: answer, "default": problem },
    });
    let body = match route.body {
        BodyShape::Nothing => None,
        BodyShape::Json(schema) => Some(json!({ "application/json": { "schema": schema(schemas) } })),
        BodyShape::Bytes => Some(bytes()),
    };
    if let Some(content) = body {
        operation["requestBody"] = json!({ "required": true, "content": content });
    }
    if route.path == "/v1/health" && route.method == Method::GET {
        operation["security"] = json!([]);
    }
    operation
}

/// The content of a file.
fn bytes() -> Value {
    json!({ "application/octet-stream": { "schema": { "type": "string", "format": "binary" } } })
}
