//! The programs that `with` runs: the variables, arguments and private files that point each of them at the gateway.
//!
//! Variables alone do not suffice. Claude Code prefers the variables in its settings file to those of its environment,
//! Codex and Pi read no variable for their server, and Gemini CLI and Qwen Code read the choice of a login from a settings
//! file. Arguments and private files outrank the files of the user, which stay unchanged.

use std::fs;
use std::process::Command;

use interlingua::json::Str;
use interlingua_sessions::PrivateFolder;

use crate::error::CommandError;
use crate::gemini_home;

/// The key that programs send to the gateway. Clients refuse to start without a key.
const KEY: &str = "interlingua";

/// The gateway that a program is pointed at.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Target<'a> {
    /// The URL without a path.
    pub(crate) url: &'a str,
    /// The model that the user named; without it, the program's own default.
    pub(crate) model: Option<&'a str>,
    /// The model for programs without a default.
    pub(crate) usual_model: Option<&'a str>,
}

/// The settings that point a program at the gateway.
#[derive(Debug, Default)]
struct Settings {
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
    settings: fn(Target<'_>) -> Settings,
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

/// A program that is ready to start.
#[derive(Debug)]
pub(crate) struct PointedProgram {
    pub(crate) command: Command,
    /// The folder of the private file, which must live as long as the program runs.
    pub(crate) folder: Option<PrivateFolder>,
}

impl PointedProgram {
    /// The command of a program with settings for this gateway, before the arguments of the user.
    pub(crate) fn new(program: &str, mut target: Target<'_>) -> Result<Self, CommandError> {
        let mut command = Command::new(program);
        command.envs(shared_variables(target));
        let Some(known) = known(program) else { return Ok(Self { command, folder: None }) };
        target.model = target.model.or(target.usual_model.filter(|_| known.needs_model));
        if known.needs_model && target.model.is_none() {
            let message = format!("`{}` needs the name of a model", known.name);
            let hint = "name the model of the backend with `--model`";
            return Err(CommandError::Usage(message, Some(hint.to_owned())));
        }
        let Settings { arguments, variables, removed, private } = (known.settings)(target);
        for name in removed {
            command.env_remove(name);
        }
        command.envs(variables).args(arguments);
        let Some(private) = private else { return Ok(Self { command, folder: None }) };
        let failed = |error| CommandError::Write(std::env::temp_dir(), error);
        let folder = PrivateFolder::new().map_err(failed)?;
        match private {
            Private::Setting(variable, name, text) => {
                let path = folder.path().join(name);
                fs::write(&path, text).map_err(failed)?;
                command.env(variable, path);
            }
            Private::Argument(argument, name, text) => {
                let path = folder.path().join(name);
                fs::write(&path, text).map_err(failed)?;
                command.arg(argument).arg(path);
            }
            Private::GeminiHome => {
                gemini_home::make(folder.path()).map_err(failed)?;
                command.env(gemini_home::VARIABLE, folder.path());
            }
        }
        Ok(Self { command, folder: Some(folder) })
    }
}

/// The known program behind a command: `/usr/bin/codex`, `codex.js` and `codex.exe` are all `codex`.
fn known(program: &str) -> Option<&'static KnownProgram> {
    let file = program.rsplit(['/', '\\']).next().unwrap_or(program);
    let name = file.split('.').next().unwrap_or(file);
    PROGRAMS.iter().find(|known| known.name == name)
}

/// The variables that official clients and many programs read.
fn shared_variables(Target { url, model, .. }: Target<'_>) -> Vec<(&'static str, String)> {
    let mut variables = vec![
        ("ANTHROPIC_BASE_URL", url.to_owned()),
        ("ANTHROPIC_API_KEY", KEY.to_owned()),
        ("OPENAI_BASE_URL", format!("{url}/v1")),
        ("OPENAI_API_KEY", KEY.to_owned()),
        ("GOOGLE_GEMINI_BASE_URL", url.to_owned()),
        ("GEMINI_API_KEY", KEY.to_owned()),
    ];
    for name in ["ANTHROPIC_MODEL", "OPENAI_MODEL", "GEMINI_MODEL"] {
        variables.extend(model.map(|model| (name, model.to_owned())));
    }
    variables
}

/// Claude Code applies `env` of its settings files over its environment, so the variables are settings, too. A token needs
/// no confirmation in the terminal, other than a key.
fn claude(Target { url, model, .. }: Target<'_>) -> Settings {
    let mut env = vec![
        ("ANTHROPIC_BASE_URL", url),
        ("ANTHROPIC_AUTH_TOKEN", KEY),
        ("ANTHROPIC_API_KEY", ""),
        ("CLAUDE_CODE_USE_BEDROCK", ""),
        ("CLAUDE_CODE_USE_VERTEX", ""),
        ("CLAUDE_CODE_USE_FOUNDRY", ""),
    ];
    env.extend(model.map(|model| ("ANTHROPIC_MODEL", model)));
    let members: Vec<String> =
        env.iter().map(|(name, value)| format!("{}:{}", json(name), json(value))).collect();
    Settings {
        arguments: vec!["--settings".to_owned(), format!("{{\"env\":{{{}}}}}", members.join(","))],
        variables: vec![("ANTHROPIC_AUTH_TOKEN", KEY.to_owned())],
        removed: &["ANTHROPIC_API_KEY"],
        private: None,
    }
}

/// Codex takes settings as TOML.
fn codex(Target { url, model, .. }: Target<'_>) -> Settings {
    let server = json(&format!("{url}/v1"));
    let mut settings = vec![
        format!(
            "model_providers.interlingua={{name=\"Interlingua\",base_url={server},env_key=\"OPENAI_API_KEY\",wire_api=\"responses\"}}"
        ),
        "model_provider=\"interlingua\"".to_owned(),
    ];
    settings.extend(model.map(|model| format!("model={}", json(model))));
    let arguments = settings.into_iter().flat_map(|setting| ["-c".to_owned(), setting]).collect();
    Settings { arguments, ..Settings::default() }
}

/// Gemini CLI reads the server from its variable, and the choice of a login only from its settings.
fn gemini(_: Target<'_>) -> Settings {
    let removed = &["GOOGLE_GENAI_USE_VERTEXAI", "GOOGLE_GENAI_USE_GCA"];
    Settings { removed, private: Some(Private::GeminiHome), ..Settings::default() }
}

/// `OpenCode` merges this configuration over its files.
fn opencode(Target { url, model, .. }: Target<'_>) -> Settings {
    let (server, name) = (json(&format!("{url}/v1")), model.unwrap_or_default());
    let (chosen, name) = (json(&format!("interlingua/{name}")), json(name));
    let config = format!(
        r#"{{"model":{chosen},"small_model":{chosen},"provider":{{"interlingua":{{"npm":"@ai-sdk/openai-compatible","name":"Interlingua","options":{{"baseURL":{server},"apiKey":"{KEY}"}},"models":{{{name}:{{"name":{name},"reasoning":true,"tool_call":true,"attachment":true}}}}}}}}}}"#
    );
    Settings { variables: vec![("OPENCODE_CONFIG_CONTENT", config)], ..Settings::default() }
}

/// The settings file of the system outranks that of the user.
fn qwen(Target { url, model, .. }: Target<'_>) -> Settings {
    let (server, name) = (json(&format!("{url}/v1")), json(model.unwrap_or_default()));
    let text = format!(
        r#"{{"security":{{"auth":{{"selectedType":"openai","apiKey":"{KEY}","baseUrl":{server}}}}},"model":{{"name":{name}}}}}"#
    );
    let private = Private::Setting("QWEN_CODE_SYSTEM_SETTINGS_PATH", "settings.json", text);
    Settings { private: Some(private), ..Settings::default() }
}

/// Kimi Code makes a model of these variables; Kimi CLI overrides its configured model with its own variables.
fn kimi(Target { url, model, .. }: Target<'_>) -> Settings {
    let server = format!("{url}/v1");
    let variables = vec![
        ("KIMI_MODEL_NAME", model.unwrap_or_default().to_owned()),
        ("KIMI_MODEL_API_KEY", KEY.to_owned()),
        ("KIMI_MODEL_BASE_URL", server.clone()),
        ("KIMI_MODEL_PROVIDER_TYPE", "openai".to_owned()),
        ("KIMI_API_KEY", KEY.to_owned()),
        ("KIMI_BASE_URL", server),
    ];
    Settings { variables, ..Settings::default() }
}

fn copilot(Target { url, model, .. }: Target<'_>) -> Settings {
    let variables = vec![
        ("COPILOT_MODEL", model.unwrap_or_default().to_owned()),
        ("COPILOT_PROVIDER_API_KEY", KEY.to_owned()),
        ("COPILOT_PROVIDER_BASE_URL", format!("{url}/v1")),
        ("COPILOT_PROVIDER_TYPE", "openai".to_owned()),
        ("COPILOT_PROVIDER_WIRE_API", "completions".to_owned()),
    ];
    Settings { variables, removed: &["COPILOT_PROVIDER_BEARER_TOKEN"], ..Settings::default() }
}

/// Pi has no variable for a server; an extension registers one. The folder of the user stays in use.
fn pi(Target { url, model, .. }: Target<'_>) -> Settings {
    let (server, name) = (json(url), model.unwrap_or_default());
    let arguments = vec!["--model".to_owned(), format!("interlingua/{name}")];
    let name = json(name);
    let text = format!(
        r#"export default function (pi) {{
  pi.registerProvider("interlingua", {{
    name: "Interlingua", baseUrl: {server}, apiKey: "{KEY}", api: "anthropic-messages",
    models: [{{
      id: {name}, name: {name}, reasoning: true, input: ["text", "image"], contextWindow: 200000, maxTokens: 32000,
      cost: {{ input: 0, output: 0, cacheRead: 0, cacheWrite: 0 }},
    }}],
  }});
}}
"#
    );
    let private = Private::Argument("--extension", "interlingua.js", text);
    Settings { arguments, private: Some(private), ..Settings::default() }
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
        let target = Target { url: "http://127.0.0.1:1", model: None, usual_model: None };
        for program in &PROGRAMS {
            assert_eq!(PointedProgram::new(program.name, target).is_err(), program.needs_model);
        }
    }

    #[test]
    fn settings_are_json_for_any_name_of_a_model() {
        let target = Target { url: "http://127.0.0.1:1", model: Some("a\"b\\c"), usual_model: None };
        for program in [claude, opencode, qwen] {
            let Settings { arguments, variables, private, .. } = program(target);
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
        let target = Target { url: "http://127.0.0.1:1", model: None, usual_model: Some("m") };
        let program = PointedProgram::new("pi", target).expect("settings");
        let path = program.command.get_args().last().expect("a path").to_owned();
        assert!(fs::read_to_string(&path).expect("a file").contains("127.0.0.1:1"));
        drop(program);
        assert!(fs::metadata(&path).is_err());
    }
}
