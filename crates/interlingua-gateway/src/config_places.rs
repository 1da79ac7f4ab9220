//! The places of the settings in the text of a configuration, so that an error that is found after parsing has its line.

use std::collections::HashMap;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::config::{BackendSettings, Config, ConfigError, ConfigPart, KeySource};

/// The line and the column of each setting. It holds names and no values, which may be keys.
#[derive(Clone, Debug, Default)]
pub(crate) struct ConfigPlaces(HashMap<Vec<String>, (usize, usize)>);

impl ConfigPlaces {
    /// The places in a text that is TOML.
    pub(crate) fn of(text: &str) -> Self {
        let mut places = Self::default();
        if let Ok(table) = DeTable::parse(text) {
            places.add_table(text, &mut Vec::new(), table.get_ref());
        }
        places
    }

    fn add_table(&mut self, text: &str, path: &mut Vec<String>, table: &DeTable<'_>) {
        for (name, value) in table {
            path.push(name.get_ref().to_string());
            self.0.insert(path.clone(), line_and_column(text, name.span().start));
            self.add_value(text, path, value);
            path.pop();
        }
    }

    fn add_value(&mut self, text: &str, path: &mut Vec<String>, value: &Spanned<DeValue<'_>>) {
        match value.get_ref() {
            DeValue::Table(table) => self.add_table(text, path, table),
            DeValue::Array(array) => {
                for (number, value) in array.iter().enumerate() {
                    path.push(number.to_string());
                    self.0.insert(path.clone(), line_and_column(text, value.span().start));
                    self.add_value(text, path, value);
                    path.pop();
                }
            }
            DeValue::String(_)
            | DeValue::Integer(_)
            | DeValue::Float(_)
            | DeValue::Boolean(_)
            | DeValue::Datetime(_) => {}
        }
    }

    /// The error with the place of its setting, or of the nearest table around it.
    pub(crate) fn place(&self, config: &Config, error: ConfigError) -> ConfigError {
        let mut path: Vec<String> = subject(config, &error);
        while !path.is_empty() {
            if let Some((line, column)) = self.0.get(&path) {
                return ConfigError::At { line: *line, column: *column, error: Box::new(error) };
            }
            path.pop();
        }
        error
    }
}

/// The line and the column of a byte, both from 1 on.
pub(crate) fn line_and_column(text: &str, at: usize) -> (usize, usize) {
    let before = text.get(..at).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.chars().rev().take_while(|&letter| letter != '\n').count() + 1;
    (line, column)
}

/// The path of the setting that an error is about.
fn subject(config: &Config, error: &ConfigError) -> Vec<String> {
    let route = |is_it: &dyn Fn(usize) -> bool| (0..config.routes.len()).find(|at| is_it(*at)).unwrap_or(0);
    match error {
        ConfigError::Toml(_) | ConfigError::At { .. } => Vec::new(),
        ConfigError::NoDialect(backend) | ConfigError::NoUrl(backend) => path(["backend", backend]),
        ConfigError::NotAnApi { backend, .. } => path(["backend", backend, "dialect"]),
        ConfigError::Url { backend, .. } => path(["backend", backend, "url"]),
        ConfigError::Header { backend, header } => path(["backend", backend, "headers", header]),
        ConfigError::Conflict { backend, settings: [_, other] } => path(["backend", backend, other]),
        ConfigError::Script { backend, .. } => {
            let settings = config.backends.get(backend);
            let is_replay = settings.is_some_and(|settings| settings.replay.is_some());
            let is_script = settings.is_some_and(|settings| settings.script.is_some());
            path([
                "backend",
                backend,
                if is_replay {
                    "replay"
                } else if is_script {
                    "script"
                } else {
                    "record"
                },
            ])
        }
        ConfigError::NoKey { owner, variable } => {
            key_path(config, owner, &|source| source.env.as_deref() == Some(variable))
        }
        ConfigError::KeyFile { owner, .. } => key_path(config, owner, &|source| source.file.is_some()),
        ConfigError::KeySource(owner) => {
            let count = |source: &KeySource| {
                [source.env.is_some(), source.file.is_some(), source.value.is_some()].map(usize::from)
            };
            key_path(config, owner, &|source| count(source).iter().sum::<usize>() != 1)
        }
        ConfigError::KeyText(owner) => key_path(config, owner, &|_| true),
        ConfigError::SameKey(client) => client_path(config, client, "key"),
        ConfigError::SameName(client) => client_path(config, client, "name"),
        ConfigError::Budget(client) => client_path(config, client, "budget"),
        ConfigError::Store(_) => path(["store", "place"]),
        ConfigError::NoRoute => {
            config.backends.keys().next().map(|backend| path(["backend", backend])).unwrap_or_default()
        }
        ConfigError::Losses { model, .. } => {
            let at = route(&|at| {
                config.routes.get(at).is_some_and(|route| route.model == *model && route.losses.is_some())
            });
            path(["route", &at.to_string(), "losses"])
        }
        ConfigError::FailureClass { model, word } => {
            fallback_path(config, model, "on", &|fallback| fallback.on.contains(word))
        }
        ConfigError::NoBackend { model, backend } => {
            let is_it = |at: usize| {
                config.routes.get(at).is_some_and(|route| route.model == *model && route.backend == *backend)
            };
            match (0..config.routes.len()).find(|at| is_it(*at)) {
                Some(at) => path(["route", &at.to_string(), "backend"]),
                None => fallback_path(config, model, "backend", &|fallback| fallback.backend == *backend),
            }
        }
        ConfigError::ZeroLimit { part, setting } => match part {
            ConfigPart::Gateway => path([setting]),
            ConfigPart::Token => path(["token"]),
            ConfigPart::Backend(backend) => path(["backend", backend, setting]),
            ConfigPart::Client(client) => client_path(config, client, setting),
            ConfigPart::Route(model) => {
                let at = route(&|at| {
                    config
                        .routes
                        .get(at)
                        .is_some_and(|route| route.model == *model && route.max_tokens == Some(0))
                });
                path(["route", &at.to_string(), setting])
            }
        },
        ConfigError::Telemetry(_) => path(["telemetry", "endpoint"]),
        ConfigError::NoToken(_) => path(["listen"]),
    }
}

fn path<const N: usize>(steps: [&str; N]) -> Vec<String> {
    steps.map(str::to_owned).to_vec()
}

/// A setting of the last client with a name: an error is found at the second of two equal ones.
fn client_path(config: &Config, name: &str, setting: &str) -> Vec<String> {
    match config.clients.iter().rposition(|client| client.name == name) {
        Some(at) => path(["client", &at.to_string(), setting]),
        None => path(["token"]),
    }
}

/// A setting of the first fallback of a route for which a condition holds.
fn fallback_path(
    config: &Config,
    model: &str,
    setting: &str,
    is_it: &dyn Fn(&crate::config::FallbackSettings) -> bool,
) -> Vec<String> {
    let routes = config.routes.iter().enumerate().filter(|(_, route)| route.model == model);
    for (at, route) in routes {
        if let Some(fallback) = route.fallbacks.iter().position(is_it) {
            return path(["route", &at.to_string(), "fallback", &fallback.to_string(), setting]);
        }
    }
    path(["route"])
}

/// The first key of a backend or a client for which a condition holds.
fn key_path(config: &Config, owner: &ConfigPart, is_it: &dyn Fn(&KeySource) -> bool) -> Vec<String> {
    match owner {
        ConfigPart::Gateway | ConfigPart::Route(_) => Vec::new(),
        ConfigPart::Token => path([if config.token.is_some() { "token" } else { "token-env" }]),
        ConfigPart::Client(client) => client_path(config, client, "key"),
        ConfigPart::Backend(backend) => {
            let Some(settings) = config.backends.get(backend) else { return path(["backend", backend]) };
            let BackendSettings { key, key_env, key_file, keys, .. } = settings;
            let single = KeySource { env: key_env.clone(), file: key_file.clone(), value: key.clone() };
            let has_single = key.is_some() || key_env.is_some() || key_file.is_some();
            if has_single && is_it(&single) {
                let setting = match (key_file, key_env) {
                    (Some(_), _) => "key-file",
                    (None, Some(_)) => "key-env",
                    (None, None) => "key",
                };
                return path(["backend", backend, setting]);
            }
            match keys.iter().position(is_it) {
                Some(at) => path(["backend", backend, "keys", &at.to_string()]),
                None => path(["backend", backend]),
            }
        }
    }
}
