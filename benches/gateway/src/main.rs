//! Calls through the gateway, and the same calls without a gateway, over loopback. `cargo xtask bench gateway` builds the
//! command and starts this program.
//!
//! A backend with fixed answers and the clients run in this process, each on a thread of its own. The targets take turns in
//! each cell, so that the load of the machine changes the ratios little:
//!
//! - `direct`: the clients call the backend.
//! - `nginx`: a plain proxy between both, if nginx is installed.
//! - `pass-through`: the gateway, with a backend of the client's dialect.
//! - `translated`: the gateway, with Chat clients and an Anthropic backend.
//! - `recorded`: the same, with a store that holds every call.
//!
//! With `--count`, callgrind counts the instructions of a call instead, which do not depend on the load of the machine.
//!
//! A second table has requests of 100 KB and 1 MB, beside one parse and write of the same bytes with serde_json.

mod backend;
mod baseline;
mod count;
mod load;
mod process;

use std::error::Error;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use load::{ClientApi, Figures, Load, LoadEnd};
use process::{Gateway, Nginx, Recording};

type BenchResult<T> = Result<T, Box<dyn Error>>;

const USAGE: &str = "usage: interlingua-gateway-bench --bin PROGRAM [--seconds NUMBER] [--only WAY,…] [--smoke] [--count [FOLDER]]";

struct Settings {
    program: PathBuf,
    /// The time of one measurement.
    time: Duration,
    /// The ways to measure; empty for all.
    only: Vec<String>,
    connections: &'static [usize],
    /// The sizes of large requests in bytes.
    sizes: &'static [usize],
    /// Count instructions instead of time, with a folder for the profiles.
    count: Option<Option<PathBuf>>,
}

fn settings() -> BenchResult<Settings> {
    let (mut program, mut seconds, mut only, mut smoke, mut count) = (None, 2.0, Vec::new(), false, None);
    let mut arguments = std::env::args().skip(1).peekable();
    while let Some(argument) = arguments.next() {
        if argument == "--count" {
            count = Some(arguments.next_if(|next| !next.starts_with("--")).map(PathBuf::from));
            continue;
        }
        let mut value = || arguments.next().ok_or_else(|| format!("`{argument}` needs a value; {USAGE}"));
        match argument.as_str() {
            "--bin" => program = Some(PathBuf::from(value()?)),
            "--seconds" => seconds = value()?.parse::<f64>()?,
            "--only" => only = value()?.split(',').map(str::to_owned).collect(),
            "--smoke" => smoke = true,
            _ => return Err(format!("unknown argument `{argument}`; {USAGE}").into()),
        }
    }
    if !(0.05..=600.0).contains(&seconds) {
        return Err("`--seconds` needs a number from 0.05 to 600".into());
    }
    Ok(Settings {
        program: program.ok_or(USAGE)?,
        time: Duration::from_secs_f64(if smoke { 0.1 } else { seconds }),
        only,
        connections: if smoke { &[1, 16] } else { &[1, 16, 64] },
        sizes: if smoke { &[100_000] } else { &[100_000, 1_000_000] },
        count,
    })
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// A way from the clients to the backend.
struct Target {
    name: &'static str,
    address: std::net::SocketAddr,
    /// The model that selects the route.
    model: &'static str,
    /// The process between the clients and the backend.
    process: Option<u32>,
}

fn run() -> BenchResult<()> {
    let settings = settings()?;
    let backend = backend::start()?;
    if let Some(folder) = &settings.count {
        return count::run(&settings.program, backend, folder.as_deref());
    }
    let gateway = Gateway::start(&settings.program, backend, Recording::Off)?;
    let recording = Gateway::start(&settings.program, backend, Recording::On)?;
    let nginx = Nginx::start(backend)?;
    let mut targets = vec![Target { name: "direct", address: backend, model: "same", process: None }];
    if let Some(nginx) = &nginx {
        let (address, process) = (nginx.address, Some(nginx.id()));
        targets.push(Target { name: "nginx", address, model: "same", process });
    }
    for (name, model) in [("pass-through", "same"), ("translated", "other")] {
        targets.push(Target { name, address: gateway.address, model, process: Some(gateway.id()) });
    }
    let (address, process) = (recording.address, Some(recording.id()));
    targets.push(Target { name: "recorded", address, model: "other", process });

    if let Some(unknown) = settings.only.iter().find(|way| targets.iter().all(|target| target.name != **way))
    {
        return Err(format!("no way has the name `{unknown}`; {USAGE}").into());
    }
    let is_wanted =
        |target: &Target| settings.only.is_empty() || settings.only.iter().any(|way| way == target.name);
    targets.retain(is_wanted);

    let mut out = std::io::stdout().lock();
    writeln!(out, "{}", table_head())?;
    for (is_stream, answers) in [(false, "whole"), (true, "100 chunks")] {
        for &connections in settings.connections {
            let mut direct: Option<Figures> = None;
            for target in &targets {
                let load = target.load(is_stream, connections, 0);
                let (figures, cpu) = target.measure(load, settings.time)?;
                let memory = target.process.map(process::memory);
                writeln!(
                    out,
                    "{}",
                    row(
                        &format!("{answers} | {connections} | {}", target.name),
                        &figures,
                        &direct,
                        cpu,
                        memory
                    )
                )?;
                out.flush()?;
                if target.name == "direct" {
                    direct = Some(figures);
                }
            }
        }
    }
    writeln!(out, "\n{}", large_head())?;
    for size in settings.sizes {
        for target in &targets {
            let load = target.load(false, 4, *size);
            let parse_and_write = baseline::parse_and_write(&load.body(), settings.time)?;
            let (figures, cpu) = target.measure(load, settings.time)?;
            writeln!(out, "{}", large_row(*size, target.name, &figures, cpu, parse_and_write))?;
            out.flush()?;
        }
    }
    Ok(())
}

impl Target {
    fn load(&self, is_stream: bool, connections: usize, size: usize) -> Load {
        Load { api: ClientApi::Chat, address: self.address, model: self.model, is_stream, connections, size }
    }

    /// Calls for some time, after first calls that open connections and fill caches. The second figure is the CPU time of
    /// the process in seconds.
    fn measure(&self, load: Load, time: Duration) -> BenchResult<(Figures, Option<f64>)> {
        load.run(LoadEnd::After(time.mul_f64(0.2)))?;
        let before = self.process.map(process::cpu);
        let figures = load.run(LoadEnd::After(time))?;
        let cpu = before.map(|before| self.process.map_or(before, process::cpu) - before);
        Ok((figures, cpu))
    }
}

fn large_head() -> String {
    let columns = ["request", "way", "calls/s", "p50", "CPU per call", "serde_json", "of serde_json"];
    format!("| {} |\n|---|---{}|", columns.join(" | "), "|---:".repeat(columns.len() - 2))
}

/// A row for large requests. `baseline` is the CPU time of one parse and write of the request with serde_json.
fn large_row(size: usize, name: &str, figures: &Figures, cpu: Option<f64>, baseline: Duration) -> String {
    let micros = |seconds: f64| format!("{:.0} µs", seconds * 1e6);
    let per_call = cpu.map(|seconds| seconds / figures.calls());
    let of = |seconds: f64| format!("{:.2}", seconds / baseline.as_secs_f64());
    let columns = [
        format!("{} KB", size / 1000),
        name.to_owned(),
        format!("{:.0}", figures.calls_per_second()),
        micros(figures.quantile(0.5).as_secs_f64()),
        per_call.map_or_else(String::new, micros),
        micros(baseline.as_secs_f64()),
        per_call.map_or_else(String::new, of),
    ];
    format!("| {} |", columns.join(" | "))
}

fn table_head() -> String {
    let columns = [
        "answers",
        "connections",
        "way",
        "calls/s",
        "of direct",
        "p50",
        "p99",
        "added p50",
        "added p99",
        "first byte p50",
        "CPU per call",
        "memory",
    ];
    format!("| {} |\n|---|---:|---{}|", columns.join(" | "), "|---:".repeat(columns.len() - 3))
}

/// A row of the table. The figures of the first target of a cell are the base of the others.
fn row(
    name: &str,
    figures: &Figures,
    direct: &Option<Figures>,
    cpu: Option<f64>,
    memory: Option<u64>,
) -> String {
    let micros = |time: Duration| format!("{:.0} µs", time.as_secs_f64() * 1e6);
    let added = |of: &dyn Fn(&Figures) -> Duration| {
        direct.as_ref().map_or_else(String::new, |direct| {
            format!("{:.0} µs", (of(figures).as_secs_f64() - of(direct).as_secs_f64()) * 1e6)
        })
    };
    let calls = figures.calls_per_second();
    let columns = [
        name.to_owned(),
        format!("{calls:.0}"),
        direct
            .as_ref()
            .map_or_else(String::new, |direct| format!("{:.2}", calls / direct.calls_per_second())),
        micros(figures.quantile(0.5)),
        micros(figures.quantile(0.99)),
        added(&|figures| figures.quantile(0.5)),
        added(&|figures| figures.quantile(0.99)),
        micros(figures.first_byte()),
        cpu.map_or_else(String::new, |seconds| format!("{:.0} µs", seconds / figures.calls() * 1e6)),
        memory.map_or_else(String::new, |bytes| format!("{:.0} MB", bytes as f64 / 1e6)),
    ];
    format!("| {} |", columns.join(" | "))
}
