//! `route`: the backends that a gateway tries for a model, and the reasons.

use std::fmt::Write as _;

use interlingua_gateway::{Config, Server, SystemLookup};

use crate::error::{CommandError, Exit};
use crate::flags::Route;
use crate::{serve, talk};

/// Prints the route of a model. A model without a route is a failure.
pub(crate) fn run(args: &Route) -> Result<Exit, CommandError> {
    let config = serve::config(&args.gateway)?;
    Server::check(&config, &SystemLookup)?;
    let (before, route) = config.explain(&args.asked);
    let mut text = String::new();
    if args.explain {
        for route in before {
            let _ =
                writeln!(text, "not `{}` (to `{}`): the pattern does not match", route.model, route.backend);
        }
    }
    let Some(route) = route else {
        let _ = writeln!(text, "no route for `{}`", args.asked);
        talk::text(&text)?;
        return Ok(Exit::Failed);
    };
    let target = |backend: &str, send: Option<&str>| {
        let model = send.unwrap_or(&args.asked);
        format!("`{model}` of `{backend}`{}", described(&config, backend))
    };
    let first = target(&route.backend, route.send.as_deref());
    let _ = writeln!(text, "`{}` matches `{}`: {first}", args.asked, route.model);
    for fallback in &route.fallbacks {
        let reasons = if fallback.on.is_empty() {
            "a failure that may pass".to_owned()
        } else {
            fallback.on.join(", ")
        };
        let next = target(&fallback.backend, fallback.send.as_deref());
        let _ = writeln!(text, "after {reasons}: {next}");
    }
    if let Some(losses) = &route.losses {
        let _ = writeln!(text, "losses: {losses}");
    }
    if let Some(most) = route.max_tokens {
        let _ = writeln!(text, "at most {most} output tokens");
    }
    talk::text(&text)?;
    Ok(Exit::Done)
}

/// The dialect and the URL of a backend.
fn described(config: &Config, name: &str) -> String {
    let Some(settings) = config.backends.get(name) else { return String::new() };
    match &settings.script {
        Some(_) => " (a script)".to_owned(),
        None => match settings.server(name) {
            Ok((dialect, url)) => format!(" ({dialect} at {url})"),
            Err(_) => String::new(),
        },
    }
}
