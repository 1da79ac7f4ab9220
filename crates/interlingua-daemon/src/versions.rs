//! The versions of installed agents: the number that a program prints for `--version`.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use tokio::process::Command;
use tokio::task::JoinSet;

/// The time that a program has to print its version. Programs of Node need two seconds on a busy machine.
const PATIENCE: Duration = Duration::from_secs(5);

/// The versions that were printed so far. A program that was replaced is asked again.
#[derive(Debug, Default)]
pub(crate) struct AgentVersions(Mutex<HashMap<PathBuf, (Option<SystemTime>, String)>>);

impl AgentVersions {
    /// The versions of these programs, which are asked at the same time. A program that prints none in time is left out.
    pub(crate) async fn of(&self, programs: impl IntoIterator<Item = PathBuf>) -> HashMap<PathBuf, String> {
        let mut found = HashMap::new();
        let mut asked = JoinSet::new();
        for path in programs {
            let changed = std::fs::metadata(&path).and_then(|meta| meta.modified()).ok();
            if let Some(version) = self.known(&path, changed) {
                found.insert(path, version);
            } else {
                asked.spawn(async move { (printed(&path).await, path, changed) });
            }
        }
        while let Some(answer) = asked.join_next().await {
            if let Ok((Some(version), path, changed)) = answer {
                let mut versions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
                versions.insert(path.clone(), (changed, version.clone()));
                found.insert(path, version);
            }
        }
        found
    }

    fn known(&self, path: &Path, changed: Option<SystemTime>) -> Option<String> {
        let versions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (then, version) = versions.get(path)?;
        (*then == changed).then(|| version.clone())
    }
}

async fn printed(program: &Path) -> Option<String> {
    let mut command = Command::new(program);
    command.arg("--version").stdin(Stdio::null()).kill_on_drop(true);
    let output = tokio::time::timeout(PATIENCE, command.output()).await.ok()?.ok()?;
    // Pi prints its version to stderr.
    let printed = [output.stdout, output.stderr];
    printed.iter().find_map(|text| version_in(&String::from_utf8_lossy(text)))
}

/// The first number with a dot: `codex-cli 0.166.0`, `2.1.325 (Claude Code)`, `v1.2.3`.
fn version_in(text: &str) -> Option<String> {
    let words = text.split(|letter: char| letter.is_whitespace() || matches!(letter, ',' | '(' | ')'));
    let mut numbers = words.map(|word| word.strip_prefix('v').unwrap_or(word).trim_end_matches('.'));
    let version = numbers.find(|word| word.starts_with(|c: char| c.is_ascii_digit()) && word.contains('.'));
    version.map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_the_first_number_with_a_dot() {
        for (text, version) in [
            ("2.1.325 (Claude Code)\n", Some("2.1.325")),
            ("codex-cli 0.166.0\n", Some("0.166.0")),
            ("kimi, version 2.1.0\n", Some("2.1.0")),
            ("GitHub Copilot CLI 1.0.102.\nCommit: 1a2b3c\n", Some("1.0.102")),
            ("v1.2.3-beta.1", Some("1.2.3-beta.1")),
            ("unknown option --version 5", None),
            ("", None),
        ] {
            assert_eq!(version_in(text).as_deref(), version, "{text}");
        }
    }

    #[tokio::test]
    async fn a_program_that_is_missing_or_silent_has_no_version() {
        let versions = AgentVersions::default();
        let programs = ["/nowhere/agent", "/bin/true"].map(PathBuf::from);
        let found = versions.of(programs).await;
        assert!(!found.contains_key(Path::new("/nowhere/agent")), "{found:?}");
    }

    #[tokio::test]
    async fn a_version_is_remembered_until_the_program_changes() {
        let versions = AgentVersions::default();
        let path = PathBuf::from("/nowhere/agent");
        versions.0.lock().unwrap().insert(path.clone(), (None, "1.0".to_owned()));
        assert_eq!(versions.of([path.clone()]).await.get(&path).map(String::as_str), Some("1.0"));
        versions.0.lock().unwrap().insert(path.clone(), (Some(SystemTime::UNIX_EPOCH), "1.0".to_owned()));
        assert_eq!(versions.of([path.clone()]).await.get(&path), None);
    }
}
