//! Sessions that name a route of the gateway: the agent is pointed at the server that the daemon is a part of.

use std::borrow::Cow;
use std::fmt;
use std::sync::{Arc, OnceLock};

use crate::agents::Agent;
use crate::pointed::{PointTarget, PointedProgram};
use crate::problem::ApiProblem;
use crate::settings::SessionSettings;

/// The gateway that agents can be pointed at.
#[non_exhaustive]
pub struct GatewayServer {
    /// The URL without a path.
    pub url: String,
    /// The key of the gateway; `None` if the gateway needs none.
    pub key: Option<String>,
}

impl GatewayServer {
    /// A gateway at this URL.
    pub const fn new(url: String, key: Option<String>) -> Self {
        Self { url, key }
    }
}

impl fmt::Debug for GatewayServer {
    /// The key is left out.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GatewayServer").field("url", &self.url).finish_non_exhaustive()
    }
}

/// The way of a session to the gateway.
#[derive(Clone, Debug, Default)]
pub(crate) struct GatewayLink {
    /// The gateway, once its address is known.
    server: Arc<OnceLock<GatewayServer>>,
    /// The settings for the agent, made with its first start.
    pointed: Arc<OnceLock<PointedProgram>>,
}

impl GatewayLink {
    /// A session of a daemon that knows this gateway.
    pub(crate) fn to(server: &Arc<OnceLock<GatewayServer>>) -> Self {
        Self { server: Arc::clone(server), pointed: Arc::default() }
    }
}

impl SessionSettings {
    /// Refuses a route that cannot reach the agent.
    pub(crate) fn check_route(&self, agent: &Agent) -> Result<(), ApiProblem> {
        let Some(route) = &self.route else { return Ok(()) };
        let wrong = |detail: String| Err(ApiProblem::invalid_request(detail));
        if route.trim().is_empty() {
            return wrong("`route` is the name of a model, not an empty text".to_owned());
        }
        if self.model.is_some() {
            return wrong("`route` is the model of the session; leave `model` out".to_owned());
        }
        if !agent.program.is_some_and(PointedProgram::knows) {
            return wrong(format!(
                "{} cannot be pointed at the gateway, so `route` does not reach it",
                agent.name
            ));
        }
        if self.gateway.server.get().is_none() {
            return wrong(
                "the gateway has clients and no token, so agents have no key for a `route`".to_owned(),
            );
        }
        Ok(())
    }

    /// The settings with the variables and arguments that point the agent at the gateway, if the session names a route.
    pub(crate) fn pointed(&self, agent: &Agent) -> Result<Cow<'_, Self>, ApiProblem> {
        let (Some(route), Some(program)) = (&self.route, agent.program) else {
            return Ok(Cow::Borrowed(self));
        };
        let GatewayLink { server, pointed } = &self.gateway;
        let unknown = || ApiProblem::invalid_request("the gateway of the route is not known");
        let server = server.get().ok_or_else(unknown)?;
        let pointed = if let Some(pointed) = pointed.get() {
            pointed
        } else {
            let target = PointTarget {
                url: &server.url,
                key: server.key.as_deref().unwrap_or(PointTarget::ANY_KEY),
                model: Some(route),
                usual_model: None,
            };
            let made = PointedProgram::new(program, target)
                .map_err(|error| ApiProblem::agent_process_exited(error.to_string()))?;
            pointed.get_or_init(|| made)
        };
        let mut settings = self.clone();
        settings.leading_arguments.clone_from(&pointed.arguments);
        let removed = pointed.removed.iter().map(|name| (*name, String::new()));
        // Variables of the client win.
        for (name, value) in removed.chain(pointed.variables.iter().cloned()) {
            settings.env.entry(name.to_owned()).or_insert(value);
        }
        Ok(Cow::Owned(settings))
    }
}
