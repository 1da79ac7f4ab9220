//! The agents: the program, the arguments and the capabilities of each agent.

use std::path::PathBuf;

use crate::problem::ApiProblem;
use crate::settings::SessionSettings;

/// An agent that the daemon runs.
#[derive(Debug)]
#[non_exhaustive]
pub struct Agent {
    /// The name in requests.
    pub id: &'static str,
    /// The name for people.
    pub name: &'static str,
    /// The dialect of its output and input.
    pub dialect: &'static str,
    /// The program; `None` for the mock agent.
    pub program: Option<&'static str>,
    /// The arguments that every session has.
    arguments: &'static [&'static str],
    /// How the settings of a session become arguments.
    settings: Settings,
    /// Whether the agent repeats the user's prompts in its output.
    pub(crate) echoes_prompts: bool,
    /// Whether a new process can go on with a session of an earlier one.
    pub(crate) resumes: bool,
    /// Whether prompts may hold pictures.
    pub(crate) images: bool,
    /// The permission modes.
    permission_modes: &'static [&'static str],
    /// The modes of the agent.
    modes: &'static [&'static str],
    /// The capabilities beyond those that follow from the other members.
    capabilities: &'static [&'static str],
}

/// How the settings reach an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Settings {
    /// By arguments of Claude Code.
    ClaudeArguments,
    /// By arguments of Pi.
    PiArguments,
    /// By messages of the protocol.
    Protocol,
    /// The mock agent ignores the model and the effort.
    Mock,
}

const PROTOCOL_MODES: &[&str] = &["default", "plan", "acceptEdits", "bypass"];
const TOOLS: &[&str] =
    &["toolCalls", "toolResults", "textMessages", "reasoning", "status", "errorEvents", "mcpTools"];

/// An agent that speaks the Agent Client Protocol.
const fn acp(
    id: &'static str,
    name: &'static str,
    program: &'static str,
    arguments: &'static [&'static str],
) -> Agent {
    Agent {
        id,
        name,
        dialect: "acp",
        program: Some(program),
        arguments,
        settings: Settings::Protocol,
        echoes_prompts: false,
        resumes: true,
        images: true,
        permission_modes: PROTOCOL_MODES,
        modes: &["build", "plan"],
        capabilities: &["permissions", "questions", "fileChanges", "streamingDeltas", "itemStarted"],
    }
}

/// Every agent.
pub static AGENTS: &[Agent] = &[
    Agent {
        id: "claude",
        name: "Claude Code",
        dialect: "claude-stream",
        program: Some("claude"),
        arguments: &[
            "-p",
            "--input-format",
            "stream-json",
            "--output-format",
            "stream-json",
            "--verbose",
            "--include-partial-messages",
            "--permission-prompt-tool",
            "stdio",
        ],
        settings: Settings::ClaudeArguments,
        echoes_prompts: false,
        resumes: true,
        images: true,
        permission_modes: PROTOCOL_MODES,
        modes: &["build", "plan"],
        capabilities: &["permissions", "questions", "planMode", "streamingDeltas", "itemStarted", "variants"],
    },
    Agent {
        id: "codex",
        name: "Codex",
        dialect: "codex-app-server",
        program: Some("codex"),
        arguments: &["app-server"],
        settings: Settings::Protocol,
        echoes_prompts: true,
        resumes: true,
        images: true,
        permission_modes: PROTOCOL_MODES,
        modes: &["build", "plan"],
        capabilities: &[
            "permissions",
            "questions",
            "planMode",
            "commandExecution",
            "fileChanges",
            "streamingDeltas",
            "itemStarted",
            "variants",
        ],
    },
    acp("opencode", "OpenCode", "opencode", &["acp"]),
    acp("gemini", "Gemini CLI", "gemini", &["--acp"]),
    acp("copilot", "GitHub Copilot CLI", "copilot", &["--acp"]),
    acp("kimi", "Kimi Code", "kimi", &["acp"]),
    acp("qwen", "Qwen Code", "qwen", &["--acp"]),
    acp("goose", "Goose", "goose", &["acp"]),
    Agent {
        id: "pi",
        name: "Pi",
        dialect: "pi-stream",
        program: Some("pi"),
        arguments: &["--mode", "rpc"],
        settings: Settings::PiArguments,
        echoes_prompts: true,
        resumes: false,
        images: false,
        permission_modes: &["default"],
        modes: &["build"],
        capabilities: &["streamingDeltas", "itemStarted", "variants"],
    },
    Agent {
        id: "mock",
        name: "Mock agent",
        dialect: "claude-stream",
        program: None,
        arguments: &[],
        settings: Settings::Mock,
        echoes_prompts: false,
        resumes: true,
        images: true,
        permission_modes: PROTOCOL_MODES,
        modes: &["build", "plan"],
        capabilities: &["permissions", "questions", "planMode", "streamingDeltas", "itemStarted"],
    },
];

impl Agent {
    /// The agent with this name.
    pub fn named(id: &str) -> Option<&'static Agent> {
        AGENTS.iter().find(|agent| agent.id == id)
    }

    /// The path of the program, if it is installed.
    pub fn path(&self) -> Option<PathBuf> {
        let program = self.program?;
        let folders = std::env::var_os("PATH")?;
        std::env::split_paths(&folders).map(|folder| folder.join(program)).find(|path| path.is_file())
    }

    /// Whether the agent can run on this machine.
    pub fn is_installed(&self) -> bool {
        self.program.is_none() || self.path().is_some()
    }

    /// The modes of the agent.
    pub(crate) const fn modes(&self) -> &'static [&'static str] {
        self.modes
    }

    /// Refuses settings that would not reach the agent.
    pub(crate) fn check(&self, settings: &SessionSettings) -> Result<(), ApiProblem> {
        let permission = settings.permission();
        if !self.permission_modes.contains(&permission) {
            let known = self.permission_modes.join(", ");
            let detail = format!("{} has no permission mode `{permission}`; it has {known}", self.name);
            return Err(ApiProblem::mode_not_supported(detail));
        }
        if let Some(mode) = settings.agent_mode.as_deref().filter(|mode| !self.modes.contains(mode)) {
            let detail = format!("{} has no mode `{mode}`; it has {}", self.name, self.modes.join(", "));
            return Err(ApiProblem::mode_not_supported(detail));
        }
        let unsupported = |setting: &str| {
            Err(ApiProblem::invalid_request(format!("`{setting}` does not reach {}", self.name)))
        };
        match self.settings {
            Settings::ClaudeArguments | Settings::Mock => Ok(()),
            Settings::PiArguments if settings.mcp.is_some() => unsupported("mcp"),
            Settings::Protocol if settings.mcp.is_some() => unsupported("mcp"),
            Settings::Protocol if settings.variant.is_some() && self.dialect == "acp" => {
                unsupported("variant")
            }
            Settings::PiArguments | Settings::Protocol => Ok(()),
        }
    }

    /// The arguments of the process for a session.
    pub(crate) fn arguments(&self, settings: &SessionSettings, native_id: Option<&str>) -> Vec<String> {
        let mut arguments: Vec<String> = self.arguments.iter().map(|&argument| argument.to_owned()).collect();
        let mut add = |name: &str, value: &str| arguments.extend([name.to_owned(), value.to_owned()]);
        match self.settings {
            Settings::ClaudeArguments => {
                let is_plan = settings.agent_mode.as_deref() == Some("plan");
                let mode = match settings.permission() {
                    _ if is_plan => "plan",
                    "bypass" => "bypassPermissions",
                    mode => mode,
                };
                add("--permission-mode", mode);
                if let Some(model) = &settings.model {
                    add("--model", model);
                }
                if let Some(effort) = &settings.variant {
                    add("--effort", effort);
                }
                if let Some(servers) = &settings.mcp {
                    add("--mcp-config", &serde_json::json!({ "mcpServers": servers }).to_string());
                }
                if let Some(id) = native_id {
                    add("--resume", id);
                }
            }
            Settings::PiArguments => {
                if let Some(model) = &settings.model {
                    add("--model", model);
                }
                if let Some(effort) = &settings.variant {
                    add("--thinking", effort);
                }
            }
            Settings::Protocol | Settings::Mock => {}
        }
        arguments
    }

    /// The capabilities, as the reference system names them.
    pub(crate) fn capabilities(&self) -> serde_json::Value {
        const ALL: &[&str] = &[
            "planMode",
            "permissions",
            "questions",
            "toolCalls",
            "toolResults",
            "textMessages",
            "images",
            "fileAttachments",
            "sessionLifecycle",
            "errorEvents",
            "reasoning",
            "status",
            "commandExecution",
            "fileChanges",
            "mcpTools",
            "streamingDeltas",
            "itemStarted",
            "variants",
            "sharedProcess",
        ];
        let has = |name: &str| match name {
            "images" | "fileAttachments" => self.images,
            "sessionLifecycle" => self.resumes,
            name => TOOLS.contains(&name) || self.capabilities.contains(&name),
        };
        ALL.iter()
            .map(|&name| (name.to_owned(), serde_json::Value::Bool(has(name))))
            .collect::<serde_json::Map<_, _>>()
            .into()
    }
}
