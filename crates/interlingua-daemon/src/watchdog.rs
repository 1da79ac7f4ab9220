//! Ends the agents of a daemon that was killed. An agent outlives the daemon otherwise: it goes on with its turn, while the
//! next daemon resumes the same session.
//!
//! A shell holds the list of process groups and reads the daemon's end of a pipe. The end of the pipe is the end of the
//! daemon, however it came, and the shell kills the groups that are left.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

/// Knows the process groups of the running agents.
#[derive(Clone, Default)]
pub(crate) struct Watchdog(Arc<Mutex<WatchedGroups>>);

#[derive(Default)]
struct WatchedGroups {
    groups: BTreeSet<u32>,
    #[cfg(unix)]
    shell: Option<shell::WatchingShell>,
}

impl Watchdog {
    /// Remembers the group of a new process.
    pub(crate) fn watch(&self, group: u32) {
        let mut watched = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        watched.groups.insert(group);
        watched.tell(&format!("+ {group}\n"));
    }

    /// Forgets the group of a process that has ended.
    pub(crate) fn forget(&self, group: u32) {
        let mut watched = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if watched.groups.remove(&group) {
            watched.tell(&format!("- {group}\n"));
        }
    }
}

impl WatchedGroups {
    /// Tells the shell of a change. A shell that is missing is started with all groups.
    #[cfg(unix)]
    fn tell(&mut self, line: &str) {
        if self.shell.as_mut().is_none_or(|shell| !shell.tell(line)) {
            self.shell = shell::WatchingShell::start(&self.groups);
        }
    }

    #[cfg(not(unix))]
    fn tell(&mut self, _: &str) {}
}

#[cfg(unix)]
mod shell {
    use std::collections::BTreeSet;
    use std::io::Write as _;
    use std::os::unix::process::CommandExt as _;
    use std::process::{Child, Command, Stdio};

    /// Only commands that every shell has built in.
    const SCRIPT: &str = r#"
while read -r sign group; do
  case $sign in
    +) groups="$groups $group" ;;
    -) left=; for each in $groups; do [ "$each" = "$group" ] || left="$left $each"; done; groups=$left ;;
  esac
done
for each in $groups; do kill -s KILL -- "-$each" 2>/dev/null; done
"#;

    /// A running shell. Dropping it closes the pipe.
    pub(super) struct WatchingShell(Child);

    impl WatchingShell {
        /// Starts a shell that knows these groups. A machine without a shell has no watchdog.
        pub(super) fn start(groups: &BTreeSet<u32>) -> Option<Self> {
            let mut command = Command::new("/bin/sh");
            // The group of its own protects the shell from signals to the daemon's group.
            command.args(["-c", SCRIPT]).env_clear().process_group(0);
            command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
            let mut shell = Self(command.spawn().ok()?);
            groups.iter().all(|group| shell.tell(&format!("+ {group}\n"))).then_some(shell)
        }

        /// Writes lines to the shell. Returns whether the shell runs.
        pub(super) fn tell(&mut self, lines: &str) -> bool {
            self.0.stdin.as_mut().is_some_and(|pipe| pipe.write_all(lines.as_bytes()).is_ok())
        }
    }

    impl Drop for WatchingShell {
        fn drop(&mut self) {
            drop(self.0.stdin.take());
            // The shell ends with the pipe, so the wait is short.
            let _ = self.0.wait();
        }
    }
}
