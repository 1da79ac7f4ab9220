//! The variables, arguments and private files that point each known program at a gateway.
//!
//! Variables alone do not suffice. Claude Code prefers the variables in its settings file to those of its environment,
//! Codex and Pi read no variable for their server, and Gemini CLI and Qwen Code read the choice of a login from a settings
//! file. Arguments and private files outrank the files of the user, which stay unchanged.

use std::path::PathBuf;
use std::process::Command;
use std::{fmt, fs, io};

use interlingua::json::Str;
use interlingua_sessions::PrivateFolder;

use crate::gemini_home;

/// The gateway that a program is pointed at.
#[derive(Clone, Copy, Debug)]
pub struct PointTarget<'a> {
    /// The URL without a path.
    pub url: &'a str,
    /// The key that the program sends to the gateway. Clients refuse to start without a key.
    pub key: &'a str,
    /// The model that the user named; without it, the program's own default.
    pub model: Option<&'a str>,
    /// The model for programs without a default.
    pub usual_model: Option<&'a str>,
}

impl PointTarget<'_> {
    /// A key for gateways without keys.
    pub const ANY_KEY: &'static str = "interlingua";
}

/// The settings that point a program at the gateway.
#[derive(Debug, Default)]
struct PointSettings {
    /// Arguments before those of the user.
    arguments: Vec<String>,
    variables: Vec<(&'static str, String)>,
    /// Variables that would lead the program elsewhere.
    removed: &'static [&'static str],
    private: Option<Private>,
}

/// The content of a private folder, and the name of the variable or argument with its path.
#[derive(Debug)]
enum Private {
    /// A file with its name and its text, named by a variable.
    Setting(&'static str, &'static str, String),
    /// A file with its name and its text, named by an argument.
    Argument(&'static str, &'static str, String),
    /// A home of Gemini CLI.
    GeminiHome,
}

/// A program with settings of its own.
struct KnownProgram {
    /// The name of the command.
    name: &'static str,
    /// Whether the program has no default model for a server that is not its vendor's.
    needs_model: bool,
    settings: fn(PointTarget<'_>) -> PointSettings,
}

const PROGRAMS: [KnownProgram; 8] = [
    KnownProgram { name: "claude", needs_model: false, settings: claude },
    KnownProgram { name: "codex", needs_model: false, settings: codex },
    KnownProgram { name: "gemini", needs_model: false, settings: gemini },
    KnownProgram { name: "opencode", needs_model: true, settings: opencode },
    KnownProgram { name: "qwen", needs_model: true, settings: qwen },
    KnownProgram { name: "kimi", needs_model: true, settings: kimi },
    KnownProgram { name: "copilot", needs_model: true, settings: copilot },
    KnownProgram { name: "pi", needs_model: true, settings: pi },
];

/// The arguments, variables and private files that point a program at a gateway.
#[derive(Debug)]
#[non_exhaustive]
pub struct PointedProgram {
    /// Arguments before all others.
    pub arguments: Vec<String>,
    /// Variables of the environment.
    pub variables: Vec<(&'static str, String)>,
    /// Variables that would lead the program elsewhere.
    pub removed: &'static [&'static str],
    /// The folder of the private files, which must live as long as the program runs.
    pub folder: Option<PrivateFolder>,
}

/// The reason why a program cannot be pointed at a gateway.
#[derive(Debug)]
#[non_exhaustive]
pub enum PointError {
    /// The program has no default model, and the user named none.
    NoModel(&'static str),
    /// The private files cannot be written in this folder.
    Files(PathBuf, io::Error),
}

impl fmt::Display for PointError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PointError::NoModel(program) => write!(f, "`{program}` needs the name of a model"),
            PointError::Files(folder, error) => write!(f, "`{}`: {error}", folder.display()),
        }
    }
}

impl std::error::Error for PointError {}

impl PointedProgram {
    /// Whether this program has settings of its own for a gateway.
    pub fn knows(program: &str) -> bool {
        known(program).is_some()
    }

    /// The settings for a program. A program that is not known gets the variables that many programs read.
    pub fn new(program: &str, mut target: PointTarget<'_>) -> Result<Self, PointError> {
        let mut pointed =
            Self { arguments: Vec::new(), variables: shared_variables(target), removed: &[], folder: None };
        let Some(known) = known(program) else { return Ok(pointed) };
        target.model = target.model.or(target.usual_model.filter(|_| known.needs_model));
        if known.needs_model && target.model.is_none() {
            return Err(PointError::NoModel(known.name));
        }
        let PointSettings { arguments, variables, removed, private } = (known.settings)(target);
        pointed.variables.retain(|(name, _)| !removed.contains(name));
        pointed.variables.extend(variables);
        (pointed.arguments, pointed.removed) = (arguments, removed);
        if let Some(private) = private {
            let failed = |error| PointError::Files(std::env::temp_dir(), error);
            pointed.write(private).map_err(failed)?;
        }
        Ok(pointed)
    }

    /// Writes the private files.
    fn write(&mut self, private: Private) -> io::Result<()> {
        let folder = PrivateFolder::new()?;
        let text_of = |path: PathBuf| {
            let no_text = |_| io::Error::new(io::ErrorKind::InvalidData, "the path is not text");
            path.into_os_string().into_string().map_err(no_text)
        };
        match private {
            Private::Setting(variable, name, text) => {
                let path = folder.path().join(name);
                fs::write(&path, text)?;
                self.variables.push((variable, text_of(path)?));
            }
            Private::Argument(argument, name, text) => {
                let path = folder.path().join(name);
                fs::write(&path, text)?;
                self.arguments.extend([argument.to_owned(), text_of(path)?]);
            }
            Private::GeminiHome => {
                gemini_home::make(folder.path())?;
                self.variables.push((gemini_home::VARIABLE, text_of(folder.path().to_owned())?));
            }
        }
        self.folder = Some(folder);
        Ok(())
    }

    /// The command of the program, before the arguments of the user.
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        for name in self.removed {
            command.env_remove(name);
        }
        command.envs(self.variables.iter().map(|(name, value)| (name, value))).args(&self.arguments);
        command
    }
}

/// The known program behind a command: `/usr/bin/codex`, `codex.js` and `codex.exe` are all `codex`.
fn known(program: &str) -> Option<&'static KnownProgram> {
    let file = program.rsplit(['/', '\\']).next().unwrap_or(program);
    let name = file.split('.').next().unwrap_or(file);
    PROGRAMS.iter().find(|known| known.name == name)
}

/// The variables that official clients and many programs read.
fn shared_variables(PointTarget { url, key, model, .. }: PointTarget<'_>) -> Vec<(&'static str, String)> {
    let mut variables = vec![
        ("ANTHROPIC_BASE_URL", url.to_owned()),
        ("ANTHROPIC_API_KEY", key.to_owned()),
        ("OPENAI_BASE_URL", format!("{url}/v1")),
        ("OPENAI_API_KEY", key.to_owned()),
        ("GOOGLE_GEMINI_BASE_URL", url.to_owned()),
        ("GEMINI_API_KEY", key.to_owned()),
    ];
    for name in ["ANTHROPIC_MODEL", "OPENAI_MODEL", "GEMINI_MODEL"] {
        variables.extend(model.map(|model| (name, model.to_owned())));
    }
    variables
}

/// Claude Code applies `env` of its settings files over its environment, so the variables are settings, too. A token needs
/// no confirmation in the terminal, other than a key.
fn claude(PointTarget { url, key, model, .. }: PointTarget<'_>) -> PointSettings {
    let mut env = vec![
        ("ANTHROPIC_BASE_URL", url),
        ("ANTHROPIC_AUTH_TOKEN", key),
        ("ANTHROPIC_API_KEY", ""),
        ("CLAUDE_CODE_USE_BEDROCK", ""),
        ("CLAUDE_CODE_USE_VERTEX", ""),
        ("CLAUDE_CODE_USE_FOUNDRY", ""),
    ];
    env.extend(model.map(|model| ("ANTHROPIC_MODEL", model)));
    let members: Vec<String> =
        env.iter().map(|(name, value)| format!("{}:{}", json(name), json(value))).collect();
    PointSettings {
        arguments: vec!["--settings".to_owned(), format!("{{\"env\":{{{}}}}}", members.join(","))],
        variables: vec![("ANTHROPIC_AUTH_TOKEN", key.to_owned())],
        removed: &["ANTHROPIC_API_KEY"],
        private: None,
    }
}

/// Codex takes settings as TOML.
fn codex(PointTarget { url, model, .. }: PointTarget<'_>) -> PointSettings {
    let server = json(&format!("{url}/v1"));
    let mut settings = vec![
        format!(
            "model_providers.interlingua={{name=\"Interlingua\",base_url={server},env_key=\"OPENAI_API_KEY\",wire_api=\"responses\"}}"
        ),
        "model_provider=\"interlingua\"".to_owned(),
    ];
    settings.extend(model.map(|model| format!("model={}", json(model))));
    let arguments = settings.into_iter().flat_map(|setting| ["-c".to_owned(), setting]).collect();
    PointSettings { arguments, ..PointSettings::default() }
}

/// Gemini CLI reads the server from its variable, and the choice of a login only from its settings.
fn gemini(_: PointTarget<'_>) -> PointSettings {
    let removed = &["GOOGLE_GENAI_USE_VERTEXAI", "GOOGLE_GENAI_USE_GCA"];
    PointSettings { removed, private: Some(Private::GeminiHome), ..PointSettings::default() }
}

/// `OpenCode` merges this configuration over its files.
fn opencode(PointTarget { url, key, model, .. }: PointTarget<'_>) -> PointSettings {
    let (server, key, name) = (json(&format!("{url}/v1")), json(key), model.unwrap_or_default());
    let (chosen, name) = (json(&format!("interlingua/{name}")), json(name));
    let config = format!(
        r#"{{"model":{chosen},"small_model":{chosen},"provider":{{"interlingua":{{"npm":"@ai-sdk/openai-compatible","name":"Interlingua","options":{{"baseURL":{server},"apiKey":{key}}},"models":{{{name}:{{"name":{name},"reasoning":true,"tool_call":true,"attachment":true}}}}}}}}}}"#
    );
    PointSettings { variables: vec![("OPENCODE_CONFIG_CONTENT", config)], ..PointSettings::default() }
}

/// The settings file of the system outranks that of the user.
fn qwen(PointTarget { url, key, model, .. }: PointTarget<'_>) -> PointSettings {
    let (server, key, name) = (json(&format!("{url}/v1")), json(key), json(model.unwrap_or_default()));
    let text = format!(
        r#"{{"security":{{"auth":{{"selectedType":"openai","apiKey":{key},"baseUrl":{server}}}}},"model":{{"name":{name}}}}}"#
    );
    let private = Private::Setting("QWEN_CODE_SYSTEM_SETTINGS_PATH", "settings.json", text);
    PointSettings { private: Some(private), ..PointSettings::default() }
}

/// Kimi Code makes a model of these variables; Kimi CLI overrides its configured model with its own variables.
fn kimi(PointTarget { url, key, model, .. }: PointTarget<'_>) -> PointSettings {
    let server = format!("{url}/v1");
    let variables = vec![
        ("KIMI_MODEL_NAME", model.unwrap_or_default().to_owned()),
        ("KIMI_MODEL_API_KEY", key.to_owned()),
        ("KIMI_MODEL_BASE_URL", server.clone()),
        ("KIMI_MODEL_PROVIDER_TYPE", "openai".to_owned()),
        ("KIMI_API_KEY", key.to_owned()),
        ("KIMI_BASE_URL", server),
    ];
    PointSettings { variables, ..PointSettings::default() }
}

fn copilot(PointTarget { url, key, model, .. }: PointTarget<'_>) -> PointSettings {
    let variables = vec![
        ("COPILOT_MODEL", model.unwrap_or_default().to_owned()),
        ("COPILOT_PROVIDER_API_KEY", key.to_owned()),
        ("COPILOT_PROVIDER_BASE_URL", format!("{url}/v1")),
        ("COPILOT_PROVIDER_TYPE", "openai".to_owned()),
        ("COPILOT_PROVIDER_WIRE_API", "completions".to_owned()),
    ];
    PointSettings { variables, removed: &["COPILOT_PROVIDER_BEARER_TOKEN"], ..PointSettings::default() }
}

/// Pi has no variable for a server; an extension registers one. The folder of the user stays in use.
fn pi(PointTarget { url, key, model, .. }: PointTarget<'_>) -> PointSettings {
    let (server, key, name) = (json(url), json(key), model.unwrap_or_default());
    let arguments = vec!["--model".to_owned(), format!("interlingua/{name}")];
    let name = json(name);
    let text = format!(
        r#"export default function (pi) {{
  pi.registerProvider("interlingua", {{
    name: "Interlingua", baseUrl: {server}, apiKey: {key}, api: "anthropic-messages",
    models: [{{
      id: {name}, name: {name}, reasoning: true, input: ["text", "image"], contextWindow: 200000, maxTokens: 32000,
      cost: {{ input: 0, output: 0, cacheRead: 0, cacheWrite: 0 }},
    }}],
  }});
}}
"#
    );
    let private = Private::Argument("--extension", "interlingua.js", text);
    PointSettings { arguments, private: Some(private), ..PointSettings::default() }
}

/// A JSON string, which is also a TOML string.
fn json(text: &str) -> String {
    format!("\"{}\"", Str::plain(text).as_escaped())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_known_by_its_name_at_any_path() {
        let name = |program| known(program).map(|known| known.name);
        assert_eq!(name("/opt/bin/codex"), Some("codex"));
        assert_eq!(name(r"C:\tools\claude.exe"), Some("claude"));
        assert_eq!(name("codex-like"), None);
    }

    #[test]
    fn a_program_without_a_default_model_is_refused_without_a_model() {
        let target = PointTarget { url: "http://127.0.0.1:1", key: "k", model: None, usual_model: None };
        for program in &PROGRAMS {
            assert_eq!(PointedProgram::new(program.name, target).is_err(), program.needs_model);
        }
    }

    #[test]
    fn settings_are_json_for_any_name_of_a_model() {
        let target =
            PointTarget { url: "http://127.0.0.1:1", key: "k", model: Some("a\"b\\c"), usual_model: None };
        for program in [claude, opencode, qwen] {
            let PointSettings { arguments, variables, private, .. } = program(target);
            let texts = arguments.into_iter().chain(variables.into_iter().map(|(_, value)| value));
            let private = private.and_then(|private| match private {
                Private::Setting(_, _, text) => Some(text),
                _ => None,
            });
            let texts = texts.chain(private).filter(|text| text.starts_with('{'));
            let parsed: Vec<serde_json::Value> =
                texts.map(|text| serde_json::from_str(&text).expect("JSON")).collect();
            assert_eq!(parsed.len(), 1);
            assert!(parsed[0].to_string().contains(r#"a\"b\\c"#), "{}", parsed[0]);
        }
    }

    #[test]
    fn a_private_file_goes_with_the_program() {
        let target = PointTarget { url: "http://127.0.0.1:1", key: "k", model: None, usual_model: Some("m") };
        let program = PointedProgram::new("pi", target).expect("settings");
        let path = program.arguments.last().expect("a path").clone();
        assert!(fs::read_to_string(&path).expect("a file").contains("127.0.0.1:1"));
        drop(program);
        assert!(fs::metadata(&path).is_err());
    }
}
