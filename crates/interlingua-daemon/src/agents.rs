//! The agents: the program, the arguments and the capabilities of each agent.

use std::collections::BTreeMap;
use std::path::PathBuf;

use interlingua::json::{Raw, Str};
use interlingua::model::Session;

use crate::mcp::{self, McpPlace};
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
    /// The dialect of its output.
    pub dialect: &'static str,
    /// The dialect of its input.
    pub(crate) input: &'static str,
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
    /// The permission modes of sessions, each with the agent's own word.
    permission_modes: &'static [(&'static str, &'static str)],
    /// The modes of the agent.
    modes: &'static [&'static str],
    /// The capabilities beyond those that follow from the other members.
    capabilities: &'static [&'static str],
}

/// How an agent is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AgentDriver {
    /// A process for each session.
    Process,
    /// One process of Codex for many sessions.
    CodexServer,
    /// One process of OpenCode for many sessions, with an HTTP API.
    OpenCodeServer,
}

/// How the settings reach an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Settings {
    /// By arguments of Claude Code.
    ClaudeArguments,
    /// By arguments of Pi.
    PiArguments,
    /// By arguments of Amp.
    AmpArguments,
    /// By messages of Codex: a permission mode is an approval policy and a sandbox.
    CodexMessages,
    /// By messages of OpenCode, whose models have the name of their provider.
    OpenCodeMessages,
    /// By messages of the protocol.
    Protocol,
    /// The mock agent ignores the model and the effort.
    Mock,
}

/// The modes of Claude Code.
const CLAUDE_MODES: &[(&str, &str)] = &[
    ("default", "default"),
    ("plan", "plan"),
    ("acceptEdits", "acceptEdits"),
    ("bypass", "bypassPermissions"),
];
/// The modes of Codex: the approval policy and the sandbox.
const CODEX_MODES: &[(&str, &str)] = &[
    ("default", "untrusted workspace-write"),
    ("plan", "untrusted read-only"),
    ("acceptEdits", "on-request workspace-write"),
    ("bypass", "never danger-full-access"),
];
/// The agent decides by its own configuration when it asks.
const OWN_MODE: &[(&str, &str)] = &[("default", "")];
/// The modes of Gemini CLI and Qwen Code differ in one word.
const GEMINI_MODES: &[(&str, &str)] =
    &[("default", "default"), ("plan", "plan"), ("acceptEdits", "autoEdit"), ("bypass", "yolo")];
const QWEN_MODES: &[(&str, &str)] =
    &[("default", "default"), ("plan", "plan"), ("acceptEdits", "auto-edit"), ("bypass", "yolo")];
const KIMI_MODES: &[(&str, &str)] = &[("default", "default"), ("plan", "plan"), ("bypass", "yolo")];
/// Copilot's names of modes are addresses.
const COPILOT_MODES: &[(&str, &str)] = &[
    ("default", "https://agentclientprotocol.com/protocol/session-modes#agent"),
    ("plan", "https://agentclientprotocol.com/protocol/session-modes#plan"),
    ("bypass", "https://agentclientprotocol.com/protocol/session-modes#autopilot"),
];
/// The output of Amp has no permission requests: the rules in Amp's settings decide.
const AMP_MODES: &[(&str, &str)] = &[("default", ""), ("bypass", "--dangerously-allow-all")];
/// The modes of OpenCode are agents with permissions of their own.
const OPENCODE_MODES: &[(&str, &str)] = &[("default", "build"), ("plan", "plan")];
const TOOLS: &[&str] =
    &["toolCalls", "toolResults", "textMessages", "reasoning", "status", "errorEvents", "mcpTools"];

const ACP: &[&str] = &["permissions", "questions", "fileChanges", "streamingDeltas", "itemStarted"];
const ACP_WITH_PLAN: &[&str] =
    &["permissions", "questions", "planMode", "fileChanges", "streamingDeltas", "itemStarted"];
const ACP_WITH_EFFORT: &[&str] =
    &["permissions", "questions", "planMode", "fileChanges", "streamingDeltas", "itemStarted", "variants"];

/// An agent that speaks the Agent Client Protocol.
const fn acp(
    id: &'static str,
    name: &'static str,
    program: &'static str,
    arguments: &'static [&'static str],
    permission_modes: &'static [(&'static str, &'static str)],
    has_effort: bool,
) -> Agent {
    let has_plan = permission_modes.len() > 1;
    let capabilities = if has_effort { ACP_WITH_EFFORT } else { ACP_WITH_PLAN };
    Agent {
        id,
        name,
        dialect: "acp",
        input: "acp",
        program: Some(program),
        arguments,
        settings: Settings::Protocol,
        echoes_prompts: false,
        resumes: true,
        images: true,
        permission_modes,
        modes: if has_plan { &["build", "plan"] } else { &["build"] },
        capabilities: if has_plan { capabilities } else { ACP },
    }
}

/// Every agent.
pub static AGENTS: &[Agent] = &[
    Agent {
        id: "claude",
        name: "Claude Code",
        dialect: "claude-stream",
        input: "claude-stream",
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
        permission_modes: CLAUDE_MODES,
        modes: &["build", "plan"],
        capabilities: &["permissions", "questions", "planMode", "streamingDeltas", "itemStarted", "variants"],
    },
    Agent {
        id: "codex",
        name: "Codex",
        dialect: "codex-app-server",
        input: "codex-app-server",
        program: Some("codex"),
        arguments: &["app-server"],
        settings: Settings::CodexMessages,
        echoes_prompts: true,
        resumes: true,
        images: true,
        permission_modes: CODEX_MODES,
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
            "sharedProcess",
        ],
    },
    Agent {
        id: "opencode",
        name: "OpenCode",
        dialect: "opencode-events",
        input: "opencode-events",
        program: Some("opencode"),
        arguments: &["serve", "--hostname", "127.0.0.1", "--port", "0"],
        settings: Settings::OpenCodeMessages,
        echoes_prompts: true,
        resumes: true,
        images: true,
        permission_modes: OPENCODE_MODES,
        modes: &["build", "plan"],
        capabilities: &[
            "permissions",
            "questions",
            "planMode",
            "fileChanges",
            "streamingDeltas",
            "itemStarted",
            "variants",
            "sharedProcess",
        ],
    },
    acp("gemini", "Gemini CLI", "gemini", &["--acp"], GEMINI_MODES, false),
    acp("copilot", "GitHub Copilot CLI", "copilot", &["--acp"], COPILOT_MODES, false),
    acp("kimi", "Kimi Code", "kimi", &["acp"], KIMI_MODES, true),
    acp("qwen", "Qwen Code", "qwen", &["--acp"], QWEN_MODES, false),
    acp("goose", "Goose", "goose", &["acp"], OWN_MODE, false),
    Agent {
        id: "pi",
        name: "Pi",
        dialect: "pi-stream",
        input: "pi-stream",
        program: Some("pi"),
        arguments: &["--mode", "rpc"],
        settings: Settings::PiArguments,
        echoes_prompts: true,
        resumes: true,
        images: false,
        permission_modes: OWN_MODE,
        modes: &["build"],
        capabilities: &["streamingDeltas", "itemStarted", "variants"],
    },
    Agent {
        id: "amp",
        name: "Amp",
        dialect: "amp-stream",
        input: "amp-stream",
        program: Some("amp"),
        arguments: &["--execute", "--stream-json", "--stream-json-thinking", "--stream-json-input"],
        settings: Settings::AmpArguments,
        echoes_prompts: true,
        resumes: true,
        images: true,
        permission_modes: AMP_MODES,
        modes: &["build"],
        capabilities: &[],
    },
    Agent {
        id: "mock",
        name: "Mock agent",
        dialect: "claude-stream",
        input: "claude-stream",
        program: None,
        arguments: &[],
        settings: Settings::Mock,
        echoes_prompts: false,
        resumes: true,
        images: true,
        permission_modes: CLAUDE_MODES,
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

    /// Adds the MCP servers of a session to the lines that open the agent's own session.
    pub(crate) fn with_servers(&self, settings: &SessionSettings, lines: Vec<u8>) -> Vec<u8> {
        match (&settings.mcp, self.settings) {
            (Some(servers), Settings::CodexMessages) => mcp::add(McpPlace::CodexThread, servers, lines),
            (Some(servers), Settings::Protocol) => mcp::add(McpPlace::AcpSession, servers, lines),
            // Arguments have the servers, or the servers were refused.
            _ => lines,
        }
    }

    /// The driver of the agent's process.
    pub(crate) fn driver(&self) -> AgentDriver {
        match self.settings {
            Settings::CodexMessages => AgentDriver::CodexServer,
            Settings::OpenCodeMessages => AgentDriver::OpenCodeServer,
            Settings::ClaudeArguments
            | Settings::PiArguments
            | Settings::AmpArguments
            | Settings::Protocol
            | Settings::Mock => AgentDriver::Process,
        }
    }

    /// Whether a new process can go on with a session of an earlier one.
    pub const fn resumes(&self) -> bool {
        self.resumes
    }

    /// The modes of the agent.
    pub(crate) const fn modes(&self) -> &'static [&'static str] {
        self.modes
    }

    /// The permission modes of sessions, each with the agent's own word.
    pub(crate) const fn permission_modes(&self) -> &'static [(&'static str, &'static str)] {
        self.permission_modes
    }

    /// Refuses settings that would not reach the agent.
    pub(crate) fn check(&self, settings: &SessionSettings) -> Result<(), ApiProblem> {
        let permission = settings.permission();
        if !self.permission_modes.iter().any(|(mode, _)| *mode == permission) {
            let known: Vec<&str> = self.permission_modes.iter().map(|(mode, _)| *mode).collect();
            let known = known.join(", ");
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
        if let Some(servers) = &settings.mcp {
            mcp::check(servers)?;
        }
        match self.settings {
            Settings::ClaudeArguments | Settings::Mock => Ok(()),
            Settings::PiArguments | Settings::AmpArguments if settings.mcp.is_some() => unsupported("mcp"),
            // The server of Amp chooses the model.
            Settings::AmpArguments if settings.model.is_some() => unsupported("model"),
            Settings::AmpArguments if settings.variant.is_some() => unsupported("variant"),
            // The server of OpenCode has servers for a whole directory, not for a session.
            Settings::OpenCodeMessages if settings.mcp.is_some() => unsupported("mcp"),
            // Seen on 1.0.102: Copilot CLI starts none of the servers that the protocol names.
            Settings::Protocol if settings.mcp.is_some() && self.id == "copilot" => unsupported("mcp"),
            Settings::OpenCodeMessages
                if settings.model.as_ref().is_some_and(|model| !model.contains('/')) =>
            {
                let detail = "a model of OpenCode has the name of its provider: `PROVIDER/MODEL`";
                Err(ApiProblem::invalid_request(detail))
            }
            Settings::Protocol if settings.variant.is_some() && !self.capabilities.contains(&"variants") => {
                unsupported("variant")
            }
            Settings::PiArguments
            | Settings::AmpArguments
            | Settings::CodexMessages
            | Settings::OpenCodeMessages
            | Settings::Protocol => Ok(()),
        }
    }

    /// The arguments of the process for a session.
    pub(crate) fn arguments(&self, settings: &SessionSettings, native_id: Option<&str>) -> Vec<String> {
        let mut arguments = settings.leading_arguments.clone();
        arguments.extend(self.arguments.iter().map(|&argument| argument.to_owned()));
        let mut add = |name: &str, value: &str| arguments.extend([name.to_owned(), value.to_owned()]);
        match self.settings {
            Settings::ClaudeArguments => {
                add("--permission-mode", self.own_mode(settings));
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
                if let Some(id) = native_id {
                    add("--session", id);
                }
            }
            Settings::AmpArguments => {
                arguments
                    .extend(Some(self.own_mode(settings)).filter(|mode| !mode.is_empty()).map(str::to_owned));
                if let Some(id) = native_id {
                    arguments.splice(0..0, ["threads", "continue", id].map(str::to_owned));
                }
            }
            Settings::CodexMessages | Settings::OpenCodeMessages | Settings::Protocol | Settings::Mock => {}
        }
        arguments
    }

    /// The agent's own word for the mode of a session.
    fn own_mode(&self, settings: &SessionSettings) -> &'static str {
        let is_plan = settings.agent_mode.as_deref() == Some("plan");
        let wanted = if is_plan { "plan" } else { settings.permission() };
        self.permission_modes.iter().find(|(mode, _)| *mode == wanted).map_or("", |(_, own)| own)
    }

    /// The facts of a session in the agent's own words, for the agent.
    pub(crate) fn facts(&self, settings: &SessionSettings, native_id: Option<&str>) -> Session<'static> {
        let mut facts = settings.facts(self.id, native_id);
        let mode = self.own_mode(settings);
        facts.permission_mode = None;
        if self.settings == Settings::CodexMessages {
            let (approval, sandbox) = mode.split_once(' ').unwrap_or_default();
            facts.approval_policy = Some(Raw::owned(format!("\"{approval}\"")));
            facts.sandbox_policy = Some(Raw::owned(format!("\"{sandbox}\"")));
        } else if !mode.is_empty() {
            facts.permission_mode = Some(Str::escaped(mode));
        }
        if self.settings == Settings::OpenCodeMessages
            && let Some((provider, model)) = settings.model.as_deref().and_then(|model| model.split_once('/'))
        {
            facts.provider = Some(Str::from_plain(provider).into_owned());
            facts.model = Some(Str::from_plain(model).into_owned());
        }
        facts
    }

    /// The capabilities, as the reference system names them.
    pub(crate) fn capabilities(&self) -> BTreeMap<String, bool> {
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
        ALL.iter().map(|&name| (name.to_owned(), has(name))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(json: serde_json::Value) -> SessionSettings {
        serde_json::from_value(json).unwrap_or_default()
    }

    fn agent(id: &str) -> &'static Agent {
        Agent::named(id).unwrap_or(&AGENTS[0])
    }

    #[test]
    fn every_agent_speaks_known_dialects_and_has_a_default_mode() {
        for agent in AGENTS {
            for name in [agent.dialect, agent.input] {
                assert!(interlingua::dialects::Dialect::named(name).is_some(), "{}: {name}", agent.id);
            }
            assert!(agent.check(&SessionSettings::default()).is_ok(), "{}", agent.id);
        }
    }

    #[test]
    fn list_41_settings_that_do_not_reach_the_agent_are_refused() {
        let mcp = serde_json::json!({ "mcp": { "birds": { "command": "birds" } } });
        let cases = [
            ("copilot", mcp.clone()),
            ("opencode", mcp.clone()),
            ("pi", mcp.clone()),
            ("amp", mcp),
            ("amp", serde_json::json!({ "model": "fast" })),
            ("opencode", serde_json::json!({ "model": "no-provider" })),
            ("gemini", serde_json::json!({ "variant": "high" })),
            ("kimi", serde_json::json!({ "permissionMode": "acceptEdits" })),
            ("goose", serde_json::json!({ "permissionMode": "bypass" })),
            ("claude", serde_json::json!({ "mcp": { "birds": {} } })),
        ];
        for (id, mut wrong) in cases {
            wrong["agent"] = id.into();
            assert!(agent(id).check(&settings(wrong.clone())).is_err(), "{id}: {wrong}");
        }
    }

    #[test]
    fn modes_reach_each_agent_in_its_own_words() {
        let plan =
            settings(serde_json::json!({ "agent": "", "agentMode": "plan", "permissionMode": "bypass" }));
        let codex = agent("codex").facts(&plan, None);
        let words = (codex.approval_policy.as_ref(), codex.sandbox_policy.as_ref());
        let words = (words.0.map(Raw::as_str), words.1.map(Raw::as_str));
        assert_eq!(words, (Some("\"untrusted\""), Some("\"read-only\"")));
        let bypass = settings(serde_json::json!({ "agent": "", "permissionMode": "bypass" }));
        for (id, word) in [("gemini", "yolo"), ("qwen", "yolo"), ("kimi", "yolo")] {
            let mode = agent(id).facts(&bypass, None).permission_mode;
            assert_eq!(mode.map(|mode| mode.as_escaped().to_owned()).as_deref(), Some(word), "{id}");
        }
        assert!(agent("goose").facts(&SessionSettings::default(), None).permission_mode.is_none());
        let arguments = agent("claude").arguments(&bypass, Some("s1"));
        assert!(
            arguments
                .ends_with(&["--permission-mode", "bypassPermissions", "--resume", "s1"].map(str::to_owned))
        );
    }
}
