//! Routes that are ready to be used: from a requested model to the backends to try, in order.

use interlingua::json::Str;
use interlingua::ledger::LossPolicy;
use interlingua::model::FailureClass;
use interlingua::wire::backends::is_match;

use crate::backend::ReadyBackend;
use crate::config::{Config, ConfigError, RouteSettings};

/// A route that is ready to be used.
#[derive(Debug)]
pub(crate) struct ReadyRoute {
    pattern: String,
    /// The backends to try, in order; at least one.
    pub(crate) targets: Vec<RouteTarget>,
    /// The losses that the route refuses.
    pub(crate) losses: Option<LossPolicy>,
    pub(crate) max_tokens: Option<u64>,
}

/// A backend of a route.
#[derive(Debug)]
pub(crate) struct RouteTarget {
    /// The position among the backends of the gateway.
    pub(crate) backend: usize,
    /// The model to ask for; without it, the requested model.
    pub(crate) send: Option<String>,
    /// The failures that lead here; `None` for those after which a call may be sent again.
    on: Option<Vec<FailureClass>>,
}

impl RouteTarget {
    /// Whether a call that failed before goes on here.
    pub(crate) fn follows(&self, failure: FailureClass) -> bool {
        match &self.on {
            Some(classes) => classes.contains(&failure),
            None => failure.is_retryable(),
        }
    }
}

/// The routes of a configuration.
pub(crate) fn routes(config: &Config, backends: &[ReadyBackend]) -> Result<Vec<ReadyRoute>, ConfigError> {
    config.routes.iter().map(|route| ready(route, backends)).collect()
}

/// The first route for a model.
pub(crate) fn find<'r>(routes: &'r [ReadyRoute], model: &str) -> Option<&'r ReadyRoute> {
    routes.iter().find(|route| is_match(&route.pattern, model))
}

/// The patterns of all routes, for messages.
pub(crate) fn patterns(routes: &[ReadyRoute]) -> String {
    let patterns: Vec<&str> = routes.iter().map(|route| &*route.pattern).collect();
    patterns.join(", ")
}

fn ready(route: &RouteSettings, backends: &[ReadyBackend]) -> Result<ReadyRoute, ConfigError> {
    let model = || route.model.clone();
    let position = |name: &str| {
        let missing = || ConfigError::NoBackend { model: model(), backend: name.to_owned() };
        backends.iter().position(|backend| backend.name == name).ok_or_else(missing)
    };
    let first = RouteTarget { backend: position(&route.backend)?, send: route.send.clone(), on: None };
    let mut targets = vec![first];
    for fallback in &route.fallbacks {
        let class = |word: &String| {
            let unknown = || ConfigError::FailureClass { model: model(), word: word.clone() };
            FailureClass::WORDS.value(&Str::plain(word)).ok_or_else(unknown)
        };
        let on: Vec<FailureClass> = fallback.on.iter().map(class).collect::<Result<_, _>>()?;
        let backend = position(&fallback.backend)?;
        targets.push(RouteTarget {
            backend,
            send: fallback.send.clone(),
            on: Some(on).filter(|on| !on.is_empty()),
        });
    }
    let wrong = |error: interlingua::ledger::PolicyError| ConfigError::Losses {
        model: model(),
        error: error.to_string(),
    };
    let losses = route.losses.as_deref().map(LossPolicy::parse).transpose().map_err(wrong)?;
    Ok(ReadyRoute { pattern: model(), targets, losses, max_tokens: route.max_tokens })
}
