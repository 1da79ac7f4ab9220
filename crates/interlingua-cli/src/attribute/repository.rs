//! The files of a repository: read from the working tree, or with the `git` program from a commit. Nothing is written, and
//! no path leaves the repository.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use interlingua_record::attribution::FileContents;
use interlingua_report::safe;

use crate::error::CommandError;

/// Larger files are not attributed.
const LARGEST: u64 = 64 << 20;

pub(super) struct Repository {
    root: PathBuf,
    root_text: String,
    /// The commit whose files are read, instead of the working tree.
    commit: Option<String>,
    /// The commit of the working tree, or the commit that is read.
    revision: Option<String>,
    /// The commit before the sessions, if the user names it.
    base: Option<String>,
}

impl Repository {
    pub(super) fn open(dir: &Path, revision: Option<&str>, base: Option<&str>) -> Result<Self, CommandError> {
        let name = safe::path_name(dir);
        let dir = fs::canonicalize(dir).map_err(|error| CommandError::Read(name.clone(), error))?;
        let top = git(&dir, &["rev-parse", "--show-toplevel"]).map(|top| PathBuf::from(top.trim_end()));
        let root = top.and_then(|top| fs::canonicalize(top).ok()).unwrap_or(dir);
        let commit_of = |revision: &str| {
            let commit = commit(&root, revision);
            let what = || format!("there is no commit `{}`", safe::one_line(revision));
            commit.ok_or_else(|| CommandError::Attribution(name.clone(), what()))
        };
        let read = revision.map(commit_of).transpose()?;
        let base = base.map(commit_of).transpose()?;
        let revision = read.clone().or_else(|| commit(&root, "HEAD"));
        let root_text = root.to_string_lossy().into_owned();
        Ok(Self { root, root_text, commit: read, revision, base })
    }

    /// The absolute path.
    pub(super) fn root(&self) -> &str {
        &self.root_text
    }

    pub(super) fn revision(&self) -> Option<&str> {
        self.revision.as_deref()
    }

    fn at_commit(&self, commit: &str, path: &str) -> Option<String> {
        let object = format!("{commit}:{path}");
        let size: u64 = git(&self.root, &["cat-file", "-s", &object])?.trim_end().parse().ok()?;
        if size > LARGEST {
            return None;
        }
        git(&self.root, &["cat-file", "blob", &object])
    }

    /// A regular file of the working tree, without a symbolic link anywhere on its path.
    fn in_working_tree(&self, path: &str) -> Option<String> {
        let mut place = self.root.clone();
        for part in path.split('/') {
            place.push(part);
            if fs::symlink_metadata(&place).ok()?.is_symlink() {
                return None;
            }
        }
        let about = fs::symlink_metadata(&place).ok()?;
        if !about.is_file() || about.len() > LARGEST {
            return None;
        }
        fs::read_to_string(&place).ok()
    }
}

impl FileContents for Repository {
    fn before(&mut self, path: &str, commit: Option<&str>) -> Option<String> {
        let named = match (&self.base, commit) {
            (Some(base), _) => base.clone(),
            // The name of the commit is data of the log.
            (None, Some(named)) => self::commit(&self.root, named)?,
            (None, None) => return None,
        };
        self.at_commit(&named, path)
    }

    fn current(&mut self, path: &str) -> Option<String> {
        match &self.commit {
            Some(commit) => self.at_commit(commit, path),
            None => self.in_working_tree(path),
        }
    }
}

/// The full hash of a commit.
fn commit(root: &Path, revision: &str) -> Option<String> {
    let wanted = format!("{revision}^{{commit}}");
    let hash = git(root, &["rev-parse", "--verify", "--quiet", "--end-of-options", &wanted])?;
    // `rev-parse` repeats `--end-of-options` in some versions.
    hash.lines().last().map(str::to_owned)
}

/// The output of a `git` command that only reads. Settings of the repository that run other programs are off.
fn git(root: &Path, args: &[&str]) -> Option<String> {
    let output = Command::new("git")
        .args(["-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "--no-pager"])
        .arg("-C")
        .arg(root)
        .args(args)
        .env("GIT_OPTIONAL_LOCKS", "0")
        .env("GIT_NO_LAZY_FETCH", "1")
        .env("GIT_TERMINAL_PROMPT", "0")
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()
        .filter(|output| output.status.success())?;
    String::from_utf8(output.stdout).ok()
}
