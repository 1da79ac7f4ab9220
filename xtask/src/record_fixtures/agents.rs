//! Runs the agent programs, each in an empty home with a scripted model.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Instant;

use super::cases::{Agent, CLAUDE, CODEX, COPILOT, Case, FixtureSource, Run, Step};
use super::server::Model;
use super::tidy::{Tidy, at_path, no_machine_words};
use super::{PATIENCE, SESSION, SET, TaskResult};

/// A scratch HOME, a scratch repository and a scripted model, for one case.
pub(super) struct Bench<'a> {
    case: &'static Case,
    scratch: &'a Path,
    program: PathBuf,
    model: Model,
}

impl<'a> Bench<'a> {
    pub(super) fn set_up(scratch: &'a Path, agents: &Path, case: &'static Case) -> TaskResult<Self> {
        let marker = scratch.join(".record-fixtures");
        if scratch.exists() {
            if !marker.exists() {
                return Err(format!("`{}` exists and is not ours", scratch.display()).into());
            }
            fs::remove_dir_all(scratch)?;
        }
        let (home, repo) = (scratch.join("user"), scratch.join("repo"));
        fs::create_dir_all(home.join(".codex"))?;
        fs::create_dir_all(&repo)?;
        fs::write(marker, "")?;
        fs::write(repo.join("notes.txt"), "hello\nworld\n")?;

        let modules = agents.join("node_modules");
        let program = match case.agent {
            Agent::Claude => modules.join("@anthropic-ai/claude-code/bin/claude.exe"),
            // The launcher script would leave its child running when stopped.
            Agent::Codex => find(&modules.join("@openai"), &|path| path.ends_with("bin/codex"))?
                .pop()
                .ok_or("no `codex` program\nhint: see the npm line in record_fixtures.rs")?,
            Agent::Copilot => find(&modules.join("@github"), &|path| path.ends_with("copilot"))?
                .pop()
                .ok_or("no `copilot` program\nhint: see the npm line in record_fixtures.rs")?,
        };
        let repo_text = repo.display().to_string();
        let model = Model::start(case.script, &repo_text)?;
        fs::write(
            home.join(".codex/config.toml"),
            format!(
                "model_provider = \"demo\"\ncheck_for_update_on_startup = false\n\
                 [model_providers.demo]\nname = \"demo\"\nbase_url = \"http://127.0.0.1:{}/v1\"\n\
                 env_key = \"DEMO_KEY\"\nwire_api = \"responses\"\n[analytics]\nenabled = false\n\
                 [projects.\"{repo_text}\"]\ntrust_level = \"trusted\"\n",
                model.port
            ),
        )?;
        let bench = Self { case, scratch, program, model };
        for args in [
            &["init", "--quiet", "--initial-branch=main"][..],
            &["add", "notes.txt"],
            &["commit", "--quiet", "--message=start"],
        ] {
            if !bench.command("git".as_ref()).args(args).status()?.success() {
                return Err("git failed".into());
            }
        }
        Ok(bench)
    }

    /// Runs the case and writes its fixtures; returns each file with its size.
    pub(super) fn record(self, out: &Path) -> TaskResult<Vec<(PathBuf, usize)>> {
        let mut printed = Vec::new();
        for run in self.case.runs {
            printed.push(self.converse(run)?);
        }
        self.model.finished()?;

        let tidy = Tidy::new(self.scratch, self.case)?;
        let mut files = Vec::new();
        for (source, target) in self.case.keep {
            let text = match source {
                FixtureSource::Stdout(run) | FixtureSource::Transcript(run) => {
                    let printed = printed.get(*run).ok_or("a case keeps the output of a run it has not")?;
                    let is_kept = |line: &&(Direction, String)| {
                        line.0 == Direction::Printed || matches!(source, FixtureSource::Transcript(_))
                    };
                    printed.iter().filter(is_kept).map(|(_, line)| line.as_str()).collect()
                }
                other => fs::read_to_string(self.log(other)?)?,
            };
            let (dialect, name) = target.rsplit_once('/').ok_or("a target is `family/dialect/name`")?;
            let name = if name.contains('.') { name.to_owned() } else { format!("{name}.jsonl") };
            let path = out.join(dialect).join(SET).join(name);
            let mut kept = String::with_capacity(text.len());
            for line in text.split_inclusive('\n') {
                tidy.line(line, &mut kept)?;
            }
            no_machine_words(&kept).map_err(|word| format!("{target}: `{word}` is left"))?;
            if let Some(folder) = path.parent() {
                fs::create_dir_all(folder)?;
            }
            fs::write(&path, &kept)?;
            files.push((path, kept.len()));
        }
        Ok(files)
    }

    /// A command in the scratch repository, without this machine's environment.
    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .current_dir(self.scratch.join("repo"))
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("HOME", self.scratch.join("user"))
            .envs([
                ("USER", "demo"),
                ("LANG", "C.UTF-8"),
                ("TERM", "dumb"),
                ("TZ", "UTC"),
                ("SHELL", "/bin/bash"),
            ])
            .envs([("GIT_AUTHOR_NAME", "demo"), ("GIT_AUTHOR_EMAIL", "demo@example.org")])
            .envs([("GIT_COMMITTER_NAME", "demo"), ("GIT_COMMITTER_EMAIL", "demo@example.org")])
            .envs([("GIT_AUTHOR_DATE", GIT_DATE), ("GIT_COMMITTER_DATE", GIT_DATE)])
            .envs([("ANTHROPIC_API_KEY", "demo-key"), ("DEMO_KEY", "demo-key")])
            .env("ANTHROPIC_BASE_URL", format!("http://127.0.0.1:{}", self.model.port))
            .envs([("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"), ("DISABLE_AUTOUPDATER", "1")])
            .env("COPILOT_PROVIDER_BASE_URL", format!("http://127.0.0.1:{}/v1", self.model.port))
            .envs([("COPILOT_PROVIDER_API_KEY", "demo-key"), ("COPILOT_PROVIDER_WIRE_API", "responses")])
            .envs([
                ("COPILOT_MODEL", "demo-model"),
                ("COPILOT_OFFLINE", "true"),
                ("COPILOT_AUTO_UPDATE", "false"),
            ])
            // Claude Code refuses to skip permissions as root unless told it is boxed in.
            .env("IS_SANDBOX", "1");
        command
    }

    /// Starts the program, sends `run.say` to its stdin, and returns the lines of both directions.
    fn converse(&self, run: &Run) -> TaskResult<Vec<(Direction, String)>> {
        let (common, more): (&[_], &[_]) = match (self.case.agent, run.say.is_empty()) {
            (Agent::Claude, true) => (CLAUDE, &["--dangerously-skip-permissions"]),
            (Agent::Claude, false) => (CLAUDE, &["--input-format", "stream-json"]),
            (Agent::Codex, true) => (CODEX, &[]),
            (Agent::Codex, false) => (&[], &[]),
            (Agent::Copilot, _) => (COPILOT, &[]),
        };
        let mut args = Vec::new();
        for arg in common.iter().chain(more).chain(run.args) {
            let mut arg = (*arg).to_owned();
            if arg.contains("{thread}") {
                let log = fs::read_to_string(self.log(&FixtureSource::Log)?)?;
                let id = at_path(&log, "payload.id").ok_or("a rollout without an id")?;
                arg = arg.replace("{thread}", id.trim_matches('"'));
            }
            args.push(arg);
        }
        let mut program = Running::start(self.command(&self.program).args(args))?;
        let mut awaited = String::new();
        for step in run.say {
            match step {
                Step::Send(template) => {
                    let line = template.replace("{repo}", &self.scratch.join("repo").display().to_string());
                    program.send(&fill(&line, &awaited)?)?;
                }
                Step::Await(text) => awaited = program.line_with(text)?,
            }
        }
        program.end()
    }

    /// The path of the output that `source` names.
    fn log(&self, source: &FixtureSource) -> TaskResult<PathBuf> {
        let home = self.scratch.join("user");
        let has = |path: &Path, extension: &str| path.extension().is_some_and(|is| is == extension);
        let found = match (self.case.agent, source) {
            (Agent::Claude, FixtureSource::ChildLog) => {
                find(&home, &|path| path.iter().any(|p| p == "subagents") && has(path, "jsonl"))?
            }
            (Agent::Claude, FixtureSource::ChildMeta) => {
                find(&home, &|path| path.iter().any(|p| p == "subagents") && has(path, "json"))?
            }
            (Agent::Claude, _) => find(&home, &|path| path.ends_with(format!("{SESSION}.jsonl")))?,
            (Agent::Copilot, _) => {
                find(&home.join(".copilot/session-state"), &|path| path.ends_with("events.jsonl"))?
            }
            (Agent::Codex, source) => find(&home.join(".codex/sessions"), &|path| {
                let text = fs::read_to_string(path).unwrap_or_default();
                let meta = at_path(&text, "payload").unwrap_or_default();
                let is = (at_path(meta, "parent_thread_id"), at_path(meta, "forked_from_id"));
                match source {
                    FixtureSource::ChildLog => is.0.is_some(),
                    FixtureSource::ForkLog => is.1.is_some(),
                    FixtureSource::Log
                    | FixtureSource::ChildMeta
                    | FixtureSource::Stdout(_)
                    | FixtureSource::Transcript(_) => is == (None, None),
                }
            })?,
        };
        match <[PathBuf; 1]>::try_from(found) {
            Ok([path]) => Ok(path),
            Err(found) => Err(format!("expected one log, found {found:?}").into()),
        }
    }
}

/// The direction of a line.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    Sent,
    Printed,
}

/// A started program, ended by its own exit or by `Drop`.
struct Running {
    child: Child,
    lines: Receiver<String>,
    seen: Vec<(Direction, String)>,
    deadline: Instant,
}

impl Running {
    fn start(command: &mut Command) -> TaskResult<Self> {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        let stdout = child.stdout.take().ok_or("no stdout")?;
        let (sender, lines) = channel();
        thread::spawn(move || {
            let mut stdout = BufReader::new(stdout);
            let mut line = String::new();
            while matches!(stdout.read_line(&mut line), Ok(1..)) {
                if sender.send(std::mem::take(&mut line)).is_err() {
                    return;
                }
            }
        });
        Ok(Self { child, lines, seen: Vec::new(), deadline: Instant::now() + PATIENCE })
    }

    fn send(&mut self, line: &str) -> TaskResult<()> {
        let stdin = self.child.stdin.as_mut().ok_or("stdin is closed")?;
        writeln!(stdin, "{line}")?;
        self.seen.push((Direction::Sent, format!("{line}\n")));
        Ok(stdin.flush()?)
    }

    fn line_with(&mut self, text: &str) -> TaskResult<String> {
        loop {
            let left = self.deadline.saturating_duration_since(Instant::now());
            let line = self.lines.recv_timeout(left).map_err(|_| {
                let last = self.seen.last().map_or("nothing", |(_, line)| line.as_str());
                format!("never printed `{text}`; last: {last}")
            })?;
            self.seen.push((Direction::Printed, line.clone()));
            if line.contains(text) {
                return Ok(line);
            }
        }
    }

    fn end(mut self) -> TaskResult<Vec<(Direction, String)>> {
        drop(self.child.stdin.take());
        loop {
            match self.lines.recv_timeout(self.deadline.saturating_duration_since(Instant::now())) {
                Ok(line) => self.seen.push((Direction::Printed, line)),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => return Err("did not end in time".into()),
            }
        }
        // Failing runs are fixtures too, so the exit code does not matter here.
        self.child.wait()?;
        Ok(std::mem::take(&mut self.seen))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Both fail when the program has ended already, which is the usual case.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Replaces each `{=path}` by the raw value at that path of `line`.
fn fill(template: &str, line: &str) -> TaskResult<String> {
    let mut filled = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once("{=") {
        let (path, after) = after.split_once('}').ok_or("an open `{=`")?;
        filled.push_str(before);
        filled.push_str(at_path(line, path).ok_or_else(|| format!("no `{path}` in {line}"))?);
        rest = after;
    }
    filled.push_str(rest);
    Ok(filled)
}

pub(super) fn find(folder: &Path, wanted: &dyn Fn(&Path) -> bool) -> TaskResult<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let path = entry.path();
        if entry.file_type()?.is_dir() {
            found.extend(find(&path, wanted)?);
        } else if wanted(&path) {
            found.push(path);
        }
    }
    Ok(found)
}

const GIT_DATE: &str = "2026-11-01T00:00:00Z";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_takes_raw_values_of_the_awaited_line() {
        let line = r#"{"request_id":"r1","request":{"input":{"a": [1,"}"]}}}"#;
        assert_eq!(
            fill(r#"{"id":{=request_id},"in":{=request.input}}"#, line).ok().as_deref(),
            Some(r#"{"id":"r1","in":{"a": [1,"}"]}}"#)
        );
    }
}
