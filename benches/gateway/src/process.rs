//! The processes between the clients and the backend, with their CPU time and memory (from `/proc`).

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::BenchResult;

/// A folder that is removed with its owner.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> BenchResult<Self> {
        let path = std::env::temp_dir().join(format!("interlingua-bench-{}-{name}", std::process::id()));
        fs::create_dir_all(&path)?;
        Ok(Self(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Whether a gateway records its calls.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Recording {
    Off,
    /// Bodies and receipts, in a file of SQLite.
    On,
}

impl Recording {
    const fn word(self) -> &'static str {
        match self {
            Recording::Off => "gateway",
            Recording::On => "recording",
        }
    }
}

/// A gateway of its own, with a route for each dialect of the backend.
pub(crate) struct Gateway {
    child: Child,
    pub(crate) address: SocketAddr,
    folder: Folder,
}

impl Gateway {
    /// A gateway with its default threads.
    pub(crate) fn start(program: &Path, backend: SocketAddr, recording: Recording) -> BenchResult<Self> {
        let folder = Folder::new(recording.word())?;
        Self::start_in(folder, Command::new(program), "", backend, recording)
    }

    /// A gateway with one thread, whose instructions are counted.
    pub(crate) fn start_counted(
        program: &Path,
        backend: SocketAddr,
        recording: Recording,
    ) -> BenchResult<Self> {
        let folder = Folder::new("counted")?;
        let mut valgrind = Command::new("valgrind");
        valgrind.args(["--quiet", "--tool=callgrind"]);
        valgrind.arg(format!("--callgrind-out-file={}", folder.0.join("callgrind.out").display()));
        valgrind.arg(program);
        Self::start_in(folder, valgrind, "threads = 1\n", backend, recording)
    }

    fn start_in(
        folder: Folder,
        mut command: Command,
        settings: &str,
        backend: SocketAddr,
        recording: Recording,
    ) -> BenchResult<Self> {
        let mut config = format!("listen = \"127.0.0.1:0\"\n{settings}");
        if recording == Recording::On {
            config += &format!("[store]\nplace = '{}'\n", folder.0.join("calls.db").display());
        }
        for (model, dialect) in [("same", "openai-chat"), ("other", "anthropic")] {
            config += &format!(
                "[backend.{model}]\ndialect = \"{dialect}\"\nurl = \"http://{backend}\"\n[[route]]\nmodel = \"{model}\"\nbackend = \"{model}\"\n"
            );
        }
        let path = folder.0.join("gateway.toml");
        fs::write(&path, config)?;
        command.arg("serve").arg("--config").arg(&path).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|error| format!("cannot start {command:?}: {error}"))?;
        let mut line = String::new();
        if let Some(messages) = child.stderr.take() {
            BufReader::new(messages).read_line(&mut line)?;
        }
        let address = line.trim().rsplit_once("http://").and_then(|(_, address)| address.parse().ok());
        let Some(address) = address else {
            let _ = (child.kill(), child.wait());
            return Err(format!("the gateway does not listen: {line}").into());
        };
        Ok(Self { child, address, folder })
    }

    /// Ends a gateway of [`Gateway::start_counted`] and returns its instructions. The profile is copied to `keep`, if given.
    pub(crate) fn instructions(mut self, keep: Option<&Path>) -> BenchResult<u64> {
        Command::new("kill").arg(self.id().to_string()).status()?;
        self.child.wait()?;
        let path = self.folder.0.join("callgrind.out");
        let profile = fs::read_to_string(&path)?;
        if let Some(keep) = keep {
            fs::copy(&path, keep)?;
        }
        let total = profile.lines().rev().find_map(|line| line.strip_prefix("totals: "));
        Ok(total.ok_or("callgrind wrote no total")?.trim().parse()?)
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        let _ = (self.child.kill(), self.child.wait());
    }
}

/// nginx as a plain proxy.
pub(crate) struct Nginx {
    child: Child,
    pub(crate) address: SocketAddr,
    folder: Folder,
}

impl Nginx {
    /// Starts nginx; `None` if nginx is not installed.
    pub(crate) fn start(backend: SocketAddr) -> BenchResult<Option<Self>> {
        let is_there = Command::new("nginx").arg("-v").stderr(Stdio::null()).status().is_ok();
        if !is_there {
            return Ok(None);
        }
        let folder = Folder::new("nginx")?;
        // Between this line and the start of nginx another process could take the port; nginx then fails.
        let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
        let temporary: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .iter()
            .map(|name| format!("{name}_temp_path {name};\n"))
            .collect();
        let config = format!(
            "daemon off;\nworker_processes auto;\npid nginx.pid;\nerror_log error.log;\nevents {{ worker_connections 1024; }}\nhttp {{\naccess_log off;\n{temporary}\
             keepalive_requests 1000000000;\nupstream backend {{ server {backend}; keepalive 256; keepalive_requests 1000000000; }}\n\
             server {{ listen {address};\nlocation / {{ proxy_pass http://backend; proxy_http_version 1.1; proxy_set_header connection \"\"; proxy_buffering off; }} }}\n}}\n"
        );
        fs::write(folder.0.join("nginx.conf"), config)?;
        let mut nginx = Self { child: command(&folder.0).spawn()?, address, folder };
        let begin = Instant::now();
        while TcpStream::connect(address).is_err() {
            if nginx.child.try_wait()?.is_some() || begin.elapsed() > Duration::from_secs(10) {
                let log = fs::read_to_string(nginx.folder.0.join("error.log")).unwrap_or_default();
                return Err(format!("nginx does not start: {log}").into());
            }
            #[expect(clippy::disallowed_methods, reason = "nginx announces its start to nobody")]
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(Some(nginx))
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }
}

fn command(folder: &Path) -> Command {
    let mut command = Command::new("nginx");
    command.arg("-p").arg(folder).arg("-e").arg("error.log").arg("-c").arg("nginx.conf");
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command
}

impl Drop for Nginx {
    fn drop(&mut self) {
        // The main process ends its workers.
        let is_told = command(&self.folder.0).args(["-s", "stop"]).status();
        if !is_told.is_ok_and(|status| status.success()) {
            let _ = self.child.kill();
        }
        let _ = self.child.wait();
    }
}

/// The CPU time of a process and its children in seconds; 0 on a system without `/proc`.
pub(crate) fn cpu(process: u32) -> f64 {
    // The unit of the times is a hundredth of a second on every common system.
    family(process).iter().filter_map(|id| times(*id)).sum::<u64>() as f64 / 100.0
}

/// The memory of a process and its children in bytes.
pub(crate) fn memory(process: u32) -> u64 {
    let resident = |id: &u32| {
        let status = fs::read_to_string(format!("/proc/{id}/status")).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
        line.trim().trim_end_matches(" kB").parse::<u64>().ok()
    };
    family(process).iter().filter_map(resident).sum::<u64>() * 1024
}

fn family(process: u32) -> Vec<u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    ids.filter(|id| *id == process || parent(*id) == Some(process)).collect()
}

/// The fields of `/proc/ID/stat` after the name of the program, which may hold spaces.
fn fields(process: u32) -> Option<Vec<String>> {
    let text = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    Some(text.rsplit_once(')')?.1.split_whitespace().map(str::to_owned).collect())
}

fn parent(process: u32) -> Option<u32> {
    fields(process)?.get(1)?.parse().ok()
}

fn times(process: u32) -> Option<u64> {
    let fields = fields(process)?;
    Some(fields.get(11)?.parse::<u64>().ok()? + fields.get(12)?.parse::<u64>().ok()?)
}
