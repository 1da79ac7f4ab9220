//! A user's own backends, from a TOML file (`docs/backends.md`).

use std::fmt;

use interlingua::wire::backends::{Backend, RuleError, SharedBackend};
use toml::{Table, Value};

use crate::rules::rules;

/// An error in a file of backends.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BackendsError {
    /// The name of the backend with the error; `None` if the error is outside a backend or the backend has no name.
    pub backend: Option<String>,
    /// The error.
    pub fault: BackendFault,
}

/// An error in a file of backends, without its place.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BackendFault {
    /// The file is not TOML: the message of the parser, with line and column.
    Toml(String),
    /// A member of the file other than `[[backend]]`.
    NotABackend(String),
    /// A backend without `name`.
    NoName,
    /// A backend without `dialect`.
    NoDialect,
    /// No built-in backend has the name and the dialect.
    NoBase {
        /// The value of `base`.
        base: String,
        /// The value of `dialect`.
        dialect: String,
    },
    /// No dialect of a model API has this name.
    NotAnApi(String),
    /// A `[[backend.model]]` without `match`.
    NoMatch,
    /// A member with this name has a value that no rule has.
    NotAValue(String),
    /// A rule that does not exist, or has a value of the wrong type.
    Rule(RuleError),
}

impl fmt::Display for BackendsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(backend) = &self.backend {
            write!(f, "backend `{backend}`: ")?;
        }
        self.fault.fmt(f)
    }
}

impl fmt::Display for BackendFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BackendFault::Toml(message) => f.write_str(message),
            BackendFault::NotABackend(key) => write!(f, "`{key}` is not `[[backend]]`"),
            BackendFault::NoName => f.write_str("a `[[backend]]` has no `name`"),
            BackendFault::NoDialect => f.write_str("it has no `dialect`"),
            BackendFault::NoBase { base, dialect } => {
                write!(f, "no built-in backend `{base}` speaks `{dialect}`")
            }
            BackendFault::NotAnApi(dialect) => write!(f, "`{dialect}` is no dialect of a model API"),
            BackendFault::NoMatch => f.write_str("a `[[backend.model]]` has no `match`"),
            BackendFault::NotAValue(name) => write!(f, "`{name}` is no rule's value"),
            BackendFault::Rule(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for BackendsError {}

impl From<BackendFault> for BackendsError {
    fn from(fault: BackendFault) -> Self {
        Self { backend: None, fault }
    }
}

/// The backends that the text of a file defines, in its order.
pub fn parse_backends(text: &str) -> Result<Vec<SharedBackend>, BackendsError> {
    let root: Table = text
        .parse()
        .map_err(|error: toml::de::Error| BackendFault::Toml(error.to_string().trim().to_owned()))?;
    let mut made = Vec::new();
    for (key, value) in &root {
        let (Value::Array(tables), "backend") = (value, key.as_str()) else {
            return Err(BackendFault::NotABackend(key.clone()).into());
        };
        for table in tables {
            let table = table.as_table().ok_or(BackendFault::NoName)?;
            let name = table.get("name").and_then(Value::as_str).ok_or(BackendFault::NoName)?;
            let made_of = |fault| BackendsError { backend: Some(name.to_owned()), fault };
            made.push(backend(name, table).map_err(made_of)?.into());
        }
    }
    Ok(made)
}

/// One `[[backend]]`: `name`, `dialect`, optionally `base` and `about`, then rules; `[[backend.model]]` has `match` and rules.
fn backend(name: &str, table: &Table) -> Result<Backend, BackendFault> {
    let word = |name: &str| table.get(name).and_then(Value::as_str);
    let dialect = word("dialect").ok_or(BackendFault::NoDialect)?;
    let base = match word("base") {
        Some(base) => Backend::named(base, dialect)
            .ok_or_else(|| BackendFault::NoBase { base: base.to_owned(), dialect: dialect.to_owned() })?,
        None => Backend::of_dialect(dialect).ok_or_else(|| BackendFault::NotAnApi(dialect.to_owned()))?,
    };
    let changes = rules(table, &["name", "dialect", "base", "about", "model"]);
    let changes = changes.map_err(BackendFault::NotAValue)?;
    let mut models = Vec::new();
    for row in table.get("model").and_then(Value::as_array).into_iter().flatten() {
        let row = row.as_table().ok_or(BackendFault::NoMatch)?;
        let names = match row.get("match") {
            Some(Value::String(name)) => vec![name.clone()],
            Some(Value::Array(names)) => {
                names.iter().filter_map(|name| name.as_str().map(str::to_owned)).collect()
            }
            _ => return Err(BackendFault::NoMatch),
        };
        models.push((names, rules(row, &["match"]).map_err(BackendFault::NotAValue)?));
    }
    let about = word("about").unwrap_or("the user's own");
    Backend::derived(name, about, base, &changes, &models).map_err(BackendFault::Rule)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_names_the_backend_and_the_rule() {
        let harbour = "[[backend]]\nname = \"harbour\"\n";
        for (text, said) in [
            ("a = 1".to_owned(), "`a` is not `[[backend]]`"),
            ("[[backend]]\ndialect = \"openai-chat\"".to_owned(), "a `[[backend]]` has no `name`"),
            (harbour.to_owned(), "backend `harbour`: it has no `dialect`"),
            (format!("{harbour}dialect = \"pi\""), "backend `harbour`: `pi` is no dialect of a model API"),
            (
                format!("{harbour}dialect = \"gemini\"\nbase = \"vllm\""),
                "backend `harbour`: no built-in backend `vllm` speaks `gemini`",
            ),
            (
                format!("{harbour}dialect = \"gemini\"\nprefil = true"),
                "backend `harbour`: there is no rule `prefil`",
            ),
            (
                format!("{harbour}dialect = \"gemini\"\nprefill = 1"),
                "backend `harbour`: `prefill` wants `true` or `false`",
            ),
            (
                format!("{harbour}dialect = \"gemini\"\nprefill = {{}}"),
                "backend `harbour`: `prefill` is no rule's value",
            ),
            (
                format!("{harbour}dialect = \"gemini\"\n[[backend.model]]\nprefill = true"),
                "backend `harbour`: a `[[backend.model]]` has no `match`",
            ),
        ] {
            assert_eq!(parse_backends(&text).expect_err(&text).to_string(), said);
        }
        let error = parse_backends("a = ").expect_err("not TOML");
        assert!(
            matches!(&error.fault, BackendFault::Toml(message) if message.contains("line 1, column 5")),
            "{error}"
        );
    }

    #[test]
    fn a_backend_has_the_rules_of_its_base_and_its_own() {
        let text = "[[backend]]\nname = \"harbour\"\ndialect = \"openai-chat\"\nbase = \"vllm\"\nmax-temperature = 1.0\n\
                    [[backend.model]]\nmatch = [\"tide-*\"]\nmedia = []\n";
        let [backend] = &parse_backends(text).expect("sound")[..] else { panic!("one backend") };
        assert_eq!((&*backend.name, backend.dialect), ("harbour", "openai-chat"));
        let tide = interlingua::json::Str::plain("tide-1");
        assert!(backend.takes_of(Some(&tide)).media.inline.is_empty());
        assert_eq!(backend.takes.rules()[5].1.to_string(), "1");
        assert_eq!(backend.models.len(), 2, "the rows of vLLM follow");
    }
}
