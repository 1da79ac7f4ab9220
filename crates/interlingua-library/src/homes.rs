//! The places where agents keep their sessions.

use std::collections::HashSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The variables of the environment that the places of sessions depend on.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    variables: Vec<(OsString, OsString)>,
    /// The folders of projects, in which some agents keep their sessions.
    projects: Vec<PathBuf>,
}

impl Environment {
    /// The environment of this process. The current directory and the root of its repository are projects.
    pub fn of_process() -> Self {
        let environment = Self { variables: std::env::vars_os().collect(), projects: Vec::new() };
        let Ok(here) = std::env::current_dir() else { return environment };
        let root = here.ancestors().find(|folder| folder.join(".git").exists()).map(Path::to_owned);
        environment.with_projects([here].into_iter().chain(root))
    }

    /// An environment with these variables, without projects.
    pub fn new(variables: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        Self { variables: variables.into_iter().collect(), projects: Vec::new() }
    }

    /// Adds the folders of projects.
    #[must_use]
    pub fn with_projects(mut self, projects: impl IntoIterator<Item = PathBuf>) -> Self {
        for project in projects {
            if !self.projects.contains(&project) {
                self.projects.push(project);
            }
        }
        self
    }

    /// A variable that is set and not empty, as a path.
    pub fn path(&self, name: &str) -> Option<PathBuf> {
        let found = self.variables.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| PathBuf::from(value)).filter(|path| !path.as_os_str().is_empty())
    }

    /// A folder below the folder for data of the user.
    fn data_folder(&self, folder: &str) -> Option<PathBuf> {
        let data = self.path("XDG_DATA_HOME").or_else(|| Some(self.home()?.join(".local/share")))?;
        Some(data.join(folder))
    }

    /// The home folder of the user.
    pub fn home(&self) -> Option<PathBuf> {
        self.path("HOME").or_else(|| self.path("USERPROFILE"))
    }
}

/// The folder of an agent, and the patterns of its session files.
#[derive(Debug)]
#[non_exhaustive]
pub struct AgentHome {
    /// The dialect of the log.
    pub dialect: &'static str,
    /// The folder, unless a variable names another one.
    folder: Folder,
    /// The session files below the folder, as patterns.
    patterns: &'static [&'static str],
    /// Set if several files of one folder hold the same session: the first pattern that matches wins.
    is_one_for_each_folder: bool,
    /// Files that belong to sessions and are no sessions themselves: a backup saves them, too.
    companions: &'static [&'static str],
}

/// The folder of an agent.
#[derive(Debug)]
enum Folder {
    /// A variable names the folder itself; without the variable it is below the home folder.
    Own { variable: Option<&'static str>, default: &'static str },
    /// A variable names the home folder that the agent uses.
    OtherHome { variable: &'static str, folder: &'static str },
    /// Below the folder for data of the user.
    Data(&'static str),
    /// The folder for settings of the user, where editors keep their state.
    Settings,
    /// The folder of each project. The agent may keep a list of its projects in a file.
    Project { list: Option<ProjectList> },
}

/// A file in which an agent lists its projects: `{"projects":[{"path":…,"data_dir":…}]}`.
#[derive(Debug)]
struct ProjectList {
    /// A variable that names the folder of the file.
    variable: &'static str,
    /// Otherwise the file is in this folder below the folder for data of the user.
    folder: &'static str,
    file: &'static str,
    /// The file with the sessions in the folder for the data of a project.
    sessions: &'static str,
}

/// The homes of all agents whose sessions can be read.
pub static HOMES: &[AgentHome] = &[
    AgentHome {
        dialect: "claude-code",
        folder: Folder::Own { variable: Some("CLAUDE_CONFIG_DIR"), default: ".claude" },
        patterns: &["projects/*/*.jsonl", "projects/*/*/subagents/*.jsonl"],
        is_one_for_each_folder: false,
        companions: &["projects/*/*/subagents/*.meta.json"],
    },
    AgentHome {
        dialect: "codex",
        folder: Folder::Own { variable: Some("CODEX_HOME"), default: ".codex" },
        patterns: &["sessions/**/rollout-*", "archived_sessions/**/rollout-*"],
        is_one_for_each_folder: false,
        companions: &[],
    },
    AgentHome {
        dialect: "gemini-cli",
        folder: Folder::OtherHome { variable: "GEMINI_CLI_HOME", folder: ".gemini" },
        patterns: &["tmp/*/chats/session-*.json*"],
        is_one_for_each_folder: false,
        companions: &[],
    },
    AgentHome {
        dialect: "qwen-code",
        folder: Folder::Own { variable: None, default: ".qwen" },
        patterns: &["projects/*/chats/*.jsonl", "tmp/*/chats/*.json*"],
        is_one_for_each_folder: false,
        companions: &[],
    },
    AgentHome {
        dialect: "opencode",
        folder: Folder::Data("opencode"),
        patterns: &["opencode*.db", "storage"],
        is_one_for_each_folder: true,
        companions: &[],
    },
    AgentHome {
        dialect: "amp",
        folder: Folder::Data("amp"),
        patterns: &["threads/*.json"],
        is_one_for_each_folder: false,
        companions: &[],
    },
    AgentHome {
        dialect: "copilot-cli",
        folder: Folder::Own { variable: Some("COPILOT_HOME"), default: ".copilot" },
        patterns: &["session-state/*/events.jsonl", "session-state/*.jsonl"],
        is_one_for_each_folder: false,
        companions: &["session-state/*/workspace.yaml"],
    },
    AgentHome {
        dialect: "kimi-cli",
        folder: Folder::Own { variable: Some("KIMI_SHARE_DIR"), default: ".kimi" },
        patterns: &["sessions/*/*/wire.jsonl", "sessions/*/*/context.jsonl"],
        is_one_for_each_folder: true,
        companions: &["sessions/*/*/state.json"],
    },
    AgentHome {
        dialect: "kimi-code",
        folder: Folder::Own { variable: Some("KIMI_CODE_HOME"), default: ".kimi-code" },
        patterns: &["sessions/*/*/agents/main/wire.jsonl"],
        is_one_for_each_folder: false,
        companions: &["sessions/*/*/state.json", "sessions/*/*/agents/*/wire.jsonl"],
    },
    AgentHome {
        dialect: "pi",
        folder: Folder::Own { variable: Some("PI_CODING_AGENT_DIR"), default: ".pi/agent" },
        patterns: &["sessions/*/*.jsonl"],
        is_one_for_each_folder: false,
        companions: &[],
    },
    AgentHome {
        dialect: "cursor",
        folder: Folder::Own { variable: None, default: ".cursor" },
        patterns: &["projects/*/agent-transcripts/**/*.jsonl"],
        is_one_for_each_folder: false,
        companions: &[],
    },
    AgentHome {
        dialect: "droid",
        folder: Folder::OtherHome { variable: "FACTORY_HOME_OVERRIDE", folder: ".factory" },
        patterns: &["sessions/*/*.jsonl", "sessions/*.jsonl"],
        is_one_for_each_folder: false,
        companions: &["sessions/*/*.settings.json", "sessions/*.settings.json"],
    },
    AgentHome {
        dialect: "cline",
        folder: Folder::Own { variable: Some("CLINE_DATA_DIR"), default: ".cline/data" },
        patterns: &["sessions/*/*.messages.json"],
        is_one_for_each_folder: false,
        companions: &["sessions/*/*.json"],
    },
    AgentHome {
        dialect: "goose",
        folder: Folder::Data("goose"),
        // Goose copies the older files into its database and leaves the files in place.
        patterns: &["sessions/sessions.db", "sessions/*.jsonl"],
        is_one_for_each_folder: true,
        companions: &[],
    },
    AgentHome {
        dialect: "copilot-chat",
        folder: Folder::Settings,
        patterns: &[
            "Code*/User/workspaceStorage/*/chatSessions/*.json*",
            "Code*/User/globalStorage/emptyWindowChatSessions/*.json*",
            "VSCodium*/User/workspaceStorage/*/chatSessions/*.json*",
            "VSCodium*/User/globalStorage/emptyWindowChatSessions/*.json*",
        ],
        is_one_for_each_folder: false,
        companions: &[
            "Code*/User/workspaceStorage/*/workspace.json",
            "VSCodium*/User/workspaceStorage/*/workspace.json",
        ],
    },
    AgentHome {
        dialect: "cursor-db",
        folder: Folder::Settings,
        patterns: &["Cursor*/User/globalStorage/state.vscdb"],
        is_one_for_each_folder: false,
        companions: &[],
    },
    AgentHome {
        dialect: "aider",
        folder: Folder::Project { list: None },
        patterns: &[".aider.chat.history.md"],
        is_one_for_each_folder: false,
        companions: &[".aider.input.history"],
    },
    AgentHome {
        dialect: "crush",
        folder: Folder::Project {
            list: Some(ProjectList {
                variable: "CRUSH_GLOBAL_DATA",
                folder: "crush",
                file: "projects.json",
                sessions: "crush.db",
            }),
        },
        patterns: &[".crush/crush.db"],
        is_one_for_each_folder: false,
        companions: &[],
    },
];

impl ProjectList {
    /// The files with sessions of all listed projects. A list that cannot be read names none.
    fn files(&self, environment: &Environment) -> Vec<PathBuf> {
        let folder = environment.path(self.variable).or_else(|| environment.data_folder(self.folder));
        let list = folder.and_then(|folder| std::fs::read(folder.join(self.file)).ok());
        let list: Option<serde_json::Value> = list.and_then(|list| serde_json::from_slice(&list).ok());
        let projects = list.as_ref().and_then(|list| list.get("projects")?.as_array());
        let data = projects.into_iter().flatten().filter_map(|project| {
            let data = Path::new(project.get("data_dir")?.as_str()?);
            // A relative folder is below that of its project.
            let path = project.get("path").and_then(serde_json::Value::as_str).unwrap_or_default();
            Some(Path::new(path).join(data).join(self.sessions))
        });
        data.filter(|path| path.is_absolute() && path.is_file()).collect()
    }
}

impl AgentHome {
    /// The home of the agent with that dialect.
    pub fn of(dialect: &str) -> Option<&'static AgentHome> {
        HOMES.iter().find(|home| home.dialect == dialect)
    }

    /// Whether the agent keeps its sessions in the folders of projects.
    pub(crate) const fn is_of_projects(&self) -> bool {
        matches!(self.folder, Folder::Project { .. })
    }

    /// The folders of the agent that exist.
    fn folders(&self, environment: &Environment) -> Vec<PathBuf> {
        let folders = match self.folder {
            Folder::Project { .. } => environment.projects.clone(),
            Folder::Own { .. } | Folder::OtherHome { .. } | Folder::Data(_) | Folder::Settings => {
                self.folder(environment).into_iter().collect()
            }
        };
        folders.into_iter().filter(|folder| folder.is_dir()).collect()
    }

    /// The files with sessions that a list of the agent names.
    fn listed(&self, environment: &Environment) -> Vec<PathBuf> {
        match &self.folder {
            Folder::Project { list: Some(list) } => list.files(environment),
            _ => Vec::new(),
        }
    }

    /// The folder of the agent; `None` if the user has no home folder, or if the agent has a folder in each project.
    pub fn folder(&self, environment: &Environment) -> Option<PathBuf> {
        let below_home = |folder: &str| environment.home().map(|home| home.join(folder));
        match self.folder {
            Folder::Own { variable, default } => {
                variable.and_then(|name| environment.path(name)).or_else(|| below_home(default))
            }
            Folder::OtherHome { variable, folder } => {
                environment.path(variable).or_else(|| environment.home()).map(|home| home.join(folder))
            }
            Folder::Data(folder) => environment.data_folder(folder),
            Folder::Settings => {
                let named = environment.path("XDG_CONFIG_HOME").or_else(|| environment.path("APPDATA"));
                let of_apple = || below_home("Library/Application Support").filter(|folder| folder.is_dir());
                named.or_else(of_apple).or_else(|| below_home(".config"))
            }
            Folder::Project { .. } => None,
        }
    }

    /// The files of the agent that a backup saves: every file of a session, and the files that belong to it. A tree is one path.
    pub fn saved_files(&self, environment: &Environment) -> Vec<PathBuf> {
        let mut taken = HashSet::new();
        let mut saved = Vec::new();
        for folder in self.folders(environment) {
            for pattern in self.patterns.iter().chain(self.companions) {
                let paths = matching(&folder, &pattern.split('/').collect::<Vec<_>>());
                saved.extend(paths.into_iter().filter(|path| taken.insert(path.clone())));
            }
        }
        saved.extend(self.listed(environment).into_iter().filter(|path| taken.insert(path.clone())));
        saved
    }

    /// The session files and the stores of the agent.
    pub fn files(&self, environment: &Environment) -> Vec<PathBuf> {
        let mut files = Vec::new();
        for folder in self.folders(environment) {
            // The folders whose sessions a pattern before has found.
            let mut taken: HashSet<PathBuf> = HashSet::new();
            for pattern in self.patterns {
                let paths = matching(&folder, &pattern.split('/').collect::<Vec<_>>());
                let is_free = |path: &PathBuf| {
                    !self.is_one_for_each_folder
                        || !path.parent().is_some_and(|parent| taken.contains(parent))
                };
                let paths: Vec<PathBuf> = paths.into_iter().filter(is_free).collect();
                taken.extend(paths.iter().filter_map(|path| path.parent()).map(Path::to_owned));
                files.extend(paths);
            }
        }
        for path in self.listed(environment) {
            if !files.contains(&path) {
                files.push(path);
            }
        }
        files
    }
}

/// The paths below a folder that match a pattern, one part of the pattern for each part of the path. `**` stands for any
/// number of folders. Folders that cannot be read hold nothing.
fn matching(folder: &Path, pattern: &[&str]) -> Vec<PathBuf> {
    let Some((first, rest)) = pattern.split_first() else { return vec![folder.to_owned()] };
    if !first.contains('*') {
        let path = folder.join(first);
        return if path.exists() { matching(&path, rest) } else { Vec::new() };
    }
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    if *first == "**" {
        let mut found = matching(folder, rest);
        for path in paths.iter().filter(|path| path.is_dir() && !path.is_symlink()) {
            found.extend(matching(path, pattern));
        }
        return found;
    }
    let is_match = |path: &&PathBuf| {
        path.file_name().and_then(|name| name.to_str()).is_some_and(|name| fits(name, first))
    };
    let mut found = Vec::new();
    for path in paths.iter().filter(is_match) {
        if rest.is_empty() || path.is_dir() {
            found.extend(matching(path, rest));
        }
    }
    found
}

/// Whether a name fits a pattern in which `*` stands for any characters.
fn fits(name: &str, pattern: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut name) = parts.next().and_then(|begin| name.strip_prefix(begin)) else { return false };
    let mut parts = parts.peekable();
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return name.ends_with(part);
        }
        let Some(at) = name.find(part) else { return false };
        name = &name[at + part.len()..];
    }
    name.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_characters() {
        assert!(fits("session-1.jsonl", "session-*.json*"));
        assert!(fits("session-1.json", "session-*.json*"));
        assert!(!fits("session-1.txt", "session-*.json*"));
        assert!(fits("anything", "*"));
        assert!(!fits("rollout", "rollout-*"));
        assert!(fits("opencode.db", "opencode*.db"));
        assert!(!fits("opencode.db-wal", "opencode*.db"));
    }

    #[test]
    fn every_home_has_a_log_dialect() {
        for home in HOMES {
            let dialect: &interlingua::dialects::Dialect = home.dialect.parse().expect("a dialect");
            assert!(dialect.role(interlingua::dialects::Role::Log).is_some(), "{}", home.dialect);
        }
    }
}
