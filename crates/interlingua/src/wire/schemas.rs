//! JSON Schemas in a form that the target accepts.
//!
//! A schema that fits is copied unchanged. A schema that the server would refuse is rewritten so that arguments keep
//! their shape: choices at the root are joined into one object, strict schemas close their objects and list every
//! property as required (an optional property then accepts `null`, and [`without_nulls`] removes those nulls from the
//! arguments again), and properties get types. Each change is noted, and a change that loses part of the schema's
//! meaning is booked as a loss.

use super::backends::SchemaRules;
use crate::json::{JsonBuffer, JsonWriter, Raw, Str};
use crate::ledger::{Ledger, Reason};
use crate::model::Field;
use crate::pipe::WriterOutput;
use crate::tape::{Kind, Limits, TapeBuf, Val, WantedNames};

/// The schema of a tool without arguments.
const NO_ARGUMENTS: &str = r#"{"type":"object","properties":{}}"#;

/// The schema of a tool's arguments in the form of the target, if the schema does not fit unchanged.
pub(crate) fn tool_schema(
    schema: Option<&Raw<'_>>,
    strict: Option<bool>,
    rules: SchemaRules,
    tape: &mut TapeBuf,
    out: &mut WriterOutput<'_>,
) -> Option<Raw<'static>> {
    let strict = strict == Some(true);
    let Some(schema) = schema else {
        out.ledger.note("tool without a schema takes an empty object");
        return Some(Raw::new(NO_ARGUMENTS));
    };
    let text = schema.as_str();
    // Nearly every schema starts with its type.
    let is_plain =
        || [r#"{"type":"object""#, r#"{"type": "object""#].iter().any(|head| text.starts_with(head));
    // Every keyword for a choice ends in `ItemKindTag`; a different name with this ending is resolved by parsing.
    let has_choice = || memchr::memchr_iter(b'O', text.as_bytes()).any(|at| text[at..].starts_with("Of\""));
    let fits = !rules.typed && !strict && is_plain();
    if fits && !(rules.object_root && has_choice()) {
        return None;
    }
    let parsed = tape.parse(text, &Limits::default()).ok();
    let root = parsed.as_ref().map(|tape| tape.root()).filter(|root| root.kind() == Kind::Object);
    let Some(root) = root.filter(|root| root.members().next().is_some()) else {
        if root.is_none() {
            out.lose_raw(Field::ToolSchema, schema, Reason::Refused);
        }
        out.ledger.note("tool without a schema takes an empty object");
        return Some(Raw::new(NO_ARGUMENTS));
    };
    let form = root_of(root, rules);
    if matches!(form, Root::Joined) {
        // A single object is less precise than a choice among several objects.
        out.lose_raw(Field::ToolSchema, schema, Reason::Narrowed);
    }
    let mut rewriter = SchemaRewriter {
        closes: strict && rules.strict_is_closed,
        requires_all: strict && rules.strict_requires_all,
        types: rules.typed,
        moves_keywords: false,
        narrowed: false,
        ledger: out.ledger,
    };
    let mut held = JsonBuffer::default();
    match form {
        // A fitting schema keeps its bytes: providers use them as a cache key.
        Root::Fits if rewriter.fits(root) => {}
        Root::Fits => rewriter.write(root, &mut held.hold()),
        Root::Untyped => {
            rewriter.ledger.note("schema without a type is one of an object");
            rewriter.write_object(root, &mut held.hold());
        }
        Root::Joined => {
            rewriter.ledger.note("choice at the root of a tool's schema joined into one object");
            rewriter.write_joined(root, &mut held.hold());
        }
        Root::NoObject => {
            rewriter.narrowed = true;
            rewriter.ledger.note("schema of something else than an object replaced by an empty one");
            held.hold().raw(&Raw::new(NO_ARGUMENTS));
        }
    }
    if rewriter.narrowed {
        let reason = if matches!(form, Root::NoObject) { Reason::Refused } else { Reason::Narrowed };
        out.lose_raw(Field::ToolSchema, schema, reason);
    }
    rewritten(&held)
}

/// The schema of an answer in the form of the target, if the schema does not fit unchanged.
pub(crate) fn answer_schema(
    schema: &Raw<'_>,
    rules: SchemaRules,
    tape: &mut TapeBuf,
    out: &mut WriterOutput<'_>,
) -> Option<Raw<'static>> {
    if !(rules.answer_is_closed || rules.typed) {
        return None;
    }
    let parsed = tape.parse(schema.as_str(), &Limits::default()).ok()?;
    let root = Some(parsed.root()).filter(|root| root.kind() == Kind::Object)?;
    let mut rewriter = SchemaRewriter {
        closes: rules.answer_is_closed,
        requires_all: false,
        types: rules.typed,
        moves_keywords: rules.answer_is_closed,
        narrowed: false,
        ledger: out.ledger,
    };
    if rewriter.fits(root) {
        return None;
    }
    let mut held = JsonBuffer::default();
    rewriter.write(root, &mut held.hold());
    if rewriter.narrowed {
        out.lose_raw(Field::FormatSchema, schema, Reason::Narrowed);
    }
    rewritten(&held)
}

fn rewritten(held: &JsonBuffer) -> Option<Raw<'static>> {
    Some(held.held().to_owned()).filter(|text| !text.is_empty()).map(Raw::owned)
}

/// Whether a schema lists every property as required.
pub(crate) fn requires_all(schema: &Raw<'_>, tape: &mut TapeBuf) -> bool {
    tape.parse(schema.as_str(), &Limits::default()).is_ok_and(|tape| all_required(tape.root()))
}

fn all_required(schema: Val<'_>) -> bool {
    let mut properties = schema.get("properties").into_iter().flat_map(|all| all.members());
    properties.all(|(name, _)| is_required(schema, &name)) && each_schema(schema).all(all_required)
}

/// The keywords for a choice among schemas.
const CHOICES: [&str; 3] = ["anyOf", "oneOf", "allOf"];
/// Members that hold schemas by name.
const BY_NAME: [&str; 5] = ["properties", "$defs", "definitions", "patternProperties", "dependentSchemas"];
/// Members that hold a schema or a list of schemas.
const NESTED: [&str; 11] = [
    "items",
    "prefixItems",
    "additionalItems",
    "contains",
    "not",
    "if",
    "then",
    "else",
    "anyOf",
    "oneOf",
    "allOf",
];
/// Keywords that answer schemas do not support on servers that guarantee the schema.
const PROMISED_BY_NOBODY: [&str; 14] = [
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "pattern",
    "minItems",
    "maxItems",
    "uniqueItems",
    "minProperties",
    "maxProperties",
    "propertyNames",
];

/// The form of the root of a tool's schema.
enum Root {
    Fits,
    /// The root has no type.
    Untyped,
    /// The root is a choice, or allows other types besides an object.
    Joined,
    NoObject,
}

fn root_of(root: Val<'_>, rules: SchemaRules) -> Root {
    let has_choice = CHOICES.iter().any(|word| root.get(word).is_some_and(|list| list.kind() == Kind::Array));
    let kind = root.get("type");
    match kind {
        _ if has_choice && rules.object_root => Root::Joined,
        Some(kind) if kind.is("object") => Root::Fits,
        Some(kind) if kind.elements().any(|kind| kind.is("object")) => Root::Joined,
        Some(_) => Root::NoObject,
        None => Root::Untyped,
    }
}

/// Rewrites schemas.
#[expect(clippy::struct_excessive_bools, reason = "each is a change of its own")]
struct SchemaRewriter<'l> {
    /// Objects do not accept unnamed properties.
    closes: bool,
    /// Every property is required; an optional property accepts `null`.
    requires_all: bool,
    /// Every property gets a type.
    types: bool,
    /// Keywords that the target does not support become part of the description.
    moves_keywords: bool,
    /// A change lost part of the schema's meaning.
    narrowed: bool,
    ledger: &'l mut Ledger,
}

impl SchemaRewriter<'_> {
    /// Whether a schema would be written unchanged.
    fn fits(&self, schema: Val<'_>) -> bool {
        let is_object = is_object(schema);
        let open = schema.get("additionalProperties").is_none_or(|other| other.bool() != Some(false));
        let mut properties = schema.get("properties").into_iter().flat_map(|all| all.members());
        let property_fits = |(name, property): (Str<'_>, Val<'_>)| {
            (!self.requires_all || is_required(schema, &name))
                && (!self.types || property.kind() != Kind::Object || inferred_type(property).is_none())
        };
        let moves = |(name, _): (Str<'_>, Val<'_>)| {
            let word = name.as_escaped();
            word == "oneOf" || PROMISED_BY_NOBODY.contains(&word)
        };
        !(self.closes && is_object && open)
            && properties.all(property_fits)
            && !(self.moves_keywords && schema.members().any(moves))
            && each_schema(schema).all(|inner| self.fits(inner))
    }

    fn write(&mut self, schema: Val<'_>, json: &mut JsonWriter<'_>) {
        if schema.kind() == Kind::Object {
            self.write_members(schema, json.object());
            json.end_object();
        } else {
            json.raw(&schema.raw());
        }
    }

    /// Writes a schema without a type as the schema of an object.
    fn write_object(&mut self, schema: Val<'_>, json: &mut JsonWriter<'_>) {
        json.object().key("type").literal("object");
        self.write_members(schema, json);
        if self.closes && !is_object(schema) {
            self.note_closed(schema);
            json.key("additionalProperties").bool(false);
        }
        json.end_object();
    }

    fn write_members(&mut self, schema: Val<'_>, json: &mut JsonWriter<'_>) {
        let is_object = is_object(schema);
        let mut moved = Vec::new();
        for (name, value) in schema.members() {
            let word = name.as_escaped();
            match word {
                "additionalProperties" if self.closes && is_object => {
                    // Properties that the schema allows or describes are now refused.
                    if value.bool() != Some(false) {
                        self.narrowed = true;
                    }
                }
                "required" if self.requires_all && is_object => {}
                "description" if self.moves_keywords => {}
                _ if self.moves_keywords && PROMISED_BY_NOBODY.contains(&word) => moved.push((name, value)),
                "oneOf" if self.moves_keywords && value.kind() == Kind::Array => {
                    self.narrowed = true;
                    self.ledger.note("`oneOf` of a schema written as `anyOf`");
                    self.write_list(value, json.key("anyOf"));
                }
                _ if BY_NAME.contains(&word) && value.kind() == Kind::Object => {
                    let properties = word == "properties";
                    json.key(word).object();
                    for (name, inner) in value.members() {
                        json.key(name.as_escaped());
                        if properties {
                            self.write_property(inner, is_required(schema, &name), json);
                        } else {
                            self.write(inner, json);
                        }
                    }
                    json.end_object();
                }
                "additionalProperties" => self.write(value, json.key(word)),
                _ if NESTED.contains(&word) && value.kind() == Kind::Array => {
                    self.write_list(value, json.key(word));
                }
                _ if NESTED.contains(&word) => self.write(value, json.key(word)),
                _ => _ = json.key(word).raw(&value.raw()),
            }
        }
        if self.moves_keywords {
            self.write_description(schema.get("description"), &moved, json);
        }
        if self.closes && is_object {
            self.note_closed(schema);
            json.key("additionalProperties").bool(false);
        }
        if self.requires_all && is_object {
            json.key("required").array();
            let properties = || schema.get("properties").into_iter().flat_map(|all| all.members());
            for (name, _) in properties() {
                json.str(&name);
            }
            // A required name without a described property stays required.
            let required = schema.get("required").into_iter().flat_map(|list| list.elements());
            for name in required.filter_map(|name| name.str()) {
                if !properties().any(|(known, _)| known == name) {
                    json.str(&name);
                }
            }
            json.end_array();
        }
    }

    fn write_list(&mut self, list: Val<'_>, json: &mut JsonWriter<'_>) {
        json.array();
        for schema in list.elements() {
            self.write(schema, json);
        }
        json.end_array();
    }

    fn write_property(&mut self, property: Val<'_>, required: bool, json: &mut JsonWriter<'_>) {
        let nullable = self.requires_all && !required && !takes_null(property);
        if nullable {
            self.ledger.note("optional property of a strict schema required, and allowed to be null");
            json.object().key("anyOf").array();
        }
        match inferred_type(property).filter(|_| self.types && property.kind() == Kind::Object) {
            Some(kind) => {
                self.ledger.note("property without a type got one");
                // Without a hint the property allowed values of every type.
                let hints = ["properties", "items", "const", "enum"];
                self.narrowed |= !hints.iter().any(|name| property.get(name).is_some());
                json.object().key("type").literal(kind);
                self.write_members(property, json);
                json.end_object();
            }
            None => self.write(property, json),
        }
        if nullable {
            json.object().key("type").literal("null").end_object().end_array().end_object();
        }
    }

    /// Writes a description, followed by the keywords the target does not support.
    fn write_description(
        &mut self,
        description: Option<Val<'_>>,
        moved: &[(Str<'_>, Val<'_>)],
        json: &mut JsonWriter<'_>,
    ) {
        let known = description.and_then(|text| text.str());
        if known.is_none() && moved.is_empty() {
            return;
        }
        json.key("description").open_string();
        if let Some(known) = &known {
            json.piece(known);
        }
        if !moved.is_empty() {
            self.narrowed = true;
            self.ledger.note("keywords of a schema that the target does not know moved into its description");
            json.plain_piece(if known.is_some() { " {" } else { "{" });
            for (number, (name, value)) in moved.iter().enumerate() {
                json.plain_piece(if number > 0 { ", " } else { "" }).piece(name);
                json.plain_piece(": ").plain_piece(value.text());
            }
            json.plain_piece("}");
        }
        json.close_string();
    }

    /// Writes one object with the properties of the root and of all its choices. Properties that every choice requires
    /// are required.
    fn write_joined(&mut self, root: Val<'_>, json: &mut JsonWriter<'_>) {
        let variants = || {
            let lists = CHOICES.into_iter().filter_map(|word| root.get(word));
            lists.flat_map(|list| list.elements()).filter(|variant| variant.get("properties").is_some())
        };
        let mut names: Vec<(Str<'_>, Vec<Val<'_>>)> = Vec::new();
        for schema in std::iter::once(root).chain(variants()) {
            for (name, property) in schema.get("properties").into_iter().flat_map(|all| all.members()) {
                match names.iter_mut().find(|(known, _)| *known == name) {
                    Some((_, forms)) if forms.iter().any(|form| form.text() == property.text()) => {}
                    Some((_, forms)) => forms.push(property),
                    None => names.push((name, vec![property])),
                }
            }
        }
        let all_of = |name: &Str<'_>| {
            let list = root.get("allOf").into_iter().flat_map(|list| list.elements());
            list.into_iter().any(|schema| is_required(schema, name))
        };
        let in_each = |name: &Str<'_>| {
            let lists = ["anyOf", "oneOf"].into_iter().filter_map(|word| root.get(word));
            let mut choices =
                lists.flat_map(|list| list.elements()).filter(|it| it.get("properties").is_some());
            choices.next().is_some_and(|first| is_required(first, name))
                && choices.all(|schema| is_required(schema, name))
        };
        let required = |name: &Str<'_>| is_required(root, name) || all_of(name) || in_each(name);
        json.object().key("type").literal("object");
        let own = ["type", "properties", "required", "additionalProperties", "anyOf", "oneOf", "allOf"];
        for (name, value) in root.members().filter(|(name, _)| !own.contains(&name.as_escaped())) {
            json.key(name.as_escaped()).raw(&value.raw());
        }
        json.key("properties").object();
        for (name, forms) in &names {
            json.key(name.as_escaped());
            match forms.as_slice() {
                [form] => self.write_property(*form, required(name), json),
                forms => {
                    json.object().key("anyOf").array();
                    for form in forms {
                        self.write(*form, json);
                    }
                    json.end_array().end_object();
                }
            }
        }
        json.end_object();
        let mut listed = names.iter().filter(|(name, _)| self.requires_all || required(name)).peekable();
        if listed.peek().is_some() {
            json.key("required").array();
            for (name, _) in listed {
                json.str(name);
            }
            json.end_array();
        }
        if self.closes {
            self.note_closed(root);
            json.key("additionalProperties").bool(false);
        }
        json.end_object();
    }

    /// Notes that an open object is now closed.
    fn note_closed(&mut self, schema: Val<'_>) {
        if schema.get("additionalProperties").is_none_or(|other| other.bool() != Some(false)) {
            self.ledger.note("object of a schema closed to other properties");
        }
    }
}

/// Writes arguments without the nulls for optional properties, according to the client's schema; returns whether there
/// were any.
pub(crate) fn without_nulls(args: Val<'_>, schema: Val<'_>, json: &mut JsonWriter<'_>) -> bool {
    let mut found = false;
    match args.kind() {
        Kind::Object => {
            let properties = schema.get("properties");
            json.object();
            for (name, value) in args.members() {
                let property = properties.and_then(|all| all.get(&name.decode()));
                let optional = |property: &Val<'_>| !is_required(schema, &name) && !takes_null(*property);
                if value.is_null() && property.as_ref().is_some_and(optional) {
                    found = true;
                    continue;
                }
                json.key(name.as_escaped());
                match property {
                    Some(property) => found |= without_nulls(value, property, json),
                    None => _ = json.raw(&value.raw()),
                }
            }
            json.end_object();
        }
        Kind::Array => {
            let items = schema.get("items").filter(|items| items.kind() == Kind::Object);
            json.array();
            for value in args.elements() {
                match items {
                    Some(items) => found |= without_nulls(value, items, json),
                    None => _ = json.raw(&value.raw()),
                }
            }
            json.end_array();
        }
        Kind::Null | Kind::Bool | Kind::Number | Kind::String => _ = json.raw(&args.raw()),
    }
    found
}

/// Whether the schema describes an object.
fn is_object(schema: Val<'_>) -> bool {
    let kind = schema.get("type");
    let named = kind.is_some_and(|kind| kind.is("object") || kind.elements().any(|kind| kind.is("object")));
    named || kind.is_none() && schema.get("properties").is_some()
}

fn is_required(schema: Val<'_>, name: &Str<'_>) -> bool {
    schema.get("required").is_some_and(|list| list.elements().any(|known| known.str().as_ref() == Some(name)))
}

/// Whether the schema accepts `null`.
fn takes_null(schema: Val<'_>) -> bool {
    let is_null = |kind: Val<'_>| kind.is("null");
    let kind = schema.get("type");
    kind.is_some_and(|kind| is_null(kind) || kind.elements().any(is_null))
        || ["anyOf", "oneOf"]
            .into_iter()
            .filter_map(|word| schema.get(word))
            .any(|list| list.elements().any(|inner| inner.get("type").is_some_and(is_null)))
        || schema.get("enum").is_some_and(|list| list.elements().any(|value| value.is_null()))
}

/// The type of a property without a type, inferred from its other keywords.
fn inferred_type(schema: Val<'_>) -> Option<&'static str> {
    let has = |name| schema.get(name).is_some();
    if has("type") || has("$ref") || has("anyOf") || has("oneOf") || has("allOf") {
        return None;
    }
    let example = schema.get("const").or_else(|| schema.get("enum")?.elements().next());
    Some(match example.map(|value| value.kind()) {
        _ if has("properties") => "object",
        _ if has("items") => "array",
        Some(Kind::Number) => "number",
        Some(Kind::Bool) => "boolean",
        Some(Kind::Null) => "null",
        Some(Kind::Object) => "object",
        Some(Kind::Array) => "array",
        Some(Kind::String) | None => "string",
    })
}

/// The direct subschemas of a schema.
fn each_schema(schema: Val<'_>) -> impl Iterator<Item = Val<'_>> {
    const HOLDERS: WantedNames<{ BY_NAME.len() + NESTED.len() }> = WantedNames::new({
        let mut words = [""; BY_NAME.len() + NESTED.len()];
        let (by_name, nested) = words.split_at_mut(BY_NAME.len());
        by_name.copy_from_slice(&BY_NAME);
        nested.copy_from_slice(&NESTED);
        words
    });
    let holders = schema.find(&HOLDERS).into_iter().enumerate();
    holders.filter_map(|(number, holder)| Some((number < BY_NAME.len(), holder?))).flat_map(
        |(by_name, holder)| {
            let named = holder.member_values().filter(move |_| by_name);
            let alone = Some(holder).filter(|holder| !by_name && holder.kind() == Kind::Object);
            named.chain(holder.elements().filter(move |_| !by_name)).chain(alone)
        },
    )
}
