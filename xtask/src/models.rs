//! The core's table of backends, written from the registry of models (`crates/interlingua-models/models.toml`): the core has
//! neither a parser for the registry nor a build script.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use interlingua::model::Field;
use interlingua::wire::backends::{NamedRule, RuleValue};
use interlingua_models::{Registry, ServerEntry};

use crate::TaskResult;

/// The path of the table.
pub(crate) const TABLE: &str = "crates/interlingua/src/wire/backends/table.rs";

/// The path of the registry.
pub(crate) const REGISTRY: &str = "crates/interlingua-models/models.toml";

/// The source of the table: a constant per group of names and per class, a static per backend.
pub(crate) fn table(registry: &Registry) -> TaskResult<String> {
    let mut text = String::from(
        "//! The built-in backends. Made by `cargo xtask docs` from `crates/interlingua-models/models.toml`; do not edit.\n\n\
         use std::borrow::Cow;\n\n\
         use super::{\n    Backend, CacheMarkForm, Capabilities, MediaTypes, ModelRow, NameRule, RuleWords, SchemaRules, \
         SystemPlaces, ThinkingForms,\n};\nuse crate::model::Field;\nuse crate::wire::Letters;\n\n",
    );
    for (group, names) in &registry.names {
        writeln!(text, "const {}_NAMES: RuleWords = {};", constant(group), words(names))?;
    }
    for (name, class) in &registry.classes {
        let base = class.base.as_deref().map(|base| format!("{}_CLASS", constant(base)));
        let takes = capabilities(base.as_deref(), &class.rules)?;
        // The backends for token counting (`counting.rs`) change some classes.
        writeln!(text, "\npub(super) const {}_CLASS: Capabilities = {takes};", constant(name))?;
    }
    let mut list = String::new();
    for (at, server) in registry.servers.iter().enumerate() {
        let is_vendor = registry.servers.iter().take(at).all(|earlier| earlier.dialect != server.dialect);
        let (name, reach) = if is_vendor {
            (constant(&server.dialect), "pub(crate) ")
        } else {
            (constant(&format!("{}-in-{}", server.name, server.dialect)), "")
        };
        writeln!(text, "\n{reach}static {name}: Backend = {};", backend(registry, server)?)?;
        writeln!(list, "    &{name},")?;
    }
    writeln!(text, "\npub(super) static BACKENDS: &[&Backend] = &[\n{list}];")?;
    writeln!(text, "\n/// The names of the models that vendors serve from their own APIs, by backend.")?;
    writeln!(text, "pub(super) const OWN_MODELS: &[(&str, &[&str])] = &[")?;
    for (server, names) in &registry.own_models {
        writeln!(text, "    ({server:?}, &{names:?}),")?;
    }
    writeln!(text, "];")?;
    Ok(text)
}

fn backend(registry: &Registry, server: &ServerEntry) -> TaskResult<String> {
    let ServerEntry { name, dialect, about, class, rules, .. } = server;
    let of_class =
        |class: &str, rules: &[NamedRule]| capabilities(Some(&format!("{}_CLASS", constant(class))), rules);
    let mut rows = String::new();
    for row in registry.rows_of(server)? {
        let changes = [rules.clone(), row.rules.clone()].concat();
        let takes = of_class(row.class.as_ref().unwrap_or(class), &changes)?;
        writeln!(rows, "        ModelRow {{ names: {}_NAMES, takes: {takes} }},", constant(&row.names))?;
    }
    let rows = if rows.is_empty() { "&[]".to_owned() } else { format!("&[\n{rows}    ]") };
    Ok(format!(
        "Backend {{\n    name: {},\n    dialect: {dialect:?},\n    about: {},\n    takes: {},\n    models: Cow::Borrowed({rows}),\n}}",
        word(name),
        word(about),
        of_class(class, rules)?
    ))
}

/// The capabilities of a base with changed rules. The last change of a rule counts.
fn capabilities(base: Option<&str>, rules: &[NamedRule]) -> TaskResult<String> {
    if let (Some(base), []) = (base, rules) {
        return Ok(base.to_owned());
    }
    // The changed members, and the changed members of the structs among them.
    let mut members: BTreeMap<&str, String> = BTreeMap::new();
    let mut inner: BTreeMap<&str, BTreeMap<String, String>> = BTreeMap::new();
    let places: Vec<Place> = rules.iter().map(|(rule, _)| Place::of(rule)).collect();
    for ((rule, value), place) in rules.iter().zip(&places) {
        let source = source(rule, value)?;
        match place {
            Place::Member(name) => _ = members.insert(name, source),
            Place::Inside(holder, name) => {
                _ = inner.entry(holder).or_default().insert(name.clone(), source);
            }
        }
    }
    for (holder, changed) in inner {
        let (kind, size) = match holder {
            "thinking" => ("ThinkingForms", 6),
            "schemas" => ("SchemaRules", 5),
            "media" => ("MediaTypes", 2),
            _ => ("NameRule", 4),
        };
        let rest = match base {
            _ if changed.len() == size => String::new(),
            Some(base) => format!(", ..{base}.{holder}"),
            None => ", ..NameRule::ANY".to_owned(),
        };
        members.insert(holder, format!("{kind} {{ {}{rest} }}", listed(&changed, ", ")));
    }
    let Some(base) = base else {
        return Ok(format!("Capabilities {{\n    {},\n}}", listed(&members, ",\n    ")));
    };
    Ok(format!("Capabilities {{ {}, ..{base} }}", listed(&members, ", ")))
}

fn listed<N: std::fmt::Display>(members: &BTreeMap<N, String>, between: &str) -> String {
    members.iter().map(|(name, value)| format!("{name}: {value}")).collect::<Vec<_>>().join(between)
}

/// The place of a rule in `Capabilities`.
enum Place {
    Member(String),
    Inside(&'static str, String),
}

impl Place {
    fn of(rule: &str) -> Self {
        let name = rule.replace('-', "_");
        match rule {
            "media" => return Place::Inside("media", "inline".to_owned()),
            "media-by-address" => return Place::Inside("media", "by_address".to_owned()),
            _ => {}
        }
        for (prefix, holder) in [
            ("thinking_", "thinking"),
            ("call_id_", "call_ids"),
            ("tool_name_", "tool_names"),
            ("schema_", "schemas"),
        ] {
            if let Some(rest) = name.strip_prefix(prefix) {
                return Place::Inside(holder, rest.to_owned());
            }
        }
        Place::Member(name)
    }
}

/// The source of a rule's value. The compiler checks the types.
fn source(rule: &str, value: &RuleValue) -> TaskResult<String> {
    Ok(match (rule, value) {
        (_, RuleValue::Flag(flag)) => flag.to_string(),
        ("max-temperature", RuleValue::Number(number)) => format!("{number:?}"),
        ("max-tokens-default", RuleValue::Number(number)) => format!("Some({number})"),
        (_, RuleValue::Number(number)) if number.is_infinite() => "usize::MAX".to_owned(),
        (_, RuleValue::Number(number)) => number.to_string(),
        ("system", RuleValue::Word(word)) => format!("SystemPlaces::{}", variant(word)),
        ("cache-marks", RuleValue::Word(word)) => format!("CacheMarkForm::{}", variant(word)),
        ("call-id-letters" | "tool-name-letters", RuleValue::Word(word)) => {
            format!("Letters::{}", variant(word))
        }
        ("max-tokens-default" | "prefill-member" | "call-state" | "other-dialect", RuleValue::Word(text)) => {
            match text.as_str() {
                "none" => "None".to_owned(),
                text => format!("Some({})", word(text)),
            }
        }
        (_, RuleValue::Word(text)) => word(text),
        ("refuses", RuleValue::Words(words)) => {
            let field = |word: &String| Field::ALL.iter().find(|field| field.word() == word);
            let fields: Option<Vec<String>> =
                words.iter().map(|word| Some(format!("Field::{:?}", field(word)?))).collect();
            format!("Cow::Borrowed(&[{}])", fields.ok_or("an unknown setting")?.join(", "))
        }
        (_, RuleValue::Words(list)) => words(list),
        _ => return Err(format!("`{rule}`: a kind of value that the table does not know").into()),
    })
}

fn word(text: &str) -> String {
    format!("Cow::Borrowed({text:?})")
}

fn words(list: &[String]) -> String {
    let list: Vec<String> = list.iter().map(|word| format!("{word:?}")).collect();
    format!("words![{}]", list.join(", "))
}

/// The name of a constant: `claude-5-5` is `CLAUDE_5_5`.
fn constant(name: &str) -> String {
    name.replace('-', "_").to_uppercase()
}

/// The name of a variant: `after-user` is `AfterUser`.
fn variant(word: &str) -> String {
    let upper = |part: &str| part[..1].to_uppercase() + &part[1..];
    word.split(['-', '_']).map(upper).collect()
}
