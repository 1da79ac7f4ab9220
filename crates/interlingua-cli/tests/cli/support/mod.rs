//! Runs the command in a separate directory and captures its results.

#![allow(dead_code, reason = "each test file uses its own part of this")]

pub(crate) mod schema;

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::{Duration, Instant};

/// A log of Claude Code with this many messages.
pub(crate) fn log(lines: usize) -> String {
    let line = |number: usize| {
        format!(
            r#"{{"type":"user","sessionId":"s","uuid":"u{number}","parentUuid":null,"message":{{"role":"user","content":"hi {number}"}}}}"#
        ) + "\n"
    };
    (0..lines).map(line).collect()
}

/// The command with default signal handling. Tests may run where signals are ignored, as in the background of a script,
/// and the command would inherit that.
pub(crate) fn stoppable() -> Vec<String> {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored =
        status.lines().find_map(|line| u64::from_str_radix(line.strip_prefix("SigIgn:")?.trim(), 16).ok());
    // HUP, INT and TERM.
    let is_deaf = ignored.unwrap_or(0) & (1 | 1 << 1 | 1 << 14) != 0;
    let wrapper = is_deaf.then_some(["env", "--default-signal=HUP,INT,TERM"]).into_iter().flatten();
    wrapper.chain([env!("CARGO_BIN_EXE_interlingua")]).map(str::to_owned).collect()
}

/// The address that a server prints when it listens, and its further lines.
pub(crate) fn address_of(server: &mut Child) -> (String, BufReader<ChildStderr>) {
    let mut lines = BufReader::new(server.stderr.take().expect("piped"));
    let mut line = String::new();
    lines.read_line(&mut line).expect("a line");
    let address = line.trim().strip_prefix("listening on http://").expect(&line).to_owned();
    (address, lines)
}

/// Waits for an effect of the command on files.
#[expect(clippy::disallowed_methods, reason = "a file that appears is no event")]
pub(crate) fn wait_until(what: impl Fn() -> bool) {
    let start = Instant::now();
    while !what() {
        assert!(start.elapsed() < Duration::from_secs(30), "it did not begin to write");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// A directory for one test, empty at its start.
pub(crate) struct Dir(PathBuf);

impl Dir {
    pub(crate) fn new(test: &str) -> Self {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).expect("a directory can be made");
        Self(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> &Self {
        let path = self.0.join(name);
        fs::create_dir_all(path.parent().expect("a file is in a directory"))
            .expect("a directory can be made");
        fs::write(path, bytes).expect("a file can be written");
        self
    }

    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.0.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// All files, sorted.
    pub(crate) fn files(&self) -> Vec<String> {
        let mut found = Vec::new();
        let mut open = vec![self.0.clone()];
        while let Some(dir) = open.pop() {
            for entry in fs::read_dir(dir).expect("a directory can be listed") {
                let path = entry.expect("a directory can be listed").path();
                if path.is_dir() {
                    open.push(path);
                } else {
                    found.push(path.strip_prefix(&self.0).expect("below").to_string_lossy().into_owned());
                }
            }
        }
        found.sort();
        found
    }

    /// Runs the command with these arguments, split at spaces.
    pub(crate) fn run(&self, args: &str) -> Ran {
        self.run_with(args, b"")
    }

    pub(crate) fn run_with(&self, args: &str, stdin: &[u8]) -> Ran {
        self.run_where(args, stdin, &[])
    }

    /// Runs the command with these environment variables.
    pub(crate) fn run_where(&self, args: &str, stdin: &[u8], variables: &[(&str, &str)]) -> Ran {
        let mut child = Command::new(env!("CARGO_BIN_EXE_interlingua"))
            .args(args.split(' '))
            .envs(variables.iter().copied())
            .current_dir(&self.0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the command starts");
        // A command that fails early does not read its stdin.
        let _ = child.stdin.take().expect("piped").write_all(stdin);
        let output = child.wait_with_output().expect("the command ends");
        Ran {
            code: output.status.code(),
            stdout: output.stdout,
            stderr: String::from_utf8(output.stderr).expect("messages are text"),
        }
    }
}

/// The result of a run.
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
}

impl Ran {
    pub(crate) fn stdout(&self) -> &str {
        std::str::from_utf8(&self.stdout).expect("text")
    }

    /// Asserts the exit code and stderr, and an empty stdout.
    #[track_caller]
    pub(crate) fn expect(&self, code: i32, stderr: &str) {
        assert_eq!(self.stderr, stderr);
        assert_eq!(self.stdout(), "");
        assert_eq!(self.code, Some(code));
    }
}

/// The fixtures of all dialects with that extension.
pub(crate) fn fixtures(extension: &str) -> Vec<PathBuf> {
    fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
        let entries = fs::read_dir(folder).expect("the folder is there");
        for path in entries.map(|entry| entry.expect("an entry").path()) {
            if path.is_dir() {
                walk(&path, found);
            } else {
                found.push(path);
            }
        }
    }
    let mut found = Vec::new();
    walk(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../interlingua/fixtures"), &mut found);
    found.retain(|path| path.extension().is_some_and(|end| end == extension));
    found.sort();
    found
}
