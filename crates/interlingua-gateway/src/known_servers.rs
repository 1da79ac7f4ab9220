//! The servers that a configuration can name without a URL: their dialects, their URLs, and the usual variables of their
//! keys.

use interlingua::wire::backends::{Backend, SharedBackend};
use interlingua::wire::endpoints::Api;
use interlingua_models::Registry;

/// A server with a name.
#[derive(Debug)]
pub(crate) struct KnownServer {
    pub(crate) name: &'static str,
    pub(crate) dialect: &'static str,
    /// The URL; `None` if the server has a URL of its own for each customer.
    pub(crate) url: Option<&'static str>,
    /// The usual environment variable with the key.
    pub(crate) variable: Option<&'static str>,
    /// The name under which the core lists the capabilities and the models of the server.
    pub(crate) listed_as: &'static str,
}

impl KnownServer {
    const fn new(name: &'static str, dialect: &'static str) -> Self {
        Self { name, dialect, url: None, variable: None, listed_as: name }
    }

    const fn at(self, url: &'static str) -> Self {
        Self { url: Some(url), ..self }
    }

    const fn key(self, variable: &'static str) -> Self {
        Self { variable: Some(variable), ..self }
    }

    const fn listed_as(self, listed_as: &'static str) -> Self {
        Self { listed_as, ..self }
    }

    /// The server with a name.
    pub(crate) fn named(name: &str) -> Option<&'static Self> {
        KNOWN_SERVERS.iter().find(|server| server.name == name)
    }

    /// The servers that can be used by their names alone, with commas.
    pub(crate) fn names() -> String {
        let names: Vec<&str> =
            KNOWN_SERVERS.iter().filter(|server| server.url.is_some()).map(|server| server.name).collect();
        names.join(", ")
    }

    /// The server of the vendor whose own API has a model with this name.
    pub(crate) fn of_model(model: &str) -> Option<&'static Self> {
        let vendor = Registry::built_in().vendor_of(model)?;
        KNOWN_SERVERS.iter().find(|server| server.listed_as == vendor)
    }
}

/// The capabilities of a backend with a name and a dialect; `None` for those of the vendor of the dialect.
pub(crate) fn capabilities(name: &str, api: &Api) -> Option<SharedBackend> {
    let listed = KnownServer::named(name).map_or(name, |server| server.listed_as);
    Backend::named(listed, api.dialect).map(SharedBackend::from)
}

/// All servers. A name of the core without an entry here would be sent to the vendor of its dialect.
static KNOWN_SERVERS: [KnownServer; 17] = [
    KnownServer::new("anthropic", "anthropic").at("https://api.anthropic.com").key("ANTHROPIC_API_KEY"),
    KnownServer::new("openai", "openai-chat").at("https://api.openai.com").key("OPENAI_API_KEY"),
    KnownServer::new("gemini", "gemini")
        .at("https://generativelanguage.googleapis.com")
        .key("GEMINI_API_KEY"),
    KnownServer::new("kimi", "kimi")
        .at("https://api.moonshot.ai")
        .key("MOONSHOT_API_KEY")
        .listed_as("moonshot"),
    KnownServer::new("moonshot", "kimi").at("https://api.moonshot.ai").key("MOONSHOT_API_KEY"),
    KnownServer::new("copilot", "copilot")
        .at("https://api.githubcopilot.com")
        .key("GITHUB_COPILOT_TOKEN")
        .listed_as("github"),
    KnownServer::new("github", "copilot").at("https://api.githubcopilot.com").key("GITHUB_COPILOT_TOKEN"),
    KnownServer::new("openrouter", "openai-chat").at("https://openrouter.ai/api").key("OPENROUTER_API_KEY"),
    KnownServer::new("ollama", "openai-chat").at("http://127.0.0.1:11434"),
    KnownServer::new("vllm", "openai-chat").at("http://127.0.0.1:8000"),
    KnownServer::new("deepseek", "openai-chat").at("https://api.deepseek.com").key("DEEPSEEK_API_KEY"),
    KnownServer::new("xai", "openai-chat").at("https://api.x.ai").key("XAI_API_KEY"),
    KnownServer::new("mistral", "openai-chat").at("https://api.mistral.ai").key("MISTRAL_API_KEY"),
    KnownServer::new("groq", "openai-chat").at("https://api.groq.com/openai").key("GROQ_API_KEY"),
    KnownServer::new("azure", "openai-chat"),
    KnownServer::new("bedrock", "anthropic"),
    KnownServer::new("vertex", "anthropic"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_backend_of_the_core_is_known() {
        for backend in Backend::built_in() {
            let known = KnownServer::named(&backend.name);
            assert!(known.is_some(), "`{}` would be sent to the vendor of its dialect", backend.name);
        }
        for server in &KNOWN_SERVERS {
            let api = Api::of(server.dialect).expect(server.name);
            assert!(capabilities(server.name, api).is_some(), "{}", server.name);
        }
    }

    #[test]
    fn a_server_with_a_dialect_of_its_vendor_has_its_url() {
        for server in
            KNOWN_SERVERS.iter().filter(|server| ["anthropic", "openai", "gemini"].contains(&server.name))
        {
            assert_eq!(server.url, Api::of(server.dialect).map(|api| api.base_url), "{}", server.name);
        }
    }

    #[test]
    fn a_model_of_a_vendor_names_its_server() {
        let of = |model: &str| KnownServer::of_model(model).map(|server| server.name);
        assert_eq!(of("gpt-5.5"), Some("openai"));
        assert_eq!(of("claude-opus-5-5"), Some("anthropic"));
        assert_eq!(of("gemini-3-pro"), Some("gemini"));
        assert_eq!(of("kimi-k3"), Some("kimi"));
        assert_eq!(of("grok-5"), Some("xai"));
        assert_eq!(of("qwen3-32b"), None);
    }
}
