//! `serve`, `with`, `route` and `top` as a user runs them.

use crate::support;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};

use crate::support::Dir;

/// A server on a free port, stopped at the end.
struct Served {
    child: Child,
    address: String,
    lines: BufReader<std::process::ChildStderr>,
}

impl Served {
    fn start(dir: &Dir, args: &[&str]) -> Self {
        let command = support::stoppable();
        let mut child = Command::new(&command[0])
            .args(&command[1..])
            .args(["serve", "--listen", "127.0.0.1:0"])
            .args(args)
            .current_dir(dir.path())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the command starts");
        let (address, lines) = support::address_of(&mut child);
        Self { child, address, lines }
    }

    fn post(&self, path: &str, body: &str) -> String {
        post(&self.address, path, body)
    }

    fn signal(&self, name: &str) {
        let kill = Command::new("kill").args([&format!("-{name}"), &self.child.id().to_string()]).status();
        assert!(kill.expect("kill runs").success());
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.lines.read_line(&mut line).expect("a line");
        line
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn post(address: &str, path: &str, body: &str) -> String {
    let mut stream = TcpStream::connect(address).expect("it listens");
    let length = body.len();
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: {address}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n"
    );
    stream.write_all(format!("{head}{body}").as_bytes()).expect("sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("answered");
    answer
}

const CHAT: &str = r#"{"model":"any","messages":[{"role":"user","content":"hi"}]}"#;

#[test]
fn without_a_configuration_the_scripted_model_answers() {
    let dir = Dir::new("serve_default");
    let mut served = Served::start(&dir, &[]);
    for (path, body) in [
        ("/v1/chat/completions", CHAT),
        ("/v1/messages", r#"{"model":"any","max_tokens":9,"messages":[{"role":"user","content":"hi"}]}"#),
        ("/v1/responses", r#"{"model":"any","input":"hi"}"#),
        ("/v1beta/models/any:generateContent", r#"{"contents":[{"parts":[{"text":"hi"}]}]}"#),
    ] {
        let answer = served.post(path, body);
        assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("You said: hi"), "{path}: {answer}");
    }
    served.signal("TERM");
    assert_eq!(served.child.wait().expect("it ends").code(), Some(0));
}

#[test]
fn a_signal_loads_the_configuration_again() {
    let dir = Dir::new("serve_reload");
    let config = |text: &str| {
        dir.write("s.toml", format!("[[turn]]\ntext = \"{text}\""));
        dir.write(
            "gateway.toml",
            "[backend.b]\nscript = \"s.toml\"\n[[route]]\nmodel = \"*\"\nbackend = \"b\"",
        );
    };
    config("one");
    let mut served = Served::start(&dir, &["--config", "gateway.toml"]);
    assert!(served.post("/v1/chat/completions", CHAT).contains("\"one\""));
    config("two");
    served.signal("HUP");
    assert_eq!(served.line(), "the configuration is loaded again\n");
    assert!(served.post("/v1/chat/completions", CHAT).contains("\"two\""));
    dir.write("gateway.toml", "[[route]]\nmodel = \"*\"\nbackend = \"none\"");
    served.signal("HUP");
    assert!(served.line().contains("names the backend `none`, which does not exist"));
    assert!(served.post("/v1/chat/completions", CHAT).contains("\"two\""), "the last sound one stays");
}

fn run(dir: &Dir, args: &[&str]) -> (Option<i32>, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_interlingua"))
        .args(args)
        .current_dir(dir.path())
        .envs(
            ["OPENAI", "MOONSHOT", "MISTRAL", "GROQ", "OPENROUTER"]
                .map(|name| (format!("{name}_API_KEY"), "k")),
        )
        .env("GITHUB_COPILOT_TOKEN", "k")
        .env_remove("ANTHROPIC_API_KEY")
        .output()
        .expect("the command runs");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn a_configuration_is_checked_with_a_place_and_a_hint() {
    let dir = Dir::new("serve_check");
    for (text, said) in [
        ("[backend.b]\nscript = \"\"\n[[route]]\nmodel = \"*\"\nbackend = \"b\"", ""),
        ("lisen = 1", "line 1"),
        ("[backend.anthropic]", "ANTHROPIC_API_KEY"),
        ("[backend.b]\nurl = \"http://x\"", "has no `dialect`"),
        ("[backend.b]\ndialect = \"claude-code\"\nurl = \"http://x\"", "no dialect of a model API"),
        ("[backend.b]\ndialect = \"anthropic\"\nurl = \"nowhere\"", "no URL of a server"),
        ("[backend.b]\nscript = \"missing.toml\"", "missing.toml"),
        ("listen = \"0.0.0.0:1\"", "clients need a `token`"),
        ("[[client]]\nname = \"a\"\nkey = {}", "one of `env`, `file` and `value`"),
        (
            "[backend.b]\nscript = \"\"\n[[route]]\nmodel = \"*\"\nbackend = \"b\"\nlosses = \"all=maybe\"",
            "maybe",
        ),
    ] {
        dir.write("gateway.toml", text);
        let (code, _, stderr) = run(&dir, &["serve", "--config", "gateway.toml", "--check"]);
        if said.is_empty() {
            assert_eq!((code, &*stderr), (Some(0), "the configuration is sound\n"));
        } else {
            assert_eq!(code, Some(2), "{text}: {stderr}");
            assert!(stderr.starts_with("error: line ") && stderr.contains(said), "{text}: {stderr}");
            assert!(stderr.contains("\nhint: "), "{text}: {stderr}");
        }
    }
}

#[test]
fn an_error_in_a_setting_has_the_place_of_the_setting() {
    let dir = Dir::new("serve_places");
    let script = "[backend.b]\nscript = \"\"\n[[route]]\nmodel = \"*\"\nbackend = \"b\"\n";
    let clients = "[[client]]\nname = \"a\"\nkey = { value = \"k\" }\n[[client]]\nname = \"b\"\n";
    for (text, place) in [
        // The first line is 1, and so is the first column.
        ("  threads = 0".to_owned(), "line 1, column 3: `threads`"),
        (
            format!("# ü\n{script}[store]\nplace = \"none/x.db\""),
            "line 8, column 1: store: there is no folder",
        ),
        ("[backend.b]\nurl = \"http://x\"".to_owned(), "line 1, column 10: backend `b` has no `dialect`"),
        ("[backend]\nb = { dialect = \"sed\" }".to_owned(), "line 2, column 7: backend `b`: `sed`"),
        ("backend.b.dialect = \"sed\"".to_owned(), "line 1, column 11: backend `b`: `sed`"),
        (
            "[backend.openai]\nkey = \"k\"\n[backend.openai.headers]\n\"a b\" = \"x\"".to_owned(),
            "line 4, column 1: backend `openai`: HTTP does not allow",
        ),
        ("[backend.openai]\nkey-env = \"NONE\"".to_owned(), "line 2, column 1: backend `openai`: the"),
        (
            "[backend.openai]\nkeys = [\n  { value = \"k\" },\n  { env = \"NONE\" },\n]".to_owned(),
            "line 4, column 3: backend `openai`: the environment variable `NONE`",
        ),
        (format!("{script}timeout = 1\n"), "line 6, column 1: unknown field"),
        (format!("{script}[[route.fallback]]\nbackend = \"c\""), "line 7, column 1: the route for `*` names"),
        (
            format!("{script}[[route.fallback]]\nbackend = \"b\"\non = [\"moon\"]"),
            "line 8, column 1: the route for `*`: `moon`",
        ),
        (format!("{script}losses = \"all=maybe\""), "line 6, column 1: the route for `*`: `losses`"),
        (
            format!("{script}[[route]]\nmodel = \"*\"\nbackend = \"c\""),
            "line 8, column 1: the route for `*` names the backend `c`",
        ),
        (format!("{script}{clients}key = {{ value = \"k\" }}"), "line 11, column 1: client `b` has the key"),
        (
            format!("{script}{clients}key = {{ value = \"l\" }}\nbudget = -1.0"),
            "line 12, column 1: client `b`",
        ),
        (
            format!("{script}{clients}key = {{ value = \"l\" }}\nrequests-per-minute = 0"),
            "line 12, column 1: client `b`: `requests-per-minute`",
        ),
        (format!("{script}[telemetry]\nendpoint = \"x\""), "line 7, column 1: telemetry: "),
        ("token = \" \"".to_owned(), "line 1, column 1: `token`: the key is empty"),
    ] {
        dir.write("gateway.toml", &text);
        let (code, _, stderr) = run(&dir, &["serve", "--config", "gateway.toml", "--check"]);
        assert_eq!(code, Some(2), "{text}: {stderr}");
        assert!(stderr.starts_with(&format!("error: {place}")), "{text}: {stderr}");
    }
    // Flags have no lines.
    let (_, _, stderr) = run(&dir, &["serve", "--check", "--backend", "nobody"]);
    assert!(stderr.starts_with("error: backend `"), "{stderr}");
}

#[test]
fn a_configuration_without_an_effect_or_without_safety_is_refused() {
    let dir = Dir::new("serve_refused");
    dir.write("empty.key", "\n");
    dir.write("two.key", "sk-one\nsk-two\n");
    dir.write("folder/file", "");
    let server = "[backend.b]\ndialect = \"openai-chat\"\nurl = \"http://127.0.0.1:1\"\n";
    let script = "[backend.b]\nscript = \"\"\n[[route]]\nmodel = \"*\"\nbackend = \"b\"\n";
    for (text, said) in [
        // Everyone has an empty key.
        ("listen = \"0.0.0.0:1\"\ntoken = \" \"".to_owned(), "`token`: the key is empty"),
        (
            format!("{script}[[client]]\nname = \"a\"\nkey = {{ value = \"\" }}"),
            "client `a`: the key is empty",
        ),
        (
            format!("{script}[[client]]\nname = \"a\"\nkey = {{ file = \"empty.key\" }}"),
            "client `a`: the key is",
        ),
        (format!("{server}key-file = \"two.key\""), "backend `b`: the key is empty, or has a character"),
        (
            format!("token = \"k\"\n{script}[[client]]\nname = \"a\"\nkey = {{ value = \"k\" }}"),
            "has the key of",
        ),
        (
            format!("token = \"k\"\n{script}[[client]]\nname = \"default\"\nkey = {{ value = \"other\" }}"),
            "two clients have the name `default`",
        ),
        // The scripted model must not answer in place of a server.
        (server.to_owned(), "no `[[route]]` leads to the backends"),
        (format!("{script}[backend.c]\nscript = \"\"\nurl = \"http://x\""), "both `script` and `url`"),
        (format!("{server}replay = \"tape\""), "both `replay` and `url`"),
        ("[backend.b]\ndialect = \"openai-chat\"\nurl = \"ftp://x\"".to_owned(), "no URL of a server"),
        (
            "[backend.b]\ndialect = \"openai-chat\"\nurl = \"http://x/v1?a=b\"".to_owned(),
            "no URL of a server",
        ),
        ("[backend.b]\ndialect = \"openai-chat\"\nurl = \"http://x/v1#a\"".to_owned(), "no URL of a server"),
        (
            "[backend.b]\ndialect = \"openai-chat\"\nurl = \"http://me:sk-pass@x\"".to_owned(),
            "`http://…@x` is no URL",
        ),
        ("[backend.azure]".to_owned(), "backend `azure` has no `url`"),
        (format!("idle-timeout = 0\n{script}"), "`idle-timeout`: with a limit of 0"),
        (format!("threads = 0\n{script}"), "`threads`: with a limit of 0"),
        (format!("max-body = 0\n{script}"), "`max-body`: with a limit of 0"),
        (format!("{server}timeout = 0"), "backend `b`: `timeout`: with a limit of 0"),
        (format!("{script}max-tokens = 0"), "the route for `*`: `max-tokens`"),
        (format!("{script}[store]\nplace = \"folder\""), "store: `folder` is a folder"),
        (format!("{script}[store]\nplace = \"none/x.db\""), "store: there is no folder `none`"),
        (
            format!("{script}[store]\nplace = \"mysql://me:sk-pass@x/y\""),
            "store: `place` is the path of a file",
        ),
    ] {
        dir.write("gateway.toml", &text);
        let (code, _, stderr) = run(&dir, &["serve", "--config", "gateway.toml", "--check"]);
        assert_eq!(code, Some(2), "{text}: {stderr}");
        assert!(stderr.starts_with("error: line ") && stderr.contains(said), "{text}: {stderr}");
        assert!(stderr.contains("\nhint: "), "{text}: {stderr}");
        assert!(!stderr.contains("sk-"), "{text}: {stderr}");
    }
    // A limit beyond every count is no limit.
    dir.write(
        "gateway.toml",
        format!("max-concurrent = 9223372036854775807\nidle-timeout = 9223372036854775807\n{script}"),
    );
    let (code, _, stderr) = run(&dir, &["serve", "--config", "gateway.toml", "--check"]);
    assert_eq!((code, &*stderr), (Some(0), "the configuration is sound\n"));
}

#[test]
fn each_named_server_gets_its_own_calls() {
    let dir = Dir::new("named_servers");
    for (name, server) in [
        ("kimi", "kimi at https://api.moonshot.ai"),
        ("moonshot", "kimi at https://api.moonshot.ai"),
        ("copilot", "copilot at https://api.githubcopilot.com"),
        ("github", "copilot at https://api.githubcopilot.com"),
        ("mistral", "openai-chat at https://api.mistral.ai"),
        ("groq", "openai-chat at https://api.groq.com/openai"),
        ("vllm", "openai-chat at http://127.0.0.1:8000"),
        ("ollama", "openai-chat at http://127.0.0.1:11434"),
        ("openrouter", "openai-chat at https://openrouter.ai/api"),
    ] {
        let (code, stdout, stderr) = run(&dir, &["route", "m", "--backend", name]);
        assert_eq!(
            (code, &*stdout),
            (Some(0), &*format!("`m` matches `*`: `m` of `{name}` ({server})\n")),
            "{stderr}"
        );
    }
    let (code, _, stderr) = run(&dir, &["serve", "--check", "--backend", "nobody"]);
    assert_eq!(code, Some(2));
    assert!(
        stderr.contains("not that of a known server\nhint: the known servers are anthropic, openai, "),
        "{stderr}"
    );
}

#[test]
fn a_model_alone_names_the_server_of_its_vendor() {
    let dir = Dir::new("model_alone");
    let (code, stdout, stderr) = run(&dir, &["route", "any", "--model", "gpt-5.5"]);
    let expected = "`any` matches `*`: `gpt-5.5` of `openai` (openai-chat at https://api.openai.com)\n";
    assert_eq!((code, &*stdout), (Some(0), expected), "{stderr}");
    // The scripted model does not answer in place of a server whose key is missing.
    let (code, _, stderr) = run(&dir, &["with", "--model", "claude-opus-5-5", "--", "true"]);
    assert_eq!(code, Some(2));
    assert!(stderr.contains("`ANTHROPIC_API_KEY` is not set"), "{stderr}");
    for (args, said) in [
        (
            &["with", "--model", "qwen3-32b", "--", "true"][..],
            "no single vendor is known for the model `qwen3-32b`",
        ),
        (&["serve", "--check", "--dialect", "openai-chat"], "`--dialect` is that of a backend"),
        (&["serve", "--check", "--mock", "--model", "m"], "`--model` is that of a backend"),
    ] {
        let (code, _, stderr) = run(&dir, args);
        assert_eq!(code, Some(2), "{args:?}: {stderr}");
        assert!(stderr.contains(said) && stderr.contains("hint: "), "{args:?}: {stderr}");
    }
}

#[test]
fn a_route_is_explained() {
    let dir = Dir::new("route");
    dir.write(
        "gateway.toml",
        "[backend.b]\ndialect = \"openai-chat\"\nurl = \"http://127.0.0.1:1\"\n[backend.s]\nscript = \"\"\n[[route]]\nmodel = \"gpt-*\"\nbackend = \"s\"\n[[route]]\nmodel = \"claude-*\"\nbackend = \"b\"\nsend = \"other\"\n[[route.fallback]]\nbackend = \"s\"\non = [\"rate_limit\"]",
    );
    let (code, stdout, _) = run(&dir, &["route", "claude-x", "--explain", "--config", "gateway.toml"]);
    let expected = "not `gpt-*` (to `s`): the pattern does not match\n`claude-x` matches `claude-*`: `other` of `b` (openai-chat at http://127.0.0.1:1)\nafter rate_limit: `claude-x` of `s` (a script)\n";
    assert_eq!((code, &*stdout), (Some(0), expected));
    let (code, stdout, _) = run(&dir, &["route", "gemini-x", "--config", "gateway.toml"]);
    assert_eq!((code, &*stdout), (Some(3), "no route for `gemini-x`\n"));
}

#[test]
fn a_program_runs_with_a_gateway_and_its_exit_code_is_ours() {
    let dir = Dir::new("with");
    let script = "test -n \"$ANTHROPIC_BASE_URL\" && test -n \"$OPENAI_BASE_URL\" && exit 7";
    let (code, _, stderr) = run(&dir, &["with", "--mock", "--", "sh", "-c", script]);
    assert_eq!(code, Some(7), "{stderr}");
    let (code, _, stderr) = run(&dir, &["with", "--mock", "--", "no-such-program"]);
    assert_eq!(code, Some(1), "{stderr}");
    assert!(stderr.contains("no-such-program"), "{stderr}");
}

#[test]
fn top_prints_a_line_for_each_call_and_ends_with_the_gateway() {
    let dir = Dir::new("top_lines");
    dir.write("s.toml", "[[turn]]\ntext = \"one\"\nusage = { input = 100, cache-read = 20, output = 9 }");
    dir.write(
        "gateway.toml",
        "[backend.b]\nscript = \"s.toml\"\n[[route]]\nmodel = \"gpt*\"\nbackend = \"b\"\n",
    );
    let mut served = Served::start(&dir, &["--config", "gateway.toml"]);
    let mut top = Command::new(env!("CARGO_BIN_EXE_interlingua"))
        .args(["top", &served.address])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    let mut said = BufReader::new(top.stderr.take().expect("piped"));
    let mut line = String::new();
    said.read_line(&mut line).expect("a line");
    assert_eq!(line, format!("watching http://{}\n", served.address));

    // A name of a client must neither steer the terminal nor add a column or a line.
    let body = r#"{"model":"gpt-5.2\u001b[2J\tx\ny","messages":[{"role":"user","content":"hi"}]}"#;
    assert!(served.post("/v1/chat/completions", body).starts_with("HTTP/1.1 200"));
    let priced = r#"{"model":"gpt-5.2","messages":[{"role":"user","content":"hi"}]}"#;
    assert!(served.post("/v1/chat/completions", priced).starts_with("HTTP/1.1 200"));
    assert!(served.post("/v1/chat/completions", CHAT).starts_with("HTTP/1.1 404"));
    let mut lines = BufReader::new(top.stdout.take().expect("piped")).lines();
    let mut next = || {
        let line = lines.next().expect("a line").expect("text");
        line.split('\t').map(str::to_owned).collect::<Vec<String>>()
    };
    let hostile = next();
    assert_eq!(hostile.len(), 15, "{hostile:?}");
    assert!(!hostile.iter().any(|value| value.contains(char::is_control)), "{hostile:?}");
    let call = next();
    let values = ["200", "default", "openai-chat", "gpt-5.2", "b", "gpt-5.2", "120", "9", "0", "1", ""];
    let found = [2, 4, 5, 6, 7, 8, 9, 10, 12, 13, 14].map(|column: usize| &*call[column]);
    assert_eq!(found, values, "{call:?}");
    assert!(call[11].parse::<f64>().expect("a cost") > 0.0, "{call:?}");
    let refused = next();
    assert_eq!((&*refused[2], &*refused[7]), ("404", ""));
    assert!(refused[14].starts_with("not_found: no route for the model `any`"), "{refused:?}");

    let (code, stdout, _) = run(&dir, &["top", &served.address, "--once"]);
    assert_eq!((code, stdout), (Some(0), format!("no open calls at http://{}\n", served.address)));

    served.signal("TERM");
    assert_eq!(served.child.wait().expect("it ends").code(), Some(0));
    assert_eq!(top.wait().expect("it ends").code(), Some(0));
    line.clear();
    said.read_line(&mut line).expect("a line");
    assert_eq!(line, "the gateway has ended the feed\n");
}

#[test]
fn top_explains_a_gateway_that_it_cannot_watch() {
    let dir = Dir::new("top_errors");
    dir.write("gateway.toml", "token = \"secret\"");
    let served = Served::start(&dir, &["--config", "gateway.toml"]);
    for (args, expected, said) in [
        (&["top", "http://127.0.0.1:9"][..], 1, ["cannot be reached", "hint: `interlingua serve`"]),
        (&["top", "ftp://127.0.0.1"], 2, ["no URL of a gateway", "hint: "]),
        (&["top", "--token-env", "NO_SUCH_VARIABLE"], 2, ["`NO_SUCH_VARIABLE` is not set", "hint: "]),
        (&["top", &served.address], 1, ["needs a key", "hint: name the environment variable"]),
        (&["top", &format!("{}/health?", served.address)], 1, ["has no feed of calls", "hint: "]),
    ] {
        let (code, stdout, stderr) = run(&dir, args);
        assert_eq!((code, &*stdout), (Some(expected), ""), "{args:?}: {stderr}");
        assert!(said.iter().all(|said| stderr.contains(said)), "{args:?}: {stderr}");
    }
}

#[cfg(unix)]
#[test]
fn top_draws_on_a_screen_of_its_own_and_restores_the_terminal() {
    use pty_process::Size;
    use pty_process::blocking::{Command as PtyCommand, open};

    let dir = Dir::new("top_screen");
    let served = Served::start(&dir, &[]);
    let (mut pty, pts) = open().expect("a terminal can be opened");
    pty.resize(Size::new(24, 80)).expect("it has a size");
    let stoppable = support::stoppable();
    let command = PtyCommand::new(&stoppable[0]).args(&stoppable[1..]).args(["top", &served.address]);
    let mut top = command.env("TERM", "xterm").spawn(pts).expect("the command starts");
    let mut screen = String::new();
    let mut until = |pty: &mut pty_process::blocking::Pty, text: &str| {
        let mut piece = [0; 4096];
        while !screen.contains(text) {
            // After the command has ended, Linux returns an error for reads.
            let length = pty.read(&mut piece).unwrap_or(0);
            assert!(length > 0, "no {text:?} in {screen:?}");
            screen.push_str(&String::from_utf8_lossy(&piece[..length]));
        }
        screen.clone()
    };
    until(&mut pty, "0 open, 0 ended");
    assert!(served.post("/v1/chat/completions", CHAT).starts_with("HTTP/1.1 200"));
    let drawn = until(&mut pty, "1 ended");
    assert!(drawn.starts_with("\u{1b}[?1049h"), "{drawn:?}");
    let drawn = until(&mut pty, "FAILURE");
    assert!(drawn.contains("BACKEND") && drawn.contains("scripted"), "{drawn:?}");
    pty.write_all(b"\x03").expect("a key is pressed");
    until(&mut pty, "\u{1b}[?1049l");
    assert_eq!(top.wait().expect("it ends").code(), Some(130));
}

/// The first request to a receiver, up to the end of its body.
fn received(receiver: &TcpListener) -> String {
    let (mut stream, _) = receiver.accept().expect("a connection");
    let mut request = Vec::new();
    let mut piece = [0; 4096];
    while !request.ends_with(b"]}]}]}") {
        let length = stream.read(&mut piece).expect("bytes");
        assert!(length > 0, "the request has no end: {}", String::from_utf8_lossy(&request));
        request.extend_from_slice(&piece[..length]);
    }
    stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}").expect("answered");
    String::from_utf8(request).expect("text")
}

#[test]
fn the_spans_of_the_last_calls_are_sent_before_the_command_ends() {
    let dir = Dir::new("telemetry");
    let receiver = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let endpoint = format!("http://{}", receiver.local_addr().expect("an address"));
    dir.write("gateway.toml", format!("[telemetry]\nendpoint = \"{endpoint}\""));
    let mut served = Served::start(&dir, &["--config", "gateway.toml"]);
    assert!(served.post("/v1/chat/completions", CHAT).starts_with("HTTP/1.1 200"));
    served.signal("TERM");
    let request = received(&receiver);
    assert!(request.starts_with("POST /v1/traces ") && request.contains("\"chat any\""), "{request}");
    assert_eq!(served.child.wait().expect("it ends").code(), Some(0));

    // The program waits while the test calls its gateway.
    let wait = "echo $OPENAI_BASE_URL > new && mv new url && while [ ! -e done ]; do sleep 0.02; done";
    let mut child = Command::new(env!("CARGO_BIN_EXE_interlingua"))
        .args(["with", "--mock", "--quiet", "--", "sh", "-c", wait])
        .current_dir(dir.path())
        .env("OTEL_EXPORTER_OTLP_ENDPOINT", &endpoint)
        .spawn()
        .expect("the command starts");
    support::wait_until(|| dir.path().join("url").exists());
    let url = String::from_utf8(dir.read("url")).expect("text");
    let address = url.trim().trim_start_matches("http://").trim_end_matches("/v1");
    assert!(post(address, "/v1/chat/completions", CHAT).starts_with("HTTP/1.1 200"));
    dir.write("done", "");
    let request = received(&receiver);
    assert!(request.contains("\"chat any\""), "{request}");
    assert_eq!(child.wait().expect("it ends").code(), Some(0));
}
