//! The daemon with the mock agent and a store, over loopback, beside the figures of the reference system, which stores
//! nothing. `cargo xtask bench daemon` builds the command and starts this program.
//!
//! The clients run in this process on one thread. Each measurement has a server of its own.

mod client;
mod server;

use std::error::Error;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use client::{Connection, Reader};
use server::AgentServer;

type BenchResult<T> = Result<T, Box<dyn Error>>;

const USAGE: &str = "usage: interlingua-daemon-bench --bin PROGRAM [--smoke]";

/// The sizes of the measurements.
struct Sizes {
    starts: usize,
    turns: usize,
    replayed_words: usize,
    live_sessions: usize,
    live_words: usize,
    idle_sessions: usize,
}

const WHOLE: Sizes = Sizes {
    starts: 9,
    turns: 500,
    replayed_words: 100_000,
    live_sessions: 500,
    live_words: 200,
    idle_sessions: 1000,
};
const SMOKE: Sizes =
    Sizes { starts: 1, turns: 5, replayed_words: 500, live_sessions: 5, live_words: 20, idle_sessions: 10 };

fn main() -> ExitCode {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let done = runtime.map_err(Into::into).and_then(|runtime| runtime.block_on(run()));
    match done {
        Ok(table) => {
            let _ = std::io::stdout().write_all(table.as_bytes());
            ExitCode::SUCCESS
        }
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "error: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run() -> BenchResult<String> {
    let (mut program, mut sizes) = (None, WHOLE);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--bin" => program = arguments.next().map(PathBuf::from),
            "--smoke" => sizes = SMOKE,
            _ => return Err(format!("unknown argument `{argument}`; {USAGE}").into()),
        }
    }
    let program = program.ok_or(USAGE)?;
    // The server runs in a folder of its own.
    let program = program.canonicalize()?;
    let mut table = "| figure | reference | aim | measured |\n|---|---:|---:|---:|\n".to_owned();
    let mut row = |name: &str, reference: &str, aim: &str, measured: String| {
        table += &format!("| {name} | {reference} | {aim} | {measured} |\n");
    };
    let mut starts = Vec::new();
    for _ in 0..sizes.starts {
        starts.push(AgentServer::start(&program).await?.start);
    }
    row("start to healthy, median", "89 ms", "100 ms", ms(percentile(&mut starts, 50)));
    row("idle memory", "17.6 MB", "17.6 MB", mb(AgentServer::start(&program).await?.memory()?));
    let mut first = first_events(&AgentServer::start(&program).await?, sizes.turns).await?;
    row("message to first event, median", "0.55 ms", "0.55 ms", ms(percentile(&mut first, 50)));
    row("message to first event, 95 %", "0.77 ms", "5 ms", ms(percentile(&mut first, 95)));
    let rate = replayed(&AgentServer::start(&program).await?, sizes.replayed_words).await?;
    row("events/s of a replay to one reader", "17,700", "50,000", thousands(rate));
    let server = AgentServer::start(&program).await?;
    let (rate, readers) = live(&server, sizes.live_sessions, sizes.live_words).await?;
    let name = format!("events/s over {} live sessions", sizes.live_sessions);
    row(&name, "2,083", "10,000", thousands(rate));
    row("memory with these sessions and their readers", "256 MB", "256 MB", mb(server.memory()?));
    drop((readers, server));
    let server = AgentServer::start(&program).await?;
    create(&server, sizes.idle_sessions).await?;
    let name = format!("memory of {} idle sessions", sizes.idle_sessions);
    row(&name, "92 MB", "60 MB", mb(server.memory()?));
    one_turn_each(&server, sizes.idle_sessions).await?;
    row("the same after one turn of each session", "", "", mb(server.memory()?));
    Ok(table)
}

/// The times between a message and the first event of its turn.
async fn first_events(server: &AgentServer, turns: usize) -> BenchResult<Vec<Duration>> {
    create(server, 1).await?;
    let mut reader = Reader::open(server.address, "s0", 0).await?;
    reader.until_events(1).await?;
    let mut connection = Connection::open(server.address).await?;
    let mut times = Vec::new();
    for turn in 1..=turns {
        let (before, begin) = (reader.events, Instant::now());
        let sending = connection.call("POST", "/v1/sessions/s0/messages", r#"{"message":"hello"}"#);
        let reading = async {
            reader.until_events(before + 1).await?;
            Ok(begin.elapsed())
        };
        let (sent, time): (_, BenchResult<Duration>) = tokio::join!(sending, reading);
        sent?;
        times.push(time?);
        reader.until_turns(turn as u64).await?;
    }
    Ok(times)
}

/// The events per second of a reader that reads a finished session.
async fn replayed(server: &AgentServer, words: usize) -> BenchResult<f64> {
    create(server, 1).await?;
    let mut writer = Reader::open(server.address, "s0", 0).await?;
    say(server, "s0", words).await?;
    writer.until_turns(1).await?;
    let begin = Instant::now();
    let mut reader = Reader::open(server.address, "s0", 0).await?;
    reader.until_events(writer.events).await?;
    Ok(writer.events as f64 / begin.elapsed().as_secs_f64())
}

/// The events per second of all readers while all sessions have a turn, and the readers.
async fn live(server: &AgentServer, sessions: usize, words: usize) -> BenchResult<(f64, Vec<Reader>)> {
    create(server, sessions).await?;
    let mut readers = Vec::new();
    for number in 0..sessions {
        let mut reader = Reader::open(server.address, &format!("s{number}"), 0).await?;
        reader.until_events(1).await?;
        readers.push(reader);
    }
    let begin = Instant::now();
    let local = tokio::task::LocalSet::new();
    let mut reading = Vec::new();
    for mut reader in readers {
        reading.push(local.spawn_local(async move {
            let before = reader.events;
            let done = reader.until_turns(1).await.map_err(|error| error.to_string());
            done.map(|()| (reader.events - before, reader))
        }));
    }
    local
        .run_until(async {
            for number in 0..sessions {
                say(server, &format!("s{number}"), words).await?;
            }
            let (mut events, mut open) = (0, Vec::new());
            for reading in reading {
                let (read, reader) = reading.await??;
                events += read;
                open.push(reader);
            }
            Ok((events as f64 / begin.elapsed().as_secs_f64(), open))
        })
        .await
}

async fn create(server: &AgentServer, sessions: usize) -> BenchResult<()> {
    let mut connection = Connection::open(server.address).await?;
    for number in 0..sessions {
        connection.call("POST", &format!("/v1/sessions/s{number}"), r#"{"agent":"mock"}"#).await?;
    }
    Ok(())
}

async fn one_turn_each(server: &AgentServer, sessions: usize) -> BenchResult<()> {
    for number in 0..sessions {
        let session = format!("s{number}");
        let mut reader = Reader::open(server.address, &session, 0).await?;
        say(server, &session, 5).await?;
        reader.until_turns(1).await?;
    }
    Ok(())
}

/// Sends a message whose answer has this many words, each of which is an event.
async fn say(server: &AgentServer, session: &str, words: usize) -> BenchResult<()> {
    let body = format!(r#"{{"message":"echo {}"}}"#, "word ".repeat(words).trim_end());
    let path = format!("/v1/sessions/{session}/messages");
    client::call(server.address, "POST", &path, &body).await.map(drop)
}

fn percentile(times: &mut [Duration], percent: usize) -> Duration {
    times.sort_unstable();
    times.get(times.len().saturating_sub(1) * percent / 100).copied().unwrap_or_default()
}

fn ms(time: Duration) -> String {
    format!("{:.2} ms", time.as_secs_f64() * 1000.0)
}

fn mb(bytes: u64) -> String {
    format!("{:.1} MB", bytes as f64 / 1e6)
}

fn thousands(rate: f64) -> String {
    let whole = rate as u64;
    if whole < 1000 { whole.to_string() } else { format!("{},{:03}", whole / 1000, whole % 1000) }
}
