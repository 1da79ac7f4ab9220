//! The list of models that a gateway offers, in the client's dialect.

use std::collections::BTreeSet;

use interlingua::dialects::{Dialect, Options, Role};
use interlingua::json::Str;
use interlingua::pipe::Pipe;
use interlingua::tape::{Limits, TapeBuf};
use interlingua_models::Registry;

use crate::clients::Client;
use crate::config::Config;
use crate::known_servers::KnownServer;

/// The list of the models that a client may ask for, in a dialect.
pub(crate) fn body(config: &Config, client: &Client, dialect: &'static Dialect) -> Vec<u8> {
    let names = names(config);
    listed(names.iter().filter(|name| client.may_ask_for(name)), dialect)
}

/// The entry of one model that a client may ask for; `None` for a model without a route.
pub(crate) fn entry(
    config: &Config,
    client: &Client,
    dialect: &'static Dialect,
    name: &str,
) -> Option<String> {
    config.route(name).filter(|_| client.may_ask_for(name))?;
    let list = String::from_utf8(listed([&name.to_owned()].into_iter(), dialect)).ok()?;
    let mut tape = TapeBuf::default();
    let tape = tape.parse(&list, &Limits::default()).ok()?;
    let entries = ["data", "models"].into_iter().find_map(|member| tape.root().get(member))?;
    entries.elements().next().map(|entry| entry.text().to_owned())
}

fn listed<'n>(names: impl Iterator<Item = &'n String>, dialect: &'static Dialect) -> Vec<u8> {
    let mut list = String::from(r#"{"object":"list","data":["#);
    for (at, name) in names.enumerate() {
        let comma = if at == 0 { "" } else { "," };
        let name = Str::plain(name);
        list += comma;
        list += r#"{"id":""#;
        list += name.as_escaped();
        list += r#"","object":"model","created":0,"owned_by":"interlingua"}"#;
    }
    list += "]}";
    let mut out = Vec::new();
    let chat = Dialect::named("openai-chat");
    let pipe = chat
        .and_then(|chat| Pipe::new((chat, Role::Models), (dialect, Role::Models), &Options::default()).ok());
    if let Some(pipe) = pipe {
        pipe.finish_with(list.as_bytes(), &mut out);
    }
    out
}

/// The names of models: those that routes name, and the known models of a backend behind a pattern.
fn names(config: &Config) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for route in &config.routes {
        if !route.model.contains('*') {
            names.insert(route.model.clone());
            continue;
        }
        let server = KnownServer::named(&route.backend).map_or(&*route.backend, |server| server.listed_as);
        let known = Registry::built_in().models_of(server).map(|model| (*model.name).to_owned());
        names.extend(known.filter(|name| interlingua::wire::backends::is_match(&route.model, name)));
        names.extend(route.send.clone());
    }
    if names.is_empty() {
        names.insert("scripted".to_owned());
    }
    names
}
