//! The server that is measured: a process with a store of its own.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::BenchResult;
use crate::client::call;

/// A server with agents. Its store is removed with it.
pub(crate) struct AgentServer {
    child: Child,
    pub(crate) address: SocketAddr,
    /// The time from the start of the process to the answer about its health.
    pub(crate) start: Duration,
    folder: PathBuf,
}

impl AgentServer {
    pub(crate) async fn start(program: &Path) -> BenchResult<Self> {
        static STARTED: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let number = STARTED.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let name = format!("interlingua-daemon-bench-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        fs::create_dir_all(&folder)?;
        let begin = Instant::now();
        let mut command = Command::new(program);
        command.args(["serve", "--agents", "--listen", "127.0.0.1:0", "--store", "sessions.db"]);
        command.current_dir(&folder).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child =
            command.spawn().map_err(|error| format!("cannot start {}: {error}", program.display()))?;
        let mut line = String::new();
        if let Some(messages) = child.stderr.take() {
            BufReader::new(messages).read_line(&mut line)?;
        }
        let address = line.trim().rsplit_once("http://").and_then(|(_, address)| address.parse().ok());
        let Some(address) = address else {
            let _ = (child.kill(), child.wait());
            return Err(format!("the server does not listen: {line}").into());
        };
        let mut server = Self { child, address, start: Duration::ZERO, folder };
        call(address, "GET", "/v1/health", "").await?;
        server.start = begin.elapsed();
        Ok(server)
    }

    /// The memory of the process in bytes.
    pub(crate) fn memory(&self) -> BenchResult<u64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or("no `VmRSS`")?;
        Ok(line.trim().trim_end_matches(" kB").parse::<u64>()? * 1024)
    }
}

impl Drop for AgentServer {
    fn drop(&mut self) {
        let _ = (self.child.kill(), self.child.wait());
        let _ = fs::remove_dir_all(&self.folder);
    }
}
