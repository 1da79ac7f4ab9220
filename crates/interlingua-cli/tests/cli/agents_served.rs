//! `serve --agents` as a process: keys, limits, signals and agents that are real processes. The numbers in the names of
//! tests are those of the conformance list in `docs/daemon.md`.

#![cfg(unix)]
use crate::support;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::{Dir, wait_until};
use serde_json::{Value, json};

/// A server with agents, whose programs are in the folder `bin`.
struct Served {
    child: Child,
    address: String,
}

impl Served {
    fn start(dir: &Dir, args: &[&str]) -> Self {
        Self::start_with(dir, &[], args)
    }

    /// Starts the server as the argument of another command.
    fn start_with(dir: &Dir, wrapper: &[&str], args: &[&str]) -> Self {
        let wrapper = wrapper.iter().map(|word| (*word).to_owned());
        let command: Vec<String> = wrapper.chain(support::stoppable()).collect();
        let path = format!("{}:/usr/bin:/bin", dir.path().join("bin").to_string_lossy());
        let mut child = Command::new(&command[0])
            .args(&command[1..])
            .args(["serve", "--agents", "--store", "s.db", "--listen", "127.0.0.1:0"])
            .args(args)
            .current_dir(dir.path())
            .env("PATH", path)
            .stderr(Stdio::piped())
            .spawn()
            .expect("the command starts");
        let (address, _) = support::address_of(&mut child);
        Self { child, address }
    }

    /// Sends a request and returns the status, the head and the body.
    fn call(&self, request: &str, headers: &str, body: &[u8]) -> (u16, String, Value) {
        let mut stream = self.connect(request, headers, body);
        let mut answer = Vec::new();
        // A server that refuses a body may close the connection before it has read the body.
        let _ = stream.read_to_end(&mut answer);
        let answer = String::from_utf8(answer).expect("text");
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
        (status, head.to_ascii_lowercase(), serde_json::from_str(body).unwrap_or(Value::Null))
    }

    fn connect(&self, request: &str, headers: &str, body: &[u8]) -> TcpStream {
        let mut stream = TcpStream::connect(&self.address).expect("it listens");
        let head = format!(
            "{request} HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\
             connection: close\r\n{headers}\r\n",
            self.address,
            body.len()
        );
        stream.write_all(head.as_bytes()).expect("sent");
        let _ = stream.write_all(body);
        stream
    }

    fn get(&self, path: &str) -> Value {
        let (status, _, body) = self.call(&format!("GET {path}"), "", b"");
        assert_eq!(status, 200, "{path}: {body}");
        body
    }

    fn post(&self, path: &str, body: &Value) -> u16 {
        self.call(&format!("POST {path}"), "", body.to_string().as_bytes()).0
    }

    fn events(&self, id: &str) -> Vec<Value> {
        self.get(&format!("/v1/sessions/{id}/events"))["events"].as_array().expect("a list").clone()
    }

    fn wait(&self, id: &str, kind: &str) -> Vec<Value> {
        wait_until(|| self.events(id).iter().any(|event| event["type"] == kind));
        self.events(id)
    }

    fn signal(&self, name: &str) {
        let kill = Command::new("kill").args([&format!("-{name}"), &self.child.id().to_string()]).status();
        assert!(kill.expect("kill runs").success());
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Writes a program that the server finds on its path.
fn program(dir: &Dir, name: &str, script: &str) {
    let name = format!("bin/{name}");
    dir.write(&name, format!("#!/bin/sh\n{script}"));
    let path = dir.path().join(name);
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).expect("it exists");
}

fn is_problem((status, head, body): &(u16, String, Value), expected: u16, kind: &str) {
    assert_eq!(*status, expected, "{head}\n{body}");
    assert!(head.contains("content-type: application/problem+json"), "{head}");
    assert_eq!(body["type"], format!("urn:interlingua:error:{kind}"));
    assert_eq!(body["status"], expected);
    assert!(body["title"].is_string() && body["detail"].is_string(), "{body}");
}

#[test]
fn list_66_69_72_75_keys_sizes_and_origins_are_checked() {
    let dir = Dir::new("agents_keys");
    dir.write("gateway.toml", "token = \"secret\"\nmax-body = 16777216\n");
    let served = Served::start(&dir, &["--config", "gateway.toml"]);
    let key = "authorization: Bearer secret\r\n";
    assert_eq!(served.call("GET /v1/health", "", b"").0, 200);
    for (request, headers) in [
        ("GET /v1/sessions", ""),
        ("GET /v1/agents", "authorization: Bearer wrong\r\n"),
        ("POST /v1/sessions/s", "authorization: Bearer secret2\r\n"),
        ("GET /v1/sessions/s/events/sse?token=secret", ""),
    ] {
        is_problem(&served.call(request, headers, b"{}"), 401, "token_invalid");
    }
    let (status, head, _) = served.call("POST /v1/sessions/s", key, br#"{"agent":"mock"}"#);
    assert_eq!(status, 200);
    assert!(!head.contains("access-control-"), "{head}");
    let page = format!("{key}origin: https://example.com\r\n");
    is_problem(&served.call("GET /v1/sessions", &page, b""), 403, "permission_denied");
    let (status, head, _) = served.call(
        "OPTIONS /v1/sessions/s",
        &format!("{key}origin: http://localhost\r\naccess-control-request-method: POST\r\n"),
        b"",
    );
    assert!(status >= 400 && !head.contains("access-control-"), "{head}");
    // A prompt of ten megabytes is taken, and one above the limit of the configuration is refused.
    let message = json!({ "message": format!("echo {}", "x".repeat(10 << 20)) }).to_string();
    assert_eq!(served.call("POST /v1/sessions/s/messages", key, message.as_bytes()).0, 204);
    let message = json!({ "message": "x".repeat(17 << 20) }).to_string();
    is_problem(
        &served.call("POST /v1/sessions/s/messages", key, message.as_bytes()),
        413,
        "payload_too_large",
    );
    is_problem(&served.call("GET /v1/sessions/none", key, b""), 404, "session_not_found");
    is_problem(&served.call("POST /v1/sessions/s/nothing", key, b""), 404, "not_found");
}

#[test]
fn list_36_76_a_crash_has_the_exit_code_and_the_lines_of_standard_error() {
    let dir = Dir::new("agents_crash");
    let noise = "i=0; while [ $i -lt 100 ]; do i=$((i+1)); echo \"noise $i\" >&2; done\n";
    program(&dir, "claude", &format!("read line\n{noise}exit 7\n"));
    let served = Served::start(&dir, &[]);
    assert_eq!(served.post("/v1/sessions/s", &json!({ "agent": "claude" })), 200);
    assert_eq!(served.post("/v1/sessions/s/messages", &json!({ "message": "hi" })), 204);
    let events = served.wait("s", "session.ended");
    let kinds: Vec<&str> = events.iter().filter_map(|event| event["type"].as_str()).collect();
    assert_eq!(kinds.last(), Some(&"session.ended"));
    for kind in ["error", "turn.ended", "session.ended"] {
        assert_eq!(kinds.iter().filter(|other| **other == kind).count(), 1, "{kind}: {kinds:?}");
    }
    let end = &events.last().expect("an event")["data"];
    assert_eq!((&end["reason"], &end["exit_code"]), (&json!("error"), &json!(7)), "{end}");
    assert_eq!(end["message"], "Claude Code ended with exit code 7");
    let stderr = &end["stderr"];
    assert_eq!((&stderr["truncated"], &stderr["total_lines"]), (&json!(true), &json!(100)));
    assert!(stderr["head"].as_str().expect("text").starts_with("noise 1\nnoise 2\n"));
    assert!(stderr["tail"].as_str().expect("text").ends_with("noise 100"));
    let rest = &events[..events.len() - 1];
    assert!(rest.iter().all(|event| !event.to_string().contains("noise")), "an event holds standard error");
    assert_eq!(served.post("/v1/sessions/s/messages", &json!({ "message": "again" })), 409);
}

/// An agent that tells its directory, and then reads its input to the end.
const PATIENT: &str = r#"echo $$ >> "$PIDS"
sleep 300 &
echo $! >> "$PIDS"
printf '{"type":"system","subtype":"init","session_id":"n","cwd":"%s","model":"m","tools":[]}\n' "$(pwd)"
while read line; do :; done
wait
"#;

/// Whether a process runs. A process that has ended and was not collected is no running process.
fn runs(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(')').next().is_some_and(|rest| !rest.trim().is_empty() && !rest.trim().starts_with('Z'))
}

/// Starts a turn of a patient agent and returns the ids of its processes.
fn patient(dir: &Dir, served: &Served) -> Vec<String> {
    let (work, pids) = (dir.path().join("work"), dir.path().join("pids"));
    std::fs::create_dir_all(&work).expect("a directory can be made");
    let settings = json!({ "agent": "claude", "directory": work, "env": { "PIDS": pids } });
    assert_eq!(served.post("/v1/sessions/s", &settings), 200);
    assert_eq!(served.post("/v1/sessions/s/messages", &json!({ "message": "hi" })), 204);
    wait_until(|| std::fs::read_to_string(&pids).is_ok_and(|pids| pids.lines().count() == 2));
    let pids = std::fs::read_to_string(&pids).expect("written");
    pids.lines().map(str::to_owned).collect()
}

#[test]
fn list_34_40_an_agent_runs_in_its_directory_and_ends_with_its_children() {
    let dir = Dir::new("agents_directory");
    program(&dir, "claude", PATIENT);
    let served = Served::start(&dir, &[]);
    let pids = patient(&dir, &served);
    assert!(pids.iter().all(|pid| runs(pid)), "{pids:?}");
    let work = dir.path().join("work").canonicalize().expect("it exists");
    wait_until(|| {
        let events = served.get("/v1/sessions/s/events?include_raw=true").to_string();
        events.contains(work.to_str().expect("text"))
    });
    let start = Instant::now();
    assert_eq!(served.post("/v1/sessions/s/terminate", &json!({})), 204);
    assert!(start.elapsed() < Duration::from_secs(5));
    wait_until(|| pids.iter().all(|pid| !runs(pid)));
    assert_eq!(served.events("s").last().expect("an event")["data"]["reason"], "terminated");
}

#[test]
fn list_90_sigterm_ends_agents_and_streams_within_5_seconds() {
    let dir = Dir::new("agents_sigterm");
    program(&dir, "claude", PATIENT);
    let mut served = Served::start(&dir, &[]);
    let pids = patient(&dir, &served);
    assert_eq!(served.post("/v1/sessions/m", &json!({ "agent": "mock" })), 200);
    let mut stream = served.connect("GET /v1/sessions/m/events/sse", "", b"");
    let mut first = [0; 16];
    stream.read_exact(&mut first).expect("the stream begins");
    let start = Instant::now();
    served.signal("TERM");
    assert_eq!(served.child.wait().expect("it ends").code(), Some(0));
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
    assert!(pids.iter().all(|pid| !runs(pid)), "an agent is left");
    let mut rest = Vec::new();
    stream.read_to_end(&mut rest).expect("the stream ends");
    let next = Served::start(&dir, &[]);
    let events = next.events("s");
    assert_eq!(events.last().expect("an event")["type"], "turn.ended");
}

#[test]
fn list_88_a_server_killed_during_a_turn_keeps_every_event() {
    let dir = Dir::new("agents_killed");
    let mut served = Served::start(&dir, &[]);
    let settings = json!({ "agent": "mock", "mockPaceMs": 5 });
    assert_eq!(served.post("/v1/sessions/s", &settings), 200);
    let words = "word ".repeat(1000);
    assert_eq!(served.post("/v1/sessions/s/messages", &json!({ "message": format!("echo {words}") })), 204);
    wait_until(|| served.events("s").len() > 30);
    let seen = served.events("s");
    served.signal("KILL");
    served.child.wait().expect("it ends");
    let next = Served::start(&dir, &[]);
    let events = next.events("s");
    assert_eq!(events[..seen.len()], seen[..]);
    for (at, event) in events.iter().enumerate() {
        assert_eq!(event["sequence"], at + 1);
    }
    let last = events.last().expect("an event");
    assert_eq!(
        (&last["type"], &last["data"]["metadata"]["stop"]["class"]),
        (&json!("turn.ended"), &json!("error"))
    );
    assert_eq!(next.get("/v1/sessions/s")["eventCount"], events.len());
    assert_eq!(next.post("/v1/sessions/s/messages", &json!({ "message": "hello" })), 204);
}

/// Starts a server whose files cannot grow above 600 or 1,200 KB: shells count blocks of 512 or 1,024 bytes.
fn served_on_a_small_disk(dir: &Dir) -> Served {
    let limit = r#"trap '' XFSZ; ulimit -S -f 1200; exec "$@""#;
    Served::start_with(dir, &["sh", "-c", limit, "sh"], &[])
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_ends_the_turn_as_an_error_and_the_server_goes_on_with_space() {
    let dir = Dir::new("agents_full");
    let served = served_on_a_small_disk(&dir);
    for id in ["full", "waiting"] {
        assert_eq!(served.post(&format!("/v1/sessions/{id}"), &json!({ "agent": "mock" })), 200);
    }
    let message = json!({ "message": format!("echo {}", "word ".repeat(12_000)) });
    let mut reader = served.connect("GET /v1/sessions/full/events/sse?until=ended", "", b"");
    let mut stream =
        served.connect("POST /v1/sessions/full/messages/stream", "", message.to_string().as_bytes());
    let create = |id: &str| served.call(&format!("POST /v1/sessions/{id}"), "", br#"{"agent":"mock"}"#);
    // Small sessions fill the rest of the disk. A session may still fit where the next events of the turn do not.
    let created = std::cell::Cell::new(0);
    let last = || format!("small-{}", created.get());
    wait_until(|| {
        created.set(created.get() + 1);
        (0..3).all(|_| create(&last()).0 == 502)
    });
    is_problem(&served.call(&format!("GET /v1/sessions/{}", last()), "", b""), 404, "session_not_found");
    let hello = json!({ "message": "hello" });
    wait_until(|| served.post("/v1/sessions/full/messages", &hello) != 409);
    let stored = served.events("full");
    assert_eq!(served.call("GET /v1/health", "", b"").0, 200, "the server answers");
    // The disk has space again.
    let pid = served.child.id().to_string();
    let raised = Command::new("prlimit").args(["--pid", &pid, "--fsize=unlimited"]).status();
    assert!(raised.expect("prlimit runs").success());
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).expect("the stream of the turn ends");
    let answer = String::from_utf8_lossy(&answer);
    let tail: String = answer.chars().rev().take(1500).collect::<Vec<_>>().into_iter().rev().collect();
    for word in [r#""code":"store_failed""#, r#""type":"turn.ended""#] {
        assert!(answer.contains(word), "{word} is not in the stream of the turn: …{tail}");
    }
    let count = |id: &str, kind: &str| served.events(id).iter().filter(|event| event["type"] == kind).count();
    let is_idle = |id: &str| count(id, "turn.started") == count(id, "turn.ended");
    wait_until(|| is_idle("full"));
    let events = served.events("full");
    assert_eq!(events[..stored.len()], stored[..], "no stored event changes");
    let error = events.iter().find(|event| event["type"] == "error").expect("an error");
    assert_eq!(error["data"]["code"], "store_failed");
    let text = error["data"]["message"].as_str().unwrap_or_default();
    assert!(text.contains("events could not be stored"), "{text}");
    let end = events.iter().find(|event| event["type"] == "turn.ended").expect("an end");
    assert_eq!(end["data"]["metadata"]["stop"]["class"], "error");
    for id in ["full", "waiting"] {
        let turns = count(id, "turn.ended");
        wait_until(|| served.post(&format!("/v1/sessions/{id}/messages"), &hello) == 204);
        wait_until(|| is_idle(id) && count(id, "turn.ended") == turns + 1);
        let last = served.events(id).pop().expect("an event");
        assert_eq!(last["data"]["metadata"]["stop"]["class"], "end_turn", "{last}");
        for (at, event) in served.events(id).iter().enumerate() {
            assert_eq!(event["sequence"], at + 1);
        }
        assert_eq!(count(id, "item.started"), count(id, "item.completed"));
    }
    assert_eq!(create(&last()).0, 200);
    assert_eq!(served.post("/v1/sessions/full/terminate", &json!({})), 204);
    let mut all = String::new();
    reader.read_to_string(&mut all).expect("the reader's stream ends");
    let numbers = all.lines().filter_map(|line| line.strip_prefix("id: ")?.parse::<usize>().ok());
    assert!(numbers.eq(1..=served.events("full").len()), "a reader gets each event once");
}

#[test]
#[cfg(target_os = "linux")]
fn list_74_the_server_connects_to_nobody() {
    let dir = Dir::new("agents_connections");
    let traced = Command::new("strace").args(["-o", "/dev/null", "true"]).status();
    if !traced.is_ok_and(|status| status.success()) {
        println!("skipped: strace is not installed, or may not trace");
        return;
    }
    let path = dir.path().join("calls.txt").to_string_lossy().into_owned();
    let strace = ["strace", "-f", "-qq", "-e", "trace=connect,sendto,sendmsg", "-o", &path];
    let mut served = Served::start_with(&dir, &strace, &[]);
    assert_eq!(served.post("/v1/sessions/s", &json!({ "agent": "mock" })), 200);
    assert_eq!(served.post("/v1/sessions/s/messages", &json!({ "message": "demo" })), 204);
    served.wait("s", "turn.ended");
    for path in ["/v1/agents", "/v1/agents/claude/models", "/v1/sessions/s/record", "/v1/openapi.json"] {
        assert_eq!(served.call(&format!("GET {path}"), "", b"").0, 200);
    }
    assert_eq!(served.post("/v1/sessions/s/terminate", &json!({})), 204);
    // strace ends with the server.
    let children = std::fs::read_to_string(format!("/proc/{0}/task/{0}/children", served.child.id()));
    let traced = children.expect("the server is a child of strace");
    assert!(Command::new("kill").args(["-TERM", traced.trim()]).status().expect("kill runs").success());
    served.child.wait().expect("it ends");
    let calls = std::fs::read_to_string(&path).expect("the calls");
    let outward: Vec<&str> = calls.lines().filter(|call| call.contains("AF_INET")).collect();
    assert!(outward.is_empty(), "{outward:#?}");
    assert!(!calls.is_empty(), "answers are sent by calls that are traced");
}

/// An agent that writes its arguments and variables to a file.
const TELLING: &str = r#"{ printf '%s\n' "$@"; env; } > "$TOLD.part" && mv "$TOLD.part" "$TOLD"
while read line; do :; done
"#;

#[test]
fn a_route_points_the_agent_at_the_gateway() {
    let dir = Dir::new("agents_route");
    for name in ["claude", "codex", "goose"] {
        program(&dir, name, TELLING);
    }
    dir.write("gateway.toml", "token = \"secret\"\n");
    let served = Served::start(&dir, &["--config", "gateway.toml"]);
    let key = "authorization: Bearer secret\r\n";
    let create = |id: &str, settings: Value| {
        served.call(&format!("POST /v1/sessions/{id}"), key, settings.to_string().as_bytes())
    };
    for refused in [
        json!({ "agent": "mock", "route": "m" }),
        json!({ "agent": "goose", "route": "m" }),
        json!({ "agent": "claude", "route": "m", "model": "n" }),
        json!({ "agent": "claude", "route": " " }),
    ] {
        is_problem(&create("s", refused), 400, "invalid_request");
    }
    for (agent, expected) in [
        (
            "claude",
            vec![
                "--settings",
                "ANTHROPIC_AUTH_TOKEN=secret",
                "ANTHROPIC_MODEL=other-model",
                "ANTHROPIC_API_KEY=",
            ],
        ),
        ("codex", vec!["-c", "model=\"other-model\"", "OPENAI_API_KEY=secret", "app-server"]),
    ] {
        let told = dir.path().join(format!("told-{agent}"));
        let settings = json!({ "agent": agent, "route": "other-model", "env": { "TOLD": told } });
        assert_eq!(create(agent, settings).0, 200);
        let (_, _, info) = served.call(&format!("GET /v1/sessions/{agent}"), key, b"");
        assert_eq!(info["route"], "other-model");
        let message = format!("POST /v1/sessions/{agent}/messages");
        assert_eq!(served.call(&message, key, br#"{"message":"hi"}"#).0, 204);
        wait_until(|| told.exists());
        let told = String::from_utf8(dir.read(&format!("told-{agent}"))).expect("text");
        assert!(told.contains(&format!("http://{}", served.address)), "{told}");
        for text in expected {
            assert!(told.lines().any(|line| line == text), "{text} is not in {told}");
        }
    }
}
