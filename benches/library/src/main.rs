//! `list` and `find` over generated sessions, and ripgrep over the same files. `cargo xtask bench library` builds the command
//! and starts this program.
//!
//! The programs take turns in each round, so that the load of the machine changes the ratios little. The first index runs twice,
//! each time with a new catalogue; the other rows run in five rounds, and the table has the median and the worst.

mod home;

use std::error::Error;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use home::{FREQUENT_WORD, RARE_PHRASE, RARE_WORD};

type BenchResult<T> = Result<T, Box<dyn Error>>;

const USAGE: &str = "usage: interlingua-library-bench --bin PROGRAM [--megabytes NUMBER] [--smoke]";

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// A temporary folder, removed at the end.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A command that is measured.
struct Row {
    name: String,
    program: PathBuf,
    arguments: Vec<String>,
    /// The code that ripgrep returns for a word that is nowhere.
    code: i32,
    times: Vec<Duration>,
    /// The CPU time of all runs, in seconds.
    cpu: f64,
    memory: u64,
}

impl Row {
    fn new(name: &str, program: &Path, arguments: &[&str]) -> Self {
        Self {
            name: name.to_owned(),
            program: program.to_owned(),
            arguments: arguments.iter().map(|&argument| argument.to_owned()).collect(),
            code: 0,
            times: Vec::new(),
            cpu: 0.0,
            memory: 0,
        }
    }

    fn run(&mut self, home: &Path) -> BenchResult<()> {
        let (begin, cpu) = (Instant::now(), cpu_of_children());
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).current_dir(home).env("HOME", home).stdout(Stdio::null());
        for name in
            ["XDG_CACHE_HOME", "XDG_DATA_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "PI_CODING_AGENT_DIR"]
        {
            command.env_remove(name);
        }
        let mut child = command.spawn()?;
        let status = format!("/proc/{}/status", child.id());
        let end = loop {
            let peak = fs::read_to_string(&status).ok().and_then(|status| peak_memory(&status));
            self.memory = self.memory.max(peak.unwrap_or(0));
            if let Some(end) = child.try_wait()? {
                break end;
            }
            std::thread::sleep(Duration::from_micros(500));
        };
        self.times.push(begin.elapsed());
        self.cpu += cpu_of_children() - cpu;
        if end.code() == Some(self.code) { Ok(()) } else { Err(format!("{}: {end}", self.name).into()) }
    }

    fn median(&self) -> Duration {
        let mut times = self.times.clone();
        times.sort_unstable();
        times.get(times.len() / 2).copied().unwrap_or_default()
    }

    fn line(&self, bytes: u64) -> String {
        let Row { name, memory, times, .. } = self;
        let (median, worst) = (self.median(), times.iter().max().copied().unwrap_or_default());
        let millis = |time: Duration| format!("{:.0} ms", time.as_secs_f64() * 1e3);
        let speed = bytes as f64 / 1e6 / median.as_secs_f64();
        let cpu = Duration::from_secs_f64(self.cpu / times.len() as f64);
        format!(
            "| {name} | {} | {} | {} | {speed:.0} MB/s | {:.0} MB |",
            millis(median),
            millis(worst),
            millis(cpu),
            *memory as f64 / 1e6
        )
    }
}

/// The CPU time of all processes that this one has started and waited for, in seconds; 0 on a system without `/proc`.
fn cpu_of_children() -> f64 {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // After the name of the program, which may hold spaces. The unit is a hundredth of a second on every common system.
    let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields).split_whitespace();
    fields.skip(13).take(2).filter_map(|field| field.parse::<f64>().ok()).sum::<f64>() / 100.0
}

/// The peak of the memory in bytes; `None` on a system without `/proc`.
fn peak_memory(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().trim_end_matches(" kB").parse::<u64>().ok()? * 1024)
}

fn run() -> BenchResult<()> {
    let (mut program, mut megabytes, mut smoke) = (None, 2000, false);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or_else(|| format!("`{argument}` needs a value; {USAGE}"));
        match argument.as_str() {
            "--bin" => program = Some(fs::canonicalize(value()?)?),
            "--megabytes" => megabytes = value()?.parse()?,
            "--smoke" => smoke = true,
            _ => return Err(format!("unknown argument `{argument}`; {USAGE}").into()),
        }
    }
    let program = program.ok_or(USAGE)?;
    let (megabytes, rounds) = if smoke { (20, 1) } else { (megabytes, 5) };
    let folder =
        Folder(std::env::temp_dir().join(format!("interlingua-library-bench-{}", std::process::id())));
    let home = &folder.0;
    let size = home::write(home, megabytes * 1_000_000)?;

    let ripgrep = Path::new("rg");
    let has_ripgrep = Command::new(ripgrep).arg("--version").stdout(Stdio::null()).status().is_ok();
    let places = [".claude", ".codex", ".pi"];
    let searched = |options: &[&str], text: &str| {
        let options = ["-i", "-l", "--no-ignore", "--hidden", "-F"].iter().chain(options);
        let arguments: Vec<&str> = options.copied().chain(["--", text]).chain(places).collect();
        Row::new(&format!("`rg -i -l \"{text}\"`"), ripgrep, &arguments)
    };

    let mut first_list = Row::new("`list`, the first time", &program, &["list", "-q"]);
    let mut first_find =
        Row::new("`find`, the first time after `list`", &program, &["find", "-q", RARE_WORD]);
    let mut first_both =
        Row::new("`find`, the first time without `list`", &program, &["find", "-q", RARE_WORD]);
    for _ in 0..if smoke { 1 } else { 2 } {
        let _ = fs::remove_dir_all(home.join(".cache"));
        first_list.run(home)?;
        first_find.run(home)?;
        let _ = fs::remove_dir_all(home.join(".cache"));
        first_both.run(home)?;
    }

    let mut rows = vec![
        Row::new("`list`", &program, &["list", "-q"]),
        Row::new("`list --json -n 0`", &program, &["list", "-q", "--json", "-n", "0"]),
    ];
    let phrase = format!("\"{RARE_PHRASE}\"");
    let nowhere = "perihelion";
    for (name, query) in [
        ("a rare word", RARE_WORD),
        ("a phrase of frequent words, in the largest session", &phrase),
        ("a frequent word", FREQUENT_WORD),
        ("a word that is nowhere", nowhere),
        ("failed calls", "error:"),
        ("a tool that is nowhere", "tool:nobody"),
    ] {
        rows.push(Row::new(&format!("`find`: {name}"), &program, &["find", "-q", query]));
    }
    if has_ripgrep {
        // A list needs at least the first line with a directory of each file.
        let mut heads = vec!["-m1", "--no-filename", "--no-ignore", "--hidden", "-F", "--", "\"cwd\""];
        heads.extend(places);
        rows.push(Row::new("`rg -m1 '\"cwd\"'`: a line of each session", ripgrep, &heads));
        rows.extend([RARE_WORD, RARE_PHRASE, FREQUENT_WORD, nowhere].map(|text| searched(&[], text)));
        if let Some(last) = rows.last_mut() {
            last.code = 1;
        }
    }
    for _ in 0..rounds {
        for row in &mut rows {
            row.run(home)?;
        }
    }
    let cache = fs::metadata(home.join(".cache/interlingua/sessions.db"))?.len();
    let mut out = std::io::stdout().lock();
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    writeln!(
        out,
        "{} sessions, {:.0} MB, generated; the catalogue has {:.1} MB ({:.1} %). Load average {} at the end.\n",
        size.files,
        size.bytes as f64 / 1e6,
        cache as f64 / 1e6,
        cache as f64 * 100.0 / size.bytes as f64,
        load.split(' ').next().unwrap_or("unknown"),
    )?;
    writeln!(
        out,
        "| command | median | worst | CPU | of all bytes | memory |\n|---|---:|---:|---:|---:|---:|"
    )?;
    for row in [first_list, first_find, first_both].iter().chain(&rows) {
        writeln!(out, "{}", row.line(size.bytes))?;
    }
    if !has_ripgrep {
        writeln!(out, "\nripgrep is not installed, so its rows are missing.")?;
    }
    Ok(())
}
