//! The registry: `models.toml`, checked.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::LazyLock;

use interlingua::json::Str;
use interlingua::wire::backends::{Backend, Capabilities, NamedRule, RuleError, is_match};
use toml::{Table, Value};

use crate::prices::{PriceError, Prices};
use crate::rules::{rules, words};

/// The file of the registry.
const MODELS_TOML: &str = include_str!("../models.toml");

/// Capabilities of servers and models, prices, and lists of models.
#[derive(Debug)]
#[non_exhaustive]
pub struct Registry {
    /// The origin of the capabilities.
    pub source: FactSource,
    /// Capabilities by the name of their class.
    pub classes: BTreeMap<String, ModelClass>,
    /// Patterns of model names, by the name of their group.
    pub names: BTreeMap<String, Vec<String>>,
    /// Rows by the name of their list.
    pub rows: BTreeMap<String, Vec<ClassRow>>,
    /// The servers; the first server of a dialect is its vendor.
    pub servers: Vec<ServerEntry>,
    /// Patterns of the model names that a vendor serves from its own API, by server.
    pub own_models: BTreeMap<String, Vec<String>>,
    /// The models, by name.
    pub models: Vec<KnownModel>,
    /// The prices of the models.
    pub prices: Prices,
}

/// The origin of facts.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FactSource {
    /// The date of the facts.
    pub date: String,
    /// The place of the facts, for people.
    pub source: String,
}

/// Capabilities with a name.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ModelClass {
    /// The class that is changed; `None` for a class that sets every rule.
    pub base: Option<String>,
    /// The rules of this class.
    pub rules: Vec<NamedRule>,
}

/// The class of some models.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ClassRow {
    /// The group of names.
    pub names: String,
    /// The class; `None` for the class of the server.
    pub class: Option<String>,
    /// Changes to the class.
    pub rules: Vec<NamedRule>,
}

/// A server with a dialect.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ServerEntry {
    /// The name on the command line.
    pub name: String,
    /// The dialect.
    pub dialect: String,
    /// A one-line description.
    pub about: String,
    /// The class of models without a row.
    pub class: String,
    /// The list of rows.
    pub rows: Option<String>,
    /// Changes to the classes of all models.
    pub rules: Vec<NamedRule>,
}

/// A model with a line in the registry.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct KnownModel {
    /// The name at its vendor.
    pub name: String,
    /// The source of the prices no longer lists the model.
    pub unlisted: bool,
}

/// An error in the registry: the message names the place and the error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegistryError(String);

impl fmt::Display for RegistryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for RegistryError {}

impl From<String> for RegistryError {
    fn from(message: String) -> Self {
        Self(message)
    }
}

impl From<PriceError> for RegistryError {
    fn from(error: PriceError) -> Self {
        Self(error.to_string())
    }
}

impl Registry {
    /// The registry of this crate.
    #[expect(clippy::expect_used, reason = "the file is part of the program, and a test parses it")]
    pub fn built_in() -> &'static Registry {
        static BUILT_IN: LazyLock<Registry> =
            LazyLock::new(|| Registry::parse(MODELS_TOML).expect("the built-in registry is sound"));
        &BUILT_IN
    }

    /// Parses and checks a registry: every name that is used must be defined, and every rule must exist.
    pub fn parse(text: &str) -> Result<Self, RegistryError> {
        let mut root: Table =
            text.parse().map_err(|error: toml::de::Error| error.to_string().trim().to_owned())?;
        let mut sources = member_table(&mut root, "sources")?;
        let (source, prices) =
            (fact_source(&mut sources, "capabilities")?, fact_source(&mut sources, "prices")?);
        let mut names = BTreeMap::new();
        for (group, list) in member_table(&mut root, "names")? {
            names.insert(group.clone(), patterns(&group, &list)?);
        }
        let mut own_models = BTreeMap::new();
        for (server, list) in member_table(&mut root, "own-models")? {
            own_models.insert(server.clone(), patterns(&server, &list)?);
        }
        let mut lines = member_table(&mut root, "models")?;
        let models = known_models(&mut lines, &mut names)?;
        let families = member_table(&mut root, "families")?;
        let mut registry = Self {
            source,
            classes: BTreeMap::new(),
            names,
            rows: BTreeMap::new(),
            servers: Vec::new(),
            own_models,
            models,
            prices: Prices::new(prices.date, prices.source, lines, families)?,
        };
        for (name, class) in member_table(&mut root, "class")? {
            let place = format!("class `{name}`");
            let class = table_of(&class, &place)?;
            let base = optional_word(class, "base", &place)?;
            registry.classes.insert(name, ModelClass { base, rules: rules_of(class, &["base"], &place)? });
        }
        for (name, list) in member_table(&mut root, "rows")? {
            let place = format!("rows `{name}`");
            let list = list.as_array().ok_or_else(|| format!("{place}: a list is missing"))?;
            let rows = list.iter().map(|row| ClassRow::read(row, &place)).collect::<Result<_, _>>()?;
            registry.rows.insert(name, rows);
        }
        let Some(Value::Array(servers)) = root.remove("backend") else {
            return Err("`[[backend]]` is missing".to_owned().into());
        };
        registry.servers = servers.iter().map(ServerEntry::read).collect::<Result<_, _>>()?;
        if let Some(name) = root.keys().next() {
            return Err(format!("`{name}` is not part of a registry").into());
        }
        registry.check()?;
        Ok(registry)
    }

    /// The models that a vendor's server lists, without unlisted models; none for a server of third-party models.
    pub fn models_of(&self, server: &str) -> impl Iterator<Item = &KnownModel> {
        let backend = Backend::built_in().iter().find(|backend| backend.name == server);
        let backend = backend.filter(|_| self.own_models.contains_key(server));
        let is_own = move |model: &&KnownModel| {
            backend.is_some_and(|backend| !backend.lacks_model(Some(&Str::from_plain(&model.name))))
        };
        self.models.iter().filter(|model| !model.unlisted).filter(is_own)
    }

    /// The vendor whose own API serves a model with this name; `None` for a model of no vendor or of several.
    pub fn vendor_of(&self, model: &str) -> Option<&str> {
        let serves = |patterns: &[String]| patterns.iter().any(|pattern| is_match(pattern, model));
        let mut vendors = self.own_models.iter().filter(|(_, patterns)| serves(patterns));
        let (vendor, _) = vendors.next()?;
        vendors.next().is_none().then_some(vendor.as_str())
    }

    /// The capabilities of a class.
    pub fn capabilities(&self, class: &str) -> Result<Capabilities, RegistryError> {
        let mut chain = Vec::new();
        let mut next = Some(class);
        while let Some(name) = next {
            let class = self.classes.get(name).ok_or_else(|| format!("class `{name}` is missing"))?;
            if chain.len() > self.classes.len() {
                return Err(format!("class `{name}`: it is its own base").into());
            }
            chain.push((name, class));
            next = class.base.as_deref();
        }
        // The root of the chain sets every rule, so the backend that begins the chain has no influence.
        let first = Backend::built_in().first().ok_or_else(|| "the core has no backends".to_owned())?;
        let mut takes = first.takes.clone();
        for (name, class) in chain.into_iter().rev() {
            apply(&mut takes, &class.rules).map_err(|error| format!("class `{name}`: {error}"))?;
        }
        Ok(takes)
    }

    /// The capabilities of models without a row, with no patterns, then the capabilities of each row, with its patterns.
    pub fn capabilities_of(
        &self,
        server: &ServerEntry,
    ) -> Result<Vec<(&[String], Capabilities)>, RegistryError> {
        let place = format!("backend `{}` for `{}`", server.name, server.dialect);
        let changed = |class: &str, rules: &[NamedRule]| {
            let mut takes = self.capabilities(class)?;
            let all = server.rules.iter().chain(rules);
            apply(&mut takes, all).map_err(|error| RegistryError(format!("{place}: {error}")))?;
            Ok::<_, RegistryError>(takes)
        };
        let mut all: Vec<(&[String], _)> = vec![(&[], changed(&server.class, &[])?)];
        for row in self.rows_of(server)? {
            let names = self.names.get(&row.names);
            let names = names.ok_or_else(|| format!("{place}: names `{}` are missing", row.names))?;
            all.push((names, changed(row.class.as_ref().unwrap_or(&server.class), &row.rules)?));
        }
        Ok(all)
    }

    /// The rows of a server.
    pub fn rows_of(&self, server: &ServerEntry) -> Result<&[ClassRow], RegistryError> {
        let Some(rows) = &server.rows else { return Ok(&[]) };
        let rows = self.rows.get(rows).ok_or_else(|| format!("rows `{rows}` are missing"))?;
        Ok(rows)
    }

    fn check(&self) -> Result<(), RegistryError> {
        for (name, class) in &self.classes {
            let takes = self.capabilities(name)?;
            let sets = |rule: &str| class.rules.iter().any(|(known, _)| known == rule);
            let unset = takes.rules().into_iter().map(|(rule, _)| rule).find(|rule| !sets(rule));
            if let (None, Some(rule)) = (&class.base, unset) {
                return Err(format!("class `{name}`: it has no `base` and does not set `{rule}`").into());
            }
        }
        for server in &self.servers {
            self.capabilities_of(server)?;
        }
        let used = |rows: &&String| self.servers.iter().any(|server| server.rows.as_ref() == Some(*rows));
        if let Some(rows) = self.rows.keys().find(|rows| !used(rows)) {
            return Err(format!("rows `{rows}`: no backend has them").into());
        }
        Ok(())
    }
}

impl ClassRow {
    fn read(row: &Value, place: &str) -> Result<Self, RegistryError> {
        let row = table_of(row, place)?;
        Ok(Self {
            names: word(row, "names", place)?,
            class: optional_word(row, "class", place)?,
            rules: rules_of(row, &["names", "class"], place)?,
        })
    }
}

impl ServerEntry {
    fn read(server: &Value) -> Result<Self, RegistryError> {
        let server = table_of(server, "backend")?;
        let name = word(server, "name", "backend")?;
        let place = format!("backend `{name}`");
        Ok(Self {
            dialect: word(server, "dialect", &place)?,
            about: word(server, "about", &place)?,
            class: word(server, "class", &place)?,
            rows: optional_word(server, "rows", &place)?,
            rules: rules_of(server, &["name", "dialect", "about", "class", "rows"], &place)?,
            name,
        })
    }
}

/// Takes the members that are not prices out of the lines of models. The name of a model with `names` joins that group.
fn known_models(
    lines: &mut Table,
    names: &mut BTreeMap<String, Vec<String>>,
) -> Result<Vec<KnownModel>, RegistryError> {
    let mut models = Vec::new();
    for (name, line) in lines.iter_mut() {
        let place = format!("model `{name}`");
        let line = line.as_table_mut().ok_or_else(|| format!("{place}: a table is missing"))?;
        let unlisted = match line.remove("unlisted") {
            None => false,
            Some(Value::Boolean(unlisted)) => unlisted,
            Some(_) => return Err(format!("{place}: `unlisted` wants `true` or `false`").into()),
        };
        if let Some(group) = line.remove("names") {
            let group = group.as_str().and_then(|group| names.get_mut(group));
            let group = group.ok_or_else(|| format!("{place}: `names` is no group of names"))?;
            group.push(format!("*{name}*"));
        }
        models.push(KnownModel { name: name.clone(), unlisted });
    }
    Ok(models)
}

fn apply<'r>(
    takes: &mut Capabilities,
    rules: impl IntoIterator<Item = &'r NamedRule>,
) -> Result<(), RuleError> {
    rules.into_iter().try_for_each(|(rule, value)| takes.set(rule, value))
}

fn member_table(root: &mut Table, name: &str) -> Result<Table, RegistryError> {
    match root.remove(name) {
        Some(Value::Table(table)) => Ok(table),
        _ => Err(format!("`[{name}]` is missing").into()),
    }
}

fn fact_source(sources: &mut Table, name: &str) -> Result<FactSource, RegistryError> {
    let place = format!("sources `{name}`");
    let table = member_table(sources, name)?;
    Ok(FactSource { date: word(&table, "date", &place)?, source: word(&table, "source", &place)? })
}

fn patterns(place: &str, list: &Value) -> Result<Vec<String>, RegistryError> {
    let list = list.as_array().and_then(|list| words(list));
    list.ok_or_else(|| format!("names `{place}`: a list of texts is missing").into())
}

fn table_of<'v>(value: &'v Value, place: &str) -> Result<&'v Table, RegistryError> {
    value.as_table().ok_or_else(|| format!("{place}: a table is missing").into())
}

fn word(table: &Table, name: &str, place: &str) -> Result<String, RegistryError> {
    let word = optional_word(table, name, place)?;
    word.ok_or_else(|| format!("{place}: `{name}` is missing").into())
}

fn optional_word(table: &Table, name: &str, place: &str) -> Result<Option<String>, RegistryError> {
    match table.get(name) {
        None => Ok(None),
        Some(Value::String(word)) => Ok(Some(word.clone())),
        Some(_) => Err(format!("{place}: `{name}` wants a text").into()),
    }
}

fn rules_of(table: &Table, but: &[&str], place: &str) -> Result<Vec<NamedRule>, RegistryError> {
    rules(table, but).map_err(|name| format!("{place}: `{name}` is no rule's value").into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_the_core_is_that_of_the_file() {
        let registry = Registry::built_in();
        assert_eq!(registry.servers.len(), Backend::built_in().len());
        for (server, backend) in registry.servers.iter().zip(Backend::built_in()) {
            assert_eq!((&*server.name, &*server.dialect), (&*backend.name, backend.dialect));
            assert_eq!(server.about, backend.about);
            let all = registry.capabilities_of(server).expect("checked");
            let ((_, of_all), rows) = all.split_first().expect("one for models without a row");
            assert_eq!(of_all.rules(), backend.takes.rules(), "{}", server.name);
            assert_eq!(rows.len(), backend.models.len(), "{}", server.name);
            for ((names, takes), row) in rows.iter().zip(backend.models.iter()) {
                assert_eq!(names.join(" "), row.names.join(" "), "{}", server.name);
                assert_eq!(takes.rules(), row.takes.rules(), "{} {}", server.name, names.join(" "));
            }
        }
    }

    #[test]
    fn a_vendor_lists_its_own_models_and_other_servers_list_none() {
        let registry = Registry::built_in();
        let names = |server| registry.models_of(server).map(|model| &*model.name).collect::<Vec<_>>();
        assert_eq!(names("moonshot"), ["kimi-k2.5", "kimi-k2.6", "kimi-k2.7-code", "kimi-k3"]);
        assert!(names("openai").contains(&"gpt-6.1-sol") && !names("openai").contains(&"codex-mini-latest"));
        for (server, pattern) in &registry.own_models {
            assert!(!names(server).is_empty(), "{server}: {pattern:?}");
        }
        assert_eq!(names("vllm"), [""; 0]);
    }

    #[test]
    fn a_model_is_one_line() {
        let line = "\"claude-opus-5\" = {";
        assert!(MODELS_TOML.contains(line));
        let text = MODELS_TOML.replace(
            line,
            &format!("\"tide-1\" = {{ input = 1, output = 2, names = \"claude-5-5\" }}\n{line}"),
        );
        let registry = Registry::parse(&text).expect("sound");
        let [anthropic, ..] = &registry.servers[..] else { panic!("a server") };
        let all = registry.capabilities_of(anthropic).expect("checked");
        let row = all.iter().find(|(names, _)| names.iter().any(|name| name == "*tide-1*")).expect("a row");
        assert_eq!(row.1.rules(), registry.capabilities("claude-5-5").expect("a class").rules());
        let usage = interlingua::model::Usage::new(1, 0);
        assert!(registry.prices.cost("tide-1", &usage).is_some_and(|cost| cost.estimated_by.is_none()));
    }

    #[test]
    fn an_error_names_its_place() {
        for (from, to, said) in [
            ("base = \"claude-5\"", "base = \"claude-six\"", "class `claude-six` is missing"),
            ("base = \"claude-5\"", "base = \"claude-5-5\"", "class `claude-5-5`: it is its own base"),
            ("needs-model = true", "", "class `chat`: it has no `base` and does not set `needs-model`"),
            (
                "thinking-off = false\n",
                "thinking-of = false\n",
                "class `chat-reasoning`: there is no rule `thinking-of`",
            ),
            ("rows = \"vllm\"", "rows = \"vllms\"", "rows `vllms` are missing"),
            ("rows = \"vllm\"", "", "rows `vllm`: no backend has them"),
            (
                "{ names = \"gemma\",",
                "{ names = \"gemmas\",",
                "backend `gemini` for `gemini`: names `gemmas` are missing",
            ),
            ("[own-models]", "[own]", "`[own-models]` is missing"),
            ("{ input = 5,", "{ inptu = 5,", "model `chat-latest`: there is no price `inptu`"),
        ] {
            assert!(MODELS_TOML.contains(from), "{from}");
            let error = Registry::parse(&MODELS_TOML.replace(from, to)).expect_err(said);
            assert_eq!(error.to_string(), said);
        }
    }
}
